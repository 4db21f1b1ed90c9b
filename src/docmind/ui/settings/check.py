"""The section of Settings that checks the library and repairs it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from docmind.maintenance import KINDS, LEVELS
from docmind.records.checks import CheckReport, Finding, Level, RepairReport
from docmind.rich_text import escape, one_line
from docmind.ui.app import errors, long_work
from docmind.ui.app.app_state import app_state
from docmind.ui.app.format import count
from docmind.ui.app.long_work import LongWork
from docmind.wording import N_, _, ngettext

if TYPE_CHECKING:
    from docmind.application import DocMind

_WORK, _LEVEL = "check-library", "check-level"
_LISTED = 10  # findings of one kind that are named
_LEVELS: dict[Level, tuple[str, str]] = {
    "quick": (N_("Quick"), N_("Seconds: references, counts, sizes of files.")),
    "full": (N_("Full"), N_("Reads everything once.")),
    "deep": (N_("Deep"), N_("Also opens every file and every picture; this takes long.")),
}


def section(docmind: DocMind) -> None:
    """Draw the choice of a level, how far a check is, and what the last one found."""
    st.subheader(_("Check the library"), anchor=False)
    st.caption(
        _("Looks for anything that is lost, damaged or left over, and says what to do. A check changes nothing.")
    )
    going = app_state().work(_WORK)
    if going is not None and not going.is_over:
        long_work.draw(going, _progress, key=_WORK)
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        level: Level = st.radio(
            _("How thoroughly"),
            LEVELS,
            format_func=lambda name: _(_LEVELS[name][0]),
            captions=[_(_LEVELS[name][1]) for name in LEVELS],
            key=_LEVEL,
        )
    st.button(_("Check now"), icon=":material/health_and_safety:", key="check-now", on_click=_check, args=(level,))
    if going is not None:
        _outcome(docmind, going)


def _check(level: Level) -> None:
    app_state().start(_WORK, lambda docmind, report: docmind.doctor.examine(level, report))


def _repair(level: Level) -> None:
    app_state().start(_WORK, lambda docmind, report: docmind.doctor.repair(level, report), can_stop=False)


def _progress(going: LongWork) -> str:
    return _("Checking… {percent} %").format(percent=round(100 * going.done / going.total))


def _outcome(docmind: DocMind, going: LongWork) -> None:
    if going.error is not None:
        errors.show(going.error)
        return
    report = going.result
    if isinstance(report, RepairReport):
        number = sum(mended for _kind, mended in report.mended)
        st.success(
            count(ngettext("{n} finding was mended.", "{n} findings were mended.", number), number),
            icon=":material/build:",
        )
        for note in report.notes:
            errors.show_message(note)
        report = report.after
    if not isinstance(report, CheckReport):
        return
    if report.is_well:
        st.success(_("All is well."), icon=":material/check:")
    else:
        st.warning(_("Something is not as it should be."), icon=":material/warning:")
    for kind, number in report.counts:
        _draw_kind(kind, number, [finding for finding in report.findings if finding.kind == kind])
    for part in report.readers:
        if part.state == "missing":
            told = f"{_(part.name)}: {part.detail}" + (f" ({part.hint})" if part.hint else "")
            st.caption(f":material/info: {escape(told, limit=400)}")
    for part in report.unchecked:
        st.caption(_("Not checked: {parts}").format(parts=_(part)))
    if report.is_repairable and not docmind.is_read_only:
        st.button(
            _("Repair"), icon=":material/build:", type="primary", key="check-repair", on_click=_repair,
            args=(report.level,),
        )  # fmt: skip


def _draw_kind(kind: str, number: int, findings: list[Finding]) -> None:
    means = KINDS[kind]
    with st.expander(f"{_(means.text)} ({number:,})"):
        st.markdown(escape(_(means.advice)).replace("\\`", "`"))
        for finding in findings[:_LISTED]:
            st.caption(escape(_place(finding)))
        if number > _LISTED:
            st.caption(_("and {n} more").format(n=f"{number - _LISTED:,}"))


def _place(finding: Finding) -> str:
    if finding.document and finding.page_no:
        return _("{document}, page {page}").format(document=one_line(finding.document), page=finding.page_no)
    return one_line(finding.document or finding.place)
