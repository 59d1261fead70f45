"""The command `paths`: says where settings, journals and the extension are. Nothing is made."""

from __future__ import annotations

from pathlib import Path

import click

from continuity.cli.common import our_places, package_folder
from continuity.console import MISUSE, UNREADABLE, escaped, fail, helped, json_option, out


@click.command(
    short_help="Say where everything is.",
    help=helped(
        """
        continuity paths
        continuity paths --json
        """,
        """
        Say where settings, journals and the extension are, and which of them exist. Nothing is made.

        `packages` is where this very program lies, `installed` the folder of what `continuity install` put there for Tau.
        Of the cached lists of the memory server's tools those are named that there are.
        """,
    ),
)
@json_option
def paths(*, as_json: bool) -> None:
    """Say where everything is."""
    from continuity.memory.inventory import InventoryCache
    from continuity.shell.config import COMPATIBLE_CONFIG, OUR_CONFIG

    places = our_places()
    found = {
        "tau_home": places.tau_home,
        "settings": _named(OUR_CONFIG) or places.settings,
        "compatible_settings": _named(COMPATIBLE_CONFIG) or places.compatible_settings,
        "extension": places.shim,
        "state": places.state,
        "packages": package_folder(),
        "installed": places.packages,
    }
    try:
        inventories = InventoryCache(places.state).files()
    except OSError:  # of its folder it is said below
        inventories = ()
    if as_json:
        import json

        told = {name: str(path) for name, path in found.items()}
        kept = {"inventories": [str(path) for path in inventories]}
        out(json.dumps({"schema": "continuity.paths/1", **told, **kept}, indent=2))
        return
    width = max(map(len, found))
    closed: list[str] = []
    for name, path in [*found.items(), *(("inventory", path) for path in inventories)]:
        out(f"{name.replace('_', ' '):<{width}}  {escaped(str(path))}{_presence(path, closed)}")
    if closed:
        fail("; ".join(closed), "make it accessible to see what is there", UNREADABLE)


def _presence(path: Path, closed: list[str]) -> str:
    """What is to be said of a path that is not simply there; why it could not be looked at goes to `closed`."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return "  (not there)"
    except OSError as error:
        closed.append(f"{path}: {error.strerror}")
        return "  (cannot be looked at)"
    return ""


def _named(variable: str) -> Path | None:
    """The settings file that a variable names, as the extension understands it."""
    from continuity.places import PlaceRefused, named
    from continuity.shell.config import environment

    try:
        return named(environment(), variable, Path.home())
    except PlaceRefused as error:
        fail(f"{error.variable}: {error.remedy}", "unset it, or give an absolute path", MISUSE)
