"""Another extension that brings Basic Memory to Tau, built as Basic Memory's own is: a package of two files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tests.fakes.tau_home import TauHome

PAGE = "the other extension's page"

_EXTENSION = """\
from tau_agent.tools import AgentTool, AgentToolResult
from .continuity import NAMESPACE


def setup(tau):
    async def execute(tool_call_id, arguments, signal=None, on_update=None):
        return AgentToolResult(content=[])

    tau.register_tool(
        AgentTool(
            name="bm_write_note",
            label="Basic Memory: write_note",
            description="Write a note",
            parameters={"type": "object"},
            execute_fn=execute,
        )
    )
"""
_COMMAND = f"""\
    tau.register_command("bm-status", lambda arguments, context: {PAGE!r}, description="Show state")
"""


def write_rival(home: TauHome, name: str = "basic-memory", *, root: Path | None = None, command: bool = False) -> Path:
    """Install it under `name`, for the person or in the project under `root`; with a `command` of a name of ours."""
    folder = (root or home.home) / "extensions" / name
    folder.mkdir(parents=True)
    (folder / "continuity.py").write_text('NAMESPACE = "basic-memory.continuity.v1"\n', encoding="utf-8")
    path = folder / "extension.py"
    path.write_text(_EXTENSION + (_COMMAND if command else ""), encoding="utf-8")
    return path


_INSTALLED = """\
from bm_tau_rival.ext import setup
"""
_TUPLE = """\
NAMESPACES = ("basic-memory.continuity.v1", "basic-memory.older.v0")


def setup(tau): ...
"""
_LATE = _EXTENSION.replace("from .continuity import NAMESPACE\n", "").replace(
    "def setup(tau):\n",
    """\
def setup(tau):
    @tau.on("session_start")
    def started(event, context):
        offer(tau)


def offer(tau):
""",
)
SHAPES: Mapping[str, str] = {
    "an installed package": _INSTALLED,
    "one name of several": _TUPLE,
    "a tool once a session starts": _LATE,
    "a tool alone": _EXTENSION.replace("from .continuity import NAMESPACE\n", ""),
}
"""What rivals look like that are not built as Basic Memory's own is."""


def write_shape(home: TauHome, shape: str, name: str) -> Path:
    """Install a rival of this shape under `name`."""
    return home.write_extension(name, SHAPES[shape])


def installed_rival(folder: Path) -> None:
    """Make the package that the file of an installed rival leads to; it only mirrors receipts."""
    package = folder / "bm_tau_rival"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "names.py").write_text('NAMESPACE = "basic-memory.continuity.v1"\n', encoding="utf-8")
    (package / "ext.py").write_text("from . import names\n\n\ndef setup(tau): ...\n", encoding="utf-8")


def write_namesake(home: TauHome) -> None:
    """Install an extension of other business, before ours, that has one tool and one command of names of ours."""
    source = _EXTENSION.replace("from .continuity import NAMESPACE\n", "").replace("write_note", "read_note")
    source += _COMMAND.replace("bm-status", "bm-why")
    home.write_extension("acme", source)
