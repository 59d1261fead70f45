"""For any tree of entries, in any order of looking, our reader's path and context are those of Tau's own reader."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from tau_agent.messages import AssistantMessage, TextContent, UserMessage
from tau_agent.session import SessionState, path_to_entry
from tau_agent.session.entries import (
    BranchSummaryEntry,
    CompactionEntry,
    CustomEntry,
    CustomMessageEntry,
    LeafEntry,
    MessageEntry,
    ModelChangeEntry,
    SessionEntry,
)
from tau_agent.session.jsonl import entries_from_json_lines, entry_to_json_line

from continuity.tau.entries import MessageKey, context_of, public_messages
from continuity.tau.session_file import SessionFile
from journal.ids import EntryId

KINDS = ("user", "assistant", "failed", "brief", "custom", "model", "leaf", "summary", "compaction", "old compaction")


def _entry(kind: str, entry_id: str, parent: str | None, target: str | None, at_ms: int) -> SessionEntry:
    match kind:
        case "user":
            return MessageEntry(id=entry_id, parent_id=parent, message=UserMessage(content=entry_id, timestamp=at_ms))
        case "assistant" | "failed":
            answer = AssistantMessage(
                content=[TextContent(text=entry_id)],
                stop_reason="stop" if kind == "assistant" else "error",
                timestamp=at_ms,
            )
            return MessageEntry(id=entry_id, parent_id=parent, message=answer)
        case "brief":
            return CustomMessageEntry(id=entry_id, parent_id=parent, custom_type="x", content="y")
        case "custom":
            return CustomEntry(id=entry_id, parent_id=parent, namespace="n", data={"k": entry_id})
        case "model":
            return ModelChangeEntry(id=entry_id, parent_id=parent, model="m")
        case "leaf":
            return LeafEntry(id=entry_id, parent_id=parent, entry_id=target)
        case "summary":
            return BranchSummaryEntry(id=entry_id, parent_id=parent, summary="s")
        case "compaction":
            return CompactionEntry(id=entry_id, parent_id=parent, summary="s", first_kept_entry_id=target)
        case _:
            return CompactionEntry(
                id=entry_id, parent_id=parent, summary="s", replaces_entry_ids=[] if target is None else [target]
            )


@st.composite
def trees(draw: st.DrawFn) -> list[SessionEntry]:
    entries: list[SessionEntry] = []
    for number in range(draw(st.integers(1, 24))):
        earlier = [entry.id for entry in entries]
        choice = st.sampled_from([None, *earlier[-1:] * 6, *earlier])
        entries.append(_entry(draw(st.sampled_from(KINDS)), f"e{number}", draw(choice), draw(choice), at_ms=number))
    # Tau leaves empty fields out when it writes, and a compaction means something else without them.
    return entries_from_json_lines([entry_to_json_line(entry) for entry in entries])


def _reader(entries: list[SessionEntry], cuts: list[int]) -> SessionFile:
    """Return a reader that looked at the growing file at each cut, and asked for its path each time."""
    raw = "".join(entry_to_json_line(entry) for entry in entries).encode()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s.jsonl"
        file = SessionFile(path)
        for cut in sorted({min(cut, len(raw)) for cut in cuts} | {len(raw)}):
            path.write_bytes(raw[:cut])
            assert not file.read_new().restarted
            file.active_path()
    return file


@given(trees(), st.lists(st.integers(0, 5000), max_size=4))
def test_every_path_is_taus_path(entries: list[SessionEntry], cuts: list[int]) -> None:
    file = _reader(entries, cuts)
    assert file.damaged == 0
    for entry in reversed(entries):
        ours = [found.id for found in file.path_to(EntryId(entry.id))]
        assert ours == [found.id for found in path_to_entry(entries, entry.id)]


@given(trees(), st.lists(st.integers(0, 5000), max_size=4))
def test_what_the_model_sees_is_what_tau_says(entries: list[SessionEntry], cuts: list[int]) -> None:
    file = _reader(entries, cuts)
    for entry in entries:
        state = SessionState.from_entries(entries, leaf_id=entry.id)
        shown = context_of(file.path_to(EntryId(entry.id)))
        assert tuple(found.id for found in shown) == state.context_entry_ids


@given(trees())
def test_the_tail_is_where_tau_resumes(entries: list[SessionEntry]) -> None:
    active = _reader(entries, []).active_path().entries
    assert (active[-1].id if active else None) == SessionState.from_entries(entries).active_leaf_id


@given(trees())
def test_every_public_message_is_found_by_its_event(entries: list[SessionEntry]) -> None:
    file = _reader(entries, [])
    for entry in entries:
        if entry.type == "message" and isinstance(entry.message, UserMessage):
            key = MessageKey("user", entry.message.text, entry.message.timestamp)
            active = file.active_path(key)
            assert (active.matched, active.entries[-1].id) == (True, entry.id)
            assert public_messages(active.entries)[-1].entry_id == entry.id
