"""The one link to memory tells the truth about itself, comes back when it is needed, and is never waited for without a bound."""

from pathlib import Path

import anyio

from continuity.due import PROBE_SPACING_MS
from continuity.memory.errors import CommandRefused
from continuity.memory.inventory import Inventory
from continuity.memory.liveness import group_state
from continuity.shell import link as shell
from continuity.shell.link import MemoryLink
from journal.events import MemoryConnected, MemoryLost
from tests.fakes.host import Conversation
from tests.shell.rig import BOUND, crash, rig, until


def nowhere(inventory: Inventory) -> None:
    """Keep no inventory."""


async def test_nothing_is_started_before_somebody_wants_it(tmp_path: Path) -> None:
    async with rig(tmp_path, project=None) as process:
        talk = await process.open()
        await talk.turn("hello")
        await talk.settle()
        assert process.link.status == "idle"
        assert not process.memory.calls()


async def test_a_server_that_died_is_not_called_up(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        await process.open()
        seen = [process.link.status]
        await crash(process)
        seen.append(process.link.status)
        assert seen == ["up", "idle"]
        assert process.link.connection is None


async def test_a_server_that_died_is_replaced_for_what_is_owed_after_its_rest(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        await talk.saved("light the lamp")
        await crash(process)
        await talk.turn("and the foghorn")
        await until(lambda: len(talk.events(MemoryConnected)) == 2, "another server")
        await talk.settle()
        assert process.memory.calls()["write_note"] == 2
        assert len(talk.events(MemoryLost)) == 1
        assert not talk.state.pending


async def test_a_server_that_dies_in_a_write_is_replaced_to_ask_what_became_of_it(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        process.memory.faults(write_note=["store", "exit"])
        await talk.turn("light the lamp")
        await until(lambda: talk.state.checkpoint, "a settled write")
        assert talk.state.checkpoint is not None
        assert talk.state.checkpoint.evidence == "read"
        assert process.memory.calls()["write_note"] == 1


async def test_what_is_wanted_while_a_dead_server_rests_is_started_after_it(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        await process.open()
        await crash(process)
        process.link.want()
        await until(lambda: process.link.connection is not None, "another server")
        assert process.memory.calls()["initialize"] == 2


async def test_a_call_does_not_wait_out_the_rest(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        await process.open()
        await crash(process)
        started = anyio.current_time()
        assert await process.link.up(BOUND) is not None
        assert anyio.current_time() - started < shell.REST_SECONDS[0]


async def test_a_server_that_never_greets_costs_its_bound_and_no_more(tmp_path: Path) -> None:
    async with rig(tmp_path, timeout_seconds=1.0) as process:
        process.memory.faults(initialize="hang")
        talk = process.session(Conversation())
        await talk.session.start("startup")
        started = anyio.current_time()
        assert await process.link.up(0.3) is None
        assert anyio.current_time() - started < 1.0
        await until(lambda: process.link.status == "down", "its end")
        assert process.link.error == "timeout"


async def test_a_failed_start_is_said_once_with_a_remedy_and_tried_again_for_the_next_call(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        process.memory.faults(initialize="exit")
        talk = process.session(Conversation())
        await talk.session.start("startup")
        assert await process.link.up(BOUND) is None
        assert await process.link.up(BOUND) is None
        await talk.turn("hello")
        await talk.settle()
        (said,) = [text for text in process.voice.on("link") if "unavailable" in text]
        assert "run its command in a terminal" in said
        process.memory.faults()
        assert await process.link.up(BOUND) is not None
        await talk.settle()
        assert process.memory.calls()["write_note"] == 1


async def test_what_is_owed_asks_again_for_a_server_that_would_not_start(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        process.memory.faults(initialize="exit")
        talk = process.session(Conversation())
        await talk.session.start("startup")
        await talk.turn("hello")
        await until(lambda: process.link.status == "down", "a failure")
        process.memory.faults()
        await until(lambda: talk.state.checkpoint, "a save that nobody asked for again")
        assert sum("unavailable" in text for text in process.voice.on("link")) == 1


async def test_a_server_that_leaves_one_call_after_another_unanswered_is_replaced(tmp_path: Path) -> None:
    async with rig(tmp_path, timeout_seconds=2.0) as process:
        talk = await process.open()
        await talk.saved("one")
        stuck = process.link.connection
        process.memory.faults(write_note=["store", "silent"], read_note=["silent"])
        await talk.turn("two")
        await until(lambda: process.link.connection is not stuck, "the end of the stuck server")
        process.memory.faults()

        def settled() -> bool:
            process.clock.advance(PROBE_SPACING_MS[1])
            talk.session.runner.wake()
            return not talk.state.captures

        await until(settled, "a settled write")
        assert process.memory.calls()["write_note"] == 2
        assert process.link.connection is not stuck


async def test_a_refused_command_starts_nothing_and_answers_at_once(tmp_path: Path) -> None:
    link = MemoryLink(CommandRefused("bm", "not-found"), 30, nowhere)
    async with anyio.create_task_group() as group:
        group.start_soon(link.run)
        with anyio.fail_after(2):
            assert await link.up(BOUND) is None
            assert await link.up(BOUND) is None
        assert (link.status, link.error) == ("down", "not-found")
        group.cancel_scope.cancel()


async def test_a_retired_link_takes_its_server_with_it(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        await process.open()
        connection = process.link.connection
        assert connection is not None
        process.link.retire()
        await until(lambda: group_state(connection.process) == "gone", "the server's end")
        assert process.link.connection is None
        assert process.link.status != "up"


async def test_the_inventory_of_each_connect_is_kept_unless_it_is_the_same(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        await process.open()
        await crash(process)
        await process.link.up(BOUND)
        assert len(process.inventories) == 1
        process.memory.faults(tools={"pages": [[{"name": "new", "inputSchema": {"type": "object"}}]]})
        await crash(process)
        await process.link.up(BOUND)
        assert [tool.name for tool in process.inventories[1].tools] == ["new"]
