"""Erasing documents: nothing of them is left in any store or file, and a killed erasure is finished."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

import forked
from clearvault import clear
from desks import environment_of, opened, settings_in, text_pdf
from docmind.application import DocMind
from docmind.errors import NotFoundError, TamperedError
from docmind.llm.service import OneModel
from docmind.maintenance.purge import STEPS, search_files
from docmind.records.conversations import ThreadView
from docmind.records.documents import ErasureReceipt, Upload
from docmind_testkit import FakeChatModel
from libraries import Library

NAME = "Xerobiscuitine manual.pdf"
SECRET = "The Quokkazephyrine engine needs Fjordvexil oil twice a year."
SECOND = "The second page names Wolframjubilant bolts only."
KEPT = "The heron nests beside the river in early spring."
WORDS = ("Quokkazephyrine", "Fjordvexil", "Wolframjubilant", "Xerobiscuitine")
QUESTION = "How often does the engine need oil?"  # none of the words above: questions stay


def uploads() -> list[Upload]:
    return [Upload(NAME, text_pdf([SECRET, SECOND])), Upload("herons.txt", KEPT.encode())]


def filled(docmind: DocMind) -> tuple[str, str]:
    """Add the documents and ask about them; return the document's and the thread's id."""
    docmind.add(uploads())
    converse(docmind)
    return ids_of(docmind)


def converse(docmind: DocMind) -> None:
    """Ask about the documents on two branches."""
    talks = docmind.conversations
    thread_id = talks.create("About engines").thread_id
    first = talks.ask(QUESTION, thread_id=thread_id)
    talks.ask("Where does the heron nest?", thread_id=thread_id)
    talks.fork(thread_id, first.checkpoint_id)
    talks.ask("And which bolts does the second page name?", thread_id=thread_id)


LIBRARY = Library("a secret and herons with turns", uploads(), converse)


def ids_of(docmind: DocMind) -> tuple[str, str]:
    """Return the ids of the document and of the thread in a copy of the library."""
    (thread,) = docmind.conversations.threads()
    return docmind.documents.find(NAME).doc_id, thread.thread_id


def readable(folder: Path) -> dict[str, int]:
    """Return the words of the document that can be read in the files of a folder."""
    return {word: number for word, number in search_files(folder, WORDS).hits.items() if number}


def quotes_of(view: ThreadView) -> list[str]:
    return [source.quote for turn in view.turns if turn.answer for source in turn.answer.sources]


@pytest.mark.slow
@pytest.mark.parametrize("is_clear", [False, True], ids=["encrypted", "in clear"])
def test_no_word_of_it_is_left_in_any_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_clear: bool) -> None:
    """In the build without encryption the words are found before: the search works."""
    if is_clear:
        clear(monkeypatch)
    with opened(tmp_path) as docmind:
        doc_id, _thread_id = filled(docmind)
        docmind.memories.add("The warehouse has Fjordvexil in stock.")
    assert set(readable(tmp_path)) == (set(WORDS) if is_clear else set())
    with opened(tmp_path) as docmind:
        docmind.memories.remove(docmind.memories.everything()[0].memory_id)
        (receipt,) = docmind.erasures.erase([doc_id])
        assert receipt.is_clean, receipt
        assert receipt.sequences >= 2
        assert readable(tmp_path) == {}
        assert docmind.search("heron").hits
    assert readable(tmp_path) == {}


@pytest.mark.slow
def test_a_turn_stays_and_says_that_its_evidence_is_erased(tmp_path: Path) -> None:
    with LIBRARY.opened(tmp_path) as docmind:
        doc_id, thread_id = ids_of(docmind)
        runs = docmind.conversations.view(thread_id).runs
        docmind.documents.bin([doc_id])
        binned = docmind.conversations.view(thread_id).turns[0].answer
        assert binned is not None
        assert {source.gone for source in binned.sources if source.doc_id == doc_id} == {"binned"}
        docmind.erasures.erase([doc_id])
        for run in runs:  # on every branch
            view = docmind.conversations.view(thread_id, run.checkpoint_id)
            said = [f"{turn.question} {turn.answer}" for turn in view.turns]
            assert not [word for word in WORDS for one in said if word in one]
        view = docmind.conversations.view(thread_id)
        assert [run.question for run in view.runs] == [run.question for run in runs]
        answer = view.turns[0].answer
        assert answer is not None
        erased = [source for source in answer.sources if source.doc_id == doc_id]
        assert {(source.gone, source.quote, source.how) for source in erased} == {
            ("erased", "", "erased with its document")
        }
        assert "(erased)" in answer.answer
        for sentence in answer.sentences:
            assert answer.answer[sentence.start : sentence.end] == sentence.text
        assert any(
            "heron" in quote
            for run in runs
            for quote in quotes_of(docmind.conversations.view(thread_id, run.checkpoint_id))
        )
        for kind in ("markdown", "pdf"):
            assert docmind.conversations.export(thread_id, kind).data
        turn = docmind.conversations.ask("Where does the heron nest?", thread_id=thread_id)  # it goes on
        assert turn.answer is not None
        assert turn.answer.found


@pytest.mark.slow
def test_a_models_sentences_about_it_are_erased(tmp_path: Path) -> None:
    says = "It needs Fjordvexil oil twice a year [1]. Buy Quokkazephyrine spares too."
    with DocMind(settings_in(tmp_path), models=OneModel(FakeChatModel(says, loop=True))) as docmind:
        doc_id, thread_id = filled(docmind)
        docmind.erasures.erase([doc_id])
        for turn in docmind.conversations.view(thread_id).turns:
            assert turn.answer is not None
            assert not [word for word in WORDS if word in turn.answer.answer]


@pytest.mark.slow
def test_quotes_stay_where_they_are_to_be_kept(tmp_path: Path) -> None:
    with LIBRARY.opened(tmp_path) as docmind:
        doc_id, thread_id = ids_of(docmind)
        (receipt,) = docmind.erasures.erase([doc_id], conversations=False)
        assert not receipt.conversations
        answer = docmind.conversations.view(thread_id).turns[0].answer
        assert answer is not None
        assert "Fjordvexil" in answer.sources[0].quote
        assert answer.sources[0].gone == "erased"


def test_memories_drawn_from_it_are_forgotten_if_asked(tmp_path: Path) -> None:
    facts = ("The Quokkazephyrine engine needs Fjordvexil oil twice a year", f"My notes are in {NAME}", "I like herons")
    with LIBRARY.opened(tmp_path) as docmind:
        doc_id, _thread_id = ids_of(docmind)
        for fact in facts:
            docmind.memories.add(fact)
        (receipt,) = docmind.erasures.erase([doc_id], memories=True)
        assert dict(receipt.erased)["memories"] == 2
        assert [memory.text for memory in docmind.memories.everything()] == ["I like herons"]


@pytest.mark.slow
def test_a_page_image_that_another_document_shows_stays(tmp_path: Path) -> None:
    with opened(tmp_path) as docmind:
        docmind.add(
            [
                Upload("first.pdf", text_pdf(["One common page of both", "Only in the first"])),
                Upload("second.pdf", text_pdf(["One common page of both"])),
            ]
        )
        first, second = (docmind.documents.find(f"{name}.pdf").doc_id for name in ("first", "second"))
        before = docmind.documents.page_image(second, 1)
        (receipt,) = docmind.erasures.erase([first])
        assert receipt.is_clean, receipt
        assert dict(receipt.erased)["files"] == 3, "the other page, its thumbnail, the original"
        assert docmind.documents.page_image(second, 1) == before


@pytest.mark.slow
def test_a_document_of_the_bin_and_an_expired_one_get_receipts(tmp_path: Path) -> None:
    with LIBRARY.opened(tmp_path) as docmind:
        doc_id, _thread_id = ids_of(docmind)
        other = docmind.documents.find("herons.txt").doc_id
        docmind.documents.bin([doc_id, other])
        with docmind.vault.database.transaction() as db:  # 40 days ago, by the vault's own clock
            days = docmind.vault.clock.now_ms() - 40 * 86_400_000
            db.execute("UPDATE documents SET binned_own_ms = ? WHERE doc_id = ?", (days, other))
        docmind.erasures.erase([doc_id])
        with pytest.raises(NotFoundError):
            docmind.erasures.erase([doc_id])
    with opened(tmp_path) as docmind:
        docmind.erasures.finish()
        receipts = docmind.erasures.receipts()
        assert [receipt.doc_id for receipt in receipts] == [other, doc_id]
        assert all(receipt.is_clean for receipt in receipts)
        assert docmind.documents.all() == ()


@pytest.mark.slow
def test_an_index_in_clear_is_built_again(tmp_path: Path) -> None:
    from docmind.config import IndexSettings

    with opened(tmp_path, index=IndexSettings(at_rest="blinded")) as docmind:
        doc_id, _thread_id = filled(docmind)
        before = {path.name for path in (settings_in(tmp_path).data_dir / "index").iterdir() if path.is_dir()}
        (receipt,) = docmind.erasures.erase([doc_id])
        after = {path.name for path in (settings_in(tmp_path).data_dir / "index").iterdir() if path.is_dir()}
        assert receipt.is_clean, receipt
        assert before
        assert not before & after
        assert docmind.search("heron").hits


@pytest.mark.slow
def test_a_document_that_is_added_again_is_no_erased_one(tmp_path: Path) -> None:
    with LIBRARY.opened(tmp_path) as docmind:
        doc_id, _thread_id = ids_of(docmind)
        docmind.ingest.erase(doc_id)
        docmind.add(uploads())
        assert docmind.erasures.finish() == ()
        assert docmind.documents.get(doc_id).pages == 2


KILLED = """
import os, signal, sys
from desks import opened
from docmind.storage import Artifacts, Database
from pathlib import Path

def stop(*_args, **_named):
    os.kill(os.getpid(), signal.SIGKILL)

where, doc_id = sys.argv[2], sys.argv[3]
with opened(Path(sys.argv[1])) as docmind:
    docmind.index.ready()
    if where == "unlinking":
        Artifacts.remove = stop
    elif where == "before the switch":
        Database._switch = stop
    elif where == "after the switch":
        Database._reopen = stop
    elif where == "before the receipt":
        docmind.erasures._erasures.finish = stop
    docmind.erasures.erase([doc_id], progress=lambda step, number, total: where == str(number) and stop())
"""
PLACES = ("1", "unlinking", "2", "3", "4", "before the switch", "after the switch", "5", "before the receipt")


def kill_at(folder: Path, place: str, doc_id: str) -> None:
    environment = {**environment_of(folder), "PYTHONPATH": os.pathsep.join(sys.path)}
    ended = forked.run([sys.executable, "-c", KILLED, str(folder), place, doc_id], env=environment, check=False)
    assert ended.returncode == -signal.SIGKILL


@pytest.mark.slow
@pytest.mark.crash
@pytest.mark.parametrize("place", PLACES)
def test_an_erasure_that_was_killed_is_finished(tmp_path: Path, place: str) -> None:
    assert len(STEPS) == 5
    with LIBRARY.opened(tmp_path) as docmind:
        doc_id, thread_id = ids_of(docmind)
    kill_at(tmp_path, place, doc_id)
    with opened(tmp_path) as docmind:
        if place == "1":  # nothing was begun
            assert docmind.documents.get(doc_id).pages == 2
            return
        docmind.erasures.finish()
        (receipt,) = docmind.erasures.receipts()
        assert receipt.is_clean, receipt
        assert not [word for word in WORDS if word in str(docmind.conversations.view(thread_id))]
        assert docmind.search("heron").hits
        assert docmind.vault.database.one("PRAGMA integrity_check") == ("ok",)
    assert not list(tmp_path.rglob("vault.db-new*"))
    assert readable(tmp_path) == {}


def test_a_planted_word_is_found(tmp_path: Path) -> None:
    """The search finds a word in a file, across the blocks that it reads, in UTF-16 and in a name."""
    long = b"x" * ((1 << 20) - 5)
    (tmp_path / "planted").write_bytes(long + b"Quokkazephyrine" + long)
    (tmp_path / "wide").write_bytes("Fjordvexil".encode("utf-16-le"))
    (tmp_path / "Wolframjubilant.txt").write_bytes(b"")
    found = search_files(tmp_path, WORDS)
    assert found.hits == {"Quokkazephyrine": 1, "Fjordvexil": 1, "Wolframjubilant": 1, "Xerobiscuitine": 0}
    assert found.files == 3


def test_what_is_planted_in_a_file_is_in_the_receipt(tmp_path: Path) -> None:
    with LIBRARY.opened(tmp_path) as docmind:
        doc_id, _thread_id = ids_of(docmind)
        planted = settings_in(tmp_path).data_dir / "aside" / "note.txt"
        planted.parent.mkdir(exist_ok=True)
        planted.write_text(SECRET)
        (receipt,) = docmind.erasures.erase([doc_id])
        assert receipt.is_finished
        assert not receipt.is_clean
        assert dict(receipt.found)["texts_in_files"] == 1
        assert planted.exists(), "a file that is not DocMind's is never removed"


def test_each_step_is_told(tmp_path: Path) -> None:
    told: list[tuple[str, int, int]] = []
    with LIBRARY.opened(tmp_path) as docmind:
        doc_id, _thread_id = ids_of(docmind)
        docmind.erasures.erase([doc_id], progress=lambda step, number, total: told.append((step, number, total)))
    assert told == [(step, number, 5) for number, step in enumerate(STEPS, 1)]


def names_of(receipts: Sequence[ErasureReceipt]) -> list[str]:
    return [receipt.document for receipt in receipts]


def test_several_are_erased_together(tmp_path: Path) -> None:
    with LIBRARY.opened(tmp_path) as docmind:
        ids = [info.doc_id for info in docmind.documents.all()]
        receipts = docmind.erasures.erase(ids)
        assert set(names_of(receipts)) == {NAME, "herons.txt"}
        assert all(receipt.is_clean for receipt in receipts)
        with pytest.raises(TamperedError):
            docmind.erasures.verify(docmind.erasures.text_of(receipts[0]).replace('"files": ', '"files": 1').encode())


def test_a_damaged_state_hinders_nothing_and_is_counted(tmp_path: Path) -> None:
    with LIBRARY.opened(tmp_path) as docmind:
        doc_id, _thread_id = ids_of(docmind)
        with docmind.vault.database.transaction() as db:
            row = db.execute("SELECT max(rowid) FROM checkpoints").fetchone()
            db.execute("UPDATE checkpoints SET checkpoint = ? WHERE rowid = ?", (b"\xc1" + doc_id.encode(), row[0]))
        (receipt,) = docmind.erasures.erase([doc_id])
        assert receipt.is_finished
        assert {name for name, number in receipt.found if number} == {"quotes"}
        assert dict(receipt.found)["quotes"] == 1
        assert dict(receipt.erased)["quotes"] > 1


@pytest.mark.slow
def test_words_over_the_quotes_of_a_list_are_erased_with_them(tmp_path: Path) -> None:
    rent = "The rent of the mill house is {} crowns a month. It is due on the third day.\n\nThe garden is kept.{}\n"
    with opened(tmp_path) as docmind:
        docmind.add([Upload("lease v1.txt", rent.format("nine hundred", "").encode())])
        docmind.add([Upload("lease v2.txt", rent.format("a thousand", " The cellar is dry.").encode())])
        docmind.add(
            [
                Upload("a_walk_by_night.txt", b"Otters swim below the bridge at midnight."),
                Upload("bread.txt", b"Bread is baked on Monday."),
            ]
        )
        thread_id = docmind.conversations.create().thread_id
        for question in ("What documents do I have?", "What changed between the versions of the lease?"):
            docmind.conversations.ask(question, thread_id=thread_id)
        before = " ".join(turn.answer.answer for turn in docmind.conversations.view(thread_id).turns if turn.answer)
        assert all(words in before for words in ("a walk by night", "Changed: nine hundred → a thousand", "bread: “"))
        gone = [docmind.documents.find(name).doc_id for name in ("a_walk_by_night.txt", "lease v2.txt")]
        receipts = docmind.erasures.erase(gone)
        assert all(receipt.is_clean for receipt in receipts)
        after = " ".join(turn.answer.answer for turn in docmind.conversations.view(thread_id).turns if turn.answer)
        assert [words for words in ("walk", "thousand", "cellar") if words in after] == [], after
        assert "bread: “Bread is baked on Monday.” [" in after
