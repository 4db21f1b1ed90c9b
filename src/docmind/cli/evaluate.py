"""Commands about evaluations: measure a labelled set, list, show, compare and remove the runs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import click

from docmind.cli.context import json_option, opened, plain, print_json, reached
from docmind.cli.help import Group, Number
from docmind.cli.output import inert, one_line, terminal_bar, when
from docmind.cli.threads import write_whole
from docmind.errors import ConfigError
from docmind.evaluation import trec_run
from docmind.records import evaluation as records
from docmind.records.evaluation import (
    GOLDEN_STATES,
    METRICS,
    SAMPLE,
    Figure,
    Outcomes,
    Run,
    RunComparison,
    RunSummary,
    Writing,
)
from docmind.wording import N_, _, ngettext

Format = Literal["table", "json", "trec"]

_ID = 8  # characters of an id that are shown
_NAMED = 10  # queries of a comparison, and rows that were not used, that are named on a terminal
_OUTCOMES = {"answer": N_("answered"), "maybe": N_("may be answered"), "not found": N_("not found")}
_format = click.option(
    "--format", "form", type=click.Choice(["table", "json", "trec"]),
    help="The form of the output; a table if it is not given. --json is the same as json.",
)  # fmt: skip


def _form_of(form: Format | None, *, as_json: bool) -> Format:
    """Return the form of the output. Raises `ConfigError` where two are given."""
    if as_json and form not in (None, "json"):
        raise ConfigError(_("Only one of --json and --format can be given."), hint=_("Leave one of them out."))
    return "json" if as_json else form or "table"


_out = click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Write to this new file.")


class _Evaluate(Group):
    """The group whose first word may be the name of a set: then it is the command `run`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put `run` in front where no command is named."""
        is_named = bool(args) and (args[0] in self.commands or args[0] in ("-h", "--help"))
        return super().parse_args(ctx, args if is_named else ["run", *args])


@click.group(cls=_Evaluate)
def evaluate() -> None:
    """Measure how well search and answers work, on labelled questions.

    Without a command, `run` is meant: `docmind evaluate` measures the set that comes with DocMind.
    """


@evaluate.command()
@click.argument("name", metavar="[SET]", default=SAMPLE)
@click.option(
    "--k", type=Number(1, 1_000), default=10, show_default=True, help="Pages that are judged of each ranking."
)
@click.option(
    "--filter", "filters", multiple=True, metavar="KEY=VALUE", help="Only queries with this fact, such as language=pt."
)
@click.option("--against", metavar="RUN", help="Compare with this run (id, its beginning, or latest).")
@click.option(
    "--answers/--no-answers", default=True, show_default=True, help="Answer each question too, and count the outcomes."
)
@click.option(
    "--model", is_flag=True, help="Have the language model in use answer each question, and count its claims."
)
@_format
@_out
@json_option
def run(
    name: str,
    k: int,
    filters: tuple[str, ...],
    against: str | None,
    answers: bool,
    model: bool,
    form: Format | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Measure a set, and keep the run.

    SET is `sample`, the set that comes with DocMind, `labels`, your own labels of sources, or a folder with documents
    and labelled questions. The documents of a set are read into a library of their own, which is removed afterwards;
    the settings are those of your library.
    """
    wanted, form = _facts(filters), _form_of(form, as_json=as_json)
    with opened(creates=True) as desk:
        before = desk.evaluation.get(against) if against else None
        with _bar(quiet=form != "table") as report:
            made = desk.evaluation.run(name, k=k, filters=wanted, answers=answers, model=model, progress=report)
        compared = desk.evaluation.compare(before.run_id, made.run_id) if before is not None else None
    text = _written(made, form)
    if compared is not None and form == "table":
        text += "\n" + _comparison(compared)
    _put(text, out)


@evaluate.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List the runs that are kept, the newest first."""
    with reached() as desk:
        known = desk.evaluation.runs()
    if as_json:
        print_json({"runs": [plain(one) for one in known]})
        return
    if not known:
        click.echo(_("There are no runs yet. Make one: docmind evaluate"))
    for one in known:
        click.echo(_line(one))


@evaluate.command()
@click.argument("run", default="latest")
@_format
@_out
@json_option
def show(run: str, form: Format | None, out: Path | None, as_json: bool) -> None:
    """Show a run (id, its beginning, or latest)."""
    form = _form_of(form, as_json=as_json)
    with reached() as desk:
        found = desk.evaluation.get(run)
    _put(_written(found, form), out)


@evaluate.command()
@click.argument("before")
@click.argument("after", default="latest")
@json_option
def compare(before: str, after: str, as_json: bool) -> None:
    """Compare two runs, query by query."""
    with reached() as desk:
        found = desk.evaluation.compare(before, after)
    if as_json:
        print_json(plain(found))
    else:
        click.echo(_comparison(found))


@evaluate.command()
@click.argument("run")
@json_option
def remove(run: str, as_json: bool) -> None:
    """Remove a run."""
    with reached() as desk:
        gone = desk.evaluation.remove(run)
    if as_json:
        print_json(plain(gone))
    else:
        click.echo(_("Removed: {line}").format(line=_line(gone)))


@contextmanager
def _bar(*, quiet: bool) -> Iterator[Callable[[int, int], None]]:
    def fields(now: tuple[int, int]) -> dict[str, int]:
        return {"completed": now[0], "total": now[1]}

    with terminal_bar(fields, "BarColumn", "TimeRemainingColumn", quiet=quiet) as show_now:
        yield lambda done, whole: show_now((done, whole))


def _facts(filters: tuple[str, ...]) -> dict[str, str]:
    found: dict[str, str] = {}
    for one in filters:
        key, sign, value = one.partition("=")
        if not sign or not key:
            raise ConfigError(
                _("{filter} is no filter.").format(filter=one), hint=_("Write it as KEY=VALUE, such as language=pt.")
            )
        found[key] = value
    return found


def _put(text: str, out: Path | None) -> None:
    if out is None:
        click.echo(text)
    else:
        write_whole(out, f"{text}\n".encode(), over=False)


def _written(run: Run, form: Format) -> str:
    if form == "json":
        return json.dumps(plain(run), ensure_ascii=False)
    return trec_run(run) if form == "trec" else _table(run)


def _line(one: RunSummary) -> str:
    told = _told_figure(one.figures["ndcg"]) if "ndcg" in one.figures else "-"
    queries = ngettext("{n} query", "{n} queries", one.queries).format(n=one.queries)
    chosen = "".join(f"  {inert(key)}={inert(value)}" for key, value in one.filters.items())
    return f"{one.run_id[:_ID]}  {when(one.made_at_ms)}  {inert(one.set_name)}  {queries}  nDCG@{one.k} {told}{chosen}"


def _table(run: Run) -> str:
    width = max([18, *(len(name) + 10 for name in (*run.by_language, *run.by_category))])
    heads = [f"{_(METRICS[metric])}@{run.k}" for metric in METRICS]
    lines = [_line(run), "", f"{'':{width}} {'n':>4}" + "".join(f"  {head:>16}" for head in heads)]
    lines.append(_row(_("all"), records.Group(run.answerable, run.figures), width))
    for kind, groups in ((_("language"), run.by_language), (_("category"), run.by_category)):
        lines += [_row(f"{kind} {inert(name)}", of, width) for name, of in groups.items()]
    lines += _told_outcomes(run.outcomes)
    if run.writing is not None:
        lines += _told_writing(run.writing, run.writing_by_language, run.settings.get("language model", ""))
    for one in run.calibration:
        lines.append(
            _("Confidence {low}–{high}: {n} questions, first quote right for {share} of them").format(
                low=f"{one.low:.1f}", high=f"{one.high:.1f}", n=one.questions, share=f"{one.share:.0%}"
            )
        )
    if run.visual_lift is not None:
        lines.append(_("Recall gained by lists of page images: {figure}").format(figure=_told_figure(run.visual_lift)))
    if run.golden:
        counts = Counter(one.state for one in run.golden)
        told = ", ".join(f"{_(word)} {counts[state]}" for state, word in GOLDEN_STATES.items() if counts[state])
        lines.append(_("Golden cases: {outcomes}").format(outcomes=told))
        lines += [f"  {inert(one.case_id)}: {one.findings}/{one.needed}" for one in run.golden if one.state == "failed"]
    if run.stages:
        told = ", ".join(f"{inert(name)} {one.p50_ms:.0f}/{one.p95_ms:.0f}" for name, one in run.stages.items())
        lines.append(_("Milliseconds, of half and of 95 of 100 queries: {stages}").format(stages=told))
    lines += [_("Not used: {what}").format(what=one_line(what)) for what in run.skipped[:_NAMED]]
    if len(run.skipped) > _NAMED:
        lines.append(_("and {n} more").format(n=len(run.skipped) - _NAMED))
    return "\n".join(lines)


def _row(name: str, of: records.Group, width: int) -> str:
    figures = "".join(f"  {_told_figure(of.figures[metric]):>16}" for metric in METRICS if metric in of.figures)
    return f"{name[:width]:{width}} {of.queries:>4}{figures}"


def _told_figure(figure: Figure) -> str:
    return f"{figure.mean:.3f} {figure.low:.2f}–{figure.high:.2f}"


def _told_outcomes(outcomes: Outcomes) -> list[str]:
    told = list[str]()
    for sentence, counts in (
        (_("Of {n} questions with an answer: {outcomes}"), outcomes.answerable),
        (_("Of {n} questions without one: {outcomes}"), outcomes.unanswerable),
    ):
        if counts:
            told.append(sentence.format(n=sum(counts.values()), outcomes=_shares(counts)))
    if answered := outcomes.answerable.get("answer", 0):
        told.append(_("Right first quotes: {n} of {all}").format(n=outcomes.right, all=answered))
    return told


def _told_writing(writing: Writing, by_language: Mapping[str, Writing], model: str) -> list[str]:
    told = _("{model} answered {n} of {all} questions, {silent} of them without a claim").format(
        model=inert(model), n=writing.answers, all=writing.questions, silent=writing.silent
    )
    each = [f"    {_('language')} {inert(name)}: {_told_claims(one)}" for name, one in by_language.items()]
    return [told, f"  {_told_claims(writing)}", *(each if len(each) > 1 else ())]


def _told_claims(writing: Writing) -> str:
    return _("Claims: {n}; supported: {supported}; not found: {missing}").format(
        n=writing.claims, supported=_counted(writing.supported, writing), missing=_counted(writing.not_found, writing)
    )


def _counted(n: int, writing: Writing) -> str:
    return f"{n} ({n / writing.claims:.0%})" if writing.claims else str(n)


def _shares(counts: Mapping[str, int]) -> str:
    total = sum(counts.values())
    names = [*(name for name in _OUTCOMES if name in counts), *(name for name in counts if name not in _OUTCOMES)]
    return ", ".join(f"{_(_OUTCOMES.get(name, name))} {counts[name]} ({counts[name] / total:.0%})" for name in names)


def _comparison(found: RunComparison) -> str:
    lines = [_line(found.before), _line(found.after)]
    for name, (one, other) in found.settings.items():
        lines.append(f"  {inert(name)}: {inert(one) or '-'} → {inert(other) or '-'}")
    for metric, word in METRICS.items():
        figure = found.differences[metric]
        lines.append(f"  {_(word):10} {figure.mean:+.3f} ({figure.low:+.3f} – {figure.high:+.3f})")
    if found.before.writing is not None and found.after.writing is not None:
        lines += [f"  {_told_claims(found.before.writing)} →", f"  {_told_claims(found.after.writing)}"]
    counted = _("{better} better, {worse} worse, {same} the same").format(
        better=len(found.better), worse=len(found.worse), same=found.same
    )
    lines.append(counted)
    for kind, changes in ((_("worse"), found.worse), (_("better"), found.better)):
        for one in changes[:_NAMED]:
            text = one_line(one.after.text or one.before.text or one.after.query_id)
            lines.append(f"  {kind}  {one.before.ndcg:.2f} → {one.after.ndcg:.2f}  {text}")
        if len(changes) > _NAMED:
            lines.append("  " + _("and {n} more").format(n=len(changes) - _NAMED))
    return "\n".join(lines)
