"""Facts that a conversation proposes to remember: corrected, accepted or dismissed, and kept nowhere before."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import TYPE_CHECKING

import streamlit as st

from docmind.errors import DocMindError
from docmind.memories import LONGEST
from docmind.ui import state, trouble
from docmind.ui.wording import count

if TYPE_CHECKING:
    from docmind.application import DocMind

_TURNS = 30  # of a conversation, from its end, whose proposals are shown


def of_thread(mind: DocMind, thread_id: str) -> tuple[str, ...]:
    """What the last turns of a conversation propose, the newest first, each once."""
    turns = mind.conversations.view(thread_id, last=_TURNS).turns
    return tuple(dict.fromkeys(fact for turn in reversed(turns) for fact in turn.memories))


def draw_proposals(mind: DocMind, thread_id: str, proposed: Iterable[str], *, where: str = "turn") -> None:
    """A row for each that is neither kept nor dismissed: its words to correct, and what to do with it.

    `where` tells apart places of one page that may propose the same.
    """
    error: DocMindError | None = st.session_state.pop(state.MEMORY_TROUBLE, None)
    if error is not None:
        trouble.show(error)
    dismissed: set[str] = st.session_state.setdefault(state.DISMISSED, set())
    waiting = [fact for fact in proposed if _key(thread_id, fact) not in dismissed]
    if not waiting:
        return
    known = {memory.text.casefold() for memory in mind.memories.list(limit=1_000).memories}
    waiting = [fact for fact in waiting if fact.casefold() not in known]
    if not waiting:
        return
    st.caption(f"{count(len(waiting), 'thing')} you said may be worth remembering. Nothing is kept until you say so.")
    for fact in waiting:
        _draw_one(mind, thread_id, fact, where)


def _draw_one(mind: DocMind, thread_id: str, fact: str, where: str) -> None:
    dismissal = _key(thread_id, fact)
    key = f"{where}-{dismissal}"
    with st.container(border=True, key=f"proposal-{key}", gap="xsmall"):
        st.text_input("Proposed", value=fact, max_chars=LONGEST, key=f"proposed-{key}", label_visibility="collapsed")
        with st.container(horizontal=True):
            st.button(
                "Remember here",
                key=f"here-{key}",
                icon=":material/bookmark_add:",
                help="In this conversation only",
                on_click=_accept,
                args=(mind, dismissal, f"proposed-{key}", thread_id),
            )
            st.button(
                "Everywhere",
                key=f"everywhere-{key}",
                icon=":material/bookmarks:",
                help="In every conversation",
                on_click=_accept,
                args=(mind, dismissal, f"proposed-{key}", None),
            )
            st.button("Dismiss", key=f"dismiss-{key}", type="tertiary", on_click=_dismiss, args=(dismissal,))


def _accept(mind: DocMind, dismissal: str, typed: str, scope: str | None) -> None:
    outcome = trouble.attempt(lambda: mind.memories.accept(str(st.session_state[typed]), scope))
    if isinstance(outcome, DocMindError):
        st.session_state[state.MEMORY_TROUBLE] = outcome
    else:
        _dismiss(dismissal)


def _dismiss(dismissal: str) -> None:
    st.session_state.setdefault(state.DISMISSED, set()).add(dismissal)


def _key(thread_id: str, fact: str) -> str:
    return hashlib.blake2b(f"{thread_id}\n{fact}".encode("utf-8", "replace"), digest_size=8).hexdigest()
