"""A round of questions is bounded as a whole; what nobody answers is on record, is asked again later, and never in a storm."""

from __future__ import annotations

from pathlib import Path

from continuity.due import RECALL_SPACING_MS
from continuity.shell import desk as shell
from continuity.shell import recalling
from continuity.shell.recalling import REVISED_WITHIN_SECONDS
from continuity.shell.runner import REST_MS
from journal.events import BriefDelivered, CaptureProbed, Gap, RecallAnswered, RecallFailed, RecallPlanned
from journal.events.recall import ROUND
from tests.fakes.host import Conversation
from tests.shell.rig import BOUND, Rig, Talk, rig, until

DEAF = {"search_notes": ["rpc-error"], "recent_activity": ["rpc-error"], "build_context": ["rpc-error"]}
MUTE = {"search_notes": ["silent"], "recent_activity": ["silent"], "build_context": ["silent"]}


async def connected(process: Rig, conversation: Conversation | None = None) -> Talk:
    """A session that has started, with a server that is up."""
    process.memory.put("tasks/foghorn.md", "Mend the foghorn.", type="task", status="active")
    talk = process.session(conversation or Conversation())
    await talk.session.start("startup")
    assert await process.link.up(BOUND)
    return talk


async def test_a_round_that_fails_before_the_first_prompt_is_asked_again_only_after_a_rest(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        process.memory.faults(**DEAF)
        talk = await connected(process)
        for _ in range(5):
            await talk.settle()
        once = process.memory.calls()["search_notes"]
        assert once > 0
        process.clock.advance(REST_MS)
        await talk.settle()
        assert process.memory.calls()["search_notes"] == 2 * once
        await talk.prompt("hello")
        assert [failed.name for failed in talk.events(RecallFailed)].count(ROUND) == 2


async def test_facts_kept_for_a_journal_to_come_are_bounded_and_what_had_no_room_is_told_as_a_gap(
    tmp_path: Path,
) -> None:
    async with rig(tmp_path, project=None) as process:
        talk = await process.open()
        desk = talk.session.desk
        each = 10
        rounds = shell.MOST_WAITING // each + 3
        for number in range(rounds):
            await desk.note(RecallPlanned(reason=f"round-{number}", topic_sha256=None, queries=()))
            await desk.note(*(RecallFailed(name=f"q{n}", error="timeout") for n in range(each - 1)))
        assert len(desk.waiting) <= shell.MOST_WAITING
        await talk.prompt("hello")
        kept = [planned.reason for planned in talk.events(RecallPlanned)]
        assert kept == [f"round-{number}" for number in range(3, rounds)]
        assert [gap.count for gap in talk.events(Gap)] == [3 * each]


async def test_a_round_without_any_answer_is_asked_again_in_growing_steps_and_then_brings_the_brief(
    tmp_path: Path,
) -> None:
    async with rig(tmp_path) as process:
        process.memory.faults(initialize="exit")
        talk = process.session(Conversation())
        await talk.session.start("startup")
        await talk.prompt("one")
        await until(lambda: process.link.status == "down", "a server that ends at once")
        process.memory.faults(**DEAF)
        assert await process.link.up(BOUND)
        await talk.settle()
        assert [failed.name for failed in talk.events(RecallFailed)][-1] == ROUND
        assert not talk.state.recall.planned
        process.memory.faults()
        process.memory.put("tasks/foghorn.md", "Mend the foghorn.", type="task", status="active")
        await talk.settle()
        assert not talk.events(RecallAnswered)
        process.clock.advance(RECALL_SPACING_MS[1])
        await talk.settle()
        prompted = await talk.prompt("two")
        assert prompted.brief is not None
        assert "Mend the foghorn." in prompted.brief.brief.text
        assert prompted.brief.complete


async def test_a_round_that_nobody_answers_ends_with_its_bound_and_every_question_is_on_record(tmp_path: Path) -> None:
    async with rig(tmp_path, timeout_seconds=1.0, recall_wait_seconds=0.1) as process:
        process.memory.faults(**MUTE)
        talk = await connected(process)
        prompted = await talk.prompt("one")
        assert prompted.brief is None
        await talk.settle()
        await talk.prompt("two")
        (planned,) = talk.events(RecallPlanned)
        failed = {one.name: one.error for one in talk.events(RecallFailed)}
        assert failed == {**{query.name: "timeout" for query in planned.queries}, ROUND: "timeout"}
        assert not talk.session.runner.recaller.fetched(talk.state.branch)
        assert talk.state.recall.due == "start"


async def test_a_question_that_is_not_answered_in_time_costs_its_own_answer_alone(tmp_path: Path) -> None:
    async with rig(tmp_path, timeout_seconds=1.0) as process:
        process.memory.faults(recent_activity=["silent"])
        talk = await connected(process)
        await talk.settle()
        prompted = await talk.prompt("one")
        assert [(one.name, one.error) for one in talk.events(RecallFailed)] == [("recent", "timeout")]
        assert prompted.brief is not None
        assert prompted.brief.complete


async def test_a_checkpoint_that_cannot_be_read_in_time_leaves_time_for_the_questions(tmp_path: Path) -> None:
    conversation = Conversation()
    async with rig(tmp_path) as process:
        talk = await process.open(conversation)
        await talk.saved("one")
    async with rig(tmp_path, timeout_seconds=2.0) as process:
        process.memory.faults(read_note=["silent"])
        talk = await connected(process, conversation)
        before = len(talk.events(RecallAnswered))
        await until(lambda: len(talk.events(RecallAnswered)) > before, "answers")
        assert talk.state.recall.planned


async def test_a_session_taken_up_while_the_server_is_up_looks_at_its_checkpoint(tmp_path: Path) -> None:
    conversation = Conversation()
    async with rig(tmp_path) as process:
        talk = await process.open(conversation)
        await talk.saved("one")
        await talk.session.close("left-session")
        again = process.session(conversation, after=talk)
        await again.session.start("resume")
        await again.settle()
        assert [probe.verdict for probe in again.events(CaptureProbed)] == ["present_same"]
        assert [planned.reason for planned in again.events(RecallPlanned)][1:] == ["start"]


async def test_a_brief_from_what_is_kept_here_alone_is_not_complete(tmp_path: Path) -> None:
    conversation = Conversation()
    async with rig(tmp_path) as process:
        talk = await process.open(conversation)
        await talk.saved("one")
        conversation.compact()
    async with rig(tmp_path, timeout_seconds=1.0, recall_wait_seconds=0.1) as process:
        process.memory.faults(**MUTE, read_note=["silent"])
        talk = await connected(process, conversation)
        prompted = await talk.prompt("two")
        assert prompted.brief is not None
        await talk.session.delivered(prompted.brief)
        assert [delivered.complete for delivered in talk.events(BriefDelivered)] == [False]


async def test_a_large_brief_is_made_off_the_loop_and_is_the_same(tmp_path: Path) -> None:
    async with rig(tmp_path, recall_chars=50_000) as process:
        for number in range(6):
            text = f"Mend foghorn {number}. " + "oil " * 2_500
            process.memory.put(f"tasks/foghorn-{number}.md", text, type="task", status="active")
        talk = await connected(process)
        await talk.settle()
        one, two = (await talk.prompt("one")).brief, (await talk.prompt("two")).brief
        assert one is not None
        assert two is not None
        assert len(one.brief.text) > recalling.RENDERED_AT_ONCE_CHARS
        assert one.brief == two.brief


async def test_a_note_left_out_because_of_others_is_on_record_with_the_brief(tmp_path: Path) -> None:
    conversation = Conversation()
    async with rig(tmp_path) as process:
        talk = await process.open(conversation)
        await talk.saved("one")
        checkpoint = talk.state.checkpoint
    assert checkpoint is not None
    async with rig(tmp_path) as process:
        talk = await connected(process, conversation)
        await talk.settle()
        prompted = await talk.prompt("two")
        assert prompted.brief is not None
        await talk.session.delivered(prompted.brief)
        (fact,) = talk.events(BriefDelivered)
        told = {source.file_path: (source.treatment, source.why) for source in fact.sources}
        assert told == {
            "tasks/foghorn.md": ("used", ""),
            checkpoint.path: ("withheld", "its conversation is in context"),
        }


async def test_a_note_in_a_brief_has_the_revision_its_text_is_of(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        process.memory.faults(recent_activity=["rpc-error"])
        talk = await connected(process)
        await talk.settle()
        prompted = await talk.prompt("one")
        assert prompted.brief is not None
        (source,) = prompted.brief.brief.sources
        assert source.checksum == process.memory.notes["tasks/foghorn.md"]["checksum"]


async def test_a_text_that_changed_after_it_was_listed_has_no_revision(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        process.memory.faults(read_note=["hold", "store"], recent_activity=["rpc-error"])
        talk = await connected(process)
        await until(lambda: process.memory.calls()["read_note"], "a read")
        process.memory.put("tasks/foghorn.md", "Sell the foghorn.", type="task", status="active")
        process.memory.release()
        await talk.settle()
        prompted = await talk.prompt("one")
        assert prompted.brief is not None
        assert "Mend the foghorn." in prompted.brief.brief.text
        assert [source.checksum for source in prompted.brief.brief.sources] == [None]


async def test_no_prompt_waits_for_a_revision(tmp_path: Path) -> None:
    async with rig(tmp_path, recall_wait_seconds=REVISED_WITHIN_SECONDS - 2) as process:
        process.memory.faults(read_note=["hold", "store"], recent_activity=["rpc-error"])
        talk = await connected(process)
        prompted = await talk.prompt("one")
        assert prompted.brief is not None
        assert prompted.brief.complete
        assert [source.checksum for source in prompted.brief.brief.sources] == [None]
        process.memory.release()
