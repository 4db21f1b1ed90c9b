"""The real app, served by `streamlit run app.py` over a vault of its own, and a browser tab that notes complaints."""

from __future__ import annotations

import base64
import io
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from PIL import Image

from conftest import ROOT

WAIT_MS = 60_000
_MENU_MS, _MENU_TRIES = 8_000, 8


class Server:
    """`streamlit run app.py` on a free port over `data`; started, stopped and started again by a test."""

    def __init__(self, folder: Path, **environment: str) -> None:
        """`environment` are further variables; language models on this machine are left alone unless it names one."""
        self._folder = folder
        self._environment = {"DOCMIND_LLM__PROVIDER": "off", **environment}
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        environment = dict(
            os.environ,
            DOCMIND_DATA_DIR=str(self._folder / "data"),
            DOCMIND_KEYS__SOURCE="file",
            DOCMIND_KEYS__FILE=str(self._folder / "key"),
            PYTHONPATH=str(ROOT / "src"),
            **self._environment,
        )
        options = ["--server.port", str(self.port), "--server.headless", "true"]
        with (self._folder / "log").open("ab") as log:
            command = [sys.executable, "-m", "streamlit", "run", "app.py", *options]
            self._process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log)
        until = time.monotonic() + 60
        while True:
            try:
                urllib.request.urlopen(f"{self.url}/_stcore/health", timeout=1)
                return
            except OSError:
                assert time.monotonic() < until, self.log()
                assert self._process.poll() is None, self.log()
                time.sleep(0.1)

    def kill(self) -> None:
        """End it as a crash does."""
        assert self._process is not None
        self._process.kill()
        self._process.wait(60)
        self._process = None

    def stop(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
            self._process.wait(60)
            self._process = None

    def log(self) -> str:
        return (self._folder / "log").read_text("utf-8", "replace")


class Tab:
    """One browser tab that notes what it complains of and what it asks for elsewhere."""

    def __init__(self, page: Any, url: str) -> None:
        self.page, self.url = page, url
        self.complaints: list[str] = []
        page.set_default_timeout(WAIT_MS)
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", self._request)

    def _console(self, message: Any) -> None:
        # A file that is replaced, or whose dialog is closed, while the browser asks for it is gone from the server: no
        # fault of the page.
        is_gone = "/media/" in str(message.location.get("url", "")) or "Download Button source error" in message.text
        if message.type == "error" and not is_gone:
            self.complaints.append(message.text)

    def _request(self, request: Any) -> None:
        if not request.url.startswith((self.url, self.url.replace("http", "ws"), "data:", "blob:")):
            self.complaints.append(f"asked for {request.url}")

    def open(self, name: str = "Ask") -> Tab:
        self.page.goto(self.url)
        self.page.get_by_role("link", name="Settings").wait_for()
        self.idle()
        code = self.page.get_by_role("button", name="I have written it down")
        if code.count():
            code.click()
            self.idle()
        self.go(name)
        return self

    def idle(self) -> None:
        """Wait until the script has run."""
        self.page.wait_for_timeout(300)
        self.page.locator('[data-testid="stApp"]:not([data-test-script-state="running"])').wait_for()
        self.page.wait_for_timeout(200)

    def go(self, name: str) -> None:
        self.page.get_by_role("link", name=name).first.click()
        self.idle()

    def add(self, *files: tuple[str, bytes]) -> None:
        """Hand the files in and wait until all of them are over."""
        payload = [{"name": name, "mimeType": "application/octet-stream", "buffer": data} for name, data in files]
        self.page.locator("input[type=file]").set_input_files(payload)
        self.page.get_by_text(re.compile(r"\d+ (added|not added|already here)")).first.wait_for()
        self.idle()

    def ask(self, question: str) -> None:
        before = self.page.get_by_text("Answered in").count()
        self.page.get_by_placeholder("Ask your documents").fill(question)
        self.page.keyboard.press("Enter")
        self.page.get_by_text("Answered in").nth(before).wait_for()
        self.idle()

    def picture(self, image: Any) -> Image.Image:
        """The bytes behind an `<img>`, as the browser got them."""
        source = image.evaluate("image => image.src")
        inline = source.startswith("data:image/jpeg;base64,")
        body = base64.b64decode(source.partition(",")[2]) if inline else self.page.request.get(source).body()
        return Image.open(io.BytesIO(body)).convert("RGB")


@contextmanager
def tab(browser: Any, server: Server, **options: Any) -> Iterator[Tab]:
    context = browser.new_context(viewport={"width": 1280, "height": 900}, **options)
    tab = Tab(context.new_page(), server.url)
    yield tab
    context.close()
    assert not tab.complaints, tab.complaints


def marks(picture: Image.Image) -> list[tuple[int, int]]:
    """The pixels that a highlighter has covered."""
    small = picture.resize((picture.width // 2, picture.height // 2))
    pixels = small.load()
    assert pixels is not None

    def is_ink(pixel: Any) -> bool:
        return pixel[0] > 200 and pixel[0] - pixel[2] > 110 and pixel[0] - pixel[1] < 90

    return [(x * 2, y * 2) for x in range(small.width) for y in range(small.height) if is_ink(pixels[x, y])]


def take(one: Tab, name: str) -> None:
    """Nothing is wider than the window; and a picture of it, small enough for a repository, where one is wanted."""
    across, window = one.page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
    assert across <= window, name
    folder = os.environ.get("SCREENSHOTS")
    if folder:
        path = Path(folder) / f"{name}.png"
        one.page.mouse.move(700, 5)
        one.page.wait_for_timeout(500)
        one.page.screenshot(path=path)
        Image.open(path).convert("RGB").quantize(128, dither=Image.Dither.NONE).save(path, optimize=True)
        assert path.stat().st_size < 250_000


def choose_in_menu(tab: Tab, open_it: Callable[[], object], name: str) -> None:
    """One entry of a menu. A page that is drawn anew, because an answer is over for one, closes it: open it again."""
    from playwright.sync_api import TimeoutError as NotThereError

    for _ in range(_MENU_TRIES - 1):
        open_it()
        try:
            tab.page.get_by_role("menuitem", name=name).click(timeout=_MENU_MS)
            return
        except NotThereError:
            tab.page.keyboard.press("Escape")
    open_it()
    tab.page.get_by_role("menuitem", name=name).click()
