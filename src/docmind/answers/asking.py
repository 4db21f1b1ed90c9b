"""Questions that a statement answers, in its own words: `The deposit is EUR 900.` answers `How much is the deposit?`.

The rules are data, `asking.toml`: forms of statements with a value of a kind, in English, Portuguese, Spanish, German
and French, each with the question of that kind. A question is made only where a rule knows every word that changes: a
sentence whose question might be ungrammatical, or vague by itself, gives none.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from docmind.answers.kinds import asked_of, holds, is_echo, is_statement
from docmind.embedding import words
from docmind.language import month_names, number_names, pattern_of, weekday_names

SHORTEST, LONGEST = 12, 260  # characters of a statement
LONGEST_QUESTION = 80
STATEMENT_WORDS = 40

_TABLE = Path(__file__).with_name("asking.toml")
_PART = re.compile(r"\{(-?)([a-z_]+)(?::([a-z_]+))?\}")
_SLOT = re.compile(r"\{(?:([a-z]+):)?([a-z]+)\}")
_MARKER = re.compile(
    r"^(?:[•·▪●‣*–—-]|\d{1,2}(?:\.\d{1,2})*[.)]?|\(?[a-z][.)]|§ ?\d+[a-z]?\.?|art\. ?\d+º?\.?)\s+", re.I
)
_MARKUP = re.compile(r"[*`]+|(?<!\w)_+|_+(?!\w)")
_PLAIN = re.compile(r"[¿]?[^\W_](?:[\w '’“”,.-]|\$(?=\d))*[?]")
_PAST = {
    "rose": "rise", "fell": "fall", "grew": "grow", "began": "begin", "left": "leave", "met": "meet", "took": "take",
    "had": "have", "held": "hold",
}  # fmt: skip
_SIMPLE = {"written": "wrote", "chosen": "chose"}
_PAST_ENDING_IN_E = frozenset(("closed", "expired", "arrived", "increased", "decreased", "declined", "used", "consumed",
                               "produced", "saved"))  # fmt: skip
_DOUBLED = frozenset(("dropped",))


class _Rule(NamedTuple):
    kind: str
    said: re.Pattern[str]
    ask: str


class Example(NamedTuple):
    """A question that a statement answers, with the kind of its value."""

    question: str
    kind: str


def question_of(statement: str, language: str) -> Example | None:
    """Return the question that a sentence answers; None where no rule makes one that is sure to be good.

    `language` is that of the sentence, as a code of two letters.
    """
    said = _MARKUP.sub("", _MARKER.sub("", " ".join(statement.split())))
    rules, listed = _rules(language), _words()
    if not SHORTEST <= len(said) <= LONGEST or not rules or len(said.split()) > STATEMENT_WORDS:
        return None
    if listed["boilerplate"].search(said) or not is_statement(said):
        return None
    for rule in rules:
        found = rule.said.match(said)
        question = _asked(rule.ask, found, language) if found is not None else ""
        asked = asked_of(question)
        is_fitting = rule.kind == "definition" or (asked.kind == rule.kind and holds(asked, said))
        if question and is_fitting and not is_echo(asked, said):
            return Example(question, rule.kind)
    return None


def _asked(ask: str, found: re.Match[str], language: str) -> str:
    """Return a question from what a rule has found; empty where a part of it is vague or of a doubtful form."""
    listed = _words()
    for name in ("subject", "what"):
        part = found.groupdict().get(name) or ""
        if part and (listed["vague"].match(part) or listed["doubtful"].search(part)):
            return ""

    def filled(slot: re.Match[str]) -> str:
        form, name = slot.groups()
        text = (found[name] or "").strip()
        if name == "subject":
            text = _begun_low(text, language)
        return _FORMS[form](text) if form else f" {text}" if name in ("rest", "year") and text else text

    question = " ".join(_SLOT.sub(filled, ask).split())
    is_plain = _PLAIN.fullmatch(question) is not None and len(question) <= LONGEST_QUESTION
    return question if is_plain and len(words(question)) > 0 else ""


def _begun_low(text: str, language: str) -> str:
    """Return a subject as it stands in a sentence: its article, or a common noun in front, in lower case."""
    first, _, rest = text.partition(" ")
    if language == "de" or rest == rest.lower() or first.lower() in _ARTICLES:
        return text[:1].lower() + text[1:] if not first[1:2].isupper() else text
    return text


def _base(verb: str) -> str:
    """Return the plain form of an English verb in the third person or the past."""
    verb, *more = verb.lower().split()
    if verb in _PAST:
        base = _PAST[verb]
    elif verb in _PAST_ENDING_IN_E:
        base = verb[:-1]
    elif verb in _DOUBLED:
        base = verb[:-3]
    elif verb.endswith("ed"):
        base = verb[:-2]
    elif verb == "has":
        base = "have"
    elif verb.endswith("ies"):
        base = verb[:-3] + "y"
    elif verb.endswith(("ches", "shes", "sses", "xes")):
        base = verb[:-2]
    else:
        base = verb.removesuffix("s")
    return " ".join((base, *more))


def _does(verb: str) -> str:
    first = verb.lower().split()[0]
    if first in _PAST or first.endswith("ed"):
        return "did"
    return "does" if first.endswith("s") else "do"


def _third(verb: str) -> str:
    """Return an English verb in the third person: `who` takes the singular."""
    first, *more = verb.lower().split()
    if first.endswith("s"):
        return verb
    ending = "ies" if first.endswith("y") and first[-2] not in "aeou" else "s"
    return " ".join((first[:-1] + ending if ending == "ies" else first + ending, *more))


_ARTICLES = frozenset(
    ["the", "our", "your", "o", "a", "os", "as", "este", "esta", "el", "la", "los", "las", "le", "les"]
)
_FORMS = {
    "base": _base,
    "does": _does,
    "third": _third,
    "simple": lambda verb: _SIMPLE.get(verb.lower(), verb.lower()),
    "the": lambda noun: f"the {re.sub('^(?:the|an?) ', '', noun, flags=re.I)}",
}


@cache
def _table() -> Mapping[str, dict[str, object]]:
    return tomllib.loads(_TABLE.read_text("utf-8"))


@cache
def _words() -> Mapping[str, re.Pattern[str]]:
    listed: dict[str, str] = _table()["all"]["words"]  # type: ignore[assignment]
    return {name: re.compile(form, re.IGNORECASE) for name, form in listed.items()}


@cache
def _rules(language: str) -> tuple[_Rule, ...]:
    """Return the rules of a language; none for one that has none."""
    table = _table()
    if language == "all" or language not in table:
        return ()
    named = {"month": month_names, "weekday": weekday_names, "number_word": number_names}
    spoken = {part: f"(?:{pattern_of(of(language))})" for part, of in named.items()}
    parts: dict[str, str] = {**spoken, **table["all"]["parts"], **table[language]["parts"]}  # type: ignore[dict-item]
    rows: list[dict[str, str]] = table[language]["rule"]  # type: ignore[assignment]
    return tuple(
        _Rule(row["kind"], re.compile(_written(row["said"], parts), re.IGNORECASE), row["ask"]) for row in rows
    )


def _written(form: str, parts: Mapping[str, str]) -> str:
    """Return a form with its parts written out; each is a group of its name, but those with a hyphen before it."""

    def part(slot: re.Match[str]) -> str:
        is_plain, name, of = slot.groups()
        inner = _written(parts[of or name], parts)
        return inner if is_plain else f"(?P<{name}>{inner})"

    return _PART.sub(part, form)
