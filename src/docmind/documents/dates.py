"""Days of documents: which of those that a text names the document gives as its own, and those in names of files.

A document states its day by a label ("Issued 22 January 2026", "Date of invoice: …"), as letters do, alone on a line
behind a place ("Hamburg, den 9. März 2026"), or in its title. Any other day on a first page is what the text is about:
when a bill is due, when somebody was born.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime

from docmind.blocks import PageBlock
from docmind.language import days, days_in_numbers

_FRONT = 4_000  # characters of a front page that are looked at
_TOP, _FOOT = 20, 6  # lines of a page where a letter has its day
_IN_ROWS, _DAYS_OF_DATA = 0.6, 2  # of the letters of a sheet, and days from which on they are its data
_MOST_ALONE = 2  # days that stand alone on a line: more are a list of days
_PLACE_WORDS = 4  # of what stands before a day on a letter, as in "Fait à Fontenay, le"
_LABEL, _SHORT = 6, 12  # words of a label, and of a line in which one stands behind a comma

_YEAR = re.compile(r"(?<![^\W_])(?:19|20)\d\d(?![^\W_])")

# The words of labels of a day that is the document's own, by language with the same keys; they have no others.
_WORDS: dict[str, dict[str, str]] = {
    "en": {
        "dated": "date dated issued issue printed written created signed published",
        "updated": "updated update revised amended approved",
        "valid": "valid effective force",
        "version": "version revision rev edition draft final status",
        "document": "invoice bill letter report document statement quotation offer receipt contract certificate notice",
        "joins": "of the on from in at as last this since to by",
    },
    "de": {
        "dated": "datum ausgestellt erstellt gedruckt unterzeichnet ausstellungsdatum erstellungsdatum druckdatum",
        "updated": "stand aktualisiert geändert überarbeitet genehmigt",
        "valid": "gültig gilt kraft",
        "version": "version fassung ausgabe auflage entwurf revision status",
        "document": "rechnung brief bericht dokument beleg angebot vertrag bescheid auszug bescheinigung",
        "joins": "der die das des den vom am ab seit in zum zur dieser diese",
    },
    "es": {
        "dated": "fecha fechado fechada emitido emitida emisión expedido expedida impreso firmado publicado",
        "updated": "actualizado actualizada actualización revisado revisada modificado aprobado aprobada",
        "valid": "válido válida vigente vigor",
        "version": "versión revisión edición borrador estado",
        "document": "factura carta informe documento recibo presupuesto contrato certificado extracto aviso",
        "joins": "de del la el en a última desde partir este esta",
    },
    "fr": {
        "dated": "date daté datée émis émise émission établi établie imprimé signé publié fait",
        "updated": "jour révisé révisée modifié modifiée approuvé approuvée",
        "valid": "valable vigueur",
        "version": "version révision édition brouillon projet statut",
        "document": "facture lettre rapport document reçu devis contrat attestation relevé avis",
        "joins": "de du la le l d mis mise dernière en à au depuis partir ce cette",
    },
    "it": {
        "dated": "data datato datata emesso emessa emissione rilasciato rilasciata stampato firmato pubblicato redatto",
        "updated": "aggiornato aggiornata aggiornamento rivisto rivista modificato approvato approvata",
        "valid": "valido valida vigente vigore",
        "version": "versione revisione edizione bozza stato",
        "document": "fattura lettera relazione documento ricevuta preventivo contratto certificato estratto avviso",
        "joins": "di del della la il lo in ultima a dal partire questo questa",
    },
    "pt": {
        "dated": "data datado datada emitido emitida emissão impresso assinado publicado feito",
        "updated": "atualizado atualizada atualização revisto revista alterado aprovado aprovada",
        "valid": "válido válida vigente vigor",
        "version": "versão revisão edição rascunho estado",
        "document": "fatura factura carta relatório documento recibo orçamento contrato certificado extrato aviso",
        "joins": "de do da a o última em no na desde partir este esta",
    },
}  # fmt: skip
_COMPOUND = re.compile(r"(?:{})(?:s|es|en)?datum".format(_WORDS["de"]["document"].replace(" ", "|")))


def _all(key: str) -> frozenset[str]:
    return frozenset(word for words in _WORDS.values() for word in words[key].split())


_ROLES = {role: _all(role) for role in ("updated", "valid", "version", "dated")}  # `date` alone says the least
VERSION = _ROLES["version"] | _ROLES["updated"]
"""Words that name a version, or say how far it has come."""
_BESIDE = _all("document") | _all("joins")
_WORD = re.compile(r"[^\W\d_]+")
_CLAUSE = re.compile(r"[|·;()\t•]|\.\s|\s{3,}")
_PLACE = re.compile(r"([^\W\d_][\w.’' -]*),(?:\s*(?:den|le|a|aos|em|the|al))?")


def day_in_name(name: str) -> str:
    """Return the first day in the name of a file as 2024-03-31, "" where none is."""
    found = min(days_in_numbers(name), key=lambda one: one.start, default=None)
    return found.day if found is not None else ""


def year_in_name(name: str) -> str:
    """Return the latest year in the name of a file, "" where none is."""
    return max(_YEAR.findall(name), default="")


def chosen_day(stated: str, name: str, stamped: str, added_at_ms: int) -> str:
    """Return the day of a document, "" for none: what it states, else the day in its name, else the stamp of its file.

    A stamp of another year than the name has, or of the day on which the file was added, tells nothing of the document.
    """
    if found := stated or day_in_name(name):
        return found
    added = datetime.fromtimestamp(added_at_ms / 1000, UTC)
    of_adding = {added.date().isoformat(), added.astimezone().date().isoformat()}
    years = _YEAR.findall(name)
    return "" if stamped in of_adding or (years and stamped[:4] not in years) else stamped


def stated_day(text: str, title: str = "", language: str = "", *, is_sheet: bool = False) -> str:
    """Return the day that a front page gives as that of its document, as 2024-03-31; "" where it gives none.

    `title` is one of the lines of the page. The days of a sheet are data: only one behind its label, in a row of two
    cells, is its own.
    """
    lines = [line for line in text[:_FRONT].splitlines() if line.strip()]
    own: list[str] = []
    valid, titled = "", ""
    alone: list[tuple[int, str]] = []
    for at, line in enumerate(lines):
        above = lines[at - 1] if at and not is_sheet else ""
        for one in days(line, language):
            role = "" if is_sheet and line.count("|") > 1 else role_of(line, one.start, above)
            if len(line[one.end :].split()) > _LABEL and line[: one.start].casefold().split()[:2] == ["as", "of"]:
                role = ""  # a sentence: "As of 6 January 2023, 457 million shares were outstanding."
            if role == "valid":
                valid = valid or one.day
            elif role:
                own.append(one.day)
            elif is_alone(line, one.start, one.end) and not _is_label(above):
                alone.append((at, one.day))
            elif not titled and line.strip().casefold() in title.casefold():
                titled = one.day
    if own or valid:
        return max(own, default=valid)
    in_letter = [day for at, day in alone if at < _TOP or at >= len(lines) - _FOOT]
    is_list = is_sheet or len({day for _at, day in alone}) > _MOST_ALONE
    return in_letter[0] if in_letter and not is_list else titled


def is_of_rows(text: str, structure: Sequence[PageBlock]) -> bool:
    """Return whether a page is a sheet: most of it stands in rows of tables."""
    in_rows = sum(block.end - block.start for block in structure if block.kind in ("row", "header_row"))
    return in_rows > _IN_ROWS * len(text)


def has_days(text: str, language: str = "") -> bool:
    """Return whether a sheet has days as data."""
    return len(days(text[:_FRONT], language)) >= _DAYS_OF_DATA


def role_of(line: str, start: int, above: str = "") -> str:
    """Return what the words before a day say of it: `dated`, `updated`, `valid`, `version`; "" for any other label.

    Those are the words of its clause, or of the cell to the left of its cell. `above` is the line above, in which the
    label of a day stands that begins its line, and that of a column.
    """
    before = line[:start]
    clause = _CLAUSE.split(before)[-1]
    if not _WORD.search(clause) and "|" in line:
        cells = [cell for cell in before.split("|") if cell.strip()]
        heads = above.split("|")
        if len(cells) == 1 and not any(char.isdigit() for char in cells[0]):
            clause = cells[0]
        elif len(heads) == line.count("|") + 1:
            clause = heads[before.count("|")]
    elif not before.strip() and not any(char.isdigit() for char in above):
        clause = above
    role = _role(clause)
    if not role and "," in clause and len(line.split()) <= _SHORT:  # "Version 3, issued 4 May 2026"
        role = _role(clause.rpartition(",")[2])
    return role


def is_alone(line: str, start: int, end: int) -> bool:
    """Return whether a day stands alone on its line, as on a letter, where a place may stand before it."""
    before, after = line[:start].strip(), line[end:].strip(" .")
    if after or not before:
        return not after
    place = _PLACE.fullmatch(before)
    if place is None:
        return False
    words = place[1].split()
    return len(words) <= _PLACE_WORDS and all(word[0].isupper() or word in _BESIDE for word in words)


def role_of_label(label: str) -> str:
    """Return what a label says of the day or text behind it, as `role_of` does."""
    return _role(label)


def _role(label: str) -> str:
    words = _WORD.findall(label.casefold())
    if not 0 < len(words) <= _LABEL or not all(_is_known(word) for word in words):
        return ""
    if words[:2] == ["as", "of"]:
        return "updated"
    found = (role for role, known in _ROLES.items() if not known.isdisjoint(words))
    return next(found, "dated" if any(_COMPOUND.fullmatch(word) for word in words) else "")


def _is_known(word: str) -> bool:
    return word in _BESIDE or any(word in known for known in _ROLES.values()) or bool(_COMPOUND.fullmatch(word))


def _is_label(line: str) -> bool:
    """Return whether a line is the label of what stands below it, whatever it says: `Date of birth`, `Due:`."""
    words = _WORD.findall(line.casefold())
    is_of_day = any(word in _ROLES["dated"] or word.endswith("datum") for word in words)
    return line.rstrip().endswith(":") or (len(words) <= _LABEL and is_of_day)
