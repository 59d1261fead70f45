"""Time is UTC milliseconds, and in tests it stands still."""

from pathlib import Path

from continuity.shell.clock import Clock, SystemClock
from tests.fakes.clock import START_MS, FakeClock


def test_the_systems_clock_tells_milliseconds_since_the_epoch(tmp_path: Path) -> None:
    file = tmp_path / "now"
    file.touch()
    assert abs(SystemClock().now_ms() - file.stat().st_mtime * 1000) < 5000


def test_a_fake_clock_goes_on_only_when_told() -> None:
    fake = FakeClock()
    clock: Clock = fake
    assert (clock.now_ms(), fake.advance(5), clock.now_ms()) == (START_MS, START_MS + 5, START_MS + 5)
