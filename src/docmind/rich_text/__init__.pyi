from . import highlight
from .markdown import lean, markdown_of, words
from .parse import blocks_of
from .sanitize import clip, escape, file_name, flow, one_line, plain_line, quote_lines, shorten, visible

__all__ = [
    "blocks_of",
    "clip",
    "escape",
    "file_name",
    "flow",
    "highlight",
    "lean",
    "markdown_of",
    "one_line",
    "plain_line",
    "quote_lines",
    "shorten",
    "visible",
    "words",
]
