"""Files inside files: each is a document of its own, which follows the one in which it came."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from archives import archive, packed, quine
from desks import NOTHING, inventory, opened, settings_in
from docmind.application import DocMind
from docmind.conversations import draft_markdown, listing_csv, listing_markdown
from docmind.documents import QueuedFile
from docmind.errors import CancelledError, NotFoundError
from docmind.ingest.pipeline import Ingest, Step
from docmind.records.documents import AddResult, Upload, with_inside
from docmind.records.query import Query
from docmind.records.search import Filters

LEASE = "The deposit of the flat in Lisbon is 1,800 euros."
LETTER = "Dear Ana, the herons are back at the lake."
RENT = archive("Rent 2025.zip", {"2025/lease.txt": LEASE, "old/letters.zip": packed({"letter.txt": LETTER})})


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[DocMind]:
    with opened(tmp_path) as desk:
        yield desk


def ids(desk: DocMind) -> dict[str, str]:
    return {info.document: info.doc_id for info in desk.documents.all()}


def flat(result: AddResult) -> list[tuple[str, str]]:
    return [(result.document, result.status), *(one for inside in result.enclosed for one in flat(inside))]


@pytest.mark.slow
def test_each_file_is_a_document_that_names_where_it_lies(desk: DocMind) -> None:
    (result,) = desk.add([RENT])
    assert flat(result) == [(name, "added") for name in ("Rent 2025.zip", "lease.txt", "letters.zip", "letter.txt")]
    there = {info.document: info for info in desk.documents.all()}
    assert {name: info.parent.document if info.parent else "" for name, info in there.items()} == {
        "Rent 2025.zip": "",
        "lease.txt": "Rent 2025.zip",
        "letters.zip": "Rent 2025.zip",
        "letter.txt": "letters.zip",
    }
    assert [there[name].enclosed for name in ("Rent 2025.zip", "letters.zip", "lease.txt")] == [2, 1, 0]
    assert desk.documents.label(there["lease.txt"].doc_id, "") == "lease in Rent 2025.zip"
    inside = desk.documents.enclosed(there["Rent 2025.zip"].doc_id)
    assert [(one.name, one.doc_id) for one in inside] == [
        ("2025/lease.txt", there["lease.txt"].doc_id),
        ("old/letters.zip", there["letters.zip"].doc_id),
    ]


@pytest.mark.slow
def test_the_same_archive_again_adds_nothing(desk: DocMind) -> None:
    desk.add([RENT])
    (again,) = desk.add([RENT])
    assert flat(again) == [("Rent 2025.zip", "already")]
    assert len(desk.documents.all()) == 4


@pytest.mark.slow
def test_what_cannot_be_read_costs_itself_alone_and_is_named(desk: DocMind) -> None:
    (result,) = desk.add([archive("mixed.zip", {"tool.exe": b"MZ\0\0", "lease.txt": LEASE, "empty.txt": ""})])
    assert flat(result)[1:] == [("tool.exe", "refused"), ("lease.txt", "added"), ("empty.txt", "refused")]
    told = {one.name: one.message for one in desk.documents.enclosed(ids(desk)["mixed.zip"])}
    assert "is a program" in told["tool.exe"]
    assert told["lease.txt"] == ""
    assert told["empty.txt"] == "empty.txt is empty."


@pytest.mark.slow
def test_a_process_that_ends_after_the_archive_adds_its_files_at_the_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second reading is cut off before anything of it is stored."""
    read, calls = Ingest.read, []

    def once(self: Ingest, file: QueuedFile, step: Step, *, password: str | None = None) -> AddResult:
        calls.append(file.name)
        if len(calls) > 1:
            raise CancelledError("Stopped.")
        return read(self, file, step, password=password)

    with opened(tmp_path) as desk:
        monkeypatch.setattr(Ingest, "read", once)
        with pytest.raises(CancelledError):
            desk.add([RENT])
        assert list(ids(desk)) == ["Rent 2025.zip"]
        monkeypatch.undo()
    with opened(tmp_path) as desk:
        desk.queue.finish()
        assert set(ids(desk)) == {"Rent 2025.zip", "lease.txt", "letters.zip", "letter.txt"}


@pytest.mark.slow
def test_an_archive_cut_off_among_its_files_is_read_again_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from docmind.documents.uploads import Uploads

    enclose, calls = Uploads.enclose, []

    def cut(self: Uploads, parent_id: str, place: int, *rest: str) -> None:
        calls.append(place)
        if place == 2:
            raise CancelledError("Stopped.")
        enclose(self, parent_id, place, *rest)  # type: ignore[arg-type]

    with opened(tmp_path) as desk:
        monkeypatch.setattr(Uploads, "enclose", cut)
        with pytest.raises(CancelledError):
            desk.add([RENT])
        assert calls == [1, 2]
        assert [one.document for one in desk.queue.uploads()] == ["Rent 2025.zip"]
        monkeypatch.undo()
    with opened(tmp_path) as desk:
        desk.queue.finish()
        assert len(ids(desk)) == 4


@pytest.mark.slow
def test_tags_and_collections_follow_the_archive(desk: DocMind) -> None:
    desk.add([Upload(RENT.name, RENT.data, tags=("home",))])
    there = ids(desk)
    assert all(desk.documents.get(doc_id).tags == ("home",) for doc_id in there.values())
    made = desk.documents.new_collection("Flat", [there["Rent 2025.zip"]])
    desk.documents.tag([there["Rent 2025.zip"]], add=["paid"], remove=["home"])
    for doc_id in there.values():
        info = desk.documents.get(doc_id)
        assert (info.tags, info.collections) == (("paid",), (made.collection_id,))


@pytest.mark.slow
def test_the_bin_takes_and_gives_back_all_that_came_with_it(tmp_path: Path, desk: DocMind) -> None:
    desk.add([RENT])
    there = ids(desk)
    desk.documents.bin([there["lease.txt"]])  # alone, and it stays there
    desk.documents.bin([there["Rent 2025.zip"]])
    assert desk.documents.all() == ()
    assert not desk.search("herons").hits
    desk.documents.restore([there["Rent 2025.zip"]])
    assert set(ids(desk)) == {"Rent 2025.zip", "letters.zip", "letter.txt"}
    assert desk.search("herons").hits
    desk.erasures.erase([there["Rent 2025.zip"]])
    desk.close()
    assert inventory(settings_in(tmp_path)) == NOTHING


@pytest.mark.slow
def test_a_file_in_two_archives_is_one_document_and_stays_with_the_other(desk: DocMind) -> None:
    desk.add([archive("one.zip", {"lease.txt": LEASE}), archive("two.zip", {"copy.txt": LEASE, "more.txt": LETTER})])
    there = ids(desk)
    assert set(there) == {"one.zip", "two.zip", "lease.txt", "more.txt"}
    desk.documents.bin([there["one.zip"]])
    parent = desk.documents.get(there["lease.txt"]).parent
    assert parent is not None
    assert parent.document == "two.zip"
    desk.erasures.erase([there["two.zip"]])
    with pytest.raises(NotFoundError):
        desk.documents.get(there["lease.txt"])


@pytest.mark.slow
def test_a_file_that_is_added_by_itself_too_stays(desk: DocMind) -> None:
    desk.add([RENT])
    desk.add([Upload("my lease.txt", LEASE.encode())])
    there = ids(desk)
    desk.documents.bin([there["Rent 2025.zip"]])
    assert set(ids(desk)) == {"lease.txt"}


@pytest.mark.slow
def test_a_file_inside_can_be_erased_alone(desk: DocMind) -> None:
    desk.add([RENT])
    there = ids(desk)
    (receipt,) = desk.erasures.erase([there["lease.txt"]])
    assert receipt.is_clean
    lease, letters = desk.documents.enclosed(there["Rent 2025.zip"])
    assert (lease.doc_id, lease.message) == ("", "It was erased.")
    assert letters.doc_id == there["letters.zip"]
    desk.add([RENT])
    assert "lease.txt" not in ids(desk)


@pytest.mark.slow
def test_asking_an_archive_asks_its_files(desk: DocMind) -> None:
    desk.add([RENT, Upload("other.txt", b"Herons nest in the trees.")])
    doc_id = ids(desk)["Rent 2025.zip"]
    found = desk.search(Query("herons", filters=Filters(doc_ids=(doc_id,))))
    named = {hit.document for hit in found.hits}
    assert "letter.txt" in named
    assert "other.txt" not in named


@pytest.mark.slow
def test_an_answer_names_the_file_and_where_it_lies(desk: DocMind) -> None:
    desk.add([RENT])
    (source, *_others) = desk.ask("What is the deposit of the flat in Lisbon?").sources
    assert (source.document, source.place) == ("lease.txt", "in Rent 2025.zip")
    assert source.placed == "lease.txt in Rent 2025.zip"
    thread_id = desk.conversations.create().thread_id
    turn = desk.conversations.ask("What is the deposit of the flat in Lisbon?", thread_id=thread_id)
    assert turn.answer is not None
    assert turn.answer.sources[0].place == "in Rent 2025.zip"
    assert desk.conversations.view(thread_id).turns[0].answer == turn.answer


@pytest.mark.slow
def test_files_four_deep_and_archives_of_themselves_are_named_and_not_added(desk: DocMind) -> None:
    deep = packed({"bottom.txt": LETTER})
    for number in (3, 2, 1):
        deep = packed({f"{number}.zip": deep})
    desk.add([Upload("0.zip", deep)])
    there = ids(desk)
    assert set(there) == {"0.zip", "1.zip", "2.zip", "3.zip"}
    (bottom,) = desk.documents.enclosed(there["3.zip"])
    assert bottom.message == "It lies in more than 3 files, one inside the other."


@pytest.mark.slow
def test_a_bundle_carries_what_lies_where(tmp_path: Path, desk: DocMind) -> None:
    desk.add([archive("mixed.zip", {"tool.exe": b"MZ\0\0", "lease.txt": LEASE})])
    there = ids(desk)
    before = desk.documents.enclosed(there["mixed.zip"])
    desk.bundles.write(tmp_path / "all.docmind", "a long passphrase of words", lambda _done, _all: None)
    with opened(tmp_path / "other") as other:
        other.bundles.read(tmp_path / "all.docmind", "a long passphrase of words", lambda _done, _all: None)
        here = ids(other)
        parent = other.documents.get(here["lease.txt"]).parent
        assert parent is not None
        assert parent.doc_id == here["mixed.zip"]
        after = other.documents.enclosed(here["mixed.zip"])
        assert [(one.name, one.message) for one in after] == [(one.name, one.message) for one in before]
        assert after[1].doc_id == here["lease.txt"]


@pytest.mark.slow
def test_a_snapshot_brings_back_what_lies_where(desk: DocMind) -> None:
    desk.add([RENT])
    there = ids(desk)
    snapshot = desk.snapshots.create("before")
    desk.erasures.erase([there["Rent 2025.zip"]])
    assert desk.documents.all() == ()
    desk.snapshots.activate(snapshot.snapshot_id)
    assert ids(desk) == there
    assert {one.name for one in desk.documents.enclosed(there["Rent 2025.zip"])} == {"lease.txt", "letters.zip"}
    desk.documents.bin([there["Rent 2025.zip"]])
    assert desk.documents.all() == ()


@pytest.mark.slow
def test_a_changed_archive_in_a_folder_takes_its_files_along(tmp_path: Path, desk: DocMind) -> None:
    folder = tmp_path / "watched"
    folder.mkdir()
    (folder / "rent.zip").write_bytes(packed({"lease.txt": LEASE, "letter.txt": LETTER}))
    found = desk.folders.add(folder)
    desk.folders.sync(found.folder_id)
    desk.queue.finish()
    desk.folders.sync(found.folder_id)
    assert set(ids(desk)) == {"rent.zip", "lease.txt", "letter.txt"}
    (folder / "rent.zip").write_bytes(packed({"lease.txt": LEASE, "new.txt": "The rent is 900 euros from March on."}))
    for _turn in range(2):
        desk.folders.sync(found.folder_id)
        desk.queue.finish()
    desk.folders.sync(found.folder_id)
    assert set(ids(desk)) == {"rent.zip", "lease.txt", "new.txt"}
    parent = desk.documents.get(ids(desk)["lease.txt"]).parent
    assert parent is not None
    assert parent.doc_id == ids(desk)["rent.zip"]


@pytest.mark.slow
def test_an_archive_that_contains_itself_is_named_and_not_added(desk: DocMind) -> None:
    data = quine()
    assert zipfile.ZipFile(io.BytesIO(data)).read("r/r.zip") == data
    (result,) = desk.add([Upload("r.zip", data)])
    assert [info.document for info in desk.documents.all()] == ["r.zip"]
    (inside,) = desk.documents.enclosed(result.doc_id or "")
    assert inside.name == "r/r.zip"
    assert not inside.doc_id
    assert inside.message
    assert not desk.queue.uploads("waiting", "reading")
    desk.erasures.erase([result.doc_id or ""])
    assert desk.documents.all() == ()


@pytest.mark.slow
def test_hits_lists_and_checked_drafts_name_the_place(desk: DocMind) -> None:
    desk.add([RENT])
    place = desk.documents.get(ids(desk)["letter.txt"]).parent
    assert place is not None
    found = desk.search("herons")
    assert [hit.placed for hit in found.hits if hit.document == "letter.txt"] == [f"letter.txt {place.place}"]
    listed = desk.find("herons")
    assert listed.items[0].source.place == place.place
    assert f"letter.txt {place.place}" in listing_markdown(listed)
    assert listing_csv(listed).splitlines()[1].endswith(place.place)
    text = desk.documents.page(ids(desk)["letter.txt"], 1).text
    checked = desk.check(text)
    assert place.place in draft_markdown(checked)


@pytest.mark.slow
def test_what_goes_with_an_archive_is_counted(desk: DocMind) -> None:
    desk.add([RENT, archive("copy.zip", {"copy.txt": LEASE})])
    there = ids(desk)
    assert desk.documents.inside([there["Rent 2025.zip"]]) == 2, "the lease lies in the other archive too"
    assert desk.documents.inside([there["letters.zip"]]) == 1
    assert desk.documents.inside([there["letter.txt"]]) == 0
    assert desk.documents.inside([there["Rent 2025.zip"], there["copy.zip"]]) == 3
    before = len(desk.documents.all())
    desk.erasures.erase([there["Rent 2025.zip"]])
    assert len(desk.documents.all()) == before - 3
    assert with_inside("Rent 2025.zip", 2) == "Rent 2025.zip and 2 files inside"
    assert with_inside("lease.txt", 0) == "lease.txt"
