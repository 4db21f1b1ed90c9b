"""Corrections within an exchange of mails: a later mail that says something else outweighs the earlier one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from desks import opened
from docmind.answers.corrections import is_corrected
from docmind.application import DocMind
from docmind.records.documents import Upload
from docmind.records.query import Query
from docmind.records.search import Filters
from each import each_of
from mails import mail

EXCHANGES = {
    "en": (
        "Boiler offer", "The price of the boiler is 900 euros.", "Correction: 950 euros.",
        "What is the price of the boiler?", "900", "950",
    ),
    "de": (
        "Angebot Heizung", "Der Preis der Heizung beträgt 1.200 Euro.", "Korrektur: Der Preis beträgt 1.350 Euro.",
        "Was ist der Preis der Heizung?", "1.200", "1.350",
    ),
    "fr": (
        "Devis du portail", "Le prix du portail est de 780 euros.", "Pardon, le prix est de 810 euros.",
        "Quel est le prix du portail ?", "780", "810",
    ),
    "es": (
        "Presupuesto del tejado", "El precio del tejado es de 4300 euros.", "Corrección: son 4700 euros, no 4300.",
        "¿Cuál es el precio del tejado?", "4300", "4700",
    ),
    "pt": (
        "Orçamento da piscina", "O preço da piscina é de 6100 euros.", "Desculpe, o preço da piscina é de 6400 euros.",
        "Qual é o preço da piscina?", "6100", "6400",
    ),
}  # fmt: skip
OTHERS = (
    ("Window", "The price of the window is 300 euros.", "Thanks. Sorry, I am on holiday until 14 August."),
    ("Gate", "The gate is painted on 3 July.", "The hedge is cut on 5 July."),
)


def exchange(name: str, subject: str, first: str, second: str) -> list[Upload]:
    one = mail(f"Hello,\n\n{first}\n", {"Subject": subject, "Message-ID": f"<{name}1@x.example>"})
    two = mail(
        f"{second}\n\nOn Mon, 2 Jun 2025 at 09:12, Jo Lind wrote:\n\n> Hello,\n>\n> {first}\n",
        {
            "Subject": f"Re: {subject}", "Message-ID": f"<{name}2@x.example>", "In-Reply-To": f"<{name}1@x.example>",
            "Date": "Tue, 03 Jun 2025 10:02:00 +0100",
        },
    )  # fmt: skip
    return [Upload(f"{name}-2.eml", two), Upload(f"{name}-1.eml", one)]


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DocMind]:
    with opened(tmp_path_factory.mktemp("desk")) as docmind:
        files = [one for name, said in EXCHANGES.items() for one in exchange(name, *said[:3])]
        files += [one for at, said in enumerate(OTHERS) for one in exchange(f"other{at}", *said)]
        docmind.add(files)
        yield docmind


@pytest.mark.parametrize("language", EXCHANGES)
def test_a_correction_is_quoted_and_the_earlier_mail_is_told(desk: DocMind, language: str) -> None:
    _subject, _first, _second, question, old, new = EXCHANGES[language]
    answer = desk.ask(question)
    assert answer.sources[0].document == f"{language}-2.eml"
    assert new in answer.sources[0].quote
    if answer.outcome == "answer":
        assert "An earlier mail, of Jo Lind on 2 Jun 2025, says:" in (answer.answer or "")
        assert answer.sources[-1].document == f"{language}-1.eml"
        assert old in answer.sources[-1].quote
        assert answer.sources[-1].boxes


def test_a_later_mail_about_something_else_corrects_nothing(desk: DocMind) -> None:
    for question, value in (("What is the price of the window?", "300"), ("When is the gate painted?", "3 July")):
        answer = desk.ask(question)
        assert value in answer.sources[0].quote
        assert "An earlier mail" not in (answer.answer or "")


def test_a_correction_beyond_the_filters_is_none(desk: DocMind) -> None:
    first = next(info for info in desk.documents.all() if info.document == "en-1.eml")
    for filters in (Filters(doc_ids=(first.doc_id,)), Filters(before="2025-06-02")):
        answer = desk.ask(Query(EXCHANGES["en"][3], filters=filters))
        assert "900" in answer.sources[0].quote
        assert "An earlier mail" not in (answer.answer or "")


def test_a_conversation_quotes_the_correction_too(desk: DocMind) -> None:
    answer = desk.conversations.ask(EXCHANGES["en"][3]).answer
    assert answer is not None
    assert "950" in answer.sources[0].quote
    assert answer.outcome != "answer" or "An earlier mail" in (answer.answer or "")


@each_of(
    "question, earlier, later, is_it",
    [
        ("When is the meeting?", "The meeting is on 3 June at 10.", "Sorry, it is on 4 June instead.", True),
        ("When is the meeting?", "The meeting is on 3 June at 10.", "The meeting is on 4 June at 10.", True),
        ("When is the meeting?", "The meeting is on 3 June at 10.", "The meeting is on 3 June at 10.", False),
        ("When is the meeting?", "The meeting is on 3 June.", "The roofer comes on 9 June, not on 8 June.", False),
        ("What does it cost?", "It costs 900 euros.", "We meet at 10 instead of 9.", False),
        ("What does it cost?", "It costs 900 euros.", "I paid 900 euros, sorry for the delay.", False),
        ("Wann ist das Treffen?", "Das Treffen ist am 3. Juni.", "Nein, nicht am 3. Juni, sondern am 5. Juni.", True),
        ("Quand est la réunion ?", "La réunion est le 3 juin.", "Pardon, la réunion est le 6 juin.", True),
        ("¿Cuánto cuesta?", "Cuesta 900 euros.", "En realidad cuesta 950.", True),
        ("Quanto custa?", "Custa 900 euros.", "Na verdade custa 950 euros.", True),
        ("Who repairs the roof?", "The roof is repaired by Tiago Reis.",
         "Sorry, the roof is repaired by Rui Melo instead.", True),
        ("Who repairs the roof?", "The roof is repaired by Tiago Reis.", "Sorry, I was not at home yesterday.", False),
    ],
)  # fmt: skip
def test_what_is_a_correction(question: str, earlier: str, later: str, is_it: bool) -> None:
    assert is_corrected(question, earlier, later) is is_it


@pytest.mark.slow
def test_the_telephone_below_a_mail_is_quoted_where_it_is_asked_for(tmp_path_factory: pytest.TempPathFactory) -> None:
    body = "Hi Mara,\n\nthe boiler is fixed.\n\nBest regards,\nJo\nLind Heating Ltd\nPhone: +44 20 7946 0000\n"
    with opened(tmp_path_factory.mktemp("desk")) as desk:
        desk.add([Upload("a.eml", mail(body)), Upload("b.eml", mail("The roof is done.\n", {"Subject": "Roof"}))])
        assert "7946" in desk.ask("What is the phone number of Lind Heating?").sources[0].quote
        assert "fixed" in desk.ask("Who fixed the boiler?").sources[0].quote
