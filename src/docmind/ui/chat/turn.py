"""One turn of a conversation: question, answer or error, sources, and actions.

The actions are: edit the question, copy, answer again, continue, compare, and search all documents.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import streamlit as st

from docmind.answers import NOT_FOUND, SENTENCES
from docmind.errors import DocMindError
from docmind.records.answers import NOT_THERE, NOTED, STOPPED, TOLD, Answer, Computed, Source
from docmind.records.conversations import RunProgress, Thread, ThreadView, Turn, WebResult
from docmind.records.search import Degraded, Filters, stage_name
from docmind.records.values import LONGEST_QUESTION
from docmind.rich_text import escape, shorten
from docmind.ui.app import errors, state
from docmind.ui.app.chat_message import answer_markdown, asking, assistant, gathered, question, quote_markdown
from docmind.ui.app.format import count, duration, place_of_model
from docmind.ui.app.names import called
from docmind.ui.app.page_links import cited_in
from docmind.ui.chat import filters, history, run, side_panel, sources
from docmind.ui.chat.copy_answer import draw_copy
from docmind.ui.chat.listing import draw_listing
from docmind.ui.chat.memories import draw_proposals
from docmind.ui.chat.sources import draw_gathered, draw_nearest, draw_places, draw_sources
from docmind.wording import N_, _, ngettext

if TYPE_CHECKING:
    from docmind.application import DocMind


LOOKS = Path(__file__).with_suffix(".css")
_AGAIN, _CONTINUE, _COMPARE = "again", "continue", "compare"
_MENU = {
    _AGAIN: (":material/refresh:", N_("Answer again")),
    _CONTINUE: (":material/play_arrow:", N_("Continue here")),
    _COMPARE: (":material/compare_arrows:", N_("Compare with…")),
}


def draw_question(docmind: DocMind, thread: Thread, turn: Turn, key: str, *, is_free: bool) -> None:
    """Draw the question with an edit button, or as a field, to ask it from the same point."""
    with asking():
        if is_free and st.session_state.get(state.EDITING) == turn.checkpoint_id:
            _draw_editing(docmind, thread, turn)
            return
        with question(turn.question, key):
            st.button(
                _("Edit the question and ask again"),
                key=f"{key}-edit",
                icon=":material/edit:",
                type="tertiary",
                help=_("Edit the question and ask again"),
                disabled=not is_free,
                on_click=_edit,
                args=(turn,),
            )


def draw_row(
    docmind: DocMind, view: ThreadView, turn: Turn, key: str, told: str, *, is_free: bool, is_last: bool
) -> None:
    """Draw one line under an answer: its actions, how long it took and which model wrote it."""
    choices = [choice for choice in _MENU if not (choice == _CONTINUE and is_last)]
    if turn.answer is None:
        choices = [choice for choice in choices if choice != _COMPARE]
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"{key}-row"):
        if turn.answer is not None and (turn.answer.answer or turn.answer.told):
            draw_copy(turn.answer, f"{key}-{turn.checkpoint_id}")
        if told:
            st.caption(told, width="content")
        if turn.state == "stopped":
            try_again(docmind, view.thread, turn, key, is_free=is_free)
        menu = f"{key}-menu-{turn.checkpoint_id}"
        st.menu_button(
            _("Menu"),
            choices,
            key=menu,
            icon=":material/more_horiz:",
            type="tertiary",
            format_func=lambda choice: f"{_MENU[choice][0]} {_(_MENU[choice][1])}",
            disabled=not is_free,
            on_click=_act,
            args=(docmind, view.thread.thread_id, turn, menu),
        )


def try_again(docmind: DocMind, thread: Thread, turn: Turn, key: str, *, is_free: bool) -> None:
    """Draw the button that answers a stopped or failed turn again."""
    st.button(
        _("Try again"),
        key=f"{key}-again",
        icon=":material/refresh:",
        disabled=not is_free,
        on_click=run.retry,
        args=(docmind, thread.thread_id, turn.checkpoint_id),
    )


def _draw_editing(docmind: DocMind, thread: Thread, turn: Turn) -> None:
    st.chat_input(
        _("Your question"),
        key=state.EDIT,
        max_chars=LONGEST_QUESTION,  # the browser takes no more, and does not say so
        on_submit=run.ask,
        args=(docmind, state.EDIT, thread.thread_id, turn.before_id, turn.filters, turn.lists),
    )
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.button(_("Cancel"), key="edit-cancel", type="tertiary", shortcut="Escape", on_click=_keep)
        st.caption(_("The previous answer stays in the history."), width="content")


def _edit(turn: Turn) -> None:
    st.session_state[state.EDITING] = turn.checkpoint_id
    st.session_state[state.EDIT] = turn.question


def _keep() -> None:
    st.session_state.pop(state.EDITING, None)


def _act(docmind: DocMind, thread_id: str, turn: Turn, menu: str) -> None:
    chosen, point = st.session_state.get(menu), turn.checkpoint_id
    if chosen == _AGAIN:
        run.retry(docmind, thread_id, point)
    elif chosen == _COMPARE:
        history.compare_with(thread_id, point, "")
        side_panel.show_history()
    elif chosen == _CONTINUE:
        outcome = errors.attempt(lambda: docmind.conversations.resume(thread_id, point))
        if isinstance(outcome, DocMindError):
            st.session_state[state.REFUSED] = outcome


_MAYBE, _FIRST = 2, 1  # sources that are open under quotes that may answer, and under an answer
_NAMED = 3  # documents that are named
_COMPLETED_SOON = N_("Its model is being started; this answer is completed as soon as it is there.")
_CUT_OFF = N_("This question was cut off before it was answered.")


@dataclass(frozen=True, slots=True)
class TurnPlace:
    """The place of a turn: its number, whether its sources are open, whether it has actions, and who writes in it.

    There are no actions while the page shows an earlier point, nor while an answer is being written: `writing` is the
    run whose language model writes beside the quotes of this turn.
    """

    number: int
    is_last: bool
    is_open: bool
    is_free: bool
    writing: RunProgress | None = None

    @property
    def key(self) -> str:
        return f"turn-{self.number}"


def draw_turn(docmind: DocMind, view: ThreadView, turn: Turn, place: TurnPlace, names: Mapping[str, str]) -> None:
    """Draw a turn; `names` maps document ids to names."""
    with st.container(key=place.key):
        draw_question(docmind, view.thread, turn, place.key, is_free=place.is_free)
        with assistant():
            answer = turn.answer
            _draw_above(docmind, view, turn, place)
            if answer is not None:
                _draw_answer(docmind, turn, answer, place)
                if answer.model and answer.other is not None:
                    _draw_folded_quotes(turn, answer.other, place)
            _draw_filters(docmind, view.thread, turn, place, names)
            draw_row(docmind, view, turn, place.key, _told(turn), is_free=place.is_free, is_last=place.is_last)
            is_going_on = turn.is_incomplete and place.is_last and _is_completed(docmind, view.thread, turn)
            _draw_notes(turn, names, is_going_on=is_going_on)
            if answer is not None and place.is_open and (answer.is_searched or answer.model):
                standing = _MAYBE if answer.outcome == "maybe" else _FIRST
                label = _("Also relevant") if answer.further else ""
                draw_sources(
                    docmind,
                    answer.sources,
                    place.key,
                    standing=standing,
                    question=_asked(turn),
                    more_label=label,
                    cited=cited_in(answer),
                    computed=answer.computed,
                )
            elif (
                answer is not None and answer.sources and answer.listing is None
            ):  # also where the answer itself is a list of places
                draw_places(answer.sources, place.key, cited_in(answer), answer.computed)
            if turn.web:
                draw_web(turn.web, place.key)
            if place.is_last and answer is not None and answer.is_searched:
                sources.draw_page_results(docmind, _asked(turn), turn.filters, f"{place.key}-found", cited_in(answer))
            history.switcher(docmind, view, turn)
            if place.is_last:
                draw_proposals(docmind, view.thread.thread_id, turn.memories)


def _draw_above(docmind: DocMind, view: ThreadView, turn: Turn, place: TurnPlace) -> None:
    """Draw what stands above an answer: what a language model writes, or why there is none of it.

    Where this tab looked on, it keeps the height of the box in which the model wrote, so that the quotes do not move.
    """
    if place.writing is not None:
        run.draw_writing(docmind, place.writing, place.key)
        return
    answer = turn.answer
    is_kept = answer is not None and not answer.model and st.session_state.get(state.WRITTEN) == turn.checkpoint_id
    with st.container(key=f"{place.key}-wrote") if is_kept else st.container():
        _draw_trouble(docmind, view, turn, place)
        if answer is None or answer.model:
            return
        if turn.state == "stopped" and answer.answer:
            st.caption(f":material/stop_circle: {_(STOPPED)}")
        if answer.other is not None:
            _draw_unsupported(answer.other, f"{place.key}-unsupported-{turn.checkpoint_id}")


def _draw_unsupported(written: Answer, key: str) -> None:
    """Draw what a model wrote that pages do not support, once it is asked for."""
    is_shown = bool(st.session_state.get(f"{key}-shown"))
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key=key):
        st.caption(f":material/info: {_(NOT_THERE)}", width="content")
        st.button(
            _("Hide it") if is_shown else _("Show it"),
            key=f"{key}-show",
            type="tertiary",
            on_click=_turn_over,
            args=(key,),
        )
    if is_shown:
        st.markdown(answer_markdown(written, is_other=True))


def _turn_over(key: str) -> None:
    st.session_state[f"{key}-shown"] = not st.session_state.get(f"{key}-shown")


def _draw_folded_quotes(turn: Turn, quotes: Answer, place: TurnPlace) -> None:
    """Draw the quotes below what a model wrote, behind a line that opens them."""
    if not quotes.found and not quotes.told:
        return
    key = f"{place.key}-quotes-{turn.checkpoint_id}"
    behind = st.expander(_("Quotes"), key=key, icon=":material/format_quote:", on_change="rerun")
    if behind.open:
        with behind:
            _draw_said(turn, quotes, place, is_other=True)
            draw_places(quotes.sources, key, cited_in(quotes, is_other=True), quotes.computed)


def _draw_answer(docmind: DocMind, turn: Turn, answer: Answer, place: TurnPlace) -> None:
    if answer.listing is not None:
        _draw_told(answer)
        draw_listing(docmind, answer, answer.listing, turn.filters, f"{place.key}-list")
    else:
        _draw_said(turn, answer, place)
    if answer.needs:
        st.page_link("settings.py", label=_("Set up a language model"), icon=":material/tune:")
    if answer.found or turn.state == "stopped" or not answer.is_searched or (answer.told and not answer.model):
        return
    if turn.nearest and place.is_open:
        behind = st.expander(_("Closest pages"), key=f"{place.key}-closest", on_change="rerun")
        if behind.open:  # pages are drawn only when the expander is open
            with behind:
                draw_nearest(docmind, turn.nearest, f"{place.key}-near", cited_in(answer))


def _draw_told(answer: Answer) -> None:
    """Draw the facts that bear on an answer and that the user had remembered."""
    for fact in answer.told:
        st.markdown(f":material/bookmark: {_(TOLD)}: “{escape(fact)}”")


def _draw_said(turn: Turn, answer: Answer, place: TurnPlace, *, is_other: bool = False) -> None:
    """Draw what an answer says; `is_other` says that it is the one that does not lead."""
    quotes = [source for source in answer.sources if source.kind == "quote" and source.quote]
    if answer.outcome == "noted":
        _draw_noted(answer)
        return
    _draw_told(answer)
    if answer.outcome == "told" or (answer.told and answer.is_missing):  # what the user told answers it
        return
    if answer.computed is not None:
        st.markdown(answer_markdown(answer))
        if place.is_open and not is_other:  # otherwise all of its sources follow in this form
            draw_gathered(gathered(answer), place.key, cited_in(answer), answer.computed)
        _draw_computed(answer.computed, f"{place.key}-computed")
    elif answer.outcome == "maybe" and quotes:
        _draw_passages(answer, quotes, _(answer.answer.partition("\n\n")[0]), is_other=is_other)
    elif answer.found or answer.model:
        st.markdown(answer_markdown(answer, is_other=is_other))
        shown = [source for source in quotes if source not in answer.further]
        if not answer.model and len(shown) == 1:
            st.caption(_place(shown[0]))
    elif answer.outcome != "not found":
        st.markdown(answer_markdown(answer, is_other=is_other))
    elif answer.answer or turn.state != "stopped":
        said = answer.answer if answer.answer in SENTENCES else NOT_FOUND
        st.markdown(f"**{_(said)}**")
        if answer.needs:
            st.markdown(escape(answer.needs))


def _draw_filters(docmind: DocMind, thread: Thread, turn: Turn, place: TurnPlace, names: Mapping[str, str]) -> None:
    """Draw the filters that the question was asked under; where nothing was found, a button asks without them."""
    told = filters.describe(turn.filters, turn.lists, names)
    if not told:
        return
    is_missing = turn.answer is not None and not turn.answer.found and turn.answer.is_searched
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"{place.key}-filters"):
        if is_missing and turn.filters != Filters():
            st.caption(f":material/filter_alt: {_('Only filtered documents were searched.')} ({told})", width="content")
            st.button(
                _("Ask all documents"),
                key=f"{place.key}-search-all",
                disabled=not place.is_free,
                on_click=run.ask_everywhere,
                args=(docmind, thread.thread_id, turn),
            )
        else:
            st.caption(f":material/filter_alt: {_('Searched: {what}').format(what=told)}", width="content")


def _draw_computed(computed: Computed, key: str) -> None:
    """Draw how an answer was computed, behind a line that opens it: the query, and the rows that it rests on."""
    with st.expander(_("How this was computed"), icon=":material/calculate:", key=key):
        st.code(computed.query, language="sql", wrap_lines=True)
        names = [
            f"{name} ({at})" if computed.columns.index(name) < at else name for at, name in enumerate(computed.columns)
        ]
        columns = {name: [row[at] for row in computed.rows] for at, name in enumerate(names)}
        st.dataframe(columns, hide_index=True, key=f"{key}-rows")
        if computed.rows_total > len(computed.rows):
            shown, total = len(computed.rows), computed.rows_total
            st.caption(_("The first {shown} of {total} rows.").format(shown=shown, total=total))


def _draw_noted(answer: Answer) -> None:
    """Draw what was stored because the user asked for it."""
    st.markdown(f"**{_(NOTED)}**")
    st.markdown("\n".join(f"- {escape(fact)}" for fact in answer.told))
    st.caption(_("For all conversations. *Memory* lists it; correct or delete it there."))


def _draw_passages(answer: Answer, cited: Sequence[Source], lead: str, *, is_other: bool) -> None:
    """Draw quotes that may answer below their lead, by document."""
    st.markdown(escape(lead))
    documents = dict.fromkeys(map(called, cited))
    for document in documents:
        if len(documents) > 1:
            st.markdown(f"**{escape(document, limit=72)}**")
        for source in cited:
            if called(source) == document:
                st.markdown(quote_markdown(source, cited_in(answer, source.n, is_other=is_other)))
                page = _("Page {n}").format(n=source.page_no)
                st.caption(f"— {page}" if len(documents) > 1 else _place(source))


def _place(source: Source) -> str:
    return _("— {document}, page {page_no}").format(document=escape(called(source), limit=72), page_no=source.page_no)


def _asked(turn: Turn) -> str:
    """Return the question as it was understood, or as it was typed."""
    return turn.asked_as or turn.question


def _draw_trouble(docmind: DocMind, view: ThreadView, turn: Turn, place: TurnPlace) -> None:
    """Draw what went wrong, with a button to try again; the answer below lacks that part."""
    message, hint = turn.message, turn.hint
    if turn.state == "unanswered" and not message:
        message, hint = _last_failure(docmind, view.thread.thread_id, turn)
    elif not message and (missing := _missing_model(turn)):
        message = _("Without {stage}: {reason}").format(stage=stage_name(missing.stage), reason=missing.reason)
    if not message:
        return
    with st.container(border=True, horizontal=True, vertical_alignment="center", key=f"{place.key}-trouble"):
        with st.container(gap="xxsmall"):
            st.markdown(f":material/error: {escape(message)}")
            is_quoted = turn.answer is not None and turn.answer.found and not turn.answer.model
            instead = _("Below are quotes from your pages instead. ") if is_quoted else ""
            if instead or hint:
                st.caption(instead + escape(hint))
        try_again(docmind, view.thread, turn, place.key, is_free=place.is_free)


def _missing_model(turn: Turn) -> Degraded | None:
    """Return why quotes stand without the words of a language model; None where they do not lack it."""
    answer = turn.answer
    if answer is None or answer.model:
        return None
    return next((one for one in answer.degraded if one.stage == "language model"), None)


def _last_failure(docmind: DocMind, thread_id: str, turn: Turn) -> tuple[str, str]:
    """Return message and hint of a question without an answer, cut off where nothing is known."""
    asked = st.session_state.get(state.ASKED)
    run = errors.attempt(lambda: docmind.conversations.run(asked)) if asked else None
    if isinstance(run, RunProgress) and run.message and (run.thread_id, run.question) == (thread_id, turn.question):
        return run.message, run.hint
    return _(_CUT_OFF), _("It is kept.")


def _told(turn: Turn) -> str:
    """Describe how the turn ended, how long it took, and which model wrote it."""
    answer = turn.answer
    timings = dict(answer.timings_ms) if answer is not None else {}
    took = duration(timings["total"]) if "total" in timings else ""
    if turn.state == "stopped":
        is_written = answer is not None and bool(answer.model or (answer.other and answer.other.model))
        kept = _("what was written is kept") if is_written else _("nothing was written yet")
        stopped = _("Stopped after {time}; {kept}") if took else _("Stopped; {kept}")
        told = f":material/stop_circle: {stopped.format(time=took, kept=kept)}"
    else:
        told = _("Answered in {took}").format(took=took) if took else ""
    if answer is None or not answer.model:
        return told
    name = escape(answer.model.partition("/")[2] or answer.model, limit=48)
    return " · ".join(part for part in (told, name, escape(place_of_model(answer.model_place), limit=48)) if part)


def _is_completed(docmind: DocMind, thread: Thread, turn: Turn) -> bool:
    """Have an answer completed by a model that was starting; return whether that is under way."""
    return errors.attempt(lambda: docmind.conversations.complete(thread.thread_id, turn.checkpoint_id)) is True


def _draw_notes(turn: Turn, names: Mapping[str, str], *, is_going_on: bool) -> None:
    if turn.asked_as and turn.asked_as != turn.question:
        st.caption(
            _(":material/subdirectory_arrow_right: Understood as: {asked_as}").format(
                asked_as=escape(turn.asked_as, limit=240)
            )
        )
    known = [names[doc_id] for doc_id in turn.recalled if doc_id in names]
    if known:
        listed = ", ".join(escape(shorten(name, 48)) for name in known[:_NAMED])
        more = _(" and {count} more").format(count=len(known) - _NAMED) if len(known) > _NAMED else ""
        st.caption(
            _(":material/history: Looked again in {listed}{more}, where the answer before came from.").format(
                listed=listed, more=more
            )
        )
    for degraded in turn.answer.degraded if turn.answer is not None else ():
        if degraded.reason != turn.message and degraded != _missing_model(turn):  # it is shown above
            reason = _(_COMPLETED_SOON) if degraded.is_starting and is_going_on else degraded.reason
            st.caption(
                _(":material/info: Without {stage}: {reason}").format(
                    stage=escape(stage_name(degraded.stage)), reason=escape(reason)
                )
            )


def draw_web(results: tuple[WebResult, ...], key: str) -> None:
    """Draw results from the web, apart from the documents. Addresses are text, not links."""
    label = _("{count} from the web, not from your documents").format(
        count=count(ngettext("{n} result", "{n} results", len(results)), len(results))
    )
    with st.expander(label, icon=":material/public:", key=f"{key}-web"):
        for result in results:
            st.markdown(f"**{escape(result.title, limit=120)}** · {escape(_host(result.url), limit=60)}")
            st.text(shorten(result.excerpt, 600))
            st.caption(escape(result.url, limit=160))


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or "address"
    except ValueError:
        return "address"
