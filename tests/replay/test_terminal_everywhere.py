"""Whatever any field of any event holds, no command acts on a terminal, and what is printed as JSON has all of it."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from journal import codec
from journal.chain import body_digest
from journal.errors import EventDamaged, UnknownEvent
from journal.events import Event
from journal.ids import EntryId, JournalId, SessionId
from journal.reader import open_reader
from journal.row import Header
from tests.fakes.journals import Recording
from tests.fakes.terminal import Terminal
from tests.journal.samples import SAMPLES
from tests.replay.kit import Ran, run

HOSTILE = "\x1b[2J\x1b]0;t\x07\x1b]52;c;YQ==\x07\x08\rspoof\x9b31m\x7f\u202e\u2066\u200b\u2028\x85\ttab\nline é ✓"
"""Clears, titles, fills the clipboard, rings, goes back, overwrites, colours and turns about."""
BODY = body_digest(HOSTILE)
HEADER = Header(
    format=1, journal_id=JournalId("ab" * 16), session_id=SessionId(HOSTILE.replace("\n", "")), root=EntryId(HOSTILE)
)

type Json = bool | int | float | str | list[Json] | dict[str, Json] | None


def spoiled(event: Event) -> tuple[Event, int]:
    """The event with `HOSTILE` in every field that takes it, digests of a text becoming its; and how many took it."""
    tag, payload = codec.encode(event)
    whole = cast("dict[str, Json]", json.loads(payload))
    took = 0
    for place in list(places(whole)):
        value = held(whole, place)
        wanted = BODY if len(str(value)) == len(BODY) else HOSTILE
        put(whole, place, wanted)
        if (accepted(tag, whole)) is None:
            put(whole, place, value)
        elif wanted == HOSTILE:
            took += 1
    made = accepted(tag, whole)
    assert made is not None
    return made, took


def accepted(tag: str, whole: Json) -> Event | None:
    try:
        return codec.decode(tag, json.dumps(whole, ensure_ascii=False))
    except (EventDamaged, UnknownEvent):
        return None


def places(value: Json, at: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Yield where strings stand in `value`."""
    if isinstance(value, str):
        yield at
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from places(inner, (*at, name))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from places(inner, (*at, number))


def held(whole: Json, place: tuple[str | int, ...]) -> Json:
    for step in place:
        whole = cast("dict[str | int, Json]", whole)[step]
    return whole


def put(whole: Json, place: tuple[str | int, ...], value: Json) -> None:
    *way, last = place
    cast("dict[str | int, Json]", held(whole, tuple(way)))[last] = value


# -- the journal ---------------------------------------------------------------------

SPOILED = [spoiled(event) for event in SAMPLES]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    story = Recording(HEADER)
    for event, _ in SPOILED:
        story.append(event, tip=HOSTILE, bodies=(HOSTILE,))
    return story.write(tmp_path_factory.mktemp("spoiled") / "a\x1b[2J.journal")


def dangerous(text: str) -> set[str]:
    bad = {"Cc", "Cf", "Cs", "Zl", "Zp"}
    return {char for char in text if unicodedata.category(char) in bad and char not in "\n\t"}


def harmless(ran: Ran) -> bool:
    return dangerous(ran.out + ran.err) == set() and ran.code in (0, 1)


def references(path: Path) -> list[str]:
    with open_reader(path) as reader:
        return [f"{row.branch}@{row.position}" for row in reader.rows()]


def test_the_text_is_in_every_kind_of_field_there_is() -> None:
    assert len(HOSTILE) <= 80
    assert sum(took for _, took in SPOILED) > 60


@pytest.mark.parametrize("options", [(), ("--json",)], ids=["text", "json"])
@pytest.mark.parametrize("command", ["log", "state", "branches", "unproven", "audit", "rescan"])
def test_no_command_on_a_journal_acts_on_a_terminal(path: Path, command: str, options: tuple[str, ...]) -> None:
    assert harmless(run(command, path, *options))


@pytest.mark.parametrize("options", [(), ("--json",)], ids=["text", "json"])
def test_no_row_that_is_shown_or_explained_acts_on_a_terminal(path: Path, options: tuple[str, ...]) -> None:
    for reference in references(path):
        assert harmless(run("show", path, reference, *options)), reference
        assert harmless(run("why", reference, "--in", path, *options)), reference


@pytest.mark.parametrize("options", [(), ("--json",)], ids=["text", "json"])
def test_no_brief_that_is_explained_acts_on_a_terminal(path: Path, options: tuple[str, ...]) -> None:
    assert harmless(run("why", "--brief", HEADER.session_id, "--in", path, *options))


def test_no_state_of_any_row_acts_on_a_terminal(path: Path) -> None:
    for position in range(1, len(SPOILED) + 1):
        assert harmless(run("state", path, "--at", str(position)))


def test_what_is_shown_as_json_has_every_character(path: Path) -> None:
    lines = run("log", path, "--json").lines
    assert [line["tip"] for line in lines] == [HOSTILE] * len(SPOILED)
    for line, (event, _) in zip(lines, SPOILED, strict=True):
        written = json.loads(codec.encode(event)[1])
        assert {**line["data"], "type": line["type"]} == {**written, "type": line["type"]}


def test_a_text_that_is_kept_is_shown_whole_as_json(path: Path) -> None:
    shown = [run("show", path, reference, "--json").json for reference in references(path)]
    kept = {text for one in shown for text in strings(one["bodies"])}
    assert HOSTILE in kept


def strings(value: Json) -> Iterator[str]:
    """Yield every string in `value`."""
    return (str(held(value, place)) for place in places(value))


def test_an_export_comes_back_byte_for_byte_and_is_one_record_a_line(path: Path, tmp_path: Path) -> None:
    exported = tmp_path / "a.jsonl"
    assert run("export", path, "--bodies", "-o", exported).code == 0
    made = run("import", exported, "-o", tmp_path / "b.journal")
    assert harmless(made)
    assert run("export", tmp_path / "b.journal", "--bodies").out.encode() == exported.read_bytes()
    assert all(json.loads(line) for line in exported.read_bytes().split(b"\n") if line)


@pytest.mark.parametrize("command", [("log",), ("show", "1@20"), ("state",), ("unproven",), ("audit",), ("rescan",)])
def test_a_real_terminal_gets_words_alone(path: Path, command: tuple[str, ...]) -> None:
    name, *rest = command
    env = {"PATH": "/usr/bin:/bin", "NO_COLOR": "1", "PYTHONUTF8": "1"}
    with Terminal(name, str(path), *rest, env=env, cwd=path.parent) as terminal:
        assert terminal.ended() in (0, 1)
        assert dangerous(terminal.shown.replace("\r\n", "\n")) == set()
