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


def user(question: str) -> None:
    """What was asked, as it was typed."""
    with asking():
        st.text(visible(question))


def asking() -> DeltaGenerator:
    """The place of a question; a context manager."""
    return st.chat_message("user", avatar=_USER)


def assistant() -> DeltaGenerator:
    """The place of an answer; a context manager."""
    return st.chat_message("assistant", avatar=_DOCMIND)
