"""The command line run in this process, with its own vault."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from desks import environment_of, text_pdf
from docmind.cli import main
from docmind.config import KeySettings
from docmind.records.documents import Upload
from docmind.storage.keys import open_keys
from libraries import Library, confirm

BEGUN = Library("begun", (), confirm)
BEGINNING = ("settings", "set", "app.theme", "dark")
"""A command that makes a library where there is none."""


class Shell:
    """Runs commands in this process, in a vault of their own; no language model but one that `more` names.

    The first command finds an empty library, because commands that read make none; not where `begins` is set to False.
    The recovery code of a vault that a command makes is confirmed at once, so that later commands say nothing of it;
    not where `confirms` is set to False.
    """

    begins = True
    confirms = True

    def __init__(self, folder: Path, **more: str) -> None:
        self.folder, self.more = folder, {"DOCMIND_LLM__PROVIDER": "off", **more}
        self.files = folder / "files"
        self.files.mkdir()

    def having(self, **more: str) -> Shell:
        """Return a shell of the same vault with further variables."""
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
        data = self.folder / "data"
        plain = environment["DOCMIND_KEYS__SOURCE"] == "file" and environment["DOCMIND_DATA_DIR"] == str(data)
        if self.begins and plain and not data.exists() and not (self.folder / "docmind.key").exists():
            BEGUN.copy_to(self.folder)
        arguments = [str(word) for word in words]
        result = CliRunner().invoke(main, arguments, input=typed, env=environment, catch_exceptions=False)
        assert result.exit_code == code, result.output
        if self.confirms and "Its recovery code: " in result.stderr and environment["DOCMIND_KEYS__SOURCE"] == "file":
            keys = KeySettings(source="file", file=Path(str(environment["DOCMIND_KEYS__FILE"])))
            recovery = open_keys(Path(str(environment["DOCMIND_DATA_DIR"])), keys).recovery
            recovery.confirm(recovery.code() or "")
        return result

    def json(self, *words: str | Path, code: Any = 0, **more: str) -> dict[str, Any]:
        """Run a command and return its JSON output: one object on one line."""
        result = self.run(*words, "--json", code=code, **more)
        assert result.stdout.count("\n") == 1
        return json.loads(result.stdout)

    def file(self, name: str, data: bytes) -> Path:
        path = self.files / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return path


def sentence_of(result: Result) -> str:
    """Return the sentence on stderr; check that there is one sentence and a hint, and no traceback."""
    said = result.stderr.strip().splitlines()
    assert len(said) == 2, result.stderr
    assert said[0].startswith("docmind: ")
    assert said[0].endswith(".")
    return said[0]


def assert_inert(text: str) -> None:
    """Assert that no character is a terminal control character."""
    assert [char for char in text if not char.isprintable() and char not in "\n\t"] == []


HERONS_PDF = text_pdf(
    [
        "Herons wait in shallow water for fish.",
        "Herons nest in tall trees near rivers. Their nests are made of 412 sticks.",
    ]
)
STOCKED = Library(
    "herons and owls",
    [
        Upload("herons.pdf", HERONS_PDF),
        Upload("owls.txt", b"Owls hunt at night and swallow their prey whole. Owls nest in hollow trunks."),
    ],
    confirm,
)


def stocked_shell(folder: Path, library: Library = STOCKED, **more: str) -> Shell:
    """Return a shell with a copy of a library, of two documents of a few sentences unless another one is given.

    The files that it was read from lie in `files`.
    """
    shell = Shell(folder, **more)
    library.copy_to(folder)
    for upload in library.uploads:
        shell.file(upload.name, upload.data)
    return shell
