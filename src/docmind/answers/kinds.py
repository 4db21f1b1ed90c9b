"""The kind of answer that a question asks for, and whether a passage holds a value of that kind.

The rules are data, `kinds.toml`: how questions of a kind read in each language, and by which words a passage may hold
such a value. A value that the question itself has is no answer to it. See ADR 0106.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right
from collections.abc import Collection
from functools import cache, lru_cache
from itertools import accumulate
from operator import itemgetter
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from docmind.answers.names import named
from docmind.answers.values import Value, clause, values, years_of
from docmind.documents import likely_languages
from docmind.embedding import prefix, words
from docmind.language import (
    LANGUAGES,
    MONTHS_IN_PROSE,
    NUMBER_WORDS,
    NUMBERS_IN_PROSE,
    WEEKDAYS,
    Language,
    fold,
    lowered_alike,
)

AnswerKind = Literal[
    "number", "amount", "date", "duration", "person", "organisation", "place", "identifier", "clause", "yes/no",
    "definition", "list", "count", "sum", "mean", "extreme", "comparison", "versions", "summary", "other",
]  # fmt: skip

_TABLE = Path(__file__).with_name("kinds.toml")
_NUMBERED: frozenset[AnswerKind] = frozenset({"number", "amount", "count", "sum", "mean"})
LONGEST = 600  # characters of a question that are looked at
_LATER = 0.5  # of the likelihood of a language that is not shared

_MARKER = re.compile(r"(?:\(?[a-z0-9]{1,3}[.)]|\d{1,3}(?:\.\d{1,3}){1,9}\.?|[•·▪●*–—-])\s")  # of an item: no value
_NUMBERED_HEADING = re.compile(r"\d{1,3}(?:\.\d{1,3}){0,9}\s+[A-ZÀ-Þ][^\n.:;!?\d]{1,60}\n(?=\s*\S)")  # above a sentence
_CLAUSE = re.compile(r"\d{1,4}(?:\.\d{1,4})*[a-z]?(?![\w.]*\d)")
_HEADED_BY = re.compile(
    r"\s*[\"“(\[]?(?:(?:§+|[a-z]{3,12}\.?|art\.)\s*(?:n[°o.]{0,2}\s*)?)?(\d{1,4}(?:\.\d{1,4})*)(?:[.)°o:ªº]{0,2})(?=[\s—–:-]|$)"
)
_TIME = re.compile(r"\b\d{1,2}[:h]\d{2}\b|\b\d{1,2}(?:\.\d{2})?\s?(?:h|uhr|o'clock|a\.?m\.?|p\.?m\.?)\b|\b\d{1,2}h\b")
_ADDRESS = re.compile(r"[\w.+-]@[\w-]+\.\w|https?://|www\.")
_NAMED = re.compile(r"[ \u00a0]([^\W\d_a-zß-öø-ÿ][\w'’-]+)")  # a word with a capital behind a number
_TELEPHONE = re.compile(r"(?:\+|\b0)[\d ().\-/]{7,24}\d|(?:\d[ .\-/]?){8,20}\d")
_CALLED = re.compile(  # a telephone number, or a shorter one that is named or called: `Dial 112`
    r"(?:\+|\b0)[\d ().\-]{7,24}\d|(?<![\d./-])\d(?:[ .\-]?\d){6,18}(?![\d./-])"
    r"|(?s:\b(?:phone|telephone|telef\w+|tel|fax|mobile|m[oó]vil|ramal|extension|ext|dial|call|ring|ligu?e|ligar|llam\w+|"
    r"marque|disque)\b.{0,120}\b\d{3,})",
    re.IGNORECASE,
)
_FORMS_OF_IDENTIFIERS = (  # by the words that ask for them
    (re.compile(r"\b[A-Z]{2}\d{2}[ \dA-Z]{8,}"), frozenset({"iban"})),
    (re.compile(r"[\w.+-]@[\w-]+\.\w"), frozenset({"email", "mail"})),
    (_CALLED, frozenset({"phone", "telephone", "telefone", "telefono", "telefon", "telefonnummer", "fax"})),
)
_LASTING = re.compile(  # `14 days`, `fourteen working days`
    r"(?:(?<!\d)\d++(?:[.,]\d++)?|\b[^\W\d_]{2,14})[ -](?:[^\W\d_]{4,12}\s)?"
    r"(?:minut[eo]s?|hours?|days?|weeks?|months?|years?|"
    r"horas?|dias?|días?|semanas?|mes(?:es)?|anos?|años?|minuten|stunden?|tagen?|tage|wochen?|monaten?|monate|jahren?|"
    r"jahre|heures?|jours?|semaines?|mois|ans|minuti|or[ae]|giorn[oi]|settiman[ae]|mes[ei]|ann[oi])\b",
    re.IGNORECASE,
)
_NUMBERS = NUMBERS_IN_PROSE | NUMBER_WORDS.keys()
_CALENDAR = frozenset(word for word in MONTHS_IN_PROSE if len(word) > 3) | WEEKDAYS.keys()
_HOLE = re.compile(
    r"\b(?:is|are|was|were|e|es|son|sao|ist|sind|est|sont)\s+(?:and|or|e|y|o|ou|und|oder|et)\s+(?:is|are|was|were|will|es|son|sao|ist|sind|wird|est|sont|sera)\b"
    r"|\b(?:is|are|of|the|by|to|from|ist|der|von|est|de|par|es|por)\s+[,.;](?:\s|$)|_{3,}|\.{5,}|\[\s{1,20}\]"
)
_QUESTION = re.compile(r"\?[\"”’»)\]*_]{0,6}\s*$")


class _Rules(NamedTuple):
    forms: tuple[tuple[AnswerKind, re.Pattern[str]], ...]
    fields: tuple[tuple[str, re.Pattern[str]], ...]
    past: re.Pattern[str]
    words: dict[str, frozenset[str]]
    languages: dict[str, frozenset[str]]
    shared: frozenset[str]
    of_all: frozenset[str]
    telling: dict[str, frozenset[str]]


class Asked(NamedTuple):
    """A question with its kind: its folded words, the readings of its values, and the years and clause that it names.

    `is_past` tells that it asks when something happened, `field` which line of the header of a mail states it: `From`.
    """

    kind: AnswerKind
    words: frozenset[str]
    readings: frozenset[str]
    years: frozenset[int]
    clause: str
    is_past: bool
    field: str = ""


@cache
def _rules() -> _Rules:
    table = tomllib.loads(_TABLE.read_text("utf-8"))
    known = get_args(AnswerKind)
    assert all(row["name"] in known for row in table["kind"])
    forms = tuple((row["name"], _any_of(row["asked"])) for row in table["kind"])
    fields = tuple((row["name"], _any_of(row["asked"])) for row in table["field"])
    words_of, languages = (
        {name: frozenset(listed.split()) for name, listed in table[part].items()} for part in ("words", "languages")
    )
    shared, untold = languages.pop("shared"), languages.pop("untold")
    of_all = frozenset[str]().union(*(languages[name] for name in shared))
    telling = {name: words if name in shared else words - untold for name, words in languages.items()}
    return _Rules(forms, fields, _any_of(table["past"]["asked"]), words_of, languages, shared, of_all, telling)


def _any_of(forms: list[str]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{one})" for one in forms))


def kind_of(question: str) -> AnswerKind:
    """Return what kind of answer a question asks for; the first kind in the table counts."""
    said = _folded(question)
    for kind, form in _rules().forms:
        if form.search(said):
            return kind
    return "other"


def language_of_question(question: str) -> Language:
    """Return the most likely language by the letters of a question, times the function words that it has.

    One that is not among the shared ones has to be twice as likely and to have as many function words as any of these,
    so that it takes few of their questions.
    """
    said = re.findall(r"[a-z]+", _folded(question))
    likely = likely_languages(" ".join(question[:LONGEST].split()), LANGUAGES)
    told = {name: sum(word in function_words(name) for word in said) for name in LANGUAGES}
    most = max(count for name, count in told.items() if is_shared(name))

    def weight(name: Language) -> float:
        share = 1 if is_shared(name) else _LATER if told[name] >= most else 0
        return likely[name] * (1 + told[name]) * share

    return max(LANGUAGES, key=weight)


def is_shared(language: str) -> bool:
    """Return whether function words of a language count in a text of any language."""
    return language in _rules().shared


def function_words(language: str) -> frozenset[str]:
    """Return the folded function words that tell one of the languages of questions."""
    return _rules().telling[language]


def is_of_smallest(question: str) -> bool:
    """Return whether a question for an extreme asks for the smallest."""
    return not _rules().words["smallest"].isdisjoint(re.findall(r"[a-z]+", _folded(question)))


def is_function_word(word: str, language: str = "") -> bool:
    """Return whether a folded word is a function word of a text in a language: of it, or of a shared one.

    Italian `come` and `dove` are words of other languages too, so that they are none where the language is not told.
    """
    return word in _rules().of_all or word in _rules().languages.get(language, ())


def content_words(question: str) -> list[str]:
    """Return the words of a question that say what it is about, in their order, as they are written."""
    asking, language = _rules().words["asking"], language_of_question(question)
    return [
        token
        for token in re.findall(r"\w+", question[:LONGEST])
        if (keys := words(token)) and keys[0] not in asking and not is_function_word(keys[0], language)
    ]


def _folded(question: str) -> str:
    return " ".join(fold(question[:LONGEST].lower()).split()).strip("¿¡ \"'“”")


@lru_cache(maxsize=256)
def asked_of(question: str) -> Asked:
    """Return what a question asks for, with the words and values that its answer cannot be made of."""
    kind, text = kind_of(question), question[:LONGEST]
    found = values(text)
    number = _CLAUSE.search(fold(text.lower())) if kind == "clause" else None
    return Asked(
        kind,
        frozenset(words(text)),
        frozenset(reading for one in found for reading in one.readings),
        frozenset(years_of(text)),
        number.group().rstrip(".") if number is not None else "",
        bool(_rules().past.search(_folded(text))),
        next((name for name, form in _rules().fields if form.search(_folded(text))), ""),
    )


def is_of_values(asked: Asked) -> bool:
    """Return whether a question asks for a number or a time."""
    return asked.kind in (*_NUMBERED, "duration", "date")


def without_mail_words(terms: list[str]) -> list[str]:
    """Return the words of a question about a mail that say what the mail is about; all where there are no others."""
    return [word for word in terms if word not in _rules().words["mail"]] or terms


def holds(asked: Asked, text: str, *, heading: str = "") -> bool:
    """Return whether a passage has a value of the kind that is asked for, and no value of the question alone.

    `heading` is what stands above it, which may have the number of a clause. Comparisons, summaries and questions that
    no rule knows need words that the question lacks.
    """
    if is_echo(asked, text):
        return False
    rules, kind = _rules().words, asked.kind
    if kind == "clause":
        return is_clause(asked.clause, text) or is_clause(asked.clause, heading)
    own = set(words(text))
    if kind in _NUMBERED:
        if kind == "amount":  # `within fourteen days` is no amount
            text = _LASTING.sub(" ", text)
            own = set(words(text))
        return _has_number(asked, text) or not own.isdisjoint((_NUMBERS | rules["numbers"]) - asked.words)
    if kind == "duration":
        has_unit = any(word in rules["units"] or word.rstrip("s") in rules["units"] for word in own)
        is_measured = _has_number(asked, text) or not own.isdisjoint(_NUMBERS | rules["numbers"])
        return (has_unit and is_measured) or _has_date(asked, text, own)
    if kind == "date":
        has_unit = any(word in rules["units"] or word.rstrip("s") in rules["units"] for word in own)
        return _has_date(asked, text, own) or (has_unit and _has_number(asked, text))
    if kind == "person":
        return _has_name(asked, text) or _has_role(own - asked.words, rules["roles"])
    if kind == "organisation":
        return _has_name(asked, text)
    if kind == "place":
        spoken = set(re.findall(r"[a-z]+", lowered_alike(text)))
        return _has_name(asked, text) or bool(_ADDRESS.search(text)) or not spoken.isdisjoint(rules["places"])
    if kind == "identifier":
        return _has_identifier(asked, text)
    return True


def is_statement(text: str) -> bool:
    """Return whether a passage can be an answer by its form: no question alone, and no sentence with a hole."""
    return not _QUESTION.search(text) and not _HOLE.search(lowered_alike(text))


def is_echo(asked: Asked, text: str) -> bool:
    """Return whether a passage says nothing that the question lacks."""
    starts = {prefix(word) for word in asked.words} - {None}
    return all(word in asked.words or prefix(word) in starts for word in words(text))


def is_contact(asked: Asked, text: str) -> bool:
    """Return whether a line has the telephone number or address that is asked for, as below the text of a mail."""
    return asked.kind == "identifier" and bool(_ADDRESS.search(text) or _TELEPHONE.search(text))


def is_of_another_year(asked: Asked, text: str, around: str) -> bool:
    """Return whether a passage is about other years than the question: by its own years, else by those `around` it."""
    if not asked.years:
        return False
    own = years_of(text)
    return asked.years.isdisjoint(own or years_of(around)) and bool(own or years_of(around))


def is_clause(number: str, text: str) -> bool:
    """Return whether a passage begins with the number of a clause, alone or behind a word such as `Section` or `§`."""
    found = _HEADED_BY.match(lowered_alike(text[:80])) if number else None
    return found is not None and clause(found[1]) == clause(number)


def _has_number(asked: Asked, text: str) -> bool:
    """Return whether a number stands there that is no year, date, marker of an item, or number of the question.

    Neither does that of an address count that the question has: the 9 of `9 Mill Lane`.
    """
    return any(
        one.readings.isdisjoint(asked.readings) and not _is_addressed(asked, text, one) for one in _numbers(text)
    )


def _is_addressed(asked: Asked, text: str, number: Value) -> bool:
    after = _NAMED.match(text, number.end)
    return after is not None and not asked.words.isdisjoint(words(after[1]))


def _numbers(text: str) -> list[Value]:
    """Return the numbers of a text without years, dates and the markers of items and headings."""
    lowered = lowered_alike(text)
    begun = re.finditer(r"^[^\S\n]*+(?=\S)", lowered, re.MULTILINE)
    markers = [(at.end(), match.end()) for at in begun if (match := _MARKER.match(lowered, at.end()))]
    markers = sorted([*markers, *(match.span() for match in _NUMBERED_HEADING.finditer(text))])
    furthest = list(accumulate((end for _start, end in markers), max, initial=0))  # of the first n markers
    found = [one for one in values(text) if one.kind in ("number", "identifier")]
    return [one for one in found if one.start >= furthest[bisect_right(markers, one.start, key=itemgetter(0))]]


def _has_date(asked: Asked, text: str, own: Collection[str]) -> bool:
    found = [one for one in values(text) if one.kind in ("date", "year")]
    if any(one.readings.isdisjoint(asked.readings) for one in found):
        return True
    lowered = lowered_alike(text)
    spoken = set(re.findall(r"[a-z]+", lowered)) - asked.words
    told = _rules().words["dates"] | (frozenset() if asked.is_past else _rules().words["events"]) | _CALENDAR
    return bool(_TIME.search(lowered)) or not spoken.isdisjoint(told)


def _has_name(asked: Asked, text: str) -> bool:
    starts = {prefix(word) for word in asked.words} - {None}
    return any(one.key not in asked.words and prefix(one.key) not in starts for one in named(text))


def _has_role(own: Collection[str], roles: Collection[str]) -> bool:
    return any(word in roles or (word.endswith("s") and word[:-1] in roles) for word in own)


def _has_identifier(asked: Asked, text: str) -> bool:
    for form, named_by in _FORMS_OF_IDENTIFIERS:
        if not asked.words.isdisjoint(named_by):
            return bool(form.search(text))
    if _ADDRESS.search(text):
        return True
    return any(one.readings.isdisjoint(asked.readings) for one in values(text))
