"""The command line run in this process, in a vault of its own."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from desks import environment_of, text_pdf
from docmind.cli import main


class Shell:
    """Runs commands in this process, in a vault of their own; no language model but one that `more` names."""

    def __init__(self, folder: Path, **more: str) -> None:
        self.folder, self.more = folder, {"DOCMIND_LLM__PROVIDER": "off", **more}
        self.files = folder / "files"
        self.files.mkdir()

    def having(self, **more: str) -> Shell:
        """The same vault with further variables."""
        other = copy.copy(self)
        other.more = {**self.more, **more}
        return other

    @property
    def environment(self) -> dict[str, str]:
        """Its variables, for a process of its own too."""
        return {**environment_of(self.folder), **self.more}

    def run(self, *words: str | Path, code: Any = 0, typed: Any = None, **more: str) -> Result:
        """Run a command; `typed` is its standard input, `more` are further variables."""
        environment: dict[str, str | None] = {**self.environment, **more}
        arguments = [str(word) for word in words]
        result = CliRunner().invoke(main, arguments, input=typed, env=environment, catch_exceptions=False)
        assert result.exit_code == code, result.output
        return result

    def json(self, *words: str | Path, code: Any = 0, **more: str) -> dict[str, Any]:
        """What a command prints as JSON: one object on one line."""
        result = self.run(*words, "--json", code=code, **more)
        assert result.stdout.count("\n") == 1
        return json.loads(result.stdout)

    def file(self, name: str, data: bytes) -> Path:
        path = self.files / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return path


def sentence_of(result: Result) -> str:
    """What stderr says: one sentence and a hint, no traceback."""
    said = result.stderr.strip().splitlines()
    assert len(said) == 2, result.stderr
    assert said[0].startswith("docmind: ")
    assert said[0].endswith(".")
    return said[0]


def assert_inert(text: str) -> None:
    """No character of it is a command to a terminal."""
    assert [char for char in text if not char.isprintable() and char not in "\n\t"] == []


def stocked_shell(folder: Path, **more: str) -> Shell:
    """A vault with two documents of a few sentences."""
    shell = Shell(folder, **more)
    heron = shell.file(
        "herons.pdf",
        text_pdf(
            [
                "Herons wait in shallow water for fish.",
                "Herons nest in tall trees near rivers. Their nests are made of 412 sticks.",
            ]
        ),
    )
    owls = shell.file("owls.txt", b"Owls hunt at night and swallow their prey whole. Owls nest in hollow trunks.")
    shell.run("add", heron, owls)
    return shell
