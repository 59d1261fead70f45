"""What every test stands on: a home that is nobody's, one kind of event loop, and the fast before the slow.

Groups run in the order of `GROUPS`. Branch coverage is counted over the first two alone: that a real server
happened to pass through a pure function says little about that function.
"""

import os
import shutil
import signal
import tempfile
from collections import Counter, defaultdict
from collections.abc import Generator
from pathlib import Path

import hypothesis
import pytest

GROUPS = ("pure", "store", "edges", "simulation", "real")
LONGEST = ("test_canary_places.py", "test_kill_points.py", "test_killcourt.py", "test_random_walk.py")
"""They begin their group: a worker that came to one of them last would play it alone while the others have ended."""
COUNTED = ("pure", "store")
EDGES = frozenset({"memory", "shell", "tau", "cli", "tools"})
TESTS = Path(__file__).parent

_OPENS_FILES = ("disk", "folders", "integrity", "interchange", "lock", "reader", "schema", "store", "tampering")
"""Words in the names of test modules under `journal` that work on files."""

hypothesis.settings.register_profile("repeatable", derandomize=True, deadline=None, database=None)
hypothesis.settings.load_profile("repeatable")

_FOREIGN = ("BASIC_MEMORY_", "CONTINUITY_", "GIT_", "PYTEST_ADDOPTS", "TAU_", "XDG_")
_TERMINAL = ("CLICOLOR", "COLUMNS", "FORCE_COLOR", "LINES", "NO_COLOR", "PYTHONHOME", "PYTHONPATH", "VIRTUAL_ENV")


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Tau runs on asyncio, so we do."""
    return "asyncio"


@pytest.fixture(scope="session", autouse=True)
def local_disk(tmp_path_factory: pytest.TempPathFactory) -> Generator[None]:
    """Journals of tests lie on a local disk, whatever this machine's temporary folder lies on."""
    from journal import filesystem  # not before coverage began

    table = tmp_path_factory.mktemp("mounts") / "mountinfo"
    table.write_text("1 0 8:1 / / rw - ext4 /dev/sda1 rw\n")
    before, filesystem.TABLE = filesystem.TABLE, table
    yield
    filesystem.TABLE = before


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Leave nothing of the person who runs the tests in reach of them: home, settings, keys, git identity."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in a shell's background; what we start would inherit it
        signal.signal(signal.SIGINT, signal.default_int_handler)
    home = tempfile.mkdtemp(prefix="continuity-home-")
    config.add_cleanup(lambda: shutil.rmtree(home, ignore_errors=True))
    for name in list(os.environ):
        if name.startswith((*_FOREIGN, *_TERMINAL)) or name.endswith(("_API_KEY", "_TOKEN")):
            del os.environ[name]
    os.environ |= {
        "HOME": home,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "Ada",
        "GIT_AUTHOR_EMAIL": "ada@example.org",
        "GIT_COMMITTER_NAME": "Ada",
        "GIT_COMMITTER_EMAIL": "ada@example.org",
    }
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # `nohup` has it ignored, and so would every program the tests start
    config.pluginmanager.register(_Groups(config.rootpath), "continuity-groups")


class _Groups:
    """Orders the tests by group and says at the end what each group took."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._tests: Counter[str] = Counter()

    @pytest.hookimpl(wrapper=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> Generator[None]:
        for item in items:
            group = _group(item)
            if group == "real":
                item.add_marker("real")
            if group not in COUNTED:
                item.add_marker("no_cover")
        yield  # `-m real` chooses here, so the marks come before it and the order after it
        items.sort(key=lambda item: (GROUPS.index(_group(item)), item.path.name not in LONGEST))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        path = self._root / report.nodeid.partition("::")[0]  # a worker's report comes without its item
        group = group_of(path, real="real" in report.keywords)
        self._seconds[group] += report.duration
        self._tests[group] += report.when == "call"

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.section("time per group")
        for group in GROUPS:
            if self._tests[group]:
                terminalreporter.line(f"{group:<12}{self._tests[group]:6} tests{self._seconds[group]:8.1f} s")


def _group(item: pytest.Item) -> str:
    return group_of(item.path, real=item.get_closest_marker("real") is not None)


def group_of(path: Path, *, real: bool = False) -> str:
    """Return the group of the test file at `path`."""
    parts = path.relative_to(TESTS).with_suffix("").parts
    if real or "real" in parts:
        return "real"
    if "simulation" in parts:
        return "simulation"
    if EDGES.intersection(parts):
        return "edges"
    return "store" if parts[0] == "journal" and _opens_files(parts) else "pure"


def _opens_files(parts: tuple[str, ...]) -> bool:
    return any(word in part for part in parts for word in _OPENS_FILES)
