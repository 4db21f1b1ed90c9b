"""Quotes drawn at random, each with the text around it, to be read one by one.

A quote is cut or polluted where it begins or ends in mid-sentence, ends in a colon, is a heading, a running head, a
page number or a table of contents alone, is a table row without its header, only repeats the question, joins lines that
do not belong together, or breaks code.
"""

from __future__ import annotations

import random
import textwrap
from pathlib import Path

from harness import add_missing, opened

from docmind.evaluation import Question
from docmind.records.answers import Source

AROUND = 160  # characters of the page before and after a quote


def draw(folder: Path, place: Path, questions: list[Question], count: int, seed: int) -> None:
    """Print one quote of each of `count` questions that are answered; questions and quotes are drawn with `seed`."""
    chance = random.Random(seed)  # noqa: S311
    asked = chance.sample(questions, len(questions))
    with opened(place) as docmind:
        add_missing(docmind, folder)
        drawn = 0
        for question in asked:
            if drawn == count:
                return
            answer = docmind.ask(question.text)
            sources = [source for source in answer.sources if source.kind == "quote"]
            if answer.outcome not in ("answer", "maybe") or not sources:
                continue
            drawn += 1
            source = chance.choice(sources)
            print(f"\n=== {drawn}. {question.text}\n{answer.outcome}, {source.document}, page {source.page_no}")
            print(
                textwrap.indent(in_context(source, docmind.documents.page(source.doc_id, source.page_no).text), "    ")
            )
        if drawn < count:
            print(f"\n{drawn} of {count}: no other question has a quote.")


def in_context(source: Source, page: str) -> str:
    """Return a quote between ⟦ and ⟧ with the characters before and after it; its lead stands apart."""
    *lead, own = source.quote.split("\n…\n")
    start = page.find(own)
    end = start + len(own)
    before, after = page[max(0, start - AROUND) : start], page[end : end + AROUND]
    return "".join([*(f"⟦{part}⟧\n…\n" for part in lead), before, "⟦", own, "⟧", after])
