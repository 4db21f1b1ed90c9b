"""Erasing documents: nothing of them is left in any store or file, and a killed erasure is finished."""

from __future__ import annotations

from pathlib import Path

import pytest

from desks import opened, settings_in, text_pdf
from docmind.application import DocMind
from docmind.llm.service import OneModel
from docmind.records.documents import Upload
from docmind_testkit import FakeChatModel

SECRET = "The Quokkazephyrine engine needs Fjordvexil oil twice a year."
KEPT = "The heron nests beside the river in early spring."


def uploads() -> list[Upload]:
    return [
        Upload("Xerobiscuitine manual.pdf", text_pdf([SECRET, "The second page names Wolframjubilant bolts only."])),
        Upload("herons.txt", KEPT.encode()),
    ]


def test_an_erased_document_is_nowhere(tmp_path: Path) -> None:
    with opened(tmp_path) as docmind:
        docmind.add(uploads())
        doc_id = docmind.find_document("Xerobiscuitine manual.pdf").doc_id
        thread_id = docmind.conversations.create("About engines").thread_id
        turn = docmind.conversations.ask("How often does the Quokkazephyrine engine need oil?", thread_id=thread_id)
        assert turn.answer is not None
        assert any("Fjordvexil" in source.quote for source in turn.answer.sources)
        (receipt,) = docmind.erase([doc_id])
        print(receipt)
        assert receipt.is_clean
        view = docmind.conversations.view(thread_id)
        print(view.turns[0].answer)
        print(docmind.conversations.export(thread_id, "markdown").data.decode("utf-8", "replace")[:3000])
        assert docmind.verify_receipt(docmind.receipt_text(receipt).encode()).doc_id == doc_id
        assert docmind.receipts()[0].doc_id == doc_id
