"""Files from a disk into the vault: what `docmind add` does around the facade."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from docmind.application import DocMind
from docmind.errors import NotFoundError, PasswordNeededError
from docmind.schema import AddResult, JobProgress, Upload

AskPassword = Callable[[str], str]


class Adding:
    """Adds files and folders one by one; locked files are tried with each password, then asked for."""

    def __init__(
        self,
        desk: DocMind,
        paths: Sequence[Path],
        passwords: Sequence[str],
        tags: tuple[str, ...],
        ask: AskPassword | None,
    ) -> None:
        self._desk, self._passwords, self._tags, self._ask = desk, passwords, tags, ask
        self._files = list(_files(paths))

    def run(self, show: Callable[[JobProgress], None]) -> list[AddResult]:
        """One result per file, in order. A file that cannot be opened is refused like one that cannot be read."""
        results: list[AddResult] = []
        for file in self._files:
            done = len(results)

            def numbered(now: JobProgress, done: int = done) -> None:
                show(replace(now, files_done=done, files_total=len(self._files)))

            try:
                upload = Upload(file.name, file.read_bytes(), tags=self._tags)
            except OSError as error:
                missing = NotFoundError(
                    f"{file} cannot be opened: {error.strerror}.", hint="Check the path and its permissions."
                )
                results.append(_refused(file.name, missing))
                continue
            results.append(self._add(upload, numbered))
        return results

    def _add(self, upload: Upload, show: Callable[[JobProgress], None]) -> AddResult:
        result = self._desk.add([upload], files_total=1, progress=show)[0]
        for password in self._passwords:
            if result.error != PasswordNeededError.__name__:
                return result
            result = self._desk.add([replace(upload, password=password)], files_total=1, progress=show)[0]
        while result.error == PasswordNeededError.__name__ and self._ask is not None:
            password = self._ask(upload.name)
            if not password:
                break
            result = self._desk.add([replace(upload, password=password)], files_total=1, progress=show)[0]
        return result


def _files(paths: Sequence[Path]) -> Iterator[Path]:
    """The paths themselves, and what lies in folders among them; hidden files are left out of folders."""
    for path in paths:
        if path.is_dir():
            yield from sorted(
                file
                for file in path.rglob("*")
                if file.is_file() and not any(part.startswith(".") for part in file.relative_to(path).parts)
            )
        else:
            yield path


def _refused(name: str, error: NotFoundError) -> AddResult:
    return AddResult(
        name, "refused", error=type(error).__name__, message=str(error), hint=error.hint, exit_code=error.exit_code
    )
