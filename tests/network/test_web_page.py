"""Web pages by their address: from a real HTTP server, with redirects, types and sizes that must be refused."""

from __future__ import annotations

import ipaddress
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

import httpx
import pytest

from docmind.config import WebSettings
from docmind.errors import ConfigError, DocMindError, WebPageError
from docmind.network.endpoint import Address, is_public
from docmind.network.web_page import _Place, fetch_page
from each import each_of
from websites import HTML, Site, serving_pages

ALLOWED = WebSettings(pages="on", max_page_mb=1, page_timeout_s=20)
PAGE = b"<!doctype html><html><head><title>Bees</title></head><body><p>Bees store honey in the comb.</p></body></html>"


@pytest.fixture
def site() -> Iterator[Site]:
    with serving_pages({"/bees": PAGE}) as server:
        yield server


def as_public(*public: str) -> Callable[[Address], bool]:
    """Return a rule by which these addresses are of the internet."""
    return lambda address: str(address) in public or is_public(address)


def test_nothing_is_asked_where_it_is_not_allowed(site: Site) -> None:
    for settings in (WebSettings(), WebSettings(provider="brave", pages="off")):
        with pytest.raises(ConfigError, match="not allowed") as refused:
            fetch_page(settings, f"{site.url}/bees", resolve=lambda host, port: pytest.fail("a name was asked for"))
        assert "Settings" in refused.value.hint
    assert site.asked == []


def test_the_permission_of_web_search_is_enough(site: Site) -> None:
    found = fetch_page(WebSettings(provider="searxng", url=site.url), f"{site.url}/bees#wax")
    assert found.data == PAGE
    assert found.address == f"{site.url}/bees"
    assert found.name == "127.0.0.1 bees.html"
    assert abs(found.fetched_at_ms - time.time() * 1000) < 60_000


def test_one_request_says_nothing_of_the_user(site: Site) -> None:
    fetch_page(ALLOWED, f"{site.url}/bees")
    [(path, headers)] = site.asked
    assert path == "/bees"
    assert set(headers) == {"host", "user-agent", "accept-encoding", "connection", "accept"}
    assert headers["user-agent"] == "docmind"


@each_of(
    "address",
    [
        "", "bees", "ftp://127.0.0.1/x", "file:///etc/passwd", "javascript:alert(1)", "http:///x", "https://",
        "http://ana:secret@127.0.0.1/", "http://127.0.0.1/a\nb", f"http://127.0.0.1/{'x' * 3000}", "http://[::1",
    ],
)  # fmt: skip
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(ConfigError, match="isn't an address of a web page") as refused:
        fetch_page(ALLOWED, address)
    assert "secret" not in refused.value.hint


@pytest.mark.parametrize(
    "address", ["http://127.1/", "http://0x7f000001/", "http://169.254.169.254/", "http://0.0.0.0/"]
)
def test_odd_spellings_and_special_addresses_are_never_asked(address: str) -> None:
    with pytest.raises(WebPageError):
        fetch_page(ALLOWED, address)


def test_redirects_are_followed_as_far_as_they_are_few(site: Site) -> None:
    for number in range(5):
        site.sends(f"/{number}", f"/{number + 1}")
    site.pages["/5"] = (200, HTML, PAGE)
    site.sends("/round", "/round")
    assert fetch_page(ALLOWED, f"{site.url}/0").name == "127.0.0.1 0.html"
    with pytest.raises(WebPageError, match="too many times"):
        fetch_page(ALLOWED, f"{site.url}/round")
    site.sends("/file", "file:///etc/passwd")
    with pytest.raises(WebPageError, match="isn't an address"):
        fetch_page(ALLOWED, f"{site.url}/file")


@pytest.mark.parametrize(
    "target", ["http://127.0.0.2:{port}/bees", "http://localhost:{port}/bees", "http://inner.example:{port}/bees",
               "http://10.0.0.9/x", "http://[::ffff:10.0.0.9]/x", "http://[fd00::9]/x", "http://router/x"]
)  # fmt: skip
def test_a_page_of_the_internet_leads_to_no_local_address(site: Site, target: str) -> None:
    site.sends("/out", target.format(port=site.port))
    names = {"news.example": ["127.0.0.1"], "inner.example": ["192.168.0.7"], "router": ["192.168.0.1"],
             "localhost": ["127.0.0.1"]}  # fmt: skip
    with pytest.raises(WebPageError):
        fetch_page(
            ALLOWED, f"http://news.example:{site.port}/out",
            resolve=lambda host, port: names[host], is_public=lambda address: str(address) == "127.0.0.1",
        )  # fmt: skip
    assert [path for path, _ in site.asked] == ["/out"]


def test_a_name_of_the_internet_that_leads_home_is_refused(site: Site) -> None:
    for leads in ("127.0.0.1", "10.1.2.3", "::1", "fd00::1"):
        with pytest.raises(WebPageError, match=r"evil\.example leads to") as refused:
            fetch_page(ALLOWED, f"http://evil.example:{site.port}/bees", resolve=lambda host, port, to=leads: [to])
        assert "type its local address" in refused.value.hint
    assert site.asked == []


def test_a_name_is_resolved_once_for_each_request(site: Site) -> None:
    turns = iter([["127.0.0.1"], ["10.0.0.1"]])
    found = fetch_page(
        ALLOWED, f"http://news.example:{site.port}/bees",
        resolve=lambda host, port: next(turns), is_public=as_public("127.0.0.1"),
    )  # fmt: skip
    assert found.data == PAGE
    assert next(turns) == ["10.0.0.1"]
    assert site.asked[0][1]["host"] == f"news.example:{site.port}"


def test_a_local_page_leads_on_the_same_server_or_to_the_internet(site: Site) -> None:
    asked = list[str]()  # from the look-up of news.example on, this computer plays the internet

    def here(host: str, port: int) -> list[str]:
        asked.append(host)
        return ["127.0.0.1"]

    site.sends("/home", "/bees")
    assert fetch_page(ALLOWED, f"{site.url}/home").data == PAGE
    site.sends("/out", f"http://news.example:{site.port}/bees")
    found = fetch_page(
        ALLOWED, f"http://localhost:{site.port}/out", resolve=here, is_public=lambda address: "news.example" in asked
    )
    assert found.data == PAGE


def test_a_local_page_leads_to_no_other_local_server(site: Site) -> None:
    with serving_pages({"/bees": PAGE}) as other:
        names = {"localhost": ["127.0.0.1"], "nas.lan": ["127.0.0.1"], "router": ["192.168.0.1"]}
        for target in (
            f"{other.url}/bees", f"http://localhost:{site.port}/bees", f"http://127.0.0.2:{site.port}/bees",
            f"http://nas.lan:{site.port}/bees", "http://router/", "http://192.168.0.9/", "https://127.0.0.1/",
        ):  # fmt: skip
            site.sends("/home", target)
            with pytest.raises(WebPageError, match="an address of this computer") as refused:
                fetch_page(ALLOWED, f"{site.url}/home", resolve=lambda host, port: names[host])
            assert "type its local address" in refused.value.hint
        assert other.asked == []
    assert {path for path, _ in site.asked} == {"/home"}


def test_no_way_leads_back_from_the_internet_to_the_typed_server(site: Site) -> None:
    asked = list[str]()  # from the look-up of news.example on, this computer plays the internet

    def here(host: str, port: int) -> list[str]:
        asked.append(host)
        return ["127.0.0.1"]

    site.sends("/out", f"http://news.example:{site.port}/back")
    site.sends("/back", f"http://localhost:{site.port}/bees")
    with pytest.raises(WebPageError, match="an address of this computer"):
        fetch_page(
            ALLOWED,
            f"http://localhost:{site.port}/out",
            resolve=here,
            is_public=lambda address: "news.example" in asked,
        )
    assert [path for path, _ in site.asked] == ["/out", "/back"]


@each_of("host", ["printer.local", "nas", "wiki.lan"])
def test_a_name_of_the_local_network_leads_not_to_this_computer(site: Site, host: str) -> None:
    for leads in ("127.0.0.1", "127.0.1.1", "::1"):
        with pytest.raises(WebPageError, match="leads to") as refused:
            fetch_page(ALLOWED, f"http://{host}:{site.port}/bees", resolve=lambda name, port, to=leads: [to])
        assert "type its local address" in refused.value.hint
    assert site.asked == []


def test_a_name_of_the_local_network_leads_not_elsewhere_in_between() -> None:
    turns = iter([["192.168.0.7"], ["192.168.0.1"]])
    typed = httpx.URL("http://nas.lan/a")
    place = _Place(typed, lambda host, port: next(turns), is_public)
    for _ in range(2):
        assert place.resolver(place.endpoint(typed))("nas.lan", 80) == ["192.168.0.7"]


@each_of(
    "address, is_so",
    [("8.8.8.8", True), ("10.0.0.1", False), ("127.0.0.1", False), ("100.64.0.1", False), ("::1", False),
     ("fd00::1", False), ("2606:4700::1111", True), ("64:ff9b::a00:1", False)],
)  # fmt: skip
def test_which_addresses_are_public(address: str, is_so: bool) -> None:
    assert is_public(ipaddress.ip_address(address)) is is_so


@pytest.mark.parametrize(
    ("kind", "body", "told"),
    [
        ("image/png", b"\x89PNG", "sends image/png; only web pages"),
        ("application/json", b"{}", "sends application/json"),
        ("application/zip", b"PK", "sends application/zip"),
        ("", b"<html>", "a file without a type"),
        ("text/html", b"PK\x03\x04\x00 word/document.xml", "something else than it says"),
        ("text/html", b"%PDF-1.7", "something else than it says"),
        ("application/pdf", PAGE, "something else than it says"),
    ],
)
def test_other_kinds_are_refused_in_one_sentence(site: Site, kind: str, body: bytes, told: str) -> None:
    site.pages["/x"] = (200, {"Content-Type": kind} if kind else {}, body)
    with pytest.raises(WebPageError, match=told) as refused:
        fetch_page(ALLOWED, f"{site.url}/x")
    assert refused.value.hint


@pytest.mark.parametrize(
    ("status", "told"), [(404, "no such page"), (403, "refuses"), (500, "status 500"), (204, "204")]
)
def test_an_answer_that_is_no_page_says_why(site: Site, status: int, told: str) -> None:
    site.pages["/x"] = (status, HTML, b"")
    with pytest.raises(WebPageError, match=told):
        fetch_page(ALLOWED, f"{site.url}/x")


def test_a_page_has_a_bound_and_a_time(site: Site) -> None:
    site.pages["/long"] = (200, HTML, b"<p>" + b"a" * (1 << 20))
    with pytest.raises(WebPageError, match="more than 1 MB"):
        fetch_page(ALLOWED, f"{site.url}/long")
    site.silent_s = 1.0
    with pytest.raises(WebPageError, match="does not answer in time"):
        fetch_page(ALLOWED.model_copy(update={"page_timeout_s": 0.3}), f"{site.url}/bees")
    site.shutdown()
    site.server_close()
    with pytest.raises(WebPageError, match="cannot be reached"):
        fetch_page(ALLOWED, f"{site.url}/bees")


def test_a_page_that_is_cut_off_by_the_time_is_no_page() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def drip() -> None:
            with suppress(OSError), listener.accept()[0] as connection:
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>The first clause.</p>")
                for _ in range(200):
                    connection.sendall(b"<p>Another one.</p>")
                    time.sleep(0.05)

        threading.Thread(target=drip, daemon=True).start()
        with pytest.raises(WebPageError, match="does not answer in time"):
            fetch_page(
                ALLOWED.model_copy(update={"page_timeout_s": 0.4}), f"http://127.0.0.1:{listener.getsockname()[1]}/"
            )


def test_the_encoding_that_only_the_server_names_is_kept(site: Site) -> None:
    words = "<p>пчёлы</p>"
    site.pages["/ru"] = (200, {"Content-Type": "text/html; charset=windows-1251"}, words.encode("cp1251"))
    assert fetch_page(ALLOWED, f"{site.url}/ru").data.decode("utf-8-sig") == words
    declared = b'<meta charset="windows-1251">' + words.encode("cp1251")
    site.pages["/said"] = (200, {"Content-Type": "text/html; charset=windows-1251"}, declared)
    assert fetch_page(ALLOWED, f"{site.url}/said").data == declared
    site.pages["/wrong"] = (200, {"Content-Type": "text/html; charset=no-such"}, PAGE)
    assert fetch_page(ALLOWED, f"{site.url}/wrong").data == PAGE


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/", "127.0.0.1.html"),
        ("/a/Solar%20power", "127.0.0.1 Solar power.html"),
        ("/index.html", "127.0.0.1 index.html"),
        ("/a.php?x=1", "127.0.0.1 a.html"),
        ("/a%2F..%2Fb%0A", "127.0.0.1 b.html"),
    ],
)
def test_the_name_is_host_and_last_part(site: Site, path: str, name: str) -> None:
    site.pages[path] = (200, HTML, PAGE)
    assert fetch_page(ALLOWED, f"{site.url}{path}").name == name


def test_a_pdf_is_taken(site: Site) -> None:
    site.pages["/paper.PDF"] = (200, {"Content-Type": "application/pdf"}, b"%PDF-1.7\n\x00\x01")
    found = fetch_page(ALLOWED, f"{site.url}/paper.PDF")
    assert (found.name, found.data[:5]) == ("127.0.0.1 paper.pdf", b"%PDF-")


def test_every_refusal_has_one_sentence(site: Site) -> None:
    with pytest.raises(DocMindError) as refused:
        fetch_page(ALLOWED, f"{site.url}/none")
    assert str(refused.value).count(". ") == 0
