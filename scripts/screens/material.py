"""The documents of the walk: ordinary ones, long and hostile names, and files that cannot be read."""

from __future__ import annotations

import io

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
