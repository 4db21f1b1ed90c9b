"""What programs write into metadata where nobody gave a value, as `(anonymous)`: neither a title nor an author."""

from __future__ import annotations

import re

_PLACEHOLDER = re.compile(
    r"\W*(?:anonym(?:ous)?|an[oó]nimo|anônimo|unknown|unnamed|noname|none|null|nil|n/?a|default)(?:[ _-]?\d+)?\W*",
    re.IGNORECASE,
)


def is_placeholder(raw: str) -> bool:
    """Tell whether a text of metadata, in any brackets and with any number behind it, says that there is no value."""
    return _PLACEHOLDER.fullmatch(raw) is not None
