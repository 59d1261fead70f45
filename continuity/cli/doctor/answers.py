"""What a memory server's answers mean for the settings: a verdict, one line and the remedy. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches

from continuity.cli.doctor.facts import Asked, Configured
from continuity.cli.doctor.findings import Check, failed, ok, warned
from continuity.memory.notes import Projects
from continuity.notes import ENTITIES

TROUBLES: Mapping[str, tuple[str, str]] = {
    "unstartable": ("cannot be started", "run it in a shell: bm mcp --transport stdio"),
    "timeout": ("was started and did not answer in time", "try again; if it hangs again, see Basic Memory's own log"),
    "garbage": ("answered with what is no message", "see `command` and `args` in the settings"),
    "exited": ("ended before it answered", "run it in a shell and read what it says: bm mcp --transport stdio"),
    "protocol": ("refused to talk", "see whether its version fits: bm --version"),
    "unlisted": ("answered, and did not list its tools", "try again; if it stays so, see Basic Memory's own log"),
}
"""Why a server cannot be asked, in words that follow "the memory server", and what helps."""


def checks(asked: Asked, settings: Configured, package: str | None) -> Iterator[Check]:
    """Yield what the answers say of the server and of the projects that are named; the rest of a dead one is silence.

    `package` is the version of the server's package, as far as that can be seen.
    """
    yield of_server(asked, package)
    if asked.trouble is not None:
        return
    if asked.as_kept is False:
        yield warned("listing", "its tools are others than those kept", "continuity setup, then /reload in Tau")
    names = [name for name in (settings.project, *settings.read_projects) if name is not None]
    if asked.projects is not None:
        for name in names:
            yield of_project(name, asked.projects, writes=name == settings.project)
    elif names:
        yield warned("projects", "the server did not say which projects it has", "try again")
    if settings.project is not None:
        yield from of_schemas(settings.project, asked)


def of_server(asked: Asked, package: str | None) -> Check:
    """Whether it starts and talks. What it reports as its version may be that of a library it is made with."""
    if asked.trouble is not None:
        what, remedy = TROUBLES[asked.trouble]
        return failed("server", f"the memory server {what}", remedy)
    said = "" if package is not None else f" reports version {asked.version} and"
    return ok("server", f"{asked.server}{said} offers {asked.tools} tools")


def of_project(name: str, known: Projects, *, writes: bool) -> Check:
    """Whether there is a project of this name, and where it lives."""
    label = "source" if writes else "reads"
    named = known.named(name)
    if not named:
        names = [project.name for project in known.projects]
        close = get_close_matches(name, names, n=1) or [other for other in names if other.lower() == name.lower()]
        guess = f"did you mean {close[0]}? " if close else ""
        remedy = f"{guess}continuity setup shows all to choose from; `bm project add NAME PATH` makes one"
        return (failed if writes else warned)(label, f"the server has no project {name}", remedy)
    if len(named) > 1:
        told = ", ".join(sorted(project.label for project in named))
        remedy = "name one of them with its workspace, or give each a name of its own"
        return (failed if writes else warned)(
            label, f"{name} is there several times{', so nothing is saved' if writes else ''}: {told}", remedy
        )
    source = known.source(name)
    if source == "local":
        return ok(label, f"{name} is local")
    where = "in the cloud" if source == "cloud" else "in a place the server does not tell"
    return ok(label, f"{name} is {where}, so a write that got lost is never proven lost by itself")


def of_schemas(project: str, asked: Asked) -> Iterator[Check]:
    """Whether the schema notes are there; a search that finds none is no proof. Without a project there is no question."""
    if asked.projects is not None and not asked.projects.named(project):
        return
    if asked.schemas is None:
        yield warned("schemas", f"{project} could not be searched for schema notes", "try again once it is indexed")
        return
    missing = [entity for entity in ENTITIES if entity not in asked.schemas]
    if not missing:
        yield ok("schemas", f"{project} has all {len(ENTITIES)} schema notes")
        return
    text = f"no schema note was found in {project} for {', '.join(missing)}"
    yield warned("schemas", text, "if you want them: continuity setup")
