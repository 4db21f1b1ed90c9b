"""Which documents of the labelled sets are set aside: the reader is not taught on them, but measured and fitted."""

from __future__ import annotations

import hashlib

SETS = ("papers", "papers_more", "papers_twins")  # the reader is taught on these, but for what is set aside
TWINS = SETS[-1]  # its questions without an answer differ in nothing but the answer from those that have one
PARTS = 4  # one of which is set aside


def is_aside(document: str) -> bool:
    """Return whether a document, by its name, is set aside."""
    return hashlib.sha256(document.encode()).digest()[0] % PARTS == 0
