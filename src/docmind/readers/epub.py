"""EPUB books: the chapters of the spine, in order, laid out as plain text."""

from __future__ import annotations

from collections.abc import Iterator

from docmind.readers import Rules
from docmind.readers.epub_book import Book
from docmind.readers.epub_chapter import text_of
from docmind.readers.html import blocks_of, parse
from docmind.readers.layout import Block
from docmind.readers.sheet import LaidOut
from docmind.schema import Upload


def open_epub(upload: Upload, kind: str, rules: Rules) -> LaidOut:
    """Open a book. Raises `CorruptFileError`, `TooLargeError`, `UnsupportedFileError` or `EmptyFileError`."""
    book = Book(upload, rules)
    try:
        return LaidOut(_blocks(book), book.title, upload.name, rules)
    finally:
        book.close()


def _blocks(book: Book) -> Iterator[Block]:
    for chapter in book.chapters:
        text = text_of(book.read(chapter))
        if text.strip():
            yield from blocks_of(parse(text, book.name))
