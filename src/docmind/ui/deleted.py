"""Conversations that were deleted: brought back, or purged for good, which asks first and shows a receipt."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from docmind.conversation import Thread, ThreadReceipt
from docmind.errors import DocMindError
from docmind.escape import escape
from docmind.ui import address, state, trouble
from docmind.ui.wording import conversation, count, when

if TYPE_CHECKING:
    from docmind.application import DocMind

_SHOWN = 50


def _close() -> None:
    st.session_state.pop(state.THREAD_DIALOG, None)
    st.session_state.pop(state.PURGED, None)


@st.dialog("Deleted conversations", icon=":material/delete:", width="medium", on_dismiss=_close)
def dialog(mind: DocMind) -> None:
    """The list, or the question that stands between it and a purge."""
    _, asked = st.session_state.get(state.THREAD_DIALOG, ("", ""))  # gone while it is being dismissed
    threads = mind.conversations.threads(deleted=True)
    for thread in threads:
        if thread.thread_id == asked:
            _confirm(mind, thread)
            return
    _draw_receipt()
    if not threads:
        st.write("Nothing here. A conversation that you delete waits here until you restore it or delete it for good.")
        return
    st.caption("They wait here until you restore them or delete them for good.")
    with st.container(gap="xsmall"):
        for thread in threads[:_SHOWN]:
            _draw_row(mind, thread)
    if len(threads) > _SHOWN:
        st.caption(f"{count(len(threads) - _SHOWN, 'older one')} will follow when these are gone.")


def _draw_row(mind: DocMind, thread: Thread) -> None:
    with st.container(border=True, horizontal=True, vertical_alignment="center", key=f"deleted-{thread.thread_id}"):
        with st.container(gap=None):
            st.markdown(escape(conversation(thread.title), limit=80))
            if thread.deleted_at_ms is not None:
                st.caption(f"Deleted {when(thread.deleted_at_ms)}")
        if st.button("Restore", key=f"restore-{thread.thread_id}", icon=":material/undo:"):
            outcome = trouble.attempt(lambda: mind.conversations.restore(thread.thread_id))
            if isinstance(outcome, DocMindError):
                trouble.show(outcome)
            else:
                st.session_state.pop(state.PURGED, None)
                st.session_state.pop(state.DELETED_THREAD, None)
                address.open_thread(thread.thread_id)
                st.query_params.pop(state.AT, None)
                _close()
                st.rerun()
        st.button(
            "Delete for good",
            key=f"purge-{thread.thread_id}",
            icon=":material/delete_forever:",
            type="tertiary",
            on_click=_ask,
            args=(thread.thread_id,),
        )


def _ask(thread_id: str) -> None:
    st.session_state.pop(state.PURGED, None)
    st.session_state[state.THREAD_DIALOG] = ("deleted", thread_id)


def _confirm(mind: DocMind, thread: Thread) -> None:
    st.markdown(f"Delete **{escape(conversation(thread.title), limit=120)}** for good?")
    st.write(
        "Every question and answer of it, on all its branches, and what DocMind remembers of this conversation alone "
        "will be erased from the vault. **This cannot be undone.** Your documents, and files you exported, stay."
    )
    with st.container(horizontal=True, horizontal_alignment="right"):
        if st.button("Keep it", key="keep-thread", on_click=_ask, args=("",)):
            st.rerun(scope="fragment")
        erase = st.button("Delete for good", key="purge-thread", type="primary", icon=":material/delete_forever:")
    if not erase:
        return
    with st.spinner("Erasing…"):
        outcome = trouble.attempt(lambda: mind.conversations.purge(thread.thread_id))
    if isinstance(outcome, DocMindError):
        trouble.show(outcome)
        return
    undo = st.session_state.get(state.DELETED_THREAD)
    if isinstance(undo, Thread) and undo.thread_id == thread.thread_id:
        st.session_state.pop(state.DELETED_THREAD)
    _ask("")
    st.session_state[state.PURGED] = outcome
    st.rerun()


def _draw_receipt() -> None:
    receipt: ThreadReceipt | None = st.session_state.get(state.PURGED)
    if receipt is not None:
        memories = count(receipt.memories, "memory", "memories")
        st.success(
            f"Erased **{escape(conversation(receipt.title), limit=80)}**: "
            f"{count(receipt.checkpoints, 'saved point')} and {memories} are gone.",
            icon=":material/check:",
        )
