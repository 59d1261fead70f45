"""Fourteen bugs to be put into the machine one at a time, each a change of a line or two that keeps its types.

A bug replaces the code of one function in place, so every module that imported
it has it. Each names the promise it breaks and within how many seeds the
simulation is to notice.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from types import FunctionType, ModuleType
from typing import NamedTuple

from continuity import due, offrecord, verdict
from continuity.memory import notes
from continuity.shell import capturing, pausing, reconciling
from continuity.steps import captures, sessions, writes
from tests.simulation.story import Played, play
from tests.simulation.world import Mixture

_LATER = 0x1000000
"""The flag of code whose annotations stay text."""

_LOOK = "writing = await anyio.to_thread.run_sync(group_state, server.process) if server else 'unknown'"

type Change = tuple[ModuleType, str, str, str]
"""A module, a function of its, the words in it that are replaced, and what stands there instead."""


DOUBT: Mixture = {"lost": 0.3, "late": 0.6, "crash": 0.005}
"""Writes whose answer does not come, by servers that outlive their clients."""


class Bug(NamedTuple):
    """One way of being wrong."""

    name: str
    breaks: str
    changes: tuple[Change, ...]
    mixture: Mixture | None = None
    """The faults among which it shows; the seeds' own mixtures where it shows soon anyway."""
    within: int = 40
    """Seeds that suffice to see it. One that needs more is left to `make simulate`."""
    since: int = 0
    """The first of them: one that was seen to notice it soon, when the seeds were last given another meaning."""


BUGS = (
    Bug(
        "an unknown outcome is taken for not sent",
        "2: an ambiguous write is never repeated automatically",
        ((writes, "write_answered", "replace(doubted(capture), code", 'replace(capture, status="ready", code'),),
    ),
    Bug(
        "the write leaves before its intent",
        "1: no write without its intent on disk first",
        (
            (
                capturing,
                "submit",
                "    digest, bodies = kept(",
                "    await write_note(connection, request, desk.settings.timeout_seconds)\n    digest, bodies = kept(",
            ),
        ),
    ),
    Bug(
        "whatever lies at our address is ours",
        "3: identity decides, not address",
        (
            (
                verdict,
                "_is_ours",
                "seen.capture_id == wanted.capture_id and seen.source_tip == wanted.source_tip",
                "True",
            ),
        ),
        since=9,
    ),
    Bug(
        "absence is final while the writing server lives",
        "3: lost only if nothing can land",
        ((verdict, "lacks", 'probe.writing_server == "gone"', "True"),),
        DOUBT,
    ),
    Bug(
        "a cloud project counts as local",
        "3: lost only if nothing can land",
        ((verdict, "lacks", 'probe.project_source == "local"', 'probe.project_source != "unknown"'),),
        {"late": 0.8, "cloud": 1.0},
        since=7,
    ),
    Bug(
        "every error is a refusal",
        "3: refused only for a known code",
        ((notes, "judge_write", 'outcome="unknown", code="error-text"', 'outcome="refused", code="error-text"'),),
        {"failed_landed": 0.5},
    ),
    Bug(
        "a fork takes over what its parent owes",
        "forks inherit receipts, never owed work",
        ((sessions, "branch_forked", "captures=(),", "captures=state.captures,"),),
    ),
    Bug(
        "an intent of a dead process keeps waiting",
        "every intent ends pending or settled",
        ((sessions, "session_opened", "doubted(c) if _ended(c, ended) else c", "c"),),
        DOUBT,
    ),
    Bug(
        "a doubted write is read once and then let be",
        "nothing is forgotten",
        ((due, "_reconcile_lane", 'c.status == "in_doubt"', 'c.status == "in_doubt" and c.probes < 1'),),
        {"late": 0.8},
        since=5,
    ),
    Bug(
        "the fold reads a clock",
        "4: replay gives the state there was",
        ((captures, "synthesis_failed", "failed_ms=row.at_ms", 'failed_ms=__import__("time").perf_counter_ns()'),),
    ),
    Bug(
        "an older checkpoint settled late becomes the current one",
        "3: only what is newest is referenced",
        ((writes, "_confirmed", "current.begun_position > capture.begun_position", "False"),),
        DOUBT,
        since=5,
    ),
    Bug(
        "the writing server is looked at after the reads",
        "3: only reads begun afterwards prove an absence",
        (
            (
                reconciling,
                "look",
                "    return _command(",
                f"    {_LOOK}\n    return _command(",
            ),
        ),
        {"late": 0.7, "lagging": 0.4},
        500,
    ),
    Bug(
        "what was said off the record is read once it is over",
        "6: only what a person lets be saved leaves the session",
        ((pausing, "spoken", "state.off if state is not None else ()", "()"),),
    ),
    Bug(
        "what the journal never saw of a pause counts as on the record",
        "6: only what a person lets be saved leaves the session",
        ((offrecord, "entered", "if beyond and doubted", "if beyond and not state"),),
        since=22,
    ),
)


def noticed(bug: Bug) -> Played | None:
    """Return the first seed's story in which the simulation notices `bug`; None if it does not."""
    with planted(bug):
        for seed in range(bug.since, bug.since + bug.within):
            played = play(seed, bug.mixture)
            if played.broken is not None:
                return played
    return None


@contextmanager
def planted(bug: Bug) -> Generator[None]:
    """Let everything inside run with `bug` in the machine."""
    with ExitStack() as stack:
        for module, name, before, after in bug.changes:
            stack.enter_context(_changed(changed(module, name), before, after))
        yield


def changed(module: ModuleType, name: str) -> FunctionType:
    """The function that a change is about."""
    function: object = vars(module)[name]
    assert isinstance(function, FunctionType)
    return function


@contextmanager
def _changed(function: FunctionType, before: str, after: str) -> Generator[None]:
    source = textwrap.dedent(inspect.getsource(function))
    if source.count(before) != 1:
        raise AssertionError(f"{function.__qualname__} does not say {before!r} once: mend the bug")
    made: dict[str, FunctionType] = {}
    known = function.__code__
    code = compile(source.replace(before, after), known.co_filename, "exec", known.co_flags & _LATER, dont_inherit=True)
    exec(code, function.__globals__, made)  # noqa: S102 -- our own source, changed by a line
    function.__code__ = made[function.__name__].__code__
    try:
        yield
    finally:
        function.__code__ = known
