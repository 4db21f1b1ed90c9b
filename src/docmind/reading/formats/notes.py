"""Notes of a page or book: which links are the marks of notes, and which elements are the notes themselves."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator
from itertools import islice
from urllib.parse import unquote

import lxml.html

from docmind.reading.formats.math_text import local

Element = lxml.html.HtmlElement

BACK_SIGNS = "↩↑⏎⤴\ufe0e\ufe0f"  # what leads back from a note to its place in the text
_LABEL = re.compile(r"[\[(]?\s*(\d{1,4}|[a-z]{1,2}|[ivxlc]{1,6}|[*†‡§¶]{1,4}|(?:note|nb|n\.)\s*\d{1,4})\s*[\])]?", re.I)
_BRACKETED = re.compile(r"[\[(].+[\])]", re.S)
_REFERENCE = frozenset(("noteref", "doc-noteref", "footnote-ref", "footnoteref", "fnref", "footnote-reference"))
_WAY_BACK = frozenset(("doc-backlink", "backlink", "footnote-back", "footnote-backref", "reversefootnote", "referrer"))
_HOLDERS = frozenset(("p", "li", "div", "aside", "dd", "section"))  # what a note may be
_HIGHEST = 4  # elements between the target of a link and the note around it
_ANCHOR = 120  # characters before its mark that are the place of a note


class Notes:
    """The notes of one page. `path` is its name in a book, and `book` what chapters before it refer to."""

    def __init__(self, path: str = "", book: dict[str, tuple[str, str]] | None = None) -> None:
        self._path = path
        self._book = {} if book is None else book
        self._labels: dict[Element, str] = {}  # of the links that are marks of notes
        self._notes: dict[Element, str] = {}  # the markers of the elements that are notes
        self._keys: dict[Element, str] = {}  # the address that each mark leads to
        self._anchors: dict[str, str] = {}
        self._marks: set[str] = set()  # ids that ways back lead to
        self._around: set[Element] = set()  # elements around notes

    def find(self, root: Element) -> None:
        """Find the marks and the notes of a page. A note follows its mark, so what leads back is no mark."""
        places: dict[str, tuple[int, Element]] = {}
        links: list[tuple[int, Element]] = []
        for order, element in enumerate(root.iter()):
            name = local(element)
            if not name:
                continue
            for key in {element.get("id"), element.get("name") if name == "a" else None}:
                if key:
                    places.setdefault(key, (order, element))
            if name == "a" and "#" in (element.get("href") or ""):
                links.append((order, element))
        for key, (label, anchor) in list(self._book.items()):
            path, _, at = key.partition("#")
            if path == self._path and at in places:
                self._add_note(places[at][1], label, anchor, None)
        for order, link in links:
            self._judge(order, link, places)

    def _judge(self, order: int, link: Element, places: dict[str, tuple[int, Element]]) -> None:
        label = label_of(link)
        if not label:
            return
        path, _, at = unquote(link.get("href") or "").partition("#")
        path = posixpath.normpath(posixpath.join(posixpath.dirname(self._path), path)) if path else self._path
        if path != self._path:
            if self._path and "://" not in (link.get("href") or "") and not self._is_inside(link):
                self._labels[link] = label
                self._keys[link] = f"{path}#{at}"
                self._book.setdefault(f"{path}#{at}", (label, ""))
            return
        target = places.get(at)
        if target is None or target[0] <= order or self._is_inside(link):
            return
        if self._add_note(target[1], label, "", link):
            above = link.getparent()
            self._labels[link] = label
            self._keys[link] = f"{path}#{at}"
            self._marks.update(filter(None, (link.get("id"), above.get("id") if above is not None else None)))

    def _add_note(self, target: Element, label: str, anchor: str, mark: Element | None) -> bool:
        holder: Element | None = target
        for _step in range(_HIGHEST):
            if holder is None or local(holder) in _HOLDERS:
                break
            holder = holder.getparent()
        if holder is None or local(holder) not in _HOLDERS or holder in self._notes:
            return holder is not None and holder in self._notes
        if mark is not None and any(above is holder for above in mark.iterancestors()):
            return False
        self._notes[holder] = label
        self._around.update(islice(holder.iterancestors(), _HIGHEST))
        if anchor:
            self._anchors.setdefault(label, anchor)
        return True

    def _is_inside(self, link: Element) -> bool:
        above = link.getparent()
        for _step in range(2 * _HIGHEST):
            if above is None:
                return False
            if above in self._notes:
                return True
            above = above.getparent()
        return False

    def is_around(self, element: Element) -> bool:
        """Return whether notes lie closely inside an element."""
        return element in self._around

    def ids(self) -> set[str]:
        """Return the ids of the notes of this page, and of what is around them."""
        return {str(element.get("id")) for element in (*self._notes, *self._around) if element.get("id")}

    def marker_of(self, element: Element) -> str | None:
        """Return the marker of the note that an element is; None where it is none."""
        return self._notes.get(element)

    def reference(self, link: Element, said: Callable[[], str]) -> str:
        """Return the mark that a link is, as "[1]"; "" where it is none. `said` gives the text before it."""
        label = self._labels.get(link, "")
        if label:
            anchor = " ".join(said().split())[-_ANCHOR:]
            self._anchors[label] = anchor
            key = self._keys[link]
            if key in self._book:
                self._book[key] = label, anchor
        return label

    def addresses(self) -> Iterator[str]:
        """Yield the addresses in other parts of the book that the marks of this page lead to, each once."""
        own = f"{self._path}#"
        yield from dict.fromkeys(key for key in self._keys.values() if not key.startswith(own))

    def anchor_of(self, marker: str) -> str:
        """Return the text before the mark of a note."""
        return self._anchors.get(marker, "")

    def is_way_back(self, link: Element) -> bool:
        """Return whether a link in a note leads back to its mark."""
        words = {*(link.get("class") or "").lower().split(), *_types(link)}
        said = "".join(link.itertext()).strip()
        at = unquote(link.get("href") or "").partition("#")[2]
        return bool(words & _WAY_BACK) or not said.strip(BACK_SIGNS + "^") or (at in self._marks and len(said) < 8)

    @staticmethod
    def without_label(text: str, marker: str) -> str:
        """Return the text of a note without its own number at the start."""
        bare = marker.strip("[]")
        for start in (marker, f"({bare})", f"{bare}.", f"{bare})", f"{bare}:"):
            if text.startswith(start):
                return text[len(start) :].lstrip()
        return text[len(bare) :].lstrip() if re.match(rf"{re.escape(bare)}\s", text) else text


def label_of(link: Element) -> str:
    """Return what the mark of a note shows, in brackets; "" for a link that is no such mark."""
    words = {*(link.get("class") or "").lower().split(), *_types(link)}
    if words & _WAY_BACK:
        return ""
    said = " ".join("".join(link.itertext()).split())
    found = _LABEL.fullmatch(said)
    if found is None and not (words & _REFERENCE and 0 < len(said) <= 20):
        return ""
    above = link.getparent()
    is_raised = (above is not None and local(above) == "sup") or any(local(child) == "sup" for child in link)
    is_mark = bool(words & _REFERENCE) or is_raised or bool(_BRACKETED.fullmatch(said))
    return f"[{found[1] if found else said.strip('[]() ')}]" if is_mark else ""


def _types(link: Element) -> list[str]:
    said = link.get("epub:type") or link.get("{http://www.idpf.org/2007/ops}type") or ""
    return [*said.lower().split(), *(link.get("role") or "").lower().split()]
