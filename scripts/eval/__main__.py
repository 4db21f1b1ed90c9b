"""Quality on a folder of labelled documents, by row.

    .venv/bin/python scripts/eval FOLDER [WHAT] [--vault DIR] [--misses] [--query-images [--ocr-sample N]]
    .venv/bin/python scripts/eval sample | claims | versions | kinds | fit-tables | fit-comparisons [--misses]

The folder holds `docs/` (or `files/`), `questions.jsonl` (`id, question, lang, doc, pages, tags, source`; a small file
needs no pages but an `answer`, the words of a right quote) and, where there are any, `unanswerable.jsonl`
(`question, near`; else general ones are asked) and `scan_truth.jsonl` (`doc, page, text`). All documents are one
corpus. WHAT is one of

    retrieval    questions by every method, answers, OCR; what is done where nothing is said
    pictures     the pictures of `qbi.jsonl` (`--query-images` says the same)
    verify       sentences against the pages they name; `fit-verify` prints weights for half of the documents
    fit-answers  outcomes of answers with documents left out; writes what their evidence weighs into
                 src/docmind/answers/fitted.py; of the questions of several folders together with `--also FOLDER`, whose
                 vault has its name in that of `--vault`
    written      what the language model of the settings writes on `--count` questions: right, hidden, shown wrongly
    quotes       quotes of `--count` questions drawn with `--seed`, with the text around them, to be read one by one
    fit-ranking  weights of the lists, and the quality of what they find, with one document left out at a time
    distortions  pages of the vault in FOLDER (`FOLDER/data`, `FOLDER/key`), turned, bent, blurred and shrunk
    fit-late     the data of late interaction, from plain text files
    fit-e5       means and directions of language of multilingual-e5-small, from plain text files
    fit-int8     ranges and outlying channels of the text models in int8, from plain text files

Beside this file are five such folders: `plain`, plain questions over twelve small documents in English, Portuguese and
Spanish, `papers`, questions over 88 documents of a household in five languages, half of them in words that the document
lacks, `papers_more`, of the same form over 126 other documents, and `papers_twins` over 110; `papers_files` has 29 PDF,
office and HTML files and mails, on which nothing is taught or fitted. A fifth to a third of each is answered by no
document, though a page has most of their words. The weights are fitted on the first four, but not on the documents of
`papers`, `papers_more` and `papers_twins` that the readers were taught (`aside.py`): `scripts/eval scripts/eval/papers
fit-answers --also scripts/eval/plain --also scripts/eval/papers_more --also scripts/eval/papers_twins --vault DIR`.
`tables` has questions over tables, for `fit-tables`, `comparisons` those that compare two things, for
`fit-comparisons`, and `kinds` questions of several kinds.
`papers_claims` has claims about the documents of these three, some of them supported, which nothing reads yet.

`--vault` keeps the vault, and a second run measures at once. `sample` in place of a folder measures the set that comes
with DocMind, and prints its figures into README.md and docs/evaluation.md; `claims` judges claims written by hand
(`claims.py`), and prints their figures into docs/evaluation.md; `versions` counts which documents of made series are
called versions, and which real versions are found (`versions.py`); `kinds` counts how often each kind of question gets
the kind of answer that is best for it (`kinds.py`), and prints it into docs/evaluation.md.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from harness import add_missing, opened, vault_place

from docmind.errors import DocMindError
from docmind.evaluation import read_questions

WHAT = (
    "retrieval",
    "pictures",
    "verify",
    "fit-verify",
    "fit-answers",
    "written",
    "quotes",
    "fit-ranking",
    "distortions",
    "fit-late",
    "fit-e5",
    "fit-int8",
)


def main() -> int:
    """Run one evaluation."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("what", nargs="?", choices=WHAT, default="retrieval")
    parser.add_argument("--vault", type=Path, help="keep the vault here")
    parser.add_argument("--misses", action="store_true", help="name what was not found first, or was judged wrongly")
    parser.add_argument("--query-images", dest="what", action="store_const", const="pictures", help="WHAT is pictures")
    parser.add_argument(
        "--ocr-sample", type=int, default=40, help="pictures that are read as well, of each variant alike; 0: none"
    )
    parser.add_argument("--sample", type=int, default=40, help="pages that are distorted")
    parser.add_argument("--seed", type=int, default=7, help="of the sentences that are verified, or of the quotes")
    parser.add_argument("--also", type=Path, action="append", default=[], help="a further folder for fit-answers")
    parser.add_argument("--count", type=int, default=200, help="questions of written, or quotes, that are drawn")
    options = parser.parse_args()
    try:
        _run(options)
    except DocMindError as error:
        print(f"eval: {error} {error.hint}", file=sys.stderr)
        return error.exit_code
    return 0


def _run(options: argparse.Namespace) -> None:
    folder: Path = options.folder
    if str(folder) == "sample":
        from sample import measure

        return measure()
    if str(folder) == "versions":
        from versions import evaluate as evaluate_versions

        return evaluate_versions(show_misses=options.misses)
    if str(folder) == "kinds":
        from kinds import evaluate as evaluate_kinds

        return evaluate_kinds(show_misses=options.misses)
    if str(folder) == "fit-tables":
        from fit_tables import fit as fit_the_tables

        return fit_the_tables()
    if str(folder) == "fit-comparisons":
        from fit_comparisons import fit as fit_the_comparisons

        return fit_the_comparisons()
    if str(folder) == "claims":
        from claims import evaluate as evaluate_claims

        from docmind.embedding.minilm import MiniLM, default_cache_dir

        return evaluate_claims(MiniLM(default_cache_dir()), show_misses=options.misses)
    if options.what == "fit-late":
        from late_projection import fit

        return fit(folder)
    if options.what == "fit-int8":
        from int8_activations import fit as fit_activations

        return fit_activations(folder)
    if options.what == "fit-e5":
        from e5_centre import fit as fit_centre

        return fit_centre(folder)
    if options.what == "distortions":
        from pictures import evaluate_distortions

        with opened(folder) as docmind:
            return evaluate_distortions(docmind, options.sample)
    with vault_place(options.vault) as place:
        if options.what == "retrieval":
            from retrieval import evaluate

            return evaluate(folder, place, read_questions(folder / "questions.jsonl"), show_misses=options.misses)
        if options.what == "fit-ranking":
            from ranking import fit as fit_ranking

            return fit_ranking(folder, place, read_questions(folder / "questions.jsonl"))
        if options.what == "fit-answers":
            from fit_answers import fit

            return fit({folder: place, **{one: place / one.name for one in options.also}})
        if options.what == "written":
            from written import evaluate as evaluate_written

            questions = read_questions(folder / "questions.jsonl")
            return evaluate_written(folder, place, questions, options.count, options.seed, misses=options.misses)
        if options.what == "quotes":
            from quotes import draw

            return draw(folder, place, read_questions(folder / "questions.jsonl"), options.count, options.seed)
        with opened(place) as docmind:
            add_missing(docmind, folder)
            if options.what == "pictures":
                from pictures import evaluate_images, read_pictures

                pictures = read_pictures(folder)
                return evaluate_images(docmind, pictures, ocr_sample=options.ocr_sample, show_misses=options.misses)
            import verifier

            questions = read_questions(folder / "questions.jsonl")
            if options.what == "verify":
                return verifier.evaluate(docmind, questions, options.seed, show_misses=options.misses)
            return verifier.fit(docmind, questions, options.seed)


if __name__ == "__main__":
    sys.exit(main())
