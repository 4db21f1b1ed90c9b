"""Catalogues of the texts of the interface and of answers: bring them up to date, and fill in translations.

    .venv/bin/python scripts/catalogues update       texts of the code into the .po files; prints the untranslated
    .venv/bin/python scripts/catalogues fill FILE    translations from JSON into the .po files
    .venv/bin/python scripts/catalogues compile      every .po into the .mo beside it
    .venv/bin/python scripts/catalogues extract      all texts, as JSON

`update` and `fill` compile too. What `update` prints is what `fill` reads, with translations in place of the empty
texts: `{"pt/docmind": {"Open": "Abrir", "{n} page": ["{n} página", "{n} páginas"]}, "pt/answers": …}`. A text with a
context has it before it: `"sentence|“{column}” is empty"`.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from messages import CATALOGUES, texts, untranslated, updated, write


def main() -> int:
    """Run one of the commands."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["extract", "update", "fill", "compile"])
    parser.add_argument("file", nargs="?", type=Path, help="fill: the JSON file")
    options = parser.parse_args()
    if options.command == "extract":
        _print(list(dict.fromkeys(_english(text.key, text.context) for text in texts())))
        return 0
    translations: dict[str, dict[str, Any]] = {}
    if options.command == "fill":
        if options.file is None:
            parser.error("fill needs a JSON file")
        translations = json.loads(options.file.read_text("utf-8"))
    left: dict[str, dict[str, Any]] = {}
    for domain, language in CATALOGUES:
        catalog, name = updated(domain, language), f"{language}/{domain}"
        given = translations.pop(name, {})
        for message in catalog:
            if not message.id or (text := _english(message.id, message.context)) not in given:
                continue
            string = given.pop(text)
            message.string = tuple(string) if isinstance(string, list) else string
            message.flags.discard("fuzzy")
        for unknown in given:
            print(f"{name}: the code has no text {unknown!r}", file=sys.stderr)
        write(domain, language, catalog)
        left[name] = {
            _english(message.id, message.context): "" if isinstance(message.id, str) else ["", ""]
            for message in untranslated(catalog)
        }
    for name in translations:
        print(f"There is no catalogue {name!r}.", file=sys.stderr)
    if options.command != "compile":
        _print(left)
    return 0


def _english(key: Any, context: str | None) -> str:
    """Return the text, or its singular, behind its context: what a catalogue knows it by."""
    text = key if isinstance(key, str) else key[0]
    return f"{context}|{text}" if context else text


def _print(value: Any) -> None:
    print(json.dumps(value, ensure_ascii=False, indent=1))


if __name__ == "__main__":
    sys.exit(main())
