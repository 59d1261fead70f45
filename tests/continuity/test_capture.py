"""Captures are named so that Basic Memory's own Tau extension and ours recognise each other's, byte for byte."""

import hashlib
import json
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from continuity.capture import (
    Anchor,
    Receipt,
    address,
    capture_id,
    content_digest,
    digest,
    parse_receipts,
    receipt,
)
from journal.events.capture import CaptureKind
from journal.ids import BranchId, CaptureId, EntryId, JournalId, SessionId, Sha256

IDENTITY = CaptureId("0123456789abcdef" * 4)
CONTENT = Sha256("ab" * 32)
ANCHOR = Anchor(JournalId("1f" * 16), BranchId(2), 7, Sha256("cd" * 32))


def written(path: str | None = "tau/x/y.md", anchor: Anchor | None = None) -> dict[str, str | int | None]:
    return receipt(
        project="main",
        identity=IDENTITY,
        kind="checkpoint",
        status="confirmed",
        source_tip=EntryId("e1"),
        content_sha256=CONTENT,
        file_path=path,
        anchor=anchor,
    )


def test_a_digest_is_the_sha256_of_plain_json_dumps() -> None:
    value = {"b": ["ä", 1, None], "a": "x"}
    text = '{"a": "x", "b": ["ä", 1, null]}'
    assert json.dumps(value, sort_keys=True, ensure_ascii=False) == text
    assert digest(value) == hashlib.sha256(text.encode()).hexdigest()


def test_an_identity_never_changes() -> None:
    identity = capture_id("main", SessionId("s-1"), "checkpoint", EntryId("e-9"))
    assert identity == hashlib.sha256(b'["main", "s-1", "checkpoint", "e-9"]').hexdigest()


def test_a_line_break_the_server_adds_does_not_change_the_content_digest() -> None:
    assert content_digest("\n# A\nb\n") == content_digest("# A\nb") == digest("# A\nb")


def test_a_lone_surrogate_has_a_digest() -> None:
    assert digest("\ud800") != digest("\ud801")


@pytest.mark.parametrize("kind", get_args(CaptureKind.__value__))
def test_an_address_is_safe_on_every_file_system(kind: CaptureKind) -> None:
    found = address(IDENTITY, "tau/work/", kind)
    assert found.file_path == f"tau/work/tau-{kind}-0123456789abcdef0123.md"
    assert found.title == found.title.lower()
    assert len(found.title) < 60


@given(st.text(alphabet="0123456789abcdef", min_size=64, max_size=64))
def test_an_address_follows_from_identity_and_folder_alone(identity: str) -> None:
    assert address(CaptureId(identity), "a/b", "checkpoint") == address(CaptureId(identity), "/a/b", "checkpoint")


def test_a_receipt_holds_the_seven_shared_keys() -> None:
    assert list(written()) == [
        "project",
        "capture_id",
        "kind",
        "status",
        "source_tip",
        "content_digest",
        "file_path",
    ]


@pytest.mark.parametrize("anchor", [None, ANCHOR])
def test_a_receipt_reads_back(anchor: Anchor | None) -> None:
    told = Receipt("main", IDENTITY, "checkpoint", "confirmed", EntryId("e1"), CONTENT, "tau/x/y.md", anchor)
    assert parse_receipts([written(anchor=anchor)]) == ((told,), 0)


def test_a_pending_receipt_needs_no_path() -> None:
    (found,), skipped = parse_receipts([written(None) | {"status": "pending"}])
    assert (found.status, found.file_path, skipped) == ("pending", None, 0)


@pytest.mark.parametrize(
    "entry",
    [
        None,
        "text",
        ["a", "list"],
        {"v": 2},
        written(None),
        written() | {"status": "abandoned"},
        written() | {"source_tip": "e" * 201},
        written() | {"status": ["confirmed"]},
        written() | {"project": ""},
        written() | {"kind": 1},
        written() | {"source_tip": None},
        written() | {"capture_id": "ABC"},
        written() | {"capture_id": "G" * 64},
        written() | {"content_digest": None},
        written() | {"file_path": "x" * 1025},
        {7: "not text"},
    ],
)
def test_an_entry_that_is_no_receipt_costs_only_itself(entry: object) -> None:
    found, skipped = parse_receipts([entry, written()])
    assert (len(found), skipped) == (1, 1)


@pytest.mark.parametrize(
    "change", [{"branch": "2"}, {"branch": True}, {"position": 0}, {"digest": "no"}, {"journal_id": None}]
)
def test_a_receipt_stands_without_an_anchor_that_cannot_be_read(change: dict[str, str | int | None]) -> None:
    (found,), skipped = parse_receipts([written(anchor=ANCHOR) | change])
    assert (found.anchor, skipped) == (None, 0)


def test_keys_of_others_are_ignored() -> None:
    assert parse_receipts([written() | {"extra": 1}])[1] == 0
