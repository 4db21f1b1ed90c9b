"""Stored conversations read back: the turns of one branch, and the tree of all runs.

A question is one checkpoint, and its answer is the next, a child of the question. A branch without a question yet is a
checkpoint that repeats its parent's state; the first checkpoint of a thread is one of these, so that even the first
question can be asked again beside itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from docmind.conversations.checkpoints import Saved
from docmind.conversations.state import (
    answer_of,
    filters_of,
    nearest_of,
    query_of,
    question_of,
    search_words_of,
    web_of,
)
from docmind.documents import Catalog
from docmind.errors import NotFoundError
from docmind.records.conversations import Run, Turn, TurnState
from docmind.records.query import Query
from docmind.wording import _

_ASKED = "branch:to:contextualise"  # LangGraph's channel: the first step runs next
Kind = Literal["question", "answer", "branch"]


class History:
    """All checkpoints of one thread, oldest first. Immutable."""

    def __init__(
        self,
        thread_id: str | None,
        saved: Sequence[Saved],
        catalog: Catalog | None = None,
    ) -> None:
        """Set up; with the catalog, sources tell whether their documents are in the library still."""
        self._thread_id, self._catalog = thread_id, catalog
        self._saved = {point.checkpoint_id: point for point in saved}
        tried = [point for point in saved if _kind(point) == "answer"]
        self._tried = {point.parent_id for point in tried}
        self._answered = {point.parent_id for point in tried if point.values.get("answer")}

    def __contains__(self, checkpoint_id: str) -> bool:
        return checkpoint_id in self._saved

    def way(self, checkpoint_id: str | None) -> list[Saved]:
        """Return the turns from the start to a checkpoint, as the last checkpoint of each.

        Raises `NotFoundError`.
        """
        if checkpoint_id is None:
            return []
        if checkpoint_id not in self._saved:
            raise NotFoundError(
                _("This conversation has no such point."),
                hint=_("Run `docmind threads show` to see the points it has."),
            )
        way: list[Saved] = []
        at = self._saved.get(checkpoint_id)
        while at is not None:
            if _kind(at) != "branch":
                way.append(at)
            if _kind(at) == "answer":  # its parent is its own question
                at = self._saved.get(at.parent_id or "")
            at = self._saved.get(at.parent_id or "") if at is not None else None
        return way[::-1]

    def turns(self, checkpoint_id: str | None, last: int | None = None) -> tuple[list[Turn], int]:
        """Return the turns up to a checkpoint, oldest first, and how many earlier ones were left out."""
        way = self.way(checkpoint_id)
        shown = way if last is None else way[max(0, len(way) - last) :]
        return [self.turn(point) for point in shown], len(way) - len(shown)

    def turn_at(self, checkpoint_id: str | None) -> Turn:
        """Return the last turn up to a checkpoint.

        Raises `NotFoundError` where nothing was asked before it.
        """
        return self.turn(self._last(checkpoint_id))

    def query_at(self, checkpoint_id: str | None) -> Query:
        """Return what the last turn up to a checkpoint asked. Raises as `turn_at`."""
        question = self._last(checkpoint_id).values["question"]
        return query_of(question)

    def _last(self, checkpoint_id: str | None) -> Saved:
        way = self.way(checkpoint_id)
        if not way:
            raise NotFoundError(_("There is no question at this point."), hint=_("Ask a question first."))
        return way[-1]

    def turn(self, point: Saved) -> Turn:
        """Build the turn of a checkpoint."""
        values = point.values
        question, written, plain = (values.get(name) for name in ("question", "written", "answer"))
        assert question is not None
        answer = answer_of(plain, question_of(values), self._thread_id, point.checkpoint_id) if plain else None
        if answer is not None and answer.doc_ids and self._catalog is not None:
            answer = answer.with_source_places(
                self._catalog.gone(answer.doc_ids), self._catalog.provenance_of(answer.doc_ids)
            )
        nearest = nearest_of(plain) if plain else ()
        if nearest and self._catalog is not None:
            nearest = self._catalog.with_provenance(nearest)
        failure = (written or {}).get("failure") or ["", ""]
        found = values.get("found") or {}
        return Turn(
            checkpoint_id=point.checkpoint_id,
            before_id=self.question_of(point).parent_id,
            question=question_of(values),
            asked_at_ms=question["asked_at_ms"],
            state=_state(point),
            answer=answer,
            asked_as=_search_words(values),
            completed=(values.get("asked") or {}).get("completed", ""),
            mode=question["mode"],
            filters=filters_of(question["filters"]),
            lists=tuple(question.get("lists") or ()),
            nearest=nearest,
            recalled=tuple(found.get("recalled", ())),
            memories=tuple(values.get("memories") or ()),
            web=web_of((written or {}).get("web") or []),
            message=failure[0],
            hint=failure[1],
        )

    def question_of(self, point: Saved) -> Saved:
        """Return the checkpoint in which the question of a turn was stored."""
        if _kind(point) == "answer" and point.parent_id in self._saved:
            return self._saved[point.parent_id]
        return point

    def asked_id(self, checkpoint_id: str) -> str:
        """Return the id of the checkpoint that holds the question of a turn."""
        return self.question_of(self._saved[checkpoint_id]).checkpoint_id

    def words(self) -> str:
        """Return all questions and answers of the thread as text, on any branch."""
        said = [point for point in self._saved.values() if self._is_told(point)]
        return "\n".join(
            f"{question_of(point.values)}\n{(point.values.get('answer') or {}).get('answer', '')}" for point in said
        )

    def runs(self, head: str | None) -> tuple[Run, ...]:
        """Return every turn, oldest first; a question that a later try answered is listed once."""
        current = {point.checkpoint_id for point in self.way(head)} if head in self._saved else set()
        shown = [point for point in self._saved.values() if self._is_told(point)]
        return tuple(
            Run(
                checkpoint_id=point.checkpoint_id,
                parent_id=self._turn_before(point),
                question=question_of(point.values),
                asked_at_ms=point.values["question"]["asked_at_ms"],
                state=_state(point),
                is_current=point.checkpoint_id in current,
                is_found=not _is_missing(point),
                is_sure=(point.values.get("answer") or {}).get("outcome") != "maybe",
            )
            for point in shown
        )

    def _is_told(self, point: Saved) -> bool:
        kind = _kind(point)
        if kind == "branch":
            return False
        if kind == "question":
            return point.checkpoint_id not in self._tried
        return bool(point.values.get("answer")) or point.parent_id not in self._answered

    def _turn_before(self, point: Saved) -> str | None:
        at = self._saved.get(self.question_of(point).parent_id or "")
        while at is not None and _kind(at) == "branch":
            at = self._saved.get(at.parent_id or "")
        return at.checkpoint_id if at is not None else None


def _is_missing(point: Saved) -> bool:
    """Tell whether the answer only says that nothing was found; as older ones, without an outcome, do."""
    plain = point.values.get("answer")
    if not plain or plain["found"] or plain["model"]:
        return False
    return plain.get("outcome", "not found") == "not found" and _state(point) == "answered"


def _search_words(values: Mapping[str, Any]) -> str:
    """Return what was searched for where earlier turns or a remembered definition changed it; empty otherwise."""
    if values.get("asked") is None:
        return ""
    search_words = search_words_of(values)
    is_changed = values["asked"]["is_contextual"] or search_words != " ".join(question_of(values).split())
    return search_words if is_changed else ""


def _kind(point: Saved) -> Kind:
    if _ASKED in point.values:
        return "question"
    return "answer" if point.metadata.get("source") == "loop" else "branch"


def _state(point: Saved) -> TurnState:
    if _kind(point) == "question" or not point.values.get("answer"):
        return "unanswered"
    return "stopped" if (point.values.get("written") or {}).get("is_stopped") else "answered"
