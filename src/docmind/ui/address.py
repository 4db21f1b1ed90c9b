"""Which conversation is open: its id stands in the page's address, so that a reload or a bookmark opens it again."""

from __future__ import annotations

import re

import streamlit as st

from docmind.ui import state

_THREAD_ID = re.compile(r"[0-9A-Za-z_-]{1,64}")


def thread_id() -> str | None:
    """The id in the address; on the way back from another page, the one that was open. None: a new conversation.

    It is well formed, and no more than that: there may be no such conversation.
    """
    told = st.query_params.get(state.THREAD)
    came_back = st.session_state.pop(state.CAME_BACK, False)
    if told is not None and _THREAD_ID.fullmatch(told):
        st.session_state[state.THREAD] = told
    elif told is None and came_back and st.session_state.get(state.THREAD):
        st.query_params[state.THREAD] = st.session_state[state.THREAD]
    else:
        open_thread(None)
    return st.session_state[state.THREAD]


def open_thread(thread_id: str | None) -> None:
    """From this run on, this conversation is the open one; None: a new one, which its first question makes."""
    st.session_state[state.THREAD] = thread_id
    if thread_id is not None:
        st.query_params[state.THREAD] = thread_id
    elif state.THREAD in st.query_params:
        del st.query_params[state.THREAD]
