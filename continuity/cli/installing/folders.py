"""Folders of packages that are there whole or not at all: built beside, then renamed; one builder at a time."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Collection, Generator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from journal.disk import make_folder

LOCK = ".lock"
LOG = "fetching.log"
_MADE = re.compile(r"[A-Za-z0-9_.-]+-[0-9a-f]{12}")
_HALF = re.compile(r"\.(draft|old)\.[A-Za-z0-9_]+")


class Busy(Exception):
    """Another installation is at work; nothing was touched."""


@contextmanager
def alone(packages: Path) -> Generator[None]:
    """Be the only one who changes `packages`, which is made; what a killed one left half done is removed.

    Raises:
        Busy: Somebody else is.
        OSError: The folder cannot be made or written to.
    """
    if packages.is_symlink():
        raise FileExistsError(errno.EEXIST, "a link is in the way", str(packages))
    make_folder(packages)
    handle = os.open(packages / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Busy from None
        for half in _named(packages, _HALF):
            shutil.rmtree(half, ignore_errors=True)
        yield
    finally:
        os.close(handle)


@contextmanager
def draft(packages: Path) -> Generator[Path]:
    """Give an empty folder to build in; it is gone afterwards unless `put` took it."""
    building = Path(tempfile.mkdtemp(prefix=".draft.", dir=packages))
    try:
        yield building
    finally:
        shutil.rmtree(building, ignore_errors=True)


def fill(folder: Path, contents: Mapping[str, bytes]) -> None:
    """Write files into `folder`, where none of them may be yet.

    Raises:
        OSError: Not all were written.
    """
    for name, content in contents.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("xb") as file:
            file.write(content)


def put(building: Path, folder: Path) -> None:
    """Give `building` its name, in one step; a folder that has it and is no good makes way.

    Raises:
        OSError: Nothing was changed.
    """
    if folder.is_symlink():
        raise FileExistsError(errno.EEXIST, "a link is in the way", str(folder))
    if folder.exists():
        aside = Path(tempfile.mkdtemp(prefix=".old.", dir=folder.parent))
        folder.rename(aside / folder.name)
        building.rename(folder)
        shutil.rmtree(aside, ignore_errors=True)
    else:
        building.rename(folder)


def remove(packages: Path, *, keep: Collection[Path]) -> tuple[Path, ...]:
    """Remove what was installed in `packages` but `keep`; return what went. Each goes at once, as far as its name tells.

    Raises:
        OSError: One could not be taken away; those returned by nobody may be gone.
    """
    gone = tuple(each for each in installed(packages) if each not in keep)
    for folder in gone:
        aside = Path(tempfile.mkdtemp(prefix=".old.", dir=packages))
        folder.rename(aside / folder.name)
        shutil.rmtree(aside, ignore_errors=True)
    return gone


def installed(packages: Path) -> tuple[Path, ...]:
    """Return the folders that installations made in `packages`, known by their names."""
    return tuple(_named(packages, _MADE))


def _named(packages: Path, kind: re.Pattern[str]) -> Iterator[Path]:
    try:
        entries = sorted(packages.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return
    yield from (each for each in entries if kind.fullmatch(each.name) and each.is_dir() and not each.is_symlink())


def clear(packages: Path) -> None:
    """Remove `packages` with what belongs to installing, if nothing else is in it."""
    for name in (LOG, LOCK):
        (packages / name).unlink(missing_ok=True)
    try:
        packages.rmdir()
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT):
            raise
