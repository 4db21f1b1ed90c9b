"""Catalogues of the interface's texts: bring them up to date, and fill in translations.

    .venv/bin/python scripts/catalogues update       texts of the code into the .po files; prints the untranslated
    .venv/bin/python scripts/catalogues fill FILE    translations from JSON into the .po files
    .venv/bin/python scripts/catalogues compile      every .po into the .mo beside it
    .venv/bin/python scripts/catalogues extract      all texts, as JSON

`update` and `fill` compile too. What `update` prints is what `fill` reads, with translations in place of the empty
texts: `{"pt": {"Open": "Abrir", "{n} page": ["{n} página", "{n} páginas"]}, "es": …}`.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from messages import LANGUAGES, texts, untranslated, updated, write


def main() -> int:
    """Run one of the commands."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["extract", "update", "fill", "compile"])
    parser.add_argument("file", nargs="?", type=Path, help="fill: the JSON file")
    options = parser.parse_args()
    if options.command == "extract":
        _print(list(dict.fromkeys(_english(text.key) for text in texts())))
        return 0
    translations: dict[str, dict[str, Any]] = {}
    if options.command == "fill":
        if options.file is None:
            parser.error("fill needs a JSON file")
        translations = json.loads(options.file.read_text("utf-8"))
    left: dict[str, dict[str, Any]] = {}
    for language in LANGUAGES:
        catalog = updated(language)
        given = dict(translations.get(language, {}))
        for message in catalog:
            if not message.id or _english(message.id) not in given:
                continue
            string = given.pop(_english(message.id))
            message.string = tuple(string) if isinstance(string, list) else string
            message.flags.discard("fuzzy")
        for unknown in given:
            print(f"{language}: the code has no text {unknown!r}", file=sys.stderr)
        write(language, catalog)
        left[language] = {
            _english(message.id): "" if isinstance(message.id, str) else ["", ""] for message in untranslated(catalog)
        }
    if options.command != "compile":
        _print(left)
    return 0


def _english(key: Any) -> str:
    """Return the text, or its singular: what a catalogue knows it by."""
    return key if isinstance(key, str) else key[0]


def _print(value: Any) -> None:
    print(json.dumps(value, ensure_ascii=False, indent=1))


if __name__ == "__main__":
    sys.exit(main())
