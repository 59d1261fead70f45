"""All kinds of look-alikes in their order; it draws none itself."""

from __future__ import annotations

from tools.bench.corpus import documents, identities, programs

GUISES = (*identities.GUISES, *programs.GUISES, *documents.GUISES)
