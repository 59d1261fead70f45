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
from continuity.memory.errors import CommandRefused
from continuity.memory.server import child_environment, inside, resolve_command

SECONDS = 20.0
"""Most that Tau's Python may take: it loads Tau, which takes a second or two."""

_HEAD_BYTES = 4096
_ENV = re.compile(r"#!\s*/usr/bin/env\s+(?:-S\s+)?(\S+)")
_NAMED = re.compile(r"#!\s*(/\S+)")
_THROUGH_SH = re.compile(r"""(?m)^'''exec' (?:"([^"\n]+)"|'([^'\n]+)'|(\S+)) "\$0" "\$@"$""")
"""How installers write a first line that would be too long, or whose path has a space."""

_QUESTION = """\
import json, sys
sys.path[:] = [each for each in sys.path if each]
told = {"python": list(sys.version_info[:3]), "tau": None, "level": None, "loading": None}
try:
    from importlib import metadata
    told["tau"] = metadata.version("tau-ai")
    from tau_coding.extensions import ExtensionAPI, ExtensionContext
    announces = hasattr(ExtensionAPI, "append_message") and hasattr(ExtensionContext, "branch_entries")
    told["level"] = "A" if announces else "B"
except Exception:
    pass
folder = sys.argv[1]
if folder:
    if folder not in sys.path:
        sys.path.append(folder)
    try:
        from continuity.tau.extension import setup
        told["loading"] = ""
    except Exception as error:
        told["loading"] = "{}: {}".format(type(error).__name__, error)
print("\\n" + json.dumps(told))
"""
"""It does what the shim does, and works in every Python 3."""


class _Said(msgspec.Struct):
    """What Tau's Python answers."""

    python: Version
    tau: str | None
    level: Literal["A", "B"] | None
    loading: str | None


class Surroundings(NamedTuple):
    """What decides which programs are found, and which of them are never run."""

    environ: Mapping[str, str]
    checkout: Path | None


def find_tau(around: Surroundings, loads_from: Path | None, seconds: float = SECONDS) -> Tau:
    """Return what `tau` on the search path is, and whether it can load our packages out of `loads_from`."""
    try:
        script = resolve_command("tau", around.environ.get("PATH", ""), around.checkout)
    except CommandRefused as refused:
        return Tau(None, refused=refused.reason)
    try:
        interpreter = interpreter_of(Path(script), around)
    except CommandRefused as refused:
        silence: Silence = "inside-checkout" if refused.reason == "inside-checkout" else "unnamed"
        return Tau(script, silence=silence, interpreter=refused.command or None)
    folder = None if loads_from is None or inside(loads_from, around.checkout) else loads_from
    return _told(Tau(script, interpreter=interpreter), folder, around, seconds)


def interpreter_of(script: Path, around: Surroundings) -> str:
    """Return the absolute path of the Python that `script` is run with.

    Raises:
        CommandRefused: Its first lines name none, or one inside the checkout.
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
    return resolve_command(named, around.environ.get("PATH", ""), around.checkout)


def _told(tau: Tau, folder: Path | None, around: Surroundings, seconds: float) -> Tau:
    """Return `tau` with what its Python says of itself."""
    command = [tau.interpreter or "", "-E", "-c", _QUESTION, str(folder) if folder is not None else ""]
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
    return tau._replace(python=python, version=answer.tau, level=answer.level, loading=answer.loading)


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
