"""Characters of symbol fonts, which documents store under their place in the font."""

from __future__ import annotations

_GREEK = dict(zip(
    "ABCDEFGHIKLMNOPQRSTUWXYZabcdefghijklmnopqrstuvwxyzJV",
    "ΑΒΧΔΕΦΓΗΙΚΛΜΝΟΠΘΡΣΤΥΩΞΨΖαβχδεφγηιϕκλμνοπθρστυϖωξψζϑς",
    strict=True,
))  # fmt: skip
_SYMBOL = {ord(char): greek for char, greek in _GREEK.items()} | {
    0x22: "∀", 0x24: "∃", 0x27: "∋", 0x2A: "∗", 0x2D: "−", 0x40: "≅", 0x5C: "∴", 0x5E: "⊥", 0x7E: "∼",
    0xA2: "′", 0xA3: "≤", 0xA4: "⁄", 0xA5: "∞", 0xAB: "↔", 0xAC: "←", 0xAD: "↑", 0xAE: "→", 0xAF: "↓", 0xB0: "°",
    0xB1: "±", 0xB2: "″", 0xB3: "≥", 0xB4: "×", 0xB5: "∝", 0xB6: "∂", 0xB7: "•", 0xB8: "÷", 0xB9: "≠", 0xBA: "≡",
    0xBB: "≈", 0xBC: "…", 0xC4: "⊗", 0xC5: "⊕", 0xC6: "∅", 0xC7: "∩", 0xC8: "∪", 0xC9: "⊃", 0xCA: "⊇", 0xCC: "⊂",
    0xCD: "⊆", 0xCE: "∈", 0xCF: "∉", 0xD0: "∠", 0xD1: "∇", 0xD2: "®", 0xD3: "©", 0xD4: "™", 0xD5: "∏", 0xD6: "√",
    0xD7: "⋅", 0xD8: "¬", 0xD9: "∧", 0xDA: "∨", 0xDB: "⇔", 0xDC: "⇐", 0xDE: "⇒", 0xE5: "∑", 0xF2: "∫",
}  # fmt: skip
_WINGDINGS = {
    0x6C: "•", 0x6E: "▪", 0x6F: "☐", 0x71: "☐", 0x76: "❖", 0x9F: "•", 0xA7: "▪", 0xA8: "☐", 0xD8: "➢", 0xDF: "←",
    0xE0: "→", 0xE1: "↑", 0xE2: "↓", 0xE8: "→", 0xF0: "→", 0xFB: "✗", 0xFC: "✓", 0xFD: "☒", 0xFE: "☑", 0x78: "☒",
    0x4A: "☺", 0x4C: "☹",
}  # fmt: skip
_WINGDINGS_2 = {
    0x4F: "✗", 0x50: "✓", 0x51: "☒", 0x52: "☑", 0x53: "☒", 0x54: "☒", 0xA3: "☐", 0x2A: "☐", 0x30: "☐", 0x97: "•",
}  # fmt: skip
_FONTS = {"symbol": _SYMBOL, "wingdings": _WINGDINGS, "wingdings 2": _WINGDINGS_2}
_PRIVATE = 0xF000  # symbol fonts stand at U+F000 to U+F0FF


def symbol_text(text: str, font: str) -> str:
    """Return characters of a symbol font as text; one without a known meaning is left out, as no other font has it."""
    table = _FONTS.get(font.strip().lower())
    if table is None and not any(_is_private(char) for char in text):
        return text
    return "".join(_char(char, table or {}) for char in text)


def _char(char: str, table: dict[int, str]) -> str:
    if _is_private(char):
        return table.get(ord(char) - _PRIVATE, "")
    return table.get(ord(char), char)


def _is_private(char: str) -> bool:
    return _PRIVATE <= ord(char) <= _PRIVATE + 0xFF
