"""The queue of files in a real browser: uploads are read even if the tab or the server is closed."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from msoffcrypto.format.ooxml import OOXMLFile

from browsers import WINDOW
from papers import line, pdf, word_file
from served import App, Server, Tab, choose_in_menu, tab, take, take_both

pytestmark = [pytest.mark.browser, pytest.mark.timeout(1200)]

PASSWORD = "opensesame"


@pytest.fixture(params=[2])
def server(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Server]:
    """Serve an app that reads so many files at a time."""
    server = App(
        tmp_path, DOCMIND_EMBEDDING__MODEL="fake", DOCMIND_READING__OCR="off",
        DOCMIND_READING__WORKERS=str(request.param),
    )  # fmt: skip
    server.start()
    yield server
    server.stop()
    assert "Traceback" not in server.log()


@contextmanager
def patient(browser: Any, server: Server, **options: Any) -> Iterator[Tab]:
    """Open a tab with longer timeouts: whole documents are read here, on a busy machine."""
    with tab(browser, server, **options) as one:
        one.page.set_default_timeout(300_000)
        yield one


def paper(name: str, pages: int) -> tuple[str, bytes]:
    return name, pdf([line(f"{name}, page {number}, counts {number * 37} herons.") for number in range(1, pages + 1)])


def locked(name: str) -> tuple[str, bytes]:
    out = io.BytesIO()
    OOXMLFile(io.BytesIO(word_file())).encrypt(PASSWORD, out)
    return name, out.getvalue()


def drop(one: Tab, *files: tuple[str, bytes]) -> None:
    payload = [{"name": name, "mimeType": "application/octet-stream", "buffer": data} for name, data in files]
    one.page.locator("input[type=file]").first.set_input_files(payload)


def press(one: Tab, key: str) -> None:
    """Press a button of the queue; the panel may be redrawn at this moment."""
    one.page.locator(f".st-key-queue-{key} button").first.click()
    one.idle()


@pytest.mark.crash
@pytest.mark.parametrize("server", [1], indirect=True)
def test_files_wait_over_a_kill_and_failed_ones_stay_until_they_are_dealt_with(browser: Any, server: Server) -> None:
    with patient(browser, server) as one:
        one.open("Documents")
        drop(one, paper("herons.pdf", 3), locked("contract.docx"), ("broken.pdf", paper("x", 2)[1][:300]))
        one.page.get_by_text("1 file needs a password, 1 file could not be read").wait_for()
        one.idle()
        one.page.locator(".lib-row", has_text="herons.pdf").wait_for()
        take(one, "queue-attention")
        drop(one, paper("long.pdf", 60), *[paper(f"report {number}.pdf", 2) for number in range(6)])
        one.page.get_by_text("6 files are waiting").wait_for()

    server.kill()  # the tab ends too
    server.start()
    with patient(browser, server) as two:
        two.open("Documents")
        two.page.get_by_text("8 documents, 75 pages").wait_for()  # those that waited are read without a word
        two.page.get_by_text("1 file needs a password, 1 file could not be read").wait_for()  # still reported
        two.page.get_by_text("broken.pdf").first.wait_for()
        two.page.locator("input[type=password]").fill("wrong")
        two.page.get_by_role("button", name="Unlock").click()
        two.page.get_by_text("That password does not open it").wait_for()
        two.idle()
        assert two.page.locator("input[type=password]").input_value() == ""
        two.page.locator("input[type=password]").fill(PASSWORD)
        two.page.get_by_role("button", name="Unlock").click()
        two.page.get_by_text("1 file could not be read", exact=True).wait_for()
        two.page.locator(".lib-row", has_text="contract.docx").wait_for()
        two.idle()
        two.page.get_by_role("button", name="Retry").click()
        two.page.get_by_role("button", name="Retry").wait_for()
        two.idle()
        two.page.locator('[class*="st-key-queue-remove-"] button').first.click()
        two.page.get_by_text("could not be read", exact=False).wait_for(state="detached")


def on_a_phone(one: Tab, name: str) -> None:
    """Look at the page as it is now on a phone too, in both themes."""
    one.page.set_viewport_size({"width": 390, "height": 844})  # the sidebar is folded now
    take_both(one, f"queue-phone-{name}")
    one.page.set_viewport_size(WINDOW)


@pytest.mark.parametrize("server", [1], indirect=True)
def test_pause_resume_and_cancel_keep_what_was_read(browser: Any, server: Server) -> None:
    with patient(browser, server) as one:
        one.open("Documents")
        drop(one, locked("a contract with a rather long name that goes on.docx"), ("broken.pdf", b"%PDF-1.4 broken"))
        one.page.get_by_text("1 file needs a password, 1 file could not be read").wait_for()
        drop(one, paper("long.pdf", 300), paper("second.pdf", 2), paper("third.pdf", 2))
        one.page.get_by_text(re.compile(r"\d+ of 300 pages read")).wait_for()
        one.page.get_by_role("button", name="Pause").wait_for()
        take(one, "queue-reading")
        on_a_phone(one, "reading")
        press(one, "pause")
        one.page.get_by_text("3 files are not read yet").wait_for()
        one.idle()
        on_a_phone(one, "paused")
        kept = one.page.get_by_text(re.compile(r"[\d,]+ of 300 pages of long.pdf are read and kept")).inner_text()
        row = one.page.locator(".lib-row", has_text="long.pdf")
        row.get_by_text("Paused").wait_for()
        row.locator(f'.lib-state[title="{kept.split()[0]} of 300 pages"]').wait_for()  # as the panel says it
        take(one, "queue-paused")
        one.go("Ask")
        one.page.get_by_text("Reading is paused: 3 files are not read yet").wait_for()
        take(one, "queue-ask-paused")

    server.kill()
    server.start()  # paused files stay paused
    with patient(browser, server) as two:
        two.open("Documents")
        two.page.get_by_text("3 files are not read yet").wait_for()
        two.page.get_by_text(kept).first.wait_for()
        press(two, "resume")
        two.page.get_by_text(re.compile(r"\d+ of 300 pages read")).wait_for()
        two.go("Ask")
        two.page.get_by_text("Reading 3 files. You can ask now").wait_for()
        take(two, "queue-ask-reading")
        two.go("Documents")
        press(two, "cancel")
        two.page.get_by_text("Not read:").wait_for()
        two.idle()
        two.page.get_by_text("second.pdf, third.pdf").first.wait_for()
        take(two, "queue-cancelled")
        on_a_phone(two, "cancelled")
        press(two, "again")
        for name in ("second.pdf", "third.pdf"):
            two.page.locator(".lib-row", has_text=name).wait_for()
        two.idle()
        two.page.locator(".lib-row", has_text="long.pdf").get_by_text("Stopped").wait_for()
        take(two, "queue-done")
        two.page.locator(".lib-row").get_by_role("button", name="Resume").click()
        two.page.get_by_text(re.compile(r"\d+ of 300 pages read")).first.wait_for()
        press(two, "cancel")
        two.page.locator(".lib-row").get_by_role("button", name="Resume").wait_for()
        two.page.locator(".lib-row", has_text="long.pdf").get_by_role("checkbox").check()
        two.page.get_by_role("toolbar").get_by_role("button", name="Delete").click()
        two.page.get_by_role("dialog").get_by_role("button", name="Erase for good").click()
        two.page.get_by_text("“long.pdf” was erased").wait_for()


def test_every_upload_counts_once_and_a_followed_folder_is_read(browser: Any, server: Server, tmp_path: Path) -> None:
    with patient(browser, server) as one:
        one.open("Documents")
        every_upload_counts_once_however_fast_they_come(one)
        the_files_of_a_followed_folder_are_read(one, tmp_path / "papers")


def every_upload_counts_once_however_fast_they_come(one: Tab) -> None:
    """Files arrive while another is read, while the page is redrawn, and during the previous upload."""
    drop(one, paper("long.pdf", 60), paper("as long.pdf", 60))
    one.page.get_by_text(re.compile(r"\d+ of 60 pages read · 1 more file is being read")).wait_for()
    take(one, "queue-two")
    for number in range(5):
        drop(one, locked(f"contract {number}.docx"))
        one.page.wait_for_timeout(200 * number)
    one.page.get_by_text("5 files need a password").wait_for()
    one.page.get_by_text("2 documents, 120 pages").wait_for()
    one.idle()
    assert one.page.locator("input[type=password]").count() == 5
    assert not one.page.locator('[data-testid="stFileChip"]').locator("visible=true").count(), "the box looks empty"


def the_files_of_a_followed_folder_are_read(one: Tab, folder: Path) -> None:
    (folder / "herons").mkdir(parents=True)
    (folder / "owls.txt").write_text("Owls hunt at night.", "utf-8")
    (folder / "herons" / "grey.txt").write_text("Herons nest in tall trees.", "utf-8")
    (folder / "draft.tmp").write_text("Not finished.", "utf-8")
    choose_in_menu(one, one.page.get_by_role("button", name="Add", exact=True).click, "Watched folders")
    one.page.get_by_label("Folder", exact=True).fill(str(folder))
    one.page.get_by_label("Leave out (optional)").fill("*.tmp")
    one.page.get_by_role("button", name="Follow folder").click()
    one.page.get_by_role("dialog").get_by_text(str(folder)).wait_for()
    one.idle()
    one.page.keyboard.press("Escape")
    one.page.get_by_role("dialog").wait_for(state="detached")
    for name in ("owls.txt", "grey.txt"):
        one.page.locator(".lib-row", has_text=name).wait_for()
    one.idle()
    one.page.get_by_text("4 documents, 122 pages").wait_for()  # and the long ones, below what is drawn
    choose_in_menu(one, one.page.get_by_role("button", name="Add", exact=True).click, "Watched folders (1)")
    one.page.get_by_text(re.compile("^2 files · without")).wait_for()
    assert (folder / "owls.txt").read_text("utf-8") == "Owls hunt at night."
