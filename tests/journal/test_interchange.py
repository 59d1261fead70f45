"""An export carries a journal byte for byte; an import takes exactly that and says where anything else went wrong."""

from collections.abc import Callable, Iterable
from hashlib import sha256
from pathlib import Path

import anyio
import msgspec
import pytest

from journal import chain
from journal.errors import ImportRefused, JournalDamaged, JournalExists, NotAnExport
from journal.ids import EntryId
from journal.interchange import export_lines, import_lines
from journal.reader import open_reader
from journal.row import RawRow
from journal.store import Journal
from tests import facts
from tests.journal import kit
from tests.journal.kit import BODY, HEADER, MAIN, OTHER_BODY, record, settled

SEPARATORS = "U+2028 \u2028 U+2029 \u2029 U+0085 \x85 CR \r VT \x0b FF \x0c"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    anyio.run(kit.write_all_kinds, tmp_path / "a.journal")
    return tmp_path / "a.journal"


def exported(path: Path, *, bodies: bool = False) -> list[bytes]:
    with open_reader(path) as reader:
        return list(export_lines(reader, bodies=bodies))


def everything(path: Path) -> tuple[object, ...]:
    with open_reader(path) as reader:
        rows: list[RawRow] = list(reader.rows())
        return reader.header, reader.branches, rows, reader.submissions(), list(reader.bodies())


def test_an_export_imported_and_exported_is_the_same_bytes(path: Path) -> None:
    copy = path.with_name("copy.journal")
    lines = exported(path, bodies=True)
    assert import_lines(lines, copy) == 12
    assert exported(copy, bodies=True) == lines
    assert everything(copy) == everything(path)
    assert kit.found(copy) == []


def test_texts_are_exported_only_when_asked_for(path: Path) -> None:
    with_bodies, without = exported(path, bodies=True), exported(path)
    assert b"what was decided" not in b"".join(without)
    kinds = [msgspec.json.decode(line, type=dict[str, object])["record"] for line in with_bodies]
    assert kinds.count("body") == 2
    assert len(without) == len(with_bodies) - 2


def test_an_export_without_texts_is_itself_carried_byte_for_byte(path: Path) -> None:
    import_lines(exported(path), path.with_name("copy.journal"))
    assert exported(path.with_name("copy.journal"), bodies=True) == exported(path)


def test_lines_come_in_the_order_of_recording_each_branch_before_its_first_event(path: Path) -> None:
    kinds = [msgspec.json.decode(line, type=dict[str, object])["record"] for line in exported(path)]
    assert kinds == [
        *("header", "branch", *["event"] * 6),
        *("branch", *["event"] * 3, "branch", *["event"] * 2, "branch", "event"),
        "end",
    ]


def test_an_empty_journal_is_carried_too(tmp_path: Path) -> None:
    anyio.run(kit.write, tmp_path / "a.journal")
    assert import_lines(exported(tmp_path / "a.journal"), tmp_path / "b.journal") == 0
    assert exported(tmp_path / "b.journal") == exported(tmp_path / "a.journal")


async def test_only_a_newline_ends_a_line(tmp_path: Path) -> None:
    async with await Journal.create(tmp_path / "a.journal", HEADER) as journal:
        event = facts.intended(tip=EntryId(SEPARATORS))
        await journal.append(MAIN, [record(event, tip=SEPARATORS)], expected=0, bodies=kit.kept(SEPARATORS))
    (tmp_path / "lines").write_bytes(b"".join(exported(tmp_path / "a.journal", bodies=True)))
    with (tmp_path / "lines").open("rb") as lines:
        import_lines(lines, tmp_path / "b.journal")
    assert everything(tmp_path / "b.journal") == everything(tmp_path / "a.journal")


async def test_an_imported_journal_can_be_written_on(path: Path) -> None:
    copy = path.with_name("copy.journal")
    import_lines(exported(path), copy)
    async with await Journal.open(copy) as journal:
        await journal.append(MAIN, settled(), expected=6)
        await journal.fork(MAIN, 7, settled())
    assert kit.found(copy) == []


def test_what_exists_is_never_overwritten(path: Path) -> None:
    before = path.read_bytes()
    with pytest.raises(JournalExists):
        import_lines(exported(path), path)
    assert path.read_bytes() == before


def test_an_event_of_a_later_version_is_carried(path: Path) -> None:
    with kit.raw(path) as connection:
        (previous,) = connection.execute("SELECT digest FROM events WHERE branch = 1 AND position = 6").fetchone()
        digest = chain.link(previous, (1, 7, 0, None, None, "telepathy.v1"), b"{}")
        sql = "INSERT INTO events (branch, position, at_ms, type, payload, digest) VALUES (1, 7, 0, 'telepathy.v1', '{}', ?)"
        connection.execute(sql, (digest,))
    import_lines(exported(path), path.with_name("copy.journal"))
    assert exported(path.with_name("copy.journal")) == exported(path)


def test_a_text_that_is_no_utf8_stops_an_export_where_it_stands(path: Path) -> None:
    with kit.raw(path) as connection:
        kit.without_guards(connection)
        connection.execute("UPDATE events SET payload = CAST(x'7bff7d' AS TEXT) WHERE id = 2")
    with open_reader(path) as reader:
        lines = export_lines(reader)
        assert [next(lines)[:12] for _ in range(3)] == [b'{"format":1,', b'{"branch":1,', b'{"at_ms":170']
        with pytest.raises(JournalDamaged):
            next(lines)


def dropped(*numbers: int) -> Callable[[list[bytes]], Iterable[bytes]]:
    return lambda lines: [line for number, line in enumerate(lines) if number not in numbers]


def replaced(number: int, old: bytes, new: bytes) -> Callable[[list[bytes]], Iterable[bytes]]:
    def edit(lines: list[bytes]) -> list[bytes]:
        assert old in lines[number]
        return [*lines[:number], lines[number].replace(old, new), *lines[number + 1 :]]

    return edit


def moved(source: int, target: int) -> Callable[[list[bytes]], Iterable[bytes]]:
    def edit(lines: list[bytes]) -> list[bytes]:
        rest = dropped(source)(lines)
        return [*list(rest)[:target], lines[source], *list(rest)[target:]]

    return edit


def counted(lines: Iterable[bytes], **counts: int) -> list[bytes]:
    return [*list(lines)[:-1], chain.canonical({"record": "end"} | counts) + b"\n"]


# With bodies the lines are: 0 header, 1 branch, 2-7 events, 8 branch, 9-11 events, 12 branch, 13-14 events,
# 15 branch, 16 event, 17-18 bodies, 19 end.
REFUSED: dict[str, tuple[Callable[[list[bytes]], Iterable[bytes]], int]] = {
    "nothing": (lambda _: [], 1),
    "no header": (dropped(0), 1),
    "a header of a later format": (replaced(0, b'"format":1', b'"format":2'), 1),
    "a header of another session": (replaced(0, b"session-1", b"session-2"), 2),
    "a second header": (lambda lines: [lines[0], *lines], 2),
    "no first branch": (dropped(1), 2),
    "only a header": (lambda lines: counted([lines[0], b""], branches=0, events=0, bodies=0), 2),
    "a missing event": (dropped(3), 4),
    "a missing last event": (dropped(16), 19),
    "an event twice": (lambda lines: [*lines[:3], *lines[2:]], 4),
    "swapped events": (moved(3, 4), 4),
    "a changed time": (replaced(4, b'"at_ms":1700', b'"at_ms":1701'), 5),
    "a changed tip": (replaced(4, b'"tip":"abc"', b'"tip":"abd"'), 5),
    "a changed payload": (replaced(4, b"cadence", b"Cadence"), 5),
    "a changed digest": (replaced(4, b'"digest":"', b'"digest":"0'), 5),
    "a digest in upper case": (lambda lines: [*lines[:4], lines[4].upper(), *lines[5:]], 5),
    "a cut file": (lambda lines: lines[:-1], 20),
    "a cut line": (lambda lines: [*lines[:5], lines[5][:-20]], 6),
    "a line without its end": (lambda lines: [*lines[:-1], lines[-1][:-1]], 20),
    "a line ended otherwise": (lambda lines: [line.replace(b"\n", b"\r\n") for line in lines], 1),
    "an empty line": (lambda lines: [*lines[:4], b"\n", *lines[4:]], 5),
    "another spelling": (replaced(4, b'"branch":1', b'"branch": 1'), 5),
    "an unknown field": (replaced(4, b'"at_ms"', b'"also":1,"at_ms"'), 5),
    "an unknown kind": (replaced(4, b'"record":"event"', b'"record":"evens"'), 5),
    "no utf-8": (replaced(4, b"cadence", b"\xff"), 5),
    "more after the end": (lambda lines: [*lines, lines[-1]], 20),
    "a branch too early": (moved(8, 7), 9),
    "a branch out of order": (moved(15, 12), 13),
    "a fork where nothing is": (replaced(8, b'"fork_position":3', b'"fork_position":9'), 9),
    "a branch of a later parent": (replaced(8, b'"parent":1', b'"parent":2'), 9),
    "a body changed": (replaced(17, b'"text":"', b'"text":"x'), 18),
    "bodies swapped": (moved(17, 18), 19),
    "a body before the events": (moved(17, 16), 18),
    "wrong counts": (replaced(19, b'"events":12', b'"events":13'), 20),
}


@pytest.mark.parametrize(("forge", "number"), REFUSED.values(), ids=REFUSED.keys())
def test_anything_else_is_refused_where_it_stands_and_no_file_is_made(
    path: Path, forge: Callable[[list[bytes]], Iterable[bytes]], number: int
) -> None:
    lines = list(forge(exported(path, bodies=True)))
    before = kit.snapshot(path.parent)
    with pytest.raises(ImportRefused) as caught:
        import_lines(lines, path.with_name("copy.journal"))
    assert (caught.value.record, caught.value.offset) == (number, len(b"".join(lines[: number - 1])))
    assert kit.snapshot(path.parent) == before


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (b"", "this is empty"),
        (b"SQLite format 3\x00\x10\x00", "this is an SQLite file, as journals are"),
        (b'{"branch":1,"position":1}\n', "this is no text that export wrote"),
        (b"\x89PNG\r\n", "this is no text that export wrote"),
    ],
    ids=["nothing", "a journal", "a log", "a picture"],
)
def test_another_kind_of_file_is_said_to_be_one(tmp_path: Path, other: bytes, said: str) -> None:
    with pytest.raises(NotAnExport, match=said):
        import_lines(other.splitlines(keepends=True), tmp_path / "a.journal")
    assert list(tmp_path.iterdir()) == []


def appended(lines: list[bytes], type_: str, payload: str) -> list[bytes]:
    """Continue branch 4 with a row whose digest is right."""
    last = msgspec.json.decode(lines[16], type=dict[str, object])
    meta = (4, 2, 0, None, None, type_)
    digest = sha256(bytes.fromhex(str(last["digest"])) + chain.canonical(meta) + b"\n" + payload.encode()).hexdigest()
    names = ("branch", "position", "at_ms", "tip", "cause", "type")
    line = dict(zip(names, meta, strict=True)) | {"record": "event", "payload": payload, "digest": digest}
    return [*lines[:17], chain.canonical(line) + b"\n", *lines[17:]]


@pytest.mark.parametrize(
    ("type_", "payload"),
    [("paused.v1", '{"type":"resumed.v1"}'), ("write-intended.v1", None), ("write-intended.v9", "{}")],
    ids=["a payload that is not its tag's", "a second submission", "an intent of nothing"],
)
def test_a_row_with_a_right_digest_and_a_wrong_meaning_is_refused(path: Path, type_: str, payload: str | None) -> None:
    lines = exported(path, bodies=True)
    intent = msgspec.json.decode(lines[6], type=dict[str, object])["payload"]
    with pytest.raises(ImportRefused) as caught:
        import_lines(appended(lines, type_, payload or str(intent)), path.with_name("copy.journal"))
    assert caught.value.record == 18
    assert [file.name for file in path.parent.iterdir()] == ["a.journal"]


def test_bodies_are_the_texts_themselves(path: Path) -> None:
    import_lines(exported(path, bodies=True), path.with_name("copy.journal"))
    with open_reader(path.with_name("copy.journal")) as reader:
        assert {text for _, text in reader.bodies()} == {BODY, OTHER_BODY}
