"""Bibliographies in the RIS format, as Zotero, EndNote, Mendeley and publishers write it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from docmind.blocks import Block, Losses, Table
from docmind.reading.formats import Rules, facts_of
from docmind.reading.formats.bibliography import Entry, bare_doi, blocks_of_entries, whole_name, year_of
from docmind.reading.formats.text import decode
from docmind.reading.formats.typeset import LaidOut
from docmind.records.documents import Upload

_LINE = re.compile(r"([A-Z][A-Z0-9]) {1,2}-(?: (.*)|)$")
_TYPES = {
    "JOUR": "journal article", "JFULL": "journal", "EJOUR": "journal article", "MGZN": "magazine article",
    "NEWS": "newspaper article", "BOOK": "book", "EBOOK": "book", "EDBOOK": "edited book", "CHAP": "chapter",
    "ECHAP": "chapter", "CONF": "conference paper", "CPAPER": "conference paper", "THES": "thesis", "RPRT": "report",
    "ELEC": "web page", "BLOG": "blog post", "DATA": "data set", "COMP": "software", "PAT": "patent",
    "UNPB": "unpublished work", "MANSCPT": "manuscript", "SLIDE": "presentation", "VIDEO": "video",
    "STAND": "standard", "LEGAL": "legal rule", "CASE": "case", "STAT": "statute", "MAP": "map", "DICT": "dictionary",
    "ENCYC": "encyclopedia", "PCOMM": "personal communication", "INPR": "in press", "GEN": "other",
    "PREPRINT": "preprint",
}  # fmt: skip
_SHOWN = {
    "N1": "Note", "KW": "Keywords", "SN": "ISSN or ISBN", "LA": "Language", "ET": "Edition", "CY": "Place",
    "AD": "Address", "C1": "Custom 1", "C2": "Custom 2", "RN": "Research note", "DB": "Database", "DP": "Provider",
    "AN": "Accession number", "CN": "Call number", "ST": "Short title", "TT": "Translated title",
    "A3": "Series editor", "A4": "Translator", "M3": "Kind of work", "RP": "Reprint",
}  # fmt: skip


def open_ris(upload: Upload, kind: str, rules: Rules) -> LaidOut:
    """Open a bibliography. Raises `TooLargeError` or `EmptyFileError`."""
    losses = Losses()
    blocks = blocks_of_ris(decode(upload, rules), losses)
    return LaidOut(blocks, facts_of(upload.name), upload.name, rules, losses)


def blocks_of_ris(text: str, losses: Losses) -> Iterator[Block | Table]:
    """Yield the entries of a bibliography."""
    yield from blocks_of_entries([_entry(tags) for tags in _records(text, losses)])


def _records(text: str, losses: Losses) -> Iterator[dict[str, list[str]]]:
    """Yield the values of each entry by tag. A line without a tag goes on the value before it."""
    tags: dict[str, list[list[str]]] | None = None
    last: list[str] | None = None
    for line in text.splitlines():
        found = _LINE.match(line.rstrip())
        if found is None:
            if last is not None:
                last.append(line)
            continue
        tag, value = found[1], found[2] or ""
        if tag in ("TY", "ER"):
            if tags:
                yield _whole(tags)
            tags, last = ({"TY": [[value]]}, None) if tag == "TY" else (None, None)
        elif tags is None:
            losses.note("part")  # outside of every entry
        else:
            last = [value]
            tags.setdefault(tag, []).append(last)
    if tags:
        yield _whole(tags)


def _whole(tags: dict[str, list[list[str]]]) -> dict[str, list[str]]:
    texts = {tag: [" ".join(" ".join(lines).split()) for lines in values] for tag, values in tags.items()}
    return {tag: [text for text in values if text] for tag, values in texts.items()}


def _entry(tags: dict[str, list[str]]) -> Entry:
    def one(*names: str) -> str:
        return next((tags[name][0] for name in names if tags.get(name)), "")

    date = one("PY", "Y1", "DA")
    start, end = one("SP"), one("EP")
    kind = one("TY")
    is_part = kind in ("CHAP", "ECHAP", "CONF", "CPAPER")
    venue = one("T2", "BT", "JO", "JF", "J2", "JA") if is_part else one("JO", "JF", "T2", "J2", "JA", "BT")
    title = one("TI", "T1", "CT") or one("BT")
    more = {name: ", ".join(tags[tag]) for tag, name in _SHOWN.items() if tags.get(tag)}
    if (said := one("DA") or date) != year_of(date) and said:
        more = {"Date": said.strip("/"), **more}
    return Entry(
        key=one("ID"),
        type=_TYPES.get(kind, kind),
        title=title,
        authors=tuple(whole_name(name) for tag in ("AU", "A1") for name in tags.get(tag, ())),
        editors=tuple(whole_name(name) for tag in ("A2", "ED") for name in tags.get(tag, ())),
        year=year_of(date),
        venue=venue if venue != title else "",
        publisher=one("PB"),
        volume=one("VL"),
        number=one("IS"),
        pages="–".join(dict.fromkeys(filter(None, (start, end)))) if "-" not in start else start,
        doi=bare_doi(one("DO")),
        url=one("UR", "L2"),
        abstract=" ".join(tags.get("AB") or tags.get("N2") or ()),
        more=more,
    )
