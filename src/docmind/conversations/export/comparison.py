"""A comparison of two documents as Markdown."""

from __future__ import annotations

from docmind.conversations.export import content
from docmind.records.comparison import CHANGES_IN_WORDS, Change, Comparison
from docmind.rich_text import escape, lean, one_line
from docmind.wording import _, ngettext


def comparison_markdown(comparison: Comparison) -> str:
    """Return the changes in their order, each with its pages and words; only the structure of the text is active."""
    before, after = (escape(one.document or _(content.NAMELESS)) for one in (comparison.before, comparison.after))
    changes = comparison.changes
    counted = ngettext("{n} change", "{n} changes", len(changes)).format(n=len(changes))
    told = counted if changes else _("The two versions say the same.")
    parts = [f"# {before} → {after}", told, *map(_change, changes)]
    return lean("\n\n".join(parts)) + "\n"


def _change(change: Change) -> str:
    lines = [f"## {change.n}. {_(CHANGES_IN_WORDS[change.kind])}"]
    for name, side in ((_("Before"), change.before), (_("After"), change.after)):
        if side.text:
            page = _("page {n}").format(n=side.page_no)
            around = f" ({escape(one_line(side.statement))})" if side.statement not in ("", side.text) else ""
            lines.append(f"{name}, {page}: “{escape(one_line(side.text))}”{around}")
    return "\n\n".join(lines)
