"""Each vendor's form is masked whole, wherever it stands, and costs no more for having been made to cost more."""

from random import Random
from time import process_time

import pytest

from continuity.privacy import PLACEHOLDER, mask
from continuity.privacy.prefixed import prefixed
from continuity.privacy.vendor import FORMS, NAMES
from tools.vendor_rules.forms import drawn
from tools.vendor_rules.patterns import parsed

NAMED = {f"{name} {number}": form for number, (name, _, form, _) in enumerate(FORMS)}
PLAIN = "The lamp is lit at dusk, and the keeper writes down when; see tau/notes/lamp.md for more.\n"


def token(form: str, seed: int = 1) -> str:
    """Return a text of that form."""
    return drawn(parsed(NAMED[form]), Random(seed))  # noqa: S311 - repeatable on purpose


def is_left(made: str, masked: str) -> bool:
    """True if a stretch of a token is in a masked text; the word for what it was is no part of it."""
    rest = PLACEHOLDER.sub("\n", masked)
    return any(made[at : at + 8] in rest for at in range(len(made) - 7))


@pytest.mark.parametrize("form", NAMED)
def test_a_token_in_a_vendors_form_is_masked_whole(form: str) -> None:
    made = token(form)
    for around in ("{}", "use {}, then go on", 'x = "{}"', "a\\n{}\\nb", "?q=%22{}%22", "<b>{}</b>"):
        masked = mask(around.format(made))
        assert masked.count >= 1
        assert not is_left(made, masked.text)
        assert mask(masked.text).count == 0


@pytest.mark.parametrize("form", NAMED)
def test_a_token_wrapped_over_two_lines_is_masked_whole(form: str) -> None:
    made = token(form, 2)
    middle = min(max(len(made) // 2, 14), len(made) - 6)  # behind what it is known by
    masked = mask(f"it is {made[:middle]}\n  {made[middle:]} and no other").text
    assert not is_left(made, masked)
    assert masked.endswith(" and no other")


@pytest.mark.parametrize("form", NAMED)
def test_a_token_glued_into_a_longer_word_is_none_of_that_form(form: str) -> None:
    assert not [span for span in prefixed(f"word{token(form)}") if span.start < len("word")]


def _seconds(text: str) -> float:
    begun = process_time()
    list(prefixed(text))
    return process_time() - begun


@pytest.mark.parametrize("form", NAMED)
def test_four_times_what_only_begins_like_a_token_costs_about_four_times_as_much(form: str) -> None:
    made = token(form)
    for unit in (made[:6] + "\n", made[:-1]):
        small, large = (unit * (size // len(unit)) for size in (1_500, 6_000))
        bound = 12 * max(min(_seconds(small) for _ in range(2)), 0.001)
        assert any(_seconds(large) < bound for _ in range(3))


@pytest.mark.parametrize("size", [100_000, pytest.param(1_000_000, marks=pytest.mark.long)])
@pytest.mark.parametrize("joint", ["", " ", "\n", "-"])
def test_a_long_text_made_to_cost_more_costs_a_small_multiple_of_plain_text(joint: str, size: int) -> None:
    halves = joint.join(token(form)[: 4 + number % 40] for number, form in enumerate(NAMED)) + joint
    plain = max(_seconds(PLAIN * (size // len(PLAIN))) for _ in range(2))
    assert any(_seconds(halves * (size // len(halves))) < 200 * plain for _ in range(2))


def test_what_is_called_a_vendors_key_is_secret() -> None:
    assert mask("DATADOG_KEY=" + "abcd1234").count == 1
    assert mask("datadog_cache_key=" + "abcd1234").count == 0
    assert len(NAMES) > 80
