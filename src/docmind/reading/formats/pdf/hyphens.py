"""Hyphens at the ends of lines: which belong to their word, and which only divide it.

PDFium gives one sign for both. There is no dictionary, so what decides is the words of the same document, and the few
beginnings and ends of English compounds that are written with a hyphen. In doubt the word is joined, since most
hyphens at line ends divide a word.
"""

from __future__ import annotations

import re

HYPHEN = "\ufffe"  # what PDFium gives for a hyphen at the end of a line; the next line follows without a break
TOKEN = re.compile(r"[^\W_]+(?:-[^\W_]+)*")
_BROKEN = re.compile(rf"(?<![^\W_])[^\W_]*+{HYPHEN}\S*")
_SHORTEST = 4  # letters of a half that tells something

_BEGINNINGS = re.compile(
    "self|low|high|long|short|well|non|quasi|single|double|one|two|three|four|five|six|seven|eight|nine|"
    "twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety"
)
# What follows such a beginning in a word that is written without a hyphen: "lowland", "highlight", "sixteen".
_GROWN = re.compile(
    "fold|some|teen|een|tie[sth]|self|hood|less|ness|ish|est$|ers?$|ing$|ings$|age$|aged?$|land|light|way|life|brow|"
    "ball|chair|jack|being|spring|come|coming|fall|hand|cut|stop|bread|list|itud|evity|horn|bow|shore|hair|"
    "etheless|theless|sens|descript|chalant|pareil|score|pence|rous|standing|time|tude|ton|ling|ty$|th$|ly$|ular|let"
)
_ENDS = re.compile(
    "based|related|specific|driven|oriented|owned|sensitive|cleaning|purpose|weather|inclusive|round|pressure|quality|"
    "stage"
)
_NOT_BEFORE_ENDS = re.compile("inter|over|under|super|trans|counter|photo|multi?|micro|hyper|cross|data")
_JOINED_HEADS = re.compile("some|any|every|with|through|there|here|where|over|under|out|inter|counter|super")
_JOINED_TAILS = re.compile(
    "thing|body|where|wise|self|selves|ever|wards?|names?|works?|fore|more|less|fold|hood|ship|like|times?|land|house|"
    "side|line|book|standing|able|form|ness|full|over"
)
_TENS = re.compile("(?:twen|thir|for|fif|six|seven|eigh|nine)ty")
_ONES = re.compile(
    "one|two|three|four|five|six|seven|eight|nine|first|second|third|fourth|fifth|sixth|seventh|eighth|ninth"
)
_WITHIN = re.compile("(?:and|as|at|by|for|from|in|of|on|or|over|the|to|under|up|upon|with|de|del|do|da|la|le|sur|à|a)-")
"""Short words within a compound: Stoke-on-Trent, out-of-date, pay-as-you-go."""


def learn(raw: str, known: set[str]) -> None:
    """Add the words of a page to those of its document, without the halves of divided words."""
    whole = _BROKEN.sub(" ", raw) if HYPHEN in raw else raw
    known.update(TOKEN.findall(whole.lower()))


def is_kept(left: str, right: str, known: set[str]) -> bool:
    """Return whether a hyphen at a line's end belongs to the word; `known` has the words of the document so far."""
    head, tail = TOKEN.findall(left.lower())[-1:], TOKEN.findall(right.lower())[:1]
    if not head or not tail:
        return bool(left)
    if head[0] + tail[0] in known:
        return False
    # No word is divided after one letter: X-ray, T-shirt.
    if len(head[0]) == 1 or _WITHIN.match(right.lower()):
        return True
    if f"{head[0]}-{tail[0]}" in known or "-" in head[0] or not right[0].islower() or any(map(str.isdigit, head[0])):
        return True
    return _is_compound(head[0], tail[0].partition("-")[0], known)


def _is_compound(head: str, tail: str, known: set[str]) -> bool:
    if _TENS.fullmatch(head) and _ONES.fullmatch(tail):
        return True
    if len(tail) < _SHORTEST:
        return head == "self"
    if _BEGINNINGS.fullmatch(head):
        return not _GROWN.match(tail)
    if _ENDS.fullmatch(tail):
        return head == "all" or (len(head) >= _SHORTEST and not _NOT_BEFORE_ENDS.fullmatch(head))
    if len(head) < _SHORTEST or _JOINED_HEADS.fullmatch(head) or _JOINED_TAILS.fullmatch(tail):
        return False
    return head in known and tail in known
