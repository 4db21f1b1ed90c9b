"""The section of Settings for other programs: their tokens, and how an assistant is set up."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from docmind.records.access import ApiToken, NewApiToken, TokenScope
from docmind.rich_text import escape
from docmind.ui.app import errors
from docmind.ui.app.format import when
from docmind.wording import N_, _

if TYPE_CHECKING:
    from docmind.application import DocMind

_NEW, _LIST = "token-new", "token-list"
_NAME, _SCOPE, _MADE = "token-name", "token-scope", "token-made"
_SCOPES: dict[TokenScope, str] = {"read": N_("Read and search"), "full": N_("Read, add and change")}


def section(docmind: DocMind) -> None:
    """Draw the tokens of programs, the form that makes one, and what an assistant needs."""
    st.subheader(_("Programs"), anchor=False)
    st.caption(
        _("Scripts and assistants on this computer can use the library while DocMind is open, each with a token.")
    )
    made: NewApiToken | None = st.session_state.get(_MADE)
    if made is not None:
        _draw_made(made)
    tokens = docmind.tokens.list()
    if tokens:
        with st.container(border=True, gap="xsmall", key="tokens"):
            for token in tokens:
                _draw(docmind, token)
    errors.show_of(_LIST)
    if not docmind.is_read_only:
        with st.expander(_("Make a token"), icon=":material/add:", expanded=not tokens), st.form(_NEW, border=False):
            st.text_input(_("Name of the program"), key=_NAME, max_chars=64)
            st.radio(
                _("What it may do"), list(_SCOPES), key=_SCOPE, format_func=lambda scope: _(_SCOPES[scope]),
                horizontal=True,
            )  # fmt: skip
            st.form_submit_button(_("Make the token"), on_click=_make, args=(docmind,))
        errors.show_of(_NEW)
    _assistants(docmind)


def _draw_made(made: NewApiToken) -> None:
    """Draw a token that was just made, until it is put away; it is not kept anywhere else."""
    with st.container(border=True, key="token-made-box"):
        st.markdown(
            _("**The token of {name}.** Copy it now: it is not shown again.").format(name=escape(made.token.name))
        )
        st.code(made.secret, language=None, wrap_lines=True)
        st.button(_("I have copied it"), on_click=_put_away, type="primary")


def _draw(docmind: DocMind, token: ApiToken) -> None:
    used = _("last used {when}").format(when=when(token.used_at_ms)) if token.used_at_ms else _("never used")
    name, about, act = st.columns([0.3, 0.5, 0.2], vertical_alignment="center")
    name.markdown(f"**{escape(token.name)}**")
    about.caption(f"{_(_SCOPES[token.scope])} · {used}")
    act.button(
        _("Revoke"), key=f"token-revoke-{token.token_id}", on_click=_revoke, args=(docmind, token.name),
        disabled=docmind.is_read_only, type="tertiary", icon=":material/block:",
    )  # fmt: skip


def _assistants(docmind: DocMind) -> None:
    with st.expander(_("Set up an assistant (MCP)"), icon=":material/smart_toy:"):
        st.caption(_("Put this into the settings of the assistant. It needs no token, and works without the app too."))
        st.code(configuration(docmind), language="json")
        folders = docmind.settings.now.mcp.allowed()
        if folders:
            st.caption(_("It may add files from: {folders}").format(folders=escape(", ".join(map(str, folders)))))
        else:
            st.caption(_("It can read and search. To let it add files, set DOCMIND_MCP__FOLDERS to folders."))


def configuration(docmind: DocMind) -> str:
    """Return the JSON with which an assistant starts `docmind mcp` over this library."""
    command = Path(sys.executable).with_name("docmind.exe" if os.name == "nt" else "docmind")
    given = {"DOCMIND_DATA_DIR": str(docmind.settings.now.data_dir.resolve())}
    keys = docmind.settings.now.keys
    if keys.source != "auto":
        given["DOCMIND_KEYS__SOURCE"] = keys.source
    if keys.file is not None:
        given["DOCMIND_KEYS__FILE"] = str(keys.file.resolve())
    server = {"command": str(command), "args": ["mcp"], "env": given}
    return json.dumps({"mcpServers": {"docmind": server}}, indent=2, ensure_ascii=False)


def _make(docmind: DocMind) -> None:
    name, scope = str(st.session_state.get(_NAME, "")), st.session_state.get(_SCOPE, "read")

    def make() -> None:
        st.session_state[_MADE] = docmind.tokens.new(name, scope)
        st.session_state[_NAME] = ""

    errors.heed(_NEW, make)


def _revoke(docmind: DocMind, name: str) -> None:
    def revoke() -> None:
        docmind.tokens.revoke(name)
        st.session_state.pop(_MADE, None)
        st.toast(_("The token is revoked."), icon=":material/check:")

    errors.heed(_LIST, revoke)


def _put_away() -> None:
    st.session_state.pop(_MADE, None)
