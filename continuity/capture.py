"""Identity of what we write, its address, and the receipts others can read; it decides nothing about a write.

The digests are plain Python `json.dumps` forms shared with Basic Memory's own Tau extension: either recovers the
other's captures, so not one byte of them may change.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Literal, cast

import msgspec

from journal.events.capture import CaptureKind
from journal.events.writes import NoteAddress
from journal.ids import BranchId, CaptureId, EntryId, JournalId, SessionId, Sha256

RECEIPT_NAMESPACE = "basic-memory.continuity.v1"
"""Under this name receipts stand in Tau's session file, ours and those of Basic Memory's extension."""

type ReceiptStatus = Literal["pending", "confirmed"]

_TITLES: dict[CaptureKind, str] = {"checkpoint": "tau-checkpoint", "transcript": "tau-transcript", "note": "tau-note"}
_LONGEST = 1024
_LONGEST_ID = 200
_HEX = frozenset("0123456789abcdef")


class PublicMessage(msgspec.Struct, frozen=True):
    """One persisted message a person could read: their own words, or an answer the assistant finished.

    Beside them, as material for a synthesis alone, stands an answer that was `cut`: it moves no tip and is no message
    of its own.
    """

    entry_id: EntryId
    role: Literal["user", "assistant"]
    text: str
    at_ms: int
    cut: bool = False
    """The answer ends where the model failed, ran out of tokens or was stopped."""


class Anchor(msgspec.Struct, frozen=True):
    """Where in which journal a receipt was recorded; a journal cut before it is found out."""

    journal_id: JournalId
    branch: BranchId
    position: int
    digest: Sha256


class Receipt(msgspec.Struct, frozen=True):
    """What a session's custom entry says became of one capture."""

    project: str
    capture_id: CaptureId
    kind: str
    """Opaque here: another tool may know kinds we do not."""
    status: ReceiptStatus
    source_tip: EntryId
    content_digest: Sha256
    file_path: str | None
    anchor: Anchor | None = None


def digest(value: object) -> Sha256:
    """Return the sha256 of `value` as `json.dumps(value, sort_keys=True, ensure_ascii=False)`.

    A lone surrogate, which UTF-8 cannot carry, is encoded as it is rather than refused.

    Raises:
        TypeError: `value` is not JSON; nothing was computed.
    """
    text = json.dumps(value, sort_keys=True, ensure_ascii=False)
    return Sha256(hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest())


def content_digest(text: str) -> Sha256:
    """Return the digest of a note's body. Space around it does not count: the server adds a line break."""
    return digest(text.strip())


def capture_id(project: str, session_id: SessionId, kind: CaptureKind, tip: EntryId) -> CaptureId:
    """Return the identity of the capture of `kind` at `tip`: the same for everybody who captures the same."""
    return CaptureId(digest([project, session_id, kind, tip]))


def address(identity: CaptureId, folder: str, kind: CaptureKind) -> NoteAddress:
    """Return where the note of this capture is asked to be, the same for every attempt.

    An older attempt that may still land then meets the newer one at one address, where the server refuses the second
    and identity tells whose it is. The title is lower case, without spaces: servers that rename to such a form and
    file systems that ignore case leave it alone.
    """
    return NoteAddress(folder=folder.strip("/"), title=f"{_TITLES[kind]}-{identity[:20]}")


def receipt(
    *,
    project: str,
    identity: CaptureId,
    kind: CaptureKind,
    status: ReceiptStatus,
    source_tip: EntryId,
    content_sha256: Sha256,
    file_path: str | None,
    anchor: Anchor | None = None,
) -> dict[str, str | int | None]:
    """Return the data of Tau's custom entry under `RECEIPT_NAMESPACE`; the anchor's keys are ours alone."""
    data: dict[str, str | int | None] = {
        "project": project,
        "capture_id": identity,
        "kind": kind,
        "status": status,
        "source_tip": source_tip,
        "content_digest": content_sha256,
        "file_path": file_path,
    }
    if anchor is not None:
        data |= {
            "journal_id": anchor.journal_id,
            "branch": anchor.branch,
            "position": anchor.position,
            "digest": anchor.digest,
        }
    return data


def parse_receipts(entries: Iterable[object]) -> tuple[tuple[Receipt, ...], int]:
    """Return the receipts among `entries` (the data of custom entries in our namespace) and how many were none.

    Never raises: one entry that cannot be read costs itself. A confirmed receipt without a path proves nothing and
    counts as unreadable.
    """
    parsed = tuple(_receipt(entry) for entry in entries)
    found = tuple(one for one in parsed if one is not None)
    return found, len(parsed) - len(found)


def _receipt(entry: object) -> Receipt | None:
    if not isinstance(entry, Mapping):
        return None
    data = cast("Mapping[object, object]", entry)
    identity, content = data.get("capture_id"), data.get("content_digest")
    project, kind = _text(data.get("project")), _text(data.get("kind"))
    tip = _text(data.get("source_tip"), _LONGEST_ID)
    status, path = data.get("status"), _text(data.get("file_path"))
    if project is None or kind is None or tip is None or not _is_digest(identity) or not _is_digest(content):
        return None
    if status == "pending":
        known: ReceiptStatus = "pending"
    elif status == "confirmed" and path is not None:
        known = "confirmed"
    else:
        return None
    return Receipt(
        project=project,
        capture_id=CaptureId(str(identity)),
        kind=kind,
        status=known,
        source_tip=EntryId(tip),
        content_digest=Sha256(str(content)),
        file_path=path,
        anchor=_anchor(data),
    )


def _anchor(data: Mapping[object, object]) -> Anchor | None:
    """An anchor that cannot be read is no anchor; the receipt stands without it."""
    journal, branch, position, link = (data.get(key) for key in ("journal_id", "branch", "position", "digest"))
    name = _text(journal)
    if name is None or not _is_digest(link) or not _is_count(branch) or not _is_count(position):
        return None
    return Anchor(
        journal_id=JournalId(name),
        branch=BranchId(int(str(branch))),
        position=int(str(position)),
        digest=Sha256(str(link)),
    )


def _text(value: object, longest: int = _LONGEST) -> str | None:
    return value if isinstance(value, str) and 0 < len(value) <= longest else None


def _is_digest(value: object) -> bool:
    return isinstance(value, str) and len(value) == 64 and _HEX.issuperset(value)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value < 2**53
