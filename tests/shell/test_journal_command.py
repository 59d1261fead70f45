"""`/bm-journal` tells a branch's newest rows in the words of `continuity log`. No model, and no server, is asked."""

from __future__ import annotations

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from continuity.tau.journal_command import MOST_ROWS, USAGE, timeline
from journal.events import RecallFailed
from journal.reader import open_reader
from tests.fakes.host import Conversation
from tests.journal import kit
from tests.replay.kit import run
from tests.shell.rig import Rig, Talk, rig, until, unwritable

DAY = 86_400_000


async def told(process: Rig, talk: Talk, words: str = "") -> list[str]:
    return (await process.told(lambda: timeline(talk.session, process.owner, words))).splitlines()


def rows(page: list[str]) -> list[str]:
    """The lines that stand for a row, by their place."""
    return [line.split()[0] for line in page if "@" in line.split()[0]]


async def forked(process: Rig) -> Talk:
    talk = await process.open()
    kept = await talk.saved("one")
    await talk.saved("a wrong turn")
    talk.conversation.go_to(kept)
    await talk.prompt("a better turn")
    return talk


async def test_the_newest_rows_come_first_and_the_oldest_last(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        await talk.saved("one")
        page, head = await told(process, talk), talk.state.position
        assert rows(page) == [f"1@{position}" for position in range(head, head - 20, -1)][: len(rows(page))]
        assert page[0] == f"Journal of this session: rows {head} to {max(1, head - 19)}, newest first (UTC)"
        assert page[-1] == f"All of it: continuity log {talk.path} --branch 1"


async def test_a_row_is_told_in_the_words_of_the_command_line(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        await talk.saved("one")
        here = [line.split(maxsplit=2) for line in await told(process, talk, "200") if "@" in line.split()[0]]
        there = [line.split(maxsplit=5) for line in run("log", talk.path).out.splitlines()]
        words = {cells[0]: f"{cells[4]}: {cells[5]}" for cells in there if "@" in cells[0]}
        assert {place: text for place, _, text in here} == words


async def test_a_few_are_shown_if_so_many_are_asked_for_and_never_more_than_the_most(tmp_path: Path) -> None:
    async with rig(tmp_path, project=None) as process:
        talk = await process.open()
        await talk.turn("one")
        await talk.session.desk.note(*(RecallFailed(name="tasks", error="timeout") for _ in range(MOST_ROWS)))
        assert len(rows(await told(process, talk, "3"))) == 3
        assert len(rows(await told(process, talk))) == 20
        assert len(rows(await told(process, talk, "999999"))) == MOST_ROWS


async def test_what_came_before_is_shown_by_what_the_page_says(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        await talk.saved("one")
        first = await told(process, talk, "3")
        assert first[-2].startswith("What came before: /bm-journal 1@")
        second = await told(process, talk, f"3 {first[-2].split()[-1]}")
        last, following = (int(place.split("@")[1]) for place in (rows(first)[-1], rows(second)[0]))
        assert following == last - 1


async def test_a_fork_is_shown_where_it_left_and_its_own_rows_go_on_from_there(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await forked(process)
        with open_reader(talk.path) as reader:
            left = reader.branches[1].fork_position
        page = await told(process, talk)
        assert page[0].startswith("Journal, branch 2 of 2: ")
        at = next(number for number, line in enumerate(page) if line.endswith("branch 2 leaves here"))
        assert page[at + 1].split()[0] == f"1@{left}"
        assert page[at - 1].split()[0] == f"2@{left + 1}"
        assert rows(await told(process, talk, "1@"))[0].startswith("1@")


async def test_the_day_stands_above_the_rows_recorded_on_it(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    async with rig(tmp_path, project=None, cwd=Path("/lighthouse")) as process:
        talk = await process.open()
        await talk.turn("one")
        process.clock.advance(DAY)
        await talk.turn("two")
        assert [line for line in await told(process, talk) if not line.startswith("All of it")] == snapshot


@pytest.mark.parametrize("words", ["the foghorn", "-3", "0", "3 4", "1@2@3", "@4"])
async def test_what_names_no_part_of_a_journal_is_refused(tmp_path: Path, words: str) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        await talk.turn("one")
        assert timeline(talk.session, process.owner, words) == f"{words!r} names no part of a journal: {USAGE}."


@pytest.mark.parametrize("words", ["1@9999", "7@", "1@0"])
async def test_a_row_that_is_not_there_is_answered_with_the_branches_that_are(tmp_path: Path, words: str) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        await talk.turn("one")
        answer = timeline(talk.session, process.owner, words)
        assert answer == f"This session's journal has no row {words}. Its branches: 1."


async def test_while_nothing_can_be_recorded_it_is_shown_all_the_same(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        await talk.saved("one")
        ledger = talk.session.desk.ledger
        assert ledger is not None
        async with unwritable(ledger.journal):
            assert rows(await told(process, talk))


async def test_while_the_journal_is_being_opened_it_follows(tmp_path: Path) -> None:
    conversation = Conversation()
    async with rig(tmp_path) as process:
        await (await process.open(conversation)).turn("one")
    async with rig(tmp_path) as process:
        talk = process.session(conversation)
        assert timeline(talk.session, process.owner, "5") is None
        await talk.session.start("startup")
        await until(lambda: process.voice.answers, "the answer")
        assert len(rows(process.voice.answers[0].splitlines())) == 5


async def test_without_a_journal_it_says_why(tmp_path: Path) -> None:
    conversation = Conversation()
    async with rig(tmp_path) as process:
        assert timeline(None, process.owner, "") == "This session has no file, so it has no journal."
        talk = await process.open(conversation)
        before = "Nothing was recorded yet: this session's journal begins with the first prompt."
        assert timeline(talk.session, process.owner, "") == before
        await talk.turn("hello")
        async with rig(tmp_path) as second:
            other = await second.open(conversation)
            answer = timeline(other.session, second.owner, "") or ""
            assert answer.startswith("What was recorded cannot be told: ")


async def test_a_row_that_is_not_what_its_digest_says_is_told_of_above_all(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        await talk.saved("one")
        with kit.raw(talk.path) as database:
            kit.without_guards(database)
            database.execute("UPDATE events SET at_ms = at_ms + 1 WHERE position = 3")
        page = await told(process, talk)
        assert page[1].startswith("Damaged: row 3 does not verify, so nothing from there on is proven")
