"""The X-ray of a page: its image beside the lines that were read on it, and corrections of them by hand.

Like the reader it is drawn in the browser over what is on screen, opened by links whose fragment begins with `#xray=`,
and answered at addresses of its own.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from docmind.documents import coverage_text
from docmind.errors import ConfigError, DocMindError
from docmind.reading import ENGINE_NAMES, engines
from docmind.records.documents import OcrEngine
from docmind.records.reader import PageLines
from docmind.rich_text import one_line, visible
from docmind.ui.app.app_state import app_state
from docmind.ui.app.browser_part import browser_part
from docmind.ui.app.errors import attempt
from docmind.ui.app.routes import route
from docmind.ui.documents import reading_again
from docmind.wording import N_, _

if TYPE_CHECKING:
    from docmind.application import DocMind

_FOLDER = Path(__file__).parent

# The texts of the script, by the name that it calls them by.
_TEXTS = {
    "xray": N_("What was read"),
    "close": N_("Close"),
    "previous": N_("Previous page"),
    "next": N_("Next page"),
    "page": N_("Page number"),
    "pageOf": N_("of {pages}"),
    "imageOf": N_("Page {n} of {pages} of {name}"),
    "lines": N_("Lines that were read"),
    "line": N_("Line {n}"),
    "layer": N_("text from the file"),
    "ocr": N_("text by OCR"),
    "good": N_("good"),
    "doubtful": N_("doubtful"),
    "bad": N_("bad"),
    "hand": N_("corrected by hand"),
    "percent": N_("{n} %"),
    "wasRead": N_("Read: {text}"),
    "nothingHere": N_("(nothing is written here)"),
    "nextDoubtful": N_("Next doubtful line"),
    "edit": N_("Correct this line"),
    "undo": N_("Back to what was read"),
    "header": N_("Header of the table"),
    "save": N_("Save"),
    "cancel": N_("Cancel"),
    "howTo": N_("Enter saves, Escape leaves"),
    "saving": N_("Saving, and updating the search…"),
    "saved": N_("Saved. Searches find it now."),
    "restored": N_("The line is again what was read."),
    "takeBack": N_("Undo"),
    "empty": N_("Nothing was read on this page."),
    "emptyHint": N_("If it shows text, OCR may be off, or the page too faint. Scan it larger and darker, and add it."),
    "toLookAt": N_("Pages to look at"),
    "unfit": N_("This correction no longer fits the page: {text} (read: {read})"),
    "again": N_("Read again with…"),
    "rereading": N_("Reading the page again…"),
    "reread": N_("The page was read again."),
    "drop": N_("Remove what no longer fits"),
    "silent": N_("DocMind doesn't answer. Check that it is still running, then try again."),
    "failed": N_("This page could not be loaded."),
    "retry": N_("Retry"),
    "loading": N_("Loading the page"),
}


def mount_xray() -> None:
    """Draw the part where the vault is open; call it once in each run of a page."""
    if isinstance(attempt(app_state().open), DocMindError):
        return
    browser_part(_FOLDER, "xray", data={"texts": {name: _(text) for name, text in _TEXTS.items()}}, key="xray")


def _lines(docmind: DocMind, request: Request) -> Response:
    """Answer with the lines of a page, their boxes in pixels of its image."""
    found = docmind.documents.page_lines(request.path_params["doc_id"], request.path_params["page_no"])
    return JSONResponse(_plain(docmind, found))


def _edit(docmind: DocMind, request: Request) -> Response:
    """Change a line as a form says: `text`, or `header` as 1 or 0, or `undo`; answer with the lines of the page."""
    place = request.path_params["doc_id"], request.path_params["page_no"], request.path_params["line"]
    form = parse_qs(request.state.body.decode("utf-8", "replace"), keep_blank_values=True)
    if "text" in form:
        found = docmind.documents.correct_line(*place, form["text"][-1])
    elif "header" in form:
        found = docmind.documents.set_header_row(*place, is_header=form["header"][-1] == "1")
    elif "undo" in form:
        found = docmind.documents.uncorrect_line(*place)
    else:
        raise ConfigError(_("There is nothing to change."), hint=_("Type the text of the line."))
    return JSONResponse(_plain(docmind, found))


def _read_again(docmind: DocMind, request: Request) -> Response:
    """Have an engine, which a form names in `engine`, read a page again; answer with the lines of the page."""
    doc_id, page_no = request.path_params["doc_id"], request.path_params["page_no"]
    form = parse_qs(request.state.body.decode("utf-8", "replace"))
    known: dict[str, OcrEngine] = {one: one for one in engines()}
    engine = known.get(form.get("engine", [""])[-1])
    if engine is None:
        raise ConfigError(_("This OCR engine is not installed."), hint=_("Choose another one."))
    docmind.documents.read_again(doc_id, pages=(page_no,), engine=engine, mode="always")
    return JSONResponse(_plain(docmind, docmind.documents.page_lines(doc_id, page_no)))


def _coverage(docmind: DocMind, request: Request) -> Response:
    """Answer with the pages to look at: `[page number, sentence]`."""
    return JSONResponse(coverage_text(docmind.documents.coverage(request.path_params["doc_id"])))


def _plain(docmind: DocMind, found: PageLines) -> dict[str, object]:
    info = attempt(lambda: docmind.documents.get(found.doc_id))
    can_be_read = not isinstance(info, DocMindError) and reading_again.can_be(info) and not docmind.is_read_only
    return {
        "doc": found.doc_id,
        "page": found.page_no,
        "pages": found.pages,
        "name": one_line(found.document),
        "title": one_line(docmind.documents.label(found.doc_id, found.document)),
        "width": found.width,
        "height": found.height,
        "lines": [
            {
                "n": line.n,
                "text": visible(line.text),
                "box": None if line.box is None else [round(side, 1) for side in line.box],
                "kind": line.grade if line.source == "ocr" else line.source,
                "sure": round(100 * line.confidence),
                "read": visible(line.read),
                "isTable": line.table is not None,
                "isHeader": line.is_header,
            }
            for line in found.lines
        ],
        "engines": [[one, ENGINE_NAMES[one]] for one in engines()] if can_be_read else [],
        "unfit": [[visible(one.text), visible(one.read)] for one in found.unfit],
    }


XRAY_ROUTES = (
    route("/lines/{doc_id}/{page_no:int}", _lines),
    route("/lines/{doc_id}/{page_no:int}/{line:int}", _edit, "POST"),
    route("/lines/{doc_id}/{page_no:int}/again", _read_again, "POST"),
    route("/coverage/{doc_id}", _coverage),
)
