"""Where our files are, from folders and variables that are given; it looks at no disk and reads no environment."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path

import msgspec

from journal.ids import SessionId, WriterId

STATE_HOME = "CONTINUITY_HOME"
TAU_HOME = "TAU_HOME"

_SAFE = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,119}")


class PlaceRefused(Exception):
    """The variable names no place; unset it, or name an absolute path. Nothing was looked for."""

    def __init__(self, variable: str) -> None:
        super().__init__(variable)
        self.variable = variable
        self.remedy = "must name an absolute path; a relative one would depend on the checkout"


class Places(msgspec.Struct, frozen=True):
    """The files of one user: Tau's home and our state folder in it, or elsewhere."""

    tau_home: Path
    state: Path

    @property
    def settings(self) -> Path:
        """Our own settings file."""
        return self.tau_home / "continuity.json"

    @property
    def compatible_settings(self) -> Path:
        """The settings file of Basic Memory's own Tau extension, read when ours is not there."""
        return self.tau_home / "basic-memory.json"

    @property
    def shim(self) -> Path:
        """What Tau loads: it only leads to our package."""
        return self.tau_home / "extensions" / "continuity" / "extension.py"

    @property
    def packages(self) -> Path:
        """Our packages and their libraries as they were installed, in a folder for each kind of Python and version."""
        return self.state / "packages"

    def journal(self, session_id: SessionId) -> Path:
        """Return the journal of a session. An id that is no safe file name is replaced by its digest."""
        return self.state / f"{journal_stem(session_id)}.journal"

    def adhoc(self, writer: WriterId) -> Path:
        """Return the journal of what one process does outside any session's; no session id leads to this name."""
        return self.state / f"x-{journal_stem(process_session(writer))}.journal"


def places(tau_home: Path, state: Path | None = None) -> Places:
    """Return the places under `tau_home`, with our state in `state` if it is given."""
    return Places(tau_home, state or tau_home / "state" / "extensions" / "continuity")


def places_of(environ: Mapping[str, str], home: Path) -> Places:
    """Return the places of the user at `home` whose environment is `environ`.

    Raises:
        PlaceRefused: A variable that names a folder is no absolute path.
    """
    tau = named(environ, TAU_HOME, home)
    return places(tau or home / ".tau", named(environ, STATE_HOME, home))


def named(environ: Mapping[str, str], variable: str, home: Path) -> Path | None:
    """Return the path that a variable names; None when it is unset or empty.

    Raises:
        PlaceRefused: It is not absolute.
    """
    value = environ.get(variable, "")
    if not value:
        return None
    path = expanded(value, home)
    if not path.is_absolute():
        raise PlaceRefused(variable)
    return path


def expanded(path: str, home: Path) -> Path:
    """Return `path` with a leading `~` as `home`."""
    return home / path[2:] if path.startswith("~/") else home if path == "~" else Path(path)


def process_session(writer: WriterId) -> SessionId:
    """Return the session id under which a process records what belongs to no session's journal."""
    return SessionId(f"process-{writer}")


def journal_stem(session_id: SessionId) -> str:
    """Return the file name of a session's journal without its ending; names that begin with `x-` are never an id."""
    if _SAFE.fullmatch(session_id) and not session_id.lower().startswith("x-"):
        return session_id
    return f"x-{hashlib.sha256(session_id.encode('utf-8', 'surrogatepass')).hexdigest()[:40]}"
