"""The title of a document, as its metadata gives it."""

from __future__ import annotations

import re

_TOOL_TITLE = re.compile(
    r"^(microsoft (word|powerpoint|excel)\s*-|untitled|sem t[ií]tulo|sin t[ií]tulo|document\d*$|slide \d|powerpoint|"
    r"print|.*\.(docx?|xlsx?|pptx?|pdf|indd|qxd|tex|dvi|rtf|odt|html?|txt|tiff?|wpd|fm|cdr|ai|eps|jpe?g|png)$)",
    re.IGNORECASE,
)


def sensible_title(raw: str, name: str) -> str:
    """The title from the metadata; an empty string where a tool wrote it, or where it only repeats the file's name."""
    title = " ".join("".join(char for char in raw if char.isprintable() or char.isspace()).split())
    letters = sum(char.isalpha() for char in title)
    if letters < 3 or letters < 0.4 * len(title) or _TOOL_TITLE.match(title):
        return ""
    if title.casefold() in (name.casefold(), name.rpartition(".")[0].casefold()):
        return ""
    return title[:300]
