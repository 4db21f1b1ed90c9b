"""The reading process of a book that is drawn by Chromium.

It starts Chromium before it takes limits upon itself, for those of a reading process are none that Chromium can live
with; Chromium's memory and time are watched instead. Where it fails, the book is laid out as plain text.

in   as for `serve`, and {program, folder, memory_mb, cpu_s, timeout_s}
out  {wait: sheets} while chapters are printed, then as for `serve`
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, BinaryIO

from docmind.errors import WorkerFailedError
from docmind.readers import Opened, Rules
from docmind.readers.chromium import Chromium, plain_since
from docmind.readers.chromium_print import Press
from docmind.readers.epub import open_epub
from docmind.readers.epub_book import Book
from docmind.readers.epub_print import Printed, print_book
from docmind.readers.serve import answer
from docmind.schema import Upload
from docmind.worker import Limits, apply, read_frame, write_frame

_BOOKS, _CHAPTERS = 5.0, 0.2  # times the longest silence: for a whole book, and for one chapter


def serve(incoming: BinaryIO, outgoing: BinaryIO) -> None:
    """Read one book and end."""
    frame = read_frame(incoming)
    if frame is None:
        return
    header, blobs = frame
    drawing = _Drawing(header, outgoing)
    apply(Limits(memory_mb=header["memory_mb"], cpu_s=header["cpu_s"], file_mb=0))
    try:
        answer(header | {"browser": ""}, blobs, outgoing, drawing.open)
    finally:
        drawing.close()


class _Drawing:
    """A Chromium that is started already, and the pages it makes."""

    def __init__(self, header: dict[str, Any], outgoing: BinaryIO) -> None:
        self._memory_mb, self._timeout_s = header["memory_mb"], header["timeout_s"]
        self._outgoing = outgoing
        self._sheets = 0
        self._until = time.monotonic() + _BOOKS * self._timeout_s
        self._failed: WorkerFailedError | None = None
        self._chromium: Chromium | None = None
        try:
            self._chromium = Chromium(header["program"], Path(header["folder"]))
        except WorkerFailedError as error:
            self._failed = error

    def open(self, kind: str, upload: Upload, rules: Rules) -> tuple[Opened, str]:
        """The book as Chromium draws it, or as plain text with the sentence that says why."""
        try:
            return self._print(upload, rules), ""
        except WorkerFailedError as error:
            self.close()
            return open_epub(upload, kind, rules), plain_since(str(error))

    def close(self) -> None:
        """End Chromium. Harmless when it has ended."""
        chromium, self._chromium = self._chromium, None
        if chromium is not None:
            chromium.kill()

    def _print(self, upload: Upload, rules: Rules) -> Printed:
        if self._chromium is None:
            raise self._failed or WorkerFailedError("Chromium has ended")
        book = Book(upload, rules)
        try:
            press = Press(self._chromium, self._memory_mb, self._tick)
            try:
                return print_book(book, press, rules, _CHAPTERS * self._timeout_s, self._done)
            finally:
                press.close()
        finally:
            book.close()

    def _done(self, sheets: int) -> None:
        self._sheets = sheets
        self._tick()

    def _tick(self) -> None:
        """Say that we live, and stop where the book has had its time."""
        if time.monotonic() > self._until:
            raise WorkerFailedError("Chromium took too long over the whole book")
        write_frame(self._outgoing, {"wait": self._sheets})
