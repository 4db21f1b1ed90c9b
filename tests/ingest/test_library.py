"""The library: what is in the bin is found by no search; names, tags and collections; originals."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from desks import inventory, opened, report, settings_in, text_pdf
from docmind.application import DocMind
from docmind.config import StorageSettings
from docmind.errors import ConfigError, NotFoundError, VaultError
from docmind.records.documents import Upload
from docmind.records.query import Query
from docmind.records.search import Filters
from looking import album, coloured, looking
from papers import line, pdf
from sheets import png, sheet

Found = Callable[[DocMind], set[str]]


def named(found: Any) -> set[str]:
    return {hit.document for hit in found.hits}


def sources(answer: Any) -> set[str]:
    return {source.document for source in answer.sources}


def last_turn(docmind: DocMind, question: str) -> set[str]:
    thread_id = docmind.conversations.create().thread_id
    return sources(docmind.conversations.ask(question, thread_id=thread_id).answer)


WAYS: dict[str, Found] = {
    "words": lambda d: named(d.search("herons")),
    "all lists": lambda d: named(d.search("herons")),
    "the list of words": lambda d: named(d.search(Query("herons", lists=("text",)))),
    "one hit a document": lambda d: named(d.search(Query("herons", dedup_key="doc_id"))),
    "filters by document": lambda d: named(
        d.search(
            Query("herons", filters=Filters(doc_ids=tuple(info.doc_id for info in d.documents.all()) or ("none",)))
        )
    ),
    "filters by tag": lambda d: named(d.search(Query("herons", filters=Filters(tags=("birds",))))),
    "an answer": lambda d: sources(d.ask("Where do herons wait?")),
    "a list of documents": lambda d: (
        {info.document for info in d.documents.all() if info.document in d.ask("Which documents do I have?").answer}
        | sources(d.ask("Which documents do I have?"))
    ),
    "documents about": lambda d: sources(d.ask("Which documents do I have about herons?")),
    "a summary": lambda d: sources(d.ask("Summarise all documents")),
    "a conversation": lambda d: last_turn(d, "Where do herons wait?"),
    "a picture": lambda d: named(d.search(Query(picture=png(sheet(1)), read_picture=False))),
}


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DocMind]:
    with opened(tmp_path_factory.mktemp("bin")) as docmind:
        docmind.add(
            [
                Upload("herons.pdf", text_pdf(["Herons wait in shallow water for fish"]), tags=("birds",)),
                Upload("sheet.png", png(sheet(1))),
            ]
        )
        docmind.lookalike.catch_up()
        yield docmind


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_no_search_finds_what_is_in_the_bin(desk: DocMind, way: str) -> None:
    wanted = "sheet.png" if way == "a picture" else "herons.pdf"
    doc_id = desk.documents.find(wanted).doc_id
    assert wanted in WAYS[way](desk)
    desk.documents.bin([doc_id])
    try:
        assert wanted not in WAYS[way](desk)
    finally:
        desk.documents.restore([doc_id])
    assert wanted in WAYS[way](desk)


@pytest.mark.slow
def test_image_models_do_not_find_what_is_in_the_bin(tmp_path: Path) -> None:
    with looking(tmp_path) as desk:
        desk.add([album("warm", "red"), album("cold", "blue")])
        for model in ("fake-image", "fake-late"):
            desk.visual.embed(model)
        warm = desk.documents.find("warm.tiff").doc_id
        ways: list[Found] = [
            lambda d: named(d.page_search.search_images("red")),
            lambda d: named(d.page_search.search_images(picture=coloured("red"))),
            lambda d: named(d.page_search.search_late("red")),
            lambda d: named(d.search(Query("red", lists=("image", "visual")))),
        ]
        desk.documents.bin([warm])
        for way in ways:
            assert way(desk) == {"cold.tiff"}
        desk.documents.restore([warm])
        for way in ways:
            assert "warm.tiff" in way(desk)


@pytest.mark.slow
def test_a_restart_and_a_rebuild_leave_the_bin_out(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    with DocMind(settings) as desk:
        gone, stays = (result.doc_id or "" for result in desk.add([report("gone", 2), report("stays", 1)]))
        desk.documents.bin([gone])
        assert desk.documents.counts()[:2] == (1, 1)
        assert desk.status().documents == 1
    assert inventory(settings).text_points == 1
    with DocMind(settings) as desk:
        assert desk.reindex() == 1
        assert named(desk.search("report page")) == {"stays.pdf"}
        for ask in (
            lambda: desk.documents.get(gone),
            lambda: desk.documents.page(gone, 1),
            lambda: desk.documents.page_image(gone, 1),
            lambda: desk.documents.original(gone),
            lambda: desk.documents.edit(gone, title="x"),
            lambda: desk.documents.find("gone.pdf"),
        ):
            with pytest.raises(NotFoundError):
                ask()
        desk.documents.restore([gone, stays])
        assert named(desk.search("gone report page")) == {"gone.pdf", "stays.pdf"}
    found = inventory(settings)
    assert (found.documents, found.ready, found.pages, found.text_points) == (2, 2, 3, 3)


@pytest.mark.slow
def test_the_bin_is_purged_after_its_time(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    with DocMind(settings) as desk:
        old, new = (result.doc_id or "" for result in desk.add([report("old", 2), report("new", 1)]))
        desk.documents.bin([old])
        with desk.vault.database.transaction() as db:
            db.execute(
                "UPDATE documents SET binned_own_ms = ? WHERE doc_id = ?",
                (desk.vault.clock.now_ms() - 31 * 86_400_000, old),
            )
        desk.documents.bin([new])
    with DocMind(settings) as desk:
        assert [info.doc_id for info in desk.documents.binned()] == [new]
        desk.erasures.finish()
        assert [receipt.doc_id for receipt in desk.erasures.receipts()] == [old]
        assert [receipt.doc_id for receipt in desk.erasures.erase([new])] == [new]
    found = inventory(settings)
    assert (found.documents, found.pages, found.files, found.text_points) == (0, 0, 0, 0)


@pytest.mark.slow
def test_without_a_bin_a_deletion_is_final(tmp_path: Path) -> None:
    with opened(tmp_path, storage=StorageSettings(min_free_mb=1, bin_days=0)) as desk:
        (result,) = desk.add([report("gone", 1)])
        assert desk.documents.bin([result.doc_id or ""]) == ()
        assert desk.documents.binned() == ()
        assert desk.documents.counts() == (0, 0, 0)
        (receipt,) = desk.erasures.finish()
        assert receipt.is_clean


@pytest.mark.slow
def test_a_file_of_the_bin_that_is_added_again_is_restored(tmp_path: Path) -> None:
    with opened(tmp_path) as desk:
        (result,) = desk.add([report("gone", 2)])
        desk.documents.bin([result.doc_id or ""])
        (again,) = desk.add([report("gone", 2)])
        assert (again.status, again.doc_id) == ("already", result.doc_id)
        assert "back in the library" in again.message
        assert named(desk.search("gone report")) == {"gone.pdf"}


@pytest.mark.slow
def test_a_new_name_is_found_and_survives(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    data = text_pdf(["Herons wait in shallow water for fish"])
    with DocMind(settings) as desk:
        (result,) = desk.add([Upload("en_ca11_x.pdf", data)])
        doc_id = result.doc_id or ""
        before = desk.search("herons").hits[0]
        info = desk.documents.edit(doc_id, document="birds.pdf", title="Of \u202e Babylon")
        assert (info.document, info.title, info.read_as) == ("birds.pdf", "Of Babylon", ("en_ca11_x.pdf", ""))
        after = desk.search("herons").hits[0]
        assert (after.document, after.boxes, after.text) == ("birds.pdf", before.boxes, before.text)
        sparse = {rank.ranking: rank for rank in desk.search("babylon").hits[0].ranks}
        assert "sparse" in sparse
        assert desk.documents.original(doc_id) == data
        assert desk.documents.original_name(doc_id) == "birds.pdf"
        assert desk.documents.edit(doc_id, document="a/b: c").document == "a/b: c"
        assert desk.documents.original_name(doc_id) == "a_b_ c.pdf"
        with pytest.raises(ConfigError, match="needs a name"):
            desk.documents.edit(doc_id, document="  ")
    with DocMind(settings) as desk:
        assert desk.documents.get(doc_id).document == "a/b: c"
        assert desk.reindex() == 1
        assert desk.search("herons").hits[0].document == "a/b: c"
    with DocMind(settings, read_only=True) as desk, pytest.raises(VaultError):
        desk.documents.edit(doc_id, title="no")


@pytest.mark.slow
def test_a_language_is_set_by_hand_and_detected_again(tmp_path: Path) -> None:
    with opened(tmp_path) as desk:
        text = "The herons wait in the shallow water for fish, and nest in tall trees beside the river."
        (result,) = desk.add([Upload("herons.txt", text.encode())])
        doc_id = result.doc_id or ""
        assert desk.documents.get(doc_id).language == "en"
        desk.documents.set_language([doc_id], "PT")
        assert (desk.documents.get(doc_id).language, desk.documents.page(doc_id, 1).language) == ("pt", "pt")
        assert named(desk.search(Query("herons", filters=Filters(languages=("pt",))))) == {"herons.txt"}
        assert desk.search(Query("herons", filters=Filters(languages=("en",)))).hits == ()
        desk.documents.set_language([doc_id], "")
        assert desk.documents.get(doc_id).language == "en"
        with pytest.raises(ConfigError, match="no code of a language"):
            desk.documents.set_language([doc_id], "english")


@pytest.mark.slow
def test_tags_and_collections_narrow_a_search(tmp_path: Path) -> None:
    with opened(tmp_path) as desk:
        one, two = (result.doc_id or "" for result in desk.add([report("one", 1), report("two", 1)]))
        desk.documents.tag([one, two], add=["Work", "2024"])
        desk.documents.tag([two], remove=["WORK"])
        desk.documents.tag([two], add=["work "], remove=["2024"])
        assert desk.documents.tags() == {"2024": 1, "Work": 2}
        assert named(desk.search(Query("report", filters=Filters(tags=("2024",))))) == {"one.pdf"}
        made = desk.documents.new_collection("Reports", [two])
        filters = Filters(collections=(made.collection_id,))
        assert named(desk.search(Query("report", filters=filters))) == {"two.pdf"}
        assert named(desk.search(Query("report", filters=filters))) == {"two.pdf"}
        assert sources(desk.ask("Which documents do I have?")) == {"one.pdf", "two.pdf"}
        both = Filters(collections=(made.collection_id,), tags=("2024",))
        assert desk.search(Query("report", filters=both)).hits == ()
        assert desk.search(Query("report", filters=Filters(collections=("nobody",)))).hits == ()
        desk.documents.collect(made.collection_id, [one, two])
        desk.documents.collect(made.collection_id, [two], leave=True)
        assert named(desk.search(Query("report", filters=filters))) == {"one.pdf"}
        with pytest.raises(ConfigError, match="already a collection"):
            desk.documents.new_collection(" reports")
        assert desk.documents.rename_collection(made.collection_id, "REPORTS").name == "REPORTS"
        desk.documents.bin([one])
        assert desk.documents.collection("reports").documents == 0
        desk.documents.remove_collection(made.collection_id)
        assert desk.documents.collections() == ()
        assert desk.documents.get(two).tags == ("Work",)


@pytest.mark.slow
def test_documents_of_earlier_vaults_get_their_titles_once(tmp_path: Path) -> None:
    body = line("Birds of the reeds and how to tell them apart from each other.", y=600, size=10)
    guide_pdf = pdf([line("A Field Guide", y=700, size=30) + "\n" + body])
    with opened(tmp_path) as desk:
        desk.add([Upload("guide.pdf", guide_pdf), *(report(f"bird {n}", 1) for n in range(3))])
        (guide,) = [info for info in desk.documents.all() if info.document == "guide.pdf"]
        assert guide.shown_title == "A Field Guide"
        with desk.vault.database.transaction() as db:
            db.execute("UPDATE documents SET heading = ''")
        assert desk.vault.catalog.find_headings("", 2)
        assert desk.vault.catalog.find_headings("", 9) is None
        assert desk.documents.get(guide.doc_id).shown_title == "A Field Guide"
        with desk.vault.database.transaction() as db:
            db.execute("UPDATE documents SET heading = ''")
    with opened(tmp_path) as desk:
        desk.documents.find_titles()
        assert desk.documents.get(guide.doc_id).shown_title == "A Field Guide"
        with desk.vault.database.transaction() as db:
            db.execute("UPDATE documents SET heading = ''")
        desk.documents.find_titles()
        assert desk.documents.get(guide.doc_id).shown_title == "", "each vault is looked through once"
