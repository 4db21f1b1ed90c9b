"""Books drawn by a real Chromium: what they look like, what they try, and what becomes of them where it fails."""

from __future__ import annotations

import http.server
import io
import os
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from PIL import Image

import papers
from conftest import require
from docmind.blocks import unpack
from docmind.config import ReadingSettings
from docmind.documents.words import Words
from docmind.errors import CancelledError, EmptyFileError, TooLargeError, UnsupportedFileError
from docmind.reading.chromium import browser
from docmind.reading.reader import Reader
from docmind.records.documents import ParsedPage, Upload

WORDS = "Ordinary words of a chapter that must be seen by whoever reads it. "
XHTML = "http://www.w3.org/1999/xhtml"


@pytest.fixture(scope="module")
def reader() -> Iterator[Reader]:
    require(browser.find_browser(), "no Chromium on this system (Debian: apt install chromium)")
    with Reader(ReadingSettings(timeout_s=60)) as reader:
        yield reader


@pytest.fixture
def requests() -> Iterator[tuple[str, list[str]]]:
    """Run a server that a book may try to reach; yield its address and the requested paths."""
    seen: list[str] = []

    class Canary(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(self.path)
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name in the base
            """Say nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Canary) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", seen
        server.shutdown()


def chapter(body: str, head: str = "", attributes: str = "") -> str:
    return f"<html xmlns='{XHTML}' {attributes}><head><title>x</title>{head}</head><body>{body}</body></html>"


def book(chapters: Sequence[str], parts: dict[str, tuple[str, bytes]] | None = None, meta: str = "") -> bytes:
    """Return an EPUB of whole chapters, and of other parts as name: (type, bytes)."""
    named = {f"c{number}.xhtml": ("application/xhtml+xml", text.encode()) for number, text in enumerate(chapters)}
    return papers.packed_book(named, parts or {}, meta)


def read(reader: Reader, data: bytes) -> tuple[list[ParsedPage], str]:
    with reader.read(Upload("a.epub", data)) as reading:
        assert reading.kind == "epub"
        return list(reading), reading.told


def text_of(reader: Reader, *chapters: str) -> str:
    pages, told = read(reader, book(chapters))
    assert told == ""
    return "\n".join(page.text for page in pages)


@pytest.mark.slow
def test_a_book_looks_as_its_maker_styled_it(reader: Reader) -> None:
    styles = b"body { background: rgb(0, 0, 255); } h1 { text-align: center; } img { width: 200px; }"
    red = papers.picture(size=(60, 60))
    page = chapter(f"<h1>Office</h1><img src='p/a%20b.png'/><p>{WORDS}</p>", "<link rel='stylesheet' href='s.css'/>")
    parts = {"s.css": ("text/css", styles), "p/a b.png": ("image/png", red)}
    (first, second), told = read(reader, book([page, chapter("<p>The end of it.</p>")], parts))
    assert told == ""
    assert (first.text.split("\n")[0], second.text) == ("Office", "The end of it.")
    assert (first.height, first.text_source, first.needs_ocr) == (1_600, "layer", False)
    words = Words.unpack(first.words)
    assert [first.text[s:e] for s, e in zip(words.starts, words.ends, strict=True)] == first.text.split()
    x, _, wide, _ = words.boxes[0]
    assert abs(x + wide / 2 - first.width / 2) < 10  # centred
    image = Image.open(io.BytesIO(first.image)).convert("RGB")
    colours = {image.getpixel((50 * column, 50 * row)) for column in range(3, 20) for row in range(3, 30)}
    assert any(blue > 200 > 60 > red for red, _, blue in colours)  # type: ignore[misc]
    assert len({one[0] // 64 for one in colours}) > 1  # type: ignore[index] - the picture is there too


@pytest.mark.slow
def test_pages_are_the_same_each_time(reader: Reader) -> None:
    data = book([chapter(f"<h1>{number}</h1>" + f"<p>{WORDS * 20}</p>" * 2) for number in range(2)])
    once, again = (read(reader, data)[0] for _ in range(2))
    assert len(once) > 2
    assert [(page.page_no, page.text, page.words, page.image) for page in once] == [
        (page.page_no, page.text, page.words, page.image) for page in again
    ]
    with reader.read(Upload("a.epub", data), skip={1, 2}) as reading:
        assert [page.page_no for page in reading] == list(range(3, len(once) + 1))


@pytest.mark.slow
def test_nothing_is_run_and_nothing_is_fetched(reader: Reader, requests: tuple[str, list[str]]) -> None:
    where, seen = requests
    head = (
        f"<script>document.title = 1; fetch('{where}/fetch'); document.body.innerHTML = 'SCRIPTRAN'</script>"
        f"<script src='{where}/s.js'/><link rel='stylesheet' href='{where}/s.css'/>"
        f"<link rel='stylesheet' href='o.css'/>"
        f"<link rel='preload' as='image' href='{where}/pre'/><meta http-equiv='refresh' content='0;url={where}/go'/>"
        f"<base href='{where}/'/><style>@import url('{where}/i.css'); body {{ background: url('{where}/b') }}"
        f" @font-face {{ font-family: q; src: url('{where}/f.woff') }} p {{ font-family: q }}</style>"
    )
    body = (
        f"<img src='{where}/img' onerror='alert(1)'/><img src='file:///etc/hostname'/><img srcset='{where}/set 2x'/>"
        f"<iframe src='{where}/frame'/><iframe src='file:///etc/passwd'/>"
        f"<object data='{where}/o'>In its place.</object><input type='image' src='{where}/n'/>"
        f"<video src='{where}/v' poster='{where}/w' autoplay='1'/><embed src='{where}/e'/>"
        f"<svg xmlns='http://www.w3.org/2000/svg'><image href='{where}/svg'/><use href='{where}/u#a'/>"
        f"<script>1</script></svg><a href='{where}/a' ping='{where}/p'>A link.</a>"
        f"<form action='{where}/form'><p>{WORDS}</p></form>"
    )
    soup = "<html><head><title/><script>document.write('SCRIPTRAN')</script><body><p>Un<b>closed&eacute;"
    soup += f"<img src={where}/x>"
    own = {
        "o.css": ("text/css", f"@import '{where}/own'; p {{ background: url({where}/bg) }}".encode()),
        "t.svg": (
            "image/svg+xml",
            f"<svg xmlns='http://www.w3.org/2000/svg'><script>1</script><image href='{where}/in'/></svg>".encode(),
        ),
    }
    pages, told = read(reader, book([chapter(body, head), soup, chapter(f"<img src='t.svg'/><p>{WORDS}</p>")], own))
    text = " ".join(page.text for page in pages)
    assert told == ""
    assert WORDS.strip() in text.replace("\n", " ")
    assert "In its place." in text
    assert "closedé" in text
    assert "SCRIPTRAN" not in text
    assert "root:" not in text
    assert seen == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "styles",
    [
        "* { display: none !important }",
        "* { font-size: 0 !important }",
        "p { transform: translateX(-9000px) }",
        "@page { margin: 45%; size: 1in 1in } div { height: 2000000px }",
        "body { position: fixed; height: 100vh; overflow: hidden; columns: 2 }",
    ],
)
def test_styles_that_hide_or_spread_out_the_text_are_left_out(reader: Reader, styles: str) -> None:
    page = chapter(f"<div></div><p>{WORDS * 30}</p>", f"<style>{styles}</style>")
    pages, told = read(reader, book([page]))
    assert told == ""
    assert " ".join(page.text for page in pages).split() == (WORDS * 30).split()
    assert len(pages) < 20


@pytest.mark.slow
@pytest.mark.parametrize(
    ("attributes", "text"),
    [
        ("", "office fluffy affliction efficient waffle, naïve coöperation"),
        ("", "soft\u00adhyphens pneumono\u00adultra\u00admicroscopic " * 20),
        ("dir='rtl' lang='he'", "שלום עולם זה ספר קטן " * 20),
        ("dir='rtl' lang='ar'", "السلام عليكم ورحمة الله وبركاته في هذا الكتاب " * 20),
    ],
    ids=["ligatures", "hyphens", "Hebrew", "Arabic"],
)
def test_words_come_out_as_they_were_written(reader: Reader, attributes: str, text: str) -> None:
    assert text_of(reader, chapter(f"<p>{text}</p>", "", attributes)).split() == text.replace("\u00ad", "").split()


@pytest.mark.slow
def test_a_first_letter_that_floats_belongs_to_its_word(reader: Reader) -> None:
    float_ = "float: left; font-size: 3.4em; line-height: 0.8"
    styles = f"<style>.drop {{ {float_} }} .tall::first-letter {{ {float_} }}</style>"
    begins = (
        "<p><span class='drop'>O</span>nce the ferry</p>",
        "<p><a id='x'></a><!-- x --><span class='drop'><b>O</b></span>nce the ferry</p>",
        "<div><div class='drop'>O</div>nce the ferry</div>",
        "<p><span class='drop'>O</span><span style='font-variant: small-caps'>nce</span> the ferry</p>",
        "<p class='tall'>Once the ferry</p>",
        "<p style='-webkit-initial-letter: 3; initial-letter: 3'>Once the ferry</p>",
    )
    chapters = [chapter(f"<h1>The bell</h1>{body}<p>{WORDS * 3}</p>", styles) for body in begins]
    pages, _told = read(reader, book(chapters))
    assert [page.text[:24] for page in pages] == ["The bell\nOnce the ferry\n"] * len(begins)


@pytest.mark.slow
def test_notes_that_a_book_hides_are_drawn(reader: Reader) -> None:
    epub = "xmlns:epub='http://www.idpf.org/2007/ops'"
    body = (
        f"<p>{WORDS}<a epub:type='noteref' href='#n1'>1</a> <sup><a href='n.xhtml#n2'>2</a></sup></p>"
        "<p hidden=''>Gone.</p>"
        "<aside epub:type='footnote' id='n1' hidden='' style='display: none'><p>Pressed at Haldenmoor.</p></aside>"
        "<details><summary>More</summary><p>Folded away.</p></details><img src='x.png'/>"
    )
    notes = chapter("<p id='n2'>2. Carried by mules.</p><p>Not asked for.</p>").encode()
    parts = {"n.xhtml": ("application/xhtml+xml", notes)}
    with reader.read(Upload("a.epub", book([chapter(body, attributes=epub)], parts))) as reading:
        text = " ".join(page.text for page in reading)
        assert reading.told == ""
        assert {loss.kind for loss in reading.losses} == {"hidden_text"}
    assert "Pressed at Haldenmoor." in text
    assert "[2] Carried by mules." in text
    assert "Folded away." in text
    assert "Gone" not in text
    assert "Not asked for" not in text


@pytest.mark.slow
def test_numbers_spans_and_formulas_are_drawn_by_the_browser(reader: Reader) -> None:
    math = (
        "<math xmlns='http://www.w3.org/1998/Math/MathML'><msup><mi>x</mi><mn>2</mn></msup><mo>=</mo><mi>y</mi></math>"
    )
    rows = "<tr><th colspan='2'>Head of both columns</th></tr><tr><td rowspan='2'>Penmarsh</td><td>one</td></tr>"
    body = f"<ol start='4'><li>Show the pass.</li></ol><table>{rows}<tr><td>two</td></tr></table><p>{WORDS}{math}</p>"
    text = text_of(
        reader, chapter(body + "<p>H<sub>2</sub>O <img src='x.png' alt='a picture with many words'/> end</p>")
    )
    assert "4. Show the pass." in text
    assert text.count("Penmarsh") == 1


@pytest.mark.slow
def test_pages_of_a_fixed_size_keep_it(reader: Reader) -> None:
    head = "<meta name='viewport' content='width=1200, height=900'/>"
    body = "<p style='position: absolute; left: 600px; top: 700px; margin: 0'>Here it stands.</p>"
    exact = '<meta property="rendition:layout">pre-paginated</meta>'
    (first, second), told = read(reader, book([chapter(body, head)] * 2, meta=exact))
    assert (told, second.page_no) == ("", 2)
    assert abs(first.width / first.height - 1200 / 900) < 0.01
    x, y, _, _ = Words.unpack(first.words).boxes[0]
    assert abs(x / first.width - 0.5) < 0.02
    assert abs(y / first.height - 700 / 900) < 0.03


@pytest.mark.slow
def test_a_book_of_pictures_has_pages(reader: Reader) -> None:
    drawn = b"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 9 9'><circle cx='4' cy='4' r='3'/></svg>"
    data = book([chapter("<img src='a.svg' width='300'/>")], {"a.svg": ("image/svg+xml", drawn)})
    pages, _ = read(reader, data)
    assert len(pages) == 1
    with Reader(ReadingSettings(browser="off")) as plain, pytest.raises(EmptyFileError):
        read(plain, data)


def command_of(process: psutil.Process) -> list[str]:
    """Its command line; none of one that has just ended."""
    try:
        return process.cmdline()
    except psutil.Error:
        return []


@pytest.mark.slow
def test_without_a_chromium_books_are_text_and_say_so(reader: Reader) -> None:
    data = book([chapter(f"<p>{WORDS}</p>")])
    for wanted, why in (("no-such-browser", "no Chromium"), (sys.executable, "ended by itself"), ("off", "")):
        with Reader(ReadingSettings(browser=wanted)) as plain:
            pages, told = read(plain, data)
        assert pages[0].text.split() == WORDS.split()
        assert why in told
        assert told.startswith("Its pages are laid out as plain text") == bool(why)


@pytest.mark.slow
def test_a_chromium_that_dies_costs_no_text(reader: Reader) -> None:
    data = book([chapter(f"<h1>{number}</h1>" + f"<p>{WORDS * 40}</p>") for number in range(12)])
    killed: list[int] = []

    def kill() -> None:
        started = [
            one for one in psutil.Process().children(recursive=True) if "--remote-debugging-pipe" in command_of(one)
        ]
        if not killed and started:
            killed.append(started[0].pid)
            started[0].kill()

    with reader.read(Upload("a.epub", data), waiting=kill) as reading:
        text = " ".join(page.text for page in reading)
        assert reading.told.startswith("Its pages are laid out as plain text: Chromium")
    assert killed
    assert text.split().count("Ordinary") == 12 * 40


@pytest.mark.slow
def test_opening_can_be_stopped_and_leaves_nothing(reader: Reader) -> None:
    data = book([chapter(f"<p>{WORDS * 100}</p>")] * 8)

    def stop() -> None:
        raise CancelledError("Stopped.")

    with pytest.raises(CancelledError):
        reader.read(Upload("a.epub", data), waiting=stop)
    assert left() == ([], [])


@pytest.mark.slow
def test_too_many_pages_and_locked_books_are_refused(reader: Reader) -> None:
    with Reader(ReadingSettings(max_pages=3)) as strict, pytest.raises(TooLargeError, match="more than 3 pages"):
        read(strict, book([chapter(f"<p>{WORDS * 20}</p>")] * 5))
    lock = "<e><EncryptedData><CipherData><CipherReference URI='O/c0.xhtml'/></CipherData></EncryptedData></e>"
    data = io.BytesIO(book([chapter("x")]))
    with zipfile.ZipFile(data, "a") as archive:
        archive.writestr("META-INF/encryption.xml", lock)
    with pytest.raises(UnsupportedFileError, match="copy-protected"):
        read(reader, data.getvalue())


@pytest.mark.slow
def test_no_word_of_a_book_is_in_any_file(reader: Reader, tmp_path: Path) -> None:
    """All files in its folder, which is its home and its place for temporary ones, are read while it draws."""
    mark = "Quokkazephyrine"
    styles = f"p::before {{ content: '{mark}' }}".encode()
    page = chapter(f"<h1>{mark}</h1>" + f"<p>{mark} {WORDS * 40}</p>" * 4, "<link rel='stylesheet' href='s.css'/>")
    data = book([page] * 6, {"s.css": ("text/css", styles)})
    wanted = [mark.encode(), mark.encode("utf-16-le"), b"Ordinary words"]
    found: list[str] = []
    looked_at: set[str] = set()

    def look() -> None:
        for folder in folders(os.getpid()):
            for place, _, names in os.walk(folder):
                for path in (Path(place, name) for name in names):
                    with suppress(OSError):  # a temporary one that is gone already; a socket
                        content = path.read_bytes() + path.name.encode()
                        looked_at.add(path.name)
                        found.extend(str(path) for one in wanted if one in content)

    with reader.read(Upload(f"{mark}.epub", data), waiting=look) as reading:
        assert reading.told == ""
        look()
        assert mark in next(iter(reading)).text
    assert len(looked_at) > 10
    assert found == []
    assert left() == ([], [])


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's list of open files")
def test_a_chromium_ends_with_whoever_started_it(tmp_path: Path) -> None:
    require(browser.find_browser(), "no Chromium on this system (Debian: apt install chromium)")
    (tmp_path / "a.epub").write_bytes(book([chapter(f"<p>{WORDS * 400}</p>")] * 60))
    code = (
        "import pathlib, sys; from docmind.config import ReadingSettings; from docmind.reading.reader import Reader\n"
        "from docmind.records.documents import Upload\n"
        f"data = pathlib.Path({str(tmp_path / 'a.epub')!r}).read_bytes()\n"
        "Reader(ReadingSettings()).read(Upload('a.epub', data), waiting=lambda: print('drawing', flush=True))"
    )
    owner = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert owner.stdout is not None
    assert owner.stdout.readline() == b"drawing\n"
    below = psutil.Process(owner.pid).children(recursive=True)
    assert any("--remote-debugging-pipe" in command_of(child) for child in below)
    owner.kill()
    owner.wait()
    assert psutil.wait_procs(below, timeout=20)[1] == []
    assert folders(owner.pid) != []  # nobody was left to remove it: the next one does
    browser.remove_folder(browser.make_folder())
    assert folders(owner.pid) == []


def test_only_folders_of_a_chromium_that_has_ended_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(browser.tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(browser.os, "access", lambda *_: False)  # no /dev/shm
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    ended = tmp_path / f"{browser.FOLDER_PREFIX}{dead.pid}-a1b2c3d4"
    foreign = [
        tmp_path / f"{browser.FOLDER_PREFIX}{dead.pid}-my thesis",
        tmp_path / f"{browser.FOLDER_PREFIX}{dead.pid}-a1b2c3d4.bak",
        tmp_path / f"{browser.FOLDER_PREFIX}{os.getpid()}-a1b2c3d4",
        tmp_path / "outside",
    ]
    for folder in (ended, *foreign):
        folder.mkdir()
        (folder / "file").write_bytes(b"x")
    if os.name == "posix":
        (tmp_path / f"{browser.FOLDER_PREFIX}{dead.pid}-linked00").symlink_to(tmp_path / "outside")
    browser.remove_folder(browser.make_folder())
    assert not ended.exists()
    assert [folder.name for folder in foreign if not (folder / "file").exists()] == []


def folders(owner: int) -> list[Path]:
    places = {Path("/dev/shm"), Path(browser.tempfile.gettempdir())}
    return [folder for place in places if place.is_dir() for folder in place.glob(f"{browser.FOLDER_PREFIX}{owner}-*")]


def left() -> tuple[list[str], list[str]]:
    """Return processes and folders of our Chromium, after a moment for killed ones to end."""
    processes: list[str] = []
    for _ in range(50):
        processes = [
            str(one.pid)
            for one in psutil.Process().children(recursive=True)
            if any(browser.FOLDER_PREFIX in part for part in command_of(one))
        ]
        if not processes and not folders(os.getpid()):
            break
        time.sleep(0.1)
    return processes, [folder.name for folder in folders(os.getpid())]


@pytest.mark.slow
def test_paragraphs_of_a_book_are_known_on_its_sheets_and_not_divided(reader: Reader) -> None:
    said = " ".join(f"Paragraph {{n}} says in sentence {k} what the mill grinds on a working day." for k in range(5))
    body = "".join(f"<p>{said.format(n=n)}</p>" for n in range(12))
    pages, told = read(reader, book([chapter(f"<h1>The mill</h1>{body}<ol><li>Wheat is ground.</li></ol>")]))
    found = [
        (block.kind, page.text[block.start : block.end])
        for page in pages
        for block in unpack(page.blocks, len(page.text))
    ]
    assert told == ""
    assert len(pages) > 1
    assert [kind for kind, _text in found] == ["heading", *["paragraph"] * 12, "item"]
    assert [" ".join(text.split()) for kind, text in found if kind == "paragraph"] == [
        said.format(n=n) for n in range(12)
    ]
