"""What stands in a file is found, quoted and boxed, whatever kind of file it is.

Kinds of files that people have, and structure within them: changes, forms, sheets, notes, columns, tables over pages.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from email.message import EmailMessage

import openpyxl
import pytest
from PIL import Image

from archives import packed
from decks import body, deck, title
from desks import plain_in
from docmind.application import DocMind
from docmind.records.documents import Upload
from docmind.rich_text import highlight
from each import each_of
from libraries import Library
from papers import book, line, para, pdf, word_xml
from served import marks
from sheet_files import xls

pytestmark = pytest.mark.slow

DECK = deck(
    [
        title("Office move") + body("The move to Harbour Street is on 14 March", "Boxes come on 7 March"),
        title("Costs") + body("The movers ask 4,200 euros for two vans"),
    ]
)
TERMS = "Terms of the boiler service\n\nThe yearly service of the boiler costs 145 euros.\n"
CELLS = [
    {"cell_type": "markdown", "metadata": {}, "source": "# Rain gauges\n\nThe gauge in Faro was broken in May."},
    {
        "cell_type": "code",
        "metadata": {},
        "execution_count": 1,
        "source": "total = rain.sum()\nprint(total)",
        "outputs": [{"output_type": "stream", "name": "stdout", "text": "Rain of the year: 512.4 mm\n"}],
    },
]
NOTEBOOK = json.dumps({"cells": CELLS, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()
NAMES = " ".join(f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in ("office", "text"))
ODT = packed(
    {
        "mimetype": "application/vnd.oasis.opendocument.text",
        "content.xml": f"<office:document-content {NAMES}><office:body><office:text>"
        '<text:h text:outline-level="1">The pond book</text:h>'
        "<text:p>The heron was last seen at the pond on 9 October.</text:p>"
        "</office:text></office:body></office:document-content>",
    }
)
OLD = xls({"Fleet": [["Boat", "Berth", "Length"], ["Petrel", "B14", 6.5], ["Dunlin", "B17", 7.25]]})
CODE = '''"""Tides of a harbour."""


def slack_water(minutes: int) -> int:
    """Return how long the water stands still, in minutes, after a tide of this length."""
    return minutes // 24
'''


def mail() -> bytes:
    """Return a mail with a text attached."""
    made = EmailMessage()
    made["From"], made["To"], made["Subject"] = "Jo Lind <jo@lind.example>", "mara@vale.example", "Boiler inspection"
    made["Date"] = "Mon, 02 Jun 2025 09:12:00 +0100"
    made.set_content("Dear Mara,\n\nthe inspection of the boiler was moved to Friday at 10:30.\n\nJo\n")
    made.add_attachment(TERMS.encode(), "text", "plain", filename="boiler-terms.txt")
    return made.as_bytes()


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
RENT = "Lease of the flat\n\nThe deposit of the flat is 1,800 euros.\n"
KINDS = Library(
    "kinds of files",
    [
        Upload("office-move.pptx", DECK),
        Upload("boiler.eml", mail()),
        Upload("rain.ipynb", NOTEBOOK),
        Upload("pond.odt", ODT),
        Upload("fleet.xls", OLD),
        Upload(
            "Rent 2025.zip",
            packed({"2025/lease.txt": RENT}),
        ),
        Upload("tides.py", CODE.encode()),
        Upload("README.md", b"# Harbour\n\nThe tables of the harbour are kept by the pilots.\n"),
    ],
    settings=plain_in,
)
STRUCTURE = Library(
    "structure of files",
    [
        Upload("boathouse.docx", CONTRACT),
        Upload("tent.docx", FORM),
        Upload("stock.xlsx", sheet()),
        Upload("lamp.epub", book([NOTED])),
        Upload("weavers.pdf", columns()),
        Upload("people.csv", PEOPLE.encode()),
    ],
    settings=plain_in,
)
ASKED_OF_KINDS = (
    ("When is the move to Harbour Street?", "on 14 March", "Office move"),
    ("How much do the movers ask?", "4,200 euros", "Office move"),
    ("When is the inspection of the boiler?", "Friday at 10:30", "Boiler inspection"),
    ("What does the yearly service of the boiler cost?", "145 euros", "Boiler inspection"),
    ("Where was a gauge broken in May?", "The gauge in Faro was broken in May", "Rain gauges"),
    ("What is the rain of the year?", "512.4 mm", "Rain gauges"),
    ("When was the heron last seen at the pond?", "9 October", "The pond book"),
    ("Which berth has the Dunlin?", "B17", "fleet"),
    ("How much is the deposit of the flat?", "1,800 euros", "Rent 2025.zip"),
    ("What does slack_water return?", "how long the water stands still", "tides.py"),
    ("Who keeps the tables of the harbour?", "kept by the pilots", "Harbour"),
)
ASKED_OF_STRUCTURE = (
    ("How much is the deposit for the boathouse?", "480 euros and is returned within ten days", "350"),
    ("Is the groundsheet of waxed canvas ordered?", "☒ Groundsheet of waxed canvas", ""),
    ("What is the share of Pollen in the South?", "25.0%: “Share” where “Kind” is Pollen and “Group” is South", ""),
    ("Where was the oil of the lamp pressed?", "Its oil was pressed in Haldenmoor", ""),
    ("To whom went the last of its looms?", "went to a widow from Stour, who wove on it", "iron"),
    ("Where is the chest of the weavers today?", "The chest is in the town hall of Stour today", ""),
    ("Which locker has Person137?", "L763", "L762"),
)


@pytest.fixture(scope="module")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DocMind]:
    with KINDS.opened(tmp_path_factory.mktemp("kinds")) as opened:
        yield opened


@pytest.fixture(scope="module")
def structure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DocMind]:
    with STRUCTURE.opened(tmp_path_factory.mktemp("structure")) as opened:
        yield opened


def said(docmind: DocMind, question: str) -> str:
    """Ask; return the answer with its first source, title and name, and see that the words are boxed on the page."""
    answer = docmind.ask(question)
    source = answer.sources[0]
    size = (source.page_width, source.page_height)
    page = highlight.marked(docmind.conversations.source_image(source), docmind.reader.cited_quads(source), size)
    assert marks(Image.open(io.BytesIO(page)).convert("RGB")), f"no stroke on the page: {question}"
    title = docmind.documents.get(source.doc_id).label
    return " ".join(f"{answer.answer} {source.quote} {title} {source.placed}".replace("\u2060", "").split())


@each_of("question, quote, source", ASKED_OF_KINDS)
def test_each_kind_of_file_is_quoted_and_boxed(kinds: DocMind, question: str, quote: str, source: str) -> None:
    told = said(kinds, question)
    assert quote in told
    assert source in told


@each_of("question, quote, absent", ASKED_OF_STRUCTURE)
def test_what_stands_in_files_is_quoted_and_boxed(structure: DocMind, question: str, quote: str, absent: str) -> None:
    told = said(structure, question)
    assert quote in told
    assert not absent or absent not in told.split(quote)[0][-200:]
