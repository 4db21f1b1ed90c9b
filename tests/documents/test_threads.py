"""Exchanges of mails: joined by the ids in their headers, in any order, else by subject and people."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import pytest

from desks import opened
from docmind.documents import topic_of
from docmind.records.documents import Upload
from each import each_of
from mails import mail

ANA, BEN, EVE = "Ana <ana@a.example>", "Ben <ben@b.example>", "Eve <eve@e.example>"


def sent(name: str, day: int, sender: str, to: str, subject: str, own: str = "", before: str = "") -> Upload:
    headers = {
        "From": sender, "To": to, "Subject": subject, "Date": f"{day:02d} Jun 2025 09:00:00 +0000",
        "Message-ID": own and f"<{own}@x>", "References": " ".join(f"<{one}@x>" for one in before.split()),
    }  # fmt: skip
    return Upload(f"{name}.eml", mail(f"Mail {name} of the sixth month.\n", headers))


def exchanges(folder: Path, uploads: list[Upload]) -> set[frozenset[str]]:
    """Return the names of the mails that belong together."""
    folder.mkdir(exist_ok=True)
    with opened(folder) as desk:
        desk.add(uploads)
        told = {
            frozenset(one.document[:-4] for one in desk.documents.thread(info.doc_id)) for info in desk.documents.all()
        }
        for info in desk.documents.all():
            days = [one.sent_at for one in desk.documents.thread(info.doc_id)]
            assert days == sorted(days)
        return told


@pytest.mark.slow
def test_mails_are_joined_by_ids_in_any_order(tmp_path: Path) -> None:
    mails = [
        sent("a", 1, ANA, BEN, "Lease", "1"),
        sent("b", 2, BEN, ANA, "Re: Lease", "2", "1"),
        sent("c", 3, ANA, BEN, "Something else", "3", "2"),
    ]
    other = sent("z", 4, EVE, ANA, "Lease", "9")
    for at, order in enumerate(permutations(mails)):
        assert exchanges(tmp_path / str(at), [*order, other]) == {frozenset("abc"), frozenset("z")}


def test_two_answers_to_a_mail_that_is_not_there_belong_together(tmp_path: Path) -> None:
    mails = [sent("b", 2, BEN, ANA, "Re: Lease", "2", "1"), sent("c", 3, EVE, ANA, "Re: Lease", "3", "1")]
    assert exchanges(tmp_path, mails) == {frozenset("bc")}


@pytest.mark.slow
def test_subject_and_people_join_where_ids_are_missing(tmp_path: Path) -> None:
    mails = [
        sent("a", 1, ANA, BEN, "Lease"),
        sent("b", 2, BEN, ANA, "AW: Lease"),
        sent("c", 3, EVE, ANA, "Re: Lease"),  # Eve had no part in it
        sent("d", 4, ANA, BEN, "Lease"),  # a new mail, no answer
        sent("e", 5, ANA, BEN, "Fwd: Lease"),
    ]
    told = exchanges(tmp_path, mails)
    assert frozenset("ab") in told or frozenset("abd") in told
    assert {frozenset("c"), frozenset("e")} <= told
    assert exchanges(tmp_path / "back", mails[:2][::-1]) == {frozenset("ab")}


@pytest.mark.slow
def test_a_mail_without_others_is_alone(tmp_path: Path) -> None:
    with opened(tmp_path) as desk:
        desk.add([sent("a", 1, ANA, BEN, "Lease"), Upload("n.txt", b"A note about the lease.")])
        told = {info.document: len(desk.documents.thread(info.doc_id)) for info in desk.documents.all()}
    assert told == {"a.eml": 1, "n.txt": 0}


@each_of(
    "subject, topic",
    [
        ("Lease", "lease"),
        ("Re: Lease", "re: lease"),
        ("RE: FW: Lease", "re: lease"),
        ("AW: WG: Mietvertrag", "re: mietvertrag"),
        ("RES: Contrato", "re: contrato"),
        ("Re[2]: Lease", "re: lease"),
        ("[list] Re: Lease", "re: lease"),
        ("Fwd: Lease", "fwd: lease"),
        ("Tr : Bail", "fwd: bail"),
        ("RV: Contrato", "fwd: contrato"),
        ("Korrektur: Mietvertrag", "re: mietvertrag"),
        ("Re:", ""),
        ("", ""),
        ("Regarding: the lease", "regarding: the lease"),
    ],
)
def test_the_topic_of_a_subject(subject: str, topic: str) -> None:
    assert topic_of(subject) == topic


@pytest.mark.slow
def test_an_exchange_follows_erasures(tmp_path: Path) -> None:
    with opened(tmp_path) as desk:
        first, second = desk.add([sent("a", 1, ANA, BEN, "X", "1"), sent("b", 2, BEN, ANA, "Re: X", "2", "1")])
        desk.documents.bin([first.doc_id or ""])
        assert [one.document for one in desk.documents.thread(second.doc_id or "")] == ["b.eml"]
        desk.documents.restore([first.doc_id or ""])
        assert len(desk.documents.thread(second.doc_id or "")) == 2
