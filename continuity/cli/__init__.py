"""The command line: what needs this machine is in this package, what works on a journal alone is mounted from `replay`.

Nothing but click is imported until a command runs, so that `continuity --help` stays quick.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, override

import click

from continuity.cli import doctor, install, paths, probe, resolve, setup, uninstall
from continuity.console import SOUND, guarded, helped, say

GROUP = "continuity.commands"
"""Entry points of this group are mappings of name to command; ours is `replay.commands:commands`."""


class _Commands(click.Group):
    """Our own commands, then those that other packages bring. None of them ends in a traceback of stdout's."""

    @override
    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        with guarded():
            return super().make_context(info_name, args, parent, **extra)
        raise click.exceptions.Exit(SOUND)  # nobody read the help

    @override
    def invoke(self, ctx: click.Context) -> object:
        with guarded():
            return super().invoke(ctx)
        raise click.exceptions.Exit(SOUND)

    @override
    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*self.commands, *(name for name in self._brought if name not in self.commands)]

    @override
    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return self.commands.get(cmd_name) or self._brought.get(cmd_name)

    @cached_property
    def _brought(self) -> Mapping[str, click.Command]:
        from importlib.metadata import entry_points

        found: dict[str, click.Command] = {}
        for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
            try:
                brought: Mapping[str, click.Command] = point.load()
            except ImportError as error:
                say(f"warning: the commands of {point.value} are missing: {error}")
                continue
            for name, command in brought.items():
                found.setdefault(name, command)
        return found


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    help=helped(
        """
        continuity install --dry-run               what installing into Tau would do
        continuity setup                           where notes go, and what is saved when
        continuity log SESSION.journal             what was recorded, newest first
        continuity audit SESSION.journal           what of it can be proven
        continuity unproven                        what is not settled, why, and what to do
        """,
        """
        Carries objective, decisions and next action of Tau sessions into Basic Memory, and proves what it did.

        Exit codes: 0 sound, 1 findings, 2 misuse, 3 something could not be read or written. Data goes to stdout,
        everything else to stderr.
        """,
    ),
)
@click.version_option(package_name="tau-continuity", message="%(package)s %(version)s")
def main() -> None:
    """Carry a session's knowledge on, and prove it."""


main.add_command(paths.paths)
main.add_command(install.install)
main.add_command(uninstall.uninstall)
main.add_command(setup.setup)
main.add_command(doctor.doctor)
main.add_command(probe.probe)
main.add_command(resolve.resolve)
