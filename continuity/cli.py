"""The command line: what needs this machine is here, what works on a journal alone is mounted from `replay`.

Nothing but click is imported until a command runs, so that `continuity --help` stays quick.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, override

import click

from continuity.console import (
    FINDINGS,
    MISUSE,
    SOUND,
    UNREADABLE,
    escaped,
    fail,
    guarded,
    helped,
    is_terminal,
    out,
    say,
)
from continuity.settle_commands import probe, resolve

if TYPE_CHECKING:
    from continuity.places import Places
    from continuity.shim import Plan

GROUP = "continuity.commands"
"""Entry points of this group are mappings of name to command; ours is `replay.commands:commands`."""


class _Commands(click.Group):
    """Our own commands, then those that other packages bring. None of them ends in a traceback of stdout's."""

    @override
    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        with guarded():
            return super().make_context(info_name, args, parent, **extra)
        raise click.exceptions.Exit(SOUND)  # nobody read the help

    @override
    def invoke(self, ctx: click.Context) -> object:
        with guarded():
            return super().invoke(ctx)
        raise click.exceptions.Exit(SOUND)

    @override
    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*self.commands, *(name for name in self._brought if name not in self.commands)]

    @override
    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return self.commands.get(cmd_name) or self._brought.get(cmd_name)

    @cached_property
    def _brought(self) -> Mapping[str, click.Command]:
        from importlib.metadata import entry_points

        found: dict[str, click.Command] = {}
        for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
            try:
                brought: Mapping[str, click.Command] = point.load()
            except ImportError as error:
                say(f"warning: the commands of {point.value} are missing: {error}")
                continue
            for name, command in brought.items():
                found.setdefault(name, command)
        return found


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    help=helped(
        """
        continuity install --dry-run               what installing into Tau would do
        continuity log SESSION.journal             what was recorded, newest first
        continuity audit SESSION.journal           what of it can be proven
        continuity unproven                        what is not settled, why, and what to do
        """,
        """
        Carries objective, decisions and next action of Tau sessions into Basic Memory, and proves what it did.

        Exit codes: 0 sound, 1 findings, 2 misuse, 3 something could not be read or written. Data goes to stdout,
        everything else to stderr.
        """,
    ),
)
@click.version_option(package_name="tau-continuity", message="%(package)s %(version)s")
def main() -> None:
    """Carry a session's knowledge on, and prove it."""


@main.command(
    short_help="Say where everything is.",
    help=helped(
        """
        continuity paths
        continuity paths --json
        """,
        """
        Say where settings, journals and the extension are, and which of them exist. Nothing is made.

        Of the cached lists of the memory server's tools those are named that there are.
        """,
    ),
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON; its schema is in schemas/cli.")
def paths(*, as_json: bool) -> None:
    """Say where everything is."""
    from continuity.memory.inventory import InventoryCache
    from continuity.shell.config import COMPATIBLE_CONFIG, OUR_CONFIG

    places = _places()
    found = {
        "tau_home": places.tau_home,
        "settings": _named(OUR_CONFIG) or places.settings,
        "compatible_settings": _named(COMPATIBLE_CONFIG) or places.compatible_settings,
        "extension": places.shim,
        "state": places.state,
        "packages": _package_folder(),
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
        out(f"{name.replace('_', ' '):<{width}}  {escaped(str(path))}{_standing(path, closed)}")
    if closed:
        fail("\n       ".join(closed), "make it accessible to see what is there", UNREADABLE)


def _standing(path: Path, closed: list[str]) -> str:
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
    from continuity.places import expanded

    value = os.environ.get(variable)
    path = expanded(value, Path.home()) if value else None
    if path is not None and not path.is_absolute():
        fail(f"{variable}: must name an absolute path", "unset it, or give an absolute path", MISUSE)
    return path


def _places() -> Places:
    from continuity.shell.config import SettingsError, load_places

    try:
        return load_places(os.environ, Path.home())
    except SettingsError as error:
        fail(str(error), "unset it, or give an absolute path", MISUSE)


@main.command(
    short_help="Put the extension into Tau.",
    help=helped(
        """
        continuity install --dry-run
        continuity install --yes
        """,
        """
        Write one small file that leads Tau to this package. A file that is not ours, or that somebody edited, is
        never overwritten; doing it twice is doing it once. Tau itself is not touched.

        Without --yes it shows what it would do and asks, if there is a person to ask.
        """,
    ),
)
@click.option("--dry-run", is_flag=True, help="Show what would be done, and do nothing.")
@click.option("--yes", is_flag=True, help="Do it without asking.")
def install(*, dry_run: bool, yes: bool) -> None:
    """Put the extension into Tau."""
    from continuity.shim import plan

    if dry_run and yes:
        fail("--dry-run and --yes exclude each other", "give one of them", MISUSE)
    try:
        planned = plan(_places().shim, _package_folder())
    except OSError as error:
        fail(f"{error.filename}: {error.strerror}", "make it readable, or move it away", UNREADABLE)
    _show(planned)
    if planned.standing != "current" and not dry_run and (yes or _agreed()):
        _write(planned)


def _package_folder() -> Path:
    from continuity.shim import Misplaced, package_folder

    try:
        return package_folder()
    except Misplaced as error:
        fail(f"the packages lie in different folders: {error}", "run the `continuity` of one installation", FINDINGS)


def _show(planned: Plan) -> None:
    """Say what would be done; end here if something is in the way."""
    path = escaped(str(planned.path))
    if planned.foreign is not None:
        hint = "move it away, or remove it, and install again"
        fail(f"{planned.foreign} is not ours and is never overwritten", hint, FINDINGS)
    if planned.standing == "current":
        out(f"{path} is up to date")
        return
    out(f"{'make' if planned.standing == 'absent' else 'renew'} {path}")
    out(f"  which adds {escaped(str(planned.folder))} to the end of Tau's path and loads continuity.tau.extension")


def _agreed() -> bool:
    import sys

    if not is_terminal(sys.stdin):
        fail("nothing was written, for there is nobody to ask", "say --yes to do it, --dry-run to look", MISUSE)
    if click.confirm("Do it?", err=True):
        return True
    say("nothing was written")
    raise click.exceptions.Exit(SOUND)


def _write(planned: Plan) -> None:
    from continuity.shim import install as put

    try:
        put(planned)
    except OSError as error:
        fail(f"{planned.path}: {error.strerror}", "nothing was written", UNREADABLE)
    out("done; Tau loads it at its next start, or after /reload")


main.add_command(probe)
main.add_command(resolve)
