"""Questions that go on from an earlier one: how they refer to it, and what they mean with its words.

"Und im Winter?" after "Wann öffnet das Bad im Sommer?" is "Wann öffnet das Bad im Winter?"; "For how long?" is about
what the earlier question was about. Which words take the place of which is told by their kind and their meaning.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from docmind.answers import content_words
from docmind.embedding import words
from docmind.language import folded_word, is_form, lexicon

FEW = 2  # content words of a question that may need the earlier one
MOST = 40  # phrases of the earlier question that another one may take the place of
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
    return bool(_POINTS_BACK.search(asked)) or (bool(_STANDS_FOR.search(asked)) and not _NAME.search(asked))


def joins(asked: str) -> bool:
    """Return whether a question begins with a word that joins it to what was said before."""
    found = _WORD.search(asked)
    return found is not None and folded_word(found.group()) in lexicon("joining")


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
    """Return a question with what it leaves to the earlier one.

    A question that asks for something itself, or names nothing, gets the words of the earlier one behind it. Another
    one is the earlier question with one of its phrases replaced: by a number where that is a number, else by what is
    nearest to it in meaning.
    """
    own = _without_joining(asked)
    phrase = _named(own)
    phrases = _phrases(earlier)
    if not phrases:
        return asked
    if not phrase or _asks(own):
        return f"{own.rstrip(' ?!.')} {' '.join(phrases)}?"
    size = len(_WORD.findall(phrase))
    sharing = [part for one in phrases for part in _parts(one, size) if _shares(part, phrase)]
    same = [one for one in sharing or phrases if _has_digit(one) == _has_digit(phrase)]
    if not same:
        return f"{earlier.rstrip(' ?!.')} {phrase}?"
    replaced = same[int(np.argmax(alike(phrase, same)))] if len(same) > 1 else same[0]
    return earlier.replace(replaced, phrase, 1)


def _without_joining(asked: str) -> str:
    text = " ".join(asked.split())
    found = _WORD.search(text)
    return text[found.end() :].lstrip(" ,") if found is not None and joins(text) else text


def _asks(asked: str) -> bool:
    """Return whether a question has a word that asks for something."""
    return any(folded_word(word) in lexicon("questions") for word in _WORD.findall(asked))


def _named(asked: str) -> str:
    """Return what a question names: from its first content word to the last; empty where it has none."""
    content = set(content_words(asked))
    found = [match for match in _WORD.finditer(asked) if match.group() in content]
    return asked[found[0].start() : found[-1].end()] if found else ""


def _phrases(asked: str) -> list[str]:
    """Return the runs of content words of a question, in their order; those with digits apart from the others."""
    content = set(content_words(asked))
    runs = list[tuple[int, int]]()
    for match in _WORD.finditer(asked):
        if match.group() not in content:
            continue
        start, end = runs[-1] if runs else (0, 0)
        is_next = bool(runs) and asked[end : match.start()].isspace()
        if is_next and _has_digit(asked[start:end]) == _has_digit(match.group()):
            runs[-1] = start, match.end()
        else:
            runs.append(match.span())
    return [asked[start:end] for start, end in runs[:MOST]]


def _shares(one: str, other: str) -> bool:
    """Return whether phrases of as many words have one in its place: `the spring report`, `the autumn report`."""
    return any(is_form(word, held) for word, held in zip(_WORD.findall(one), _WORD.findall(other), strict=True))


def _parts(phrase: str, size: int) -> Iterator[str]:
    """Yield the runs of so many words within a phrase."""
    places = [match.span() for match in _WORD.finditer(phrase)]
    for (start, _end), (_start, end) in zip(places, places[size - 1 :], strict=False):
        yield phrase[start:end]


def _has_digit(text: str) -> bool:
    return any(map(str.isdigit, text))
