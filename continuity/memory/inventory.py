"""The tools a server offers, kept on disk so that a warm start need not ask. It starts nothing and imports no SDK."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import msgspec

from continuity.capture import digest
from continuity.memory.calls import Schema
from continuity.memory.server import ServerSpec, fingerprint, selects_config
from journal.disk import make_folder
from journal.ids import Sha256

FORMAT = 2
"""Changes when a file written earlier would be misread; such a file is then just not found."""

_NAME = "inventory-{}.json"


class ListedTool(msgspec.Struct, frozen=True, kw_only=True):
    """One tool as the server describes it. A schema is kept as it came, or not at all where it is none."""

    name: str
    description: str = ""
    schema: Schema | None = None
    output_schema: Schema | None = None
    read_only: bool | None = None
    """What the server's annotation says; null when it says nothing."""


class Inventory(msgspec.Struct, frozen=True, kw_only=True):
    """What one server offered when it was asked."""

    server: str
    version: str
    tools: tuple[ListedTool, ...]
    complete: bool = True
    """False when the listing was cut short; it is used, and not kept."""
    notices: tuple[str, ...] = ()

    @property
    def digest(self) -> Sha256:
        """Names what was offered, whatever order it came in."""
        tools = sorted(self.tools, key=lambda tool: tool.name)
        return digest([msgspec.to_builtins(tool) for tool in tools])


class Loaded(NamedTuple):
    """What the cache holds; `damaged` when there is a file that cannot be read, which is then as good as none."""

    inventory: Inventory | None
    damaged: bool = False


class InventoryCache:
    """A folder with one file for each way of starting a server."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def load(self, key: Sha256) -> Loaded:
        """Return what was kept under `key`; never raises for what it finds."""
        path = self._path(key)
        try:
            kept = msgspec.json.decode(path.read_bytes(), type=_Kept)
        except FileNotFoundError:
            return Loaded(None)
        except (OSError, msgspec.MsgspecError, ValueError, RecursionError):
            return Loaded(None, damaged=True)
        return Loaded(None if (kept.format, kept.key) != (FORMAT, key) else kept.inventory)

    def save(self, key: Sha256, inventory: Inventory) -> bool:
        """Keep a complete `inventory` under `key`, replacing the file at once or not at all; return whether it is kept.

        Raises:
            OSError: The folder cannot be written to; what was kept before is still there.
        """
        if not inventory.complete:
            return False
        make_folder(self._folder)
        content, path = msgspec.json.encode(_Kept(format=FORMAT, key=key, inventory=inventory)), self._path(key)
        if not _holds(path, content):
            _replace(path, content)
        return True

    def files(self) -> tuple[Path, ...]:
        """Return the files there are, whatever is in them."""
        return tuple(sorted(self._folder.glob(_NAME.format("*"))))

    def _path(self, key: Sha256) -> Path:
        return self._folder / _NAME.format(key[:32])


class _Kept(msgspec.Struct, frozen=True, kw_only=True):
    format: int
    key: Sha256
    inventory: Inventory


def inventory_key(spec: ServerSpec) -> Sha256:
    """Name everything that decides what `spec` would offer: command, arguments, executable, package, configuration.

    The environment enters as a digest only: it may hold credentials.
    """
    return digest([FORMAT, spec.command, spec.args, fingerprint(spec.command), selects_config(spec.env)])


def _holds(path: Path, content: bytes) -> bool:
    with suppress(OSError):
        return path.read_bytes() == content
    return False


def _replace(path: Path, content: bytes) -> None:
    """Write beside `path` and rename. The new file is readable for its owner only, from its first moment on."""
    beside = path.with_name(f"{path.name}.{secrets.token_hex(8)}.new")
    try:
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except BaseException:
        with suppress(OSError):
            beside.unlink()
        raise
