"""Files as LlamaIndex documents, read by the real reading process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from llama_index.core.schema import RelatedNodeInfo

from desks import text_pdf
from docmind.config import ReadingSettings
from docmind.errors import EmptyFileError, NotFoundError, TooLargeError
from docmind.ingest.llama_nodes import WindowParser
from docmind.reading.llama_reader import FileReader
from docmind_testkit import FakeEmbedder
from loops import run_async


@pytest.fixture(scope="module")
def reader() -> Iterator[FileReader]:
    with FileReader(ReadingSettings(ocr="off", workers=1, image_side_px=400, max_file_mb=1)) as reader:
        yield reader


@pytest.mark.slow
def test_a_file_is_a_document_for_each_page(tmp_path: Path, reader: FileReader) -> None:
    file = tmp_path / "herons.pdf"
    file.write_bytes(
        text_pdf(
            ["Herons nest in tall trees", "", "Their eggs are pale blue and lie in a nest of dry sticks"],
            title="On herons",
        )
    )
    pages = reader.load_data(file, extra_info={"shelf": "birds"})
    assert [page.text for page in pages] == [
        "Herons nest in tall trees",
        "",
        "Their eggs are pale blue and lie in a nest of dry sticks",
    ]
    last = pages[-1].metadata
    assert (last["document"], last["title"], last["kind"], last["page_no"]) == ("herons.pdf", "On herons", "pdf", 3)
    assert (last["shelf"], last["language"], last["text_source"]) == ("birds", "en", "layer")
    assert len({page.id_ for page in pages}) == 3
    assert [page.id_ for page in pages] == [page.id_ for page in run_async(reader.aload_data(str(file)))]


@pytest.mark.slow
def test_reading_may_stop_early(tmp_path: Path, reader: FileReader) -> None:
    file = tmp_path / "long.pdf"
    file.write_bytes(text_pdf([f"Page {number} of many" for number in range(40)]))
    pages = iter(reader.lazy_load_data(file))
    assert next(pages).text == "Page 0 of many"
    pages.close()  # type: ignore[attr-defined]
    assert len(reader.load_data(file)) == 40


def test_what_cannot_be_read_is_an_error_of_docmind(tmp_path: Path, reader: FileReader) -> None:
    with pytest.raises(NotFoundError, match="gone"):
        reader.load_data(tmp_path / "gone.pdf")
    (tmp_path / "empty.txt").write_bytes(b"")
    with pytest.raises(EmptyFileError):
        reader.load_data(tmp_path / "empty.txt")
    (tmp_path / "big.txt").write_bytes(bytes(2 << 20))
    with pytest.raises(TooLargeError):
        reader.load_data(tmp_path / "big.txt")


def test_its_pages_have_what_tables_need_to_become_nodes_of_their_own(tmp_path: Path, reader: FileReader) -> None:
    path = tmp_path / "tools.md"
    path.write_text("# Tools\n\nThey hang in the shed.\n\n| Tool | Place |\n|---|---|\n| Saw | Wall |\n", "utf-8")
    nodes = WindowParser(FakeEmbedder()).get_nodes_from_documents(reader.load_data(path))
    assert [(node.metadata["modality"], node.get_content().splitlines()[-1]) for node in nodes] == [
        ("text", "They hang in the shed."),
        ("table", "Saw | Wall"),
    ]
    assert all("blocks" not in node.metadata for node in nodes), "a window does not repeat the structure of its page"
    related = [one for node in nodes for one in node.relationships.values() if isinstance(one, RelatedNodeInfo)]
    assert related
    assert all("blocks" not in one.metadata for one in related)
