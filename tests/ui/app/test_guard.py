"""Only this machine's own browser is served, and served pages can reach nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
import streamlit
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import HTMLResponse, PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient
from starlette.websockets import WebSocket, WebSocketDisconnect

from docmind.access import NONCE_HEADER, PROOF_HEADER, Launch, mint_ticket, prove
from docmind.ui.app.guard import ENTERING, REFUSED, RELOAD, Guard, inline_script_sources


async def _page(_: object) -> PlainTextResponse:
    return PlainTextResponse("hello", headers={"cache-control": "public, max-age=100"})


async def _socket(socket: WebSocket) -> None:
    await socket.accept()
    await socket.send_text("hello")
    await socket.close()


APP = Starlette(routes=[Route("/{path:path}", _page, methods=["GET", "POST"]), WebSocketRoute("/stream", _socket)])
OPEN = Launch(is_token_required=False)  # the tests of Host, Origin and headers need no token
CLIENT = TestClient(Guard(APP, OPEN, " 'sha256-abc'"), base_url="http://localhost:8501")
OWN = {"origin": "http://localhost:8501"}


@pytest.mark.parametrize("host", ["localhost:8501", "127.0.0.1:8501", "[::1]:8501", "LOCALHOST:8501", "localhost"])
def test_this_machine_is_served(host: str) -> None:
    assert CLIENT.get("/", headers={"host": host}).text == "hello"


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8501",
        "localhost.evil.example:8501",
        "127.0.0.1.evil.example",
        "127.0.0.1:8501@evil.example",
        "192.168.1.7:8501",
        "localhost:8501 evil",
        "localhost:",
        "",
    ],
)
def test_a_name_from_elsewhere_is_refused(host: str) -> None:
    answer = CLIENT.get("/", headers={"host": host})
    assert answer.status_code == 403
    assert "hello" not in answer.text


@pytest.mark.parametrize("origin", ["http://evil.example", "http://localhost:3000", "null", "http://127.0.0.1:8501"])
def test_a_page_from_elsewhere_is_refused(origin: str) -> None:
    """This includes another port of this machine, and this machine under its other name."""
    assert CLIENT.post("/", headers={"origin": origin}).status_code == 403
    with (
        pytest.raises(WebSocketDisconnect),
        CLIENT.websocket_connect("ws://localhost:8501/stream", headers={"origin": origin}),
    ):
        pass


def test_its_own_page_may_connect() -> None:
    assert CLIENT.post("/", headers=OWN).text == "hello"
    with CLIENT.websocket_connect("ws://localhost:8501/stream", headers=OWN) as socket:
        assert socket.receive_text() == "hello"


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND"])
def test_what_may_change_something_must_name_its_origin(method: str) -> None:
    """A browser always names it; a program that does not is not a browser."""
    assert CLIENT.request(method, "/").status_code == 403
    assert CLIENT.request(method, "/", headers=OWN).status_code != 403


def test_a_websocket_must_name_its_origin_and_nobody_names_two() -> None:
    with pytest.raises(WebSocketDisconnect), CLIENT.websocket_connect("ws://localhost:8501/stream"):
        pass
    assert CLIENT.post("/", headers=[*OWN.items(), *OWN.items()]).status_code == 403


def door() -> tuple[Launch, TestClient]:
    """Return a launch that requires its token, and a client that has none."""
    launch = Launch()
    return launch, TestClient(Guard(APP, launch), base_url="http://localhost:8501", follow_redirects=False)


def cookie_of(launch: Launch) -> dict[str, str]:
    return {"cookie": launch.cookie(is_secure=False).partition(";")[0]}


@pytest.mark.slow
def test_only_the_session_cookie_opens_anything() -> None:
    launch, client = door()
    wrong = {"cookie": f"{cookie_of(launch)['cookie']}x"}
    for path in ("/", launch.base, f"{launch.base}/", "/stream", "/_stcore/health", "/static/x.js"):
        for headers in ({}, wrong, cookie_of(Launch()), {"authorization": "Bearer x"}):
            answer = client.get(path, headers=headers)
            assert answer.status_code == 403
            assert "hello" not in answer.text
            assert "docmind open" in answer.text
            assert client.post(path, headers={**OWN, **headers}).status_code == 403
        assert client.get(path, headers=cookie_of(launch)).text == "hello"
        assert client.post(path, headers={**OWN, **cookie_of(launch)}).text == "hello"
    with pytest.raises(WebSocketDisconnect), client.websocket_connect("ws://localhost:8501/stream", headers=OWN):
        pass
    with client.websocket_connect("ws://localhost:8501/stream", headers={**OWN, **cookie_of(launch)}) as socket:
        assert socket.receive_text() == "hello"


def test_with_the_cookie_host_and_origin_are_still_checked() -> None:
    launch, client = door()
    ours = cookie_of(launch)
    assert client.get("/", headers={**ours, "host": "evil.example"}).status_code == 403
    assert client.post("/", headers=ours).status_code == 403
    assert client.post("/", headers={**ours, "origin": "http://localhost:9999"}).status_code == 403
    with pytest.raises(WebSocketDisconnect), client.websocket_connect("ws://localhost:8501/stream", headers=ours):
        pass


def test_a_ticket_becomes_a_cookie_once() -> None:
    launch, client = door()
    ticket = mint_ticket(launch.secret)
    assert client.head(f"/?ticket={ticket}").status_code == 403, "looking at a link does not use it"
    assert client.post(f"/?ticket={ticket}", headers=OWN).status_code == 403
    assert client.get(f"/?ticket={ticket}", headers={"host": "evil.example"}).status_code == 403
    assert client.get(f"/?ticket={ticket}&ticket={ticket}").status_code == 403
    answer = client.get(f"/documents?thread=a&ticket={ticket}")
    assert answer.status_code == 200
    assert "hello" not in answer.text
    assert ticket not in answer.text
    assert f'data-target="{launch.base}/documents?thread=a"' in answer.text
    assert answer.headers["set-cookie"] == launch.cookie(is_secure=False)
    assert answer.headers["cache-control"] == "no-store"
    assert client.get(f"/?ticket={ticket}", headers={"cookie": ""}).status_code == 403
    for refused in (mint_ticket(launch.secret, -1), mint_ticket(bytes(32)), "", "x" * 75):
        answer = client.get(f"/?ticket={refused}", headers={"cookie": ""})
        assert answer.status_code == 403
        assert "set-cookie" not in answer.headers


def test_an_address_writes_nothing_into_the_page_that_leads_on() -> None:
    launch, client = door()
    hostile = "/%22%3E%3Cscript%3Ealert(1)%3C/script%3E?a='\"><img src=x>&ticket="
    answer = client.get(hostile + mint_ticket(launch.secret))
    assert answer.status_code == 200
    assert answer.text.count("<script>") == 1
    assert "<img" not in answer.text


def test_the_guards_pages_run_only_their_own_script() -> None:
    launch, client = door()
    entered = client.get(f"/?ticket={mint_ticket(launch.secret)}")
    for answer, page in ((client.get("/", headers={"cookie": ""}), REFUSED), (entered, ENTERING)):
        policy = answer.headers["content-security-policy"]
        assert f"script-src{inline_script_sources(page)};" in policy
        assert policy.startswith("default-src 'none'")
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert "*" not in policy
        assert not [word for word in ("http:", "https:", "src=", "@import", "url(") if word in answer.text]


def test_the_guard_proves_who_it_is_and_opens_nothing_by_it() -> None:
    launch, client = door()
    for nonce in ("abc", "x" * 1_000, ""):
        answer = client.get("/", headers={NONCE_HEADER: nonce})
        assert answer.status_code == 403
        assert answer.headers[PROOF_HEADER] == prove(launch.secret, nonce)
        assert "hello" not in answer.text
    assert PROOF_HEADER not in client.get("/").headers


def test_only_loopback_and_the_proxys_origin_are_accepted() -> None:
    launch = Launch(origin="https://desk.example")
    client = TestClient(Guard(APP, launch), base_url="http://desk.example")
    ours = cookie_of(launch)
    assert client.get("/", headers=ours).text == "hello"
    assert client.get("/", headers={**ours, "host": "localhost:8501"}).text == "hello"
    assert client.post("/", headers={**ours, "origin": "https://desk.example"}).text == "hello"
    for origin in ("http://desk.example", "https://desk.example:444", "https://desk.example.evil.example"):
        assert client.post("/", headers={**ours, "origin": origin}).status_code == 403
    for host in ("desk.example:444", "www.desk.example", "desk.example.evil.example"):
        assert client.get("/", headers={**ours, "host": host}).status_code == 403
    assert "connect-src 'self' wss://desk.example " in client.get("/", headers=ours).headers["content-security-policy"]
    entered = client.get(f"/?ticket={mint_ticket(launch.secret)}")
    assert entered.headers["set-cookie"].endswith("; Secure")


def test_streamlits_page_gets_the_script_for_restarts() -> None:
    async def page(_: object) -> HTMLResponse:
        return HTMLResponse("<html><head></head>" + "<p>long</p>" * 200 + "</html>")

    app = Starlette(routes=[Route("/", page)], middleware=[Middleware(GZipMiddleware)])
    client = TestClient(Guard(app, OPEN), base_url="http://localhost:8501")
    answer = client.get("/", headers={"sec-fetch-dest": "document", "accept-encoding": "gzip"})
    assert RELOAD.read_text("utf-8") in answer.text
    assert int(answer.headers["content-length"]) == len(answer.content)
    assert inline_script_sources(RELOAD) in answer.headers["content-security-policy"]
    assert RELOAD.read_text("utf-8") not in client.get("/", headers={"accept-encoding": "gzip"}).text


def test_what_is_served_may_load_and_connect_to_nothing_else() -> None:
    headers = CLIENT.get("/").headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert f"script-src 'self' 'sha256-abc'{inline_script_sources(RELOAD)};" in policy
    assert "connect-src 'self' ws://localhost:8501" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe-eval" not in policy
    assert "*" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["x-dns-prefetch-control"] == "off"
    assert headers["cross-origin-resource-policy"] == "same-origin"


def test_readable_pages_stay_out_of_the_browsers_disk_cache() -> None:
    assert CLIENT.get("/media/abc.jpg").headers.get_list("cache-control") == ["no-store"]
    assert CLIENT.get("/static/js/index.js").headers["cache-control"] == "public, max-age=100"


def test_inline_scripts_of_streamlits_page_are_named_by_hash() -> None:
    index = Path(streamlit.__file__).parent / "static" / "index.html"
    sources = inline_script_sources(index)
    assert sources.count("'sha256-") == index.read_text("utf-8").count("<script>")
