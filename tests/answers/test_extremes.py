"""The largest or smallest of statements of one form."""

from __future__ import annotations

from docmind.answers.extremes import most_extreme
from each import each_of

HILLS = ["Harrow Hill is 412 metres high.", "Cold Knoll is 1,038 metres high.", "Bell Ridge is 497 metres high."]
ADVICE = [
    "1. Insulate the attic: saves about 600 kWh a year and costs EUR 1,800.",
    "2. Lower the hot water to 55 degrees: saves 70 kWh.",
    "3. Replace the fridge of 2006: saves 180 kWh, costs EUR 650.",
    "4. Ask for a two-rate tariff before October.",
]
FEES = ["The hall costs 40 euros.", "The barn costs 12.50 euros.", "The loft costs 95 euros.", "It opens at 9."]


@each_of(
    "question, passages, best",
    [
        ("Which hill is the highest?", HILLS, 1),
        ("Which hill is the lowest?", HILLS, 0),
        ("Which room is the cheapest?", FEES, 1),
        ("Which room costs most?", FEES, 2),
        ("Qual é a sala mais barata?", FEES, 1),
        ("Welcher Raum ist der billigste?", FEES, 1),
        ("Which recommendation saves most?", ADVICE, 0),
        ("Which recommendation saves the least?", ["\n".join(ADVICE), *ADVICE], 2),
        ("Which recommendation is the most useful?", ADVICE, None),
        ("Which hill is the highest?", HILLS[:2], None),
        ("Which hill is the highest?", [*HILLS, "Gull Top is 1038 metres high."], None),
        ("Which hill is the highest?", ["In 2021 it was 4 metres.", "The 3 of 9 paths.", "No path is open."], None),
    ],
)
def test_the_most_extreme_of_one_form(question: str, passages: list[str], best: int | None) -> None:
    assert most_extreme(question, passages, [0.5] * len(passages)) == best


def test_the_form_that_the_question_is_about_is_compared() -> None:
    assert most_extreme("Which hill is the highest?", [*FEES[:3], *HILLS], [0.1] * 3 + [0.7] * 3) == 4
