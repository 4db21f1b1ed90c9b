"""The view that compares two documents: both pages side by side with boxes, and the list of changes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from docmind.client import encode
from docmind.conversations import comparison_markdown
from docmind.errors import DocMindError
from docmind.records.comparison import CHANGES_IN_WORDS, Change, ChangeKind, ComparedDocument, Comparison
from docmind.rich_text import escape, shorten
from docmind.ui.app import errors, long_work, page_view, state
from docmind.ui.app.app_state import app_state
from docmind.ui.app.format import when
from docmind.ui.app.long_work import LongWork
from docmind.ui.app.page_links import reader_link
from docmind.wording import _, number_text

if TYPE_CHECKING:
    from docmind.application import DocMind

_LOOKS = Path(__file__).with_suffix(".css")
_WORK = "compare-{}"
_LISTED = 60  # changes of the list that are drawn, around the one that is shown
_FEW, _TALLEST = 5, 220  # changes of a list that is shown whole; pixels of a longer one
_TEXT = 110  # characters of a text in the list
_ICONS: dict[ChangeKind, tuple[str, str]] = {
    "added": ("add_circle", "green"),
    "removed": ("do_not_disturb_on", "red"),
    "changed": ("edit", "orange"),
    "moved": ("swap_vert", "blue"),
}


def open_comparison(doc_id: str, other: str) -> None:
    """Open the comparison of two documents: the address names them. For callbacks."""
    st.query_params[state.OPEN_COMPARISON] = f"{doc_id}~{other}"


def _close() -> None:
    if (opened := st.query_params.get(state.OPEN_COMPARISON)) is not None:
        app_state().forget(_WORK.format(opened))
    st.query_params.pop(state.OPEN_COMPARISON, None)
    st.session_state.pop(state.SHOWN_CHANGE, None)


def draw(docmind: DocMind) -> bool:
    """Draw the comparison that the address names; False where there is none, or a document is gone."""
    opened = st.query_params.get(state.OPEN_COMPARISON, "")
    doc_id, _mark, other = opened.partition("~")
    if not doc_id or any(
        isinstance(errors.attempt(lambda one=one: docmind.documents.get(one)), DocMindError) for one in (doc_id, other)
    ):
        return False
    st.html(_LOOKS)
    st.button(_("All documents"), key="compare-close", icon=":material/arrow_back:", type="tertiary", on_click=_close)
    st.title(_("Compare versions"), anchor=False)
    name = _WORK.format(opened)
    going = app_state().work(name)
    if going is None:
        going = app_state().start(
            name, lambda library, report: library.documents.compare(doc_id, other, progress=report), has_texts=True
        )
        going.ends.wait(1.0)  # a short one needs no bar
    if not going.is_over:
        long_work.draw(going, _progress, key="compare")
    elif isinstance(going.result, Comparison):
        _draw(docmind, going.result)
    elif going.error is not None:
        errors.show(going.error)
    return True


def _progress(going: LongWork) -> str:
    return _("Comparing: {done} of {total} pages").format(done=number_text(going.done), total=number_text(going.total))


def _draw(docmind: DocMind, comparison: Comparison) -> None:
    changes = comparison.changes
    with st.container(horizontal=True, vertical_alignment="center", key="compare-told"):
        if changes:
            st.markdown(
                " · ".join(f"{_badge(kind)} {comparison.count(kind):,}" for kind in CHANGES_IN_WORDS), width="content"
            )
        st.space("stretch")
        _draw_exports(comparison)
    if not changes:
        st.success(_("The two versions say the same."), icon=":material/check:")
    at = min(max(0, int(st.session_state.get(state.SHOWN_CHANGE, 0))), max(0, len(changes) - 1))
    shown = changes[at] if changes else None
    if shown is not None:
        _draw_changes(changes, at)
        _draw_steps(at, len(changes))
        st.markdown(_sentence(shown))
    left, right = st.columns(2, gap="small")
    with left:
        _draw_page(docmind, comparison, shown, is_after=False)
    with right:
        _draw_page(docmind, comparison, shown, is_after=True)


def _draw_exports(comparison: Comparison) -> None:
    st.download_button(
        _("Save as Markdown"), lambda: comparison_markdown(comparison), "changes.md", "text/markdown",
        key="compare-markdown", icon=":material/download:", on_click="ignore",
    )  # fmt: skip
    st.download_button(
        _("Save as JSON"), lambda: json.dumps(encode(Comparison, comparison), ensure_ascii=False, indent=1),
        "changes.json", "application/json", key="compare-json", icon=":material/data_object:", on_click="ignore",
    )  # fmt: skip


def _draw_steps(at: int, number: int) -> None:
    """Draw the buttons to the change before and after, which the arrow keys press too."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="compare-steps"):
        st.button(
            _("Previous"), key="compare-previous", icon=":material/arrow_upward:", shortcut="Up", disabled=at == 0,
            on_click=_show, args=(at - 1,),
        )  # fmt: skip
        st.button(
            _("Next"), key="compare-next", icon=":material/arrow_downward:", shortcut="Down", disabled=at == number - 1,
            on_click=_show, args=(at + 1,),
        )  # fmt: skip
        told = _("Change {number} of {total}")
        st.markdown(f"**{told.format(number=number_text(at + 1), total=number_text(number))}**", width="content")


def _show(at: int) -> None:
    st.session_state[state.SHOWN_CHANGE] = at


def _draw_page(docmind: DocMind, comparison: Comparison, shown: Change | None, *, is_after: bool) -> None:
    """Draw a page of one document with all changes on it; the one that is shown stands out."""
    document = comparison.after if is_after else comparison.before
    side = None if shown is None else shown.after if is_after else shown.before
    page_no = side.page_no if side is not None else 1
    name = escape(document.document, limit=60)
    st.markdown(f"{_('After') if is_after else _('Before')}: **{name}**  \n{_told(document)}")
    marks = tuple(
        (one.kind, one.n, one == shown, place.boxes)
        for one in comparison.changes
        for place in (one.after if is_after else one.before).places
        if place.page_no == page_no and place.boxes
    )
    picture = errors.attempt(lambda: page_view.compared_jpeg(docmind, document.doc_id, page_no, marks))
    if isinstance(picture, DocMindError):
        errors.show(picture)
        return
    st.image(picture, width="stretch")
    page = _("page {n} of {pages}").format(n=number_text(page_no), pages=number_text(document.pages))
    st.markdown(f"[{page}]({reader_link(document.doc_id, page_no)})")


def _told(document: ComparedDocument) -> str:
    return escape(_("Added {when}").format(when=when(document.added_at_ms)))


def _draw_changes(changes: tuple[Change, ...], at: int) -> None:
    first = max(0, min(at - _LISTED // 2, len(changes) - _LISTED))
    with st.container(gap=None, key="compare-list", height=_TALLEST if len(changes) > _FEW else "content"):
        for place, change in enumerate(changes[first : first + _LISTED], first):
            icon, color = _ICONS[change.kind]
            label = f"{change.n}. :{color}[:material/{icon}: {_(CHANGES_IN_WORDS[change.kind])}] {_texts(change)}"
            st.button(
                f"**{label}**" if place == at else label, key=f"compare-{change.n}", type="tertiary",
                on_click=_show, args=(place,), width="stretch",
            )  # fmt: skip
    if len(changes) > _LISTED:
        told = _("{first} to {last} of {n} changes")
        last = min(first + _LISTED, len(changes))
        st.caption(told.format(first=number_text(first + 1), last=number_text(last), n=number_text(len(changes))))


def _texts(change: Change) -> str:
    """Return what stands on either side, on one line."""
    if change.kind == "moved":
        return f"“{escape(shorten(change.after.text, _TEXT))}”"
    texts = [f"“{escape(shorten(side.text, _TEXT))}”" for side in (change.before, change.after) if side.text]
    return " → ".join(texts)


def _sentence(change: Change) -> str:
    """Return the change that is shown, with the sentence around it."""
    around = change.after.statement or change.before.statement
    text = f"{_badge(change.kind)} {_texts(change)}"
    return f"{text}  \n{escape(around)}" if around not in (change.before.text, change.after.text) else text


def _badge(kind: ChangeKind) -> str:
    icon, color = _ICONS[kind]
    return f":{color}[:material/{icon}: **{_(CHANGES_IN_WORDS[kind])}**]"
