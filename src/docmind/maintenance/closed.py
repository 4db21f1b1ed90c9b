"""The check of a library that does not open: what can be known without its key, or without its database."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from docmind.errors import (
    BehindError,
    DamagedError,
    KeyUnavailableError,
    NotFoundError,
    TamperedError,
    VaultError,
    VaultFormatError,
    WrongKeyError,
)
from docmind.index import foreign_files as foreign_index_files
from docmind.maintenance.kinds import Problem, counted, listed
from docmind.network import network_guard
from docmind.records.checks import CheckReport, Level
from docmind.records.documents import ArtifactRef
from docmind.storage import ARTIFACT, Report, check_sealed, foreign_files, own_files
from docmind.wording import N_

_LEFT_OUT = (N_("database"), N_("index"))
_PAGE = 4096


def examine_closed(
    data_dir: Path, why: VaultError, level: Level = "quick", report: Report = lambda done, total: None
) -> CheckReport:
    """Check a library that could not be opened; `why` is what opening it raised, and is the first finding.

    Names, sizes and, from the full level on, checksums of the encrypted files are checked; nothing is changed.
    `report` may raise to stop it.
    """
    began = time.monotonic()
    files = sorted(own_files(data_dir / "artifacts", ARTIFACT))
    problems = [_problem_of(data_dir, why)]
    problems += [Problem("file-foreign", name, key=name) for name in foreign_files(data_dir)]
    problems += [Problem("file-foreign", f"index/{name}", key=name) for name in foreign_index_files(data_dir / "index")]
    for number, path in enumerate(files, 1):
        report(number, len(files))
        problems += _sealed(path, is_read=level != "quick")
    guard = network_guard().state()
    return CheckReport(
        level, listed(problems), counted(problems), (("files", len(files)),), _LEFT_OUT,
        (time.monotonic() - began) * 1000, guard.refused, guard.is_held,
    )  # fmt: skip


def _problem_of(data_dir: Path, why: VaultError) -> Problem:
    kind = "database-damaged"
    if isinstance(why, BehindError):
        kind = "behind"
    elif isinstance(why, WrongKeyError):
        kind = "key-wrong"
    elif not (data_dir / "vault.json").exists() or isinstance(why, VaultFormatError | TamperedError):
        kind = "description-damaged"
    elif isinstance(why, KeyUnavailableError):
        kind = "locked"
    return Problem(kind, str(why), can_repair=False)


def _sealed(path: Path, *, is_read: bool) -> Iterator[Problem]:
    ref = ArtifactRef(path.name[:64], path.name[64:])
    try:
        check_sealed(path, ref, is_read=is_read)
    except NotFoundError:  # moved meanwhile
        return
    except DamagedError:
        yield Problem("file-damaged", path.name, key=path.name)
