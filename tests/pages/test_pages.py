"""The pages over a real vault, without a browser: what a person sees after each thing they do."""

from __future__ import annotations

import io
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from msoffcrypto.format.ooxml import OOXMLFile
from streamlit.testing.v1 import AppTest

from conftest import ROOT
from docmind.application import DocMind
from docmind.config import Settings
from docmind.conversation import ThreadView
from docmind.schema import Upload
from docmind.ui.desk import desk
from docmind.ui.pageview import forget
from llm_server import FALSE_SENTENCE, Behaviour, LLMServer, serving
from papers import line, pdf, word_file

REPORT = pdf([line("The warranty lasts for twenty-four months from delivery."), line("Returns are free of charge.")])
NAME = "report.pdf"
HOSTILE = "![x](http:⁄⁄127.0.0.1:9⁄c.png) :red[r] $x$ <img src=x> [l](javascript:1).txt"


@pytest.fixture(autouse=True)
def vault(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("DOCMIND_EMBEDDING__MODEL", "fake")
    monkeypatch.setenv("DOCMIND_READING__OCR", "off")
    monkeypatch.setenv("DOCMIND_LLM__PROVIDER", "off")
    monkeypatch.setenv("DOCMIND_READING__WORKERS", "1")
    monkeypatch.setenv("DOCMIND_ANSWER__THRESHOLD", "0")  # the fake model is never sure
    desk.clear()
    yield
    desk.clear()


def app(page: str = "") -> AppTest:
    """The app in a new tab, the recovery code acknowledged, on one of its pages."""
    test = AppTest.from_file(str(ROOT / "pages" / "start.py"), default_timeout=60).run()
    desk().recovery_code = None
    if page:
        test.switch_page(page)
    return test.run()


def finish(test: AppTest) -> AppTest:
    """Wait for the jobs, as the page does by itself in a browser."""
    mind, until = desk().open(), time.monotonic() + 60
    while any(not job.is_over for job in mind.jobs()):
        assert time.monotonic() < until, "the job does not end"
        time.sleep(0.05)
    return test.run()


def add(*files: tuple[str, bytes]) -> AppTest:
    test = app("documents.py")
    test.file_uploader[0].set_value([(name, data, "application/octet-stream") for name, data in files]).run()
    return finish(test)


def said(test: AppTest) -> str:
    """Everything on the page that is words."""
    assert not test.exception
    parts = [*test.title, *test.subheader, *test.markdown, *test.caption, *test.text, *test.error, *test.success]
    shown = [str(part.value) for part in parts] + [button.label for button in test.button]
    return "\n".join(shown).replace("\\", "").replace("\u2060", "")


def click(test: AppTest, key: str) -> AppTest:
    return next(button for button in test.button if button.key and button.key.startswith(key)).click().run()


# --- opening ----------------------------------------------------------------------------------------------------------


def test_an_empty_desk_says_how_to_begin() -> None:
    assert "Add some first" in said(app())
    assert "Nothing here yet" in said(app("documents.py"))


def test_the_recovery_code_is_shown_on_any_page_until_it_is_acknowledged() -> None:
    test = AppTest.from_file(str(ROOT / "pages" / "start.py"), default_timeout=60).run()
    code = test.code[0].value
    assert len(code.split("-")) == 6
    assert AppTest.from_file(str(ROOT / "pages" / "start.py"), default_timeout=60).run().code[0].value == code
    next(button for button in test.button if button.label == "I have written it down").click().run()
    assert not test.code
    assert not app("documents.py").code


def test_a_vault_in_use_is_one_sentence_with_a_hint(data_dir: Path) -> None:
    with DocMind(Settings.load()):
        test = app()
        assert "is in use by another DocMind" in test.error[0].value.replace("\\", "")
        assert "Close the other DocMind" in test.error[0].value
    test.button[0].click().run()
    assert not test.error
    assert "Add some first" in said(test)


def test_a_setting_that_does_not_exist_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCMIND_NONSENSE", "1")
    assert "DOCMIND_NONSENSE" in app().error[0].value.replace("\\", "")


def test_a_passphrase_makes_a_vault_and_opens_it_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCMIND_KEYS__SOURCE", "passphrase")
    monkeypatch.delenv("DOCMIND_KEYS__FILE")
    test = app()
    assert "Choose a new passphrase" in said(test)

    def give(*words: str) -> None:
        for field, word in zip(test.text_input, words, strict=True):
            field.set_value(word)
        test.button[0].click().run()

    give("correct horse", "correct hoarse")
    assert "differ" in said(test)
    give("short", "short")
    assert "at least 8" in said(test)
    give("correct horse", "correct horse")
    assert "Write down your recovery code" in said(test)
    code = desk().recovery_code

    desk.clear()
    test = app()
    assert "Your vault is locked" in said(test)
    give("")
    assert "Type the passphrase" in said(test)
    give("wrong horse")
    assert "does not open this vault" in said(test)
    give("correct horse")
    assert "Add some first" in said(test)

    desk.clear()
    monkeypatch.setenv("DOCMIND_KEYS__RECOVERY_CODE", str(code))
    test = app()
    assert "Choose a new passphrase" in said(test), "the vault gets a new key: what is mistyped now locks it"
    give("battery staple", "battery stable")
    assert "differ" in said(test)
    give("battery staple", "battery staple")
    assert "Write down your recovery code" in said(test)


# --- documents --------------------------------------------------------------------------------------------------------


def test_files_are_read_and_each_says_what_became_of_it() -> None:
    test = add((NAME, REPORT), ("empty.txt", b"  "), ("song.gz", b"\x1f\x8b\x08rest"))
    words = said(test)
    assert "1 added, 2 not added" in words
    assert "empty.txt is empty" in words
    assert "Check that the file was copied whole." in words
    assert "1 document, 2 pages" in words
    assert NAME in words


def test_the_same_file_twice_is_already_here() -> None:
    add((NAME, REPORT))
    assert "1 already here" in said(add((NAME, REPORT)))
    assert len(desk().open().documents()) == 1


def test_a_locked_file_asks_for_its_password_and_is_read_with_it() -> None:
    out = io.BytesIO()
    OOXMLFile(io.BytesIO(word_file())).encrypt("opensesame", out)
    test = add(("locked.docx", out.getvalue()))
    assert "locked.docx** is locked" in said(test)
    assert "1 locked in" in said(test)
    for password, told in (("wrong", "That password does not open it"), ("opensesame", "1 added")):
        test.text_input[0].set_value(password)
        finish(next(button for button in test.button if button.label == "Open it").click().run())
        assert told in said(test)
    assert "1 locked in" not in said(test), "what was opened is not told as locked any more"
    assert [info.document for info in desk().open().documents()] == ["locked.docx"]
    kept = test.session_state["handed_in"]
    assert not any(upload for uploads in kept.values() for upload in uploads), "bytes are kept for nothing"


def test_a_document_opens_page_by_page() -> None:
    add((NAME, REPORT))
    test = click(app("documents.py"), "open-")
    assert "PDF · 2 pages" in said(test)
    test = click(test, "page-")
    assert "Page **1** of 2" in said(test)
    assert "The warranty lasts for twenty-four months from delivery." in said(test)
    assert "text as the file holds it" in said(test)
    test = click(test, "open_page-next")
    assert "Returns are free of charge." in said(test)
    assert next(button for button in test.button if button.key == "open_page-next").disabled


def test_the_list_is_searched_and_sorted() -> None:
    test = add(("b second.txt", b"A second text about cats."), ("a first.txt", b"A first text about dogs."))
    rows = [button.label for button in test.button if button.key and button.key.startswith("open-")]
    assert [row.replace("\\", "") for row in rows] == ["a first.txt", "b second.txt"]
    test.text_input(key="find").set_value("SECOND").run()
    assert "a first.txt" not in [
        button.label.replace("\\", "") for button in test.button if (button.key or "").startswith("open-")
    ]
    test.text_input(key="find").set_value("third").run()
    assert "No document's name holds that." in said(test)


def test_deleting_asks_first_and_shows_a_receipt() -> None:
    add((NAME, REPORT))
    test = click(app("documents.py"), "delete-row-")
    assert "This cannot be undone." in said(test)
    next(button for button in test.button if button.label == "Keep it").click().run()
    assert len(desk().open().documents()) == 1
    test = click(test, "delete-row-")
    next(button for button in test.button if button.label == "Delete for good").click().run()
    assert not desk().open().documents()
    assert "Deleted **report.pdf**: 2 pages" in said(test)
    assert "Nothing here yet" in said(test)
    assert "Deleted" not in said(test.run())


CRASH = """
import os, sys, time
from docmind.application import DocMind
from docmind.config import Settings
from docmind.conversation import ThreadView
from docmind.schema import Upload
if __name__ == "__main__":
    mind = DocMind(Settings.load())
    mind.submit([Upload("report.pdf", sys.stdin.buffer.read())])
    while not any(info.pages_done for info in mind.documents()):
        time.sleep(0.01)
    os._exit(9)
"""


def test_what_a_crash_cut_off_goes_on_at_the_next_start(tmp_path: Path) -> None:
    script = tmp_path / "crash.py"
    script.write_text(CRASH)
    long = pdf([line(f"Page {number} of many.") for number in range(300)])
    crash = subprocess.run([sys.executable, str(script)], input=long, check=False, timeout=60)
    assert crash.returncode == 9
    test = app("documents.py")
    assert [info.status for info in desk().open().documents()] == ["reading"]
    assert NAME in said(test)
    assert "ready" in said(finish(test))
    assert [info.pages_done for info in desk().open().documents()] == [300]


# --- asking -----------------------------------------------------------------------------------------------------------


def test_an_answer_quotes_its_page() -> None:
    add((NAME, REPORT))
    test = app()
    assert "For example" in said(test)
    test.chat_input[0].set_value("How long does the warranty last?").run()
    assert len(test.chat_message) == 2
    words = said(test)
    assert "The warranty lasts for twenty-four months from delivery." in words
    assert "Page 1" in words
    assert "Answered in" in words


def test_what_is_not_there_is_not_found_and_the_closest_pages_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCMIND_ANSWER__THRESHOLD", "1")
    add((NAME, REPORT))
    test = app()
    test.chat_input[0].set_value("Who painted the ceiling of the chapel?").run()
    assert "Not found in your documents." in said(test)
    assert "come closest" in said(test)


def test_an_answer_over_a_document_deleted_since_says_so() -> None:
    add((NAME, REPORT))
    test = app()
    test.chat_input[0].set_value("How long does the warranty last?").run()
    mind = desk().open()
    mind.delete(mind.documents()[0].doc_id)
    mind.add([Upload("other.txt", b"Something else to keep the desk from being empty.")])
    forget()
    test.run()
    words = said(test)
    assert "This document was deleted since." in words
    assert "The warranty lasts for twenty-four months from delivery." in words


def test_filters_narrow_where_is_looked() -> None:
    add((NAME, REPORT), ("other.txt", b"The warranty of the other thing lasts for three weeks, no more."))
    test = app()
    other = next(info.doc_id for info in desk().open().documents() if info.document == "other.txt")
    test.multiselect[0].set_value([other]).run()
    test.chat_input[0].set_value("How long does the warranty last?").run()
    words = said(test)
    assert "three weeks" in words
    assert "twenty-four" not in words


# --- conversations ----------------------------------------------------------------------------------------------------

WARRANTY = "How long does the warranty last?"


def ask(test: AppTest, question: str) -> AppTest:
    return settle(test.chat_input(key="question").set_value(question).run())


def settle(test: AppTest) -> AppTest:
    """Wait until nothing is being answered, as the page does by itself in a browser."""
    mind, thread_id = desk().open(), open_thread(test)
    until = time.monotonic() + 60
    while (run := mind.conversations.live(thread_id)) is not None:
        assert time.monotonic() < until, "the answer does not end"
        mind.conversations.wait(run.run_id, 1)
    return test.run()


def open_thread(test: AppTest) -> str:
    """The id in the address of the page."""
    told = test.query_params["thread"]
    return told if isinstance(told, str) else told[0]


@pytest.fixture
def model(vault: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[LLMServer]:
    """A language model that is served on loopback."""
    with serving() as server:
        monkeypatch.setenv("DOCMIND_LLM__PROVIDER", "ollama")
        monkeypatch.setenv("DOCMIND_LLM__URL", server.url)
        yield server


def test_a_conversation_opens_again_from_its_address_in_another_tab() -> None:
    add((NAME, REPORT))
    first = ask(app(), WARRANTY)
    second = AppTest.from_file(str(ROOT / "pages" / "start.py"), default_timeout=60)
    second.query_params["thread"] = open_thread(first)
    words = said(second.run())
    assert WARRANTY in words
    assert "The warranty lasts for twenty-four months from delivery." in words
    second.query_params["thread"] = "../../etc"
    assert "For example" in said(second.run()), "what is no id opens nothing"


def test_what_a_model_wrote_is_marked_where_no_page_says_it(model: LLMServer) -> None:
    add((NAME, REPORT))
    model.queue(Behaviour(lie=True))
    words = said(ask(app(), WARRANTY))
    assert "not found in your documents" in words
    assert FALSE_SENTENCE in words
    assert "· ollama/llama3.2:3b" in words


def test_a_follow_up_says_what_it_was_understood_as() -> None:
    add((NAME, REPORT))
    test = ask(ask(app(), WARRANTY), "And where does that begin?")
    assert len(test.chat_message) == 4
    assert "Understood as" in said(test)


def test_a_failing_model_is_told_and_the_question_tried_again(model: LLMServer) -> None:
    add((NAME, REPORT))
    model.queue(Behaviour("cut", "The warranty"))
    test = ask(app(), WARRANTY)
    words = said(test)
    assert words.count("broke off in the middle of its answer") == 1, "told once"
    assert "Below are quotes from your pages instead." in words
    test = settle(click(test, "turn-0-again"))
    assert "broke off" not in said(test)
    assert "2 of 2" in said(test), "the first try stays beside it"


def test_a_question_is_edited_in_its_place_and_asked_from_the_same_point() -> None:
    add((NAME, REPORT))
    test = ask(ask(app(), WARRANTY), "Are returns free of charge?")
    test = click(test, "turn-0-edit")
    assert "The answer that is there stays in the history." in said(test)
    test = click(test, "edit-cancel")
    assert "The answer that is there stays in the history." not in said(test)
    test = click(test, "turn-0-edit")
    test.chat_input(key="edit").set_value("What is free of charge?").run()
    assert "2 of 2" in said(settle(test))
    assert [turn.question for turn in view_of(test).turns] == ["What is free of charge?"]


def test_an_empty_question_is_not_asked_and_a_refused_one_goes_back_into_the_field() -> None:
    add((NAME, REPORT))
    test = app()
    test.chat_input(key="question").set_value("   ").run()
    assert not desk().open().conversations.threads()
    test = ask(test, WARRANTY)
    desk().open().conversations.close()  # as while the app is being closed
    test.chat_input(key="question").set_value("Is it lost?").run()
    assert "The vault is closed." in said(test)
    assert test.session_state["question"] is None, "given to the browser, which shows it"
    assert "Is it lost?" not in [turn.question for turn in view_of(test).turns]


def view_of(test: AppTest) -> ThreadView:
    return desk().open().conversations.view(open_thread(test))


def test_a_long_conversation_shows_its_end_and_more_where_it_is_asked_for() -> None:
    add((NAME, REPORT))
    mind = desk().open()
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
    test = click(test, "turn-0-1-open")  # the sources of the first answer open as those of the last do
    assert "Page **1** of 2" in said(test)


def test_conversations_stay_when_the_last_document_is_gone() -> None:
    add((NAME, REPORT))
    test = ask(app(), WARRANTY)
    mind = desk().open()
    mind.delete(mind.documents()[0].doc_id)
    forget()
    words = said(test.run())
    assert "There are no documents any more to ask." in words
    assert "This document was deleted since." in words
    assert not test.chat_input


def test_what_the_user_tells_about_himself_is_proposed_for_memory() -> None:
    add((NAME, REPORT))
    test = ask(app(), "Remember that our fiscal year starts in April. How long does the warranty last?")
    assert "worth remembering" in said(test)
    test = click(test, "everywhere-")
    assert [memory.thread_id for memory in desk().open().memories.list().memories] == [None]
    assert "worth remembering" not in said(test)


def test_working_in_steps_and_consent_for_the_web_are_offered_where_they_can_be_had(
    model: LLMServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCMIND_WEB__PROVIDER", "searxng")
    monkeypatch.setenv("DOCMIND_WEB__URL", "http://127.0.0.1:9")
    add((NAME, REPORT))
    desk().open().models.list()
    test = app()
    assert not any(toggle.key == "web" for toggle in test.toggle), "only in steps"
    test.toggle(key="agent").set_value(True).run()
    test.toggle(key="web").set_value(True).run()
    test = ask(test, WARRANTY)
    assert view_of(test).turns[0].mode == "agent"
    assert test.toggle(key="agent").value
    assert not test.toggle(key="web").value, "consent is for one question"


def test_history_and_memory_stand_beside_the_conversation_and_go_again() -> None:
    add((NAME, REPORT))
    test = ask(app(), WARRANTY)
    test = click(test, "beside-choice-history")
    assert "Press one to look at that point." in said(test)
    test = click(test, "beside-choice-memory")
    assert "Nothing is remembered yet." in said(test)
    test = click(test, "beside-choice-memory")
    assert "Nothing is remembered yet." not in said(test)


# --- hostile words ----------------------------------------------------------------------------------------------------


def test_hostile_names_and_text_reach_markdown_only_escaped() -> None:
    text = "The warranty ![x](http://127.0.0.1:9/c.png) lasts :red[forever] $x$ <script>alert(1)</script>."
    test = add((HOSTILE, text.encode()))
    chat = app()
    chat.chat_input[0].set_value("How long does the warranty last?").run()
    for page in (test, click(app("documents.py"), "open-"), chat):
        assert not page.exception
        for part in [*page.markdown, *page.caption, *page.error, *page.success, *page.subheader]:
            left = re.sub(r"\\.", "", str(part.value))
            for bad in ("![", "](", "red[", "<", "$", "://"):
                assert bad not in left, (bad, part.value)


# --- settings ---------------------------------------------------------------------------------------------------------


def test_settings_tell_what_is_there_and_rebuild_the_index() -> None:
    add((NAME, REPORT))
    test = app("settings.py")
    words = said(test)
    assert "text model" in words
    assert "fake" in words
    assert {metric.label: metric.value for metric in test.metric}["Pages"] == "2"
    next(button for button in test.button if button.label == "Build the index anew").click().run()
    until = time.monotonic() + 60
    while not (desk().rebuilding and desk().rebuilding.is_over):  # type: ignore[union-attr]
        assert time.monotonic() < until
        time.sleep(0.05)
    assert "built anew" in said(test.run())


def test_two_tabs_share_one_desk() -> None:
    first, second = app("documents.py"), app("documents.py")
    first.file_uploader[0].set_value([(NAME, REPORT, "application/pdf")]).run()
    finish(first)
    assert NAME in said(second.run())
    second.text_input(key="find").set_value("nothing like it").run()
    assert NAME in said(first.run())
