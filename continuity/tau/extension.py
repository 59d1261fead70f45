"""Tau's entry to us: `setup` registers and subscribes, starts nothing and waits for nothing but a cold inventory."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from continuity.memory.errors import CommandRefused
from continuity.places import Places
from continuity.shell.config import Loaded, SettingsError, environment, load_places, load_settings
from continuity.shell.serving import server_spec
from continuity.shell.settings import Settings
from continuity.tau.boundaries import ENDED, TauBoundaries
from continuity.tau.checkpoint_command import checkpoint
from continuity.tau.commands import COMMANDS, Run, register
from continuity.tau.host import Tau, register_command, subscribe, when_quit, when_started
from continuity.tau.host.beside import taken_commands, taken_tools
from continuity.tau.host.insertion import Insertion
from continuity.tau.host.model_call import is_lookup
from continuity.tau.journal_command import timeline
from continuity.tau.last_command import last
from continuity.tau.offering import offer_tools
from continuity.tau.orient_command import oriented
from continuity.tau.pause_command import switch
from continuity.tau.pending_command import pending
from continuity.tau.remember_command import remembered
from continuity.tau.resident import Configuration, Resident, resident
from continuity.tau.standing import second, serve
from continuity.tau.status_command import shown, status
from continuity.tau.why_command import why
from journal.disk import make_folder

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
        for topic, text in offer_tools(tau, living, boundaries, configured, taken_tools(tau)):
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
        alone = not living.presence.has_screen
        return switch(boundaries.session, living.owner, boundaries.anchor, arguments, off=off, alone=alone)

    def paged(run: Run) -> Run:
        return lambda words: living.presence.page(run(words))

    def serving(run: Run) -> Run:
        return lambda words: run(words) if living.owner.alive else ENDED

    runs: dict[str, Run] = {
        "bm-status": paged(lambda _: _shown(living, boundaries)),
        "bm-orient": lambda words: oriented(
            boundaries.session, living.owner, boundaries.append, words, alone=not living.presence.has_screen
        ),
        "bm-checkpoint": lambda words: checkpoint(boundaries.session, living.owner, words),
        "bm-last": lambda words: last(boundaries.session, living.owner, living.clock.now_ms(), words),
        "bm-pause": partial(switched, off=True),
        "bm-resume": partial(switched, off=False),
        "bm-remember": lambda words: remembered(boundaries.session, living.owner, words),
        "bm-pending": paged(partial(_open, living, boundaries)),
        "bm-journal": paged(lambda words: timeline(boundaries.session, living.owner, words)),
        "bm-why": paged(lambda words: why(boundaries.session, living.owner, words)),
    }
    return {name: serving(run) for name, run in runs.items()}


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
