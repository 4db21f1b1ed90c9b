"""Make the dictionaries of `docmind.language.forms` from those of simplemma and of spaCy.

    .venv/bin/pip install --no-deps simplemma==1.1.2 spacy-lookups-data==1.0.5
    .venv/bin/python scripts/language_forms.py [LANGUAGE ...]

Each of them has one base form for most words, so that a form which belongs to two words (`won`) often has one in each.
Words are folded; those with other letters than a to z are left out. The sources of the words and their licences stand
in `src/docmind/language/data/LICENCES.md`.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import sys
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import marisa_trie
from simplemma.strategies.dictionaries import DefaultDictionaryFactory  # pyright: ignore[reportMissingImports]

from docmind.language import LANGUAGES
from docmind.language.forms import folded_word

DATA = Path(__file__).resolve().parents[1] / "src" / "docmind" / "language" / "data"


def write(language: str) -> None:
    """Write the dictionary of a language, and print its name, words, bytes and sha256."""
    keys = sorted(set(_keys(language)))
    path = DATA / f"{language}.marisa"
    marisa_trie.Trie(keys).save(str(path))
    data = path.read_bytes()
    print(path.name, len(keys), len(data), hashlib.sha256(data).hexdigest(), flush=True)


def _keys(language: str) -> Iterator[str]:
    """Yield each word with the rules that make its base forms, and each base form."""
    for word, base in (*_of_simplemma(language), *_of_spacy(language)):
        form, own = folded_word(word), folded_word(base)
        if all(one.isalpha() and one.isascii() for one in (form, own)):
            shared = next(
                (n for n, (a, b) in enumerate(zip(form, own, strict=False)) if a != b), min(len(form), len(own))
            )
            yield f"{form} {len(form) - shared}{own[shared:]}"
            yield f"{own} 0"


def _of_simplemma(language: str) -> Iterator[tuple[str, str]]:
    for word, base in DefaultDictionaryFactory().get_dictionary(language).items():
        yield _text(word), _text(base)


def _of_spacy(language: str) -> Iterator[tuple[str, str]]:
    """Yield words with their base forms: those of any part of speech, and irregular ones by part of speech."""
    kinds = [_table(f"{language}_lemma_lookup"), *_table(f"{language}_lemma_exc").values()]
    for kind in kinds:
        for word, bases in kind.items():
            yield from ((word, base) for base in (bases if isinstance(bases, list) else [bases]))


def _table(name: str) -> dict[str, Any]:
    packed = files("spacy_lookups_data") / "data" / f"{name}.json.gz"
    return json.loads(gzip.decompress(packed.read_bytes())) if packed.is_file() else {}


def _text(word: str | bytes) -> str:
    return word.decode() if isinstance(word, bytes) else word


if __name__ == "__main__":
    for name in sys.argv[1:] or LANGUAGES:
        write(name)
