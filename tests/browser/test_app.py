"""The real app in a real browser: `streamlit run app.py` with its own vault, uploads, questions."""

from __future__ import annotations

import http.server
import io
import re
import socket
import threading
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pypdfium2
import pytest

from papers import DEVSET, line, pdf
from served import App, Server, Tab, beside, close_reader, covered, marks, read_page, tab

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
    one.page.get_by_role("button", name="Pause").wait_for()  # progress is visible
    one.page.get_by_text("2 added").wait_for()
    one.idle()
    one.page.get_by_text("2 documents, 4 pages").wait_for()
    one.page.locator(".lib-row", has=one.page.locator(".lib-pages", has_text="1")).get_by_role("link").click()
    one.page.get_by_text("Text by OCR: 1 page").wait_for()

    one.go("Ask")
    one.ask("How much did net sales increase in the fourth quarter?")
    source = one.page.locator('[class*="st-key-turn-0-source-1"]')
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


def test_the_first_page_loads_no_pandas(browser: Any, tmp_path: Path) -> None:
    """The command itself, and a tab that has no scripts yet: a fork would have the modules of others."""
    server = Server(tmp_path)
    server.start()
    try:
        with tab(browser, server) as one:
            one.open()
            loaded = server.libraries()
            assert "sqlcipher" in loaded or not loaded  # the vault is open
            assert "pandas" not in loaded
    finally:
        server.stop()


def test_hostile_names_and_words_do_nothing(one: Tab) -> None:
    asked: list[str] = []

    class Canary(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(204)
            self.end_headers()

    canary = http.server.HTTPServer(("127.0.0.1", 0), Canary)
    threading.Thread(target=canary.serve_forever, daemon=True).start()
    base = f"http://127.0.0.1:{canary.server_port}"
    words = (
        f"The zebra quota ![pixel]({base}/md.png) <img src='{base}/img.png'> <script src='{base}/s.js'></script> "
        f"is :red[forty two] :material/home: $E=mc^2$ {base}/auto www.example.com me@example.com [go]({base}/link) "
        "<b>bold</b> **strong** :smile: zebras a year."
    )
    name = f"![n]({base.replace('/', '⁄')}⁄n) :red[n] $n$ <img src=x onerror=alert(1)> www.a.com.txt"
    try:
        one.add((name, words.encode()))
        assert_inert(one)
        link = one.page.get_by_role("link", name="onerror=alert").first
        link.wait_for()
        one.page.locator(".lib-reading").wait_for(state="detached")  # another file of this server was added before
        link.click()
        one.idle()
        one.page.locator(".doc-pages a").first.click()
        assert "$E=mc^2$" in read_page(one, 1).locator(".words").inner_text()
        assert not one.page.locator("#docmind-reader :is(script, iframe, .katex)").count()
        close_reader(one)
        one.page.locator(".st-key-document-delete button").click()
        one.page.get_by_text("is in the bin.").wait_for()
        assert_inert(one)
        one.page.get_by_role("button", name="Undo").click()
        one.idle()
        one.go("Ask")
        one.ask("What is the zebra quota a year?")
        one.page.locator('[data-testid="stPopover"] button').click()
        one.page.locator('[data-testid="stMultiSelect"] input').click()
        one.idle()
        assert_inert(one)
        one.page.keyboard.press("Escape")
        one.page.keyboard.press("Escape")
    finally:
        canary.shutdown()
    assert not asked


def assert_inert(one: Tab) -> None:
    """Assert that nothing in the page stems from Markdown or HTML in a name or a text."""
    app = one.page.locator('[data-testid="stApp"]')
    assert not app.locator(".katex").count(), "LaTeX was set"
    assert not app.locator("script, iframe").count()
    assert not app.locator(f'a[href*="example"], a[href*="127.0.0.1:"]:not([href^="{one.url}"])').count()
    for image in app.locator("img").all():
        own = f"{urlsplit(one.url).path}/-/page/"
        assert (image.get_attribute("src") or "").startswith(
            (own, "/media/", one.url, "data:image/svg", "data:image/jpeg")
        )
    coloured = app.locator('[class*="stMarkdownColored"]').all()
    assert not [span.inner_text() for span in coloured if not span.inner_text().strip().isdigit()]


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
