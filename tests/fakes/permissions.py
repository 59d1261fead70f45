"""Makes file permissions bind for a while, also for root, who is above them: the tests run as root in containers."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Generator
from contextlib import contextmanager

import pytest

_VERSION = 0x20080522
_ABOVE_PERMISSIONS = 1 << 1 | 1 << 2
"""CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH. Of the six words that capget(2) fills the first says what is in force."""


@contextmanager
def permissions_bind() -> Generator[None]:
    """Let this thread be refused what the mode of a file refuses its owner; skip where that cannot be had."""
    if os.geteuid() != 0:
        yield
        return
    try:
        library = ctypes.CDLL(None, use_errno=True)
        header, sets = (ctypes.c_uint32 * 2)(_VERSION, 0), (ctypes.c_uint32 * 6)()
        failed = library.capget(header, sets)
    except (OSError, AttributeError):
        pytest.skip("root is above permissions, and cannot come down here")
    before = sets[0]
    sets[0] = before & ~_ABOVE_PERMISSIONS
    if failed or library.capset(header, sets):
        pytest.skip("root is above permissions, and may not come down here")
    try:
        yield
    finally:
        sets[0] = before
        library.capset(header, sets)
