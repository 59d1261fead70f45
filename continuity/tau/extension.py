"""Tau's entry to us: `setup` registers and subscribes, starts nothing and waits for nothing but a cold inventory."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path

import anyio

from continuity.memory.calls import Json, Ticket
from continuity.memory.errors import CommandRefused
from continuity.memory.inventory import Inventory, InventoryCache, inventory_key
from continuity.memory.server import ServerSpec
from continuity.memory.tools import Bridge, ToolReply, bridge, cancelled_reply
from continuity.places import Places
from continuity.shell.bridging import Call, forward
from continuity.shell.config import Loaded, SettingsError, environment, load_places, load_settings
from continuity.shell.serving import server_spec
from continuity.shell.settings import Settings
from continuity.tau.boundaries import TauBoundaries
from continuity.tau.checkpoint_command import checkpoint
from continuity.tau.commands import COMMANDS, Run, register
from continuity.tau.host import Tau, register_command, subscribe, when_quit, when_started
from continuity.tau.host.beside import taken_commands, taken_tools
from continuity.tau.host.insertion import Insertion
from continuity.tau.host.model_call import is_lookup
from continuity.tau.host.tools import ToolRun, register_tool
from continuity.tau.journal_command import timeline
from continuity.tau.last_command import last
from continuity.tau.pause_command import switch
from continuity.tau.pending_command import pending
from continuity.tau.remember_command import remembered
from continuity.tau.resident import Configuration, Resident, resident
from continuity.tau.standing import second, serve
from continuity.tau.status_command import shown, status
from continuity.tau.why_command import why
from journal.disk import make_folder

MANY_TOOLS = 60
"""More tools than this are said: each costs its schema in every request."""

OFF_THE_RECORD = "Off the record: no checkpoint is made. /bm-resume first; what was said meanwhile stays out."

PAGE = "continuity-status"
"""The status page's name where another extension has taken `bm-status`."""


def setup(tau: Tau) -> None:
    """Register tools and commands and listen; called by Tau at start and at every reload.

    A settings file that cannot be used leaves the commands, which say so, and
    nothing else.
    """
    if is_lookup():
        return
    living, twice = resident(), second(tau)
    if twice is not None:
        living.presence.say("twice", twice, "warning")
        return
    _set_up(tau, living)
    serve(tau)


def _set_up(tau: Tau, living: Resident) -> None:
    configured, trouble = _configured()
    if trouble is not None:
        _off(tau, living, trouble)
        return
    insertion = Insertion(tau, living.outstanding, lambda: secrets.token_hex(16))
    boundaries = TauBoundaries(tau, living, insertion, configured)
    _offer_commands(tau, living, boundaries)
    ignored = configured.loaded.ignored_keys
    if ignored:
        living.presence.say("ignored", f"Continuity passed over unknown settings: {', '.join(ignored)}.")
    if boundaries.down is None:
        for topic, text in _offer_tools(tau, living, boundaries, configured):
            living.presence.say(topic, text)
    subscribe(tau, boundaries)


def _offer_commands(tau: Tau, living: Resident, boundaries: TauBoundaries) -> None:
    """Register the commands that no other extension has; the status page is to be had in any case."""
    runs, taken = _runs(living, boundaries), taken_commands(tau)
    register(tau, runs, taken)
    theirs = [f"/{command.name}" for command in COMMANDS if command.name in taken]
    if "bm-status" in taken:
        description = "Where memory goes: Continuity's own page"
        register_command(tau, PAGE, runs["bm-status"], description=description, usage=f"/{PAGE}")
    if theirs and boundaries.down is None:
        page = f" /{PAGE} shows Continuity's page." if "bm-status" in taken else ""
        living.presence.say("commands", f"Another extension has the commands {', '.join(theirs)}.{page}")


def _off(tau: Tau, living: Resident, trouble: str) -> None:
    """Offer the commands alone, and end what an earlier generation with usable settings may have left running."""
    living.presence.say("settings", f"Continuity is off: {trouble}", "error")
    register(tau, {"bm-status": lambda _: status(None, living.link, trouble, living.clock.now_ms())})
    user = object()

    def started() -> None:
        living.enter(user)
        living.presence.use(tau)

    async def ending() -> None:
        if living.left(user):  # else a session that began with usable settings goes on
            await living.quit(Settings().exit_timeout_seconds)

    when_started(tau, started)
    when_quit(tau, ending)


def _configured() -> tuple[Configuration, str | None]:
    """Return what the user set, and what is wrong with it if it cannot be used."""
    environ, home, cwd = environment(), Path.home(), Path.cwd()
    try:
        places, loaded = load_places(environ, home), load_settings(environ, home)
        make_folder(places.state)
    except (SettingsError, OSError) as error:
        nothing = Loaded(Settings(), None, ())
        nowhere = Configuration(
            nothing, Places(home, home), home, CommandRefused(nothing.settings.command, "not-found")
        )
        return nowhere, str(error)
    spec = server_spec(loaded, places, environ, home=home, cwd=cwd)
    return Configuration(loaded, places, home, spec), None


def _runs(living: Resident, boundaries: TauBoundaries) -> Mapping[str, Run]:
    """What each command does, asked anew each time: a session comes and goes while its commands stay."""

    def switched(arguments: str, *, off: bool) -> str | None:
        return switch(boundaries.session, living.owner, boundaries.anchor, arguments, off=off)

    def paged(run: Run) -> Run:
        return lambda words: living.presence.page(run(words))

    return {
        "bm-status": paged(lambda _: _shown(living, boundaries)),
        "bm-checkpoint": lambda words: checkpoint(boundaries.session, living.owner, words),
        "bm-last": lambda words: last(boundaries.session, living.owner, living.clock.now_ms(), words),
        "bm-pause": partial(switched, off=True),
        "bm-resume": partial(switched, off=False),
        "bm-remember": lambda words: remembered(boundaries.session, living.owner, words),
        "bm-pending": paged(partial(_open, living, boundaries)),
        "bm-journal": paged(lambda words: timeline(boundaries.session, living.owner, words)),
        "bm-why": paged(lambda words: why(boundaries.session, living.owner, words)),
    }


def _shown(living: Resident, boundaries: TauBoundaries) -> str | None:
    def page() -> str:
        if boundaries.down is not None:
            return f"Continuity\n  rivals       {boundaries.down}"
        adhoc = living.adhoc.path if boundaries.apart else None
        now_ms, unsaid = living.clock.now_ms(), living.presence.unsaid
        return status(boundaries.session, living.link, None, now_ms, adhoc=adhoc, unsaid=unsaid)

    return shown(boundaries.session, living.owner, page)


def _open(living: Resident, boundaries: TauBoundaries, arguments: str) -> str | None:
    return pending(boundaries.session, living.adhoc.settling, living.owner, living.clock.now_ms(), arguments)


def _offer_tools(
    tau: Tau, living: Resident, boundaries: TauBoundaries, configured: Configuration
) -> Iterator[tuple[str, str]]:
    """Register the tools of the cached inventory, or of the server's own list; yield what is to be said of them."""
    settings = configured.loaded.settings
    inventory = _inventory(configured)
    if not isinstance(configured.server, ServerSpec):
        return  # why there is no server is said where it is wanted
    if inventory is None:
        yield "tools", "Memory did not list its tools in time; /reload offers them once it has."
        return
    offered, taken = bridge(inventory.tools, allow=settings.tools), taken_tools(tau)
    theirs = [tool.name for tool in offered.tools if tool.name in taken]
    if theirs:
        yield "taken", f"Another extension has tools of these names, and ours are left out: {', '.join(theirs)}."
    for tool in offered.tools:
        if tool.name in taken:
            continue
        call = Call(tool, {}, Ticket(), settings.timeout_seconds)
        register_tool(tau, tool, partial(_called, living, boundaries, call))
    yield from _said_of(offered)


def _inventory(configured: Configuration) -> Inventory | None:
    spec, settings = configured.server, configured.loaded.settings
    if not isinstance(spec, ServerSpec):
        return None
    cache, key = InventoryCache(configured.places.state), inventory_key(spec)
    kept = cache.load(key).inventory
    found = kept or _discovered(spec, settings.discovery_seconds)
    if found is not None and kept is None:
        with suppress(OSError):
            cache.save(key, found)
    return found


def _said_of(offered: Bridge) -> Iterator[tuple[str, str]]:
    if offered.left_out:
        yield "left-out", f"Tools without a usable schema were left out: {', '.join(offered.left_out)}."
    if offered.unknown:
        yield "unknown", f"`tools` names what the server does not offer: {', '.join(offered.unknown)}."
    if len(offered.tools) > MANY_TOOLS:
        yield "many", f"{len(offered.tools)} memory tools are offered; `tools` in the settings limits them."


async def _called(
    living: Resident, boundaries: TauBoundaries, call: Call, arguments: Mapping[str, Json], run: ToolRun
) -> ToolReply:
    ticket = Ticket()
    run.if_aborted = lambda: cancelled_reply(call.spec, ticket)
    session = boundaries.session
    desk = session.desk if session is not None and session.desk.ledger is not None else None
    wanted = call._replace(arguments=arguments, ticket=ticket)
    elsewhere = boundaries.recorder if boundaries.apart else None
    job = partial(forward, boundaries.link, desk, wanted, elsewhere=elsewhere)
    reply = await living.owner.call(f"tool {call.spec.original}", job, together=True)
    return reply or cancelled_reply(call.spec, ticket)


def _discovered(spec: ServerSpec, seconds: float) -> Inventory | None:
    """Ask a server of its own for its tools in a joined thread; it is gone when this returns."""
    found: list[Inventory] = []

    async def ask() -> None:
        from continuity.memory.connection import connect
        from continuity.memory.errors import MemoryTrouble

        try:
            with anyio.move_on_after(seconds):
                async with connect(spec, seconds=seconds) as connection:
                    found.append(await connection.list_tools(seconds))
        except MemoryTrouble:
            return

    thread = threading.Thread(target=lambda: anyio.run(ask), name="continuity-discovery", daemon=True)
    thread.start()
    thread.join()
    return found[0] if found else None
