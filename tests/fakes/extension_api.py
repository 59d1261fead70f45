"""Tau's extension interface as far as we use it for notices and briefs: keeps what it was handed, and can be gone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, cast

from tau_coding.extensions import ExtensionContext, ExtensionError

from continuity.tau.host import Tau


class Queued(NamedTuple):
    """A message that waits in Tau's queue."""

    text: str
    custom_type: str
    details: Mapping[str, object]
    deliver_as: str
    trigger_turn: bool


class FakeTau:
    """One generation of the interface; once `gone` it refuses, as Tau's does after a reload."""

    def __init__(self, *, screen: bool = False) -> None:
        self.gone = False
        self.has_ui = screen
        self.queued: list[Queued] = []
        self.notices: list[tuple[str, str]] = []
        self._handlers: dict[str, list[Callable[[object, Any], object]]] = {}
        self._commands: dict[str, Callable[[str, Any], str | None]] = {}

    @property
    def api(self) -> Tau:
        return cast("Tau", self)

    @property
    def context(self) -> FakeTau:
        self._refuse_when_gone()
        return self

    @property
    def ui(self) -> FakeTau:
        return self

    def on(self, name: str, handler: Callable[[object, Any], object]) -> None:
        self._handlers.setdefault(name, []).append(handler)

    def tell(self, name: str, event: object = None, session: str | None = "one") -> None:
        """Notify of an event, as Tau does for `session`."""
        for handler in self._handlers.get(name, []):
            handler(event, context(session))

    def notify(self, text: str, severity: str) -> None:
        self._refuse_when_gone()
        self.notices.append((text, severity))

    def register_command(
        self, name: str, handler: Callable[[str, Any], str | None], *, description: str, usage: str
    ) -> None:
        del description, usage
        self._commands[name] = handler

    def command(self, name: str, arguments: str) -> str | None:
        """Return what is shown when a person types the command."""
        return self._commands[name](arguments, None)

    def send_custom_message(
        self, text: str, *, custom_type: str, details: Mapping[str, object], deliver_as: str, trigger_turn: bool
    ) -> None:
        self._refuse_when_gone()
        self.queued.append(Queued(text, custom_type, details, deliver_as, trigger_turn))

    def _refuse_when_gone(self) -> None:
        if self.gone:
            raise ExtensionError("this generation was replaced")


class _Context(NamedTuple):
    session_id: str | None


def context(session: str | None = "one") -> ExtensionContext:
    """Return the context of `session`, as far as an insertion looks at it."""
    return cast("ExtensionContext", _Context(session))
