"""The Documents page over a library of many documents, in Chromium."""

from __future__ import annotations

import argparse
import hashlib
import io
import time
from typing import Any

import numpy as np
from harness import (
    WORDS,
    Times,
    app_over,
    chromium_page,
    fresh_vault,
    open_first_page,
    opened_stores,
    timed,
    wait_for_server,
)
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
            made = timed(lambda: docmind.documents.all(), 5).median
            body = rows_of(docmind)[1]
        print(f"{number:,} documents: read in {made:.0f} ms, {len(body) / 1e6:.1f} MB of rows")
        with app_over(settings) as (port, _), chromium_page() as page:
            if page is None:
                return
            wait_for_server(port)
            open_first_page(page, settings)
            paint, find, menu = _seen(page, number)
    print(f"first paint after pressing Documents: {paint}")
    print(f"find by a word, key to rows: {find}")
    print(f"filter by a language, choice to rows: {menu}")


def _seen(page: Any, number: int) -> tuple[Times, Times, Times]:
    paint, find, menu = Times(), Times(), Times()
    shown = f"{number:,} documents"
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
            catalog.put_pages(
                [
                    PageRecord(
                        doc_id=doc_id,
                        page_no=1,
                        width=160,
                        height=226,
                        text=title,
                        words=words,
                        text_source="layer",
                        confidence=1.0,
                        language=language,
                        image=image,
                        thumbnail=image,
                    )
                ]
            )
            catalog.finish_document(doc_id, language=language)
        made = edits.new_collection("Harbour")
        edits.collect(made.collection_id, ids[::9])
