"""Tells by its name whether a setting, a field or a flag holds a secret; it never looks at the value."""

from __future__ import annotations

import re
from functools import lru_cache

from continuity.privacy.vendor import NAMES

_MAYBE = re.compile(r"pass|pwd|secret|token|key|cred|auth", re.IGNORECASE)
_CHOSEN = re.compile(r"pass|pwd|secret", re.IGNORECASE)
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")

_ALWAYS = frozenset({"password", "passwd", "passphrase", "passcode", "pwd", "secret", "secrets", "passwords"})
_LAST = frozenset({"token", "apikey", "credential", "credentials", "accesskey", "secretkey", "authtoken", "pass"})
_KEY_OF = frozenset(
    """access account admin api app application auth client deploy encryption license master private root secret service session
    shared signing ssh storage subscription webhook""".split()
)
_NOT_A_VALUE = frozenset(
    """age arn basic class count days enabled env error expired expires expiry field fields file format hash header
    hint hours id input jwt label len length limit manager max method methods min minutes ms name option path policy
    post prompt ref required reset rotation rule rules seconds state strength timeout ttl type uri url validator
    version""".split()
)
_OTHER_TOKENS = frozenset(
    """bos cancellation cls completion continuation cursor end eos input mask max min next num output pad page per
    prompt sep special start stop sync total unk""".split()
)
_ENDINGS = ("password", "passwd", "passphrase")
_OTHER_KEYS = frozenset("cache cluster foreign id index issue object partition primary project public row sort".split())


def is_secret_name(name: str) -> bool:
    """True if a value under `name` is to be masked: `DB_PASS`, `clientSecret`, `--api-key`, `aws_secret_access_key`."""
    tail = name[-120:]
    return _MAYBE.search(tail) is not None and _is_secret(tail)


def is_other_name(name: str) -> bool:
    """True for a key that finds something and a token that counts, turns or ends something: no secret."""
    words = [word.lower() for word in _PARTS.findall(name)]
    if len(words) < 2:
        return False
    return words[-1].startswith(("key", "token")) and words[-2] in _OTHER_KEYS | _OTHER_TOKENS


def is_password_name(name: str) -> bool:
    """True if the value may be a word: people choose passwords, machines draw tokens and keys."""
    return _CHOSEN.search(name) is not None


def is_token_name(name: str) -> bool:
    """True if the name ends in "token": a word that also counts what models read."""
    return name.lower().endswith("token")


@lru_cache(maxsize=1024)
def _is_secret(name: str) -> bool:
    words = [word.lower() for word in _PARTS.findall(name.rpartition(".")[2] or name) if not word.isdigit()]
    if not words:
        return False
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    if last == "key":
        return before in _KEY_OF or (words[0] in NAMES and len(words) <= 3 and before not in _OTHER_KEYS)
    if last == "pass":
        return bool(before) or name.isupper() or name.startswith("-")
    if last in _LAST:
        return before not in _OTHER_TOKENS
    if last == "auth":
        return name.startswith("_")
    return last not in _NOT_A_VALUE and (not _ALWAYS.isdisjoint(words) or last.endswith(_ENDINGS))
