"""An answer as plain text, to be pasted elsewhere."""

from __future__ import annotations

from docmind.conversation import Turn
from docmind.schema import Answer, Box, Source, page_id_of
from docmind.ui.actions import plain_text

SOURCE = Source(1, "a\u202eb.pdf", "d", 3, page_id_of("d", 3), "The  warranty\nlasts.", (Box(1, 2, 3, 4),), 100, 200)


def test_an_answer_is_copied_with_where_it_stands() -> None:
    answer = Answer("How long?", "Two years [1].", True, (SOURCE,))
    turn = Turn("c", "b", "How long?", 0, "answered", answer)
    assert plain_text(turn) == "Two years [1].\n\n[1] ab.pdf, page 3: “The warranty lasts.”"


def test_what_was_not_answered_gives_no_text() -> None:
    assert plain_text(Turn("c", "b", "How long?", 0, "unanswered")) == ""
    assert plain_text(Turn("c", "b", "How long?", 0, "answered", Answer("How long?", "Nothing.", False))) == "Nothing."
