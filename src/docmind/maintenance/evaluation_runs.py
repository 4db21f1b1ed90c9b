"""The runs of evaluations that a library keeps: the tables `evaluation_runs` and `evaluation_pages`.

Of a run over the user's own labels neither the words of questions nor names of documents are kept: a question is read
from its labels, a page from its document, and what was erased is missing.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import replace

from docmind.client import decode, encode
from docmind.errors import ConfigError, DamagedError, NotFoundError
from docmind.evaluation import SourceLabels
from docmind.records.evaluation import LABELS, GradedPage, QueryScore, Run, RunSummary
from docmind.runtime import log_mistake
from docmind.storage import Database, Row
from docmind.wording import _

LATEST = "latest"
"""The name of the newest run."""

_ERASABLE = "…"  # in place of the name of a document of the library


class KeptRuns:
    """The runs of an open library. Thread-safe as `Database` is."""

    def __init__(self, database: Database) -> None:
        self._db, self._labels = database, SourceLabels(database)

    def keep(self, run: Run) -> None:
        """Keep a run. Raises `DiskFullError`."""
        is_own = run.set_name == LABELS
        kept = _without_names(run) if is_own else run
        record = zlib.compress(json.dumps(encode(Run, kept)).encode())
        summary = json.dumps(encode(RunSummary, kept))
        with self._db.transaction() as db:
            db.execute(
                "INSERT INTO evaluation_runs (run_id, made_at_ms, set_name, summary, record) VALUES (?, ?, ?, ?, ?)",
                (run.run_id, run.made_at_ms, run.set_name, summary, record),
            )
            db.executemany(
                "INSERT INTO evaluation_pages (run_id, query_id, doc_id, page_no, rank, grade, score)"
                " SELECT ?, ?, doc_id, ?, ?, ?, ? FROM documents WHERE doc_id = ?",  # it may be erased meanwhile
                [row for score in run.scores for row in _pages_of(run.run_id, score)] if is_own else [],
            )

    def all(self) -> tuple[RunSummary, ...]:
        """Return all runs, the newest first."""
        rows = self._db.all("SELECT summary FROM evaluation_runs ORDER BY made_at_ms DESC, run_id")
        found = list[RunSummary]()
        for row in rows:
            try:
                found.append(decode(RunSummary, json.loads(row[0])))
            except (ConfigError, ValueError) as error:
                log_mistake("docmind.evaluation", "a run of an evaluation can't be read", error)
        return tuple(found)

    def get(self, name: str) -> Run:
        """Return the run of this id, or of a beginning of it, or the `LATEST`.

        Raises `NotFoundError` where none or several fit, `DamagedError`.
        """
        run_id = self._find(name)
        row = self._db.one("SELECT record FROM evaluation_runs WHERE run_id = ?", (run_id,))
        if row is None:  # removed meanwhile
            raise _missing(name)
        try:
            run = decode(Run, json.loads(zlib.decompress(row[0])))
        except (ConfigError, ValueError, zlib.error) as error:
            raise DamagedError(
                _("The run {run_id} can't be read.").format(run_id=run_id), hint=_("Remove it, and measure again.")
            ) from error
        return self._with_texts(run) if run.set_name == LABELS else run

    def remove(self, name: str) -> RunSummary:
        """Remove a run, also one that can't be read, and return it. Raises as `get`, but no `DamagedError`."""
        run_id = self._find(name)
        known = next((run for run in self.all() if run.run_id == run_id), None)
        with self._db.transaction() as db:
            db.execute("DELETE FROM evaluation_runs WHERE run_id = ?", (run_id,))
        return known or RunSummary(run_id, 0, "", "", 0, 0, 0, 0.0, {}, {}, {})

    def _find(self, name: str) -> str:
        if name == LATEST:
            rows = self._db.all("SELECT run_id FROM evaluation_runs ORDER BY made_at_ms DESC, run_id LIMIT 1")
        else:
            rows = self._db.all("SELECT run_id FROM evaluation_runs WHERE substr(run_id, 1, ?) = ?", (len(name), name))
        if len(rows) != 1 or not name:
            raise _missing(name)
        return rows[0][0]

    def _with_texts(self, run: Run) -> Run:
        questions = self._labels.questions([score.query_id for score in run.scores])
        rows = self._db.all(
            "SELECT query_id, document, page_no, grade, p.doc_id, score, rank FROM evaluation_pages p"
            " JOIN documents USING (doc_id) WHERE run_id = ? ORDER BY query_id, rank",
            (run.run_id,),
        )
        pages: dict[str, list[Row]] = {}
        for row in rows:
            pages.setdefault(row[0], []).append(row)
        return replace(run, scores=tuple(_filled(score, questions, pages) for score in run.scores))


def _missing(name: str) -> NotFoundError:
    return NotFoundError(
        _("There is no run {name}, or there are several.").format(name=name),
        hint=_("`docmind evaluate list` shows the runs; give an id, or enough of its beginning."),
    )


def _without_names(run: Run) -> Run:
    filters = {key: _ERASABLE if key == "document" else value for key, value in run.filters.items()}
    return replace(run, filters=filters, scores=tuple(map(_without_texts, run.scores)))


def _without_texts(score: QueryScore) -> QueryScore:
    return replace(score, text="", relevant=(), found=())


def _pages_of(run_id: str, score: QueryScore) -> list[tuple[object, ...]]:
    ranks = {(page.doc_id, page.page_no): rank for rank, page in enumerate(score.found, 1)}
    pages = {(page.doc_id, page.page_no): page for page in (*score.relevant, *score.found)}
    return [
        (run_id, score.query_id, page.page_no, ranks.get(place, 0), page.grade, page.score, page.doc_id)
        for place, page in pages.items()
    ]


def _filled(score: QueryScore, questions: Mapping[str, str], pages: Mapping[str, list[Row]]) -> QueryScore:
    graded = [(GradedPage(*row[1:6]), row[6]) for row in pages.get(score.query_id, ())]
    return replace(
        score,
        text=questions.get(score.query_id, ""),
        relevant=tuple(page for page, _rank in graded if page.grade),
        found=tuple(page for page, rank in graded if rank),
    )
