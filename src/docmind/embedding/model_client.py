"""What clients of models in child processes share: the process, its start, the model's files, and errors.

torch is never imported here. A child starts at first use and again after a crash, and ends after 10 idle minutes. The
files of a model are watched: vectors of changed files would be those of another model.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from docmind.errors import ConfigError, DocMindError, ExtraMissingError, WorkerFailedError
from docmind.model_files import UnusableError, combined, sha256_of
from docmind.runtime import Ask, Client, Frame, Header, Limits, error_named
from docmind.wording import _

IDLE_S = 600.0
TIMEOUTS_S = {"open": 900.0}
"""Long enough for slow machines; a search gives up much earlier, by its own deadline."""
_MOST_ROWS = 65_536

Times = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Source:
    """The files of a model. `names` inspects the directory and returns those that identify it, or raises
    `UnusableError`; `fingerprint` ends with their combined checksum. `error` is raised where they cannot be used.
    """

    name: str
    fingerprint: str
    directory: Path
    names: Callable[[Path], Sequence[str]]
    error: type[DocMindError]


class ModelFiles:
    """The files as they were when the model was described. Not thread-safe.

    Raises the error of its source where they are no model that can be run.
    """

    def __init__(self, source: Source) -> None:
        self._source, self.directory = source, source.directory
        try:
            self._names = source.names(self.directory)
        except UnusableError as error:
            raise self._unusable(str(error)) from error
        self._seen = self._look(self._names)

    def are_as_before(self) -> bool:
        """Return whether each file has its recorded size and modification time."""
        return self._look(self._names) == self._seen

    def check(self) -> None:
        """Read the files again and record their present state, where their contents are unchanged.

        Raises the error of the source where the contents changed, or files are missing or broken.
        """
        try:
            names = self._source.names(self.directory)
            seen = self._look(names)
            digest = combined({name: sha256_of(self.directory / name) for name in names})
        except UnusableError as error:
            raise self._unusable(str(error)) from error
        except OSError as error:
            raise self._unusable(_("They cannot be read: {reason}.").format(reason=error.strerror)) from error
        if not self._source.fingerprint.endswith(f":{digest}"):
            raise self._unusable(_("They are not those that it was chosen with."))
        self._names, self._seen = names, seen

    def _look(self, names: Sequence[str]) -> dict[str, tuple[int, int]]:
        """Return size and modification time of each file that exists."""
        found = {}
        for name in names:
            with contextlib.suppress(OSError):
                stat = (self.directory / name).stat()
                found[name] = (stat.st_size, stat.st_mtime_ns)
        return found

    def _unusable(self, reason: str) -> DocMindError:
        return self._source.error(
            _("The files of the model {name} cannot be used. {reason}").format(name=self._source.name, reason=reason),
            hint=_(
                "Put them back as they were, or run `docmind models list` to see what is here; searches go "
                "on without it."
            ),
        )


class ModelProcess:
    """A model in a child process: its start, its files, and errors in one sentence.

    Thread-safe. A question does not wait for pages or passages: the process works on both at once.
    """

    def __init__(
        self,
        entry: str,
        source: Source,
        opening: Header,
        *,
        timeouts_s: Times,
        idle_s: float = IDLE_S,
    ) -> None:
        """Set up; `opening` is what the process is told beside the directory, `timeouts_s` are by request."""
        self.name, self.fingerprint = source.name, source.fingerprint
        self.device = self.precision = ""
        self.load_s = 0.0
        self._error, self._opening, self._timeouts_s = source.error, opening, {**TIMEOUTS_S, **timeouts_s}
        self._errors = (source.error, ConfigError, ExtraMissingError)  # those that the process may name
        # It reads weights and writes nothing, but torch tests a folder for temporary files with a few bytes when it is
        # imported; on other systems graphics drivers store compiled programs.
        limits = Limits(file_mb=1 if sys.platform == "linux" else -1)
        self._client = Client(entry, limits, idle_s=idle_s, prepare=self._open, is_forked=False)  # it loads torch
        self._is_closed = False
        self._lock = threading.Lock()
        self._files = ModelFiles(source)

    @property
    def pid(self) -> int | None:
        """The id of the process that holds the model; None while there is none."""
        return self._client.pid

    @property
    def is_ready(self) -> bool:
        """Whether the process has loaded the model: a request waits for no start."""
        return self._client.is_ready

    def warm(self) -> None:
        """Start the process and load the weights, unless that is done already."""
        with self._sentences():
            self._check_files()
            self._client.start()

    def close(self) -> None:
        """End the process; a running call fails, and so does every later one."""
        self._is_closed = True
        self._client.end()

    def _ask(self, header: Header, blobs: Sequence[bytes] = ()) -> Frame:
        """Return one answer of the process. Raises the error of the source, `ConfigError`, `ExtraMissingError`."""
        with self._sentences():
            self._check_files()
            answer = self._client.call(header, blobs, timeout_s=self._timeouts_s[header["do"]])
        if "error" in answer[0]:
            raise error_named(answer[0], *self._errors)
        return answer

    @contextlib.contextmanager
    def _sentences(self) -> Iterator[None]:
        try:
            yield
        except WorkerFailedError as error:
            if self._is_closed:
                raise self._switched_off() from error
            raise self._error(
                _("The model {name} broke off: {error}.").format(name=self.name, error=error),
                hint=_("It starts again with the next question; where it keeps happening, choose a smaller model."),
            ) from error

    def _switched_off(self) -> DocMindError:
        return self._error(_("The model {name} has been switched off.").format(name=self.name))

    def _check_files(self) -> None:
        """Check that the process has loaded the files that are on the disk now; end it where it has not."""
        with self._lock:
            if self._is_closed:
                raise self._switched_off()
            if not self._files.are_as_before():
                self._client.end()
                self._files.check()

    def _open(self, ask: Ask) -> None:
        """Have a new process load the model."""
        if self._is_closed:  # by another thread, while the process was started
            raise self._switched_off()
        header = {"do": "open", "directory": str(self._files.directory), **self._opening}
        told, _ = ask(header, timeout_s=self._timeouts_s["open"])
        if "error" in told:
            raise error_named(told, *self._errors)
        try:
            self.device, self.precision = str(told["device"]), str(told["precision"])
            self.load_s = float(told["load_s"])
        except (KeyError, TypeError, ValueError) as error:
            raise self._nonsense() from error

    def _nonsense(self) -> DocMindError:
        return self._error(_("The model {name} gave numbers that cannot be used.").format(name=self.name))


def sayable(text: str, most: int) -> str:
    """Return text that a tokenizer accepts: no lone surrogates, at most `most` characters."""
    return text[:most].encode("utf-8", "replace").decode("utf-8")


def unit_rows(blob: bytes, dim: int) -> np.ndarray:
    """Return `(n, dim)` float32 of length 1. Raises `ValueError` for anything else."""
    rows = np.frombuffer(blob, "<f4").reshape(-1, dim)
    if len(rows) > _MOST_ROWS or not np.allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-3):  # NaN is not close
        raise ValueError
    return rows
