"""What a Tau has loaded is asked of its runtime, and a Tau that shows less of it, or nothing, costs no session."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import cast

import pytest
from tau_coding.extensions import ExtensionRuntime

from continuity.tau.host import Tau
from continuity.tau.host.beside import being_set_up, others, taken_commands, taken_tools


class Bare(ExtensionRuntime):
    """A runtime of a Tau that has renamed all that we look at."""

    def __init__(self) -> None: ...

    def __getattribute__(self, name: str) -> object:
        if name.startswith("__"):
            return super().__getattribute__(name)
        raise AttributeError(name)


class Reshaped(Bare):
    """A runtime of a Tau in which it is all something else."""

    def __getattribute__(self, name: str) -> object:
        return super().__getattribute__(name) if name.startswith("__") else 1


class Api:
    """Tau's interface object, as far as it is asked what lies behind it."""

    name = "continuity"

    def __init__(self, runtime: object) -> None:
        self._runtime = runtime


@pytest.mark.parametrize("runtime", [Bare, Reshaped, lambda: None], ids=["renamed", "reshaped", "hidden"])
def test_what_tau_hides_is_as_if_nothing_were_there_and_rivals_are_known_by_their_modules(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, runtime: Callable[[], object]
) -> None:
    tau = cast("Tau", Api(runtime()))
    rival = ModuleType("tau_extension_zettel_1")
    rival.__file__ = str(tmp_path / "zettel.py")
    vars(rival)["NAMESPACE"] = "basic-memory.continuity.v1"
    monkeypatch.setitem(sys.modules, rival.__name__, rival)
    assert being_set_up(tau) is None
    assert (taken_tools(tau), taken_commands(tau)) == (frozenset(), frozenset())
    assert [one.path for one in others(tau, [None], at_setup=False) if one.mirrors] == [tmp_path / "zettel.py"]
