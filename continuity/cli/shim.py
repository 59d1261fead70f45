"""Makes the one file Tau loads, which only leads to this package. It never replaces a file that it did not write."""

from __future__ import annotations

import errno
import hashlib
import os
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, NamedTuple

from journal.disk import make_folder

PACKAGES = ("continuity", "journal", "replay")
SEAL = "# Written by `continuity install`; sha256 of all that follows: "

_TEMPLATE = '''\
"""Leads Tau to Continuity. It adds one folder to the end of the path, so that Tau's own libraries win.

If Continuity cannot be loaded it says so when a session starts, and Tau works on without it.
"""

import shlex
import sys
from importlib.util import find_spec

FOLDER = {folder!r}
IS_CHECKOUT = {is_checkout!r}
PACKAGES = {packages!r}


def _folder_of(name):
    """Where the package would be imported from; None if it would not be found."""
    try:
        spec = find_spec(name)
    except (ImportError, ValueError):
        return None
    places = list(spec.submodule_search_locations or ()) if spec is not None else []
    suffix = "/" + name
    return places[0][: -len(suffix)] if places and places[0].endswith(suffix) else None


def _trouble():
    """Why the packages found are not ours; None if they are."""
    folders = {{name: _folder_of(name) for name in PACKAGES}}
    if len(set(folders.values())) == 1 and None not in folders.values():
        return None
    missing = [name for name, folder in folders.items() if folder is None]
    if missing:
        return "not found: " + ", ".join(missing)
    return "found in different folders: " + ", ".join(f"{{name}} in {{folder}}" for name, folder in folders.items())


def _telling(trouble):
    """A stand-in that says once a session what is wrong and what helps."""
    install = f"uv pip install --python {{shlex.quote(sys.executable)}}"
    folder = shlex.quote(FOLDER)
    if IS_CHECKOUT:
        remedy = f"To mend it: {{install}} --editable {{folder}}"
    else:  # no index has the package
        remedy = f"To mend it, in a checkout of tau-continuity: {{install}} --target {{folder}} ."
    text = f"Continuity is not loaded, and nothing is remembered: {{trouble}}. It belongs in {{FOLDER}}. {{remedy}}"

    def tell(event, context):
        context.ui.notify(text, "warning")

    def setup(tau):
        tau.on("session_start", tell)

    return setup


if FOLDER not in sys.path:
    sys.path.append(FOLDER)

_reason = _trouble()
if _reason is None:
    try:
        from continuity.tau.extension import setup
    except Exception as error:  # Tau would drop the extension without a word
        _reason = f"{{type(error).__name__}}: {{error}}"

if _reason is not None:
    setup = _telling(_reason)
'''

type Standing = Literal["absent", "current", "outdated", "foreign"]


class Misplaced(Exception):
    """The packages do not lie in one folder, so a shim could only lead to a mixture; nothing was written."""


class Plan(NamedTuple):
    """What installing would do."""

    path: Path
    folder: Path
    """What the shim adds to the path of Tau."""
    standing: Standing
    foreign: Path | None
    """What is in the way, if anything is."""
    source: str


def source(folder: Path) -> str:
    """Return the shim that leads to the packages in `folder`: sealed, so that an edited one is recognised."""
    is_checkout = (folder / "pyproject.toml").exists()
    body = _TEMPLATE.format(folder=str(folder), is_checkout=is_checkout, packages=PACKAGES)
    return f"{SEAL}{_digest(body)}\n{body}"


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


def plan(path: Path, folder: Path) -> Plan:
    """Return what installing the shim at `path` would do; nothing is written.

    Raises:
        OSError: What is there cannot be read.
    """
    wanted = source(folder)
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
    put_whole(planned.path, planned.source, over=is_ours if planned.standing == "outdated" else None)


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
