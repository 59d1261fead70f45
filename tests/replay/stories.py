"""The made-up sessions that the offline commands are tried on."""

from __future__ import annotations

from journal.events import (
    BranchForked,
    BriefDelivered,
    CheckpointReferenced,
    Event,
    RecallAnswered,
    RecallPlanned,
    SessionClosed,
    ToolAnswered,
    ToolCalled,
    WorkBegun,
)
from journal.events.recall import HitRef, QueryRef
from journal.ids import CallId, CaptureId, ConnectionId, EntryId, Sha256
from tests.facts import (
    ADDRESS,
    BODY,
    CAPTURE,
    CONNECTION,
    HANDOFF,
    NEXT_WRITER,
    OTHER_CAPTURE,
    SAVED,
    TIP,
    WRITER,
    begun,
    connected,
    finished,
    intended,
    opened,
    probed,
    seen,
    settled,
)
from tests.fakes.journals import Recording

BRIEF = Sha256("9" * 64)
CALL = CallId("call-1")
NEXT_TIP = EntryId("bb02")
HIT = HitRef(file_path=ADDRESS.file_path, checksum="sum-1", characters=120, treatment="used", why="checkpoint")

RECALLED: tuple[Event, ...] = (
    RecallPlanned(reason="start", topic_sha256=None, queries=(QueryRef(name="tasks", query_sha256=BODY),)),
    RecallAnswered(name="tasks", query_sha256=BODY, authoritative=True, hits=(HIT,)),
    BriefDelivered(brief_sha256=BRIEF, characters=900, sources=(HIT,), how="steered", entry=TIP, complete=True),
    CheckpointReferenced(capture_id=CAPTURE, evidence="answered", brief_sha256=BRIEF),
)
CLOSED = SessionClosed(reason="quit", unsaved_tip=None, drained=True)
CALLED = ToolCalled(call_id=CALL, name="edit_note", target_sha256=BODY, writer=WRITER, connection=CONNECTION)
LOST_CALL = ToolAnswered(call_id=CALL, outcome="unknown", code="timeout")
LEFT = BranchForked(reason="left", left_tip=NEXT_TIP, kept_tip=TIP)


def killed() -> Recording:
    """A session killed between intent and answer, resumed, and settled by one read."""
    story = Recording()
    story.append(opened(), WorkBegun(how="prompt", characters=12), tip=None)
    story.append(connected(), settled(), begun(), finished(), intended())
    story.append(opened("resume", writer=NEXT_WRITER, ended=(WRITER,)), connected(ConnectionId("connection-2")))
    story.append(probed("present_same", seen()))
    return story


def forked() -> Recording:
    """A saved session whose path left the branch; the fork has a doubted write and a call of unknown outcome."""
    story = Recording()
    story.append(*SAVED, *RECALLED, bodies=("## Objective\nship it: é\u2028\x1b[2J",))
    story.append(settled(), tip=NEXT_TIP)
    second = story.fork(1, len(SAVED), LEFT)
    story.append(settled(), CALLED, LOST_CALL, tip="cc03", branch=second)
    story.append(begun(OTHER_CAPTURE, EntryId("cc03"), prior=(HANDOFF, TIP)), branch=second, tip="cc03")
    story.append(finished(OTHER_CAPTURE, Sha256("8" * 64)), branch=second, tip="cc03")
    story.append(intended(OTHER_CAPTURE, EntryId("cc03")), branch=second, tip="cc03")
    story.append(opened("resume", writer=NEXT_WRITER, ended=(WRITER,)), branch=second, tip="cc03")
    return story


def hostile(text: str) -> Recording:
    """A session in which every word that came from elsewhere is `text`."""
    called = ToolCalled(
        call_id=CallId(text), name=text, target_sha256=BODY, writer=WRITER, connection=ConnectionId(text)
    )
    story = Recording()
    story.append(opened(), connected(ConnectionId(text)), called, tip=text, bodies=(text,))
    story.append(
        settled(),
        begun(CaptureId("7" * 64), EntryId(text), reason=text),
        ToolAnswered(call_id=CallId(text), outcome="unknown", code=text),
        RecallPlanned(reason=text, topic_sha256=BODY, queries=(QueryRef(name=text, query_sha256=BODY),)),
        tip=text,
    )
    return story
