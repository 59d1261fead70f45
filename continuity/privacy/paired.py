"""Finds values that a secret name stands beside in another way than before a sign: commands, attributes, records."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from continuity.privacy.named import is_worth
from continuity.privacy.names import is_secret_name
from continuity.privacy.spans import Span

_Q = r"(?:\\{0,3}[\"'])"
_ENVIRONMENT = re.compile(
    r"(?<![\w-])(?:ENV|ARG|setx|setenv)[ \t]{1,4}(?P<name>[A-Za-z_][A-Za-z0-9_]{1,60}+)[ \t]{1,4}[\"']?(?P<value>[^\s\"'=]++)"
)
_ATTRIBUTE = re.compile(
    rf"(?i)(?<![\w-])(?:key|name|id){_Q}?\s{{0,4}}[:=]\s{{0,4}}{_Q}?(?P<name>[A-Za-z_][\w.:-]{{1,80}}+){_Q}?[\s,]{{1,20}}"
    rf"{_Q}?value{_Q}?\s{{0,4}}[:=]\s{{0,4}}{_Q}?(?P<value>[^\s\"'\\<>]++)"
)
_BLOCK = re.compile(
    r"variable[ ]\"(?P<name>[\w-]{1,80}+)\"[ ]{0,4}\{[^{}]{0,400}?\bdefault[ ]{0,20}=[ ]{0,4}\"(?P<value>[^\"\n]++)\""
)
_STATEMENT = re.compile(
    r"(?i)\b(?:identified[ ](?:with[ ][\w'\"]{1,40}[ ])?(?:by|as)[ ](?:password[ ])?"
    r"|(?:login|encrypted|with|set)[ ]password[ ]=?[ ]?)'(?P<value>[^'\n]++)'"
)
_LOGIN = re.compile(r"(?i)\b(?:login|user|account)\s{1,8}\S{1,100}\s{1,8}password\s{1,8}(?P<value>\S++)")
_VALUE = r"[\"']?(?P<value>[^\s\"'-][^\s\"']*+)"
_CLIENT = re.compile(rf"\b(?:mysql|mysqldump|mysqladmin|mariadb)\b[^\n|;&]{{0,200}}?[ ]-p{_VALUE}")
_BEFORE = r"\b[^\n|;&]{0,200}?[ ]"
_OPTION = re.compile(
    rf"\b(?:(?:sshpass|lftp){_BEFORE}-p[ ]{{0,4}}|redis-cli{_BEFORE}-a[ ]{{1,4}}|(?:zip|7z){_BEFORE}-[pP][ ]?"
    rf"|ldap(?:search|modify|add|whoami|passwd){_BEFORE}-w[ ]{{1,4}}"
    rf"|htpasswd{_BEFORE}-[A-Za-z]*b[A-Za-z]*(?:[ ]\S{{1,80}}){{2}}[ ]|pass(?:in|out)?[ ]pass:){_VALUE}"
)
_LOGGED_IN = re.compile(
    rf"\b(?:docker|podman|helm|skopeo|buildah|az|oc)\b[^\n|;&]{{0,60}}?\blogin{_BEFORE}-p[ ]{{1,4}}{_VALUE}"
)
_SHARE = re.compile(r"(?i)\bnet[ ]use[ ][^\n]{0,120}?\\\\\S{1,120}[ ](?P<value>[^\s/*][^\s]*+)[ ]/user:")
_HASH = re.compile(
    r"(?<![A-Za-z0-9$])(?:\$(?:apr1|1|2[abxy]?|5|6|7|y|gy|argon2(?:id|i|d)|pbkdf2[\w-]{0,12}|scrypt)\$[A-Za-z0-9./$,=+-]{20,}+"
    r"|\{(?:SHA|SSHA|SHA256|SSHA512|MD5|CRYPT)\}[A-Za-z0-9+/=$.]{16,}+)"
)

type _Hinted = tuple[re.Pattern[str], tuple[str, ...]]
"""A pattern, and words one of which stands in all it finds."""

_NAMED: Sequence[_Hinted] = (
    (_ENVIRONMENT, ("ENV", "ARG", "set")),
    (_ATTRIBUTE, ("alue", "ALUE")),
    (_BLOCK, ("variable",)),
)
_ALONE: Sequence[_Hinted] = (
    (_STATEMENT, ("identified", "IDENTIFIED", "password", "PASSWORD")),
    (_LOGIN, ("password", "PASSWORD")),
    (_CLIENT, ("mysql", "mariadb")),
    (_OPTION, ("sshpass", "lftp", "redis-cli", "ldap", "htpasswd", "pass:", "zip", "7z")),
    (_LOGGED_IN, ("login",)),
    (_SHARE, ("/user:", "/USER:")),
)


def paired(text: str) -> Iterator[Span]:
    """Yield the places of values beside secret names, and of stored passwords' digests, which can be tried at home."""
    for found in _found(text, _NAMED):
        if is_secret_name(found["name"]) and is_worth(found["value"]):
            yield Span(*found.span("value"), "named-value")
    for found in _found(text, _ALONE):
        if is_worth(found["value"]):
            yield Span(*found.span("value"), "named-value")
    if "$" in text or "}" in text:
        yield from (Span(*found.span(), "password-hash") for found in _HASH.finditer(text))


def _found(text: str, patterns: Sequence[_Hinted]) -> Iterator[re.Match[str]]:
    for pattern, hints in patterns:
        if any(hint in text for hint in hints):
            yield from pattern.finditer(text)
