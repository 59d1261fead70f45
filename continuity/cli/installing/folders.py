"""Folders of packages that are there whole or not at all: built beside, then renamed; one builder at a time."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Collection, Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from continuity.cli import shim
from continuity.cli.installing.marks import HALF_MARK, is_installation
from journal.disk import make_folder

LOCK = ".lock"
LOG = "fetching.log"
LOG_HEAD = b"# what was said when `continuity install` fetched its libraries\n"
SHIMS = ".shims"
"""Names each file that led Tau to a folder in here: a home may share its packages with another one."""

_HALF = re.compile(r"\.(draft|old|gone)\.[A-Za-z0-9_]+")


class Busy(Exception):
    """Another installation is at work; nothing was touched."""


@contextmanager
def alone(packages: Path) -> Generator[None]:
    """Be the only one who changes `packages`, which is made; what a killed one left half done is undone.

    Raises:
        Busy: Somebody else is.
        OSError: The folder cannot be made or written to.
    """
    if packages.is_symlink():
        raise FileExistsError(errno.EEXIST, "a link is in the way", str(packages))
    make_folder(packages)
    path = packages / LOCK
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(handle).st_ino != path.lstat().st_ino:
                raise Busy  # who had it cleared it away: it locks nothing any more
        except (BlockingIOError, FileNotFoundError):
            raise Busy from None
        for entry in sorted(packages.iterdir()):
            if _HALF.fullmatch(entry.name):
                _undo(entry)
        yield
    finally:
        os.close(handle)


def _undo(half: Path) -> None:
    """Remove what an ended installation left, and put back what it had moved aside; a folder without a mark stays."""
    if half.is_symlink():
        return
    if (half / HALF_MARK).is_file():
        for each in half.iterdir() if half.name.startswith(".old.") else ():
            if is_installation(each) and not os.path.lexists(half.parent / each.name):
                each.rename(half.parent / each.name)
        _take_away(half)
    else:
        with suppress(OSError):
            half.rmdir()  # killed before it had its mark, and empty


def _half(packages: Path, kind: str) -> Path:
    """Make a folder that is known to be ours, so that it can be removed."""
    made = Path(tempfile.mkdtemp(prefix=f".{kind}.", dir=packages))
    (made / HALF_MARK).touch()
    return made


def _take_away(half: Path) -> None:
    """Remove such a folder, its mark last: it is known again if this is cut off."""
    for each in half.iterdir():
        if each.name != HALF_MARK:
            shutil.rmtree(each, ignore_errors=True)
    with suppress(OSError):
        if [each.name for each in half.iterdir()] == [HALF_MARK]:
            (half / HALF_MARK).unlink()
            half.rmdir()


@contextmanager
def draft(packages: Path) -> Generator[Path]:
    """Give a folder to build in; it is gone afterwards with what `put` did not take."""
    building = _half(packages, "draft")
    try:
        yield building
    finally:
        _take_away(building)


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


def refuse(folder: Path) -> None:
    """See that `folder` may be made: nothing is there, or an installation that may be replaced.

    Raises:
        FileExistsError: Something else is in the way.
    """
    if folder.is_symlink():
        raise FileExistsError(errno.EEXIST, "a link is in the way", str(folder))
    if os.path.lexists(folder) and not is_installation(folder):
        raise FileExistsError(errno.EEXIST, "something that is not ours is in the way; move it away", str(folder))


def put(building: Path, folder: Path) -> None:
    """Give `building` its name, in one step; an installation that has it makes way.

    Raises:
        OSError: Nothing was changed.
    """
    refuse(folder)
    if not folder.exists():
        building.rename(folder)
        return
    aside = _half(folder.parent, "old")
    folder.rename(aside / folder.name)
    try:
        building.rename(folder)
    except OSError:
        (aside / folder.name).rename(folder)  # and should that fail too, the next one who is alone does it
        raise
    finally:
        if folder.exists():
            _take_away(aside)


def remove(packages: Path, *, keep: Collection[Path]) -> tuple[Path, ...]:
    """Remove what was installed in `packages` but `keep`; return what went. Each goes at once, as far as its name tells.

    Raises:
        OSError: One could not be taken away; those returned by nobody may be gone.
    """
    gone = tuple(each for each in installed(packages) if each not in keep)
    for folder in gone:
        aside = _half(packages, "gone")
        folder.rename(aside / folder.name)
        _take_away(aside)
    return gone


def installed(packages: Path) -> tuple[Path, ...]:
    """Return the folders that installations made in `packages`, known by their marks."""
    try:
        return tuple(each for each in sorted(packages.iterdir()) if is_installation(each))
    except (FileNotFoundError, NotADirectoryError):
        return ()


def note_shim(packages: Path, path: Path) -> None:
    """Write down that the file at `path` leads to a folder in `packages`.

    Raises:
        OSError: It was not written.
    """
    if path.resolve() not in shims(packages):
        with (packages / SHIMS).open("ab") as file:
            file.write(os.fsencode(path.resolve()) + b"\0")


def forget_shim(packages: Path, path: Path) -> None:
    """Write down that the file at `path` leads nowhere in `packages` any more.

    Raises:
        OSError: It was not written.
    """
    left = b"".join(os.fsencode(each) + b"\0" for each in shims(packages) if each != path.resolve())
    if left:
        (packages / SHIMS).write_bytes(left)
    else:
        (packages / SHIMS).unlink(missing_ok=True)


def led_elsewhere(packages: Path, mine: Path) -> dict[Path, Path]:
    """Return the folders in `packages` to which other files than `mine` lead, each with that file."""
    found: dict[Path, Path] = {}
    for path in shims(packages):
        try:
            lead = None if path == mine.resolve() else shim.lead_at(path)
        except OSError:  # it may lead to any of them
            return dict.fromkeys(installed(packages), path)
        if lead is not None and lead.folder.parent.resolve() == packages.resolve():
            found[packages / lead.folder.name] = path
    return found


def shims(packages: Path) -> tuple[Path, ...]:
    """Return every file that ever led Tau to a folder in `packages`; some of them may lead elsewhere by now."""
    try:
        return tuple(Path(os.fsdecode(each)) for each in (packages / SHIMS).read_bytes().split(b"\0") if each)
    except FileNotFoundError:
        return ()


def has_ours(packages: Path) -> bool:
    """Tell whether anything is in `packages` that an installation left there."""
    if installed(packages) or is_our_log(packages / LOG) or (packages / SHIMS).is_file():
        return True
    return packages.is_dir() and any(
        _HALF.fullmatch(each.name) and (each / HALF_MARK).is_file() for each in packages.iterdir()
    )


def is_our_log(path: Path) -> bool:
    """Tell whether `path` is what an installation left of what its installers said."""
    try:
        with path.open("rb") as file:
            return not path.is_symlink() and file.readline() == LOG_HEAD
    except OSError:
        return False


def clear(packages: Path) -> None:
    """Remove `packages` if nothing is in it but what belongs to installing; only under the lock, which goes last."""
    if {each.name for each in packages.iterdir()} <= {LOCK, SHIMS} and not (packages / LOCK).stat().st_size:
        for name in (SHIMS, LOCK):
            (packages / name).unlink(missing_ok=True)
        with suppress(OSError):
            packages.rmdir()  # another one may have begun there
