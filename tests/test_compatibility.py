"""A vault made by an earlier version opens, and answers as before.

`vectors/vault-before-packages.zip` was made when every module of DocMind still had its old name: two documents, a
conversation of two turns and a memory, with the key file beside them.
"""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path

import pytest

from conftest import ROOT
from docmind.application import DocMind
from docmind.config import KeySettings, LLMSettings, ReadingSettings, Settings
from docmind.errors import DamagedError
from docmind.records.documents import Upload

VAULT = ROOT / "tests" / "vectors" / "vault-before-packages.zip"
WARRANTY, FEE = "How long does the warranty last?", "What is the fee for a night at the quay?"
MEMORY = "My boat is called Tern."


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    with zipfile.ZipFile(VAULT) as vault:
        vault.extractall(tmp_path)
    (tmp_path / "key").chmod(0o600)
    return Settings(
        data_dir=tmp_path / "data",
        keys=KeySettings(source="file", file=tmp_path / "key"),
        llm=LLMSettings(provider="off"),
        reading=ReadingSettings(ocr="off", workers=1),
    )


@pytest.mark.slow
def test_an_old_vault_answers_as_it_did(settings: Settings) -> None:
    with DocMind(settings) as docmind:
        assert {info.document: info.pages_done for info in docmind.documents.all()} == {
            "harbour.md": 1,
            "warranty.pdf": 2,
        }
        assert docmind.search("fee for a night").hits[0].document == "harbour.md"
        answer = docmind.ask(WARRANTY)
        source = answer.sources[0]
        assert source.quote == "The warranty lasts for twenty-four months from delivery."
        assert f"“{source.quote}” [1]" in answer.answer
        assert (source.document, source.page_no, len(source.boxes)) == ("warranty.pdf", 1, 1)
        assert docmind.documents.page_image(source.doc_id, source.page_no)
        assert not answer.degraded
        assert [docmind.documents.figures(info.doc_id) for info in docmind.documents.all()] == [(), ()]


def test_documents_of_an_old_vault_have_empty_facts_until_a_person_sets_them(settings: Settings) -> None:
    with DocMind(settings) as docmind:
        for info in docmind.documents.all():
            assert (info.author, info.dated, info.updated_at_ms, info.ingestion) == ("", "", 0, None)
        doc_id = docmind.documents.find("harbour.md").doc_id
        changed = docmind.documents.edit(doc_id, author="Ada Harbour", dated="2001-02-03")
        assert (changed.author, changed.dated, changed.updated_at_ms > 0) == ("Ada Harbour", "2001-02-03", True)
    with DocMind(settings) as docmind:
        assert docmind.documents.get(doc_id) == changed


@pytest.mark.slow
def test_an_old_conversation_goes_on(settings: Settings) -> None:
    with DocMind(settings) as docmind:
        (thread,) = docmind.conversations.threads()
        turns = docmind.conversations.view(thread.thread_id).turns
        assert [turn.question for turn in turns] == [WARRANTY, FEE]
        assert ["eleven crowns" in turn.answer.answer for turn in turns if turn.answer] == [False, True]
        docmind.conversations.ask(WARRANTY, thread_id=thread.thread_id)
        assert len(docmind.conversations.view(thread.thread_id).turns) == 3
        assert [memory.text for memory in docmind.memories.recall("What is my boat called?").memories] == [MEMORY]


@pytest.mark.slow
def test_an_old_vault_takes_documents_and_gives_them_back(settings: Settings) -> None:
    with DocMind(settings) as docmind:
        docmind.add([Upload("dogs.txt", b"Dogs need the written consent of the landlord.")])
    with DocMind(settings) as docmind:
        assert docmind.search("written consent for dogs").hits[0].document == "dogs.txt"
        docmind.erasures.erase([docmind.documents.find("warranty.pdf").doc_id])
        assert {info.document for info in docmind.documents.all()} == {"dogs.txt", "harbour.md"}


def test_a_vault_that_cannot_be_read_is_refused(settings: Settings) -> None:
    """The control: the data that the tests above read is really in those files."""
    shutil.copyfile(VAULT, settings.data_dir / "vault.db")
    with pytest.raises(DamagedError), DocMind(settings):
        pass
