"""The questions of a setup, one function each: what is so, what the person or the command line says, what is wanted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import TypeAdapter, ValidationError

from continuity.checkout import REASONS, Unconfirmed
from continuity.cli.installing.plan import NoTau
from continuity.cli.setup.asking import Asker, numbered
from continuity.cli.setup.document import Coding
from continuity.cli.setup.facts import Before, Flags, Served, Work
from continuity.console import FINDINGS, UNREADABLE, fail, say
from continuity.memory.notes import ProjectInfo
from continuity.notes import ENTITIES, Entity
from continuity.profile import coding_folder
from continuity.shell.settings import Cadence, Name, Settings

NONE = "none"
MOST_READ = 6
_WHERE = {"local": "local", "cloud": "in the cloud", "unknown": "in a place the server does not tell"}
_NAME: TypeAdapter[str] = TypeAdapter(Name)


def name_fault(text: str) -> str | None:
    """Say what keeps `text` from being a name in the settings."""
    try:
        _NAME.validate_python(text)
    except ValidationError:
        return "a name is one line of 1 to 200 characters that can be read"
    return None


class Projects(NamedTuple):
    """The projects to choose from; null where nobody could be asked, and then every name will do."""

    names: tuple[str, ...] | None
    usual: str | None = None
    """The server's own default."""
    qualified: frozenset[str] = frozenset()
    """Names with a workspace, which will do too."""

    def has(self, name: str) -> bool:
        """Whether the server said that there is such a project."""
        return name in (self.names or ()) or name in self.qualified


def shown_projects(asker: Asker, served: Served | None) -> Projects:
    """Show the server's projects, each with where it lives."""
    if served is None:
        return Projects(None)
    if served.projects is None:
        asker.tell("It did not say which projects it has, so names are taken unseen and no notes are written.")
        return Projects(None)
    names = tuple(dict.fromkeys(_settable(each, served.projects) for each in served.projects))
    if not names:
        asker.tell("The memory server has no project yet; `bm project add NAME PATH` makes one.")
        return Projects(names)
    usual = next((_settable(each, served.projects) for each in served.projects if each.is_default), None)
    asker.tell("", "Projects of the memory server:")
    width = max(map(len, names))
    for number, name in enumerate(names, start=1):
        places = [_WHERE[each.source] for each in served.projects if _settable(each, served.projects) == name]
        where = places[0] if len(places) == 1 else f"{len(places)} of one name, so nothing is written to it"
        default = ", its default" if name == usual else ""
        asker.tell(f"  {number}  {name:<{width}}  {where}{default}")
    qualified = frozenset(each.qualified for each in served.projects if each.qualified is not None)
    return Projects(names, usual, qualified)


def _settable(one: ProjectInfo, projects: Sequence[ProjectInfo]) -> str:
    """How the settings name it: by its name, and where that is not enough with its workspace."""
    alone = sum(each.name == one.name for each in projects) == 1
    return one.name if alone else one.qualified or one.name


def project(
    asker: Asker, question: str, known: Projects, *, given: str | None, present: str | None, suggested: str | None
) -> str | None:
    """Return the project that is chosen: by its number, by its name, or none."""
    usual = present or suggested or NONE
    while True:
        answer = asker.text(question, name_fault, given=given, now=usual)
        typed = given is None and answer != present
        name = numbered(answer, known.names or ()) if typed else answer
        if name == NONE and NONE not in (known.names or ()):
            return None
        if (wrong := name_fault(name)) is not None:
            asker.tell(f"  It cannot be named in the settings: {wrong}.")
            continue
        if known.names is None or known.has(name):
            return name
        if given is not None:
            hint = f"`bm project add {name} PATH` makes it; --offline takes the name unseen"
            fail(f"the memory server has no project {name}; nothing was written", hint, FINDINGS)
        asker.tell(f"  The memory server has no project {name}; `bm project add {name} PATH` makes it.")
        if name == present or asker.confirm("  Take that name all the same?", now=False):
            return name


def general(asker: Asker, before: Before, known: Projects, flags: Flags) -> str | None:
    """Return the project of general work."""
    asker.tell("", "General work goes to one project. With none, nothing of it is saved or recalled by itself.")
    suggested = known.usual if before.first else None
    question = "Project (its name, a number, or none)" if known.names else "Project (its name, or none)"
    present = before.kept.settings.project
    return project(asker, question, known, given=flags.project, present=present, suggested=suggested)


# -- this checkout -----------------------------------------------------------


def coding(asker: Asker, before: Before, known: Projects, flags: Flags, usual: str | None) -> Coding | None:
    """Return what the checkout we are in is to be filed as; None if there is nothing to say of it."""
    work = before.work
    _tell_work(asker, before)
    if work.root is None:
        if flags.repository is not None:
            hint = "name the checkout with --root PATH"
            fail("this folder is in no git checkout; nothing was written", hint, FINDINGS)
        return None
    root, at = str(work.root), work.at
    given = False if flags.general else True if flags.repository is not None else None
    sure = _unconfirmed(work) in _PASSING
    if asker.confirm("File work in it as coding work?", given=given, now=at is not None, suggested=sure):
        return _approved(asker, before, known, flags, Coding(root, approved=True, project=usual, at=at))
    return Coding(root, approved=False, at=at) if at is not None else None


_PASSING: tuple[Unconfirmed | None, ...] = (None, "no-commit", "no-branch")
"""What keeps work from being filed as coding work for a while only, if anything does."""


def _unconfirmed(work: Work) -> Unconfirmed | None:
    """Why git does not confirm what is asked about."""
    if work.checkout is None:
        return "no-repository"
    return work.checkout.why if work.checkout.root == work.root else "other-root"


def _approved(asker: Asker, before: Before, known: Projects, flags: Flags, usual: Coding) -> Coding:
    """Ask for everything about a checkout that is coding work; `usual` is what there is to say without an approval."""
    work, at = before.work, usual.at
    entry = before.kept.settings.repositories[at] if at is not None else None
    suggestion = work.checkout.suggestion if work.checkout is not None else Path(usual.root).name
    name = asker.text(
        "Name of the repository, the same for each copy of it",
        name_fault,
        given=flags.repository,
        now=entry.repository if entry is not None else suggestion,
    )
    chosen = project(
        asker,
        "Project of its notes",
        known,
        given=flags.project if flags.repository is not None else None,
        present=entry.project if entry is not None else None,
        suggested=usual.project if entry is None else None,
    )
    reads = _read(asker, known, entry.read_projects if entry is not None else (), chosen)
    why = _unconfirmed(work)
    if why is not None:
        reason = REASONS[why]
        say(f"{reason[0].upper()}{reason[1:]}: until that changes, its work is filed as general work of {name}.")
    folder = entry.checkpoint_folder if entry is not None else None
    asker.tell(f"Its checkpoints go to folder {folder or coding_folder(name)}.")
    return usual._replace(repository=name, project=chosen, read_projects=reads)


def _tell_work(asker: Asker, before: Before) -> None:
    """Say which folder is spoken of, and what work in it counts as by now."""
    work, cwd = before.work, before.here.cwd
    asker.tell("")
    if work.root is None:
        asker.tell(f"{cwd} is in no git checkout, so work here is general work.")
        return
    where = f"You are in {work.root}" if work.root == cwd else f"{cwd} lies in {work.root}"
    if work.at is not None:
        asker.tell(f"{where}, which is approved as coding work.")
    else:
        asker.tell(
            f"{where}, a git checkout.",
            "Coding work is filed under its repository, with branch and commit; each copy of",
            "the repository that you approve recalls it, and other work never does.",
        )
    if work.around is not None:
        asker.tell(f"{work.around.root} is approved too: without a yes here work counts as {work.around.repository}.")
    if work.checkout is not None and work.at is None:
        asker.tell(f"The name suggested for the repository is {work.checkout.because}.")


def _read(asker: Asker, known: Projects, present: tuple[str, ...], writes: str | None) -> tuple[str, ...]:
    """Projects that are only read; nobody is asked where there is none to choose."""
    if not present and len(known.names or ()) < 2:
        return ()

    def fault(answer: str) -> str | None:
        names = _listed(answer, known, present)
        if len(names) > MOST_READ:
            return f"at most {MOST_READ}"
        missing = [name for name in names if known.names is not None and not known.has(name) and name not in present]
        return next((f"there is no project {name}" for name in missing), None) or next(
            (wrong for name in names if (wrong := name_fault(name)) is not None), None
        )

    answer = asker.text("Projects to read besides (with commas, or none)", fault, now=", ".join(present) or NONE)
    return tuple(name for name in _listed(answer, known, present) if name != writes or name in present)


def _listed(answer: str, known: Projects, present: tuple[str, ...]) -> tuple[str, ...]:
    parts = [part.strip() for part in answer.split(",") if part.strip() not in ("", NONE)]
    return tuple(dict.fromkeys(numbered(part, (*(known.names or ()), *present)) for part in parts))


# -- what is captured when ---------------------------------------------------


def switches(asker: Asker, settings: Settings, flags: Flags) -> Mapping[str, Any]:
    """Return what is saved when, as the settings' keys have it."""
    now = settings.model_dump(mode="json")
    keys = {key: now[key] for key in _SWITCHES}
    if flags.cadence is not None:
        keys["cadence"] = _cadence(settings, flags.cadence)
    if flags.transcripts is not None:
        keys["capture_transcript"] = flags.transcripts
    asker.tell("", "What is saved, and when:", *(f"  {line}" for line in described(keys)))
    if asker.confirm("Leave it so?", now=True):
        return keys
    return _asked(asker, settings, keys, flags)


_SWITCHES = (
    *("capture_knowledge", "cadence", "checkpoint_on_compact", "summarize_on_shutdown"),
    *("capture_transcript", "auto_recall"),
)


def described(keys: Mapping[str, Any]) -> Sequence[str]:
    """Return one line on each switch."""
    cadence = keys["cadence"]
    gathered = (
        isinstance(cadence, dict) and f"once {cadence['characters']:,} new characters or {cadence['minutes']:g} minutes"
    )
    saving = (
        f"after a turn  {f'{gathered} have gathered' if gathered else 'each one'}",
        f"compaction    {'at each compaction; before it, where Tau announces it' if keys['checkpoint_on_compact'] else 'no'}",
        f"exit          {'always, before Tau ends' if keys['summarize_on_shutdown'] else 'no'}",
        f"transcripts   {'each message too, as a note of its own' if keys['capture_transcript'] else 'no, summaries only'}",
    )
    return (
        *(saving if keys["capture_knowledge"] else ("saving        off: only what you save by hand",)),
        f"recall        {'what is known of the work, with the first prompt' if keys['auto_recall'] else 'off'}",
    )


def _asked(asker: Asker, settings: Settings, keys: Mapping[str, Any], flags: Flags) -> Mapping[str, Any]:
    wanted = dict(keys)
    wanted["capture_knowledge"] = asker.confirm("Save by itself?", now=keys["capture_knowledge"])
    if wanted["capture_knowledge"]:
        if flags.cadence is None:
            options = (("gather", "when enough has gathered"), ("every", "after each settled turn"))
            now = "every" if keys["cadence"] == "every" else "gather"
            wanted["cadence"] = _cadence(settings, asker.choice("How often", options, now=now))
        for key, question in (
            ("checkpoint_on_compact", "At a compaction?"),
            ("summarize_on_shutdown", "At exit?"),
        ):
            wanted[key] = asker.confirm(question, now=keys[key])
        wanted["capture_transcript"] = asker.confirm(
            "Each message too, word for word, masked?", given=flags.transcripts, now=keys["capture_transcript"]
        )
    wanted["auto_recall"] = asker.confirm("Recall by itself, with the first prompt?", now=keys["auto_recall"])
    return wanted


def _cadence(settings: Settings, word: str) -> str | Mapping[str, Any]:
    if word == "every":
        return "every"
    kept = settings.cadence if isinstance(settings.cadence, Cadence) else Cadence()
    return kept.model_dump(mode="json")


# -- what is written besides -------------------------------------------------


def schemas(asker: Asker, target: str, missing: tuple[Entity, ...] | None, flags: Flags) -> tuple[Entity, ...]:
    """Return the types whose schema notes the project is to get."""
    if missing is None:
        if flags.schemas:
            hint = "try again once it is indexed; nothing was written"
            fail(f"{target} could not be searched for schema notes, so none is written", hint, UNREADABLE)
        asker.tell("", f"{target} could not be searched for schema notes; run this again once it is indexed.")
        return ()
    if not missing:
        return ()
    some = "has no schema notes" if len(missing) == len(ENTITIES) else "lacks some schema notes"
    asker.tell("", f"{target} {some}: they tell other agents what stands in a note.")
    question = f"Write them ({', '.join(missing)})? Nothing there is overwritten"
    return missing if asker.confirm(question, given=flags.schemas, now=False, suggested=True) else ()


def verify(asker: Asker, target: str, flags: Flags) -> bool:
    """Whether a note is to be written and read to see that it works."""
    if flags.verify is None:
        asker.tell("")
    question = f"Write one small note to {target} and read it back, to see that it works?"
    return asker.confirm(question, given=flags.verify, now=False, suggested=True)


def skill(asker: Asker, before: Before, flags: Flags) -> bool:
    """Whether Tau gets the skill and the prompts; what somebody wrote or edited there is never written over."""
    wanted = [guide for guide in before.guides if guide.wanted]
    if not wanted:
        return False
    renewed = all(guide.standing == "outdated" for guide in wanted)
    asker.tell("")
    question = (
        "Renew the skill and the prompts in Tau?"
        if renewed
        else "Give Tau's agent a skill on how to use memory, and you four prompts (/memory-resume and others)?"
    )
    return asker.confirm(question, given=flags.skill, now=False, suggested=True)


def extension(asker: Asker, before: Before) -> bool:
    """Whether Tau is to get the extension, or another version of it; what is not ours is never touched."""
    planned = before.extension
    if isinstance(planned, NoTau):
        asker.tell("", f"Tau does not get the extension: {planned.what}. Later `continuity install` puts it there.")
        return False
    if planned.shim.foreign is not None:
        what = f"{planned.shim.foreign} is not ours, or was edited, so Tau is left as it is"
        asker.tell("", f"{what}; `continuity doctor` says more.")
        return False
    if planned.idle:
        return False
    asker.tell("")
    question = "Put the extension into Tau?" if planned.shim.standing == "absent" else "Renew the extension in Tau?"
    return asker.confirm(question, now=False, suggested=True)
