"""The vectors of all passages of pages, which are made once nothing else is to be done.

A page has 5 to 60 passages, each of which takes a text model some milliseconds: too long for a question, and too long
for whoever waits until a file is read. What is still to be done are pages without a row, so it is known after a restart
too. Answers and searches do without the vectors of a page that has none yet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from docmind.answers import edges, headed_passages
from docmind.documents import PageRecord
from docmind.embedding import TextEmbedder
from docmind.errors import DamagedError
from docmind.vault import Vault

_BATCH = 16  # texts that are embedded together: a question waits for no more
_ROUND = 64  # texts whose pages are stored in one transaction
_PAGES = 16  # pages that are looked at together
_SHORTEST = 8  # characters: shorter passages are not quoted
_MOST = 160  # passages of one page: its vectors take 60 KB, and a second to make


@dataclass(slots=True)
class _Round:
    """Pages with their texts, which are embedded and stored together."""

    pages: list[tuple[PageRecord, list[str]]] = field(default_factory=list)

    @property
    def texts(self) -> list[str]:
        return [text for _page, texts in self.pages for text in texts]


def texts_of(page: PageRecord, beside: Iterable[PageRecord]) -> list[str]:
    """Return the passages of a page as they are embedded; `beside` are the pages before and behind it.

    White space is joined, short passages are left out, and so is what is behind the first 160. Raises `DamagedError`.
    """
    running = set[str]().union(*(edges(other.text) for other in beside))
    found = headed_passages(page.text, running, page.structure())
    joined = (" ".join(passage.text(page.text).split()) for _heading, passage in found)
    return list(dict.fromkeys(text for text in joined if len(text) >= _SHORTEST))[:_MOST]


class LaterPassages:
    """The maker of these vectors. Thread-safe."""

    def __init__(self, *, vault: Vault, embedder: TextEmbedder, most_mb: int) -> None:
        """Set up; no more are made once those that there are take `most_mb`, 0: none."""
        self._db, self._catalog, self._vectors = vault.database, vault.catalog, vault.passage_vectors
        self._embedder, self._most = embedder, most_mb << 20
        self._unreadable = set[tuple[str, int]]()  # pages that are damaged, which searches tell

    def catch_up(self, check: Callable[[], None] = lambda: None) -> int:
        """Make the vectors of pages that have none, the newest documents first; return of how many pages.

        `check` is called often, and may raise to stop; what was made before stays. A library that is open for reading
        only gets none. Raises `TextModelError`, `VaultError`.
        """
        if not self._most or self._db.is_read_only:
            return 0
        self._vectors.keep(self._embedder.fingerprint)
        made = 0
        while self._vectors.size() < self._most:
            missing = self._vectors.missing(self._embedder.fingerprint, _PAGES + len(self._unreadable))
            wanted = [page for page in missing if page not in self._unreadable][:_PAGES]
            if not wanted:
                break
            for some in self._rounds(wanted, check):
                made += self._make(some, check)
        return made

    def _rounds(self, wanted: Sequence[tuple[str, int]], check: Callable[[], None]) -> Iterator[_Round]:
        """Yield these pages with their texts, as many at a time as `_ROUND` says."""
        keys = {(doc_id, page_no + step) for doc_id, page_no in wanted for step in (-1, 0, 1)}
        records = self._catalog.pages(sorted(keys))
        some = _Round()
        for doc_id, page_no in wanted:
            check()
            record = records.get((doc_id, page_no))
            beside = [records[key] for key in ((doc_id, page_no - 1), (doc_id, page_no + 1)) if key in records]
            try:
                texts = texts_of(record, beside) if record is not None else None
            except DamagedError:
                texts = None
            if record is None or texts is None:  # damaged, or deleted meanwhile
                self._unreadable.add((doc_id, page_no))
                continue
            some.pages.append((record, texts))
            if len(some.texts) >= _ROUND:
                yield some
                some = _Round()
        if some.pages:
            yield some

    def _make(self, some: _Round, check: Callable[[], None]) -> int:
        texts = some.texts
        vectors = np.zeros((len(texts), self._embedder.dim), np.float32)
        for at in range(0, len(texts), _BATCH):
            check()
            vectors[at : at + _BATCH] = self._embedder.embed_documents(texts[at : at + _BATCH])
        made = at = 0
        with self._db.transaction():
            for page, own in some.pages:
                rows = vectors[at : at + len(own)]
                at += len(own)
                made += self._vectors.put(
                    self._embedder.fingerprint, page.doc_id, page.page_no, own, rows, of=page.text
                )
        return made
