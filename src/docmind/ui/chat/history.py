"""The history of a conversation: its questions, to view, continue, branch and compare.

Viewing an earlier point is in the address (`?at=…`) and changes nothing; the page is read-only then. Everything here is
drawn in the page itself (a column, a popover): its buttons act before the page is redrawn.

The runs of a conversation are drawn as the lines of a tree: the current branch, others beside it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from docmind.errors import DocMindError
from docmind.records.conversations import Run, Thread, ThreadView, Turn
from docmind.rich_text import escape
from docmind.ui.app import errors, state
from docmind.ui.app.format import count, when
from docmind.wording import N_, _, day_and_month, ngettext

if TYPE_CHECKING:
    from docmind.application import DocMind


@dataclass(frozen=True, slots=True)
class Line:
    """One run as the history shows it. `lane` counts from 0 and grows with each branch.

    `folded` runs follow it in its branch and are not shown. `is_branch` is set where a branch begins with it; `tip` is
    then the end of the branch that was used last, and the run itself elsewhere.
    """

    run: Run
    lane: int
    tip: str
    is_branch: bool = False
    folded: int = 0


class Lanes:
    """The tree of `runs`, in any order. A run whose parent is not among them is a root."""

    def __init__(self, runs: Sequence[Run]) -> None:
        self.by_id = {run.checkpoint_id: run for run in runs}
        self._children: dict[str | None, list[Run]] = defaultdict(list)
        for run in sorted(runs, key=lambda run: run.asked_at_ms):
            self._children[run.parent_id if run.parent_id in self.by_id else None].append(run)

    @property
    def standing(self) -> str | None:
        """The last run of the current branch; None where the conversation stands at its beginning."""
        on_way = [run for run in self.by_id.values() if run.is_current]
        parents = {run.parent_id for run in on_way}
        return next((run.checkpoint_id for run in on_way if run.checkpoint_id not in parents), None)

    @property
    def branches(self) -> int:
        """The number of paths from a root to a leaf."""
        return sum(1 for checkpoint_id in self.by_id if not self._children[checkpoint_id])

    def siblings(self, checkpoint_id: str) -> list[Run]:
        """Return the runs with the same parent, itself included, oldest first; empty if unknown."""
        run = self.by_id.get(checkpoint_id)
        if run is None:
            return []
        return self._children[run.parent_id if run.parent_id in self.by_id else None]

    def below(self, checkpoint_id: str) -> list[Run]:
        """Return the run and all that came after it, on any branch."""
        found: list[Run] = []
        waiting = [self.by_id[checkpoint_id]]
        while waiting:
            run = waiting.pop()
            found.append(run)
            waiting += self._children[run.checkpoint_id]
        return found

    def tip(self, checkpoint_id: str) -> str:
        """Return the newest leaf after this run, or the run itself."""
        ends = [run for run in self.below(checkpoint_id) if not self._children[run.checkpoint_id]]
        return max(ends, key=lambda run: run.asked_at_ms).checkpoint_id

    def lines(self, unfolded: Collection[str] = ()) -> list[Line]:
        """Return a line per run, parents first, oldest first.

        A branch is one line unless `unfolded` has its first run.
        """
        lines: list[Line] = []
        waiting: list[tuple[Run, int, bool]] = []  # run, lane, begins a branch

        def plan(parent: str | None, lane: int) -> None:
            kids = self._children[parent]
            if not kids:
                return
            onward = next((run for run in kids if run.is_current), kids[-1])
            waiting.append((onward, lane, False))
            waiting.extend((run, lane + 1, True) for run in reversed(kids) if run is not onward)

        plan(None, 0)
        while waiting:
            run, lane, is_branch = waiting.pop()
            after = len(self.below(run.checkpoint_id)) - 1 if is_branch else 0
            folded = after if run.checkpoint_id not in unfolded else 0
            tip = self.tip(run.checkpoint_id) if is_branch else run.checkpoint_id
            lines.append(Line(run, lane, tip, is_branch, folded))
            if not folded:
                plan(run.checkpoint_id, lane)
        return lines


_LINES = 30
_SIDEWAYS = 4  # lanes; deeper branches are placed below each other
_ICONS = {
    "answered": ":material/check_circle:",
    "stopped": ":material/stop_circle:",
    "unanswered": ":material/error:",
}
_NOT_FOUND = ":material/search_off:"
_MAY_ANSWER = ":material/help:"
_BRANCHES = ":material/call_split:"
_ANSWERING = ":material/hourglass_top:"
_LOOKS = Path(__file__).with_suffix(".css")
_CONTINUE, _SWITCH, _COMPARE = "continue", "switch", "compare"
_MENU = {
    _CONTINUE: (":material/play_arrow:", N_("Continue here")),
    _SWITCH: (":material/alt_route:", N_("Switch to this branch")),
    _COMPARE: (":material/compare_arrows:", N_("Compare with…")),
}
_ABOUT_CONTINUE = N_(
    "The next question follows this one. Later questions stay in the history, on a branch of their own."
)


def looking_at() -> str | None:
    """Return the earlier point that is viewed, from the address; None in the present."""
    return st.query_params.get(state.AT) or None


def banner(docmind: DocMind, view: ThreadView) -> bool:
    """Draw a banner while the page shows an earlier point, and return whether it does.

    The banner offers the ways to continue; no question can be asked there.
    """
    at = looking_at()
    lanes = Lanes(view.runs)
    if at is None or at not in lanes.by_id or at == lanes.standing:
        st.query_params.pop(state.AT, None)
        return False
    run, thread_id = lanes.by_id[at], view.thread.thread_id
    with st.container(border=True, key="past"):
        st.markdown(f":material/history: **{_('Viewing an earlier point.')}** {_('Nothing changes until you ask.')}")
        st.caption(f"{when(run.asked_at_ms)} · {escape(run.question, limit=140)}")
        with st.container(horizontal=True, gap="small"):
            st.button(
                _("Continue here"),
                key="past-continue",
                icon=":material/play_arrow:",
                type="primary",
                help=_(_ABOUT_CONTINUE),
                on_click=_go,
                args=(docmind, docmind.conversations.resume, thread_id, at),
            )
            st.button(_("Back to now"), key="past-back", icon=":material/last_page:", on_click=back_to_now)
    return True


def panel(docmind: DocMind, view: ThreadView) -> None:
    """Draw all runs of the conversation: its current branch in bold, others beside it."""
    if not view.runs:
        st.caption(_("Questions are listed here. Look back, continue from an earlier one, or compare two."))
        return
    st.html(_LOOKS)
    lanes = Lanes(view.runs)
    told = count(ngettext("{n} question", "{n} questions", len(view.runs)), len(view.runs))
    if lanes.branches > 1:
        branches = count(ngettext("{n} branch", "{n} branches", lanes.branches), lanes.branches)
        told = _("{questions} on {branches}").format(questions=told, branches=branches)
    st.caption(_("{count}. Click one to view that point.").format(count=told))
    left = _comparing(view.thread.thread_id, lanes)
    lines = lanes.lines(st.session_state.setdefault(state.UNFOLDED, set()))
    seen = looking_at() or lanes.standing
    live = docmind.conversations.all_live(view.thread.thread_id)
    answering = lanes.standing if live else None
    written = {run.turn.checkpoint_id for run in live if run.turn is not None}
    shown = lines
    if len(lines) > _LINES:
        parts = -(-len(lines) // _LINES)
        before = parts * _LINES - len(lines)  # the first part is the short one: the last holds the newest lines
        place = next((place for place, line in enumerate(lines) if line.run.checkpoint_id == seen), len(lines) - 1)
        default = (place + before) // _LINES + 1
        part = st.pagination(parts, default=default, max_visible_pages=5, key=f"history-{parts}-{seen}")
        shown = lines[max(0, (part - 1) * _LINES - before) : part * _LINES - before]
    with st.container(key="history", gap=None):
        for line in shown:
            at = line.run.checkpoint_id
            is_answering = at in written or (at == answering and line.run.state == "unanswered")
            icon = _ANSWERING if is_answering else _BRANCHES if line.is_branch else _icon(line.run)
            _draw_line(docmind, view.thread.thread_id, line, lanes.standing, seen, left, icon)


def switcher(docmind: DocMind, view: ThreadView, turn: Turn) -> None:
    """Draw `2 of 3` below a turn with alternatives, to switch to one or to compare."""
    lanes = Lanes(view.runs)
    beside = lanes.siblings(turn.checkpoint_id)
    if len(beside) < 2:
        return
    thread_id = view.thread.thread_id
    here = next(place for place, run in enumerate(beside) if run.checkpoint_id == turn.checkpoint_id)
    key = f"versions-{turn.checkpoint_id}"
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key=key):
        for step, icon, told in ((-1, "chevron_left", _("Earlier version")), (1, "chevron_right", _("Later version"))):
            other = beside[here + step] if 0 <= here + step < len(beside) else None
            st.button(
                told,
                key=f"{key}{step}",
                icon=f":material/{icon}:",
                type="tertiary",
                help=told,
                disabled=other is None or looking_at() is not None,
                on_click=_go,
                args=(
                    docmind,
                    docmind.conversations.resume,
                    thread_id,
                    lanes.tip(other.checkpoint_id) if other else "",
                ),
            )
            if step < 0:
                st.caption(_("{n} of {all}").format(n=here + 1, all=len(beside)), width="content")
        rival = beside[here - 1] if here else beside[1]
        st.button(
            _("Compare"),
            key=f"{key}-compare",
            icon=":material/compare_arrows:",
            type="tertiary",
            on_click=compare_with,
            args=(thread_id, *sorted((rival.checkpoint_id, turn.checkpoint_id), key=_age(lanes))),
        )


def back_to_now() -> None:
    """Leave the earlier point. For callbacks."""
    st.query_params.pop(state.AT, None)


def compare_with(thread_id: str, left: str, right: str) -> None:
    """Compare two runs (see `compare`); with `right` empty, the next one pressed is the other."""
    st.session_state[state.COMPARING] = (thread_id, left, right)


def _age(lanes: Lanes) -> Callable[[str], int]:
    return lambda checkpoint_id: lanes.by_id[checkpoint_id].asked_at_ms


def _go(docmind: DocMind, move: Callable[[str, str], Thread], thread_id: str, checkpoint_id: str) -> None:
    if docmind.conversations.live(thread_id) is not None:  # the move would wait for the run, and the page with it
        st.toast(_("A question is being answered. Wait for it or stop it, then try again."), icon=":material/info:")
        return
    outcome = errors.attempt(lambda: move(thread_id, checkpoint_id))
    if isinstance(outcome, DocMindError):
        errors.show(outcome)
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
    """Ask for the second run of a comparison and return the first; empty without one."""
    chosen: tuple[str, str, str] = st.session_state.get(state.COMPARING, ("", "", ""))
    if chosen[0] != thread_id or chosen[2] or chosen[1] not in lanes.by_id:
        return ""
    with st.container(border=True, key="compare-with", gap="xsmall"):
        asked = escape(lanes.by_id[chosen[1]].question, limit=60)
        st.markdown(_("Compare **{question}** with which one? Click it.").format(question=asked))
        st.button(_("Cancel"), key="comparing-cancel", on_click=_stop_comparing)
    return chosen[1]


def _stop_comparing() -> None:
    st.session_state.pop(state.COMPARING, None)


def _draw_line(
    docmind: DocMind, thread_id: str, line: Line, standing: str | None, seen: str | None, left: str, icon: str
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
        choices, menu = _choices(line, standing), f"history-menu-{run.checkpoint_id}"
        if not choices:
            return
        st.menu_button(
            _("Menu"),
            choices,
            key=menu,
            icon=":material/more_horiz:",
            type="tertiary",
            format_func=lambda choice: f"{_MENU[choice][0]} {_(_MENU[choice][1])}",
            on_click=_act,
            args=(docmind, thread_id, line, menu),
        )


def _icon(run: Run) -> str:
    if run.state != "answered":
        return _ICONS[run.state]
    return _NOT_FOUND if not run.is_found else _ICONS[run.state] if run.is_sure else _MAY_ANSWER


def _choices(line: Line, standing: str | None) -> list[str]:
    choices = [_SWITCH] if line.is_branch else []
    if line.run.checkpoint_id not in (standing, line.tip if line.is_branch else None):
        choices.append(_CONTINUE)
    if line.run.state != "unanswered":
        choices.append(_COMPARE)
    return choices


def _act(docmind: DocMind, thread_id: str, line: Line, menu: str) -> None:
    chosen, checkpoint_id = st.session_state.get(menu), line.run.checkpoint_id
    if chosen == _CONTINUE:
        _go(docmind, docmind.conversations.resume, thread_id, checkpoint_id)
    elif chosen == _SWITCH:
        _go(docmind, docmind.conversations.resume, thread_id, line.tip)
    elif chosen == _COMPARE:
        compare_with(thread_id, checkpoint_id, "")


def _fold(checkpoint_id: str) -> None:
    unfolded: set[str] = st.session_state.setdefault(state.UNFOLDED, set())
    unfolded ^= {checkpoint_id}


def _short(run: Run) -> str:
    """Format a run's time: the time of day for today's, the day for others."""
    moment = datetime.fromtimestamp(run.asked_at_ms / 1000).astimezone()
    is_today = moment.date() == datetime.now().astimezone().date()
    return f"{moment:%H:%M}" if is_today else day_and_month(moment)
