"""`docmind add https://…`: pages beside files, and nothing sent where it is not allowed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from shells import Shell
from websites import Site, serving_pages

PAGE = b"<!doctype html><title>How bees make honey</title><p>Bees fan the nectar until it is honey.</p>"


@pytest.fixture
def site() -> Iterator[Site]:
    with serving_pages({"/bees": PAGE}) as one:
        yield one


def test_without_permission_nothing_is_fetched(tmp_path: Path, site: Site) -> None:
    shell = Shell(tmp_path)
    told = shell.run("add", f"{site.url}/bees", code=2).stderr
    assert "Fetching web pages is not allowed." in told
    assert "Settings" in told
    assert site.asked == []
    assert shell.json("list") == {"documents": []}


@pytest.mark.slow
def test_a_page_and_a_file_are_added_together(tmp_path: Path, site: Site) -> None:
    shell = Shell(tmp_path, DOCMIND_WEB__PAGES="on")
    file = shell.file("owls.txt", b"Owls hunt at night and swallow their prey whole. " * 3)
    told = shell.run("add", f"{site.url}/bees", file, f"{site.url}/none", "--tag", "bees", code=50)
    assert "Added 127.0.0.1 bees.html: 1 page" in told.stdout
    assert "Added owls.txt" in told.stdout
    assert "127.0.0.1 has no such page." in told.stderr
    listed = json.loads(shell.run("list", "--json").stdout)["documents"]
    page = next(one for one in listed if one["kind"] == "html")
    assert (page["address"], page["title"], page["tags"]) == (f"{site.url}/bees", "How bees make honey", ["bees"])
    assert page["fetched_at_ms"] > 0
    assert f"{site.url}/bees" in shell.run("list").stdout
    assert "Already here" in shell.run("add", f"{site.url}/bees").stdout
