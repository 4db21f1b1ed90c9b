"""Controls that set a setting: each shows where its value comes from, and one that the environment set is fixed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import streamlit as st

from docmind.records.settings import SettingInfo
from docmind.ui.app import errors, state
from docmind.ui.app.app_state import app_state
from docmind.wording import _

if TYPE_CHECKING:
    from docmind.application import DocMind


def draw(docmind: DocMind, name: str, *, choices: Mapping[str, str] | None = None, about: str = "") -> None:
    """Draw the control of one setting; a change is kept and applied at once.

    `choices` are texts for the values of a choice; those it leaves out are not offered, unless one is in use.
    """
    info = docmind.settings.info(name)
    key = key_of(name)
    common: dict[str, Any] = {
        "key": key,
        "disabled": info.is_fixed or docmind.is_read_only,
        "help": _("Set by {variable}").format(variable=info.variable) if info.is_fixed else about or None,
        "on_change": _change,
        "args": (name,),
    }
    if state.SETTINGS_DRAWN not in st.session_state:
        st.session_state[state.SETTINGS_DRAWN] = {}
    _refresh(info, key)
    if info.kind == "choice" or choices:
        texts = dict(choices or {})
        values = [value for value in texts or info.choices if value in texts or not texts]
        if info.value not in values:
            values.append(str(info.value))
        st.selectbox(
            info.title, values, format_func=lambda value: texts.get(str(value), str(value)), filter_mode=None, **common
        )
    elif info.kind == "switch":
        st.toggle(info.title, **common)
    elif info.kind == "number":
        is_whole = isinstance(info.default, int)
        kind = int if is_whole else float
        st.number_input(
            info.title,
            min_value=None if info.least is None else kind(info.least),
            max_value=None if info.most is None else kind(info.most),
            step=1 if is_whole else 0.1,
            **common,
        )
    else:
        st.text_input(info.title, type="password" if info.kind == "secret" else "default", **common)
    note(info)
    errors.show_of(key)


def note(info: SettingInfo) -> None:
    """Draw which variable fixes a setting, if one does."""
    if info.is_fixed:
        st.caption(_("Set by {variable}").format(variable=info.variable))


def key_of(name: str) -> str:
    """Return the key of the control of a setting."""
    return f"set-{name.replace('.', '-')}"


def unset(name: str) -> None:
    """Go back to the default of a setting. For callbacks."""
    apply(key_of(name), {name: None})


def apply(key: str, values: Mapping[str, Any]) -> bool:
    """Set these and tell whether that went well; an error is kept for `errors.show_of(key)`."""
    st.session_state.pop(state.SETTINGS_DRAWN, None)
    errors.heed(key, lambda: _said(app_state().change(values)))
    told = st.session_state.get(state.MODEL_TROUBLE)
    return told is None or told[0] != key


def _change(name: str) -> None:
    apply(key_of(name), {name: st.session_state[key_of(name)]})


def _said(changed: tuple[str, ...]) -> None:
    if changed and app_state().is_waiting:
        st.toast(_("Saved. It takes effect when the current question or download is done."))
    elif changed:
        st.toast(_("Saved"), icon=":material/check:")


def _refresh(info: SettingInfo, key: str) -> None:
    """Let the control show what is set now, also where another tab or the command line changed it.

    A value that was refused is taken out of its control.
    """
    drawn: dict[str, Any] = st.session_state[state.SETTINGS_DRAWN]
    value = "" if info.kind == "secret" or info.value is None else info.value
    if key not in st.session_state or drawn.get(key, ...) != value:
        st.session_state[key] = value
    drawn[key] = value
