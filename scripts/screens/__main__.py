"""Every journey of a user in Chromium, with a picture of each state, in both themes and at three widths.

    .venv/bin/python scripts/screens FOLDER [--theme light] [--width 390] [--only ask]

The pictures are FOLDER/<theme>-<width>/<journey>-<state>.png. A journey that fails is named at the end, and the exit
code is 1 then. The app runs over libraries of its own in a temporary folder, with documents that are made here.
"""

from __future__ import annotations

import argparse
import io
import itertools
import os
import re
import shutil
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from PIL import Image

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "support")]

from papers import line, pdf  # noqa: E402
from served import Server, Tab  # noqa: E402

THEMES = ("light", "dark")
WIDTHS = (390, 1440, 1920)
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
]
MANUAL = [
    "How to care for your lantern",
    "Clean the glass with a dry cloth once a month.",
    "The warranty lasts for twenty-four months from the day of delivery.",
]
LONG_NAME = "A name that nobody would type but every browser makes when it saves a page " * 2 + "final (2).txt"
Journey = Callable[["Walk"], None]


def paper(lines: list[str]) -> str:
    """Return the content of one page: a heading and lines under it."""
    body = [line(text, y=650 - 34 * number, size=13) for number, text in enumerate(lines[1:])]
    return "\n".join([line(lines[0], size=22), *body])


def files() -> list[tuple[str, bytes]]:
    """Return the documents of the library: ordinary ones, a long name, and one that is empty."""
    return [
        (LONG_NAME, b"The name of this file is far too long, and that is its only fault."),
        ("care.pdf", pdf([paper(MANUAL)] * 2, title="How to care for your lantern")),
        ("lease harbour street.pdf", pdf([paper(LEASE)] * 3)),
        ("quarterly report.pdf", pdf([paper(REPORT), paper(LEASE), paper(MANUAL)])),
        ("prices.csv", b"item,price\nlantern,24.90\nwick,1.20\nglass,6.50\n"),
        ("notes.md", b"# Notes\n\nThe boiler is serviced every spring by Ann.\n\n- dogs need the written consent\n"),
        ("empty.txt", b" "),
    ]


class Walk:
    """One browser tab on its way through the app, and the folder of its pictures."""

    def __init__(self, tab: Tab, folder: Path) -> None:
        self.tab, self.page, self.folder = tab, tab.page, folder
        self.journey = ""

    def take(self, state: str) -> None:
        """Save a picture of the window as it is."""
        self.page.mouse.move(2, 2)
        self.page.wait_for_timeout(400)
        path = self.folder / f"{self.journey}-{state}.png"
        self.page.screenshot(path=path)
        Image.open(path).convert("RGB").quantize(128, dither=Image.Dither.NONE).save(path, optimize=True)

    def press(self, name: str | re.Pattern[str], role: Any = "button") -> None:
        """Press what has this name."""
        self.page.get_by_role(role, name=name).first.click()
        self.tab.idle()

    def go(self, path: str) -> None:
        """Open a page of the app by its address."""
        self.page.goto(f"{self.tab.url}{path}")
        self.page.locator("h1, [data-testid='stChatInput']").first.wait_for()
        self.tab.idle()

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


def first_minutes(walk: Walk) -> None:
    walk.go("/")
    walk.take("empty")
    walk.go("/documents")
    walk.take("no-documents")


def adding(walk: Walk) -> None:
    walk.go("/documents")
    walk.page.locator("input[type=file]").first.set_input_files(
        [{"name": name, "mimeType": "application/octet-stream", "buffer": data} for name, data in files()]
    )
    walk.page.get_by_text("Reading").first.wait_for()
    walk.take("reading")
    walk.page.get_by_text(re.compile(r"\d+ added")).first.wait_for(timeout=240_000)
    walk.tab.idle()
    walk.take("added")


def recovery(walk: Walk) -> None:
    walk.go("/")
    walk.press("Show the recovery code")
    walk.take("dialog")
    walk.escape()


def library(walk: Walk) -> None:
    walk.go("/documents")
    walk.page.locator(".lib-grid [role=row]").nth(2).wait_for()
    walk.take("rows")
    walk.page.locator(".lib-find input").fill("zebra")
    walk.take("no-match")
    walk.page.locator(".lib-find input").fill("")
    for row in (1, 2):
        walk.page.locator(".lib-body input[type=checkbox]").nth(row).check()
    walk.take("selected")


def document(walk: Walk) -> None:
    walk.go("/documents")
    walk.page.locator(".lib-body").get_by_text("quarterly report").first.click()
    walk.page.get_by_role("heading", name=re.compile("quarterly|Quarterly")).first.wait_for()
    walk.tab.idle()
    walk.take("page")


def ask(walk: Walk) -> None:
    walk.go("/")
    walk.take("first-question")
    walk.tab.ask("How many lanterns were sold?")
    walk.take("answer")
    walk.tab.ask("And how long does the warranty last?")
    walk.take("follow-up")
    walk.tab.ask("Which vegetables are in the soup?")
    walk.take("not-found")


def reader(walk: Walk) -> None:
    walk.go("/")
    walk.tab.ask("How long is the notice of the tenant?")
    walk.page.locator("a[href^='#read=']").first.click()
    walk.page.locator("#docmind-reader").wait_for()
    walk.page.wait_for_timeout(1_000)
    walk.take("at-the-words")
    walk.page.keyboard.press("ArrowRight")
    walk.page.wait_for_timeout(600)
    walk.take("next-page")
    walk.escape()


def history(walk: Walk) -> None:
    walk.go("/")
    walk.tab.ask("What is the deposit?")
    walk.tab.ask("And the repairs?")
    for panel in ("History", "Memory"):
        walk.press(panel)
        walk.take(panel.lower())


def pictures(walk: Walk) -> None:
    walk.go("/")
    walk.tab.ask("How many lanterns were sold?")
    walk.page.locator("a[href^='#read=']").first.click()
    shown = walk.page.locator("#docmind-reader img").first
    shown.wait_for()
    walk.page.wait_for_timeout(1_000)
    crop = shown.screenshot()
    walk.escape()
    for name, picture in (("found", crop), ("none", _blank())):
        walk.side_bar()
        box = walk.page.locator('[data-testid="stSidebar"] input[type=file]').first
        box.set_input_files([{"name": "crop.png", "mimeType": "image/png", "buffer": picture}])
        walk.page.get_by_text(re.compile("Found on|No sure match|No page looks")).first.wait_for()
        walk.tab.idle()
        walk.take(name)


def _blank() -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (600, 300), "#456789").save(out, "PNG")
    return out.getvalue()


def settings(walk: Walk) -> None:
    walk.go("/settings")
    names = [one.inner_text() for one in walk.page.get_by_role("tab").all()]
    for name in names:
        walk.page.get_by_role("tab", name=name).click()
        walk.tab.idle()
        walk.take(re.sub(r"\W+", "-", name.lower()))


def closed(walk: Walk) -> None:
    walk.go("/")
    walk.tab.server.kill()
    walk.page.wait_for_timeout(3_000)
    walk.take("app-closed")


JOURNEYS: dict[str, Journey] = {
    "first": first_minutes,
    "adding": adding,
    "recovery": recovery,
    "library": library,
    "document": document,
    "ask": ask,
    "reader": reader,
    "history": history,
    "pictures": pictures,
    "settings": settings,
    "closed": closed,
}


def walked(browser: Any, folder: Path, theme: str, width: int, wanted: list[str]) -> Iterator[str]:
    """Go every journey in one theme at one width; yield what went wrong."""
    with served() as server:
        context = browser.new_context(
            viewport={"width": width, "height": 844 if width < 800 else 900}, color_scheme=theme, accept_downloads=True
        )
        tab = Tab(context.new_page(), server)
        tab.enter()
        walk = Walk(tab, folder)
        for name in wanted:
            walk.journey = f"{list(JOURNEYS).index(name):02}-{name}"
            try:
                JOURNEYS[name](walk)
            except Exception:  # noqa: BLE001 - the other journeys are still worth a picture
                walk.page.screenshot(path=folder / f"{walk.journey}-failed.png")
                yield f"{theme}, {width}: {name}: {traceback.format_exc(limit=-2)}"
        yield from (f"{theme}, {width}: {told}" for told in dict.fromkeys(tab.complaints) if "404" not in told)
        context.close()


@contextmanager
def served() -> Iterator[Server]:
    """Serve the app over an empty library."""
    folder = Path(tempfile.mkdtemp(prefix="docmind-screens-"))
    server = Server(folder)
    server.start()
    try:
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


def main() -> int:
    """Go all journeys, or those that are asked for."""
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--theme", choices=THEMES, action="append")
    parser.add_argument("--width", type=int, action="append")
    parser.add_argument("--only", choices=list(JOURNEYS), action="append", help="with `adding` first, which fills it")
    options = parser.parse_args()
    wanted = [name for name in JOURNEYS if not options.only or name in options.only]
    troubles: list[str] = []
    with sync_playwright() as playwright:
        chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for theme, width in itertools.product(options.theme or THEMES, options.width or WIDTHS):
            folder = options.folder / f"{theme}-{width}"
            folder.mkdir(parents=True, exist_ok=True)
            troubles += walked(browser, folder, theme, width, wanted)
            print(f"{theme}, {width}: {len(list(folder.glob('*.png')))} pictures", flush=True)
        browser.close()
    print(*troubles, sep="\n")
    return 1 if troubles else 0


if __name__ == "__main__":
    sys.exit(main())
