"""What was not read, in words."""

from __future__ import annotations

from typing import get_args

from docmind.blocks import loss_text, losses_text
from docmind.records.documents import Loss, LossKind


def test_each_kind_has_words_for_one_and_for_many() -> None:
    for kind in get_args(LossKind):
        one, many = loss_text(Loss(kind, 1)), loss_text(Loss(kind, 1_200, "page 3"))
        assert one.startswith("1 ")
        assert many.startswith("1,200 ")
        assert many.endswith(" (page 3)")
        assert one[2:] != many[6 : -len(" (page 3)")]


def test_a_long_list_ends_with_the_number_of_the_others() -> None:
    losses = [Loss("chart", 1, f"Sheet {number}") for number in range(5)]
    assert losses_text(losses, most=3) == "1 chart (Sheet 0), 1 chart (Sheet 1), 1 chart (Sheet 2), 2 others"
    assert losses_text(()) == ""
