"""Figures in the text search: which questions ask for one, and which passages only repeat words of their page.

The words of a figure that stand on its page are a passage of their own beside the one that has them too. Such a passage
ranks no page, because the page has these words already; it is shown where it says as much as the page's best passage
does, or where a figure was asked for.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from docmind.documents import NodeRecord
from docmind.records.documents import FIGURE, Box, Figure
from docmind.records.search import Filters, Quad

_WITHIN = 0.8  # of the area of an outline that lies within a figure
AS_GOOD = 0.98
"""What a figure's passage must reach of the score of its page's best passage to be shown in its place."""

_NOUNS = (
    r"figures?|fig\.|diagrams?|charts?|graphs?|plots?|drawings?|illustrations?|pictures?|photos?|photographs?|images?"
    r"|schematics?|screenshots?|sketch(?:es)?"  # English
    r"|figuras?|diagramas?|gr[áa]fic[oa]s?|imagem|imagens|fotos?|fotografias?|desenhos?|ilustra[çc](?:[ãa]o|[õo]es)"
    r"|esquemas?"  # Portuguese
    r"|im[áa]gen(?:es)?|fotograf[íi]as?|dibujos?|ilustraci(?:[óo]n|ones)"  # Spanish
    r"|abbildung(?:en)?|abb\.|bild(?:er)?|diagramme?|grafik(?:en)?|zeichnung(?:en)?|skizzen?|schaubild(?:er)?"
    r"|schema(?:ta)?"  # German
    r"|diagrammes?|graphiques?|dessins?|sch[ée]mas?"  # French
)
_WHICH = (
    r"which|what(?:\s+do(?:es)?)?|qual|quais|que|qu[ée]|cu[áa]l(?:es)?|welche[rsmn]?|was\s+zeigt|quel(?:le)?s?"
    r"|que\s+montre"
)
_SHOW = (
    r"show|find|open|display|where\s+is|mostr[ae]|encontr[ae]|abr[ae]|onde\s+est[áa]|mu[ée]stra(?:me)?|ense[ñn]a(?:me)?"
    r"|abre|busca|d[óo]nde\s+est[áa]|zeige?n?|finde|öffne|wo\s+ist|montre[zs]?|ouvre[zs]?|trouve[zs]?|o[ùu]\s+est"
)
_OF = (
    r"of|about|that|with|for|comparing|showing|illustrating|explaining|depicting|de|do|da|sobre|que|con|com|von|zu|über"
    r"|der|des|du|qui|avec"
)
_NUMBERED = r"\b(?:figures?|figuras?|fig\.|abbildung|abb\.)\s*\d"
_WORD = r"[\s'’-]+\w+"
_QUESTION = re.compile(
    rf"\b(?:{_WHICH})(?:{_WORD})?[\s'’]+(?:{_NOUNS})(?!\w)|\b(?:{_SHOW})(?:{_WORD}){{0,3}}?[\s'’]+(?:{_NOUNS})(?!\w)"
    rf"|^(?:{_NOUNS})\s+(?:{_OF})\b|{_NUMBERED}",
    re.IGNORECASE,
)


def asks_for_figure(question: str) -> bool:
    """Return whether a question asks for a picture: "show the figure about …", "welche Abbildung zeigt …"."""
    return _QUESTION.search(question.strip()) is not None


def wants_figures(question: str, filters: Filters) -> bool:
    """Return whether figures are asked for, by the words of a question or by its filters."""
    if filters.modalities or filters.figure_sizes:
        return filters.wants_figures_alone or FIGURE in filters.modalities
    return asks_for_figure(question)


def repeating(nodes: Sequence[NodeRecord]) -> set[str]:
    """Return the ids of those of a page's passages that are of a figure and say only what another passage says too."""
    return {
        node.node_id
        for node in nodes
        if node.modality == FIGURE
        and node.start < node.end
        and not node.context
        and any(
            one.ordinal < node.ordinal and one.start <= node.start and node.end <= one.end and one.modality != FIGURE
            for one in nodes
        )
    }


def figure_around(quad: Quad, figures: Sequence[Figure]) -> Figure | None:
    """Return the smallest figure that holds nearly all of an outline on its page; None where none does."""
    place = Box.around([Box(x, y, 0.0, 0.0) for x, y in quad])
    if place is None or place.w <= 0 or place.h <= 0:
        return None
    around = [one for one in figures if _shared(place, one.box) >= _WITHIN * place.w * place.h]
    return min(around, key=lambda one: one.box.w * one.box.h, default=None)


def _shared(one: Box, other: Box) -> float:
    """Return the area that two rectangles share, in pixels."""
    wide = min(one.x + one.w, other.x + other.w) - max(one.x, other.x)
    tall = min(one.y + one.h, other.y + other.h) - max(one.y, other.y)
    return max(0.0, wide) * max(0.0, tall)
