"""Any file to pages, through the real reading processes."""

from __future__ import annotations

import io
import queue
import threading
import time
from collections.abc import Iterator
from typing import Any

import docx
import pytest
from PIL import Image

import papers
from archives import packed
from conftest import require
from docmind import errors
from docmind.blocks import unpack
from docmind.config import ReadingSettings
from docmind.documents.words import Words
from docmind.reading.reader import Reader, Reading, enclosed_of, page_of
from docmind.reading.sheets import is_sheet
from docmind.records.documents import PageFigure, ParsedPage, Upload
from docmind.runtime.worker import Frame, Worker
from sampled import tenth_of

EXPECTED = {"empty": errors.EmptyFileError, "corrupt": errors.CorruptFileError, "too-large": errors.TooLargeError}
# The set's own notes are wrong here: "password" does not open this workbook.
WRONG_PASSWORD = "pw.xlsx"
MANY = 100  # pages of a document from which on a tenth of them is read


@pytest.fixture(scope="module")
def reader():
    with Reader(ReadingSettings()) as reader:
        yield reader


@pytest.fixture(scope="module")
def small() -> Iterator[Reader]:
    """Make page images of the smallest size, for many pages."""
    with Reader(ReadingSettings(image_side_px=400)) as reader:
        yield reader


def pages_of(reader: Reader, upload: Upload) -> list[ParsedPage]:
    with reader.read(upload) as reading:
        return list(reading)


@pytest.mark.slow
def test_a_pdf_gives_text_words_picture_and_thumbnail(reader: Reader) -> None:
    data = papers.pdf([papers.line("Hello brave world")], title="A Sound Title")
    with reader.read(Upload("a.pdf", data)) as reading:
        assert (reading.kind, reading.facts["title"], reading.pages) == ("pdf", "A Sound Title", 1)
        (page,) = reading
    assert page.text == "Hello brave world"
    assert not page.needs_ocr
    assert max(page.width, page.height) == 1_600
    words = Words.unpack(page.words)
    assert [page.text[s:e] for s, e in zip(words.starts, words.ends, strict=True)] == ["Hello", "brave", "world"]
    image = Image.open(io.BytesIO(page.image))
    assert (image.format, image.size) == ("WEBP", (page.width, page.height))
    assert max(Image.open(io.BytesIO(page.thumbnail)).size) == 320


@pytest.mark.slow
def test_pages_come_in_order_and_stored_ones_are_left_out(reader: Reader) -> None:
    data = papers.pdf([papers.line(f"page {number}") for number in range(1, 6)])
    with reader.read(Upload("a.pdf", data), skip={2, 3}) as reading:
        assert [(page.page_no, page.text) for page in reading] == [(1, "page 1"), (4, "page 4"), (5, "page 5")]


@pytest.mark.slow
def test_blank_pages_keep_their_numbers(reader: Reader) -> None:
    pages = pages_of(reader, Upload("a.pdf", papers.pdf(["", papers.line("second"), ""])))
    assert [(page.page_no, page.text, page.text_source) for page in pages] == [
        (1, "", "none"),
        (2, "second", "layer"),
        (3, "", "none"),
    ]


@pytest.mark.slow
def test_a_document_of_blank_pages_is_empty(reader: Reader) -> None:
    with pytest.raises(errors.EmptyFileError, match=r"a\.pdf has no text"):
        pages_of(reader, Upload("a.pdf", papers.pdf(["", ""])))


def test_limits_are_named_with_the_setting_that_raises_them() -> None:
    with Reader(ReadingSettings(max_pages=2, max_file_mb=1)) as reader:
        with pytest.raises(errors.TooLargeError, match=r"3 pages") as caught:
            pages_of(reader, Upload("a.pdf", papers.pdf([papers.line("x")] * 3)))
        assert "DOCMIND_READING__MAX_PAGES" in caught.value.hint
        with pytest.raises(errors.TooLargeError, match="2 MB"):
            reader.read(Upload("a.txt", b"x" * (2 << 20)))
        with pytest.raises(errors.TooLargeError, match="fills more than 2 pages"):
            reader.read(Upload("a.txt", b"word\n" * 2_000))


@pytest.mark.slow
def test_closing_ends_a_reading_at_once(reader: Reader) -> None:
    with reader.read(Upload("a.pdf", papers.pdf([papers.line("x")] * 300))) as reading:
        pages = iter(reading)
        next(pages)
        threading.Timer(0.2, reading.close).start()
        started = time.monotonic()
        with pytest.raises(errors.ReaderFailedError, match="closed"):
            list(pages)
        assert time.monotonic() - started < 20


@pytest.mark.slow
@pytest.mark.parametrize(("deaths", "empty"), [(1, 0), (2, 1)])
def test_a_page_that_kills_the_process_twice_is_empty(
    small: Reader, monkeypatch: pytest.MonkeyPatch, deaths: int, empty: int
) -> None:
    """Killed from outside as page 9 is asked for: once costs nothing, for it may have been the system."""
    left, receive = [deaths], Reading._receive

    def killed(self: Reading) -> Frame:
        if len(self._skip) == 8 and left[0]:
            left[0] -= 1
            assert self._worker is not None
            self._worker.kill()
        return receive(self)

    monkeypatch.setattr(Reading, "_receive", killed)
    with small.read(Upload("a.pdf", papers.pdf([papers.line(f"page {n}") for n in range(1, 31)]))) as reading:
        seen = list(reading)
    assert [page.page_no for page in seen] == list(range(1, 31))
    assert [page.page_no for page in seen if page.text == ""] == [9] * empty
    assert [(loss.kind, loss.place) for loss in reading.losses] == [("page", "page 9")] * empty


@pytest.mark.slow
def test_tables_and_losses_of_a_process_that_died_are_kept(small: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed as page 3 is asked for: each page has a table of its own and a drawing that is not read."""
    rows = [["Group", "2022", "2023"], ["Wax", "1,204.5", "900"], ["Honey", "88", "12"], ["Skeps", "7", "60"]]
    table = " ".join(
        papers.line(cell, x=72 + 120 * column, y=700 - 16 * row, size=10)
        for row, cells in enumerate(rows)
        for column, cell in enumerate(cells)
    )
    ink = "/Annots [<< /Type /Annot /Subtype /Ink /Rect [70 500 160 540] /InkList [[70 500 160 540]] >>]"
    data = papers.pdf([table.replace("Wax", f"Wax {number}") for number in range(1, 31)], box=ink)
    left, receive = [1], Reading._receive

    def killed(self: Reading) -> Frame:
        if len(self._skip) == 20 and left[0]:
            left[0] -= 1
            assert self._worker is not None
            self._worker.kill()
        return receive(self)

    monkeypatch.setattr(Reading, "_receive", killed)
    with small.read(Upload("a.pdf", data)) as reading:
        pages = list(reading)
    assert left == [0]
    numbers = [{one.table.number for one in unpack(page.blocks, len(page.text)) if one.table} for page in pages]
    assert all(len(each) == 1 for each in numbers)
    assert numbers[0].isdisjoint(set().union(*numbers[20:]))
    assert {(loss.kind, loss.count, loss.place) for loss in reading.losses} == {
        ("annotation", 1, f"page {number}") for number in range(1, 31)
    }


FILES = {f"{number}.txt": f"The heron of the lake number {number}." for number in range(1, 6)}


@pytest.mark.slow
def test_files_inside_come_after_the_pages(reader: Reader) -> None:
    with reader.read(Upload("a.zip", packed(FILES))) as reading:
        assert len(list(reading)) == reading.pages == 1
        assert {one.name: one.data.decode() for one in reading.enclosed()} == FILES
        assert reading.broke_off == ""
    with reader.read(Upload("a.zip", packed(FILES)), skip={1}) as reading:  # its page is stored already
        assert list(reading) == []
        assert len(list(reading.enclosed())) == 5


@pytest.mark.slow
@pytest.mark.parametrize("at", [0, 3])
def test_a_process_that_dies_among_the_files_inside_leaves_those_before(
    reader: Reader, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    receive, inside = Reading._receive, [0]

    def killed(self: Reading) -> Frame:
        frame = receive(self)
        inside[0] += "enclosed" in frame[0]
        if inside[0] > at:
            raise errors.WorkerFailedError("killed")
        return frame

    monkeypatch.setattr(Reading, "_receive", killed)
    with reader.read(Upload("a.zip", packed(FILES))) as reading:
        assert len(list(reading)) == 1
        assert len(list(reading.enclosed())) == at
        assert reading.broke_off.endswith(": killed.")


@pytest.mark.slow
def test_a_process_that_sends_too_many_files_or_bytes_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("docmind.reading.reader._MOST_ENCLOSED", 3)
    with Reader(ReadingSettings()) as reader, reader.read(Upload("a.zip", packed(FILES))) as reading:
        list(reading)
        assert len(list(reading.enclosed())) == 3
        assert "more than 3 files" in reading.broke_off
    large = packed({"a.txt": "heron " * 300_000, "b.txt": "stork " * 300_000})
    monkeypatch.setattr(Reader, "most_enclosed_bytes", 2_000_000)
    with Reader(ReadingSettings()) as reader, reader.read(Upload("a.zip", large)) as reading:
        list(reading)
        assert [one.name for one in reading.enclosed()] == ["a.txt"]
        assert "more than can be sound" in reading.broke_off


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        ("2025/lease.txt", "2025/lease.txt"),
        ("../../etc/passwd", "etc/passwd"),
        ("C:\\x\\y.txt", "C:/x/y.txt"),
        ("a\u202eb\n.txt", "ab .txt"),
        ("..", ""),
        ("\udcff.txt", "?.txt"),
    ],
)
def test_names_of_files_inside_lead_to_no_place(raw: str, name: str) -> None:
    assert enclosed_of(({"enclosed": raw, "failed": ""}, [b"x"])).name == name


def test_a_file_inside_without_a_name_is_a_failure_of_the_process() -> None:
    whole: dict[str, Any] = {"enclosed": "a", "failed": ""}
    bad: list[Frame] = [({**whole, "enclosed": 1}, [b""]), ({"enclosed": "a"}, [b""]), (whole, [])]
    for frame in bad:
        with pytest.raises(errors.WorkerFailedError):
            enclosed_of(frame)


@pytest.mark.slow
def test_a_process_that_dies_as_it_reopens_counts_at_the_page(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed at page 9, and once more before it can say that the document is open again."""
    starts, start, receive = [0], Reader.start, Reading._receive

    def dead(self: Reader, *arguments: Any, **more: Any) -> Worker:
        worker = start(self, *arguments, **more)
        starts[0] += 1
        if starts[0] == 2:
            worker.kill()
            worker._frames = queue.Queue()
        return worker

    def killed(self: Reading) -> Frame:
        if len(self._skip) == 8 and starts[0] == 1:
            assert self._worker is not None
            self._worker.kill()
            raise errors.WorkerFailedError("killed")
        return receive(self)

    monkeypatch.setattr(Reader, "start", dead)
    monkeypatch.setattr(Reading, "_receive", killed)
    with reader.read(Upload("a.pdf", papers.pdf([papers.line(f"page {n}") for n in range(1, 13)]))) as reading:
        seen = list(reading)
    assert starts[0] == 3
    assert [page.page_no for page in seen] == list(range(1, 13))
    assert [page.page_no for page in seen if page.text == ""] == [9]


@pytest.mark.slow
def test_a_process_that_dies_while_it_opens_gets_one_more_try(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    deaths, start = [1], Reader.start

    def dead(self: Reader, *arguments: Any, **more: Any) -> Worker:
        worker = start(self, *arguments, **more)
        if deaths[0]:
            deaths[0] -= 1
            worker.kill()
        return worker

    monkeypatch.setattr(Reader, "start", dead)
    monkeypatch.setattr(Reader, "warm", lambda _reader: None)  # one that is up already answers before it is killed
    reader.close()
    upload = Upload("a.pdf", papers.pdf([papers.line("zebra")]))
    assert "zebra" in pages_of(reader, upload)[0].text
    deaths[0] = 2
    with pytest.raises(errors.ReaderFailedError, match="while it was opened"):
        reader.read(upload)


@pytest.mark.slow
def test_the_process_that_never_answers_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("docmind.reading.reader._ENTRY", "children:hang")
    with (
        Reader(ReadingSettings(timeout_s=0.5)) as reader,
        pytest.raises(errors.ReaderFailedError, match="said nothing"),
    ):
        reader.read(Upload("a.pdf", papers.pdf([papers.line("x")])))


@pytest.mark.slow
def test_a_locked_workbook_opens_with_its_password(reader: Reader) -> None:
    from msoffcrypto.format.ooxml import OOXMLFile

    locked = io.BytesIO()
    OOXMLFile(io.BytesIO(papers.workbook([["zebra", 7]]))).encrypt("hush", locked)
    with pytest.raises(errors.PasswordNeededError, match="A password is needed"):
        reader.read(Upload("b.xlsx", locked.getvalue()))
    with pytest.raises(errors.PasswordNeededError, match="That password does not open"):
        reader.read(Upload("b.xlsx", locked.getvalue(), "wrong"))
    assert "zebra | 7" in pages_of(reader, Upload("b.xlsx", locked.getvalue(), "hush"))[0].text


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("row", papers.manifest(), ids=lambda row: row["file"].removeprefix("bad/"))
def test_the_damaged_and_odd_files(small: Reader, row: dict) -> None:
    name, data = row["file"].removeprefix("bad/"), papers.devset(row["file"])
    if row["expected"] in EXPECTED:
        with pytest.raises(EXPECTED[row["expected"]]) as caught:
            pages_of(small, Upload(name, data))
        assert name in str(caught.value)
        assert str(caught.value).endswith(".")
    elif row["expected"] == "password":
        with pytest.raises(errors.PasswordNeededError, match="A password is needed"):
            small.read(Upload(name, data))
        with pytest.raises(errors.PasswordNeededError, match="That password does not open"):
            small.read(Upload(name, data, "not this one"))
        if name != WRONG_PASSWORD:
            assert pages_of(small, Upload(name, data, row["password"]))[0].text
    elif row["expected"] == "corrupt-or-ok":
        try:
            assert pages_of(small, Upload(name, data))
        except errors.CorruptFileError as error:
            assert name in str(error)  # noqa: PT017 - either end is right
    else:
        every = range(1, row.get("observed", {}).get("pages", 0) + 1)
        wanted = tenth_of(every) if len(every) > MANY else []
        with small.read(Upload(name, data), skip=set(every).difference(wanted) if wanted else ()) as reading:
            pages = list(reading)
        assert [page.page_no for page in pages] == (wanted or list(range(1, len(pages) + 1)))
        assert all(max(page.width, page.height) <= 400 for page in pages)
        assert all(page.image and (page.thumbnail or is_sheet(page.image)) for page in pages)
        text = "\n".join(page.text for page in pages)
        assert text or row["expected"] == "ok-no-text"
        assert row["expected"] == "ok-no-text" or row.get("probe", "") in text
        for page in pages:
            assert all(page.text[s:e].strip() for s, e in _spans(page))


@pytest.mark.slow
def test_scans_and_only_scans_are_sent_to_ocr(small: Reader) -> None:
    require(papers.DEVSET.exists(), "no measuring set beside the repository")
    for name, wanted in (("en_doj_forfeiture_scan", 16), ("pt_regimento_almg_scan", 12), ("pt_gazette_pratania", 0)):
        pages = pages_of(small, Upload(f"{name}.pdf", papers.devset(f"docs/{name}.pdf")))
        assert sum(page.needs_ocr for page in pages) == wanted, name


def _spans(page: ParsedPage) -> list[tuple[int, int]]:
    words = Words.unpack(page.words)
    return list(zip(words.starts.tolist(), words.ends.tolist(), strict=True))


@pytest.mark.slow
def frame_of(figures: list[list[Any]], images: bytes) -> tuple[dict[str, Any], list[bytes]]:
    """Return a page of 90 by 60 pixels as a reading process sends it."""
    head = {
        "page_no": 1, "width": 90, "height": 60, "text_source": "layer", "confidence": 1.0, "needs_ocr": False,
        "is_layer_suspect": False, "dpi": 0, "figures": figures,
    }  # fmt: skip
    return head, [b"A caption", b"", b"image", b"thumbnail", b"", b"", images]


IMAGE = b"RIFF\0\0\0\0WEBPVP8 "
LOOK = "0123456789abcdef"
FIGURE: list[Any] = [[10, 20, 30, 40], [300, 400], "A\nheron ", "A caption", 0, 9, LOOK, len(IMAGE), "photo"]


def test_the_figures_of_a_page() -> None:
    other = [[0, 0, 90, 60], [1, 1], "", "", 0, 0, LOOK, len(IMAGE), "graphic"]
    page = page_of(frame_of([FIGURE, other], IMAGE * 2), 1, ())
    first = PageFigure(
        box=(10, 20, 30, 40),
        size=(300, 400),
        text="A heron",
        caption="A caption",
        start=0,
        end=9,
        phash=LOOK,
        image=IMAGE,
        kind="photo",
    )
    assert page.figures == (first, PageFigure(box=(0, 0, 90, 60), size=(1, 1), phash=LOOK, image=IMAGE))


@pytest.mark.parametrize(
    ("at", "lie"),
    [
        (0, [61, 20, 30, 40]),
        (0, [10, 20, 0, 40]),
        (0, [-1, 20, 30, 40]),
        (0, [10, 20, 30]),
        (0, [10.5, 20, 30, 40]),
        (1, [0, 400]),
        (1, [300]),
        (2, None),
        (3, 7),
        (4, -1),
        (5, 10),
        (5, "9"),
        (6, "no look"),
        (7, len(IMAGE) + 1),
        (7, -1),
        (7, 5),
        (8, "painting"),
        (8, None),
    ],
)
def test_figures_that_cannot_be_of_a_page(at: int, lie: Any) -> None:
    figure = [*FIGURE[:at], lie, *FIGURE[at + 1 :]]
    with pytest.raises(errors.WorkerFailedError):
        page_of(frame_of([figure], IMAGE), 1, ())


def test_more_figures_than_a_page_has() -> None:
    assert len(page_of(frame_of([FIGURE] * 64, IMAGE * 64), 1, ()).figures) == 64
    with pytest.raises(errors.WorkerFailedError):
        page_of(frame_of([FIGURE] * 65, IMAGE * 65), 1, ())


@pytest.mark.parametrize(
    "how",
    [
        'opened{"kind": "../x"}',
        'opened{"pages": "2"}',
        'opened{"facts": null}',
        'opened{"told": 7}',
        'page{"page_no": 3}',
        'page{"width": 1e99}',
        'page{"height": 100000}',
        'page{"confidence": "sure"}',
        'page{"text_source": "god"}',
        'page{"more": 1}',
        'page{"losses": [["picture", "2", ""]]}',
        "blobs",
        "words",
        "letters",
        "error",
        "the same page for ever",
    ],
)
def test_a_reading_process_that_lies_is_one_sentence(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("docmind.reading.reader._ENTRY", "children:lie_about_a_document")
    with Reader(ReadingSettings(timeout_s=20)) as reader, pytest.raises(errors.ReadingError):
        pages_of(reader, Upload(how, b"%PDF-"))


def test_figures_come_from_the_reading_process(reader: Reader) -> None:
    document = docx.Document()
    document.add_paragraph("The herons of the lake")
    document.add_picture(io.BytesIO(papers.picture(size=(300, 200))))
    document.add_paragraph("Figure 1. A heron")
    out = io.BytesIO()
    document.save(out)
    (page,) = pages_of(reader, Upload("a.docx", out.getvalue()))
    (figure,) = page.figures
    assert (figure.size, figure.caption) == ((300, 200), "Figure 1. A heron")
    assert Image.open(io.BytesIO(figure.image)).size == (300, 200)
