"""Does what was agreed to, part by part, and says of each what became of it. What fails costs itself and what needs it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from continuity.cli import guides, shim
from continuity.cli.setup import file
from continuity.cli.setup.facts import Before
from continuity.cli.setup.memory import Memory, Wish
from continuity.cli.setup.plan import SCHEMA_FOLDER, VERIFYING_FOLDER, Plan
from continuity.commands import CommandRejected
from continuity.console import FINDINGS, SOUND, UNREADABLE, escaped, fail, out, say
from continuity.notes import schema_note
from continuity.pending import VERDICTS
from continuity.shell.config import SettingsError, read_settings
from continuity.shell.noting import Note
from continuity.shell.settings import Settings
from continuity.state import Capture
from journal.errors import JournalError

VERIFYING_TITLE = "Continuity setup"
VERIFYING_TEXT = """\
# Continuity setup

`continuity setup` wrote this note and read it back, to see that notes arrive here. It says nothing else and may be
deleted.
"""


class Stored(NamedTuple):
    """What is to be said of one note, and whether it is where it should be."""

    line: str
    code: int


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


def extension(planned: Plan) -> int:
    """Make the file by which Tau loads us, if that was agreed to."""
    if planned.shim is None:
        return SOUND
    try:
        shim.install(planned.shim)
    except OSError as error:
        say(f"error: {planned.shim.path}: {error.strerror}", "hint: `continuity install` tries again")
        return UNREADABLE
    out(f"{escaped(str(planned.shim.path))}: written; Tau loads it at its next start, or after /reload")
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
    try:
        journal, settled = memory.write(before.here, now, wanted)
    except CommandRejected as refused:
        fail(f"no note was sent: {refused.reason}", "`continuity doctor --online` says whether all is there", FINDINGS)
    except JournalError as error:
        fail(
            f"no journal could be kept, so no note was sent: {error}",
            "`continuity doctor` looks at the folder",
            UNREADABLE,
        )
    stored = [_stored(wish, capture) for wish, capture in zip(wanted, settled, strict=True)]
    for each in stored:
        out(each.line)
    if journal is not None:
        out(f"each write is recorded in {escaped(str(journal))}")
    return max((each.code for each in stored), default=SOUND)


def _stored(wish: Wish, capture: Capture | None) -> Stored:
    name = f"{wish.note.folder}/{wish.note.title}"
    if capture is None:
        return Stored(
            f"{escaped(wish.project)}: {escaped(name)}: not sent, for the server went away; nothing was stored",
            UNREADABLE,
        )
    where = f"{escaped(wish.project)}: {escaped(capture.path or name)}"
    return Stored(f"{where}: {'; '.join(_known(capture))}", SOUND if capture.status == "confirmed" else FINDINGS)


def _known(capture: Capture) -> Iterator[str]:
    """What is known of one note, and by what."""
    short = capture.capture_id[:10]
    if capture.status == "confirmed":
        yield "stored"
        yield f"evidence: {capture.evidence}"
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
    if capture.verdict is not None and capture.status != "refused":
        yield f"verdict {capture.verdict}: {VERDICTS[capture.verdict]}"
