"""Notebooks of Jupyter: cells and outputs of all formats, and notebooks that no program would write."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import pytest

from docmind.blocks import unpack
from docmind.errors import CorruptFileError, EmptyFileError, ReadingError
from docmind.reading.formats import Opened, Rules, reader
from docmind.records.documents import Loss, Upload
from each import each_of
from sampled import tenth_of

FRAME = (
    "<div><style>td {}</style><table><thead><tr><th></th><th>city</th></tr></thead><tbody><tr><th>0</th><td>Faro</td>"
    "</tr></tbody></table><p>1 rows × 1 columns</p></div>"
)
PNG = "iVBORw0KGgo" * 50


def markdown(text: str | list[str]) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": text}


def code(text: str | list[str], *outputs: dict[str, Any], number: int | None = 1, **more: Any) -> dict[str, Any]:
    cell = {"cell_type": "code", "metadata": {}, "source": text, "outputs": list(outputs), "execution_count": number}
    return cell | more


def result(data: dict[str, Any]) -> dict[str, Any]:
    return {"output_type": "execute_result", "metadata": {}, "data": data}


def stream(text: str | list[str], name: str = "stdout") -> dict[str, Any]:
    return {"output_type": "stream", "name": name, "text": text}


def opened(*cells: dict[str, Any], **metadata: Any) -> Opened:
    notebook = {"cells": list(cells), "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    return reader("notebook")(Upload("a.ipynb", json.dumps(notebook).encode()), "notebook", Rules())


def blocks(notebook: Opened) -> list[tuple[str, str]]:
    pages = [notebook.page(number) for number in range(1, notebook.pages + 1)]
    return [
        (block.kind, page.text[block.start : block.end])
        for page in pages
        for block in unpack(page.blocks, len(page.text))
    ]


def test_cells_are_read_in_order_with_their_numbers() -> None:
    found = opened(
        markdown(["# Rain\n", "\n", "In **Faro**."]),
        code("import os\n\ndef load():\n    pass\n", number=3),
        code("load()", result({"text/plain": "510"}), stream("done\n"), number=4),
        code("  \n", number=None),
        code("never.run()", number=None),
        {"cell_type": "raw", "metadata": {}, "source": "kept\n  as it is"},
    )
    assert blocks(found) == [
        ("heading", "Rain"),
        ("paragraph", "In Faro."),
        ("caption", "In [3]:"),
        ("code", "import os"),
        ("code", "def load():\n    pass"),
        ("caption", "In [4]:"),
        ("code", "load()"),
        ("caption", "Out[4]:"),
        ("paragraph", "510"),
        ("paragraph", "done"),
        ("code", "never.run()"),
        ("paragraph", "kept\n  as it is"),
    ]
    page = found.page(1)
    paths = {page.text[one.start : one.end]: one.path for one in unpack(page.blocks, len(page.text))}
    assert paths["def load():\n    pass"] == ("Rain", "def load")


@each_of(
    "output, wanted, lost",
    [
        (result({"text/html": FRAME, "text/plain": "   city\n0  Faro"}),
         [("header_row", "| city"), ("row", "0 | Faro"), ("paragraph", "1 rows × 1 columns")], ()),
        (result({"text/html": "<b>Faro</b>", "text/plain": "Faro()"}), [("paragraph", "Faro()")], ()),
        (result({"text/html": "<b>Faro</b>", "text/plain": "<display.HTML object>"}), [("paragraph", "Faro")], ()),
        (result({"text/markdown": ["**Faro** is", " dry"], "text/plain": "x"}), [("paragraph", "Faro is dry")], ()),
        (result({"text/latex": "$\\frac{a}{2}$", "text/plain": "a/2."}), [("equation", "a/2")], ()),
        (result({"image/png": PNG, "text/plain": "<Figure size 640x480>"}), [], (Loss("picture", 1, ""),)),
        (result({"image/svg+xml": "<svg/>"}), [], (Loss("picture", 1, ""),)),
        (result({"application/vnd.plotly.v1+json": {}, "text/html": "<div></div>"}), [], (Loss("chart", 1, ""),)),
        (result({"application/vnd.jupyter.widget-view+json": {}, "text/plain": "HBox()"}), [],
         (Loss("embedded_object", 1, ""),)),
        (stream("\x1b[31mred\x1b[0m and \x1b]0;title\x07plain"), [("paragraph", "red and plain")], ()),
        (stream(" 1%\r50%\r100%\r\nabc\x08d\n"), [("paragraph", "100%\nabd")], ()),
        ({"output_type": "error", "ename": "E", "evalue": "no", "traceback": ["\x1b[0;31mE\x1b[0m at 1", "E: no"]},
         [("paragraph", "E at 1\nE: no")], ()),
        ({"output_type": "error", "ename": "E", "evalue": "no", "traceback": []}, [("paragraph", "E: no")], ()),
        (stream("x" * 300_000), None, (Loss("part", 1, ""),)),
    ],
)  # fmt: skip
def test_an_output_is_read_as_a_person_sees_it(
    output: dict[str, Any], wanted: list[tuple[str, str]] | None, lost: tuple[Loss, ...]
) -> None:
    found = opened(code("x", output))
    below = [one for one in blocks(found) if one[0] != "caption"][1:]
    assert wanted is None or below == wanted
    assert found.losses == lost


def test_what_a_program_wrote_bit_by_bit_is_one_output() -> None:
    found = opened(code("x", stream("a"), stream(["b\n", "c"]), stream("w", "stderr"), stream("d")))
    assert [text for kind, text in blocks(found) if kind == "paragraph"] == ["ab\nc", "w", "d"]


def test_pictures_of_a_text_are_their_alternative_text_and_never_letters() -> None:
    found = opened(
        markdown(f"![A map](attachment:a.png) ![](attachment:b.png) ![x](data:image/png;base64,{PNG}) ![b](b.png)")
    )
    assert blocks(found) == [("paragraph", "A map x b (b.png)")]
    assert found.losses == (Loss("picture", 1, ""),)


def test_the_language_is_that_of_the_kernel_or_of_the_cell() -> None:
    found = opened(code("f <- 1"), code("%%bash\nls"), code("select 1", metadata={"vscode": {"languageId": "sql"}}),
                   kernelspec={"language": "R"})  # fmt: skip
    page = found.page(1)
    told = [block.language for block in unpack(page.blocks, len(page.text)) if block.kind == "code"]
    assert told == ["r", "bash", "sql"]


def test_facts_stand_in_the_metadata_or_in_the_first_cell() -> None:
    first = {"cell_type": "raw", "metadata": {}, "source": "---\ntitle: Rain\nauthor: Ana\ndate: 2024-03-01\n---"}
    found = opened(first, markdown("# Other"))
    assert found.facts == {"title": "Rain", "author": "Ana", "dated": "2024-03-01"}
    assert blocks(found) == [("heading", "Other")]
    assert opened(markdown("# Other"), authors=[{"name": "Bo"}, {"name": "Cy"}]).facts["author"] == "Bo, Cy"
    assert opened(markdown("text"), markdown("# Other")).facts["title"] == "Other"


def test_format_3() -> None:
    cells = [
        {"cell_type": "heading", "level": 2, "source": "Old"},
        {"cell_type": "code", "language": "python", "input": ["x\n", "y"], "prompt_number": 7, "outputs": [
            {"output_type": "pyout", "prompt_number": 7, "text": ["1"]},
            {"output_type": "stream", "stream": "stdout", "text": "out"},
            {"output_type": "pyerr", "ename": "E", "evalue": "v", "traceback": ["E: v"]},
            {"output_type": "display_data", "png": PNG, "text": ["<fig>"]},
        ]},
    ]  # fmt: skip
    data = json.dumps({"metadata": {}, "nbformat": 3, "worksheets": [{"cells": cells}]}).encode()
    found = reader("notebook")(Upload("a.ipynb", b"\xef\xbb\xbf" + data), "notebook", Rules())
    assert [text for _kind, text in blocks(found)] == ["Old", "In [7]:", "x\ny", "Out[7]:", "1", "out", "E: v"]
    assert found.losses == (Loss("picture", 1, ""),)


def test_a_notebook_that_is_broken_or_empty_is_refused() -> None:
    for data in (b'{"nbformat": 4, "cells": [', b"{" + b'"a":[' * 100_000):
        with pytest.raises(CorruptFileError, match="notebook that is broken"):
            reader("notebook")(Upload("a.ipynb", data), "notebook", Rules())
    with pytest.raises(EmptyFileError):
        opened(code(""), code("", result({"image/png": PNG}), number=None))


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    if isinstance(value, dict | list):
        for at, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _places(inner, (*path, at))


def test_values_of_any_type_anywhere_are_read_or_refused() -> None:
    rng = random.Random(3)
    whole = {
        "cells": [
            markdown(["# A\n"]),
            code("x", result({"text/html": FRAME, "text/plain": "a"}), stream("a"), stream(["b"]), number=2),
            {"cell_type": "heading", "level": 1, "source": "B"},
        ],
        "metadata": {"kernelspec": {"language": "python"}, "authors": [{"name": "Bo"}], "title": "T"},
        "nbformat": 4,
    }
    places = [place for place in _places(whole) if place]
    for number in tenth_of(range(400)):
        rng = random.Random(number)
        notebook = json.loads(json.dumps(whole))
        *above, last = rng.choice(places)
        inner = notebook
        for at in above:
            inner = inner[at]
        inner[last] = rng.choice([None, 1, -5, 1e300, True, "x", [], {}, [1, None, {}], {"a": [1]}, "\x1b[", 10**400])
        try:
            reader("notebook")(Upload("a.ipynb", json.dumps(notebook).encode()), "notebook", Rules())
        except ReadingError:
            continue
