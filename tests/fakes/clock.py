"""A clock that stands still until it is told to go on."""

START_MS = 1_767_225_600_000
"""2026-01-01T00:00:00Z."""


class FakeClock:
    """Tells the time it was given."""

    def __init__(self, at_ms: int = START_MS) -> None:
        self._at_ms = at_ms

    def now_ms(self) -> int:
        return self._at_ms

    def advance(self, milliseconds: int) -> int:
        """Go on, and return the new time."""
        self._at_ms += milliseconds
        return self._at_ms
