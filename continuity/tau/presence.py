"""What a person sees of us in Tau without having asked: notices, each said once. It never speaks to the model."""

from __future__ import annotations

from collections.abc import Iterator

from continuity import notices
from continuity.due import transcript_stopped
from continuity.notices import Notice, Notices
from continuity.shell.ports import NoticeLevel
from continuity.shell.session import Session
from continuity.state import State
from continuity.tau.host import Tau, has_screen, is_alive, notify
from continuity.tau.host.terminal import say_after_exit, say_while_leaving
from continuity.tau.pages import SCREEN_WIDTH, fitted


class Presence:
    """Speaks through whichever generation of the extension is alive; lives as long as the process."""

    def __init__(self) -> None:
        self._taus: list[Tau] = []
        self._notices = Notices()
        self._answers: list[tuple[str, NoticeLevel]] = []
        """What a person asked for and nobody could show."""
        self._leaving = False
        """The screen is being taken away: what is said from here on is read after it."""

    def use(self, tau: Tau) -> None:
        """Speak through `tau` from now on, and say what could not be said before.

        When it is gone, whoever was there before it and still is speaks again:
        a session's child may come and go.
        """
        self._taus = [tau, *(each for each in self._taus if each is not tau and is_alive(each))]
        self._leaving = False
        answers, self._answers = self._answers, []
        for text, level in answers:
            self.answer(text, level)
        self._tell(notices.start(self._notices), self._notices)

    def turn(self) -> None:
        """A prompt was given: what waited for it is said."""
        self._tell(notices.turn(self._notices), self._notices)

    def say(self, topic: str, text: str, level: NoticeLevel = "info") -> None:
        """Show `text`, or have it wait if this turn had its notice; nothing if it is what is known on `topic` already."""
        notice = Notice(topic, text, level)
        self._tell(notices.say(self._notices, notice), notices.waits(self._notices, notice))

    def at_once(self, topic: str, text: str, level: NoticeLevel = "info") -> None:
        """Show now, and once, what cannot wait: what is about to happen, or what came of a person's own command."""
        notice = Notice(topic, text, level)
        self._tell(notices.at_once(self._notices, notice), notices.waits(self._notices, notice))

    def answer(self, text: str, level: NoticeLevel = "info") -> None:
        """Show what a person asked for, each time, and keep nothing of it once it is shown."""
        if not self._shown(text, level):
            self._answers.append((text, level))

    def page(self, text: str | None) -> str | None:
        """Return what a command shows, its lines folded to the host's box where there is a screen."""
        return text and fitted(text, SCREEN_WIDTH if self.has_screen else None)

    @property
    def unsaid(self) -> tuple[str, ...]:
        """What waits to be said."""
        return tuple(one.text for one in self._notices.waiting)

    def said(self, topic: str) -> str | None:
        """Return what was said last on `topic`, or waits to be."""
        return self._notices.newest(topic)

    def ending(self) -> None:
        """The host quits: where there is a screen nobody reads it any more, and all that is still said is kept for after."""
        self._leaving = self.has_screen

    def waits(self, seconds: float) -> None:
        """Say that the end of the host waits for a save of ours, and what that is bounded by."""
        text = (
            f"Continuity is saving the newest work, for at most {seconds:g} seconds. "
            "Ctrl-C leaves now; what is not saved by then is kept."
        )
        if self._leaving:
            say_while_leaving(text)
        else:
            self._shown(text, "info")

    def end(self) -> None:
        """Say all that waits: nothing is said later."""
        if self._leaving:
            answers, self._answers = self._answers, []
            say_after_exit([*(text for text, _ in answers), *self.unsaid])
            self._notices, _ = notices.flush(self._notices)
        else:
            self._tell(notices.start(self._notices), self._notices)

    def _tell(self, said: notices.Said, otherwise: Notices) -> None:
        """Show what is to be shown now; where nobody can, `otherwise` is true."""
        after, joined = said
        between = "\n" if self.has_screen else " "
        shown = not joined or self._shown(between.join(one.text for one in joined), notices.worst(joined))
        self._notices = after if shown else otherwise

    def _shown(self, text: str, level: NoticeLevel) -> bool:
        while self._taus and not self._leaving:
            if notify(self._taus[0], text, level):
                return True
            del self._taus[0]
        return False

    @property
    def has_screen(self) -> bool:
        """Whether a person sits before the host; where none does, a command is all there is, and the process ends after it."""
        return any(map(has_screen, self._taus))


def failure(what: str, error: Exception) -> str:
    """Return what a person is told of a failure of ours that nobody foresaw, and what helps."""
    kind = type(error).__name__
    return f"Continuity: {what} failed ({kind}). What is on record stays; /reload begins anew, /bm-status says what is true."


def unsaved(session: Session) -> str | None:
    """Return what a person who quits is told of what is not known to be stored, and what stores it; None if all is."""
    if not session.unsaved:
        return None
    state, resumed = session.state, f"tau --session {session.desk.session_id}"
    stopped = transcript_stopped(state) if state is not None else 0
    said = [*_unsent(session, state, resumed, stopped=stopped > 0), *_doubted(state, resumed)]
    if stopped:
        what = f"the transcript of this session stopped: {stopped} notes are not settled"
        said.append(f"{what}. `continuity unproven` lists them, `continuity resolve` settles them")
    return f"Continuity: {'; '.join(said)}" if said else None


def about_unsaved(session: Session) -> str:
    """Return the topic of it: a model that gave no summary and the work that is not saved for it are one matter."""
    return "synthesis" if _unmade(session.state) else f"unsaved:{session.desk.session_id}"


def _unmade(state: State | None) -> bool:
    return state is not None and any(capture.status == "begun" and capture.failures for capture in state.captures)


def _unsent(session: Session, state: State | None, resumed: str, *, stopped: bool) -> Iterator[str]:
    """What was certainly not sent: it is saved once somebody is there to do it."""
    if state is not None and not _owes(session, state, stopped=stopped):
        return
    what = "the newest work of this session"
    if session.pausing.paused:
        yield f"{what} from before it went off the record is not saved yet. It is saved after {resumed} and /bm-resume"
    elif _unmade(state):
        yield f"{what} is kept here and not saved: the model gave no summary. {resumed} tries again"
    else:
        yield f"{what} is kept here and not saved yet. It is saved when the session is resumed: {resumed}"


def _owes(session: Session, state: State, *, stopped: bool) -> bool:
    """Whether anything waits to be sent, besides the messages that a stopped transcript waits with."""
    gathered = session.desk.settings.capture_knowledge and state.gathered.tip is not None
    made = any(capture.status in ("begun", "ready") for capture in state.captures)
    return gathered or made or (state.behind and not stopped)


def _doubted(state: State | None, resumed: str) -> Iterator[str]:
    """What was sent and is not known to be stored: only reading tells, and nothing is sent again."""
    captures = state.captures if state is not None else ()
    doubted = [capture for capture in captures if capture.status in ("intended", "in_doubt")]
    if doubted:
        references = ", ".join(f"`continuity probe {capture.capture_id[:10]}`" for capture in doubted)
        sent = "a save was sent and is" if len(doubted) == 1 else f"{len(doubted)} saves were sent and are"
        yield f"{sent} not known to be stored. Reading tells, and {resumed} does it by itself: {references}"
