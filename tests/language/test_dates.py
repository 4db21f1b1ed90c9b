"""Days that a text names."""

from __future__ import annotations

from docmind.language import days
from each import each_of


@each_of(
    "text, days_named",
    [
        ("3 March 2024, 01.02.2023", ["2024-03-03", "2023-02-01"]), ("March 3rd, 2024", ["2024-03-03"]),
        ("1º de enero del 2021", ["2021-01-01"]), ("22-Jan-2026", ["2026-01-22"]), ("12/out/2024", ["2024-10-12"]),
        ("5.Oktober 2024", ["2024-10-05"]), ("1.º de mayo de 2024", ["2024-05-01"]), ("1ᵉʳ mars 2024", ["2024-03-01"]),
        ("1° marzo 2025 e 2 gen. 2025", ["2025-03-01", "2025-01-02"]),
        ("15 aout 2024", ["2024-08-15"]), ("8 juil. 2024", ["2024-07-08"]), ("31/12/2024", ["2024-12-31"]),
        ("12/31/2024", ["2024-12-31"]), ("03/04/2024", []), ("2024-02-30", []), ("May 2024", []),
        ("30 February 2024 and 2024-03-01", ["2024-03-01"]), ("3 Aprıl 2024", ["2024-04-03"]),
        ("JUNİ 5, 2024", ["2024-06-05"]), ("IBAN 20240301123456", []), ("", []),
    ],
)  # fmt: skip
def test_days_of_a_text(text: str, days_named: list[str]) -> None:
    assert [one.day for one in days(text)] == days_named
