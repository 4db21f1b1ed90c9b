"""Forms of labelled sets, and what is told of files that have none."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from docmind.errors import ConfigError
from docmind.evaluation import read_set

ROW = {"id": "a", "query": "Where do herons wait?", "lang": "en", "category": "place",
       "relevant": [{"doc": "docs/herons.txt", "page": 2, "relevance": 1, "snippet": "Herons"}]}  # fmt: skip
GOLDEN = (
    "- id: g\n  input: {topic: a blue bird, language: en}\n  expected: {min_findings: 2}\n  metadata: {visual: true}\n"
)


def sample(folder: Path) -> Path:
    (folder / "docs").mkdir(parents=True)
    (folder / "docs" / "herons.txt").write_text("Herons wait.")
    (folder / "docs" / ".hidden").write_text("x")
    (folder / "queries.jsonl").write_text(json.dumps(ROW))
    return folder


def test_the_form_of_the_set_that_comes_with_docmind(tmp_path: Path) -> None:
    folder = sample(tmp_path / "birds")
    (folder / "golden.yaml").write_text(GOLDEN)
    found = read_set(folder)
    query, golden = found.queries
    assert (found.name, found.documents, found.by_document) == ("birds", ("herons.txt",), False)
    assert [(page.document, page.page_no, page.grade) for page in query.relevant] == [("herons.txt", 2, 1)]
    assert query.facts["document"] == {"herons.txt"}
    assert (golden.text, golden.category, golden.facts["golden"], golden.is_answerable) == (
        "a blue bird", "golden", {"2"}, False,
    )  # fmt: skip
    assert [one.id for one in found.filtered({"visual": "true"}).queries] == ["g"]
    assert [upload.data for upload in found.uploads()] == [b"Herons wait."] if found.uploads else False


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("[1]", "no JSON object"),
        ("{", "no JSON object"),
        (json.dumps(ROW | {"id": ""}), "id is no text"),
        (json.dumps(ROW | {"query": "x" * 20_001}), "query is no text"),
        (json.dumps({"id": "b", "query": "q"}), "'relevant' is missing"),
        (json.dumps(ROW | {"id": "b", "relevant": [{"doc": "no.txt", "page": 1}]}), "there is no document no.txt"),
        (json.dumps(ROW | {"id": "b", "relevant": [{"doc": "herons.txt", "page": 0}]}), "page is no number from 1"),
        (json.dumps(ROW | {"id": "b", "relevant": [{"doc": "herons.txt", "page": True}]}), "page is no number from 1"),
        (json.dumps(ROW | {"id": "b", "relevant": "herons.txt"}), "row 2"),
        (json.dumps(ROW), "the id a is there twice"),
    ],
)
def test_a_bad_row_costs_itself_alone_and_is_named(tmp_path: Path, row: str, reason: str) -> None:
    folder = sample(tmp_path / "birds")
    with (folder / "queries.jsonl").open("a") as file:
        file.write(f"\n{row}\n\n")
    found = read_set(folder)
    assert [query.id for query in found.queries] == ["a"]
    (told,) = found.skipped
    assert reason in told


def test_labelled_questions_have_pages_or_a_document(tmp_path: Path) -> None:
    folder = tmp_path / "questions"
    (folder / "files").mkdir(parents=True)
    (folder / "files" / "wine.csv").write_text("a,b\n")
    rows = [
        {"id": "1", "question": "How much?", "doc": "wine.csv", "answer": "6", "tags": ["table"]},
        {"id": "2", "question": "Which?", "doc": "wine.csv", "pages": [1, 3], "alt": [{"doc": "b.pdf", "pages": [7]}]},
        {"id": "3", "question": "No pages", "doc": "wine.csv"},
    ]
    (folder / "questions.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (folder / "unanswerable.jsonl").write_text(json.dumps({"question": "Who won?", "near": True}))
    first, second, third = read_set(folder).queries
    assert [(page.document, page.page_no) for page in first.relevant] == [("wine.csv", 0)]
    assert [(page.document, page.page_no) for page in second.relevant] == [
        ("b.pdf", 7),
        ("wine.csv", 1),
        ("wine.csv", 3),
    ]
    assert (third.text, third.is_answerable) == ("Who won?", False)
    assert first.facts["tag"] == {"table"}
    assert len(read_set(folder).skipped) == 1


def test_what_is_no_set_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no set for an evaluation"):
        read_set(tmp_path)
    (tmp_path / "queries.jsonl").write_text(json.dumps(ROW))
    with pytest.raises(ConfigError, match="no folder docs"):
        read_set(tmp_path)
    folder = sample(tmp_path / "birds")
    (folder / "queries.jsonl").write_text("nothing\n")
    with pytest.raises(ConfigError, match="No query of"):
        read_set(folder)
    (folder / "corpus.jsonl").write_text(json.dumps({"_id": "1", "text": "x"}))
    with pytest.raises(ConfigError, match="no judgements"):
        read_set(folder)


def test_damaged_files_never_raise_another_error(tmp_path: Path) -> None:
    """300 mutants of each file of a set: cut, with flipped bytes, with repeated parts."""
    dice = random.Random(5)
    folder = sample(tmp_path / "birds")
    (folder / "golden.yaml").write_text(GOLDEN)
    beir = tmp_path / "beir"
    beir.mkdir()
    (beir / "corpus.jsonl").write_text('{"_id": "d1", "title": "", "text": "Herons."}\n')
    (beir / "queries.jsonl").write_text('{"_id": "1", "text": "herons"}\n')
    (beir / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n1\td1\t1\n")
    read = 0
    for path in (folder / "queries.jsonl", folder / "golden.yaml", *sorted(beir.iterdir())):
        whole = path.read_bytes()
        for _ in range(300):
            data = bytearray(whole)
            for _ in range(dice.randint(1, 4)):
                data[dice.randrange(len(data))] = dice.randrange(256)
            cut = dice.randrange(len(data))
            path.write_bytes(
                bytes(data[:cut] + data[dice.randrange(len(data)) :]) if dice.random() < 0.5 else bytes(data)
            )
            try:
                read += bool(read_set(path.parent).queries)
            except ConfigError:
                continue
        path.write_bytes(whole)
    assert read > 100
