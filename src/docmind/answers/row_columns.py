"""Whether a row of a table may tell what a question asks for: a column has it, or the row itself names it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from docmind.embedding import fold

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
    r"\b(?:price|costs?\b|costing|amount|total|fees?\b|fare|rent|rates?\b|bill|charge|value|paid|pay|wage|salary|deposit|"
    r"budget|expens|preis|betrag|summe|miete|gebuhr|lohn|gehalt|precio|cost[eo]\b|importe|cuota|valor|preco|custo|montant|"
    r"prix|cout|loyer|tarif|renda|alquiler|aluguer|refund|donation|revenue|sales|spend|spent|ticket|eur\b|usd\b|gbp\b|"
    r"chf\b|euros?\b|dollars?\b)|kosten|preis\b|betrag|[€$£¥]"
)
_EVENTS: Mapping[str, str] = {
    r"\barriv|\bankomm|\bankunft|kommt (?:(?!kommt ).)* an\b|\blleg|\bcheg": r"arriv|ankunft|lleg|cheg|\beta\b|\bland",
    r"\bends?\b|\bended\b|\bfinish|\bendet|\btermina|\bacab": (
        r"\bend|finish|until|\bto\b|\bbis\b|\bfin|\bfim\b|hasta|ate\b|over|duration"
    ),
    r"\bborn\b|\bbirthday\b|\bgeboren\b": r"born|birth|geb|nac|nasc|dob",
    r"\bexpir|\babl(?:auf|auft)|\bcaduc|\bvence": r"expir|until|\bby\b|before|due|ablauf|bis|caduc|venc|valid|end",
}
"""Events that a row tells only where a column has them, each with the words of such a column."""
_WHO = re.compile(r"^(?:and |so )?(?:who|whom|wer|wen|quien|quem|qui)\b")
_WHERE = re.compile(r"^(?:where|wo|woher|wohin|onde|donde|de donde|de onde|ou est|ou se)\b")
_PLACE = re.compile(
    r"plac|city|town|village|locat|where|address|room|street|road|\bsite|\bfrom\b|\bto\b|\bvon\b|\bnach\b|destin|venue|"
    r"shelf|drawer|\bbox\b|branch|office|building|countr|region|district|\bstop|station|hall|\bort\b|ort\b|stadt|adress|"
    r"raum|regal|lugar|ciudad|direcc|local|cidade|morada|sala\b|salle|lieu|ville|emplace|etagere|area|floor|\bport|house|"
    r"garage|shop|hotel|school|clinic|gate|bed\b|plot|field|pais|land\b|origin|home|park|cupboard|rack|warehouse|section"
)
_PERSON = re.compile(r"(?:[A-ZÀ-Þ][\w'’.-]*)(?: [A-ZÀ-Þ][\w'’.-]*){1,3}")
_PEOPLE = re.compile(
    r"name|who\b|\bby\b|person|[a-z]{3}(?:er|or|ist|ent|ant|ee)s?\b|contact|wife|husband|child|family|team|club|staff|nom\b|quien|"
    r"quem|wer\b|client|kund|mitglied|soci|coach|guide|vet\b|boss|head|host|agent"
)
_ATTRIBUTE = re.compile(
    r"^what(?: is|'s| was| are| were) the ([a-z]{4,})(?: [a-z]+)? (?:of|for) (?!the (?:list|table|document))"
)
_DEED = re.compile(r"what (?:do|does|did) (?:[\w.'’-]+ ){1,4}([a-z]{3,})(?: (?:about|for|in|on|at|with|to))?\s*\??$")
_PLAIN = frozenset(
    {"have", "has", "get", "got", "cost", "costs", "pay", "pays", "paid", "mean", "say", "says", "need", "offer"}
)


def asks_cost(question: str) -> bool:
    """Return whether a question asks what something costs."""
    return bool(_COST.search(" ".join(fold(question.lower()).split())))


def is_of_money(text: str) -> bool:
    """Return whether a text speaks of money."""
    folded = fold(text.lower())
    return bool(_MONEY.search(folded) or _COST.search(folded))


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
    if any(re.search(event, asked) and not re.search(told, named) for event, told in _EVENTS.items()):
        return False
    if _WHO.search(asked) and not _has_other_person(asked, header, row):
        return False
    if _WHERE.search(asked) and not _PLACE.search(fold(f"{header} {around}".lower())):
        return False
    attribute = _ATTRIBUTE.search(asked)
    if attribute is not None and not _is_there(attribute[1], named):
        return False
    if _is_of_empty_cell(asked, header, row):
        return False
    deed = _DEED.search(asked)
    if deed is None or deed[1] in _PLAIN:
        return True
    return _is_there(deed[1], named)


def _is_there(word: str, named: str) -> bool:
    """Return whether a text has a word that begins as another does."""
    return any(one.startswith(word[:4]) or (len(one) > 3 and word.startswith(one)) for one in re.findall(r"\w+", named))


def _is_of_empty_cell(asked: str, header: str, row: str) -> bool:
    """Return whether the question has a word of the name of a column whose cell is empty in the row."""
    names, cells = header.split(" | "), [cell.strip() for cell in row.split("|")]
    if len(names) < 2 or len(cells) < 2 or len(cells) > len(names):
        return False
    cells += [""] * (len(names) - len(cells))
    said = set(re.findall(r"[^\W\d_]{4,}", asked))
    return any(
        not cell
        and any(word[:5] == one[:5] for one in re.findall(r"[^\W\d_]{4,}", fold(name.lower())) for word in said)
        for name, cell in zip(names, cells, strict=True)
    )


def _has_other_person(asked: str, header: str, row: str) -> bool:
    """Return whether a row has somebody whom the question does not name, or a column for people that it leaves open."""
    names, cells = header.split(" | "), row.split(" | ")
    if len(names) != len(cells) or len(cells) < 2:
        return True
    for name, cell in zip(names, cells, strict=True):
        plain = fold(cell.strip().lower())
        is_named = bool(plain) and (plain in asked or any(word in asked for word in re.findall(r"[^\W\d_]{4,}", plain)))
        if plain and not is_named and (_PERSON.fullmatch(cell.strip()) or _PEOPLE.search(fold(name.lower()))):
            return True
    return False
