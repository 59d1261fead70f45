"""A real Tau session inside this process, so a test can watch one boundary at a time; failures of extensions show."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from types import ModuleType

import pytest
from tau_agent.session import SessionEntry
from tau_coding import (
    CodingSession,
    CodingSessionConfig,
    TauPaths,
    TauResourcePaths,
    jsonl_session_storage,
    load_provider_settings,
)
from tau_coding.extensions import ExtensionAPI, ExtensionRuntime
from tau_coding.provider_runtime import create_model_provider
from tau_coding.resources import ResourceDiagnostic
from tau_coding.session_manager import SessionManager

from tests.fakes.scripted_model import MODEL, PROVIDER
from tests.fakes.tau_home import TauHome

type Setup = Callable[[ExtensionAPI], None]


class LiveSession:
    """A session and what a person would do with it."""

    def __init__(self, session: CodingSession, file: Path, failures: list[str]) -> None:
        self.tau = session
        self.file = file
        self._failures = failures

    async def prompt(self, text: str) -> list[object]:
        """Run one prompt to its end; returns the events."""
        events: list[object] = [event async for event in self.tau.prompt(text)]
        self.assert_sound()
        return events

    async def entries(self) -> tuple[SessionEntry, ...]:
        return await self.tau.session_entries()

    def assert_sound(self) -> None:
        """Fail if an extension failed: Tau itself would not tell."""
        found = [d for d in self.tau.resource_diagnostics if d.kind == "extension" and not _came_second(d)]
        assert not found, found
        assert not self._failures, self._failures


def _came_second(told: ResourceDiagnostic) -> bool:
    """Tau keeps the first tool of a name, and ours may be it: that is no failure of the other extension's."""
    return told.name != "continuity" and "already registered by" in told.message


@contextmanager
def failing() -> Generator[list[str]]:
    """List what Tau takes down of extensions that fail, in whatever session: it forgets it with the next reload."""
    found: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        for name in ("_record_runtime_failure", "_record_bad_result", "record_ui_failure"):
            patch.setattr(ExtensionRuntime, name, _heard(found, getattr(ExtensionRuntime, name)))
        yield found


def _heard(found: list[str], stock: Callable[..., None]) -> Callable[..., None]:
    def record(runtime: object, *told: object) -> None:
        found.append(" ".join(str(each) for each in told))
        stock(runtime, *told)

    return record


@asynccontextmanager
async def live_session(
    home: TauHome,
    setup: Setup | None = None,
    *,
    provider: str = PROVIDER,
    model: str = MODEL,
    session_id: str | None = None,
    extensions: Sequence[Path] = (),
    trusted: bool = False,
) -> AsyncGenerator[LiveSession]:
    """Open a session with `setup` and `extensions` (as `-e` does), and the folder's own if it is `trusted`."""
    if setup is not None:
        home.write_extension("probe", _extension_source(setup))
    paths = TauPaths(home=home.home, agents_home=home.root / "agents")
    manager = SessionManager(paths)
    record = manager.get_session(session_id) if session_id is not None else None
    record = record or manager.prepare_session(cwd=home.cwd, model=model, provider_name=provider)
    settings = load_provider_settings(paths)
    durable = next((known for known in settings.providers if known.name == provider), None)
    session = await CodingSession.load(
        CodingSessionConfig(
            provider=create_model_provider(durable, model=model) if durable is not None else None,
            owns_initial_provider=True,
            provider_settings=settings if durable is not None else None,
            runtime_provider_config=durable,
            model=model,
            provider_name=provider,
            requested_provider=None if durable is not None else provider,
            requested_model=None if durable is not None else model,
            cwd=home.cwd,
            storage=jsonl_session_storage(record.path),
            session_id=record.id,
            session_manager=manager,
            index_on_first_persist=True,
            resource_paths=TauResourcePaths(root=paths.home, cwd=home.cwd, agents_root=paths.agents_home, paths=paths),
            extension_paths=tuple(extensions),
            project_extensions_enabled=trusted,
            trust_override="approve" if trusted else "decline",
        )
    )
    with failing() as failures:
        live = LiveSession(session, record.path, failures)
        try:
            live.assert_sound()
            await session.emit_pending_session_start()
            yield live
            live.assert_sound()
        finally:
            await session.aclose()
        assert not failures, failures


def _extension_source(setup: Setup) -> str:
    """Give Tau a file whose `setup` is the very object the test holds, also after a reload."""
    name = f"tests_probe_{id(setup):x}"
    holder = ModuleType(name)
    vars(holder)["setup"] = setup
    sys.modules[name] = holder
    return f"from {name} import setup\n"
