"""Running text in LaTeX as words: accents and signs as characters, without its commands."""

from __future__ import annotations

import re
import unicodedata

from docmind.reading.formats.characters import subscript, superscript
from docmind.reading.formats.latex_signs import SIGNS
from docmind.reading.formats.math_text import words_of_latex

_DEEPEST = 60  # groups within each other; a deeper text loses the marks of those below
_LONGEST = 200_000  # characters; a longer text stays as it is
_TOKENS = re.compile(r"\\[A-Za-z]+\*?\s*|\\.|\$\$?|[{}]|---?|``|''|~|[^\\{}$`'~-]+|.", re.S)
# The accent of each command, as the Unicode character that combines with the letter before it.
_ACCENTS = {
    "`": "\u0300", "'": "\u0301", "^": "\u0302", "~": "\u0303", "=": "\u0304", "u": "\u0306", ".": "\u0307",
    '"': "\u0308", "r": "\u030a", "H": "\u030b", "v": "\u030c", "d": "\u0323", "c": "\u0327", "k": "\u0328",
    "b": "\u0331", "t": "\u0361",
}  # fmt: skip
_LETTERS = {
    "ss": "ß", "SS": "ẞ", "ae": "æ", "AE": "Æ", "oe": "œ", "OE": "Œ", "aa": "å", "AA": "Å", "o": "ø", "O": "Ø",
    "l": "ł", "L": "Ł", "i": "ı", "j": "ȷ", "dh": "ð", "DH": "Ð", "th": "þ", "TH": "Þ", "dj": "đ", "DJ": "Đ",
    "ng": "ŋ", "NG": "Ŋ", "S": "§", "P": "¶", "copyright": "©", "pounds": "£", "euro": "€", "textregistered": "®",
    "texttrademark": "™", "textdegree": "°", "textendash": "–", "textemdash": "—", "textquoteright": "’",
    "textquoteleft": "‘", "textquotedblleft": "“", "textquotedblright": "”", "guillemotleft": "«",
    "guillemotright": "»", "textasciitilde": "~", "textasciicircum": "^", "textbackslash": "\\", "textbar": "|",
    "textless": "<", "textgreater": ">", "textunderscore": "_", "textbullet": "•", "textperiodcentered": "·",
    "textexclamdown": "¡", "textquestiondown": "¿", "textellipsis": "…", "dots": "…", "ldots": "…", "slash": "/",
    "LaTeX": "LaTeX", "TeX": "TeX", "BibTeX": "BibTeX", "newblock": "", "par": " ", "newline": " ", "linebreak": " ",
    "quad": " ", "qquad": " ", "space": " ", "textmu": "µ", "texttimes": "×",
}  # fmt: skip
_SIGNS = {"---": "—", "--": "–", "``": "“", "''": "”", "~": " "}
_SPACES = dict.fromkeys("\\, ;:!\n\t", " ") | dict.fromkeys("/-@()[]", "")
_HIDDEN = frozenset(("cite", "citep", "citet", "label", "ref", "index", "vspace", "hspace", "noopsort", "SortNoop"))


def words_of_latex_text(latex: str) -> str:
    """Return a text in LaTeX on one line: `{\\"O}zg{\\"u}r` is Özgür, and formulas are words. Very long ones stay."""
    if not re.search(r"[\\{}$~`']|--", latex) or len(latex) > _LONGEST:
        return " ".join(latex.split())
    said = _Text(latex).group("", 0)
    return " ".join(unicodedata.normalize("NFC", said).split())


class _Text:
    """A text, read from its first sign to its last."""

    def __init__(self, latex: str) -> None:
        self._signs = [found[0] for found in _TOKENS.finditer(latex)]
        self._at = 0

    def group(self, end: str, depth: int) -> str:
        """Return everything up to the sign `end`, which is taken too."""
        said: list[str] = []
        while self._at < len(self._signs):
            sign = self._next()
            if sign == end:
                break
            said.append(self._one(sign, depth))
        return "".join(said)

    def _next(self) -> str:
        sign = self._signs[self._at]
        self._at += 1
        return sign

    def _one(self, sign: str, depth: int) -> str:
        if sign == "{":
            return self.group("}", depth + 1) if depth < _DEEPEST else ""
        if sign in ("$", "$$"):
            return self._formula(sign)
        if sign in _SIGNS:
            return _SIGNS[sign]
        if sign.startswith("\\") and len(sign) > 1:
            return self._command(sign[1:].rstrip().rstrip("*"), depth)
        return "" if sign == "}" else sign

    def _formula(self, sign: str) -> str:
        """Return a formula up to the sign that closes it; the sign itself where none does, as in a price."""
        try:
            end = self._signs.index(sign, self._at)
        except ValueError:
            return sign
        formula, self._at = "".join(self._signs[self._at : end]), end + 1
        return words_of_latex(formula)

    def _command(self, name: str, depth: int) -> str:
        if name in _ACCENTS:
            letter = self._argument(depth).replace("ı", "i").replace("ȷ", "j")
            return letter[:1] + _ACCENTS[name] + letter[1:] if letter.strip() else letter
        if name in _LETTERS:
            return _LETTERS[name]
        if not name.isalpha():
            return _SPACES.get(name, name)
        if name in _HIDDEN:
            self._argument(depth)
            return ""
        if name in ("url", "path", "nolinkurl"):
            return self._verbatim()
        if name == "href":
            address, said = self._verbatim(), self._argument(depth)
            return said if said == address else f"{said} ({address})"
        if name in ("textsuperscript", "textsubscript"):
            inner = self._argument(depth)
            return superscript(inner, "x") if name == "textsuperscript" else subscript(inner, "x")
        return SIGNS.get(name, "")  # of a command on a group, as \emph{…}, the group follows

    def _verbatim(self) -> str:
        """Return a group as it is written: an address."""
        if self._at >= len(self._signs) or self._signs[self._at] != "{":
            return ""
        start = self._at + 1
        while self._at < len(self._signs) and self._signs[self._at] != "}":
            self._at += 1
        self._at += 1
        return re.sub(r"\\([%#_&~])", r"\1", "".join(self._signs[start : self._at - 1]))

    def _argument(self, depth: int) -> str:
        """Return the group or the character that a command applies to."""
        while self._at < len(self._signs) and not self._signs[self._at].strip():
            self._at += 1
        if self._at >= len(self._signs):
            return ""
        sign = self._next()
        if sign[0] in "\\{$" or len(sign) == 1:
            return self._one(sign, depth + 1) if depth < _DEEPEST else ""
        sign = sign.lstrip()
        self._at -= 1  # a command applies to the first character of a run
        self._signs[self._at] = sign[1:]
        if not sign[1:]:
            self._at += 1
        return sign[0]
