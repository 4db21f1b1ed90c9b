"""`docmind evaluate` on a small set: tables, JSON, run files of TREC, comparisons, and refusals in one sentence."""

from __future__ import annotations

import json
from pathlib import Path

import ir_measures
import pytest

from docmind.cli.evaluate import _table, _told_writing
from docmind.errors import ConfigError, NotFoundError
from docmind.records.evaluation import METRICS, Figure, Run, Writing
from shells import Shell, sentence_of


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


def birds(shell: Shell) -> Path:
    folder = shell.files / "birds"
    (folder / "docs").mkdir(parents=True)
    (folder / "docs" / "grey herons.txt").write_text("Herons wait in shallow water for fish.")
    (folder / "docs" / "storks.txt").write_text("Storks nest on chimneys and clatter.")
    rows = [
        {"id": "a", "query": "herons in shallow water", "lang": "en", "category": "place",
         "relevant": [{"doc": "grey herons.txt", "page": 1, "relevance": 2}]},
        {"id": "b", "query": "nest on chimneys", "lang": "pt", "category": "\x1b[31mred",
         "relevant": [{"doc": "storks.txt", "page": 1, "relevance": 2}]},
        {"id": "c", "query": "the price of a tram", "lang": "en", "category": "none", "relevant": []},
    ]  # fmt: skip
    (folder / "queries.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\nno row\n")
    return folder


@pytest.mark.slow
def test_a_set_is_measured_shown_compared_and_removed(shell: Shell) -> None:
    folder = birds(shell)
    told = shell.run("evaluate", folder, "--k", "2").stdout
    lines = told.splitlines()
    assert "birds  3 queries  nDCG@2 1.000" in lines[0]
    assert [line.split()[:2] for line in lines if line.startswith("language")] == [
        ["language", "en"],
        ["language", "pt"],
    ]
    assert "\x1b" not in told
    assert "Not used: queries.jsonl, row 4: no JSON object" in told
    assert "Of 2 questions with an answer" in told
    (run,) = shell.json("evaluate", "list")["runs"]
    assert (run["set_name"], run["answerable"], run["figures"]["ndcg"]["mean"]) == ("birds", 2, 1.0)
    again = shell.run(
        "evaluate", folder, "--k", "2", "--against", "latest", "--no-answers", DOCMIND_RETRIEVE__FUSION="dense"
    )
    assert "retrieve.fusion: sum → dense" in again.stdout
    assert " better, " in again.stdout
    assert len(shell.json("evaluate", "list")["runs"]) == 2
    found = shell.json("evaluate", "compare", run["run_id"])
    assert len(found["better"]) + len(found["worse"]) + found["same"] == 2
    assert shell.json("evaluate", "remove", run["run_id"][:8])["run_id"] == run["run_id"]
    assert len(shell.json("evaluate", "list")["runs"]) == 1


@pytest.mark.slow
def test_a_set_of_beir_has_no_groups_and_is_told(shell: Shell) -> None:
    folder = shell.files / "beir"
    (folder / "qrels").mkdir(parents=True)
    corpus = [{"_id": "1", "title": "", "text": "Herons wait in shallow water for fish."}]
    (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, corpus)))
    (folder / "queries.jsonl").write_text(json.dumps({"_id": "q", "text": "herons in shallow water"}))
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq\t1\t1\n")
    told = shell.run("evaluate", folder, "--no-answers", "--k", "2").stdout
    assert "1 query  nDCG@2 1.000" in told
    run = shell.json("evaluate", "show")
    assert (run["by_language"], run["by_category"]) == ({}, {})


@pytest.mark.parametrize("answerable", [0, 1])
def test_a_run_is_told_whatever_it_lacks(answerable: int) -> None:
    figures = {str(metric): Figure(0.5, 0.4, 0.6) for metric in METRICS} if answerable else {}
    run = Run("ab", 0, "birds", "1", 10, 1, answerable, 1.0, {}, {}, figures)
    lines = _table(run).splitlines()
    assert "birds  1 query  nDCG@10 " + ("0.500" if answerable else "-") in lines[0]
    assert lines[-1].split() == ["all", str(answerable), *["0.500", "0.40–0.60"] * (len(METRICS) * answerable)]


def test_one_form_of_output_can_be_given(shell: Shell) -> None:
    assert (
        "Only one of --json and --format" in shell.run("evaluate", "show", "--format", "trec", "--json", code=2).stderr
    )


def test_claims_of_a_language_model_are_told() -> None:
    writing = Writing(questions=3, answers=2, silent=1, claims=4, supported=3, not_found=1)
    lines = _told_writing(writing, {"en": writing, "pt": Writing(1)}, "a\x1b[31mb")
    assert lines[0].endswith("answered 2 of 3 questions, 1 of them without a claim")
    assert "\x1b" not in lines[0]
    assert lines[1:] == [
        "  Claims: 4; supported: 3 (75%); not found: 1 (25%)",
        "    language en: Claims: 4; supported: 3 (75%); not found: 1 (25%)",
        "    language pt: Claims: 0; supported: 0; not found: 0",
    ]


@pytest.mark.slow
def test_a_run_is_written_for_other_tools(shell: Shell) -> None:
    """The figures that another tool computes from the run file are those of the run."""
    folder, out = birds(shell), shell.files / "run.trec"
    shell.run("evaluate", "run", folder, "--k", "2", "--no-answers", "--format", "trec", "--out", out)
    qrels = [ir_measures.Qrel("a", "grey_herons.txt#1", 2), ir_measures.Qrel("b", "storks.txt#1", 2)]
    found = ir_measures.calc_aggregate([ir_measures.nDCG @ 2], qrels, ir_measures.read_trec_run(str(out)))
    shown = json.loads(shell.run("evaluate", "show", "latest", "--format", "json").stdout)
    assert found[ir_measures.nDCG @ 2] == pytest.approx(shown["figures"]["ndcg"]["mean"])
    assert {score["query_id"] for score in shown["scores"]} == {"a", "b", "c"}
    taken = shell.run("evaluate", "show", "--format", "trec", "--out", out, code=ConfigError.exit_code)
    assert "already exists" in sentence_of(taken)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("nowhere",), ConfigError.exit_code, "no set for an evaluation"),
        (("labels",), ConfigError.exit_code, "no labels yet"),
        (("birds", "--model"), ConfigError.exit_code, "No language model is in use"),
        (("birds", "--filter", "language"), ConfigError.exit_code, "no filter"),
        (("birds", "--filter", "colour=red"), ConfigError.exit_code, "can't be filtered by colour"),
        (("birds", "--against", "abc"), NotFoundError.exit_code, "no run abc"),
        (("show",), NotFoundError.exit_code, "no run latest"),
        (("compare", "a", "b"), NotFoundError.exit_code, "no run a"),
        (("birds", "--k", "0"), 2, "from 1 to 1000"),
    ],
)
def test_what_cannot_be_measured_is_one_sentence(shell: Shell, words: tuple[str, ...], code: int, said: str) -> None:
    folder = birds(shell)
    shell.run("add", shell.file("otters.txt", b"Otters swim under the bridge."))
    result = shell.run("evaluate", *(folder if word == "birds" else word for word in words), code=code)
    assert said in result.stderr
    assert "Traceback" not in result.stderr
