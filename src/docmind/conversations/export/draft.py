"""A checked text as Markdown: a footnote for each passage that supports or contradicts it."""

from __future__ import annotations

from docmind.conversations.export import content
from docmind.records.drafts import UNPROVEN, VERDICTS, CheckedDraft, CheckedSentence
from docmind.rich_text import escape, lean, one_line
from docmind.wording import _


def draft_markdown(checked: CheckedDraft) -> str:
    """Return the text with a mark after each sentence, then the passages; only its structure and footnotes are active.

    A supported sentence has the number of its passage alone; one that is not supported by what is valid now says so.
    """
    text, at = "", 0
    for sentence in checked.sentences:
        text += checked.text[at : sentence.start] + _said(sentence) + _mark(sentence)
        at = sentence.end
    text += checked.text[at:]
    notes = [
        f"[^{one.n}]: {escape(one.placed or _(content.NAMELESS))}, {_('page {n}').format(n=one.page_no)}: "
        f"“{escape(one_line(one.quote))}”"
        for one in checked.sources
    ]
    return lean("\n\n".join([text.strip(), *notes])) + "\n"


def _said(sentence: CheckedSentence) -> str:
    is_code = sentence.text.startswith(("```", "~~~"))
    return f"{sentence.text}\n\n" if is_code else escape(sentence.text)


def _mark(sentence: CheckedSentence) -> str:
    notes = "".join(f"[^{source.n}]" for source in sentence.sources)
    if sentence.verdict in UNPROVEN:
        return f" *({_(VERDICTS[sentence.verdict]).lower()})*{notes}"
    return notes
