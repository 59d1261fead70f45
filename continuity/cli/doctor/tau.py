"""Finds Tau and asks the Python that its script names, once and bounded. Nothing inside the checkout is run."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from continuity.cli.doctor.facts import Python, Silence, Tau, Version
from continuity.cli.shim import TAG_OF
from continuity.memory.errors import CommandRefused
from continuity.memory.server import child_environment, resolve_command

SECONDS = 20.0
"""Most that Tau's Python may take: it loads Tau, which takes a second or two."""

PROVEN = ("journal", "continuity.memory", "continuity.shell", "continuity.tau")
"""What a session uses: not all of it is imported by `setup` already."""

_HEAD_BYTES = 4096
_ENV = re.compile(r"#!\s*/usr/bin/env\s+(?:-S\s+)?(\S+)")
_NAMED = re.compile(r"#!\s*(/\S+)")
_THROUGH_SH = re.compile(r"""(?m)^'''exec' (?:"([^"\n]+)"|'([^'\n]+)'|(\S+)) "\$0" "\$@"$""")
"""How installers write a first line that would be too long, or whose path has a space."""

_PYTHON = re.compile(r"(?:python|pypy)(?:\d+(?:\.\d+)*)?t?")
"""Whatever else a first line names is not asked: a shell would run the question as a script of its own."""

_QUESTION = f"""\
import json, os, sys
sys.path[:] = [each for each in sys.path if each]
told = dict.fromkeys(("tag", "tau", "level", "loading", "has"))
told.update(python=list(sys.version_info[:3]), instead=[])
{TAG_OF}
try:
    from importlib import metadata
    told["tau"] = metadata.version("tau-ai")
    from tau_coding.extensions import ExtensionAPI, ExtensionContext
    announces = hasattr(ExtensionAPI, "append_message") and hasattr(ExtensionContext, "branch_entries")
    told["level"] = "A" if announces else "B"
except Exception:
    pass
def loading(shim):
    if shim.get("TROUBLE"):
        return shim["TROUBLE"][0]
    if shim["setup"].__module__ != "continuity.tau.extension":
        return "it leads to something else"
    import importlib, pkgutil
    for name in {PROVEN!r}:
        for each in pkgutil.walk_packages(importlib.import_module(name).__path__, name + "."):
            importlib.import_module(each.name)
    metadata.version("tau-continuity")
    return ""
def instead(folder):
    for ours in metadata.distributions(path=[folder]):
        name = ours.metadata["Name"]
        if metadata.version(name) != ours.version:
            yield "{{}} {{}} and not {{}}".format(name, metadata.version(name), ours.version)
try:
    from importlib.util import find_spec
    told["has"] = os.path.dirname(os.path.dirname(os.path.realpath(find_spec("continuity").origin)))
except Exception:
    pass
try:
    told["tag"] = _tag()
    if sys.argv[1]:
        shim = {{"__name__": "tau_extension_continuity"}}
        exec(compile(sys.argv[1], "extension.py", "exec"), shim)
        told["loading"] = loading(shim)
except Exception as error:
    told["loading"] = "{{}}: {{}}".format(type(error).__name__, error)
try:
    told["instead"] = sorted(instead(shim["FOLDER"]))
except Exception:
    pass
print("\\n" + json.dumps(told))
"""
"""It does with the shim what Tau does, imports what is used behind it, and works in every Python 3."""


class _Said(msgspec.Struct):
    """What Tau's Python answers."""

    python: Version
    tau: str | None
    level: Literal["A", "B"] | None
    loading: str | None
    tag: str | None = None
    instead: tuple[str, ...] = ()
    has: str | None = None


class Surroundings(NamedTuple):
    """What decides which programs are found, and which of them are never run."""

    environ: Mapping[str, str]
    checkout: Path | None


class Named(NamedTuple):
    """What a person says Tau is: a script, or the Python itself. Neither needs to be on the search path."""

    tau: Path | None = None
    python: Path | None = None


def find_tau(around: Surroundings, source: str, seconds: float = SECONDS, named: Named | None = None) -> Tau:
    """Return what `tau` on the search path is, or the one that is `named`, and whether it can load us by the shim `source`.

    An empty `source` is not tried. What a person named may lie in the checkout: they chose it, and no repository.
    """
    if named is not None and named.python is not None:
        path = str(named.python.absolute())  # a link is how a virtual environment is told from its base
        return _told(Tau(path, interpreter=path), source, around, seconds)
    if named is not None and named.tau is not None:
        around = around._replace(checkout=None)
    try:
        command = "tau" if named is None or named.tau is None else str(named.tau.absolute())
        script = resolve_command(command, around.environ.get("PATH", ""), around.checkout)
    except CommandRefused as refused:
        return Tau(None, refused=refused.reason)
    try:
        interpreter = interpreter_of(Path(script), around)
    except CommandRefused as refused:
        silence: Silence = "inside-checkout" if refused.reason == "inside-checkout" else "unnamed"
        return Tau(script, silence=silence, interpreter=refused.command or None)
    return _told(Tau(script, interpreter=interpreter), source, around, seconds)


def interpreter_of(script: Path, around: Surroundings) -> str:
    """Return the absolute path of the Python that `script` is run with.

    Raises:
        CommandRefused: Its first lines name none that is called like one, or one inside the checkout.
    """
    try:
        with script.open("rb") as file:
            head = file.read(_HEAD_BYTES).decode("utf-8", "replace")
    except OSError:
        raise CommandRefused("", "not-found") from None
    first = head.partition("\n")[0]
    through = _THROUGH_SH.search(head) if first.startswith("#!/bin/sh") else None
    by_name = _ENV.match(first)
    direct = _NAMED.match(first)
    found = next((each for each in (through, by_name, direct) if each is not None), None)
    if found is None or (found is direct and first.startswith("#!/bin/sh")):
        raise CommandRefused("", "not-found")
    named = next(group for group in found.groups() if group is not None)
    if _PYTHON.fullmatch(Path(named).name) is None:
        raise CommandRefused("", "not-found")
    return resolve_command(named, around.environ.get("PATH", ""), around.checkout)


def _told(tau: Tau, source: str, around: Surroundings, seconds: float) -> Tau:
    """Return `tau` with what its Python says of itself, and of the shim `source`."""
    command = [tau.interpreter or "", "-E", "-c", _QUESTION, source]
    try:
        said = _ran(command, child_environment(around.environ, {}), seconds)
    except OSError:
        return tau._replace(silence="unstartable")
    except subprocess.TimeoutExpired:
        return tau._replace(silence="timeout")
    try:
        answer = msgspec.json.decode(said.strip().rpartition(b"\n")[2], type=_Said)
    except (msgspec.MsgspecError, ValueError):
        return tau._replace(silence="garbled")
    python = Python(answer.python, tau.interpreter or "")
    tau = tau._replace(version=answer.tau, level=answer.level, loading=answer.loading)
    return tau._replace(python=python, tag=answer.tag, instead=answer.instead, has=answer.has)


def _ran(command: list[str], env: Mapping[str, str], seconds: float) -> bytes:
    """Return what `command` printed. It and its children are gone afterwards; it never runs in the folder we are in."""
    child = subprocess.Popen(
        command,
        cwd="/",
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        return child.communicate(timeout=seconds)[0]
    finally:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        if child.stdout is not None:
            child.stdout.close()
