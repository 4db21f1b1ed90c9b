"""Questions about mails: their header answers, and what they quote never answers before their own words."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from desks import settings_in
from docmind.answers.kinds import asked_of
from docmind.answers.passages import passages
from docmind.application import DocMind
from docmind.blocks import Block
from docmind.config import EmbeddingSettings
from docmind.embedding.minilm import default_cache_dir
from docmind.reading.formats.typeset import flow
from docmind.records.documents import Upload
from each import each_of
from mails import mail

MARA = "Mara Vale <mara@vale.example>"
OUTLOOK = "-----Original Message-----\nFrom: Jo Lind\nSent: Monday, June 2, 2025\nTo: Mara\nSubject: Garage door\n\n"


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DocMind]:
    boiler = mail(
        "Dear Mara,\n\nthe boiler is inspected on 17 June between 9 and 11.\n", {"Subject": "Boiler inspection"}
    )
    reply = mail(
        "Sorry, the terrace is repaired on 24 June instead.\n\nOn Mon, 2 Jun 2025 at 09:12, Jo Lind wrote:\n\n"
        "> The terrace is repaired on 17 June. The technician is called Tiago Reis.\n",
        {"From": MARA, "To": "Jo Lind <jo@lind.example>", "Subject": "Re: Terrace repair"},
    )
    short = mail(
        f"No, on the 24th of June please.\n\n{OUTLOOK}The garage door is delivered on 17 June.\n",
        {"From": MARA, "Subject": "Re: Garage door", "Date": "Tue, 03 Jun 2025 10:02:00 +0100"},
    )
    settings = settings_in(
        tmp_path_factory.mktemp("mails"), embedding=EmbeddingSettings(model="minilm"), cache_dir=default_cache_dir()
    )
    with DocMind(settings) as mind:
        mind.add([Upload("a.eml", boiler), Upload("b.eml", reply), Upload("c.eml", short)])
        yield mind


@pytest.mark.slow
@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("Who wrote about the boiler?", "From: Jo Lind <jo@lind.example>"),
        ("Who was the mail about the terrace sent to?", "To: Jo Lind"),
        ("When was the mail about the garage door sent?", "Date: Tuesday, 3 June 2025"),
        ("When is the boiler inspected?", "17 June"),
        ("When is the terrace repaired?", "24 June"),
        ("When is the garage door delivered?", "No, on the 24th of June"),
    ],
)
def test_a_mail_answers_by_its_header_and_its_own_words(desk: DocMind, question: str, words: str) -> None:
    assert words in desk.ask(question).sources[0].quote


@pytest.mark.slow
def test_what_only_a_quoted_mail_says_is_found_with_whose_words_it_is(desk: DocMind) -> None:
    answer = desk.ask("What is the technician of the terrace called?")
    assert "Jo Lind wrote:" in answer.sources[0].quote
    assert "Tiago Reis" in answer.sources[0].quote


def test_quoted_passages_have_the_line_that_says_whose_words_they_are() -> None:
    blocks = [
        Block(kind="heading", text="Price", level=1),
        Block(kind="field", text="Jo", marker="From:"),
        Block(kind="paragraph", text="It costs 90 euros now."),
        Block(kind="quoted", text="On Monday, Jo wrote:"),
        Block(kind="quoted", text="It costs 80 euros.", level=1),
        Block(kind="quoted", text="On Sunday, Ana wrote:"),
        Block(kind="quoted", text="It is free.", level=2),
        Block(kind="quoted", text="See you on Tuesday.", level=1),
    ]
    (sheet,) = flow(blocks, "a", 9)
    found = {
        one.text(sheet.text).replace("\n…\n", " … ").replace("\n", " "): (one.is_quoted, one.field)
        for one in passages(sheet.text, structure=sheet.blocks)
    }
    assert found == {
        "Price From: Jo": (False, "From"),
        "It costs 90 euros now.": (False, ""),
        "On Monday, Jo wrote:": (True, ""),
        "On Monday, Jo wrote: It costs 80 euros.": (True, ""),
        "On Sunday, Ana wrote:": (True, ""),
        "On Sunday, Ana wrote: It is free.": (True, ""),
        "On Monday, Jo wrote: … See you on Tuesday.": (True, ""),
    }


@each_of(
    "question, field",
    [
        ("Who wrote about the boiler?", "From"),
        ("Quem enviou o e-mail sobre a caldeira?", "From"),
        ("¿Quién escribió sobre la caldera?", "From"),
        ("Wer hat die Mail geschrieben?", "From"),
        ("Qui a écrit à propos de la chaudière ?", "From"),
        ("To whom was it sent?", "To"),
        ("When did Jo reply?", "Date"),
        ("Wann wurde die Mail gesendet?", "Date"),
        ("What is the subject of the mail?", "Subject"),
        ("What is attached to the mail?", "Attachments"),
        ("Who was in copy?", "Cc"),
        ("When was the house built?", ""),
        ("Who is Bob?", ""),
        ("What is the subject of the lease?", ""),
    ],
)
def test_which_line_of_a_header_a_question_asks_for(question: str, field: str) -> None:
    assert asked_of(question).field == field
