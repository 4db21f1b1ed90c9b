"""Pages on their way through OCR: in order, a few at a time, and what could not be read is remembered."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace

from docmind.errors import ReadingError
from docmind.language import language_of, with_ordinals
from docmind.ocr import Ocr, OcrPage
from docmind.schema import ParsedPage

_Waiting = tuple[ParsedPage, Future[OcrPage] | None]


class OcrPass:
    """One document's pass. Use it from one thread, as a context manager; `unread` counts pages by what went wrong."""

    def __init__(self, ocr: Ocr, workers: int, waiting: Callable[[], None]) -> None:
        """`waiting` is called again and again while a page is being read; what it raises ends the pass."""
        self._ocr, self._ahead, self._waiting = ocr, 2 * workers, waiting
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="ocr")
        self.unread: dict[str, int] = {}

    def __enter__(self) -> OcrPass:
        return self

    def __exit__(self, *error: object) -> None:
        """Pages that nobody waits for any more are left out."""
        self._pool.shutdown(wait=error[0] is None, cancel_futures=True)

    def through(self, pages: Iterable[ParsedPage]) -> Iterator[ParsedPage]:
        """The pages in order; those without a usable text layer come back with what OCR read, or as they were."""
        waiting: deque[_Waiting] = deque()
        for page in pages:
            waiting.append((page, self._pool.submit(self._ocr.recognise, page.image) if page.needs_ocr else None))
            while waiting and (waiting[0][1] is None or len(waiting) > self._ahead):
                yield self._settled(*waiting.popleft())
        while waiting:
            yield self._settled(*waiting.popleft())

    def told(self) -> str:
        """One sentence on what could not be read; empty where everything could."""
        if not self.unread:
            return ""
        count, reason = sum(self.unread.values()), next(iter(self.unread))
        pages = "One page is a picture whose text" if count == 1 else f"{count} pages are pictures whose text"
        return f"{pages} was not read: {reason}"

    def _settled(self, page: ParsedPage, reading: Future[OcrPage] | None) -> ParsedPage:
        if reading is None:
            return page
        while not reading.done():
            self._waiting()
            time.sleep(0.02)
        try:
            seen = reading.result()
        except ReadingError as error:
            self.unread[str(error)] = self.unread.get(str(error), 0) + 1
            return page
        if not seen.text.strip() and page.text.strip():
            return page
        text = with_ordinals(seen.text, language_of(seen.text))
        return replace(page, text=text, words=seen.words, text_source="ocr", confidence=seen.confidence)
