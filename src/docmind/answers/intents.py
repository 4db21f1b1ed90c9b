"""What a question asks for, recognised by rules in English, Portuguese and Spanish.

Most questions ask for passages. The rules are narrow on purpose: a question that is taken for something else is not
searched as usual. Nothing is recognised in a message longer than `LONGEST`, which bounds the time of every rule.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from docmind.embedding import fold

IntentKind = Literal["passages", "remember", "greeting"]
Language = Literal["en", "pt", "es"]

LONGEST = 300  # characters

_DIRECT = frozenset({"remember", "greeting"})


@dataclass(frozen=True, slots=True)
class Intent:
    """What a question asks for.

    `facts` are what it asks to remember, `language` is that of the rule that recognised it.
    """

    kind: IntentKind = "passages"
    language: Language = "en"
    facts: tuple[str, ...] = ()

    @property
    def is_direct(self) -> bool:
        """Whether it is answered without passages that are ranked for the question."""
        return self.kind in _DIRECT


PASSAGES = Intent()

# Folded and without punctuation; a message is a greeting where it is made of these phrases and nothing else.
_GREETINGS: dict[Language, str] = {
    "en": r"hi|hello|hey|hiya|howdy|greetings|good (?:morning|afternoon|evening|day)|how are you(?: doing)?(?: today)?|"
    r"nice to meet you|thanks(?: a lot| so much| very much)?|thank you(?: so much| very much)?|many thanks|thx|"
    r"bye|goodbye|see you(?: later)?|have a (?:nice|good|great) (?:day|evening|weekend)",
    "pt": r"oi|ola|bom dia|boa (?:tarde|noite)|tudo bem(?: contigo| com voce)?|como (?:estas|vai|esta)|"
    r"(?:muito )?obrigad[oa](?: por tudo| pela ajuda)?|valeu|adeus|tchau|ate (?:logo|amanha|breve)|prazer",
    "es": r"hola|buenos dias|buenas(?: tardes| noches)?|buen dia|que tal|como (?:estas|esta usted)|"
    r"(?:muchas |mil )?gracias(?: por todo| por la ayuda)?|adios|hasta (?:luego|manana|pronto)|encantad[oa]",
}
_BESIDE = (
    r"there|everyone|docmind|again|all|so|ok|okay|great|perfect|very good|a todos|outra vez|otra vez|perfeito|perfecto"
)
_GREETING: dict[Language, re.Pattern[str]] = {
    language: re.compile(rf"(?:(?:{_BESIDE}) )*(?:{phrases})(?: (?:{phrases}|{_BESIDE}))*")
    for language, phrases in _GREETINGS.items()
}
_MARKS = re.compile(r"[^\w\s]+|_")


def recognise(question: str, requested: Callable[[str], tuple[str, ...]]) -> Intent:
    """Return what a question asks for; `requested` returns the facts that a message asks to remember.

    Where the languages share a word, the first of English, Portuguese and Spanish is taken.
    """
    if facts := requested(question):
        return Intent("remember", facts=facts)
    if len(question) > LONGEST:
        return PASSAGES
    said = " ".join(_MARKS.sub(" ", fold(question.lower())).split())
    for language, greeting in _GREETING.items():
        if greeting.fullmatch(said):
            return Intent("greeting", language)
    return PASSAGES
