"""Plain text: paragraphs, pages, and characters that were garbled before."""

from __future__ import annotations

import pytest

from docmind.blocks import Block, unpack
from docmind.reading.file_type import identify
from docmind.reading.formats import Rules, reader
from docmind.reading.formats.characters import mended
from docmind.reading.formats.text import encoding_of, plain
from docmind.records.documents import Upload
from each import each_of


@each_of(
    "text, encoding",
    [
        ("İstanbul şehri güzel, fiyatı 90 lira ve ışık çok.", "cp1254"),
        ("Þetta er íslenska með ð og þ og ý", "cp1252"),
        ("המחיר הוא 90 שקלים לכל סירה", "cp1255"),
        ("Цена 90 рублей за лодку в Москве.", "cp1251"),
        ("Der Preis für die Tür beträgt 90 Mark.", "cp850"),
        ("Le café coûte à Genève", "cp850"),
        ("Ação e coração de São João", "cp1252"),
        ("L’été à l’œuvre coûte 5 €, déjà vu", "cp1252"),
        ("Žluťoučký kůň stojí 90 Kč.", "cp1250"),
        ("Die Tür kostet 5 € für Müller – “so”.", "cp1252"),
        ("这是一个关于北京的中文文本，价格是五元。" * 3, "gb18030"),
    ],
)
def test_old_encodings_are_known_by_their_letters(text: str, encoding: str) -> None:
    data = text.encode(encoding)
    assert data.decode(encoding_of(data), "replace") == text


GERMAN = "Die Tür schließt um zwölf"


def texts(source: str) -> list[str]:
    return [block.text for block in plain(source) if isinstance(block, Block)]


def garbled(text: str, *, encoding: str = "cp1252") -> str:
    """Return a text as it is when its UTF-8 was taken for another encoding; undefined bytes stand for themselves."""
    if encoding == "latin-1":
        return text.encode().decode("latin-1")
    return "".join(bytes([byte]).decode("cp1252", "ignore") or chr(byte) for byte in text.encode())


@each_of("text", [GERMAN, "Überraschung", "l’été à l’œuvre – 5 €", "ação à Á Í", "日本語", "Łódź", "“so”…"])
@pytest.mark.parametrize("encoding", ["cp1252", "latin-1"])
def test_garbled_text_is_mended(text: str, encoding: str) -> None:
    assert garbled(text, encoding=encoding) != text
    assert mended(garbled(text, encoding=encoding)) == text
    assert mended(garbled(garbled(text))) == text


@each_of(
    "text",
    [
        GERMAN,
        "plain",
        "A UTF-8 “ü” that is read as Latin-1 looks like Ã¼ – nothing else does",
        "São Paulo: “Ã¼” é assim",
        "NÃO SEI, IRMÃ. «IRMû",
        "Preis: 5 €, Größe: 3 m²",
        "日本語 Ã¼",
    ],
)
def test_text_that_was_written_rightly_stays(text: str) -> None:
    assert mended(text) == text


def test_a_line_that_was_garbled_among_others_is_mended() -> None:
    assert mended(f"ação é\n{garbled(GERMAN)}\nação ü") == f"ação é\n{GERMAN}\nação ü"


def test_a_garbled_file_is_read() -> None:
    for kind in ("txt", "markdown"):
        opened = reader(kind)(Upload("a", garbled(GERMAN).encode()), kind, Rules())
        assert opened.page(1).text == GERMAN
    opened = reader("code")(Upload("a.py", "x = 'Ã¼'".encode()), "code", Rules())
    assert opened.page(1).text == "x = 'Ã¼'", "source code may mean it"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\u2028", "\u2029", "\x85"])
def test_every_line_end_ends_a_line(end: str) -> None:
    opened = reader("txt")(Upload("a.txt", f"one{end}two".encode()), "txt", Rules())
    assert opened.page(1).text == "one\n\ntwo"


def test_a_form_feed_ends_a_page() -> None:
    opened = reader("txt")(Upload("a.txt", b"one\n\ftwo\n\f\fthree"), "txt", Rules())
    assert [opened.page(number).text for number in range(1, opened.pages + 1)] == ["one", "two", "three"]


WRAPPED = """The keeper of the old lighthouse lit the lamp at dusk every
evening, and nobody on the mainland ever saw how he carried the
oil up the stairs. In the winter of that year the storms came
early, so that the boat with the provisions could not land for
three weeks.

The second paragraph.
Ada Heron
Mill Lane 4

1. The first rule of the house is that the lamp is never left
   alone.
2. The second one."""


def test_lines_broken_at_a_width_are_paragraphs_again() -> None:
    found = texts(WRAPPED)
    assert found[0].startswith("The keeper of the old lighthouse lit the lamp at dusk every evening, and nobody")
    assert found[0].endswith("could not land for three weeks.")
    assert found[1:4] == ["The second paragraph.", "Ada Heron", "Mill Lane 4"]
    assert found[-1] == "2. The second one."


@each_of(
    "source",
    [
        "\n".join(f"2024-03-{day} the pump ran for {day} hours and the tank was full" for day in range(10, 30)),
        "\n".join(f"Heron number {number} stood on the northern bank of the river at noon" for number in range(10, 40)),
        "Short lines.\nof a poem\nthat nobody\nwould join",
    ],
)
def test_lines_that_stand_for_themselves_stay_apart(source: str) -> None:
    assert texts(source) == source.split("\n")


def test_a_plain_text_keeps_where_blank_lines_stood() -> None:
    blocks = [block for block in plain("Title\n\nSkippers\n\nAna\nRui\n") if isinstance(block, Block)]
    assert [(block.text, block.level) for block in blocks] == [("Title", 0), ("Skippers", 1), ("Ana", 1), ("Rui", 0)]


@each_of(
    "name, text, wanted",
    [
        ("a.rst", "====\nPond\n====\n\nWords here.\n\nDepth\n-----\nIt is 3 m.\n\n----\n\nFish\n----\n",
         [(1, "Pond"), (0, "Words here."), (2, "Depth"), (0, "It is 3 m."), (0, "----"), (2, "Fish")]),
        ("a.rst", "a | b\n===  ===\n---\nlonger title\n---", [(0, "a | b"), (0, "=== ==="), (0, "---"),
         (0, "longer title"), (0, "---")]),
        ("a.org", "#+TITLE: Pond\n* TODO One :tag:\ntext\n** Two\n#+begin_src\n* no\n#+end_src\n",
         [(1, "Pond"), (1, "One"), (0, "text"), (2, "Two"), (0, "#+begin_src"), (0, "* no"), (0, "#+end_src")]),
        ("a.tex", "\\title{The {Big} Pond}\n\\section*{Depth}\nIt is $3$ m.\n\\subsection[s]{Fish}\n\\section{open\n",
         [(1, "The {Big} Pond"), (2, "Depth"), (0, "It is $3$ m."), (3, "Fish"), (0, "\\section{open")]),
        ("a.txt", "Pond\n====\n", [(0, "Pond"), (0, "====")]),
    ],
)  # fmt: skip
def test_headings_of_light_markup(name: str, text: str, wanted: list[tuple[int, str]]) -> None:
    upload = Upload(name, text.encode())
    kind, _upload = identify(upload)
    page = reader(kind)(upload, kind, Rules()).page(1)
    found = [(block.level if block.kind == "heading" else 0, page.text[block.start : block.end])
             for block in unpack(page.blocks, len(page.text))]  # fmt: skip
    assert (kind, found) == ({"rst": "rst", "org": "org", "tex": "latex"}.get(name[-3:], "txt"), wanted)
