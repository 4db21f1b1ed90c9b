"""Who says what in a conversation: the person and DocMind."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from docmind.escape import visible

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

_USER = ":material/person:"
_DOCMIND = str(Path(__file__).parent / "mark.svg")


def question(text: str, key: str) -> DeltaGenerator:
    """What was asked, as it was typed, on a line that is given back for what stands beside it."""
    line = st.container(horizontal=True, vertical_alignment="top", gap="small", key=f"{key}-question")
    line.text(visible(text), width="stretch")
    return line


def asking() -> DeltaGenerator:
    """The place of a question; a context manager."""
    return st.chat_message("user", avatar=_USER)


def assistant() -> DeltaGenerator:
    """The place of an answer; a context manager."""
    return st.chat_message("assistant", avatar=_DOCMIND)
