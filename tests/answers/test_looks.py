"""Pages found by their look as sources of an answer."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from desks import opened
from docmind.answers import NOT_FOUND, Verified, quoted, with_looks
from docmind.answers.looks import BY_LOOK_ONLY
from docmind.application import DocMind
from docmind.documents import Catalog
from docmind.records.answers import Source
from docmind.records.search import PageHit
from looking import album


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DocMind]:
    with opened(tmp_path_factory.mktemp("looks")) as mind:
        mind.add([album("colours", "red", "green")])
        yield mind


def seen(desk: DocMind, page_no: int, doc_id: str = "") -> PageHit:
    info = desk.documents.find("colours.tiff")
    doc_id = doc_id or info.doc_id
    place = f"{doc_id}::page::{page_no}"
    return PageHit(
        rank=1, score=0.5, document=info.document, doc_id=doc_id, page_no=page_no, page_id=place, page_width=200,
        page_height=280,
    )  # fmt: skip


def catalog_of(desk: DocMind) -> Catalog:
    return desk.vault.catalog  # pyright: ignore[reportPrivateUsage]


def quote(desk: DocMind, page_no: int) -> Source:
    hit = seen(desk, page_no)
    return Source(1, hit.document, hit.doc_id, page_no, hit.page_id, "Words of it.", (), 200, 280)


def test_without_quotes_the_answer_names_the_pages(desk: DocMind) -> None:
    told = with_looks(Verified(NOT_FOUND, (), ()), [seen(desk, 1), seen(desk, 2)], catalog_of(desk), 7)
    assert told.answer == f"{BY_LOOK_ONLY} [1] [2]"
    assert [(s.n, s.page_no, s.kind, s.quote, s.boxes, s.index_epoch) for s in told.sources] == [
        (1, 1, "look", "", (), 7),
        (2, 2, "look", "", (), 7),
    ]
    assert all(source.image_artifact_id for source in told.sources)
    (sentence,) = told.sentences
    assert (sentence.sources, sentence.supported, sentence.is_claim) == ((1, 2), False, False)
    assert told.answer[sentence.start : sentence.end] == sentence.text


def test_quotes_come_first_and_no_page_comes_twice(desk: DocMind) -> None:
    checked = quoted([quote(desk, 1)])
    told = with_looks(checked, [seen(desk, 1), seen(desk, 2)], catalog_of(desk), 0)
    assert (told.answer, told.sentences) == (checked.answer, checked.sentences)
    assert [(source.n, source.page_no, source.kind) for source in told.sources] == [(1, 1, "quote"), (2, 2, "look")]


def test_what_a_model_wrote_stays_as_it_is(desk: DocMind) -> None:
    told = with_looks(Verified("The documents do not say it.", (), ()), [seen(desk, 1)], catalog_of(desk), 0)
    assert told.answer == "The documents do not say it."
    assert [source.kind for source in told.sources] == ["look"]


def test_a_page_deleted_meanwhile_is_no_source(desk: DocMind) -> None:
    checked = Verified(NOT_FOUND, (), ())
    assert with_looks(checked, [seen(desk, 1, "0" * 32), seen(desk, 99)], catalog_of(desk), 0) == checked
    assert with_looks(checked, [], catalog_of(desk), 0) is checked
