"""What an article in JATS XML says in parts: its people, its journal and day, its references."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Element = Any
"""An element of lxml, whose types pyright does not know."""

Said = Callable[[Element | None], str]
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_CITATIONS = ("mixed-citation", "element-citation", "citation", "nlm-citation", "product", "note")


def local(element: Element) -> str:
    """Return the name of an element without its space; "" for a comment."""
    return element.tag.rpartition("}")[2].rpartition(":")[2] if isinstance(element.tag, str) else ""


def authors_of(about: Element | None) -> list[str]:
    """Return the authors of an article, each as given name and surname, or as a group."""
    found: list[str] = []
    for group in about.iterfind("contrib-group") if about is not None else ():
        for one in group.iterfind("contrib"):
            if one.get("contrib-type", "author") != "author":
                continue
            name = next((each for each in one.iter() if each.tag in ("name", "string-name", "collab")), None)
            if name is not None and (text := _name(name)):
                found.append(text)
    return found


def _name(element: Element) -> str:
    if element.tag == "collab":
        return _line(element.text or "".join(element.itertext()))
    parts = [_line("".join(element.findtext(part) or "")) for part in ("prefix", "given-names", "surname", "suffix")]
    return " ".join(filter(None, parts)) or _line("".join(element.itertext()))


def day_of(about: Element | None) -> str:
    """Return the day on which an article appeared first, as far as it is said: 2020-05-31, 2020-05 or 2020."""
    dates = [_date(each) for each in about.iterfind("pub-date")] if about is not None else []
    return min(filter(None, dates), key=lambda date: (-len(date), date), default="")


def _date(element: Element) -> str:
    year, month, day = (_line(element.findtext(part) or "") for part in ("year", "month", "day"))
    if not (year.isascii() and year.isdecimal() and len(year) == 4):
        return ""
    if month[:3].lower() in _MONTHS:
        month = str(_MONTHS.index(month[:3].lower()) + 1)
    parts = [year]
    for part in (month, day):
        if not (part.isascii() and part.isdecimal() and len(part) <= 2):
            break
        parts.append(part.zfill(2))
    return "-".join(parts)


def in_brief(article: Element, about: Element) -> str:
    """Return where an article appeared, on one line: journal, volume, issue, pages, day and DOI."""
    said = article.find("front/journal-meta")
    names = ("journal-title-group/journal-title", "journal-title", "journal-id")
    journal = next(filter(None, (_line(said.findtext(name) or "") for name in names)), "") if said is not None else ""
    doi = next(
        (_line(each.text or "") for each in about.iterfind("article-id") if each.get("pub-id-type") == "doi"), ""
    )
    parts = [journal, _issue(about), day_of(about), f"doi:{doi}" if doi else ""]
    return ". ".join(filter(None, parts))


def _issue(element: Element) -> str:
    volume, issue, first, last = (_line(element.findtext(part) or "") for part in ("volume", "issue", "fpage", "lpage"))
    said = f"{volume} ({issue})" if volume and issue else volume or issue
    pages = (
        f"{first}–{last}"
        if first and last and first != last
        else first or _line(element.findtext("elocation-id") or "")
    )
    return ": ".join(filter(None, (said, pages)))


def reference_of(ref: Element, text: Said) -> str:
    """Return a reference as its list shows it; one that is only parts gets their usual order."""
    found = [each for each in ref.iter() if each.tag in _CITATIONS]
    said = [_composed(each, text) if _is_parts(each) else text(each) for each in found]
    return " ".join(filter(None, said))


def _is_parts(citation: Element) -> bool:
    """Return whether nothing stands between the parts of a citation."""
    loose = [citation.text or "", *(child.tail or "" for child in citation)]
    return not any(part.strip() for part in loose) and len(citation) > 1


def _composed(citation: Element, text: Said) -> str:
    people = [_name(each) for each in citation.iter() if each.tag in ("name", "string-name", "collab")]
    year, source = text(citation.find("year")), text(citation.find("source"))
    titles = [text(citation.find(name)) for name in ("article-title", "chapter-title", "data-title", "part-title")]
    ids = [f"{each.get('pub-id-type')}:{text(each)}" for each in citation.iterfind("pub-id")]
    where = ", ".join(filter(None, (text(citation.find("publisher-loc")), text(citation.find("publisher-name")))))
    more = [text(each) for each in citation if each.tag in ("edition", "conf-name", "comment", "uri", "ext-link")]
    by = ", ".join(filter(None, people)) + (f" ({year})" if year else "")
    journal = " ".join(filter(None, (source, _issue(citation))))
    return (
        ". ".join(part.strip().rstrip(".") for part in (by, *titles, journal, where, *more, *ids) if part.strip()) + "."
    )


def _line(text: str) -> str:
    return " ".join(text.split())
