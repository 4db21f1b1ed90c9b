"""The child process that runs a visual model: pictures and questions in, vectors out, until the pipe is closed.

in   {id, do: "open", directory, architecture, device, precision, threads}    out  {id, device, precision, dim, load_s}
in   {id, do: "images"} + encoded pictures    out  image model: {id} + float32 rows
                                                   late model: {id, pages: [[rows, cols], …]} + vectors, cells of each
in   {id, do: "text", text}                   out  {id, tokens} + float32 rows
     or {id, error, message, hint} in place of any of them

Pictures and questions have a queue each, so that a question is answered while a page is embedded.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, BinaryIO

from docmind.errors import VisualModelError
from docmind.model_files import KINDS
from docmind.reading import open_picture
from docmind.runtime import Frame, serve_requests


def serve(incoming: BinaryIO, outgoing: BinaryIO) -> None:
    """Answer frames until the pipe is closed."""
    os.environ |= {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error", "HF_HUB_DISABLE_PROGRESS_BARS": "1"}
    with ThreadPoolExecutor(1, initializer=_step_back) as pages, ThreadPoolExecutor(1) as words:
        serve_requests(incoming, outgoing, Eyes().answer, _explained, {"images": pages.submit, "text": words.submit})
        os._exit(0)  # the client has gone: unfinished work is dropped


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
        import torch
        import transformers

        from docmind.embedding.device import choose_device, choose_precision

        transformers.utils.logging.disable_progress_bar()
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        torch.set_num_threads(header["threads"] or cores or 1)
        device = choose_device(header["device"])
        precision = choose_precision(device, header["precision"])
        directory, architecture = Path(header["directory"]), header["architecture"]
        self._is_late = KINDS.get(architecture, "late") == "late"
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


def _explained(header: dict[str, Any], error: Exception) -> Exception:
    text = str(error)
    if isinstance(error, MemoryError) or "out of memory" in text or "not enough memory" in text:
        return VisualModelError(
            "There is not enough memory for the model.", hint="Close other programs, or choose a smaller model."
        )
    doing = "be loaded from its files" if header["do"] == "open" else "look at this"
    return VisualModelError(f"The model cannot {doing} ({type(error).__name__}).")


def _step_back() -> None:
    """Lower the priority of page work below questions and other programs, where threads have their own priority."""
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 10)
