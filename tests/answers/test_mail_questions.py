"""How questions about mails are read, in five languages."""

from __future__ import annotations

import pytest

from docmind.answers import mail_questions
from each import each_of


@each_of(
    "question, kind, who, about, month",
    [
        ("What did Ana write in June?", "list", "Ana", "", 6),
        ("Is there a mail from Ana?", "list", "Ana", "", 0),
        ("mails from Ana about the lease", "list", "Ana", "lease", 0),
        ("Did Ana send a mail about the gate?", "list", "Ana", "gate", 0),
        ("Who wrote about the boiler?", "who", "", "boiler", 0),
        ("When did Ben answer?", "when", "Ben", "", 0),
        ("How many mails did Ana send?", "count", "Ana", "", 0),
        ("Was hat Ana im Juni geschrieben?", "list", "Ana", "", 6),
        ("Gibt es eine Mail von Ana?", "list", "Ana", "", 0),
        ("Mails von Frau Hahn über den Mietvertrag", "list", "Hahn", "Mietvertrag", 0),
        ("Wer hat wegen der Heizung geschrieben?", "who", "", "Heizung", 0),
        ("Wann hat Ben geantwortet?", "when", "Ben", "", 0),
        ("Wie viele Mails hat Ana geschickt?", "count", "Ana", "", 0),
        ("Qu'a écrit Ana en juin ?", "list", "Ana", "", 6),
        ("Y a-t-il un mail d'Ana ?", "list", "Ana", "", 0),
        ("les mails d'Ana au sujet du bail", "list", "Ana", "bail", 0),
        ("Qui a écrit à propos de la chaudière ?", "who", "", "chaudière", 0),
        ("Quand Ben a-t-il répondu ?", "when", "Ben", "", 0),
        ("Combien de mails Ana a-t-elle envoyés ?", "count", "Ana", "", 0),
        ("¿Qué escribió Ana en junio?", "list", "Ana", "", 6),
        ("¿Hay algún correo de Ana?", "list", "Ana", "", 0),
        ("correos de Ana sobre el contrato", "list", "Ana", "contrato", 0),
        ("¿Quién escribió sobre la caldera?", "who", "", "caldera", 0),
        ("¿Cuándo respondió Ben?", "when", "Ben", "", 0),
        ("¿Cuántos correos envió Ana?", "count", "Ana", "", 0),
        ("O que escreveu a Ana em junho?", "list", "Ana", "", 6),
        ("Há algum e-mail da Ana?", "list", "Ana", "", 0),
        ("e-mails da Ana sobre o contrato", "list", "Ana", "contrato", 0),
        ("Quem escreveu sobre a caldeira?", "who", "", "caldeira", 0),
        ("Quando respondeu o Ben?", "when", "Ben", "", 0),
        ("Quantos e-mails a Ana enviou?", "count", "Ana", "", 0),
    ],
)
def test_what_a_question_asks_of_mails(question: str, kind: str, who: str, about: str, month: int) -> None:
    asked = next(mail_questions(question))
    assert (asked.kind, asked.who, asked.about, asked.period.month) == (kind, who, about, month)


@pytest.mark.parametrize(
    ("question", "first", "last"),
    [
        ("What did Ana write in June 2025?", "2025-06-01", "2025-06-30"),
        ("What did Ana write on 3 June 2025?", "2025-06-03", "2025-06-03"),
        ("mails from Ana since 2025-06-03", "2025-06-03", ""),
        ("Was hat Ana vor Mai 2024 geschrieben?", "", "2024-05-01"),
        ("¿Qué escribió Ana en 2024?", "2024-01-01", "2024-12-31"),
    ],
)
def test_when_it_was_written(question: str, first: str, last: str) -> None:
    period = next(mail_questions(question)).period
    assert (period.first, period.last) == (first, last)
    assert period.has(first or last)
    assert not period.has("2001-01-01" if first else "2030-01-01")
    assert not period.has("")


@each_of(
    "question",
    [
        "What did he write?",
        "Who wrote Hamlet?",
        "When did the war start?",
        "What is the price of the boiler?",
        "Wer ist Ana?",
        "",
        "mails from " + "a" * 400,
    ],
)
def test_what_asks_for_no_mail(question: str) -> None:
    assert list(mail_questions(question)) == []
