"""Access to the app in a browser: links, old windows, other ports, the page that refuses."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from docmind.access import open_browser
from served import WAIT_MS, Server

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("access")


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Server]:
    server = Server(folder)
    server.start()
    yield server
    server.stop()
    assert "Traceback" not in server.log()


@contextmanager
def window(browser: Any) -> Iterator[Any]:
    """Open a page in a browser context without cookies: that of the profile, unless another page is open there."""
    is_first = len(browser.profile.pages) == 1
    context = browser.profile if is_first else browser.new_context(viewport={"width": 1280, "height": 800})
    context.clear_cookies()
    page = context.new_page()
    page.set_default_timeout(WAIT_MS)
    try:
        yield page
    finally:
        for opened in context.pages[1:] if is_first else context.pages:
            opened.close()
        if not is_first:
            context.close()


@contextmanager
def neighbour(body: str = "") -> Iterator[tuple[int, list[tuple[str, str]]]]:
    """Serve another site on this machine; yield its port, and the path and cookies of each request."""
    seen: list[tuple[str, str]] = []

    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append((self.path, self.headers.get("Cookie") or ""))
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the parameter's name in the base class
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_port, seen
    server.shutdown()
    server.server_close()


def is_open(page: Any) -> None:
    page.get_by_role("link", name="Settings").wait_for()


def test_the_first_page_loads_no_pandas(browser: Any, server: Server) -> None:
    """The command itself, before any other page: a fork would have the modules of others."""
    with window(browser) as page:
        page.goto(server.link())
        is_open(page)
        page.get_by_role("button", name="Try it with a sample").wait_for()
        loaded = server.libraries()
        assert "sqlcipher" in loaded or not loaded  # the vault is open
        assert "pandas" not in loaded


def test_links_lead_into_the_app(browser: Any, server: Server, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Walk through all ways in, in one window; its cookies are cleared where a way needs none."""
    monkeypatch.setenv("BROWSER", "true %s")  # this only makes the page; Chromium opens it below
    with window(browser) as page:
        the_page_that_opens_the_browser_leads_into_the_app(page, server, folder / "data")
        page.context.clear_cookies()
        a_link_that_is_clicked_in_another_site_opens_the_app(page, server)
        a_server_on_another_port_is_not_sent_the_cookie(page)
        page.context.clear_cookies()
        used_links_and_typed_addresses_work_in_a_known_browser(page, server)


def the_page_that_opens_the_browser_leads_into_the_app(page: Any, server: Server, data: Path) -> None:
    open_browser(data, server.link("/documents?x=1&y=%26"))
    page.goto((data / "open.html").as_uri())
    is_open(page)
    assert page.url.startswith(server.url)
    assert page.url.endswith("/documents?x=1&y=%26")
    assert "ticket" not in page.evaluate("location.href + document.referrer + JSON.stringify(history.state)")
    page.go_back()
    assert not page.url.startswith("http"), "the address with the ticket is not in the history of the window"
    assert not (data / "open.html").exists()
    (cookie,) = [each for each in page.context.cookies() if each["name"] == "docmind"]
    assert cookie["httpOnly"]
    assert cookie["sameSite"] == "Strict"
    assert cookie["expires"] == -1


def a_link_that_is_clicked_in_another_site_opens_the_app(page: Any, server: Server) -> None:
    """Click a link in another site; the cookie is not sent then, so the page in between continues by itself."""
    body = f'<a href="{server.link("/documents").replace("&", "&amp;")}">go</a>'
    with neighbour(body) as (port, _):
        page.goto(f"http://localhost:{port}/")
        page.get_by_role("link", name="go").click()
        is_open(page)
        assert page.url.endswith("/documents")


def a_server_on_another_port_is_not_sent_the_cookie(page: Any) -> None:
    base = page.evaluate("location.pathname").removesuffix("/documents")
    with neighbour() as (port, seen):
        page.goto(f"http://127.0.0.1:{port}/")
        page.reload()
        page.goto(f"http://127.0.0.1:{port}/_stcore/health")
        assert len(seen) >= 3
        assert not [cookies for _, cookies in seen if "docmind=" in cookies]
        page.goto(
            f"http://127.0.0.1:{port}{base}/"
        )  # the control: once the path is known, cookies are sent to every port
        assert [cookies for path, cookies in seen if path == f"{base}/" and "docmind=" in cookies]


def used_links_and_typed_addresses_work_in_a_known_browser(page: Any, server: Server) -> None:
    link = server.link()
    for address in (link, link, server.url, f"{server.url}/{'0' * 32}/documents?x=1"):
        page.goto(address)
        is_open(page)
        page.wait_for_url(f"{server.url}/*/**")
    assert page.url.endswith("/documents?x=1")
    page.goto(f"{server.url}/documents")
    page.get_by_role("heading", name="Documents").first.wait_for()
    assert page.url.endswith("/documents")
    page.context.clear_cookies()
    page.goto(link)
    page.get_by_text("docmind open").wait_for()
    assert not page.get_by_role("link", name="Settings").count()


def test_old_windows_go_on_after_a_new_start(browser: Any, server: Server) -> None:
    with window(browser) as old, window(browser) as stranger:
        for page in (old, stranger):
            page.goto(server.link("/settings"))
            page.get_by_role("tab", name="Appearance").wait_for()
        before = old.url
        server.stop()
        server.start()
        for page in (old, stranger):
            page.get_by_text("docmind open").wait_for()
        new = old.context.new_page()
        new.set_default_timeout(WAIT_MS)
        new.goto(server.link())
        is_open(new)
        old.get_by_role("tab", name="Appearance").wait_for()
        assert old.url.endswith("/settings")
        assert old.url != before
        stranger.get_by_text("docmind open").first.wait_for()  # a browser without a link of its own stays outside


def test_the_page_that_refuses_is_read_in_any_window(browser: Any, server: Server) -> None:
    with window(browser) as page:
        complaints: list[str] = []
        page.on("console", lambda message: complaints.append(message.text))
        for scheme in ("light", "dark"):
            for width in (1280, 390):
                page.emulate_media(color_scheme=scheme)
                page.set_viewport_size({"width": width, "height": 800})
                assert page.goto(server.url).status == 403
                assert page.get_by_role("heading", level=1).count() == 1
                assert page.evaluate("document.documentElement.lang") == "en"
                assert contrast(page, "body") > 7, scheme
                assert contrast(page, "code") > 7, scheme
                across, inner = page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
                assert across <= inner, width
                page.evaluate("document.documentElement.style.fontSize = '200%'")
                assert page.evaluate("document.documentElement.scrollWidth") <= inner, width
        assert not [told for told in complaints if "403" not in told]


def contrast(page: Any, selector: str) -> float:
    """Return the contrast of an element's text with its background, as WCAG 2 defines it."""
    colours = page.evaluate(
        """selector => {
            const style = getComputedStyle(document.querySelector(selector));
            return [style.color, style.backgroundColor].map(colour => colour.match(/\\d+/g).slice(0, 3).map(Number));
        }""",
        selector,
    )

    def luminance(colour: list[int]) -> float:
        linear = [c / 12.92 if (c := part / 255) <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for part in colour]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    darker, lighter = sorted(luminance(colour) for colour in colours)
    return (lighter + 0.05) / (darker + 0.05)
