"""The Settings page: vault contents, models, capabilities, index maintenance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from docmind.records.documents import Status
from docmind.rich_text import escape
from docmind.ui.app import errors
from docmind.ui.app.desk import desk
from docmind.ui.app.format import count, size
from docmind.ui.app.frame import frame, recovery_section
from docmind.ui.chat import threads
from docmind.ui.settings import language_models, text_models, visual_models

if TYPE_CHECKING:
    from docmind.application import DocMind
    from docmind.index import AtRest


def settings_page(docmind: DocMind) -> None:
    threads.sidebar_elsewhere(docmind)
    st.title("Settings", anchor=False)
    with st.spinner("Looking around…"):
        docmind.models.list(refresh=True)  # a server that has ended since is not in use any more
        status = docmind.status()
    vault(status)
    if (settings := desk().settings) is not None:
        language_models.section(docmind, settings)
        text_models.section(docmind, settings)
        visual_models.section(docmind, settings)
    st.subheader("What DocMind can use", anchor=False)
    st.caption("Optional parts are used as soon as they are present. Nothing is downloaded unless you start it.")
    with st.container(border=True, gap="xsmall"):
        for capability in status.capabilities:
            language_models.draw_capability(capability)
    recovery_section(docmind)
    st.subheader("Index", anchor=False)
    index(status)
    index_at_rest(docmind)
    st.caption(f"DocMind {escape(status.version)}")


def vault(status: Status) -> None:
    with st.container(horizontal=True):
        st.metric("Documents", f"{status.documents:,}", border=True)
        st.metric("Pages", f"{status.pages:,}", border=True)
        st.metric("Passages", f"{status.nodes:,}", border=True)
        st.metric("On the disk", size(status.vault_bytes), border=True, help=f"{size(status.free_bytes)} are free")
    source = {"passphrase": "from your passphrase", "keyring": "in the keyring", "file": "in a key file"}
    key = source.get(status.key_source, status.key_source)
    st.caption(f"Vault {escape(status.vault_id)} · key {escape(key)} · {size(status.free_bytes)} free on the disk")


def index(status: Status) -> None:
    behind = status.vault_epoch != status.index_epoch
    st.markdown(
        f"What search looks through (engine: {escape(status.index_engine)}). It is made from the vault and can be "
        "rebuilt at any time; " + ("it is catching up now." if behind else "it is up to date.")
    )
    going = desk().rebuilding
    if going is None or going.is_over:
        if going is not None:
            if going.error is not None:
                errors.show(going.error)
            else:
                st.success("The index was rebuilt.", icon=":material/check:")
        if st.button("Rebuild the index", icon=":material/build:"):
            desk().rebuild()
            st.rerun()
    else:
        st.fragment(rebuilding, run_every=0.7)()


AT_REST: dict[AtRest, str] = {
    "ephemeral": "Sealed: nothing readable on the disk",
    "blinded": "Blinded: opens a little faster",
}


def index_at_rest(docmind: DocMind) -> None:
    """Draw the choice between the two ways to keep the index while DocMind is closed."""
    choice = docmind.index_choice
    chosen = st.radio(
        "The index while DocMind is closed",
        list(AT_REST),
        index=list(AT_REST).index(choice.at_rest()),
        format_func=AT_REST.__getitem__,
        captions=[
            "Works in memory while DocMind is open, and is encrypted when it is closed. At 10,000 passages opening "
            "takes about 0.2 seconds longer, and closing after a change half a second.",
            "Stays on the disk with scrambled words and vectors. Someone who has the disk and one of your documents "
            "can work out a good part of the words of the others.",
        ],
        disabled=choice.is_fixed,
        key="index_at_rest",
        help="Set by DOCMIND_INDEX__AT_REST." if choice.is_fixed else None,
    )
    if chosen != choice.at_rest():
        choice.choose(chosen)
        st.toast("This takes effect at the next start of DocMind.")


def rebuilding() -> None:
    going = desk().rebuilding
    if going is None or going.is_over:
        st.rerun()
    else:
        told = f"Building: {going.done} of {count(going.total, 'document')}" if going.total else "Getting ready…"
        st.progress(going.done / going.total if going.total else 0.0, text=told)


frame(settings_page)
