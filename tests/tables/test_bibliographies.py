"""Questions about the works of a bibliography, which is a table with a row for each."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from desks import opened
from docmind.application import DocMind
from docmind.records.documents import Upload
from each import each_of

BIB = """
@article{smith2019, author={Smith, John and Lee, Ann}, title={On herons}, journal={Birds}, year={2019}}
@article{lee2020, author={Lee, Ann}, title={On storks}, journal={Birds}, year={2020}}
@book{smith2021, author={Mary Smith}, title={All about owls}, publisher={Owl Press}, year={2021}}
@inproceedings{rao2019, author={Rao, Priya}, title={Counting cranes}, booktitle={Proc. of Birds}, year={2019}}
"""


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DocMind]:
    with opened(tmp_path_factory.mktemp("desk")) as docmind:
        docmind.add([Upload("library.bib", BIB.encode()), Upload("herons.txt", b"Herons nest in tall trees.\n")])
        yield docmind


@pytest.mark.slow
@each_of(
    "question, said",
    [
        ("How many articles are in library.bib?", "2 rows where “Type” is article"),
        ("How many entries are in library.bib?", "4 rows"),
        ("How many articles are in library.bib by Lee?", "2 rows where “Type” is article and “Author” is"),
        ("Which papers by Smith?", "On herons; All about owls"),
        ("Which entries are from 2019?", "On herons; Counting cranes"),
        ("Which books are there?", "All about owls"),
    ],
)
def test_the_table_of_works_answers(desk: DocMind, question: str, said: str) -> None:
    answer = desk.ask(question)
    assert answer.outcome == "answer"
    assert said in (answer.answer or "")
    assert answer.computed is not None
