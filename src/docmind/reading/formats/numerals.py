"""The numbers and bullets of lists, as word processors show them."""

from __future__ import annotations

from docmind.reading.formats.symbols import symbol_text

_ROMAN = (
    (1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"), (10, "x"),
    (9, "ix"), (5, "v"), (4, "iv"), (1, "i"),
)  # fmt: skip
_ALPHABETS = {
    "lowerLetter": "abcdefghijklmnopqrstuvwxyz",
    "upperLetter": "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "russianLower": "абвгдежзиклмнопрстуфхцчшщыэюя",
    "russianUpper": "АБВГДЕЖЗИКЛМНОПРСТУФХЦЧШЩЫЭЮЯ",
    "chicago": "*†‡§",
}
_REPEATS = 30  # most letters in one number


def _words(text: str) -> list[str]:
    return text.split()


_ONES = _words(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen"
)
_TENS = _words("_ _ twenty thirty forty fifty sixty seventy eighty ninety")
_ORDINALS = {
    "one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth", "nine": "ninth",
    "twelve": "twelfth",
}  # fmt: skip
_ORDINAL_MARK = {"pt": "º", "es": "º", "it": "º", "de": ".", "fr": "e", "nl": "e"}
_FULL_WIDTH = str.maketrans("0123456789", "０１２３４５６７８９")
_CHINESE = "〇一二三四五六七八九"


def bullet(text: str, font: str) -> str:
    """Return a bullet as text: a box or a dash as such, all other ones as "•"."""
    shown = symbol_text(text.strip(), font)
    return shown if shown and shown in "☐☑☒✓✗–—-→➢*" else "•" if text.strip() else ""


def numeral(count: int, kind: str, pattern: str = "", language: str = "en") -> str:
    """Return a number as Word shows it in a format of its names, in decimal digits where the format cannot show it."""
    if kind in ("none", "bullet"):
        return ""
    if kind == "custom" and pattern:
        return str(count).zfill(len(pattern.partition(",")[0].strip()))
    if kind == "decimalZero":
        return f"{count:02d}"
    if kind == "decimalFullWidth":
        return str(count).translate(_FULL_WIDTH)
    if count < 1:
        return str(count)
    if kind in _ALPHABETS:
        letters = _ALPHABETS[kind]
        times, at = divmod(count - 1, len(letters))
        return letters[at] * (times + 1) if times < _REPEATS else str(count)
    if kind in ("lowerRoman", "upperRoman"):
        roman = _roman(count)
        return roman.upper() if kind == "upperRoman" else roman
    if kind == "ordinal":
        return f"{count}{_ordinal_mark(count, language)}"
    if kind in ("cardinalText", "ordinalText") and count < 100 and language in ("", "en"):
        return _in_words(count, is_ordinal=kind == "ordinalText")
    if kind in ("decimalEnclosedCircle", "decimalEnclosedCircleChinese") and count <= 20:
        return chr(0x2460 + count - 1)
    if kind == "numberInDash":
        return f"- {count} -"
    if kind == "hex":
        return f"{count:X}"
    if kind in (
        "chineseCounting",
        "chineseCountingThousand",
        "ideographDigital",
        "japaneseCounting",
        "taiwaneseCounting",
    ):
        return _chinese(count)
    return str(count)


def _roman(count: int) -> str:
    if count > 9_999:
        return str(count)
    letters = ""
    for worth, letter in _ROMAN:
        letters += letter * (count // worth)
        count %= worth
    return letters


def _ordinal_mark(count: int, language: str) -> str:
    if language == "fr" and count == 1:
        return "er"
    if language in _ORDINAL_MARK:
        return _ORDINAL_MARK[language]
    return "th" if count % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(count % 10, "th")


def _in_words(count: int, *, is_ordinal: bool) -> str:
    tens, ones = divmod(count, 10)
    words = [_ONES[count]] if count < 20 else [_TENS[tens], *([_ONES[ones]] if ones else [])]
    if is_ordinal:
        last = words[-1]
        words[-1] = _ORDINALS.get(last) or (f"{last[:-1]}ieth" if last.endswith("y") else f"{last}th")
    return "-".join(words).capitalize()


def _chinese(count: int) -> str:
    if count > 99:
        return "".join(_CHINESE[int(digit)] for digit in str(count))
    tens, ones = divmod(count, 10)
    before = "" if tens == 0 else "十" if tens == 1 else f"{_CHINESE[tens]}十"
    return before + (_CHINESE[ones] if ones else "")
