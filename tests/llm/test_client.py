"""The thoughts of a reasoning model are hidden, wherever its pieces are cut."""

from __future__ import annotations

from docmind.llm.client import Thoughts
from each import each_of


def shown(pieces: list[str]) -> str:
    thoughts = Thoughts()
    return "".join(thoughts.take(piece) for piece in pieces) + thoughts.rest()


@each_of(
    "text, answer",
    [
        ("It was 12.", "It was 12."),
        ("<think>no</think>It was 12.", "It was 12."),
        ("\n <think>\nno < no </thin k> no\n</think>\n\nIt was 12.", "It was 12."),
        ("<thinking>no</thinking> It was 12.", "It was 12."),
        ("<reasoning>a</reasoning><think>b</think>It was 12.", "It was 12."),
        ("<think></think>It was 12.", "It was 12."),
        ("<think>never closed", ""),
        ("<think>no</think>", ""),
        ("<thin ice> is a tag", "<thin ice> is a tag"),
        ("<th", "<th"),
        ("In <think>tags</think> of the text", "In <think>tags</think> of the text"),
        ("a\n<think>b", "a\n<think>b"),
        ("", ""),
    ],
)
def test_only_the_answer_is_shown(text: str, answer: str) -> None:
    assert shown([text]) == answer
    assert shown(list(text)) == answer
    for cut in range(1, len(text)):
        assert shown([text[:cut], text[cut:]]) == answer


def test_text_is_not_held_back_longer_than_needed() -> None:
    thoughts = Thoughts()
    assert [thoughts.take(piece) for piece in ("<", "b", ">", " <think>")] == ["", "<b", ">", " <think>"]
