"""The frame of every page: an open vault, or why it is not open and what to do about it.

The recovery code has a reminder until it is confirmed, and dialogs to show and renew it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from docmind.errors import BehindError, DocMindError, WrongKeyError
from docmind.ui.app import errors, state
from docmind.ui.app.app_state import AppState, app_state
from docmind.ui.app.browser_part import browser_part
from docmind.ui.app.dialogs import dialog
from docmind.ui.app.passphrase import draw_dialog, wrong_choice
from docmind.wording import N_, _

if TYPE_CHECKING:
    from docmind.application import DocMind


_LOOKS = Path(__file__).with_suffix(".css")
_SHOW, _RENEW = state.SHOW_CODE, "renew"
_LOOK_S = 2.0
_TROUBLE = "recovery"
_FILE = N_("""Recovery code of the DocMind library {vault_id}

    {code}

It opens the library if the key is lost: a new computer, a forgotten passphrase, a broken disk.
Start DocMind once with DOCMIND_KEYS__RECOVERY_CODE set to this code.

Keep it away from the computer that holds the library. Whoever has this code and the files of the library can read them.
""")


def draw_recovery(docmind: DocMind) -> None:
    """Draw the reminder, from the first document on until the code is confirmed, and the dialog that was opened.

    The reminder stands above the page until it is put off once, and then in the side bar.
    """
    code = docmind.keys.recovery_code()
    if code is not None and docmind.documents.all():
        st.html(_LOOKS)
        if docmind.keys.is_reminder_put_off:
            with st.sidebar:
                _show_button("side")
        else:
            _draw_reminder(docmind)
    asked = st.session_state.get(state.RECOVERY)
    if asked == _SHOW and code is not None:
        on_dismiss = partial(_put_off, docmind)
        dialog(N_("Keep your recovery code"), icon=":material/key:", on_dismiss=on_dismiss)(_show)(docmind, code)
    elif asked == _RENEW:
        _renew(docmind)


def _draw_reminder(docmind: DocMind) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="recovery-reminder"):
        st.markdown(":material/key: " + _("Your recovery code is not written down yet."), width="content")
        _show_button("reminder")
        st.button(
            _("Later"),
            key="recovery-later",
            type="tertiary",
            help=_("The reminder moves to the side bar."),
            on_click=_put_off,
            args=(docmind,),
        )
    errors.show_of(_TROUBLE)


def _put_off(docmind: DocMind) -> None:
    """Close the dialog, and keep that the user does not want to write the code down yet. For callbacks."""
    _close()
    errors.heed(_TROUBLE, docmind.keys.put_off_reminder)


def recovery_section(docmind: DocMind) -> None:
    """Draw the section in Settings: show the code while it is unconfirmed, and create another."""
    st.subheader(_("Recovery code"), anchor=False)
    is_kept = docmind.keys.recovery_code() is not None
    st.markdown(
        _("It opens your library if the key is lost.")
        + " "
        + (
            _("You have not confirmed yet that you have it. Until then it is kept in the library, encrypted.")
            if is_kept
            else _("You confirmed that you have it, so DocMind doesn't keep it. If you can't find it, make a new one.")
        )
    )
    with st.container(horizontal=True):
        if is_kept:
            _show_button("settings")
        st.button(
            _("Make a new recovery code"),
            icon=":material/autorenew:",
            key="recovery-renew",
            on_click=_ask_for,
            args=(_RENEW,),
        )


def _show_button(place: str) -> None:
    """Draw the button that shows the code: beside the "reminder", in the "side" bar, or in "settings"."""
    st.button(
        _("Write down the recovery code") if place == "side" else _("Show the recovery code"),
        key=f"recovery-show-{place}",
        icon=":material/key:" if place == "side" else None,
        type="secondary" if place == "settings" else "tertiary",
        on_click=_ask_for,
        args=(_SHOW,),
    )


def _ask_for(what: str) -> None:
    st.session_state[state.RECOVERY] = what


def _close() -> None:
    st.session_state.pop(state.RECOVERY, None)


def _show(docmind: DocMind, code: str) -> None:
    st.write(
        _(
            "It opens your library if the key is lost: a new computer, a forgotten passphrase, a broken disk. Whoever "
            "has it and your files can read them, so keep it away from this computer."
        )
    )
    with st.container(key="recovery-code"):
        st.code(code, language=None, wrap_lines=True)
    st.caption(_("Once you confirm, DocMind doesn't keep it. You can make a new one in Settings at any time."))
    told = _(_FILE).format(vault_id=docmind.keys.vault_id, code=code)
    with st.container(horizontal=True, horizontal_alignment="right", vertical_alignment="center"):
        data = {"label": _("Print"), "text": told}
        browser_part(Path(__file__).parent, "print", data=data, key="recovery-print", width="content", height="content")
        st.download_button(
            _("Save as a file"),
            told,
            file_name=f"docmind-recovery-code-{docmind.keys.vault_id[:6]}.txt",
            mime="text/plain",
            key="recovery-save",
            icon=":material/download:",
            on_click="ignore",
        )
        confirmed = st.button(
            _("I have written it down"), type="primary", icon=":material/check:", key="recovery-confirm"
        )
    if not confirmed:
        return
    outcome = errors.attempt(lambda: docmind.keys.confirm_recovery_code(code))
    if isinstance(outcome, DocMindError):
        errors.show(outcome)
        return
    _close()
    st.rerun()


@dialog(N_("Make a new recovery code?"), icon=":material/autorenew:", on_dismiss=_close)
def _renew(docmind: DocMind) -> None:
    st.write(_("The code you have stops working. You see the new one next. Your key or passphrase stays as it is."))
    with st.container(horizontal=True, horizontal_alignment="right"):
        if st.button(_("Keep the old code"), key="recovery-keep", on_click=_close):
            st.rerun()
        wanted = st.button(_("Make a new code"), type="primary", key="recovery-make")
    if not wanted:
        return
    outcome = errors.attempt(docmind.keys.new_recovery_code)
    if isinstance(outcome, DocMindError):
        errors.show(outcome)
        return
    _ask_for(_SHOW)
    st.rerun()


def frame(draw: Callable[[DocMind], None]) -> None:
    """Draw a page over the open vault; where that fails, show the error in its place."""
    opened = errors.attempt(app_state().open)
    if not isinstance(opened, DocMindError):
        outcome = errors.attempt(lambda: _draw(opened, draw))
        if isinstance(outcome, DocMindError):
            errors.show(outcome)
        app_state().drawn()
        if app_state().is_lockable:  # a tab that nobody uses must not go on showing documents
            st.fragment(_follow_locking, run_every=_LOOK_S)()
    elif app_state().wants_passphrase:
        _lock_screen(app_state())
    else:
        _closed(opened)


def _draw(opened: DocMind, draw: Callable[[DocMind], None]) -> None:
    if opened.is_read_only:
        _reading_only(app_state())
    else:
        draw_recovery(opened)
        draw_dialog(opened)
    draw(opened)


def _closed(error: DocMindError) -> None:
    st.title(_("DocMind can't open your library"))
    errors.show(error)
    st.caption(_("Nothing was changed. Correct the problem, then try again."))
    st.button(_("Try again"), type="primary", icon=":material/refresh:")
    if isinstance(error, BehindError):
        _choices(app_state())


def _reading_only(vault: AppState) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.info(_("The library is open for reading only."), icon=":material/visibility:")
        if st.button(_("Close it"), icon=":material/close:"):
            vault.close()
            st.rerun()


def _choices(vault: AppState) -> None:
    """Draw the two choices for a vault that lacks acknowledged changes."""
    with st.container(horizontal=True):
        reads = st.button(_("Look at it read-only"), icon=":material/visibility:")
        accepts = st.button(_("Go on with what is here"), icon=":material/warning:")
    st.caption(
        _(
            "Going on keeps what is here: what is missing stays missing. Files that belong to it are kept for some "
            "days, and come back with the right vault.db."
        )
    )
    if reads or accepts:
        outcome = errors.attempt(lambda: vault.open(read_only=reads, accept=accepts))
        if isinstance(outcome, DocMindError):
            errors.show(outcome)
        else:
            st.rerun()


def _lock_screen(vault: AppState) -> None:
    """Draw the page that asks for the passphrase; a tab follows where another one unlocks the library."""
    st.fragment(_follow_unlocking, run_every=_LOOK_S)()
    with st.container(width=480, key="lock-screen"):
        is_chosen = vault.is_new or vault.is_recovering
        st.title(_("Choose a new passphrase") if is_chosen else _("Your library is locked"), anchor=False)
        if is_chosen:
            st.write(_("It encrypts everything you add. Several words that you can remember are best."))
        with st.form("passphrase", border=False):
            passphrase = st.text_input(
                _("Passphrase"), type="password", autocomplete="new-password" if is_chosen else "current-password"
            )
            again = passphrase
            if is_chosen:
                again = st.text_input(_("Repeat passphrase"), type="password", autocomplete="new-password")
            does = (
                _("Create library") if vault.is_new else _("Open the library") if vault.is_recovering else _("Unlock")
            )
            is_sent = st.form_submit_button(does, type="primary")
        if is_sent:
            _unlock(vault, passphrase, again, is_chosen=is_chosen)
        if not is_chosen:
            _recover(vault)


def _unlock(vault: AppState, passphrase: str, again: str, *, is_chosen: bool) -> None:
    if not passphrase:
        st.error(_("Type the passphrase."), icon=":material/error:")
        return
    if is_chosen and (wrong := wrong_choice(passphrase, again)):
        st.error(wrong, icon=":material/error:")
        return
    with st.spinner(_("Opening the library…")):
        outcome = errors.attempt(lambda: vault.open(passphrase))
    if isinstance(outcome, WrongKeyError) and not is_chosen:
        errors.show_message(
            _("This isn't the passphrase of your library."),
            _("Check capital letters and the keyboard."),
        )
    elif isinstance(outcome, DocMindError) and not isinstance(outcome, BehindError):
        errors.show(outcome)
    else:
        st.rerun()


def _recover(vault: AppState) -> None:
    """Draw the form that opens the library with the recovery code, and sets a new passphrase."""
    with st.expander(_("Forgot it? Use the recovery code"), icon=":material/key:"), st.form("recover", border=False):
        st.write(_("Choose a new passphrase too. You then see a new recovery code; this one stops working."))
        code = st.text_input(_("Recovery code"), autocomplete="off", placeholder="XXXXX-XXXXX-XXXXX-XXXXX-XXXXX-XXXXX")
        new = st.text_input(_("New passphrase"), type="password", autocomplete="new-password")
        again = st.text_input(_("New passphrase again"), type="password", autocomplete="new-password")
        is_sent = st.form_submit_button(_("Open the library"), type="primary")
        if not is_sent:
            return
        if not code.strip():
            st.error(_("Type the recovery code."), icon=":material/error:")
            return
        if wrong := wrong_choice(new, again):
            st.error(wrong, icon=":material/error:")
            return
        _ask_for(_SHOW)  # first: once the library is open, `_follow_unlocking` may end this run at any line
        with st.spinner(_("Opening the library…")):
            outcome = errors.attempt(lambda: vault.recover(code, new))
        if isinstance(outcome, DocMindError):
            _close()
        if isinstance(outcome, WrongKeyError):
            errors.show_message(
                _("This isn't the recovery code of your library."),
                _("A code stops working when a newer one was made. Nothing was changed."),
            )
        elif isinstance(outcome, DocMindError) and not isinstance(outcome, BehindError):
            errors.show(outcome)
        else:
            st.rerun()


def _follow_unlocking() -> None:
    if app_state().is_open:
        st.rerun()


def _follow_locking() -> None:
    if not app_state().is_open:
        st.rerun()
