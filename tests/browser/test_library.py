"""The library in a browser: a table that is found in, sorted, selected and edited; a document's own page; the bin."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from browsers import WINDOW
from desks import environment_of
from docmind.records.documents import Upload
from libraries import Library, confirm
from papers import line, pdf
from served import WAIT_MS, App, Server, Tab, tab, take, take_both

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

PARTS = ("oil", "wicks", "glass", "brass", "storms")
LONG = "A quarterly report of the Lantern Works in Harbour Street, with all its figures, for the second year"


def paper(title: str, lines: list[str], pages: int = 1) -> bytes:
    """Return a PDF whose first page has a title in large print."""
    text = [line(title, y=700, size=24), *(line(one, y=650 - 30 * n, size=12) for n, one in enumerate(lines))]
    more = [
        line(f"On {PARTS[n % 5]} {PARTS[n % 3]}", y=700, size=18) + line("The lamp burns all night.", y=660, size=12)
        for n in range(2, pages + 1)
    ]
    return pdf(["\n".join(text), *more])


CARE = paper("Care of the lantern", ["Clean the glass with a dry cloth once a month.", "Trim the wick."], 14)
FILES = [
    ("en_ca11_x.pdf", paper("Lease of the workshop", ["The tenant gives notice three months before the end."], 3)),
    ("care.pdf", CARE),
    ("relatório.md", "# Relatório de vendas\n\nAs vendas da oficina cresceram três por cento no ano.\n".encode()),
    ("owls.txt", b"Owls hunt at night and swallow their prey whole, which they digest until noon.\n" * 3),
    (f"{LONG}.txt", b"The lantern range sold 41,000 pieces, 3,000 more than a year ago.\n" * 3),
]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    library = Library("library", [Upload(*file) for file in FILES], confirm)
    server = App(tmp_path, library=library, **environment_of(tmp_path))
    server.start()
    yield server
    server.stop()
    assert "Traceback" not in server.log()


def titles(one: Tab) -> list[str]:
    return one.page.locator(".lib-row .lib-words > a").all_inner_texts()


def row(one: Tab, title: str) -> Any:
    return one.page.locator(".lib-row", has=one.page.get_by_role("link", name=title, exact=True))


def rows_show_titles_and_are_found_and_sorted(one: Tab) -> None:
    page = one.page
    one.shows(page.locator(".lib-row"), 5)
    assert "Lease of the workshop" in titles(one)
    assert row(one, "Lease of the workshop").locator(".lib-name").inner_text() == "en_ca11_x.pdf"
    page.get_by_role("button", name="Pages").click()
    assert titles(one)[0] == "Care of the lantern"
    page.get_by_role("button", name="Title").click()
    assert titles(one) == sorted(titles(one), key=str.casefold)
    find = page.get_by_placeholder("Find by title, name or tag")
    find.fill("RELATORIO")
    assert titles(one) == ["Relatório de vendas"]
    page.get_by_text("1 of 5 documents").wait_for()
    find.fill("nothing like it")
    page.get_by_text("No documents match.").wait_for()
    page.get_by_role("button", name="Clear filters").last.click()
    one.shows(page.locator(".lib-row"), 5)
    page.get_by_label("Kind", exact=True).select_option("Text")
    assert len(titles(one)) == 2
    page.get_by_role("button", name="Clear filters").first.click()
    take(one, "library")


def the_keyboard_moves_selects_and_opens(one: Tab) -> None:
    page = one.page
    page.locator(".lib-grid").focus()
    for key in ("ArrowDown", "Space", "ArrowDown", "Space"):
        page.keyboard.press(key)
    page.get_by_text("2 selected").wait_for()
    take(one, "library-selected")
    page.keyboard.press("Control+a")
    page.get_by_text("5 selected").wait_for()
    page.keyboard.press("Escape")
    one.shows(page.locator('.lib-row[aria-selected="true"]'), 0)
    page.keyboard.type("care")
    assert page.get_by_placeholder("Find by title, name or tag").input_value() == "care"
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Care of the lantern").wait_for()


def a_document_is_in_the_address_and_back_works(one: Tab) -> None:
    page = one.page
    page.get_by_role("link", name="Care of the lantern", exact=True).click()
    page.get_by_role("heading", name="Care of the lantern").wait_for()
    assert "document=" in page.url
    one.shows(page.locator('.doc-pages a[href^="#read="]'), 14)
    page.get_by_text("Text from the file: 14 pages").wait_for()
    one.idle()
    take(one, "library-document")
    page.reload()
    page.get_by_role("heading", name="Care of the lantern").wait_for()
    one.idle()
    page.go_back()
    one.shows(page.locator(".lib-row"), 5)
    one.idle()
    page.go_forward()
    page.get_by_role("heading", name="Care of the lantern").wait_for()
    with page.expect_download() as got:
        page.get_by_role("button", name="Download original").click()
    assert got.value.suggested_filename == "care.pdf"
    assert got.value.path().read_bytes() == CARE


def a_document_is_renamed_and_tagged(one: Tab) -> None:
    """Type as soon as a dialog is there: its first field takes it, in place of what stood there."""
    from playwright.sync_api import expect

    page = one.page
    row(one, "Lease of the workshop").locator("a").click()
    page.get_by_role("button", name="Rename").click()
    dialog = page.get_by_role("dialog")
    dialog.wait_for()
    page.keyboard.type("lease.pdf")  # at once
    name = dialog.get_by_label("Name", exact=True)
    expect(name).to_have_value("lease.pdf", timeout=WAIT_MS)
    expect(name).to_be_focused()
    dialog.get_by_label("Title").fill("Lease 2024")
    page.get_by_role("button", name="Save").click()
    page.get_by_role("heading", name="Lease 2024").wait_for()
    one.idle()
    page.get_by_role("button", name="All documents").click()
    row(one, "Lease 2024").wait_for()
    for title in ("Lease 2024", "Care of the lantern"):
        row(one, title).get_by_role("checkbox").check()
    page.get_by_role("toolbar").get_by_role("button", name="Tag").click()
    dialog.wait_for()
    page.keyboard.type("workshop")
    expect(dialog.get_by_label("New tags")).to_have_value("workshop", timeout=WAIT_MS)
    take_both(one, "library-tags")
    page.keyboard.press("Enter")  # nothing lies over the dialog, and no second key is needed
    dialog.wait_for(state="detached")
    one.shows(page.locator(".lib-tag"), 2)
    page.get_by_label("Tag", exact=True).select_option("workshop")
    assert len(titles(one)) == 2
    page.get_by_role("button", name="Clear filters").first.click()


def several_are_fetched_as_one_file(one: Tab) -> None:
    page = one.page
    row(one, "Care of the lantern").get_by_role("checkbox").check()
    with page.expect_download() as got:
        page.get_by_role("toolbar").get_by_role("button", name="Download").click()
    assert got.value.suggested_filename == "care.pdf"
    assert got.value.path().read_bytes() == CARE
    page.locator(".lib-head input").check()
    with page.expect_download() as got:
        page.get_by_role("toolbar").get_by_role("button", name="Download").click()
    with zipfile.ZipFile(io.BytesIO(got.value.path().read_bytes())) as archive:
        assert archive.read("care.pdf") == CARE
        assert len(archive.namelist()) == 5


def deletion_is_undone_and_the_bin_gives_back(one: Tab) -> None:
    page = one.page
    row(one, "owls.txt").get_by_role("checkbox").check()
    page.get_by_role("toolbar").get_by_role("button", name="Delete").click()
    page.get_by_text("“owls.txt” is in the bin.").wait_for()
    one.shows(page.locator(".lib-row"), 4)
    take(one, "library-undo")
    page.get_by_role("button", name="Undo").click()
    one.shows(page.locator(".lib-row"), 5)
    one.idle()
    row(one, "owls.txt").get_by_role("checkbox").check()
    page.get_by_role("toolbar").get_by_role("button", name="Delete").click()
    page.get_by_role("button", name="Bin (1)").click()
    page.get_by_role("heading", name="Bin").wait_for()
    one.idle()
    take(one, "library-bin")
    page.get_by_role("button", name="Empty bin").click()
    page.get_by_text("This can't be undone.").wait_for()
    one.idle()
    take(one, "library-empty-bin")
    page.get_by_role("button", name="Keep").click()
    page.get_by_role("dialog").wait_for(state="detached")
    page.get_by_role("button", name="Restore").click()
    page.get_by_text("The bin is empty.").wait_for()
    page.get_by_role("button", name="All documents").click()
    one.shows(page.locator(".lib-row"), 5)


def the_table_begins_high_and_the_page_takes_files(one: Tab) -> None:
    """Measure on a laptop; files over the page make the box for files cover it."""
    page = one.page
    page.set_viewport_size({"width": 1280, "height": 800})
    one.idle()
    head = page.locator(".lib-head").bounding_box()
    assert head is not None
    assert head["y"] <= 160, head
    menus = {round(one.bounding_box()["y"]) for one in page.locator(".lib-menu:visible").all()}
    assert len(menus) == 1, "the filters are one row"
    count = page.locator(".st-key-documents-heading .lib-count")
    assert "5 documents" in count.inner_text()
    page.evaluate(
        "() => { const data = new DataTransfer(); data.items.add(new File(['x'], 'x.txt'));"
        " document.body.dispatchEvent(new DragEvent('dragenter', {dataTransfer: data, bubbles: true})) }"
    )
    zone = page.locator('.st-key-adding [data-testid="stFileUploaderDropzone"]')
    one.until("() => 'dropping' in document.documentElement.dataset")
    assert zone.bounding_box() == {"x": 0, "y": 0, "width": 1280, "height": 800}
    take(one, "library-drop")
    one.until("() => !('dropping' in document.documentElement.dataset)")
    page.get_by_role("button", name="Add", exact=True).click()
    with page.expect_file_chooser() as chosen:
        page.get_by_role("menuitem", name="Add files").click()
    chosen.value.set_files({"name": "notes.txt", "mimeType": "text/plain", "buffer": b"The wick is trimmed daily."})
    page.get_by_text("1 added").wait_for()
    take_both(one, "library-added")
    one.shows(page.locator(".lib-row"), 6)
    page.get_by_text("1 added").wait_for(state="hidden")  # by itself
    page.get_by_role("button", name="Activity").click()
    page.get_by_text("notes.txt: 1 page").wait_for()
    page.get_by_role("button", name="Clear this list").click()
    page.get_by_role("button", name="Activity").wait_for(state="detached")
    one.idle()
    row(one, "notes.txt").get_by_role("checkbox").check()
    page.get_by_role("toolbar").get_by_role("button", name="Delete").click()
    page.get_by_role("button", name="Bin (1)").click()
    page.get_by_role("button", name="Erase for good").click()
    page.get_by_role("dialog").get_by_role("button", name="Erase for good").click()
    page.get_by_role("dialog").get_by_text("“notes.txt” was erased").wait_for()
    page.get_by_role("dialog").get_by_role("button", name="Save receipt").wait_for()
    one.idle()
    take_both(one, "library-receipt")
    page.get_by_role("dialog").get_by_role("button", name="Close").last.click()
    page.get_by_role("dialog").wait_for(state="detached")
    page.get_by_role("button", name="All documents").click()
    page.set_viewport_size(WINDOW)
    one.shows(page.locator(".lib-row"), 5)


def it_fits_a_phone(one: Tab) -> None:
    take_both(one, "library-wide")
    one.page.set_viewport_size({"width": 390, "height": 844})
    one.idle()
    take_both(one, "library-phone")
    one.page.locator(".lib-row a").first.click()
    one.page.locator(".doc-pages a").first.wait_for()
    one.idle()
    take_both(one, "library-document-phone")


def test_the_library_in_one_tab(browser: Any, server: Server) -> None:
    """Walk through the library in one tab; each part begins at the table of all documents."""
    with tab(browser, server) as one:
        one.open("Documents")
        for part in (
            rows_show_titles_and_are_found_and_sorted,
            the_keyboard_moves_selects_and_opens,
            a_document_is_in_the_address_and_back_works,
            several_are_fetched_as_one_file,
            deletion_is_undone_and_the_bin_gives_back,
            a_document_is_renamed_and_tagged,
            the_table_begins_high_and_the_page_takes_files,
            it_fits_a_phone,
        ):
            one.page.get_by_placeholder("Find by title, name or tag").fill("")
            one.shows(one.page.locator(".lib-row"), 5)
            one.shows(one.page.locator('.lib-row[aria-selected="true"]'), 0)
            part(one)
            one.idle()
            if one.page.locator('.lib-row[aria-selected="true"]').count():
                one.page.locator(".lib-grid").focus()
                one.page.keyboard.press("Escape")
            if part in (the_keyboard_moves_selects_and_opens, a_document_is_in_the_address_and_back_works):
                one.page.get_by_role("button", name="All documents").click()
                one.idle()
