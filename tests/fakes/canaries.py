"""Credentials that open nothing, a kind of its own for each place in which one may be left lying about."""

from __future__ import annotations

import base64
import random
import string
from collections.abc import Mapping

_WORDS = string.ascii_letters + string.digits


def _made(seed: str, count: int, alphabet: str = _WORDS) -> str:
    """Return `count` characters that look random and are always the same for `seed`; letters, digits and cases take turns."""
    dice = random.Random(seed)  # noqa: S311 - nothing is to be kept secret with it
    return "".join(dice.choice(alphabet) for _ in range(count))


def _hex(seed: str, count: int) -> str:
    return _made(seed, count, "0123456789abcdef")


SECRETS: Mapping[str, str] = {
    "user message": "ghp_" + _made("user message", 36),
    "assistant answer": "glpat-" + _made("assistant answer", 20),
    "cut answer": "gho_" + _made("cut answer", 36),
    "tool output": "npm_" + _made("tool output", 36),
    "tool command": "hf_" + _made("tool command", 34, string.ascii_letters),
    "reasoning": "AIza" + _made("reasoning", 35),
    "compaction arguments": "shpat_" + _hex("compaction arguments", 32),
    "checkpoint focus": "dop_v1_" + _hex("checkpoint focus", 64),
    "words to be remembered": "ghs_" + _made("words to be remembered", 36),
    "note edited by another agent": "xoxb-123456789012-1234567890123-" + _made("edited", 24),
    "task title": "AKIA" + _made("task title", 16, string.ascii_uppercase + "234567"),
    "decision body": "sk_live_" + _made("decision body", 24),
    "note path": "ghu_" + _made("note path", 36),
    "metadata value": "glpat-" + _made("metadata value", 20),
    "folder worked in": "ghp_" + _made("folder worked in", 36),
    "branch": "ghr_" + _made("branch", 36),
    "pull request title": "npm_" + _made("pull request title", 36),
    "settings, a wrong key": "ghp_" + _made("settings, a wrong key", 36),
    "settings, the server's variables": "gho_" + _made("settings, the server's variables", 36),
    "server error": "ghp_" + _made("server error", 36),
    "server stderr": "ghs_" + _made("server stderr", 36),
    "environment": "glpat-" + _made("environment", 20),
    "argument of a bridged call": "hf_" + _made("argument of a bridged call", 34, string.ascii_letters),
    "target of a bridged call": "ghp_" + _made("target of a bridged call", 36),
    "handoff the model wrote": "gho_" + _made("handoff the model wrote", 36),
    "session title": "ghp_" + _made("session title", 36),
    "reason of a decision": "shpat_" + _hex("reason of a decision", 32),
    "connection string": _made("connection string", 18),
    "header": base64.b64encode(b"keeper:" + _made("header", 18).encode()).decode(),
    "key the model is asked with": "model-key-" + _made("model key", 24),
}
"""Place to credential. The last one is a key of no known form, for where it lies nothing of it may ever be looked at."""
