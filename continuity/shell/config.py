"""Finds and reads the user's settings; with the clock and the command line the only reader of the environment.

User-owned files only: nothing in a repository can choose an executable, a destination or a folder.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, cast

from pydantic import ValidationError

from continuity import places
from continuity.places import PlaceRefused, Places
from continuity.shell.settings import CompatibleSettings, RepositorySettings, Settings, resolved

OUR_CONFIG = "TAU_CONTINUITY_CONFIG"
COMPATIBLE_CONFIG = "TAU_BASIC_MEMORY_CONFIG"
STATE_HOME = places.STATE_HOME
TAU_HOME = places.TAU_HOME

_LARGEST_BYTES = 1_000_000
_GENERAL = ("kind", "general")
"""In the compatible file the top is a profile too, and may say which; it says nothing new."""


class SettingsError(Exception):
    """The settings cannot be used, and none were: memory stays off until the file is mended.

    It names file, key and remedy and never repeats a value, which may be a credential in the wrong place.
    """

    def __init__(self, path: Path | None, key: str | None, remedy: str) -> None:
        super().__init__(": ".join(str(part) for part in (path, key, remedy) if part is not None))
        self.path = path
        self.key = key
        self.remedy = remedy


class Loaded(NamedTuple):
    """Settings as they apply, and where they came from."""

    settings: Settings
    path: Path | None
    """Null when there is no file and everything is at its default."""
    ignored_keys: tuple[str, ...]
    """Keys of the compatible file that mean nothing to us."""


def environment() -> Mapping[str, str]:
    """Return a copy of this process's environment."""
    return dict(os.environ)


def load_places(environ: Mapping[str, str], home: Path) -> Places:
    """Return where Tau's home and our state are for this user.

    Raises:
        SettingsError: A variable that names a folder is no absolute path.
    """
    with _explained():
        return places.places_of(environ, home)


def load_settings(environ: Mapping[str, str], home: Path) -> Loaded:
    """Return the settings of the user at `home`: our own file, else the compatible one, else the defaults.

    A file that a variable names must exist; the places looked into by default need not hold one.

    Raises:
        SettingsError: A file is named and not there, or cannot be read, or a key in it cannot be used.
    """
    where = load_places(environ, home)
    for variable, usual, ours in (
        (OUR_CONFIG, where.settings, True),
        (COMPATIBLE_CONFIG, where.compatible_settings, False),
    ):
        named = _named(environ, variable, home)
        if named is not None or usual.exists():
            return _distinct(read_settings(named or usual, ours=ours), home)
    return Loaded(Settings(), None, ())


def _distinct(loaded: Loaded, home: Path) -> Loaded:
    """Two names of one folder would leave it to their order which entry decides; texts that differ do not tell it."""
    seen: dict[Path, int] = {}
    for number, entry in enumerate(loaded.settings.repositories):
        first = seen.setdefault(resolved(places.expanded(entry.root, home)), number)
        if first != number:
            remedy = f"is the folder of repositories.{first} by another name; remove one of the two"
            raise SettingsError(loaded.path, f"repositories.{number}.root", remedy)
    return loaded


def read_settings(path: Path, *, ours: bool) -> Loaded:
    """Return the settings in one file. In our own a key we do not know is refused, in the compatible one listed.

    Raises:
        SettingsError: As for `load_settings`.
    """
    found = _object(path)
    ignored: tuple[str, ...] = ()
    if not ours:
        found, ignored = _known(found)
    kind = Settings if ours else CompatibleSettings
    try:
        settings = kind.model_validate_json(json.dumps(found))
    except ValidationError as error:
        raise _fault(path, error) from None  # a chained one would print the values
    return Loaded(settings, path, ignored)


def _named(environ: Mapping[str, str], variable: str, home: Path) -> Path | None:
    with _explained():
        return places.named(environ, variable, home)


@contextmanager
def _explained() -> Generator[None]:
    try:
        yield
    except PlaceRefused as error:
        raise SettingsError(None, error.variable, error.remedy) from None


def _object(path: Path) -> dict[str, object]:
    try:
        data: object = json.loads(_text(path))
    except json.JSONDecodeError as error:
        where = f"line {error.lineno} column {error.colno}"
        raise SettingsError(path, None, f"is not JSON at {where}; an empty file needs at least {{}}") from None
    except ValueError:
        raise SettingsError(path, None, "holds a number of too many digits") from None
    except RecursionError:
        raise SettingsError(path, None, "is nested too deeply to be settings") from None
    if not isinstance(data, dict):
        raise SettingsError(path, None, 'must hold one JSON object, such as {"project": "notes"}')
    return cast("dict[str, object]", data)


def _text(path: Path) -> str:
    try:
        # Opened so, a pipe that nobody writes to is not waited for.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise SettingsError(path, None, "is no regular file; name one that is")
            data = file.read(_LARGEST_BYTES + 1)
    except FileNotFoundError:
        raise SettingsError(path, None, "does not exist; create it or unset the variable that names it") from None
    except OSError as error:
        raise SettingsError(path, None, f"cannot be read: {error.strerror}") from None
    if len(data) > _LARGEST_BYTES:
        raise SettingsError(path, None, "is too large to be settings")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise SettingsError(path, None, "is not UTF-8; save it as UTF-8") from None


def _known(found: Mapping[str, object]) -> tuple[dict[str, object], tuple[str, ...]]:
    """Split off keys that mean nothing to us, at the top and in each repository."""
    ignored = [key for key, value in found.items() if key not in Settings.model_fields and (key, value) != _GENERAL]
    kept = {key: value for key, value in found.items() if key in Settings.model_fields}
    repositories = kept.get("repositories")
    if isinstance(repositories, list):
        entries = cast("list[object]", repositories)
        kept["repositories"] = [_entry(number, entry, ignored) for number, entry in enumerate(entries)]
    return kept, tuple(ignored)


def _entry(number: int, entry: object, ignored: list[str]) -> object:
    if not isinstance(entry, dict):
        return entry
    told = cast("dict[str, object]", entry)
    unknown = [key for key in told if key not in RepositorySettings.model_fields]
    ignored += [f"repositories.{number}.{key}" for key in unknown]
    return {key: value for key, value in told.items() if key not in unknown}


def _fault(path: Path, error: ValidationError) -> SettingsError:
    """The first fault of a file. The validator's own words never hold the value, only what was expected."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    key = ".".join(str(part) for part in first["loc"] if part not in {"Cadence", "literal['every']"}) or None
    if first["type"] == "extra_forbidden":
        return SettingsError(path, key, "is no setting of ours; remove it or mend its name")
    if first["loc"][:1] == ("cadence",) and len(first["loc"]) < 3:
        return SettingsError(path, key, 'must be "every" or {"characters": 4000, "minutes": 10}')
    return SettingsError(path, key, first["msg"].removeprefix("Input "))
