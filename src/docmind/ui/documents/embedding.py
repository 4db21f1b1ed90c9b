"""Embedding of pages by the late-interaction model: estimate, progress, pause, resume."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import streamlit as st

from docmind.errors import DocMindError
from docmind.records.models import EmbeddingProgress, ModelCard
from docmind.rich_text import escape
from docmind.ui.app import errors, state
from docmind.ui.app.dialogs import dialog
from docmind.ui.app.format import about, count, duration, pace
from docmind.wording import N_, _, ngettext, number_text

if TYPE_CHECKING:
    from docmind.application import DocMind

_POLL_S = 0.8
_TROUBLE = "embedding"
_HELP = N_("The model in use looks at every part of each page, so that it finds them and draws heat maps")


def progress(docmind: DocMind) -> None:
    """Draw running and paused jobs of all tabs, and ended ones that this tab saw; polls."""
    st.session_state.pop(state.MODEL_CHANGED, None)
    errors.show_of(_TROUBLE)
    jobs = errors.attempt(docmind.visual.embeddings)
    if isinstance(jobs, DocMindError):
        errors.show(jobs)
        return
    is_moving = _is_moving(jobs)
    if any(not job.is_over for job in jobs) or st.session_state.get(state.FOLLOWED):
        st.fragment(_panel, run_every=_POLL_S if is_moving else None)(docmind, is_moving)


def offer(docmind: DocMind, doc_id: str = "") -> None:
    """Draw a button for one document or all; nothing without a late-interaction model."""
    card = _late(docmind)
    if card is None:
        return
    ids = (doc_id,) if doc_id else ()
    estimate = errors.attempt(lambda: docmind.visual.estimate(card.name, ids))
    if isinstance(estimate, DocMindError):
        errors.show(estimate)
        return
    left = estimate[0]
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="embedding-offer"):
        if not left:
            st.caption(
                _(":material/grid_on: Every page has been looked at by {name}").format(name=_name(card.name)),
                width="content",
            )
            return
        st.button(
            _("Look at its pages closely") if doc_id else _("Look at all pages closely"),
            key="embed-offer",
            icon=":material/grid_on:",
            help=_(_HELP),
            disabled=_is_moving(docmind.visual.embeddings()),
            on_click=_ask_for,
            args=(ids,),
        )
        st.caption(
            _("{count} to do with {name}").format(
                count=count(ngettext("{n} page", "{n} pages", left), left), name=_name(card.name)
            ),
            width="content",
        )


def draw_question(docmind: DocMind) -> None:
    """Draw the estimate and its confirmation before the work begins, while it is open."""
    ids: tuple[str, ...] | None = st.session_state.get(state.EMBEDDING)
    card = _late(docmind) if ids is not None else None
    if ids is not None and card is not None:
        _confirm(docmind, card, ids)


def _late(docmind: DocMind) -> ModelCard | None:
    if errors.attempt(lambda: docmind.visual.is_on("late")) is not True:
        return None
    cards = errors.attempt(docmind.visual.models)
    if isinstance(cards, DocMindError):
        return None
    return next((card for card in cards if card.kind == "late" and card.in_use), None)


def _ask_for(ids: tuple[str, ...]) -> None:
    st.session_state[state.EMBEDDING] = ids


def _close() -> None:
    st.session_state.pop(state.EMBEDDING, None)


@dialog(N_("Look at these pages closely?"), icon=":material/grid_on:", on_dismiss=_close)
def _confirm(docmind: DocMind, card: ModelCard, ids: tuple[str, ...]) -> None:
    if state.EMBEDDING not in st.session_state:
        st.rerun()  # it was answered
    estimate = errors.attempt(lambda: docmind.visual.estimate(card.name, ids))
    if isinstance(estimate, DocMindError):
        errors.show(estimate)
        return
    pages, seconds = estimate
    if seconds is None:
        st.markdown(
            _(
                "**{count}** with {name}. How long a page takes on this computer has not been measured: it "
                "may be a fraction of a second with a graphics card, and half a minute without. *Measure "
                "here* in Settings tells."
            ).format(count=count(ngettext("{n} page", "{n} pages", pages), pages), name=_name(card.name))
        )
    else:
        st.markdown(
            _("**{pages}** with {name}, {pace} each as measured on this computer: about **{time}**.").format(
                pages=count(ngettext("{n} page", "{n} pages", pages), pages),
                name=_name(card.name),
                pace=pace(seconds / max(1, pages)),
                time=about(seconds * 1000),
            )
        )
    st.caption(_("You can go on working, pause it, and close the app: what is done is kept."))
    with st.container(horizontal=True):
        icon, args = ":material/play_arrow:", (docmind, card, ids)
        st.button(_("Start"), type="primary", icon=icon, key="embed-yes", on_click=_start, args=args)
        st.button(_("Not now"), key="embed-no", on_click=_close)


def _start(docmind: DocMind, card: ModelCard, ids: tuple[str, ...]) -> None:
    _close()
    errors.heed(_TROUBLE, lambda: _followed().add(docmind.visual.submit_embedding(card.name, ids)))


def _followed() -> set[str]:
    return st.session_state.setdefault(state.FOLLOWED, set())


def _is_moving(jobs: Sequence[EmbeddingProgress]) -> bool:
    return any(job.state in ("queued", "running") for job in jobs)


def _panel(docmind: DocMind, was_moving: bool) -> None:
    if st.session_state.get(state.MODEL_CHANGED):
        st.rerun()  # the whole page: the available actions have changed
    jobs = docmind.visual.embeddings()
    followed = _followed()
    followed.intersection_update({job.job_id for job in jobs})
    for job in jobs:
        if not job.is_over:
            followed.add(job.job_id)
            _draw_moving(docmind, job)
        elif job.job_id in followed:
            _draw_over(docmind, job)
    if was_moving and not _is_moving(jobs):
        st.rerun()  # the whole page: the available actions have changed


def _draw_moving(docmind: DocMind, job: EmbeddingProgress) -> None:
    is_paused = job.state == "paused"
    with st.container(border=True, key=f"embedding-{job.job_id}"):
        words, acts = st.columns([0.72, 0.28], vertical_alignment="center")
        with words:
            state_told = _("Paused") if is_paused else _("Looking at pages")
            told = _("{state_told} with **{name}**: {pages_done} of {count}").format(
                state_told=state_told,
                name=_name(job.model),
                pages_done=number_text(job.pages_done),
                count=count(ngettext("{n} page", "{n} pages", job.pages_total), job.pages_total),
            )
            st.progress(min(1.0, job.pages_done / job.pages_total) if job.pages_total else 0.0, text=told)
        with acts, st.container(horizontal=True, horizontal_alignment="right", gap="small"):
            if is_paused:
                _act(
                    f"resume-{job.job_id}",
                    _("Resume"),
                    ":material/play_arrow:",
                    lambda: docmind.visual.resume(job.job_id),
                )
            else:
                _act(f"pause-{job.job_id}", _("Pause"), ":material/pause:", lambda: docmind.visual.pause(job.job_id))
            _act(f"cancel-{job.job_id}", _("Cancel"), ":material/close:", lambda: docmind.visual.cancel(job.job_id))
        st.caption(_details(job))


def _act(key: str, label: str, icon: str, work: Callable[[], object]) -> None:
    st.button(label, key=key, icon=icon, on_click=errors.heed, args=(_TROUBLE, work))


def _details(job: EmbeddingProgress) -> str:
    facts = []
    if job.message:
        facts.append(escape(job.message))
    elif job.state == "queued":
        facts.append(_("Other pages come first"))
    if job.seconds_per_page is not None:
        facts.append(_("{pace} a page").format(pace=pace(job.seconds_per_page)))
    if job.eta_ms is not None:
        facts.append(_("about {time} left").format(time=about(job.eta_ms)))
    if not facts:
        return _("*Resume* goes on where it stopped") if job.state == "paused" else _("The model is being loaded")
    return " · ".join(facts)


def _draw_over(docmind: DocMind, job: EmbeddingProgress) -> None:
    with st.container(border=True, key=f"embedding-{job.job_id}"):
        words, close = st.columns([0.94, 0.06], vertical_alignment="center")
        words.markdown(_summary(job))
        close.button(
            _("Dismiss"),
            key=f"dismiss-{job.job_id}",
            icon=":material/close:",
            type="tertiary",
            help=_("Dismiss"),
            on_click=errors.heed,
            args=(_TROUBLE, lambda: _followed().discard(job.job_id)),
        )
        if job.state == "failed":
            errors.show_message(job.message)
            _act(f"resume-{job.job_id}", _("Go on"), ":material/play_arrow:", lambda: docmind.visual.resume(job.job_id))


def _summary(job: EmbeddingProgress) -> str:
    if job.state == "cancelled":
        return _("**Cancelled** after {pages_done} of {count}; what was done is kept").format(
            pages_done=number_text(job.pages_done),
            count=count(ngettext("{n} page", "{n} pages", job.pages_total), job.pages_total),
        )
    if job.state == "failed":
        return _("**Broke off** after {pages_done} of {count}; what was done is kept").format(
            pages_done=number_text(job.pages_done),
            count=count(ngettext("{n} page", "{n} pages", job.pages_total), job.pages_total),
        )
    result = job.result
    if result is None:
        return _("**{count}** looked at with {name}").format(
            count=count(ngettext("{n} page", "{n} pages", job.pages_done), job.pages_done), name=_name(job.model)
        )
    parts = [
        _("**{count}** looked at with {name}").format(
            count=count(ngettext("{n} page", "{n} pages", result.pages_added), result.pages_added),
            name=_name(job.model),
        )
    ]
    if result.pages_skipped:
        parts.append(_("{n} had been before").format(n=number_text(result.pages_skipped)))
    if result.pages_failed:
        parts.append(_("{n} failed").format(n=number_text(result.pages_failed)))
    return _(":material/check_circle: {done}, in {time}").format(
        done=", ".join(parts), time=duration(result.duration_ms)
    )


def _name(name: str) -> str:
    return escape(name, limit=48)
