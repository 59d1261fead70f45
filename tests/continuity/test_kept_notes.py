"""A note stands in line beside checkpoints: it waits for no model, is settled by reading, and nothing is built on it."""

from __future__ import annotations

from msgspec.structs import replace

from continuity.commands import BeginCapture, CloseSession, RecordProbe, Resolve, SubmitWrite
from continuity.due import SYNTHESIS_BACKOFF_MS, Begin, Effect, Owed, Policy, Submit, Synthesise, due
from continuity.state import Capture, State
from journal.events import (
    CaptureResolved,
    Event,
    NoteEdited,
    NoteMoved,
    NoteWithdrawn,
    RecallPlanned,
    SessionClosed,
    SynthesisFailed,
)
from journal.events.writes import Observation
from journal.ids import CaptureId, EntryId, Sha256
from tests.facts import (
    ADDRESS,
    BODY,
    CAPTURE,
    CONNECTION,
    DOUBTED,
    METADATA,
    NOWHERE,
    OTHER_BODY,
    PROJECT,
    SAVED,
    TIP,
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
from tests.spec import given, state_after

UP, DOWN = Policy(connection=CONNECTION), Policy(connection=None)
LATER = 10_000_000
PLANNED = RecallPlanned(reason="start", topic_sha256=None, queries=())
NOTE, SECOND = CaptureId("1" * 64), CaptureId("2" * 64)
N1, N2 = EntryId("note-1"), EntryId("note-2")
QUIET: tuple[Event, ...] = (opened(), PLANNED, connected())
REASON = Sha256("7" * 64)
MOVED = "archive/kept.md"


def kept(capture: CaptureId = NOTE, tip: EntryId = N1) -> tuple[Event, Event]:
    return begun(capture, tip, kind="note"), finished(capture)


def sent(capture: CaptureId = NOTE, tip: EntryId = N1) -> tuple[Event, ...]:
    return (*kept(capture, tip), intended(capture, tip, kind="note"))


def stored(capture: CaptureId = NOTE, tip: EntryId = N1) -> tuple[Event, ...]:
    return (*sent(capture, tip), answered(capture=capture))


def keeping(capture: CaptureId = NOTE, tip: EntryId = N1) -> BeginCapture:
    return BeginCapture(
        capture_id=capture,
        kind="note",
        project=PROJECT,
        source_tip=tip,
        reason="command",
        text=finished(capture),
    )


def reading(*observations: Observation, status: str = "confirmed") -> RecordProbe:
    return RecordProbe(
        capture_id=NOTE,
        attempt=1,
        status=status,
        connection=CONNECTION,
        observations=observations,
        writing_server="gone",
        project_source="local",
        index_proven=True,
    )


def effects(*events: Event, policy: Policy = UP, now_ms: int = LATER) -> tuple[Effect, ...]:
    return owed(*events, policy=policy, now_ms=now_ms).effects


def owed(*events: Event, policy: Policy = UP, now_ms: int = LATER) -> Owed:
    return due(state_after(*events), policy, now_ms)


def noted(*events: Event) -> Capture:
    found = state_after(*events).noted
    assert found is not None
    return found


def note(body: Sha256 = BODY, path: str = ADDRESS.file_path) -> Observation:
    return seen(capture=NOTE, tip=N1, body=body, path=path)


# -- begun and finished at once ----------------------------------------------


def test_a_note_is_begun_and_finished_in_one_decision_and_starts_from_nothing() -> None:
    wanted = begun(NOTE, N1, kind="note", reason="command")
    given(*SAVED).when(keeping()).then(wanted, finished(NOTE))


def test_notes_stand_in_line_and_take_no_other_s_place() -> None:
    second = begun(SECOND, N2, kind="note", reason="command")
    given(*QUIET, *kept()).when(keeping(SECOND, N2)).then(second, finished(SECOND))
    given(*QUIET, *sent()).when(keeping(SECOND, N2)).then(second, finished(SECOND))


def test_what_no_model_makes_is_not_begun_without_its_text_nor_a_checkpoint_with_one() -> None:
    given(*QUIET).when(replace(keeping(), text=None)).rejected("a note without its text can never be sent")
    given(*QUIET).when(replace(keeping(), kind="transcript", text=None)).rejected(
        "a transcript without its text can never be sent"
    )
    given(*QUIET).when(replace(keeping(), kind="checkpoint")).rejected(
        "the text of a checkpoint is made once it has begun"
    )


def test_the_same_note_is_kept_once_while_it_is_open_and_while_it_is_the_newest() -> None:
    given(*QUIET, *kept()).when(keeping()).rejected("this tip is already ready")
    given(*QUIET, *stored()).when(keeping()).rejected("this tip is already confirmed")


def test_a_note_on_its_way_holds_no_checkpoint_back_and_is_not_overtaken_by_one() -> None:
    command = BeginCapture(capture_id=CAPTURE, kind="checkpoint", project=PROJECT, source_tip=TIP, reason="cadence")
    for before in (kept(), sent()):
        given(opened(), *before, settled()).when(command).then(begun())


# -- what is owed ------------------------------------------------------------


def test_a_note_does_not_wait_for_a_model_that_fails() -> None:
    failed = SynthesisFailed(capture_id=CAPTURE, error="timeout", model_calls=1)
    waiting = (*QUIET, settled(), begun(), failed)
    now_ms = 7_000 + SYNTHESIS_BACKOFF_MS[1] - 1
    assert effects(*waiting, now_ms=now_ms) == ()
    assert effects(*waiting, *kept(), now_ms=now_ms) == (Submit(NOTE, 1),)


def test_a_note_goes_before_a_checkpoint_and_one_after_the_other() -> None:
    checkpoint = (settled(), begun(), finished())
    assert effects(*QUIET, settled(), begun(), *kept()) == (Submit(NOTE, 1),)
    assert effects(*QUIET, *checkpoint, *kept(), *kept(SECOND, N2)) == (Submit(NOTE, 1),)
    assert effects(*QUIET, *checkpoint, *kept(), *sent(SECOND, N2)) == ()
    assert effects(*QUIET, *checkpoint, *stored()) == (Submit(CAPTURE, 1),)


def test_without_a_server_a_note_waits_and_a_checkpoint_is_made_meanwhile() -> None:
    assert effects(*QUIET, *kept(), policy=DOWN) == ()
    assert effects(*QUIET, *kept(), settled(), begun(), policy=DOWN) == (Synthesise(CAPTURE, 0),)


def test_a_note_that_was_not_sent_is_not_hurried_and_lets_the_next_one_pass() -> None:
    unsent = (*QUIET, *sent(), answered("not-sent", NOTE))
    assert owed(*unsent, now_ms=7_999) == Owed((), 8_000)
    assert effects(*unsent, now_ms=8_000) == (Submit(NOTE, 1),)
    assert effects(*unsent, *kept(SECOND, N2), now_ms=7_999) == (Submit(SECOND, 1),)
    assert effects(*unsent, settled(), now_ms=7_999) == (Begin(TIP, "cadence"),)


def test_of_two_that_wait_the_first_that_may_be_sent_is_looked_for() -> None:
    twice = (*sent(), answered("not-sent", NOTE), intended(NOTE, N1, attempt=2), answered("not-sent", NOTE, attempt=2))
    unsent = (*QUIET, *twice, *sent(SECOND, N2), answered("not-sent", SECOND))
    assert owed(*unsent, now_ms=13_999) == Owed((), 14_000)
    assert effects(*unsent, now_ms=14_000) == (Submit(SECOND, 1),)


# -- what becomes of it ------------------------------------------------------


def untouched(state: State) -> list[object]:
    names = ("checkpoint", "handoff", "gathered", "settled_tip", "tip", "unsaved_tip", "transcript", "sources")
    return [getattr(state, name) for name in names]


def test_a_note_moves_no_tip_no_handoff_and_no_checkpoint() -> None:
    before = untouched(state_after(*SAVED))
    for after in (kept(), sent(), stored(), (*sent(), answered("unknown", NOTE))):
        assert untouched(state_after(*SAVED, *after)) == before


def test_a_stored_note_is_live_no_more_and_known_as_the_newest() -> None:
    state = state_after(*QUIET, *stored(), *stored(SECOND, N2))
    assert state.captures == ()
    assert (noted(*QUIET, *stored(), *stored(SECOND, N2)).capture_id, state.capture(NOTE)) == (SECOND, None)


def test_a_session_with_a_note_under_way_has_not_drained_though_no_tip_is_unsaved() -> None:
    for before in (kept(), sent(), (*sent(), answered("unknown", NOTE))):
        closed = SessionClosed(reason="quit", unsaved_tip=None, drained=False)
        given(*SAVED, *before).when(CloseSession(reason="quit")).then(closed)
    given(*SAVED, *stored()).when(CloseSession(reason="quit")).then(
        SessionClosed(reason="quit", unsaved_tip=None, drained=True)
    )


def test_a_note_whose_text_is_gone_before_it_was_sent_is_let_go() -> None:
    gone = SynthesisFailed(capture_id=NOTE, error="body-missing", model_calls=0)
    assert state_after(*QUIET, *kept(), gone).captures == ()


def test_a_doubted_note_is_settled_by_reading_and_so_is_its_proof_raised() -> None:
    doubted = (*QUIET, *sent(), answered("unknown", NOTE))
    found = probed("present_same", note(), capture=NOTE)
    given(*doubted).when(reading(note(), status="in_doubt")).then(found)
    assert noted(*doubted, found).evidence == "read"
    assert noted(*QUIET, *stored()).evidence == "answered"
    given(*QUIET, *stored()).when(reading(note())).then(found)
    assert noted(*QUIET, *stored(), found).evidence == "read"


def test_a_stored_note_that_was_moved_edited_or_deleted_is_labelled() -> None:
    stays = (*QUIET, *stored())
    moved, edited = NoteMoved(capture_id=NOTE, file_path=MOVED), NoteEdited(capture_id=NOTE, content_sha256=OTHER_BODY)
    given(*stays).when(reading(note(OTHER_BODY, MOVED))).then(
        probed("present_edited", note(OTHER_BODY, MOVED), capture=NOTE), moved, edited
    )
    labelled = noted(*stays, moved, edited)
    assert (labelled.moved, labelled.edited, labelled.path) == (True, True, MOVED)
    gone = NoteWithdrawn(capture_id=NOTE)
    given(*stays).when(reading(*NOWHERE)).then(probed("absent_final", *NOWHERE, capture=NOTE), gone)
    assert state_after(*stays, gone).noted is None
    assert state_after(*SAVED, *stored(), gone).checkpoint == state_after(*SAVED).checkpoint


def test_a_note_that_never_landed_is_written_again_by_a_person_alone() -> None:
    doubted = (*QUIET, *sent(), answered("unknown", NOTE))
    lost = (*doubted, probed("absent_final", *NOWHERE, capture=NOTE))
    again = CaptureResolved(
        capture_id=NOTE, attempt=2, decision="rewrite", reason_sha256=REASON, file_path=ADDRESS.file_path
    )
    assert effects(*lost) == ()
    given(*lost).when(Resolve(capture_id=NOTE, decision="rewrite", reason_sha256=REASON)).then(again)
    assert effects(*lost, again) == (Submit(NOTE, 2),)


def test_a_lost_note_is_not_forgotten_because_a_checkpoint_was_stored_later() -> None:
    lost = (*QUIET, *sent(), answered("refused", NOTE))
    later = (settled(), begun(), finished(), intended(), answered())
    assert [c.capture_id for c in state_after(*lost, *later).captures] == [NOTE]


def test_a_note_is_intended_as_what_it_is() -> None:
    command = SubmitWrite(
        capture_id=NOTE,
        address=ADDRESS,
        content_sha256=BODY,
        note_type="session",
        metadata_sha256=METADATA,
        writer=WRITER,
        connection=CONNECTION,
    )
    given(*QUIET, *kept()).when(command).then(intended(NOTE, N1, kind="note"))


def test_a_note_of_a_dead_writer_is_in_doubt_like_any_other() -> None:
    dead = (*QUIET, *sent(), DOUBTED[-2])
    assert [c.status for c in state_after(*dead).captures] == ["in_doubt"]
