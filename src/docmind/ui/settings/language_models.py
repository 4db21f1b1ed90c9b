"""Language models in Settings: the models found, the one in use, and how to add one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import streamlit as st

from docmind.config import Settings
from docmind.errors import DocMindError
from docmind.records.conversations import ModelInfo, ModelList
from docmind.rich_text import escape
from docmind.ui.app import errors
from docmind.ui.settings import fields, language_files, language_server
from docmind.wording import N_, _

if TYPE_CHECKING:
    from docmind.application import DocMind


_SHOWN = 8  # models of one server that are listed openly
_PROTOCOLS = {"ollama": "Ollama", "openai": N_("OpenAI-compatible server")}
_FILE = "gguf-file"
_CHOSEN, _OTHER = ":material/radio_button_checked:", ":material/radio_button_unchecked:"
_PROVIDERS = {
    "auto": N_("Any kind"),
    "ollama": "Ollama",
    "openai": N_("OpenAI-compatible"),
    "inside": N_("Inside DocMind only"),
    "off": N_("None: quotes only"),
}


def section(docmind: DocMind, settings: Settings) -> None:
    """Draw the models by server with a choice, the form of a server, and how to add a model."""
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.subheader(_("Language model"), anchor=False)
        is_asked = st.button(_("Look again"), key="models-refresh", icon=":material/refresh:", type="tertiary")
    st.caption(_("It writes answers from your pages, and every sentence is checked against them. Without one: quotes."))
    if settings.llm.provider == "off":
        with st.container(border=True):
            st.write(_("Language models are off. Answers are quotes from your documents."))
    else:
        with st.spinner(_("Looking for language models…")):
            found = docmind.models.list(refresh=is_asked)
        _draw_found(docmind, found, settings)
        language_server.draw(docmind, settings)
        is_fetching = any(not pull.is_over or pull.error for pull in docmind.language_files.all())
        _draw_how(docmind, settings, is_open=is_fetching or not found.models)
        language_files.draw_questions(docmind, settings)
    fields.draw(docmind, "llm.provider", choices={value: _(text) for value, text in _PROVIDERS.items()})


def _draw_found(docmind: DocMind, found: ModelList, settings: Settings) -> None:
    for degraded in found.degraded:
        st.warning(escape(degraded.reason[:1].upper() + degraded.reason[1:]), icon=":material/info:")
    with st.container(border=True, gap=None, key="models"):
        if not found.models:
            st.markdown(_("**No language model was found.** Answers are quotes from your pages until there is one."))
        for (provider, url), models in groupby(found.models, key=lambda model: (model.provider, model.url)):
            _draw_server(docmind, provider, url, list(models), found.chosen)
        if found.waiting is not None:
            st.caption(_("Press one to let it write the answers: its server then gets your questions and passages."))
        if found.models:
            st.caption(_("Without a model"))
            _row(docmind, None, is_chosen=found.is_off or found.chosen is None)
    if found.chosen is not None and found.chosen.is_remote:
        model, host = escape(found.chosen.model, limit=60), escape(_host(found.chosen.url))
        st.warning(
            _(
                "**{model}** runs on another computer, {host}. Sent there with each question: the question, "
                "what was said before it in the conversation, your instructions, what you had remembered "
                "about it, and the passages of your documents that may answer it. {pictures}"
            ).format(model=model, host=host, pictures=_pictures(found.chosen, settings)),
            icon=":material/public:",
        )


def _pictures(model: ModelInfo, settings: Settings) -> str:
    """Return the sentence that says whether images of pages are sent to a model."""
    if not model.takes_images or not settings.llm.images:
        return _("Pictures of pages are not.")
    pages = (
        _("the picture of one page")
        if settings.llm.images == 1
        else _("pictures of up to {images} pages").format(images=settings.llm.images)
    )
    return _("It accepts images: {pages} that may answer it are sent too.").format(pages=pages)


def _draw_server(
    docmind: DocMind, provider: str, url: str, models: Sequence[ModelInfo], chosen: ModelInfo | None
) -> None:
    where = _(":orange-badge[:material/public: another computer]") if models[0].is_remote else _("on this computer")
    if provider == "inside":
        st.caption(_("Inside DocMind · on this computer, in a process of its own that ends when it is idle"))
        for model in models:
            _row(docmind, model, is_chosen=model == chosen)
            st.caption(escape(model.note))
        return
    st.caption(
        _("{name} at {host} · {where}").format(
            name=_(_PROTOCOLS.get(provider, escape(provider))), host=escape(_host(url), limit=60), where=where
        )
    )
    for model in models[:_SHOWN]:
        _row(docmind, model, is_chosen=model == chosen)
    if more := models[_SHOWN:]:
        with st.expander(_("{count} more of this server").format(count=len(more)), expanded=chosen in more):
            for model in more:
                _row(docmind, model, is_chosen=model == chosen)


def _row(docmind: DocMind, model: ModelInfo | None, *, is_chosen: bool) -> None:
    key = "quotes" if model is None else f"{model.provider}-{model.url}-{model.model}"
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        name = _("Quotes only") if model is None else escape(model.model, limit=60)
        st.button(
            f"**{name}**" if is_chosen else name,
            key=f"choose-{key}",
            icon=_CHOSEN if is_chosen else _OTHER,
            type="tertiary",
            on_click=_choose,
            args=(docmind, model),
        )
        if is_chosen:
            st.badge(_("in use"), icon=":material/check:", color="green")
        if model is not None and model.is_tool_calling:
            st.badge("tools", icon=":material/build:", color="gray", help=_("It can use tools, as agent mode needs"))
        if model is not None and model.takes_images:
            st.badge("images", icon=":material/image:", color="gray", help=_("It accepts pictures of pages"))
        if model is not None and model.provider == "inside":
            language_files.draw_remove(docmind, model.model)


def _choose(docmind: DocMind, model: ModelInfo | None) -> None:
    outcome = errors.attempt(lambda: docmind.models.choose(model))
    if isinstance(outcome, DocMindError):
        errors.show(outcome)


def _add_file(docmind: DocMind) -> None:
    path = str(st.session_state.get(_FILE, "")).strip().strip('"')
    if not path:
        return
    outcome = errors.attempt(lambda: docmind.models.add(Path(path).expanduser()))
    if isinstance(outcome, DocMindError):
        errors.show(outcome)
    else:
        st.session_state[_FILE] = ""
        _choose(docmind, outcome)


def _draw_inside(docmind: DocMind, settings: Settings) -> None:
    """Draw how a GGUF file becomes a model inside DocMind: the command that it needs, and where the file is."""
    st.markdown(
        _(
            "Inside DocMind, without another program: a language model in one **GGUF** file of this "
            "computer. Its answers take their time on a processor; a model of 1 to 4 billion parameters "
            "is a good start."
        )
    )
    if not language_files.draw_install():
        return
    with st.form("gguf", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        st.text_input(_("GGUF file"), key=_FILE, placeholder="~/models/model.gguf")
        st.form_submit_button(_("Use this file"), on_click=_add_file, args=(docmind,))
    language_files.draw_fetch(docmind, settings)


def _draw_how(docmind: DocMind, settings: Settings, *, is_open: bool) -> None:
    with st.expander(_("How to add a language model"), icon=":material/add:", expanded=is_open):
        st.markdown(
            _(
                "On this computer: start **Ollama**, **llama.cpp**, **LM Studio** or **vLLM** with a model, "
                "then press *Look again*. Each is found by itself on its usual port. On another computer or "
                "port: type its address above."
            )
        )
        _draw_inside(docmind, settings)


def _host(url: str) -> str:
    return urlsplit(url).netloc or url
