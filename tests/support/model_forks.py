"""Processes of models, forked from one process that has imported torch and transformers (Linux).

DocMind starts each in a fresh interpreter, which imports them for five seconds of processor time. While tests run, the
processes are forked, with the entry function, limits and variables of a real start. Where the start itself or imports
are tested, `starting.started_by("spawn")` asks for a fresh interpreter. A test gets one too while variables are set
that an interpreter reads only once; programs that tests start always do.

The process is started with the first model, and ends with pytest.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any
from unittest import mock

from docmind.runtime import fork_server, forking

ENTRIES = ("docmind.embedding.sentence_process:serve", "docmind.embedding.visual_process:serve")
QUIET = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error", "HF_HUB_DISABLE_PROGRESS_BARS": "1"}
"""Variables that `serve_model` sets before it imports the libraries, which read them once."""
MODULES = (
    *(entry.partition(":")[0] for entry in ENTRIES),
    "docmind.embedding.colpali",
    "docmind.embedding.siglip",
    "transformers.models.bert.modeling_bert",
    "transformers.models.colpali.modeling_colpali",
    "transformers.models.siglip.modeling_siglip",
)
_PATIENCE_S = 120.0  # the imports take five seconds where nothing else runs


class ModelForks(forking.ForkServer):
    """The process that models are forked from."""

    program = "model_forks"

    def __init__(self, environment: Mapping[str, str]) -> None:
        super().__init__({**environment, **QUIET})
        self._socket.settimeout(_PATIENCE_S)


@cache
def _forks(_owner: int) -> ModelForks:
    from docmind.runtime.worker import _environment

    return ModelForks(_environment())


@contextmanager
def forked_models() -> Iterator[None]:
    """Fork the processes of models while the block runs."""
    from docmind.embedding import model_client

    plain_fork, plain_client = forking.fork, model_client.Client

    def fork(entry: str, limits: Mapping[str, Any], environment: Mapping[str, str]) -> forking.Forked | None:
        if entry not in ENTRIES:
            return plain_fork(entry, limits, environment)
        if forking._way == "spawn" or not forking.can_fork():
            return None
        forks = _forks(os.getpid())
        if forks.at_start != forking._at_start(environment):
            return None
        return forks.fork(entry, limits, environment)

    def client(*arguments: Any, **more: Any) -> Any:
        return plain_client(*arguments, **{**more, "is_forked": True})

    with mock.patch.object(forking, "fork", fork), mock.patch.object(model_client, "Client", client):
        yield


if __name__ == "__main__":
    for name in MODULES:
        importlib.import_module(name)
    fork_server.main(int(sys.argv[1]))
