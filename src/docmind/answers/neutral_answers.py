"""A model's answer as it may leave the library: the neutral Markdown of the app, in which no link or picture is active.

A model can be made to repeat text of hostile documents. A program that shows its answer as Markdown would fetch a
picture that the text names, and offer its links; invisible characters would reorder what people read.
"""

from __future__ import annotations

import re
from dataclasses import replace

from docmind.records.answers import Answer
from docmind.rich_text import blocks_of, draft_markdown, lean, markdown_of

_FIRST, _LAST = 0x10F000, 0x10FFFD  # private use: one character at the end of each sentence
_END = re.compile(f"[{chr(_FIRST)}-{chr(_LAST)}]")
_JOINER = "\u2060"
_BEFORE = re.compile(r"(?:\s|>|\||___\n|:?-{3,}:?|[-*] |\d+[.)] |`{3,}\w*\n)*")  # what Markdown puts before words


def neutral(answer: Answer) -> Answer:
    """Return an answer that a model wrote as neutral Markdown, with its sentences in their places there.

    Quotes are verbatim text of documents and no Markdown: they stay as they are. So it is with the answer beside it.
    Idempotent.
    """
    if answer.other is not None:
        return replace(neutral(replace(answer, other=None)), other=neutral(answer.other))
    if not answer.model:
        return answer
    said = _END.sub("\ufffd", answer.answer)
    marked = lean(markdown_of(blocks_of(said, answer.sentences), _end_of))
    sentences = [replace(sentence, text="", start=0, end=0) for sentence in answer.sentences]
    text, at = "", 0
    for end in _END.finditer(marked):
        begin = len(text)
        text += _apart(text, marked[at : end.start()])
        at, index = end.end(), ord(end[0]) - _FIRST
        before = _BEFORE.match(text, begin)
        start = before.end() if before else begin
        sentences[index] = replace(sentences[index], text=text[start:], start=start, end=len(text))
        numbers = "".join(f" [{number}]" for number in sentences[index].sources)
        text += numbers.lstrip(" ") if text.endswith("\n") else numbers
    return replace(answer, answer=text + _apart(text, marked[at:]), sentences=tuple(sentences))


def neutral_draft(text: str) -> str:
    """Return what a model has written so far as neutral Markdown."""
    return lean(draft_markdown(text))


def _end_of(index: int) -> str:
    return chr(_FIRST + index) if index <= _LAST - _FIRST else ""


def _apart(before: str, after: str) -> str:
    """Return the text so that it does not complete what stands before it: a number in brackets, or an address."""
    is_link = before.endswith("]") and after.startswith(("(", "[", ":"))
    is_word = before[-1:].isalnum() and after[:1].isalnum()
    return _JOINER + after if is_link or is_word else after
