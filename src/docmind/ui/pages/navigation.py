"""Navigation between the pages, with what every page has: the side bar, the reader, and the parts that show nothing."""

from __future__ import annotations

from pathlib import Path

import streamlit as st
from streamlit.navigation.page import StreamlitPage

import docmind.ui.app
from docmind.ui.app import state
from docmind.ui.app.browser_part import browser_part
from docmind.ui.chat import filters
from docmind.ui.evaluation import section
from docmind.ui.reader.mount import mount_reader
from docmind.ui.reader.xray import mount_xray
from docmind.wording import N_, _

_PICTURES = Path(docmind.ui.app.__file__).parent
_SIDE_BAR_PX = 288


def run() -> None:
    """Draw what every page has, then run the script of the page that is open: what `pages/start.py` does."""
    pages = _pages()
    elsewhere = st.Page("evaluation.py", url_path="evaluation")  # an address that leads to a page of the menu
    page = st.navigation([*pages.values(), elsewhere], position="hidden")
    st.set_page_config(
        page_title=f"{_(page.title)} · DocMind",
        page_icon=str(_PICTURES / "mark.svg"),
        layout="centered" if page.url_path == "settings" else "wide",
        initial_sidebar_state=_SIDE_BAR_PX,
    )
    st.html(_PICTURES / "looks.css")
    st.logo(str(_PICTURES / "mark.svg"))
    st.session_state[state.CAME_BACK] = st.session_state.get(state.PAGE, page.url_path) != page.url_path
    st.session_state[state.PAGE] = page.url_path
    with st.sidebar, st.container(key="pages-of-the-app", gap="xsmall"):
        for icon, entry in pages.items():
            st.page_link(entry, label=_(entry.title), icon=icon, width="stretch")
    mount_reader(_ask)
    mount_xray()
    _mount_parts(page)
    if st.session_state.pop(state.ASK_DOCUMENT, False) and page.url_path:
        st.switch_page("chat.py")
    page.run()


def go_to_evaluation() -> None:
    """Lead from the address that *Evaluation* had as a page of its own to the section of Settings."""
    st.switch_page("settings.py", query_params={**st.query_params.to_dict(), state.SECTION: _(section.TITLE)})


def _pages() -> dict[str, StreamlitPage]:
    """Return the pages of the menu by their icons; their scripts lie beside the one that is run.

    The pages have no icons of their own: the browser would fetch each from a font server to show it on the tab.
    """
    return {
        ":material/forum:": st.Page("chat.py", title=N_("Ask"), default=True),
        ":material/folder_open:": st.Page("documents.py", title=N_("Documents"), url_path="documents"),
        ":material/tune:": st.Page("settings.py", title=N_("Settings"), url_path="settings"),
    }


def _ask(doc_id: str) -> None:
    filters.look_in(doc_id)
    st.session_state[state.ASK_DOCUMENT] = True


def _mount_parts(page: StreamlitPage) -> None:
    """Mount the scripts that act on every page; they show nothing."""
    view = [page.url_path, *map(st.query_params.get, (state.OPEN_DOCUMENT, state.OPEN_BIN))]
    view.append("".join(st.session_state.get(state.COMPARING, ())))
    texts = {"pages": _("Pages of DocMind"), "arrived": _("The answer is here.")}
    with st.container(key="steady"):
        browser_part(_PICTURES, "focus", key="focus-part", height=1)
        browser_part(_PICTURES, "spoken", data={"texts": texts}, key="spoken-part", height=1)
        seen = {"view": "/".join(one or "" for one in view)}
        browser_part(_PICTURES, "steady", data=seen, key="steady-part", height=1)
