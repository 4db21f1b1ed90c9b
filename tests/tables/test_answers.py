"""Questions over tables in files of six formats, through the product's own way to answer: exact, or not sure.

Each set has small tables of made-up facts and questions over all of them at once, with their answers written before
any was asked: `any_of` some text, or `all_of` them; a question without an answer is about what stands in none of them.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Sequence
from datetime import date
from html import escape
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from reportlab.lib import colors
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.platypus import Paragraph, SimpleDocTemplate, Table, TableStyle

from desks import settings_in
from docmind.application import DocMind
from docmind.records.answers import RowsOf
from docmind.records.documents import Upload
from docmind.records.query import Query
from docmind.tables.words import root
from list_files import docx_table

SETS = ("questions", "everyday", "office", "household", "club", "workshop", "village", "town")
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
    return Upload(name, {"docx": docx_table, "pdf": _pdf, "html": _html, "md": _markdown}[kind](file["heading"], rows))


def _holds(text: str, question: dict[str, Any]) -> bool:
    """Return whether an answer has the texts asked for: a number as a whole, with further zeros or without."""
    plain = text.replace("\u202f", " ").replace("\u00a0", " ")
    wanted = question.get("all_of")
    if wanted is None and question["kind"] in ("group", "lookup") and len(question["any_of"]) > 1:
        wanted = question["any_of"]
    if wanted is not None and "any_of" not in question:
        return all(part in plain for part in wanted)
    parts = wanted or question["any_of"]
    zeros = r"(?:(?<=[.,]\d)0+|[.,]0+(?!\d))?"
    found = [re.search(rf"(?<![\d.,]){re.escape(part)}{zeros}(?!\d)", plain) for part in parts]
    return any(found)


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
def test_most_are_exact_and_none_is_wrong_with_a_sure_face(name: str, tmp_path: Path) -> None:
    asked = json.loads((Path(__file__).parent / f"{name}.json").read_text(encoding="utf-8"))
    right, wrong = 0, []
    with DocMind(settings_in(tmp_path)) as docmind:
        docmind.add([upload_of(file) for file in asked["files"]])
        for question in asked["questions"]:
            answer = docmind.ask(question["question"])
            is_computed = answer.outcome == "answer" and answer.computed is not None
            is_exact = is_computed and question.get("any_of", ()) is not None and _holds(answer.answer, question)
            right += is_exact if question.get("any_of", ()) is not None else not is_computed
            wrong += [question["question"]] if is_computed and not is_exact else []
    assert not wrong
    assert right >= 0.95 * len(asked["questions"])


@pytest.mark.slow
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
        assert answer.computed.counts == (RowsOf(str(added.doc_id), rows=2, pages=1),)


@pytest.mark.slow
def test_a_conversation_keeps_how_it_was_computed_and_erasing_drops_it(tmp_path: Path) -> None:
    question = "How much did I spend on software in 2025?"
    with DocMind(settings_in(tmp_path)) as docmind:
        (added,) = docmind.add([Upload("expenses.csv", SUMS.encode())])
        thread = docmind.conversations.create()
        docmind.conversations.ask(Query(question), thread_id=thread.thread_id)
        (kept,) = docmind.conversations.view(thread.thread_id).turns
        assert kept.answer is not None
        assert kept.answer.computed == docmind.ask(question).computed is not None
        assert root.cache_info().currsize
        docmind.erasures.erase([str(added.doc_id)])
        assert not root.cache_info().currsize, "words of its tables"
        (left,) = docmind.conversations.view(thread.thread_id).turns
        assert left.answer is not None
        assert left.answer.computed is None
        assert "148.99" not in left.answer.answer
        assert docmind.ask(question).outcome == "not found"


@pytest.mark.slow
def test_a_document_in_the_bin_is_not_answered_from_memory(tmp_path: Path) -> None:
    uploads = [Upload("birds.csv", b"Bird,Seen\nOwl,3\nCrow,9\n"), Upload("expenses.csv", SUMS.encode())]
    question = "Which bird was seen the most?"
    with DocMind(settings_in(tmp_path)) as docmind:
        birds, _expenses = docmind.add(uploads)
        assert docmind.ask(question).answer.startswith("Crow (9)")
        docmind.documents.bin([str(birds.doc_id)])
        assert docmind.ask(question).computed is None


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_what_is_asked_in_german_and_french_is_told_in_it(tmp_path: Path) -> None:
    with DocMind(settings_in(tmp_path)) as docmind:
        docmind.add([Upload("strom.csv", "Monat;Strom\nMai;1.092,40 €\nJuni;1.188,75 €\n".encode())])
        german = docmind.ask("Wie viel Strom haben wir insgesamt bezahlt?").answer
        french = docmind.ask("Quel est le total de la colonne Strom ?").answer
    assert german.startswith("2.281,15 €: die Summe von „Strom“ über 2 Zeilen")
    assert french.startswith("2\u202f281,15 €: la somme de « Strom » sur 2 lignes")


@pytest.mark.slow
def test_a_yes_or_no_names_the_cell_and_boxes_it(tmp_path: Path) -> None:
    with DocMind(settings_in(tmp_path)) as docmind:
        docmind.add([Upload("shed.csv", b"Tool,On loan,Returned\nDrill,yes,\nSaw,no,2025-03-01\n")])
        loan, back = docmind.ask("Is the saw on loan?"), docmind.ask("Has the drill been returned?")
        page = docmind.vault.catalog.page_view(loan.sources[0].doc_id, 1).words
        boxed = {text for text, box in page if any(_touch(box, cell) for cell in loan.sources[0].boxes)}
    assert loan.answer.startswith("No: “On loan” is no where “Tool” is Saw (shed).")
    assert back.answer.startswith("No: “Returned” is empty where “Tool” is Drill (shed).")
    assert boxed == {"Saw", "no"}
    assert loan.computed is not None
    assert loan.computed.query == 'SELECT "On loan" = 1 FROM "shed.csv" WHERE "Tool" IN (\'Saw\')'


@pytest.mark.slow
def test_an_empty_cell_is_no_sure_answer(tmp_path: Path) -> None:
    with DocMind(settings_in(tmp_path)) as docmind:
        docmind.add([Upload("shed.csv", b"Tool,Borrower\nDrill,Martha Quinn\nSaw,\n")])
        assert docmind.ask("Who borrowed the drill?").answer.startswith("Martha Quinn")
        assert docmind.ask("Who borrowed the saw?").computed is None


def test_months_of_two_years_are_not_added_with_a_sure_face(tmp_path: Path) -> None:
    rows = b"Day,Litres\n2024-05-02,10\n2024-06-02,20\n2025-05-02,40\n"
    with DocMind(settings_in(tmp_path)) as docmind:
        docmind.add([Upload("diesel.csv", rows)])
        assert docmind.ask("How many litres in the second quarter?").outcome == "maybe"
        assert docmind.ask("How many litres in the second quarter of 2024?").answer.startswith("30: ")


@pytest.mark.slow
def test_a_sum_is_over_the_numbers_that_a_workbook_stores(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    sheet = book.worksheets[0]
    sheet.append(["Item", "Cost", "Rate"])
    for item, cost, rate in (("Ink", 3.333, 0.1249), ("Pens", 3.333, 0.25), ("Clips", 3.334, 0.3)):
        sheet.append([item, cost, rate])
        sheet.cell(sheet.max_row, 2).number_format = "0.00"
        sheet.cell(sheet.max_row, 3).number_format = "0%"
    out = io.BytesIO()
    book.save(out)
    with DocMind(settings_in(tmp_path)) as docmind:
        docmind.add([Upload("office.xlsx", out.getvalue())])
        assert docmind.ask("What is the total cost?").answer.startswith("10.00: ")
        assert docmind.ask("What is the average rate?").answer.startswith("22.50%: ")
        assert docmind.ask("What is the cost of the ink?").answer.startswith("3.33: ")


ROOMS = b"""Room,Guest,From,Price per night,Nights,Status
Attic,Ada Brook,2025-03-01,90,2,paid
Loft,Ben Cole,2025-03-10,120,3,open
Loft,Ada Brook,2025-04-02,110,1,paid
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "question",
    [
        "How many bookings were given up?",
        "How many large rooms are there?",
        "What is the total price per night of the Loft?",
        "Which guest earned the most?",
        "Which rooms cost more than 100 dollars in April or have the status paid?",
    ],
)
def test_what_rests_on_a_guess_is_not_sure(question: str, tmp_path: Path) -> None:
    with DocMind(settings_in(tmp_path)) as docmind:
        docmind.add([Upload("bookings.csv", ROOMS)])
        answer = docmind.ask(question)
    assert answer.computed is None or answer.outcome == "maybe"


def test_columns_for_one_time_each_are_added_up_in_a_row(tmp_path: Path) -> None:
    rows = b"Worker,Q1,Q2,Q3,Q4\nDora Hill,6,4,0,8\nEmil Voss,2,2,3,3\n"
    with DocMind(settings_in(tmp_path)) as docmind:
        docmind.add([Upload("training-hours.csv", rows)])
        whole = docmind.ask("How many hours did Dora Hill have in total?")
        part = docmind.ask("How many hours did Emil Voss have from Q1 to Q3?")
    assert (whole.outcome, whole.answer.split(":")[0]) == ("answer", "18")
    assert (part.outcome, part.answer.split(":")[0]) == ("answer", "7")
    assert part.computed is not None
    assert part.computed.query.startswith('SELECT sum("Q1" + "Q2" + "Q3") FROM')


@pytest.mark.slow
def test_rows_of_two_tables_are_joined_and_both_are_sources(tmp_path: Path) -> None:
    members = b"Member,Town\nHelga Norris,Wells\nSam Tully,Frome\n"
    payments = b"Member,Amount\nHelga Norris,60\nSam Tully,45\nHelga Norris,25\n"
    with DocMind(settings_in(tmp_path)) as docmind:
        first, second = docmind.add([Upload("members.csv", members), Upload("payments.csv", payments)])
        answer = docmind.ask("How much did members from Wells pay in total?")
        town = docmind.ask("Which town is the member who paid the most from?")
    assert answer.answer.startswith("85: ")
    assert answer.computed is not None
    assert answer.computed.doc_ids == (second.doc_id, first.doc_id)
    assert answer.computed.counts == (RowsOf(str(second.doc_id), 2, 1), RowsOf(str(first.doc_id), 1, 1))
    assert answer.computed.query.endswith('JOIN "members.csv" USING ("Member") WHERE "Town" IN (\'Wells\')')
    assert {source.quote for source in answer.sources} >= {"Helga Norris | Wells", "Helga Norris | 60"}
    assert town.answer.startswith("Wells (Helga Norris 85)")


def test_a_total_with_its_year_is_not_added_again(tmp_path: Path) -> None:
    with DocMind(settings_in(tmp_path)) as docmind:
        docmind.add([Upload("gifts.csv", b"Donor,Amount\nBell,200\nShaw,75\nTotal 2025,275\n")])
        assert docmind.ask("What is the total amount of the gifts?").answer.startswith("275: ")
