"""Files dropped on the question box: they are added to the library, and can be asked alone in this conversation.

A question that was sent with files waits until they are read. Pictures are held until the user says what they are for.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st
from streamlit.typing import ChatInputValue

from docmind.errors import DocMindError
from docmind.records.documents import Upload, UploadInfo
from docmind.rich_text import escape, one_line
from docmind.ui.app import errors, state
from docmind.ui.chat import visual_search
from docmind.ui.chat.filters import chosen_filters, chosen_lists, look_in, to_bind
from docmind.ui.chat.run import ask, was_taken
from docmind.ui.documents import upload
from docmind.wording import N_, _, ngettext

if TYPE_CHECKING:
    from docmind.application import DocMind

_LOOKS = Path(__file__).with_suffix(".css")
_POLL_S = 1.0
_NAMED = 3  # files that are named
_LIBRARY, _HERE = "library", "here"
_SCOPES = {_LIBRARY: N_("Add to the library"), _HERE: N_("Only for this conversation")}
_TOLD = {
    _LIBRARY: N_("All your documents are asked, with these."),
    _HERE: N_(
        "This conversation asks these documents only. They are kept in your library, encrypted, like the others."
    ),
}


@dataclass(frozen=True, slots=True)
class Dropped:
    """Files that were dropped in one conversation; `thread_id` is None for one that is not begun yet."""

    thread_id: str | None
    names: tuple[str, ...] = ()
    upload_ids: tuple[int, ...] = ()
    doc_ids: tuple[str, ...] = ()
    pictures: tuple[tuple[str, bytes], ...] = ()
    """Names and contents of pictures of which the user has not said yet what they are for."""
    question: str = ""
    """What is asked once the files are read."""
    is_limiting: bool = False
    is_settled: bool = False
    """Whether the files were read, and the question asked."""


def take(docmind: DocMind, typed: object, thread_id: str | None) -> bool:
    """Take the files that came with a question; return whether there were any. For callbacks.

    Each file is submitted once. Where that fails, the question is put back into its box.
    """
    if not isinstance(typed, ChatInputValue) or not typed.files:
        return False
    st.session_state[state.TAKEN] = True
    files = upload.fresh(typed.files)
    if not files:
        return True
    pictures = [file for file in files if file.type.startswith("image/")]
    documents = [file for file in files if file not in pictures]
    held = tuple((file.name, file.getvalue()) for file in pictures)
    st.session_state[state.TAKEN_FILES].update(file.file_id for file in pictures)
    upload_ids = errors.attempt(lambda: upload.submit(docmind, documents)) if documents else ()
    upload.release(files)
    question = typed.text.strip()
    if isinstance(upload_ids, DocMindError):
        st.session_state[state.REFUSED] = upload_ids
        upload_ids = ()
    if question and not upload_ids:
        st.session_state[state.GIVEN_BACK] = (state.QUESTION, question)
        question = ""
    _hold(_with(docmind, Dropped(thread_id, pictures=held, question=question), upload_ids))
    return True


def settle(docmind: DocMind, thread_id: str | None) -> None:
    """Once the dropped files are read, set the filter to them where that was chosen, and ask the question that waits.

    Call it after the filters follow the open conversation, before they and the question box are drawn.
    """
    dropped = _held(thread_id)
    if dropped is None or not dropped.upload_ids or dropped.is_settled or _unread(docmind, dropped):
        return
    ready = _ready(docmind, dropped)
    _hold(replace(dropped, question="", is_settled=True))
    if dropped.is_limiting and ready:
        look_in(*ready)
    if dropped.question and ready:
        st.session_state[state.EXAMPLE] = dropped.question
        ask(docmind, state.EXAMPLE, thread_id, filters=chosen_filters(docmind), lists=chosen_lists(), bound=to_bind())
        go_along(thread_id)
        was_taken()
    elif dropped.question:
        st.session_state[state.QUESTION] = dropped.question
    if ready:
        st.rerun()  # with the filters as they are now


def go_along(thread_id: str | None) -> None:
    """Have dropped files follow into the conversation that a first question has begun."""
    begun: str | None = st.session_state.get(state.THREAD)
    if thread_id is not None or begun is None:
        return
    dropped = _held(None)
    if dropped is not None:
        _hold(replace(dropped, thread_id=begun))


def search_all(thread_id: str | None) -> None:
    """Clear the filters, also for the dropped files of this conversation. For callbacks."""
    look_in()
    dropped = _held(thread_id)
    if dropped is not None:
        _hold(replace(dropped, is_limiting=False))


def draw(docmind: DocMind, thread_id: str | None) -> None:
    """Draw what was dropped in this conversation: how far it is read, and the choices about it."""
    dropped = _held(thread_id)
    if dropped is None:
        return
    st.html(_LOOKS)
    with st.container(border=True, key="dropped", gap="xsmall"):
        if dropped.upload_ids:
            _draw_documents(docmind, dropped)
        for number, (name, _picture) in enumerate(dropped.pictures):
            _draw_picture(docmind, dropped, number, name)


def _draw_documents(docmind: DocMind, dropped: Dropped) -> None:
    unread = _unread(docmind, dropped)
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="dropped-files"):
        st.markdown(f":material/attach_file: {_told(docmind, dropped, unread)}", width="stretch")
        _draw_dismiss()
    if unread or _ready(docmind, dropped):
        _draw_scope(docmind, dropped)
    if dropped.question:
        question = escape(dropped.question, limit=160)
        st.caption(f":material/schedule: {_('Asked once they are read: “{question}”').format(question=question)}")
    upload.draw_attention(docmind, _attention(docmind, dropped))
    if unread:
        st.fragment(_wait, run_every=_POLL_S)(docmind, dropped, unread)


def _draw_scope(docmind: DocMind, dropped: Dropped) -> None:
    st.segmented_control(
        _("What the files are for"),
        list(_SCOPES),
        default=_HERE if dropped.is_limiting else _LIBRARY,
        required=True,
        format_func=lambda scope: _(_SCOPES[scope]),
        key=state.DROPPED_SCOPE,
        label_visibility="collapsed",
        on_change=_choose,
        args=(docmind,),
    )
    st.caption(_(_TOLD[_HERE if dropped.is_limiting else _LIBRARY]))


def _told(docmind: DocMind, dropped: Dropped, unread: int) -> str:
    names = ", ".join(f"**{escape(name, limit=48)}**" for name in dropped.names[:_NAMED])
    if len(dropped.names) > _NAMED:
        names += " " + _("and {n} more").format(n=f"{len(dropped.names) - _NAMED:,}")
    if unread:
        return f"{names} · {ngettext('{n} file is being read…', '{n} files are being read…', unread).format(n=unread)}"
    return f"{names} · {_('ready')}" if _ready(docmind, dropped) else names


def _draw_picture(docmind: DocMind, dropped: Dropped, number: int, name: str) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"dropped-picture-{number}"):
        st.markdown(f":material/image: **{escape(name, limit=48)}**", width="stretch")
        st.button(
            _("Find its page"), key=f"dropped-find-{number}", icon=":material/image_search:", on_click=_find,
            args=(docmind, number), help=_("Find the page that this picture shows"),
        )  # fmt: skip
        st.button(
            _("Add to the library"), key=f"dropped-add-{number}", icon=":material/add:", on_click=_add,
            args=(docmind, number),
        )  # fmt: skip
        if not dropped.upload_ids and not number:
            _draw_dismiss()


def _draw_dismiss() -> None:
    label = _("Dismiss")
    st.button(label, key="dropped-dismiss", icon=":material/close:", type="tertiary", help=label, on_click=_dismiss)


def _wait(docmind: DocMind, dropped: Dropped, unread: int) -> None:
    if _unread(docmind, dropped) != unread:
        st.rerun()


def _choose(docmind: DocMind) -> None:
    dropped: Dropped = st.session_state[state.DROPPED]
    dropped = replace(dropped, is_limiting=st.session_state[state.DROPPED_SCOPE] == _HERE)
    _hold(dropped)
    if dropped.is_settled:
        look_in(*(_ready(docmind, dropped) if dropped.is_limiting else ()))


def _find(docmind: DocMind, number: int) -> None:
    name, picture = _without(number)
    st.session_state.pop(state.PICTURE_WORDS, None)
    visual_search.look_for(docmind, picture, one_line(name))


def _add(docmind: DocMind, number: int) -> None:
    name, picture = _without(number)
    upload_ids = errors.attempt(lambda: docmind.queue.submit([Upload(name, picture)], total_bytes=len(picture)))
    if isinstance(upload_ids, DocMindError):
        st.session_state[state.REFUSED] = upload_ids
    else:
        before: Dropped = st.session_state.get(state.DROPPED) or Dropped(st.session_state.get(state.THREAD))
        _hold(_with(docmind, replace(before, is_settled=False), upload_ids))


def _without(number: int) -> tuple[str, bytes]:
    """Take one picture out of what was dropped, and return it."""
    dropped: Dropped = st.session_state[state.DROPPED]
    pictures = list(dropped.pictures)
    taken = pictures.pop(number)
    _hold(replace(dropped, pictures=tuple(pictures)))
    return taken


def _dismiss() -> None:
    """Draw the files no more; what is being read goes on, and a question that waits is put back into its box."""
    dropped: Dropped | None = st.session_state.pop(state.DROPPED, None)
    if dropped is not None and dropped.question:
        st.session_state[state.GIVEN_BACK] = (state.QUESTION, dropped.question)


def _hold(dropped: Dropped) -> None:
    if dropped.upload_ids or dropped.pictures:
        st.session_state[state.DROPPED] = dropped
    else:
        st.session_state.pop(state.DROPPED, None)


def _held(thread_id: str | None) -> Dropped | None:
    dropped: Dropped | None = st.session_state.get(state.DROPPED)
    return dropped if dropped is not None and dropped.thread_id == thread_id else None


def _with(docmind: DocMind, dropped: Dropped, upload_ids: tuple[int, ...]) -> Dropped:
    """Return what was dropped with further files of the queue."""
    if not upload_ids:
        return dropped
    wanted = set(upload_ids)
    names = {info.upload_id: info.document for info in docmind.queue.uploads() if info.upload_id in wanted}
    return replace(
        dropped,
        names=(*dropped.names, *names.values()),
        upload_ids=(*dropped.upload_ids, *upload_ids),
        doc_ids=(*dropped.doc_ids, *(docmind.queue.document_of(upload_id)[0] for upload_id in names)),
    )


def _unread(docmind: DocMind, dropped: Dropped) -> int:
    unread = docmind.queue.uploads("waiting", "reading", "paused")
    return sum(info.upload_id in dropped.upload_ids for info in unread)


def _attention(docmind: DocMind, dropped: Dropped) -> list[UploadInfo]:
    return [info for info in docmind.queue.uploads("failed", "locked") if info.upload_id in dropped.upload_ids]


def _ready(docmind: DocMind, dropped: Dropped) -> tuple[str, ...]:
    """Return the documents that are read, without those that were deleted meanwhile."""
    there = {info.doc_id for info in docmind.documents.all() if info.status == "ready"}
    return tuple(doc_id for doc_id in dict.fromkeys(dropped.doc_ids) if doc_id in there)
