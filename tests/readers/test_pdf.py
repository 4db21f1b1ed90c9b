"""PDF: text, boxes, titles, odd pages."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

import papers
from docmind.errors import CorruptFileError
from docmind.readers import Rules
from docmind.readers.pdf import open_pdf
from docmind.readers.pdftext import _clean, _unswap
from docmind.readers.title import sensible_title
from docmind.schema import Upload
from docmind.words import Words

HYPHEN = "\ufffe"


def page_of(data: bytes, page_no: int = 1):
    return open_pdf(Upload("a.pdf", data), "pdf", Rules()).page(page_no)


@pytest.mark.parametrize("rotate", [0, 90, 180, 270])
@pytest.mark.parametrize("box", ["", "/CropBox [36 100 500 780]"])
def test_boxes_lie_on_the_ink(rotate: int, box: str) -> None:
    page = page_of(papers.pdf([papers.line("Hamburg HHHHH", x=120, y=400)], rotate=rotate, box=box))
    assert page.text == "Hamburg HHHHH"
    ink = np.asarray(Image.open(io.BytesIO(page.image)).convert("L")) < 128
    inside = np.zeros_like(ink)
    for x, y, w, h in Words.unpack(page.words).boxes.astype(int):
        inside[max(0, y - 2) : y + h + 2, max(0, x - 2) : x + w + 2] = True
        assert ink[y : y + h, x : x + w].any()
    assert ink.any()
    assert not (ink & ~inside).any()


def test_text_outside_the_crop_box_has_no_box() -> None:
    content = papers.line("seen", y=400) + " " + papers.line("cut", y=20)
    page = page_of(papers.pdf([content], box="/CropBox [0 100 612 792]"))
    boxes = dict(zip(page.text.split(), Words.unpack(page.words).boxes.tolist(), strict=True))
    assert boxes["seen"][3] > 0
    assert "cut" not in boxes or boxes["cut"][3] == 0


def test_a_word_over_two_lines_is_one_word_with_two_boxes() -> None:
    content = papers.line("a collabora-", y=700) + " " + papers.line("tion ends", y=670)
    page = page_of(papers.pdf([content]))
    assert page.text == "a collaboration ends"
    words = Words.unpack(page.words)
    assert [page.text[s:e] for s, e in zip(words.starts, words.ends, strict=True)] == ["a", "collabora", "tion", "ends"]
    assert len(words.boxes_of(2, 15)) == 2


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        (f"informa{HYPHEN}tion", "information"),
        (f"fine{HYPHEN}tuning of fine-tuning", "fine-tuning of fine-tuning"),
        (f"pre{HYPHEN}trained and pretrained", "pretrained and pretrained"),
        (f"time-and{HYPHEN}materials", "time-and-materials"),
        (f"Anglo{HYPHEN}Saxon", "Anglo-Saxon"),
        (f"4D{HYPHEN}tensor", "4D-tensor"),
        ("a\x00b \x01 c\x02", "ab c"),
        ("one\r\ntwo  three", "one\ntwo three"),
        ("e\u0301t\u00e9 o\ufb03ce", "été office"),
        ("\ufee3\ufe9a", "\u0645\u062b"),
        ("m² of 1½ …", "m² of 1½ …"),
        ("", ""),
    ],
)
def test_cleaning(raw: str, clean: str) -> None:
    pieces, text = _clean(raw, set())
    assert text == clean
    assert all(text[start:end].strip() == text[start:end] != "" for start, end, _, _ in pieces)
    assert "".join(text[start:end] for start, end, _, _ in pieces) == "".join(text.split())


def test_swapped_bytes_are_put_right() -> None:
    assert _unswap("䴀甀氀\r\n琀椀") == "Mul\r\nti"
    assert _unswap("적립 제외 대상") == "적립 제외 대상"


@pytest.mark.parametrize(
    ("raw", "title"),
    [
        ("Annual Report 2022", "Annual Report 2022"),
        ("Microsoft Word - draft3.doc", ""),
        ("untitled", ""),
        ("report_final.indd", ""),
        ("a", ""),
        ("0001-22-003", ""),
        ("My File", ""),
        ("  spread \x00 out ", "spread out"),
    ],
)
def test_titles(raw: str, title: str) -> None:
    assert sensible_title(raw, "my file.pdf") == title


def test_a_page_that_cannot_be_loaded_does_not_take_the_others_along() -> None:
    data = papers.pdf([papers.line("first"), papers.line("second"), papers.line("third")])
    broken = data.replace(b"5 0 obj\n<< /Type /Page ", b"5 0 obj\n<< /Type /Nope ").replace(
        b"5 0 R 7 0 R", b"99 0 R 7 0 R"
    )
    opened = open_pdf(Upload("a.pdf", broken), "pdf", Rules())
    pages = [opened.page(number) for number in range(1, opened.pages + 1)]
    assert {"first", "third"} <= {page.text for page in pages}
    assert all(page.image for page in pages)


def test_a_pdf_that_was_cut_off() -> None:
    with pytest.raises(CorruptFileError, match="broken or was cut off"):
        open_pdf(Upload("a.pdf", b"%PDF-1.7\n%%EOF"), "pdf", Rules())


def test_a_very_large_page_is_drawn_within_limits() -> None:
    page = page_of(papers.pdf([papers.line("x")]).replace(b"[0 0 612 792]", b"[0 0 14000 99]"))
    assert page.width == 1_600
    assert page.height >= 1
