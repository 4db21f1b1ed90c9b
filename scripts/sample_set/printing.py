"""Write the PDFs and the scans, of pages of blocks."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont
from reportlab.graphics.shapes import Drawing, Polygon, PolyLine, Rect
from reportlab.lib.colors import HexColor, grey, whitesmoke
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.units import cm
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import PageBreak, Paragraph, SimpleDocTemplate, Spacer, Table
from sources import Block

FONT = Path(__file__).resolve().parents[2] / "src" / "docmind" / "fonts" / "DejaVuSans.ttf"
DPI = 150
MARGIN = 130
SIZES = {"h1": 38, "h2": 30}
STYLES = {
    "text": ParagraphStyle("text", fontName="Times-Roman", fontSize=11.5, leading=15.5, spaceAfter=8),
    "h1": ParagraphStyle("h1", fontName="Helvetica-Bold", fontSize=18, leading=22, spaceAfter=12),
    "h2": ParagraphStyle("h2", fontName="Helvetica-Bold", fontSize=13, leading=17, spaceBefore=8, spaceAfter=6),
}
CELL = ParagraphStyle("cell", parent=STYLES["text"], fontSize=10, leading=12.5, spaceAfter=0)


def pdf(pages: Sequence[Sequence[Block]], title: str) -> bytes:
    """Return a PDF with a text layer; the same pages give the same bytes."""
    out = io.BytesIO()
    story: list[Any] = []
    for number, blocks in enumerate(pages):
        story += [PageBreak()] if number else []
        story += [flowable for block in blocks for flowable in _flowables(block)]
    margins = {"leftMargin": 2.4 * cm, "rightMargin": 2.4 * cm, "topMargin": 2 * cm, "bottomMargin": 2 * cm}
    SimpleDocTemplate(out, pagesize=A4, title=title, author="", invariant=1, **margins).build(story)
    return out.getvalue()


def _flowables(block: Block) -> list[Any]:
    if block.kind == "drawing":
        return [DRAWINGS[block.text]()]
    if block.kind == "items":
        return [Paragraph(f"• {escape(item)}", STYLES["text"]) for (item,) in block.rows]
    if block.kind == "table":
        cells = [[Paragraph(escape(cell), CELL) for cell in row] for row in block.rows]
        lines = [("GRID", (0, 0), (-1, -1), 0.5, grey), ("BACKGROUND", (0, 0), (-1, 0), whitesmoke)]
        return [Table(cells, colWidths=[16.2 * cm / len(cells[0])] * len(cells[0]), style=lines), Spacer(1, 10)]
    return [Paragraph(escape(block.text), STYLES[block.kind])]


def plan() -> Drawing:
    """Draw a yard from above: a pond in the west, five trees in the north, a path from a gate to a shed in the east."""
    shore = [12, 350, 70, 372, 128, 350, 150, 372, 196, 340, 178, 300, 200, 262, 140, 240, 92, 268, 12, 250]
    way = [225, 60, 232, 130, 262, 190, 315, 225, 360, 245]
    drawing = Drawing(450, 600)
    drawing.add(Rect(10, 60, 430, 480, **_paint("#cfe3b0", "#000000")))
    drawing.add(Polygon(list(map(float, shore)), **_paint("#4d9be0")))
    for at in range(5):
        drawing.add(Polygon(_crown(60 + 82 * at, 480), **_paint("#2e7d32")))
    drawing.add(PolyLine(list(map(float, way)), strokeColor=HexColor("#b5651d"), strokeWidth=22))
    drawing.add(Rect(350, 215, 75, 75, **_paint("#c62828", "#000000")))
    return drawing


def chart() -> Drawing:
    """Draw four bars without words: green, yellow, orange and the highest, blue and the lowest."""
    drawing = Drawing(450, 600)
    for at, (color, height) in enumerate((("#43a047", 210), ("#fdd835", 150), ("#fb8c00", 330), ("#1e88e5", 60))):
        drawing.add(Rect(45 + 100 * at, 120, 65, height, **_paint(color, "#000000")))
    drawing.add(PolyLine([25.0, 520.0, 25.0, 120.0, 440.0, 120.0], strokeWidth=2))
    return drawing


def _crown(x: float, y: float) -> list[float]:
    """Return the outline of a tree from above, jagged, so that OCR does not take it for a letter."""
    turns = [(math.tau * at / 18, 46 if at % 2 else 30) for at in range(18)]
    return [part for turn, far in turns for part in (x + far * math.cos(turn), y + far * math.sin(turn))]


def _paint(fill: str, line: str = "") -> dict[str, Any]:
    return {"fillColor": HexColor(fill), "strokeColor": HexColor(line) if line else None}


DRAWINGS = {"plan": plan, "chart": chart}


def scanned(pages: Sequence[Sequence[Block]], seed: int) -> list[Image.Image]:
    """Return pages of A4 at 150 dots an inch, in greys, printed, slightly turned and with noise."""
    draw = np.random.default_rng(seed)
    return [_worn(_printed(blocks), draw) for blocks in pages]


def scan_pdf(images: Sequence[Image.Image], title: str) -> bytes:
    """Return a PDF whose pages are JPEG images without a text layer."""
    out = io.BytesIO()
    canvas = Canvas(out, pagesize=A4, invariant=1)
    canvas.setTitle(title)
    for image in images:
        data = io.BytesIO()
        image.save(data, "JPEG", quality=22)
        canvas.drawImage(ImageReader(data), 0, 0, *A4)
        canvas.showPage()
    canvas.save()
    return out.getvalue()


def scan_tiff(images: Sequence[Image.Image]) -> bytes:
    """Return a TIFF of several pages in black and white, as fax machines write it."""
    out = io.BytesIO()
    first, *others = [black_and_white(image) for image in images]
    first.save(out, "TIFF", compression="group4", dpi=(DPI, DPI), save_all=True, append_images=others)
    return out.getvalue()


def scan_png(image: Image.Image) -> bytes:
    """Return a PNG in black and white."""
    out = io.BytesIO()
    black_and_white(image).save(out, "PNG", dpi=(DPI, DPI), optimize=True)
    return out.getvalue()


def black_and_white(image: Image.Image) -> Image.Image:
    """Return an image whose pixels are black or white."""
    return image.point([0] * 150 + [255] * 106).convert("1", dither=Image.Dither.NONE)


def _printed(blocks: Sequence[Block]) -> Image.Image:
    page = Image.new("L", (round(8.27 * DPI), round(11.69 * DPI)), 250)
    draw = ImageDraw.Draw(page)
    top = float(MARGIN)
    for block in blocks:
        font = ImageFont.truetype(str(FONT), SIZES.get(block.kind, 23))
        width = (page.width - 2 * MARGIN) / len(block.rows[0])
        for row in block.rows:
            cells = [_wrapped(cell, font, width - 12) for cell in row]
            for at, lines in enumerate(cells):
                for number, line in enumerate(lines):
                    place = (MARGIN + at * width, top + number * font.size * 1.45)
                    draw.text(place, line, font=font, fill=25)
            top += max(map(len, cells)) * font.size * 1.45
        top += font.size * 0.8
    if top > page.height - MARGIN / 2:
        raise ValueError(f"too much text for one page: {blocks[0].text}")
    return page


def _wrapped(text: str, font: ImageFont.FreeTypeFont, width: float) -> list[str]:
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if font.getlength(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def _worn(page: Image.Image, draw: np.random.Generator) -> Image.Image:
    turned = page.rotate(float(draw.uniform(0.8, 1.5)), resample=Image.Resampling.BICUBIC, fillcolor=250)
    pixels = np.asarray(turned.filter(ImageFilter.GaussianBlur(0.9)), dtype=np.float32)
    shade = np.linspace(0, 28, page.width, dtype=np.float32)  # the lid of the scanner was not quite closed
    pixels = pixels - shade + draw.normal(0, 15, pixels.shape)
    specks = draw.random(pixels.shape) < 0.0012
    pixels[specks] = draw.uniform(60, 140, int(specks.sum()))
    return Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))
