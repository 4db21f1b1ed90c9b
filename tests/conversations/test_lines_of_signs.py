"""Lines of signs, as people draw them and attackers send them: the check, a question and a model's answer end at once.

The limit of a test is far above what all of its lines take, a few seconds, and far below what a quadratic step takes.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from desks import OneModel
from docmind.application import DocMind
from docmind.records.documents import Upload
from docmind.records.values import LONGEST_DRAFT, LONGEST_QUESTION
from docmind_testkit import FakeChatModel
from each import each_of
from libraries import Library

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]
LEASE = Library("lease", [Upload("lease.md", b"# Lease\n\nThe tenant pays a monthly rent of 1,450 euros.")])
SIGNS = ["-", "|", ":", " ", "|-", ":-", "- ", "| ", "--:"]
RENT = "The rent is 1,450 euros."


@pytest.fixture(scope="module")
def docmind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DocMind]:
    with LEASE.opened(tmp_path_factory.mktemp("signs")) as opened:
        yield opened


def lines(longest: int) -> Iterator[str]:
    """Yield lines of 10, 1,000 and the most signs, with words behind them and before."""
    for sign in SIGNS:
        for count in (10, 1_000, longest - len(RENT) - 1):
            drawn = (sign * count)[:count]
            yield f"{drawn} {RENT}"
            yield f"{RENT} {drawn}"


@each_of("line", lines(LONGEST_DRAFT))
def test_a_line_is_checked(docmind: DocMind, line: str) -> None:
    assert "".join(one.text for one in docmind.check(line).sentences)


@each_of("line", lines(LONGEST_QUESTION))
def test_a_line_is_asked(docmind: DocMind, line: str) -> None:
    assert docmind.ask(line).outcome


@each_of("line", lines(100_000))
def test_a_line_of_a_model_is_verified(docmind: DocMind, line: str) -> None:
    assert isinstance(docmind.models, OneModel)
    docmind.models.model = model = FakeChatModel(line)
    thread_id = docmind.conversations.create().thread_id
    answer = docmind.conversations.ask("How much is the rent?", thread_id=thread_id).answer
    assert answer is not None
    assert model.received
