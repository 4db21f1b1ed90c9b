"""The conversations in the sidebar of every page: create, find, open, pin, rename, export, archive and delete.

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
from docmind.ui.app.browser_part import browser_part
from docmind.ui.app.dialogs import dialog
from docmind.ui.app.format import conversation, count, size, when
from docmind.ui.chat import visual_search
from docmind.wording import N_, _, ngettext

if TYPE_CHECKING:
    from docmind.application import DocMind


_DELETED_SHOWN = 50


def _close_deleted() -> None:
    st.session_state.pop(state.THREAD_DIALOG, None)
    st.session_state.pop(state.PURGED, None)


@dialog(N_("Deleted conversations"), icon=":material/delete:", width="medium", on_dismiss=_close_deleted)
def _deleted_dialog(docmind: DocMind) -> None:
    """Draw the list of deleted conversations, or the confirmation of a purge."""
    asked = st.session_state.get(state.THREAD_DIALOG, ("", ""))[1]  # absent while the dialog is being dismissed
    threads = docmind.conversations.threads(deleted=True)
    for thread in threads:
        if thread.thread_id == asked:
            _confirm_purge(docmind, thread)
            return
    _draw_receipt()
    if not threads:
        st.write(_("No deleted conversations. You can restore a conversation here after deleting it."))
        return
    st.caption(_("Restore a conversation, or delete it permanently."))
    with st.container(gap="xsmall"):
        for thread in threads[:_DELETED_SHOWN]:
            _draw_deleted(docmind, thread)
    if len(threads) > _DELETED_SHOWN:
        st.caption(
            _("{count} will follow when these are gone.").format(
                count=count(
                    ngettext("{n} older one", "{n} older ones", len(threads) - _DELETED_SHOWN),
                    len(threads) - _DELETED_SHOWN,
                )
            )
        )


def _draw_deleted(docmind: DocMind, thread: Thread) -> None:
    with st.container(border=True, horizontal=True, vertical_alignment="center", key=f"deleted-{thread.thread_id}"):
        with st.container(gap=None):
            st.markdown(escape(conversation(thread.title), limit=80))
            if thread.deleted_at_ms is not None:
                st.caption(_("Deleted {time}").format(time=when(thread.deleted_at_ms)))
        if st.button(_("Restore"), key=f"restore-{thread.thread_id}", icon=":material/undo:"):
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
            _("Delete permanently"),
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
    st.markdown(_("Permanently delete **{title}**?").format(title=escape(conversation(thread.title), limit=120)))
    st.write(
        _(
            "All its questions and answers and what DocMind remembers for it alone are deleted. "
            "**This cannot be undone.** Your documents and exported files stay."
        )
    )
    with st.container(horizontal=True, horizontal_alignment="right"):
        if st.button(_("Keep it"), key="keep-thread", on_click=_ask_purge, args=("",)):
            st.rerun(scope="fragment")
        erase = st.button(_("Delete permanently"), key="purge-thread", type="primary", icon=":material/delete_forever:")
    if not erase:
        return
    with st.spinner(_("Erasing…")):
        outcome = errors.attempt(lambda: docmind.conversations.erase_thread(thread.thread_id))
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
        title = escape(conversation(receipt.title), limit=80)
        st.success(_("“{title}” was permanently deleted.").format(title=title), icon=":material/check:")


_TELLS: dict[ExportFormat, str] = {
    "markdown": N_("A zip file: the text as Markdown, and the cited pages as pictures beside it."),
    "pdf": N_("One PDF: questions, answers and sources, with the cited pages."),
}
_FILES: dict[ExportFormat, str] = {"markdown": N_("zip file"), "pdf": "PDF"}
"""Names on the button: while a file is made, Streamlit still shows the previous button."""


def _open_export(docmind: DocMind, thread: Thread, file_format: ExportFormat) -> None:
    """Make the file and offer it in a dialog. Errors are shown in its place."""
    _export_dialog(docmind, thread, file_format)


def _close_export() -> None:
    st.session_state.pop(state.THREAD_DIALOG, None)
    st.session_state.pop(state.EXPORTED, None)


@dialog(N_("Export the conversation"), icon=":material/download:", on_dismiss=_close_export)
def _export_dialog(docmind: DocMind, thread: Thread, file_format: ExportFormat) -> None:
    st.markdown(f"**{escape(conversation(thread.title), limit=120)}**")
    st.write(_TELLS[file_format])
    wanted = (thread, file_format)
    if (
        st.session_state.get(state.EXPORTED, (None,))[0] != wanted
    ):  # the browser may not have reported yet that the previous dialog was closed
        with st.spinner(_("Making the file…")):
            outcome = errors.attempt(lambda: docmind.conversations.export(thread.thread_id, file_format))
        if isinstance(outcome, DocMindError):
            errors.show(outcome)
            return
        st.session_state[state.EXPORTED] = (wanted, outcome)
    made: Exported = st.session_state[state.EXPORTED][1]
    st.caption(_("The file is not encrypted: anyone who has it can read it."), help=_("DocMind keeps no copy of it."))
    with st.container(horizontal=True, horizontal_alignment="right", vertical_alignment="center"):
        st.download_button(
            _("Download the {file} ({size})").format(file=_(_FILES[file_format]), size=size(len(made.data))),
            made.data,
            file_name=made.name,
            mime=made.media_type,
            key=f"download-{file_format}",
            icon=":material/download:",
            type="primary",
            on_click=_close_export,
        )


_ASK = "chat.py"
_AGES = (N_("Pinned"), N_("Today"), N_("Yesterday"), N_("Last 7 days"), N_("Older"))
_SHOWN = 40
_FIND_FROM = 6  # conversations; with fewer there is no search field
_LOOKS = Path(__file__).with_suffix(".css")
_PIN, _UNPIN, _RENAME, _MARKDOWN, _PDF, _ARCHIVE, _UNARCHIVE, _DELETE = (
    "pin", "unpin", "rename", "markdown", "pdf", "archive", "unarchive", "delete",
)  # fmt: skip
_MENU = {
    _PIN: (":material/keep:", N_("Pin")),
    _UNPIN: (":material/keep_off:", N_("Unpin")),
    _RENAME: (":material/edit:", N_("Rename")),
    _MARKDOWN: (":material/markdown:", N_("Export as Markdown")),
    _PDF: (":material/picture_as_pdf:", N_("Export as PDF")),
    _ARCHIVE: (":material/archive:", N_("Archive")),
    _UNARCHIVE: (":material/unarchive:", N_("Move out of the archive")),
    _DELETE: (":material/delete:", N_("Delete")),
}


def sidebar(docmind: DocMind) -> str | None:
    """Draw the list and its dialogs on the Ask page; return the id of the open conversation, None for a new one."""
    current = _open_thread(docmind)
    _draw(docmind, current, has_pictures=True)
    return current.thread_id if current is not None else None


def sidebar_elsewhere(docmind: DocMind) -> None:
    """Draw the list on another page: choosing a conversation leads to the Ask page."""
    if st.session_state.pop(state.TO_ASK, False):
        thread_id = st.session_state.get(state.THREAD)
        st.switch_page(_ASK, query_params={state.THREAD: thread_id} if thread_id else None)
    _draw(docmind, None, has_pictures=False)


def _draw(docmind: DocMind, current: Thread | None, *, has_pictures: bool) -> None:
    with st.sidebar:
        st.html(_LOOKS)
        st.space("xsmall")
        st.button(
            _("New conversation"),
            key="new-thread",
            icon=":material/edit_square:",
            shortcut="Mod+Shift+O",
            width="stretch",
            on_click=begin,
        )
        if has_pictures:
            visual_search.draw(docmind)
        _draw_undo(docmind)
        threads = docmind.conversations.threads()
        archived = docmind.conversations.threads(archived=True)
        if len(threads) + len(archived) >= _FIND_FROM:
            threads, archived = _find(docmind, threads, archived)
        _draw_list(docmind, threads, current, has_more=bool(archived))
        with st.container(key="threads-put-away"):
            _draw_archived(docmind, archived, current)
            _draw_deleted_link(docmind)
        with st.container(key="threads-keys"):
            browser_part(Path(__file__).parent, "thread_keys", key="threads-part")
    _draw_dialog(docmind)


def begin() -> None:
    """Begin a new conversation. For callbacks."""
    leave()
    _lead_to_ask()


def open_chosen(thread_id: str) -> None:
    """Open a conversation of the list. For callbacks."""
    show(thread_id)
    _lead_to_ask()


def _lead_to_ask() -> None:
    if st.session_state.get(state.PAGE, ""):  # the Ask page has no path of its own
        st.session_state[state.TO_ASK] = True


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

    Pinned ones come first; the other groups are today, yesterday, the last seven days, older.
    """
    groups: dict[str, list[Thread]] = {name: [] for name in _AGES}
    for thread in threads:
        if thread.is_pinned:
            groups["Pinned"].append(thread)
            continue
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
        st.toast(_("That conversation was deleted. It is among the deleted ones."), icon=":material/delete:")
    elif isinstance(found, NotFoundError):
        st.toast(_("That conversation no longer exists."), icon=":material/info:")
    else:
        raise found
    return None


def _find(
    docmind: DocMind, threads: tuple[Thread, ...], archived: tuple[Thread, ...]
) -> tuple[tuple[Thread, ...], tuple[Thread, ...]]:
    """Draw the search field, which filters while it is typed; return what it finds, in the archive too."""
    words = st.text_input(
        _("Find a conversation"),
        key=state.FIND_THREAD,
        placeholder=_("Find a conversation"),
        icon=":material/search:",
        label_visibility="collapsed",
        live=True,
    )
    if not words or not words.strip():
        return threads, archived
    return docmind.conversations.threads(words), docmind.conversations.threads(words, archived=True)


def _draw_list(docmind: DocMind, threads: Sequence[Thread], current: Thread | None, *, has_more: bool) -> None:
    if not threads:
        words = st.session_state.get(state.FIND_THREAD, "")
        if words.strip():
            if not has_more:
                st.caption(_("No conversations match."))
        else:
            st.caption(_("Your conversations are listed here. Ask a question to start one."))
        return
    shown: int = st.session_state.setdefault(state.MORE_THREADS, _SHOWN)
    open_id = current.thread_id if current else ""
    with st.container(key="threads", gap=None):
        for name, members in ages(threads[:shown], datetime.now().astimezone().date()):
            st.caption(_(name))
            for thread in members:
                _draw_row(docmind, thread, thread.thread_id == open_id)
    if len(threads) > shown:
        st.button(
            _("{n} more").format(n=f"{len(threads) - shown:,}"),
            key="more-threads",
            icon=":material/expand_more:",
            type="tertiary",
            on_click=_show_more,
        )


def _draw_archived(docmind: DocMind, archived: Sequence[Thread], current: Thread | None) -> None:
    """Draw the archived conversations behind a button; those that a search found are shown at once."""
    if not archived:
        return
    is_found = bool(st.session_state.get(state.FIND_THREAD, "").strip())
    is_open = is_found or st.session_state.get(state.ARCHIVE_OPEN, False)
    label = ngettext("{n} archived conversation", "{n} archived conversations", len(archived))
    st.button(
        label.format(n=f"{len(archived):,}"),
        key="archived-threads",
        icon=":material/expand_less:" if is_open else ":material/archive:",
        type="tertiary",
        disabled=is_found,
        on_click=_toggle_archive,
    )
    if is_open:
        with st.container(key="archive-threads", gap=None):
            for thread in archived[:_SHOWN]:
                _draw_row(docmind, thread, current is not None and thread.thread_id == current.thread_id)


def _toggle_archive() -> None:
    st.session_state[state.ARCHIVE_OPEN] = not st.session_state.get(state.ARCHIVE_OPEN, False)


def _draw_row(docmind: DocMind, thread: Thread, is_open: bool) -> None:
    key = f"{'open-' if is_open else ''}thread-{thread.thread_id}"
    with st.container(horizontal=True, vertical_alignment="center", gap=None, key=key):
        st.button(
            escape(conversation(thread.title)),
            key=f"show-{thread.thread_id}",
            type="tertiary",
            width="stretch",
            wrap=False,
            icon=":material/keep:" if thread.is_pinned else None,
            on_click=open_chosen,
            args=(thread.thread_id,),
        )
        menu = f"menu-{thread.thread_id}"
        st.menu_button(
            _("Menu"),
            _choices(thread),
            key=menu,
            icon=":material/more_horiz:",
            type="tertiary",
            format_func=lambda choice: f"{_MENU[choice][0]} {_(_MENU[choice][1])}",
            on_click=_act,
            args=(docmind, thread, menu),
        )


def _choices(thread: Thread) -> list[str]:
    pin = () if thread.is_archived else (_UNPIN,) if thread.is_pinned else (_PIN,)
    return [*pin, _RENAME, _MARKDOWN, _PDF, _UNARCHIVE if thread.is_archived else _ARCHIVE, _DELETE]


def _act(docmind: DocMind, thread: Thread, menu: str) -> None:
    chosen = st.session_state.get(menu)
    if chosen == _DELETE:
        if isinstance(outcome := _attempted(lambda: docmind.conversations.bin(thread.thread_id)), Thread):
            if st.session_state.get(state.THREAD) == thread.thread_id:
                leave()
            st.session_state[state.DELETED_THREAD] = outcome
    elif chosen in (_PIN, _UNPIN):
        _attempted(lambda: docmind.conversations.pin(thread.thread_id, chosen == _PIN))
    elif chosen in (_ARCHIVE, _UNARCHIVE):
        _attempted(lambda: docmind.conversations.archive(thread.thread_id, chosen == _ARCHIVE))
    elif chosen is not None:
        st.session_state[state.THREAD_DIALOG] = (chosen, thread.thread_id)


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
        st.caption(_("Deleted **{title}**").format(title=escape(conversation(thread.title), limit=60)))
        with st.container(horizontal=True, gap="small"):
            st.button(_("Undo"), key="undo", icon=":material/undo:", on_click=_undo, args=(docmind, thread))
            st.button(_("Dismiss"), key="undo-dismiss", type="tertiary", on_click=_drop_deleted)


def _undo(docmind: DocMind, thread: Thread) -> None:
    if _attempted(lambda: docmind.conversations.restore(thread.thread_id)) is not None:
        _drop_deleted()
        if st.session_state.get(state.THREAD) is None:
            show(thread.thread_id)


def _drop_deleted() -> None:
    st.session_state.pop(state.DELETED_THREAD, None)


def _show_more() -> None:
    st.session_state[state.MORE_THREADS] += _SHOWN


def _draw_deleted_link(docmind: DocMind) -> None:
    put_aside = docmind.conversations.threads(deleted=True)
    if put_aside:
        st.button(
            count(ngettext("{n} deleted conversation", "{n} deleted conversations", len(put_aside)), len(put_aside)),
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


@dialog(N_("Rename the conversation"), icon=":material/edit:", on_dismiss=_close_dialog)
def _rename(docmind: DocMind, thread: Thread) -> None:
    with st.form("rename-thread", border=False):
        title = st.text_input(
            _("Title"), value=one_line(thread.title), max_chars=200, placeholder=_("What it is about")
        )
        with st.container(horizontal=True, horizontal_alignment="right"):
            saved = st.form_submit_button(_("Rename"), type="primary")
    if saved:
        outcome = errors.attempt(lambda: docmind.conversations.rename(thread.thread_id, title))
        if isinstance(outcome, DocMindError):
            errors.show(outcome)
        else:
            _close_dialog()
            st.rerun()
