"""Titles and outlines by the size of print; a line with a clear size is a row of the toy."""

from __future__ import annotations

import pytest

from docmind.blocks import PageBlock
from docmind.documents.titles import in_title_case, outline_of, printed_title, sensible_title, title_of
from docmind.documents.words import Words
from docmind.records.documents import Heading
from each import each_of


def printed(*lines: tuple[str, int]) -> tuple[str, Words]:
    """Return a page of lines, each with the height of its words in pixels."""
    text, spans, boxes = "", [], []
    for number, (line, height) in enumerate(lines):
        at = len(text)
        for word in line.split():
            start = text.find(word, at) if word in text[at:] else at
            start = at + line.find(word, start - at)
            spans.append((start, start + len(word)))
            boxes.append((10.0, 40.0 * number, 12.0 * len(word), float(height)))
        text += f"{line}\n"
    return text, Words.of(spans, boxes)


BODY = ("The tenant gives notice three months before the end of the quarter", 10)


def test_the_largest_print_is_the_title() -> None:
    assert printed_title(*printed(("page 1", 8), ("Lease of the", 20), ("workshop", 19), BODY, BODY)) == (
        "Lease of the workshop"
    )


@pytest.mark.parametrize(
    "lines",
    [(BODY, BODY), (("12.50 €", 30), BODY), (("A very long line " * 12, 30), BODY), ()],
    ids=["one size", "a number", "too long", "nothing"],
)
def test_other_pages_have_no_title(lines: tuple[tuple[str, int], ...]) -> None:
    assert printed_title(*printed(*lines)) == ""


def test_a_title_is_sanitized() -> None:
    assert printed_title(*printed(("Lease\u202e of\x07 it", 20), BODY, BODY)) == "Lease of\ufffd it"


def test_headings_have_levels_and_pages_and_no_running_heads() -> None:
    pages = [
        (number, *printed((f"Annual report {number}", 13), (f"Chapter {name}", 18), ("Costs", 13), BODY, BODY, BODY))
        for number, name in enumerate(("one", "two", "three"), 1)
    ]
    found = outline_of(pages)
    assert found[0] == Heading(1, "Chapter one", 1)
    assert [heading.text for heading in found if heading.level == 1] == ["Chapter one", "Chapter two", "Chapter three"]
    assert not any("Annual report" in heading.text for heading in found)
    assert outline_of([]) == ()


def test_words_without_a_place_say_nothing() -> None:
    assert printed_title(*printed(("Lease", 0), ("of it", 0))) == ""
    assert outline_of([(1, *printed(("Lease", 0), ("of it", 0)))]) == ()


def test_the_ink_of_a_word_is_not_its_print() -> None:
    """The height of ink differs by a third within one print of 100 pixels."""
    text = "Aces\nsmall rooms may vary\nsome jugs of amber beer\n"
    heights = {
        "Aces": 72,
        "rooms": 53,
        "small": 72,
        "may": 74,
        "vary": 74,
        "some": 53,
        "jugs": 93,
        "of": 72,
        "amber": 72,
        "beer": 72,
    }
    spans, boxes, at = [], [], 0
    for word in text.split():
        at = text.index(word, at)
        spans.append((at, at + len(word)))
        boxes.append((0.0, 0.0, 400.0, float(heights[word])))
    assert outline_of([(1, text, Words.of(spans, boxes))]) == ()
    boxes[0] = (0.0, 0.0, 400.0, 110.0)
    assert outline_of([(1, text, Words.of(spans, boxes))]) == (Heading(2, "Aces", 1),)


def test_print_on_its_side_and_ends_of_sentences_are_no_headings() -> None:
    text, words = printed(("Downloaded elsewhere", 30), ("Costs of the year.", 20), ("of the year", 20), BODY, BODY)
    sideways = words.boxes.copy()
    sideways[:2, 2] = 8.0
    found = Words(words.starts, words.ends, sideways)
    assert outline_of([(1, text, found)]) == ()
    assert printed_title(text, found) == "Costs of the year. of the year"


def headed(*blocks: tuple[str, str, int]) -> tuple[str, Words, list[PageBlock]]:
    """Return a page of blocks, each with its kind and level, in one print."""
    text, words = printed(*((line, 10) for _kind, line, _level in blocks))
    found = []
    for kind, line, level in blocks:
        start = text.index(line)
        found.append(PageBlock(kind, start, start + len(line), level))  # type: ignore[arg-type]
    return text, words, found


def test_a_heading_of_the_file_comes_before_print_and_is_one_heading() -> None:
    lease = headed(("heading", "Lease of the flat", 1), ("heading", "1 Parties", 1), ("paragraph", "It is let.", 0))
    assert title_of([lease]) == "Lease of the flat"
    rooms = headed(("heading", "Kitchen", 1), ("paragraph", "It was cleaned.", 0))
    more = headed(("heading", "Bathroom", 1), ("paragraph", "It was painted.", 0))
    assert title_of([rooms]) == "Kitchen"
    assert title_of([rooms, more]) == "", "a lone word beside others of its level is no title"


def test_the_first_line_of_a_plain_text_and_the_subject_of_a_mail_are_titles() -> None:
    text = headed(("paragraph", "Statutes of the rowing club", 0), ("paragraph", "4.1 Members pay in January.", 0))
    assert title_of([text]) == "Statutes of the rowing club"
    mail = headed(("paragraph", "From: Jo <jo@lind.example>", 0), ("paragraph", "Subject: Boiler inspection", 0))
    assert title_of([mail]) == "Boiler inspection"


def test_authors_and_a_numbered_heading_are_no_part_of_a_title() -> None:
    assert printed_title(*printed(("Lease of the flat", 20), ("1 Parties", 20), BODY, BODY)) == "Lease of the flat"
    paper = (("Checking complex claims", 20), ("Liang Pan1,2 Xiao Wu3 Xin Lu4", 20), BODY, BODY)
    assert printed_title(*printed(*paper)) == "Checking complex claims"


def test_what_names_no_single_document_gives_way() -> None:
    court = (
        ("United States Court of Appeals", 20),
        ("MARA VALE,", 10),
        ("Plaintiff,", 10),
        ("v.", 10),
        ("JO LIND,", 10),
    )
    assert title_of([(*printed(*court, BODY, BODY), [])]) == "MARA VALE v. JO LIND"
    form = (("UNITED STATES", 20), ("FORM 10-Q", 10), ("Flores Inc.", 10), ("(Exact name of registrant)", 10))
    assert title_of([(*printed(*form, BODY, BODY), [])]) == "Flores Inc., Form 10-Q"
    assert title_of([(*printed(("Transactions", 20), BODY, BODY), [])]) == ""
    assert title_of([headed(("paragraph", "CHAPTER 1", 0), ("paragraph", "Ships were counted.", 0))]) == ""
    assert title_of([]) == ""


BAD_TITLES = (
    "(anonymous)", "Anonymous", "untitled", "Untitled-1", "Untitled Document", "[Untitled]", "Unbenannt 1",
    "Sem título", "Sin título", "Sans titre", "Ohne Titel", "no title", "Unknown", "None", "null", "Title",
    "Microsoft Word - x.doc", "Microsoft Word - Final report March", "Microsoft PowerPoint - slides [Read-Only]",
    "Microsoft Excel - budget.xls", "Word - letter", "PowerPoint Presentation", "Document1", "Dokument2", "Documento 3",
    "Presentation1", "Book1", "Mappe1", "Sheet1", "New Microsoft Word Document", "report_final.indd", "paper.dvi",
    "thesis.tex", "(Slides.ppt)", "contract.docx - Google Docs", "TeX output 1999.03.02:1345", "C:\\Users\\ana\\draft",
    "file:///C|/TEMP/page.htm", "http://www.example.org/page", "/home/ana/scan", "about:blank", "Full page photo",
    "Scanned Document", "IMG_20240312", "SCAN0001", "doc00312420240312", "PII: S0140-6736(99)04567-8.pdf", "Layout 1",
    "a", "0001-22-003", "3f2504e0-4f89-11d3-9a0c-0305e82c3301", "Adobe Photoshop PDF", "My File", "my file.pdf",
)  # fmt: skip


@each_of("raw", BAD_TITLES)
def test_what_programs_write_is_no_title(raw: str) -> None:
    assert sensible_title(raw, "my file.pdf") == ""


@each_of(
    "raw, title",
    [
        ("Annual Report 2022", "Annual Report 2022"),
        ("  spread \x00 out ", "spread out"),
        ("Untitled: the art of Anna Berg", "Untitled: the art of Anna Berg"),
        ("Title IX and schools", "Title IX and schools"),
        ("Document retention policy", "Document retention policy"),
        ("Book of Hours", "Book of Hours"),
        ("Unknown soldiers of the war", "Unknown soldiers of the war"),
        ("Printing in colour", "Printing in colour"),
        ("New York by night", "New York by night"),
        ("None of the above", "None of the above"),
        ("Test report of the bridge", "Test report of the bridge"),
    ],
)
def test_what_people_write_is_a_title(raw: str, title: str) -> None:
    assert sensible_title(raw, "my file.pdf") == title


@each_of(
    "raw, text, title",
    [
        ("HUMAN HEALTH", "", "Human Health"),
        ("THE HISTORY OF WOMEN'S HEALTH", "", "The History of Women's Health"),
        ("RELATÓRIO DE GESTÃO", "", "Relatório de Gestão"),
        ("HUMAN RIGHTS LAW", "", "HUMAN RIGHTS LAW"),
        ("HUMAN RIGHTS LAW", "The law protects.", "Human Rights Law"),
        ("NATO HANDBOOK", "NATO is an alliance.", "NATO HANDBOOK"),
        ("REPORT 2021", "", "REPORT 2021"),
        ("UNICEF", "", "UNICEF"),
        ("Human Health", "", "Human Health"),
        ("HTTPS SERVERS", "", "HTTPS SERVERS"),
        ("", "", ""),
    ],
)
def test_capitals_become_small_letters_where_they_are_words(raw: str, text: str, title: str) -> None:
    assert in_title_case(raw, text) == title


def test_a_printed_title_in_capitals_is_shown_in_small_letters() -> None:
    page = printed(("HUMAN HEALTH", 20), BODY, BODY)
    assert title_of([(*page, ())]) == "Human Health"
