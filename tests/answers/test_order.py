"""The order of quotes: each once, also where several have one lead."""

import numpy as np

from docmind.answers.evidence import Unit
from docmind.answers.order import order_of, overlap
from docmind.answers.passages import Passage

PAGE = "Fees of the pool:\n- ten visits 45 euros\n- the season 60 euros"
LEAD = (0, 17)


def unit(start: int, end: int, lead: tuple[int, int] | None = None, page: int = 0) -> Unit:
    passage = Passage(start, end, lead)
    return Unit(page, passage, "", passage.text(PAGE), np.zeros(0), np.zeros(0))


WHOLE, VISITS, SEASON = unit(0, 59), unit(18, 40, LEAD), unit(41, 59, LEAD)


def test_items_below_one_lead_are_quoted_beside_each_other() -> None:
    assert order_of([VISITS, SEASON], np.array([2.0, 1.0]), 5) == [0, 1]


def test_what_a_quote_has_is_not_quoted_again() -> None:
    assert order_of([WHOLE, VISITS, SEASON], np.array([3.0, 2.0, 1.0]), 5) == [0]
    assert order_of([VISITS, unit(0, 17), SEASON], np.array([3.0, 2.0, 1.0]), 5) == [0, 2]
    assert order_of([VISITS, unit(18, 40, LEAD, page=1)], np.array([3.0, 2.0]), 5) == [0]


def test_passages_of_two_pages_have_nothing_in_common() -> None:
    assert not overlap(VISITS, unit(18, 40, LEAD, page=1))
