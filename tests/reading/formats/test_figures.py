"""Pictures inside files: what is a figure, where it stands, what its caption is, and what is left."""

from __future__ import annotations

import base64
import io
import json
import random
import struct
import zipfile
import zlib
from collections.abc import Callable

import docx
import pytest
from docx.shared import Cm
from PIL import Image, ImageDraw
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

import decks
import papers
from archives import packed
from docmind.blocks import Block, Losses
from docmind.errors import ReadingError
from docmind.reading.figures import LARGEST, LONGEST_SIDE, MOST_OF_PAGE, is_webp
from docmind.reading.file_type import identify, is_plain
from docmind.reading.formats import Opened, Rules, reader
from docmind.reading.formats.captions import is_of_figure
from docmind.reading.formats.figures import encode, encoded, picture_at, picture_in
from docmind.reading.formats.typeset import LaidOut, draw_sheet
from docmind.records.documents import Loss, PageFigure, ParsedPage, Upload
from sampled import tenth_of

PROSE = "The parties agree that this contract is governed by the laws of the land and of the sea."
RULES = Rules(marks=False)


def photo(seed: int = 1, size: tuple[int, int] = (300, 200), kind: str = "PNG") -> bytes:
    """Return a picture that no other seed has: a disc of one colour on another."""
    chance = random.Random(seed)
    image = Image.new("RGB", size, tuple(chance.randrange(100) for _ in range(3)))
    ImageDraw.Draw(image).ellipse((20, 20, 120, 120), fill=tuple(150 + chance.randrange(100) for _ in range(3)))
    out = io.BytesIO()
    image.save(out, kind)
    return out.getvalue()


def opened(name: str, data: bytes) -> Opened:
    kind, upload = identify(Upload(name, data))
    return reader(kind)(upload, kind, RULES)


def pages(file: Opened) -> list[ParsedPage]:
    return [file.page(number) for number in range(1, file.pages + 1)]


def figures(name: str, data: bytes) -> list[PageFigure]:
    return [figure for page in pages(opened(name, data)) for figure in page.figures]


def laid_out(*blocks: Block, losses: Losses | None = None) -> LaidOut:
    return LaidOut(blocks, {}, "a", RULES, losses)


def shown(data: bytes, text: str = "") -> Block:
    return Block(kind="figure", text=text, picture=picture_in(data))


def para(text: str = PROSE) -> Block:
    return Block(kind="paragraph", text=text)


# What is a picture


def png_of(width: int, height: int) -> bytes:
    """Return the header of a picture without its pixels."""
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunk = b"IHDR" + head
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + chunk + struct.pack(">I", zlib.crc32(chunk)) + b"\0" * 20


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (photo(size=(31, 400)), "a line"),
        (photo(size=(50, 50)), "an icon"),
        (photo(size=(6_000, 40)), "a strip"),
        (png_of(40_000, 40_000), "a bomb"),
        (b"\x01\x00\x00\x00 EMF", "a metafile"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "a drawing in XML"),
        (b"", "nothing"),
    ],
)
def test_what_is_no_figure(data: bytes, why: str) -> None:
    assert picture_in(data) is None, why


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP"])
def test_pictures_are_encoded_again(kind: str) -> None:
    data = photo(kind=kind)
    picture = picture_in(data)
    assert picture is not None
    assert (picture.width, picture.height) == (300, 200)
    image = encoded(picture)
    assert is_webp(image)
    assert image not in data
    assert Image.open(io.BytesIO(image)).size == (300, 200)


@pytest.mark.slow
def test_a_picture_is_kept_within_the_limits() -> None:
    noise = Image.effect_noise((3_000, 2_400), 200).convert("RGB")
    image = encode(noise)
    assert len(image) <= LARGEST
    assert max(Image.open(io.BytesIO(image)).size) <= LONGEST_SIDE


def test_a_picture_whose_pixels_are_broken_is_a_loss() -> None:
    file = laid_out(para(), Block(kind="figure", picture=picture_in(photo()[:200])))
    assert [page.figures for page in pages(file)] == [()]
    assert file.losses == (Loss("picture", 1, "page 1"),)


def test_addresses_that_hold_their_data() -> None:
    said = base64.b64encode(photo()).decode()
    assert picture_at(f"data:image/png;base64,{said}") is not None
    assert picture_at(f"data:image/png;charset=utf-8;base64,{said[:40]} {said[40:]}") is not None
    assert picture_at("https://example.org/a.png") is None
    assert picture_at("data:image/svg+xml;base64,PHN2Zy8+") is None
    assert picture_at("data:image/png;base64,====") is None


# Pages that are laid out


def test_a_picture_has_its_place_and_its_caption_below_it() -> None:
    caption = "Figure 1: A disc on a field"
    (page,) = pages(laid_out(para(), shown(photo(), "A disc"), para(caption), para("The end.")))
    (figure,) = page.figures
    assert (figure.text, figure.caption, figure.size) == ("A disc", caption, (300, 200))
    assert page.text[figure.start : figure.end] == caption
    x, y, width, height = figure.box
    assert width > 300
    assert abs(width / height - 1.5) < 0.02
    assert x + width <= page.width
    assert y + height <= page.height
    drawn = draw_sheet(page.image, [figure.image])
    assert drawn.getpixel((x + 5, y + 5)) != (255, 255, 255)
    assert drawn.crop((x, y - 20, x + width, y - 2)).convert("L").getextrema()[1] == 255
    assert draw_sheet(page.image).mode == "L"  # without the picture its place is empty


def test_words_do_not_stand_on_a_picture() -> None:
    (page,) = pages(laid_out(para(), shown(photo()), para()))
    (figure,) = page.figures
    empty = draw_sheet(page.image)
    x, y, width, height = figure.box
    assert empty.crop((x, y, x + width, y + height)).getextrema() == (255, 255)


def test_captions_above_pictures_and_pictures_without_one() -> None:
    (page,) = pages(
        laid_out(
            para(), Block(kind="caption", text="Fig. 1 Above"), shown(photo(1)),
            Block(kind="caption", text="Fig. 2 Above too"), shown(photo(2)), para(), shown(photo(3), "Said"),
        )
    )  # fmt: skip
    assert [(each.caption, each.text) for each in page.figures] == [
        ("Fig. 1 Above", ""), ("Fig. 2 Above too", ""), ("", "Said"),
    ]  # fmt: skip
    last = page.figures[-1]
    assert page.text[last.start : last.end] == "Said"


def test_pictures_side_by_side_share_the_caption_below_them() -> None:
    (page,) = pages(laid_out(para(), shown(photo(1)), shown(photo(2)), para("Figure 4. Both.")))
    assert [each.caption for each in page.figures] == ["Figure 4. Both."] * 2


@pytest.mark.parametrize(
    ("block", "is_caption"),
    [
        (para("Figure 3: Rain by month"), True),
        (para("Abbildung 2. Regen"), True),
        (para("Gráfico 1 – Chuva"), True),
        (para("Figure 3 shows that it rains."), False),
        (Block(kind="caption", text="Rain by month"), True),
        (Block(kind="caption", text="Table 2: Rain"), False),
        (Block(kind="caption", text="In [3]:"), False),
    ],
)
def test_what_is_the_caption_of_a_figure(block: Block, is_caption: bool) -> None:
    assert is_of_figure(block) is is_caption


def test_a_picture_that_stands_everywhere_is_an_ornament() -> None:
    blocks = [block for number in range(8) for block in (para(f"Part {number}."), shown(photo(), "Logo"))]
    found = [figure for page in pages(laid_out(*blocks)) for figure in page.figures]
    assert len(found) == 3


@pytest.mark.slow
def test_most_pictures_of_a_page() -> None:
    losses = Losses()
    small = [shown(photo(number, (400, 33))) for number in range(200)]
    file = laid_out(para(), *small, losses=losses)
    assert sum(len(page.figures) for page in pages(file)) <= 200
    assert max(len(page.figures) for page in pages(file)) <= MOST_OF_PAGE


def test_most_pixels_of_a_document(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("docmind.reading.formats.typeset.MOST_PIXELS", 2 * 300 * 200)
    file = laid_out(para(), *(shown(photo(number)) for number in range(3)))
    assert sum(len(page.figures) for page in pages(file)) == 2
    assert [(loss.kind, loss.count) for loss in file.losses] == [("picture", 1)]


def test_sheets_of_pages_without_pictures_are_as_before() -> None:
    (page,) = pages(laid_out(para()))
    assert page.figures == ()
    assert b"pictures" not in zlib.decompress(page.image[5:])


# Formats


def web_page() -> bytes:
    said = base64.b64encode(photo()).decode()
    return (
        f"<html><body><p>{PROSE}</p><figure><img alt='A disc' src='data:image/png;base64,{said}'>"
        f"<figcaption>Figure 1. A disc</figcaption></figure><p>{PROSE}</p></body></html>"
    ).encode()


def word() -> bytes:
    file = docx.Document()
    file.add_paragraph(PROSE)
    file.add_picture(io.BytesIO(photo()), width=Cm(6))
    file.inline_shapes[0]._inline.docPr.set("descr", "A disc")
    file.add_paragraph("Figure 1. A disc", style="Caption")
    out = io.BytesIO()
    file.save(out)
    return out.getvalue()


def rich_text() -> bytes:
    digits = "\n".join(photo().hex()[at : at + 100] for at in range(0, 2 * len(photo()), 100))
    picture = f"{{\\pict{{\\*\\picprop{{\\sp{{\\sn wzDescription}}{{\\sv A disc}}}}}}\\pngblip\\picw300 {digits}}}"
    return f"{{\\rtf1\\ansi {PROSE}\\par {picture}\\par Figure 1. A disc\\par {PROSE}}}".encode()


def mail() -> bytes:
    said = base64.b64encode(photo()).decode()
    return (
        "From: a@example.org\r\nSubject: A disc\r\nMIME-Version: 1.0\r\nContent-Type: multipart/related; boundary=B\r\n"
        f"\r\n--B\r\nContent-Type: text/html\r\n\r\n<p>{PROSE}</p><p><img alt='A disc' src='cid:disc@x'></p>"
        "<p>Figure 1. A disc</p>\r\n--B\r\nContent-Type: image/png\r\nContent-ID: <disc@x>\r\n"
        f"Content-Transfer-Encoding: base64\r\nContent-Disposition: inline\r\n\r\n{said}\r\n--B--\r\n"
    ).encode()


def saved_page() -> bytes:
    said = base64.b64encode(photo()).decode()
    return (
        "From: <Saved by a browser>\r\nSubject: A disc\r\nMIME-Version: 1.0\r\n"
        'Content-Type: multipart/related; type="text/html"; boundary=B\r\n\r\n--B\r\nContent-Type: text/html\r\n'
        f"Content-Location: http://example.org/a/b.html\r\n\r\n<p>{PROSE}</p>"
        "<p><img alt='A disc' src='../disc.png'></p><p>Figure 1. A disc</p>\r\n--B\r\n"
        "Content-Type: image/png\r\nContent-Location: http://example.org/disc.png\r\n"
        f"Content-Transfer-Encoding: base64\r\n\r\n{said}\r\n--B--\r\n"
    ).encode()


def book() -> bytes:
    chapter = (
        f"<html><body><p>{PROSE}</p><p><img alt='A disc' src='../pic/a%20disc.png'/></p><p>Figure 1. A disc</p></body>"
        "</html>"
    )
    return papers.packed_book(
        {"text/one.xhtml": ("application/xhtml+xml", chapter.encode())}, {"pic/a disc.png": ("image/png", photo())}
    )


def slides() -> bytes:
    shapes = decks.picture("A disc", blip='r:embed="rId0"') + decks.shape(decks.para("Figure 1. A disc"))
    whole = decks.deck([decks.SlideOf(shapes, parts=(("image", "a.png", ""),))])
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(whole)) as before, zipfile.ZipFile(out, "w") as after:
        for name in before.namelist():
            after.writestr(name, photo() if name.endswith("a.png") else before.read(name))
    return out.getvalue()


def open_text() -> bytes:
    urn = "urn:oasis:names:tc:opendocument:xmlns:"
    names = {"office": "office", "text": "text", "draw": "drawing", "svg": "svg-compatible"}
    spaces = " ".join(f'xmlns:{name}="{urn}{said}:1.0"' for name, said in names.items())
    body = (
        f"<text:p>{PROSE}</text:p><text:p><draw:frame><draw:image xlink:href='Pictures/a.png'/>"
        "<svg:desc>A disc</svg:desc></draw:frame></text:p><text:p>Figure 1. A disc</text:p>"
    )
    content = (
        f'<office:document-content {spaces} xmlns:xlink="http://www.w3.org/1999/xlink"><office:body><office:text>{body}'
        "</office:text></office:body></office:document-content>"
    )
    kind = "application/vnd.oasis.opendocument.text"
    return packed({"mimetype": kind, "content.xml": content, "Pictures/a.png": photo()})


FILES: dict[str, Callable[[], bytes]] = {
    "a.epub": book, "a.pptx": slides, "a.odt": open_text,
    "a.html": web_page, "a.docx": word, "a.rtf": rich_text, "a.eml": mail, "a.mht": saved_page,
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_a_picture_in_a_file_is_a_figure(name: str) -> None:
    file = opened(name, FILES[name]())
    (figure,) = [figure for page in pages(file) for figure in page.figures]
    assert (figure.text, figure.caption, figure.size) == ("A disc", "Figure 1. A disc", (300, 200))
    assert not [loss for loss in file.losses if "picture" in loss.kind]


def test_the_picture_of_an_output_is_a_figure_and_no_text() -> None:
    said = base64.b64encode(photo()).decode()
    output = {"output_type": "display_data", "data": {"image/png": said, "text/plain": "<Figure size 640x480>"}}
    cell = {"cell_type": "code", "source": "plot()", "outputs": [output], "execution_count": 1}
    data = json.dumps({"cells": [cell, {**cell, "execution_count": 2, "outputs": []}], "nbformat": 4, "metadata": {}})
    file = opened("a.ipynb", data.encode())
    (page,) = pages(file)
    assert [(each.size, each.caption) for each in page.figures] == [((300, 200), "")]
    assert "<Figure size" not in page.text
    assert said[:20] not in page.text
    assert file.losses == ()


def test_a_picture_that_is_only_linked_stays_a_loss() -> None:
    file = opened("a.html", f"<p>{PROSE}</p><img src='https://example.org/a.png'>".encode())
    assert [page.figures for page in pages(file)] == [()]
    assert file.losses == (Loss("picture", 1),)


@pytest.mark.parametrize("name", ["a.docx", "a.eml", "a.html", "a.mht", "a.pptx", "a.rtf"])
def test_damaged_files_end_in_a_sentence(name: str) -> None:
    whole = FILES[name]()
    for seed in tenth_of(range(25)):
        chance = random.Random(seed)
        data = bytearray(whole[: chance.randrange(len(whole) // 2, len(whole))] if seed % 3 == 0 else whole)
        for _ in range(chance.randrange(1, 30)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        try:
            for page in pages(opened(name, bytes(data))):
                assert all(is_webp(figure.image) for figure in page.figures)
        except ReadingError:
            pass


# PDF


def printed(draw: Callable[[Canvas], None], count: int = 1) -> bytes:
    """Return a PDF of pages of 600 by 800 points with running text at the top and at the foot."""
    out = io.BytesIO()
    canvas = Canvas(out, pagesize=(600, 800))
    for _number in range(count):
        canvas.setFont("Helvetica", 11)
        for at in range(8):
            canvas.drawString(60, 740 - 14 * at, f"{PROSE}"[:92])
            canvas.drawString(60, 60 + 14 * at, f"{PROSE}"[:92])
        draw(canvas)
        canvas.showPage()
    canvas.save()
    return out.getvalue()


def picture_drawn(canvas: Canvas, x: float, y: float, width: float, height: float, seed: int = 1) -> None:
    canvas.drawImage(ImageReader(io.BytesIO(photo(seed))), x, y, width, height)


def caption_drawn(canvas: Canvas, y: float, text: str = "Figure 1: Rain by month in the valley.") -> None:
    canvas.setFont("Helvetica", 9)
    canvas.drawString(180, y, text)


def test_a_picture_of_a_pdf_with_its_caption() -> None:
    def draw(canvas: Canvas) -> None:
        picture_drawn(canvas, 150, 300, 300, 200)
        caption_drawn(canvas, 284)

    (page,) = pages(opened("a.pdf", printed(draw)))
    (figure,) = page.figures
    assert (figure.size, figure.kind) == ((300, 200), "graphic")
    assert figure.caption == "Figure 1: Rain by month in the valley."
    assert page.text[figure.start : figure.end] == figure.caption
    assert all(abs(is_at - at) <= 12 for is_at, at in zip(figure.box, (300, 600, 600, 400), strict=True))
    image = Image.open(io.BytesIO(figure.image)).convert("RGB")
    assert image.size == figure.box[2:]
    assert image.getpixel((image.width - 20, 20)) != (255, 255, 255)


def test_a_jpeg_is_a_photo() -> None:
    def draw(canvas: Canvas) -> None:
        canvas.drawImage(ImageReader(io.BytesIO(photo(kind="JPEG"))), 150, 300, 300, 200)
        caption_drawn(canvas, 284)

    assert [figure.kind for figure in figures("a.pdf", printed(draw))] == ["photo"]
    kinds = {"PNG": "graphic", "GIF": "graphic", "BMP": "graphic", "JPEG": "photo", "TIFF": "photo", "WEBP": "photo"}
    for kind, name in kinds.items():
        (page,) = pages(laid_out(para(), shown(photo(kind=kind))))
        assert [figure.kind for figure in page.figures] == [name], kind


def test_a_chart_of_lines_is_found_by_its_caption() -> None:
    def draw(canvas: Canvas) -> None:
        for at in range(6):
            canvas.rect(180 + 40 * at, 300, 25, 30 + 20 * at, fill=1)
            canvas.setFont("Helvetica", 8)
            canvas.drawString(182 + 40 * at, 288, f"M{at}")
        canvas.line(170, 300, 430, 300)
        caption_drawn(canvas, 268)

    (page,) = pages(opened("a.pdf", printed(draw)))
    (figure,) = page.figures
    x, y, width, height = figure.box
    assert figure.caption.startswith("Figure 1")
    assert figure.kind == "drawing"
    assert 320 < x < 345
    assert 500 < width < 540
    assert y + height < 2 * (800 - 268)
    assert y + height > 2 * (800 - 290)
    assert y > 2 * (800 - 440)


def bars(canvas: Canvas, x: float, y: float, width: float) -> None:
    canvas.setFont("Helvetica", 7)
    canvas.line(x, y, x + width, y)
    for at in range(5):
        canvas.rect(x + 10 + at * width / 5, y, width / 8, 20 * (at + 1), fill=1)
        canvas.drawString(x + 10 + at * width / 5, y - 9, f"Q{at}")


@pytest.mark.slow
def test_charts_of_columns_and_of_panels() -> None:
    def column(canvas: Canvas, x: float, top: float, count: int) -> None:
        canvas.setFont("Helvetica", 9)
        for at in range(count):
            canvas.drawString(x, top - 11 * at, PROSE[:50])

    def draw(canvas: Canvas) -> None:
        canvas.showPage()
        column(canvas, 40, 760, 12)
        column(canvas, 320, 760, 60)
        bars(canvas, 70, 480, 200)
        canvas.drawString(40, 455, "Figure 1: In the left column.")
        column(canvas, 40, 430, 30)
        canvas.showPage()
        bars(canvas, 60, 640, 200)
        bars(canvas, 340, 640, 200)
        canvas.drawString(120, 615, "(a) The first of two")
        canvas.drawString(400, 615, "(b) The second of two")
        canvas.drawString(
            40, 596, "Figure 2: Two panels over the whole width of the page, one for each year of the study in the sea."
        )
        column(canvas, 40, 570, 40)
        column(canvas, 320, 570, 40)

    one, two = [figure for page in pages(opened("a.pdf", printed(draw))) for figure in page.figures]
    assert one.caption.startswith("Figure 1")
    assert two.caption.startswith("Figure 2")
    assert 120 < one.box[0] < 145
    assert one.box[0] + one.box[2] < 600
    assert one.box[1] > 2 * (800 - 640)  # not into the text above
    assert two.box[2] > 900  # both panels


def test_a_table_above_a_caption_is_no_part_of_the_figure() -> None:
    def draw(canvas: Canvas) -> None:
        canvas.setFont("Helvetica", 9)
        for at in (560, 500):
            canvas.line(150, at, 450, at)
        canvas.drawString(180, 480, "Table 1: The rain of the land.")
        bars(canvas, 150, 340, 300)
        canvas.drawString(180, 310, "Figure 1: The rain of the sea.")

    (figure,) = figures("a.pdf", printed(draw))
    assert figure.box[1] > 2 * (800 - 480)


@pytest.mark.slow
def test_a_scan_under_a_printed_head_is_no_figure() -> None:
    image = io.BytesIO()
    papers.print_of([PROSE[:70]] * 20, (1_400, 1_300)).save(image, "PNG")
    out = io.BytesIO()
    canvas = Canvas(out, pagesize=(600, 800))
    canvas.drawString(60, 770, "Case 2 filed 09/13/18")
    canvas.drawImage(ImageReader(image), 20, 150, 560, 560)
    canvas.save()
    (page,) = pages(opened("a.pdf", out.getvalue()))
    assert page.needs_ocr
    assert page.figures == ()


def test_a_caption_above_its_figure() -> None:
    def draw(canvas: Canvas) -> None:
        caption_drawn(canvas, 520)
        picture_drawn(canvas, 150, 300, 300, 200)

    (figure,) = figures("a.pdf", printed(draw))
    assert figure.caption.startswith("Figure 1")
    assert abs(figure.box[1] - 600) < 8


def test_strips_are_one_picture_and_a_scan_is_the_page() -> None:
    def strips(canvas: Canvas) -> None:
        for at in range(5):
            picture_drawn(canvas, 150, 260 + 40 * at, 300, 40, at)

    (figure,) = figures("a.pdf", printed(strips))
    assert abs(figure.box[3] - 400) < 12
    assert figures("a.pdf", printed(lambda canvas: picture_drawn(canvas, 0, 0, 600, 800))) == []


@pytest.mark.slow
def test_ornaments_of_a_pdf_are_left_out() -> None:
    def draw(canvas: Canvas) -> None:
        picture_drawn(canvas, 60, 762, 60, 30)  # a logo in the head
        picture_drawn(canvas, 300, 400, 20, 20, 2)  # an icon
        picture_drawn(canvas, 150, 250, 300, 200, 3)

    found = [page.figures for page in pages(opened("a.pdf", printed(draw, 4)))]
    assert [len(each) for each in found] == [1, 0, 0, 0]  # what stands at one place of all pages is no figure


def test_pictures_in_forms_and_on_turned_pages() -> None:
    def draw(canvas: Canvas) -> None:
        canvas.beginForm("drawn")
        picture_drawn(canvas, 0, 0, 150, 100)
        canvas.endForm()
        canvas.saveState()
        canvas.translate(150, 300)
        canvas.scale(2, 2)
        canvas.doForm("drawn")
        canvas.restoreState()
        canvas.setPageRotation(90)

    (page,) = pages(opened("a.pdf", printed(draw)))
    (figure,) = page.figures
    assert all(abs(is_at - at) <= 12 for is_at, at in zip(figure.box, (600, 300, 400, 600), strict=True))


def test_a_reference_to_a_figure_is_no_caption() -> None:
    def draw(canvas: Canvas) -> None:
        canvas.setFont("Helvetica", 11)
        canvas.drawString(60, 628, "Figure 2 shows that it rains in the valley and on the hills of the land.")
        canvas.line(60, 600, 500, 600)

    assert figures("a.pdf", printed(draw)) == []


@pytest.mark.slow
def test_papers_of_the_measuring_set() -> None:
    file = opened("a.pdf", papers.devset("docs/en_acl_programfc.pdf"))
    found = {number: [each.caption[:8] for each in file.page(number).figures] for number in (2, 7, 8)}
    assert found == {2: ["Figure 1"], 7: ["Figure 4", "Figure 5"], 8: ["Figure 6"]}


# Pictures in Markdown


def test_pictures_in_markdown_are_figures() -> None:
    one, two, three = (f"data:image/png;base64,{base64.b64encode(photo(seed)).decode()}" for seed in (1, 2, 3))
    pictures = f"![A disc]({one})\n*Figure 1. The pump*\n\n![Alone]({three})\n\nSee ![the valve]({two}) here."
    text = f"# Pumps\n\n{PROSE}\n\n{pictures}"
    (page,) = pages(opened("a.md", text.encode()))
    assert [(each.text, each.caption) for each in page.figures][1:] == [("Alone", ""), ("", "")]
    assert len({each.image for each in page.figures}) == 3
    assert "See the valve here." in page.text
    assert "base64" not in page.text
    for written in (
        f"<img src='{one}' alt='A disc'>",
        f"![A disc][d]\n\n[d]: {one}",
        f"<p align=center><img alt='A disc' src={one}></p>",
    ):
        file = opened("a.md", f"{PROSE}\n\n{written}\n".encode())
        (page,) = pages(file)
        assert [(each.text, each.size) for each in page.figures] == [("A disc", (300, 200))], written
        assert page.text.count("A disc") == 1
        assert file.losses == ()
    for table in (
        f"| a | b |\n|---|---|\n| 1 | ![A disc]({one}) |",
        f"<table><tr><td>1<td><img src='{one}' alt='A disc'></table>",
    ):
        (page,) = pages(opened("a.md", f"{PROSE}\n\n{table}\n".encode()))
        assert len(page.figures) == 1, table


def test_a_picture_in_markdown_that_is_not_decoded_is_its_words_or_a_loss() -> None:
    said = "![](data:image/png;base64,AAAA) ![A map](data:image/png;base64,AAAA)\n\n![x](data:image/png;kept,7)"
    file = opened("a.md", f"{PROSE}\n\n{said}".encode())
    (page,) = pages(file)
    assert page.figures == ()
    assert "A map" in page.text
    assert file.losses == (Loss("picture", 1),)


def test_markdown_with_pictures_has_a_process_of_its_own() -> None:
    assert is_plain(Upload("a.md", b"# Pumps\n\n![A disc](a.png)"))
    assert not is_plain(Upload("a.md", b"# Pumps\n\n![A disc](data:image/png;base64,AAAA)"))


def test_pictures_attached_to_a_cell_are_figures() -> None:
    said = base64.b64encode(photo()).decode()
    cell = {
        "cell_type": "markdown",
        "source": "![A disc](attachment:a%20b.png)\n\nText.",
        "attachments": {"a b.png": {"image/png": said}},
    }
    data = json.dumps({"cells": [cell], "nbformat": 4, "metadata": {}})
    (page,) = pages(opened("a.ipynb", data.encode()))
    assert [(each.text, each.size) for each in page.figures] == [("A disc", (300, 200))]
