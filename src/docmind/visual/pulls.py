"""Downloads of models, each in a thread of its own, as records that faces can poll."""

from __future__ import annotations

import threading
from collections.abc import Callable

from docmind.errors import CancelledError, ConfigError, DocMindError
from docmind.seeing import PullProgress
from docmind.weights import KNOWN, Description, Weights

Progress = Callable[[PullProgress], None]


class Pulls:
    """Safe from any thread. One download of a model at a time."""

    def __init__(self, weights: Weights, hub_url: str, arrived: Callable[[Description], None]) -> None:
        self._weights, self._hub_url, self._arrived = weights, hub_url, arrived
        self._lock = threading.Lock()
        self._progress: dict[str, PullProgress] = {}
        self._stops: dict[str, threading.Event] = {}
        self._threads: list[threading.Thread] = []

    def pull(self, name: str, progress: Progress | None = None, check: Callable[[], None] | None = None) -> Description:
        """Fetch a model here and now. Raises `ConfigError`, `DownloadError`, `DiskFullError`, what `check` raises."""
        return self._pull(name, self._begin(name), progress, check)

    def submit(self, name: str) -> None:
        """Fetch a model in the background; `all` tells of it from now on.

        Raises `ConfigError` for a name that is not known, and while that model is being fetched.
        """
        if name not in KNOWN:
            raise ConfigError(f"There is no model {name!r}.", hint=f"There are: {', '.join(KNOWN)}.")

        stop = self._begin(name)

        def work() -> None:
            try:
                self._pull(name, stop, None, None)
            except DocMindError:
                return  # its record says it

        thread = threading.Thread(target=work, name="pull", daemon=True)
        with self._lock:
            self._threads = [one for one in self._threads if one.is_alive()]
            self._threads.append(thread)
        thread.start()

    def all(self) -> tuple[PullProgress, ...]:
        """Every download since the start, the last of each model."""
        with self._lock:
            return tuple(self._progress.values())

    def cancel(self, name: str) -> None:
        """Stop a download; what has arrived is kept for the next try. Harmless where there is none."""
        with self._lock:
            stop = self._stops.get(name)
        if stop is not None:
            stop.set()

    def close(self) -> None:
        """Stop every download and wait for its end."""
        with self._lock:
            stops, threads = list(self._stops.values()), list(self._threads)
        for stop in stops:
            stop.set()
        for thread in threads:
            thread.join()

    def _pull(
        self, name: str, stop: threading.Event, progress: Progress | None, check: Callable[[], None] | None
    ) -> Description:
        def note(now: PullProgress) -> None:
            with self._lock:
                self._progress[name] = now
            if progress is not None:
                progress(now)

        def goes_on() -> None:
            if stop.is_set():
                raise CancelledError("The download was stopped.")
            if check is not None:
                check()

        try:
            description = self._weights.pull(name, hub_url=self._hub_url, progress=note, check=goes_on)
        except DocMindError as error:
            self._end(name, str(error), error.hint)
            raise
        except BaseException as error:
            self._end(name, f"It broke off ({type(error).__name__}).", "")
            raise
        self._end(name)
        self._arrived(description)
        return description

    def _begin(self, name: str) -> threading.Event:
        with self._lock:
            if name in self._stops:
                raise ConfigError(f"{name} is being fetched already.", hint="Wait for it, or cancel it.")
            self._stops[name] = stop = threading.Event()
            self._progress[name] = PullProgress(name)
            return stop

    def _end(self, name: str, error: str = "", hint: str = "") -> None:
        with self._lock:
            now = self._progress[name]
            self._progress[name] = PullProgress(
                name, now.file, now.bytes_done, now.bytes_total, is_over=True, error=error, hint=hint
            )
            self._stops.pop(name, None)
