"""A complete list in words: how many items there are in which documents, and the first of them."""

from __future__ import annotations

from docmind.answers import Language
from docmind.records.answers import Source
from docmind.records.listed import Listed
from docmind.records.listings import Listable, ListedDocument
from docmind.rich_text import one_line
from docmind.wording import A_many, number_text, say, say_many

CITED = 60
"""Items of a list that an answer shows and cites; the export has all."""
_DOCUMENTS = 30  # that an answer counts

_NOUNS: dict[Listable, tuple[str, str]] = {
    "mentions": A_many("{n} passage mentions “{words}”", "{n} passages mention “{words}”"),
    "people": A_many("{n} person", "{n} people"),
    "organisations": A_many("{n} organisation", "{n} organisations"),
    "dates": A_many("{n} date", "{n} dates"),
    "amounts": A_many("{n} amount", "{n} amounts"),
    "percentages": A_many("{n} percentage", "{n} percentages"),
    "emails": A_many("{n} e-mail address", "{n} e-mail addresses"),
    "phones": A_many("{n} telephone number", "{n} telephone numbers"),
    "places": A_many("{n} place", "{n} places"),
    "addresses": A_many("{n} address", "{n} addresses"),
    "identifiers": A_many("{n} identifier", "{n} identifiers"),
    "items": A_many("{n} item", "{n} items"),
    "imports": A_many("{n} line imports “{words}”", "{n} lines import “{words}”"),
}


def told_list(found: Listed, language: Language) -> tuple[str, list[Source | str], str]:
    """Return the words before a list, its first items below the names of their documents, and the words after it."""
    listing = found.listing
    counted = say_many(language, *_NOUNS[listing.what], listing.total)
    what = counted.format(n=number_text(listing.total, code=language), words=one_line(listing.words))
    documents = listing.documents
    if not documents:
        lead = say(language, "None found: {what}.").format(what=what)
    elif len(documents) == 1:
        lead = say(language, "{what}, in {name}:").format(what=what, name=one_line(documents[0].document))
    else:
        counted = number_text(len(documents), code=language)
        lead = say(language, "{what}, in {documents} documents:").format(what=what, documents=counted)
    parts = list[Source | str]()
    counts = {each.doc_id: each for each in documents}
    last = ""
    for item in found.items[:CITED]:
        if len(documents) > 1 and item.source.doc_id != last:
            parts.append(_heading(counts[item.source.doc_id], language))
        last = item.source.doc_id
        parts.append(item.source)
    shown = {item.source.doc_id for item in found.items[:CITED]}
    unshown = [each for each in documents if each.doc_id not in shown]
    parts += [_heading(each, language) for each in unshown[:_DOCUMENTS]]
    rest = list[str]()
    if (more := len(unshown) - _DOCUMENTS) > 0:
        rest.append(say(language, "And {n} more documents.").format(n=number_text(more, code=language)))
    if (more := listing.total - CITED) > 0:
        rest.append(
            say(language, "And {n} more; the export has all of them.").format(n=number_text(more, code=language))
        )
    if not listing.is_complete:
        rest += [say(language, "This list isn't complete."), *listing.unread]
    return lead, parts, " ".join(rest)


def _heading(document: ListedDocument, language: Language) -> str:
    return f"{one_line(document.document)} ({number_text(document.count, code=language)})"
