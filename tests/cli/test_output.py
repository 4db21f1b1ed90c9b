"""Turns as data and as text, and the tree of runs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from docmind.answers import quoted
from docmind.cli.context import plain
from docmind.cli.output import one_line, print_hits, print_turn, short, tree, turn_data
from docmind.records.answers import NOTED, Answer, Computed, Sentence, Source
from docmind.records.conversations import Run, Turn
from docmind.records.search import Degraded, Hit, ListReport, ListState, MultimodalResult, SearchResult
from shells import assert_inert


def run(name: str, parent: str | None, *, current: bool = False) -> Run:
    return Run(
        f"checkpoint-{name:>08}", parent and f"checkpoint-{parent:>08}", f"Question {name}?", 0, "answered", current
    )


def shape(runs: list[Run], head: str | None) -> list[str]:
    """Return the lines without times."""
    return [line[: line.index("  1970") if "  1970" in line else None] for line in tree(runs, head)]


def test_a_turn_has_the_fields_of_its_answer_and_its_own() -> None:
    source = Source(1, "a.pdf", "d", 2, "p", "Herons.", (), 10, 10)
    answer = Answer(
        "Where?", "Herons. [1]", True, (source,), (Degraded("model", "gone"),), (("total", 1.234),),
        (Sentence("Herons.", 0, 7, (1,), supported=True),), "ollama/m", "t1", "c1",
    )  # fmt: skip
    told = turn_data(Turn("c1", "c0", "Where?", 5, "stopped", answer, asked_as="Where, herons?", message="Gone."))
    assert set(told) >= set(plain(answer))
    assert (told["question"], told["answer"], told["thread_id"], told["checkpoint_id"]) == (
        "Where?", "Herons. [1]", "t1", "c1",
    )  # fmt: skip
    assert told["sentences"] == [
        {"text": "Herons.", "start": 0, "end": 7, "sources": [1], "supported": True, "is_claim": True, "seen": False}
    ]
    assert (told["state"], told["asked_as"], told["before_id"], told["message"]) == (
        "stopped", "Where, herons?", "c0", "Gone.",
    )  # fmt: skip
    assert told["timings_ms"] == {"total": 1.23}


@pytest.mark.parametrize(
    ("text", "image", "told"),
    [
        ("empty", "off", "No pages match."),
        ("timed out", "off", "Not found: the text was not searched."),
        ("failed", "empty", "Not found: the text was not searched."),
        ("empty", "timed out", "Not found in the text; page images were not searched."),
    ],
)
def test_nothing_is_said_to_match_only_where_it_was_searched(
    text: ListState, image: ListState, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    print_hits(MultimodalResult("heron", (), lists=(ListReport("text", text), ListReport("image", image))))
    assert capsys.readouterr().out.strip() == told


def test_a_hit_in_source_code_names_what_it_stands_in(capsys: pytest.CaptureFixture[str]) -> None:
    place = {
        "document": "retry.py",
        "doc_id": "d",
        "page_no": 1,
        "page_id": "d::page::1",
        "page_width": 1,
        "page_height": 1,
    }
    path = ("class Retry", "def \x1bwait")
    hit = Hit(rank=1, score=1.5, **place, modality="code", text="def wait(): ...", heading_path=path)
    print_hits(SearchResult("wait", (hit, replace(hit, rank=2, modality="text"))))
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(" 1. retry.py, page 1 · class Retry · def ")
    assert lines[2] == " 2. retry.py, page 1  (1.500)"
    assert_inert("\n".join(lines))


def test_a_turn_without_an_answer_has_the_same_names() -> None:
    answered = turn_data(Turn("c", None, "Where?", 0, "answered", Answer("Where?", "x", False)))
    unanswered = turn_data(Turn("c", None, "Where?", 0, "unanswered", message="Gone."))
    assert set(answered) == set(unanswered)
    assert (unanswered["answer"], unanswered["found"], unanswered["sources"]) == ("", False, [])


def test_a_plain_succession_is_not_indented_and_branches_are() -> None:
    runs = [
        run("1", None, current=True), run("2", "1"), run("3", "2"),
        run("4", "1", current=True), run("5", "4", current=True),
    ]  # fmt: skip
    assert shape(runs, runs[4].checkpoint_id) == [
        "* 00000001", "  o 00000002", "  o 00000003", "  * 00000004", "  * 00000005",
    ]  # fmt: skip
    assert [line for line in tree(runs, runs[4].checkpoint_id) if "here" in line] == [
        line for line in tree(runs, runs[4].checkpoint_id) if "Question 5" in line
    ]


def test_the_head_on_a_new_branch_stands_after_its_last_run() -> None:
    runs = [run("1", None, current=True), run("2", "1")]
    assert [line.endswith("<- you are here") for line in tree(runs, "another")] == [True, False]
    assert list(tree([], None)) == []


def test_long_conversations_and_orphaned_turns_are_drawn() -> None:
    runs = [run(str(n), str(n - 1) if n else None, current=True) for n in range(3_000)]
    lines = list(tree(runs, runs[-1].checkpoint_id))
    assert len(lines) == 3_000
    assert all(line.startswith("* ") for line in lines)
    assert len(list(tree(runs[1:], None))) == 2_999


def test_what_others_wrote_is_one_inert_line() -> None:
    hostile = Run("\x1b[2J\x1b]0;owned", None, "Where\r\n\x1b[31mare\u202e they?", 0, "answered", is_current=True)
    assert_inert("".join(tree([hostile], None)))
    assert "\n" not in "".join(tree([hostile], None))
    assert_inert(short("\x1b[2J" * 4))
    assert len(one_line("word " * 900)) == 300


def _turn(*, is_maybe: bool) -> Turn:
    made = [
        Source(n, document, document, n, "p", text, (), 10, 10)
        for n, (document, text) in enumerate([("a.txt", "It lasts two years."), ("b.txt", "It costs\n5 euros.")], 1)
    ]
    told = quoted(made, "maybe" if is_maybe else "answer")
    outcome = "maybe" if is_maybe else "answer"
    answer = Answer("How long?", told.answer, True, told.sources, sentences=told.sentences, outcome=outcome)
    return Turn("c", None, "How long?", 0, "answered", answer)


def test_a_computed_answer_is_printed_whole_with_its_query(capsys: pytest.CaptureFixture[str]) -> None:
    turn = _turn(is_maybe=True)
    assert turn.answer is not None
    how = Computed('SELECT count(*) FROM "a\x1b[2J.csv"', ("A",), (("1",),), 1, ("d",))
    answer = replace(turn.answer, answer="This may answer it: 3 rows.\n\nMore.", sentences=(), computed=how)
    print_turn(replace(turn, answer=answer))
    lines = capsys.readouterr().out.splitlines()
    assert "More." in lines[:3]
    (query,) = (line for line in lines if line.startswith("Computed by: "))
    assert query.startswith('Computed by: SELECT count(*) FROM "a')
    assert_inert(query)


def test_one_quote_answers_and_others_follow_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    print_turn(_turn(is_maybe=False))
    assert capsys.readouterr().out.split("\n") == [
        "“It lasts two years.” [1]", "  [1] a.txt, page 1", "Also relevant:", "  [2] b.txt, page 2",
        "      “It costs 5 euros.”", "",
    ]  # fmt: skip


def test_what_was_noted_and_what_was_told_are_quoted(capsys: pytest.CaptureFixture[str]) -> None:
    noted = Answer("Remember …", NOTED, found=False, outcome="noted", told=("My rent is 900", "\x1b[2JA"))
    print_turn(Turn("c", None, "Remember …", 0, "answered", noted))
    assert capsys.readouterr().out.split("\n")[:2] == ["I will remember this.", "  “My rent is 900”"]
    print_turn(
        Turn("c", None, "Rent?", 0, "answered", Answer("Rent?", "Nothing.", found=False, told=("It is\x1b[2J 9",)))
    )
    out = capsys.readouterr().out
    assert out.startswith("You told me: “It is")
    assert "\x1b" not in out
    assert out.endswith("Nothing.\n")


def test_passages_that_may_answer_are_listed_with_their_documents(capsys: pytest.CaptureFixture[str]) -> None:
    turn = _turn(is_maybe=True)
    print_turn(turn)
    assert capsys.readouterr().out.split("\n") == [
        "These passages may answer it:", "  [1] a.txt, page 1", "      “It lasts two years.”", "  [2] b.txt, page 2",
        "      “It costs 5 euros.”", "",
    ]  # fmt: skip
    assert (turn_data(turn)["outcome"], turn_data(turn)["state"]) == ("maybe", "answered")
