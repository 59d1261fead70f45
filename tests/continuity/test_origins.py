"""Where a brief came from is told note by note out of its branch's rows, and nothing is told that no row says."""

from __future__ import annotations

from typing import Literal

import pytest
from syrupy.assertion import SnapshotAssertion

from continuity.origins import Note, Origins, lines, origins_of
from journal.events import (
    BriefDelivered,
    CheckpointReferenced,
    Event,
    NoteWithdrawn,
    RecallAnswered,
    RecallFailed,
    RecallPlanned,
    WorkBegun,
)
from journal.events.recall import HitRef, QueryRef
from journal.ids import Sha256
from tests.facts import BODY, CAPTURE, OTHER_BODY, opened
from tests.fakes.journals import Recording

BRIEF = Sha256("9" * 64)
PROMPT = WorkBegun(how="prompt", characters=12)


def planned(*names: str, topic: Sha256 | None = None, reason: str = "start") -> RecallPlanned:
    queries = tuple(QueryRef(name=name, query_sha256=BODY) for name in names)
    return RecallPlanned(reason=reason, topic_sha256=topic, queries=queries)


def hit(
    path: str,
    treatment: Literal["kept", "used", "cut", "withheld"] = "kept",
    *,
    characters: int = 120,
    why: str = "",
    checksum: str | None = None,
) -> HitRef:
    return HitRef(file_path=path, checksum=checksum, characters=characters, treatment=treatment, why=why)


def answer(name: str, *hits: HitRef, whole: bool = True) -> RecallAnswered:
    return RecallAnswered(name=name, query_sha256=BODY, authoritative=whole, hits=hits)


def delivered(*sources: HitRef, brief: Sha256 = BRIEF, complete: bool = True) -> BriefDelivered:
    return BriefDelivered(
        brief_sha256=brief, characters=900, sources=sources, how="steered", entry=None, complete=complete
    )


def named(brief: Sha256 = BRIEF) -> CheckpointReferenced:
    return CheckpointReferenced(capture_id=CAPTURE, evidence="read", brief_sha256=brief)


def told(*events: Event, at: int | None = None) -> Origins:
    origins = origins_of(Recording().append(opened(), *events).history(1), at)
    assert origins is not None
    return origins


def treated(note: Note) -> tuple[str, str, str | None, str]:
    return note.file_path, note.treatment, note.question, note.why


WHOLE = (
    planned("checkpoint", "neighbourhood", "tasks", "decisions", "shared-tasks:team", "recent"),
    answer("neighbourhood", hit("old.md", "withheld", characters=0, why="an older note of the same session")),
    answer("tasks", hit("t.md", characters=400), hit("c.md")),
    RecallFailed(name="decisions", error="error-text"),
    answer("shared-tasks:team", hit("s.md", checksum=None), whole=False),
    PROMPT,
    planned("topic-tasks", topic=OTHER_BODY),
    answer("topic-tasks", hit("t.md", characters=400), hit("m.md")),
    delivered(
        hit("c.md", "used", checksum="c1" * 32),
        hit("t.md", "cut", why="no room", checksum="d2" * 32),
        hit("s.md", "used"),
        hit("m.md", "withheld", characters=0, why="no room"),
        complete=False,
    ),
    named(),
)


def test_every_note_is_told_with_its_treatment_its_question_and_the_reason() -> None:
    assert [treated(note) for note in told(*WHOLE).notes] == [
        ("c.md", "used", "checkpoint", ""),
        ("t.md", "cut", "tasks", "no room"),
        ("s.md", "used", "shared-tasks:team", ""),
        ("m.md", "withheld", "topic-tasks", "no room"),
        ("old.md", "withheld", "neighbourhood", "an older note of the same session"),
    ]


def test_a_note_has_its_revision_its_project_and_how_much_of_it_was_shown() -> None:
    checkpoint, task, shared, _, held = told(*WHOLE).notes
    assert (checkpoint.checksum, checkpoint.project, checkpoint.of_characters) == ("c1" * 32, "main", None)
    assert (task.characters, task.of_characters) == (120, 400)
    assert (shared.checksum, shared.project) == (None, "team")
    assert (held.characters, held.of_characters) == (0, None)


def test_every_question_is_told_with_what_had_become_of_it_by_then() -> None:
    origins = told(*WHOLE, answer("recent"))
    assert [(each.name, each.outcome, each.hits, each.authoritative, each.error) for each in origins.questions] == [
        ("neighbourhood", "answered", 1, True, None),
        ("tasks", "answered", 2, True, None),
        ("decisions", "failed", 0, False, "error-text"),
        ("shared-tasks:team", "answered", 1, False, None),
        ("recent", "late", 0, False, None),
        ("topic-tasks", "answered", 2, True, None),
    ]


def test_the_checkpoint_that_was_named_is_told_with_its_evidence() -> None:
    origins = told(*WHOLE)
    assert (origins.checkpoint, origins.evidence, origins.complete, origins.topic_sha256) == (
        CAPTURE,
        "read",
        False,
        OTHER_BODY,
    )


def test_another_briefs_checkpoint_is_not_told_of_this_one() -> None:
    later = Sha256("8" * 64)
    origins = told(
        planned("tasks"), delivered(hit("t.md", "used")), delivered(brief=later), named(), named(later), at=3
    )
    assert (origins.brief_sha256, origins.checkpoint, origins.evidence) == (BRIEF, None, None)


@pytest.mark.parametrize(("at", "brief"), [(None, "8" * 64), (4, "8" * 64), (3, "9" * 64), (2, "9" * 64)])
def test_it_is_the_newest_brief_at_or_before_a_row(at: int | None, brief: str) -> None:
    assert told(delivered(), PROMPT, delivered(brief=Sha256("8" * 64)), at=at).brief_sha256 == brief


def test_before_the_first_brief_there_is_none() -> None:
    assert origins_of(Recording().append(opened(), delivered()).history(1), 1) is None
    assert origins_of([], None) is None


def test_an_earlier_prompts_topic_is_not_told_of_this_brief() -> None:
    origins = told(planned("tasks"), PROMPT, planned("topic-tasks", topic=OTHER_BODY), PROMPT, delivered())
    assert (origins.topic_sha256, [each.name for each in origins.questions]) == (None, ["tasks"])


def test_a_topic_without_a_round_ahead_of_it_is_told_alone() -> None:
    origins = told(PROMPT, planned("topic-tasks", topic=OTHER_BODY, reason="resume"), delivered())
    assert (origins.topic_sha256, origins.reason) == (OTHER_BODY, "resume")


def test_a_brief_of_which_no_round_is_on_record_says_so() -> None:
    origins = told(delivered(hit("t.md", "used")))
    assert (origins.reason, origins.questions) == (None, ())
    assert [(note.question, note.brought) for note in origins.notes] == [(None, "no answer before it tells")]


def test_an_answer_of_an_earlier_round_tells_where_nothing_newer_does() -> None:
    origins = told(planned("tasks"), answer("tasks", hit("t.md")), planned("tasks"), delivered(hit("t.md", "used")))
    assert [each.outcome for each in origins.questions] == ["late"]
    assert [treated(note) for note in origins.notes] == [("t.md", "used", "tasks", "")]


def test_what_came_back_and_is_in_no_brief_is_told_even_where_the_reason_was_not_recorded() -> None:
    origins = told(planned("tasks"), answer("tasks", hit("t.md"), hit("u.md")), delivered(hit("t.md", "used")))
    assert treated(origins.notes[1]) == (
        "u.md",
        "withheld",
        "tasks",
        "it came back and is no part of the brief; why was not recorded",
    )
    assert origins.notes[1].characters == 0


def test_what_answers_another_round_is_not_told() -> None:
    origins = told(planned("tasks"), answer("decisions", hit("d.md", "withheld", why="other work")), delivered())
    assert origins.notes == ()


def test_it_reads_as_it_is(snapshot: SnapshotAssertion) -> None:
    assert "\n".join(lines(told(*WHOLE), when="3 minutes ago", topic="mend foghorn")) == snapshot
    assert "\n".join(lines(told(*WHOLE), when="3 minutes ago", topic=None)) == snapshot(name="erased")
    local = told(delivered(hit("c.md", "used")), named())
    assert "\n".join(lines(local, when="just now", topic=None)) == snapshot(name="a local copy")


def test_a_path_cannot_break_the_lines_it_stands_in() -> None:
    shown = lines(told(planned("tasks"), delivered(hit("a\nb\x1b[2J.md", "used"))), when="now", topic=None)
    assert all(line.isprintable() for line in shown)


def test_a_checkpoint_whose_note_is_gone_is_told_as_that() -> None:
    path = f"tau/checkpoints/tau-checkpoint-{CAPTURE[:20]}.md"
    (note,) = told(planned("tasks"), NoteWithdrawn(capture_id=CAPTURE), delivered(hit(path, "used"))).notes
    assert (note.question, note.checksum) == ("checkpoint", None)
    assert note.brought == "the branch's newest checkpoint, whose note is proven gone"


@pytest.mark.parametrize(
    ("answered", "words"),
    [
        (answer("tasks"), "tasks nothing"),
        (answer("tasks", whole=False), "tasks nothing, not everything was searched"),
        (answer("tasks", hit("t.md"), hit("u.md")), "tasks 2"),
        (answer("tasks", hit("t.md"), whole=False), "tasks 1, not all"),
    ],
)
def test_every_question_that_was_answered_is_told_with_what_it_brought(answered: RecallAnswered, words: str) -> None:
    said = lines(told(planned("tasks"), answered, delivered(hit("t.md", "used"))), when="now", topic=None)
    assert said[-2:] == ["  asked       1 question, 1 answered", f"  answered    {words}"]
