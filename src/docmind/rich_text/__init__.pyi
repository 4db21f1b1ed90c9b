from . import highlight
from .markdown import draft_markdown, lean, markdown_of, readable, words
from .parse import blocks_of
from .sanitize import clip, escape, file_name, flow, one_line, plain_line, quote_lines, shorten, visible

__all__ = [
    "blocks_of",
    "clip",
    "draft_markdown",
    "escape",
    "file_name",
    "flow",
    "highlight",
    "lean",
    "markdown_of",
    "one_line",
    "plain_line",
    "quote_lines",
    "readable",
    "shorten",
    "visible",
    "words",
]
