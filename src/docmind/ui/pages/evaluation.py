"""The Evaluation page: how well pages are found, measured with labelled questions, and how long things take."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

import docmind.ui.evaluation
from docmind.ui.app.frame import frame
from docmind.ui.chat import threads
from docmind.ui.evaluation import measuring, performance, runs
from docmind.wording import N_, _

if TYPE_CHECKING:
    from docmind.application import DocMind

LOOKS = Path(docmind.ui.evaluation.__file__).with_name("evaluation.css")


def evaluation_page(docmind: DocMind) -> None:
    st.html(LOOKS)
    threads.sidebar_elsewhere(docmind)
    st.title(_("Evaluation"), anchor=False)
    titles = [_(title) for title in TABS]
    for tab, draw in zip(st.tabs(titles, key="part", bind="query-params"), TABS.values(), strict=True):
        if tab.open:
            with tab:
                draw(docmind)


def quality(docmind: DocMind) -> None:
    known = docmind.evaluation.runs()
    measuring.draw(docmind, is_first=not known)
    if known:
        runs.draw(docmind, known)


TABS = {N_("Quality"): quality, N_("Performance"): performance.draw}

frame(evaluation_page)
