"""A document that is read again: each page keeps its text until the new one is there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

import other_readers
import papers
from archives import packed
from conftest import require
from desks import settled
from docmind.application import DocMind
from docmind.config import ReadingSettings
from docmind.errors import CancelledError, ReaderFailedError
from docmind.reading import Ocr, find_pandoc, is_better_by_pandoc, is_better_by_readers, is_for_readers
from docmind.reading.ocr.engine import AS_SET, OcrPage
from docmind.records.documents import OcrChoice, OcrReading, Upload
from docmind.records.query import Query
from libraries import Library, settings_in

SAID = ["The first page is about herons.", "The second page is about owls."]


@pytest.fixture(scope="module")
def library() -> Library:
    pages = [f"BT /F1 24 Tf 72 700 Td ({said}) Tj ET" for said in SAID]
    return Library("two pages to read again", [Upload("birds.pdf", papers.pdf(pages))])


class Reads:
    """An engine that reads the same on each page, or fails from a page on."""

    min_confidence = 0.5

    def __init__(self, ocr: Ocr, said: Sequence[str], fails: bool = False) -> None:
        self.mode, self.engine, self._said, self._fails = "auto", "rapidocr", list(said), fails
        self._ocr, self.choices = ocr, list[OcrChoice]()

    def check(self, choice: OcrChoice) -> None:
        pass

    def recognise(self, image: bytes, language: str = "", choice: OcrChoice = AS_SET, **more: object) -> OcrPage:
        self.choices.append(choice)
        if self._fails:
            raise ReaderFailedError("The engine gave up.")
        how = OcrReading(choice.engine or "rapidocr", "9.9", tries=2)
        return OcrPage(self._said.pop(0), b"", 0.75, how)

    def close(self) -> None:
        self._ocr.close()


def reads(docmind: DocMind, said: Sequence[str], *, fails: bool = False) -> Reads:
    engine = Reads(Ocr(ReadingSettings()), said, fails)
    docmind.ingest._ocr = engine  # type: ignore[assignment]
    return engine


def texts(docmind: DocMind) -> list[str]:
    doc_id = docmind.documents.find("birds.pdf").doc_id
    return [" ".join(docmind.documents.page(doc_id, number).text.split()) for number in (1, 2)]


@pytest.mark.slow
def test_a_page_is_read_again_by_another_engine_and_found_by_its_new_text(docmind: DocMind) -> None:
    doc_id = docmind.documents.find("birds.pdf").doc_id
    engine = reads(docmind, ["A kingfisher sits on the second page."])
    info = docmind.documents.read_again(doc_id, pages=[2], engine="tesseract", languages="eng", mode="always")
    assert engine.choices == [OcrChoice("tesseract", "eng", "always")]
    assert texts(docmind) == [SAID[0], "A kingfisher sits on the second page."]
    view = docmind.documents.page(doc_id, 2)
    assert view.ocr is not None
    assert replace(view.ocr, dpi=0) == OcrReading("tesseract", "9.9", tries=2)
    assert view.ocr.dpi == round(72 * view.height / 792)
    assert (info.status, info.ocr_pages, docmind.documents.page(doc_id, 1).ocr) == ("ready", 1, None)
    assert info.ingestion is not None
    assert info.ingestion.ocr_engine == "tesseract"
    hit = docmind.search("kingfisher").hits[0]
    assert (hit.page_no, hit.ocr_engine, hit.ocr_confidence) == (2, "tesseract", 0.75)
    assert not [one for one in docmind.search("owls").hits if "owls" in one.text]
    docmind.documents.read_again(doc_id)
    assert texts(docmind) == SAID


@pytest.mark.slow
def test_a_page_that_cannot_be_read_keeps_its_text(docmind: DocMind) -> None:
    doc_id = docmind.documents.find("birds.pdf").doc_id
    reads(docmind, [], fails=True)
    with pytest.raises(ReaderFailedError, match="2 pages"):
        docmind.documents.read_again(doc_id, mode="always")
    assert texts(docmind) == SAID
    assert docmind.search("owls").hits[0].page_no == 2
    assert docmind.documents.get(doc_id).status == "ready"


@pytest.mark.slow
def test_what_was_read_before_a_stop_stays(docmind: DocMind) -> None:
    doc_id = docmind.documents.find("birds.pdf").doc_id
    reads(docmind, ["A kingfisher.", "A wren."])

    def stop(done: int, total: int) -> None:
        assert total == 2
        if done:
            raise CancelledError("enough")

    with pytest.raises(CancelledError):
        docmind.documents.read_again(doc_id, mode="always", progress=stop)
    assert texts(docmind) == ["A kingfisher.", SAID[1]]
    assert docmind.documents.get(doc_id).status == "ready"


@pytest.mark.slow
def test_a_text_is_read_anew_once_pandoc_is_there(tmp_path: Path) -> None:
    require(find_pandoc(), "pandoc is not installed")
    rows = "".join(f"   * - plant {number}\n     - {number} cm\n" for number in range(40))
    source = f"Herons\n======\n\n:Author: Ana Silva\n\n.. list-table:: Heights\n\n{rows}"
    settings = settings_in(tmp_path)
    off = settings.model_copy(update={"reading": ReadingSettings(pandoc="off")})
    with DocMind(off) as docmind:
        docmind.add([Upload("birds.rst", source.encode())])
        before = docmind.documents.find("birds.rst")
        assert (before.kind, before.author, is_better_by_pandoc(before)) == ("rst", "", True)
        assert "list-table" in docmind.documents.page(before.doc_id, 1).text
    with DocMind(settings) as docmind:
        after = docmind.documents.read_again(before.doc_id)
        assert (after.status, after.author, is_better_by_pandoc(after)) == ("ready", "Ana Silva", False)
        assert after.ingestion is not None
        assert after.ingestion.engine == "pandoc"
        assert dict(after.ingestion.versions)["pandoc"]
        assert "list-table" not in docmind.documents.page(after.doc_id, 1).text
        passages = " ".join((hit.text or "") for hit in docmind.search(Query("height of plant 12", k=50)).hits)
        assert ("12 cm" in passages, "list-table" in passages) == (True, False)


@pytest.mark.slow
def test_what_was_read_or_refused_without_a_reader_is_read_again_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = (
        "from docmind.blocks import Block\nfrom docmind.reading import FileContents\n"
        "class Toy:\n title = 'Toys'\n magic = (b'TOY ', b'PK')\n suffixes = ('toybox',)\n"
        " def read(self, data, name, losses):\n"
        "  told = [Block(kind='paragraph', text=f'{name} has a heron of tin.')]\n"
        "  return FileContents(blocks=told, facts={'title': 'Toys of Ann'})\n"
    )
    other_readers.install(tmp_path / "packages", monkeypatch, "docmind-toys", code, toy="Toy")
    settings = settings_in(tmp_path)
    with DocMind(settings) as docmind:
        docmind.queue.submit(
            [Upload("a.toy", b"TOY heron"), Upload("b.txt", b"TOY owl"), Upload("c.toybox", packed({"x": "y"}))]
        )
        settled(docmind)
        (refused,) = docmind.queue.uploads("failed")
        assert refused.message.startswith("c.toybox is a .toybox file, which DocMind does not read")
        text = docmind.documents.find("a.toy")
        assert (text.kind, is_better_by_readers(text, settings.reading)) == ("txt", False)
    with DocMind(settings.model_copy(update={"reading": ReadingSettings(readers="toy")})) as docmind:
        now = docmind.settings.now.reading
        assert [one.document for one in docmind.documents.all() if is_better_by_readers(one, now)] == ["a.toy"]
        assert [one.document for one in docmind.queue.uploads("failed") if is_for_readers(one.document, now)] == [
            "c.toybox"
        ]
        docmind.queue.start()
        docmind.queue.retry([refused.upload_id])
        settled(docmind)
        assert docmind.documents.find("c.toybox").kind == "toy"
        after = docmind.documents.read_again(text.doc_id)
        assert (after.kind, after.title, is_better_by_readers(after, now)) == ("toy", "Toys of Ann", False)
        assert docmind.documents.page(text.doc_id, 1).text == "a.toy has a heron of tin."
        assert [hit.text for hit in docmind.search("heron of tin").hits if hit.document == "a.toy"]
