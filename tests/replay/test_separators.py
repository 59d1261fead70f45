"""Only a line feed ends a record: what else divides lines for some programs goes through export, import and a session whole.

And where a record is damaged, its number and its first byte are told, counted by line feeds alone.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from journal.reader import open_reader
from replay.session import mirrored
from tests.facts import SAVED, answered
from tests.fakes.journals import Recording
from tests.replay import stories
from tests.replay.kit import run
from tests.replay.test_audit import mirror

SEPARATORS = {"U+2028": "\u2028", "U+2029": "\u2029", "U+0085": "\x85", "CR": "\r", "VT": "\x0b", "CRLF": "\r\n"}

named = pytest.mark.parametrize("separator", SEPARATORS.values(), ids=SEPARATORS)


def story(separator: str) -> Recording:
    """A saved session with the separator in a body, in the path of its note, and in a tip."""
    told = replace(answered(), file_path=f"tau/one{separator}two.md")
    bodies = (f"## Objective{separator}keep{separator}{separator}it", separator)
    return Recording().append(*SAVED[:6], told, tip=f"a{separator}b", bodies=bodies)


@named
def test_bodies_and_paths_go_through_export_and_import_to_the_byte(tmp_path: Path, separator: str) -> None:
    path = story(separator).write(tmp_path / "a.journal")
    text, copy = tmp_path / f"a{separator}b.jsonl", tmp_path / f"c{separator}d.journal"
    assert run("export", path, "--bodies", "-o", text).code == 0
    assert run("import", text, "-o", copy).code == 0
    assert run("import", "-", "-o", tmp_path / "piped.journal", input=text.read_bytes()).code == 0
    for again in (copy, tmp_path / "piped.journal"):
        assert run("export", again, "--bodies").out.encode() == text.read_bytes()
        with open_reader(path) as one, open_reader(again) as other:
            assert list(one.rows()) == list(other.rows())
            assert dict(one.bodies()) == dict(other.bodies())
            assert any(separator in body for body in dict(other.bodies()).values())
            assert any(row.tip == f"a{separator}b" for row in other.rows())
    assert run("state", copy, "--json").json["checkpoint"]["file_path"] == f"tau/one{separator}two.md"


@named
def test_a_damaged_record_is_told_by_its_number_and_its_first_byte(tmp_path: Path, separator: str) -> None:
    path = story(separator).write(tmp_path / "a.journal")
    lines = run("export", path, "--bodies").out.encode().split(b"\n")
    for number in (3, len(lines) - 3):
        damaged = [*lines[:number], lines[number][:-9], *lines[number + 1 :]]
        (tmp_path / "a.jsonl").write_bytes(b"\n".join(damaged))
        ran = run("import", tmp_path / "a.jsonl", "-o", tmp_path / "b.journal")
        offset = sum(len(line) + 1 for line in lines[:number])
        assert ran.code == 3
        assert f"record {number + 1} at byte {offset}: " in ran.err
        assert not (tmp_path / "b.journal").exists()


def session(path: Path, separator: str, *lines: bytes) -> Path:
    """A Tau session whose messages hold the separator, unescaped, then a receipt, then `lines`."""
    message = {"type": "message", "id": "aa00", "message": {"role": "user", "content": f"one{separator}two"}}
    data = mirror(stories.forked().at(1, 12)) | {"file_path": f"tau/one{separator}two.md"}
    receipt = {"type": "custom", "id": "cc00", "namespace": "basic-memory.continuity.v1", "data": data}
    # json spells control characters out, as Tau does; the others stand in the file as they are.
    entries = [json.dumps(entry, ensure_ascii=False).encode() for entry in (message, receipt)]
    path.write_bytes(b"".join(line + b"\n" for line in (*entries, *lines)))
    return path


@named
def test_a_session_with_them_in_its_messages_is_read_to_its_last_receipt(tmp_path: Path, separator: str) -> None:
    found = mirrored(session(tmp_path / "s.jsonl", separator))
    assert [receipt.file_path for receipt in found.receipts] == [f"tau/one{separator}two.md"]
    assert (found.unreadable, found.damaged) == (0, ())


def test_a_line_of_a_session_that_is_no_entry_is_told_by_its_number_and_its_first_byte(tmp_path: Path) -> None:
    path = stories.forked().write(tmp_path / "a.journal")
    whole = session(tmp_path / "whole.jsonl", "\u2028")
    torn = session(tmp_path / "torn.jsonl", "\u2028", b'{"type": "custom", half', b'{"type":"label","id":"l"}', b"\0\0")
    told = f"2 lines of the session are no entries, the first: record 3 at byte {whole.stat().st_size}; "
    assert told in run("audit", path, "--session", torn).out
    assert "no entr" not in run("audit", path, "--session", whole).out
    with whole.open("ab") as file:
        file.write(b'{"type": "custom", being wri')
    assert "no entr" not in run("audit", path, "--session", whole).out
