"""The one door to Tau: turns its objects into ours and our requests into its calls. It decides nothing."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Container, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, Protocol, cast

from tau_agent.events import MessageEndEvent
from tau_agent.messages import AgentMessage, AssistantMessage, CustomMessage, message_text
from tau_agent.session import SessionEntry
from tau_coding import SessionManager
from tau_coding.events import CompactionEndEvent, CompactionStartEvent
from tau_coding.extensions import (
    ExtensionAPI,
    ExtensionCommandContext,
    ExtensionContext,
    ExtensionError,
    InputEvent,
    SessionShutdownEvent,
    SessionStartEvent,
)
from tau_coding.version import current_version

from continuity.capture import RECEIPT_NAMESPACE
from continuity.privacy.quoting import printable
from continuity.tau.entries import BRIEF_TYPE, EntryDamaged, Json, MessageKey, Parsed, parse_entry
from continuity.tau.host.hearing import hear
from journal.events.lifecycle import Level
from journal.ids import EntryId

type Tau = ExtensionAPI
"""What Tau hands to `setup`; stale after a reload, a new session or a resume."""

type Context = ExtensionContext
"""The session as seen at one boundary; never kept past it."""

type Reason = Literal["startup", "reload", "new", "resume", "branch", "quit"]
type NoticeLevel = Literal["info", "warning", "error"]

HOST_NAME = "tau"
_found: dict[tuple[Path, str], Path] = {}
"""Session files found so far; finding one may read every index Tau has."""


class HostGone(Exception):
    """Tau has replaced this generation of the extension (reload, new, resume); nothing was done."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message of the conversation as an event showed it."""

    key: MessageKey
    custom_type: str | None = None
    details: Json = None
    stop_reason: str | None = None


class Boundaries(Protocol):
    """What we act on. Tau awaits each call, in order; none of them can veto anything."""

    async def session_started(self, reason: Reason, context: Context) -> None: ...

    async def session_ending(self, reason: Reason, context: Context) -> None: ...

    async def input_given(self, text: str, context: Context, *, mid_run: bool) -> None: ...

    async def run_started(self, context: Context) -> None: ...

    async def retry_announced(self, context: Context) -> None: ...

    async def message_ended(self, message: Message, context: Context) -> None:
        """The message is on disk now."""
        ...

    async def run_ended(self, context: Context) -> None:
        """Not called when the person interrupted the run."""
        ...

    async def work_settled(self, context: Context) -> None: ...

    async def compaction_started(self, reason: str, context: Context) -> None: ...

    async def compaction_ended(self, reason: str, context: Context, *, aborted: bool) -> None: ...

    def failed(self, boundary: str, error: Exception) -> None:
        """A handler of ours raised. Tau would hide it; this must make it visible, and not raise."""
        ...


type _Handler = Callable[[object, ExtensionContext], Awaitable[None]]


def subscribe(tau: Tau, ours: Boundaries) -> None:
    """Hand Tau's events to `ours` until this generation of the extension is replaced."""
    handlers: dict[str, _Handler] = {
        "agent_start": lambda _, context: ours.run_started(context),
        "auto_retry_start": lambda _, context: ours.retry_announced(context),
        "agent_end": lambda _, context: ours.run_ended(context),
        "agent_settled": lambda _, context: ours.work_settled(context),
        **_session_handlers(ours),
        **_content_handlers(ours),
    }
    for name, handler in handlers.items():
        hear(tau, name, _guarded(name, handler, ours))


def when_started(tau: Tau, run: Callable[[], None]) -> None:
    """Call `run` whenever a session starts."""

    def started(event: object, context: ExtensionContext) -> None:
        del event, context
        run()

    hear(tau, "session_start", started)


def when_quit(tau: Tau, run: Callable[[], Awaitable[None]]) -> None:
    """Call `run` when the host quits, and wait for it."""

    async def ending(event: object, context: ExtensionContext) -> None:
        del context
        if isinstance(event, SessionShutdownEvent) and event.reason == "quit":
            await run()

    hear(tau, "session_shutdown", ending)


def _session_handlers(ours: Boundaries) -> dict[str, _Handler]:
    async def started(event: object, context: ExtensionContext) -> None:
        if isinstance(event, SessionStartEvent):
            await ours.session_started(event.reason, context)

    async def ending(event: object, context: ExtensionContext) -> None:
        if isinstance(event, SessionShutdownEvent):
            await ours.session_ending(event.reason, context)

    async def compaction_started(event: object, context: ExtensionContext) -> None:
        if isinstance(event, CompactionStartEvent):
            await ours.compaction_started(event.reason, context)

    async def compaction_ended(event: object, context: ExtensionContext) -> None:
        if isinstance(event, CompactionEndEvent):
            await ours.compaction_ended(event.reason, context, aborted=event.aborted)

    return {
        "session_start": started,
        "session_shutdown": ending,
        "compaction_start": compaction_started,
        "compaction_end": compaction_ended,
    }


def _content_handlers(ours: Boundaries) -> dict[str, _Handler]:
    async def given(event: object, context: ExtensionContext) -> None:
        if isinstance(event, InputEvent):
            await ours.input_given(event.text, context, mid_run=event.streaming_behavior is not None)

    async def message_ended(event: object, context: ExtensionContext) -> None:
        if isinstance(event, MessageEndEvent):
            await ours.message_ended(message_of(event.message), context)

    return {"input": given, "message_end": message_ended}


def _guarded(name: str, handler: _Handler, ours: Boundaries) -> Callable[[object, ExtensionContext], Awaitable[None]]:
    async def guarded(event: object, context: ExtensionContext) -> None:
        try:
            await handler(event, context)
        except Exception as error:  # noqa: BLE001 - Tau records it where nobody looks
            ours.failed(name, error)

    return guarded


def message_of(message: AgentMessage) -> Message:
    """Return Tau's message in our form."""
    custom = message if isinstance(message, CustomMessage) else None
    return Message(
        MessageKey(message.role, message_text(message), message.timestamp),
        custom_type=custom.custom_type if custom else None,
        details=custom.details if custom else None,
        stop_reason=message.stop_reason if isinstance(message, AssistantMessage) else None,
    )


def host_version() -> str:
    """Return the version of the installed Tau."""
    return current_version()


class Powers(NamedTuple):
    """What a host can do beyond stock Tau, each found for itself: an interface may come in parts."""

    tells_path: bool
    appends: bool
    summarizes: bool


def powers(context: Context, tau: Tau) -> Powers:
    """Return what this host offers; that it announces compactions and branches shows only when it does."""
    return Powers(
        tells_path=hasattr(type(context), "branch_entries"),
        appends=hasattr(type(tau), "append_message"),
        summarizes=hasattr(type(context), "summarize"),
    )


def level(context: Context, tau: Tau) -> Level:
    """Tell how much this host and session let us know; at B a session without a file yet counts as B until it runs.

    Without the path, or without a way to put a brief in at rest, a host is taken for a stock one.
    """
    if context.session_id is None:
        return "C"
    found = powers(context, tau)
    if found.tells_path and found.appends:
        return "A"
    return "C" if context.is_running and session_file_path(context) is None else "B"


def session_file_path(context: Context) -> Path | None:
    """Return where Tau keeps this session, or None while (or because) it keeps no file we can find."""
    session_id = context.session_id
    if session_id is None:
        return None
    key = (context.paths.sessions_dir, session_id)
    path = _found.get(key)
    if path is None:
        path = context.paths.project_session_dir(context.cwd) / f"{session_id}.jsonl"
        if not path.exists():
            # Reads every index: only for a session that was started in another folder.
            record = SessionManager(context.paths).get_session(session_id)
            path = record.path if record is not None else path
    if not path.exists():
        return None
    _found[key] = path
    return path


class _Announcing(Protocol):
    """The proposed interface of level A, in no release of Tau yet."""

    @property
    def branch_entries(self) -> Sequence[SessionEntry]: ...

    async def append_message(self, content: str, *, custom_type: str, details: dict[str, Json] | None) -> None: ...


class Told:
    """The active path as an announcing host told it at one boundary. It is in our form once somebody takes it."""

    def __init__(self, entries: Sequence[SessionEntry]) -> None:
        self.ids = tuple(EntryId(entry.id) for entry in entries)
        """From the root to the tip."""
        self._entries = entries

    def take(self, known: Container[EntryId]) -> list[Parsed]:
        """Return in our form what is not `known`, once. Of a long path that is a thread's work."""
        entries, self._entries = self._entries, ()
        found: list[Parsed] = []
        for entry in entries:
            if EntryId(entry.id) not in known:
                with suppress(EntryDamaged):
                    found.append(parse_entry(entry.model_dump(mode="json", by_alias=True, exclude_none=True)))
        return found


def told_path(context: Context) -> Told:
    """Return the active path as the host tells it. Level A only.

    Raises:
        HostGone: This generation was replaced.
    """
    try:
        return Told(cast("_Announcing", context).branch_entries)
    except ExtensionError as error:
        raise HostGone from error


def told_now(tau: Tau, session_id: str) -> Told | None:
    """Return the active path of `session_id` by now; None where `tau` was replaced or is another's. Level A only."""
    context = context_of(tau, session_id)
    try:
        return told_path(context) if context is not None else None
    except HostGone:
        return None


def context_of(tau: Tau, session_id: str) -> Context | None:
    """Return the context of `tau`, outside of any event; None when it was replaced or is another session's."""
    try:
        context = tau.context
        there = context.session_id == session_id
    except ExtensionError:
        return None
    return context if there else None


async def append_brief(tau: Tau, text: str, details: Mapping[str, Json]) -> bool:
    """Put `text` into the conversation while idle, without a model turn; False when the host could not. Level A only.

    Raises:
        HostGone: This generation was replaced; nothing was put in.
    """
    try:
        await cast("_Announcing", tau).append_message(text, custom_type=BRIEF_TYPE, details=dict(details))
    except ExtensionError as error:
        raise HostGone from error
    except (RuntimeError, OSError):
        return False  # a run has begun, or the session cannot be written
    return True


async def append_receipt(tau: Tau, data: Mapping[str, Json]) -> None:
    """Mirror a receipt into the session as a custom entry at the host's tip.

    On stock Tau only inside a prompt's `message_ended`: from an idle task it
    would move where the session resumes. Costs a read of the whole session
    file, on the loop.

    Raises:
        HostGone: This generation was replaced; nothing was written.
        OSError: Tau could not write; the entry may or may not be there.
    """
    try:
        await tau.append_entry(RECEIPT_NAMESPACE, dict(data))
    except ExtensionError as error:
        raise HostGone from error


def notify(to: Tau | Context, text: str, severity: NoticeLevel = "info") -> bool:
    """Show a notice (on stderr where there is no screen); False when this generation was replaced meanwhile.

    Paths and names in it may come from whoever can write to the project: nothing of them acts on the terminal.
    """
    try:
        (to if isinstance(to, ExtensionAPI) else to.ui).notify(printable(text), severity)
    except ExtensionError:
        return False
    return True


def is_alive(tau: Tau) -> bool:
    """Tell whether this generation still speaks for a session; False once it was replaced."""
    try:
        return bool(tau.context)
    except ExtensionError:
        return False


def has_screen(tau: Tau) -> bool:
    """Tell whether a person sees Tau's own screen; False in print and RPC mode, and when this generation was replaced."""
    try:
        return tau.context.has_ui
    except ExtensionError:
        return False


def register_command(tau: Tau, name: str, run: Callable[[str], str | None], *, description: str, usage: str) -> None:
    """Register a slash command; what `run` returns for its arguments is shown, None shows nothing.

    Tau calls commands synchronously, and never in RPC mode.
    """

    def handler(arguments: str, command: ExtensionCommandContext) -> str | None:
        del command
        told = run(arguments)
        return None if told is None else printable(told)

    tau.register_command(name, handler, description=description, usage=usage)


def extension_sources() -> list[Path]:
    """Return the sources of the extensions in this process, in loading order.

    Tau never forgets a module it loaded. Of two with one name only the newer
    counts: Tau itself would keep the first it is given, and that is an
    earlier generation's, or another project's.
    """
    sources: dict[str, Path] = {}
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if name.startswith("tau_extension_") and "." not in name and isinstance(file, str):
            folders = cast("list[str]", list(getattr(module, "__path__", ())))
            source = Path(folders[0] if folders else file)
            sources.pop(source.stem, None)
            sources[source.stem] = source
    return [source for source in sources.values() if source.exists()]
