"""The same words are one note a session, unless of the one before it is known that it is not stored, and it was let go."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest

from continuity.commands import RecordProbe, Resolve
from continuity.shell import noting
from continuity.shell.noting import Kept, Known
from journal.events import CaptureProbed, WriteIntended
from journal.events.writes import Decision
from journal.ids import CaptureId, Sha256
from journal.row import FIRST_BRANCH
from tests.facts import NOWHERE
from tests.fakes.host import Conversation
from tests.shell.calls import began
from tests.shell.rig import Rig, Talk, rig
from tests.shell.test_noting import DEAF, LAMP, NEVER, kept, sent

REFUSED: dict[str, Any] = {"write_note": [{"code": "PROJECT_CONSTRAINED"}]}
LOST_ANSWER: dict[str, Any] = {"write_note": ["rpc-error"], **DEAF}


async def again(talk: Talk) -> Kept | Known:
    return await noting.keep(talk.session.desk, LAMP, reason="command")


async def sent_into(process: Rig, talk: Talk, faults: dict[str, Any]) -> CaptureId:
    """Keep the words and send them to a server with these faults, which has none afterwards."""
    process.memory.faults(**faults)
    identity = await kept(talk)
    await talk.settle()
    process.memory.faults()
    return identity


async def resolved(talk: Talk, identity: CaptureId, decision: Decision = "abandon") -> None:
    command = Resolve(capture_id=identity, decision=decision, reason_sha256=Sha256("0" * 64))
    await talk.session.desk.apply(command, branch=FIRST_BRANCH)


async def proven_absent(talk: Talk, identity: CaptureId, status: str) -> None:
    """It was looked for everywhere, and the server it was sent through has ended."""
    connection = talk.session.desk.link.connection
    assert connection is not None
    command = RecordProbe(
        capture_id=identity,
        attempt=1,
        status=status,
        connection=connection.id,
        observations=NOWHERE,
        writing_server="gone",
        project_source="local",
        index_proven=True,
    )
    await talk.session.desk.apply(command)
    assert talk.events(CaptureProbed)[-1].verdict == "absent_final"


async def test_words_that_were_refused_and_let_go_of_are_kept_again_also_after_a_restart(tmp_path: Path) -> None:
    conversation = Conversation()
    async with rig(tmp_path, **NEVER) as process:
        talk = await began(process, conversation)
        await resolved(talk, await sent_into(process, talk, REFUSED))
        await resolved(talk, await sent_into(process, talk, REFUSED))
        await process.kill()
    async with rig(tmp_path, **NEVER) as process:
        talk = await process.open(conversation)
        await kept(talk)
        await talk.settle()
        assert await again(talk) == "stored"
        assert len(process.memory.notes) == 1
        assert len({intent.capture_id for intent in talk.events(WriteIntended)}) == len(sent(process)) == 3


async def test_words_said_twice_at_once_are_kept_once(tmp_path: Path) -> None:
    came: list[Kept | Known] = []

    async def keep(talk: Talk) -> None:
        came.append(await again(talk))

    async with rig(tmp_path, **NEVER) as process:
        talk = await began(process)
        async with anyio.create_task_group() as group:
            for _ in range(2):
                group.start_soon(keep, talk)
        await talk.settle()
        assert [isinstance(each, Kept) or each for each in came] == [True, "open"]
        assert len(sent(process)) == 1


async def test_words_that_were_refused_are_the_person_s_to_settle_first(tmp_path: Path) -> None:
    async with rig(tmp_path, **NEVER) as process:
        talk = await began(process)
        await sent_into(process, talk, REFUSED)
        assert await again(talk) == "unsettled"
        assert len(sent(process)) == 1


async def test_words_given_up_in_doubt_may_be_stored_and_are_not_kept_again(tmp_path: Path) -> None:
    async with rig(tmp_path, **NEVER) as process:
        talk = await began(process)
        identity = await sent_into(process, talk, LOST_ANSWER)
        assert await again(talk) == "unsettled"
        await resolved(talk, identity)
        assert await again(talk) == "doubted"
        assert len(sent(process)) == 1


async def test_words_proven_lost_and_let_go_of_are_kept_again(tmp_path: Path) -> None:
    async with rig(tmp_path, **NEVER) as process:
        talk = await began(process)
        identity = await sent_into(process, talk, LOST_ANSWER)
        await proven_absent(talk, identity, "in_doubt")
        assert await again(talk) == "unsettled"
        await resolved(talk, identity)
        assert isinstance(await again(talk), Kept)


async def test_words_whose_note_is_proven_gone_are_kept_again(tmp_path: Path) -> None:
    async with rig(tmp_path, **NEVER) as process:
        talk = await began(process)
        identity = await sent_into(process, talk, {})
        assert await again(talk) == "stored"
        await proven_absent(talk, identity, "confirmed")
        assert isinstance(await again(talk), Kept)


async def test_words_to_be_sent_again_by_a_decision_and_then_let_go_of_are_kept_again(tmp_path: Path) -> None:
    async with rig(tmp_path, **NEVER) as process:
        talk = await began(process)
        identity = await sent_into(process, talk, REFUSED)
        await resolved(talk, identity, "rewrite")
        assert await again(talk) == "open"
        await resolved(talk, identity)
        assert isinstance(await again(talk), Kept)


@pytest.mark.parametrize(("faults", "known"), [(REFUSED, None), (LOST_ANSWER, "doubted")], ids=["refused", "in doubt"])
async def test_what_a_branch_began_is_its_own_to_end_whatever_is_forked_from_it(
    tmp_path: Path, faults: dict[str, Any], known: Known | None
) -> None:
    conversation = Conversation()
    async with rig(tmp_path, **NEVER) as process:
        talk = await process.open(conversation)
        await talk.turn("one")
        shared = conversation.tip
        await talk.turn("two")
        identity = await sent_into(process, talk, faults)
        conversation.go_to(shared)
        await talk.turn("three")
        assert (talk.state.branch, await again(talk)) == (2, "unsettled")
        await resolved(talk, identity)
        came = await again(talk)
        assert (None if isinstance(came, Kept) else came) == known
