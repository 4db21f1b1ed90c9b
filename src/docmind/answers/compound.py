"""Two questions in one: "How much is the deposit and when is it returned?", each of which is answered by itself."""

from __future__ import annotations

import re

from docmind.answers.kinds import content_words
from docmind.language import lowered_alike

_ASKS = (
    r"(?:(?:what|who|whom|whose|where|when|why|how|which)\b|(?:o que|qual|quais|quem|quando|onde|como|quant[oa]s?|"
    r"cual(?:es)?|quien(?:es)?|cuando|donde|que|cuant[oa]s?)\b|(?:wer|wem|wen|wann|wo|wohin|woher|was|warum|wie|"
    r"wieviele?|welche[rsmn]?)\b|(?:qui|quand|ou|combien|comment|pourquoi|quel(?:le)?s?|qu'est-ce)\b)"
)
_BEGINS = re.compile(rf"[\s¿¡\"'“]*(?:(?:for|from|to|until|by|in|on|at|de|da|do|a|em|en|ab|bis|von)\s+)?{_ASKS}")
_SECOND = re.compile(
    rf"(?<![\s,;])[\s,;]++(?:and|e|y|und|et|as well as)\s[¿\s]*+(?=(?:(?:for|until|by|from|to|de|em|en|a)\s+)?{_ASKS})"
)
PRONOUN = re.compile(
    r"\b(?:its?|they|them|their|he|she|him|his|er|sie|es|ihn|ihm|ele|ela|eles|elas|el|ella|ellos|ellas|"
    r"lo|il|elle|ils|elles)\b"
)
_ARTICLE = re.compile(r"\b(?:the|an?|os?|as?|uma?|el|la|los|las|una?|der|die|das|den|ein|eine|le|les|une)\s+\w")


def parts_of(question: str) -> tuple[str, str] | None:
    """Return the two questions that a question consists of; None where it is one, or more than two.

    What the second one is about, where it has a pronoun or names nothing, are the words of the first one.
    """
    said = lowered_alike(question)
    if not _BEGINS.match(said):
        return None
    joints = list(_SECOND.finditer(said))
    if len(joints) != 1:
        return None
    first, second = question[: joints[0].start()].strip(" ,;"), question[joints[0].end() :].strip()
    topic = " ".join(content_words(first))
    if not topic or not second:
        return None
    pronoun = PRONOUN.search(said, joints[0].end())
    if pronoun is not None:
        at = pronoun.start() - joints[0].end()
        own = question[joints[0].end() :]
        second = f"{own[:at]}{topic}{own[at + len(pronoun[0]) :]}".strip()
    elif len(content_words(second)) < 2 and not _ARTICLE.search(said, joints[0].end()):
        second = f"{second.rstrip(' ?')} {topic}?"
    return f"{first}?", second
