"""Commands about documents and the vault: add, list, delete, reindex, accept, status, open.

`Adding` reads files from a disk, for `docmind queue` as well. `docmind open` prints a fresh link to the running app.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from stat import S_ISREG
from types import FrameType
from typing import TYPE_CHECKING

import click

from docmind.access import can_open_browser, find_running, is_alive, open_browser
from docmind.cli.context import confirm, is_asking, json_option, opened, plain, print_json
from docmind.cli.output import counted, inert, progress_bar, tell, tell_queue
from docmind.config import Settings
from docmind.errors import (
    AppNotOpenError,
    BehindError,
    CancelledError,
    ConfigError,
    DocMindError,
    NotFoundError,
    PasswordNeededError,
    TooLargeError,
)
from docmind.records.documents import AddResult, QueueProgress, Upload

if TYPE_CHECKING:
    from docmind.application import DocMind


@click.command("open")
@click.option("--print", "only_print", is_flag=True, help="Print the link and open no browser.")
@json_option
def open_(only_print: bool, as_json: bool) -> None:
    """Open the running app in the browser, and print a link that opens it once."""
    data_dir = Settings.load().data_dir
    running = find_running(data_dir)
    if running is None or not is_alive(running):
        raise AppNotOpenError(f"DocMind is not open over the vault in {data_dir}.")
    link = running.link()
    is_opened = not only_print and can_open_browser()
    if is_opened:
        try:
            open_browser(data_dir, running.link())  # another link: each works once
        except OSError as error:
            click.echo(f"The browser was not opened ({error.strerror}): open the link in it.", err=True)
            is_opened = False
    if as_json:
        print_json({"link": link, "opened": is_opened})
    else:
        click.echo(link)


AskPassword = Callable[[str], str]
Show = Callable[[QueueProgress], None]


class Adding:
    """Reads files one by one; locked ones are tried with each password, then the user is asked."""

    def __init__(self, desk: DocMind, passwords: Sequence[str], ask: AskPassword | None) -> None:
        self._desk, self._passwords, self._ask = desk, passwords, ask
        self.results: list[AddResult] = []
        """One result per file, in order, as they finish."""
        self.finished: list[AddResult] = []
        """The results of files that an earlier run had left in the queue."""
        self.unread = 0
        """How many of the submitted files are not read yet."""

    def add(self, paths: Sequence[Path], tags: tuple[str, ...], limit_mb: int, show: Show) -> None:
        """Queue all files, then read them.

        A file that cannot be opened is refused like one that cannot be read.

        Raises `DiskFullError` before any is read where there is no room for all of them.
        """
        files = list(_files(paths))
        refused: dict[int, AddResult] = {}

        def uploads() -> Iterator[Upload]:
            for number, file in enumerate(files):
                show(QueueProgress("reading", len(files), number, file=file.name, stage="handing in"))
                try:
                    yield Upload(file.name, _read(file, limit_mb), tags=tags)
                except (NotFoundError, TooLargeError) as error:
                    refused[number] = _refused(file.name, error)

        queue = self._desk.queue
        ids = list(queue.hold(uploads(), total_bytes=sum(_size(file, limit_mb) for file in files)))
        self.unread = len(ids)
        settled: list[int] = []
        try:
            self.finished = queue.finish(show)
            for number in range(len(files)):
                if number in refused:
                    self.results.append(refused[number])
                    continue
                self.results.append(self._add(ids[len(settled)], (number, len(files)), show))
                settled.append(ids[len(settled)])
                self.unread -= 1
        finally:
            queue.release(ids, settled)

    def read(self, ids: Sequence[int], show: Show) -> None:
        """Read these files of the queue. One that fails stays in it."""
        self.unread = len(ids)
        for number, upload_id in enumerate(ids):
            self.results.append(self._add(upload_id, (number, len(ids)), show))
            self.unread -= 1

    def _add(self, upload_id: int, place: tuple[int, int], show: Show) -> AddResult:
        def attempt(password: str | None = None) -> AddResult:
            return self._desk.queue.read(upload_id, password=password, progress=show, place=place)

        result = attempt()
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


@contextmanager
def pausing(desk: DocMind) -> Iterator[None]:
    """Pause the queue at the first Ctrl-C; raise `KeyboardInterrupt` at the second.

    Pausing keeps the page under way.
    """
    is_stopped = threading.Event()

    def stop(_number: int, _frame: FrameType | None) -> None:
        if is_stopped.is_set():
            raise KeyboardInterrupt
        is_stopped.set()
        # Not here: the interrupted code may hold the lock that this takes.
        threading.Thread(target=desk.queue.pause, name="pause", daemon=True).start()

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _read(file: Path, limit_mb: int) -> bytes:
    """Return the bytes of a file; one that is too large, or endless, is not read into memory."""
    try:
        stat = file.stat()
        if not S_ISREG(stat.st_mode):
            raise NotFoundError(f"{file} is not a file.", hint="Give the path of a file, or of a folder of files.")
        if stat.st_size > limit_mb << 20:
            raise TooLargeError(
                f"{file.name} has {stat.st_size / 2**20:,.0f} MB; the limit is {limit_mb:,} MB.",
                hint="Split the file, or raise DOCMIND_READING__MAX_FILE_MB.",
            )
        return file.read_bytes()
    except OSError as error:
        raise NotFoundError(
            f"{file} cannot be opened: {error.strerror}.", hint="Check the path and its permissions."
        ) from error


def _size(file: Path, limit_mb: int) -> int:
    """Return how many bytes of a file will be stored; 0 for one that `_read` refuses."""
    try:
        stat = file.stat()
    except OSError:
        return 0
    return stat.st_size if S_ISREG(stat.st_mode) and stat.st_size <= limit_mb << 20 else 0


def _files(paths: Sequence[Path]) -> Iterator[Path]:
    """Yield the paths, and the files inside folders; hidden files in folders are left out."""
    for path in paths:
        if path.is_dir():
            yield from sorted(
                file
                for file in path.rglob("*")
                if file.is_file() and not any(part.startswith(".") for part in file.relative_to(path).parts)
            )
        else:
            yield path


def read_passwords(file: Path) -> list[str]:
    """Return the lines of a password file. Raises `ConfigError`."""
    try:
        lines = file.read_text("utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{file} is not text in UTF-8.", hint="Save it as UTF-8, one password a line.") from error
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror}.", hint="Check its permissions.") from error
    return [password for line in lines if (password := line.removesuffix("\r"))]


def _refused(name: str, error: DocMindError) -> AddResult:
    return AddResult(
        name, "refused", error=type(error).__name__, message=str(error), hint=error.hint, exit_code=error.exit_code
    )


_REFUSED = 20


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--password-file",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="A file of passwords, one a line; each is tried on locked files.",
)
@click.option("--tag", "tags", multiple=True, help="A tag for these documents; may be repeated.")
@json_option
def add(paths: tuple[Path, ...], password_file: Path | None, tags: tuple[str, ...], as_json: bool) -> None:
    """Add files, and whole folders of files, to the vault."""

    passwords = read_passwords(password_file) if password_file else []
    with opened() as desk:
        limit_mb = desk.settings.now.reading.max_file_mb
        adding = Adding(desk, passwords, ask_password if is_asking() else None)
        with telling(adding, as_json=as_json), pausing(desk), progress_bar(quiet=as_json) as show:
            adding.add(paths, tags, limit_mb, show)
    if not adding.results and not as_json:
        click.echo("There is nothing to add: no files but hidden ones.", err=True)
    exit_with(adding.results)


@contextmanager
def telling(adding: Adding, *, as_json: bool) -> Iterator[None]:
    """Report the result of each file, even after a full disk or Ctrl-C.

    Then say how to continue with the others.
    """
    try:
        yield
    except CancelledError as error:
        left = counted(adding.unread, "file")
        raise CancelledError(
            f"Stopped: {left} {'is' if adding.unread == 1 else 'are'} not read yet.",
            hint="Go on with docmind queue resume, or drop them with docmind queue cancel.",
        ) from error
    finally:
        if as_json:
            print_json({"files": [plain(result) for result in adding.results]})
        else:
            if adding.finished:
                click.echo(f"An earlier run had left {counted(len(adding.finished), 'file')}:", err=True)
            for result in (*adding.finished, *adding.results):
                tell(result)


def exit_with(results: Sequence[AddResult]) -> None:
    """Exit with the code of the refused files, or 20 where their reasons differ."""
    codes = {result.exit_code for result in results if result.status == "refused"}
    if codes:
        sys.exit(codes.pop() if len(codes) == 1 else _REFUSED)


@click.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List the documents in the vault."""
    with opened() as desk:
        documents, counts = desk.documents(), desk.queue.counts()
    if as_json:
        print_json({"documents": [plain(info) for info in documents]})
        return
    if not documents:
        click.echo("There are no documents yet. Add some: docmind add FILE…")
    for info in documents:
        language = info.language or "–"
        click.echo(f"{info.doc_id[:12]}  {info.pages:>5} p.  {language:2}  {info.status:8}  {inert(info.document)}")
    tell_queue(counts)


@click.command()
@click.argument("docs", nargs=-1, required=True)
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@json_option
def delete(docs: tuple[str, ...], yes: bool, as_json: bool) -> None:
    """Delete documents (id, beginning of an id, or file name) for good."""
    with opened() as desk:
        found = {info.doc_id: info for info in map(desk.find_document, docs)}.values()  # without duplicates
        names = ", ".join(inert(info.document) for info in found)
        confirm(f"Delete {names} for good?", refusal="Nothing was deleted.", yes=yes)
        receipts = [desk.delete(info.doc_id) for info in found]
    if as_json:
        print_json({"deleted": [plain(receipt) for receipt in receipts]})
        return
    for receipt in receipts:
        click.echo(
            f"Deleted {inert(receipt.document)}: {counted(receipt.pages, 'page')}, {counted(receipt.nodes, 'passage')},"
            f" {counted(receipt.artifacts, 'sealed file')}."
        )


@click.command()
@json_option
def reindex(as_json: bool) -> None:
    """Compute missing vectors, and rebuild the index with the text model in use."""
    with opened() as desk:
        documents = desk.reindex()
    if as_json:
        print_json({"documents": documents})
    else:
        click.echo(f"The index holds {counted(documents, 'document')}.")


@click.command()
@json_option
def status(as_json: bool) -> None:
    """Show what is present, what is missing, and the command that adds it."""
    with opened() as desk:
        now = desk.status()
    if as_json:
        print_json(plain(now))
        return
    click.echo(
        f"DocMind {now.version}, vault {now.vault_id}, {counted(now.documents, 'document')}, "
        + counted(now.pages, "page")
    )
    click.echo(f"{now.vault_bytes / 1e6:,.0f} MB used, {now.free_bytes / 1e9:,.1f} GB free")
    for part in now.capabilities:
        click.echo(f"  {part.state:8} {part.name}: {part.detail}" + (f" ({part.hint})" if part.hint else ""))


@click.command()
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@json_option
def accept(yes: bool, as_json: bool) -> None:
    """Continue with a vault that lacks what was acknowledged; files it does not name are set aside for some days."""
    try:
        opened().close()
        lacking, aside = "", 0
    except BehindError as error:
        lacking, aside = str(error), 0
    if lacking:
        if not as_json:
            click.echo(inert(lacking), err=True)
        confirm("Go on with what is here? What is missing stays missing.", refusal="Nothing was changed.", yes=yes)
        with opened(accept=True) as desk:
            aside = desk.set_aside()
    if as_json:
        print_json({"accepted": bool(lacking), "set_aside": aside})
    elif lacking:
        click.echo(f"The vault is accepted as it is; set aside: {counted(aside, 'sealed file')}.")
    else:
        click.echo("Nothing is missing from this vault.")


def ask_password(name: str) -> str:
    asked = f"Password of {inert(name)} (empty: skip)"
    return str(click.prompt(asked, hide_input=True, default="", show_default=False, err=True))
