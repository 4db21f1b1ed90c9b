"""What a draft counts otherwise than a page, names that do not belong together there, and subjects."""

from __future__ import annotations

import pytest

from docmind.answers.align import Claim, Leaf, Span
from docmind.answers.draft_faults import counts_otherwise, names_apart, said_of_another
from docmind.answers.drafts import DraftVerifier, sentences_of
from docmind.answers.names import no_edits
from docmind_testkit import FakeEmbedder
from each import each_of
from stored_pages import page, passages


def span(text: str) -> Span:
    leaf = Leaf(page(text), "notes", ((0, len(text)),))
    return Span(leaf, 0, 0, len(leaf.units) - 1, 1.0, 1.0, 1.0)


@each_of(
    "claim, said, is_otherwise",
    [
        ("Six chapters have highlights.", "Six highlights across these four chapters tell of it.", True),
        ("Four chapters have highlights.", "Six highlights across these four chapters tell of it.", False),
        ("It was best on all 8 evaluations.", "It was best on 7 out of 8 evaluations.", True),
        ("It was best on 7 of 8 evaluations.", "It was best on 7 out of 8 evaluations.", False),
        ("Todos os 12 membros votaram.", "Votaram 9 dos 12 membros.", True),
        ("The boat carries 40 people.", "The boat has 40 seats and 2 masts.", False),
        ("In 2021 it rained.", "In 2021 it rained on 40 days.", False),
    ],
)
def test_what_is_counted_is_the_same(claim: str, said: str, is_otherwise: bool) -> None:
    assert counts_otherwise(Claim(claim), span(said)) is is_otherwise


@each_of(
    "claim, said, is_apart",
    [
        ("Ana Ruiz of Beta led it.", "Ana Ruiz, Acme Bo Lind, Beta", True),
        ("Ana Ruiz of Acme led it.", "Ana Ruiz, Acme Bo Lind, Beta", False),
        ("Ana Ruiz of Acme led it.", "Ana Ruiz of the Acme group led it.", False),
        ("The chair is Bo Lind.", "Chair of the board", True),
        ("The chair is Bo Lind.", "The chair speaks for the board.", False),
    ],
)
def test_names_belong_together(claim: str, said: str, is_apart: bool) -> None:
    assert names_apart(Claim(claim), span(said), no_edits) is is_apart


LEASE = "The tenant keeps the garden. The landlord insures the house against fire."


@each_of(
    "claim, said, share",
    [
        ("The tenant insures the house against fire.", LEASE, 1.0),
        ("The tenant insures the house against water.", LEASE, 0.75),
        ("The landlord insures the house against fire.", LEASE, 0.0),
        ("The owner insures the house against fire.", LEASE, 0.0),  # perhaps another word for the landlord
        (
            "The tenant insures the house against fire.",
            "The tenant has the key. He insures the house against fire.",
            0.0,
        ),
        ("Acme insures the house against fire.", "Acme is an old company. We insure the house against fire.", 0.0),
    ],
)
def test_a_subject_is_the_one_that_a_page_has(claim: str, said: str, share: float) -> None:
    assert said_of_another(Claim(claim), widest(said)) == pytest.approx(share)


def widest(text: str) -> Span:
    """Return the span over two sentences, whose core is the second one."""
    leaf = Leaf(page(text), "notes", ((0, len(text)),))
    return Span(leaf, 1, 0, 1, 1.0, 1.0, 1.0)


@each_of(
    "claim, is_supported",
    [
        ("Its total revenue rose to $17,606 million in 2022.", True),
        ("Its total revenue rose to $15,785 million in 2022.", False),
        ("Its operating income was $5,802 million in 2021.", True),
        ("Its operating income was $5,802 million in 2022.", False),
        ("Its share of the market was 6,098 in 2022.", False),
    ],
)
def test_a_row_supports_a_sentence_with_its_label_and_its_number(claim: str, is_supported: bool) -> None:
    table = page("Years ended (in millions) 2022 2021\nTotal revenue 17,606 15,785\nOperating income 6,098 5,802")
    _text, sentences = sentences_of(claim)
    found = DraftVerifier(FakeEmbedder()).find(sentences[0], passages(table))
    assert (found.verdict == "supported") is is_supported
