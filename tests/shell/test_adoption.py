"""What was saved elsewhere counts here as far as the path goes: by a sibling, another machine, or before a journal was lost."""

import shutil
from collections.abc import Mapping
from pathlib import Path

import anyio
import pytest

from continuity.capture import content_digest, receipt
from continuity.commands import RecordProbe
from continuity.places import Places
from continuity.state import Capture
from journal.events import BasisTaken, NoteEdited, NoteWithdrawn, ReceiptAdopted, WriteAnswered
from journal.ids import BranchId, CaptureId, EntryId
from tests.facts import NOWHERE
from tests.fakes.host import HANDOFF, Conversation
from tests.shell.rig import BOUND, Rig, Talk, names, recorded, replayed, rig, until

OIL = "Oil, because there is no wind."
SECOND = BranchId(2)


def lose_the_journal(root: Path) -> None:
    shutil.rmtree(root / "state")


def elsewhere(process: Rig, root: Path) -> None:
    """Make `process` another machine: it keeps its journals elsewhere and knows the same server."""
    process.places = Places(root / "tau", root / "other-machine")


async def mirrored(talk: Talk, text: str) -> None:
    """One more prompt, and the receipt it is given put into the session, as the host does."""
    prompted = await talk.prompt(text)
    assert prompted.receipt is not None
    talk.conversation.receipt(prompted.receipt)


def note_of(process: Rig) -> tuple[str, str]:
    """Return path and body of the one note there is."""
    ((path, note),) = process.memory.notes.items()
    return path, str(note["content"])


def edit(process: Rig, old: str, new: str) -> None:
    path, body = note_of(process)
    note = process.memory.notes[path]
    process.memory.put(path, body.replace(old, new), **note["frontmatter"])


def foreign(tip: EntryId, identity: str = "e" * 64) -> Mapping[str, object]:
    """A receipt as Basic Memory's own extension writes it."""
    return receipt(
        project="main",
        identity=CaptureId(identity),
        kind="checkpoint",
        status="confirmed",
        source_tip=tip,
        content_sha256=content_digest("by another tool"),
        file_path="tau/checkpoints/by-another-tool.md",
    )


# -- siblings ----------------------------------------------------------------


async def left_while_it_was_saved(process: Rig) -> tuple[Talk, EntryId]:
    """A session on its second branch; what its first was saving when it was left is made and confirmed only now."""
    talk = await process.open()
    await talk.saved("one")
    process.mind.gate = anyio.Event()
    await talk.turn("two")
    kept = talk.conversation.tip
    assert kept is not None
    await until(lambda: len(process.mind.asked) == 2, "a question to the model")
    await talk.turn("a wrong turn")
    talk.conversation.go_to(kept)
    await talk.prompt("a better turn")
    assert talk.state.branch == SECOND
    process.mind.gate.set()
    await talk.settle()
    return talk, kept


async def test_what_a_sibling_settles_later_is_adopted_as_far_as_the_path_is_shared(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk, kept = await left_while_it_was_saved(process)
        assert talk.state.checkpoint is not None
        assert talk.state.checkpoint.source_tip != kept
        await talk.prompt("go on")
        assert talk.state.checkpoint.source_tip == kept
        (adopted,) = recorded(talk.path, ReceiptAdopted, 2)
        assert (adopted.origin, adopted.source_tip) == ("sibling", kept)
        assert talk.state == replayed(talk.path, 2)


async def test_the_handoff_of_a_sibling_goes_with_its_checkpoint(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk, kept = await left_while_it_was_saved(process)
        await talk.prompt("go on")
        (taken,) = recorded(talk.path, BasisTaken, 2)
        assert (taken.source_tip, taken.edited) == (kept, False)
        await talk.session.settled(talk.conversation.assistant("Done."), interrupted=False)
        await talk.settle()
        assert "a better turn" in process.mind.asked[-1]
        assert "two" not in process.mind.asked[-1]


def proof_that_it_is_gone(capture: Capture) -> RecordProbe:
    return RecordProbe(
        capture_id=capture.capture_id,
        attempt=1,
        status="confirmed",
        connection=None,
        observations=NOWHERE,
        writing_server="gone",
        project_source="local",
        index_proven=True,
    )


async def test_a_note_that_is_proven_gone_is_adopted_by_no_sibling(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk, kept = await left_while_it_was_saved(process)
        ledger = talk.session.desk.ledger
        assert ledger is not None
        (gone,) = [one for one in ledger.saved if one.source_tip == kept]
        talk.conversation.go_to(kept)
        await talk.prompt("a third way, which takes the receipt over")
        assert talk.state.checkpoint is not None
        assert talk.state.checkpoint.capture_id == gone.capture_id
        await talk.session.desk.apply(proof_that_it_is_gone(gone))
        third = talk.state.branch
        assert recorded(talk.path, NoteWithdrawn, third)
        await talk.prompt("once more")
        assert [one.capture_id for one in recorded(talk.path, ReceiptAdopted, third)].count(gone.capture_id) == 1
        assert talk.state.checkpoint is not None
        assert talk.state.checkpoint.capture_id != gone.capture_id


# -- other machines ----------------------------------------------------------


async def test_work_that_went_on_on_another_machine_is_known_on_both(tmp_path: Path) -> None:
    conversation = Conversation()
    async with rig(tmp_path, summarize_on_shutdown=False) as here:
        talk = await here.open(conversation)
        await talk.saved("one")
        await mirrored(talk, "I leave")
    async with rig(tmp_path) as there:
        elsewhere(there, tmp_path)
        talk = await there.open(conversation)
        saved = await talk.saved("two")
        assert [adopted.origin for adopted in talk.events(ReceiptAdopted)] == ["session"]
        await mirrored(talk, "I leave again")
        await there.kill()
    async with rig(tmp_path) as here:
        talk = await here.open(conversation)
        (adopted,) = talk.events(ReceiptAdopted)
        assert (adopted.source_tip, adopted.origin) == (saved, "session")
        assert talk.state == replayed(talk.path)
        await talk.session.request("command")  # a prompt without an answer is no reason by itself
        await talk.settle()
        (asked,) = here.mind.asked
        assert OIL in asked
        assert "I leave again" in asked
        assert "two" not in asked


async def test_an_adopted_checkpoint_spares_the_model_what_its_note_tells(tmp_path: Path) -> None:
    conversation = Conversation()
    async with rig(tmp_path, summarize_on_shutdown=False) as here:
        talk = await here.open(conversation)
        await talk.saved("the first thing")
        await mirrored(talk, "the second thing")
    lose_the_journal(tmp_path)
    async with rig(tmp_path) as there:
        talk = await there.open(conversation)
        await talk.saved("the third thing")
        (asked,) = there.mind.asked
        assert OIL in asked
        assert "the second thing" in asked
        assert "the first thing" not in asked
        assert [taken.edited for taken in talk.events(BasisTaken)] == [False]


async def test_a_tip_that_is_saved_already_is_not_saved_again(tmp_path: Path) -> None:
    conversation = Conversation()
    async with rig(tmp_path) as here:
        talk = await here.open(conversation)
        await talk.turn("one")
        await talk.settle()
        shutil.copytree(tmp_path / "state", tmp_path / "early")
        await talk.saved("two")
        kept = talk.conversation.tip
        prompted = await talk.prompt("never answered")
        assert prompted.receipt is not None
        conversation.go_to(kept)
        conversation.receipt(prompted.receipt)
    lose_the_journal(tmp_path)
    shutil.copytree(tmp_path / "early", tmp_path / "state")
    async with rig(tmp_path) as process:
        talk = await process.open(conversation)
        assert talk.state.checkpoint is not None
        assert talk.state.checkpoint.source_tip == kept
        assert (talk.state.unsaved_tip, process.mind.asked) == (None, [])


async def test_late_and_repeated_receipts_change_nothing(tmp_path: Path) -> None:
    conversation = Conversation()
    async with rig(tmp_path, summarize_on_shutdown=False) as process:
        talk = await process.open(conversation)
        first = await talk.saved("one")
        await mirrored(talk, "two")
        await talk.session.settled(conversation.assistant("Done."), interrupted=False)
        await talk.settle()
        newest = talk.state.checkpoint
        conversation.receipt(foreign(first))
        await mirrored(talk, "three")
        await talk.prompt("four")
        assert talk.state.checkpoint == newest
        assert talk.events(ReceiptAdopted) == []
    async with rig(tmp_path) as process:
        talk = await process.open(conversation)
        assert talk.events(ReceiptAdopted) == []


async def test_a_receipt_hides_no_capture_of_our_own_that_is_under_way_and_lies_deeper(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        process.memory.faults(write_note=["hold", "store"])
        shallow = talk.conversation.user("before")
        await talk.turn("one")
        await until(lambda: names(talk.path)[-1] == "write-intended", "the intent")
        talk.conversation.receipt(foreign(shallow))
        await talk.prompt("two")
        assert talk.events(ReceiptAdopted) == []
        process.memory.release()
        await talk.settle()
        assert talk.state.checkpoint is not None
        assert talk.state.checkpoint.evidence == "answered"


async def test_a_receipt_of_another_tool_is_adopted_beside_others_that_cannot_be_read(tmp_path: Path) -> None:
    conversation = Conversation()
    tip = conversation.user("long ago")
    good = foreign(tip)
    for spoiled in ({"status": "abandoned"}, {"source_tip": None}, {"source_tip": "e" * 300}):
        conversation.receipt({**good, **spoiled})
    conversation.receipt({"v": 2})
    conversation.receipt({**good, "project": "another"})
    conversation.receipt(good)
    async with rig(tmp_path) as process:
        talk = await process.open(conversation)
        await talk.prompt("go on")
        assert [adopted.origin for adopted in talk.events(ReceiptAdopted)] == ["tool"]
        assert process.voice.on("receipts") == ["4 unreadable receipt(s) in this session were passed over."]


async def test_a_receipt_that_names_the_note_of_another_session_brings_nothing_of_it_here(tmp_path: Path) -> None:
    conversation = Conversation("mine")
    async with rig(tmp_path) as process:
        process.mind.answer = lambda _: HANDOFF.format(next="Sell the lighthouse.")
        await (await process.open(Conversation("theirs"), "theirs")).saved("another matter")
        path, _ = note_of(process)
        identity = process.memory.notes[path]["frontmatter"]["capture_id"]
        tip = conversation.user("long ago")
        conversation.receipt({**foreign(tip, identity), "file_path": path})
        conversation.compact()
        talk = await process.open(conversation, "mine")
        prompted = await talk.prompt("go on")
        assert len(talk.events(ReceiptAdopted)) == 1
        assert prompted.brief is None or "## Checkpoint of this branch" not in prompted.brief.brief.text
        await talk.saved("the next thing")
        assert talk.events(BasisTaken) == []
        assert "Sell the lighthouse." not in process.mind.asked[-1]
        newest = talk.events(WriteAnswered)[-1].file_path
        assert "continues" not in process.memory.notes[str(newest)]["content"]


# -- a journal that was lost --------------------------------------------------


async def lost(root: Path, conversation: Conversation) -> EntryId:
    """Save one thing, and lose the journal before any receipt of it is in the session."""
    async with rig(root, summarize_on_shutdown=False) as process:
        saved = await (await process.open(conversation)).saved("the first thing")
    lose_the_journal(root)
    return saved


async def test_after_the_journal_was_lost_the_note_is_found_at_its_address(tmp_path: Path) -> None:
    conversation = Conversation()
    saved = await lost(tmp_path, conversation)
    async with rig(tmp_path) as process:
        talk = await process.open(conversation)
        await talk.saved("the second thing")
        (adopted,) = talk.events(ReceiptAdopted)
        assert (adopted.origin, adopted.source_tip) == ("address", saved)
        (asked,) = process.mind.asked
        assert OIL in asked
        assert "the first thing" not in asked
        assert process.memory.calls()["write_note"] == 2
        assert len(process.voice.on("adopted")) == 1


async def test_the_text_of_an_adopted_checkpoint_is_recalled_also_while_memory_is_away(tmp_path: Path) -> None:
    conversation = Conversation()
    await lost(tmp_path, conversation)
    async with rig(tmp_path, capture_knowledge=False) as process:
        talk = await process.open(conversation)
        await talk.prompt("go on")
        await talk.settle()
        assert len(talk.events(BasisTaken)) == 1
    async with rig(tmp_path, capture_knowledge=False) as process:
        process.memory.faults(initialize="exit")
        talk = process.session(conversation)
        await talk.session.start("startup")
        conversation.compact()
        prompted = await talk.prompt("and on")
        assert prompted.brief is not None
        assert OIL in prompted.brief.brief.text
        assert "local copy" in prompted.brief.brief.text


async def test_a_note_that_was_edited_is_adopted_with_that_label_and_its_present_text(tmp_path: Path) -> None:
    conversation = Conversation()
    await lost(tmp_path, conversation)
    async with rig(tmp_path) as process:
        edit(process, OIL, "Whale oil, says Ada. key ghp_0123456789abcdefghijklmnopqrstuvwxyz")
        talk = await process.open(conversation)
        await talk.prompt("go on")
        await talk.settle()
        assert talk.state.checkpoint is not None
        assert (talk.state.checkpoint.edited, talk.state.checkpoint.evidence) == (True, "read")
        assert len(talk.events(NoteEdited)) == 1
        assert [taken.edited for taken in talk.events(BasisTaken)] == [True]
        await talk.session.settled(conversation.assistant("Done."), interrupted=False)
        await talk.settle()
        (asked,) = process.mind.asked
        assert "Whale oil, says Ada." in asked
        assert "ghp_0123456789" not in asked


async def test_where_nothing_was_saved_each_address_is_read_once_and_never_again(tmp_path: Path) -> None:
    conversation = Conversation()
    for number in range(15):
        conversation.user(f"question {number}")
        conversation.assistant(f"answer {number}")
    async with rig(tmp_path, cadence={"characters": 100_000, "minutes": 60}) as process:
        talk = await process.open(conversation)
        await talk.prompt("go on")
        await talk.settle()
        assert process.memory.calls()["read_note"] == 20
        await talk.session.start("reload")
        await talk.turn("and on")
        await talk.settle()
        assert process.memory.calls()["read_note"] == 20
        assert talk.events(ReceiptAdopted) == []


async def test_a_fresh_session_has_nothing_to_be_looked_for(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        await talk.saved("hello")
        assert process.memory.calls()["read_note"] == 0


async def test_looking_for_a_note_holds_no_prompt_and_a_failure_costs_only_itself(tmp_path: Path) -> None:
    conversation = Conversation()
    await lost(tmp_path, conversation)
    async with rig(tmp_path, auto_recall=False, timeout_seconds=300) as process:
        process.memory.faults(read_note=["hold", "rpc-error"])
        talk = await process.open(conversation)
        with anyio.fail_after(BOUND):
            await talk.prompt("go on")
        await until(lambda: process.memory.calls()["read_note"], "the reading of a note")
        process.memory.release()
        await talk.session.settled(conversation.assistant("Done."), interrupted=False)
        await talk.settle()
        assert talk.events(ReceiptAdopted) == []
        assert "the first thing" in process.mind.asked[-1]
        assert [answer.outcome for answer in talk.events(WriteAnswered)] == ["accepted"]


async def test_a_session_on_a_machine_without_its_notes_goes_on_without_them(tmp_path: Path) -> None:
    conversation = Conversation()
    async with rig(tmp_path, summarize_on_shutdown=False) as here:
        talk = await here.open(conversation)
        await talk.saved("the first thing")
        await mirrored(talk, "the second thing")
    async with rig(tmp_path / "another-machine") as there:
        there.memory.put("tasks/foghorn.md", "Mend the foghorn.", type="task", status="active")
        talk = await there.open(conversation)
        prompted = await talk.prompt("the third thing")
        assert prompted.brief is not None
        assert "Mend the foghorn." in prompted.brief.brief.text
        await talk.session.settled(conversation.assistant("Done."), interrupted=False)
        await talk.settle()
        assert "the first thing" in there.mind.asked[-1]
        made = [note for path, note in there.memory.notes.items() if path.startswith("tau/")]
        assert len(made) == 1
        assert "continues" not in made[0]["content"]
        assert talk.state.checkpoint is not None
        assert talk.state.checkpoint.evidence == "answered"
        assert len([said for _, said, _ in there.voice.notices if "was not found at" in said]) == 1


# -- edited while we were away -------------------------------------------------


async def test_what_somebody_wrote_into_our_note_is_what_the_next_one_is_made_from(tmp_path: Path) -> None:
    conversation = Conversation()
    async with rig(tmp_path) as process:
        await (await process.open(conversation)).saved("the first thing")
        edit(process, OIL, "Whale oil, says Ada.")
    async with rig(tmp_path) as process:
        talk = await process.open(conversation)
        await talk.saved("the second thing")
        (asked,) = process.mind.asked
        assert "Whale oil, says Ada." in asked
        assert "the first thing" not in asked
        assert [taken.edited for taken in talk.events(BasisTaken)] == [True]


@pytest.mark.parametrize("spoiled", ["No handoff any more.", HANDOFF.format(next="x" * 50_000)])
async def test_an_edit_that_left_no_handoff_is_labelled_and_our_own_text_stays_the_basis(
    tmp_path: Path, spoiled: str
) -> None:
    conversation = Conversation()
    async with rig(tmp_path) as process:
        await (await process.open(conversation)).saved("the first thing")
        path, _ = note_of(process)
        process.memory.put(path, spoiled, **process.memory.notes[path]["frontmatter"])
    async with rig(tmp_path) as process:
        talk = await process.open(conversation)
        await talk.saved("the second thing")
        assert talk.events(BasisTaken) == []
        assert OIL in process.mind.asked[-1]
        assert "xxxx" not in process.mind.asked[-1]
