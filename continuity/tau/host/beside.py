"""Tells what else a Tau has loaded and what it registered. There is no public way to ask: what Tau hides is left open."""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from types import ModuleType
from typing import cast

from tau_coding.extensions import ExtensionAPI, ExtensionRuntime

from continuity.capture import RECEIPT_NAMESPACE
from continuity.rivals import Beside

_PREFIX = "tau_extension_"
_OUR_SETUP = "continuity.tau.extension"
_DROPPED = re.compile(r"tool `([^`]+)` already registered by ")


def loading_of(tau: ExtensionAPI) -> object:
    """Return what all extensions of one loading share; where Tau does not show it, each is alone."""
    return _runtime(tau) or tau


def being_set_up(tau: ExtensionAPI) -> Path | None:
    """Return the file whose setup runs now, with `tau`, as far as Tau shows it."""
    return _shown(tau, lambda runtime: runtime.extension_metadata[-1].path if runtime.extension_metadata else None)


def others(tau: ExtensionAPI, ours: Sequence[Path | None], *, at_setup: bool) -> list[Beside]:
    """Return the extensions beside `ours` in the Tau of `tau`: those set up and, `at_setup`, those that are next.

    What a project brings is loaded after all others are set up, and is not seen before.
    """
    modules, offered, dropped = _by_file(), _offered(tau), _dropped(tau)
    known = _shown(
        tau, lambda runtime: [(one.path, one.name, one.source_id, one.source) for one in runtime.extension_metadata]
    )
    found: list[Beside] = []
    for file, name, source_id, source in known or ():
        path = file.absolute() if file is not None else None
        module = modules.pop(path, None) if path is not None else None
        if path is not None and module is not None and file not in ours:
            found.append(Beside(path, source == "project", offered[source_id], dropped[name], mirrors=_mirrors(module)))
    return [*found, *_next(tau, modules, all_of_them=known is None)] if at_setup or known is None else found


def taken_tools(tau: ExtensionAPI) -> frozenset[str]:
    """Return the tools registered so far; Tau keeps the first of a name."""
    return _shown(tau, lambda runtime: frozenset(runtime.extension_tool_sources)) or frozenset()


def taken_commands(tau: ExtensionAPI) -> frozenset[str]:
    """Return the commands registered so far; Tau keeps the first of a name."""
    return _shown(tau, _commands) or frozenset()


def _commands(runtime: ExtensionRuntime) -> frozenset[str]:
    return frozenset(command.name for command in runtime.build_command_registry().list_commands())


def _shown[T](tau: ExtensionAPI, read: Callable[[ExtensionRuntime], T]) -> T | None:
    """Return what `read` finds in the runtime of `tau`; None where another Tau has it no more, or in another shape."""
    runtime = _runtime(tau)
    if runtime is None:
        return None
    try:
        return read(runtime)
    except (AttributeError, TypeError):
        return None


def _runtime(tau: ExtensionAPI) -> ExtensionRuntime | None:
    found: object = getattr(tau, "_runtime", None)
    return found if isinstance(found, ExtensionRuntime) else None


def _offered(tau: ExtensionAPI) -> Mapping[str, frozenset[str]]:
    """Return the tools of each extension by its source: two extensions may have one name."""

    def owners(runtime: ExtensionRuntime) -> list[tuple[str, str]]:
        registered = runtime._tools  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] # what is public tells names alone
        return [(one.source_id, tool) for tool, one in registered.items()]

    return _gathered(_shown(tau, owners))


def _dropped(tau: ExtensionAPI) -> Mapping[str, frozenset[str]]:
    """Return by an extension's name the tools that Tau refused because another came first: it tells no more than that.

    Ours are none of them, for we take a name that is free.
    """

    def refused(runtime: ExtensionRuntime) -> list[tuple[str, str]]:
        told = [(one.name, _DROPPED.match(one.message)) for one in runtime.diagnostics]
        return [(name, match[1]) for name, match in told if name is not None and match is not None]

    return _gathered(_shown(tau, refused))


def _gathered(pairs: Sequence[tuple[str, str]] | None) -> Mapping[str, frozenset[str]]:
    tools: defaultdict[str, frozenset[str]] = defaultdict(frozenset)
    for owner, tool in pairs or ():
        tools[owner] |= {tool}
    return tools


def _next(tau: ExtensionAPI, modules: Mapping[Path, ModuleType], *, all_of_them: bool) -> Iterator[Beside]:
    """Yield what Tau imported after the file of `tau`: it imports all files before it sets up the first.

    Where it does not show which are set up, `all_of_them` are judged that are not ours.
    """
    own = max((_count(name) for name in _names() if _slug(name) == _slugged(tau.name)), default=0)
    for path, module in modules.items():
        if _home(module) != _OUR_SETUP and (all_of_them or _count(module.__name__) > own):
            yield Beside(path, from_project=False, mirrors=_mirrors(module))


def _by_file() -> dict[Path, ModuleType]:
    """Return the newest module of each extension's file. Tau never forgets one."""
    modules = [module for name in _names() if (module := sys.modules.get(name)) is not None]
    return {file: module for module in modules if (file := _file(module)) is not None}


def _names() -> list[str]:
    names = [name for name in list(sys.modules) if name.startswith(_PREFIX) and "." not in name]
    return sorted(names, key=_count)


def _count(name: str) -> int:
    count = name.rpartition("_")[2]
    return int(count) if count.isdecimal() else 0


def _slug(module: str) -> str:
    return module.removeprefix(_PREFIX).rpartition("_")[0]


def _slugged(name: str) -> str:
    """As Tau makes a module's name from an extension's."""
    return "".join(char if char.isalnum() else "_" for char in name).lower()


def _file(module: ModuleType) -> Path | None:
    file = getattr(module, "__file__", None)
    return Path(file).absolute() if isinstance(file, str) else None


def _home(extension: ModuleType) -> str:
    """Return the module in which the extension's setup was written: the file may only lead to an installed package."""
    home = getattr(getattr(extension, "setup", None), "__module__", None)
    return home if isinstance(home, str) else extension.__name__


def _mirrors(extension: ModuleType) -> bool:
    """Whether a module of the extension, or of the package its setup is from, has the name of our receipts' entries."""
    home = _home(extension)
    if home == _OUR_SETUP:
        return False
    roots = {extension.__name__, home.rpartition(".")[0] or home}
    modules = [
        module for each, module in list(sys.modules.items()) if any(f"{each}.".startswith(f"{root}.") for root in roots)
    ]
    values = chain.from_iterable(list(vars(module).values()) for module in modules)
    return any(map(_names_receipts, values))


def _names_receipts(value: object) -> bool:
    """A constant by itself, or one of several in a collection."""
    several = isinstance(value, tuple | list | set | frozenset)
    each = list(cast("Collection[object]", value)) if several else [value]
    return any(isinstance(one, str) and one == RECEIPT_NAMESPACE for one in each)
