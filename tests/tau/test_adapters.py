"""The shell sees a path, not a file: its root, its public messages, what was folded, and which briefs are still shown."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest
from msgspec.structs import replace
from tau_agent.messages import AssistantMessage, TextContent, UserMessage
from tau_agent.session.entries import (
    CompactionEntry,
    CustomEntry,
    CustomMessageEntry,
    MessageEntry,
    SessionEntry,
    SessionInfoEntry,
)
from tau_agent.session.jsonl import entry_from_json_line, entry_to_json_line
from tau_agent.types import JSONValue

from continuity.brief import Brief
from continuity.capture import RECEIPT_NAMESPACE
from continuity.shell.ports import PathView, SessionSource
from continuity.shell.recalling import Composed
from continuity.tau.adapters import FileSource, ToldSource, details_of
from continuity.tau.entries import BRIEF_TYPE, MessageKey
from continuity.tau.host import Told
from journal.ids import BranchId, EntryId, Sha256

BRIEF = Sha256("ab" * 32)


def said(entry_id: str, parent: str, at_ms: int) -> SessionEntry:
    return MessageEntry(id=entry_id, parent_id=parent, message=UserMessage(content=entry_id, timestamp=at_ms))


def brief(entry_id: str, parent: str) -> SessionEntry:
    details: JSONValue = {"digest": BRIEF, "token": "t"}
    return CustomMessageEntry(id=entry_id, parent_id=parent, custom_type=BRIEF_TYPE, content="b", details=details)


@pytest.fixture
def source(tmp_path: Path) -> FileSource:
    entries = [
        SessionInfoEntry(id="i"),
        said("u1", "i", 1),
        brief("b1", "u1"),
        CustomEntry(id="r1", parent_id="b1", namespace=RECEIPT_NAMESPACE, data={"capture_id": "c"}),
        said("u2", "r1", 2),
        CompactionEntry(id="k1", parent_id="u2", summary="s", first_kept_entry_id="u2"),
        said("u3", "k1", 3),
    ]
    path = tmp_path / "s.jsonl"
    path.write_text("".join(entry_to_json_line(entry) for entry in entries))
    return FileSource(path)


async def test_a_path_is_told_from_its_root_to_its_tip(source: FileSource) -> None:
    asked: SessionSource = source
    view = await asked.view(None)
    assert (view.root, view.tip) == ("i", "u3")
    assert [message.text for message in view.public] == ["u1", "u2", "u3"]
    assert (view.compactions, view.receipts) == (("k1",), ({"capture_id": "c"},))


async def test_the_root_is_the_sessions_on_whatever_branch(source: FileSource) -> None:
    elsewhere = MessageEntry(id="u9", parent_id=None, message=UserMessage(content="u9", timestamp=9))
    with source.file.path.open("a") as file:
        file.write(entry_to_json_line(elsewhere))
    view = await source.view(MessageKey("user", "u9", 9))
    assert (view.root, [message.text for message in view.public]) == ("i", ["u9"])


async def test_a_compaction_takes_the_brief_out_of_context(source: FileSource) -> None:
    before = await source.view(MessageKey("user", "u2", 2))
    after = await source.view(None)
    assert (before.briefs_in_context, after.briefs_in_context) == (frozenset({BRIEF}), frozenset())


async def test_a_brief_is_seen_with_and_without_what_its_topic_added(source: FileSource) -> None:
    composed = Composed(Brief("text", BRIEF, (), 0), None, True, Sha256("a" * 64), (), BranchId(1))
    added = CustomMessageEntry(
        id="c9", parent_id="u1", custom_type=BRIEF_TYPE, content="text", details=dict(details_of(composed))
    )
    prompt = MessageEntry(id="u9", parent_id="c9", message=UserMessage(content="u9", timestamp=9))
    with source.file.path.open("a") as file:
        file.write(entry_to_json_line(added) + entry_to_json_line(prompt))
    view = await source.view(MessageKey("user", "u9", 9))
    assert {BRIEF, "a" * 64} <= view.briefs_in_context


async def test_only_an_anchor_that_was_found_makes_a_path_certain(source: FileSource) -> None:
    assert (await source.view(MessageKey("user", "u3", 3))).certain
    assert not (await source.view(MessageKey("user", "u3", 4))).certain
    assert not (await source.view(None)).certain


def answer(entry_id: str, parent: str, stop: Literal["stop", "length", "aborted", "error", "toolUse"]) -> SessionEntry:
    message = AssistantMessage(content=[TextContent(text=entry_id)], stop_reason=stop)
    return MessageEntry(id=entry_id, parent_id=parent, message=message)


@pytest.fixture
def torn(source: FileSource) -> FileSource:
    """The same session, going on with answers that were cut off, text before a tool call, and an answer."""
    more = [
        answer("long", "u3", "length"),
        answer("stopped", "long", "aborted"),
        answer("broken", "stopped", "error"),
        answer("before a call", "broken", "toolUse"),
        answer("whole", "before a call", "stop"),
        answer("last", "whole", "error"),
    ]
    with source.file.path.open("a") as file:
        file.write("".join(entry_to_json_line(entry) for entry in more))
    return source


async def test_an_answer_that_was_cut_off_moves_no_tip(torn: FileSource) -> None:
    view = await torn.view(None)
    assert [message.entry_id for message in view.public] == ["u1", "u2", "u3", "whole"]
    assert view.tip == "whole"


async def test_a_synthesis_reads_cut_answers_before_its_tip_and_knows_them(torn: FileSource) -> None:
    await torn.view(None)
    for source in (torn, told_of(torn)):
        read = await source.messages(EntryId("whole"))
        assert [(one.text, one.cut) for one in read[3:]] == [
            ("long", True),
            ("stopped", True),
            ("broken", True),
            ("whole", False),
        ]


async def test_a_path_that_was_not_told_brings_no_message(torn: FileSource) -> None:
    assert await ToldSource().messages(EntryId("whole")) == ()
    assert await torn.messages(EntryId("nowhere")) == ()


async def test_a_path_that_grew_is_seen_as_one_that_is_seen_for_the_first_time(source: FileSource) -> None:
    lines = source.file.path.read_text().splitlines(keepends=True)
    lines += [entry_to_json_line(one) for one in (brief("b2", "u3"), said("u4", "b2", 4), said("other", "u1", 5))]
    seen: list[frozenset[Sha256]] = []
    for count in range(len(lines) + 1):
        source.file.path.write_text("".join(lines[:count]))
        view = await source.view(None)
        assert view == await FileSource(source.file.path).view(None)
        seen.append(view.briefs_in_context)
    assert [bool(briefs) for briefs in seen[2:]] == [False, True, True, True, False, False, True, True, False]


async def test_a_session_without_a_file_yet_is_empty(tmp_path: Path) -> None:
    empty = PathView(root=None, public=(), compactions=(), receipts=(), briefs_in_context=frozenset(), certain=False)
    assert await FileSource(tmp_path / "none.jsonl").view(None) == empty
    assert await ToldSource().view(None) == replace(empty, certain=True)


async def test_what_a_host_told_is_seen_as_what_a_file_tells(source: FileSource) -> None:
    seen = await source.view(None)
    assert await told_of(source).view(None) == replace(seen, certain=True)


async def test_a_boundary_sees_the_path_that_was_told_at_it(source: FileSource) -> None:
    told = told_of(source)
    before = told.told
    told.tell(Told(entries_of(source)[:2]))
    assert [message.text for message in (await told.view(before)).public] == ["u1", "u2", "u3"]
    assert [message.text for message in (await told.view(None)).public] == ["u1"]
    assert [message.text for message in await told.messages(EntryId("u3"))] == ["u1", "u2", "u3"]


async def test_what_was_taken_from_a_host_once_is_not_translated_again(source: FileSource) -> None:
    told = Told(entries_of(source))
    assert len(told.take({EntryId("i"), EntryId("u1")})) == 5
    assert told.take(frozenset[EntryId]()) == []


async def test_a_copy_that_a_repair_made_is_the_message_it_was(source: FileSource) -> None:
    told = told_of(source)
    await told.view(None)
    copies = [
        SessionInfoEntry(id="i"),
        said("copy", "i", 1).model_copy(update={"message": UserMessage(content="u1", timestamp=1)}),
    ]
    told.tell(Told(copies))
    assert [message.entry_id for message in (await told.view(None)).public] == ["u1"]


def entries_of(source: FileSource) -> list[SessionEntry]:
    """What is in the file, as the host has it."""
    lines = source.file.path.read_text().splitlines()
    return [entry_from_json_line(line) for line in lines]


def told_of(source: FileSource) -> ToldSource:
    """The same session, told by a host."""
    told = ToldSource()
    told.tell(Told(entries_of(source)))
    return told
