"""Follow-ups: whether a question leans on what was said before, and what it then stands for.

Rules in English, Portuguese and Spanish; no model is asked, so that a turn costs one retrieval and one generation.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from docmind.embed.bm25 import words

_THING = (
    r"chart|charts|graph|table|tables|figure|figures|diagram|picture|image|page|pages|section|chapter|paragraph|clause|"
    r"article|document|report|paper|contract|file|book|text|part|number|numbers|amount|value|result|results|one|ones|"
    r"case|company|person|year|topic|method|answer|source|quote|list|point|term|"
    r"gráfico|grafico|tabela|tabla|figura|imagem|imagen|página|pagina|seção|secção|sección|seccion|capítulo|capitulo|"
    r"parágrafo|párrafo|cláusula|artigo|artículo|documento|relatório|informe|contrato|ficheiro|arquivo|archivo|livro|"
    r"libro|texto|parte|número|valor|resultado|resultados|caso|empresa|pessoa|persona|ano|año|tema|resposta|respuesta|"
    r"fonte|fuente|lista|ponto|punto|termo|término"
)
_POINTS_BACK = re.compile(
    rf"""\b(?:that|this|those|these|the\ same|said)\ (?:\w+\ )?(?:{_THING})\b
    | \b(?:[dn]?ess[ea]s?|[dn]?est[ea]s?|[dn]?aquel[ea]s?|aquel|aquell[oa]s?|es[eo]s?|o\ mesmo|a\ mesma|el\ mismo|
        la\ misma)\ (?:\w+\ )?(?:{_THING})\b
    | \b(?:isso|isto|aquilo|nisso|disso|eso|esto|aquello|dele|dela|deles|delas)\b
    | ^(?:what|who|where|when|why|how|which)\b[^?]*\b(?:it|they|them|its|their|there|he|she|his|her|that|this)\b\ ?\??$
    | ^(?:and|or|but|so|also|then|e|y|mas|pero|ou|então|entonces|también|também)\b
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
_NAME = re.compile(r"(?<=\S\s)[A-ZÀ-Þ]\w+")  # a capital inside the question: what a pronoun stands for may be there
_PAGE_STEPS = (
    (re.compile(r"\b(?:next|following)\ page\b|\bpágina\ (?:seguinte|siguiente)\b|\bpróxima\ página\b", re.I), 1),
    (re.compile(r"\b(?:previous|preceding|last)\ page\b|\bpágina\ anterior\b|\bpage\ before\b", re.I), -1),
    (re.compile(r"\b(?:that|this|the\ same)\ page\b|\b(?:ness|dess|n?est|es)[ae]\ (?:mesma\ )?página\b", re.I), 0),
)
_YEAR = re.compile(r"\b(?:1[89]|20)\d\d\b")
_LOOKS_BACK = 6  # turns


@dataclass(frozen=True, slots=True)
class Understood:
    """`text` is what to search for; `page_step` where the question names a page by its place beside the last one."""

    text: str
    is_contextual: bool
    page_step: int | None = None


def understand(question: str, before: Sequence[str]) -> Understood:
    """What `question` means after the questions `before`, oldest first. Without any it means what it says."""
    asked = " ".join(question.split())
    before = list(before)[-_LOOKS_BACK:]
    if not before or not points_back(asked):
        return Understood(asked, is_contextual=False)
    step = next((by for pattern, by in _PAGE_STEPS if pattern.search(asked)), None)
    base = next((earlier for earlier in reversed(before) if not points_back(earlier)), before[-1])
    leant_on = " ".join(dict.fromkeys((base, before[-1])))
    if _YEAR.search(asked):  # "and in 2019?" asks for another year, not for both
        leant_on = _YEAR.sub("", leant_on)
    return Understood(f"{' '.join(leant_on.split())} {asked}", is_contextual=True, page_step=step)


def points_back(question: str) -> bool:
    """Whether a question clearly leans on what was said before."""
    asked = question.strip().lstrip("¿¡\"'([").strip()
    if _POINTS_BACK.search(asked) or not words(asked):
        return True
    return bool(_STANDS_FOR.search(asked)) and not _NAME.search(asked)
