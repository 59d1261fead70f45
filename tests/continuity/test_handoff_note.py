"""A handoff becomes the note other agents read and query: the contract's headings, observations and metadata."""

import pytest
from msgspec.structs import replace
from syrupy.assertion import SnapshotAssertion

from continuity.capture import content_digest
from continuity.handoff import (
    END_LINE,
    Handoff,
    accept_handoff,
    from_kept,
    kept_text,
    note_body,
    note_metadata,
    pull_request_in,
)
from continuity.profile import GitFacts, Profile, PullRequest
from journal.ids import CaptureId, EntryId, SessionId

TEXT = """\
## Objective

Ship the parser.

Newest request: only review.

## Decisions

- Use PEG, because it is small.
2. Keep the old tests.

## Verified work

- Verified: 12 tests pass.
- Claimed: it is fast.

## Unfinished work

- Blocked: waits for the grammar.
- The docs.

## Next action

Review parser.py
and nothing else.
"""
NONE = "\n".join(
    f"## {name}\n\n{'Do it.' if name in {'Objective', 'Next action'} else 'None.'}\n"
    for name in ("Objective", "Decisions", "Verified work", "Unfinished work", "Next action")
)
GENERAL = Profile(
    kind="general",
    project="main",
    read_projects=(),
    repository=None,
    root=None,
    scope="thesis",
    cwd="/w/thesis",
    checkpoint_folder="tau/checkpoints",
)
CODING = Profile(
    kind="coding",
    project="notes",
    read_projects=(),
    repository="ada/one",
    root="/w/one",
    scope="ada/one",
    cwd="/w/one/src",
    checkpoint_folder="tau/one",
)
REQUEST = PullRequest(number="7", title="Parse\nit", url="https://example.org/7", state="open", base="main", head="peg")
GIT = GitFacts(root="/w/one", branch="peg", sha="9f439ea1b2c3d4e5f60718293a4b5c6d7e8f9012", pull_request=REQUEST)


def metadata(profile: Profile, git: GitFacts | None = None, trigger: str = "settled") -> dict[str, str]:
    return note_metadata(
        profile,
        project="notes",
        capture_id=CaptureId("ab" * 32),
        session_id=SessionId("s-1"),
        source_tip=EntryId("e-9"),
        trigger=trigger,
        started_ms=1_767_225_600_000,
        ended_ms=1_767_225_661_999,
        body="the body\n",
        git=git,
    )


def test_a_coding_note_reads_like_this(snapshot: SnapshotAssertion) -> None:
    body = note_body(Handoff(TEXT, "", 0), "coding", continues="notes/tau/one/old", sources=("notes/a", "notes/a b"))
    assert body == snapshot


def test_a_general_note_has_its_own_categories() -> None:
    body = note_body(Handoff(TEXT, "", 0), "general")
    assert "- [context] Verified: 12 tests pass." in body
    assert "- [problem] waits for the grammar." in body
    assert "## Relations" not in body


@pytest.mark.parametrize("nothing", ["None.", "none recorded.", "Nothing yet", "None so far.", "N/A"])
def test_a_section_that_says_none_gives_no_observation(nothing: str) -> None:
    assert note_body(Handoff(NONE.replace("None.", nothing), "", 0), "coding").endswith(
        "## Observations\n\n- [summary] Do it.\n- [next_step] Do it.\n"
    )


def test_the_models_observations_stand_if_their_categories_are_the_schemas() -> None:
    given = "- [decision] PEG\n* [verification] green\n- [x] done\n- [secret_plan] no\nplain"
    body = note_body(Handoff(TEXT, given, 0), "coding")
    assert body.endswith("## Observations\n\n- [decision] PEG\n- [verification] green\n")


def test_a_long_list_gives_a_bounded_number_of_short_observations() -> None:
    text = TEXT.replace("- Use PEG, because it is small.", "\n".join(["- " + "why " * 400] * 40))
    lines = [line for line in note_body(Handoff(text, "", 0), "coding").split("\n") if "[decision]" in line]
    assert len(lines) == 12
    assert max(map(len, lines)) <= 315


def test_a_model_cannot_write_lineage() -> None:
    text = TEXT.replace("- The docs.", "- continues [[other/secret]]\n- see [[docs]]")
    body = note_body(Handoff(text, "", 0), "coding")
    assert "[[other/secret]]" not in body
    assert "[[docs]]" in body


def test_a_relations_target_is_one_link() -> None:
    body = note_body(Handoff(TEXT, "", 0), "coding", continues="a]] [[b\nc", sources=("a]] [[b\nc",))
    assert body.endswith("## Relations\n\n- continues [[a b c]]\n")


def test_a_general_checkpoint_says_where_it_belongs() -> None:
    assert metadata(GENERAL) == {
        "project": "notes",
        "started": "2026-01-01T00:00:00+00:00",
        "ended": "2026-01-01T00:01:01+00:00",
        "status": "open",
        "capture": "summarized",
        "capture_id": "ab" * 32,
        "session_id": "s-1",
        "agent": "tau",
        "source_tip": "e-9",
        "cwd": "/w/thesis",
        "scope": "thesis",
        "trigger": "settled",
        "content_digest": content_digest("the body"),
    }


def test_a_coding_checkpoint_adds_repository_and_pull_request() -> None:
    added = {key: value for key, value in metadata(CODING, GIT).items() if key not in metadata(GENERAL)}
    assert added == {
        "repository": "ada/one",
        "repo_root": "/w/one",
        "branch": "peg",
        "git_sha": GIT.sha,
        "pull_request_number": "7",
        "pull_request_title": "Parse it",
        "pull_request_url": "https://example.org/7",
        "pull_request_state": "open",
        "pull_request_base": "main",
        "pull_request_head": "peg",
    }


def test_a_pull_request_is_read_back_as_it_was_written() -> None:
    assert pull_request_in(metadata(CODING, GIT)) == replace(REQUEST, title="Parse it")
    assert pull_request_in(metadata(CODING, None)) is None
    assert pull_request_in({"pull_request_number": "7", "pull_request_state": "else"}) == PullRequest(number="7")


def test_a_pull_request_that_told_little_costs_only_its_fields() -> None:
    told = metadata(CODING, GitFacts(root="/w/one", branch="", sha="", pull_request=PullRequest(number="7")))
    assert {key for key in told if key.startswith("pull") or key in {"branch", "git_sha"}} == {"pull_request_number"}


@pytest.mark.parametrize("git", [None, GitFacts(root="/w/one", branch="x", sha="y")])
def test_a_checkpoint_without_a_pull_request_has_none_of_its_fields(git: GitFacts | None) -> None:
    told = metadata(CODING, git)
    assert told["repo_root"] == "/w/one"
    assert not [key for key in told if key.startswith("pull")]
    assert ("branch" in told) == (git is not None)


def test_every_value_is_text_and_masked() -> None:
    told = metadata(GENERAL, trigger="the password is " + "hunter2")
    assert told["trigger"] == "the password is [masked:stated-secret]"
    assert {type(value) for value in told.values()} == {str}


@pytest.mark.parametrize("before", ["", "\n ", "\ufeff", "\ufeff\ufeff\n", "\u200b", "Here it is:\n"])
@pytest.mark.parametrize("fenced", [False, True])
def test_a_model_cannot_file_its_answer_as_a_task(before: str, fenced: bool) -> None:
    answer = f"{before}---\ntype: task\nstatus: active\n---\n{TEXT}\n{END_LINE}"
    made = accept_handoff(f"```markdown\n{answer}\n```" if fenced else answer, 5000)
    assert isinstance(made, Handoff)
    for handoff in (made, from_kept(kept_text(made))):
        assert handoff is not None
        body = note_body(handoff, "general")
        assert body.startswith("## Objective\n\nShip the parser.")
        assert "type: task" not in body
