"""A library that has the documents of a labelled set, for as long as it is measured.

    evaluation/<16 hex>/    a data folder of its own in that of the open library

Its passphrase is random and never leaves the memory, so a killed process leaves nothing that can be read; the next
opening removes the folder. The settings are those of the open library, and its text model answers here too.
"""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from pydantic import SecretStr

from docmind.config import KeySettings, Settings
from docmind.embedding import TextEmbedder
from docmind.errors import CancelledError
from docmind.evaluation import LabelledSet
from docmind.maintenance.searching import Searching, searching
from docmind.records.documents import QueueProgress
from docmind.storage import MEASURED
from docmind.vault import IndexKey, Vault

Tell = Callable[[int], None]
"""Gets the number of documents that are read."""


@dataclass(frozen=True, slots=True)
class MeasuredLibrary:
    """The parts of the library; `names` are those of the set's documents by id, `refused` those that were not read."""

    parts: Searching
    names: Mapping[str, tuple[str, ...]]
    refused: tuple[str, ...]


@contextmanager
def measured_library(
    chosen: LabelledSet, settings: Settings, embedder: TextEmbedder, tell: Tell
) -> Iterator[MeasuredLibrary]:
    """Yield a library with the documents of a set, read now, and remove it afterwards.

    Raises `DiskFullError`, `VaultError`, and what `tell` raises.
    """
    assert chosen.uploads is not None
    folder = settings.data_dir / MEASURED / secrets.token_hex(8)
    own = settings.model_copy(
        update={
            "data_dir": folder,
            "keys": KeySettings(source="passphrase", passphrase=SecretStr(secrets.token_urlsafe(24))),
            "qdrant": settings.qdrant.model_copy(update={"url": None, "multivectors": False}),
        }
    )
    with ExitStack() as opened:
        opened.callback(shutil.rmtree, folder, ignore_errors=True)
        vault = Vault(own)
        opened.callback(vault.close)
        parts = searching(vault, own, embedder=embedder, key=IndexKey(vault.keys.keyset.index_key()))
        opened.callback(parts.close)

        def told(now: QueueProgress) -> None:
            tell(now.files_done)

        results = parts.queue.add(chosen.uploads(), len(chosen.documents), told)
        names: dict[str, tuple[str, ...]] = {}
        refused = list[str]()
        for name, result in zip(chosen.documents, results, strict=True):
            if result.status == "cancelled":
                raise CancelledError(result.message)
            if result.doc_id and result.status != "refused":
                names[result.doc_id] = (*names.get(result.doc_id, ()), name)
            else:
                refused.append(f"{name}: {result.message}")
        parts.ingest.later.passages.catch_up(lambda: tell(len(chosen.documents)))  # as the open app does by itself
        _see(parts)
        parts.index.ready()
        yield MeasuredLibrary(parts, names, tuple(refused))


def _see(parts: Searching) -> None:
    """Embed the page images, where an image model is in use; parts of pages only where that is done by itself."""
    kinds = ("image", "late") if parts.vault.settings.visual.late_on_ingest else ("image",)
    for kind in kinds:
        if (model := parts.visual.choice.model_to_use(kind)) is not None:
            parts.visual.embed(model.name)
