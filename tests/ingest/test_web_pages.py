"""Web pages in the library: read like files, with their address and date, which stay with the document."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from desks import opened
from docmind.application import DocMind
from docmind.config import WebSettings
from docmind.errors import ConfigError, VaultError
from docmind.records.documents import AddResult, Upload
from websites import Site, serving_pages

PAGE = b"""<!doctype html><html><head><title>How bees make honey</title><script src="/evil.js"></script>
<link rel="stylesheet" href="/looks.css"></head><body><img src="/bee.png"><p>Bees fan the nectar until it is honey.</p>
<iframe src="/frame"></iframe></body></html>"""


@pytest.fixture
def site() -> Iterator[Site]:
    with serving_pages({"/bees": PAGE}) as one:
        yield one


def allowed(folder: Path) -> DocMind:
    return opened(folder, web=WebSettings(pages="on"))


def added(desk: DocMind, address: str) -> AddResult:
    (result,) = desk.add([desk.web_pages.fetch(address)])
    return result


@pytest.mark.slow
def test_a_page_is_read_with_its_title_address_and_date(tmp_path: Path, site: Site) -> None:
    with allowed(tmp_path) as desk:
        result = added(desk, f"{site.url}/bees")
        assert result.status == "added"
        info = desk.documents.get(result.doc_id or "")
        assert (info.shown_title, info.kind, info.address) == ("How bees make honey", "html", f"{site.url}/bees")
        assert abs(info.fetched_at_ms - time.time() * 1000) < 600_000
        assert desk.ask("What do bees fan?").sources[0].document == "127.0.0.1 bees.html"
        assert desk.documents.original(info.doc_id) == PAGE
    assert [path for path, _ in site.asked] == ["/bees"]  # and nothing that it names
    with opened(tmp_path) as desk:
        assert desk.documents.all()[0].address == f"{site.url}/bees"
    assert site.url.encode() not in (tmp_path / "data" / "vault.db").read_bytes()


@pytest.mark.slow
def test_the_same_page_again_is_already_here_and_a_changed_one_is_another_document(tmp_path: Path, site: Site) -> None:
    with allowed(tmp_path) as desk:
        first = added(desk, f"{site.url}/bees")
        fetched_at_ms = desk.documents.all()[0].fetched_at_ms
        again = added(desk, f"{site.url}/bees")
        assert (again.status, again.doc_id) == ("already", first.doc_id)
        assert desk.documents.all()[0].fetched_at_ms == fetched_at_ms
        site.pages["/bees"] = (200, {"Content-Type": "text/html"}, PAGE.replace(b"nectar", b"syrup"))
        assert added(desk, f"{site.url}/bees").status == "added"
        assert {info.address for info in desk.documents.all()} == {f"{site.url}/bees"}
        assert len(desk.documents.all()) == 2


@pytest.mark.slow
def test_what_is_deleted_takes_its_address_along(tmp_path: Path, site: Site) -> None:
    with allowed(tmp_path) as desk:
        doc_id = added(desk, f"{site.url}/bees").doc_id or ""
        desk.documents.bin([doc_id])
        assert desk.documents.binned()[0].address
        desk.documents.restore([doc_id])
        assert desk.documents.get(doc_id).address
        desk.erasures.erase([doc_id])
        assert desk.vault.database.one("SELECT count(*) FROM web_pages") == (0,)
        (upload_id,) = desk.queue.hold([desk.web_pages.fetch(f"{site.url}/bees")])
        assert desk.vault.database.one("SELECT count(*) FROM web_pages") == (1,)
        desk.queue.release([upload_id])
        desk.queue.remove([upload_id])
        assert desk.vault.database.one("SELECT count(*) FROM web_pages") == (0,)


@pytest.mark.slow
def test_a_file_has_no_address(tmp_path: Path) -> None:
    with allowed(tmp_path) as desk:
        desk.add([Upload("bees.txt", b"Bees dance in the hive. " * 9)])
        assert (desk.documents.all()[0].address, desk.documents.all()[0].fetched_at_ms) == ("", 0)


def test_nothing_is_fetched_without_permission_or_for_reading_only(tmp_path: Path, site: Site) -> None:
    with opened(tmp_path) as desk:
        with pytest.raises(ConfigError, match="not allowed"):
            desk.web_pages.fetch(f"{site.url}/bees")
        desk.settings.put({"web.pages": "on"})  # takes effect at once
        assert desk.web_pages.fetch(f"{site.url}/bees").data == PAGE
    site.asked.clear()
    reading = DocMind(desk.vault.settings.model_copy(update={"web": WebSettings(pages="on")}), read_only=True)
    with reading, pytest.raises(VaultError):
        reading.web_pages.fetch(f"{site.url}/bees")
    assert site.asked == []
