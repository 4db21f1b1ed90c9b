"""The conversations, in the side bar: beginning one, finding one, opening it, renaming, exporting and deleting it.

The one that is open stands in the address (`?thread=…`), so that a reload, a bookmark and the browser's own way back
lead to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from docmind.conversation import Thread
from docmind.errors import DocMindError, NotFoundError
from docmind.escape import escape, one_line
from docmind.ui import address, deleted, exports, picture, state, trouble
from docmind.ui.wording import conversation, count

if TYPE_CHECKING:
    from docmind.application import DocMind

_SHOWN = 40
_FIND_FROM = 6  # conversations; fewer are found by looking
_LOOKS = Path(__file__).with_suffix(".css")
_RENAME, _MARKDOWN, _PDF, _DELETE = "Rename", "Export as Markdown", "Export as PDF", "Delete"
_MENU = {
    _RENAME: ":material/edit: Rename",
    _MARKDOWN: ":material/markdown: Export as Markdown",
    _PDF: ":material/picture_as_pdf: Export as PDF",
    _DELETE: ":material/delete: Delete",
}


def sidebar(mind: DocMind) -> str | None:
    """Draw the list and what was opened from it; the id of the open conversation, None for one not yet begun."""
    current = _open_thread(mind)
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
        picture.draw(mind)
        _draw_undo(mind)
        threads = mind.conversations.threads()
        if len(threads) >= _FIND_FROM:
            threads = _find(mind, threads)
        _draw_list(mind, threads, current)
        _draw_deleted_link(mind)
    _draw_dialog(mind)
    return current.thread_id if current is not None else None


def show(thread_id: str) -> None:
    """Open a conversation where it stands now. Made for callbacks and for the first question of a new one."""
    leave()
    address.open_thread(thread_id)


def leave() -> None:
    """Close what is open: the next question begins a new conversation."""
    address.open_thread(None)
    st.query_params.pop(state.AT, None)
    for name in (state.COMPARING, state.READING, state.DELETED_THREAD, state.UNFOLDED):
        st.session_state.pop(name, None)


def ages(threads: Sequence[Thread], today: date) -> Iterator[tuple[str, list[Thread]]]:
    """Today, yesterday, the last seven days, older: each with its conversations, in their order; none empty."""
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


def _open_thread(mind: DocMind) -> Thread | None:
    """The conversation in the address, where it is one that can be opened."""
    thread_id = address.thread_id()
    if thread_id is None:
        return None
    found = trouble.attempt(lambda: mind.conversations.thread(thread_id))
    if isinstance(found, Thread) and found.deleted_at_ms is None:
        return found
    undo = st.session_state.get(state.DELETED_THREAD)
    leave()
    if isinstance(undo, Thread) and undo.thread_id == thread_id:
        st.session_state[state.DELETED_THREAD] = undo
    elif isinstance(found, Thread):
        st.toast("That conversation was deleted. It is among the deleted ones.", icon=":material/delete:")
    elif isinstance(found, NotFoundError):
        st.toast("That conversation is not here any more.", icon=":material/info:")
    else:
        raise found
    return None


def _find(mind: DocMind, threads: tuple[Thread, ...]) -> tuple[Thread, ...]:
    words = st.text_input(
        "Find a conversation",
        key=state.FIND_THREAD,
        placeholder="Find a conversation",
        icon=":material/search:",
        label_visibility="collapsed",
    )
    return mind.conversations.threads(words) if words and words.strip() else threads


def _draw_list(mind: DocMind, threads: Sequence[Thread], current: Thread | None) -> None:
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
                _draw_row(mind, thread, thread.thread_id == open_id)
    if len(threads) > shown:
        st.button(
            f"{len(threads) - shown:,} more",
            key="more-threads",
            icon=":material/expand_more:",
            type="tertiary",
            on_click=_show_more,
        )


def _draw_row(mind: DocMind, thread: Thread, is_open: bool) -> None:
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
            args=(mind, thread, menu),
        )


def _act(mind: DocMind, thread: Thread, menu: str) -> None:
    chosen = st.session_state.get(menu)
    if chosen == _DELETE:
        if isinstance(outcome := _attempted(lambda: mind.conversations.delete(thread.thread_id)), Thread):
            if st.session_state.get(state.THREAD) == thread.thread_id:
                leave()
            st.session_state[state.DELETED_THREAD] = outcome
    elif chosen is not None:
        name = {_RENAME: "rename", _MARKDOWN: "markdown", _PDF: "pdf"}[chosen]
        st.session_state[state.THREAD_DIALOG] = (name, thread.thread_id)


def _attempted(work: Callable[[], Thread]) -> Thread | None:
    outcome = trouble.attempt(work)
    if isinstance(outcome, DocMindError):
        trouble.show(outcome)
        return None
    return outcome


def _draw_undo(mind: DocMind) -> None:
    """What was deleted just now, and the way back."""
    thread: Thread | None = st.session_state.get(state.DELETED_THREAD)
    if thread is None:
        return
    with st.container(border=True, key="undo-delete", gap="xsmall"):
        st.caption(f"Deleted **{escape(conversation(thread.title), limit=60)}**")
        with st.container(horizontal=True, gap="small"):
            st.button("Undo", key="undo", icon=":material/undo:", on_click=_undo, args=(mind, thread))
            st.button("Dismiss", key="undo-dismiss", type="tertiary", on_click=_forget_deleted)


def _undo(mind: DocMind, thread: Thread) -> None:
    if _attempted(lambda: mind.conversations.restore(thread.thread_id)) is not None:
        _forget_deleted()
        if st.session_state.get(state.THREAD) is None:
            show(thread.thread_id)


def _forget_deleted() -> None:
    st.session_state.pop(state.DELETED_THREAD, None)


def _show_more() -> None:
    st.session_state[state.MORE_THREADS] += _SHOWN


def _draw_deleted_link(mind: DocMind) -> None:
    put_aside = mind.conversations.threads(deleted=True)
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


def _draw_dialog(mind: DocMind) -> None:
    name, thread_id = st.session_state.get(state.THREAD_DIALOG, ("", ""))
    if name == "deleted":
        deleted.dialog(mind)
    elif name:
        thread = trouble.attempt(lambda: mind.conversations.thread(thread_id))
        if isinstance(thread, DocMindError):
            _close_dialog()
            trouble.show(thread)
        elif name == "rename":
            _rename(mind, thread)
        else:
            exports.dialog(mind, thread, "pdf" if name == "pdf" else "markdown")


def _close_dialog() -> None:
    st.session_state.pop(state.THREAD_DIALOG, None)


@st.dialog("Rename the conversation", icon=":material/edit:", on_dismiss=_close_dialog)
def _rename(mind: DocMind, thread: Thread) -> None:
    with st.form("rename-thread", border=False):
        title = st.text_input("Title", value=one_line(thread.title), max_chars=200, placeholder="What it is about")
        with st.container(horizontal=True, horizontal_alignment="right"):
            saved = st.form_submit_button("Rename", type="primary")
    if saved:
        outcome = trouble.attempt(lambda: mind.conversations.rename(thread.thread_id, title))
        if isinstance(outcome, DocMindError):
            trouble.show(outcome)
        else:
            _close_dialog()
            st.rerun()
