"""Figures in the text search: who asks for one, which passages only repeat their page, and where a picture lies."""

from __future__ import annotations

import pytest

from docmind.documents import NodeRecord, figure_quoted, figure_words, figures_told
from docmind.records.documents import ArtifactRef, Box, Figure, Modality
from docmind.records.search import Filters
from docmind.search.figures import asks_for_figure, figure_around, repeating, wants_figures
from docmind.search.fusion import lift_figures


def figure(number: int, box: Box, **told: object) -> Figure:
    values = {"doc_id": "d", "page_no": 1, "width": 10, "height": 10, "image": ArtifactRef("0" * 64, ".webp.enc")}
    return Figure(**{**values, "number": number, "box": box, **told})  # type: ignore[arg-type]


def node(ordinal: int, start: int, end: int, modality: Modality = "text", context: str = "") -> NodeRecord:
    return NodeRecord(f"n{ordinal}", "d", 1, ordinal, start, end, modality, "en", b"", context)


@pytest.mark.parametrize(
    "question",
    [
        "Show the figure about the wiring of the boiler",
        "which figure shows the pump?",
        "What does figure 3 say?",
        "diagram of climate drivers and health outcomes",
        "figure comparing language model and critic",
        "Find a photo with herons",
        "Welche Abbildung zeigt die Pumpe?",
        "Zeig mir das Bild mit dem Kessel",
        "¿Qué figura muestra la caldera?",
        "Muéstrame el diagrama de la bomba",
        "Qual figura mostra a caldeira?",
        "Mostre o gráfico das vendas",
        "Quelle figure montre la pompe ?",
        "Montre-moi le schéma de la chaudière",
    ],
)
def test_questions_that_ask_for_a_figure(question: str) -> None:
    assert asks_for_figure(question)


@pytest.mark.parametrize(
    "question",
    [
        "When is the boiler checked?",
        "What was the revenue of 2022?",
        "How many images does the archive hold?",
        "Explain the imagery of the poem",
        "Wie hoch ist die Miete?",
        "Figured out who pays?",
        "Does the picture archive open on Sundays?",
    ],
)
def test_questions_that_ask_for_none(question: str) -> None:
    assert not asks_for_figure(question)


def test_filters_decide_before_words() -> None:
    assert wants_figures("the pump", Filters(modalities=("image_caption",)))
    assert not wants_figures("show the figure", Filters(modalities=("text",)))


def test_a_figure_repeats_its_page_where_another_passage_has_its_words() -> None:
    whole = node(0, 0, 100)
    assert repeating([whole, node(1, 10, 40, "image_caption")]) == {"n1"}
    assert repeating([whole, node(1, 10, 40, "image_caption", "words of its own")]) == set()
    assert repeating([node(0, 10, 40, "image_caption"), node(1, 40, 90)]) == set()  # nothing else has its words
    assert repeating([whole, node(1, 0, 0, "image_caption", "alone")]) == set()


def test_a_page_is_lifted_by_figures_that_are_nearer_than_others() -> None:
    ranked = [("a", 2.0), ("b", 1.0), ("c", 0.0)]
    lifted = lift_figures(ranked, [("c", 0.9), ("a", 0.1), ("b", 0.1)])
    assert [page for page, _score in lifted] == ["a", "c", "b"]
    assert lift_figures(ranked, []) == ranked


def test_the_smallest_figure_that_holds_an_outline_is_meant() -> None:
    large, small = figure(1, Box(0, 0, 100, 100)), figure(2, Box(10, 10, 30, 30))
    inside = ((12, 12), (38, 12), (38, 38), (12, 38))
    assert figure_around(inside, [large, small]) == small
    assert figure_around(((0, 0), (90, 0), (90, 90), (0, 90)), [large, small]) == large
    assert figure_around(((200, 200), (220, 200), (220, 220), (200, 220)), [large, small]) is None
    assert figure_around((), [large]) is None


def test_the_words_of_a_figure_that_stand_elsewhere_are_told_beside_it() -> None:
    said = figure(1, Box(0, 0, 9, 9), caption="Figure 1: The pump", alt="A red pump", start=4, end=22)
    page = "Oh. Figure 1: The pump is red."
    assert figure_words(said, page) == "A red pump"
    assert figures_told([said], 4, 22, "") == [said]
    assert figures_told([said], 30, 40, "") == []
    mute = figure(2, Box(0, 0, 9, 9), alt="A blue pump")
    assert figures_told([said, mute], 0, 0, figure_words(mute, page)) == [mute]
    assert figure_quoted([mute, said], "Figure 1:  The PUMP") == said
    assert figure_quoted([mute, said], "something else") is None
