"""Text from page images, in worker processes that keep their models loaded."""

from __future__ import annotations

from dataclasses import dataclass, field

from docmind.config import ReadingSettings
from docmind.errors import ReaderFailedError
from docmind.schema import Capability


@dataclass(frozen=True, slots=True)
class OcrPage:
    """What was read on one image: text in reading order, packed words with boxes in its pixels, mean confidence."""

    text: str
    words: bytes = field(repr=False)
    confidence: float


class Ocr:
    """Reads page images. Threads may share one: each call takes an idle process or waits for one."""

    def __init__(self, settings: ReadingSettings) -> None:
        self._settings = settings

    def recognise(self, image: bytes, language: str = "") -> OcrPage:
        """Read one encoded image. Raises `ReaderFailedError` where no engine is there or the engine failed."""
        raise ReaderFailedError("There is no engine that reads text from pictures.")

    def capabilities(self) -> tuple[Capability, ...]:
        """Which engines are there, without loading one."""
        return ()

    def close(self) -> None:
        """End the processes; the next call starts them again."""
