"""Articles in JATS XML, as a reader of their page sees them."""

from __future__ import annotations

import pytest

from docmind.blocks import unpack
from docmind.errors import CorruptFileError
from docmind.reading.file_type import identify, is_plain
from docmind.reading.formats import Opened, Rules, reader
from docmind.records.documents import Loss, Upload
from mutants import mutants, read_or_refuse
from papers_in_xml import ARTICLE
from sampled import tenth_of


def opened(text: str, name: str = "a.nxml") -> Opened:
    kind, upload = identify(Upload(name, text.encode()))
    assert kind == "jats"
    return reader(kind)(upload, kind, Rules())


def shown(one: Opened) -> list[tuple[str, int, str]]:
    found: list[tuple[str, int, str]] = []
    for number in range(1, one.pages + 1):
        page = one.page(number)
        found += [(b.kind, b.level, page.text[b.start : b.end]) for b in unpack(page.blocks, len(page.text))]
    return found


def body(inner: str) -> list[tuple[str, int, str]]:
    return shown(opened(f"<article><front/><body>{inner}</body></article>"))


def test_an_article_is_read_from_its_title_to_its_references() -> None:
    one = opened(ARTICLE)
    assert dict(one.facts) == {
        "title": "Otters & ponds in H₂O", "author": "Ann M. Lopez, Otter Group", "dated": "2020-05-03",
    }  # fmt: skip
    found = shown(one)
    assert found[:5] == [
        ("heading", 1, "Otters & ponds in H₂O: A study"),
        ("paragraph", 0, "Ann M. Lopez, Otter Group"),
        ("paragraph", 0, "1 Pond University, Lisbon"),
        ("paragraph", 0, "PLoS ONE. 15 (5): e1–e9. 2020-05-03. doi:10.1371/x.1"),
        ("heading", 2, "Abstract"),
    ]
    headings = [(level, text) for kind, level, text in found if kind == "heading"]
    assert headings[2:] == [
        (3, "Background"), (3, "Results"), (2, "1 Introduction"), (3, "Sub"), (2, "Acknowledgments"), (2, "References"),
    ]  # fmt: skip
    assert [text for kind, _level, text in found if kind == "item"][-2:] == [
        "1 Ng, B. (2001). Fish. J Pond 3: 4–5.",
        "2 C Silva (1999). Crabs. J Sea 7 (2): 10–19. doi:10.1/z.",
    ]
    assert one.losses == ()


def test_text_has_its_references_powers_notes_and_lists() -> None:
    found = shown(opened(ARTICLE))
    at = found.index(("paragraph", 0, "As shown[1] and [2], x² is 10⁻³[a]."))
    assert found[at + 1 : at + 6] == [
        ("footnote", 0, "a Not always."),
        ("item", 0, "1. First"),
        ("item", 1, "• inner"),
        ("item", 0, "2. Second"),
        ("paragraph", 0, "after the list."),
    ]


def test_formulas_tables_and_figures_are_read() -> None:
    found = shown(opened(ARTICLE))
    assert ("paragraph", 0, "Energy E=mc² holds.") in found
    assert ("equation", 0, "a/b=c (1)") in found
    at = found.index(("header_row", 0, "Pond | Otters | Otters"))
    assert [text for _kind, _level, text in found[at + 1 : at + 6]] == [
        "Pond | 2019 | 2020", "North | 12 | 15*", "* By night.", "Figure 1 Map of the pond.", "A map",
    ]  # fmt: skip


def test_what_is_only_a_picture_is_counted() -> None:
    film = "<media><caption><p>Film</p></caption></media>"
    inner = "<fig><label>Figure 2</label><graphic/></fig><disp-formula><graphic/></disp-formula>"
    one = opened(f"<article><front/><body>{inner}<p>x</p>{film}</body></article>")
    assert one.losses == (Loss("picture", 1, "Figure 2"), Loss("equation", 1), Loss("media", 1, "Film"))


def test_odd_parts_keep_their_text() -> None:
    said = "<article><front/><body><p>&nbsp;A&alpha; <!-- no --><bold>b</bold>c</p></body></article>"
    assert shown(opened(f'<!DOCTYPE article SYSTEM "JATS.dtd">{said}')) == [("paragraph", 0, "Aα bc")]
    assert body("<sec><title>T</title><sec><p>deep</p></sec></sec>") == [("heading", 2, "T"), ("paragraph", 0, "deep")]
    assert body("<def-list><def-item><term>a</term><def><p>first</p></def></def-item></def-list>") == [
        ("item", 0, "a: first")
    ]
    assert body("<code language='python'>x = 1\n  y</code>") == [("code", 0, "x = 1\n  y")]


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("a.xml", ARTICLE, "jats"),
        ("a", ARTICLE, "jats"),
        ("a.xml", "<pmc-articleset><article><front/><body><p>x</p></body></article></pmc-articleset>", "jats"),
        ("a.xml", "<article><title>DocBook</title></article>", "txt"),
        ("a.xml", "<!-- <article><front/> --><note/>", "txt"),
        ("a.txt", ARTICLE, "txt"),
    ],
)
def test_articles_are_told_by_their_first_element(name: str, text: str, kind: str) -> None:
    assert identify(Upload(name, text.encode()))[0] == kind


@pytest.mark.parametrize("name", ["a.txt", "a.xml"])
def test_a_file_of_comments_is_told_at_once(name: str) -> None:
    for data in (b"<!---->" * 400 + b"x", b"<!-- a -->\n" * 5_000 + b"<x/>", b"<?x?>" * 5_000, b"<!--" * 9_000):
        identify(Upload(name, data))
        is_plain(Upload(name, data))


def test_hostile_and_broken_articles_are_refused_or_cut() -> None:
    with pytest.raises(CorruptFileError):
        opened(ARTICLE[: len(ARTICLE) // 2])
    entities = '<!DOCTYPE article [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;"><!ENTITY f SYSTEM "file:///etc/passwd">]>'
    text = f"{entities}<article><front/><body><p>x &b; &f;</p></body></article>"
    assert [text for _kind, _level, text in shown(opened(text))] == ["x &b; &f;"]
    assert body("<sec>" * 200 + "<p>x</p>" + "</sec>" * 200 + "<p>y</p>") == [("paragraph", 0, "y")]
    for mutant in tenth_of(mutants(ARTICLE.encode(), 300)):
        read_or_refuse("a.nxml", mutant)
