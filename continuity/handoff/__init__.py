"""The handoff: what a model is asked for, what of its answer is taken, and how it becomes a note. It asks no model."""

from continuity.handoff.answer import HEADINGS, Handoff, HandoffRefused, accept_handoff, from_kept, kept_text, sections
from continuity.handoff.note import note_body, note_metadata, pull_request_in
from continuity.handoff.prompt import END_LINE, INSTRUCTIONS, Chunk, Through, chunks, newest_request, request

__all__ = [
    "END_LINE",
    "HEADINGS",
    "INSTRUCTIONS",
    "Chunk",
    "Handoff",
    "HandoffRefused",
    "Through",
    "accept_handoff",
    "chunks",
    "from_kept",
    "kept_text",
    "newest_request",
    "note_body",
    "note_metadata",
    "pull_request_in",
    "request",
    "sections",
]
