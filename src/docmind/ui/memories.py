"""What DocMind remembers: proposals to accept, and memories to find, correct, merge, forget and erase."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import streamlit as st

from docmind.conversation import Memory
from docmind.errors import DocMindError
from docmind.escape import escape
from docmind.memories import LONGEST
from docmind.ui import state, trouble
from docmind.ui.proposals import draw_proposals, of_thread
from docmind.ui.wording import count, when

if TYPE_CHECKING:
    from collections.abc import Callable

    from docmind.application import DocMind

_ROWS = 25
_MOST = 10_000  # memories that the panel leafs through; more are found by searching
_FIND_FROM = 5  # memories; fewer are found by looking
_HERE, _EVERYWHERE, _ALL = "This conversation", "Everywhere", "All conversations"
_ADDED = "memory-new"
_FOR = "memory-for"
_MERGED = "memory-merged"


def memories_panel(mind: DocMind, thread_id: str | None, proposed: Sequence[str] | None = None) -> None:
    """Draw all of it, into a dialog or beside a conversation; `thread_id` is None where none is begun.

    `proposed` are the facts that the turns on show propose; they are looked up where it is left out.
    """
    _draw_trouble()
    _draw_undo(mind)
    if thread_id is not None:
        waiting = of_thread(mind, thread_id) if proposed is None else proposed
        draw_proposals(mind, thread_id, waiting, where="panel")
    everything = mind.memories.list(limit=_MOST).memories
    _draw_adding(mind, thread_id)
    if not everything:
        _teach()
        return
    shown = _draw_list(mind, thread_id, everything)
    _draw_merging(mind, shown)
    _draw_purge(mind, thread_id, everything)


def _draw_trouble() -> None:
    error: DocMindError | None = st.session_state.pop(state.MEMORY_TROUBLE, None)
    if error is not None:
        trouble.show(error)


def _draw_undo(mind: DocMind) -> None:
    gone: Memory | None = st.session_state.get(state.FORGOTTEN)
    if gone is None:
        return
    with st.container(border=True, horizontal=True, vertical_alignment="center", key="memory-undo"):
        st.markdown(f"Forgotten: {escape(gone.text, limit=80)}")
        st.button("Undo", key="memory-undo-button", icon=":material/undo:", on_click=_bring_back, args=(mind, gone))


def _draw_adding(mind: DocMind, thread_id: str | None) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom", key="memory-adding"):
        st.text_input("Remember", key=_ADDED, max_chars=LONGEST, placeholder="Our fiscal year starts in April")
        if thread_id is not None:
            st.selectbox("For", [_EVERYWHERE, _HERE], key=_FOR, width=190)
        st.button("Add", key="memory-add", icon=":material/add:", on_click=_add, args=(mind, thread_id))


def _teach() -> None:
    st.markdown("**Nothing is remembered yet.**")
    st.write(
        "Facts you keep here are taken into account when a question has to do with them: what “the contract” stands "
        "for, who is who, when your fiscal year starts, how you like answers. Add one above, or tell DocMind in a "
        "conversation: “Remember that our fiscal year starts in April.” It proposes, you accept."
    )
    st.caption("They are sealed in your vault, and you can correct or erase each of them at any time.")


def _draw_list(mind: DocMind, thread_id: str | None, everything: Sequence[Memory]) -> Sequence[Memory]:
    """The rows of one scope, narrowed by the search; returns the memories on show."""
    mine = [memory for memory in everything if memory.thread_id in (None, thread_id)]
    sought = ""
    scope = None
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if len(everything) >= _FIND_FROM:
            sought = st.text_input(
                "Find", key=state.FIND_MEMORY, placeholder="Words or meaning", icon=":material/search:"
            )
        if len(mine) < len(everything):
            scope = st.selectbox("Of", [f"{_HERE} and {_EVERYWHERE.lower()}", _ALL], key="memory-of", width=270)
    if sought:
        found = mind.memories.list(sought)
        for degraded in found.degraded:
            st.caption(f":material/info: {escape(degraded.reason)}")
        everything = found.memories
    shown = [memory for memory in everything if scope == _ALL or memory.thread_id in (None, thread_id)]
    if not shown:
        st.caption(
            "No memory is about that." if sought else "Nothing is remembered here; other conversations have some."
        )
        return ()
    first = 0
    if len(shown) > _ROWS:
        first = (st.pagination(-(-len(shown) // _ROWS), key="memory-part") - 1) * _ROWS
    shown = shown[first : first + _ROWS]
    if len(shown) > 1:
        st.caption("Tick two or more to merge them.")
    for memory in shown:
        if st.session_state.get(state.EDITING_MEMORY) == memory.memory_id:
            _draw_edited(mind, memory)
        else:
            _draw_row(mind, memory, thread_id, can_merge=len(shown) > 1)
    return shown


def _draw_row(mind: DocMind, memory: Memory, thread_id: str | None, *, can_merge: bool) -> None:
    scope = (
        _EVERYWHERE if memory.thread_id is None else _HERE if memory.thread_id == thread_id else "Another conversation"
    )
    name = escape(memory.text, limit=60)
    with st.container(border=True, horizontal=True, vertical_alignment="center", key=f"memory-{memory.memory_id}"):
        if can_merge:
            st.checkbox(f"Choose {name}", key=_pick(memory), label_visibility="collapsed", width="content")
        with st.container(gap=None):
            st.markdown(escape(memory.text))
            st.caption(f"{scope} · {when(memory.updated_at_ms)}")
        st.button(
            "",
            key=f"edit-memory-{memory.memory_id}",
            icon=":material/edit:",
            type="tertiary",
            help=f"Correct {name}",
            on_click=_edit,
            args=(memory.memory_id,),
        )
        st.button(
            "",
            key=f"forget-memory-{memory.memory_id}",
            icon=":material/delete:",
            type="tertiary",
            help=f"Forget {name}",
            on_click=_forget,
            args=(mind, memory),
        )


def _draw_edited(mind: DocMind, memory: Memory) -> None:
    key = f"memory-text-{memory.memory_id}"
    with st.container(border=True, key=f"memory-{memory.memory_id}", gap="xsmall"):
        st.text_area("What it says", value=memory.text, key=key, max_chars=LONGEST, height="content")
        with st.container(horizontal=True, horizontal_alignment="right"):
            st.button("Cancel", key="memory-cancel", on_click=_edit, args=(None,))
            st.button("Save", key="memory-save", type="primary", on_click=_save, args=(mind, memory.memory_id, key))


def _draw_merging(mind: DocMind, shown: Sequence[Memory]) -> None:
    chosen = [memory for memory in shown if st.session_state.get(_pick(memory))]
    if len(chosen) < 2:
        return
    ids = tuple(memory.memory_id for memory in chosen)
    with st.container(border=True, key="memory-merging", gap="xsmall"):
        st.text_area(
            f"Merge {count(len(chosen), 'memory', 'memories')} into",
            value=". ".join(memory.text.rstrip(" .") for memory in chosen)[:LONGEST],
            key=f"{_MERGED}-{'-'.join(one[:8] for one in ids)}",
            max_chars=LONGEST,
            height="content",
        )
        st.button(
            "Merge",
            key="memory-merge",
            type="primary",
            icon=":material/merge:",
            on_click=_merge,
            args=(mind, ids),
        )


def _draw_purge(mind: DocMind, thread_id: str | None, everything: Sequence[Memory]) -> None:
    here = [memory for memory in everything if memory.thread_id == thread_id] if thread_id is not None else []
    asked = st.session_state.get(state.PURGING_MEMORIES)
    if asked is None:
        with st.container(horizontal=True):
            if here:
                _purge_button("Erase those of this conversation", _HERE)
            _purge_button("Erase everything", _EVERYWHERE)
        return
    scope, members = (thread_id, here) if asked == _HERE else (None, everything)
    with st.container(border=True, key="memory-purge", gap="xsmall"):
        what = "of this conversation" if asked == _HERE else "of your vault and all its conversations"
        st.markdown(f"Erase **{count(len(members), 'memory', 'memories')}** {what} for good?")
        st.caption("No byte of them stays in the vault, and this cannot be undone. Conversations keep what was said.")
        with st.container(horizontal=True, horizontal_alignment="right"):
            st.button("Keep them", key="memory-keep", on_click=_ask_purge, args=(None,))
            st.button(
                "Erase for good",
                key="memory-erase",
                type="primary",
                icon=":material/delete_forever:",
                on_click=_purge,
                args=(mind, scope),
            )


def _purge_button(label: str, scope: str) -> None:
    st.button(
        label,
        key=f"memory-purge-{scope}",
        icon=":material/delete_forever:",
        type="tertiary",
        on_click=_ask_purge,
        args=(scope,),
    )


def _pick(memory: Memory) -> str:
    return f"pick-memory-{memory.memory_id}"


def _done(work: Callable[[], object]) -> bool:
    """Whether it was done; what went wrong is told by the next drawing. A new act ends the offer to undo the last."""
    st.session_state.pop(state.FORGOTTEN, None)
    outcome = trouble.attempt(work)
    if isinstance(outcome, DocMindError):
        st.session_state[state.MEMORY_TROUBLE] = outcome
        return False
    return True


def _add(mind: DocMind, thread_id: str | None) -> None:
    scope = thread_id if st.session_state.get(_FOR) == _HERE else None
    if _done(lambda: mind.memories.add(st.session_state[_ADDED], thread_id=scope)):
        st.session_state[_ADDED] = ""


def _bring_back(mind: DocMind, gone: Memory) -> None:
    _done(lambda: mind.memories.add(gone.text, thread_id=gone.thread_id))


def _edit(memory_id: str | None) -> None:
    st.session_state[state.EDITING_MEMORY] = memory_id


def _save(mind: DocMind, memory_id: str, key: str) -> None:
    if _done(lambda: mind.memories.edit(memory_id, st.session_state[key])):
        _edit(None)


def _forget(mind: DocMind, memory: Memory) -> None:
    if _done(lambda: mind.memories.forget(memory.memory_id)):
        st.session_state[state.FORGOTTEN] = memory


def _merge(mind: DocMind, ids: Sequence[str]) -> None:
    text = st.session_state[f"{_MERGED}-{'-'.join(one[:8] for one in ids)}"]
    if _done(lambda: mind.memories.merge(ids, text)):
        for memory_id in ids:
            st.session_state[f"pick-memory-{memory_id}"] = False


def _ask_purge(scope: str | None) -> None:
    st.session_state[state.PURGING_MEMORIES] = scope


def _purge(mind: DocMind, scope: str | None) -> None:
    if _done(lambda: mind.memories.purge(thread_id=scope)):
        _ask_purge(None)
