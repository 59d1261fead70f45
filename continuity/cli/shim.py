"""Makes the one file Tau loads, which only leads to this package. It never replaces a file that it did not write."""

from __future__ import annotations

import ast
import errno
import hashlib
import os
import re
import tempfile
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, NamedTuple

from journal.disk import make_folder

PACKAGES = ("continuity", "journal", "replay")
SEAL = "# Written by `continuity install`; sha256 of all that follows: "

_CONSTANT = re.compile(r"(?m)^(FOLDER|TAG|COMMAND|NAMED) = (.+)$")

TAG_OF = '''\
def _tag():
    """What libraries must be built for to be loaded here."""
    from importlib.machinery import EXTENSION_SUFFIXES

    name, machine = EXTENSION_SUFFIXES[0].strip(".").rsplit(".", 1)[0], os.uname()[4]
    return name if machine in name else name + "-" + machine
'''
"""Shared with what asks Tau's Python before there is a shim."""

_TEMPLATE = '''\
"""Leads Tau to Continuity. It adds one folder to the end of the path, so that Tau's own libraries win.

If Continuity cannot be loaded it says so when a session starts, and Tau works on without it.
"""

import os
import sys

FOLDER = {folder!r}
TAG = {tag!r}
COMMAND = {command!r}
NAMED = {named!r}
PACKAGES = {packages!r}


{tag_of}

def _place(name):
    """The folder that holds what would be imported, or was. It is looked up and not run."""
    from importlib.util import find_spec

    try:
        origin = os.path.realpath(find_spec(name).origin)
    except (AttributeError, ImportError, TypeError, ValueError):
        return "no file"
    folder = os.path.dirname(os.path.dirname(origin))
    return folder if origin == os.path.join(folder, name, "__init__.py") else os.path.dirname(origin)


def _is_ours(place):
    """It is what was installed, or an earlier installation that this Tau runs from already."""
    ours = os.path.realpath(FOLDER)
    if place == ours or TAG is None or "continuity" not in sys.modules:
        return place == ours
    return place.startswith(os.path.join(os.path.dirname(ours), TAG + "-"))


def _trouble():
    """Why what was installed cannot be loaded, and what helps; None if it can."""
    if TAG is not None and TAG != _tag():
        return "it was installed for " + TAG + ", and this Python is " + _tag(), _again()
    if not all(os.path.isfile(os.path.join(FOLDER, name, "__init__.py")) for name in PACKAGES):
        return "its packages are not in " + FOLDER, _again()
    if FOLDER not in sys.path:
        sys.path.append(FOLDER)
    places = [(name, _place(name)) for name in PACKAGES]
    others = [name + " (" + place + ")" for name, place in places if not _is_ours(place)]
    if others:
        return "packages of the same name come before it: " + ", ".join(others), _WITHOUT
    if len(set(place for _, place in places)) > 1:
        return "two installations are mixed", "quit Tau and start it again"
    return None


_WITHOUT = "start Tau without that folder on its path (PYTHONPATH, or the folder it is started in)"


def _again():
    """The one command that helps."""
    from shlex import quote

    if not os.path.isfile(COMMAND):
        return "in a checkout of tau-continuity: make setup && .venv/bin/continuity install"
    named = " --python " + quote(sys.executable or "PATH") if NAMED else ""
    return quote(COMMAND) + " install" + (" --editable" if TAG is None else "") + named


def _words(error):
    try:
        return str(error)
    except Exception:
        return "it does not say why"


def _telling(what, remedy):
    """A stand-in that says once what is wrong and what helps."""
    text = "Continuity is not loaded, and nothing is remembered: " + what + ". To mend it: " + remedy
    said = []

    def tell(event, context):
        if not said:
            said.append(text)
            context.ui.notify("".join(c if c.isprintable() else "?" for c in text), "warning")

    def setup(tau):
        tau.on("session_start", tell)

    return setup


try:
    TROUBLE = _trouble()
    if TROUBLE is None:
        from continuity.tau.extension import setup
except KeyboardInterrupt:
    raise
except BaseException as error:  # Tau would drop the extension without a word, or end by it
    TROUBLE = type(error).__name__ + ": " + _words(error), _again()

if TROUBLE is not None:
    setup = _telling(*TROUBLE)
'''

type Standing = Literal["absent", "current", "outdated", "foreign"]


class Misplaced(Exception):
    """The packages do not lie in one folder, so a shim could only lead to a mixture; nothing was written."""


class Lead(NamedTuple):
    """Where a shim leads, and what it says when that does not go."""

    folder: Path
    """What it adds to the path of Tau."""
    tag: str | None = None
    """The kind of Python that the folder is for; null for a checkout, whose libraries are not in it."""
    command: str = ""
    """The `continuity` that installs again; empty if none is known."""
    named: bool = False
    """That command must be told which Python Tau has."""


class Plan(NamedTuple):
    """What installing would do."""

    path: Path
    folder: Path
    """What the shim adds to the path of Tau."""
    standing: Standing
    foreign: Path | None
    """What is in the way, if anything is."""
    source: str


def source(lead: Lead) -> str:
    """Return the shim for `lead`: sealed, so that an edited one is recognised, and valid in every Python 3."""
    folder, tag, command, named = str(lead.folder), lead.tag, lead.command, lead.named
    constants = {"folder": folder, "tag": tag, "command": command, "named": named, "packages": PACKAGES}
    body = _TEMPLATE.format(tag_of=TAG_OF, **constants)
    return f"{SEAL}{_digest(body)}\n{body}"


def lead_in(text: str) -> Lead | None:
    """Return where a shim of ours leads; None for anything else, also for one of ours that somebody edited."""
    if not is_ours(text):
        return None
    told = {name: ast.literal_eval(value) for name, value in _CONSTANT.findall(text)}
    try:
        return Lead(Path(told["FOLDER"]), told["TAG"], told["COMMAND"], told["NAMED"])
    except KeyError:  # of a version that said less
        return Lead(Path(told["FOLDER"])) if "FOLDER" in told else None


def lead_at(path: Path) -> Lead | None:
    """Return where the shim at `path` leads; None if there is none of ours.

    Raises:
        OSError: What is there cannot be read.
    """
    if path.is_symlink() or not path.is_file():
        return None
    return lead_in(path.read_text(encoding="utf-8", errors="replace"))


def _digest(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()


def is_ours(text: str) -> bool:
    """Tell whether `text` is a shim as we wrote it, of whatever version, and nobody edited it since."""
    seal, _, body = text.partition("\n")
    return seal == f"{SEAL}{_digest(body)}"


def package_folder() -> Path:
    """Return the folder in which the three packages lie.

    Raises:
        Misplaced: They do not lie in one.
    """
    folders = {name: _folder_of(name) for name in PACKAGES}
    if len(set(folders.values())) != 1:
        raise Misplaced(", ".join(f"{name} in {folder or 'no folder'}" for name, folder in folders.items()))
    return Path(__file__).resolve().parents[2]


def _folder_of(name: str) -> Path | None:
    spec = find_spec(name)
    return None if spec is None or spec.origin is None else Path(spec.origin).resolve().parent.parent


def plan(path: Path, lead: Lead) -> Plan:
    """Return what installing the shim at `path` would do; nothing is written.

    Raises:
        OSError: What is there cannot be read.
    """
    wanted, folder = source(lead), lead.folder
    foreign = _in_the_way(path)
    if foreign is not None:
        return Plan(path, folder, "foreign", foreign, wanted)
    if not path.exists():
        return Plan(path, folder, "absent", None, wanted)
    found = path.read_text(encoding="utf-8", errors="replace")
    if found == wanted:
        return Plan(path, folder, "current", None, wanted)
    ours = is_ours(found)
    return Plan(path, folder, "outdated" if ours else "foreign", None if ours else path, wanted)


def _in_the_way(path: Path) -> Path | None:
    """A link, a file where a folder belongs, or another extension of our name: Tau would load that one."""
    namesake = path.parent.with_suffix(".py")
    for each in (namesake, path.parent, path):
        if each.is_symlink() or (each == namesake and each.exists()):
            return each
    if path.parent.exists() and not path.parent.is_dir():
        return path.parent
    return path if path.exists() and not path.is_file() else None


def install(planned: Plan) -> None:
    """Write the shim that was planned: whole or not at all.

    Raises:
        FileExistsError: Something came to be there since; it was left as it is.
        OSError: Nothing was written.
    """
    if planned.standing not in ("absent", "outdated"):
        return
    make_folder(planned.path.parent)  # what Tau runs is written by its owner alone
    tidy(planned.path.parent)
    put_whole(planned.path, planned.source, over=is_ours if planned.standing == "outdated" else None)


def tidy(folder: Path) -> None:
    """Remove what a killed installation left beside the shim: a draft that is empty, or begins as we begin one."""
    for draft in folder.glob(".draft.*"):
        with suppress(OSError, UnicodeDecodeError):
            if draft.is_file() and not draft.is_symlink():
                text = draft.read_text(encoding="utf-8")
                if not text or text.startswith(SEAL):
                    draft.unlink()


def put_whole(path: Path, text: str, *, over: Callable[[str], bool] | None) -> None:
    """Write the file at `path`, its owner's alone, whole or not at all.

    It takes the place of nothing but a file that is `over`'s to be replaced still: a person may have edited it while
    they were asked.

    Raises:
        FileExistsError: Something else is there; it was left as it is.
        OSError: Nothing was written.
    """
    handle, name = tempfile.mkstemp(prefix=".draft.", dir=path.parent)
    draft = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        draft.chmod(0o600)
        if over is None:
            os.link(draft, path)
        elif path.is_symlink() or not path.is_file() or not over(path.read_text(encoding="utf-8", errors="replace")):
            raise FileExistsError(errno.EEXIST, "it was edited meanwhile, and left as it is", str(path))
        else:
            draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
