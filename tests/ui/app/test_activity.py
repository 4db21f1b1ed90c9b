"""What counts as use of the app: requests and messages of a user, not what a page sends by itself."""

from __future__ import annotations

from typing import Any

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg

from docmind.ui.app.activity import Activity, Noted, is_by_itself
from loops import run_async


def rerun(*, by_itself: bool) -> bytes:
    message = BackMsg()
    message.rerun_script.is_auto_rerun = by_itself
    message.rerun_script.query_string = "a"
    return message.SerializeToString()


def heartbeat() -> bytes:
    message = BackMsg()
    message.app_heartbeat = True
    return message.SerializeToString()


@pytest.mark.parametrize(
    ("data", "expected"), [(rerun(by_itself=False), False), (rerun(by_itself=True), True), (heartbeat(), True)]
)
def test_a_page_that_looks_for_news_is_no_use(data: bytes, expected: bool) -> None:
    assert is_by_itself(data) is expected


def test_a_request_counts_until_it_is_answered() -> None:
    at = [0.0]
    activity = Activity(lambda: at[0])
    at[0] = 50.0
    assert activity.idle_s() == 50.0
    activity.begin()
    at[0] = 500.0
    assert activity.idle_s() == 0.0
    activity.end()
    at[0] = 501.0
    assert activity.idle_s() == 1.0


@pytest.mark.parametrize(
    ("path", "is_use"), [("/x/-/page/1", True), ("/x/_stcore/health", False), ("/x/-/library", False), ("/x/", True)]
)
def test_requests_that_a_page_repeats_are_no_use(path: str, is_use: bool) -> None:
    at = [0.0]
    activity = Activity(lambda: at[0])

    async def app(_scope: Any, _receive: Any, _send: Any) -> None:
        at[0] = 100.0

    async def nothing(*_args: Any) -> Any:
        return {}

    at[0] = 99.0
    run_async(Noted(app, lambda: activity)({"type": "http", "path": path}, nothing, nothing))
    assert activity.idle_s() == (0.0 if is_use else 100.0)


@pytest.mark.parametrize("by_itself", [True, False])
def test_messages_of_a_tab_count_unless_it_sent_them_itself(by_itself: bool) -> None:
    at = [0.0]
    activity = Activity(lambda: at[0])
    got: list[Any] = []

    async def app(_scope: Any, receive: Any, _send: Any) -> None:
        got.append(await receive())

    async def message() -> Any:
        return {"type": "websocket.receive", "bytes": rerun(by_itself=by_itself)}

    async def nothing(*_args: Any) -> None:
        return None

    at[0] = 10.0
    run_async(Noted(app, lambda: activity)({"type": "websocket", "path": "/x"}, message, nothing))
    assert got[0]["type"] == "websocket.receive"
    assert activity.idle_s() == (10.0 if by_itself else 0.0)
