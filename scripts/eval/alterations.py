"""Changes of page sentences to what a language model may write: harmless rewording, or an inserted fault.

Every function takes a sentence and returns a changed one, or None where there is nothing to change.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from random import Random

_NUMBER = re.compile(
    r"(?<![\w.,])\d{1,3}(?:[.,]\d{3})+(?:[.,]\d+)?(?![\w.,]*\d)|(?<![\w.,])\d+(?:[.,]\d+)?(?![\w]|[.,]\d)"
)
_YEAR = re.compile(r"(?<!\d[.,])\b(?:19|20)\d\d\b(?![.,]\d)")
_NAME = re.compile(r"(?<=[a-zà-ÿ,;] )[A-ZÀ-Þ][a-zà-ÿ]{3,}\b")
_SCALE = {
    "million": "billion", "billion": "million", "milhões": "bilhões", "bilhões": "milhões", "millones": "billones",
    "days": "months", "months": "days", "years": "months", "dias": "meses", "meses": "dias", "anos": "meses",
    "años": "meses", "días": "meses", "percent": "million", "thousand": "million", "mil": "milhões",
}  # fmt: skip
_NOT = {
    "en": [
        (r"\b(is|are|was|were|will|may|must|should|can|has|have|had|could|would) not\b", r"\1"),
        (r"\b(is|are|was|were|will|may|must|should|can|could|would)\b(?! not)", r"\1 not"),
    ],
    "pt": [
        (r"\bnão (é|são|será|serão|foi|poderá|poderão|deverá|deverão|tem|haverá)\b", r"\1"),
        (r"\b(é|são|será|serão|foi|poderá|poderão|deverá|deverão|devem|deve)\b", r"não \1"),
    ],
    "es": [
        (r"\bno (es|son|será|serán|fue|podrá|podrán|deberá|deberán|tiene|habrá)\b", r"\1"),
        (r"\b(es|son|será|serán|fue|podrá|podrán|deberá|deberán|corresponde|durarán|tendrá)\b", r"no \1"),
    ],
}
_OTHER_WORDS = {
    "approximately": "about", "primarily": "mainly", "increased": "rose", "decreased": "fell", "purchase": "buy",
    "however": "but", "provide": "give", "provides": "gives", "additional": "further", "prior to": "before",
    "in order to": "to", "include": "comprise", "including": "among them", "obtain": "get", "began": "started",
    "commenced": "started", "utilize": "use", "pursuant to": "under", "shall": "must", "such as": "like",
    "demonstrates": "shows", "significant": "substantial", "assist": "help", "entire": "whole", "following": "next",
    "poderá": "pode", "deverá": "deve", "deverão": "devem", "realizar": "fazer", "mediante": "por meio de",
    "podrá": "puede", "deberá": "debe", "podrán": "pueden", "deberán": "deben", "respecto de": "sobre",
}  # fmt: skip
_SHORT = {
    "do not": "don't", "does not": "doesn't", "is not": "isn't", "are not": "aren't", "cannot": "can't",
    "did not": "didn't", "was not": "wasn't", "it is": "it's", "we are": "we're", "will not": "won't",
}  # fmt: skip
_LEAD = {
    "en": ("According to the report, ", "The document states that ", "In summary, ", "Based on the filing, "),
    "pt": ("Segundo o documento, ", "De acordo com o texto, ", "Em resumo, "),
    "es": ("Según el documento, ", "De acuerdo con el texto, ", "En resumen, "),
}
_SMALL: Sequence[str] = "zero one two three four five six seven eight nine ten eleven twelve".split()  # noqa: SIM905


def led_in(text: str, language: str, random: Random) -> str | None:
    if re.match(r"Art|§|[IVX]+\b", text):
        return None
    lead = random.choice(_LEAD.get(language, _LEAD["en"]))
    return lead + (text if text[:2].isupper() or text[:1].isdigit() else text[0].lower() + text[1:])


def shortened(text: str) -> str | None:
    """Remove parentheses, or the last clause."""
    without = re.sub(r"\s*\([^()]{3,80}\)", "", text)
    if without != text:
        return without
    cut = text.rfind(", ", 0, int(len(text) * 0.85))
    return text[:cut].rstrip(" ,;") + "." if cut > 60 else None


def reordered(text: str) -> str | None:
    """Move the clause after a comma to the front."""
    match = re.match(r"(?P<a>[^,;()]{25,}), (?P<b>[^,;()]{25,})\.$", text)
    return f"{match['b'][0].upper()}{match['b'][1:]}, {match['a'][0].lower()}{match['a'][1:]}." if match else None


def renumbered(text: str, language: str) -> str | None:
    """Write the same numbers in another way."""
    changes: list[tuple[str, str | Callable[[re.Match[str]], str]]] = [
        (r"(\d)%", {"pt": r"\1 por cento", "es": r"\1 por ciento"}.get(language, r"\1 percent")),
        (r"\$(\d+\.\d) billion", lambda m: f"${round(float(m[1]) * 1000):,} million"),
        (r"(?<![\d.,$])(\d{1,3}),(\d{3})(?![\d.,]*\d)", r"\1\2"),
        (r"(?<![\d.,$§/-] )(?<![\d.,$§/-])\b([2-9]|1[0-2])\b(?![\d.,%:/)ºª°-])(?= [a-z])", _in_words),
        (r"\b(two|three|four|five|six|seven|eight|nine|ten)\b(?= [a-z])", lambda m: str(_SMALL.index(str(m[1])))),
    ]  # fmt: skip
    for pattern, form in changes if language == "en" else changes[:1]:
        changed, count = re.subn(pattern, form, text, count=1)
        if count:
            return changed
    return None


def _in_words(match: re.Match[str]) -> str:
    return _SMALL[int(match[1])]


def in_other_words(text: str) -> str | None:
    changed = text
    for table in (_OTHER_WORDS, _SHORT):
        for word, other in table.items():
            changed = re.sub(rf"\b{word}\b", other, changed)
    return changed if changed != text else None


def other_number(text: str, kind: str, page: str, random: Random) -> str | None:
    """One number changed: a `digit`, its `scale`, for one of the `page`, a `year` by one, its `unit`."""
    if kind == "unit":
        found = [m for m in re.finditer(r"\d[\d.,]*\)? (\w+)", text) if m[1] in _SCALE]
        return _put(text, found, lambda m: m[0].replace(m[1], _SCALE[m[1]]), random)
    if kind == "year":
        years = list(_YEAR.finditer(text))
        return _put(text, years, lambda m: str(int(m[0]) + random.choice((-1, 1))), random)
    numbers = [m for m in _NUMBER.finditer(text) if not _YEAR.fullmatch(m[0])]
    if kind == "page":
        others = sorted({m[0] for m in _NUMBER.finditer(page) if not _YEAR.fullmatch(m[0])} - {m[0] for m in numbers})
        return _put(text, numbers, lambda m: random.choice(_alike(m[0], others)), random) if others else None
    return _put(text, numbers, lambda m: _digit(m[0], random) if kind == "digit" else _scaled(m[0]), random)


def _alike(number: str, others: Sequence[str]) -> Sequence[str]:
    """Numbers of the same length, where the page has any."""
    return [other for other in others if len(other) == len(number)] or others


def _digit(number: str, random: Random) -> str:
    at = random.choice([n for n, char in enumerate(number) if char.isdigit()])
    other = random.choice([char for char in "123456789" if char != number[at]])
    return number[:at] + other + number[at + 1 :]


def _scaled(number: str) -> str:
    return number + "0" if not re.search(r"[.,]", number) else re.sub(r"^(\d)", r"\g<1>1", number, count=1)


def other_name(text: str, names: Sequence[str], random: Random) -> str | None:
    """One name inside the sentence for another one that it does not have."""
    others = [name for name in names if name not in text]
    return _put(text, list(_NAME.finditer(text)), lambda _: random.choice(others), random) if others else None


def names_of(text: str) -> list[str]:
    return sorted({match[0] for match in _NAME.finditer(text)})


def denied(text: str, language: str) -> str | None:
    """With a `not` put in, or taken out."""
    for pattern, form in _NOT[language]:
        changed, count = re.subn(pattern, form, text, count=1)
        if count:
            return changed
    return None


def _put(text: str, found: Sequence[re.Match[str]], form: Callable[[re.Match[str]], str], random: Random) -> str | None:
    if not found:
        return None
    match = random.choice(found)
    changed = text[: match.start()] + form(match) + text[match.end() :]
    return changed if changed != text else None
