"""Whether a row of a table may tell what is asked."""

from __future__ import annotations

from docmind.answers.row_columns import may_tell
from each import each_of

HEADER = "Name | Town | Since | Fee | Closed"
ROW = "Greta Olsen | Marstal | 2012 | 180 | "


@each_of(
    "question, is_told",
    [
        ("What is the fee of Greta Olsen?", True),
        ("What does Greta Olsen cost?", True),
        ("Who lives in Marstal?", True),
        ("Where does Greta Olsen live?", True),
        ("How heavy is Greta Olsen?", False),
        ("What is the bonus of Greta Olsen?", False),
        ("What does Greta Olsen collect?", False),
        ("Who teaches Greta Olsen?", False),
        ("When does Greta Olsen arrive?", False),
        ("When was Greta Olsen closed?", False),
    ],
)
def test_what_a_row_may_tell(question: str, is_told: bool) -> None:
    assert may_tell(question, HEADER, ROW, "members") is is_told


def test_what_something_costs_is_an_amount_of_money() -> None:
    header, row = "Class | Day | Trainer | Places", "Yoga | Monday | Lia Costa | 20"
    assert not may_tell("What does a yoga class cost?", header, row, "gym")
    assert may_tell("What does a yoga class cost?", f"{header} | Fee", f"{row} | 12", "gym")


def test_where_something_is_needs_a_place() -> None:
    assert may_tell("Where is the yoga class?", "Class | Room", "Yoga | Studio 1", "gym")
    assert not may_tell("Where is the yoga class?", "Class | Trainer", "Yoga | Lia Costa", "gym")
