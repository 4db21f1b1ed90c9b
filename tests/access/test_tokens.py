"""Long-lived tokens of programs: made, recognised, used, revoked."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from docmind.access import ApiTokens, is_api_token, matching
from docmind.errors import ConfigError, NotFoundError
from docmind.storage import Database

KEY = bytes(32)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = Database(tmp_path / "vault.db", KEY)
    yield database
    database.close()


def test_a_token_is_recognised_until_it_is_revoked(database: Database) -> None:
    tokens = ApiTokens(database)
    made = tokens.new("  my   script ", "full")
    assert (made.token.name, made.token.scope, made.token.used_at_ms) == ("my script", "full", None)
    assert is_api_token(made.secret)
    assert made.secret not in repr(made)
    assert matching(made.secret, tokens.known()) == made.token
    other = tokens.new("other")
    assert other.token.scope == "read"
    assert matching(other.secret, tokens.known()) == other.token
    assert tokens.revoke("MY script") == made.token
    assert matching(made.secret, tokens.known()) is None
    assert tokens.list() == (other.token,)


@pytest.mark.parametrize("secret", ["", "docmind_", "docmind_" + "A" * 43, "docmind_\u00e9", "docmind_" + "A" * 44])
def test_other_texts_match_nothing(database: Database, secret: str) -> None:
    tokens = ApiTokens(database)
    tokens.new("script")
    assert matching(secret, tokens.known()) is None
    assert is_api_token(secret) is (len(secret) == 51)


def test_only_the_hash_is_kept(database: Database) -> None:
    secret = ApiTokens(database).new("script").secret
    (row,) = database.all("SELECT * FROM api_tokens")
    assert hashlib.sha256(secret.encode()).digest() in row
    assert secret not in row
    assert secret.encode() not in row


def test_the_use_is_noted_once_a_minute(database: Database) -> None:
    tokens = ApiTokens(database)
    tokens.used(tokens.new("script").token)
    (first,) = tokens.list()
    assert first.used_at_ms is not None
    tokens.used(first)
    assert tokens.list() == (first,)
    with database.transaction() as db:  # an hour ago, or the clock was set back
        db.execute("UPDATE api_tokens SET used_at_ms = used_at_ms - 3600000")
    tokens.used(tokens.list()[0])
    (later,) = tokens.list()
    assert later.used_at_ms is not None
    assert later.used_at_ms >= first.used_at_ms


@pytest.mark.parametrize("name", ["", "   ", "x" * 65, "bell\x07"])
def test_a_name_that_cannot_be_is_refused(database: Database, name: str) -> None:
    with pytest.raises(ConfigError):
        ApiTokens(database).new(name)
    assert not ApiTokens(database).list()


def test_a_name_is_used_once(database: Database) -> None:
    tokens = ApiTokens(database)
    tokens.new("script")
    with pytest.raises(ConfigError, match="already"):
        tokens.new("Script")
    with pytest.raises(ConfigError, match="scope"):
        tokens.new("other", "everything")  # type: ignore[arg-type]
    with pytest.raises(NotFoundError):
        tokens.revoke("other")
