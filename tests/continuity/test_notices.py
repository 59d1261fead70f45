"""A turn has one notice: what more there is to say waits, is joined, and is said with the next, once and without loss."""

from __future__ import annotations

import pytest

from continuity.notices import Level, Notice, Notices, Said, at_once, flush, say, start, turn, waits, worst

PROMPT = Notice("", "")
"""Stands for the next turn among what is said."""


def after(*notices: Notice) -> Notices:
    """What is true once each was said in turn; `PROMPT` begins the next turn."""
    now = Notices()
    for each in notices:
        now, _ = turn(now) if each is PROMPT else say(now, each)
    return now


class Given:
    """What was said before, waiting for what is said now."""

    def __init__(self, *before: Notice) -> None:
        self._before = after(*before)

    def when(self, said: Notice) -> Then:
        return Then(turn(self._before) if said is PROMPT else say(self._before, said))

    def when_at_once(self, said: Notice) -> Then:
        return Then(at_once(self._before, said))

    def when_a_session_starts(self) -> Then:
        return Then(start(self._before))


class Then:
    """What is shown as one, and what waits after it."""

    def __init__(self, said: Said) -> None:
        self._after, self._joined = said

    def shown(self, *notices: Notice, waiting: tuple[Notice, ...] = ()) -> None:
        assert (self._joined, self._after.waiting) == (notices, waiting)


given = Given
SAVED, AGAIN = Notice("save", "saved: a"), Notice("save", "saved: b")
DOWN, UP = Notice("link", "down", "warning"), Notice("link", "up")
BROKEN = Notice("journal", "cannot record", "error")


def test_the_first_of_a_turn_is_shown_and_the_second_waits() -> None:
    given().when(SAVED).shown(SAVED)
    given(SAVED).when(DOWN).shown(waiting=(DOWN,))


def test_what_is_known_already_is_not_said_again_in_this_turn_or_a_later_one() -> None:
    given(SAVED).when(SAVED).shown()
    given(SAVED, PROMPT).when(SAVED).shown()
    given(SAVED, DOWN).when(DOWN).shown(waiting=(DOWN,))


def test_a_warning_that_waited_is_the_next_turns_notice() -> None:
    given(SAVED, DOWN).when(PROMPT).shown(DOWN)
    given(SAVED, DOWN, PROMPT).when(BROKEN).shown(waiting=(BROKEN,))


def test_what_presses_nobody_goes_with_the_first_notice_of_the_next_turn() -> None:
    given(DOWN, SAVED).when(PROMPT).shown(waiting=(SAVED,))
    given(DOWN, SAVED, PROMPT).when(BROKEN).shown(SAVED, BROKEN)


def test_what_presses_nobody_waits_one_whole_turn_and_no_longer() -> None:
    given(DOWN, SAVED, PROMPT).when(PROMPT).shown(SAVED)
    given(DOWN, SAVED, PROMPT, PROMPT).when(PROMPT).shown()


def test_the_newest_on_a_topic_takes_the_place_of_what_waited_on_it() -> None:
    given(DOWN, SAVED, BROKEN).when(AGAIN).shown(waiting=(BROKEN, AGAIN))


def test_what_changed_back_while_it_waited_is_no_news() -> None:
    given(DOWN, UP).when(DOWN).shown()


def test_what_cannot_wait_is_shown_at_once_with_what_waited_and_once() -> None:
    given(DOWN, SAVED).when_at_once(BROKEN).shown(SAVED, BROKEN)
    given(DOWN, BROKEN, PROMPT).when_at_once(BROKEN).shown()


def test_the_start_of_a_session_is_a_turn_and_says_all_that_waited() -> None:
    given(DOWN, SAVED).when_a_session_starts().shown(SAVED)
    given(DOWN).when_a_session_starts().shown()


def test_what_nobody_could_hear_is_said_to_the_next_who_can() -> None:
    Then(start(waits(Notices(), DOWN))).shown(DOWN)


def test_at_the_end_all_of_it_is_said_as_one() -> None:
    Then(flush(after(DOWN, SAVED, BROKEN))).shown(SAVED, BROKEN)


def test_the_newest_on_a_topic_is_what_waits_or_else_what_was_heard() -> None:
    known = after(DOWN, SAVED)
    assert [known.newest(topic) for topic in ("link", "save", "journal")] == ["down", "saved: a", None]


@pytest.mark.parametrize(
    ("joined", "level"), [((SAVED,), "info"), ((SAVED, DOWN), "warning"), ((BROKEN, DOWN), "error")]
)
def test_what_is_said_as_one_is_as_bad_as_the_worst_of_it(joined: tuple[Notice, ...], level: Level) -> None:
    assert worst(joined) == level
