"""Every session has one journal file, whatever its id, and no id reaches another's or leaves the folder."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from continuity.places import STATE_HOME, TAU_HOME, PlaceRefused, journal_stem, places, places_of, process_session
from journal.ids import SessionId, WriterId

HOME = Path("/home/ada/.tau")
HERE = places(HOME)


def test_a_plain_id_names_its_file() -> None:
    assert HERE.journal(SessionId("0a1b-2c")) == HOME / "state/extensions/continuity/0a1b-2c.journal"


def test_state_can_be_elsewhere() -> None:
    assert places(HOME, Path("/state")).journal(SessionId("a")) == Path("/state/a.journal")


@pytest.mark.parametrize("safe", ["a", "A.b_c-1", "x" * 120])
def test_a_safe_id_is_kept(safe: str) -> None:
    assert journal_stem(SessionId(safe)) == safe


@pytest.mark.parametrize("unsafe", ["", ".a", "../a", "a/b", "a b", "ä", "a\n", "x" * 121, "x-1", "X-1", "\ud800"])
def test_any_other_id_is_known_by_its_digest(unsafe: str) -> None:
    stem = journal_stem(SessionId(unsafe))
    assert stem.startswith("x-")
    assert len(stem) == 42


@given(st.text(max_size=130), st.text(max_size=130))
def test_two_ids_never_share_a_file(one: str, other: str) -> None:
    assert (journal_stem(SessionId(one)) == journal_stem(SessionId(other))) == (one == other)


@given(st.text(max_size=130))
def test_no_session_leads_to_the_journal_of_a_process(session_id: str) -> None:
    writer = WriterId("0a1b")
    adhoc = HERE.adhoc(writer)
    assert adhoc.name == "x-process-0a1b.journal"
    assert HERE.journal(SessionId(session_id)) != adhoc
    assert HERE.journal(process_session(writer)) != adhoc


def test_the_other_files_are_where_the_readme_says() -> None:
    assert HERE.settings == HOME / "continuity.json"
    assert HERE.compatible_settings == HOME / "basic-memory.json"
    assert HERE.shim == HOME / "extensions/continuity/extension.py"
    assert HERE.packages == HOME / "state/extensions/continuity/packages"


def test_variables_move_the_home_and_the_state() -> None:
    assert places_of({}, Path("/home/ada")) == HERE
    assert places_of({TAU_HOME: "", STATE_HOME: ""}, Path("/home/ada")) == HERE
    moved = places_of({TAU_HOME: "~/elsewhere", STATE_HOME: "/state"}, Path("/home/ada"))
    assert (moved.tau_home, moved.state) == (Path("/home/ada/elsewhere"), Path("/state"))
    assert places_of({TAU_HOME: "~"}, Path("/home/ada")).tau_home == Path("/home/ada")


@pytest.mark.parametrize("variable", [TAU_HOME, STATE_HOME])
def test_a_variable_that_depends_on_the_checkout_is_refused(variable: str) -> None:
    with pytest.raises(PlaceRefused, match=variable) as raised:
        places_of({variable: "state"}, Path("/home/ada"))
    assert "absolute path" in raised.value.remedy
