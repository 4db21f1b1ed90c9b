"""Questions over tables in files of five formats, through the product's own way to answer: exact, or not sure.

`questions.json` has small tables of made-up facts and questions over all of them at once; a question without an answer
is about what stands in none of them.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from datetime import date
from html import escape
from pathlib import Path
from typing import Any

import docx
import openpyxl
import pytest
from reportlab.lib import colors
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.platypus import Paragraph, SimpleDocTemplate, Table, TableStyle

from desks import settings_in
from docmind.application import DocMind
from docmind.records.documents import Upload
from docmind.records.query import Query

SET = json.loads((Path(__file__).parent / "questions.json").read_text(encoding="utf-8"))
SUMS = """Date,What,Category,Amount EUR
2025-01-04,Rent,Home,950
2025-01-15,Photo editor,Software,89.99
2025-02-20,Backup service,Software,59
2024-12-01,Old editor,Software,15
"""


def _xlsx(sheets: dict[str, list[list[Any]]]) -> bytes:
    book = openpyxl.Workbook()
    book.remove(book.worksheets[0])
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append([_cell(value) for value in row])
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def _cell(value: Any) -> Any:
    is_day = isinstance(value, str) and len(value) == 10 and value[4] == value[7] == "-"
    return date.fromisoformat(value) if is_day else value


def _docx(heading: str, rows: Sequence[Sequence[str]]) -> bytes:
    document = docx.Document()
    document.add_heading(heading, 1)
    table = document.add_table(len(rows), len(rows[0]))
    for row, cells in zip(table.rows, rows, strict=True):
        for cell, text in zip(row.cells, cells, strict=True):
            cell.text = text
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def _pdf(heading: str, rows: Sequence[Sequence[str]]) -> bytes:
    out = io.BytesIO()
    style = TableStyle([("GRID", (0, 0), (-1, -1), 0.5, colors.black)])
    table = Table([list(row) for row in rows], repeatRows=1, style=style)
    SimpleDocTemplate(out).build([Paragraph(heading, getSampleStyleSheet()["Heading1"]), table])
    return out.getvalue()


def _html(heading: str, rows: Sequence[Sequence[str]]) -> bytes:
    head, *body = ["".join(f"<td>{escape(cell)}</td>" for cell in row) for row in rows]
    said = "".join(f"<tr>{row}</tr>" for row in body)
    head = head.replace("td>", "th>")
    return f"<h1>{heading}</h1><table><tr>{head}</tr>{said}</table>".encode()


def _markdown(heading: str, rows: Sequence[Sequence[str]]) -> bytes:
    head, *body = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([f"# {heading}", "", head, "|---" * len(rows[0]) + "|", *body, ""]).encode()


def upload_of(file: dict[str, Any]) -> Upload:
    name, rows = file["name"], file.get("rows", [])
    kind = name.rpartition(".")[2]
    if kind == "csv":
        out = io.StringIO()
        csv.writer(out, delimiter=";").writerows(rows)
        return Upload(name, out.getvalue().encode())
    if kind == "xlsx":
        return Upload(name, _xlsx(file["sheets"]))
    return Upload(name, {"docx": _docx, "pdf": _pdf, "html": _html, "md": _markdown}[kind](file["heading"], rows))


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DocMind]:
    with DocMind(settings_in(tmp_path_factory.mktemp("tables"))) as docmind:
        docmind.add([upload_of(file) for file in SET["files"]])
        yield docmind


def _holds(text: str, question: dict[str, Any]) -> bool:
    many = all if question["kind"] in ("group", "lookup") and len(question["any_of"]) > 1 else any
    return many(part in text for part in question["any_of"])


@pytest.mark.slow
def test_most_are_exact_and_none_is_wrong_with_a_sure_face(desk: DocMind) -> None:
    right, wrong = 0, []
    for question in SET["questions"]:
        answer = desk.ask(question["question"])
        is_computed = answer.outcome == "answer" and answer.computed is not None
        if question["any_of"] is None:
            right += not is_computed
            wrong += [question["question"]] if is_computed else []
        elif is_computed:
            right += _holds(answer.answer, question)
            wrong += [] if _holds(answer.answer, question) else [question["question"]]
    assert not wrong
    assert right >= 0.95 * len(SET["questions"])


def test_an_answer_boxes_its_cells_and_lists_its_rows(tmp_path: Path) -> None:
    with DocMind(settings_in(tmp_path)) as docmind:
        (added,) = docmind.add([Upload("expenses.csv", SUMS.encode())])
        answer = docmind.ask("How much did I spend on software in 2025?")
        assert answer.answer.startswith(
            "148.99: the sum of “Amount EUR” over 2 rows where “Date” is in 2025 and “Category” is Software"
        )
        assert answer.outcome == "answer"
        assert [source.quote for source in answer.sources] == [
            "2025-01-15 | Photo editor | Software | 89.99",
            "2025-02-20 | Backup service | Software | 59",
        ]
        for source, last in zip(answer.sources, ("89.99", "59"), strict=True):
            words = docmind.vault.catalog.page_view(source.doc_id, source.page_no).words
            texts = [text for text, box in words if any(_touch(box, cell) for cell in source.boxes)]
            assert {last, "Software"} <= set(texts)
            assert {"editor", "Backup"}.isdisjoint(texts)
        assert answer.computed is not None
        assert answer.computed.query == (
            'SELECT sum("Amount EUR") FROM "expenses.csv" '
            "WHERE \"Date\" BETWEEN '2025' AND '2025-12-31' AND \"Category\" IN ('Software')"
        )
        assert answer.computed.rows[0] == ("2025-01-15", "Photo editor", "Software", "89.99")
        assert (answer.computed.rows_total, answer.computed.doc_ids) == (2, (added.doc_id,))


def test_a_conversation_keeps_how_it_was_computed_and_erasing_drops_it(tmp_path: Path) -> None:
    question = "How much did I spend on software in 2025?"
    with DocMind(settings_in(tmp_path)) as docmind:
        (added,) = docmind.add([Upload("expenses.csv", SUMS.encode())])
        thread = docmind.conversations.create()
        docmind.conversations.ask(Query(question), thread_id=thread.thread_id)
        (kept,) = docmind.conversations.view(thread.thread_id).turns
        assert kept.answer is not None
        assert kept.answer.computed == docmind.ask(question).computed is not None
        docmind.erasures.erase([str(added.doc_id)])
        (left,) = docmind.conversations.view(thread.thread_id).turns
        assert left.answer is not None
        assert left.answer.computed is None
        assert "148.99" not in left.answer.answer
        assert docmind.ask(question).outcome == "not found"


def test_a_document_in_the_bin_is_not_answered_from_memory(tmp_path: Path) -> None:
    uploads = [Upload("birds.csv", b"Bird,Seen\nOwl,3\nCrow,9\n"), Upload("expenses.csv", SUMS.encode())]
    question = "Which bird was seen the most?"
    with DocMind(settings_in(tmp_path)) as docmind:
        birds, _expenses = docmind.add(uploads)
        assert docmind.ask(question).answer.startswith("Crow (9)")
        docmind.documents.bin([str(birds.doc_id)])
        assert docmind.ask(question).computed is None


def test_what_is_not_counted_is_told_and_the_answer_is_not_sure(tmp_path: Path) -> None:
    plants = b"Plant,Bed,Price\nRose,A,12.50\nSage,B,4.20\nMint,B,ask\nLily,A,9.00\nFern,C,7.30\n"
    with DocMind(settings_in(tmp_path)) as docmind:
        docmind.add([Upload("plants.csv", plants)])
        answer = docmind.ask("What is the sum of the prices in bed B?")
        assert answer.outcome == "maybe"
        assert answer.answer.startswith("This may answer it: 4.20")
        assert "1 of 5 cells of “Price” are of another kind and are not counted." in answer.answer


def _touch(word: Any, box: Any) -> bool:
    return word.x < box.x + box.w and box.x < word.x + word.w and word.y < box.y + box.h and box.y < word.y + word.h


def test_a_sum_is_not_sure_while_tables_of_other_documents_are_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("docmind.tables.service.PAGES", 1)
    with DocMind(settings_in(tmp_path)) as docmind:
        docmind.add([Upload("notes.txt", b"Herons nest in tall trees."), Upload("spending.csv", SUMS.encode())])
        answer = docmind.ask("How much did I spend on software in 2025?")
    assert answer.outcome == "maybe"
    assert answer.answer.startswith("This may answer it: 148.99")
    assert "could not be read" in answer.answer
