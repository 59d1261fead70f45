"""From a message to its note nothing of a credential passes, whatever form it is in, and all that only looks like one does."""

import base64
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from journal.events import SynthesisFinished
from tests.fakes.host import HANDOFF
from tests.shell.rig import Rig, Talk, rig

SECRET = "kQ7vRm2XzL9pTn4WcY8sJd3HgB6fAe5uVyXq"
TOKEN = f"ghp_{SECRET}"
OTHER = "Zt5Kw8NbPq3RsXv7MdLc2YhGj9FuTe4WaBn6"
PASSWORD = "Wq8zTn3vKp5x"
BASIC = base64.b64encode(f"keeper:{SECRET}".encode()).decode()
KEY = [base64.b64encode(f"{n:02}{SECRET}{OTHER}".encode()).decode()[:64] for n in range(12)]
BEGIN, END = "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----"
LEFT_CHARACTERS = 4
"""So many characters of a credential in a row may be left, for they tell nothing."""


def echoing(asked: str) -> str:
    """A model that repeats all it was shown of the conversation, so that a note holds whatever got past the masking."""
    shown = asked.partition("\nThe conversation, part ")[2].rpartition("\n\nWrite the handoff now.")[0]
    said = [
        line
        for line in shown.split("\n")
        if line.strip() and not line.startswith(("```", "The user said:", "The assistant"))
    ]
    made = HANDOFF.format(next="Wire the foghorn.")
    return made.replace("## Decisions\n", "## Decisions\n" + "".join(f"- {line}\n" for line in said), 1)


FORMS: dict[str, tuple[Sequence[str], Sequence[str]]] = {
    "as it is": ([f"It is {TOKEN}."], [SECRET]),
    "with a space of no width in it": ([f"It is {TOKEN[:14]}\u200b{TOKEN[14:]}."], [SECRET]),
    "over a line break": ([f"It is {TOKEN[:18]}\n{TOKEN[18:]}."], [SECRET]),
    "in a string of JSON": ([json.dumps({"body": json.dumps({"api_key": PASSWORD})})], [PASSWORD]),
    "with its name in a header": ([f"Authorization: Basic {BASIC}"], [BASIC]),
    "one behind another": ([f"{TOKEN},ghp_{OTHER}"], [SECRET, OTHER]),
    "one beside another": ([f"{TOKEN} ghp_{OTHER}"], [SECRET, OTHER]),
    "one against another": ([f"{TOKEN}ghp_{OTHER}"], [SECRET, OTHER]),
    "in an assignment": ([f"export DB_PASSWORD={PASSWORD} && make"], [PASSWORD]),
    "in an address": ([f"postgres://keeper:{PASSWORD}@db.example/notes"], [PASSWORD]),
    "in a command": ([f"curl -u keeper:{PASSWORD} https://example.org"], [PASSWORD]),
    "a key over two messages": (["\n".join([BEGIN, *KEY[:6]]), "\n".join([*KEY[6:], END])], KEY),
    "over the end of a part": (["word " * 196 + TOKEN + " word" * 300], [SECRET]),
    "a key over the end of a part": (["word " * 150 + "\n".join([BEGIN, *KEY, END]) + " word" * 300], KEY),
}


def pieces(secrets: Sequence[str]) -> set[str]:
    """Every stretch of them that is longer than may be left."""
    size = LEFT_CHARACTERS + 1
    return {secret[at : at + size] for secret in secrets for at in range(len(secret) - size + 1)}


async def told(process: Rig, *messages: str) -> Talk:
    """Tell `messages`, the second one as the answer, and have them saved by a model that repeats them."""
    process.mind.answer = echoing
    talk = await process.open()
    await talk.turn(*messages[:2])
    await talk.settle()
    return talk


def texts_of(process: Rig) -> list[str]:
    """All that left for a model or a server."""
    return [*process.mind.asked, json.dumps(process.memory.requests()), json.dumps(process.memory.notes)]


@pytest.mark.parametrize("form", FORMS)
async def test_no_more_than_four_characters_of_a_credential_get_into_a_note(tmp_path: Path, form: str) -> None:
    messages, secrets = FORMS[form]
    async with rig(tmp_path, summary_chunk_chars=1000) as process:
        await told(process, *messages)
        assert "[masked:" in "".join(process.mind.asked)
        assert process.memory.calls()["write_note"] == 1
        found = [piece for piece in pieces(secrets) for text in texts_of(process) if piece in text]
    assert found == []


@pytest.mark.parametrize("form", FORMS)
async def test_no_file_of_ours_holds_a_credential_in_whatever_form(tmp_path: Path, form: str) -> None:
    messages, secrets = FORMS[form]
    async with rig(tmp_path, summary_chunk_chars=1000) as process:
        await told(process, *messages)
        files = [path for path in (tmp_path / "state").rglob("*") if path.is_file()]
        held = b"".join(path.read_bytes() for path in files)
    assert len(files) >= 2
    assert [secret for secret in secrets if secret[:12].encode() in held] == []


@pytest.mark.parametrize("form", FORMS)
async def test_no_more_than_four_characters_of_a_credential_come_back_in_a_brief(tmp_path: Path, form: str) -> None:
    messages, secrets = FORMS[form]
    async with rig(tmp_path) as process:
        process.memory.put("tasks/foghorn.md", "\n".join(messages), type="task", status="active")
        talk = await process.open()
        prompted = await talk.prompt("go on")
        assert prompted.brief is not None
        await talk.session.delivered(prompted.brief)
        brief = prompted.brief.brief.text
        held = b"".join(path.read_bytes() for path in (tmp_path / "state").rglob("*") if path.is_file())
    assert "[masked:" in brief
    assert [piece for piece in pieces(secrets) if piece in brief] == []
    assert [secret for secret in secrets if secret[:12].encode() in held] == []


async def test_what_was_masked_once_is_not_masked_again_by_the_next_checkpoint(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await told(process, f"It is {TOKEN}.")
        await talk.turn("And on.")
        await talk.settle()
        first, second = (event.maskings for event in talk.events(SynthesisFinished))
        assert (first, second) == (1, 0)
        assert "[masked:[" not in json.dumps([*process.mind.asked, process.memory.notes])


ORDINARY = {
    "a commit": "Fixed in 3f2a9c1b04d5e6f7a8b9c0d1e2f3a4b5c6d7e8f9, see the log.",
    "a short commit": "git checkout 3f2a9c1b",
    "a UUID": "The run is 123e4567-e89b-42d3-a456-426614174000.",
    "a digest": f"sha256:{'0123456789abcdef' * 4}",
    "a note's address": "tau/checkpoints/tau-checkpoint-4da0404dea7b6b4c6833.md",
    "a permalink": "[[main/tau/checkpoints/tau-checkpoint-3aa6d97c43edd8c285e7]]",
    "an identity of ours": f"capture {'4da0404dea7b6b4c6833' + 'c' * 44} is settled",
    "a word with sk- in it": "The risk-based task-list of the disk-usage desk.",
    "a run of asterisks": "password: ********",
    "a name without a value": "Set GITHUB_TOKEN before the build, and ask for no password.",
    "code made small": "function a(b,c){var d=b[0]||{};return d.e?c(d.e,f(b)):g[b]=h(d),!0}var i=a(j,k);",
    "a lock file": f'"integrity": "sha512-{"q1w2E3r4T5y6U7i8O9p0AsDfGhJkLzXcVbNm12345678" * 2}=="',
}


@pytest.mark.parametrize("form", ORDINARY)
async def test_what_only_looks_like_a_credential_is_in_the_note_as_it_was_said(tmp_path: Path, form: str) -> None:
    async with rig(tmp_path) as process:
        talk = await told(process, ORDINARY[form])
        (note,) = process.memory.notes.values()
        assert ORDINARY[form] in process.mind.asked[0]
        assert ORDINARY[form] in note["content"]
        assert [event.maskings for event in talk.events(SynthesisFinished)] == [0]


async def test_our_own_identities_stand_in_a_note_as_they_are(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await told(process, "one")
        await talk.turn("two")
        await talk.settle()
        assert talk.state.checkpoint is not None
        newest = process.memory.notes[str(talk.state.checkpoint.path)]
        assert newest["frontmatter"]["capture_id"] == talk.state.checkpoint.capture_id
        assert newest["frontmatter"]["source_tip"] == talk.state.checkpoint.source_tip
        assert newest["frontmatter"]["content_digest"] == talk.state.checkpoint.content_sha256
        assert "[masked:" not in json.dumps(newest)
        assert "- continues [[" in newest["content"]
