"""Pages that come are shown to the models in use, in the background and behind everything else."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Sequence

from docmind.errors import CancelledError, DocMindError, VisualModelError
from docmind.seeing import ModelKind
from docmind.visual.choice import check_fits
from docmind.visual.embedding import Counts, Embedding
from docmind.weights import Description

_SHORTEST_S, _LONGEST_S = 2.0, 60.0


class _UnwantedError(CancelledError):
    """The model that sees pages is not to do so any more."""


class Follower:
    """One thread. It sleeps until `wake`; after a model failed it tries again later, and later each time."""

    def __init__(
        self,
        wanted: Callable[[], Sequence[tuple[Embedding, Description]]],
        begin: Callable[[], None],
        tidy: Callable[[], None],
    ) -> None:
        """`wanted` names the models that see new pages by themselves; `begin` is called once, `tidy` each round."""
        self._wanted, self._begin, self._tidy = wanted, begin, tidy
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._news, self._closed = threading.Event(), threading.Event()
        self._pause_s, self._retry_at = 0.0, 0.0
        self._given_up: set[tuple[str, str]] = set()  # fingerprint and image: pages that cannot be seen
        self.trouble: dict[ModelKind, str] = {}
        """Why the model of a kind does not see new pages now."""

    def follow(self) -> None:
        """Begin, and look at what is there already. Harmless twice."""
        with self._lock:
            if self._thread is None and not self._closed.is_set():
                self._news.set()
                self._thread = threading.Thread(target=self._work, name="visual", daemon=True)
                self._thread.start()

    def wake(self) -> None:
        """Pages have come."""
        self._news.set()

    def retry(self) -> None:
        """A model has come or was chosen: what failed before is no reason to wait."""
        self._pause_s = self._retry_at = 0.0
        self._news.set()

    @property
    def is_closed(self) -> bool:
        return self._closed.is_set()

    def close(self) -> None:
        """Stop after the page that is being looked at; `join` waits for that."""
        self._closed.set()
        self._news.set()

    def join(self) -> None:
        if self._thread is not None:
            self._thread.join()

    def _work(self) -> None:
        with contextlib.suppress(DocMindError):  # told by the search that it would have helped
            self._begin()
        while not self._closed.is_set():
            left = self._retry_at - time.monotonic()
            if left > 0:
                self._closed.wait(min(left, 0.2))
                continue
            self._news.wait(None if not self._pause_s else 0.0)
            self._news.clear()
            try:
                self._round()
            except CancelledError:
                return
            except DocMindError:  # a full disk, an index that cannot be changed now, or a vault that is being closed
                self._fail()

    def _round(self) -> None:
        self.check()
        self._tidy()
        failed = False
        for embedding, description in self._wanted():
            try:
                self._look(embedding, description)
                self.trouble.pop(embedding.kind, None)
            except CancelledError:
                raise
            except DocMindError as error:  # of the model, of the index, or of the disk
                if self._closed.is_set():
                    raise CancelledError("Looking at pages was ended.") from error
                self.trouble[embedding.kind] = str(error)
                failed = True
        if failed:
            self._fail()
        else:
            self._pause_s = 0.0

    def _look(self, embedding: Embedding, description: Description) -> None:
        if description.state != "present":
            raise VisualModelError(f"{description.name} cannot be used: {description.reason}", hint=description.hint)
        served, counts = embedding.serving.now(), embedding.store.counts()
        if served.fingerprint != description.fingerprint and counts.get(served.fingerprint):
            return  # another model's vectors are in use: changing is for the user to say
        if counts.get(description.fingerprint, 0) >= embedding.pages.images():
            return
        check_fits(description)
        places = embedding.pages.asked()
        missing = set(embedding.store.missing(description.fingerprint, [place.image for place in places]))
        missing -= {image for fingerprint, image in self._given_up if fingerprint == description.fingerprint}
        if missing:
            wanted = [place for place in places if place.image in missing]
            done = Counts()
            with contextlib.suppress(_UnwantedError):
                embedding.run(description, wanted, counts=done, check=lambda: self._check_wanted(description))
            self._given_up |= {(description.fingerprint, image) for image in done.failed_images}

    def _check_wanted(self, description: Description) -> None:
        self.check()
        if description.fingerprint not in [one.fingerprint for _, one in self._wanted()]:
            raise _UnwantedError("Another model was chosen.")

    def _fail(self) -> None:
        self._pause_s = min(max(_SHORTEST_S, 2 * self._pause_s), _LONGEST_S)
        self._retry_at = time.monotonic() + self._pause_s

    def check(self) -> None:
        """Raises `CancelledError` once `close` was called."""
        if self._closed.is_set():
            raise CancelledError("Looking at pages was ended.")
