"""The process that holds a visual model: pictures and questions in, vectors out, until the pipe is closed.

in   {id, do: "open", directory, architecture, device, precision, threads}    out  {id, device, precision, dim, load_s}
in   {id, do: "images"} + encoded pictures    out  image model: {id} + float32 rows
                                                   late model: {id, pages: [[rows, cols], …]} + vectors, cells of each
in   {id, do: "text", text}                   out  {id, tokens} + float32 rows
     or {id, error, message, hint} in place of any of them

Pictures wait for pictures and questions for questions, so that a question is answered while a page is looked at.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, BinaryIO

from docmind.embed.picture import open_picture
from docmind.errors import DocMindError, VisualModelError
from docmind.weights.known import KINDS
from docmind.worker import Frame, read_frame, write_frame


def serve(incoming: BinaryIO, outgoing: BinaryIO) -> None:
    """Answer frames until there are no more; each answer names the frame it belongs to."""
    os.environ |= {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error", "HF_HUB_DISABLE_PROGRESS_BARS": "1"}
    eyes = Eyes()
    writing = threading.Lock()

    def answer(
        work: Callable[[dict[str, Any], list[bytes]], Frame], header: dict[str, Any], blobs: list[bytes]
    ) -> None:
        head, found = _answer(work, header, blobs)
        with writing:
            write_frame(outgoing, {"id": header["id"], **head}, found)

    with ThreadPoolExecutor(1, initializer=_step_back) as pages, ThreadPoolExecutor(1) as words:
        while (frame := read_frame(incoming)) is not None:
            header, blobs = frame
            if header["do"] == "open":
                answer(eyes.open, header, blobs)
            elif header["do"] == "images":
                pages.submit(answer, eyes.images, header, blobs)
            else:
                words.submit(answer, eyes.text, header, blobs)
        os._exit(0)  # nobody listens any more: what is still being worked on is given up


class Eyes:
    """The model, once it is open."""

    def __init__(self) -> None:
        self._model: Any = None
        self._is_late = False

    def open(self, header: dict[str, Any], _blobs: list[bytes]) -> Frame:
        started = time.perf_counter()
        import torch
        import transformers

        from docmind.embed.device import choose_device, choose_precision

        transformers.utils.logging.disable_progress_bar()
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        torch.set_num_threads(header["threads"] or cores or 1)
        device = choose_device(header["device"])
        precision = choose_precision(device, header["precision"])
        directory, architecture = Path(header["directory"]), header["architecture"]
        self._is_late = KINDS.get(architecture, "late") == "late"
        if not self._is_late:
            from docmind.embed.siglip import Siglip

            self._model = Siglip(directory, architecture, device=device, precision=precision)
        elif architecture in KINDS:
            from docmind.embed.colpali import open_colpali

            self._model = open_colpali(directory, architecture, device=device, precision=precision)
        else:
            from docmind.embed.colpali_engine import open_engine

            self._model = open_engine(directory, device=device, precision=precision)
        return {"device": device, "precision": precision, "load_s": time.perf_counter() - started}, []

    def images(self, _header: dict[str, Any], blobs: list[bytes]) -> Frame:
        pictures = [open_picture(blob) for blob in blobs]
        if not self._is_late:
            return {}, [self._model.images(pictures).tobytes()]
        pages = [self._model.page(picture) for picture in pictures]
        arrays = [part.tobytes() for page in pages for part in (page.vectors, page.patches)]
        return {"pages": [[page.rows, page.cols] for page in pages]}, arrays

    def text(self, header: dict[str, Any], _blobs: list[bytes]) -> Frame:
        if not self._is_late:
            return {}, [self._model.text(header["text"]).tobytes()]
        query = self._model.query(header["text"])
        return {"tokens": query.tokens}, [query.vectors.tobytes()]


def _answer(work: Callable[[dict[str, Any], list[bytes]], Frame], header: dict[str, Any], blobs: list[bytes]) -> Frame:
    try:
        return work(header, blobs)
    except DocMindError as error:
        return _refusal(error)
    except MemoryError:
        return _refusal(_no_memory())
    except Exception as error:  # noqa: BLE001 - whatever a model and its files trip over concerns this call only
        if "out of memory" in str(error) or "not enough memory" in str(error):
            return _refusal(_no_memory())
        doing = "be loaded from its files" if header["do"] == "open" else "look at this"
        return _refusal(VisualModelError(f"The model cannot {doing} ({type(error).__name__})."))


def _no_memory() -> VisualModelError:
    return VisualModelError(
        "There is not enough memory for the model.", hint="Close other programs, or choose a smaller model."
    )


def _refusal(error: DocMindError) -> Frame:
    return {"error": type(error).__name__, "message": str(error), "hint": error.hint}, []


def _step_back() -> None:
    """Pages give way to questions and to the rest of the machine, where threads have a priority of their own."""
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 10)
