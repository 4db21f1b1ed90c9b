"""How long the user's own questions and readings take, by stage, and why some are slow.

The times are those of this process since its start; nothing of them is stored or sent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import streamlit as st

from docmind.observability import Stage, StageTimes
from docmind.records.search import ListName, ListState
from docmind.rich_text import escape
from docmind.storage import free_bytes
from docmind.ui.app.app_state import app_state
from docmind.ui.app.format import count, duration, pace, place_of_model, size
from docmind.ui.evaluation.figures import draw_table, stage_name
from docmind.wording import _, ngettext, number_text

if TYPE_CHECKING:
    from docmind.application import DocMind
    from docmind.config import Settings

_STAGES: tuple[Stage, ...] = (
    "answer", "search", "text", "code", "image", "visual", "lookalike", "embedding", "reading",
)  # fmt: skip
_SLOW_MS: dict[Stage, float] = {
    "answer": 2_000, "search": 500, "text": 500, "code": 500, "image": 500, "visual": 2_000, "lookalike": 2_000,
    "embedding": 200, "reading": 60_000,
}  # fmt: skip
"""From which time of 95 of 100 on a stage is called slow; those of lists are the bounds of the alerts."""

_LEAST_FREE = 2_000_000_000  # bytes: with less a system is busy making room


def draw(docmind: DocMind) -> None:
    """Draw the table of stages, and what makes them slow."""
    st.markdown(_("How long your own questions and files take, since DocMind was started. Nothing of it is stored."))
    times = {one.stage: one for one in app_state().times.stages()}
    if not times:
        st.caption(_("Nothing was timed yet. Ask a question, or add a file, and come back."))
    else:
        rows = [_row(times[stage]) for stage in _STAGES if stage in times]
        head = ("", _("Times"), _("Half of them within"), _("95 of 100 within"))
        draw_table(head, rows, "performance-stages")
    found = list(reasons(docmind, list(times.values()), app_state().times.missing()))
    st.subheader(_("What may slow it down"), anchor=False)
    if not found:
        st.success(_("Nothing that DocMind knows of."), icon=":material/check:")
    for told in found:
        st.markdown(f"- {escape(told)}")


def is_slow(one: StageTimes) -> bool:
    """Tell whether a stage takes longer than a person likes to wait."""
    return one.p95_ms > _SLOW_MS[one.stage]


def _row(one: StageTimes) -> tuple[str, ...]:
    def told(ms: float) -> str:
        return duration(ms) if one.stage in ("answer", "reading") else pace(ms / 1000)

    slow = _(" · slow") if is_slow(one) else ""
    name = _("Whole answer") if one.stage == "answer" else stage_name(one.stage)
    return name, number_text(one.count), told(one.p50_ms), told(one.p95_ms) + slow


def reasons(
    docmind: DocMind, times: Sequence[StageTimes], missing: Mapping[tuple[ListName, ListState], int]
) -> Iterator[str]:
    """Yield why something is slow, a sentence or two for each, with what to do about it."""
    settings = docmind.settings.now
    slow: set[Stage] = {one.stage for one in times if is_slow(one)}
    starting = sum(number for (_name, state), number in missing.items() if state == "starting")
    late = sum(number for (_name, state), number in missing.items() if state == "timed out")
    if starting:
        told = ngettext(
            "{n} search came while a model was being started, and did without it.",
            "{n} searches came while a model was being started, and did without it.",
            starting,
        )
        yield f"{count(told, starting)} {_('Models start with DocMind, and again after a long pause.')}"
    if late:
        told = ngettext(
            "{n} search gave up on a list that took too long.",
            "{n} searches gave up on a list that took too long.",
            late,
        )
        longest = _("The longest wait is the setting {name}.").format(name="visual.list_timeout_s")
        yield f"{count(told, late)} {longest}"
    yield from _of_models(docmind, settings, slow)
    free = free_bytes(settings.data_dir)
    if free < max(_LEAST_FREE, 2_000_000 * settings.storage.min_free_mb):
        yield _("The disk is nearly full: {free} are left. Make room on it.").format(free=size(free))
    if docmind.queue.progress().is_busy:
        yield _("Files are being read now. Questions share the processor with that.")
    if "reading" in slow:
        yield _("Reading takes long where pages are scans: OCR takes some seconds for each.")


def _of_models(docmind: DocMind, settings: Settings, slow: set[Stage]) -> Iterator[str]:
    """Yield what models and servers make slow."""
    if settings.retrieve.cross_encoder:
        yield _(
            "A cross-encoder reads the first {n} pages of each search on the processor. Fewer pages are faster: {name}."
        ).format(n=settings.retrieve.cross_encoder_pages, name="retrieve.cross_encoder_pages")
    if "visual" in slow:
        yield _("Pages are looked at in parts, which takes long without a graphics card. Turn it off under Search.")
    if "embedding" in slow:
        yield _("The text model takes long for a question. A smaller one is faster: see Settings, Search.")
    servers = [
        (settings.qdrant.url, _("The index is on another server: {place}. Each search waits for it.")),
        (settings.embedding.url, _("The text model is on a server: {place}. Each question waits for it.")),
    ]
    for url, told in servers:
        if url:
            yield told.format(place=_host(url))
    model = docmind.models.list().chosen
    if model is not None and "answer" in slow:
        yield _("Answers are written by {model}, {place}. A smaller model is faster; quotes come without one.").format(
            model=model.model, place=place_of_model(model.place)
        )


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or url
    except ValueError:
        return url
