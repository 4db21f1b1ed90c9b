"""Snapshots: taken, compared, checked, activated, pruned; shared segments, erased documents, killed processes."""

from __future__ import annotations

import json
import os
import signal
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import forked
from clearvault import IdentityCipher, clear
from desks import environment_of, opened, settings_in, text_pdf
from docmind.application import DocMind
from docmind.config import SnapshotSettings
from docmind.errors import ConfigError, DamagedError, DiskFullError, NotFoundError
from docmind.maintenance import roll_back
from docmind.maintenance.purge import search_files
from docmind.records.documents import Upload
from docmind.records.query import Query
from docmind.records.search import Filters
from docmind.storage import MIGRATIONS, Database, open_keys
from libraries import Library

SECRET = "The Quokkazephyrine engine needs Fjordvexil oil twice a year."
HERON = "The heron nests beside the river in early spring."
OTTER = "The otter sleeps under the old bridge at noon."
WORDS = ("Quokkazephyrine", "Fjordvexil", "Xerobiscuitine")
NAME = "Xerobiscuitine manual.pdf"


def uploads() -> list[Upload]:
    return [Upload(NAME, text_pdf([SECRET, "The second page is about bolts."])), Upload("herons.txt", HERON.encode())]


def state_of(docmind: DocMind) -> dict[str, tuple[object, ...]]:
    """Return what a person sees of the documents: names, titles, tags, collections, texts."""
    names = {one.collection_id: one.name for one in docmind.documents.collections()}
    return {
        info.doc_id: (
            info.document, info.title, info.tags, info.language, sorted(names[one] for one in info.collections),
            tuple(docmind.documents.page(info.doc_id, number).text for number in range(1, info.pages + 1)),
            tuple(docmind.documents.page_image(info.doc_id, number) for number in range(1, info.pages + 1)),
            docmind.documents.original(info.doc_id),
        )
        for info in docmind.documents.all()
    }  # fmt: skip


def change(docmind: DocMind) -> None:
    """Change everything that a snapshot holds: erase, rename, tag, collect, set a language, add."""
    herons = docmind.documents.find("herons.txt").doc_id
    docmind.erasures.erase([docmind.documents.find(NAME).doc_id])
    docmind.documents.edit(herons, document="birds.txt", title="Birds")
    docmind.documents.tag([herons], add=["new"], remove=["old"])
    docmind.documents.set_language([herons], "fr")
    docmind.documents.remove_collection(docmind.documents.collection("Nature").collection_id)
    docmind.documents.new_collection("Later", [herons])
    docmind.add([Upload("otters.txt", OTTER.encode())])


def arrange(docmind: DocMind) -> None:
    """Tag a document and put it into a collection."""
    herons = docmind.documents.find("herons.txt").doc_id
    docmind.documents.tag([herons], add=["old"])
    docmind.documents.new_collection("Nature", [herons])


def filled(docmind: DocMind) -> None:
    docmind.add(uploads())
    arrange(docmind)


LIBRARY = Library("a secret and herons in a collection", uploads(), arrange)


def segments(folder: Path) -> set[str]:
    return {path.name for path in (folder / "data" / "snapshots" / "segments").glob("*.segment")}


@pytest.mark.slow
def test_activating_brings_everything_back(tmp_path: Path) -> None:
    with LIBRARY.opened(tmp_path) as docmind:
        before = state_of(docmind)
        taken = docmind.snapshots.create("  As it\nwas ")
        assert (taken.title, taken.documents, taken.pages, taken.left_out) == ("As it was", 2, 3, ())
        assert docmind.snapshots.compare(taken.snapshot_id).is_empty
        change(docmind)
        changed = state_of(docmind)
        told = docmind.snapshots.compare(taken.snapshot_id)
        assert [name for _doc_id, name in told.added] == ["otters.txt"]
        assert [name for _doc_id, name in told.gone] == [NAME]
        (one,) = told.changed
        assert (one.document, set(one.changes)) == ("birds.txt", {"name", "title", "tags", "language", "collections"})
        done = docmind.snapshots.activate(taken.snapshot_id)
        assert (done.restored, done.binned, done.changed, done.unchanged) == (1, 1, 1, 0)
        assert state_of(docmind) == before
        assert docmind.snapshots.compare(taken.snapshot_id).is_empty
        assert [info.document for info in docmind.documents.binned()] == ["otters.txt"]
        assert docmind.search("engine oil").hits[0].document == NAME
        assert {hit.document for hit in docmind.search("otter bridge").hits} <= {NAME, "herons.txt"}
        back = docmind.snapshots.activate(done.before)
        assert (back.restored, back.binned) == (1, 1)
        assert state_of(docmind) == changed
        assert docmind.snapshots.find(done.before).title == "Before another snapshot was activated"
    with opened(tmp_path) as docmind:
        assert state_of(docmind) == changed
        assert docmind.search("otter bridge").hits[0].document == "otters.txt"


@pytest.mark.slow
def test_an_unchanged_library_shares_all_segments(tmp_path: Path) -> None:
    with LIBRARY.opened(tmp_path) as docmind:
        first = docmind.snapshots.create("one")
        files = segments(tmp_path)
        second = docmind.snapshots.create("two")
        assert segments(tmp_path) == files
        assert len(files) == 2
        assert (first.corpus, first.config) == (second.corpus, second.config)
        assert second.own_bytes < first.own_bytes
        docmind.documents.tag([docmind.documents.all()[0].doc_id], add=["more"])
        third = docmind.snapshots.create("three")
        assert segments(tmp_path) == files, "a tag is no other text"
        assert third.corpus != second.corpus
        docmind.snapshots.remove(first.snapshot_id)
        docmind.snapshots.remove(third.snapshot_id)
        assert segments(tmp_path) == files
        docmind.snapshots.remove(second.snapshot_id)
        assert segments(tmp_path) == set()
        assert docmind.vault.database.all("SELECT count(*) FROM segment_keys") == [(0,)]
        assert docmind.snapshots.list() == ()
        assert len(docmind.documents.all()) == 2


def test_files_stay_while_a_snapshot_holds_them(tmp_path: Path) -> None:
    with LIBRARY.opened(tmp_path) as docmind:
        taken = docmind.snapshots.create("held")
        docmind.erasures.erase([docmind.documents.find(NAME).doc_id])
        assert docmind.ingest.set_aside() == 0
        assert docmind.snapshots.verify(taken.snapshot_id, deep=True).problems == ()
        there = len(list((tmp_path / "data" / "artifacts").iterdir()))
        docmind.snapshots.remove(taken.snapshot_id)
        assert len(list((tmp_path / "data" / "artifacts").iterdir())) == there - 5
    with opened(tmp_path) as docmind:
        assert docmind.ingest.set_aside() == 0


def test_what_is_in_the_bin_is_not_held(tmp_path: Path) -> None:
    with LIBRARY.opened(tmp_path) as docmind:
        docmind.documents.bin([docmind.documents.find(NAME).doc_id])
        taken = docmind.snapshots.create()
        assert taken.documents == 1
        docmind.documents.restore([docmind.documents.binned()[0].doc_id])
        docmind.snapshots.activate(taken.snapshot_id)
        assert [info.document for info in docmind.documents.binned()] == [NAME]


def test_a_document_that_is_being_read_stops_the_activation(tmp_path: Path) -> None:
    with LIBRARY.opened(tmp_path) as docmind:
        taken = docmind.snapshots.create()
        docmind.documents.edit(docmind.documents.find("herons.txt").doc_id, document="birds.txt")
        with docmind.vault.database.transaction() as db:
            db.execute("UPDATE documents SET status = 'reading' WHERE document = ?", (NAME,))
        with pytest.raises(ConfigError, match="being read"):
            docmind.snapshots.activate(taken.snapshot_id)
        assert docmind.documents.find("birds.txt")


def test_a_collection_that_a_conversation_is_bound_to_stays(tmp_path: Path) -> None:
    with LIBRARY.opened(tmp_path) as docmind:
        taken = docmind.snapshots.create()
        bound = docmind.documents.new_collection("Bound", [docmind.documents.all()[0].doc_id])
        docmind.documents.new_collection("Loose")
        thread = docmind.conversations.create(collections=[bound.collection_id])
        docmind.snapshots.activate(taken.snapshot_id)
        assert {one.name for one in docmind.documents.collections()} == {"Nature", "Bound"}
        assert docmind.conversations.thread(thread.thread_id).bound.collections == (bound.collection_id,)


def test_settings_come_back_if_asked(tmp_path: Path) -> None:
    with LIBRARY.opened(tmp_path) as docmind:
        docmind.settings.put({"answer.quotes": 7, "web.api_key": "secret"})
        taken = docmind.snapshots.create()
        docmind.settings.put({"answer.quotes": 3, "search.looks": 1})
        changes = {one.name: (one.before, one.after) for one in docmind.snapshots.compare(taken.snapshot_id).settings}
        assert changes == {"answer.quotes": (7, 3), "search.looks": (None, 1)}
        docmind.snapshots.activate(taken.snapshot_id)
        assert docmind.settings.info("answer.quotes").value == 3
        done = docmind.snapshots.activate(taken.snapshot_id, settings=True)
        assert set(done.settings) == {"answer.quotes", "search.looks"}
        assert docmind.settings.info("answer.quotes").value == 7
        assert docmind.settings.info("search.looks").source == "default"
        assert docmind.settings.info("web.api_key").is_set


def damaged(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))


@pytest.mark.parametrize("part", ["manifest", "signature", "state", "segment", "missing", "artifact"])
def test_damage_is_found_and_nothing_is_activated(tmp_path: Path, part: str) -> None:
    with LIBRARY.opened(tmp_path) as docmind:
        taken = docmind.snapshots.create()
        folder = tmp_path / "data" / "snapshots" / taken.snapshot_id
        segment = next((tmp_path / "data" / "snapshots" / "segments").iterdir())
        if part == "manifest":
            manifest = folder / "manifest.jsonl"
            manifest.write_text(manifest.read_text().replace('"documents": 2', '"documents": 1'))
        elif part == "signature":
            manifest = folder / "manifest.jsonl"
            manifest.write_text("\n".join(manifest.read_text().splitlines()[:-1]) + "\n")
        elif part == "missing":
            segment.unlink()
        elif part == "artifact":
            docmind.vault.artifacts.remove([docmind.vault.catalog.original(docmind.documents.find(NAME).doc_id)])
        else:
            damaged(next(folder.glob("state-*")) if part == "state" else segment)
        assert docmind.snapshots.verify(taken.snapshot_id).problems
        with pytest.raises(DamagedError):
            docmind.snapshots.activate(taken.snapshot_id)
        assert len(docmind.documents.all()) == 2
        if part in ("segment", "missing"):  # the next one writes it again
            again = docmind.snapshots.create()
            assert bool(docmind.snapshots.verify(again.snapshot_id).problems) == (part == "segment")


def test_a_damaged_artifact_is_found_by_a_deep_check(tmp_path: Path) -> None:
    with LIBRARY.opened(tmp_path) as docmind:
        taken = docmind.snapshots.create()
        damaged(next((tmp_path / "data" / "artifacts").glob("*.original.enc")))
        assert docmind.snapshots.verify(taken.snapshot_id).problems == ()
        (problem,) = docmind.snapshots.verify(taken.snapshot_id, deep=True).problems
        assert "checksum" in problem


@pytest.mark.slow
def test_a_snapshot_of_another_vault_is_refused(tmp_path: Path) -> None:
    ids = []
    for name in ("first", "second"):
        with opened(tmp_path / name) as docmind:
            filled(docmind)
            ids.append(docmind.snapshots.create().snapshot_id)
    source, target = (
        tmp_path / name / "data" / "snapshots" / one for name, one in zip(("first", "second"), ids, strict=True)
    )
    (target / "manifest.jsonl").write_bytes((source / "manifest.jsonl").read_bytes())
    with opened(tmp_path / "second") as docmind:
        assert docmind.snapshots.verify(ids[1]).problems


def test_a_manifest_has_no_paths(tmp_path: Path) -> None:
    with LIBRARY.opened(tmp_path) as docmind:
        taken = docmind.snapshots.create("A telling title")
        lines = [
            json.loads(line)
            for line in (tmp_path / "data" / "snapshots" / taken.snapshot_id / "manifest.jsonl")
            .read_text()
            .splitlines()
        ]
        assert {"/" in name or "\\" in name for name in (line.get("name", "") for line in lines)} == {False}
        assert lines[0]["documents"] == 2
        text = json.dumps(lines)
        assert not [word for word in (*WORDS, "telling", "herons") if word in text]
        manifest = docmind.snapshots._files.manifest(taken.snapshot_id)
        bad = replace(manifest.members[1], name="../../vault.db")
        docmind.snapshots._files.put_manifest(replace(manifest, members=(manifest.members[0], bad)))
        assert docmind.snapshots.verify(taken.snapshot_id).problems, "signed, and refused all the same"


@pytest.mark.slow
def test_asked_as_of_a_snapshot(tmp_path: Path) -> None:
    with LIBRARY.opened(tmp_path) as docmind:
        taken = docmind.snapshots.create()
        docmind.add([Upload("otters.txt", OTTER.encode())])
        as_of = Filters(snapshots=(taken.snapshot_id,))
        assert docmind.search("otter bridge").hits[0].document == "otters.txt"
        found = docmind.search(Query("otter bridge", filters=as_of))
        assert "otters.txt" not in {hit.document for hit in found.hits}
        assert not found.degraded
        docmind.erasures.erase([docmind.documents.find(NAME).doc_id])
        for result in (
            docmind.search(Query("engine oil", filters=as_of)),
            docmind.search(Query("engine oil", filters=as_of)),
            docmind.ask(Query("Where does the heron nest?", filters=as_of)),
        ):
            (lacks,) = [one for one in result.degraded if one.stage == "snapshot"]
            assert "1 document of the snapshot isn't in the library now" in lacks.reason
        turn = docmind.conversations.ask(Query("Where does the heron nest?", filters=as_of))
        assert turn.filters == as_of
        listed = docmind.ask(Query("List all documents", filters=as_of))
        assert listed.answer is not None
        assert "otters" not in listed.answer
        docmind.snapshots.remove(taken.snapshot_id)
        gone = docmind.search(Query("heron", filters=as_of))
        assert not gone.hits
        assert "isn't there any more" in gone.degraded[0].reason


HERONS = "herons.txt"


def found_in(docmind: DocMind, filters: Filters, picture: bytes) -> list[bool]:
    """Return whether each way of asking for herons finds their document."""
    asked = docmind.conversations.ask(Query("Where does the heron nest?", filters=filters)).answer
    assert asked is not None
    found = [
        {hit.document for hit in docmind.search(Query("heron nest", filters=filters)).hits},
        {hit.document for hit in docmind.search(Query("heron nest", filters=filters)).hits},
        {hit.document for hit in docmind.search(Query(picture=picture, filters=filters, read_picture=False)).hits},
        {source.document for source in docmind.ask(Query("Where does the heron nest?", filters=filters)).sources},
        {source.document for source in asked.sources},
        {source.document for source in docmind.ask(Query("List all documents", filters=filters)).sources},
    ]
    return [HERONS in names for names in found]


@pytest.mark.slow
def test_documents_of_the_bin_are_asked_as_of_a_snapshot(tmp_path: Path) -> None:
    with LIBRARY.opened(tmp_path) as docmind:
        taken = docmind.snapshots.create()
        docmind.lookalike.catch_up()
        doc_id = docmind.documents.find(HERONS).doc_id
        picture = docmind.documents.page_image(doc_id, 1)
        as_of = Filters(snapshots=(taken.snapshot_id,))
        everywhere, nowhere = found_in(docmind, as_of, picture), [False] * 6
        assert everywhere == [True] * 6
        docmind.documents.bin([doc_id])
        assert found_in(docmind, as_of, picture) == everywhere
        assert found_in(docmind, Filters(), picture) == nowhere
        assert found_in(docmind, Filters(doc_ids=(doc_id,)), picture) == nowhere
        told = docmind.ask(Query(f"Summarize {HERONS}", filters=as_of))
        assert HERON in (told.answer or "")
        assert HERON not in (docmind.ask(f"Summarize {HERONS}").answer or "")
        result = docmind.search(Query("heron nest", filters=as_of))
        assert not result.degraded
        assert docmind.documents.page(result.hits[0].doc_id, 1).document == HERONS
        assert docmind.reader.find(doc_id, "heron").places
        assert not docmind.doctor.examine("full").findings
        docmind.reindex()
        assert found_in(docmind, as_of, picture) == everywhere
        assert found_in(docmind, Filters(), picture) == nowhere
    with opened(tmp_path) as docmind:
        assert found_in(docmind, as_of, picture) == everywhere
        docmind.snapshots.remove(taken.snapshot_id)
        assert found_in(docmind, Filters(), picture) == nowhere
        with pytest.raises(NotFoundError, match="in the bin"):
            docmind.documents.page(doc_id, 1)
        assert not docmind.doctor.examine("full").findings, "the index follows"
        docmind.documents.restore([doc_id])
        assert found_in(docmind, Filters(), picture) == everywhere


def clear_snapshots(patch: pytest.MonkeyPatch) -> None:
    clear(patch)
    patch.setattr("docmind.storage.snapshot_files.AESGCM", IdentityCipher)
    patch.setattr("docmind.storage.snapshot_files._LEVEL", 0)  # what is compressed is not found by its words


def readable(folder: Path) -> set[str]:
    return {word for word, number in search_files(folder, WORDS).hits.items() if number}


@pytest.mark.slow
@pytest.mark.parametrize("is_clear", [False, True], ids=["encrypted", "in clear"])
def test_no_word_is_left_in_snapshots_where_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_clear: bool
) -> None:
    """In the build without encryption the words are found before, in the segments too."""
    if is_clear:
        clear_snapshots(monkeypatch)
    with opened(tmp_path) as docmind:
        filled(docmind)
        first, second = (docmind.snapshots.create(name).snapshot_id for name in ("one", "two"))
        doc_id = docmind.documents.find(NAME).doc_id
        (receipt,) = docmind.erasures.erase([doc_id])
        assert receipt.snapshots == (second, first)
        assert receipt.is_clean != is_clear, "in clear the search finds what the snapshots hold"
        assert docmind.erasures.verify(docmind.erasures.text_of(receipt).encode()).snapshots == (second, first)
        assert readable(tmp_path / "data" / "snapshots") == (set(WORDS[:2]) if is_clear else set())
        (again,) = docmind.erasures.erase([doc_id], snapshots=True)
        assert again.is_clean, again
        assert (again.document, again.snapshots) == (NAME, ())
        assert again.sequences >= 2, "what is searched for comes from the snapshots"
        assert dict(again.erased)["snapshots"] == 2
        assert readable(tmp_path) == set()
        for one in docmind.snapshots.list():
            assert (one.documents, one.erased) == (1, 1)
            assert docmind.snapshots.verify(one.snapshot_id, deep=True).problems == ()
        manifest = (tmp_path / "data" / "snapshots" / first / "manifest.jsonl").read_text()
        assert manifest.count("erased_at_ms") == 1
        assert [one.document for one in docmind.snapshots.documents(first)] == ["herons.txt"]
        docmind.snapshots.activate(first)
        assert [info.document for info in docmind.documents.all()] == ["herons.txt"]
        with pytest.raises(NotFoundError):
            docmind.erasures.erase([doc_id], snapshots=True)
    assert readable(tmp_path) == set()


def test_a_copy_of_a_segment_cannot_be_read_afterwards(tmp_path: Path) -> None:
    with LIBRARY.opened(tmp_path) as docmind:
        taken = docmind.snapshots.create()
        doc_id = docmind.documents.find(NAME).doc_id
        folder = tmp_path / "data" / "snapshots"
        (member,) = [one for one in docmind.snapshots._rows.members(taken.snapshot_id) if one.doc_id == doc_id]
        copies = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        assert docmind.snapshots._key(doc_id)
        docmind.erasures.erase([doc_id], snapshots=True)
        for path, data in copies.items():
            path.write_bytes(data)
        with pytest.raises(DamagedError, match="key"):
            docmind.snapshots._key(doc_id)
        assert [one.document for one in docmind.snapshots.documents(taken.snapshot_id)] == ["herons.txt"]
        assert not docmind.vault.database.one("SELECT 1 FROM segments WHERE address = ?", (member.address,))


def test_a_document_is_erased_from_the_library_and_snapshots_at_once(tmp_path: Path) -> None:
    with LIBRARY.opened(tmp_path) as docmind:
        docmind.snapshots.create()
        (receipt,) = docmind.erasures.erase([docmind.documents.find(NAME).doc_id], snapshots=True)
        assert receipt.is_clean
        assert (receipt.snapshots, dict(receipt.erased)["snapshots"], dict(receipt.erased)["files"]) == ((), 1, 5)


def test_pruning_keeps_the_newest_the_young_and_the_pinned(tmp_path: Path) -> None:
    limits = SnapshotSettings(keep=2, keep_days=30, automatic=1)
    with LIBRARY.opened(tmp_path, snapshots=limits) as docmind:
        ids = [docmind.snapshots.create(str(number)).snapshot_id for number in range(5)]
        with docmind.vault.database.transaction() as db:
            db.executemany(
                "UPDATE snapshots SET created_at_ms = ? WHERE snapshot_id = ?",
                [(1_000 + number, one) for number, one in enumerate(ids[:4])],
            )
        docmind.snapshots.pin(ids[0])
        would = docmind.snapshots.prune(dry_run=True)
        assert {one.snapshot_id for one in would} == {ids[1], ids[2]}
        assert len(docmind.snapshots.list()) == 5
        assert docmind.snapshots.prune() == would
        assert {one.snapshot_id for one in docmind.snapshots.list()} == {ids[0], ids[3], ids[4]}
        assert [one.snapshot_id for one in docmind.snapshots.prune(keep=0, days=0)] == [ids[4], ids[3]]
        docmind.snapshots.create(reason="text model")
        newest = docmind.snapshots.create(reason="text model")
        automatic = [one for one in docmind.snapshots.list() if one.is_automatic]
        assert automatic == [newest], "only so many of those that nobody asked for"


def test_names_of_snapshots(tmp_path: Path) -> None:
    with LIBRARY.opened(tmp_path) as docmind:
        one = docmind.snapshots.create("Before spring")
        for name in (one.snapshot_id, one.snapshot_id[:6], "before SPRING"):
            assert docmind.snapshots.find(name) == docmind.snapshots.list()[0]
        docmind.snapshots.create("Before spring")
        for name in ("Before spring", "nothing", one.snapshot_id[:2]):
            with pytest.raises(NotFoundError):
                docmind.snapshots.find(name)


@pytest.mark.slow
def test_a_text_model_is_switched_with_a_snapshot(tmp_path: Path) -> None:
    with LIBRARY.opened(tmp_path) as docmind:
        model, index = docmind.embedder, docmind.index
        docmind.reindex()
        assert docmind.snapshots.list() == ()
        made = index.built_by()
        other = _Other(model)
        docmind.index._embedder = docmind.reindexing._embedder = other  # type: ignore[assignment]
        docmind.snapshots._text_model = ("other", "another model")
        docmind.reindex()
        (taken,) = docmind.snapshots.list()
        assert (taken.reason, taken.text_model, taken.documents) == ("text model", made, 2)
        docmind.index._embedder = docmind.reindexing._embedder = model


class _Other:
    """A text model with another fingerprint."""

    def __init__(self, model: object) -> None:
        self._model = model
        self.fingerprint = "another model"

    def __getattr__(self, name: str) -> object:
        return getattr(self._model, name)


def older(folder: Path) -> int:
    """Take the last migration back, as if an older DocMind had written the vault; return the number before it."""
    columns = (
        "SELECT t.name, c.name FROM sqlite_master t JOIN pragma_table_info(t.name) c WHERE t.type = 'table'"
        " AND t.name IN ('documents', 'pages', 'nodes', 'uploads', 'figures')"
    )
    others = "SELECT type, name FROM sqlite_master WHERE type IN ('table', 'index', 'trigger') AND sql IS NOT NULL"
    before = Database(folder / "before.db", bytes(32), migrations=MIGRATIONS[:-1])
    had, had_others = before.all(columns), before.all(others)
    before.close()
    with opened(folder) as docmind:
        added = [place for place in docmind.vault.database.all(columns) if place not in had]
        new = [one for one in docmind.vault.database.all(others) if one not in had_others]
        made = (
            "enclosed", "documents_", "uploads_", "corrections", "figure", "folder_files_", "source_labels",
            "evaluation_", "said_versions", "passage_vectors",
        )  # fmt: skip
        with docmind.vault.database.outside() as db:
            for kind, name in (one for one in new if one[1].startswith(made)):
                db.execute(f"DROP {kind} IF EXISTS {name}")
            for table, column in added:
                db.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
            db.execute("DELETE FROM migrations WHERE number = ?", (len(MIGRATIONS),))
        return len(MIGRATIONS) - 1


def opening_fails(folder: Path, **changes: object) -> None:
    with pytest.raises(DiskFullError, match="older DocMind") as told, opened(folder, **changes):
        pass
    assert "BEFORE_MIGRATION" in told.value.hint


@pytest.mark.slow
def test_a_copy_is_kept_before_the_schema_changes_and_put_back(tmp_path: Path) -> None:
    with LIBRARY.opened(tmp_path) as docmind:
        before = state_of(docmind)
    schema = older(tmp_path)
    with opened(tmp_path) as docmind:
        (kept,) = docmind.snapshots.databases()
        assert (kept.schema, kept.bytes > 0) == (schema, True)
        assert state_of(docmind) == before
        docmind.add([Upload("otters.txt", OTTER.encode())])
    replaced = roll_back(settings_in(tmp_path), kept.name)
    key = open_keys(tmp_path / "data", settings_in(tmp_path).keys).keyset.db_key
    then = Database(tmp_path / "data" / "vault.db", key, MIGRATIONS[:schema])
    assert then.one("SELECT count(*), (SELECT max(number) FROM migrations) FROM documents") == (2, schema)
    then.close()
    roll_back(settings_in(tmp_path), replaced.name)
    with opened(tmp_path) as docmind:
        assert len(docmind.documents.all()) == 3
        assert replaced.name in {one.name for one in docmind.snapshots.databases()}


def test_a_kept_database_that_holds_an_erased_document_is_named(tmp_path: Path) -> None:
    LIBRARY.copy_to(tmp_path)
    older(tmp_path)
    with opened(tmp_path) as docmind:
        (kept,) = docmind.snapshots.databases()
        doc_id = docmind.documents.find(NAME).doc_id
        (receipt,) = docmind.erasures.erase([doc_id])
        assert receipt.snapshots == (kept.name,)
        (receipt,) = docmind.erasures.erase([doc_id], snapshots=True)
        assert (receipt.is_clean, receipt.snapshots) == (True, ())
        assert docmind.snapshots.databases() == ()


def test_a_full_disk_stops_before_the_schema_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    LIBRARY.copy_to(tmp_path)
    schema = older(tmp_path)
    monkeypatch.setattr("docmind.storage.kept_database.free_bytes", lambda folder: 1000)
    opening_fails(tmp_path)
    key = open_keys(tmp_path / "data", settings_in(tmp_path).keys).keyset.db_key
    then = Database(tmp_path / "data" / "vault.db", key, MIGRATIONS[:schema])
    assert then.one("SELECT max(number) FROM migrations") == (schema,)
    then.close()
    with opened(tmp_path, snapshots=SnapshotSettings(before_migration="off")) as docmind:
        assert docmind.snapshots.databases() == ()
        assert len(docmind.documents.all()) == 2


def test_old_copies_of_the_database_are_removed(tmp_path: Path) -> None:
    with LIBRARY.opened(tmp_path) as docmind:
        folder = tmp_path / "data" / "snapshots" / "before-m003-1600000000000"
        folder.mkdir(parents=True)
        for name in ("vault.db", "mark", "notes.txt"):
            (folder / name).write_bytes(b"x")
    with opened(tmp_path) as docmind:
        (kept,) = docmind.snapshots.databases()  # whatever time its name says, it is seen for the first time
        with docmind.vault.database.transaction() as db:
            db.execute("UPDATE ages SET since_ms = since_ms - ? WHERE name = ?", (31 * 86_400_000, kept.name))
    with opened(tmp_path) as docmind:
        assert docmind.snapshots.databases() == ()
        assert [path.name for path in folder.iterdir()] == ["notes.txt"], "what is not DocMind's stays"


def test_a_full_disk_leaves_no_snapshot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_args: object, **_named: object) -> None:
        raise DiskFullError("full")

    with LIBRARY.opened(tmp_path) as docmind:
        for part in ("put_segments", "put_state", "put_manifest"):
            with monkeypatch.context() as patch:
                patch.setattr(docmind.snapshots._files, part, full)
                with pytest.raises(DiskFullError):
                    docmind.snapshots.create()
            assert docmind.snapshots.list() == ()
            assert segments(tmp_path) == set()
        assert docmind.snapshots.create().documents == 2


KILLED = """
import os, signal, sys
from desks import opened
from docmind.documents import Segments
from docmind.storage import Artifacts, SnapshotFiles
from pathlib import Path

def stop(*_args, **_named):
    os.kill(os.getpid(), signal.SIGKILL)

def after(function):
    def call(*args, **named):
        function(*args, **named)
        stop()
    return call

place, snapshot_id, doc_id = sys.argv[2:5]
with opened(Path(sys.argv[1])) as docmind:
    snapshots, rows, files = docmind.snapshots, docmind.snapshots._rows, docmind.snapshots._files
    if place.startswith("take"):
        name = place.split(" ")[1]
        part = files if hasattr(files, name) else rows
        setattr(part, name, after(getattr(part, name)))
        snapshots.create("killed")
    elif place.startswith("remove"):
        name = place.split(" ")[1]
        part = files if hasattr(files, name) else docmind.vault.artifacts if name == "unlink" else rows
        name = "remove" if name == "unlink" else name
        setattr(part, name, after(getattr(part, name)) if place.endswith("after") else stop)
        snapshots.remove(snapshot_id)
    elif place.startswith("erase"):
        name = place.split(" ")[1]
        setattr(files, name, stop)
        docmind.erasures.erase([doc_id], snapshots=True)
    else:
        if place == "before the transaction":
            rows.put_back = stop
        elif place == "inside the transaction":
            rows.put_back = after(rows.put_back)
        else:
            docmind.vault.database.settle = stop
            snapshots._remove = lambda one: None
        snapshots.activate(snapshot_id)
"""


def kill_at(folder: Path, place: str, snapshot_id: str = "", doc_id: str = "") -> None:
    environment = {**environment_of(folder), "PYTHONPATH": os.pathsep.join(sys.path)}
    told = [sys.executable, "-c", KILLED, str(folder), place, snapshot_id, doc_id]
    assert forked.run(told, env=environment, check=False).returncode == -signal.SIGKILL


def is_clean(docmind: DocMind, folder: Path) -> bool:
    """Return whether files and rows of snapshots agree, and nothing of an unfinished one is left."""
    known = {one.snapshot_id for one in docmind.snapshots.list()}
    there = {path.name for path in (folder / "data" / "snapshots").iterdir()} - {"segments"}
    rows = {f"{address}.segment" for (address,) in docmind.vault.database.all("SELECT address FROM segments")}
    is_whole = not docmind.vault.database.all("SELECT 1 FROM snapshots WHERE state <> 'whole'")
    return known == there and rows == segments(folder) and is_whole


@pytest.mark.slow
@pytest.mark.crash
@pytest.mark.parametrize("place", ["before the transaction", "inside the transaction", "after the commit"])
def test_an_activation_that_is_killed_is_done_or_not(tmp_path: Path, place: str) -> None:
    with LIBRARY.opened(tmp_path) as docmind:
        before = state_of(docmind)
        taken = docmind.snapshots.create()
        change(docmind)
        changed = state_of(docmind)
    kill_at(tmp_path, place, taken.snapshot_id)
    with opened(tmp_path) as docmind:
        assert state_of(docmind) == (before if place == "after the commit" else changed)
        assert is_clean(docmind, tmp_path)
        found = docmind.search("otter bridge").hits
        assert ("otters.txt" in {hit.document for hit in found}) == (place != "after the commit")


@pytest.mark.slow
@pytest.mark.crash
@pytest.mark.parametrize(
    "place",
    ["take begin", "take join", "take put_segments", "take put_state", "take put_manifest", "remove going after",
     "remove remove_segments", "remove unlink", "erase remove_segments", "erase put_manifest"],
)  # fmt: skip
def test_what_is_killed_leaves_nothing(tmp_path: Path, place: str) -> None:
    with LIBRARY.opened(tmp_path) as docmind:
        kept = docmind.snapshots.create("kept")
        doc_id = docmind.documents.find(NAME).doc_id
        herons = docmind.documents.find("herons.txt").doc_id
        docmind.documents.set_language([herons], "fr")
        taken = docmind.snapshots.create("other")
        docmind.documents.set_language([herons], "pt")
    kill_at(tmp_path, place, taken.snapshot_id, doc_id)
    with opened(tmp_path) as docmind:
        if place.startswith("erase"):
            docmind.erasures.finish()
            (receipt,) = docmind.erasures.receipts()
            assert (receipt.is_clean, receipt.snapshots) == (True, ())
            assert docmind.snapshots.list()[0].erased == 1
        ids = [one.snapshot_id for one in docmind.snapshots.list()]
        assert ids == ([kept.snapshot_id] if place.startswith("remove") else [taken.snapshot_id, kept.snapshot_id])
        assert is_clean(docmind, tmp_path)
        assert not [one for name in ids for one in docmind.snapshots.verify(name, deep=True).problems]
        assert docmind.ingest.set_aside() == 0
