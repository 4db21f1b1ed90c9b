"""The tree of a conversation's runs as lines to read: the way to where it stands straight down, branches beside it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from docmind.conversation import Run


@dataclass(frozen=True, slots=True)
class Line:
    """One run as the history shows it. `lane` counts from 0, further to the side with each branch.

    `folded` runs follow it in its branch and are not shown. `is_branch` where a branch begins with it; `tip` is then
    the end of the branch that was used last, and the run itself elsewhere.
    """

    run: Run
    lane: int
    tip: str
    is_branch: bool = False
    folded: int = 0


class Lanes:
    """The tree of `runs`, in any order. A run whose parent is not among them is a beginning."""

    def __init__(self, runs: Sequence[Run]) -> None:
        self.by_id = {run.checkpoint_id: run for run in runs}
        self._children: dict[str | None, list[Run]] = defaultdict(list)
        for run in sorted(runs, key=lambda run: run.asked_at_ms):
            self._children[run.parent_id if run.parent_id in self.by_id else None].append(run)

    @property
    def standing(self) -> str | None:
        """The last run on the way to where the conversation stands; None where it stands at its beginning."""
        on_way = [run for run in self.by_id.values() if run.is_current]
        parents = {run.parent_id for run in on_way}
        return next((run.checkpoint_id for run in on_way if run.checkpoint_id not in parents), None)

    @property
    def branches(self) -> int:
        """How many ways there are from a beginning to an end."""
        return sum(1 for checkpoint_id in self.by_id if not self._children[checkpoint_id])

    def siblings(self, checkpoint_id: str) -> list[Run]:
        """The runs that begin where this one does, itself too, oldest first; empty for one that is not known."""
        run = self.by_id.get(checkpoint_id)
        if run is None:
            return []
        return self._children[run.parent_id if run.parent_id in self.by_id else None]

    def below(self, checkpoint_id: str) -> list[Run]:
        """The run and all that came after it, on any branch."""
        found: list[Run] = []
        waiting = [self.by_id[checkpoint_id]]
        while waiting:
            run = waiting.pop()
            found.append(run)
            waiting += self._children[run.checkpoint_id]
        return found

    def tip(self, checkpoint_id: str) -> str:
        """The end that was reached last after this run, or the run itself."""
        ends = [run for run in self.below(checkpoint_id) if not self._children[run.checkpoint_id]]
        return max(ends, key=lambda run: run.asked_at_ms).checkpoint_id

    def lines(self, unfolded: Collection[str] = ()) -> list[Line]:
        """Every run after its parent, oldest first. A branch is one line, unless its first run is `unfolded`."""
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
