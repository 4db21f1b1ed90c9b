"""The rules, the dashboard and the example in `monitoring/`: by Prometheus itself, and against the metrics."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
import yaml

from conftest import ROOT, require
from docmind.observability import METRICS

FOLDER = ROOT / "monitoring"
ALERTS = {"OCRFailureSpike", "NDCGRegression", "RetrievalLatencyHigh", "MultimodalLatencyHigh"}
EXPORTED = {name: metric for metric in METRICS for name in metric.exported}


def promtool(*words: str, cwd: Path = FOLDER) -> str:
    program = shutil.which("promtool")
    require(program, "promtool of Prometheus (apt-get install prometheus)")
    done = subprocess.run([str(program), *words], cwd=cwd, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def rules() -> dict[str, dict[str, Any]]:
    groups = yaml.safe_load((FOLDER / "alerts.yml").read_text("utf-8"))["groups"]
    return {rule["alert"]: rule for group in groups for rule in group["rules"]}


def unknown(expression: str) -> set[str]:
    """Return the names in an expression that look like a metric of DocMind and are none, or have a label it has not."""
    found = {name for name in re.findall(r"\brag_\w+", expression) if name not in EXPORTED}
    for name, matchers in re.findall(r"\b(rag_\w+)\{([^}]*)\}", expression):
        for label, value in re.findall(r'(\w+)=~?"([^"]*)"', matchers):
            metric = EXPORTED[name]
            is_known = label == "instance" or (label == metric.label and value in metric.values)
            found |= set() if is_known else {f"{name}{{{label}={value}}}"}
    return found


@pytest.mark.slow
def test_rules_are_valid_and_fire_when_they_should() -> None:
    assert "4 rules found" in promtool("check", "rules", "alerts.yml")
    assert "SUCCESS" in promtool("test", "rules", "alerts.test.yml")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("now", "then"),
    [
        ("rag_ocr_failures_total", "rag_ocr_failures"),
        ("rag_retrieval_latency_ms_bucket", "rag_retrieval_latency_ms"),
        ("> 0.1", "> 0.5"),
        ("< 0.65", "< 0.5"),
        ("< 0.65", "<= 0.65"),
        ("> 500", "> 1000"),
        ("> 500", "> 100"),
        ("> 2000", "> 10000"),
        ("> 2000", "> 500"),
        ("for: 5m", "for: 0m"),
        ("for: 1h", "for: 0m"),
    ],
)
def test_a_rule_that_says_something_else_fails_its_cases(tmp_path: Path, now: str, then: str) -> None:
    text = (FOLDER / "alerts.yml").read_text("utf-8")
    assert now in text
    (tmp_path / "alerts.yml").write_text(text.replace(now, then), "utf-8")
    shutil.copy(FOLDER / "alerts.test.yml", tmp_path)
    with pytest.raises(AssertionError, match="FAILED"):
        promtool("test", "rules", "alerts.test.yml", cwd=tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("now", [r"\1", r"rate(\1[1h])", r"rate(\1[1m])"], ids=["no rate", "an hour", "a minute"])
@pytest.mark.parametrize("alert", sorted(ALERTS - {"NDCGRegression"}))
def test_a_rule_without_its_window_fails_its_cases(tmp_path: Path, alert: str, now: str) -> None:
    before, name, after = (FOLDER / "alerts.yml").read_text("utf-8").partition(f"- alert: {alert}\n")
    changed, found = re.subn(r"rate\(([^\[]*)\[5m\]\)", now, after, count=1)
    assert found
    (tmp_path / "alerts.yml").write_text(before + name + changed, "utf-8")
    shutil.copy(FOLDER / "alerts.test.yml", tmp_path)
    with pytest.raises(AssertionError, match="FAILED"):
        promtool("test", "rules", "alerts.test.yml", cwd=tmp_path)


def test_each_alert_has_a_case_that_fires_and_one_that_is_silent() -> None:
    seen: defaultdict[str, set[bool]] = defaultdict(set)
    for case in yaml.safe_load((FOLDER / "alerts.test.yml").read_text("utf-8"))["tests"]:
        for one in case["alert_rule_test"]:
            seen[one["alertname"]].add(bool(one["exp_alerts"]))
    assert rules().keys() == ALERTS
    assert seen == {name: {True, False} for name in ALERTS}


def test_rules_ask_for_metrics_that_exist_and_can_exceed_their_thresholds() -> None:
    for name, rule in rules().items():
        assert re.search(r"\brag_\w+", rule["expr"])
        assert not unknown(rule["expr"]), name
        for metric in re.findall(r"histogram_quantile.*?\b(rag_\w+)_bucket", rule["expr"]):
            threshold = float(rule["expr"].rsplit(maxsplit=1)[1])
            bounds = EXPORTED[f"{metric}_bucket"].buckets
            assert bounds[-1] > threshold, "a quantile is never above the largest bound"
    told = (ROOT / "docs" / "monitoring.md").read_text("utf-8")
    for name, rule in rules().items():
        assert f"### {name}" in told
        assert f"docs/monitoring.md, {name}." in rule["annotations"]["description"]


def test_the_dashboard_asks_for_metrics_that_exist() -> None:
    board = json.loads((FOLDER / "grafana.json").read_text("utf-8"))
    asked = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    asked += [one["query"] for one in board["templating"]["list"] if one["type"] == "query"]
    assert len(asked) > 20
    for expression in asked:
        assert not unknown(expression.replace('instance=~"$instance"', "")), expression
    everything = " ".join(asked)
    for metric in METRICS:
        assert any(name in everything for name in metric.exported), f"no panel shows {metric.name}"
    places = [tuple(panel["gridPos"].values()) for panel in board["panels"]]
    assert len(set(places)) == len(places)
    assert len({panel["id"] for panel in board["panels"]}) == len(places)


@pytest.mark.parametrize("expression", ["rag_ocr_failures", 'rag_retrieval_latency_ms_bucket{list="words"}'])
def test_a_metric_or_a_label_that_does_not_exist_is_seen(expression: str) -> None:
    assert unknown(expression)


def test_expressions_of_the_dashboard_are_understood(tmp_path: Path) -> None:
    board = json.loads((FOLDER / "grafana.json").read_text("utf-8"))
    asked = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    records = [{"record": f"panel:{n}", "expr": one.replace("$instance", ".*")} for n, one in enumerate(asked)]
    (tmp_path / "board.yml").write_text(yaml.safe_dump({"groups": [{"name": "board", "rules": records}]}), "utf-8")
    assert f"{len(asked)} rules found" in promtool("check", "rules", "board.yml", cwd=tmp_path)


def test_the_example_is_valid(tmp_path: Path) -> None:
    shutil.copytree(FOLDER, tmp_path / "monitoring")
    (tmp_path / "monitoring" / "docmind.token").touch()
    assert "SUCCESS" in promtool("check", "config", "prometheus.yml", cwd=tmp_path / "monitoring")


def test_each_metric_is_documented() -> None:
    told = (ROOT / "docs" / "monitoring.md").read_text("utf-8")
    for metric in METRICS:
        name = f"{metric.name}_total" if metric.kind == "counter" else metric.name
        assert f"`{name}`" in told, name
