"""A model on loopback that answers what a script says, speaks OpenAI's chat protocol and remembers every request."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Literal, Self, cast

type Json = bool | int | float | str | list[Json] | dict[str, Json] | None
type Body = Mapping[str, Json]
type Purpose = Literal["agent", "name", "compaction", "synthesis"]
type Answer = Callable[[Body], "str | Reply"]

PROVIDER = "scripted"
MODEL = "scripted"
KEY_ENV = "SCRIPTED_KEY"
_HOLD_SECONDS = 120.0
_MARKS: tuple[tuple[str, Purpose], ...] = (
    ("END-OF-HANDOFF", "synthesis"),
    ("session names", "name"),
    ("context summarization assistant", "compaction"),
)
_HANDOFF = """\
## Objective
Finish what the conversation is about.

## Decisions
- None recorded.

## Verified work
- None claimed.

## Unfinished work
- All of it.

## Next action
Continue with the newest request.

END-OF-HANDOFF
"""


@dataclass(frozen=True)
class Reply:
    """An answer with its faults."""

    text: str = ""
    status: int = 200
    """Anything else sends `text` as the error's message."""
    cut_after: int | None = None
    """Drop the connection after this many characters, without a finish."""
    finish: str = "stop"
    delay_seconds: float = 0.0
    tool: tuple[str, Mapping[str, Json]] | None = None
    """Ask for this tool call instead of stopping."""
    also: tuple[tuple[str, Mapping[str, Json]], ...] = ()
    """And for these, at once."""
    reasoning: str = ""
    """What the model thinks before it speaks."""
    tokens: tuple[int, int] = (10, 5)


@dataclass(frozen=True)
class Request:
    """One request as it arrived."""

    at_ns: int
    purpose: Purpose
    body: Body
    authorization: str | None

    @property
    def system(self) -> str:
        return "\n".join(text for role, text in self.messages if role in {"system", "developer"})

    @property
    def messages(self) -> tuple[tuple[str, str], ...]:
        """(role, text) of each message."""
        return messages_of(self.body)


def messages_of(body: Body) -> tuple[tuple[str, str], ...]:
    """Return (role, text) of each message of a request body."""
    raw = body.get("messages")
    found = [m for m in raw if isinstance(m, dict)] if isinstance(raw, list) else []
    return tuple((str(message.get("role")), _text(message.get("content"))) for message in found)


def purpose_of(body: Body) -> Purpose:
    """Tell what a request is for by its system prompt."""
    system = " ".join(text for role, text in messages_of(body) if role in {"system", "developer"})
    found: list[Purpose] = [purpose for mark, purpose in _MARKS if mark in system]
    return found[0] if found else "agent"


def default_answer(body: Body) -> str:
    """Answer each purpose with the shortest thing that its asker accepts."""
    match purpose_of(body):
        case "synthesis":
            return _HANDOFF
        case "name":
            return "Scripted session"
        case "compaction":
            return "## Goal\nA summary from the script."
        case "agent":
            said = messages_of(body)
            return f"Answer to: {said[-1][1][:60] if said else ''}"


class ScriptedModel:
    """The server; use as a context manager, or `close()` it."""

    def __init__(self, answer: Answer = default_answer) -> None:
        self.answer: Answer = answer
        """May be replaced at any time."""
        self._requests: list[Request] = []
        self._lock = threading.Lock()
        self._arrived = threading.Condition(self._lock)
        self._gates: dict[Purpose, threading.Event] = {}
        self._server = _Server(self)
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    @property
    def requests(self) -> tuple[Request, ...]:
        with self._lock:
            return tuple(self._requests)

    def requests_for(self, purpose: Purpose) -> tuple[Request, ...]:
        return tuple(request for request in self.requests if request.purpose == purpose)

    def wait_for(self, purpose: Purpose, count: int = 1, *, timeout_seconds: float = 30.0) -> tuple[Request, ...]:
        """Wait until `count` requests of `purpose` have arrived."""
        deadline = time.monotonic() + timeout_seconds
        with self._arrived:
            while sum(request.purpose == purpose for request in self._requests) < count:
                if not self._arrived.wait(deadline - time.monotonic()):
                    seen = [request.purpose for request in self._requests]
                    raise TimeoutError(f"{count} {purpose} requests did not arrive; seen: {seen}")
        return self.requests_for(purpose)

    @contextmanager
    def holding(self, purpose: Purpose) -> Generator[None]:
        """Let requests of `purpose` arrive but wait for their answer until the block ends."""
        gate = threading.Event()
        self._gates[purpose] = gate
        try:
            yield
        finally:
            del self._gates[purpose]
            gate.set()

    def close(self) -> None:
        for gate in list(self._gates.values()):
            gate.set()
        self._server.shutdown()
        self._server.server_close()

    def reply_to(self, body: Body, authorization: str | None) -> Reply:
        """Record the request and return what to send; may wait."""
        purpose = purpose_of(body)
        with self._arrived:
            self._requests.append(Request(time.time_ns(), purpose, body, authorization))
            self._arrived.notify_all()
        gate = self._gates.get(purpose)
        if gate is not None:
            gate.wait(_HOLD_SECONDS)
        said = self.answer(body)
        reply = Reply(said) if isinstance(said, str) else said
        time.sleep(reply.delay_seconds)
        return reply


def provider_files(url: str, home: Path, *, context_window: int = 128_000) -> None:
    """Make the model at `url` the default of the Tau home `home`; its key is read from `KEY_ENV`."""
    home.mkdir(parents=True, exist_ok=True)
    (home / "catalog.toml").write_text(
        f"""\
schema_version = 1

[[providers]]
name = "{PROVIDER}"
display_name = "Scripted"
kind = "openai-compatible"
base_url = "{url}"
api = "openai-completions"
api_key_env = "{KEY_ENV}"
default_model = "{MODEL}"
models = ["{MODEL}"]
docs_url = "https://example.invalid"

[providers.context_windows]
{MODEL} = {context_window}
""",
        encoding="utf-8",
    )
    chosen = {
        "default_provider": PROVIDER,
        "provider_preferences": {PROVIDER: {"default_model": MODEL, "max_retries": 0}},
    }
    (home / "providers.json").write_text(json.dumps(chosen), encoding="utf-8")


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 32

    def __init__(self, model: ScriptedModel) -> None:
        self.model = model
        super().__init__(("127.0.0.1", 0), _Handler)

    def handle_error(self, request: object, client_address: object) -> None:
        """Keep quiet: a client that leaves is part of many tests."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Keep stderr for what tests say."""

    def do_GET(self) -> None:
        self._send_json(200, {"object": "list", "data": [{"id": MODEL, "object": "model"}]})

    def do_POST(self) -> None:
        body = cast("Body", json.loads(self.rfile.read(int(self.headers.get("content-length", "0")))))
        reply = cast("_Server", self.server).model.reply_to(body, self.headers.get("authorization"))
        if reply.status != 200:
            self._send_json(reply.status, {"error": {"message": reply.text or f"scripted {reply.status}"}})
            return
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        for event in _events(reply):
            self.wfile.write(f"data: {event}\n\n".encode())
            self.wfile.flush()

    def _send_json(self, status: int, value: Json) -> None:
        raw = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)


def _events(reply: Reply) -> Iterator[str]:
    if reply.reasoning:
        yield _chunk({"role": "assistant", "reasoning_content": reply.reasoning})
    if reply.cut_after is not None:
        yield _chunk({"role": "assistant", "content": reply.text[: reply.cut_after]})
        return
    middle = max(1, len(reply.text) // 2)
    yield _chunk({"role": "assistant", "content": reply.text[:middle]})
    yield _chunk({"content": reply.text[middle:]})
    finish = reply.finish
    if reply.tool is not None:
        for index, (name, arguments) in enumerate((reply.tool, *reply.also)):
            call: Json = {"name": name, "arguments": json.dumps(dict(arguments))}
            number = f"call-{name}-{index}" if index else f"call-{name}"
            yield _chunk({"tool_calls": [{"index": index, "id": number, "type": "function", "function": call}]})
        finish = "tool_calls"
    given, made = reply.tokens
    usage: Json = {"prompt_tokens": given, "completion_tokens": made, "total_tokens": given + made}
    yield _chunk({}, finish=finish, usage=usage)
    yield "[DONE]"


def _chunk(delta: Json, *, finish: str | None = None, usage: Json = None) -> str:
    choice: Json = {"index": 0, "delta": delta, "finish_reason": finish}
    chunk: dict[str, Json] = {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": MODEL}
    return json.dumps({**chunk, "choices": [choice], **({} if usage is None else {"usage": usage})})


def _text(content: Json) -> str:
    if isinstance(content, str):
        return content
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    return "".join(str(block.get("text", "")) for block in blocks)
