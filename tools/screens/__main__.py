"""`python -m tools.screens`: the README's pictures of `/bm-pending`, `/bm-status` and `/bm-journal`, anew.

A pending save, then the page once it is settled, then the journal that tells of both: SVG from Textual, PNG from
Chromium. Nothing but the three pictures is left.
"""

from __future__ import annotations

import argparse
import math
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import anyio
from tau_coding.tui.app import CommandOutputScreen

from continuity.state import State
from continuity.tau.resident import resident
from tests.fakes.tui import Person, on_screen
from tools.demo.script import FIFTH
from tools.screens.stage import SECONDS, Stage, entered, stage

DOCS = Path(__file__).parents[2] / "docs"
CHECKPOINTS = 3
"""So many are asked of the model until the last picture."""
SIZE = (88, 38)
"""Columns and lines of the terminal."""
VIEW = re.compile(r'viewBox="0 0 (\S+) (\S+)"')
ELSEWHERE = re.compile(r',\s*url\("https?://[^"]*"\) format\("\w+"\)')
"""Where Textual lets a viewer fetch a font from."""
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def main() -> int:
    """Make the pictures; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.screens", description=__doc__)
    parser.add_argument("--home", type=Path, default=Path("/home/ada"), help="a folder that is not there yet")
    root: Path = parser.parse_args().home
    browser = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if browser is None:
        print("There is no Chromium to draw with: apt-get install chromium", file=sys.stderr)
        return 2
    if root.exists():
        print(f"{root} is somebody's; --home names a folder that is not there yet", file=sys.stderr)
        return 2
    with stage(root) as played:
        entered(played.home)
        for name, svg in anyio.run(taken, played).items():
            (DOCS / f"{name}.svg").write_text(svg, encoding="utf-8")
            drawn(browser, DOCS / f"{name}.svg")
    return 0


async def taken(played: Stage) -> Mapping[str, str]:
    """Resume the session, look, go on, and look again; returns the pictures by name."""
    pictures: dict[str, str] = {}

    async def life(person: Person) -> None:
        await _come_about(lambda state: any(capture.status == "lost" for capture in state.captures))
        pictures["pending"] = await _of(person, "/bm-pending")
        await person.enter(FIFTH.prompt)
        await _come_about(lambda state: state.drained and len(played.model.requests_for("synthesis")) == CHECKPOINTS)
        pictures["status"] = await _of(person, "/bm-status")
        pictures["journal"] = await _of(person, "/bm-journal")

    with anyio.fail_after(SECONDS * 4):
        await on_screen(played.home, life, session_id=played.session_id, size=SIZE)
    return pictures


async def _come_about(true: Callable[[State], bool]) -> None:
    """Wait until `true` of the session's state."""
    with anyio.fail_after(SECONDS):
        while not any(session.state and true(session.state) for session in resident().sessions.values()):  # noqa: ASYNC110 - nothing tells of it
            await anyio.sleep(0.1)


async def _of(person: Person, command: str) -> str:
    """Open the page of a command and take its picture."""
    await person.enter(command)
    await person.sees(CommandOutputScreen)
    svg = ELSEWHERE.sub("", person.app.export_screenshot(title="Tau"))
    await person.press("escape")
    return svg


def drawn(browser: str, svg: Path) -> None:
    """Have the picture drawn as PNG beside it."""
    width, height = map(float, VIEW.findall(svg.read_text(encoding="utf-8"))[0])
    size = f"--window-size={math.ceil(width)},{math.ceil(height)}"
    options = ("--headless", "--no-sandbox", "--hide-scrollbars", size, f"--screenshot={svg.with_suffix('.png')}")
    subprocess.run([browser, *options, svg.as_uri()], check=True, capture_output=True, timeout=120)


if __name__ == "__main__":
    sys.exit(main())
