"""Turns a handoff into the note other agents read: body, observations, relations, metadata. It writes nowhere."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Literal

from continuity.capture import content_digest
from continuity.handoff.answer import Handoff, sections
from continuity.privacy import mask
from continuity.privacy.quoting import one_line
from continuity.profile import GitFacts, Profile, ProfileKind, PullRequest
from journal.ids import CaptureId, EntryId, SessionId

CATEGORIES: Mapping[ProfileKind, tuple[str, ...]] = MappingProxyType(
    {
        "coding": ("summary", "changed_file", "verification", "decision", "blocker", "next_step"),
        "general": ("summary", "context", "next_step", "decision", "problem"),
    }
)
"""The observation categories of the two schema notes."""

_OBSERVATION = re.compile(r"[-*][ \t]+\[(?P<category>[a-z_]{1,30})\][ \t]+(?P<text>\S.*)")
_ITEM = re.compile(r"[ \t]{0,3}(?:[-*+]|[0-9]{1,3}[.)])[ \t]+(?P<text>\S.*)")
_LINEAGE = re.compile(r"(?m)^(\s*[-*+][ \t]+(?:continues|derived_from)[ \t]+)\[\[")
_BLOCKED = re.compile(r"(?i)blocked\b[:,]?[ ]*")
_NOTHING = re.compile(r"(?i)(?:none|nothing|n/a)?(?: (?:yet|so far|recorded|known|given|stated))?\.?")
"""How models spell that a section has nothing to say."""
_OBSERVATION_CHARS = 300
_OBSERVATIONS_EACH = 12
_VALUE_CHARS = 1000
_STATES: Mapping[str, Literal["open", "closed", "merged"]] = {"open": "open", "closed": "closed", "merged": "merged"}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def note_body(handoff: Handoff, kind: ProfileKind, *, continues: str | None = None, sources: Sequence[str] = ()) -> str:
    """Return the note's body.

    `continues` names the confirmed checkpoint before this one, `sources` the notes it draws on; a relation is written
    from these alone, never because a model wrote it.
    """
    body = _LINEAGE.sub(r"\1\\[\\[", handoff.text.strip())
    observations = list(_given(handoff.observations, kind)) or list(_derived(handoff.text, kind))
    parts = [body, "## Observations", "\n".join(f"- [{name}] {text}" for name, text in observations)]
    relations = [("continues", continues)] if continues else []
    relations += [("derived_from", source) for source in sources if source != continues]
    if relations:
        parts += ["## Relations", "\n".join(f"- {name} [[{_target(at or '')}]]" for name, at in relations)]
    return "\n\n".join(parts) + "\n"


def _target(address: str) -> str:
    return one_line(address.replace("[", "").replace("]", ""), 500)


def _given(text: str, kind: ProfileKind) -> Iterator[tuple[str, str]]:
    for line in text.split("\n"):
        found = _OBSERVATION.fullmatch(line.strip())
        if found and found["category"] in CATEGORIES[kind]:
            yield found["category"], one_line(found["text"], _OBSERVATION_CHARS)


def _derived(text: str, kind: ProfileKind) -> Iterator[tuple[str, str]]:
    found = sections(text)
    finding, blocker = ("verification", "blocker") if kind == "coding" else ("context", "problem")
    yield from _lines("summary", _items(found["Objective"])[:1])
    yield from _lines("decision", _items(found["Decisions"]))
    yield from _lines(finding, _items(found["Verified work"]))
    blocked = [_BLOCKED.sub("", item, count=1) for item in _items(found["Unfinished work"]) if _BLOCKED.match(item)]
    yield from _lines(blocker, blocked)
    yield from _lines("next_step", _items(found["Next action"])[:1])


def _lines(category: str, items: Sequence[str]) -> Iterator[tuple[str, str]]:
    for item in items[:_OBSERVATIONS_EACH]:
        text = one_line(item, _OBSERVATION_CHARS)
        if not _NOTHING.fullmatch(text):
            yield category, text


def _items(text: str) -> list[str]:
    """The list items of a section, or its first paragraph if it has none."""
    found = [item["text"] for line in text.split("\n") if (item := _ITEM.fullmatch(line))]
    return found or [text.partition("\n\n")[0]]


def note_metadata(
    profile: Profile,
    *,
    project: str,
    capture_id: CaptureId,
    session_id: SessionId,
    source_tip: EntryId,
    trigger: str,
    started_ms: int,
    ended_ms: int,
    body: str,
    git: GitFacts | None = None,
) -> dict[str, str]:
    """Return the frontmatter of a checkpoint. All values are strings: the server changes numbers and booleans.

    `body` is the body as it is sent; its digest lets a reader see whether somebody edited it since. What git did not
    tell is left out.
    """
    ours = {
        "capture_id": capture_id,
        "session_id": session_id,
        "source_tip": source_tip,
        "content_digest": content_digest(body),
    }
    told = {
        "project": project,
        "started": iso(started_ms),
        "ended": iso(ended_ms),
        "status": "open",
        "capture": "summarized",
        "agent": "tau",
        "cwd": profile.cwd,
        "trigger": trigger,
        **(_coding(profile, git) if profile.kind == "coding" else {"scope": profile.scope}),
    }
    return ours | {name: line for name, value in told.items() if (line := _line(value))}


def _line(value: str) -> str:
    return one_line(mask(value).text, _VALUE_CHARS)


def _coding(profile: Profile, git: GitFacts | None) -> dict[str, str]:
    told = {"repository": profile.repository or "", "repo_root": git.root if git else profile.root or ""}
    if git is not None:
        told |= {"branch": git.branch, "git_sha": git.sha}
        told |= _pull_request(git.pull_request) if git.pull_request else {}
    return told


def _pull_request(found: PullRequest) -> dict[str, str]:
    return {
        "pull_request_number": found.number,
        "pull_request_title": found.title,
        "pull_request_url": found.url,
        "pull_request_state": found.state,
        "pull_request_base": found.base,
        "pull_request_head": found.head,
    }


def pull_request_in(metadata: Mapping[str, str]) -> PullRequest | None:
    """Return the pull request that the frontmatter of a checkpoint names."""
    told = {name: metadata.get(f"pull_request_{name}", "") for name in ("number", "title", "url", "base", "head")}
    state = _STATES.get(metadata.get("pull_request_state", ""))
    return PullRequest(state=state or "", **told) if told["number"] else None


def iso(at_ms: int) -> str:
    """Return UTC milliseconds as an ISO time, to the second."""
    return (_EPOCH + timedelta(milliseconds=at_ms)).isoformat(timespec="seconds")
