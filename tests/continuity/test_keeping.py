"""A kept text goes when nothing is made from it any more, or when it is too old; work under way keeps what it is made from."""

from __future__ import annotations

from continuity.commands import EraseBodies
from continuity.keeping import DIGESTS_AT_ONCE, basis, erased, expired, last_named, owed, spare, unstored
from journal.codec import encode
from journal.events import BodiesErased, CaptureRequested, CaptureResolved, Event, SynthesisAdvanced
from journal.ids import EntryId, Sha256
from journal.row import RawRow
from tests.facts import (
    BODY,
    CAPTURE,
    DOUBTED,
    HANDOFF,
    METADATA,
    NOWHERE,
    OTHER_BODY,
    OTHER_CAPTURE,
    SAVED,
    TIP,
    answered,
    begun,
    finished,
    intended,
    opened,
    probed,
    settled,
)
from tests.spec import given, rows, state_after

NEXT_TIP = EntryId("bb02")
KEPT = (HANDOFF, BODY, OTHER_BODY)


def raw(*events: Event) -> list[RawRow]:
    """The rows as they are stored, a second apart."""
    return [
        RawRow(row.branch, row.position, row.at_ms, row.tip, None, *encode(row.event), bytes.fromhex(row.digest))
        for row in rows(*events)
    ]


def test_a_digest_is_as_old_as_the_newest_row_that_names_it() -> None:
    found = last_named(raw(opened(), begun(prior=(HANDOFF, TIP)), finished(handoff=BODY), finished(OTHER_CAPTURE)))
    assert (found[HANDOFF], found[BODY]) == (5_000, 4_000)


def test_that_a_text_was_erased_makes_no_text_younger() -> None:
    gone = BodiesErased(digests=(HANDOFF, OTHER_BODY), reason="expired")
    assert last_named(raw(finished(), gone)) == {Sha256(CAPTURE): 2_000, HANDOFF: 2_000}


def test_a_note_s_text_is_the_only_one_there_is_until_it_is_known_to_be_stored() -> None:
    note = (begun(OTHER_CAPTURE, NEXT_TIP, kind="note"), finished(OTHER_CAPTURE, BODY))
    sent = (*SAVED, *note, intended(OTHER_CAPTURE, NEXT_TIP, kind="note"))
    for before in ((*SAVED, *note), sent, (*sent, answered("unknown", OTHER_CAPTURE))):
        assert unstored(state_after(*before)) == {BODY}
    assert unstored(state_after(*sent, answered(capture=OTHER_CAPTURE))) == frozenset()
    assert unstored(state_after(*SAVED, begun(OTHER_CAPTURE, NEXT_TIP, kind="transcript"))) == frozenset()
    assert unstored(state_after(*SAVED, begun(OTHER_CAPTURE, NEXT_TIP), finished(OTHER_CAPTURE, BODY))) == frozenset()


def test_a_capture_that_is_not_settled_is_owed_every_text_it_is_made_from() -> None:
    asked = CaptureRequested(reason="command", focus_sha256=OTHER_BODY)
    part = Sha256("9" * 64)
    advanced = SynthesisAdvanced(
        capture_id=OTHER_CAPTURE, through_entry=NEXT_TIP, through_offset=5, handoff_sha256=part, chunks=1
    )
    again = begun(OTHER_CAPTURE, NEXT_TIP, prior=(HANDOFF, TIP))
    assert owed(state_after(*SAVED, again, advanced)) == {HANDOFF, part}
    assert owed(state_after(*SAVED, again, finished(OTHER_CAPTURE, BODY))) == {HANDOFF, BODY}
    assert owed(state_after(*SAVED, (settled(), NEXT_TIP), asked)) == {OTHER_BODY}


def test_what_tells_how_a_note_was_filed_is_owed_until_it_is_settled_also_once_it_is_to_be_written_again() -> None:
    lost = (*DOUBTED, probed("absent_final", *NOWHERE))
    again = CaptureResolved(capture_id=CAPTURE, attempt=2, decision="rewrite", reason_sha256=BODY, file_path=None)
    for history in (DOUBTED, lost, (*lost, again), (*lost, again, intended(attempt=2))):
        assert METADATA in owed(state_after(*history))
    let_go = CaptureResolved(capture_id=CAPTURE, attempt=1, decision="abandon", reason_sha256=BODY, file_path=None)
    for history in (SAVED, (*lost, let_go)):
        assert METADATA not in owed(state_after(*history))


def test_a_saved_session_is_owed_nothing_and_goes_on_from_its_newest_handoff() -> None:
    assert owed(state_after(*SAVED)) == frozenset()
    assert basis(state_after(*SAVED)) == {HANDOFF}
    assert basis(state_after(opened())) == frozenset()


def test_the_basis_is_the_newest_handoff_and_the_checkpoints_own() -> None:
    newer = (*SAVED, settled(), begun(OTHER_CAPTURE, NEXT_TIP), finished(OTHER_CAPTURE, BODY))
    assert basis(state_after(*newer)) == {HANDOFF, BODY}


def test_an_open_session_can_do_without_all_but_its_basis() -> None:
    assert spare(KEPT, [state_after(*SAVED)], closing=False) == (BODY, OTHER_BODY)


def test_a_closing_session_can_do_without_any_text_once_all_is_stored() -> None:
    assert spare(KEPT, [state_after(*SAVED)], closing=True) == KEPT
    unsaved = (settled(), NEXT_TIP)
    assert spare(KEPT, [state_after(*SAVED, unsaved)], closing=True) == (BODY, OTHER_BODY)
    assert spare(KEPT, [state_after(*DOUBTED)], closing=True) == (BODY, OTHER_BODY)
    lost = state_after(*DOUBTED, probed("absent_final", *NOWHERE))
    assert spare(KEPT, [lost], closing=True) == (BODY, OTHER_BODY)


def test_a_text_that_another_branch_needs_is_not_spare() -> None:
    other = state_after(opened(), settled(), begun(), finished(handoff=BODY))
    for closing in (True, False):
        assert spare(KEPT, [state_after(*SAVED), other], closing=closing) == (OTHER_BODY,)


def test_texts_named_last_before_the_limit_expire() -> None:
    named = {BODY: 999, OTHER_BODY: 1_000}
    found = expired(KEPT, named, [state_after(opened())], before_ms=1_000, newest_ms=1_000)
    assert found == (HANDOFF, BODY)


def test_the_newest_handoff_expires_with_its_journal_and_not_before() -> None:
    saved = [state_after(*SAVED)]
    assert expired([HANDOFF], {HANDOFF: 1}, saved, before_ms=1_000, newest_ms=1_000) == ()
    assert expired([HANDOFF], {HANDOFF: 1}, saved, before_ms=1_000, newest_ms=999) == (HANDOFF,)


def test_what_is_pending_keeps_its_texts_and_the_newest_handoff_however_old() -> None:
    pending = [state_after(*SAVED, settled(), begun(OTHER_CAPTURE, NEXT_TIP), finished(OTHER_CAPTURE, BODY))]
    assert expired(KEPT, {}, pending, before_ms=1_000, newest_ms=1) == (OTHER_BODY,)


def test_texts_are_erased_with_their_number_and_reason_on_record() -> None:
    command = EraseBodies(digests=(BODY, HANDOFF), reason="expired")
    given(*SAVED).when(command).then(BodiesErased(digests=(BODY, HANDOFF), reason="expired"))


def test_erasing_nothing_is_no_event() -> None:
    given(*SAVED).when(EraseBodies(digests=(), reason="expired")).then()


def test_a_text_that_work_under_way_is_made_from_is_not_erased() -> None:
    command = EraseBodies(digests=(BODY, HANDOFF), reason="expired")
    given(*DOUBTED).when(command).rejected("work under way is made from a text among them")


def test_one_event_names_no_more_texts_than_a_line_can_well_hold() -> None:
    many = [Sha256(f"{number:064x}") for number in range(DIGESTS_AT_ONCE + 1)]
    told = erased(many, "expired")
    assert [len(event.digests) for event in told] == [DIGESTS_AT_ONCE, 1]
    assert [digest for event in told for digest in event.digests] == many
