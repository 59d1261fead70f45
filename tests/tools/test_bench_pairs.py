"""What is measured side by side is compared within a round, in an order left to chance, and with what chance may do to it."""

import random

from tools.bench import load, turn
from tools.bench.pairs import interval, order, ratio
from tools.bench.stopwatch import Spent

SLOW_MACHINE = [{"a": 1.0, "b": 1.1}, {"a": 10.0, "b": 11.0}, {"a": 2.0, "b": 2.2}, {"a": 3.0}]


def test_a_ratio_is_one_within_rounds_whatever_the_machine_did_between_them() -> None:
    found = ratio(SLOW_MACHINE, "b", "a")
    assert found is not None
    assert (round(found.median, 3), round(found.low, 3), round(found.high, 3), found.pairs) == (1.1, 1.1, 1.1, 3)


def test_without_a_pair_there_is_no_ratio() -> None:
    assert ratio([{"a": 1.0}, {"b": 1.0}], "b", "a") is None


def test_an_interval_holds_the_median_and_is_the_same_for_the_same_values() -> None:
    values = [1 + number / 100 for number in range(31)]
    low, high = interval(values)
    assert low < values[15] < high
    assert interval(values) == (low, high)


def test_every_variant_has_its_place_in_a_round_and_not_always_the_same() -> None:
    draw = random.Random(1)  # noqa: S311 - no secret
    orders = [tuple(order(["a", "b", "c"], draw)) for _ in range(60)]
    assert {frozenset(one) for one in orders} == {frozenset("abc")}
    assert len(set(orders)) == 6


def test_a_start_is_quick_enough_only_if_it_is_so_with_a_memory_that_never_answers_too() -> None:
    quick = {load.ALONE: 1.0, load.MEMORY: 1.1, load.MUTE: 1.1}
    assert load.met([quick])
    assert not load.met([quick | {load.MUTE: 1.2}])
    assert not load.met([{load.ALONE: 1.0, load.MEMORY: 1.0}])


def test_a_turn_is_judged_by_its_median_and_by_how_often_tau_appends() -> None:
    case, fast, slow = turn.Case(10, turn.CALLS_NOT), Spent(handlers=0.004, appends=1), Spent(handlers=0.006)
    assert turn.met([turn.Measured(case, slow, [fast, fast, slow])])
    assert not turn.met([turn.Measured(case, fast, [fast, slow, slow])])
    assert not turn.met([turn.Measured(case, fast, [fast, Spent(appends=2)])])
    assert turn.met([turn.Measured(turn.Case(10, turn.ANSWERS), slow, [slow])])
