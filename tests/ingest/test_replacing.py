"""Files that replace earlier versions of themselves once they are read, whoever hands them in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from desks import opened
from docmind import DocMind
from docmind.client import Client, connect
from docmind.errors import ConfigError
from docmind.records.documents import Upload
from served import Server

LEASE = "Whoever lives here pays.\n\nThe rent of the mill house is {rent} crowns a month. It is due on the third day.\n"


def lease(rent: int, name: str = "lease.txt", *, replaces: bool = False) -> Upload:
    return Upload(name, LEASE.format(rent=rent).encode(), replaces=replaces)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[DocMind]:
    with opened(tmp_path) as docmind:
        yield docmind


def rents(desk: DocMind | Client) -> list[str]:
    return sorted(desk.documents.page(info.doc_id, 1).text.split(" crowns")[0][-3:] for info in desk.documents.all())


@pytest.mark.slow
def test_a_file_that_replaces_moves_the_earlier_version_to_the_bin(desk: DocMind) -> None:
    (first,) = desk.add([lease(900)])
    (second,) = desk.add([lease(950, replaces=True)])
    assert rents(desk) == ["950"]
    assert [info.doc_id for info in desk.documents.binned()] == [first.doc_id]
    assert "which goes to the bin" in second.message
    desk.documents.restore([first.doc_id or ""])
    desk.add([lease(975)])
    assert rents(desk) == ["900", "950", "975"], "others stay"


@pytest.mark.slow
def test_files_that_are_read_together_replace_too(desk: DocMind) -> None:
    desk.add([lease(900), Upload("ducks.txt", b"Ducks swim.")])
    desk.add([Upload("owls.txt", b"Owls hunt."), lease(950, replaces=True), Upload("herons.txt", b"Herons wait.")])
    assert [info.document for info in desk.documents.binned()] == ["lease.txt"]


@pytest.mark.slow
def test_a_known_file_that_is_handed_in_again_replaces(desk: DocMind) -> None:
    desk.add([lease(900)])
    desk.add([lease(950, "lease (2).txt")])
    assert rents(desk) == ["900", "950"]
    (again,) = desk.add([lease(950, "lease (2).txt", replaces=True)])
    assert again.status == "already"
    assert rents(desk) == ["950"]


@pytest.mark.slow
def test_a_file_of_another_text_replaces_nothing(desk: DocMind) -> None:
    desk.add([lease(900)])
    desk.add([Upload("lease.txt", b"Ducks swim on the river in spring.", replaces=True)])
    assert len(desk.documents.all()) == 2


@pytest.mark.slow
def test_a_process_that_ends_before_it_replaces_leaves_it_to_the_next(tmp_path: Path) -> None:
    with opened(tmp_path) as desk:
        desk.add([lease(900)])
        desk.queue.submit([lease(950)])
        while desk.queue.uploads("waiting", "reading"):
            pass
        with desk.vault.database.transaction() as db:  # as it was noted before the process ended
            db.execute("UPDATE uploads SET replaces = 1")
        assert rents(desk) == ["900", "950"]
    with opened(tmp_path) as desk:
        desk.queue.adopt()
        assert rents(desk) == ["950"]


@pytest.mark.slow
def test_over_rest_a_file_is_kept_beside_or_replaces(tmp_path: Path) -> None:
    server = Server(tmp_path)
    server.start()
    try:
        client = connect(tmp_path / "data")
        client.add([lease(900)])
        client.add([lease(950)])
        assert rents(client) == ["900", "950"], "both are kept by default"
        client.add([replace(lease(975), replaces=True)])
        assert rents(client) == ["975"]
        with pytest.raises(ConfigError, match="replace"):
            client.exchange("POST", "/uploads?name=a.txt&replace=perhaps", b"A text.")
        with pytest.raises(ConfigError, match="replace"):
            client.exchange("POST", "/uploads?name=a.txt&replace=1", b"A text.")
    finally:
        server.stop()
