"""A text converted by pandoc, and why it could not be."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from docmind.errors import WorkerFailedError
from docmind.reading.formats.pandoc.source import with_defined
from docmind.reading.formats.typeset import printable
from docmind.runtime import run_confined
from docmind.wording import _


class PandocFailedError(Exception):
    """Why a text was not read by pandoc."""


@dataclass(frozen=True, slots=True)
class Tree:
    """What pandoc made of a text: its tree of meta data and blocks, and what it said meanwhile."""

    content: dict[str, Any]
    log: str


def converted(text: str, kind: str, program: str, *, seconds: int) -> Tree:
    """Convert a text with pandoc. Raises `PandocFailedError`.

    Commands of LaTeX that nothing in the text defines show what they are given: pandoc alone would drop it.
    """
    tree = _run(text, kind, program, seconds)
    if kind == "latex" and (defined := with_defined(text, tree.log)):
        try:
            return _run(defined, kind, program, seconds)
        except PandocFailedError:
            return tree
    return tree


def _run(text: str, kind: str, program: str, seconds: int) -> Tree:
    arguments = ["--sandbox", "--standalone", "--verbose", f"--from={kind}", "--to=json"]
    try:
        ran = run_confined(
            program, [*arguments, "+RTS", "-M1G", "-RTS"], text.encode("utf-8", "replace"), seconds=seconds
        )
    except WorkerFailedError as error:
        raise PandocFailedError(_("pandoc did not finish: {error}").format(error=error)) from error
    log = printable(ran.errors.decode("utf-8", "replace").replace("\r\n", "\n"))
    if ran.code:
        raise PandocFailedError(_("pandoc cannot read it ({reason})").format(reason=_reason(log) or f"{ran.code}"))
    try:
        content = json.loads(ran.output)
    except (ValueError, RecursionError) as error:
        raise PandocFailedError(_("pandoc gave nothing that can be read")) from error
    if not isinstance(content, dict):
        raise PandocFailedError(_("pandoc gave nothing that can be read"))
    return Tree(content, log)


def _reason(log: str) -> str:
    """Return in some words why pandoc ended, without what it noted before."""
    said = re.sub(r"^\[(?:INFO|WARNING)\].*(?:\n[ \t].*)*\n?", "", log, flags=re.M)
    lines = [line.strip() for line in said.splitlines() if line.strip().strip("^")]
    kept = [line for line in lines if not line.startswith("Error at")] or lines
    place = re.search(r"line (\d+)", said)
    told = " ".join(kept)[:120]
    return f"line {place[1]}: {told}" if place and "line" not in told else told
