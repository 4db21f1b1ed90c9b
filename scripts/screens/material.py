"""The documents of the walk: ordinary ones, long and hostile names, files that cannot be read, versions and a draft."""

from __future__ import annotations

import io

import docx
from msoffcrypto.format.ooxml import OOXMLFile
from PIL import Image, ImageDraw

from papers import line, pdf, word_file, workbook

PASSWORD = "herons"  # noqa: S105 - of a file that is made here
LEASE = [
    "Lease of the workshop in Harbour Street",
    "The tenant gives notice three months before the end of a calendar quarter.",
    "The deposit is two months' rent and is paid back within six weeks.",
    "Repairs below 200 are carried out at the tenant's expense.",
]
REPORT = [
    "Quarterly report of the Lantern Works",
    "Revenue rose by 18 percent to 3.2 million in the fourth quarter, mainly because",
    "the repair business grew in every region and two new workshops were opened.",
    "The lantern range sold 41,000 pieces, 3,000 more than a year ago.",
    "Costs grew more slowly than revenue, so that the margin reached 14 percent.",
    "The company plans to open three more workshops before the end of next year.",
    "Brass has become dearer; prices will rise by two percent in spring.",
    "The order book is full until the end of May.",
    "The works employ 64 people, six more than at the end of last year.",
    "Four apprentices have finished their training and stay with us.",
]
MANUAL = [
    "How to care for your lantern",
    "Clean the glass with a dry cloth once a month.",
    "The warranty lasts for twenty-four months from the day of delivery.",
]
WEB_PAGE = (
    b"<!doctype html><title>Warblers in spring</title><h1>Warblers in spring</h1>"
    b"<p>The first warblers come in March and sing before sunrise.</p>"
)
MINUTES = [
    "Minutes of the owners' meeting",
    "The boiler is replaced before the winter of next year.",
    "The reserve fund stands at 48,200 and is raised by 10 percent.",
    "Bicycles are kept in the cellar and not in the stairwell.",
]
LONG_NAME = "A name that nobody would type but every browser makes when it saves a page " * 2 + "final (2).txt"
HOSTILE_NAME = "![n](http:⁄⁄127.0.0.1⁄n) :red[n] $n$ <img src=x onerror=alert(1)> www.a.com.txt"
LONG_QUESTION = (
    "Our landlord wrote that we have to pay for the broken door handle and the dripping tap in the workshop, together "
    "185, and that he keeps the deposit until the end of the year because of it. "
    * 3
    + "Donaudampfschifffahrtsgesellschaftskapitaenswitwenrentenauszahlungsstelle" * 2
    + "?"
)


def paper(lines: list[str]) -> str:
    """Return the content of one page: a heading and lines under it."""
    body = [line(text, y=650 - 34 * number, size=13) for number, text in enumerate(lines[1:])]
    return "\n".join([line(lines[0], size=22), *body])


def files() -> list[tuple[str, bytes]]:
    """Return the documents of the library, and one that is empty."""
    return [
        (LONG_NAME, b"The name of this file is far too long, and that is its only fault."),
        (HOSTILE_NAME, b"The zebra quota is $E=mc^2$ <b>forty two</b> :red[zebras] a year."),
        ("care.pdf", pdf([paper(MANUAL)] * 2, title="How to care for your lantern")),
        ("lease harbour street.pdf", pdf([paper(LEASE)] * 3)),
        ("minutes.pdf", pdf([paper(MINUTES)])),
        ("orchard.docx", word_file()),
        ("turnover.xlsx", workbook([["Month", "Turnover"], ["January", 41200], ["February", 39800]])),
        ("prices.csv", b"item,price\nlantern,24.90\nwick,1.20\nglass,6.50\n"),
        ("notes.md", b"# Notes\n\nThe boiler is serviced every spring by Ann.\n\n- dogs need the written consent\n"),
        (
            "relatorio de vendas.md",
            "# Relatório de vendas\n\nAs vendas da oficina cresceram três por cento no ano, e a loja da rua do porto "
            "vendeu mais lanternas do que no ano anterior.\n".encode(),
        ),
        ("wicks.py", b"def trimmed(wick):\n    return wick.length - 2\n"),
        ("quarterly report.pdf", pdf([paper(REPORT), paper(LEASE), paper(MANUAL)])),
        ("empty.txt", b" "),
    ]


def unreadable() -> list[tuple[str, bytes]]:
    """Return a file with a password and a damaged one."""
    out = io.BytesIO()
    OOXMLFile(io.BytesIO(word_file())).encrypt(PASSWORD, out)
    return [("contract with a rather long name.docx", out.getvalue()), ("broken.pdf", pdf([paper(LEASE)])[:300])]


def long_paper(pages: int) -> bytes:
    """Return a PDF that takes a while to read."""
    return pdf([line(f"Page {number} counts {number * 37} herons.") for number in range(1, pages + 1)])


def stranger() -> bytes:
    """Return a picture of no page."""
    image = Image.new("RGB", (600, 400), "#456789")
    ImageDraw.Draw(image).ellipse((120, 60, 460, 340), fill="#d9b44a")
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


def chart() -> bytes:
    """Return a PDF with coloured bars, for models that see colours."""
    red, blue = "0.86 0.12 0.12 rg", "0.16 0.27 0.86 rg"

    def page(title: str, *bars: tuple[str, int, int]) -> str:
        drawn = [f"{colour} {left} 380 100 {height} re f 0 g" for colour, left, height in bars]
        remarks = [line(text, y=340 - 34 * number, size=12) for number, text in enumerate(REPORT[1:])]
        return "\n".join([line(title, y=715, size=22), *drawn, *remarks])

    return pdf(
        [
            page("Red lanterns sold: 41,000 pieces", (red, 90, 290), (red, 210, 240), (blue, 450, 40)),
            page("Blue lanterns sold: 9,000 pieces", (blue, 90, 120), (blue, 330, 90)),
        ]
    )


EXPENSES = [
    ["Date", "Paid to", "Category", "Amount"],
    ["2025-01-14", "Printer shop", "paper", "18.40 €"],
    ["2025-02-03", "Pixel Barn", "software", "89.99 €"],
    ["2025-02-27", "Rail", "travel", "64.00 €"],
    ["2025-05-11", "Pixel Barn", "software", "59.00 €"],
    ["2025-07-02", "Rail", "travel", "31.50 €"],
]
AGREEMENT = (
    "This lease is made between Marta Lind and Jonas Berg for the mill house in Overton on {day}.",
    "The monthly rent is {rent} euros, payable on the first day of each month.",
    "The tenant keeps the garden and the fence in good order.",
    "The landlord insures the building against fire and storm.",
    "Pets are allowed with the written consent of the landlord.",
)
DRAFT = """The mill house is let to Jonas Berg. The monthly rent is 950 euros.

The tenant insures the building against fire. The ferry to the island leaves at noon.
"""


def agreement(day: str, rent: int) -> bytes:
    """Return a version of a lease as a Word document."""
    made = docx.Document()
    made.add_heading("Lease of the mill house", 1)
    for text in AGREEMENT:
        made.add_paragraph(text.format(day=day, rent=rent))
    out = io.BytesIO()
    made.save(out)
    return out.getvalue()


def kinds() -> list[tuple[str, bytes]]:
    """Return a sheet, a lease and minutes: numbers, lists, people and dates."""
    return [
        ("expenses.xlsx", workbook(EXPENSES)),
        ("lease.docx", agreement("3 March 2024", 900)),
        (
            "committee.md",
            b"# Committee of the rowing club\n\nThe committee met on 12 May 2025 and chose three officers.\n\n"
            b"- Chair: Ada Moreau\n- Treasurer: Ben Okafor\n- Secretary: Clara Nowak\n\n"
            b"The club has five boats, and the oldest was built in 1961. The boat house is painted every fourth year.\n",
        ),
    ]
