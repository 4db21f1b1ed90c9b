"""Uploads: submitting files, watching and pausing them, handling unread ones."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import streamlit as st
from streamlit.elements.widgets.file_uploader import DeletedFile
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.uploaded_file_manager import UploadedFile

from docmind.errors import DocMindError, NotFoundError
from docmind.reading import has_known_name, reads_more
from docmind.records.documents import QueueProgress, Upload, UploadInfo
from docmind.rich_text import escape
from docmind.ui.app import errors, state
from docmind.ui.app.app_state import app_state
from docmind.ui.app.format import about, count, when
from docmind.wording import N_, _, ngettext

if TYPE_CHECKING:
    from docmind.application import DocMind

_LOOKS = Path(__file__).with_suffix(".css")
_POLL_S = 0.7
_LISTED = 6  # files listed one by one; of more, only those that need attention
_NAMED = 5  # cancelled files that are named
_NEWS_S = 12  # how long a result is news
_RECENT = 20  # files in the list of what was read
_STAGES = {
    "starting": N_("Getting ready to read {name}"),
    "opening": N_("Reading {name}"),
    "reading": N_("Reading {name}"),
    "ocr": N_("Running OCR on {name}"),
    "indexing": N_("Finishing {name}"),
    "stopping": N_("Stopping after this page of {name}"),
}


def uploader(docmind: DocMind) -> None:
    """Draw the upload box; files are submitted at once and leave it.

    The box is never replaced by an empty one, because files dropped during the exchange would be lost: a style hides
    the files that were taken. Uploads under way and files that the box refuses stay visible.
    """
    st.html(_LOOKS)
    box = st.file_uploader(
        _(
            "Drop files here, or choose them: PDF, Word, Excel, PowerPoint, OpenDocument, mails, EPUB, pictures and "
            "scans, web pages, text, source code, zip archives"
        ),
        accept_multiple_files=True,
        key=state.UPLOADER,
        max_upload_size=limit_mb(),
    )
    _hand_in(docmind, box)


def whole_folder(docmind: DocMind) -> None:
    """Draw the box that takes all files of a folder, once; the menu *Add* opens it, and a style hides it."""
    folder = st.file_uploader(
        _("Drop a folder here, or choose it. Files of other kinds in it are left out."),
        accept_multiple_files="directory",
        key=state.FOLDER_UPLOADER,
        max_upload_size=limit_mb(),
    )
    _hand_in(docmind, folder, is_folder=True)


def web_page(docmind: DocMind, close: Callable[[], None]) -> None:
    """Draw the field that adds a web page by its address; where that is not allowed, how to allow it.

    `close` closes the dialog that this is drawn in, once the page was fetched.
    """
    if not docmind.settings.now.web.may_fetch_pages:
        st.caption(_("Fetching web pages is not allowed. Allow it in Settings, under “Answers”."))
        if st.button(_("Open Settings"), key="web-page-settings", icon=":material/settings:", on_click=close):
            st.switch_page("settings.py")
        return
    with st.form("web-page-form", border=False):
        address = st.text_input(_("Address of the page"), placeholder="https://", key=state.WEB_ADDRESS)
        st.caption(_("The page alone is fetched, without its pictures and scripts. Web pages and PDF files."))
        wants = st.form_submit_button(_("Add web page"), type="primary", icon=":material/add_link:")
    if not (wants and address.strip()):
        return
    with st.spinner(_("Fetching the page…")):
        outcome = errors.attempt(lambda: docmind.queue.submit([docmind.web_pages.fetch(address)]))
    if isinstance(outcome, DocMindError):
        errors.show(outcome)
        return
    close()
    st.rerun()


def progress(docmind: DocMind) -> None:
    """Draw the queue, from any tab: what is read, what waits, and the results; polls by itself."""
    is_busy = docmind.queue.progress().is_busy
    every = _POLL_S if is_busy else 2 * _POLL_S if _news(docmind) else None
    st.fragment(_panel, run_every=every)(docmind, _seen(docmind))


def arrivals(docmind: DocMind) -> None:
    """Watch an empty library, and redraw the page when something comes from a command, a folder or another tab."""
    st.fragment(_look, run_every=2 * _POLL_S)(docmind, _seen(docmind))


def preparing(docmind: DocMind) -> None:
    """Draw how many pages are still being prepared for picture search, until there are none."""
    if docmind.lookalike.missing() and not docmind.queue.progress().is_busy:
        st.fragment(_preparing_line, run_every=2 * _POLL_S)(docmind)


def _preparing_line(docmind: DocMind) -> None:
    missing = docmind.lookalike.missing()
    if not missing:
        st.rerun()
    told = ngettext("Preparing {n} page for picture search", "Preparing {n} pages for picture search", missing)
    st.caption(f":material/hourglass_top: {told.format(n=f'{missing:,}')}")


def is_empty(docmind: DocMind) -> bool:
    """Tell whether there is nothing to report about any file in the queue."""
    return not docmind.queue.counts()


def unread(docmind: DocMind) -> None:
    """Draw a note on other pages while files are not read: their content cannot be found yet."""
    now = docmind.queue.progress()
    if now.unread:
        st.fragment(_unread_line, run_every=2 * _POLL_S if now.is_busy else None)(docmind)


def put_back(docmind: DocMind, doc_id: str) -> None:
    """Resume a document whose reading was paused, cancelled or failed. For callbacks."""

    def work() -> None:
        ids = [
            info.upload_id for info in docmind.queue.uploads("paused", "cancelled", "failed") if info.doc_id == doc_id
        ]
        docmind.queue.resume(ids)
        docmind.queue.retry(ids)

    _act(work)


def limit_mb() -> int:
    """Return the size limit of a box for files in MB, at most 500 for limits below 1,000 MB.

    A box shows limits above 500 MB in whole gigabytes: 512 MB would be shown as 1 GB.
    """
    limit = app_state().max_file_mb
    return min(limit, 500) if limit < 1000 else limit


def fresh(box: Sequence[UploadedFile | DeletedFile]) -> list[UploadedFile]:
    """Return the files of a box that were not submitted before."""
    taken: set[str] = st.session_state.setdefault(state.TAKEN_FILES, set())
    return [file for file in box if not isinstance(file, DeletedFile) and file.file_id not in taken]


def submit(docmind: DocMind, files: Sequence[UploadedFile], *, is_folder: bool = False) -> tuple[int, ...]:
    """Submit files, each at most once, and return their ids in the queue.

    Of a folder, hidden files and files of other kinds are left out, and names have no folders before them. Raises as
    `IngestQueue.submit` does.
    """
    taken: set[str] = st.session_state.setdefault(state.TAKEN_FILES, set())
    taken.update(file.file_id for file in files)
    more = reads_more(docmind.settings.now.reading) if is_folder else ()
    wanted = [file for file in files if not is_folder or _is_wanted(file.name, more)]
    uploads = (Upload(_own_name(file.name) if is_folder else file.name, file.getvalue()) for file in wanted)
    return docmind.queue.submit(uploads, total_bytes=sum(file.size for file in wanted))


def release(files: Iterable[UploadedFile]) -> None:
    """Free the memory of uploaded files; Streamlit keeps it until the tab is closed."""
    context = get_script_run_ctx()
    if context is not None and isinstance(context.uploaded_file_mgr, MemoryUploadedFileManager):
        for file in files:
            context.uploaded_file_mgr.remove_file(context.session_id, file.file_id)


def _hand_in(docmind: DocMind, box: Sequence[UploadedFile | DeletedFile], *, is_folder: bool = False) -> None:
    """Submit the files of the box that were not submitted before. Idempotent.

    The box lists everything that was ever dropped into it; after a restart of the server it also lists files of which
    nothing is left (`DeletedFile`). It is called in every run of the page and not as a callback: a run that ends early,
    at an access of the session state, is followed by one that submits what this one did not.
    """
    files = fresh(box)
    if files:
        _act(lambda: submit(docmind, files, is_folder=is_folder))
        release(files)


def _is_wanted(path: str, more: Collection[str]) -> bool:
    parts = path.replace("\\", "/").split("/")
    return has_known_name(parts[-1], more) and not any(part.startswith(".") for part in parts)


def _own_name(path: str) -> str:
    """Return the name of a file of a folder: the browser gives its path below the folder."""
    return path.replace("\\", "/").rpartition("/")[2]


def _act(work: Callable[[], object]) -> None:
    """Run an action, and note why it failed.

    The action comes first: Streamlit may end the run at any access of the session state, and the press of a button is
    told only once.
    """
    outcome = errors.attempt(work)
    st.session_state.pop(state.QUEUE_TROUBLE, None)
    if isinstance(outcome, DocMindError) and not isinstance(outcome, NotFoundError):  # another tab was faster
        st.session_state[state.QUEUE_TROUBLE] = outcome


def _seen(docmind: DocMind) -> tuple[Any, ...]:
    """Return what the rest of the page depends on: when it changes, the whole page is redrawn."""
    now, counts = docmind.queue.progress(), docmind.queue.counts()
    is_news = bool(_news(docmind))
    return now.state, now.stage == "stopping", now.unread, now.files_done, tuple(sorted(counts.items())), is_news


def _news(docmind: DocMind) -> list[UploadInfo]:
    """Return the files that were read just now."""
    since = time.time() * 1_000 - _NEWS_S * 1_000
    return [info for info in docmind.queue.uploads("done") if info.changed_at_ms > since]


def _look(docmind: DocMind, seen: tuple[Any, ...]) -> None:
    if docmind.documents.counts()[0] or _seen(docmind) != seen:
        st.rerun()


def _panel(docmind: DocMind, seen: tuple[Any, ...]) -> None:
    if _seen(docmind) != seen:
        st.rerun()  # the whole page: the list below has changed
    failed: DocMindError | None = st.session_state.get(state.QUEUE_TROUBLE)
    if failed is not None:
        errors.show(failed)
    now = docmind.queue.progress()
    if now.is_busy:
        _draw_reading(docmind, now)
    elif now.unread:
        _draw_paused(docmind, now)
    elif news := _news(docmind):
        _draw_done(news)
    files = docmind.queue.uploads("failed", "locked", "cancelled")
    cancelled = [info for info in files if info.state == "cancelled" and not info.pages_done]
    if cancelled:
        _draw_cancelled(docmind, cancelled)
    attention = [info for info in files if info.state != "cancelled"]
    if attention:
        with st.container(border=True, key="queue-attention"):
            st.markdown(f"**{_attention(attention)}**")
            draw_attention(docmind, attention)


def draw_attention(docmind: DocMind, files: Sequence[UploadInfo]) -> None:
    """Draw files that need a password or could not be read, with what can be done about each."""
    for info in files:
        (_draw_locked if info.state == "locked" else _draw_failed)(docmind, info)


def _attention(files: Sequence[UploadInfo]) -> str:
    """Return how many files need a password, and how many could not be read."""
    locked = sum(info.state == "locked" for info in files)
    failed = len(files) - locked
    told = []
    if locked:
        told.append(ngettext("{n} file needs a password", "{n} files need a password", locked).format(n=locked))
    if failed:
        told.append(ngettext("{n} file could not be read", "{n} files could not be read", failed).format(n=failed))
    return ", ".join(told)


def _draw_reading(docmind: DocMind, now: QueueProgress) -> None:
    with st.container(key="queue-reading", gap=None):
        with _line_of_acts():
            is_first = not docmind.documents.counts()[0]
            st.markdown(f"{_headline(now, is_first=is_first)} · {_details(now)}", width="stretch")
            if now.stage != "stopping":
                with _acts():
                    _button(_("Pause"), "pause", ":material/pause:", lambda: docmind.queue.pause(), is_quiet=True)
                    _button(_("Cancel"), "cancel", ":material/close:", lambda: docmind.queue.cancel(), is_quiet=True)
        st.progress(_fraction(now))


def _draw_paused(docmind: DocMind, now: QueueProgress) -> None:
    begun = next((info for info in docmind.queue.uploads("paused") if info.pages_done), None)
    with st.container(border=True, key="queue-paused"):
        with _line_of_acts():
            with st.container():
                told = ngettext("Paused: {n} file is not read yet", "Paused: {n} files are not read yet", now.unread)
                st.markdown(f":material/pause_circle: **{told.format(n=f'{now.unread:,}')}**")
                if begun is not None:
                    told = _("{done} of {pages} pages of {name} are read and kept")
                    name = escape(begun.document, limit=56)
                    st.caption(told.format(done=f"{begun.pages_done:,}", pages=f"{begun.pages:,}", name=name))
            with _acts():
                _button(_("Resume"), "resume", ":material/play_arrow:", lambda: docmind.queue.resume(), is_primary=True)
                _button(_("Cancel"), "cancel", ":material/close:", lambda: docmind.queue.cancel())
        if now.message:
            errors.show_message(now.message)


def _draw_done(done: Sequence[UploadInfo]) -> None:
    """Draw what was read just now, over the page; *Activity* lists it afterwards."""
    with st.container(border=True, key="news-done", gap="xsmall"):
        st.markdown(f":material/check_circle: **{_outcome(done)}**")
        for info in done:
            if len(done) <= _LISTED or info.message:
                st.caption(_line(info))


def _outcome(done: Sequence[UploadInfo]) -> str:
    """Return how many files were added, and how many were there already."""
    here = sum(info.result != "added" for info in done)
    told = [_("{n} added").format(n=f"{len(done) - here:,}")] if len(done) > here else []
    if here:
        there = ngettext("{n} file was already in your library", "{n} files were already in your library", here)
        told.append(there.format(n=f"{here:,}"))
    return ", ".join(told)


def activity(docmind: DocMind) -> None:
    """Draw a button with a list of the files that were read, the last one first, until it is cleared."""
    done = docmind.queue.uploads("done")
    if not done:
        return
    with st.popover(_("Activity"), icon=":material/history:", type="tertiary", key="activity"):
        st.markdown(f"**{_outcome(done)}**")
        for info in sorted(done, key=lambda one: one.changed_at_ms, reverse=True)[:_RECENT]:
            st.caption(f"{when(info.changed_at_ms)} · {_line(info)}")
        _button(_("Clear this list"), "dismiss", ":material/close:", lambda: _remove(docmind, done), is_quiet=True)


def _draw_cancelled(docmind: DocMind, files: Sequence[UploadInfo]) -> None:
    names = ", ".join(escape(info.document, limit=48) for info in files[:_NAMED])
    more = " " + _("and {n} more").format(n=f"{len(files) - _NAMED:,}") if len(files) > _NAMED else ""
    ids = [info.upload_id for info in files]
    with st.container(border=True, key="queue-cancelled"), _line_of_acts():
        st.markdown(f"**{_('Not read:')}** {names}{more}", width="stretch")
        _button(_("Add again"), "again", ":material/undo:", lambda: docmind.queue.retry(ids))
        told = _("Remove from this list")
        _button(told, "drop", ":material/close:", lambda: _remove(docmind, files), told=told, is_quiet=True)


def _draw_failed(docmind: DocMind, info: UploadInfo) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"failed-{info.upload_id}"):
        with st.container(gap=None):
            st.markdown(f":material/error: {_sentence(info)}")
            if info.hint:
                st.caption(escape(info.hint))
        ids = [info.upload_id]
        _button(_("Retry"), f"retry-{info.upload_id}", ":material/refresh:", lambda: docmind.queue.retry(ids))
        _remove_button(docmind, info)


def _draw_locked(docmind: DocMind, info: UploadInfo) -> None:
    key = f"password-{info.upload_id}-{info.changed_at_ms}"  # another field after each try, so that it begins empty
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key=f"locked-{info.upload_id}"):
        with st.form(key, border=False):
            wrong = _("That password does not open it.") + " " if "does not open" in info.message else ""
            name = f"**{escape(info.document, limit=60)}**"
            st.markdown(f":material/lock: {wrong}{_('{name} is locked.').format(name=name)}")
            with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
                password = st.text_input(
                    _("Password"), type="password", key=f"{key}-text", autocomplete="off", width=280
                )
                wants = st.form_submit_button(_("Unlock"), type="primary")
        _remove_button(docmind, info)
    if wants and password:
        _act(lambda: docmind.queue.unlock(info.upload_id, password))
        st.rerun()


def _remove_button(docmind: DocMind, info: UploadInfo) -> None:
    told = _("Remove {name} from this list").format(name=escape(info.document, limit=60))
    key = f"remove-{info.upload_id}"
    _button(told, key, ":material/delete:", lambda: _remove(docmind, [info]), told=told, is_quiet=True)


def _line_of_acts() -> Any:
    return st.container(horizontal=True, vertical_alignment="center", gap="small")


def _acts() -> Any:
    """Return a container of buttons that wrap together in a narrow window."""
    return st.container(horizontal=True, width="content", gap="small")


def _button(
    label: str,
    key: str,
    icon: str,
    work: Callable[[], object],
    *,
    told: str | None = None,
    is_primary: bool = False,
    is_quiet: bool = False,
) -> None:
    kind = "primary" if is_primary else "tertiary" if is_quiet else "secondary"
    st.button(label, key=f"queue-{key}", icon=icon, type=kind, help=told, on_click=_act, args=(work,))


def _remove(docmind: DocMind, files: Sequence[UploadInfo]) -> None:
    docmind.queue.remove([info.upload_id for info in files])


def _unread_line(docmind: DocMind) -> None:
    now = docmind.queue.progress()
    if not now.unread:
        st.rerun()
    if now.is_busy:
        told = ngettext(
            "Reading {n} file. You can ask now; answers may be incomplete.",
            "Reading {n} files. You can ask now; answers may be incomplete.",
            now.unread,
        )
        icon = ":material/hourglass_top:"
    else:
        told = ngettext(
            "Reading is paused: {n} file is not read yet", "Reading is paused: {n} files are not read yet", now.unread
        )
        icon = ":material/pause_circle:"
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="unread"):
        st.caption(f"{icon} {told.format(n=f'{now.unread:,}')}", width="content")
        st.page_link("documents.py", label=_("See progress"))


def _fraction(now: QueueProgress) -> float:
    if not now.files_total:
        return 0.0
    inside = now.pages_done / now.pages_total if now.pages_total else 0.0
    return min(1.0, (now.files_done + min(inside, 0.99)) / now.files_total)


def _headline(now: QueueProgress, *, is_first: bool) -> str:
    """Return what is being done; with the first file of a library the text models are loaded, which takes a while."""
    if is_first and (now.stage == "starting" or not now.file):
        return _("Getting ready (first time)…")
    if not now.file:
        return _("Getting ready to read…")
    told = _(_STAGES.get(now.stage, _STAGES["reading"])).format(name=f"**{escape(now.file, limit=56)}**")
    if now.files_total < 2:
        return told
    place = _("({number} of {total})").format(number=min(now.files_done + 1, now.files_total), total=now.files_total)
    return f"{told} {place}"


def _details(now: QueueProgress) -> str:
    details = []
    if now.pages_total:
        read = ngettext("{done} of {pages} page read", "{done} of {pages} pages read", now.pages_total)
        details.append(read.format(done=f"{now.pages_done:,}", pages=f"{now.pages_total:,}"))
    elif now.stage == "starting":
        details.append(_("The text model is being loaded"))
    if now.also:
        also = ngettext("{n} more file is being read", "{n} more files are being read", now.also)
        details.append(also.format(n=f"{now.also:,}"))
    if now.waiting and now.stage != "stopping":
        waiting = ngettext("{n} file is waiting", "{n} files are waiting", now.waiting)
        details.append(waiting.format(n=f"{now.waiting:,}"))
    if now.eta_ms is not None:
        details.append(_("about {time} left").format(time=about(now.eta_ms)))
    return " · ".join(details) or _("Opening the file")


def _sentence(info: UploadInfo) -> str:
    """Return the message of a file, preceded by its name where the message lacks it."""
    name = escape(info.document, limit=64)
    return escape(info.message) if info.document in info.message else f"**{name}:** {escape(info.message)}"


def _line(info: UploadInfo) -> str:
    name = escape(info.document, limit=64)
    remark = f"  \n{escape(info.message)}" if info.message else ""
    if info.result != "added":
        return _("{name}: already in your library").format(name=name) + remark
    seen = ", " + _("{n} by OCR").format(n=f"{info.ocr_pages:,}") if info.ocr_pages else ""
    pages = count(ngettext("{n} page", "{n} pages", info.pages), info.pages)
    return f"{name}: {pages}{seen}{remark}"
