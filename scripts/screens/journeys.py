"""The journeys of the walk, in their order: what a user does, and the pictures that are taken on the way."""

from __future__ import annotations

import io
import re
import shutil
import tempfile
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import material
from PIL import Image

from llm_server import Behaviour, serving
from loopback import LoopbackHandler, LoopbackServer
from served import Server, Tab, choose_in_menu

WAIT_MS = 30_000
TALL = 2_000
NARROW = 800
ELSEWHERE = "http://203.0.113.7:8080"  # an address that no computer has


class Desk(Server):
    """The app, whose settings can be changed between two starts."""

    def __init__(self, folder: Path, **environment: str) -> None:
        super().__init__(folder, **environment)
        self.folder = folder

    def set(self, **environment: str) -> None:
        """Change variables of the next start."""
        self._environment.update(environment)


class Walk:
    """One browser tab on its way through the app, and the folder of its pictures."""

    def __init__(self, context: Any, server: Desk, folder: Path) -> None:
        self.context, self.folder = context, folder
        self.journey = ""
        self.complaints: list[str] = []
        self.enter(server)

    def enter(self, server: Desk) -> None:
        """Open the app of a server in a new tab."""
        if hasattr(self, "tab"):
            self.complaints += self.tab.complaints
            self.page.close()
        self.server, self.tab = server, Tab(self.context.new_page(), server)
        self.page = self.tab.page
        self.page.set_default_timeout(WAIT_MS)

    def take(self, state: str) -> None:
        """Save a picture of the window as it is."""
        self.page.mouse.move(2, 2)
        self.page.wait_for_timeout(450)
        path = self.folder / f"{self.journey}-{state}.png"
        self.page.screenshot(path=path)
        Image.open(path).convert("RGB").quantize(128, dither=Image.Dither.NONE).save(path)
        if sideways := self.tab.sideways():
            self.complaints.append(f"{path.stem} scrolls sideways: {sideways}")

    def take_all(self, state: str) -> None:
        """Save a picture of a page that is longer than the window."""
        size = self.page.viewport_size
        self.page.set_viewport_size({"width": size["width"], "height": TALL})
        self.tab.idle()
        self.take(state)
        self.page.set_viewport_size(size)
        self.tab.idle()

    def press(self, name: str | re.Pattern[str], role: Any = "button", *, within: Any = None) -> None:
        """Press what has this name."""
        (within or self.page).get_by_role(role, name=name).locator("visible=true").first.click()
        self.tab.idle()

    def key(self, key: str) -> None:
        """Press the visible button of a key."""
        self.page.locator(f".st-key-{key} button:visible").first.click()
        self.tab.idle()

    def text(self, told: str | re.Pattern[str]) -> Any:
        """Wait for a text, and return its first place."""
        found = self.page.get_by_text(told).locator("visible=true").first
        found.wait_for()
        return found

    def go(self, path: str) -> None:
        """Open a page of the app by its address."""
        self.page.goto(f"{self.tab.url}{path}")
        self.page.locator("h1, [data-testid='stChatInput']").first.wait_for()
        self.tab.idle()
        side_bar = self.page.locator('[data-testid="stSidebar"][data-collapsed="false"]')
        if self.page.viewport_size["width"] < NARROW and side_bar.count():
            self.page.locator('[data-testid="stSidebarCollapseButton"] button').click()
            self.tab.idle()

    def listed(self, name: str) -> Any:
        """Return the row of a document, found by its name: only rows in view are drawn."""
        self.page.locator(".lib-find input").fill(name)
        row = self.page.locator(".lib-row", has_text=name).first
        row.wait_for()
        return row

    def list_in_view(self) -> None:
        """Scroll to the library, in a window that shows only what is above it."""
        self.page.locator(".lib-row").first.wait_for()
        if self.page.viewport_size["width"] < NARROW:
            self.page.locator(".lib-find").evaluate("field => field.scrollIntoView()")
            self.page.locator('[data-testid="stMain"]').evaluate("main => main.scrollBy(0, -70)")
            self.tab.idle()

    def drop(self, *files: tuple[str, bytes]) -> None:
        """Hand files to the box."""
        payload = [{"name": name, "mimeType": "application/octet-stream", "buffer": data} for name, data in files]
        self.page.locator("input[type=file]").first.set_input_files(payload)

    def picture(self, data: bytes) -> None:
        """Hand a picture to the search by picture."""
        self.side_bar()
        box = self.page.locator('[data-testid="stSidebar"] input[type=file]').first
        box.set_input_files([{"name": "crop.png", "mimeType": "image/png", "buffer": data}])

    def side_bar(self) -> None:
        """Unfold the side bar where the window is narrow."""
        unfold = self.page.locator('[data-testid="stExpandSidebarButton"]')
        if unfold.count() and unfold.first.is_visible():
            unfold.first.click()
            self.tab.idle()

    def escape(self) -> None:
        """Close what is open over the page."""
        self.page.keyboard.press("Escape")
        self.tab.idle()

    def cite(self, turn: int = 0) -> Any:
        """Open the page of the first citation of a turn."""
        self.page.locator(f'.st-key-turn-{turn} a[href^="#read="]:visible').first.click()
        return self.reader()

    def reader(self) -> Any:
        """Return the reader once it shows a page."""
        self.page.locator("#docmind-reader[data-shown]").wait_for()
        self.page.wait_for_timeout(1_000)
        return self.page.locator("#docmind-reader")

    def say(self, question: str) -> None:
        """Send a question without waiting for its answer."""
        box = self.page.get_by_placeholder("Ask your documents")
        box.fill(question)
        box.press("Enter")

    def restart(self, **environment: str) -> None:
        """Start the app over the same library with other settings, and open it."""
        self.complaints += self.tab.complaints
        self.tab.complaints.clear()
        self.server.stop()
        self.tab.complaints.clear()  # of the connection that ended
        self.server.set(**environment)
        self.server.start()
        self.enter(self.server)
        self.tab.enter()


def first_minutes(walk: Walk) -> None:
    walk.go("/")
    walk.take("empty")
    walk.go("/documents")
    walk.take("no-documents")


def adding(walk: Walk) -> None:
    walk.go("/documents")
    walk.drop(*material.files(), *material.unreadable())
    walk.text(re.compile("^Reading|Running OCR"))
    walk.take("reading")
    walk.page.get_by_text(re.compile(r"\d+ added")).first.wait_for(timeout=240_000)
    walk.tab.idle()
    walk.take("added")
    walk.take_all("added-all")
    walk.page.locator("input[type=password]").fill("wrong")
    walk.press("Unlock")
    walk.text("That password does not open it")
    walk.take("wrong-password")
    walk.page.locator("input[type=password]").fill(material.PASSWORD)
    walk.press("Unlock")
    walk.text("2 files could not be read")


def waiting(walk: Walk) -> None:
    walk.go("/documents")
    walk.drop(("long.pdf", material.long_paper(300)), ("second.pdf", material.long_paper(2)))
    walk.text(re.compile(r"\d+ of 300 pages read"))
    walk.take("progress")
    walk.go("/")
    walk.text(re.compile("Reading . file"))
    walk.take("ask-while-reading")
    walk.picture(material.stranger())
    walk.text(re.compile("No sure match|Still preparing"))
    walk.take("picture-while-preparing")
    walk.go("/documents")
    walk.key("queue-pause")
    walk.text("are not read yet")
    walk.take("paused")
    walk.key("queue-cancel")
    walk.text("Not read:")
    walk.take("cancelled")
    walk.key("queue-drop")


def folders(walk: Walk) -> None:
    folder = Path(tempfile.mkdtemp(prefix="docmind-screens-papers-"))
    try:
        (folder / "owls.txt").write_text("Owls hunt at night.", "utf-8")
        (folder / "herons.txt").write_text("Herons nest in tall trees.", "utf-8")
        walk.go("/documents")
        choose_in_menu(walk.tab, lambda: walk.press("Add"), "Watched folders")
        walk.page.get_by_label("Folder", exact=True).fill(str(folder))
        walk.take("form")
        walk.press("Follow folder")
        dialog = walk.page.get_by_role("dialog")
        dialog.get_by_text("2 files").wait_for()
        walk.tab.idle()
        walk.take("followed")
        (folder / "owls.txt").unlink()
        walk.press("Look now", within=dialog)
        walk.text("gone from its folder")
        walk.take("gone")
        walk.escape()
        walk.press(re.compile("^Keep"))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def web(walk: Walk) -> None:
    """Add a web page by its address: not allowed, allowed, and an address that is none."""

    class Page(LoopbackHandler):
        def do_GET(self) -> None:  # noqa: N802 - the name is the library's
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(material.WEB_PAGE)))
            self.end_headers()
            self.wfile.write(material.WEB_PAGE)

    def unfolded() -> None:
        walk.go("/documents")
        choose_in_menu(walk.tab, lambda: walk.press("Add"), "Add a web page")

    unfolded()
    walk.text("Fetching web pages is not allowed")
    walk.take("not-allowed")
    walk.restart(DOCMIND_WEB__PAGES="on")
    server = LoopbackServer(0, Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        unfolded()
        walk.page.get_by_label("Address of the page").fill("ftp://paper")
        walk.press("Add web page")
        walk.text("isn't an address of a web page")
        walk.take("refused")
        walk.page.get_by_label("Address of the page").fill(f"{server.url}/warblers")
        walk.take("form")
        walk.press("Add web page")
        walk.page.get_by_role("dialog").wait_for(state="detached")
        walk.tab.idle()
        row = walk.listed("warblers")
        row.locator(".lib-state").wait_for(state="detached")
        row.get_by_role("link").click()
        walk.text(re.compile(r"^Fetched \d"))
        walk.take("document")
    finally:
        server.shutdown()
        server.server_close()


def recovery(walk: Walk) -> None:
    walk.go("/")
    walk.take("reminder")
    walk.press("Show the recovery code")
    walk.take("dialog")
    walk.press("I have written it down")


def library(walk: Walk) -> None:
    page = walk.page
    walk.go("/documents")
    page.locator(".lib-row").first.wait_for()
    if page.locator(".st-key-queue-dismiss button").count():
        walk.key("queue-dismiss")
    walk.list_in_view()
    walk.take("rows")
    page.get_by_label("Kind", exact=True).select_option("PDF")
    walk.take("filtered")
    walk.press("Clear filters")
    page.locator(".lib-find input").fill("zebra")
    walk.take("no-match")
    walk.press("Clear filters")
    for row in (1, 2, 3):
        page.locator(".lib-body input[type=checkbox]").nth(row).check()
    walk.take("selected")
    bar = page.get_by_role("toolbar")
    for name, state, field in (("Tag", "tag", "New tags"), ("Add to collection", "collection", "")):
        walk.press(name, within=bar)
        dialog = page.get_by_role("dialog")
        dialog.wait_for()
        inside = dialog.get_by_label(field) if field else dialog.locator("input").first
        inside.fill("workshop")
        if field:
            walk.take(state)
            walk.press("Save", within=dialog)
        else:
            page.keyboard.press("Enter")
            walk.tab.idle()
            walk.take(state)
            walk.press("Add", within=dialog)
        dialog.wait_for(state="detached")
    walk.tab.idle()
    walk.take("tagged")


def bin_(walk: Walk) -> None:
    page = walk.page
    walk.go("/documents")
    walk.listed("prices.csv").get_by_role("checkbox").check()
    walk.press("Delete", within=page.get_by_role("toolbar"))
    walk.text("is in the bin")
    walk.tab.idle()
    walk.take("undo")
    walk.press(re.compile("^Bin"))
    page.get_by_role("heading", name="Bin").wait_for()
    walk.take("list")
    walk.press("Empty bin")
    walk.text("This can't be undone.")
    walk.take("empty-it")
    walk.press("Keep")
    walk.press("Restore")
    walk.text("The bin is empty.")
    walk.take("empty")


def document(walk: Walk) -> None:
    page = walk.page
    walk.go("/documents")
    walk.listed("quarterly report.pdf").get_by_role("link").click()
    page.locator(".doc-pages a").first.wait_for()
    walk.tab.idle()
    walk.take("page")
    walk.take_all("page-all")
    walk.press("Rename")
    page.get_by_role("dialog").wait_for()
    walk.take("rename")
    walk.escape()
    page.locator(".doc-pages a").first.click()
    walk.reader()
    walk.take("reader")
    page.locator("#docmind-reader").get_by_role("button", name="Close", exact=True).click()
    walk.go("/documents")
    walk.listed("onerror=alert").get_by_role("link").click()
    page.locator(".doc-pages a").first.wait_for()
    walk.tab.idle()
    walk.take("hostile-name")


def ask(walk: Walk) -> None:
    page = walk.page
    walk.go("/")
    walk.take("first-question")
    walk.tab.ask("How many lanterns were sold?")
    page.locator('[class*="st-key-turn-0-source-1"] img').first.wait_for()
    walk.tab.idle()
    walk.take("answer")
    page.locator('[data-testid="stChatMessage"] a[href^="#read="]:visible').first.hover()
    page.get_by_role("tooltip").locator("visible=true").first.wait_for()
    page.screenshot(path=walk.folder / f"{walk.journey}-quote-tip.png")
    walk.tab.ask("And how long does the warranty last?")
    walk.take("follow-up")
    walk.tab.ask("Which colour is the lantern?")
    walk.take("maybe")
    walk.tab.ask("Who won the world cup of 1998?")
    walk.take("not-found")
    walk.tab.ask("Summarise quarterly report.pdf")
    walk.take("summary")
    walk.tab.ask("Which documents do I have about the boiler?")
    walk.take("which-documents")
    walk.tab.ask(material.LONG_QUESTION)
    walk.take("long-question")
    walk.go("/")
    walk.press("All documents")
    walk.take("filter")
    walk.press("Last 7 days")
    walk.escape()
    walk.tab.ask("Who painted the ceiling of the chapel?")
    walk.take("filtered")


def dropped(walk: Walk) -> None:
    """Give a file and a picture to the question box, with a question."""
    page = walk.page
    walk.go("/")
    box = page.locator('[data-testid="stChatInput"]')
    box.locator("input[type=file]").set_input_files(
        [{"name": "boiler.pdf", "mimeType": "application/pdf", "buffer": material.long_paper(40)}]
    )
    box.get_by_text("boiler.pdf").wait_for()
    walk.tab.idle()
    walk.take("attached")
    walk.say("How many herons does page 7 count?")
    panel = page.locator(".st-key-dropped")
    panel.get_by_text("boiler.pdf").first.wait_for()
    walk.take("reading")
    panel.get_by_text("Only for this conversation").click()
    page.get_by_text("Answered in").first.wait_for()
    walk.tab.idle()
    walk.take("only-here")
    walk.go("/")
    page.locator('[data-testid="stChatInput"] input[type=file]').set_input_files(
        [{"name": "crop.png", "mimeType": "image/png", "buffer": material.stranger()}]
    )
    box.get_by_text("crop.png").wait_for()
    walk.tab.idle()
    page.get_by_placeholder("Ask your documents").press("Enter")
    walk.text("Find its page")
    walk.take("picture")


def copying(walk: Walk) -> None:
    page = walk.page
    walk.go("/")
    walk.tab.ask("What is the deposit?")
    walk.press("Copy in another form")
    walk.take("menu")
    walk.escape()
    walk.press("Copy", role="button")
    page.locator('[class*="st-key-turn-0-menu-"] button:visible').first.click()
    page.get_by_role("menuitem").first.wait_for()
    walk.take("answer-menu")
    walk.escape()
    page.locator(".st-key-turn-0-edit button:visible").first.click()
    page.get_by_placeholder("Your question").wait_for()
    walk.take("edit")
    walk.escape()
    walk.go("/" + page.url.removeprefix(walk.tab.url).lstrip("/"))
    walk.side_bar()
    row = page.locator('.st-key-threads [class*="st-key-open-thread-"]').first
    row.get_by_role("button", name="Menu").focus()
    page.keyboard.press("Enter")
    page.get_by_role("menuitem", name="Rename").wait_for()
    walk.take("conversation-menu")
    walk.escape()
    for name, state in (("Export as PDF", "export"), ("Rename", "rename")):
        walk.side_bar()
        choose_in_menu(
            walk.tab,
            lambda: (row.get_by_role("button", name="Menu").focus(), page.keyboard.press("Enter")),
            name,
        )
        page.get_by_role("dialog").wait_for()
        walk.tab.idle()
        walk.take(state)
        walk.escape()


def reader(walk: Walk) -> None:
    page = walk.page
    walk.go("/")
    walk.tab.ask("How long is the notice of the tenant?")
    pane = walk.cite()
    walk.take("at-the-words")
    pane.get_by_role("button", name="Zoom in").dispatch_event("click")
    pane.get_by_role("button", name="Zoom in").dispatch_event("click")
    walk.take("zoomed")
    pane.get_by_role("button", name="Rotate").dispatch_event("click")
    walk.take("rotated")
    for _ in range(3):
        pane.get_by_role("button", name="Rotate").dispatch_event("click")
    pane.get_by_role("button", name="Fit page").dispatch_event("click")
    walk.take("whole-page")
    pane.get_by_role("button", name="Find in this document").click()
    pane.get_by_role("searchbox").fill("tenant")
    pane.get_by_text(re.compile(r"^1 of \d")).wait_for()
    walk.take("found")
    pane.get_by_role("searchbox").fill("zebra")
    pane.get_by_text("No matches").wait_for()
    walk.take("no-match")
    walk.escape()
    pane.get_by_role("button", name="Download").click()
    walk.take("download")
    page.keyboard.press("ArrowRight")
    walk.page.wait_for_timeout(600)
    walk.take("next-page")
    pane.get_by_role("button", name="Close", exact=True).click()


def history(walk: Walk) -> None:
    page = walk.page
    walk.go("/")
    for question in ("What is the deposit?", "And the repairs?", "How long does the warranty last?"):
        walk.tab.ask(question)

    def lane(question: str) -> Any:
        return page.locator('.st-key-history [class*="lane-"]', has=page.get_by_text(question, exact=True))

    def chosen(question: str, name: str) -> None:
        menu = lane(question).get_by_role("button", name="Menu")
        choose_in_menu(walk.tab, lambda: (menu.focus(), page.keyboard.press("Enter")), name)

    def opened() -> None:
        if not page.locator(".st-key-history").count():
            walk.key("beside-choice-history")
            page.locator(".st-key-history").wait_for()

    opened()
    walk.take("lines")
    lane("What is the deposit?").get_by_role("button", name="What is the deposit?").click()
    walk.text("Viewing an earlier point.")
    walk.tab.idle()
    walk.take("earlier")
    if page.viewport_size["width"] < NARROW:  # the sheet lies over the button
        walk.key("beside-close")
    walk.key("past-continue")
    page.get_by_text("Viewing an earlier point.").wait_for(state="detached")
    walk.tab.idle()
    if page.locator(".st-key-beside-close button:visible").count():
        walk.key("beside-close")
    walk.tab.ask("How many lanterns were sold?")
    opened()
    walk.text("2 branches")
    walk.take("branches")
    chosen("How many lanterns were sold?", "Compare with")
    walk.text("with which one? Click it.")
    walk.take("compare-choice")
    lane("And the repairs?").get_by_role("button", name="And the repairs?").click()
    page.get_by_role("heading", name="Two answers side by side").wait_for()
    walk.tab.idle()
    walk.take("compare")


def memory(walk: Walk) -> None:
    page = walk.page
    walk.go("/")
    walk.tab.ask("Remember that our fiscal year starts in April.")
    walk.take("remembered")
    walk.key("beside-choice-memory")
    walk.take("panel")
    page.get_by_label("Remember", exact=True).fill("Ann pays the rent of the workshop")
    walk.key("memory-add")
    walk.text("Ann pays the rent")
    walk.take("list")
    page.locator('[class*="st-key-edit-memory-"] button:visible').first.click()
    walk.tab.idle()
    walk.take("edit")


def pictures(walk: Walk) -> None:
    walk.go("/")
    walk.tab.ask("How many lanterns were sold?")
    pane = walk.cite()
    pane.get_by_role("button", name="Fit page").dispatch_event("click")
    walk.page.wait_for_timeout(500)
    page = Image.open(io.BytesIO(pane.locator(".sheet > img").screenshot())).convert("RGB")
    crop = page.crop((page.width // 30, page.height // 20, page.width - page.width // 30, page.height * 6 // 10))
    pane.get_by_role("button", name="Close", exact=True).click()
    for name, picture in (("found", _png(crop)), ("not-sure", material.stranger())):
        walk.picture(picture)
        walk.text(re.compile("Found on" if name == "found" else "No sure match"))
        walk.tab.idle()
        walk.take(name)
        close = walk.page.get_by_role("button", name="Close").locator("visible=true")
        if close.count():
            close.first.click()
            walk.tab.idle()
    walk.side_bar()
    walk.take("in-the-side-bar")


def _png(image: Image.Image) -> bytes:
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


def settings(walk: Walk) -> None:
    walk.go("/settings")
    names = [one.inner_text() for one in walk.page.get_by_role("tab").all()]
    for name in names:
        walk.page.get_by_role("tab", name=name).click()
        walk.tab.idle()
        walk.take_all(re.sub(r"\W+", "-", name.lower()))
    walk.page.get_by_role("tab", name="Answers").click()
    walk.tab.idle()
    walk.take("answers-seen")
    walk.page.get_by_role("combobox", name="How answers are made").click()
    walk.take("menu")
    walk.page.get_by_role("option", name="Deep search").click()
    walk.text("Saved")
    walk.take("saved")
    walk.page.get_by_role("combobox", name="How answers are made").click()
    walk.page.get_by_role("option", name="One search").click()
    walk.text("Saved")


def evaluation(walk: Walk) -> None:
    """Label a source, measure before and after a change, compare, and look at the times."""
    walk.go("/settings?section=Evaluation")
    walk.take("nothing-measured")
    walk.go("/")
    walk.tab.ask("How much is the monthly rent?")
    walk.press("Good source", "radio")
    walk.take("labelled")
    for fusion in ("Words only", "Words and meaning"):
        walk.go("/settings?section=Search")
        walk.page.get_by_role("combobox", name="Search by").click()
        walk.page.get_by_role("option", name=fusion, exact=True).click()
        walk.text("Saved")
        walk.go("/settings?section=Evaluation")
        walk.press("Measure with your own labels")
        walk.page.get_by_text("A right page is among the first").wait_for(timeout=4 * WAIT_MS)
    walk.text("Over time")
    walk.take_all("report")
    walk.page.get_by_role("combobox", name="Compare with").click()
    walk.page.get_by_role("option", name="Your own labels").first.click()
    walk.text("Compared")
    walk.take_all("compared")
    walk.press("Performance", "tab")
    walk.take("performance")


def model(walk: Walk) -> None:
    with serving() as llm:
        walk.restart(DOCMIND_LLM__PROVIDER="", DOCMIND_READING__OCR="off")
        walk.go("/settings?section=Reading")
        walk.take("set-by-environment")
        walk.go("/settings?section=Language+model")
        address = walk.page.get_by_label("Address", exact=True)
        address.fill("http://127.0.0.1:9")
        walk.press("Test")
        walk.text("cannot be reached")
        walk.take_all("test-failed")
        address.fill(llm.url)
        walk.press("Test")
        walk.text("answered in")
        walk.take_all("test-ok")
        walk.press("Save")
        walk.text("in use")
        walk.take_all("in-use")
        page = walk.page
        walk.go("/")
        llm.queue(Behaviour(first_s=600))
        walk.say("How long does the warranty last?")
        walk.text("is reading your pages…")
        page.wait_for_timeout(500)  # the page asks for news again and again: it is never idle
        walk.take("reading")
        walk.press("Stop")
        walk.page.locator(".st-key-turn-0-row").get_by_text("Stopped").wait_for()
        llm.queue(Behaviour("endless", delay_s=0.05), Behaviour(lie=True), Behaviour("cut", "The deposit is"))
        walk.say("What is the deposit?")
        walk.text("on and on")
        page.wait_for_timeout(1_500)
        walk.take("streaming")
        walk.press("Stop")
        page.locator(".st-key-turn-1-row").get_by_text("Stopped").wait_for()
        walk.tab.idle()
        walk.take("stopped")
        walk.tab.ask("How many lanterns were sold?")
        walk.take("not-supported")
        walk.say("What does the tenant repair?")
        page.locator(".st-key-turn-3-trouble").wait_for()
        walk.tab.idle()
        walk.take("failed")


def remote(walk: Walk) -> None:
    walk.restart(
        DOCMIND_LLM__PROVIDER="openai",
        DOCMIND_LLM__URL=ELSEWHERE,
        DOCMIND_LLM__MODEL="qwen2.5-7b",
        DOCMIND_LLM__ALLOWED_HOSTS="203.0.113.7",
    )
    walk.go("/")
    walk.take("ready")
    walk.go("/settings?section=Language+model")
    walk.take_all("settings")


def behind(walk: Walk) -> None:
    data = walk.server.folder / "data"
    before = Path(tempfile.mkdtemp(prefix="docmind-screens-before-"))
    try:
        walk.restart(DOCMIND_LLM__PROVIDER="off", DOCMIND_LLM__URL="", DOCMIND_LLM__MODEL="")
        walk.go("/documents")
        walk.tab.complaints.clear()
        walk.server.stop()
        walk.tab.complaints.clear()
        for file in data.glob("vault.db*"):
            shutil.copy2(file, before)
        walk.server.start()
        walk.enter(walk.server)
        walk.tab.enter()
        walk.go("/documents")
        walk.drop(("stork.txt", b"Storks come back in March."))
        walk.text("1 added")
        walk.tab.idle()
        walk.server.stop()
        walk.tab.complaints.clear()
        for file in data.glob("vault.db*"):
            file.unlink()
        for file in before.iterdir():
            shutil.copy2(file, data)
        walk.server.start()
        walk.enter(walk.server)
        walk.page.goto(walk.server.link())
        walk.page.get_by_role("button", name="Go on with what is here").wait_for()
        walk.tab.idle()
        walk.take("choice")
        walk.press("Look at it read-only")
        walk.text("for reading only")
        walk.tab.idle()
        walk.take("read-only")
    finally:
        shutil.rmtree(before, ignore_errors=True)


def closed(walk: Walk) -> None:
    walk.server.kill()
    walk.page.wait_for_timeout(3_000)
    walk.take("app-closed")
    walk.tab.complaints.clear()  # of the connection that ended


def locked(walk: Walk) -> None:
    """Walk through a library of its own, whose key is a passphrase."""
    folder = Path(tempfile.mkdtemp(prefix="docmind-screens-locked-"))
    server = Desk(folder, DOCMIND_KEYS__SOURCE="passphrase")
    server.start()
    try:
        walk.enter(server)
        walk.page.goto(server.link())
        walk.text("Choose a new passphrase")
        walk.tab.idle()
        walk.take("choose")
        for field in walk.page.locator("input[type=password]").all():
            field.fill("herons nest in tall trees")
        walk.press("Create library")
        walk.page.get_by_role("link", name="Settings").wait_for()
        walk.tab.idle()
        server.stop()
        walk.tab.complaints.clear()
        server.start()
        walk.enter(server)
        walk.page.goto(server.link())
        walk.text("Your library is locked")
        walk.tab.idle()
        walk.take("locked")
        walk.page.get_by_label("Passphrase", exact=True).fill("owls")
        walk.press("Unlock")
        walk.page.locator('[data-testid="stAlert"]').first.wait_for()
        walk.tab.idle()
        walk.take("wrong")
        walk.context.clear_cookies()
        walk.page.goto(server.url)
        walk.text("docmind open")
        walk.take("no-access")
        walk.tab.complaints.clear()  # of the refusal
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


def look(walk: Walk) -> None:
    """Walk through a library with models that see colours only, which are made for tests."""
    folder = Path(tempfile.mkdtemp(prefix="docmind-screens-look-"))
    page_models = {"DOCMIND_VISUAL__IMAGE_MODEL": "fake-image", "DOCMIND_VISUAL__LATE_MODEL": "fake-late"}
    server = Desk(folder, DOCMIND_EMBEDDING__MODEL="fake", DOCMIND_VISUAL__MODELS_DIR=str(folder), **page_models)
    server.start()
    try:
        walk.enter(server)
        walk.tab.enter()
        walk.go("/documents")
        walk.drop(("lanterns.pdf", material.chart()))
        walk.text("1 added")
        walk.tab.idle()
        walk.key("embed-offer")
        walk.page.get_by_role("dialog").wait_for()
        walk.take("embed")
        walk.press("Start", within=walk.page.get_by_role("dialog"))
        walk.text("Every page has been looked at")
        walk.tab.idle()
        walk.take("embedded")
        walk.go("/")
        walk.tab.ask("How many red lanterns were sold?")
        walk.text("Pages by words and by look").click()
        walk.page.locator(".st-key-turn-0-found-hit-1 a").last.wait_for()
        walk.tab.idle()
        walk.take_all("lists")
        walk.page.locator(".st-key-turn-0-found-hit-1 a").last.click()
        pane = walk.reader()
        pane.get_by_role("button", name="Heat map").click()
        pane.get_by_role("button", name="red", exact=True).click()
        pane.get_by_alt_text("heat map for red: strongest at the").wait_for()
        walk.tab.idle()
        walk.take("heat-map")
        walk.go("/settings?section=Search")
        walk.take_all("models")
    finally:
        server.stop()
        walk.tab.complaints.clear()  # of the connection that ended
        shutil.rmtree(folder, ignore_errors=True)


def kinds(walk: Walk) -> None:
    """Walk through a library of its own: examples, sums, lists, versions, a comparison of them, and a draft."""
    folder = Path(tempfile.mkdtemp(prefix="docmind-screens-kinds-"))
    key = {"DOCMIND_KEYS__SOURCE": "auto", "DOCMIND_KEYS__FILE": str(folder / "docmind.key")}
    server = Desk(folder, DOCMIND_LLM__PROVIDER="off", **key)
    server.start()
    try:
        walk.enter(server)
        walk.tab.enter()
        walk.go("/documents")
        walk.drop(*material.kinds())
        walk.text("3 added")
        walk.tab.idle()
        answers(walk)
        versions(walk)
        draft(walk)
        protect(walk)
    finally:
        server.stop()
        walk.tab.complaints.clear()  # of the connection that ended
        shutil.rmtree(folder, ignore_errors=True)


def answers(walk: Walk) -> None:
    walk.go("/")
    walk.page.wait_for_timeout(3_000)
    walk.tab.idle()
    walk.take("examples")
    walk.tab.ask("How much was spent on software?")
    walk.take("sum")
    walk.cite()
    walk.take("sum-in-the-sheet")
    walk.page.locator("#docmind-reader").get_by_role("button", name="Close", exact=True).click()
    for question, state in (
        ("What is the total amount for each category?", "groups"),
        ("Who is the treasurer of the club, and when did the committee meet?", "two-parts"),
        ("List all people in my documents", "list"),
        ("\u00bfCu\u00e1nto es el alquiler mensual?", "other-language"),
    ):
        walk.tab.ask(question)
        walk.take(state)


def versions(walk: Walk) -> None:
    walk.go("/documents")
    walk.drop(("lease 2025.docx", material.agreement("5 March 2025", 950)))
    walk.text("is a new version of")
    walk.page.locator(".lib-row", has_text="lease 2025.docx").wait_for()
    walk.tab.idle()
    walk.take("new-version")
    walk.press("Compare")
    walk.text("Change 1 of 2")
    walk.tab.idle()
    walk.take("compared")
    walk.take_all("compared-all")
    walk.press("All documents")
    walk.press("Keep both")
    walk.go("/")
    walk.tab.ask("How much is the monthly rent?")
    walk.take("newest")
    walk.tab.ask("What changed in the lease?")
    walk.take("what-changed")


def draft(walk: Walk) -> None:
    walk.go("/")
    walk.press("Check a text")
    walk.page.get_by_role("heading", name="Check a text").wait_for()
    walk.take("draft-empty")
    walk.page.get_by_role("textbox", name="Text").fill(material.DRAFT)
    walk.press("Check")
    walk.page.locator(".st-key-check-text-list").get_by_text("Not found").wait_for()
    walk.tab.idle()
    walk.take("draft-checked")


def protect(walk: Walk) -> None:
    walk.go("/settings?section=Privacy")
    walk.press("Protect with a passphrase")
    dialog = walk.page.get_by_role("dialog")
    new = dialog.get_by_label("New passphrase", exact=True)
    walk.take("dialog")
    new.fill("canoe lentil orbit velvet harbour")
    new.press("Tab")
    dialog.get_by_text("Strong").wait_for()
    walk.take("strong")
    walk.escape()


JOURNEYS: dict[str, Callable[[Walk], None]] = {
    "first": first_minutes,
    "adding": adding,
    "recovery": recovery,
    "waiting": waiting,
    "folders": folders,
    "library": library,
    "bin": bin_,
    "document": document,
    "ask": ask,
    "dropped": dropped,
    "copying": copying,
    "reader": reader,
    "history": history,
    "memory": memory,
    "pictures": pictures,
    "settings": settings,
    "evaluation": evaluation,
    "model": model,
    "remote": remote,
    "web": web,
    "behind": behind,
    "closed": closed,
    "locked": locked,
    "look": look,
    "kinds": kinds,
}
NAMES: Sequence[str] = list(JOURNEYS)
