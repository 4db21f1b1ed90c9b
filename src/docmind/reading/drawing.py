"""Pictures of pages: opened, or drawn from the sheet that is stored in place of a picture.

Sheets are drawn in a process of their own, which ends after two minutes without one. The pictures drawn last are kept
in memory, because a page that is looked at is asked for several times.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress

from docmind.config import ReadingSettings
from docmind.documents import Figures
from docmind.errors import DamagedError, NotFoundError, ReadingError, VaultError, WorkerFailedError
from docmind.reading.sheets import is_sheet
from docmind.records.documents import ArtifactRef
from docmind.runtime import Client, Limits, error_named
from docmind.storage import Artifacts
from docmind.wording import _

_ENTRY = "docmind.reading.draw_process:serve"
_IDLE_S = 120.0
_KEPT = 16  # pictures, about 50 KB each


class PagePictures:
    """The pictures of pages by their artifacts. Thread-safe."""

    def __init__(self, settings: ReadingSettings, artifacts: Artifacts, figures: Figures) -> None:
        self._artifacts, self._figures, self._timeout_s = artifacts, figures, settings.timeout_s
        self._header = {"quality": settings.image_quality, "thumbnail_side": settings.thumbnail_side_px}
        self._client = Client(_ENTRY, Limits(memory_mb=settings.memory_mb, file_mb=0, is_confined=True), idle_s=_IDLE_S)
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, tuple[bytes, bytes]] = OrderedDict()  # picture and thumbnail by the sheet's id

    def get(self, ref: ArtifactRef, *, thumbnail: bool = False) -> bytes:
        """Return the picture of a page as WebP; of one that is drawn from its sheet also the thumbnail.

        Raises `NotFoundError`, `VaultError`; `DamagedError` where the sheet cannot be drawn.
        """
        data = self._artifacts.get(ref)
        if not is_sheet(data):
            return data
        with self._lock:
            made = self._kept.pop(ref.sha256, None)
            if made is not None:
                self._kept[ref.sha256] = made
        if made is None:
            made = self._draw(data, self._images(ref))
            with self._lock:
                self._kept[ref.sha256] = made
                while len(self._kept) > _KEPT:
                    self._kept.popitem(last=False)
        return made[1 if thumbnail else 0]

    def to_look_at(self, ref: ArtifactRef) -> bytes:
        """Return a page for a process that looks at it: its picture, or its sheet where no figure stands on that.

        Raises as `get` does.
        """
        data = self._artifacts.get(ref)
        return self.get(ref) if is_sheet(data) and self._figures.on_image(ref.sha256) else data

    def _images(self, ref: ArtifactRef) -> list[bytes]:
        """Return the pictures of the figures on a page; one that is lost or damaged leaves its place empty."""
        found = []
        for figure in self._figures.on_image(ref.sha256):
            with suppress(NotFoundError, VaultError):
                found.append(self._artifacts.get(figure))
        return found

    def drop(self) -> None:
        """Drop the pictures that are kept in memory."""
        with self._lock:
            self._kept.clear()

    def close(self) -> None:
        """End the process, and forget what was drawn. Idempotent."""
        self._client.end()
        self.drop()

    def _draw(self, sheet: bytes, images: Sequence[bytes]) -> tuple[bytes, bytes]:
        header = {**self._header, "images": [len(image) for image in images]}
        try:
            answer, blobs = self._client.call(
                header, [sheet, b"".join(images)], timeout_s=self._timeout_s, is_repeatable=True
            )
            if "error" in answer:
                raise error_named(answer, ReadingError)
            image, thumbnail = blobs
        except (WorkerFailedError, ReadingError, ValueError) as error:
            raise DamagedError(_("The image of a page is damaged.")) from error
        return image, thumbnail
