"""The pages over a real vault, without a browser: what a user sees after each action."""

from __future__ import annotations

import io
import json
import re
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msoffcrypto.format.ooxml import OOXMLFile
from streamlit.elements.widgets.file_uploader import DeletedFile
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.uploaded_file_manager import UploadedFileRec
from streamlit.testing.v1 import AppTest

import forked
import other_readers
from archives import packed
from conftest import ROOT
from desks import settings_in, text_pdf
from docmind.application import DocMind
from docmind.config import ReadingSettings, Settings, StorageSettings
from docmind.errors import DocMindError
from docmind.llm.discover import discover
from docmind.records.conversations import ThreadView
from docmind.records.documents import Upload
from docmind.ui.app import state
from docmind.ui.app.app_state import app_state
from docmind.ui.app.errors import attempt
from docmind.ui.app.page_view import drop_images
from docmind.ui.documents.served import rows_of
from libraries import Library, confirm
from llm_server import FALSE_SENTENCE, Behaviour, LLMServer, Model, images_of, serving, text_of
from papers import line, pdf, word_file
from websites import serving_pages

REPORT = pdf(
    [line("The warranty lasts for twenty-four months from delivery.", size=16), line("Returns are free of charge.")]
)
NAME = "report.pdf"
REMINDER, FOLDED = "Your recovery code is not written down yet.", "Write down the recovery code"
HOSTILE = "![x](http:⁄⁄127.0.0.1:9⁄c.png) :red[r] $x$ <img src=x> [l](javascript:1).txt"


@pytest.fixture(autouse=True)
def vault(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("DOCMIND_EMBEDDING__MODEL", "fake")
    monkeypatch.setenv("DOCMIND_READING__OCR", "off")
    monkeypatch.setenv("DOCMIND_LLM__PROVIDER", "off")
    monkeypatch.setenv("DOCMIND_READING__WORKERS", "1")
    monkeypatch.setenv("DOCMIND_ANSWER__THRESHOLD", "0")  # the fake model's scores are always low
    app_state.clear()
    yield
    app_state.clear()


def app(page: str = "") -> AppTest:
    """Open the app in a new tab, with the recovery code confirmed, on one of its pages."""
    test = AppTest.from_file(str(ROOT / "pages/start.py"), default_timeout=60).run()
    mind = attempt(app_state().open)
    if not isinstance(mind, DocMindError):
        mind.keys.confirm_recovery_code(mind.keys.recovery_code() or "")
    if page:
        test.switch_page(page)
    return test.run()


def settings(section: str) -> AppTest:
    """Open a section of Settings in a new tab of the browser."""
    test = app("settings.py")
    test.session_state["section"] = section
    return test.run()


def finish(test: AppTest) -> AppTest:
    """Wait for the queue, as the page does by itself in a browser."""
    mind, until = app_state().open(), time.monotonic() + 300
    while mind.queue.progress().is_busy:
        assert time.monotonic() < until, "the queue does not end"
        time.sleep(0.05)
    return test.run()


def applied(test: AppTest) -> AppTest:
    """Wait until a setting is in effect, which waits for what is being done, and draw the page again."""
    until = time.monotonic() + 60
    while app_state().is_waiting:
        app_state().open()
        assert time.monotonic() < until, "the setting does not take effect"
        time.sleep(0.05)
    return test.run()


def add(*files: tuple[str, bytes]) -> AppTest:
    test = app("documents.py")
    test.file_uploader[0].set_value([(name, data, "application/octet-stream") for name, data in files]).run()
    return finish(test)


def settings_of(folder: Path) -> Settings:
    """Return the settings of the tests' vault."""
    return settings_in(folder, reading=ReadingSettings(ocr="off", workers=1), storage=StorageSettings())


def stock(*others: Upload) -> None:
    """Put a library with the report and these files in the place of the vault, before it is opened."""
    library = Library("report", [Upload(NAME, REPORT), *others], confirm, settings_of)
    library.copy_to(Settings.load().data_dir.parent)
    drop_images()


def said(test: AppTest) -> str:
    """Return all text on the page."""
    assert not test.exception
    parts = [*test.title, *test.subheader, *test.markdown, *test.caption, *test.text, *test.error, *test.success]
    shown = [str(part.value) for part in parts] + [button.label for button in test.button]
    return "\n".join(shown).replace("\\", "").replace("\u2060", "")


def listed() -> list[tuple[str, str]]:
    """Return the names and states of the documents in the table, whose rows the browser fetches."""
    told = json.loads(rows_of(app_state().open())[1])
    name, status = (told["names"].index(one) for one in ("document", "status"))
    return [(row[name], row[status]) for row in told["rows"]]


def click(test: AppTest, key: str) -> AppTest:
    return next(button for button in test.button if button.key and button.key.startswith(key)).click().run()


# --- opening ----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_an_empty_desk_says_how_to_begin() -> None:
    assert "Add a few files to begin" in said(app())
    assert "Nothing here yet" in said(app("documents.py"))


def new_tab() -> AppTest:
    return AppTest.from_file(str(ROOT / "pages/start.py"), default_timeout=60).run()


@pytest.mark.slow
def test_every_page_reminds_until_the_recovery_code_is_confirmed() -> None:
    test = new_tab()
    assert "Add a few files to begin" in said(test), "the code does not stand before the first screen"
    assert REMINDER not in said(test), "there is nothing to lose yet"
    app_state().open().add([Upload(NAME, REPORT)])
    for page in ("settings.py", "documents.py"):
        test.switch_page(page)
        assert REMINDER in said(test.run())
    click(test, "recovery-show-reminder")
    code = test.code[0].value
    assert len(code.split("-")) == 6
    other = new_tab()
    click(other, "recovery-show-reminder")
    assert other.code[0].value == code
    next(button for button in other.button if button.label == "I have written it down").click().run()
    assert not other.code
    for tab in (other, test.run(), app("documents.py")):
        assert REMINDER not in said(tab)


@pytest.mark.slow
def test_a_reminder_that_was_put_off_is_a_line_in_the_side_bar_until_the_code_is_confirmed() -> None:
    app_state().open().add([Upload(NAME, REPORT)])
    test = new_tab()
    assert FOLDED not in said(test)
    test = click(test, "recovery-later")
    app_state.clear()  # another start
    for page in ("settings.py", "documents.py"):
        test.switch_page(page)
        words = said(test.run())
        assert REMINDER not in words
        assert FOLDED in [button.label for button in test.sidebar.button]
    click(test, "recovery-show-side")
    assert len(test.code[0].value.split("-")) == 6
    next(button for button in test.button if button.label == "I have written it down").click().run()
    assert FOLDED not in said(test)
    app_state().open().keys.new_recovery_code()
    assert REMINDER in said(test.run()), "another code was not refused yet"


@pytest.mark.slow
def test_the_settings_make_a_new_recovery_code_after_asking() -> None:
    test = settings("Privacy")
    mind = app_state().open()
    assert mind.keys.recovery_code() is None
    click(test, "recovery-renew")
    assert "The code you have stops working" in said(test)
    click(test, "recovery-keep")
    assert mind.keys.recovery_code() is None
    click(test, "recovery-renew")
    click(test, "recovery-make")
    assert [code.value for code in test.code if "-" in code.value][-1:] == [mind.keys.recovery_code()]
    click(test, "recovery-confirm")
    assert mind.keys.recovery_code() is None
    assert "You confirmed" in said(test)


@pytest.mark.slow
def test_a_vault_in_use_is_one_sentence_with_a_hint(data_dir: Path) -> None:
    with DocMind(Settings.load()):
        test = app()
        assert "is in use by another DocMind" in test.error[0].value.replace("\\", "")
        assert "Close the other DocMind" in test.error[0].value
    test.button[0].click().run()
    assert not test.error
    assert "Add a few files to begin" in said(test)


def test_a_setting_that_does_not_exist_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCMIND_NONSENSE", "1")
    assert "DOCMIND_NONSENSE" in app().error[0].value.replace("\\", "")


@pytest.mark.slow
def test_a_passphrase_makes_a_vault_and_opens_it_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCMIND_KEYS__SOURCE", "passphrase")
    monkeypatch.delenv("DOCMIND_KEYS__FILE")
    test = app()
    assert "Choose a new passphrase" in said(test)

    def give(*words: str) -> None:
        for field, word in zip(test.text_input, words, strict=False):  # the form of the recovery code comes after
            field.set_value(word)
        test.button[0].click().run()

    give("correct horse", "correct hoarse")
    assert "differ" in said(test)
    give("short", "short")
    assert "at least 8" in said(test)
    give("correct horse", "correct horse")
    assert "Add a few files to begin" in said(test)
    code = app_state().open().keys.recovery_code()

    app_state.clear()
    test = app()
    assert "Your library is locked" in said(test)
    give("")
    assert "Type the passphrase" in said(test)
    give("wrong horse")
    assert "isn't the passphrase of your library" in said(test)
    give("correct horse")
    assert "Add a few files to begin" in said(test)

    app_state.clear()
    monkeypatch.setenv("DOCMIND_KEYS__RECOVERY_CODE", str(code))
    test = app()
    assert "Choose a new passphrase" in said(test), "the vault gets a new key: what is mistyped now locks it"
    give("battery staple", "battery stable")
    assert "differ" in said(test)
    give("battery staple", "battery staple")
    assert "Add a few files to begin" in said(test)
    assert app_state().open().keys.recovery_code() not in (None, code)


# --- documents --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_files_are_read_and_each_says_what_became_of_it() -> None:
    test = add((NAME, REPORT), ("empty.txt", b"  "), ("song.gz", b"\x1f\x8b\x08rest"))
    words = said(test)
    assert "2 files could not be read" in words
    assert "1 added" in words
    assert "empty.txt is empty" in words
    assert "Check that the file was copied completely." in words
    assert f"{NAME}: 2 pages" in words
    assert listed() == [(NAME, "ready")]


@pytest.mark.slow
def test_the_same_file_twice_is_already_here() -> None:
    add((NAME, REPORT))
    assert "1 file was already in your library" in said(add((NAME, REPORT)))
    assert len(app_state().open().documents.all()) == 1


def locked(name: str) -> tuple[str, bytes]:
    out = io.BytesIO()
    OOXMLFile(io.BytesIO(word_file())).encrypt("opensesame", out)
    return name, out.getvalue()


@pytest.mark.slow
def test_a_locked_file_asks_for_its_password_and_is_read_with_it() -> None:
    add(locked("locked.docx"))
    app_state.clear()  # another start, and another tab
    test = app("documents.py")
    assert "locked.docx** is locked" in said(test)
    for password, told in (("wrong", "That password does not open it"), ("opensesame", "1 added")):
        field = next(field for field in test.text_input if field.label == "Password")
        assert field.value == ""
        field.set_value(password)
        finish(next(button for button in test.button if button.label == "Unlock").click().run())
        assert told in said(test)
    assert "is locked" not in said(test), "what was opened is not told as locked any more"
    assert [info.document for info in app_state().open().documents.all()] == ["locked.docx"]


@pytest.mark.slow
def test_failed_files_stay_until_they_are_removed() -> None:
    add(("broken.pdf", b"%PDF-1.4 broken"), ("empty.txt", b"  "))
    app_state.clear()
    test = app("documents.py")
    assert "2 files could not be read" in said(test)
    test = finish(click(test, "queue-retry-"))
    assert "2 files could not be read" in said(test)
    test = click(test, "queue-remove-").run()
    assert "1 file could not be read" in said(test)
    test = click(test, "queue-remove-").run()
    assert "could not be read" not in said(test)
    assert "Nothing here yet" in said(test)


@pytest.mark.slow
def test_cancelled_files_are_named_and_can_be_added_again() -> None:
    mind = app_state().open()
    mind.queue.hold([Upload(f"report {number}.txt", f"Herons of day {number}.".encode()) for number in range(7)])
    mind.queue.cancel()
    mind.queue.release(tuple(mind.queue._held))
    test = app("documents.py")
    assert "Not read:** report 0.txt, report 1.txt, report 2.txt, report 3.txt, report 4.txt and 2 more" in said(test)
    test = finish(click(test, "queue-again"))
    assert "7 added" in said(test)
    test = click(test, "queue-dismiss").run()
    assert "7 added" not in said(test)
    assert [status for _, status in listed()] == ["ready"] * 7


@pytest.mark.slow
def test_paused_files_wait_and_the_ask_page_says_so() -> None:
    stock()
    mind = app_state().open()
    held = mind.queue.hold([Upload("later.txt", b"Herons wait.")])
    mind.queue.pause()
    mind.queue.release(tuple(held))
    test = app()
    assert "Reading is paused: 1 file is not read yet" in said(test)
    assert "See progress" in [link.proto.label for link in test.get("page_link")]
    test = app("documents.py")
    assert "Paused: 1 file is not read yet**" in said(test)
    assert "1 added" in said(finish(click(test, "queue-resume")))
    assert sorted(listed()) == [("later.txt", "ready"), (NAME, "ready")]
    assert "See progress" not in [link.proto.label for link in app().get("page_link")]


@pytest.mark.slow
def test_a_folder_is_followed_and_what_is_gone_is_decided(tmp_path: Path) -> None:
    papers = tmp_path / "papers"
    papers.mkdir()
    for name in ("heron", "owl"):
        (papers / f"{name}.txt").write_text(f"The {name} flies.")
    test = app("documents.py")
    test.session_state[state.ADDING] = "watched"  # as the menu does
    test.run()
    test.text_input(key="folder_path").set_value(str(papers))
    test = finish(next(button for button in test.button if button.label == "Follow folder").click().run())
    assert sorted(listed()) == [("heron.txt", "ready"), ("owl.txt", "ready")]
    (papers / "owl.txt").unlink()
    test = click(test, "folder-run-").run()
    assert "1 file is gone from its folder" in said(test)
    test = click(test, "folder-delete-").run()
    assert listed() == [("heron.txt", "ready")]
    assert "is gone" not in said(test)
    test.text_input(key="folder_path").set_value(str(tmp_path / "missing"))
    test = next(button for button in test.button if button.label == "Follow folder").click().run()
    assert "is not there" in test.error[0].value


def test_a_full_disk_is_told_and_takes_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCMIND_STORAGE__MIN_FREE_MB", "1000000000")
    test = add((NAME, REPORT))
    assert "MB free" in test.error[0].value
    assert app_state().open().queue.uploads() == ()


def test_a_file_of_the_upload_box_is_handed_in_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from docmind.ui.documents import upload as jobs

    taken: list[int] = []
    monkeypatch.setattr("docmind.ingest.IngestQueue.submit", lambda _self, uploads, **_: taken.append(len([*uploads])))
    file: Any = SimpleNamespace(file_id="one", name=NAME, size=len(REPORT), getvalue=lambda: REPORT)
    monkeypatch.setattr(jobs.st, "session_state", {})
    mind = app_state().open()
    for _ in range(3):
        jobs._hand_in(mind, [DeletedFile("gone with the server"), file])
    assert taken == [1]


class Interrupted(BaseException):
    """What Streamlit raises at an access of the session state when a newer run waits."""


@pytest.mark.parametrize("before", range(4))
def test_a_run_that_ends_early_loses_no_file(monkeypatch: pytest.MonkeyPatch, before: int) -> None:
    from docmind.ui.documents import upload as jobs

    accesses = iter(range(100))

    class Session(dict[str, Any]):
        def _yield(self) -> None:
            if next(accesses) == before:
                raise Interrupted

        def setdefault(self, key: str, default: Any = None) -> Any:
            self._yield()
            return super().setdefault(key, default)

        def pop(self, key: str, default: Any = None) -> Any:
            self._yield()
            return super().pop(key, default)

    taken: list[int] = []
    monkeypatch.setattr("docmind.ingest.IngestQueue.submit", lambda _self, uploads, **_: taken.append(len([*uploads])))
    monkeypatch.setattr(jobs.st, "session_state", Session())
    file: Any = SimpleNamespace(file_id="one", name=NAME, size=len(REPORT), getvalue=lambda: REPORT)
    mind = app_state().open()
    for _ in range(3):
        with suppress(Interrupted):
            jobs._hand_in(mind, [file])
    assert taken == [1]


def test_the_memory_of_a_file_is_freed_once_it_was_handed_in(monkeypatch: pytest.MonkeyPatch) -> None:
    from docmind.ui.documents import upload as jobs

    files = MemoryUploadedFileManager("/upload")
    files.add_file("tab", UploadedFileRec("one", NAME, "application/pdf", REPORT))
    context = SimpleNamespace(uploaded_file_mgr=files, session_id="tab")
    monkeypatch.setattr(jobs, "get_script_run_ctx", lambda: context)
    monkeypatch.setattr("docmind.ingest.IngestQueue.submit", lambda _self, uploads, **_: [*uploads])
    dropped: Any = SimpleNamespace(file_id="one", name=NAME, size=len(REPORT), getvalue=lambda: REPORT)
    monkeypatch.setattr(jobs.st, "session_state", {})
    jobs._hand_in(app_state().open(), [dropped])
    assert not files.get_files("tab", ["one"])


def open_document(name: str) -> AppTest:
    """Open a document, as its row does."""
    test, info = app("documents.py"), app_state().open().documents.find(name)
    test.query_params[state.OPEN_DOCUMENT] = info.doc_id
    return test.run()


@pytest.mark.slow
def test_a_document_opens_page_by_page() -> None:
    stock()
    test = open_document(NAME)
    assert "PDF · 2 pages" in said(test)
    assert "Text from the file: 2 pages" in said(test)


@pytest.mark.slow
def test_a_document_is_renamed_tagged_and_put_into_a_collection() -> None:
    stock()
    mind = app_state().open()
    test = click(open_document(NAME), "document-rename")
    test.text_input(key="edit-title").set_value("The warranty").run()
    test = click(test, "rename-yes")
    assert "The warranty" in said(test)
    (info,) = mind.documents.all()
    test.multiselect(key=f"tags-{info.doc_id}").set_value(["legal"]).run()
    test.selectbox(key=f"language-{info.doc_id}").set_value("pt").run()
    assert not test.exception
    (info,) = mind.documents.all()
    assert (info.title, info.document, info.tags, info.language) == ("The warranty", NAME, ("legal",), "pt")


@pytest.mark.slow
def test_deleting_moves_to_the_bin_and_is_undone() -> None:
    stock()
    mind = app_state().open()
    test = click(open_document(NAME), "document-delete")
    assert "“report.pdf” is in the bin." in said(test)
    assert not mind.documents.all()
    test = click(test, "bin-undo")
    assert [info.document for info in mind.documents.all()] == [NAME]
    test = click(open_document(NAME), "document-delete")
    test = click(test, "bin-open")
    assert "Documents are deleted permanently after 30 days." in said(test)
    test = click(test, "restore-")
    assert "The bin is empty." in said(test)
    test = click(open_document(NAME), "document-delete")
    test = click(click(test, "bin-open"), "bin-empty")
    assert "This can't be undone." in said(test)
    test = click(test, "purge-no")
    assert mind.documents.binned()
    test = click(click(test, "bin-empty"), "purge-yes")
    assert "“report.pdf” was erased." in said(test)
    assert "no trace is left" in said(test)
    assert not mind.documents.binned()
    assert [receipt.is_clean for receipt in mind.erasures.receipts()] == [True]
    test = click(test, "receipts-dismiss")
    assert "was deleted" not in said(test)


@pytest.mark.slow
def test_without_a_bin_deleting_asks_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCMIND_STORAGE__BIN_DAYS", "0")
    stock()
    test = click(open_document(NAME), "document-delete")
    assert "This can't be undone." in said(test)
    test = click(test, "purge-yes")
    assert not app_state().open().documents.all()
    assert "Nothing here yet" in said(test)


CRASH = """
import os, sys, time
from desks import held_after
from docmind.application import DocMind
from docmind.config import Settings
from docmind.records.conversations import ThreadView
from docmind.records.documents import Upload
if __name__ == "__main__":
    with held_after(8):
        mind = DocMind(Settings.load())
        mind.queue.submit([Upload("report.pdf", sys.stdin.buffer.read())])
        while not any(info.pages_done for info in mind.documents.all()):
            time.sleep(0.01)
        os._exit(9)
"""


@pytest.mark.slow
def test_what_a_crash_cut_off_goes_on_at_the_next_start(tmp_path: Path) -> None:
    long = text_pdf([f"Page {number} of many." for number in range(20)])
    crash = forked.run([sys.executable, "-c", CRASH], input=long, check=False, timeout=60)
    assert crash.returncode == 9
    test = app("documents.py")
    finish(test)
    assert listed() == [(NAME, "ready")]
    assert [info.pages_done for info in app_state().open().documents.all()] == [20]


# --- asking -----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_an_answer_quotes_its_page() -> None:
    stock()
    test = app()
    assert "For example" in said(test)
    ask(test, "How long does the warranty last?")
    assert len(test.chat_message) == 2
    words = said(test)
    assert "“The warranty lasts for twenty-four months from delivery.”" in words
    assert "may answer" not in words
    assert "Page 1" in words
    assert "Answered in" in words


@pytest.mark.slow
def test_what_only_may_answer_is_shown_as_that(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCMIND_ANSWER__SURE", "1")
    stock()
    test = app()
    ask(test, "How long does the warranty last?")
    words = said(test)
    assert "These passages may answer it:" in words
    assert "The warranty lasts for twenty-four months from delivery." in words


@pytest.mark.slow
def test_example_questions_are_made_of_the_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCMIND_ANSWER__SURE", "0")
    lease = b"# Lease\n\n## Deposit\n\nThe deposit is EUR 1,900 and is paid before the keys are handed over.\n"
    add(("lease.md", lease), (HOSTILE, b"# :red[r]\n\nThe boiler is serviced by the landlord once every autumn."))
    assert app_state().open().examples.wait(60)
    test = app()
    words = said(test)
    assert "How much is the deposit?" in words
    assert "red[r]" not in words
    next(button for button in test.button if "deposit" in button.label).click().run()
    assert "The deposit is EUR 1,900" in said(test)


@pytest.mark.slow
def test_greetings_lists_summaries_and_sums_are_shown_as_such() -> None:
    stock(Upload(HOSTILE, b"The warranty of the boiler lasts for three years from the day of delivery."))
    test = app()
    ask(test, "Good morning!")
    assert "There are 2 documents to ask" in said(test)
    ask(test, "What documents do I have?")
    words = said(test)
    assert "There are 2 documents, the newest first:" in words
    assert "“The warranty lasts for twenty-four months from delivery.”" in words
    assert [part for part in test.markdown if part.value.startswith("[:green-badge[2]")]
    for part in test.markdown:
        left = re.sub(r"\\.|\]\(#(?:read|xray)=[\w.&=-]+\)", "", part.value)
        for bad in ("![", "](", "red[", "<", "$x", "://"):
            assert bad not in left, part.value
    ask(test, "Summarise report.pdf")
    assert "Key sentences from " in said(test)
    ask(test, "How much did I pay for the warranty in total?")
    assert "Adding up needs a language model." in said(test)
    assert "may answer it" not in said(test)
    assert any(link.proto.label == "Set up a language model" for link in test.get("page_link"))


@pytest.mark.slow
def test_without_an_answer_the_closest_pages_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCMIND_ANSWER__THRESHOLD", "1")
    stock()
    test = app()
    ask(test, "Who painted the ceiling of the chapel?")
    assert "I couldn't find this in your documents." in said(test)
    assert [one for one in test.expander if one.label == "Closest pages"]


@pytest.mark.slow
def test_an_answer_over_a_document_deleted_since_says_so() -> None:
    stock()
    test = app()
    ask(test, "How long does the warranty last?")
    mind = app_state().open()
    mind.erasures.erase([mind.documents.all()[0].doc_id], conversations=False)
    mind.add([Upload("other.txt", b"Something else to keep the desk from being empty.")])
    drop_images()
    test.run()
    words = said(test)
    assert "This document has been deleted." in words
    assert "The warranty lasts for twenty-four months from delivery." in words


@pytest.mark.slow
def test_filters_narrow_where_is_looked() -> None:
    stock(Upload("other.txt", b"The warranty of the other thing lasts for three weeks, no more."))
    test = app()
    other = next(info.doc_id for info in app_state().open().documents.all() if info.document == "other.txt")
    test.multiselect[0].set_value([other]).run()
    ask(test, "How long does the warranty last?")
    words = said(test)
    assert "three weeks" in words
    assert "twenty-four" not in words


# --- conversations ----------------------------------------------------------------------------------------------------

WARRANTY = "How long does the warranty last?"


def ask(test: AppTest, question: str) -> AppTest:
    return settle(test.chat_input(key="question").set_value(question).run())


def settle(test: AppTest) -> AppTest:
    """Wait until no question is running, as the page does by itself in a browser."""
    mind, thread_id = app_state().open(), open_thread(test)
    until = time.monotonic() + 60
    while (run := mind.conversations.live(thread_id)) is not None:
        assert time.monotonic() < until, "the answer does not end"
        mind.conversations.wait(run.run_id, 1)
    return test.run()


def open_thread(test: AppTest) -> str:
    """Return the id in the address of the page."""
    told = test.query_params["thread"]
    return told if isinstance(told, str) else told[0]


@pytest.fixture
def model(vault: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[LLMServer]:
    """Serve a language model on loopback."""
    with serving() as server:
        monkeypatch.setenv("DOCMIND_LLM__PROVIDER", "ollama")
        monkeypatch.setenv("DOCMIND_LLM__URL", server.url)
        yield server


@pytest.mark.slow
def test_a_conversation_opens_from_its_address_in_another_tab() -> None:
    stock()
    first = ask(app(), WARRANTY)
    second = AppTest.from_file(str(ROOT / "pages/start.py"), default_timeout=60)
    second.query_params["thread"] = open_thread(first)
    words = said(second.run())
    assert WARRANTY in words
    assert "The warranty lasts for twenty-four months from delivery." in words
    second.query_params["thread"] = "../../etc"
    assert "For example" in said(second.run()), "what is no id opens nothing"


@pytest.mark.slow
def test_what_a_model_wrote_is_marked_where_no_page_says_it(model: LLMServer) -> None:
    stock()
    model.queue(Behaviour(lie=True))
    words = said(ask(app(), WARRANTY))
    assert "not found in your documents" in words
    assert FALSE_SENTENCE in words
    assert "· llama3.2:3b · on this computer" in words


@pytest.mark.slow
def test_what_a_model_saw_on_a_page_is_marked_and_leads_to_it(model: LLMServer) -> None:
    model.models = [Model("gemma3:4b", capabilities=("completion", "vision"))]
    stock()
    model.queue(Behaviour(text=f"{FALSE_SENTENCE} [image 1]"))
    test = ask(app(), WARRANTY)
    assert images_of(model.asked()[-1].body)
    words = said(test)
    assert FALSE_SENTENCE in words
    assert words.count("seen on the page, not in its text") == 2, "after the sentence, and beside its source"
    assert "not found in your documents" not in words
    assert "green-badge[1]" not in test.chat_message[-1].markdown[0].value
    assert re.search(r"\*\*Page 1\*\* .*\]\(#read=\w+\.1&from=", said(test))


@pytest.mark.slow
def test_a_follow_up_says_what_it_was_understood_as() -> None:
    stock()
    test = ask(ask(app(), WARRANTY), "And where does that begin?")
    assert len(test.chat_message) == 4
    assert "Understood as" in said(test)


@pytest.mark.slow
def test_a_failing_model_is_told_and_the_question_tried_again(model: LLMServer) -> None:
    stock()
    model.queue(Behaviour("cut", "The warranty"))
    test = ask(app(), WARRANTY)
    words = said(test)
    assert words.count("broke off in the middle of its answer") == 1, "told once"
    assert "Below are quotes from your pages instead." in words
    test = settle(click(test, "turn-0-again"))
    assert "broke off" not in said(test)
    assert "2 of 2" in said(test), "the first try stays beside it"


@pytest.mark.slow
def test_a_question_is_edited_and_asked_from_the_same_point() -> None:
    stock()
    test = ask(ask(app(), WARRANTY), "Are returns free of charge?")
    test = click(test, "turn-0-edit")
    assert "The previous answer stays in the history." in said(test)
    test = click(test, "edit-cancel")
    assert "The previous answer stays in the history." not in said(test)
    test = click(test, "turn-0-edit")
    test.chat_input(key="edit").set_value("What is free of charge?").run()
    assert "2 of 2" in said(settle(test))
    assert [turn.question for turn in view_of(test).turns] == ["What is free of charge?"]


@pytest.mark.slow
def test_empty_questions_are_not_asked_refused_ones_restored() -> None:
    stock()
    test = app()
    test.chat_input(key="question").set_value("   ").run()
    assert not app_state().open().conversations.threads()
    test = ask(test, WARRANTY)
    app_state().open().conversations.close()  # as while the app is being closed
    test.chat_input(key="question").set_value("Is it lost?").run()
    assert "The library is closed." in said(test)
    assert test.session_state["question"] is None, "given to the browser, which shows it"
    assert "Is it lost?" not in [turn.question for turn in view_of(test).turns]


def view_of(test: AppTest) -> ThreadView:
    return app_state().open().conversations.view(open_thread(test))


@pytest.mark.slow
def test_a_long_conversation_shows_its_end_and_more_on_request() -> None:
    stock()
    mind = app_state().open()
    mind.models.choose(None)
    thread = mind.conversations.create()
    for number in range(33):
        mind.conversations.ask(f"How long does the warranty last, {number}?", thread_id=thread.thread_id)
    test = app()
    test.query_params["thread"] = thread.thread_id
    test.run()
    assert len(test.chat_message) == 60
    assert "Show 3 earlier questions" in said(test)
    test = click(test, "show-earlier")
    assert len(test.chat_message) == 66
    assert "Show" not in said(test)
    first = next(part.value for part in test.markdown if "#read=" in part.value)
    assert re.search(r"\.1&from=[\w-]+\.[\w-]+\.1\)", first), "the first answer's sources open too"


@pytest.mark.slow
def test_conversations_stay_when_the_last_document_is_gone() -> None:
    stock()
    test = ask(app(), WARRANTY)
    mind = app_state().open()
    mind.erasures.erase([mind.documents.all()[0].doc_id], conversations=False)
    drop_images()
    words = said(test.run())
    assert "There are no documents to ask." in words
    assert "This document has been deleted." in words
    assert not test.chat_input


@pytest.mark.slow
def test_facts_about_the_user_are_proposed_for_memory() -> None:
    stock()
    test = ask(app(), "Remember that our fiscal year starts in April. How long does the warranty last?")
    assert "Save this to memory?" in said(test)
    test = click(test, "everywhere-")
    assert [memory.thread_id for memory in app_state().open().memories.list().memories] == [None]
    assert "Save this to memory?" not in said(test)


@pytest.mark.slow
def test_agent_mode_and_web_consent_are_offered_where_possible(
    model: LLMServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCMIND_WEB__PROVIDER", "searxng")
    monkeypatch.setenv("DOCMIND_WEB__URL", "http://127.0.0.1:9")
    stock()
    app_state().open().models.list()
    test = app()
    assert not any(toggle.key == "web" for toggle in test.toggle), "only in steps"
    test.toggle(key="agent").set_value(True).run()
    test.toggle(key="web").set_value(True).run()
    test = ask(test, WARRANTY)
    assert view_of(test).turns[0].mode == "agent"
    assert test.toggle(key="agent").value
    assert not test.toggle(key="web").value, "consent is for one question"


@pytest.mark.slow
def test_a_server_that_has_ended_is_not_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving() as server:
        monkeypatch.setenv("DOCMIND_LLM__PROVIDER", "ollama")
        monkeypatch.setenv("DOCMIND_LLM__URL", server.url)
        test = app("settings.py")
        assert "in use" in said(test)
    test.run()
    words = said(test)
    assert any("cannot be reached" in warning.value for warning in test.warning)
    assert "in use" not in words
    assert "written by" not in words


@pytest.mark.slow
@pytest.mark.parametrize(("key", "asks"), [("found-use", 1), ("found-refuse", 0)])
def test_a_model_that_was_found_is_asked_about_once(monkeypatch: pytest.MonkeyPatch, key: str, asks: int) -> None:
    stock()
    with serving(protocols=("ollama",)) as server:
        monkeypatch.setenv("DOCMIND_LLM__PROVIDER", "ollama")
        probe = partial(discover, ports=[("ollama", server.port)])
        monkeypatch.setattr(app_state().open().models, "_discover", probe)
        app_state().open().models.list()
        test = app()
        words = said(test)
        assert f"**llama3.2:3b** was found at 127.0.0.1:{server.port}" in words
        assert "Nothing is sent to it before you say so." in words
        assert "Quotes only" in words
        ask(test, WARRANTY)
        assert not server.asked()
        test = click(app(), key)
        assert "was found at" not in said(test)
        ask(test, WARRANTY)
        assert len(server.asked()) == asks
        assert "was found at" not in said(app())


@pytest.mark.slow
def test_own_instructions_are_kept_and_sent(model: LLMServer) -> None:
    stock()
    app_state().open().models.list()
    test = app()
    assert [area.label for area in test.text_area] == ["In every conversation"]
    test.text_area(key="instructions-").set_value("Be brief.").run()
    test = ask(test, WARRANTY)
    thread_id = open_thread(test)
    test.text_area(key=f"instructions-{thread_id}").set_value("Answer in Portuguese.").run()
    ask(test, "Are returns free of charge?")
    first, second = (text_of(request.body["messages"][0]) for request in model.asked())
    assert first.endswith("<wishes>\nBe brief.\n</wishes>")
    assert second.endswith("<wishes>\nBe brief.\nAnswer in Portuguese.\n</wishes>")
    again = app()
    assert again.text_area(key="instructions-").value == "Be brief."
    again.text_area(key="instructions-").set_value("").run()
    assert app_state().open().conversations.instructions() == ""


@pytest.mark.slow
def test_without_a_model_there_is_nothing_to_instruct() -> None:
    stock()
    assert not app().text_area


@pytest.mark.slow
def test_history_and_memory_open_beside_the_conversation() -> None:
    stock()
    test = ask(app(), WARRANTY)
    test = click(test, "beside-choice-history")
    assert "Click one to view that point." in said(test)
    test = click(test, "beside-choice-memory")
    assert "Nothing is remembered yet." in said(test)
    test = click(test, "beside-choice-memory")
    assert "Nothing is remembered yet." not in said(test)


# --- hostile words ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_hostile_names_and_text_reach_markdown_only_escaped() -> None:
    text = "The warranty ![x](http://127.0.0.1:9/c.png) lasts :red[forever] $x$ <script>alert(1)</script>."
    test = add((HOSTILE, text.encode()))
    chat = app()
    ask(chat, "How long does the warranty last?")
    for page in (test, open_document(HOSTILE), chat):
        assert not page.exception
        for part in [*page.markdown, *page.caption, *page.error, *page.success, *page.subheader]:
            left = re.sub(r"\\.|\]\(#(?:read|xray)=[\w.&=-]+\)", "", str(part.value))
            for bad in ("![", "](", "red[", "<", "$", "://"):
                assert bad not in left, (bad, part.value)


# --- settings ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_settings_tell_what_is_there_and_rebuild_the_index() -> None:
    stock()
    test = settings("Storage")
    words = said(test)
    assert "Text model" in words
    assert {metric.label: metric.value for metric in test.metric}["Pages"] == "2"
    test = settings("Search")
    next(button for button in test.button if button.label == "Rebuild index").click().run()
    work = app_state().work("rebuild")
    assert work is not None
    assert work.ends.wait(60)
    assert "rebuilt" in said(test.run())


@pytest.mark.slow
def test_settings_keep_how_the_index_is_kept() -> None:
    test = settings("Privacy")
    (radio,) = [one for one in test.radio if one.key == "index_at_rest"]
    assert (radio.value, radio.disabled) == ("ephemeral", False)
    radio.set_value("blinded").run()
    assert not test.exception
    assert app_state().open().index.choice.at_rest() == "blinded"
    (again,) = [one for one in settings("Privacy").radio if one.key == "index_at_rest"]
    assert again.value == "blinded"


@pytest.mark.slow
def test_a_setting_is_applied_at_once_and_kept() -> None:
    test = settings("Answers")
    test.number_input(key="set-answer-quotes").set_value(2).run()
    assert not test.error
    assert app_state().open().settings.now.answer.quotes == 2
    app_state.clear()
    assert settings("Answers").number_input(key="set-answer-quotes").value == 2


@pytest.mark.slow
def test_what_the_environment_sets_is_shown_and_fixed() -> None:
    test = settings("Reading")
    engine = test.selectbox(key="set-reading-ocr")
    assert (engine.value, engine.disabled) == ("off", True)
    assert "Set by DOCMIND_READING__OCR" in said(test)
    assert not test.number_input(key="set-reading-max_file_mb").disabled


@pytest.mark.slow
def test_the_web_service_is_set_and_a_bad_value_is_refused() -> None:
    test = settings("Answers")
    test = applied(test.selectbox(key="set-web-provider").select("searxng").run())
    test.text_input(key="set-web-url").set_value("http://127.0.0.1:9").run()
    assert app_state().open().settings.now.web.url == "http://127.0.0.1:9"
    with pytest.raises(DocMindError, match="from 1 to 50"):
        app_state().change({"agent.max_steps": 0})


@pytest.mark.slow
def test_a_web_page_is_added_by_its_address_where_that_is_allowed() -> None:
    with serving_pages({"/bees": b"<!doctype html><title>On bees</title><p>Bees fan the nectar.</p>"}) as site:
        test = app("documents.py")
        test.session_state[state.ADDING] = "web"  # as the menu does
        assert "Fetching web pages is not allowed. Allow it in Settings" in said(test.run())
        assert not any(field.key == state.WEB_ADDRESS for field in test.text_input)
        app_state().change({"web.pages": "on"})
        test.run()
        for path, told in (("/none", "127.0.0.1 has no such page."), ("/bees", "")):
            test.text_input(key=state.WEB_ADDRESS).set_value(f"{site.url}{path}")
            next(button for button in test.button if button.label == "Add web page").click().run()
            assert told in said(test), "the dialog that asked says it"
        assert "1 added" in said(finish(test))
        assert [path for path, _ in site.asked] == ["/none", "/bees"]
        assert not any(field.key == state.WEB_ADDRESS for field in test.text_input), "the dialog is closed"
        (info,) = app_state().open().documents.all()
        test.query_params[state.OPEN_DOCUMENT] = info.doc_id
        assert f"from {site.url}/bees" in said(test.run())
        assert "On bees" in said(test)


@pytest.mark.slow
def test_the_passphrase_is_changed_in_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCMIND_KEYS__SOURCE", "passphrase")
    app_state().open("four words are enough")
    test = settings("Privacy")
    test.button(key="passphrase-change-settings").click().run()
    typed = {"now": "four words are enough", "new": "five words are better", "again": "five words are better"}
    for key, words in typed.items():
        test.text_input(key=f"passphrase-{key}").set_value(words)
    next(button for button in test.button if button.label == "Change it").click().run()
    assert not test.error
    assert app_state().open().keys.recovery_code() is not None
    app_state.clear()
    with pytest.raises(DocMindError):
        app_state().open("four words are enough")
    app_state().open("five words are better")


@pytest.mark.slow
def test_about_tells_the_version() -> None:
    assert "DocMind 0." in said(settings("About"))


@pytest.mark.slow
def test_two_tabs_share_one_desk() -> None:
    first, second = app("documents.py"), app("documents.py")
    first.file_uploader[0].set_value([(NAME, REPORT, "application/pdf")]).run()
    finish(first)
    assert "1 added" in said(second.run())
    second.query_params[state.OPEN_DOCUMENT] = app_state().open().documents.find(NAME).doc_id
    assert "Text from the file: 2 pages" in said(second.run())
    words = said(first.run())
    assert "1 added" in words, "what one tab opens stays in that tab"
    assert "Text from the file" not in words


@pytest.mark.slow
def test_sources_of_binned_and_erased_documents_say_so() -> None:
    stock()
    test = ask(app(), WARRANTY)
    mind = app_state().open()
    (info,) = mind.documents.all()
    mind.add([Upload("other.txt", b"Something else to keep the desk from being empty.")])
    mind.documents.bin([info.doc_id])
    drop_images()
    words = said(test.run())
    assert "This document is in the bin. Restore it to see the page." in words
    asked = click(open_document("other.txt"), "document-erase")
    assert "Erase its quotes in conversations" in [box.label for box in asked.checkbox]
    assert "you get a receipt" in said(asked)
    mind.erasures.erase([info.doc_id])
    drop_images()
    words = said(test.run())
    assert "This document has been erased, and its quotes with it." in words
    assert "twenty-four months" not in words


@pytest.mark.slow
def test_a_reader_of_another_package_is_turned_on_and_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = "class Toy:\n    title = 'Toys'\n    magic = (b'TOY ',)\n    def read(self, data, name, losses): ...\n"
    other_readers.install(tmp_path / "packages", monkeypatch, "docmind-toys", code, toy="Toy", pdf="Toy")
    other_readers.install(tmp_path / "packages", monkeypatch, "docmind-broken", "1 / 0\n", broken="Toy")
    test = settings("Reading")
    switch = test.toggle(key="reader-toy-docmind-toys")
    assert (switch.label.replace("\\", ""), switch.value) == ("Use the reader docmind-toys for .toy files", False)
    assert test.toggle(key="reader-pdf-docmind-toys").disabled
    assert "1.0 · MIT · Toys" in said(test)
    mind = app_state().open()
    mind.add([Upload("a.toy", b"TOY heron"), Upload("b.toy", packed({"x": "y"}))])
    test = applied(switch.set_value(True).run())
    assert app_state().open().settings.now.reading.readers == "toy"
    assert [one.value.split(".")[0] for one in test.info if "one of these readers" in one.value] == [
        "1 document was read as an archive or plain text, and one of these readers may know it"
    ]
    assert test.button(key="readers-again").label == "Read again"
    test = applied(test.toggle(key="reader-broken-docmind-broken").set_value(True).run())
    assert app_state().open().settings.now.reading.readers == "toy,broken"
    assert any("division by zero" in warning.value for warning in test.warning)
    applied(test.toggle(key="reader-toy-docmind-toys").set_value(False).run())
    assert app_state().open().settings.now.reading.readers == "broken"
