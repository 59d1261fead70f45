"""One tool-free question to the session's model over a connection of our own; it leaves no trace in the session."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, Protocol, cast

import anyio
import anyio.to_thread
from tau_agent.messages import AgentMessage, AssistantMessage, UserMessage
from tau_agent.provider import ModelProvider
from tau_agent.provider_events import AssistantDoneEvent, AssistantErrorEvent, AssistantMessageEvent
from tau_coding import (
    CredentialStoreError,
    FileCredentialStore,
    ProviderConfigError,
    ProviderSettings,
    TauPaths,
    TauResourcePaths,
    credentials_path,
    load_provider_settings,
    provider_thinking_levels,
)
from tau_coding.extensions import (
    DynamicProvider,
    DynamicProviderError,
    ExtensionError,
    ExtensionRuntime,
    ProviderAuthError,
)
from tau_coding.provider_config import ProviderConfig
from tau_coding.provider_runtime import create_dynamic_model_provider, create_model_provider
from tau_coding.session import is_context_overflow_error

from continuity.shell.ports import ModelFailed
from continuity.tau.host import Context, extension_sources

type Unavailable = Literal[
    "timeout",
    "no-route",
    "no-key",
    "bad-model",
    "unauthorized",
    "rate-limited",
    "server-error",
    "provider-error",
    "too-long",
    "aborted",
    "cut",
    "asked-for-a-tool",
    "empty",
]

_REFRESH_SECONDS = 5.0
_CLOSE_SECONDS = 2.0
_STATUS = re.compile(r"\bstatus (\d{3})\b")
_looking_up: ContextVar[bool] = ContextVar("continuity_provider_lookup", default=False)


class ModelUnavailable(ModelFailed):
    """No usable answer; the session and its history are untouched. Carries a code, never a provider's words."""

    def __init__(self, code: Unavailable) -> None:
        super().__init__(code)


@dataclass(frozen=True, slots=True)
class ModelSnapshot:
    """Which model a session used at a boundary; outlives the context it was taken from."""

    provider: str
    model: str
    thinking_level: str | None
    inference_provider: str | None
    paths: TauPaths
    cwd: Path

    def using(self, provider: str, model: str) -> ModelSnapshot:
        """Return the same session with another model, at that model's default thinking."""
        return replace(self, provider=provider, model=model, thinking_level=None, inference_provider=None)


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """A complete answer. On stock Tau a stream that was cut off looks complete too: the text must prove its end."""

    text: str
    tokens_in: int
    tokens_out: int
    model: str


class _Summarizing(Protocol):
    """The proposed interface of level A, in no release of Tau yet."""

    async def summarize(self, messages: Sequence[AgentMessage], *, instructions: str, timeout: float) -> str: ...


class _Closable(ModelProvider, Protocol):
    async def aclose(self) -> None: ...


def snapshot(context: Context) -> ModelSnapshot:
    """Note which model the session uses now."""
    return ModelSnapshot(
        provider=context.provider_name,
        model=context.model,
        thinking_level=context.thinking_level,
        inference_provider=context.inference_provider,
        paths=context.paths,
        cwd=context.cwd,
    )


def is_lookup() -> bool:
    """Tell whether Tau's extensions are being set up only so that we can read a provider; `setup` returns at once then."""
    return _looking_up.get()


class ModelCall:
    """Asks models on behalf of one process; remembers what other extensions' providers looked like."""

    def __init__(self) -> None:
        self._dynamic: dict[tuple[str, str], DynamicProvider] = {}

    def forget(self) -> None:
        """Look providers of other extensions up again; due after a reload."""
        self._dynamic.clear()

    async def summarize(
        self, of: ModelSnapshot, text: str, *, instructions: str, timeout_seconds: float
    ) -> ModelAnswer:
        """Send `instructions` and `text` to the model and return its whole answer.

        No tools, no history, no retry of ours. Opens and closes its own
        provider.

        Raises:
            ModelUnavailable: No usable answer within the bound, and why.
        """
        try:
            with anyio.fail_after(timeout_seconds):
                async with self._provider(of) as provider:
                    return _accepted(await _last_message(provider, of.model, text, instructions))
        except TimeoutError as error:
            raise ModelUnavailable("timeout") from error

    @asynccontextmanager
    async def _provider(self, of: ModelSnapshot) -> AsyncGenerator[_Closable]:
        provider = await self._open(of)
        try:
            yield provider
        finally:
            with anyio.move_on_after(_CLOSE_SECONDS, shield=True):
                await provider.aclose()

    async def _open(self, of: ModelSnapshot) -> _Closable:
        try:
            settings = await anyio.to_thread.run_sync(load_provider_settings, of.paths)
            durable = next((known for known in settings.providers if known.name == of.provider), None)
            store = FileCredentialStore(credentials_path(of.paths))
            if durable is not None:
                return _durable(durable, of, store)
            definition = await self._definition(of, settings, store)
            return await create_dynamic_model_provider(definition, model=of.model, credential_store=store)
        except ProviderConfigError as error:
            raise ModelUnavailable("bad-model") from error
        except (ProviderAuthError, CredentialStoreError) as error:
            raise ModelUnavailable("no-key") from error
        except (DynamicProviderError, OSError, ValueError) as error:
            raise ModelUnavailable("no-route") from error
        except RuntimeError as error:
            # Tau's word for a missing key.
            raise ModelUnavailable("no-key") from error

    async def _definition(
        self, of: ModelSnapshot, settings: ProviderSettings, store: FileCredentialStore
    ) -> DynamicProvider:
        key = (of.provider, of.model)
        if key not in self._dynamic:
            self._dynamic[key] = await _looked_up(of, settings, store)
        return self._dynamic[key]


async def summarize_by_host(context: Context, text: str, *, instructions: str, timeout_seconds: float) -> ModelAnswer:
    """Let the host ask its own model: the one way to a provider object that an embedder handed in. Level A only.

    Raises:
        ModelUnavailable: No usable answer, or the context is no longer the session's.
    """
    messages = [UserMessage(content=text)]
    try:
        model = context.model  # now: by the time the answer is there, the context may have been replaced
        with anyio.fail_after(timeout_seconds):
            answer = await cast("_Summarizing", context).summarize(
                messages, instructions=instructions, timeout=timeout_seconds
            )
    except TimeoutError as error:
        raise ModelUnavailable("timeout") from error
    except (ExtensionError, RuntimeError, ValueError, OSError) as error:
        raise ModelUnavailable("provider-error") from error
    if not answer.strip():
        raise ModelUnavailable("empty")
    return ModelAnswer(answer, 0, 0, model)


def _durable(config: ProviderConfig, of: ModelSnapshot, store: FileCredentialStore) -> _Closable:
    levels = provider_thinking_levels(config, model=of.model)
    return create_model_provider(
        config,
        credential_store=store,
        model=of.model,
        thinking_level=next((level for level in levels if level == of.thinking_level), None),
        inference_provider=of.inference_provider if config.name == "huggingface" else None,
    )


async def _looked_up(of: ModelSnapshot, settings: ProviderSettings, store: FileCredentialStore) -> DynamicProvider:
    """Read another extension's provider by loading the same extensions into a runtime that is thrown away.

    It runs every extension's `setup` once more; ours returns at once.
    """
    token = _looking_up.set(True)
    runtime = ExtensionRuntime(paths=of.paths, durable_providers=settings.providers, credentials=store)
    try:
        runtime.load(
            TauResourcePaths(root=of.paths.home, cwd=of.cwd, agents_root=of.paths.agents_home, paths=of.paths),
            extra_paths=extension_sources(),
            include_resource_dirs=False,
        )
        return await _from_runtime(runtime, of)
    finally:
        _looking_up.reset(token)
        with anyio.move_on_after(_CLOSE_SECONDS, shield=True):
            await runtime.aclose()


async def _from_runtime(runtime: ExtensionRuntime, of: ModelSnapshot) -> DynamicProvider:
    effective = runtime.provider_registry.effective(of.provider)
    if effective is None or not isinstance(effective.definition, DynamicProvider):
        raise ModelUnavailable("no-route")
    definition = effective.definition
    known = any(model.id == of.model for model in definition.models)
    if known or definition.refresh_models is None:
        return definition
    refreshed = await runtime.provider_registry.refresh(of.provider, timeout_seconds=_REFRESH_SECONDS)
    return refreshed.provider or definition


async def _last_message(provider: _Closable, model: str, text: str, instructions: str) -> AssistantMessage:
    """Read the stream to its end.

    Raises:
        ModelUnavailable: It reported an error, or ended without a message.
    """
    final: AssistantMessage | None = None
    stream = provider.stream_response(model=model, system=instructions, messages=[UserMessage(content=text)], tools=[])
    try:
        async for event in stream:
            final = _final(event) or final
    except (OSError, ValueError, RuntimeError) as error:
        raise ModelUnavailable("provider-error") from error
    finally:
        await _close_stream(stream)
    if final is None:
        raise ModelUnavailable("aborted")
    return final


def _final(event: AssistantMessageEvent) -> AssistantMessage | None:
    if isinstance(event, AssistantErrorEvent):
        raise ModelUnavailable(_code(event))
    return event.message if isinstance(event, AssistantDoneEvent) else None


async def _close_stream(stream: AsyncIterator[AssistantMessageEvent]) -> None:
    close = getattr(stream, "aclose", None)
    if close is not None:
        with anyio.move_on_after(_CLOSE_SECONDS, shield=True):
            await close()


def _code(event: AssistantErrorEvent) -> Unavailable:
    """Reduce a provider's error to our word for it; its text stays here."""
    if event.reason == "aborted":
        return "aborted"
    if is_context_overflow_error(event.error):
        return "too-long"
    status = _STATUS.search(event.error.error_message or "")
    match int(status.group(1)) if status else 0:
        case 401 | 403:
            return "unauthorized"
        case 429:
            return "rate-limited"
        case number if number >= 500:
            return "server-error"
        case _:
            return "provider-error"


def _accepted(message: AssistantMessage) -> ModelAnswer:
    if message.stop_reason == "length":
        raise ModelUnavailable("cut")
    if message.stop_reason == "toolUse" or message.tool_calls:
        raise ModelUnavailable("asked-for-a-tool")
    if not message.text.strip():
        raise ModelUnavailable("empty")
    usage = message.usage
    return ModelAnswer(message.text, usage.input, usage.output, message.response_model or message.model)
