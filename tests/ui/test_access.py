"""The real app over its ports: all routes, with and without the cookie, as another user."""

from __future__ import annotations

import base64
import http.client
import json
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from conftest import ROOT, require
from docmind.access import find_running, mint_ticket
from docmind.client import Client
from served import Server
from shells import Shell

pytestmark = pytest.mark.slow
NOBODY = 65534

# Run by another user, with the Python of the system: reads requests, prints the status of each answer and whether
# the guard refused it, because Streamlit has 403 answers of its own.
CLIENT = """
import json, socket, sys
asked = json.load(sys.stdin)
found = []
for method, path, headers in asked["requests"]:
    with socket.create_connection(("127.0.0.1", asked["port"]), 20) as line:
        names = [name.lower() for name, _ in headers]
        if "host" not in names:
            headers = [["Host", "127.0.0.1:%d" % asked["port"]]] + headers
        if "connection" not in names:
            headers = headers + [["Connection", "close"]]
        text = "%s %s HTTP/1.1\\r\\n" % (method, path) + "".join("%s: %s\\r\\n" % (n, v) for n, v in headers) + "\\r\\n"
        line.sendall(text.encode("latin-1"))
        answer = line.makefile("rb")
        status = int(answer.readline().split()[1])
        told = b"".join(iter(answer.readline, b"\\r\\n")).lower()
        found.append([status, b"docmind-refused" in told or "upgrade" in names and status == 403])
print(json.dumps(found))
"""

# Every route of the served app, with its path filled in: [methods or null for a WebSocket, path].
ROUTES = """
import json, re, sys
import app
from starlette.routing import Mount, Route, WebSocketRoute
found = []
for route in app.app._build_starlette_app().routes:
    path = re.sub(r"{[^}]*}", "x", route.path) or "/"
    if isinstance(route, WebSocketRoute):
        found.append([None, path])
    elif isinstance(route, Route):
        found.append([sorted(route.methods or []), path])
    elif isinstance(route, Mount):
        found += [[["GET", "HEAD", "POST"], path.rstrip("/") + inside] for inside in ("", "/", "/documents")]
    else:
        sys.exit(f"a kind of route that this test does not know: {route!r}")
print(json.dumps([app.serving.startup.launch.base, found]))
"""


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """Make a folder that every user may enter, unlike pytest's own: the modes inside protect."""
    folder = Path(tempfile.mkdtemp(prefix="docmind-access-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def server(place: Path) -> Iterator[Server]:
    server = Server(place)
    server.start()
    yield server
    server.stop()
    assert "Traceback" not in server.log()


def routes(base: str) -> list[tuple[list[str] | None, str]]:
    """Return the routes of the app below `base`, from its own table, so that none is missed."""
    environment = dict(os.environ, PYTHONPATH=str(ROOT / "src"), DOCMIND_DATA_DIR=os.devnull)
    command = [sys.executable, "-c", ROUTES]
    out = subprocess.check_output(command, text=True, cwd=ROOT, env=environment, stderr=subprocess.DEVNULL)
    made_for, found = json.loads(out.splitlines()[-1])
    return [(methods, base + path.removeprefix(made_for)) for methods, path in found]


def answers(server: Server, requests: list[list[Any]], user: int | None = None) -> list[tuple[int, bool]]:
    """Send requests from a plain client, as another user or, with `user` None, as this one.

    Returns the status of each answer, and whether the guard asked for a ticket.
    """
    python = shutil.which("python3", path="/usr/bin:/usr/local/bin") or sys.executable
    done = subprocess.run(
        [python, "-I", "-S", "-c", CLIENT],
        input=json.dumps({"port": server.port, "requests": requests}),
        capture_output=True,
        text=True,
        cwd="/",
        timeout=120,
        **({} if user is None else {"user": user, "group": user, "extra_groups": []}),
    )
    assert done.returncode == 0, done.stderr
    return [(status, is_refused) for status, is_refused in json.loads(done.stdout)]


def statuses(server: Server, requests: list[list[Any]]) -> list[int]:
    return [status for status, _ in answers(server, requests)]


def upgrade() -> list[list[str]]:
    key = base64.b64encode(secrets.token_bytes(16)).decode()
    return [
        ["Connection", "Upgrade"],
        ["Upgrade", "websocket"],
        ["Sec-WebSocket-Version", "13"],
        ["Sec-WebSocket-Key", key],
        ["Sec-WebSocket-Protocol", "streamlit"],
    ]


def all_requests(server: Server, base: str, headers: list[list[str]]) -> list[list[Any]]:
    own = [["Origin", server.url]]
    found: list[list[Any]] = []
    for methods, path in routes(base):
        if methods is None:
            found.append(["GET", path, [*upgrade(), *own, *headers]])
        else:
            found += [[method, path, [*own, *headers]] for method in methods]
    found += [
        ["GET", path, headers] for path in ("/", "/documents", "/nothing/here", f"{base}/documents/_stcore/health")
    ]
    return found


def entered(server: Server) -> tuple[str, str]:
    """Return the path of this launch and the `Cookie` header of a browser with a fresh link."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    connection.request("GET", server.link().removeprefix(server.url))
    answer = connection.getresponse()
    cookie = answer.headers["set-cookie"]
    connection.close()
    assert answer.status == 200
    return re.search(r"Path=([^;]+)", cookie)[1], cookie.partition(";")[0]  # type: ignore[index]


def anybody() -> int | None:
    """Return another user where this process may change to one; otherwise None, for this user."""
    return NOBODY if sys.platform != "win32" and os.geteuid() == 0 else None


def test_no_route_and_no_websocket_answers_without_the_cookie(server: Server) -> None:
    base, cookie = entered(server)
    wrong = [[], [["Cookie", cookie + "x"]], [["Cookie", "docmind="]], [["Authorization", cookie]]]
    accepted, asked = [], 0
    for headers in wrong:
        requests = all_requests(server, base, headers)
        asked += len(requests)
        told = answers(server, requests, anybody())
        accepted += [request for request, answer in zip(requests, told, strict=True) if answer != (403, True)]
    assert asked > 100
    assert not accepted

    requests = all_requests(server, base, [["Cookie", cookie]])
    told = answers(server, requests, anybody())
    assert not [request for request, (_, is_refused) in zip(requests, told, strict=True) if is_refused]
    assert [status for status, _ in told].count(101) == 1
    assert [status for status, _ in told].count(200) > 5


def test_the_same_client_reads_everything_where_the_token_is_off(tmp_path: Path) -> None:
    """The control: without the check of the token nothing else keeps another user out."""
    server = Server(tmp_path, DOCMIND_APP__TOKEN="off")
    server.start()
    try:
        requests = all_requests(server, "", [])
        told = answers(server, requests, anybody())
        assert not [request for request, (_, is_refused) in zip(requests, told, strict=True) if is_refused]
        assert [status for status, _ in told].count(101) == 1
    finally:
        server.stop()


def test_with_the_cookie_host_and_origin_still_decide(server: Server) -> None:
    base, cookie = entered(server)
    stream, upload = f"{base}/_stcore/stream", f"{base}/_stcore/upload_file/x/x"
    ours, own = ["Cookie", cookie], ["Origin", server.url]
    elsewhere = ["Origin", "http://127.0.0.1:1"]
    refused: list[list[Any]] = [
        ["GET", stream, [*upgrade(), ours]],
        ["GET", stream, [*upgrade(), ours, elsewhere]],
        ["GET", stream, [*upgrade(), ours, ["Origin", "null"]]],
        ["GET", stream, [*upgrade(), ours, ["Origin", f"http://localhost:{server.port}"]]],
        ["GET", stream, [*upgrade(), ours, ["Origin", server.url.replace("http", "https")]]],
        ["GET", stream, [*upgrade(), ours, own, ["Host", "evil.example"]]],
        ["GET", f"{base}/", [ours, ["Host", "evil.example"]]],
        ["GET", f"{base}/", [ours, elsewhere]],
        *[[method, upload, [ours]] for method in ("PUT", "DELETE", "OPTIONS")],
        ["PUT", upload, [ours, elsewhere]],
        ["PUT", upload, [ours, own, own]],
    ]
    assert set(statuses(server, refused)) == {403}
    assert statuses(server, [["GET", stream, [*upgrade(), ours, own]], ["GET", f"{base}/", [ours]]]) == [101, 200]


def test_an_upload_that_is_broken_off_leaves_one_line(server: Server, place: Path) -> None:
    running = find_running(place / "data")
    assert running is not None
    secret = Client(running).tokens.new("writer", scope="full").secret
    base = urlsplit(running.local).path.rstrip("/")
    head = f"POST {base}/api/v1/uploads?name=a.txt HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
    with socket.create_connection(("127.0.0.1", server.port), 20) as line:
        line.sendall(f"{head}Authorization: Bearer {secret}\r\nContent-Length: 9000\r\n\r\nsome".encode())
    until = time.monotonic() + 20
    while "broken off" not in server.log() and time.monotonic() < until:
        time.sleep(0.05)
    told = [line for line in server.log().splitlines() if "broken off" in line or "Exception" in line]
    assert told == ["WARNING docmind.api.connections: a request was broken off before all of it was there"]


def test_expired_used_and_foreign_tickets_open_nothing(server: Server, place: Path) -> None:
    running = find_running(place / "data")
    assert running is not None
    used = server.link().removeprefix(server.url)
    assert statuses(server, [["GET", used, []]]) == [200]
    tickets = [mint_ticket(running.secret, -1), mint_ticket(secrets.token_bytes(32)), "x" * 75, ""]
    requests: list[list[Any]] = [["GET", used, []], *[["GET", f"/?ticket={ticket}", []] for ticket in tickets]]
    assert set(statuses(server, requests)) == {403}


def test_another_user_learns_no_secret_from_this_machine(server: Server, place: Path) -> None:
    require(sys.platform == "linux" and os.geteuid() == 0, "becoming another user needs Linux and root")
    process = server._process
    assert process is not None
    look = (
        "import os, sys, glob\n"
        "for path in sys.argv[1:]:\n"
        "    try: open(path, 'rb').read(); print('read', path)\n"
        "    except OSError: pass\n"
        "for path in glob.glob('/proc/[0-9]*/cmdline'):\n"
        "    try: print(open(path, 'rb').read())\n"
        "    except OSError: pass\n"
    )
    closed = [str(place / "data" / "app.json"), f"/proc/{process.pid}/environ", f"/proc/{process.pid}/mem"]
    command = ["/usr/bin/python3" if Path("/usr/bin/python3").exists() else sys.executable, "-I", "-S", "-c", look]

    def looked() -> str:
        return subprocess.check_output(
            [*command, *closed], user=NOBODY, group=NOBODY, extra_groups=[], text=True, cwd="/"
        )

    seen = looked()
    assert "read /" not in seen
    assert "ticket=" not in seen
    assert "streamlit" in seen, "command lines can be read: that is why no ticket may stand in one"

    (place / "data").chmod(0o755)  # the control: with wider modes the same look finds the secret
    (place / "data" / "app.json").chmod(0o644)
    try:
        assert f"read {place / 'data' / 'app.json'}" in looked()
    finally:
        (place / "data" / "app.json").chmod(0o600)
        (place / "data").chmod(0o700)


RECORDER = """#!{python}
import json, os, sys
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname
page = Path(url2pathname(urlsplit(sys.argv[-1]).path))
with open({out!r}, "a") as file:
    file.write(json.dumps([sys.argv[1:], page.read_text(), oct(page.stat().st_mode)]) + chr(10))
"""


class Recorded:
    """A program for BROWSER that records its arguments."""

    def __init__(self, folder: Path) -> None:
        self.out, self.program = folder / "opened", folder / "browser"
        self.program.write_text(RECORDER.format(python=sys.executable, out=str(self.out)))
        self.program.chmod(0o755)

    def calls(self, *, wait_s: float = 20) -> list[Any]:
        until = time.monotonic() + wait_s
        while not self.out.exists() and time.monotonic() < until:
            time.sleep(0.1)
        time.sleep(1)  # a second window would be a fault
        return [json.loads(row) for row in self.out.read_text().splitlines()] if self.out.exists() else []


@pytest.mark.skipif(os.name == "nt", reason="the recording browser is a script")
@pytest.mark.parametrize("way", ["streamlit", "docmind app"])
def test_a_start_opens_one_window_without_naming_the_ticket(tmp_path: Path, way: str) -> None:
    browser = Recorded(tmp_path)
    server = Server(tmp_path, BROWSER=f"{browser.program} %s")
    server.options = ["--server.headless", "false"]
    if way == "docmind app":
        server.command = [sys.executable, "-m", "docmind", "app"]
    server.start()
    try:
        (call,) = browser.calls()
        words, page, mode = call
        assert len(words) == 1
        assert words[0] == (tmp_path / "data" / "open.html").as_uri()
        assert mode == oct(0o100600)
        link = re.search(r'url=(http://127\.0\.0\.1:\d+/\?ticket=[\w-]+)"', page)
        assert link, page
        assert statuses(server, [["GET", link[1].removeprefix(server.url), []]]) == [200]
        assert not (tmp_path / "data" / "open.html").exists(), "the page is gone once its ticket was used"
        printed = re.findall(r"http://\S+", server.log())
        assert len(printed) == 1
        assert statuses(server, [["GET", printed[0].removeprefix(server.url), []]]) == [200]
        assert server._process is not None
        server._process.send_signal(signal.SIGINT)  # Ctrl-C
        code = server._process.wait(60)
        assert way == "streamlit" or code == 0
        assert not (tmp_path / "data" / "app.json").exists()
    finally:
        server.stop()
    assert "Traceback" not in server.log()


@pytest.mark.skipif(os.name == "nt", reason="the recording browser is a script")
def test_a_headless_start_opens_no_window_and_open_does(tmp_path: Path) -> None:
    browser = Recorded(tmp_path)
    shell = Shell(tmp_path)
    server = Server(tmp_path, BROWSER=f"{browser.program} %s")
    result = shell.run("open", code=5)
    assert "isn't running" in result.stderr
    assert "docmind app" in result.stderr
    server.start()
    try:
        assert not browser.calls(wait_s=2)
        links = [shell.run("open", "--print").stdout.strip() for _ in range(2)]
        assert links[0] != links[1]
        assert statuses(server, [["GET", link.removeprefix(server.url), []] for link in links]) == [200, 200]
        assert not browser.calls(wait_s=1)
        told = shell.json("open", BROWSER=f"{browser.program} %s")
        assert told["opened"]
        ((words, page, _),) = browser.calls()
        assert "ticket" not in words[0]
        assert told["link"] not in page, "the printed link is another one, for the window may have used its own"
        server.kill()
        assert (tmp_path / "data" / "app.json").exists()
        shell.run("open", "--print", code=5)
        server.start()
        link = shell.run("open", "--print").stdout.strip()
        assert statuses(server, [["GET", link.removeprefix(server.url), []]]) == [200]
    finally:
        server.stop()
    shell.run("open", "--print", code=5)


def test_a_path_and_an_origin_of_a_proxy_are_served(tmp_path: Path) -> None:
    server = Server(tmp_path, DOCMIND_APP__ORIGIN="https://desk.example/")
    server.options = ["--server.baseUrlPath", "/docs/desk/"]
    server.start()
    try:
        running = find_running(tmp_path / "data")
        assert running is not None
        assert running.link().startswith("https://desk.example/docs/desk/?ticket=")
        assert Shell(tmp_path).run("open", "--print").stdout.startswith("https://desk.example/docs/desk/?ticket=")
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
        connection.request("GET", running.link().removeprefix("https://desk.example"), headers={"Host": "desk.example"})
        cookie = connection.getresponse().headers["set-cookie"]
        connection.close()
        assert cookie.endswith("; Secure")
        base = re.search(r"Path=(/docs/desk/[0-9a-f]{32});", cookie)[1]  # type: ignore[index]
        ours, host = ["Cookie", cookie.partition(";")[0]], ["Host", "desk.example"]
        stream = f"{base}/_stcore/stream"
        requests: list[list[Any]] = [
            ["GET", stream, [*upgrade(), ours, host, ["Origin", "https://desk.example"]]],
            ["GET", f"{base}/", [ours, host]],
            ["GET", stream, [*upgrade(), ours, host, ["Origin", "http://desk.example"]]],
            ["GET", stream, [*upgrade(), host, ["Origin", "https://desk.example"]]],
            ["GET", f"{base}/", [host]],
        ]
        assert statuses(server, requests) == [101, 200, 403, 403, 403]
    finally:
        server.stop()


def test_where_the_data_folder_takes_no_file_the_start_says_so(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file where the folder should be")
    server = Server(tmp_path)
    server.start()
    try:
        assert "docmind open` will not find this app" in server.log()
        printed = re.findall(r"http://\S+", server.log())
        assert statuses(server, [["GET", printed[0].removeprefix(server.url), []]]) == [200]
    finally:
        server.stop()
