"""Erasing documents for good, and proving it: every store is erased, compacted, asked again and searched.

    1 rows    one transaction deletes the document's rows and records the erasure; from here on it is always finished
    2 files   page images, thumbnails and the original that no other document has; where asked for, its part in
              snapshots, whose key step 1 destroyed, and kept databases that hold it
    3 quotes  in conversations, where asked for; memories drawn from the document, where asked for
    4 index   its points; where the index lies in clear on the disk, a new generation is built and the old one dropped
    5 space   rows of page patches are zeroed, `vault.db` is written again without free pages, its log emptied
    6 proof   every store is asked for the document, all files are searched for sequences of its text and its name
    7 receipt signed, and kept as a row

Every step can be repeated. A process killed at any point, or a full disk, leaves the row of step 1: the next opening
goes on from there.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from docmind.documents import Erasure, ErasurePlan, Erasures
from docmind.errors import (
    CancelledError,
    DamagedError,
    DiskFullError,
    DocMindError,
    IndexMismatchError,
    NotFoundError,
    VaultBusyError,
)
from docmind.maintenance.receipt import Signer
from docmind.maintenance.snapshots import Snapshots
from docmind.records.documents import ErasureReceipt
from docmind.records.search import Filters
from docmind.runtime import Background, Caches, log_mistake
from docmind.vault import Vault
from docmind.wording import N_, _, ngettext

if TYPE_CHECKING:
    from docmind.conversations import Conversations
    from docmind.index import SearchIndex
    from docmind.ingest import Ingest
    from docmind.memory import Memories
    from docmind.visual import Visual

Progress = Callable[[str, int, int], None]
"""Gets the step that begins, its number, and how many there are."""

STEPS = (N_("pages and files"), N_("conversations"), N_("index"), N_("compacting"), N_("checking"))
_CHUNK = 1 << 20
_ENCODINGS = ("utf-8", "utf-16-le")
_SHOWN = 26  # characters of the name of a kept database; ids of snapshots are shorter
_LEAST_MEMORY = 12  # characters of a memory that is looked for in a document's text


class Purge:
    """Erases documents. Thread-safe: one erasure runs at a time."""

    def __init__(
        self,
        *,
        vault: Vault,
        ingest: Ingest,
        index: SearchIndex,
        visual: Visual,
        memories: Memories,
        conversations: Conversations,
        snapshots: Snapshots,
        caches: Caches,
    ) -> None:
        """Set up; `caches` hold what the process has in memory of documents."""
        self._db, self._catalog, self._artifacts = vault.database, vault.catalog, vault.artifacts
        self._data_dir, self._reserve = vault.settings.data_dir, vault.reserve
        self._ingest, self._index, self._visual, self._memories = ingest, index, visual, memories
        self._conversations, self._snapshots, self._caches = conversations, snapshots, caches
        self._signer = Signer(vault.keys.keyset.id_key, vault.keys.vault_id)  # the id key outlives a rotation
        self._erasures = Erasures(vault.database, vault.catalog)
        self._turn = threading.Lock()
        self._finishing = Background("erasing", "An erasure is finished at the next start.")

    def erase(
        self,
        doc_ids: Sequence[str],
        *,
        conversations: bool = True,
        memories: bool = False,
        snapshots: bool = False,
        progress: Progress | None = None,
    ) -> tuple[ErasureReceipt, ...]:
        """Erase documents, from the bin or from outside it, with those that came in them; return one receipt each.

        A file inside another document can be erased alone: the bytes of that document still have it.
        With `conversations` their quotes in conversations are erased too, with `memories` the memories whose text
        stands in a document or names it, with `snapshots` what snapshots and kept databases have of them; then a
        document can be one that only they have. Where the disk is too full for compacting the library, or a part of
        it is damaged, the documents are deleted, and their receipts have no signature: the next start, or the next
        erasure, finishes them.

        Raises `NotFoundError` before anything is erased, `DiskFullError` where not even rows can be deleted, and
        `VaultError`, `IndexEngineError`; what was begun is finished at the next start.
        """
        self._db.check_writable()
        family = [one for doc_id in doc_ids for one in self._ingest.family(doc_id)]
        found = {doc_id: self._name_of(doc_id, snapshots=snapshots) for doc_id in dict.fromkeys(family)}
        tell = progress or (lambda step, number, total: None)
        with self._turn:
            tell(STEPS[0], 1, len(STEPS))
            self._reserve.make_room()
            try:
                for doc_id in reversed(found):  # what lies in a document before it: it is there until all of it is gone
                    if not self._catalog.is_known(doc_id):  # only snapshots have it
                        traces = self._erasures.traces_among(doc_id, *self._snapshots.texts_of(doc_id))
                        with self._catalog.naming:
                            self._erasures.begin(doc_id, ErasurePlan(conversations, snapshots=snapshots), traces)
                        continue
                    noted = tuple(self.memories_of(doc_id)) if memories else ()
                    with suppress(NotFoundError):  # erased meanwhile
                        self._ingest.erase(doc_id, ErasurePlan(conversations, noted, snapshots))
                made = {receipt.doc_id: receipt for receipt in self._finish(tell)}
            finally:
                self._reserve.refill()
        return tuple(replace(made[doc_id], document=name) for doc_id, name in found.items() if doc_id in made)

    def _name_of(self, doc_id: str, *, snapshots: bool) -> str:
        try:
            return self._catalog.document_or_binned(doc_id).document
        except NotFoundError:
            if not snapshots or not self._snapshots.kept_in(doc_id):
                raise
        with suppress(NotFoundError):
            return self._snapshots.find_document(doc_id)[1]
        return doc_id

    def finish(self) -> tuple[ErasureReceipt, ...]:
        """Finish every erasure that was begun and interrupted; return their receipts. Idempotent."""
        self._db.check_writable()
        with self._turn:
            return tuple(self._finish(lambda step, number, total: None))

    def follow(self) -> None:
        """Run `finish` in the background, where anything is left to do. Idempotent."""
        if not self._db.is_read_only and self._erasures.pending():
            self._finishing.start(self._finish_quietly)

    def close(self) -> None:
        """Wait until an erasure that runs in the background has done its step. Idempotent."""
        self._finishing.close()
        self._finishing.join(60.0)

    def receipts(self) -> tuple[ErasureReceipt, ...]:
        """Return the receipts that the library keeps, the newest first."""
        return tuple(self._signer.verify(one.receipt.encode()) for one in self._erasures.finished())

    def text_of(self, receipt: ErasureReceipt) -> str:
        """Return a receipt as it is saved to a file."""
        return self._signer.signed(receipt)

    def verify(self, data: bytes) -> ErasureReceipt:
        """Return the receipt in a file, as `Signer.verify` does, and raises."""
        return self._signer.verify(data)

    def memories_of(self, doc_id: str) -> list[str]:
        """Return the ids of the memories whose text stands in a document, or which name it."""
        info = self._catalog.document_or_binned(doc_id)
        texts = [" ".join(text.split()).casefold() for text in self._catalog.texts_of(doc_id)]
        name = info.document.casefold()
        found = []
        for memory in self._memories.everything():
            said = " ".join(memory.text.split()).casefold()
            core = said.rstrip(".!?")
            if name in said or (len(core) >= _LEAST_MEMORY and any(core in text for text in texts)):
                found.append(memory.memory_id)
        return found

    def _finish_quietly(self) -> None:
        try:
            self.finish()
        except CancelledError:
            return
        except DocMindError as error:  # the disk is full, or the vault is being closed: it goes on at the next start
            log_mistake("docmind.purge", "an erasure was not finished", error)

    def _finish(self, tell: Progress) -> list[ErasureReceipt]:
        pending = []
        for erasure in self._erasures.pending():
            if self._erasures.is_back(erasure.doc_id):  # it was added again, and is no document that is gone
                self._erasures.remove(erasure.erasure_id)
            else:
                pending.append(erasure)
        if not pending:
            return []
        try:
            made = self._steps(pending, tell)
        except (DiskFullError, DamagedError, VaultBusyError):
            return [self._receipt(erasure, 0, 0, {}, (0, 0)) for erasure in pending]
        for erasure, receipt in made:
            self._erasures.finish(erasure.erasure_id, self._signer.signed(receipt))
        self._db.fold()
        return [self._signer.verify(self._signer.signed(receipt).encode()) for _unused, receipt in made]

    def _steps(self, pending: Sequence[Erasure], tell: Progress) -> list[tuple[Erasure, ErasureReceipt]]:
        self._caches.drop()
        with self._catalog.naming:
            self._artifacts.remove(self._catalog.unreferenced(ref for erasure in pending for ref in erasure.refs))
            self._catalog.buried()
        if asked := [erasure.doc_id for erasure in pending if erasure.plan.snapshots]:
            self._snapshots.follow_erasure(asked)
        tell(STEPS[1], 2, len(STEPS))
        quotes = {one.doc_id: 0 for one in pending}
        memories = dict(quotes)
        for erasure in pending:
            self._finishing.check()
            if erasure.plan.conversations:
                quotes[erasure.doc_id] = self._conversations.erase_quotes(erasure.doc_id, erasure.traces)
            for memory_id in erasure.plan.memories:
                with suppress(NotFoundError):
                    self._memories.remove(memory_id)
                    memories[erasure.doc_id] += 1
        tell(STEPS[2], 3, len(STEPS))
        self._erase_points()
        self._finishing.check()
        tell(STEPS[3], 4, len(STEPS))
        self._visual.sweep()
        self._db.scrub()
        tell(STEPS[4], 5, len(STEPS))
        traces = [trace for erasure in pending for trace in erasure.traces]
        found = search_files(self._data_dir, traces, self._finishing.check)
        made = []
        for erasure in pending:
            here = sum(found.hits.get(trace, 0) for trace in erasure.traces)
            left = self._left(erasure) | {"texts_in_files": here}
            doc_id = erasure.doc_id
            receipt = self._receipt(erasure, quotes[doc_id], memories[doc_id], left, (found.files, found.bytes))
            made.append((erasure, receipt))
        return made

    def _erase_points(self) -> None:
        with suppress(IndexMismatchError):  # built by another model: it is built again before it answers
            opened = self._index.ready()
            opened.mirror.commit()
            if opened.index.is_clear_at_rest:
                opened.mirror.rebuild()

    def _left(self, erasure: Erasure) -> dict[str, int]:
        """Ask every store for a document; all numbers are 0 where nothing is left of it."""
        left = self._erasures.left(erasure)
        with self._catalog.naming:
            gone = self._catalog.unreferenced(erasure.refs)
            left["files"] = sum(self._artifacts.exists(ref) for ref in gone)
        index, names = self._index.started().index, self._index.names
        only = Filters(doc_ids=(erasure.doc_id,))
        left["text_points"] = index.count(names.qdrant_text_collection, only)
        left["page_points"] = index.count(names.qdrant_image_collection, only)
        if erasure.plan.conversations:
            left["quotes"] = self._conversations.left_of(erasure.doc_id, erasure.traces)
        if erasure.plan.snapshots:
            left["snapshots"] = len(self._snapshots.kept_in(erasure.doc_id))
        kept = {memory.memory_id for memory in self._memories.everything()} if erasure.plan.memories else set()
        left["memories"] = len(kept & set(erasure.plan.memories))
        return left

    def _receipt(
        self, erasure: Erasure, quotes: int, memories: int, left: dict[str, int], searched: tuple[int, int]
    ) -> ErasureReceipt:
        return ErasureReceipt(
            vault_id=self._signer.vault_id,
            doc_id=erasure.doc_id,
            begun_at_ms=erasure.begun_at_ms,
            erased_at_ms=time.time_ns() // 1_000_000,
            conversations=erasure.plan.conversations,
            memories=bool(erasure.plan.memories),
            erased=tuple((dict(erasure.counts) | {"quotes": quotes, "memories": memories}).items()),
            found=tuple(left.items()),
            files=searched[0],
            bytes=searched[1],
            sequences=len(erasure.traces),
            snapshots=self._snapshots.kept_in(erasure.doc_id),
        )


@dataclass(frozen=True, slots=True)
class Searched:
    """How often each text was found in the files of a folder or in their names, and how much was searched."""

    hits: dict[str, int]
    files: int
    bytes: int


def search_files(folder: Path, texts: Iterable[str], check: Callable[[], None] = lambda: None) -> Searched:
    """Search all files of a folder, and their names, for texts as UTF-8 and as UTF-16; links are not followed.

    `check` is called for each file, and may raise to stop.
    """
    wanted = {text: tuple(text.encode(encoding, "replace") for encoding in _ENCODINGS) for text in dict.fromkeys(texts)}
    overlap = max((len(spelling) for spellings in wanted.values() for spelling in spellings), default=1) - 1
    hits = dict.fromkeys(wanted, 0)
    files = size = 0
    for place, _folders, names in os.walk(folder):
        for name in names:
            check()
            path = Path(place, name)
            for text in hits:
                hits[text] += text in name
            if path.is_symlink() or not path.is_file():
                continue
            files += 1
            with suppress(FileNotFoundError), path.open("rb") as file:  # written by the index meanwhile
                before = b""
                while chunk := file.read(_CHUNK):
                    size += len(chunk)
                    if chunk.count(0) == len(chunk):  # a hole of a sparse file
                        before = b""
                        continue
                    data = before + chunk
                    for text, spellings in wanted.items():
                        hits[text] += any(spelling in data for spelling in spellings)
                    before = data[-overlap:] if overlap else b""
    return Searched(hits, files, size)


def told(receipt: ErasureReceipt) -> str:
    """Return one sentence about what a receipt says, without the document's name."""
    if not receipt.is_finished:
        return _(
            "Its erasure can't be finished now: the disk is too full, or vault.db is damaged, or in "
            "use by another program. It is finished at the next start."
        )
    if not receipt.is_clean:
        return _("Something of it was found again: see the receipt.")
    erased = _("We searched all {files} library files: no trace is left.").format(files=f"{receipt.files:,}")
    if not receipt.snapshots:
        return erased
    number = len(receipt.snapshots)
    still = ngettext("{n} snapshot still holds it: {names}.", "{n} snapshots still hold it: {names}.", number).format(
        n=number, names=", ".join(name[:_SHOWN] for name in receipt.snapshots)
    )
    return f"{erased} {still}"
