"""What each fact of this machine means: a verdict, one line and the remedy. Pure; of what a server said, see `answers`."""

from __future__ import annotations

from collections.abc import Iterator
from shlex import quote

from continuity.cli.doctor import answers
from continuity.cli.doctor.facts import Command, Configured, Fault, Listed, Machine, Python, Shim, State, Tau, Unsaved
from continuity.cli.doctor.findings import Check, failed, ok, warned

OLDEST_PYTHON = (3, 12)
TAU_SEEN = "0.4.8"
BASIC_MEMORY_SEEN = "0.24.1"
"""The versions with which it has been seen to work; others of the same minor number count as them."""

_LEVELS = {
    "A": "level A: it announces compactions and branches",
    "B": "level B, stock Tau: a compaction you start or a change of branch is noticed at your next prompt",
}


def checks(machine: Machine) -> Iterator[Check]:
    """Yield every check for which there are facts, in the order in which one thing needs another."""
    yield of_python(machine.python)
    yield of_tau(machine.tau)
    if machine.places is not None:
        yield of_places(machine.places)
    if machine.shim is not None:
        yield of_shim(machine.shim)
        yield from of_loading(machine.tau, machine.shim)
        yield of_others(machine)
    if machine.settings is not None:
        yield of_settings(machine.settings)
    if isinstance(machine.settings, Configured):
        yield of_project(machine.settings)
        yield from of_work(machine.settings)
    if machine.command is not None:
        yield of_command(machine.command)
    if machine.state is not None:
        yield of_state(machine.state)
    if machine.unsaved is not None:
        yield of_unsaved(machine.unsaved)
    if machine.listed is not None:
        yield of_tools(machine.listed)
    if machine.asked is not None and isinstance(machine.settings, Configured):
        package = machine.command.version if machine.command is not None else None
        yield from answers.checks(machine.asked, machine.settings, package)


def of_python(found: Python) -> Check:
    """The interpreter this command runs in."""
    text = f"{_dotted(found.version)}, {found.path}"
    if found.version[:2] < OLDEST_PYTHON:
        return failed("python", text, f"run it with Python {_dotted(OLDEST_PYTHON)} or later")
    return ok("python", text)


def of_tau(found: Tau) -> Check:
    """Tau: where it is, its version, its Python, and how much it tells an extension."""
    if found.script is None:
        return _no_tau(found)
    if found.silence is not None:
        return _silent_tau(found)
    if found.python is not None and found.python.version[:2] < OLDEST_PYTHON:
        text = f"runs in Python {_dotted(found.python.version)}, {found.python.path}"
        return failed("tau", text, f"uv tool install --python {_dotted(OLDEST_PYTHON)} --force tau-ai")
    if found.version is None or found.level is None:
        return failed("tau", f"{found.script} leads to no working Tau", "uv tool install --force tau-ai")
    text = f"{found.version}, {_LEVELS[found.level]}; {found.script}"
    if _minor(found.version) != _minor(TAU_SEEN):
        return warned("tau", text, f"it has been seen to work with {TAU_SEEN}; /bm-status in Tau says what is so")
    return ok("tau", text)


def _no_tau(found: Tau) -> Check:
    if found.refused == "inside-checkout":
        return failed("tau", "found only inside the folder you stand in, whence nothing is run", _ELSEWHERE)
    return failed("tau", "not found on PATH", "uv tool install tau-ai")


_ELSEWHERE = "run this from another folder, or put one outside it on PATH"
_SILENCE = {
    "unnamed": ("names no Python in its first line", "continuity install --python PATH, with the Python that runs it"),
    "inside-checkout": ("names a Python inside the folder you stand in, whence nothing is run", _ELSEWHERE),
    "unstartable": ("names a Python that cannot be started", "uv tool install --force tau-ai"),
    "timeout": ("names a Python that did not answer in time", "try again; `tau --version` shows whether Tau starts"),
    "garbled": ("names a Python that answered nothing that can be read", "see whether `tau --version` works"),
}


def _silent_tau(found: Tau) -> Check:
    what, remedy = _SILENCE[found.silence or "unnamed"]
    named = f" ({found.interpreter})" if found.interpreter is not None else ""
    text = f"{found.script} {what}{named}"
    return (failed if found.silence == "unstartable" else warned)("tau", text, remedy)


def of_places(found: Fault) -> Check:
    """The variables that say where everything is."""
    return failed("places", found.what, "unset it, or give an absolute path; nothing else can be looked at before")


def of_shim(found: Shim) -> Check:
    """The file that leads Tau to us."""
    name, again = "extension", "continuity install"
    match found.standing:
        case "unreadable":
            return failed(name, f"{found.path}: {found.trouble}", "make it readable, or move it away")
        case "absent":
            return failed(name, f"not installed: there is no {found.path}", again)
        case "foreign":
            what = f"{found.in_the_way or found.path} is not ours, or was edited"
            return failed(name, f"{what}; it is never overwritten", f"move it away, then: {again}")
        case "current" | "outdated" if not found.leads_somewhere:
            return failed(name, f"{found.path} leads to {found.leads_to}, where the packages are not", again)
        case "current" | "outdated" if found.python is not None:
            return failed(name, f"{found.path} is for {found.python}, and Tau runs in another Python", again)
        case "current" | "outdated" if found.changed:
            return failed(name, f"files in {found.leads_to} are gone or changed since they were installed", again)
        case "outdated" if found.leads_to != found.packages:
            text = f"{found.path} leads to {found.leads_to}; this command installs {found.packages}"
            return warned(name, text, f"to have this one in Tau: {again}")
        case "outdated":
            return warned(name, f"{found.path} is of another version", again)
        case "current":
            return ok(name, str(found.path))


def of_loading(tau: Tau, shim: Shim) -> Iterator[Check]:
    """Whether Tau's own Python can load the packages; nothing is said if that was not tried."""
    if tau.loading is None or tau.python is None:
        return
    where, instead = f"Tau's Python {{}} it from {shim.leads_to}", ", ".join(tau.instead)
    if tau.loading:
        brought = f"; Tau brings {instead}" if instead else ""
        yield failed("loading", f"{where.format('cannot load')}: {tau.loading}{brought}", "continuity install")
    else:
        used = f"; of Tau's own: {instead}" if instead else ""
        yield ok("loading", f"{where.format('loads')}{used}")


def of_others(machine: Machine) -> Check:
    """Basic Memory's own extension, which would save and recall the same sessions."""
    if not machine.others:
        return ok("rivals", "no other extension brings Basic Memory to Tau")
    named = ", ".join(str(path) for path in machine.others)
    text = f"Basic Memory's own extension is there too: {named}; beside it ours stands down"
    return warned("rivals", text, "keep one of the two: move that away, or ours")


def of_settings(found: Configured | Fault) -> Check:
    """The settings file, as far as it can be judged by itself."""
    if isinstance(found, Fault):
        return failed("settings", found.what, "mend it; until then memory is off")
    where = str(found.path) if found.path is not None else "no file, so everything is at its default"
    if found.ignored:
        return warned("settings", f"{where}; passed over: {', '.join(found.ignored)}", "remove them, or mend the names")
    return ok("settings", where)


def of_project(found: Configured) -> Check:
    """Where the notes of work in this folder go, as far as settings say."""
    work = f"coding work on {found.repository}" if found.kind == "coding" else "general work"
    if found.project is None:
        text = f"none for {work} in {found.cwd}, so nothing is saved or recalled by itself"
        return warned("project", text, "continuity setup")
    return ok("project", f"{work} in {found.cwd} goes to {found.project}, folder {found.folder}")


def of_work(found: Configured) -> Iterator[Check]:
    """Checkouts that are approved and not there, or there and not approved; where all is as it was meant nothing is said."""
    if found.surroundings is not None:
        yield warned("work", found.surroundings, "continuity setup")
    if found.gone:
        text = f"no folder is where these say: {', '.join(found.gone)}"
        yield warned("roots", text, "mend `root` there if the checkout was moved, or remove the entry")


def of_command(found: Command) -> Check:
    """The memory server's program. It is not run for this."""
    name = "memory"
    match found.refused:
        case "not-found":
            return failed(name, f"`{found.configured}` is not found", "uv tool install basic-memory")
        case "relative":
            what = f"`{found.configured}` is a relative path, which would depend on the folder Tau is started in"
            return failed(name, what, "give `command` as a name or an absolute path")
        case "inside-checkout":
            what = f"`{found.configured}` is found only inside the folder you stand in, whence nothing is run"
            return failed(name, what, "install it elsewhere: uv tool install basic-memory")
        case None:
            if found.version is None:
                return ok(name, f"{found.path}, of a version that no package beside it tells")
            text = f"basic-memory {found.version}, {found.path}"
            if _minor(found.version) != _minor(BASIC_MEMORY_SEEN):
                return warned(name, text, f"it has been seen to work with {BASIC_MEMORY_SEEN}; --online asks this one")
            return ok(name, text)


def of_state(found: State) -> Check:
    """The folder of the journals."""
    name, elsewhere = "state", "name a folder on a local disk with CONTINUITY_HOME"
    if not found.keeps_journals:
        return failed(name, f"{found.path} is on {found.file_system}, where no journal is kept", elsewhere)
    if not found.is_folder:
        return failed(name, f"{found.nearest} is no folder", f"move it away, or {elsewhere}")
    if not found.writable:
        return failed(name, f"{found.nearest} cannot be written to", f"make it writable, or {elsewhere}")
    if found.open_to_others:
        text = f"{found.path} is open to others on this machine; the files in it are not"
        return warned(name, text, f"chmod 700 {quote(str(found.path))}")
    kind = f", on {found.file_system}" if found.file_system is not None else ""
    made = "" if found.nearest == found.path else ", made at the first start"
    return ok(name, f"{found.path}{made}{kind}")


def of_unsaved(found: Unsaved) -> Check:
    """Work that sessions keep and did not store yet. What a server may have got is another matter, and not told here."""
    name, unread = "unsaved", _unread(found.unreadable)
    if found.sessions:
        them, each = ("it", "it") if found.sessions == 1 else ("them", "each")
        stores = "its running session" if found.running == found.sessions else "`tau --session ID`"
        text = f"{_sessions(found)} work that is not stored yet{unread}"
        return warned(name, text, f"`continuity unproven` lists {them}; {stores} stores {each}")
    whose = "no session holds" if found.newest is None else f"none of the newest {found.newest} sessions holds"
    text = f"{whose} work that waits to be stored{unread}"
    return warned(name, text, "`continuity unproven` says which, and why") if unread else ok(name, text)


def _sessions(found: Unsaved) -> str:
    holds = "holds" if found.sessions == 1 else "hold"
    if found.newest is not None:
        return f"{found.sessions} of the newest {found.newest} sessions {holds}"
    return f"{found.sessions} {'session' if found.sessions == 1 else 'sessions'} {holds}"


def _unread(journals: int) -> str:
    if not journals:
        return ""
    return f"; {'1 journal' if journals == 1 else f'{journals} journals'} could not be read"


def of_tools(found: Listed) -> Check:
    """The kept list of tools, by which a start need not wait for the server."""
    name = "tools"
    match found.standing:
        case "kept":
            return ok(name, f"{found.tools} tools are listed for this server")
        case "none":
            return ok(name, "not listed yet: the first start waits for the list, within `discovery_seconds`")
        case "stale":
            text = "listed for another command, version or configuration"
            return warned(name, text, "continuity setup lists them now; so does Tau at its next start")
        case "damaged":
            return warned(name, f"the list in {found.folder} cannot be read", "continuity setup makes a new one")


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


def _minor(version: str) -> list[str]:
    return version.split(".")[:2]
