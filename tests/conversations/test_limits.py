"""The documents that a conversation is meant to be asked alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from desks import opened
from docmind.errors import ConfigError, NotFoundError


def test_a_limit_is_kept_with_its_conversation_until_it_is_purged(tmp_path: Path) -> None:
    with opened(tmp_path) as docmind:
        thread, other = (docmind.conversations.create(name).thread_id for name in ("One", "Two"))
        docmind.conversations.limit_to(thread, ["a" * 32, "b" * 32])
    with opened(tmp_path) as docmind:
        assert docmind.conversations.limit_of(thread) == ("a" * 32, "b" * 32)
        assert docmind.conversations.limit_of(other) == ()
        with pytest.raises(ConfigError, match="at most 400 documents"):
            docmind.conversations.limit_to(thread, [f"{number:032}" for number in range(401)])
        with pytest.raises(NotFoundError):
            docmind.conversations.limit_to("unknown", ["a" * 32])
        docmind.conversations.purge(thread)
        assert docmind.conversations.limit_of(thread) == ()
        docmind.conversations.limit_to(other, [])
        assert docmind.conversations.limit_of(other) == ()
