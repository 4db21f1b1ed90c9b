"""The reading process: one document in, its pages out, one frame each.

in   {name, password, rules, skip, broken, browser} + the file
out  {kind, facts, pages, told}, with engine where one of two ways reads the kind, then {page_no, ..., losses, figures}
     + text, words, image, thumbnail, marks, blocks and the images of its figures, one behind the other, for each page,
     then {enclosed, failed} + the file for each file inside it, then {end, losses}; losses are those that were seen, or
     counted again, since the page before
     or {error, message, hint} in place of any of them
     or {browser}: this kind is read in a process that may start a browser (`chromium.process`), if there is one
     or {unknown}: readers of other packages, if any are on, may know the file (`plugin_process`)
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

import numpy as np
from PIL import Image

from docmind.errors import CorruptFileError, ReadingError, TooLargeError, UnsupportedFileError
from docmind.picture_marks import look_hash
from docmind.reading import file_type
from docmind.reading.formats import READER_MODULES, Either, Enclosing, Opened, Rules, reader

# Loaded before the first document arrives, because most are PDFs: a spare process is then ready.
from docmind.reading.formats.pdf import unreadable_page
from docmind.records.documents import Loss, ParsedPage, Upload
from docmind.runtime import read_request, refusal, write_frame
from docmind.wording import _

PRELOAD = (*READER_MODULES, "charset_normalizer", "markdown_it", "tree_sitter")
"""What a file of another kind loads; a process that forks reading processes has it (`docmind.runtime.fork_server`)."""

Opening = Callable[[str, Upload, Rules], tuple[Opened, str]]
"""Opens a file of a kind; what comes with it is a sentence on what went differently, or ""."""


def serve(incoming: BinaryIO, outgoing: BinaryIO) -> None:
    """Read one document and end."""
    frame = read_request(incoming)
    if frame is not None:
        answer(*frame, outgoing, lambda kind, upload, rules: (reader(kind)(upload, kind, rules), ""))


def serve_plain(incoming: BinaryIO, outgoing: BinaryIO) -> None:
    """Read short plain texts, one after another, until the pipe is closed."""
    while (frame := read_request(incoming)) is not None:
        answer(*frame, outgoing, _open_plain)


def _open_plain(kind: str, upload: Upload, rules: Rules) -> tuple[Opened, str]:
    """Open a plain text. No parser of another format may run in a process that serves several files."""
    if kind not in file_type.PLAIN and not (kind == "mail" and file_type.is_text_mail(upload.data)):
        raise UnsupportedFileError(_("{name} is not plain text.").format(name=upload.name))
    return reader(kind)(upload, kind, rules), ""


def answer(header: dict[str, Any], blobs: list[bytes], outgoing: BinaryIO, opening: Opening) -> None:
    """Send the contents of a document, or why it cannot be read."""
    refused(header["name"], outgoing, lambda: _read(header, blobs[0], outgoing, opening))


def refused(name: str, outgoing: BinaryIO, read: Callable[[], None]) -> None:
    """Read a document, and send why where it cannot be read."""
    try:
        read()
    except ReadingError as error:
        write_frame(outgoing, *refusal(error))
    except MemoryError:
        write_frame(outgoing, *refusal(_too_much_memory(name)))
    except Exception as error:  # noqa: BLE001 - a parser that trips over a hostile file: the file is at fault until shown otherwise
        write_frame(
            outgoing,
            *refusal(
                CorruptFileError(_("{name} is broken inside ({kind}).").format(name=name, kind=type(error).__name__))
            ),
        )


def _read(header: dict[str, Any], data: bytes, outgoing: BinaryIO, opening: Opening) -> None:
    upload = Upload(header["name"], data, header["password"])
    rules = Rules(**header["rules"])
    try:
        kind, upload = file_type.identify(upload)
    except (UnsupportedFileError, CorruptFileError):
        if not header.get("others"):
            raise
        write_frame(outgoing, {"unknown": True})
        return
    if header.get("others") and file_type.is_general(kind, upload.name):
        write_frame(outgoing, {"unknown": True})
        return
    if kind == file_type.DRAWN and header["browser"]:
        write_frame(outgoing, {"browser": True})
        return
    opened, note = opening(kind, upload, rules)
    give(opened, kind, note, header, outgoing, upload.name)


def give(opened: Opened, kind: str, note: str, header: dict[str, Any], outgoing: BinaryIO, name: str) -> None:
    """Send what an open document is, its pages and the files inside it; `note` is a sentence on it, or ""."""
    opening: dict[str, Any] = {"kind": kind, "facts": dict(opened.facts), "pages": opened.pages, "told": note}
    if isinstance(opened, Either):
        opening |= {"told": opened.told, "engine": opened.engine}
    write_frame(outgoing, opening)
    skip, broken, rules = set(header["skip"]), set(header["broken"]), Rules(**header["rules"])
    told: set[Loss] = set()
    for page in _not_all_blank(opened, skip, broken, rules, name):
        lost = [["page", 1, f"page {page.page_no}"]] if page.page_no in broken else []
        _send(outgoing, page, _new_losses(opened, told) + lost)
    if isinstance(opened, Enclosing):
        for inside in opened.enclosed():
            write_frame(outgoing, {"enclosed": inside.name, "failed": inside.error}, [inside.data])
    write_frame(outgoing, {"end": True, "losses": _new_losses(opened, told)})


def _new_losses(opened: Opened, told: set[Loss]) -> list[list[Any]]:
    """Return the losses that were not told yet, or not with this count, and add them to those that were."""
    new = [loss for loss in opened.losses if loss not in told]
    told.update(new)
    return [[loss.kind, loss.count, loss.place] for loss in new]


def _not_all_blank(opened: Opened, skip: set[int], broken: set[int], rules: Rules, name: str) -> Iterator[ParsedPage]:
    """Yield all pages; blank ones at the start are held back until a page with contents follows."""
    waiting: list[ParsedPage] = []
    shown = bool(skip or broken) or opened.if_blank is None
    for page_no in range(1, opened.pages + 1):
        if page_no in skip:
            continue
        page = unreadable_page(page_no, rules) if page_no in broken else opened.page(page_no)
        if not shown and page.text_source == "none" and not page.needs_ocr:
            waiting.append(page)
            continue
        shown = True
        yield from waiting
        waiting.clear()
        yield page
    if not shown and opened.if_blank is not None:
        raise opened.if_blank(_("{name} has no text and no marks on any page.").format(name=name))


def _send(outgoing: BinaryIO, page: ParsedPage, losses: list[list[Any]]) -> None:
    head = {
        "losses": losses,
        "page_no": page.page_no,
        "width": page.width,
        "height": page.height,
        "text_source": page.text_source,
        "confidence": page.confidence,
        "needs_ocr": page.needs_ocr,
        "is_layer_suspect": page.is_layer_suspect,
        "figures": [
            [
                *(each.box, each.size, each.text, each.caption, each.start, each.end, _look(each.image)),
                *(len(each.image), each.kind),
            ]
            for each in page.figures
        ],
        "dpi": page.dpi,
    }
    text = page.text.encode("utf-8", "replace")
    images = b"".join([each.image for each in page.figures])
    write_frame(outgoing, head, [text, page.words, page.image, page.thumbnail, page.marks, page.blocks, images])


def _look(image: bytes) -> str:
    """Return the hash of how a figure looks, of the WebP that this process made."""
    with Image.open(io.BytesIO(image), formats=["WEBP"]) as picture:
        return look_hash(np.asarray(picture.convert("L")))


def _too_much_memory(name: str) -> TooLargeError:
    return TooLargeError(
        _("{name} needs more memory than a reading process may use.").format(name=name),
        hint=_("Split the file, or raise DOCMIND_READING__MEMORY_MB."),
    )
