"""The command `uninstall`: takes the extension out of Tau again. Journals, settings and notes are never touched."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import click

from continuity.cli.common import ask, our_places
from continuity.console import FINDINGS, MISUSE, SOUND, UNREADABLE, escaped, fail, helped, out


@click.command(
    short_help="Take the extension out of Tau.",
    help=helped(
        """
        continuity uninstall --dry-run
        continuity uninstall --yes
        continuity uninstall --skill
        """,
        """
        Remove the file by which Tau loads the extension, and the packages it leads to. Journals, settings, and the notes
        in memory stay where they are. A file that is not ours, or that somebody edited, is left as it is; doing it twice
        is doing it once. A Tau that runs should be quit first: it may need what is removed.

        With --skill the skill and the prompts that `continuity setup` or `install --skill` put there go too, except those
        that somebody edited.
        """,
    ),
)
@click.option("--dry-run", is_flag=True, help="Show what would be done, and do nothing.")
@click.option("--yes", is_flag=True, help="Do it without asking.")
@click.option("--skill", is_flag=True, help="Remove the skill and the prompts too.")
def uninstall(*, dry_run: bool, yes: bool, skill: bool) -> None:
    """Take the extension out of Tau."""
    if dry_run and yes:
        fail("--dry-run and --yes exclude each other", "give one of them", MISUSE)
    try:
        found = _look(skill=skill)
    except OSError as error:
        fail(f"{error.filename}: {error.strerror}", "make it readable, or move it away", UNREADABLE)
    _show(found)
    if found.ours and not dry_run:
        if not yes:
            ask("nothing was removed", "say --yes to do it, --dry-run to look")
        _remove(found)
    raise click.exceptions.Exit(FINDINGS if found.foreign is not None or found.linked else SOUND)


class _Found(NamedTuple):
    """What there is of ours."""

    shim: Path | None
    foreign: Path | None
    """What is in the place of the shim, and stays."""
    packages: Path
    """Where the shim leads, or else where an installation would be."""
    linked: bool
    """That folder is a link, and what is behind it stays."""
    installed: tuple[Path, ...]
    others: Mapping[Path, Path]
    """The installations to which another home's shim leads: they stay."""
    there: bool
    """Something that an installation left, be it of a failed one, is there and may go."""
    guides: tuple[Path, ...]
    unasked: tuple[Path, ...]
    """Guides that would go with --skill."""
    left: tuple[Path, ...]
    """Guides that somebody edited."""

    @property
    def ours(self) -> bool:
        """There is something to remove."""
        return bool(self.shim or self.there or self.guides)


def _look(*, skill: bool) -> _Found:
    from continuity.cli import guides, shim
    from continuity.cli.installing import folders

    places = our_places()
    lead = shim.lead_at(places.shim)
    planned = shim.plan(places.shim, lead or shim.Lead(places.packages))
    here = planned.standing in ("current", "outdated")
    steps = guides.plan(places.tau_home)
    ours = tuple(step.path for step in steps if step.standing in ("current", "outdated"))
    # CONTINUITY_HOME may say something else by now: what is there is known by the shim that leads to it.
    packages = places.packages if lead is None or lead.tag is None else lead.folder.parent
    # What somebody edited, or put there, may lead to them still.
    there = planned.foreign is None and not packages.is_symlink() and folders.has_ours(packages)
    others = folders.led_elsewhere(packages, places.shim) if there else {}
    installed = tuple(each for each in folders.installed(packages) if each not in others) if there else ()
    return _Found(
        shim=places.shim if here else None,
        foreign=planned.foreign,
        packages=packages,
        linked=packages.is_symlink(),
        installed=installed,
        others=others,
        there=bool(installed) or (there and not others),
        guides=ours if skill else (),
        unasked=() if skill else ours,
        left=tuple(step.path for step in steps if step.standing == "foreign") if skill else (),
    )


def _show(found: _Found) -> None:
    """Say what would go, and what stays."""
    packages = found.installed or ((found.packages,) if found.there else ())
    for path in (*([found.shim] if found.shim is not None else []), *packages, *found.guides):
        out(f"remove {escaped(str(path))}")
    for path in (*([found.foreign] if found.foreign is not None else []), *found.left):
        out(f"leave {escaped(str(path))} as it is: it is not ours, or was edited")
    if found.foreign is not None:
        out(f"leave {escaped(str(found.packages))} as it is, for that may lead there")
    if found.linked:
        out(f"leave {escaped(str(found.packages))} as it is: it is a link, and what is behind it is not looked at")
    if not found.ours:
        out("there is nothing to remove")
    for line in _kept(found):
        out(f"keep {escaped(line)}")


def _kept(found: _Found) -> Iterator[str]:
    places = our_places()
    yield from (f"{folder}: {path} leads to it" for folder, path in found.others.items())
    yield from (f"{path}: uninstall --skill removes it" for path in found.unasked)
    for path in dict.fromkeys((found.packages.parent, places.state)):
        if path.exists():
            yield f"{path}, with every journal"
    if places.settings.exists():
        yield str(places.settings)


def _remove(found: _Found) -> None:
    """Remove it: first what leads to the packages, so that nothing ever leads to half of them."""
    try:
        if found.shim is not None:
            found.shim.unlink(missing_ok=True)
            _tidy(found.shim.parent)
        for path in found.guides:
            path.unlink(missing_ok=True)
            with suppress(OSError):
                path.parent.rmdir()  # the skill has a folder of its own; a folder that holds more stays
        if found.there:
            _remove_packages(found)
    except OSError as error:
        fail(f"{error.filename}: {error.strerror}", "what stands above it was removed; try again", UNREADABLE)
    out("done; Tau is without it from its next start on, or after /reload")


def _remove_packages(found: _Found) -> None:
    from continuity.cli.installing import folders

    try:
        with folders.alone(found.packages):
            folders.remove(found.packages, keep=found.others)
            if folders.is_our_log(found.packages / folders.LOG):
                (found.packages / folders.LOG).unlink()
            folders.forget_shim(found.packages, our_places().shim)
            folders.clear(found.packages)
    except folders.Busy:
        fail("an installation is at work; its packages stay", "wait for it, and try again", UNREADABLE)


def _tidy(folder: Path) -> None:
    """Remove the extension's folder with what Python cached of the file in it; if there is more in it, that stays."""
    from continuity.cli.shim import tidy

    tidy(folder)
    cached = folder / "__pycache__"
    if cached.is_dir() and not cached.is_symlink() and all(each.suffix == ".pyc" for each in cached.iterdir()):
        shutil.rmtree(cached, ignore_errors=True)
    with suppress(OSError):
        folder.rmdir()
