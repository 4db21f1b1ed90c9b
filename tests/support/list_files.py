"""The small files of the sets in `lists.json`, made in their formats."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

import docx
import openpyxl
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.platypus import Flowable, Paragraph, SimpleDocTemplate

from docmind.records.documents import Upload

SETS = json.loads((Path(__file__).parents[1] / "conversations" / "lists.json").read_text(encoding="utf-8"))
Parts = list[tuple[str, str]]


def upload_of(file: dict[str, Any]) -> Upload:
    """Return a file of the set as it is handed in."""
    name: str = file["name"]
    kind = name.rpartition(".")[2]
    if kind in ("txt", "md"):
        return Upload(name, file["text"].encode())
    if kind == "csv":
        out = io.StringIO()
        csv.writer(out).writerows(file["rows"])
        return Upload(name, out.getvalue().encode())
    if kind == "xlsx":
        return Upload(name, _xlsx(file["sheets"]))
    if "table" in file:
        return Upload(name, docx_table(**file["table"]))
    return Upload(name, {"docx": _docx, "pdf": _pdf, "html": _html}[kind](file["parts"]))


def _xlsx(sheets: dict[str, list[list[str]]]) -> bytes:
    book = openpyxl.Workbook()
    book.remove(book.worksheets[0])
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def _docx(parts: Parts) -> bytes:
    document = docx.Document()
    for kind, text in parts:
        if kind == "h":
            document.add_heading(text, 1)
        else:
            document.add_paragraph(text, style="List Bullet" if kind == "li" else None)
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def docx_table(heading: str, rows: Sequence[Sequence[str]]) -> bytes:
    """Return a Word document of a heading and a table."""
    document = docx.Document()
    document.add_heading(heading, 1)
    table = document.add_table(len(rows), len(rows[0]))
    for row, cells in zip(table.rows, rows, strict=True):
        for cell, text in zip(row.cells, cells, strict=True):
            cell.text = text
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def _pdf(parts: Parts) -> bytes:
    styles = getSampleStyleSheet()
    drawn: list[Flowable] = [
        Paragraph(text, styles["Heading2"])
        if kind == "h"
        else Paragraph(text, styles["BodyText"], bulletText="•" if kind == "li" else None)
        for kind, text in parts
    ]
    out = io.BytesIO()
    SimpleDocTemplate(out).build(drawn)
    return out.getvalue()


def _html(parts: Parts) -> bytes:
    tags = {"h": "h2", "p": "p", "li": "li"}
    said = [f"<{tags[kind]}>{escape(text)}</{tags[kind]}>" for kind, text in parts]
    body = ""
    for (kind, _text), html in zip(parts, said, strict=True):
        is_open = body.endswith("</li>")
        if kind == "li" and not is_open:
            body += "<ul>"
        if kind != "li" and is_open:
            body += "</ul>"
        body += html
    return f"<meta charset=utf-8>{body}".encode()
