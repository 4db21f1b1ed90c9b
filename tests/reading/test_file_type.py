"""What a file is, by its content."""

from __future__ import annotations

import io
import zipfile

import pytest

import papers
from docmind import errors
from docmind.reading.file_type import identify
from docmind.records.documents import Upload
from each import each_of


def kind_of(name: str, data: bytes) -> str:
    return identify(Upload(name, data))[0]


@pytest.mark.parametrize(
    ("name", "kind"),
    [("PNG", "png"), ("JPEG", "jpeg"), ("WEBP", "webp"), ("GIF", "gif"), ("BMP", "bmp"), ("TIFF", "tiff")],
)
def test_pictures_whatever_their_name(name: str, kind: str) -> None:
    data = papers.picture(name)
    assert [kind_of(f"x.{suffix}", data) for suffix in ("png", "dat", "pdf")] == [kind] * 3


def test_big_tiff_is_a_picture() -> None:
    assert kind_of("a", b"II+\x00\x08\x00\x00\x00" + bytes(40)) == "tiff"


def test_documents_whatever_their_name() -> None:
    for data, kind in (
        (papers.pdf([papers.line("x")]), "pdf"),
        (papers.word_file(), "docx"),
        (papers.workbook([["x"]]), "xlsx"),
        (papers.book(["<p>x</p>"]), "epub"),
        (b"{\\rtf1 hello}", "rtf"),
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


@pytest.mark.parametrize("name", ["a.pdf", "a.docx", "a.odt", "a.rtf", "a.xlsx", "a.epub", "a.png"])
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

    with pytest.raises(errors.UnsupportedFileError, match="PowerPoint"):
        identify(Upload("a.pptx", archive("ppt/presentation.xml")))
    with pytest.raises(errors.UnsupportedFileError, match="an archive"):
        identify(Upload("a.zip", archive("readme.txt")))
    with pytest.raises(errors.CorruptFileError, match="not a Word document inside"):
        identify(Upload("a.docx", archive("readme.txt")))
    with pytest.raises(errors.CorruptFileError, match="broken or was cut off"):
        identify(Upload("a.docx", papers.word_file()[:500]))


MAIL = (
    b"From: Ada Heron <ada@heron.example>\r\nTo: Bo\r\nSubject: The boat\r\n of May\r\nMIME-Version: 1.0\r\n"
    b"Content-Type: application/pdf\r\nContent-Transfer-Encoding: base64\r\n\r\nSGVyb25zIHdhaXQu\r\n"
)
NOTEBOOK = (
    b'{"cells": [{"cell_type": "markdown", "source": ["x"]}], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}'
)


@each_of(
    "name, data, what",
    [
        ("a.eml", MAIL, "an e-mail"),
        ("a.txt", MAIL, "an e-mail"),
        ("a.md", b"From ada@heron.example Thu May  2 10:00:00 2024\n" + MAIL, "an e-mail"),
        ("a.mbox", b"From ada Thu May  2 10:00:00 2024\nFrom: Ada\n\nHello\n", "an e-mail"),
        ("a.eml", b"Subject: =?utf-8?Q?Ol=C3=A1?=\n\nHello\n", "an e-mail"),
        ("a.eml", b"Subject: Hello\nContent-Type: multipart/mixed; boundary=x\n\n--x\n", "an e-mail"),
        ("a.eml", b"Subject: Hello\nContent-Transfer-Encoding: quoted-printable\n\nHello =C3\n", "an e-mail"),
        ("a.eml", b"no header at all", "an e-mail"),
        ("a.msg", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "an e-mail"),
        (
            "a.mht",
            b"From: <Saved by Blink>\nMIME-Version: 1.0\nContent-Type: multipart/related\n\nx",
            "a web page saved",
        ),
        ("a.ipynb", NOTEBOOK, "a notebook"),
        ("a.txt", b"\n" + NOTEBOOK, "a notebook"),
    ],
)
def test_mail_and_notebooks_are_refused_with_what_to_do(name: str, data: bytes, what: str) -> None:
    with pytest.raises(errors.UnsupportedFileError, match=what) as refused:
        identify(Upload(name, data))
    assert "add that" in (refused.value.hint or "")


@each_of(
    "name, data, kind",
    [
        ("a.txt", b"From: Ada\nTo: Bo\nSubject: The boat\nDate: 2 May\n\nA memo, and no mail.", "txt"),
        ("a.txt", b"Dear Bo,\n\nMIME-Version: 1.0 is a header.", "txt"),
        ("a.txt", b'{"notebooks": [{"cells": [], "nbformat": 4}]}', "txt"),
        ("a.txt", b'{"cells": "nbformat": no JSON', "txt"),
        ("a.py", b"nbformat = 4\ncells = []", "code"),
        ("a.eml", b"Subject: Hello\n\nHello\n", "txt"),
        (
            "a.eml",
            b"From: Jo\nMIME-Version: 1.0\nContent-Type: text/plain; charset=utf-8\n"
            b"Content-Transfer-Encoding: 8bit\n\nDear Mara,\n",
            "txt",
        ),
    ],
)
def test_plain_mail_and_text_about_mail_and_notebooks_is_text(name: str, data: bytes, kind: str) -> None:
    assert kind_of(name, data) == kind
