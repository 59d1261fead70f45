"""The steps of the demo, in order: each moves the story on and proves what it claims before the next begins."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from typing import cast

from continuity.capture import RECEIPT_NAMESPACE
from journal.events import CaptureProbed, MemoryConnected, SessionClosed, WriteAnswered, WriteIntended
from tests.fakes.other_agent import OtherAgent
from tests.fakes.scenario import HOLD
from tests.fakes.scripted_model import Json
from tests.fakes.story import is_brief
from tools.demo.play import Play
from tools.demo.script import (
    FIFTH,
    FIRST,
    FOURTH,
    FRESH,
    LATER,
    LOG_WORD,
    OPEN_DECISION,
    OTHERS,
    PLANTED,
    SECOND,
    TASK,
    THIRD,
)

type Step = tuple[str, Callable[[Play], None]]
"""What is announced, and what is done and proven."""


def another_agent(play: Play) -> None:
    """Notes that we did not write are in the same project."""
    with OtherAgent(play.scenario.memory) as agent:
        task = agent.write("task", "Repeating numbers", TASK.text, folder="tasks", status="active")
        decision = agent.write("decision", "Returned parcels", OPEN_DECISION.text, folder="decisions", status="open")
    play.proves(task.get("file_path") and decision.get("file_path"), "an active task and an open decision are stored")


def install(play: Play) -> None:
    """The extension comes into Tau as a person would bring it there."""
    play.cli("install", "--yes", "--editable", "--python", sys.executable)
    shim = play.scenario.home.home / "extensions" / "continuity" / "extension.py"
    play.proves(shim.exists(), "`continuity install --editable` wrote one file into the throw-away Tau home")


def start(play: Play) -> None:
    """A process, a server, and what is to be recalled, before anybody types."""
    tau = play.start()
    play.session_id, play.session_file = tau.session_id, tau.session_file
    play.narrator.says(f"tau --mode rpc, process {tau.pid}; bm mcp starts behind the relay")
    play.scenario.wait_recalled(after=0)
    play.proves(not play.journal.exists(), "recall is answered, and no journal is made before the first prompt")


def first_work(play: Play) -> None:
    """A turn with planted facts is settled, synthesised and stored."""
    play.proves_brief(play.ask(FIRST), OTHERS)
    intent = play.saved(1)
    notice = play.tau.wait_notice("`capture_knowledge` false").partition("] ")[2]
    play.narrator.says(f"Tau's user was told: {notice}")
    _proves_written_ahead(play, intent.capture_id)
    path, text = play.note(intent.capture_id)
    lost = [fact.what for fact in PLANTED if fact.text not in text]
    play.proves(not lost, f"the planted facts are in the Markdown of {path.name}", path)


def _proves_written_ahead(play: Play, capture_id: str) -> None:
    sent = play.scenario.writes(capture_id)
    play.proves(len(sent) == 1, "the server received exactly one write_note for it", play.relay_log)
    seen = cast("list[Mapping[str, Json]]", sent[0]["journals"])
    nothing: Mapping[str, Json] = {}
    ours = next((one for one in seen if one.get("path") == str(play.journal)), nothing)
    play.proves(
        ours.get("newest_of_capture") == "write-intended.v1" and ours.get("submitted") is True,
        "before the relay passed it on, it read the intent and the submission in the journal",
        play.relay_log,
    )


def more_work(play: Play) -> None:
    """Tool output fills the context; the receipt of the first checkpoint is mirrored into Tau's session."""
    first = play.saved(1).capture_id
    request = play.ask(SECOND)
    play.proves(request, "the agent read two logs with Tau's own tool, as much as a context holds")
    receipt = _receipts(play).get(first, {})
    rows = {row.position: row for row in play.scenario.rows(play.session_id)}
    anchor = rows.get(cast("int", receipt.get("position")))
    play.proves(
        anchor is not None and receipt.get("digest") == anchor.digest,
        "its receipt is in Tau's session file and names a row of the journal by its digest",
        play.session_file,
    )
    _, text = play.note(play.saved(2).capture_id)
    kept = text + play.journal.read_bytes().decode(errors="replace")
    play.proves(LOG_WORD not in kept, "nothing of the tools' output is in the note or in the journal")


def _receipts(play: Play) -> Mapping[str, Mapping[str, Json]]:
    """Return the data of our entries in Tau's session file, by capture."""
    lines = play.session_file.read_bytes().split(b"\n")[:-1]
    entries = [cast("Mapping[str, Json]", json.loads(line)) for line in lines]
    data = [cast("Mapping[str, Json]", one["data"]) for one in entries if one.get("namespace") == RECEIPT_NAMESPACE]
    return {str(one["capture_id"]): one for one in data}


def compaction(play: Play) -> None:
    """Tau forgets the beginning; stock Tau announces it to no extension."""
    answer = play.tau.compact()
    play.narrator.says(f"Tau made its own summary: {str(answer.get('summary'))[:60]!r}")
    request = play.ask(THIRD)
    transcript = "\n".join(text for _, text in request.messages if not is_brief(text))
    lost = all(fact.text not in transcript for fact in PLANTED)
    play.proves(lost, "the planted facts are gone from the transcript that the model sees")
    play.proves_brief(request, PLANTED, OTHERS)
    play.saved(3)


def killed(play: Play) -> None:
    """Between what the server did and what we know of it."""
    before = len(play.scenario.log())
    play.scenario.hold(HOLD)
    play.ask(FOURTH)
    held = play.scenario.wait_log("answer-held", after=before, tool="write_note")
    play.proves(held.get("error") is False, "the server accepted the note; the relay holds its answer", play.relay_log)
    play.tau.kill()
    play.scenario.wait_log("answer-dropped", after=before)
    play.scenario.release(HOLD)
    play.narrator.says("Tau was killed with SIGKILL; the answer is lost for good")
    play.doubted = play.scenario.events(play.session_id, WriteIntended)[-1].capture_id
    _proves_written_ahead(play, play.doubted)
    answers = [one.capture_id for one in play.scenario.events(play.session_id, WriteAnswered)]
    play.proves(play.doubted not in answers, "the journal ends with an intent and no answer", play.journal)
    unproven = play.cli("unproven", str(play.journal))
    play.proves(play.doubted[:12] in unproven, "`continuity unproven` lists it", play.journal)


def resumed(play: Play) -> None:
    """A new process knows from the journal alone what it must find out."""
    tau = play.start(play.session_id)
    play.narrator.says(f"tau --mode rpc --session {play.session_id}, process {tau.pid}; nobody has typed yet")
    notice = tau.wait_notice("settled by reading")
    play.narrator.says(f"Tau's user was told: {notice.partition('] ')[2]}")
    events = play.scenario.events(play.session_id, CaptureProbed)
    verdicts = [one.verdict for one in events if one.capture_id == play.doubted]
    play.proves(verdicts[:1] == ["present_same"], "the first probe settled it: present_same", play.journal)
    play.proves(
        len(play.scenario.writes(play.doubted)) == 1, "by reads alone: still one write_note for it", play.relay_log
    )
    servers = {one.connection for one in play.scenario.events(play.session_id, MemoryConnected)}
    play.proves(len(servers) == 2, "and through another server than the one it was sent to", play.journal)


def goes_on(play: Play) -> None:
    """The next prompt needs no question to the user and no extra turn."""
    play.proves_brief(play.ask(FIFTH), PLANTED, LATER, OTHERS)
    play.saved(4)


def leaves(play: Play) -> None:
    """The ordinary end."""
    code = play.tau.quit()
    closed = play.scenario.events(play.session_id, SessionClosed)
    play.proves(code == 0 and closed and closed[-1].drained, "Tau ended with nothing owed and nothing unsaved")


def fresh_session(play: Play) -> None:
    """Another session in the same folder knows the work."""
    before = len(play.scenario.log())
    tau = play.start()
    play.proves(tau.session_id != play.session_id, f"a new session, {tau.session_id}, in the same folder")
    play.scenario.wait_recalled(after=before)
    request = play.ask(FRESH)
    play.proves_brief(request, PLANTED, LATER, OTHERS)
    tau.quit()


def audited(play: Play) -> None:
    """What an outsider can prove with the journal alone."""
    journal = str(play.journal)
    play.proves(play.cli_json("audit", journal, "--session", str(play.session_file)).get("ok"), "the audit is sound")
    state = play.cli_json("state", journal)
    play.proves(state.get("checkpoint") and state.get("pending") == [], "a checkpoint is confirmed, nothing is pending")
    lines = play.cli("log", journal, "--json").splitlines()
    play.proves(len(lines) == len(play.scenario.rows(play.session_id)), f"the log tells all {len(lines)} events")


STEPS: tuple[Step, ...] = (
    ("Another agent leaves a task and a decision", another_agent),
    ("The extension is installed", install),
    ("Tau starts", start),
    ("The user works, and the turn is saved", first_work),
    ("More work: the receipt is mirrored", more_work),
    ("The conversation is compacted", compaction),
    ("Tau is killed while a note is being saved", killed),
    ("The session is resumed, and the doubt is settled", resumed),
    ("The next prompt has the brief", goes_on),
    ("The user leaves", leaves),
    ("A fresh session in the same folder has it too", fresh_session),
    ("The journal is audited", audited),
)
