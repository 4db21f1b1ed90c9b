"""What a question asks about a thing, its price, its colour, who it is, and whether a passage tells that.

A passage may have every word of a question and a value of its kind, and still tell something else: "The hall holds 45
people" does not tell what the hall costs. Rows of tables are judged by `row_columns`.
"""

from __future__ import annotations

import re

from docmind.answers.names import named
from docmind.answers.values import lowered_alike
from docmind.embedding import fold, prefix, words

_IDENTITY = re.compile(
    r"(?:(?:and|so|e|y|und|et) )?(?:who|quem|quien|quienes|wer|qui) "
    r"(?:is|was|are|were|e|era|foi|sao|eram|es|fue|son|era|fueron|ist|war|sind|waren|est|etait|sont) "
    r"(?:(?:the|our|my|your|its|an?|o|a|os|as|nosso|nossa|el|la|los|las|nuestro|nuestra|der|die|das|unser|le) |l')[a-z]"
)
_ATTRIBUTE = re.compile(
    r"\b(?:(?:what|which) ([a-z]{4,})(?<!s) (?:is|are|was|were|does|do|did|has|have)\b"
    r"|what (?:is|was|are|were) the ([a-z]{4,})(?: [a-z]+)? (?:of|for)\b"
    r"|(?:que|de que) ([a-z]{3,}) (?:e|es|sao|son|era|tem|tiene|foi|fue|usa)\b"
    r"|(?:qual|quais|cual|cuales) (?:e|es|sao|son|era|foi|fue) (?:o|a|os|as|el|la|los|las) ([a-z]{4,}) "
    r"(?:d[aeo]s?|del)\b)"
)
_UNNAMED = frozenset(  # what a passage tells without its word
    """name nome nombre title titulo reason motivo razon razao purpose aim goal objetivo proposito role papel
    funcao funcion difference diferenca diferencia definition meaning significado cause causa result resultado
    subject rule regra regla happens thing things coisa cosa people person one ones else""".split()  # noqa: SIM905
)
_COLOURS = re.compile(
    r"\b(?:black|white|red|green|blue|yellow|orange|purple|violet|pink|brown|gr[ea]y|beige|silver|golden|"
    r"pret[oa]|branc[oa]|vermelh[oa]|verde|azul|amarel[oa]|laranja|rox[oa]|rosa|marrom|castanh[oa]|cinz\w+|prateado|dourado|"
    r"negr[oa]|blanc[oa]|roj[oa]|amarill[oa]|naranja|morad[oa]|marron|gris|plateado|dorado)s?\b"
)
_COLOUR = frozenset({"colour", "color", "cor", "farbe", "couleur"})
_NEXT = re.compile(r"[.;:,]\s|\s(?:and|or|y|e|o|ou|und|oder|et|which|que|wobei)\s")


def asks_identity(question: str) -> bool:
    """Return whether a question asks who somebody is whom it calls by what they do: `Who is the landlord?`."""
    return bool(_IDENTITY.match(_folded(question)))


def has_new_name(asked: frozenset[str], text: str) -> bool:
    """Return whether a text has a name that the question lacks, and not only a capital that begins a sentence."""
    starts = {prefix(word) for word in asked} - {None}
    found = named(text)
    for at, one in enumerate(found):
        if one.key in asked or prefix(one.key) in starts:
            continue
        before = text[max(0, one.start - 2) : one.start]
        after = found[at + 1].start - one.end if at + 1 < len(found) else len(text)
        is_alone = not text[: one.start].strip() and not text[one.end :].strip(" .,")
        if one.is_sure or after <= 2 or before in (": ", "| ") or before.endswith(("(", "\n")) or is_alone:
            return True
    return False


def tells_attribute(question: str, own: str, around: str) -> bool:
    """Return whether a passage or what stands above it names the attribute that is asked for, if one is."""
    found = _ATTRIBUTE.search(_folded(question))
    attribute = next(filter(None, found.groups()), "") if found is not None else ""
    if not attribute or attribute in _UNNAMED:
        return True
    if attribute in _COLOUR:
        return bool(_COLOURS.search(lowered_alike(own)))
    return _is_there(attribute, own) or _is_there(attribute, around)


def in_one_clause(content: list[str], own: str) -> bool:
    """Return whether a number and a word of the question stand in one clause; `content` are the words that matter."""
    clauses = [one for one in _NEXT.split(own) if any(map(str.isdigit, one))]
    return not clauses or not content or any(_is_there(word, clause) for clause in clauses for word in content)


def _is_there(word: str, text: str) -> bool:
    keys = words(word)
    held = set(words(text))
    starts = {prefix(one) for one in held} - {None}
    return all(key in held or prefix(key) in starts for key in keys)


def _folded(question: str) -> str:
    return " ".join(fold(question.lower()).split()).strip("¿¡ \"'“”")
