"""Puts one brief into the first model call of a prompt on stock Tau; never queues two, and costs no model turn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from tau_agent.events import MessageStartEvent
from tau_agent.messages import AgentMessage, CustomMessage
from tau_coding.extensions import ExtensionContext, ExtensionError, SessionStartEvent

from continuity.tau.entries import BRIEF_TYPE, Json
from continuity.tau.host import HostGone, Message, Tau
from continuity.tau.host.hearing import hear

type Placed = Literal["queued", "replaces"]


@dataclass(slots=True)
class Outstanding:
    """The token of the brief that Tau's queue holds, by session.

    Tau keeps its queue across a reload while the extension is made anew, so
    whoever lives as long as the process keeps this.
    """

    tokens: dict[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class _Brief:
    text: str
    details: Mapping[str, Json]


class Insertion:
    """Decides when a brief may be put in and follows it until the conversation has it.

    Tau takes steering messages right after the prompt's `message_end`, one per
    model call. An interrupted run can leave ours in the queue, where we can
    neither see nor remove it: then nothing is queued, and the left-over one
    gets the new text at the moment Tau delivers it.
    """

    def __init__(self, tau: Tau, outstanding: Outstanding, new_token: Callable[[], str]) -> None:
        self._tau = tau
        self._outstanding = outstanding
        self._new_token = new_token
        self._armed = False
        self._retrying = False
        self._replacement: _Brief | None = None
        hear(tau, "session_start", self._session_started)
        hear(tau, "auto_retry_start", self._retry_announced)
        hear(tau, "agent_start", self._run_started)
        hear(tau, "message_start", self._message_started)
        hear(tau, "agent_settled", self._work_settled)

    def takes(self, message: Message) -> bool:
        """Tell, once per run, that `message` is its prompt; call it in every `message_ended`.

        The prompt is the first message of a run that a person or another
        extension sent; an automatic retry of the same run has none.
        """
        if not self._armed or message.key.role not in {"user", "custom"} or message.custom_type == BRIEF_TYPE:
            return False
        self._armed = False
        return True

    def put(self, text: str, details: Mapping[str, Json], context: ExtensionContext) -> Placed:
        """Put `text` into the first model call of the prompt that `takes` just named.

        Raises:
            HostGone: This generation was replaced; nothing was queued.
        """
        session = context.session_id or ""
        if session in self._outstanding.tokens:
            self._replacement = _Brief(text, details)
            return "replaces"
        token = self._new_token()
        try:
            self._tau.send_custom_message(
                text,
                custom_type=BRIEF_TYPE,
                details={**details, "token": token},
                deliver_as="steer",
                trigger_turn=False,
            )
        except ExtensionError as error:
            raise HostGone from error
        self._outstanding.tokens[session] = token
        return "queued"

    def _session_started(self, event: object, context: ExtensionContext) -> None:
        # The queue is Tau's agent's: empty after a start, new session or resume; kept over a reload.
        if isinstance(event, SessionStartEvent) and event.reason not in {"reload", "branch"}:
            self._outstanding.tokens.pop(context.session_id or "", None)

    def _retry_announced(self, event: object, context: ExtensionContext) -> None:
        del event, context
        self._retrying = True

    def _run_started(self, event: object, context: ExtensionContext) -> None:
        del event, context
        self._armed, self._retrying = not self._retrying, False

    def _work_settled(self, event: object, context: ExtensionContext) -> None:
        del event, context
        self._armed = self._retrying = False

    def _message_started(self, event: object, context: ExtensionContext) -> None:
        if not isinstance(event, MessageStartEvent):
            return
        session = context.session_id or ""
        ours = _ours(event.message, self._outstanding.tokens.get(session))
        if ours is None:
            return
        if self._replacement is not None:
            # The same object goes to the model and to the file.
            ours.content = self._replacement.text
            ours.details = {**self._replacement.details, "token": self._outstanding.tokens[session]}
            self._replacement = None
        del self._outstanding.tokens[session]


def _ours(message: AgentMessage, token: str | None) -> CustomMessage | None:
    if token is None or not isinstance(message, CustomMessage) or not isinstance(message.details, dict):
        return None
    return message if message.custom_type == BRIEF_TYPE and message.details.get("token") == token else None
