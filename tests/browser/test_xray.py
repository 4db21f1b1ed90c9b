"""What was read on a scanned page, in a real browser: a doubtful line is found, corrected by hand, and searched for."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageDraw, ImageFont

from desks import environment_of
from docmind.records.documents import Upload
from libraries import Library, confirm
from served import App, Server, tab

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

FONT = Path("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf")
CLEAR = ("Rental agreement of the garage in Ash Lane", "The monthly rent is 1,250 euros", "Signed by two witnesses")
MISREAD = "ill1I#1lI O0oO0QO rnmrn vv w"  # letters that look alike, in a pale print


def scan() -> bytes:
    """Return a PDF of two scanned pages: one with a line that is easily misread, and an empty one."""
    pages = [Image.new("L", (1240, 800), 255) for _ in range(2)]
    pen = ImageDraw.Draw(pages[0])
    font = ImageFont.truetype(str(FONT), 34) if FONT.is_file() else ImageFont.load_default(34)
    for place, text in enumerate((*CLEAR[:2], MISREAD, CLEAR[2])):
        pen.text((100, 120 + place * 80), text, font=font, fill=150 if text == MISREAD else 0)
    out = io.BytesIO()
    pages[0].save(out, "PDF", save_all=True, append_images=pages[1:], resolution=150)
    return out.getvalue()


def ocr_in(folder: Path) -> Any:
    from desks import settings_in

    settings = settings_in(folder)
    return settings.model_copy(
        update={"reading": settings.reading.model_copy(update={"ocr": "auto", "image_side_px": 1600})}
    )


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    library = Library("a scan", [Upload("garage.pdf", scan())], confirm, ocr_in)
    environment = environment_of(tmp_path, DOCMIND_READING__OCR="auto", DOCMIND_READING__IMAGE_SIDE_PX="1600")
    server = App(tmp_path, library=library, **environment)
    server.start()
    yield server
    server.stop()
    assert "Traceback" not in server.log()


def test_a_doubtful_line_is_corrected_by_hand_and_found(browser: Any, server: Server) -> None:
    with tab(browser, server) as one:
        page = one.open("Documents").page
        page.get_by_role("link", name="garage", exact=False).first.click()
        page.get_by_test_id("stExpander").get_by_text("Pages to look at").click()
        page.get_by_role("link", name="Page 2 is empty").wait_for()
        page.get_by_role("link", name="Page 1: 1 of 4 lines doubtful").click()
        xray = page.locator("#docmind-xray")
        page.locator('#docmind-xray[data-shown="1"]').wait_for()
        xray.get_by_text("text by OCR: doubtful · 1").wait_for()
        assert page.url.endswith(".1")

        xray.get_by_role("button", name="Next doubtful line").click()
        chosen = xray.locator("li[aria-current]")
        assert chosen.get_attribute("data-n") == "3"
        assert "doubtful" in str(chosen.get_attribute("aria-label"))
        assert xray.locator("rect.now").get_attribute("data-n") == "3"
        xray.locator('rect[data-n="2"]').click()
        assert chosen.get_attribute("data-n") == "2"

        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        field = xray.get_by_role("textbox", name="Correct this line: Line 3")
        field.fill("never mind")
        page.keyboard.press("Escape")
        assert "never mind" not in xray.inner_text()
        page.keyboard.press("Enter")
        field.fill("Kept by the notary Quillonia")
        page.keyboard.press("Enter")
        xray.get_by_text("Saved. Searches find it now.").wait_for()
        assert xray.locator("ol li.hand .text").inner_text().startswith("Kept by the notary Quillonia")
        xray.get_by_text("text by OCR: doubtful").wait_for(state="detached")

        page.keyboard.press("Escape")
        xray.wait_for(state="hidden")
        assert "#xray" not in page.url
        one.go("Ask")
        one.ask("Where is the notary Quillonia?")
        page.get_by_text("corrected by hand").first.wait_for()
        page.get_by_role("link", name="What was read here").first.click()
        page.locator('#docmind-xray[data-shown="1"]').wait_for()
        xray.locator("ol li.hand").hover()
        xray.locator("ol li.hand").get_by_role("button", name="Back to what was read").click()
        xray.get_by_text("The line is again what was read.").wait_for()
        xray.get_by_role("button", name="Undo").click()
        xray.get_by_text("Saved. Searches find it now.").wait_for()
        xray.get_by_text("Read again with…").click()
        xray.get_by_role("button", name="RapidOCR").click()
        xray.get_by_text("The page was read again.").wait_for()
        assert xray.locator("ol li.hand .text").inner_text().startswith("Kept by the notary Quillonia")
        xray.get_by_role("button", name="Next page").click()
        xray.get_by_text("Nothing was read on this page.").wait_for()
