"""Whether a row of a table may tell what a question asks for: a column has it, or the row itself names it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from docmind.embedding import fold, prefix

_ATTRIBUTES: Mapping[str, str] = {
    "old": "age|born|birth|since|year|built|alter|geboren|baujahr|edad|nacid|idade|nascid|nee?\\b|date",
    "alt": "age|born|birth|since|year|built|alter|geboren|baujahr|jahr|seit|date|datum",
    "heavy": "weight|mass|kg|kilo|gewicht|peso|\\bg\\b|\\bt\\b|lb",
    "schwer": "weight|mass|kg|kilo|gewicht|peso|\\bg\\b|\\bt\\b",
    "tall": "height|tall|size|cm|\\bm\\b|hohe|grosse|altura|elevation",
    "deep": "depth|deep|tiefe|\\bm\\b|cm|profund",
    "wide": "width|wide|breite|\\bm\\b|cm|mm|ancho|largura|size|dimension",
    "fast": "speed|time|km|mph|pace|tempo|zeit|finish|knots",
    "hot": "temp|celsius|°|high|max",
    "warm": "temp|celsius|°|high|max",
    "cold": "temp|celsius|°|low|min",
}
"""What a column says of `how old`, by the adjective."""
_HOW = re.compile(r"\b(?:how|wie) ([a-z]+)\b")
_COST = re.compile(
    r"\b(?:costs?|kostet|kosten|gekostet|cuestan?|costaron|costo|custam?|custou|coutent|coute|coutait)\b(?!\s+of)"
)
_MONEY = re.compile(
    r"price|cost|amount|total|fee|fare|rent|rate|bill|charge|value|paid|\bpay|wage|salary|deposit|budget|expens|preis|kosten|"
    r"betrag|summe|miete|gebuhr|lohn|gehalt|precio|cost[eo]|importe|cuota|valor|preco|custo|montant|prix|cout|loyer|tarif|"
    r"renda|alquiler|aluguer|refund|donation|revenue|sales|spend|spent|ticket|[€$£¥]|\b(?:eur|usd|gbp|chf|euros?|dollars?)\b"
)
_DEED = re.compile(r"what (?:do|does|did) (?:[\w.'’-]+ ){1,4}([a-z]{3,})(?: (?:about|for|in|on|at|with|to))?\s*\??$")
_PLAIN = frozenset(
    [
        "have",
        "has",
        "get",
        "got",
        "cost",
        "costs",
        "pay",
        "pays",
        "paid",
        "mean",
        "say",
        "says",
        "do",
        "does",
        "need",
        "offer",
        "include",
        "contain",
        "own",
    ]
)


def may_tell(question: str, header: str, row: str, around: str) -> bool:
    """Return whether a row with its header may tell what a question asks for.

    `how old` and `how heavy` need a column or unit of that kind, what something costs an amount of money, and what
    somebody grows a column, cell, or heading that has the verb. Any other question may be told by any row.
    """
    asked = " ".join(fold(question.lower()).split())
    named = fold(f"{header}\n{row}\n{around}".lower())
    found = _HOW.search(asked)
    if found is not None and found[1] in _ATTRIBUTES and not re.search(_ATTRIBUTES[found[1]], named):
        return False
    if _COST.search(asked) and not _MONEY.search(named):
        return False
    deed = _DEED.search(asked)
    if deed is None or deed[1] in _PLAIN:
        return True
    stem = prefix(deed[1]) or deed[1][:4]
    return any(word.startswith(stem[:4]) for word in re.findall(r"\w+", named))
