"""Settings: what the vault holds, who writes the answers, what is present or missing, and care for the index."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from docmind.escape import escape
from docmind.schema import Status
from docmind.ui import abilities, models, trouble, visualmodels
from docmind.ui.desk import desk
from docmind.ui.frame import frame
from docmind.ui.wording import count, size

if TYPE_CHECKING:
    from docmind.application import DocMind


def settings_page(mind: DocMind) -> None:
    st.title("Settings", anchor=False)
    with st.spinner("Looking around…"):
        status = mind.status()
    vault(status)
    if (settings := desk().settings) is not None:
        models.section(mind, settings)
        visualmodels.section(mind, settings)
    st.subheader("What DocMind can use", anchor=False)
    st.caption("Parts light up by themselves once they are here. Nothing is ever downloaded without you.")
    with st.container(border=True, gap="xsmall"):
        for capability in status.capabilities:
            abilities.draw(capability)
    st.subheader("Index", anchor=False)
    index(status)
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
        "made anew at any time; " + ("it is catching up now." if behind else "it is up to date.")
    )
    going = desk().rebuilding
    if going is None or going.is_over:
        if going is not None:
            if going.error is not None:
                trouble.show(going.error)
            else:
                st.success("The index was built anew.", icon=":material/check:")
        if st.button("Build the index anew", icon=":material/build:"):
            desk().rebuild()
            st.rerun()
    else:
        st.fragment(rebuilding, run_every=0.7)()


def rebuilding() -> None:
    going = desk().rebuilding
    if going is None or going.is_over:
        st.rerun()
    else:
        told = f"Building: {going.done} of {count(going.total, 'document')}" if going.total else "Getting ready…"
        st.progress(going.done / going.total if going.total else 0.0, text=told)


frame(settings_page)
