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
    kept: str | None = st.session_state.get(state.THREAD)
    if told is not None and _THREAD_ID.fullmatch(told):
        st.session_state[state.THREAD] = told
    else:
        open_thread(kept if st.session_state.get(state.CAME_BACK) else None)
    st.session_state[state.CAME_BACK] = False
    return st.session_state[state.THREAD]


def open_thread(thread_id: str | None) -> None:
    """From now on, this conversation is the open one, where it stands now; None: a new one, not begun yet."""
    st.session_state[state.THREAD] = thread_id
    st.query_params.pop(state.AT, None)
    if thread_id is None:
        st.query_params.pop(state.THREAD, None)
    else:
        st.query_params[state.THREAD] = thread_id
