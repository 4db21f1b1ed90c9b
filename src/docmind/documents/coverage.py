"""What was read of a document, for a person who doubts it: the lines of a page, and the pages to look at."""

from __future__ import annotations

from collections.abc import Iterable

from docmind.blocks import PageBlock
from docmind.documents.catalog import Catalog, PageRecord
from docmind.documents.corrections import AsRead, Correction, Corrections, as_read, fitting
from docmind.errors import DamagedError
from docmind.records.documents import DocumentInfo, OcrReading
from docmind.records.reader import Coverage, Grade, PageCoverage, PageLine, PageLines, UnfitCorrection
from docmind.wording import _, ngettext, number_text

SURE = 0.9
"""The certainty of OCR from which on a line is not doubtful, 0..1: clean print at 150 dpi is read with 0.97."""


def grade_of(certainty: float, least: float) -> Grade:
    """Return the grade of a line by OCR's certainty, 0..1; a line below `least` is bad, and is not quoted."""
    return "bad" if certainty < least else "doubtful" if certainty < SURE else "good"


def page_lines(
    info: DocumentInfo, page: PageRecord, corrections: tuple[Correction, ...] = (), *, least: float
) -> PageLines:
    """Return what was read on a page line by line, with the corrections of it. Raises `DamagedError`."""
    read = as_read(page)
    fits = fitting(read, page, corrections)
    by_hand = {fits[one.number]: one for one in corrections if one.kind == "line" and one.number in fits}
    headers = [fits[one.number] for one in corrections if one.kind == "header" and one.number in fits]
    rows = [_row_of(read, at) for at in range(len(read.lines))]
    now = page.structure()
    set_by_hand = {_table_of(read.blocks, rows[at]) for at in headers} - {None}
    lines: list[PageLine] = []
    for at, line in enumerate(read.lines):
        one, table = by_hand.get(at), _table_of(read.blocks, row := rows[at])
        text = read.text[line.start : line.end]
        is_by_ocr = page.text_source == "ocr" or (page.ocr is not None and line.certainty < 1)
        sure = line.certainty if one is None and is_by_ocr else 1.0
        lines.append(
            PageLine(
                n=at + 1,
                text=text if one is None else one.text,
                box=line.box,
                source="hand" if one is not None else "ocr" if is_by_ocr else "layer",
                confidence=round(sure, 3),
                grade=grade_of(sure, least),
                read="" if one is None else text,
                table=table,
                is_header=row is not None and row < len(now) and now[row].kind == "header_row",
                is_header_set=table in set_by_hand,
            )
        )
    unfit = [
        UnfitCorrection(page.page_no, one.reading, one.text if one.kind == "line" else _("header of table"))
        for one in corrections
        if one.number not in fits
    ]
    return PageLines(
        info.doc_id, info.document, page.page_no, info.pages, page.width, page.height, page.text_source,
        page.confidence, tuple(lines), tuple(unfit),
    )  # fmt: skip


def coverage_of(catalog: Catalog, corrections: Corrections, info: DocumentInfo, *, least: float) -> Coverage:
    """Return which pages of a document are to be looked at: empty, partly read, doubtful, corrected by hand.

    Those whose corrections do not fit any more are among them.
    """
    known, empty, noted = corrections.of(info.doc_id), list[int](), list[PageCoverage]()
    there: set[int] = set()
    for page in catalog.pages_of(info.doc_id):
        there.add(page.page_no)
        is_missed = page.ocr is not None and (page.ocr.is_lost or page.ocr.is_unread)
        if not page.text.strip() and page.page_no not in known and not is_missed:
            empty.append(page.page_no)
        elif page.text_source == "ocr" or page.ocr is not None or page.page_no in known:
            try:
                lines = page_lines(info, page, known.get(page.page_no, ()), least=least)
            except DamagedError:
                catalog.note_damage(info.doc_id, page.page_no)
                continue
            noted += filter(None, [_noted(lines, page.ocr)])
    for page_no in sorted(known.keys() - there):
        noted.append(PageCoverage(page_no, 0, unfit=len(known[page_no])))
    return Coverage(info.doc_id, info.pages, tuple(_ranges(empty)), tuple(sorted(noted, key=lambda one: one.page_no)))


def coverage_text(coverage: Coverage) -> list[tuple[int, str]]:
    """Return a sentence for each thing to look at in a document, with the page that it is about first on."""
    told = [(first, _empty_text(first, last)) for first, last in coverage.empty]
    for one in coverage.noted:
        page = number_text(one.page_no)
        if one.is_lost:
            words = _(
                "Page {page}: letters that OCR does not know. Install Tesseract with their language, and read it again"
            )
            told.append((one.page_no, words.format(page=page)))
        elif one.unread:
            words = _("Page {page}: about {percent} % of its print was not read")
            told.append((one.page_no, words.format(page=page, percent=round(100 * one.unread))))
        if doubtful := one.doubtful + one.bad:
            words = _("Page {page}: {n} of {lines} lines doubtful")
            told.append((one.page_no, words.format(page=page, n=number_text(doubtful), lines=number_text(one.lines))))
        if one.by_hand:
            words = ngettext(
                "Page {page}: {n} line corrected by hand", "Page {page}: {n} lines corrected by hand", one.by_hand
            )
            told.append((one.page_no, words.format(page=page, n=number_text(one.by_hand))))
        if one.unfit:
            words = ngettext(
                "{n} correction no longer fits page {page}", "{n} corrections no longer fit page {page}", one.unfit
            )
            told.append((one.page_no, words.format(page=page, n=number_text(one.unfit))))
    return sorted(told, key=lambda one: one[0])


def _empty_text(first: int, last: int) -> str:
    if first == last:
        return _("Page {n} is empty").format(n=number_text(first))
    return _("Pages {first} to {last} are empty").format(first=number_text(first), last=number_text(last))


def _noted(page: PageLines, ocr: OcrReading | None) -> PageCoverage | None:
    grades = [line.grade for line in page.lines]
    by_hand = sum(line.is_corrected or (line.is_header and line.is_header_set) for line in page.lines)
    found = PageCoverage(
        page.page_no, len(grades), grades.count("doubtful"), grades.count("bad"), by_hand, len(page.unfit),
        is_lost=ocr is not None and ocr.is_lost,
        unread=ocr.unread if ocr is not None and ocr.is_unread else 0.0,
    )  # fmt: skip
    return found if found != PageCoverage(found.page_no, found.lines) else None


def _ranges(numbers: Iterable[int]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for number in numbers:
        if found and found[-1][1] == number - 1:
            found[-1] = found[-1][0], number
        else:
            found.append((number, number))
    return found


def _row_of(read: AsRead, at: int) -> int | None:
    """Return which of the blocks is the row of a table that a line stands in."""
    line = read.lines[at]
    rows = enumerate(read.blocks)
    return next((n for n, one in rows if one.table and one.start < line.end and one.end > line.start), None)


def _table_of(blocks: tuple[PageBlock, ...], row: int | None) -> int | None:
    table = blocks[row].table if row is not None else None
    return table.number if table is not None else None
