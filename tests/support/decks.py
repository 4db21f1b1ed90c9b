"""Presentations of PowerPoint, made of fragments of their XML: a slide from its shapes, a shape from its paragraphs."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from xml.sax.saxutils import escape, quoteattr

_NAMES = (
    'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" '
    'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" '
    'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" '
    'xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart" '
    'xmlns:dgm="http://schemas.openxmlformats.org/drawingml/2006/diagram" '
    'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" '
    'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math" '
    'xmlns:a14="http://schemas.microsoft.com/office/drawing/2010/main"'
)
_TYPE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/"
_TYPES = (
    '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="xml" ContentType="application/xml"/></Types>'
)
_BULLETS = "".join(
    f'<a:lvl{level}pPr><a:buFont typeface="Arial"/><a:buChar char="•"/><a:defRPr sz="{3000 - 200 * level}"/>'
    f"</a:lvl{level}pPr>"
    for level in range(1, 6)
)
MASTER = (
    '<p:txStyles><p:titleStyle><a:lvl1pPr><a:buNone/><a:defRPr sz="4400"/></a:lvl1pPr></p:titleStyle>'
    f"<p:bodyStyle>{_BULLETS}</p:bodyStyle><p:otherStyle/></p:txStyles>"
)


@dataclass(frozen=True, slots=True)
class SlideOf:
    """A slide: its shapes, the attributes of its root, and its parts by relation: type, name and XML."""

    shapes: str
    attributes: str = ""
    notes: str = ""
    parts: Sequence[tuple[str, str, str]] = field(default_factory=tuple)


def para(text: str = "", properties: str = "", runs: str = "") -> str:
    """Return a paragraph: of a text, or of runs."""
    return (
        f"<a:p><a:pPr{properties}</a:pPr>{runs or run(text)}</a:p>" if properties else f"<a:p>{runs or run(text)}</a:p>"
    )


def level(number: int, inner: str = "") -> str:
    """Return the properties of a paragraph on a level from 0."""
    return f' lvl="{number}">{inner}'


def run(text: str, properties: str = "") -> str:
    """Return a run of text; `properties` are attributes."""
    return f"<a:r><a:rPr {properties}/><a:t>{escape(text)}</a:t></a:r>"


def shape(
    paragraphs: str, kind: str | None = None, *, index: int = 0, at: tuple[int, int, int, int] | None = None,
    described: str = "", style: str = "",
) -> str:  # fmt: skip
    """Return a text box, or a placeholder of a kind; `at` is left, top, width and height."""
    name = f'<p:ph{f" type={quoteattr(kind)}" if kind else ""} idx="{index}"/>' if kind is not None else ""
    return (
        f'<p:sp><p:nvSpPr><p:cNvPr id="2" name="A shape" descr={quoteattr(described)}/><p:cNvSpPr/>'
        f"<p:nvPr>{name}</p:nvPr></p:nvSpPr><p:spPr>{frame_at(at)}</p:spPr>"
        f"<p:txBody><a:bodyPr/><a:lstStyle>{style}</a:lstStyle>{paragraphs}</p:txBody></p:sp>"
    )


def title(text: str) -> str:
    """Return the title of a slide."""
    return shape(para(text), "title")


def body(*texts: str) -> str:
    """Return the body of a slide, an item for each text."""
    return shape("".join(map(para, texts)), "", index=1)


def frame_at(at: tuple[int, int, int, int] | None, name: str = "a:xfrm") -> str:
    """Return where a shape stands."""
    if at is None:
        return ""
    left, top, width, height = at
    return f'<{name}><a:off x="{left}" y="{top}"/><a:ext cx="{width}" cy="{height}"/></{name}>'


def frame(content: str, described: str = "", at: tuple[int, int, int, int] | None = None) -> str:
    """Return what holds a table, a chart or a diagram."""
    return (
        f'<p:graphicFrame><p:nvGraphicFramePr><p:cNvPr id="9" name="Frame" descr={quoteattr(described)}/>'
        f"<p:cNvGraphicFramePr/><p:nvPr/></p:nvGraphicFramePr>{frame_at(at, 'p:xfrm')}"
        f'<a:graphic><a:graphicData uri="any">{content}</a:graphicData></a:graphic></p:graphicFrame>'
    )


def table(rows: Sequence[Sequence[str | tuple[str, str]]], look: str = 'firstRow="1"') -> str:
    """Return a table; a cell may be a text and its attributes."""
    cells = [[(cell, "") if isinstance(cell, str) else cell for cell in row] for row in rows]
    filled = "".join(
        "<a:tr h='1'>"
        + "".join(f"<a:tc {said}><a:txBody><a:bodyPr/>{para(text)}</a:txBody><a:tcPr/></a:tc>" for text, said in row)
        + "</a:tr>"
        for row in cells
    )
    return frame(f"<a:tbl><a:tblPr {look}/><a:tblGrid/>{filled}</a:tbl>")


def picture(described: str = "", inner: str = "", blip: str = 'r:embed="rIdNone"', extra: str = "") -> str:
    """Return a picture."""
    return (
        f'<p:pic><p:nvPicPr><p:cNvPr id="5" name="Picture 4" descr={quoteattr(described)}>{extra}</p:cNvPr>'
        f"<p:cNvPicPr/><p:nvPr>{inner}</p:nvPr></p:nvPicPr><p:blipFill><a:blip {blip}/></p:blipFill><p:spPr/></p:pic>"
    )


def deck(
    slides: Sequence[SlideOf | str], *, main: str = "", layout: str = "", layout_type: str = "", master: str = "",
    styles: str = MASTER, order: Sequence[int] | None = None, authors: Mapping[str, str] | None = None, core: str = "",
) -> bytes:  # fmt: skip
    """Return a presentation of slides that have one layout and one master, of the shapes given for these.

    `order` says in which order the parts of the slides (from 1) are shown; `main` is further XML of the presentation,
    `authors` are parts with those who comment, by relation.
    """
    parts = dict[str, str]()
    links = dict[str, str]()
    shown = order if order is not None else range(1, len(slides) + 1)
    for number, given in enumerate(slides, 1):
        slide = SlideOf(given) if isinstance(given, str) else given
        name = f"ppt/slides/slide{number}.xml"
        parts[name] = _xml("sld", slide.shapes, slide.attributes)
        related = [("slideLayout", "../slideLayouts/slideLayout1.xml", "rIdLayout")]
        if slide.notes:
            related.append(("notesSlide", f"../notesSlides/notesSlide{number}.xml", "rIdNotes"))
            parts[f"ppt/notesSlides/notesSlide{number}.xml"] = _xml("notes", slide.notes)
        for at, (kind, target, xml) in enumerate(slide.parts):
            related.append((kind, target if ":" in target else f"../more/{target}", f"rId{at}"))
            if ":" not in target:
                parts[f"ppt/more/{target}"] = xml
        links[name] = _relations(related)
    parts["ppt/slideLayouts/slideLayout1.xml"] = _xml(
        "sldLayout", layout, layout_type and f"type={quoteattr(layout_type)}"
    )
    links["ppt/slideLayouts/slideLayout1.xml"] = _relations(
        [("slideMaster", "../slideMasters/slideMaster1.xml", "rId1")]
    )
    parts["ppt/slideMasters/slideMaster1.xml"] = _xml("sldMaster", master, behind=styles)
    listed = "".join(f'<p:sldId id="{256 + at}" r:id="rIdSlide{number}"/>' for at, number in enumerate(shown))
    parts["ppt/presentation.xml"] = f"<p:presentation {_NAMES}><p:sldIdLst>{listed}</p:sldIdLst>{main}</p:presentation>"
    named = [("slide", f"slides/slide{number}.xml", f"rIdSlide{number}") for number in range(1, len(slides) + 1)]
    for kind, xml in (authors or {}).items():
        named.append((kind, f"{kind}.xml", f"rId{kind}"))
        parts[f"ppt/{kind}.xml"] = xml
    links["ppt/presentation.xml"] = _relations(named)
    parts["docProps/core.xml"] = (
        '<cp:coreProperties xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties" '
        'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/">'
        f"{core}</cp:coreProperties>"
    )
    return _packed(parts, links)


def xml_of(name: str, inner: str) -> str:
    """Return the XML of a part with an element as its root, such as `c:chartSpace`."""
    return f"<{name} {_NAMES}>{inner}</{name}>"


def _xml(name: str, shapes: str, attributes: str = "", behind: str = "") -> str:
    group = '<p:nvGrpSpPr><p:cNvPr id="1" name=""/><p:cNvGrpSpPr/><p:nvPr/></p:nvGrpSpPr><p:grpSpPr/>'
    tree = f"<p:cSld><p:spTree>{group}{shapes}</p:spTree></p:cSld>"
    return f"<p:{name} {_NAMES} {attributes}>{tree}{behind}</p:{name}>"


def _relations(related: Sequence[tuple[str, str, str]]) -> str:
    said = ""
    for kind, target, key in related:
        mode = 'TargetMode="External"' if ":" in target else ""
        name = kind if ":" in kind else _TYPE + kind
        said += f'<Relationship Id="{key}" Type="{name}" Target="{target}" {mode}/>'
    return f'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{said}</Relationships>'


def _packed(parts: Mapping[str, str], links: Mapping[str, str]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", _TYPES)
        archive.writestr("_rels/.rels", _relations([
            ("officeDocument", "ppt/presentation.xml", "rId1"), ("core-properties", "docProps/core.xml", "rId2"),
        ]))  # fmt: skip
        for name, xml in parts.items():
            archive.writestr(name, xml)
        for name, xml in links.items():
            folder, _slash, own = name.rpartition("/")
            archive.writestr(f"{folder}/_rels/{own}.rels", xml)
    return out.getvalue()
