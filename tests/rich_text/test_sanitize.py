"""Other people's words never act: what the escape function promises, over a nasty corpus."""

from __future__ import annotations

import html
import re

from docmind.rich_text.sanitize import clip, escape, file_name, one_line, shorten, visible
from each import each_of

NASTY = [
    "![image](http://127.0.0.1:9/canary.png)",
    "[link](http://127.0.0.1:9/)",
    "<img src=http://127.0.0.1:9/x onerror=alert(1)>",
    "<script>alert(1)</script>",
    "http://127.0.0.1:9/auto www.example.com HTTPS://EXAMPLE.COM WWW.example.com",
    "someone@example.com mailto:someone@example.com xmpp:someone@example.com",
    "$E=mc^2$ $$\\int$$ \\(x\\) \\[y\\]",
    ":red[red] :blue-background[x] :material/home: :streamlit: :smile: :+1: :primary-badge[1] :small[x]",
    "# heading",
    "- item\n- item",
    "1. one\n2. two",
    "> quote",
    "```python\ncode\n```",
    "~~gone~~ **bold** __bold__ *it* _it_ `code`",
    "| a | b |\n|---|---|\n| 1 | 2 |",
    "    indented code",
    "[^1] [x]: http://127.0.0.1:9/",
    "&lt;b&gt; &#58;red&#91;x&#93; &copy;",
    "C:\\folder\\file.pdf",
    "\\",
    "a\x00b\x1b[31mred\x1b[0m\x7f",
    "invoice\u202egpj.exe",
    "\u2066left\u2069 \u200fright \ufeffbom",
    "Z" + "\u0300" * 400,
    "<!-- comment -->",
    "---",
    "javascript:alert(1)",
    "line\u2028separator\u2029paragraph\rreturn",
    "->  <-  --  >=",
    "\u2060:\u2060red\u2060[x]",
    "\ud800 lone surrogate",
    "",
]

_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")


@each_of("text", NASTY)
def test_every_punctuation_is_escaped(text: str) -> None:
    left = _ESCAPED.sub("", escape(text))
    assert not re.search(r"[!-/:-@\[-`{-~]", left)
    assert "\n" not in left


@each_of("text", NASTY)
def test_rendered_markdown_holds_nothing_that_a_later_pass_finds(text: str) -> None:
    after_markdown = _ESCAPED.sub(r"\1", html.unescape(escape(text)))
    for pattern in (
        r"https?://",
        r"www\.",
        r"\w@[\w-]+\.\w",
        r":[\w+-]+:",
        r":[a-z-]+\[",
        r":material/",
        r"(mailto|xmpp|javascript):[^\s\u2060]",
    ):
        assert not re.search(pattern, after_markdown, re.IGNORECASE), pattern


@each_of("text", NASTY)
def test_a_person_reads_the_same(text: str) -> None:
    assert _ESCAPED.sub(r"\1", escape(text)).replace("\u2060", "") == one_line(text).replace("\u2060", "")


@each_of("text", NASTY)
def test_nothing_hides_or_reorders(text: str) -> None:
    shown = visible(text)
    assert not set(shown) & set("\x00\x1b\x7f\u202e\u2066\u2069\u200f\ufeff\u2060\ud800")
    assert not re.search("\u0300{9}", shown)
    assert visible(shown) == shown


def test_raw_text_keeps_its_lines() -> None:
    assert visible("one\r\ntwo\rthree\tfour\u2028five") == "one\ntwo\nthree\tfour\nfive"


def test_words_of_any_language_stay_as_they_are() -> None:
    for text in ("São Paulo", "niño", "日本語の文書", "العربية", "नमस्ते", "Ελληνικά", "👩‍👧 family"):
        assert escape(text) == text


def test_long_names_give_way_in_the_middle() -> None:
    short = shorten("a" * 300 + " final report.pdf", 40)
    assert len(short) <= 40
    assert short.startswith("aaa")
    assert short.endswith("report.pdf")
    assert shorten("short.pdf", 40) == "short.pdf"


def test_a_line_is_cut_at_a_word_where_there_is_one() -> None:
    assert clip("What does the third chart on page nine show?", 24) == "What does the third…"
    assert clip("x" * 50, 10) == "x" * 9 + "…"
    assert clip("exactly ten", 11) == "exactly ten"


def test_a_file_name_is_valid_on_every_disk() -> None:
    assert file_name("lease 2024.pdf") == "lease 2024.pdf"
    assert file_name("../a/b:\\c?\u202e.pdf") == "_a_b__c_.pdf"
    assert file_name("...") == "document"
    assert file_name("n" * 300 + ".pdf").endswith("n.pdf")
    assert len(file_name("n" * 300 + ".pdf")) == 120
