"""What a reader did not read, in words."""

from __future__ import annotations

from collections.abc import Sequence

from docmind.records.documents import Loss, LossKind
from docmind.wording import ngettext, number_text


def loss_text(loss: Loss) -> str:
    """Return what was not read, how many, and where: `2 charts (Prices)`."""
    told = _counted(loss.kind, loss.count).format(n=number_text(loss.count))
    return f"{told} ({loss.place})" if loss.place else told


def losses_text(losses: Sequence[Loss], most: int = 20) -> str:
    """Return all of them in one line, those above `most` as their number."""
    told = [loss_text(loss) for loss in losses[:most]]
    more = len(losses) - most
    if more > 0:
        told.append(ngettext("{n} other", "{n} others", more).format(n=number_text(more)))
    return ", ".join(told)


def _counted(kind: LossKind, n: int) -> str:
    texts: dict[LossKind, str] = {
        "equation": ngettext("{n} equation", "{n} equations", n),
        "comment": ngettext("{n} comment", "{n} comments", n),
        "annotation": ngettext("{n} annotation", "{n} annotations", n),
        "hidden_sheet": ngettext("{n} hidden sheet", "{n} hidden sheets", n),
        "hidden_text": ngettext("{n} hidden text", "{n} hidden texts", n),
        "chart": ngettext("{n} chart", "{n} charts", n),
        "picture": ngettext("{n} picture", "{n} pictures", n),
        "linked_picture": ngettext("{n} picture that is only linked", "{n} pictures that are only linked", n),
        "embedded_object": ngettext("{n} embedded object", "{n} embedded objects", n),
        "media": ngettext("{n} sound or film", "{n} sounds or films", n),
        "form_field": ngettext("{n} form field", "{n} form fields", n),
        "macro": ngettext("{n} macro", "{n} macros", n),
        "formula": ngettext("{n} formula without a result", "{n} formulas without a result", n),
        "character": ngettext("{n} character of a page", "{n} characters of pages", n),
        "cell": ngettext("{n} cell of a table", "{n} cells of tables", n),
        "page": ngettext("{n} damaged page", "{n} damaged pages", n),
        "script": ngettext("{n} page in letters that OCR lacks", "{n} pages in letters that OCR lacks", n),
        "part": ngettext("{n} other part", "{n} other parts", n),
    }
    return texts[kind]
