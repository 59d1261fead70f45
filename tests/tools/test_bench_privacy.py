"""The measure counts a credential as masked only if no stretch of it is left, and tells little of what is kept apart."""

from tools.bench.corpus import Lookalike, Positive
from tools.bench.privacy import Alarm, Caught, alarm, caught, left, rows, share, told

SECRET = "Xk29dLq07" + "TzPw81RmVb4"


def sample(text: str, *, apart: bool = False) -> Positive:
    return Positive("lamp", text, (SECRET,), definite=True, held_out=apart)


def test_a_value_is_left_if_five_characters_of_it_are() -> None:
    held = sample(f"password={SECRET}")
    assert not left(held, "password=[masked:named-value]")
    assert left(held, f"password=[masked:named-value]{SECRET[-5:]}")
    assert not left(held, f"password=[masked:named-value]{SECRET[-4:]}")


def test_what_stands_around_it_and_the_word_for_what_it_was_are_not_left_of_it() -> None:
    held = Positive("lamp", "lamp-token: lamp-token-1", ("lamp-token-1",), definite=True, held_out=False)
    assert not left(held, "lamp-token: [masked:lamp-token-1]")


def test_it_is_masked_withheld_or_missed() -> None:
    assert caught(sample(f"password={SECRET}"))[1:3] == (True, False)
    assert caught(sample(f"the session id is {SECRET}"))[1:3] == (False, True)
    assert caught(sample(f"the lamp is {SECRET}"))[1:3] == (False, False)
    assert alarm(Lookalike("lamp", "password is required", held_out=False))[1:3] == (False, False)


def test_the_part_kept_apart_is_told_in_numbers_alone() -> None:
    found = [Caught(sample(SECRET, apart=apart), whole=False, withheld=False, masked=SECRET) for apart in (False, True)]
    wrong = [
        Alarm(Lookalike("lamp", text, held_out=text == "two"), changed=True, withheld=False, masked="-")
        for text in ("one", "two")
    ]
    lines = told(found, wrong)
    assert lines[2:] == ["kept apart: 1 missed of lamp", "kept apart: 1 alarms of lamp"]
    assert "one" in lines[1]
    assert not [line for line in lines if "two" in line]
    table = rows(found, wrong)
    assert ("known by their form, kept apart", "1", "1", "0", "0", "1", "0.0 %") in table
    assert ("look-alikes", "1", "1", "1", "0", "-", "100.0 %") in table
    assert share(0, 0) == "-"
