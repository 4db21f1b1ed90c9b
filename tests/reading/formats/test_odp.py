"""OpenDocument presentations: what each slide shows, in reading order, and what is told of the rest."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from archives import packed
from docmind.blocks import unpack
from docmind.errors import CorruptFileError, UnsupportedFileError
from docmind.reading.file_type import identify
from docmind.reading.formats import Opened, Rules, reader
from docmind.records.documents import Loss, Upload
from mutants import mutants, read_or_refuse
from sampled import tenth_of

NAMES = (
    "office", "text", "table", "style", "meta", "chart", "form", "manifest", "presentation", ("draw", "drawing"),
    ("fo", "xsl-fo-compatible"), ("svg", "svg-compatible"),
)  # fmt: skip
SPACES = " ".join(
    [
        *(
            f'xmlns:{prefix}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
            for prefix, name in (each if isinstance(each, tuple) else (each, each) for each in NAMES)
        ),
        'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:xlink="http://www.w3.org/1999/xlink"',
    ]
)
MIME = "application/vnd.oasis.opendocument.presentation"
AUTOMATIC = """
<style:style style:name="dp2" style:family="drawing-page">
 <style:drawing-page-properties presentation:visibility="hidden"/></style:style>
<text:list-style style:name="L1">
 <text:list-level-style-bullet text:level="1" text:bullet-char="●"/>
 <text:list-level-style-bullet text:level="2" text:bullet-char="–"/>
</text:list-style>
"""
MASTERS = """
<office:master-styles><style:master-page style:name="Default">
 <draw:frame svg:x="1cm" svg:y="18cm" svg:width="5cm" svg:height="1cm"><draw:text-box>
  <text:p>Otter Institute, confidential</text:p></draw:text-box></draw:frame>
 <draw:frame presentation:class="title" presentation:placeholder="true"><draw:text-box>
  <text:p>Click to edit the title</text:p></draw:text-box></draw:frame>
</style:master-page></office:master-styles>
"""


def frame(inner: str, kind: str = "", at: tuple[float, float, float, float] | None = None, more: str = "") -> str:
    said = f' presentation:class="{kind}"' if kind else ""
    if at is not None:
        said += "".join(f' svg:{n}="{v}cm"' for n, v in zip(("x", "y", "width", "height"), at, strict=True))
    return f"<draw:frame{said} {more}>{inner}</draw:frame>"


def box(text: str, kind: str = "", at: tuple[float, float, float, float] | None = None, more: str = "") -> str:
    inner = text if text.startswith("<") else f"<text:p>{text}</text:p>"
    return frame(f"<draw:text-box>{inner}</draw:text-box>", kind, at, more)


def page(inner: str, more: str = "") -> str:
    return f'<draw:page draw:name="p" draw:master-page-name="Default" {more}>{inner}</draw:page>'


def deck(pages: str, parts: Mapping[str, str] | None = None) -> bytes:
    content = f"<office:automatic-styles>{AUTOMATIC}</office:automatic-styles>"
    body = f"<office:body><office:presentation>{pages}</office:presentation></office:body>"
    return packed(
        {
            "mimetype": MIME,
            "content.xml": f"<office:document-content {SPACES}>{content}{body}</office:document-content>",
            "styles.xml": f"<office:document-styles {SPACES}>{MASTERS}</office:document-styles>",
            **(parts or {}),
        }
    )


def opened(data: bytes, name: str = "a.odp") -> Opened:
    kind, upload = identify(Upload(name, data))
    assert kind == "odp"
    return reader(kind)(upload, kind, Rules())


def texts(data: bytes) -> list[str]:
    deck = opened(data)
    return [deck.page(number).text for number in range(1, deck.pages + 1)]


FOOTER = "\n\nOtter Institute, confidential"


def test_a_slide_is_a_page_with_its_title_and_its_bullets() -> None:
    items = (
        '<text:list text:style-name="L1"><text:list-item><text:p>Otters eat fish</text:p>'
        "<text:list><text:list-item><text:p>and crabs</text:p></text:list-item></text:list>"
        "</text:list-item></text:list>"
    )
    first = box(items, "outline", (2, 5, 20, 10)) + box("What otters<text:line-break/>eat", "title", (2, 1, 20, 3))
    deck_ = opened(deck(page(first) + page(box("Thanks", "title"))))
    assert deck_.pages == 2
    shown = deck_.page(1)
    assert shown.text == f"What otters eat\n\n• Otters eat fish\n\n– and crabs{FOOTER}"
    kinds = [(block.kind, block.level, block.path) for block in unpack(shown.blocks, len(shown.text))]
    assert kinds[:3] == [
        ("heading", 1, ()), ("item", 0, ("What otters eat",)), ("item", 1, ("What otters eat",)),
    ]  # fmt: skip
    assert deck_.page(2).text == "Thanks"


def test_shapes_are_read_as_they_stand_on_the_slide() -> None:
    inner = box("right", "", (14, 5, 8, 8)) + box("left", "", (2, 5, 8, 8)) + box("top", "", (2, 1, 20, 2))
    shape = "<draw:g><draw:custom-shape><text:p>in a group</text:p></draw:custom-shape></draw:g>"
    (text,) = texts(deck(page(inner)))
    assert text == f"top\n\nleft\n\nright{FOOTER}"
    (text,) = texts(deck(page(inner + shape)))
    assert text == f"right\n\nleft\n\ntop\n\nin a group{FOOTER}"


def test_notes_comments_and_hidden_slides_are_told_apart() -> None:
    notes = f"<presentation:notes>{box('Speak slowly.', 'notes')}{box('7', 'page-number')}</presentation:notes>"
    comment = "<office:annotation><dc:creator>Ann</dc:creator><text:p>Is this so?</text:p></office:annotation>"
    (text,) = texts(deck(page(comment + box("Plan", "title") + notes, 'draw:style-name="dp2"')))
    assert text == f"Plan (hidden){FOOTER}\n\nNotes: Speak slowly.\n\nComment by Ann: Is this so?"


def test_a_slide_shows_its_number_and_its_declared_footer_once() -> None:
    declared = '<presentation:footer-decl presentation:name="f1">Draft of May</presentation:footer-decl>'
    inner = box("<text:p>Slide <text:page-number>&lt;number&gt;</text:page-number></text:p>")
    pages = page(inner, 'presentation:use-footer-name="f1"') * 2
    assert texts(deck(declared + pages)) == [f"Slide 1\n\nDraft of May{FOOTER}", "Slide 2"]


def test_places_that_nobody_filled_are_left_out() -> None:
    inner = box("Click to add a title", "title", None, 'presentation:placeholder="true"') + box("Otters")
    assert texts(deck(page(inner))) == [f"Otters{FOOTER}"]


def test_tables_pictures_and_charts_are_read_or_counted() -> None:
    row = "<table:table-row><table:table-cell><text:p>{}</text:p></table:table-cell>"
    row += "<table:table-cell><text:p>{}</text:p></table:table-cell></table:table-row>"
    table = frame(f"<table:table>{row.format('Pond', 'Otters')}{row.format('North', '12')}</table:table>")
    told = frame('<draw:image xlink:href="Pictures/1.png"/><svg:desc>An otter on its back</svg:desc>')
    silent = frame('<draw:image xlink:href="Pictures/2.png"/>')
    film = frame('<draw:plugin xlink:href="Media/1.mp4"/>')
    one = opened(deck(page(table + told + silent + film)))
    assert one.page(1).text == f"Pond | Otters\nNorth | 12\n\nAn otter on its back{FOOTER}"
    assert one.losses == (Loss("picture", 1, "slide 1"), Loss("media", 1, "slide 1"))


def test_flat_files_and_templates_are_read_and_locked_ones_are_refused() -> None:
    body = f"<office:body><office:presentation>{page(box('Otters', 'title'))}</office:presentation></office:body>"
    meta = "<office:meta><dc:title>Ponds and otters</dc:title><dc:creator>Ann</dc:creator></office:meta>"
    flat = f'<?xml version="1.0"?>\n<office:document {SPACES} office:mimetype="{MIME}">{meta}{body}</office:document>'
    one = opened(flat.encode(), "a.fodp")
    assert (one.page(1).text, one.facts["title"], one.facts["author"]) == ("Otters", "Ponds and otters", "Ann")
    assert opened(deck(page(box("x")), {"mimetype": f"{MIME}-template"}), "a.otp").pages == 1
    manifest = f"<manifest:manifest {SPACES}><manifest:encryption-data/></manifest:manifest>"
    with pytest.raises(UnsupportedFileError, match="locked with a password"):
        opened(deck(page(box("x")), {"META-INF/manifest.xml": manifest}))
    with pytest.raises(CorruptFileError):
        opened(deck("", {"content.xml": f"<office:document-content {SPACES}><office:body/></office:document-content>"}))


def test_mutants_are_read_or_refused() -> None:
    body = page(box("Otters", "title", (1, 1, 5, 5)) + box("A text", "", (1, 9, 5, 5))) * 2
    flat = f'<office:document {SPACES} office:mimetype="{MIME}"><office:automatic-styles>{AUTOMATIC}'
    flat += f"</office:automatic-styles>{MASTERS}<office:body><office:presentation>{body}</office:presentation>"
    flat += "</office:body></office:document>"
    assert read_or_refuse("a.fodp", flat.encode()) == 2
    for mutant in tenth_of(mutants(flat.encode(), 150)):
        read_or_refuse("a.fodp", mutant)
    for mutant in tenth_of(mutants(deck(body), 100)):
        read_or_refuse("a.odp", mutant)
