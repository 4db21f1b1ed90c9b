"""Sanitizing of untrusted text: document text, file names and messages must have no effect when shown.

Streamlit's Markdown turns backslash escapes back into text and *then* looks for colour names, icons, emoji, addresses
and mail addresses in that text. So punctuation is escaped, and what a later pass would find is also broken by a word
joiner (U+2060), which has no width and is invisible.
"""

from __future__ import annotations

import re
import unicodedata

_JOINER = "\u2060"
_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")
_FOUND_LATER = re.compile(r"[:@](?=\S)|www(?=\.)", re.IGNORECASE)
_SPELLING = "\u200c\u200d"  # format characters that words and emoji need
_ITEM = re.compile(r"(?:[•·▪●‣*–—#-]\s|\(?[a-zA-Z0-9]{1,4}[.)]\s|§|[IVXLC]+\s[-–—]\s|Art\.\s|@|//)")
_FULL_LINE = 36  # characters; shorter lines are not joined to a paragraph
_NOT_IN_FILE_NAMES = re.compile(r'[\x00-\x1f\x7f"<>:/\\|?*\u200b-\u200f\u202a-\u202e\u2066-\u2069]')
_FILE_NAME = 120  # characters
_CLUSTER = 8  # marks stacked on one letter; more would cover the lines above


def visible(text: str) -> str:
    """Remove characters that hide or reorder text: controls, bidirectional overrides, stacks of accents.

    Line breaks and tabs stay. Made for `st.text` and `st.code`, which show their text as it is.
    """
    shown: list[str] = []
    stacked = 0
    for char in text.replace("\r\n", "\n").replace("\r", "\n").replace("\u2028", "\n").replace("\u2029", "\n"):
        category = unicodedata.category(char)
        stacked = stacked + 1 if category in ("Mn", "Me") else 0
        if stacked > _CLUSTER:
            continue
        if char in "\n\t" or category not in ("Cc", "Cs", "Cf") or char in "\u200c\u200d\u00ad":
            shown.append(char)
        elif category != "Cf":
            shown.append("\ufffd")
    return "".join(shown)


def one_line(text: str) -> str:
    """Return the visible text with every run of white space as one space."""
    return " ".join(visible(text).split())


def quote_lines(text: str) -> list[str]:
    """Return the lines of a quote as they were meant: the lines of a paragraph joined, those of lists and tables kept.

    Indented lines, as in source code, are kept as they are. A quote may begin within a line of its page, so that its
    first line may be short.
    """
    lines: list[str] = []
    last = ""
    for line in visible(text).split("\n"):
        if not line.strip():
            continue
        is_kept = (
            not lines
            or line[:1].isspace()
            or _ITEM.match(line)
            or " | " in line + last
            or "…" in (line.strip(), last.strip())
            or last.rstrip().endswith((":", ";", "{", "}"))
            or (len(last) < _FULL_LINE and not (len(lines) == 1 and _goes_on(last, line)))
        )
        if is_kept:
            lines.append(line.rstrip())
        else:
            lines[-1] += f" {line.strip()}"
        last = line
    return lines


def _goes_on(first: str, line: str) -> bool:
    """Return whether the first line of a quote is the end of a line of the page, and the next one goes on with it."""
    return not first.rstrip().endswith((".", "!", "?")) and (len(line) >= _FULL_LINE or line[:1].islower())


def flow(text: str) -> str:
    """Return text whose paragraphs have the lines of `quote_lines`."""
    return "\n\n".join("\n".join(quote_lines(part)) for part in text.split("\n\n") if part.strip())


def plain_line(text: str, longest: int = 160, *, ahead: int = 8) -> str:
    """Return text of another program on one line, without control or bidirectional characters, cut with an ellipsis.

    At most `ahead * longest` characters of it are looked at.
    """
    known = text[: ahead * longest]
    line = "".join(" " if unicodedata.category(char).startswith(("C", "Z")) else char for char in known)
    line = " ".join(line.split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def file_name(text: str) -> str:
    """Return a name for a file on any disk: one line, without what a path or a terminal gives a meaning; never empty.

    Of a long name the last 120 characters are kept, because they hold its suffix.
    """
    safe = _NOT_IN_FILE_NAMES.sub("_", one_line(text)).strip(". ")
    return safe[-_FILE_NAME:].lstrip(". ") or "document"


def escape(text: str, *, limit: int = 0) -> str:
    """Return one line of Markdown that only shows `text`.

    With `limit`, an ellipsis replaces its middle.
    """
    line = shorten(text, limit) if limit else one_line(text)
    line = _FOUND_LATER.sub(lambda match: match.group() + _JOINER, line)
    return _PUNCTUATION.sub(r"\\\1", line)


def shorten(text: str, limit: int) -> str:
    """Shorten to at most `limit` characters.

    The end is kept, because it may be the suffix of a file name.
    """
    line = one_line(text)
    if len(line) <= limit:
        return line
    tail = min(12, limit // 3)
    return f"{line[: limit - tail - 1].rstrip()}…{line[-tail:].lstrip()}"


def clip(text: str, longest: int) -> str:
    """Return one trimmed line to store, without control or bidirectional characters, tags or lone surrogates.

    A text longer than `longest` characters is cut at a word and ends with an ellipsis.
    """
    kept = "".join(" " if char.isspace() else char for char in text if char.isspace() or _is_spelled(char))
    line = " ".join(kept.split()).strip(_SPELLING)
    if len(line) <= longest:
        return line
    cut = line[: longest - 1]
    at_word = cut.rsplit(" ", 1)[0]
    return (at_word if len(at_word) > longest // 2 else cut).rstrip() + "…"


def _is_spelled(char: str) -> bool:
    return char in _SPELLING or unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Co")
