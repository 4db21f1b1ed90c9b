"""The reader of files as a LlamaIndex reader, for programs that use LlamaIndex.

Importing LlamaIndex takes a second: nothing in DocMind imports this module before it is needed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from docmind.config import ReadingSettings
from docmind.documents import FACTS, language_of
from docmind.errors import NotFoundError
from docmind.reading.ocr.document_pass import OcrPass
from docmind.reading.ocr.engine import Ocr
from docmind.reading.reader import Reader
from docmind.records.documents import Upload, page_id_of
from docmind.runtime import ALONE
from docmind.wording import _

with ALONE:
    from llama_index.core.readers.base import BaseReader
    from llama_index.core.schema import Document

_HIDDEN = ["doc_id", *(column.name for column in FACTS), "kind", "language", "text_source", "blocks"]


class FileReader(BaseReader):
    """A LlamaIndex reader of all files that DocMind reads: a `Document` for each page, in a process of its own.

    Pages without a usable text layer are read by OCR. It writes nothing to the disk. `close` ends the processes; use it
    as a context manager. As a `file_extractor` of LlamaIndex's `SimpleDirectoryReader` it reads whole folders.
    """

    def __init__(self, settings: ReadingSettings | None = None) -> None:
        self._settings = settings or ReadingSettings()
        self._reader, self._ocr = Reader(self._settings), Ocr(self._settings)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the reading and OCR processes. Idempotent."""
        self._reader.close()
        self._ocr.close()

    def lazy_load_data(  # type: ignore[override]  # LlamaIndex leaves the arguments to each reader
        self, file: Path | str, extra_info: dict[str, Any] | None = None, *, password: str | None = None
    ) -> Iterator[Document]:
        """Yield the pages of a file, in order, while they are read.

        The metadata are `doc_id` (from the SHA-256 of the file), `document` (its name), what the file's own metadata
        says (`title` and others), `kind`, `page_no`, `language`, `text_source`, `blocks` (what the text is made of, for
        `WindowParser`) and those of `extra_info`.

        Raises `NotFoundError` and the kinds of `ReadingError`.
        """
        file = Path(file)
        try:
            upload = Upload(file.name, file.read_bytes(), password)
        except OSError as error:
            raise NotFoundError(
                _("{name} cannot be read: {reason}.").format(name=file.name, reason=error.strerror),
                hint=_("Check its path."),
            ) from error
        doc_id = hashlib.sha256(upload.data).hexdigest()[:32]
        with (
            self._reader.read(upload) as reading,
            OcrPass(self._ocr, self._settings.workers, lambda: None, doc_id=doc_id) as ocr,
        ):
            for page in ocr.through(reading):
                yield Document(
                    id_=page_id_of(doc_id, page.page_no),
                    text=page.text,
                    metadata={
                        **(extra_info or {}),
                        "doc_id": doc_id,
                        "document": file.name,
                        **reading.facts,
                        "kind": reading.kind,
                        "page_no": page.page_no,
                        "language": language_of(page.text),
                        "text_source": page.text_source,
                        "blocks": page.blocks.hex(),
                    },
                    excluded_embed_metadata_keys=_HIDDEN,
                    excluded_llm_metadata_keys=_HIDDEN,
                )
