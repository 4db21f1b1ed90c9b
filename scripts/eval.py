"""Retrieval and answer quality on a folder of labelled documents, rows apart.

    .venv/bin/python scripts/eval.py FOLDER [--vault DIR] [--query-images [--ocr-sample N]]

The folder holds `docs/`, `questions.jsonl` (`id, question, lang, doc, pages, tags, source`) and, where there are any,
`unanswerable.jsonl` (`question, near`; else general ones are asked) and `scan_truth.jsonl` (`doc, page, text`). All
documents are one corpus. `--query-images` asks with its pictures (`qbi.jsonl`) instead. `--vault` keeps the vault,
and a second run measures at once.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

from docmind.application import DocMind
from docmind.config import KeySettings, RetrieveSettings, Settings
from docmind.errors import DocMindError
from docmind.evaluate import Judged, Question, character_error_rate, judge, read_questions, rows_of, score
from docmind.schema import Filters, JobProgress, Upload
from eval_images import evaluate_images, read_pictures

UNANSWERABLE = Path(__file__).with_name("eval_unanswerable.jsonl")
METHODS = {
    "DocMind": {},
    "without late interaction": {"rerank": "off"},
    "plain RRF": {"fusion": "rrf", "rerank": "off"},
    "BM25 alone": {"fusion": "sparse"},
    "MiniLM alone": {"fusion": "dense"},
}


def main() -> int:
    """Add what is missing, ask everything, print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--vault", type=Path, help="keep the vault here")
    parser.add_argument(
        "--misses", action="store_true", help="name the questions (pictures) not found among the first five"
    )
    parser.add_argument("--query-images", action="store_true", help="ask with the pictures of qbi.jsonl instead")
    parser.add_argument(
        "--ocr-sample", type=int, default=40, help="pictures that are read as well, of each variant alike; 0: none"
    )
    arguments = parser.parse_args()
    try:
        if arguments.query_images:
            with tempfile.TemporaryDirectory() as scratch:
                _images(arguments.folder, arguments.vault or Path(scratch), arguments)
            return 0
        questions = read_questions(arguments.folder / "questions.jsonl")
        with tempfile.TemporaryDirectory() as scratch:
            place = arguments.vault or Path(scratch)
            _evaluate(arguments.folder, place, questions, show_misses=arguments.misses)
    except DocMindError as error:
        print(f"eval: {error} {error.hint}", file=sys.stderr)
        return error.exit_code
    return 0


def _evaluate(folder: Path, place: Path, questions: list[Question], *, show_misses: bool) -> None:
    scans: frozenset[str] = frozenset()
    for name, chosen in METHODS.items():
        settings = Settings(
            data_dir=place / "data",
            keys=KeySettings(file=place / "key"),
            retrieve=RetrieveSettings.model_validate(chosen),
        )
        with DocMind(settings) as desk:
            if not chosen:
                _add(desk, folder / "docs")
                scans = frozenset(
                    info.document for info in desk.documents() if info.pages and info.ocr_pages * 2 > info.pages
                )
            _table(desk, name, questions, scans, show_misses=show_misses and not chosen)
            if not chosen:
                _answers(desk, folder, questions)
                _ocr(desk, folder / "scan_truth.jsonl")


def _images(folder: Path, place: Path, arguments: argparse.Namespace) -> None:
    with DocMind(Settings(data_dir=place / "data", keys=KeySettings(file=place / "key"))) as desk:
        _add(desk, folder / "docs")
        pictures = read_pictures(folder)
        evaluate_images(desk, pictures, ocr_sample=arguments.ocr_sample, show_misses=arguments.misses)


def _add(desk: DocMind, docs: Path) -> None:
    known = {info.document for info in desk.documents() if info.status == "ready"}
    files = [file for file in sorted(docs.iterdir()) if file.is_file() and file.name not in known]
    started = time.monotonic()

    def show(now: JobProgress) -> None:
        print(
            f"\r{now.files_done}/{len(files)} {now.file} {now.pages_done}/{now.pages_total}\x1b[K", end="", flush=True
        )

    uploads = (Upload(file.name, file.read_bytes()) for file in files)
    for result in desk.add(uploads, files_total=len(files), progress=show if sys.stdout.isatty() else None):
        if result.status == "refused":
            print(f"refused {result.document}: {result.message}")
    pages = sum(info.pages for info in desk.documents())
    print(f"{len(desk.documents())} documents, {pages} pages; {len(files)} added in {time.monotonic() - started:.0f} s")


def _table(desk: DocMind, name: str, questions: list[Question], scans: frozenset[str], *, show_misses: bool) -> None:
    judged: dict[str, Judged] = {}
    times: list[float] = []
    for question in questions:
        started = time.perf_counter()
        hits = desk.search(question.text, k=10).hits
        times.append((time.perf_counter() - started) * 1000)
        judged[question.id] = judge(question, [(hit.document, hit.page_no) for hit in hits])
    print(f"\n{name}")
    print(f"{'row':20} {'n':>3} {'R@1':>6} {'R@5':>6} {'R@10':>6} {'MRR@10':>7} {'nDCG@5':>7}")
    for row, members in rows_of(questions, scans).items():
        one = score([judged[question.id] for question in members])
        print(
            f"{row:20} {one.questions:3} {one.recall_1:6.3f} {one.recall_5:6.3f} {one.recall_10:6.3f}"
            f" {one.mrr_10:7.3f} {one.ndcg_5:7.3f}"
        )
    times.sort()
    print(f"retrieve: median {times[len(times) // 2]:.1f} ms, p95 {times[int(len(times) * 0.95)]:.1f} ms")
    for question in questions if show_misses else ():
        if not 1 <= judged[question.id].first_rank <= 5:
            print(f"  rank {judged[question.id].first_rank or '>10'}: {question.text}")


def _answers(desk: DocMind, folder: Path, questions: list[Question]) -> None:
    """How often an answerable question is said to be not found, and an unanswerable one to be found."""
    silent = first = anywhere = quotes = 0
    times = []
    for question in questions:
        started = time.perf_counter()
        answer = desk.ask(question.text)
        times.append((time.perf_counter() - started) * 1000)
        right = [source.document == question.document and source.page_no in question.pages for source in answer.sources]
        silent += not answer.found
        first += bool(right and right[0])
        anywhere += any(right)
        quotes += len(right)
    count = len(questions)
    times.sort()
    print(f"\nAnswers: {silent}/{count} answerable questions said to be not found ({silent / count:.1%})")
    print(
        f"first quote on a labelled page {first / count:.3f}, any {anywhere / count:.3f}, {quotes / count:.1f} quotes"
    )
    print(f"ask: median {times[count // 2]:.0f} ms, p95 {times[int(count * 0.95)]:.0f} ms")
    everything = {info.document: info.doc_id for info in desk.documents()}
    wrong = 0
    for question in questions:
        others = tuple(doc_id for name, doc_id in everything.items() if name != question.document)
        wrong += bool(others) and desk.ask(question.text, filters=Filters(doc_ids=others)).found
    print(f"{wrong}/{count} said to be found although their document was left out ({wrong / count:.1%})")
    path = folder / "unanswerable.jsonl"
    path = path if path.exists() else UNANSWERABLE
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
    found = [row for row in rows if desk.ask(row["question"]).found]
    far = [row for row in rows if not row.get("near")]
    print(
        f"{len(found)}/{len(rows)} questions of {path.name} said to be found ({len(found) / len(rows):.1%}),"
        f" {sum(not row.get('near') for row in found)} of the {len(far)} far from the documents' topics"
    )


def _ocr(desk: DocMind, path: Path) -> None:
    if not path.exists():
        return
    rates = []
    for line in path.read_text("utf-8").splitlines():
        row = json.loads(line)
        info = desk.find_document(Path(row["doc"]).name)
        rates.append(character_error_rate(row["text"], desk.page(info.doc_id, row["page"]).text))
    rates.sort()
    print(
        f"\nOCR: character error rate over {len(rates)} pages:"
        f" mean {sum(rates) / len(rates):.4f}, worst {rates[-1]:.4f}"
    )


if __name__ == "__main__":
    sys.exit(main())
