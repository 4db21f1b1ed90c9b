"""The folders that each journey enters are those of docs/architecture.md."""

from __future__ import annotations

import inspect
import re
import sys
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import pytest

import docmind
from conftest import ROOT
from desks import settings_in, text_pdf
from docmind.application import DocMind
from docmind.records.documents import Upload
from docmind.records.query import Query

PACKAGE = str(Path(docmind.__file__).parent)


@contextmanager
def entered(folders: set[str]) -> Iterator[None]:
    """Add the folders of the package in which a function is called, by any thread that starts meanwhile.

    The bodies of modules and classes, which run as they are imported, are no functions.
    """

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(PACKAGE) and code.co_flags & inspect.CO_OPTIMIZED:
            folders.add(Path(code.co_filename).parent.as_posix()[len(PACKAGE) + 1 :] or "root")

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


@pytest.mark.slow
def test_the_four_journeys(tmp_path: Path) -> None:
    told: dict[str, set[str]] = {}
    table = (
        (ROOT / "docs" / "architecture.md").read_text("utf-8").partition("## Four journeys")[2].partition("\n## ")[0]
    )
    for name, folders in re.findall(r"^\| (a [a-z ]+) \| `[^`]+` \| (.+) \|$", table, re.MULTILINE):
        told[name] = set(folders.split(", "))
    seen: dict[str, set[str]] = defaultdict(set)
    with DocMind(settings_in(tmp_path)) as desk:
        with entered(seen["a file becomes searchable"]):
            desk.add(
                [Upload("herons.pdf", text_pdf(["Herons nest in the valley of the river", "Egrets count 37 eggs"]))]
            )
        with entered(seen["a question is answered"]):
            thread_id = desk.conversations.create().thread_id
            run_id = desk.conversations.start("Where do herons nest?", thread_id=thread_id)
            answer = desk.conversations.wait(run_id, 60).turn
            assert answer is not None
        doc_id = desk.documents.all()[0].doc_id
        with entered(seen["a page image is shown"]):
            image = desk.documents.page_image(doc_id, 1)
        with entered(seen["a picture finds its page"]):
            desk.search(Query(picture=image, read_picture=False))
    assert set(told) == set(seen)
    for name, folders in seen.items():
        beyond = folders - told[name]
        assert not beyond, f"{name} enters {beyond}; docs/architecture.md does not say so"
