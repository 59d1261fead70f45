"""Which file system a path lies on, and whether a journal may be written there. It reads the mount table and touches no file.

SQLite's write-ahead log needs memory shared by all who have the file open, and
locks that hold for all of them. A file system behind a network, a hypervisor
or a user's process promises neither, and journals there break without a word.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from journal.errors import FileSystemUnsupported

TABLE = Path("/proc/self/mountinfo")
"""Where the kernel tells what is mounted for this process. Other systems are asked through psutil."""

_REMOTE = frozenset(
    "9p acfs afpfs afs beegfs ceph cifs coda davfs drvfs fakeowner fuse ftp gfs2 glusterfs gpfs grpcfuse lustre macfuse "
    "ncpfs ocfs2 orangefs osxfs osxfuse prl_fs pvfs2 sshfs v9fs vboxsf virtiofs vmhgfs webdav".split()
)
_REMOTE_BEGINNINGS = ("nfs", "smb", "fuse.", "macfuse", "osxfuse")
"""`fuseblk` is a local disk: NTFS, mostly."""
_LOCAL = frozenset({"fuse.fuse-overlayfs"})
"""What a container without root's rights has for its own disk."""

_ESCAPED = re.compile(r"\\([0-7]{3})")


class Mount(NamedTuple):
    """One line of a mount table."""

    point: str
    kind: str


def parsed(table: str) -> Iterator[Mount]:
    """Yield the mounts that `table`, written as /proc/self/mountinfo is, tells of; a line of another form is passed over."""
    for line in table.split("\n"):
        before, _, after = line.partition(" - ")
        fields, kind = before.split(" "), after.partition(" ")[0]
        if len(fields) > 4 and kind:
            yield Mount(_ESCAPED.sub(lambda found: chr(int(found[1], 8)), fields[4]), kind)


def mounts() -> tuple[Mount, ...]:
    """Return what is mounted here, in the order of mounting; nothing where nobody can tell."""
    try:
        return tuple(parsed(TABLE.read_text("utf-8", "surrogateescape")))
    except OSError:
        return _told()


def _told() -> tuple[Mount, ...]:
    """What psutil tells. It is imported here because only systems without the table need it."""
    import psutil

    try:
        return tuple(Mount(each.mountpoint, each.fstype) for each in psutil.disk_partitions(all=True))
    except (OSError, psutil.Error):
        return ()


def holding(path: str, table: Iterable[Mount]) -> str | None:
    """Return the kind of file system that holds the absolute `path`: of the longest mount point above it, the last mounted."""
    found: Mount | None = None
    for mount in table:
        around = mount.point.rstrip("/")
        inside = path == around or path.startswith(f"{around}/")
        if inside and (found is None or len(around) >= len(found.point.rstrip("/"))):
            found = mount
    return found.kind if found else None


def file_system(path: Path) -> str | None:
    """Return the kind of file system that `path`, which need not exist, lies or would lie on; None if nobody can tell."""
    return holding(os.path.realpath(path), mounts())


def keeps_journals(kind: str | None) -> bool:
    """Whether a journal may be written on a file system of this kind; one of an unknown kind is given the chance."""
    name = (kind or "").lower()
    return name in _LOCAL or (name not in _REMOTE and not name.startswith(_REMOTE_BEGINNINGS))


def require_local(path: Path) -> None:
    """Return if a journal may be written at `path`.

    Raises:
        FileSystemUnsupported: Its folder is on a file system that keeps no journal; nothing was touched.
    """
    kind = file_system(path)
    if kind is not None and not keeps_journals(kind):
        raise FileSystemUnsupported(path.parent, kind)
