"""Replace the paths of model folders, which earlier versions kept in `vault.db`, by the names of the folders."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, get_args

from docmind.errors import ConfigError, DamagedError, DiskFullError
from docmind.model_files import Weights
from docmind.records.models import ModelKind
from docmind.storage import Database, Preferences
from docmind.visual.cards import BENCHES
from docmind.visual.served import choice_key, served_key


def name_former_paths(database: Database, preferences: Preferences, weights: Weights) -> int:
    """Replace every path and return how many there were; a vault without paths costs a few short queries.

    The rows are overwritten (SQLite's `secure_delete`), and the log is emptied soon after. Where the models folder
    cannot be written to, the names hold for this process, and later ones ask for the folders again.
    """
    if database.is_read_only:  # a path is described by its name then, and nothing is stored
        return 0
    named: dict[str, str] = {}

    def name(value: object) -> Any:
        if not isinstance(value, str) or not _is_path(value):
            return value
        if value not in named:
            path = Path(value)
            if path.is_absolute():
                named[value] = weights.own.name_of(path)
                with suppress(ConfigError, DiskFullError):
                    weights.own.keep(named[value], path)
            else:  # of another system, from which the vault was brought here
                named[value] = weights.own.name_of(Path(PureWindowsPath(value).name or "model"))
        return named[value]

    with database.transaction() as db:
        for kind in get_args(ModelKind):
            _rewrite(preferences, choice_key(kind), name)
            _rewrite(preferences, served_key(kind), lambda kept: _with_names(kept, name, "name", "before_name"))
        _rewrite(preferences, BENCHES, lambda kept: _each(kept, lambda bench: _with_names(bench, name, "name")))
        for job_id, model, message in db.execute("SELECT job_id, model, message FROM embedding_jobs").fetchall():
            if name(model) != model:
                told = message.replace(model, name(model))
                db.execute(
                    "UPDATE embedding_jobs SET model = ?, message = ? WHERE job_id = ?", (name(model), told, job_id)
                )
    if named:
        database.settle()
    return len(named)


def _is_path(text: str) -> bool:
    return PurePosixPath(text).is_absolute() or PureWindowsPath(text).is_absolute()


def _rewrite(preferences: Preferences, key: str, change: Callable[[Any], Any]) -> None:
    try:
        kept = preferences.get(key)
    except DamagedError:  # raised again where the preference is needed
        return
    changed = change(kept)
    if changed != kept:
        preferences.put(key, changed)


def _each(kept: Any, change: Callable[[Any], Any]) -> Any:
    return {key: change(value) for key, value in kept.items()} if isinstance(kept, dict) else kept


def _with_names(kept: Any, name: Callable[[object], Any], *fields: str) -> Any:
    if not isinstance(kept, dict):
        return kept
    return {key: name(value) if key in fields else value for key, value in kept.items()}
