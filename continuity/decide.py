"""What a command amounts to in this state: the events to append, or a refusal. It performs nothing and reads no clock."""

from __future__ import annotations

from typing import assert_never

from continuity import keeping, settlement
from continuity.commands import (
    Adopt,
    BeginCapture,
    CloseSession,
    Command,
    CommandRejected,
    EraseBodies,
    Fork,
    Notice,
    Observe,
    Observed,
    OpenSession,
    Pause,
    RecordProbe,
    Request,
    Resolve,
    ResolveCall,
    Resume,
    Settle,
    SubmitWrite,
)
from continuity.state import Capture, Handoff, State
from journal.events import (
    BasisTaken,
    BranchForked,
    CaptureBegun,
    CaptureRequested,
    CaptureSuperseded,
    CompactionNoticed,
    CompactionStarted,
    Event,
    MemoryConnected,
    MemoryLost,
    Paused,
    Resumed,
    SessionClosed,
    SessionOpened,
    SynthesisAdvanced,
    SynthesisFailed,
    SynthesisFinished,
    ToolAnswered,
    WorkSettled,
    WriteAnswered,
    WriteIntended,
)
from journal.ids import CaptureId, Sha256

type Events = tuple[Event, ...]

LEAVING = frozenset({"quit", "left-session"})
"""Reasons that the user's switch for the end of a session governs."""


def decide(state: State, command: Command) -> Events:
    """Return the events that `command` amounts to in `state`; none when it changes nothing.

    Raises:
        CommandRejected: The state does not allow it; nothing was decided.
    """
    match command:
        case OpenSession():
            return (_open(state, command),)
        case CloseSession():
            return _close(state, command)
        case Fork():
            return (BranchForked(reason=command.reason, left_tip=command.left_tip, kept_tip=state.tip),)
        case Settle() | Notice():
            return _found(state, command)
        case Request():
            return _request(state, command)
        case BeginCapture():
            return _begin(state, command)
        case SubmitWrite():
            return (_submit(state, command),)
        case RecordProbe() | Adopt() | Resolve() | ResolveCall():
            return settlement.reconcile(state, command)
        case EraseBodies():
            return keeping.erase(state, command)
        case Pause() | Resume():
            return _switch(state, command)
        case Observe():
            return _observe(state, command.fact)
        case _:
            assert_never(command)


# -- sessions ----------------------------------------------------------------


def _open(state: State, command: OpenSession) -> SessionOpened:
    """Whoever holds the lock proves every earlier writer ended; only those still owing are named."""
    owing = {c.intent.event.writer for c in state.captures if c.status == "intended" and c.intent is not None} | {
        call.writer for call in state.calls
    }
    return SessionOpened(
        reason=command.reason,
        host=command.host,
        version=command.version,
        level=command.level,
        profile=command.profile,
        destination=command.destination,
        policy=command.policy,
        writer=command.writer,
        process=command.process,
        writers_ended=tuple(sorted(owing - {command.writer})),
    )


def _close(state: State, command: CloseSession) -> Events:
    if state.closed:
        return ()
    unsaved = state.unsaved_tip
    return (SessionClosed(reason=command.reason, unsaved_tip=unsaved, drained=state.drained),)


def _found(state: State, command: Settle | Notice) -> Events:
    return _settle(state, command) if isinstance(command, Settle) else _notice(state, command)


def _settle(state: State, command: Settle) -> Events:
    if command.messages == 0 and command.tip == state.settled_tip:
        return ()
    return (
        WorkSettled(
            messages=command.messages,
            characters=command.characters,
            interrupted=command.interrupted,
        ),
    )


def _notice(state: State, command: Notice) -> Events:
    """Each compaction once; together they make what was gathered due once."""
    new = tuple(CompactionNoticed(entry=entry) for entry in command.entries if entry not in state.compactions)
    return (*new, *_compaction(state)) if new else ()


def _switch(state: State, command: Pause | Resume) -> Events:
    if isinstance(command, Pause):
        return () if state.paused else (Paused(),)
    return (Resumed(),) if state.paused or command.doubted else ()


# -- captures ----------------------------------------------------------------


def _request(state: State, command: Request) -> Events:
    """Off the record and for an unchanged tip nothing is owed, whoever asks; what asks by itself needs the user's leave.

    A person also has the model asked again now that failed.
    """
    failed = command.reason == "command" and any(c.status == "begun" and c.failures for c in state.captures)
    news = state.gathered.tip is not None and state.gathered.owed is None
    if state.paused or not (news or failed):
        return ()
    if command.reason != "command" and not _permitted(state, command.reason):
        return ()
    return (CaptureRequested(reason=command.reason, focus_sha256=command.focus_sha256),)


def _permitted(state: State, reason: str) -> bool:
    """`capture` governs all that is automatic; two occasions have a switch of their own besides."""
    policy = state.opened.policy if state.opened is not None else None
    if policy is None or not policy.capture:
        return False
    if reason == "compaction":
        return policy.on_compact
    return policy.on_shutdown or reason not in LEAVING


def _begin(state: State, command: BeginCapture) -> Events:
    """One checkpoint at a time; a finished one that was never sent gives way to a newer tip.

    What is no checkpoint stands in line: none takes another's place, and none builds on what was said before. Nobody
    makes its text later, so it begins with it or not at all.
    """
    known = state.capture(command.capture_id)
    if known is not None:
        raise CommandRejected("begin-capture", f"this tip is already {known.status}")
    if command.kind != "checkpoint":
        if command.text is None:
            raise CommandRejected("begin-capture", f"a {command.kind} without its text can never be sent")
        return _begun(command), command.text
    if command.text is not None:
        raise CommandRejected("begin-capture", "the text of a checkpoint is made once it has begun")
    overtaken: list[Event] = []
    for capture in state.captures:
        if capture.kind != "checkpoint":
            continue
        if capture.status in ("begun", "intended"):
            raise CommandRejected("begin-capture", f"another capture is {capture.status}")
        if capture.status == "ready":
            overtaken.append(CaptureSuperseded(capture_id=capture.capture_id, by_tip=command.source_tip))
    return (*overtaken, _begun(command, state.handoff, state.gathered.focus_sha256))


def _begun(command: BeginCapture, basis: Handoff | None = None, focus: Sha256 | None = None) -> CaptureBegun:
    return CaptureBegun(
        capture_id=command.capture_id,
        attempt=1,
        kind=command.kind,
        project=command.project,
        source_tip=command.source_tip,
        reason=command.reason,
        prior_sha256=basis.sha256 if basis else None,
        prior_tip=basis.tip if basis else None,
        focus_sha256=focus,
    )


def _submit(state: State, command: SubmitWrite) -> WriteIntended:
    capture = _known(state, "submit-write", command.capture_id)
    if capture.status != "ready":
        raise CommandRejected("submit-write", f"the capture is {capture.status}, not ready")
    if state.connection is None or state.connection.connection != command.connection:
        raise CommandRejected("submit-write", "that connection is not up")
    if any(command.as_of is not None and source.position > command.as_of for source in state.sources):
        raise CommandRejected("submit-write", "a transcript note was stored since its body was made: make it anew")
    again = capture.intent is not None
    return WriteIntended(
        capture_id=capture.capture_id,
        attempt=capture.attempt + 1 if again else capture.attempt,
        mode="create",
        kind=capture.kind,
        project=capture.project,
        source_tip=capture.source_tip,
        address=command.address,
        content_sha256=command.content_sha256,
        note_type=command.note_type,
        metadata_sha256=command.metadata_sha256,
        writer=command.writer,
        connection=command.connection,
    )


def _known(state: State, command: str, capture_id: CaptureId) -> Capture:
    capture = state.live(capture_id)
    if capture is None:
        raise CommandRejected(command, "no such capture is open on this branch")
    return capture


# -- observations ------------------------------------------------------------


def _observe(state: State, fact: Observed) -> Events:
    """Most facts are recorded as they are; late and repeated ones change nothing and are not."""
    match fact:
        case WriteAnswered():
            return (fact,) if _awaited(state, fact) else ()
        case SynthesisAdvanced() | SynthesisFinished() | SynthesisFailed():
            return (_synthesis(state, fact),)
        case CompactionNoticed():
            return _notice(state, Notice(entries=(fact.entry,)))
        case CompactionStarted():
            return (fact, *_compaction(state))
        case BasisTaken():
            return (_basis(state, fact),)
        case ToolAnswered():
            open_still = any(call.call_id == fact.call_id and not call.unknown for call in state.calls)
            return (fact,) if open_still else ()
        case MemoryConnected():
            return () if state.connection == fact else (fact,)
        case MemoryLost():
            known = state.connection is not None
            return (fact,) if known == (fact.connection is not None) else ()
        case _:
            return (fact,)


def _synthesis(state: State, fact: SynthesisAdvanced | SynthesisFinished | SynthesisFailed) -> Event:
    """News of a handoff being made. A finished one whose text is gone has failed too, before it was sent."""
    status = _known(state, "observe", fact.capture_id).status
    if status == "begun" or (status == "ready" and isinstance(fact, SynthesisFailed)):
        return fact
    raise CommandRejected("observe", "this capture is not being synthesised")


def _awaited(state: State, fact: WriteAnswered) -> bool:
    capture = state.capture(fact.capture_id)
    return capture is not None and capture.status == "intended" and capture.attempt == fact.attempt


def _compaction(state: State) -> Events:
    """What was gathered is due before the context forgets it."""
    return _request(state, Request(reason="compaction"))


def _basis(state: State, fact: BasisTaken) -> BasisTaken:
    """Only the note that is the checkpoint here can stand for what was read before it."""
    known = state.checkpoint
    if known is None or (known.capture_id, known.source_tip) != (fact.capture_id, fact.source_tip):
        raise CommandRejected("observe", "that note is not the checkpoint of this branch")
    return fact
