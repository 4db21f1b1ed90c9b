"""What stands around every page: an open vault, or why it is not open and what to do about it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import streamlit as st

from docmind.errors import DocMindError
from docmind.ui import trouble
from docmind.ui.desk import Desk, desk

if TYPE_CHECKING:
    from docmind.application import DocMind

_SHORTEST = 8


def frame(draw: Callable[[DocMind], None]) -> None:
    """Draw a page over the open vault; where it cannot be opened, or the page meets an error, say so in its place."""
    opened = trouble.attempt(desk().open)
    if not isinstance(opened, DocMindError):
        _recovery_code(desk())
        outcome = trouble.attempt(lambda: draw(opened))
        if isinstance(outcome, DocMindError):
            trouble.show(outcome)
    elif desk().wants_passphrase:
        _lock_screen(desk())
    else:
        _closed(opened)


def _closed(error: DocMindError) -> None:
    st.title("DocMind cannot open your vault")
    trouble.show(error)
    st.caption("Nothing was changed. Put it right, then try again.")
    st.button("Try again", type="primary", icon=":material/refresh:")


def _lock_screen(vault: Desk) -> None:
    with st.container(width=480):
        is_chosen = vault.is_new or vault.is_recovering
        st.title("Choose a new passphrase" if is_chosen else "Your vault is locked")
        if is_chosen:
            st.write("It seals everything you add. Several words you can remember are better than one you cannot.")
        with st.form("passphrase", border=False):
            passphrase = st.text_input("Passphrase", type="password", autocomplete="current-password")
            again = passphrase
            if is_chosen:
                again = st.text_input("The same again", type="password", autocomplete="new-password")
            does = "Make the vault" if vault.is_new else "Open the vault" if vault.is_recovering else "Unlock"
            sent = st.form_submit_button(does, type="primary")
        if not is_chosen:
            st.caption("Forgotten? Start DocMind once with DOCMIND_KEYS__RECOVERY_CODE set to your recovery code.")
        if not sent:
            return
        if not passphrase:
            st.error("Type the passphrase.", icon=":material/error:")
            return
        if is_chosen and (passphrase != again or len(passphrase) < _SHORTEST):
            st.error(
                "The two differ." if passphrase != again else f"Use at least {_SHORTEST} characters.",
                icon=":material/error:",
            )
            return
        with st.spinner("Opening the vault…"):
            outcome = trouble.attempt(lambda: vault.open(passphrase))
        if isinstance(outcome, DocMindError):
            trouble.show(outcome)
        else:
            st.rerun()


def _recovery_code(vault: Desk) -> None:
    """Shown until it is acknowledged, on whichever page is open; kept nowhere."""
    code = vault.recovery_code
    if code is None:
        return
    with st.container(border=True, key="recovery-code"):
        st.subheader("Write down your recovery code", icon=":material/key:", anchor=False)
        st.write(
            "It opens this vault if its key is ever lost: a new computer, a forgotten passphrase, a broken disk. "
            "It is shown this once and kept nowhere. Anybody who has it, and your files, can read them."
        )
        st.code(code, language=None)
        if st.button("I have written it down", type="primary", icon=":material/check:"):
            vault.recovery_code = None
            st.rerun()
