"""Tells what else a Tau has loaded and what it registered. There is no public way to ask: what Tau hides is left open."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType

from tau_coding.extensions import ExtensionAPI, ExtensionRuntime

from continuity.capture import RECEIPT_NAMESPACE
from continuity.rivals import Beside

_PREFIX = "tau_extension_"


def loading_of(tau: ExtensionAPI) -> object:
    """Return what all extensions of one loading share; where Tau does not show it, each is alone."""
    return _runtime(tau) or tau


def being_set_up(tau: ExtensionAPI) -> Path | None:
    """Return the file whose setup runs now, with `tau`, as far as Tau shows it."""
    runtime = _runtime(tau)
    return runtime.extension_metadata[-1].path if runtime is not None and runtime.extension_metadata else None


def others(tau: ExtensionAPI, ours: Sequence[Path | None], *, at_setup: bool) -> list[Beside]:
    """Return the extensions beside `ours` in the Tau of `tau`: those set up and, `at_setup`, those that are next.

    What a project brings is loaded after all others are set up, and is not seen before.
    """
    runtime, modules = _runtime(tau), _by_file()
    found: list[Beside] = []
    for known in runtime.extension_metadata if runtime is not None else ():
        path = known.path.absolute() if known.path is not None else None
        module = modules.pop(path, None) if path is not None else None
        if path is not None and module is not None and known.path not in ours:
            tools = frozenset(tool for tool, owner in _tools(runtime).items() if owner == known.name)
            found.append(Beside(path, known.source == "project", tools, mirrors=_mirrors(module)))
    return [*found, *_next(tau, modules)] if at_setup or runtime is None else found


def taken_tools(tau: ExtensionAPI) -> dict[str, str]:
    """Return the tools registered so far and whose they are; Tau keeps the first of a name."""
    return _tools(_runtime(tau))


def taken_commands(tau: ExtensionAPI) -> frozenset[str]:
    """Return the commands registered so far; Tau keeps the first of a name."""
    runtime = _runtime(tau)
    if runtime is None:
        return frozenset()
    return frozenset(command.name for command in runtime.build_command_registry().list_commands())


def _runtime(tau: ExtensionAPI) -> ExtensionRuntime | None:
    found: object = getattr(tau, "_runtime", None)
    return found if isinstance(found, ExtensionRuntime) else None


def _tools(runtime: ExtensionRuntime | None) -> dict[str, str]:
    return runtime.extension_tool_sources if runtime is not None else {}


def _next(tau: ExtensionAPI, modules: Mapping[Path, ModuleType]) -> Iterator[Beside]:
    """Yield what Tau imported after the file of `tau`: it imports all files before it sets up the first."""
    own = max((_count(name) for name in _names() if _slug(name) == _slugged(tau.name)), default=0)
    for path, module in modules.items():
        if _count(module.__name__) > own:
            yield Beside(path, from_project=False, tools=frozenset(), mirrors=_mirrors(module))


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


def _mirrors(extension: ModuleType) -> bool:
    """Whether a module of the extension holds the name of our receipts' entries as a constant."""
    name = extension.__name__
    modules = [module for each, module in list(sys.modules.items()) if each == name or each.startswith(f"{name}.")]
    values = (value for module in modules for value in list(vars(module).values()))
    return any(isinstance(value, str) and value == RECEIPT_NAMESPACE for value in values)
