"""Bibliographies of BibTeX, RIS and CSL-JSON: their entries, and texts in LaTeX."""

from __future__ import annotations

import json
import random
from dataclasses import replace

import pytest

from docmind.blocks import Block, Losses, Table, shown_in
from docmind.errors import CorruptFileError, EmptyFileError
from docmind.reading.file_type import identify
from docmind.reading.formats import Rules, reader
from docmind.reading.formats.bibliography import Entry, cited, whole_name
from docmind.reading.formats.bibtex import blocks_of_bibtex
from docmind.reading.formats.csl import open_csl
from docmind.reading.formats.latex_text import words_of_latex_text
from docmind.reading.formats.ris import blocks_of_ris
from docmind.records.documents import Loss, Upload
from each import each_of
from sampled import tenth_of

BIB = r"""
Text between entries is no entry.
@preamble{ "\newcommand{\x}{y}" }
@string{cj = "The Computer Journal"}
@string(acm = {ACM} # " Press")
@comment{jabref-meta: databaseType:bibtex;}

@article{knuth84,
  author  = "Donald E. Knuth",
  title   = {Literate {P}rogramming},
  journal = cj,
  year    = 1984, month = may,
  volume  = 27, number = 2, pages = {97--111},
  doi     = {https://doi.org/10.1093/comjnl/27.2.97},
  keywords = {programs, documents}, file = {:home/knuth.pdf:PDF}
}
@InProceedings{erdos59,
  author = {Erd{\H{o}}s, Paul
            and R{\'e}nyi, Alfr{\'e}d},
  title = "On {"}Random{"} Graphs \& their $\alpha$-cores",
  crossref = {proc59},
  abstract = {We study graphs.
   They have 50\% edges --- at least.},
}
@Proceedings{proc59, title={Proceedings of Graphs}, editor={G{\"o}del, Kurt}, publisher=acm, year={1959}}
@online{nasa23, author={{NASA, Ames and Co}}, title={Open Data}, date={2023-05-04}, url={https://d.org/~a\_b}}
"""


def read(text: str) -> tuple[list[list[str]], list[str], tuple[Loss, ...]]:
    """Return the rows of the table, the texts below it, and what was lost."""
    losses = Losses()
    find = blocks_of_ris if "  - " in text else blocks_of_bibtex
    rows: list[list[str]] = []
    texts: list[str] = []
    for block in find(text, losses):
        if isinstance(block, Table):
            rows += [[shown_in(cell) for cell in row] for row in block.rows]
        else:
            assert isinstance(block, Block)
            texts.append(block.text)
    return rows, texts, losses.found()


def test_every_entry_of_bibtex_is_a_row() -> None:
    rows, _texts, lost = read(BIB)
    assert rows == [
        ["Title", "Author", "Year", "Published in", "Type", "Key"],
        ["Literate Programming", "Donald E. Knuth", "1984", "The Computer Journal", "article", "knuth84"],
        ['On "Random" Graphs & their α-cores', "Paul Erdős, Alfréd Rényi", "1959", "Proceedings of Graphs",
         "inproceedings", "erdos59"],
        ["Proceedings of Graphs", "Kurt Gödel (ed.)", "1959", "ACM Press", "proceedings", "proc59"],
        ["Open Data", "NASA, Ames and Co", "2023", "", "online", "nasa23"],
    ]  # fmt: skip
    assert lost == ()


def test_every_entry_is_cited_with_its_fields() -> None:
    _rows, texts, _lost = read(BIB)
    assert texts[: texts.index("Proceedings of Graphs")] == [
        "Literate Programming",
        "Donald E. Knuth (1984): “Literate Programming”, The Computer Journal, 27(2), 97–111, "
        "https://doi.org/10.1093/comjnl/27.2.97",
        "Key: knuth84",
        "Type: article",
        "DOI: 10.1093/comjnl/27.2.97",
        "Month: May",
        "Keywords: programs, documents",
        'On "Random" Graphs & their α-cores',
        'Paul Erdős, Alfréd Rényi (1959): “On "Random" Graphs & their α-cores”, Proceedings of Graphs, ACM Press',
        "Key: erdos59",
        "Type: inproceedings",
        "Editor: Kurt Gödel",
        "Publisher: ACM Press",
        "Abstract: We study graphs. They have 50% edges — at least.",
    ]
    assert "URL: https://d.org/~a_b" in texts
    assert not any("knuth.pdf" in text for text in texts)


@each_of(
    "broken, keys, lost",
    [
        ("@article{a, title = {never closes,\n  year = 1999\n@book{b, title={B}}", ["a", "b"], 1),
        ("@article{a, title = {A}, year\n}\n@book{b, title={B}}", ["a", "b"], 1),
        ("@article{a, title = }\n@book{b, title={B}}", ["a", "b"], 1),
        ('@article{a, title = "x}\n@book{b, title={B}}', ["a", "b"], 1),
        ("@article{a, title={A}\n  year=1999}\n@book{b, title={B}}", ["a", "b"], 0),  # a comma is missing
        ("@article{, title={A}}@book{b,}", ["", "b"], 0),
        ("@book{b, title={B}", ["b"], 1),
    ],
)
def test_a_broken_entry_is_counted_and_the_next_is_read(broken: str, keys: list[str], lost: int) -> None:
    rows, _texts, losses = read(broken)
    key = rows[0].index("Key")
    assert [row[key] for row in rows[1:]] == keys
    assert sum(loss.count for loss in losses) == lost


def test_fields_of_other_entries() -> None:
    rows, texts, _lost = read("@xdata{pub, publisher={Wax}}\n@book{a, title={A}, xdata={pub, none}, crossref={a}}\n"
                              "@inbook{b, title={B}, crossref={A}}")  # fmt: skip
    assert rows[2] == ["A", "Wax", "book", "a"]
    assert rows[3] == ["B", "A", "inbook", "b"], "a key has no case, and a book is the venue of its chapters"
    assert "Publisher: Wax" in texts


RIS = """TY  - JOUR
ID  - bees
AU  - Garcia Marquez, Ana
A1  - Li, Wei
TI  - Bees in winter
T2  - Apidologie
PY  - 2023/05/01/
VL  - 12
IS  - 3
SP  - 44
EP  - 51
DO  - doi:10.1000/xyz
AB  - Bees cluster
when it is cold.
KW  - bees
KW  - winter
ER  -\x20

TY  - CHAP
TI  - Wax
BT  - Hives
A2  - Smith, John
PB  - Wax Press
Y1  - 1999
XX  - unknown
"""


def test_entries_of_ris() -> None:
    rows, texts, lost = read(RIS)
    assert rows == [
        ["Title", "Author", "Year", "Published in", "Type", "Key"],
        ["Bees in winter", "Ana Garcia Marquez, Wei Li", "2023", "Apidologie", "journal article", "bees"],
        ["Wax", "John Smith (ed.)", "1999", "Hives", "chapter", ""],
    ]
    assert texts[1] == (
        "Ana Garcia Marquez, Wei Li (2023): “Bees in winter”, Apidologie, 12(3), 44–51, https://doi.org/10.1000/xyz"
    )
    assert "Keywords: bees, winter" in texts
    assert "Abstract: Bees cluster when it is cold." in texts
    assert "John Smith (ed.) (1999): “Wax”, Hives, Wax Press" in texts
    assert lost == ()


CSL = [
    {
        "id": "http://zotero.org/1", "citation-key": "bees", "type": "article-journal",
        "title": "<i>Apis</i> &amp; winter",
        "author": [{"family": "Marquez", "given": "Ana", "non-dropping-particle": "de"}, {"literal": "Bee Group"}],
        "issued": {"date-parts": [["2023", 5, 1]]}, "container-title": "Apidologie", "volume": 12, "issue": "3",
        "page": "44-51", "DOI": "10.1000/xyz", "abstract": "Bees cluster.", "accessed": {"raw": "2024-01-01"},
    },
    {"id": 7, "type": "book", "title": "Hives", "editor": [{"family": "Smith", "given": "John"}],
     "issued": {"literal": "n.d."},
     "publisher": "Wax Press"},
]  # fmt: skip


def test_entries_of_csl_json() -> None:
    for given in (CSL, {"items": CSL}):
        kind, upload = identify(Upload("export.json", json.dumps(given).encode()))
        page = reader(kind)(upload, kind, Rules()).page(1)
        assert kind == "csl"
        assert "Apis & winter | Ana de Marquez, Bee Group | 2023 | Apidologie | article journal | bees" in page.text
        assert "Hives | John Smith (ed.) | n.d. | Wax Press | book | 7" in page.text
        assert "Date: 2023-05-01" in page.text
        assert "Accessed: 2024-01-01" in page.text


def test_values_of_any_type_in_csl_json_are_read_or_refused() -> None:
    for number in tenth_of(range(300)):
        rng = random.Random(number)
        given = json.loads(json.dumps(CSL))
        inner = given[0]
        field = rng.choice(list(inner))
        inner[field] = rng.choice(
            [None, 1, True, [], {}, [None], [[]], {"date-parts": [None]}, [{"family": []}], "<b", 1e300]
        )
        assert open_csl(Upload("a.json", json.dumps(given).encode()), "csl", Rules()).pages == 1
    for data in (b"[{", b"7", b'{"items": 7}', b"[" * 100_000):
        with pytest.raises((CorruptFileError, EmptyFileError)):
            open_csl(Upload("a.json", data), "csl", Rules())


@each_of(
    "name, whole",
    [
        ("Lovelace, Ada", "Ada Lovelace"),
        ("von Neumann, John", "John von Neumann"),
        ("King, Jr., Martin Luther", "Martin Luther King Jr."),
        ("King, Martin Luther, Jr.", "Martin Luther King Jr."),
        ("Ada  Lovelace", "Ada Lovelace"),
        ("Plato", "Plato"),
    ],
)
def test_names_as_they_are_spoken(name: str, whole: str) -> None:
    assert whole_name(name) == whole


def test_a_citation_names_at_most_ten_authors() -> None:
    entry = Entry(title="T", authors=tuple(f"A{n}" for n in range(12)), year="2020")
    assert cited(entry) == f"{', '.join(entry.authors[:10])} et al. (2020): “T”"
    assert cited(replace(entry, authors=(), editors=("E", "F"))) == "E, F (eds.) (2020): “T”"
    assert cited(Entry(title="T")) == "“T”"


@each_of(
    "latex, words",
    [
        (r"{\"O}zg{\"u}r \c{C}a\u{g}r{\i}", "Özgür Çağrı"),
        (r"Erd\H{o}s, Garc{\'\i}a, M{\'{a}}rquez", "Erdős, García, Márquez"),
        (r"{\AA}ngstr{\"o}m, K{\o}benhavn, Stra\ss e, \v{S}pan\v{e}l", "Ångström, København, Straße, Španěl"),
        (r"S\~ao Paulo, \`a la", "São Paulo, à la"),
        (r"The {\LaTeX} \emph{Companion}", "The LaTeX Companion"),
        (r"$\alpha$-decay of H$_2$O, $5 and more", "α-decay of H₂O, $5 and more"),
        (r"Smith \& Sons, 50\% --- ``so''~a\_b", "Smith & Sons, 50% — “so” a_b"),
        (r"\url{http://a.b/~c\_d} \href{http://a.b}{there}", "http://a.b/~c_d there (http://a.b)"),
        (r"n\textsuperscript{2}, Knuth's 10--20", "n², Knuth's 10–20"),
        ("plain  text", "plain text"),
        ("{" * 300 + "a" + r"\'", "a"),
    ],
)
def test_latex_as_words(latex: str, words: str) -> None:
    assert words_of_latex_text(latex) == words


def test_a_bibliography_without_entries_is_empty() -> None:
    for kind in ("bib", "ris"):
        with pytest.raises(EmptyFileError):
            reader(kind)(Upload(f"a.{kind}", b"no entries at all"), kind, Rules())


@pytest.mark.slow
@pytest.mark.timeout(60)
@each_of(
    "text",
    [
        "@a{k, author={x" + " " * 500_000 + "y}}",
        "@a{k, t={" * 20_000,
        "@a{k, t={\n" * 5_000,
        '@a{k, t="a"' + '#"a"' * 50_000 + "}",
        "@a{b}" * 20_000,
        '@string{a0="xxxxxxxxxx"}'
        + "\n".join(f"@string{{a{n}=a{n - 1}#a{n - 1}}}" for n in range(1, 60))
        + "\n@a{k,t=a59}",
        "\n".join(f"@xdata{{x{n}, xdata={{{','.join(f'x{m}' for m in range(200))}}}}}" for n in range(200)),
        "@a{k, title=" + "{" * 100_000 + "}" * 100_000 + "}",
        "@a{k, title={" + "$a" * 90_000 + "}}",
        "TY  - JOUR\nAB  - a\n" + "more words\n" * 50_000,
        "TY  - JOUR\n" * 20_000,
    ],
)
def test_hostile_bibliographies_are_read_in_time(text: str) -> None:
    read(text)


def test_bibliographies_that_are_cut_or_changed_are_read() -> None:
    for whole in (BIB, RIS):
        for number in tenth_of(range(150)):
            rng = random.Random(number)
            at, to = sorted(rng.choices(range(len(whole)), k=2))
            read(whole[:at] + rng.choice('{}",#=@\\\n-') + whole[to:])
