"""Text models in Settings: those that there are, and the one that finds meaning in this vault."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from docmind.errors import DocMindError
from docmind.rich_text import escape
from docmind.ui.app import errors

if TYPE_CHECKING:
    from docmind.application import DocMind
    from docmind.config import Settings


def section(docmind: DocMind, settings: Settings) -> None:
    """Draw the choice; a change is used from the next start on."""
    st.subheader("Text model", anchor=False)
    st.caption(
        "It finds pages by their meaning. A folder with a model of your own, in the models folder, is listed too."
    )
    cards = [card for card in docmind.text_models() if card.kind == "embed"]
    present = [card.name for card in cards if card.state == "present"]
    about = {card.name: card.about for card in cards}
    used = next((card.name for card in cards if card.in_use), None)
    is_set = settings.embedding.model != "auto"
    with st.container(border=True):
        chosen = st.selectbox(
            "Model",
            present,
            index=present.index(used) if used in present else None,
            format_func=lambda name: f"{name}: {about[name]}",
            disabled=is_set or docmind.is_read_only,
            key="text-model",
            placeholder="The model of this vault is not here",
            help="Set by DOCMIND_EMBEDDING__MODEL." if is_set else None,
        )
        if chosen is not None and chosen != used and not is_set:
            _offer(docmind, chosen)
        for card in cards:
            if card.state != "present":
                st.caption(f"{escape(card.name)}: {escape(card.reason)} {escape(card.hint)}")


def _offer(docmind: DocMind, name: str) -> None:
    """Draw the button that makes a model the vault's."""
    st.caption(
        "It is used from the next start of DocMind on. Then press *Rebuild the index*, which embeds all passages."
    )
    if st.button("Use it from the next start on", key="text-model-use"):
        try:
            docmind.choose_text_model(name)
        except DocMindError as error:
            errors.show(error)
        else:
            st.success("Chosen. Start DocMind again, then rebuild the index.", icon=":material/check:")
