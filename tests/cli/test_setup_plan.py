"""What a setup would change follows from what is so and what is wanted; everything else in a person's file stays theirs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from continuity.checkout import Said
from continuity.cli.setup.document import Coding, Document, Repeated, Wanted, changed, difference, laid_out, parsed
from continuity.cli.setup.naming import Approved, Told, named
from continuity.cli.setup.questions import described, name_fault
from continuity.shell.settings import Settings

ROOT = Path("/home/ada/one")
OTHER = Approved(Path("/home/ada/first"), "ada/one")


def after(document: Document, wanted: Wanted) -> Document:
    return changed(document, Settings.model_validate_json(json.dumps(document)), wanted)


def keys(**wanted: Any) -> Wanted:
    return Wanted(wanted)


def coding(at: int | None = None, **fields: Any) -> Wanted:
    usual: dict[str, Any] = {"approved": True, "repository": "ada/one", "project": "main"}
    return Wanted({}, Coding(str(ROOT), at=at, **(usual | fields)))


# -- settings ----------------------------------------------------------------


def test_a_key_at_its_default_is_not_written_unless_the_person_wrote_it() -> None:
    wanted = keys(project="main", cadence={"characters": 4000, "minutes": 10}, auto_recall=True)
    assert after({}, wanted) == {"project": "main"}
    assert after({"auto_recall": False}, wanted) == {"auto_recall": True, "project": "main"}


def test_a_key_that_means_the_same_already_is_not_touched() -> None:
    document = {"cadence": {"minutes": 10.0, "characters": 4000}, "capture_folder": "tau/transcripts/"}
    wanted = keys(cadence={"characters": 4000, "minutes": 10}, capture_folder="tau/transcripts")
    assert json.dumps(after(document, wanted)) == json.dumps(document)


def test_keys_keep_their_order_and_others_their_values() -> None:
    document = {"scope": "work", "project": "old", "env": {"A": "b"}, "timeout_seconds": 9}
    assert list(after(document, keys(project="main")).items()) == [
        ("scope", "work"), ("project", "main"), ("env", {"A": "b"}), ("timeout_seconds", 9),
    ]  # fmt: skip


def test_no_project_is_written_only_over_one() -> None:
    assert after({}, keys(project=None)) == {}
    assert after({"project": "main"}, keys(project=None)) == {"project": None}


def test_an_approval_says_no_more_than_it_must() -> None:
    entry = {"root": str(ROOT), "repository": "ada/one", "project": "main"}
    assert after({}, coding()) == {"repositories": [entry]}
    assert after({}, coding(read_projects=("team",))) == {"repositories": [entry | {"read_projects": ["team"]}]}


def test_an_approval_that_is_changed_keeps_what_is_not_asked_about() -> None:
    first = {"root": "/first", "repository": "ada/first"}
    entry = {"placement_conventions": "by year", "root": "~/one", "repository": "old", "project": "main"}
    changed_entry = entry | {"repository": "ada/one"}
    assert after({"repositories": [first, entry]}, coding(at=1)) == {"repositories": [first, changed_entry]}
    assert after({"repositories": [first, entry]}, coding(at=1, approved=False)) == {"repositories": [first]}
    assert after({"repositories": [first]}, coding(approved=False)) == {"repositories": [first]}


def test_what_was_there_is_not_changed_in_place() -> None:
    document: Document = {"repositories": [{"root": str(ROOT), "repository": "old"}]}
    after(document, coding(at=0))
    assert document == {"repositories": [{"root": str(ROOT), "repository": "old"}]}


@pytest.mark.parametrize("indent", [2, 4, "\t"])
def test_a_file_keeps_its_indent(indent: int | str) -> None:
    text = json.dumps({"project": "ä", "args": ["mcp"]}, indent=indent, ensure_ascii=False)
    assert laid_out(parsed(text), text) == text + "\n"
    assert laid_out({"project": "main"}, None) == '{\n  "project": "main"\n}\n'


def test_a_key_that_stands_twice_is_not_lost_but_refused() -> None:
    with pytest.raises(Repeated, match="root"):
        parsed('{"repositories": [{"root": "/a", "root": "/b"}]}')


def test_a_difference_shows_names_of_the_servers_environment_and_no_value_of_it() -> None:
    before: Document = {"env": {"TOKEN": "hidden"}, "scope": "x"}
    shown = "\n".join(difference(before, before | {"project": "main"}, "/c.json"))
    assert "hidden" not in shown
    assert shown.splitlines()[:2] == ["--- /c.json", "+++ /c.json"]
    assert '+  "project": "main"' in shown
    assert '"TOKEN": "(not shown)"' in "\n".join(difference(None, before, "/c.json"))


# -- the name of a repository ------------------------------------------------


@pytest.mark.parametrize(
    ("told", "suggestion"),
    [
        (Told(), "one"),
        (Told(origin="https://ada:secret@example.org:8080/ada/parser.git?x=y"), "ada/parser"),
        (Told(origin="git@example.org:ada/parser.git"), "ada/parser"),
        (Told(origin="https://example.org/parser"), "one"),
        (Told(origin="https://example.org/ada/$(x)"), "one"),
        (Told(origin="../elsewhere"), "one"),
        (Told(origin="/srv/git/parser.git"), "one"),
    ],
)
def test_a_name_is_suggested_from_the_last_two_parts_of_a_remote_or_the_folder(told: Told, suggestion: str) -> None:
    found = named(ROOT, told, ())
    assert found.suggestion == suggestion
    assert "secret" not in str(found)


@pytest.mark.parametrize(
    ("told", "because"),
    [
        (Told(common="/home/ada/first/.git"), "it is a worktree of /home/ada/first"),
        (Told(origin="/home/ada/first"), "it is a clone of /home/ada/first"),
        (Told(origin="file:///home/ada/first"), "it is a clone of /home/ada/first"),
        (Told(origin="git@example.org:Ada/One.git"), "that of /home/ada/first, for both have the same remote"),
    ],
)
def test_a_copy_of_an_approved_repository_is_to_have_its_name(told: Told, because: str) -> None:
    found = named(ROOT, told, (Approved(ROOT, "itself"), OTHER))
    assert (found.suggestion, found.because) == ("ada/one", because)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (Said(at_root=True, head="refs/heads/main", sha="0" * 40), None),
        (Said(at_root=True, head="refs/heads/main"), "no-commit"),
        (Said(at_root=False), "other-root"),
        (Said(trouble="no-git"), "no-git"),
    ],
)
def test_why_work_would_be_general_although_it_is_approved_is_known_before_it_is(said: Said, why: str | None) -> None:
    assert named(ROOT, Told(said), ()).why == why


# -- words -------------------------------------------------------------------


def test_what_is_saved_when_is_told_in_a_line_each() -> None:
    usual = Settings().model_dump(mode="json")
    assert "once 4,000 new characters or 10 minutes have gathered" in described(usual)[0]
    assert described(usual | {"cadence": "every"})[0].endswith("each one")
    assert described(usual | {"capture_knowledge": False, "auto_recall": False}) == (
        "saving        off: only what you save by hand",
        "recall        off",
    )


@pytest.mark.parametrize("text", ["", " x", "a\nb", "x" * 201])
def test_what_the_settings_would_refuse_is_no_name(text: str) -> None:
    assert name_fault(text) == "a name is one line of 1 to 200 characters that can be read"
    assert name_fault("x" * 200) is None
