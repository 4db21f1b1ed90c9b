"""Every journey of a user in Chromium, with a picture of each state, in both themes and at three widths.

    .venv/bin/python scripts/screens FOLDER [--theme light] [--width 390] [--only ask] [--docs docs/images]

The pictures are FOLDER/<theme>-<width>/<journey>-<state>.png; `--docs` copies those of the guides from there. A journey
that fails is named at the end, and the exit code is 1 then. The app runs over libraries of its own in a temporary
folder, with documents that are made here.
"""

from __future__ import annotations

import argparse
import itertools
import os
import shutil
import sys
import tempfile
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from PIL import Image

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "tests"), str(ROOT / "tests" / "support")]

from journeys import JOURNEYS, NAMES, Desk, Walk  # noqa: E402

THEMES = ("light", "dark")
WIDTHS = (390, 1280, 1920)
HEIGHTS = {390: 844, 1920: 1_080}
HEIGHT = 800
# The pictures of README.md and of the guides, and where each is taken.
DOCS = {
    "chat-light": ("light", 1280, "ask-answer"),
    "conversation-dark": ("dark", 1280, "history-branches"),
    "document": ("light", 1280, "document-page"),
    "documents": ("light", 1280, "library-tagged"),
    "heat-map": ("light", 1280, "look-heat-map"),
    "reader": ("light", 1280, "reader-at-the-words"),
    "reader-dark": ("dark", 1280, "reader-at-the-words"),
    "settings": ("light", 1280, "settings-answers-seen"),
    "visual-search": ("light", 1280, "pictures-found"),
}


def walked(browser: Any, folder: Path, theme: str, width: int, wanted: Sequence[str]) -> Iterator[str]:
    """Go every journey in one theme at one width; yield what went wrong."""
    with served() as server:
        context = browser.new_context(
            viewport={"width": width, "height": HEIGHTS.get(width, HEIGHT)},
            color_scheme=theme,
            accept_downloads=True,
            permissions=["clipboard-read", "clipboard-write"],
        )
        walk = Walk(context, server, folder)
        walk.tab.enter()
        for name in wanted:
            walk.journey = f"{NAMES.index(name):02}-{name}"
            try:
                JOURNEYS[name](walk)
            except Exception:  # noqa: BLE001 - the other journeys are still worth a picture
                walk.page.screenshot(path=folder / f"{walk.journey}-failed.png")
                yield f"{theme}, {width}: {name}: {traceback.format_exc(limit=-3)}"
        told = dict.fromkeys([*walk.complaints, *walk.tab.complaints])
        yield from (f"{theme}, {width}: {one}" for one in told if "404" not in one)
        context.close()


@contextmanager
def served() -> Iterator[Desk]:
    """Serve the app over an empty library."""
    folder = Path(tempfile.mkdtemp(prefix="docmind-screens-"))
    server = Desk(folder)
    server.start()
    try:
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


def to_docs(folder: Path, docs: Path) -> Iterator[str]:
    """Copy the pictures of the guides; yield those that were not taken."""
    for name, (theme, width, state) in DOCS.items():
        found = list((folder / f"{theme}-{width}").glob(f"[0-9][0-9]-{state}.png"))
        if found:
            Image.open(found[0]).save(docs / f"{name}.png", optimize=True)
        else:
            yield f"{name}.png: no picture {state} in {theme}, {width}"


def main() -> int:
    """Go all journeys, or those that are asked for."""
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--theme", choices=THEMES, action="append")
    parser.add_argument("--width", type=int, action="append")
    parser.add_argument("--only", choices=NAMES, action="append", help="with `adding`, which fills the library")
    parser.add_argument("--docs", type=Path, help="a folder for the pictures of README.md and of the guides")
    options = parser.parse_args()
    wanted = [name for name in NAMES if not options.only or name in options.only]
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
    if options.docs:
        troubles += to_docs(options.folder, options.docs)
    print(*troubles, sep="\n")
    return 1 if troubles else 0


if __name__ == "__main__":
    sys.exit(main())
