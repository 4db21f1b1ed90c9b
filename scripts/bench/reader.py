"""The reader in Chromium: from a click on [1] to the page at its words, a page turn, a search within a document."""

from __future__ import annotations

import time
from typing import Any

from harness import Times, app_over, chromium_page, filled_vault, link_to, wait_for_server

from desks import text_pdf
from docmind.application import DocMind
from docmind.llm.service import OneModel
from docmind.records.documents import Upload

_PAGES, _RUNS = 60, 20
_MARKER = '[data-testid="stChatMessage"] a[href^="#read="]'
# Resolves with the milliseconds from an action to the reader showing that page and, for a click, its highlight in view.
_CLOCK = """([selector, key, page, isCited]) => new Promise((resolve, reject) => {
    const reader = document.getElementById("docmind-reader"), view = reader.querySelector(".view");
    delete reader.dataset.shown;
    const begun = performance.now();
    if (selector) document.querySelector(selector).click();
    else view.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    const look = () => {
        const mark = reader.querySelector("polygon.cited")?.getBoundingClientRect();
        const frame = view.getBoundingClientRect();
        const isSeen = !isCited || (mark && mark.top >= frame.top && mark.bottom <= frame.bottom);
        const isShown = !reader.hidden && reader.dataset.shown === String(page) && reader.querySelector("img").complete;
        if (isShown && isSeen) requestAnimationFrame(() => resolve(performance.now() - begun));
        else if (performance.now() - begun > 20000) reject(new Error("the page was not shown"));
        else requestAnimationFrame(look);
    };
    look();
})"""


def bench_reader() -> None:
    """Time opening a cited page, turning pages, and a search within 60 pages, over 10,000 nodes."""
    with filled_vault(documents=500, nodes=10_000) as settings:
        with DocMind(settings, models=OneModel()) as docmind:
            lines = [f"Chapter {n} tells of harbours and of boats in {1900 + n}." for n in range(_PAGES)]
            lines[30] = "The herons of Vellamo nest in the reeds of the northern shore."
            docmind.add([Upload("birds.pdf", text_pdf(lines))])
            thread = docmind.conversations.create()
            docmind.conversations.ask("Where do the herons of Vellamo nest?", thread_id=thread.thread_id)
            _search(docmind)
        with app_over(settings) as (port, _), chromium_page(viewport={"width": 1440, "height": 900}) as page:
            wait_for_server(port)
            if page is not None:
                _drive(page, f"{link_to(settings)}&thread={thread.thread_id}")


def _search(docmind: DocMind) -> None:
    doc_id = docmind.documents.find("birds.pdf").doc_id
    times = Times()
    for number in range(_RUNS):
        with times.one():
            docmind.reader.find(doc_id, f"harbours and of boats in 19{number:02}")
    print(f"search within {_PAGES} pages: {times}")


def _drive(page: Any, link: str) -> None:
    page.goto(link)
    page.locator(_MARKER).first.wait_for()
    page.locator("#docmind-reader").wait_for(state="attached")
    page.wait_for_timeout(2_000)
    cold, warm, turns = Times(), Times(), Times()
    for _ in range(_RUNS):
        cold.append(_first_open(page))
        page.keyboard.press("Escape")
        warm.append(page.evaluate(_CLOCK, [_MARKER, "", 31, True]))
        for at in (32, 33):
            turns.append(page.evaluate(_CLOCK, ["", "ArrowRight", at, False]))
            page.wait_for_timeout(300)
        page.keyboard.press("Escape")
    print(f"click on [1] to the page at its words, nothing loaded before: {cold}")
    print(f"click on [1] again: {warm}")
    print(f"page turn: {turns}")


def _first_open(page: Any) -> float:
    """Open the cited page in a page that was loaded again, so that nothing is known; return milliseconds."""
    page.reload()
    page.locator(_MARKER).first.wait_for()
    page.locator("#docmind-reader").wait_for(state="attached")
    time.sleep(1.0)
    return page.evaluate(_CLOCK, [_MARKER, "", 31, True])
