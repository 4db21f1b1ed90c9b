"""What goes wrong on purpose, shown as a sentence and what can be done now."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import streamlit as st

from docmind.errors import DocMindError
from docmind.escape import escape

T = TypeVar("T")


def attempt(work: Callable[[], T]) -> T | DocMindError:
    """The result of `work`, or the error it ended with: the one place where the pages catch `DocMindError`."""
    try:
        return work()
    except DocMindError as error:
        return error


def show(error: DocMindError) -> None:
    """One sentence and its hint."""
    tell(str(error), error.hint)


def tell(message: str, hint: str = "") -> None:
    """A sentence that went wrong elsewhere (a refused file), in the same dress."""
    st.error(f"{escape(message)}  \n{escape(hint)}" if hint else escape(message), icon=":material/error:")
