"""Texts of the code, and the catalogues that hold their translations.

A text of the interface is the literal argument of `_`, `N_` or `ngettext`, or a help text of the command line; a text
of an answer is that of `say`, `say_many`, `A_` or `A_many`. Each kind is a domain with its own catalogues.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from textwrap import wrap
from typing import Any

from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

from docmind.language import LANGUAGES as ANSWERED

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "src" / "docmind" / "wording"
LANGUAGES = {"docmind": ("pt", "es"), "answers": tuple(sorted({*ANSWERED} - {"en"}))}
"""Languages that are translated into, by domain; English is in the code."""
CATALOGUES = tuple((domain, code) for domain, codes in LANGUAGES.items() for code in codes)
GLOSSARY = {
    "de": (
        "German",
        "document Dokument, page Seite, passage Stelle, mail E-Mail, table Tabelle, row Zeile, column Spalte, "
        "cell Zelle, list Liste, version Fassung, amount Betrag, summary Zusammenfassung, "
        "language model Sprachmodell, export Export",
    ),
    "fr": (
        "French",
        "document document, page page, passage passage, mail e-mail, table tableau, row ligne, column colonne, "
        "cell cellule, list liste, version version, amount montant, summary résumé, "
        "language model modèle de langage, export export",
    ),
    "it": (
        "Italian",
        "document documento, page pagina, passage passo, mail e-mail, table tabella, row riga, column colonna, "
        "cell cella, list elenco, version versione, amount importo, summary riassunto, "
        "language model modello linguistico, export esportazione",
    ),
    "pt": (
        "Portuguese as used in Portugal",
        "library biblioteca, document documento, file ficheiro, folder pasta, page página, quote citação, "
        "source fonte, conversation conversa, branch ramo, checkpoint ponto, memory memória, queue fila, index índice, "
        "search pesquisa, deep search pesquisa aprofundada, picture search pesquisa por imagem, answer resposta, "
        "language model modelo de linguagem, text model modelo de texto, image model modelo de imagem, "
        "prepare (pages) preparar, encrypted encriptado, key chave, passphrase frase-passe, password palavra-passe, "
        "recovery code código de recuperação, keyring porta-chaves, download transferir, delete eliminar, "
        "remove remover, restore restaurar, tag etiqueta, Settings Definições, app aplicação, browser navegador, "
        "link ligação, computer computador, server servidor",
    ),
    "es": (
        "neutral Spanish",
        "library biblioteca, document documento, file archivo, folder carpeta, page página, quote cita, source fuente, "
        "conversation conversación, branch rama, checkpoint punto, memory recuerdo (the whole: memoria), queue cola, "
        "index índice, search búsqueda, deep search búsqueda profunda, picture search búsqueda por imagen, "
        "answer respuesta, language model modelo de lenguaje, text model modelo de texto, "
        "image model modelo de imagen, prepare (pages) preparar, encrypted cifrado, key clave, "
        "passphrase frase de contraseña, password contraseña, "
        "recovery code código de recuperación, keyring llavero, download descargar, delete eliminar, remove quitar, "
        "restore restaurar, tag etiqueta, Settings Ajustes, app aplicación, browser navegador, link enlace, "
        "computer equipo, server servidor",
    ),
}
"""Per language: what it is, and its terms."""
_WRITTEN = datetime(2026, 1, 1, tzinfo=UTC)  # fixed: the same texts make the same bytes
_SOURCES = ROOT / "src" / "docmind"
_FUNCTIONS = {
    "_": ("docmind", 0, 1), "N_": ("docmind", 0, 1), "ngettext": ("docmind", 0, 2), "A_": ("answers", 0, 1),
    "A_many": ("answers", 0, 2), "say": ("answers", 1, 1), "say_many": ("answers", 1, 2),
}  # fmt: skip
"""By name: the domain, the place of the first text among the arguments, and how many forms of it there are."""
_MARKED = ast.Name | ast.Attribute | ast.Subscript | ast.Call | ast.Starred | ast.IfExp
_LOOKUPS = frozenset({"_", "say", "say_many"})  # that are called on a text of a table too, which is marked there

Key = str | tuple[str, str]
"""A text, or its two English forms where it has a number."""


@dataclass(frozen=True)
class Text:
    """A text of the code, with the file that has it; `context` tells two meanings of one text apart."""

    key: Key
    file: str
    domain: str = "docmind"
    context: str = ""


class NotLiteralError(ValueError):
    """A text is put together before it is looked up, so no catalogue can hold it."""


def texts() -> list[Text]:
    """Return all texts of the code, in order of files and lines.

    Raises `NotLiteralError`.
    """
    found: list[Text] = []
    for file in sorted(_SOURCES.rglob("*.py")):
        found += texts_of(file.read_text("utf-8"), file.relative_to(ROOT).as_posix())
    return [*found, *(Text(key, "src/docmind/cli") for key in _help_texts())]


def texts_of(source: str, name: str) -> Iterator[Text]:
    """Yield the texts of a module's source.

    Raises `NotLiteralError`.
    """
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    for call in sorted(calls, key=lambda node: (node.lineno, node.col_offset)):
        function = call.func.id if isinstance(call.func, ast.Name) else ""
        if function not in _FUNCTIONS or name.endswith("wording/catalogues.py"):
            continue
        domain, first, forms = _FUNCTIONS[function]
        if function in _LOOKUPS and isinstance(call.args[first], _MARKED):
            continue
        values = [one.value if isinstance(one, ast.Constant) else None for one in call.args[first:]]
        texts = [value for value in values[:forms] if isinstance(value, str)]
        if len(texts) != forms:
            raise NotLiteralError(f"{name}:{call.lineno}: the argument of {function} is not a plain text")
        context = next((value for value in values[forms:] if isinstance(value, str)), "")
        yield Text(texts[0] if forms == 1 else (texts[0], texts[1]), name, domain, context)


def _help_texts() -> Iterator[str]:
    """Yield the help texts of all commands and their options."""
    import click

    from docmind.cli import main

    def walk(command: click.Command) -> Iterator[str]:
        if command.help:
            yield inspect.cleandoc(command.help)
        for parameter in command.get_params(click.Context(command)):
            if isinstance(parameter, click.Option) and parameter.help:
                yield parameter.help
        for child in getattr(command, "commands", {}).values():
            yield from walk(child)

    yield from walk(main)


def template(domain: str) -> Catalog:
    """Return a catalogue of all texts of a domain, untranslated."""
    made = Catalog(project="DocMind", charset="utf-8")
    for text in texts():
        if text.domain == domain:
            made.add(text.key, locations=[(text.file, 0)], context=text.context or None)
    return made


def _header(language: str) -> str:
    """Return the comment above a catalogue: its language, and the terms that are the same everywhere."""
    kind, terms = GLOSSARY[language]
    return f"# DocMind in {kind}. Address the user formally. Keep names of commands, options and settings.\n#\n" + (
        "\n".join(f"# {line}" for line in wrap(f"Terms: {terms}.", 106))
    )


def po_file(domain: str, language: str) -> Path:
    """Return the path of a language's catalogue."""
    return FOLDER / language / "LC_MESSAGES" / f"{domain}.po"


def read(domain: str, language: str) -> Catalog:
    """Read a catalogue; one that is not there yet is empty."""
    path = po_file(domain, language)
    if not path.exists():
        return Catalog(locale=language, project="DocMind", charset="utf-8")
    with path.open("rb") as file:
        return read_po(file, locale=language)


def updated(domain: str, language: str) -> Catalog:
    """Return a catalogue with the texts of the code: new ones untranslated, others without what is gone."""
    catalog = read(domain, language)
    catalog.update(template(domain), no_fuzzy_matching=True, update_creation_date=False)
    catalog.obsolete.clear()
    for message in catalog:
        message.locations = sorted({(file, 0) for file, _line in message.locations})
    return catalog


def write(domain: str, language: str, catalog: Catalog) -> None:
    """Write a catalogue, and compile it beside."""
    path = po_file(domain, language)
    path.parent.mkdir(parents=True, exist_ok=True)
    catalog.header_comment, catalog.fuzzy = _header(language), False
    catalog.msgid_bugs_address, catalog.last_translator, catalog.language_team = "", "", GLOSSARY[language][0]
    catalog.version, catalog.creation_date, catalog.revision_date = "", _WRITTEN, _WRITTEN
    with path.open("wb") as file:
        write_po(file, catalog, width=110, sort_by_file=True, include_lineno=False, ignore_obsolete=True)
    path.with_suffix(".mo").write_bytes(compiled(domain, language))


def compiled(domain: str, language: str) -> bytes:
    """Return the compiled form of a catalogue file."""
    made = BytesIO()
    write_mo(made, read(domain, language))
    return made.getvalue()


def untranslated(catalog: Catalog) -> list[Any]:
    """Return the messages that have no translation, or an uncertain one."""
    return [message for message in catalog if message.id and (message.fuzzy or not _is_whole(message.string))]


def _is_whole(string: Any) -> bool:
    return all(string) if isinstance(string, list | tuple) else bool(string)
