"""Tags: the form in which they are kept, and their bounds, by every way in."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from docmind.documents import fitting_tags
from docmind.documents.tags import tag_of, tags_of
from docmind.errors import ConfigError
from docmind.records.documents import Upload
from libraries import EMPTY, THREE_DOCUMENTS

MANY = [f"tag {number}" for number in range(65)]


def test_a_tag_is_one_line_of_visible_text() -> None:
    assert tag_of(" a\n\u202eb\tc ") == "a b c"
    assert tag_of("caf\udce9") == "caf?"
    for bad in ("", " \n", "\u202e", "t" * 61):
        with pytest.raises(ConfigError):
            tag_of(bad)


def test_a_document_has_at_most_64_tags() -> None:
    assert tags_of(["Bank", "bank", "tax"]) == ("Bank", "tax")
    assert len(tags_of(MANY[:64])) == 64
    with pytest.raises(ConfigError, match="at most 64 tags"):
        tags_of(MANY)
    assert fitting_tags(["", *MANY, "t" * 61, 7]) == tuple(MANY[:64])


@pytest.mark.slow
def test_a_file_with_too_many_tags_is_refused_and_the_library_answers(tmp_path: Path) -> None:
    with EMPTY.opened(tmp_path / "library") as docmind:
        with pytest.raises(ConfigError, match="at most 64 tags"):
            docmind.add([Upload("kettle.txt", b"The kettle is descaled in June.", tags=tuple(MANY))])
        assert not docmind.queue.uploads()
        docmind.add([Upload("kettle.txt", b"The kettle is descaled in June.", tags=tuple(MANY[:64]))])
        (info,) = docmind.documents.all()
        with pytest.raises(ConfigError, match="these are 65"):
            docmind.documents.tag([info.doc_id], add=["one more"])
        docmind.documents.tag([info.doc_id], add=["one more"], remove=["tag 0"])
        assert len(docmind.documents.get(info.doc_id).tags) == 64
        assert docmind.search("kettle").hits


@pytest.mark.slow
def test_an_old_library_with_more_tags_is_searched_and_indexed(tmp_path: Path) -> None:
    with THREE_DOCUMENTS.opened(tmp_path / "library") as docmind:
        info = docmind.documents.all()[0]
        with docmind.vault.database.transaction() as db:
            db.execute("UPDATE documents SET tags = ? WHERE doc_id = ?", (json.dumps(MANY), info.doc_id))
        docmind.documents.edit(info.doc_id, title="Another title")
        assert docmind.reindex() == 3
        result = docmind.search(docmind.documents.page(info.doc_id, 1).text[:40])
        assert info.doc_id in {hit.doc_id for hit in result.hits}
        assert not result.degraded
        docmind.documents.tag([info.doc_id], remove=["tag 3"])  # and one can be removed
        assert docmind.doctor.examine("full").is_well
