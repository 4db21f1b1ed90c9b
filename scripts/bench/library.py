"""The Documents page over a library of many documents, in Chromium."""

from __future__ import annotations

import argparse
import hashlib
import io
import time
from pathlib import Path

import numpy as np
from harness import WORDS, Times, app_over, fresh_vault, link_to, opened_stores, timed, wait_for_page
from PIL import Image

from docmind.application import DocMind
from docmind.documents import Catalog, Edits, PageRecord, Words
from docmind.llm.service import OneModel
from docmind.records.documents import DocumentInfo
from docmind.storage import Artifacts, Database
from docmind.ui.documents.served import rows_of

DOCUMENTS, RUNS = 10_000, 20
_DAY_MS = 86_400_000


def bench_library(options: argparse.Namespace) -> None:
    """Time the first paint of the library, and a filter, in Chromium; medians of 20."""
    number = options.size or DOCUMENTS
    with fresh_vault() as settings:
        settings.data_dir.mkdir()
        with opened_stores(settings) as (database, artifacts):
            _fill(database, artifacts, number)
        with DocMind(settings, models=OneModel()) as docmind:
            made = timed(lambda: docmind.documents(), 5).median
            body = rows_of(docmind)[1]
        print(f"{number:,} documents: read in {made:.0f} ms, {len(body) / 1e6:.1f} MB of rows")
        chromium = Path("/usr/bin/chromium")
        if not chromium.exists():
            print("there is no Chromium to look with")
            return
        with app_over(settings) as (port, _):
            wait_for_page(settings, port)
            paint, find, menu = _seen(link_to(settings), chromium, number)
    print(f"first paint after pressing Documents: {paint}")
    print(f"find by a word, key to rows: {find}")
    print(f"filter by a language, choice to rows: {menu}")


def _seen(link: str, chromium: Path, number: int) -> tuple[Times, Times, Times]:
    from playwright.sync_api import sync_playwright

    paint, find, menu = Times(), Times(), Times()
    shown = f"{number:,} documents"
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=str(chromium), args=["--no-sandbox"])
        page = browser.new_page()
        page.goto(link)
        page.get_by_test_id("stChatInput").wait_for()
        for _ in range(RUNS):
            page.get_by_role("link", name="Ask").click()
            page.get_by_test_id("stChatInput").wait_for()
            page.wait_for_timeout(500)
            with paint.one():
                page.get_by_role("link", name="Documents").click()
                page.locator(".lib-row").first.wait_for()
        page.locator(".lib-count", has_text=shown).wait_for()
        box, languages = page.get_by_placeholder("Find by title, name or tag"), page.get_by_label("Language")
        for turn in range(RUNS):
            page.wait_for_timeout(200)
            with find.one():
                box.fill(f"{WORDS[turn % len(WORDS)]} {turn}")
                page.locator(".lib-count", has_text=f"of {shown}").wait_for()
            box.fill("")
            page.locator(".lib-count", has_text=shown).wait_for()
            with menu.one():
                languages.select_option("pt")
                page.locator(".lib-count", has_text=f"of {shown}").wait_for()
            languages.select_option("")
        browser.close()
    return paint, find, menu


def _fill(database: Database, artifacts: Artifacts, number: int) -> None:
    catalog = Catalog(database)
    random = np.random.default_rng(7)
    picture = io.BytesIO()
    Image.new("RGB", (160, 226), "white").save(picture, "WEBP")
    image = artifacts.put(picture.getvalue(), ".webp.enc")
    words = Words.of([(0, 5)], [(10, 10, 50, 12)]).pack()
    edits, now = Edits(database, catalog), int(time.time() * 1000)
    ids = []
    with database.transaction():
        for at in range(number):
            doc_id = hashlib.sha256(str(at).encode()).hexdigest()[:32]
            ids.append(doc_id)
            picked = [WORDS[pick] for pick in random.integers(0, len(WORDS), 7)]
            title = " ".join(picked[:5]).capitalize()
            added = now - int(random.integers(0, 900 * _DAY_MS))
            tags = (picked[5],) if at % 3 else ()
            kind, language = ("pdf", "docx", "txt")[at % 3], ("en", "pt", "es")[at % 7 % 3]
            name = f"{picked[6]} {at}.{kind}"
            info = DocumentInfo(doc_id, name, title, kind, "reading", 1, 0, 0, "", 1_000, added, tags=tags)
            catalog.begin_document(info, image)
            catalog.put_pages([PageRecord(doc_id, 1, 160, 226, title, words, "layer", 1.0, language, image, image)])
            catalog.finish_document(doc_id, language=language)
        made = edits.new_collection("Harbour")
        edits.collect(made.collection_id, ids[::9])
