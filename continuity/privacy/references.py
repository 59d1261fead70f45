"""Tells a value from what only points at one, stands where one was, or is code that makes one."""

from __future__ import annotations

import re
from itertools import pairwise

from continuity.privacy.spans import PLACEHOLDER

_REFERENCE = re.compile(
    r"""\$\{[^}]*\}?|\$[A-Za-z_][A-Za-z0-9_]*|\$\([^)]*\)?|<[^>]*>|\{\{?[^}]*\}\}?|%(?:\(\w+\))?s|%[A-Za-z_]+%
      | \[[A-Za-z _-]*\]?|[xX*.•#_-]{2,}|…+|-
      | (?:op|vault|ssm|awssm|gcpsm|akv|bws|env|file|secret|keychain|sops)://\S*|vault:\S+|arn:aws\S*|projects/\S*
      | ~?/[A-Za-z0-9_.-]+/[A-Za-z0-9_./-]+
      | [A-Z]+(?:_[A-Z]+)+ | (?:\{[^{}]*\}[:/@.-]?)+
      | (?i:(?:replace|change|insert|enter|fill)[_-]?(?:me|this|here|in|with)[\w-]*|your[_-][\w-]*|redacted|removed|todo
            |placeholder|not[_-]?set|set[_-]?me)""",
    re.VERBOSE,
)
_CODE = re.compile(
    r"""[A-Za-z_$]+(?:\??\.[A-Za-z_$]+)+(?:[;,)}\]]\D*)?
      | [A-Za-z_$]{1,3}[)}\]]\D*
      | (?:await|new|self|this)?[A-Za-z_$.]*[(\[{]\D*
      | [A-Za-z_$][A-Za-z0-9_$]*(?:\.[A-Za-z0-9_$]+)+[(\[].*
      | [A-Za-z_$][A-Za-z0-9_$]*\[.*
      | &(?:mut)?[A-Za-z_:']+
      | [A-Za-z0-9_$.!]+\?[A-Za-z0-9_$.]*:[A-Za-z0-9_$.]*""",
    re.VERBOSE | re.DOTALL,
)
_NAME = re.compile(r"[A-Za-z_]{1,40}")
_WORD = re.compile(r"[A-Z0-9]{5,}+|[A-Za-z0-9]{8,}+")
_TEMPLATE = re.compile(r"\{\{|\$\{|\$\(|<[%A-Za-z]|%\{|#\{")


def refers(value: str) -> bool:
    """True for what only points at a value, or stands where one was."""
    return not value.strip() or _REFERENCE.fullmatch(value) is not None or PLACEHOLDER.fullmatch(value) is not None


def is_code(value: str) -> bool:
    """True for an expression: a member, a call, a choice, a type."""
    return _CODE.fullmatch(value) is not None or is_template(value)


def is_name(value: str) -> bool:
    """True for a name in a program: a variable or a type, made of words."""
    return _NAME.fullmatch(value) is not None and (len(value) < 16 or not is_opaque(value))


def is_opaque(body: str) -> bool:
    """True if `body` is no name made of words: letters, digits and cases take turns in it."""
    kinds = [0 if c.isdigit() else 1 if c.isupper() else 2 for c in body[:64] if c.isalnum()]
    turns = sum(one != other for one, other in pairwise(kinds))
    return turns * 4 >= len(kinds) or any(_is_mixed(word) for word in _WORD.findall(body[:64]))


def _is_mixed(word: str) -> bool:
    return any(c.isdigit() for c in word) and any(c.isalpha() for c in word)


def is_template(value: str) -> bool:
    """True for what a program will put a value in place of."""
    return _TEMPLATE.match(value) is not None
