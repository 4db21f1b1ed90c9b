"""What child processes with a model share: queues for slow and for quick requests, the device, and errors."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import BinaryIO

from docmind.errors import DocMindError
from docmind.runtime import Answer, Header, serve_requests
from docmind.wording import _


def serve_model(
    incoming: BinaryIO,
    outgoing: BinaryIO,
    answer: Answer,
    error: type[DocMindError],
    doing: str,
    *,
    slow: Sequence[str],
    quick: Sequence[str],
) -> None:
    """Answer frames until the pipe is closed, then end the process.

    `slow` and `quick` requests have a queue each, so that a question is answered while a page is embedded. What fails
    becomes an `error`; `doing` completes "The model cannot ..." there.
    """
    os.environ |= {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error", "HF_HUB_DISABLE_PROGRESS_BARS": "1"}

    def explained(header: Header, cause: Exception) -> Exception:
        text = str(cause)
        if isinstance(cause, MemoryError) or "out of memory" in text or "not enough memory" in text:
            return error(
                _("There is not enough memory for the model."),
                hint=_("Close other programs, or choose a smaller model."),
            )
        what = "be loaded from its files" if header["do"] == "open" else doing
        return error(_("The model cannot {what} ({kind}).").format(what=what, kind=type(cause).__name__))

    with ThreadPoolExecutor(1, initializer=_step_back) as back, ThreadPoolExecutor(1) as front:
        queues = dict.fromkeys(slow, back.submit) | dict.fromkeys(quick, front.submit)
        serve_requests(incoming, outgoing, answer, explained, queues)
        os._exit(0)  # the client has gone: unfinished work is dropped


def placement(header: Header, settings: str) -> tuple[str, str]:
    """Set the number of threads; return device and precision, as the settings of this prefix say or as is best."""
    import torch
    import transformers

    from docmind.embedding.device import choose_device, choose_precision

    transformers.utils.logging.disable_progress_bar()
    torch.set_num_threads(threads_of(header))
    device = choose_device(header["device"], settings)
    return device, choose_precision(device, header["precision"], settings)


def threads_of(header: Header) -> int:
    """Return the number of threads, as the settings say or as many as this process may use."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return header["threads"] or cores or 1


def _step_back() -> None:
    """Lower the priority of slow work below questions and other programs, where threads have their own priority."""
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 10)
