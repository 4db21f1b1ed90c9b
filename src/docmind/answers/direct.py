"""Answers that need neither a language model nor passages ranked for the question.

A request to remember is stored; a greeting is returned.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from docmind.answers.intents import Intent, Language, recognise
from docmind.answers.verify import Verified
from docmind.documents import Catalog
from docmind.records.answers import NOTED, Answer, Outcome, Sentence
from docmind.records.search import Degraded

# {count} is the number of documents with its noun
_GREETED: dict[Language, tuple[str, str]] = {
    "en": (
        "Hello! I answer questions from your documents, and every answer shows its page. {count} to ask; what would"
        " you like to know?",
        "Hello! I answer questions from your documents, and every answer shows its page. There are no documents yet:"
        " add some first.",
    ),
    "pt": (
        "Olá! Respondo a perguntas a partir dos seus documentos, e cada resposta mostra a página. {count} para"
        " consultar; o que deseja saber?",
        "Olá! Respondo a perguntas a partir dos seus documentos, e cada resposta mostra a página. Ainda não há"
        " documentos: adicione alguns primeiro.",
    ),
    "es": (
        "¡Hola! Respondo preguntas a partir de sus documentos, y cada respuesta muestra su página. {count} para"
        " consultar; ¿qué desea saber?",
        "¡Hola! Respondo preguntas a partir de sus documentos, y cada respuesta muestra su página. Todavía no hay"
        " documentos: añada algunos primero.",
    ),
}
_COUNTED: dict[Language, tuple[str, str]] = {
    "en": ("There is 1 document", "There are {n:,} documents"),
    "pt": ("Há 1 documento", "Há {n:,} documentos"),
    "es": ("Hay 1 documento", "Hay {n:,} documentos"),
}


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer without its question and timings."""

    checked: Verified
    outcome: Outcome
    told: tuple[str, ...] = ()

    def answer(self, question: str, total_ms: float, degraded: tuple[Degraded, ...] = ()) -> Answer:
        """Return the answer to a question that took `total_ms`; `degraded` comes before its own."""
        return Answer(
            question=question,
            answer=self.checked.answer,
            found=bool(self.checked.sources),
            sources=self.checked.sources,
            degraded=tuple(dict.fromkeys((*degraded, *self.checked.degraded))),
            timings_ms=(("total", total_ms),),
            sentences=self.checked.sentences,
            outcome=self.outcome,
            told=self.told,
        )


class DirectAnswers:
    """Recognises what a question asks for, and answers what needs no search for passages. Thread-safe.

    `requested` returns the facts that a message asks to remember, `note` stores one and returns the existing memory
    where there is one, so a reply that is made again stores nothing twice.
    """

    def __init__(
        self, catalog: Catalog, requested: Callable[[str], tuple[str, ...]], note: Callable[[str], object]
    ) -> None:
        self._catalog, self._requested, self._note = catalog, requested, note

    def recognise(self, question: str) -> Intent:
        """Return what a question asks for."""
        return recognise(question, self._requested)

    def reply(self, intent: Intent) -> Reply:
        """Answer a direct intent. Raises `ValueError` for one that needs passages."""
        if intent.kind == "remember":
            for fact in intent.facts:
                self._note(fact)
            return Reply(_said(NOTED), "noted", intent.facts)
        if intent.kind == "greeting":
            return Reply(_said(self._greeted(intent.language)), "greeting")
        raise ValueError(f"{intent.kind!r} is answered with passages.")

    def _greeted(self, language: Language) -> str:
        documents = self._catalog.counts()[0]
        some, none = _GREETED[language]
        one, many = _COUNTED[language]
        return some.format(count=one if documents == 1 else many.format(n=documents)) if documents else none


def _said(text: str) -> Verified:
    """Return a text that says nothing about the documents."""
    return Verified(text, (Sentence(text, 0, len(text), is_claim=False),), ())
