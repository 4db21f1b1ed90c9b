"""What a file is, by its content."""

from __future__ import annotations

import io
import re
import zipfile

import pytest

import papers
from archives import packed
from decks import deck, title
from docmind import errors
from docmind.errors import UnsupportedFileError
from docmind.reading.file_type import identify, is_plain
from docmind.records.documents import Upload
from each import each_of
from sheet_files import record, xlsb


def kind_of(name: str, data: bytes) -> str:
    return identify(Upload(name, data))[0]


def renamed(package: bytes, old: str, new: str) -> bytes:
    """Return a package of Office with a part, or a folder of parts, under another name, and its relations to them."""
    folders = old.rpartition("/")[0], new.rpartition("/")[0]
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(package)) as before, zipfile.ZipFile(out, "w") as after:
        for name in before.namelist():
            relations = f"{folders[0]}/_rels/{old.rpartition('/')[2]}"
            moved = name.replace(relations, f"{folders[1]}/_rels/{new.rpartition('/')[2]}").replace(old, new)
            data = before.read(name)
            after.writestr(moved, data.replace(old.encode(), new.encode()) if name == "_rels/.rels" else data)
    return out.getvalue()


@pytest.mark.parametrize(
    ("name", "kind"),
    [("PNG", "png"), ("JPEG", "jpeg"), ("WEBP", "webp"), ("GIF", "gif"), ("BMP", "bmp"), ("TIFF", "tiff")],
)
def test_pictures_whatever_their_name(name: str, kind: str) -> None:
    data = papers.picture(name)
    assert [kind_of(f"x.{suffix}", data) for suffix in ("png", "dat", "pdf")] == [kind] * 3


def test_big_tiff_is_a_picture() -> None:
    assert kind_of("a", b"II+\x00\x08\x00\x00\x00" + bytes(40)) == "tiff"


def test_documents_whatever_their_name_and_the_names_of_their_parts() -> None:
    for data, kind in (
        (papers.pdf([papers.line("x")]), "pdf"),
        (papers.word_file(), "docx"),
        (papers.workbook([["x"]]), "xlsx"),
        (papers.book(["<p>x</p>"]), "epub"),
        (b"{\\rtf1 hello}", "rtf"),
        (deck([title("x")]), "pptx"),
        (papers.word_xml(papers.para("x"), main="word/document2.xml"), "docx"),
        (papers.word_xml(papers.para("x"), main="content/main.xml", is_strict=True), "docx"),
        (renamed(papers.workbook([["x"]]), "xl/workbook.xml", "xl/workbook2.xml"), "xlsx"),
        (renamed(xlsb(record(0)), "xl/workbook.bin", "book/main.bin"), "xlsb"),
        (renamed(deck([title("x")]), "ppt/", "slides/"), "pptx"),
    ):
        assert [kind_of(f"x.{suffix}", data) for suffix in ("pdf", "docx", "bin")] == [kind] * 3


@each_of(
    "name, data, kind",
    [
        ("a.txt", b"plain words", "txt"),
        ("a", b"plain words", "txt"),
        ("a.py", b"print('x')", "code"),
        ("a.php", b"<!DOCTYPE html><?php echo 1; ?>", "code"),
        ("a.MD", b"# Title", "markdown"),
        ("a.csv", b"a;b\n1;2", "csv"),
        ("a.txt", b"<!DOCTYPE html><p>x", "html"),
        ("a.htm", b"<p>x", "html"),
        ("a.txt", "utf sixteen".encode("utf-16"), "txt"),
        ("a.txt", "no mark at its start".encode("utf-16-le"), "txt"),
        ("a.txt", "ação".encode("latin-1"), "txt"),
        ("a.log", b"a line of a log\n" * 20 + b"\0\0\n", "txt"),
        ("BMnotes.txt", b"BM is how these notes begin, and they go on", "txt"),
    ],
)
def test_plain_text_by_its_name(name: str, data: bytes, kind: str) -> None:
    assert kind_of(name, data) == kind


@pytest.mark.parametrize("name", ["a.pdf", "a.docx", "a.odt", "a.rtf", "a.xlsx", "a.epub", "a.png", "a.ipynb"])
def test_a_name_that_promises_more_than_text_is_a_broken_file(name: str) -> None:
    with pytest.raises(errors.CorruptFileError, match="but holds plain text"):
        identify(Upload(name, b"just words"))


@pytest.mark.parametrize("data", [b"\0" * 50, b" \n\t ", b"\0 \0"])
def test_nothing_but_spaces_is_empty(data: bytes) -> None:
    with pytest.raises(errors.EmptyFileError):
        identify(Upload("a.txt", data))


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"\x7fELF\x02\x01\x01", "a program"),
        (b"\x1f\x8b\x08\x00" + b"x" * 40, "gzip"),
        (bytes(range(256)) * 20, "not a type of file"),
    ],
)
def test_what_is_not_read_is_named(data: bytes, what: str) -> None:
    with pytest.raises(errors.UnsupportedFileError, match=what):
        identify(Upload("a.bin", data))


def test_other_archives_are_named() -> None:
    def archive(name: str) -> bytes:
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as packed:
            packed.writestr(name, "x")
        return out.getvalue()

    with pytest.raises(errors.CorruptFileError, match="not a PowerPoint presentation inside"):
        identify(Upload("a.pptx", archive("readme.txt")))
    with pytest.raises(errors.UnsupportedFileError, match="Pages, Numbers or Keynote"):
        identify(Upload("a.pages", archive("Index/Document.iwa")))
    with pytest.raises(errors.UnsupportedFileError, match="a program"):
        identify(Upload("a.jar", archive("META-INF/MANIFEST.MF")))
    for name in ("a.zip", "a.ZIPX", "a.cbz", "download", "backup 3.1", "Rent. Letters of 2025"):
        assert kind_of(name, archive("readme.txt")) == "zip"
    for name in ("talk.xmind", "w_E_202501.jwpub", "a.KMZ", "library.mindnode-2"):
        ending = name.rpartition(".")[2].lower()
        with pytest.raises(errors.UnsupportedFileError, match=rf"^{name} is a \.{ending} file") as caught:
            identify(Upload(name, archive("readme.txt")))
        assert "end its name in .zip" in caught.value.hint
    for name in ("a.docx", "a.docm"):
        with pytest.raises(errors.CorruptFileError, match="not a Word document inside"):
            identify(Upload(name, archive("readme.txt")))
    with pytest.raises(errors.CorruptFileError, match="broken or was cut off"):
        identify(Upload("a.docx", papers.word_file()[:500]))


MAIL = (
    b"From: Ada Heron <ada@heron.example>\r\nTo: Bo\r\nSubject: The boat\r\n of May\r\nMIME-Version: 1.0\r\n"
    b"Content-Type: application/pdf\r\nContent-Transfer-Encoding: base64\r\n\r\nSGVyb25zIHdhaXQu\r\n"
)
NOTEBOOK = (
    b'{"cells": [{"cell_type": "markdown", "source": ["x"]}], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}'
)


OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


@each_of(
    "name, data, kind",
    [
        ("a.eml", MAIL, "mail"),
        ("a.txt", MAIL, "mail"),
        ("a.md", b"From ada@heron.example Thu May  2 10:00:00 2024\n" + MAIL, "mail"),
        ("inbox", b"From ada Thu May  2\n" + MAIL + b"\r\nFrom bo Fri May  3\r\n" + MAIL, "mailbox"),
        ("a.mbox", b"From ada Thu May  2 10:00:00 2024\nFrom: Ada\n\nHello\n", "mailbox"),
        ("a.eml", b"Subject: Hello\n\nHello\n", "mail"),
        ("a.emlx", b"23\nSubject: Hello\n\nHello\n", "mail"),
        ("a.eml", b"no header at all", "txt"),
        ("a.msg", OLE + bytes(600), "mail"),
        ("a", OLE + bytes(600) + "__properties_version1.0".encode("utf-16-le"), "mail"),
        ("a.mht", b"From: <Saved by Blink>\nMIME-Version: 1.0\nContent-Type: multipart/related\n\nx", "mhtml"),
        ("a", b"Snapshot-Content-Location: https://x\nContent-Type: multipart/related\n\nx", "mhtml"),
    ],
)
def test_mails_whatever_their_name(name: str, data: bytes, kind: str) -> None:
    assert kind_of(name, data) == kind


@each_of(
    "name, data, plain",
    [
        ("a.eml", b"Subject: Hello\n\nHello\n", True),
        ("a.eml", b"Subject: Hello\nContent-Type: text/plain\n\nHello\n", True),
        ("a.eml", b"Subject: Hello\nContent-Type: text/html\n\n<p>Hello</p>\n", False),
        ("a.eml", b"Subject: Hello\nContent-Type: multipart/mixed; boundary=x\n\n--x\n", False),
        ("a.eml", b"no header at all", False),
        ("a.txt", MAIL, False),
        ("a.mbox", b"From ada\nFrom: Ada\n\nHello\n", False),
    ],
)
def test_only_mails_of_plain_text_are_plain(name: str, data: bytes, plain: bool) -> None:
    assert is_plain(Upload(name, data)) is plain


def test_a_long_header_without_an_end_is_looked_at_in_time() -> None:
    assert kind_of("a.txt", b"A:\n" + b" " * 60_000) == "txt"


@each_of(
    "name, data, kind",
    [
        ("a.ipynb", NOTEBOOK, "notebook"),
        ("a.txt", b"\n" + NOTEBOOK, "notebook"),
        ("a.json", NOTEBOOK.replace(b"cells", b"worksheets"), "notebook"),
        ("a.ipynb", b'{"nbformat": 4, "cells": [', "notebook"),
        ("a.bib", b"just words", "bib"),
        ("a.txt", b"% mine\n@article{a,\n title={B}}", "bib"),
        ("a.ris", b"TY  - JOUR", "ris"),
        ("a.json", b'[ {"title": "A", "type": "book", "issued": {"raw": "2020"}}]', "csl"),
        ("a.txt", b"\xef\xbb\xbfTY  - JOUR\r\nER  - \r\n", "ris"),
    ],
)
def test_notebooks_and_bibliographies_are_known_by_name_and_contents(name: str, data: bytes, kind: str) -> None:
    assert kind_of(name, data) == kind


@each_of(
    "name, data, kind",
    [
        ("a.txt", b"From: Ada\nTo: Bo\nSubject: The boat\nDate: 2 May\n\nA memo, and no mail.", "txt"),
        ("a.txt", b"Dear Bo,\n\nMIME-Version: 1.0 is a header.", "txt"),
        ("a.txt", b'{"notebooks": [{"cells": [], "nbformat": 4}]}', "txt"),
        ("a.txt", b'{"cells": "nbformat": no JSON', "txt"),
        ("a.py", b"nbformat = 4\ncells = []", "code"),
        ("a.txt", b"@ada{bo} writes to @bo.", "txt"),
        ("a.txt", b"TY  -  for the boat", "txt"),
        ("a.json", b'[{"type": "invoice", "title": "Wax", "issued": "2024-01-01"}]', "txt"),
        ("a.md", b"@article{a, title={B}}", "markdown"),
    ],
)
def test_text_about_mail_and_notebooks_is_text(name: str, data: bytes, kind: str) -> None:
    assert kind_of(name, data) == kind


@pytest.mark.parametrize("method", [0, 8, 99])
@pytest.mark.parametrize("name", ["a.odt", "a.docx", "a.epub", "a.odp"])
def test_a_packed_document_that_is_locked_says_so_and_what_to_do(name: str, method: int) -> None:
    data = bytearray(packed({"mimetype": "application/vnd.oasis.opendocument.text", "content.xml": "<a/>"}))
    for sign, at in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        for start in [found.start() for found in re.finditer(re.escape(sign), data)]:
            data[start + at] |= 1
            data[start + at + 2 : start + at + 4] = method.to_bytes(2, "little")
    with pytest.raises(UnsupportedFileError, match=rf"^{name} is locked with a password\.$") as caught:
        identify(Upload(name, bytes(data)))
    assert "save it without a password" in caught.value.hint
