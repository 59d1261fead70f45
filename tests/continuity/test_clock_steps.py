"""Whatever the clock does, order stays, nothing is done over and over, and nothing waits longer than it ever would."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from continuity.due import (
    PROBE_SPACING_MS,
    RECALL_SPACING_MS,
    SUBMIT_SPACING_MS,
    SYNTHESIS_BACKOFF_MS,
    Begin,
    Effect,
    Policy,
    Prefetch,
    Probe,
    Submit,
    due,
)
from continuity.evolve import evolve
from continuity.state import State
from journal.events import Event, RecallFailed, RecallPlanned, SynthesisFailed
from journal.events.recall import ROUND
from journal.ids import BranchId, CaptureId, Sha256
from journal.row import Row
from tests.facts import (
    CAPTURE,
    CONNECTION,
    DOUBTED,
    NOWHERE,
    POLICY,
    TIP,
    answered,
    begun,
    connected,
    finished,
    intended,
    opened,
    probed,
    settled,
)

UP = Policy(connection=CONNECTION)
HOUR, YEAR = 3_600_000, 365 * 86_400_000
LONGEST_MS = max(*PROBE_SPACING_MS, *RECALL_SPACING_MS, *SUBMIT_SPACING_MS, *SYNTHESIS_BACKOFF_MS, POLICY.cadence_ms)

BEGINNINGS: dict[str, tuple[Event, ...]] = {
    "gathered": (opened(), connected(), settled(10)),
    "begun": (opened(), connected(), settled(), begun()),
    "ready": (opened(), connected(), settled(), begun(), finished()),
    "not sent": (opened(), connected(), settled(), begun(), finished(), intended(), answered("not-sent")),
    "in doubt": DOUBTED,
}

steps = st.lists(
    st.sampled_from([-YEAR, -HOUR, -1, 0, 1, 1_000, HOUR, YEAR]) | st.integers(-HOUR, HOUR), min_size=1, max_size=12
)


class Machine:
    """A state whose every effect fails, under a clock that is told what to say."""

    def __init__(self, events: tuple[Event, ...]) -> None:
        self.now_ms = 1_767_225_600_000
        self.state = State(branch=BranchId(1))
        for event in events:
            self.record(event)

    def record(self, event: Event) -> None:
        position = self.state.position + 1
        row = Row(
            event=event,
            branch=BranchId(1),
            position=position,
            at_ms=self.now_ms,
            tip=TIP,
            cause=None,
            digest=Sha256(f"{position:064x}"),
        )
        self.state = evolve(self.state, row)

    def perform(self, effect: Effect) -> None:
        for event in failing(effect):
            self.record(event)

    def wait(self) -> int:
        """How long nothing is due, if the clock goes on as it should."""
        at_ms = due(self.state, UP, self.now_ms).look_again_ms
        assert at_ms is not None
        return at_ms - self.now_ms

    def work(self) -> list[Effect]:
        """Perform what is due until nothing is, the clock standing still all the while; return what was done."""
        done: list[Effect] = []
        while len(done) < 20 and (owed := due(self.state, UP, self.now_ms).effects):
            for effect in owed:
                self.perform(effect)
                done.append(effect)
        return done


def failing(effect: Effect) -> tuple[Event, ...]:
    match effect:
        case Begin():
            return (begun(),)
        case Probe():
            return (probed("absent_open", *NOWHERE, server="alive"),)
        case Submit(attempt=attempt):
            return (intended(attempt=attempt), answered("not-sent", attempt=attempt))
        case Prefetch(reason=reason):
            return (
                RecallPlanned(reason=reason, topic_sha256=None, queries=()),
                RecallFailed(name=ROUND, error="timeout"),
            )
        case _:
            return (SynthesisFailed(capture_id=CaptureId(CAPTURE), error="timeout", model_calls=1),)


@given(st.sampled_from(sorted(BEGINNINGS)), steps)
def test_no_step_of_the_clock_makes_anything_be_done_over_and_over(beginning: str, by: list[int]) -> None:
    machine = Machine(BEGINNINGS[beginning])
    for step in by:
        machine.now_ms += step
        done = machine.work()
        assert len({effect.key for effect in done}) == len(done)
        assert len(done) <= 4  # a capture begun and read, a doubt looked at, a brief prepared


@given(st.sampled_from(sorted(BEGINNINGS)), steps)
def test_no_step_of_the_clock_makes_anything_wait_longer_than_its_longest_wait(beginning: str, by: list[int]) -> None:
    machine = Machine(BEGINNINGS[beginning])
    for step in by:
        machine.now_ms += step
        machine.work()
        assert 0 < machine.wait() <= LONGEST_MS
    machine.now_ms += machine.wait()
    assert machine.work()


@given(st.sampled_from(sorted(BEGINNINGS)), st.integers(-YEAR, 0))
def test_whatever_is_due_is_due_at_any_earlier_time_as_well_if_the_clock_says_it_is_before_its_own_past(
    beginning: str, step: int
) -> None:
    machine = Machine(BEGINNINGS[beginning])
    before = due(machine.state, UP, machine.now_ms).effects
    assert {type(each) for each in before} <= {
        type(each) for each in due(machine.state, UP, machine.now_ms + step).effects
    }


@given(steps)
def test_positions_tell_the_order_and_times_do_not(by: list[int]) -> None:
    """The same events in the same order are the same state, but for the times it holds."""
    told, still = Machine(DOUBTED), Machine(DOUBTED)
    for step in by:
        told.now_ms += step
        for machine in (told, still):
            machine.record(probed("absent_open", *NOWHERE, server="alive"))
    assert [c.status for c in told.state.captures] == [c.status for c in still.state.captures]
    assert [c.probes for c in told.state.captures] == [len(by)]
    assert told.state.position == still.state.position
