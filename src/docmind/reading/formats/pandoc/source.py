"""Texts in light markup before and beside pandoc: what it would drop is made visible to it, and its notes are read."""

from __future__ import annotations

import re
from collections.abc import Iterator

from docmind.reading.formats.numerals import numeral
from docmind.records.documents import LossKind

LONGEST = 8_000_000
"""Characters of a text that is given to pandoc."""

JOINER = "\u2060"
"""A mark that is not seen, before a word that pandoc would take for one of its own."""
APPENDIX = "docmindappendix"
"""The environment that stands where the appendix of a text in LaTeX begins."""
LABEL = "docmindlabel"
"""The colour that the label of an item in LaTeX is given, by which it is known again."""

# Org: settings of what is exported leave out what its editor shows.
_ORG_OPTIONS = re.compile(r"^[ \t]*#\+(?:options|exclude_tags|select_tags):[^\n]*$", re.I | re.M)
_ORG_SHOWN = "#+OPTIONS: p:t d:t arch:t tasks:t tags:t prop:nil <:t"
_ORG_COMMENT = re.compile(r"^(\*+[ \t]+(?:[A-Z]{3,12}[ \t]+)?)(?=COMMENT\b)", re.M)
# reStructuredText: names with a domain, as Sphinx has them, and tables whose rows are in other files.
_DOMAIN = re.compile(r"^([ \t]*\.\. )([A-Za-z]{1,20}):([A-Za-z-]{1,30})::", re.M)
_ROLE = re.compile(r"(?<![\w:`]):[a-z]{1,12}:([a-z]{1,20}:)(?=`)")
_ELSEWHERE = re.compile(r"^([ \t]+:)(file|url)(:[ \t]*)(\S+)", re.M)
# LaTeX: the entries of a bibliography with the keys by which they are cited.
_REFERENCES = re.compile(r"\\begin\{thebibliography\}\s*\{[^{}\n]{0,40}\}")
_ENTRY = re.compile(r"\\bibitem(?:\[[^\]\n]{0,200}\])?\s*\{([^{}\n]{1,100})\}")

# LaTeX: environments whose arguments pandoc would take for text, and such that some classes define.
_WRAPPERS = re.compile(
    r"\\(?:begin|end)\{(?:multicols\*?|adjustwidth|spacing|otherlanguage\*?|wrapfigure|adjustbox|columns|column|"
    r"tcolorbox|mdframed|framed|subfigure|sloppypar|onehalfspace|cvcolumns)\}"
    r"(?:[ \t]*(?:\[[^\]\n]{0,400}\]|\{[^{}\n]*\}))*"
)
_THEOREMS = ("theorem", "lemma", "definition", "corollary", "proposition", "example", "remark", "conjecture", "axiom")
_DOCUMENT = r"\begin{document}"
_LISTING = r"\\begin\{(?P<raw>verbatim\*?|Verbatim|lstlisting|minted|comment)\}.*?(?:\\end\{(?P=raw)\}|\Z)"
_LIST_SIGNS = re.compile(
    _LISTING + r"|(?<!\\)%[^\n]*|\\(?P<edge>begin|end)\{(?P<list>enumerate|itemize|description)\*?\}"
    r"(?P<options>[ \t]*\[[^\]\n]{1,200}\])?|\\item\b(?P<label>[ \t]*\[[^\[\]\n]{0,200}\])?|(?P<appendix>\\appendix\b)",
    re.S,
)
_COUNTER = re.compile(r"\\(arabic|alph|Alph|roman|Roman)\*")
_SHORT_COUNTER = re.compile(r"(?<![A-Za-z])(1|a|A|i|I)(?![A-Za-z])")
_NUMERALS = {
    "arabic": "decimal", "alph": "lowerLetter", "Alph": "upperLetter", "roman": "lowerRoman", "Roman": "upperRoman",
    "1": "decimal", "a": "lowerLetter", "A": "upperLetter", "i": "lowerRoman", "I": "upperRoman",
}  # fmt: skip

_SKIPPED = re.compile(r"^\[INFO\] Skipped '((?:[^\n]|\n(?!\[INFO\]))*?)' at (?:chunk )?line \d+ column \d+$", re.M)
_NOT_LOADED = re.compile(r"^\[WARNING\] Could not load include file (.{1,300}?) at line \d+ column \d+$", re.M)
_PICTURES = ("tikzpicture", "pspicture", "picture", "pgfpicture", "circuitikz", "forest", "tikzcd", "chemfig")
_COMMAND = re.compile(r"\\([A-Za-z]{2,40})\*?\s*((?:\[[^\]]*\]\s*)*)(\{.*\})\s*", re.S)
_COMMAND_LINE = re.compile(r"^[ \t]*\\([A-Za-z]{2,40})(?:\[[^\]\n]*\])?(?:[ \t]*\{[^{}\n]*\})+", re.M)
_MOST_COMMANDS, _MOST_ARGUMENTS = 100, 8
_ON_FIRST_PAGE_WORDS = """
name firstname familyname position address phone mobile email homepage extrainfo institute affiliation subject
"""
_ON_FIRST_PAGE = frozenset(_ON_FIRST_PAGE_WORDS.split())
"""Commands before the text whose arguments a class of documents shows at its top."""
_OF_LAYOUT_WORDS = """
vspace hspace setlength addtolength settowidth pagestyle thispagestyle pagenumbering bibliographystyle bibliography
addbibresource label index glossary setcounter addtocounter stepcounter refstepcounter newcounter graphicspath
hypersetup geometry usetikzlibrary tikzset pgfplotsset definecolor colorlet color pagecolor rowcolor cellcolor
columncolor arrayrulecolor usepackage RequirePackage documentclass usetheme usecolortheme usefonttheme
setbeamertemplate setbeamercolor setbeamerfont beamertemplatenavigationsymbolsempty lstset lstdefinestyle newtheorem
theoremstyle DeclareMathOperator DeclareUnicodeCharacter newenvironment renewenvironment newlength newif
selectlanguage setmainfont setsansfont setmonofont setdefaultlanguage setotherlanguage fontsize selectfont linespread
captionsetup titleformat titlespacing fancyhf fancyhead fancyfoot lhead rhead chead lfoot rfoot cfoot enlargethispage
input include includeonly cline cmidrule hyphenation nocite bibitem phantom vphantom hphantom rule sisetup
DeclareSIUnit addcontentsline addtocontents markboth markright moderncvstyle moderncvcolor moderncvtheme raisebox
setstretch newacronym newglossaryentry makeatletter tcbset newtcolorbox declaretheorem numberwithin allowdisplaybreaks
"""
_OF_LAYOUT = frozenset(_OF_LAYOUT_WORDS.split())
"""Commands of LaTeX whose arguments are not shown."""


def prepared(text: str, kind: str) -> str:
    """Return a text as pandoc gets it: what its editor or printed page shows, and pandoc would drop, is kept."""
    if kind == "org":
        text = _ORG_COMMENT.sub(rf"\1{JOINER}", _ORG_OPTIONS.sub("", text))
        return f"{_ORG_SHOWN}\n{text}"
    if kind == "rst":
        text = _ELSEWHERE.sub(r"\1elsewhere-\2\3\4", text) if "csv-table::" in text else text
        return _ROLE.sub(r":\1", _DOMAIN.sub(r"\1\2-\3::", text))
    text = _labelled(_WRAPPERS.sub("", text))
    for name in _THEOREMS:
        if f"\\begin{{{name}}}" in text and f"{{{name}}}" not in text.partition(_DOCUMENT)[0]:
            text = f"\\newtheorem*{{{name}}}{{{name.capitalize()}}}{text}"
    found = _REFERENCES.search(text)
    if found is None:
        return text
    entries = _ENTRY.sub(lambda entry: f"\\par {{[}}{entry[1]}{{]}} ", text[found.end() :])
    return f"{text[: found.start()]}\\begin{{thebibliography}}{entries}"


def with_defined(text: str, log: str) -> str:
    """Return a text in LaTeX in which the commands that pandoc skipped show their arguments; "" where it skipped none.

    Those of layout stay unknown.
    """
    counts: dict[str, int] = {}
    for skipped in _SKIPPED.finditer(log):
        found = _COMMAND.fullmatch(skipped[1])
        if found is None or found[1] in _OF_LAYOUT or found[1] in ("begin", "end"):
            continue
        count = _groups(found[3])
        if 0 < count <= _MOST_ARGUMENTS and len(counts) < _MOST_COMMANDS:
            counts[found[1]] = max(count, counts.get(found[1], 0))
    defined: list[str] = []
    for name, count in counts.items():
        body = " ".join(f"#{at + 2}" for at in range(count))
        if re.search(rf"^[^\S\n]*+\S[^\n]*?\\{name}\b", text, re.M) is None:  # it begins its line each time
            body = f"\\par {body}\\par "
        defined.append(f"\\newcommand{{\\{name}}}[{count + 1}][]{{{body}}}")
    before, begin, body = text.partition(_DOCUMENT)
    shown = [f"{said[0]}\n\n" for said in _COMMAND_LINE.finditer(before) if said[1] in _ON_FIRST_PAGE & counts.keys()]
    return "".join(defined) + before + begin + "".join(shown) + body if begin else "".join(defined) + text


def losses_of(text: str, log: str, kind: str) -> Iterator[tuple[LossKind, str]]:
    """Yield what pandoc did not read by its own notes: files that a text includes, and drawings in LaTeX."""
    for missing in _NOT_LOADED.finditer(log):
        yield "part", missing[1]
    for found in _ELSEWHERE.finditer(text) if kind == "rst" and "csv-table::" in text else ():
        yield "part", found[4]
    for skipped in _SKIPPED.finditer(log) if kind == "latex" else ():
        if skipped[1].startswith(tuple(f"\\begin{{{name}}}" for name in _PICTURES)):
            yield "picture", ""


def _labelled(text: str) -> str:
    """Return a text in LaTeX in which items have the labels that are written at them, or counted as their list says.

    The appendix is marked. What is verbatim or a comment stays as it is.
    """
    lists: list[_List] = []
    parts: list[str] = []
    at = 0
    for found in _LIST_SIGNS.finditer(text):
        new = found[0]
        if found["edge"] == "begin":
            lists.append(_List(found["list"], (found["options"] or "").strip(" \t[]")))
        elif found["edge"] and lists:
            lists.pop()
        elif new.startswith("\\item") and lists and (label := lists[-1].label(found["label"])):
            new = f"\\item \\textcolor{{{LABEL}}}{{{label}}} "
        elif found["appendix"]:
            new = f"\\begin{{{APPENDIX}}}\\end{{{APPENDIX}}} "
        parts += text[at : found.start()], new
        at = found.end()
    return "".join([*parts, text[at:]])


class _List:
    """A list of LaTeX that is open; `options` say how its items are numbered."""

    def __init__(self, kind: str, options: str) -> None:
        said = re.search(r"label\s*=\s*(\{.*?\}|[^,]+)", options)
        pattern = said[1].strip("{}") if said else options if "=" not in options else ""
        self._kind = kind
        self._pattern = re.sub(r"\\(?:textbf|textit|bfseries|itshape|emph|upshape|normalfont)\b", "", pattern)
        self._counter = (_COUNTER if said else _SHORT_COUNTER).search(self._pattern)
        self._count = 0

    def label(self, written: str | None) -> str:
        """Return the label of the next item; "" where it has none of its own. Terms that are described have none."""
        if self._kind == "description":
            return ""
        if written is not None:
            return written.strip()[1:-1]
        self._count += 1
        if self._counter is None or self._kind != "enumerate":
            return ""
        number = numeral(self._count, _NUMERALS[self._counter[1]])
        return f"{self._pattern[: self._counter.start()]}{number}{self._pattern[self._counter.end() :]}"


def _groups(text: str) -> int:
    """Return how many groups in braces stand side by side; 0 where they are not balanced."""
    count = depth = 0
    for at, char in enumerate(text):
        if char in "{}" and text[at - 1 : at] != "\\":
            depth += 1 if char == "{" else -1
            count += char == "}" and depth == 0
    return count if depth == 0 else 0
