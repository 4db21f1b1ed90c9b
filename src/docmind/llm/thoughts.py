"""Reasoning models think aloud before they answer. What stands in a thinking tag at the beginning is not shown."""

from __future__ import annotations

_OPENED = ("<think>", "<thinking>", "<reasoning>")


class Thoughts:
    """Takes the pieces of one answer and gives back what is meant for the reader. Not safe between threads.

    Only a tag at the very beginning counts: further on it may be what the user asked about.
    """

    def __init__(self) -> None:
        self._held = ""
        self._closing = ""
        self._is_answer = False

    def take(self, piece: str) -> str:
        """The part of the answer that this piece completes; empty while the model thinks."""
        if self._is_answer:
            return piece
        self._held += piece
        while True:
            if self._closing:
                _, closed, after = self._held.partition(self._closing)
                if not closed:
                    self._held = self._held[-len(self._closing) :]  # a closing tag may be cut in two
                    return ""
                self._closing, self._held = "", after
            begun = self._held.lstrip()
            tag = next((tag for tag in _OPENED if begun.startswith(tag)), "")
            if tag:
                self._closing, self._held = tag.replace("<", "</"), begun[len(tag) :]
            elif any(tag.startswith(begun) for tag in _OPENED):  # nothing yet, or an opening tag cut in two
                return ""
            else:
                return self._answer(begun)

    def rest(self) -> str:
        """What was held back when the answer ended: nothing, unless it ended within what looked like a tag."""
        return "" if self._closing or self._is_answer else self._answer(self._held.strip())

    def _answer(self, text: str) -> str:
        self._is_answer, self._held = True, ""
        return text
