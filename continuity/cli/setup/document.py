"""The settings file as a person keeps it: changed key by key, laid out stably, and shown without what may be secret. Pure."""

from __future__ import annotations

import copy
import difflib
import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

from continuity.shell.settings import RepositorySettings, Settings

type Document = dict[str, Any]
"""One JSON object, keys in the order in which they stand in the file."""

_LAYOUTS = (2, 4, "\t")
_HIDDEN = "(not shown)"


class Coding(NamedTuple):
    """What one checkout is to be: approved as coding work, or general work like any folder."""

    root: str
    approved: bool
    repository: str = ""
    project: str | None = None
    read_projects: tuple[str, ...] = ()
    at: int | None = None
    """Where its entry stands in `repositories`; null when it has none."""


class Wanted(NamedTuple):
    """What a person wants of the settings; everything else stays as it is."""

    keys: Mapping[str, Any]
    """Simple keys, as JSON."""
    coding: Coding | None = None
    """Null when no checkout is spoken of."""


class Repeated(Exception):
    """A key stands twice in one object, so a rewritten file would lose one of them; nothing was written."""


def parsed(text: str) -> Document:
    """Return the object in `text`, which was found to be settings.

    Raises:
        Repeated: Its argument is the key.
    """
    return cast("Document", json.loads(text, object_pairs_hook=_once))


def _once(pairs: Sequence[tuple[str, Any]]) -> Document:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise Repeated(next(name for name in names if names.count(name) > 1))
    return found


def known(document: Document) -> Document:
    """Return what of the compatible file means something to us."""
    kept = {key: value for key, value in document.items() if key in Settings.model_fields}
    if "repositories" in kept:
        kept["repositories"] = [
            {key: value for key, value in entry.items() if key in RepositorySettings.model_fields}
            for entry in cast("list[Document]", kept["repositories"])
        ]
    return kept


def changed(document: Document, settings: Settings, wanted: Wanted) -> Document:
    """Return `document`, whose meaning is `settings`, as it is wanted.

    A key that means the same already is not touched, so one at its default is written only where the person wrote it.
    """
    made, now = copy.deepcopy(document), settings.model_dump(mode="json")
    made |= {key: value for key, value in wanted.keys.items() if value != now[key]}
    if wanted.coding is not None:
        _file(made, settings, wanted.coding)
    return made


def _file(document: Document, settings: Settings, coding: Coding) -> None:
    entries = cast("list[Document]", document.get("repositories", []))
    if not coding.approved:
        if coding.at is not None:
            del entries[coding.at]
        return
    told = {"repository": coding.repository, "project": coding.project, "read_projects": list(coding.read_projects)}
    if coding.at is None:
        usual: Mapping[str, Any] = {"project": None, "read_projects": []}
        entries.append({"root": coding.root} | {k: v for k, v in told.items() if v != usual.get(k)})
        document["repositories"] = entries
        return
    now = settings.repositories[coding.at].model_dump(mode="json")
    entries[coding.at] |= {key: value for key, value in told.items() if value != now[key]}


def laid_out(document: Document, like: str | None) -> str:
    """Return `document` as text, indented as the text `like` is, which said what was there before."""
    indent = next((each for each in _LAYOUTS if like is not None and keeps_layout(like, each)), _LAYOUTS[0])
    return _text(document, indent)


def keeps_layout(text: str, indent: int | str = _LAYOUTS[0]) -> bool:
    """Whether `text` is laid out as we would, so that a change shows as that change alone."""
    return text.strip() == _text(parsed(text), indent).strip()


def is_laid_out(text: str) -> bool:
    """Whether a rewritten file keeps its look."""
    return any(keeps_layout(text, each) for each in _LAYOUTS)


def _text(document: Document, indent: int | str) -> str:
    return json.dumps(document, indent=indent, ensure_ascii=False) + "\n"


def difference(before: Document | None, after: Document, name: str) -> tuple[str, ...]:
    """Return a unified diff, without what may be secret: values of the server's environment are not shown."""
    old = [] if before is None else _text(_shown(before), 2).splitlines()
    new = _text(_shown(after), 2).splitlines()
    label = "/dev/null" if before is None else name
    return tuple(difflib.unified_diff(old, new, label, name, lineterm="", n=2))


def _shown(document: Document) -> Document:
    env = document.get("env")
    return document | {"env": dict.fromkeys(cast("Document", env), _HIDDEN)} if isinstance(env, dict) else document
