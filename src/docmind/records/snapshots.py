"""Frozen records of snapshots: states of the library that can be looked at, asked and brought back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

SnapshotReason = Literal["asked", "activating", "text model"]
"""Who took it: the user; or DocMind, before another one was activated, or before another text model is used."""

DocumentChange = str
"""What differs in a document: the collections, the text, or what its column is called (`docmind.documents.columns`)."""


@dataclass(frozen=True, slots=True)
class SnapshotInfo:
    """One snapshot.

    `documents` is the number of documents that the snapshot holds now, `erased` the number of documents that were
    erased from it. `bytes` is the size of its files, `own_bytes` that of the files which no other snapshot shares. Two
    snapshots with the same `corpus` hold the same documents with the same names, tags and collections; with the same
    `config`, the same settings and text model.
    `left_out` names documents that could not be read when it was taken; known only right after that.
    """

    snapshot_id: str
    title: str
    reason: SnapshotReason
    created_at_ms: int
    documents: int
    pages: int
    bytes: int
    own_bytes: int
    corpus: str
    config: str
    text_model: str
    is_pinned: bool = False
    erased: int = 0
    left_out: tuple[str, ...] = ()

    @property
    def is_automatic(self) -> bool:
        """Whether DocMind took it by itself."""
        return self.reason != "asked"


@dataclass(frozen=True, slots=True)
class KeptDatabase:
    """A copy of `vault.db` from before its schema changed; `schema` is the number of its last migration."""

    name: str
    schema: int
    created_at_ms: int
    bytes: int


@dataclass(frozen=True, slots=True)
class SnapshotDocument:
    """One document of a snapshot, as it was; `is_here` tells whether it is in the library now."""

    doc_id: str
    document: str
    title: str
    pages: int
    tags: tuple[str, ...]
    is_here: bool


@dataclass(frozen=True, slots=True)
class ChangedDocument:
    """A document of two states, by its name in the later one, and what differs."""

    doc_id: str
    document: str
    changes: tuple[DocumentChange, ...]


@dataclass(frozen=True, slots=True)
class SettingChange:
    """A setting that differs; None where it was not set. The text model is named `text model`."""

    name: str
    before: str | float | bool | None
    after: str | float | bool | None


@dataclass(frozen=True, slots=True)
class SnapshotDifference:
    """What became of one state in another: documents that came and went, by id and name, and what changed."""

    added: tuple[tuple[str, str], ...] = ()
    gone: tuple[tuple[str, str], ...] = ()
    changed: tuple[ChangedDocument, ...] = ()
    settings: tuple[SettingChange, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing differs."""
        return not (self.added or self.gone or self.changed or self.settings)


@dataclass(frozen=True, slots=True)
class SnapshotCheck:
    """Outcome of checking a snapshot: what was checked, and a sentence for each problem."""

    snapshot_id: str
    documents: int
    files: int
    bytes: int
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Activation:
    """What activating a snapshot did: documents brought back, moved to the bin, changed, and left as they were.

    `before` is the id of the snapshot of the state before. `settings` names those that were put back, `left` those
    that could not be.
    """

    before: str
    restored: int
    binned: int
    changed: int
    unchanged: int
    settings: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
