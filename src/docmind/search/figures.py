"""Figures in the text search: which questions ask for one, and which passages only repeat words of their page.

The words of a figure that stand on its page are a passage of their own beside the one that has them too. Such a passage
ranks no page, because the page has these words already; it is shown where it says as much as the page's best passage
does, or where a figure was asked for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from docmind.documents import NodeRecord
from docmind.records.documents import Modality
from docmind.records.search import Filters

FIGURE: Modality = "image_caption"
AS_GOOD = 0.98
"""What a figure's passage must reach of the score of its page's best passage to be shown in its place."""

_NOUNS: Mapping[str, str] = {
    "en": r"figures?|fig\.|diagrams?|charts?|graphs?|plots?|drawings?|illustrations?|pictures?|photos?|photographs?"
    r"|images?|schematics?|screenshots?|sketch(?:es)?",
    "pt": r"figuras?|fig\.|diagramas?|gr[áa]ficos?|imagem|imagens|fotos?|fotografias?|desenhos?|ilustra[çc](?:[ãa]o|[õo]es)"
    r"|esquemas?",
    "es": r"figuras?|fig\.|diagramas?|gr[áa]fic[oa]s?|im[áa]gen(?:es)?|fotos?|fotograf[íi]as?|dibujos?|ilustraci(?:[óo]n|ones)"
    r"|esquemas?",
    "de": r"abbildung(?:en)?|abb\.|bild(?:er)?|diagramme?|grafik(?:en)?|zeichnung(?:en)?|fotos?|skizzen?|schaubild(?:er)?"
    r"|schema(?:ta)?",
    "fr": r"figures?|fig\.|diagrammes?|graphiques?|images?|photos?|dessins?|illustrations?|sch[ée]mas?",
}
_ASKED: Mapping[str, str] = {
    "en": r"which|what|where\s+is(?:\s+the)?|show(?:\s+me)?(?:\s+the|\s+an?|\s+all)?|find(?:\s+the|\s+an?)?"
    r"|open(?:\s+the)?|see(?:\s+the|\s+an?)?",
    "pt": r"qual(?:\s+[ée])?(?:\s+a|\s+o)?|que|em\s+que|onde\s+est[áa](?:\s+a|\s+o)?|mostr[ae](?:-me)?(?:\s+a|\s+o|\s+as|\s+os|\s+uma?)?"
    r"|abr[ae](?:\s+a|\s+o)?|encontr[ae](?:\s+a|\s+o)?",
    "es": r"qu[ée]|cu[áa]l(?:\s+es)?(?:\s+la|\s+el)?|d[óo]nde\s+est[áa](?:\s+la|\s+el)?|mu[ée]stra(?:me)?(?:\s+la|\s+el|\s+las|\s+los|\s+una?)?"
    r"|ense[ñn]a(?:me)?(?:\s+la|\s+el)?|abre(?:\s+la|\s+el)?|busca(?:\s+la|\s+el)?",
    "de": r"welche[rs]?|wo\s+ist(?:\s+die|\s+das)?|zeige?n?(?:\s+(?:mir|sie\s+mir))?(?:\s+die|\s+das|\s+eine?)?"
    r"|finde(?:\s+die|\s+das)?|öffne(?:\s+die|\s+das)?|auf\s+welche[rm]",
    "fr": r"quelle?s?(?:\s+est)?(?:\s+la|\s+le|\s+l['’])?|o[ùu]\s+est(?:\s+la|\s+le)?|montre[zs]?(?:-moi)?(?:\s+la|\s+le|\s+les|\s+une?)?"
    r"|ouvre[zs]?(?:\s+la|\s+le)?|trouve[zs]?(?:\s+la|\s+le)?",
}
_NUMBERED = r"\b(?:figures?|figuras?|fig\.|abbildung|abb\.)\s*\d"
_QUESTION = re.compile(
    "|".join(
        [
            *(rf"(?:^|[\s¿,])(?:{_ASKED[code]})\s+(?:\w+\s+)?(?:{nouns})(?!\w)" for code, nouns in _NOUNS.items()),
            *(
                rf"^(?:{nouns})\s+(?:of|about|showing|that|with|on|de|do|da|sobre|que|con|com|von|zu|über|der|des|du|qui|avec)\b"
                for nouns in _NOUNS.values()
            ),
            _NUMBERED,
        ]
    ),
    re.IGNORECASE,
)


def asks_for_figure(question: str) -> bool:
    """Return whether a question asks for a picture: "show the figure about …", "welche Abbildung zeigt …"."""
    return _QUESTION.search(question.strip()) is not None


def wants_figures(question: str, filters: Filters) -> bool:
    """Return whether figures are asked for, by the words of a question or by its filters."""
    return FIGURE in filters.modalities if filters.modalities else asks_for_figure(question)


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
