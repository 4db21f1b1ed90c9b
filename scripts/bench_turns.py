"""Conversations: how long a turn takes, what it adds to the database, and how fast a long thread opens."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bench_parts import WORDS, app_over, filled_vault, wait_for_page
from docmind.application import DocMind
from docmind.llm.contract import Message, Stop
from docmind.llm.fake import FakeChatModel
from docmind.models import OneModel
from docmind.schema import Upload

if TYPE_CHECKING:
    from playwright.sync_api import Playwright

TURNS = 200


class Clocked(FakeChatModel):
    """Repeats one long answer and notes when it was asked."""

    asked = 0.0

    def stream(self, messages: Sequence[Message], stop: Stop) -> Iterator[str]:
        self.asked = time.perf_counter()
        return super().stream(messages, stop)


def bench_turns() -> None:
    """200 turns in one thread over 10,000 nodes: a turn of quotes, a turn with a model, growth, opening, rewinding."""
    models = OneModel()
    with filled_vault(documents=500, nodes=10_000) as settings, DocMind(settings, models=models) as desk:
        talks = desk.conversations
        desk.search("warm")
        talks.warm()
        thread_id = talks.create().thread_id
        quotes = sorted(_turn_ms(desk, thread_id, number) for number in range(TURNS // 2))
        model = Clocked(_answer(), loop=True)
        models.model = model
        own, text = [], 0
        before = _database_bytes(settings.data_dir)
        for number in range(TURNS // 2):
            started = time.perf_counter()
            turn = talks.ask(_question(number), thread_id=thread_id)
            own.append((model.asked - started) * 1000)
            assert turn.answer is not None
            text += len(turn.question) + len(turn.answer.answer) + sum(len(s.quote) for s in turn.answer.sources)
        grown = (_database_bytes(settings.data_dir) - before - text) / (TURNS // 2)
        first = talks.view(thread_id, last=1).runs[0].checkpoint_id
        opening = _median_ms(lambda: talks.view(thread_id))
        shown = _median_ms(lambda: talks.view(thread_id, last=30))
        rewinding = _median_ms(lambda: (talks.resume(thread_id, first), talks.view(thread_id, last=30)))
    print(f"a turn of quotes: median {quotes[len(quotes) // 2]:.0f} ms, p95 {quotes[int(len(quotes) * 0.95)]:.0f} ms")
    own.sort()
    median, late = own[len(own) // 2], own[int(len(own) * 0.95)]
    print(f"own time before the model is asked: median {median:.0f} ms, p95 {late:.0f} ms")
    print(
        f"{TURNS} turns: opened in {opening:.0f} ms, the last 30 in {shown:.0f} ms, rewound to 1 in {rewinding:.0f} ms"
    )
    print(f"vault.db grows by {grown / 1000:.1f} KB a turn besides {text / (TURNS // 2) / 1000:.1f} KB of text")


def bench_screen() -> None:
    """From the Enter key to the first quote, seen in Chromium, over 10,000 nodes, without a language model."""
    chromium = Path("/usr/bin/chromium")
    if not chromium.exists():
        print("there is no Chromium to look with")
        return
    from playwright.sync_api import sync_playwright

    seen = []
    with filled_vault(documents=500, nodes=10_000) as settings:
        with DocMind(settings, models=OneModel()) as desk:
            desk.add(
                [Upload("birds.txt", b"The herons of Vellamo nest in the reeds of the northern shore each spring.")]
            )
        with app_over(settings) as (port, _):
            wait_for_page(port)
            with sync_playwright() as driver:
                _ask_in(driver, chromium, port, seen)
    print(f"first quote in Chromium: median {statistics.median(seen[1:]):.0f} ms, worst {max(seen[1:]):.0f} ms")


def _ask_in(driver: Playwright, chromium: Path, port: int, seen: list[float]) -> None:
    browser = driver.chromium.launch(executable_path=str(chromium), args=["--no-sandbox"])
    page = browser.new_page()
    for number in range(11):
        page.goto(f"http://127.0.0.1:{port}")
        box = page.get_by_test_id("stChatInputTextArea")
        box.fill(f"Where do the herons of Vellamo nest in spring {number}?")
        page.wait_for_timeout(1_000)  # the page is at rest, as it is while somebody types
        started = time.perf_counter()
        box.press("Enter")
        page.get_by_test_id("stMarkdown").get_by_text("in the reeds of the northern shore").wait_for()
        seen.append((time.perf_counter() - started) * 1000)
    browser.close()


def _turn_ms(desk: DocMind, thread_id: str, number: int) -> float:
    started = time.perf_counter()
    desk.conversations.ask(_question(number), thread_id=thread_id)
    return (time.perf_counter() - started) * 1000


def _median_ms(work: Callable[[], object]) -> float:
    times = []
    for _ in range(7):
        started = time.perf_counter()
        work()
        times.append((time.perf_counter() - started) * 1000)
    return statistics.median(times)


def _question(number: int) -> str:
    return f"What do the {' '.join(WORDS[(13 * number + 5 * at) % len(WORDS)] for at in range(6))} say in {number}?"


def _answer() -> str:
    return (
        ". ".join(" ".join(WORDS[(7 * n + at) % len(WORDS)] for at in range(18)).capitalize() for n in range(9)) + "."
    )


def _database_bytes(data_dir: Path) -> int:
    return sum(path.stat().st_size for path in data_dir.glob("vault.db*"))
