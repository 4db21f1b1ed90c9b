"""One run of a model over pages: its work, its continuation after a crash, and consistent counts."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from docmind.documents import Catalog, PageImageRef, PageList
from docmind.errors import DiskFullError, NotFoundError, VaultError, VisualModelError
from docmind.reading import PagePictures
from docmind.records.models import Description, ModelKind, PagesEmbedded
from docmind.runtime import Check, Interactive
from docmind.visual.served import ModelUse
from docmind.visual.vector_stores import Store, old_left
from docmind.wording import _

_PATIENCE = 3  # failures in a row after which the model is considered broken, and not the pages
_WAIT_S = 0.05


@dataclass(slots=True)
class Counts:
    """Progress of a run: `added` + `skipped` + `failed` are the pages up to and with `last`."""

    total: int = 0
    added: int = 0
    skipped: int = 0
    failed: int = 0
    last: tuple[str, int] | None = None
    seconds: float = 0.0
    """Time of the model alone."""

    seen: int = 0
    """Images that the model has embedded."""

    left: int = 0
    """Images that it has yet to embed, as far as that is known."""

    seen_images: set[str] = field(default_factory=set)
    failed_images: set[str] = field(default_factory=set)
    """Images of this process: other pages that show them are counted with them."""

    @property
    def done(self) -> int:
        return self.added + self.skipped + self.failed

    def go_back(self, kept: Counts, images: Iterable[str]) -> None:
        """Restore the `kept` state: the vectors of these images, embedded since then, are lost."""
        self.added, self.skipped, self.failed, self.last = kept.added, kept.skipped, kept.failed, kept.last
        self.left = kept.left
        self.seen_images.difference_update(images)

    @property
    def seconds_per_page(self) -> float | None:
        return self.seconds / self.seen if self.seen else None

    def result(self, model: str, started: float) -> PagesEmbedded:
        """Return the final counts; `started` is a time of `time.monotonic`."""
        duration = (time.monotonic() - started) * 1000
        return PagesEmbedded(model, self.added, self.skipped, self.failed, duration)


class Embedding:
    """Runs of one kind of model, one at a time. Thread-safe: a second run waits, and can be cancelled meanwhile."""

    def __init__(
        self,
        kind: ModelKind,
        store: Store,
        serving: ModelUse,
        pages: PageList,
        catalog: Catalog,
        pictures: PagePictures,
        interactive: Interactive,
        chosen: Callable[[Description], None],
    ) -> None:
        """Set up; `chosen` is called with the model that answers searches when that changes."""
        self._chosen = chosen
        self.kind: ModelKind = kind
        self.store, self.serving, self.pages = store, serving, pages
        self._catalog, self._pictures, self._interactive = catalog, pictures, interactive
        self._turn = threading.Lock()
        self.running = ""
        """The fingerprint of the model that is embedding pages now."""

    def run(
        self,
        description: Description,
        places: Sequence[PageImageRef],
        *,
        force: bool = False,
        counts: Counts | None = None,
        report: Callable[[Counts], None] = lambda _: None,
        note: Callable[[Counts], None] = lambda _: None,
        check: Check = lambda: None,
    ) -> Counts:
        """Embed those of `places` that the model has not seen, or all with `force`; continue after `counts.last`.

        `report` is called after each page; `note` when vectors are stored, in the same step. `check` may raise to stop
        the run. Completed work stays. Raises `VisualModelError` where the model fails, `DiskFullError`, and what
        `check` raises.
        """
        counts = counts or Counts()
        rest = [place for place in places if counts.last is None or (place.doc_id, place.page_no) > counts.last]
        counts.total = counts.done + len(rest)
        with self._alone(check, description.fingerprint):
            if not self.serving.now().fingerprint or not self.store.counts().get(self.serving.now().fingerprint):
                self.serving.adopt(description)
            images = list(dict.fromkeys(place.image for place in rest))
            wanted = images if force else self.store.missing(description.fingerprint, images)
            counts.left = len(wanted)
            pass_ = _Pass(self, description, counts, set(wanted), note)
            try:
                for place in rest:
                    check()
                    pass_.take(place, check)
                    report(counts)
                pass_.end(check)
            finally:
                pass_.flush()
            report(counts)
            self._switch(description, counts.failed_images)
            self.store.finish()
        return counts

    def settle(self, check: Check) -> None:
        """Finish an interrupted switch of models, and delete the vectors of the previous one."""
        if self.serving.now().before:
            with self._alone(check):
                self._settle()

    def _settle(self) -> None:
        served = self.serving.now()
        if served.before:
            self.store.finish()  # writes the new vectors to the index, where they are missing
            self.store.drop(served.before)
            self.serving.settle()

    def _switch(self, description: Description, failed: set[str]) -> None:
        """Answer from this model if it has embedded all that the one in use has, apart from images that failed."""
        served = self.serving.now()
        if served.fingerprint != description.fingerprint and self.store.counts().get(description.fingerprint):
            images = [place.image for place in self.pages.asked()]
            if set(old_left(self.store, served.fingerprint, description.fingerprint, images)) <= failed:
                self.serving.switch(description)
                self._chosen(description)
        self._settle()

    def image_of(self, place: PageImageRef) -> bytes | None:
        """Return the page's image; None where the page was deleted. Raises `VaultError` where it cannot be opened."""
        try:
            return self._pictures.get(place.ref)
        except NotFoundError:
            if self._catalog.pages([(place.doc_id, place.page_no)]):
                raise VaultError(_("The image of a page is missing.")) from None
            return None

    def give_way(self, check: Check) -> None:
        self._interactive.give_way(check)

    @contextlib.contextmanager
    def _alone(self, check: Check, fingerprint: str = "") -> Iterator[None]:
        while not self._turn.acquire(timeout=_WAIT_S):
            check()
        try:
            self.running = fingerprint
            yield
        finally:
            self.running = ""
            self._turn.release()


class _Pass:
    """The state of a running run: vectors not stored yet, failures, and failures that may be the model's fault."""

    def __init__(
        self,
        embedding: Embedding,
        description: Description,
        counts: Counts,
        wanted: set[str],
        note: Callable[[Counts], None],
    ) -> None:
        self._embedding, self._description, self._counts, self._note = embedding, description, counts, note
        self._wanted = wanted
        self._made: dict[str, object] = {}
        self._kept = replace(counts)
        self._doubtful: list[PageImageRef] = []
        self._again: list[PageImageRef] = []
        self._trouble: VisualModelError | None = None

    def take(self, place: PageImageRef, check: Check) -> None:
        """Process one page: embed it, or count it with an earlier page that has the same image."""
        counts, image = self._counts, place.image
        if image in counts.seen_images:
            counts.added += 1
        elif image in counts.failed_images:
            counts.failed += 1
        elif image not in self._wanted:
            counts.skipped += 1
        elif not self._show(place, check):
            return
        if not self._doubtful:
            counts.last = (place.doc_id, place.page_no)
        if len(self._made) >= self._embedding.store.batch:
            self.flush()

    def end(self, check: Check) -> None:
        """Finish after the last page: one or two failed pages are considered broken, unless all failed.

        Each is tried again first: the process may have been killed by something other than the page.
        """
        if self._trouble is not None and not self._counts.seen_images:
            raise self._trouble
        self._blame_pages()
        for place in self._again:
            check()
            with contextlib.suppress(VisualModelError):
                data = self._embedding.image_of(place)
                if data is not None:
                    self._made[place.image] = self._embedding.store.make(self._description, data)
                    self._counts.failed_images.discard(place.image)
                    self._counts.failed -= 1
                    self._counts.added += 1

    def flush(self) -> None:
        """Store the vectors, and note the progress: what cannot be stored counts as not done."""
        made, self._made = self._made, {}
        try:
            if made:
                self._embedding.store.put(self._description.fingerprint, made, lambda: self._note(self._counts))
            else:
                self._note(self._counts)
        except BaseException:
            self._counts.go_back(self._kept, made)
            raise
        self._kept = replace(self._counts)

    def _show(self, place: PageImageRef, check: Check) -> bool:
        """Embed a page; return whether its result is known."""
        counts = self._counts
        try:
            data = self._embedding.image_of(place)
        except VaultError as error:
            if isinstance(error, DiskFullError):
                raise
            self._fail(place)
            return True
        if data is None:
            counts.skipped += 1
            return True
        self._embedding.give_way(check)
        try:
            self._embedding.store.load(self._description)  # not counted in the time of this page
            at = time.perf_counter()
            made = self._embedding.store.make(self._description, data)
        except VisualModelError as error:
            check()  # a model that was closed fails too
            self._doubtful.append(place)
            self._trouble = error
            if len(self._doubtful) >= _PATIENCE:
                raise
            return False
        counts.seconds += time.perf_counter() - at
        counts.seen += 1
        counts.left -= 1
        self._blame_pages()
        self._made[place.image] = made
        counts.seen_images.add(place.image)
        counts.added += 1
        return True

    def _blame_pages(self) -> None:
        doubtful, self._doubtful = self._doubtful, []
        self._again += doubtful
        for place in doubtful:
            self._fail(place)
            self._counts.last = (place.doc_id, place.page_no)

    def _fail(self, place: PageImageRef) -> None:
        self._counts.left -= 1
        self._counts.failed += 1
        self._counts.failed_images.add(place.image)
