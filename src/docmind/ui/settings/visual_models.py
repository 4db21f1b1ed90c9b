"""Image models in Settings: their state, their cost on this machine, fetching and use.

Benchmarks run in a thread, one model at a time, while the pages poll.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

import streamlit as st

from docmind.config import Settings
from docmind.errors import DocMindError
from docmind.records.models import ModelBench, ModelCard, ModelKind, PullProgress
from docmind.rich_text import escape
from docmind.runtime import start_thread
from docmind.ui.app import errors, state
from docmind.ui.app.dialogs import dialog
from docmind.ui.app.errors import attempt
from docmind.ui.app.format import about, count, duration, pace, size
from docmind.wording import N_, _, ngettext, number_text

if TYPE_CHECKING:
    from docmind.application import DocMind


@dataclass(frozen=True, slots=True)
class Measured:
    """The state of a measurement; `bench` or `error` is set when it is over."""

    name: str
    bench: ModelBench | None = None
    error: DocMindError | None = None

    @property
    def is_over(self) -> bool:
        return self.bench is not None or self.error is not None


class Measuring:
    """Keeps the last measurement. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.now: Measured | None = None

    def begin(self, docmind: DocMind, name: str) -> None:
        """Measure this model, unless a measurement is running."""
        with self._lock:
            if self.now is not None and not self.now.is_over:
                return
            self.now = Measured(name)
        start_thread(lambda: self._run(docmind, name), name="measure")

    def _run(self, docmind: DocMind, name: str) -> None:
        outcome = attempt(lambda: docmind.visual.bench(name))
        error = outcome if isinstance(outcome, DocMindError) else None
        self.now = Measured(name, None if isinstance(outcome, DocMindError) else outcome, error)


@st.cache_resource(show_spinner=False)
def measuring() -> Measuring:
    """Return the measurements of this process."""
    return Measuring()


_POLL_S, _GLANCE_S = 0.8, 3.0  # while something is waited for, and while pages are embedded in the background
_KINDS: dict[ModelKind, tuple[str, str]] = {
    "image": (
        N_("Find figures and photos by description"),
        N_(
            "Words find figures, photographs and tables that have no words of their own. Works on any "
            "laptop; all pages are looked at in the background."
        ),
    ),
    "late": (
        N_("Look at every part of a page"),
        N_(
            "Finds small things on crowded pages and draws heat maps. Slow without a graphics card: then "
            "it looks at the pages you choose, on the Documents page."
        ),
    ),
}
_VARIABLES: dict[ModelKind, str] = {"image": "DOCMIND_VISUAL__IMAGE_MODEL", "late": "DOCMIND_VISUAL__LATE_MODEL"}
_OWN = "DOCMIND_VISUAL__IMAGE_MODEL=/path/to/a/siglip/model\nDOCMIND_VISUAL__LATE_MODEL=/path/to/a/colpali/model"
_Colour = Literal["green", "blue", "gray", "red"]


def section(docmind: DocMind, settings: Settings) -> None:
    """Draw every known model by its purpose; polls downloads and measurements by itself."""
    st.subheader(_("Visual models"), anchor=False)
    st.caption(
        _(
            "Optional. Search by words, and finding a page by a picture of it, work without them. "
            "Nothing is fetched until you press *Fetch*, and pages never leave this computer."
        )
    )
    st.session_state.pop(state.MODEL_CHANGED, None)
    pace_s = _pace_s(docmind)
    st.fragment(_draw, run_every=pace_s)(docmind, settings, pace_s)
    with st.expander(_("A model from a folder of your own"), icon=":material/folder:"):
        st.markdown(
            _(
                "Any SigLIP, SigLIP 2, ColPali, ColQwen2 or ColModernVBERT model, as a folder with its "
                "*config.json* and *safetensors* files. Set, then start DocMind again:"
            )
        )
        st.code(_OWN, language=None)
    _fetching(docmind, settings)


def _pace_s(docmind: DocMind) -> float | None:
    """Return how often to poll running work, in seconds; None when nothing runs.

    Running work is a download, a measurement, or the embedding of pages.
    """
    now = measuring().now
    if (now is not None and not now.is_over) or any(not pull.is_over for pull in docmind.visual.pulls()):
        return _POLL_S
    return _GLANCE_S if any(_is_catching_up(card) for card in docmind.visual.models()) else None


def _is_catching_up(card: ModelCard) -> bool:
    return card.kind == "image" and card.in_use and card.state == "present" and card.pages < card.pages_total


def _draw(docmind: DocMind, settings: Settings, pace_s: float | None) -> None:
    if st.session_state.get(state.MODEL_CHANGED):
        st.rerun()  # the whole page: the available actions have changed
    cards = docmind.visual.models()
    pulls = {pull.name: pull for pull in docmind.visual.pulls()}
    for kind, (title, about_kind) in _KINDS.items():
        with st.container(border=True, key=f"seeing-{kind}", gap="small"):
            st.markdown(f"**{_(title)}**")
            st.caption(about_kind)
            of_kind = [card for card in cards if card.kind == kind]
            here = [card for card in of_kind if card.state != "missing" or card.in_use or card.name in pulls]
            for card in here:
                before = next((other.name for other in of_kind if other.pages > card.pages), "")
                _draw_card(docmind, settings, card, pulls.get(card.name), before=before)
            rest = [card for card in of_kind if card not in here]
            if rest and here:
                with st.expander(
                    _("{count} to fetch").format(
                        count=count(ngettext("{n} more model", "{n} more models", len(rest)), len(rest))
                    ),
                    key=f"seeing-more-{kind}",
                ):
                    for card in rest:
                        _draw_card(docmind, settings, card, None)
            else:
                for card in rest:
                    _draw_card(docmind, settings, card, None)
    if pace_s is not None and _pace_s(docmind) != pace_s:
        st.rerun()  # the whole page: the available models have changed


def _draw_card(
    docmind: DocMind, settings: Settings, card: ModelCard, pull: PullProgress | None, *, before: str = ""
) -> None:
    """Draw a model; `before` is one of its kind with more embedded pages than the one in use."""
    with st.container(key=f"model-{_key(card)}", gap="xxsmall"):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.markdown(f"**{escape(card.name, limit=60)}**", width="content")
            word, icon, colour = _badge(card)
            st.badge(word, icon=icon, color=colour)
            st.space("stretch")
            if pull is None or pull.is_over:
                _buttons(docmind, settings, card, pull)
        if card.about:
            st.caption(escape(_(card.about)))
        st.caption(_facts(card))
        if card.reason and (card.state == "broken" or card.in_use):
            errors.show_message(card.reason, card.hint)
        if before and card.kind == "image" and card.in_use and card.state == "present":
            st.caption(
                _("{before} finds pages until this one has looked at all of them.").format(
                    before=escape(before, limit=60)
                )
            )
            work = (_key(card), lambda: docmind.visual.submit_embedding(card.name))
            st.button(_("Look at all pages"), key=f"embed-{_key(card)}", on_click=errors.heed, args=work)
        errors.show_of(_key(card))
        if pull is not None:
            _draw_pull(docmind, card, pull)
        _draw_measured(card, measuring().now)


def _buttons(docmind: DocMind, settings: Settings, card: ModelCard, pull: PullProgress | None) -> None:
    """Draw the actions that are possible now; each reports its result or its error."""
    key = _key(card)
    is_set = getattr(settings.visual, f"{card.kind}_model") != "auto"
    why = _("{variable} decides this").format(variable=_VARIABLES[card.kind]) if is_set else None
    now = measuring().now
    is_busy = now is not None and not now.is_over
    if card.state == "present":
        st.button(
            _("Measure here"),
            key=f"measure-{key}",
            type="tertiary",
            icon=":material/timer:",
            disabled=is_busy,
            on_click=errors.heed,
            args=(key, lambda: measuring().begin(docmind, card.name)),
        )
    if card.in_use:
        work = (key, lambda: docmind.visual.disable(card.kind))
        st.button(_("Disable"), key=f"disable-{key}", disabled=is_set, help=why, on_click=errors.heed, args=work)
    elif card.state == "present":
        work = (key, lambda: docmind.visual.enable(card.name))
        st.button(_("Enable"), key=f"enable-{key}", disabled=is_set, help=why, on_click=errors.heed, args=work)
    if card.state != "present" and card.repository:
        label = (
            _("Resume")
            if pull is not None and pull.error
            else _("Fetch again")
            if card.state == "broken"
            else _("Fetch")
        )
        st.button(label, key=f"fetch-{key}", icon=":material/download:", on_click=_ask_for, args=(card.name,))


def _ask_for(name: str) -> None:
    st.session_state[state.FETCHING] = name
    st.session_state[state.MODEL_CHANGED] = True


def _draw_pull(docmind: DocMind, card: ModelCard, pull: PullProgress) -> None:
    if pull.is_over:
        if pull.error and card.state != "present":
            errors.show_message(pull.error, pull.hint)
        return
    words, stop = st.columns([0.8, 0.2], vertical_alignment="center")
    done = (
        f"{size(pull.bytes_done)} of {size(pull.bytes_total)}"
        if pull.bytes_total
        else _("Asking which files there are…")
    )
    words.progress(
        min(1.0, pull.bytes_done / pull.bytes_total) if pull.bytes_total else 0.0,
        text=f"{done} {escape(pull.file, limit=40)}".rstrip(),
    )
    stop.button(
        _("Stop"),
        key=f"stop-pull-{_key(card)}",
        icon=":material/stop_circle:",
        help=_("What has come is kept"),
        on_click=errors.heed,
        args=(_key(card), lambda: docmind.visual.cancel_pull(card.name)),
    )


def _draw_measured(card: ModelCard, now: Measured | None) -> None:
    if now is None or now.name != card.name:
        return
    if now.error is not None:
        errors.show(now.error)
    elif now.bench is not None:
        bench = now.bench
        st.caption(
            _(
                ":material/timer: Measured on {count} ({device}, {precision}): {pace} a page, {pace2} a "
                "question, {time} to load."
            ).format(
                count=count(ngettext("{n} page", "{n} pages", bench.pages), bench.pages),
                device=escape(bench.device),
                precision=escape(bench.precision),
                pace=pace(bench.seconds_per_page),
                pace2=pace(bench.query_ms / 1000),
                time=duration(bench.load_s * 1000),
            )
        )
    else:
        st.caption(_(":material/hourglass_top: Measuring: the model is loaded, then shown some pages…"))


def _close() -> None:
    st.session_state.pop(state.FETCHING, None)


@dialog(N_("Fetch this model?"), icon=":material/download:", on_dismiss=_close)
def _ask(docmind: DocMind, settings: Settings, card: ModelCard) -> None:
    if st.session_state.get(state.FETCHING) != card.name:
        st.rerun()  # it was answered
    host = urlsplit(settings.visual.hub_url).netloc or settings.visual.hub_url
    st.markdown(f"**{escape(card.repository, limit=90)}**")
    licence = _(" Its licence is {licence}.").format(licence=escape(card.licence, limit=60)) if card.licence else ""
    st.markdown(
        _(
            "DocMind will connect to **{host}** and fetch about **{size}**.{licence}\n\nThis is the only "
            "time it connects there. Nothing of yours is sent: it asks for the files of the model, "
            "checks each by its sum, and runs it on this computer."
        ).format(host=escape(host, limit=90), size=size(card.bytes), licence=licence)
    )
    with st.container(horizontal=True):
        st.button(
            _("Fetch"),
            type="primary",
            icon=":material/download:",
            key="fetch-yes",
            on_click=_fetch,
            args=(docmind, card),
        )
        st.button(_("Not now"), key="fetch-no", on_click=_close)


def _fetch(docmind: DocMind, card: ModelCard) -> None:
    _close()
    errors.heed(_key(card), lambda: docmind.visual.submit_pull(card.name))


def _fetching(docmind: DocMind, settings: Settings) -> None:
    """Draw the confirmation of a download, while it is open."""
    name = st.session_state.get(state.FETCHING)
    for card in docmind.visual.models() if name else ():
        if card.name == name:
            _ask(docmind, settings, card)


def _badge(card: ModelCard) -> tuple[str, str, _Colour]:
    if card.state == "broken":
        return _("broken"), ":material/error:", "red"
    if card.state == "missing":
        if card.in_use:
            return _("its files are gone"), ":material/error:", "red"
        return _("not fetched"), ":material/download:", "gray"
    if card.in_use:
        return _("in use"), ":material/check:", "green"
    return _("here, not in use"), ":material/toggle_off:", "blue"


def _facts(card: ModelCard) -> str:
    """Describe size, licence, time per page here, time for all pages, pages done."""
    facts = []
    if card.bytes:
        facts.append(
            size(card.bytes) if card.state == "present" else _("about {size} to fetch").format(size=size(card.bytes))
        )
    if card.licence:
        facts.append(_("licence {licence}").format(licence=card.licence))
    if card.state == "present":
        facts += _times(card)
    if card.pages_total and (card.in_use or card.pages):
        facts.append(
            _("{pages} of {count} done").format(
                pages=number_text(card.pages),
                count=count(ngettext("{n} page", "{n} pages", card.pages_total), card.pages_total),
            )
        )
    return " · ".join(escape(fact) for fact in facts)


def _times(card: ModelCard) -> Sequence[str]:
    if card.seconds_per_page is None:
        return [_("time per page not measured here")]
    told = _("{pace} a page here").format(pace=pace(card.seconds_per_page))
    left = card.pages_total - card.pages
    if left <= 0:
        return [told]
    return [
        _("{told}: {count} would take about {time}").format(
            told=told,
            count=count(ngettext("{n} page", "{n} pages", left), left),
            time=about(left * card.seconds_per_page * 1000),
        )
    ]


def _key(card: ModelCard) -> str:
    return "".join(char if char.isalnum() else "-" for char in card.name)[-60:]
