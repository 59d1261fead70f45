"""A record becomes a row only if every column of it can be stored exactly."""

from typing import Any

import msgspec
import pytest

from journal import chain
from journal.errors import EventRejected
from journal.ids import BranchId
from journal.row import Record
from journal.seal import seal
from tests.facts import settled as fact
from tests.journal.kit import HEADER, MAIN, record, settled

GENESIS = chain.genesis(HEADER, MAIN)


def with_(**changes: Any) -> Record:
    return msgspec.structs.replace(record(fact()), **changes)


def test_rows_follow_the_place_they_are_sealed_at() -> None:
    rows = [row for row, _ in seal(BranchId(2), 7, GENESIS, settled(3))]
    assert [(row.branch, row.position) for row in rows] == [(2, 8), (2, 9), (2, 10)]


def test_each_digest_is_chained_to_the_one_before() -> None:
    together = [row.digest for row, _ in seal(MAIN, 0, GENESIS, settled(2))]
    (first,) = (row.digest for row, _ in seal(MAIN, 0, GENESIS, settled(1)))
    (second,) = (row.digest for row, _ in seal(MAIN, 1, bytes.fromhex(first), settled(2)[1:]))
    assert together == [first, second]


@pytest.mark.parametrize(
    "changes", [{"tip": None}, {"tip": "x" * 200}, {"cause": "0f" * 32}, {"at_ms": 0}, {"at_ms": 2**53 - 1}]
)
def test_the_last_value_of_each_column_is_accepted(changes: dict[str, Any]) -> None:
    assert len(list(seal(MAIN, 0, GENESIS, [with_(**changes)]))) == 1


@pytest.mark.parametrize(
    "changes",
    [
        {"tip": ""},
        {"tip": "x" * 201},
        {"tip": "\ud800"},
        {"cause": "0f" * 31},
        {"cause": "0F" * 32},
        {"cause": ""},
        {"at_ms": -1},
        {"at_ms": 2**53},
    ],
)
def test_the_first_value_beyond_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(EventRejected):
        list(seal(MAIN, 0, GENESIS, [with_(**changes)]))
