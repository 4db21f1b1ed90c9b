"""Checks that Markdown has no active parts: no links, pictures, HTML, mathematics, and nothing that Streamlit finds."""

from __future__ import annotations

import re

from markdown_it import MarkdownIt

READER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
LIVE = {"link_open", "image", "html_block", "html_inline", "heading_open", "s_open"}
BADGES = re.compile(
    r":(?:green-badge\[\d+\]|orange-badge\[not found(?: in your documents)?\]|"
    r"violet-badge\[(?:\d+|seen on the page, not in its text)\])"
)
FOUND_LATER = (
    r"https?://", r"www\.", r"[\w.+-]@[\w-]+\.\w", r":[\w+-]+:", r":[a-z][\w-]*[\[{]", r"^:+[a-z]", r":material/",
    r"(mailto|xmpp):[^\s\u2060]",
)  # fmt: skip


def assert_inert(markdown: str) -> None:
    """Assert that this Markdown has no active parts, for any reader and for Streamlit."""
    for token in READER.parse(markdown):
        for part in [token, *(token.children or ())]:
            assert part.type not in LIVE, (part.type, part.content)
            if part.type == "fence":
                assert re.fullmatch(r"(?!mermaid|math|vega)[a-z]*", part.info)
            if part.type in ("fence", "code_block", "code_inline"):
                assert ":material/" not in part.content.lower()
            elif part.type == "text":
                for pattern in FOUND_LATER:
                    assert not re.search(pattern, BADGES.sub("", part.content), re.IGNORECASE), (pattern, part.content)
    outside = re.sub(
        r"^[> ]*(`{3,})[^\n]*\n.*?\n[> ]*\1$|(?<!\\)`[^`\n]*`", "", markdown, flags=re.DOTALL | re.MULTILINE
    )
    assert not re.search(r"(?<!\\)(?:\\\\)*\$", outside), "mathematics"
