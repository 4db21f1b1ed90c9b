"""The doctor: each planted violation is found at its level and mended where that is possible; clean vaults are well."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from desks import opened, settings_in, text_pdf
from docmind.application import DocMind
from docmind.documents import hash_of_text
from docmind.documents.passage_vectors import pack_passages
from docmind.errors import CancelledError, VaultError
from docmind.index.engine import Point
from docmind.llm.service import OneModel
from docmind.maintenance import KINDS
from docmind.records.checks import CheckReport, Level
from docmind.records.documents import Upload
from docmind.storage import ORIGINAL

HERONS = ["The heron nests beside the river.", "Herons count 412 sticks in a nest."]
QUESTION = "How many sticks are in a nest?"
Undo = Callable[[], object] | None


@pytest.fixture(scope="module")
def docmind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DocMind]:
    """Yield a library with something of everything; each case leaves it well."""
    with opened(tmp_path_factory.mktemp("doctor")) as docmind:
        docmind.add(
            [Upload("herons.pdf", text_pdf(HERONS), tags=("birds",)), Upload("owls.txt", b"Owls hunt at night.")]
        )
        docmind.documents.new_collection("Birds", [doc_of(docmind)])
        thread = docmind.conversations.create("About birds", documents=[doc_of(docmind)])
        docmind.conversations.ask(QUESTION, thread_id=thread.thread_id)
        docmind.memories.add("My notes are in /home/ana/notes")
        docmind.visual.embed("fake-late")
        assert kinds_of(docmind.doctor.examine("deep")) == set()
        yield docmind


def doc_of(docmind: DocMind, name: str = "herons.pdf") -> str:
    return docmind.documents.find(name).doc_id


def kinds_of(report: CheckReport) -> set[str]:
    assert {finding.kind for finding in report.findings} == set(dict(report.counts))
    return set(dict(report.counts))


def run(docmind: DocMind, sql: str, *parameters: object) -> None:
    """Run one statement behind the back of all that keeps rows together."""
    with docmind.vault.database.outside() as db:
        db.execute("PRAGMA foreign_keys = OFF")
        db.execute(sql, parameters)
        db.execute("PRAGMA foreign_keys = ON")


def one(docmind: DocMind, sql: str, *parameters: object) -> Any:
    row = docmind.vault.database.one(sql, parameters)
    assert row is not None
    return row[0]


def data_of(docmind: DocMind) -> Path:
    return docmind.configured.data_dir


def image_of(docmind: DocMind, column: str = "image", page_no: int = 2) -> Path:
    sql = f"SELECT {column} FROM pages WHERE doc_id = ? AND page_no = ?"
    return data_of(docmind) / "artifacts" / f"{one(docmind, sql, doc_of(docmind), page_no)}.webp.enc"


def original_of(docmind: DocMind) -> Path:
    return data_of(docmind) / "artifacts" / docmind.vault.catalog.original(doc_of(docmind)).file_name


def changed(path: Path, data: bytes) -> Undo:
    """Replace a file's bytes in place; return what puts them back."""
    before = path.read_bytes()
    path.write_bytes(data)
    return lambda: path.write_bytes(before)


def flipped(path: Path, at: int = -1) -> Undo:
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    return changed(path, bytes(data))


def made(path: Path, data: bytes = b"something") -> Undo:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path.unlink


def inserted(docmind: DocMind, table: str, **row: object) -> Undo:
    run(docmind, f"INSERT INTO {table} ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})", *row.values())
    name, value = next(iter(row.items()))
    return lambda: run(docmind, f"DELETE FROM {table} WHERE {name} = ?", value)


def updated(docmind: DocMind, table: str, column: str, value: object, where: str = "1") -> Undo:
    """Change a column of the first row; return what changes it back."""
    number, before = docmind.vault.database.all(f"SELECT rowid, {column} FROM {table} WHERE {where} ORDER BY rowid")[0]
    run(docmind, f"UPDATE {table} SET {column} = ? WHERE rowid = ?", value, number)
    return lambda: run(docmind, f"UPDATE {table} SET {column} = ? WHERE rowid = ?", before, number)


def lost_document(docmind: DocMind) -> Undo:
    with docmind.vault.database.transaction() as db:
        db.execute("DELETE FROM documents WHERE doc_id = ?", (doc_of(docmind),))
    return None


def lost_page(docmind: DocMind) -> Undo:
    return run(docmind, "DELETE FROM pages WHERE doc_id = ? AND page_no = 2", doc_of(docmind))


def lone_page(docmind: DocMind) -> Undo:
    columns = (
        "width, height, text, words, text_source, confidence, language, image, image_suffix, thumbnail,"
        " thumbnail_suffix, blocks"
    )
    run(
        docmind,
        f"INSERT INTO pages (page_id, doc_id, page_no, {columns}) SELECT 'x::page::1', 'x', 1, {columns} FROM pages"
        " LIMIT 1",
    )
    return lambda: run(docmind, "DELETE FROM pages WHERE doc_id = 'x'")


def lone_passage(docmind: DocMind) -> Undo:
    return run(
        docmind,
        "INSERT INTO nodes SELECT 'lone', doc_id, 99, 0, start, \"end\", modality, language, content_hash,"
        " context FROM nodes"
        " LIMIT 1",
    )


def lost_vector(docmind: DocMind) -> Undo:
    content = one(docmind, "SELECT content_hash FROM nodes WHERE doc_id = ?", doc_of(docmind))
    return run(docmind, "DELETE FROM vectors WHERE content_hash = ?", content)


def lone_late_row(docmind: DocMind) -> Undo:
    columns = "fingerprint, file, start, tokens, dim, step, checksum, rows, cols, patches"
    return run(
        docmind, f"INSERT INTO late_pages (image, {columns}) SELECT ?, {columns} FROM late_pages LIMIT 1", "9" * 64
    )


def with_late(docmind: DocMind) -> Path:
    """Return the file of page vectors; made again where a case before has dropped them."""
    docmind.visual.embed("fake-late")
    return data_of(docmind) / "late" / one(docmind, "SELECT file FROM late_pages LIMIT 1")


def erased_original(docmind: DocMind) -> Undo:
    ref = docmind.vault.artifacts.put(b"erased on purpose", ORIGINAL, {"name": "erased.txt"})
    return inserted(
        docmind, "erasures", doc_id=ref.sha256[:32], begun_at_ms=1, counts="{}", plan="{}", traces=b"",
        receipt='{"conversations": true}',
    )  # fmt: skip


def lost_upload(docmind: DocMind) -> Undo:
    return inserted(
        docmind, "uploads", name="lost.pdf", batch=9, doc_id="9" * 32, artifact="9" * 64, artifact_suffix=ORIGINAL,
        bytes=1, state="failed", added_at_ms=1, changed_at_ms=1,
    )  # fmt: skip


def bad_upload(docmind: DocMind) -> Undo:
    return inserted(
        docmind, "uploads", name="bad.pdf", batch=9, doc_id="9" * 32, artifact=original_of(docmind).name[:64], tags="{",
        artifact_suffix=ORIGINAL, bytes=1, state="failed", added_at_ms=1, changed_at_ms=1,
    )  # fmt: skip


def refused_document(docmind: DocMind) -> Undo:
    docmind.vault.catalog.note_refusal(doc_of(docmind), is_refused=True)
    index = docmind.index
    for collection in (index.names.qdrant_text_collection, index.names.qdrant_image_collection):
        index.started().index.delete(collection, doc_of(docmind))
    return None


def lost_conversation(docmind: DocMind) -> Undo:
    return run(docmind, "DELETE FROM chat_session")


def damaged_mark(docmind: DocMind) -> Undo:
    path = data_of(docmind) / "mark"
    before = path.read_bytes()
    with path.open("rb+") as file:
        file.write(bytes(len(before)))

    def undo() -> None:
        with path.open("rb+") as file:
            file.write(before)

    return undo


def index_of(docmind: DocMind) -> Any:
    return docmind.index.ready().index


def index_ahead(docmind: DocMind) -> Undo:
    index_of(docmind).commit(docmind.vault.catalog.epoch() + 5)
    return None


def lost_points(docmind: DocMind) -> Undo:
    index_of(docmind).delete("text", doc_of(docmind))
    return None


def other_payload(docmind: DocMind) -> Undo:
    index = index_of(docmind)
    (point_id, payload), *_rest = index.scroll("text")[0]
    vector = np.ones(384, np.float32)
    index.upsert("text", [Point(point_id, {"text-dense": vector}, {**payload, "language": "xx"})])
    return None


def lone_vector(docmind: DocMind) -> Undo:
    return inserted(docmind, "vectors", content_hash=b"9" * 16, fingerprint="fake:384", vector=b"\0\x3c" * 384)


def broken_image(docmind: DocMind) -> Undo:
    """Plant a file that opens as a picture's, and is none."""
    ref = docmind.vault.artifacts.put(b"not a picture", ".webp.enc")
    return run(docmind, "UPDATE pages SET image = ? WHERE doc_id = ? AND page_no = 2", ref.sha256, doc_of(docmind))


def foreign_state(docmind: DocMind) -> Undo:
    label = json.dumps({"source": "loop", "step": 1, "parents": {}, "image": "/home/ana/page.png"}).encode()
    return updated(docmind, "checkpoints", "metadata", label)


def foreign_write(docmind: DocMind) -> Undo:
    from docmind.conversations.checkpoints import PlainSerializer

    value = PlainSerializer().dumps_typed("data:image/png;base64,iVBORw0KGgo=")[1]
    return updated(docmind, "writes", "value", value, "type = 'msgpack'")


def foreign_memory(docmind: DocMind) -> Undo:
    value = {"text": "A fact", "same": "a", "kind": "fact", "image": "JVBERi0xLjcKJeLjz9MKMSAw/IG9iago8PC9UeXBl"}
    return updated(docmind, "docmind_store_items", "value", json.dumps(value))


@dataclass(frozen=True)
class Case:
    """A violation: what plants it, the kinds that are found, and whether a repair mends it."""

    plant: Callable[[DocMind], Undo]
    kinds: frozenset[str]
    level: Level = "quick"
    mends: bool = True


def case(plant: Callable[[DocMind], Undo], kinds: str, level: Level = "quick", *, mends: bool = True) -> Case:
    return Case(plant, frozenset(kinds.split()), level, mends)


CASES = {
    "document row": case(lost_document, "document-lost vector-unused tokens-unused file-unnamed index-differs"),
    "page row": case(lost_page, "pages-missing passage-without-page file-unnamed index-differs"),
    "page count": case(lambda d: updated(d, "pages", "page_no", 7, "page_no = 2"),
                       "pages-missing passage-without-page index-differs"),
    "lone page": case(lone_page, "page-without-document", mends=False),
    "lone passage": case(lone_passage, "passage-without-page"),
    "lost vector": case(lost_vector, "vector-missing"),
    "lone vector": case(lone_vector, "vector-unused"),
    "lone tokens": case(
        lambda d: inserted(d, "tokens", content_hash=b"9" * 16, fingerprint="x", tokens=b""), "tokens-unused"
    ),
    "lone marks": case(lambda d: inserted(d, "looks", image="9" * 64, version=1, marks=b""), "marks-unused"),
    "lone page vector": case(
        lambda d: inserted(d, "page_vectors", image="9" * 64, fingerprint="x", vector=b"\0\x3c"), "page-vector-unused"
    ),
    "lone figure vector": case(
        lambda d: inserted(d, "figure_vectors", image="9" * 64, fingerprint="x", vector=b"\0\x3c"),
        "figure-vector-unused",
    ),
    "lone vectors of passages": case(
        lambda d: inserted(d, "passage_vectors", doc_id="x", page_no=1, fingerprint="x", made_from=b"",
                           vectors=pack_passages([], np.zeros((0, 384)))),
        "passage-vectors-unused",
    ),
    "lone late row": case(lambda d: (with_late(d), lone_late_row(d))[1], "late-unused"),
    "lost late file": case(lambda d: with_late(d).unlink(), "late-lost"),
    "unnamed late file": case(lambda d: made(data_of(d) / "late" / "0123456789abcdef.i8"), "late-unnamed"),
    "rotten late file": case(lambda d: flipped(with_late(d), 5), "late-lost", "deep"),
    "lost image": case(lambda d: image_of(d).unlink(), "image-lost"),
    "lost thumbnail": case(lambda d: image_of(d, "thumbnail").unlink(), "image-lost"),
    "cut image": case(lambda d: changed(image_of(d), b"DMA1"), "image-damaged"),
    "rotten image": case(lambda d: flipped(image_of(d)), "image-damaged", "full"),
    "broken image": case(broken_image, "image-damaged file-unnamed marks-unused late-unused"
                         " marks-missing index-differs", "deep"),
    "lost original": case(lambda d: (changed(original_of(d), original_of(d).read_bytes()), original_of(d).unlink())[0],
                          "original-lost", mends=False),
    "rotten original": case(lambda d: flipped(original_of(d)), "original-damaged", "full", mends=False),
    "lost upload": case(lost_upload, "upload-lost", mends=False),
    "unnamed file": case(lambda d: d.vault.artifacts.put(b"left over", ".webp.enc") and None, "file-unnamed"),
    "erased file": case(erased_original, "file-erased"),
    "collection": case(lambda d: inserted(d, "collected", collection_id="x", doc_id="x"), "collection-broken"),
    "bound conversation": case(
        lambda d: inserted(d, "bound_documents", thread_id="x", doc_id="x"), "collection-broken"
    ),
    "address": case(lambda d: inserted(d, "web_pages", doc_id="x", address="y", fetched_at_ms=1), "address-unused"),
    "followed file": case(
        lambda d: inserted(d, "folder_files", folder_id=9, place=b"x", file_id=1, mtime_ns=1, size=1, doc_id="x",
                           is_ours=1),
        "folder-file-unused",
    ),
    "conversation row": case(lost_conversation, "conversation-lost"),
    "conversation end": case(lambda d: updated(d, "chat_session", "last_checkpoint_id", "x"), "conversation-broken"),
    "foreign file": case(lambda d: made(data_of(d) / "notes.txt"), "file-foreign", mends=False),
    "foreign sealed file": case(lambda d: made(data_of(d) / "artifacts" / "x.enc"), "file-foreign", mends=False),
    "foreign index file": case(lambda d: made(data_of(d) / "index" / "page.png"), "file-foreign", mends=False),
    "foreign file of snapshots": case(
        lambda d: made(data_of(d) / "snapshots" / "segments" / "x.segment"), "file-foreign", mends=False
    ),
    "log file": case(lambda d: made(data_of(d) / "docmind.log"), "file-foreign", mends=False),
    "vault.json": case(lambda d: changed(data_of(d) / "vault.json", b"{}"), "description-damaged"),
    "mark": case(damaged_mark, "mark-damaged", mends=False),
    "index ahead": case(index_ahead, "index-ahead"),
    "lost points": case(lost_points, "index-differs"),
    "payload": case(other_payload, "index-differs", "full"),
    "words": case(lambda d: updated(d, "pages", "words", b"x"), "words-damaged", "full"),
    "passage": case(lambda d: updated(d, "nodes", "start", 1), "passage-wrong", "full"),
    "queue row": case(bad_upload, "row-damaged", mends=False),
    "refused document": case(refused_document, "document-refused"),
    "page id": case(lambda d: updated(d, "pages", "page_id", "x"), "id-wrong", "full", mends=False),
    "lost passages": case(
        lambda d: run(d, "DELETE FROM nodes WHERE doc_id = ? AND page_no = 1", doc_of(d)),
        "passages-missing vector-unused tokens-unused index-differs", "full",
    ),
    "vector": case(
        lambda d: run(d, "UPDATE vectors SET vector = ? WHERE content_hash = (SELECT max(content_hash) FROM vectors)",
                      b"\0\x7e" * 384),
        "vector-damaged", "full",
    ),
    "tokens": case(lambda d: updated(d, "tokens", "tokens", b"x"), "tokens-damaged", "full"),
    "page vector": case(
        lambda d: inserted(d, "page_vectors", fingerprint="x", image=image_of(d).name[:64], vector=b"\0\x7e"),
        "page-vector-damaged", "full",
    ),
    "figure vector": case(
        lambda d: inserted(d, "figure_vectors", fingerprint="x", image="9" * 64, vector=b"\0\x7e"),
        "figure-vector-damaged figure-vector-unused", "full",
    ),
    "vectors of passages": case(
        lambda d: inserted(d, "passage_vectors", fingerprint="x", doc_id=doc_of(d), page_no=1, vectors=b"x",
                           made_from=hash_of_text(d.vault.catalog.page(doc_of(d), 1).text)),
        "passage-vectors-damaged", "full",
    ),
    "vectors of another text": case(
        lambda d: inserted(d, "passage_vectors", fingerprint="x", doc_id=doc_of(d), page_no=1, made_from=b"of another",
                           vectors=pack_passages([], np.zeros((0, 384)))),
        "passage-vectors-damaged", "full",
    ),
    "marks": case(lambda d: updated(d, "looks", "marks", b"x"), "marks-damaged", "full"),
    "state": case(lambda d: updated(d, "checkpoints", "checkpoint", b"\xc1"), "state-refused", "full", mends=False),
    "label of a state": case(foreign_state, "state-foreign", "full", mends=False),
    "pending write": case(foreign_write, "state-foreign", "full", mends=False),
    "memory": case(foreign_memory, "memory-foreign", "full", mends=False),
    "file outside": case(
        lambda d: made(d.configured.cache_dir / "models" / ("9" * 64 + ".webp.enc")),  # type: ignore[operator]
        "file-outside", "full", mends=False,
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", ["vault.json", "vault.db"])
def test_files_of_a_library_beside_this_one_are_where_they_belong(docmind: DocMind, name: str) -> None:
    beside = docmind.settings.now.data_dir.parent / "beside"
    for each in (name, "index.sealed", "9" * 64 + ".webp.enc"):
        made(beside / each)
    try:
        assert "file-outside" not in kinds_of(docmind.doctor.examine("full"))
    finally:
        for path in beside.iterdir():
            path.unlink()


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_a_planted_violation_is_found_and_mended(docmind: DocMind, name: str) -> None:
    planted = CASES[name]
    undo = planted.plant(docmind)
    try:
        if planted.level != "quick":
            assert not planted.kinds <= kinds_of(docmind.doctor.examine("quick")), "it takes more than a quick look"
        report = docmind.doctor.examine(planted.level)
        assert kinds_of(report) == planted.kinds
        assert not report.is_well
        if planted.mends:
            assert report.is_repairable
            done = docmind.doctor.repair(planted.level)
            assert kinds_of(done.after) - {"marks-missing"} == set()
            assert set(dict(done.mended)) >= planted.kinds - {"marks-missing"}
        else:
            assert not report.is_repairable
            assert docmind.doctor.repair(planted.level).mended == ()
    finally:
        if undo is not None and not planted.mends:
            undo()
    assert kinds_of(docmind.doctor.examine("full")) - {"marks-missing"} == set()
    answer = docmind.ask(QUESTION)
    assert (answer.sources[0].document, answer.sources[0].page_no) == ("herons.pdf", 2)
    assert docmind.conversations.threads()


PIECES = (
    "C:\\Users\\ana\\report.pdf", "\\\\server\\share\\x", "/home/ana/notes.txt", "file:///etc/passwd", "~/papers",
    "iVBORw0KGgoAAAANSUhEUg", "JVBERi0xLjcKJeLjz9MKMSAwIG9iago8PC9UeXBlL0NhdGFsb2c",
    "/9j/4AAQSkZJRgABAQAAAQABAAD", "UEsDBBQAAAAIAA", "herons", "nest", "412", "../../vault.db", "vault.json", "DMA1",
)  # fmt: skip


def path_like(chance: random.Random) -> str:
    """Return text in which paths, addresses and encoded bytes stand between words."""
    return " ".join(chance.choice(PIECES) for _ in range(chance.randint(1, 12)))


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_text_that_looks_like_paths_is_no_violation(tmp_path: Path, seed: int) -> None:
    """25 states of a library for each seed, each with more of such text in every place that takes text."""
    chance = random.Random(seed)
    with opened(tmp_path) as docmind:
        for number in range(25):
            texts = [f"{path_like(chance)} {number} {at}" for at in range(2)]
            docmind.add(
                Upload(f"{path_like(chance)[:60]} {number} {at}.txt", text.encode()) for at, text in enumerate(texts)
            )
            doc_id = docmind.documents.all()[0].doc_id
            docmind.documents.edit(doc_id, title=path_like(chance))
            docmind.documents.tag([doc_id], add=[path_like(chance)[:40]])
            docmind.documents.new_collection(f"{path_like(chance)[:40]} {number}", [doc_id])
            docmind.memories.add(path_like(chance))
            thread = docmind.conversations.create(path_like(chance))
            if number % 3 == 0:
                docmind.conversations.ask(path_like(chance), thread_id=thread.thread_id)
            if number % 5 == 4:
                docmind.documents.bin([doc_id])
            report = docmind.doctor.examine("full")
            assert kinds_of(report) == set(), f"seed {seed}, state {number}"
            assert dict(report.looked_at)["documents"] == 2 * (number + 1)


@pytest.mark.slow
def test_an_erased_document_does_not_come_back(tmp_path: Path) -> None:
    """Not even from its file, which somebody copied back into the folder."""
    with opened(tmp_path) as docmind:
        docmind.add([Upload("owls.txt", b"Owls hunt at night.")])
        original = (
            data_of(docmind) / "artifacts" / docmind.vault.catalog.original(doc_of(docmind, "owls.txt")).file_name
        )
        copy = original.read_bytes()
        docmind.erasures.erase([doc_of(docmind, "owls.txt")])
        original.write_bytes(copy)
        assert kinds_of(docmind.doctor.examine()) == {"file-erased"}
        done = docmind.doctor.repair()
        assert done.mended == (("file-erased", 1),)
        assert not original.exists()
        assert docmind.documents.all() == ()


@pytest.mark.slow
def test_a_lost_document_that_cannot_be_read_is_kept(tmp_path: Path) -> None:
    """Its file is in the queue afterwards, with the reason; nothing of it is deleted."""
    with opened(tmp_path) as docmind:
        ref = docmind.vault.artifacts.put(b"%PDF-1.7 and nothing else", ORIGINAL, {"name": "broken.pdf"})
        done = docmind.doctor.repair()
        assert done.mended == (("document-lost", 1),)
        (note,) = done.notes
        assert "broken.pdf" in note
        assert docmind.vault.artifacts.opens(ref)
        assert [info.state for info in docmind.queue.uploads()] == ["failed"]


@pytest.mark.slow
def test_a_lost_original_is_back_once_the_file_is_added_again(tmp_path: Path) -> None:
    with opened(tmp_path) as docmind:
        upload = Upload("owls.txt", b"Owls hunt at night.")
        docmind.add([upload])
        original = (
            data_of(docmind) / "artifacts" / docmind.vault.catalog.original(doc_of(docmind, "owls.txt")).file_name
        )
        original.unlink()
        assert kinds_of(docmind.doctor.examine()) == {"original-lost"}
        assert docmind.add([upload])[0].status == "already"
        assert docmind.doctor.examine("deep").is_well


@pytest.mark.slow
def test_a_library_for_reading_is_checked_and_not_repaired(tmp_path: Path) -> None:
    with opened(tmp_path) as docmind:
        docmind.add([Upload("herons.pdf", text_pdf(HERONS))])
        image_of(docmind).unlink()
    with DocMind(settings_in(tmp_path), models=OneModel(), read_only=True) as docmind:
        assert kinds_of(docmind.doctor.examine("deep")) == {"image-lost"}
        with pytest.raises(VaultError):
            docmind.doctor.repair()


@pytest.mark.slow
@pytest.mark.parametrize("level", ["quick", "full", "deep"])
def test_a_check_tells_how_far_it_is_and_can_be_stopped(docmind: DocMind, level: Level) -> None:
    told: list[tuple[int, int]] = []
    docmind.doctor.examine(level, lambda done, total: told.append((done, total)))
    assert told[-1][0] == told[-1][1]
    assert [done for done, _total in told] == sorted(done for done, _total in told)

    def stop(done: int, _total: int) -> None:
        if done == told[-1][1] - 1:
            raise CancelledError("Stopped.")

    with pytest.raises(CancelledError):
        docmind.doctor.examine(level, stop)
    assert docmind.doctor.examine(level).is_well


def test_many_findings_of_one_kind_are_counted_and_some_listed(tmp_path: Path) -> None:
    with opened(tmp_path) as docmind:
        for number in range(120):
            (data_of(docmind) / f"note {number}").write_bytes(b"")
        report = docmind.doctor.examine()
        assert dict(report.counts) == {"file-foreign": 120}
        assert len(report.findings) == 100


def test_every_kind_has_a_sentence_and_advice() -> None:
    planted = set().union(*(one.kinds for one in CASES.values()))
    elsewhere = {"behind", "key-wrong", "locked", "database-damaged", "file-damaged", "index-damaged", "index-behind"}
    assert set(KINDS) == planted | elsewhere | {"snapshot-damaged"}
    assert all(kind.text.endswith(".") and kind.advice.endswith(".") for kind in KINDS.values())


@pytest.mark.slow
def test_what_only_a_snapshot_holds_belongs_to_it(tmp_path: Path) -> None:
    with opened(tmp_path) as docmind:
        docmind.add(
            [Upload("herons.txt", b"Herons nest beside the river."), Upload("owls.txt", b"Owls hunt at night.")]
        )
        herons = docmind.documents.find("herons.txt").doc_id
        before = {path.name for path in (tmp_path / "data" / "artifacts").iterdir()}
        snapshot_id = docmind.snapshots.create("Birds").snapshot_id
        docmind.erasures.erase([herons])
        for level in ("quick", "deep"):
            assert docmind.doctor.examine(level).is_well
        docmind.doctor.repair("quick")
        assert {path.name for path in (tmp_path / "data" / "artifacts").iterdir()} == before
        assert docmind.snapshots.verify(snapshot_id, deep=True).problems == ()
        held = {row[0] for row in docmind.vault.database.all("SELECT sha256 FROM segment_files")}
        lone = next(name for name in sorted(before) if name[:64] in held - docmind_refs(docmind))
        (tmp_path / "data" / "artifacts" / lone).unlink()
        report = docmind.doctor.examine("quick")
        assert dict(report.counts) == {"snapshot-damaged": 1}
        assert not report.is_repairable
        docmind.snapshots.remove(snapshot_id)
        assert docmind.doctor.examine("full").is_well


@pytest.mark.slow
def test_a_damaged_segment_is_found_at_the_full_level(tmp_path: Path) -> None:
    with opened(tmp_path) as docmind:
        docmind.add([Upload("herons.txt", b"Herons nest beside the river.")])
        docmind.snapshots.create("Birds")
        (segment,) = (tmp_path / "data" / "snapshots").rglob("*.segment")
        data = segment.read_bytes()
        segment.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
        assert docmind.doctor.examine("quick").is_well
        assert set(dict(docmind.doctor.examine("full").counts)) == {"snapshot-damaged"}


def docmind_refs(docmind: DocMind) -> set[str]:
    """Return the ids of artifacts that documents refer to."""
    sql = "SELECT image FROM pages UNION SELECT thumbnail FROM pages UNION SELECT original FROM documents"
    return {row[0] for row in docmind.vault.database.all(sql)}
