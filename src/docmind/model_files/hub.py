"""HTTP client of a model hub: the files of a repository at one commit, and the bytes of one file; or of one address.

The only module in DocMind that connects to a hub. Connections are those of `docmind.network.endpoint`: no proxies, no
cookies, no compressed bodies. A redirect is followed to https only (or back to a hub on this machine), a few times.
Answers of a hub are untrusted: names, sizes and checksums are checked before they are used.
"""

from __future__ import annotations

import json
import re
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urljoin, urlsplit

import httpx

from docmind.errors import ConfigError, DocMindError, DownloadError, EndpointRefusedError
from docmind.model_files.checkpoint import is_wanted
from docmind.network import Connection, Endpoint, permit
from docmind.wording import _

_REDIRECTS = 5
_CONNECT_S, _SILENCE_S = 10.0, 60.0
_LOOK_S = 0.2
_LIST_BYTES = 8 << 20
_NAMES, _WANTED = 2_000, 100
MOST_BYTES = 64_000_000_000
"""Upper bound: no model that could run here is larger."""

_WRITE_HTTPS = "Write it as https://host/FILE.gguf, without user name and password."
_COMMIT = re.compile(r"[0-9a-f]{40}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_UNSAFE = re.compile(r'[\x00-\x1f\x7f\\:*?"<>|]|^/|^~|(^|/)\.{0,2}(/|$)')


@dataclass(frozen=True, slots=True)
class HubFile:
    """A file of a model.

    `sha256` is known of files in large file storage, `blob` (git's SHA-1) of the others; both are empty where the hub
    gives neither.
    """

    name: str
    size: int
    sha256: str = ""
    blob: str = ""
    path: str = ""
    """Where it lies in the repository, where that is not `name`."""


@dataclass(frozen=True, slots=True)
class Listing:
    """The wanted files of a repository at one commit, by name."""

    commit: str
    files: tuple[HubFile, ...]
    is_adapter: bool

    @property
    def bytes(self) -> int:
        return sum(file.size for file in self.files)


class Hub:
    """The hub at one address. One request at a time.

    `check` is also called while a server is silent, from another thread; what it raises is raised by the waiting call.
    """

    _setting, _kind = "DOCMIND_VISUAL__HUB_URL", "a model hub"

    def __init__(self, url: str, check: Callable[[], None]) -> None:
        """Check the address. Raises `ConfigError` unless it is https, or on this machine."""
        try:
            self._root = _permitted(url.strip())
        except (EndpointRefusedError, ConfigError, ValueError) as error:
            raise ConfigError(
                _("DOCMIND_VISUAL__HUB_URL is not an address that can be asked."), hint=_("Write it as https://host.")
            ) from error
        if self._root.scheme != "https" and not self._root.is_local:
            raise ConfigError(
                _("The hub at {host} would be asked without encryption.").format(host=self._root.host),
                hint=_("Write DOCMIND_VISUAL__HUB_URL with https://."),
            )
        self.host = self._root.host
        self._check = check

    def listing(self, repository: str, revision: str, is_part: Callable[[str], bool] = is_wanted) -> Listing:
        """Return the files of the repository whose names belong to the model. Raises `DownloadError`."""
        url = f"{self._root.url}/api/models/{quote(repository)}/revision/{quote(revision, safe='')}?blobs=true"
        with self._asked(url, {}, repository) as response:
            body = bytearray()
            for piece in self._pieces(response):
                body += piece
                if len(body) > _LIST_BYTES:
                    raise self._odd()
        try:
            told = json.loads(body)
        except (ValueError, RecursionError) as error:
            raise self._odd() from error
        return self._read_listing(told, repository, is_part)

    @contextmanager
    def opened(self, repository: str, commit: str, file: HubFile, start: int) -> Iterator[tuple[int, Iterator[bytes]]]:
        """Open a file from `start` on: give the real start, 0 where the server sends the whole file, and the bytes.

        Raises `DownloadError`, also while the bytes are read.
        """
        url = self._address(repository, commit, file)
        headers = {"Range": f"bytes={start}-"} if start else {}
        with self._asked(url, headers, f"{repository}/{file.name}".lstrip("/"), start=start) as response:
            if response.status_code != 416:
                begins = _begin(response, start, file.size)
                if begins is None or response.headers.get("content-type", "").startswith("text/html"):
                    raise self._odd()
                yield begins, self._pieces(response)
                return
        with self.opened(repository, commit, file, 0) as whole:  # what is here is no beginning of what is there
            yield whole

    def _address(self, repository: str, commit: str, file: HubFile) -> str:
        return f"{self._root.url}/{quote(repository)}/resolve/{commit}/{quote(file.path or file.name)}"

    @contextmanager
    def _asked(self, url: str, headers: Mapping[str, str], what: str, *, start: int = 0) -> Iterator[httpx.Response]:
        """Follow the redirects and give the final response, its body not read yet."""
        timeout = httpx.Timeout(_SILENCE_S, connect=_CONNECT_S)
        for _hop in range(_REDIRECTS + 1):
            try:
                hop = next_hop(self._root, url)
            except EndpointRefusedError as error:
                raise self._elsewhere() from error
            connection = Connection(hop, lambda piece: None, headers=headers, returns_redirects=True)
            with _looking(self._check, connection) as stopped:
                try:
                    with (
                        httpx.Client(transport=connection, trust_env=False, timeout=timeout) as client,
                        client.stream("GET", url) as response,
                    ):
                        if not 300 <= response.status_code < 400:
                            self._accept(response.status_code, what, start)
                            yield response
                            return
                        url = _joined(url, response.headers.get("location", ""))
                except EndpointRefusedError as error:
                    raise self._elsewhere() from error
                except (httpx.HTTPError, httpx.InvalidURL, ssl.SSLError) as error:
                    if stopped:
                        raise stopped[0] from error
                    raise self._unreachable(error) from error
        raise self._elsewhere()

    def _pieces(self, response: httpx.Response) -> Iterator[bytes]:
        try:
            yield from response.iter_raw()
        except (httpx.HTTPError, ssl.SSLError) as error:
            self._check()
            raise DownloadError(_("{host} broke off in the middle.").format(host=self.host)) from error

    def _accept(self, status: int, what: str, start: int) -> None:
        """Raise `DownloadError` unless this status means success."""
        if status in (200, 206) or (status == 416 and start):
            return
        if status in (401, 403):
            raise DownloadError(
                _("{host} does not give {what} to everybody, or does not have it (status {status}).").format(
                    host=self.host, what=what, status=status
                ),
                hint=_(
                    "Fetch it there with your account, then `docmind models enable DIRECTORY`, or for a GGUF "
                    "file `docmind models add FILE`."
                ),
            )
        if status == 404:
            raise DownloadError(
                _("{host} has no {what}.").format(host=self.host, what=what),
                hint=_("Check {setting}; the model may have moved.").format(setting=self._setting),
            )
        if status == 429:
            raise DownloadError(
                _("{host} wants no more requests for now.").format(host=self.host),
                hint=_("Wait a little and try again."),
            )
        raise DownloadError(_("{host} answers with status {status}.").format(host=self.host, status=status))

    def _unreachable(self, error: Exception) -> DownloadError:
        if isinstance(error, httpx.TimeoutException):
            return DownloadError(_("{host} does not answer in time.").format(host=self.host))
        if "certificate" in str(error).lower():
            return DownloadError(
                _("{host} cannot prove that it is {host}.").format(host=self.host),
                hint=_("A proxy that reads what passes may stand between, or {setting} is wrong.").format(
                    setting=self._setting
                ),
            )
        return DownloadError(
            _("{host} cannot be reached.").format(host=self.host),
            hint=_(
                "Check the network and try again: what has arrived is kept. A model that was fetched "
                "elsewhere can be used from its directory: docmind models enable DIRECTORY."
            ),
        )

    def _elsewhere(self) -> DownloadError:
        return DownloadError(
            _("{host} sends the request on to an address that is not followed.").format(host=self.host)
        )

    def _odd(self) -> DownloadError:
        return DownloadError(
            _("{host} does not answer as {kind} does.").format(host=self.host, kind=self._kind),
            hint=_("A proxy or a page to sign in may stand between; open the address in a browser, then try again."),
        )

    def _read_listing(self, told: Any, repository: str, is_part: Callable[[str], bool]) -> Listing:
        if not isinstance(told, dict) or not isinstance(told.get("siblings"), list):
            raise self._odd()
        commit = told.get("sha")
        if not isinstance(commit, str) or not _COMMIT.fullmatch(commit):
            raise self._odd()
        listed = told["siblings"]
        files: dict[str, HubFile] = {}
        names = [one.get("rfilename") if isinstance(one, dict) else None for one in listed]
        for name, one in zip(names, listed, strict=True):
            if not isinstance(name, str) or len(name) > 255 or _UNSAFE.search(name):
                raise DownloadError(
                    _("{repository} lists a file under a name that cannot be right.").format(repository=repository)
                )
            if is_part(name):
                files[name] = _file(name, one, repository)
        is_fitting = len(listed) <= _NAMES and len(files) <= _WANTED and len(set(names)) == len(names)
        listing = Listing(commit, tuple(files.values()), "adapter_config.json" in names)
        if not is_fitting or listing.bytes > MOST_BYTES:
            raise DownloadError(_("{repository} lists more than a model can have.").format(repository=repository))
        return listing


class Address(Hub):
    """The one file at an https address (or on this machine), whose checksum the user knows. One request at a time."""

    _setting, _kind = "the address", "a server of files"

    def __init__(self, url: str, check: Callable[[], None]) -> None:
        """Check the address. Raises `ConfigError` unless it is https, or on this machine, and holds no password."""
        try:
            parts = urlsplit(url.strip())
            self._root = _permitted(f"{parts.scheme}://{parts.netloc}")
        except (EndpointRefusedError, ConfigError, ValueError) as error:
            raise ConfigError(_("This is not an address that can be asked."), hint=_WRITE_HTTPS) from error
        if self._root.scheme != "https" and not self._root.is_local:
            raise ConfigError(
                _("{host} would be asked without encryption.").format(host=self._root.host), hint=_WRITE_HTTPS
            )
        self._url = parts._replace(scheme=parts.scheme.lower(), fragment="").geturl()
        self.host, self._check = self._root.host, check

    def described(self, name: str, sha256: str) -> Listing:
        """Return the file with its size, which the server tells. Raises `DownloadError`."""
        with self._asked(self._url, {}, name) as response:
            told = response.headers.get("content-length", "")
            is_page = response.headers.get("content-type", "").startswith("text/html")
        if is_page or not re.fullmatch(r"[0-9]{1,15}", told) or not 0 < int(told) <= MOST_BYTES:
            raise self._odd()
        return Listing("", (HubFile(name, int(told), sha256=sha256),), False)

    def _address(self, repository: str, commit: str, file: HubFile) -> str:
        return self._url


def next_hop(root: Endpoint, url: str) -> Endpoint:
    """Return the endpoint of a redirect: the hub itself, or any host by https.

    Raises `EndpointRefusedError` otherwise; a remote hub may not redirect to this machine.
    """
    try:
        hop = _permitted("://".join(urlsplit(url)[:2]))
    except (ConfigError, ValueError) as error:
        raise EndpointRefusedError(_("This is no address.")) from error
    is_root = (hop.scheme, hop.host, hop.port) == (root.scheme, root.host, root.port)
    if is_root or (hop.scheme == "https" and (root.is_local or not hop.is_local)):
        return hop
    raise EndpointRefusedError(_("{label} is not followed.").format(label=hop.label))


def _joined(url: str, location: str) -> str:
    """Return the address of a redirect; empty where it has none."""
    try:
        return urljoin(url, location) if 0 < len(location) < 8_000 else ""
    except ValueError:
        return ""


def _permitted(url: str) -> Endpoint:
    """Return the endpoint of a configured address with any host.

    Raises `EndpointRefusedError`, `ValueError`.
    """
    host = urlsplit(url).hostname or ""
    return permit(url, f"[{host}]" if ":" in host else host, "model download")


@contextmanager
def _looking(check: Callable[[], None], connection: Connection) -> Iterator[list[DocMindError]]:
    """Call `check` periodically, and close the connection once it raises.

    The list then holds the exception.
    """
    check()
    is_over, stopped = threading.Event(), []

    def look() -> None:
        while not is_over.wait(_LOOK_S):
            try:
                check()
            except DocMindError as error:
                stopped.append(error)
                connection.abort()
                return

    thread = threading.Thread(target=look, name="pull-check", daemon=True)
    thread.start()
    try:
        yield stopped
    finally:
        is_over.set()


def _begin(response: httpx.Response, start: int, size: int) -> int | None:
    """Return where the body starts in the file; None where the response is inconsistent."""
    if response.status_code == 200:
        return 0
    told = re.fullmatch(r"bytes ([0-9]{1,15})-[0-9]{1,15}/([0-9]{1,15}|\*)", response.headers.get("content-range", ""))
    if told is None or int(told[1]) != start or told[2] not in ("*", str(size)):
        return None
    return start


def _file(name: str, one: dict[str, Any], repository: str) -> HubFile:
    large = one.get("lfs")
    is_large = isinstance(large, dict)
    digest = large.get("sha256") if is_large else one.get("blobId")
    size = large.get("size") if is_large else one.get("size")
    is_sum = isinstance(digest, str) and bool((_SHA256 if is_large else _COMMIT).fullmatch(digest))
    if type(size) is not int or not 0 <= size <= MOST_BYTES or (is_large and not is_sum):
        raise DownloadError(
            _("{repository} does not say what {name} should be.").format(repository=repository, name=name)
        )
    told = str(digest) if is_sum else ""
    return HubFile(name, size, sha256=told) if is_large else HubFile(name, size, blob=told)
