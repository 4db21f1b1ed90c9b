"""Language models inside DocMind: GGUF files that a child process of ours runs with llama.cpp.

    <models folder>/language/NAME.gguf    files added by the user, by name; the vault stores the name alone

The child (`inside_process`) starts with the first question, has no network, and ends when it was idle for a while.

Above 500 lines: what is known of the files, and which child runs, share one lock.
"""

from __future__ import annotations

import importlib.util
import os
import queue
import re
import secrets
import shutil
import socket
import stat
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from docmind.config import LLMSettings
from docmind.errors import ConfigError, DocMindError, LanguageModelDownError, NotFoundError, WorkerFailedError
from docmind.llm.base import Message, Stop, Tool, ToolCall
from docmind.records.conversations import ModelInfo
from docmind.records.search import Degraded
from docmind.rich_text import plain_line
from docmind.runtime import Ask, Client, Limits, error_named, free_memory
from docmind.storage import check_room, disk_error, is_regular, replacing
from docmind.wording import _

if TYPE_CHECKING:
    from docmind.llm.client import ServedModel
    from docmind.network import Endpoint

INSTALL = "pip install --no-deps xllamacpp==2026.10.11549"
"""The command that installs what runs GGUF files: prebuilt, without compiler."""

_ENTRY = "docmind.llm.inside_process:serve"
_ENDING, _NOTE = ".gguf", ".json"  # the note beside a fetched file says where it came from
_LONGEST_NAME = 100
_DESCRIBE_S, _DESCRIBE_MB, _PING_S = 20.0, 1_024, 20.0
_SPARE = 256 << 20  # bytes of memory beside weights and cache: the process itself and its intermediate results
_ROOM = 2 << 30  # bytes of address space beside twice the weights: threads, libraries, weights in another order
_PREFIX, SOCKET = "docmind-llm-", "model.sock"
_LONGEST_BASE = 70  # bytes: the path of a socket has at most 103 on some systems
_YOUNG_S = 600.0  # a folder whose model is still being loaded has no socket yet
_LOOK_S = 0.05
_HTTP = re.compile(r"http://127\.0\.0\.1:[0-9]{1,5}")


@dataclass(frozen=True, slots=True)
class GgufModel:
    """A GGUF file that can be run here. `needs` is the memory in bytes, `context` the most tokens it is given."""

    name: str
    path: str
    size: int
    needs: int
    context: int
    has_tools: bool

    def info(self, free: int) -> ModelInfo:
        """Return what is shown of it, where `free` bytes of memory are left."""
        fits = _("needs about {gb} of memory, and {free_gb} are free").format(gb=_gb(self.needs), free_gb=_gb(free))
        note = f"{_gb(self.size)}; {fits}{'' if self.needs <= free else ': too much for this machine now'}"
        return ModelInfo("inside", "", self.name, self.has_tools, note=note, context_tokens=self.context)


class InsideModels:
    """The GGUF files of this user and the processes that run them. Thread-safe.

    A file's header is read by a child, and its facts are kept in memory until the file changes.
    """

    def __init__(self, settings: LLMSettings, folder: Path | None) -> None:
        """`folder` holds the added files; it need not exist."""
        self._settings, self._folder = settings, folder
        self._lock = threading.Lock()
        self._known: dict[tuple[str, int, int], GgufModel | str] = {}
        self._running: dict[str, _Running] = {}

    def found(self) -> tuple[tuple[ModelInfo, ...], tuple[Degraded, ...]]:
        """Return the models, the one of the setting first, and why other files cannot be used."""
        paths = self._paths()
        if not paths:
            return (), ()
        if importlib.util.find_spec("xllamacpp") is None:
            names = ", ".join(_shown(path) for path in paths[:3])
            return (), (
                Degraded(
                    "answers",
                    _("{names} cannot run inside DocMind without xllamacpp: {install}").format(
                        names=names, install=INSTALL
                    ),
                ),
            )
        free, models, degraded = free_memory(), list[ModelInfo](), list[Degraded]()
        for told in self._described(paths):
            if isinstance(told, str):
                degraded.append(Degraded("answers", told))
            elif told.name not in [model.model for model in models]:
                models.append(told.info(free))
        return tuple(models), tuple(degraded)

    def is_set(self, model: ModelInfo) -> bool:
        """Return whether a model is the file of the setting."""
        gguf = self._settings.gguf
        return gguf is not None and model.provider == "inside" and model.model == _name(gguf)

    def add(self, file: Path, *, moves: bool = False) -> ModelInfo:
        """Add a GGUF file to the models folder, by a link where the system has one, else by a copy.

        With `moves` the file itself is moved there, on the same disk. Raises `ConfigError` for a file that cannot be
        run and for a name that is taken, `DiskFullError`.
        """
        name = _name(file)
        if self._folder is None or plain_line(name, _LONGEST_NAME) != name or name.startswith("."):
            raise ConfigError(
                _("{file} has a name that cannot be shown.").format(file=_shown(file)),
                hint=_("Give the file another name."),
            )
        (told,) = self._described([file])
        if isinstance(told, str):
            raise ConfigError(told, hint=_("Choose a GGUF file of a language model, in one part."))
        target = self._folder / f"{name}{_ENDING}"
        try:
            if target.exists():
                if not target.samefile(file):
                    raise ConfigError(
                        _("There is another model {name}.").format(name=name),
                        hint=_("Remove it first, or rename the file."),
                    )
            else:
                target.unlink(missing_ok=True)  # a link to a file that is gone
                if moves:
                    os.replace(file, target)
                else:
                    _put(file.resolve(), target, told.size)
        except OSError as error:
            failed = ConfigError(
                _("{file} cannot be added: {strerror}.").format(file=_shown(file), strerror=error.strerror)
            )
            raise disk_error(error, failed) from error
        return told.info(free_memory())

    def remove(self, name: str) -> None:
        """Remove a file that was added or fetched, and end the process that runs it.

        Only a file of our own form in the models folder is removed: a file elsewhere, to which it is a second name or a
        link, stays. Raises `NotFoundError`, and `ConfigError` for the file of a setting.
        """
        target = self._own(name)
        if target is None:
            gguf = self._settings.gguf
            if gguf is not None and _name(gguf) == name:
                raise ConfigError(
                    _("{name} is the file that DOCMIND_LLM__GGUF names.").format(name=plain_line(name)),
                    hint=_("Unset DOCMIND_LLM__GGUF; the file itself is not deleted."),
                )
            known = ", ".join(_name(path) for path in self._added()) or "none"
            raise NotFoundError(
                _("No added model is named {name!r}.").format(name=plain_line(name)),
                hint=_("Available: {known}.").format(known=known),
            )
        self._end(name)
        try:
            target.unlink()
            target.with_name(f"{target.name}{_NOTE}").unlink(missing_ok=True)
        except OSError as error:
            raise ConfigError(
                _("{name} cannot be removed: {strerror}.").format(name=name, strerror=error.strerror)
            ) from error

    def removal(self, name: str) -> str:
        """Return the sentence that says what `remove` would do; empty where there is nothing to remove."""
        target = self._own(name)
        if target is None:
            return ""
        found = target.lstat()
        if stat.S_ISLNK(found.st_mode) or found.st_nlink > 1:
            return "DocMind forgets it. The file that you added stays where it is."
        return f"Its file, {_gb(found.st_size)}, is deleted from the models folder."

    def _own(self, name: str) -> Path | None:
        """Return the file of exactly our own form for a name; None where there is none."""
        if self._folder is None or plain_line(name, _LONGEST_NAME) != name or name.startswith("."):
            return None
        target = self._folder / f"{name}{_ENDING}"
        is_ours = target.parent == self._folder and (is_regular(target) or target.is_symlink())
        return target if is_ours else None

    def start(self, info: ModelInfo) -> None:
        """Load a model, where it is not loaded; another one that nobody uses is ended first.

        Raises `LanguageModelDownError` where the file is gone, or it does not fit the memory or cannot be loaded.
        """
        with self._lock:
            running = self._running.get(info.model)
            idle = [one for name, one in self._running.items() if name != info.model and not one.client.is_held]
        for other in idle:
            other.end()
        if running is None or running.client.pid is None:
            model = self._model(info)
            self._check_memory(model)
            running = self._running_of(model)
        try:
            running.client.call({"do": "ping"}, timeout_s=_PING_S, is_repeatable=True)  # it may have just died
        except WorkerFailedError as error:
            raise LanguageModelDownError(
                _("{model} could not be started inside DocMind: {error}.").format(model=info.model, error=error),
                hint=_("Choose a smaller model, or raise DOCMIND_LLM__FIRST_TOKEN_S where it is slow to load."),
            ) from error

    def _running_of(self, model: GgufModel) -> _Running:
        """Return the process of a model, another one where its file has changed."""
        with self._lock:
            before = self._running.get(model.name)
            if before is not None and before.model == model:
                return before
            running = self._running[model.name] = _Running(model, self._settings)
        if before is not None:
            before.end()
        return running

    @contextmanager
    def hold(self, info: ModelInfo) -> Iterator[tuple[Endpoint, str]]:
        """Yield the address of a loaded model and the key for it; it is not ended as idle meanwhile.

        Raises as `start` does.
        """
        self.start(info)
        with self._lock:
            running = self._running.get(info.model)
        if running is None:
            raise LanguageModelDownError(
                _("{model} was stopped or removed while it answered.").format(model=info.model)
            )
        with running.client.hold():
            yield running.endpoint(), running.key

    def pids(self) -> tuple[int, ...]:
        """Return the ids of the processes that run now."""
        with self._lock:
            return tuple(pid for one in self._running.values() if (pid := one.client.pid) is not None)

    def close(self) -> None:
        """End every process. Idempotent."""
        for name in list(self._running):
            self._end(name)

    def _end(self, name: str) -> None:
        with self._lock:
            running = self._running.pop(name, None)
        if running is not None:
            running.end()

    def _paths(self) -> list[Path]:
        gguf = self._settings.gguf
        return [*([gguf] if gguf is not None else []), *self._added()]

    def _added(self) -> list[Path]:
        with suppress(OSError):
            if self._folder is not None:
                return sorted(path for path in self._folder.iterdir() if path.suffix.lower() == _ENDING)
        return []

    def _model(self, info: ModelInfo) -> GgufModel:
        for told in self._described(self._paths()):
            if isinstance(told, GgufModel) and told.name == info.model:
                return told
        raise LanguageModelDownError(
            _("The file of {model} is gone.").format(model=info.model),
            hint=_("Add it again with `docmind models add FILE.gguf`."),
        )

    def _check_memory(self, model: GgufModel) -> None:
        most, free = self._settings.memory_mb << 20, free_memory()
        less = _("Choose a smaller model, or lower DOCMIND_LLM__CONTEXT_TOKENS.")
        if most and model.needs > most:
            raise LanguageModelDownError(
                _("{name} needs about {needs} of memory; DOCMIND_LLM__MEMORY_MB allows {most}.").format(
                    name=model.name, needs=_gb(model.needs), most=_gb(most)
                ),
                hint=less,
            )
        if model.needs > free:
            raise LanguageModelDownError(
                _("{name} needs about {needs} of memory; only {free} are free.").format(
                    name=model.name, needs=_gb(model.needs), free=_gb(free)
                ),
                hint=_("Close other programs and ask again. {less}").format(less=less),
            )

    def _described(self, paths: Sequence[Path]) -> list[GgufModel | str]:
        """Return each file as a model, or the sentence that says why it is none."""
        signatures = [_signature(path) for path in paths]
        with self._lock:
            unknown = [
                (path, signature)
                for path, signature in zip(paths, signatures, strict=True)
                if signature not in self._known
            ]
        if unknown:
            files = tuple(os.path.abspath(path) for path, _signature in unknown)
            limits = Limits(memory_mb=_DESCRIBE_MB, file_mb=0, is_confined=True, reads=files)
            client = Client(_ENTRY, limits, is_forked=False)
            try:
                read = {signature: self._read(client, path) for path, signature in unknown}
            except WorkerFailedError as error:  # of the child, not of the file: it is tried again the next time
                read = {
                    signature: _("{shown} could not be looked at: {error}.").format(shown=_shown(path), error=error)
                    for path, signature in unknown
                }
                return [self._known.get(signature) or read[signature] for signature in signatures]
            finally:
                client.end()
            with self._lock:
                self._known |= read
        with self._lock:
            return [self._known[signature] for signature in signatures]

    def _read(self, client: Client, path: Path) -> GgufModel | str:
        """Return one file as `_described` does. Raises `WorkerFailedError`."""
        name, cannot = _name(path), _("{shown} cannot run inside DocMind").format(shown=_shown(path))
        if plain_line(name, _LONGEST_NAME) != name:
            return _("{cannot}: its name cannot be shown; rename it.").format(cannot=cannot)
        try:
            header, _unused = client.call({"do": "describe", "path": str(path)}, timeout_s=_DESCRIBE_S)
            if "error" in header:
                raise error_named(header, DocMindError)
            size, trained, cache = int(header["size"]), int(header["context"]), int(header["cache_per_token"])
        except WorkerFailedError:
            raise
        except DocMindError as error:
            return f"{cannot}: {plain_line(str(error)).rstrip('.')}."
        except (KeyError, TypeError, ValueError, OverflowError):
            return _("{cannot}: its header cannot be read.").format(cannot=cannot)
        context = min(trained, self._settings.context_tokens) if trained else self._settings.context_tokens
        needs = memory_needed(size, cache, context)
        return GgufModel(name, str(path), size, needs, context, header.get("has_tools") is True)


class _Running:
    """The process of one model, from its first start to the end of DocMind; it may end and start in between."""

    def __init__(self, model: GgufModel, settings: LLMSettings) -> None:
        self.model, self.key = model, ""
        self._settings = settings
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._address = ""
        # The file is mapped, and its weights may be put into another order: both count as address space.
        limits = Limits(memory_mb=(model.size + model.needs + _ROOM) >> 20, file_mb=0, local_sockets=True)
        self.client = Client(_ENTRY, limits, idle_s=settings.idle_s, prepare=self._load, is_forked=False)

    def endpoint(self) -> Endpoint:
        """Return where the model answers."""
        from docmind.network import at_socket, permit

        if self._folder:
            return at_socket(self._address, "/v1")
        return permit(f"{self._address}/v1")

    def end(self) -> None:
        """End the process and remove its socket. Idempotent."""
        self.client.end()
        self._drop()

    def _load(self, ask: Ask) -> None:
        """Have a new process load the file. Raises `LanguageModelDownError`, `WorkerFailedError`."""
        self._drop()
        self._folder = _socket_folder()
        self.key = secrets.token_urlsafe(32)
        threads = self._settings.threads or _cores()
        place = os.path.join(self._folder.name, SOCKET) if self._folder else ""
        header, _unused = ask(
            {"do": "load", "path": self.model.path, "socket": place, "key": self.key, "threads": threads,
             "context": self.model.context},
            timeout_s=self._settings.first_token_s,
        )  # fmt: skip
        if "error" in header:
            why = plain_line(str(header.get("message", ""))).rstrip(".")
            raise LanguageModelDownError(
                _("{name} cannot be loaded: {why}.").format(name=self.model.name, why=why),
                hint=_("Choose another model in Settings, or install a newer xllamacpp."),
            )
        told = str(header.get("address", ""))
        if not (told == f"unix://{place}" if place else _HTTP.fullmatch(told)):
            raise WorkerFailedError("it listens at an address that was not asked for")
        self._address = told.removeprefix("unix://")

    def _drop(self) -> None:
        if self._folder is not None:
            self._folder.cleanup()
        self._folder = None


class InsideModel:
    """A `ChatModel` that runs inside DocMind. Thread-safe. It is loaded by the first question that it is asked."""

    def __init__(self, info: ModelInfo, settings: LLMSettings, inside: InsideModels) -> None:
        self.info = info
        self._settings, self._inside = settings, inside

    def warm(self) -> None:
        """Import the libraries of the client; the model is not loaded."""
        from docmind.network import at_socket

        self._served(at_socket("", "/v1"), "").warm()

    def stream(self, messages: Sequence[Message], stop: Stop) -> Iterator[str]:
        """Yield pieces of the answer as they arrive; see `ChatModel`."""
        if self._is_loaded(stop):
            with self._inside.hold(self.info) as (endpoint, key):
                yield from self._served(endpoint, key).stream(messages, stop)

    def step(self, messages: Sequence[Message], tools: Sequence[Tool], stop: Stop) -> Iterator[str | ToolCall]:
        """Yield pieces of text, then tool calls; see `ChatModel`."""
        if self._is_loaded(stop):
            with self._inside.hold(self.info) as (endpoint, key):
                yield from self._served(endpoint, key).step(messages, tools, stop)

    def _is_loaded(self, stop: Stop) -> bool:
        """Wait until the model is loaded; False where `stop` came first, and it is loaded for the next question."""
        outcome: queue.SimpleQueue[Exception | None] = queue.SimpleQueue()

        def load() -> None:
            try:
                self._inside.start(self.info)
            except Exception as error:  # noqa: BLE001 - raised again by the reader of the stream
                outcome.put(error)
            else:
                outcome.put(None)

        threading.Thread(target=load, name="docmind-gguf", daemon=True).start()
        while not stop():
            try:
                error = outcome.get(timeout=_LOOK_S)
            except queue.Empty:
                continue
            if error is not None:
                raise error
            return True
        return False

    def _served(self, endpoint: Endpoint, key: str) -> ServedModel:
        from docmind.llm.client import ServedModel

        return ServedModel(self.info, self._settings, key=key, endpoint=endpoint)


def memory_needed(size: int, cache_per_token: int, context: int) -> int:
    """Return the bytes of memory that a model takes: its weights, the cache of a whole context, and the process."""
    return size + cache_per_token * context + _SPARE


def _put(file: Path, target: Path, size: int) -> None:
    """Give a file a second name, link to it on another disk, or copy it. Raises `OSError`, `DiskFullError`."""
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    for link in (os.link, os.symlink):
        with suppress(OSError):
            link(file, target)
            break
    else:  # Windows, where a link to another disk needs a privilege
        check_room(target.parent, size, "{folder} has {free} MB free, and the model needs {needed} MB.")
        with replacing(target, replace=False) as copy, file.open("rb") as source:
            shutil.copyfileobj(source, copy, 1 << 20)


def _socket_folder() -> tempfile.TemporaryDirectory[str] | None:
    """Make a private folder for a socket; None where the system has none. Raises `WorkerFailedError`.

    Folders that killed owners left are removed.
    """
    if not hasattr(socket, "AF_UNIX") or os.name == "nt":
        return None
    bases = [tempfile.gettempdir(), os.environ.get("XDG_RUNTIME_DIR", ""), "/tmp"]  # noqa: S108 - mode 0700
    for base in bases:
        if base and len(os.fsencode(base)) < _LONGEST_BASE and os.path.isdir(base):
            with suppress(OSError):
                for left in Path(base).glob(f"{_PREFIX}*"):
                    if _is_left_over(left):
                        shutil.rmtree(left, ignore_errors=True)
                return tempfile.TemporaryDirectory(prefix=_PREFIX, dir=base, ignore_cleanup_errors=True)
    raise WorkerFailedError("no folder for its socket can be made; set TMPDIR to a short path")


def _is_left_over(folder: Path) -> bool:
    """Return whether a folder of this user holds only a socket that nobody listens on, or nothing, for a while."""
    with suppress(OSError):
        found = folder.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or time.time() - found.st_mtime < _YOUNG_S:
            return False
        names = os.listdir(folder)
        if not names:
            return True
        if names != [SOCKET] or not stat.S_ISSOCK((folder / SOCKET).lstat().st_mode):
            return False
        with socket.socket(socket.AF_UNIX) as probe:
            try:
                probe.connect(str(folder / SOCKET))
            except ConnectionRefusedError:
                return True
    return False


def _signature(path: Path) -> tuple[str, int, int]:
    try:
        found = path.stat()
    except (OSError, ValueError):
        return str(path), -1, -1
    return str(path), found.st_size, found.st_mtime_ns


def _name(path: Path) -> str:
    return path.name[: -len(_ENDING)] if path.name.lower().endswith(_ENDING) else path.name


def _shown(path: Path) -> str:
    return plain_line(path.name.encode("utf-8", "replace").decode(), _LONGEST_NAME)


def _gb(number: int) -> str:
    return f"{number / 1e9:.1f} GB" if number >= 1e8 else f"{number / 1e6:.0f} MB"


def _cores() -> int:
    import psutil

    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(psutil.cpu_count(logical=False) or allowed, allowed)
