"""Workbooks of other formats than Excel's current one, written by code: OpenDocument, and records of Excel's own."""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Mapping, Sequence
from typing import Any

import xlwt

ODS = "application/vnd.oasis.opendocument.spreadsheet"
_NAMES = {
    **{name: name for name in ("office", "text", "table", "style", "chart", "config", "meta")},
    "draw": "drawing",
}
NAMESPACES = " ".join(
    [f'xmlns:{prefix}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for prefix, name in _NAMES.items()]
    + [f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}-compatible:1.0"' for name in ("svg",)]
    + [
        'xmlns:fo="urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0"',
        'xmlns:xlink="http://www.w3.org/1999/xlink"',
        'xmlns:dc="http://purl.org/dc/elements/1.1/"',
        'xmlns:calcext="urn:org:documentfoundation:names:experimental:calc:xmlns:calcext:1.0"',
    ]
)
_VALUES = {"date": "date-value", "time": "time-value", "boolean": "boolean-value"}


def ods(body: str, *, looks: str = "", masters: str = "", more: Mapping[str, str] | None = None) -> bytes:
    """Return a spreadsheet of OpenDocument, from the XML of its tables, styles and master pages."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("mimetype", ODS)
        packed.writestr("content.xml", _content("document-content", "", body, looks))
        if masters:
            packed.writestr(
                "styles.xml",
                f"<office:document-styles {NAMESPACES}><office:master-styles>{masters}</office:master-styles>"
                "</office:document-styles>",
            )
        for name, text in (more or {}).items():
            packed.writestr(name, text)
    return out.getvalue()


def fods(body: str) -> bytes:
    """Return the same in one file of XML."""
    said = _content("document", f'office:mimetype="{ODS}"', body, "")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{said}'.encode()


def _content(name: str, more: str, body: str, looks: str) -> str:
    return (
        f"<office:{name} {NAMESPACES} {more}><office:automatic-styles>{looks}</office:automatic-styles>"
        f"<office:body><office:spreadsheet>{body}</office:spreadsheet></office:body></office:{name}>"
    )


def ods_table(name: str, *rows: str, more: str = "") -> str:
    """Return a sheet from the XML of its rows."""
    return f'<table:table table:name="{name}" {more}>{"".join(rows)}</table:table>'


def ods_row(*cells: str, more: str = "") -> str:
    """Return a row; a cell is XML, or a text."""
    said = "".join(cell if cell.startswith("<") else ods_cell(cell) for cell in cells)
    return f"<table:table-row {more}>{said}</table:table-row>"


def ods_cell(shown: str | None, value: str = "", kind: str = "string", *, more: str = "", inside: str = "") -> str:
    """Return a cell: what it shows, None for nothing, and its value of a kind."""
    said = f'office:{_VALUES.get(kind, "value")}="{value}"' if value else ""
    text = "" if shown is None else f"<text:p>{shown}</text:p>"
    return f'<table:table-cell office:value-type="{kind}" {said} {more}>{inside}{text}</table:table-cell>'


def xls(sheets: Mapping[str, Sequence[Sequence[Any]]]) -> bytes:
    """Return an Excel workbook of before 2007. A cell is a value, or a value and the code of its format."""
    book = xlwt.Workbook(encoding="utf-8")
    for name, rows in sheets.items():
        sheet = book.add_sheet(name)
        for row, cells in enumerate(rows):
            for column, cell in enumerate(cells):
                value, code = cell if isinstance(cell, tuple) else (cell, "General")
                if value is not None:
                    sheet.write(row, column, value, xlwt.easyxf(num_format_str=code))
    return saved(book)


def saved(book: xlwt.Workbook) -> bytes:
    """Return the bytes of a workbook."""
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def wide(text: str) -> bytes:
    """Return a text as the records of a binary workbook have it."""
    return struct.pack("<I", len(text)) + text.encode("utf-16-le")


def record(number: int, body: bytes = b"") -> bytes:
    """Return a record of a binary workbook."""
    return _seven(number) + _seven(len(body)) + body


def _seven(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def xlsb(
    sheet: bytes, *, styles: bytes = b"", strings: bytes = b"", is_1904: bool = False, comments: bytes = b""
) -> bytes:
    """Return a binary workbook of one sheet, from the records of its parts."""
    kinds = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"

    def links(*pairs: tuple[str, str]) -> str:
        said = "".join(
            f'<Relationship Id="r{at}" Type="{kinds}/{kind}" Target="{target}"/>'
            for at, (kind, target) in enumerate(pairs, 1)
        )
        return f'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{said}</Relationships>'

    parts: dict[str, str | bytes] = {
        "_rels/.rels": links(("officeDocument", "xl/workbook.bin")),
        "xl/workbook.bin": record(153, struct.pack("<I", is_1904))
        + record(156, struct.pack("<II", 0, 1) + wide("r1") + wide("Prices")),
        "xl/_rels/workbook.bin.rels": links(
            ("worksheet", "worksheets/sheet1.bin"), ("styles", "styles.bin"), ("sharedStrings", "sharedStrings.bin")
        ),
        "xl/worksheets/_rels/sheet1.bin.rels": links(("comments", "../comments1.bin")),
        "xl/worksheets/sheet1.bin": sheet,
        "xl/styles.bin": styles,
        "xl/sharedStrings.bin": strings,
        "xl/comments1.bin": comments,
    }
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, body in parts.items():
            packed.writestr(name, body)
    return out.getvalue()
