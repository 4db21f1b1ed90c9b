"""Every field of `Filters` means the same at all doors: search, and lists of Python, REST, MCP, commands, the app."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from email.message import EmailMessage
from typing import Any, cast

import pytest
from streamlit.testing.v1 import AppTest

from desks import text_pdf
from docmind import DocMind
from docmind.api.mcp_tools import ListRequest, list_documents
from docmind.cli import main
from docmind.client import decode, encode, filter_parameters, filters_of
from docmind.records.documents import Upload
from docmind.records.query import Query
from docmind.records.search import OF_LISTS, Filters
from docmind.ui.app import state
from docmind.ui.chat.filters import describe
from libraries import Library


def _mail(sender: str, recipient: str, day: str, attached: str = "") -> bytes:
    letter = EmailMessage()
    letter["From"], letter["To"], letter["Date"] = sender, recipient, f"{day} 09:00:00 +0000"
    letter["Subject"] = "The harbour"
    letter.set_content("The harbour is deep, as every captain knows.")
    if attached:
        letter.add_attachment(f"The harbour has {attached} of every size.", filename=f"{attached}.txt")
    return letter.as_bytes()


ANA, BEN = "Ana Silva <ana@lar.example>", "Ben Ott <ben@ott.example>"
FILES = [
    Upload("harbour.py", b"def harbour(depth):\n    return depth * 2\n"),
    Upload("birds.txt", b"Gulls nest in the harbour all year.\n", tags=("birds",)),
    Upload(
        "porto.pdf", text_pdf(["O porto, em ingles harbour, deve reparar o dano que foi causado ao navio da cidade."])
    ),
    Upload("first.eml", _mail(ANA, BEN, "Mon, 02 Jun 2025", "cranes")),
    Upload("second.eml", _mail(BEN, ANA, "Tue, 03 Jun 2025")),
]


def _fill(docmind: DocMind) -> None:
    found = {info.document: info.doc_id for info in docmind.documents.all()}
    docmind.documents.new_collection("Water", [found["birds.txt"]])
    docmind.documents.edit(found["birds.txt"], dated="2024-03-31")
    docmind.documents.set_language([found["porto.pdf"]], "pt")
    docmind.snapshots.create("Before the move")
    docmind.add([Upload("late.txt", b"The harbour was closed late in the year.\n")])
    docmind.documents.bin([found["birds.txt"]])


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DocMind]:
    library = Library("a harbour by every filter", FILES, _fill)
    with library.opened(tmp_path_factory.mktemp("filters")) as docmind:
        docmind.documents.restore([info.doc_id for info in docmind.documents.binned()])
        yield docmind


EVERY = {"harbour.py", "birds.txt", "porto.pdf", "first.eml", "cranes.txt", "second.eml", "late.txt"}
CASES: dict[str, tuple[Any, set[str]]] = {
    "doc_ids": (("birds.txt", "first.eml"), {"birds.txt", "first.eml", "cranes.txt"}),
    "languages": (("pt",), {"porto.pdf"}),
    "tags": (("birds",), {"birds.txt"}),
    "kinds": (("python", "pdf"), {"harbour.py", "porto.pdf"}),
    "since": ("2020-01-01", EVERY),
    "collections": (("Water",), {"birds.txt"}),
    "snapshots": ("Before the move", EVERY - {"late.txt"}),
    "senders": ((ANA,), {"first.eml", "cranes.txt"}),
    "recipients": (("ana",), {"second.eml"}),
    "after": ("2025-06-03", {"second.eml"}),
    "before": ("2025-01-01", {"birds.txt"}),
}
"""By field: its value as people give it, and the documents that pass."""
OF_PAGES: dict[str, Any] = {
    "modalities": ("image_caption",), "figure_sizes": ("large",), "figure_kinds": ("photo", "drawing"),
}  # fmt: skip
"""Filters of what stands on pages: lists of documents take none of them."""
CHOICES = {
    "doc_ids": state.FILTER_DOCUMENTS, "modalities": state.FILTER_CONTENT, "languages": state.FILTER_LANGUAGES,
    "tags": state.FILTER_TAGS, "kinds": state.FILTER_KINDS, "collections": state.FILTER_COLLECTIONS,
    "snapshots": state.FILTER_SNAPSHOTS, "senders": state.FILTER_SENDERS, "figure_sizes": state.FILTER_SIZES,
    "figure_kinds": state.FILTER_FIGURE_KINDS,
}  # fmt: skip
NO_CHOICE = {"recipients", "since", "after", "before"}
"""The app offers years, and hours and days since a document was added, in place of days."""


def given(field: str) -> dict[str, Any]:
    """Return the value of a field under its name at doors for people."""
    (one,) = (each for each in fields(Filters) if each.name == field)
    return {one.metadata.get("named", field): CASES[field][0] if field in CASES else OF_PAGES[field]}


def test_every_field_has_a_case_here() -> None:
    every = {one.name for one in fields(Filters)}
    assert every == CASES.keys() | OF_PAGES.keys() == CHOICES.keys() | NO_CHOICE
    assert set(OF_LISTS) == CASES.keys() - {"doc_ids"}


@pytest.mark.parametrize("field", CASES)
def test_search_and_lists_leave_the_same_documents(desk: DocMind, field: str) -> None:
    filters, expected = filters_of(desk, given(field)), CASES[field][1]
    assert filters != Filters()
    assert decode(Filters, encode(Filters, filters), "filters") == filters, "over REST"
    assert {info.document for info in desk.documents.matching(filters)} == expected
    hits = desk.search(Query("harbour", k=50, filters=filters, lists=("text",), dedup_key="doc_id")).hits
    assert {hit.document for hit in hits} == expected
    assert describe(filters, (), {}), "a turn says what it was asked in"


@pytest.mark.parametrize("field", sorted(OF_LISTS))
def test_lists_at_every_door_take_the_field(desk: DocMind, field: str) -> None:
    (parameter,) = filter_parameters("cli", [field])
    command = main.commands["list"]
    assert set(parameter.option) <= {name for option in command.params for name in option.opts}
    listed = cast("Any", list_documents(desk, ListRequest(**given(field)), cast("Any", None)).record)
    assert {info.document for info in listed.documents} == CASES[field][1]


def _page(docmind: object, choices: dict) -> None:
    from typing import cast

    import streamlit as st

    from docmind.ui.chat.filters import chosen_filters, matching

    desk = cast("DocMind", docmind)
    told = {}
    for field, chosen in choices.items():
        for key, values in chosen.items():
            st.session_state[key] = values
        told[field] = (chosen_filters(desk), {info.document for info in matching(desk)})
        for key in chosen:
            del st.session_state[key]
    st.session_state["told"] = told


def test_the_app_narrows_as_all_other_doors_do(desk: DocMind) -> None:
    filters = {field: filters_of(desk, given(field)) for field in CHOICES}
    choices = {field: {key: list(getattr(filters[field], field))} for field, key in CHOICES.items()}
    for field in ("figure_sizes", "figure_kinds"):
        choices[field][state.FILTER_CONTENT] = list(OF_PAGES["modalities"])
    test = AppTest.from_function(_page, default_timeout=60, args=(desk, choices)).run()
    assert not test.exception
    for field, (chosen, documents) in test.session_state["told"].items():
        assert set(getattr(chosen, field)) == set(getattr(filters[field], field)), field
        assert documents == (CASES[field][1] if field in CASES else EVERY), field
