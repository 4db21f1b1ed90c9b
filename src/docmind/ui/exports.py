"""A conversation as a file to keep: made when it is asked for, kept in memory only, gone when the dialog closes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from docmind.conversation import Exported, ExportFormat, Thread
from docmind.errors import DocMindError
from docmind.escape import escape
from docmind.ui import state, trouble
from docmind.ui.wording import conversation, size

if TYPE_CHECKING:
    from docmind.application import DocMind

_TELLS: dict[ExportFormat, str] = {
    "markdown": "A zip file: the text as Markdown, and the cited pages as pictures beside it.",
    "pdf": "One PDF: questions, answers and sources, with the cited pages.",
}
_FILES: dict[ExportFormat, str] = {"markdown": "zip file", "pdf": "PDF"}
"""Named on the button: while a file is made, Streamlit still shows the button of the one before."""


def dialog(mind: DocMind, thread: Thread, file_format: ExportFormat) -> None:
    """Make the file and offer it, over the page. What goes wrong is told in its place."""
    _dialog(mind, thread, file_format)


def _close() -> None:
    st.session_state.pop(state.THREAD_DIALOG, None)
    st.session_state.pop(state.EXPORTED, None)


@st.dialog("Export the conversation", icon=":material/download:", on_dismiss=_close)
def _dialog(mind: DocMind, thread: Thread, file_format: ExportFormat) -> None:
    st.markdown(f"**{escape(conversation(thread.title), limit=120)}**")
    st.write(_TELLS[file_format])
    wanted = (thread, file_format)
    if st.session_state.get(state.EXPORTED, (None,))[0] != wanted:  # closing the one before may not have been told yet
        with st.spinner("Making the file…"):
            outcome = trouble.attempt(lambda: mind.conversations.export(thread.thread_id, file_format))
        if isinstance(outcome, DocMindError):
            trouble.show(outcome)
            return
        st.session_state[state.EXPORTED] = (wanted, outcome)
    made: Exported = st.session_state[state.EXPORTED][1]
    st.caption("The file is not sealed: whoever has it can read it.", help="DocMind keeps no copy of it.")
    with st.container(horizontal=True, horizontal_alignment="right", vertical_alignment="center"):
        st.download_button(
            f"Download the {_FILES[file_format]} ({size(len(made.data))})",
            made.data,
            file_name=made.name,
            mime=made.media_type,
            key=f"download-{file_format}",
            icon=":material/download:",
            type="primary",
            on_click="ignore",
        )
