"""Writes our own settings file: whole or not at all, and only if it is still what was shown."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from continuity.cli.setup.facts import Kept
from continuity.shell.config import SettingsError, read_settings
from journal.disk import make_folder


class Moved(Exception):
    """The file is not any more what it was when it was read; it was left as it is now."""


def write(kept: Kept, text: str) -> None:
    """Put `text` in the place of what was read. A new file is its owner's alone; another keeps its mode.

    Raises:
        SettingsError: It would be no settings; nothing was written.
        Moved: Somebody changed, made or removed it meanwhile.
        OSError: Nothing was written.
    """
    path = kept.path
    make_folder(path.parent)
    handle, name = tempfile.mkstemp(prefix=".continuity.", dir=path.parent)
    draft = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        _read_back(draft, path)
        if kept.text is None:
            _appear(draft, path)
        else:
            _replace(draft, path, kept.text)
    finally:
        draft.unlink(missing_ok=True)


def _read_back(draft: Path, path: Path) -> None:
    """Let nothing take the file's place that could not be read there."""
    try:
        read_settings(draft, ours=True)
    except SettingsError as error:
        raise SettingsError(path, error.key, error.remedy) from None


def _appear(draft: Path, path: Path) -> None:
    try:
        os.link(draft, path)
    except FileExistsError:
        raise Moved from None


def _replace(draft: Path, path: Path, expected: str) -> None:
    if path.is_symlink() or not path.is_file() or path.read_bytes().decode("utf-8-sig", "replace") != expected:
        raise Moved
    draft.chmod(path.stat().st_mode & 0o7777)
    draft.replace(path)
