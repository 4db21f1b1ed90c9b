"""The check of a text: each sentence against a library of real documents."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from docmind.application import DocMind
from docmind.conversations import MOST_SENTENCES, draft_markdown
from docmind.errors import CancelledError, ConfigError
from docmind.records.documents import Upload
from docmind.records.drafts import IN_EARLIER, IN_NEWEST, CheckedDraft, CheckedSentence
from docmind.records.search import Filters
from docmind.records.values import LONGEST_DRAFT
from libraries import Library
from shells import HERONS_PDF

pytestmark = pytest.mark.slow
REPORT = """# Survey of the lake

The survey of Lake Vellamo began on 3 March 2021 and was led by Marta Kivela of the Institute of Waters.
The team counted 148 pairs of grebes on the northern shore. The survey cost 82,500 euros.
Boats with engines are not allowed on the lake between April and July.
The water of the lake is clean enough for swimming in every month of the year.
"""
LAKE = Library("herons and a lake", [Upload("herons.pdf", HERONS_PDF), Upload("lake.md", REPORT.encode())])
DRAFT = """# What we know

Dear reader, where do herons nest?

Herons build their nests in tall trees near rivers. The nests are made of 412 sticks [1].

- The survey of Lake Vellamo was led by Marta Kivela.
- The team counted 184 pairs of grebes on the northern shore.
- The survey of Lake Vellamo began on 3 May 2021.
- Boats with engines are allowed on the lake between April and July.
- The survey of Lake Vellamo was led by Olavi Rinne.

A new bridge of steel connects both shores of the lake.
"""


@pytest.fixture(scope="module")
def docmind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DocMind]:
    with LAKE.opened(tmp_path_factory.mktemp("drafts")) as opened:
        yield opened


@pytest.fixture(scope="module")
def checked(docmind: DocMind) -> CheckedDraft:
    return docmind.check(DRAFT)


def of(checked: CheckedDraft, words: str) -> CheckedSentence:
    (found,) = [one for one in checked.sentences if words in one.text]
    return found


@pytest.mark.parametrize(
    ("words", "document", "quote"),
    [
        ("Herons build", "herons.pdf", "Herons nest in tall trees near rivers."),
        ("412 sticks", "herons.pdf", "412 sticks"),
        ("led by Marta", "lake.md", "Marta Kivela"),
    ],
)
def test_what_a_page_says_is_supported_with_its_place(
    docmind: DocMind, checked: CheckedDraft, words: str, document: str, quote: str
) -> None:
    found = of(checked, words)
    assert (found.verdict, found.source and found.source.document) == ("supported", document)
    assert found.source is not None
    assert quote in " ".join(found.source.quote.split())
    page = docmind.documents.page(found.source.doc_id, found.source.page_no)
    assert found.source.quote in page.text
    assert found.source.boxes
    assert all(0 <= box.x <= page.width and 0 <= box.y <= page.height for box in found.source.boxes)


@pytest.mark.parametrize("words", ["184 pairs", "3 May 2021", "engines are allowed", "Olavi Rinne"])
def test_another_number_date_or_name_or_a_denial_contradicts(checked: CheckedDraft, words: str) -> None:
    found = of(checked, words)
    assert found.verdict in ("contradicted", "not found")
    if words != "Olavi Rinne":
        assert found.verdict == "contradicted"
        assert found.source is not None
        assert found.source.document == "lake.md"


def test_what_no_page_says_is_not_found(checked: CheckedDraft) -> None:
    assert (of(checked, "bridge of steel").verdict, of(checked, "bridge of steel").source) == ("not found", None)


def test_headings_and_questions_are_no_claims(checked: CheckedDraft) -> None:
    assert of(checked, "What we know").verdict == "no claim"
    assert of(checked, "where do herons nest?").verdict == "no claim"


def test_every_sentence_has_its_place_in_the_text_without_marks(checked: CheckedDraft) -> None:
    assert "[1]" not in checked.text
    assert len(checked.sentences) == 10
    assert all(checked.text[one.start : one.end] == one.text for one in checked.sentences)


def test_sources_are_numbered_by_first_mention_and_shared(docmind: DocMind) -> None:
    checked = docmind.check(
        "The nests are made of 412 sticks. Herons nest in tall trees near rivers. The nests are made of 412 sticks."
    )
    numbers = [one.source.n for one in checked.sentences if one.source is not None]
    assert numbers == [1, 2, 1]
    assert [source.n for source in checked.sources] == [1, 2]


def test_filters_leave_documents_out(docmind: DocMind) -> None:
    said = "The survey of Lake Vellamo was led by Marta Kivela."
    ids = {info.document: info.doc_id for info in docmind.documents.all()}
    assert docmind.check(said, Filters(doc_ids=(ids["lake.md"],))).sentences[0].verdict == "supported"
    assert docmind.check(said, Filters(doc_ids=(ids["herons.pdf"],))).sentences[0].verdict == "not found"


@pytest.mark.parametrize(
    ("draft", "sentence"),
    [
        ("", "There is no text to check."),
        (" \n\t", "There is no text to check."),
        ("x" * (LONGEST_DRAFT + 1), "The text has 100,001 characters; 100,000 are the most."),
        ("Herons nest in tall trees.\n\n" * (MOST_SENTENCES + 1), "The text has 1,001 sentences; 1,000 are the most."),
    ],
)
def test_a_text_beyond_its_bounds_is_refused_before_a_search(docmind: DocMind, draft: str, sentence: str) -> None:
    with pytest.raises(ConfigError) as caught:
        docmind.check(draft, progress=lambda *_: pytest.fail("a sentence was checked"))
    assert str(caught.value) == sentence


def test_progress_is_told_and_can_end_the_check(docmind: DocMind) -> None:
    told: list[tuple[int, int]] = []

    def stop(done: int, total: int) -> None:
        told.append((done, total))
        if done == 2:
            raise CancelledError("Stopped.")

    with pytest.raises(CancelledError):
        docmind.check("Herons nest. " * 2 + "Herons nest in tall trees.\n\n" * 3, progress=stop)
    assert [done for done, _total in told] == [1, 2]


def test_the_export_has_footnotes_and_nothing_active_of_the_text(docmind: DocMind) -> None:
    checked = docmind.check(
        "# Title ![x](http://127.0.0.1/x)\n\nHerons nest in tall trees near rivers.\n\n"
        "- The team counted 184 pairs of grebes on the northern shore.\n- The moon is <b>made</b> of old cheese.\n"
    )
    exported = draft_markdown(checked)
    assert "Herons nest in tall trees near rivers.[^1]" in exported
    assert "[^1]: herons.pdf, page 2: “Herons nest in tall trees near rivers.”" in exported
    assert "northern shore. *(contradicted)*[^2]" in exported
    assert "cheese. *(not found)*" in exported
    assert "![x](" not in exported
    assert "<b>" not in exported.replace("\\<b", "")
    assert exported.startswith("# Title")


LEASE = """Lease of the mill house.

The rent of the mill house is {rent} crowns a month. The tenant pays on the {day} day of each month.

{more}

The garden has two hectares, and the tenant mows it in June. The tenant keeps the chimney clean.
"""
_VERSIONS = (
    {"rent": 900, "day": "third", "more": "The boat of the house may be used on Sundays."},
    {"rent": 950, "day": "fifth", "more": "Dogs are welcome in every room of the house."},
)


def _two_leases(docmind: DocMind) -> None:
    for number, terms in enumerate(_VERSIONS, 1):
        docmind.add([Upload(f"lease v{number}.txt", LEASE.format(**terms).encode())])


@pytest.fixture(scope="module")
def leases(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DocMind]:
    with Library("two leases to check against", then=_two_leases).opened(tmp_path_factory.mktemp("leases")) as opened:
        yield opened


@pytest.mark.parametrize(
    ("said", "verdict", "quotes"),
    [
        ("The rent of the mill house is 900 crowns a month.", "outdated", ("900 crowns", "950 crowns")),
        ("The tenant pays on the third day of each month.", "outdated", ("third", "fifth")),
        ("The boat of the house may be used on Sundays.", "outdated", ("boat",)),
        ("The rent of the mill house is 950 crowns a month.", "supported", ("950 crowns",)),
        ("The rent of the mill house is 980 crowns a month.", "contradicted", ("950 crowns",)),
        ("The garden has two hectares.", "supported", ("two hectares",)),
    ],
)
def test_what_only_a_superseded_version_says_is_outdated(
    leases: DocMind, said: str, verdict: str, quotes: tuple[str, ...]
) -> None:
    (found,) = leases.check(said).sentences
    assert (found.verdict, len(found.sources)) == (verdict, len(quotes))
    assert all(words in source.quote for words, source in zip(quotes, found.sources, strict=True))
    documents = ["lease v1.txt", "lease v2.txt"] if verdict == "outdated" else ["lease v2.txt"]
    assert [source.document for source in found.sources] == documents[: len(quotes)]


def test_an_earlier_version_that_is_checked_against_alone_supports(leases: DocMind) -> None:
    only = Filters(doc_ids=(leases.documents.find("lease v1.txt").doc_id,))
    assert [one.verdict for one in leases.check(LEASE.format(**_VERSIONS[0]), only).sentences if one.source] == [
        "supported"
    ] * 6


def test_an_outdated_sentence_says_of_which_version_its_sources_are(leases: DocMind) -> None:
    checked = leases.check("The rent of the mill house is 900 crowns a month.")
    (found,) = checked.sentences
    assert [found.remark(source) for source in found.sources] == [IN_EARLIER, IN_NEWEST]
    assert "900 crowns a month. *(outdated)*[^1][^2]" in draft_markdown(checked)
