"""Questions that go on from an earlier one: how they refer to it, and what they mean with its words.

"Und im Winter?" after "Wann öffnet das Bad im Sommer?" is "Wann öffnet das Bad im Winter?"; "For how long?" is about
what the earlier question was about. Which words take the place of which is told by their kind and their meaning.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache

import numpy as np

from docmind.answers import content_words, language_of_question
from docmind.embedding import words
from docmind.language import folded_word, is_form, lexicon

FEW = 2  # content words of a question that may need the earlier one
LONGEST = 600  # characters of a question that is completed, and of what completes it
_WORD = re.compile(r"[^\W_]+(?:[.,'’-][^\W_]+)*")
_THING = (
    r"chart|charts|graph|table|tables|figure|figures|diagram|picture|image|page|pages|section|chapter|paragraph|clause|"
    r"article|document|report|paper|contract|file|book|text|part|number|numbers|amount|value|result|results|one|ones|"
    r"case|company|person|year|topic|method|answer|source|quote|list|point|term|"
    r"gráfico|grafico|tabela|tabla|figura|imagem|imagen|página|pagina|seção|secção|sección|seccion|capítulo|capitulo|"
    r"parágrafo|párrafo|cláusula|artigo|artículo|documento|relatório|informe|contrato|ficheiro|arquivo|archivo|livro|"
    r"libro|texto|parte|número|valor|resultado|resultados|caso|empresa|pessoa|persona|ano|año|tema|resposta|respuesta|"
    r"fonte|fuente|lista|ponto|punto|termo|término"
)
_IS_THING = re.compile(_THING, re.IGNORECASE)
_POINTS_BACK = re.compile(
    rf"""\b(?:that|this|those|these|the\ same|said)\ (?:\w+\ )?(?:{_THING})\b
    | \b(?:[dn]?ess[ea]s?|[dn]?est[ea]s?|[dn]?aquel[ea]s?|aquel|aquell[oa]s?|es[eo]s?|o\ mesmo|a\ mesma|el\ mismo|
        la\ misma)\ (?:\w+\ )?(?:{_THING})\b
    | \b(?:isso|isto|aquilo|nisso|disso|eso|esto|aquello|dele|dela|deles|delas)\b
    | ^(?:what|who|where|when|why|how|which)\b[^?]*\b(?:it|they|them|its|their|there|he|she|his|her|that|this)\b\ ?\??$
    | ^(?:what|how)\ about\b | ^(?:e\ quanto|y\ qué\ hay|y\ que\ hay|qué\ tal)\b
    | \b(?:does|do|did|is|are|was|were|can|could|has|have|will|would)\ (?:it|they|he|she|that|this)\b
    | ^(?:tell\ me\ more|go\ on|continue|explain\ (?:that|this|it)|more\ (?:details|about\ (?:that|this|it))|
        conta\ mais|cuéntame\ más|explica\ (?:isso|eso|esto))\b
    | ^(?:why|how\ so|since\ when|por\ qu[eê]|porqu[eê]|desde\ quando|desde\ cuándo|¿?por\ qué)\ ?\??$""",
    re.IGNORECASE | re.VERBOSE,
)
_STANDS_FOR = re.compile(
    r"\b(?:it|its|they|them|their|theirs|he|she|him|his|her|hers|seus?|suas?|sus?|dele|dela|deles|delas|lhes?|les?)\b",
    re.IGNORECASE,
)
_NAME = re.compile(
    r"(?<=\S\s)[A-ZÀ-Þ]\w+"
)  # a capitalised word inside the question: it may be what a pronoun refers to
_PAGE_STEPS = (
    (re.compile(r"\b(?:next|following)\ page\b|\bpágina\ (?:seguinte|siguiente)\b|\bpróxima\ página\b", re.I), 1),
    (re.compile(r"\b(?:previous|preceding|last)\ page\b|\bpágina\ anterior\b|\bpage\ before\b", re.I), -1),
    (re.compile(r"\b(?:that|this|the\ same)\ page\b|\b(?:ness|dess|n?est|es)[ae]\ (?:mesma\ )?página\b", re.I), 0),
)

Alike = Callable[[str, Sequence[str]], np.ndarray]
"""How alike in meaning a phrase is with each of some others, `(n,)`; the greatest is the most alike."""


def points_back(question: str) -> bool:
    """Return whether a question clearly refers to what was said before."""
    return joins(question) or not words(question) or _refers(question)


def _refers(question: str) -> bool:
    """Return whether a question has a word that stands for what was said before: `it`, `that chart`."""
    asked = question.strip().lstrip("¿¡\"'([").strip()
    if _POINTS_BACK.search(asked):
        return True
    # Pronouns of these languages: some of them are articles of French and Italian, and words of German.
    is_told = language_of_question(asked) in ("en", "es", "pt")
    return is_told and bool(_STANDS_FOR.search(asked)) and not _NAME.search(asked)


def joins(asked: str) -> bool:
    """Return whether a question begins with words that join it to what was said before: `and`, `what about`."""
    return _without_joining(asked) != asked


def may_go_on(asked: str) -> bool:
    """Return whether a question may need the one before: it refers to it, or says little by itself."""
    return points_back(asked) or len(content_words(asked)) <= FEW


def has_topic(asked: str) -> bool:
    """Return whether a question says by itself what it is about: `And the pool?` does, `And why?` does not."""
    content = content_words(asked)
    return len(content) > FEW or (not _refers(asked) and any(not _IS_THING.fullmatch(word) for word in content))


def meets(asked: str, quote: str) -> int:
    """Return how many content words of a question a quote has, in whatever form."""
    held = _WORD.findall(quote)
    return sum(any(is_form(word, one) for one in held) for word in content_words(asked))


def page_step(asked: str) -> int | None:
    """Return how many pages on the page is that a question names by its place; None where it names none."""
    return next((by for pattern, by in _PAGE_STEPS if pattern.search(asked)), None)


def completed(asked: str, earlier: str, alike: Alike) -> str:
    """Return a question with what it leaves to the earlier one; itself where there is nothing to complete it with.

    * A question that asks for something itself, or names nothing, gets the content words of the earlier one behind it.
    * Another one is the earlier question with what it names in the place of a phrase there: of words that share one
      with it, else of the run of content words that is nearest to it in meaning.
    * Its numbers take the place of the number there; where there is none they stay with its words.
    * A longer question than `LONGEST` is left as it is.
    """
    asked, earlier = " ".join(asked.split()), " ".join(earlier.split())[:LONGEST]
    own = _without_joining(asked)
    named, places = _runs(own), _runs(earlier)
    if not places or len(asked) > LONGEST or not _WORD.search(asked):
        return asked
    if not named or _asks(own):
        return f"{own.rstrip(' ?!.')} {' '.join(earlier[start:end] for start, end in places)}?"
    whole = earlier
    for phrase in _by_kind(own, named, has_number=any(_has_digit(earlier[start:end]) for start, end in places)):
        whole = _with(whole, phrase, alike)
    return asked if whole == earlier else whole


def _without_joining(asked: str) -> str:
    """Return a question without the words at its beginning that only join it to the one before."""
    found = _joint().match(asked)
    return asked[found.end() :] if found is not None and (found[1] or found[2]) else asked


@cache
def _joint() -> re.Pattern[str]:
    """Return what a question may begin with: a word such as `and`, a phrase such as `what about`."""
    joining, turning = ("|".join(map(re.escape, lexicon(key))) for key in ("joining", "turning"))
    return re.compile(rf"\W*+((?:{joining})(?!\w)\W*+)?((?:{turning})(?!\w)\W*+)?", re.IGNORECASE)


def _asks(asked: str) -> bool:
    """Return whether a question begins with a word that asks for something, or with one word before it: `for how`."""
    questions = {folded_word(word) for word in lexicon("questions")}
    return any(folded_word(word) in questions for word in _WORD.findall(asked)[:2])


def _runs(asked: str) -> list[tuple[int, int]]:
    """Return the spans of the runs of content words of a question; those with digits apart from the others."""
    content = set(content_words(asked))
    runs = list[tuple[int, int]]()
    for match in _WORD.finditer(asked):
        if content.isdisjoint(re.findall(r"\w+", match.group())):
            continue
        start, end = runs[-1] if runs else (0, 0)
        is_next = bool(runs) and asked[end : match.start()].isspace()
        if is_next and _has_digit(asked[start:end]) == _has_digit(match.group()):
            runs[-1] = start, match.end()
        else:
            runs.append(match.span())
    return runs


def _by_kind(asked: str, runs: Sequence[tuple[int, int]], *, has_number: bool) -> Iterator[str]:
    """Yield what a question names, from its first word to the last; its numbers apart where the other one has some."""
    numbers = [run for run in runs if has_number and _has_digit(asked[slice(*run)])]
    for kind in ([run for run in runs if run not in numbers], numbers):
        if kind:
            yield asked[kind[0][0] : kind[-1][1]]


def _with(earlier: str, phrase: str, alike: Alike) -> str:
    """Return a question with a phrase in the place of another one of its kind; behind it where it has none."""
    runs, size = _runs(earlier), len(_WORD.findall(phrase))
    sharing = [part for run in runs for part in _parts(earlier, run, size) if _shares(earlier[slice(*part)], phrase)]
    same = [run for run in sharing or runs if _has_digit(earlier[slice(*run)]) == _has_digit(phrase)]
    if not same:
        return f"{earlier.rstrip(' ?!.')} {phrase}?"
    nearest = int(np.argmax(alike(phrase, [earlier[slice(*run)] for run in same]))) if len(same) > 1 else 0
    start, end = same[nearest]
    return earlier[:start] + phrase + earlier[end:]


def _shares(one: str, other: str) -> bool:
    """Return whether phrases of as many words have one in its place: `the spring report`, `the autumn report`."""
    return any(is_form(word, held) for word, held in zip(_WORD.findall(one), _WORD.findall(other), strict=True))


def _parts(text: str, run: tuple[int, int], size: int) -> Iterator[tuple[int, int]]:
    """Yield the spans of so many words within a span."""
    places = [match.span() for match in _WORD.finditer(text, *run)]
    for (start, _end), (_start, end) in zip(places, places[size - 1 :], strict=False):
        yield start, end


def _has_digit(text: str) -> bool:
    return any(map(str.isdigit, text))
