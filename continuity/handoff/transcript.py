"""One public message as a note of its own, and which messages have none yet. It masks nothing and leaves nothing out."""

from __future__ import annotations

from collections.abc import Sequence

from continuity.capture import PublicMessage, address
from continuity.handoff.note import iso
from continuity.notetext import NoteText, bounded
from continuity.privacy.quoting import fenced
from journal.ids import CaptureId, EntryId

TRANSCRIPT_TYPE = "tau_transcript"

_NAMES = {"user": "User", "assistant": "Assistant"}


def unwritten(path: Sequence[PublicMessage], first: EntryId, after: EntryId | None) -> Sequence[PublicMessage]:
    """Return the messages of `path` after `after`; all from `first` on if that is none or none of them.

    Without either on the path nothing is known to have come since, and nothing is returned.
    """
    places = {message.entry_id: number for number, message in enumerate(path)}
    if after is not None and after in places:
        return path[places[after] + 1 :]
    return path[places[first] :] if first in places else ()


def transcript_note(message: PublicMessage, identity: CaptureId, folder: str, number: int) -> NoteText:
    """Return the note of one masked message, the `number`th of its session.

    Its text stands behind a fence: no line of it is a link, an observation or a heading of the note.
    """
    at = iso(message.at_ms)
    where = address(identity, folder, "transcript")
    return NoteText(
        folder=where.folder,
        title=where.title,
        note_type=TRANSCRIPT_TYPE,
        body=f"# {_NAMES[message.role]}, {at}\n\n{fenced(bounded(message.text))}\n",
        metadata={"role": message.role, "time": at, "number": str(number)},
    )
