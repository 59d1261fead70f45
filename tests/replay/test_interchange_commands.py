"""`export` and `import` are inverse byte for byte, and neither overwrites or half-makes anything."""

import os
import stat
from pathlib import Path

import pytest

from tests.fakes.permissions import permissions_bind
from tests.journal import kit as forging
from tests.replay import stories
from tests.replay.kit import run


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return stories.forked().write(tmp_path / "a.journal")


@pytest.mark.parametrize("options", [(), ("--bodies",)])
def test_what_is_imported_exports_as_the_same_bytes(path: Path, tmp_path: Path, options: tuple[str, ...]) -> None:
    text, copy = tmp_path / "a.jsonl", tmp_path / "b.journal"
    assert run("export", path, "-o", text, *options) == (0, "", "")
    assert run("import", text, "-o", copy).code == 0
    assert run("export", copy, *options).out.encode() == text.read_bytes()


def test_an_export_is_its_owners_alone_to_read(path: Path, tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        run("export", path, "-o", tmp_path / "a.jsonl")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a.jsonl").stat().st_mode) == 0o600


def test_bodies_are_exported_only_when_asked_for(path: Path) -> None:
    assert "ship it" not in run("export", path).out
    assert "ship it" in run("export", path, "--bodies").out


def test_text_comes_from_stdin_too(path: Path, tmp_path: Path) -> None:
    text = run("export", path).out.encode()
    assert run("import", "-", "-o", tmp_path / "b.journal", input=text).code == 0
    assert run("export", tmp_path / "b.journal").out.encode() == text


def test_an_edited_text_is_refused_with_its_place_and_makes_nothing(path: Path, tmp_path: Path) -> None:
    lines = run("export", path).out.encode().splitlines(keepends=True)
    lines[5] = lines[5].replace(b'"at_ms":1', b'"at_ms":2')
    (tmp_path / "a.jsonl").write_bytes(b"".join(lines))
    ran = run("import", tmp_path / "a.jsonl", "-o", tmp_path / "b.journal")
    assert (ran.code, ran.out) == (3, "")
    assert f"record 6 at byte {sum(map(len, lines[:5]))}: " in ran.err
    assert not (tmp_path / "b.journal").exists()


def test_neither_overwrites_a_file(path: Path, tmp_path: Path) -> None:
    text = tmp_path / "a.jsonl"
    run("export", path, "-o", text)
    before = path.read_bytes(), text.read_bytes()
    assert run("export", path, "-o", text).code == 2
    assert run("import", text, "-o", path).code == 2
    assert (path.read_bytes(), text.read_bytes()) == before


def test_a_journal_that_is_not_text_leaves_no_half_export(path: Path, tmp_path: Path) -> None:
    with forging.raw(path) as connection:
        forging.without_guards(connection)
        connection.execute("UPDATE events SET payload = CAST(x'ff' AS TEXT) WHERE position = 3")
    assert run("export", path, "-o", tmp_path / "a.jsonl").code == 3
    assert not (tmp_path / "a.jsonl").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ("export", "none.journal"),
        ("import", "none.jsonl", "-o", "b"),
        ("import", ".", "-o", "b"),
        ("export", "a.journal", "-o", "no/no"),
    ],
)
def test_what_is_not_there_is_unreadable(
    path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    monkeypatch.chdir(path.parent)
    ran = run(*arguments)
    assert (ran.code, ran.out) == (3, "")
    assert "hint: " in ran.err


@pytest.mark.parametrize("command", ["export", "import"])
def test_a_folder_that_is_missing_is_not_made(path: Path, tmp_path: Path, command: str) -> None:
    text = tmp_path / "a.jsonl"
    run("export", path, "-o", text)
    ran = run(command, path if command == "export" else text, "-o", tmp_path / "no" / "b")
    assert (ran.code, ran.out) == (3, "")
    assert ran.err.startswith(f"error: {tmp_path / 'no'} is no folder\nhint: make it first")
    assert not (tmp_path / "no").exists()


def test_a_journal_is_not_imported_and_is_called_what_it_is(path: Path, tmp_path: Path) -> None:
    ran = run("import", path, "-o", tmp_path / "b.journal")
    assert ran.code == 3
    assert "this is an SQLite file, as journals are" in ran.err
    assert "a journal itself needs no import" in ran.err


def test_a_folder_that_refuses_is_said_without_names_of_ours(path: Path, tmp_path: Path) -> None:
    text = tmp_path / "a.jsonl"
    run("export", path, "-o", text)
    (tmp_path / "shut").mkdir(mode=0o500)
    with permissions_bind():
        for ran in (
            run("import", text, "-o", tmp_path / "shut" / "b"),
            run("export", path, "-o", tmp_path / "shut" / "b"),
        ):
            assert ran.code == 3
            assert ran.err.startswith(f"error: {tmp_path / 'shut' / 'b'}: Permission denied\nhint: ")
            assert (".new" in ran.err, "Errno" in ran.err) == (False, False)


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="this system has no file that fails when it is read")
def test_a_text_that_fails_while_it_is_read_is_unreadable(tmp_path: Path) -> None:
    ran = run("import", "/proc/self/mem", "-o", tmp_path / "b")
    assert (ran.code, ran.err.splitlines()[0]) == (3, "error: /proc/self/mem: Input/output error")
