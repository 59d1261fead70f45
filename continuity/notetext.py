"""A note of a person's own words, or one message of a transcript, as it is kept before it is sent. It writes nowhere."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping

import msgspec

from continuity.capture import content_digest, digest
from continuity.privacy import cut_point, mask_words
from continuity.privacy.quoting import one_line, printable
from journal.ids import CaptureId, EntryId, SessionId, Sha256

TITLE_CHARS = 80
"""Characters of a title as it is shown, at most."""

LONGEST_CHARS = 1_000_000
"""Characters of a note's text; of a longer one the rest is left out, and it says so."""

_SLUG_CHARS = 60
_IDENTITY_CHARS = 12
_VALUE_CHARS = 1000
_MOST_KEYS = 40
_KEY = re.compile(r"[a-z][a-z0-9_]{0,59}")
_NOT_IN_A_SLUG = re.compile(r"[^a-z0-9]+")
_FRONTMATTER = re.compile(r"---[ \t]*\n.*?\n---[ \t]*(?:\n+|\Z)", re.DOTALL)
_THE_SERVERS = frozenset({"title", "type", "permalink"})
"""Keys of a note's frontmatter that the server writes from the rest of the call."""


class NoteText(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All that is sent of a note but its identity: masked and whole, as it is kept in bodies."""

    folder: str
    title: str
    """Final: what the file is called."""
    note_type: str
    frontmatter: str = ""
    """Goes before the body as it is; only a note that others find by its title has one."""
    body: str
    metadata: Mapping[str, str] = {}

    @property
    def content(self) -> str:
        """What the server is given to write."""
        return self.frontmatter + self.body

    @property
    def content_sha256(self) -> Sha256:
        """The digest that a reader of the note compares with its body, which comes without the frontmatter."""
        return content_digest(self.body)


class Worded(msgspec.Struct, frozen=True):
    """Words as they were given and masked, not named yet: what a note's identity is computed from."""

    folder: str
    title: str
    note_type: str
    text: str
    metadata: Mapping[str, str]
    maskings: int

    def tip_after(self, let_go: int) -> EntryId:
        """Stands where a capture of the conversation has its tip: the same words are the same note, once a session.

        But for as many notes of them as are known not to be stored, and were `let_go` of.
        """
        words = [self.folder, self.title, self.text, *([let_go] if let_go else [])]
        return EntryId(f"note-{digest(words)[:32]}")


def worded(
    folder: str, title: str, note_type: str, text: str, metadata: Mapping[str, str], *, candidates: bool = False
) -> Worded:
    """Return somebody's words masked, in every field, without control characters and then bounded.

    Without a title it is the first line of the masked text: a credential that is cut in two is not recognised any more.
    With `candidates` what may be a credential is masked too, as in a checkpoint that a person asks for.
    """
    count = 0

    def clean(value: str) -> str:
        nonlocal count
        masked = mask_words(value, candidates=candidates)
        count += masked.count
        return masked.text

    whole = bounded(printable(clean(text)).lstrip("\ufeff").strip())
    told = ((key, one_line(clean(value), _VALUE_CHARS)) for key, value in list(metadata.items())[:_MOST_KEYS])
    return Worded(
        folder=folder.strip("/"),
        title=one_line(clean(title) or _first_line(whole), TITLE_CHARS),
        note_type=note_type,
        text=whole,
        metadata={key: value for key, value in told if value and _KEY.fullmatch(key) and key not in _THE_SERVERS},
        maskings=count,
    )


def _first_line(text: str) -> str:
    return next((line for line in text.split("\n") if line.strip("# ")), "").strip().lstrip("# ")


def bounded(text: str) -> str:
    """Return `text`, or its beginning and how long it was."""
    if len(text) <= LONGEST_CHARS:
        return text
    return f"{text[: cut_point(text, 0, LONGEST_CHARS)]}\n\n[cut: {len(text)} characters in all]"


def named(words: Worded, identity: CaptureId) -> NoteText:
    """Return the note of `words`: its title is a name of ours, and the words' own title the heading of its body.

    Text that begins with frontmatter would choose the note's type; behind a heading it is text.
    """
    heading = f"# {words.title or 'Note'}\n\n"
    body = words.text if words.text.startswith("# ") else heading + words.text
    return NoteText(
        folder=words.folder,
        title=safe_title(words.title, identity),
        note_type=words.note_type,
        body=body.rstrip() + "\n",
        metadata=words.metadata,
    )


def titled(words: Worded) -> NoteText:
    """Return the note of `words` under exactly their title, with their frontmatter: a text of ours that others look for."""
    found = _FRONTMATTER.match(words.text)
    return NoteText(
        folder=words.folder,
        title=words.title,
        note_type=words.note_type,
        frontmatter=found[0] if found else "",
        body=words.text[found.end() if found else 0 :].strip() + "\n",
        metadata=words.metadata,
    )


def safe_title(title: str, identity: CaptureId) -> str:
    """Return a readable name that is one file on every file system and with every setting of the server.

    Lower case, letters without marks, digits and hyphens; bounded; never empty, reserved or a path; and its own, for
    it ends with the beginning of the capture's identity.
    """
    plain = unicodedata.normalize("NFKD", title).lower()
    slug = _NOT_IN_A_SLUG.sub("-", "".join(each for each in plain if not unicodedata.combining(each))).strip("-")
    return f"{slug[:_SLUG_CHARS].rstrip('-') or 'note'}-{identity[:_IDENTITY_CHARS]}"


def kept_form(note: NoteText) -> str:
    """Return the text that is kept in bodies; `from_kept_form` reads it back."""
    return msgspec.json.encode(note, order="deterministic").decode()


def from_kept_form(text: str) -> NoteText | None:
    """Return the note kept as `text`, or None if it is none."""
    try:
        return msgspec.json.decode(text, type=NoteText)
    except msgspec.MsgspecError:
        return None


def metadata_of(
    note: NoteText, *, project: str, capture_id: CaptureId, session_id: SessionId, source_tip: EntryId
) -> dict[str, str]:
    """Return the frontmatter of `note`. What we say of its identity stands, whatever else it was given."""
    ours = {
        "project": project,
        "agent": "tau",
        "capture_id": capture_id,
        "session_id": session_id,
        "source_tip": source_tip,
        "content_digest": note.content_sha256,
    }
    return {**note.metadata, **ours}
