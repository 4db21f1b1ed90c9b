"""Bundles over real vaults: carried elsewhere with the same answers, and refused where anything differs."""

from __future__ import annotations

import hashlib
import hmac
import json
import random
import shutil
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from desks import inventory, opened, report, settings_in, text_pdf
from docmind.application import DocMind
from docmind.errors import ConfigError, DocMindError, TamperedError, VaultFormatError, WrongKeyError
from docmind.maintenance import verify_bundle
from docmind.records.conversations import Turn
from docmind.records.documents import Upload
from docmind.storage.bundle_file import BundleReader, BundleWriter
from docmind.storage.database import Database
from docmind.storage.keys import Keyset, derive, passphrase_key
from sampled import tenth_of

PASSPHRASE = "seven herons at dusk"
LINES = ["The herons of Vellamo nest in the reeds of the northern shore.", "Owls hunt at night over the fields."]
QUESTIONS = ("Where do the herons of Vellamo nest?", "When do owls hunt?")


def quiet(_done: int, _whole: int) -> None:
    """Report nothing."""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a bundle of a vault: two documents, a conversation, a collection and a memory."""
    home = tmp_path_factory.mktemp("home")
    with opened(home) as old:
        old.add([Upload("birds.pdf", text_pdf(LINES), tags=("nature",)), report("yearly", 3)])
        old.documents.new_collection("Shelf", [old.documents.find("birds.pdf").doc_id])
        thread = old.conversations.create()
        for question in QUESTIONS:
            old.conversations.ask(question, thread_id=thread.thread_id)
        old.memories.add("Our fiscal year starts in April")
        old.bundles.write(home / "all.docmind", PASSPHRASE, quiet)
    return home


@pytest.fixture
def bundle(home: Path) -> Path:
    return home / "all.docmind"


@pytest.fixture
def old(home: Path, tmp_path: Path) -> Iterator[DocMind]:
    """Open a copy of the vault that the bundle was written from."""
    shutil.copytree(home, tmp_path / "old")
    with opened(tmp_path / "old") as old:
        yield old


def turns_of(desk: DocMind) -> list[Turn]:
    (thread,) = desk.conversations.threads()
    return list(desk.conversations.view(thread.thread_id).turns)


def sealed_files(folder: Path) -> list[Path]:
    return list((folder / "data" / "artifacts").iterdir())


# --- carried to another vault -----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_bundle_answers_the_same_elsewhere(bundle: Path, old: DocMind, tmp_path: Path) -> None:
    asked = [old.ask(question) for question in QUESTIONS]
    before = turns_of(old)
    old.close()
    with opened(tmp_path / "new") as new:
        told = new.bundles.read(bundle, PASSPHRASE, quiet)
        assert (told.documents, told.pages, told.conversations, told.memories, told.known) == (2, 5, 1, 1, 0)
        assert told.is_embedded
        again = [new.ask(question) for question in QUESTIONS]
        for one, other in zip(asked, again, strict=True):
            assert one.sources
            assert one.answer == other.answer
            assert [(s.document, s.page_no, s.quote, s.boxes) for s in one.sources] == [
                (s.document, s.page_no, s.quote, s.boxes) for s in other.sources
            ]
        after = turns_of(new)
        assert [(t.question, t.answer and t.answer.answer) for t in before] == [
            (t.question, t.answer and t.answer.answer) for t in after
        ]
        doc = new.documents.find("birds.pdf")
        assert doc.tags == ("nature",)
        sources = [source for turn in after if turn.answer for source in turn.answer.sources]
        assert {source.doc_id for source in sources} == {doc.doc_id}
        assert all(new.conversations.source_image(source) for source in sources)
        assert [item.name for item in new.documents.collections()] == ["Shelf"]
        assert [item.text for item in new.memories.list().memories] == ["Our fiscal year starts in April"]
    assert inventory(settings_in(tmp_path / "new")) == inventory(settings_in(tmp_path / "old"))


@pytest.mark.slow
def test_nothing_is_embedded_again(bundle: Path, tmp_path: Path) -> None:
    with opened(tmp_path / "new") as new:
        embedded: list[str] = []
        new.embedder.embed_documents = lambda texts: embedded.extend(texts)  # type: ignore[method-assign]
        new.bundles.read(bundle, PASSPHRASE, quiet)
        assert new.search("herons").hits
    assert embedded == []


@pytest.mark.slow
def test_an_erased_document_comes_back_on_request_only(bundle: Path, old: DocMind) -> None:
    birds, thread_id = old.documents.find("birds.pdf").doc_id, old.conversations.threads()[0].thread_id
    old.erasures.erase([birds])
    old.conversations.bin(thread_id)
    old.conversations.erase_thread(thread_id)  # so that the bundle brings the conversation, with quotes of the document
    told = old.bundles.read(bundle, PASSPHRASE, quiet)
    assert (told.documents, told.conversations, told.known, told.erased) == (0, 1, 1, ("birds.pdf",))
    sources = [source for turn in turns_of(old) if turn.answer for source in turn.answer.sources]
    assert [(source.quote, source.gone) for source in sources if source.doc_id == birds] == [("", "erased")] * 2
    told = old.bundles.read(bundle, PASSPHRASE, quiet, with_erased=True)
    assert (told.documents, told.erased) == (1, ())
    assert old.search("herons").hits


@pytest.mark.slow
def test_kept_quotes_of_an_erased_document_stay(bundle: Path, old: DocMind) -> None:
    birds = old.documents.find("birds.pdf").doc_id
    old.erasures.erase([birds], conversations=False)
    assert old.bundles.read(bundle, PASSPHRASE, quiet).erased == ("birds.pdf",)
    assert all(source.quote for turn in turns_of(old) if turn.answer for source in turn.answer.sources)


def test_reading_again_adds_nothing(bundle: Path, tmp_path: Path) -> None:
    with opened(tmp_path / "new") as new:
        new.bundles.read(bundle, PASSPHRASE, quiet)
        told = new.bundles.read(bundle, PASSPHRASE, quiet)
    assert (told.documents, told.conversations, told.memories, told.known) == (0, 0, 0, 2)


@pytest.mark.slow
def test_what_is_there_is_merged_by_id(bundle: Path, tmp_path: Path) -> None:
    with opened(tmp_path / "new") as new:
        new.add([Upload("my birds.pdf", text_pdf(LINES)), report("other", 1)])
        shelf = new.documents.new_collection("shelf")
        told = new.bundles.read(bundle, PASSPHRASE, quiet)
        assert (told.documents, told.known) == (1, 1)
        assert {info.document for info in new.documents.all()} == {"my birds.pdf", "other.pdf", "yearly.pdf"}
        assert [item.collection_id for item in new.documents.collections()] == [shelf.collection_id]


@pytest.mark.slow
def test_its_own_vault_takes_back_what_it_lost(bundle: Path, old: DocMind) -> None:
    doc = old.documents.find("birds.pdf")
    old.erasures.erase([doc.doc_id])
    told = old.bundles.read(bundle, PASSPHRASE, quiet, with_erased=True)
    assert (told.documents, told.known) == (1, 1)
    assert old.documents.get(doc.doc_id).document == "birds.pdf"
    assert old.ask(QUESTIONS[0]).found


@pytest.mark.slow
def test_the_bin_and_damaged_documents_stay_behind(tmp_path: Path) -> None:
    with opened(tmp_path / "old") as old:
        old.add([report("kept", 1), report("binned", 1), report("broken", 2)])
        old.documents.bin([old.documents.find("binned.pdf").doc_id])
        broken = old.documents.find("broken.pdf").doc_id
        (tmp_path / "old" / "data" / "artifacts" / old.vault.catalog.page(broken, 2).image.file_name).unlink()
        info = old.bundles.write(tmp_path / "some.docmind", PASSPHRASE, quiet)
    assert (info.documents, info.pages, info.left_out) == (1, 1, ("broken.pdf",))
    with opened(tmp_path / "new") as new:
        assert new.bundles.read(tmp_path / "some.docmind", PASSPHRASE, quiet).documents == 1


def test_an_empty_vault_can_be_carried(tmp_path: Path) -> None:
    with opened(tmp_path / "old") as old:
        info = old.bundles.write(tmp_path / "empty.docmind", PASSPHRASE, quiet)
        assert (info.documents, info.files) == (0, 0)
        assert old.bundles.read(tmp_path / "empty.docmind", PASSPHRASE, quiet).documents == 0


def test_verify_says_what_it_holds(bundle: Path) -> None:
    info = verify_bundle(bundle, PASSPHRASE, quiet)
    assert (info.documents, info.pages, info.conversations, info.memories) == (2, 5, 1, 1)


def test_nothing_readable_is_in_the_file(bundle: Path) -> None:
    data = bundle.read_bytes()
    for canary in (b"herons", b"Vellamo", b"birds.pdf", b"fiscal", b"Shelf", b"SQLite format", b"%PDF", b"RIFF"):
        assert canary not in data
    assert bundle.stat().st_mode & 0o077 == 0


# --- refused ----------------------------------------------------------------------------------------------------------


def test_a_file_is_not_replaced(bundle: Path, old: DocMind, tmp_path: Path) -> None:
    before = bundle.read_bytes()
    with pytest.raises(ConfigError, match="exists already"):
        old.bundles.write(bundle, PASSPHRASE, quiet)
    with pytest.raises(ConfigError, match="at least 8"):
        old.bundles.write(tmp_path / "b.docmind", "short", quiet)
    with pytest.raises(ConfigError, match="inside the data folder"):
        old.bundles.write(tmp_path / "old" / "data" / "b.docmind", PASSPHRASE, quiet)
    assert bundle.read_bytes() == before
    assert not (tmp_path / "b.docmind").exists()


@pytest.mark.slow
def test_writing_that_is_stopped_leaves_no_file(tmp_path: Path) -> None:
    def stop(done: int, _whole: int) -> None:
        if done:
            raise KeyboardInterrupt

    with opened(tmp_path / "old") as old:
        old.add([report("a", 1), report("b", 1)])
        with pytest.raises(KeyboardInterrupt):
            old.bundles.write(tmp_path / "b.docmind", PASSPHRASE, stop)
    assert not list(tmp_path.glob("*.docmind*"))
    assert not list(tmp_path.glob(".*"))


def test_another_passphrase_is_told_apart(bundle: Path, tmp_path: Path) -> None:
    with opened(tmp_path / "new") as new, pytest.raises(WrongKeyError, match="passphrase"):
        new.bundles.read(bundle, "another passphrase", quiet)


def test_any_changed_byte_is_refused(bundle: Path, tmp_path: Path) -> None:
    data, chance = bundle.read_bytes(), random.Random(4)
    changed = tmp_path / "changed.docmind"
    with opened(tmp_path / "new") as new:
        for place in (0, 4, 8, 11, *(chance.randrange(len(data)) for _ in range(16)), len(data) - 1):
            flipped = bytearray(data)
            flipped[place] ^= 1 << chance.randrange(8)
            changed.write_bytes(flipped)
            with pytest.raises((TamperedError, VaultFormatError, WrongKeyError)):
                new.bundles.read(changed, PASSPHRASE, quiet)
        for cut in (0, 3, 11, 40, 200, len(data) // 2, len(data) - 1):
            changed.write_bytes(data[:cut])
            with pytest.raises((TamperedError, VaultFormatError)):
                new.bundles.read(changed, PASSPHRASE, quiet)
        assert new.documents.all() == ()
    assert sealed_files(tmp_path / "new") == []


class Forger:
    """Takes a bundle apart and puts it together again with its passphrase, so that its HMAC holds."""

    def __init__(self, path: Path) -> None:
        with BundleReader(path, PASSPHRASE) as reader:
            self.keys: Keyset = reader.keyset()
            self.info = json.loads(reader.sealed("manifest"))
            self.members = {name: reader.member(name) for name in ("vault.db", *sorted(reader.artifacts))}
        self.keyset = self.keys.pack()
        self.raw = b""

    def write(self, path: Path) -> None:
        with open(path, "w+b") as file:
            writer = BundleWriter(file, PASSPHRASE)
            writer.add_sealed("keyset", self.keyset)
            for name, data in self.members.items():
                writer.add(name, data)
            writer.add_sealed("manifest", json.dumps(self.info).encode())
            writer._write(self.raw)
            writer.finish()

    @contextmanager
    def database(self, folder: Path) -> Iterator[Database]:
        path = folder / "forged.db"
        path.write_bytes(self.members["vault.db"])
        database = Database(path, self.keys.db_key)
        try:
            yield database
        finally:
            database.close()
        self.members["vault.db"] = path.read_bytes()
        path.unlink()

    def files(self) -> list[str]:
        return [name for name in self.members if name != "vault.db"]


Forge = Callable[[Forger, Path], None]


def run(*statements: str) -> Forge:
    def forge(forger: Forger, folder: Path) -> None:
        with forger.database(folder) as database, database.outside() as db:
            db.execute("PRAGMA foreign_keys = OFF")
            for statement in statements:
                db.execute(statement)

    return forge


def added(name: str, data: bytes = b"x") -> Forge:
    head = struct.pack(">H", len(name.encode())) + name.encode() + struct.pack(">Q", len(data))
    return raw(head + data)


def raw(data: bytes) -> Forge:
    def forge(forger: Forger, _folder: Path) -> None:
        forger.raw = data

    return forge


def claims(**changes: object) -> Forge:
    def forge(forger: Forger, _folder: Path) -> None:
        forger.info |= changes

    return forge


def keys(packed: bytes) -> Forge:
    def forge(forger: Forger, _folder: Path) -> None:
        forger.keyset = packed

    return forge


def swap_files(forger: Forger, _folder: Path) -> None:
    first, second = forger.files()[:2]
    forger.members[first], forger.members[second] = forger.members[second], forger.members[first]


def drop_file(forger: Forger, _folder: Path) -> None:
    del forger.members[forger.files()[0]]


def no_database(forger: Forger, _folder: Path) -> None:
    forger.members["vault.db"] = b"SQLite format 3\0" + bytes(4096)


def cut_database(forger: Forger, _folder: Path) -> None:
    forger.members["vault.db"] = forger.members["vault.db"][: len(forger.members["vault.db"]) // 2 // 4096 * 4096]


FORGERIES: dict[str, Forge] = {
    "a path upwards": added("../../outside.txt"),
    "an absolute path": added("/tmp/outside.txt"),
    "a path below": added("artifacts/x.enc"),
    "another name": added("vault.json"),
    "an empty name": added(""),
    "a name with a zero": added("keyset\0"),
    "a name that is no text": raw(struct.pack(">H", 2) + b"\xff\xfe" + struct.pack(">Q", 0)),
    "a member twice": added("keyset"),
    "a size beyond the end": raw(struct.pack(">H", 6) + b"keyset" + struct.pack(">Q", 1 << 60)),
    "a head that is cut": raw(b"\0"),
    "files exchanged": swap_files,
    "a file missing": drop_file,
    "other keys": keys(Keyset.generate().pack()),
    "no keys": keys(b'{"id": 1}'),
    "another database": no_database,
    "a database cut": cut_database,
    "a trigger": run("CREATE TRIGGER t AFTER INSERT ON documents BEGIN DELETE FROM documents; END"),
    "a view": run("CREATE VIEW more AS SELECT * FROM pages"),
    "a table more": run("CREATE TABLE more (x)"),
    "a table less": run("DROP TABLE tokens"),
    "a virtual table": run("CREATE VIRTUAL TABLE more USING fts5(x)"),
    "a column computed": run("ALTER TABLE pages ADD COLUMN more TEXT AS (lower(text))"),
    "an id that is a path": run("UPDATE documents SET doc_id = '../../../../etc/cron.d/' || substr(doc_id, 1, 4)"),
    "a file id that is a path": run("UPDATE pages SET image = '../../vault.json'"),
    "a suffix that is a path": run("UPDATE pages SET image_suffix = '/../../x'"),
    "a page id of another": run("UPDATE pages SET page_id = page_id || '9'"),
    "one original for two": run("UPDATE documents SET original = (SELECT max(original) FROM documents)"),
    "two nodes in one place": run(
        'INSERT INTO nodes SELECT upper(node_id), doc_id, page_no, ordinal, start, "end", modality, language,'
        " content_hash, context FROM nodes"
    ),
    "a page missing": run("DELETE FROM pages WHERE page_no = 2"),
    "pages without end": run("UPDATE documents SET pages = 1000000000"),
    "a page of no size": run("UPDATE pages SET width = 0"),
    "a page of text for a size": run("UPDATE pages SET height = 'tall'"),
    "words of zeros": run("UPDATE pages SET words = zeroblob(4000)"),
    "words beyond the text": run("UPDATE pages SET text = 'x'"),
    "a node beyond the text": run('UPDATE nodes SET "end" = 100000'),
    "a node before the text": run("UPDATE nodes SET start = -5"),
    "a vector that is no number": run("UPDATE vectors SET vector = CAST(x'ff7f' || substr(vector, 3) AS BLOB)"),
    "a vector that is text": run("UPDATE vectors SET vector = CAST(x'ff7f' AS TEXT)"),
    "a name of collections that is no text": run("UPDATE collections SET name = CAST(x'ff7f' AS TEXT)"),
    "states of broken text": run("UPDATE writes SET channel = CAST(x'ff7f' AS TEXT)"),
    "tags that are no list": run("UPDATE documents SET tags = '{'"),
    "a state of another kind": run("UPDATE checkpoints SET type = 'pickle'"),
    "a state that is no data": run("UPDATE checkpoints SET checkpoint = x'c1c1'"),
    "a label that is no data": run("UPDATE checkpoints SET metadata = x'5b5b5b'"),
    "a count below zero": claims(documents=-1),
    "a count of text": claims(pages="many"),
    "a count more": claims(more=1),
}


@pytest.fixture(scope="module")
def forged(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[DocMind, Path]]:
    """Open an empty vault that is offered forged bundles, and the folder that it is in."""
    folder = tmp_path_factory.mktemp("forged")
    with opened(folder) as new:
        yield new, folder


@pytest.mark.slow
@pytest.mark.parametrize("what", tenth_of(FORGERIES))
def test_a_forged_bundle_is_refused(what: str, bundle: Path, forged: tuple[DocMind, Path]) -> None:
    new, folder = forged
    forger = Forger(bundle)
    FORGERIES[what](forger, folder)
    forger.write(folder / "forged.docmind")
    with pytest.raises(DocMindError) as refused:
        new.bundles.read(folder / "forged.docmind", PASSPHRASE, quiet)
    assert refused.value.hint
    assert new.documents.all() == ()
    assert new.conversations.threads() == ()
    assert sealed_files(folder) == []
    assert not list((folder / "data" / "staging").glob("*"))
    assert {path.name for path in folder.iterdir()} <= {"data", "cache", "docmind.key", "forged.docmind"}


def test_a_bundle_put_together_again_is_taken(bundle: Path, tmp_path: Path) -> None:
    Forger(bundle).write(tmp_path / "same.docmind")  # so it is the forgery that the tests above refuse
    with opened(tmp_path / "new") as new:
        assert new.bundles.read(tmp_path / "same.docmind", PASSPHRASE, quiet).documents == 2


def test_the_format_is_as_described(bundle: Path) -> None:
    data = bundle.read_bytes()
    magic, version, length = struct.unpack(">4sB3xI", data[:12])
    header = json.loads(data[12 : 12 + length])
    root = passphrase_key(PASSPHRASE, header["argon2id"])
    told, rest = data[12 + length : 44 + length], data[44 + length :]
    mac = hmac.digest(derive(root, b"", b"DMB1 mac"), data[: 12 + length] + rest, hashlib.sha256)
    assert (magic, version, told) == (b"DMB1", 1, mac)
    assert header["proof"] == derive(root, b"", b"DMB1 proof").hex()
    assert rest[:8] == b"\0\x06keyset"
