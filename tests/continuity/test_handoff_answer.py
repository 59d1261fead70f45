"""Only a whole answer becomes a handoff; anything less is refused by name and the good checkpoint stands."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from continuity.handoff import (
    END_LINE,
    HEADINGS,
    Handoff,
    HandoffRefused,
    accept_handoff,
    from_kept,
    kept_text,
    sections,
)

CONTENT = {
    "Objective": "Ship the parser.\n\nNewest request: only review.",
    "Decisions": "- Use PEG, because it is small.",
    "Verified work": "- Verified: 12 tests pass.",
    "Unfinished work": "- Blocked: waits for the grammar.",
    "Next action": "Review parser.py.",
}
TEXT = "\n\n".join(f"## {name}\n\n{text}" for name, text in CONTENT.items()) + "\n"
GOOD = f"{TEXT}\n{END_LINE}"
LIMIT = 5000


def accepted(answer: str) -> Handoff:
    found = accept_handoff(answer, LIMIT)
    assert isinstance(found, Handoff)
    return found


def refused(answer: str, limit: int = LIMIT) -> HandoffRefused:
    found = accept_handoff(answer, limit)
    assert isinstance(found, HandoffRefused)
    return found


def test_a_whole_answer_is_taken_without_its_last_line() -> None:
    assert accepted(GOOD) == Handoff(TEXT, "", 0)


@pytest.mark.parametrize(
    "answer",
    [
        f"\n\n{GOOD}\n\n",
        f"Here is the handoff:\n\n{GOOD}",
        f"```markdown\n{GOOD}\n```",
        f"```\n{GOOD}\n\n```\n",
        f"---\ntype: task\nstatus: active\n---\n{GOOD}",
        f"\ufeff{GOOD}",
        GOOD.replace("## ", "# "),
        GOOD.replace("## Next action", "### NEXT ACTION:"),
        GOOD.replace("\n", "\r\n"),
    ],
)
def test_wrapping_is_taken_off(answer: str) -> None:
    assert accepted(answer).text == TEXT


@pytest.mark.parametrize("answer", ["", "  \n\t ", "\ufeff"])
def test_an_empty_answer_is_refused(answer: str) -> None:
    assert refused(answer).reason == "empty"


@pytest.mark.parametrize("answer", ["null", "None", '""', f"null\n{END_LINE}"])
def test_an_answer_that_says_nothing_is_refused(answer: str) -> None:
    assert refused(answer).reason == "null"


def test_the_last_character_within_the_limit_is_accepted_and_the_first_beyond_it_refused() -> None:
    assert isinstance(accept_handoff(GOOD, len(GOOD)), Handoff)
    assert refused(GOOD, len(GOOD) - 1).reason == "oversized"


@pytest.mark.parametrize("answer", [TEXT, GOOD[:-1], f"{GOOD}\nand more", f"```\n{TEXT}\n```"])
def test_an_answer_that_may_be_cut_off_is_refused(answer: str) -> None:
    assert refused(answer).reason == "cut-off"


@given(st.integers(0, len(GOOD) - 1))
def test_no_beginning_of_an_answer_is_an_answer(length: int) -> None:
    assert isinstance(accept_handoff(GOOD[:length], LIMIT), HandoffRefused)


@pytest.mark.parametrize("name", HEADINGS)
def test_a_missing_heading_is_named(name: str) -> None:
    assert refused(GOOD.replace(f"## {name}", "## Something else")) == HandoffRefused("missing-heading", name)


@pytest.mark.parametrize("name", ["Objective", "Next action"])
def test_objective_and_next_action_must_say_something(name: str) -> None:
    assert refused(GOOD.replace(CONTENT[name], "")) == HandoffRefused("empty-section", name)


def test_an_empty_list_says_none() -> None:
    assert "## Decisions\n\nNone." in accepted(GOOD.replace(CONTENT["Decisions"], "")).text


def test_headings_come_in_our_order_and_one_that_comes_twice_is_one() -> None:
    answer = f"## Next action\n\nOne.\n\n{TEXT}\n## Decisions\n\n- More.\n\n{END_LINE}"
    found = sections(accepted(answer).text)
    assert tuple(found) == HEADINGS
    assert found["Next action"] == "One.\n\n\nReview parser.py."
    assert found["Decisions"].endswith("- More.")


@pytest.mark.parametrize("fence", ["```", "~~~~"])
def test_a_heading_inside_a_fence_is_text(fence: str) -> None:
    text = f"## Objective\n\n{fence}sh\n# Decisions\n``\n{fence}\n## Decisions\n\nx"
    assert sections(text) == {"Objective": f"{fence}sh\n# Decisions\n``\n{fence}", "Decisions": "x"}


def test_a_fence_is_closed_only_by_its_own_kind() -> None:
    assert "Decisions" not in sections("## Objective\n```\n~~~\n``` no\n## Decisions\n")


def test_a_credential_the_model_wrote_is_masked() -> None:
    found = accepted(GOOD.replace("Use PEG", "Use AKIA" + "IOSFODNN7EXAMPLE"))
    assert "IOSF" not in found.text
    assert found.maskings == 1


@pytest.mark.parametrize("observations", ["", "- [decision] PEG"])
def test_a_kept_handoff_reads_back(observations: str) -> None:
    handoff = Handoff(TEXT, observations, 0)
    assert from_kept(kept_text(handoff)) == handoff


def test_text_that_is_no_handoff_does_not_read_back() -> None:
    assert from_kept("## Objective\n\nonly") is None


def test_the_models_own_observations_are_kept_and_its_relations_are_not() -> None:
    found = accepted(f"{TEXT}\n## Observations\n\n- [decision] PEG\n\n## Relations\n\n- continues [[x]]\n\n{END_LINE}")
    assert found.observations == "- [decision] PEG"
    assert "[[x]]" not in kept_text(found)
