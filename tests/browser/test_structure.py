"""What stands in a file is found, quoted and boxed: changes, forms, sheets, notes, columns, tables over pages.

SCREENSHOTS=FOLDER also takes pictures of each answer.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from desks import plain_in
from docmind.records.documents import Upload
from libraries import Library, confirm
from papers import book, line, para, pdf, word_xml
from served import App, Tab, marks, tab, take

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

BOX = (
    '<w:sdt><w:sdtPr><w14:checkbox xmlns:w14="http://schemas.microsoft.com/office/word/2010/wordml">'
    '<w14:checked w14:val="{on}"/></w14:checkbox></w:sdtPr><w:sdtContent><w:r><w:t>{sign}</w:t></w:r></w:sdtContent>'
    '</w:sdt><w:r><w:t xml:space="preserve"> {name}</w:t></w:r>'
)
CONTRACT = word_xml(
    para("Lease of the boathouse", '<w:pStyle w:val="Heading1"/>')
    + para(
        "The deposit for the boathouse is ",
        runs='<w:del w:id="1" w:author="Bo"><w:r><w:delText>350 euros</w:delText></w:r></w:del>'
        '<w:ins w:id="2" w:author="Bo"><w:r><w:t>480 euros</w:t></w:r></w:ins>'
        '<w:r><w:t xml:space="preserve"> and is returned within ten days.</w:t></w:r>',
    )
)
FORM = word_xml(
    para("Order of a tent", '<w:pStyle w:val="Heading1"/>')
    + para(runs=BOX.format(on=1, sign="☒", name="Groundsheet of waxed canvas"))
    + para(runs=BOX.format(on=0, sign="☐", name="Second porch with a window"))
    + para(
        runs='<w:r><w:drawing><wp:inline xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing">'
        '<wp:docPr id="1" name="Picture 1"/><a:graphic xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main">'
        '<a:graphicData><a:blip r:embed="image"/></a:graphicData></a:graphic></wp:inline></w:drawing></w:r>'
    )
)
NOTED = (
    "<h1>The lamp</h1><p>The lamp was lit at dusk.<a epub:type='noteref' href='#n1'>1</a></p>"
    "<aside epub:type='footnote' id='n1'><p>Its oil was pressed in Haldenmoor.</p></aside>"
)


def sheet() -> bytes:
    """Return a workbook with a merged cell and a share."""
    made = openpyxl.Workbook()
    page = made.worksheets[0]
    page.title = "Stock"
    for row in (
        ["Group", "Kind", "Share"],
        ["South", "Wax", 0.125],
        [None, "Pollen", 0.25],
        ["North", "Propolis", 0.5],
    ):
        page.append(row)
    page.merge_cells("A2:A3")
    for cell in page["C"][1:]:
        cell.number_format = "0.0%"
    out = io.BytesIO()
    made.save(out)
    return out.getvalue()


def columns() -> bytes:
    """Return a page of three columns that were drawn across, with a footnote."""
    left = [
        "The guild was founded",
        "by nine weavers, who",
        "met in the back room of",
        "an inn near the quay",
        "and paid a penny each",
        "for candles, because the",
        "meetings were at night.",
    ]
    middle = [
        "Its chest had three iron",
        "locks, and each of the",
        "keys was held by one of",
        "the masters, so that no",
        "coin left it but before",
        "the eyes of them all, as",
        "the book of rules says.",
    ]
    right = [
        "The last of its looms",
        "went to a widow from",
        "Stour, who wove on it",
        "until the great flood",
        "took the mill and with",
        "it all that she had made",
        "in more than ten years.",
    ]
    shown = [line("The weavers of Stour", y=740, size=18)]
    for row, texts in enumerate(zip(left, middle, right, strict=True)):
        shown += [line(text, x=60 + 175 * at, y=690 - 16 * row, size=11) for at, text in enumerate(texts)]
    return pdf(["\n".join([*shown, line("1 The chest is in the town hall of Stour today.", x=60, y=80, size=8)])])


PEOPLE = "Name,Town,Locker\n" + "".join(f"Person{number:03},Town{number:03},L{900 - number}\n" for number in range(180))
FILES = Library(
    "structure",
    [
        Upload("boathouse.docx", CONTRACT),
        Upload("tent.docx", FORM),
        Upload("stock.xlsx", sheet()),
        Upload("lamp.epub", book([NOTED])),
        Upload("weavers.pdf", columns()),
        Upload("people.csv", PEOPLE.encode()),
    ],
    confirm,
    plain_in,
)
ASKED = (
    ("How much is the deposit for the boathouse?", "480 euros and is returned within ten days", "350"),
    ("Is the groundsheet of waxed canvas ordered?", "☒ Groundsheet of waxed canvas", ""),
    ("What is the share of Pollen in the South?", "25.0%: “Share” where “Kind” is Pollen and “Group” is South", ""),
    ("Where was the oil of the lamp pressed?", "Its oil was pressed in Haldenmoor", ""),
    ("To whom went the last of its looms?", "went to a widow from Stour, who wove on it", "iron"),
    ("Where is the chest of the weavers today?", "The chest is in the town hall of Stour today", ""),
    ("Which locker has Person137?", "L763", "L762"),
)


@pytest.fixture
def one(browser: Any, tmp_path: Path) -> Iterator[Tab]:
    server = App(tmp_path, library=FILES)
    server.start()
    with tab(browser, server) as opened:
        yield opened
    server.stop()


def test_what_stands_in_files_is_quoted_and_boxed(one: Tab) -> None:
    one.open("Ask")
    for number, (question, quote, absent) in enumerate(ASKED):
        one.page.goto(f"{one.url}/")
        one.idle()
        one.ask(question)
        source = one.page.locator('[class*="st-key-turn-0-source-1"]').first
        source.locator("img").first.wait_for()
        said = " ".join(one.page.locator('[class*="st-key-turn-0"]').first.inner_text().split())
        assert quote in said, (question, said)
        assert not absent or absent not in said.split(quote)[0][-200:], (question, said)
        assert marks(one.picture(source.locator("img").first)), f"no stroke on the page: {question}"
        if os.environ.get("SCREENSHOTS"):
            take(one, f"structure-{number}")


def test_what_was_not_read_is_on_the_page_of_the_document(one: Tab) -> None:
    one.open("Documents")
    one.page.locator(".lib-row", has_text="tent.docx").get_by_role("link").click()
    one.page.get_by_text("Not read: 1 picture").wait_for()
    one.page.get_by_role("button", name="All documents").click()
    one.page.locator(".lib-row", has_text="people.csv").get_by_role("link").click()
    one.page.get_by_text("5 pages").first.wait_for()
    one.idle()  # until then the page of the other document may still be shown
    assert one.page.get_by_text("Not read").all_inner_texts() == []
