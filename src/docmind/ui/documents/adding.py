"""Ways to add documents: the menu *Add*, its dialogs, and the boxes for files, which take what is dropped on the page.

A browser part, `adding.js`, opens the boxes for the first two entries of the menu, and makes the page a place to drop.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from docmind.ui.app import state
from docmind.ui.app.browser_part import browser_part
from docmind.ui.app.dialogs import dialog
from docmind.ui.documents import folders, upload
from docmind.wording import N_, _

if TYPE_CHECKING:
    from docmind.application import DocMind

_FILES, _FOLDER, _WEB, _WATCHED = "files", "folder", "web", "watched"
_WAYS = {
    _FILES: (":material/upload_file:", N_("Add files")),
    _FOLDER: (":material/drive_folder_upload:", N_("Add folder")),
    _WEB: (":material/language:", N_("Add a web page")),
    _WATCHED: (":material/folder_eye:", N_("Watched folders")),
}
_MENU = "add-menu"


def draw_menu(docmind: DocMind) -> None:
    """Draw the menu *Add*."""
    watched = len(docmind.folders.all())

    def label(way: str) -> str:
        icon, text = _WAYS[way]
        return f"{icon} {_(text)}" + (f" ({watched})" if way == _WATCHED and watched else "")

    st.menu_button(
        _("Add"), list(_WAYS), key=_MENU, icon=":material/add:", type="primary", format_func=label, on_click=_choose
    )


def draw_boxes(docmind: DocMind) -> None:
    """Draw the boxes for files and for a folder, and the browser part that opens them."""
    with st.container(key="adding"):
        upload.uploader(docmind)
    with st.container(key="adding-folder"):
        upload.whole_folder(docmind)
    with st.container(key="adding-part"):
        data = {"files": _(_WAYS[_FILES][1]), "folder": _(_WAYS[_FOLDER][1]), "drop": _("Drop files to add them")}
        browser_part(Path(__file__).parent, "adding", data=data, key="adding-script", height=1)


def draw_dialog(docmind: DocMind) -> None:
    """Draw the dialog that is open."""
    way = st.session_state.get(state.ADDING)
    if way == _WEB:
        _web_page(docmind)
    elif way == _WATCHED:
        _watched(docmind)


def _choose() -> None:
    """Open the dialog of an entry; the boxes of the others were opened in the browser."""
    st.session_state[state.ADDING] = st.session_state.get(_MENU)


def _close() -> None:
    st.session_state.pop(state.ADDING, None)


@dialog(N_("Add a web page"), icon=":material/language:", on_dismiss=_close)
def _web_page(docmind: DocMind) -> None:
    upload.web_page(docmind, _close)


@dialog(N_("Watched folders"), icon=":material/folder_eye:", on_dismiss=_close, width="large")
def _watched(docmind: DocMind) -> None:
    folders.draw(docmind)
