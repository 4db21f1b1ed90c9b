"""Language models inside DocMind in Settings: what fits here, fetching, removing, and installing what runs them."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import streamlit as st

from docmind.config import Settings
from docmind.llm import INSTALL, memory_needed
from docmind.model_files import KNOWN_FILES, FileSource, KnownFile, file_source
from docmind.records.models import PullProgress
from docmind.rich_text import escape
from docmind.runtime import free_memory, total_memory
from docmind.storage import can_wish, wish, wishes
from docmind.ui.app import errors, state
from docmind.ui.app.dialogs import dialog
from docmind.ui.app.format import size
from docmind.wording import N_, _

if TYPE_CHECKING:
    from docmind.application import DocMind

_POLL_S = 0.8
_EXTRA = "local-llm"
_OTHER, _SUM = "gguf-other", "gguf-sum"


def draw_install() -> bool:
    """Draw how llama.cpp is installed, where it is not; return whether it is there."""
    if importlib.util.find_spec("xllamacpp") is not None:
        return True
    if not can_wish():
        st.caption(_("It needs llama.cpp, 34 MB. Nothing is fetched until you run this, then start DocMind again:"))
        st.code(INSTALL, language=None)
    elif _EXTRA in wishes():
        st.caption(_("llama.cpp will be installed at the next start of DocMind. End it and start it again."))
        st.button(_("Do not install"), key="extra-undo", on_click=_wish, kwargs={"is_wanted": False})
    else:
        st.caption(
            _(
                "It needs llama.cpp, 34 MB. DocMind itself never goes online; its installer does, once, at the "
                "next start."
            )
        )
        st.button(_("Install at the next start"), key="extra-install", icon=":material/download:", on_click=_wish)
    errors.show_of(_EXTRA)
    return False


def _wish(*, is_wanted: bool = True) -> None:
    errors.heed(_EXTRA, lambda: wish(_EXTRA, is_wanted=is_wanted))


def draw_fetch(docmind: DocMind, settings: Settings) -> None:
    """Draw the known files and a field for others; polls downloads by itself."""
    st.session_state.pop(state.MODEL_CHANGED, None)
    st.fragment(_draw, run_every=_POLL_S if _is_running(docmind) else None)(docmind, settings, _is_running(docmind))


def draw_remove(docmind: DocMind, model: str) -> None:
    """Draw the button that removes an added or fetched file, beside its name."""
    if docmind.models.removal(model):
        st.button(
            _("Remove"),
            key=f"remove-{_key(model)}",
            icon=":material/delete:",
            type="tertiary",
            on_click=_open,
            args=(state.REMOVING, model),
        )


def draw_questions(docmind: DocMind, settings: Settings) -> None:
    """Draw the confirmation of a download or a removal, while it is open, and why the last removal failed."""
    errors.show_of(state.REMOVING)
    model, source = st.session_state.get(state.REMOVING), st.session_state.get(state.FETCHING_FILE)
    if model is not None:
        _confirm(docmind, model)
    elif source is not None:
        _ask(docmind, settings, source)


def _is_running(docmind: DocMind) -> bool:
    return any(not pull.is_over for pull in docmind.language_files.all())


def _draw(docmind: DocMind, settings: Settings, was_running: bool) -> None:
    if st.session_state.get(state.MODEL_CHANGED) or _is_running(docmind) != was_running:
        st.rerun()  # the whole page: the models and the actions have changed
    st.caption(
        _("Or have DocMind fetch one. {size} of {size2} of memory are free here.").format(
            size=size(free_memory()), size2=size(total_memory())
        )
    )
    pulls = {pull.name: pull for pull in docmind.language_files.all()}
    for name, known in KNOWN_FILES.items():
        if not docmind.models.removal(known.source.name):
            _draw_known(docmind, settings, name, known, pulls.pop(known.source.name, None))
    for pull in pulls.values():
        if not pull.is_over or pull.error:
            st.markdown(f"**{escape(pull.name, limit=60)}**")
            _draw_pull(docmind, pull)
    with st.form("gguf-fetch", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        st.text_input(
            _("Another model to fetch"), key=_OTHER, placeholder=_("OWNER/NAME FILE.gguf, or https://host/FILE.gguf")
        )
        st.text_input(_("SHA-256 (required for a URL)"), key=_SUM)
        st.form_submit_button(_("Fetch…"), on_click=_name_other)
    errors.show_of(_OTHER)


def _draw_known(docmind: DocMind, settings: Settings, name: str, known: KnownFile, pull: PullProgress | None) -> None:
    with st.container(key=f"file-{_key(name)}", gap="xxsmall"):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.markdown(f"**{escape(name)}**", width="content")
            needs = memory_needed(known.megabytes * 1_000_000, known.cache_per_token, settings.llm.context_tokens)
            if needs > total_memory():
                st.badge(_("too large for this computer"), icon=":material/error:", color="red")
            elif needs > free_memory():
                st.badge(_("more than is free now"), icon=":material/warning:", color="orange")
            else:
                st.badge("fits", icon=":material/check:", color="green")
            st.space("stretch")
            if pull is None or pull.is_over:
                st.button(
                    _("Resume") if pull is not None and pull.error else _("Fetch"),
                    key=f"file-fetch-{_key(name)}",
                    icon=":material/download:",
                    on_click=_open,
                    args=(state.FETCHING_FILE, known.source),
                )
        st.caption(
            _("{about} {size} to fetch · needs about {size2} of memory · licence {licence}").format(
                about=escape(_(known.about)),
                size=size(known.megabytes * 1000000),
                size2=size(needs),
                licence=escape(known.licence),
            )
        )
        if pull is not None:
            _draw_pull(docmind, pull)


def _draw_pull(docmind: DocMind, pull: PullProgress) -> None:
    if pull.is_over:
        if pull.error:
            errors.show_message(pull.error, pull.hint)
        return
    words, stop = st.columns([0.8, 0.2], vertical_alignment="center")
    part = min(1.0, pull.bytes_done / pull.bytes_total) if pull.bytes_total else 0.0
    told = f"{size(pull.bytes_done)} of {size(pull.bytes_total)}" if pull.bytes_total else _("Asking for the file…")
    words.progress(part, text=told)
    stop.button(
        _("Stop"),
        key=f"file-stop-{_key(pull.name)}",
        icon=":material/stop_circle:",
        help=_("What has come is kept"),
        on_click=errors.heed,
        args=(pull.name, lambda: docmind.language_files.cancel(pull.name)),
    )


def _name_other() -> None:
    words = str(st.session_state.get(_OTHER, "")).split()
    digest = str(st.session_state.get(_SUM, ""))

    def named() -> None:
        source = file_source(words[0] if words else "", " ".join(words[1:]), digest)
        st.session_state[state.FETCHING_FILE] = source

    errors.heed(_OTHER, named)


def _open(key: str, value: object) -> None:
    st.session_state[key] = value
    st.session_state[state.MODEL_CHANGED] = True


def _close() -> None:
    st.session_state.pop(state.FETCHING_FILE, None)
    st.session_state.pop(state.REMOVING, None)


@dialog(N_("Fetch this model?"), icon=":material/download:", on_dismiss=_close)
def _ask(docmind: DocMind, settings: Settings, source: FileSource) -> None:
    if st.session_state.get(state.FETCHING_FILE) != source:
        st.rerun()  # it was answered
    address = source.url or settings.visual.hub_url
    known = next((one for one in KNOWN_FILES.values() if one.source == source), None)
    st.markdown(f"**{escape(source.file, limit=90)}**")
    if source.repository:
        st.caption(escape(source.repository, limit=90))
    much = f" about **{size(known.megabytes * 1_000_000)}**" if known else " it"
    licence = (
        _(" Its licence is {licence}.").format(licence=escape(known.licence, limit=60))
        if known
        else _(" Look at its licence there.")
    )
    st.markdown(
        _(
            "DocMind will connect to **{netloc}** and fetch{much}.{licence}\n\nThis is the only time it "
            "connects there. Nothing of yours is sent: it asks for the file, checks its sha256, and runs "
            "it on this computer."
        ).format(netloc=escape(urlsplit(address).netloc or address, limit=90), much=much, licence=licence)
    )
    with st.container(horizontal=True):
        icon, work = ":material/download:", (docmind, source)
        st.button(_("Fetch"), type="primary", icon=icon, key="file-yes", on_click=_fetch, args=work)
        st.button(_("Not now"), key="file-no", on_click=_close)


def _fetch(docmind: DocMind, source: FileSource) -> None:
    _close()
    errors.heed(_OTHER, lambda: docmind.language_files.submit(source))


@dialog(N_("Remove this model?"), icon=":material/delete:", on_dismiss=_close)
def _confirm(docmind: DocMind, model: str) -> None:
    if st.session_state.get(state.REMOVING) != model:
        st.rerun()  # it was answered
    st.markdown(f"**{escape(model, limit=90)}**")
    st.markdown(escape(docmind.models.removal(model)))
    with st.container(horizontal=True):
        icon, work = ":material/delete:", (docmind, model)
        st.button(_("Remove"), type="primary", icon=icon, key="remove-yes", on_click=_remove, args=work)
        st.button(_("Keep it"), key="remove-no", on_click=_close)


def _remove(docmind: DocMind, model: str) -> None:
    _close()
    errors.heed(state.REMOVING, lambda: docmind.models.remove(model))


def _key(name: str) -> str:
    return "".join(char if char.isalnum() else "-" for char in name)[-60:]
