"""Addresses of the reader: pages with their words, what was cited, search within a document, heat maps, downloads.

Each answers from the open vault, behind the guard, without a run of the page. Ids in an address are only looked up.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from docmind import visual
from docmind.errors import NotFoundError
from docmind.reading import ocr_text
from docmind.records.answers import Source
from docmind.records.conversations import Turn
from docmind.records.search import Quad
from docmind.rich_text import flow, one_line, visible
from docmind.ui.app.errors import attempt
from docmind.ui.app.format import data_url, language
from docmind.ui.app.heat import has_heat, strongest
from docmind.ui.app.page_links import Cited, cited_of, source_at
from docmind.ui.app.routes import FIGURE_IMAGES, ORIGINALS, PAGE_IMAGES, attachment, route
from docmind.ui.reader.xray import XRAY_ROUTES
from docmind.wording import _

if TYPE_CHECKING:
    from docmind.application import DocMind

_WORDS_TO_CHOOSE = 10


def _page(docmind: DocMind, request: Request) -> Response:
    """Answer with the facts of a page and its words: `[text, x, y, width, height, joint]` in page-image pixels."""
    read = docmind.reader.page(request.path_params["doc_id"], request.path_params["page_no"])
    page = read.page
    cited = request.query_params.get("from")
    # The conversation is read only where a model draws heat maps: it costs more than all the rest.
    draws = bool(cited) and attempt(lambda: docmind.visual.is_on("late")) is True
    question = _question(docmind, cited_of(cited)) if cited and draws else ""
    facts = [language(page.language)] if page.language else []
    facts.append(
        {
            "layer": _("Text from the file") if page.ocr is None else _("Text from the file, words on pictures by OCR"),
            "ocr": ocr_text(page.ocr, page.confidence) if page.ocr is not None else _("Text by OCR"),
            "none": _("No text was found on this page"),
        }[page.text_source]
    )
    return JSONResponse(
        {
            "doc": page.doc_id,
            "page": page.page_no,
            "pages": page.pages,
            "name": one_line(page.document),
            "title": one_line(docmind.documents.label(page.doc_id, page.document)),
            "width": page.width,
            "height": page.height,
            "facts": facts,
            "words": [
                [visible(word.text), *(round(side, 1) for side in word.box), word.joint]
                for word in read.words
                if word.box.w > 0 and word.box.h > 0
            ],
            "heat": has_heat(docmind, question, page.doc_id, page.page_no),
        }
    )


def _cited(docmind: DocMind, request: Request) -> Response:
    """Answer with a source: what was quoted, and the shapes of its lines on the page as it was when it was cited."""
    source = _source(docmind, request)
    return JSONResponse(
        {
            "doc": source.doc_id,
            "page": source.page_no,
            "n": source.n,
            "name": one_line(docmind.documents.label(source.doc_id, source.document)),
            "quote": flow(source.quote),
            "how": _(source.how) if source.how else "",
            "width": source.page_width,
            "height": source.page_height,
            "quads": _plain(docmind.reader.cited_quads(source)),
        }
    )


def _cited_image(docmind: DocMind, request: Request) -> Response:
    return Response(docmind.conversations.source_image(_source(docmind, request)), media_type="image/webp")


def _places(docmind: DocMind, request: Request) -> Response:
    """Answer with the places of a text in a document: `[page number, shapes]`."""
    found = docmind.reader.find(request.path_params["doc_id"], request.query_params.get("text", ""))
    places = [[place.page_no, _plain(place.quads)] for place in found.places]
    return JSONResponse({"places": places, "cut": found.is_cut})


def _heat(docmind: DocMind, request: Request) -> Response:
    """Answer with a page under the heat map of a turn's question: the picture, and the words to choose from."""
    doc_id, page_no = request.path_params["doc_id"], request.path_params["page_no"]
    question = _question(docmind, cited_of(request.query_params.get("from", "")))
    heat = docmind.page_search.heat_map(question, doc_id, page_no)
    words = visual.similarity_map.words_of(heat, question)
    telling = [word for word in words if word.is_telling] or list(words)
    named = {word.text.casefold(): word for word in reversed(telling[:_WORDS_TO_CHOOSE])}
    chosen = named.get(request.query_params.get("word", "").casefold())
    grid = visual.similarity_map.strength(heat, [chosen] if chosen else words)
    jpeg = visual.similarity_map.drawn(docmind.documents.page_image(doc_id, page_no), grid)
    return JSONResponse(
        {
            "image": data_url(jpeg),
            "legend": data_url(visual.similarity_map.legend()),
            "model": one_line(heat.model),
            "flat": not grid.any(),
            "strongest": strongest(grid),
            "words": [one_line(named[name].text) for name in reversed(named)],
            "word": one_line(chosen.text) if chosen else "",
        }
    )


def _page_download(docmind: DocMind, request: Request) -> Response:
    """Answer with a page as a PNG file."""
    from PIL import Image  # loading it would delay the start of the app

    page = docmind.documents.page(request.path_params["doc_id"], request.path_params["page_no"])
    out = io.BytesIO()
    Image.open(io.BytesIO(docmind.documents.page_image(page.doc_id, page.page_no))).save(out, "PNG")
    stem = page.document.rpartition(".")[0] or page.document
    name = _("{name}, page {n}").format(name=stem, n=page.page_no) + ".png"
    return Response(out.getvalue(), media_type="image/png", headers=attachment(name))


def _source(docmind: DocMind, request: Request) -> Source:
    cited = cited_of(request.path_params["cited"])
    answer = _turn(docmind, cited).answer
    source = source_at(answer, cited.n) if answer is not None else None
    if source is not None:
        return source
    raise NotFoundError(_("This answer has no source {n}.").format(n=cited.n))


def _question(docmind: DocMind, cited: Cited) -> str:
    """Return the question of a turn as it was searched for; empty where the conversation is gone."""
    try:
        turn = _turn(docmind, cited)
    except NotFoundError:
        return ""
    return turn.asked_as or turn.question


def _turn(docmind: DocMind, cited: Cited) -> Turn:
    """Return the turn of a link. Raises `NotFoundError`."""
    for turn in docmind.conversations.view(cited.thread_id, cited.checkpoint_id, last=1).turns:
        if turn.checkpoint_id == cited.checkpoint_id:
            return turn
    raise NotFoundError(_("This answer is no longer in the conversation."))


def _plain(quads: Sequence[Quad]) -> list[list[list[float]]]:
    return [[[round(x, 1), round(y, 1)] for x, y in quad] for quad in quads]


ROUTES = (
    PAGE_IMAGES,
    FIGURE_IMAGES,
    ORIGINALS,
    route("/page/{doc_id}/{page_no:int}", _page),
    route("/page/{doc_id}/{page_no:int}/heat", _heat),
    route("/page/{doc_id}/{page_no:int}/download", _page_download),
    route("/cited/{cited}", _cited),
    route("/cited/{cited}/image", _cited_image),
    route("/document/{doc_id}/places", _places),
    *XRAY_ROUTES,
)
