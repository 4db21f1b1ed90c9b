"""A table makes questions of totals, extremes and look-ups that its columns are good for."""

from __future__ import annotations

from docmind.blocks import PageTable
from docmind.tables.example_questions import questions_of
from docmind.tables.loading import Row, Table
from docmind.tables.values import typed


def table(*rows: tuple[str, ...]) -> Table:
    """Return a table of these rows, the first of which names the columns."""
    header, *shown = rows
    columns, values = zip(
        *(typed(name, [row[at] for row in shown], is_english=True) for at, name in enumerate(header)), strict=True
    )
    made = tuple(Row(1, (0, 0), (), row, "") for row in shown)
    about = PageTable(header)
    return Table("d", "d.csv", "d", "d", about, (), columns, made, tuple(zip(*values, strict=True)))


def test_amounts_are_added_and_counts_compared() -> None:
    spent = table(("What", "Amount EUR"), ("Rent", "950"), ("Paint", "20"), ("Tape", "4"), ("Train", "40"))
    assert list(questions_of(spent, "Expenses", "en")) == ["What is the total amount in Expenses?"]
    assert list(questions_of(spent, "Ausgaben", "de")) == [], "a language without words for it"
    rooms = table(("Room", "Chairs"), ("Blue", "8"), ("Red", "15"), ("Green", "22"), ("White", "29"))
    assert list(questions_of(rooms, "rooms", "")) == ["Which room has the most chairs?"]


def test_a_telephone_number_is_looked_up_and_a_key_is_nothing_to_ask() -> None:
    people = table(("name", "phone", "key"), ("Ben Cole", "+351 912", "1"), ("Ana Prado", "+351 913", "2"))
    assert list(questions_of(people, "contacts", "en")) == ["What is the phone number of Ben Cole?"]
