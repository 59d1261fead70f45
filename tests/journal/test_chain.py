"""The chain can be recomputed by anybody with sha256 and a JSON library, and binds everything but the rowid."""

import json
from hashlib import sha256
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from journal import chain
from tests.journal.kit import HEADER


def plain(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode()


@given(st.text(), st.one_of(st.none(), st.text()), st.integers(0, 2**53 - 1))
def test_canonical_json_is_what_the_standard_library_writes(text: str, other: str | None, number: int) -> None:
    assert chain.canonical([number, text, other]) == plain([number, text, other])


def test_every_control_character_is_spelled_as_the_standard_library_does() -> None:
    text = "".join(map(chr, range(0x300))) + "\u2028\u2029\ufeff\U0001f600"
    assert chain.canonical(text) == plain(text)


def test_a_link_is_the_published_formula() -> None:
    columns = (1, 5, 1_700_000_000_000, "Entry-1", "ab" * 32, "work-settled.v1")
    payload = '{"a":"ü"}'.encode()
    expected = sha256(b"p" * 32 + plain(list(columns)) + b"\n" + payload).digest()
    assert chain.link(b"p" * 32, columns, payload) == expected


def test_a_genesis_is_the_published_formula() -> None:
    members = ["tau-continuity journal", 1, "0" * 32, "session-1", "aa00", 2, 1, 3, "66" * 32]
    assert chain.genesis(HEADER, 2, 1, 3, b"f" * 32) == sha256(plain(members)).digest()


@pytest.mark.parametrize(
    "other",
    [
        {"format": 2},
        {"journal_id": "1" * 32},
        {"session_id": "session-2"},
        {"root": None},
    ],
)
def test_a_genesis_binds_every_field_of_the_header(other: dict[str, Any]) -> None:
    assert chain.genesis(msgspec.structs.replace(HEADER, **other), 1) != chain.genesis(HEADER, 1)


def test_a_genesis_binds_branch_parent_fork_and_what_was_forked() -> None:
    digest = b"f" * 32
    forks = [(2, 1, 3, digest), (3, 1, 3, digest), (3, 2, 3, digest), (3, 2, 4, digest), (3, 2, 4, b"g" * 32)]
    assert len({chain.genesis(HEADER, *fork) for fork in forks}) == len(forks)


def test_a_body_is_named_by_the_sha256_of_its_utf8() -> None:
    assert chain.body_digest("ü") == sha256("ü".encode()).hexdigest()
