"""Keeps a person's words as a note that is owed, and settles one where no session runs. It sends nothing twice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

import anyio
import anyio.to_thread
import msgspec
from msgspec.structs import replace

from continuity.capture import capture_id
from continuity.commands import BeginCapture, CommandRejected
from continuity.due import Submit
from continuity.evolve import evolve
from continuity.notetext import NoteText, kept_form, named, titled, worded
from continuity.privacy import RULE_SET_VERSION
from continuity.profile import folder_fault
from continuity.shell import capturing, reconciling
from continuity.shell.desk import Desk, kept
from continuity.shell.ledger import Ledger
from continuity.state import PENDING, Capture, State, Status
from journal.events import BranchForked, CaptureProbed, NoteWithdrawn, SynthesisFinished
from journal.events.writes import Verdict
from journal.ids import BranchId, CaptureId, ProjectName
from journal.reader import open_reader
from journal.row import Row


class Note(msgspec.Struct, frozen=True, kw_only=True):
    """A note in the caller's words: the user's, or our own schema notes. It is masked here."""

    title: str = ""
    """Empty for the first line of the text."""
    folder: str
    note_type: str
    text: str
    metadata: Mapping[str, str] = {}
    exact_title: bool = False
    """For notes that others find by their title, and only for texts of ours: the frontmatter in `text` counts then."""


type Known = Literal["open", "unsettled", "stored", "doubted"]
"""Why words are not kept again: they are on their way, sent and not known to be stored, stored, or given up in doubt."""


class Kept(NamedTuple):
    """A note that is on disk, and how many values in its words were masked."""

    identity: CaptureId
    maskings: int


async def keep(desk: Desk, note: Note, *, reason: str) -> Kept | Known:
    """Record the masked `note` as a capture that is ready to be sent, unless the session's journal knows the same words.

    Words that are known not to be stored, and were let go of, are kept once more, as another note.

    Raises:
        CommandRejected: There is no journal, no project to write to, or the folder is none; nothing was written.
        JournalError: Nothing was written, unless the error says otherwise.
    """
    ledger, project = _writable(desk, note)
    candidates = desk.settings.mask_candidates and not note.exact_title
    words = worded(note.folder, note.title, note.note_type, note.text, note.metadata, candidates=candidates)
    let_go = 0
    while True:
        tip = words.tip_after(let_go)
        identity = capture_id(project, desk.session_id, "note", tip)
        known = await _known(ledger, identity)
        if known != "gone":
            break
        let_go += 1
    if known is not None:
        return known
    made = titled(words) if note.exact_title else named(words, identity)
    command = BeginCapture(capture_id=identity, kind="note", project=project, source_tip=tip, reason=reason)
    try:
        await begin(desk, command, made, words.maskings)
    except CommandRejected:
        if _open(ledger, identity) is None:
            raise
        return "open"  # said twice at once
    desk.link.want(at_once=True)
    desk.wake()
    return Kept(identity, words.maskings)


def _writable(desk: Desk, note: Note) -> tuple[Ledger, ProjectName]:
    """Return the journal that the note goes through and the project it is for.

    Raises:
        CommandRejected: There is none, or the folder is none.
    """
    ledger, project = desk.ledger, desk.profile.project
    if ledger is None or project is None:
        raise CommandRejected("keep", "this session has no journal" if ledger is None else "no project is set")
    fault = folder_fault(note.folder)
    if fault is not None:
        raise CommandRejected("keep", f"the folder {fault}")
    return ledger, ProjectName(project)


async def begin(
    desk: Desk, command: BeginCapture, note: NoteText, maskings: int, *, branch: BranchId | None = None
) -> None:
    """Begin and finish a capture in one commit, its text in bodies: from here on its submission is owed like any other's.

    Raises:
        CommandRejected: It is begun already; nothing was written.
        JournalError: Nothing was written, unless the error says otherwise.
    """
    digest, bodies = kept(kept_form(note))
    text = SynthesisFinished(
        capture_id=command.capture_id,
        handoff_sha256=digest,
        characters=len(note.content),
        chunks=0,
        maskings=maskings,
        rule_set=RULE_SET_VERSION,
        model=None,
        tokens_in=0,
        tokens_out=0,
    )
    await desk.apply(replace(command, text=text), branch=branch, bodies=bodies)


async def is_kept(ledger: Ledger, identity: CaptureId) -> bool:
    """Return whether this journal knows the capture: as one that is open on any branch, or as one that was sent once."""
    return _open(ledger, identity) is not None or await ledger.journal.submitted(identity)


def _open(ledger: Ledger, identity: CaptureId) -> Capture | None:
    return next((c for state in ledger.states.values() if (c := state.live(identity)) is not None), None)


async def _known(ledger: Ledger, identity: CaptureId) -> Known | Literal["gone"] | None:
    """Return what the journal knows of a note that was begun; gone is one that is known not to be stored, and let go of."""
    live = _open(ledger, identity)
    if live is not None:
        return "open" if live.status in ("ready", "intended") else "unsettled"
    if not await ledger.journal.submitted(identity):
        return None
    ends = await anyio.to_thread.run_sync(_ends, ledger.path, identity)
    if "confirmed" in ends:
        return "gone" if "withdrawn" in ends else "stored"
    return "gone" if ends and ends.isdisjoint(PENDING) else "doubted"


def _ends(path: Path, identity: CaptureId) -> frozenset[Status]:
    """Return as what each branch's history knew the note when it ended there. Blocking."""
    with open_reader(path) as reader:
        return frozenset(end for each in reader.branches for end in _ended(reader.verified(each.branch), identity))


def _ended(rows: Iterable[Row], identity: CaptureId) -> Iterator[Status]:
    """A fork ends nothing: the note stays its parent's to settle."""
    state = State()
    for row in rows:
        before, state = state.live(identity), evolve(state, row)
        if isinstance(row.event, NoteWithdrawn) and row.event.capture_id == identity:
            yield "withdrawn"
        elif before is not None and state.live(identity) is None and not isinstance(row.event, BranchForked):
            stored = state.noted is not None and state.noted.capture_id == identity
            yield "confirmed" if stored else before.status


class Settled(NamedTuple):
    """One note as the journal knows it, and what was read of it."""

    capture: Capture
    read: Verdict | None
    """Of the newest read; None without one. What was stored may have been edited since, or read as somebody else's."""


async def settle_now(desk: Desk, identity: CaptureId, *, seconds: float) -> Settled:
    """Send a kept note if it was not sent, read what became of it, and return what is known of it then.

    For callers without a runner. It is sent at most once, whatever happens: what cannot be found out within `seconds`
    is returned as it stands, and stays open.

    Raises:
        CommandRejected: No such note is kept here, its text was erased, or the server does not have the project, and
            nothing was sent; or somebody else settled it meanwhile.
        JournalError: What was sent is recorded as far as it could be; it is settled by reading later.
    """
    read: Verdict | None = None
    with anyio.move_on_after(seconds):
        branch, _, capture = _found(desk, identity)
        if capture.status == "ready" and await desk.link.up(seconds) is not None:
            await capturing.submit(desk, Submit(identity, capture.attempt), branch)
        read = await _read(desk, identity)
    known = _found(desk, identity)[2]
    return Settled(known, read or known.verdict)


async def _read(desk: Desk, identity: CaptureId) -> Verdict | None:
    """Read the note once: what is in doubt is settled by it, what was answered is proven or is not."""
    branch, state, capture = _found(desk, identity)
    connection = desk.link.connection
    if connection is None or capture.status not in {*PENDING, "confirmed"}:
        return None
    rows = await desk.apply(await reconciling.observe(desk, connection, state, capture), branch=branch)
    return next((row.event.verdict for row in rows if isinstance(row.event, CaptureProbed)), None)


def _found(desk: Desk, identity: CaptureId) -> tuple[BranchId, State, Capture]:
    if desk.ledger is not None:
        for branch, state in desk.ledger.states.items():
            capture = state.capture(identity)
            if capture is not None:
                return branch, state, capture
    raise CommandRejected("settle-note", "no such note is open here")
