"""Answers on a terminal: pieces as they come, nothing that commands it, and the checked text in their place."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

import pytest

from docmind.cli.stream import Stream, rows_of
from docmind.cli.turns import UNSUPPORTED, marked
from docmind.conversation import RunProgress, Turn
from docmind.schema import Answer, Sentence, Source
from shells import assert_inert

pytestmark = pytest.mark.skipif(os.name != "posix", reason="sequences that move the cursor")


@pytest.fixture(autouse=True)
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("LINES", "10")


def writing(text: str) -> RunProgress:
    return RunProgress("r", "t", "q?", "running", "writing", text=text, model="m")


def answered(text: str, *sentences: Sentence) -> Turn:
    source = Source(1, "herons.pdf", "d" * 64, 2, "p", "Herons nest in trees.", (), 10, 10)
    return Turn("c", None, "q?", 0, "answered", answer=Answer("q?", text, True, (source,), sentences=sentences))


Written = Callable[[], str]


@pytest.fixture
def written(capsys: pytest.CaptureFixture[str]) -> Written:
    return lambda: capsys.readouterr().out


def screen_of(stream: str, width: int = 40) -> list[str]:
    """What a terminal shows in the end: a small one, that knows the few sequences we write."""
    rows, row, column, at = [""], 0, 0, 0
    while at < len(stream):
        char = stream[at]
        if stream[at : at + 2] == "\x1b[":
            end = next(n for n in range(at + 2, len(stream)) if stream[n].isalpha())
            number, kind = stream[at + 2 : end], stream[end]
            assert kind in "AJK", stream[at : end + 1]
            if kind == "A":
                row -= int(number)
                assert row >= 0
            else:
                rows[row] = rows[row][:column]
                rows = rows[: row + 1] if kind == "J" else rows
            at = end + 1
            continue
        at += 1
        if char == "\r":
            column = 0
        elif char == "\n":
            row, column = row + 1, 0
        else:
            if column == width:
                row, column = row + 1, 0
                rows += [""] * (row + 1 - len(rows))
            rows[row] = f"{rows[row]:{column}}"[:column] + char + rows[row][column + 1 :]
            column += 1
        rows += [""] * (row + 1 - len(rows))
    return rows


def test_pieces_are_written_once_and_as_they_come(written: Written) -> None:
    stream = Stream(is_live=True)
    stream.show(writing("Herons "))
    assert written().endswith("Herons ")
    stream.show(writing("Herons nest"))
    assert written() == "nest"
    stream.show(writing("Herons nest"))
    assert written() == ""


def test_the_checked_text_takes_the_place_of_what_was_streamed(written: Written) -> None:
    long = "Herons nest in trees. " * 6
    stream = Stream(is_live=True)
    for end in range(0, len(long), 7):
        stream.show(writing(long[:end]))
    stream.end(answered("Herons nest in trees. [1]"))
    assert screen_of(written()) == ["Herons nest in trees. [1]", "  [1] herons.pdf, page 2", ""]


def test_a_text_that_is_taller_than_the_screen_is_followed_by_the_checked_one(written: Written) -> None:
    stream = Stream(is_live=True)
    stream.show(writing("word\n" * 30))
    stream.end(answered("Herons nest in trees. [1]"))
    shown = screen_of(written())
    assert shown[:30] == ["word"] * 30
    assert shown[-4:] == ["With its sources:", "Herons nest in trees. [1]", "  [1] herons.pdf, page 2", ""]


def test_a_text_that_begins_anew_replaces_the_one_before(written: Written) -> None:
    stream = Stream(is_live=True)
    stream.show(writing("I will look"))
    stream.show(writing(""))
    stream.show(writing("Herons"))
    stream.break_off()
    assert screen_of(written()) == ["Herons", ""]


def test_the_stage_gives_way_to_the_text(written: Written) -> None:
    stream = Stream(is_live=True)
    stream.show(RunProgress("r", "t", "q?", "running", "searching"))
    assert screen_of(said := written()) == ["searching…"]
    stream.show(writing("Herons"))
    assert screen_of(said + written()) == ["Herons"]


def test_nothing_is_streamed_where_nobody_watches(written: Written) -> None:
    stream = Stream(is_live=False)
    stream.show(writing("Herons nest"))
    assert written() == ""
    stream.end(answered("Herons nest in trees. [1]"))
    assert written() == "Herons nest in trees. [1]\n  [1] herons.pdf, page 2\n"


def test_no_sequence_slips_through_whole_or_split(written: Written, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")  # so that none of what is written is ours
    evil = "a\x1b[2J\x1b]0;owned\x07\x9b2Jb\x1bPq\x1b\\c\r\x08\x7f\u202ed\u2028e\ud800f\n"
    for size in (1, 2, 3, len(evil)):
        stream = Stream(is_live=True)
        for end in range(size, len(evil) + size, size):
            stream.show(writing(evil[:end]))
        stream.end(answered(evil, Sentence(evil, 0, len(evil))))
        said = written()
        assert_inert(said)
        assert "owned" in said


def test_rows_are_counted_as_a_terminal_wraps() -> None:
    assert rows_of("", 10) == 1
    assert rows_of("0123456789", 10) == 1
    assert rows_of("0123456789a", 10) == 2
    assert rows_of("a\n\nb", 10) == 3
    assert rows_of("漢" * 5, 10) == 1
    assert rows_of("a" + "漢" * 5, 10) == 2  # a wide character is not cut at the edge
    assert rows_of("012345678漢", 10) == 2


def test_claims_that_no_page_supports_are_marked() -> None:
    text = "Herons nest. [1] They are green. The documents do not say why."
    sentences = (
        Sentence("Herons nest.", 0, 12, (1,), supported=True),
        Sentence("They are green.", 17, 32),
        Sentence("The documents do not say why.", 33, 62, is_claim=False),
    )
    told = marked(Answer("q?", text, True, sentences=sentences))
    assert told == f"Herons nest. [1] They are green. {UNSUPPORTED} The documents do not say why."


def test_stdout_is_asked_whether_somebody_watches(monkeypatch: pytest.MonkeyPatch, written: Written) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    Stream().show(writing("Herons"))
    assert written().endswith("Herons")
