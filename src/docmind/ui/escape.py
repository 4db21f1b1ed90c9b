"""What other people's words are escaped with: see `docmind.escape`."""

from docmind.escape import escape, one_line, shorten, visible

__all__ = ["escape", "one_line", "shorten", "visible"]
