"""The egress rule, which decides what addresses may be reached, and connections that enforce it.

This machine may always be reached, any other host only where the user has allowed it. A name is resolved, every address
of it is checked, and the connection uses the checked address: a later change of the name has no effect (no DNS
rebinding). Where `docmind.network` guards the process, the guard is told of that address. No proxies, no cookies,
no compressed bodies, and a limit on the bytes read. Redirects are errors, unless a caller asks to see them.
"""

from __future__ import annotations

import ipaddress
import re
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import httpx

from docmind.errors import ConfigError, EndpointRefusedError
from docmind.network.guard import network_guard
from docmind.network.ledger import network_ledger
from docmind.records.network import Purpose
from docmind.wording import _

Resolve = Callable[[str, int], Sequence[str]]
"""Returns the addresses of a host name; raises `OSError` where it has none."""
Watch = Callable[[bytes], None]
"""Called with each piece of a response's body before it is passed on; raises to refuse it."""

_USER = re.compile(r"^((?>.*?//)|(?!.*//)).*(?=@)", re.DOTALL)
_QUERY = re.compile(r"(?<=[?#]).+", re.DOTALL)
_URL = re.compile(r"(https?)://(\[[0-9a-f:.]+\]|[a-z0-9.-]+)(?::([0-9]{1,5}))?(/[a-z0-9._~/+-]*)?", re.IGNORECASE)
_NAME = re.compile(r"(?=.{1,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_ALLOWED = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9.-]+)(?::([0-9]{1,5}))?", re.IGNORECASE)
_METADATA = frozenset(
    ipaddress.ip_address(text) for text in ("fd00:ec2::254", "100.100.100.200", "192.0.0.192", "168.63.129.16")
)  # where clouds hand out credentials, beside the link-local ones
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_SENT = ("content-type", "content-length", "transfer-encoding", "accept")
_OPENED = tuple(f"connection.{way}.complete" for way in ("connect_tcp", "connect_unix_socket", "start_tls"))
_DROPPED = ("content-encoding", "set-cookie")
_CONNECT_S = 5.0

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def resolve_here(host: str, port: int) -> Sequence[str]:
    """Return the addresses to which this system resolves a name, without duplicates.

    Raises `OSError`.
    """
    with network_guard().resolving():
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(one[4][0]) for one in found))


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An address that may be reached, made only by `permit` and `at_socket`.

    `is_local` means that it names this machine. Where `socket` is set, requests go to that file's socket. `purpose` is
    what the ledger of the network says that it was contacted for.
    """

    scheme: str
    host: str
    port: int
    path: str
    is_local: bool
    socket: str = ""
    purpose: Purpose = field(default="other", compare=False)

    @property
    def label(self) -> str:
        """Host and port, as written in a URL."""
        return _label(self.host, self.port)

    @property
    def url(self) -> str:
        """The normalized URL, without a slash at its end."""
        return f"{self.scheme}://{self.label}{self.path}"

    def addresses(self, resolve: Resolve = resolve_here) -> tuple[str, ...]:
        """Return the IP addresses that may be connected to.

        Raises `EndpointRefusedError`, or `httpx.ConnectError` for an unknown name.
        """
        literal = _literal(self.host)
        if literal is not None:
            return (str(literal),)
        try:
            found = [ipaddress.ip_address(text) for text in resolve(self.host, self.port)]
        except OSError as error:
            raise httpx.ConnectError(f"{self.host} is not known") from error
        for address in found:
            if self.is_local and not address.is_loopback:
                network_ledger().refuse(self.label)
                raise EndpointRefusedError(
                    _("{host} should be this computer, but its name leads to {address}.").format(
                        host=self.host, address=address
                    ),
                    hint=_("Write 127.0.0.1 in place of the name, and look at this system's hosts file."),
                )
            _refuse_special(address, self.host, self.port)
        if not found:
            raise httpx.ConnectError(f"{self.host} has no address")
        return tuple(str(address) for address in found)


def permit(url: str, allowed: str = "", purpose: Purpose = "other") -> Endpoint:
    """Return the endpoint of a URL on this machine or on the list `allowed`.

    Nothing is resolved yet.

    `allowed` holds `name` or `name:port`, separated by commas. Raises `EndpointRefusedError`, and `ConfigError` where
    the list is malformed.
    """
    match = _URL.fullmatch(url.strip())
    if match is None:
        raise EndpointRefusedError(
            _("{url} isn't a valid address.").format(url=_short(url)),
            hint=_("Write it as http://host:port or https://host:port, without user names and question marks."),
        )
    scheme, host, path = match[1].lower(), match[2].lower().strip("[]"), (match[4] or "").rstrip("/")
    port = int(match[3] or (443 if scheme == "https" else 80))
    literal = _literal(host)
    if not 1 <= port <= 65_535 or "/../" in f"{path}/" or (literal is None and not _is_name(host)):
        raise EndpointRefusedError(
            _("{url} isn't a valid address.").format(url=_short(url)),
            hint=_("Write the host as a name or as four decimal numbers, and a port from 1 to 65535."),
        )
    if literal is not None:
        host = str(literal)
        _refuse_special(literal, host, port)
    is_local = literal.is_loopback if literal is not None else host == "localhost" or host.endswith(".localhost")
    if not is_local and not any(host == name and at in (None, port) for name, at in allow_list(allowed)):
        network_ledger().refuse(_label(host, port))
        raise EndpointRefusedError(_("{host} isn't this computer, and it isn't allowed.").format(host=host))
    return Endpoint(scheme, host, port, path, is_local, purpose=purpose)


def at_socket(file: str, path: str) -> Endpoint:
    """Return the endpoint of a server that listens on a Unix socket of this machine; `path` begins its URLs."""
    return Endpoint("http", "127.0.0.1", 80, path, True, file)


def allow_list(text: str) -> tuple[tuple[str, int | None], ...]:
    """Parse a list of allowed hosts into pairs (host, port or None for any).

    Raises `ConfigError`.
    """
    entries: list[tuple[str, int | None]] = []
    for entry in filter(None, (part.strip() for part in text.split(","))):
        match = _ALLOWED.fullmatch(entry)
        host = match[1].lower().strip("[]") if match else ""
        literal = _literal(host)
        if match is None or (literal is None and not _is_name(host)) or int(match[2] or 1) not in range(1, 65_536):
            raise ConfigError(
                _("{entry} is not a host that can be allowed.").format(entry=_short(entry)),
                hint=_("Name hosts as `name` or `name:port`, separated by commas, without http:// and without *."),
            )
        entries.append((str(literal or host), int(match[2]) if match[2] else None))
    return tuple(entries)


class TooManyBytesError(httpx.RemoteProtocolError):
    """A response has more bytes than its limit."""


class Connection(httpx.BaseTransport):
    """An httpx transport for one endpoint and one request at a time.

    A redirect is an `EndpointRefusedError`; with `returns_redirects` the caller gets it like any response. `abort` may
    be called from any thread.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        watch: Watch,
        *,
        headers: Mapping[str, str] | None = None,
        resolve: Resolve = resolve_here,
        returns_redirects: bool = False,
    ) -> None:
        self.endpoint = endpoint
        self._returns_redirects = returns_redirects
        self._watch = watch
        self._headers = dict(headers or {})
        self._resolve = resolve
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = []
        self._is_aborted = False
        # Without TLS a context without certificates is enough: it is cheap to make and would accept no server.
        needs_trust = endpoint.scheme == "https"
        trust = httpx.create_ssl_context(trust_env=False) if needs_trust else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        # The end of a connection that TLS did not announce is an error: whoever cuts it must not cut a body unseen.
        trust.wrap_socket = partial(trust.wrap_socket, suppress_ragged_eofs=False)  # type: ignore[method-assign]
        self._inner = httpx.HTTPTransport(verify=trust, trust_env=False, uds=endpoint.socket or None)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send the request to an address of the endpoint that is checked now.

        Raises `EndpointRefusedError` and httpx's errors.
        """
        url, there = request.url, self.endpoint
        asked = url.raw_host.decode("ascii")  # `host` would be what IDNA decodes to
        if (url.scheme, asked, url.port or _default_port(url.scheme)) != (there.scheme, there.host, there.port):
            network_ledger().refuse(_label(asked, url.port or _default_port(url.scheme)))
            raise EndpointRefusedError(
                _("Only {label} may be contacted, not {url}.").format(label=there.label, url=_short(str(url)))
            )
        failure = httpx.ConnectError(f"{there.label} cannot be reached")
        addresses = there.addresses(self._resolve)
        if not there.is_local:
            network_ledger().allow(there.label, there.purpose)
        for address in addresses:
            if self._is_aborted:
                break
            try:
                with self._permitted(address):
                    response = self._inner.handle_request(self._pinned(request, address))
            except (httpx.ConnectError, httpx.ConnectTimeout) as error:  # nothing was sent: try the next address
                failure = error
                continue
            return self._checked(response)
        raise failure

    def abort(self) -> None:
        """Close the connection now: a thread that reads the response gets an httpx error at once."""
        with self._lock:
            self._is_aborted = True
            for one in self._sockets:
                _hang_up(one)

    def close(self) -> None:
        self._inner.close()

    def _permitted(self, address: str) -> AbstractContextManager[None]:
        """Let this thread through the guard of the process; loopback addresses need no permit."""
        is_here = ipaddress.ip_address(address).is_loopback
        return nullcontext() if is_here else network_guard().permitted([address], self.endpoint.port)

    def _pinned(self, request: httpx.Request, address: str) -> httpx.Request:
        """Return the same request to a checked address, with the original Host and TLS name, and only known headers."""
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
            if self._returns_redirects:
                return response
            response.close()
            raise EndpointRefusedError(
                _("{label} sends the request on to another address, which is not followed.").format(
                    label=self.endpoint.label
                ),
                hint=_("Set the address to where the server really is."),
            )
        headers = [(name, value) for name, value in response.headers.multi_items() if name.lower() not in _DROPPED]
        stream = _Watched(response.stream, self._watch, self._check_not_aborted)  # type: ignore[arg-type]
        return httpx.Response(response.status_code, headers=headers, stream=stream, extensions=response.extensions)

    def _check_not_aborted(self) -> None:
        """Raise where `abort` ended the body: to a body without a length that looks like its end."""
        if self._is_aborted:
            raise httpx.ReadError(f"{self.endpoint.label} was hung up on")

    def _trace(self, event: str, info: Mapping[str, Any]) -> None:
        if event in _OPENED:
            opened = info["return_value"].get_extra_info("socket")
            with self._lock:
                self._sockets.append(opened)
                if self._is_aborted:
                    _hang_up(opened)


class _Watched(httpx.SyncByteStream):
    def __init__(self, stream: httpx.SyncByteStream, watch: Watch, at_end: Callable[[], None]) -> None:
        """`at_end` is called after the last piece, and raises where it is not the end of the body."""
        self._stream = stream
        self._watch, self._at_end = watch, at_end

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._stream:
            self._watch(piece)
            yield piece
        self._at_end()

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
    """Send one small request and return status and body: GET, or POST where there is a `body`.

    A body of bytes is sent as it is, with the `Content-Type` of `headers`, any other as JSON.

    It ends after `timeout_s` in total, even where the server sends slowly. Raises `EndpointRefusedError` and httpx's
    errors.
    """
    with limited(endpoint, timeout_s=timeout_s, max_bytes=max_bytes, headers=headers, resolve=resolve) as client:
        method, url = "GET" if body is None else "POST", f"{endpoint.url}{path}"
        if isinstance(body, bytes):
            answer = client.request(method, url, params=query, content=body)
        else:
            answer = client.request(method, url, params=query, json=body)
        return answer.status_code, answer.content


@contextmanager
def limited(
    endpoint: Endpoint,
    *,
    timeout_s: float,
    max_bytes: int,
    headers: Mapping[str, str] | None = None,
    resolve: Resolve = resolve_here,
    returns_redirects: bool = False,
) -> Iterator[httpx.Client]:
    """Give a client for one request to the endpoint; its connection is closed after `timeout_s` in total.

    A body of more than `max_bytes` is a `TooManyBytesError`.
    """
    taken = 0

    def watch(piece: bytes) -> None:
        nonlocal taken
        taken += len(piece)
        if taken > max_bytes:
            raise TooManyBytesError(f"more than {max_bytes} bytes")

    connection = Connection(endpoint, watch, headers=headers, resolve=resolve, returns_redirects=returns_redirects)
    limit = threading.Timer(timeout_s, connection.abort)
    limit.daemon = True
    limit.start()
    try:
        with httpx.Client(transport=connection, trust_env=False, timeout=timeout_s) as client:
            yield client
    finally:
        limit.cancel()


def is_public(address: Address) -> bool:
    """Return whether an address is one of the internet: neither this machine nor one of a local network."""
    if isinstance(address, ipaddress.IPv6Address) and address in _NAT64:
        address = ipaddress.IPv4Address(address.packed[-4:])
    return address.is_global


def _literal(host: str) -> Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _is_name(host: str) -> bool:
    """Return whether this is a host name.

    Its last part is no number, which systems would read as an address.
    """
    return bool(_NAME.fullmatch(host)) and not _NUMBER.fullmatch(host.rpartition(".")[2])


def _refuse_special(address: Address, host: str, port: int) -> None:
    """Raise `EndpointRefusedError` for addresses that are never allowed.

    These are link-local and metadata addresses, multicast, unspecified and reserved ones, and IPv4 embedded in IPv6.
    """
    inner = address
    if isinstance(address, ipaddress.IPv6Address):
        disguised = address.ipv4_mapped or address.sixtofour or address.teredo or address.is_site_local
        if address in _NAT64:
            inner = ipaddress.IPv4Address(address.packed[-4:])
            disguised = inner.is_loopback
    else:
        disguised = address.is_reserved or address.packed[0] == 0
    if disguised or inner.is_link_local or inner.is_multicast or inner.is_unspecified or inner in _METADATA:
        network_ledger().refuse(_label(host, port))
        told = f"{address} is" if host == str(address) else f"{host} leads to {address}, which is"
        raise EndpointRefusedError(
            _("{told} never contacted.").format(told=told), hint=_("Name a server by its own ordinary address.")
        )


def _label(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _default_port(scheme: str) -> int:
    return 443 if scheme == "https" else 80


def _hang_up(opened: socket.socket) -> None:
    with suppress(OSError):  # closed already
        socket.socket.shutdown(opened, socket.SHUT_RDWR)  # the TLS shutdown would wait for the other side


def _short(text: str) -> str:
    """Return an address as errors show it: without a user name, a password and a query, which may be secrets."""
    shown = _QUERY.sub("***", _USER.sub(r"\1***", text))[:80]
    return repr("".join(char if " " < char <= "~" else "?" for char in shown))
