"""Where a document lies: what its parent is called, and lists with what came in a document below it."""

from __future__ import annotations

from dataclasses import replace

from docmind.records.documents import DocumentInfo, Parent, beneath_parents, placed
from each import each_of

ZIP = Parent("z", "Rent 2025.zip", "A title", "zip", "2025-06-03")
MAIL = Parent("m", "18f2.eml", "The lease", "mail", "2025-06-03")


@each_of(
    "parent, place",
    [
        (ZIP, "in Rent 2025.zip"),
        (MAIL, "in the mail The lease of 3 Jun 2025"),
        (replace(MAIL, dated=""), "in the mail The lease"),
        (replace(MAIL, title=""), "in the mail 18f2.eml of 3 Jun 2025"),
    ],
)
def test_an_archive_is_called_by_its_file_and_a_mail_by_its_subject(parent: Parent, place: str) -> None:
    assert parent.place == place
    assert placed("contract.docx", parent) == f"contract.docx {place}"
    assert placed("contract.docx", None) == "contract.docx"


def document(doc_id: str, parent: str = "") -> DocumentInfo:
    above = replace(ZIP, doc_id=parent) if parent else None
    return DocumentInfo(doc_id, doc_id, "", "txt", "ready", 1, 1, 0, "", 1, 1, parent=above)


def test_what_came_in_a_document_stands_below_it_in_the_given_order() -> None:
    given = [
        document("d", "c"),
        document("b", "a"),
        document("e"),
        document("c", "a"),
        document("a"),
        document("f", "x"),
    ]
    listed = [(info.doc_id, depth) for info, depth in beneath_parents(given)]
    assert listed == [("e", 0), ("a", 0), ("b", 1), ("c", 1), ("d", 2), ("f", 0)]


def test_documents_that_lie_in_each_other_are_listed_all_the_same() -> None:
    assert {info.doc_id for info, _depth in beneath_parents([document("a", "b"), document("b", "a")])} == {"a", "b"}
