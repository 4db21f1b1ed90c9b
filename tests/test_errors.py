"""The tree in the docstring is the tree in the code, and each error says what to do."""

from __future__ import annotations

import inspect
import re

from docmind import errors
from docmind.errors import DocMindError
from each import each_of

CLASSES = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, DocMindError)]


def drawn() -> dict[str, str | None]:
    """Class name to the name of its parent, as drawn."""
    tree: dict[str, str | None] = {}
    above: list[tuple[int, str]] = []
    for line in (errors.__doc__ or "").splitlines():
        if found := re.match(r"\s*[│├└─ ]*\b([A-Z]\w*Error)\b", line):
            depth = found.start(1)
            above = [(column, name) for column, name in above if column < depth]
            tree[found.group(1)] = above[-1][1] if above else None
            above.append((depth, found.group(1)))
    return tree


def test_the_drawn_tree_is_the_tree() -> None:
    made = {kind.__name__: kind.__bases__[0].__name__ if kind is not DocMindError else None for kind in CLASSES}
    assert drawn() == made


@each_of("kind", CLASSES)
def test_each_error_says_what_is_wrong_and_what_to_do(kind: type[DocMindError]) -> None:
    error = kind("Something is wrong.")
    assert str(error) == "Something is wrong."
    assert error.hint.endswith(".")
    assert len(error.hint) > 20
    assert (kind.__doc__ or "").strip().endswith(".")
    assert kind("Something.", hint="Do this.").hint == "Do this."
    assert kind.hint != "Do this."


def test_each_exit_code_is_its_own_and_tells_failure() -> None:
    codes = [kind.exit_code for kind in CLASSES]
    assert len(set(codes)) == len(codes)
    assert all(0 < code < 256 for code in codes)
