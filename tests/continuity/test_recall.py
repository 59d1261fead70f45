"""A plan asks for what this work needs and nothing of other work; what comes back is judged before it is shown."""

from collections.abc import Mapping
from types import MappingProxyType

import msgspec
import pytest

from continuity.profile import Profile
from continuity.recall import (
    Answer,
    Limits,
    Query,
    Unread,
    both_phases,
    is_text_of,
    plan_recall,
    to_ask,
    unread,
    unrevised,
    unseen,
)
from continuity.selection import Item, Selection, select

GENERAL = Profile(
    kind="general",
    project="main",
    read_projects=("team",),
    repository=None,
    root=None,
    scope="thesis",
    cwd="/w/thesis",
    checkpoint_folder="tau/checkpoints",
)
CODING = msgspec.structs.replace(GENERAL, kind="coding", repository="ada/one", root="/w/one", scope="ada/one")


class Note(msgspec.Struct, frozen=True):
    """A hit as a listing or a read gives it."""

    file_path: str
    metadata: Mapping[str, str] = MappingProxyType({})
    content: str | None = "text"
    title: str = "title"
    truncated: bool = False
    checksum: str | None = None


def planned(profile: Profile, topic: str = "", checkpoint: str | None = None) -> dict[str, Query]:
    plan = plan_recall(profile, topic=topic.split(), checkpoint=checkpoint)
    assert len({query.name for query in plan}) == len(plan)
    return {query.name: query for query in plan}


def selected(profile: Profile, query: Query, *notes: Note, known: frozenset[str] = frozenset()) -> Selection:
    return select([Answer(query, notes)], profile, known=known)


def paths(found: Selection) -> list[str]:
    return [item.path for item in found.items]


def test_coding_work_asks_by_repository() -> None:
    plan = planned(CODING, topic="parser")
    assert list(plan) == [
        "prior-work",
        "prior-work-without-branch",
        "tasks",
        "decisions",
        "shared-tasks:team",
        "shared-decisions:team",
        "topic-tasks",
        "topic-decisions",
        "topic-tasks:team",
        "topic-decisions:team",
    ]
    assert plan["prior-work"].filters == (("repository", "ada/one"),)
    assert plan["prior-work"].note_types == ("coding_session",)


def test_coding_work_asks_also_for_what_its_repository_has_without_a_branch() -> None:
    asked = planned(CODING)["prior-work-without-branch"]
    assert (asked.kind, asked.note_types, asked.filters) == ("prior_work", ("session",), (("scope", "ada/one"),))
    assert (asked.page_size, asked.after_date) == (10, "1970-01-01")


def test_general_work_asks_by_scope_then_by_folder_and_for_what_changed() -> None:
    plan = planned(GENERAL)
    assert plan["prior-work"].filters == (("scope", "thesis"),)
    assert plan["prior-work-by-folder"].filters == (("cwd", "/w/thesis"),)
    assert plan["recent"].timeframe == "7d"


def test_a_checkpoint_is_read_before_its_neighbours_and_makes_prior_work_unnecessary() -> None:
    plan = planned(CODING, checkpoint="main/tau/x")
    assert list(plan)[:3] == ["checkpoint", "neighbourhood", "tasks"]
    assert plan["neighbourhood"].identifier == "main/tau/x"


def test_without_a_project_nothing_is_asked() -> None:
    assert planned(msgspec.structs.replace(CODING, project=None)) == {}


@pytest.mark.parametrize("profile", [GENERAL, CODING])
def test_a_question_without_words_passes_an_epoch_date(profile: Profile) -> None:
    for query in planned(profile, topic="x").values():
        if query.note_types:
            assert query.after_date == (None if query.text else "1970-01-01")


@pytest.mark.parametrize("profile", [GENERAL, CODING])
def test_only_active_tasks_and_open_decisions_match_a_topic(profile: Profile) -> None:
    topics = [query for query in planned(profile, topic="x").values() if query.kind == "topic"]
    assert {(query.note_types, query.filters) for query in topics} == {
        (("task",), (("status", "active"),)),
        (("decision",), (("status", "open"),)),
    }
    assert {query.project: query.read_only for query in topics} == {"main": False, "team": True}


def test_without_words_there_is_no_topic() -> None:
    assert not [name for name in planned(CODING) if name.startswith("topic")]


def test_any_word_of_a_topic_matches() -> None:
    assert planned(CODING, topic="oil")["topic-tasks"].text == "oil"
    assert planned(CODING, topic="mend foghorn oil")["topic-tasks"].text == "mend OR foghorn OR oil"


def test_where_nothing_is_active_or_open_there_is_nothing_to_match() -> None:
    plan = planned(CODING, topic="oil")
    listed = [
        Answer(plan["tasks"], []),
        Answer(plan["decisions"], [Note("d")]),
        Answer(plan["shared-decisions:team"], []),
    ]
    assert [query.name for query in to_ask(list(plan.values()), listed)] == ["topic-decisions", "topic-tasks:team"]


def test_without_a_listing_everything_about_a_topic_is_asked() -> None:
    plan = list(planned(CODING, topic="oil").values())
    assert list(to_ask(plan, [])) == [query for query in plan if query.kind == "topic"]


def test_what_matches_a_topic_stands_before_what_was_only_changed_lately() -> None:
    plan = planned(GENERAL, topic="oil")
    ahead = [Answer(plan["tasks"], []), Answer(plan["recent"], [])]
    both = both_phases(ahead, [Answer(plan["topic-tasks"], [])])
    assert [answer.query.name for answer in both] == ["tasks", "topic-tasks", "recent"]
    assert [answer.query.name for answer in both] == [
        name for name in plan if name in {"tasks", "topic-tasks", "recent"}
    ]


def test_a_question_is_known_by_everything_in_it() -> None:
    query = planned(CODING)["tasks"]
    assert query.sha256 == planned(CODING)["tasks"].sha256
    assert query.sha256 != msgspec.structs.replace(query, page_size=21).sha256
    assert planned(CODING)["tasks"].sha256 != planned(CODING)["decisions"].sha256


TASKS, DECISIONS = planned(CODING)["tasks"], planned(CODING)["decisions"]
BRANCHLESS = planned(CODING)["prior-work-without-branch"]
PRIOR, GENERAL_PRIOR = planned(CODING)["prior-work"], planned(GENERAL)["prior-work"]
BY_FOLDER, RECENT = planned(GENERAL)["prior-work-by-folder"], planned(GENERAL)["recent"]
AROUND = planned(CODING, checkpoint="main/tau/x")["neighbourhood"]


def session(path: str, ended: str, session_id: str = "", **told: str) -> Note:
    metadata = {"type": "coding_session", "repository": "ada/one", "ended": ended, "session_id": session_id} | told
    return Note(path, metadata)


def test_a_listings_hit_is_shown_as_the_question_proves_it() -> None:
    found = selected(CODING, TASKS, Note("t.md", {"note_type": "task"}, truncated=True))
    assert found.items == (
        Item(section="tasks", title="title", path="t.md", text="text", project="main", truncated=True),
    )


def test_a_shared_note_is_marked_as_not_ours() -> None:
    (item,) = selected(CODING, planned(CODING)["shared-tasks:team"], Note("t.md")).items
    assert (item.project, item.read_only) == ("team", True)


@pytest.mark.parametrize(
    ("query", "note", "why"),
    [
        (TASKS, Note("", {}), "no note"),
        (TASKS, Note("a", {"type": "task", "status": "done"}), "not active or open"),
        (TASKS, Note("a", {"type": "decision", "status": "open"}), "another type"),
        (DECISIONS, Note("a", {"type": "Decision", "status": "superseded"}), "not active or open"),
        (AROUND, Note("a", {}), "type not told"),
        (AROUND, Note("a", {"note_type": "task"}), "not active or open"),
        (AROUND, Note("a", {"type": "coding_session", "repository": "eve/other"}), "other work"),
        (AROUND, Note("a", {"type": "coding_session"}), "other work"),
        (AROUND, Note("a", {"type": "session", "cwd": "/w/thesis"}), "other work"),
        (PRIOR, Note("a", {"type": "coding_session", "repository": "eve/other"}), "other work"),
        (AROUND, Note("a", {"type": "tau_transcript", "repository": "ada/one"}), "a transcript"),
        (RECENT, Note("a", {"type": "schema"}), "a schema"),
    ],
)
def test_what_must_not_be_shown_is_withheld_with_a_reason(query: Query, note: Note, why: str) -> None:
    found = selected(CODING, query, note)
    assert [(one.query, one.path, one.why) for one in found.withheld] == [(query.name, note.file_path, why)]
    assert found.items == ()


@pytest.mark.parametrize("kind", ["coding_session"])
@pytest.mark.parametrize("query", [RECENT, GENERAL_PRIOR, BY_FOLDER])
def test_general_work_never_sees_a_repositorys_checkpoints(query: Query, kind: str) -> None:
    note = Note("a", {"type": kind, "repository": "ada/one", "scope": "thesis", "cwd": "/w/thesis"})
    assert selected(GENERAL, query, note).items == ()


@pytest.mark.parametrize(
    ("told", "shown"),
    [
        ({"type": "session", "cwd": "/w/thesis"}, True),
        ({"type": "session", "cwd": "/w/thesis", "scope": "thesis"}, True),
        ({"type": "session", "cwd": "/w/thesis", "scope": "other"}, False),
        ({"type": "session", "cwd": "/elsewhere"}, False),
        ({"type": "session", "cwd": "/w/thesis", "repository": "eve/other"}, False),
        ({"type": "session", "scope": "thesis", "repository": "eve/other"}, False),
        ({"note_type": "session"}, False),
    ],
)
def test_a_note_without_a_scope_belongs_to_its_folder(told: dict[str, str], shown: bool) -> None:
    assert (selected(GENERAL, BY_FOLDER, Note("a", told)).items != ()) == shown


@pytest.mark.parametrize(
    ("told", "shown"),
    [
        ({"type": "session", "scope": "ada/one"}, True),
        ({"note_type": "session"}, True),
        ({"type": "session", "scope": "eve/other"}, False),
        ({"type": "session", "scope": "ada/one", "repository": "eve/other"}, False),
        ({"type": "coding_session", "scope": "ada/one", "repository": "eve/other"}, False),
        ({"type": "coding_session", "scope": "ada/one"}, False),
        ({}, False),
    ],
)
def test_a_checkpoint_without_a_branch_belongs_to_the_repository_that_is_its_scope(
    told: dict[str, str], shown: bool
) -> None:
    assert (selected(CODING, BRANCHLESS, Note("a", told)).items != ()) == shown


def test_a_checkpoint_without_a_branch_is_a_neighbour_of_its_repositorys_work() -> None:
    told = {"type": "session", "scope": "ada/one", "cwd": "/w/one"}
    assert paths(selected(CODING, AROUND, Note("a", told))) == ["a"]


def test_a_session_is_shown_by_its_newest_note_whether_it_had_a_branch_or_not() -> None:
    older, other = session("older", "2026-01-01", "s"), session("other", "2026-01-02", "o")
    newer = Note("newer", {"type": "session", "scope": "ada/one", "ended": "2026-01-03", "session_id": "s"})
    found = select([Answer(PRIOR, [older, other]), Answer(BRANCHLESS, [newer])], CODING)
    assert paths(found) == ["newer", "other"]
    assert [(one.query, one.path) for one in found.withheld] == [("prior-work", "older")]


def test_a_neighbour_of_any_other_type_is_shown() -> None:
    assert paths(selected(CODING, AROUND, Note("a", {"type": "note"}))) == ["a"]


def test_prior_work_shows_the_newest_note_of_each_session() -> None:
    found = selected(
        CODING,
        PRIOR,
        session("b1", "2026-01-02T00:00:00+00:00", "beta"),
        session("a1", "2026-01-01T00:00:00+00:00", "alpha"),
        session("b2", "2026-01-03T00:00:00", "beta"),
    )
    assert paths(found) == ["b2", "a1"]
    assert [(one.path, one.why) for one in found.withheld] == [("b1", "an older note of the same session")]


def test_prior_work_names_sessions_as_older_agents_did() -> None:
    notes = [session(f"n{n}", f"2026-01-0{n}", claude_session_id="c") for n in (1, 2)]
    assert paths(selected(CODING, PRIOR, *notes)) == ["n2"]


def test_prior_work_is_bounded_by_sessions() -> None:
    notes = [session(f"n{n:02}", f"2026-01-{n:02}", f"s{n}") for n in range(1, 10)]
    found = selected(CODING, PRIOR, *notes)
    assert paths(found) == ["n09", "n08", "n07", "n06", "n05"]
    assert {one.why for one in found.withheld} == {"older work"}


def test_a_session_without_a_time_comes_last_and_the_start_counts_where_the_end_is_missing() -> None:
    notes = [
        session("odd", "yesterday", "1"),
        session("old", "", "2", started="2025-01-01"),
        session("new", "2026-01-01", "3"),
    ]
    assert paths(selected(CODING, PRIOR, *notes)) == ["new", "old", "odd"]


def test_a_listing_that_tells_no_session_counts_each_note() -> None:
    assert paths(selected(CODING, PRIOR, Note("a"), Note("b"))) == ["a", "b"]


def test_prior_work_that_was_not_read_is_left_out_where_the_rest_was() -> None:
    notes = [session("read", "2026-01-03", "beta"), Note("unread", {"note_type": "coding_session"})]
    found = selected(CODING, PRIOR, *notes)
    assert paths(found) == ["read"]
    assert [(one.path, one.why) for one in found.withheld] == [("unread", "not read")]


def test_what_changed_recently_adds_nothing_to_a_session_that_is_shown() -> None:
    told = {"type": "session", "scope": "thesis", "session_id": "beta"}
    answers = [Answer(GENERAL_PRIOR, [Note("b2", told)]), Answer(RECENT, [Note("b2", told), Note("b1", told)])]
    found = select(answers, GENERAL)
    assert paths(found) == ["b2"]
    assert [one.why for one in found.withheld] == ["shown elsewhere", "an older note of the same session"]


def test_what_the_own_checkpoint_replaced_is_not_shown_beside_it() -> None:
    older, other = session("older", "2026-01-01", "mine"), session("other", "2025-01-01", "theirs")
    found = select([Answer(AROUND, [older, other])], CODING, session="mine")
    assert paths(found) == ["other"]


def test_a_note_is_shown_once_where_the_plan_has_it_first() -> None:
    note = Note("t.md", {"type": "task", "status": "active"})
    found = select([Answer(TASKS, [note]), Answer(AROUND, [note])], CODING)
    assert [item.section for item in found.items] == ["tasks"]
    assert [one.why for one in found.withheld] == ["shown elsewhere"]


def test_the_own_checkpoint_is_not_shown_a_second_time() -> None:
    note = session("own.md", "2026-01-01")
    assert selected(CODING, PRIOR, note, known=frozenset({"own.md"})).items == ()


def test_equal_paths_in_two_projects_are_two_notes() -> None:
    shared = planned(CODING)["shared-tasks:team"]
    assert len(select([Answer(TASKS, [Note("t")]), Answer(shared, [Note("t")])], CODING).items) == 2


def test_limits_are_the_callers() -> None:
    plan = plan_recall(CODING, checkpoint=None, limits=Limits(tasks=3, shown_prior_work=1))
    assert next(query.page_size for query in plan if query.name == "tasks") == 3


def test_a_revision_is_looked_for_where_there_is_a_text_without_one() -> None:
    told = Note("told", checksum="c1")
    answers = [
        Answer(TASKS, [Note("t"), told, Note("silent", content=None), Note("")]),
        Answer(DECISIONS, [Note("d"), Note("t")]),
    ]
    assert unrevised(answers) == (Unread("main", "t"), Unread("main", "d"))


def test_the_revision_of_a_text_goes_with_it() -> None:
    assert selected(CODING, TASKS, Note("t", checksum="c1")).items[0].checksum == "c1"


@pytest.mark.parametrize(
    ("shown", "whole", "truncated", "same"),
    [
        ("oil", "\noil\n", False, True),
        ("oil", "oil lamps", False, False),
        ("oil", "oil lamps", True, True),
        ("oil", "no oil", True, False),
    ],
)
def test_a_text_is_of_a_revision_only_if_it_is_in_it(shown: str, whole: str, truncated: bool, same: bool) -> None:
    assert is_text_of(shown, whole, truncated=truncated) is same


def test_what_a_listing_does_not_tell_must_be_read() -> None:
    answers = [
        Answer(TASKS, [Note("told"), Note("silent", content=None)]),
        Answer(PRIOR, [Note("p", {"note_type": "coding_session"}), session("read", "2026-01-01"), Note("known")]),
        Answer(AROUND, [Note("p"), Note("")]),
    ]
    assert unread(answers, known=frozenset({"known"})) == (Unread("main", "silent"), Unread("main", "p"))


def test_sessions_that_no_listing_told_of_are_looked_for_around_and_between_those_that_are_known() -> None:
    notes = [session(f"n{n}", f"2026-02-0{n}", f"s{n % 2}", started=f"2026-01-0{1 + n % 2}") for n in range(1, 5)]
    asked = unseen([Answer(PRIOR, notes), Answer(TASKS, [Note("t")])], {"prior-work", "tasks"})
    assert [query.began for query in asked] == [
        (None, "2026-01-01"),
        ("2026-01-01", "2026-01-02"),
        ("2026-01-02", None),
    ]
    assert {(query.name, query.filters, query.page_size) for query in asked} == {("prior-work", PRIOR.filters, 4)}
    assert len({query.sha256 for query in (PRIOR, *asked)}) == 4


@pytest.mark.parametrize(
    ("notes", "cut"),
    [
        ([session("a", "2026-02-01", "s", started="2026-01-01")], {"tasks"}),
        ([session(f"n{n}", "2026-02-01", f"s{n}", started=f"2026-01-0{n}") for n in range(1, 6)], {"prior-work"}),
        ([session("a", "2026-02-01", "s")], {"prior-work"}),
        ([Note("unread", {"note_type": "coding_session", "started": "2026-01-01"})], {"prior-work"}),
    ],
)
def test_no_session_is_looked_for_where_all_are_told_enough_are_known_or_none_says_when_it_began(
    notes: list[Note], cut: set[str]
) -> None:
    assert unseen([Answer(PRIOR, notes)], cut) == ()


def test_prior_work_is_read_from_each_question_in_turn() -> None:
    answers = [
        Answer(PRIOR, [Note("a1"), Note("a2"), Note("both")]),
        Answer(BRANCHLESS, [Note("b1"), Note("both")]),
        Answer(TASKS, [Note("t", content=None)]),
    ]
    assert [note.file_path for note in unread(answers)] == ["a1", "b1", "a2", "both", "t"]


def test_content_nobody_read_is_no_text() -> None:
    assert selected(CODING, TASKS, Note("t", content=None)).items[0].text == ""
