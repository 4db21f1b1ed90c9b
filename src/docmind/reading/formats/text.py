"""Plain text, and the decoding of all files of text.

A file is decoded by its byte order mark, then as UTF-8, then by a guess; text that was garbled before is mended.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Iterator
from itertools import pairwise

from docmind.blocks import Block, Table
from docmind.errors import TooLargeError
from docmind.reading.formats import Rules, facts_of
from docmind.reading.formats.characters import mended
from docmind.reading.formats.light_markup import Part, parts_of
from docmind.reading.formats.typeset import LaidOut, printable
from docmind.records.documents import Upload
from docmind.wording import _, number_text

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_SAMPLE = 256 * 1024
_SHORT = 1_000  # bytes; a guess on less is worse than the most common encoding of western Europe
_WESTERN = "cp1252"


def decode(upload: Upload, rules: Rules, *, is_code: bool = False) -> str:
    """Return the text of a plain text file. Raises `TooLargeError` above `max_text_mb`.

    Text is mended where it was garbled, and its accents are composed; source code has the characters of its file.
    """
    if not is_code:
        return printable(decoded(upload, rules))
    check_size(upload, rules)
    return printable(upload.data.decode(encoding_of(upload.data), "replace"))


def decoded(upload: Upload, rules: Rules) -> str:
    """Return a text as it was meant, with the marks between its pages."""
    check_size(upload, rules)
    return unicodedata.normalize("NFC", mended(upload.data.decode(encoding_of(upload.data), "replace")))


def check_size(upload: Upload, rules: Rules) -> None:
    """Raise `TooLargeError` for a text above `max_text_mb`."""
    if len(upload.data) > rules.max_text_mb * 1024 * 1024:
        size = len(upload.data) / 1024 / 1024
        raise TooLargeError(
            _("{name} holds {size} MB of text; the limit is {max_text_mb} MB.").format(
                name=upload.name, size=number_text(size, 0), max_text_mb=rules.max_text_mb
            ),
            hint=_("Split the file, or raise DOCMIND_READING__MAX_TEXT_MB."),
        )


def encoding_of(data: bytes) -> str:
    """Return the name of the encoding of a text."""
    for mark, name in _BOMS:
        if data.startswith(mark):
            return name
    sample = data[:_SAMPLE]
    if sample.count(0) > 0.2 * len(sample):
        return "utf-16-le" if sample[1::2].count(0) > sample[::2].count(0) else "utf-16-be"
    try:
        data.decode("utf-8")
        return "utf-8"
    except UnicodeDecodeError as error:
        # One torn character at the very end of a file that is UTF-8 otherwise was cut off, not encoded differently.
        if error.start >= len(data) - 3 and error.start > 0:
            return "utf-8"
    if found := _old_encoding(sample):
        return found
    high = sum(byte > 0x7F for byte in sample) / len(sample)
    if len(data) < _SHORT and high < 0.2:
        return _WESTERN
    return _guess(sample)


# What browsers take a declared encoding for, by the WHATWG's standard of encodings.
_MEANT = {
    **dict.fromkeys(("iso8859-1", "ascii", "latin_1", "latin-1"), "cp1252"),
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "utf-16": "utf-8",  # what can be read as ASCII up to here is not UTF-16
    "utf-16-le": "utf-8",
    "utf-16-be": "utf-8",
}
_WIDE_BOMS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_NO_CHARSET = ("utf-7", "idna", "punycode", "unicode_escape", "raw_unicode_escape", "undefined")


def declared_text(data: bytes, declared: str) -> str:
    """Decode text by the name of an encoding that it declares, which may be wrong or empty.

    UTF-8 is recognised whatever is declared; then the declared encoding counts, if it works; else the letters do.
    """
    try:
        name = codecs.lookup(declared).name if declared.strip() else ""
    except (LookupError, UnicodeError, ValueError):
        name = ""
    if name.startswith("iso2022") and b"\x1b" in data:  # its letters are bytes of ASCII
        return data.decode(name, "replace")
    try:
        if data[:_SAMPLE].count(0) <= 0.2 * len(data[:_SAMPLE]):
            return data.decode("utf-8-sig")
        begins_ascii = False
    except UnicodeDecodeError as error:
        begins_ascii = data[: error.start].isascii()
    name, found = _MEANT.get(name, name), encoding_of(data)
    if found == "utf-8" and begins_ascii:  # cut off within its only letter beyond ASCII, or in another encoding
        found = _WESTERN
    if not name or name in _NO_CHARSET or name == "utf-8" or data.startswith(_WIDE_BOMS):
        return data.decode(found, "replace")
    try:
        return data.decode(name)
    except (LookupError, UnicodeError):  # some name codecs that give no text
        return data.decode(found, "replace")


# Bytes behind a letter that are letters in DOS; in the encodings of Windows they are signs that stand there never.
_DOS = re.compile(rb"(?<=[A-Za-z])(?:[\x81\x82\x84\x88]|[\x83\x87\x89\x93\x94](?=[a-z]))")
_DOS_LETTERS = "àâäáçèéêëíïîñóôöúùûüßœÄÉÖÜ"
_TURKISH, _TURKISH_LETTERS = re.compile(rb"[\xf0\xfd\xfe\xd0\xdd\xde]"), "çğıöşüâîûÇĞİÖŞÜ’‘“”–—…"
# Portuguese (ão, ãe, õe) and French (à), which are no words in the encoding of central Europe: ăo, ăe, őe, ŕ.
_LATIN = re.compile(rb"\xe3[oe]|\xf5e|(?<![\w\x80-\xff])\xe0(?![\w\x80-\xff])")
_HEBREW = re.compile(rb"[\xe0-\xfa]+")
_FINALS = b"\xea\xed\xef\xf3\xf5"  # the letters of Hebrew that only end a word


def _old_encoding(sample: bytes) -> str:
    """Return the encoding of a text of DOS, or in Turkish or Hebrew, where its letters make it certain; else ""."""
    if _DOS.search(sample) and _spells(sample, "cp850", _DOS_LETTERS):
        return "cp850"
    if len(_TURKISH.findall(sample)) >= 3 and _spells(sample, "cp1254", _TURKISH_LETTERS):
        return "cp1254"
    words = [word for word in _HEBREW.findall(sample) if len(word) > 1]
    letters = sum(map(len, words))
    others = sum(byte >= 0x80 for byte in sample) - letters
    inside = sum(word[:-1].count(byte) for word in words for byte in _FINALS)
    # Of the letters of Russian that have these bytes most stand within words.
    return "cp1255" if letters >= 10 and others <= 0.1 * letters and inside <= 0.01 * letters else ""


def _spells(sample: bytes, encoding: str, letters: str) -> bool:
    """Return whether nearly all bytes beyond ASCII are letters of a language in an encoding."""
    high = bytes(byte for byte in sample if byte >= 0x80)
    return sum(char in letters for char in high.decode(encoding, "replace")) >= 0.95 * len(high)


def _guess(sample: bytes) -> str:
    from charset_normalizer import from_bytes

    best = from_bytes(sample).best()
    if best is None or (best.encoding in ("cp1250", "iso8859_2") and _LATIN.search(sample)):
        return _WESTERN
    return best.encoding


_ALIGNED = re.compile(r"\S(?: {3,}|\t+)\S")
_PAGE = "\f"
LINE_ENDS = re.compile("\r\n|[\n\r\x0b\x85\u2028\u2029]")
"""The ends of lines of all systems."""

# Text that is broken into lines by hand or by a program, as in mails and old books.
_NARROWEST, _WIDEST, _EVIDENCE = 45, 120, 4
_OWN_LINE = re.compile(r"\s|[-*•·–—+>#|]|\(?(?:\d+(?:\.\d+)*|[A-Za-z]|[ivxIVX]+)[.)]\s|\d+(?:\.\d+)+\s")


def open_text(upload: Upload, kind: str, rules: Rules) -> LaidOut:
    """Open a plain text. Raises `TooLargeError` or `EmptyFileError`."""
    return LaidOut(marked_pages(decoded(upload, rules), ""), facts_of(upload.name), upload.name, rules)


def marked_pages(text: str, markup: str) -> Iterator[Block | Table]:
    """Yield the blocks of each page of a text; a form feed ends one. `markup` is one of `light_markup.FORMATS`, or "".

    Of light markup the headings are known, and the paragraphs between them stay as they are written.
    """
    for number, page in enumerate(text.split(_PAGE)):
        if number:
            yield Block(kind="page_break")
        page = printable(LINE_ENDS.sub("\n", page))
        for part in parts_of(page, markup) if markup else (Part(page),):
            if part.level:
                yield Block(kind="heading", text=part.text, level=part.level)
            else:
                yield from plain(part.text)


def plain(text: str) -> Iterator[Block | Table]:
    """Yield paragraphs, one for each line; where spaces align columns, the lines stay as they are.

    Lines that a program broke at a width are joined to the paragraphs that they were. The level of a paragraph is 1
    where a blank line stands before it.
    """
    lines = text.splitlines()
    aligned = sum(bool(_ALIGNED.search(line)) for line in lines[:2_000])
    if aligned >= 0.1 * min(len(lines), 2_000):
        yield Block(kind="paragraph", text=text, is_verbatim=True)
        return
    width = _width(lines)
    said: list[str] = []
    is_apart = False
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        said.append(line)
        if not width or not _runs_on(line, following, width):
            if any(said):
                yield Block(kind="paragraph", text=" ".join(said), level=int(is_apart))
            is_apart = not line.strip()
            said.clear()


def _width(lines: list[str]) -> int:
    """Return the width at which the lines of a text were broken; 0 where they were not.

    They were where several lines have no room for the first word of the next, and most of those go on in small letters.
    """
    lengths = sorted(len(line.rstrip()) for line in lines if len(line) >= _NARROWEST)
    if len(lengths) < _EVIDENCE:
        return 0
    width = lengths[-1 - len(lengths) // 50]  # a longer line in fifty is an address of a page or so
    if width > _WIDEST:
        return 0
    full = [following for line, following in pairwise(lines) if _runs_on(line, following, width)]
    small = sum(following[0].islower() for following in full)
    return width if len(full) >= _EVIDENCE and small >= 0.5 * len(full) else 0


def _runs_on(line: str, following: str, width: int) -> bool:
    """Return whether a line ends because the first word of the next one had no room on it."""
    if not following.strip() or _OWN_LINE.match(following):
        return False
    return _NARROWEST <= len(line.rstrip()) <= width < len(line.rstrip()) + 1 + len(following.split(None, 1)[0])
