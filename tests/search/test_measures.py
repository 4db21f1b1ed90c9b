"""Measures of accounting, and the lines of statements that they are made of."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from desks import opened, text_pdf
from docmind.config import RetrieveSettings
from docmind.records.documents import Upload
from docmind.search import measures
from docmind.search.measures import lines_of

STATEMENT = Upload(
    "harbour 2022.pdf",
    text_pdf(
        [
            "Our history. The company grew in every year and opened new stores.",
            "Cash flows from investing activities\nPurchases of property, plant and equipment (1,577)\n"
            "Proceeds from sales of securities 214",
            "Our people. We train every new colleague for ten days.",
        ]
    ),
)


@pytest.mark.parametrize(
    ("question", "line"),
    [
        ("What was the capital expenditure in FY2022?", "purchases of property, plant and equipment"),
        ("Is the company's CAPEX growing?", "purchases of property, plant and equipment"),
        ("Did the gross margin improve?", "cost of sales"),
        ("Qual foi a margem bruta em 2022?", "cost of sales"),
        ("¿Cómo está el fondo de maniobra?", "total current assets"),
    ],
)
def test_a_measure_is_searched_by_its_lines(question: str, line: str) -> None:
    lines = lines_of(question)
    assert lines is not None
    assert line in lines.en


@pytest.mark.parametrize(
    "question",
    [
        "What does the tenant pay for the boiler?",
        "Who wrote this?",
        "Onde fica a capital da Espanha?",
        "Can I keep a dog?",
    ],
)
def test_other_questions_stay_as_they_are(question: str) -> None:
    assert lines_of(question) is None


def test_two_measures_give_the_lines_of_both() -> None:
    lines = lines_of("Compare the gross margin with the working capital.")
    assert lines is not None
    assert "gross profit" in lines.en
    assert "current assets" in lines.en


def test_every_measure_has_names_and_lines_in_three_languages() -> None:
    table = tomllib.loads((Path(measures.__file__).parent / "measures.toml").read_text("utf-8"))["measure"]
    assert len(table) >= 20
    assert all(row.keys() == {"named", "en", "pt", "es"} and all(row.values()) for row in table)


def test_a_long_question_is_read_in_linear_time() -> None:
    for words in ("what ", "how much debt does ", "book value of x ", "invest"):
        question = words * (20_000 // len(words))  # the time limit of a test is three minutes
        assert (lines_of(question) is not None) == (words == "how much debt does ")


@pytest.mark.slow
@pytest.mark.parametrize(("expand", "first"), [("measures", 2), ("off", None)])
def test_a_page_is_found_by_the_lines_of_a_measure(tmp_path: Path, expand: str, first: int | None) -> None:
    with opened(tmp_path, retrieve=RetrieveSettings.model_validate({"expand": expand, "fusion": "sparse"})) as mind:
        mind.add([STATEMENT])
        hits = mind.search("capex?").hits
    assert (hits[0].page_no if hits else None) == first
