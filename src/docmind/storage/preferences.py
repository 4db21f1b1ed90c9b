"""Preferences of the user, kept in `vault.db`: small JSON values under short names."""

from __future__ import annotations

import json
import re
from typing import Any

from docmind.errors import ConfigError, DamagedError
from docmind.storage.database import Database
from docmind.wording import _

LARGEST = 16 * 1024  # bytes of one value: a choice, not a store
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}")


class Preferences:
    """The `preferences` table. Thread-safe as `Database` is."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def get(self, name: str) -> Any:
        """Return the JSON value kept under a name, or None. Raises `ConfigError`, `DamagedError`."""
        row = self._db.one("SELECT value FROM preferences WHERE name = ?", (_checked(name),))
        if row is None:
            return None
        try:
            return json.loads(row[0])
        except (ValueError, TypeError, RecursionError) as error:
            raise DamagedError(
                _("The choice kept as {name} is not readable.").format(name=name), hint=_("Make the choice again.")
            ) from error

    def put(self, name: str, value: Any) -> None:
        """Keep a value that JSON can represent exactly, of at most 16 KB. Raises `ConfigError`."""
        _checked(name)
        try:
            text = json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
            size = len(text.encode("utf-8"))
            is_plain = json.loads(text) == value
        except (ValueError, TypeError, RecursionError) as error:  # UnicodeEncodeError is a ValueError
            raise ConfigError(_("The choice {name} is not plain JSON.").format(name=name)) from error
        if not is_plain:  # a tuple or numbers as keys: JSON would return another value
            raise ConfigError(_("The choice {name} is not plain JSON.").format(name=name))
        if size > LARGEST:
            raise ConfigError(
                _("The choice {name} takes {size} bytes; {largest} are the most.").format(
                    name=name, size=size, largest=LARGEST
                )
            )
        with self._db.transaction() as db:
            db.execute(
                "INSERT INTO preferences (name, value) VALUES (?, ?)"
                " ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                (name, text),
            )

    def remove(self, name: str) -> None:
        """Delete a preference. Idempotent."""
        with self._db.transaction() as db:
            db.execute("DELETE FROM preferences WHERE name = ?", (_checked(name),))


def _checked(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise ConfigError(_("A choice is named by a letter and up to 63 letters, digits, dots, dashes or underscores."))
    return name
