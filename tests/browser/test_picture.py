"""A pasted, dropped or chosen picture finds its page in a real browser, with the region outlined."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from desks import plain_in
from docmind.application import DocMind
from docmind.records.documents import Upload
from docmind.rich_text.highlight import LINE
from libraries import Library, confirm
from papers import line, pdf
from served import App, Tab, close_reader, covered, read_page, tab, take
from sheets import png, sheet

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

REPORT = [
    "Revenue rose by 18 percent to 3.2 million in the fourth quarter, mainly because",
    "the repair business grew in every region and two new workshops were opened.",
    "The lantern range sold 41,000 pieces, 3,000 more than a year ago.",
    "Costs grew more slowly than revenue, so that the margin reached 14 percent.",
    "The company plans to open three more workshops before the end of next year.",
    "We expect revenue between 3.4 and 3.6 million in the next quarter.",
    "Brass has become dearer; prices will rise by two percent in spring.",
    "The order book is full until the end of May.",
    "The works employ 64 people, six more than at the end of last year.",
    "Four apprentices have finished their training and stay with us.",
]
LEASE = [
    "The tenant gives notice three months before the end of a calendar quarter.",
    "The deposit is two months of rent and is paid back within six weeks.",
    "Repairs below 200 are carried out at the tenant's expense.",
]
HOSTILE = "![n](http:⁄⁄127.0.0.1⁄n) :red[n] $n$ <img src=x onerror=alert(1)> www.a.com.pdf"
CLIPBOARD = ["clipboard-read", "clipboard-write"]
TOP, BOTTOM = 0.06, 0.36  # the part of the page that is pasted


class Pictured(App):
    """The app, and a screenshot of a page of each document."""

    def __init__(self, folder: Path, picture: bytes, of_hostile: bytes) -> None:
        super().__init__(folder, DOCMIND_KEYS__FILE=str(folder / "docmind.key"))
        self.picture, self.of_hostile = picture, of_hostile


def screenshot(mind: DocMind, doc_id: str, page_no: int = 1) -> bytes:
    """Return a part of a page as PNG."""
    page = Image.open(io.BytesIO(mind.documents.page_image(doc_id, page_no))).convert("RGB")
    return png(page.crop((0, round(TOP * page.height), page.width, round(BOTTOM * page.height))))


def _catch_up(docmind: DocMind) -> None:
    confirm(docmind)
    docmind.lookalike.catch_up()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Pictured]:
    """Start the app over two documents with processed page images; no language model."""
    library = Library(
        "picture",
        [
            Upload("quarterly report.pdf", pdf([line("Report of the Lantern Works"), printed(REPORT)])),
            Upload(HOSTILE, pdf([printed(LEASE)])),
        ],
        _catch_up,
        plain_in,
    )
    with library.opened(tmp_path) as mind:
        report = mind.documents.find("quarterly report.pdf")
        server = Pictured(
            tmp_path, screenshot(mind, report.doc_id, 2), screenshot(mind, mind.documents.find(HOSTILE).doc_id)
        )
    server.start()
    yield server
    server.stop()
    assert "Traceback" not in server.log()


def printed(lines: list[str]) -> str:
    return "\n".join(line(text, y=720 - 60 * number, size=13) for number, text in enumerate(lines))


def copy(one: Tab, picture: bytes) -> None:
    """Put a picture into the clipboard, as a screenshot tool does."""
    one.page.evaluate(
        """async data => {
            const bytes = Uint8Array.from(atob(data), char => char.charCodeAt(0));
            const picture = new Blob([bytes], { type: "image/png" });
            await navigator.clipboard.write([new ClipboardItem({ "image/png": picture })]);
        }""",
        base64.b64encode(picture).decode(),
    )


def choose(one: Tab, file: Any) -> None:
    """Hand a picture to the box; while it is exchanged for an empty one there are two for a moment."""
    box = one.page.locator(".st-key-picture input[type=file]")
    one.page.wait_for_timeout(100)
    while box.count() != 1:
        one.page.wait_for_timeout(50)
    box.set_input_files([file])


def outlined_rows(picture: Image.Image) -> tuple[float, float]:
    """Return the upper and the lower edge of the outline, as fractions of the page's height."""
    pixels = np.asarray(picture, int)
    is_line = (np.abs(pixels - np.array(LINE)) < 60).all(axis=2)
    rows = np.flatnonzero(is_line.mean(axis=1) > 0.5)
    assert rows.size, "no outline"
    return float(rows.min()) / picture.height, float(rows.max()) / picture.height


def test_a_picture_finds_its_page(browser: Any, server: Pictured) -> None:
    """Walk through pictures in one tab; each part begins with an empty question box."""
    with tab(browser, server, permissions=CLIPBOARD) as one:
        one.open()
        a_pasted_screenshot_shows_its_page_and_the_region(one, server)
        begin(one)
        pasted_words_stay_words_and_the_button_reports(one, server)
        begin(one)
        it_keeps_its_shape(one, server)
        a_hostile_name_and_a_broken_file_do_nothing_on_a_phone(one, server)


def begin(one: Tab) -> None:
    one.page.goto(f"{one.url}/")
    one.page.get_by_role("heading", name="Ask your documents").wait_for()
    one.idle()


def a_pasted_screenshot_shows_its_page_and_the_region(one: Tab, server: Pictured) -> None:
    box = one.page.get_by_placeholder("Ask your documents")
    box.fill("What was sold?")
    copy(one, server.picture)
    box.press("Control+v")
    one.page.get_by_text("Found on this page").wait_for()
    assert box.input_value() == "What was sold?", "what was typed stays"
    small = one.page.locator(".st-key-picture-page-1-image img").first
    assert (small.get_attribute("alt") or "").startswith("Page 2 of quarterly report, the matching region")
    upper, lower = outlined_rows(one.picture(small))
    assert abs(upper - TOP) < 0.02
    assert abs(lower - BOTTOM) < 0.02
    one.idle()
    assert not one.page.get_by_text("Reading the words on the picture").count(), "a sure match needs no words"

    one.page.get_by_role("link", name="Page 2", exact=True).click()
    reader = read_page(one, 2)
    large = reader.locator(".sheet > img")
    assert (large.get_attribute("alt") or "").endswith(", the matching region outlined")
    points, (_, height) = covered(reader, "region")
    assert abs(min(y for _, y in points) / height - TOP) < 0.02
    assert abs(max(y for _, y in points) / height - BOTTOM) < 0.02
    close_reader(one)

    one.page.get_by_role("button", name="Ask about it").click()
    one.page.locator(".st-key-filters button", has_text="quarterly report").wait_for()
    one.idle()
    box.fill("")
    one.ask("How large is the deposit?")
    one.page.get_by_text("Only filtered documents were searched.").first.wait_for()  # it stands in the other one
    one.page.locator(".st-key-filters-none button").click()
    one.page.locator(".st-key-filters button", has_text="All documents").wait_for()  # not the pressed one
    one.page.get_by_role("button", name="Clear").click()
    one.page.get_by_text("Drop, choose or paste").wait_for()


def pasted_words_stay_words_and_the_button_reports(one: Tab, server: Pictured) -> None:
    one.page.evaluate("navigator.clipboard.writeText('Where is the warranty?')")
    box = one.page.get_by_placeholder("Ask your documents")
    box.press("Control+v")
    assert box.input_value() == "Where is the warranty?"
    one.page.get_by_role("button", name="Paste").click()
    one.page.get_by_text("There is no picture in the clipboard.").wait_for()
    copy(one, server.picture)
    one.page.get_by_role("button", name="Paste").press("Enter")
    one.page.get_by_text("Found on this page").wait_for()
    assert not one.page.get_by_text("There is no picture in the clipboard.").is_visible()


def a_hostile_name_and_a_broken_file_do_nothing_on_a_phone(one: Tab, server: Pictured) -> None:
    one.page.emulate_media(color_scheme="dark")
    one.page.set_viewport_size({"width": 390, "height": 844})
    begin(one)
    copy(one, server.of_hostile)
    one.page.keyboard.press("Control+v")
    one.page.get_by_text("Found on this page").wait_for()
    one.page.get_by_role("button", name="Ask about it").wait_for()
    one.page.locator('[data-testid="stSidebar"][data-collapsed="true"]').wait_for(state="attached")
    one.idle()
    app = one.page.locator('[data-testid="stApp"]')
    assert "![n](http:" in one.page.locator(".st-key-picture-page-1").inner_text()
    assert not app.locator(".katex, script, iframe, a[href*='a.com']").count()
    take(one, "picture-phone-dark")
    one.page.get_by_role("button", name="Ask about it").click()
    one.idle()
    assert one.page.get_by_placeholder("Ask your documents").is_visible()
    take(one, "picture-phone-asking")
    file = {"name": "broken.png", "mimeType": "image/png", "buffer": b"\x89PNG\r\n\x1a\nnothing"}
    choose(one, file)
    one.page.get_by_text("broken.png is a picture that is broken").wait_for(state="attached")


def it_keeps_its_shape(one: Tab, server: Pictured) -> None:
    one.ask("How many lanterns were sold?")
    picture = {"name": "shot.png", "mimeType": "image/png", "buffer": server.picture}
    choose(one, picture)
    one.page.get_by_text("Found on this page").wait_for()
    one.idle()
    take(one, "visual-search")
    one.page.get_by_role("button", name="Close").click()
    one.page.get_by_role("button", name="Show the pages").click()
    one.page.get_by_text("Found on this page").wait_for()
    stranger = {"name": "other.png", "mimeType": "image/png", "buffer": png(sheet(9))}
    choose(one, stranger)
    one.page.get_by_text("No sure match.").wait_for()
    one.idle()
    take(one, "visual-search-unsure")
