"""The first screen, before there are documents: a box to drop some into, and what DocMind can do with them."""

from __future__ import annotations

import html
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from docmind.records.documents import Upload
from docmind.ui.app import errors, passphrase
from docmind.ui.documents import upload
from docmind.ui.documents.sample import SAMPLE_NAME, sample_document
from docmind.wording import N_, _

if TYPE_CHECKING:
    from docmind.application import DocMind

_LOOKS = Path(__file__).with_suffix(".css")
_SAMPLE = "sample"
_POLL_S = 1.0
_ABILITIES = {
    "ask": (N_("Ask in your own words"), N_("Every answer links to the exact place in your documents.")),
    "add": (N_("Add almost anything"), N_("PDF, Word, Excel, books, web pages, code, photos and scans.")),
    "find": (N_("Find a page by a picture of it"), N_("A photo or a screenshot is enough.")),
    "keep": (N_("Nothing leaves this computer"), N_("Your documents are kept here, encrypted.")),
}  # by picture, which the stylesheet has: title and text


def draw(docmind: DocMind) -> None:
    """Draw the first screen; it makes room for the question box as soon as a document is there."""
    st.html(_LOOKS)
    with st.container(key="welcome"):
        st.title(_("Ask your documents"), anchor=False)
        st.write(_("Add a few files to begin."))
        upload.uploader(docmind)
        with st.container(horizontal=True, gap="medium", key="welcome-more"):
            st.button(
                _("Try it with a sample"), key="sample-add", icon=":material/description:", type="tertiary",
                on_click=_add_sample, args=(docmind,), help=_("A made-up lease of three pages. You can delete it."),
            )  # fmt: skip
            if docmind.keys.source != "passphrase" and not docmind.keys.fixed_by:
                passphrase.button("protect", "welcome")
        errors.show_of(_SAMPLE)
        if upload.is_empty(docmind):
            lines = "".join(_ability(picture, *texts) for picture, texts in _ABILITIES.items())
            st.html(f'<ul class="abilities">{lines}</ul>')
            upload.arrivals(docmind)
        else:
            upload.progress(docmind)
            st.fragment(_wait, run_every=_POLL_S)(docmind)


def _ability(picture: str, title: str, text: str) -> str:
    return (
        f'<li><i class="{picture}" aria-hidden="true"></i>'
        f"<div><b>{html.escape(_(title))}</b><br>{html.escape(_(text))}</div></li>"
    )


def _add_sample(docmind: DocMind) -> None:
    errors.heed(_SAMPLE, lambda: docmind.queue.submit([Upload(SAMPLE_NAME, sample_document())]))


def _wait(docmind: DocMind) -> None:
    """Go on to the question box once the first document can be asked."""
    if docmind.documents.all() and not docmind.queue.progress().is_busy:
        st.rerun()
