"""The table `figures` of the vault: pictures, charts and drawings on pages, each with the artifact that shows it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from itertools import accumulate

from docmind.documents.stored import artifact_of, readable_artifacts
from docmind.errors import NotFoundError
from docmind.records.documents import ArtifactRef, Box, Figure, FigureSize, size_of
from docmind.storage import Connection, Database, Row
from docmind.wording import _

_COLUMNS = 'doc_id, page_no, number, x, y, w, h, width, height, start, "end", caption, alt, phash, image, image_suffix'
_PHASH = re.compile(r"([0-9a-f]{16})?")
_LARGEST = 65_535  # pixels of a side
_LONGEST = 600  # characters of words that stand nowhere on the page


class Figures:
    """The table of figures. Thread-safe as `Database` is."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def are_there(self) -> bool:
        """Return whether any page has a figure."""
        return self._db.one("SELECT 1 FROM figures LIMIT 1") is not None

    def of(self, doc_id: str) -> tuple[Figure, ...]:
        """Return the figures of a document in the order of its pages. Raises `DamagedError`."""
        rows = self._db.all(f"SELECT {_COLUMNS} FROM figures WHERE doc_id = ? ORDER BY page_no, number", (doc_id,))
        return tuple(map(_figure, rows))

    def pages_with(self, sizes: Collection[FigureSize]) -> set[tuple[str, int]]:
        """Return the pages that have a figure, of one of these sizes where any are named."""
        rows = self._db.all("SELECT doc_id, page_no, width, height FROM figures")
        return {
            (doc_id, page_no) for doc_id, page_no, width, height in rows if not sizes or size_of(width, height) in sizes
        }

    def of_pages(self, pages: Iterable[tuple[str, int]]) -> dict[tuple[str, int], tuple[Figure, ...]]:
        """Return the figures of these pages, by document id and number; pages without any are left out.

        Raises `DamagedError`.
        """
        found: dict[tuple[str, int], tuple[Figure, ...]] = {}
        with self._db.reading() as db:
            for page in dict.fromkeys(pages):
                sql = f"SELECT {_COLUMNS} FROM figures WHERE doc_id = ? AND page_no = ? ORDER BY number"
                if rows := db.execute(sql, page).fetchall():
                    found[page] = tuple(map(_figure, rows))
        return found

    def showing(self, image: str) -> tuple[Figure, ...]:
        """Return the figures that show a picture, by its artifact id. Raises `DamagedError`."""
        rows = self._db.all(
            f"SELECT {_COLUMNS} FROM figures WHERE image = ? ORDER BY doc_id, page_no, number", (image,)
        )
        return tuple(map(_figure, rows))

    def on_image(self, image: str) -> list[ArtifactRef]:
        """Return the images of the figures on the pages that show this page image."""
        return readable_artifacts(
            self._db.all(
                "SELECT f.image, f.image_suffix FROM pages p JOIN figures f ON f.doc_id = p.doc_id"
                " AND f.page_no = p.page_no WHERE p.image = ?",
                (image,),
            )
        )

    def one(self, doc_id: str, page_no: int, number: int) -> Figure:
        """Return one figure. Raises `NotFoundError`, `DamagedError`."""
        for figure in self.of_pages([(doc_id, page_no)]).get((doc_id, page_no), ()):
            if figure.number == number:
                return figure
        raise NotFoundError(
            _("Page {page_no} has no figure {n}.").format(page_no=page_no, n=number),
            hint=_("`docmind figures` lists those of a document."),
        )


def put_figures(db: Connection, pages: Iterable[tuple[str, int]], figures: Sequence[Figure]) -> None:
    """Replace the figures of these pages, in the caller's transaction."""
    db.executemany("DELETE FROM figures WHERE doc_id = ? AND page_no = ?", list(pages))
    db.executemany(
        f"INSERT INTO figures ({_COLUMNS}) VALUES ({', '.join('?' * 16)})",
        [
            (
                *(one.doc_id, one.page_no, one.number, *map(round, one.box), one.width, one.height, one.start, one.end),
                *(one.caption, one.alt, one.phash, one.image.sha256, one.image.suffix),
            )
            for one in figures
        ],
    )


def check_figure(row: Mapping[str, object], length: int) -> None:
    """Check a row that comes from another vault; its page has `length` characters. Raises `ValueError`, `KeyError`."""
    sides = [row[name] for name in ("x", "y", "w", "h", "width", "height", "number")]
    if not all(type(side) is int and 0 <= side <= _LARGEST for side in sides):
        raise ValueError("not the place of a figure")
    start, end = row["start"], row["end"]
    if type(start) is not int or type(end) is not int or not 0 <= start <= end <= length:
        raise ValueError("the text of a figure outside its page")
    if not all(type(row[name]) is str for name in ("caption", "alt")) or not _PHASH.fullmatch(str(row["phash"])):
        raise ValueError("not the words of a figure")


def images_of_figures(db: Connection, doc_id: str) -> list[Row]:
    """Return the artifacts of a document's figures, as rows of id and suffix."""
    return db.execute("SELECT image, image_suffix FROM figures WHERE doc_id = ?", (doc_id,)).fetchall()


def figure_words(figure: Figure, text: str) -> str:
    """Return what is told of a figure beside its words on the page: caption and alternative text that are not there."""
    there = _plain(text[figure.start : figure.end])
    told = dict.fromkeys(one for one in (figure.caption, figure.alt) if one and _plain(one) not in there)
    return ". ".join(told)[:_LONGEST]


def figures_told(figures: Iterable[Figure], start: int, end: int, context: str) -> list[Figure]:
    """Return those of a page's figures that a passage tells of: `text[start:end]`, or where that is empty `context`."""
    if start < end:
        return [one for one in figures if one.start <= start and end <= one.end]
    return [one for one in figures if one.start == one.end and figure_words(one, "") == context]


def moved_figures(figures: Sequence[Figure], old: str, new: str) -> tuple[Figure, ...]:
    """Return the figures of a page whose text was changed by whole lines: where their words stand now, and those."""
    if not figures or old == new:
        return tuple(figures)
    lines, others = old.splitlines(keepends=True), new.splitlines(keepends=True)
    at, other = ([0, *accumulate(map(len, each))] for each in (lines, others))
    parts = [  # of the old text, with where it is in the new one
        (tag, at[a], at[b], other[c], other[d])
        for tag, a, b, c, d in SequenceMatcher(None, lines, others, autojunk=False).get_opcodes()
    ]
    return tuple(_moved(one, old, new, parts) for one in figures)


def _moved(figure: Figure, old: str, new: str, parts: Sequence[tuple[str, int, int, int, int]]) -> Figure:
    if figure.start == figure.end:
        return figure
    start = end = 0
    for tag, begin, stop, to, until in parts:
        if begin <= figure.start < stop:
            start = to + figure.start - begin if tag == "equal" else to
        if begin < figure.end <= stop:
            end = to + figure.end - begin if tag == "equal" else until
    end = start + len(new[start:end].rstrip())
    was, now = old[figure.start : figure.end], new[start:end]
    if _plain(was) == _plain(now):
        return replace(figure, start=start, end=end)
    caption, alt = (
        " ".join(now.split()) if _plain(one) == _plain(was) else one for one in (figure.caption, figure.alt)
    )
    return replace(figure, start=start, end=end, caption=caption, alt=alt)


def figure_quoted(figures: Iterable[Figure], quote: str) -> Figure | None:
    """Return the figure of a page whose caption or alternative text a quote is, or has a part of; None without one."""
    said = _plain(quote)
    for figure in figures:
        words = [_plain(one) for one in (figure.caption, figure.alt) if one]
        if any(said and (said in one or one in said) for one in words):
            return figure
    return None


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()


def _figure(row: Row) -> Figure:
    doc_id, page_no, number, x, y, w, h, width, height, start, end, caption, alt, phash, image, suffix = row
    return Figure(
        doc_id=doc_id, page_no=page_no, number=number, box=Box(float(x), float(y), float(w), float(h)), width=width,
        height=height, caption=caption, alt=alt, start=start, end=end, phash=phash, image=artifact_of(image, suffix),
    )  # fmt: skip
