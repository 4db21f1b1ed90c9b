"""A model's answer as it leaves the library: nothing in it acts, and its sentences are where they say."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from docmind.answers import neutral, neutral_draft
from docmind.records.answers import Answer, Sentence, Source
from each import each_of
from exfiltration import payloads
from inert import assert_inert

PAYLOADS = payloads("http://127.0.0.1:9")
SOURCES = tuple(Source(number, "a.pdf", "d", number, "p", "q", (), 1, 1) for number in (1, 2, 3))


def with_sentences(text: str, step: int) -> Answer:
    """Return an answer with a sentence end every few characters."""
    ends = range(step, len(text), step)
    sentences = tuple(Sentence(text[:end], 0, end, (1,) if end % 2 else (), bool(end % 2)) for end in ends)
    return Answer("q", text, True, SOURCES, sentences=sentences, model="ollama/small")


def check_places(answer: Answer) -> None:
    for sentence in answer.sentences:
        assert answer.answer[sentence.start : sentence.end] == sentence.text


@pytest.mark.slow
@each_of("name", PAYLOADS)
def test_nothing_in_it_acts(name: str) -> None:
    for step in (1, 3, 7, 10_000):
        made = neutral(with_sentences(PAYLOADS[name], step))
        assert_inert(made.answer)
        check_places(made)
        assert not re.search("[\u202a-\u202e\u2066-\u2069\U000f0000-\U0010ffff]", made.answer)
    assert_inert(neutral_draft(PAYLOADS[name]))


def test_the_check_would_notice() -> None:
    raw = "See ![x](http://127.0.0.1:9/p) and [this](javascript:alert(1))."
    with pytest.raises(AssertionError):
        assert_inert(raw)
    assert_inert(neutral(with_sentences(raw, 10_000)).answer)


@each_of("name", PAYLOADS)
def test_doing_it_twice_changes_nothing(name: str) -> None:
    once = neutral(with_sentences(PAYLOADS[name], 10_000))
    assert neutral(once) == once


def test_formatting_and_sentences_stay() -> None:
    parts = [
        "# Herons",
        "They **wait** in `water`.",
        "- They nest in trees.",
        "They cost $5 [here](https://a.example/b).",
    ]
    text, sentences = "", []
    for number, part in enumerate(parts):
        sources = (number,) if number else ()
        sentences.append(Sentence(part, len(text), len(text) + len(part), sources, bool(sources), bool(sources)))
        text += part + "".join(f" [{n}]" for n in sources) + "\n\n"
    made = neutral(Answer("q", text.strip(), True, SOURCES, sentences=tuple(sentences), model="ollama/small"))
    joiner = "\u2060"
    assert made.answer.replace(joiner, "") == (
        "**Herons**\n\nThey **wait** in `water`. [1]\n\n- They nest in trees. [2]\n\n"
        "They cost \\$5 here (a.example). [3]"
    )
    assert [one.text.replace(joiner, "") for one in made.sentences] == [
        "**Herons**", "They **wait** in `water`.", "They nest in trees.", "They cost \\$5 here (a.example).",
    ]  # fmt: skip
    check_places(made)
    assert [one.sources for one in made.sentences] == [(), (1,), (2,), (3,)]
    quotes = replace(made, model="", answer="![x](http://a.example)")
    assert neutral(quotes) is quotes
