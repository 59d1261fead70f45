"""Shows what was saved, verbatim: rebuilt from kept texts and proven by its digest, or read from the server. It saves nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from continuity import handoff
from continuity.capture import content_digest
from continuity.evolve import fold
from continuity.memory import notes
from continuity.memory.probes import observe
from continuity.profile import ProfileKind
from continuity.shell.desk import Desk
from continuity.shell.requests import checkpoint_body
from continuity.state import Capture, is_ours
from journal.ids import BranchId
from journal.reader import Reader, open_reader


class Rebuilt(NamedTuple):
    """What kept texts amount to; without a text, why there is none that is proven."""

    text: str | None
    why: str = ""


def rebuilt(path: Path, branch: BranchId, checkpoint: Capture) -> Rebuilt:
    """Return the checkpoint's body exactly as this session sent it, if the digest in its intent proves it. Blocking.

    Raises:
        JournalError: The journal cannot be read.
    """
    if checkpoint.handoff_sha256 is None or checkpoint.intent is None:
        return Rebuilt(None, "it was not made on this branch, so its text is not kept with it")
    if checkpoint.evidence == "adopted":
        return Rebuilt(None, "what is stored was sent by another process for the same work")
    with open_reader(path) as reader:
        text = reader.body(checkpoint.handoff_sha256)
        if text is None:
            return Rebuilt(None, "the text kept here was erased")
        body = _proven(reader, branch, checkpoint, text)
    return (
        Rebuilt(body) if body is not None else Rebuilt(None, "what is kept here no longer makes the text that was sent")
    )


def _proven(reader: Reader, branch: BranchId, checkpoint: Capture, text: str) -> str | None:
    """Links depend on what was known when it was sent, so the state of then is what it is rebuilt from."""
    made, intent = handoff.from_kept(text), checkpoint.intent
    if made is None or intent is None:
        return None
    then = fold(reader.verified(branch, checkpoint.intended_position - 1))
    kind: ProfileKind = "coding" if intent.event.note_type == "coding_session" else "general"
    unseen = [then.checkpoint.capture_id] if then.checkpoint is not None else []
    for unfound in ([], unseen):  # a note that nobody found at that moment was not linked
        body = checkpoint_body(made, kind, then, checkpoint, unfound=unfound)
        if content_digest(body) == intent.event.content_sha256:
            return body
    return None


async def show_stored(desk: Desk, checkpoint: Capture, head: str, why: str, spelled: Callable[[str], str]) -> None:
    """Read the note from the server and show it under `head`, saying `why` it is not shown from here.

    `spelled` makes harmless what a terminal would obey: anybody may have written there.
    """
    link, seconds = desk.link, desk.settings.timeout_seconds
    link.want(at_once=True)
    connection = await link.up(seconds)
    if connection is None:
        error = link.error or "no answer"
        desk.voice.answer(f"{head}\nIts text cannot be shown: {why}, and memory cannot be reached ({error}).")
        return
    note = await notes.read_note(connection, checkpoint.project, checkpoint.path or "", seconds)
    if note.outcome != "found" or note.content is None or not is_ours(checkpoint, observe("address", note)):
        found = {"found": "another note is there", "missing": "it is not there"}.get(
            note.outcome, "it could not be read"
        )
        desk.voice.answer(f"{head}\nIts text cannot be shown: {why}, and {found} at the server.")
        return
    same = content_digest(note.content) == checkpoint.content_sha256
    proof = "its digest is the one recorded" if same else "its digest is NOT the one recorded: somebody changed it"
    shown = f"  shown        as the server has it now, for {why}; {proof}"
    desk.voice.answer(f"{head}\n{shown}\n\n{spelled(note.content.strip())}")
