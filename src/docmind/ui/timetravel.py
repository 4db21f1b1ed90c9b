"""The history of a conversation: every question ever asked in it, to look at, to go on from, to branch, to compare.

Looking at an earlier point is in the address (`?at=…`) and changes nothing; the page is read-only then. Everything
here is drawn in the page itself (a column, a popover): its buttons act before the page is drawn anew.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from docmind.conversation import Run, Thread, ThreadView, Turn
from docmind.errors import DocMindError
from docmind.escape import escape
from docmind.ui import state, trouble
from docmind.ui.lanes import Lanes, Line
from docmind.ui.wording import count, when

if TYPE_CHECKING:
    from docmind.application import DocMind

_LINES = 30
_SIDEWAYS = 4  # lanes; deeper branches stand below each other
_ICONS = {
    "answered": ":material/check_circle:",
    "stopped": ":material/stop_circle:",
    "unanswered": ":material/error:",
}
_BRANCHES = ":material/call_split:"
_ANSWERING = ":material/hourglass_top:"
_LOOKS = Path(__file__).with_suffix(".css")
_CONTINUE, _SWITCH, _BRANCH, _COMPARE = "continue", "switch", "branch", "compare"
_MENU = {
    _CONTINUE: ":material/play_arrow: Continue here",
    _SWITCH: ":material/alt_route: Switch to this branch",
    _BRANCH: ":material/call_split: Branch here",
    _COMPARE: ":material/compare_arrows: Compare with…",
}
_ABOUT_CONTINUE = "The next question follows this one. What came after it stays in the history."
_ABOUT_BRANCH = "Begin a way of its own at this point, beside those that are there."


def looking_at() -> str | None:
    """The earlier point that is being looked at, from the address; None where the page shows the present."""
    return st.query_params.get(state.AT) or None


def banner(mind: DocMind, view: ThreadView) -> bool:
    """Whether the page shows an earlier point: then say so and offer the ways on. No question is taken there."""
    at = looking_at()
    lanes = Lanes(view.runs)
    if at is None or at not in lanes.by_id or at == lanes.standing:
        st.query_params.pop(state.AT, None)
        return False
    run, thread_id = lanes.by_id[at], view.thread.thread_id
    with st.container(border=True, key="past"):
        st.markdown(":material/history: **You are looking at an earlier point.** Nothing is changed by looking.")
        st.caption(f"{when(run.asked_at_ms)} · {escape(run.question, limit=140)}")
        with st.container(horizontal=True, gap="small"):
            st.button(
                "Continue here",
                key="past-continue",
                icon=":material/play_arrow:",
                type="primary",
                help=_ABOUT_CONTINUE,
                on_click=_go,
                args=(mind, mind.conversations.resume, thread_id, at),
            )
            st.button(
                "Branch here",
                key="past-branch",
                icon=":material/call_split:",
                help=_ABOUT_BRANCH,
                on_click=_go,
                args=(mind, mind.conversations.fork, thread_id, at),
            )
            st.button("Back to now", key="past-back", icon=":material/last_page:", on_click=back_to_now)
    return True


def panel(mind: DocMind, view: ThreadView) -> None:
    """All runs of the conversation, the way to where it stands in bold, branches to the side of it."""
    if not view.runs:
        st.caption("Every question will be kept here: you can look back, go on from an earlier one, and compare.")
        return
    st.html(_LOOKS)
    lanes = Lanes(view.runs)
    told = count(len(view.runs), "question")
    if lanes.branches > 1:
        told += f" on {count(lanes.branches, 'branch', 'branches')}"
    st.caption(f"{told}. Press one to look at that point.")
    left = _comparing(view.thread.thread_id, lanes)
    lines = lanes.lines(st.session_state.setdefault(state.UNFOLDED, set()))
    seen = looking_at() or lanes.standing
    answering = lanes.standing if mind.conversations.live(view.thread.thread_id) is not None else None
    shown = lines
    if len(lines) > _LINES:
        parts = -(-len(lines) // _LINES)
        before = parts * _LINES - len(lines)  # the first part is the short one: the last holds what is recent
        place = next((place for place, line in enumerate(lines) if line.run.checkpoint_id == seen), len(lines) - 1)
        default = (place + before) // _LINES + 1
        part = st.pagination(parts, default=default, max_visible_pages=5, key=f"history-{parts}-{seen}")
        shown = lines[max(0, (part - 1) * _LINES - before) : part * _LINES - before]
    with st.container(key="history", gap=None):
        for line in shown:
            is_answering = line.run.checkpoint_id == answering and line.run.state == "unanswered"
            icon = _ANSWERING if is_answering else _BRANCHES if line.is_branch else _ICONS[line.run.state]
            _draw_line(mind, view.thread.thread_id, line, lanes.standing, seen, left, icon)


def switcher(mind: DocMind, view: ThreadView, turn: Turn) -> None:
    """`2 of 3` beneath a turn that has others beside it, to go to those or compare with one; nothing for others."""
    lanes = Lanes(view.runs)
    beside = lanes.siblings(turn.checkpoint_id)
    if len(beside) < 2:
        return
    thread_id = view.thread.thread_id
    here = next(place for place, run in enumerate(beside) if run.checkpoint_id == turn.checkpoint_id)
    key = f"versions-{turn.checkpoint_id}"
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key=key):
        for step, icon, told in ((-1, "chevron_left", "Earlier version"), (1, "chevron_right", "Later version")):
            other = beside[here + step] if 0 <= here + step < len(beside) else None
            st.button(
                "",
                key=f"{key}{step}",
                icon=f":material/{icon}:",
                type="tertiary",
                help=told,
                disabled=other is None or looking_at() is not None,
                on_click=_go,
                args=(mind, mind.conversations.resume, thread_id, lanes.tip(other.checkpoint_id) if other else ""),
            )
            if step < 0:
                st.caption(f"{here + 1} of {len(beside)}", width="content")
        rival = beside[here - 1] if here else beside[1]
        st.button(
            "Compare",
            key=f"{key}-compare",
            icon=":material/compare_arrows:",
            type="tertiary",
            on_click=compare_with,
            args=(thread_id, *sorted((rival.checkpoint_id, turn.checkpoint_id), key=_age(lanes))),
        )


def back_to_now() -> None:
    """Leave the earlier point; made for callbacks."""
    st.query_params.pop(state.AT, None)


def compare_with(thread_id: str, left: str, right: str) -> None:
    """Put two runs side by side (see `compare`); with `right` empty, the next one that is pressed is the other."""
    st.session_state[state.COMPARING] = (thread_id, left, right)


def _age(lanes: Lanes) -> Callable[[str], int]:
    return lambda checkpoint_id: lanes.by_id[checkpoint_id].asked_at_ms


def _go(mind: DocMind, move: Callable[[str, str], Thread], thread_id: str, checkpoint_id: str) -> None:
    if mind.conversations.live(thread_id) is not None:  # moving would wait for it, and the page with it
        st.toast("A question is being answered. Wait for it, or stop it, and try again.", icon=":material/info:")
        return
    outcome = trouble.attempt(lambda: move(thread_id, checkpoint_id))
    if isinstance(outcome, DocMindError):
        trouble.show(outcome)
    else:
        back_to_now()


def _look(thread_id: str, checkpoint_id: str, standing: str | None) -> None:
    chosen: tuple[str, str, str] | None = st.session_state.get(state.COMPARING)
    if chosen is not None and chosen[0] == thread_id and not chosen[2] and chosen[1] != checkpoint_id:
        compare_with(thread_id, chosen[1], checkpoint_id)
    elif checkpoint_id == standing:
        back_to_now()
    else:
        st.query_params[state.AT] = checkpoint_id


def _comparing(thread_id: str, lanes: Lanes) -> str:
    """The run that waits for another to be compared with; told above the lines. Empty where none does."""
    chosen: tuple[str, str, str] = st.session_state.get(state.COMPARING, ("", "", ""))
    if chosen[0] != thread_id or chosen[2] or chosen[1] not in lanes.by_id:
        return ""
    with st.container(border=True, key="compare-with", gap="xsmall"):
        st.markdown(f"Compare **{escape(lanes.by_id[chosen[1]].question, limit=60)}** with which? Press the other one.")
        st.button("Cancel", key="comparing-cancel", on_click=_stop_comparing)
    return chosen[1]


def _stop_comparing() -> None:
    st.session_state.pop(state.COMPARING, None)


def _draw_line(
    mind: DocMind, thread_id: str, line: Line, standing: str | None, seen: str | None, left: str, icon: str
) -> None:
    run = line.run
    is_here = run.checkpoint_id == seen
    key = f"{'seen-' if is_here else ''}lane-{min(line.lane, _SIDEWAYS)}-{run.checkpoint_id}"
    with st.container(horizontal=True, vertical_alignment="center", gap=None, key=key):
        words = escape(run.question, limit=90) or "…"
        st.button(
            f"**{words}**" if run.is_current else words,
            key=f"look-{run.checkpoint_id}",
            icon=icon,
            type="tertiary",
            width="stretch",
            wrap=False,
            disabled=run.checkpoint_id == left,
            on_click=_look,
            args=(thread_id, run.checkpoint_id, standing),
        )
        if line.is_branch and (line.folded or line.tip != run.checkpoint_id):
            st.button(
                f"+{line.folded}" if line.folded else "",
                key=f"fold-{run.checkpoint_id}",
                icon=":material/unfold_more:" if line.folded else ":material/unfold_less:",
                type="tertiary",
                on_click=_fold,
                args=(run.checkpoint_id,),
            )
        st.caption("now" if run.checkpoint_id == standing else _short(run), width="content")
        menu = f"history-menu-{run.checkpoint_id}"
        st.menu_button(
            "Menu",
            _choices(line, standing),
            key=menu,
            icon=":material/more_horiz:",
            type="tertiary",
            format_func=_MENU.__getitem__,
            on_click=_act,
            args=(mind, thread_id, line, menu),
        )


def _choices(line: Line, standing: str | None) -> list[str]:
    choices = [_SWITCH] if line.is_branch else []
    if line.run.checkpoint_id not in (standing, line.tip if line.is_branch else None):
        choices.append(_CONTINUE)
    choices.append(_BRANCH)
    if line.run.state != "unanswered":
        choices.append(_COMPARE)
    return choices


def _act(mind: DocMind, thread_id: str, line: Line, menu: str) -> None:
    chosen, checkpoint_id = st.session_state.get(menu), line.run.checkpoint_id
    if chosen == _CONTINUE:
        _go(mind, mind.conversations.resume, thread_id, checkpoint_id)
    elif chosen == _SWITCH:
        _go(mind, mind.conversations.resume, thread_id, line.tip)
    elif chosen == _BRANCH:
        _go(mind, mind.conversations.fork, thread_id, checkpoint_id)
    elif chosen == _COMPARE:
        compare_with(thread_id, checkpoint_id, "")


def _fold(checkpoint_id: str) -> None:
    unfolded: set[str] = st.session_state.setdefault(state.UNFOLDED, set())
    unfolded ^= {checkpoint_id}


def _short(run: Run) -> str:
    """The time of day for today's, the day for others."""
    moment = datetime.fromtimestamp(run.asked_at_ms / 1000).astimezone()
    is_today = moment.date() == datetime.now().astimezone().date()
    return f"{moment:%H:%M}" if is_today else f"{moment.day} {moment:%b}"
