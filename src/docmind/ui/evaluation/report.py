"""One run: its figures in numbers and words, by language and category, outcomes, stages, and queries that failed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from docmind.records.evaluation import LABELS, METRICS, GradedPage, Group, Latency, QueryScore, Run, Writing
from docmind.rich_text import escape
from docmind.ui.app.format import count, duration, pace, when
from docmind.ui.app.page_links import reader_link
from docmind.ui.evaluation.figures import (
    LEAST_NDCG,
    MEANINGS,
    draw_table,
    interval,
    language_of,
    metric_name,
    set_name,
    setting_name,
    stage_name,
    value,
)
from docmind.wording import N_, _, ngettext, number_text

_FAILED = 20  # queries that failed and are listed at first
_FEW = 20  # questions, below which figures and intervals tell little
_FOUND = 5  # pages of a query that are listed
_OUTCOMES = {"answer": N_("Answered"), "maybe": N_("May answer"), "not found": N_("Not found")}
_GOLDEN = {"passed": N_("passed"), "failed": N_("failed"), "skipped": N_("skipped")}
_CATEGORIES = {
    "number": N_("Numbers"),
    "date": N_("Dates"),
    "person": N_("People"),
    "list": N_("Lists"),
    "definition": N_("Definitions"),
    "comparison": N_("Comparisons"),
    "table": N_("Tables"),
    "code": N_("Code"),
    "scan": N_("Scans"),
    "paraphrase": N_("In other words"),
    "yes-no": N_("Yes or no"),
    "picture": N_("Pictures"),
    "cross-language": N_("Across languages"),
    "unanswerable": N_("Without an answer"),
}


def draw(run: Run, titles: Mapping[str, str]) -> None:
    """Draw the report; `titles` are those of settings, by name."""
    st.caption(_told(run))
    _draw_headline(run)
    _draw_figures(run)
    _draw_groups(_("By language"), {language_of(name): group for name, group in run.by_language.items()}, "languages")
    _draw_groups(_("By kind of question"), {category(name): one for name, one in run.by_category.items()}, "categories")
    _draw_outcomes(run)
    _draw_writing(run)
    _draw_confidence(run)
    _draw_golden(run)
    _draw_stages(run.stages)
    _draw_failed(run)
    _draw_settings(run, titles)
    if run.skipped:
        skipped = ngettext("{n} row of the set was left out", "{n} rows of the set were left out", len(run.skipped))
        with st.expander(count(skipped, len(run.skipped)), icon=":material/info:"):
            for row in run.skipped[:_FAILED]:
                st.caption(escape(row, limit=240))


def category(name: str) -> str:
    """Return the name of a category for people; a dash for none. Escape it before drawing."""
    return _(_CATEGORIES[name]) if name in _CATEGORIES else name or "–"


def _told(run: Run) -> str:
    questions = count(ngettext("{n} question", "{n} questions", run.queries), run.queries)
    parts = [escape(set_name(run.set_name)), when(run.made_at_ms), questions, duration(1_000 * run.seconds)]
    if run.filters:
        parts.append(escape(", ".join(f"{key} {told}" for key, told in run.filters.items())))
    return " · ".join(parts)


def _draw_headline(run: Run) -> None:
    labelled = [score for score in run.scores if score.is_answerable]
    found = sum(score.mrr > 0 for score in labelled)
    if labelled:
        told = ngettext(
            "A right page is among the first {k} for {found} of {n} question.",
            "A right page is among the first {k} for {found} of {n} questions.",
            len(labelled),
        )
        st.markdown(f"**{told.format(k=run.k, found=number_text(found), n=number_text(len(labelled)))}**")
    ndcg = run.figures.get("ndcg")
    if ndcg is not None and ndcg.mean < LEAST_NDCG:
        st.warning(
            _("{metric} is below {bound}: the right pages stand too low, or are missing.").format(
                metric=metric_name("ndcg"), bound=value(LEAST_NDCG)
            ),
            icon=":material/trending_down:",
        )


def _draw_figures(run: Run) -> None:
    with st.container(horizontal=True, key="evaluation-figures", gap="small"):
        for metric in METRICS:
            figure = run.figures.get(metric)
            if figure is not None:
                st.metric(
                    metric_name(metric), value(figure.mean), interval(figure), delta_color="off", delta_arrow="off",
                    border=True, help=_(MEANINGS[metric]).format(k=run.k),
                )  # fmt: skip
    st.caption(_("Below each mean: in 95 of 100 such samples of questions, the true mean lies in this interval."))
    if run.answerable < _FEW:
        st.caption(_("There are few questions: another one may change these figures a lot."))
    if run.visual_lift is not None:
        lift = run.visual_lift
        st.caption(
            _("With lists of page images, recall of visual questions is higher by {mean} ({interval}).").format(
                mean=value(lift.mean), interval=interval(lift)
            )
        )


def _draw_groups(title: str, groups: Mapping[str, Group], key: str) -> None:
    if len(groups) < 2:
        return
    st.markdown(f"**{title}**")
    rows = [
        (name, number_text(group.queries), *(_cell(group, metric) for metric in ("ndcg", "recall")))
        for name, group in sorted(groups.items(), key=lambda item: -item[1].queries)
    ]
    draw_table(("", _("Questions"), metric_name("ndcg"), metric_name("recall")), rows, f"evaluation-{key}")


def _cell(group: Group, metric: str) -> str:
    figure = group.figures.get(metric)
    return f"{value(figure.mean)} ({interval(figure)})" if figure is not None else "–"


def _draw_outcomes(run: Run) -> None:
    outcomes = run.outcomes
    if not outcomes.answerable and not outcomes.unanswerable:
        return
    st.markdown(f"**{_('Answers')}**")
    names = list(dict.fromkeys([*_OUTCOMES, *outcomes.answerable, *outcomes.unanswerable]))
    rows = [
        (
            _(_OUTCOMES[name]) if name in _OUTCOMES else name,
            number_text(outcomes.answerable.get(name, 0)),
            number_text(outcomes.unanswerable.get(name, 0)),
        )
        for name in names
    ]
    draw_table(("", _("With an answer"), _("Without an answer")), rows, "evaluation-outcomes")
    answered = outcomes.answerable.get("answer", 0)
    if answered:
        st.caption(
            _("Of {n} that were answered, {right} quote a right page first.").format(
                n=number_text(answered), right=number_text(outcomes.right)
            )
        )


def _draw_writing(run: Run) -> None:
    whole = run.writing
    if whole is None:
        return
    st.markdown(f"**{_('Claims of the language model')}**")
    each = [(language_of(name), one) for name, one in run.writing_by_language.items()]
    rows = [writing_row(name, one) for name, one in ((_("All"), whole), *(each if len(each) > 1 else ()))]
    draw_table(("", _("Answers"), _("Claims"), _("Supported"), _("Not found")), rows, "evaluation-writing")
    st.caption(
        _("{model} answered {n} of {all} questions, {silent} of them without a claim").format(
            model=escape(run.settings.get("language model", ""), limit=80), n=number_text(whole.answers),
            all=number_text(whole.questions), silent=number_text(whole.silent),
        )
    )  # fmt: skip


def writing_row(name: str, one: Writing) -> tuple[str, ...]:
    """Return a row of a table: the answers of a language model, its claims, and those with and without support."""
    shares = (f"{number_text(n)} ({n / one.claims:.0%})" if one.claims else "–" for n in (one.supported, one.not_found))
    return (name, number_text(one.answers), number_text(one.claims), *shares)


def _draw_confidence(run: Run) -> None:
    if not run.calibration:
        return
    st.markdown(f"**{_('Confidence')}**")
    rows = [(value(one.confidence), value(one.share), number_text(one.questions)) for one in run.calibration]
    draw_table((_("Mean confidence"), _("Right first"), _("Questions")), rows, "evaluation-confidence")
    st.caption(_("How sure DocMind is of the first quote, and the part of these questions whose first quote is right."))


def _draw_golden(run: Run) -> None:
    asked = [one for one in run.golden if one.state != "skipped"]
    if not asked:
        return
    st.markdown(f"**{_('Pages by look')}**")
    rows = [
        (one.topic, f"{number_text(one.findings)} / {number_text(one.needed)}", _(_GOLDEN[one.state])) for one in asked
    ]
    draw_table(("", _("Pages found"), _("Verdict")), rows, "evaluation-golden")


def _draw_stages(stages: Mapping[str, Latency]) -> None:
    if not stages:
        return
    st.markdown(f"**{_('Time of each stage')}**")
    parts = sorted(stages.items(), key=lambda item: (item[0] != "total", -item[1].p95_ms))
    rows = [(stage_name(name), pace(one.p50_ms / 1000), pace(one.p95_ms / 1000)) for name, one in parts]
    draw_table(("", _("Half of them within"), _("95 of 100 within")), rows, "evaluation-stages")


def _draw_failed(run: Run) -> None:
    failed = failures(run.scores)
    st.subheader(_("Questions that failed"), anchor=False)
    if not failed:
        st.caption(_("None: a right page was found for each."))
        return
    st.caption(_("No right page among the first {k}, or answered although no page has the answer.").format(k=run.k))
    are_all = bool(st.session_state.get("evaluation-failed-all"))
    for score in failed if are_all else failed[:_FAILED]:
        draw_query(score, f"evaluation-failed-{run.run_id}-{score.query_id}", is_own=run.set_name == LABELS)
    if len(failed) > _FAILED:
        label = count(ngettext("Show all {n}", "Show all {n}", len(failed)), len(failed))
        st.toggle(label, key="evaluation-failed-all")


def failures(scores: Sequence[QueryScore]) -> list[QueryScore]:
    """Return the queries for which no right page was found, or that were answered although no page answers them."""
    return [score for score in scores if (score.mrr == 0 if score.is_answerable else score.outcome == "answer")]


def draw_query(score: QueryScore, key: str, after: QueryScore | None = None, *, is_own: bool) -> None:
    """Draw a query behind a line that opens it: what was expected and found; `after` is that of a later run.

    `is_own` says that its pages are those of the open library, to which links lead.
    """
    words = escape(score.text, limit=140) if score.text else f"*{_('question that was removed')}*"
    if after is not None:
        words = f"{value(score.ndcg)} → {value(after.ndcg)} · {words}"
    behind = st.expander(words, key=key, on_change="rerun")
    if not behind.open:
        return
    with behind:
        about = [one for one in (language_of(score.language), category(score.category)) if one != "–"]
        if about:
            st.caption(escape(" · ".join(about)))
        _draw_pages(_("Expected"), score.relevant, _("No page has the answer."), is_own=is_own)
        found = [(_("Found"), score)] if after is None else [(_("Found before"), score), (_("Found after"), after)]
        for title, one in found:
            _draw_pages(title, one.found[:_FOUND], _("No page was found."), is_own=is_own, is_marked=True)


def _draw_pages(title: str, pages: Sequence[GradedPage], none: str, *, is_own: bool, is_marked: bool = False) -> None:
    st.markdown(f"**{title}**")
    lines = [
        f"1. {_page(page, is_own=is_own)}{' :material/check:' if is_marked and page.grade else ''}" for page in pages
    ]
    st.markdown("\n".join(lines) if lines else none)


def _page(page: GradedPage, *, is_own: bool) -> str:
    name = escape(page.document, limit=72) or f"*{_('erased document')}*"
    told = _("{document}, page {page}").format(document=name, page=page.page_no) if page.page_no else name
    is_linked = is_own and page.doc_id and page.page_no
    return f"[{told}]({reader_link(page.doc_id, page.page_no)})" if is_linked else told


def _draw_settings(run: Run, titles: Mapping[str, str]) -> None:
    if not run.settings:
        return
    rows = [(setting_name(name, titles), value) for name, value in run.settings.items()]
    with st.expander(_("Settings and models of this run"), icon=":material/tune:"):
        draw_table((_("Setting"), _("Value")), rows, "evaluation-settings")
