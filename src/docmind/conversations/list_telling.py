"""A complete list in words: how many items there are in which documents, and the first of them."""

from __future__ import annotations

from docmind.answers import Language
from docmind.answers import language_of_question as _language_of
from docmind.records.answers import Source
from docmind.records.listed import Listed
from docmind.records.listings import Listable
from docmind.rich_text import one_line

CITED = 60
"""Items of a list that an answer shows and cites; the export has all."""
_DOCUMENTS = 30  # that an answer counts

_NOUNS: dict[Language, dict[Listable, tuple[str, str]]] = {
    "en": {
        "mentions": ("1 passage mentions “{words}”", "{n} passages mention “{words}”"),
        "people": ("1 person", "{n} people"),
        "organisations": ("1 organisation", "{n} organisations"),
        "dates": ("1 date", "{n} dates"),
        "amounts": ("1 amount", "{n} amounts"),
        "percentages": ("1 percentage", "{n} percentages"),
        "emails": ("1 e-mail address", "{n} e-mail addresses"),
        "phones": ("1 telephone number", "{n} telephone numbers"),
        "places": ("1 place", "{n} places"),
        "addresses": ("1 address", "{n} addresses"),
        "identifiers": ("1 identifier", "{n} identifiers"),
        "items": ("1 item", "{n} items"),
        "imports": ("1 line imports “{words}”", "{n} lines import “{words}”"),
    },
    "pt": {
        "mentions": ("1 passagem menciona “{words}”", "{n} passagens mencionam “{words}”"),
        "people": ("1 pessoa", "{n} pessoas"),
        "organisations": ("1 organização", "{n} organizações"),
        "dates": ("1 data", "{n} datas"),
        "amounts": ("1 valor", "{n} valores"),
        "percentages": ("1 percentagem", "{n} percentagens"),
        "emails": ("1 endereço de e-mail", "{n} endereços de e-mail"),
        "phones": ("1 número de telefone", "{n} números de telefone"),
        "places": ("1 lugar", "{n} lugares"),
        "addresses": ("1 morada", "{n} moradas"),
        "identifiers": ("1 identificador", "{n} identificadores"),
        "items": ("1 item", "{n} itens"),
        "imports": ("1 linha importa “{words}”", "{n} linhas importam “{words}”"),
    },
    "es": {
        "mentions": ("1 pasaje menciona “{words}”", "{n} pasajes mencionan “{words}”"),
        "people": ("1 persona", "{n} personas"),
        "organisations": ("1 organización", "{n} organizaciones"),
        "dates": ("1 fecha", "{n} fechas"),
        "amounts": ("1 importe", "{n} importes"),
        "percentages": ("1 porcentaje", "{n} porcentajes"),
        "emails": ("1 dirección de correo", "{n} direcciones de correo"),
        "phones": ("1 número de teléfono", "{n} números de teléfono"),
        "places": ("1 lugar", "{n} lugares"),
        "addresses": ("1 dirección", "{n} direcciones"),
        "identifiers": ("1 identificador", "{n} identificadores"),
        "items": ("1 elemento", "{n} elementos"),
        "imports": ("1 línea importa “{words}”", "{n} líneas importan “{words}”"),
    },
}
# One document, several documents, none found, a document with its count, more items, more documents, not complete.
_SAID: dict[Language, tuple[str, str, str, str, str, str, str]] = {
    "en": (
        "{what}, in {name}:", "{what}, in {documents} documents:", "None found: {what}.", "{name} ({n})",
        "And {n} more; the export has all of them.", "And {n} more documents.", "This list isn't complete.",
    ),
    "pt": (
        "{what}, em {name}:", "{what}, em {documents} documentos:", "Nada encontrado: {what}.", "{name} ({n})",
        "E mais {n}; a exportação tem todos.", "E mais {n} documentos.", "Esta lista não está completa.",
    ),
    "es": (
        "{what}, en {name}:", "{what}, en {documents} documentos:", "No se encontró nada: {what}.", "{name} ({n})",
        "Y {n} más; la exportación los tiene todos.", "Y {n} documentos más.", "Esta lista no está completa.",
    ),
}  # fmt: skip


def language_of_list(question: str) -> Language:
    """Return the language in which a list is told: that of the question, English where it is another."""
    found = _language_of(question)
    return found if found in ("en", "pt", "es") else "en"


def told_list(found: Listed, language: Language) -> tuple[str, list[Source | str], str]:
    """Return the words before a list, its first items below the names of their documents, and the words after it."""
    listing = found.listing
    one, many, none, document, more, others, incomplete = _SAID[language]
    single, plural = _NOUNS[language][listing.what]
    what = (single if listing.total == 1 else plural).format(n=f"{listing.total:,}", words=one_line(listing.words))
    documents = listing.documents
    if not documents:
        lead = none.format(what=what)
    elif len(documents) == 1:
        lead = one.format(what=what, name=one_line(documents[0].document))
    else:
        lead = many.format(what=what, documents=f"{len(documents):,}")
    parts = list[Source | str]()
    counts = {each.doc_id: each for each in documents}
    last = ""
    for item in found.items[:CITED]:
        if len(documents) > 1 and item.source.doc_id != last:
            each = counts[item.source.doc_id]
            parts.append(document.format(name=one_line(each.document), n=f"{each.count:,}"))
        last = item.source.doc_id
        parts.append(item.source)
    shown = {item.source.doc_id for item in found.items[:CITED]}
    unshown = [each for each in documents if each.doc_id not in shown]
    parts += [document.format(name=one_line(each.document), n=f"{each.count:,}") for each in unshown[:_DOCUMENTS]]
    rest = [others.format(n=f"{len(unshown) - _DOCUMENTS:,}")] if len(unshown) > _DOCUMENTS else []
    rest += [more.format(n=f"{listing.total - CITED:,}")] if listing.total > CITED else []
    rest += [] if listing.is_complete else [" ".join((incomplete, *listing.unread))]
    return lead, parts, " ".join(rest)
