"""The commands that settle one open thing with a person's say: `probe` reads now, `resolve` records what was decided.

Nothing but click is imported until one of them runs. What both may do is in `shell.online`; here it is put in words.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Coroutine
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from continuity.console import (
    FINDINGS,
    MISUSE,
    SOUND,
    UNREADABLE,
    fail,
    helped,
    is_terminal,
    out,
    say,
)
from continuity.settle_texts import DONE, announce, print_json, show_call, show_probe, show_sent

if TYPE_CHECKING:
    from continuity.commands import Resolve, ResolveCall
    from continuity.memory.server import ServerSpec
    from continuity.places import Places
    from continuity.shell.online import Standing
    from continuity.shell.settings import Settings
    from continuity.shell.unattended import Visitor
    from journal.events.writes import Decision

_REASON_CHARS = 2_000
_where = click.option(
    "--in",
    "where",
    type=click.Path(path_type=Path, readable=False),
    metavar="PATH",
    help="A journal, or a folder of them; by default all of this user.",
)
_json = click.option("--json", "as_json", is_flag=True, help="Print JSON; its schema is in schemas/cli.")


def _reported[**P](command: Callable[P, None]) -> Callable[P, None]:
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
            _refer(error)
        except JournalError as error:
            fail(str(error), "nothing was recorded; `continuity audit FILE` says what is wrong", UNREADABLE)
        except KeyboardInterrupt:
            say("interrupted: what was recorded so far holds, and no server is left running")
            raise

    return run


def _refer(error: Exception) -> NoReturn:
    hint = "settle it there with `/bm-pending`, or here once that process has ended"
    fail(f"{error}; nothing was recorded", hint, FINDINGS)


@click.command(
    short_help="Read now what became of a write.",
    help=helped(
        """
        continuity probe 3f2a9c1b04
        continuity probe 3f2a9c1b04 --in SESSION.journal --json
        """,
        """
        Read now what became of one write that `continuity unproven` lists: by its address, by its title, by search.
        Every read is shown, what they prove together, and what that means. Nothing is written to memory.

        It is recorded in the write's journal, unless a running process has that open. The server that the settings name
        is started for it. The exit code is 0 when the question is settled, 1 when it is still open, 2 for misuse, 3 when
        the journal or the server cannot be reached.
        """,
    ),
)
@click.argument("reference", metavar="REF")
@_where
@_json
@_reported
def probe(reference: str, *, where: Path | None, as_json: bool) -> None:
    """Read now what became of a write."""
    from continuity.shell.online import read, visitor

    standing = _standing(reference, where)
    if standing.item.kind == "call":
        show_call(standing, as_json=as_json)
        raise click.exceptions.Exit(FINDINGS)
    _, settings, spec = _server()
    say(f"asking the memory server about {standing.item.short} ...")
    asked = _run(lambda: read(standing, spec, settings.timeout_seconds, visitor()))
    if asked.again:
        say("somebody worked in the journal while it was being read for; everything was read again")
    if asked.settled is None:
        fail(
            f"the memory server cannot be asked: {asked.error}",
            "nothing was recorded; see `command` in the settings",
            UNREADABLE,
        )
    if not asked.settled.looks:
        out(f"{standing.item.short} was settled by somebody else meanwhile")
        raise click.exceptions.Exit(SOUND)
    raise click.exceptions.Exit(show_probe(standing, asked.settled, as_json=as_json))


@click.command(
    short_help="Record what you decided about a write or a call.",
    help=helped(
        """
        continuity resolve 3f2a9c1b04 --abandon --reason "the work moved on"
        continuity resolve 3f2a9c1b04 --rewrite --reason "proven lost" --yes
        continuity resolve 3f2a9c1b04 --accept --reason "I read the note at its address"
        """,
        """
        Settle what reading could not, with a reason that is kept. Nothing recorded before is changed.

        --accept counts the note that a probe found as done, --abandon lets go of it, --rewrite sends it once more, as a
        new note from the text that is kept; that is allowed only where nothing is stored and nothing can land any more.
        For a tool call only the first two are possible.

        What a running session has open is settled there, with /bm-pending.
        """,
    ),
)
@click.argument("reference", metavar="REF")
@click.option("--accept", "decision", flag_value="accept", help="Count what was found as done.")
@click.option("--abandon", "decision", flag_value="abandon", help="Let go of it.")
@click.option("--rewrite", "decision", flag_value="rewrite", help="Send it again, once, as a new note.")
@click.option("--reason", metavar="TEXT", help="Why; kept masked in the journal.")
@click.option("--yes", is_flag=True, help="Do it without asking.")
@_where
@_json
@_reported
def resolve(
    reference: str, *, decision: Decision | None, reason: str | None, yes: bool, where: Path | None, as_json: bool
) -> None:
    """Record what you decided about a write or a call."""
    from continuity.shell.online import visitor

    if decision is None:
        fail("nothing was decided", "say --accept, --abandon or --rewrite", MISUSE)
    if reason is None or not reason.strip():
        fail("a decision needs its reason", "say --reason TEXT", MISUSE)
    standing = _standing(reference, where)
    _unattended(standing)
    comes = visitor()
    _allowed(standing, decision, comes)
    announce(standing, decision)
    if not yes:
        _agreed()
    _carried_out(standing, decision, reason.strip(), comes, as_json=as_json)


def _unattended(standing: Standing) -> None:
    from journal.errors import JournalLocked
    from journal.lock import holder

    owner = holder(standing.left.path)
    if owner.live:
        _refer(JournalLocked(standing.left.path, owner.record))


def _allowed(standing: Standing, decision: Decision, comes: Visitor) -> None:
    """Ask the core whether the decision may be made, before anybody is asked to agree to it."""
    from continuity.commands import CommandRejected
    from continuity.decide import decide
    from continuity.shell.unattended import once_opened

    item, short = standing.item, standing.item.short
    if item.kind == "call" and decision == "rewrite":
        fail(f"{short} is a call of {item.tool}, and a call is never made again", "--accept or --abandon it", FINDINGS)
    try:
        decide(once_opened(standing.left.states[item.branch], comes), _command(standing, decision, ""))
    except CommandRejected as refused:
        fail(f"{short} cannot be settled so: {refused.reason}", f"`continuity probe {short}` reads now", FINDINGS)
    if decision == "rewrite" and _text_is_gone(standing):
        what = f"the text of {short} was erased, so it cannot be written again; nothing was changed"
        fail(what, "--abandon lets go of it", FINDINGS)


def _text_is_gone(standing: Standing) -> bool:
    from journal.reader import open_reader

    capture = standing.capture
    if capture is None or capture.handoff_sha256 is None:
        return True
    with open_reader(standing.left.path) as reader:
        return reader.body(capture.handoff_sha256) is None


def _command(standing: Standing, decision: Decision, reason: str) -> Resolve | ResolveCall:
    from continuity.commands import Resolve, ResolveCall
    from continuity.shell.desk import kept
    from journal.ids import CallId, CaptureId

    digest, _ = kept(reason)
    item = standing.item
    if item.kind == "capture" or decision == "rewrite":
        return Resolve(capture_id=CaptureId(item.reference), decision=decision, reason_sha256=digest)
    return ResolveCall(call_id=CallId(item.reference), decision=decision, reason_sha256=digest)


def _agreed() -> None:
    if not is_terminal(sys.stdin):
        fail("nothing was recorded, for there is nobody to ask", "say --yes to do it", MISUSE)
    if not click.confirm("Do it?", err=True):
        say("nothing was recorded")
        raise click.exceptions.Exit(SOUND)


def _carried_out(standing: Standing, decision: Decision, reason: str, comes: Visitor, *, as_json: bool) -> None:
    """Record the decision, and make the new attempt it may ask for."""
    from continuity.commands import CommandRejected
    from continuity.privacy import mask
    from continuity.settle_shapes import resolved
    from continuity.shell.desk import kept
    from continuity.shell.online import Rewriting, decided

    masked = mask(reason).text[:_REASON_CHARS]
    command, (_, bodies) = _command(standing, decision, masked), kept(masked)
    how = None
    if decision == "rewrite":
        _, settings, spec = _server()
        how = Rewriting(spec, settings, _Stderr())
    try:
        sent = _run(lambda: decided(standing, command, bodies, comes, how))
    except CommandRejected as refused:
        fail(
            f"{standing.item.short} was not settled: {refused.reason}",
            "look again with `continuity unproven`",
            FINDINGS,
        )
    view = resolved(standing, decision, sent)
    if as_json:
        print_json(view)
    else:
        out(f"{standing.item.short}: {DONE[decision]}")
    if sent is not None:
        raise click.exceptions.Exit(show_sent(standing, sent, as_json=as_json))


class _Stderr:
    """Says what the machine has to say. Where to and how a session saves is its own person's to be told."""

    def say(self, topic: str, text: str, level: str = "info") -> None:
        del level
        if not topic.startswith("destination:"):
            say(text)


# -- what both need ----------------------------------------------------------


def _standing(reference: str, where: Path | None) -> Standing:
    """Return the one open thing that is meant. What could not be read of other journals is said."""
    from continuity.pending import NoSuchOpen, SeveralOpen, matching
    from continuity.shell.online import everything_open

    folder = where if where is not None else _places().state
    try:
        found = everything_open(folder)
    except OSError as error:
        fail(f"{error.filename}: {error.strerror}", "make it accessible, or name another with --in", UNREADABLE)
    for path, trouble in found.troubles:
        say(f"warning: {path} was passed over: {trouble}")
    try:
        return matching(found.standing, reference)
    except NoSuchOpen as error:
        hint = f"{error.hint}; it may stand in what could not be read" if found.troubles else error.hint
        fail(str(error), hint, UNREADABLE if found.troubles else MISUSE)
    except SeveralOpen as error:
        fail(str(error), f"{error.hint}, with --in PATH" if "journal" in error.hint else error.hint, MISUSE)


def _places() -> Places:
    from continuity.shell.config import SettingsError, environment, load_places

    try:
        return load_places(environment(), Path.home())
    except SettingsError as error:
        fail(str(error), "unset it, or give an absolute path", MISUSE)


def _server() -> tuple[Places, Settings, ServerSpec]:
    """Return what the settings say of the server, if it may be started."""
    from continuity.memory.errors import CommandRefused
    from continuity.shell.config import SettingsError, environment, load_settings
    from continuity.shell.serving import server_spec

    places, environ, home = _places(), environment(), Path.home()
    try:
        loaded = load_settings(environ, home)
    except SettingsError as error:
        fail(str(error), "mend the settings; nothing was done", MISUSE)
    spec = server_spec(loaded, places, environ, home=home, cwd=Path.cwd())
    if isinstance(spec, CommandRefused):
        fail(f"the memory server cannot be started: {spec}", "see `command` in the settings", UNREADABLE)
    return places, loaded.settings, spec


def _run[T](job: Callable[[], Coroutine[Any, Any, T]]) -> T:
    import anyio

    return anyio.run(job)
