"""The index follows the vault, whatever was missed, failed or lost in between.

Points of pages: which vectors they get, and how many are made at once.
"""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from docmind.config import DatabaseSettings
from docmind.documents.catalog import Catalog, PageRecord
from docmind.documents.chunk_store import NodeStore
from docmind.documents.page_vectors import PageVectors
from docmind.embedding.chunking import label_of, nodes_of_page
from docmind.errors import DiskFullError, IndexEngineError, IndexMismatchError
from docmind.index.blinding import Blinder
from docmind.index.edge import EdgeIndex
from docmind.index.engine import VectorQuery
from docmind.index.sync import IndexSync, PagePoints, widened
from docmind.records.documents import ArtifactRef, DocumentInfo
from docmind.records.models import Description
from docmind.records.search import Filters
from docmind.storage.database import Database
from docmind.visual.served import IndexedImages, ModelUse
from docmind_testkit import FakeEmbedder

BLIND = Blinder(bytes(range(32)))
TOKENS = np.eye(3, 128, dtype=np.float32)


class Made:
    """What two models made: a vector of the first page's image, many of the second's, and both of the third's."""

    def __init__(self, switched_at: int) -> None:
        self._switched_at = switched_at
        self.asked: list[int] = []

    def at(self, epoch: int) -> str:
        return "new" if epoch >= self._switched_at else ""

    def switched_at(self) -> int:
        return self._switched_at

    def vectors(self, fingerprint: str, images: Sequence[str]) -> dict[str, np.ndarray]:
        return {image: np.ones(2, np.float32) for image in images if image[-1] in "13"}

    def multivectors(self, fingerprint: str, images: Sequence[str]) -> dict[str, dict[str, np.ndarray]]:
        self.asked.append(len(images))
        return {image: {"colpali": TOKENS} for image in images if image[-1] in "23"}


def record(page_no: int) -> PageRecord:
    image = ArtifactRef(f"{page_no:064x}", ".webp.enc")
    return PageRecord(
        doc_id="doc",
        page_no=page_no,
        width=10,
        height=10,
        text="",
        words=b"",
        text_source="layer",
        confidence=1.0,
        language="en",
        image=image,
        thumbnail=image,
    )


def test_a_page_gets_what_each_model_made_of_its_image() -> None:
    points = PagePoints(BLIND, Made(5), Made(3))
    pages = [record(page_no) for page_no in range(1, 5)]
    models = points.models(5)
    assert (models, points.models(4), points.models(0), points.switched_at()) == (
        ("new", "new"),
        ("", "new"),
        ("", ""),
        5,
    )
    ((*made,),) = points.batches(pages, models, lambda page: {"page_no": page.page_no})
    assert [sorted(point.vectors) for point in made] == [["siglip"], ["colpali"], ["colpali", "siglip"], []]
    assert [point.payload["page_no"] for point in made] == [1, 2, 3, 4]
    assert made[0].vectors["siglip"] == pytest.approx(BLIND.dense(widened(np.ones(2, np.float32))))
    assert made[1].vectors["colpali"] is TOKENS, "blinded already"
    (none,) = PagePoints(BLIND).batches(pages, PagePoints(BLIND).models(9), lambda _: {})
    assert [dict(point.vectors) for point in none] == [{}, {}, {}, {}]


def test_pages_with_many_vectors_are_made_a_few_at_a_time() -> None:
    late = Made(0)
    points = PagePoints(BLIND, None, late)
    pages = [record(page_no) for page_no in range(1, 41)]
    assert [len(some) for some in points.batches(pages, points.models(1), lambda _: {})] == [16, 16, 8]
    assert late.asked == [16, 16, 8]
    assert [len(some) for some in points.batches(pages, ("", ""), lambda _: {})] == [40]
    assert list(points.batches([], points.models(1), lambda _: {})) == []


IMAGE = ArtifactRef("a" * 64, ".webp.enc")
THUMBNAIL = ArtifactRef("7" * 64, ".webp.enc")


class Watched(EdgeIndex):
    """The real engine, which fails on demand and counts what is written."""

    fails: Callable[[str], None] = staticmethod(lambda doing: None)
    upserts = 0

    def upsert(self, collection, points) -> None:
        self.fails("upsert")
        self.upserts += 1
        super().upsert(collection, points)

    def delete(self, collection: str, doc_id: str) -> None:
        self.fails("delete")
        super().delete(collection, doc_id)

    def commit(self, epoch: int) -> None:
        self.fails("commit")
        super().commit(epoch)


class Other(FakeEmbedder):
    """Another model."""

    @property
    def fingerprint(self) -> str:
        return "other:384"


@dataclass
class House:
    """A vault of rows and an index beside it; `open` starts index and mirror again, as a new process would."""

    folder: Path
    database: Database
    catalog: Catalog
    nodes: NodeStore
    embedder: FakeEmbedder
    index: Watched
    mirror: IndexSync

    @classmethod
    def build(cls, folder: Path) -> House:
        database = Database(folder / "vault.db", bytes(32))
        catalog, nodes, embedder = Catalog(database), NodeStore(database), FakeEmbedder()
        house = cls(folder, database, catalog, nodes, embedder, None, None)  # type: ignore[arg-type]
        house.open()
        return house

    def open(self, embedder: FakeEmbedder | None = None) -> IndexSync:
        if self.index is not None:
            self.index.close()
        self.embedder = embedder or FakeEmbedder()
        self.index = Watched(self.folder / "index", 384, min_free_mb=1)
        self.serving = ModelUse("image", self.database, self.catalog)
        images = IndexedImages(self.serving, PageVectors(self.database))
        self.mirror = IndexSync(self.catalog, self.nodes, self.index, self.embedder, BLIND, DatabaseSettings(), images)
        return self.mirror

    def see(self, doc_id: str, model: str, vector: list[float]) -> None:
        """Store the vector of the only image, and a change of the document, as a run does."""
        with self.database.transaction():
            PageVectors(self.database).put(model, {IMAGE.sha256: np.array(vector, np.float32)})
            before, epoch = self.catalog.touch(doc_id)
        self.mirror.put_images(doc_id, before, epoch, [1])

    def seen(self, *vector: float) -> list[tuple[str, float]]:
        """Return documents by similarity of their page images, with the cosine."""
        whole = np.zeros(768, np.float32)
        whole[: len(vector)] = vector
        (scored,) = self.index.search([VectorQuery("pages", "siglip", BLIND.dense(whole), 10)])
        return [(str(point.payload["doc_id"]), round(point.score, 2)) for point in scored]

    def add(self, doc_id: str, *texts: str) -> str:
        """Commit rows as ingestion does, without telling the mirror."""
        info = DocumentInfo(doc_id, f"{doc_id}.txt", "", "txt", "reading", len(texts), 0, 0, "", 1, 1, "", ("tag",))
        self.catalog.begin_document(info, ArtifactRef("b" * 64, ".txt.enc"))
        label = label_of(info, self.embedder)
        for page_no, text in enumerate(texts, 1):
            record = PageRecord(
                doc_id=doc_id,
                page_no=page_no,
                width=10,
                height=10,
                text=text,
                words=b"",
                text_source="layer",
                confidence=1.0,
                language="en",
                image=IMAGE,
                thumbnail=THUMBNAIL,
            )
            self.catalog.put_pages([record])
            made = list(nodes_of_page(info, label, self.embedder, page_no, "en", text))
            self.nodes.put([node for node, _ in made])
            vectors = self.embedder.embed_documents([text for _, text in made])
            hashes = [node.content_hash for node, _ in made]
            self.nodes.put_vectors(self.embedder.fingerprint, dict(zip(hashes, vectors, strict=True)))
        self.catalog.finish_document(doc_id, language="en")
        return doc_id

    def found(self, text: str) -> list[str]:
        """Return documents by similarity of their windows."""
        vector = BLIND.dense(self.embedder.embed_query(text))
        (scored,) = self.index.search([VectorQuery("text", "text-dense", vector, 10)])
        return [str(point.payload["doc_id"]) for point in scored]

    def holds(self) -> dict[str, tuple[int, int]]:
        """Return the points of text and of pages for each document that the vault has or had."""
        rows = self.database.all("SELECT doc_id FROM changes ORDER BY doc_id")
        counts = {
            doc_id: (
                self.index.count("text", Filters(doc_ids=(doc_id,))),
                self.index.count("pages", Filters(doc_ids=(doc_id,))),
            )
            for (doc_id,) in rows
        }
        return {doc_id: count for doc_id, count in counts.items() if count != (0, 0)}


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    house = House.build(tmp_path)
    yield house
    house.index.close()
    house.database.close()


def failing(*doings: str) -> Callable[[str], None]:
    def fail(doing: str) -> None:
        if doing in doings:
            raise DiskFullError(f"no room to {doing}")

    return fail


def test_a_new_index_is_built_from_the_vault(house: House) -> None:
    house.add("one", "herons wait in the water", "herons nest in trees")
    house.add("two", "owls hunt at night")
    told: list[tuple[int, int]] = []
    assert house.mirror.catch_up(lambda done, total: told.append((done, total))) == 2
    assert told == [(1, 2), (2, 2)]
    assert house.holds() == {"one": (2, 2), "two": (1, 1)}
    assert house.found("owls at night")[0] == "two"
    assert (house.index.epoch(), house.index.fingerprint()) == (house.catalog.epoch(), "fake:384")


@pytest.mark.slow
def test_only_what_was_missed_is_written(house: House) -> None:
    house.add("one", "herons wait")
    house.mirror.catch_up()
    house.add("two", "owls hunt")
    house.add("three", "cranes dance")
    house.catalog.erase_document("one")
    house.open()
    assert house.mirror.catch_up() == 3
    assert house.holds() == {"two": (1, 1), "three": (1, 1)}
    assert house.index.upserts == 4
    assert house.mirror.catch_up() == 0
    house.open()
    assert house.mirror.catch_up() == 0
    assert house.index.upserts == 0


def test_an_unfinished_document_is_not_in_the_index(house: House) -> None:
    house.mirror.catch_up()
    house.add("one", "herons wait")
    house.catalog.fail_document("one", "broken")
    assert house.mirror.catch_up() == 1
    assert house.holds() == {}


@pytest.mark.slow
def test_a_put_without_a_commit_is_repeated_at_the_next_start(house: House) -> None:
    house.mirror.catch_up()
    house.mirror.put(house.add("one", "herons wait"))
    assert house.found("herons") == ["one"]
    assert house.index.epoch() < house.catalog.epoch()
    assert house.open().catch_up() == 1
    assert house.holds() == {"one": (1, 1)}


def test_putting_twice_is_putting_once(house: House) -> None:
    house.mirror.catch_up()
    house.add("one", "herons wait", "herons nest")
    for _ in range(3):
        house.mirror.put("one")
    house.mirror.commit()
    assert house.holds() == {"one": (2, 2)}


@pytest.mark.slow
def test_a_deletion_reaches_the_index(house: House) -> None:
    house.add("one", "herons wait")
    house.add("two", "herons nest")
    house.mirror.catch_up()
    house.catalog.erase_document("one")
    house.mirror.drop("one")
    assert house.holds() == {"two": (1, 1)}
    assert house.found("herons") == ["two"]
    house.mirror.commit()
    assert house.open().catch_up() == 0
    assert house.holds() == {"two": (1, 1)}


@pytest.mark.slow
def test_commit_writes_what_nobody_told_it_of(house: House) -> None:
    """A row was committed and the process was stopped before its put: the epoch must not be ahead of the index."""
    house.mirror.catch_up()
    house.add("one", "herons wait")
    house.mirror.put(house.add("two", "owls hunt"))
    house.mirror.commit()
    assert house.holds() == {"one": (1, 1), "two": (1, 1)}
    house.catalog.erase_document("one")
    house.mirror.put(house.add("three", "cranes dance"))
    house.mirror.commit()
    assert house.holds() == {"two": (1, 1), "three": (1, 1)}
    assert house.index.epoch() == house.catalog.epoch()


@pytest.mark.slow
@pytest.mark.parametrize("doing", ["upsert", "delete", "commit"])
def test_what_failed_is_made_good_by_the_next_commit(house: House, doing: str) -> None:
    house.add("zero", "storks clatter")
    house.mirror.catch_up()
    house.index.fails = failing(doing)
    house.add("one", "herons wait")
    house.catalog.erase_document("zero")
    for change in (lambda: house.mirror.put("one"), lambda: house.mirror.drop("zero"), house.mirror.commit):
        try:
            change()
        except DiskFullError:
            continue
    assert house.index.epoch() < house.catalog.epoch()
    house.index.fails = lambda doing: None
    house.mirror.put(house.add("two", "owls hunt"))
    house.mirror.commit()
    assert house.holds() == {"one": (1, 1), "two": (1, 1)}
    assert house.index.epoch() == house.catalog.epoch()


def test_a_lazy_commit_waits_and_an_idle_one_does_nothing(house: House) -> None:
    house.mirror.catch_up()
    house.mirror.put(house.add("one", "herons wait"))
    house.mirror.commit(lazily=True)
    assert house.index.epoch() < house.catalog.epoch()
    house.mirror.commit()
    assert house.index.epoch() == house.catalog.epoch()
    house.index.fails = failing("commit", "upsert", "delete")
    house.mirror.commit()


def test_a_mirror_that_never_caught_up_commits_nothing(house: House) -> None:
    house.add("one", "herons wait")
    house.mirror.commit()
    assert house.index.epoch() < 0


@pytest.mark.slow
@pytest.mark.parametrize("lose", ["all", "current", "state", "shard"])
def test_a_lost_index_is_built_again(house: House, lose: str) -> None:
    house.add("one", "herons wait")
    house.mirror.catch_up()
    house.index.close()
    folder = house.folder / "index"
    generation = folder / (folder / "current").read_text()
    if lose == "all":
        shutil.rmtree(folder)
    elif lose == "current":
        (folder / "current").unlink()
    elif lose == "state":
        (generation / "state.json").write_bytes(b"{")
    else:
        for path in generation.glob("text/**/*"):
            if path.is_file():
                path.write_bytes(b"rot")
    house.open()
    assert house.mirror.catch_up() == 1
    assert house.holds() == {"one": (1, 1)}


@pytest.mark.slow
def test_an_index_that_is_ahead_of_the_vault_is_built_again(house: House) -> None:
    """The vault was restored from a backup."""
    house.add("one", "herons wait")
    house.mirror.catch_up()
    house.index.commit(99)
    house.open()
    assert house.mirror.catch_up() == 1
    assert house.index.epoch() == house.catalog.epoch()


@pytest.mark.slow
def test_another_model_is_refused_until_pages_are_reembedded(house: House) -> None:
    house.add("one", "herons wait")
    house.mirror.catch_up()
    mirror = house.open(Other())
    with pytest.raises(IndexMismatchError, match=r"fake:384.*other:384") as caught:
        mirror.catch_up()
    assert "docmind reindex" in caught.value.hint
    assert house.holds() == {"one": (1, 1)}
    assert mirror.rebuild() == 1
    assert house.index.fingerprint() == "other:384"
    assert house.open(Other()).catch_up() == 0
    assert house.database.one("SELECT count(DISTINCT fingerprint) FROM vectors") == (2,)


def test_an_empty_index_may_change_its_model(house: House) -> None:
    house.mirror.catch_up()
    assert house.open(Other()).catch_up() == 0
    assert house.index.fingerprint() == "other:384"


@pytest.mark.slow
def test_a_rebuild_that_fails_leaves_the_old_index_at_work(house: House) -> None:
    house.add("one", "herons wait")
    house.mirror.catch_up()
    house.index.fails = failing("upsert")
    with pytest.raises(DiskFullError):
        house.mirror.rebuild()
    house.index.fails = lambda doing: None
    assert house.found("herons") == ["one"]
    house.open()
    assert house.mirror.catch_up() == 0
    assert house.holds() == {"one": (1, 1)}


def test_nothing_readable_is_in_a_payload(house: House) -> None:
    house.add("one", "herons wait")
    house.mirror.catch_up()
    vector = BLIND.dense(house.embedder.embed_query("herons"))
    (scored,) = house.index.search([VectorQuery("text", "text-dense", vector, 10)])
    (point,) = scored
    assert set(point.payload) == {"doc_id", "page_no", "page_id", "modality", "node_id", "language", "tags"}
    assert point.payload["tags"] == [BLIND.tag("tag")]
    assert str(uuid.UUID(point.id)) == point.payload["node_id"]


def test_a_dead_engine_is_an_error_not_a_silence(house: House) -> None:
    house.mirror.catch_up()
    house.index.close()
    with pytest.raises(IndexEngineError):
        house.mirror.put(house.add("one", "herons wait"))


def served(name: str) -> Description:
    return Description(name, "image", "", None, "present", 2, "siglip", fingerprint=name)


@pytest.mark.slow
def test_page_vectors_are_indexed_without_their_documents(house: House) -> None:
    house.add("one", "herons wait", "herons nest")
    house.mirror.catch_up()
    house.serving.adopt(served("m:1"))
    upserts = house.index.upserts
    house.see("one", "m:1", [3.0, 4.0])
    assert house.index.upserts == upserts + 1  # the pages, and not the text
    assert house.seen(0.6, 0.8) == [("one", 1.0)]
    assert house.seen(0.8, -0.6) == [("one", 0.0)]
    assert house.holds() == {"one": (2, 2)}
    house.mirror.commit()
    assert house.index.upserts == upserts + 1
    assert house.open().catch_up() == 0
    assert house.seen(0.6, 0.8) == [("one", 1.0)]
    house.mirror.rebuild()  # both pages show the image
    assert house.seen(0.6, 0.8) == [("one", 1.0), ("one", 1.0)]


@pytest.mark.slow
def test_uncommitted_vectors_are_written_at_the_next_start(house: House) -> None:
    house.add("one", "herons wait")
    house.mirror.catch_up()
    house.serving.adopt(served("m:1"))
    house.index.fails = failing("upsert")
    with pytest.raises(DiskFullError):
        house.see("one", "m:1", [3.0, 4.0])
    assert house.open().catch_up() == 1
    assert house.seen(0.6, 0.8) == [("one", 1.0)]


def test_a_document_new_to_the_index_is_written_whole(house: House) -> None:
    house.add("one", "herons wait")
    house.mirror.catch_up()
    house.serving.adopt(served("m:1"))
    house.add("two", "owls hunt")
    house.see("two", "m:1", [3.0, 4.0])
    house.mirror.commit()
    assert house.holds() == {"one": (1, 1), "two": (1, 1)}
    assert house.found("owls hunt")[0] == "two"


@pytest.mark.slow
def test_a_switch_is_one_change_of_the_whole_index(house: House) -> None:
    """The new vectors are stored beside; the index keeps the old ones until it is rebuilt, also after a crash."""
    house.add("one", "herons wait")
    house.mirror.catch_up()
    house.serving.adopt(served("m:1"))
    house.see("one", "m:1", [1.0, 0.0])
    PageVectors(house.database).put("m:2", {IMAGE.sha256: np.array([0.0, 1.0], np.float32)})
    house.mirror.commit()
    house.serving.switch(served("m:2"))
    assert (house.mirror.image_model(), house.seen(1.0, 0.0)) == ("m:1", [("one", 1.0)])
    house.index.fails = failing("commit")
    with pytest.raises(DiskFullError):
        house.mirror.commit()
    assert (house.mirror.image_model(), house.seen(1.0, 0.0)) == ("m:1", [("one", 1.0)])
    assert house.open().catch_up() == 1
    assert (house.mirror.image_model(), house.seen(0.0, 1.0)) == ("m:2", [("one", 1.0)])
    assert house.open().catch_up() == 0
    assert house.mirror.image_model() == "m:2"


def grown(house: House, monkeypatch: pytest.MonkeyPatch, *, compacting: bool) -> tuple[int, int]:
    """Blocks of the index before and after 50 rounds of adding and deleting a document of 30 pages."""
    monkeypatch.setattr("docmind.index.edge.DEAD", 150)
    if not compacting:
        monkeypatch.setattr(house.index, "is_wasteful", lambda: False)
    with house.database.transaction():
        house.add("kept", *(f"herons wait {n}" for n in range(30)))
    house.mirror.catch_up()
    before = blocks(house.folder / "index")
    rows = [f"owls hunt {n}" for n in range(30)]
    for _ in range(50):
        with house.database.transaction():  # one commit, not one for each row
            house.add("passing", *rows)
        house.mirror.put("passing")
        house.catalog.erase_document("passing")
        house.mirror.drop("passing")
        house.mirror.commit()
    assert house.holds() == {"kept": (30, 30)}
    assert house.found("herons wait 7")[0] == "kept"
    assert house.index.epoch() == house.catalog.epoch()
    return before, blocks(house.folder / "index")


def blocks(folder: Path) -> int:
    return sum(path.stat().st_blocks * 512 for path in folder.rglob("*") if path.is_file())


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.skipif(not hasattr(os.stat_result, "st_blocks"), reason="no blocks to count")
@pytest.mark.parametrize("compacting", [True, False])
def test_an_index_of_dead_points_is_built_again(
    house: House, monkeypatch: pytest.MonkeyPatch, *, compacting: bool
) -> None:
    before, after = grown(house, monkeypatch, compacting=compacting)
    if compacting:
        assert after < 3 * before
        assert house.index.upserts < 50 * 2 * 3
    else:  # the control: without it the dead points stay in the files
        assert after > 5 * before


@pytest.mark.slow
def test_a_compaction_without_room_changes_nothing(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("docmind.index.edge.DEAD", 10)
    house.add("one", "herons wait")
    house.mirror.catch_up()
    for _ in range(9):
        house.mirror.put("one")
    house.index.fails = failing("rebuild")
    house.mirror.put(house.add("two", "owls hunt"))
    house.mirror.commit()
    assert house.index.epoch() == house.catalog.epoch()
    assert house.holds() == {"one": (1, 1), "two": (1, 1)}
    house.index.fails = failing()
    house.mirror.put(house.add("three", "cranes dance"))
    house.mirror.commit()
    assert house.holds() == {"one": (1, 1), "three": (1, 1), "two": (1, 1)}
    assert not house.index.is_wasteful()


@pytest.mark.slow
def test_after_a_rebuild_that_failed_the_old_index_is_written_to(house: House) -> None:
    house.add("one", "herons wait")
    house.mirror.catch_up()
    house.index.fails = failing("commit")
    with pytest.raises(DiskFullError):
        house.mirror.rebuild()
    house.index.fails = failing()
    house.mirror.put(house.add("two", "owls hunt"))
    assert set(house.found("owls hunt")) == {"one", "two"}
    house.mirror.commit()
    assert house.index.epoch() == house.catalog.epoch()


@pytest.mark.slow
def test_an_index_without_room_to_open_is_not_rebuilt(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    house.add("one", "herons wait")
    house.mirror.catch_up()

    def full() -> int:
        raise DiskFullError("too full to open")

    with monkeypatch.context() as cramped:
        cramped.setattr(house.index, "epoch", full)
        written = house.index.upserts
        with pytest.raises(DiskFullError, match="too full to open"):
            house.mirror.catch_up()
        assert house.index.upserts == written
    assert house.mirror.catch_up() == 0
