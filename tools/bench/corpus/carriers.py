r"""The lines in which values turn up: chats, logs, settings, commands and code; it knows no format of any value.

In a line `<T>` is the value, `<U>` another one of its kind, `<N>` its name as an environment variable, `<n>` the
same in small letters, `<c>` in camel case, `<w>` in words, `<now>` a time and `<app>` a program. A line that begins
`url:` bears its values percent-encoded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from random import Random
from urllib.parse import quote

from tools.bench.corpus.samples import Drawn, Kind
from tools.bench.corpus.words import app, camel, clock

NAMED = (
    "<N>=<T>",
    "export <N>=<T>",
    'export <N>="<T>"',
    "export <N>='<T>' && ./run.sh",
    "set <N>=<T>\r\ncall build.bat\r\n",
    "$env:<N> = '<T>'",
    "ENV <N> <T>",
    "```sh\n<N>=<T>\n```",
    "PORT=8080\r\n<N>=<T>\r\nDEBUG=0\r\n",
    "\ufeff<N>=<T>\nLOG_LEVEL=info\n",
    "docker run --rm -e <N>=<T> <app>:latest",
    '{"<n>": "<T>"}',
    '{"user":"<app>","<c>":"<T>","retries":3}',
    '{"body": "{\\"<n>\\": \\"<T>\\", \\"ttl\\": 60}"}',
    '{"stdout": "loaded .env\\n<N>=<T>\\nready\\n"}',
    "<n>: <T>",
    "<app>:\n  <n>: '<T>'  # rotate in spring\n  replicas: 2",
    '<n> = "<T>"',
    "[<app>]\n<n> = <T>\nregion = eu-west-1\n",
    "<app>.<n>=<T>",
    '<add key="<N>" value="<T>" />',
    "{'<n>': '<T>', 'timeout': 30}",
    'client = Client(<n>="<T>")',
    "const client = new Client({ <c>: '<T>' });",
    '+<N> = "<T>"\n-<N> = "<U>"',
    "my <w> is <T>",
    "the <w> for <app> is `<T>`, please keep it safe.",
    '<now> level=error app=<app> msg="rejected" <n>=<T> attempt=3',
    "<now> DEBUG settings: <N>=<T>, REGION=eu-west-1",
    'variable "<n>" {\n  default = "<T>"\n}',
)
"""Lines that say by name what the value is."""

BARE = (
    "<T>",
    "<T> is the one from the old laptop",
    "I have put it in the settings, it is <T>",
    "use <T>.",
    "Use <T>, then restart <app>",
    "(<T>)",
    'it answers 401 to "<T>"!',
    "it answers 401 to `<T>`; why?",
    "\u201c<T>\u201d, she wrote",
    "\u5bc6\u94a5<T>",
    "<T>\u3002",
    "> <T>\n> is that still good?",
    "- [ ] revoke <T>",
    "**<T>**",
    "| <app> | <T> | rotated |",
    "\t<T>\t",
    "# <T>",
    "from <T> to <U>",
    "<T> <U>",
    "<T>,<U>",
    '["<T>","<U>"]',
    "<T>\r\n<U>\r\n",
    '{"text": "first line\\n<T>\\nlast line"}',
    '{\\"v\\":\\"<T>\\"}',
    "<now> WARN  auth: <T> rejected (status=403)",
    "[<now>] <app>[4121]: bad credentials <T>",
    'Traceback (most recent call last):\n  File "main.py", line 7, in <module>\nValueError: not accepted: <T>\n',
    "\x1b[32m<T>\x1b[0m",
    "curl -H 'Authorization: Bearer <T>' https://api.example.com/v1/me",
    'curl -sH "X-Api-Key: <T>" https://api.example.com/v1/items',
    "url:GET /v1/items?key=<T>&page=2 HTTP/1.1",
    "url:https://<app>.example.com/cb#access_token=<T>&token_type=bearer",
    "url:git clone https://ci:<T>@git.example.com/team/<app>.git",
    "echo <T> | <app> login --password-stdin",
    "<app> login --token <T> --quiet",
    "<app> login --token=<T>",
    "<token><T></token>",
    "headers = {'Authorization': 'Bearer <T>'}",
    "assert parse('<T>') == 1",
    "print(b'<T>')",
)
"""Lines that leave it to the value to say what it is."""


def told_by_itself(kind: str, names: Sequence[str], make: Callable[[Random], str]) -> Kind:
    """Return a kind of value that any line may carry."""
    return _carried(kind, names, make, lines=NAMED + BARE, definite=True)


def told_by_name(kind: str, names: Sequence[str], make: Callable[[Random], str]) -> Kind:
    """Return a kind of value that is a credential because the line says so."""
    return _carried(kind, names, make, lines=NAMED, definite=False)


def _carried(
    kind: str, names: Sequence[str], make: Callable[[Random], str], *, lines: Sequence[str], definite: bool
) -> Kind:
    def draw(chance: Random) -> Iterator[Drawn]:
        """Yield values without end, each in another line until all lines have had their turn."""
        while True:
            for line in chance.sample(lines, len(lines)):
                yield fill(chance, line, chance.choice(names), make)

    return Kind(kind, definite, draw)


def fill(chance: Random, line: str, name: str, make: Callable[[Random], str]) -> Drawn:
    """Return `line` with everything put in, and the values as they stand in it."""
    encoded = line.startswith("url:")
    text = line.removeprefix("url:")
    for mark, filling in (
        ("<now>", clock(chance)),
        ("<app>", app(chance)),
        ("<N>", name),
        ("<n>", name.lower()),
        ("<c>", camel(name)),
        ("<w>", name.lower().replace("_", " ")),
    ):
        text = text.replace(mark, filling)
    secrets: list[str] = []
    for mark in ("<T>", "<U>"):
        if mark in text:
            value = make(chance)
            secrets.append(quote(value, safe="") if encoded else value)
            text = text.replace(mark, secrets[-1])
    return Drawn(text, tuple(secrets))
