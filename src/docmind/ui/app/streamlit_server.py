"""Corrections of Streamlit's server (1.67).

`keep_answers` keeps Streamlit's answers to the browser when a run of the page begins. Streamlit discards the messages
that wait for a tab when it runs the page again, because they would draw what is drawn again. It discards the answers to
the browser's own requests with them: the box for uploads then waits forever for the addresses of the files that were
dropped into it, and the files are lost without a word.

`serve_own_parts_only` ends a search that costs each start 0.3 seconds of processor time: Streamlit opens the metadata
of every installed package, and would serve the scripts of those that bring parts of pages. DocMind names its own parts
(`browser_part`), and runs no script of another package in its pages.

`ClosedTabs` keeps a tab that was closed while something was drawn out of the log. Streamlit sends to it, is told that
nobody is there, then takes the closed connection for a message in the wrong format, and ends in a traceback.
"""

from __future__ import annotations

from functools import wraps

from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit.components.v2.component_manager import BidiComponentManager
from streamlit.runtime.forward_msg_queue import ForwardMsgQueue

_ANSWERS = {"file_urls_response", "backend_operation_response", "heartbeat_ack"}


def keep_answers() -> None:
    """Make Streamlit's message queues keep answers to requests. Idempotent."""
    if hasattr(ForwardMsgQueue.clear, "__wrapped__"):
        return
    clear = ForwardMsgQueue.clear

    @wraps(clear)
    def clear_all_but_answers(
        self: ForwardMsgQueue, retain_lifecycle_msgs: bool = False, fragment_ids_this_run: list[str] | None = None
    ) -> None:
        answers = [message for message in self._queue if message.WhichOneof("type") in _ANSWERS]
        clear(self, retain_lifecycle_msgs, fragment_ids_this_run)
        if retain_lifecycle_msgs:  # otherwise the session ends, or all messages were just taken to be sent
            kept = {id(message) for message in self._queue}
            self._queue += [message for message in answers if id(message) not in kept]

    ForwardMsgQueue.clear = clear_all_but_answers


def serve_own_parts_only() -> None:
    """Make Streamlit look for no parts of pages in installed packages. Idempotent."""

    def discover_and_register_components(self: BidiComponentManager, *, start_file_watching: bool = True) -> None:
        if start_file_watching:
            self.start_file_watching()

    BidiComponentManager.discover_and_register_components = discover_and_register_components


class ClosedTabs:
    """ASGI middleware that drops what is sent to a WebSocket whose other side is gone.

    The app learns of it where it expects to: the next message that it receives is the disconnect.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_unless_gone(message: Message) -> None:
            try:
                await send(message)
            except OSError:  # the server's word for it, by the ASGI specification
                if message["type"] != "websocket.send":
                    raise

        await self._app(scope, receive, send_unless_gone if scope["type"] == "websocket" else send)
