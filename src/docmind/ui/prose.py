"""Answers as Markdown for Streamlit: badges for what supports each sentence, and nothing else that is live."""

from __future__ import annotations

import re

from docmind.markdown import markdown_of, words
from docmind.prose import blocks_of
from docmind.schema import Answer

_MARKER = re.compile(r"(\[\d+\])")
_UNSUPPORTED, _UNSUPPORTED_AGAIN = "not found in your documents", "not found"


def answer_markdown(answer: Answer) -> str:
    """The answer with a badge for each source behind its sentence; what no page supports is marked as such.

    Quotes (an answer that no model wrote) are shown as plain text around their `[n]` markers.
    """
    if not answer.model:
        return _quotes_markdown(answer)
    numbers = {source.n for source in answer.sources}
    told: list[int] = []

    def badge(index: int) -> str:
        sentence = answer.sentences[index]
        cited = [number for number in sentence.sources if number in numbers]
        if sentence.supported and cited:
            return "".join(_number(number) for number in cited)
        if sentence.is_claim:
            told.append(index)
            return f"\u00a0:orange-badge[{_UNSUPPORTED if len(told) == 1 else _UNSUPPORTED_AGAIN}]"
        return ""

    return markdown_of(blocks_of(answer.answer, answer.sentences), badge)


def streaming_markdown(text: str) -> str:
    """What a model wrote so far, cut off anywhere: spans that it will still close look as if they were closed."""
    return markdown_of(blocks_of(_closed(text)), lambda index: "")


def _quotes_markdown(answer: Answer) -> str:
    numbers = {f"[{source.n}]": source.n for source in answer.sources}
    paragraphs = []
    for paragraph in answer.answer.split("\n\n"):
        out = ""
        for part in _MARKER.split(paragraph):
            out = out.rstrip(" ") + _number(numbers[part]) if part in numbers else out + words(part)
        paragraphs.append(out.strip(" "))
    return "\n\n".join(paragraphs)


def _number(number: int) -> str:
    return f"\u00a0:green-badge[{number}]"


def _closed(text: str) -> str:
    last = text[text.rfind("\n\n") + 1 :].replace("\\*", "").replace("\\`", "")
    if "```" in last or "~~~" in last:
        return text
    if last.count("`") % 2:
        return text + "`"
    if last.count("**") % 2:
        stem, last = text.rstrip("*"), last.rstrip("*")  # stars at the very end open nothing yet, or begin to close
        return stem + "**" if last.count("**") % 2 else stem
    return text
