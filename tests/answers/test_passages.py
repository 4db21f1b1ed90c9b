"""Passages that can be quoted whole, as parts of the unchanged page text."""

from __future__ import annotations

import pytest

from docmind.answers.passages import (
    GAP,
    LONGEST,
    code_passages,
    edges,
    headed_passages,
    is_heading,
    nearest_heading,
    passages,
)
from docmind.blocks import Block, PageBlock, Table
from docmind.documents import language_of
from docmind.reading.formats.typeset import flow
from each import each_of

LEASE = (
    "Lease of a Flat\n"
    "The tenant shall observe:\n"
    "a) the quiet hours from 22:00 to 7:00;\n"
    "b) the rules of the cellar; and\n"
    "c) the plan for cleaning the stairs.\n"
    "The landlord keeps the roof and the heating in repair, and pays the tax on the land.\n"
    "12"
)
TABLE = "name | trade | phone\nBen Cole | plumber | 555 0199\nAnna Lind | electrician | 555 0142"


@pytest.fixture(scope="module", autouse=True)
def known_languages() -> None:
    """Load what tells languages apart, which takes half a second, before a test needs it."""
    language_of("The mill was founded by two sisters, and it grinds wheat and rye.")


def quotes(text: str) -> list[str]:
    return [passage.text(text) for passage in passages(text)]


def test_a_sentence_that_announces_a_list_comes_with_it() -> None:
    assert quotes(LEASE)[0] == LEASE[LEASE.index("The tenant") : LEASE.index("\nThe landlord")]
    assert not any(quote.endswith(":") for quote in quotes(LEASE))


def test_an_item_comes_with_what_announces_its_list() -> None:
    assert "The tenant shall observe:\na) the quiet hours from 22:00 to 7:00;" in quotes(LEASE)
    assert f"The tenant shall observe:{GAP}c) the plan for cleaning the stairs." in quotes(LEASE)


def test_a_row_comes_with_the_header_of_its_table() -> None:
    assert quotes(TABLE) == [
        "name | trade | phone\nBen Cole | plumber | 555 0199",
        f"name | trade | phone{GAP}Anna Lind | electrician | 555 0142",
    ]


def test_a_key_with_its_value_is_no_header() -> None:
    first, *_ = passages(text := "Landlord | Mary Hill\nRent | 900 euros")
    assert (first.text(text), first.is_whole) == ("Landlord | Mary Hill", False)  # it may name columns too


def test_numbers_come_with_the_years_above_them() -> None:
    text = (
        "Fiscal year ended 2023 2022\nNet sales $ 3,226,773 $ 2,729,419\nCost of sales 2,014,270 1,687,232\n"
        "Gross profit 1,212,503 1,042,187"
    )
    assert f"Fiscal year ended 2023 2022{GAP}Gross profit 1,212,503 1,042,187" in quotes(text)


@pytest.mark.parametrize(
    "line", ["12", "Lease of a Flat", "Page 3 of 9", "www.example.org/law.htm 13/26", "Chapter 2 .......... 14"]
)
def test_what_is_no_statement_is_not_quoted(line: str) -> None:
    text = f"{line}\nThe landlord keeps the roof and the heating in repair, and pays the tax on the land.\n{line}"
    assert quotes(text) == ["The landlord keeps the roof and the heating in repair, and pays the tax on the land."]


def test_pages_of_one_line_may_be_alike() -> None:
    text = "The spring report counts 37 herons"
    assert [one.text(text) for one in passages(text, edges("The spring report counts 74 herons"))] == [text]


def test_lines_that_pages_beside_it_have_are_not_quoted() -> None:
    this, other = f"Rules of the House page 3\n{LEASE}", "Rules of the House page 4\nNothing else is said here."
    assert "rules" not in " ".join(one.text(this) for one in passages(this, edges(other))).lower().replace(
        "the rules of the cellar", ""
    )


def test_columns_named_above_rows_come_with_each_row_and_not_alone() -> None:
    text = (
        "Description Quantity Price Amount\nSlates, reclaimed and cut to the size of the old ones 240 £3.15 £756.00\n"
        "Scaffold hire, two weeks 1 £640.00 £640.00\nSubtotal £1,396.00\nBats were found above the vestry."
    )
    header, first, second, total, bats = text.split("\n")
    assert quotes(text) == [f"{header}\n{first}", *(f"{header}{GAP}{row}" for row in (second, total)), bats]


def test_years_above_rows_and_numbers_without_words_are_not_quoted_alone() -> None:
    text = "Profit and loss account\n2023 2022\nOther income from operations of the group 871 952\nWrite-down (640) —"
    assert quotes(text) == [
        "2023 2022\nOther income from operations of the group 871 952",
        f"2023 2022{GAP}Write-down (640) —",
    ]


@each_of(
    "title",
    [
        "5.2. Editors of text that work especially well with letters of many kinds",
        "Item 2. Properties",
        "CHAPTER 5. SOFTWARE AVAILABLE IN THE …",
        "Brightwater Mills Group, Inc.",
        "To the shareholders of Brightwater Mills Group, Inc..",
    ],
)
def test_titles_of_many_kinds_are_not_quoted(title: str) -> None:
    text = f"The mill was founded by two sisters.\n{title}\nThe mill grinds wheat and rye for bakers."
    assert quotes(text) == ["The mill was founded by two sisters.", "The mill grinds wheat and rye for bakers."]


def test_a_numbered_title_is_not_glued_to_the_one_above() -> None:
    text = (
        "Chapter 14\nSelling the discs in a\nshop of your own\n14.1 Can I sell them?\nGo ahead, nobody must be asked."
    )
    assert "14.1 Can I sell them?\nGo ahead, nobody must be asked." in quotes(text)


def test_two_questions_are_quoted_with_their_answer() -> None:
    text = "5.6 Why does the link fail? Why is the library missing?\nIt is in a package of its own."
    assert quotes(text)[0] == text


def test_a_few_words_below_a_heading_come_with_it() -> None:
    assert quotes("Legal Proceedings\nNone at all.") == ["Legal Proceedings\nNone at all."]


@pytest.mark.parametrize(
    ("title", "found"),
    [
        ("Brightwater Mills\nstatement of the group", []),
        ("Invoice BR/5512", [("Invoice BR/5512", False)]),  # may be what is asked for
        ("10. Parking and storage", []),
    ],
)
def test_lines_without_a_verb_among_sentences_are_titles(title: str, found: list[tuple[str, bool]]) -> None:
    text = f"{title}\nThe mill was founded by two sisters. Since then wheat is ground."
    assert [(one.text(text), one.is_whole) for one in passages(text)] == [
        *found,
        ("The mill was founded by two sisters.", True),
        ("Since then wheat is ground.", True),
    ]


def test_a_sentence_with_numbers_is_no_row() -> None:
    text = (
        "Accounts 2023 2022\nSales of the group 871 952\nThe rate was 24.9% in 2022 and 24.7% in 2021.\n"
        "The mill has a loan at the rate of 2.35 % and a secured account with a bank of\n1.500 thousand, used to 84 %."
    )
    assert quotes(text)[1] == "The rate was 24.9% in 2022 and 24.7% in 2021."
    assert quotes(text)[2] == text[text.index("The mill") :]


def test_a_letter_names_whom_it_is_written_to_and_says_nothing_by_that() -> None:
    text = (
        "Report of the auditors of the group and its parts\nTo the shareholders of Mills Corporation. In our opinion"
        " the accounts are true and fair."
    )
    assert quotes(text)[-1] == "In our opinion the accounts are true and fair."
    assert not any(quote.startswith("To the") for quote in quotes(text))


def test_a_line_goes_on_after_a_semicolon_and_before_a_sign() -> None:
    text = "He was discharged from the clinic;\nhis hearing aids fit well.\nThe probe has 1000 ohms at 0\n°C in water."
    assert quotes(text) == [
        "He was discharged from the clinic;\nhis hearing aids fit well.",
        "The probe has 1000 ohms at 0\n°C in water.",
    ]


def test_an_answer_that_announces_a_list_comes_with_it_or_not_at_all() -> None:
    question = "What does a package depend on?\nOn other packages, in these ways:"
    assert quotes(f"{question}\n• it needs them\n• it suggests them")[0].endswith("• it suggests them")
    assert not any(quote.endswith(":") for quote in quotes(f"{question}\nLicence"))


def test_a_number_alone_is_no_quote_among_statements() -> None:
    statements = "\n".join(
        f"The {name} mill grinds wheat." for name in ("old", "new", "red", "low", "far", "big", "wet")
    )
    assert "(2323858)." not in quotes(f"{statements}\n(2323858).")


def test_lines_that_say_different_things_are_apart() -> None:
    lent = "The Dolphin: lent to the neighbour on the second floor\n\nTo be bought again: The Sea (lost on the train)"
    assert quotes(lent) == lent.split("\n\n")
    prices = "Passengers, death or invalidity of each 15.000 €\nLegal protection, all costs of a lawsuit 3.500 €"
    assert quotes(prices) == prices.split("\n")
    books = (
        "LENT BOOKS\nThe Convent - lent to the uncle in February, in a box\nO Delfim - lent to the neighbour upstairs"
    )
    assert [quote.split("\n")[-1] for quote in quotes(books)] == books.split("\n")[1:]
    key = (
        "Flowers come from the shop in town, all of them white, as promised by our\nAnna. Allergies: Ravi eats nothing."
    )
    assert quotes(key)[0].endswith("promised by our\nAnna.")
    code = "It is at most 3.3.\nprint set(4)"
    assert quotes(code) == code.split("\n")


def test_a_question_as_a_title_goes_on_over_its_line() -> None:
    text = "4.12 Can I install the packages of another\nLinux system? Yes, by a converter."
    assert quotes(text)[0].startswith("4.12 Can I install")


def test_a_running_head_with_a_page_number_is_none_on_a_page_of_few_lines() -> None:
    this, other = ("The Mill, annual report 2023 — 1\nIt mills wheat.", "The Mill, annual report 2023 — 2\nSales grew.")
    assert [one.text(this) for one in passages(this, edges(other))] == ["It mills wheat."]


def test_an_address_goes_on_after_a_line_break() -> None:
    text = "The members are listed on a page of their own, with their names and towns (https:\n//example.org/members)."
    assert quotes(text) == [text]


@pytest.mark.parametrize("label", ["- Open", "TBD", "Open question", "Em aberto", "Offene Frage", "Cuestión pendiente"])
def test_an_open_question_is_not_quoted_with_what_follows_it(label: str) -> None:
    goes_on = "Ana asks for a sample of the blue ones by Friday."
    assert quotes(f"{label}: who orders the tiles for the kitchen? {goes_on}") == [goes_on]
    assert quotes(f"Question: who orders the tiles for the kitchen? {goes_on}")[0].startswith("Question")


def test_a_question_is_quoted_with_its_answer() -> None:
    text = (
        "How long is the warranty?\nIt lasts two years from the day of purchase.\nWho repairs it?\nThe maker does so."
    )
    assert quotes(text)[0] == "How long is the warranty?\nIt lasts two years from the day of purchase."


def test_a_heading_comes_with_the_items_below_it() -> None:
    text = "Opening hours\n\n• Monday 9 to 17\n\n• Tuesday 9 to 12\n\nThe shop is closed on all other days."
    assert quotes(text)[0] == "Opening hours\n\n• Monday 9 to 17\n\n• Tuesday 9 to 12"


def test_keys_and_values_stand_alone() -> None:
    text = "Landlord: Mary Hill\nRent: 900 euros\nDeposit: 1,800 euros"
    assert quotes(text) == text.split("\n")


def test_a_paragraph_goes_on_over_lines_made_of_numbers() -> None:
    text = (
        "The number of shares that were outstanding at the end of the years was 31, 32 and\n"
        "33 million in 2021, 2022 and 2023, of which 12.5, 13.1 and 14.0 million were held by one\n"
        "family that founded the company."
    )
    assert quotes(text) == [text]


def test_what_the_end_of_the_page_cuts_off_is_not_whole() -> None:
    line = "The landlord keeps the roof and the heating in repair, and pays the tax on the land."
    text = "\n".join([line] * 8 + ["The tenant pays for the water, the lift and the cleaning of the stairs from the"])
    *whole, last = passages(text)
    assert all(passage.is_whole for passage in whole)
    assert not last.is_whole


def test_a_sentence_is_cut_only_where_it_is_very_long() -> None:
    long = "The tenant pays " + ", ".join(f"item {n}" for n in range(60)) + "."
    assert 420 < len(long) < LONGEST
    assert quotes(long) == [long]
    assert max(len(quote) for quote in quotes("word " * 1_000)) <= LONGEST


@each_of(
    "line, expected",
    [
        ("LICITAÇÕES E CONTRATOS", True),
        ("3.2 Interest Rate Risk", True),
        ("Capítulo IV", True),
        ("Bins go out on Tuesday", False),
        ("Dogs need the written consent of the landlord.", False),
        ("Net sales 4,100", False),
        ("I bought the old mill", False),
        ("FINANCE.", True),
        ("Rent: 900 euros", False),
        ("", False),
    ],
)
def test_titles_are_told_from_statements(line: str, *, expected: bool) -> None:
    assert is_heading(line) is expected


def test_a_passage_comes_with_the_nearest_heading_above_it() -> None:
    text = "House Rules\nNo smoking is allowed in the house.\nPets And Plants\nDogs need a consent."
    assert [(heading, one.text(text)) for heading, one in headed_passages(text)] == [
        ("House Rules", "No smoking is allowed in the house."),
        ("Pets And Plants", "Dogs need a consent."),
    ]
    assert [heading for heading, _ in headed_passages("Dogs need a consent.")] == [""]


@pytest.mark.parametrize(
    ("first", "is_quoted"),
    [
        ("Letter to the class of year 4, about the museum", False),
        ("The cellar is open until 22:00", True),
        ("Our guest network: Lighthouse", True),
        ("Bring a coat, boots and a lamp.", True),
    ],
)
def test_the_first_line_of_a_page_may_be_its_name(first: str, *, is_quoted: bool) -> None:
    text = f"{first}\n\nThe bus leaves at nine in the morning. Bring a packed lunch."
    assert (first in quotes(text)) is is_quoted


def test_one_line_of_several_that_are_alike_is_no_title() -> None:
    assert quotes("Blue box for paper\n\nGreen box for glass") == ["Blue box for paper", "Green box for glass"]


def test_the_nearest_heading_is_a_line_above_that_reads_as_a_title() -> None:
    text = "House Rules\nQuiet is kept from ten in the evening.\n12\nPets And Plants\nDogs need the written consent.\n"
    assert nearest_heading(text, text.index("Dogs")) == "Pets And Plants"
    assert nearest_heading(text, text.index("12")) == "House Rules"
    assert nearest_heading(text, 0) == ""


@pytest.mark.parametrize("text", ["", "  \n \n\t"])
def test_nothing_gives_nothing(text: str) -> None:
    assert passages(text) == []


def test_the_only_line_of_a_page_is_quoted_whatever_it_is() -> None:
    assert quotes("Swordfish Password") == ["Swordfish Password"]


def laid_out(*blocks: Block | Table) -> tuple[str, tuple[PageBlock, ...]]:
    (sheet,) = flow(blocks, "a.docx", 10)
    return sheet.text, tuple(sheet.blocks)


def quotes_of(*blocks: Block | Table) -> list[str]:
    text, structure = laid_out(*blocks)
    return [passage.text(text) for passage in passages(text, (), structure)]


def test_a_row_of_a_known_table_comes_with_the_names_of_its_columns_and_they_never_alone() -> None:
    rows = [["Room 2024", "Floor", "Key 9F"], ["214", "2", "Iron"], ["215", "2", "Brass"]]
    names = "Room 2024 | Floor | Key 9F"
    assert quotes_of(Table(rows=rows, header_rows=1)) == [f"{names}\n214 | 2 | Iron", f"{names}{GAP}215 | 2 | Brass"]


def test_a_row_of_a_known_table_without_names_comes_with_no_neighbour() -> None:
    assert quotes_of(Table(rows=[["Ann Lee", "Rye"], ["Bo Dell", "Ely"]])) == ["Ann Lee | Rye", "Bo Dell | Ely"]


def test_names_in_two_rows_come_together() -> None:
    rows = [["", "Members", "Members"], ["Year", "Old", "New"], ["2021", "40", "9"], ["2022", "44", "7"]]
    assert quotes_of(Table(rows=rows, header_rows=2))[1] == f"| Members | Members\nYear | Old | New{GAP}2022 | 44 | 7"


def test_what_the_file_says_is_a_heading_or_an_item_is_one() -> None:
    text, structure = laid_out(
        Block(kind="heading", text="is the roof of the mill sound and dry in winter", level=1),
        Block(kind="paragraph", text="The roof was mended in May."),
        Block(kind="item", text="Slates were lent by the church.", marker="7."),
        Block(kind="comment", text="Ask Ann about the slates.", author="Bo"),
    )
    found = [(heading, passage.text(text)) for heading, passage in headed_passages(text, (), structure)]
    title = "is the roof of the mill sound and dry in winter"
    assert (title, "The roof was mended in May.") in found
    assert any(quote.endswith("7. Slates were lent by the church.") for _heading, quote in found)
    assert any(quote.endswith("Comment by Bo: Ask Ann about the slates.") for _heading, quote in found)
    assert not any(quote == title for _heading, quote in found)


def test_the_headings_above_a_page_head_its_passages() -> None:
    text = "The roof was mended in May."
    structure = (PageBlock("paragraph", 0, len(text), path=("Mill", "Roof")),)
    assert headed_passages(text, (), structure)[0][0] == "Roof"


@pytest.mark.parametrize(
    ("above", "below", "is_note"),
    [
        (
            "voters who live in other counties with an alternative way to access the",
            "4 The party does not argue that the statute is void on its face, and the",
            True,
        ),
        (
            "voters who live in other counties and who began by seeking non-statewide",
            "3 In an unpublished opinion, the court of appeals affirmed the order and",
            True,
        ),
        (
            "tenants of the house pay the rent for the whole of the year at least within",
            "30 days of the notice that the landlord sends to them by registered mail and",
            False,
        ),
        (
            "voters who live in other counties, as the court explains at length on page",
            "4 The rule is said to hold for all of them, whatever the county that they",
            False,
        ),
    ],
)
def test_a_footnote_does_not_go_on_the_text_above_it(above: str, below: str, *, is_note: bool) -> None:
    text = (
        f"The court went on to acknowledge that the law provides\n{above}\n{below}\nmore of it in its order of June.\n"
    )
    quotes = [text[one.start : one.end] for one in passages(text)]
    assert any(above in quote and below in quote for quote in quotes) is not is_note
    assert any(below in quote for quote in quotes)


def test_lines_of_a_label_and_an_amount_are_rows() -> None:
    text = "Use by purpose, kWh\nHeating 1820\nHot water 760\nKitchen 540\nThe rest went into light."
    assert f"Use by purpose, kWh{GAP}Hot water 760" in quotes(text)


def test_page_numbers_behind_titles_are_no_amounts() -> None:
    text = "Introduction 3\nMethods 5\nResults 9\nWe asked forty people."
    assert "Methods 5" not in quotes(text)


def test_a_sentence_with_two_years_is_no_header() -> None:
    text = "It used 3,940 kWh in 2024, less than in 2023.\nSome words.\nJune 42,980 210 48.30\nJuly 43,110 240 52.10"
    assert not any("2023" in quote and "July" in quote for quote in quotes(text))


def test_a_short_definition_is_one_passage_and_prose_beside_code_has_its_own() -> None:
    code = "import os\n\ndef ask(q):\n    x = 1\n\n    return x\n\ndef tell(q):\n" + "    print('many words')\n" * 40
    text, structure = laid_out(
        Block(kind="paragraph", text="The desk answers."),
        Block(kind="code", text=code, symbols=((0, ()), (2, ("def ask",)), (7, ("def tell",)))),
    )
    found = [(above, text[one.start : one.end]) for above, one in code_passages(text, structure)]
    assert found[:2] == [("", "import os"), ("def ask", "def ask(q):\n    x = 1\n\n    return x")]
    assert [above for above, _said in found[2:]] == ["def tell", "def tell", ""]
    assert found[-1][1] == "The desk answers."
    assert [said for _above, said in found] != [text[one.start : one.end] for _above, one in code_passages(text)]


def test_a_method_beside_prose_is_quoted_as_a_whole() -> None:
    code = "class Desk {\n    def ask(self, question):\n        return self.find(question)"
    text, structure = laid_out(
        Block(kind="paragraph", text="The desk answers."),
        Block(kind="code", text=code, symbols=((0, ("class Desk",)), (1, ("class Desk", "def ask")))),
    )
    assert [one.text(text) for one in passages(text, (), structure)] == [
        "The desk answers.",
        "class Desk {",
        "def ask(self, question):\n        return self.find(question)",
    ]


COLUMN = (
    "The flats are let by the mill, and a\n"
    "contract of two pages says what is to be\n"
    "kept. A tenant who leaves the house pays\n"
    "for the water of the last month, and\n"
    "Sunday is a day of rest. Whoever comes\n"
    "late pays for the whole month at once."
)


def test_sentences_of_a_narrow_column_go_on_over_its_lines() -> None:
    said = [quote.replace("\n", " ") for quote in quotes(f"{COLUMN}\nHouse Rules\n{COLUMN}")]
    assert said[1:3] == [
        "A tenant who leaves the house pays for the water of the last month, and Sunday is a day of rest.",
        "Whoever comes late pays for the whole month at once.",
    ]
    assert not any("House Rules" in quote for quote in said)


def test_short_lines_that_nothing_breaks_are_no_column() -> None:
    address = "Mill Trust of the Seven Valleys\nThird Floor at Harbour Street\nOld Town of Northport"
    assert "Mill Trust of the Seven Valleys\nThird Floor at Harbour Street\nOld Town of Northport" not in quotes(
        f"{address}\nThe mill grinds wheat and rye."
    )


def drawn(*blocks: Block) -> list[tuple[str, list[str]]]:
    """Return the text of each sheet on which blocks are drawn, and its quotes, each on one line."""
    return [
        (sheet.text, [" ".join(one.text(sheet.text).split()) for one in passages(sheet.text, (), sheet.blocks)])
        for sheet in flow(blocks, "a.md", 9)
    ]


def test_lines_of_a_paragraph_that_docmind_drew_leave_no_break() -> None:
    said = (
        "Member of the trust since May 2019: Hall 12 and 14 of the old mill at the quay "
        "and Hall 16 of 1904 and 1911 beside it."
    )
    [(text, found)] = drawn(Block(kind="paragraph", text=said))
    assert "\nand Hall 16" in text, "the second line looks like a row no more"
    assert found == [said]


def test_a_line_break_of_the_file_stays_one() -> None:
    [(_text, found)] = drawn(Block(kind="paragraph", text="Mill Trust: Northport\u2028Bank: Corran Savings Bank"))
    assert found == ["Mill Trust: Northport", "Bank: Corran Savings Bank"]


def test_no_paragraph_of_a_few_lines_is_divided_between_sheets() -> None:
    said = "The mill grinds wheat and rye on every working day of the year, and the miller lives above it. " * 5
    sheets = drawn(*[Block(kind="paragraph", text=said.strip())] * 20)
    assert len(sheets) > 1
    assert all(text.startswith("The mill grinds") and text.endswith("above it.") for text, _found in sheets)


def test_an_open_bracket_is_closed_on_the_next_line() -> None:
    text = (
        "XIV - to hear those who are responsible for the regulation of each sector (as in the version of\n"
        "Measure 869, 2018)\nXV - to consult the regulators.\nThe council meets twice a year in the town hall."
    )
    assert quotes(text)[0].endswith("Measure 869, 2018)")


def test_capitals_go_on_at_a_function_word() -> None:
    text = "A REPORT IS DUE UNDER SECTION 13 OR 15(D)\nOF THE SECURITIES ACT.\nIt is due each year in May."
    assert quotes(text)[0] == "A REPORT IS DUE UNDER SECTION 13 OR 15(D)\nOF THE SECURITIES ACT."


def test_a_number_in_capitals_belongs_to_its_sentence() -> None:
    text = "THIRTY-SECOND POINT. The deputies are called within two years. Others follow."
    assert quotes(text) == ["THIRTY-SECOND POINT. The deputies are called within two years.", "Others follow."]


@each_of(
    "text",
    [
        "The mill was founded by two sisters. It grinds wheat and rye.",
        "Der Verein hat einen Vorstand aus fünf Personen gewählt. Er tagt einmal im Monat in der Mühle.",
        "La caldera se revisa cada año antes del invierno. Ella calienta el agua de toda la casa.",
        "Le conseil a choisi une nouvelle entreprise de ménage. Elle commence son travail au mois de mai.",
    ],
)
def test_a_sentence_that_leans_on_another_comes_with_it(text: str) -> None:
    cut = text.index(". ") + 1
    assert quotes(text) == [text[:cut], text]
    [_first, leaning] = passages(text)
    assert (leaning.lead, leaning.start, leaning.leans) == ((0, cut), cut + 1, True)


def test_several_that_lean_come_with_the_one_that_does_not() -> None:
    text = "The mill was founded by two sisters. It grinds wheat. It is open on weekdays."
    assert quotes(text)[-1] == text


def test_no_sentence_leans_on_another_paragraph() -> None:
    text = "The mill was founded by two sisters.\n\nIt grinds wheat and rye."
    assert quotes(text) == text.split("\n\n")


def test_a_word_that_leans_in_one_language_stands_alone_in_another() -> None:
    text = (
        "O tratamento de dados pessoais depende do consentimento do titular. Lei posterior define as exceções da regra."
    )
    assert quotes(text) == [text[: text.index("Lei ") - 1], text[text.index("Lei ") :]]


def test_a_colon_in_the_middle_of_a_paragraph_makes_no_key() -> None:
    text = (
        "The results were shown to the members of the society at the meeting of the Association for\n"
        "Moths and Hedges in May, and again at the meeting of the Association for Computational\n"
        "Linguistics: Human Language Technologies in Seattle.\nThe next meeting is in Porto."
    )
    assert quotes(text) == [text[: text.index("\nThe next")], "The next meeting is in Porto."]
    keys = "Address of the club for claims and for letters to the board: Mill Quay 4\nTelephone: 0555 014"
    assert quotes(keys) == keys.split("\n")


def test_a_semicolon_between_brackets_ends_no_line() -> None:
    text = (
        "To weigh a claim one often has to look at several pieces of evidence (Lind et al., 2020;\n"
        "Cole et al., 2020; Hill and Marsh, 2021; Vance and Dray, 2021; Collop and Parry, 2022;\n"
        "Kemble, 2023). This is slow."
    )
    assert quotes(text)[0] == text[: text.index(" This")]
