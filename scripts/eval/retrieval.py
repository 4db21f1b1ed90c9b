"""Retrieval and answer quality on labelled documents, by row, and the error rate of OCR."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from harness import Times, add_missing, json_rows, opened

from docmind.application import DocMind
from docmind.config import RetrieveSettings
from docmind.evaluation import Judged, Question, character_error_rate, judge, rows_of, score
from docmind.records.answers import Outcome
from docmind.records.query import Query
from docmind.records.search import Filters

OUTCOMES: tuple[Outcome, ...] = ("answer", "maybe", "not found")
UNANSWERABLE = Path(__file__).with_name("unanswerable.jsonl")
METHODS = {
    "DocMind": {},
    "without late interaction": {"rerank": "off"},
    "without the lines of measures": {"expand": "off"},
    "plain RRF": {"fusion": "rrf", "rerank": "off"},
    "BM25 alone": {"fusion": "sparse"},
    "the text model alone": {"fusion": "dense"},
}


def evaluate(folder: Path, place: Path, questions: list[Question], *, show_misses: bool) -> None:
    """Ask every question by every method, and print the tables."""
    scans: frozenset[str] = frozenset()
    for name, chosen in METHODS.items():
        with opened(place, RetrieveSettings.model_validate(chosen)) as docmind:
            if not chosen:
                add_missing(docmind, folder)
                scans = frozenset(
                    info.document for info in docmind.documents.all() if info.pages and info.ocr_pages * 2 > info.pages
                )
            _table(docmind, name, questions, scans, show_misses=show_misses and not chosen)
            if not chosen:
                _answers(docmind, folder, questions)
                _ocr(docmind, folder / "scan_truth.jsonl")


def _table(docmind: DocMind, name: str, questions: list[Question], scans: frozenset[str], *, show_misses: bool) -> None:
    judged: dict[str, Judged] = {}
    times = Times()
    for question in questions:
        with times.one():
            hits = docmind.search(Query(question.text, k=10)).hits
        judged[question.id] = judge(question, [(hit.document, hit.page_no) for hit in hits])
    print_table(name, rows_of(questions, scans), judged)
    print(f"retrieve: {times}")
    for question in questions if show_misses else ():
        if not 1 <= judged[question.id].first_rank <= 5:
            print(f"  rank {judged[question.id].first_rank or '>10'}: {question.text}")


def print_table(name: str, rows: Mapping[str, Sequence[Question]], judged: Mapping[str, Judged]) -> None:
    """Print the mean metrics of each row of questions; `judged` is by the id of the question."""
    print(f"\n{name}")
    print(f"{'row':20} {'n':>3} {'R@1':>6} {'R@5':>6} {'R@10':>6} {'MRR@10':>7} {'nDCG@5':>7}")
    for row, members in rows.items():
        one = score([judged[question.id] for question in members])
        print(
            f"{row:20} {one.questions:3} {one.recall_1:6.3f} {one.recall_5:6.3f} {one.recall_10:6.3f}"
            f" {one.mrr_10:7.3f} {one.ndcg_5:7.3f}"
        )


def _answers(docmind: DocMind, folder: Path, questions: list[Question]) -> None:
    """Count the outcomes of answerable and of unanswerable questions, and the answers whose first quote is right."""
    first = anywhere = quotes = 0
    outcomes: Counter[str] = Counter()
    right_answers = 0
    times = Times()
    for question in questions:
        with times.one():
            answer = docmind.ask(question.text)
        right = [question.is_on(source.document, source.page_no) for source in answer.sources]
        outcomes[answer.outcome] += 1
        right_answers += bool(answer.outcome == "answer" and right[0])
        first += bool(right and right[0])
        anywhere += any(right)
        quotes += len(right)
    count = len(questions)
    print(f"\nAnswers to {count} answerable questions: {_shares(outcomes)}")
    print(f"  {right_answers}/{outcomes['answer']} in state 'answer' have the first quote on a labelled page")
    print(
        f"first quote on a labelled page {first / count:.3f}, any {anywhere / count:.3f}, {quotes / count:.1f} quotes"
    )
    print(f"ask: {times}")
    everything = {info.document: info.doc_id for info in docmind.documents.all()}
    left_out: Counter[str] = Counter()
    for question in questions:
        others = tuple(doc_id for name, doc_id in everything.items() if name not in question.documents)
        left_out[
            docmind.ask(Query(question.text, filters=Filters(doc_ids=others))).outcome if others else "not found"
        ] += 1
    print(f"with their document left out: {_shares(left_out)}")
    path = folder / "unanswerable.jsonl"
    path = path if path.exists() else UNANSWERABLE
    rows = json_rows(path)
    for name, is_near in (("near the documents' topics", True), ("far from them", False)):
        told = Counter(docmind.ask(row["question"]).outcome for row in rows if bool(row.get("near")) is is_near)
        print(f"questions of {path.name} {name}: {_shares(told)}")


def _shares(outcomes: Counter[str]) -> str:
    count = outcomes.total() or 1
    return ", ".join(f"{name} {outcomes[name]} ({outcomes[name] / count:.1%})" for name in OUTCOMES)


def _ocr(docmind: DocMind, path: Path) -> None:
    if not path.exists():
        return
    rates = []
    for row in json_rows(path):
        info = docmind.documents.find(Path(row["doc"]).name)
        rates.append(character_error_rate(row["text"], docmind.documents.page(info.doc_id, row["page"]).text))
    rates.sort()
    print(
        f"\nOCR: character error rate over {len(rates)} pages:"
        f" mean {sum(rates) / len(rates):.4f}, worst {rates[-1]:.4f}"
    )
