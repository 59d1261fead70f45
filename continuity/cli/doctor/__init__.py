"""The command `doctor`: says what of this machine works for Continuity, what does not, and what helps. It changes nothing."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from continuity.cli.common import package_folder, run
from continuity.console import FINDINGS, SOUND, escaped, escaped_json, helped, is_terminal, json_option, out, say

if TYPE_CHECKING:
    from continuity.cli.doctor.facts import Machine
    from continuity.cli.doctor.findings import Check


@click.command(
    short_help="Say what works here, what does not, and what helps.",
    help=helped(
        """
        continuity doctor
        continuity doctor --online
        """,
        """
        Look at Python, Tau, the extension in it, settings, folders, the memory server's program and what the newest sessions
        keep and did not store yet, and say of each whether it will do: ok, warn or fail, with what helps. Nothing is changed,
        and nothing in the folder you stand in is run.

        Without --online no server is started. With it the one that the settings name is started once, asked for its tools,
        its projects and their schema notes, and ended: some seconds, and little more than a minute at the most.

        Exit code 1 if something fails, 0 otherwise.
        """,
    ),
)
@click.option("--online", is_flag=True, help="Start the memory server once and ask it.")
@json_option
def doctor(*, online: bool, as_json: bool) -> None:
    """Say what works here, what does not, and what helps."""
    from continuity.cli.doctor.checks import checks
    from continuity.cli.doctor.findings import DoctorView, worst

    found = list(checks(_machine(online=online)))
    result = worst(found)
    if as_json:
        import json

        import msgspec

        view = DoctorView(online=online, result=result, checks=found)
        out(escaped_json(json.dumps(msgspec.to_builtins(view), indent=2, ensure_ascii=False)))
    else:
        out("\n".join(lines(found, color=_wants_color())))
    raise click.exceptions.Exit(FINDINGS if result == "fail" else SOUND)


def _machine(*, online: bool) -> Machine:
    from continuity.cli.doctor.machine import Here, gather
    from continuity.shell.config import environment

    found = gather(Here(environment(), Path.home(), Path.cwd()), package_folder())
    if not online or found.spec is None or found.loaded is None:
        return found.machine
    from continuity.cli.doctor.asking import ask
    from continuity.cli.doctor.facts import Configured

    if is_terminal(sys.stderr):
        say("starting the memory server ...")
    spec, machine = found.spec, found.machine
    project = machine.settings.project if isinstance(machine.settings, Configured) else None
    state = Path(spec.cwd)
    return machine._replace(asked=run(lambda: ask(spec, project, state)))


def _wants_color() -> bool:
    from continuity.shell.config import environment

    environ = environment()
    return is_terminal(sys.stdout) and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"


_COLORS = {"ok": "green", "warn": "yellow", "fail": "red"}


def lines(found: Sequence[Check], *, color: bool = False) -> Iterator[str]:
    """Yield what a person reads of the checks: one line each, its remedy below it, and what they come to."""
    width = max(len(check.name) for check in found)
    for check in found:
        word = f"{check.result:<4}"
        shown = click.style(word, fg=_COLORS[check.result]) if color else word
        yield f"{shown}  {check.name:<{width}}  {escaped(check.found)}"
        if check.remedy is not None:
            yield f"{'':<{width + 8}}hint: {escaped(check.remedy)}"
    failed, warned = (sum(check.result == word for check in found) for word in ("fail", "warn"))
    said = [f"{count} {word}" for count, word in ((failed, "failed"), (warned, "to look at")) if count]
    yield ", ".join(said) or "all is well"
