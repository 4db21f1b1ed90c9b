"""Comparing two documents: every edit is found, and nothing else."""

from __future__ import annotations

import cProfile
import random
import re
from collections.abc import Iterator

import pytest

from desks import opened
from docmind.application import DocMind
from docmind.documents import PageRecord
from docmind.documents.compared_text import ComparedText
from docmind.documents.comparing import compare
from docmind.errors import ConfigError
from docmind.records.comparison import Comparison
from docmind.records.documents import ArtifactRef, Upload
from edited import FORMATS, TABLES, Edit, Writer, written

KINDS = (
    "word", "words", "number", "sentence in", "sentence out", "sentence new", "paragraph in", "paragraph out",
    "paragraph moved", "page in",
)  # fmt: skip
OF_ROWS = ("cell", "cell", "row in", "row out")
SEEDS = range(1, 21)
_WORD = re.compile(r"\w+")


def words_of(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def pair(seed: int) -> tuple[str, bytes, bytes, list[Edit]]:
    """Return a format, two files of it, and what was edited between them."""
    writer = Writer(seed)
    form = FORMATS[seed % len(FORMATS)]
    is_table = form in TABLES
    has_rows = is_table or form in ("md", "docx", "html")
    paper = writer.paper(
        0 if is_table else writer.chance.randint(4, 8), writer.chance.randint(8, 60) if has_rows else 0
    )
    kinds = [] if is_table else writer.chance.sample(KINDS, writer.chance.randint(3, 7))
    kinds += writer.chance.sample(OF_ROWS, writer.chance.randint(1, 4)) if has_rows else []
    later, edits = writer.edited(paper, kinds)
    return form, written(paper, form, random.Random(seed)), written(later, form, random.Random(seed + 1)), edits


def mistakes(comparison: Comparison, edits: list[Edit]) -> list[str]:
    """Return a sentence for each edit that was not found, and for each change that no edit made."""
    found: list[str] = []
    gone = [word for one in comparison.changes if one.kind != "moved" for word in words_of(one.before.text)]
    came = [word for one in comparison.changes if one.kind != "moved" for word in words_of(one.after.text)]
    for edit in edits:
        if edit.kind == "moved":
            moved = [one for one in comparison.changes if one.kind == "moved"]
            if not any(words_of(one.after.text) == words_of(edit.came) for one in moved):
                found.append(f"the move was not found: {edit.came!r}")
            continue
        for said, there, name in ((edit.gone, gone, "removed"), (edit.came, came, "added")):
            links = set(words_of(edit.gone)) & set(words_of(edit.came))
            missing = [word for word in words_of(said) if word not in there and word not in links]
            if missing:
                found.append(f"{name}, and not found: {missing}")
    for said, there, name in (
        (
            "gone",
            [word for one in comparison.changes if one.kind != "moved" for word in words_of(one.before.text)],
            "removed",
        ),
        (
            "came",
            [word for one in comparison.changes if one.kind != "moved" for word in words_of(one.after.text)],
            "added",
        ),
    ):
        told = [word for edit in edits if edit.kind != "moved" for word in words_of(getattr(edit, said))]
        invented = [word for word in there if word not in told]
        if invented:
            found.append(f"{name} by no edit: {invented}")
        if len(there) > len(told):
            found.append(f"{len(there)} words {name}, of {len(told)}")
    if sum(one.kind == "moved" for one in comparison.changes) > sum(edit.kind == "moved" for edit in edits):
        found.append("a move that was not made")
    return found


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DocMind]:
    with opened(tmp_path_factory.mktemp("desk")) as docmind:
        yield docmind


def compared(desk: DocMind, before: Upload, after: Upload) -> Comparison:
    one, other = desk.add([before, after])
    return desk.documents.compare(one.doc_id or "", other.doc_id or "")


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_every_edit_is_found_and_none_invented(desk: DocMind, seed: int) -> None:
    form, before, after, edits = pair(seed)
    comparison = compared(desk, Upload(f"{seed}.{form}", before), Upload(f"{seed} v2.{form}", after))
    told = "\n".join(f"{one.kind}: {one.before.text!r} -> {one.after.text!r}" for one in comparison.changes)
    assert not mistakes(comparison, edits), f"{form}\n{edits}\n{told}"


TEXT = "The lease of the mill house began in spring. The tenant pays 900 crowns a month. It is due on the third day."


@pytest.mark.slow
def test_white_space_line_breaks_hyphens_and_ligatures_are_no_change(desk: DocMind) -> None:
    before = "The office of the mill house is open. The co-operative keeps “the keys” of the\nworkshop.\n"
    after = 'The o\ufb03ce  of the mill house is open. The cooper-\native keeps "the keys" of\nthe workshop.\n'
    comparison = compared(desk, Upload("mill.txt", before.encode()), Upload("mill (2).txt", after.encode()))
    assert comparison.changes == ()


@pytest.mark.slow
def test_a_change_has_its_words_its_sentence_and_its_boxes_on_both_pages(desk: DocMind) -> None:
    before = Upload("mill lease.txt", TEXT.encode())
    after = Upload("mill lease v2.txt", TEXT.replace("900", "950").encode())
    comparison = compared(desk, before, after)
    (change,) = comparison.changes
    assert (change.n, change.kind, change.before.text, change.after.text) == (1, "changed", "900", "950")
    assert change.after.statement == "The tenant pays 950 crowns a month."
    assert (change.before.page_no, len(change.before.places[0].boxes), len(change.after.places[0].boxes)) == (1, 1, 1)
    assert (comparison.before.document, comparison.after.document) == ("mill lease.txt", "mill lease v2.txt")


@pytest.mark.slow
def test_a_sign_and_the_case_of_a_letter_are_changes(desk: DocMind) -> None:
    before = "The balance of the year is 400 crowns. The Council paid.\n"
    after = "The balance of the year is -400 crowns. The council paid.\n"
    comparison = compared(desk, Upload("sum.txt", before.encode()), Upload("sum (2).txt", after.encode()))
    assert [(one.kind, one.before.text, one.after.text) for one in comparison.changes] == [
        ("added", "", "-"),
        ("changed", "Council", "council"),
    ]


@pytest.mark.slow
def test_what_was_added_says_on_which_page_it_would_be(desk: DocMind) -> None:
    after = TEXT + " The cellar of the house is dry."
    comparison = compared(desk, Upload("cellar.txt", TEXT.encode()), Upload("cellar (2).txt", after.encode()))
    (change,) = comparison.changes
    assert (change.kind, change.before.text, change.before.places[0].boxes) == ("added", "", ())
    assert change.before.page_no == 1


@pytest.mark.slow
def test_a_document_is_not_compared_with_itself(desk: DocMind) -> None:
    (one,) = desk.add([Upload("alone.txt", TEXT.encode())])
    with pytest.raises(ConfigError):
        desk.documents.compare(one.doc_id or "", one.doc_id or "")


def pages_of(seed: int, pages: int) -> list[PageRecord]:
    """Return pages of ten sentences of words that hardly repeat."""
    pick = random.Random(seed)
    image = ArtifactRef("0" * 64, ".webp")
    return [
        PageRecord(
            doc_id="", page_no=number, width=100, height=100, words=b"", language="en", image=image, thumbnail=image,
            text="\n\n".join(" ".join(f"W{pick.randrange(5_000)}" for _ in range(20)) + "." for _ in range(10)),
            text_source="layer", confidence=1.0,
        )
        for number in range(1, pages + 1)
    ]  # fmt: skip


@pytest.mark.slow
def test_texts_that_have_nothing_in_common_are_compared_in_steps_in_proportion() -> None:
    def steps(pages: int) -> int:
        texts = ComparedText(pages_of(1, pages)), ComparedText(pages_of(2, pages))
        profile = cProfile.Profile()
        found = profile.runcall(compare, *texts)
        assert found
        return sum(one.callcount for one in profile.getstats())

    steps(1)  # it imports what the others need
    assert steps(60) < 5 * steps(15)
