"""Text models behind an address: Ollama (`/api/embed`) or an OpenAI-compatible server (`/v1/embeddings`).

Questions and passages are sent there, so the rule for language models decides: this machine, or a host that
`DOCMIND_LLM__ALLOWED_HOSTS` names. Nothing is sent before the first text is embedded. See ADR 0053.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import httpx
import numpy as np

from docmind.config import Settings
from docmind.embedding.model_client import sayable
from docmind.errors import ConfigError, EndpointRefusedError, TextModelError
from docmind.llm import key_for
from docmind.network import Endpoint, Resolve, fetch, permit, resolve_here
from docmind.observability import Embedded, emit
from docmind.rich_text import plain_line
from docmind.runtime import ms_since
from docmind.wording import _

DIMS = {
    "all-minilm": 384, "bge-m3": 1024, "embeddinggemma": 768, "mxbai-embed-large": 1024, "nomic-embed-text": 768,
    "snowflake-arctic-embed": 1024, "text-embedding-3-large": 3072, "text-embedding-3-small": 1536,
    "text-embedding-ada-002": 1536,
}  # fmt: skip
"""Lengths of the vectors of well-known models; of others the setting tells."""
_OLLAMA = "http://127.0.0.1:11434"
_SHORTENED = "text-embedding-3-"  # models that can be asked for shorter vectors
_BATCH = 64
_LONGEST = 8_000  # characters of a text: the smallest limit of such models is 8,191 tokens
_WORD = re.compile(r"\w{1,4}|[^\w\s]")  # a token of such models has about four characters
_BYTES_PER_NUMBER, _SPARE_BYTES = 32, 1 << 20
_AGAIN = frozenset({408, 409, 425, 429, 500, 502, 503, 504})
_QUIET_S = 15.0  # after a question that was not answered, the next ones are not sent for so long


class Patience(NamedTuple):
    """Limits of a request: seconds of one try, and the pauses between tries."""

    timeout_s: float
    pauses_s: tuple[float, ...]


QUESTION = Patience(8.0, (0.3,))
PASSAGES = Patience(120.0, (0.5, 2.0, 8.0))


class EndpointModel:
    """A text model behind an address. Thread-safe; every call has a connection of its own.

    Calls raise `TextModelError` where it does not answer as it should, `EndpointRefusedError` where the host is not
    allowed, and `ConfigError`.
    """

    is_multilingual = True

    def __init__(
        self,
        settings: Settings,
        name: str,
        *,
        resolve: Resolve = resolve_here,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        """Set up without sending anything. Raises `ConfigError` where the length of its vectors is not known."""
        self._provider, _unused, self._model = name.partition("/")
        self.name = self._model
        chosen = settings.embedding
        known = DIMS.get(self._model.partition(":")[0].rpartition("/")[2])
        if chosen.dim is None and known is None:
            raise ConfigError(
                _("The length of the vectors of {model} is not known.").format(model=plain_line(self._model)),
                hint=_("Set DOCMIND_EMBEDDING__DIM to it; the page of the model tells."),
            )
        self.dim = chosen.dim or known or 0
        self.fingerprint = f"{self._provider}:{self._model}:{self.dim}"
        is_shortened = self._provider == "openai" and self._model.startswith(_SHORTENED) and self.dim != known
        self._more = {"dimensions": self.dim} if is_shortened else {}
        self._url = chosen.url or (_OLLAMA if self._provider == "ollama" else "")
        self._key = chosen.api_key.get_secret_value() if chosen.api_key else ""
        self._allowed, self._resolve, self._pause = settings.llm.allowed_hosts, resolve, pause
        self._lock = threading.Lock()
        self._down: tuple[float, TextModelError] | None = None

    def embed_documents(self, texts: Sequence[str]) -> np.ndarray:
        """Return `(n, dim)` float32, each row of length 1."""
        found = [np.zeros((0, self.dim), np.float32)]
        for at in range(0, len(texts), _BATCH):
            found += [self._embedded(texts[at : at + _BATCH], PASSAGES)]
        return np.concatenate(found)

    def embed_query(self, text: str) -> np.ndarray:
        """Return `(dim,)` float32 of length 1. After a failure it fails at once for 15 seconds."""
        with self._lock:
            if self._down is not None and time.monotonic() < self._down[0]:
                raise TextModelError(str(self._down[1]), hint=self._down[1].hint)
        try:
            row = self._embedded([text], QUESTION)[0]
        except TextModelError as error:
            with self._lock:
                self._down = time.monotonic() + _QUIET_S, error
            raise
        with self._lock:
            self._down = None
        return row

    def pieces(self, text: str) -> np.ndarray:
        """Return `(n, 2)` int64 character offsets of parts of words, as long as tokens are on average."""
        return np.array([match.span() for match in _WORD.finditer(text)], np.int64).reshape(-1, 2)

    def warm(self) -> None:
        """Do nothing: there is nothing to load, and nothing is sent without need."""

    def _embedded(self, texts: Sequence[str], patience: Patience) -> np.ndarray:
        endpoint, started = self._endpoint(), time.perf_counter()
        given = [sayable(text, _LONGEST) or " " for text in texts]
        body: dict[str, Any] = {"model": self._model, "input": given, **self._more}
        if self._provider == "ollama":
            path = "/api/embed"
        else:
            body["encoding_format"] = "float"
            path = "/embeddings" if endpoint.path.endswith("/v1") else "/v1/embeddings"
        rows = self._rows(self._answer(endpoint, path, body, patience), len(texts), endpoint)
        emit(Embedded("endpoint", len(texts), ms_since(started)))
        return rows

    def _endpoint(self) -> Endpoint:
        if not self._url:
            raise ConfigError(
                _("The address of the text model is not known."),
                hint=_("Set DOCMIND_EMBEDDING__URL, such as https://host/v1."),
            )
        return permit(self._url, self._allowed, "text model")

    def _answer(self, endpoint: Endpoint, path: str, body: dict[str, Any], patience: Patience) -> bytes:
        """Return the body of the answer; what may pass is tried again after each pause."""
        key = key_for(endpoint, self._key)
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        most = _SPARE_BYTES + len(body["input"]) * self.dim * _BYTES_PER_NUMBER
        for pause_s in (*patience.pauses_s, None):
            begun_s = time.monotonic()
            try:
                status, answer = fetch(
                    endpoint, path, timeout_s=patience.timeout_s, max_bytes=most, body=body, headers=headers,
                    resolve=self._resolve,
                )  # fmt: skip
            except EndpointRefusedError:
                raise
            except httpx.HTTPError as error:
                if "more than" in str(error):  # bytes than any answer has
                    raise self._odd(endpoint) from error
                if pause_s is None:
                    is_late = time.monotonic() - begun_s >= patience.timeout_s
                    raise self._silent(endpoint, is_late=is_late) from error
            else:
                if status == 200:
                    return answer
                if pause_s is None or status not in _AGAIN:
                    raise self._refusal(endpoint, status, answer)
            self._pause(pause_s)
        raise AssertionError("the last try returns or raises")

    def _rows(self, answer: bytes, count: int, endpoint: Endpoint) -> np.ndarray:
        try:
            told = json.loads(answer)
            if self._provider == "ollama":
                listed = told["embeddings"]
            else:
                listed = [one["embedding"] for one in sorted(told["data"], key=lambda one: one["index"])]
            rows = np.array(listed, np.float32)
        except (ValueError, TypeError, LookupError, RecursionError) as error:
            raise self._odd(endpoint) from error
        if rows.ndim != 2 or len(rows) != count or not np.isfinite(rows).all():
            raise self._odd(endpoint)
        if rows.shape[1] != self.dim:
            raise TextModelError(
                _("{model} gives vectors of {shape} numbers, not of {dim}.").format(
                    model=plain_line(self._model), shape=rows.shape[1], dim=self.dim
                ),
                hint=_("Set DOCMIND_EMBEDDING__DIM={shape}, and run `docmind reindex`.").format(shape=rows.shape[1]),
            )
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        if (lengths < 1e-9).any():
            raise self._odd(endpoint)
        return rows / lengths

    def _who(self, endpoint: Endpoint) -> str:
        return _("The text model {model} at {label}").format(model=plain_line(self._model), label=endpoint.label)

    def _odd(self, endpoint: Endpoint) -> TextModelError:
        return TextModelError(
            _("{endpoint} does not answer as a server of embeddings does.").format(endpoint=self._who(endpoint)),
            hint=_("Check DOCMIND_EMBEDDING__URL; pages are found by their words until then."),
        )

    def _silent(self, endpoint: Endpoint, *, is_late: bool) -> TextModelError:
        what = _("does not answer in time") if is_late else _("cannot be reached")
        return TextModelError(
            f"{self._who(endpoint)} {what}.",
            hint=_("Start its server, or check DOCMIND_EMBEDDING__URL; pages are found by their words until then."),
        )

    def _refusal(self, endpoint: Endpoint, status: int, answer: bytes) -> TextModelError:
        if status in (401, 403):
            hint = _("Set DOCMIND_EMBEDDING__API_KEY to a key that it accepts.")
        elif status == 404 and self._provider == "ollama":
            hint = _("Fetch the model: ollama pull {model}").format(model=plain_line(self._model))
        elif status == 429:
            hint = _("It has too much to do: wait a little and try again.")
        else:
            hint = _("Try again, or look at the log of its server; pages are found by their words until then.")
        said = _said(answer)
        return TextModelError(
            _("{who} refuses with status {status}").format(who=self._who(endpoint), status=status)
            + (f": {said}." if said else "."),
            hint=hint,
        )


def _said(answer: bytes) -> str:
    """Return the message of a refusal in JSON as one short line; empty where it has none."""
    try:
        told = json.loads(answer[:65_536])
    except (ValueError, RecursionError):
        return ""
    for name in ("error", "message"):
        if isinstance(told, dict) and name in told:
            told = told[name]
    return plain_line(told).rstrip(".") if isinstance(told, str) else ""
