"""Comments of reviewers, with the answers to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from docmind.reading.formats.docx.package import W14, W15, Element, Package, Part, W


class Comments:
    """The comments of a document, each to be taken once."""

    def __init__(self, package: Package, main: Part) -> None:
        self._part = package.linked(main, "comments")
        self._story: Any = None
        self._said: dict[str, Element] = {}
        self._answers: dict[str, list[str]] = {}
        self._taken: set[str] = set()
        if self._part is None:
            return
        named: dict[str, str] = {}  # the id of the last paragraph of a comment, which answers name: the comment's id
        for said in self._part.root.iterfind(f"{W}comment"):
            key = said.get(f"{W}id") or ""
            self._said.setdefault(key, said)
            named |= {para.get(f"{W14}paraId"): key for para in said.iterfind(f"{W}p") if para.get(f"{W14}paraId")}
        more = package.linked(main, "commentsExtended")
        for said in more.root if more is not None else ():
            answer, to = named.get(said.get(f"{W15}paraId")), named.get(said.get(f"{W15}paraIdParent"))
            if answer is not None and to is not None and answer != to:
                self._answers.setdefault(to, []).append(answer)

    def take(self, key: str) -> Iterator[Element]:
        """Yield a comment and the answers to it, those not yet taken."""
        waiting = [key]
        while waiting:
            here = waiting.pop(0)
            if here in self._said and here not in self._taken:
                self._taken.add(here)
                yield self._said[here]
                waiting += self._answers.get(here, [])

    def left(self) -> list[str]:
        """Return the comments that stand at no place in the text."""
        return [key for key in self._said if key not in self._taken]

    def story(self, of: Callable[[Part], Any]) -> Any:
        """Return what reads the part of the comments, made once."""
        if self._story is None and self._part is not None:
            self._story = of(self._part)
        return self._story
