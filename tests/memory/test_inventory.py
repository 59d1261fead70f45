"""The cached inventory spares a start; it is never believed when damaged, foreign, stale or cut short."""

import json
import stat
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from continuity.memory.inventory import Inventory, InventoryCache, ListedTool, Loaded, inventory_key
from continuity.memory.server import ServerSpec
from journal.ids import Sha256

TOOL = ListedTool(name="a", description="d", schema={"type": "object", "properties": {"x": {}}}, read_only=True)
INVENTORY = Inventory(server="s", version="1", tools=(TOOL, ListedTool(name="b")))
KEY, OTHER = Sha256("1" * 64), Sha256("1" * 32 + "2" * 32)


@pytest.fixture
def cache(tmp_path: Path) -> InventoryCache:
    return InventoryCache(tmp_path / "state" / "inventory")


def test_what_was_kept_is_found_again(cache: InventoryCache) -> None:
    assert cache.load(KEY) == Loaded(None)
    assert cache.save(KEY, INVENTORY)
    assert cache.load(KEY) == Loaded(INVENTORY)


def test_only_its_owner_can_read_it_and_no_half_file_stays(cache: InventoryCache, tmp_path: Path) -> None:
    cache.save(KEY, INVENTORY)
    cache.save(KEY, INVENTORY)
    (file,) = (tmp_path / "state" / "inventory").iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("content", [b"", b"{", b'{"format": 1}', b"[" * 100_000, b"\xff\xfe"])
def test_a_damaged_file_is_no_inventory_and_is_said(cache: InventoryCache, tmp_path: Path, content: bytes) -> None:
    cache.save(KEY, INVENTORY)
    (file,) = (tmp_path / "state" / "inventory").iterdir()
    file.write_bytes(content)
    assert cache.load(KEY) == Loaded(None, damaged=True)
    assert cache.save(KEY, INVENTORY)
    assert cache.load(KEY) == Loaded(INVENTORY)


def test_the_file_of_another_key_is_not_ours(cache: InventoryCache) -> None:
    cache.save(KEY, INVENTORY)
    assert cache.load(OTHER) == Loaded(None)


def test_a_file_of_another_format_is_not_ours(cache: InventoryCache, tmp_path: Path) -> None:
    cache.save(KEY, INVENTORY)
    (file,) = (tmp_path / "state" / "inventory").iterdir()
    file.write_text(json.dumps(json.loads(file.read_text()) | {"format": 99}))
    assert cache.load(KEY) == Loaded(None)


def test_a_listing_cut_short_is_not_kept(cache: InventoryCache) -> None:
    assert not cache.save(KEY, msgspec.structs.replace(INVENTORY, complete=False))
    assert cache.load(KEY) == Loaded(None)


def test_the_digest_names_the_tools_and_not_their_order() -> None:
    turned = msgspec.structs.replace(INVENTORY, tools=INVENTORY.tools[::-1])
    assert turned.digest == INVENTORY.digest
    assert msgspec.structs.replace(INVENTORY, tools=(TOOL,)).digest != INVENTORY.digest


WRITER = """
import sys
from pathlib import Path
from continuity.memory.inventory import Inventory, InventoryCache, ListedTool
cache, name = InventoryCache(Path(sys.argv[1])), sys.argv[2]
tools = tuple(ListedTool(name=f"{name}-{number}") for number in range(200))
for _ in range(40):
    cache.save("1" * 64, Inventory(server=name, version="1", tools=tools))
"""


def test_two_processes_that_write_at_once_leave_what_one_of_them_wrote(cache: InventoryCache, tmp_path: Path) -> None:
    folder = tmp_path / "state" / "inventory"
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(folder), name]) for name in ("left", "right")]
    seen: set[str] = set()
    while any(writer.poll() is None for writer in writers):
        found = cache.load(KEY)
        assert not found.damaged
        if found.inventory is not None:
            assert {tool.name.partition("-")[0] for tool in found.inventory.tools} == {found.inventory.server}
            seen.add(found.inventory.server)
    assert [writer.returncode for writer in writers] == [0, 0]
    assert seen
    assert len(list(folder.iterdir())) == 1


@pytest.fixture
def server(tmp_path: Path) -> ServerSpec:
    command = tmp_path / "bin" / "bm"
    command.parent.mkdir()
    command.write_text("#!")
    return ServerSpec(command=str(command), args=("mcp",), env={"HOME": "/h", "TERM": "x"}, cwd="/")


def test_the_key_changes_with_all_that_selects_the_tools(server: ServerSpec) -> None:
    others = [
        msgspec.structs.replace(server, args=("mcp", "--project", "x")),
        msgspec.structs.replace(server, env=server.env | {"BASIC_MEMORY_CONFIG_DIR": "/c"}),
        msgspec.structs.replace(server, env=server.env | {"HOME": "/other"}),
        msgspec.structs.replace(server, command=server.command + "2"),
    ]
    assert len({inventory_key(spec) for spec in (server, *others)}) == 5


def test_the_key_changes_with_an_upgrade(server: ServerSpec) -> None:
    before = inventory_key(server)
    packages = Path(server.command).parent.parent / "lib" / "python3.12" / "site-packages"
    (packages / "basic_memory-0.24.1.dist-info").mkdir(parents=True)
    after = inventory_key(server)
    Path(server.command).write_text("#! other")
    assert len({before, after, inventory_key(server)}) == 3


def test_the_key_ignores_what_selects_nothing(server: ServerSpec) -> None:
    assert inventory_key(msgspec.structs.replace(server, env=server.env | {"TERM": "y"})) == inventory_key(server)
