"""What a setup would change, from what is so and what is wanted. Pure: nothing is read, asked or written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from continuity.cli.guides import Step as Guide
from continuity.cli.installing.plan import NoTau
from continuity.cli.installing.plan import Plan as Installation
from continuity.cli.setup.document import Wanted, changed, difference, is_laid_out, laid_out
from continuity.cli.setup.facts import Before, Kept
from continuity.console import escaped
from continuity.notes import Entity

SCHEMA_FOLDER = "schemas"
VERIFYING_FOLDER = "tau/setup"


class Extras(NamedTuple):
    """What is wanted besides settings."""

    schemas: tuple[tuple[str, tuple[Entity, ...]], ...] = ()
    """Per project the types whose schema notes it is to get."""
    verify: str | None = None
    """The project in which a note is to be written and read."""
    extension: bool = False
    skill: bool = False


class Plan(NamedTuple):
    """Everything that would be done, each part only if there is something to do."""

    kept: Kept
    text: str | None
    """The whole settings file to be; null when it stays as it is."""
    diff: tuple[str, ...]
    laid_out_anew: bool
    """The file's own line breaks and indents are not kept."""
    extras: Extras
    extension: Installation | None
    guides: tuple[Guide, ...]
    """The skill and the prompts that are to be written."""

    @property
    def empty(self) -> bool:
        """Nothing would be done."""
        return self.text is None and self.extension is None and self.extras == Extras()


def plan(known: Before, wanted: Wanted, extras: Extras) -> Plan:
    """Return what would be done. A file whose meaning stays the same is not written, however it looks."""
    kept = known.kept
    after = changed(kept.document, kept.settings, wanted)
    same = after == (kept.document if kept.text is not None else {})
    extension = installable(known.extension) if extras.extension else None
    guides = tuple(guide for guide in known.guides if extras.skill and guide.wanted)
    return Plan(
        kept=kept,
        text=None if same else laid_out(after, kept.text),
        diff=() if same else difference(kept.document if kept.text is not None else None, after, str(kept.path)),
        laid_out_anew=not same and kept.text is not None and not is_laid_out(kept.text),
        extras=extras._replace(extension=extension is not None, skill=bool(guides)),
        extension=extension,
        guides=guides,
    )


def installable(extension: Installation | NoTau) -> Installation | None:
    """Return what is to be installed; None if it is, if there is no Tau, or if something is in the way."""
    if isinstance(extension, NoTau) or extension.shim.foreign is not None or extension.idle:
        return None
    return extension


def lines(planned: Plan) -> Iterator[str]:
    """Yield what a person reads before agreeing to it."""
    if planned.text is not None:
        verb = "write" if planned.kept.text is None else "change"
        yield f"{verb} {escaped(str(planned.kept.path))}"
        yield from (f"    {escaped(line)}" for line in planned.diff)
        if planned.laid_out_anew:
            yield "    (indented anew; its keys stay in their order)"
    if planned.extension is not None:
        if planned.extension.build:
            yield f"make {escaped(str(planned.extension.lead.folder))}, with this program and the libraries of its lock"
        verb = "make" if planned.extension.shim.standing == "absent" else "renew"
        yield f"{verb} {escaped(str(planned.extension.shim.path))}, by which Tau loads Continuity"
    for guide in planned.guides:
        yield f"{'make' if guide.standing == 'absent' else 'renew'} {escaped(str(guide.path))}"
    for project, entities in planned.extras.schemas:
        count = f"{len(entities)} schema note{'s' if len(entities) > 1 else ''}"
        yield f"write {count} into folder {SCHEMA_FOLDER} of {escaped(project)}: {', '.join(entities)}"
    if planned.extras.verify is not None:
        yield f"write one small note into folder {VERIFYING_FOLDER} of {escaped(planned.extras.verify)}, and read it back"
