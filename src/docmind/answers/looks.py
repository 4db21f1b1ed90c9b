"""Sources that are pages found by their look: an image model ranks them, and nothing of them is quoted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from docmind.answers.missing import SENTENCES
from docmind.answers.verify import Verified, page_source
from docmind.documents import Catalog
from docmind.records.answers import Sentence, Source
from docmind.records.search import PageHit

BY_LOOK_ONLY = "No passage answers it. Pages found by their look:"


def with_looks(checked: Verified, looks: Sequence[PageHit], catalog: Catalog, epoch: int) -> Verified:
    """Add pages found by their look as sources, after the others; a page that is cited already is left out.

    Where there are no other sources, and nothing was written, the answer names them.
    """
    cited = {(source.doc_id, source.page_no) for source in checked.sources}
    more: list[Source] = []
    records = catalog.pages((hit.doc_id, hit.page_no) for hit in looks)
    for hit in looks:
        record = records.get((hit.doc_id, hit.page_no))
        if record is not None and (hit.doc_id, hit.page_no) not in cited:  # None: deleted since the search
            n = len(checked.sources) + len(more) + 1
            more.append(page_source(n, hit.document, record, epoch=epoch, kind="look"))
    if not more:
        return checked
    answer, sentences = checked.answer, checked.sentences
    if not checked.sources and (not answer or answer in SENTENCES):
        marks = "".join(f" [{source.n}]" for source in more)
        answer, numbers = f"{BY_LOOK_ONLY}{marks}", tuple(source.n for source in more)
        sentences = (Sentence(BY_LOOK_ONLY, 0, len(BY_LOOK_ONLY), numbers, is_claim=False),)
    return replace(checked, answer=answer, sentences=sentences, sources=(*checked.sources, *more))
