"""The dialogs that give the library a passphrase, change it and take it away again."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

import streamlit as st

from docmind.errors import DocMindError, WrongKeyError
from docmind.rich_text import escape
from docmind.storage import SHORTEST_PASSPHRASE, strength_in_words
from docmind.ui.app import errors, state
from docmind.ui.app.app_state import app_state
from docmind.ui.app.dialogs import dialog
from docmind.wording import N_, _

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

    from docmind.application import DocMind

Change = Literal["protect", "change", "remove"]
_TITLES: dict[Change, str] = {
    "protect": N_("Protect with a passphrase"),
    "change": N_("Change the passphrase"),
    "remove": N_("Remove the passphrase"),
}
_ICONS: dict[Change, str] = {
    "protect": ":material/lock:",
    "change": ":material/password:",
    "remove": ":material/lock_open:",
}


def button(what: Change, place: str) -> None:
    """Draw the button that opens a dialog; on the first screen it is a line of text."""
    kind = "tertiary" if place == "welcome" else "secondary"
    st.button(
        _(_TITLES[what]), key=f"passphrase-{what}-{place}", icon=_ICONS[what], type=kind, on_click=_ask_for,
        args=(what,),
    )  # fmt: skip


def draw_dialog(docmind: DocMind) -> None:
    """Draw the dialog that was opened."""
    asked: Change | None = st.session_state.get(state.KEY_DIALOG)
    if asked is not None:
        {"protect": _protect, "change": _change, "remove": _remove}[asked](docmind)


def wrong_choice(passphrase: str, again: str) -> str:
    """Return why a new passphrase cannot be used; empty where it can."""
    if passphrase != again:
        return _("The two differ.")
    if len(passphrase) < SHORTEST_PASSPHRASE:
        return _("Use at least {shortest_passphrase} characters.").format(shortest_passphrase=SHORTEST_PASSPHRASE)
    return ""


def _ask_for(what: Change) -> None:
    st.session_state[state.KEY_DIALOG] = what


def _close() -> None:
    st.session_state.pop(state.KEY_DIALOG, None)


@dialog(_TITLES["protect"], icon=_ICONS["protect"], on_dismiss=_close)
def _protect(docmind: DocMind) -> None:
    st.write(_("DocMind asks for it at every start, and you can lock the library when you leave."))
    new = _new_field()
    with st.form("passphrase-protect", border=False):
        again = _again_field()
        wrong = st.container()
        shared = docmind.keys.shared_file
        removes = shared is not None and st.checkbox(
            _("Also delete the key file {file}").format(file=escape(str(shared))),
            help=_("Leave it where other libraries open with it."),
        )
        _tell_consequence()
        is_sent = st.form_submit_button(_("Protect"), type="primary")
    if is_sent and _is_chosen(new, again, wrong):
        _carry_out(lambda: docmind.keys.protect(new, removes_shared=removes), wrong)


@dialog(_TITLES["change"], icon=_ICONS["change"], on_dismiss=_close)
def _change(docmind: DocMind) -> None:
    now, wrong_now = _now_field(), st.container()
    new = _new_field()
    with st.form("passphrase-change", border=False):
        again = _again_field()
        wrong = st.container()
        _tell_consequence()
        is_sent = st.form_submit_button(_("Change it"), type="primary")
    if is_sent and _is_chosen(new, again, wrong):
        _carry_out(lambda: docmind.keys.change_passphrase(now, new), wrong, wrong_now)


@dialog(_TITLES["remove"], icon=_ICONS["remove"], on_dismiss=_close)
def _remove(docmind: DocMind) -> None:
    st.write(
        _(
            "The library then opens for whoever uses your account on this computer. Its key is kept in the keyring or, "
            "where there is none, in a file that only you can read. You see a new recovery code next."
        )
    )
    with st.form("passphrase-remove", border=False):
        now, wrong_now = _now_field(), st.container()
        is_sent = st.form_submit_button(_("Remove the passphrase"), type="primary")
    if is_sent:
        _carry_out(lambda: docmind.keys.unprotect(now), wrong_now, wrong_now)


def _now_field() -> str:
    return st.text_input(
        _("Passphrase now"), type="password", key="passphrase-now", autocomplete="current-password"
    )  # fmt: skip


def _new_field() -> str:
    """Draw the field of a new passphrase, outside of the form, and how strong what was typed is."""
    new = st.text_input(_("New passphrase"), type="password", key="passphrase-new", autocomplete="new-password")
    st.caption(strength_in_words(new) if new else _("Several words that you can remember are best."))
    return new


def _again_field() -> str:
    return st.text_input(
        _("New passphrase again"), type="password", key="passphrase-again", autocomplete="new-password"
    )  # fmt: skip


def _tell_consequence() -> None:
    st.caption(
        _(
            "If you forget it, only the recovery code opens the library. You see a new code next; the code you have "
            "stops working."
        )
    )


def _is_chosen(new: str, again: str, wrong: DeltaGenerator) -> bool:
    """Return whether the new passphrase can be used; else tell why not, below the field that repeats it."""
    if why := wrong_choice(new, again):
        wrong.error(why, icon=":material/error:")
    return not why


def _carry_out(
    work: Callable[[], None],
    wrong: DeltaGenerator,
    wrong_now: DeltaGenerator | None = None,
) -> None:
    """Do it and show the new recovery code; an error is told below the field that it is about."""
    with st.spinner(_("Changing what opens the library…")):
        outcome = errors.attempt(work)
    if isinstance(outcome, WrongKeyError) and wrong_now is not None:
        with wrong_now:
            errors.show_message(_("This isn't the passphrase of your library."))
        return
    if isinstance(outcome, DocMindError):
        with wrong:
            errors.show(outcome)
        return
    _close()
    st.session_state[state.KEY_CHANGED] = True
    st.session_state[state.RECOVERY] = state.SHOW_CODE
    app_state().watch_use()
    st.rerun()
