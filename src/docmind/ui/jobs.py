"""Files on their way in: handing them over, watching, stopping, and what became of each."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import streamlit as st

from docmind.errors import DocMindError, NotFoundError, PasswordNeededError
from docmind.escape import escape
from docmind.schema import AddResult, JobProgress, Upload
from docmind.ui import state, trouble
from docmind.ui.desk import desk
from docmind.ui.wording import about, count, duration

if TYPE_CHECKING:
    from docmind.application import DocMind

_POLL_S = 0.7
_LISTED = 6  # files told one by one; of more, only those that need attention
_STAGES = {
    "waiting": "Waiting",
    "starting": "Getting ready",
    "opening": "Reading",
    "ocr": "Reading the text in pictures of",
    "resuming": "Going on with",
}


def uploader(mind: DocMind) -> None:
    """Drop files here; they are handed over at once and the box is empty again."""
    key = f"{state.UPLOADER}-{st.session_state.setdefault(state.UPLOADER, 0)}"
    st.file_uploader(
        "Add documents: PDF, Word, Excel, EPUB, pictures and scans, web pages, Markdown, plain text, source code",
        accept_multiple_files=True,
        key=key,
        max_upload_size=_told(desk().max_file_mb),
        on_change=_hand_in,
        args=(mind, key),
    )


def progress(mind: DocMind) -> None:
    """Everything on its way in, from any tab, and what became of what this tab handed over; follows by itself."""
    jobs = mind.jobs()
    moving = any(not job.is_over for job in jobs)
    st.fragment(_panel, run_every=_POLL_S if moving else None)(mind, moving, _files_done(jobs))


def is_reading(mind: DocMind) -> bool:
    """Whether any job is under way."""
    return any(not job.is_over for job in mind.jobs())


def _told(limit_mb: int) -> int:
    """The limit of the box, which tells what is above 500 MB in whole gigabytes: of 512 MB it would say 1 GB."""
    return min(limit_mb, 500) if limit_mb < 1000 else limit_mb


def _hand_in(mind: DocMind, key: str) -> None:
    files = st.session_state.get(key) or []
    if files and _submit(mind, [Upload(file.name, file.getvalue()) for file in files]):
        st.session_state[state.UPLOADER] += 1


def _submit(mind: DocMind, uploads: Sequence[Upload]) -> bool:
    """Start a job and keep the bytes for as long as a password may be asked for; where that fails, say why."""
    outcome = trouble.attempt(lambda: mind.submit(uploads))
    if isinstance(outcome, DocMindError):
        trouble.show(outcome)
        return False
    st.session_state.setdefault(state.HANDED_IN, {})[outcome] = list(uploads)
    return True


def _files_done(jobs: Sequence[JobProgress]) -> int:
    return sum(len(job.results) for job in jobs)


def _panel(mind: DocMind, was_moving: bool, files_done: int) -> None:
    handed_in: dict[str, list[Upload | None]] = st.session_state.setdefault(state.HANDED_IN, {})
    known = {job.job_id: job for job in mind.jobs()}
    for job_id in [job_id for job_id in handed_in if job_id not in known]:
        del handed_in[job_id]
    for job in known.values():
        if not job.is_over:
            _draw_moving(mind, job)
    for job in reversed(known.values()):  # the newest is what the eye looks for
        if job.is_over and job.job_id in handed_in:
            _draw_over(mind, job, handed_in)
    is_over = all(job.is_over for job in known.values())
    if was_moving and (is_over or _files_done(tuple(known.values())) != files_done):
        st.rerun()  # the whole page: the list below has grown


def _draw_moving(mind: DocMind, job: JobProgress) -> None:
    with st.container(border=True, key=f"job-{job.job_id}"):
        words, stop = st.columns([0.85, 0.15], vertical_alignment="center")
        with words:
            st.progress(_fraction(job), text=_headline(job))
        with stop:
            # Callbacks: a press that a redrawing panel reads only afterwards can be lost.
            st.button(
                "Stop",
                key=f"stop-{job.job_id}",
                icon=":material/stop_circle:",
                width="stretch",
                on_click=_stop,
                args=(mind, job.job_id),
            )
        st.caption(_details(job))
        for result in job.results[-_LISTED:]:
            st.caption(_line(result))


def _stop(mind: DocMind, job_id: str) -> None:
    with suppress(NotFoundError):  # it is over, and long forgotten
        mind.cancel(job_id)


def _dismiss(job_id: str) -> None:
    st.session_state[state.HANDED_IN].pop(job_id, None)


def _draw_over(mind: DocMind, job: JobProgress, handed_in: dict[str, list[Upload | None]]) -> None:
    uploads = handed_in[job.job_id]
    for number, result in enumerate(job.results[: len(uploads)]):
        if not _is_locked(result):
            uploads[number] = None  # not needed any more: let the bytes go
    left = [
        (number, result)
        for number, result in enumerate(job.results)
        if not _is_locked(result) or (number < len(uploads) and uploads[number] is not None)
    ]
    if job.results and not left:  # each was handed over again, with its password
        del handed_in[job.job_id]
        return
    with st.container(border=True, key=f"job-{job.job_id}"):
        words, close = st.columns([0.94, 0.06], vertical_alignment="center")
        words.markdown(f"**{_summary(job, [result for _, result in left])}**")
        close.button(
            "",
            key=f"dismiss-{job.job_id}",
            icon=":material/close:",
            type="tertiary",
            help="Dismiss",
            on_click=_dismiss,
            args=(job.job_id,),
        )
        if job.state == "failed":
            trouble.tell(job.message)
        few = len(left) <= _LISTED
        for number, result in left:
            if _is_locked(result):
                _ask_password(mind, job, number, uploads)
            elif result.status == "refused":
                trouble.tell(result.message, result.hint)
            elif few or result.message:
                st.caption(_line(result))


def _ask_password(mind: DocMind, job: JobProgress, number: int, uploads: list[Upload | None]) -> None:
    upload, result = uploads[number], job.results[number]
    if upload is None:
        return
    with st.form(f"password-{job.job_id}-{number}", border=False):
        wrong = "That password does not open it. " if upload.password else ""
        st.markdown(f":material/lock: {wrong}**{escape(result.document, limit=60)}** is locked.")
        with st.container(horizontal=True, vertical_alignment="bottom"):
            password = st.text_input(
                "Its password", type="password", key=f"password-{job.job_id}-{number}-text", autocomplete="off"
            )
            wants = st.form_submit_button("Open it", type="primary") and password
        if wants and _submit(mind, [Upload(upload.name, upload.data, password)]):
            uploads[number] = None
            st.rerun()


def _fraction(job: JobProgress) -> float:
    if not job.files_total:
        return 0.0
    inside = job.pages_done / job.pages_total if job.pages_total else 0.0
    return min(1.0, (job.files_done + min(inside, 0.99)) / job.files_total)


def _headline(job: JobProgress) -> str:
    stage = _STAGES.get(job.stage, job.stage.capitalize() or "Reading")
    if not job.file:
        return f"{stage}…"
    place = f" (file {min(job.files_done + 1, job.files_total)} of {job.files_total})" if job.files_total > 1 else ""
    return f"{escape(stage)} **{escape(job.file, limit=56)}**{place}"


def _details(job: JobProgress) -> str:
    if job.stage == "waiting":
        return "Other files come first"
    if job.stage == "starting":
        return "The text model is being loaded"
    details = []
    if job.pages_total:
        place = f"page {job.page_no:,} of {job.pages_total:,}"
        details.append(place if job.page_no else count(job.pages_total, "page"))
    if job.eta_ms is not None and (job.files_total > 1 or job.pages_total):
        details.append(f"about {about(job.eta_ms)} left")
    return " · ".join(details) or "A scanned page takes some seconds"


def _is_locked(result: AddResult) -> bool:
    return result.error == PasswordNeededError.__name__


def _summary(job: JobProgress, results: Sequence[AddResult]) -> str:
    """What became of these results of the job, counted."""
    if job.state == "cancelled":
        if not job.files_done:
            return "Stopped before a file was finished" if job.files_total > 1 else "Stopped"
        return f"Stopped after {count(job.files_done, 'file')} of {job.files_total}; what was finished is kept"
    kinds = {
        "added": "added",
        "already": "already here",
        "refused": "not added",
        "locked": "locked",
        "cancelled": "stopped",
    }
    became = ["locked" if _is_locked(result) else result.status for result in results]
    parts = [f"{became.count(kind)} {words}" for kind, words in kinds.items() if kind in became]
    return f"{', '.join(parts) or 'Nothing added'} in {duration(job.elapsed_ms)}"


def _remark(result: AddResult) -> str:
    return f"  \n{escape(result.message)}" if result.message else ""


def _line(result: AddResult) -> str:
    name = escape(result.document, limit=64)
    if result.status == "added":
        seen = f", {result.ocr_pages} read by OCR" if result.ocr_pages else ""
        return f":material/check_circle: {name}: {count(result.pages, 'page')}{seen}{_remark(result)}"
    if result.status == "already":
        return f":material/done_all: {name}: the same file is already here{_remark(result)}"
    if result.status == "cancelled":
        return f":material/stop_circle: {name}: stopped"
    message = escape(result.message)  # it names the file, mostly
    return f":material/error: {message}" if result.document in result.message else f":material/error: {name}: {message}"
