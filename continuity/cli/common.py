"""What several commands share: where things are, what is open there, and words for what goes wrong. None is a command.

Nothing but click is imported until one of them is called.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Coroutine
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from continuity.console import FILE, FINDINGS, MISUSE, SOUND, UNREADABLE, fail, is_terminal, say

if TYPE_CHECKING:
    from continuity.memory.server import ServerSpec
    from continuity.places import Places
    from continuity.shell.online import Standing
    from continuity.shell.settings import Settings

in_option = click.option(
    "--in", "where", type=FILE, metavar="PATH", help="A journal, or a folder of them; by default all of this user."
)


def reported[**P](command: Callable[P, None]) -> Callable[P, None]:
    """Turn what can go wrong with a journal or its server into words and an exit code."""

    @wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        from continuity.shell.unattended import MovedOn, NoServer
        from journal.errors import JournalError, JournalLocked

        try:
            command(*args, **kwargs)
        except MovedOn:
            fail("somebody works in this journal at the moment; nothing was recorded", "try again later", FINDINGS)
        except NoServer:
            fail(
                "the memory server went away before everything was asked; nothing was recorded", "try again", UNREADABLE
            )
        except JournalLocked as error:
            refer_to_owner(error)
        except JournalError as error:
            fail(str(error), "nothing was recorded; `continuity audit FILE` says what is wrong", UNREADABLE)
        except KeyboardInterrupt:
            say("interrupted: what was recorded so far holds, and no server is left running")
            raise

    return run


def refer_to_owner(error: Exception) -> NoReturn:
    """End the command, for the journal is open elsewhere: `error` says by whom."""
    hint = "settle it there with `/bm-pending`, or here once that process has ended"
    fail(f"{error}; nothing was recorded", hint, FINDINGS)


def ask(nothing: str, hint: str) -> None:
    """Ask whether to do it. Unless somebody agrees the command ends here: `nothing` says what was not done."""
    if not is_terminal(sys.stdin):
        fail(f"{nothing}, for there is nobody to ask", hint, MISUSE)
    if not click.confirm("Do it?", err=True):
        say(nothing)
        raise click.exceptions.Exit(SOUND)


def standing_named(reference: str, where: Path | None) -> Standing:
    """Return the one open thing that is meant. What could not be read of other journals is said."""
    from continuity.pending import NoSuchOpen, SeveralOpen, matching
    from continuity.shell.online import Found, everything_open

    folder = where if where is not None else our_places().state
    made = where is not None or os.path.lexists(folder)  # our own folder is made with the first journal
    found = everything_open(folder) if made else Found((), ())
    for path, trouble in found.troubles:
        say(f"warning: {path} was passed over: {trouble}")
    try:
        return matching(found.standing, reference)
    except NoSuchOpen as error:
        hint = f"{error.hint}; it may stand in what could not be read" if found.troubles else error.hint
        fail(str(error), hint, UNREADABLE if found.troubles else MISUSE)
    except SeveralOpen as error:
        fail(str(error), error.hint, MISUSE)


def our_places() -> Places:
    """Return where Tau's home and our state are for this user."""
    from continuity.shell.config import SettingsError, environment, load_places

    try:
        return load_places(environment(), Path.home())
    except SettingsError as error:
        fail(str(error), "unset it, or give an absolute path", MISUSE)


def package_folder() -> Path:
    """Return the folder that holds our three packages."""
    from continuity.cli import shim

    try:
        return shim.package_folder()
    except shim.Misplaced as error:
        fail(f"the packages lie in different folders: {error}", "run the `continuity` of one installation", FINDINGS)


def our_server() -> tuple[Settings, ServerSpec]:
    """Return what the settings say of the server, if it may be started."""
    from continuity.memory.errors import CommandRefused
    from continuity.shell.config import SettingsError, environment, load_settings
    from continuity.shell.serving import server_spec

    places, environ, home = our_places(), environment(), Path.home()
    try:
        loaded = load_settings(environ, home)
    except SettingsError as error:
        fail(str(error), "mend the settings; nothing was done", MISUSE)
    spec = server_spec(loaded, places, environ, home=home, cwd=Path.cwd())
    if isinstance(spec, CommandRefused):
        fail(f"the memory server cannot be started: {spec}", "see `command` in the settings", UNREADABLE)
    return loaded.settings, spec


def run[T](job: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run what is asynchronous to its end."""
    import anyio

    return anyio.run(job)
