"""Questions that the headers of mails answer, and the filters by sender, recipient and day."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from desks import opened
from docmind.application import DocMind
from docmind.records.documents import Upload
from docmind.records.query import Query
from docmind.records.search import Filters
from each import each_of
from mails import mail

ANA, BEN = "Ana Silva <ana@lar.example>", "Ben Ott <ben@ott.example>"


def sent(number: int, sender: str, to: str, subject: str, day: str, body: str, **more: str) -> Upload:
    headers = {"From": sender, "To": to, "Subject": subject, "Date": f"{day} 09:12:00 +0100"}
    return Upload(f"{number}.eml", mail(body, {**headers, "Message-ID": f"<{number}@x.example>", **more}))


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DocMind]:
    with opened(tmp_path_factory.mktemp("desk")) as docmind:
        docmind.add(
            [
                sent(1, ANA, BEN, "Lease", "Mon, 02 Jun 2025", "The lease of the mill ends in May. Please sign it.\n"),
                sent(
                    2, BEN, ANA, "Re: Lease", "Tue, 03 Jun 2025", "I have signed the lease.\n",
                    **{"In-Reply-To": "<1@x.example>"},
                ),
                sent(3, ANA, BEN, "Boiler", "Tue, 01 Jul 2025", "The boiler makes a noise again.\n"),
                sent(4, BEN, f"{ANA}, Rui Melo <rui@melo.example>", "Heating", "Wed, 02 Jul 2025",
                     "The boiler will be repaired on Friday.\n"),
                Upload("note.txt", b"The boiler is old. Ana likes tea. The lease is in the drawer.\n"),
            ]
        )  # fmt: skip
        yield docmind


@pytest.mark.slow
@each_of(
    "question, lead, documents",
    [
        ("What did Ana write in June?", "1 mail from Ana Silva (in June):", ["1.eml"]),
        ("Is there a mail from Ana?", "2 mails from Ana Silva, the latest first:", ["3.eml", "1.eml"]),
        ("mails from Ana about the lease", "1 mail from Ana Silva about “lease”:", ["1.eml"]),
        ("How many mails did Ana send?", "2 mails from Ana Silva, the latest first:", ["3.eml", "1.eml"]),
        ("Who wrote about the boiler?", "2 people wrote about “boiler”: Ana Silva, Ben Ott.", ["3.eml", "4.eml"]),
        ("When did Ben answer?", "1 mail from Ben Ott:", ["2.eml"]),
        ("Wann hat Ben geantwortet?", "1 E-Mail von Ben Ott:", ["2.eml"]),
        ("Quantos e-mails a Ana enviou?", "2 e-mails de Ana Silva, o mais recente primeiro:", ["3.eml", "1.eml"]),
        ("¿Qué escribió Ana en julio?", "1 correo de Ana Silva (en julio):", ["3.eml"]),
        ("mails to Rui", "1 mail to Rui:", ["4.eml"]),
        ("Is there a mail from Carla?", "There is no mail from Carla.", []),
    ],
)
def test_headers_answer(desk: DocMind, question: str, lead: str, documents: list[str]) -> None:
    answer = desk.ask(question)
    assert answer.outcome == "documents"
    assert (answer.answer or "").startswith(lead)
    assert [source.document for source in answer.sources] == documents
    assert all(source.boxes for source in answer.sources)


@pytest.mark.slow
def test_a_file_attached_to_a_mail_is_from_who_sent_it(tmp_path_factory: pytest.TempPathFactory) -> None:
    body = (
        "--x\nContent-Type: text/plain\n\nSee the file.\n\n--x\nContent-Type: text/plain\n"
        'Content-Disposition: attachment; filename="rules.txt"\n\nThe pool closes at nine.\n--x--\n'
    )
    headers = {"From": ANA, "To": BEN, "Content-Type": 'multipart/mixed; boundary="x"'}
    with opened(tmp_path_factory.mktemp("desk")) as docmind:
        docmind.add([Upload("a.eml", mail(body, headers)), Upload("b.txt", b"The pool of the hotel is warm.\n")])
        hits = docmind.search(Query("pool", k=20, filters=Filters(senders=("ana",)))).hits
        assert "rules.txt" in {hit.document for hit in hits}
        assert "b.txt" not in {hit.document for hit in hits}
        assert not docmind.search(Query("pool", filters=Filters(senders=("ben",)))).hits


def test_the_day_of_an_answer_is_quoted_from_its_header(desk: DocMind) -> None:
    assert "Tuesday, 3 June 2025" in desk.ask("When did Ben answer?").sources[0].quote


def test_a_conversation_answers_by_headers_too(desk: DocMind) -> None:
    answer = desk.conversations.ask("mails from Ben").answer
    assert answer is not None
    assert [source.document for source in answer.sources] == ["4.eml", "2.eml"]


def test_filters_narrow_such_answers(desk: DocMind) -> None:
    answer = desk.ask(Query("Is there a mail from Ana?", filters=Filters(after="2025-06-15")))
    assert [source.document for source in answer.sources] == ["3.eml"]


def test_a_question_about_somebody_who_wrote_nothing_is_searched(desk: DocMind) -> None:
    answer = desk.ask("What did the surveyor write about the lease?")
    assert answer.outcome != "documents"


@each_of(
    "filters, documents",
    [
        (Filters(senders=("ana",)), {"1.eml", "3.eml"}),
        (Filters(senders=("SILVA ana",)), {"1.eml", "3.eml"}),
        (Filters(senders=("ben@ott.example",)), {"2.eml", "4.eml"}),
        (Filters(senders=("ott.example",)), {"2.eml", "4.eml"}),
        (Filters(senders=("an",)), set()),
        (Filters(senders=("ana", "ben")), {"1.eml", "2.eml", "3.eml", "4.eml"}),
        (Filters(recipients=("rui melo",)), {"4.eml"}),
        (Filters(recipients=("ana melo",)), set()),
        (Filters(after="2025-07-01", before="2025-07-01"), {"3.eml"}),
        (Filters(senders=("ana",), after="2025-06-03"), {"3.eml"}),
        (Filters(before="2025-06-02"), {"1.eml"}),
    ],
)
def test_a_search_is_narrowed_by_people_and_days(desk: DocMind, filters: Filters, documents: set[str]) -> None:
    hits = desk.search(Query("boiler lease", k=20, filters=filters)).hits
    assert {hit.document for hit in hits} == documents
    assert set(desk.visual.pages.names(filters).values()) == documents  # of the lists of page images
