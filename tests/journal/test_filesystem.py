"""A journal is never written where its locks and its log cannot hold; where that is, the mount table says."""

# ruff: noqa: ASYNC240  # a test may block its loop

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from journal import disk, filesystem
from journal.errors import FileSystemUnsupported
from journal.filesystem import Mount, file_system, holding, keeps_journals, mounts, parsed, require_local
from journal.interchange import import_lines
from journal.lock import JournalLock
from journal.reader import open_reader
from journal.store import Journal
from tests.journal import kit
from tests.journal.kit import HEADER, MAIN, WRITER, settled

TABLE = r"""
22 28 0:21 / /proc rw,relatime - proc proc rw
28 1 254:0 / / rw,relatime shared:1 master:2 - ext4 /dev/vda rw
29 28 0:40 / /home/ada rw,relatime - nfs4 server:/home rw
30 29 8:2 / /home/ada/local rw - btrfs /dev/sdb rw
31 28 0:41 / /mnt/two\040words\134and\011more rw - 9p host rw
32 28 0:42 / /media/disk rw - fuseblk /dev/sdc1 rw
33 28 0:43 / /over rw - ext4 /dev/sdd rw
34 33 0:44 / /over rw - virtiofs shared rw
a line that is none
35 28 0:45 / /cut rw
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/", "ext4"),
        ("/etc", "ext4"),
        ("/home", "ext4"),
        ("/home/adam", "ext4"),
        ("/home/ada", "nfs4"),
        ("/home/ada/.tau/state", "nfs4"),
        ("/home/ada/local/x", "btrfs"),
        ("/mnt/two words\\and\tmore/x", "9p"),
        ("/media/disk/x", "fuseblk"),
        ("/over/x", "virtiofs"),
        ("/cut/x", "ext4"),
    ],
)
def test_the_longest_mount_point_holds_a_path_and_the_later_of_two(path: str, kind: str) -> None:
    assert holding(path, parsed(TABLE)) == kind


def test_a_path_that_no_mount_holds_is_on_a_file_system_nobody_knows() -> None:
    assert holding("/x", [Mount("/y", "ext4")]) is None
    assert keeps_journals(None)


@pytest.mark.parametrize(
    "kind",
    "nfs nfs4 NFS cifs smb3 smbfs 9p virtiofs fuse fuse.sshfs fuse.gvfsd-fuse macfuse_x ceph fuse.glusterfs glusterfs "
    "lustre afs afpfs vboxsf vmhgfs fuse.vmhgfs-fuse prl_fs drvfs webdav davfs fakeowner".split(),
)
def test_a_file_system_behind_something_else_keeps_no_journal(kind: str) -> None:
    assert not keeps_journals(kind)


LOCAL = "ext4 xfs btrfs zfs tmpfs overlay fuse.fuse-overlayfs apfs hfs fuseblk ntfs3 exfat f2fs bcachefs".split()


@pytest.mark.parametrize("kind", LOCAL)
def test_a_local_one_does(kind: str) -> None:
    assert keeps_journals(kind)


@given(st.text())
def test_no_table_is_too_strange_to_be_read(table: str) -> None:
    assert holding("/a", parsed(table)) is None or " - " in table


def test_the_kernel_of_this_machine_is_asked_or_else_psutil(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for table in (Path("/proc/self/mountinfo"), tmp_path / "none"):
        monkeypatch.setattr(filesystem, "TABLE", table)
        assert "/" in {mount.point for mount in mounts()}
        assert file_system(Path("/"))


def test_where_nobody_can_tell_a_journal_may_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import psutil

    def refused(*_: object, **__: object) -> list[object]:
        raise PermissionError

    monkeypatch.setattr(filesystem, "TABLE", tmp_path / "none")
    monkeypatch.setattr(psutil, "disk_partitions", refused)
    assert mounts() == ()
    require_local(tmp_path / "a.journal")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that lies on a share, as far as the mount table says; it is not there yet."""
    shared = tmp_path / "shared"
    shared.mkdir()
    table = tmp_path / "mountinfo"
    table.write_text(f"1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 0:9 / {shared} rw - nfs4 server:/ rw\n")
    monkeypatch.setattr(filesystem, "TABLE", table)
    return shared / "state"


async def test_neither_a_journal_nor_a_lock_nor_a_folder_is_made_there(folder: Path) -> None:
    path = folder / "a.journal"
    with pytest.raises(FileSystemUnsupported, match="nfs4") as caught:
        JournalLock.acquire(path, WRITER)
    assert (caught.value.folder, caught.value.kind) == (folder, "nfs4")
    assert "CONTINUITY_HOME" in str(caught.value)
    with pytest.raises(FileSystemUnsupported):
        await Journal.create(path, HEADER)
    with pytest.raises(FileSystemUnsupported):
        disk.create(path, HEADER)
    assert not folder.exists()


async def test_a_link_into_it_is_seen_through(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(folder.parent)
    with pytest.raises(FileSystemUnsupported):
        await Journal.create(tmp_path / "link" / "state" / "a.journal", HEADER)


async def test_a_journal_that_was_put_there_is_read_and_not_written(folder: Path, tmp_path: Path) -> None:
    await kit.write(tmp_path / "a.journal", settled(2))
    folder.mkdir()
    path = (tmp_path / "a.journal").rename(folder / "a.journal")
    before = kit.snapshot(folder)
    with pytest.raises(FileSystemUnsupported):
        await Journal.open(path)
    with open_reader(path) as reader:
        assert len(list(reader.verified(MAIN))) == 2
    assert kit.snapshot(folder) == before


async def test_nothing_is_imported_there(folder: Path, tmp_path: Path) -> None:
    from journal.interchange import export_lines

    await kit.write(tmp_path / "a.journal", settled(2))
    with open_reader(tmp_path / "a.journal") as reader:
        lines = list(export_lines(reader))
    with pytest.raises(FileSystemUnsupported):
        import_lines(lines, folder / "b.journal")
    assert not folder.exists()
