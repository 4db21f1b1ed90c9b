"""A summary by a language model in a real browser: how far it is, stop, and the sources of its sentences."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from desks import environment_of
from docmind.records.documents import Upload
from libraries import Library, confirm
from llm_server import FALSE_SENTENCE, Behaviour, LLMServer, Model, tokens_in
from served import App, Server, tab, take

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

CONTEXT = 2_048
SHIPS = "\n\n".join(
    f"CHAPTER {n}\n\n" + " ".join(f"The keeper of island {n} counted {n * 37 + month} ships in month {month}."
                                  for month in range(1, 9))
    for n in range(1, 13)
)  # fmt: skip


ISLANDS = Library("summaries", [Upload("ships.txt", SHIPS.encode())], confirm)


@pytest.fixture
def model() -> Iterator[LLMServer]:
    server = LLMServer(models=(Model("llama3.2:3b", context=CONTEXT),))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.over.set()
    server.shutdown()


@pytest.fixture
def server(model: LLMServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("summaries")
    named = environment_of(folder, DOCMIND_LLM__PROVIDER="ollama", DOCMIND_LLM__URL=model.url)
    server = App(folder, library=ISLANDS, **named)
    server.start()
    yield server
    server.stop()
    assert "Traceback" not in server.log()


def test_parts_are_counted_stopped_and_put_together(browser: Any, server: Server, model: LLMServer) -> None:
    with tab(browser, server) as one:
        one.open()
        model.default = Behaviour(delay_s=0.1)
        box = one.page.get_by_placeholder("Ask your documents")
        box.fill("Summarise ships.txt")
        box.press("Enter")
        told = one.page.get_by_text(re.compile(r"Summarising: [1-9]\d* of \d+ parts"))
        told.wait_for()
        one.page.locator(".st-key-turn-0").get_by_text("Key sentences").first.wait_for()  # before the summary
        take(one, "summary-of-parts")
        one.page.get_by_role("button", name="Stop").click()
        row = one.page.locator(".st-key-turn-0-row")
        row.get_by_text("what was written is kept").wait_for()
        one.page.get_by_text(re.compile(r"Without some parts: \d of \d+ were read, then it was stopped")).wait_for()
        one.idle()

        model.default = Behaviour(lie=True)
        row.get_by_role("button", name="Try again").click()
        row.get_by_text("on this computer").wait_for()  # the quotes stand before
        turn = one.page.locator(".st-key-turn-0")
        turn.get_by_text("not found in your documents").first.wait_for()  # once the whole summary is checked
        one.page.get_by_text(re.compile("^Summarising")).wait_for(state="hidden")
        one.idle()
        assert FALSE_SENTENCE in turn.inner_text()
        assert "counted" in turn.inner_text()
        one.page.locator('[class*="turn-0-source-1"]').first.wait_for()
        assert all(tokens_in(asked.body) <= CONTEXT for asked in model.asked())
