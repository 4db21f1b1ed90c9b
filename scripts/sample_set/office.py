"""Write the files of office programs, of pages of blocks; the same blocks give the same bytes."""

from __future__ import annotations

import datetime as dt
import io
import zipfile
from collections.abc import Mapping, Sequence
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import docx
import openpyxl
from sources import Block

MADE = dt.datetime(2025, 1, 2, 9, 0)  # noqa: DTZ001, files of office programs say no zone
_A = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
_P = 'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"'
_R = 'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
_RELATION = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PART = "application/vnd.openxmlformats-officedocument.presentationml"
_BOLD = ' fo:font-weight="bold"'
_ODF = "urn:oasis:names:tc:opendocument:xmlns"
_GROUP = '<p:nvGrpSpPr><p:cNvPr id="1" name=""/><p:cNvGrpSpPr/><p:nvPr/></p:nvGrpSpPr><p:grpSpPr/>'


def zipped(parts: Mapping[str, str | bytes]) -> bytes:
    """Return an archive of parts in their order, all of one day; a part named `mimetype` is not compressed."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in parts.items():
            entry = zipfile.ZipInfo(name, MADE.timetuple()[:6])
            entry.compress_type = zipfile.ZIP_STORED if name == "mimetype" else zipfile.ZIP_DEFLATED
            entry.create_system = 3
            archive.writestr(entry, content)
    return out.getvalue()


def word(pages: Sequence[Sequence[Block]], title: str) -> bytes:
    """Return a Word document whose pages end where a page of blocks ends."""
    document = docx.Document()
    told = document.core_properties
    told.title, told.created, told.modified = title, MADE, MADE
    told.author = told.comments = told.last_modified_by = ""
    for number, blocks in enumerate(pages):
        if number:
            document.add_page_break()
        for block in blocks:
            _add(document, block)
    return _same(document)


def _add(document: Any, block: Block) -> None:
    if block.kind == "table":
        table = document.add_table(rows=0, cols=len(block.rows[0]), style="Table Grid")
        for row in block.rows:
            for cell, text in zip(table.add_row().cells, row, strict=True):
                cell.text = text
    elif block.kind == "items":
        for (item,) in block.rows:
            document.add_paragraph(item, style="List Bullet")
    elif block.kind == "text":
        document.add_paragraph(block.text)
    else:
        document.add_heading(block.text, level=int(block.kind[1]))


def workbook(sheets: Sequence[tuple[str, Sequence[Sequence[Any]]]], title: str) -> bytes:
    """Return a workbook: the name and the rows of each sheet."""
    book = openpyxl.Workbook()
    book.remove(book.worksheets[0])
    book.properties.title, book.properties.creator = title, None
    book.properties.created = book.properties.modified = MADE
    for name, rows in sheets:
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(list(row))
        sheet.column_dimensions["A"].width = sheet.column_dimensions["B"].width = 34
    parts = _parts(_saved(book))
    stamp = parts["docProps/core.xml"].decode()
    start, end = stamp.index("<dcterms:modified"), stamp.index("</dcterms:modified>")
    opened = stamp.index(">", start) + 1
    parts["docProps/core.xml"] = (stamp[:opened] + MADE.isoformat() + "Z" + stamp[end:]).encode()
    return zipped(parts)


def _same(document: Any) -> bytes:
    return zipped(_parts(_saved(document)))


def _saved(document: Any) -> bytes:
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def _parts(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def open_text(pages: Sequence[Sequence[Block]], title: str) -> bytes:
    """Return an OpenDocument text whose pages end where a page of blocks ends."""
    body = [
        _odf(block, is_first=number > 0 and at == 0)
        for number, blocks in enumerate(pages)
        for at, block in enumerate(blocks)
    ]
    names = " ".join(
        f'xmlns:{short}="{_ODF}:{name}:1.0"'
        for short, name in (("office", "office"), ("text", "text"), ("style", "style"))
    )
    names += f' xmlns:fo="{_ODF}:xsl-fo-compatible:1.0" xmlns:dc="http://purl.org/dc/elements/1.1/"'
    head = '<?xml version="1.0" encoding="UTF-8"?>'
    styles = "".join(
        f'<style:style style:name="{name}{new}" style:family="paragraph"><style:paragraph-properties{breaks} '
        f'fo:margin-bottom="0.25cm"/><style:text-properties fo:font-size="{size}"{bold}/></style:style>'
        for name, size, bold in (("text", "11pt", ""), ("h1", "18pt", _BOLD), ("h2", "13pt", _BOLD))
        for new, breaks in (("", ""), ("-new", ' fo:break-before="page"'))
    )
    styles += (
        '<text:list-style style:name="items"><text:list-level-style-bullet text:level="1" text:bullet-char="•"/>'
        "</text:list-style>"
    )
    kind = "application/vnd.oasis.opendocument.text"
    files = "".join(
        f'<manifest:file-entry manifest:full-path="{path}" manifest:media-type="{media}"/>'
        for path, media in (("/", kind), ("content.xml", "text/xml"), ("meta.xml", "text/xml"))
    )
    return zipped(
        {
            "mimetype": kind,
            "content.xml": f'{head}<office:document-content {names} office:version="1.3"><office:automatic-styles>'
            f"{styles}</office:automatic-styles><office:body><office:text>{''.join(body)}</office:text></office:body>"
            "</office:document-content>",
            "meta.xml": f'{head}<office:document-meta {names} office:version="1.3"><office:meta>'
            f"<dc:title>{escape(title)}</dc:title></office:meta></office:document-meta>",
            "META-INF/manifest.xml": f'{head}<manifest:manifest xmlns:manifest="{_ODF}:manifest:1.0" '
            f'manifest:version="1.3">{files}</manifest:manifest>',
        }
    )


def _odf(block: Block, *, is_first: bool) -> str:
    if block.kind == "items":
        rows = "".join(
            f'<text:list-item><text:p text:style-name="text">{escape(item)}</text:p></text:list-item>'
            for (item,) in block.rows
        )
        return f'<text:list text:style-name="items">{rows}</text:list>'
    style = f'text:style-name="{block.kind}{"-new" if is_first else ""}"'
    if block.kind == "text":
        return f"<text:p {style}>{escape(block.text)}</text:p>"
    if block.kind in {"h1", "h2"}:
        return f'<text:h {style} text:outline-level="{block.kind[1]}">{escape(block.text)}</text:h>'
    raise ValueError(f"an OpenDocument text of the set has no {block.kind}")


def deck(slides: Sequence[Mapping[str, Any]], title: str) -> bytes:
    """Return a presentation; a slide has a `title`, `lines`, and perhaps a `table` of rows."""
    head = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'
    names = [f"ppt/slides/slide{number}.xml" for number in range(1, len(slides) + 1)]
    kinds = {
        "ppt/presentation.xml": "presentation.main", "ppt/slideMasters/slideMaster1.xml": "slideMaster",
        "ppt/slideLayouts/slideLayout1.xml": "slideLayout", **dict.fromkeys(names, "slide"),
    }  # fmt: skip
    types = "".join(f'<Override PartName="/{name}" ContentType="{_PART}.{kind}+xml"/>' for name, kind in kinds.items())
    theme = "application/vnd.openxmlformats-officedocument.theme+xml"
    core = "application/vnd.openxmlformats-package.core-properties+xml"
    layout = _relations({"rId1": ("slideLayout", "../slideLayouts/slideLayout1.xml")})
    listed = "".join(f'<p:sldId id="{255 + number}" r:id="rId{number + 1}"/>' for number in range(1, len(slides) + 1))
    back = {"rId1": ("slideLayout", "../slideLayouts/slideLayout1.xml"), "rId2": ("theme", "../theme/theme1.xml")}
    parts: dict[str, str | bytes] = {
        "[Content_Types].xml": f'{head}<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'{types}<Override PartName="/ppt/theme/theme1.xml" ContentType="{theme}"/>'
        f'<Override PartName="/docProps/core.xml" ContentType="{core}"/></Types>',
        "_rels/.rels": head + _relations({"rId1": ("officeDocument", "ppt/presentation.xml")}, core=True),
        "docProps/core.xml": f'{head}<cp:coreProperties xmlns:cp="http://schemas.openxmlformats.org/package/2006/'
        'metadata/core-properties" xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f"<dc:title>{escape(title)}</dc:title></cp:coreProperties>",
        "ppt/presentation.xml": f"{head}<p:presentation {_A} {_R} {_P}><p:sldMasterIdLst><p:sldMasterId "
        f'id="2147483648" r:id="rId1"/></p:sldMasterIdLst><p:sldIdLst>{listed}</p:sldIdLst>'
        '<p:sldSz cx="9144000" cy="6858000"/><p:notesSz cx="6858000" cy="9144000"/></p:presentation>',
        "ppt/_rels/presentation.xml.rels": head
        + _relations(
            {"rId1": ("slideMaster", "slideMasters/slideMaster1.xml")}
            | {f"rId{at}": ("slide", name.removeprefix("ppt/")) for at, name in enumerate(names, start=2)}
        ),
        "ppt/slideMasters/slideMaster1.xml": f"{head}<p:sldMaster {_A} {_R} {_P}><p:cSld><p:spTree>{_GROUP}"
        '</p:spTree></p:cSld><p:clrMap bg1="lt1" tx1="dk1" bg2="lt2" tx2="dk2" accent1="accent1" accent2="accent2" '
        'accent3="accent3" accent4="accent4" accent5="accent5" accent6="accent6" hlink="hlink" folHlink="folHlink"/>'
        '<p:sldLayoutIdLst><p:sldLayoutId id="2147483649" r:id="rId1"/></p:sldLayoutIdLst></p:sldMaster>',
        "ppt/slideMasters/_rels/slideMaster1.xml.rels": head + _relations(back),
        "ppt/slideLayouts/slideLayout1.xml": f"{head}<p:sldLayout {_A} {_R} {_P}><p:cSld><p:spTree>{_GROUP}"
        "</p:spTree></p:cSld><p:clrMapOvr><a:masterClrMapping/></p:clrMapOvr></p:sldLayout>",
        "ppt/slideLayouts/_rels/slideLayout1.xml.rels": head
        + _relations({"rId1": ("slideMaster", "../slideMasters/slideMaster1.xml")}),
        "ppt/theme/theme1.xml": head + _theme(),
    }
    for name, slide in zip(names, slides, strict=True):
        parts[name] = head + _slide(slide)
        parts[f"ppt/slides/_rels/{name.rsplit('/', 1)[1]}.rels"] = head + layout
    return zipped(parts)


def _relations(targets: Mapping[str, tuple[str, str]], *, core: bool = False) -> str:
    rows = "".join(
        f'<Relationship Id="{key}" Type="{_RELATION}/{kind}" Target="{target}"/>'
        for key, (kind, target) in targets.items()
    )
    package = "http://schemas.openxmlformats.org/package/2006/relationships"
    if core:
        rows += f'<Relationship Id="rId9" Type="{package}/metadata/core-properties" Target="docProps/core.xml"/>'
    return f'<Relationships xmlns="{package}">{rows}</Relationships>'


def _slide(slide: Mapping[str, Any]) -> str:
    shapes = _shape(2, slide["title"], [slide["title"]], "title", (457200, 274638, 8229600, 1143000))
    shapes += _shape(3, "Text", slide["lines"], "body", (457200, 1600200, 8229600, 2286000))
    if rows := slide.get("table"):
        shapes += _table(rows)
    return (
        f"<p:sld {_A} {_R} {_P}><p:cSld><p:spTree>{_GROUP}{shapes}</p:spTree></p:cSld>"
        "<p:clrMapOvr><a:masterClrMapping/></p:clrMapOvr></p:sld>"
    )


def _shape(number: int, name: str, lines: Sequence[str], kind: str, frame: tuple[int, int, int, int]) -> str:
    left, top, width, height = frame
    texts = "".join(f'<a:p><a:r><a:rPr lang="pt-PT"/><a:t>{escape(line)}</a:t></a:r></a:p>' for line in lines)
    index = ' idx="1"' if kind == "body" else ""
    return (
        f'<p:sp><p:nvSpPr><p:cNvPr id="{number}" name={quoteattr(name)}/><p:cNvSpPr/><p:nvPr>'
        f'<p:ph type="{kind}"{index}/></p:nvPr></p:nvSpPr><p:spPr><a:xfrm><a:off x="{left}" y="{top}"/>'
        f'<a:ext cx="{width}" cy="{height}"/></a:xfrm><a:prstGeom prst="rect"><a:avLst/></a:prstGeom></p:spPr>'
        f"<p:txBody><a:bodyPr/><a:lstStyle/>{texts}</p:txBody></p:sp>"
    )


def _table(rows: Sequence[Sequence[str]]) -> str:
    width = 8229600 // len(rows[0])
    grid = f'<a:gridCol w="{width}"/>' * len(rows[0])
    cells = "".join(
        '<a:tr h="370840">'
        + "".join(
            f"<a:tc><a:txBody><a:bodyPr/><a:lstStyle/><a:p><a:r><a:rPr/><a:t>{escape(cell)}</a:t></a:r></a:p>"
            "</a:txBody><a:tcPr/></a:tc>"
            for cell in row
        )
        + "</a:tr>"
        for row in rows
    )
    return (
        '<p:graphicFrame><p:nvGraphicFramePr><p:cNvPr id="4" name="Table"/><p:cNvGraphicFramePr/><p:nvPr/>'
        '</p:nvGraphicFramePr><p:xfrm><a:off x="457200" y="4000000"/><a:ext cx="8229600" cy="1854200"/></p:xfrm>'
        '<a:graphic><a:graphicData uri="http://schemas.openxmlformats.org/drawingml/2006/table"><a:tbl>'
        f'<a:tblPr firstRow="1"/><a:tblGrid>{grid}</a:tblGrid>{cells}</a:tbl></a:graphicData></a:graphic>'
        "</p:graphicFrame>"
    )


def _theme() -> str:
    shades = {"dk1": "000000", "lt1": "FFFFFF", "dk2": "1F3A4D", "lt2": "EEF2F4", "hlink": "0563C1"}
    shades |= {"folHlink": "954F72", **{f"accent{number}": "3B7A57" for number in range(1, 7)}}
    order = ("dk1", "lt1", "dk2", "lt2", *(f"accent{number}" for number in range(1, 7)), "hlink", "folHlink")
    scheme = "".join(f'<a:{name}><a:srgbClr val="{shades[name]}"/></a:{name}>' for name in order)
    font = '<a:latin typeface="Calibri"/><a:ea typeface=""/><a:cs typeface=""/>'
    fill = '<a:solidFill><a:schemeClr val="phClr"/></a:solidFill>'
    return (
        f'<a:theme {_A} name="Plain"><a:themeElements><a:clrScheme name="Plain">{scheme}</a:clrScheme>'
        f'<a:fontScheme name="Plain"><a:majorFont>{font}</a:majorFont><a:minorFont>{font}</a:minorFont></a:fontScheme>'
        f'<a:fmtScheme name="Plain"><a:fillStyleLst>{fill * 3}</a:fillStyleLst>'
        f"<a:lnStyleLst>{f'<a:ln>{fill}</a:ln>' * 3}</a:lnStyleLst>"
        f"<a:effectStyleLst>{'<a:effectStyle><a:effectLst/></a:effectStyle>' * 3}</a:effectStyleLst>"
        f"<a:bgFillStyleLst>{fill * 3}</a:bgFillStyleLst></a:fmtScheme></a:themeElements></a:theme>"
    )
