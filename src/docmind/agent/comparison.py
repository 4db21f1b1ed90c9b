"""Two answers side by side: what both say, what only one says, and which pages each rests on."""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import Literal

from docmind.conversation import Comparison, Turn

Change = tuple[Literal["same", "only_left", "only_right"], str]


def compare(left: Turn, right: Turn) -> Comparison:
    """Sentences as they stand, white space apart; pages by id, in the order of their first citation."""
    says_left, says_right = _sentences(left), _sentences(right)
    changes: list[Change] = []
    for kind, a, b, c, d in SequenceMatcher(None, says_left, says_right, autojunk=False).get_opcodes():
        if kind == "equal":
            changes.extend(("same", text) for text in says_left[a:b])
        else:
            changes.extend(("only_left", text) for text in says_left[a:b])
            changes.extend(("only_right", text) for text in says_right[c:d])
    pages_left, pages_right = _pages(left), _pages(right)
    return Comparison(
        left=left,
        right=right,
        changes=tuple(changes),
        pages_both=tuple(page for page in pages_left if page in pages_right),
        pages_left=tuple(page for page in pages_left if page not in pages_right),
        pages_right=tuple(page for page in pages_right if page not in pages_left),
    )


def _sentences(turn: Turn) -> list[str]:
    if turn.answer is None:
        return []
    if not turn.answer.sentences:
        return [" ".join(turn.answer.answer.split())] if turn.answer.answer.strip() else []
    return [" ".join(sentence.text.split()) for sentence in turn.answer.sentences]


def _pages(turn: Turn) -> list[str]:
    return list(dict.fromkeys(source.page_id for source in turn.answer.sources)) if turn.answer else []
