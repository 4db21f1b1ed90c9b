"""A chapter of a book prepared for drawing: well formed, without active content, with our page styles."""

from __future__ import annotations

import html
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterator, Sequence

import lxml.html
from lxml import etree  # pyright: ignore[reportAttributeAccessIssue]

from docmind.blocks import Block, Blocks, Cell
from docmind.reading.chromium.print import Resource
from docmind.reading.formats.html import parse
from docmind.reading.formats.markup import INLINE, NOTES_AND_LISTS, kinds_of

# fmt: off
_ACTS = frozenset((
    "script", "iframe", "frame", "object", "embed", "applet", "audio", "video", "base", "portal", "fencedframe",
))
# fmt: on
_XHTML, _XML_NAMES = "http://www.w3.org/1999/xhtml", frozenset(("amp", "lt", "gt", "quot", "apos"))
_PROLOGUE = re.compile(
    r"\s*(?:<\?xml[^>]*\?>)?\s*(?:<!--.*?-->\s*)*(?:<!DOCTYPE[^>\[]*+(?:\[[^\]]*\])?[^>]*>)?", re.I | re.S
)
_ENTITY = re.compile(r"&([A-Za-z][A-Za-z0-9]*);")
_SOFT_HYPHEN = "\xad"
# Sheets are ours; a line is never cut off at their edge, and words are what is written, not how it is joined or broken.
# A paragraph below twelve lines is not divided between two sheets, so that its sentences can be quoted whole.
# What floats is painted before all lines of a page: a first letter would stand above the title, and not in its word.
_RULES = """
@page { size: auto !important; margin: 0.6in !important; }
html, body { height: auto !important; max-height: none !important; overflow: visible !important;
  position: static !important; column-count: auto !important; overflow-wrap: break-word; }
* { font-variant-ligatures: none !important; hyphens: manual !important; }
* { orphans: 6 !important; widows: 6 !important; }
img, svg { max-width: 100% !important; max-height: 6.6in; }
pre { white-space: pre-wrap !important; overflow-wrap: anywhere !important; }
::first-letter { float: none !important; initial-letter: normal !important; }
"""
_FIRST_LETTERS, _DEEPEST = 3, 8  # characters: a letter, also behind a quotation mark; elements around it
_EXACT = "@page { margin: 0 !important; } html, body { margin: 0 !important; }"


def letters_of(blocks: Blocks) -> Counter[str]:
    """Count each letter and digit of a chapter, as the plain reader reads it."""
    counts: Counter[str] = Counter()
    for block in blocks:
        if isinstance(block, Block):
            counts.update(letters(block.text))
            continue
        counts.update(letters(block.caption))
        for cell in (cell for row in block.rows for cell in row):
            if not (isinstance(cell, Cell) and cell.is_filled):  # a page shows a cell that spans several once
                counts.update(letters(cell if isinstance(cell, str) else cell.shown))
    return counts


def letters(text: str) -> Iterator[str]:
    """Yield the letters and digits of a text; raised and joined ones as they are in a line of their own."""
    return filter(str.isalnum, unicodedata.normalize("NFKC", text).casefold())


def drawable(
    text: str,
    name: str,
    *,
    is_styled: bool = True,
    is_exact: bool = False,
    hidden: Collection[str] = (),
    appended: Sequence[str] = (),
) -> Resource:
    """Return the chapter for Chromium, without the book's own styles unless `is_styled`.

    Parts with the ids in `hidden` are notes, and shown even where the book hides them until they are asked for;
    `appended` are notes that lie elsewhere, and stand at the end of the chapter.

    A page that `is_exact` has the size given by its publisher: its layout is not overridden. Broken markup is repaired
    as the plain reader does it. Raises `CorruptFileError`.
    """
    text = _PROLOGUE.sub("", text, count=1).replace(_SOFT_HYPHEN, "")
    tree = _well_formed(text)
    is_xml = tree is not None
    if tree is None:
        tree = parse(text, name)
    _clean(tree, is_styled)
    _show(tree, hidden)
    if not is_exact:
        _join_first_letters(tree)
    if appended and not is_exact:
        _append_notes(tree, appended, is_xml)
    _add_rules(tree, _EXACT if is_exact else _RULES, is_xml)
    if is_xml:
        kind = "image/svg+xml" if _name(tree) == "svg" else "application/xhtml+xml"
        return Resource(kind, etree.tostring(tree, encoding="utf-8", xml_declaration=True))
    shown = lxml.html.tostring(tree, encoding="unicode", doctype="<!DOCTYPE html>")
    return Resource("text/html; charset=utf-8", str(shown).encode("utf-8", "replace"))


def _well_formed(text: str) -> etree._Element | None:
    """Parse a well-formed XHTML or SVG chapter; None where it has to be repaired."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=True)
    try:
        tree = etree.fromstring(_without_names(text).encode("utf-8", "replace"), parser)
    except (etree.XMLSyntaxError, ValueError):
        return None
    return tree if etree.QName(tree).namespace == _XHTML or _name(tree) == "svg" else None


def _without_names(text: str) -> str:
    """Replace entities such as `&nbsp;` by their characters, because the document type that defines them is removed."""

    def spelled(match: re.Match[str]) -> str:
        if match[1] in _XML_NAMES:
            return match[0]
        known = html.unescape(match[0])
        return known if known != match[0] else f"&amp;{match[1]};"

    return _ENTITY.sub(spelled, text)


def _clean(tree: etree._Element, is_styled: bool) -> None:
    for element in list(_elements(tree)):
        name = _name(element)
        acts = name in _ACTS or (name == "meta" and element.get("http-equiv"))
        acts = acts or (name == "link" and "stylesheet" not in (element.get("rel") or "").lower())
        if acts or (not is_styled and name in ("style", "link")):
            _drop(element)
            continue
        for attribute in list(element.attrib):
            lowered = str(attribute).lower()
            if lowered.startswith("on") or lowered == "loading" or (not is_styled and lowered == "style"):
                del element.attrib[attribute]


def _show(tree: etree._Element, hidden: Collection[str]) -> None:
    """Open what a reader of the book would open: notes, and details."""
    for element in _elements(tree):
        if _name(element) == "details":
            element.set("open", "open")
        elif element.get("id") in hidden or (_name(element) != "a" and kinds_of(element) & NOTES_AND_LISTS):
            element.attrib.pop("hidden", None)
            element.set("style", f"{element.get('style') or ''}; display: block !important; visibility: visible")


def _join_first_letters(tree: etree._Element) -> None:
    """Set first letters of paragraphs, which books let float beside two lines or more, in the line of their word."""
    for element in _elements(tree):
        said = (element.text or "").strip()
        if len(element) or not 0 < len(said) <= _FIRST_LETTERS or not said[-1].isalnum():
            continue
        around = [element]
        while len(around) < _DEEPEST and (above := _only_around(around[-1])) is not None:
            around.append(above)
        if _begins_line(around[-1]):
            for one in around:
                one.set("style", f"{one.get('style') or ''}; float: none !important; display: inline !important")


def _only_around(element: etree._Element) -> etree._Element | None:
    """Return the part of a line that holds an element and nothing else; None where there is none."""
    above = element.getparent()
    is_alone = above is not None and len(above) == 1 and not f"{above.text or ''}{element.tail or ''}".strip()
    return above if is_alone and _name(above) in INLINE else None


def _begins_line(element: etree._Element) -> bool:
    """Return whether nothing is said before an element in its paragraph, and text follows it on its line."""
    above, before = element.getparent(), element.getprevious()
    while before is not None and not len(before) and not _own_text(before).strip():
        before = before.getprevious()  # an anchor, or a comment
    if above is None or before is not None or (above.text or "").strip():
        return False
    after = element.getnext()
    return bool((element.tail or "").strip()) or (after is not None and _name(after) in INLINE)


def _own_text(element: etree._Element) -> str:
    """Return the text of an element without its children, and behind it; nothing of what a comment says."""
    return ((element.text or "") if isinstance(element.tag, str) else "") + (element.tail or "")


def _append_notes(tree: etree._Element, notes: Sequence[str], is_xml: bool) -> None:
    space = f"{{{etree.QName(tree).namespace}}}" if is_xml and etree.QName(tree).namespace else ""
    body = next((element for element in tree if isinstance(element.tag, str) and _name(element) == "body"), None)
    if body is None:
        return
    etree.SubElement(body, f"{space}hr")
    for note in notes:
        etree.SubElement(body, f"{space}p").text = note


def _elements(tree: etree._Element) -> Iterator[etree._Element]:
    for element in tree.iter():
        if isinstance(element.tag, str):
            yield element


def _name(element: etree._Element) -> str:
    return str(element.tag).rpartition("}")[2].lower()


def _drop(element: etree._Element) -> None:
    """Remove an element that cannot be shown, but keep its fallback contents (as in `object`) and what follows it."""
    parent = element.getparent()
    if parent is None:
        return
    if _name(element) not in ("script", "style"):
        _append(parent, element.getprevious(), element.text)
        for child in list(element):
            element.addprevious(child)
    _append(parent, element.getprevious(), element.tail)
    parent.remove(element)


def _append(parent: etree._Element, before: etree._Element | None, text: str | None) -> None:
    if text and before is None:
        parent.text = (parent.text or "") + text
    elif text and before is not None:
        before.tail = (before.tail or "") + text


def _add_rules(tree: etree._Element, rules: str, is_xml: bool) -> None:
    """Add our styles behind all other styles of the head."""
    space = f"{{{etree.QName(tree).namespace}}}" if is_xml and etree.QName(tree).namespace else ""
    head = next((element for element in tree if isinstance(element.tag, str) and _name(element) == "head"), tree)
    style = etree.SubElement(head, f"{space}style") if is_xml else lxml.html.fragment_fromstring("<style></style>")
    style.text = rules
    if not is_xml:
        head.append(style)
