"""Commands about documents and the vault: add, list, delete, reindex, accept, status, open.

`Adding` reads files from a disk, for `docmind queue` as well. `docmind open` prints a fresh link to the running app.
"""

from __future__ import annotations

import re
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import click

from docmind.access import can_open_browser, find_running, is_alive, open_browser
from docmind.cli.context import confirm, is_asking, json_option, opened, plain, print_json, reached
from docmind.cli.help import command
from docmind.cli.network import print_network
from docmind.cli.options import with_filters
from docmind.cli.output import counted_documents, counted_pages, inert, print_queue, print_result, progress_bar
from docmind.cli.purge import plain_receipt, print_receipts
from docmind.client import filters_of
from docmind.config import Settings
from docmind.documents import refused
from docmind.errors import (
    AppNotOpenError,
    BehindError,
    CancelledError,
    ConfigError,
    FolderError,
    NotFoundError,
    PasswordNeededError,
    TooLargeError,
    WebPageError,
)
from docmind.ingest import Named, named_files, read_named, size_of_named
from docmind.records.documents import AddResult, HandedIn, QueueProgress, Upload, beneath_parents, with_inside
from docmind.records.search import OF_LISTS
from docmind.wording import _, ngettext

if TYPE_CHECKING:
    from docmind.application import DocMind
    from docmind.client import Client


@command("open")
@click.option("--print", "only_print", is_flag=True, help="Print the link and don't open a browser.")
@json_option
def open_(only_print: bool, as_json: bool) -> None:
    """Open the running app in the browser, and print a link that works once."""
    data_dir = Settings.load().data_dir
    running = find_running(data_dir)
    if running is None or not is_alive(running):
        raise AppNotOpenError(_("DocMind isn't running for the library in {folder}.").format(folder=data_dir))
    link = running.link()
    is_opened = not only_print and can_open_browser()
    if is_opened:
        try:
            open_browser(data_dir, running.link())  # another link: each works once
        except OSError as error:
            told = _("The browser could not be opened ({reason}). Open the link yourself.")
            click.echo(told.format(reason=error.strerror), err=True)
            is_opened = False
    if as_json:
        print_json({"link": link, "opened": is_opened})
    else:
        click.echo(link)


_OWNERS = 10  # processes that have the library open, one after another, while a command waits for its files
_TAKES_OVER_S = 60.0  # the wait for one that is ending: it stores the page that it reads
_LOOK_S = 0.2
AskPassword = Callable[[str], str]
Show = Callable[[QueueProgress], None]


class Adding:
    """Reads files one by one; locked ones are tried with each password, then the user is asked."""

    def __init__(
        self, desk: DocMind, passwords: Sequence[str], ask: AskPassword | None, *, replaces: bool = False
    ) -> None:
        """Set up; with `replaces`, earlier versions of the files go to the bin."""
        self._desk, self._passwords, self._ask, self._replaces = desk, passwords, ask, replaces
        self.results: list[AddResult] = []
        """One result per file, in order, as they finish."""
        self.finished: list[AddResult] = []
        """The results of files that an earlier run had left in the queue."""
        self.unread = 0
        """How many of the submitted files are not read yet."""
        self._ids: list[int] = []  # what is to be read, with what an earlier run had left
        self._is_paused = False

    def add(self, paths: Sequence[Path | str], tags: tuple[str, ...], limit_mb: int, show: Show) -> None:
        """Queue all files, then read them. A text is the address of a web page, which is fetched.

        A file that cannot be opened, and a page that cannot be fetched, is refused like one that cannot be read.

        Raises `DiskFullError` before any is read where there is no room for all of them.
        """
        files = list(named_files(paths, self._desk.settings.now))
        failed: dict[int, AddResult] = {}

        def uploads() -> Iterator[Upload]:
            for number, file in enumerate(files):
                name = file if isinstance(file, str) else file.name
                show(QueueProgress("reading", len(files), number, file=name, stage="handing in"))
                try:
                    if isinstance(file, str):
                        yield self._desk.web_pages.fetch(file, tags=tags, replaces=self._replaces)
                    else:
                        yield Upload(name, read_named(file, limit_mb), tags=tags, replaces=self._replaces)
                except (NotFoundError, TooLargeError, ConfigError, WebPageError, FolderError) as error:
                    failed[number] = refused(name, error)

        queue = self._desk.queue
        self._ids = [info.upload_id for info in queue.uploads("waiting", "reading")]
        ids = list(queue.hold(uploads(), total_bytes=sum(size_of_named(file, limit_mb) for file in files)))
        self._pausable(self._ids + ids)
        settled: dict[int, AddResult] = {}
        try:
            self.unread = len(ids)
            self.finished = queue.finish(show)
            self._read_in_order(ids, settled, show, len(failed))
        finally:
            queue.release(ids, list(settled))
            read = iter(ids)
            told = [failed.get(number) or settled.get(next(read)) for number in range(len(files))]
            self.results += [result for result in told if result is not None]

    def read(self, ids: Sequence[int], show: Show) -> None:
        """Read these files of the queue. One that fails stays in it."""
        self._pausable(list(ids))
        settled: dict[int, AddResult] = {}
        try:
            self._read_in_order(ids, settled, show)
        finally:
            self.results += [settled[upload_id] for upload_id in ids if upload_id in settled]

    def _read_in_order(
        self, ids: Sequence[int], settled: dict[int, AddResult], show: Show, done_before: int = 0
    ) -> None:
        """Read files, short ones first, and put the result of each into `settled` as soon as it is there."""
        order = self._desk.queue.in_order(ids)
        together: dict[int, AddResult] = {}
        for number, upload_id in enumerate(order):
            self.unread = len(ids) - number
            place = done_before + number, done_before + len(ids)
            if upload_id not in together:
                together |= self._desk.queue.read_together(order[number:], progress=show, place=place)
            settled[upload_id] = together.get(upload_id) or self._add(upload_id, place, show)
        self.unread = 0

    def pause(self) -> None:
        """Pause these files, and no others: another command may have handed in some."""
        self._is_paused = True
        self._desk.queue.pause(self._ids)

    def _pausable(self, ids: list[int]) -> None:
        self._ids = ids
        if self._is_paused:  # while they were handed in
            self._desk.queue.pause(ids)

    def _add(self, upload_id: int, place: tuple[int, int], show: Show) -> AddResult:
        def attempt(password: str | None) -> AddResult:
            return self._desk.queue.read(upload_id, password=password, progress=show, place=place)

        return self._unlocked(attempt)

    def _unlocked(self, attempt: Callable[[str | None], AddResult]) -> AddResult:
        """Read a file without a password, then with each that is known, then with those that the user gives."""
        result = attempt(None)
        for password in self._passwords:
            if result.error != PasswordNeededError.__name__:
                return result
            result = attempt(password)
        while result.error == PasswordNeededError.__name__ and self._ask is not None:
            password = self._ask(result.document)
            if not password:
                break
            result = attempt(password)
        return result


class HandingIn(Adding):
    """Hands files to the process that has the library open, which reads them; locked ones are tried as `Adding` does.

    Where that process ends meanwhile, what it has not read waits in the queue, and whoever has the library then reads
    on: this command, where nobody else has it.
    """

    def __init__(
        self, client: Client, passwords: Sequence[str], ask: AskPassword | None, *, replaces: bool = False
    ) -> None:
        self._beside: DocMind | Client = client
        self._passwords, self._ask, self._replaces = passwords, ask, replaces
        self.results, self.finished, self.unread = [], [], 0
        self._left = deque[Named]()  # not handed in yet
        self._handed: list[AddResult | tuple[str, HandedIn]] = []

    def add(self, paths: Sequence[Path | str], tags: tuple[str, ...], limit_mb: int, show: Show) -> None:
        """Hand in all files, then wait for each; a file that cannot be opened or fetched is refused.

        After a Ctrl-C what was handed in is still read. Raises `DiskFullError`, `CancelledError` where another process
        has paused a file, `AppNotOpenError` where one process after another ends.
        """
        self._left.extend(named_files(paths, Settings.load()))
        total = len(self._left)
        for last in range(_OWNERS):
            try:
                with nullcontext(self._beside) if last == 0 else reached(wait_s=_TAKES_OVER_S) as self._beside:
                    self._go_on(tags, limit_mb, total, show)
                return
            except AppNotOpenError:
                if last == _OWNERS - 1:
                    raise

    def _go_on(self, tags: tuple[str, ...], limit_mb: int, total: int, show: Show) -> None:
        from docmind.client import Client

        if not isinstance(self._beside, Client):
            self._beside.queue.start()  # reads what was handed in to the process before
        while self._left:
            name = file if isinstance(file := self._left[0], str) else file.name
            show(QueueProgress("reading", total, len(self._handed), file=name, stage="handing in"))
            try:
                self._handed.append((name, self._hand_in(file, name, tags, limit_mb)))
            except (NotFoundError, TooLargeError, ConfigError, WebPageError, FolderError) as error:
                self._handed.append(refused(name, error))
            self._left.popleft()
        waits = [isinstance(one, tuple) for one in self._handed]
        while len(self.results) < len(self._handed):
            self.unread = sum(waits[len(self.results) :])
            one = self._handed[len(self.results)]
            self.results.append(self._result(*one, show) if isinstance(one, tuple) else one)
        self.unread = 0

    def _hand_in(self, file: Named, name: str, tags: tuple[str, ...], limit_mb: int) -> HandedIn:
        if isinstance(file, str):
            return self._beside.web_pages.hand_in(file, tags=tags, replaces=self._replaces)
        upload = Upload(name, read_named(file, limit_mb), tags=tags, replaces=self._replaces)
        return self._beside.queue.hand_in(upload)

    def _result(self, name: str, handed: HandedIn, show: Show) -> AddResult:
        from docmind.client import result_of

        queue = self._beside.queue

        def attempt(password: str | None) -> AddResult:
            if password is not None:
                queue.unlock(handed.upload_id, password)
            while True:
                info = next((one for one in queue.uploads() if one.upload_id == handed.upload_id), None)
                if info is not None and info.state == "paused":
                    raise CancelledError(_("{document} is {state}.").format(document=name, state=_("paused")))
                if (result := result_of(self._beside, name, handed, info)) is not None:
                    return result
                show(queue.progress())
                time.sleep(_LOOK_S)

        return self._unlocked(attempt)


@contextmanager
def pausing(pause: Callable[[], object]) -> Iterator[None]:
    """Call `pause` at the first Ctrl-C; raise `KeyboardInterrupt` at the second.

    Pausing keeps the page under way.
    """
    is_stopped = threading.Event()

    def stop(_number: int, _frame: FrameType | None) -> None:
        if is_stopped.is_set():
            raise KeyboardInterrupt
        is_stopped.set()
        # Not here: the interrupted code may hold the lock that this takes.
        threading.Thread(target=pause, name="pause", daemon=True).start()

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def read_passwords(file: Path) -> list[str]:
    """Return the lines of a password file. Raises `ConfigError`."""
    try:
        lines = file.read_text("utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise ConfigError(
            _("{file} isn't UTF-8 text.").format(file=file), hint=_("Save it as UTF-8, one password per line.")
        ) from error
    except OSError as error:
        raise ConfigError(
            _("{file} can't be read: {reason}.").format(file=file, reason=error.strerror),
            hint=_("Check its permissions."),
        ) from error
    return [password for line in lines if (password := line.removesuffix("\r"))]


_REFUSED = 20
_WEB_ADDRESS = re.compile(r"https?://", re.IGNORECASE)  # no path begins so


@command()
@click.argument("paths", nargs=-1, required=True, type=click.Path())
@click.option(
    "--password-file",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="A file of passwords, one per line. Each is tried on locked files.",
)
@click.option("--tag", "tags", multiple=True, help="A tag for these documents. May be repeated.")
@click.option(
    "--replace", "replaces", is_flag=True, help="Move earlier versions of these files to the bin. Without it both stay."
)
@json_option
def add(
    paths: tuple[str, ...], password_file: Path | None, tags: tuple[str, ...], replaces: bool, as_json: bool
) -> None:
    """Add files, folders and web pages to the library."""

    from docmind.client import Client

    passwords = read_passwords(password_file) if password_file else []
    with reached(creates=True) as desk:
        limit_mb, since_ms = int(desk.settings.info("reading.max_file_mb").value or 0), time.time() * 1000
        ask = ask_password if is_asking() else None
        chosen = [path if _WEB_ADDRESS.match(path) else Path(path) for path in paths]
        if isinstance(desk, Client):
            adding = HandingIn(desk, passwords, ask, replaces=replaces)
            with telling(adding, as_json=as_json), progress_bar(quiet=as_json) as show:
                adding.add(chosen, tags, limit_mb, show)
        else:
            adding = Adding(desk, passwords, ask, replaces=replaces)
            with telling(adding, as_json=as_json), pausing(adding.pause), progress_bar(quiet=as_json) as show:
                adding.add(chosen, tags, limit_mb, show)
        if replaces and not as_json:
            _tell_replaced(desk, adding.results, since_ms)
        elif not as_json:
            _offer_replacing(desk, adding.results)
    if not adding.results and not as_json:
        click.echo(_("Nothing to add: hidden files and links are left out."), err=True)
    exit_with(adding.results)


def _tell_replaced(desk: DocMind | Client, results: Sequence[AddResult], since_ms: float) -> None:
    """Name the earlier versions of these files that went to the bin since, and how each comes back."""
    added = {one.doc_id for one in results if one.doc_id}
    series = {info.series for info in desk.documents.all() if info.doc_id in added and info.series}
    for info in desk.documents.binned():
        if info.series in series and (info.deleted_at_ms or 0) >= since_ms:
            told = _("{name} is in the bin. Undo: docmind bin restore {id}")
            click.echo(told.format(name=inert(info.document), id=info.doc_id[:12]))


def _offer_replacing(desk: DocMind | Client, results: Sequence[AddResult]) -> None:
    """Name the option that replaces, where a file is a new version."""
    told = [one.doc_id for one in results if one.doc_id and one.status == "added" and one.message]
    if any(desk.documents.earlier_versions(doc_id) for doc_id in told):
        click.echo(_("To keep only the new version: docmind add --replace with the same file."), err=True)


@contextmanager
def telling(adding: Adding, *, as_json: bool) -> Iterator[None]:
    """Report the result of each file, even after a full disk or Ctrl-C.

    Then say how to continue with the others.
    """
    try:
        yield
    except CancelledError as error:
        told = ngettext("Paused: {n} file is left to read.", "Paused: {n} files are left to read.", adding.unread)
        raise CancelledError(
            told.format(n=f"{adding.unread:,}"),
            hint=_("Continue with docmind queue resume, or drop them with docmind queue cancel."),
        ) from error
    finally:
        if as_json:
            print_json({"files": [plain(result) for result in adding.results]})
        else:
            if adding.finished:
                click.echo(_("Files left from an earlier run: {n}").format(n=len(adding.finished)), err=True)
            for result in (*adding.finished, *adding.results):
                print_result(result)


def exit_with(results: Sequence[AddResult]) -> None:
    """Exit with the code of the refused files, or 20 where their reasons differ."""
    codes = {result.exit_code for result in results if result.status == "refused"}
    if codes:
        sys.exit(codes.pop() if len(codes) == 1 else _REFUSED)


@command("list")
@with_filters(*OF_LISTS)
@json_option
def list_(given: dict[str, Any], as_json: bool) -> None:
    """List the documents in the library, all or those that the options select."""
    with reached() as desk:
        every, counts = desk.documents.all(), desk.queue.counts()
        documents = desk.documents.matching(filters_of(desk, given)) if given else every
    if as_json:
        print_json({"documents": [plain(info) for info in documents]})
        return
    if not every:
        click.echo(_("Your library is empty. Add documents: docmind add FILE…"))
    elif not documents:
        click.echo(_("No documents match."))
    for info, depth in beneath_parents(documents):
        language = info.language or "–"
        state = f"{_(info.status):8}"
        place = f"  ({inert(info.parent.place)})" if info.parent is not None and not depth else ""
        name = f"{'  ' * depth}{inert(info.document)}  {inert(info.address)}".rstrip() + place
        click.echo(f"{info.doc_id[:12]}  {info.pages:>5} {_('p.')}  {language:2}  {state}  {name}")
    print_queue(counts)


@command()
@click.argument("docs", nargs=-1, required=True)
@click.option("--permanently", is_flag=True, help="Delete them permanently, not to the bin.")
@click.option("-y", "--yes", is_flag=True, help="Don't ask for confirmation.")
@json_option
def delete(docs: tuple[str, ...], permanently: bool, yes: bool, as_json: bool) -> None:
    """Move documents (id, beginning of an id, or name) to the bin."""
    with reached() as desk:
        found = {info.doc_id: info for info in map(desk.documents.find, docs)}  # without duplicates
        is_bin = desk.documents.bin_days > 0 and not permanently
        lost = [info for info in found.values() if not is_bin or info.status != "ready"]
        if lost:
            inside = desk.documents.inside([info.doc_id for info in lost])
            names = with_inside(", ".join(inert(info.document) for info in lost), inside)
            confirm(_("Delete {names} permanently?").format(names=names), refusal=_("Nothing was deleted."), yes=yes)
        receipts = desk.erasures.erase([info.doc_id for info in lost])
        binned = desk.documents.bin([doc_id for doc_id in found if doc_id not in {info.doc_id for info in lost}])
    if as_json:
        print_json(
            {"binned": [plain(info) for info in binned], "deleted": [plain_receipt(receipt) for receipt in receipts]}
        )
        return
    for info in binned:
        told = _("{name} is in the bin. Undo: docmind bin restore {id}")
        click.echo(told.format(name=inert(info.document), id=info.doc_id[:12]))
    print_receipts(receipts)


@command()
@json_option
def reindex(as_json: bool) -> None:
    """Rebuild the search index with the text model in use."""
    with opened() as desk:
        documents = desk.reindex()
    if as_json:
        print_json({"documents": documents})
    else:
        click.echo(_("The index is ready: {documents}.").format(documents=counted_documents(documents)))


@command()
@json_option
def status(as_json: bool) -> None:
    """Show what is installed, what is missing, and how to add it."""
    folder = Settings.load().data_dir.resolve()
    with reached() as desk:
        now, ledger = desk.status(), desk.network.report()
    if as_json:
        network = {**plain(ledger), "attempts": ledger.attempts}
        print_json({**plain(now), "data_dir": str(folder), "network": network})
        return
    told = _("DocMind {version}, library {library}: {documents}, {pages}")
    counts = {"documents": counted_documents(now.documents), "pages": counted_pages(now.pages)}
    click.echo(told.format(version=now.version, library=now.vault_id, **counts))
    click.echo(_("Folder of the library: {folder}").format(folder=inert(str(folder))))
    used, free = f"{now.vault_bytes / 1e6:,.0f} MB", f"{now.free_bytes / 1e9:,.1f} GB"
    click.echo(_("Storage used: {used}; free: {free}").format(used=used, free=free))
    for part in now.storage:
        click.echo(f"  {part.bytes / 1e6:8,.1f} MB {_(part.use)}")
    if now.pages_to_prepare:
        told = _("{pages} still being prepared for picture search")
        click.echo(told.format(pages=counted_pages(now.pages_to_prepare)))
    if now.documents_to_prepare:
        told = _("{documents} still found mostly by words only")
        click.echo(told.format(documents=counted_documents(now.documents_to_prepare)))
    for part in now.capabilities:
        what = f"{_(part.state):8} {_(part.name)}: {_(part.detail)}"
        click.echo(f"  {what}" + (f" ({_(part.hint)})" if part.hint else ""))
    print_network(ledger)


@command()
@click.option("-y", "--yes", is_flag=True, help="Don't ask for confirmation.")
@json_option
def accept(yes: bool, as_json: bool) -> None:
    """Continue with an older copy of the library. Files it doesn't know are set aside for some days."""
    try:
        with opened():
            pass
        lacking, aside = "", 0
    except BehindError as error:
        lacking, aside = str(error), 0
    if lacking:
        if not as_json:
            click.echo(inert(lacking), err=True)
        confirm(
            _("Continue with what is here? What is missing stays missing."), refusal=_("Nothing was changed."), yes=yes
        )
        with opened(accept=True) as desk:
            aside = desk.ingest.set_aside()
    if as_json:
        print_json({"accepted": bool(lacking), "set_aside": aside})
    elif lacking:
        click.echo(_("Continuing with the library as it is. Files set aside: {n}.").format(n=aside))
    else:
        click.echo(_("Nothing is missing from this library."))


def ask_password(name: str) -> str:
    asked = _("Password of {name} (leave empty to skip)").format(name=inert(name))
    return str(click.prompt(asked, hide_input=True, default="", show_default=False, err=True))
