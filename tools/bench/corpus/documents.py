"""Look-alikes from prose: placeholders, masked values, tables and talk about secrets that reveal none."""

from __future__ import annotations

from random import Random

from tools.bench.corpus.programs import filled
from tools.bench.corpus.samples import Guise
from tools.bench.corpus.shapes import BASE64, LOWER, URLSAFE, take
from tools.bench.corpus.words import NOUNS, app, clock, word

PLACEHOLDERS = (
    "<SUBJECT>=YOUR_<SUBJECT>  # <app>",
    'client = <Word>(api_key="YOUR_API_KEY", <word>=<num>)',
    "<app>: replace your-<word>-token-here with your own",
    '"<subject>": "INSERT_<APP>_<SUBJECT>"',
    "<subject>: REPLACE_ME # <app> <word>",
    "<APP>_TOKEN=xxxxxxxx  # <word>",
    "export <APP>_API_KEY=xxxx-xxxx-xxxx  # <word>",
    '<subject> = "TODO"  # <app> <word>',
    "<APP>_<SUBJECT>=changeme  # <word>",
    "POSTGRES_PASSWORD: changeme  # only for <app>",
    "<subject>: example  # <app>/<word>",
)
EMPTY = (
    "<APP>_<SUBJECT>=\nPORT=<num>\n",
    "<subject>: null  # <app>",
    '<subject> = ""  # <app>',
    "<app>_<subject> = None",
    "<word>: {<subject>: '', retries: <num>}",
    '"<subject>": false, "<word>": true',
    "<subject>:\n<word>: <num>\n",
)
MASKED = (
    "<APP>_TOKEN=********  # <word>",
    "using ghp_**** for <app>",
    "<subject>: [masked]  # <app> <word>",
    '"<subject>": "[REDACTED]", "<word>": <num>',
    "<now> login with <subject>=***",
    "sk-...*** was revoked (<app>)",
    "password: \u2022\u2022\u2022\u2022\u2022\u2022\u2022\u2022 (<word>)",
    "Authorization: Bearer [masked] -> <host>",
    "postgres://<word>:***@<host>/<app>",
    "<subject>=<redacted> <word>=<num>",
    "Authorization: Basic *** (<app>)",
)
PROSE = (
    "The password is wrong, said <app>, so we reset the one of <word>.",
    "Never write a token into the settings of <app>; <word> reads them.",
    "A secret is rotated every <num> days, and <app> asks for it by name.",
    "Tokens that begin with ghp_ are GitHub's; <app> masks them.",
    "The api key is kept in the vault under <app>/<word>.",
    "We decided that the token of <app> expires after <num> minutes.",
    "the password is required for <word>, not for <app>",
    "what is the secret of <app>? patience, and <word>.",
    "The passphrase was forgotten, thus the <word> of <app> is lost.",
    "password: the one you chose for <app>, not the one of <word>",
    "Bearer tokens go into the header of <app>, cookies do not (<word>).",
    "My key point: the token parser of <app> treats <word> as one token.",
    "credentials of <app> live in ~/.netrc on <word>",
)
HYPHENS = (
    "a risk-based <word> for the <app> task-queue-worker",
    "disk-usage-of-<word>-<app>-by-week",
    "desk-sk-lamp and kiosk-mode for <word> in <app>",
    "the mask-then-<verb>-before-splitting rule of <app> (<word>)",
    "whisk-<word>-together-until-smooth-<num>",
    "husk-and-dusk-<word>-<app>-<num2>",
    "xoxo-<word>, yours, <app>",
    "pat-a-cake, pat.<word>, key-<app>-point",
    "SG.<word>.<app> is a module, EAAA is a chart of <num>",
    "akiap\u014dl\u0101\u02bbau are birds (<word>, <num>)",
)
TABLES = (
    "| name | type | note |\n|---|---|---|\n| <subject> | string | of <app> |\n| <word> | int | <num> |\n",
    "| <SUBJECT> | required | the <subject> for <app> (<word>) |",
    "<subject>\t<word>\t<num>\n<app>\t<verb>\t<num2>\n",
    "+--------------+-------+\n| <subject> | <num> |\n+--------------+-------+\n| <word>_<app> | <num2> |",
)


def angled(chance: Random) -> str:
    """Return a placeholder in angle, curly or square brackets."""
    subject = chance.choice(("token", "password", "api-key", "your-secret", "YOUR_TOKEN", "access token"))
    name = chance.choice(("TOKEN", "PASSWORD", "API_KEY", "SECRET"))
    who, what = app(chance), word(chance)
    return chance.choice(
        (
            f"{who.upper()}_{name}=<{subject}>  # {what}",
            f"curl -H 'Authorization: Bearer <{subject}>' https://{who}.example.com/{what}",
            f"postgres://<user>:<{subject}>@{who}/{what}",
            f"{name}={{{{ {who}.{what} }}}}",
            f"{who} login -u <user> -p <{subject}> {what}",
            f"{name.lower()}: [{subject} of {who}, see {what}]",
        )
    )


def slug(chance: Random) -> str:
    words = "-".join(chance.sample(NOUNS, 7))
    return chance.choice(
        (
            f"https://blog.example.com/2025/{chance.randint(1, 12):02}/how-we-reset-every-password-{words}",
            f"https://{app(chance)}.example.org/q/{chance.randint(10**6, 10**8)}/{words}?utm_source={word(chance)}",
            f"[{words}](https://example.com/docs/tokens/{words}#secret-rotation)",
        )
    )


def page_token(chance: Random) -> str:
    """Return a query with a mark of where a listing goes on, which the services document as opaque and public."""
    mark = "C" + take(chance, LOWER.upper(), 3) + take(chance, URLSAFE, 12) + "AA"
    return chance.choice(
        (
            f"GET /youtube/v3/search?q={word(chance)}&pageToken={mark}",
            f'"nextPageToken": "{mark}",',
            f"https://api.example.com/{app(chance)}?cursor={mark}&limit=100",
            f'{{"next_cursor": "{mark}", "has_more": true}}',
            f"?page_token={mark}&page_size=50",
            f"next_page_token={mark} rows=500",
        )
    )


def rulers(chance: Random) -> str:
    sign = chance.choice("*-=_#~.+")
    return f"{sign * chance.randint(8, 80)} {word(chance)} {sign * chance.randint(3, 12)}"


def policy_nonce(chance: Random) -> str:
    mark = take(chance, BASE64, 22) + "=="
    return f"Content-Security-Policy: script-src 'nonce-{mark}' 'sha256-{take(chance, BASE64, 43)}='; report-uri /{word(chance)}"


def commit_talk(chance: Random) -> str:
    return chance.choice(
        (
            f"{app(chance)}: a {word(chance)} token is read once, not per request",
            f"fix({app(chance)}): do not log the password of {word(chance)}",
            f"chore: bump {word(chance)}-token-action from {chance.randint(1, 5)} to {chance.randint(6, 9)} in {app(chance)}",
            f"Merge branch 'rotate-{word(chance)}-secrets' into {app(chance)}-main at {clock(chance)}",
        )
    )


GUISES = (
    Guise("placeholder", filled(*PLACEHOLDERS)),
    Guise("placeholder-angled", angled),
    Guise("empty-value", filled(*EMPTY)),
    Guise("masked-value", filled(*MASKED)),
    Guise("prose", filled(*PROSE)),
    Guise("hyphenated-words", filled(*HYPHENS)),
    Guise("table", filled(*TABLES)),
    Guise("url-slug", slug),
    Guise("page-token", page_token),
    Guise("ruler", rulers),
    Guise("policy-nonce", policy_nonce),
    Guise("commit-subject", commit_talk),
)
