"""What a single line of a page is: a title, the end of a sentence, a key with its value, numbers."""

from __future__ import annotations

import re

from docmind.language import STOP_WORDS

TITLE_WORDS, TITLE = 12, 90

HEADING_LINES = 4

TERMINATED = re.compile(r"[.!?…;。！？][\"”’»)\]*_]{0,6}$")

_ENDS = re.compile(r"[.?!;]$")

ANNOUNCES = re.compile(r"[:：]\s*(?:\([^()\n]{0,120}\))?$")

KEYED = re.compile(r"[^\s:|](?:(?!\.\s)[^:|\n]){0,40}[^\s:|]:\s+\S")

LEADERS = re.compile(r"\.{4,}|(?:\.\s){4,}|…{2,}|_{5,}")

NUMBERS = re.compile(r"[$€£(+-]{0,3}\d[\d.,%()$€£]*(?:\s++[$€£(+—–-]{0,3}\d?[\d.,%()$€£]*){1,12}")  # no words


WITH_PRICE = re.compile(r"[€£$]\s?\d|\d\s?[€£$]")

WITH_DASH = re.compile(r"^[^\W\d_][^.!?:]{0,40}\s[-–—]\s")  # `The Dolphin - lent to Ann`

NUMBERED_SECTION = re.compile(r"\d{1,2}(?:\.\d{1,3}){1,4}\.?\s+[\"“¿¡]?[A-ZÀ-Þ]")  # `14.1 Can I sell it?`

PART = re.compile(r"(?:Item|Note|Nota|Chapter|Cap[íi]tulo|Annex|Anexo)\s+(?:\d{1,2}[A-Z]?|[IVXLC]{1,6})\.?\s+[^\W\d_]")

COMPANY = re.compile(r"\b(?:Inc|Ltd|Limited|Corp|Corporation|Company|Co|LLC|PLC|Lda|S\.\s?[AL]|N\.\s?V)\.{0,2}$")

ADDRESSEE = re.compile(r"(?:To (?:the|our)|Dear|Aos?|A l[ao]s|Estimad[ao]s?|Exm[ao]s?\.?)\s[^.!?]{2,80}[.,:]{0,2}$")

NUMBER_OF_PAGE = re.compile(
    r"[-–—\s\[(]*(?:(?:page|p[áa]gina|p[áa]g\.?|p\.)\s*)?(?:\d{1,4}|[ivxlc]{1,7})"
    r"(?:\s*(?:of|de|/|\|)\s*\d{1,4})?[-–—\s\])]*",
    re.IGNORECASE,
)

_NUMBERED = re.compile(r"(?:\(?(?:(?:\d{1,2}(?:\.\d{1,3}){0,4}|[IVXLC]{2,6})[.)]?|[A-Z][.)])\s+)")

NAMED_PART = re.compile(
    r"(?:chapter|section|part|title|annex|appendix|article|table|figure|se[çc][ãa]o|cap[íi]tulo|t[íi]tulo|anexo|parte|"
    r"art[íi]culo|secci[óo]n|p[áa]rrafo|contents)\b[\s\w.:–—-]{0,12}$",
    re.IGNORECASE,
)

VERB = re.compile(  # makes a statement of a short line
    r"\b(?:is|are|was|were|has|have|had|will|can|may|must|needs|costs|closes|opens|begins|starts|ends|é|são|está|estão|foi|"
    r"era|tem|têm|há|fica|custa|deve|pode|abre|fecha|es|son|están|fue|hay|tiene|tienen|cuesta|debe|puede|cierra|queda)\b",
    re.IGNORECASE,
)


def is_heading(line: str) -> bool:
    """Return whether a line reads as a title: short, without a full stop, in capitals or capitalised words."""
    line = " ".join(line.split())
    if not line or len(line) > TITLE or " | " in line:
        return False
    if NAMED_PART.match(line):
        return True
    if PART.match(line) and len(line.split()) <= TITLE_WORDS and not _ENDS.search(line):
        return True
    if (cut := line.rstrip("…. ")) != line and cut.isupper() and (len(cut.split()) > 1 or len(cut) > 4):
        return True
    if COMPANY.search(line) and (_is_capitalised(line) or ADDRESSEE.match(line)):
        return True
    if TERMINATED.search(line) or KEYED.match(line):
        return False
    numbered = _NUMBERED.match(line)
    words = re.findall(r"[^\W\d_][\w'’-]*", line[numbered.end() :] if numbered else line)
    if not words or len(words) > TITLE_WORDS or (not numbered and any(char.isdigit() for char in line)):
        return False
    if line.upper() == line:
        return True
    content = [word for word in words if word.lower() not in STOP_WORDS]
    capitals = sum(word[0].isupper() for word in content)
    if "," in line or "=" in line or "(" in line:
        return False
    return capitals == len(content) > 1 or (
        bool(numbered) and words[0][0].isupper() and (len(words) <= 8 or bool(NUMBERED_SECTION.match(line)))
    )


def _is_capitalised(line: str) -> bool:
    return all(word[0].isupper() for word in re.findall(r"[^\W\d_]\w*", line) if word.lower() not in STOP_WORDS)


def says_nothing(said: str) -> bool:
    """Return whether a few short lines have neither an end nor a verb."""
    lines = said.split("\n")
    if len(lines) > HEADING_LINES or any(len(line) > TITLE or WITH_DASH.search(line) for line in lines) or "=" in said:
        return False
    return not (TERMINATED.search(said) or ANNOUNCES.search(said) or KEYED.match(said) or VERB.search(said))
