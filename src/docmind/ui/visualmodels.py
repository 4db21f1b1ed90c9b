"""Models that look at pages, in Settings: what is here, what it costs here, one button each to fetch or use it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

import streamlit as st

from docmind.config import Settings
from docmind.errors import DocMindError
from docmind.escape import escape
from docmind.seeing import ModelCard, ModelKind, PullProgress
from docmind.ui import state, trouble
from docmind.ui.measuring import Measured, measuring
from docmind.ui.wording import about, count, duration, model, pace, size

if TYPE_CHECKING:
    from docmind.application import DocMind

_POLL_S, _GLANCE_S = 0.8, 3.0  # while something is waited for, and while pages are looked at in the background
_KINDS: dict[ModelKind, tuple[str, str]] = {
    "image": (
        "Find pages by describing them",
        "Words find figures, photographs and tables that have no words of their own. Works on any laptop; all pages "
        "are looked at in the background.",
    ),
    "late": (
        "Look at every part of a page",
        "Finds small things on crowded pages and draws heat maps. Slow without a graphics card: then it looks at the "
        "pages you choose, on the Documents page.",
    ),
}
_VARIABLES: dict[ModelKind, str] = {"image": "DOCMIND_VISUAL__IMAGE_MODEL", "late": "DOCMIND_VISUAL__LATE_MODEL"}
_OWN = "DOCMIND_VISUAL__IMAGE_MODEL=/path/to/a/siglip/model\nDOCMIND_VISUAL__LATE_MODEL=/path/to/a/colpali/model"
_Colour = Literal["green", "blue", "gray", "red"]


def section(mind: DocMind, settings: Settings) -> None:
    """Every model that is known, by what it is for; follows downloads and measurements by itself."""
    st.subheader("Models that look at pages", anchor=False)
    st.caption(
        "Optional. Search by words, and finding a page by a picture of it, work without them. Nothing is fetched until "
        "you press *Fetch*, and pages never leave this machine."
    )
    st.session_state.pop(state.MODEL_CHANGED, None)
    pace_s = _pace_s(mind)
    st.fragment(_draw, run_every=pace_s)(mind, settings, pace_s)
    with st.expander("A model from a folder of your own", icon=":material/folder:"):
        st.markdown(
            "Any SigLIP, SigLIP 2, ColPali, ColQwen2 or ColModernVBERT model, as a folder with its *config.json* and "
            "*safetensors* files. Set, then start DocMind anew:"
        )
        st.code(_OWN, language=None)
    _fetching(mind, settings)


def _pace_s(mind: DocMind) -> float | None:
    """How often to look again: at a download, a measurement, at pages being looked at; None where nothing moves."""
    now = measuring().now
    if (now is not None and not now.is_over) or any(not pull.is_over for pull in mind.visual.pulls()):
        return _POLL_S
    return _GLANCE_S if any(_is_catching_up(card) for card in mind.visual.models()) else None


def _is_catching_up(card: ModelCard) -> bool:
    return card.kind == "image" and card.in_use and card.state == "present" and card.pages < card.pages_total


def _draw(mind: DocMind, settings: Settings, pace_s: float | None) -> None:
    if st.session_state.get(state.MODEL_CHANGED):
        st.rerun()  # the whole page: what can be done has changed
    cards = mind.visual.models()
    pulls = {pull.name: pull for pull in mind.visual.pulls()}
    for kind, (title, about_kind) in _KINDS.items():
        with st.container(border=True, key=f"seeing-{kind}", gap="small"):
            st.markdown(f"**{title}**")
            st.caption(about_kind)
            of_kind = [card for card in cards if card.kind == kind]
            here = [card for card in of_kind if card.state != "missing" or card.in_use or card.name in pulls]
            for card in here:
                before = next((other.name for other in of_kind if other.pages > card.pages), "")
                _draw_card(mind, settings, card, pulls.get(card.name), before=before)
            rest = [card for card in of_kind if card not in here]
            if rest and here:
                with st.expander(f"{count(len(rest), 'more model')} to fetch", key=f"seeing-more-{kind}"):
                    for card in rest:
                        _draw_card(mind, settings, card, None)
            else:
                for card in rest:
                    _draw_card(mind, settings, card, None)
    if pace_s is not None and _pace_s(mind) != pace_s:
        st.rerun()  # the whole page: what is there has changed


def _draw_card(
    mind: DocMind, settings: Settings, card: ModelCard, pull: PullProgress | None, *, before: str = ""
) -> None:
    """`before` is a model of the same kind that has looked at more pages than the one in use."""
    with st.container(key=f"model-{_key(card)}", gap="xxsmall"):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.markdown(f"**{escape(model(card.name), limit=60)}**", width="content")
            word, icon, colour = _badge(card)
            st.badge(word, icon=icon, color=colour)
            st.space("stretch")
            if pull is None or pull.is_over:
                _buttons(mind, settings, card, pull)
        if card.about:
            st.caption(escape(card.about))
        st.caption(_facts(card))
        if card.reason and (card.state == "broken" or card.in_use):
            trouble.tell(card.reason, card.hint)
        if before and card.kind == "image" and card.in_use and card.state == "present":
            st.caption(f"{escape(model(before), limit=60)} finds pages until this one has looked at all of them.")
            work = (_key(card), lambda: mind.visual.submit_embedding(card.name))
            st.button("Look at all pages", key=f"embed-{_key(card)}", on_click=_do, args=work)
        told: tuple[str, DocMindError] | None = st.session_state.get(state.MODEL_TROUBLE)
        if told is not None and told[0] == _key(card):
            trouble.show(told[1])
        if pull is not None:
            _draw_pull(mind, card, pull)
        _draw_measured(card, measuring().now)


def _buttons(mind: DocMind, settings: Settings, card: ModelCard, pull: PullProgress | None) -> None:
    """What can be done with it now; each act is told of once it is done, or why it was not."""
    key = _key(card)
    is_set = getattr(settings.visual, f"{card.kind}_model") != "auto"
    why = f"{_VARIABLES[card.kind]} decides this" if is_set else None
    now = measuring().now
    is_busy = now is not None and not now.is_over
    if card.state == "present":
        st.button(
            "Measure here",
            key=f"measure-{key}",
            type="tertiary",
            icon=":material/timer:",
            disabled=is_busy,
            on_click=_do,
            args=(key, lambda: measuring().begin(mind, card.name)),
        )
    if card.in_use:
        work = (key, lambda: mind.visual.disable(card.kind))
        st.button("Disable", key=f"disable-{key}", disabled=is_set, help=why, on_click=_do, args=work)
    elif card.state == "present":
        work = (key, lambda: mind.visual.enable(card.name))
        st.button("Enable", key=f"enable-{key}", disabled=is_set, help=why, on_click=_do, args=work)
    if card.state != "present" and card.repository:
        label = "Resume" if pull is not None and pull.error else "Fetch again" if card.state == "broken" else "Fetch"
        st.button(label, key=f"fetch-{key}", icon=":material/download:", on_click=_ask_for, args=(card.name,))


def _do(key: str, work: Callable[[], object]) -> None:
    """Callback: a press is heeded also where the page is drawn anew in that moment, as it is while something moves."""
    outcome = trouble.attempt(work)
    if isinstance(outcome, DocMindError):
        st.session_state[state.MODEL_TROUBLE] = (key, outcome)
    else:
        st.session_state.pop(state.MODEL_TROUBLE, None)
    st.session_state[state.MODEL_CHANGED] = True


def _ask_for(name: str) -> None:
    st.session_state[state.FETCHING] = name
    st.session_state[state.MODEL_CHANGED] = True


def _draw_pull(mind: DocMind, card: ModelCard, pull: PullProgress) -> None:
    if pull.is_over:
        if pull.error and card.state != "present":
            trouble.tell(pull.error, pull.hint)
        return
    words, stop = st.columns([0.8, 0.2], vertical_alignment="center")
    done = f"{size(pull.bytes_done)} of {size(pull.bytes_total)}" if pull.bytes_total else "Asking what there is…"
    words.progress(
        min(1.0, pull.bytes_done / pull.bytes_total) if pull.bytes_total else 0.0,
        text=f"{done} {escape(pull.file, limit=40)}".rstrip(),
    )
    stop.button(
        "Stop",
        key=f"stop-pull-{_key(card)}",
        icon=":material/stop_circle:",
        help="What has come is kept",
        on_click=_do,
        args=(_key(card), lambda: mind.visual.cancel_pull(card.name)),
    )


def _draw_measured(card: ModelCard, now: Measured | None) -> None:
    if now is None or now.name != card.name:
        return
    if now.error is not None:
        trouble.show(now.error)
    elif now.bench is not None:
        bench = now.bench
        st.caption(
            f":material/timer: Measured on {count(bench.pages, 'page')} ({escape(bench.device)}, "
            f"{escape(bench.precision)}): {pace(bench.seconds_per_page)} a page, "
            f"{pace(bench.query_ms / 1000)} a question, {duration(bench.load_s * 1000)} to load."
        )
    else:
        st.caption(":material/hourglass_top: Measuring: the model is loaded, then shown some pages…")


def _close() -> None:
    st.session_state.pop(state.FETCHING, None)


@st.dialog("Fetch this model?", icon=":material/download:", on_dismiss=_close)
def _ask(mind: DocMind, settings: Settings, card: ModelCard) -> None:
    if st.session_state.get(state.FETCHING) != card.name:
        st.rerun()  # it was answered
    host = urlsplit(settings.visual.hub_url).netloc or settings.visual.hub_url
    st.markdown(f"**{escape(card.repository, limit=90)}**")
    licence = f" Its licence is {escape(card.licence, limit=60)}." if card.licence else ""
    st.markdown(
        f"DocMind will connect to **{escape(host, limit=90)}** and fetch about **{size(card.bytes)}**.{licence}\n\n"
        "This is the only time it connects there. Nothing of yours is sent: it asks for the files of the model, checks "
        "each by its sum, and runs it on this machine."
    )
    with st.container(horizontal=True):
        st.button(
            "Fetch", type="primary", icon=":material/download:", key="fetch-yes", on_click=_fetch, args=(mind, card)
        )
        st.button("Not now", key="fetch-no", on_click=_close)


def _fetch(mind: DocMind, card: ModelCard) -> None:
    _close()
    _do(_key(card), lambda: mind.visual.submit_pull(card.name))


def _fetching(mind: DocMind, settings: Settings) -> None:
    """The question that stands between the button and a download, while it is open."""
    name = st.session_state.get(state.FETCHING)
    for card in mind.visual.models() if name else ():
        if card.name == name:
            _ask(mind, settings, card)


def _badge(card: ModelCard) -> tuple[str, str, _Colour]:
    if card.state == "broken":
        return "broken", ":material/error:", "red"
    if card.state == "missing":
        if card.in_use:
            return "its files are gone", ":material/error:", "red"
        return "not fetched", ":material/download:", "gray"
    if card.in_use:
        return "in use", ":material/check:", "green"
    return "here, not in use", ":material/toggle_off:", "blue"


def _facts(card: ModelCard) -> str:
    """Size, licence, time per page here and what all pages would take, pages done."""
    facts = []
    if card.bytes:
        facts.append(size(card.bytes) if card.state == "present" else f"about {size(card.bytes)} to fetch")
    if card.licence:
        facts.append(f"licence {card.licence}")
    elif not card.repository and Path(card.name).is_absolute():
        facts.append("your own folder")
    if card.state == "present":
        facts += _times(card)
    if card.pages_total and (card.in_use or card.pages):
        facts.append(f"{card.pages:,} of {count(card.pages_total, 'page')} done")
    return " · ".join(escape(fact) for fact in facts)


def _times(card: ModelCard) -> Sequence[str]:
    if card.seconds_per_page is None:
        return ["time per page not measured here"]
    told = f"{pace(card.seconds_per_page)} a page here"
    left = card.pages_total - card.pages
    if left <= 0:
        return [told]
    return [f"{told}: {count(left, 'page')} would take about {about(left * card.seconds_per_page * 1000)}"]


def _key(card: ModelCard) -> str:
    return "".join(char if char.isalnum() else "-" for char in card.name)[-60:]
