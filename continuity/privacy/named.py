"""Finds values that are secret by the name before them: assignments, JSON, headers, flags, plain sentences."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator

from continuity.privacy.names import is_password_name, is_secret_name, is_token_name
from continuity.privacy.references import is_code, is_name, is_template, refers
from continuity.privacy.spans import PLACEHOLDER, Span

_LONGEST = 4096

_ASSIGNMENT = re.compile(
    r"""(?<![A-Za-z0-9_.$-])
    (?P<name>[A-Za-z_$-][A-Za-z0-9_.$-]*+)
    (?:\\{0,3}["'`]|\*{2})?\]?
    (?:
        [ \t]{0,8}:[ \t]{0,4}[A-Za-z_][A-Za-z0-9_.]{0,40}+(?:\[[A-Za-z0-9_., |]{0,40}+\])?(?:[ ]\|[ ]None)?[ ]?=(?!=)
      | [ \t]{0,8}(?:[!=]==?|:=|=>|[:=])
    )
    (?:\*{2})?""",
    re.VERBOSE,
)
_OPENING = re.compile(r"\s{0,40}[bBfFrRuU]{0,2}(?P<mark>\\{0,3}[\"'`])")
_QUOTED = {mark: re.compile(rf"(?:[^{mark}\\]|\\.)*+(?={mark})", re.DOTALL) for mark in "\"'`"}
_BARE = re.compile(r"[ \t]{0,8}(?P<value>[^\s\"'`<>]++)")
_NEXT_PAIR = re.compile(r"[,&;](?=[A-Za-z_][A-Za-z0-9_.-]{0,80}[ ]?[=:])")
_END_OF_LINE = re.compile(r"[^\n]{0,4096}")

_FLAG = re.compile(
    r"(?<![A-Za-z0-9_-])(?P<name>--?[A-Za-z][A-Za-z0-9-]{1,60})[ \t]{1,4}(?P<value>(?![-\"'])[^\s\"'`]++)"
)
_PLACE = re.compile(r"[A-Z][A-Z_]{2,24}")
"""What a help page writes for the value of a flag."""
_BASIC_FLAG = re.compile(r"(?<!\S)(?:-u|--user|--proxy-user)[ =]{0,3}[\"']?(?P<value>[^\s:\"'/]{1,200}:[^\s\"']++)")
_ELEMENT = re.compile(r"<(?P<name>[A-Za-z_][A-Za-z0-9_.-]{0,80}+)>(?P<value>[^<\n]{1,512}+)</")
_HEADER = re.compile(
    r"(?i)\b(?:proxy-)?authorization\b[\"'`\\]{0,4}\s{0,4}[:=]\s{0,4}[\"'`\\]{0,4}"
    r"(?:(?:basic|bearer|token|digest|apikey|negotiate|bot|key)\s{1,4})?(?P<value>[^\s\"'`\\,;]++)"
)
_COOKIE = re.compile(r"(?i)(?<![\w-])(?:set-)?cookie[\"']?:[ ]?[\"']?(?P<value>[^\s\"'=]{1,100}=[^\n\"']++)")
_BEARER = re.compile(r"(?i)(?<![A-Za-z0-9_-])(?:bearer|basic)\s{1,4}(?P<value>[A-Za-z0-9+/_.~=-]{8,}+)")
_SENTENCE = re.compile(
    r"""(?i)\b(?:password|passphrase|passcode|passwd|pwd|apikey|token|secret
      |(?:(?:api|access|secret|private|signing|master)[ -])?key(?:[ ](?:base|value))?)
    (?:[ ](?:for|of|on|to)[ ][^\s]{1,60}+(?:[ ][^\s]{1,60}+){0,3}?)?
    [ ](?:(?:is|was|be|to|as)(?:[ ]now|[ ]still)?:?[ ])?
    (?P<open>["'`*]{0,2})(?P<value>[^\s"'`*]{4,}+)(?P<after>["'`*]?\s*(?:[.,;!)]|\Z|\n))?""",
    re.VERBOSE,
)

_PHRASE = re.compile(
    r"(?i)\b(?:pass(?:word|phrase|code)|pwd)[ ](?:is|was|to)(?:[ ]now)?:?[ ][\"'`*]{1,2}(?P<value>[^\"'`*\n]{4,80}+)[\"'`*]"
)

_ORDINARY = frozenset(
    """a an and any are argon2 argon2id as at base64 bcrypt bool boolean bytes changed char correct default demo denied
    disabled empty enabled encrypted example expired false field file for from given hashed header here hidden in
    incorrect input int integer lambda invalid is it kept masked missing needed never new nil no none not null number oauth2
    object off ok on only option optional or passed password pbkdf2 placeholder prompt read redacted required reset
    rotated sample scrypt secret secretstr sent set sha1 sha256 sha512 stored str string stringvar strong test that
    the this to token too true type undefined unknown unset url used utf8 valid value varchar was weak wrong yes""".split()
)


def named_values(text: str) -> Iterator[Span]:
    """Yield the places of values that a name, a header or a sentence says are secret."""
    lowered = text.lower()
    yield from _assigned(text)
    yield from _flags(text)
    if "</" in text:
        yield from (_span(found) for found in _ELEMENT.finditer(text) if _is_secret_element(found))
    if "authorization" in lowered:
        yield from (_span(found, "authorization") for found in _HEADER.finditer(text) if is_worth(found["value"]))
    if "cookie" in lowered:
        yield from (_span(found, "cookie") for found in _COOKIE.finditer(text) if not refers(found["value"]))
    if "bearer" in lowered or "basic" in lowered:
        yield from (_span(found, "authorization") for found in _BEARER.finditer(text) if _is_credential(found))
    yield from (_span(found, "stated-secret") for found in _SENTENCE.finditer(text) if _is_stated(found))
    if "pass" in lowered or "pwd" in lowered:
        phrases = (found for found in _PHRASE.finditer(text) if is_worth(found["value"]))
        yield from (_span(found, "stated-secret") for found in phrases)


def is_worth(value: str) -> bool:
    """True if a value that is called secret is no ordinary word and no reference."""
    return len(value) >= 3 and value.lower() not in _ORDINARY and not refers(value) and not is_template(value)


def _is_secret_element(found: re.Match[str]) -> bool:
    return is_secret_name(found["name"]) and not refers(found["value"])


def _span(found: re.Match[str], name: str = "named-value") -> Span:
    return Span(found.start("value"), found.end("value"), name)


def _assigned(text: str) -> Iterator[Span]:
    at = 0
    while found := _ASSIGNMENT.search(text, at):
        at = found.end("name")
        span = _value(text, found) if is_secret_name(found["name"]) and not _is_inside(text, found) else None
        if span is not None:
            at = span.end
            yield span


def _is_inside(text: str, found: re.Match[str]) -> bool:
    """True if the name is a part of something longer: `${NAME:?why}`, `arn:secret:name`, `test.py::name`."""
    before = text[max(0, found.start() - 2) : found.start()]
    return before == "${" or (before.endswith(":") and found.group().endswith(":"))


def _value(text: str, found: re.Match[str]) -> Span | None:
    opening = _OPENING.match(text, found.end())
    if opening is not None:
        end = _closing(text, opening.end(), opening["mark"])
        value = text[opening.end() : end]
        return None if refers(value) or not _fits(found["name"], value) else Span(opening.end(), end, "named-value")
    bare = _BARE.match(text, found.end())
    if bare is None or found.group().endswith(("==", "!=")):
        return None
    value = _trimmed(_NEXT_PAIR.split(bare["value"], maxsplit=1)[0])
    if (
        not value
        or refers(value)
        or is_template(value)
        or not _is_worth(found["name"], value, spaced=" =" in found.group())
    ):
        return None
    return Span(bare.start("value"), bare.start("value") + len(value), "named-value")


def _trimmed(value: str) -> str:
    """Return `value` without the punctuation of the text around it; a placeholder keeps its bracket."""
    cover = PLACEHOLDER.match(value)
    trimmed = value.rstrip(",;)]}")
    return cover.group() if cover and cover.end() >= len(trimmed) else trimmed


def _closing(text: str, start: int, mark: str) -> int:
    """Return where a quoted value ends; a quote nobody closed ends with its line."""
    limit = min(len(text), start + _LONGEST)
    if len(mark) == 1:
        closed = _QUOTED[mark].match(text, start, limit)
        end = closed.end() if closed else -1
    else:
        end = text.find(mark, start, limit)
    if end >= 0:
        return end
    line = _END_OF_LINE.match(text, start)
    return line.end() if line else start


def _fits(name: str, value: str) -> bool:
    """Judge a quoted value; of a token it is one word, because models speak of tokens that are text."""
    if name.isupper():
        return True
    ordinary = value.lower() in _ORDINARY or len(value) < 3
    return not ordinary and not (is_token_name(name) and " " in value)


def _is_worth(name: str, value: str, *, spaced: bool = False) -> bool:
    """Judge an unquoted value: in an environment file everything counts, in code a reference does not."""
    if name.isupper() and not spaced:
        return value.lower() not in _ORDINARY
    if len(value) < 4 or value.lower() in _ORDINARY or name.lower().endswith(value.lower()):
        return False
    if value.isdigit() and (is_token_name(name) or (len(value) < 6 and "pass" not in name.lower())):
        return False
    if is_name(value) and (name.lower().endswith("s") or not is_password_name(name)):
        return False
    return not is_code(value)


def _flags(text: str) -> Iterator[Span]:
    for found in _FLAG.finditer(text):
        if _PLACE.fullmatch(found["value"]):
            continue
        if is_secret_name(found["name"]) and is_worth(found["value"]) and _is_worth(found["name"], found["value"]):
            yield _span(found)
    for found in _BASIC_FLAG.finditer(text):
        if not all(refers(part) for part in found["value"].split(":", 1)):
            yield _span(found, "authorization")


def _is_credential(found: re.Match[str]) -> bool:
    value = found["value"]
    if found.group()[:5].lower() == "basic":
        return is_user_and_password(value)
    return len(value) >= 16 and (any(c.isdigit() for c in value) or any(c.isupper() for c in value[1:]))


def is_user_and_password(value: str) -> bool:
    """True if `value` is base64 of `user:password`."""
    try:
        plain = base64.b64decode(value[:_LONGEST] + "=" * (-len(value[:_LONGEST]) % 4), validate=True)
    except binascii.Error:
        return False
    return b":" in plain and plain.isascii()


def _is_stated(found: re.Match[str]) -> bool:
    """A sentence names a secret if the word after it is quoted, ends the sentence, or is no word at all."""
    value = found["value"].rstrip(".,;:!?)")
    if len(value) < 4 or value.lower() in _ORDINARY or refers(value) or is_code(value) or "(" in value:
        return False
    head = found.group().lower()
    strong = any(c.isdigit() for c in value) and any(c.isalpha() for c in value)
    if not head.startswith("pass") and not head.startswith("pwd"):
        return strong and len(value) >= 8 and " is " in head
    linked = any(f" {verb}" in head for verb in ("is ", "was ", "to ", "as ", "be ", "is: "))
    quoted = bool(found["open"]) and linked
    return quoted or (strong and len(value) >= 6) or (linked and found["after"] is not None and value.isalpha())
