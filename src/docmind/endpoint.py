"""The one place that decides which addresses may be reached, and a connection that reaches no other.

This machine may always be asked, any other host only where the user has allowed it. A name is resolved, every address
it has is checked, and the connection goes to the address that was checked: a name that changes its mind in between
gains nothing. No redirects, no proxies, no cookies, no compressed bodies, a bound on what is read.
"""

from __future__ import annotations

import ipaddress
import re
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import httpx

from docmind.errors import ConfigError, EndpointRefusedError

Resolve = Callable[[str, int], Sequence[str]]
"""The addresses of a host name; raises `OSError` where it has none."""
Watch = Callable[[bytes], None]
"""Sees every piece of a response's body before anybody else does, and raises what it does not let pass."""

_URL = re.compile(r"(https?)://(\[[0-9a-f:.]+\]|[a-z0-9.-]+)(?::([0-9]{1,5}))?(/[a-z0-9._~/+-]*)?", re.IGNORECASE)
_NAME = re.compile(r"(?=.{1,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_ALLOWED = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9.-]+)(?::([0-9]{1,5}))?", re.IGNORECASE)
_METADATA = frozenset(
    ipaddress.ip_address(text) for text in ("fd00:ec2::254", "100.100.100.200", "192.0.0.192", "168.63.129.16")
)  # where clouds hand out credentials, beside the link-local ones
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_SENT = ("content-type", "content-length", "transfer-encoding", "accept")
_DROPPED = ("content-encoding", "set-cookie")
_CONNECT_S = 5.0

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def resolve_here(host: str, port: int) -> Sequence[str]:
    """The addresses that this system gives to a name, without repeats."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(one[4][0]) for one in found))


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An address that may be asked: made by `permit` alone. `is_local`: it names this machine."""

    scheme: str
    host: str
    port: int
    path: str
    is_local: bool

    @property
    def label(self) -> str:
        """Host and port, as they stand in an address."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def url(self) -> str:
        """The address in its plainest spelling, without a slash at its end."""
        return f"{self.scheme}://{self.label}{self.path}"

    def addresses(self, resolve: Resolve = resolve_here) -> tuple[str, ...]:
        """Where the connection may go. Raises `EndpointRefusedError`, or `httpx.ConnectError` for an unknown name."""
        literal = _literal(self.host)
        if literal is not None:
            return (str(literal),)
        try:
            found = [ipaddress.ip_address(text) for text in resolve(self.host, self.port)]
        except OSError as error:
            raise httpx.ConnectError(f"{self.host} is not known") from error
        for address in found:
            if self.is_local and not address.is_loopback:
                raise EndpointRefusedError(
                    f"{self.host} should be this machine, but its name leads to {address}.",
                    hint="Write 127.0.0.1 in place of the name, and look at this system's hosts file.",
                )
            _refuse_special(address, self.host)
        if not found:
            raise httpx.ConnectError(f"{self.host} has no address")
        return tuple(str(address) for address in found)


def permit(url: str, allowed: str = "") -> Endpoint:
    """The endpoint behind an address, if it is on this machine or on the list `allowed` (`name` or `name:port`, by
    commas). Nothing is resolved yet. Raises `EndpointRefusedError`; `ConfigError` where the list is none."""
    match = _URL.fullmatch(url.strip())
    if match is None:
        raise EndpointRefusedError(
            f"{_short(url)} is not an address that can be asked.",
            hint="Write it as http://host:port or https://host:port, without user names and question marks.",
        )
    scheme, host, path = match[1].lower(), match[2].lower().strip("[]"), (match[4] or "").rstrip("/")
    port = int(match[3] or (443 if scheme == "https" else 80))
    literal = _literal(host)
    if not 1 <= port <= 65_535 or "/../" in f"{path}/" or (literal is None and not _is_name(host)):
        raise EndpointRefusedError(
            f"{_short(url)} is not an address that can be asked.",
            hint="Write the host as a name or as four decimal numbers, and a port from 1 to 65535.",
        )
    if literal is not None:
        host = str(literal)
        _refuse_special(literal, host)
    is_local = literal.is_loopback if literal is not None else host == "localhost" or host.endswith(".localhost")
    if not is_local and not any(host == name and at in (None, port) for name, at in allow_list(allowed)):
        raise EndpointRefusedError(f"{host} is not this machine, and it is not allowed.")
    return Endpoint(scheme, host, port, path, is_local)


def allow_list(text: str) -> tuple[tuple[str, int | None], ...]:
    """(host, port or None for any) of each entry. Raises `ConfigError`."""
    entries: list[tuple[str, int | None]] = []
    for entry in filter(None, (part.strip() for part in text.split(","))):
        match = _ALLOWED.fullmatch(entry)
        host = match[1].lower().strip("[]") if match else ""
        literal = _literal(host)
        if match is None or (literal is None and not _is_name(host)) or int(match[2] or 1) not in range(1, 65_536):
            raise ConfigError(
                f"{_short(entry)} is not a host that can be allowed.",
                hint="Name hosts as `name` or `name:port`, separated by commas, without http:// and without *.",
            )
        entries.append((str(literal or host), int(match[2]) if match[2] else None))
    return tuple(entries)


class Connection(httpx.BaseTransport):
    """The transport of one client, for one endpoint and one request at a time. Any thread may call `abort`."""

    def __init__(
        self,
        endpoint: Endpoint,
        watch: Watch,
        *,
        headers: Mapping[str, str] | None = None,
        resolve: Resolve = resolve_here,
    ) -> None:
        self.endpoint = endpoint
        self._watch = watch
        self._headers = dict(headers or {})
        self._resolve = resolve
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = []
        self._is_aborted = False
        # A context without certificates costs nothing, and lets nobody pass where there should be no TLS at all.
        needs_trust = endpoint.scheme == "https"
        trust = httpx.create_ssl_context(trust_env=False) if needs_trust else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._inner = httpx.HTTPTransport(verify=trust, trust_env=False)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Ask the endpoint by an address that is checked now. Raises `EndpointRefusedError` and httpx's errors."""
        url, there = request.url, self.endpoint
        if (url.scheme, url.host, url.port or _default_port(url.scheme)) != (there.scheme, there.host, there.port):
            raise EndpointRefusedError(f"Only {there.label} may be asked here, not {_short(str(url))}.")
        failure = httpx.ConnectError(f"{there.label} cannot be reached")
        for address in there.addresses(self._resolve):
            if self._is_aborted:
                break
            try:
                response = self._inner.handle_request(self._pinned(request, address))
            except (httpx.ConnectError, httpx.ConnectTimeout) as error:  # nothing was sent: the next address may do
                failure = error
                continue
            return self._checked(response)
        raise failure

    def abort(self) -> None:
        """Hang up now: whoever reads the response gets an httpx error at once."""
        with self._lock:
            self._is_aborted = True
            for one in self._sockets:
                _hang_up(one)

    def close(self) -> None:
        self._inner.close()

    def _pinned(self, request: httpx.Request, address: str) -> httpx.Request:
        """The same request to a checked address: Host and TLS server name stay, and headers are those named here."""
        there = self.endpoint
        host = there.label if there.port != _default_port(there.scheme) else there.label.rpartition(":")[0]
        headers = {"Host": host, "User-Agent": "docmind", "Accept-Encoding": "identity", "Connection": "close"}
        headers |= {name: request.headers[name] for name in _SENT if name in request.headers} | self._headers
        extensions: dict[str, Any] = {**request.extensions, "trace": self._trace}
        if there.scheme == "https" and _literal(there.host) is None:
            extensions["sni_hostname"] = there.host
        pinned = request.url.copy_with(host=address)
        return httpx.Request(request.method, pinned, headers=headers, stream=request.stream, extensions=extensions)

    def _checked(self, response: httpx.Response) -> httpx.Response:
        if 300 <= response.status_code < 400:
            response.close()
            raise EndpointRefusedError(
                f"{self.endpoint.label} sends the request on to another address, which is not followed.",
                hint="Set the address to where the server really is.",
            )
        headers = [(name, value) for name, value in response.headers.multi_items() if name.lower() not in _DROPPED]
        stream = _Watched(response.stream, self._watch)  # type: ignore[arg-type]
        return httpx.Response(response.status_code, headers=headers, stream=stream, extensions=response.extensions)

    def _trace(self, event: str, info: Mapping[str, Any]) -> None:
        if event in ("connection.connect_tcp.complete", "connection.start_tls.complete"):
            opened = info["return_value"].get_extra_info("socket")
            with self._lock:
                self._sockets.append(opened)
                if self._is_aborted:
                    _hang_up(opened)


class _Watched(httpx.SyncByteStream):
    def __init__(self, stream: httpx.SyncByteStream, watch: Watch) -> None:
        self._stream = stream
        self._watch = watch

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._stream:
            self._watch(piece)
            yield piece

    def close(self) -> None:
        self._stream.close()


def fetch(
    endpoint: Endpoint,
    path: str,
    *,
    timeout_s: float,
    max_bytes: int,
    body: Any = None,
    query: Mapping[str, str] | None = None,
    headers: Mapping[str, str] | None = None,
    resolve: Resolve = resolve_here,
) -> tuple[int, bytes]:
    """Status and body of one small request: GET, or POST where there is a `body` (sent as JSON). Over after
    `timeout_s`, however slowly the server drips. Raises `EndpointRefusedError` and httpx's errors."""
    taken = 0

    def watch(piece: bytes) -> None:
        nonlocal taken
        taken += len(piece)
        if taken > max_bytes:
            raise httpx.RemoteProtocolError(f"more than {max_bytes} bytes")

    connection = Connection(endpoint, watch, headers=headers, resolve=resolve)
    limit = threading.Timer(timeout_s, connection.abort)
    limit.daemon = True
    limit.start()
    try:
        with httpx.Client(transport=connection, trust_env=False, timeout=timeout_s) as client:
            method = "GET" if body is None else "POST"
            answer = client.request(method, f"{endpoint.url}{path}", params=query, json=body)
            return answer.status_code, answer.content
    finally:
        limit.cancel()


def _literal(host: str) -> Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _is_name(host: str) -> bool:
    """A host name; its last part is no number, or systems would read it as an address in another spelling."""
    return bool(_NAME.fullmatch(host)) and not _NUMBER.fullmatch(host.rpartition(".")[2])


def _refuse_special(address: Address, host: str) -> None:
    """Never: link-local and metadata addresses, multicast, unspecified and reserved ones, IPv4 in an IPv6 disguise."""
    inner = address
    if isinstance(address, ipaddress.IPv6Address):
        disguised = address.ipv4_mapped or address.sixtofour or address.teredo or address.is_site_local
        if address in _NAT64:
            inner = ipaddress.IPv4Address(address.packed[-4:])
            disguised = inner.is_loopback
    else:
        disguised = address.is_reserved or address.packed[0] == 0
    if disguised or inner.is_link_local or inner.is_multicast or inner.is_unspecified or inner in _METADATA:
        told = f"{address} is" if host == str(address) else f"{host} leads to {address}, which is"
        raise EndpointRefusedError(f"{told} never asked.", hint="Name a server by its own ordinary address.")


def _default_port(scheme: str) -> int:
    return 443 if scheme == "https" else 80


def _hang_up(opened: socket.socket) -> None:
    with suppress(OSError):  # it is closed already
        socket.socket.shutdown(opened, socket.SHUT_RDWR)  # TLS's own shutdown would wait for the other side


def _short(text: str) -> str:
    return repr("".join(char if " " < char <= "~" else "?" for char in text[:80]))
