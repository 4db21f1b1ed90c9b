"""Damaged pages of vault.db: an error or what stood there, never zeros; and the rest is served."""

from __future__ import annotations

import random
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from desks import opened, settings_in
from docmind.errors import DamagedError
from docmind.records.documents import Upload
from docmind.records.query import Query
from docmind.storage import database as database_module
from docmind.storage.database import Connection, Database
from docmind.storage.keys import open_keys

KEY = bytes(range(32))
ROWS = 40


def bodies(db: Connection) -> None:
    db.execute("CREATE TABLE bodies (id INTEGER PRIMARY KEY, body BLOB NOT NULL)")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "vault.db"


@pytest.fixture
def written(path: Path) -> list[bytes]:
    """Values with overflow pages, of a closed database."""
    values = [secrets.token_bytes(size) for size in (100, 3000, 9000, 20_000) * (ROWS // 4)]
    database = Database(path, KEY, [bodies])
    with database.transaction() as db:
        db.executemany("INSERT INTO bodies VALUES (?, ?)", list(enumerate(values)))
    database.close()
    return values


def spoiled(path: Path, chance: random.Random, sound: bytes) -> None:
    """One bit in a page beyond the first."""
    data = bytearray(sound)
    data[chance.randrange(4096, len(data))] ^= 1 << chance.randrange(8)
    path.write_bytes(data)


def in_transaction(database: Database, at: int) -> Any:
    with database.transaction() as db:
        return db.execute("SELECT body FROM bodies WHERE id = ?", (at,)).fetchone()


def in_reading(database: Database, at: int) -> Any:
    with database.reading() as db:
        return db.execute("SELECT body FROM bodies WHERE id = ?", (at,)).fetchone()


WAYS: dict[str, Callable[[Database, int], Any]] = {
    "one": lambda database, at: database.one("SELECT body FROM bodies WHERE id = ?", (at,)),
    "all": lambda database, at: next(iter(database.all("SELECT body FROM bodies WHERE id = ?", (at,))), None),
    "reading": in_reading,
    "transaction": in_transaction,
}


def count(path: Path, written: list[bytes], way: Callable[[Database, int], Any], flips: int) -> tuple[int, int, int]:
    """Right reads, wrong ones, and errors, over flips of one bit each."""
    chance, sound = random.Random(7), path.read_bytes()
    right = wrong = errors = 0
    for _ in range(flips):
        spoiled(path, chance, sound)
        try:
            database = Database(path, KEY, [bodies])
        except DamagedError:
            continue
        for at, value in enumerate(written):
            try:
                row = way(database, at)
            except DamagedError:
                errors += 1
                continue
            right, wrong = (right + 1, wrong) if row == (value,) else (right, wrong + 1)
        database.close()
    path.write_bytes(sound)
    return right, wrong, errors


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_no_read_is_wrong_and_the_rest_is_served(path: Path, written: list[bytes], way: str) -> None:
    right, wrong, errors = count(path, written, WAYS[way], 40)
    assert wrong == 0
    assert errors
    assert right > 40 * ROWS * 0.7  # the connection is opened again after each


def test_without_the_check_reads_are_wrong(path: Path, written: list[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control."""
    monkeypatch.setattr(database_module, "_is_whole", lambda db: True)
    _, wrong, _ = count(path, written, WAYS["one"], 40)
    assert wrong


def damaged_row(path: Path, written: list[bytes]) -> tuple[Database, int]:
    """Damage a database so that one of its values lies on a damaged page."""
    chance, sound = random.Random(3), path.read_bytes()
    for _ in range(200):
        spoiled(path, chance, sound)
        try:
            database = Database(path, KEY, [bodies])
        except DamagedError:
            continue
        bad = []
        for at in range(len(written)):
            try:
                database.one("SELECT body FROM bodies WHERE id = ?", (at,))
            except DamagedError:
                bad.append(at)
        if len(bad) == 1:
            return database, bad[0]
        database.close()
    raise AssertionError("no flip damaged one value alone")


def change_and_read(database: Database, changed: int, read: int) -> None:
    with database.transaction() as db:
        db.execute("UPDATE bodies SET body = x'00' WHERE id = ?", (changed,))
        db.execute("SELECT body FROM bodies WHERE id = ?", (read,)).fetchone()


def test_a_transaction_that_read_a_damaged_page_is_rolled_back(path: Path, written: list[bytes]) -> None:
    database, bad = damaged_row(path, written)
    other = (bad + 5) % ROWS
    with pytest.raises(DamagedError):
        change_and_read(database, other, bad)
    assert database.one("SELECT body FROM bodies WHERE id = ?", (other,)) == (written[other],)
    change_and_read(database, other, other)  # and the next one goes through
    assert database.one("SELECT body FROM bodies WHERE id = ?", (other,)) == (b"\0",)
    database.close()


def nonsense(text: str) -> None:
    raise ValueError(text)


def test_whatever_zeros_lead_to_is_damage(path: Path, written: list[bytes]) -> None:
    database, bad = damaged_row(path, written)
    for failing in (lambda: nonsense("zeros"), lambda: bytes(1 << 62), lambda: b"\xff".decode()):
        with pytest.raises(DamagedError):
            fail_after_reading(database, bad, failing)
    with pytest.raises(ValueError, match="sound"):  # without damage a mistake stays one
        fail_after_reading(database, (bad + 1) % ROWS, lambda: nonsense("sound"))
    database.close()


def fail_after_reading(database: Database, at: int, failing: Callable[[], object]) -> None:
    with database.reading() as db:
        db.execute("SELECT body FROM bodies WHERE id = ?", (at,)).fetchone()
        failing()


def test_extensions_are_loaded_again(path: Path, written: list[bytes]) -> None:
    import sqlite_vec

    database, bad = damaged_row(path, written)
    database.load_extension(sqlite_vec.loadable_path())
    with pytest.raises(DamagedError):
        database.one("SELECT body FROM bodies WHERE id = ?", (bad,))
    assert database.one("SELECT vec_version()")
    database.close()


def test_scrubbing_does_not_make_zeros_of_a_damaged_page(path: Path, written: list[bytes]) -> None:
    database, bad = damaged_row(path, written)
    with pytest.raises(DamagedError):
        database.scrub()
    assert [at for at in range(ROWS) if not is_right(database, at, written[at])] == [bad]
    database.close()
    database = Database(path, KEY, [bodies])
    assert [at for at in range(ROWS) if not is_right(database, at, written[at])] == [bad]
    database.close()


def is_right(database: Database, at: int, value: bytes) -> bool:
    try:
        found = database.one("SELECT body FROM bodies WHERE id = ?", (at,))
    except DamagedError:
        return False
    assert found == (value,)
    return True


# --- what a person sees -----------------------------------------------------------------------------------------------


def long_text(name: str) -> Upload:
    words = " ".join(f"{name}{n} tide{n * 7 % 997}" for n in range(1500))
    return Upload(f"{name}.txt", f"{words}.".encode())


@pytest.fixture
def spoilt(tmp_path: Path) -> Iterator[tuple[Path, str, int]]:
    """Make a vault in which the row of one page is damaged; return its folder and the page."""
    with opened(tmp_path) as docmind:
        docmind.add([long_text("gull"), long_text("tern")])
        docmind.search("gull42 tide294")  # the index is there
    settings = settings_in(tmp_path)
    path, key = settings.data_dir / "vault.db", open_keys(settings.data_dir, settings.keys).keyset.db_key
    sound = path.read_bytes()
    for page in range(len(sound) // 4096 - 1, 0, -1):
        data = bytearray(sound)
        data[page * 4096 + 100] ^= 1
        path.write_bytes(data)
        if found := only_page_damaged(path, key):
            yield tmp_path, *found
            return
    raise AssertionError("no page of the database holds one page's text alone")


def only_page_damaged(path: Path, key: bytes) -> tuple[str, int] | None:
    try:
        database = Database(path, key)
    except DamagedError:
        return None
    bad: list[tuple[str, int]] = []
    others = 0
    try:
        for place in database.all("SELECT doc_id, page_no FROM pages"):
            try:
                database.one("SELECT text, words FROM pages WHERE doc_id = ? AND page_no = ?", place)
            except DamagedError:
                bad.append((place[0], place[1]))
        for table in ("documents", "nodes", "vectors", "tokens", "changes") if len(bad) == 1 else ():
            database.all(f"SELECT * FROM {table}")
    except DamagedError:
        others += 1
    database.close()
    return bad[0] if len(bad) == 1 and not others else None


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_search_leaves_a_damaged_page_out_and_says_so(spoilt: tuple[Path, str, int]) -> None:
    folder, doc_id, page_no = spoilt
    with opened(folder) as docmind:
        name = docmind.documents.get(doc_id).document
        question = f"{name[:4]}{(page_no - 1) * 300 + 42}"
        for _ in range(2):
            found = docmind.search(Query(question, k=100))
            assert found.hits
            assert (doc_id, page_no) not in [(hit.doc_id, hit.page_no) for hit in found.hits]
            (told,) = [one for one in found.degraded if one.stage == "damaged"]
            assert f"page {page_no} of {name}" in told.reason
        assert docmind.ask(question).degraded
        assert docmind.search(Query(question, k=50)).hits
        with pytest.raises(DamagedError, match="damaged"):
            docmind.documents.page(doc_id, page_no)
        others = [info.doc_id for info in docmind.documents.all()]
        assert len(others) == 2
        docmind.reindex()  # a damaged document does not stop the index from being built
        again = docmind.search(Query(question, k=100))
        assert again.hits
        assert [one for one in again.degraded if one.stage == "damaged"]
        turn = docmind.conversations.ask(question, thread_id=docmind.conversations.create("x").thread_id)
        assert turn.answer
