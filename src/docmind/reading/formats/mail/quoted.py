"""What of a mail its sender wrote, what is quoted from earlier mails, and what stands below every mail.

A mail that quotes another one says again what was said, and often corrects it. So quoted text is told apart: it is of
the kind `quoted`, below a line that says whose words it is. A mail without words of its own, or that is forwarded with
a word or two, is what it quotes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from docmind.blocks import Block, Table, shown_in
from docmind.reading.formats.typeset import LINE

_WROTE = (
    r"(?:wrote|writes|schrieb|a écrit|escribió|escreveu|ha scritto|schreef(?: het volgende)?|skrev|napisał(?:\(a\))?)"
)
OPENS = re.compile(r"\W{0,3}(?:on|am|le|el|em|il|op|den|på|w dniu|\d{1,4}[-./]\d{1,2}[-./]\d{1,4})\b", re.I)
"""How a line may begin that says whose words follow."""
ATTRIBUTION = re.compile(
    rf"{OPENS.pattern}.{{4,300}}?\b{_WROTE}\b.{{0,120}}:\s*|.{{2,200}}\b{_WROTE}\s*:\s*"
    r"|\d{4}[-/]\d\d?[-/]\d\d?\b.{2,120}<[^<>\s]{1,120}@[^<>\s]{1,120}>:\s*",
    re.I,
)
"""A line that says whose words follow: `On 2 June 2025, Jo Lind wrote:`."""
_DIVIDER = re.compile(
    r"(?:[\s*_>]*+-++)*+(?<=--)\s*+(?P<what>"
    r"original[- ]message|original-nachricht|ursprüngliche nachricht|mensagem original|"
    r"mensaje original|message d['’]origine|message original|messaggio originale|oorspronkelijk bericht|reply message"
    r"|(?P<forward>forwarded message|weitergeleitete nachricht|mensagem encaminhada|mensagem reencaminhada"
    r"|mensaje reenviado|message transféré|messaggio inoltrato|doorgestuurd bericht))\b[^\n]{0,60}"
    r"|(?P<begin>begin forwarded message|anfang der weitergeleiteten (?:e-mail|nachricht)"
    r"|début du message (?:transféré|réexpédié)|início da mensagem (?:re)?encaminhada|inicio del mensaje reenviado"
    r"|inizio messaggio inoltrato)\s*:",
    re.I,
)
_RULE = re.compile(r"_{10,}\s*")
_FIELDS = {
    "from": "from|von|de|da|van|från|fra|od",
    "date": "sent|date|gesendet|datum|enviad[oa](?: el| em)?|fecha|data|envoyé|inviato|verzonden|skickat|sendt",
    "subject": "subject|betreff|asunto|assunto|objet|oggetto|onderwerp|ämne|emne|temat",
    "to": "to|an|para|à|a|aan|till|til|do|cc|bcc|kopie|kopia|reply-to|antwort an",
}
_FIELD = re.compile(
    rf"\s*\*?(?:{'|'.join(f'(?P<{kind}>{names})' for kind, names in _FIELDS.items())})\s?:\*?\s+\S.*", re.I | re.S
)
_SENT_FROM = re.compile(
    r"(?:sent (?:from|with|via) (?:my |the |outlook|mail|yahoo|proton|gmail|samsung)"
    r"|(?:von|mit) meine[mr] .{2,40} gesendet|gesendet (?:von|mit) |enviad[oa] (?:do|desde|a partir d[oe]|com|por) "
    r"|envoyé (?:de|depuis) (?:mon|ma|l['’])|inviato da(?:l)? |verstuurd vanaf |get outlook for |holen sie sich outlook"
    r"|obter o? ?outlook|obtener outlook|télécharger outlook).{0,80}",
    re.I,
)
_DISCLAIMER = re.compile(
    r"(?=.{60})(?>.*?\b(?:intended (?:solely|only|exclusively|for)|privileged|confidential\w*|vertraulich\w*"
    r"|confidencia\w*|confidentiel\w*|riservat\w*))"
    r"(?:.*?\b(?:recipient|addressee|in error|notify the sender|empfänger|adressat|destinat[aá]ri\w*|destinataire))",
    re.I | re.S,
)
_CLOSING = re.compile(
    r"(?:(?:with |my |many |all |very )?(?:best|kind|warm|kindest|warmest)?\s?(?:regards|wishes)|sincerely"
    r"|yours (?:sincerely|faithfully|truly)|cheers|many thanks|thanks(?: (?:again|a lot|in advance))?|thank you"
    r"|all the best|best"
    r"|(?:mit )?(?:freundliche[nmrs]?|beste[nrs]?|herzliche[nrs]?|viele|liebe|schöne|sonnige)"
    r"\s(?:grü(?:ß|ss)(?:e|en)?|dank)(?: aus \w+)?|mfg|hochachtungsvoll|gruß|lg|vg|danke"
    r"|(?:bien )?cordialement|(?:salutations|sincères salutations|bien à (?:vous|toi)|amicalement|cdlt|merci d'avance)"
    r"(?: distinguées| cordiales)?|(?:meilleures|sincères) salutations"
    r"|(?:un )?(?:cordial |afectuoso )?saludos?(?: cordial(?:es)?)?|atentamente|(?:muchas )?gracias|un abrazo"
    r"|(?:com os )?(?:meus )?(?:melhores|cordiais|mais cordiais)? ?cumprimentos|atenciosamente|obrigad[oa]"
    r"|abraços?)"
    r"\s*[,.!]{0,2}",
    re.I,
)
_POSTSCRIPT = re.compile(r"\W{0,2}p\.?\s?s\b", re.I)
_UNSUBSCRIBE = re.compile(
    r"(?=.*(?:https?:|www\.|\w@\w|click|here|klick|hier|clique|ici|clic|aquí|aqui))"
    r".*(?:unsubscribe|opt[ -]out|no longer wish to receive|manage your (?:subscription|preferences)|abbestell|abmeld"
    r"|newsletter nicht mehr|désabonn|désinscri|ne plus recevoir|darse de baja|dejar de recibir"
    r"|cancelar (?:la|su|a|sua) su|cancelar a inscri|deixar de receber|remover da lista)",
    re.I | re.S,
)
_OF_LIST = re.compile(
    r"mailing[ -]?list|listinfo|mailman|google ?groups|unsubscribe|liste de diffusion|lista de (?:correo|distribuci"
    r"|discuss|distribui)|archives?:",
    re.I,
)
_PRINTING = re.compile(
    r"(?=.*(?:print|druck|imprim))(?=.*(?:environment|umwelt|environnement|medio ?ambiente|meio ambiente|planet))"
    r".{0,300}",
    re.I | re.S,
)
_LONGEST_SIGNATURE, _LONGEST_LINE, _MOST_WORDS = 10, 100, 12  # blocks of a signature, characters and words of one
_MOST_BELOW = 20  # blocks of a signature with what stands below every mail
_FEW_WORDS = 12  # of a sender who forwards a mail
_LONGEST_DISCLAIMER = 3_000  # characters
_LONGEST_RUN = 10  # lines of the header of a quoted mail


@dataclass(frozen=True, slots=True)
class Said:
    """A block of a mail, how deep it is quoted by marks or by the page, and whether it is marked as a signature."""

    block: Block | Table
    depth: int = 0
    is_signature: bool = False

    @property
    def text(self) -> str:
        return self.block.text if isinstance(self.block, Block) else ""


def told_apart(said: Sequence[Said]) -> Iterator[Block | Table]:
    """Yield the blocks of a mail: the sender's own as they are, quoted ones as `quoted`, signatures as `footer`."""
    found = list(_judged(said))
    own = sum(len(_words(one)) for one, level in found if level == 0)
    forwarded = next((level for _one, level in found if level < 0), 0)
    if own == 0 or (forwarded and own <= _FEW_WORDS):
        yield from (one for one, _level in found)
        return
    before = 0
    for one, level in found:
        if level and not before and not _is_opening(level):
            yield Block(kind="quoted", text="Quoted:")
        yield from _quoted(one, level) if level else (one,)
        before = level


_OPENING, _FORWARDED = 1_000, -1_000  # added to a level: the line that says whose words follow, and one of a forward


def _is_opening(level: int) -> bool:
    return level >= _OPENING or level < 0


def _words(one: Block | Table) -> list[str]:
    if isinstance(one, Table):
        return ["table"]
    return re.findall(r"\w+", one.text) if one.kind not in ("footer", "note") else []


def _quoted(one: Block | Table, level: int) -> Iterator[Block]:
    """Yield a block as one of an earlier mail. Rows of its tables are lines, for what they say may be superseded."""
    depth = 0 if _is_opening(level) else min(level, 9)
    if isinstance(one, Table):
        for row in one.rows:
            line = " | ".join(" ".join(shown_in(cell).split()) for cell in row)
            yield Block(kind="quoted", text=line, level=depth)
        return
    marked = f"{one.marker} {one.text}" if one.marker and one.kind in ("heading", "item") else one.text
    is_verbatim = one.is_verbatim or one.kind == "code"
    yield Block(kind="quoted", text=marked, level=depth, is_verbatim=is_verbatim)


def _judged(said: Sequence[Said]) -> Iterator[tuple[Block | Table, int]]:
    """Yield each block with its level: 0 for own words and footers, from 1 for quoted ones, beyond for openings."""
    below, at = 0, 0  # `below` counts the dividers behind which all is quoted
    is_signed = is_open = False
    while at < len(said):
        one = said[at]
        level = one.depth + below
        divider = _DIVIDER.fullmatch(one.text.strip()) if one.text else None
        run = _header_run(said, at, is_announced=is_open)
        following = said[at + 1] if at + 1 < len(said) else None
        if divider or (_RULE.fullmatch(one.text.strip()) and _header_run(said, at + 1, is_announced=True)):
            is_forward = divider is not None and (divider["forward"] or divider["begin"])
            below, is_open = below + (not one.depth), True
            yield one.block, _FORWARDED if is_forward else _OPENING
        elif run:
            below, is_open = below + (not is_open and not one.depth), False
            yield _together(said[at : at + run]), _OPENING
            at += run
            continue
        elif one.text and _is_attribution(one, following):
            below += not one.depth and (following is None or not following.depth)
            is_open = False
            yield one.block, _OPENING
        elif level:
            is_open = is_signed = False
            yield one.block, level
        else:
            is_signed = is_signed and _POSTSCRIPT.match(one.text) is None
            is_signed = is_signed or one.text.strip() == "--" or _begins_signature(said, at)
            is_footer = is_signed or one.is_signature or _is_furniture(one.text)
            yield from ((each, 0) for each in _own(one, is_footer=is_footer))
        at += 1


def _is_disclaimer(text: str) -> bool:
    return len(text) < _LONGEST_DISCLAIMER and _DISCLAIMER.match(text) is not None


def _is_furniture(text: str) -> bool:
    """Return whether a block stands below every mail: of a device, a lawyer, a list, or about paper."""
    said = text.strip()
    return bool(_SENT_FROM.fullmatch(said)) or (
        len(said) < _LONGEST_DISCLAIMER
        and (
            _is_disclaimer(said)
            or bool(_PRINTING.fullmatch(said))
            or (len(said) < 600 and bool(_UNSUBSCRIBE.match(said)))
        )
    )


def _begins_signature(said: Sequence[Said], at: int) -> bool:
    """Return whether a signature begins at a block: words of farewell with short lines below, or the rule of a list."""
    text = said[at].text.strip()
    if not (_RULE.fullmatch(text) or _CLOSING.fullmatch(text)):
        return False
    below = list[Said]()
    for one in said[at + 1 : at + 2 + _MOST_BELOW]:
        if one.depth or _POSTSCRIPT.match(one.text) or _is_opened(said, at + 1 + len(below)):
            break
        below.append(one)
    if _RULE.fullmatch(text):
        return any(_OF_LIST.search(one.text) for one in below[:4])
    if len(below) > _MOST_BELOW:
        return False
    lines = [one for one in below if not _is_furniture(one.text)]
    return len(lines) <= _LONGEST_SIGNATURE and all(_is_line(one) for one in lines)


def _is_opened(said: Sequence[Said], at: int) -> bool:
    """Return whether the words of another mail begin at a block."""
    one, following = said[at], said[at + 1] if at + 1 < len(said) else None
    return (
        _DIVIDER.fullmatch(one.text.strip()) is not None
        or bool(_header_run(said, at, is_announced=False))
        or (bool(one.text) and _is_attribution(one, following))
    )


def _is_line(one: Said) -> bool:
    """Return whether a block is as short as a line of a signature, and no sentence."""
    text = one.text.strip()
    words = text.split()
    is_sentence = len(words) > 4 and text.endswith((".", "!", "?")) and not any(map(str.isdigit, text))
    return isinstance(one.block, Block) and len(text) <= _LONGEST_LINE and len(words) <= _MOST_WORDS and not is_sentence


def _own(one: Said, *, is_footer: bool) -> Iterator[Block | Table]:
    if not is_footer or isinstance(one.block, Table):
        yield one.block
    elif one.text.strip() != "--":
        yield replace(one.block, kind="footer", level=0, picture=None)


def _is_attribution(one: Said, following: Said | None) -> bool:
    """Return whether a line says whose words follow it: the next ones are quoted deeper, or it names a time."""
    text = one.text.strip()
    if len(text) > 400 or not ATTRIBUTION.fullmatch(text) or following is None:
        return False
    return following.depth > one.depth or (any(map(str.isdigit, text)) and OPENS.match(text) is not None)


def _header_run(said: Sequence[Said], at: int, *, is_announced: bool) -> int:
    """Return how many blocks are the header of a quoted mail: `From`, `Sent`, `To` and `Subject`; 0 for none.

    Where no divider announces it, it names a time.
    """
    kinds: list[str] = []
    for one in said[at : at + _LONGEST_RUN]:
        field = _FIELD.fullmatch(one.text) if one.text and one.depth == said[at].depth else None
        if field is None:
            break
        kinds.append(field.lastgroup or "")
    is_header = kinds[:1] == ["from"] and "subject" in kinds and ("date" in kinds or is_announced)
    return len(kinds) if is_header else 0


def _together(run: Sequence[Said]) -> Block:
    return Block(kind="paragraph", text=LINE.join(one.text for one in run))
