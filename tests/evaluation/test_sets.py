"""Forms of labelled sets, and what is told of files that have none."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

import pytest

from docmind.errors import ConfigError
from docmind.evaluation import read_set, sets
from sampled import tenth_of

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
        (json.dumps({"id": "b", "query": "q"}), "row 2: the field relevant is missing"),
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


def beir(folder: Path) -> Path:
    folder.mkdir()
    (folder / "corpus.jsonl").write_text('{"_id": "d1", "title": "", "text": "Herons."}\n')
    (folder / "queries.jsonl").write_text('{"_id": "1", "text": "herons"}\n')
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n1\td1\t1\n")
    return folder


needs_links = pytest.mark.skipif(os.name == "nt", reason="Windows lets only administrators make links")


@needs_links
def test_links_lead_nowhere(tmp_path: Path) -> None:
    """A set that was fetched may name files of its reader: none of them is read, and what is left out is named."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "diary.txt").write_text("secret")
    folder = sample(tmp_path / "birds")
    (folder / "docs" / "link.txt").symlink_to(outside / "diary.txt")
    (folder / "docs" / "folder").symlink_to(outside)
    found = read_set(folder)
    assert found.documents == ("herons.txt",)
    assert ["link.txt" in found.skipped[1], "folder" in found.skipped[0], len(found.skipped)] == [True, True, 2]
    (folder / "docs").rename(outside / "docs")
    (folder / "docs").symlink_to(outside / "docs")
    with pytest.raises(ConfigError, match="no folder docs"):
        read_set(folder)
    for name in ("corpus.jsonl", "queries.jsonl", "qrels.tsv"):
        other = beir(tmp_path / name.partition(".")[0])
        (other / name).rename(outside / name)
        (other / name).symlink_to(outside / name)
        with pytest.raises(ConfigError, match=f"{name} can't be read: it is a link"):
            read_set(other)
    read_set(beir(tmp_path / "whole"))


@needs_links
@pytest.mark.parametrize("name", ["corpus.jsonl", "queries.jsonl", "qrels.tsv", "golden.yaml", "docs/herons.txt"])
def test_pipes_and_devices_are_no_files(tmp_path: Path, name: str) -> None:
    folder = sample(tmp_path / "birds") if name.startswith(("golden", "docs")) else beir(tmp_path / "birds")
    place = folder / name
    place.unlink(missing_ok=True)
    os.mkfifo(place)  # whoever opens it waits for a writer
    if name.startswith("docs"):
        with pytest.raises(ConfigError, match="No query"):
            read_set(folder)
        return
    with pytest.raises(ConfigError, match="can't be read"):
        read_set(folder)


def test_a_document_that_becomes_a_link_is_not_read(tmp_path: Path) -> None:
    folder = sample(tmp_path / "birds")
    found = read_set(folder)
    (tmp_path / "diary.txt").write_text("secret")
    (folder / "docs" / "herons.txt").unlink()
    (folder / "docs" / "herons.txt").symlink_to(tmp_path / "diary.txt")
    assert found.uploads
    with pytest.raises(ConfigError, match="it is a link"):
        list(found.uploads())


def test_large_files_are_refused_before_they_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = sample(tmp_path / "birds")
    for name, size in (("queries.jsonl", 10 << 30), ("golden.yaml", 1 << 20)):
        folder = sample(tmp_path / name)
        with (folder / name).open("wb") as file:
            file.truncate(size)  # no byte of it is on the disk
        with pytest.raises(ConfigError, match="is larger than"):
            read_set(folder)
    for name in ("MOST_QUERIES", "MOST_DOCUMENTS", "MOST_JUDGEMENTS"):
        monkeypatch.setattr(sets, name, 3)
        other = beir(tmp_path / name)
        ids = range(1_000)
        (other / "corpus.jsonl").write_text(
            "".join(f'{{"_id": "d{n}"}}\n' for n in ids[: 1 + (name != "MOST_QUERIES")])
        )
        (other / "queries.jsonl").write_text("".join(f'{{"_id": "{n}", "text": "q"}}\n' for n in ids))
        (other / "qrels.tsv").write_text("".join(f"{n} 0 d{m} 1\n" for n in ids for m in (0, 1)))
        if name == "MOST_DOCUMENTS":
            (other / "corpus.jsonl").write_text("".join(f'{{"_id": "d{n}"}}\n' for n in ids))
        with pytest.raises(ConfigError, match="has more than 3 rows"):
            read_set(other)
        monkeypatch.undo()


def test_what_is_named_of_hostile_rows_is_short(tmp_path: Path) -> None:
    folder = sample(tmp_path / "birds")
    far = {"id": "b", "relevant": [{"doc": "x" * 20_000, "page": 1}]}
    with (folder / "queries.jsonl").open("a") as file:
        file.write("\n" + "{\n" * 5_000 + json.dumps(ROW | far) + "\n")
        file.write(json.dumps(ROW | {"id": "c", "category": "x\n\x1b[2J" * 9_000, "lang": {"deep": ["x"] * 9_000}}))
        file.write('\n{"id": "d", "query": ' + "[" * 500_000 + "\n")
        file.write('{"id": "e", "query": "half \\ud800 a pair", "relevant": []}\n')
        file.write('{"id": "f", "query": "a \\u0000 b", "relevant": []}\n')
    found = read_set(folder)
    assert [(query.id, len(query.category), query.language) for query in found.queries] == [
        ("a", 5, "en"), ("c", 60, ""),
    ]  # fmt: skip
    assert not set("\n\x1b") & set(found.queries[1].category)
    assert len(found.skipped) == 100
    assert max(map(len, found.skipped)) <= 300


def test_a_row_that_is_too_long_costs_itself_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sets, "_LONGEST_LINE", 400)
    folder = sample(tmp_path / "birds")
    with (folder / "queries.jsonl").open("a") as file:
        file.write("\n" + json.dumps(ROW | {"id": "b", "query": "x" * 2_000}) + "\n" + json.dumps(ROW | {"id": "c"}))
    found = read_set(folder)
    assert ([query.id for query in found.queries], len(found.skipped)) == (["a", "c"], 1)
    assert "row 2" in found.skipped[0]


def test_a_file_of_nothing_but_junk_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sets, "_MOST_ROWS", 1_000)
    folder = sample(tmp_path / "birds")
    (folder / "queries.jsonl").write_text(json.dumps(ROW) + "\n" + "x\n\n" * 500)
    with pytest.raises(ConfigError, match="has more than 1,000 rows"):
        read_set(folder)


def test_a_bomb_of_yaml_is_not_unpacked(tmp_path: Path) -> None:
    folder = sample(tmp_path / "birds")
    layers = "".join(f"- &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 40))
    (folder / "golden.yaml").write_text(f"- &a0 [x]\n{layers}" + GOLDEN.replace("language: en", "language: *a39"))
    found = read_set(folder)
    assert [(query.id, query.language) for query in found.queries] == [("a", "en"), ("g", "")]


@pytest.mark.parametrize("grade", ["NaN", "inf", "1e400", "9" * 5_000, "-1", "", "٣", "0x10"])
def test_grades_that_are_no_numbers_are_no_judgements(tmp_path: Path, grade: str) -> None:
    folder = beir(tmp_path / "birds")
    (folder / "qrels.tsv").write_text(f"q\td\tscore\n1\td1\t1\n2\td1\t{grade}\n1\td1\t2\n")
    (folder / "queries.jsonl").write_text('{"_id": "1", "text": "herons"}\n' * 3)
    (query,) = read_set(folder).queries
    assert [page.grade for page in query.relevant] == [2], "the last of two judgements holds"


def test_damaged_files_never_raise_another_error(tmp_path: Path) -> None:
    """300 mutants of each file of a set: cut, with flipped bytes, with repeated parts."""
    folder = sample(tmp_path / "birds")
    (folder / "golden.yaml").write_text(GOLDEN)
    read = tried = 0
    for path in (folder / "queries.jsonl", folder / "golden.yaml", *sorted(beir(tmp_path / "beir").iterdir())):
        whole = path.read_bytes()
        for number in tenth_of(range(300)):
            dice = random.Random(number)
            data = bytearray(whole)
            for _ in range(dice.randint(1, 4)):
                data[dice.randrange(len(data))] = dice.randrange(256)
            cut = dice.randrange(len(data))
            path.write_bytes(
                bytes(data[:cut] + data[dice.randrange(len(data)) :]) if dice.random() < 0.5 else bytes(data)
            )
            try:
                tried += 1
                read += bool(read_set(path.parent).queries)
            except ConfigError:
                continue
        path.write_bytes(whole)
    assert read > tried / 15
