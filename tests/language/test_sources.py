"""One meaning, one module: names of months, words for numbers, stop words and folding stand in `docmind.language`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

import docmind
from docmind.language import MONTHS, NUMBER_WORDS, SHORT_MONTHS, WEEKDAYS, fold

PACKAGE = Path(docmind.__file__).parent
FEW = {"months": 5, "weekdays": 3, "numbers": 5}
"""How many of them may stand in a module that tells none of them apart: first names such as `April`, words of prose."""
WORDS = {
    "months": {word: number for word, number in MONTHS.items() if word not in SHORT_MONTHS},
    "weekdays": WEEKDAYS,
    "numbers": {word: number for word, number in NUMBER_WORDS.items() if len(word) > 3},
}
FORMATS = {
    "reading/formats/bibtex.py": "a format: its months",
    "reading/formats/calendar_times.py": "a format: weekdays of iCalendar, in English",
    "reading/formats/mail/headers.py": "a format: dates of mails",
    "reading/formats/number_format.py": "a format: how sheets show a date",
    "reading/formats/numerals.py": "a format: how Word numbers its lists in words",
    "reading/formats/pdf/hyphens.py": "English words that keep their hyphen at the end of a line",
}
NORMALIZED = {
    "conversations/export/__init__.py": "names of files, composed",
    "documents/compared_text.py": "letters that look alike, accents and case kept",
    "memory/service.py": "a stored digest of a fact, accents kept",
    "reading/chromium/chapter.py": "letters that a browser draws, accents kept",
    "reading/formats/characters.py": "text as it is kept, composed",
    "reading/formats/equations.py": "a letter with its sign, composed",
    "reading/formats/latex_text.py": "text as it is kept, composed",
    "reading/formats/pdf/accents.py": "a letter with its accent, composed",
    "reading/formats/pdf/layer.py": "text as it is kept, composed",
    "reading/formats/prose.py": "text as it is kept, composed",
    "reading/formats/text.py": "text as it is kept, composed",
    "reading/formats/zip_archive.py": "names of files, composed",
    "storage/keys.py": "a passphrase, composed",
}


def sources() -> Iterator[tuple[str, str]]:
    """Yield the modules and tables of words outside `language`, and the texts in them; docstrings are none."""
    for path in sorted(PACKAGE.rglob("*.py")) + sorted(PACKAGE.rglob("*.toml")):
        place = path.relative_to(PACKAGE).as_posix()
        if not place.startswith("language/"):
            source = path.read_text("utf-8")
            yield place, "\n".join(texts(ast.parse(source))) if path.suffix == ".py" else source


def texts(tree: ast.Module) -> Iterator[str]:
    documentation = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation:
            yield node.value


def kinds_in(text: str) -> set[str]:
    """Return what a text lists: months, weekdays, numbers."""
    said = re.findall(r"[^\W\d_]+", fold(text).lower())
    return {kind for kind, known in WORDS.items() if len(values_of(said, known)) > FEW[kind]}


def values_of(said: list[str], known: Mapping[str, int]) -> set[int]:
    return {known[word] for word in said if word in known}


@pytest.mark.slow
def test_words_of_the_calendar_and_for_numbers_stand_in_language() -> None:
    assert {place for place, text in sources() if kinds_in(text)} == FORMATS.keys()


def test_a_list_of_months_is_seen() -> None:
    assert kinds_in("enero febrero marzo abril junio agosto") == {"months"}
    assert kinds_in("It may rain from Monday on, in April or June.") == set()


def test_accents_and_case_are_folded_by_language() -> None:
    found = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if "unicodedata.normalize" in path.read_text("utf-8")
    }
    assert found - {"language/folding.py"} == NORMALIZED.keys()


def test_stop_words_come_from_language() -> None:
    """Other lists of function words, as those of questions over tables, are named for what they limit."""
    named = re.compile(r"^_?(?:[A-Z]+_)?STOP_?WORDS\b.*=(?! stop_words\()", re.MULTILINE)
    found = [path.name for path in PACKAGE.rglob("*.py") if named.search(path.read_text("utf-8"))]
    assert found == []
