"""The list of conversations: safe titles, deletion that can be undone, look-up by name."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from docmind.conversations.sessions import Sessions
from docmind.errors import ConfigError, NotFoundError
from docmind.records.search import Filters
from docmind.storage.database import Database

KEY = bytes(range(32))
HOSTILE = "\u202ereversed\u2066\x07 \x1b[31mred\x00\u2028line\r\nmore\ufeff \U000e0041tag\u200b"


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    database = Database(tmp_path / "vault.db", KEY)
    yield database
    database.close()


@pytest.fixture
def sessions(db: Database) -> Sessions:
    return Sessions(db)


def test_the_table_is_the_agreed_one(db: Database) -> None:
    columns = [(*row[1:4], row[5]) for row in db.all("PRAGMA table_info(chat_session)")]
    assert columns == [
        ("thread_id", "TEXT", 0, 1),
        ("title", "TEXT", 1, 0),
        ("created_at_ms", "INTEGER", 1, 0),
        ("updated_at_ms", "INTEGER", 1, 0),
        ("last_checkpoint_id", "TEXT", 0, 0),
        ("deleted_at_ms", "INTEGER", 0, 0),
        ("is_pinned", "INTEGER", 1, 0),
        ("is_archived", "INTEGER", 1, 0),
    ]


def test_a_new_conversation_gets_a_random_id(sessions: Sessions) -> None:
    one, two = sessions.create("One"), sessions.create()
    assert len(one.thread_id) == 32
    assert int(one.thread_id, 16) != int(two.thread_id, 16)
    assert (one.title, two.title) == ("One", "")
    assert sessions.get(one.thread_id) == one
    assert one.created_at_ms == one.updated_at_ms > 1_600_000_000_000
    assert (one.checkpoint_id, one.deleted_at_ms) == (None, None)


@pytest.mark.parametrize("name", ["a", "A-b_9", "x" * 64])
def test_an_id_may_be_chosen_once(sessions: Sessions, name: str) -> None:
    made = sessions.create("first", thread_id=name)
    with pytest.raises(ConfigError, match="already"):
        sessions.create("second", thread_id=name)
    sessions.bin(name)
    with pytest.raises(ConfigError, match="already"):
        sessions.create("third", thread_id=name)
    assert sessions.restore(name) == made


@pytest.mark.parametrize("name", ["", "x" * 65, "a b", "../up", "a\n", "ä", "a;b", "a\x00"])
def test_an_id_that_is_none_is_refused(sessions: Sessions, name: str) -> None:
    with pytest.raises(ConfigError, match="1 to 64"):
        sessions.create(thread_id=name)
    assert sessions.all() == ()


def test_the_one_used_last_comes_first(sessions: Sessions) -> None:
    for name in ("aaaa", "bbbb", "cccc"):
        sessions.create(name, thread_id=name)
    for at, name in enumerate(("bbbb", "cccc", "aaaa", "bbbb")):
        sessions.touch(name, f"checkpoint {at}", 4_000_000_000_000 + at)
    assert [thread.title for thread in sessions.all()] == ["bbbb", "aaaa", "cccc"]
    assert sessions.get("bbbb").checkpoint_id == "checkpoint 3"
    assert sessions.get("bbbb").updated_at_ms == 4_000_000_000_003


def test_pinned_ones_come_first_and_archived_ones_are_put_away(sessions: Sessions) -> None:
    old, middle, new = (sessions.create(title) for title in ("Old", "Middle", "New"))
    for at, thread in enumerate((old, middle, new), start=1):
        sessions.touch(thread.thread_id, None, thread.updated_at_ms + at)
    assert sessions.pin(old.thread_id, True).is_pinned
    assert [thread.title for thread in sessions.all()] == ["Old", "New", "Middle"]
    archived = sessions.archive(old.thread_id, True)
    assert (archived.is_archived, archived.is_pinned) == (True, False), "one that is put away is not pinned"
    assert [thread.title for thread in sessions.all()] == ["New", "Middle"]
    assert [thread.title for thread in sessions.all(archived=True)] == ["Old"]
    assert sessions.pin(old.thread_id, True).is_archived is False
    sessions.pin(old.thread_id, False)
    assert [thread.title for thread in sessions.all()] == ["New", "Middle", "Old"]
    sessions.archive(new.thread_id, True)
    sessions.bin(new.thread_id)
    assert sessions.all(archived=True) == ()
    assert [thread.title for thread in sessions.all(deleted=True)] == ["New"]
    with pytest.raises(NotFoundError):
        sessions.pin("nobody", True)


def test_a_deleted_one_comes_back_as_it_was(sessions: Sessions) -> None:
    kept, put_aside = sessions.create("kept"), sessions.create("put aside")
    deleted = sessions.bin(put_aside.thread_id)
    assert deleted.deleted_at_ms
    assert sessions.bin(put_aside.thread_id) == deleted
    assert sessions.all() == (kept,)
    assert sessions.all(deleted=True) == (deleted,)
    assert sessions.get(put_aside.thread_id) == deleted
    assert sessions.restore(put_aside.thread_id) == put_aside
    assert sessions.restore(put_aside.thread_id) == put_aside
    assert len(sessions.all()) == 2


def test_a_dropped_one_is_gone(sessions: Sessions) -> None:
    one, other = sessions.create("one"), sessions.create("other")
    assert sessions.erase(one.thread_id) == one
    assert sessions.all() == (other,)
    with pytest.raises(NotFoundError):
        sessions.get(one.thread_id)


def test_an_unknown_name_is_one_sentence_that_names_the_list(sessions: Sessions) -> None:
    calls = [
        lambda: sessions.get("nothing"),
        lambda: sessions.rename("nothing", "x"),
        lambda: sessions.touch("nothing", "x", 1),
        lambda: sessions.bin("nothing"),
        lambda: sessions.restore("nothing"),
        lambda: sessions.erase("nothing"),
        lambda: sessions.find("nothing"),
    ]
    for call in calls:
        with pytest.raises(NotFoundError, match="There is no conversation nothing") as refused:
            call()
        assert "docmind threads list" in refused.value.hint
    with pytest.raises(NotFoundError) as refused:
        sessions.find(HOSTILE)
    assert str(refused.value).isprintable()


# --- titles -----------------------------------------------------------------------------------------------------------


def test_a_title_is_one_line_that_shows_what_it_is(sessions: Sessions) -> None:
    one = sessions.create(HOSTILE)
    assert one.title == "reversed [31mred line more tag"
    assert sessions.get(one.thread_id).title == one.title
    assert sessions.rename(one.thread_id, f"  {HOSTILE}2 ").title == one.title + "2"
    assert sessions.get(one.thread_id).title == one.title + "2"


@pytest.mark.parametrize(
    "title",
    ["ação e coração", "漢字の題", "مرحبا", "می‌خواهم", "👩‍👩‍👧 family", "<b>$x$ :material/home: [a](b)", "x" * 200],
)
def test_a_title_in_any_script_is_kept(sessions: Sessions, title: str) -> None:
    assert sessions.rename(sessions.create().thread_id, title).title == title
    assert sessions.find(title).title == title


@pytest.mark.parametrize("title", ["", "   ", "\n\t", "\u202e\u200b\x00", "\u200d", "\ud800"])
def test_an_empty_title_is_refused_and_the_old_one_stays(sessions: Sessions, title: str) -> None:
    one = sessions.create("kept")
    with pytest.raises(ConfigError, match="at least one visible character"):
        sessions.rename(one.thread_id, title)
    assert sessions.get(one.thread_id) == one


def test_a_long_title_is_refused_by_rename_and_cut_by_create(sessions: Sessions) -> None:
    one = sessions.create("word " * 100)
    assert len(one.title) <= 200
    assert one.title.endswith("word…")
    with pytest.raises(ConfigError, match="at most 200"):
        sessions.rename(one.thread_id, "x" * 201)
    assert sessions.get(one.thread_id) == one


# --- finding ----------------------------------------------------------------------------------------------------------


def test_a_conversation_is_found_by_id_beginning_or_title(sessions: Sessions) -> None:
    one = sessions.create("Charts", thread_id="abcdef01")
    two = sessions.create("abcd", thread_id="99887766")
    sessions.create("Tables", thread_id="abcdef02")
    assert sessions.find("abcdef01") == one
    assert sessions.find(" 9988 ") == two
    assert sessions.find("  Charts\n") == one
    with pytest.raises(NotFoundError, match="Several"):
        sessions.find("abcd")  # the beginning of two ids and a title: it is ambiguous
    with pytest.raises(NotFoundError, match="There is no"):
        sessions.find("998")
    with pytest.raises(NotFoundError, match="There is no"):
        sessions.find("")


def test_an_id_wins_over_a_title_that_says_the_same(sessions: Sessions) -> None:
    one = sessions.create("x", thread_id="report")
    sessions.create("report", thread_id="other")
    assert sessions.find("report") == one


def test_two_of_one_title_are_named(sessions: Sessions) -> None:
    ids = {sessions.create("Same").thread_id for _ in range(2)}
    with pytest.raises(NotFoundError) as refused:
        sessions.find("Same")
    assert all(thread_id in str(refused.value) for thread_id in ids)


def test_deleted_ones_are_found_where_no_other_fits(sessions: Sessions) -> None:
    gone = sessions.bin(sessions.create("Same").thread_id)
    assert sessions.find("Same") == gone
    live = sessions.create("Same")
    assert sessions.find("Same") == live
    assert sessions.find(gone.thread_id) == gone


def test_signs_of_sql_are_only_signs(sessions: Sessions) -> None:
    sessions.create("x", thread_id="abcdef")
    for name in ("%%%%", "____", "abc%", "' OR 1=1 --", "a*b?"):
        with pytest.raises(NotFoundError):
            sessions.find(name)


@pytest.mark.slow
def test_threads_make_conversations_side_by_side(sessions: Sessions) -> None:
    def work(n: int) -> None:
        for m in range(20):
            made = sessions.create(f"{n}/{m}")
            sessions.touch(made.thread_id, f"{n}.{m}", 5_000_000_000_000 + m)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = sessions.all()
    assert len(found) == 120
    assert all(thread.title.replace("/", ".") == thread.checkpoint_id for thread in found)


def test_a_conversation_is_bound_to_collections_and_documents(sessions: Sessions, db: Database) -> None:
    with db.transaction() as rows:
        for one in ("1", "2"):
            rows.execute("INSERT INTO collections VALUES (?, ?, 1)", (f"c{one}", one))
            rows.execute(
                "INSERT INTO documents (doc_id, document, kind, status, pages, bytes, original, original_suffix,"
                " added_at_ms) VALUES (?, ?, 'pdf', 'ready', 1, 1, '', '', 1)",
                (f"d{one}", one),
            )
    thread_id = sessions.create().thread_id
    assert sessions.get(thread_id).bound == Filters()
    both = Filters(doc_ids=("d1", "d2"), collections=("c1", "c2"))
    assert sessions.bind(thread_id, ["c2", "c1", "c1", "unknown"], ["d2", "unknown", "d1", "d2"]).bound == both
    assert sessions.all()[0].bound == both
    sessions.bin(thread_id)
    assert sessions.restore(thread_id).bound == both
    for binned, left in ((1, ("d2",)), (None, ("d1", "d2"))):
        with db.transaction() as rows:
            rows.execute("UPDATE documents SET deleted_at_ms = ? WHERE doc_id = 'd1'", (binned,))
        assert sessions.get(thread_id).bound.doc_ids == left, "what is in the bin stays bound"
    with db.transaction() as rows:
        rows.execute("DELETE FROM collections WHERE collection_id = 'c1'")
        rows.execute("DELETE FROM documents WHERE doc_id = 'd1'")
    assert sessions.get(thread_id).bound == Filters(doc_ids=("d2",), collections=("c2",)), (
        "what is deleted binds nothing"
    )
    assert sessions.bind(thread_id, documents=["d2"]).bound == Filters(doc_ids=("d2",))
    assert sessions.bind(thread_id).bound == Filters()
    sessions.bind(thread_id, ["c2"], ["d2"])
    sessions.erase(thread_id)
    assert [db.one(f"SELECT count(*) FROM bound_{table}") for table in ("collections", "documents")] == [(0,), (0,)]
    with pytest.raises(NotFoundError):
        sessions.bind(thread_id, ["c2"])
