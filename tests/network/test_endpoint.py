"""What may be reached and what may not, and that a connection goes where it was checked."""

from __future__ import annotations

import contextlib
import datetime as dt
import ipaddress
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import httpx
import pytest

from docmind.errors import ConfigError, EndpointRefusedError
from docmind.network.endpoint import Connection, Endpoint, Resolve, allow_list, fetch, permit, resolve_here
from each import each_of
from llm_server import Behaviour, LLMServer, serving

ALLOWED = "models.example, gpu.example:8443, [2001:db8::7]:80, 10.0.0.9"


@pytest.fixture
def server() -> Iterator[LLMServer]:
    with serving() as one:
        yield one


def leading_to(*addresses: str) -> tuple[list[str], Resolve]:
    """Return the list of requested names, and a resolver that gives these addresses, one set per call."""
    asked: list[str] = []
    turns = [address.split(",") for address in addresses]

    def resolve(host: str, port: int) -> Sequence[str]:
        asked.append(host)
        return turns[min(len(asked), len(turns)) - 1]

    return asked, resolve


@each_of(
    "url, plain",
    [
        ("http://127.0.0.1:11434", "http://127.0.0.1:11434"),
        ("http://127.8.9.10", "http://127.8.9.10:80"),
        ("http://localhost:8080/v1/", "http://localhost:8080/v1"),
        ("HTTP://LocalHost:8080", "http://localhost:8080"),
        ("http://ollama.localhost:1", "http://ollama.localhost:1"),
        ("http://[::1]:8080/v1", "http://[::1]:8080/v1"),
        ("http://[0:0:0:0:0:0:0:1]", "http://[::1]:80"),
        ("https://127.0.0.1", "https://127.0.0.1:443"),
    ],
)
def test_this_machine_may_be_asked(url: str, plain: str) -> None:
    endpoint = permit(url)
    assert endpoint.url == plain
    assert endpoint.is_local


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://models.example:9/v1", "models.example"),
        ("https://MODELS.example", "models.example"),
        ("https://gpu.example:8443", "gpu.example"),
        ("http://[2001:DB8::7]", "2001:db8::7"),
        ("http://10.0.0.9:11434", "10.0.0.9"),
    ],
)
def test_allowed_hosts_may_be_asked(url: str, host: str) -> None:
    endpoint = permit(url, ALLOWED)
    assert endpoint.host == host
    assert not endpoint.is_local


@each_of(
    "url",
    [
        "http://models.example.evil.example",
        "http://evil.example/models.example",
        "https://gpu.example",
        "http://gpu.example:8444",
        "http://10.0.0.10",
        "http://[2001:db8::7]:81",
        "http://192.168.0.1:11434",
        "http://localhost.evil.example",
        "http://notlocalhost",
    ],
)
def test_other_hosts_are_refused(url: str) -> None:
    with pytest.raises(EndpointRefusedError, match="it isn't allowed") as caught:
        permit(url, ALLOWED)
    assert "DOCMIND_LLM__ALLOWED_HOSTS" in caught.value.hint


@each_of(
    "url",
    [
        "",
        "models.example",
        "ftp://127.0.0.1",
        "file:///etc/passwd",
        "unix:///run/x",
        "http://",
        "http://user@127.0.0.1",
        "http://user:pw@127.0.0.1",
        "http://127.0.0.1@models.example",
        "http://models.example\\@127.0.0.1",
        "http://127.0.0.1:0",
        "http://127.0.0.1:65536",
        "http://127.0.0.1:",
        "http://127.0.0.1:+80",
        "http://127.0.0.1:８０",
        "http://127.0.0.1:80:80",
        "http://127.0.0.1?x",
        "http://127.0.0.1#x",
        "http://127.0.0.1/a b",
        "http://127.0.0.1/../x",
        "http://127.0.0.1/%2e%2e",
        "http://127.0.0.1\r\nHost: evil",
        "http://2130706433",
        "http://0x7f.1",
        "http://0x7f000001",
        "http://0177.0.0.1",
        "http://127.1",
        "http://127.0.0.01",
        "http://127.0.0.1.",
        "http://１２７.0.0.1",
        "http://[::ffff:127.0.0.1]",
        "http://[::ffff:7f00:1]",
        "http://[fe80::1%25eth0]",
        "http://[::1",
        "http://::1",
        "http://mod els.example",
        "http://modèles.example",
        "http://-x.example",
        "http://a..b",
        "http://" + "a" * 64 + ".example",
    ],
)
def test_odd_addresses_are_refused(url: str) -> None:
    with pytest.raises(EndpointRefusedError) as caught:
        permit(url, ALLOWED)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 200


@each_of(
    "host",
    [
        "169.254.169.254",
        "0.0.0.0",
        "0.1.2.3",
        "224.0.0.1",
        "255.255.255.255",
        "240.0.0.1",
        "100.100.100.200",
        "192.0.0.192",
        "168.63.129.16",
        "[::]",
        "[fe80::1]",
        "[ff02::1]",
        "[fd00:ec2::254]",
        "[::ffff:169.254.169.254]",
        "[2002:a9fe:a9fe::1]",
        "[64:ff9b::a9fe:a9fe]",
        "[64:ff9b::7f00:1]",
        "[fec0::1]",
    ],
)
def test_special_addresses_are_never_asked_even_if_allowed(host: str) -> None:
    with pytest.raises(EndpointRefusedError):
        permit(f"http://{host}:80", host)
    _, resolve = leading_to(host.strip("[]"))
    with pytest.raises(EndpointRefusedError, match=r"models\.example leads to"):
        permit("http://models.example", ALLOWED).addresses(resolve)


@each_of(
    "entry", ["http://models.example", "*.example", "models.example:0", "models.example:x", "a b", "0x7f.1", "x:1:2"]
)
def test_a_list_with_what_is_no_host_is_told(entry: str) -> None:
    with pytest.raises(ConfigError, match="not a host that can be allowed"):
        allow_list(f"models.example, {entry}")


def test_a_loopback_name_that_leads_elsewhere_is_refused() -> None:
    _, resolve = leading_to("127.0.0.1,192.168.0.7")
    with pytest.raises(EndpointRefusedError, match="should be this computer"):
        permit("http://localhost:11434").addresses(resolve)


def test_one_bad_address_among_good_ones_refuses_the_name() -> None:
    _, resolve = leading_to("10.0.0.9,169.254.169.254")
    with pytest.raises(EndpointRefusedError):
        permit("http://models.example", ALLOWED).addresses(resolve)


def test_an_unknown_name_cannot_be_reached() -> None:
    def resolve(host: str, port: int) -> Sequence[str]:
        raise socket.gaierror(-2, "Name or service not known")

    with pytest.raises(httpx.ConnectError):
        permit("http://models.example", ALLOWED).addresses(resolve)
    with pytest.raises(httpx.ConnectError):
        permit("http://models.example", ALLOWED).addresses(lambda host, port: [])


def test_localhost_resolves_on_this_system() -> None:
    assert {ipaddress.ip_address(one).is_loopback for one in permit("http://localhost").addresses(resolve_here)} == {
        True
    }


# --- connections ------------------------------------------------------------------------------------------------------


def get(endpoint: Endpoint, resolve: Resolve, path: str = "/v1/models") -> tuple[int, bytes]:
    return fetch(endpoint, path, timeout_s=5, max_bytes=10_000, resolve=resolve)


def test_a_name_that_changes_its_mind_gains_nothing(server: LLMServer, outbound: list[str]) -> None:
    asked, resolve = leading_to("127.0.0.1", "169.254.169.254")
    endpoint = permit(f"http://models.example:{server.port}", ALLOWED)
    assert get(endpoint, resolve)[0] == 200  # resolved once, checked, and connected to that very address
    assert asked == ["models.example"]
    assert server.received[-1].headers["host"] == f"models.example:{server.port}"
    with pytest.raises(EndpointRefusedError):  # the next request sees the new address, and refuses it
        get(endpoint, resolve)
    assert len(server.received) == 1
    assert not outbound


def test_the_second_address_is_tried_where_the_first_is_deaf(server: LLMServer) -> None:
    _, resolve = leading_to("127.0.0.2,127.0.0.1")
    assert get(permit(f"http://localhost:{server.port}"), resolve)[0] == 200


def test_redirects_are_not_followed(server: LLMServer) -> None:
    with serving() as other:
        for status in (301, 302, 303, 307, 308):
            server.queue(Behaviour("redirect", location=f"{other.url}/v1/chat/completions", status=status))
            with pytest.raises(EndpointRefusedError, match="not followed"):
                fetch(permit(server.url), "/v1/chat/completions", timeout_s=5, max_bytes=100, body={})
        assert not other.received


def test_proxies_and_cookies_of_the_environment_are_not_used(
    server: LLMServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert get(permit(server.url), resolve_here)[0] == 200


def test_only_named_headers_leave(server: LLMServer) -> None:
    connection = Connection(permit(server.url), lambda piece: None, headers={"Authorization": "Bearer k"})
    with httpx.Client(transport=connection, cookies={"a": "b"}, headers={"X-Stainless-OS": "x"}) as client:
        client.get(f"{server.url}/v1/models", headers={"Authorization": "Bearer of the environment", "Accept": "x/y"})
    assert set(server.received[-1].headers) == {
        "host", "user-agent", "accept-encoding", "connection", "accept", "authorization",
    }  # fmt: skip
    assert server.received[-1].headers["authorization"] == "Bearer k"


def test_a_connection_reaches_its_own_endpoint_alone(server: LLMServer) -> None:
    with serving() as other:
        connection = Connection(permit(server.url), lambda piece: None)
        with httpx.Client(transport=connection) as client, pytest.raises(EndpointRefusedError):
            client.get(f"{other.url}/v1/models")
        assert not other.received


def test_a_body_is_read_up_to_its_bound(server: LLMServer) -> None:
    server.listing = b"x" * 20_000
    with pytest.raises(httpx.RemoteProtocolError, match="more than 10000 bytes"):
        get(permit(server.url), resolve_here)


def test_a_server_that_drips_is_left_after_the_limit() -> None:
    """A byte of the head now and then keeps every single read alive; the whole is over in time all the same."""
    with _listening() as (port, accepted):
        threading.Thread(target=_drip, args=(accepted,), daemon=True).start()
        started = time.monotonic()
        with pytest.raises(httpx.HTTPError):
            fetch(permit(f"http://127.0.0.1:{port}"), "/", timeout_s=0.4, max_bytes=100)
        assert time.monotonic() - started < 5


def test_a_body_without_a_length_that_is_left_at_the_limit_is_no_whole_body() -> None:
    with _listening() as (port, accepted):
        threading.Thread(target=_drip_body, args=(accepted,), daemon=True).start()
        with pytest.raises(httpx.ReadError):
            fetch(permit(f"http://127.0.0.1:{port}"), "/", timeout_s=0.4, max_bytes=10_000)


@pytest.mark.parametrize("is_announced", [True, False])
def test_a_body_without_a_length_ends_where_tls_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_announced: bool
) -> None:
    certificate = _certificate("models.example", tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    trust = ssl.create_default_context(cafile=str(certificate))
    monkeypatch.setattr(httpx, "create_ssl_context", lambda **_: trust)
    with _listening() as (port, accepted):

        def serve() -> None:
            with contextlib.suppress(OSError), accepted() as raw:
                secured = context.wrap_socket(raw, server_side=True)
                secured.recv(10_000)
                secured.sendall(b"HTTP/1.1 200 OK\r\n\r\nThe first clause.")
                if is_announced:
                    secured.unwrap()
                secured.close()

        threading.Thread(target=serve, daemon=True).start()
        _, resolve = leading_to("127.0.0.1")
        there = permit(f"https://models.example:{port}", ALLOWED)
        if is_announced:
            assert fetch(there, "/", timeout_s=20, max_bytes=100, resolve=resolve) == (200, b"The first clause.")
        else:
            with pytest.raises(httpx.ReadError):
                fetch(there, "/", timeout_s=20, max_bytes=100, resolve=resolve)


def test_abort_ends_a_read_that_waits(server: LLMServer) -> None:
    server.queue(Behaviour("silent"))
    connection = Connection(permit(server.url), lambda piece: None)
    threading.Timer(0.2, connection.abort).start()
    with httpx.Client(transport=connection, timeout=60) as client, pytest.raises(httpx.TransportError):
        client.post(f"{server.url}/v1/chat/completions", json={})
    assert server.received[-1].was_closed.wait(5)
    with httpx.Client(transport=connection) as client, pytest.raises(httpx.ConnectError):
        client.get(f"{server.url}/v1/models")


def test_tls_asks_for_the_name_and_trusts_no_stranger(tmp_path: Path) -> None:
    seen: list[str | None] = []
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(_certificate("models.example", tmp_path))
    context.sni_callback = lambda sock, name, ctx: seen.append(name)  # type: ignore[assignment]
    with _listening() as (port, accepted):

        def shake() -> None:
            with contextlib.suppress(OSError):
                context.wrap_socket(accepted(), server_side=True)

        threading.Thread(target=shake, daemon=True).start()
        _, resolve = leading_to("127.0.0.1")
        with pytest.raises(httpx.ConnectError, match="certificate"):
            get(permit(f"https://models.example:{port}", ALLOWED), resolve)
    assert seen == ["models.example"]


@contextlib.contextmanager
def _listening() -> Iterator[tuple[int, Callable[[], socket.socket]]]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1], lambda: listener.accept()[0]


def _drip(accepted: Callable[[], socket.socket]) -> None:
    with contextlib.suppress(OSError), accepted() as connection:
        for byte in b"HTTP/1.1 200 OK\r\nX-Long: " + b"a" * 1000:
            connection.sendall(bytes([byte]))
            time.sleep(0.05)


def _drip_body(accepted: Callable[[], socket.socket]) -> None:
    with contextlib.suppress(OSError), accepted() as connection:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>The first clause.</p>")
        for _ in range(200):
            connection.sendall(b".")
            time.sleep(0.05)


def _certificate(name: str, folder: Path) -> Path:
    """Write a self-signed certificate and its key to one file."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = dt.datetime.now(dt.UTC)
    built = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    path = folder / "server.pem"
    path.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        + built.public_bytes(serialization.Encoding.PEM)
    )
    return path


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://user:secret@127.0.0.1:4318/v1", "http://***@127.0.0.1:4318/v1"),
        ("http://user:sec/ret@127.0.0.1", "http://***@127.0.0.1"),
        ("http://127.0.0.1/v1?key=secret#secret", "http://127.0.0.1/v1?***"),
        ("user:secret@127.0.0.1", "***@127.0.0.1"),
    ],
)
def test_an_error_repeats_no_password_of_an_address(url: str, shown: str) -> None:
    with pytest.raises(EndpointRefusedError) as refused:
        permit(url)
    assert str(refused.value) == f"'{shown}' isn't a valid address."
