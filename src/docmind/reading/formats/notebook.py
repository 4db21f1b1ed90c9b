"""Notebooks of Jupyter, formats 1 to 4: cells of Markdown and of code, and what the code printed.

A notebook is JSON of which any program may have written any part, so each value is checked for its type before it is
used. Pictures in PNG, JPEG and the like are figures; other ones and widgets are counted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, cast
from urllib.parse import unquote

from docmind.blocks import Block, Losses, Picture, Table
from docmind.errors import CorruptFileError
from docmind.reading.formats import Rules, facts_of
from docmind.reading.formats.figures import picture_in_base64
from docmind.reading.formats.html import blocks_of, parse
from docmind.reading.formats.markdown import front_matter, markdown
from docmind.reading.formats.markup import Page
from docmind.reading.formats.math_text import words_of_latex
from docmind.reading.formats.source_code import source_code
from docmind.reading.formats.typeset import LaidOut, printable
from docmind.records.documents import LossKind, Upload
from docmind.wording import _

_OUTPUT_MAX = 200_000  # characters of one output; a log that is longer is cut off and told
_MARK = "\ufeff"
# What a terminal takes for colours, titles and places of its cursor.
_ESCAPES = re.compile(r"\x1b(?:\[[0-9;:?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_BACK = re.compile(r"[^\n\x08]\x08")
_MAGIC = re.compile(r"\s*%%(\w+)")
_MAGICS = {
    "sh": "bash", "script": "bash", "js": "javascript", "r": "r", "latex": "latex", "svg": "html",
    **{name: name for name in ("bash", "html", "javascript", "markdown", "perl", "ruby", "sql")},
}  # fmt: skip
_LANGUAGES = {"ipython": "python", "ipython2": "python", "ipython3": "python", "c++": "cpp", "c#": "csharp"}
# The names of contents before format 4.
_MIMES = {
    "text": "text/plain", "html": "text/html", "latex": "text/latex", "markdown": "text/markdown", "svg": "image/svg",
    "png": "image/png", "jpeg": "image/jpeg", "javascript": "application/javascript", "json": "application/json",
}  # fmt: skip
_LOST: tuple[tuple[str, LossKind], ...] = (
    ("image/", "picture"),
    ("application/vnd.plotly", "chart"),
    ("application/vnd.vega", "chart"),
    ("application/vnd.bokeh", "chart"),
    ("application/vnd.jupyter.widget", "embedded_object"),
    ("application/pdf", "embedded_object"),
    ("video/", "media"),
    ("audio/", "media"),
)
"""What is shown in place of the text beside it, by the beginning of its type."""
_PICTURES = ("image/png", "image/jpeg", "image/webp", "image/gif", "image/bmp")
_TITLED = 50  # blocks in which the heading stands that is the title


def open_notebook(upload: Upload, kind: str, rules: Rules) -> LaidOut:
    """Open a notebook. Raises `CorruptFileError`, `TooLargeError` or `EmptyFileError`."""
    try:
        notebook = _mapping(json.loads(upload.data.decode("utf-8", "replace").removeprefix(_MARK)))
    except (ValueError, RecursionError) as error:
        raise CorruptFileError(
            _("{name} is a notebook that is broken or was cut off.").format(name=upload.name)
        ) from error
    losses = Losses()
    about, cells = _mapping(notebook.get("metadata")), _cells(notebook)
    said = _said_first(cells)
    author = _names(about.get("authors")) or _names(about.get("author")) or said.get("author")
    title = _one(about.get("title")) or said.get("title", "")
    facts = facts_of(upload.name, author=author, dated=_one(about.get("date")) or said.get("date"))
    facts = {**facts, "title": title or _heading(cells)}
    return LaidOut(_blocks(cells, _language(about), losses), facts, upload.name, rules, losses)


def _cells(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the cells; before format 4 they lie in sheets."""
    sheets = [notebook, *map(_mapping, _sequence(notebook.get("worksheets")))]
    return [_mapping(cell) for sheet in sheets for cell in _sequence(sheet.get("cells"))]


def _said_first(cells: list[dict[str, Any]]) -> dict[str, str]:
    """Return the facts in the first cell, as Quarto writes them in a raw one."""
    first = next(iter(cells), {})
    return front_matter(_source(first))[0] if first.get("cell_type") in ("raw", "markdown") else {}


def _heading(cells: list[dict[str, Any]]) -> str:
    first = (cell for cell in cells[:_TITLED] if cell.get("cell_type") in ("markdown", "heading"))
    found = (block for cell in first for block in _markdown(cell, Losses()))
    return next((block.text for block in found if isinstance(block, Block) and block.kind == "heading"), "")


def _language(about: dict[str, Any]) -> str:
    """Return the language of the kernel."""
    kernel, told = _mapping(about.get("kernelspec")), _mapping(about.get("language_info"))
    name = _one(told.get("name")) or _one(kernel.get("language")) or _one(about.get("language"))
    return _known(name or "python")


def _known(name: str) -> str:
    return _LANGUAGES.get(name.lower(), name.lower())


def _blocks(cells: list[dict[str, Any]], language: str, losses: Losses) -> Iterator[Block | Table]:
    for number, cell in enumerate(cells):
        kind = cell.get("cell_type")
        if kind == "code":
            yield from _code(cell, language, losses)
        elif kind in ("raw", "rst", "plaintext"):
            if number or not front_matter(_source(cell))[0]:
                yield from _raw(cell, losses)
        elif kind == "html":
            yield from _page(_source(cell), losses)
        else:
            yield from _markdown(cell, losses, is_first=number == 0)


def _markdown(cell: dict[str, Any], losses: Losses, *, is_first: bool = False) -> Iterator[Block | Table]:
    text = printable(_source(cell))
    if cell.get("cell_type") == "heading":  # before format 4
        level = cell.get("level")
        marks = "#" * (level if isinstance(level, int) and 1 <= level <= 6 else 1)
        text = f"{marks} {' '.join(text.split())}"
    attached = _mapping(cell.get("attachments"))

    def picture(address: str) -> Picture | None:
        name = unquote(address.removeprefix("attachment:"))
        data = _mapping(attached.get(name)) if address.startswith("attachment:") else {}
        found = (picture_in_base64(_joined_text(said)) for kind, said in data.items() if kind.startswith("image/"))
        return next((one for one in found if one is not None), None)

    yield from markdown(front_matter(text)[1] if is_first else text, losses, picture)


def _raw(cell: dict[str, Any], losses: Losses) -> Iterator[Block | Table]:
    about = _mapping(cell.get("metadata"))
    written = _one(about.get("raw_mimetype")) or _one(about.get("format"))
    text = _source(cell)
    if written == "text/html":
        yield from _page(text, losses)
    elif written == "text/markdown":
        yield from markdown(printable(text), losses)
    else:
        yield Block(kind="paragraph", text=printable(text), is_verbatim=True)


def _code(cell: dict[str, Any], language: str, losses: Losses) -> Iterator[Block | Table]:
    """Yield the code of a cell and what it put out, each below its number where it has run."""
    source = printable(_source(cell))
    if not source.strip() and not cell.get("outputs"):
        return
    number = cell.get("execution_count", cell.get("prompt_number"))
    is_run = type(number) is int and 0 <= number < 1_000_000
    if is_run:
        yield Block(kind="caption", text=f"In [{number}]:")
    yield from source_code(source, _language_of(cell, source, language))
    named = False
    for output in _joined(_sequence(cell.get("outputs"))):
        found = _output(output, losses)
        if output.get("output_type") in ("execute_result", "pyout") and is_run and not named:
            if (first := next(found, None)) is None:
                continue
            yield Block(kind="caption", text=f"Out[{number}]:")
            yield first
            named = True
        yield from found


def _language_of(cell: dict[str, Any], source: str, language: str) -> str:
    """Return the language of a cell, which its first line or its editor may say."""
    if (magic := _MAGIC.match(source)) and (name := _MAGICS.get(magic[1].lower())):
        return name
    editor = _mapping(_mapping(cell.get("metadata")).get("vscode"))
    own = _one(editor.get("languageId")) or _one(cell.get("language"))
    return _known(own) if own else language


def _joined(outputs: list[Any]) -> Iterator[dict[str, Any]]:
    """Yield outputs; what a program wrote bit by bit to one stream is one."""
    held: dict[str, Any] | None = None
    for output in map(_mapping, outputs):
        is_stream = output.get("output_type") == "stream"
        name = output.get("name", output.get("stream"))
        if is_stream and held is not None and held["name"] == name:
            held["parts"].append(_joined_text(output.get("text")))
            continue
        if held is not None:
            yield held
        held = (
            {"output_type": "stream", "name": name, "parts": [_joined_text(output.get("text"))]} if is_stream else None
        )
        if not is_stream:
            yield output
    if held is not None:
        yield held


def _output(output: dict[str, Any], losses: Losses) -> Iterator[Block | Table]:
    kind = output.get("output_type")
    if kind == "stream":
        yield from _printed("".join(output["parts"]), losses)
    elif kind in ("error", "pyerr"):
        trace = "\n".join(filter(None, map(_one_line, _sequence(output.get("traceback")))))
        said = ": ".join(filter(None, (_one(output.get("ename")), _one(output.get("evalue")))))
        yield from _printed(trace if trace.strip() else said, losses)
    else:
        data = output.get("data")
        named = _mapping(data) if data is not None else {_MIMES.get(name, name): output[name] for name in output}
        yield from _shown({str(name): value for name, value in named.items()}, losses)


def _shown(data: dict[str, Any], losses: Losses) -> Iterator[Block | Table]:
    """Yield what a person sees of one result: the richest of its forms that DocMind reads."""
    page, text = _joined_text(data.get("text/html")), _joined_text(data.get("text/plain"))
    lost: LossKind | None = next((kind for name in data for begin, kind in _LOST if name.startswith(begin)), None)
    picture = next(filter(None, (_picture(data, name) for name in _PICTURES)), None)
    if picture is not None:
        yield Block(kind="figure", picture=picture)
        return
    is_page = page.strip() and ("<table" in page.lower() or not text.strip() or text.lstrip().startswith("<"))
    if is_page and lost is None:
        yield from _page(page, losses)
    elif "text/markdown" in data:
        yield from markdown(printable(_joined_text(data["text/markdown"])[:_OUTPUT_MAX]), losses)
    elif "text/latex" in data:
        latex = " ".join(printable(_joined_text(data["text/latex"])[:_OUTPUT_MAX]).strip().strip("$").split())
        yield Block(kind="equation", text=words_of_latex(latex), latex=latex)
    elif lost is not None:
        losses.note(lost)
    else:
        yield from _printed(text, losses)


def _picture(data: dict[str, Any], name: str) -> Picture | None:
    said = _joined_text(data.get(name))
    return picture_in_base64(said) if said else None


def _printed(text: str, losses: Losses) -> Iterator[Block]:
    """Yield a text as a terminal shows it: without colours, and with what was written over left out."""
    if len(text) > _OUTPUT_MAX:
        losses.note("part")
        text = text[:_OUTPUT_MAX]
    text = _ESCAPES.sub("", text).replace("\r\n", "\n")
    if "\b" in text:
        text = _BACK.sub("", text)
    if "\r" in text:
        text = "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    text = printable(text)
    if text.strip():
        yield Block(kind="paragraph", text=text, is_verbatim=True)


def _page(text: str, losses: Losses) -> Iterator[Block | Table]:
    if text.strip():
        try:
            tree = parse(text, "", losses)
        except CorruptFileError:  # nothing but comments
            return
        yield from blocks_of(tree, Page(losses))


def _source(cell: dict[str, Any]) -> str:
    return _joined_text(cell.get("source", cell.get("input", cell.get("code", cell.get("text")))))


def _joined_text(value: Any) -> str:
    """Return a text that is written as one or as a list of its lines."""
    if isinstance(value, str):
        return value
    return "".join(part for part in _sequence(value) if isinstance(part, str))


def _one_line(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _one(value: Any) -> str:
    return " ".join(printable(value).split()) if isinstance(value, str) else ""


def _names(value: Any) -> str:
    """Return the names of authors: a text, a list of texts, or of `{name}`."""
    if isinstance(value, str):
        return _one(value)
    named = (_one(_mapping(one).get("name")) or _one(one) for one in _sequence(value))
    return ", ".join(filter(None, named))


def _mapping(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _sequence(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []
