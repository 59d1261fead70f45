"""The files of this very installation, read to be put elsewhere: what a wheel brought, or a checkout's three packages."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from importlib.metadata import Distribution, distributions
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit
from urllib.request import url2pathname

import msgspec

from continuity.cli.shim import PACKAGES

_NAME = "tau-continuity"
_VERSION = re.compile(r"[0-9A-Za-z][0-9A-Za-z.+!_-]*")
_DESCRIBED_BY = ("METADATA", "WHEEL", "entry_points.txt", "licenses/LICENSE", "licenses/NOTICE")
"""What is kept of a distribution's own files: its version is asked for at run time, and its licence goes along."""


class NotInstalled(Exception):
    """This program runs from packages that nobody installed, so it does not know its own version; nothing was read."""


class Own(NamedTuple):
    """One state of our packages and of what they need."""

    version: str
    contents: Mapping[str, bytes]
    """By their names below the folder that holds the packages."""
    locked: bytes
    """The libraries, as installers read them."""

    @property
    def digest(self) -> str:
        """Name this very state: it changes with any file and with any library."""
        each = {name: hashlib.sha256(content).hexdigest() for name, content in self.contents.items()}
        told = json.dumps([self.version, hashlib.sha256(self.locked).hexdigest(), each], sort_keys=True)
        return hashlib.sha256(told.encode()).hexdigest()[:12]


def own(folder: Path) -> Own:
    """Return what lies in `folder`, whence this program runs.

    Raises:
        NotInstalled: It is no installation.
        OSError: A file cannot be read.
    """
    found = _described(folder)
    described = f"{_NAME.replace('-', '_')}-{found.version}.dist-info"
    texts = {name: found.read_text(name) for name in _DESCRIBED_BY}
    contents = {name: (folder / name).read_bytes() for name in sorted(_names(folder, found))}
    contents |= {f"{described}/{name}": text.encode() for name, text in texts.items() if text is not None}
    return Own(found.version, contents, locked_file().read_bytes())


def _described(folder: Path) -> Distribution:
    """Return what describes the packages in `folder`: it lies there, or says that it was installed from there.

    Any other of the name, on PYTHONPATH for one, describes something else.
    """
    for found in distributions(name=_NAME):
        beside = Path(str(found.locate_file(""))).resolve() == folder.resolve()
        if (beside or _installed_from(found) == folder.resolve()) and _VERSION.fullmatch(found.version or ""):
            return found
    raise NotInstalled


class _Editable(msgspec.Struct, frozen=True):
    editable: bool = False


class _Origin(msgspec.Struct, frozen=True):
    """What installers say of where a distribution came from."""

    url: str
    dir_info: _Editable = _Editable()


def _installed_from(found: Distribution) -> Path | None:
    try:
        told = msgspec.json.decode(found.read_text("direct_url.json") or "", type=_Origin)
        return Path(url2pathname(urlsplit(told.url).path)).resolve() if told.dir_info.editable else None
    except (ValueError, msgspec.MsgspecError):
        return None


def locked_file() -> Path:
    """Return the file that names the libraries."""
    return Path(str(files("continuity.cli").joinpath("locked.txt")))


def _names(folder: Path, found: Distribution) -> Iterator[str]:
    """A wheel says what it brought; a checkout, of which only a path is installed, is looked at."""
    listed = [path.as_posix() for path in found.files or () if path.parts[0] in PACKAGES and ".." not in path.parts]
    if listed and Path(str(found.locate_file(""))).resolve() == folder:
        yield from (name for name in listed if not name.endswith(".pyc"))
        return
    for package in PACKAGES:
        for path in (folder / package).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                yield path.relative_to(folder).as_posix()
