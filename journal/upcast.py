"""Turns events under retired tags into today's; each function here is permanent. It never touches stored bytes.

A retired tag's function takes the stored payload and returns an event of
today's union. None has been retired yet.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from journal.events import Event

type Upcaster = Callable[[bytes], Event]

UPCASTERS: Mapping[str, Upcaster] = {}
"""Retired tag to its function."""
