"""The job queue of ingestion: files are submitted, read a few at a time, paused, cancelled and retried.

`docmind.documents.uploads.Uploads` holds the rows; this module decides which is read next, and by whom: by the
background threads, or by a caller that reads its own files synchronously.

Short files pass long ones. Where no more files may be read at the same time, a file that has been read for a while
makes way for a short one: its pages are kept, and it is continued afterwards.

It is above 500 lines because handing in, reading, looking and acting share one lock and one order.
"""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from docmind.documents import QueuedFile, Uploads, refused
from docmind.errors import CancelledError, DamagedError, DocMindError, NotFoundError, TextModelError
from docmind.ingest.pipeline import Ingest, Step
from docmind.ingest.replacing import Replacements
from docmind.reading import may_be_plain
from docmind.records.documents import AddResult, HandedIn, QueueProgress, QueueState, Upload, UploadInfo, UploadState
from docmind.runtime import Background, log_mistake
from docmind.wording import _

Progress = Callable[[QueueProgress], None]

_UNREAD: tuple[UploadState, ...] = ("waiting", "reading", "paused")
_ENDED: tuple[UploadState, ...] = ("failed", "locked", "cancelled")
_CLOSING_S = 30.0
_TOGETHER, _TOGETHER_BYTES = 64, 256 * 1024  # short texts that share a commit: what a crash or a pause repeats
_MANY, _AMONG = 192, 256  # short texts among the next files: so many get their vectors once nothing is read
_AGAIN_S, _AGAIN_MOST_S = 5.0, 120.0  # until a text model that failed is asked again: a server may come back
_WINDOW_S = 120.0  # how far back the rate is measured: scans and plain text alternate
_SURE_S, _SURE_PAGES = 5.0, 16  # before that the rate is meaningless: the first pages come out of buffers
_SLOW_S, _SLOW_PAGES = 15.0, 2  # enough for pages read by OCR, which are slow
_SHORT_BYTES = 1 << 20  # a file above this size is long from the start
_SHARE_S = 10.0  # a file that was read for so long is long too, and makes way for a short one that waits
_ASKING_S = 0.5  # between two questions whether one waits
_NO_DOCUMENT = ("UnsupportedFileError", "EmptyFileError")  # of a file inside another: told there, and no failure
_PASSING = 20  # short files that are begun while a long one waits; then it is its turn


class IngestQueue:
    """The queue of files. Thread-safe; `files_at_once` files are read at the same time at most."""

    def __init__(self, uploads: Uploads, ingest: Ingest, files_at_once: int, *, replacements: Replacements) -> None:
        self._uploads, self._ingest, self._replacements = uploads, ingest, replacements
        self._changed = threading.Condition(threading.RLock())
        self._threads = [Background("queue") for _ in range(files_at_once)]
        self._held: set[int] = set()  # files that a caller reads itself
        self._taken: set[int] = set()  # files that a background thread has chosen
        self._passwords: dict[int, str] = {}  # each is used once and never kept
        self._currents: tuple[_Current, ...] = ()  # what is being read, in the order in which it began; replaced only
        self._wanting: list[_Current] = []  # what waits until less is being read
        self._long: set[int] = set()  # files that have made way
        self._passed = 0  # short files begun since a long one was
        self._pace = _Pace()
        self._trouble = ""  # why nothing is read although files wait
        self._again_s = self._again_at = 0.0  # when that may be over by itself; 0 where it is for the user
        self._is_closed = self._is_adopted = False

    # handing in

    def submit(self, uploads: Iterable[Upload], *, total_bytes: int = 0) -> tuple[int, ...]:
        """Queue files to be read in the background, and return their ids.

        They are durable when this returns.

        `total_bytes` is their size, where it is known before they are in memory. A password is kept in memory until
        its file has been tried. Raises `DiskFullError`; then none of them is queued. Raises `CancelledError` after
        `close`.
        """
        self._check_open()
        ids = self.hold(uploads, total_bytes=total_bytes)
        with self._changed:
            self._passwords |= {upload_id: password for upload_id, password in ids.items() if password is not None}
            self._held.difference_update(ids)
        self.start()
        return tuple(ids)

    def hand_in(self, upload: Upload) -> HandedIn:
        """Queue one file as `submit` does, and return which document it is or will be. Raises as `submit`."""
        (upload_id,) = self.hold([upload])
        try:  # before it is read: afterwards its document is known
            doc_id, is_known = self.document_of(upload_id)
        finally:
            self.release([upload_id])
            self.start()
        return HandedIn(upload_id, doc_id, is_known)

    def add(self, uploads: Iterable[Upload], files_total: int, progress: Progress | None) -> list[AddResult]:
        """Queue files, then read those that wait already and then these, synchronously.

        Refused files are removed.

        Raises `DiskFullError` and `CancelledError`; the files that were not read wait in the queue then.
        """
        ids = self.hold(uploads)
        results: dict[int, AddResult] = {}
        try:
            self.finish(progress)
            order = self.in_order(list(ids))
            for number, upload_id in enumerate(order):
                place, password = (len(results), files_total or len(ids)), ids[upload_id]
                if upload_id in results:
                    continue
                if password is None:
                    results |= self.read_together(order[number:], progress=progress, place=place)
                if upload_id not in results:
                    results[upload_id] = self.read(upload_id, password=password, progress=progress, place=place)
                if progress:
                    document = results[upload_id].document
                    progress(QueueProgress("reading", place[1], len(results), file=document))
        finally:
            self.release(ids, list(results))
            self._ingest.commit(lazily=progress is not None)
        return [results[upload_id] for upload_id in ids]

    def hold(self, uploads: Iterable[Upload], *, total_bytes: int = 0) -> dict[int, str | None]:
        """Queue files for a caller that calls `read` for each and then `release`.

        Returns passwords by id.

        Raises `DiskFullError`; then none of them is queued.
        """
        self.adopt()
        passwords: list[str | None] = []

        def noted() -> Iterator[Upload]:
            for upload in uploads:
                passwords.append(upload.password)
                yield upload

        ids = self._uploads.hand_in(noted(), total_bytes=total_bytes, held=self._held)
        return dict(zip(ids, passwords, strict=True))

    def finish(self, progress: Progress | None = None) -> list[AddResult]:
        """Read all waiting files that no other caller holds, synchronously; return their results.

        Failed files stay in the queue, because there may be no user to see the results. Raises as `add` does.
        """
        self.adopt()
        waiting = [] if self._is_working() else self.in_order(self._uploads.waiting(self._held))
        results = []
        together: dict[int, AddResult] = {}
        for number, upload_id in enumerate(waiting):
            place = len(results), len(waiting)
            try:
                if upload_id not in together:
                    together |= self.read_together(waiting[number:], progress=progress, place=place)
                result = together.get(upload_id) or self.read(upload_id, progress=progress, place=place)
                results.append(result)
            except NotFoundError:  # removed meanwhile
                continue
        return results

    def read(
        self,
        upload_id: int,
        *,
        password: str | None = None,
        progress: Progress | None = None,
        place: tuple[int, int] = (0, 1),
    ) -> AddResult:
        """Read one file synchronously.

        `place` is how many of how many were read before, for `progress`.

        Raises `CancelledError` where it was paused or cancelled, `NotFoundError` where it was removed, and errors that
        concern all files; it waits in the queue then.
        """
        is_ours = upload_id in self._held
        self._held.add(upload_id)  # before it waits, so that no other thread takes it
        try:
            info = self._uploads.get(upload_id)
            if info.state in ("locked", "failed"):
                self._uploads.move([upload_id], (info.state,), "waiting")
            while True:
                current = self._current_of([info], progress, place)
                try:
                    result = self._read(current, password)
                    break
                except CancelledError:
                    if not current.has_made_way:
                        raise
            return replace(result, enclosed=tuple(self._read_enclosed(result.doc_id, progress, place)))
        finally:
            if not is_ours:
                self._held.discard(upload_id)
            self._ingest.commit(lazily=True)

    def _read_enclosed(
        self, doc_id: str | None, progress: Progress | None, place: tuple[int, int]
    ) -> Iterator[AddResult]:
        """Read the files that lie in a document, those that no other thread has chosen; only failures stay queued."""
        inside = self._uploads.enclosed(doc_id) if doc_id else []
        together: dict[int, AddResult] = {}
        for number, upload_id in enumerate(inside):
            with self._changed:
                if upload_id in self._held | self._taken:
                    continue
                self._held.add(upload_id)
            try:
                if upload_id not in together:
                    together |= self.read_together(inside[number:], progress=progress, place=place)
                yield together.get(upload_id) or self.read(upload_id, progress=progress, place=place)
            except NotFoundError:  # removed meanwhile
                continue
            finally:
                self._held.discard(upload_id)
                self._uploads.remove([upload_id], states=("done",))

    def read_together(
        self, upload_ids: Sequence[int], *, progress: Progress | None = None, place: tuple[int, int] = (0, 1)
    ) -> dict[int, AddResult]:
        """Read the first of these files synchronously, as far as they are short texts and mails, in one commit.

        Returns results by id; a file without one is for `read`. Raises as `read` does; none of them is read then. Files
        attached to mails are read after it.
        """
        ours = [upload_id for upload_id in upload_ids[:_TOGETHER] if upload_id not in self._held]
        self._held.update(ours)
        try:
            infos = self._texts_of(upload_ids)
            results = self._read_group(self._current_of(infos, progress, place)) if len(infos) > 1 else {}
        finally:
            self._held.difference_update(ours)
            self._ingest.commit(lazily=True)
        for upload_id, result in results.items():
            if result.status == "added" and (inside := tuple(self._read_enclosed(result.doc_id, progress, place))):
                results[upload_id] = replace(result, enclosed=inside)
        return results

    def release(self, upload_ids: Collection[int], settled: Sequence[int] = ()) -> None:
        """End a caller's hold on files: those in `settled` are removed, the others wait in the queue."""
        with self._changed:
            self._held.difference_update(upload_ids)
            self._changed.notify_all()
        self._uploads.remove(settled, states=("done", "failed", "locked"))

    # looking

    def in_order(self, upload_ids: Sequence[int]) -> list[int]:
        """Return files in the order in which they are read: short ones first, otherwise as they were handed in."""
        long = self._long_ids()
        return sorted(upload_ids, key=lambda upload_id: upload_id in long)

    def document_of(self, upload_id: int) -> tuple[str, bool]:
        """Return the document that a file will be, and whether the vault has it, or another file of the queue, already.

        Raises `NotFoundError`.
        """
        return self._uploads.document_of(upload_id)

    def uploads(self, *states: UploadState, newest: int = 0) -> tuple[UploadInfo, ...]:
        """Return the files in these states (all where none is named), in order.

        With `newest`, it returns only the last so many. A file is being read until searches find its document.
        """
        under_way = self._ids_under_way()
        found = {info.upload_id: info for info in self._uploads.all(*states, newest=newest)}
        for upload_id in under_way | self._ids_under_way():  # some may have begun meanwhile
            with suppress(NotFoundError):  # removed meanwhile
                info = self._uploads.get(upload_id)
                if info.state == "done" and info.result == "added":
                    found.pop(upload_id, None)
                    if not states or "reading" in states:
                        found[upload_id] = replace(info, state="reading")
        return tuple(found[upload_id] for upload_id in sorted(found))

    def _ids_under_way(self) -> set[int]:
        return {upload_id for current in self._currents for upload_id in current.upload_ids}

    def counts(self) -> dict[UploadState, int]:
        """Return the number of files in each state."""
        return self._uploads.counts()

    def progress(self) -> QueueProgress:
        """Return a snapshot of the queue; of several files that are read it names the one that was opened first."""
        batch, currents = self._uploads.batch(), self._currents
        state: QueueState = "idle"
        if currents or (batch.waiting and self._is_working()):
            state = "reading"
        elif batch.paused or (batch.waiting and self._trouble):
            state = "paused"
        told = QueueProgress(
            state=state,
            files_total=batch.total,
            files_done=batch.settled,
            waiting=batch.waiting,
            paused=batch.paused,
            message=self._trouble,
        )
        if not currents:
            return told
        shown = next((one for one in currents if one.is_opened), currents[0])  # one may wait for its twin
        return shown.on(told, batch.bytes, [one for one in currents if one is not shown])

    # acting

    def start(self) -> None:
        """Read waiting files in the background from now on. Raises `CancelledError` after `close`."""
        with self._changed:
            self._check_open()
            self._trouble, self._again_at = "", 0.0
            try:
                self.adopt()  # at once, so that the next query shows what waits
            except DocMindError as error:
                self._give_up(error)
            for thread in self._threads:
                thread.start(self._work)
            self._changed.notify_all()

    def adopt(self) -> None:
        """Put files that an earlier process left half read back to waiting. Idempotent."""
        with self._changed:
            if not self._is_adopted:
                self._uploads.adopt()
                self._replacements.settle()
                self._is_adopted = True

    def pause(self, upload_ids: Sequence[int] | None = None) -> list[int]:
        """Pause these files (None: all) until `resume`; those being read stop after their page."""
        with self._changed:
            paused = self._uploads.move(upload_ids, ("waiting", "reading"), "paused")
            self._stop(upload_ids)
        return paused

    def resume(self, upload_ids: Sequence[int] | None = None) -> list[int]:
        """Continue paused files after their last stored page.

        It also restarts a queue that an error has stopped.
        """
        return self._put_back(upload_ids, ("paused",))

    def retry(self, upload_ids: Sequence[int] | None = None) -> list[int]:
        """Put files that failed, are locked or were cancelled back to waiting."""
        return self._put_back(upload_ids, _ENDED)

    def unlock(self, upload_id: int, password: str) -> None:
        """Try a locked file with this password, once; it is not kept. Raises `NotFoundError`."""
        self._uploads.get(upload_id)
        with self._changed:
            self._passwords[upload_id] = password
            if not self._put_back([upload_id], ("locked",)):
                self._passwords.pop(upload_id, None)

    def cancel(self, upload_ids: Sequence[int] | None = None) -> list[int]:
        """Cancel unread files; stored pages stay, and `retry` puts the files back until `remove`."""
        with self._changed:
            cancelled = self._uploads.move(upload_ids, _UNREAD, "cancelled")
            self._stop(upload_ids)
        return cancelled

    def remove(self, upload_ids: Sequence[int]) -> list[UploadInfo]:
        """Remove files that are not being read, and their bytes where no document uses them."""
        return self._uploads.remove(upload_ids)

    def close(self) -> None:
        """Stop reading after the current page, and wait for that half a minute at most. Idempotent."""
        with self._changed:
            self._is_closed = True
            self._passwords.clear()
            for current in self._currents:
                current.stop.set()
            self._changed.notify_all()
        until = time.monotonic() + _CLOSING_S
        for thread in self._threads:
            thread.join(max(0.0, until - time.monotonic()))

    # inside

    def _put_back(self, upload_ids: Sequence[int] | None, states: Sequence[UploadState]) -> list[int]:
        with self._changed:
            moved = self._uploads.move(upload_ids, states, "waiting")
            self._trouble, self._again_at = "", 0.0
            self._changed.notify_all()
        return moved

    def _stop(self, upload_ids: Sequence[int] | None) -> None:
        for current in self._currents:
            if upload_ids is None or not current.upload_ids.isdisjoint(upload_ids):
                current.stop.set()

    def _check_open(self) -> None:
        if self._is_closed:
            raise CancelledError(_("DocMind is being closed."))

    def _is_working(self) -> bool:
        return not self._trouble and any(thread.is_running for thread in self._threads)

    def _current_of(
        self, infos: Sequence[UploadInfo], tell: Progress | None = None, place: tuple[int, int] = (0, 1)
    ) -> _Current:
        """Return what is about to be read. It asks at every page whether it makes way."""
        is_long = infos[0].bytes > _SHORT_BYTES or infos[0].upload_id in self._long
        return _Current(infos, self._pace, self._makes_way, is_long=is_long, tell=tell, place=place)

    def _read(self, current: _Current, password: str | None) -> AddResult:
        """Read one file to its end and record the outcome in its row; a mistake of ours costs this file alone."""
        (upload_id,) = current.upload_ids
        with self._reading(current):
            info = self._uploads.get(upload_id)
            if info.state not in ("waiting", "reading"):  # since it was chosen
                raise CancelledError(_("{document} is {state}.").format(document=info.document, state=info.state))
            self._ingest.start()
            current.opens()
            try:
                file = self._uploads.handed_in(upload_id)
            except DamagedError as error:
                result = refused(info.document, error)
            else:
                result = self._read_file(file, current, password)
            if result.status != "added":  # "added" is recorded together with the document
                self._uploads.settle(upload_id, result, is_kept=result.error not in _NO_DOCUMENT)
            self._replacements.settle()
            return result

    def _read_file(self, file: QueuedFile, current: _Current, password: str | None) -> AddResult:
        try:
            return self._ingest.read(file, current.step(), password=password)
        except DocMindError:
            raise
        except Exception as error:  # noqa: BLE001 - a bug of ours: it is recorded for this file, and the next one is read
            log_mistake("docmind.queue", "reading ended", error)
            kind = type(error).__name__
            mistake = _("{document} could not be read: a mistake in DocMind ({kind}); the log has the details.")
            return AddResult(file.name, "refused", error=kind, message=mistake.format(document=file.name, kind=kind))

    def _read_group(self, current: _Current, *, later: bool = False) -> dict[int, AddResult]:
        """Read short plain texts together; each outcome is recorded with its document.

        With `later` their vectors are made afterwards. Returns none where one of them is not as it must be: each is
        read alone then.
        """
        with self._reading(current):
            if any(info.state != "waiting" for info in map(self._uploads.get, current.upload_ids)):
                return {}  # one was paused or cancelled since they were chosen: each is looked at alone
            try:
                files = [self._uploads.handed_in(upload_id) for upload_id in current.upload_ids]
                results = self._ingest.read_together(files, current.step(), later=later)
                self._replacements.settle()
                return results
            except DamagedError:
                return {}
            except DocMindError:
                raise
            except Exception as error:  # noqa: BLE001 - a bug of ours, with one of the files
                log_mistake("docmind.queue", "reading together ended", error)
                return {}

    @contextlib.contextmanager
    def _reading(self, current: _Current) -> Iterator[None]:
        """Wait until this may be read, and count it as being read."""
        with self._changed:
            self._wanting.append(current)
            try:
                while not (self._is_closed or self._may_begin(current)):
                    self._changed.wait()
                self._check_open()
            finally:
                self._wanting.remove(current)
            current.begin()
            self._currents = (*self._currents, current)
            self._passed = 0 if current.is_long else self._passed + 1
        try:
            yield
        except DocMindError:
            with contextlib.suppress(DocMindError):  # a full disk: the next start puts it back
                self._uploads.move(list(current.upload_ids), ("reading",), "waiting")
            raise
        finally:
            with self._changed:
                self._currents = tuple(one for one in self._currents if one is not current)
                self._changed.notify_all()

    def _may_begin(self, current: _Current) -> bool:
        """Return whether fewer files than allowed are being read, and it is the turn of this one."""
        if len(self._currents) >= len(self._threads):
            return False
        return not (current.is_long and self._passed < _PASSING and self._is_short_waiting())

    def _is_short_waiting(self) -> bool:
        """Return whether somebody is about to read a short file as soon as fewer files are being read."""
        if any(not one.is_long for one in self._wanting):
            return True
        if not self._is_working():
            return False
        waiting = self._uploads.waiting(self._held | self._taken)
        return not self._long_ids().issuperset(waiting)

    def _long_ids(self) -> set[int]:
        """Return the files that others may pass: those that are large, and those that have made way."""
        return self._uploads.larger_than(_SHORT_BYTES) | self._long

    def _makes_way(self, current: _Current) -> bool:
        """Return whether a file that is being read has had its share of time, and stops for a short one that waits."""
        if current.read_for_s() < _SHARE_S or len(current.upload_ids) > 1:
            return False
        with self._changed:
            if len(self._currents) < len(self._threads) or any(one.has_made_way for one in self._currents):
                return False
            if not self._is_short_waiting():
                return False
            self._long |= current.upload_ids
            current.has_made_way = True
            return True

    def _texts_of(self, upload_ids: Sequence[int]) -> list[UploadInfo]:
        """Return the first of these files as far as they may be short plain texts and a group has room for them."""
        infos: list[UploadInfo] = []
        size = 0
        for upload_id in upload_ids[:_TOGETHER]:
            if upload_id in self._passwords or not self._uploads.has(upload_id):
                break
            info = self._uploads.get(upload_id)
            size += info.bytes
            if info.state != "waiting" or size > _TOGETHER_BYTES or not may_be_plain(info.document, info.bytes):
                break
            infos.append(info)
        return infos

    def _are_many(self) -> bool:
        """Return whether many short texts wait, behind those that are being read."""
        waiting = self.in_order(self._uploads.waiting(self._held | self._taken))[:_AMONG]
        if len(waiting) < _MANY:
            return False
        infos = [self._uploads.get(upload_id) for upload_id in waiting if self._uploads.has(upload_id)]
        return sum(may_be_plain(info.document, info.bytes) for info in infos) >= _MANY

    def _work(self) -> None:
        """Run a background thread: read one file after another until `close`."""
        while infos := self._wait():
            try:
                self._take(infos)
            except CancelledError:
                continue  # its row says whether it is paused, cancelled, or to be read again
            except DocMindError as error:
                if not isinstance(error, NotFoundError) or self._uploads.has(infos[0].upload_id):
                    self._give_up(error)
            finally:
                with self._changed:
                    self._taken.difference_update(info.upload_id for info in infos)

    def _take(self, infos: Sequence[UploadInfo]) -> None:
        """Read a file, with those behind it that can share its commit."""
        upload_id = infos[0].upload_id
        many = len(infos) > 1 and self._are_many()
        results = self._read_group(self._current_of(infos), later=many) if len(infos) > 1 else {}
        if upload_id not in results:
            current, password = self._current_of(infos[:1]), self._passwords.pop(upload_id, None)
            try:
                self._read(current, password)
            except CancelledError:
                if current.has_made_way and password is not None:
                    self._passwords.setdefault(upload_id, password)
                raise
        self._again_s = 0.0
        self._ingest.commit(lazily=bool(self._uploads.waiting(self._held | self._taken)))

    def _wait(self) -> list[UploadInfo]:
        """Wait for what is to be read next and take it: a file, or texts that share a commit; none after `close`."""
        is_fresh = False
        with self._changed:
            while not self._is_closed:
                try:
                    self.adopt()
                    infos = [] if self._trouble or len(self._currents) >= len(self._threads) else self._next()
                except DocMindError as error:
                    infos = []
                    self._give_up(error)
                if infos:
                    if is_fresh and not self._currents:
                        self._pace = _Pace()
                    self._taken.update(info.upload_id for info in infos)
                    return infos
                is_fresh = True
                if not self._again_at:
                    self._changed.wait()
                elif not self._changed.wait(max(0.0, self._again_at - time.monotonic())):
                    self._trouble, self._again_at = "", 0.0
            return []

    def _next(self) -> list[UploadInfo]:
        """Return the first file that waits, with those behind it that can share its commit; a long one in its turn."""
        waiting = self.in_order(self._uploads.waiting(self._held | self._taken))
        if waiting and self._passed >= _PASSING:
            long = self._long_ids()
            waiting = [one for one in waiting if one in long] or waiting
        if not waiting:
            return []
        infos = self._texts_of(waiting)
        return infos if len(infos) > 1 else [self._uploads.get(waiting[0])]

    def _give_up(self, error: DocMindError) -> None:
        """Stop the queue for an error that concerns all files, such as a full disk.

        The files wait until the user resumes, or until the next start. A text model is asked again after a while, since
        its server may be back then.
        """
        log_mistake("docmind.queue", "reading ended", error)
        self._trouble, self._again_at = f"{error} {error.hint}".strip(), 0.0
        if isinstance(error, TextModelError):
            self._again_s = min(_AGAIN_MOST_S, 2 * self._again_s or _AGAIN_S)
            self._again_at = time.monotonic() + self._again_s


class _Current:
    """What is being read: one file, or texts that share a commit.

    `progress` reads it from other threads: fields are only replaced, never changed.
    """

    def __init__(
        self,
        infos: Sequence[UploadInfo],
        pace: _Pace,
        makes_way: Callable[[_Current], bool],
        *,
        is_long: bool,
        tell: Progress | None,
        place: tuple[int, int],
    ) -> None:
        self.upload_ids, self.stop = dict.fromkeys(info.upload_id for info in infos).keys(), threading.Event()
        self.is_long, self.has_made_way = is_long, False
        self._infos, self._pace, self._tell, self._place = infos, pace, tell, place
        self._makes_way, self._asked_at = makes_way, 0.0
        self._began_at = math.inf
        self._at = ("starting", 0, 0)
        self._read = 0  # files of the group that were read
        self._kept = 0  # pages of the open file that are stored

    def begin(self) -> None:
        """Note that it is being read from now on."""
        self._began_at = time.monotonic()

    def read_for_s(self) -> float:
        """Return the seconds since it began."""
        return time.monotonic() - self._began_at

    def opens(self) -> None:
        """Note that the file is being opened."""
        self._at = ("opening", 0, 0)

    @property
    def is_opened(self) -> bool:
        """Whether its pages are known."""
        return self._at[2] > 0

    def step(self) -> Step:
        """Return the callbacks for the pipeline."""
        from docmind.ingest.pipeline import Step

        return Step(self._page, self._keep, self._file, self._check)

    def on(self, queue: QueueProgress, bytes_left: int, others: Sequence[_Current] = ()) -> QueueProgress:
        """Add this file's progress to that of the queue, and those that are read at the same time.

        `bytes_left` counts all unread files, this one and the others.
        """
        stage, done, total = self._at
        read = self._read
        info = self._infos[min(read, len(self._infos) - 1)]
        gone = self._bytes_gone() + sum(other._bytes_gone() for other in others)
        elsewhere = sum(other._read for other in others)
        left = [total - done for _, done, total in (self._at, *(other._at for other in others)) if total]
        return QueueProgress(
            state=queue.state,
            files_total=queue.files_total,
            files_done=queue.files_done + read + elsewhere,
            waiting=max(0, queue.waiting - 1 - read - len(others) - elsewhere),
            paused=queue.paused,
            file=info.document,
            stage="stopping" if self.stop.is_set() else stage,
            pages_done=done,
            pages_total=total,
            eta_ms=self._pace.eta_ms(sum(left) if left else None, max(0, bytes_left - gone)),
            message=queue.message,
            also=len(others),
        )

    def _bytes_gone(self) -> int:
        return sum(one.bytes for one in self._infos[: self._read + 1])

    def _keep(self, done: int) -> None:
        self._pace.keep(done - self._kept)
        self._kept = done

    def _page(self, stage: str, done: int, total: int) -> None:
        if not self._at[2]:
            self._pace.open(total, self._infos[0].bytes)
            self._kept = done
        self._at = (stage, done, total)
        self._report()

    def _file(self, number: int, pages: int) -> None:
        """Note that one of several texts was read; 0 pages where it was there already."""
        if pages:
            self._pace.open(pages, self._infos[number].bytes)
            self._pace.keep(pages)
        self._at, self._read = ("reading", 0, 1), max(self._read, number + 1)
        self._report()

    def _report(self) -> None:
        if self._tell:
            files_done, files_total = self._place
            self._tell(self.on(QueueProgress("reading", files_total, files_done), 0))

    def _check(self) -> None:
        if self.stop.is_set():
            raise CancelledError(_("Stopped."))
        now = time.monotonic()
        if now - self._asked_at >= _ASKING_S:
            self._asked_at = now
            if self._makes_way(self):
                raise CancelledError(_("Stopped."))


class _Pace:
    """The rate of pages, measured on stored pages, and an estimate of the pages in files not opened yet.

    Thread-safe.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: deque[tuple[float, int]] = deque([(time.monotonic(), 0)])
        self._kept = 0
        self._pages, self._bytes = 0, 0

    def open(self, pages: int, size: int) -> None:
        """Note that another file with so many pages and bytes is open."""
        with self._lock:
            if not self._bytes:  # exclude the time of starting the models
                self._seen[0] = (time.monotonic(), 0)
            self._pages, self._bytes = self._pages + pages, self._bytes + size

    def keep(self, pages: int) -> None:
        """Note that so many more pages are stored."""
        now = time.monotonic()
        with self._lock:
            self._kept += pages
            self._seen.append((now, self._kept))
            while len(self._seen) > 2 and now - self._seen[0][0] > _WINDOW_S:
                self._seen.popleft()

    def eta_ms(self, pages_left: int | None, bytes_behind: int) -> float | None:
        """Estimate the time for this file and those behind it, assuming constant pages per byte.

        Returns None until enough pages were measured.
        """
        with self._lock:
            (since, before), (_, kept) = self._seen[0], self._seen[-1]
        took, pages = time.monotonic() - since, kept - before
        is_sure = (took >= _SURE_S and pages >= _SURE_PAGES) or (took >= _SLOW_S and pages >= _SLOW_PAGES)
        if not is_sure or pages_left is None or not self._bytes:
            return None
        behind = bytes_behind * self._pages / self._bytes
        return (pages_left + behind) * took / pages * 1000
