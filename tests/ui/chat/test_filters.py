"""Filters of a question: what they choose, how they are told, and that they are kept."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from docmind.records.documents import DocumentInfo
from docmind.records.search import Filters
from docmind.ui.app import state
from docmind.ui.chat.filters import describe

OLD = int(time.time() * 1000) - 40 * 24 * 3600 * 1000
NEW = int(time.time() * 1000)


def info(name: str, kind: str = "pdf", language: str = "en", added: int = NEW, *tags: str) -> DocumentInfo:
    return DocumentInfo(f"{name}{'0' * 20}", name, "", kind, "ready", 1, 1, 0, language, 10, added, tags=tags)


DOCUMENTS = (info("a"), info("b", "docx", "pt"), info("c", "pdf", "pt", OLD, "tax"), info("d", "xlsx", "en", OLD))


COLLECTIONS = {"c1": "Taxes"}


def page(documents: list, collections: dict) -> None:
    from types import SimpleNamespace
    from typing import cast

    import streamlit as st

    from docmind.application import DocMind
    from docmind.ui.chat.filters import choose_filters, chosen_filters, follow, matching

    snapshots = dict(pair.split("=") for pair in st.query_params.get("snapshots", "").split(",") if pair)
    has_figures = "has" in st.query_params

    spoken = lambda info, codes: not codes or info.language in codes  # noqa: E731
    matching_of = lambda filters: [one for one in documents if filters.allow(one) and spoken(one, filters.languages)]  # noqa: E731
    docmind = cast("DocMind", SimpleNamespace(documents=SimpleNamespace(matching=matching_of)))
    follow(documents, collections, has_figures=has_figures, snapshots=snapshots)
    choose_filters(docmind, documents, collections, has_figures=has_figures, snapshots=snapshots)
    chosen = chosen_filters(docmind)
    told = {"filters": chosen.doc_ids, "count": len(matching(docmind)), "collections": chosen.collections}
    told |= (
        {"content": chosen.modalities, "sizes": chosen.figure_sizes, "looks": chosen.figure_kinds}
        if has_figures
        else {}
    )
    st.json(told | ({"snapshots": chosen.snapshots} if snapshots else {}))


def drawn(*documents: DocumentInfo, **address: str) -> AppTest:
    test = AppTest.from_function(page, default_timeout=60, args=(documents or DOCUMENTS, COLLECTIONS))
    for name, value in address.items():
        test.query_params[name] = value
    test.run()
    assert not test.exception
    return test


def found(test: AppTest) -> dict[str, Any]:
    import json

    told = json.loads(test.json[0].value)
    return told if told["collections"] else {name: told[name] for name in ("filters", "count")}


def test_nothing_chosen_is_all_documents() -> None:
    assert found(drawn()) == {"filters": [], "count": 4}


def test_figures_can_be_looked_for_alone_where_there_are_any() -> None:
    import json

    test = drawn(has="1", content="image_caption", kind="pdf,docx")
    assert json.loads(test.json[0].value)["content"] == ["image_caption"]
    assert test.session_state[state.FILTER_CONTENT] == ["image_caption"]
    assert "Size of figures" in [one.label for one in test.button_group]
    test = drawn(has="1", content="image_caption", size="large,huge")
    assert json.loads(test.json[0].value)["sizes"] == ["large"]
    test = drawn(has="1", content="image_caption", figures="photo,drawing,painting")
    assert json.loads(test.json[0].value)["looks"] == ["photo", "drawing"]
    test = drawn(has="1", content="image_caption", figures="photo,drawing,graphic")
    assert json.loads(test.json[0].value)["looks"] == []
    test = drawn(has="1", size="large")
    assert json.loads(test.json[0].value)["sizes"] == [], "sizes are those of figures that are looked for alone"
    assert "Size of figures" not in [one.label for one in test.button_group]
    test = drawn(content="image_caption")  # no document has a figure
    assert not test.session_state[state.FILTER_CONTENT]


def test_the_address_sets_the_choice_and_keeps_it() -> None:
    test = drawn(kind="pdf", since="7")
    assert found(test) == {"filters": [DOCUMENTS[0].doc_id], "count": 1}
    test.session_state[state.FILTER_KINDS] = []
    test.session_state[state.FILTER_SINCE] = []
    test.session_state[state.FILTER_DOCUMENTS] = [DOCUMENTS[1].doc_id, DOCUMENTS[2].doc_id]
    test.run()
    assert "kind" not in test.query_params
    again = drawn(**{"in": "".join(test.query_params["in"])})
    assert found(again)["filters"] == [DOCUMENTS[1].doc_id, DOCUMENTS[2].doc_id]


def test_mails_are_chosen_by_who_wrote_them_and_by_year() -> None:
    mails = [
        replace(info("m", "mail"), sender="Ana Silva <ana@lar.example>", dated="2025-06-02"),
        replace(info("n", "mail"), sender="Ben <ben@ott.example>", dated="2024-01-02"),
    ]
    test = drawn(DOCUMENTS[0], *mails)
    labels = [one.label for one in (*test.multiselect, *test.button_group)]
    assert {"From", "Date"} <= set(labels)
    assert "From" not in [one.label for one in drawn().multiselect], "without mails there is no such choice"
    test = drawn(DOCUMENTS[0], *mails, **{"from": "Ana Silva <ana@lar.example>"})
    assert found(test) == {"filters": [], "count": 1}
    assert found(drawn(DOCUMENTS[0], *mails, year="2024")) == {"filters": [mails[1].doc_id], "count": 1}


def test_what_matches_no_document_says_so_and_finds_none() -> None:
    test = drawn(kind="docx", tag="tax")
    assert any("No documents match these filters." in caption.value for caption in test.caption)
    assert found(test) == {"filters": [], "count": 0}
    assert found(drawn(kind="xlsx", since="7"))["filters"] == ["none"]


def test_a_collection_is_chosen_and_goes_with_the_other_choices() -> None:
    taxes = replace(DOCUMENTS[2], collections=("c1",))
    test = drawn(DOCUMENTS[0], taxes, collection="c1")
    assert found(test) == {"filters": [], "count": 1, "collections": ["c1"]}
    assert "".join(test.query_params["collection"]) == "c1"
    assert [button.label for button in test.button] == ["Search all"]
    test.session_state[state.FILTER_KINDS] = ["pdf"]
    assert found(test.run()) == {"filters": [], "count": 1, "collections": ["c1"]}
    test.button(key="filters-none").click().run()
    assert found(test) == {"filters": [], "count": 2}
    assert found(drawn(taxes, collection="c2")) == {"filters": [], "count": 1}


def test_the_last_snapshot_that_is_chosen_is_asked() -> None:
    test = drawn(snapshots="s1=Spring,s2=Autumn")
    test.multiselect(state.FILTER_SNAPSHOTS).select("s2").run()
    assert test.json[0].value.count("s2") == 1
    test.multiselect(state.FILTER_SNAPSHOTS).select("s1").run()
    assert ("s1" in test.json[0].value, "s2" in test.json[0].value) == (True, False)
    assert "".join(test.query_params["as-of"]) == "s1"


def test_one_that_is_gone_is_left_out() -> None:
    assert found(drawn(DOCUMENTS[0], **{"in": DOCUMENTS[1].doc_id[:12]})) == {"filters": [], "count": 1}


@pytest.mark.parametrize(
    ("filters", "lists", "told"),
    [
        (Filters(), (), ""),
        (Filters(doc_ids=("x",)), (), "a\\_b"),
        (Filters(doc_ids=("x", "y")), (), "2 documents"),
        (Filters(doc_ids=("gone",), languages=("pt",)), (), "1 document · Portuguese"),
        (Filters(tags=("tax",)), ("image", "visual"), "tax · by look"),
        (Filters(collections=("x", "gone")), (), "a\\_b · a deleted collection"),
        (Filters(kinds=("python",), recipients=("Ben <ben@x.example>",)), (), "Python · to Ben"),
        (Filters(since="2026-01-02"), (), "added since 2026\\-01\\-02"),
        (Filters(snapshots=("x",)), (), "as of a\\_b"),
        (Filters(snapshots=("gone",)), (), "as of a deleted snapshot"),
    ],
)
def test_a_turn_says_what_it_was_asked_in(filters: Filters, lists: Any, told: str) -> None:
    assert describe(filters, lists, {"x": "a_b"}) == told
