"""What a process writes is its owner's alone from the first byte on, whatever the umask; what is loose is tightened or told."""

import os
import stat
from collections.abc import Generator
from pathlib import Path

import pytest

from continuity.cli.doctor.checks import of_state
from continuity.cli.doctor.machine import state_folder
from continuity.cli.shim import Lead, install, plan
from continuity.memory.inventory import Inventory, InventoryCache, ListedTool
from continuity.tau.session_file import SessionFile
from journal import reader
from journal.ids import Sha256
from journal.reader import open_reader
from tests.fakes.host import Conversation
from tests.replay.kit import run
from tests.shell.rig import rig

KEY = Sha256("1" * 64)
INVENTORY = Inventory(server="s", version="1", tools=(ListedTool(name="a"),))


@pytest.fixture(params=[0o022, 0o000], ids=oct, autouse=True)
def umask(request: pytest.FixtureRequest) -> Generator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


def loose(folder: Path) -> list[str]:
    """Everything in `folder`, and it itself, that somebody else may read, write or enter."""
    found = [folder, *folder.rglob("*")]
    return [str(path) for path in found if stat.S_IMODE(path.lstat().st_mode) & 0o077]


async def saved(root: Path, conversation: Conversation | None = None) -> Path:
    """A session with a saved turn; returns its journal."""
    async with rig(root) as process:
        talk = await process.open(conversation)
        await talk.saved("one")
        return talk.path


async def test_everything_of_a_running_session_is_private(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        await talk.saved("one")
        InventoryCache(tmp_path / "state").save(KEY, INVENTORY)
        kinds = {path.suffix for path in (tmp_path / "state").rglob("*")}
        assert kinds >= {".journal", ".journal-wal", ".journal-shm", ".lock", ".json"}
        assert loose(tmp_path / "state") == []
    assert loose(tmp_path / "state") == []


def test_a_list_of_tools_makes_no_folder_that_others_may_enter(tmp_path: Path) -> None:
    InventoryCache(tmp_path / "tau" / "state" / "deep").save(KEY, INVENTORY)
    assert loose(tmp_path / "tau") == []


def test_the_extension_that_tau_runs_can_be_written_by_its_owner_alone(tmp_path: Path) -> None:
    install(plan(tmp_path / "tau" / "extensions" / "continuity" / "extension.py", Lead(tmp_path)))
    assert loose(tmp_path / "tau") == []


async def test_an_export_and_a_journal_made_from_it_are_private(tmp_path: Path) -> None:
    path = await saved(tmp_path)
    made = tmp_path / "made"
    made.mkdir(mode=0o700)
    assert run("export", path, "-o", made / "a.jsonl", "--bodies").code == 0
    assert run("import", made / "a.jsonl", "-o", made / "a.journal").code == 0
    assert run("audit", made / "a.journal").code == 0
    assert loose(made) == []


async def test_a_copy_made_to_be_read_is_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = await saved(tmp_path)
    path.with_name(path.name + "-wal").write_bytes(b"")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with reader._private_copy(path) as copy:  # pyright: ignore[reportPrivateUsage] # it lives for one reading only
        assert copy.is_relative_to(tmp_path)
        assert loose(copy.parent) == []


async def test_a_journal_that_others_could_read_is_tightened_by_its_next_writer(tmp_path: Path) -> None:
    conversation = Conversation()
    path = await saved(tmp_path, conversation)
    for file in path.parent.iterdir():
        file.chmod(0o666)
    async with rig(tmp_path) as process:
        await process.open(conversation)
        assert loose(path.parent) == []


def test_a_folder_that_others_may_enter_is_told_with_the_remedy(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    assert of_state(state_folder(tmp_path)).result == "ok"
    tmp_path.chmod(0o750)
    told = of_state(state_folder(tmp_path))
    assert (told.result, told.remedy) == ("warn", f"chmod 700 {tmp_path}")


# -- links somebody planted ----------------------------------------------------------


@pytest.mark.parametrize("name", ["session.journal", "session.journal.lock"])
async def test_a_link_in_the_place_of_a_journal_or_its_lock_is_not_written_through(tmp_path: Path, name: str) -> None:
    target = tmp_path / "precious"
    target.write_bytes(b"mine")
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / name).symlink_to(target)
    async with rig(tmp_path) as process:
        talk = await process.open()
        await talk.turn("one")
        assert talk.session.desk.ledger is None
        assert len(process.voice.on("journal")) == 1
        assert process.memory.calls()["write_note"] == 0
    assert target.read_bytes() == b"mine"


def test_a_link_in_the_place_of_a_list_of_tools_is_replaced_and_not_written_through(tmp_path: Path) -> None:
    cache, target = InventoryCache(tmp_path / "state"), tmp_path / "precious"
    cache.save(KEY, INVENTORY)
    (file,) = cache.files()
    target.write_bytes(b"mine")
    file.unlink()
    file.symlink_to(target)
    cache.save(KEY, INVENTORY)
    assert target.read_bytes() == b"mine"
    assert not file.is_symlink()


async def test_a_link_in_the_place_of_an_export_is_not_written_through(tmp_path: Path) -> None:
    path = await saved(tmp_path)
    target, output = tmp_path / "precious", tmp_path / "a.jsonl"
    output.symlink_to(target)
    refused = run("export", path, "-o", output)
    assert (refused.code, target.exists()) == (2, False)
    assert "never overwritten" in refused.err


def test_a_link_in_the_place_of_a_sessions_lock_is_not_opened(tmp_path: Path) -> None:
    session, target = tmp_path / "s.jsonl", tmp_path / "precious"
    session.write_text('{"id": "u1", "type": "message", "message": {"role": "user", "content": "hi"}}\n')
    target.write_bytes(b"mine")
    target.chmod(0o640)
    (tmp_path / ".s.jsonl.lock").symlink_to(target)
    assert len(SessionFile(session).read_new().entries) == 1
    assert (target.read_bytes(), stat.S_IMODE(target.stat().st_mode)) == (b"mine", 0o640)


def test_a_link_in_the_place_of_the_extension_is_left_as_it_is(tmp_path: Path) -> None:
    target, path = tmp_path / "precious", tmp_path / "extensions" / "continuity" / "extension.py"
    path.parent.mkdir(parents=True)
    target.write_bytes(b"mine")
    path.symlink_to(target)
    planned = plan(path, Lead(tmp_path))
    install(planned)
    assert planned.foreign == path
    assert target.read_bytes() == b"mine"


async def test_a_journal_that_is_reached_by_a_link_is_still_read(tmp_path: Path) -> None:
    path = await saved(tmp_path)
    link = tmp_path / "link.journal"
    link.symlink_to(path)
    with open_reader(link) as opened:
        assert list(opened.verified(1))
