"""One bad row of each kind, planted: it costs itself alone, everything else answers, and the bad one is named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from docmind import DocMind
from docmind.errors import StateRefusedError
from docmind.records.documents import Upload
from libraries import TEN_TURNS, Library
from sampled import tenth_of

pytestmark = pytest.mark.slow
FIRST = "(SELECT min(doc_id) FROM documents)"


@pytest.fixture(scope="module")
def library() -> Library:
    return TEN_TURNS


class Planted(NamedTuple):
    """SQL that makes one row bad, the kind of finding that names it, and a part of what a search says of it."""

    sql: str
    kind: str
    told: str = ""


PLANTED = {
    "tags": Planted(f"UPDATE documents SET tags = '[\"a' WHERE doc_id = {FIRST}", "row-damaged", "in part"),
    "tags that are no list": Planted(f"UPDATE documents SET tags = '7' WHERE doc_id = {FIRST}", "row-damaged", "part"),
    "former name": Planted(f"UPDATE documents SET read_as = 'x' WHERE doc_id = {FIRST}", "row-damaged", "in part"),
    "original": Planted(f"UPDATE documents SET original = 'zz' WHERE doc_id = {FIRST}", "row-damaged"),
    "language of a page": Planted(
        f"UPDATE pages SET language = 'not a language' WHERE doc_id = {FIRST}", "document-refused", "refuses"
    ),
    "words of a page": Planted(f"UPDATE pages SET words = x'0102' WHERE doc_id = {FIRST}", "words-damaged", "left out"),
    "image of a page": Planted(f"UPDATE pages SET image = 'zz' WHERE doc_id = {FIRST}", "row-damaged", "left out"),
    "vector": Planted(
        "UPDATE vectors SET vector = x'0102' WHERE content_hash IN"
        f" (SELECT content_hash FROM nodes WHERE doc_id = {FIRST})",
        "vector-damaged",
    ),
    "upload": Planted(
        "INSERT INTO uploads (batch, name, tags, doc_id, artifact, artifact_suffix, bytes, state, added_at_ms,"
        " changed_at_ms) VALUES (1, 'bad.pdf', '{', 'ab', 'zz', '.x', 1, 'waiting', 1, 1)",
        "row-damaged",
    ),
    "folder": Planted(
        "INSERT INTO folders (path, salt, include, exclude, is_watched, added_at_ms)"
        " VALUES ('/nowhere', x'00', '[', '[]', 1, 1)",
        "row-damaged",
    ),
    "job": Planted(
        "INSERT INTO embedding_jobs (job_id, model, doc_ids, state, force, started_at_ms)"
        " VALUES ('ab', 'siglip', '[', 'paused', 0, 1)",
        "row-damaged",
    ),
    "erasure": Planted(
        "INSERT INTO erasures (doc_id, begun_at_ms, counts, plan, traces, receipt)"
        " VALUES ('ab', 1, '{}', '[', x'', '')",
        "row-damaged",
    ),
    "conversation": Planted(
        "UPDATE checkpoints SET checkpoint = x'c1' WHERE thread_id = (SELECT min(thread_id) FROM chat_session)",
        "state-refused",
    ),
    "memory": Planted(
        "UPDATE docmind_store_items SET value = '{}' WHERE key = (SELECT min(key) FROM docmind_store_items)",
        "memory-foreign",
    ),
    "snapshot": Planted("UPDATE segments SET sha256 = 'zz'", "snapshot-damaged"),
}

OPERATIONS: dict[str, Callable[[DocMind], object]] = {
    "documents": lambda docmind: [docmind.documents.get(info.doc_id) for info in docmind.documents.all()],
    "find": lambda docmind: docmind.documents.find(docmind.documents.all()[-1].document),
    "search": lambda docmind: docmind.search("boiler"),
    "search all lists": lambda docmind: docmind.search("boiler"),
    "ask": lambda docmind: docmind.ask("When is the boiler serviced?"),
    "ask for documents": lambda docmind: docmind.ask("Which documents do I have?"),
    "tags": lambda docmind: docmind.documents.tags(),
    "bin": lambda docmind: docmind.documents.binned(),
    "queue": lambda docmind: docmind.queue.uploads(),
    "finish the queue": lambda docmind: docmind.queue.finish(),
    "add": lambda docmind: docmind.add([Upload("kettle.txt", b"The kettle is descaled in June.")]),
    "folders": lambda docmind: docmind.folders.all(),
    "conversations": lambda docmind: docmind.conversations.threads(),
    "search conversations": lambda docmind: docmind.conversations.threads(search="boiler"),
    "a new conversation": lambda docmind: docmind.conversations.ask("When is the boiler serviced?"),
    "memories": lambda docmind: docmind.memories.list(),
    "recall": lambda docmind: docmind.memories.facts_about("boiler"),
    "jobs": lambda docmind: docmind.visual.embeddings(),
    "receipts": lambda docmind: (docmind.erasures.receipts(), docmind.erasures.finish()),
    "snapshots": lambda docmind: docmind.snapshots.list(),
    "a new snapshot": lambda docmind: docmind.snapshots.create(),
    "status": lambda docmind: docmind.status(),
    "check": lambda docmind: docmind.doctor.examine("quick"),
    "whole check": lambda docmind: docmind.doctor.examine("full"),
    "index": lambda docmind: docmind.reindex(),
    "search the new index": lambda docmind: docmind.search("kettle"),
}


@pytest.mark.parametrize("kind", tenth_of(PLANTED))
def test_one_bad_row_costs_itself_alone(library: Library, tmp_path: Path, kind: str) -> None:
    planted = PLANTED[kind]
    with library.opened(tmp_path / "library") as docmind:
        docmind.memories.add("The boiler is serviced by Rui.")
        docmind.memories.add("The cat is called Tom.")
        docmind.snapshots.create()
        documents, settings = docmind.documents.all(), docmind.vault.settings
        bad = min(documents, key=lambda info: info.doc_id)
        with docmind.vault.database.transaction() as db:
            assert db.execute(planted.sql).rowcount >= 1
    failed = {}
    with DocMind(settings) as docmind:
        for name, operation in OPERATIONS.items():
            try:
                operation(docmind)
            except StateRefusedError:  # of the bad conversation itself
                assert kind == "conversation", name
            except Exception as error:  # noqa: BLE001 - all of them are told together
                failed[name] = repr(error)
        assert not failed
        assert len(docmind.documents.all()) == len(documents) + 1
        assert docmind.search("kettle").hits[0].document == "kettle.txt"
        found = docmind.doctor.examine("full")
        assert planted.kind in dict(found.counts), found.counts
        told = " ".join(one.reason for one in docmind.search("boiler").degraded)
        assert planted.told in told, told
        if planted.told:
            assert bad.document in told
        receipts = docmind.erasures.erase([bad.doc_id])
        assert all(receipt.is_finished for receipt in receipts)


def test_a_document_that_the_index_refuses_is_named_until_it_is_taken(library: Library, tmp_path: Path) -> None:
    with library.opened(tmp_path / "library") as docmind:
        docmind.search("boiler")  # from now on the index follows each change
        bad = docmind.documents.all()[0]
        change = "UPDATE pages SET language = ? WHERE doc_id = ?"
        with docmind.vault.database.transaction() as db:
            db.execute(change, ("not a language", bad.doc_id))
        docmind.documents.edit(bad.doc_id, title="Another title")  # written again, alone
        found = docmind.doctor.examine().findings
        assert [(finding.kind, finding.document) for finding in found] == [("document-refused", bad.document)]
        assert docmind.documents.get(bad.doc_id).message
        assert not any(hit.doc_id == bad.doc_id for hit in docmind.search("boiler pump filter").hits)
        settings = docmind.vault.settings
    with DocMind(settings) as docmind:
        assert bad.document in " ".join(one.reason for one in docmind.search("boiler").degraded)
        with docmind.vault.database.transaction() as db:
            db.execute(change, ("en", bad.doc_id))
        repaired = docmind.doctor.repair()
        assert dict(repaired.mended) == {"document-refused": 1}
        assert not docmind.documents.get(bad.doc_id).message
        assert not docmind.search("boiler").degraded
