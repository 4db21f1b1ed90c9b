"""What the app says in an answer is in the language of the question: each of six."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from desks import opened
from docmind.answers import Intent, language_of_question, recognise
from docmind.answers.intents import Language
from docmind.application import DocMind
from docmind.conversations.direct import Scope
from docmind.records.documents import Upload
from each import each_of
from mails import mail

pytestmark = pytest.mark.slow
FILES = {
    "note.txt": "Write to ana@lar.example or ben@ott.example about the mill. The mill has stood there for a century.\n",
    "rents.csv": "Flat,Tenant,Rent EUR\n1A,Ana,900\n2B,Ben,800\n3C,Rui,700\n",
    "lease v1.txt": "The rent of the mill house is 900 crowns a month.\n",
    "lease v2.txt": "The rent of the mill house is 950 crowns a month.\n",
}
MAIL = {"From": "Ana Silva <ana@lar.example>", "To": "ben@ott.example", "Date": "Mon, 02 Mar 2026 09:12:00 +0100"}


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DocMind]:
    with opened(tmp_path_factory.mktemp("desk")) as docmind:
        docmind.add([Upload(name, text.encode()) for name, text in FILES.items()])
        docmind.add([Upload("1.eml", mail("Please sign it.\n", {**MAIL, "Subject": "Lease", "Message-ID": "<1@x>"}))])
        yield docmind


def reply(desk: DocMind, intent: Intent) -> str:
    return desk.answerer.direct.reply(intent, Scope()).checked.answer


@each_of(
    "language, beginning, end",
    [
        ("en", "Hello! I answer", "There are 5 documents to ask; what would you like to know?"),
        ("de", "Guten Tag! Ich beantworte", "Es gibt 5 Dokumente für Ihre Fragen; was möchten Sie wissen?"),
        ("es", "¡Hola! Respondo", "Hay 5 documentos para consultar; ¿qué desea saber?"),
        ("fr", "Bonjour ! Je réponds", "Il y a 5 documents à consulter ; que souhaitez-vous savoir ?"),
        ("it", "Buongiorno! Rispondo", "Ci sono 5 documenti da consultare; che cosa desidera sapere?"),
        ("pt", "Olá! Respondo", "Há 5 documentos para consultar; o que deseja saber?"),
    ],
)
def test_a_greeting_is_returned(desk: DocMind, language: Language, beginning: str, end: str) -> None:
    said = reply(desk, Intent("greeting", language))
    assert said.startswith(beginning)
    assert said.endswith(end)


@each_of(
    "language, lead, note",
    [
        ("en", "Key sentences from note", "A language model writes a summary."),
        ("de", "Wichtige Sätze aus note", "Eine Zusammenfassung schreibt ein Sprachmodell."),
        ("es", "Frases clave de note", "Un modelo de lenguaje escribe un resumen."),
        ("fr", "Phrases clés de note", "Un modèle de langage écrit un résumé."),
        ("it", "Frasi principali da note", "Un riassunto lo scrive un modello linguistico."),
        ("pt", "Frases principais de note", "Um modelo de linguagem escreve um resumo."),
    ],
)
def test_a_summary_says_what_it_is(desk: DocMind, language: Language, lead: str, note: str) -> None:
    said = reply(desk, Intent("summary", language, doc_ids=(desk.documents.find("note.txt").doc_id,)))
    assert said.startswith(lead)
    assert note in said


@each_of(
    "question, lead",
    [
        ("List all e-mail addresses", "4 e-mail addresses, in 2 documents:"),
        ("Liste alle E-Mail-Adressen auf", "4 E-Mail-Adressen, in 2 Dokumenten:"),
        ("Todas las direcciones de correo", "4 direcciones de correo, en 2 documentos:"),
        ("Toutes les adresses e-mail", "4 adresses e-mail, dans 2 documents :"),
        ("Elenca tutti gli indirizzi e-mail", "4 indirizzi e-mail, in 2 documenti:"),
        ("Todos os endereços de e-mail", "4 endereços de e-mail, em 2 documentos:"),
    ],
)
def test_a_list_is_counted(desk: DocMind, question: str, lead: str) -> None:
    answer = desk.ask(question)
    assert answer.outcome == "list"
    assert answer.answer.startswith(lead)


@each_of(
    "question, told",
    [
        ("What is the total rent?", "2,400: the sum of “Rent EUR” over 3 rows (rents)."),
        ("Was ist die Summe von Rent?", "2.400: die Summe von „Rent EUR“ über 3 Zeilen (rents)."),
        ("¿Cuál es la suma de Rent?", "2.400: la suma de “Rent EUR” en 3 filas (rents)."),
        ("Quelle est la somme de Rent ?", "2\u202f400: la somme de « Rent EUR » sur 3 lignes (rents)."),
        ("Qual è la media di Rent?", "800: la media di “Rent EUR” su 3 righe (rents)."),
        ("Qual é a soma de Rent?", "2.400: a soma de “Rent EUR” em 3 linhas (rents)."),
    ],
)
def test_a_table_answers(desk: DocMind, question: str, told: str) -> None:
    answer = desk.ask(question)
    assert answer.computed is not None
    assert told in answer.answer


@each_of(
    "question, lead, dated",
    [
        ("What did Ana write?", "1 mail from Ana Silva:", "2 Mar 2026, Ana Silva: Lease"),
        ("Was hat Ana geschrieben?", "1 E-Mail von Ana Silva:", "2. März 2026, Ana Silva: Lease"),
        ("¿Qué escribió Ana?", "1 correo de Ana Silva:", "2 mar 2026, Ana Silva: Lease"),
        ("Qu'a écrit Ana ?", "1 e-mail de Ana Silva :", "2 mars 2026, Ana Silva: Lease"),
        ("Cosa ha scritto Ana?", "1 e-mail da Ana Silva:", "2 mar 2026, Ana Silva: Lease"),
        ("O que escreveu a Ana?", "1 e-mail de Ana Silva:", "2 de mar. de 2026, Ana Silva: Lease"),
    ],
)
def test_mails_are_told_with_their_day(desk: DocMind, question: str, lead: str, dated: str) -> None:
    answer = desk.ask(question).answer
    assert answer.startswith(lead)
    assert dated in answer


@each_of(
    "question, language, change",
    [
        ("What changed between the versions?", "en", "Changed: 900 → 950"),
        ("Was hat sich zwischen den Versionen geändert?", "de", "Geändert: 900 → 950"),
        ("¿Qué cambió entre las versiones?", "es", "Cambiado: 900 → 950"),
        ("Qu'est-ce qui a changé entre les versions ?", "fr", "Modifié : 900 → 950"),
        ("Che cosa è cambiato tra le versioni?", "it", "Modificato: 900 → 950"),
        ("O que mudou entre as versões?", "pt", "Alterado: 900 → 950"),
    ],
)
def test_changes_are_named(desk: DocMind, question: str, language: Language, change: str) -> None:
    assert recognise(question).language == language_of_question(question) == language
    assert change in desk.ask(question).answer
