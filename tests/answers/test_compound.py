"""Two questions in one."""

from __future__ import annotations

from docmind.answers.compound import parts_of
from each import each_of


@each_of(
    "question, parts",
    [
        ("How much is the deposit and when is it returned?", ("How much is the deposit?", "when is deposit returned?")),
        ("Quanto é a caução e quando é devolvida?", ("Quanto é a caução?", "quando é devolvida caução?")),
        ("Who is the landlord and who is the tenant?", ("Who is the landlord?", "who is the tenant?")),
        ("Quem é o senhorio e quem é o inquilino?", ("Quem é o senhorio?", "quem é o inquilino?")),
        ("Who is Jo Lind and what is his address?", ("Who is Jo Lind?", "what is Jo Lind address?")),
        ("Wie hoch ist die Miete und wann ist sie fällig?", ("Wie hoch ist die Miete?", "wann ist Miete fällig?")),
        ("How many men and women are there?", None),
        ("Where and when was Anna born?", None),
        ("How do the rent and the deposit differ?", None),
        ("What is the rent and what is the deposit and when is it due?", None),
        ("Tell me the rent and when it is due", None),
        ("The rent and the deposit", None),
        ("", None),
    ],
)
def test_the_parts_of_a_question(question: str, parts: tuple[str, str] | None) -> None:
    assert parts_of(question) == parts
