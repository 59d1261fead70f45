"""Ordinary words, names, times and passwords that texts are made of; nothing in it is a credential by itself."""

from __future__ import annotations

from random import Random

from tools.bench.corpus.shapes import BASE62, DIGITS, LETTERS, URLSAFE, take

NOUNS = (
    "harbor quill lantern meadow copper walnut ember saddle pocket ribbon turnip gravel marble thistle "
    "anchor beacon cinder dapple fiddle goblet hammock icicle juniper kettle magnet nutmeg orchid pebble"
).split()
APPS = "billing checkout inventory search mailer gateway reports scheduler profile ledger catalog uploads".split()
USERS = "app deploy svc_reports anna admin ci-bot root marek readonly backup j.doe etl".split()
DOMAINS = ("example.com", "example.org", "internal.example", "corp.example.net", "staging.example.io")
VERBS = "load store check refresh parse send close resolve rotate validate compare merge".split()

MARKS = "!#%*+-_^~?"
"""Signs that need no quoting in any of the places where passwords are put."""


def word(chance: Random) -> str:
    return chance.choice(NOUNS)


def app(chance: Random) -> str:
    return chance.choice(APPS)


def user(chance: Random) -> str:
    return chance.choice(USERS)


def host(chance: Random) -> str:
    return f"{chance.choice(APPS)}-{chance.randint(1, 9)}.{chance.choice(DOMAINS)}"


def clock(chance: Random) -> str:
    """Return an ISO time of no particular day."""
    day = f"{chance.randint(2019, 2031)}-{chance.randint(1, 12):02}-{chance.randint(1, 28):02}"
    hour = f"{chance.randint(0, 23):02}:{chance.randint(0, 59):02}:{chance.randint(0, 59):02}"
    return f"{day}T{hour}.{chance.randint(0, 999):03}Z"


def camel(name: str) -> str:
    head, *rest = name.lower().split("_")
    return head + "".join(part.capitalize() for part in rest)


def password(chance: Random) -> str:
    """Return a password as people and their managers choose them: 12 to 43 characters, a letter and a digit at least."""
    match chance.randrange(4):
        case 0:
            body = take(chance, BASE62 + MARKS, chance.randint(10, 20))
            return take(chance, LETTERS, 1) + body + take(chance, DIGITS, 1)
        case 1:
            first, second = chance.sample(NOUNS, 2)
            return f"{first.capitalize()}-{second.capitalize()}{chance.randint(10, 9999)}{chance.choice(MARKS)}"
        case 2:
            return take(chance, LETTERS, 1) + take(chance, BASE62, chance.randint(14, 30)) + take(chance, DIGITS, 1)
        case _:
            return take(chance, LETTERS, 1) + take(chance, URLSAFE, 41) + take(chance, DIGITS, 1)
