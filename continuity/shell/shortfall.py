"""Says once, and in words, what a brief is made without because memory did not answer. It asks nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from continuity.recall import Query
from continuity.shell.asking import SEVERAL_PROJECTS, Fetched
from continuity.shell.desk import Desk

_ABOUT: Mapping[str, str] = MappingProxyType(
    {
        "neighbourhood": "notes linked with the checkpoint",
        "prior-work": "earlier work",
        "prior-work-without-branch": "earlier work on no branch",
        "prior-work-by-folder": "earlier work in this folder",
        "tasks": "active tasks",
        "decisions": "open decisions",
        "shared-tasks": "active tasks",
        "shared-decisions": "open decisions",
        "topic-tasks": "tasks that match the prompt",
        "topic-decisions": "decisions that match the prompt",
        "recent": "notes changed lately",
    }
)
_SHOWN = 20
NO_PROJECT = "project-not-found"


def tell(desk: Desk, fetched: Fetched) -> None:
    """Name what this round brought no answer to; nothing else is lost by it."""
    failed = [query for query in fetched.asked if query.name in fetched.failed]
    for code, said in _NOT_ONE.items():
        for project in dict.fromkeys(query.project for query in failed if fetched.failed[query.name] == code):
            desk.voice.say(f"recall-project:{project}", said(desk, project), "warning")
    rest = [query for query in failed if fetched.failed[query.name] not in _NOT_ONE]
    if rest and desk.link.connection is not None:  # that there is none is said by whoever lost it
        text = _without(rest, fetched)
        desk.voice.say(f"recall-without:{text}", text, "warning")


def _no_project(desk: Desk, project: str) -> str:
    known = ", ".join(repr(one.name) for one in desk.link.projects.projects[:_SHOWN])
    has = f" It has: {known}." if known else ""
    if project == desk.profile.project:
        return (
            f"Basic Memory has no project {project!r}, so nothing is recalled from it.{has} "
            "Set `project`, or create it with `bm project add`."
        )
    return (
        f"Basic Memory has no project {project!r}; everything else is recalled.{has} "
        "Correct `read_projects`, or create it with `bm project add`."
    )


def _several(desk: Desk, project: str) -> str:
    known = ", ".join(one.label for one in desk.link.projects.named(project)[:_SHOWN])
    key = "project" if project == desk.profile.project else "read_projects"
    return (
        f"Basic Memory has several projects {project!r}, so nothing is recalled from any. They are: {known}. "
        f"Name one of them with its workspace in `{key}`, or give each a name of its own."
    )


_NOT_ONE = {NO_PROJECT: _no_project, SEVERAL_PROJECTS: _several}


def _without(queries: Sequence[Query], fetched: Fetched) -> str:
    codes = ", ".join(dict.fromkeys(fetched.failed[query.name] for query in queries))
    if len(queries) == len(fetched.asked) and not fetched.answers:
        return (
            f"Memory answered no question of recall ({codes}); what is kept here is used, and it is asked again later. "
            "/bm-orient asks now."
        )
    without = ", ".join(dict.fromkeys(map(_about, queries)))
    return f"Recall goes on without {without}: memory did not answer ({codes}). /bm-orient asks again."


def _about(query: Query) -> str:
    about = _ABOUT[query.name.partition(":")[0]]
    return f"{about} of project {query.project!r}" if query.read_only else about
