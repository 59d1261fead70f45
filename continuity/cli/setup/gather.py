"""Gathers what setup must know of this machine before it asks. It changes nothing; of programs only git is run."""

from __future__ import annotations

from pathlib import Path

from continuity.cli import guides, shim
from continuity.cli.doctor.tau import Surroundings
from continuity.cli.installing.own import NotInstalled
from continuity.cli.installing.plan import NoTau, Wish, plan
from continuity.cli.installing.plan import Plan as Installation
from continuity.cli.setup.document import Repeated, known, parsed
from continuity.cli.setup.facts import Before, Here, Kept, Work
from continuity.cli.setup.naming import Approved, checkout_of
from continuity.places import PlaceRefused, expanded, named
from continuity.shell.config import COMPATIBLE_CONFIG, OUR_CONFIG, SettingsError, read_settings
from continuity.shell.serving import checkout_at
from continuity.shell.settings import Settings


def before(here: Here, packages: Path, root: Path | None = None) -> Before:
    """Return everything that is known before the first question; `root` is the checkout if the person named one.

    Raises:
        SettingsError: The settings cannot be used, so they cannot be changed without losing something.
        OSError: The extension's file, the skill or a prompt cannot be looked at.
    """
    kept = settings_of(here)
    return Before(
        here=here,
        kept=kept,
        work=work_in(here, kept.settings, root),
        extension=extension_in(here, packages),
        guides=guides.plan(here.places.tau_home),
        first=kept.text is None,
    )


def extension_in(here: Here, packages: Path) -> Installation | NoTau:
    """Return what it would take to have the extension in Tau; one that leads to a checkout is left to lead there."""
    around = Surroundings(here.environ, checkout_at(here.cwd, here.home))
    now = shim.lead_at(here.places.shim)
    try:
        return plan(here.places, packages, around, Wish(editable=now is not None and now.tag is None))
    except NoTau as error:
        return error
    except NotInstalled:
        return NoTau("this program was not installed", "run the `continuity` of an installation")


def settings_of(here: Here) -> Kept:
    """Return our own settings file, there or not, and the compatible one if that is what applies.

    Raises:
        SettingsError: As `before` does.
    """
    path = _named(here, OUR_CONFIG) or here.places.settings
    if path.is_symlink():
        remedy = f"is a link, and setup writes through none; name what it leads to: {OUR_CONFIG}={path.resolve()}"
        raise SettingsError(path, None, remedy)
    if path.exists():
        settings = read_settings(path, ours=True).settings
        text = path.read_bytes().decode("utf-8-sig")
        return Kept(path, text, _document(path, text), settings)
    other = _named(here, COMPATIBLE_CONFIG) or here.places.compatible_settings
    return Kept(path, None, {}, Settings(), beside=other if other.exists() else None)


def from_compatible(kept: Kept, other: Path) -> tuple[Kept, tuple[str, ...]]:
    """Return settings that begin with what the compatible file at `other` says to us, and its keys that say nothing.

    Raises:
        SettingsError: It cannot be used.
    """
    settings, _, ignored = read_settings(other, ours=False)
    text = other.read_bytes().decode("utf-8-sig")
    return kept._replace(document=known(_document(other, text)), settings=settings), ignored


def _named(here: Here, variable: str) -> Path | None:
    try:
        return named(here.environ, variable, here.home)
    except PlaceRefused as error:
        raise SettingsError(None, error.variable, error.remedy) from None


def _document(path: Path, text: str) -> dict[str, object]:
    try:
        return parsed(text)
    except Repeated as error:
        raise SettingsError(path, str(error), "stands there twice; remove one of them") from None


def work_in(here: Here, settings: Settings, root: Path | None = None) -> Work:
    """Return what the folder we are in, or the named `root`, belongs to: by git, and by what is approved."""
    place = (here.cwd / root).resolve() if root is not None else here.cwd
    roots = [expanded(each.root, here.home).resolve() for each in settings.repositories]
    approved = [Approved(each, entry.repository) for each, entry in zip(roots, settings.repositories, strict=True)]
    checkout = checkout_of(place, here.home, here.environ, approved)
    closest = max(
        (each for each in roots if place.is_relative_to(each)), key=lambda each: len(each.parts), default=None
    )
    meant = place if root is not None else checkout.root if checkout is not None else closest
    at = roots.index(meant) if meant in roots else None
    around = approved[roots.index(closest)] if closest is not None and closest != meant else None
    return Work(checkout, meant, at, around)
