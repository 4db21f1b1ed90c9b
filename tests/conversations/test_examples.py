"""Example questions are surely answered by the documents that they come from, and about what is asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from desks import settings_in
from docmind.application import DocMind
from docmind.config import EmbeddingSettings
from docmind.conversations.examples import ALL
from docmind.embedding.minilm import default_cache_dir
from docmind.records.documents import Upload
from docmind.records.query import Query
from docmind.records.search import Filters

LEASE = """# Lease of 12 Harbour Street

## Deposit

The deposit is EUR 1,900 and is paid before the keys are handed over.

The garden fee is EUR 40 in summer.

The garden fee is EUR 20 in winter.

## Signatures

The signature page is signed on 4 May 2025.
"""
ARRENDAMENTO = """# Contrato

## Caução

A renda é de 950 euros por mês e é paga por transferência bancária ao senhorio do apartamento.
"""
EXPENSES = """Date,What,Amount EUR
2025-01-04,Paint,950
2025-01-09,Brushes,61.2
2025-02-04,Ladder,120
2025-02-11,Tape,40
"""


@pytest.mark.slow
def test_examples_are_answered_by_their_documents(tmp_path: Path) -> None:
    settings = settings_in(tmp_path, embedding=EmbeddingSettings(), cache_dir=default_cache_dir())
    with DocMind(settings) as desk:
        assert desk.examples.wait(60) == ()
        desk.add([Upload("lease.md", LEASE.encode()), Upload("contrato.md", ARRENDAMENTO.encode())])
        desk.add([Upload("expenses.csv", EXPENSES.encode())])
        found = desk.examples.wait(60)
        assert found is not None
        assert set(found) == {
            "How much is the deposit?",
            "Quanto é a renda?",
            "What is the total amount in expenses?",
        }
        for question in found:
            assert desk.ask(question).outcome == "answer"
        assert desk.examples.get() == found, "they are kept for this state of the library"
        desk.erasures.erase([desk.documents.find("lease.md").doc_id])
        later = desk.examples.wait(60)
        assert later is not None
        assert "How much is the deposit?" not in later


@pytest.mark.slow
def test_examples_are_about_what_is_asked(tmp_path: Path) -> None:
    settings = settings_in(tmp_path, embedding=EmbeddingSettings(), cache_dir=default_cache_dir())
    with DocMind(settings) as desk:
        desk.add([Upload("lease.md", LEASE.encode()), Upload("contrato.md", ARRENDAMENTO.encode())])
        home = desk.documents.new_collection("Home").collection_id
        desk.documents.collect(home, [desk.documents.find("lease.md").doc_id])
        only = Filters(collections=(home,))
        found = desk.examples.wait(60, only)
        assert found is not None
        assert "How much is the deposit?" in found
        assert "Quanto é a renda?" not in found
        assert desk.ask(Query(found[0], filters=only)).outcome == "answer"
        both = desk.examples.wait(60)
        assert both is not None
        assert "Quanto é a renda?" in both


@pytest.mark.slow
def test_a_library_without_statements_offers_its_list(tmp_path: Path) -> None:
    settings = settings_in(tmp_path, embedding=EmbeddingSettings(), cache_dir=default_cache_dir())
    with DocMind(settings) as desk:
        desk.add([Upload("![x](http:⁄⁄a.b).txt", b"7")])
        assert desk.examples.wait(60) == (ALL,)
