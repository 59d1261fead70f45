"""The real screen of Tau, without a terminal: what a person types is typed, and what they are shown is read.

Tau starts and ends it as it does at a terminal; only the keys and the size come from here.
"""

from __future__ import annotations

import atexit
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tau_coding.tui import app as tui
from textual.notifications import SeverityLevel
from textual.pilot import Pilot
from textual.widgets import Static, TextArea

from tests.fakes.tau_home import TauHome
from tests.fakes.tau_session import failing
from tests.shell.rig import until

COLUMNS, LINES = 80, 24


class Person:
    """Somebody who sits before the screen."""

    def __init__(self, app: tui.TauTuiApp, pilot: Pilot[None], told: list[str]) -> None:
        self.app = app
        self.told = told
        """Every notice, oldest first."""
        self.room = 0
        """Columns that the newest page had for its text."""
        self._pilot = pilot

    async def enter(self, text: str) -> None:
        """Type `text` and press Enter."""
        await until(lambda: len(self.app.screen_stack) == 1, "the prompt")
        self.app.query_one("#prompt", TextArea).text = text
        await self.press("enter")

    async def press(self, key: str) -> None:
        await self._pilot.press(key)

    async def sees(self, screen: type[object]) -> None:
        """Wait until a window of this kind is open."""
        await until(lambda: isinstance(self.app.screen, screen), screen.__name__)

    async def page(self) -> str:
        """Read the page that a command opened, and close it."""
        await self.sees(tui.CommandOutputScreen)
        body = self.app.screen.query_one("#command-output-body", Static)
        shown = str(body.content)
        await until(lambda: body.content_size.width, "the page's layout")
        self.room = body.content_size.width
        await self.press("escape")
        return shown

    async def hears(self, part: str) -> None:
        """Wait for a notice that holds `part`."""
        await until(lambda: any(part in notice for notice in self.told), f"{part!r} among {self.told}")


type Life = Callable[[Person], Awaitable[None]]


async def on_screen(
    home: TauHome, life: Life, *, session_id: str | None = None, size: tuple[int, int] = (COLUMNS, LINES)
) -> str:
    """Start Tau in `home`, live a `life` before its screen, and quit; returns what we say once the process ends."""
    said: list[str] = []
    at_exit = atexit.register

    def registered(function: Callable[..., object], *arguments: Any, **options: Any) -> object:
        if function.__module__.startswith("continuity."):
            said.extend(map(str, arguments))
            return function
        return at_exit(function, *arguments, **options)

    class Watched(tui.TauTuiApp):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            self.told: list[str] = []

        def notify(
            self,
            message: str,
            *,
            title: str = "",
            severity: SeverityLevel = "information",
            timeout: float | None = None,
            markup: bool = True,
        ) -> None:
            self.told.append(message)
            super().notify(message, title=title, severity=severity, timeout=timeout, markup=markup)

        async def run_async(self, *_: object, **__: object) -> None:
            async with self.run_test(size=size) as pilot:
                await life(Person(self, pilot, self.told))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tui, "TauTuiApp", Watched)
        patch.setattr(atexit, "register", registered)
        with failing() as failures:
            await tui.run_tui_app(model=None, cwd=home.cwd, session_id=session_id)
    assert not failures, failures
    return "".join(said)
