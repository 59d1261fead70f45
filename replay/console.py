"""Turns what can go wrong with a journal into words, a hint and an exit code; nothing is repaired here."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING

from continuity.console import FINDINGS, MISUSE, UNREADABLE, fail, is_terminal, say

if TYPE_CHECKING:
    from journal.reader import Reader

_DAMAGED = (
    "the file was cut off or overwritten, and nothing was changed. Restore a copy of it, or import a text that was "
    "exported from it; the session's file of Tau still holds the receipts of its notes"
)
"""No command says more of such a file, so none is named."""

_PATIENCE_SECONDS = 1.0


def reported[**P](command: Callable[P, None]) -> Callable[P, None]:
    """Turn what can go wrong with a journal into words and an exit code."""

    @wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        from journal.errors import JournalError
        from replay.references import NoSuchReference
        from replay.session import NotASession

        try:
            command(*args, **kwargs)
        except NoSuchReference as error:
            fail(str(error), error.hint, MISUSE)
        except NotASession as error:
            fail(str(error), "name the session's own file, such as ~/.tau/sessions/.../ID.jsonl", UNREADABLE)
        except JournalError as error:
            hint, code = _advice(error)
            fail(str(error), hint, code)

    return run


def _advice(error: Exception) -> tuple[str, int]:
    from journal import errors

    for kind, hint, code in (
        (errors.NoSuchPlace, "`continuity branches FILE` lists branches and their positions", MISUSE),
        (errors.JournalExists, "name a file that does not exist yet", MISUSE),
        (errors.JournalMissing, "`continuity paths` says where journals are", UNREADABLE),
        (errors.NotAJournal, "journals end in .journal; an exported text is read by `continuity import`", UNREADABLE),
        (errors.JournalNewer, "nothing was changed", UNREADABLE),
        (errors.JournalDamaged, _DAMAGED, UNREADABLE),
        (errors.JournalBusy, "try again in a moment", UNREADABLE),
        (errors.FileSystemUnsupported, "name a file on a local disk; reading works where it is", UNREADABLE),
        (errors.StorageFailed, "see whether you may read and write there; nothing was changed", UNREADABLE),
        (
            errors.NotAnExport,
            "name a text that `continuity export` wrote; a journal itself needs no import",
            UNREADABLE,
        ),
        (errors.ImportRefused, "export it again; a text that was edited is never imported", UNREADABLE),
        (errors.RowUnreadable, "`continuity audit FILE` says what is wrong", FINDINGS),
    ):
        if isinstance(error, kind):
            return hint, code
    return "nothing was changed", UNREADABLE


@contextmanager
def opened(file: Path) -> Generator[Reader]:
    """Open the journal at `file`, and say so if that takes long."""
    from journal.reader import open_reader

    with patience(f"reading {file}"), open_reader(file) as reader:
        yield reader


@contextmanager
def patience(what: str) -> Generator[None]:
    """Say on a terminal's stderr what is being done if it takes more than a second."""
    if not is_terminal(sys.stderr):
        yield
        return
    timer = threading.Timer(_PATIENCE_SECONDS, say, (f"{what} ...",))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
