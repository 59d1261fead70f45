"""A skill and four prompts for Tau's agent and its user, as they are offered; it writes none."""

from __future__ import annotations

from importlib.resources import files
from pathlib import PurePosixPath
from typing import NamedTuple

SKILL = "continuity-memory"
"""What Tau calls the skill: the name of its folder."""

PROMPTS = ("memory-remember", "memory-resume", "memory-decide", "memory-wrap-up")
"""What a person types behind a slash. None is a command of Tau's or of ours."""


class Guide(NamedTuple):
    """One file as it is offered."""

    place: PurePosixPath
    """Where Tau looks for it, from its own folder on."""
    text: str
    """Whole: frontmatter that Tau reads, and what the agent is told."""


def guides() -> tuple[Guide, ...]:
    """Return all of them, the skill first."""
    skill = Guide(PurePosixPath("skills", SKILL, "SKILL.md"), _text("SKILL.md"))
    return (skill, *(Guide(PurePosixPath("prompts", f"{name}.md"), _text("prompts", f"{name}.md")) for name in PROMPTS))


def _text(*path: str) -> str:
    return files(__name__).joinpath(*path).read_text(encoding="utf-8")
