"""The sentences of a draft, and which of them are claims."""

from __future__ import annotations

import pytest

from docmind.answers import sentences_of


def claims(draft: str) -> dict[str, bool]:
    return {one.text: one.is_claim for one in sentences_of(draft)[1]}


@pytest.mark.parametrize(
    ("said", "is_claim"),
    [
        ("Herons nest in tall trees near rivers.", True),
        ("Where do herons nest in the spring?", False),
        ("# Herons of the lake", False),
        ("Thank you for reading this text today.", False),
        ("The report does not mention the price of the boiler.", True),
        ("Does the report not mention the price of the boiler?", False),
    ],
)
def test_what_states_nothing_is_no_claim_and_a_denial_is_one(said: str, is_claim: bool) -> None:
    assert list(claims(said).values()) == [is_claim]


def test_marks_and_a_list_of_sources_are_left_out() -> None:
    text, found = sentences_of(
        "Herons nest in tall trees [1]. Owls nest in hollow trunks [2, 3].\n\nSources:\n[1]\n[2]\n"
    )
    assert [one.text for one in found] == ["Herons nest in tall trees.", "Owls nest in hollow trunks."]
    assert [text[one.start : one.end] for one in found] == [one.text for one in found]


@pytest.mark.parametrize(
    ("line", "is_title"),
    [
        ("Herons and Owls", True),
        ("The Nests of Grey Herons", True),
        ("Herons nest in tall trees", False),
        ("Herons nest.", False),
        ("Herons of 2021", False),
    ],
)
def test_a_short_line_above_text_may_be_a_heading(line: str, is_title: bool) -> None:
    found = sentences_of(f"{line}\n\nHerons nest in tall trees near rivers.")[1]
    assert (found[0].text, found[0].is_title) == (line, is_title)


def test_a_short_line_at_the_end_is_no_heading() -> None:
    assert not sentences_of("Herons nest in tall trees near rivers.\n\nHerons and Owls")[1][-1].is_title


def test_items_and_rows_are_sentences_of_their_own() -> None:
    found = claims(
        "- Herons wait for fish in the lake\n- Owls hunt at night\n\n| Place | Pairs |\n|---|---|\n| North | 12 |\n"
    )
    assert found == {
        "Herons wait for fish in the lake": True,
        "Owls hunt at night": True,
        "Place | Pairs": False,
        "North | 12": True,
    }


def test_all_of_a_row_or_of_code_of_any_length_is_compared_in_parts() -> None:
    words = " ".join(f"heron{n}" for n in range(1_000))
    for draft in (f"| Bird | Nest |\n|---|---|\n| {words} |", f"```\n{words}\n```"):
        text, found = sentences_of(draft)
        parts = [one for one in found if "heron" in one.text]
        assert [len(one.text) <= 2_000 and one.is_claim for one in parts] == [True] * 5
        assert words.split() == [word for one in parts for word in one.text.split() if word.startswith("heron")]
        assert all(text[one.start : one.end].split() == one.text.split() for one in parts)
