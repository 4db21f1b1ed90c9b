"""The words of a page: their places in the page's text and on its image.

Packed for storage as zlib over little-endian arrays: u32 count ‖ u32 starts, u16 lengths ‖ u16 x, y, w, h. The highest
bit of the count says that u8 certainties follow. One page of 500 words takes about 3 KB.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from docmind.errors import DamagedError
from docmind.records.documents import Box
from docmind.wording import _

_U16 = 65_535
_HAS_CERTAINTIES = 1 << 31
_LARGEST = 64 * 1024 * 1024  # unpacked: four million words on one page


@dataclass(frozen=True, slots=True)
class Words:
    """`starts`, `ends` of shape (n,) into the page's text.

    `boxes` of shape (n, 4) as x, y, w, h in pixels. `certainties` of shape (n,), 0..1, are those of OCR; None where a
    text layer has the words.
    """

    starts: np.ndarray
    ends: np.ndarray
    boxes: np.ndarray
    certainties: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.starts)

    @classmethod
    def of(
        cls,
        spans: Sequence[tuple[int, int]],
        boxes: Sequence[tuple[float, float, float, float]],
        certainties: Sequence[float] | None = None,
    ) -> Words:
        table = np.asarray(spans, dtype=np.int64).reshape(-1, 2)
        sure = None if certainties is None else np.asarray(certainties, dtype=np.float64)
        return cls(table[:, 0], table[:, 1], np.asarray(boxes, dtype=np.float64).reshape(-1, 4), sure)

    def pack(self) -> bytes:
        """Pack to one byte string; boxes are rounded to whole pixels and clipped to 0..65535, certainties to 1/255."""
        lengths = np.clip(self.ends - self.starts, 0, _U16)
        boxes = np.clip(np.rint(self.boxes), 0, _U16)
        body = self.starts.astype("<u4").tobytes() + lengths.astype("<u2").tobytes() + boxes.astype("<u2").tobytes()
        if self.certainties is None:
            return zlib.compress(struct.pack("<I", len(self)) + body, 1)
        body += np.rint(np.clip(self.certainties, 0, 1) * 255).astype("u1").tobytes()
        return zlib.compress(struct.pack("<I", len(self) | _HAS_CERTAINTIES) + body, 1)

    @classmethod
    def unpack(cls, data: bytes) -> Words:
        """Unpack the result of `pack`; empty bytes are no words. Raises `DamagedError`.

        The data may come from a reading process that a hostile file has taken over, so everything is checked.
        """
        if not data:
            return cls.of([], [])
        try:
            reader = zlib.decompressobj()
            raw = reader.decompress(data, _LARGEST)
            flags = struct.unpack_from("<I", raw)[0]
            count, has_certainties = flags & ~_HAS_CERTAINTIES, bool(flags & _HAS_CERTAINTIES)
            if reader.unconsumed_tail or len(raw) != 4 + (14 + has_certainties) * count:
                raise ValueError("not a list of words")
        except (zlib.error, struct.error, ValueError) as error:
            raise DamagedError(_("The words of a page are damaged.")) from error
        starts = np.frombuffer(raw, "<u4", count, 4).astype(np.int64)
        lengths = np.frombuffer(raw, "<u2", count, 4 + 4 * count).astype(np.int64)
        boxes = np.frombuffer(raw, "<u2", 4 * count, 4 + 6 * count).reshape(count, 4).astype(np.float64)
        sure = np.frombuffer(raw, "u1", count, 4 + 14 * count).astype(np.float64) / 255 if has_certainties else None
        return cls(starts, starts + lengths, boxes, sure)

    def certainty_of(self, start: int, end: int) -> float:
        """Return the least certainty of the words that touch `text[start:end]`; 1 where none is known."""
        if self.certainties is None:
            return 1.0
        touched = (self.starts < end) & (self.ends > start)
        return float(self.certainties[touched].min(initial=1.0))

    def boxes_of(self, start: int, end: int) -> tuple[Box, ...]:
        """Return boxes over the words that touch `text[start:end]`, joined along each line."""
        touched = np.flatnonzero((self.starts < end) & (self.ends > start))
        lines: list[list[float]] = []
        for x, y, w, h in self.boxes[touched]:
            if w <= 0 or h <= 0:
                continue
            last = lines[-1] if lines else None
            if last is not None and _same_line(last, x, y, h):
                right, bottom = max(last[0] + last[2], x + w), max(last[1] + last[3], y + h)
                last[1] = min(last[1], y)
                last[2], last[3] = right - last[0], bottom - last[1]
            else:
                lines.append([x, y, w, h])
        return tuple(Box(*map(float, line)) for line in lines)


def _same_line(line: list[float], x: float, y: float, h: float) -> bool:
    overlap = min(line[1] + line[3], y + h) - max(line[1], y)
    gap = x - (line[0] + line[2])
    return overlap > 0.5 * min(line[3], h) and -0.5 * h <= gap <= 3.0 * max(line[3], h)
