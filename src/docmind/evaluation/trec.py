"""The rankings of a run in the form of TREC's run files, which other tools of evaluation read."""

from __future__ import annotations

from docmind.records.evaluation import Run
from docmind.rich_text import one_line


def trec_run(run: Run) -> str:
    """Return a line `query Q0 page rank score tag` for each page that was found; the score falls with the rank.

    A page is `document#page`, and a document that is judged as a whole stands alone. Names have no white space.
    """
    return "\n".join(
        f"{_token(score.query_id)} Q0 {_token(page.document)}{f'#{page.page_no}' if page.page_no else ''} {rank}"
        f" {run.k - rank + 1} docmind-{run.run_id}"
        for score in run.scores
        for rank, page in enumerate(score.found, 1)
    )


def _token(name: str) -> str:
    return "_".join(one_line(name).split()) or "_"
