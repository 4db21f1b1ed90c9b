"""LaTeX, Org and reStructuredText: what pandoc makes of them as blocks, and without pandoc their headings and lines.

`program` runs pandoc, `source` prepares a text for it, `document` is the walk through its tree, `inline`
reads one paragraph of that, and `tables` makes grids.
"""

from __future__ import annotations

from docmind.blocks import Block, Losses, Table
from docmind.reading.formats import Rules, facts_of
from docmind.reading.formats.pandoc.document import Document
from docmind.reading.formats.pandoc.program import PandocFailedError, converted
from docmind.reading.formats.pandoc.source import LONGEST, losses_of, prepared
from docmind.reading.formats.text import LINE_ENDS, decoded, marked_pages
from docmind.reading.formats.typeset import LaidOut, printable
from docmind.reading.pandoc import PANDOC
from docmind.records.documents import Facts, Upload
from docmind.wording import _

__all__ = ["MarkedUp", "open_marked_up"]

_MALFORMED = (KeyError, IndexError, TypeError, ValueError, AttributeError, RecursionError)


class MarkedUp(LaidOut):
    """A document in light markup. `engine` is `PANDOC`, or "" where its lines were read, and then `told` says why."""

    engine = ""
    told = ""


def open_marked_up(upload: Upload, kind: str, rules: Rules) -> MarkedUp:
    """Open a file of LaTeX, Org or reStructuredText. Raises `TooLargeError` or `EmptyFileError`."""
    text = decoded(upload, rules)
    losses = Losses()
    try:
        blocks, facts = _by_pandoc(text, kind, upload.name, rules, losses)
        engine, told = PANDOC, ""
    except PandocFailedError as error:
        losses = Losses()
        blocks, facts = [*marked_pages(text, kind)], facts_of(upload.name)
        engine, told = "", _("Its marks stay as they are written: {reason}.").format(reason=str(error).rstrip("."))
    opened = MarkedUp(blocks, facts, upload.name, rules, losses)
    opened.engine, opened.told = engine, told
    return opened


def _by_pandoc(text: str, kind: str, name: str, rules: Rules, losses: Losses) -> tuple[list[Block | Table], Facts]:
    """Return the blocks and facts that pandoc finds. Raises `PandocFailedError`."""
    if not rules.pandoc:
        raise PandocFailedError(_("pandoc is not installed"))
    text = printable(LINE_ENDS.sub("\n", text.replace("\f", "\n\n")))
    if len(text) > LONGEST:
        raise PandocFailedError(_("it is too long for pandoc"))
    tree = converted(prepared(text, kind), kind, rules.pandoc, seconds=rules.pandoc_s)
    try:
        document = Document(tree.content, kind, text, losses)
        blocks = list(document.blocks())
        facts = facts_of(name, **document.facts())
    except _MALFORMED as error:
        raise PandocFailedError(_("pandoc gave nothing that can be read")) from error
    if not blocks:
        raise PandocFailedError(_("pandoc found no text in it"))
    for loss, place in losses_of(text, tree.log, kind):
        losses.note(loss, place)
    return blocks, facts
