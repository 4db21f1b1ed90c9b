"""The report of a run, the comparison of two, and the chart: what they say, and that texts stay texts."""

from __future__ import annotations

import json
import re
from dataclasses import replace

from streamlit.testing.v1 import AppTest

from docmind.records.evaluation import (
    METRICS,
    Figure,
    GradedPage,
    Group,
    Latency,
    Outcomes,
    QueryChange,
    QueryScore,
    Run,
    RunComparison,
    Writing,
)
from docmind.ui.evaluation import comparison, figures, over_time, report, runs

HOSTILE = "Rent | ![x](http://127.0.0.1:9/c.png) :red[r] $x$ <img src=x>"


def score(query_id: str, ndcg: float, *, is_answerable: bool = True, outcome: str = "answer") -> QueryScore:
    right = GradedPage(HOSTILE, 3, 2)
    return QueryScore(
        query_id, f"{HOSTILE} {query_id}", "en", "table", is_answerable, ndcg=ndcg, mrr=ndcg, outcome=outcome,  # type: ignore[arg-type]
        relevant=(right,) if is_answerable else (), found=(GradedPage("Other.pdf", 1, 0), right),
    )  # fmt: skip


def run(mean: float = 0.8, made_at_ms: int = 1_000, run_id: str = "ab") -> Run:
    figure = Figure(mean, mean - 0.1, mean + 0.1)
    group = Group(2, {"ndcg": figure, "recall": figure})
    return Run(
        run_id, made_at_ms, "sample", "1", 10, 4, 3, 61.0, {"retrieve.fusion": "sum"}, {},
        dict.fromkeys(METRICS, figure),
        by_language={"en": group, "pt": group}, by_category={"table": group},
        outcomes=Outcomes({"answer": 2, "not found": 1}, {"answer": 1}, 1), stages={"total": Latency(20.0, 700.0)},
        scores=(
            score("good", 1.0), score("bad", 0.0), score("middling", 0.5),
            score("wrong", 0.0, is_answerable=False), score("silent", 0.0, is_answerable=False, outcome="not found"),
        ),
    )  # fmt: skip


def drawn_report() -> None:
    from docmind.ui.evaluation import report
    from ui.evaluation.test_report import run

    report.draw(run(0.5), {})


def test_a_report_tells_figures_outcomes_and_failures_in_words() -> None:
    test = AppTest.from_function(drawn_report, default_timeout=30).run()
    assert not test.exception
    told = "\n".join(part.value for part in test.markdown)
    assert "A right page is among the first 10 for 2 of 3 questions." in told
    assert {(one.label, one.value, one.delta) for one in test.metric} >= {("nDCG", "0.50", "0.40 to 0.60")}
    assert "nDCG is below 0.65" in test.warning[0].value
    assert "Portuguese" in told
    assert "By kind of question" not in told, "one kind alone tells nothing"
    assert any(part.value == "Of 2 that were answered, 1 quote a right page first." for part in test.caption)
    labels = [one.label for one in test.expander]
    assert [label.rsplit(" ", 1)[-1] for label in labels[:2]] == ["bad", "wrong"], "those that failed, no others"
    for label in labels[:2]:
        left = re.sub(r"\\.", "", label)
        for active in ("![", "](", "red[", "<", "$", "://"):
            assert active not in left, label


def written(mean: float = 0.5) -> Run:
    one, other = Writing(2, 2, 1, 5, 4, 1), Writing(1, 0)
    whole = Writing(3, 2, 1, 5, 4, 1)
    return replace(
        run(mean), settings={"language model": HOSTILE}, writing=whole, writing_by_language={"en": one, "pt": other}
    )


def drawn_writing() -> None:
    from dataclasses import replace

    from docmind.ui.evaluation import comparison, report
    from ui.evaluation.test_report import compared, written

    report.draw(written(), {})
    found = compared()
    comparison.draw(replace(found, before=written(), after=written(0.7)), {})


def drawn_bare_report() -> None:
    from dataclasses import replace

    from docmind.records.evaluation import Outcomes
    from docmind.ui.evaluation import report
    from ui.evaluation.test_report import run

    nothing: dict = {}
    report.draw(
        replace(run(), answerable=0, figures=nothing, by_language=nothing, by_category=nothing, outcomes=Outcomes(),
                stages=nothing, scores=()),
        {},
    )  # fmt: skip


def test_a_report_is_drawn_whatever_the_run_lacks() -> None:
    assert not AppTest.from_function(drawn_bare_report, default_timeout=30).run().exception


def test_claims_of_a_language_model_are_told_by_language_and_compared() -> None:
    test = AppTest.from_function(drawn_writing, default_timeout=30).run()
    assert not test.exception
    told = "\n".join(part.value for part in test.markdown)
    rows = [line.replace("\\", "").replace("\u2060", "") for line in told.splitlines() if line.startswith("|")]
    assert "| All | 2 | 5 | 4 (80%) | 1 (20%) |" in rows
    assert "| English | 2 | 5 | 4 (80%) | 1 (20%) |" in rows
    assert "| Portuguese | 0 | 0 | – | – |" in rows
    assert sum("4 (80%)" in row for row in rows) == 4, "two runs of a comparison have a row each"
    (said,) = (part.value for part in test.caption if "answered 2 of 3 questions, 1 of them" in part.value)
    left = re.sub(r"\\.", "", said)
    assert not any(active in left for active in ("![", "](", "red[", "<", "$"))


def drawn_comparison() -> None:
    from docmind.ui.evaluation import comparison
    from ui.evaluation.test_report import compared

    comparison.draw(compared(), {"retrieve.fusion": "Search by"})


def compared() -> RunComparison:
    before, after = run(0.5), run(0.7)
    differences = {"ndcg": Figure(0.2, 0.1, 0.3), "recall": Figure(-0.2, -0.3, -0.1), "mrr": Figure(0.1, -0.1, 0.3)}
    differences["precision"] = Figure(0.0, 0.0, 0.0)
    better = tuple(QueryChange(score(name, 0.0), score(name, 1.0)) for name in ("a", "b", "c"))
    worse = (QueryChange(score("d", 1.0), score("d", 0.5)),)
    return RunComparison(before, after, differences, better, worse, 7, {"retrieve.fusion": ("sum", "rrf")})


def test_a_comparison_names_the_settings_and_the_queries_that_changed() -> None:
    test = AppTest.from_function(drawn_comparison, default_timeout=30).run()
    assert not test.exception
    told = "\n".join(part.value for part in test.markdown)
    assert "**3 better, 1 worse, 7 the same**" in told
    rows = [line.replace("\\", "").replace("\u2060", "") for line in told.splitlines() if line.startswith("|")]
    assert "| Search by (retrieve.fusion) | sum | rrf |" in rows
    assert "| nDCG | 0.50 → 0.70 | +0.20 (+0.10 to +0.30) | better |" in rows
    assert "| Recall | 0.50 → 0.70 | −0.20 (−0.30 to −0.10) | worse |" in rows
    assert "| MRR | 0.50 → 0.70 | +0.10 (−0.10 to +0.30) | not clear |" in rows
    assert "| Precision | 0.50 → 0.70 | 0.00 (0.00 to 0.00) | the same |" in rows
    assert [one.label[:11] for one in test.expander] == ["0.00 → 1.00"] * 3 + ["1.00 → 0.50"]


def test_the_chart_marks_runs_below_the_bound_and_loads_nothing() -> None:
    told = over_time.chart([run(0.8, 1_000), run(0.6, 90_000_000), run(0.7, 90_000_001)])
    points = told["data"]["values"]
    assert [point["at"] for point in points if point["is_low"]] == [1]
    assert {point["metric"] for point in points} == {"nDCG", "Recall", "MRR"}
    assert "http" not in json.dumps(told)


def test_numbers_and_names_are_told_for_people() -> None:
    assert figures.signed(0.031) == "+0.03"
    assert figures.signed(-0.1) == "−0.10"
    assert figures.signed(-0.001) == "0.00"
    assert figures.run_name(replace(run(), set_name="my\nset")).endswith("nDCG 0.80 · my set")
    assert [one.query_id for one in report.failures(run().scores)] == ["bad", "wrong"]
    names = runs.names_of([run(run_id="a" * 16), run(run_id="b" * 16), run(0.7, run_id="c" * 16)])
    assert len(set(names.values())) == 3, "two runs of one minute are told apart"
    assert comparison.summary(compared()) == "3 better, 1 worse, 7 the same"
