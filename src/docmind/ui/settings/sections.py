"""The sections of Settings in which values are set: answers, search, reading, web, appearance, storage, security."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import streamlit as st

from docmind.capabilities import licences
from docmind.records.documents import Capability, CapabilityState, Status, StorageKind
from docmind.rich_text import escape, one_line
from docmind.ui.app import errors, long_work, passphrase, state
from docmind.ui.app.app_state import REBUILD, app_state
from docmind.ui.app.browser_part import browser_part
from docmind.ui.app.format import count, size
from docmind.ui.app.long_work import LongWork
from docmind.ui.settings import fields, garbage
from docmind.wording import LANGUAGES, N_, _, ngettext

if TYPE_CHECKING:
    from docmind.application import DocMind
    from docmind.index import AtRest

_INSTRUCTIONS = "set-instructions"

_Texts = dict[str, str]
_MODES: _Texts = {"standard": N_("One search"), "agent": N_("Deep search (slower; several searches)")}
_FUSIONS: _Texts = {
    "sum": N_("Words and meaning"),
    "rrf": N_("Words and meaning, by rank"),
    "dense": N_("Meaning only"),
    "sparse": N_("Words only"),
}
_ON_OFF: _Texts = {"late": N_("On"), "off": N_("Off")}
_EXPAND: _Texts = {"measures": N_("On"), "off": N_("Off")}
_LOOKS: _Texts = {
    "off": N_("Off"),
    "image": N_("The model that knows whole pages"),
    "late": N_("The model that sees small parts"),
}
_OCR: _Texts = {
    "auto": N_("The best that is installed"),
    "rapidocr": "RapidOCR",
    "tesseract": "Tesseract",
    "off": N_("Off"),
}
_OCR_MODE: _Texts = {
    "auto": N_("Pages without a good text layer"),
    "always": N_("All pages"),
    "never": N_("None: only text of the file"),
}
_WEB: _Texts = {"off": N_("Off"), "searxng": N_("A SearXNG server"), "brave": "Brave Search"}
_PAGES: _Texts = {
    "auto": N_("Allowed where a web search service is chosen"),
    "on": N_("Allowed"),
    "off": N_("Not allowed"),
}
_STRICT: _Texts = {"auto": N_("Used where this computer can"), "on": N_("Required: DocMind refuses to open without it")}
_THEMES: _Texts = {"system": N_("Same as the system"), "light": N_("Light"), "dark": N_("Dark")}


def _in_words(texts: _Texts) -> _Texts:
    return {value: _(text) for value, text in texts.items()}


def answers(docmind: DocMind) -> None:
    """Draw how answers are made, and what is told to the language model with every question."""
    st.subheader(_("Answers"), anchor=False)
    fields.draw(docmind, "agent.mode", choices=_in_words(_MODES))
    model = docmind.models.current()
    if model is not None and model.info.is_tool_calling is False:
        told = _("{model} can't use tools, as a deep search needs, so it answers with one search.")
        st.caption(told.format(model=escape(model.info.model, limit=60)))
    left, right = st.columns(2)
    with left:
        fields.draw(docmind, "answer.quotes")
    with right:
        fields.draw(docmind, "llm.images", about=_("For language models that accept pictures; 0: none"))
    if _INSTRUCTIONS not in st.session_state:
        st.session_state[_INSTRUCTIONS] = docmind.conversations.instructions()
    st.text_area(
        _("Instructions for every answer"),
        key=_INSTRUCTIONS,
        placeholder=_("Answer in short sentences."),
        help=_("Used where a language model writes the answers"),
        on_change=_instruct,
        args=(docmind,),
        disabled=docmind.is_read_only,
    )
    errors.show_of(_INSTRUCTIONS)


def _instruct(docmind: DocMind) -> None:
    errors.heed(_INSTRUCTIONS, lambda: docmind.conversations.instruct(str(st.session_state[_INSTRUCTIONS])))


def web(docmind: DocMind) -> None:
    """Draw whether the web may be searched, and by which service."""
    st.subheader(_("Web search"), anchor=False)
    st.caption(
        _("Only in a deep search, and only for a question you allow it for. The service gets the search words, nothing "
          "of your documents.")
    )  # fmt: skip
    fields.draw(docmind, "web.provider", choices=_in_words(_WEB))
    provider = docmind.settings.info("web.provider").value
    if provider == "searxng":
        fields.draw(docmind, "web.url", about=_("It must offer results as JSON"))
    elif provider == "brave":
        _draw_key(docmind, "web.api_key")
    told = _(
        "The site sees the address of the page and of your computer. Nothing else is sent, and nothing else fetched"
    )
    fields.draw(docmind, "web.pages", choices=_in_words(_PAGES), about=told)


def _draw_key(docmind: DocMind, name: str) -> None:
    """Draw a key: it is typed and saved, and never shown again."""
    info = docmind.settings.info(name)
    fields.draw(docmind, name)
    if info.source == "app":
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(_("A key is saved. It is not shown."))
            key = f"forget-{fields.key_of(name)}"
            st.button(_("Forget it"), key=key, type="tertiary", on_click=fields.unset, args=(name,))


def search(docmind: DocMind) -> None:
    """Draw what is searched by, and how the first pages are looked at again."""
    st.subheader(_("Search"), anchor=False)
    left, right = st.columns(2)
    with left:
        fields.draw(docmind, "retrieve.fusion", choices=_in_words(_FUSIONS))
        fields.draw(docmind, "visual.rerank", choices=_in_words(_LOOKS))
    with right:
        fields.draw(docmind, "retrieve.rerank", choices=_in_words(_ON_OFF), about=_("More exact, a little slower"))
        fields.draw(docmind, "search.looks", about=_("Beside an answer; 0: none"))
    fields.draw(docmind, "retrieve.expand", choices=_in_words(_EXPAND))


def index(docmind: DocMind, status: Status) -> None:
    """Draw the state of the index and the button that builds it again."""
    st.subheader(_("Index"), anchor=False)
    is_behind = status.vault_epoch != status.index_epoch
    now = _("It is catching up now.") if is_behind else _("It is up to date.")
    st.markdown(_("What search looks through, made from your documents.") + " " + now)
    going = app_state().work(REBUILD)
    if going is not None and not going.is_over:
        long_work.draw(going, _rebuilt, key=REBUILD, can_stop=False)
        return
    if going is not None:
        if going.error is not None:
            errors.show(going.error)
        else:
            st.success(_("The index was rebuilt."), icon=":material/check:")
    if st.button(_("Rebuild index"), icon=":material/build:"):
        app_state().rebuild()
        st.rerun()


def _rebuilt(going: LongWork) -> str:
    return f"{going.done} / {count(ngettext('{n} document', '{n} documents', going.total), going.total)}"


def reading(docmind: DocMind) -> None:
    """Draw OCR and the limits of files."""
    st.subheader(_("Reading"), anchor=False)
    st.caption(_("Applies to files that are added from now on."))
    fields.draw(docmind, "reading.ocr", choices=_in_words(_OCR))
    fields.draw(docmind, "reading.ocr_mode", choices=_in_words(_OCR_MODE))
    fields.draw(docmind, "reading.ocr_languages", about=_("Tesseract's codes, joined by +: eng+por+spa"))
    left, right = st.columns(2)
    with left:
        fields.draw(docmind, "reading.ocr_doubt")
    with right:
        fields.draw(docmind, "reading.ocr_tries")
    with left:
        fields.draw(docmind, "reading.max_file_mb")
        fields.draw(docmind, "reading.workers", about=_("More are faster and need more memory"))
    with right:
        fields.draw(docmind, "reading.max_pages")


def privacy(docmind: DocMind) -> None:
    """Draw the network guard and how the index is kept while DocMind is closed."""
    st.subheader(_("Privacy"), anchor=False)
    fields.draw(
        docmind, "network.strict", choices=_in_words(_STRICT),
        about=_("It keeps the libraries that read your documents from reaching other computers"),
    )  # fmt: skip
    choice = docmind.index.choice
    texts: dict[AtRest, str] = {"ephemeral": _("Encrypted"), "blinded": _("Less protected: opens faster")}
    chosen = st.radio(
        _("The index while DocMind is closed"),
        list(texts),
        index=list(texts).index(choice.at_rest()),
        format_func=texts.__getitem__,
        captions=[
            _("Nothing readable is on the disk."),
            _("Who has the disk and one of your documents can work out a good part of the words of the others."),
        ],
        disabled=choice.is_fixed,
        key="index_at_rest",
    )
    if choice.is_fixed:
        st.caption(_("Set by {variable}").format(variable="DOCMIND_INDEX__AT_REST"))
    if chosen != choice.at_rest():
        choice.choose(chosen)
        outcome = errors.attempt(app_state().reopen)
        if outcome is not None:
            errors.show(outcome)


def security(docmind: DocMind, status: Status) -> None:
    """Draw what opens the library, the buttons that change it, and when the library locks."""
    st.subheader(_("Key"), anchor=False)
    sources = {
        "passphrase": _("Your documents are encrypted. The key is made from your passphrase."),
        "keyring": _("Your documents are encrypted. The key is in this computer's keyring."),
        "file": _("Your documents are encrypted. The key is in a file on this computer that only you can read."),
    }
    st.write(sources[status.key_source])
    _draw_locking(docmind, status)
    if docmind.is_read_only:
        return
    fixed_by = docmind.keys.fixed_by
    with st.container(horizontal=True):
        if status.key_source == "passphrase" and docmind.keys.asks_passphrase:
            st.button(_("Lock now"), icon=":material/lock:", key="lock-now", on_click=lock_now)
            passphrase.button("change", "settings")
        if not fixed_by:
            passphrase.button("remove" if status.key_source == "passphrase" else "protect", "settings")
    if fixed_by and not docmind.keys.asks_passphrase:
        st.caption(_("What opens the library is set by {variable}.").format(variable=f"`{fixed_by}`"))
    if docmind.keys.is_former_left:
        st.warning(_("The old key could not be removed yet; the next start tries again."), icon=":material/key_off:")
    if st.session_state.get(state.KEY_CHANGED):
        st.caption(
            _("Backups and copies made before still open in the old way. New keys, below, make a copied key useless.")
        )


def _draw_locking(docmind: DocMind, status: Status) -> None:
    """Draw after how many minutes the library locks, where it has a passphrase."""
    if docmind.keys.asks_passphrase:
        fields.draw(docmind, "keys.lock_after_min", about=_("0: never. It doesn't lock while something runs"))
    elif status.key_source != "passphrase":
        st.caption(_("It opens without a passphrase, so it doesn't lock by itself."))
    else:
        st.caption(_("The passphrase is set by DOCMIND_KEYS__PASSPHRASE, so the library doesn't lock by itself."))


def lock_now() -> None:
    """Lock the library. For callbacks."""
    if not app_state().lock(waits=True):
        st.toast(_("Something is running. The library locks when it is done."), icon=":material/hourglass:")


def appearance(docmind: DocMind) -> None:
    """Draw theme and language; the browser follows at once."""
    st.subheader(_("Appearance"), anchor=False)
    fields.draw(docmind, "app.theme", choices=_in_words(_THEMES))
    if len(LANGUAGES) > 1:
        fields.draw(docmind, "app.language", choices=LANGUAGES)
    theme = docmind.settings.now.app.theme
    browser_part(Path(__file__).parent, "theme", data={"theme": theme}, key="theme-part")


_USES: dict[StorageKind, str] = {
    "originals": N_("originals"),
    "page images": N_("page images"),
    "thumbnails": N_("thumbnails"),
    "database": N_("database"),
    "index": N_("index"),
    "models": N_("models"),
    "other": N_("other"),
}


def storage(docmind: DocMind, status: Status) -> None:
    """Draw what the space is used for, where the data lies, and the models folder."""
    st.subheader(_("Storage"), anchor=False)
    with st.container(horizontal=True):
        st.metric(_("Documents"), f"{status.documents:,}", border=True)
        st.metric(_("Pages"), f"{status.pages:,}", border=True)
        st.metric(_("Storage used"), size(status.vault_bytes), border=True)
        st.metric(_("Free"), size(status.free_bytes), border=True)
    if status.storage:
        st.caption(" · ".join(f"{_(_USES[part.use])} {size(part.bytes)}" for part in status.storage))
    garbage.line(docmind)
    now = docmind.settings.now
    st.markdown(f"**{_('Data folder')}**")
    st.code(str(now.data_dir.resolve()), language=None, wrap_lines=True)
    st.caption(
        _("To move it: close DocMind, move the folder, and start DocMind with DOCMIND_DATA_DIR set to the new place.")
    )
    fields.draw(docmind, "storage.min_free_mb", about=_("Files are refused when less would be left"))
    fields.draw(docmind, "visual.models_dir", about=_("Empty: a folder of DocMind's own"))


_COLOURS: dict[CapabilityState, Literal["green", "orange", "gray"]] = {
    "present": "green",
    "missing": "orange",
    "off": "gray",
}
_ICONS: dict[CapabilityState, str] = {
    "present": ":material/check:",
    "missing": ":material/download:",
    "off": ":material/toggle_off:",
}
_STATES: dict[CapabilityState, str] = {"present": N_("ready"), "missing": N_("not here"), "off": N_("off")}
_SET_ABOVE = ("answers", "web search", "index at rest")  # shown where they are set
_NAMES = {
    "ocr": "OCR",
    "rapidocr": "RapidOCR",
    "qdrant-edge": "Qdrant Edge",
    "qdrant-server": "Qdrant server",
    "late interaction on pages": N_("Model for parts of pages"),
}


def components(status: Status) -> None:
    """Draw one line for each optional component: its name, what it gives, its state, and how to get it."""
    st.subheader(_("Optional components"), anchor=False)
    st.caption(_("Optional components are detected automatically. Nothing is downloaded unless you start it."))
    with st.container(border=True, gap="xsmall", key="components"):
        for capability in status.capabilities:
            if capability.name not in _SET_ABOVE:
                draw_capability(capability)


def draw_capability(capability: Capability) -> None:
    """Draw the line, with how to get it until it is there."""
    shown = _(_NAMES.get(capability.name, capability.name))
    told = one_line(_(capability.detail)).rstrip(".") + "."
    name, detail, state = st.columns([0.24, 0.58, 0.18], vertical_alignment="center")
    name.markdown(f"**{escape(shown[:1].upper() + shown[1:])}**")
    hint = one_line(capability.hint) if capability.hint and capability.state != "present" else ""
    detail.caption(escape(f"{told[:1].upper()}{told[1:]} {hint}".strip()))
    with state:
        st.badge(_(_STATES[capability.state]), icon=_ICONS[capability.state], color=_COLOURS[capability.state])


def about(status: Status) -> None:
    """Draw the version, and the licences of what DocMind is built on, when they are asked for."""
    st.subheader(_("About"), anchor=False)
    st.write(f"DocMind {escape(status.version)}")
    st.caption(_("Everything stays on this computer. Library {id}.").format(id=escape(status.vault_id)))
    licence = st.expander(_("Licences of the software inside"), icon=":material/license:", on_change="rerun")
    if licence.open:
        with licence:
            st.dataframe(
                [{_("Package"): name, _("Version"): version, _("Licence"): kind} for name, version, kind in licences()],
                hide_index=True,
            )
