"""The section of Settings: how well pages are found, measured with labelled questions, and how long things take."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from docmind.ui.evaluation import measuring, performance, runs
from docmind.wording import N_, _

if TYPE_CHECKING:
    from docmind.application import DocMind

TITLE = N_("Evaluation")
_LOOKS = Path(__file__).with_name("evaluation.css")


def section(docmind: DocMind) -> None:
    """Draw the two parts, each a tab; the address names the open one."""
    st.html(_LOOKS)
    titles = [_(title) for title in _PARTS]
    for tab, draw in zip(st.tabs(titles, key="part", bind="query-params"), _PARTS.values(), strict=True):
        if tab.open:
            with tab:
                draw(docmind)


def _quality(docmind: DocMind) -> None:
    known = docmind.evaluation.runs()
    measuring.draw(docmind, is_first=not known)
    if known:
        runs.draw(docmind, known)


_PARTS = {N_("Quality"): _quality, N_("Performance"): performance.draw}
