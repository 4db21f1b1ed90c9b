"""Small documents made by the tests, and the larger measuring set beside the repository, if it is there."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

import docx
import openpyxl
from PIL import Image, ImageDraw

from bare import IS_BARE
from conftest import ROOT, require
from docmind.reading.formats import typeset

DEVSET = ROOT.parent / "shared" / ("no-eval" if IS_BARE else "eval") / "devset"


def manifest() -> list[dict[str, Any]]:
    """Return the rows of the damaged and odd files; none where the set is not here."""
    path = DEVSET / "bad_manifest.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def scan_truth() -> list[dict[str, Any]]:
    """Return the true text of scanned pages; none where the set is not here."""
    path = DEVSET / "scan_truth.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def devset(name: str) -> bytes:
    """Return a file of the set; the test is skipped where the set is not here."""
    require((DEVSET / name).exists(), f"no measuring set beside the repository: {name}")
    return (DEVSET / name).read_bytes()


def pdf(pages: Sequence[str], *, rotate: int = 0, box: str = "", title: str = "") -> bytes:
    """Write a PDF: each page has the given content stream, Helvetica as /F1, 612 by 792 points."""
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", ""]
    kids = []
    for content in pages:
        number = len(objects) + 1
        kids.append(f"{number} 0 R")
        objects += [
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] {box} /Rotate {rotate} /Contents {number + 1} 0 R "
            "/Resources << /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> >>",
            f"<< /Length {len(content)} >>\nstream\n{content}\nendstream",
        ]
    objects[1] = f"<< /Type /Pages /Kids [{' '.join(kids)}] /Count {len(kids)} >>"
    objects.append(f"<< /Title ({title}) >>")
    out, places = io.BytesIO(), []
    out.write(b"%PDF-1.4\n")
    for number, body in enumerate(objects, start=1):
        places.append(out.tell())
        out.write(f"{number} 0 obj\n{body}\nendobj\n".encode("latin-1"))
    start = out.tell()
    out.write(f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n".encode())
    out.write("".join(f"{place:010d} 00000 n \n" for place in places).encode())
    info = f"/Info {len(objects)} 0 R"
    out.write(f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R {info} >>\nstartxref\n{start}\n%%EOF".encode())
    return out.getvalue()


def scan(image: Image.Image, content: str, *, is_over: bool = True) -> bytes:
    """Write a PDF of one page that is a picture, with a content stream drawn over or under it."""
    out = io.BytesIO()
    image.convert("RGB").save(out, "JPEG", quality=85)
    data, (wide, high) = out.getvalue().hex() + ">", image.size
    inline = f"q 612 0 0 792 0 0 cm BI /W {wide} /H {high} /CS /RGB /BPC 8 /F [/AHx /DCT] ID {data} EI Q"
    return pdf([f"{inline} {content}" if is_over else f"{content} {inline}"])


def line(text: str, x: float = 72, y: float = 700, size: int = 24) -> str:
    """Return a content stream that shows one line."""
    return f"BT /F1 {size} Tf {x} {y} Td ({text}) Tj ET"


def picture(kind: str = "PNG", mode: str = "RGB", size: tuple[int, int] = (120, 80), **options: Any) -> bytes:
    """Return a picture with a dark left half."""
    image = Image.new(mode, size, "white")
    ImageDraw.Draw(image).rectangle((0, 0, size[0] // 2 - 1, size[1]), fill="black")
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def print_of(lines: Sequence[str], size: tuple[int, int] = (1_000, 400)) -> Image.Image:
    """Lines of print on a white sheet, as a scanner would see them."""
    image = Image.new("RGB", size, "white")
    pen = ImageDraw.Draw(image)
    for number, text in enumerate(lines):
        pen.text((40, 40 + 60 * number), text, fill="black", font=typeset.font("h2"))
    return image


def webp(image: Image.Image) -> bytes:
    out = io.BytesIO()
    image.save(out, "WEBP", quality=80, method=0)
    return out.getvalue()


def word_file() -> bytes:
    """Return a Word document with a heading, a paragraph, a table and a list."""
    document = docx.Document()
    document.core_properties.title = "The Orchard Report"
    document.add_heading("Apples", 1)
    document.add_paragraph("Orchards grow apples.")
    table = document.add_table(2, 2)
    for row, cells in zip(table.rows, (("Kind", "Weight"), ("Russet", "140 g")), strict=True):
        for cell, text in zip(row.cells, cells, strict=True):
            cell.text = text
    document.add_paragraph("first item", style="List Bullet")
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006"
_WORD_NAMES = (
    'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" '
    f'xmlns:r="{_OFFICE}/relationships" xmlns:m="{_OFFICE}/math" '
    'xmlns:w14="http://schemas.microsoft.com/office/word/2010/wordml" '
    'xmlns:w15="http://schemas.microsoft.com/office/word/2012/wordml" '
    'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" '
    'xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape" '
    'xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing" '
    'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" '
    'xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart" '
    'xmlns:dgm="http://schemas.openxmlformats.org/drawingml/2006/diagram" '
    'xmlns:v="urn:schemas-microsoft-com:vml" xmlns:o="urn:schemas-microsoft-com:office:office"'
)


def word_xml(
    body: str, parts: Mapping[str, str] | None = None, *, main: str = "word/document.xml", is_strict: bool = False
) -> bytes:
    """Return a Word document of the XML of its body and of other parts.

    A part is named by the type of its relationship, which is also its id, and a number: "header", "header2". An XML
    that begins with no "<w:" is a part as it stands.
    """
    folder = main.rpartition("/")[0]
    links, files = "", {main: f"<w:document {_WORD_NAMES}><w:body>{body}</w:body></w:document>"}
    for name, xml in (parts or {}).items():
        kind = name.rstrip("0123456789")
        root = {"header": "hdr", "footer": "ftr"}.get(kind, kind)
        files[f"{folder}/{name}.part"] = f"<w:{root} {_WORD_NAMES}>{xml}</w:{root}>" if xml.startswith("<w:") else xml
        links += f'<Relationship Id="{name}" Type="{_OFFICE}/relationships/{kind}" Target="{name}.part"/>'
    relations = "http://schemas.openxmlformats.org/package/2006/relationships"
    document = f'<Relationship Id="d" Type="{_OFFICE}/relationships/officeDocument" Target="{main}"/>'
    files[f"{folder}/_rels/{main.rpartition('/')[2]}.rels"] = (
        f'<Relationships xmlns="{relations}">{links}</Relationships>'
    )
    files["_rels/.rels"] = f'<Relationships xmlns="{relations}">{document}</Relationships>'
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        for name, xml in files.items():
            strict = re.sub(r"http://schemas.openxmlformats.org/(\w+)/2006/", r"http://purl.oclc.org/ooxml/\1/", xml)
            archive.writestr(name, strict if is_strict and not name.endswith("_rels/.rels") else xml)
    return out.getvalue()


def para(text: str = "", properties: str = "", runs: str = "") -> str:
    """Return the XML of a paragraph of Word: a text, then runs as they stand."""
    said = f'<w:r><w:t xml:space="preserve">{text}</w:t></w:r>' if text else ""
    return f"<w:p><w:pPr>{properties}</w:pPr>{said}{runs}</w:p>"


def word_table(rows: Sequence[Sequence[str | tuple[str, str]]], before: str = "", header: int = 0) -> str:
    """Return the XML of a table of Word; a cell is a text, or a text with the XML of its properties."""
    xml = ""
    for number, row in enumerate(rows):
        cells = (cell if isinstance(cell, tuple) else (cell, "") for cell in row)
        said = "".join(f"<w:tc><w:tcPr>{about}</w:tcPr>{para(text)}</w:tc>" for text, about in cells)
        xml += f"<w:tr><w:trPr>{'<w:tblHeader/>' if number < header else ''}</w:trPr>{said}</w:tr>"
    return f"<w:tbl><w:tblPr>{before}</w:tblPr>{xml}</w:tbl>"


def workbook(rows: Sequence[Sequence[Any]], cells: Mapping[str, Any] | None = None) -> bytes:
    """Return a workbook of rows, and of further cells by their place."""
    book = openpyxl.Workbook()
    for row in rows:
        book.worksheets[0].append(list(row))
    for place, value in (cells or {}).items():
        book.worksheets[0][place] = value
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def book(chapters: Sequence[str], *, container: bool = True) -> bytes:
    """Return an EPUB of the chapters' bodies."""
    named = {
        f"c{number}.xhtml": ("", f"<?xml version='1.0'?><html><body>{body}</body></html>".encode())
        for number, body in enumerate(chapters)
    }
    return packed_book(named, {}, container=container)


def packed_book(
    chapters: dict[str, tuple[str, bytes]],
    parts: dict[str, tuple[str, bytes]],
    meta: str = "",
    *,
    container: bool = True,
) -> bytes:
    """Return an EPUB of chapters and other parts, each name: (media type, bytes)."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("mimetype", "application/epub+zip")
        if container:
            archive.writestr(
                "META-INF/container.xml",
                '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
                '<rootfile full-path="O/p.opf"/></rootfiles></container>',
            )
        listed = (chapters | parts).items()
        items = "".join(f'<item id="{name}" href="{quote(name)}" media-type="{kind}"/>' for name, (kind, _) in listed)
        spine = "".join(f'<itemref idref="{name}"/>' for name in chapters)
        archive.writestr(
            "O/p.opf",
            '<package xmlns="http://www.idpf.org/2007/opf"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/">'
            f"<dc:title>The Book of Trees</dc:title>{meta}</metadata>"
            f"<manifest>{items}</manifest><spine>{spine}</spine></package>",
        )
        for name, (_, data) in listed:
            archive.writestr(f"O/{name}", data)
    return out.getvalue()
