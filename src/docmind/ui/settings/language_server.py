"""A language model's server in Settings: its address, key and model, tried with one question before they are used."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import streamlit as st
from pydantic import SecretStr

from docmind.config import LLMSettings, Settings
from docmind.errors import DocMindError
from docmind.rich_text import escape
from docmind.ui.app import errors, state
from docmind.ui.app.app_state import app_state
from docmind.ui.settings import fields
from docmind.wording import _

if TYPE_CHECKING:
    from docmind.application import DocMind

_URL, _KEY, _MODEL, _MAY = "server-url", "server-key", "server-model", "server-allowed"
_SERVER = "server"
_NAMES = ("llm.url", "llm.api_key", "llm.model")


def draw(docmind: DocMind, settings: Settings) -> None:
    """Draw the form with *Test*, which asks the model at once, and *Save*, which uses it from then on."""
    infos = {name: docmind.settings.info(name) for name in _NAMES}
    is_fixed = {name: info.is_fixed or docmind.is_read_only for name, info in infos.items()}
    with st.container(border=True, key="server-form"):
        st.markdown(f"**{_('Server address')}**")
        for key, name in ((_URL, "llm.url"), (_MODEL, "llm.model")):
            if key not in st.session_state:
                st.session_state[key] = infos[name].value or ""
        st.text_input(_("Address"), key=_URL, placeholder="http://127.0.0.1:11434", disabled=is_fixed["llm.url"])
        fields.note(infos["llm.url"])
        key_column, model_column = st.columns(2)
        with key_column:
            st.text_input(
                _("API key"),
                key=_KEY,
                type="password",
                placeholder=_("saved, not shown") if infos["llm.api_key"].is_set else _("only if the server needs one"),
                autocomplete="off",
                disabled=is_fixed["llm.api_key"],
            )
            fields.note(infos["llm.api_key"])
        with model_column:
            st.text_input(_("Model"), key=_MODEL, placeholder=_("the first one it has"), disabled=is_fixed["llm.model"])
            fields.note(infos["llm.model"])
        address = str(st.session_state.get(_URL, "")).strip()
        if address and not _is_here(address) and not docmind.settings.info("llm.allowed_hosts").is_fixed:
            _draw_consent(settings, _host(address))
        with st.container(horizontal=True):
            st.button(_("Test"), key="server-test", icon=":material/network_check:", on_click=_test)
            st.button(
                _("Save"),
                key="server-save",
                type="primary",
                on_click=_save,
                args=(docmind,),
                disabled=is_fixed["llm.url"],
            )
            if any(info.source == "app" for info in infos.values()):
                st.button(_("Forget this server"), key="server-forget", type="tertiary", on_click=_drop)
        _draw_tried()
        errors.show_of(_SERVER)


def _draw_consent(settings: Settings, host: str) -> None:
    if _MAY not in st.session_state:
        st.session_state[_MAY] = host in settings.llm.allowed_hosts.split(",")
    told = _("Send my questions, and the parts of my documents that may answer them, to {host}")
    st.checkbox(told.format(host=escape(host, limit=60)), key=_MAY)


def _is_here(address: str) -> bool:
    """Tell whether an address is one of this machine, as far as its text says."""
    try:
        name = (urlsplit(address).hostname or "").lower()
    except ValueError:
        return False
    return name in ("localhost", "::1") or name.startswith("127.")


def _typed() -> LLMSettings:
    """Return the settings in use with what is typed in the form.

    A key belongs to the server that it was given for: another address does not get it.
    """
    settings = app_state().settings
    assert settings is not None, "the form is drawn over an open vault"
    now, values = settings.llm, st.session_state
    address, key = str(values.get(_URL, "")).strip(), str(values.get(_KEY, "")).strip()
    changes: dict[str, object] = {"url": address or None, "model": str(values.get(_MODEL, "")).strip() or None}
    if key:
        changes["api_key"] = SecretStr(key)
    elif address != now.url:
        changes["api_key"] = None
    if values.get(_MAY) and not _is_here(address):
        changes["allowed_hosts"] = ",".join(
            dict.fromkeys([*filter(None, now.allowed_hosts.split(",")), _host(address)])
        )
    if now.provider in ("inside", "off"):
        changes["provider"] = "auto"
    return now.model_copy(update=changes)


def _test() -> None:
    from docmind.llm import try_model

    with st.spinner(_("Asking the model…")):
        st.session_state[state.TRIED] = errors.attempt(lambda: try_model(_typed()))


def _draw_tried() -> None:
    tried = st.session_state.pop(state.TRIED, None)
    if isinstance(tried, DocMindError):
        errors.show(tried)
    elif tried is not None:
        told = _("{model} answered in {seconds:.1f} s: “{reply}”")
        st.success(
            told.format(
                model=f"**{escape(tried.model.model, limit=60)}**",
                seconds=tried.seconds,
                reply=escape(tried.reply, limit=60),
            ),
            icon=":material/check:",
        )


def _save(docmind: DocMind) -> None:
    settings = app_state().settings
    assert settings is not None, "the form is drawn over an open vault"
    now, typed = settings.llm, _typed()
    names = [field for field in ("url", "model", "api_key", "allowed_hosts", "provider")
             if getattr(typed, field) != getattr(now, field)]  # fmt: skip
    values = {f"llm.{field}": _bare(getattr(typed, field)) for field in names}
    if not fields.apply(_SERVER, values):
        return
    st.session_state[_KEY] = ""
    found = docmind.models.list(refresh=True)
    at_url = [model for model in found.models if typed.url and _host(model.url) == _host(typed.url)]
    named = [model for model in at_url if not typed.model or typed.model in (model.model, model.name)]
    if named:
        errors.heed(_SERVER, lambda: docmind.models.choose(named[0]))


def _bare(value: object) -> object:
    return value.get_secret_value() if isinstance(value, SecretStr) else value


def _drop() -> None:
    if fields.apply(_SERVER, dict.fromkeys(_NAMES)):
        for key in (_URL, _KEY, _MODEL):
            st.session_state[key] = ""


def _host(address: str) -> str:
    try:
        return urlsplit(address).netloc.rpartition("@")[2] or address
    except ValueError:
        return address
