"""`/bm-orient` asks memory anew and has what it answers put in: at rest where the host can, else with the next prompt."""

from __future__ import annotations

from pathlib import Path

from continuity.shell.announced import AnnouncedSession
from continuity.shell.recalling import Composed
from continuity.tau.orient_command import ASKED, oriented
from journal.events import BriefDelivered, RecallPlanned, WorkBegun
from tests.fakes.host import Conversation
from tests.shell.rig import Rig, Talk, crash, replayed, rig, until

TASK, DECISION, OTHER = "Mend the foghorn.", "Oil, for there is no wind.", "Paint the rail."


class Host:
    """Takes a brief at rest, or not."""

    def __init__(self, *, takes: bool = True) -> None:
        self.given: list[Composed] = []
        self._takes = takes

    async def append(self, composed: Composed) -> bool:
        if self._takes:
            self.given.append(composed)
        return self._takes


async def asked(process: Rig, talk: Talk, words: str = "", host: Host | None = None) -> str:
    """Type the command and return what came of it."""
    before = len(process.voice.answers)
    assert oriented(talk.session, process.owner, (host or Host()).append, words) is None
    await until(lambda: len(process.voice.answers) == before + 2, "what came of it")
    assert process.voice.answers[before] == ASKED
    return process.voice.answers[-1]


async def worked(process: Rig, *, announced: bool = False) -> Talk:
    """A session whose first brief is in its context, without the task that is made afterwards."""
    process.memory.put("decisions/oil.md", DECISION, type="decision", status="open")
    talk = process.session(Conversation(), kind=AnnouncedSession) if announced else process.session(Conversation())
    await talk.session.start("startup")
    await process.link.up(20)
    await talk.settle()
    prompted = await talk.turn("What is to be done?")
    assert prompted.brief is not None
    await put_in(talk, prompted.brief)
    return talk


async def put_in(talk: Talk, composed: Composed) -> None:
    talk.conversation.brief(composed.brief.sha256)
    await talk.session.delivered(composed)


def new_task(process: Rig) -> None:
    process.memory.put("tasks/foghorn.md", TASK, type="task", status="active")


async def test_on_stock_tau_the_next_prompt_brings_what_is_new(tmp_path: Path) -> None:
    async with rig(tmp_path, capture_knowledge=False) as process:
        talk = await worked(process)
        new_task(process)
        answer = await asked(process, talk)
        assert answer.startswith("A brief of 2 notes comes with your next prompt; /bm-why shows it note by note then.")
        prompted = await talk.turn("and on")
        assert prompted.brief is not None
        assert TASK in prompted.brief.brief.text


async def test_the_answer_names_the_row_of_the_questions(tmp_path: Path) -> None:
    async with rig(tmp_path, capture_knowledge=False) as process:
        talk = await worked(process)
        new_task(process)
        answer = await asked(process, talk)
        assert [planned.reason for planned in talk.events(RecallPlanned)][-1] == "orient"
        assert f"Recorded as row 1@{place_of(answer)}, " in answer
        assert replayed(talk.path) == talk.state
        assert talk.state.recall.due == "orient"


def place_of(answer: str) -> int:
    return int(answer.partition("1@")[2].partition(",")[0])


async def test_an_announcing_host_at_rest_is_given_it_at_once_and_the_proof_is_its_row(tmp_path: Path) -> None:
    async with rig(tmp_path, capture_knowledge=False) as process:
        talk, host = await worked(process, announced=True), Host()
        new_task(process)
        answer = await asked(process, talk, host=host)
        (given,) = host.given
        assert TASK in given.brief.text
        assert talk.events(BriefDelivered)[-1].how == "appended"
        assert answer.startswith("A brief of 2 notes was put into the conversation. Recorded as row 1@")
        assert f"/bm-why 1@{talk.state.position} shows it" in answer
        assert talk.state.recall.due is None


async def test_after_a_look_elsewhere_it_is_asked_for_and_recorded_where_the_host_is_by_now(tmp_path: Path) -> None:
    async with rig(tmp_path, capture_knowledge=False) as process:
        talk, host = await worked(process, announced=True), Host()
        first = (await talk.conversation.view(None)).tip
        await talk.turn("and on")
        await talk.settle()
        assert first is not None
        assert isinstance(talk.session, AnnouncedSession)
        talk.conversation.go_to(first)
        await talk.session.moved(None)
        new_task(process)
        assert "Recorded as row 2@" in await asked(process, talk, host=host)
        assert [composed.branch for composed in host.given] == [2]


async def test_where_no_prompt_follows_what_brings_it_is_named(tmp_path: Path) -> None:
    async with rig(tmp_path, capture_knowledge=False) as process:
        talk = await worked(process)
        new_task(process)
        oriented(talk.session, process.owner, Host().append, "", alone=True)
        await until(lambda: len(process.voice.answers) == 2, "what came of it")
        assert "with your next prompt (tau --session session); /bm-why" in process.voice.answers[-1]


async def test_an_announcing_host_that_is_busy_brings_it_with_the_next_prompt(tmp_path: Path) -> None:
    async with rig(tmp_path, capture_knowledge=False) as process:
        talk = await worked(process, announced=True)
        new_task(process)
        assert "comes with your next prompt" in await asked(process, talk, host=Host(takes=False))
        assert len(talk.events(BriefDelivered)) == 1


async def test_the_same_brief_is_not_put_in_twice(tmp_path: Path) -> None:
    async with rig(tmp_path, capture_knowledge=False) as process:
        talk = await worked(process)
        assert (await asked(process, talk)).startswith("Nothing new: the same brief is in context already")
        assert (await talk.turn("and on")).brief is None


async def test_where_memory_has_nothing_that_is_said(tmp_path: Path) -> None:
    async with rig(tmp_path, capture_knowledge=False) as process:
        talk = await process.open()
        await talk.turn("one")
        assert (await asked(process, talk)).startswith("Memory has nothing for this work beyond what is in context")


async def test_a_topic_brings_what_matches_it_and_only_its_words_are_kept(tmp_path: Path) -> None:
    async with rig(tmp_path, capture_knowledge=False) as process:
        talk = await worked(process)
        new_task(process)
        process.memory.put("tasks/rail.md", OTHER, type="task", status="active")
        await asked(process, talk, "the foghorn and password=hunter2hunter2")
        topic = talk.events(RecallPlanned)[-1]
        assert (topic.reason, [query.name for query in topic.queries]) == ("orient", ["topic-tasks", "topic-decisions"])
        words = await talk.session.desk.body(topic.topic_sha256)
        assert words is not None
        assert "foghorn" in words
        assert "hunter2" not in words


async def test_a_topic_alone_is_news_although_all_else_is_in_context(tmp_path: Path) -> None:
    async with rig(tmp_path, capture_knowledge=False) as process:
        new_task(process)
        hinges = [f"tasks/{number}.md" for number in range(40)]
        process.memory.fill(hinges, "Oil the hinge.", type="task", status="active")
        process.memory.put("decisions/oil.md", DECISION, type="decision", status="open")
        process.memory.newest_first()
        talk = await worked(process)
        assert "tasks/foghorn.md" not in [hit.file_path for hit in talk.events(BriefDelivered)[0].sources]
        assert (await asked(process, talk)).startswith("Nothing new")
        assert "comes with your next prompt" in await asked(process, talk, "foghorn")
        prompted = await talk.turn("and on")
        assert prompted.brief is not None
        assert TASK in prompted.brief.brief.text


async def test_it_is_done_where_nothing_is_recalled_by_itself(tmp_path: Path) -> None:
    async with rig(tmp_path, capture_knowledge=False, auto_recall=False) as process:
        talk = await process.open()
        assert (await talk.turn("one")).brief is None
        new_task(process)
        assert "comes with your next prompt" in await asked(process, talk)
        prompted = await talk.turn("two")
        assert prompted.brief is not None
        assert [planned.reason for planned in talk.events(RecallPlanned)] == ["orient"]


async def test_off_the_record_no_topic_leaves_the_session(tmp_path: Path) -> None:
    async with rig(tmp_path, capture_knowledge=False) as process:
        talk = await worked(process)
        await talk.session.switch(off=True, anchor=None)
        new_task(process)
        answer = await asked(process, talk, "the foghorn")
        assert answer.endswith("nothing was asked about the topic, for its words would leave this session.")
        assert talk.events(RecallPlanned)[-1].topic_sha256 is None


async def test_it_asks_no_model_and_begins_no_turn(tmp_path: Path) -> None:
    async with rig(tmp_path, capture_knowledge=False) as process:
        talk = await worked(process)
        said, begun = (await talk.conversation.view(None)).path, len(talk.events(WorkBegun))
        new_task(process)
        await asked(process, talk)
        assert (await talk.conversation.view(None)).path == said
        assert (len(talk.events(WorkBegun)), process.mind.asked) == (begun, [])


async def test_memory_that_is_not_reachable_is_named_with_its_remedy(tmp_path: Path) -> None:
    async with rig(tmp_path, capture_knowledge=False, timeout_seconds=2.0) as process:
        talk = await worked(process)
        process.memory.faults(initialize="exit")
        await crash(process)
        assert await asked(process, talk) == (
            "Memory is not reachable, so nothing was asked: the memory server ended at once; "
            "run its command in a terminal to see why."
        )
        assert len([planned for planned in talk.events(RecallPlanned) if planned.reason == "orient"]) == 0


async def test_memory_that_answers_nothing_is_asked_again_by_itself(tmp_path: Path) -> None:
    async with rig(tmp_path, capture_knowledge=False, timeout_seconds=0.5) as process:
        talk = await worked(process)
        process.memory.faults(search_notes=["hold"], recent_activity=["hold"])
        assert (await asked(process, talk)).startswith(
            "Memory answered no question in time; it is asked again by itself"
        )
        assert talk.state.recall.due == "orient"


async def test_before_the_first_prompt_it_begins_the_journal(tmp_path: Path) -> None:
    async with rig(tmp_path, capture_knowledge=False) as process:
        conversation = Conversation()
        conversation.user("from before")
        talk = await process.open(conversation)
        new_task(process)
        assert "comes with your next prompt" in await asked(process, talk)
        assert (await talk.turn("one")).brief is not None


async def test_where_nothing_can_be_asked_it_is_said_at_once(tmp_path: Path) -> None:
    async with rig(tmp_path, project=None) as process:
        talk, append = await process.open(), Host().append
        assert "no project is configured" in str(oriented(talk.session, process.owner, append, ""))
        assert "this session has no file" in str(oriented(None, process.owner, append, ""))
