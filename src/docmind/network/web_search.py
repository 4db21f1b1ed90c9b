"""Web search by a provider that the user has set: a SearXNG server, or the interface of Brave.

Results are untrusted text: they are stripped of markup, shortened, and quoted as web results; their links are not
fetched.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping
from typing import Any, Protocol
from urllib.parse import urlsplit

from docmind.config import WebSettings
from docmind.errors import ConfigError, EndpointRefusedError, WebSearchError
from docmind.records.conversations import WebResult
from docmind.rich_text import plain_line
from docmind.wording import _

_BRAVE = "https://api.search.brave.com/res/v1"
_QUERY = 400  # characters: what Brave takes
_MOST = 10
_TITLE, _EXCERPT, _ADDRESS = 200, 600, 2_000
_BYTES = 4 * 1024 * 1024
_AHEAD = 20  # of what is shown: markup may stand before it
_MARKUP = re.compile(r"<!--.*?(?:-->|\Z)|<(script|style)\b.*?(?:</\1\s*>|\Z)|</?[a-z][^<>]*>", re.S | re.IGNORECASE)
_LINK = re.compile(r"https?://[^\s<>\"'\\@/?#]+(?:[/?#][^\s<>\"\\]*)?", re.IGNORECASE)


class WebSearch(Protocol):
    """A web search provider. Thread-safe."""

    name: str
    host: str
    """The host that receives the query."""

    def search(self, query: str, limit: int = 5) -> tuple[WebResult, ...]:
        """Return at most `limit` (and never more than 10) results, best first.

        Raises `WebSearchError`.
        """
        ...


def search_web(settings: WebSettings) -> WebSearch | None:
    """Return the provider that is set, or None where web search is off; no request is sent yet.

    Raises `ConfigError` where its address or key is not set.
    """
    if settings.provider == "searxng":
        return Searxng(settings)
    return Brave(settings) if settings.provider == "brave" else None


class Searxng:
    """A SearXNG server, allowed because its address is set. JSON must be among its formats."""

    name = "SearXNG"

    def __init__(self, settings: WebSettings) -> None:
        if not settings.url:
            raise ConfigError(
                _("DOCMIND_WEB__URL is not set."), hint=_("Set it to the address of your SearXNG server.")
            )
        try:
            self.host = urlsplit(settings.url).netloc.rpartition("@")[2]
        except ValueError as error:
            raise ConfigError(
                _("DOCMIND_WEB__URL is not an address."), hint=_("Write it as https://host:port.")
            ) from error
        self._url = settings.url
        self._timeout_s = settings.timeout_s

    def search(self, query: str, limit: int = 5) -> tuple[WebResult, ...]:
        """See `WebSearch`."""
        told = _asked(
            self.name,
            self._url,
            self.host,
            "/search",
            {"q": query[:_QUERY], "format": "json"},
            {},
            self._timeout_s,
            _("Enable the format json in its settings (search: formats)."),
        )
        return _results(self.name, told.get("results"), "content", limit)


class Brave:
    """Brave's search interface. `url` replaces its address in tests."""

    name = "Brave"

    def __init__(self, settings: WebSettings, *, url: str = _BRAVE) -> None:
        if settings.api_key is None:
            raise ConfigError(_("DOCMIND_WEB__API_KEY is not set."), hint=_("Set it to your key for Brave's search."))
        self.host = urlsplit(url).netloc
        self._url = url
        self._key = settings.api_key
        self._timeout_s = settings.timeout_s

    def search(self, query: str, limit: int = 5) -> tuple[WebResult, ...]:
        """See `WebSearch`."""
        told = _asked(
            self.name,
            self._url,
            self.host,
            "/web/search",
            {"q": query[:_QUERY], "count": str(max(1, min(limit, _MOST)))},
            {"X-Subscription-Token": self._key.get_secret_value()},
            self._timeout_s,
            _("Check the key in DOCMIND_WEB__API_KEY."),
        )
        found = told.get("web")
        if found is None:  # no web results, possibly news or places
            return ()
        return _results(self.name, found.get("results") if isinstance(found, dict) else None, "description", limit)


def _asked(
    name: str,
    url: str,
    host: str,
    path: str,
    query: Mapping[str, str],
    headers: Mapping[str, str],
    timeout_s: float,
    refused_hint: str,
) -> dict[str, Any]:
    """Send the query to a provider and return the JSON object of its answer.

    Raises `WebSearchError`.
    """
    import httpx

    from docmind.network.endpoint import fetch, permit

    accepted = {"Accept": "application/json", **headers}
    try:
        endpoint = permit(url, host, "web search")
        status, raw = fetch(endpoint, path, timeout_s=timeout_s, max_bytes=_BYTES, query=query, headers=accepted)
    except EndpointRefusedError as error:
        raise WebSearchError(str(error), hint=error.hint) from error
    except ConfigError as error:  # the host part of the address is malformed
        raise WebSearchError(_("The address of {name} cannot be used.").format(name=name)) from error
    except httpx.HTTPError as error:
        raise WebSearchError(
            _("{name} at {host} cannot be reached, or is too slow.").format(name=name, host=host)
        ) from error
    if status in (401, 403):
        raise WebSearchError(_("{name} at {host} refuses the search.").format(name=name, host=host), hint=refused_hint)
    if status == 429:
        raise WebSearchError(
            _("{name} at {host} accepts no more searches for now.").format(name=name, host=host),
            hint=_("Wait a little, then try again."),
        )
    if status != 200:
        raise WebSearchError(
            _("{name} at {host} answers with status {status}.").format(name=name, host=host, status=status)
        )
    try:
        told = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise WebSearchError(
            _("{name} at {host} does not answer as a web search does.").format(name=name, host=host)
        ) from error
    if not isinstance(told, dict):
        raise WebSearchError(_("{name} at {host} does not answer as a web search does.").format(name=name, host=host))
    return told


def _results(name: str, listed: object, field: str, limit: int) -> tuple[WebResult, ...]:
    if not isinstance(listed, list):
        raise WebSearchError(_("{name} does not answer as a web search does.").format(name=name))
    results = []
    for one in listed:
        url = one.get("url") if isinstance(one, dict) else None
        if isinstance(url, str) and len(url) <= _ADDRESS and _LINK.fullmatch(url) and url.isprintable():
            results.append(WebResult(plain(one.get("title"), _TITLE) or url, url, plain(one.get(field), _EXCERPT)))
        if len(results) == max(1, min(limit, _MOST)):
            break
    return tuple(results)


def plain(text: object, most: int) -> str:
    """Return foreign text as one line of at most `most` characters, without markup or control characters."""
    if not isinstance(text, str):
        return ""
    return plain_line(html.unescape(_MARKUP.sub(" ", text[: _AHEAD * most])), most, ahead=_AHEAD)
