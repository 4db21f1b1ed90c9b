"""Names in sentences, and replaced names."""

from __future__ import annotations

import pytest

from docmind.answers.names import is_replaced, meets, named, no_edits, ocr_edits, words_of


def test_names_are_found_and_common_words_are_not() -> None:
    found = named("Pfizer reported that the SEC and Best Buy's U.S. unit filed a 10-K in March with COVID-19 data.")
    assert [(name.key, name.is_sure) for name in found] == [
        ("pfizer", False), ("sec", True), ("best", True), ("buy", True), ("us", True), ("10k", True), ("covid19", True),
    ]  # fmt: skip


def test_a_shouted_line_names_nothing_for_sure() -> None:
    assert not any(name.is_sure for name in named("TOTAL REVENUE OF THE COMPANY"))


@pytest.mark.parametrize(
    ("key", "text", "is_met"),
    [
        ("sec", "the Securities and Exchange Commission", True),
        ("adobe", "Adobe’s revenue", True),
        ("us", "in the United States", True),
        ("10k", "Form 10-K", True),
        ("oracle", "Adobe and SAP", False),
    ],
)
def test_names_are_met(key: str, text: str, is_met: bool) -> None:
    assert meets(key, words_of(text), edits=no_edits) == is_met


def test_only_ocr_may_misread() -> None:
    words = words_of("the Abraham Linco1n pen")
    assert meets("lincoln", words, edits=ocr_edits)
    assert not meets("lincoln", words, edits=no_edits)
    assert not meets("ford", words_of("Lord"), edits=no_edits)


@pytest.mark.parametrize(
    ("claim", "page", "is_other"),
    [
        ("As of Report 15, 2023, there were 1,955 holders.", "As of March 15, 2023, there were 1,955 holders.", True),
        ("Oracle reported net sales of 5.", "Adobe reported net sales of 5.", True),
        ("Adobe reported net sales of 5.", "Adobe reported net sales of 5.", False),
        ("Net sales were reported by Adobe.", "Adobe reported net sales of 5.", False),
        ("Compete à Mesa promulgar emendas.", "Art. 79 À Mesa compete promulgar emendas.", False),
    ],
)
def test_a_name_in_the_place_of_another(claim: str, page: str, is_other: bool) -> None:
    assert is_replaced(claim, page, edits=no_edits) == is_other
