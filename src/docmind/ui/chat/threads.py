"""The conversations in the sidebar: create, find, open, rename, export and delete.

The open one is in the address (`?thread=…`), so that a reload, a bookmark and the browser's back button lead to it.

Deleted conversations are restored, or purged for good after a confirmation, with a receipt. An exported file is kept in
memory only while its dialog is open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from docmind.errors import DocMindError, NotFoundError
from docmind.records.conversations import Exported, ExportFormat, Thread, ThreadReceipt
from docmind.rich_text import escape, one_line
from docmind.ui.app import errors, state
from docmind.ui.app.format import conversation, count, size, when
from docmind.ui.chat import visual_search

if TYPE_CHECKING:
    from docmind.application import DocMind


_DELETED_SHOWN = 50


def _close_deleted() -> None:
    st.session_state.pop(state.THREAD_DIALOG, None)
    st.session_state.pop(state.PURGED, None)


@st.dialog("Deleted conversations", icon=":material/delete:", width="medium", on_dismiss=_close_deleted)
def _deleted_dialog(docmind: DocMind) -> None:
    """Draw the list of deleted conversations, or the confirmation of a purge."""
    _, asked = st.session_state.get(state.THREAD_DIALOG, ("", ""))  # absent while the dialog is being dismissed
    threads = docmind.conversations.threads(deleted=True)
    for thread in threads:
        if thread.thread_id == asked:
            _confirm_purge(docmind, thread)
            return
    _draw_receipt()
    if not threads:
        st.write("Nothing here. A conversation that you delete waits here until you restore it or delete it for good.")
        return
    st.caption("They wait here until you restore them or delete them for good.")
    with st.container(gap="xsmall"):
        for thread in threads[:_DELETED_SHOWN]:
            _draw_deleted(docmind, thread)
    if len(threads) > _DELETED_SHOWN:
        st.caption(f"{count(len(threads) - _DELETED_SHOWN, 'older one')} will follow when these are gone.")


def _draw_deleted(docmind: DocMind, thread: Thread) -> None:
    with st.container(border=True, horizontal=True, vertical_alignment="center", key=f"deleted-{thread.thread_id}"):
        with st.container(gap=None):
            st.markdown(escape(conversation(thread.title), limit=80))
            if thread.deleted_at_ms is not None:
                st.caption(f"Deleted {when(thread.deleted_at_ms)}")
        if st.button("Restore", key=f"restore-{thread.thread_id}", icon=":material/undo:"):
            outcome = errors.attempt(lambda: docmind.conversations.restore(thread.thread_id))
            if isinstance(outcome, DocMindError):
                errors.show(outcome)
            else:
                st.session_state.pop(state.PURGED, None)
                st.session_state.pop(state.DELETED_THREAD, None)
                state.open_thread(thread.thread_id)
                st.query_params.pop(state.AT, None)
                _close_deleted()
                st.rerun()
        st.button(
            "Delete for good",
            key=f"purge-{thread.thread_id}",
            icon=":material/delete_forever:",
            type="tertiary",
            on_click=_ask_purge,
            args=(thread.thread_id,),
        )


def _ask_purge(thread_id: str) -> None:
    st.session_state.pop(state.PURGED, None)
    st.session_state[state.THREAD_DIALOG] = ("deleted", thread_id)


def _confirm_purge(docmind: DocMind, thread: Thread) -> None:
    st.markdown(f"Delete **{escape(conversation(thread.title), limit=120)}** for good?")
    st.write(
        "Every question and answer of it, on all its branches, and what DocMind remembers of this conversation alone "
        "will be erased from the vault. **This cannot be undone.** Your documents, and files you exported, stay."
    )
    with st.container(horizontal=True, horizontal_alignment="right"):
        if st.button("Keep it", key="keep-thread", on_click=_ask_purge, args=("",)):
            st.rerun(scope="fragment")
        erase = st.button("Delete for good", key="purge-thread", type="primary", icon=":material/delete_forever:")
    if not erase:
        return
    with st.spinner("Erasing…"):
        outcome = errors.attempt(lambda: docmind.conversations.purge(thread.thread_id))
    if isinstance(outcome, DocMindError):
        errors.show(outcome)
        return
    undo = st.session_state.get(state.DELETED_THREAD)
    if isinstance(undo, Thread) and undo.thread_id == thread.thread_id:
        st.session_state.pop(state.DELETED_THREAD)
    _ask_purge("")
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


_TELLS: dict[ExportFormat, str] = {
    "markdown": "A zip file: the text as Markdown, and the cited pages as pictures beside it.",
    "pdf": "One PDF: questions, answers and sources, with the cited pages.",
}
_FILES: dict[ExportFormat, str] = {"markdown": "zip file", "pdf": "PDF"}
"""Names on the button: while a file is made, Streamlit still shows the previous button."""


def _open_export(docmind: DocMind, thread: Thread, file_format: ExportFormat) -> None:
    """Make the file and offer it in a dialog. Errors are shown in its place."""
    _export_dialog(docmind, thread, file_format)


def _close_export() -> None:
    st.session_state.pop(state.THREAD_DIALOG, None)
    st.session_state.pop(state.EXPORTED, None)


@st.dialog("Export the conversation", icon=":material/download:", on_dismiss=_close_export)
def _export_dialog(docmind: DocMind, thread: Thread, file_format: ExportFormat) -> None:
    st.markdown(f"**{escape(conversation(thread.title), limit=120)}**")
    st.write(_TELLS[file_format])
    wanted = (thread, file_format)
    if (
        st.session_state.get(state.EXPORTED, (None,))[0] != wanted
    ):  # the browser may not have reported yet that the previous dialog was closed
        with st.spinner("Making the file…"):
            outcome = errors.attempt(lambda: docmind.conversations.export(thread.thread_id, file_format))
        if isinstance(outcome, DocMindError):
            errors.show(outcome)
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


_SHOWN = 40
_FIND_FROM = 6  # conversations; with fewer there is no search field
_LOOKS = Path(__file__).with_suffix(".css")
_RENAME, _MARKDOWN, _PDF, _DELETE = "Rename", "Export as Markdown", "Export as PDF", "Delete"
_MENU = {
    _RENAME: ":material/edit: Rename",
    _MARKDOWN: ":material/markdown: Export as Markdown",
    _PDF: ":material/picture_as_pdf: Export as PDF",
    _DELETE: ":material/delete: Delete",
}


def sidebar(docmind: DocMind) -> str | None:
    """Draw the list and its dialogs; return the id of the open conversation, None for a new one."""
    current = _open_thread(docmind)
    with st.sidebar:
        st.html(_LOOKS)
        st.space("xsmall")
        st.button(
            "New conversation",
            key="new-thread",
            icon=":material/edit_square:",
            shortcut="Mod+Shift+O",
            width="stretch",
            on_click=leave,
        )
        visual_search.draw(docmind)
        _draw_undo(docmind)
        threads = docmind.conversations.threads()
        if len(threads) >= _FIND_FROM:
            threads = _find(docmind, threads)
        _draw_list(docmind, threads, current)
        _draw_deleted_link(docmind)
    _draw_dialog(docmind)
    return current.thread_id if current is not None else None


def show(thread_id: str) -> None:
    """Open a conversation at its current point.

    For callbacks and for the first question of a new one.
    """
    leave()
    state.open_thread(thread_id)


def leave() -> None:
    """Close the open conversation: the next question begins a new one."""
    state.open_thread(None)
    st.query_params.pop(state.AT, None)
    for name in (state.COMPARING, state.DELETED_THREAD, state.UNFOLDED):
        st.session_state.pop(name, None)


def ages(threads: Sequence[Thread], today: date) -> Iterator[tuple[str, list[Thread]]]:
    """Group conversations by age, without empty groups.

    The groups are today, yesterday, the last seven days, older.
    """
    groups: dict[str, list[Thread]] = {name: [] for name in ("Today", "Yesterday", "Last 7 days", "Older")}
    for thread in threads:
        day = datetime.fromtimestamp(thread.updated_at_ms / 1000).astimezone().date()
        age = today - day
        name = "Older"
        if age < timedelta(days=1):
            name = "Today"
        elif age < timedelta(days=2):
            name = "Yesterday"
        elif age <= timedelta(days=7):
            name = "Last 7 days"
        groups[name].append(thread)
    for name, members in groups.items():
        if members:
            yield name, members


def _open_thread(docmind: DocMind) -> Thread | None:
    """Return the conversation in the address, where it can be opened."""
    thread_id = state.thread_id()
    if thread_id is None:
        return None
    found = errors.attempt(lambda: docmind.conversations.thread(thread_id))
    if isinstance(found, Thread) and found.deleted_at_ms is None:
        return found
    undo = st.session_state.get(state.DELETED_THREAD)
    leave()
    if isinstance(undo, Thread) and undo.thread_id == thread_id:
        st.session_state[state.DELETED_THREAD] = undo
    elif isinstance(found, Thread):
        st.toast("That conversation was deleted. It is among the deleted ones.", icon=":material/delete:")
    elif isinstance(found, NotFoundError):
        st.toast("That conversation no longer exists.", icon=":material/info:")
    else:
        raise found
    return None


def _find(docmind: DocMind, threads: tuple[Thread, ...]) -> tuple[Thread, ...]:
    words = st.text_input(
        "Find a conversation",
        key=state.FIND_THREAD,
        placeholder="Find a conversation",
        icon=":material/search:",
        label_visibility="collapsed",
    )
    return docmind.conversations.threads(words) if words and words.strip() else threads


def _draw_list(docmind: DocMind, threads: Sequence[Thread], current: Thread | None) -> None:
    if not threads:
        words = st.session_state.get(state.FIND_THREAD, "")
        if words.strip():
            st.caption("No conversation holds that.")
        else:
            st.caption("Your conversations will be listed here. Ask something to begin one.")
        return
    shown: int = st.session_state.setdefault(state.MORE_THREADS, _SHOWN)
    open_id = current.thread_id if current else ""
    with st.container(key="threads", gap=None):
        for name, members in ages(threads[:shown], datetime.now().astimezone().date()):
            st.caption(name)
            for thread in members:
                _draw_row(docmind, thread, thread.thread_id == open_id)
    if len(threads) > shown:
        st.button(
            f"{len(threads) - shown:,} more",
            key="more-threads",
            icon=":material/expand_more:",
            type="tertiary",
            on_click=_show_more,
        )


def _draw_row(docmind: DocMind, thread: Thread, is_open: bool) -> None:
    key = f"{'open-' if is_open else ''}thread-{thread.thread_id}"
    with st.container(horizontal=True, vertical_alignment="center", gap=None, key=key):
        st.button(
            escape(conversation(thread.title)),
            key=f"show-{thread.thread_id}",
            type="tertiary",
            width="stretch",
            wrap=False,
            on_click=show,
            args=(thread.thread_id,),
        )
        menu = f"menu-{thread.thread_id}"
        st.menu_button(
            "Menu",
            list(_MENU),
            key=menu,
            icon=":material/more_horiz:",
            type="tertiary",
            format_func=_MENU.__getitem__,
            on_click=_act,
            args=(docmind, thread, menu),
        )


def _act(docmind: DocMind, thread: Thread, menu: str) -> None:
    chosen = st.session_state.get(menu)
    if chosen == _DELETE:
        if isinstance(outcome := _attempted(lambda: docmind.conversations.delete(thread.thread_id)), Thread):
            if st.session_state.get(state.THREAD) == thread.thread_id:
                leave()
            st.session_state[state.DELETED_THREAD] = outcome
    elif chosen is not None:
        name = {_RENAME: "rename", _MARKDOWN: "markdown", _PDF: "pdf"}[chosen]
        st.session_state[state.THREAD_DIALOG] = (name, thread.thread_id)


def _attempted(work: Callable[[], Thread]) -> Thread | None:
    outcome = errors.attempt(work)
    if isinstance(outcome, DocMindError):
        errors.show(outcome)
        return None
    return outcome


def _draw_undo(docmind: DocMind) -> None:
    """Draw what was deleted just now, with an undo button."""
    thread: Thread | None = st.session_state.get(state.DELETED_THREAD)
    if thread is None:
        return
    with st.container(border=True, key="undo-delete", gap="xsmall"):
        st.caption(f"Deleted **{escape(conversation(thread.title), limit=60)}**")
        with st.container(horizontal=True, gap="small"):
            st.button("Undo", key="undo", icon=":material/undo:", on_click=_undo, args=(docmind, thread))
            st.button("Dismiss", key="undo-dismiss", type="tertiary", on_click=_forget_deleted)


def _undo(docmind: DocMind, thread: Thread) -> None:
    if _attempted(lambda: docmind.conversations.restore(thread.thread_id)) is not None:
        _forget_deleted()
        if st.session_state.get(state.THREAD) is None:
            show(thread.thread_id)


def _forget_deleted() -> None:
    st.session_state.pop(state.DELETED_THREAD, None)


def _show_more() -> None:
    st.session_state[state.MORE_THREADS] += _SHOWN


def _draw_deleted_link(docmind: DocMind) -> None:
    put_aside = docmind.conversations.threads(deleted=True)
    if put_aside:
        st.button(
            count(len(put_aside), "deleted conversation"),
            key="deleted-threads",
            icon=":material/delete:",
            type="tertiary",
            on_click=_open_dialog,
            args=("deleted", ""),
        )


def _open_dialog(name: str, thread_id: str) -> None:
    st.session_state[state.THREAD_DIALOG] = (name, thread_id)


def _draw_dialog(docmind: DocMind) -> None:
    name, thread_id = st.session_state.get(state.THREAD_DIALOG, ("", ""))
    if name == "deleted":
        _deleted_dialog(docmind)
    elif name:
        thread = errors.attempt(lambda: docmind.conversations.thread(thread_id))
        if isinstance(thread, DocMindError):
            _close_dialog()
            errors.show(thread)
        elif name == "rename":
            _rename(docmind, thread)
        else:
            _open_export(docmind, thread, "pdf" if name == "pdf" else "markdown")


def _close_dialog() -> None:
    st.session_state.pop(state.THREAD_DIALOG, None)


@st.dialog("Rename the conversation", icon=":material/edit:", on_dismiss=_close_dialog)
def _rename(docmind: DocMind, thread: Thread) -> None:
    with st.form("rename-thread", border=False):
        title = st.text_input("Title", value=one_line(thread.title), max_chars=200, placeholder="What it is about")
        with st.container(horizontal=True, horizontal_alignment="right"):
            saved = st.form_submit_button("Rename", type="primary")
    if saved:
        outcome = errors.attempt(lambda: docmind.conversations.rename(thread.thread_id, title))
        if isinstance(outcome, DocMindError):
            errors.show(outcome)
        else:
            _close_dialog()
            st.rerun()
