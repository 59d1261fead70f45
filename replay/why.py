"""Tells how something came about and what became of it: causes backward to the prompt, then its own rows to the newest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from msgspec.structs import asdict

from continuity.evolve import evolve
from continuity.pending import Open, next_step, observation, open_items, why
from continuity.sentences import sentence
from continuity.state import Capture, State
from continuity.verdict import Wanted
from journal.errors import RowUnreadable
from journal.events import (
    CaptureBegun,
    CaptureProbed,
    CaptureResolved,
    CaptureSuperseded,
    Event,
    NoteWithdrawn,
    ReceiptAdopted,
    SessionOpened,
    ToolAnswered,
    ToolCalled,
    ToolResolved,
    WriteIntended,
)
from journal.events.capture import CaptureKind
from journal.ids import BranchId, WriterId
from journal.lock import holder
from journal.reader import Reader
from journal.row import Row
from replay.naming import Named, identity_of
from replay.references import NoSuchReference
from replay.shapes import KnownView, WhyStep, WhyView
from replay.timeline import log_line

type Link = Literal["cause", "own", "writer-ended"]
type Kind = CaptureKind | Literal["call", "row"]


class Step(NamedTuple):
    """One row of a story, and why it is in it."""

    row: Row
    link: Link


type Steps = Sequence[Step]


class Told(NamedTuple):
    """A story, and the row at which a branch stopped being proven, if one did."""

    view: WhyView
    stop: RowUnreadable | None


class _Journal:
    """All proven rows of one journal, in the order of recording."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self.stop: RowUnreadable | None = None
        self.raw = {row.digest.hex(): row for row in reader.rows()}
        proven: dict[str, Row] = {}
        for branch in reader.branches:
            try:
                proven.update((row.digest, row) for row in reader.verified(branch.branch))
            except RowUnreadable as error:
                self.stop = self.stop or error
        self.rows: Mapping[str, Row] = {digest: proven[digest] for digest in self.raw if digest in proven}

    def causes(self, row: Row) -> list[Row]:
        """The rows that led to `row`, oldest first, without it."""
        chain: list[Row] = []
        seen = {row.digest}
        while row.cause is not None and row.cause in self.rows and row.cause not in seen:
            row = self.rows[row.cause]
            seen.add(row.digest)
            chain.insert(0, row)
        return chain

    def own(self, identity: str) -> list[Row]:
        """The rows about one capture or call on the branch that sent it, and those of branches that inherited it."""
        about = [row for row in self.rows.values() if identity_of(row.event) == identity]
        starts = [row for row in about if isinstance(row.event, CaptureBegun | ToolCalled)]
        sent = [row for row in about if isinstance(row.event, WriteIntended)]
        home = (sent or starts or about)[0].branch
        others = {row.branch for row in starts if row.branch != home}
        return [row for row in about if row.branch not in others]


class _Subject(NamedTuple):
    """What a story is about."""

    kind: Kind
    reference: str
    branch: BranchId


def told(reader: Reader, named: Named) -> Told:
    """Return the story of what is `named`.

    Raises:
        RowUnreadable: It is, or lies behind, a row that proves nothing.
        NoSuchReference: The journal changed since the name was found.
    """
    journal = _Journal(reader)
    asked = journal.rows.get(named.identity) if named.kind == "row" else None
    identity = named.identity if named.kind == "subject" else identity_of(asked.event) if asked is not None else None
    own = journal.own(identity) if identity is not None else [asked] if asked is not None else []
    if not own:
        raise journal.stop or NoSuchReference(f"{named.identity[:10]} is not there any more", "ask again")
    steps = _steps(journal, own)
    if identity is None:
        subject, known = _Subject("row", own[0].digest, own[0].branch), _recorded(own[0])
    else:
        subject, known = _Subject(_kind(own), identity, own[0].branch), _known(reader, own[0].branch, steps)
    return Told(_view(journal, named, subject, steps, known), journal.stop)


def _kind(own: Sequence[Row]) -> Kind:
    for row in own:
        if isinstance(row.event, CaptureBegun | WriteIntended | ReceiptAdopted):
            return row.event.kind
    return "call"


def _steps(journal: _Journal, own: Sequence[Row]) -> Steps:
    """Causes, then the rows about it and the openings that ended its waiting writer, in the order of recording."""
    steps = [Step(row, "cause") for row in journal.causes(own[0])]
    about = {row.digest for row in own}
    waits_for: WriterId | None = None
    for row in journal.rows.values():
        event = row.event
        if row.digest in about:
            steps.append(Step(row, "own"))
            if isinstance(event, WriteIntended | ToolCalled):
                waits_for = event.writer
            elif not isinstance(event, CaptureProbed):
                waits_for = None
        elif isinstance(event, SessionOpened) and waits_for in event.writers_ended and row.branch == own[0].branch:
            steps.append(Step(row, "writer-ended"))
            waits_for = None
    return steps


def _view(journal: _Journal, named: Named, subject: _Subject, steps: Steps, known: KnownView) -> WhyView:
    header = journal.reader.header
    asked = named.identity if named.kind == "row" else None
    return WhyView(
        path=str(named.path),
        session=header.session_id,
        journal=header.journal_id,
        branch=subject.branch,
        kind=subject.kind,
        reference=subject.reference,
        steps=[_step(journal, step, asked, wanted) for step, wanted in zip(steps, _wanted(steps), strict=True)],
        known=known,
    )


def _step(journal: _Journal, step: Step, asked: str | None, wanted: Wanted | None) -> WhyStep:
    raw = journal.raw[step.row.digest]
    return WhyStep(
        **asdict(log_line(raw)),
        link=step.link,
        asked=step.row.digest == asked,
        said=sentence(raw),
        details=list(_details(journal.reader, step.row.event, wanted)),
    )


def _wanted(steps: Steps) -> Iterator[Wanted | None]:
    """Yield for each row what a read looked for by then: the identity, and the text of the newest intent."""
    wanted: Wanted | None = None
    for row, _ in steps:
        event = row.event
        if isinstance(event, WriteIntended | ReceiptAdopted):
            wanted = Wanted(event.capture_id, event.source_tip, event.content_sha256)
        yield wanted


def _details(reader: Reader, event: Event, wanted: Wanted | None) -> Iterator[str]:
    match event:
        case CaptureProbed():
            if wanted is not None:
                yield from (observation(seen, wanted) for seen in event.observations)
            index = "; its index was seen to work" if event.index_proven else ""
            yield f"the server it was sent through: {event.writing_server}; project {event.project_source}{index}"
        case CaptureResolved() | ToolResolved():
            reason = reader.body(event.reason_sha256)
            if reason:
                yield f"reason: {reason}"
        case _:
            return


# -- what is known now -------------------------------------------------------


def _recorded(row: Row) -> KnownView:
    text = f"row {row.branch}@{row.position}, whose digest follows from every row before it"
    return KnownView(status="recorded", settled=True, evidence=None, text=text, next_step=None)


def _known(reader: Reader, branch: BranchId, steps: Steps) -> KnownView:
    """Fold the story alone: what other captures did to the branch says nothing of this one."""
    state, decisive = State(), steps[-1][0]
    for row, _ in steps:
        after = evolve(state, row)
        if _proven(after) != _proven(state):
            decisive = row
        state = after
    for item in open_items(branch, state):
        return _open(item, decisive, live=holder(reader.path).live)
    for capture in state.captures:
        return _unsent(capture)
    return _settled(decisive, state.checkpoint)


def _proven(state: State) -> tuple[object, ...]:
    """What is known of the one capture or call, without the labels of its note."""
    evidence = state.checkpoint.evidence if state.checkpoint is not None else None
    return (state.captures, state.calls, evidence)


def _open(item: Open, row: Row, *, live: bool) -> KnownView:
    return KnownView(
        status=item.status,
        settled=False,
        evidence=None,
        text=f"{why(item, live=live)}, {_by(row)}",
        next_step=next_step(item, live=live),
    )


def _unsent(capture: Capture) -> KnownView:
    words = "not summarised yet" if capture.status == "begun" else "summarised, and not sent yet"
    again = "resume its session, which goes on with it"
    return KnownView(status=capture.status, settled=False, evidence=None, text=words, next_step=again)


def _settled(row: Row, note: Capture | None) -> KnownView:
    """What settled it, by the newest row that changed what is known."""
    if note is not None:
        labels = "".join(f", {word}" for word, on in (("moved", note.moved), ("edited since", note.edited)) if on)
        stored = "taken for stored, by a person's decision," if isinstance(row.event, CaptureResolved) else "stored"
        text = f"{stored} at {note.project}: {note.path}{labels}; evidence {note.evidence or 'none'}, {_by(row)}"
        return KnownView(status="confirmed", settled=True, evidence=note.evidence, text=text, next_step=None)
    status, words = _ended(row.event)
    return KnownView(status=status, settled=True, evidence=None, text=f"{words}, {_by(row)}", next_step=None)


def _by(row: Row) -> str:
    return f"by row {row.branch}@{row.position}"


def _ended(event: Event) -> tuple[str, str]:
    match event:
        case CaptureSuperseded():
            return "superseded", f"never sent: the newer tip {event.by_tip} took its place"
        case NoteWithdrawn():
            return "withdrawn", "it was stored, and is proven to be gone since"
        case CaptureResolved() | ToolResolved():
            done = event.decision == "accept"
            return ("accepted", "a person found it done") if done else ("abandoned", "given up by a person")
        case ToolAnswered():
            words = {
                "accepted": "the server answered that it is done",
                "refused": f"the server refused it ({event.code})",
                "not-sent": f"it was not sent ({event.code})",
            }
            return event.outcome, words.get(event.outcome, "its outcome is not known")
        case _:
            return "confirmed", "stored"
