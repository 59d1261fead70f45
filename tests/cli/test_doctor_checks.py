"""Each fact of a machine has one verdict and, where that is not ok, a remedy; a person reads all of them at a glance."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from syrupy.assertion import SnapshotAssertion

from continuity.cli.doctor import lines
from continuity.cli.doctor.checks import (
    checks,
    of_command,
    of_loading,
    of_project,
    of_python,
    of_settings,
    of_shim,
    of_state,
    of_tau,
    of_tools,
    of_unsaved,
    of_work,
)
from continuity.cli.doctor.facts import (
    Asked,
    Command,
    Configured,
    Fault,
    Listed,
    Machine,
    Python,
    Shim,
    State,
    Tau,
    Trouble,
    Unsaved,
)
from continuity.cli.doctor.findings import DoctorView, Word, worst
from continuity.memory.notes import ProjectInfo, Projects
from continuity.notes import ENTITIES
from journal.events.lifecycle import ProjectSource

PYTHON = Python((3, 12, 1), "/opt/continuity/bin/python")
TAU = Tau(
    "/home/ada/.local/bin/tau",
    python=Python((3, 13, 0), "/home/ada/tau/bin/python"),
    interpreter="/home/ada/tau/bin/python",
    version="0.4.8",
    level="B",
    loading="",
)
HERE = Path("/home/ada/.local/share/tau-continuity")
SHIM = Shim(Path("/home/ada/.tau/extensions/continuity/extension.py"), HERE, "current", leads_to=HERE)
SETTINGS = Configured(
    path=Path("/home/ada/.tau/continuity.json"),
    ignored=(),
    cwd="/home/ada/one",
    kind="coding",
    repository="ada/one",
    project="main",
    read_projects=("team",),
    folder="tau/one",
)
COMMAND = Command("bm", "/home/ada/.local/bin/bm", version="0.24.1")
STATE_PATH = Path("/home/ada/.tau/state/extensions/continuity")
STATE = State(STATE_PATH, STATE_PATH, is_folder=True, writable=True, file_system="ext4", keeps_journals=True)


def known(*told: tuple[str, ProjectSource] | tuple[str, ProjectSource, str]) -> Projects:
    """Return projects, each of a name and a source, and a name with its workspace."""
    return Projects(
        projects=tuple(
            ProjectInfo(name=each[0], source=each[1], qualified=each[2] if len(each) == 3 else None) for each in told
        )
    )


ASKED = Asked(
    server="Basic Memory",
    version="3.4.5",
    tools=27,
    as_kept=True,
    projects=known(("main", "local"), ("team", "cloud")),
    schemas=frozenset(ENTITIES),
)
WELL = Machine(
    PYTHON,
    TAU,
    shim=SHIM,
    settings=SETTINGS,
    command=COMMAND,
    state=STATE,
    unsaved=Unsaved(),
    listed=Listed("kept", tools=27),
    asked=ASKED,
)
ILL = Machine(
    Python((3, 11, 9), "/usr/bin/python3"),
    TAU._replace(version="0.5.0", loading="ModuleNotFoundError: No module named 'mcp'"),
    shim=SHIM._replace(standing="outdated", leads_to=Path("/home/ada/old copy")),
    others=(Path("/home/ada/.tau/extensions/basic-memory"),),
    settings=SETTINGS._replace(ignored=("kapture",), project=None),
    command=COMMAND._replace(path=None, refused="inside-checkout"),
    state=STATE._replace(path=Path("/net/ada/state"), file_system="nfs4", keeps_journals=False),
    unsaved=Unsaved(sessions=2),
    listed=Listed("stale"),
)
BADLY_ANSWERED = WELL._replace(
    settings=SETTINGS._replace(project="mian", read_projects=("team", "main")),
    asked=ASKED._replace(as_kept=False, projects=known(("main", "local"), ("main", "cloud"))),
)


def text(machine: Machine) -> str:
    return "\n".join(lines(list(checks(machine)))) + "\n"


def test_a_machine_on_which_all_is_well(snapshot: SnapshotAssertion) -> None:
    assert worst(list(checks(WELL))) == "ok"
    assert text(WELL) == snapshot


def test_a_machine_on_which_all_is_ill(snapshot: SnapshotAssertion) -> None:
    assert [check.name for check in checks(ILL) if check.result == "ok"] == []
    assert text(ILL) == snapshot


def test_a_server_that_knows_other_projects(snapshot: SnapshotAssertion) -> None:
    assert text(BADLY_ANSWERED) == snapshot


def test_a_server_that_does_not_answer(snapshot: SnapshotAssertion) -> None:
    assert text(WELL._replace(asked=Asked(trouble="timeout"))) == snapshot


def test_a_machine_whose_settings_cannot_be_used(snapshot: SnapshotAssertion) -> None:
    unread = WELL._replace(
        settings=Fault("/home/ada/.tau/continuity.json: kapture: is no setting of ours; remove it or mend its name"),
        command=None,
        listed=None,
        asked=None,
    )
    assert text(unread) == snapshot


def test_a_machine_whose_places_are_unknown(snapshot: SnapshotAssertion) -> None:
    nowhere = Machine(PYTHON, Tau(None, refused="not-found"), places=Fault("TAU_HOME: must name an absolute path"))
    assert text(nowhere) == snapshot


def test_what_a_program_reads_of_it(snapshot: SnapshotAssertion) -> None:
    found = list(checks(ILL))
    view = DoctorView(online=True, result=worst(found), checks=found)
    assert msgspec.json.format(msgspec.json.encode(view)).decode() == snapshot


def test_the_word_alone_has_a_color() -> None:
    plain, colored = list(lines(list(checks(ILL)))), list(lines(list(checks(ILL)), color=True))
    assert colored[0] == f"\x1b[31m{plain[0][:4]}\x1b[0m{plain[0][4:]}"
    assert "\x1b" not in "".join(plain)


def test_a_word_from_outside_cannot_act_on_the_terminal() -> None:
    assert "\x1b" not in text(WELL._replace(asked=ASKED._replace(server="\x1b[2J")))


@pytest.mark.parametrize("machine", [WELL, ILL, BADLY_ANSWERED])
def test_whatever_is_not_ok_has_a_remedy_and_nothing_else_has(machine: Machine) -> None:
    for check in checks(machine):
        assert (check.remedy is None) == (check.result == "ok"), check


@pytest.mark.parametrize(("minor", "word"), [(12, "ok"), (11, "fail")])
def test_the_oldest_python_is_3_12_here_and_in_tau(minor: int, word: Word) -> None:
    old = Python((3, minor, 0), "/usr/bin/python3")
    assert of_python(old).result == word
    assert of_tau(TAU._replace(python=old)).result == word


@pytest.mark.parametrize(
    ("found", "word"),
    [
        (TAU, "ok"),
        (TAU._replace(level="A"), "ok"),
        (TAU._replace(version="0.4.9"), "ok"),
        (TAU._replace(version="0.5.0"), "warn"),
        (TAU._replace(version=None), "fail"),
        (TAU._replace(level=None), "fail"),
        (Tau(None, refused="not-found"), "fail"),
        (Tau(None, refused="inside-checkout"), "fail"),
        (Tau("/bin/tau", silence="unnamed"), "warn"),
        (Tau("/bin/tau", silence="inside-checkout"), "warn"),
        (Tau("/bin/tau", silence="timeout"), "warn"),
        (Tau("/bin/tau", silence="garbled"), "warn"),
        (Tau("/bin/tau", silence="unstartable"), "fail"),
    ],
)
def test_a_tau_that_could_not_be_asked_is_looked_at_and_one_that_is_none_fails(found: Tau, word: Word) -> None:
    assert of_tau(found).result == word


@pytest.mark.parametrize(
    ("found", "word", "says"),
    [
        (SHIM, "ok", "extension.py"),
        (SHIM._replace(standing="absent"), "fail", "not installed"),
        (SHIM._replace(standing="foreign", in_the_way=SHIM.path), "fail", "not ours, or was edited"),
        (SHIM._replace(standing="unreadable", trouble="Permission denied"), "fail", "Permission denied"),
        (SHIM._replace(standing="outdated"), "warn", "another version"),
        (SHIM._replace(standing="outdated", leads_to=Path("/x")), "warn", "leads to /x; this command installs"),
        (SHIM._replace(standing="outdated", leads_to=Path("/x"), leads_somewhere=False), "fail", "are not"),
        (
            SHIM._replace(standing="outdated", python="cpython-312"),
            "fail",
            "is for cpython-312, and Tau runs in another",
        ),
    ],
)
def test_an_extension_fails_unless_tau_is_led_to_packages_of_ours(found: Shim, word: Word, says: str) -> None:
    check = of_shim(found)
    assert check.result == word
    assert says in check.found


@pytest.mark.parametrize(("loading", "word"), [("", "ok"), ("ImportError: mcp", "fail")])
def test_libraries_that_tau_brings_in_another_version_are_named_whether_it_loads_or_not(
    loading: str, word: Word
) -> None:
    tau = TAU._replace(loading=loading, instead=("pydantic 2.11 and not 2.12",))
    (check,) = of_loading(tau, SHIM)
    assert (check.result, check.found.endswith(" pydantic 2.11 and not 2.12")) == (word, True)
    assert check.remedy == (None if not loading else "continuity install")


def test_a_load_that_was_not_tried_is_not_spoken_of() -> None:
    assert "loading" not in {check.name for check in checks(WELL._replace(tau=TAU._replace(loading=None)))}


@pytest.mark.parametrize(
    ("found", "word", "says"),
    [
        (SETTINGS, "ok", "continuity.json"),
        (SETTINGS._replace(path=None), "ok", "default"),
        (SETTINGS._replace(ignored=("a", "repositories.0.b")), "warn", "passed over: a, repositories.0.b"),
        (Fault("x: does not exist"), "fail", "does not exist"),
    ],
)
def test_settings_that_cannot_be_used_fail_and_keys_that_were_passed_over_are_named(
    found: Configured | Fault, word: Word, says: str
) -> None:
    check = of_settings(found)
    assert check.result == word
    assert says in check.found


def test_a_project_that_is_not_set_is_said_for_the_work_it_is_missing_for() -> None:
    coding = of_project(SETTINGS._replace(project=None))
    general = of_project(SETTINGS._replace(project=None, kind="general", repository=None))
    assert [(each.result, each.remedy) for each in (coding, general)] == [("warn", "continuity setup")] * 2
    assert ("coding work on ada/one" in coding.found, "general work" in general.found) == (True, True)


@pytest.mark.parametrize(
    ("found", "word"),
    [
        (COMMAND, "ok"),
        (COMMAND._replace(version="0.24.9"), "ok"),
        (COMMAND._replace(version=None), "ok"),
        (COMMAND._replace(version="0.25.0"), "warn"),
        (Command("bm", None, refused="not-found"), "fail"),
        (Command("bin/bm", None, refused="relative"), "fail"),
        (Command("bm", None, refused="inside-checkout"), "fail"),
    ],
)
def test_a_command_that_is_never_started_fails(found: Command, word: Word) -> None:
    assert of_command(found).result == word


@pytest.mark.parametrize(
    ("found", "word", "says"),
    [
        (STATE, "ok", "on ext4"),
        (STATE._replace(file_system=None), "ok", str(STATE_PATH)),
        (STATE._replace(nearest=Path("/home/ada/.tau")), "ok", "made at the first start"),
        (STATE._replace(writable=False), "fail", "cannot be written to"),
        (STATE._replace(is_folder=False), "fail", "is no folder"),
        (STATE._replace(file_system="9p", keeps_journals=False), "fail", "is on 9p"),
    ],
)
def test_a_folder_in_which_no_journal_can_be_kept_fails(found: State, word: Word, says: str) -> None:
    check = of_state(found)
    assert check.result == word
    assert says in check.found


LISTS = "`continuity unproven` lists"


@pytest.mark.parametrize(
    ("found", "says", "remedy"),
    [
        (Unsaved(), "no session holds work that waits to be stored", None),
        (Unsaved(newest=20), "none of the newest 20 sessions holds work that waits to be stored", None),
        (
            Unsaved(sessions=1),
            "1 session holds work that is not stored yet",
            f"{LISTS} it; `tau --session ID` stores it",
        ),
        (
            Unsaved(sessions=2, running=1, newest=20),
            "2 of the newest 20 sessions hold work that is not stored yet",
            f"{LISTS} them; `tau --session ID` stores each",
        ),
        (
            Unsaved(sessions=1, running=1, unreadable=1),
            "1 session holds work that is not stored yet; 1 journal could not be read",
            f"{LISTS} it; its running session stores it",
        ),
        (
            Unsaved(unreadable=3),
            "no session holds work that waits to be stored; 3 journals could not be read",
            "`continuity unproven` says which, and why",
        ),
    ],
)
def test_work_that_is_not_stored_is_said_with_what_stores_it(found: Unsaved, says: str, remedy: str | None) -> None:
    check = of_unsaved(found)
    assert (check.found, check.remedy) == (says, remedy)
    assert check.result == ("ok" if remedy is None else "warn")


@pytest.mark.parametrize(
    ("found", "word"),
    [(Listed("kept", tools=1), "ok"), (Listed("none"), "ok"), (Listed("stale"), "warn"), (Listed("damaged"), "warn")],
)
def test_a_list_of_tools_of_another_time_is_looked_at(found: Listed, word: Word) -> None:
    assert of_tools(found).result == word


def answers(asked: Asked, settings: Configured = SETTINGS) -> dict[str, Word]:
    """The verdicts that only a server's answers can give; of two of one name the worse."""
    offline = sum(1 for _ in checks(WELL._replace(asked=None)))
    found = list(checks(WELL._replace(asked=asked, settings=settings)))[offline:]
    return {name: worst([check for check in found if check.name == name]) for name in (check.name for check in found)}


@pytest.mark.parametrize("trouble", ["unstartable", "timeout", "garbage", "exited", "protocol", "unlisted"])
def test_of_a_server_that_gives_no_answer_nothing_else_is_said(trouble: Trouble) -> None:
    assert answers(Asked(trouble=trouble)) == {"server": "fail"}


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (ASKED, {"source": "ok", "reads": "ok", "schemas": "ok"}),
        (ASKED._replace(as_kept=None), {"source": "ok", "reads": "ok", "schemas": "ok"}),
        (
            ASKED._replace(as_kept=False),
            {"listing": "warn", "source": "ok", "reads": "ok", "schemas": "ok"},
        ),
        (ASKED._replace(projects=None), {"projects": "warn", "schemas": "ok"}),
        (ASKED._replace(projects=known(("team", "local"))), {"source": "fail", "reads": "ok"}),
        (
            ASKED._replace(projects=known(("main", "local"))),
            {"source": "ok", "reads": "warn", "schemas": "ok"},
        ),
        (
            ASKED._replace(projects=known(("main", "local"), ("main", "cloud"), ("team", "local"))),
            {"source": "fail", "reads": "ok", "schemas": "ok"},
        ),
        (ASKED._replace(schemas=None), {"source": "ok", "reads": "ok", "schemas": "warn"}),
        (ASKED._replace(schemas=frozenset({"task"})), {"source": "ok", "reads": "ok", "schemas": "warn"}),
    ],
)
def test_a_project_the_server_does_not_have_fails_where_it_is_written_to(
    asked: Asked, expected: dict[str, Word]
) -> None:
    assert answers(asked) == {"server": "ok", **expected}


def test_what_a_server_reports_as_its_version_is_said_only_where_its_package_tells_none() -> None:
    untold = WELL._replace(command=COMMAND._replace(version=None))
    assert "Basic Memory reports version 3.4.5 and offers 27 tools" in text(untold)
    assert "Basic Memory offers 27 tools" in text(WELL)


def test_of_several_projects_of_one_name_each_is_told_and_one_with_its_workspace_is_one() -> None:
    cloud = known(("main", "cloud", "ada/main"), ("main", "cloud", "team/main"), ("team", "local"))
    (check,) = [each for each in checks(WELL._replace(asked=ASKED._replace(projects=cloud))) if each.name == "source"]
    assert (check.result, check.found) == (
        "fail", "main is there several times, so nothing is saved: ada/main (cloud), team/main (cloud)"
    )  # fmt: skip
    exact = WELL._replace(asked=ASKED._replace(projects=cloud), settings=SETTINGS._replace(project="team/main"))
    assert {each.name: each.result for each in checks(exact)}["source"] == "ok"


def test_without_a_project_no_server_is_asked_about_one() -> None:
    assert answers(ASKED, SETTINGS._replace(project=None, read_projects=())) == {"server": "ok"}


@pytest.mark.parametrize(("name", "guess"), [("mian", "did you mean main?"), ("MAIN", "did you mean main?"), ("x", "")])
def test_a_misspelt_project_is_guessed(name: str, guess: str) -> None:
    found = list(checks(WELL._replace(settings=SETTINGS._replace(project=name))))
    (check,) = [each for each in found if each.name == "source"]
    assert check.result == "fail"
    assert guess in (check.remedy or "")
    assert ("did you mean" in (check.remedy or "")) == bool(guess)


def test_a_checkout_around_the_folder_that_is_not_approved_is_said_with_what_approves_it() -> None:
    (check,) = of_work(SETTINGS._replace(surroundings="the checkout /w/tree is not approved"))
    assert (check.name, check.result, check.remedy) == ("work", "warn", "continuity setup")
    assert check.found == "the checkout /w/tree is not approved"
    assert list(of_work(SETTINGS)) == []


def test_approved_roots_that_are_gone_are_named_by_their_place_in_the_settings() -> None:
    (check,) = of_work(SETTINGS._replace(gone=("repositories.0", "repositories.2")))
    assert (check.name, check.result) == ("roots", "warn")
    assert check.found.endswith("repositories.0, repositories.2")
