"""`make demo`: plays the steps, shows what they left, and ends with 0 only if every one of them was proven."""

from __future__ import annotations

import contextlib
import sys
import tempfile
import traceback
from collections.abc import Sequence
from pathlib import Path

from tools.demo.narrator import Narrator, NotProven
from tools.demo.play import Play
from tools.demo.steps import STEPS, Step


def main(steps: Sequence[Step] = STEPS) -> int:
    """Play in a new folder under the system's temporary one, and leave it."""
    root = Path(tempfile.mkdtemp(prefix="continuity-demo-")).resolve()
    narrator = Narrator(len(steps))
    narrator.says(f"everything happens in {root}")
    try:
        with Play(root, narrator) as play:
            perform(play, steps)
            show(play)
    except NotProven as error:
        narrator.failed(str(error), error.where)
        return 1
    except Exception as error:  # noqa: BLE001 - a step may fail in any way, and the person is told where to look
        (root / "failure.txt").write_text(traceback.format_exc(), encoding="utf-8")
        narrator.failed(f"{type(error).__name__}: {error}", root / "failure.txt")
        return 1
    narrator.ends(f"All {len(steps)} steps were proven in {narrator.seconds:.0f} s. Everything is left in {root}")
    return 0


def perform(play: Play, steps: Sequence[Step] = STEPS) -> None:
    """Play every step, in order."""
    for title, step in steps:
        with play.narrator.step(title):
            step(play)


def show(play: Play) -> None:
    """Print the journal as its readers see it, the note that was in doubt, and the brief the model got last."""
    journal = str(play.journal)
    session = ("--session", str(play.session_file))
    play.narrator.shows("continuity log SESSION.journal -n 25", play.cli("log", journal, "-n", "25"))
    play.narrator.shows("continuity state SESSION.journal", play.cli("state", journal))
    play.narrator.shows("continuity audit SESSION.journal --session TAUFILE", play.cli("audit", journal, *session))
    path, text = play.note(play.doubted)
    play.narrator.shows(f"the note that was in doubt: {path.name}", text)
    play.narrator.shows("the brief in the fresh session's first model call", play.brief)


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        sys.exit(main())
    sys.exit(130)
