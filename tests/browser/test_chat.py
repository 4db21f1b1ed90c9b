"""Conversations in a real browser: with a loopback language model, and without any."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from desks import environment_of
from docmind.records.documents import Upload
from libraries import Library, confirm
from llm_server import FALSE_SENTENCE, Behaviour, LLMServer
from papers import line, pdf
from served import THEMES, App, Server, Tab, beside, choose_in_menu, close_reader, marks, read_page, take, take_both

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

WARRANTY = "The warranty lasts for twenty-four months from the day of delivery."
DEPOSIT = "The deposit is two months of rent and is paid back within six weeks."
ASKED = "How long does the warranty last?"
PAPERS = Library(
    "chat",
    [
        Upload("lamp.pdf", pdf([line(WARRANTY, size=12), line("Clean the glass with a dry cloth.", size=12)])),
        Upload("lease.pdf", pdf([line(DEPOSIT, size=12)])),
    ],
    confirm,
)


@pytest.fixture(scope="module")
def model() -> Iterator[LLMServer]:
    server = LLMServer()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.over.set()
    server.shutdown()


@pytest.fixture(scope="module")
def server(model: LLMServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Start the app over two small documents, with a language model on loopback."""
    folder = tmp_path_factory.mktemp("chat")
    named = environment_of(folder, DOCMIND_LLM__PROVIDER="ollama", DOCMIND_LLM__URL=model.url)
    server = App(folder, library=PAPERS, **named)
    server.start()
    yield server
    server.stop()
    assert "Traceback" not in server.log()


@pytest.fixture(autouse=True)
def no_replies_left(model: LLMServer) -> Iterator[None]:
    """Drop the replies that a test did not use."""
    yield
    model.clear()


@pytest.fixture
def one(opened_tab: Tab) -> Tab:
    """Return the tab of this module, with a new conversation."""
    opened_tab.begin()
    return opened_tab


def say(one: Tab, question: str) -> None:
    """Type a question and send it; wait until it is shown, and not for its answer."""
    shown = one.page.locator('[class*="-question"]').get_by_text(question)
    before = shown.count()
    box = one.page.get_by_placeholder("Ask your documents")
    box.fill(question)
    box.press("Enter")
    shown.nth(before).wait_for()


def row(one: Tab, number: int) -> Any:
    return one.page.locator(f".st-key-turn-{number}-row")


def menu(one: Tab, number: int, choice: str) -> None:
    button = one.page.locator(f'[class*="st-key-turn-{number}-menu-"] button:visible').first
    choose_in_menu(one, button.click, choice)


def test_conversations_survive_a_crash(one: Tab, server: Server, model: LLMServer) -> None:
    """One is answered before the app is killed, and one is cut off by it."""
    model.queue(Behaviour(delay_s=0.2, lie=True))
    say(one, ASKED)
    one.page.get_by_role("button", name="Stop").wait_for()
    one.page.get_by_text(WARRANTY[:20]).last.wait_for()  # while it is still being written
    one.page.get_by_role("button", name="Stop").wait_for()
    one.page.reload()  # the run continues, and the page finds it again
    one.page.get_by_role("button", name="Stop").wait_for()
    row(one, 0).get_by_text("on this computer").wait_for()
    one.idle()
    turn = one.page.locator(".st-key-turn-0")
    assert FALSE_SENTENCE in turn.inner_text()
    assert "not found in your documents" in turn.inner_text()
    assert marks(one.picture(turn.locator('[class*="-source-1"] img').first)), "no stroke on the page"

    say(one, "For how long?")
    row(one, 1).get_by_text("on this computer").wait_for()
    one.page.get_by_text("Understood as").wait_for()
    answered = one.page.url
    assert "thread=" in answered

    one.go("Documents")
    one.go("Ask")
    row(one, 1).get_by_text("Answered in").wait_for()  # the browser's back button leads to the same conversation

    one.begin()
    model.queue(Behaviour("endless", delay_s=0.05))
    say(one, ASKED)
    one.page.get_by_text("on and on").last.wait_for()
    cut_off = one.page.url
    assert cut_off != answered
    one.page.goto("about:blank")
    server.kill()
    server.start()

    one.page.goto(server.link(answered.removeprefix(server.url)))
    row(one, 1).get_by_text("Answered in").wait_for()
    one.idle()
    # By the keyboard: pictures that still load may move the link between the pressing and the releasing of a mouse.
    one.page.locator('.st-key-turn-0 a[href^="#read="]:visible').first.press("Enter")
    assert read_page(one, 1).locator("polygon.cited").count(), "an old source opens with its words highlighted"
    close_reader(one)

    one.page.goto(cut_off)
    trouble = one.page.locator(".st-key-turn-0-trouble")
    trouble.get_by_text("has not finished").wait_for()
    assert WARRANTY in one.page.locator(".st-key-turn-0").inner_text(), "the quotes stand"
    trouble.get_by_role("button", name="Try again").click()
    row(one, 0).get_by_text("on this computer").wait_for()
    assert not re.search("has not finished", one.page.locator(".st-key-turn-0").inner_text())


def press_until(press: Callable[[], object], wanted: Any) -> None:
    """Press a key or a button until its effect is seen: a press is lost where the button is just redrawn."""
    from playwright.sync_api import TimeoutError as NotThereError

    for _ in range(8):
        try:
            press()
            wanted.wait_for(timeout=3_000)
            return
        except NotThereError:
            continue
    wanted.wait_for()


def stop(one: Tab, number: int) -> None:
    """Press the button that stops the model, which writes the answer to this question."""
    button = one.page.get_by_role("button", name="Stop").first
    press_until(lambda: button.is_visible() and button.click(timeout=2_000), row(one, number).get_by_text("Stopped"))


def test_escape_stops_and_retry_answers_beside(one: Tab, model: LLMServer) -> None:
    model.queue(Behaviour("endless", delay_s=0.05), Behaviour("endless", delay_s=0.05), Behaviour())
    say(one, ASKED)
    one.page.get_by_text("on and on").last.wait_for()
    box = one.page.get_by_placeholder("Ask your documents")
    box.fill("half a thou")  # the keyboard focus is in the input, and the typed text stays
    press_until(lambda: one.page.keyboard.press("Escape"), row(one, 0).get_by_text("Stopped after"))
    one.page.get_by_text("You stopped the model.").wait_for()
    assert WARRANTY in one.page.locator(".st-key-turn-0").inner_text(), "the quotes stay"
    one.page.get_by_role("button", name="Show it").click()
    one.page.locator(".st-key-turn-0").get_by_text("on and on").first.wait_for()
    assert box.input_value() == "half a thou"

    row(one, 0).get_by_role("button", name="Try again").click()
    one.page.get_by_role("button", name="Stop").wait_for()
    one.page.get_by_text("on and on").last.wait_for()
    stop(one, 0)
    menu(one, 0, "Answer again")
    row(one, 0).get_by_text("Answered in").wait_for()
    one.page.get_by_text("3 of 3").wait_for()  # the stopped ones are beside it


def test_a_model_that_fails_leaves_quotes_and_a_retry_button(one: Tab, model: LLMServer) -> None:
    model.queue(Behaviour("cut", "The warranty is"), Behaviour())
    say(one, ASKED)
    trouble = one.page.locator(".st-key-turn-0-trouble")
    trouble.wait_for()
    one.idle()
    assert "broke off" in trouble.inner_text()
    turn = one.page.locator(".st-key-turn-0")
    assert WARRANTY in turn.inner_text()
    turn.locator('[class*="-source-1"]').first.wait_for()
    trouble.get_by_role("button", name="Try again").click()
    trouble.wait_for(state="detached")
    row(one, 0).get_by_text("on this computer").wait_for()


def test_an_edited_question_is_asked_from_the_same_point(one: Tab) -> None:
    one.ask(ASKED)
    one.page.locator(".st-key-turn-0-edit button:visible").first.click()
    field = one.page.get_by_placeholder("Your question")
    field.wait_for()
    assert field.input_value() == ASKED
    field.fill("What is")
    field.press("Shift+Enter")
    field.type("the deposit?")
    field.press("Enter")
    one.page.locator(".st-key-turn-0").get_by_text(DEPOSIT[:30]).first.wait_for()
    one.idle()
    assert "What is\nthe deposit?" in one.page.locator(".st-key-turn-0-question").inner_text()
    one.page.get_by_text("2 of 2").wait_for()
    one.page.get_by_role("button", name="History").click()
    one.page.locator(".st-key-history").get_by_text(ASKED).wait_for()
    one.page.get_by_role("button", name="History").click()
    one.page.locator(".st-key-history").wait_for(state="detached")


def test_quotes_stand_while_a_slow_model_reads_and_stay_where_it_is_stopped(one: Tab, model: LLMServer) -> None:
    model.queue(Behaviour(first_s=600))
    say(one, ASKED)
    turn = one.page.locator(".st-key-turn-0")
    quote = turn.locator('a[href^="#read="]:visible').first
    quote.wait_for()
    one.page.get_by_text("is reading your pages…").wait_for()
    for theme in THEMES:
        one.wear(theme)
        take(one, f"reading-{theme}")
        quote.click()
        assert "lamp.pdf" in read_page(one, 1).inner_text(), theme
        close_reader(one)
    stop(one, 0)
    one.page.get_by_text("You stopped the model.").wait_for()
    assert WARRANTY in turn.inner_text()


def place_of(one: Tab) -> float:
    """Return where the quoted sentence of the first turn stands in the window."""
    quote = one.page.locator(".st-key-turn-0").get_by_text(f"“{WARRANTY[:30]}").last
    quote.wait_for()
    box = quote.bounding_box()
    assert box is not None
    return float(box["y"])


NARROW, WIDE = {"width": 390, "height": 844}, {"width": 1280, "height": 800}


def take_at_all_widths(one: Tab, name: str) -> None:
    """Take the page as it is now in both windows and both themes, and leave the window as it was."""
    before = one.page.viewport_size
    for window in (NARROW, WIDE):
        one.page.set_viewport_size(window)
        one.idle()
        take_both(one, f"{name}-{window['width']}")
    one.page.set_viewport_size(before)
    one.idle()


def it_comes_above_the_quotes(one: Tab, model: LLMServer, window: dict[str, int]) -> None:
    """Ask, and see that no quote moves while the model writes, nor once its answer is there, which is folded."""
    one.page.set_viewport_size(window)
    model.queue(Behaviour(text=" ".join([FALSE_SENTENCE] * 3), first_s=2, delay_s=0.15))
    say(one, ASKED)
    one.page.get_by_text("is reading your pages…").wait_for()
    one.page.wait_for_timeout(1_000)  # the question is at the top of the view
    before = place_of(one)
    one.page.locator('[class*="-writing"]').get_by_text("1987. The lighthouse").first.wait_for()
    assert abs(place_of(one) - before) <= 2, "while it is written"
    take_both(one, f"writing-{window['width']}")
    before = place_of(one)
    one.page.get_by_text("The model's answer isn't in your documents.").wait_for()
    one.idle()
    one.page.wait_for_timeout(500)
    assert abs(place_of(one) - before) <= 2, "once it is there"
    assert FALSE_SENTENCE not in one.page.locator(".st-key-turn-0").inner_text()


def test_what_a_model_writes_moves_no_quote(one: Tab, model: LLMServer) -> None:
    """It comes above the quotes; where no page says it, it is folded, and where one does, the quotes are."""
    it_comes_above_the_quotes(one, model, NARROW)
    one.page.set_viewport_size(WIDE)
    one.begin()
    it_comes_above_the_quotes(one, model, WIDE)
    take_at_all_widths(one, "unsupported")
    one.page.get_by_role("button", name="Show it").click()
    one.page.locator(".st-key-turn-0").get_by_text("not found in your documents").first.wait_for()
    take_at_all_widths(one, "unsupported-shown")

    model.queue(Behaviour())
    menu(one, 0, "Answer again")
    row(one, 0).get_by_text("on this computer").wait_for()
    one.idle()
    folded = one.page.locator('[class*="st-key-turn-0-quotes"]').first
    take_at_all_widths(one, "supported")
    folded.get_by_text("Quotes", exact=True).click()
    link = folded.locator('a[href^="#read="]:visible').first
    link.wait_for()
    take_at_all_widths(one, "quotes")
    link.click()
    assert "lamp.pdf" in read_page(one, 1).inner_text()
    close_reader(one)


def test_the_next_question_has_its_quotes_while_a_model_writes(one: Tab, model: LLMServer) -> None:
    model.queue(Behaviour("endless", delay_s=0.05), Behaviour())
    say(one, ASKED)
    one.page.get_by_text("on and on").last.wait_for()
    say(one, "How large is the deposit?")
    one.page.locator(".st-key-turn-1").get_by_text(DEPOSIT[:30]).first.wait_for(timeout=10_000)
    assert one.page.locator(".st-key-turn-0-writing").count() == 1, "the first one is still written"
    stop(one, 0)
    row(one, 1).get_by_text("on this computer").wait_for()


def test_two_tabs_see_each_other_and_lose_nothing(one: Tab, model: LLMServer) -> None:
    one.ask(ASKED)
    with beside(one) as two:
        row(two, 0).get_by_text("Answered in").wait_for()
        two.idle()
        box = two.page.get_by_placeholder("Ask your documents")
        box.fill("not yet sent")
        model.queue(Behaviour(delay_s=0.25))
        say(one, "What is the deposit?")
        two.page.get_by_role("button", name="Stop").wait_for()  # the same run, in the other tab
        for each in (one, two):
            row(each, 1).get_by_text("Answered in").wait_for()
        assert box.input_value() == "not yet sent"
