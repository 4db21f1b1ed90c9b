"""The OCR pass of one document: its pages in order, a few at a time."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace

import numpy as np

from docmind.blocks import pack, unpack
from docmind.documents import Words, language_of, with_ordinals
from docmind.errors import ReadingError
from docmind.observability import OcrFailed, OcrLowConfidence, OcrRead, OcrRetried, emit
from docmind.reading.ocr.doubt import AGREEING, Probe, agreement, is_better, probe_of
from docmind.reading.ocr.engine import AS_SET, Ocr, OcrPage
from docmind.reading.ocr.pictures import Pictures, read_all, with_pictures
from docmind.reading.sheets import is_sheet
from docmind.records.documents import OcrChoice, PageFigure, ParsedPage, page_id_of
from docmind.wording import ngettext, number_text

_Waiting = tuple[ParsedPage, Future[OcrPage | ParsedPage | None] | None]


class OcrPass:
    """The OCR pass of one document.

    Use it from one thread, as a context manager; `unread` counts pages by error.
    """

    def __init__(
        self, ocr: Ocr, workers: int, waiting: Callable[[], None], choice: OcrChoice = AS_SET, *, doc_id: str
    ) -> None:
        """Start the threads; `waiting` is called periodically during OCR, and what it raises ends the pass."""
        self._ocr, self._ahead, self._waiting, self._choice = ocr, 2 * workers, waiting, choice
        self._doc_id = doc_id
        self._mode = choice.mode or ocr.mode
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="ocr")
        self._pictures = Pictures()
        self.unread: dict[str, int] = {}
        self.failed: set[int] = set()
        """The numbers of the pages that could not be read."""
        self.lost = 0
        """How many pages are in letters that OCR does not know."""

    def __enter__(self) -> OcrPass:
        return self

    def __exit__(self, *error: object) -> None:
        """Cancel pending pages and end the threads."""
        self._pool.shutdown(wait=error[0] is None, cancel_futures=True)

    def through(self, pages: Iterable[ParsedPage]) -> Iterator[ParsedPage]:
        """Yield the pages in order.

        Those without a usable text layer get the OCR text, or stay as they were. So do those whose layer does not agree
        with their picture. Those that DocMind lays out get the words on their pictures
        (`docmind.reading.ocr.pictures`).
        """
        waiting: deque[_Waiting] = deque()
        for page in pages:
            waiting.append((page, self._begun(page)))
            while waiting and (waiting[0][1] is None or len(waiting) > self._ahead):
                yield self._settled(*waiting.popleft())
        while waiting:
            yield self._settled(*waiting.popleft())

    def _begun(self, page: ParsedPage) -> Future[OcrPage | ParsedPage | None] | None:
        if self._mode == "never":
            return None
        if is_sheet(page.image):
            figures = self._pictures.of(page) if self._ocr.engine or page.needs_ocr else ()
            return self._pool.submit(self._with_pictures, page, figures) if figures else None
        if page.needs_ocr or self._mode == "always":
            return self._pool.submit(self._recognise, page)
        if page.is_layer_suspect and self._ocr.engine and (probe := probe_of(page)) is not None:
            return self._pool.submit(self._instead, page, probe)
        return None

    def _recognise(self, page: ParsedPage) -> OcrPage:
        return self._ocr.recognise(page.image, choice=self._choice, pictures=[figure.box for figure in page.figures])

    def _with_pictures(self, page: ParsedPage, figures: Sequence[PageFigure]) -> ParsedPage:
        def recognise(image: bytes) -> OcrPage:
            seen = self._ocr.recognise(image, choice=self._choice)
            self._report(page_id_of(self._doc_id, page.page_no), seen)
            return seen

        return with_pictures(page, read_all(figures, recognise))

    def _instead(self, page: ParsedPage, probe: Probe) -> OcrPage | None:
        """Return what the picture of a page says where its layer does not say the same."""
        strips = self._ocr.recognise_strips(page.image, probe.strips)
        if agreement(probe.text, strips.text) >= AGREEING:
            return None
        seen = self._recognise(page)
        return seen if is_better(page.text, seen.text, seen.confidence) else None

    def told(self) -> str:
        """Return what is to be said of pages that could not be read; empty where all could."""
        return " ".join(filter(None, (self._told_unread(), lost_text(self.lost))))

    def _told_unread(self) -> str:
        if not self.unread:
            return ""
        count, reason = sum(self.unread.values()), next(iter(self.unread))
        told = ngettext(
            "{n} page is a picture whose text was not read: {reason}",
            "{n} pages are pictures whose text was not read: {reason}",
            count,
        )
        return told.format(n=count, reason=reason)

    def _settled(self, page: ParsedPage, reading: Future[OcrPage | ParsedPage | None] | None) -> ParsedPage:
        if reading is None:
            return page
        while not reading.done():
            self._waiting()
            time.sleep(0.02)
        try:
            seen = reading.result()
        except ReadingError as error:
            self.unread[str(error)] = self.unread.get(str(error), 0) + 1
            self.failed.add(page.page_no)
            emit(OcrFailed(page_id_of(self._doc_id, page.page_no)))
            return page
        how = None if seen is None else seen.ocr if isinstance(seen, ParsedPage) else seen.how
        self.lost += how is not None and how.is_lost
        if isinstance(seen, ParsedPage):
            return seen
        if seen is None or (not seen.text.strip() and page.text.strip()):
            return page
        self._report(page_id_of(self._doc_id, page.page_no), seen)
        text = with_ordinals(seen.text, language_of(seen.text))
        figures = tuple(_found_again(figure, text) for figure in page.figures)
        read = replace(
            page, text=text, words=seen.words, text_source="ocr", confidence=seen.confidence, blocks=b"",
            figures=figures,
        )  # fmt: skip
        read = replace(read, ocr=replace(seen.how, dpi=page.dpi))
        return _with_comments(read, page) if page.blocks else read

    def _report(self, page_id: str, seen: OcrPage) -> None:
        """Tell of a page that was read."""
        if seen.how.tries > 1:
            emit(OcrRetried(page_id, seen.how.tries))
        if not seen.text.strip():  # a blank page: no word to be sure of
            return
        emit(OcrRead(page_id, seen.confidence))
        if seen.confidence < self._ocr.min_confidence:
            emit(OcrLowConfidence(page_id, seen.confidence, self._ocr.min_confidence))


def lost_text(pages: int) -> str:
    """Return a sentence on pages in letters that OCR does not know, and what to do; empty for none."""
    if not pages:
        return ""
    told = ngettext(
        "{n} page is in letters that OCR does not know, and most of it was not read. Install Tesseract with its "
        "language, such as tesseract-ocr-rus, and read it again.",
        "{n} pages are in letters that OCR does not know, and most of them was not read. Install Tesseract with their "
        "language, such as tesseract-ocr-rus, and read them again.",
        pages,
    )
    return told.format(n=number_text(pages))


def _found_again(figure: PageFigure, text: str) -> PageFigure:
    """Return a figure with the place of its words in the text that OCR read; with none where they are not there."""
    said = figure.caption or figure.text
    start = max(0, text.find(said)) if said else 0
    return replace(figure, start=start, end=start + len(said) if said and text.startswith(said, start) else start)


def _with_comments(read: ParsedPage, page: ParsedPage) -> ParsedPage:
    """Return the page as OCR read it, with the comments of its file at the end: they are not on the picture."""
    seen, own = Words.unpack(read.words), Words.unpack(page.words)
    sure = np.ones(len(seen)) if seen.certainties is None else seen.certainties
    text, blocks = read.text, []
    for block in unpack(page.blocks, len(page.text)):
        if block.kind != "comment":
            continue
        text += "\n" if text else ""
        moved = len(text) - block.start
        inside = (own.starts >= block.start) & (own.ends <= block.end)
        seen = Words(
            np.concatenate([seen.starts, own.starts[inside] + moved]),
            np.concatenate([seen.ends, own.ends[inside] + moved]),
            np.concatenate([seen.boxes, own.boxes[inside]]),
        )
        sure = np.concatenate([sure, np.ones(int(inside.sum()))])
        text += page.text[block.start : block.end]
        blocks.append(replace(block, start=block.start + moved, end=block.end + moved))
    return replace(read, text=text, words=replace(seen, certainties=sure).pack(), blocks=pack(blocks))
