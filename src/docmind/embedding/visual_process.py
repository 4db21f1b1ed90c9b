"""The child process that runs a visual model: pictures and questions in, vectors out, until the pipe is closed.

in   {id, do: "open", directory, architecture, device, precision, threads}    out  {id, device, precision, dim, load_s}
in   {id, do: "images"} + encoded pictures    out  image model: {id} + float32 rows
                                                   late model: {id, pages: [[rows, cols], …]} + vectors, cells of each
in   {id, do: "text", text}                   out  {id, tokens} + float32 rows
     or {id, error, message, hint} in place of any of them

Pictures and questions have a queue each, so that a question is answered while a page is embedded.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, BinaryIO

from docmind.embedding.model_process import placement, serve_model, threads_of
from docmind.errors import VisualModelError
from docmind.model_files import KINDS
from docmind.reading import open_picture
from docmind.runtime import Frame


def serve(incoming: BinaryIO, outgoing: BinaryIO) -> None:
    """Answer frames until the pipe is closed."""
    serve_model(incoming, outgoing, Eyes().answer, VisualModelError, "look at this", slow=("images",), quick=("text",))


class Eyes:
    """The model, once it is open."""

    def __init__(self) -> None:
        self._model: Any = None
        self._is_late = False

    def answer(self, header: dict[str, Any], blobs: list[bytes]) -> Frame:
        if header["do"] == "open":
            return self.open(header)
        return self.images(blobs) if header["do"] == "images" else self.text(header["text"])

    def open(self, header: dict[str, Any]) -> Frame:
        started = time.perf_counter()
        directory, architecture = Path(header["directory"]), header["architecture"]
        self._is_late = KINDS.get(architecture, "late") == "late"
        if architecture == "siglip" and self._open_without_torch(directory, header):
            return {"device": "cpu", "precision": "float32", "load_s": time.perf_counter() - started}, []
        device, precision = placement(header, "DOCMIND_VISUAL")
        if not self._is_late:
            from docmind.embedding.siglip import Siglip

            self._model = Siglip(directory, architecture, device=device, precision=precision)
        elif architecture in KINDS:
            from docmind.embedding.colpali import open_colpali

            self._model = open_colpali(directory, architecture, device=device, precision=precision)
        else:
            from docmind.embedding.colpali_engine import open_engine

            self._model = open_engine(directory, device=device, precision=precision)
        return {"device": device, "precision": precision, "load_s": time.perf_counter() - started}, []

    def _open_without_torch(self, directory: Path, header: dict[str, Any]) -> bool:
        """Open the model by ONNX Runtime where that is best here, and its files have the form; return whether it is."""
        from docmind.embedding.siglip_onnx import is_best_here, open_siglip

        if is_best_here(header["device"], header["precision"]):
            self._model = open_siglip(directory, threads_of(header))
        return self._model is not None

    def images(self, blobs: list[bytes]) -> Frame:
        pictures = [open_picture(blob) for blob in blobs]
        if not self._is_late:
            return {}, [self._model.images(pictures).tobytes()]
        pages = [self._model.page(picture) for picture in pictures]
        arrays = [part.tobytes() for page in pages for part in (page.vectors, page.patches)]
        return {"pages": [[page.rows, page.cols] for page in pages]}, arrays

    def text(self, text: str) -> Frame:
        if not self._is_late:
            return {}, [self._model.text(text).tobytes()]
        query = self._model.query(text)
        return {"tokens": query.tokens}, [query.vectors.tobytes()]
