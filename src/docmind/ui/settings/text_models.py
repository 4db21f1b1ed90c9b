"""Text models in Settings: those that there are, and the one that finds meaning in this vault."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from docmind.rich_text import escape
from docmind.ui.app import errors, state
from docmind.ui.app.app_state import app_state
from docmind.ui.evaluation.measuring import compare_text_models
from docmind.ui.evaluation.section import TITLE
from docmind.wording import _

if TYPE_CHECKING:
    from docmind.application import DocMind
    from docmind.config import Settings

_KEY = "text-model-trouble"


def section(docmind: DocMind, settings: Settings) -> None:
    """Draw the choice."""
    st.subheader(_("Text model"), anchor=False)
    st.caption(
        _("It finds pages by their meaning. A folder with a model of your own, in the models folder, is listed too.")
    )
    cards = [card for card in docmind.text_models.all() if card.kind == "embed"]
    present = [card.name for card in cards if card.state == "present"]
    about = {card.name: _(card.about) for card in cards}
    built_in = {card.name for card in cards if not card.bytes}  # a model of the user's own is a folder with a size
    used = next((card.name for card in cards if card.in_use), None)
    is_set = settings.embedding.model != "auto"
    with st.container(border=True):
        chosen = st.selectbox(
            _("Model"),
            present,
            index=present.index(used) if used in present else None,
            format_func=lambda name: about[name] if name in built_in else f"{name}: {about[name]}",
            disabled=is_set or docmind.is_read_only,
            key="text-model",
            placeholder=_("The model of this library is not here"),
        )
        if is_set:
            st.caption(_("Set by {variable}").format(variable="DOCMIND_EMBEDDING__MODEL"))
        if chosen is not None and chosen != used and not is_set:
            _offer(docmind, chosen)
        errors.show_of(_KEY)
        for card in cards:
            if card.state != "present":
                st.caption(f"{escape(card.name)}: {escape(card.reason)} {escape(card.hint)}")


def _offer(docmind: DocMind, name: str) -> None:
    """Draw the button that makes a model the library's, and the result of pressing it."""
    st.caption(_("All documents are then prepared for it, which takes a while. You can go on asking meanwhile."))
    with st.container(horizontal=True):
        st.button(
            _("Use this model"), key="text-model-use", on_click=errors.heed, args=(_KEY, lambda: _use(docmind, name))
        )
        if not docmind.is_read_only:
            st.button(
                _("Compare both first"), key="text-model-compare", icon=":material/compare_arrows:", type="tertiary",
                help=_("Both answer the set that comes with DocMind: some minutes. Your library stays as it is."),
                on_click=errors.heed, args=(_KEY, lambda: _compare(name)),
            )  # fmt: skip


def _compare(name: str) -> None:
    compare_text_models(name)
    st.session_state[state.SECTION] = _(TITLE)  # where it tells how far it is


def _use(docmind: DocMind, name: str) -> None:
    docmind.text_models.choose(name)
    app_state().reopen()
    if not app_state().is_waiting:
        app_state().rebuild()
