"""Does what was agreed to, part by part, and says of each what became of it. What fails costs itself and what needs it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from continuity.cli import guides
from continuity.cli.doctor.tau import Surroundings
from continuity.cli.installing.doing import NotInstalledNow, install, loaded_at, told
from continuity.cli.setup import file
from continuity.cli.setup.facts import Before, Here
from continuity.cli.setup.memory import Fate, Memory, Wish
from continuity.cli.setup.plan import SCHEMA_FOLDER, VERIFYING_FOLDER, Plan
from continuity.commands import CommandRejected
from continuity.console import FINDINGS, SOUND, UNREADABLE, escaped, fail, out, say
from continuity.notes import schema_note
from continuity.pending import VERDICTS
from continuity.shell.config import SettingsError, read_settings
from continuity.shell.noting import Known, Note
from continuity.shell.serving import checkout_at
from continuity.shell.settings import Settings
from continuity.state import Capture
from journal.errors import JournalError
from journal.events.writes import Verdict

VERIFYING_TITLE = "Continuity setup"
VERIFYING_TEXT = """\
# Continuity setup

`continuity setup` wrote this note and read it back, to see that notes arrive here. It says nothing else and may be
deleted.
"""


PRESENT = frozenset({"present_same", "present_edited", "present_twin"})


def settings(planned: Plan) -> Settings:
    """Write the settings file, if there is something to write; return the settings that are so now."""
    if planned.text is None:
        return planned.kept.settings
    path = planned.kept.path
    try:
        file.write(planned.kept, planned.text)
        now = read_settings(path, ours=True).settings
    except file.Moved:
        fail(f"{path} was changed while you were asked; it was left as it is", "run `continuity setup` again", FINDINGS)
    except OSError as error:
        fail(f"{path}: {error.strerror}", "nothing was written; make its folder writable", UNREADABLE)
    except SettingsError as error:
        fail(str(error), "nothing was written; run `continuity setup` again", FINDINGS)
    out(f"{escaped(str(path))}: written")
    return now


def extension(planned: Plan, here: Here) -> int:
    """Put the extension into Tau, if that was agreed to."""
    if planned.extension is None:
        return SOUND
    path = planned.extension.shim.path
    try:
        done = install(planned.extension, Surroundings(here.environ, checkout_at(here.cwd, here.home)), say)
    except NotInstalledNow as error:
        say(
            f"error: Tau did not get the extension: {error.what}",
            f"hint: {error.hint}; `continuity install` tries again",
        )
        return UNREADABLE
    except OSError as error:
        say(f"error: {error.filename or path}: {error.strerror}", "hint: `continuity install` tries again")
        return UNREADABLE
    for line in (*told(done), f"{path}: written; Tau loads it {loaded_at(planned.extension)}"):
        out(escaped(line))
    return SOUND


def skill(planned: Plan) -> int:
    """Write the skill and the prompts, if that was agreed to."""
    for guide in planned.guides:
        try:
            guides.install(guide)
        except OSError as error:
            say(f"error: {guide.path}: {error.strerror}", "hint: `continuity install --skill` tries again")
            return UNREADABLE
        out(f"{escaped(str(guide.path))}: written")
    return SOUND


def tools(memory: Memory, before: Before) -> None:
    """Keep the server's list of tools, by which Tau need not wait for it at the next start."""
    try:
        kept = memory.keep_tools(before.here)
    except OSError as error:
        say(f"warning: the list of tools was not kept: {error.strerror}; Tau asks for it at its next start")
        return
    if kept:
        out(f"{memory.served.tools} tools listed, so that Tau need not wait for the server")


def wishes(planned: Plan) -> list[Wish]:
    """Return every note that was agreed to."""
    found = [
        Wish(
            project, Note(title=note.title, folder=SCHEMA_FOLDER, note_type="schema", text=note.text, exact_title=True)
        )
        for project, entities in planned.extras.schemas
        for note in map(schema_note, entities)
    ]
    if planned.extras.verify is not None:
        note = Note(title=VERIFYING_TITLE, folder=VERIFYING_FOLDER, note_type="note", text=VERIFYING_TEXT)
        found.append(Wish(planned.extras.verify, note))
    return found


def notes(planned: Plan, memory: Memory, before: Before, now: Settings) -> int:
    """Write every note that was agreed to, and say of each what is known of it; return the exit code."""
    wanted = wishes(planned)
    if not wanted:
        return SOUND
    written = memory.write(before.here, now, wanted, _tell)
    if written.journal is not None:
        out(f"each write is recorded in {escaped(str(written.journal))}")
    _say_trouble(wanted, written.fates)
    return max(map(_code, written.fates))


def _tell(wish: Wish, fate: Fate) -> None:
    if fate.trouble is None or fate.sent:
        name = f"{wish.note.folder}/{wish.note.title}"
        path = fate.capture.path if fate.capture is not None else None
        out(f"{escaped(wish.project)}: {escaped(path or name)}: {'; '.join(_known(fate))}")


def _say_trouble(wanted: Sequence[Wish], fates: Sequence[Fate]) -> None:
    """Say what kept the last of the notes that were begun, and those after it, from being written."""
    last, number = fates[-1], len(fates)
    if last.trouble is None:
        return
    why = last.trouble.reason if isinstance(last.trouble, CommandRejected) else str(last.trouble)
    if not any(fate.sent for fate in fates):
        say(f"error: no note was sent: {why}", "hint: `continuity doctor --online` looks at server and folder")
        return
    what = "was sent, and what became of it could not be recorded" if last.sent else "was not sent"
    after = len(wanted) - number
    rest = f"; nor {'was the one' if after == 1 else f'were the {after}'} after it" if after and not last.sent else ""
    say(f"error: note {number} of {len(wanted)} {what}{rest}: {why}", "hint: continuity unproven")


def _code(fate: Fate) -> int:
    gone = fate.capture is None and fate.known is None and fate.trouble is None
    if gone or isinstance(fate.trouble, JournalError):
        return UNREADABLE
    proven = fate.capture is not None and fate.capture.status == "confirmed" and fate.read == "present_same"
    return SOUND if proven or fate.known == "stored" else FINDINGS


def _known(fate: Fate) -> Iterator[str]:
    """What is known of one note, and by what."""
    capture = fate.capture
    if capture is None:
        yield _GONE if fate.known is None else f"not sent again: the same words {_BEFORE[fate.known]}"
        return
    yield from _standing(capture, fate.read)
    if fate.read is not None and capture.status != "refused":
        yield f"verdict {fate.read}: {VERDICTS[fate.read]}"


_GONE = "not sent, for the server went away; nothing was stored"
_BEFORE: Mapping[Known, str] = {
    "open": "are on their way",
    "unsettled": "were sent, and are not known to be stored",
    "stored": "are stored",
    "doubted": "were given up in doubt",
}


def _standing(capture: Capture, read: Verdict | None) -> Iterator[str]:
    short = capture.capture_id[:10]
    if capture.status == "confirmed":
        yield "stored" if read in PRESENT else "stored, as the server said"
        yield f"evidence: {capture.evidence}"
        if read is None:
            yield "it was not read back in time"
    elif capture.status == "refused":
        yield f"refused by the server ({capture.code}), so nothing was stored"
    elif capture.status in ("begun", "ready"):
        yield "not sent; nothing was stored"
    elif capture.status == "conflicted":
        yield "not written: another note is there, and was left as it is"
        yield f"`continuity resolve {short} --abandon --reason TEXT` lets go of this one"
    else:
        yield f"not known to be stored ({capture.code or capture.status})"
        yield f"`continuity probe {short}` reads what became of it"
