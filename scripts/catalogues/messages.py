"""Texts of the code, and the catalogues that hold their translations.

A text is the literal argument of `_`, `N_` or `ngettext`, or a help text of the command line.
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

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "src" / "docmind" / "wording"
LANGUAGES = ("pt", "es")
"""Languages that are translated into; English is in the code."""
GLOSSARY = {
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
_ARGUMENTS = {"_": 1, "N_": 1, "ngettext": 2}

Key = str | tuple[str, str]
"""A text, or its two English forms where it has a number."""


@dataclass(frozen=True)
class Text:
    """A text of the code, with the file that has it."""

    key: Key
    file: str


class NotLiteralError(ValueError):
    """A text is put together before it is looked up, so no catalogue can hold it."""


def texts() -> list[Text]:
    """Return all texts of the code, in order of files and lines.

    Raises `NotLiteralError`.
    """
    found: list[Text] = []
    for file in sorted(_SOURCES.rglob("*.py")):
        name = file.relative_to(ROOT).as_posix()
        found += (Text(key, name) for key in texts_of(file.read_text("utf-8"), name))
    return [*found, *(Text(key, "src/docmind/cli") for key in _help_texts())]


def texts_of(source: str, name: str) -> Iterator[Key]:
    """Yield the texts of a module's source.

    Raises `NotLiteralError`.
    """
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    for call in sorted(calls, key=lambda node: (node.lineno, node.col_offset)):
        function = call.func.id if isinstance(call.func, ast.Name) else ""
        if function not in _ARGUMENTS or name.endswith("wording/catalogues.py"):
            continue
        if function == "_" and isinstance(call.args[0], ast.Name | ast.Attribute | ast.Subscript | ast.Call):
            continue  # a text of a table, which `N_` marks
        arguments = call.args[: _ARGUMENTS[function]]
        values = [one.value for one in arguments if isinstance(one, ast.Constant) and isinstance(one.value, str)]
        if len(values) != _ARGUMENTS[function]:
            raise NotLiteralError(f"{name}:{call.lineno}: the argument of {function} is not a plain text")
        yield values[0] if len(values) == 1 else (values[0], values[1])


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


def template() -> Catalog:
    """Return a catalogue of all texts, untranslated."""
    made = Catalog(project="DocMind", charset="utf-8")
    for text in texts():
        made.add(text.key, locations=[(text.file, 0)])
    return made


def _header(language: str) -> str:
    """Return the comment above a catalogue: its language, and the terms that are the same everywhere."""
    kind, terms = GLOSSARY[language]
    return f"# DocMind in {kind}. Address the user formally. Keep names of commands, options and settings.\n#\n" + (
        "\n".join(f"# {line}" for line in wrap(f"Terms: {terms}.", 106))
    )


def po_file(language: str) -> Path:
    """Return the path of a language's catalogue."""
    return FOLDER / language / "LC_MESSAGES" / "docmind.po"


def read(language: str) -> Catalog:
    """Read a catalogue; one that is not there yet is empty."""
    path = po_file(language)
    if not path.exists():
        return Catalog(locale=language, project="DocMind", charset="utf-8")
    with path.open("rb") as file:
        return read_po(file, locale=language)


def updated(language: str) -> Catalog:
    """Return a catalogue with the texts of the code: new ones untranslated, others without what is gone."""
    catalog = read(language)
    catalog.update(template(), no_fuzzy_matching=True, update_creation_date=False)
    catalog.obsolete.clear()
    for message in catalog:
        message.locations = sorted({(file, 0) for file, _line in message.locations})
    return catalog


def write(language: str, catalog: Catalog) -> None:
    """Write a catalogue, and compile it beside."""
    path = po_file(language)
    path.parent.mkdir(parents=True, exist_ok=True)
    catalog.header_comment, catalog.fuzzy = _header(language), False
    catalog.msgid_bugs_address, catalog.last_translator, catalog.language_team = "", "", GLOSSARY[language][0]
    catalog.version, catalog.creation_date, catalog.revision_date = "", _WRITTEN, _WRITTEN
    with path.open("wb") as file:
        write_po(file, catalog, width=110, sort_by_file=True, include_lineno=False, ignore_obsolete=True)
    path.with_suffix(".mo").write_bytes(compiled(language))


def compiled(language: str) -> bytes:
    """Return the compiled form of a catalogue file."""
    made = BytesIO()
    write_mo(made, read(language))
    return made.getvalue()


def untranslated(catalog: Catalog) -> list[Any]:
    """Return the messages that have no translation, or an uncertain one."""
    return [message for message in catalog if message.id and (message.fuzzy or not _is_whole(message.string))]


def _is_whole(string: Any) -> bool:
    return all(string) if isinstance(string, list | tuple) else bool(string)
