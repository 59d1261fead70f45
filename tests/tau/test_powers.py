"""What a host offers beyond stock Tau is found piece by piece, and half an interface is not taken for the whole."""

from __future__ import annotations

from typing import Any

import pytest

from continuity.tau.host import Powers, level, powers


class Context:
    """The least of a context that a level depends on; what a host offers is a member of its class."""

    def __init__(self, session_id: str | None = "s") -> None:
        self.session_id = session_id
        self.is_running = False


class Extension:
    """The same of Tau's interface."""


def offering(base: type, *names: str) -> type[Any]:
    """A kind of `base` that has these members."""
    return type(base.__name__, (base,), dict.fromkeys(names))


ANNOUNCING = (offering(Context, "branch_entries", "summarize"), offering(Extension, "append_message"))


def test_stock_tau_has_none_of_it() -> None:
    context, tau = offering(Context)(), offering(Extension)()
    assert powers(context, tau) == Powers(tells_path=False, appends=False, summarizes=False)


@pytest.mark.parametrize(
    ("of_context", "of_tau", "found"),
    [
        (["branch_entries", "summarize"], ["append_message"], "A"),
        (["branch_entries"], ["append_message"], "A"),
        (["branch_entries", "summarize"], [], "B"),
        (["summarize"], ["append_message"], "B"),
        ([], [], "B"),
    ],
)
def test_a_host_that_tells_its_path_and_takes_messages_is_of_level_a(
    of_context: list[str], of_tau: list[str], found: str
) -> None:
    context, tau = offering(Context, *of_context)(), offering(Extension, *of_tau)()
    assert level(context, tau) == found


def test_a_session_without_an_id_is_of_level_c_on_every_host() -> None:
    context, tau = ANNOUNCING
    assert level(context(None), tau()) == "C"
