"""One walk through a setup: what is so, the questions, the plan, the person's word, the doing. Rules are elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path

import click

from continuity.cli.common import our_places, package_folder
from continuity.cli.setup import applying, gather, questions
from continuity.cli.setup.asking import Asker
from continuity.cli.setup.document import Wanted
from continuity.cli.setup.facts import Before, Flags, Here, Served
from continuity.cli.setup.memory import Memory, Unreached, reached
from continuity.cli.setup.plan import Extras, Plan, lines, plan
from continuity.console import FINDINGS, MISUSE, SOUND, UNREADABLE, fail, is_terminal, out, say
from continuity.shell.config import SettingsError, environment

_SHOWN = "in [brackets] or is the capital letter"
_UNHARMED = "Ctrl-C at any question leaves everything as it is."


def walk(flags: Flags) -> None:
    """Ask, show, and do what is agreed to."""
    done, code = _Done(), SOUND
    with _unharmed(done):
        before = _before(flags)
        asker = Asker(quiet=flags.yes, first=before.first)
        before = _begun(asker, before, flags)
        if not flags.offline and is_terminal(sys.stderr):
            say("Starting the memory server ...")
        with nullcontext(None) if flags.offline else reached(before.here, before.kept.settings) as there:
            memory = there if isinstance(there, Memory) else None
            served = _told(asker, flags, there)
            planned = _planned(asker, before, flags, memory, served)
            _show(asker, planned)
            if _agreed(asker, flags, planned):
                done.began = not planned.empty
                code = _carried_out(before, planned, memory)
    raise click.exceptions.Exit(code)


class _Done:
    """Whether anything was written yet."""

    began = False


@contextmanager
def _unharmed(done: _Done) -> Generator[None]:
    """Say at an interruption what is so: before the person agreed nothing was written."""
    try:
        yield
    except (click.Abort, KeyboardInterrupt, EOFError):
        what = "interrupted: what is said above to be written is; see `continuity unproven`"
        say("", what if done.began else "nothing was written")
        raise click.Abort from None


def _before(flags: Flags) -> Before:
    try:
        here = Here(environment(), Path.home(), Path.cwd().resolve(), our_places())
        known = gather.before(here, package_folder(), flags.root)
    except SettingsError as error:
        fail(str(error), "mend it and run this again; nothing was written", MISUSE)
    except OSError as error:
        fail(
            f"{error.filename or 'this folder'}: {error.strerror}",
            "make it readable, or move it away; nothing was written",
            UNREADABLE,
        )
    return known


def _begun(asker: Asker, before: Before, flags: Flags) -> Before:
    """Say which file is spoken of, and begin it with the compatible one's values if the person likes."""
    kept = before.kept
    if before.first:
        asker.tell(f"Welcome. Enter takes the answer that stands {_SHOWN}.", _UNHARMED)
    else:
        asker.tell(f"Enter keeps what is so: it stands {_SHOWN}.", _UNHARMED)
    asker.tell(f"Settings: {kept.path}{'' if kept.text is not None else ', which is not there yet'}.")
    if kept.beside is None:
        return before
    asker.tell(f"Until it is, {kept.beside} applies; that file is only read, and never changed.")
    if not asker.confirm("Begin with its values?", now=True, suggested=True):
        return before
    try:
        begun, ignored = gather.from_compatible(kept, kept.beside)
    except SettingsError as error:
        fail(str(error), "mend it, or begin without its values; nothing was written", MISUSE)
    if ignored:
        asker.tell(f"Passed over, for they mean nothing here: {', '.join(ignored)}.")
    return before._replace(kept=begun, work=gather.work_in(before.here, begun.settings, flags.root))


def _told(asker: Asker, flags: Flags, there: Memory | Unreached | None) -> Served | None:
    """Say what the server is, or what helps if it is not there; a person may go on without."""
    if isinstance(there, Memory):
        served = there.served
        asker.tell(f"The memory server is {served.server}, with {served.tools} tools.")
        return served
    if there is None:
        asker.tell("No memory server is asked; names are taken unseen.")
        return None
    if flags.yes:
        fail(f"{there.what}; nothing was written", f"{there.remedy}; or --offline, to do without", UNREADABLE)
    say(f"{there.what}", f"hint: {there.remedy}")
    if not asker.confirm("Go on without it?", now=True):
        raise click.Abort
    return None


def _planned(asker: Asker, before: Before, flags: Flags, memory: Memory | None, served: Served | None) -> Plan:
    """Ask everything, and return what that comes to."""
    known = questions.shown_projects(asker, served)
    project = questions.general(asker, before, known, flags)
    coding = questions.coding(asker, before, known, flags, project)
    keys = questions.switches(asker, before.kept.settings, flags)
    own = coding.project if coding is not None and coding.approved else None
    here = own or project
    extras = Extras(extension=questions.extension(asker, before), skill=questions.skill(asker, before, flags))
    if memory is not None:
        there = [each for each in dict.fromkeys((project, own)) if each is not None and known.has(each)]
        _can_be_written(flags, there)
        open_to = there if flags.schemas or (flags.schemas is None and not flags.yes) else []
        asked = ((each, questions.schemas(asker, each, memory.missing(each), flags)) for each in open_to)
        extras = extras._replace(schemas=tuple((each, entities) for each, entities in asked if entities))
        if here in there:
            extras = extras._replace(verify=here if questions.verify(asker, str(here), flags) else None)
    return plan(before, Wanted({"project": project, **keys}, coding), extras)


def _can_be_written(flags: Flags, projects: Sequence[str]) -> None:
    """Refuse to forget notes that the command line asks for."""
    if not projects and (flags.schemas or flags.verify):
        hint = "name one that the memory server lists with --project; nothing was written"
        fail("no note can be written, for there is no project to write to", hint, FINDINGS)


def _show(asker: Asker, planned: Plan) -> None:
    asker.tell("")
    if planned.empty:
        out("nothing to change: everything is as you want it")
    else:
        out("\n".join(("to be done:", *(f"  {line}" for line in lines(planned)))))


def _agreed(asker: Asker, flags: Flags, planned: Plan) -> bool:
    """Whether to go on: where nothing would change there is nothing to agree to."""
    if flags.dry_run:
        say("nothing was written")
        return False
    if planned.empty or flags.yes or asker.confirm("Do it?", now=True):
        return True
    say("nothing was written")
    return False


def _carried_out(before: Before, planned: Plan, memory: Memory | None) -> int:
    """Do what was agreed to; the list of the server's tools is kept in any case, as at every connect."""
    now = applying.settings(planned)
    codes = [applying.extension(planned, before.here), applying.skill(planned)]
    if memory is not None:
        applying.tools(memory, before)
        codes.append(applying.notes(planned, memory, before, now))
    if not planned.empty:
        say("`continuity doctor` checks it.")
    return max(codes)
