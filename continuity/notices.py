"""When notices are said: at most one a turn, joined with what waited; nothing twice, nothing lost. It shows none itself."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

import msgspec
from msgspec.structs import replace

type Level = Literal["info", "warning", "error"]

_RANK: Mapping[Level, int] = MappingProxyType({"info": 0, "warning": 1, "error": 2})


class Notice(msgspec.Struct, frozen=True):
    """One sentence or several about one topic; the newest on a topic is what counts."""

    topic: str
    text: str
    level: Level = "info"


type Joined = tuple[Notice, ...]
"""What is shown as one."""


class Notices(msgspec.Struct, frozen=True, kw_only=True):
    """What was heard on each topic, what waits, and whether this turn had its notice.

    A turn goes from a prompt to the next one; what comes before the first prompt is one too.
    """

    spoken: bool = False
    waiting: tuple[Notice, ...] = ()
    """Oldest first, at most one a topic."""
    held: bool = False
    """What waits has waited for a whole turn."""
    heard: Mapping[str, str] = MappingProxyType({})

    def newest(self, topic: str) -> str | None:
        """Return what is to be known on `topic` by now, heard or waiting."""
        return next((one.text for one in self.waiting if one.topic == topic), self.heard.get(topic))


type Said = tuple[Notices, Joined]
"""What is true afterwards, and what is shown now; nothing, if that is empty."""


def say(notices: Notices, notice: Notice) -> Said:
    """Say `notice` with what waits if this turn had none yet; else it waits. What is known already is not said again."""
    if notices.newest(notice.topic) == notice.text:
        return notices, ()
    after = waits(notices, notice)
    return (after, ()) if notices.spoken else flush(after)


def at_once(notices: Notices, notice: Notice) -> Said:
    """Say now, whatever this turn said already, what cannot wait: before it happens, or because a person asked for it."""
    if notices.newest(notice.topic) == notice.text:
        return notices, ()
    return flush(waits(notices, notice))


def waits(notices: Notices, notice: Notice) -> Notices:
    """Keep `notice` for later in the place of an older one on its topic; one that tells only what was heard is no news."""
    others = tuple(one for one in notices.waiting if one.topic != notice.topic)
    news = notices.heard.get(notice.topic) != notice.text
    return replace(notices, waiting=(*others, notice) if news else others)


def turn(notices: Notices) -> Said:
    """Begin a turn: a warning that waited is its notice; anything else goes with the first of this turn, or with the next."""
    pressing = notices.held or any(one.level != "info" for one in notices.waiting)
    after = replace(notices, spoken=False, held=bool(notices.waiting))
    return flush(after) if pressing else (after, ())


def start(notices: Notices) -> Said:
    """Begin a turn because a session begins, or somebody is there who can be told: all that waited is its notice."""
    return flush(replace(notices, spoken=False))


def flush(notices: Notices) -> Said:
    """Say all that waits as one."""
    if not notices.waiting:
        return notices, ()
    heard = MappingProxyType({**notices.heard, **{one.topic: one.text for one in notices.waiting}})
    return replace(notices, spoken=True, waiting=(), held=False, heard=heard), notices.waiting


def worst(joined: Joined) -> Level:
    """Return the level of what is said as one."""
    return max((one.level for one in joined), key=_RANK.__getitem__)
