"""Offers memory's tools to Tau's agent and says how they differ from the server's. It waits for a cold inventory and no more."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import NamedTuple

import anyio

from continuity.memory.calls import Json, Ticket
from continuity.memory.inventory import Inventory, InventoryCache, inventory_key
from continuity.memory.server import ServerSpec
from continuity.memory.tools import PREFIX, Bridge, ToolReply, bridge, cancelled_reply, unserved_reply
from continuity.shell.bridging import Call, forward
from continuity.shell.saying import reason_down
from continuity.tau.boundaries import TauBoundaries
from continuity.tau.host import Tau
from continuity.tau.host.tools import ToolRun, register_tool
from continuity.tau.resident import Configuration, Resident

MANY_TOOLS = 60
"""More tools than this are said: each costs its schema in every request."""

_NAMED = 8
"""So many names are read in a notice."""


class Discovered(NamedTuple):
    """What a server of its own told of its tools, or in one of our words why it did not."""

    inventory: Inventory | None
    error: str | None = None


def offer_tools(
    tau: Tau,
    living: Resident,
    boundaries: TauBoundaries,
    configured: Configuration,
    taken: Collection[str] = (),
) -> Iterator[tuple[str, str]]:
    """Register the tools of the cached inventory, or of the server's own list; yield what is to be said of them.

    Names in `taken` are other extensions' tools: Tau keeps the first of a name, so ours get others.
    """
    settings, spec = configured.loaded.settings, configured.server
    if not isinstance(spec, ServerSpec):
        return  # why there is no server is said where it is wanted
    made = partial(bridge, allow=settings.tools, taken=taken)
    inventory, error = _known(configured, spec)
    offered = made(inventory.tools) if inventory is not None else None
    boundaries.listed = lambda listed: _news(offered, made(listed.tools), listed)
    if inventory is None or offered is None:
        boundaries.late = True  # whoever is late is listed in the background
        yield (
            "tools",
            f"Memory's tools are not offered: {reason_down(error)}. /reload offers them once it has listed them.",
        )
        return
    for tool in offered.tools:
        call = Call(tool, {}, Ticket(), settings.timeout_seconds)
        register_tool(tau, tool, partial(_called, living, boundaries, call))
    yield from _said_of(inventory, offered, taken)


def _known(configured: Configuration, spec: ServerSpec) -> Discovered:
    """Return what the cache knows, which costs no server, or else what the server says."""
    cache, key = InventoryCache(configured.places.state), inventory_key(spec)
    kept = cache.load(key).inventory
    if kept is not None:
        return Discovered(kept)
    found = discovered(spec, configured.loaded.settings.discovery_seconds)
    if found.inventory is not None:
        with suppress(OSError):
            cache.save(key, found.inventory)
    return found


def discovered(spec: ServerSpec, seconds: float) -> Discovered:
    """Ask a server of its own for its tools in a joined thread; it is gone when this returns.

    Asking takes at most `seconds`, and ending a server that will not end two more.
    """
    found: list[Discovered] = []

    async def ask() -> None:
        from continuity.memory.connection import connect
        from continuity.memory.errors import CallFailed, ConnectFailed
        from continuity.memory.transport import Grace

        until = anyio.current_time() + seconds
        try:
            async with connect(spec, seconds=seconds, grace=Grace(eof=1.0, term=0.5, kill=0.5)) as connection:
                found.append(Discovered(await connection.list_tools(until - anyio.current_time())))
        except ConnectFailed as error:
            found.append(Discovered(None, error.reason))
        except CallFailed as error:
            found.append(Discovered(None, error.code))

    thread = threading.Thread(target=lambda: anyio.run(ask), name="continuity-discovery", daemon=True)
    thread.start()
    thread.join()
    return found[0] if found else Discovered(None)


def _said_of(inventory: Inventory, offered: Bridge, taken: Collection[str]) -> Iterator[tuple[str, str]]:
    if inventory.notices:
        yield "listing", _cut_short(inventory)
    if offered.left_out:
        yield "left-out", f"Tools without a usable schema were left out: {_some(offered.left_out)}."
    if offered.unknown:
        yield "unknown", f"`tools` names what the server does not offer: {_some(offered.unknown)}."
    renamed = [f"{spec.name} is {spec.original}" for spec in offered.tools if PREFIX + spec.original in taken]
    if renamed:
        yield "taken", f"Another extension has tools of the same names, so ours got others: {_some(renamed)}."
    if len(offered.tools) > MANY_TOOLS:
        yield "many", f"{len(offered.tools)} memory tools are offered; `tools` in the settings limits them."


def _cut_short(inventory: Inventory) -> str:
    return f"Memory's list of tools is not whole: {_some(tuple(dict.fromkeys(inventory.notices)))}."


def _some(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def _news(offered: Bridge | None, now: Bridge, listed: Inventory) -> tuple[str, str] | None:
    """Return what a connected server's own list means for the agent, which has the one of the start until a reload."""
    if listed.notices:
        return "listing", _cut_short(listed)
    if offered is None:
        return "tools", "Memory has listed its tools; /reload offers them."
    if {spec.name: spec for spec in now.tools} != {spec.name: spec for spec in offered.tools}:
        return "tools", "Memory's tools have changed; /reload offers them as they are now."
    return None


async def _called(
    living: Resident, boundaries: TauBoundaries, call: Call, arguments: Mapping[str, Json], run: ToolRun
) -> ToolReply:
    if not boundaries.serves(call.spec.name):
        return unserved_reply(call.spec)
    ticket = Ticket()
    run.if_aborted = lambda: cancelled_reply(call.spec, ticket)
    session = boundaries.session
    desk = session.desk if session is not None and session.desk.ledger is not None else None
    wanted = call._replace(arguments=arguments, ticket=ticket, progress=run.progressed)
    elsewhere = boundaries.recorder if boundaries.apart else None
    job = partial(forward, boundaries.link, desk, wanted, elsewhere=elsewhere)
    reply = await living.owner.call(f"tool {call.spec.original}", job, together=True)
    return reply or cancelled_reply(call.spec, ticket)
