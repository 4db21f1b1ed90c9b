"""Exported conversations: complete, readable elsewhere, and as inert as in the app."""

from __future__ import annotations

import dataclasses
import io
import re
import sys
import zipfile
from typing import Any

import pypdfium2
import pytest
from markdown_it import MarkdownIt
from PIL import Image

import papers
from docmind.answers import quoted
from docmind.conversations.export import export_thread, file_stem
from docmind.records.answers import SEEN, Answer, Sentence, Source
from docmind.records.conversations import Thread, ThreadView, Turn, WebResult
from docmind.records.documents import Box
from docmind.records.search import Degraded, Hit
from each import each_of
from exfiltration import payloads

AT = 1_763_740_800_000
PAYLOADS = payloads("http://127.0.0.1:9")
READER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
SIZE = (600, 800)


def page_image(colour: str = "white") -> bytes:
    out = io.BytesIO()
    Image.new("RGB", SIZE, colour).save(out, "WEBP", lossless=True)
    return out.getvalue()


def source(n: int, page_no: int = 1, document: str = "report.pdf", **options: Any) -> Source:
    boxes = (Box(100, 100.0 + 40 * n, 200, 20),)
    page_id = f"{document}::page::{page_no}"
    made = Source(n, document, document, page_no, page_id, f"Quote {n} of the page.", boxes, *SIZE)
    return dataclasses.replace(made, **options)


def written(text: str, *cited: tuple[str, tuple[int, ...]], sources: tuple[Source, ...] = (), **options: Any) -> Answer:
    """Return a model's answer in which each named sentence is supported by its sources."""
    sentences = tuple(
        Sentence(part, text.index(part), text.index(part) + len(part), numbers, bool(numbers))
        for part, numbers in cited
    )  # fmt: skip
    return Answer("q", text, True, sources, sentences=sentences, **{"model": "ollama/small:3b", **options})


def view(*turns: Turn | Answer, title: str = "Sales of lanterns", earlier: int = 0) -> ThreadView:
    whole = tuple(
        turn if isinstance(turn, Turn) else Turn(f"c{place}", None, f"Question {place}?", AT, "answered", turn)
        for place, turn in enumerate(turns, start=1)
    )
    return ThreadView(Thread("t", title, AT, AT + 3_600_000, "c"), whole, (), earlier)


def markdown(shown: ThreadView, image: Any = lambda source: page_image()) -> tuple[str, dict[str, bytes]]:
    made = export_thread(shown, "markdown", image)
    archive = zipfile.ZipFile(io.BytesIO(made.data))
    assert archive.testzip() is None
    return archive.read("thread.md").decode(), {name: archive.read(name) for name in archive.namelist()}


def pdf(shown: ThreadView, image: Any = lambda source: page_image()) -> pypdfium2.PdfDocument:
    return pypdfium2.PdfDocument(export_thread(shown, "pdf", image).data)


def words_of(document: pypdfium2.PdfDocument) -> str:
    """Return all words of a PDF; a space breaks the addresses in it."""
    return " ".join(" ".join(page.get_textpage().get_text_range() for page in document).split()).replace(": //", "://")


def words_in(text: str) -> str:
    """Return what a reader of the Markdown sees."""
    parts = []
    for token in READER.parse(text):
        if token.type == "inline":
            parts.append("".join(child.content or " " for child in token.children or ()))
        elif token.type in ("fence", "code_block"):
            parts.append(token.content)
    return " ".join(" ".join(parts).replace("\u2060", "").split())


FULL = view(
    written(
        "Sales **rose** by 18 %. [1] They fell later. Nobody knows why. Hello!\n\n- one\n- two `code`",
        ("Sales **rose** by 18 %.", (1,)), ("They fell later.", ()), ("Nobody knows why.", ()),
        sources=(source(1), source(2, 4)), degraded=(Degraded("memory", "none is stored"),),
    ),
    Turn("c2", "c1", "And then?\nIn spring?", AT, "stopped",
         Answer("q", "Costs fell. [1]", True, (source(1, 4),)), asked_as="costs in spring", mode="agent",
         web=(WebResult("A page", "https://elsewhere.example/x", "Some words."),), memories=("Likes brass.",)),
    Turn("c3", "c2", "Who is king?", AT, "answered", Answer("q", "Nothing.", False),
         nearest=(Hit(rank=1, score=1.0, document="report.pdf", doc_id="d", page_no=7, page_id="p", modality="text",
                      text="t", node_id="n", language="en", page_width=SIZE[0], page_height=SIZE[1]),)),
    Turn("c4", "c3", "Broken?", AT, "unanswered", message="The model broke off."),
    title="Sales of lanterns", earlier=2,
)  # fmt: skip
TOLD = [
    "Sales of lanterns", "Question 1?", "Sales rose by 18 %. [1]", "They fell later. (not found in your documents)",
    "Nobody knows why. (not found) Hello!", "one", "two code", "written by small:3b",
    "“Quote 1 of the page.”", "“Quote 2 of the page.”", "report.pdf", "Without memory: none is stored",
    "And then? In spring?", "searched for “costs in spring”", "agent mode", "quoted from the pages", "Costs fell. [1]",
    "You stopped the model. These are the quotes.", "https://elsewhere.example/x", "Some words.", "Likes brass.",
    "Who is king?", "I couldn't find this in your documents.", "Closest pages: report.pdf page 7",
    "Broken?", "The model broke off.", "2025", "The first 2 questions are not in this file.",
]  # fmt: skip


QUOTED = quoted([source(1), source(2, 4)])
MAYBE = quoted([source(1), source(2, 4)], "maybe")


@pytest.mark.slow
def test_what_is_also_relevant_follows_what_answers() -> None:
    shown = view(Answer("q", QUOTED.answer, True, QUOTED.sources, sentences=QUOTED.sentences))
    for told in (words_in(markdown(shown)[0]), words_of(pdf(shown))):
        assert told.index("“Quote 1 of the page.” [1]") < told.index("Sources") < told.index("Also relevant")
        assert told.index("Also relevant") < told.index("“Quote 2 of the page.”")
        assert "quoted from the pages" in told


@pytest.mark.slow
def test_what_rests_on_an_image_is_marked_with_its_page() -> None:
    seen = source(1, 3, quote="", boxes=(), kind="seen")
    sentence = Sentence("A lighthouse.", 0, 13, (1,), seen=True)
    shown = view(Answer("q", "A lighthouse. [1]", True, (seen,), sentences=(sentence,), model="ollama/vl"))
    text, files = markdown(shown)
    for told in (words_in(text), words_of(pdf(shown))):
        assert f"A lighthouse. ({SEEN}) [1]" in told
        assert told.count(SEEN) == 3  # after the sentence, beside its source, and in the opening
        assert "not found in your documents)" not in told
    assert [name for name in files if name.startswith("pages/")] == ["pages/001-report-p3.jpg"]


@pytest.mark.slow
def test_passages_that_may_answer_are_named_so() -> None:
    shown = view(Answer("q", MAYBE.answer, True, MAYBE.sources, sentences=MAYBE.sentences, outcome="maybe"))
    for told in (words_in(markdown(shown)[0]), words_of(pdf(shown))):
        assert "These passages may answer it:" in told
        assert told.count("“Quote 1 of the page.”") == 1
        assert "Also relevant" not in told
        assert "passages that may answer" in told


# --- everything is there ----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_both_formats_tell_it(subtests: pytest.Subtests) -> None:
    in_markdown, in_pdf = words_in(markdown(FULL)[0]), words_of(pdf(FULL))

    @each_of("told", TOLD)
    def is_told(told: str) -> None:
        assert told in in_markdown
        assert told in in_pdf

    is_told(subtests=subtests)


def test_markdown_comes_with_the_pages_it_shows_each_once() -> None:
    text, files = markdown(FULL)
    shown = set(re.findall(r"\]\((pages/[^)]+)\)", text))
    assert shown == set(files) - {"thread.md"}
    assert len(shown) == 2
    for name in shown:
        assert re.fullmatch(r"pages/\d{3}-report-p\d\.jpg", name)
        picture = Image.open(io.BytesIO(files[name]))
        assert picture.size == SIZE
        red, _, blue = picture.convert("RGB").getpixel((200, 150 if "p1" in name else 190))  # type: ignore[misc]
        assert red - blue > 80, "the quoted words are marked"


def test_the_pdf_shows_the_quoted_places_and_the_whole_pages() -> None:
    document = pdf(FULL)
    pictures = [thing for page in document for thing in page.get_objects([pypdfium2.raw.FPDF_PAGEOBJ_IMAGE])]
    assert len(pictures) == 5, "three strips, two pages"
    assert "Cited in question 3 [2], question 4 [1]" in words_of(document)
    assert f"1 / {len(document)}" in words_of(document)
    image = document[len(document) - 1].render().to_numpy()
    assert ((image[..., 2].astype(int) - image[..., 0]) > 80).sum() + (
        (image[..., 0].astype(int) - image[..., 2]) > 80
    ).sum()


def test_names_and_kinds() -> None:
    assert export_thread(FULL, "markdown", lambda source: None).name == "Sales of lanterns.zip"
    made = export_thread(FULL, "pdf", lambda source: None)
    assert (made.name, made.media_type) == ("Sales of lanterns.pdf", "application/pdf")


def test_of_a_deleted_document_the_quote_stays() -> None:
    text, files = markdown(FULL, lambda source: None)
    assert list(files) == ["thread.md"]
    assert "![" not in text
    for words in (words_in(text), words_of(pdf(FULL, lambda source: None))):
        assert "Quote 2 of the page." in words
        assert "This document has been deleted" in words
    assert not [thing for page in pdf(FULL, lambda source: None) for thing in page.get_objects([3])]


def test_an_empty_conversation_is_a_file_too() -> None:
    assert "0 questions" in words_in(markdown(view())[0])
    assert "0 questions" in words_of(pdf(view()))


def test_a_picture_is_asked_for_once() -> None:
    asked: list[str] = []

    def image(source: Source) -> bytes:
        asked.append(source.page_id)
        return page_image()

    markdown(FULL, image)
    assert sorted(asked) == ["report.pdf::page::1", "report.pdf::page::4"]


def test_a_page_that_was_read_anew_is_shown_as_it_was_each_time() -> None:
    old, new = source(1, image_artifact_id="a" * 64), source(1, image_artifact_id="b" * 64)
    _, files = markdown(view(written("One.", sources=(old,)), written("Two.", sources=(new,))))
    assert len(files) == 3


# --- nothing acts -----------------------------------------------------------------------------------------------------


def hostile(text: str) -> ThreadView:
    """Return a conversation in which every text is `text`."""
    cited = source(1, document=text[:200], quote=text)
    answer = written(
        text, (text, (1,)), sources=(cited,), model=f"ollama/{text[:50]}", degraded=(Degraded(text, text),)
    )
    return view(
        Turn("c", None, text, AT, "answered", answer, asked_as=text[::-1], web=(WebResult(text, text, text),),
             memories=(text,)),
        Turn("d", "c", text, AT, "unanswered", message=text),
        Turn("e", "d", text, AT, "answered", Answer("q", f"{text} [1]", True, (cited,))),
        title=text,
    )  # fmt: skip


@pytest.mark.slow
@each_of("name", PAYLOADS)
def test_nothing_in_the_markdown_acts(name: str) -> None:
    text, _ = markdown(hostile(PAYLOADS[name]))
    own = re.compile(r"pages/\d{3}-[a-z0-9-]+-p\d+\.jpg")
    for token in READER.parse(text):
        for part in [token, *(token.children or ())]:
            assert part.type not in ("link_open", "html_block", "html_inline", "s_open"), part.content
            if part.type == "image":
                assert own.fullmatch(str(part.attrs["src"]))
                assert "title" not in part.attrs
            elif part.type == "fence":
                assert part.info in ("", "html", "python")
            elif part.type == "text":
                assert not re.search(r"https?://|www\.|[\w.+-]@[\w-]+\.\w|:[\w+-]+:", part.content, re.IGNORECASE)


@pytest.mark.slow
def test_nothing_in_the_pdf_acts() -> None:
    turns = tuple(turn for text in PAYLOADS.values() for turn in hostile(text).turns)
    data = export_thread(view(*turns, title=" ".join(PAYLOADS.values())), "pdf", lambda source: None).data
    objects = re.sub(rb"\bstream\r?\n.*?endstream", b"", data, flags=re.DOTALL)  # packed bytes are any bytes, by chance
    assert b"/Page" in objects
    for live in (b"/URI", b"/Annot", b"/JavaScript", b"/JS", b"/Launch", b"/GoTo", b"/OpenAction", b"/AcroForm"):
        assert live not in objects, live
    for page in pypdfium2.PdfDocument(data):
        assert not web_links(page), page.get_textpage().get_text_range()


def web_links(page: pypdfium2.PdfPage) -> int:
    """Return how many addresses in the text a PDF reader would make links of."""
    text = page.get_textpage()
    found = pypdfium2.raw.FPDFLink_LoadWebLinks(text.raw)
    count = pypdfium2.raw.FPDFLink_CountWebLinks(found)
    pypdfium2.raw.FPDFLink_CloseWebLinks(found)
    return count


def test_the_check_would_notice_an_address() -> None:
    assert web_links(pypdfium2.PdfDocument(papers.pdf([papers.line("see https://example.com")]))[0]) == 1


def test_the_pdf_says_of_itself_its_title_only() -> None:
    made = pdf(view(title="Sales & lanterns"))
    told = {name: value for name, value in made.get_metadata_dict().items() if value}
    assert told == {"Title": "Sales & lanterns", "Creator": "DocMind", "Producer": "DocMind"}


def test_no_file_is_written() -> None:
    written_to: list[str] = []

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if watching and event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wax+"):
            written_to.append(str(arguments[0]))

    watching = True
    sys.addaudithook(watch)
    markdown(FULL)
    pdf(FULL)
    watching = False
    assert not [name for name in written_to if "__pycache__" not in name]


# --- whatever the text is ---------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "w" * 6_000, "word " * 3_000, "`" + "c" * 5_000 + "`", "```\n" + "x" * 9_000 + "\n" * 400 + "```",
        "|" + "a|" * 60 + "\n|" + "-|" * 60 + "\n|" + "b|" * 60,
        "| a | b |\n|---|---|\n| " + "cell " * 3_000 + " | x |", "| a |\n|---|\n" + "| row |\n" * 500,
        "> " * 30 + "deep", "".join(f"{'  ' * depth}- {depth}\n" for depth in range(15)), "- " * 15 + "x", "-",
        "99999999999999. x", "999999999. x\n1. y", "日本語の文書です。" * 300, "עברית العربية", "😀 👩‍👧 \U0001f9ff",
        "\ufffe\uffff\ud800", "1.\n2.",
        "a\u0300" * 50 + "Z" + "\u0300" * 400, "\x00\x07\u202e", "<font name='x' size='9999'>", "&#x110000; &nosuch;",
        "<para><b><i>", "]]>", "a<br/>b" * 50, "# " + "heading " * 400, "", " ",
    ],
)  # fmt: skip
def test_any_text_becomes_a_pdf_and_markdown(text: str) -> None:
    assert len(pdf(hostile(text)))
    assert markdown(hostile(text))[0].startswith("# ")


def test_letters_of_many_scripts_are_kept_others_are_boxes() -> None:
    said = "São Paulo, ñandú, Ελληνικά, русский, ﬁ, ∑ ≥"
    document = pdf(view(written(f"{said}, 日本語.")))
    assert "São Paulo, ñandú, Ελληνικά, русский" in words_of(document)
    lettered, plain = (pdf(view(written(text)))[0].render().to_numpy().sum() for text in ("日本語", " "))
    assert lettered < plain, "something is drawn for letters that the font has not"


# --- names ------------------------------------------------------------------------------------------------------------


@each_of(
    "title, stem",
    [
        ("Sales of lanterns", "Sales of lanterns"),
        ('a/b\\c:d*e?f"g<h>i|j', "a b c d e f g h i j"),
        ("../../etc/passwd", "etc passwd"),
        ("...", "conversation"),
        ("", "conversation"),
        ("CON", "CON (conversation)"),
        ("lpt1.report", "lpt1.report (conversation)"),
        ("--help", "help"),
        ("~root", "root"),
        ("name. ", "name"),
        ("line\nbreak\x00\u202egpj", "line break�gpj"),
        ("Relatório de São Paulo", "Relatório de São Paulo"),
    ],
)
def test_file_names_suit_every_system(title: str, stem: str) -> None:
    assert file_stem(title) == stem


def test_long_titles_make_short_names() -> None:
    assert 60 < len(file_stem("日" * 400).encode()) <= 120
    assert len(file_stem("a" * 4_000)) == 120
