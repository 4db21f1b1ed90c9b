"""Damaged documents through the reading process alone: of thousands of mutants none may bring the app down.

The app's side is the product's own `Reader`, with its checks, limits, second tries and deadlines. A reading ends well
with pages or with one of the `ReadingError` kinds; any other error, or no end at all, is a finding.
"""

from __future__ import annotations

import io
import random
import threading
import time
import zipfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from desks import text_pdf
from docmind.config import ReadingSettings
from docmind.errors import ReadingError
from docmind.reading import Reader
from docmind.records.documents import Upload
from faults.points import Tally
from papers import DEVSET, book, pdf, picture, word_file, workbook
from sheet_files import ods, ods_row, ods_table, xls

LONGEST_S = 60.0
_LARGEST = 120_000  # bytes of a seed from the measuring set: larger ones only take longer
_TOKENS = (
    b"0", b"-1", b"65536", b"4294967295", b"9999999999999999999", b"<<", b">>", b"[", b"]", b"obj", b"endstream",
    b"/Kids", b"/Length", b"\x00", b"\xff\xff\xff\xff", b"PK\x03\x04", b"%PDF-", b"<", b"&#x0;",
    b"\xef\xbb\xbf", b'"', b"../../",
)  # fmt: skip
SETTINGS = ReadingSettings(
    ocr="off", browser="off", image_side_px=400, max_pages=6, timeout_s=20, memory_mb=1024, max_unpacked_mb=20,
    max_text_mb=5, max_page_megapixels=8,
)  # fmt: skip


# --- seeds and mutations ----------------------------------------------------------------------------------------------


def seeds() -> list[Upload]:
    """Return small files of every kind, and the small damaged ones of the measuring set, where it is."""
    html = b"<!doctype html><html><body><h1>Herons</h1><p>They nest <b>here</b>.</p><table><tr><td>1</td></tr></table>"
    found = [
        Upload("text.pdf", text_pdf(["Herons nest beside the river.", "", "A third page."])),
        Upload("turned.pdf", pdf(["0 0 100 100 re f", "q 1 0 0 1 0 0 cm Q"], rotate=90, title="Turned")),
        Upload("word.docx", word_file()), Upload("sheet.xlsx", workbook([["kind", "grams"], ["russet", 140.5]])),
        Upload("sheet.xls", xls({"Potatoes": [["kind", "grams"], ["russet", 140.5]]})),
        Upload("sheet.ods", ods(ods_table("Potatoes", ods_row("kind", "grams"), ods_row("russet", "140.5")))),
        Upload("book.epub", book(["<h1>One</h1><p>Text.</p>", "<p>Two</p>"])), Upload("page.html", html),
        Upload("notes.md", "# Herões\n\n* one\n* two\n\n| a | b |\n|---|---|\n| 1 | 2 |\n".encode()),
        Upload("rows.csv", "name;grams\n\"russet; red\";140\nquince;90\n".encode("utf-16")),
        Upload("code.py", b"def nest(heron):\n    return heron * 2\n"),
        Upload("plain.txt", "Ninhos à beira-rio.\n".encode()),
    ]  # fmt: skip
    found += [
        Upload(f"picture.{kind.lower()}", picture(kind)) for kind in ("PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF")
    ]
    if DEVSET.is_dir():
        bad = sorted(path for path in (DEVSET / "bad").iterdir() if path.stat().st_size <= _LARGEST)
        found += [Upload(path.name, path.read_bytes()) for path in bad]
    return found


def mutated(upload: Upload, chance: random.Random, others: Sequence[Upload]) -> Upload:
    """Return a changed copy of a file; half of the time inside one part of an archive, which is packed again."""
    data = upload.data
    if data.startswith(b"PK") and chance.random() < 0.5:
        data = _inside(data, chance) or data
    if data == upload.data:
        for _ in range(chance.choice((1, 1, 2, 4, 16))):
            data = _changed(data, chance, others)
    return Upload(upload.name, data or b"\0")


def _changed(data: bytes, chance: random.Random, others: Sequence[Upload] = ()) -> bytes:
    if not data:
        return data
    at, size = chance.randrange(len(data)), min(len(data), 1 << chance.randrange(12))
    how = chance.randrange(8)
    if how == 0:  # one bit
        return data[:at] + bytes([data[at] ^ 1 << chance.randrange(8)]) + data[at + 1 :]
    if how == 1:
        return data[:at] + chance.randbytes(min(size, 64)) + data[at + min(size, 64) :]
    if how == 2:
        return data[:at] + data[at + size :]
    if how == 3:
        return data[:at] + data[at : at + size] * chance.choice((2, 3, 40)) + data[at + size :]
    if how == 4:
        return data[:at]
    if how == 5:
        token = chance.choice(_TOKENS)
        return data[:at] + token + data[at + chance.choice((0, len(token))) :]
    if how == 6:
        digits = [place for place in range(at, min(len(data), at + 400)) if 48 <= data[place] <= 57]
        if digits:
            return data[: digits[0]] + chance.choice(_TOKENS[:5]) + data[digits[0] + 1 :]
        return data[:at] + bytes(min(size, 64)) + data[at + min(size, 64) :]
    other = chance.choice(others).data if others else data
    start = chance.randrange(len(other) + 1)
    return data[:at] + other[start : start + size] + data[at:]


def _inside(data: bytes, chance: random.Random) -> bytes | None:
    out = io.BytesIO()
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
            names = old.namelist()
            chosen = chance.choice(names)
            for name in names:
                part = old.read(name)
                new.writestr(name, _changed(part, chance) if name == chosen else part)
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError, RuntimeError, IndexError):
        return None
    return out.getvalue()


# --- the suite --------------------------------------------------------------------------------------------------------


def read(reader: Reader, upload: Upload) -> tuple[str, list[str]]:
    """Read a file; return how it ended, and what is wrong with that."""
    began = time.monotonic()
    try:
        with reader.read(upload) as reading:
            pages = sum(1 for _ in reading)
        told, wrong = "read" if pages else "read, without pages", [] if pages else ["it has no page and no error"]
    except ReadingError as error:
        told = type(error).__name__
        wrong = [] if str(error) and error.hint else [f"no sentence or no hint: {error!r}"]
    except Exception as error:  # noqa: BLE001 - this is what the suite looks for
        told, wrong = "crash", [f"{type(error).__name__}: {error}"]
    if time.monotonic() - began > LONGEST_S:
        wrong.append(f"it took {time.monotonic() - began:.0f} s")
    return told, wrong


def run(
    *, wanted: int, seed: int, jobs: int = 2, until: float = float("inf"),
    say: Callable[[str], None] = lambda text: None,
    keep: Path | None = None,
) -> Tally:  # fmt: skip
    """Read so many mutants; those that are findings are written to the folder `keep`."""
    began, total, lock, originals = time.monotonic(), Tally(), threading.Lock(), seeds()

    def work(job: int) -> None:
        with Reader(SETTINGS) as reader:
            for number in range(job, wanted, jobs):
                if time.monotonic() > until:
                    return
                chance = random.Random(seed * 1_000_003 + number)  # each mutant can be made again alone
                upload = mutated(originals[number % len(originals)], chance, originals)
                told, wrong = read(reader, upload)
                with lock:
                    total.add(f"mutant {number} of {upload.name}", wrong)
                    total.counts[told] += 1
                    if wrong and keep is not None:
                        (keep / f"{number}-{upload.name}").write_bytes(upload.data)
                    for one in wrong:
                        say(f"FOUND mutant {number} of {upload.name}: {one}")
                    if total.tried % 1_000 == 0:
                        say(f"{total.tried} read")

    with ThreadPoolExecutor(jobs) as pool:
        for done in [pool.submit(work, job) for job in range(jobs)]:
            done.result()
    total.wall_s = time.monotonic() - began
    return total
