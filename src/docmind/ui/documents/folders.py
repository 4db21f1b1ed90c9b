"""Folders on the Documents page: which are followed, what of them is gone, and adding and removing them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from docmind.errors import DocMindError
from docmind.records.documents import FolderInfo, GoneFile
from docmind.rich_text import escape
from docmind.ui.app import errors, state
from docmind.wording import _, ngettext

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from docmind.application import DocMind

_LOOK_S = 3.0
_NAMED = 8  # documents whose file is gone that are listed one by one


def draw(docmind: DocMind) -> None:
    """Draw the folders that are watched, and the form that adds one: the content of a dialog."""
    failed: DocMindError | None = st.session_state.get(state.FOLDER_TROUBLE)
    st.caption(
        _(
            "Files in a folder you follow are read into the library. New and changed files are read as well; "
            "the files themselves are never changed."
        )
    )
    if failed is not None:
        errors.show(failed)
    for info in docmind.folders.all():
        _draw_folder(docmind, info)
    _draw_form(docmind)


def draw_gone(docmind: DocMind) -> None:
    """Draw what is gone from the folders; polls by itself while a folder is watched."""
    is_watched = any(info.is_watched for info in docmind.folders.all())
    st.fragment(_draw_gone, run_every=_LOOK_S if is_watched else None)(docmind)


def _draw_folder(docmind: DocMind, info: FolderInfo) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"folder-{info.folder_id}"):
        with st.container(gap=None):
            st.markdown(f"**{escape(info.path, limit=90)}**")
            st.caption(_about(info))
        st.toggle(
            _("Watch"),
            value=info.is_watched,
            key=f"folder-watch-{info.folder_id}",
            help=_("Look for changes every 15 seconds while DocMind is open"),
            on_change=_act,
            args=(lambda: docmind.folders.watch(info.folder_id, is_watched=not info.is_watched),),
        )
        _button(_("Look now"), f"run-{info.folder_id}", ":material/sync:", lambda: _look(docmind, info.folder_id))
        _button(_("Remove"), f"remove-{info.folder_id}", ":material/close:", lambda: _remove(docmind, info.folder_id))


def _about(info: FolderInfo) -> str:
    told = [ngettext("{n} file", "{n} files", info.files).format(n=f"{info.files:,}")]
    if info.include:
        told.append(_("only {patterns}").format(patterns=escape(", ".join(info.include), limit=60)))
    if info.exclude:
        told.append(_("without {patterns}").format(patterns=escape(", ".join(info.exclude), limit=60)))
    if info.message:
        told.append(escape(info.message))
    return " · ".join(told)


def _draw_form(docmind: DocMind) -> None:
    with st.form("folder-form", border=False, clear_on_submit=True):
        path = st.text_input(_("Folder"), placeholder=_("/home/ana/Papers"), key=state.FOLDER_PATH)
        with st.container(horizontal=True, gap="small"):
            include = st.text_input(_("Only files like (optional)"), placeholder="*.pdf, *.docx", key="folder-include")
            exclude = st.text_input(_("Leave out (optional)"), placeholder="drafts, *.tmp", key="folder-exclude")
        wants = st.form_submit_button(_("Follow folder"), icon=":material/create_new_folder:")
    if wants and path.strip():
        _act(lambda: _follow(docmind, path.strip(), _patterns(include), _patterns(exclude)))
        st.rerun()


def _patterns(text: str) -> list[str]:
    return [one.strip() for one in text.split(",") if one.strip()]


def _follow(docmind: DocMind, path: str, include: Sequence[str], exclude: Sequence[str]) -> None:
    info = docmind.folders.add(Path(path), include=include, exclude=exclude)
    _look(docmind, info.folder_id)


def _look(docmind: DocMind, folder_id: int) -> None:
    docmind.folders.sync(folder_id)
    docmind.queue.start()


def _remove(docmind: DocMind, folder_id: int) -> None:
    docmind.folders.remove(folder_id)


def _draw_gone(docmind: DocMind) -> None:
    gone = docmind.folders.gone()
    if not gone:
        return
    with st.container(border=True, key="folder-gone"):
        told = ngettext("{n} file is gone from its folder", "{n} files are gone from their folders", len(gone))
        st.markdown(f":material/folder_off: **{told.format(n=f'{len(gone):,}')}**")
        st.caption(_("The documents are still here and can be found until you delete them."))
        for file in gone[:_NAMED]:
            _draw_gone_file(docmind, file)
        if len(gone) > 1:
            ids = [file.doc_id for file in gone]
            with st.container(horizontal=True, gap="small"):
                _button(_("Keep all"), "keep-all", ":material/check:", lambda: docmind.folders.keep(ids))
                _button(_("Delete all"), "delete-all", ":material/delete:", lambda: docmind.folders.bin_gone(ids))


def _draw_gone_file(docmind: DocMind, file: GoneFile) -> None:
    ids = [file.doc_id]
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"gone-{file.doc_id}"):
        st.markdown(escape(file.document, limit=64), width="stretch")
        _button(_("Keep"), f"keep-{file.doc_id}", ":material/check:", lambda: docmind.folders.keep(ids))
        _button(_("Delete"), f"delete-{file.doc_id}", ":material/delete:", lambda: docmind.folders.bin_gone(ids))


def _button(label: str, key: str, icon: str, work: Callable[[], object]) -> None:
    st.button(label, key=f"folder-{key}", icon=icon, on_click=_act, args=(work,))


def _act(work: Callable[[], object]) -> None:
    """Run an action, and note why it failed."""
    outcome = errors.attempt(work)
    st.session_state.pop(state.FOLDER_TROUBLE, None)
    if isinstance(outcome, DocMindError):
        st.session_state[state.FOLDER_TROUBLE] = outcome
