"""The child process that runs a language model from a GGUF file: llama.cpp's server, on a socket in a private folder.

It has no network: its socket is a file that only this user can open, and it may not connect to anything. Where the
system has no such sockets (Windows), it listens on loopback. Every request needs the key that the owner chose.
"""

from __future__ import annotations

import importlib
import os
import shutil
import sys
from dataclasses import asdict
from typing import Any, BinaryIO

from docmind.errors import LanguageModelDownError
from docmind.llm.gguf import read_gguf
from docmind.runtime import Frame, Header, serve_requests

_BATCH = 256  # tokens read at once: a question that was stopped ends with the batch that is being read
_SEED = 20_261


class _Running:
    """The model of this process. Used by its main thread alone."""

    server: Any = None  # kept: llama.cpp stops with it
    folder: str = ""


def serve(incoming: BinaryIO, outgoing: BinaryIO) -> None:
    """Describe files, or load one, until the pipe is closed; then end at once, whatever is being written."""
    running = _Running()

    def answer(header: Header, _blobs: list[bytes]) -> Frame:
        if header["do"] == "describe":
            return asdict(read_gguf(header["path"])), []
        if header["do"] == "ping":
            return {}, []
        return {"address": _load(running, header)}, []

    try:
        serve_requests(incoming, outgoing, answer, _explained)
    finally:
        if running.folder:
            shutil.rmtree(running.folder, ignore_errors=True)
        sys.stderr.flush()
        os._exit(0)


def _explained(_header: Header, error: Exception) -> Exception:
    if isinstance(error, MemoryError):
        return LanguageModelDownError("it needs more memory than it may take")
    if isinstance(error, ImportError):
        return LanguageModelDownError("xllamacpp does not run on this system")
    return LanguageModelDownError("llama.cpp refuses the file")


def _load(running: _Running, header: Header) -> str:
    """Load a model and return the address that it answers at: `unix://PATH` or `http://127.0.0.1:PORT`.

    Raises `ConfigError` for a file that is no language model, and whatever llama.cpp raises.
    """
    read_gguf(header["path"])
    os.environ["OMP_WAIT_POLICY"] = "passive"  # threads that spin lose much time where other programs work as well
    xllamacpp: Any = importlib.import_module("xllamacpp")
    params = xllamacpp.CommonParams()
    params.model.path = header["path"]
    if header["socket"]:
        running.folder = os.path.dirname(header["socket"])
        params.hostnames = [header["socket"]]
    else:
        params.hostnames, params.port = ["127.0.0.1"], 0
    params.api_keys = [header["key"]]
    params.n_ctx = header["context"]
    params.n_parallel = 1
    params.n_batch = params.n_ubatch = _BATCH
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = header["threads"]
    params.n_gpu_layers = 0
    params.cache_ram_mib = 0
    params.fit_params = False
    params.offline = True
    params.ui = params.endpoint_slots = params.endpoint_props = params.endpoint_metrics = False
    params.warmup = False
    params.verbosity = 0
    params.sampling.seed = _SEED  # the same question has the same answer
    running.server = xllamacpp.Server(params)
    return str(running.server.listening_address)
