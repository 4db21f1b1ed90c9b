"""Expected errors, shown as one sentence with a hint."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

import streamlit as st

from docmind.errors import DocMindError
from docmind.rich_text import escape
from docmind.ui.app import state

T = TypeVar("T")
_COMMAND = re.compile(r"`(docmind [a-z -]+)`")


def attempt(work: Callable[[], T]) -> T | DocMindError:
    """Return the result of `work` or its `DocMindError`; the pages catch it only here."""
    try:
        return work()
    except DocMindError as error:
        return error


def heed(key: str, work: Callable[[], object]) -> None:
    """Run a button's work as its callback: a press counts even while the page redraws itself.

    An error is kept for `show_of`.
    """
    outcome = attempt(work)
    if isinstance(outcome, DocMindError):
        st.session_state[state.MODEL_TROUBLE] = (key, outcome)
    else:
        st.session_state.pop(state.MODEL_TROUBLE, None)
    st.session_state[state.MODEL_CHANGED] = True


def show_of(key: str) -> None:
    """Show why the last action under this key failed, if it did."""
    told: tuple[str, DocMindError] | None = st.session_state.get(state.MODEL_TROUBLE)
    if told is not None and told[0] == key:
        show(told[1])


def show(error: DocMindError) -> None:
    """Show an error with its hint."""
    show_message(str(error), error.hint)


def show_message(message: str, hint: str = "") -> None:
    """Show the message of another failure (a refused file) in the same style."""
    st.error(f"{_marked(message)}  \n{_marked(hint)}" if hint else _marked(message), icon=":material/error:")


def _marked(text: str) -> str:
    """Return the text as Markdown that shows DocMind's own commands as code and all else as it is written."""
    parts = _COMMAND.split(text)
    return "".join(f"`{part}`" if at % 2 else escape(part) for at, part in enumerate(parts))
