"""Answers as Markdown: readable, marked with their sources, and without active content."""

from __future__ import annotations

import html
import sys
from collections.abc import Callable
from dataclasses import replace
from types import FrameType
from typing import Any

import pytest

from docmind.answers import quoted
from docmind.records.answers import Answer, Sentence, Source
from docmind.ui.app.chat_message import answer_markdown, quote_markdown, streaming_markdown
from each import each_of
from exfiltration import payloads
from inert import READER, assert_inert

PAYLOADS = payloads("http://127.0.0.1:9")


def words(markdown: str) -> str:
    """Return what a person reads of it."""
    out = []
    for token in READER.parse(markdown):
        if token.type == "inline":
            out.append("".join(child.content or "\n" * (child.type == "hardbreak") for child in token.children or ()))
        elif token.type in ("fence", "code_block"):
            out.append(token.content)
    return "\n".join(out).replace("\u2060", "").replace("\u00a0", " ")


def written(*parts: str | tuple[str, tuple[int, ...]], sources: int = 3, **options: Any) -> Answer:
    """Build an answer from plain parts and sentences with their sources."""
    text, sentences = "", []
    for part in parts:
        if isinstance(part, str):
            text += part
        else:
            sentences.append(Sentence(part[0], len(text), len(text) + len(part[0]), part[1], bool(part[1])))
            text += part[0] + "".join(f" [{number}]" for number in part[1])
    cited = tuple(Source(number, "a.pdf", "d", number, "p", "q", (), 1, 1) for number in range(1, sources + 1))
    return Answer("q", text, True, cited, sentences=tuple(sentences), **{"model": "ollama/small", **options})


def of_code(text: str, after: str = "") -> Answer:
    quote = f"“{text}”"
    source = Source(1, "a.py", "d", 1, "p", text, (), 1, 1)
    sentences = (Sentence(quote, 0, len(quote), (1,), supported=True),)
    return Answer("q", f"{quote} [1]{after}", True, (source,), sentences=sentences)


# --- nothing acts -----------------------------------------------------------------------------------------------------


@each_of("name", PAYLOADS)
def test_nothing_a_model_writes_acts(name: str) -> None:
    assert_inert(answer_markdown(written(PAYLOADS[name])))


@pytest.mark.slow
@each_of("name", PAYLOADS)
def test_nothing_acts_at_any_moment_of_a_stream(name: str) -> None:
    text = PAYLOADS[name]
    step = max(1, len(text) // 400)
    for end in (*range(0, len(text), step), len(text)):
        assert_inert(streaming_markdown(text[:end]))


@pytest.mark.slow
@each_of("name", PAYLOADS)
def test_nothing_acts_wherever_sentences_end(name: str) -> None:
    text = PAYLOADS[name]
    for step in (1, 3, 7):
        ends = range(step, len(text), step)
        sentences = tuple(Sentence(text[:end], 0, end, (1,) if end % 2 else (), bool(end % 2)) for end in ends)
        answer = written(text)
        assert_inert(answer_markdown(Answer("q", text, True, answer.sources, sentences=sentences, model="m")))


@each_of("name", PAYLOADS)
def test_nothing_in_quotes_acts(name: str) -> None:
    assert_inert(answer_markdown(written(PAYLOADS[name], model="")))


@each_of("name", PAYLOADS)
def test_nothing_in_quotes_of_source_code_acts(name: str) -> None:
    assert_inert(answer_markdown(of_code(PAYLOADS[name])))


def test_the_check_would_notice() -> None:
    for text in (
        "![x](y)",
        "[x](y)",
        "<b>",
        "see http://a.b",
        "a@b.cd",
        ":red[x]",
        ":smile:",
        "$x$",
        "```mermaid\n```",
    ):
        with pytest.raises(AssertionError):
            assert_inert(text)


# --- everything is read -----------------------------------------------------------------------------------------------


def test_shapes_of_text_stay() -> None:
    text = (
        "## Sales\n\nThey **rose** by *18 %*, see `total`.\n\n- one\n  - two\n    1. three\n- four\n\n> said so\n\n"
        "| year | sales |\n|---|--:|\n| 2023 | 41,000 |\n\n```python\nprint(1)\n```\n\n---\n\nlast  \nline"
    )
    made = answer_markdown(written(text))
    types = [child.type for token in READER.parse(made) for child in [token, *(token.children or ())]]
    for shape in ("strong_open", "em_open", "code_inline", "bullet_list_open", "ordered_list_open", "blockquote_open"):
        assert shape in types
    for shape in ("table_open", "fence", "hr", "hardbreak"):
        assert shape in types
    assert types.count("bullet_list_open") == 2
    assert (
        words(made).split()
        == ("Sales They rose by 18 %, see total . one two three four said so year sales 2023 41,000 print(1) last line")
        .replace("total .", "total.")
        .split()
    )


@each_of(
    "text, shown",
    [
        ("[the site](https://evil.example/x?q=1)", "the site (evil.example)"),
        ("[https://good.example](https://evil.example/)", "https://good.example (evil.example)"),
        ("[evil.example](https://evil.example/)", "evil.example"),
        ("[go](javascript:alert(1))", "go (javascript address)"),
        ("[go](https://good.example@evil.example/)", "go (evil.example)"),
        ("[go](https://ex\u0430mple.com/)", "go (xn--exmple-4nf.com)"),
        ("[go](#there)", "go"),
        ("![a chart](http://evil.example/x.png)", "(image: a chart, evil.example)"),
        ("![](http://evil.example/x.png)", "(image: evil.example)"),
        ("<https://evil.example>", "<https://evil.example>"),
        ("[1]: https://evil.example", "[1]: https://evil.example"),
        ("a<br>b", "a\nb"),
        ("<b>bold</b> $E=mc^2$ :smile:", "<b>bold</b> $E=mc^2$ :smile:"),
        ("**bold**text and **a.** b", "boldtext and a. b"),
    ],
)
def test_what_is_not_shown_alive_is_told(text: str, shown: str) -> None:
    assert words(answer_markdown(written(text))) == shown


@each_of(
    "text",
    ["**bold.** next", '**"quoted"** word', "***both***", "so **(it is)**, yes", "**a***b*", "*a **b** c*", "x*y*z"],
)
def test_emphasis_opens_and_closes_wherever_it_stands(text: str) -> None:
    assert "*" not in words(answer_markdown(written(text)))


def test_lists_go_four_deep_and_deeper_ones_are_still_read() -> None:
    text = "".join(f"{'  ' * depth}- item {depth}\n" for depth in range(9))
    made = answer_markdown(written(text))
    assert [token.type for token in READER.parse(made)].count("bullet_list_open") == 4
    assert all(f"item {depth}" in words(made) for depth in range(9))
    lost = answer_markdown(written("> " * 60 + "down here"))
    assert "down here" in words(lost)


# --- marks ------------------------------------------------------------------------------------------------------------


def test_each_sentence_carries_its_sources() -> None:
    made = answer_markdown(written(("Sales **rose.**", (2, 1)), " ", ("Costs *fell*.", (3,)), "\n\nGoodbye."))
    assert words(made) == "Sales rose. :green-badge[2] :green-badge[1] Costs fell. :green-badge[3]\nGoodbye."


def test_what_no_page_supports_is_marked_and_told_in_full_once() -> None:
    made = words(answer_markdown(written(("It rains.", ()), " ", ("It pours.", ()), " ", ("Sales rose.", (1,)))))
    assert made == (
        "It rains. :orange-badge[not found in your documents] It pours. :orange-badge[not found] "
        "Sales rose. :green-badge[1]"
    )


def test_what_claims_nothing_is_not_marked() -> None:
    greeting = Sentence("Hello.", 0, 6, is_claim=False)
    assert words(answer_markdown(Answer("q", "Hello.", True, sentences=(greeting,), model="m"))) == "Hello."


def test_only_numbers_of_sources_become_badges() -> None:
    made = words(answer_markdown(written(("Sales rose.", (1,)), " As [2] and [9] say.", sources=1)))
    assert made == "Sales rose. :green-badge[1] As [2] and [9] say."
    assert "badge" not in words(answer_markdown(written(("Sales rose.", (7,)), sources=1))).replace("orange-badge", "")


def test_marks_stand_beside_code_links_and_in_tables() -> None:
    made = answer_markdown(
        written(
            ("Run `total.`", (1,)), "\n\n[", ("the. site", (2,)), "](http://evil.example)\n\n| a | b |\n|---|---|\n",
            ("| 2023 | 41,000 |", (3,)), "\n\n```\n", ("code\n```", ()),
        )
    )  # fmt: skip
    assert_inert(made)
    assert words(made).split("\n") == [
        "Run total. :green-badge[1]", "the. site :green-badge[2] (evil.example)", "a", "b", "2023",
        "41,000 :green-badge[3]", "code", "", ":orange-badge[not found in your documents]",
    ]  # fmt: skip


def test_marks_are_not_taken_from_the_text() -> None:
    hostile = "".join(chr(0xF0000 + index) for index in range(5)) + ":green-badge[1]"
    made = answer_markdown(written(("Sales rose.", ()), hostile))
    assert "\U000f0000" not in made
    assert made.count("green-badge[") == 0


def test_places_outside_the_text_are_passed_over() -> None:
    odd = tuple(Sentence("x", start, end, (1,), True) for start, end in ((0, 99), (-5, -1), (3, 6)))
    assert "rose" in words(answer_markdown(Answer("q", "Sales rose.", True, sentences=odd, model="m")))


def test_a_quote_keeps_the_lines_of_a_list_and_joins_those_of_a_paragraph() -> None:
    quote = (
        "The tenant shall observe the following rules, all of\nthem at all times:\na) the quiet hours;\nb) the stairs."
    )
    made = quote_markdown(Source(2, "a.pdf", "d", 1, "p", quote, (), 1, 1))
    assert words(made).split("\n") == [
        "“The tenant shall observe the following rules, all of them at all times:", "a) the quiet hours;",
        "b) the stairs.” :green-badge[2]",
    ]  # fmt: skip


def test_operators_of_quoted_code_stay_what_they_are() -> None:
    text = "if a <= b -> c:\n    return a -- 1"
    made = quote_markdown(Source(1, "notes.md", "d", 1, "p", text, (), 1, 1))
    assert_inert(made)
    block = quote_markdown(Source(1, "a.py", "d", 1, "p", text, (), 1, 1))
    assert_inert(block)
    assert block.startswith(f"```\n{text}\n```"), "in a block of code nothing is drawn as another character"
    for operator in ("<=", "->", "--"):
        assert operator not in made.replace("\\", "")


@each_of("name", PAYLOADS)
def test_nothing_in_a_single_quote_acts(name: str) -> None:
    assert_inert(quote_markdown(Source(1, "a.pdf", "d", 1, "p", PAYLOADS[name], (), 1, 1)))


def test_what_rests_on_an_image_is_marked_and_not_as_found() -> None:
    answer = written(("Sales rose.", (1,)), " ", ("A lighthouse.", (2,)), " ", ("It rains.", ()))
    seen = replace(answer.sentences[1], supported=False, seen=True)
    made = answer_markdown(replace(answer, sentences=(answer.sentences[0], seen, answer.sentences[2])))
    assert words(made) == (
        "Sales rose. :green-badge[1] A lighthouse. :violet-badge[seen on the page, not in its text] :violet-badge[2] "
        "It rains. :orange-badge[not found in your documents]"
    )
    assert_inert(made)


def test_quotes_keep_their_look() -> None:
    answer = written("Sales **rose** by 18 %. [1]\n\nCosts fell. [2] [9]", sources=2, model="")
    assert words(answer_markdown(answer)) == (
        "Sales **rose** by 18 %. :green-badge[1]\nCosts fell. :green-badge[2] [9]"
    )


@pytest.mark.parametrize(
    ("text", "shown"),
    [("It **ro", "It rose"), ("It **rose*", "It rose"), ("a `co", "a code"), ("```\ncode", "code"), ("It **", "It")],
)
def test_a_stream_closes_what_is_open(text: str, shown: str) -> None:
    made = words(streaming_markdown(text)).strip()
    assert shown.startswith(made)
    assert made


# --- work is bounded --------------------------------------------------------------------------------------------------


def calls_of(work: Callable[[], Any]) -> int:
    """Count the calls of functions: a measure of work that other programs do not disturb."""
    calls = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return calls


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece",
    ["[", "]", "*", ">", "|", "`", "_", "<", "!", "(", "&", "\\", "-", "#", "~", "$", ":", "![", "[a](", "*a ", "- ",
     "> a\n", "[a][", "a**b", "***a ", "\n", "|-", "1. ", "[a](<b", "&#x;", "<br>", "@a.", "  - a\n", "```\n",
     "a|b\n-|-\n"],
)  # fmt: skip
def test_work_grows_with_the_text_only(piece: str) -> None:
    large = piece * (20_000 // len(piece))
    assert calls_of(lambda: streaming_markdown(large)) < 200 * len(large)
    assert_inert(streaming_markdown(large))


def test_a_text_beyond_the_longest_is_shown_plain() -> None:
    made = streaming_markdown("word **bold** " * 9_000)
    assert made.count("bold") == 9_000
    assert "\\*\\*bold" in made


def test_html_entities_of_an_address_come_to_nothing() -> None:
    made = html.unescape(answer_markdown(written("&#104;ttp&#58;//evil.example &#58;red&#91;x&#93;")))
    assert "http\\:\u2060" in made


@each_of("payload", PAYLOADS)
@pytest.mark.parametrize("outcome", ["documents", "summary"])
def test_names_and_headings_of_lists_are_inert(payload: str, outcome: Any) -> None:
    said = " ".join(payload.split())
    quote = f"“First part.\n\n{said}”"
    lead, label = "Documents:", f"[1] {said}: "
    text = f"{lead}\n\n{said}\n\n{label}{quote} [1]"
    start = text.index(quote)
    sentences = (
        Sentence(lead, 0, len(lead), is_claim=False),
        Sentence(quote, start, start + len(quote), (1,), supported=True),
    )
    source = Source(1, said, "d", 1, "d::page::1", quote[1:-1], (), 10, 10)
    shown = answer_markdown(Answer("Which?", text, True, (source,), sentences=sentences, outcome=outcome))
    assert_inert(shown)
    assert shown.count("green-badge") == 1, "the [1] of the name is no source"


@pytest.mark.parametrize("outcome", ["answer", "maybe", "documents", "summary"])
def test_a_mark_within_a_quote_is_no_badge(outcome: Any) -> None:
    """What a document says stays text, also where it looks like the number of a source."""
    quote = "As Smith [1] shows, see [2] and\n[1] the list."
    sources = tuple(Source(n, "a.pdf", "d" * 64, n, f"p{n}", quote, (), 10, 10) for n in (1, 2))
    checked = quoted(sources, "maybe" if outcome != "answer" else "answer")
    shown = answer_markdown(Answer("q", checked.answer, True, sources, sentences=checked.sentences, outcome=outcome))
    assert shown.count("-badge[1]") == 1
    assert shown.count("-badge[2]") == (outcome != "answer")
    assert "As Smith [1] shows, see [2] and" in words(shown)


# --- the links that open the reader -----------------------------------------------------------------------------------


def links(markdown: str) -> list[str]:
    tokens = [child for token in READER.parse(markdown) for child in [token, *(token.children or ())]]
    return [str(token.attrs["href"]) for token in tokens if token.type == "link_open"]


def test_a_number_opens_the_page_that_it_cites() -> None:
    made = answer_markdown(written(("It rose.", (2, 1)), thread_id="t", checkpoint_id="c"))
    assert links(made) == ["#read=d.2&from=t.c.2", "#read=d.1&from=t.c.1"]
    assert not links(answer_markdown(written(("It rose.", (2, 1))))), "outside of a conversation nothing can be opened"


@pytest.mark.parametrize("model", ["m", ""])
@each_of("name", PAYLOADS)
def test_no_text_makes_a_link_of_its_own(name: str, model: str) -> None:
    answer = written(PAYLOADS[name] + "\n\n", ("It is so.", (1,)), thread_id="t", checkpoint_id="c", model=model)
    assert set(links(answer_markdown(answer))) <= {f"#read=d.{n}&from=t.c.{n}" for n in (1, 2, 3)}


def test_a_quote_of_source_code_is_a_block_of_code() -> None:
    text = "def ask(q):\n    x = '```'\n\n    return q[1]"
    made = answer_markdown(of_code(text, "\n\nOlder"))
    fence, badge, after = (token for token in READER.parse(made) if token.type in ("fence", "inline"))
    assert (fence.type, fence.content) == ("fence", f"{text}\n")
    assert ":green-badge[1]" in badge.content
    assert after.content == "Older"
    (source,) = of_code(text).sources
    fence, badge = (token for token in READER.parse(quote_markdown(source)) if token.type in ("fence", "inline"))
    assert (fence.content, ":green-badge[1]" in badge.content) == (f"{text}\n", True)
    method = quote_markdown(replace(source, quote="    def ask(q):\n        return q"))
    assert method.startswith("```\ndef ask(q):\n    return q\n```")
    assert quote_markdown(replace(source, quote="import os")).startswith("“import os”"), "one line is a quote"
