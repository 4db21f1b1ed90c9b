"""Days of documents: what a first page states, what the name says, and what the stamp of the file tells."""

from __future__ import annotations

from datetime import UTC, datetime

from docmind.documents.dates import chosen_day, day_in_name, stated_day, year_in_name
from each import each_of

ADDED = int(datetime(2026, 5, 4, 12, tzinfo=UTC).timestamp() * 1000)


def test_numbers_are_days_in_the_order_of_the_language() -> None:
    assert [stated_day("Data: 03/04/2026", language=language) for language in ("pt", "en", "")] == [
        "2026-04-03", "", "",
    ]  # fmt: skip


@each_of(
    "text, day",
    [
        ("Travel policy\nIssued 22 January 2026\nIt replaces that of 3 March 2024.", "2026-01-22"),
        ("Invoice\nDue date: 1 March 2026\nDate of invoice: 12 February 2026", "2026-02-12"),
        ("Rechnung\nFällig am 1. März 2026\nRechnungsdatum: 12.02.2026", "2026-02-12"),
        ("Factura\nVencimiento: 1 de marzo de 2026\nFecha de la factura: 12 de febrero de 2026", "2026-02-12"),
        ("Facture\nÉchéance : 1er mars 2026\nDate de facture : 12 février 2026", "2026-02-12"),
        ("Fatura\nVence em 1 de março de 2026\nEmitida em 12 de fevereiro de 2026", "2026-02-12"),
        ("Anna Weber, geboren am 3. Mai 1980\nHamburg, den 9. März 2026\nSehr geehrte Damen", "2026-03-09"),
        ("Lisboa, 3 de março de 2024\nA reunião é a 5 de março de 2024.", "2024-03-03"),
        ("Fait à Fontenay, le 3 juin 2026", "2026-06-03"), ("March 3rd, 2024\nDear Ann", "2024-03-03"),
        ("Guide\nMis à jour le 2 mars 2026", "2026-03-02"), ("Liste\nStand: 2. März 2026", "2026-03-02"),
        ("Rules\nIssued 3 May 2020, last updated on 4 June 2026", "2026-06-04"),
        ("Policy\nIssued 12 December 2025\nValid from 1 January 2026", "2025-12-12"),
        ("Invoice date | Due date\n12 February 2026 | 1 March 2026", "2026-02-12"),
        ("Due date | Invoice date\n1 March 2026 | 12 February 2026", "2026-02-12"),
        ("Invoice date\n12 February 2026", "2026-02-12"),
    ],
)  # fmt: skip
def test_a_page_states_the_day_of_its_document(text: str, day: str) -> None:
    assert stated_day(text) == day


@each_of(
    "text",
    [
        "Anna Weber\nDate of birth: 3 May 1980", "Date of birth\n3 May 1980", "Please pay by 17 January 2026",
        "The licence issued 22 January 2020 was revoked on 3 May 2021.", "Due: 1 March 2026",
        "The ship sank on 4 January 2025.", "Diary\n1 May 2026\nRain.\n2 May 2026\nSun.\n3 May 2026\nSnow.",
        "Date of the accident: 4 January 2025", "Delivered on 4 January 2025",
        "As of January 6, 2023, 457 million shares of common stock were outstanding.",
    ],
)  # fmt: skip
def test_other_days_of_a_page_are_not_that_of_its_document(text: str) -> None:
    assert stated_day(text) == ""


def test_a_day_in_the_title_is_that_of_the_document() -> None:
    text = "Minutes of 12 March 2026\nThe pond was full on 3 March 2026."
    assert (stated_day(text, "Minutes of 12 March 2026"), stated_day(text)) == ("2026-03-12", "")


def test_the_days_of_a_sheet_are_data() -> None:
    sheet = "Date | Amount\n2026-01-02 | 3\n2026-01-03 | 4"
    assert (stated_day(sheet), stated_day(sheet, is_sheet=True)) == ("2026-01-02", "")
    assert stated_day("Date of invoice | 12 February 2026\nItem | Price", is_sheet=True) == "2026-02-12"


@each_of(
    "name, day",
    [
        ("2024-03-01 Invoice.pdf", "2024-03-01"), ("scan_20240301_1.pdf", "2024-03-01"),
        ("Report 31.12.2023.docx", "2023-12-31"), ("IMG-1234567890.png", ""), ("a2024.pdf", ""),
    ],
)  # fmt: skip
def test_the_day_in_a_name(name: str, day: str) -> None:
    assert day_in_name(name) == day


def test_the_year_in_a_name() -> None:
    assert [year_in_name(name) for name in ("policy-2025.pdf", "a 2024_2026.txt", "a2024.pdf", "x.pdf")] == [
        "2025", "2026", "", "",
    ]  # fmt: skip


@each_of(
    "stated, name, stamped, day",
    [
        ("2026-01-22", "2025-01-01.pdf", "2026-03-01", "2026-01-22"),
        ("", "2025-01-01.pdf", "2026-03-01", "2025-01-01"),
        ("", "policy 2025.pdf", "2026-03-01", ""), ("", "policy 2025.pdf", "2025-03-01", "2025-03-01"),
        ("", "policy.pdf", "2026-03-01", "2026-03-01"), ("", "policy.pdf", "2026-05-04", ""),
        ("", "policy.pdf", "", ""),
    ],
)  # fmt: skip
def test_what_is_stated_comes_before_the_name_and_the_name_before_the_stamp(
    stated: str, name: str, stamped: str, day: str
) -> None:
    assert chosen_day(stated, name, stamped, ADDED) == day
