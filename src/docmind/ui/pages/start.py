"""The script that runs before every page: navigation between the pages."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

import docmind.ui.app
from docmind.ui.app import state
from docmind.ui.app.browser_part import browser_part
from docmind.ui.chat import filters
from docmind.ui.reader.mount import mount_reader
from docmind.ui.reader.xray import mount_xray
from docmind.wording import N_, _

# The pages have no icons of their own: the browser would fetch each from a font server to show it on the tab.
PAGES = {
    ":material/forum:": st.Page("chat.py", title=N_("Ask"), default=True),
    ":material/folder_open:": st.Page("documents.py", title=N_("Documents"), url_path="documents"),
    ":material/tune:": st.Page("settings.py", title=N_("Settings"), url_path="settings"),
}
_ELSEWHERE = [st.Page("evaluation.py", url_path="evaluation")]  # addresses that lead to a page of the menu
PICTURES = Path(docmind.ui.app.__file__).parent


def _ask(doc_id: str) -> None:
    filters.look_in(doc_id)
    st.session_state[state.ASK_DOCUMENT] = True


page = st.navigation([*PAGES.values(), *_ELSEWHERE], position="hidden")
st.set_page_config(
    page_title=f"{_(page.title)} · DocMind",
    page_icon=str(PICTURES / "mark.svg"),
    layout="centered" if page.url_path == "settings" else "wide",
    initial_sidebar_state=288,
)
st.html(PICTURES / "looks.css")
st.logo(str(PICTURES / "mark.svg"))
st.session_state[state.CAME_BACK] = st.session_state.get(state.PAGE, page.url_path) != page.url_path
st.session_state[state.PAGE] = page.url_path
with st.sidebar, st.container(key="pages-of-the-app", gap="xsmall"):
    for icon, entry in PAGES.items():
        st.page_link(entry, label=_(entry.title), icon=icon, width="stretch")


mount_reader(_ask)
mount_xray()
with st.container(key="steady"):
    view = [page.url_path, *map(st.query_params.get, (state.OPEN_DOCUMENT, state.OPEN_BIN))]
    view.append("".join(st.session_state.get(state.COMPARING, ())))
    texts = {"pages": _("Pages of DocMind"), "arrived": _("The answer is here.")}
    browser_part(PICTURES, "focus", key="focus-part", height=1)
    browser_part(PICTURES, "spoken", data={"texts": texts}, key="spoken-part", height=1)
    browser_part(PICTURES, "steady", data={"view": "/".join(one or "" for one in view)}, key="steady-part", height=1)
if st.session_state.pop(state.ASK_DOCUMENT, False) and page.url_path:
    st.switch_page(PAGES[":material/forum:"])
page.run()
