"""One web page or PDF by its address: a single request for it alone, where the user has allowed that.

Nothing that the page names is fetched: no scripts, pictures, styles or frames. Redirects are followed a few times, each
checked like the first address. An address of this machine or of a local network is asked only where the user typed it:
another server there is not, whether a name or a redirect of the internet or of the typed server leads to it.
"""

from __future__ import annotations

import codecs
import ipaddress
import re
import ssl
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from email.message import Message
from urllib.parse import unquote

import httpx

from docmind.config import WebSettings
from docmind.errors import ConfigError, EndpointRefusedError, WebPageError
from docmind.network.endpoint import (
    Address,
    Endpoint,
    Resolve,
    TooManyBytesError,
    is_public,
    limited,
    permit,
    resolve_here,
)
from docmind.network.ledger import network_ledger
from docmind.rich_text import plain_line
from docmind.wording import N_, _

_REDIRECTS = 5
_LONGEST = 2_000  # characters of an address
_NAME = 100  # characters of a document's name
_HTML = ("text/html", "application/xhtml+xml")
_PDF = ("application/pdf", "application/x-pdf")
_ACCEPT = "text/html,application/xhtml+xml,application/pdf"
_LOCAL_NAMES = (".localhost", ".local", ".lan", ".internal", ".intranet", ".home", ".corp", ".home.arpa")
_BOMS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
_DECLARED = re.compile(rb"<meta[^<>]+charset|<\?xml[^<>]+encoding", re.IGNORECASE)
_CONTROLS = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_LOOKED_AT = 4_096  # bytes at the start of a page
_WRITE = N_("Write it as https://host/page, without user name and password.")


@dataclass(frozen=True, slots=True)
class WebPage:
    """A page as it was fetched: its address, a name for it as a file, its bytes, and when that was."""

    address: str
    name: str
    data: bytes = field(repr=False)
    fetched_at_ms: int


def fetch_page(
    settings: WebSettings,
    address: str,
    *,
    resolve: Resolve = resolve_here,
    is_public: Callable[[Address], bool] = is_public,
) -> WebPage:
    """Fetch a web page or a PDF with one GET, and at most five more for redirects.

    It ends after `page_timeout_s` in total, and at `max_page_mb`. A page whose encoding only the server names is
    returned in UTF-8. `is_public` replaces the rule for addresses in tests. Raises `ConfigError` where pages may not be
    fetched or this is no address; then nothing is sent. Raises `WebPageError` for anything else.
    """
    if not settings.may_fetch_pages:
        raise ConfigError(
            _("Fetching web pages is not allowed."),
            hint=_("Allow it in Settings, or run: docmind settings set web.pages on"),
        )
    typed = url = _parsed(address)
    place = _Place(url, resolve, is_public)
    ends_at = time.monotonic() + settings.page_timeout_s
    for _hop in range(_REDIRECTS + 1):
        found = _asked(url, place, ends_at, settings)
        if not isinstance(found, httpx.URL):
            is_pdf, data = found
            return WebPage(str(typed), _name(typed, is_pdf=is_pdf), data, time.time_ns() // 1_000_000)
        if url.scheme == "https" and found.scheme != "https":
            raise WebPageError(
                _("{host} sends on to an address without encryption, which is not followed.").format(host=url.host)
            )
        url = found
    raise WebPageError(_("{host} sends on too many times.").format(host=typed.host))


class _Place:
    """Decides where a hop may lead: to the internet, and to the local server that was typed until a hop has left it.

    A name of a local network must not lead to this computer: whoever answers for it there would choose which of this
    computer's servers is asked.
    """

    def __init__(self, typed: httpx.URL, resolve: Resolve, is_public: Callable[[Address], bool]) -> None:
        self._resolve, self._is_public = resolve, is_public
        self._home = _server(typed) if _names_local_host(_host(typed), is_public) else None
        self._is_home = False  # whether this hop is to the local server that was typed
        self._known: dict[str, Sequence[str]] = {}  # a name that is asked again must not lead elsewhere by then

    def endpoint(self, url: httpx.URL) -> Endpoint:
        """Return the checked endpoint of a hop. Raises `WebPageError`."""
        host = _host(url)
        written = f"[{host}]" if ":" in host else host
        port = f":{url.port}" if url.port is not None else ""
        try:
            hop = permit(f"{url.scheme}://{written}{port}", written, "web page")
        except (EndpointRefusedError, ConfigError) as error:
            raise WebPageError(str(error), hint=_(_WRITE)) from error
        self._is_home = _server(url) == self._home
        if not self._is_home:
            self._home = None
        if hop.is_local and not self._is_home:
            raise _leads_here(host, hop.label)
        with suppress(ValueError):  # a name: its addresses are checked when it is resolved
            self._check(hop, ipaddress.ip_address(host))
        return hop

    def resolver(self, hop: Endpoint) -> Resolve:
        """Return what gives the addresses of a hop's name: it raises `OSError`, and `WebPageError` for refused ones."""

        def resolve(host: str, port: int) -> Sequence[str]:
            found = self._known.get(host) or self._resolve(host, port)
            for address in found:
                self._check(hop, ipaddress.ip_address(address))
            self._known[host] = found
            return found

        return resolve

    def _check(self, hop: Endpoint, address: Address) -> None:
        if self._is_public(address):
            self._home = None
        elif not self._is_home or (address.is_loopback and not hop.is_local):
            raise _leads_here(hop.host, str(address))


def _host(url: httpx.URL) -> str:
    return url.raw_host.decode("ascii")


def _server(url: httpx.URL) -> tuple[str, int]:
    return _host(url), url.port or (443 if url.scheme == "https" else 80)


def _leads_here(host: str, address: str) -> WebPageError:
    network_ledger().refuse(host)
    told = _("{host} leads to {address}, an address of this computer or of a local network, which is not asked.")
    return WebPageError(
        told.format(host=host, address=address),
        hint=_("If the page is one of your own network, type its local address, or save it in a browser and add it."),
    )


def _asked(url: httpx.URL, place: _Place, ends_at: float, settings: WebSettings) -> tuple[bool, bytes] | httpx.URL:
    """Send one request; return whether it is a PDF and its bytes, or where a redirect leads."""
    host, most = url.host, settings.max_page_mb
    endpoint = place.endpoint(url)
    left_s = max(0.1, ends_at - time.monotonic())
    try:
        with (
            limited(
                endpoint,
                timeout_s=left_s,
                max_bytes=most << 20,
                headers={"Accept": _ACCEPT},
                resolve=place.resolver(endpoint),
                returns_redirects=True,
            ) as client,
            client.stream("GET", url) as response,
        ):
            if 300 <= response.status_code < 400:
                return _parsed(str(url.join(response.headers.get("location", ""))), is_redirect=True)
            kind, charset = _accepted(response, host)
            data = b"".join(response.iter_raw())
    except EndpointRefusedError as error:
        raise WebPageError(str(error), hint=error.hint) from error
    except TooManyBytesError as error:
        raise WebPageError(
            _("{host} sends more than {most} MB.").format(host=host, most=f"{most:,}"),
            hint=_("Raise DOCMIND_WEB__MAX_PAGE_MB, or save the page in a browser and add the file."),
        ) from error
    except (httpx.HTTPError, httpx.InvalidURL, ssl.SSLError) as error:
        if isinstance(error, httpx.TimeoutException) or time.monotonic() >= ends_at:
            told = _("{host} does not answer in time.")
        elif "certificate" in str(error).lower():
            told = _("{host} cannot prove that it is {host}: its certificate is not trusted.")
        else:
            told = _("{host} cannot be reached.")
        raise WebPageError(
            told.format(host=host), hint=_("Check the address and the network, then try again.")
        ) from error
    is_pdf = b"%PDF-" in data[:1_024]
    if is_pdf != (kind in _PDF) or (not is_pdf and _is_binary(data)):
        raise WebPageError(
            _("{host} sends something else than it says: neither a web page nor a PDF.").format(host=host)
        )
    return is_pdf, data if is_pdf else _readable(data, charset)


def _accepted(response: httpx.Response, host: str) -> tuple[str, str]:
    """Return type and character set of the body that follows. Raises `WebPageError` where it is not wanted."""
    if response.status_code != 200:
        told = {
            401: _("{host} asks for a login, so the page can't be fetched."),
            403: _("{host} refuses to give the page."),
            404: _("{host} has no such page."),
            410: _("{host} has no such page any more."),
            429: _("{host} accepts no more requests for now."),
        }.get(response.status_code, _("{host} answers with status {status}."))
        raise WebPageError(told.format(host=host, status=response.status_code))
    header = Message()
    header["content-type"] = response.headers.get("content-type", "")
    kind = header.get_content_type() if header["content-type"] else ""
    if kind not in (*_HTML, *_PDF):
        named = plain_line(kind, 60) or _("a file without a type")
        raise WebPageError(
            _("{host} sends {kind}; only web pages (HTML) and PDF can be added by address.").format(
                host=host, kind=named
            ),
            hint=_("Download the file in a browser and add it."),
        )
    return kind, str(header.get_param("charset", ""))


def _is_binary(data: bytes) -> bool:
    """Return whether this is no text of any encoding that pages have."""
    return not data.startswith(_BOMS) and bool(_CONTROLS.search(data[:_LOOKED_AT]))


def _readable(data: bytes, charset: str) -> bytes:
    """Return a page so that its encoding is known without the server's header: in UTF-8 where only that names it."""
    if not charset or data.startswith(_BOMS) or _DECLARED.search(data[:_LOOKED_AT]):
        return data
    try:
        if codecs.lookup(charset).name in ("utf-8", "ascii"):
            return data
        return _BOMS[0] + data.decode(charset).encode("utf-8")
    except (LookupError, ValueError):  # the header is wrong: the reader finds out by itself
        return data


def _parsed(address: str, *, is_redirect: bool = False) -> httpx.URL:
    """Return an address without its fragment. Raises `ConfigError`, or `WebPageError` for that of a redirect."""
    text = address.strip()
    try:
        url = httpx.URL(text)
        host = url.raw_host.decode("ascii")
    except (httpx.InvalidURL, UnicodeError, ValueError):
        url, host = httpx.URL(), ""
    is_whole = url.scheme in ("http", "https") and host and not url.userinfo and len(text) <= _LONGEST
    if not is_whole or not text.isprintable():
        told = _("{address} isn't an address of a web page.").format(address=plain_line(text, 80) or "''")
        raise WebPageError(told) if is_redirect else ConfigError(told, hint=_(_WRITE))
    return url.copy_with(fragment=None)


def _names_local_host(host: str, is_public: Callable[[Address], bool]) -> bool:
    """Return whether a host is one of this machine or of a local network by what it is called."""
    try:
        return not is_public(ipaddress.ip_address(host))
    except ValueError:
        name = host.lower().rstrip(".")
        return "." not in name or name.endswith(_LOCAL_NAMES)


def _name(url: httpx.URL, *, is_pdf: bool) -> str:
    """Return a name of the page as a file: its host and the last part of its path."""
    last = unquote(url.path.rstrip("/").rpartition("/")[2])
    host = url.host.removeprefix("www.")
    stem, dot, suffix = last.rpartition(".")
    if dot and suffix.lower() in (("pdf",) if is_pdf else ("html", "htm", "xhtml", "php", "asp", "aspx", "jsp")):
        last = stem
    safe = "".join(" " if char in '/\\:*?"<>|' else char for char in f"{host} {last}")
    return f"{plain_line(safe, _NAME).strip('. ')}.{'pdf' if is_pdf else 'html'}"
