"""What is derived from a recorded journal is the same to the byte a year later, in any zone, locale, seed and Python.

Each variant is a process of its own that imports the recordings and prints state, brief and the words of every command
that reads. Its clock is moved from outside our code: it asks nothing of ours to be told the time.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import click
import pytest

from continuity.cli import main
from tests.fakes.permissions import permissions_bind
from tests.replay.kit import Ran, run

ROOT = Path(__file__).parents[2]
TEXTS = sorted((ROOT / "tests" / "journals").glob("*.jsonl"))

WRITERS = frozenset(
    {"import", "salvage", "erase", "forget", "hold", "record", "resolve", "setup", "install", "uninstall"}
)
"""Commands that are there to write; every other one that takes a journal is held to read only."""

MORE: Mapping[str, tuple[str, ...]] = {"show": ("@",), "why": ("@",), "diff": ("@-", "@")}
"""What some commands want to know beside the journal."""

PLAIN = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}

USUAL = {"TZ": "UTC", "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "0"}

NOW = 1_800_000_000
"""When every process thinks it runs, in seconds: after the recordings."""

AGE = re.compile(rb", \d+ [a-z]+ ago")

CHILD = """
import datetime, sys, time

class Later(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return cls.fromtimestamp(time.time(), tz)
    @classmethod
    def utcnow(cls):
        raise AssertionError("naive time")

time.time, time.time_ns = (lambda: {now}), (lambda: {now} * 10**9)
datetime.datetime = Later

from pathlib import Path
from continuity.brief import render_brief
from continuity.capture import capture_id
from continuity.evolve import fold
from continuity.selection import Item
from journal.reader import open_reader
import replay.commands

for text in sys.argv[1:]:
    with open_reader(Path(text)) as reader:
        for branch in reader.branches:
            state = fold(reader.verified(branch.branch))
            print(state)
            kept = [c for c in (state.checkpoint, *state.captures) if c is not None]
            items = [
                Item(section="checkpoint", title="its own", path=c.path or "", text=str(c), project=c.project) for c in kept
            ]
            print(render_brief(items, 2_000))
            print([capture_id(c.project, reader.header.session_id, c.kind, c.source_tip) for c in kept])
    for words in {words!r}:
        code = 0
        try:
            arguments = [text if word == "FILE" else word for word in words[1:]]
            replay.commands.commands[words[0]].main(arguments, standalone_mode=False)
        except Exception as error:
            code = type(error).__name__
        except SystemExit as error:
            code = error.code
        print(words, code, flush=True)
"""


def reading() -> Iterator[list[str]]:
    """Every command that reads a journal, with the words it needs, in text and as JSON."""
    for name in main.list_commands(click.Context(main)):
        command = main.get_command(click.Context(main), name)
        assert command is not None
        names = {parameter.name for parameter in command.params if isinstance(parameter, click.Argument)}
        if name in WRITERS or not names & {"file", "paths"}:
            continue
        words = [name, "FILE", *MORE.get(name, ())]
        yield words
        if any("--json" in parameter.opts for parameter in command.params):
            yield [*words, "--json"]
        if name == "export":
            yield [*words, "--bodies"]


READING = list(reading())


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("recordings")
    found = [folder / f"{text.stem}.journal" for text in TEXTS]
    for text, path in zip(TEXTS, found, strict=True):
        assert run("import", text, "-o", path).code == 0
    return found


def derived(
    recordings: list[Path], env: Mapping[str, str] = USUAL, *, now: int = NOW, python: str = sys.executable
) -> bytes:
    """What a process of its own derives from the recordings and says of them."""
    child = CHILD.format(now=now, words=READING)
    command = [python, "-W", "error", "-c", child, *map(str, recordings)]
    done = subprocess.run(command, env={**PLAIN, **env}, cwd=recordings[0].parent, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    return done.stdout


@pytest.fixture(scope="module")
def usual(recordings: list[Path]) -> bytes:
    return derived(recordings)


def test_every_command_that_reads_is_among_those_that_are_tried(usual: bytes) -> None:
    assert {"log", "show", "state", "branches", "unproven", "audit", "export"} <= {name for name, *_ in READING}
    for words in READING:
        assert str(words).encode() in usual
        assert f"{words} 2".encode() not in usual, "it wants to know more: add that to MORE"
        assert f"{words} UsageError".encode() not in usual
    assert b"checkpoint=Capture(" in usual
    assert b"Brief(text='Untrusted" in usual


def test_it_is_the_same_a_year_later_but_for_how_long_ago_something_was(recordings: list[Path], usual: bytes) -> None:
    later = derived(recordings, now=NOW + 365 * 86_400)
    assert AGE.sub(b"", later) == AGE.sub(b"", usual)
    aged = {line for line in later.splitlines() if AGE.search(line)}
    assert all(line.lstrip().startswith(b"since ") for line in aged), "only the list of what is open tells ages"


@pytest.mark.parametrize(
    "variant",
    [
        {"TZ": "Asia/Kathmandu"},
        {"TZ": "America/St_Johns", "LC_ALL": "POSIX", "PYTHONUTF8": "1"},
        {"LC_ALL": "tr_TR.UTF-8", "LANG": "tr_TR.UTF-8", "LANGUAGE": "tr"},
        {"PYTHONHASHSEED": "1"},
        {"PYTHONHASHSEED": "4242"},
    ],
    ids=lambda variant: " ".join(f"{name}={value}" for name, value in variant.items()),
)
def test_it_is_the_same_elsewhere(recordings: list[Path], usual: bytes, variant: dict[str, str]) -> None:
    assert derived(recordings, USUAL | variant) == usual


def test_it_is_the_same_in_another_minor_of_python(recordings: list[Path], usual: bytes) -> None:
    """Looked for beside this one and on PATH. It needs msgspec and click of its own."""
    python = _other_python()
    if python is None:
        pytest.skip("no other Python >= 3.12 with msgspec and click was found beside this one or on PATH")
    assert derived(recordings, python=python) == usual


def _other_python() -> str | None:
    minors = [minor for minor in range(12, 20) if minor != sys.version_info.minor]
    beside = [str(path) for m in minors for path in Path(sys.base_prefix).parent.glob(f"*/bin/python3.{m}")]
    on_path = [found for m in minors if (found := shutil.which(f"python3.{m}"))]
    for python in (*beside, *on_path):
        wanted = "import sys, msgspec, click; sys.exit(sys.version_info < (3, 12))"
        if subprocess.run([python, "-c", wanted], capture_output=True, check=False).returncode == 0:
            return python
    return None


def digests(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}


def test_no_command_that_reads_changes_a_recording_or_what_is_derived_from_it(
    recordings: list[Path], usual: bytes
) -> None:
    """`usual` was said after none of them, and this is said after all of them."""
    before = digests(recordings[0].parent)
    again = derived(recordings)
    assert digests(recordings[0].parent) == before
    assert set(before) == {path.name for path in recordings}
    assert again == usual


def test_a_folder_that_may_only_be_read_is_read_with_the_same_words(recordings: list[Path]) -> None:
    folder = recordings[0].parent
    tried = [words for words in READING if words[0] != "unproven" or "--json" in words]
    before = [_said(words, path) for path in recordings for words in tried]
    for path in recordings:
        path.chmod(0o400)
    folder.chmod(0o500)
    try:
        with permissions_bind():
            assert [_said(words, path) for path in recordings for words in tried] == before
    finally:
        folder.chmod(0o700)


def _said(words: list[str], path: Path) -> Ran:
    return run(*(path if word == "FILE" else word for word in words))
