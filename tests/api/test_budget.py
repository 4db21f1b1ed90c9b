"""The budget for bodies of requests: many large ones at once take turns, small ones never wait."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from starlette.types import Message, Receive, Scope, Send

from docmind.api import budget
from docmind.api.budget import Budget
from loops import run_async

MOST = 1_000


class Door:
    """An app that reads a whole body, and keeps it until the test lets it answer; notes how much it ever held."""

    def __init__(self) -> None:
        self.held = self.peak = self.answered = 0
        self.may_answer = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == "/refused":
            return
        body = (await receive())["body"]
        self.held += len(body)
        self.peak = max(self.peak, self.held)
        try:
            await self.may_answer.wait()
            self.answered += 1
        finally:
            self.held -= len(body)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "SMALL", 10)


def asked(app: Any, size: int, path: str = "/", *, is_told: bool = True) -> asyncio.Task[None]:
    header = (b"content-length", str(size).encode()) if is_told else (b"transfer-encoding", b"chunked")

    async def receive() -> Message:
        return {"type": "http.request", "body": b"x" * size}

    async def send(message: Message) -> None:
        pytest.fail(str(message))

    return asyncio.ensure_future(app({"type": "http", "path": path, "headers": [header]}, receive, send))


async def settled() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


def run(test: Callable[[Door, Any], Awaitable[None]], is_bounded: bool = True) -> None:
    async def session() -> None:
        door = Door()
        await test(door, Budget(door, MOST) if is_bounded else door)

    run_async(session())


@pytest.mark.parametrize("is_bounded", [True, False], ids=["within", "control"])
def test_large_bodies_take_turns(is_bounded: bool) -> None:
    async def test(door: Door, app: Any) -> None:
        tasks = [asked(app, 400) for _ in range(10)]
        await settled()
        door.may_answer.set()
        await asyncio.gather(*tasks)
        assert door.answered == 10
        assert (door.peak <= MOST) is is_bounded

    run(test, is_bounded)


def test_a_body_above_the_budget_is_read_alone() -> None:
    async def test(door: Door, app: Any) -> None:
        tasks = [asked(app, 400), asked(app, 5_000), asked(app, 700, is_told=False), asked(app, 400)]
        await settled()
        assert door.held == 400
        door.may_answer.set()
        await asyncio.gather(*tasks)
        assert door.peak == 5_000

    run(test)


def test_small_bodies_and_refused_ones_do_not_wait() -> None:
    async def test(door: Door, app: Any) -> None:
        large = [asked(app, 900), asked(app, 900)]
        await settled()
        assert door.held == 900
        small = asked(app, 10)
        await asked(app, 900, "/refused")
        await settled()
        assert door.held == 910
        door.may_answer.set()
        await asyncio.gather(*large, small)

    run(test)


def test_who_hangs_up_while_waiting_holds_nobody_up() -> None:
    async def test(door: Door, app: Any) -> None:
        first, gone, last = asked(app, 900), asked(app, 900), asked(app, 100)
        await settled()
        gone.cancel()
        await settled()
        assert door.held == 1_000  # the last one came in
        first.cancel()
        again = asked(app, 900)
        await settled()
        assert door.held == 1_000
        door.may_answer.set()
        await asyncio.gather(again, last)

    run(test)
