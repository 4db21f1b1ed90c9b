"""Labelled sets: the one that comes with DocMind, and folders in the forms that people have.

    sample      `docs/`, `queries.jsonl` with `id, query, lang, category, relevant: [{doc, page, relevance}]`, and where
                there are any `golden.yaml`
    questions   `docs/` or `files/`, `questions.jsonl`, as `read_questions` has it, and `unanswerable.jsonl`
    BEIR        `corpus.jsonl`, `queries.jsonl`, and judgements in `qrels/` or `qrels.*`: those of BEIR (three columns
                with a heading) or of TREC (four columns). Whole documents are judged; each entry is one of plain text.

A row that cannot be used is left out and named. Files are read as data: nothing in them is run. Links below the folder
are not followed, and devices, pipes and sockets are no files of a set.
"""

from __future__ import annotations

import errno
import io
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from typing import IO, Any, TypeVar

from docmind.errors import ConfigError, DocMindError
from docmind.evaluation.labels import SourceLabels
from docmind.evaluation.questions import question_of, reason_of
from docmind.records.documents import Upload
from docmind.records.evaluation import LABELS, SAMPLE, GradedPage
from docmind.records.values import LONGEST_QUESTION, is_sound
from docmind.rich_text import one_line
from docmind.storage import is_folder, is_regular, reading
from docmind.wording import _, number_text

MOST_QUERIES, MOST_DOCUMENTS, MOST_JUDGEMENTS = 20_000, 20_000, 1_000_000
_LARGEST_MB, _LARGEST_GOLDEN = 512, 1 << 18
_LARGEST_FILE = _LARGEST_MB << 20  # bytes of a document, of a list of queries or judgements, or of a corpus
_MOST_ROWS, _LONGEST_LINE = 2_000_000, 16 << 20  # rows of a file, used or not, and characters of one
_NAMED, _LONGEST_REASON = 100, 300  # rows that a run names, at most, and characters of what it says of each
_LONGEST_FACT, _MOST_TAGS = 60, 50  # characters of a language, a category or a tag, and tags of a query
_GRADES = range(11)
_Made = TypeVar("_Made")
_NO_FILE = "it is a link, or no file"
_SKIPPED = "{file}, row {number}: {reason}"


class _Skipped(list[str]):
    """What could not be used: the first of it, shortened, because hostile files have more than fits into memory."""

    def append(self, what: str) -> None:
        if len(self) < _NAMED:
            super().append(what[:_LONGEST_REASON])


@dataclass(frozen=True, slots=True)
class LabelledQuery:
    """One query; `relevant` has the graded pages. `facts` are what a filter may ask, by key."""

    id: str
    text: str
    language: str = ""
    category: str = ""
    relevant: tuple[GradedPage, ...] = ()
    facts: Mapping[str, frozenset[str]] = field(default_factory=dict)

    @property
    def is_answerable(self) -> bool:
        """Whether any page is relevant; where none is, the right outcome is that nothing was found."""
        return any(page.grade > 0 for page in self.relevant)


@dataclass(frozen=True, slots=True)
class LabelledSet:
    """A set whose rows are read. `uploads` yields its documents, one in memory at a time; None: the open library.

    With `by_document` whole documents are judged. `skipped` names rows that could not be used.
    """

    name: str
    queries: tuple[LabelledQuery, ...]
    documents: tuple[str, ...] = ()
    uploads: Callable[[], Iterator[Upload]] | None = None
    by_document: bool = False
    skipped: tuple[str, ...] = ()

    def filtered(self, wanted: Mapping[str, str]) -> LabelledSet:
        """Return the set with the queries that have all these facts. Raises `ConfigError` where none has."""
        known = sorted({key for query in self.queries for key in query.facts})
        for key in wanted:
            if key not in known:
                raise ConfigError(
                    _("This set can't be filtered by {key}.").format(key=key),
                    hint=_("Choose among: {known}.").format(known=", ".join(known)),
                )
        kept = tuple(one for one in self.queries if all(value in one.facts[key] for key, value in wanted.items()))
        if not kept:
            raise ConfigError(
                _("No query of this set matches the filter."), hint=_("Leave the filter out, or choose another value.")
            )
        return replace(self, queries=kept)


def sample_folder() -> Path:
    """Return the folder of the set that comes with DocMind."""
    return Path(str(files("docmind.evaluation") / "sample_set"))


def read_set(name: str | Path) -> LabelledSet:
    """Read the set that comes with DocMind (`sample`), or a folder in one of the forms above.

    Raises `ConfigError` where it has no such form, no query that can be used, or is too large.
    """
    folder = sample_folder() if str(name) == SAMPLE else Path(name).expanduser()
    title = SAMPLE if str(name) == SAMPLE else _fact(folder.resolve().name)
    if title in (SAMPLE, LABELS) and str(name) != SAMPLE:
        title += "/"  # its runs are none of the sets with these names
    if _is_there(folder / "corpus.jsonl"):
        read = _read_beir(title, folder)
    elif _is_there(folder / "queries.jsonl"):
        read = _read_sample(title, folder)
    elif _is_there(folder / "questions.jsonl"):
        read = _read_questions(title, folder)
    else:
        raise ConfigError(
            _("{folder} is no set for an evaluation.").format(folder=folder),
            hint=_("Give a folder with docs/ and queries.jsonl or questions.jsonl, or with corpus.jsonl of BEIR."),
        )
    if not read.queries:
        raise ConfigError(
            _("No query of {folder} can be used: {why}").format(folder=folder, why="; ".join(read.skipped[:3]) or "-"),
            hint=_("docs/evaluation.md has the forms of sets."),
        )
    if len(read.queries) > MOST_QUERIES or len(read.documents) > MOST_DOCUMENTS:
        raise ConfigError(
            _("The set in {folder} is too large: {queries} queries and {documents} documents.").format(
                folder=folder, queries=len(read.queries), documents=len(read.documents)
            ),
            hint=_("Give a part of it, of at most {most} each.").format(most=MOST_QUERIES),
        )
    return replace(read, queries=tuple(map(_with_facts, read.queries)))


def labelled_set(labels: SourceLabels, names: Mapping[str, str]) -> LabelledSet:
    """Return the set of the user's own labels on documents outside the bin; `names` are theirs, by id.

    A question of which every labelled page is no source is left out: what would answer it is not known.
    """
    pages: dict[str, list[GradedPage]] = {}
    texts: dict[str, str] = {}
    for label in labels.all():
        if label.doc_id in names:
            texts[label.query_id] = label.question
            page = GradedPage(names[label.doc_id], label.page_no, label.grade, label.doc_id)
            pages.setdefault(label.query_id, []).append(page)
    queries = [LabelledQuery(query_id, texts[query_id], relevant=tuple(of)) for query_id, of in pages.items()]
    return LabelledSet(LABELS, tuple(_with_facts(one) for one in queries if one.is_answerable))


def _with_facts(query: LabelledQuery) -> LabelledQuery:
    facts = {
        "id": frozenset({query.id}),
        "language": frozenset({query.language}),
        "category": frozenset({query.category}),
        "answerable": frozenset({"true" if query.is_answerable else "false"}),
        "document": frozenset(page.document for page in query.relevant),
        "visual": frozenset({"true" if query.category in VISUAL else "false"}),
        "tag": frozenset[str](),
    }
    return replace(query, facts=facts | dict(query.facts))


VISUAL = ("picture", "golden")
"""Categories of queries that a page without words answers."""


def _is_there(path: Path) -> bool:
    """Return whether there is something of this name that is no folder; a link counts, and is refused when read."""
    return os.path.lexists(path) and not path.is_dir()


def _rows(path: Path, skipped: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the JSON objects of a file of lines, each with what names it; another line is skipped and named."""
    for place, line in _lines(path, skipped):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            row = None
        if isinstance(row, dict):
            yield place, row
        else:
            skipped.append(_SKIPPED.format(file=path.name, number=place, reason=_("no JSON object")))


def _lines(path: Path, skipped: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the lines of a file that are not empty, with their numbers.

    Raises `ConfigError` where there are too many, and as `_opened`.
    """
    with _opened(path) as file, io.TextIOWrapper(file, "utf-8", "replace") as text:
        number = 0
        while line := text.readline(_LONGEST_LINE):
            number += 1
            if number > _MOST_ROWS:
                raise _too_many(path, _MOST_ROWS)
            if len(line) == _LONGEST_LINE:
                skipped.append(_SKIPPED.format(file=path.name, number=number, reason=_("no JSON object")))
                while (rest := text.readline(_LONGEST_LINE)) and not rest.endswith("\n"):
                    pass
            elif line.strip():
                yield str(number), line


@contextmanager
def _opened(path: Path, largest: int = _LARGEST_FILE) -> Iterator[IO[bytes]]:
    """Open a file of a set, without following a link. Raises `ConfigError` where it is none, or too large."""
    try:
        if path.is_symlink():
            raise OSError(errno.ELOOP, _NO_FILE)
        with reading(path) as file:
            if os.fstat(file.fileno()).st_size > largest:
                raise ConfigError(
                    _("{path} is larger than {most} MB.").format(path=path, most=f"{largest / 2**20:g}"),
                    hint=_("Give a part of it."),
                )
            yield file
    except OSError as error:
        raise ConfigError(
            _("{path} can't be read: {reason}.").format(path=path, reason=error.strerror),
            hint=_("Check the path and its permissions."),
        ) from error


def _used(path: Path, make: Callable[[dict[str, Any]], _Made | None], most: int, skipped: list[str]) -> list[_Made]:
    """Return what `make` makes of each row, without None; a row for which it raises is skipped and named.

    Raises `ConfigError` where more than `most` are made, and as `_opened`.
    """
    made = list[_Made]()
    for place, row in _rows(path, skipped):
        try:
            one = make(row)
        except (ValueError, KeyError, TypeError, AttributeError, DocMindError) as error:
            skipped.append(_SKIPPED.format(file=path.name, number=place, reason=reason_of(error)))
            continue
        if one is not None:
            made.append(one)
        if len(made) > most:
            raise _too_many(path, most)
    return made


def _too_many(path: Path, most: int) -> ConfigError:
    return ConfigError(
        _("{path} has more than {most} rows.").format(path=path, most=number_text(most)), hint=_("Give a part of it.")
    )


def _text(value: object, name: str) -> str:
    if not isinstance(value, str) or not value.strip() or len(value) > LONGEST_QUESTION:
        raise ValueError(_("{name} is no text").format(name=name))
    if "\0" in value or not is_sound(value):
        raise ValueError(_("{name} is no text").format(name=name))
    return value


def _fact(value: object) -> str:
    """Return a language, a category, a tag or a name in one short line; "" for what is no text."""
    if not isinstance(value, str):
        return ""
    return one_line(value[: 2 * _LONGEST_FACT].encode("utf-8", "replace").decode())[:_LONGEST_FACT]


def _whole(value: object, name: str, least: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ValueError(_("{name} is no number from {least}").format(name=name, least=least))
    return value


def _read_sample(name: str, folder: Path) -> LabelledSet:
    skipped = _Skipped()
    documents = _documents_of(folder, skipped)
    known = {path.name for path in documents}

    def query_of(row: dict[str, Any]) -> LabelledQuery:
        relevant = tuple(_graded(one, known) for one in row["relevant"])
        return LabelledQuery(
            _text(row["id"], "id"), _text(row["query"], "query"), _fact(row.get("lang")), _fact(row.get("category")),
            relevant,
        )  # fmt: skip

    queries = _once(_used(folder / "queries.jsonl", query_of, MOST_QUERIES, skipped), skipped)
    queries += _golden(folder / "golden.yaml", skipped)
    return _of_files(name, documents, queries, skipped)


def _graded(row: Mapping[str, Any], known: set[str]) -> GradedPage:
    document, grade = Path(_text(row["doc"], "doc")).name, _whole(row.get("relevance", 1), "relevance", 0)
    if document not in known:
        raise ValueError(_("there is no document {document}").format(document=document))
    if grade not in _GRADES:
        raise ValueError(_("{name} is no number from {least}").format(name="relevance", least=0))
    return GradedPage(document, _whole(row["page"], "page", 1), grade)


def _golden(path: Path, skipped: list[str]) -> list[LabelledQuery]:
    """Return the golden cases: a topic of which pages without words are to be found, with nothing labelled."""
    if not _is_there(path):
        return []
    import yaml

    try:
        with _opened(path, _LARGEST_GOLDEN) as file:
            cases = yaml.safe_load(file.read(_LARGEST_GOLDEN).decode())
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ConfigError(
            _("{path} can't be read: {reason}.").format(path=path, reason=type(error).__name__),
            hint=_("docs/evaluation.md has the forms of sets."),
        ) from error
    found = list[LabelledQuery]()
    for number, case in enumerate(cases if isinstance(cases, list) else [], 1):
        try:
            expected, visual = case["expected"], bool(case["metadata"]["visual"])
            found.append(
                LabelledQuery(
                    _text(case["id"], "id"), _text(case["input"]["topic"], "topic"), _fact(case["input"]["language"]),
                    "golden",
                    facts={
                        "visual": frozenset({"true" if visual else "false"}),
                        "golden": frozenset({str(_whole(expected["min_findings"], "min_findings", 0))}),
                    },
                )
            )  # fmt: skip
        except (KeyError, TypeError, ValueError) as error:
            skipped.append(_SKIPPED.format(file=path.name, number=number, reason=reason_of(error)))
    return found


def _read_questions(name: str, folder: Path) -> LabelledSet:
    skipped = _Skipped()

    def query_of(row: dict[str, Any]) -> LabelledQuery:
        one = question_of(row)
        places = sorted({(one.document, page) for page in one.pages} | one.elsewhere) or [(one.document, 0)]
        relevant = tuple(GradedPage(document, _whole(page, "pages", 0), 2) for document, page in places)
        tags = frozenset(tag for tag in map(_fact, sorted(map(str, one.tags))[:_MOST_TAGS]) if tag)
        return LabelledQuery(
            _text(one.id, "id"), _text(one.text, "question"), _fact(one.language), min(tags, default=""), relevant,
            {"tag": tags},
        )  # fmt: skip

    def unanswerable_of(row: dict[str, Any]) -> LabelledQuery:
        text = _text(row["question"], "question")
        return LabelledQuery(f"unanswerable {text[:60]}", text, _fact(row.get("lang")), "unanswerable")

    queries = _used(folder / "questions.jsonl", query_of, MOST_QUERIES, skipped)
    if _is_there(folder / "unanswerable.jsonl"):
        queries += _used(folder / "unanswerable.jsonl", unanswerable_of, MOST_QUERIES, skipped)
    return _of_files(name, _documents_of(folder, skipped), _once(queries, skipped), skipped)


def _documents_of(folder: Path, skipped: list[str]) -> list[Path]:
    place = next((folder / name for name in ("docs", "files") if is_folder(folder / name)), None)
    if place is None:
        raise ConfigError(
            _("{folder} has no folder docs with documents.").format(folder=folder),
            hint=_("docs/evaluation.md has the forms of sets."),
        )
    found = list[Path]()
    for one in sorted(place.iterdir()):
        if one.name.startswith(".") or is_folder(one):
            continue
        if not is_regular(one) or not is_sound(one.name):
            skipped.append(_("{path} can't be read: {reason}.").format(path=one_line(one.name), reason=_NO_FILE))
        elif one.stat().st_size > _LARGEST_FILE:
            skipped.append(_("{path} is larger than {most} MB.").format(path=one.name, most=_LARGEST_MB))
        else:
            found.append(one)
    return found


def _of_files(name: str, paths: Sequence[Path], queries: Iterable[LabelledQuery], skipped: list[str]) -> LabelledSet:
    def uploads() -> Iterator[Upload]:
        for path in paths:
            with _opened(path) as file:
                data = file.read(_LARGEST_FILE)
            yield Upload(path.name, data)

    return LabelledSet(name, tuple(queries), tuple(path.name for path in paths), uploads, skipped=tuple(skipped))


def _once(queries: Iterable[LabelledQuery], skipped: list[str]) -> list[LabelledQuery]:
    """Return the queries without those whose id another one has."""
    found: dict[str, LabelledQuery] = {}
    for query in queries:
        if query.id in found:
            skipped.append(_("the id {id} is there twice").format(id=query.id))
        else:
            found[query.id] = query
    return list(found.values())


def _read_beir(name: str, folder: Path) -> LabelledSet:
    skipped = _Skipped()
    corpus = folder / "corpus.jsonl"
    rows = _used(corpus, lambda row: _id(row["_id"]), MOST_DOCUMENTS, skipped)
    ids = _once([LabelledQuery(one, one) for one in rows], skipped)
    known = {one.id for one in ids}
    judged = _judgements(folder, known, skipped)

    def query_of(row: dict[str, Any]) -> LabelledQuery | None:
        query_id = _id(row["_id"])
        relevant = judged.get(query_id, {})
        if not any(relevant.values()):
            return None
        graded = tuple(GradedPage(document, 0, grade) for document, grade in relevant.items())
        language = _fact((row.get("metadata") or {}).get("lang"))
        return LabelledQuery(query_id, _text(row["text"], "text"), language, "", graded)

    queries = _used(folder / "queries.jsonl", query_of, MOST_QUERIES, skipped)

    def uploads() -> Iterator[Upload]:
        seen = set[str]()
        for _place, row in _rows(corpus, []):
            document = row.get("_id")
            if document in known and document not in seen:
                seen.add(str(document))
                text = "\n\n".join(str(row.get(part) or "") for part in ("title", "text")).strip()
                yield Upload(f"{len(seen):06}.txt", text.encode("utf-8", "replace"))

    documents = tuple(one.id for one in ids)
    return LabelledSet(name, tuple(_once(queries, skipped)), documents, uploads, True, tuple(skipped))


def _id(value: object) -> str:
    return _text(str(value) if isinstance(value, int) else value, "_id")


def _judgements(folder: Path, known: set[str], skipped: list[str]) -> dict[str, dict[str, int]]:
    """Return the grades of documents by query, from every file of judgements of the folder."""
    beside = folder / "qrels"
    places = [
        *(sorted(beside.iterdir()) if is_folder(beside) else ()),
        *sorted(folder.glob("qrels.*")),
        *sorted(folder.glob("*.qrels")),
    ]
    judged: dict[str, dict[str, int]] = {}
    count = 0
    for path in (place for place in places if _is_there(place)):
        for number, line in _lines(path, skipped):
            cells = line.split("\t") if "\t" in line else line.split()
            query, document, grade = (cells[0], cells[-2], cells[-1]) if len(cells) in (3, 4) else ("", "", "")
            if number == "1" and not grade.strip().lstrip("-").isdigit():
                continue  # the heading
            try:
                value = int(grade)
            except ValueError:
                skipped.append(_SKIPPED.format(file=path.name, number=number, reason=_("no judgement")))
                continue
            if document.strip() in known:
                judged.setdefault(query.strip(), {})[document.strip()] = max(0, min(value, _GRADES[-1]))
                count += 1
                if count > MOST_JUDGEMENTS:
                    raise _too_many(path, MOST_JUDGEMENTS)
            elif value > 0:
                reason = _("there is no document {document}").format(document=document.strip())
                skipped.append(_SKIPPED.format(file=path.name, number=number, reason=reason))
    if not judged:
        raise ConfigError(
            _("{folder} has no judgements in qrels.").format(folder=folder),
            hint=_("docs/evaluation.md has the forms of sets."),
        )
    return judged
