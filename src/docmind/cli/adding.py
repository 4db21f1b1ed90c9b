"""Files from a disk into the vault: what `docmind add` does around the facade."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from stat import S_ISREG

from docmind.application import DocMind
from docmind.errors import ConfigError, DocMindError, NotFoundError, PasswordNeededError, TooLargeError
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
        limit_mb: int,
        ask: AskPassword | None,
    ) -> None:
        self._desk, self._passwords, self._tags, self._limit_mb, self._ask = desk, passwords, tags, limit_mb, ask
        self._files = list(_files(paths))
        self.results: list[AddResult] = []
        """One per file, in order, as they come."""

    def run(self, show: Callable[[JobProgress], None]) -> None:
        """Add them all. A file that cannot be opened is refused like one that cannot be read."""
        for file in self._files:
            done = len(self.results)

            def numbered(now: JobProgress, done: int = done) -> None:
                show(replace(now, files_done=done, files_total=len(self._files)))

            try:
                upload = Upload(file.name, self._read(file), tags=self._tags)
            except (NotFoundError, TooLargeError) as error:
                self.results.append(_refused(file.name, error))
                continue
            self.results.append(self._add(upload, numbered))

    def _read(self, file: Path) -> bytes:
        """Its bytes; what is too large, or gives bytes without end, does not come into memory."""
        try:
            stat = file.stat()
            if not S_ISREG(stat.st_mode):
                raise NotFoundError(f"{file} is not a file.", hint="Give the path of a file, or of a folder of files.")
            if stat.st_size > self._limit_mb << 20:
                raise TooLargeError(
                    f"{file.name} has {stat.st_size / 2**20:,.0f} MB; the limit is {self._limit_mb:,} MB.",
                    hint="Split the file, or raise DOCMIND_READING__MAX_FILE_MB.",
                )
            return file.read_bytes()
        except OSError as error:
            raise NotFoundError(
                f"{file} cannot be opened: {error.strerror}.", hint="Check the path and its permissions."
            ) from error

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


def read_passwords(file: Path) -> list[str]:
    """The lines of a password file. Raises `ConfigError`."""
    try:
        lines = file.read_text("utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{file} is not text in UTF-8.", hint="Save it as UTF-8, one password a line.") from error
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror}.", hint="Check its permissions.") from error
    return [password for line in lines if (password := line.removesuffix("\r"))]


def _refused(name: str, error: DocMindError) -> AddResult:
    return AddResult(
        name, "refused", error=type(error).__name__, message=str(error), hint=error.hint, exit_code=error.exit_code
    )
