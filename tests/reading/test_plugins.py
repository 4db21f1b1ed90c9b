"""Readers of other packages, in the real process that runs them."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

import other_readers
from conftest import ROOT, require
from docmind import errors
from docmind.config import ReadingSettings
from docmind.reading import Reader, has_known_name, installed_readers, reader_capabilities, reads_more
from docmind.records.documents import Upload
from docmind.runtime import landlock

Install = Callable[..., None]

TOY = """
import ctypes, os, socket, subprocess, sys, time
from docmind.blocks import Block, Cell, Table
from docmind.errors import CorruptFileError
from docmind.reading import FileContents

def native(name, *arguments):
    libc = ctypes.CDLL(None, use_errno=True)
    raise ValueError(f"{name} {getattr(libc, name)(*arguments)} {ctypes.get_errno()}")

DOES = {
    "socket": lambda: socket.create_connection(("192.0.2.1", 80), 2),
    "write": lambda: open(PLACE, "w"),
    "remove": lambda: os.remove(PLACE),
    "start": lambda: subprocess.run(["true"]),
    "read": lambda: open(PLACE).read(),
    "native write": lambda: native("open", PLACE.encode(), os.O_CREAT | os.O_WRONLY, 0o600),
    "native remove": lambda: native("unlink", PLACE.encode()),
    "native kill": lambda: native("kill", os.getppid(), 0),
    "hang": lambda: time.sleep(1_000),
    "memory": lambda: bytearray(8 << 30),
    "exit": lambda: sys.exit(3),
    "die": lambda: os._exit(3),
    "refuse": lambda: (_ for _ in ()).throw(CorruptFileError("This toy is broken.")),
    "print": lambda: print("x" * 100_000),
}
GIVES = {
    "no block": ["text"],
    "no kind": [Block(kind="song", text="x")],
    "uneven": [Table(rows=[["a", "b"], ["c"]])],
    "no cell": [Table(rows=[[1]])],
    "no level": [Block(kind="heading", text="x", level=10**9)],
    "no end": (Block(kind="paragraph", text="x " * 500) for _ in iter(int, 1)),
    "nothing": [],
}

class Toy:
    title = "Toy"
    magic = (b"TOY ",)

    def read(self, data, name, losses):
        what, _, place = data[4:].decode().partition("|")
        globals()["PLACE"] = place
        DOES.get(what, lambda: None)()
        if what == "contents":
            return None
        losses.note("picture", "sheet 1", 2)
        blocks = [Block(kind="heading", text="A\\x00 toy", level=1), Table(rows=[["a", Cell("1", type="number")]])]
        return FileContents(blocks=GIVES.get(what, blocks), facts={"title": "The toy of Ann", "kind": "pdf"})
"""


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    def install(package: str, code: str, **readers: str) -> None:
        other_readers.install(tmp_path / "packages", monkeypatch, package, code, **readers)

    return install


def read(data: bytes, name: str = "a.toy", on: str = "toy", **settings: float) -> tuple[str, str, str, str]:
    """Return kind, engine, note and text of a file."""
    with Reader(ReadingSettings(readers=on, **settings)) as reader, reader.read(Upload(name, data)) as reading:  # type: ignore[arg-type]
        text = "\n".join(page.text for page in reading)
        return reading.kind, reading.engine, reading.told, text


@pytest.mark.slow
def test_a_reader_gives_blocks_facts_and_losses(install: Install) -> None:
    install("docmind-toys", TOY, toy="Toy")
    settings = ReadingSettings(readers="toy")
    with Reader(settings) as reader, reader.read(Upload("a.toy", b"TOY ")) as reading:
        assert [page.text for page in reading] == ["A toy\n\na | 1"]
        assert (reading.kind, reading.engine, reading.facts["title"]) == ("toy", "docmind-toys", "The toy of Ann")
        assert [(loss.kind, loss.count, loss.place) for loss in reading.losses] == [("picture", 2, "sheet 1")]
    assert "docmind_toys" not in sys.modules


@pytest.mark.slow
def test_a_reader_is_off_until_it_is_turned_on(install: Install) -> None:
    install("docmind-toys", TOY, toy="Toy")
    assert read(b"TOY hello", on="")[:2] == ("txt", "docmind")
    assert [(one.name, one.state) for one in reader_capabilities(ReadingSettings())] == [("reader toy", "off")]
    assert has_known_name("a.toy", reads_more(ReadingSettings(readers="toy")))
    assert not has_known_name("a.toy", reads_more(ReadingSettings()))


@pytest.mark.slow
def test_a_reader_sees_no_file_that_docmind_knows(install: Install) -> None:
    code = "class Greedy:\n title = 'All'\n def recognises(self, head, name): return True\n def read(self, *_): 1 / 0\n"
    install("docmind-greedy", code, all="Greedy")
    assert read(b"TOY text", "a.txt", "all")[0] == "txt"
    assert read(b"a,b\n1,2\n", "a.csv", "all")[0] == "csv"
    with pytest.raises(errors.ReaderFailedError, match=r"^The reader all failed: ZeroDivisionError"):
        read(b"TOY text", "a.other", "all")


def test_a_kind_that_docmind_reads_cannot_be_taken_over(install: Install) -> None:
    install("docmind-toys", TOY, pdf="Toy", md="Toy", Toy="Toy", toy="Toy")
    install("docmind-more", TOY, toy="Toy")
    troubles = {one.kind: one.trouble for one in installed_readers()}
    assert troubles == {
        "pdf": "DocMind reads files of this kind itself",
        "md": "DocMind reads files of this kind itself",
        "Toy": "its name must be one to eight small letters",
        "toy": "several packages offer a reader of this kind",
    }
    assert not reads_more(ReadingSettings(readers="pdf,md,toy"))
    assert {one.state for one in reader_capabilities(ReadingSettings(readers="pdf,md,toy"))} == {"missing"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("what", "told"),
    [
        ("socket", "PermissionError: a worker has no network"),
        ("write", "PermissionError: a reader changes no files and starts no programs"),
        ("remove", "PermissionError: a reader changes no files and starts no programs"),
        ("start", "PermissionError: a reader changes no files and starts no programs"),
        ("exit", "SystemExit: 3"),
        ("die", "a worker ended by itself (exit code 3)"),
        ("hang", "a worker said nothing for 3 s and was stopped"),
        ("contents", "TypeError: it gave no FileContents"),
        ("no block", "TypeError: it gave a str among the blocks"),
        ("no kind", "TypeError: it gave a Block of a kind that there is not"),
        ("no level", "TypeError: it gave a Block of a kind that there is not"),
        ("uneven", "TypeError: it gave a table whose rows have different numbers of cells, or too many"),
        ("no cell", "TypeError: it gave a int in a table"),
    ],
)
def test_what_goes_wrong_in_a_reader_costs_the_file_and_names_the_reader(
    install: Install, tmp_path: Path, what: str, told: str
) -> None:
    install("docmind-toys", TOY, toy="Toy")
    place = tmp_path / "mine"
    place.write_text("mine")
    with pytest.raises(errors.ReaderFailedError) as caught:
        read(f"TOY {what}|{place}".encode(), timeout_s=3)
    assert str(caught.value) == f"The reader toy failed: {told}."
    assert place.read_text() == "mine"


@pytest.mark.slow
@pytest.mark.parametrize("what", ["read", "native write", "native remove", "native kill"])
def test_native_code_of_a_reader_touches_no_file_and_no_process(install: Install, tmp_path: Path, what: str) -> None:
    require(landlock.version() >= 6, "Linux 6.12 or newer")
    install("docmind-toys", TOY, toy="Toy")
    place = tmp_path / "mine"
    place.write_text("mine")
    with pytest.raises(errors.ReaderFailedError, match=r"Permission denied|-1 (13|1)\b"):
        read(f"TOY {what}|{place}".encode())
    assert place.read_text() == "mine"


@pytest.mark.slow
def test_a_reader_learns_no_secret_of_the_environment(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    code = (
        "import os\nfrom docmind.blocks import Block\nfrom docmind.reading import FileContents\n"
        "class Curious:\n title = 'Env'\n magic = (b'ENV',)\n"
        " def read(self, *_):\n  told = [Block(kind='paragraph', text=' '.join(os.environ))]\n"
        "  return FileContents(blocks=told, facts={'title': '', 'author': '', 'dated': ''})\n"
    )
    install("docmind-curious", code, env="Curious")
    for name in ("DOCMIND_KEYS__PASSPHRASE", "OPENAI_API_KEY", "aws_secret_access_key", "GITHUB_TOKEN"):
        monkeypatch.setenv(name, "secret")
    monkeypatch.setenv("MONKEY_BUSINESS", "1")
    names = set(read(b"ENV", "a.env", "env")[3].split())
    assert {"PATH", "MONKEY_BUSINESS"} <= names
    assert not names & {"DOCMIND_KEYS__PASSPHRASE", "OPENAI_API_KEY", "aws_secret_access_key", "GITHUB_TOKEN"}


@pytest.mark.slow
def test_limits_hold_for_a_reader_too(install: Install) -> None:
    install("docmind-toys", TOY, toy="Toy")
    with pytest.raises(errors.TooLargeError, match="more memory"):
        read(b"TOY memory")
    with pytest.raises(errors.TooLargeError):
        read(b"TOY no end", max_pages=3)
    with pytest.raises(errors.EmptyFileError):
        read(b"TOY nothing")
    with pytest.raises(errors.CorruptFileError, match=r"^This toy is broken\.$"):
        read(b"TOY refuse")
    assert read(b"TOY print")[0] == "toy"


@pytest.mark.slow
def test_a_broken_reader_costs_itself_alone(install: Install) -> None:
    install("docmind-toys", TOY, toy="Toy")
    install("docmind-broken", "import nothing_like_this\n", broken="Reader")
    install("docmind-dying", "import os\nos._exit(7)\n", dying="Reader")
    install("docmind-bare", "class Reader:\n    title = 'x'\n", bare="Reader")
    on = "broken,dying,bare,toy"
    kind, _engine, told, _text = read(b"TOY ", on=on)
    assert kind == "toy"
    assert told == (
        "The reader broken failed: ModuleNotFoundError: No module named 'nothing_like_this'. "
        "The reader dying failed: a worker ended by itself (exit code 7). "
        "The reader bare lacks a title, a way to recognise files, or a way to read them."
    )
    states = {one.name: (one.state, one.detail) for one in reader_capabilities(ReadingSettings(readers=f"{on},gone"))}
    assert {name: state for name, (state, _detail) in states.items()} == {
        "reader bare": "missing", "reader broken": "missing", "reader dying": "missing", "reader gone": "missing",
        "reader toy": "present",
    }  # fmt: skip
    assert states["reader toy"][1] == "Toy (.toy), docmind-toys 1.0 (MIT)"
    assert "nothing_like_this" in states["reader broken"][1]
    with pytest.raises(errors.UnsupportedFileError, match=r"DocMind reads\. The reader dying"):
        read(bytes(range(256)) * 4, on="dying")


@pytest.mark.slow
def test_the_example_of_the_documentation_reads_a_recipe(install: Install) -> None:
    page = (ROOT / "docs" / "readers.md").read_text()
    project, code = (re.findall(rf"```{language}\n(.*?)```", page, re.S)[0] for language in ("toml", "python"))
    about = tomllib.loads(project)["project"]
    ((kind, place),) = about["entry-points"]["docmind.readers"].items()
    install(about["name"], code, **{kind: place.partition(":")[2]})
    recipe = "!RECIPE Bread of the house\n* Flour = 500 g\n* Salt = 10 g\nMix.\n? 12\nBake for 40 minutes.\n"
    with Reader(ReadingSettings(readers=kind)) as reader, reader.read(Upload("b.rcp", recipe.encode())) as reading:
        (first,) = reading
        assert reading.facts["title"] == "Bread of the house"
        assert [loss.kind for loss in reading.losses] == ["part"]
    assert "Flour | 500 g" in first.text
    assert "1. Mix.\n\n2. Bake for 40 minutes." in first.text
    (told,) = reader_capabilities(ReadingSettings(readers=kind))
    assert told.detail == "Recipe (.recipe, .rcp), docmind-recipes 1.0 (MIT)"
