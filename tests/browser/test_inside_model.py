"""A real language model inside DocMind, in a real browser: chosen in Settings, streamed, stopped, checked."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from desks import environment_of
from docmind.records.documents import Upload
from libraries import Library, confirm
from papers import line, pdf
from served import App, Server, tab, take
from smollm import NAME, smollm

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

WARRANTY = "The warranty lasts for twenty-four months from the day of delivery."
DEPOSIT = "The deposit is two months of rent and is paid back within six weeks."
STORY = "Explain everything about the warranty in twenty long paragraphs."
TWO = "What is the capital of France, and how is it linked to the warranty?"
SLOW_MS = 240_000  # the model writes on the processor that runs the app and the browser too
PAPERS = Library(
    "inside",
    [
        Upload("lamp.pdf", pdf([line(WARRANTY, size=12), line("Clean the glass with a dry cloth.", size=12)])),
        Upload("lease.pdf", pdf([line(DEPOSIT, size=12)])),
    ],
    confirm,
)


@pytest.fixture
def server(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    smollm()
    folder = tmp_path_factory.mktemp("inside")
    named = environment_of(
        folder,
        DOCMIND_LLM__PROVIDER="inside",
        DOCMIND_LLM__TEMPERATURE="0",
        DOCMIND_LLM__MAX_TOKENS="512",
        DOCMIND_VISUAL__MODELS_DIR=str(folder / "models"),
    )
    server = App(folder, library=PAPERS, **named)
    server.start()
    yield server
    server.stop()
    assert "Traceback" not in server.log()


def test_a_file_is_chosen_writes_is_stopped_and_checked(browser: Any, server: Server) -> None:
    """A real model writes two answers, which is most of what this costs."""
    with tab(browser, server) as one:
        one.page.set_default_timeout(SLOW_MS)
        one.open("Settings")
        one.page.get_by_text("Inside DocMind, without another program").wait_for()
        one.page.get_by_label("GGUF file").fill(str(smollm()))
        one.page.get_by_role("button", name="Use this file").click()
        one.page.get_by_text("Inside DocMind · on this computer").wait_for()
        one.page.get_by_text(re.compile("98 MB; needs about .* of memory")).wait_for()
        one.page.get_by_text("in use").first.wait_for()
        take(one, "language-model-inside")

        one.go("Ask")
        one.page.get_by_text(f"{NAME} · on this computer").wait_for()
        box = one.page.get_by_placeholder("Ask your documents")
        box.fill(STORY)
        box.press("Enter")
        stop = one.page.get_by_role("button", name="Stop")
        stop.wait_for()
        one.page.locator(".st-key-turn-0").get_by_text("warranty", exact=False).nth(1).wait_for()  # it is being written
        stop.click()
        one.page.locator(".st-key-turn-0-row").get_by_text("Stopped").wait_for()
        one.idle()

        one.page.get_by_role("button", name="New conversation").click()
        one.page.locator(".st-key-turn-0").wait_for(state="detached")
        one.idle()
        box.fill(TWO)
        box.press("Enter")
        one.page.locator(".st-key-turn-0-row").get_by_text("Answered in").wait_for()
        one.idle()
        one.page.get_by_role("button", name="Show it").click()  # no page supports what it wrote
        one.page.locator(".st-key-turn-0").get_by_text("Paris").first.wait_for()
        answer = one.page.locator(".st-key-turn-0").inner_text()
        assert "not found in your documents" in answer
        take(one, "answer-of-a-model-inside")
