"""Rich text: what it shows, in reading order, and what is told of the rest."""

from __future__ import annotations

import contextlib
import random
import time

import pytest

from docmind.blocks import Block, Losses, Table, shown_in
from docmind.errors import EmptyFileError, ReadingError, TooLargeError
from docmind.reading.file_type import identify
from docmind.reading.formats import Rules, reader
from docmind.reading.formats.rtf.body import blocks_of as read_blocks
from docmind.records.documents import Facts, Loss, Upload
from each import each_of
from sampled import tenth_of

FONTS = (
    r"{\fonttbl{\f0\fswiss\fcharset0 Arial;}{\f1\fnil\fcharset2 Symbol;}{\f2\fnil\fcharset204 Arial Cyr;}"
    r"{\f3\fnil\fcharset128 MS Mincho;}{\f4\fnil\fcharset2 Wingdings;}{\f5\fnil Plain{\*\falt Other};}}"
)
STYLES = (
    r"{\stylesheet{\ql \snext0 Normal;}{\s1\outlinelevel0\sbasedon0 Kop;}{\s2\sbasedon0 heading 2;}{\s3\sbasedon2 Own;}"
    r"{\s4 caption;}{\s5 Source Code;}{\*\cs10 \additive Default Paragraph Font;}}"
)


def rtf(body: str, head: str = "") -> bytes:
    return (r"{\rtf1\ansi\ansicpg1252\deff0\uc1" + FONTS + STYLES + head + "\n" + body + "}").encode("latin-1")


def read(data: bytes) -> tuple[list[Block | Table], Facts, tuple[Loss, ...]]:
    losses = Losses()
    blocks, facts = read_blocks(data, "a.rtf", losses, 1_000_000)
    return list(blocks), facts, losses.found()


def said(body: str, head: str = "") -> list[str]:
    """Return kind and text of each block, with its marker before it."""
    return [
        f"{block.kind}: {block.marker} {block.text}".replace(":  ", ": ").replace("\u2028", "/")
        for block in read(rtf(body, head))[0]
        if isinstance(block, Block)
    ]


def grid(body: str) -> tuple[Table, list[list[str]]]:
    (table,) = (block for block in read(rtf(body))[0] if isinstance(block, Table))
    return table, [[shown_in(cell) for cell in row] for row in table.rows]


@each_of(
    "body, wanted",
    [
        (r"na\'efve \'93quoted\'94 \emdash \~\endash a\_b\-c \{\}\\", "naïve “quoted” —\xa0–a-bc {}\\"),
        (r"\f2\'cf\'f0\'e8\'e2\'e5\'f2 \f0\'e9", "Привет é"),
        (r"\f3\'83A\'93\'fa", "ア日"),
        (r"\f3\'93\'fa\'96\'7b", "日本"),
        (r"\u8364?uro \u-10179?\u-8704? {\uc2\u945??b}\uc0\u946 c", "€uro 😀 αbβc"),
        (r"\u8364\'80 \u233{e}x", "€ éex"),
        (r"{\f1\'61\'b0} {\f4\'fe}{\f1\u-3913?}", "α° ☑•"),
        (r"10{\super 6} H{\sub 2}O x{\up6 2}", "10⁶ H₂O x²"),
        (r"{\strike 90 \b euros} 80", "~~90 euros~~ 80"),
        (r"a\tab b\line c\bin4 }}}}d", "a\tb/cd"),
        (r"{\upr{old}{\*\ud{new \u945?}}} {\*\unknown left out {\b too}}kept", "new α kept"),
        (r"{\revised\revauth1 new}{\deleted old}", "new"),
        (r"{\field{\*\fldinst{HYPERLINK ""\"http://x\""r"}}{\fldrslt{\ul a link}}} on", "a link on"),
        (r"{\field{\*\fldinst FORMCHECKBOX {\*\formfield{\fftype1\ffres1{\*\ffname a}}}}{\fldrslt }} yes", "☒ yes"),
        (r"{\field{\*\fldinst FORMDROPDOWN {\*\formfield{\fftype2\ffres1{\*\ffl One}{\*\ffl Two}}}}} so", "Two so"),
        (r"{\field{\*\fldinst SYMBOL 183 \\f ""\"Symbol\""r" \\s 10}{\fldrslt}} dot", "• dot"),
        (r"{\*\shppict{\pict 0a0b}}{\nonshppict{\pict 00}}words", "words"),
        (r"It is {\*\moMath{\mf{\mfPr{\mtype lin}}{\mnum{\mr a}}{\mden{\mr 2}}}} wide", "It is a/2 wide"),
        (r"{\field{\*\fldinst{EQ \\* jc3 \\o\\al(\\s\\up 10(\u12392\'3f),\u26481\'3f)}}{\fldrslt {}}}!", "東(と)!"),
        (r"See {{\NeXTGraphic a.png \width9}\'ac} here", "See  here"),
        (r"{\xe hidden entry}{\v\tc text}shown", "shown"),
    ],
)  # fmt: skip
def test_paragraphs(body: str, wanted: str) -> None:
    assert said(body + r"\par") == [f"paragraph: {wanted}"]


def test_text_in_the_code_page_of_the_document() -> None:
    data = rb"{\rtf1\ansi\ansicpg1251 {\fonttbl{\f0 Some;}}\f0 \'cf\'f0\'e8 " + "вет".encode("cp1251") + b"}"
    assert [block.text for block in read(data)[0] if isinstance(block, Block)] == ["При вет"]
    assert [block.text for block in read(rb"{\rtf1\mac \'8e\par}")[0] if isinstance(block, Block)] == ["é"]


def test_headings_captions_and_code_by_style() -> None:
    body = r"\pard\s1 One\par\pard\s2 Two\par\pard\s3 Own\par\pard\outlinelevel3 Four\par\pard\s1\outlinelevel9 No\par"
    blocks, _facts, _losses = read(rtf(body + r"\pard\s5 x = 1\line y\par\pard\s4 Figure 1\par"))
    assert [(block.kind, block.level, block.text) for block in blocks if isinstance(block, Block)] == [
        ("heading", 1, "One"), ("heading", 2, "Two"), ("heading", 2, "Own"), ("heading", 4, "Four"),
        ("paragraph", 0, "No"), ("code", 0, "x = 1\ny"), ("caption", 0, "Figure 1"),
    ]  # fmt: skip


LISTS = (
    r"{\*\listtable{\list{\listlevel\levelnfc0\levelstartat3{\leveltext\'02\'00.;}{\levelnumbers\'01;}}"
    r"{\listlevel\levelnfc4\levelstartat1{\leveltext\'04\'00.\'01);}{\levelnumbers\'01\'03;}}\listid7}"
    r"{\list{\listlevel\levelnfc23{\leveltext\'01\u-3913 ?;}\f1}\listid8}}"
    r"{\*\listoverridetable{\listoverride\listid7\listoverridecount0\ls1}{\listoverride\listid8\ls2}"
    r"{\listoverride\listid7\listoverridecount1{\lfolevel\listoverridestartat\levelstartat9}\ls3}}"
)


def test_lists_show_their_labels() -> None:
    body = (
        r"{\listtext 1.\tab}\ls1 one\par\pard{\listtext\f1\'b7\tab}dot\par\pard{\pntext\'95\tab}old\par\pard plain\par"
    )
    assert said(body) == ["item: 1. one", "item: • dot", "item: • old", "paragraph: plain"]
    counted = (
        r"\pard\ls1 a\par b\par\pard\ls1\ilvl1 c\par d\par\pard\ls1 e\par\pard\ls2 f\par\pard\ls3 g\par\pard h\par"
    )
    assert said(counted, LISTS) == [
        "item: 3. a", "item: 4. b", "item: 4.a) c", "item: 4.b) d", "item: 5. e", "item: • f", "item: 9. g",
        "paragraph: h",
    ]  # fmt: skip


def test_tables_with_merged_cells_and_slightly_other_edges() -> None:
    body = r"\trowd\trhdr\cellx2000\cellx4000\cellx6000\pard\intbl Name\cell Age\cell Pay\cell\row"
    body += r"\trowd\clvmgf\cellx2000\cellx4020\cellx6000\pard\intbl Bo\cell 5\par six\cell 1\cell\row"
    body += r"\trowd\clvmrg\cellx2000\clmgf\cellx4000\clmrg\cellx6000\pard\intbl\cell both\cell\cell\row\pard after\par"
    table, rows = grid(body)
    assert rows == [["Name", "Age", "Pay"], ["Bo", "5 six", "1"], ["Bo", "both", "both"]]
    assert table.header_rows == 1
    assert said(body) == ["paragraph: after"]


def test_a_table_in_a_cell_is_part_of_its_text() -> None:
    nested = (
        r"\pard\intbl\itap2 x\nestcell y\nestcell{\*\nesttableprops\trowd\cellx9\cellx18\nestrow}{\nonesttables\par}"
    )
    body = r"\trowd\cellx2000\cellx4000\pard\intbl a\cell " + nested + r"\pard\intbl\itap1 b\cell\row\pard"
    assert grid(body)[1] == [["a", "x, y b"]]


def test_notes_and_comments_stand_behind_their_paragraph() -> None:
    body = r"Said.{\super\chftn}{\footnote\pard {\super\chftn} A foot.} It ends{\super\chftn}"
    body += r"{\footnote\ftnalt\chftn End.}.\par "
    body += r"On {\*\atrfstart 5}these words{\*\atrfend 5}{\*\atnid B}{\*\atnauthor Bo}\chatn"
    body += r"{\*\annotation{\*\atnref 5}Sure?}.\par "
    body += r"Star*{\footnote * By hand.}\par"
    blocks, _facts, _losses = read(rtf(body))
    assert [(b.kind, b.marker, b.text, b.anchor, b.author) for b in blocks if isinstance(b, Block)] == [
        ("paragraph", "", "Said.[1] It ends[i].", "", ""), ("footnote", "[1]", "A foot.", "Said.", ""),
        ("paragraph", "", "On these words.", "", ""), ("comment", "", "Sure?", "these words", "Bo"),
        ("paragraph", "", "Star*", "", ""), ("footnote", "*", "By hand.", "Star*", ""),
        ("footnote", "[i]", "End.", "Said.[1] It ends", ""),
    ]  # fmt: skip


def test_sections_have_headers_footers_and_breaks() -> None:
    page = r"{\field{\*\fldinst PAGE}{\fldrslt 7}}"
    body = (
        r"\sectd\titlepg{\headerf First}{\header Pond club, page "
        + page
        + r" of 9}{\footer Foot \chpgn}{\headerl Left}"
    )
    body += r"One\page Two\par\pard\pagebb Three\par\sect\sectd\pard{\header Annex}Four\par"
    blocks, _facts, losses = read(rtf(body))
    assert [block.text or block.kind for block in blocks if isinstance(block, Block)] == [
        "First", "Pond club,", "One", "page_break", "Two", "page_break", "Three", "Foot", "page_break", "Annex", "Four",
    ]  # fmt: skip
    assert losses == (Loss("hidden_text", 1, "header"),)


def test_pictures_shapes_and_objects() -> None:
    told = r"{\pict{\*\picprop{\sp{\sn wzDescription}{\sv A red boat}}}\pngblip 89504e47}"
    shape = r"{\shp{\*\shpinst\shpleft0{\sp{\sn pib}{\sv {\pict 00}}}{\shptxt\pard in a box\par}}{\shprslt{\pict 00}}}"
    thing = r"{\object\objemb{\*\objclass Excel.Sheet}{\*\objdata 0105}{\result{\pict 00}}}"
    blocks, _facts, losses = read(rtf("Text" + told + r"{\pict 00}" + shape + thing + r"\par"))
    assert [(block.kind, block.text) for block in blocks if isinstance(block, Block)] == [
        ("paragraph", "Text"), ("figure", "A red boat"), ("paragraph", "in a box"),
    ]  # fmt: skip
    assert losses == (Loss("picture", 2, ""), Loss("embedded_object", 1, ""))


def test_hidden_text_is_told_and_equations_are_words_and_latex() -> None:
    math = r"{\msSup{\me{\mr x}}{\msup{\mr 2}}}{\md{\mdPr{\mbegChr [}{\mendChr ]}}{\me{\mr y}}}"
    math = r"{\mmath{\*\moMathPara{\*\moMath" + math + "}}}"
    blocks, _facts, losses = read(rtf(r"a{\v secret}b\par " + math + r"\par"))
    assert losses == (Loss("hidden_text", 1, ""),)
    (_text, equation) = blocks
    assert isinstance(equation, Block)
    assert (equation.kind, equation.text, equation.latex) == ("equation", "x^2[y]", r"x^{2}\left[ y \right]")


def test_facts_and_kind() -> None:
    info = r"{\info{\title The pond \u252?b}{\author Ada}{\company C}{\creatim\yr2024\mo5\dy4\hr9}}"
    data = rtf(r"Text\par", info)
    assert [identify(Upload(name, data))[0] for name in ("a.rtf", "a.doc", "a.txt")] == ["rtf"] * 3
    assert read(data)[1] == {"title": "The pond üb", "author": "Ada", "dated": "", "stamped": "2024-05-04"}
    assert reader("rtf")(Upload("a.rtf", data), "rtf", Rules()).page(1).text == "Text"


@pytest.mark.slow
def test_what_is_broken_is_read_as_far_as_it_goes() -> None:
    blocks, _facts, losses = read(rtf(r"One\par{\b Two")[:-1])
    assert [block.text for block in blocks if isinstance(block, Block)] == ["One", "Two"]
    assert losses == (Loss("part", 1, ""),)
    with pytest.raises(EmptyFileError):
        reader("rtf")(Upload("a.rtf", rtf("")), "rtf", Rules())
    with pytest.raises(TooLargeError):
        reader("rtf")(Upload("a.rtf", rtf("x" * 2_000_000)), "rtf", Rules(max_text_mb=1))


@pytest.mark.slow
@each_of(
    "body, is_empty",
    [
        ("{" * 500_000 + "deep" + "}" * 500_000, False),
        (r"{\b" * 100_000 + " deep", False),
        (r"{\footnote a" * 5_000 + r"\par", True),
        (r"\pard\intbl\itap99999 x\nestcell\nestrow" * 3_000, False),
        (r"{\*\moMath{\mf{\mnum" * 3_000 + r"{\mr x}", True),
        (r"\bin999999999999 x", True),
        (r"\u99999999 \'zz \uc99999 \u1 \cellx99999999999\row\cell\ls9\ilvl99\row x\par", False),
        (r"\trowd" + r"\cellx1" * 100_000 + r"\intbl x\cell\row", False),
        (r"{\shp{\shptxt" * 3_000 + " x", True),
    ],
)  # fmt: skip
def test_traps_of_the_format_end_soon(body: str, is_empty: bool) -> None:
    began = time.monotonic()
    blocks, _facts, _losses = read(rtf(body))
    assert time.monotonic() - began < 20
    assert bool(blocks) or is_empty


@pytest.mark.parametrize("seed", tenth_of(range(150)))
def test_mutants_are_read_or_refused(seed: int) -> None:
    chance = random.Random(seed)
    body = r"\pard\s1{\listtext 1.\tab}\ls1 One\par \'cf\u945?{\b b}{\footnote\chftn n}\par\trowd"
    body += r"\clmgf\cellx9\clmrg\cellx20\pard\intbl a\cell b\cell\row{\field{\*\fldinst PAGE}{\fldrslt 1}}"
    body += r"{\shp{\*\shpinst{\shptxt box}}}{\pict 0a}\par"
    data = bytearray(rtf(body, LISTS))
    for _time in range(4):
        one, other = sorted(chance.randrange(8, len(data)) for _end in range(2))
        way = chance.randrange(4)
        if way == 0:
            data[one] = chance.choice(b"{}\\'u0*;\x00\xff")
        elif way == 1:
            del data[one : min(other, one + 40)]
        elif way == 2:
            data[one:one] = data[other : other + 60]
        else:
            del data[other:]
    with contextlib.suppress(ReadingError):
        reader("rtf")(Upload("a.rtf", bytes(data)), "rtf", Rules())


def test_cells_beyond_the_bound_are_left_out_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("docmind.reading.formats.rtf.flow.MOST_CELLS", 5)
    (table,), _facts, losses = read(rtf(r"\trowd\cellx100\cellx200\intbl Oak\cell 12\cell\row" * 4))
    assert isinstance(table, Table)
    assert [[shown_in(cell) for cell in row] for row in table.rows] == [["Oak", "12"]] * 2
    assert [(loss.kind, loss.count) for loss in losses] == [("cell", 4)]
