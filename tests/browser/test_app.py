"""The real app in a real browser: `streamlit run app.py` with its own vault, uploads, questions."""

from __future__ import annotations

import io
import re
import socket
from collections.abc import Iterator
from functools import cache

import pypdfium2
import pytest

from papers import DEVSET, line, pdf
from served import App, Server, Tab, beside, close_reader, covered, marks, read_page

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

REPORT = "fb_ULTABEAUTY_2023Q4_EARNINGS.pdf"
SCAN = "pt_regimento_almg_scan.pdf"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = App(tmp_path_factory.mktemp("app"))
    server.start()
    yield server
    server.stop()
    assert "Traceback" not in server.log()


@pytest.fixture
def one(opened_tab: Tab) -> Tab:
    """Return the tab of this module at the list of documents."""
    opened_tab.go("Documents")
    return opened_tab


def part(name: str, pages: list[int]) -> bytes:
    """Return these pages of a document of the development set."""
    out = io.BytesIO()
    taken = pypdfium2.PdfDocument.new()
    taken.import_pages(pypdfium2.PdfDocument(DEVSET / "docs" / name), pages)
    taken.save(out)
    return out.getvalue()


@cache
def report() -> tuple[str, bytes]:
    """Return a born-digital PDF of three pages, from the development set or generated."""
    if (DEVSET / "docs" / REPORT).exists():
        return REPORT, part(REPORT, [0, 1, 2])
    pages = [line(f"Page {number} speaks of the weather only.") for number in (1, 2)]
    return REPORT, pdf([line("Net sales increased 18.2% to $3.2 billion in the quarter."), *pages])


def scan() -> tuple[str, bytes]:
    """Return a scanned page: a picture of text without a text layer."""
    if (DEVSET / "docs" / SCAN).exists():
        return "scan.pdf", part(SCAN, [4])
    out = io.BytesIO()
    page = pypdfium2.PdfDocument(pdf([line("The assembly meets in the hall.", size=30)]))[0]
    page.render(scale=2).to_pil().convert("RGB").save(out, "PDF")
    return "scan.pdf", out.getvalue()


def test_from_a_file_to_a_highlighted_quote_after_a_restart(one: Tab, server: Server) -> None:
    """The default text model is loaded twice, and a page is read by OCR, which is most of what this costs."""
    payload = [{"name": name, "mimeType": "application/pdf", "buffer": data} for name, data in (report(), scan())]
    one.page.locator("input[type=file]").first.set_input_files(payload)
    one.page.get_by_text("2 added").wait_for()
    one.idle()
    one.page.get_by_text("2 documents, 4 pages").wait_for()
    one.page.locator(".lib-row", has=one.page.locator(".lib-pages", has_text="1")).get_by_role("link").click()
    one.page.get_by_text("Text by OCR: 1 page").wait_for()

    one.go("Ask")
    one.ask("How much did net sales increase in the fourth quarter?")
    source = one.page.locator('[class*="st-key-turn-0-source-1"]')
    source.locator("img").nth(1).wait_for()
    assert REPORT[:10] in source.inner_text()
    small, strip = (one.picture(image) for image in source.locator("img").all()[:2])
    assert marks(small), "no stroke on the small page"
    assert marks(strip), "no stroke in the strip"
    told = source.locator("img").first.get_attribute("alt")
    page_no, quote = re.search(r"Page (\d+) of .*, highlighted: (.*)", told).groups()  # type: ignore[union-attr]

    source.get_by_role("link", name=f"Page {page_no} ·").click()
    reader = read_page(one, int(page_no))
    strokes, size = covered(reader)
    assert strokes
    found = words_under(report()[1], int(page_no) - 1, strokes, size)
    asked = re.findall(r"\w+", quote.casefold())
    assert set(asked[:6]) <= set(found), (quote, found)
    one.page.keyboard.press("ArrowRight")
    read_page(one, int(page_no) + 1)
    assert not reader.locator("polygon").count(), "the strokes belong to the quoted page only"
    close_reader(one)

    one.page.goto("about:blank")
    server.stop()
    server.start()
    one.open("Documents")
    one.page.get_by_text("2 documents, 4 pages").wait_for()
    one.go("Ask")
    one.ask("How much did net sales increase in the fourth quarter?")
    one.page.locator('[class*="st-key-turn-0-source-1"]').first.wait_for()


def words_under(data: bytes, index: int, strokes: list[tuple[int, int]], size: tuple[int, int]) -> list[str]:
    """Return the words of a PDF page under the highlight strokes, by PDFium's positions."""
    page = pypdfium2.PdfDocument(data)[index]
    across, down = page.get_width() / size[0], page.get_height() / size[1]
    text = page.get_textpage()
    rows: dict[int, list[int]] = {}
    for x, y in strokes:
        rows.setdefault(y // 12, []).append(x)
    said = " ".join(
        text.get_text_bounded(
            min(row) * across, page.get_height() - (band + 1) * 12 * down, max(row) * across,
            page.get_height() - band * 12 * down,
        )
        for band, row in sorted(rows.items())
    )  # fmt: skip
    return re.findall(r"\w+", said.casefold())


def test_a_deletion_is_seen_in_two_tabs(one: Tab) -> None:
    one.add(("short lived.txt", b"This will not stay for long."))
    with beside(one) as two:
        two.page.get_by_role("link", name="short lived.txt").first.wait_for()
        row = one.page.locator(".lib-row", has_text="short lived.txt")
        row.get_by_role("checkbox").check()
        one.page.get_by_role("toolbar").get_by_role("button", name="Delete").click()
        one.page.get_by_text("“short lived.txt” is in the bin.").wait_for()
        row.wait_for(state="detached")
        two.page.get_by_role("link", name="short lived.txt").first.wait_for(state="detached")
        one.page.get_by_role("button", name="Undo").click()
        row.wait_for()
        two.page.get_by_role("link", name="short lived.txt").first.wait_for()


def test_a_name_from_elsewhere_is_refused(server: Server) -> None:
    with socket.create_connection(("127.0.0.1", server.port)) as line_:
        line_.sendall(b"GET / HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n")
        assert b" 403 " in line_.recv(200)
