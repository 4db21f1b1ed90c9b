"""An answer for the clipboard: text with references, Markdown, citations."""

from __future__ import annotations

from dataclasses import replace

from docmind.answers import quoted
from docmind.records.answers import NOTED, Answer, Sentence, Source
from docmind.records.documents import Box, page_id_of
from docmind.ui.chat.copy_answer import citations, markdown_text, plain_text

SOURCE = Source(1, "a\u202eb.pdf", "d", 3, page_id_of("d", 3), "The  warranty\nlasts.", (Box(1, 2, 3, 4),), 100, 200)


def quotes() -> Answer:
    told = quoted(
        [
            replace(SOURCE, document="a.pdf", quote="The warranty lasts."),
            replace(SOURCE, n=2, page_no=4, quote="It costs [1] 5 euros."),
        ]
    )
    return Answer("How long?", told.answer, True, told.sources, sentences=told.sentences)


def written(text: str, *sentences: tuple[str, tuple[int, ...]]) -> Answer:
    told = []
    for said, sources in sentences:
        start = text.index(said)
        told.append(Sentence(said, start, start + len(said), sources, supported=bool(sources)))
    others = (replace(SOURCE, document="a.pdf"), replace(SOURCE, n=2, document="c.pdf", page_no=9))
    return Answer("How long?", text, True, others, sentences=tuple(told), model="ollama/parrot-7b")


def test_quotes_are_copied_in_quotation_marks_with_document_and_page() -> None:
    assert plain_text(quotes()) == ("“The warranty lasts.” (a.pdf, page 3)\n\n“It costs [1] 5 euros.” (ab.pdf, page 4)")


def test_what_a_model_wrote_has_references_where_its_markers_are() -> None:
    text = "It lasts two years [1][2]. It is short.\n\nIt ends [7]."
    answer = written(text, ("It lasts two years", (1, 2)), ("It is short.", ()))
    assert plain_text(answer) == "It lasts two years (a.pdf, page 3; c.pdf, page 9). It is short.\n\nIt ends [7]."
    assert plain_text(replace(answer, sentences=())).startswith("It lasts two years (a.pdf, page 3; c.pdf, page 9).")


def test_markdown_has_block_quotes_and_no_needless_backslashes() -> None:
    assert markdown_text(quotes()) == (
        "> “The warranty lasts.”\n>\n> — a.pdf, page 3\n\n> “It costs \\[1\\] 5 euros.”\n>\n> — ab.pdf, page 4"
    )


def test_a_citation_is_document_and_page_once() -> None:
    answer = Answer("?", "Two years [1].", True, (SOURCE, replace(SOURCE, n=2), replace(SOURCE, n=3, page_no=5)))
    assert citations(answer) == "ab.pdf, page 3\nab.pdf, page 5"


def test_what_was_noted_and_told_is_copied_on_lines_of_its_own() -> None:
    noted = Answer("Remember …", NOTED, found=False, outcome="noted", told=("My rent\u202e is 900", "B is so"))
    assert plain_text(noted) == f"{NOTED}\n“My rent is 900”\n“B is so”"
    told = Answer("Rent?", "Nothing.", found=False, told=("My rent is 900",))
    assert plain_text(told) == "You told me: “My rent is 900”\n\nNothing."
