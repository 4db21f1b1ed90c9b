"""Laid-out sheets as pages: drawn, with a box for every word."""

from __future__ import annotations

import re
from collections.abc import Iterable

from PIL import Image, ImageDraw

from docmind.errors import EmptyFileError
from docmind.readers import Rules
from docmind.readers.layout import HEIGHT, WIDTH, Block, Sheet, flow, font, line_height
from docmind.readers.picture import encode
from docmind.schema import ParsedPage
from docmind.words import Words

_WORD = re.compile(r"\S+")
# What no font draws and no reader wants; tabs and line ends are handled before.
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\xad\u200b\ufeff\ud800-\udfff\ufffe\uffff]")


def printable(text: str) -> str:
    """The text without control characters and other invisible marks."""
    return _CONTROL.sub("", text)


class LaidOut:
    """A document without pages of its own, on sheets. Raises `EmptyFileError` where no block holds text."""

    if_blank = EmptyFileError

    def __init__(self, blocks: Iterable[Block], title: str, name: str, rules: Rules) -> None:
        self._sheets = flow(blocks, name, rules.max_pages)
        self._rules = rules
        self.title = title
        self.pages = len(self._sheets)
        if not self._sheets:
            raise EmptyFileError(
                f"{name} holds no text.", hint="If it holds pictures only, save it as PDF and add that."
            )

    def page(self, page_no: int) -> ParsedPage:
        sheet = self._sheets[page_no - 1]
        image, words = _draw(sheet, self._rules.image_side_px / HEIGHT)
        picture = encode(image, self._rules)
        return ParsedPage(
            page_no=page_no,
            width=picture.width,
            height=picture.height,
            text=sheet.text,
            words=words.pack(),
            image=picture.image,
            thumbnail=picture.thumbnail,
            text_source="layer",
            confidence=1.0,
        )


def _draw(sheet: Sheet, scale: float) -> tuple[Image.Image, Words]:
    """Drawn grey at the size of the layout, then brought to the size that was asked for, boxes along with it."""
    image = Image.new("L", (WIDTH, HEIGHT), 255)
    pen = ImageDraw.Draw(image)
    spans: list[tuple[int, int]] = []
    boxes: list[tuple[float, float, float, float]] = []
    for line in sheet.lines:
        face, tall = font(line.face), line_height(line.face)
        x, last = line.x, 0
        for match in _WORD.finditer(line.text):
            x += face.getlength(line.text[last : match.start()])
            wide = face.getlength(match.group())
            pen.text((x, line.y), match.group(), fill=0, font=face)
            spans.append((line.start + match.start(), line.start + match.end()))
            boxes.append((x * scale, line.y * scale, wide * scale, 0.9 * tall * scale))
            x, last = x + wide, match.end()
    if scale != 1.0:
        size = (round(WIDTH * scale), round(HEIGHT * scale))
        image = image.resize(size, Image.Resampling.BILINEAR, reducing_gap=2.0)
    return image.convert("RGB"), Words.of(spans, boxes)
