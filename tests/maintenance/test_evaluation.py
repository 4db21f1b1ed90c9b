"""Sets measured in a library of their own, labels on the open one, and what is kept of both."""

from __future__ import annotations

import json
import shutil
import threading
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from desks import opened, talking
from docmind.application import DocMind
from docmind.config import RetrieveSettings
from docmind.errors import CancelledError, ConfigError, DamagedError, NotFoundError
from docmind.evaluation import read_set
from docmind.maintenance.measured_library import measured_library
from docmind.records.documents import Upload
from docmind.records.evaluation import GOOD, LABELS, NO_SOURCE, Writing
from docmind_testkit import COLOURS, FakeChatModel
from looking import album, looking

HERONS, STORKS = "Herons wait in shallow water for fish.", "Storks nest on chimneys and clatter."
QUERIES: Sequence[dict[str, Any]] = (
    {"id": "a", "query": "herons in shallow water", "lang": "en", "category": "number",
     "relevant": [{"doc": "herons.txt", "page": 1, "relevance": 2, "snippet": "Herons"}]},
    {"id": "b", "query": "nest on chimneys", "lang": "pt", "category": "yes/no",
     "relevant": [{"doc": "storks.txt", "page": 1, "relevance": 1}]},
    {"id": "c", "query": "price of the tram to Quillonia", "lang": "en", "category": "none", "relevant": []},
)  # fmt: skip


def set_in(folder: Path, queries: Sequence[Any] = QUERIES) -> Path:
    """Write a set of two documents in the form of the one that comes with DocMind."""
    (folder / "docs").mkdir(parents=True, exist_ok=True)
    (folder / "docs" / "herons.txt").write_text(HERONS)
    (folder / "docs" / "storks.txt").write_text(STORKS)
    (folder / "queries.jsonl").write_text("\n".join(json.dumps(row) for row in queries))
    return folder


@pytest.mark.slow
def test_a_language_model_answers_each_query_and_its_claims_are_counted(tmp_path: Path) -> None:
    with talking(tmp_path) as docmind:
        folder = set_in(tmp_path / "birds")
        with pytest.raises(ConfigError, match="No language model is in use"):
            docmind.evaluation.run(folder, model=True)
        assert docmind.evaluation.runs() == ()
        told = f"{HERONS} Herons never sleep in the winter months."
        docmind.models.model = FakeChatModel(  # type: ignore[attr-defined]
            told, "The documents do not say it.", loop=True
        )
        run = docmind.evaluation.run(folder, model=True)
        assert docmind.conversations.threads() == (), "nothing of it is stored"
        assert run.settings["language model"] == "fake"
        writings = {score.query_id: score.writing for score in run.scores}
        assert writings["a"] == Writing(questions=1, answers=1, claims=2, supported=1, not_found=1)
        assert run.writing is not None
        assert (run.writing.questions, run.writing.claims, run.writing.supported) == (3, 2, 1)
        assert run.writing.answers == 1 + run.writing.silent
        assert {name: one.claims for name, one in run.writing_by_language.items()} == {"en": 2, "pt": 0}
        assert docmind.evaluation.get("latest") == run
        without = docmind.evaluation.run(folder)
        assert (without.writing, dict(without.writing_by_language)) == (None, {})
        assert "language model" not in without.settings
        compared = docmind.evaluation.compare(run.run_id, without.run_id)
        assert (compared.before.writing, compared.after.writing) == (run.writing, None)
        assert compared.settings["language model"] == ("fake", "")
    assert measured_libraries(tmp_path) == []


@pytest.mark.slow
def test_a_run_that_was_kept_before_language_models_were_measured_is_read(docmind: DocMind, tmp_path: Path) -> None:
    run = docmind.evaluation.run(set_in(tmp_path / "birds"))
    database = docmind.vault.database
    row = database.one("SELECT record, summary FROM evaluation_runs WHERE run_id = ?", (run.run_id,))
    assert row is not None
    record, summary = json.loads(zlib.decompress(row[0])), json.loads(row[1])
    for one in (record, summary, *record["scores"]):
        del one["writing"]
    del record["writing_by_language"]
    with database.transaction() as db:
        db.execute(
            "UPDATE evaluation_runs SET record = ?, summary = ?",
            (zlib.compress(json.dumps(record).encode()), json.dumps(summary)),
        )
    assert docmind.evaluation.get(run.run_id) == run
    assert [one.run_id for one in docmind.evaluation.runs()] == [run.run_id]


@pytest.mark.slow
def test_a_set_is_measured_with_all_vectors_that_the_app_makes_by_itself(docmind: DocMind, tmp_path: Path) -> None:
    chosen = read_set(set_in(tmp_path / "birds"))
    with measured_library(chosen, docmind.vault.settings, docmind.embedder, lambda done: None) as library:
        assert library.parts.vault.passage_vectors.missing(docmind.embedder.fingerprint, 9) == []


def measured_libraries(folder: Path) -> list[str]:
    place = folder / "data" / "evaluation"
    return sorted(one.name for one in place.iterdir()) if place.is_dir() else []


@pytest.fixture
def docmind(tmp_path: Path) -> Any:
    with opened(tmp_path) as docmind:
        yield docmind


@pytest.mark.slow
def test_a_set_is_measured_beside_the_library(docmind: DocMind, tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    run = docmind.evaluation.run(set_in(tmp_path / "birds"), k=2, progress=lambda *now: told.append(now))
    assert docmind.documents.counts() == (0, 0, 0), "the open library gets no document of a set"
    assert measured_libraries(tmp_path) == []
    assert (run.set_name, run.k, run.queries, run.answerable) == ("birds", 2, 3, 2)
    scores = {score.query_id: score for score in run.scores}
    assert (scores["a"].ndcg, scores["a"].recall, scores["a"].precision, scores["a"].mrr) == (1.0, 1.0, 0.5, 1.0)
    assert next((page.document, page.page_no, page.grade) for page in scores["a"].found) == ("herons.txt", 1, 2)
    assert [(page.document, page.grade) for page in scores["b"].relevant] == [("storks.txt", 1)]
    assert not scores["c"].is_answerable
    assert (set(run.by_language), set(run.by_category)) == ({"en", "pt"}, {"number", "yes/no"})
    assert run.figures["ndcg"].mean == 1.0
    assert (sum(run.outcomes.answerable.values()), sum(run.outcomes.unanswerable.values())) == (2, 1)
    assert {"total", "answer"} <= run.stages.keys()
    weighed = [score.confidence for score in run.scores if score.confidence is not None]
    assert sum(one.questions for one in run.calibration) == len(weighed) > 0
    assert all(one.low <= one.confidence <= one.high for one in run.calibration)
    assert run.settings["text model"] == "fake"
    assert told[-1] == (5, 5)
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert docmind.evaluation.get(run.run_id[:6]) == docmind.evaluation.get("latest") == run
    (summary,) = docmind.evaluation.runs()
    assert (summary.run_id, summary.figures) == (run.run_id, run.figures)
    assert docmind.evaluation.remove(run.run_id).run_id == run.run_id
    assert docmind.evaluation.runs() == ()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["labels", "sample"])
def test_a_folder_is_not_taken_for_a_set_of_its_name(docmind: DocMind, tmp_path: Path, name: str) -> None:
    run = docmind.evaluation.run(set_in(tmp_path / name), k=2, answers=False)
    assert run.set_name == f"{name}/"
    assert docmind.evaluation.get(run.run_id) == run, "its questions are kept"


def test_what_stops_a_run_leaves_nothing(docmind: DocMind, tmp_path: Path) -> None:
    def stop(done: int, total: int) -> None:
        if done >= 2:
            raise CancelledError("Stopped.")

    with pytest.raises(CancelledError):
        docmind.evaluation.run(set_in(tmp_path / "birds"), progress=stop)
    assert docmind.evaluation.runs() == ()
    assert measured_libraries(tmp_path) == []


def test_closing_the_library_stops_a_run(tmp_path: Path) -> None:
    docmind, told = opened(tmp_path), list[CancelledError]()
    begun = threading.Event()

    def measure() -> None:
        try:
            docmind.evaluation.run(set_in(tmp_path / "birds"), progress=lambda done, total: begun.set())
        except CancelledError as error:
            told.append(error)

    thread = threading.Thread(target=measure)
    thread.start()
    assert begun.wait(60)
    docmind.close()
    assert measured_libraries(tmp_path) == []
    thread.join(60)
    assert len(told) == 1


@pytest.mark.slow
def test_a_page_counts_once_where_passages_are_ranked(tmp_path: Path) -> None:
    chosen = set_in(tmp_path / "birds")
    (chosen / "docs" / "herons.txt").write_text(
        "\n\n".join(f"Herons wait in shallow water {n}. " * 20 for n in range(9))
    )
    with opened(tmp_path, retrieve=RetrieveSettings(dedup_key="node_id")) as docmind:
        run = docmind.evaluation.run(chosen, k=10, answers=False)
        for score in run.scores:
            places = [(page.document, page.page_no) for page in score.found]
            assert len(places) == len(set(places))
            assert max(score.ndcg, score.recall) <= 1.0


@pytest.mark.slow
def test_a_killed_run_is_swept_at_the_next_opening(tmp_path: Path) -> None:
    with opened(tmp_path / "left") as docmind:
        docmind.add([Upload("herons.txt", HERONS.encode())])
    with opened(tmp_path):
        pass
    place = tmp_path / "data" / "evaluation"
    shutil.copytree(tmp_path / "left" / "data", place / "0123456789abcdef")
    own = place / "fedcba9876543210"
    own.mkdir()
    (own / "diary.odt").write_text("not DocMind's")
    with opened(tmp_path) as docmind:
        assert measured_libraries(tmp_path) == ["fedcba9876543210"], "what is not DocMind's stays"
        assert docmind.doctor.examine("quick").counts == (("file-foreign", 1),)


@pytest.mark.slow
def test_the_settings_of_the_library_are_measured_and_compared(tmp_path: Path) -> None:
    chosen = set_in(tmp_path / "birds")
    with opened(tmp_path) as docmind:
        before = docmind.evaluation.run(chosen, answers=False)
    with opened(tmp_path, retrieve=RetrieveSettings(fusion="dense", rerank="off")) as docmind:
        after = docmind.evaluation.run(chosen, answers=False)
        found = docmind.evaluation.compare(before.run_id, after.run_id)
        assert found.settings == {"retrieve.fusion": ("sum", "dense"), "retrieve.rerank": ("late", "off")}
        changes = [one.after.ndcg - one.before.ndcg for one in (*found.better, *found.worse)]
        assert sum(changes) / 2 == pytest.approx(found.differences["ndcg"].mean)
        assert len(found.better) + len(found.worse) + found.same == 2
        other = docmind.evaluation.run(set_in(tmp_path / "others"), answers=False)
        with pytest.raises(ConfigError, match="no query in common"):
            docmind.evaluation.compare(before.run_id, other.run_id)


@pytest.mark.slow
def test_a_filter_chooses_queries(docmind: DocMind, tmp_path: Path) -> None:
    chosen = set_in(tmp_path / "birds")
    run = docmind.evaluation.run(chosen, filters={"language": "pt"}, answers=False)
    assert ([score.query_id for score in run.scores], dict(run.filters)) == (["b"], {"language": "pt"})
    assert run.scores[0].outcome is None
    with pytest.raises(ConfigError, match="colour"):
        docmind.evaluation.run(chosen, filters={"colour": "red"})
    with pytest.raises(ConfigError, match="No query"):
        docmind.evaluation.run(chosen, filters={"language": "fr"})
    with pytest.raises(ConfigError):
        docmind.evaluation.run(chosen, k=0)
    with pytest.raises(ConfigError, match="no labels"):
        docmind.evaluation.run(LABELS)


@pytest.mark.slow
def test_golden_cases_need_an_image_model(docmind: DocMind, tmp_path: Path) -> None:
    chosen = set_in(tmp_path / "birds")
    (chosen / "golden.yaml").write_text(
        "- id: g1\n  agent: a\n  layer: l\n  input: {topic: a bird in blue, language: en}\n"
        "  expected: {min_findings: 1, must_have_source: visual, must_have_citation: true}\n"
        "  metadata: {visual: true, expected_recall_lift: 0.4, added_at: 2026-11-27}\n- nonsense\n"
    )
    run = docmind.evaluation.run(chosen, filters={"visual": "true"})
    assert [(one.case_id, one.state, one.needed) for one in run.golden] == [("g1", "skipped", 1)]
    assert run.scores == ()
    assert any("golden.yaml" in one for one in run.skipped)


@pytest.mark.slow
def test_pages_without_words_are_found_by_the_image_model_in_use(tmp_path: Path) -> None:
    """A picture page that only its look finds: recall gains by lists of page images, and the golden case passes."""
    chosen = set_in(tmp_path / "birds", [
        {"id": "p", "query": "red", "lang": "en", "category": "picture",
         "relevant": [{"doc": "picture.tiff", "page": 4, "relevance": 2}]},
    ])  # fmt: skip
    (chosen / "docs" / "picture.tiff").write_bytes(album("picture", *COLOURS).data)
    (chosen / "golden.yaml").write_text(
        "- id: g1\n  input: {topic: red, language: en}\n  expected: {min_findings: 1}\n  metadata: {visual: true}\n"
    )
    with looking(tmp_path, late_model="off") as docmind:
        run = docmind.evaluation.run(chosen, k=3, answers=False)
        assert run.settings["visual.image_model"] == "fake-image"
        assert [(one.state, one.findings > 0) for one in run.golden] == [("passed", True)]
        assert run.visual_lift is not None
        assert (run.scores[0].recall, run.visual_lift.mean) == (1.0, 1.0)
    with looking(tmp_path, image_model="off", late_model="off") as docmind:
        without = docmind.evaluation.run(chosen, k=3, answers=False)
        assert (without.settings["visual.image_model"], without.visual_lift) == ("off", None)
        assert [one.state for one in without.golden] == ["skipped"]


@pytest.mark.slow
def test_a_corpus_of_beir_is_judged_by_document(docmind: DocMind, tmp_path: Path) -> None:
    folder = tmp_path / "beir"
    (folder / "qrels").mkdir(parents=True)
    rows = [{"_id": "d 1", "title": "Herons", "text": HERONS}, {"_id": "d2", "title": "", "text": STORKS}]
    (folder / "corpus.jsonl").write_text(
        "\n".join(map(json.dumps, [*rows, {"_id": "d3", "title": "", "text": STORKS}]))
    )
    (folder / "queries.jsonl").write_text(
        "\n".join(json.dumps({"_id": name, "text": text}) for name, text in
                  (("1", "herons in shallow water"), ("2", "nest on chimneys"), ("3", "not judged")))
    )  # fmt: skip
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n1\td 1\t2\n2\tmissing\t1\n")
    (folder / "qrels.trec").write_text("2 0 d3 1\n2 0 d2\n")
    run = docmind.evaluation.run(folder, k=3, answers=False)
    scores = {score.query_id: score for score in run.scores}
    assert set(scores) == {"1", "2"}
    assert (scores["1"].found[0].document, scores["1"].found[0].page_no, scores["1"].ndcg) == ("d 1", 0, 1.0)
    assert (scores["2"].recall, scores["2"].ndcg) == (1.0, 1.0), "equal texts are one document with both names"
    assert [one.partition(":")[0] for one in run.skipped] == ["test.tsv, row 3", "qrels.trec, row 2"]


def labelled(docmind: DocMind) -> tuple[str, str, str]:
    """Add two documents and label them; return their ids, and that of the conversation of the second label."""
    results = docmind.add([Upload("herons.txt", HERONS.encode()), Upload("storks.txt", STORKS.encode())])
    herons, storks = (str(result.doc_id) for result in results)
    thread = docmind.conversations.create("Birds").thread_id
    docmind.evaluation.label("herons in  shallow water", herons, 1, GOOD)
    docmind.evaluation.label("who nests on chimneys", storks, 1, GOOD, thread_id=thread)
    docmind.evaluation.label("who nests on chimneys", herons, 1, NO_SOURCE, thread_id=thread)
    return herons, storks, thread


def test_labels_are_given_changed_and_removed(docmind: DocMind) -> None:
    herons, storks, thread = labelled(docmind)
    assert [(one.question, one.doc_id, one.grade) for one in docmind.evaluation.labels("")] == [
        ("herons in shallow water", herons, GOOD)
    ]
    assert {(one.doc_id, one.grade) for one in docmind.evaluation.labels(thread)} == {
        (storks, GOOD),
        (herons, NO_SOURCE),
    }
    docmind.evaluation.label("who nests on chimneys", herons, 1, GOOD, thread_id=thread)
    docmind.evaluation.label("who nests on chimneys", storks, 1, None, thread_id=thread)
    assert [(one.doc_id, one.grade) for one in docmind.evaluation.labels(thread)] == [(herons, GOOD)]
    for bad in (("  ", herons, 1, GOOD), ("q", herons, 1, 7)):
        with pytest.raises(ConfigError):
            docmind.evaluation.label(*bad)
    for odd in (("q" * 20_001, herons, 1, GOOD), ("half \ud800", herons, 1, GOOD), ("q", herons, 2**63, GOOD)):
        with pytest.raises(ConfigError):
            docmind.evaluation.label(*odd)
    with pytest.raises(NotFoundError):
        docmind.evaluation.label("q", herons, 9, GOOD)
    with pytest.raises(NotFoundError):
        docmind.evaluation.label("q", herons, 1, GOOD, thread_id="none")


@pytest.mark.slow
def test_labels_are_a_set_over_the_open_library(docmind: DocMind) -> None:
    labelled(docmind)
    assert [one.name for one in docmind.evaluation.sets()][-1] == LABELS
    run = docmind.evaluation.run(LABELS, k=2)
    assert (run.queries, run.answerable, run.figures["recall"].mean) == (2, 2, 1.0)
    kept = docmind.evaluation.get(run.run_id)
    assert {score.text for score in kept.scores} == {"herons in shallow water", "who nests on chimneys"}
    second = next(score for score in kept.scores if "chimneys" in score.text)
    assert [page.document for page in second.relevant] == ["storks.txt"]
    assert [(page.document, page.grade) for page in second.found] == [
        (page.document, page.grade) for score in run.scores if score.query_id == second.query_id for page in score.found
    ]


@pytest.mark.slow
def test_nothing_is_left_in_runs_of_what_is_erased(docmind: DocMind) -> None:
    herons, _storks, thread = labelled(docmind)
    run = docmind.evaluation.run(LABELS, k=2)
    db = docmind.vault.database
    ((record, summary),) = db.all("SELECT record, summary FROM evaluation_runs")
    for said in ("herons", "chimneys", herons):
        assert said not in zlib.decompress(record).decode(), said
        assert said not in summary, said
    (receipt,) = docmind.erasures.erase([herons])
    assert receipt.is_clean
    assert {one.doc_id for one in docmind.evaluation.labels()} == {_storks}
    kept = docmind.evaluation.get(run.run_id)
    assert {page.document for score in kept.scores for page in (*score.relevant, *score.found)} == {"storks.txt"}
    assert kept.figures == run.figures
    docmind.conversations.erase_thread(thread)
    assert docmind.evaluation.labels() == ()
    assert {score.text for score in docmind.evaluation.get(run.run_id).scores} == {""}


@pytest.mark.slow
def test_a_run_over_labels_keeps_no_name_that_it_was_filtered_by(docmind: DocMind) -> None:
    labelled(docmind)
    run = docmind.evaluation.run(LABELS, k=2, filters={"document": "storks.txt"}, answers=False)
    assert run.filters == {"document": "storks.txt"}
    ((record, summary),) = docmind.vault.database.all("SELECT record, summary FROM evaluation_runs")
    assert "storks" not in zlib.decompress(record).decode() + summary
    assert docmind.evaluation.get(run.run_id).filters == docmind.evaluation.runs()[0].filters == {"document": "…"}


@pytest.mark.slow
def test_a_run_that_cannot_be_read_is_told_and_can_be_removed(docmind: DocMind, tmp_path: Path) -> None:
    run = docmind.evaluation.run(set_in(tmp_path / "birds"), answers=False)
    with docmind.vault.database.transaction() as db:
        db.execute("UPDATE evaluation_runs SET record = x'00', summary = 'nothing'")
    assert docmind.evaluation.runs() == ()
    with pytest.raises(DamagedError):
        docmind.evaluation.get(run.run_id)
    assert docmind.evaluation.remove(run.run_id).run_id == run.run_id
    with pytest.raises(NotFoundError):
        docmind.evaluation.get(run.run_id)


@pytest.mark.slow
def test_another_text_model_is_measured_without_the_library_taking_it(docmind: DocMind, tmp_path: Path) -> None:
    folder = set_in(tmp_path / "birds")
    own = docmind.evaluation.run(folder, k=2, answers=False)
    with docmind.evaluation.with_text_model("minilm") as other:
        run = other.run(folder, k=2, answers=False)
    changed = docmind.evaluation.compare(own.run_id, run.run_id).settings
    assert list(changed) == ["text model"], changed
    assert docmind.embedder.name == own.settings["text model"] != run.settings["text model"]
    with pytest.raises(ConfigError, match="no text model"), docmind.evaluation.with_text_model("none-such"):
        pass
