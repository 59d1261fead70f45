"""Credentials of well-known formats that something has split, joined or wrapped on their way into a text."""

from __future__ import annotations

from random import Random

from tools.bench.corpus.samples import Drawn, Kind, each
from tools.bench.corpus.shapes import b64
from tools.bench.corpus.vendors import FORMATS
from tools.bench.corpus.words import app

HOSTS = tuple(each.shape for each in FORMATS if each.kind.startswith(("github", "gitlab-personal", "npm", "anthropic")))
INVISIBLE = ("\u200b", "\u200c", "\u200d", "\u2060", "\ufeff", "\u00ad")


def value(chance: Random) -> str:
    return chance.choice(HOSTS).make(chance)


def halves(chance: Random) -> tuple[str, str]:
    """Return a value cut well behind its prefix, in two parts that are each worth hiding."""
    whole = value(chance)
    at = chance.randint(len(whole) // 2, len(whole) - 10)
    return whole[:at], whole[at:]


def invisible(chance: Random) -> Drawn:
    first, second = halves(chance)
    line = chance.choice(("TOKEN={}", "use {} please", '{{"token": "{}"}}', "{}"))
    return Drawn(line.format(first + chance.choice(INVISIBLE) + second), (first, second))


def wrapped(chance: Random) -> Drawn:
    first, second = halves(chance)
    middle = chance.choice(("\n", "\r\n", "\\\n", "\n    "))
    return Drawn(f"{app(chance).upper()}_TOKEN={first}{middle}{second}\n", (first, second))


def touching(chance: Random) -> Drawn:
    first, second = value(chance), value(chance)
    return Drawn(f"{first}{chance.choice(('', '|', ':', '/', ';'))}{second}", (first, second))


def doubly_escaped(chance: Random) -> Drawn:
    token = value(chance)
    return Drawn(f'{{"log": "{{\\\\\\"token\\\\\\": \\\\\\"{token}\\\\\\"}}\\\\n{app(chance)}"}}', (token,))


def repeated(chance: Random) -> Drawn:
    token = value(chance)
    return Drawn(f"export TOKEN={token}\n{app(chance)} --token {token}\n# was: {token}\n", (token,))


def encoded_settings(chance: Random) -> Drawn:
    """Return a settings line in base64: what decodes it has the token."""
    text = b64(f"TOKEN={value(chance)}".encode())
    return Drawn(f"SECRET_ENV_B64={text}", (text,))


KINDS: tuple[Kind, ...] = (
    each("split-invisibly", invisible, definite=True),
    each("split-by-line", wrapped, definite=False),
    each("touching-pair", touching, definite=True),
    each("escaped-twice", doubly_escaped, definite=True),
    each("repeated", repeated, definite=True),
    each("encoded-settings", encoded_settings, definite=False),
)
