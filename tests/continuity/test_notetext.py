"""A note's words are masked in every field, its title is one file anywhere, and what is kept of it comes back as it was."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from continuity.capture import content_digest
from continuity.notetext import (
    LONGEST_CHARS,
    TITLE_CHARS,
    NoteText,
    Worded,
    from_kept_form,
    kept_form,
    metadata_of,
    named,
    safe_title,
    titled,
    worded,
)
from journal.ids import CaptureId, EntryId, SessionId

IDENTITY = CaptureId("0123456789abcdef" * 4)
SECRET = "ghp_0123456789abcdefghijklmnopqrstuvwxyz"
SCHEMA = "---\ntitle: Task\ntype: schema\nentity: task\n---\n\n# Task\n\nWork.\n"


def words(title: str = "Oil", text: str = "No wind.", **metadata: str) -> Worded:
    return worded("notes", title, "note", text, metadata)


# -- titles ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("title", "slug"),
    [
        ("Fix: split (a: b)", "fix-split-a-b"),
        ("# leading", "leading"),
        ('say "hi"', "say-hi"),
        ("../../etc/passwd", "etc-passwd"),
        ("trailing dot.", "trailing-dot"),
        ("CON", "con"),
        ("\u00c9t\u00e9 \ufb01n", "ete-fin"),
        ("\U0001f600", "note"),
        ("\u041c\u0438\u0440", "note"),
        ("", "note"),
        ("a" * 300, "a" * 60),
        ("b" * 59 + " c", "b" * 59),
    ],
)
def test_a_title_becomes_a_readable_name_that_ends_with_the_identity(title: str, slug: str) -> None:
    assert safe_title(title, IDENTITY) == f"{slug}-0123456789ab"


@given(st.text(max_size=400))
def test_any_title_is_one_short_name_of_letters_digits_and_hyphens(title: str) -> None:
    made = safe_title(title, IDENTITY)
    assert re.fullmatch(r"[a-z0-9]+(?:-[a-z0-9]+)*", made)
    assert len(made) <= 73


def test_titles_that_differ_in_case_alone_are_two_files() -> None:
    assert safe_title("Oil", IDENTITY) != safe_title("OIL", CaptureId("f" * 64))


# -- words -------------------------------------------------------------------


def test_a_credential_is_masked_in_every_field_and_counted() -> None:
    made = words(f"key {SECRET}", f"it is {SECRET}", status=SECRET)
    assert made.maskings == 3
    assert SECRET not in repr(made)


def test_words_lose_control_characters_and_their_title_is_one_line() -> None:
    made = words("two\nlines\x1b[2J", "\ufeffbell\x07\r\nend  \n")
    assert (made.title, made.text) == ("two lines[2J", "bell\nend")


def test_words_without_a_title_have_their_first_line_for_one() -> None:
    assert words("", "\n# \n## Oil: why\nNo wind.").title == "Oil: why"
    assert words("", "word " * 40).title == " ".join(["word"] * 15) + "…"
    assert words("", "x" * 100).title == "x" * 79 + "…"
    assert words("", " \n").title == ""


@pytest.mark.parametrize("before", range(TITLE_CHARS + 2))
@pytest.mark.parametrize("has_title", [False, True])
def test_a_credential_where_a_title_would_end_is_nowhere_in_a_note(before: int, has_title: bool) -> None:
    said = f"{'x' * before} {SECRET} is it"
    made = named(words(said if has_title else "", said), CaptureId("f" * 64))
    shown = f"{made.title} {made.content}".lower()
    assert not any(SECRET[at : at + 6].lower() in shown for at in range(len(SECRET) - 5))


def test_a_credential_that_was_wrapped_behind_the_first_line_is_not_in_the_title() -> None:
    made = words("", f"it is {SECRET[:10]}\n{SECRET[10:]} for now")
    assert made.title == "it is [masked:github-token] for now"


def test_metadata_of_a_name_the_server_writes_or_nobody_could_read_is_left_out() -> None:
    told = {"type": "task", "title": "x", "permalink": "y", "Bad Key": "z", "empty": " ", "status": "open"}
    assert words(**told).metadata == {"status": "open"}


def test_more_metadata_than_anybody_reads_is_left_out() -> None:
    assert len(words(**{f"k{n}": "v" for n in range(60)}).metadata) == 40


def test_the_same_words_in_the_same_place_are_the_same_note() -> None:
    assert words(status="open").tip_after(0) == words(status="done").tip_after(0)
    others = (words(), words("Gas"), words(text="Wind."), worded("x", "Oil", "note", "No wind.", {}))
    assert len({each.tip_after(0) for each in others}) == 4


def test_words_that_were_let_go_of_are_another_note_each_time() -> None:
    assert len({words().tip_after(let_go) for let_go in range(3)}) == 3
    assert words().tip_after(2) == words().tip_after(2)


def test_the_tip_of_a_note_is_no_message_s() -> None:
    assert all(re.fullmatch(r"note-[0-9a-f]{32}", words().tip_after(let_go)) for let_go in (0, 1))


# -- notes -------------------------------------------------------------------


def test_a_note_has_its_own_title_as_its_heading() -> None:
    made = named(words("Fix: split"), IDENTITY)
    assert (made.title, made.body, made.frontmatter) == ("fix-split-0123456789ab", "# Fix: split\n\nNo wind.\n", "")


def test_text_with_a_heading_keeps_it_and_a_note_without_words_is_a_heading() -> None:
    assert named(words(text="# Mine\n\nx"), IDENTITY).body == "# Mine\n\nx\n"
    assert named(words("", ""), IDENTITY).body == "# Note\n"


def test_text_that_begins_with_frontmatter_does_not_choose_the_type() -> None:
    made = named(words(text="---\ntype: task\n---\nx"), IDENTITY)
    assert made.content.startswith("# Oil\n\n---\ntype: task")
    assert made.note_type == "note"


def test_a_note_others_find_by_its_title_keeps_it_and_its_frontmatter() -> None:
    made = titled(worded("schemas", "Task", "schema", SCHEMA, {}))
    assert (made.title, made.content) == ("Task", SCHEMA)
    assert made.content_sha256 == content_digest("# Task\n\nWork.")


def test_such_a_note_may_do_without_frontmatter() -> None:
    assert titled(words()).content == "No wind.\n"


# -- what is kept and sent ---------------------------------------------------


def test_what_is_kept_comes_back_as_it_was() -> None:
    made = titled(worded("schemas", "Task", "schema", SCHEMA, {"status": "open"}))
    assert from_kept_form(kept_form(made)) == made


@pytest.mark.parametrize("text", ["", "## Objective\n\nx", "{}", '{"title": 1}', "[" * 100_000])
def test_another_kept_text_is_no_note(text: str) -> None:
    assert from_kept_form(text) is None


def test_no_metadata_of_others_takes_the_place_of_the_identity() -> None:
    note = NoteText(folder="n", title="t", note_type="note", body="x\n", metadata={"capture_id": "forged", "a": "b"})
    told = metadata_of(
        note, project="main", capture_id=IDENTITY, session_id=SessionId("s"), source_tip=EntryId("note-1")
    )
    assert told == {
        "a": "b",
        "project": "main",
        "agent": "tau",
        "capture_id": IDENTITY,
        "session_id": "s",
        "source_tip": "note-1",
        "content_digest": content_digest("x"),
    }


def test_a_very_long_text_says_that_it_was_cut() -> None:
    whole = words(text="x" * LONGEST_CHARS).text
    assert whole == "x" * LONGEST_CHARS
    assert words(text="x" * (LONGEST_CHARS + 1)).text == f"{whole}\n\n[cut: {LONGEST_CHARS + 1} characters in all]"


def test_what_may_be_a_credential_is_masked_where_that_is_wanted() -> None:
    told = "the key for the lamp is q7Rk2Vd9Xw4Lm8TzB5nC3hJp"
    kept = worded("notes", "Oil", "note", told, {"status": told})
    masked = worded("notes", "Oil", "note", told, {"status": told}, candidates=True)
    assert (kept.maskings, masked.maskings) == (0, 2)
    assert "q7Rk2Vd9" not in repr(masked)
