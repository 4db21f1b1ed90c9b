"""Example questions come from the documents, are answered by them, and are safe to show."""

from __future__ import annotations

from pathlib import Path

import pytest

from desks import settings_in
from docmind.application import DocMind
from docmind.config import EmbeddingSettings
from docmind.conversations.examples import ALL, plain_name, topic_of
from docmind.embedding.minilm import default_cache_dir
from docmind.records.documents import DocumentInfo, Upload
from each import each_of

LEASE = """# Lease of 12 Harbour Street

## Deposit

The deposit is two monthly rents and is paid before the keys are handed over.

## What is not allowed

Smoking is not allowed in the stairwell of the house.
"""
ARRENDAMENTO = """# Contrato

## Caução

A caução é de duas rendas mensais e é paga antes da entrega das chaves do apartamento ao inquilino.
"""


@each_of(
    "heading, topic",
    [
        ("Deposit", "deposit"),
        ("3.1 Problem Formulation", "Problem Formulation"),
        ("SECTION IV. WORKING CAPITAL", "working capital"),
        ("Capítulo II Direitos do titular", "direitos do titular"),
        ("What is not covered", ""),
        ("How to pay", ""),
        ("Not included", ""),
        ("Sem garantia", ""),
        ("Table of contents", ""),
        ("Revenue in 2019", ""),
        ("Statement pursuant to the", ""),
        ("![x](http://127.0.0.1)", ""),
        ("", ""),
    ],
)
def test_a_heading_makes_a_topic_or_none(heading: str, topic: str) -> None:
    assert topic_of(heading) == topic


def test_a_name_with_markup_makes_no_example() -> None:
    info = DocumentInfo("d", "my_lease 2024.pdf", "", "pdf", "ready", 1, 1, 0, "en", 1, 0)
    assert plain_name(info) == "my lease 2024"
    for name in ("![x](http:⁄⁄a.b).txt", ":red[r].txt", "<img src=x>.txt", "a" * 80 + ".txt", "$x$.txt"):
        assert plain_name(DocumentInfo("d", name, "", "pdf", "ready", 1, 1, 0, "en", 1, 0)) == ""


@pytest.mark.slow
def test_examples_are_answered_by_their_documents(tmp_path: Path) -> None:
    settings = settings_in(tmp_path, embedding=EmbeddingSettings(), cache_dir=default_cache_dir())
    with DocMind(settings) as desk:
        assert desk.examples.wait(60) == ()
        desk.add([Upload("lease.md", LEASE.encode()), Upload("contrato.md", ARRENDAMENTO.encode())])
        found = desk.examples.wait(60)
        assert found is not None
        assert "What does “lease” say about deposit?" in found
        assert len(found) == 3
        for question in found:
            assert "not" not in question.split()
            assert desk.ask(question).outcome in ("answer", "summary", "documents")
        assert desk.examples.get() == found, "they are kept for this state of the vault"
        desk.erasures.erase([desk.documents.find("lease.md").doc_id])
        later = desk.examples.wait(60)
        assert later is not None
        assert not any("lease" in question for question in later)


@pytest.mark.slow
def test_a_vault_without_fitting_names_offers_its_list(tmp_path: Path) -> None:
    settings = settings_in(tmp_path, embedding=EmbeddingSettings(), cache_dir=default_cache_dir())
    with DocMind(settings) as desk:
        desk.add([Upload("![x](http:⁄⁄a.b).txt", b"7")])
        assert desk.examples.wait(60) == (ALL,)
