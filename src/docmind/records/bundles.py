"""Frozen records of bundles: files that carry a library to another computer."""

from __future__ import annotations

from dataclasses import dataclass

SUFFIX = ".docmind"
"""How the name of a bundle ends, where the user gives no other."""


@dataclass(frozen=True, slots=True)
class BundleInfo:
    """What a bundle holds. `left_out` names documents that could not be put into it; sizes are in bytes."""

    version: str
    created_at_ms: int
    documents: int
    pages: int
    conversations: int
    memories: int
    files: int
    bytes: int
    text_model: str = ""
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BundleReport:
    """What reading a bundle added; what was there already is counted in `known`.

    `erased` names the documents that were left out because they were erased here.
    """

    info: BundleInfo
    documents: int
    pages: int
    conversations: int
    memories: int
    known: int
    is_embedded: bool
    """Whether the vectors in it are those of this library's text model; otherwise `docmind reindex` makes them."""
    erased: tuple[str, ...] = ()
