"""A transcript is owed from the first prompt since it was switched on, one message after the other, and moves nothing else."""

from __future__ import annotations

from msgspec.structs import replace

from continuity.capture import PublicMessage
from continuity.commands import BeginCapture, CloseSession, Observe, SubmitWrite
from continuity.due import MOST_OPEN_TRANSCRIPTS, Effect, Policy, Submit, Transcribe, due, transcript_stopped
from continuity.evolve import fold
from continuity.handoff import Handoff, note_body
from continuity.handoff.transcript import transcript_note, unwritten
from continuity.state import Source, Transcript
from continuity.steps.transcripts import MOST_SOURCES
from journal.events import (
    BranchForked,
    Event,
    Paused,
    RecallPlanned,
    ReceiptAdopted,
    Resumed,
    SessionClosed,
    SessionOpened,
    SynthesisFailed,
    TipsMapped,
    TranscriptPassed,
    WorkBegun,
)
from journal.events.lifecycle import OpenReason, TipPair
from journal.ids import CaptureId, EntryId
from tests.facts import (
    ADDRESS,
    BODY,
    CAPTURE,
    CONNECTION,
    METADATA,
    OTHER_CAPTURE,
    POLICY,
    PROJECT,
    SAVED,
    WRITER,
    answered,
    begun,
    connected,
    finished,
    intended,
    opened,
    probed,
    seen,
    settled,
)
from tests.spec import given, rows, state_after

type Given = Event | tuple[Event, str]

UP, DOWN = Policy(connection=CONNECTION), Policy(connection=None)
PLANNED = RecallPlanned(reason="start", topic_sha256=None, queries=())
P1, A1, P2, A2 = (EntryId(name) for name in ("p1", "a1", "p2", "a2"))
FIRST, SECOND = CaptureId("1" * 64), CaptureId("2" * 64)
WITHHELD = TranscriptPassed(through=P1, messages=1, withheld=1)


def prompt(tip: EntryId = P1, how: str = "prompt") -> Given:
    return WorkBegun(how="prompt" if how == "prompt" else "custom", characters=5), tip


def on(reason: OpenReason = "startup") -> SessionOpened:
    """A session opened with transcripts switched on."""
    return opened(reason, policy=replace(POLICY, capture=False, transcripts=True))


def transcribed(capture: CaptureId, tip: EntryId) -> tuple[Event, Event]:
    """A message is kept, ready to be sent."""
    return begun(capture, tip, kind="transcript"), finished(capture)


def sent(capture: CaptureId, tip: EntryId) -> tuple[Event, ...]:
    return (*transcribed(capture, tip), intended(capture, tip, kind="transcript"))


def stored(capture: CaptureId, tip: EntryId) -> tuple[Event, ...]:
    return (*sent(capture, tip), answered(capture=capture))


ON: tuple[Given, ...] = (on(), PLANNED, connected())
ASKED: tuple[Given, ...] = (*ON, prompt())
SAID: tuple[Given, ...] = (*ASKED, (settled(), A1))
KEPT: tuple[Given, ...] = (*SAID, *transcribed(FIRST, P1))


def effects(*events: Given, policy: Policy = UP, now_ms: int = 10_000_000) -> tuple[Effect, ...]:
    return due(state_after(*events), policy, now_ms).effects


def had(*events: Given) -> Transcript | None:
    return state_after(*events).transcript


# -- what is owed ------------------------------------------------------------


def test_a_turn_is_owed_from_its_prompt_on_once_it_settled() -> None:
    assert effects(*ASKED) == ()
    assert effects(*SAID) == (Transcribe(P1, None, A1),)
    assert effects(*SAID)[0].key == "transcribe:None:a1"


def test_nothing_is_owed_where_transcripts_are_off_or_there_is_nowhere_to_write_to() -> None:
    off = opened(policy=replace(POLICY, capture=False))
    nowhere = opened(destination=None, policy=replace(POLICY, transcripts=True))
    assert effects(off, PLANNED, prompt(), (settled(), A1)) == ()
    assert effects(nowhere, prompt(), (settled(), A1)) == ()
    assert effects(*SAID, policy=DOWN) == ()


def test_a_message_that_no_person_typed_begins_no_transcript() -> None:
    assert had(*ON, prompt(A1, "custom"), (settled(), A1)) is None


def test_only_the_first_prompt_begins_it() -> None:
    assert had(*SAID, prompt(P2)) == Transcript(P1, None, A1)


def test_what_was_said_before_it_was_switched_on_is_nobody_s_business() -> None:
    before: tuple[Given, ...] = (
        opened(),
        prompt(),
        (settled(), A1),
        SessionClosed(reason="quit", unsaved_tip=None, drained=True),
    )
    assert had(*before, on("resume")) is None
    assert had(*before, on("resume"), prompt(P2), (settled(), A2)) == Transcript(P2, None, A2)


def test_a_prompt_whose_tip_is_unknown_begins_nothing() -> None:
    *before, last = rows(*ASKED)
    assert fold([*before, replace(last, tip=None)]).transcript is None


def test_the_kept_message_is_sent_before_the_next_is_kept() -> None:
    assert effects(*KEPT) == (Submit(FIRST, 1),)
    assert effects(*KEPT, policy=DOWN) == ()
    assert effects(*SAID, *sent(FIRST, P1)) == ()
    assert effects(*SAID, *stored(FIRST, P1)) == (Transcribe(P1, P1, A1),)
    assert effects(*SAID, *stored(FIRST, P1), *stored(SECOND, A1)) == ()


def test_what_gets_no_note_is_looked_at_once() -> None:
    assert effects(*SAID, WITHHELD) == (Transcribe(P1, P1, A1),)
    assert effects(*SAID, replace(WITHHELD, through=A1)) == ()
    given(*SAID).when(Observe(WITHHELD)).then(WITHHELD)


def test_it_is_not_kept_and_not_sent_off_the_record_and_goes_on_afterwards() -> None:
    assert effects(*SAID, Paused()) == ()
    assert effects(*KEPT, Paused()) == ()
    unheard = (settled(0, messages=0), A2)
    assert effects(*SAID, Paused(), unheard, (Resumed(), A2)) == (Transcribe(P1, None, A1),)


def test_a_turn_that_settles_off_the_record_is_not_owed() -> None:
    assert had(*SAID, Paused(), (settled(), A2)) == Transcript(P1, None, A1)


def test_several_that_are_open_stop_it_until_one_is_settled() -> None:
    doubts = [CaptureId(f"{number:064x}") for number in range(MOST_OPEN_TRANSCRIPTS)]
    tips = [EntryId(f"m{number}") for number in range(MOST_OPEN_TRANSCRIPTS)]
    refused = [(*sent(one, tip), answered("refused", one)) for one, tip in zip(doubts, tips, strict=True)]
    few = [event for events in refused[:-1] for event in events]
    assert effects(*SAID, *few) == (Transcribe(P1, tips[-2], A1),)
    assert effects(*SAID, *few, *refused[-1]) == ()
    assert [transcript_stopped(state_after(*SAID, *few, *last)) for last in ((), refused[-1])] == [0, len(doubts)]


def test_it_is_not_stopped_while_one_is_under_way_or_nothing_is_owed() -> None:
    tips = [EntryId(f"m{number}") for number in range(MOST_OPEN_TRANSCRIPTS)]
    ids = [CaptureId(f"{number:064x}") for number in range(MOST_OPEN_TRANSCRIPTS)]
    pairs = [(*sent(one, tip), answered("unknown", one)) for one, tip in zip(ids, tips, strict=True)]
    doubted = [event for events in pairs for event in events]
    assert transcript_stopped(state_after(*SAID, *doubted)) == MOST_OPEN_TRANSCRIPTS
    assert transcript_stopped(state_after(*SAID, *doubted[:-1])) == 0
    assert transcript_stopped(state_after(*SAID, *doubted, replace(WITHHELD, through=A1))) == 0
    note = begun(SECOND, EntryId("note-1"), kind="note"), intended(SECOND, EntryId("note-1"), kind="note")
    assert transcript_stopped(state_after(*SAID, *doubted[:-4], *note, answered("unknown", SECOND))) == 0


def test_one_that_may_not_be_sent_yet_keeps_no_other_work_waiting() -> None:
    unsent = (*SAID, *sent(FIRST, P1), answered("not-sent", FIRST))
    owed = due(state_after(*unsent), UP, 9_999)
    assert (owed.effects, owed.look_again_ms) == ((), 10_000)


# -- what it never touches ---------------------------------------------------


def test_a_stored_message_moves_no_checkpoint_no_handoff_and_no_tip() -> None:
    before = state_after(*SAVED)
    after = state_after(*SAVED, *stored(OTHER_CAPTURE, P1))
    same = ("checkpoint", "handoff", "gathered", "captures", "settled_tip", "unsaved_tip", "noted", "tip")
    assert [getattr(after, name) for name in same] == [getattr(before, name) for name in same]


def test_a_message_begins_without_the_handoff_and_the_focus_of_a_checkpoint() -> None:
    command = BeginCapture(
        capture_id=FIRST,
        kind="transcript",
        project=PROJECT,
        source_tip=P1,
        reason="transcript",
        text=finished(FIRST),
    )
    given(*SAVED).when(command).then(begun(FIRST, P1, kind="transcript", reason="transcript"), finished(FIRST))


def test_a_message_on_its_way_is_no_unsaved_tip_and_the_session_has_not_drained() -> None:
    assert state_after(*KEPT[:-3], *KEPT[-2:]).unsaved_tip is None
    quiet = replace(state_after(*KEPT), gathered=state_after(opened()).gathered)
    assert (quiet.unsaved_tip, quiet.drained) == (None, False)


def test_a_close_says_that_messages_are_left() -> None:
    unsaid: tuple[Given, ...] = (*ASKED, (settled(), A1), begun(tip=A1), finished(), intended(tip=A1), answered())
    left = SessionClosed(reason="quit", unsaved_tip=None, drained=False)
    given(*unsaid).when(CloseSession(reason="quit")).then(left)
    both = (*stored(FIRST, P1), *stored(SECOND, A1))
    given(*unsaid, *both).when(CloseSession(reason="quit")).then(replace(left, drained=True))


def test_a_message_whose_text_is_gone_before_it_was_sent_is_let_go() -> None:
    gone = SynthesisFailed(capture_id=FIRST, error="body-missing", model_calls=0)
    assert state_after(*KEPT, gone).captures == ()
    assert effects(*KEPT, gone) == (Transcribe(P1, P1, A1),)


# -- branches, switches, repairs ---------------------------------------------


def test_a_fork_owes_what_is_said_after_it_alone() -> None:
    fork = BranchForked(reason="path-left", left_tip=A1, kept_tip=P1)
    assert had(*KEPT, fork) == Transcript(P1, P1, None)
    assert had(*KEPT, fork, on("branch"), prompt(P2), (settled(), A2)) == Transcript(P1, P1, A2)


def test_a_fork_before_everything_begins_with_its_own_first_prompt() -> None:
    fork = BranchForked(reason="path-left", left_tip=A1, kept_tip=None)
    assert had(*KEPT, fork) is None
    assert had(opened(), fork) is None


def test_switching_off_lets_go_of_what_was_not_sent_and_keeps_what_was() -> None:
    off = opened("resume")
    assert state_after(*KEPT, off).captures == ()
    assert [c.status for c in state_after(*SAID, *sent(FIRST, P1), off).captures] == ["intended"]
    assert state_after(*SAID, *sent(FIRST, P1), answered("not-sent", FIRST), off).captures == ()
    assert had(*KEPT, off) is None


def test_switching_off_lets_go_of_no_note_and_no_checkpoint() -> None:
    note = (begun(SECOND, EntryId("note-1"), kind="note"), finished(SECOND))
    assert [c.kind for c in state_after(*ASKED, *note, begun(), finished(), opened("resume")).captures] == [
        "note",
        "checkpoint",
    ]


def test_a_repaired_history_keeps_its_place() -> None:
    pairs = (TipPair(old=P1, new=EntryId("P1")), TipPair(old=A1, new=EntryId("A1")))
    assert had(*KEPT, TipsMapped(pairs=pairs)) == Transcript(EntryId("P1"), EntryId("P1"), EntryId("A1"))
    assert had(opened(), TipsMapped(pairs=pairs)) is None


# -- what a checkpoint names -------------------------------------------------


def sources(*events: Given) -> list[str]:
    return [source.address for source in state_after(*events).sources]


def test_a_stored_message_is_named_by_the_next_checkpoint() -> None:
    said = (*SAID, *stored(FIRST, P1))
    assert sources(*said) == ["main/tau/checkpoints/tau-checkpoint-cccc"]
    assert sources(*said, begun(tip=A1), finished(), intended(tip=A1)) == sources(*said)
    assert sources(*said, begun(tip=A1), finished(), intended(tip=A1), answered()) == []


def test_what_was_proven_to_be_stored_after_a_checkpoint_was_sent_waits_for_the_one_after_it() -> None:
    doubted = (*SAID, *sent(FIRST, P1), answered("unknown", FIRST))
    note = seen(capture=FIRST, tip=P1, path="tau/transcripts/kept.md")
    found = probed("present_same", note, capture=FIRST)
    checkpoint = (begun(tip=A1), finished(), intended(tip=A1))
    assert sources(*doubted, found, *checkpoint, answered()) == []
    assert sources(*doubted, *checkpoint, found, answered()) == ["tau/transcripts/kept"]


def test_a_checkpoint_whose_body_was_made_before_a_message_was_stored_is_not_sent() -> None:
    ready = (*SAID, *stored(FIRST, P1), begun(tip=A1), finished())
    newest = state_after(*ready).sources[-1].position
    given(*ready).when(submitting(as_of=newest)).then(intended(tip=A1))
    given(*ready).when(submitting(as_of=newest - 1)).rejected(
        "a transcript note was stored since its body was made: make it anew"
    )
    given(*ready).when(submitting(as_of=None)).then(intended(tip=A1))


def submitting(*, as_of: int | None) -> SubmitWrite:
    return SubmitWrite(
        capture_id=CAPTURE,
        address=ADDRESS,
        content_sha256=BODY,
        note_type="session",
        metadata_sha256=METADATA,
        writer=WRITER,
        connection=CONNECTION,
        as_of=as_of,
    )


def test_a_checkpoint_that_was_adopted_names_none_so_they_are_kept() -> None:
    adopted = ReceiptAdopted(
        capture_id=CAPTURE,
        attempt=1,
        kind="checkpoint",
        project=PROJECT,
        source_tip=A1,
        content_sha256=BODY,
        file_path=ADDRESS.file_path,
        origin="session",
    )
    state = state_after(*SAID, *stored(FIRST, P1), adopted)
    assert state.checkpoint is not None
    assert state.sources == (Source("main/tau/checkpoints/tau-checkpoint-cccc", state.position - 1),)


def test_of_very_many_the_newest_are_named() -> None:
    many = [CaptureId(f"{number:064x}") for number in range(MOST_SOURCES + 1)]
    events = [event for one in many for event in stored(one, P1)]
    kept = state_after(*SAID, *events).sources
    assert len(kept) == MOST_SOURCES
    assert kept[-1].position == len(SAID) + len(events)


def test_one_that_is_stored_nobody_knows_where_is_not_named() -> None:
    nameless = replace(answered(capture=FIRST), file_path="", permalink=None)
    assert sources(*SAID, *sent(FIRST, P1), nameless) == []


def test_the_names_are_relations_of_the_checkpoint() -> None:
    made = Handoff(
        "## Objective\n\nx\n\n## Decisions\n\n## Verified work\n\n## Unfinished work\n\n## Next action\n\ny\n", "", 0
    )
    assert "- derived_from [[main/tau/transcripts/one]]" in note_body(
        made, "general", sources=["main/tau/transcripts/one"]
    )


# -- which message, and its note ---------------------------------------------

PATH = tuple(PublicMessage(entry, "user", f"text of {entry}", 0) for entry in (P1, A1, P2, A2))


def entries(first: EntryId, after: EntryId | None) -> list[EntryId]:
    return [message.entry_id for message in unwritten(PATH, first, after)]


def test_what_has_no_note_begins_after_the_newest_that_was_dealt_with() -> None:
    assert entries(A1, None) == [A1, P2, A2]
    assert entries(A1, P2) == [A2]
    assert entries(A1, A2) == []


def test_what_is_not_on_the_path_is_no_place_to_go_on_from() -> None:
    assert entries(A1, EntryId("gone")) == [A1, P2, A2]
    assert entries(EntryId("gone"), None) == []


def test_a_message_s_note_says_who_spoke_when_and_in_which_place() -> None:
    said = PublicMessage(P1, "assistant", "- relates_to [[Secret plans]]\n```\n# Heading", 1_764_500_000_000)
    note = transcript_note(said, FIRST, "tau/transcripts/", 7)
    assert (note.folder, note.title, note.note_type) == (
        "tau/transcripts",
        f"tau-transcript-{FIRST[:20]}",
        "tau_transcript",
    )
    assert note.metadata == {"role": "assistant", "time": "2025-11-30T10:53:20+00:00", "number": "7"}
    assert note.body == (
        "# Assistant, 2025-11-30T10:53:20+00:00\n\n~~~text\n- relates_to [[Secret plans]]\n```\n# Heading\n~~~\n"
    )
