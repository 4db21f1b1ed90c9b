"""Whether the heads of two documents tell them apart: members of a series, and versions of one thing."""

from __future__ import annotations

from docmind.blocks import PageBlock
from docmind.documents.likeness import are_of_other_days, front_of, likeness, tells_apart, words_of
from each import each_of


def differ(one: str, other: str, title: str = "") -> bool:
    return tells_apart(front_of(one, (), title), front_of(other, (), title))


@each_of(
    "one, other",
    [
        ("Power bill\nInvoice number: NP-2026-3107", "Power bill\nInvoice number: NP-2026-3318"),
        ("Abrechnung\nMonat: März 2026\nName: A. Weber", "Abrechnung\nMonat: April 2026\nName: A. Weber"),
        ("Extracto\nPeriodo | del 1 al 31 de enero de 2026", "Extracto\nPeriodo | del 1 al 28 de febrero de 2026"),
        ("Report\nDate of the accident: 4 May 2025", "Report\nDate of the accident: 9 June 2025"),
        ("Ata\nReunião de 6 de maio de 2026, na sala.", "Ata\nReunião de 8 de junho de 2026, na sala."),
        ("La lettre\nNuméro 41 · mai 2026", "La lettre\nNuméro 42 · juin 2026"),
        ("Results of the first quarter of 2024\nRevenue", "Results of the second quarter of 2024\nRevenue"),
        ("Lease between Quay House and Ann Marsh, the tenant", "Lease between Quay House and Bo Keller, the tenant"),
        ("Circular\nAsunto: excursión al museo", "Circular\nAsunto: fiesta de curso"),
        ("Annual report 2024\nHarbour", "Annual report 2025\nHarbour"),
        ("2026-01-02,8\n2026-01-03,8\n2026-01-04,8", "2026-02-02,8\n2026-02-03,8\n2026-02-04,8"),
    ],
)
def test_another_number_period_day_party_or_subject_tells_a_series(one: str, other: str) -> None:
    assert differ(one, other)
    assert differ(other, one)
    assert not differ(one, one)


@each_of(
    "one, other",
    [
        ("Travel policy\nValid from 1 January 2025\nMeals: 28 EUR",
         "Travel policy\nValid from 1 January 2026\nMeals: 31 EUR"),
        ("Regeln\nStand: 3. März 2025", "Regeln\nStand: 4. Mai 2026"), ("Guia\nVersão 2.1", "Guia\nVersão 3.0"),
        ("Contrat\nParis, le 3 mai 2026\nEntre A et B", "Contrat\nParis, le 9 juin 2026\nEntre A et B"),
        ("Invoice\nNumber: 2026-014\nDate: 2 March 2026", "Invoice\nNumber: 2026-014\nDate: 9 March 2026"),
        ("Vertrag mit Greta Lund, Moor", "Vertrag mit Greta Lund Service, Moor"), ("Plan\nDraft", "Plan\nFinal"),
        ("CV\nJanuary 2024\nAda Marsh", "CV\nMarch 2026\nAda Marsh"),
        ("Rent: 900 EUR\nTenant: Ada Marsh", "Rent: 950 EUR\nTenant: Ada Marsh"),
        ("A: Ann\nB: Bo\nC: Cy\nD: Di\nE: Ed\nF: Flo", "A: Ann\nB: Bea\nC: Cy\nD: Di\nE: Ed\nF: Flo"),
    ],
)  # fmt: skip
def test_what_tells_which_version_it_is_does_not_tell_a_series(one: str, other: str) -> None:
    assert not differ(one, other)


@each_of(
    "one, other, differ_in_day",
    [
        ("Log\n3 May 2026\nRain.", "Log\n4 May 2026\nSun.", True),
        ("Report\nDate: 3 May 2026\nTeam: North", "Report\nDate: 4 May 2026\nTeam: North", True),
        ("Report\nDate: 3 May 2026", "Report\nDate: 3 May 2026", False),
        ("Report\nDate: 3 May 2026", "Report", False),
        ("Report\nDate: 3 May 2026\nDraft", "Report\nDate: 4 May 2026\nFinal", False),
        ("Invoice no. 14\nDate: 3 May 2026", "Invoice no. 14\nDate: 4 May 2026", False),
        ("Letter\n3 May 2026\nThe roof is revised.", "Letter\n4 May 2026\nThe roof is revised.", True),
    ],
)  # fmt: skip
def test_documents_of_two_days_may_be_a_series(one: str, other: str, differ_in_day: bool) -> None:
    assert are_of_other_days(front_of(one, (), ""), front_of(other, (), "")) == differ_in_day


def test_where_names_mark_versions_another_person_proves_nothing() -> None:
    fronts = [front_of(f"Brief\nManager: {name}", (), "") for name in ("Ada Marsh", "Greta Lund")]
    assert (tells_apart(*fronts), tells_apart(*fronts, are_marked=True)) == (True, False)
    numbered = [front_of(f"Brief no. {number}", (), "") for number in (3, 4)]
    assert tells_apart(*numbered, are_marked=True)


def test_the_rows_of_a_table_are_its_data() -> None:
    texts = [f"Name | Room\nAda | {room}" for room in ("red", "blue")]
    rows = (PageBlock("header_row", 0, 11), PageBlock("row", 12, len(texts[0])))
    assert [front_of(text, rows, "").fields for text in texts] == [{}, {}]
    assert differ(*texts), "the control: without the head of the table it is a field"


def test_the_likeness_of_short_lists_leaves_numbers_out() -> None:
    one, other = (words_of(f"Lamp {a} Desk {b} Chair {c} Stool") for a, b, c in ((1, 2, 3), (4, 5, 6)))
    assert likeness(one, other) == 1.0
    assert likeness(one * 100, other * 100) < 0.3
