"""Dialogs whose titles follow the language of the interface."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec

import streamlit as st

from docmind.wording import _

P = ParamSpec("P")


def dialog(title: str, **options: Any) -> Callable[[Callable[P, None]], Callable[P, None]]:
    """Make a function draw a dialog, as `st.dialog` does; the title is one that `N_` marks.

    The title of `st.dialog` is fixed where the function is defined, before the language is known.
    """

    def decorated(draw: Callable[P, None]) -> Callable[P, None]:
        @wraps(draw)
        def opened(*args: P.args, **kwargs: P.kwargs) -> None:
            st.dialog(_(title), **options)(draw)(*args, **kwargs)

        return opened

    return decorated
