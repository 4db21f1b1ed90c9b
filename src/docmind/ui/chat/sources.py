"""Sources of an answer: each quote on its page, as the page was when it was cited.

Below them are the pages that all search lists found for the question, with the lists and their timings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import streamlit as st

from docmind.documents import figure_quoted
from docmind.errors import DocMindError, NotFoundError
from docmind.records.answers import BY_HAND, Computed, RowsOf, Source
from docmind.records.documents import Figure, readable_name
from docmind.records.query import Query
from docmind.records.search import MISSING, Filters, Hit, ListName, ListReport, MultimodalHit, MultimodalResult
from docmind.rich_text import escape, flow, highlight, one_line
from docmind.ui.app import errors, state
from docmind.ui.app.chat_message import APART, by_document
from docmind.ui.app.format import count, data_url, pace
from docmind.ui.app.heat import draw_heat, has_heat, heat_row, heat_switch
from docmind.ui.app.names import called
from docmind.ui.app.page_links import Cited, figure_link, outlining, reader_link, source_link, xray_link
from docmind.ui.app.page_view import figure_jpeg, page_jpeg, source_jpeg, source_strip
from docmind.ui.chat.filters import is_newest_first
from docmind.ui.chat.labels import draw_label
from docmind.wording import _, ngettext, number_text

if TYPE_CHECKING:
    from docmind.application import DocMind


_PAGES = 8
_RESULT_THUMBNAIL, _WIDE = 480, 156  # pixels of a picture, and its width on the page: two beside each other on a phone
_LISTS: dict[ListName, tuple[str, str]] = {
    "text": ("green", "words"),
    "code": ("gray", "code"),
    "image": ("violet", "look"),
    "visual": ("orange", "parts"),
    "lookalike": ("blue", "picture"),
}
"""The name and the colour of each list: by the words on a page, by its look, by its parts."""


def has_look(docmind: DocMind) -> bool:
    """Tell whether pages can be found by their look: a model for page images is in use."""
    return any(errors.attempt(lambda kind=kind: docmind.visual.is_on(kind)) is True for kind in ("image", "late"))


def draw_page_results(docmind: DocMind, question: str, filters: Filters, key: str, cited: Cited | None = None) -> None:
    """Draw an expander with these pages; nothing where no image model is on.

    With `cited`, the turn that asked, pages open with their heat map where they have one.
    """
    if not has_look(docmind):
        return
    behind = st.expander(_("Pages by words and by look"), icon=":material/image_search:", key=key, on_change="rerun")
    if behind.open:
        with behind:
            _draw_results(docmind, question, filters, key, cited)


def _draw_results(docmind: DocMind, question: str, filters: Filters, key: str, cited: Cited | None) -> None:
    kept: tuple[tuple[str, str, Filters, bool], MultimodalResult] | None = st.session_state.get(state.FOUND)
    place = (key, question, filters, is_newest_first())
    if kept is None or kept[0] != place:
        with st.spinner(_("Looking through words and pages…")):
            found = errors.attempt(
                lambda: docmind.search(Query(question, k=_PAGES, filters=filters, newest_first=is_newest_first()))
            )
        if isinstance(found, DocMindError):
            errors.show(found)
            return
        st.session_state[state.FOUND] = (place, found)
    else:
        found = kept[1]
    _draw_lists(found.lists)
    listed = {hit.page_id for hit in found.hits}
    alone = [hit for hit in found.looks if hit.page_id not in listed]  # they stand apart, and moved no page by words
    with st.container(horizontal=True):
        for hit in (*found.hits, *(replace(hit, rank=len(found.hits) + n) for n, hit in enumerate(alone, 1))):
            with st.container(width=_WIDE, gap="xxsmall", key=f"{key}-hit-{hit.rank}"):
                outcome = errors.attempt(lambda hit=hit: _draw_result(docmind, hit, cited))
                if isinstance(outcome, DocMindError):
                    _draw_lost(hit)
    if not found.hits:
        st.caption(_("No page was found."))


def _draw_lists(lists: Sequence[ListReport]) -> None:
    """Draw the state of each list; those that are off are left out."""
    told = [
        _("{list} {n} in {time}").format(
            list=_badge(report.list), n=number_text(report.count), time=pace(report.duration_ms / 1000)
        )
        for report in lists
        if report.state in ("ran", "empty")
    ]
    if told:
        st.caption(" · ".join(told))
    for report in lists:
        if report.state in MISSING:
            why = escape(report.reason) or _("it took longer than {pace}").format(pace=pace(report.duration_ms / 1000))
            st.caption(_(":material/info: Without {badge}: {why}").format(badge=_badge(report.list), why=why))


def _draw_result(docmind: DocMind, hit: MultimodalHit, cited: Cited | None) -> None:
    link, jpeg = _shown(docmind, hit, cited, _RESULT_THUMBNAIL)
    st.image(data_url(jpeg), width="stretch", alt=_page_of(hit), link=link)
    with st.container(gap=None):
        st.markdown(f"[**{_page(hit.page_no)}**]({link})")
        read = (
            _(" · OCR, {percent} % confidence").format(percent=round(100 * hit.ocr_confidence))
            if hit.ocr_confidence is not None
            else ""
        )
        st.caption(escape(called(hit), limit=36) + read)
        st.markdown(" ".join(_badge(origin.list) for origin in hit.origins))


def _shown(docmind: DocMind, hit: Hit | MultimodalHit, cited: Cited | None, width: int) -> tuple[str, bytes]:
    """Return the address that opens a hit, and its picture: that of the figure, where it is one, else of the page."""
    if hit.figure:
        for figure in docmind.documents.page_figures(hit.doc_id, hit.page_no):
            if figure.number == hit.figure:
                place = (figure.image.sha256, figure.doc_id, figure.page_no, figure.number)
                return figure_link(figure, cited), figure_jpeg(docmind, *place, width)
    return reader_link(hit.doc_id, hit.page_no, cited=cited), page_jpeg(docmind, hit.doc_id, hit.page_no, (), width)


def _draw_lost(hit: Hit | MultimodalHit) -> None:
    st.caption(_("{name}, page {n}: deleted.").format(name=escape(called(hit), limit=36), n=hit.page_no))


def _page(page_no: int) -> str:
    return _("Page {n}").format(n=page_no)


def _page_of(hit: Hit | MultimodalHit) -> str:
    return _("Page {n} of {name}").format(n=hit.page_no, name=called(hit))


def _badge(name: ListName) -> str:
    colour, word = _LISTS[name]
    return f":{colour}-badge[{word}]"


_THUMBNAIL = 480  # pixels; shown at about a third of that or less, sharp on dense screens
_SMALL = 84  # pixels across, beside the citation
_FIGURE = 320  # pixels across, of a figure
_LOOK = 240  # pixels across, of a page that is all there is to see
_WITH_FILE, _FILE = 72, 40  # characters of a title that has its file name behind it, and of that
_ROW = 120  # characters of a quote in the list of many
_NEAR = 156  # two beside each other on a phone
_HOT, _HOT_PIXELS = 460, 920  # a page with its heat map: pixels across, and those of its picture


def draw_sources(
    docmind: DocMind,
    sources: Sequence[Source],
    key: str,
    *,
    standing: int,
    question: str = "",
    more_label: str = "",
    cited: Cited | None = None,
    computed: Computed | None = None,
) -> None:
    """Draw each source: citation, a crop with the words highlighted, and a thumbnail; all of them open the page.

    The first `standing` of them are open; the others are in an expander called `more_label`. With
    the `question` that they answer, a heat map can be switched on where there is one. `cited` is the turn they
    belong to, and `computed` how the answer was computed from the rows that they are.
    """
    _draw_each(docmind, sources[:standing], key, question, cited)
    if more := sources[standing:]:
        label = more_label or count(ngettext("{n} more source", "{n} more sources", len(more)), len(more))
        label = f"{label}: {_pages_of(more, computed)}"
        behind = st.expander(label, key=f"{key}-more", on_change="rerun")
        if behind.open:  # pages are drawn only when the expander is open
            with behind:
                _draw_each(docmind, more, key, question, cited)


def draw_places(sources: Sequence[Source], key: str, cited: Cited | None, computed: Computed | None) -> None:
    """Draw the sources of an earlier answer on one line: each opens its page; many of one document are told as one."""
    with st.container(horizontal=True, gap="small", key=f"{key}-places"):
        for group in by_document(sources):
            if len(group) > APART:
                _draw_group(group, key, cited, computed)
                continue
            for source in group:
                st.markdown(f"[{_label(source, 32)}]({_link(source, cited)})", width="content")


def draw_gathered(groups: Sequence[Sequence[Source]], key: str, cited: Cited | None, computed: Computed | None) -> None:
    """Draw what stands in the place of many badges: each document with the number of its sources, which it opens to."""
    if groups:
        with st.container(horizontal=True, gap="small", key=f"{key}-gathered"):
            for group in groups:
                _draw_group(group, key, cited, computed)


def _draw_group(group: Sequence[Source], key: str, cited: Cited | None, computed: Computed | None) -> None:
    """Draw all sources of a document as one; it opens to the single ones."""
    first = group[0]
    rows = _rows_of(first, computed)
    number, pages = (rows.rows, rows.pages) if rows is not None else (len(group), _number_of_pages(group))
    label = _named(first, _amount(number, pages, are_rows=rows is not None))
    with st.popover(label, key=f"{key}-of-{first.n}", width="content"):
        links = [f"[:green-badge[{one.n}] **{_page(one.page_no)}**]({_link(one, cited)})" for one in group]
        quotes = [escape(one.quote, limit=_ROW) for one in group]
        st.markdown("\\\n".join(f"{link} · {quote}" for link, quote in zip(links, quotes, strict=True)))
        if number > len(group):
            told = _("The first {shown} of {total} rows.")
            st.caption(told.format(shown=number_text(len(group)), total=number_text(number)))


def _rows_of(source: Source, computed: Computed | None) -> RowsOf | None:
    """Return how many rows of the document of a source an answer rests on; None where its sources are no rows."""
    counts = computed.counts if computed is not None else ()
    return next((one for one in counts if one.doc_id == source.doc_id), None)


def _number_of_pages(sources: Sequence[Source]) -> int:
    return len({source.page_no for source in sources})


def _named(source: Source, amount: str) -> str:
    return f"{escape(called(source), limit=32)}, {amount}"


def _amount(number: int, pages: int, *, are_rows: bool) -> str:
    """Return how many rows or passages there are, on how many pages."""
    of_rows, of_passages = ngettext("{n} row", "{n} rows", number), ngettext("{n} passage", "{n} passages", number)
    what = count(of_rows if are_rows else of_passages, number)
    return _("{what} on {pages}").format(what=what, pages=count(ngettext("{n} page", "{n} pages", pages), pages))


def draw_nearest(docmind: DocMind, hits: Sequence[Hit], key: str, cited: Cited | None = None) -> None:
    """Draw small thumbnails of the closest pages; each opens its page."""
    with st.container(horizontal=True, key=key):
        for hit in hits:
            with st.container(width=_NEAR):
                outcome = errors.attempt(lambda hit=hit: _draw_hit(docmind, hit, cited))
                if isinstance(outcome, DocMindError):
                    _draw_lost(hit)


def _pages_of(sources: Sequence[Source], computed: Computed | None) -> str:
    told: list[str] = []
    for group in by_document(sources):
        if len(group) > APART:
            are_rows = _rows_of(group[0], computed) is not None
            told.append(_named(group[0], _amount(len(group), _number_of_pages(group), are_rows=are_rows)))
            continue
        told += [
            _("\\[{n}\\] {document} page {page_no}").format(
                n=source.n, document=escape(called(source), limit=32), page_no=source.page_no
            )
            for source in group
        ]
    return ", ".join(told)


def _draw_each(docmind: DocMind, sources: Sequence[Source], key: str, question: str, cited: Cited | None) -> None:
    for source in sources:
        with st.container(border=True, key=f"{key}-source-{source.n}"):
            outcome = errors.attempt(
                lambda source=source: _draw_source(docmind, source, f"{key}-{source.n}", question, cited)
            )
            if isinstance(outcome, NotFoundError):
                _draw_gone(source)
            elif isinstance(outcome, DocMindError):
                errors.show(outcome)


def _link(source: Source, cited: Cited | None) -> str:
    return source_link(source, cited and cited._replace(n=cited.n + source.n))


def _draw_source(docmind: DocMind, source: Source, key: str, question: str, cited: Cited | None) -> None:
    if source.gone:
        _draw_gone(source)
        return
    if source.how:
        _draw_page(docmind, source, key, question, cited)
        return
    link = _link(source, cited)
    thumbnail, strip = source_jpeg(docmind, source, _THUMBNAIL), source_strip(docmind, source)
    figure = figure_quoted(docmind.documents.page_figures(source.doc_id, source.page_no), source.quote)
    if figure is not None:
        link = outlining(link, figure)
    small, words = st.columns([0.13, 0.87], gap="small")
    told = _("Page {page_no} of {document}, highlighted: {quote}").format(
        page_no=source.page_no, document=called(source), quote=one_line(source.quote)
    )
    with small, st.container(width=_SMALL):
        st.image(data_url(thumbnail), width="stretch", alt=told, link=link)
    with words, st.container(gap="xxsmall"):
        st.markdown(f"[{_label(source)}]({link})")
        if figure is not None:
            _draw_figure(docmind, figure, link)
        if strip is not None:
            with st.container(width=highlight.reading_width(strip)):
                st.image(data_url(strip), width="stretch", alt=told, link=link)
        else:
            st.text(flow(f"“{source.quote}”"))
        read = f":small[[{_('What was read here')}]({xray_link(source.doc_id, source.page_no)})]"
        by_hand = f":violet-badge[{_(BY_HAND)}] " if source.is_corrected else ""
        with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"{key}-judged"):
            st.markdown(by_hand + read, width="content")
            if question and cited is not None:
                draw_label(docmind, source, question, key, cited)
        if has_heat(docmind, question, source.doc_id, source.page_no):
            st.fragment(_draw_heat)(docmind, source, key, question)


def _draw_figure(docmind: DocMind, figure: Figure, link: str) -> None:
    """Draw a figure as it looks; `link` opens its place."""
    place = (figure.image.sha256, figure.doc_id, figure.page_no, figure.number)
    with st.container(width=_FIGURE):
        jpeg = figure_jpeg(docmind, *place, 2 * _FIGURE)
        st.image(data_url(jpeg), width="stretch", alt=one_line(figure.label), link=link)


def _draw_page(docmind: DocMind, source: Source, key: str, question: str, cited: Cited | None) -> None:
    """Draw a page of which nothing is quoted: its image, and the switch of its heat map where there is one."""
    link = _link(source, cited)
    with st.container(gap="xxsmall"):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.markdown(f"[{_label(source)}]({link})", width="content")
            st.markdown(f":violet-badge[{_(source.how)}]", width="content")
        with st.container(width=_LOOK):
            told = _("Page {page_no} of {document}, {how}").format(
                page_no=source.page_no, document=called(source), how=_(source.how)
            )
            st.image(data_url(source_jpeg(docmind, source, _THUMBNAIL)), width="stretch", alt=told, link=link)
        if question and cited is not None:
            draw_label(docmind, source, question, key, cited)
        if has_heat(docmind, question, source.doc_id, source.page_no):
            st.fragment(_draw_heat)(docmind, source, key, question)


def _draw_heat(docmind: DocMind, source: Source, key: str, question: str) -> None:
    """Draw the switch of the heat map and, while it is on, the page under its map."""
    row = heat_row()
    with row:
        is_hot = heat_switch(f"{key}-heat")
    if not is_hot:
        return

    def show(jpeg: bytes, told: str) -> None:
        with st.container(width=_HOT):
            st.image(data_url(jpeg), width="stretch", alt=told)

    draw_heat(docmind, question, source.doc_id, source.page_no, key, row, show, width=_HOT_PIXELS)


def _label(source: Source, longest: int = _WITH_FILE) -> str:
    title = called(source)
    name = escape(title, limit=longest) or f"*{_('erased document')}*"
    is_file_told = longest >= _WITH_FILE and source.document and not title.startswith(readable_name(source.document))
    file = f" :small[{escape(source.document, limit=_FILE)}]" if is_file_told else ""
    return f":green-badge[{source.n}] **{_page(source.page_no)}** · {name}{file}"


def _draw_gone(source: Source) -> None:
    st.markdown(_label(source))
    if source.gone == "binned":
        if source.quote:
            st.text(flow(f"“{source.quote}”"))
        st.caption(_("This document is in the bin. Restore it to see the page."))
        return
    if source.gone == "erased" and not source.quote:
        st.caption(_("This document has been erased, and its quotes with it."))
        return
    if source.how:
        st.caption(_("This document has been deleted. Its page was {how}.").format(how=_(source.how)))
        return
    st.text(flow(f"“{source.quote}”"))
    st.caption(_("This document has been deleted. The quote is kept from when it was cited."))


def _draw_hit(docmind: DocMind, hit: Hit, cited: Cited | None) -> None:
    link, jpeg = _shown(docmind, hit, cited, _THUMBNAIL)
    st.image(data_url(jpeg), width="stretch", alt=_page_of(hit), link=link)
    with st.container(gap=None):
        st.markdown(f"[**{_page(hit.page_no)}**]({link})")
        st.caption(escape(called(hit), limit=36))
