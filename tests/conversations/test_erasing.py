"""What erasing takes out of a stored state, and what it leaves."""

from __future__ import annotations

from docmind.conversations.erasing import Erasing
from docmind.conversations.runs import Runs
from docmind.conversations.state import answer_of, plain_answer
from docmind.records.answers import Answer
from docmind.records.listings import ListedDocument, Listing


class OneState:
    """A conversation with one state, as `Checkpoints` gives it to an erasure."""

    def __init__(self, values: dict[str, object]) -> None:
        self.values = values

    def threads(self) -> list[str]:
        return ["t"]

    def channels(self, _thread_id: str, _is_wanted: object) -> list[tuple[str, dict[str, object]]]:
        return [("place", self.values)]

    def rewrite(self, _place: str, channels: dict[str, object]) -> None:
        self.values = channels


def test_a_list_does_not_name_an_erased_document_that_it_left_out() -> None:
    reason = "Documents that aren't read yet, or couldn't be, are left out: secret plan.pdf."
    listing = Listing("dates", "", 1, (ListedDocument("other", "diary.txt", 1),), 4, False, (reason,))
    answer = Answer("List all dates", "1 date, in diary.txt:", False, outcome="list", listing=listing)
    state = OneState({"answer": plain_answer(answer)})
    erasing = Erasing(checkpoints=state, runs=Runs())  # type: ignore[arg-type]
    assert erasing.left("gone", ["secret plan.pdf"]) == 1
    assert erasing.erase("gone", ["secret plan.pdf"]) == 1
    kept = answer_of(state.values["answer"], "List all dates", None, None)  # type: ignore[arg-type]
    assert kept.listing is not None
    assert kept.listing.documents == listing.documents
    assert kept.listing.unread == (reason.replace("secret plan.pdf", "(erased)"),)
    assert erasing.left("gone", ["secret plan.pdf"]) == 0
