"""Document text, file names and messages are other people's words: nothing in them may act.

Streamlit's Markdown turns backslash escapes back into text and *then* looks for colour names, icons, emoji, addresses
and mail addresses in that text. So punctuation is escaped, and what a later pass would find is also broken by a word
joiner (U+2060), which takes no room and is not shown.
"""

from __future__ import annotations

import re
import unicodedata

_JOINER = "\u2060"
_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")
_FOUND_LATER = re.compile(r"[:@](?=\S)|www(?=\.)", re.IGNORECASE)
_CLUSTER = 8  # marks stacked on one letter, beyond which they climb over the lines above


def visible(text: str) -> str:
    """The text without what hides or reorders it: control and bidirectional-override characters, towers of accents.

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
    """The visible text with every run of white space as one space."""
    return " ".join(visible(text).split())


def escape(text: str, *, limit: int = 0) -> str:
    """One line of Markdown that shows `text` and does nothing; with `limit`, its middle gives way to an ellipsis."""
    line = shorten(text, limit) if limit else one_line(text)
    line = _FOUND_LATER.sub(lambda match: match.group() + _JOINER, line)
    return _PUNCTUATION.sub(r"\\\1", line)


def shorten(text: str, limit: int) -> str:
    """At most `limit` characters; the end stays, for it tells what kind of file a name stands for."""
    line = one_line(text)
    if len(line) <= limit:
        return line
    tail = min(12, limit // 3)
    return f"{line[: limit - tail - 1].rstrip()}…{line[-tail:].lstrip()}"
