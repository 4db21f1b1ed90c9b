"""The connection to a Qdrant server: naming the server in the settings is the permission to connect to it.

No redirect is followed, no proxy of the environment used, and no version asked for in the background.
"""

from __future__ import annotations

import ipaddress
import warnings
from urllib.parse import urlsplit

from qdrant_client import QdrantClient
from qdrant_client.http.exceptions import ApiException

from docmind.config import Settings
from docmind.errors import ConfigError
from docmind.index.server import ServerIndex

PROBE_TIMEOUT_S = 2.0


def open_server(settings: Settings, dim: int) -> ServerIndex:
    """The index on the server that the settings name; nothing is connected yet.

    Raises `ConfigError` where the address cannot be used, or would carry the key in clear over a network.
    """
    return ServerIndex(_client(settings, settings.qdrant.timeout_s), dim, database=settings.database)


def is_reachable(settings: Settings) -> bool:
    """Whether the server that the settings name answers a request for its collections within 2 s."""
    client = _client(settings, PROBE_TIMEOUT_S)
    try:
        client.get_collections()
    except ApiException:
        return False
    finally:
        client.close()
    return True


def _client(settings: Settings, timeout_s: float) -> QdrantClient:
    url, key = settings.qdrant.url or "", settings.qdrant.api_key
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError("DOCMIND_QDRANT__URL needs the form http://127.0.0.1:6333 or https://host:port.")
    if parts.username or parts.password:
        raise ConfigError("DOCMIND_QDRANT__URL must not hold a password; give the key as DOCMIND_QDRANT__API_KEY.")
    if key is not None and parts.scheme == "http" and not _is_loopback(parts.hostname):
        raise ConfigError("The key of the Qdrant server would travel in clear: use an https address.")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of a key over http, which was looked at above
        return QdrantClient(
            url=url,
            api_key=key.get_secret_value() if key is not None else None,
            timeout=max(1, round(timeout_s)),
            check_compatibility=False,
            follow_redirects=False,
            trust_env=False,
        )


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
