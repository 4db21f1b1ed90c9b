"""The panel of memories: proposals to accept; memories to find, edit, merge and erase.

Facts that a conversation proposes to remember are stored only when they are accepted.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import streamlit as st

from docmind.errors import DocMindError
from docmind.memory import LONGEST
from docmind.records.conversations import Memory
from docmind.rich_text import escape
from docmind.ui.app import errors, state
from docmind.ui.app.format import count, when
from docmind.wording import N_, _, ngettext

if TYPE_CHECKING:
    from collections.abc import Callable

    from docmind.application import DocMind


_TURNS = 30  # last turns of a conversation whose proposals are shown


def of_thread(docmind: DocMind, thread_id: str) -> tuple[str, ...]:
    """Return what the last turns of a conversation propose, newest first, without duplicates."""
    turns = docmind.conversations.view(thread_id, last=_TURNS).turns
    return tuple(dict.fromkeys(fact for turn in reversed(turns) for fact in turn.memories))


def draw_proposals(docmind: DocMind, thread_id: str, proposed: Iterable[str], *, where: str = "turn") -> None:
    """Draw a row with actions for each fact that is neither stored nor dismissed.

    `where` distinguishes places of one page that may show the same proposal.
    """
    error: DocMindError | None = st.session_state.pop(state.MEMORY_TROUBLE, None)
    if error is not None:
        errors.show(error)
    dismissed: set[str] = st.session_state.setdefault(state.DISMISSED, set())
    waiting = [fact for fact in proposed if _key(thread_id, fact) not in dismissed]
    if not waiting:
        return
    known = {memory.text.casefold() for memory in docmind.memories.list(limit=1_000).memories}
    waiting = [fact for fact in waiting if fact.casefold() not in known]
    if not waiting:
        return
    st.caption(_("Save this to memory?"))
    for fact in waiting:
        _draw_one(docmind, thread_id, fact, where)


def _draw_one(docmind: DocMind, thread_id: str, fact: str, where: str) -> None:
    dismissal = _key(thread_id, fact)
    key = f"{where}-{dismissal}"
    with st.container(border=True, key=f"proposal-{key}", gap="xsmall"):
        st.text_input(_("Proposed"), value=fact, max_chars=LONGEST, key=f"proposed-{key}", label_visibility="collapsed")
        with st.container(horizontal=True):
            st.button(
                _("This conversation only"),
                key=f"here-{key}",
                icon=":material/bookmark_add:",
                on_click=_accept,
                args=(docmind, dismissal, f"proposed-{key}", thread_id),
            )
            st.button(
                _("All conversations"),
                key=f"everywhere-{key}",
                icon=":material/bookmarks:",
                on_click=_accept,
                args=(docmind, dismissal, f"proposed-{key}", None),
            )
            st.button(_("Dismiss"), key=f"dismiss-{key}", type="tertiary", on_click=_dismiss, args=(dismissal,))


def _accept(docmind: DocMind, dismissal: str, typed: str, scope: str | None) -> None:
    outcome = errors.attempt(lambda: docmind.memories.accept(str(st.session_state[typed]), scope))
    if isinstance(outcome, DocMindError):
        st.session_state[state.MEMORY_TROUBLE] = outcome
    else:
        _dismiss(dismissal)


def _dismiss(dismissal: str) -> None:
    st.session_state.setdefault(state.DISMISSED, set()).add(dismissal)


def _key(thread_id: str, fact: str) -> str:
    return hashlib.blake2b(f"{thread_id}\n{fact}".encode("utf-8", "replace"), digest_size=8).hexdigest()


_ROWS = 25
_MOST = 10_000  # memories that the panel pages through; a search finds the others
_FIND_FROM = 5  # memories; with fewer there is no search field
_HERE, _EVERYWHERE, _ALL = N_("This conversation"), N_("Everywhere"), N_("All conversations")
_BOTH = N_("This conversation and everywhere")
_ADDED = "memory-new"
_FOR = "memory-for"
_MERGED = "memory-merged"


def memories_panel(docmind: DocMind, thread_id: str | None, proposed: Sequence[str] | None = None) -> None:
    """Draw the panel; `thread_id` is None where no conversation has begun.

    `proposed` are the facts that the displayed turns propose; they are looked up where it is None.
    """
    _draw_trouble()
    _draw_undo(docmind)
    if thread_id is not None:
        waiting = of_thread(docmind, thread_id) if proposed is None else proposed
        draw_proposals(docmind, thread_id, waiting, where="panel")
    everything = docmind.memories.list(limit=_MOST).memories
    _draw_adding(docmind, thread_id)
    if not everything:
        _teach()
        return
    shown = _draw_list(docmind, thread_id, everything)
    _draw_merging(docmind, shown)
    _draw_purge(docmind, thread_id, everything)


def _draw_trouble() -> None:
    error: DocMindError | None = st.session_state.pop(state.MEMORY_TROUBLE, None)
    if error is not None:
        errors.show(error)


def _draw_undo(docmind: DocMind) -> None:
    gone: Memory | None = st.session_state.get(state.FORGOTTEN)
    if gone is None:
        return
    with st.container(border=True, horizontal=True, vertical_alignment="center", key="memory-undo"):
        st.markdown(_("Forgotten: {text}").format(text=escape(gone.text, limit=80)))
        st.button(
            _("Undo"), key="memory-undo-button", icon=":material/undo:", on_click=_bring_back, args=(docmind, gone)
        )


def _draw_adding(docmind: DocMind, thread_id: str | None) -> None:
    st.text_input(_("Remember"), key=_ADDED, max_chars=LONGEST, placeholder=_("Our fiscal year starts in April"))
    with st.container(horizontal=True, vertical_alignment="center", key="memory-adding"):
        if thread_id is not None:
            st.selectbox(_("For"), [_EVERYWHERE, _HERE], key=_FOR, format_func=_, label_visibility="collapsed")
        st.button(_("Add"), key="memory-add", icon=":material/add:", on_click=_add, args=(docmind, thread_id))


def _teach() -> None:
    st.markdown(_("**Nothing is remembered yet.**"))
    st.write(
        _(
            "Facts you keep here are taken into account when a question has to do with them: what “the "
            "contract” stands for, who is who, when your fiscal year starts, how you like answers. Add "
            "one above, or tell DocMind in a conversation: “Remember that our fiscal year starts in "
            "April.” What you only mention, it proposes."
        )
    )
    st.caption(_("They are encrypted, and you can correct or delete each of them at any time."))


def _draw_list(docmind: DocMind, thread_id: str | None, everything: Sequence[Memory]) -> Sequence[Memory]:
    """Draw the rows of one scope, filtered by the search; return the memories shown."""
    mine = [memory for memory in everything if memory.thread_id in (None, thread_id)]
    sought = ""
    scope = None
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if len(everything) >= _FIND_FROM:
            sought = st.text_input(
                _("Find"), key=state.FIND_MEMORY, placeholder=_("Words or meaning"), icon=":material/search:", live=True
            )
        if len(mine) < len(everything):
            scope = st.selectbox(_("Of"), [_BOTH, _ALL], key="memory-of", format_func=_, width=270)
    if sought:
        found = docmind.memories.list(sought)
        for degraded in found.degraded:
            st.caption(f":material/info: {escape(degraded.reason)}")
        everything = found.memories
    shown = [memory for memory in everything if scope == _ALL or memory.thread_id in (None, thread_id)]
    if not shown:
        st.caption(
            _("No memory is about that.") if sought else _("Nothing is remembered here; other conversations have some.")
        )
        return ()
    first = 0
    if len(shown) > _ROWS:
        first = (st.pagination(-(-len(shown) // _ROWS), key="memory-part") - 1) * _ROWS
    shown = shown[first : first + _ROWS]
    if len(shown) > 1:
        st.caption(_("Tick two or more to merge them."))
    for memory in shown:
        if st.session_state.get(state.EDITING_MEMORY) == memory.memory_id:
            _draw_edited(docmind, memory)
        else:
            _draw_row(docmind, memory, thread_id, can_merge=len(shown) > 1)
    return shown


def _draw_row(docmind: DocMind, memory: Memory, thread_id: str | None, *, can_merge: bool) -> None:
    scope = (
        _(_EVERYWHERE)
        if memory.thread_id is None
        else _(_HERE)
        if memory.thread_id == thread_id
        else _("Another conversation")
    )
    name = escape(memory.text, limit=60)
    with st.container(border=True, horizontal=True, vertical_alignment="center", key=f"memory-{memory.memory_id}"):
        if can_merge:
            st.checkbox(
                _("Choose {name}").format(name=name), key=_pick(memory), label_visibility="collapsed", width="content"
            )
        with st.container(gap=None):
            st.markdown(escape(memory.text))
            st.caption(f"{scope} · {when(memory.updated_at_ms)}")
        st.button(
            _("Correct {name}").format(name=name),
            key=f"edit-memory-{memory.memory_id}",
            icon=":material/edit:",
            type="tertiary",
            help=_("Correct {name}").format(name=name),
            on_click=_edit,
            args=(memory.memory_id,),
        )
        st.button(
            _("Forget {name}").format(name=name),
            key=f"forget-memory-{memory.memory_id}",
            icon=":material/delete:",
            type="tertiary",
            help=_("Forget {name}").format(name=name),
            on_click=_remove,
            args=(docmind, memory),
        )


def _draw_edited(docmind: DocMind, memory: Memory) -> None:
    key = f"memory-text-{memory.memory_id}"
    with st.container(border=True, key=f"memory-{memory.memory_id}", gap="xsmall"):
        st.text_area(_("What it says"), value=memory.text, key=key, max_chars=LONGEST, height="content")
        with st.container(horizontal=True, horizontal_alignment="right"):
            st.button(_("Cancel"), key="memory-cancel", on_click=_edit, args=(None,))
            st.button(
                _("Save"), key="memory-save", type="primary", on_click=_save, args=(docmind, memory.memory_id, key)
            )


def _draw_merging(docmind: DocMind, shown: Sequence[Memory]) -> None:
    chosen = [memory for memory in shown if st.session_state.get(_pick(memory))]
    if len(chosen) < 2:
        return
    ids = tuple(memory.memory_id for memory in chosen)
    with st.container(border=True, key="memory-merging", gap="xsmall"):
        st.text_area(
            _("Merge {count} into").format(
                count=count(ngettext("{n} memory", "{n} memories", len(chosen)), len(chosen))
            ),
            value=". ".join(memory.text.rstrip(" .") for memory in chosen)[:LONGEST],
            key=f"{_MERGED}-{'-'.join(one[:8] for one in ids)}",
            max_chars=LONGEST,
            height="content",
        )
        st.button(
            _("Merge"),
            key="memory-merge",
            type="primary",
            icon=":material/merge:",
            on_click=_merge,
            args=(docmind, ids),
        )


def _draw_purge(docmind: DocMind, thread_id: str | None, everything: Sequence[Memory]) -> None:
    here = [memory for memory in everything if memory.thread_id == thread_id] if thread_id is not None else []
    asked = st.session_state.get(state.PURGING_MEMORIES)
    if asked is None:
        with st.container(horizontal=True):
            if here:
                _erase_button(_("Erase those of this conversation"), _HERE)
            _erase_button(_("Erase everything"), _EVERYWHERE)
        return
    scope, members = (thread_id, here) if asked == _HERE else (None, everything)
    with st.container(border=True, key="memory-purge", gap="xsmall"):
        what = _("of this conversation") if asked == _HERE else _("of your library and all its conversations")
        st.markdown(
            _("Erase **{count}** {what} for good?").format(
                count=count(ngettext("{n} memory", "{n} memories", len(members)), len(members)), what=what
            )
        )
        st.caption(_("They are deleted completely. This cannot be undone. Conversations keep what was said."))
        with st.container(horizontal=True, horizontal_alignment="right"):
            st.button(_("Keep them"), key="memory-keep", on_click=_ask_purge, args=(None,))
            st.button(
                _("Erase for good"),
                key="memory-erase",
                type="primary",
                icon=":material/delete_forever:",
                on_click=_erase,
                args=(docmind, scope),
            )


def _erase_button(label: str, scope: str) -> None:
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
    """Run an action and return whether it succeeded; the next drawing shows its error.

    A new action ends the offer to undo the previous one.
    """
    st.session_state.pop(state.FORGOTTEN, None)
    outcome = errors.attempt(work)
    if isinstance(outcome, DocMindError):
        st.session_state[state.MEMORY_TROUBLE] = outcome
        return False
    return True


def _add(docmind: DocMind, thread_id: str | None) -> None:
    scope = thread_id if st.session_state.get(_FOR) == _HERE else None
    if _done(lambda: docmind.memories.add(st.session_state[_ADDED], thread_id=scope)):
        st.session_state[_ADDED] = ""


def _bring_back(docmind: DocMind, gone: Memory) -> None:
    _done(lambda: docmind.memories.add(gone.text, thread_id=gone.thread_id))


def _edit(memory_id: str | None) -> None:
    st.session_state[state.EDITING_MEMORY] = memory_id


def _save(docmind: DocMind, memory_id: str, key: str) -> None:
    if _done(lambda: docmind.memories.edit(memory_id, st.session_state[key])):
        _edit(None)


def _remove(docmind: DocMind, memory: Memory) -> None:
    if _done(lambda: docmind.memories.remove(memory.memory_id)):
        st.session_state[state.FORGOTTEN] = memory


def _merge(docmind: DocMind, ids: Sequence[str]) -> None:
    text = st.session_state[f"{_MERGED}-{'-'.join(one[:8] for one in ids)}"]
    if _done(lambda: docmind.memories.merge(ids, text)):
        for memory_id in ids:
            st.session_state[f"pick-memory-{memory_id}"] = False


def _ask_purge(scope: str | None) -> None:
    st.session_state[state.PURGING_MEMORIES] = scope


def _erase(docmind: DocMind, scope: str | None) -> None:
    if _done(lambda: docmind.memories.erase(thread_id=scope)):
        _ask_purge(None)
