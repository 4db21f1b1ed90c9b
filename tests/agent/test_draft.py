"""Drafts of a language model: its marks go, its Markdown stays, its sentences are found."""

from __future__ import annotations

import pytest

from docmind.agent.draft import clean, pieces


def told(text: str) -> list[tuple[str, str, bool]]:
    return [(piece.kind, text[piece.start : piece.end], piece.is_claim) for piece in pieces(text)]


@pytest.mark.parametrize(
    ("draft", "cleaned"),
    [
        ("Rent is due [1].", "Rent is due."),
        ("Rent is due. [1][2] Pets stay [3, 4].", "Rent is due. Pets stay."),
        ("Due [source 2], paid [^3], read 【4†lease.pdf】.", "Due, paid, read."),
        ("Fonte [fonte 1] e [Documento 2].", "Fonte e."),
        ("Never [999] or [1-3] or [[7]].", "Never or or [(7)].".replace("[(7)]", "[]")),
        ("A link [1](http://x.example/a?b=c) stays no link.", "A link stays no link."),
        ("Hidden [\u200b1\u2060] marks \u202eand\u202c turns.", "Hidden marks and turns."),
        ("An interval [0, 1] and [a] stay.", "An interval [0, 1] and [a] stay."),
        ("```\nx[1] = 2\n```", "```\nx[1] = 2\n```"),
        ("Rent is due.\n\n**Sources:**\n[1] lease.pdf, page 3\n- [2] herons.pdf", "Rent is due."),
        ("Half of a \ud800 pair\r\nand a line.", "Half of a ? pair\nand a line."),
        ("می‌خواهم", "می‌خواهم"),
    ],
)
def test_marks_of_the_model_go(draft: str, cleaned: str) -> None:
    assert clean(draft) == cleaned


def test_a_mark_taken_out_of_another_leaves_none() -> None:
    assert "[1]" not in clean("[1[2]] and [" * 3 + "[1" * 12 + "]" * 12)


def test_sentences_of_prose_lists_and_headings() -> None:
    text = (
        "# Results of 2022\n\nRevenue grew, e.g. in Europe. Mr. Smith\nsaid so.\n"
        "- **Net sales**: fell by 5%. They rose later.\n  1. Item one holds here\n> Quoted words stand."
    )
    assert told(text) == [
        ("head", "Results of 2022", False),
        ("prose", "Revenue grew, e.g. in Europe.", True),
        ("prose", "Mr. Smith\nsaid so.", True),
        ("prose", "**Net sales**: fell by 5%.", True),
        ("prose", "They rose later.", True),
        ("prose", "Item one holds here", True),
        ("prose", "Quoted words stand.", True),
    ]


def test_rows_of_a_table_are_claims_and_its_head_is_none() -> None:
    text = "| Year | Rent |\n|---|---:|\n| 2021 | 1,450 |\n| 2022 | 1,480 |"
    assert told(text) == [
        ("head", "Year | Rent", False),
        ("row", "2021 | 1,450", True),
        ("row", "2022 | 1,480", True),
    ]


def test_code_is_one_piece() -> None:
    assert told("Run this:\n```sh\npip install seaborn and run it\n```\nDone it is then.")[1] == (
        "code", "```sh\npip install seaborn and run it\n```", True,
    )  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "Hello!",
        "Sure! Here is what I found:",
        "I hope this helps.",
        "Who signed the lease?",
        "The documents do not say who signed the lease.",
        "I could not find this in your documents.",
        "Os documentos não mencionam o valor da multa.",
        "Não encontrei essa informação.",
        "Los documentos no indican la fecha.",
        "No encontré nada sobre eso.",
        "Key points:",
        "**Summary**",
        "Based on the passages, the answer is as follows:",
    ],
)
def test_what_says_nothing_of_the_documents_is_no_claim(text: str) -> None:
    assert [piece.is_claim for piece in pieces(text)] == [False]


@pytest.mark.parametrize(
    "text",
    [
        "The documents do not mention pets, but the rent is due monthly.",
        "The report does not contain 12 chapters.",
        "Rent: 5 euros.",
        "The rent is $1,450:",
        "Sure, the tenant pays 1,450 euros.",
        "Yes.",
        "The contract is silent.",
        "O inquilino paga o aluguel.",
    ],
)
def test_in_doubt_it_is_a_claim(text: str) -> None:
    assert any(piece.is_claim for piece in pieces(text))


def test_a_sentence_without_end_is_cut() -> None:
    found = told("rent and tenant and deposit " * 200)
    assert len(found) > 5
    assert all(len(said) <= 420 for _, said, _ in found)
