"""The real app, served by `streamlit run app.py` over its own vault, and a browser tab that records errors."""

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
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

from PIL import Image

from browsers import WINDOW
from conftest import HELPERS, ROOT
from docmind.access import find_running
from forked import APP, Program, can_fork, popen
from libraries import Library

WAIT_MS = 60_000
THEMES = {"dark": "rgb(21, 25, 27)", "light": "rgb(253, 252, 250)"}  # each with its paper; the last is a new tab's
_OF_THE_PROFILE = {"color_scheme", "permissions", "accept_downloads"}  # options that a tab of the profile can have
_MENU_MS, _MENU_TRIES = 8_000, 8
_REST = """async () => {
  for (let round = 0; round < 3; round++) {
    await new Promise(done => setTimeout(done, 20));
    await new Promise(done => requestIdleCallback(done, {timeout: 200}));
  }
}"""
_SIDEWAYS = """() => {
  const places = [];
  for (let one = document.querySelector('[data-testid="stMainBlockContainer"]'); one; one = one.parentElement) {
    const over = one.scrollWidth - one.clientWidth;
    const isScrolled = over > 0 && getComputedStyle(one).overflowX !== 'visible';
    if (isScrolled) places.push([over, one.dataset.testid || one.tagName]);
  }
  const page = document.documentElement;
  if (page.scrollWidth > page.clientWidth) places.push([page.scrollWidth - page.clientWidth, 'HTML']);
  return places.map(([over, place]) => `${over} px in ${place}`).join(', ');
}"""
_TOLD_MS = 5_000
_ANSWER_S = 15  # a message to the server has been answered within this time, or gets no answer


class Server:
    """`streamlit run app.py` on a free port over `data`; started, stopped and started again by a test.

    `before` is a program that starts it, under the same process id.
    """

    before: Sequence[str] = ()

    def __init__(self, folder: Path, **environment: str) -> None:
        """`environment` are further variables; language models on this machine are left alone unless it names one."""
        self._folder = folder
        self._environment = {
            "DOCMIND_LLM__PROVIDER": "off",
            "DOCMIND_NETWORK__STRICT": "auto",
            "DOCMIND_KEYS__SOURCE": "file",
            **environment,
        }
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.command = [sys.executable, "-m", "streamlit", "run", "app.py"]
        self.options = ["--server.headless", "true"]
        self._process: subprocess.Popen[bytes] | Program | None = None

    def start(self) -> None:
        environment = {
            **os.environ,
            "DOCMIND_DATA_DIR": str(self._folder / "data"),
            "DOCMIND_KEYS__FILE": str(self._folder / "key"),
            "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), *HELPERS]),
            **self._environment,
        }
        with (self._folder / "log").open("ab") as log:
            self._process = self._started(environment, log)
        until = time.monotonic() + 60
        while True:
            try:
                urllib.request.urlopen(self.url, timeout=1)
                return
            except urllib.error.HTTPError:  # it serves, but nobody without a ticket
                return
            except OSError:
                assert time.monotonic() < until, self.log()
                assert self._process.poll() is None, self.log()
                time.sleep(0.1)

    def _started(self, environment: dict[str, str], log: BinaryIO) -> subprocess.Popen[bytes] | Program:
        command = [*self.before, *self.command, "--server.port", str(self.port), *self.options]
        return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log)

    def link(self, path: str = "/") -> str:
        """Return a new link that opens a page of the app once; for `/` the one of `docmind open --print`."""
        running = find_running(self._folder / "data")
        assert running is not None, self.log()
        address, _, ticket = running.link().partition("?")
        return f"{address.rstrip('/')}{path}{'&' if '?' in path else '?'}{ticket}"

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

    def libraries(self) -> str:
        """Return the files that the server has loaded into its memory; an empty text where the system tells none."""
        assert self._process is not None
        maps = Path(f"/proc/{self._process.pid}/maps")
        return maps.read_text() if maps.exists() else ""

    def log(self) -> str:
        return (self._folder / "log").read_text("utf-8", "replace")


class App(Server):
    """The app for tests that are not about its start, which use `Server`.

    It is a fork of a process that has its modules (`forked`), and the next app of a pytest worker has the same
    address, so that the browser keeps Streamlit's scripts. On other systems than Linux it starts as `Server` does.
    """

    _ports: ClassVar[list[int]] = []  # those of this pytest worker; the second is used while the first app runs

    def __init__(self, folder: Path, *, library: Library | None = None, **environment: str) -> None:
        """Serve a copy of the library, or a new vault; `environment` are further variables, for its settings too."""
        if library is not None:
            library.copy_to(folder)
            environment = {"DOCMIND_KEYS__FILE": str(folder / "docmind.key"), **environment}
        super().__init__(folder, **environment)
        self.port = next((port for port in self._ports if _is_free(port)), self.port)
        if self.port not in self._ports:
            self._ports.append(self.port)
        self.url = f"http://127.0.0.1:{self.port}"

    def _started(self, environment: dict[str, str], log: BinaryIO) -> subprocess.Popen[bytes] | Program:
        if not can_fork():
            return super()._started(environment, log)
        arguments = ["run", "app.py", "--server.port", str(self.port), *self.options]
        return popen([sys.executable, "-c", APP, *arguments], cwd=ROOT, env=environment, stdout=log, stderr=log)


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # connections that have ended do not count
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


class Tab:
    """One browser tab that records errors and requests to other hosts."""

    opened: ClassVar[list[Tab]] = []
    """Those of `tab` that are open: the plugin `open_tabs` tells them where a test has failed."""

    def __init__(self, page: Any, server: Server) -> None:
        self.page, self.server = page, server
        self.url = server.url  # once open, with the path that this start of the app is served below
        self.complaints: list[str] = []
        self._is_answered = True
        page.set_default_timeout(WAIT_MS)
        page.on("websocket", self._websocket)
        page.on("console", self._console)
        page.on("pageerror", lambda error: self._complain(str(error)))
        page.on("request", self._request)
        page.on("response", self._response)

    def _console(self, message: Any) -> None:
        # A file that is replaced, or whose dialog is closed, while the browser asks for it is gone from the server: no
        # fault of the page.
        told, url = ("Download Button source error", "Image source error"), str(message.location.get("url", ""))
        is_gone = "/media/" in url or any(words in message.text for words in told)
        # At the address of a page Streamlit first looks for its server below that address.
        is_probe = "404" in message.text and "/_stcore/" in url
        if message.type == "error" and not is_gone and not is_probe:
            self._complain(f"{message.text} {url}".rstrip())

    def _request(self, request: Any) -> None:
        if not request.url.startswith((self.server.url, self.server.url.replace("http", "ws"), "data:", "blob:")):
            self._complain(f"asked for {request.url}")

    def _response(self, response: Any) -> None:
        if response.status == 403:  # what a tab of its own asks for is never refused, gone or not
            self._complain(f"was refused {response.url}")

    def _complain(self, what: str) -> None:
        """Record a complaint with the test that runs: the tab may be the one of a module."""
        test = os.environ.get("PYTEST_CURRENT_TEST")
        self.complaints.append(f"{what} ({test})" if test else what)

    def told(self) -> str:
        """Return what a failure leaves: the end of the log, the address, the complaints, and the text of the page."""
        from playwright.sync_api import Error

        try:
            shown = self.page.locator("body").inner_text(timeout=_TOLD_MS)
        except Error as error:
            shown = f"the page has no text: {error}"
        return "\n".join([self.server.log()[-4_000:], self.page.url, *self.complaints, shown])

    def _websocket(self, socket: Any) -> None:
        socket.on("framesent", lambda _: self._set_answered(False))
        socket.on("framereceived", lambda _: self._set_answered(True))
        socket.on("close", lambda _: self._set_answered(True))

    def _set_answered(self, is_answered: bool) -> None:
        self._is_answered = is_answered

    def enter(self) -> None:
        """Open the app with a new link, and confirm nothing."""
        self.page.goto(self.server.link())
        self.page.get_by_role("link", name="Settings").wait_for()
        found = re.match(rf"{re.escape(self.server.url)}/[0-9a-f]{{32}}", self.page.url)
        assert found, self.page.url
        self.url = found[0]
        self.idle()

    def open(self, name: str = "Ask") -> Tab:
        """Open the app, confirm the recovery code unless it was confirmed, and go to a page."""
        self.enter()
        reminder = self.page.get_by_role("button", name="Show the recovery code")
        if reminder.count():
            reminder.first.click()
            self.page.get_by_role("button", name="I have written it down").click()
            self.page.get_by_role("dialog").wait_for(state="detached")
            self.idle()
        self.go(name)
        return self

    def begin(self) -> None:
        """Begin a new conversation, also where a test that failed has left a dialog, or the app was started again."""
        from playwright.sync_api import TimeoutError as NotThereError

        try:
            self.page.get_by_role("button", name="New conversation").first.click(timeout=5_000)
        except NotThereError:
            self.enter()
        self.page.locator(".st-key-turn-0").wait_for(state="detached")
        self.page.get_by_placeholder("Ask your documents").wait_for()
        self.idle()

    def idle(self) -> None:
        """Wait until the server has heard what the page told it, and the script has run."""
        self._rest()
        until = time.monotonic() + _ANSWER_S
        while not self._is_answered and time.monotonic() < until:
            self.page.wait_for_timeout(20)
        self.page.locator('[data-testid="stApp"]:not([data-test-script-state="running"])').wait_for()
        self._rest()

    def _rest(self) -> None:
        """Wait until the page has done what it had to do: it answers events, sends what they cause, and draws."""
        from playwright.sync_api import Error

        try:
            self.page.evaluate(_REST)
        except Error:  # the page was left in this moment
            self.page.wait_for_timeout(300)

    def until(self, condition: str, argument: Any = None) -> None:
        """Wait until a function returns a true value in the page, whose own policy forbids `wait_for_function`."""
        ends = time.monotonic() + WAIT_MS / 1_000
        while not self.page.evaluate(condition, argument):
            assert time.monotonic() < ends, f"in vain: {condition}"
            self.page.wait_for_timeout(50)

    def wear(self, theme: str) -> None:
        """Give the page the theme of a system that is dark or light, and wait until it wears it."""
        from playwright.sync_api import expect

        self.page.emulate_media(color_scheme=theme)  # pyright: ignore[reportArgumentType] - one of THEMES
        app = self.page.locator('[data-testid="stApp"]')
        expect(app).to_have_css("background-color", THEMES[theme], timeout=WAIT_MS)
        self._rest()

    def sideways(self) -> str:
        """Return by how much the page, or a box around it, can be scrolled sideways; an empty text where nothing can.

        Boxes whose overflow is hidden count too: the browser scrolls them to show what has the focus.
        """
        return self.page.evaluate(_SIDEWAYS)

    def shows(self, elements: Any, count: int) -> None:
        """Wait until the page holds that many of these elements, and fail where it does not."""
        from playwright.sync_api import expect

        expect(elements).to_have_count(count, timeout=WAIT_MS)

    def go(self, name: str) -> None:
        self.page.get_by_role("link", name=name).first.click()
        self.idle()

    def section(self, name: str) -> None:
        """Open a section of Settings."""
        self.go("Settings")
        self.page.get_by_role("tab", name=name).click()
        self.idle()

    def add(self, *files: tuple[str, bytes]) -> None:
        """Hand the files in and wait until all of them are over."""
        payload = [{"name": name, "mimeType": "application/octet-stream", "buffer": data} for name, data in files]
        self.page.locator("input[type=file]").first.set_input_files(payload)
        outcome = re.compile(r"\d+ (added|files? (was|were) already|files? (needs?|could))")
        self.page.get_by_text(outcome).first.wait_for()
        self.idle()

    def ask(self, question: str) -> None:
        before = self.page.get_by_text("Answered in").count()
        self.page.get_by_placeholder("Ask your documents").fill(question)
        self.page.keyboard.press("Enter")
        self.page.get_by_text("Answered in").nth(before).wait_for()
        self.idle()

    def picture(self, image: Any) -> Image.Image:
        """Return the picture of an `<img>`, as the browser got it."""
        source = image.evaluate("image => image.src")
        inline = source.startswith("data:image/jpeg;base64,")
        body = base64.b64decode(source.partition(",")[2]) if inline else self.page.request.get(source).body()
        return Image.open(io.BytesIO(body)).convert("RGB")


@contextmanager
def tab(browser: Any, server: Server, **options: Any) -> Iterator[Tab]:
    """Open a tab; `options` are those of a playwright context.

    A tab of an `App` is one of the profile, emptied before, unless another one is open there.
    """
    with _page(browser, isinstance(server, App), options) as page:
        tab = Tab(page, server)
        Tab.opened.append(tab)
        try:
            yield tab
        except Exception:
            print(tab.told())
            raise
        finally:
            Tab.opened.remove(tab)
    assert not tab.complaints, tab.complaints


@contextmanager
def beside(one: Tab) -> Iterator[Tab]:
    """Open a second tab of the same browser, with what the first one shows."""
    two = Tab(one.page.context.new_page(), one.server)
    two.url = one.url
    try:
        two.page.goto(one.page.url)
        yield two
    except Exception:
        print(two.told())
        raise
    finally:
        two.page.close()
    assert not two.complaints, two.complaints


@contextmanager
def _page(browser: Any, is_profile_wanted: bool, options: dict[str, Any]) -> Iterator[Any]:
    if not is_profile_wanted or not _OF_THE_PROFILE.issuperset(options) or len(browser.profile.pages) > 1:
        context = browser.new_context(**{"viewport": WINDOW, **options})
        try:
            yield context.new_page()
        finally:
            context.close()
        return
    context = browser.profile
    context.clear_cookies()
    context.clear_permissions()
    page = context.new_page()
    try:
        devtools = context.new_cdp_session(page)
        for port in App._ports:
            origin = {"origin": f"http://127.0.0.1:{port}", "storageTypes": "local_storage,indexeddb,service_workers"}
            devtools.send("Storage.clearDataForOrigin", origin)
        devtools.detach()
        page.emulate_media(color_scheme=options.get("color_scheme", "light"))
        if "permissions" in options:
            context.grant_permissions(options["permissions"])
        yield page
    finally:
        for opened in context.pages[1:]:
            opened.close()


def marks(picture: Image.Image) -> list[tuple[int, int]]:
    """Return the pixels that a highlight has covered."""
    small = picture.resize((picture.width // 2, picture.height // 2))
    pixels = small.load()
    assert pixels is not None

    def is_ink(pixel: Any) -> bool:
        return pixel[0] > 200 and pixel[0] - pixel[2] > 110 and pixel[0] - pixel[1] < 90

    return [(x * 2, y * 2) for x in range(small.width) for y in range(small.height) if is_ink(pixels[x, y])]


def read_page(one: Tab, page_no: int) -> Any:
    """Return the reader once it shows this page."""
    one.page.locator(f'#docmind-reader[data-shown="{page_no}"]').wait_for()
    return one.page.locator("#docmind-reader")


def close_reader(one: Tab) -> None:
    one.page.keyboard.press("Escape")
    one.page.locator("#docmind-reader").wait_for(state="hidden")


def covered(reader: Any, kind: str = "cited") -> tuple[list[tuple[int, int]], tuple[int, int]]:
    """Return points under the shapes of a kind in the reader, and the size of the page that they are points of."""
    width, height = reader.locator(".sheet > svg").evaluate(
        "svg => [svg.viewBox.baseVal.width, svg.viewBox.baseVal.height]"
    )
    points = []
    for corners in reader.locator(f"polygon.{kind}").evaluate_all(
        "all => all.map(one => [...one.points].map(point => [point.x, point.y]))"
    ):
        xs, ys = zip(*corners, strict=True)
        points += [
            (x, y) for x in range(round(min(xs)), round(max(xs)), 2) for y in range(round(min(ys)), round(max(ys)), 2)
        ]
    return points, (round(width), round(height))


def take(one: Tab, name: str) -> None:
    """Nothing scrolls sideways; and a picture of it, small enough for a repository, where one is wanted."""
    assert not one.sideways(), f"{name}: {one.sideways()}"
    folder = os.environ.get("SCREENSHOTS")
    if folder:
        path = Path(folder) / f"{name}.png"
        one.page.mouse.move(700, 5)
        one.page.wait_for_timeout(500)
        one.page.screenshot(path=path)
        Image.open(path).convert("RGB").quantize(128, dither=Image.Dither.NONE).save(path, optimize=True)
        assert path.stat().st_size < 250_000


def take_both(one: Tab, name: str) -> None:
    """Do as `take` does in both themes where pictures are wanted, else in the light one; leave the page light.

    No theme moves anything: `tests/browser/test_accessibility.py` looks at every page in both.
    """
    for theme in THEMES if os.environ.get("SCREENSHOTS") else ("light",):
        one.wear(theme)
        take(one, f"{name}-{theme}")


def choose_in_menu(tab: Tab, open_it: Callable[[], object], name: str) -> None:
    """One entry of a menu. A page that is drawn again, because an answer is over for one, closes it: open it again."""
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
