"""Metrics: names, counts and labels, and what a library for them could do beside counting."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from docmind.observability import (
    METRICS,
    Answered,
    CacheAsked,
    Embedded,
    EvaluationCompleted,
    Event,
    IndexFailed,
    IngestionCompleted,
    IngestionFailed,
    ListTimed,
    Metrics,
    OcrFailed,
    OcrLowConfidence,
    OcrRead,
    OcrRetried,
    Searched,
    add_sink,
    emit,
    process_metrics,
    remove_sink,
)

EVENTS: tuple[Event, ...] = (
    IngestionCompleted("d1", 20, 5, 12.0),
    IngestionCompleted("d2", 3, 0, 400.0),
    IngestionFailed("d3", "CorruptFileError"),
    IngestionFailed("d4", "A secret name"),
    OcrRead("d1::page::1", 0.42),
    OcrLowConfidence("d1::page::1", 0.42, 0.5),
    OcrRetried("d1::page::1", 2),
    OcrFailed("d1::page::2"),
    Searched((ListTimed("text", "ran", 5, 80.0), ListTimed("image", "timed out", 0, 2000.0)), 5, 2100.0),
    Searched((ListTimed("text", "ran", 5, 80.0), ListTimed("code", "off", 0, 0.0)), 5, 90.0),
    Embedded("e5", 16, 150.0),
    Answered("not found", 300.0),
    CacheAsked("passages", 12, 9),
    IndexFailed("edge"),
    EvaluationCompleted(0.8, 0.9, 0.75),  # what is kept of evaluations is read, not counted
)


def told(metrics: Metrics, *, is_open: bool = True, **readings: float) -> dict[str, float]:
    """Return the value of each series by its name and labels."""
    text = metrics.exposition(readings, is_open=is_open).decode()
    return {
        sample.name + "".join(f"{{{name}={value}}}" for name, value in sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_events_are_counted_under_their_exact_names() -> None:
    metrics = Metrics()
    for event in EVENTS:
        metrics.count(event)
    now = told(metrics, rag_queue_length=4)
    assert {
        "rag_ingestion_docs_total": 2,
        "rag_ingestion_chunks_total": 23,
        "rag_ingestion_chunks_dedup_total": 5,
        "rag_ingestion_failures_total{kind=CorruptFileError}": 1,
        "rag_ingestion_failures_total{kind=other}": 1,
        "rag_ingest_duration_seconds_bucket{le=10.0}": 0,
        "rag_ingest_duration_seconds_bucket{le=30.0}": 1,
        "rag_ingest_duration_seconds_bucket{le=300.0}": 1,
        "rag_ingest_duration_seconds_bucket{le=+Inf}": 2,
        "rag_ingest_duration_seconds_sum": 412,
        "rag_ocr_pages_total": 1,
        "rag_ocr_low_confidence_total": 1,
        "rag_ocr_failures_total": 1,
        "rag_ocr_retries_total": 1,
        "rag_ocr_confidence_bucket{le=0.3}": 0,
        "rag_ocr_confidence_bucket{le=0.5}": 1,
        "rag_retrieval_latency_ms_bucket{le=50.0}{list=text}": 0,
        "rag_retrieval_latency_ms_bucket{le=100.0}{list=text}": 2,
        "rag_retrieval_latency_ms_count{list=image}": 1,
        "rag_retrieval_latency_ms_count{list=code}": 0,
        "rag_retrieval_latency_ms_bucket{le=1000.0}{list=all}": 1,
        "rag_retrieval_latency_ms_bucket{le=2500.0}{list=all}": 2,
        "rag_retrieval_failures_total{list=image}": 1,
        "rag_retrieval_failures_total{list=text}": 0,
        "rag_embedding_latency_ms_bucket{le=50.0}{model=e5}": 0,
        "rag_embedding_latency_ms_bucket{le=200.0}{model=e5}": 1,
        "rag_embedding_texts_total{model=e5}": 16,
        "rag_answers_total{outcome=not found}": 1,
        "rag_answer_latency_ms_count": 1,
        "rag_cache_requests_total{cache=passages}": 12,
        "rag_cache_hits_total{cache=passages}": 9,
        "rag_index_failures_total{engine=edge}": 1,
        "rag_queue_length": 4,
        "rag_library_open": 1,
    }.items() <= now.items()
    assert now["process_resident_memory_bytes"] > 1 << 20 or sys.platform != "linux"


def test_events_that_nobody_asks_for_are_counted_and_not_kept() -> None:
    metrics = Metrics()
    for _ in range(2_500):
        metrics.count(OcrFailed("d::page::1"))
    assert len(metrics._waiting) < 1_000
    assert told(metrics)["rag_ocr_failures_total"] == 2_500


def test_threads_lose_no_event() -> None:
    metrics = Metrics()

    def work() -> None:
        for _ in range(3_000):
            metrics.count(OcrFailed("d::page::1"))
            metrics.count(CacheAsked("questions", 2, 1))

    with ThreadPoolExecutor(4) as pool:
        for one in [pool.submit(work) for _ in range(4)]:
            one.result()
    now = told(metrics)
    assert now["rag_ocr_failures_total"] == 12_000
    assert now["rag_cache_requests_total{cache=questions}"] == 24_000


def test_buckets_are_those_that_rules_were_written_for() -> None:
    buckets = {metric.name: metric.buckets for metric in METRICS if metric.buckets}
    assert buckets["rag_ingest_duration_seconds"] == (10, 30, 60, 120, 300)
    assert buckets["rag_ocr_confidence"] == (0.3, 0.5, 0.7, 0.85, 0.95)
    assert buckets["rag_retrieval_latency_ms"] == (50, 100, 200, 500, 1000, 2500, 10000)
    assert buckets["rag_embedding_latency_ms"] == (1, 5, 20, 50, 200, 1000)


def test_counters_begin_at_zero_and_an_evaluation_is_absent() -> None:
    metrics = Metrics()
    before = told(metrics)
    assert before["rag_ocr_failures_total"] == 0  # without it, the first failures would be no increase
    assert not any(name.startswith("rag_eval") for name in before)  # 0 would be a bad evaluation


def test_a_locked_library_tells_of_the_process_alone() -> None:
    metrics = Metrics()
    for event in EVENTS:
        metrics.count(event)
    names = {name.partition("{")[0] for name in told(metrics, is_open=False, rag_queue_length=4, rag_eval_ndcg=0.8)}
    assert {name for name in names if name.startswith("rag_")} == {"rag_library_open"}
    assert any(name.startswith("process_") for name in names) or sys.platform != "linux"


def test_no_id_and_no_word_of_an_event_is_told() -> None:
    metrics = Metrics()
    for event in EVENTS:
        metrics.count(event)
    text = metrics.exposition({}, is_open=True).decode()
    for secret in ("d1", "page::1", "secret"):
        assert secret not in text


@pytest.mark.parametrize("name", ["rag_ocr_failures", "rag_nothing"])
def test_what_is_no_reading_is_refused(name: str) -> None:
    with pytest.raises(KeyError):
        Metrics().exposition({name: 1.0}, is_open=True)


def test_the_metrics_of_the_process_count_once() -> None:
    metrics = process_metrics()
    assert process_metrics() is metrics
    before = told(metrics)["rag_ocr_failures_total"]
    emit(OcrFailed("d::page::1"))
    assert told(metrics)["rag_ocr_failures_total"] == before + 1
    remove_sink(metrics.count)
    try:
        emit(OcrFailed("d::page::1"))
        assert told(metrics)["rag_ocr_failures_total"] == before + 1
    finally:
        add_sink(metrics.count)


@pytest.mark.slow
def test_no_value_is_written_to_a_file(tmp_path: Path) -> None:
    """The library for metrics writes them to files where a variable of the environment says so."""
    program = "from docmind.observability import *; m = Metrics(); m.count(OcrFailed('d::page::1'))"
    environment = {**os.environ, "PROMETHEUS_MULTIPROC_DIR": str(tmp_path), "prometheus_multiproc_dir": str(tmp_path)}
    subprocess.run([sys.executable, "-c", program], env=environment, check=True, timeout=120)
    assert list(tmp_path.iterdir()) == []
