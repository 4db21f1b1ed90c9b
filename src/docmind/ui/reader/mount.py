"""The reader's part of a page: drawn in the browser over the page, and opened by links without a run of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import streamlit as st

from docmind.errors import DocMindError
from docmind.ui.app.app_state import app_state
from docmind.ui.app.browser_part import browser_part
from docmind.ui.app.errors import attempt
from docmind.wording import N_, _

_FOLDER = Path(__file__).parent
_KEY = "reader"

# The texts of the script, by the name that it calls them by.
_TEXTS = {
    "reader": N_("Page of a document"),
    "ask": N_("Ask this document"),
    "download": N_("Download"),
    "original": N_("Download the original file"),
    "thisPage": N_("Download this page (PNG)"),
    "close": N_("Close"),
    "previous": N_("Previous page"),
    "next": N_("Next page"),
    "page": N_("Page number"),
    "pageOf": N_("of {pages}"),
    "zoomOut": N_("Zoom out"),
    "zoomIn": N_("Zoom in"),
    "fitWidth": N_("Fit width"),
    "fitPage": N_("Fit page"),
    "rotate": N_("Rotate"),
    "search": N_("Find in this document"),
    "noMatch": N_("No matches"),
    "matchOf": N_("{n} of {count}"),
    "previousMatch": N_("Previous match"),
    "nextMatch": N_("Next match"),
    "thumbnails": N_("Pages"),
    "more": N_("More"),
    "pageName": N_("Page {n}"),
    "imageOf": N_("Page {n} of {pages} of {name}"),
    "outlined": N_("{told}, the matching region outlined"),
    "quoted": N_("{told}, highlighted: {quote}"),
    "xray": N_("What was read here"),
    "heat": N_("Heat map"),
    "allWords": N_("All words"),
    "weaker": N_("weaker"),
    "strongest": N_("strongest on this page, as {name} sees it"),
    "flat": N_("No place on this page stands out for {name}."),
    "heatOf": N_("Page {n}, heat map: {strongest}"),
    "heatOfWord": N_("Page {n}, heat map for {word}: {strongest}"),
    "citedPage": N_("page {n}"),
    "gone": N_("This document has been deleted. The quote is kept from when it was cited."),
    "goneBare": N_("This document has been deleted."),
    "noPage": N_("There is no page {n} in this document."),
    "silent": N_("DocMind doesn't answer. Check that it is still running, then try again."),
    "failed": N_("This page could not be loaded."),
    "retry": N_("Retry"),
    "loading": N_("Loading the page"),
}


def mount_reader(ask: Callable[[str], object]) -> None:
    """Draw the part where the vault is open; call it once in each run of a page.

    `ask` is called with a document's id when the user wants to ask it, before the page runs.
    """
    if isinstance(attempt(app_state().open), DocMindError):
        return

    def asked() -> None:
        doc_id = (st.session_state.get(_KEY) or {}).get("ask")
        if isinstance(doc_id, str) and doc_id:
            ask(doc_id)

    texts = {name: _(text) for name, text in _TEXTS.items()}
    browser_part(_FOLDER, "reader", data={"texts": texts}, key=_KEY, on_ask_change=asked)
