"""The set that comes with DocMind: its labels are true of the pages as DocMind reads them."""

from __future__ import annotations

import filecmp
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from rapidfuzz.fuzz import partial_ratio

from conftest import ROOT
from desks import settings_in
from docmind.config import ReadingSettings, Settings
from docmind.records.documents import Upload
from libraries import Library

SET = Path(str(files("docmind.evaluation") / "sample_set"))
DOCS = sorted((SET / "docs").iterdir())
QUERIES: list[dict[str, Any]] = [
    json.loads(line) for line in (SET / "queries.jsonl").read_text(encoding="utf-8").splitlines()
]
LANGUAGES = {
    "en": {
        "garden-plan-orchard-court.pdf", "lease-mill-lane.pdf", "manual-dishwasher-corvo.pdf",
        "minutes-allotment-society.docx", "paper-reading-lamps.pdf", "policy-sailing-boat.pdf",
        "prices-bicycle-workshop.xlsx", "seed_ledger.go",
    },
    "pt": {
        "apresentacao-biblioteca-rio.pptx", "ata-condominio-tilias.odt", "fatura-tipografia-alecrim.png",
        "manual-aquecedor-lumen.pdf", "plano-viagem-ilha-bruma.md", "receitas-da-quinta.docx",
    },
    "es": {
        "contrato-garaje-noria.tif", "correo-pedido-miel.eml", "informe-riego-huerta.pdf",
        "inventario-museo-ceramica.csv", "poliza-hogar-arrayan.pdf", "reglamento-piscina-azahar.html",
    },
}  # fmt: skip
SCANS = {"policy-sailing-boat.pdf", "fatura-tipografia-alecrim.png", "contrato-garaje-noria.tif"}
WORDLESS = {("garden-plan-orchard-court.pdf", 2), ("garden-plan-orchard-court.pdf", 4)}
RARE = 3  # pages of the set at most on which a rare word stands


def settings_with_ocr(folder: Path) -> Settings:
    return settings_in(folder, reading=ReadingSettings(workers=1))


SAMPLE = Library("sample set", [Upload(path.name, path.read_bytes()) for path in DOCS], settings=settings_with_ocr)


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, list[str]]]:
    """Return the text of each page of each document, with single spaces between words."""
    with SAMPLE.opened(tmp_path_factory.mktemp("sample")) as docmind:
        documents = docmind.documents
        yield {
            one.document: [
                " ".join(documents.page(one.doc_id, number).text.split()) for number in range(1, one.pages + 1)
            ]
            for one in documents.all()
        }


def labels() -> list[tuple[dict[str, Any], dict[str, Any]]]:
    return [(query, label) for query in QUERIES for label in query["relevant"]]


def language_of(document: str) -> str:
    return next(language for language, names in LANGUAGES.items() if document in names)


def words(text: str) -> set[str]:
    return set(re.findall(r"\w{3,}", text.casefold()))


@pytest.mark.slow
def test_every_snippet_stands_on_its_page(pages: Mapping[str, list[str]]) -> None:
    for query, label in labels():
        document, number, snippet = label["doc"], label["page"], label["snippet"]
        assert 1 <= number <= len(pages[document]), query["id"]
        text = pages[document][number - 1]
        assert bool(snippet) == ((document, number) not in WORDLESS), query["id"]
        if document in SCANS:
            assert partial_ratio(snippet, text) >= 80, (query["id"], snippet, text)
        else:
            assert snippet in text, (query["id"], snippet, text)


@pytest.mark.slow
def test_pages_without_words_are_read_as_such_and_scans_are_not(pages: Mapping[str, list[str]]) -> None:
    assert {(name, no) for name, texts in pages.items() for no, text in enumerate(texts, 1) if not text} == WORDLESS
    assert sum(map(len, pages.values())) == 58
    assert all(len(texts) <= 6 for texts in pages.values())


@pytest.mark.slow
def test_half_of_the_questions_share_no_rare_word_with_their_answer(pages: Mapping[str, list[str]]) -> None:
    spread = Counter(word for texts in pages.values() for text in texts for word in words(text))
    rare = {word for word, on in spread.items() if on <= RARE}
    answered = [query for query in QUERIES if query["relevant"] and query["category"] != "cross-language"]
    plain = [
        query
        for query in answered
        if not words(query["query"]) & rare & words(" ".join(label["snippet"] for label in query["relevant"]))
    ]
    assert len(plain) >= len(answered) / 2


@pytest.mark.slow
def test_nothing_in_it_could_be_of_a_real_person(pages: Mapping[str, list[str]]) -> None:
    for name, texts in pages.items():
        text = " ".join(texts)
        assert all(domain.endswith(".example") for domain in re.findall(r"@([\w.-]+)", text)), name
        # Links, telephone numbers, numbers of accounts.
        assert not re.search(r"https?://|www\.|\+\d{2,3} \d|\d{7,}|\d{3}[ .-]\d{3}[ .-]\d{3}", text), name


def test_the_documents_are_twenty_in_three_languages() -> None:
    names = {path.name for path in DOCS}
    assert names == set().union(*LANGUAGES.values())
    assert {language: len(found) for language, found in LANGUAGES.items()} == {"en": 8, "pt": 6, "es": 6}
    assert len({path.suffix for path in DOCS}) == 12
    assert sum(path.stat().st_size for path in SET.rglob("*") if path.is_file()) < 3_000_000


def test_the_questions_are_two_hundred_of_all_categories() -> None:
    assert len({query["id"] for query in QUERIES}) == len({query["query"] for query in QUERIES}) == len(QUERIES) == 200
    assert Counter(query["lang"] for query in QUERIES) == {"en": 79, "pt": 61, "es": 60}
    assert Counter(query["category"] for query in QUERIES) == {
        "number": 16, "date": 12, "person": 12, "list": 12, "definition": 10, "comparison": 10, "table": 14, "code": 8,
        "scan": 12, "paraphrase": 14, "yes-no": 12, "picture": 8, "cross-language": 30, "unanswerable": 30,
    }  # fmt: skip
    asked = {label["doc"] for _, label in labels()}
    assert asked == {path.name for path in DOCS}


def test_labels_fit_their_categories() -> None:
    for query in QUERIES:
        assert list(query) == ["id", "query", "lang", "category", "relevant"]
        assert query["id"].startswith(f"{query['lang']}-{query['category']}-")
        assert bool(query["relevant"]) == (query["category"] != "unanswerable"), query["id"]
        places = [(label["doc"], label["page"]) for label in query["relevant"]]
        assert len(set(places)) == len(places), query["id"]
        if query["category"] == "picture":
            assert WORDLESS & set(places), query["id"]
    for query, label in labels():
        assert list(label) == ["doc", "page", "relevance", "snippet"]
        assert label["relevance"] in (1, 2)
        if query["category"] != "picture":  # a drawing has no language
            crosses = language_of(label["doc"]) != query["lang"]
            assert crosses == (query["category"] == "cross-language"), query["id"]
        if query["category"] == "scan":
            assert label["doc"] in SCANS
    pairs = Counter(
        (query["lang"], language_of(query["relevant"][0]["doc"]))
        for query in QUERIES
        if query["category"] == "cross-language"
    )
    assert set(pairs.values()) == {5}
    assert len(pairs) == 6
    assert all(any(label["relevance"] == 2 for label in query["relevant"]) for query in QUERIES if query["relevant"])


def test_golden_cases_have_their_fields_and_no_others() -> None:
    import yaml

    cases = yaml.safe_load((SET / "golden.yaml").read_text(encoding="utf-8"))
    assert len({case["id"] for case in cases}) == len(cases) == 5
    for case in cases:
        assert set(case) == {"id", "agent", "layer", "input", "expected", "metadata"}
        assert set(case["input"]) == {"topic", "language"}
        assert set(case["expected"]) == {"min_findings", "must_have_source", "must_have_citation"}
        assert case["expected"]["must_have_source"] == "visual"
        assert set(case["metadata"]) == {"visual", "expected_recall_lift", "added_at"}
        assert (case["metadata"]["visual"], case["metadata"]["expected_recall_lift"]) == (True, 0.4)
        assert case["input"]["topic"] not in {query["query"] for query in QUERIES}


@pytest.mark.slow
def test_the_documents_are_what_the_script_writes_each_time(tmp_path: Path) -> None:
    """Byte for byte in two runs here; other builds of zlib and libjpeg may compress the same pages otherwise."""
    for name in ("one", "two"):
        command = [sys.executable, str(ROOT / "scripts" / "sample_set"), str(tmp_path / name)]
        subprocess.run(command, check=True, capture_output=True)
    names = [path.name for path in DOCS]
    assert sorted(path.name for path in (tmp_path / "one").iterdir()) == names
    assert filecmp.cmpfiles(tmp_path / "one", tmp_path / "two", names, shallow=False) == (names, [], [])
    for path in DOCS:
        if path.suffix in {".csv", ".eml", ".go", ".html", ".md"}:
            assert (tmp_path / "one" / path.name).read_bytes() == path.read_bytes()
        size = (tmp_path / "one" / path.name).stat().st_size
        assert size == pytest.approx(path.stat().st_size, rel=0.1), "run scripts/sample_set"
