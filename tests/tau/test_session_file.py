"""A session file is read from where we stopped, line by whole line, and says the same as Tau's own reader."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import pytest
from tau_agent.messages import (
    AssistantMessage,
    ImageContent,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from tau_agent.session.entries import (
    BranchSummaryEntry,
    CompactionEntry,
    CustomEntry,
    CustomMessageEntry,
    LabelEntry,
    LeafEntry,
    MessageEntry,
    SessionEntry,
)
from tau_agent.session.jsonl import entry_to_json_line

from continuity.capture import RECEIPT_NAMESPACE
from continuity.tau.entries import (
    BRIEF_TYPE,
    Entry,
    MessageKey,
    context_of,
    public_messages,
    receipts_on,
)
from continuity.tau.session_file import SessionFile
from journal.ids import EntryId


def user(entry_id: str, text: str = "hello", *, parent: str | None = None, at_ms: int = 1000) -> SessionEntry:
    return MessageEntry(id=entry_id, parent_id=parent, message=UserMessage(content=text, timestamp=at_ms))


def assistant(entry_id: str, text: str = "answer", *, parent: str | None, at_ms: int = 2000) -> SessionEntry:
    message = AssistantMessage(content=[TextContent(text=text)], timestamp=at_ms)
    return MessageEntry(id=entry_id, parent_id=parent, message=message)


def write(path: Path, *entries: SessionEntry) -> None:
    with path.open("ab") as file:
        file.write("".join(entry_to_json_line(entry) for entry in entries).encode())


def ids(entries: Iterable[Entry]) -> list[str]:
    return [entry.id for entry in entries]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "session.jsonl"


@pytest.fixture
def file(path: Path) -> SessionFile:
    return SessionFile(path)


def test_a_missing_file_is_an_empty_session(file: SessionFile) -> None:
    assert file.read_new().entries == ()
    assert file.active_path().entries == ()
    assert file.root is None


def test_a_second_look_brings_only_what_is_new(file: SessionFile, path: Path) -> None:
    write(path, user("u1"))
    file.read_new()
    write(path, assistant("a1", parent="u1"))
    assert ids(file.read_new().entries) == ["a1"]
    assert ids(file.active_path().entries) == ["u1", "a1"]


def test_half_a_line_waits_for_its_end(file: SessionFile, path: Path) -> None:
    line = entry_to_json_line(user("u1", "héllo")).encode()
    path.write_bytes(line[:-1])
    assert file.read_new().entries == ()
    path.write_bytes(line)
    assert ids(file.read_new().entries) == ["u1"]


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85", "\r", "\v"])
def test_only_a_newline_ends_a_line(file: SessionFile, path: Path, separator: str) -> None:
    text = f"one{separator}two"
    path.write_text(
        json.dumps({"id": "u1", "type": "message", "message": {"role": "user", "content": text}}, ensure_ascii=False)
        + "\n",
        encoding="utf-8",
        newline="",
    )
    file.read_new()
    assert [message.text for message in public_messages(file.active_path().entries)] == [text]


@pytest.mark.parametrize(
    "line", [b"{", b"[]", b"null", b'{"type":"message"}', b"\0\0\0", b'"\xff"', b'{"id":""}', b"[" * 99_999]
)
def test_a_damaged_line_costs_that_line_and_is_counted(file: SessionFile, path: Path, line: bytes) -> None:
    write(path, user("u1"))
    with path.open("ab") as raw:
        raw.write(line + b"\n")
    write(path, assistant("a1", parent="u1"))
    reading = file.read_new()
    assert (ids(reading.entries), reading.damaged, file.damaged) == (["u1", "a1"], 1, 1)


def test_an_id_that_comes_twice_keeps_its_first_meaning(file: SessionFile, path: Path) -> None:
    write(path, user("u1", "first"), user("u1", "second"))
    assert file.read_new().damaged == 1
    assert file.path_to(EntryId("u1"))[0].text == "first"


def test_a_cut_file_is_read_again(file: SessionFile, path: Path) -> None:
    write(path, user("u1"), assistant("a1", parent="u1"))
    file.read_new()
    path.write_text(entry_to_json_line(user("u1")))
    reading = file.read_new()
    assert (reading.restarted, ids(reading.entries), "a1" in file) == (True, ["u1"], False)


def test_a_replaced_file_is_read_again_though_it_is_longer(file: SessionFile, path: Path) -> None:
    write(path, user("u1"))
    file.read_new()
    path.unlink()
    write(path, user("v1"), assistant("b1", parent="v1"))
    assert file.read_new().restarted
    assert ids(file.active_path().entries) == ["v1", "b1"]


def test_a_file_changed_just_before_where_we_stopped_is_read_again(file: SessionFile, path: Path) -> None:
    write(path, *(user(f"u{number}", "x" * 100) for number in range(10)))
    file.read_new()
    raw = path.read_bytes()
    path.write_bytes(raw[:-20] + raw[-20:].swapcase())
    assert file.read_new().restarted


def test_a_file_that_vanished_is_an_empty_session_again(file: SessionFile, path: Path) -> None:
    write(path, user("u1"))
    file.read_new()
    path.unlink()
    assert file.read_new().restarted
    assert len(file) == 0


def test_a_batch_that_tau_put_in_by_replacing_the_file_is_read_on(file: SessionFile, path: Path) -> None:
    write(path, user("u1"))
    file.read_new()
    raw = path.read_bytes()
    path.unlink()
    path.write_bytes(raw + entry_to_json_line(assistant("a1", parent="u1")).encode())
    reading = file.read_new()
    assert (reading.restarted, ids(reading.entries)) == (False, ["a1"])


def test_reading_leaves_the_session_file_as_it_was(file: SessionFile, path: Path) -> None:
    write(path, user("u1"))
    before = (path.read_bytes(), path.stat().st_mtime_ns)
    file.read_new()
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before


def test_a_missing_parent_is_a_root_until_it_comes(file: SessionFile, path: Path) -> None:
    write(path, assistant("a1", parent="u1"), user("u2", parent="a1"))
    file.read_new()
    assert ids(file.path_to(EntryId("u2"))) == ["a1", "u2"]
    write(path, user("u1"))
    file.read_new()
    assert ids(file.path_to(EntryId("u2"))) == ["u1", "a1", "u2"]


def test_parents_in_a_circle_end_the_walk(file: SessionFile, path: Path) -> None:
    write(path, user("u1", parent="u2"), user("u2", parent="u1"))
    file.read_new()
    assert ids(file.path_to(EntryId("u2"))) == ["u1", "u2"]


def test_the_path_of_an_unknown_id_is_empty(file: SessionFile) -> None:
    assert file.path_to(EntryId("nobody")) == ()


def test_the_path_is_the_events_message_not_the_tail(file: SessionFile, path: Path) -> None:
    """A second process may have appended its own prompt since."""
    write(path, user("u1"), assistant("a1", parent="u1"))
    write(path, user("mine", "go on", parent="a1", at_ms=5000), user("theirs", "go on", parent="a1", at_ms=5001))
    file.read_new()
    active = file.active_path(MessageKey("user", "go on", 5000))
    assert (active.matched, ids(active.entries)) == (True, ["u1", "a1", "mine"])


def test_of_two_equal_messages_the_newest_counts(file: SessionFile, path: Path) -> None:
    """Tau's repair of a broken history copies messages under new ids."""
    write(path, user("u1", at_ms=7), user("copy", at_ms=7))
    file.read_new()
    assert ids(file.active_path(MessageKey("user", "hello", 7)).entries) == ["copy"]


def test_without_its_message_the_path_is_the_tail_and_says_so(file: SessionFile, path: Path) -> None:
    write(path, user("u1"), LeafEntry(id="leaf", entry_id="u1"))
    file.read_new()
    active = file.active_path(MessageKey("user", "unheard of", 1))
    assert (active.matched, ids(active.entries)) == (False, ["u1"])


def test_a_custom_prompt_is_found_too(file: SessionFile, path: Path) -> None:
    write(path, CustomMessageEntry(id="c1", custom_type="other", content="go", timestamp=1_700_000_000.123))
    file.read_new()
    assert file.active_path(MessageKey("custom", "go", 1_700_000_000_123)).matched


def test_public_is_what_a_person_said_and_what_the_assistant_finished(file: SessionFile, path: Path) -> None:
    write(
        path,
        user("u1", "do it"),
        MessageEntry(
            id="a1",
            parent_id="u1",
            message=AssistantMessage(
                content=[TextContent(text="I shall call"), ToolCall(id="t", name="bash")], stop_reason="toolUse"
            ),
        ),
        MessageEntry(
            id="t1",
            parent_id="a1",
            message=ToolResultMessage(tool_call_id="t", tool_name="bash", content=[TextContent(text="payload")]),
        ),
        MessageEntry(
            id="a2",
            parent_id="t1",
            message=AssistantMessage(
                content=[ThinkingContent(thinking="secret"), TextContent(text="done "), TextContent(text="and dusted")],
                timestamp=9,
            ),
        ),
        MessageEntry(
            id="a3", parent_id="a2", message=AssistantMessage(content=[TextContent(text="cut")], stop_reason="aborted")
        ),
        CustomMessageEntry(id="c1", parent_id="a3", custom_type=BRIEF_TYPE, content="brief", details={"digest": "d"}),
        CompactionEntry(id="k1", parent_id="c1", summary="folded", first_kept_entry_id="a2"),
    )
    file.read_new()
    entries = file.active_path().entries
    assert [(m.entry_id, m.role, m.text) for m in public_messages(entries)] == [
        ("u1", "user", "do it"),
        ("a2", "assistant", "done and dusted"),
    ]
    assert public_messages(entries)[1].at_ms == 9
    assert [message.entry_id for message in public_messages(entries)][-1] == "a2"
    assert "secret" not in repr(entries)
    assert "payload" not in repr(entries)


def test_an_image_alone_and_a_terminal_command_are_no_public_messages(file: SessionFile, path: Path) -> None:
    image = ImageContent(data="aGVsbG8=", mime_type="image/png")
    command = "Terminal command executed by the user.\n\nCommand:\n```bash\nenv\n```\n\nOutput:\n```text\nKEY=1\n```"
    write(
        path,
        MessageEntry(id="u1", message=UserMessage(content=[image])),
        user("u2", command, parent="u1"),
    )
    file.read_new()
    assert public_messages(file.active_path().entries) == ()


@pytest.mark.parametrize(
    "summary",
    [
        "Previous conversation summary:\nGoals.",
        "The following is a summary of a branch that this conversation came back from:\n<summary>\nGoals.\n</summary>",
    ],
)
def test_a_summary_that_tau_copied_as_a_users_message_is_no_public_message(
    file: SessionFile, path: Path, summary: str
) -> None:
    write(path, user("u1"), user("u2", summary, parent="u1"))
    file.read_new()
    assert [message.entry_id for message in public_messages(file.active_path().entries)] == ["u1"]


def test_only_our_own_records_are_kept(file: SessionFile, path: Path) -> None:
    write(
        path,
        user("u1"),
        CustomEntry(id="r1", parent_id="u1", namespace=RECEIPT_NAMESPACE, data={"capture_id": "c"}),
        CustomEntry(id="r2", parent_id="r1", namespace="another", data={"private": "thing"}),
        CustomMessageEntry(id="m1", parent_id="r2", custom_type="another", content="x", details={"private": "thing"}),
    )
    file.read_new()
    entries = file.active_path().entries
    assert receipts_on(entries) == ({"capture_id": "c"},)
    assert "private" not in repr(entries)


def test_a_label_and_a_receipt_do_not_move_the_tip(file: SessionFile, path: Path) -> None:
    write(
        path,
        user("u1"),
        LabelEntry(id="l1", parent_id="u1", target_id="u1", label="here"),
        CustomEntry(id="r1", parent_id="l1", namespace=RECEIPT_NAMESPACE, data={}),
        BranchSummaryEntry(id="b1", parent_id="r1", summary="elsewhere"),
    )
    file.read_new()
    assert [message.entry_id for message in public_messages(file.active_path().entries)] == ["u1"]


def test_a_compaction_takes_what_came_before_out_of_context(file: SessionFile, path: Path) -> None:
    write(
        path,
        user("u1"),
        CustomMessageEntry(id="c1", parent_id="u1", custom_type=BRIEF_TYPE, content="b", details={"digest": "d"}),
        user("u2", parent="c1"),
        CompactionEntry(id="k1", parent_id="u2", summary="s", first_kept_entry_id="u2"),
        user("u3", parent="k1"),
    )
    file.read_new()
    assert ids(context_of(file.active_path().entries)) == ["k1", "u2", "u3"]


def test_a_session_in_taus_first_format_is_read(file: SessionFile, path: Path) -> None:
    lines = [
        {"id": "u1", "type": "message", "timestamp": 1.5, "message": {"role": "user", "content": "hi"}},
        {"id": "a1", "parent_id": "u1", "type": "message", "message": {"role": "assistant", "content": "yes"}},
        {
            "id": "c1",
            "parent_id": "a1",
            "type": "message",
            "message": {"role": "user", "customType": "x", "content": "no"},
        },
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    file.read_new()
    found = public_messages(file.active_path().entries)
    assert [(message.entry_id, message.text, message.at_ms) for message in found] == [
        ("u1", "hi", 1500),
        ("a1", "yes", 0),
    ]
