"""The host's own path decides where work goes on: what is copied, torn, renamed or in an older form costs at most itself."""

from pathlib import Path

from journal.events import BranchForked, CaptureBegun, ReceiptAdopted, WriteAnswered
from journal.ids import EntryId
from journal.reader import open_reader
from replay.audit import audit
from replay.session import mirrored
from tests.fakes.transcript import Line, Transcript
from tests.shell.rig import Talk, names, recorded, rig


async def worked(talk: Talk, text: str) -> EntryId:
    """One saved turn, with what the prompt's boundary gives put into the session as the host does."""
    assert isinstance(talk.conversation, Transcript)
    prompted = await talk.prompt(text)
    if prompted.brief is not None:
        talk.conversation.insert(prompted.brief)
        await talk.session.delivered(prompted.brief)
    if prompted.receipt is not None:
        talk.conversation.receipt(prompted.receipt)
    await talk.session.settled(talk.conversation.assistant(f"Done: {text}"), interrupted=False)
    await talk.settle()
    assert talk.state.checkpoint is not None
    return talk.state.checkpoint.source_tip


async def lived(root: Path) -> Transcript:
    """A session of three saved turns; the receipts of the first two are in its file."""
    transcript = Transcript(root / "session.jsonl")
    async with rig(root) as process:
        talk = await process.open(transcript)
        for n in range(3):
            await worked(talk, f"turn {n}")
    return transcript


def renamed_from(lines: list[Line], text: str) -> list[Line]:
    """What Tau's repair of a broken history does: the messages from `text` on stand there once more under new ids."""
    at = next(n for n, line in enumerate(lines) if text in str(line.get("message")))
    copies = [line for line in lines[at:] if line["type"] == "message"]
    rest = [line for line in lines[at:] if line["type"] == "custom"]
    made: list[Line] = []
    parent = lines[at]["parent_id"]
    for number, line in enumerate([*copies, *rest]):
        made.append({**line, "id": f"repaired-{number}", "parent_id": parent})
        parent = f"repaired-{number}"
    return [*lines, *made]


# -- copies under new ids --------------------------------------------------------


async def test_a_session_copied_under_new_ids_has_a_journal_of_its_own_and_inherits_the_receipts(
    tmp_path: Path,
) -> None:
    original = await lived(tmp_path)
    copy = original.copied_to(tmp_path / "copy.jsonl")
    async with rig(tmp_path) as process:
        talk = await process.open(copy, "copy")
        brief = (await talk.prompt("go on")).brief
        (adopted,) = talk.events(ReceiptAdopted)
        assert adopted.origin == "session"
        assert adopted.source_tip not in {str(line["id"]) for line in copy.lines}
        assert talk.path.name == "copy.journal"
        assert brief is not None
        assert "Keep the lamp lit." in brief.brief.text


async def test_the_next_checkpoint_of_a_copied_session_continues_the_inherited_one(tmp_path: Path) -> None:
    original = await lived(tmp_path)
    copy = original.copied_to(tmp_path / "copy.jsonl")
    async with rig(tmp_path) as process:
        talk = await process.open(copy, "copy")
        tip = await worked(talk, "go on")
        assert tip == copy.tip
        (adopted,) = talk.events(ReceiptAdopted)
        path = talk.events(WriteAnswered)[-1].file_path
        inherited = adopted.file_path.removesuffix(".md")
        assert f"continues [[{inherited}]]" in process.memory.notes[str(path)]["content"]
        assert process.memory.calls()["write_note"] == 4


async def test_messages_that_the_host_copied_when_it_repaired_its_history_are_the_ones_they_were(
    tmp_path: Path,
) -> None:
    transcript = await lived(tmp_path)
    transcript.rewrite(lambda lines: renamed_from(lines, "Done: turn 1"))
    async with rig(tmp_path) as process:
        talk = await process.open(transcript)
        assert process.memory.calls()["write_note"] == 3
        await worked(talk, "go on")
        assert len(branches(talk.path)) == 1
        asked = process.mind.asked[-1]
        assert "turn 2" not in asked.partition("The conversation, part")[2]
        assert "go on" in asked


async def test_going_back_into_a_repaired_history_forks_where_the_person_went_back_to(tmp_path: Path) -> None:
    transcript = await lived(tmp_path)
    transcript.rewrite(lambda lines: renamed_from(lines, "turn 1"))
    kept = next(line for line in transcript.lines if line["id"] == "repaired-1")
    transcript.go_to(EntryId(str(kept["id"])))
    async with rig(tmp_path) as process:
        talk = await process.open(transcript)
        await worked(talk, "another way")
        (forked,) = recorded(talk.path, BranchForked, 2)
        assert forked.kept_tip == recorded(talk.path, CaptureBegun)[1].source_tip


def branches(path: Path) -> list[int]:
    with open_reader(path) as reader:
        return [described.branch for described in reader.branches]


# -- what is not there -------------------------------------------------------------


def torn_at(text: str, lines: list[Line]) -> list[Line]:
    return [{**line, "parent_id": "never-written"} if text in str(line.get("message")) else line for line in lines]


async def test_where_a_parent_was_never_written_the_rest_is_used_and_that_is_said(tmp_path: Path) -> None:
    transcript = await lived(tmp_path)
    transcript.rewrite(lambda lines: torn_at("'turn 1'", lines))
    async with rig(tmp_path) as process:
        talk = await process.open(transcript)
        tip = await worked(talk, "go on")
        assert tip == transcript.tip
        assert branches(talk.path) == [1]
        (said,) = process.voice.on("session-file")
        assert "what its path goes on from was never written. What can be reached is used." in said


async def test_a_session_torn_before_its_journal_was_made_begins_with_what_can_be_reached(tmp_path: Path) -> None:
    transcript = await lived(tmp_path)
    transcript.rewrite(lambda lines: torn_at("'turn 1'", lines))
    for file in (tmp_path / "state").rglob("*.journal*"):
        file.unlink()
    async with rig(tmp_path) as process:
        talk = await process.open(transcript)
        await worked(talk, "go on")
        assert talk.state.checkpoint is not None
        assert "turn 0" not in process.mind.asked[-1].partition("The conversation, part")[2]


async def test_records_that_cannot_be_read_are_counted_and_told(tmp_path: Path) -> None:
    transcript = await lived(tmp_path)
    with transcript.path.open("ab") as file:
        file.write(b"\0\0\0\n{\n")
    async with rig(tmp_path) as process:
        talk = await process.open(transcript)
        await worked(talk, "go on")
        (said,) = process.voice.on("session-file")
        assert "2 of its records cannot be read" in said


# -- forms of old --------------------------------------------------------------------


def of_old(lines: list[Line]) -> list[Line]:
    """The same session as Tau wrote it at first: what extensions say is a message with a role, pointers name the tip."""
    made: list[Line] = []
    for number, line in enumerate(lines):
        pointer: Line = {"type": "leaf", "id": f"leaf-{number}", "parent_id": None, "entry_id": lines[0]["id"]}
        made += [with_a_role(line) if line["type"] == "custom_message" else line, pointer]
    return made


def with_a_role(line: Line) -> Line:
    body: Line = {name: line[name] for name in ("custom_type", "content", "details") if name in line}
    rest = {name: value for name, value in line.items() if name not in (*body, "display")}
    return {**rest, "type": "message", "message": {"role": "custom", "timestamp": 1, **body}}


async def test_a_session_of_the_first_format_goes_on_where_its_last_entry_is(tmp_path: Path) -> None:
    transcript = await lived(tmp_path)
    transcript.rewrite(of_old)
    async with rig(tmp_path) as process:
        talk = await process.open(transcript)
        assert process.memory.calls()["write_note"] == 3
        assert await worked(talk, "go on") == transcript.tip
        assert branches(talk.path) == [1]
        assert "Untrusted historical reference" not in "".join(process.mind.asked)


async def test_a_brief_in_either_form_is_known_to_be_in_context(tmp_path: Path) -> None:
    transcript = Transcript(tmp_path / "session.jsonl")
    async with rig(tmp_path) as process:
        process.memory.put("tasks/foghorn.md", "Mend the foghorn.", type="task", status="active")
        await worked(await process.open(transcript), "turn 0")
        assert "custom_message" in [line["type"] for line in transcript.lines]
    seen = {(await transcript.view(None)).briefs_in_context}
    transcript.rewrite(of_old)
    assert "custom_message" not in [line["type"] for line in transcript.lines]
    assert {(await transcript.view(None)).briefs_in_context} == seen != {frozenset()}


# -- what is ours ------------------------------------------------------------------------


async def test_what_we_put_into_a_session_never_moves_its_tip(tmp_path: Path) -> None:
    transcript = await lived(tmp_path)
    view = await transcript.view(None)
    ours = [line for line in transcript.lines if line["type"] in ("custom", "custom_message")]
    assert ours
    assert view.tip == [str(line["id"]) for line in transcript.lines if line["type"] == "message"][-1]
    transcript.receipt({"capture_id": "c"})
    assert (await transcript.view(None)).tip == view.tip


async def test_the_journal_and_the_receipts_of_a_repaired_session_vouch_for_each_other(tmp_path: Path) -> None:
    transcript = await lived(tmp_path)
    transcript.rewrite(lambda lines: renamed_from(lines, "Done: turn 1"))
    async with rig(tmp_path) as process:
        talk = await process.open(transcript)
        await worked(talk, "go on")
        assert names(talk.path).count("write-intended") == 4
        path = talk.path
    with open_reader(path) as reader:
        found = audit(reader, mirrored(transcript.path))
    assert {finding.rule for finding in found.findings} <= {"tail"}
