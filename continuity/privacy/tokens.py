"""Finds credentials by their own look: vendors' prefixes, signed tokens, credentials in a URL; no name is needed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from continuity.privacy.references import refers
from continuity.privacy.spans import BREAK, START, Span


class Form(NamedTuple):
    """How one family of tokens looks."""

    name: str
    hints: tuple[str, ...]
    """One of these stands in every such token; looking for them is what makes a long text cheap."""
    pattern: re.Pattern[str]
    """Prefix and `body`; whatever fails, it fails within a bounded number of characters."""
    body: re.Pattern[str]
    """What may follow on the next line."""
    minimum: int
    unbroken: int
    """Letters and digits in a row that a body must hold, where the prefix alone occurs in words."""


def _form(name: str, prefix: str, body: str, minimum: int, *, hints: tuple[str, ...], unbroken: int = 0) -> Form:
    pattern = re.compile(rf"{prefix}(?P<body>{body}++)")
    return Form(name, hints, pattern, re.compile(rf"{body}++"), minimum, unbroken)


def _at_start(literal: str) -> str:
    """`literal`, but not inside a word; written so that it is the literal that is searched for."""
    return literal + "(?:" + "|".join(f"{place[:-1]}{literal})" for place in START[3:-1].split("|")) + ")"


_WORD = r"[A-Za-z0-9_-]"
_FORMS = (
    _form(
        "github-token", r"gh[pousr]_", r"[A-Za-z0-9_]", 16, hints=("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), unbroken=16
    ),
    _form("github-token", r"github_pat_", r"[A-Za-z0-9_]", 16, hints=("github_pat_",)),
    _form("gitlab-token", r"gl(?:pat|dt|rt|ptt|soat|cbt|ft|agent|imt)-", r"[A-Za-z0-9_.-]", 16, hints=("gl",)),
    _form("aws-key", r"A(?:KIA|SIA|BIA|CCA)", r"[A-Z0-9]", 12, hints=("AKIA", "ASIA", "ABIA", "ACCA")),
    _form("slack-token", r"(?:xox[abeoprs]|xapp)-", r"[A-Za-z0-9-]", 10, hints=("xox", "xapp-")),
    _form("slack-webhook", r"hooks\.slack\.com/(?:services|workflows)/", r"[A-Za-z0-9/_-]", 8, hints=("hooks.slack",)),
    _form("discord-webhook", r"discord(?:app)?\.com/api/webhooks/", r"[A-Za-z0-9/_-]", 8, hints=("api/webhooks/",)),
    _form("google-key", r"AIza", _WORD, 24, hints=("AIza",)),
    _form("google-key", r"(?:GOCSPX-|ya29\.)", r"[A-Za-z0-9_.-]", 16, hints=("GOCSPX-", "ya29.")),
    _form("npm-token", r"npm_", r"[A-Za-z0-9]", 20, hints=("npm_",)),
    _form("pypi-token", r"pypi-", _WORD, 16, hints=("pypi-",), unbroken=12),
    _form("stripe-key", r"(?:[sr]k_(?:live|test)_|whsec_)", r"[A-Za-z0-9]", 10, hints=("k_live_", "k_test_", "whsec_")),
    _form("anthropic-key", r"sk-ant-", _WORD, 8, hints=("sk-ant-",)),
    _form("openai-key", _at_start(r"sk-"), _WORD, 16, hints=("sk-",), unbroken=12),
    _form("hugging-face-token", _at_start(r"hf_"), r"[A-Za-z0-9]", 16, hints=("hf_",)),
    _form("age-key", r"AGE-SECRET-KEY-", r"[A-Z0-9-]", 16, hints=("AGE-SECRET-KEY-",)),
    _form("sendgrid-key", _at_start(r"SG\."), r"[A-Za-z0-9_.-]", 32, hints=("SG.",), unbroken=12),
    _form("cloud-token", r"do[opr]_v1_", r"[a-f0-9]", 32, hints=("_v1_",)),
    _form("cloud-token", _at_start(r"dapi"), r"[a-f0-9]", 32, hints=("dapi",)),
    _form("cloud-token", START + r"hv[sb]\.", _WORD, 20, hints=("hvs.", "hvb.")),
    _form("shop-token", r"shp(?:at|ca|pa|ss)_", r"[A-Fa-f0-9]", 24, hints=("shp",)),
    _form("twilio-key", _at_start(r"SK"), r"[a-f0-9]", 32, hints=("SK",)),
    _form(
        "service-token",
        START
        + r"(?:dckr_[op]at_|lin_api_|ntn_|gsk_|xai-|pplx-|r8_|gl(?:sa|c)_|sntry[su]_|PMAK-|NRAK-|tskey-|nfp_|dp\.[a-z]{2,5}\.)",
        r"[A-Za-z0-9_.-]",
        20,
        hints=(
            *("dckr_", "lin_api_", "ntn_", "gsk_", "xai-", "pplx-", "r8_", "glsa_", "glc_", "sntry", "PMAK-", "NRAK-"),
            *("tskey-", "nfp_", "dp."),
        ),
        unbroken=16,
    ),
    _form("package-token", START + r"(?:rubygems_|oy2)", r"[a-z0-9]", 40, hints=("rubygems_", "oy2")),
    _form("bitbucket-token", START + r"ATBB", r"[A-Za-z0-9]", 28, hints=("ATBB",), unbroken=28),
    _form("dropbox-token", START + r"sl\.(?:u\.)?", _WORD, 60, hints=("sl.",), unbroken=12),
    _form("contentful-token", START + r"CFPAT-", _WORD, 40, hints=("CFPAT-",), unbroken=12),
    _form(
        "fly-token",
        START + r"(?:fm[12][ar]?_|fo1_)",
        r"[A-Za-z0-9+/=_%-]",
        40,
        hints=("fm1", "fm2", "fo1_"),
        unbroken=12,
    ),
    _form("google-key", START + r"1(?://|%2F%2F)0", _WORD, 40, hints=("1//0", "1%2F%2F0"), unbroken=12),
    _form("firebase-key", START + r"AAAA[A-Za-z0-9_-]{7}:", _WORD, 130, hints=("AAAA",), unbroken=12),
    _form("mailchimp-key", START + r"[0-9a-f]{32}-us", r"[0-9]", 1, hints=("-us",)),
    _form("azure-secret", r"(?<![A-Za-z0-9_.~-])[A-Za-z0-9_.~]{3}[0-9]Q~", r"[A-Za-z0-9_.~-]", 31, hints=("Q~",)),
    _form("terraform-token", START + r"[A-Za-z0-9]{14}\.atlasv1\.", r"[A-Za-z0-9_=-]", 60, hints=(".atlasv1.",)),
    _form(
        "discord-token",
        START + r"[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.",
        _WORD,
        27,
        hints=(".",),
        unbroken=8,
    ),
    _form("teams-webhook", r"webhook\.office\.com/webhookb2/", r"[A-Za-z0-9@/-]", 40, hints=("webhook.office",)),
    _form("aws-session", START + r"(?:FwoGZXIvYXdz|IQoJb3JpZ2lu)", r"[A-Za-z0-9+/=%]", 60, hints=("FwoGZ", "IQoJb")),
    _form("package-token", START + r"cio", r"[A-Za-z0-9]", 32, hints=("cio",), unbroken=32),
    _form("newrelic-key", START + r"[0-9a-f]{36}NR", r"[AL]", 2, hints=("NRAL",)),
    _form("notion-token", START + r"secret_", r"[A-Za-z0-9]", 43, hints=("secret_",), unbroken=43),
    _form("square-secret", START + r"sq0csp-", _WORD, 43, hints=("sq0csp-",)),
    _form("backblaze-key", START + r"K00", r"[A-Za-z0-9+/]", 28, hints=("K00",)),
    _form(
        "braintree-token",
        r"access_token(?:\$|%24)(?:production|sandbox)(?:\$|%24)",
        r"[a-z0-9$%]",
        40,
        hints=("access_token",),
    ),
    _form("signature", r"[?&]sig=", r"[A-Za-z0-9%+/=]", 40, hints=("sig=",)),
    _form("signature", r"X-Amz-(?:Signature|Security-Token)=", r"[A-Za-z0-9%+/=]", 40, hints=("X-Amz-S",)),
    _form(
        "bot-token",
        r"(?:(?<![A-Za-z0-9])|(?<=/bot)|(?<=\\[nrt]))[0-9]{8,10}(?::|%3A)",
        _WORD,
        34,
        hints=(":AA", "%3AAA"),
    ),
)

_SIGNED = re.compile(r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{6,}+(?:\.[A-Za-z0-9_-]*+)*+")
_RUN = re.compile(r"[A-Za-z0-9]+")
_AUTHORITY = re.compile(r"://([^\s/?#\"'<>`\\]++)")
_ODD_AUTHORITY = re.compile(r"[^\s\"'<>`\\@]{0,200}@")
_EXAMPLES = frozenset({"pass", "password", "passwd", "pw", "pwd", "secret"})
"""What a manual writes for the password in an address."""
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,30}\Z")
_PORT = re.compile(r"[^:\]]*:\d*\Z|\[.*\](?::\d*)?\Z")


def tokens(text: str) -> Iterator[Span]:
    """Yield the places of credentials that are known by their look."""
    for form in _FORMS:
        if any(hint in text for hint in form.hints):
            yield from _of_form(text, form)
    if "eyJ" in text:
        for found in _SIGNED.finditer(text):
            yield Span(found.start(), found.end(), "signed-token")
    if "://" in text:
        yield from _in_urls(text)


def _of_form(text: str, form: Form) -> Iterator[Span]:
    for found in form.pattern.finditer(text):
        body, end = _whole(text, found, form)
        if len(body) >= form.minimum and (not form.unbroken or _longest_run(body) >= form.unbroken):
            yield Span(found.start(), end, form.name)


def _whole(text: str, found: re.Match[str], form: Form) -> tuple[str, int]:
    """Return the token's body and its end, read on over line breaks where a terminal or an editor wrapped it."""
    body, end = found["body"], found.end()
    for _ in range(8):
        line = BREAK.match(text, end)
        more = form.body.match(text, line.end()) if line else None
        if more is None or not _continues(body, more.group(), form.minimum):
            break
        body, end = body + more.group(), more.end()
    return body, end


def _continues(body: str, more: str, minimum: int) -> bool:
    """A torn token goes on if it was too short; a long enough one only with what no sentence begins with."""
    if len(body) < minimum:
        return len(body) + len(more) >= minimum
    return len(more) >= 6 and any(c.isdigit() for c in more) and any(c.isalpha() for c in more)


def _longest_run(body: str) -> int:
    return max((len(run) for run in _RUN.findall(body)), default=0)


def _in_urls(text: str) -> Iterator[Span]:
    for found in _AUTHORITY.finditer(text):
        at = found[1].rfind("@")
        end = found.start(1) + at
        if at < 0:
            if ":" not in found[1] or _PORT.match(found[1]):
                continue
            odd = _ODD_AUTHORITY.match(text, found.end())
            if odd is None:
                continue
            end = odd.end() - 1
        if _is_secret(text[found.start(1) : end], text[max(0, found.start() - 31) : found.start()]):
            yield Span(found.start(1), end, "url-credentials")


def _is_secret(userinfo: str, before: str) -> bool:
    user, colon, password = userinfo.partition(":")
    if colon and not refers(password) and password.lower() not in _EXAMPLES:
        return True
    scheme = _SCHEME.search(before)
    if refers(user) or (scheme is not None and "ssh" in scheme.group().lower()):
        return False
    return len(user) >= 12 and any(c.isdigit() for c in user) and any(c.isalpha() for c in user)
