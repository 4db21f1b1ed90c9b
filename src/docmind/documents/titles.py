"""Title and outline of a document, by what the file calls headings or what is printed larger than the rest."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import takewhile

import numpy as np

from docmind.blocks import PageBlock
from docmind.documents.placeholders import is_placeholder
from docmind.documents.words import Words
from docmind.records.documents import Heading
from docmind.rich_text import one_line

_LINES, _LETTERS = 3, 160  # the most that a title has
_LARGER = 1.25  # times the print of most words
_HEADING, _SECOND, _FIRST = 1.2, 1.35, 1.7  # times the print of most words: headings of levels 3, 2 and 1
_WORDS, _NOT_FIRST = 14, frozenset('$€£(•–-“"☐☒')  # of a heading
_MOST = 200  # headings of an outline
_TALL, _DEEP = frozenset("bdfhklß!?'\"áàâäéèêëíìîïóòôöúùûü"), frozenset("gjpqyçQ,;()[]{}|/")
_SAME = 0.08  # of the height: boxes that differ by less have one height
_EQUAL = 0.85  # of the largest print: the other lines of the same title


FRONT_PAGES = 3  # pages that may tell the title of a document
_CAPTION_LINES = 120  # lines in which the parties of a case are looked for
_FEW_WORDS = 10  # of a first line of plain text that is a title
_ASIDE = frozenset(("comment", "footnote", "header", "footer", "caption", "figure", "note", "field", "quoted"))
_NUMBERED = re.compile(r"\d{1,2}(?:\.\d{1,2}){0,3}\.?\s+[^\W\d_]")  # `1 Parties`
_AUTHORS = re.compile(
    r"^(?>.*?[^\W\d_]\d(?:,\d)*\b).*[^\W\d_]\d(?:,\d)*(?:\s|$)|@|^(?:by|por|von|par)\s+[A-ZÀ-Þ]"
    r"|^(?:[A-ZÀ-Þ][\w.’'-]*\s){1,3}[A-ZÀ-Þ][\w’'-]+(?:,|\sand\s|\s&\s)\s?(?:[A-ZÀ-Þ][\w.’'-]*\s){1,3}[A-ZÀ-Þ][\w’'-]+,"
)
_SENTENCES = re.compile(r"[^\W\d_]{3}\.\s+[A-ZÀ-Þ]")
_GENERIC = re.compile(  # names no single document
    r"(?:transactions|proceedings|contents|table of contents|index|table|list|report|reports|official reports"
    r"|sheet ?\d*|tabelle ?\d*|tabela|lista|tabla|folha ?\d*|hoja ?\d*|untitled|document|letter|memo|memorandum|agenda"
    r"|minutes|invoice|contract|notice|opinion|order|syllabus|preliminary print|introduction|abstract|article|journal"
    r"|costs|data|united states(?: of america)?(?: securities and exchange commission"
    r"| (?:court of appeals|(?:district|bankruptcy) court)\b.*)?"
    r"|supreme court\b.*|(?:in the )?(?:superior|high|district|circuit) court\b.*|press release"
    r"|presidência da república|ministerio de [\w ]+|ministério d[aoe] [\w ]+|diário oficial|boletín oficial.*"
    r"|(?:chapter|section|part|capítulo|secção|seção|sección|parte|kapitel|teil|chapitre|partie) (?:\d+|[ivxlc]+)\b.*"
    r"|relatório|informe|contrato|sumário|índice|inhalt|bericht|vertrag|rapport|sommaire|contrat)",
    re.IGNORECASE,
)
_OF_COURT = re.compile(r"court|reports|tribunal|opinion|syllabus|transactions|united states", re.IGNORECASE)
_PARTIES = re.compile(r"[A-Z][\w.,&’' -]{2,50}? v(?:s)?\. [A-Z][\w.,&’' -]{2,50}")
_VERSUS = re.compile(r"v(?:s)?\.?", re.IGNORECASE)
_ROLE = re.compile(r"\W*(?:plaintiff|petitioner|appell|respondent|defendant|no\.|case|civil)", re.IGNORECASE)
_LAW = re.compile(
    r"(?:lei(?: complementar)?|decreto(?:-lei)?|ley|real decreto|portaria|resolução) n[º°o.]{0,2} ?\d[\d./]*.{0,60}",
    re.I,
)
_FORM = re.compile(r"form (\d{1,2}-[kq](?:/a)?)", re.IGNORECASE)
_REGISTRANT = re.compile(r"\(exact name of registrant", re.IGNORECASE)
_SUBJECT = re.compile(r"subject:\s*(\S.*)", re.IGNORECASE)
_MAIL = re.compile(
    r"(?:from|to|subject|date|received|return-path|message-id|delivered-to|mime-version):\s", re.IGNORECASE
)

_ENDINGS = (
    "docx?|docm|dotx?|xls[xmb]?|pptx?|pps|pdf|ps|indd|pmd|p65|qxp|qxd|tex|dvi|rtf|od[tsp]|html?|txt|tiff?|wpd|wps|pub|fm"
    "|cdr|ai|eps|jpe?g|png|pages|md|mht"
)
_NO_TITLE = re.compile(  # what programs write as a title, beside what stands for any value that nobody gave
    r"[(\[]?(?:untitled(?: document)?|no title|title|titel|título|unbenannt|ohne titel|sans titre|sem t[ií]tulo"
    r"|sin t[ií]tulo|new|blank|template|titre)[)\]]?(?:[ _-]?\d+)?"
    r"|(?:new |novo |nuevo |neues )?(?:microsoft (?:office )?(?:word|powerpoint|excel|publisher) )?"
    r"(?:document|documento|dokument|presentation|presentación|apresentação|präsentation|présentation|book|mappe|livro"
    r"|libro|classeur|sheet|publication|layout|page|p[aá]gina|seite)[ _]?\d*"
    r"|(?:microsoft (?:word|powerpoint|excel)|word|powerpoint|print|printing)\s*-.*|print|printjob|job|slide \d.*"
    r"|powerpoint.*|about:blank|(?:tex|latex) output .*|output|(?:full page|scanned) (?:photo|document|image)"
    r"|(?:adobe )?(?:acrobat|indesign|pagemaker|photoshop|illustrator)\b.*|(?:crystal reports?|quarkxpress|cutepdf).*"
    rf"|(?:https?|file):.*|[a-z]:\\.*|[/~].*/.*|.*\.(?:{_ENDINGS})(?: - .*)?|\(?.*\.(?:{_ENDINGS})\)"
    r"|(?:img|dsc|scan|doc|fax|pic)[ _-]?\d[\d_-]*|[0-9a-f]{8}-[0-9a-f-]{20,}|[^\W\d_]{0,4}[\d_-]{5,}[^\W\d_]{0,2}",
    re.IGNORECASE,
)
_LONGEST = 300  # characters of a title of metadata
_SMALL = frozenset(
    re.findall(
        r"\w+",
        "a an and as at but by for from in nor of on or the to via with o os e de da do das dos em na no nas nos para "
        "por com el la los las un una y del en con und der die das den des von zu im le les et du au aux",
    )
)
_LONG = 5  # letters of a word in capitals that is no abbreviation
_LETTERS_ONLY, _VOWEL = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?"), re.compile("[aeiouyáàâãäéèêëíìîïóòôõöúùûüœæ]")
_CAPITAL = re.compile(r"(?<![\w’'])[^\W\d_]")


FrontPage = tuple[str, Words, Sequence[PageBlock]]


def sensible_title(raw: str, name: str) -> str:
    """Return the title from the metadata of a file of this name, on one line.

    "" where a program wrote it, as `(anonymous)` or `Microsoft Word - x.doc`, or where it repeats the name of the file.
    """
    title = " ".join("".join(char for char in raw if char.isprintable() or char.isspace()).split())[:_LONGEST]
    letters = sum(char.isalpha() for char in title)
    if letters < 3 or letters < 0.4 * len(title) or is_placeholder(title) or _NO_TITLE.fullmatch(title):
        return ""
    if title.casefold() in (name.casefold(), name.rpartition(".")[0].casefold()):
        return ""
    return title


def in_title_case(title: str, text: str = "") -> str:
    """Return a title in capitals with small letters, "HUMAN HEALTH" as "Human Health"; others as they are.

    A title with a word that may be an abbreviation stays: one in which a word of fewer than `_LONG` letters, or without
    a vowel, is not in small letters in `text`.
    """
    words = title.split()
    if len(words) < 2 or not title.isupper() or any(char.isdigit() or char in ".&/" for char in title):
        return title
    small = {word.lower() for word in _LETTERS_ONLY.findall(text) if not word.isupper()} | _SMALL
    for word in _LETTERS_ONLY.findall(title.lower()):
        if word not in small and (len(word) < _LONG or not _VOWEL.search(word)):
            return title
    lower = [word.lower() for word in words]
    return " ".join(word if at and word in _SMALL else _CAPITAL.sub(_raised, word) for at, word in enumerate(lower))


def _raised(found: re.Match[str]) -> str:
    return found[0].upper()


def title_of(pages: Sequence[FrontPage]) -> str:
    """Return the title by the first pages, each with its text, words and structure; "" where none is good.

    The subject of a mail, the heading that begins a text, and the largest print are looked at in this order. One that
    names no single document (`Transactions`, a court, a ministry) gives way to the parties of the case, the law or the
    company with its form, where the page has them. One in capitals is written with small letters (`in_title_case`).
    """
    if not pages:
        return ""
    text, words, structure = pages[0]
    found = _subject(text) or _headed(pages) or (_first_line(text, structure) if structure else "")
    if not found and not any(block.kind == "heading" for block in structure):
        found = printed_title(text, words, _aside_of(text, structure))
    if not found or not _GENERIC.fullmatch(found):
        return found if _subject(text) else in_title_case(found, text)
    return next(_better([page[0] for page in pages], found), "")


def _subject(text: str) -> str:
    """Return the subject of a mail that begins with its header."""
    lines = text.split("\n", 12)[:12]
    if not lines or not _MAIL.match(lines[0]):
        return ""
    return next((one_line(found[1])[:_LETTERS] for line in lines if (found := _SUBJECT.match(line))), "")


def _headed(pages: Sequence[FrontPage]) -> str:
    """Return the heading that begins a text: alone on its level, or with another one below it."""
    headings = [(n, block) for n, page in enumerate(pages) for block in page[2] if block.kind == "heading"]
    if not headings or headings[0][0] != 0:
        return ""
    text, _words, structure = pages[0]
    first = headings[0][1]
    body = [block for block in structure if block.kind not in _ASIDE]
    if body[0] is not first:
        return ""
    title = one_line(text[first.start : first.end])
    is_only = sum(block.level <= first.level for _n, block in headings) == 1
    is_above = len(body) > 1 and body[1].kind == "heading"
    is_telling = is_only or is_above or len(title.split()) > 1
    is_sheet = first.level > 1 and len(body) > 1 and body[1].kind in ("header_row", "row") and len(title.split()) == 1
    if not is_telling or is_sheet or _NUMBERED.match(title) or not _is_title(title):
        return ""
    return title


def _first_line(text: str, structure: Sequence[PageBlock]) -> str:
    """Return the first paragraph of plain text where it is a line without an end, above others."""
    kinds = {block.kind for block in structure}
    if kinds != {"paragraph"} or len(structure) < 2:
        return ""
    line = one_line(text[structure[0].start : structure[0].end])
    is_line = len(line.split()) <= _FEW_WORDS and line[-1] not in ".,;:!?" and ":" not in line
    return line if is_line and line[0].isupper() and not _NUMBERED.match(line) and _is_title(line) else ""


def _aside_of(text: str, structure: Sequence[PageBlock]) -> set[str]:
    """Return the lines that are beside the text of a page, such as comments."""
    return {
        line.strip() for block in structure if block.kind in _ASIDE
        for line in text[block.start : block.end].splitlines()
    }  # fmt: skip


def _better(texts: Sequence[str], generic: str) -> Iterator[str]:
    """Yield what names a document of which the largest print does not."""
    lines = [one_line(line) for text in texts for line in text.splitlines() if line.strip()][:_CAPTION_LINES]
    for at, line in enumerate(lines):
        if _REGISTRANT.match(line) and at:
            form = next((found[1].upper() for one in lines[:at] if (found := _FORM.search(one))), "")
            yield f"{lines[at - 1]}, Form {form}" if form else lines[at - 1]
    yield from (line for line in lines[:20] if _LAW.fullmatch(line))
    if not _OF_COURT.search(generic):
        return
    for at, line in enumerate(lines):
        if _VERSUS.fullmatch(line) and 0 < at < len(lines) - 1:
            left = next((one for one in reversed(lines[max(0, at - 5) : at]) if not _ROLE.match(one)), "")
            if left and len(left) + len(lines[at + 1]) < _LETTERS // 2:
                yield f"{left.strip(' ,')} v. {lines[at + 1].strip(' ,')}"
        elif _PARTIES.fullmatch(line.rstrip(" ,")):
            yield line.rstrip(" ,")


def printed_title(text: str, words: Words, aside: Collection[str] = ()) -> str:
    """Return the largest print of a page as one line, "" where nothing stands out or reads as a title.

    `words` are those of `text`, as stored with the page. Lines in `aside` are left out; authors and a numbered heading
    below a title are no part of it.
    """
    lines = [line for line in _lines(text, words) if line[0].strip() not in aside]
    if not lines:
        return ""
    sizes = np.array([size for _, size, _ in lines])
    usual = np.median(np.repeat(sizes, [count for _, _, count in lines]))
    first = int(sizes.argmax())
    if sizes[first] < _LARGER * usual:
        return ""
    largest = sizes[first]
    while first and sizes[first - 1] >= _EQUAL * largest:
        first -= 1
    wanted = [line for line, _, _ in takewhile(lambda line: line[1] >= _EQUAL * largest, lines[first : first + _LINES])]
    ends = (n for n, line in enumerate(wanted) if n and (_NUMBERED.match(line) or _AUTHORS.search(line)))
    title = one_line(" ".join(wanted[: next(ends, len(wanted))]))
    return title if _is_title(title) else ""


def _is_title(title: str) -> bool:
    letters = sum(char.isalpha() for char in title)
    is_text = "://" not in title and letters >= 4 and letters >= 0.5 * len(title) and len(title) <= _LETTERS
    return is_text and not _SENTENCES.search(title)


def _lines(text: str, words: Words) -> list[tuple[str, float, int]]:
    """Return each line with words: its text, the size of its print in pixels, and its number of words.

    Boxes of OCR have the height of their line, those of a text layer the height of the word's ink: "rooms" is then half
    as high as "Jug" in the same print, so the height is divided by the share of the print that the letters fill.
    Words without a height and words on their side are left out.
    """
    found: list[tuple[str, np.ndarray, np.ndarray]] = []
    widths, tall, letters = words.boxes[:, 2], words.boxes[:, 3], words.ends - words.starts
    is_upright = (tall > 0) & ((letters < 3) | (tall < 1.5 * widths))  # print along the margin is on its side
    start = 0
    for line in text.split("\n"):
        inside = (words.starts >= start) & (words.starts < start + len(line)) & is_upright
        start += len(line) + 1
        if inside.any():
            spans = zip(words.starts[inside], words.ends[inside], strict=True)
            shares = np.array([_share(text[begin:end]) for begin, end in spans])
            found.append((line, words.boxes[inside, 3], shares))
    mixed = [heights for _, heights, shares in found if np.ptp(shares) > 0]
    is_ink = sum(np.ptp(heights) > _SAME * heights.max() for heights in mixed) > len(mixed) / 2
    return [
        (line, float(np.median(heights / shares if is_ink else heights)), len(heights))
        for line, heights, shares in found
    ]


def _share(word: str) -> float:
    """Return how much of the height of the print a word's letters fill."""
    above = 0.72 if any(char.isupper() or char.isdigit() or char in _TALL for char in word) else 0.53
    return above + (0.21 if any(char in _DEEP for char in word) else 0.0)


def outline_of(pages: Sequence[tuple[int, str, Words]]) -> tuple[Heading, ...]:
    """Return the headings of a document in order: lines in larger print than most, without those of running heads.

    `pages` are their numbers, texts and words. A heading's level counts from 1, the largest print, to 3. Where no line
    stands out the outline is empty.
    """
    lines = [(page_no, *line) for page_no, text, words in pages for line in _lines(text, words)]
    if not lines:
        return ()
    usual = float(np.median(np.repeat([size for _, _, size, _ in lines], [count for *_, count in lines])))
    large = [(page_no, one_line(line), size / usual) for page_no, line, size, _ in lines if size >= _HEADING * usual]
    lines_of = {(page_no, line) for page_no, line, _ in large}
    repeated = Counter(line for _, line in lines_of)
    numbered = Counter(text for _, text in {(page_no, _masked(line)) for page_no, line in lines_of})
    few, half = max(2, len(pages) // 20), max(2, len(pages) // 2)
    found: list[Heading] = []
    for page_no, line, size in large:
        if not _reads_as_heading(line) or repeated[line] > few or numbered[_masked(line)] > half:
            continue
        level = 1 if size >= _FIRST else 2 if size >= _SECOND else 3
        found.append(Heading(level, line, page_no))
    return tuple(found[:_MOST])


def _reads_as_heading(line: str) -> bool:
    """Return whether a line begins as a heading does, and is not the end of a sentence or one of many words."""
    letters = sum(char.isalpha() for char in line)
    is_text = letters >= 3 and letters >= 0.5 * len(line) and len(line.split()) <= _WORDS
    return is_text and not line[0].islower() and line[0] not in _NOT_FIRST and line[-1] not in ".,;-–"


def _masked(line: str) -> str:
    return "".join(char for char in line if not char.isdigit()).strip().casefold()
