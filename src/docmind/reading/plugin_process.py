"""The process that runs readers of other packages: it reads this Python's files alone, changes none, has no network.

serve     in   as of `docmind.reading.process`, and readers: the kinds that are asked in turn
          out  {asks: kind} before each reader is imported, {trouble: sentence} where it fails, {reads: kind} where it
               knows the file, then what `docmind.reading.process` sends; or {none} where no reader knows the file
describe  in   {reader: kind}
          out  {title, suffixes} or {error, message, hint}
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields, replace
from typing import Any, BinaryIO, TypeVar, get_args

from docmind.blocks import MOST_COLUMNS, Block, BlockKind, Cell, CellType, Losses, Table
from docmind.errors import ReaderFailedError, ReadingError
from docmind.reading.formats import Rules, facts_of
from docmind.reading.formats.prose import clean
from docmind.reading.formats.typeset import LaidOut, printable
from docmind.reading.plugins import FileContents, entry_point
from docmind.reading.process import give, refused
from docmind.records.documents import Upload
from docmind.runtime import read_request, refusal, write_frame
from docmind.wording import _

_HEAD_BYTES = 64 * 1024
_BLOCKS, _CELLS = frozenset(get_args(BlockKind)), frozenset(get_args(CellType))
Given = TypeVar("Given", Block, Table, Cell)
_DEEPEST = 100  # of headings and items


def describe(incoming: BinaryIO, outgoing: BinaryIO) -> None:
    """Say what one reader reads."""
    frame = read_request(incoming)
    if frame is None:
        return
    kind = str(frame[0]["reader"])
    try:
        reader = _loaded(kind)
        write_frame(outgoing, {"title": str(reader.title)[:200], "suffixes": [kind, *_texts(reader, "suffixes", str)]})
    except ReadingError as error:
        write_frame(outgoing, *refusal(error))
    except (Exception, SystemExit) as error:  # noqa: BLE001 - code of others raises whatever it wants
        write_frame(outgoing, *refusal(_failure(kind, error)))


def serve(incoming: BinaryIO, outgoing: BinaryIO) -> None:
    """Read one document by the first reader that knows it, and end."""
    frame = read_request(incoming)
    if frame is None:
        return
    header, blobs = frame
    upload = Upload(header["name"], blobs[0], header["password"])
    for kind in header["readers"]:
        write_frame(outgoing, {"asks": kind})
        try:
            reader = _loaded(kind)
            is_its = _recognises(reader, upload)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - code of others raises whatever it wants
            told = error if isinstance(error, ReaderFailedError) else _failure(kind, error)
            write_frame(outgoing, {"trouble": str(told)})
            continue
        if is_its:
            write_frame(outgoing, {"reads": kind})
            refused(header["name"], outgoing, lambda: _read(reader, kind, upload, header, outgoing))  # noqa: B023 - called at once
            return
    write_frame(outgoing, {"none": True})


def _read(reader: Any, kind: str, upload: Upload, header: dict[str, Any], outgoing: BinaryIO) -> None:
    rules, losses = Rules(**header["rules"]), Losses()
    try:
        given = reader.read(upload.data, upload.name, losses)
        if not isinstance(given, FileContents):
            raise TypeError("it gave no FileContents")
        told = {str(name): str(value) for name, value in given.facts.items() if name in ("title", "author", "dated")}
        opened = LaidOut(
            _checked(given.blocks), facts_of(upload.name, **told), upload.name, rules, losses, is_paged=given.is_paged
        )
    except (ReadingError, MemoryError):
        raise
    except (Exception, SystemExit) as error:
        raise _failure(kind, error) from error
    give(opened, kind, "", header, outgoing, upload.name)


def _loaded(kind: str) -> Any:
    """Import a reader. Raises whatever its code raises, and `ReaderFailedError` where it is none."""
    found = entry_point(kind).load()
    reader = found() if isinstance(found, type) else found
    is_one = isinstance(getattr(reader, "title", None), str) and callable(getattr(reader, "read", None))
    if not is_one or not (_texts(reader, "magic", bytes) or callable(getattr(reader, "recognises", None))):
        raise ReaderFailedError(
            _("The reader {kind} lacks a title, a way to recognise files, or a way to read them.").format(kind=kind)
        )
    return reader


def _recognises(reader: Any, upload: Upload) -> bool:
    head = upload.data[:_HEAD_BYTES]
    if any(head.startswith(sign) for sign in _texts(reader, "magic", bytes)):
        return True
    return callable(getattr(reader, "recognises", None)) and reader.recognises(head, upload.name) is True


def _texts(reader: Any, name: str, kind: type) -> Sequence[Any]:
    return [each for each in getattr(reader, name, ()) if isinstance(each, kind) and each]


def _failure(kind: str, error: BaseException) -> ReaderFailedError:
    told = " ".join(printable(f"{type(error).__name__}: {error}").split())[:200].rstrip(": .")
    return ReaderFailedError(
        _("The reader {kind} failed: {error}.").format(kind=kind, error=told),
        hint=_("Turn it off in Settings, or ask who made it."),
    )


def _checked(blocks: Iterable[object]) -> Iterator[Block | Table]:
    """Yield blocks whose every field is what it must be, their texts without invisible characters.

    Raises `TypeError`.
    """
    for block in blocks:
        if isinstance(block, Block):
            block = replace(block, symbols=())
            yield _cleaned(block, is_known=block.kind in _BLOCKS, tidy=printable if _is_verbatim(block) else clean)
        elif isinstance(block, Table):
            table = replace(block, rows=())
            yield replace(_cleaned(table, is_known=True), rows=_rows(block))
        else:
            raise TypeError(f"it gave a {type(block).__name__} among the blocks")


def _is_verbatim(block: Block) -> bool:
    return block.kind == "code" or block.is_verbatim


def _rows(table: Table) -> Iterator[list[Cell | str]]:
    wide = -1
    for row in table.rows:
        cells = [clean(cell) if isinstance(cell, str) else _cell(cell) for cell in row]
        wide = len(cells) if wide < 0 else wide
        if len(cells) != wide or wide > MOST_COLUMNS:
            raise TypeError("it gave a table whose rows have different numbers of cells, or too many")
        yield cells


def _cell(cell: object) -> Cell:
    if not isinstance(cell, Cell):
        raise TypeError(f"it gave a {type(cell).__name__} in a table")
    return _cleaned(cell, is_known=cell.type in _CELLS)


def _cleaned(given: Given, *, is_known: bool, tidy: Callable[[str], str] = clean) -> Given:
    """Return a block, table or cell without invisible characters in its texts. Raises `TypeError`."""
    changed: dict[str, Any] = {}
    for one in fields(given):
        value = getattr(given, one.name)
        if one.type == "str":
            changed[one.name] = tidy(value) if one.name in ("text", "shown") else clean(value)
        elif one.type in ("int", "bool"):
            most = _DEEPEST if one.name == "level" else MOST_COLUMNS
            is_known = is_known and isinstance(value, int) and 0 <= value <= most
    if not is_known:
        raise TypeError(f"it gave a {type(given).__name__} of a kind that there is not")
    return replace(given, **changed)
