"""The index on a Qdrant server or cluster, through qdrant-client.

A generation is a pair of collections named `<collection>-g000001`; the alias `<collection>` names the active one, and
both aliases switch in one call. Epoch and fingerprint are metadata of the text collection (Qdrant 1.16 or later).
Two vaults that share a server need different collection names.

In memory (`QdrantClient(":memory:")`, for tests) payload indexes have no effect, vectors stay float32 and are not kept.

The server that the settings name may be connected to. Redirects are not followed, proxies of the environment are not
used, and no version is requested in the background.
"""

from __future__ import annotations

import ipaddress
import re
import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import httpx
import numpy as np
from qdrant_client import QdrantClient, models
from qdrant_client.http.exceptions import ApiException

from docmind.config import DatabaseSettings, Settings
from docmind.errors import ConfigError, IndexEngineError
from docmind.index.engine import BATCH, EVERYTHING, NO_EPOCH, IndexEngine, Point, Scored, Sparse, Vector, VectorQuery
from docmind.index.schema import KEYWORDS, NamedVector, check_dim, collections, find_collection
from docmind.network import network_guard, network_ledger, resolve_here
from docmind.records.search import Filters
from docmind.wording import _

FORMAT = 1
_METADATA = "docmind"
_DIGITS = 5
_NUMBERS = 1_000_000  # in one request: about 9 MB of JSON
_FIELDS = {"doc_ids": "doc_id", "modalities": "modality", "languages": "language", "tags": "tags"}


class ServerIndex(IndexEngine):
    """An index on a server. Thread-safe: one lock, one request at a time.

    The constructor does not connect. Unlike the embedded index, `epoch` raises `IndexEngineError` while the server
    cannot be reached, which is no reason to rebuild. Whether graphs are built is the server's decision.
    """

    name = "server"
    holds_originals = True

    def __init__(self, client: QdrantClient, dim: int, *, database: DatabaseSettings | None = None) -> None:
        self._client = client
        self._dim = dim
        self._known = collections(database or DatabaseSettings(), dim, originals=True)
        self._text = next(name for name, one in self._known.items() if one.role == "text")
        self._lock = threading.RLock()
        self._active: str | None = None
        self._next: str | None = None
        self._is_resolved = False
        self._checked: str | None = None
        self._is_local = client.init_options.get("location") == ":memory:"

    def at_rest(self) -> str:
        return "blinded: on the server of DOCMIND_QDRANT__URL"

    def epoch(self) -> int:
        return int(self._state().get("epoch", NO_EPOCH))

    def fingerprint(self) -> str:
        return str(self._state().get("fingerprint", ""))

    def upsert(self, collection: str, points: Sequence[Point]) -> None:
        checked = find_collection(self._known, collection).check_points(points)
        with self._asking():
            target = self._target()
            self._check_dim(target)
            for batch in _batches(checked):
                structs = [_struct(point) for point in batch]
                self._client.upsert(f"{collection}-{target}", structs, wait=True)

    def delete(self, collection: str, doc_id: str) -> None:
        find_collection(self._known, collection)
        match = models.FieldCondition(key="doc_id", match=models.MatchValue(value=doc_id))
        with self._asking():
            for generation in (self._resolved(), self._next):
                if generation is not None:
                    self._client.delete(f"{collection}-{generation}", models.Filter(must=[match]), wait=True)

    def search(self, queries: Sequence[VectorQuery]) -> list[list[Scored]]:
        """Search as specified by `IndexEngine`, with one round trip for each collection that is asked."""
        checked = [find_collection(self._known, query.collection).check_query(query) for query in queries]
        lists: list[list[Scored]] = [[] for _unused in queries]
        by_collection: dict[str, list[int]] = {}
        for n, query in enumerate(checked):
            if not (isinstance(query.vector, Sparse) and len(query.vector.indices) == 0):
                by_collection.setdefault(query.collection, []).append(n)
        with self._asking():
            active = self._resolved()
            if active is None:
                return lists
            self._check_dim(active)
            for collection, numbers in by_collection.items():
                requests = [_request(checked[n]) for n in numbers]
                replies = self._client.query_batch_points(f"{collection}-{active}", requests)
                for n, reply in zip(numbers, replies, strict=True):
                    scored = [Scored(str(point.id), point.score, point.payload or {}) for point in reply.points]
                    lists[n] = sorted(scored, key=lambda one: (-one.score, one.id))
        return lists

    def count(self, collection: str, filters: Filters = EVERYTHING, *, having: str | None = None) -> int:
        known = find_collection(self._known, collection)
        if having is not None:
            known.check_name(having)
        with self._asking():
            active = self._resolved()
            if active is None:
                return 0
            return self._client.count(f"{collection}-{active}", _filter(filters, having), exact=True).count

    def scroll(
        self, collection: str, after: str | None = None
    ) -> tuple[Sequence[tuple[str, Mapping[str, object]]], str | None]:
        find_collection(self._known, collection)
        with self._asking():
            active = self._resolved()
            if active is None:
                return [], None
            points, following = self._client.scroll(
                f"{collection}-{active}", limit=BATCH, offset=after, with_payload=True, with_vectors=False
            )
        found = [(str(point.id), point.payload or {}) for point in points]
        return found, None if following is None else str(following)

    def commit(self, epoch: int) -> None:
        with self._asking():
            target = self._target()
            self._record(target, {**self._state(target), "epoch": epoch})

    def rebuild(self, fingerprint: str) -> None:
        with self._asking():
            active = self._resolved()
            self._next = None
            self._sweep()
            numbers = [int(active[1:])] if active else []
            made = f"g{max(numbers, default=0) + 1:06d}"
            for name, one in self._known.items():
                self._create(f"{name}-{made}", one.vectors)
            self._record(made, {"format": FORMAT, "epoch": NO_EPOCH, "fingerprint": fingerprint, "dim": self._dim})
            if active is None:
                self._point_at(made)
            else:
                self._next = made

    def activate(self) -> None:
        with self._asking():
            if self._next is not None:
                self._point_at(self._next)
                self._next = None
                self._sweep()
            else:
                self._target()

    def optimize_if_large(self) -> bool:
        return False

    def close(self) -> None:
        with self._lock:
            self._client.close()

    @contextmanager
    def _asking(self) -> Iterator[None]:
        """Hold the lock, and raise the client's errors as `IndexEngineError`."""
        with self._lock:
            try:
                yield
            except ApiException as error:
                raise IndexEngineError(
                    _("The Qdrant server refused the request: {names}").format(
                        names=" ".join(str(error).split())[:300]
                    ),
                    hint=_("Check that the server of DOCMIND_QDRANT__URL runs, or unset it to use the embedded index."),
                ) from error

    def _resolved(self) -> str | None:
        """Return the active generation, by the alias of the text collection; None while there is none."""
        if not self._is_resolved:
            aliases = {one.alias_name: one.collection_name for one in self._client.get_aliases().aliases}
            found = re.fullmatch(re.escape(self._text) + r"-(g\d{6})", aliases.get(self._text, ""))
            self._active = found.group(1) if found else None
            self._is_resolved = True
        return self._active

    def _target(self) -> str:
        target = self._next or self._resolved()
        if target is None:
            raise IndexEngineError(_("The index is new: it has to be rebuilt before it is written to."))
        return target

    def _state(self, generation: str | None = None) -> dict[str, Any]:
        with self._asking():
            generation = generation or self._resolved()
            if generation is None:
                return {}
            metadata = self._client.get_collection(f"{self._text}-{generation}").config.metadata or {}
            state = metadata.get(_METADATA)
            if not isinstance(state, dict) or state.get("format") != FORMAT:
                raise IndexEngineError(_("The collections on the server were not made by this version of DocMind."))
            return state

    def _check_dim(self, generation: str) -> None:
        """Check the dimensions of a generation; they never change, so the server is asked once for each."""
        if generation != self._checked:
            check_dim(self._state(generation)["dim"], self._dim)
            self._checked = generation

    def _record(self, generation: str, state: dict[str, Any]) -> None:
        self._client.update_collection(f"{self._text}-{generation}", metadata={_METADATA: state})

    def _create(self, name: str, vectors: Mapping[str, NamedVector]) -> None:
        self._client.create_collection(
            name,
            vectors_config={key: _params(key, named) for key, named in vectors.items() if named.shape != "sparse"},
            sparse_vectors_config={
                key: models.SparseVectorParams(modifier=models.Modifier.IDF)
                for key, named in vectors.items()
                if named.shape == "sparse"
            },
        )
        for key in () if self._is_local else KEYWORDS:
            schema = models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, is_tenant=key == "doc_id")
            self._client.create_payload_index(name, key, schema, wait=True)

    def _point_at(self, generation: str) -> None:
        there = {one.alias_name for one in self._client.get_aliases().aliases}
        changes: list[Any] = []
        for name in self._known:
            if name in there:
                changes.append(models.DeleteAliasOperation(delete_alias=models.DeleteAlias(alias_name=name)))
            create = models.CreateAlias(collection_name=f"{name}-{generation}", alias_name=name)
            changes.append(models.CreateAliasOperation(create_alias=create))
        self._client.update_collection_aliases(changes)
        self._active, self._is_resolved = generation, True

    def _sweep(self) -> None:
        """Delete the collections of every generation but the active and the next."""
        ours = re.compile("(" + "|".join(map(re.escape, self._known)) + r")-(g\d{6})")
        for one in self._client.get_collections().collections:
            found = ours.fullmatch(one.name)
            if found and found.group(2) not in (self._active, self._next):
                self._client.delete_collection(one.name)


def _params(name: str, named: NamedVector) -> models.VectorParams:
    if named.shape == "dense":
        return models.VectorParams(size=named.dim, distance=models.Distance.COSINE, datatype=models.Datatype.FLOAT16)
    # The originals are only scored for candidates found by other vectors: without a graph, and not in memory.
    is_original = name == "colpali"
    return models.VectorParams(
        size=named.dim,
        distance=models.Distance.DOT,
        datatype=models.Datatype.FLOAT16,
        multivector_config=models.MultiVectorConfig(comparator=models.MultiVectorComparator.MAX_SIM),
        hnsw_config=models.HnswConfigDiff(m=0) if is_original else None,
        on_disk=is_original or None,
    )


def _plain(vector: Vector) -> Any:
    if isinstance(vector, Sparse):
        return models.SparseVector(indices=vector.indices.tolist(), values=vector.values.tolist())
    # float32 is written out as float64, 20 digits a number; the server keeps float16, for which these digits suffice.
    return np.round(vector.astype(np.float64), _DIGITS).tolist() if vector.ndim == 2 else vector.tolist()


def _batches(points: Sequence[Point]) -> Iterator[list[Point]]:
    """Yield batches of at most `BATCH` points, fewer where they are large: the server refuses requests of 32 MB."""
    batch: list[Point] = []
    taken = 0
    for point in points:
        numbers = sum(vector.size for vector in point.vectors.values() if not isinstance(vector, Sparse))
        if batch and (len(batch) == BATCH or taken + numbers > _NUMBERS):
            yield batch
            batch, taken = [], 0
        batch.append(point)
        taken += numbers
    if batch:
        yield batch


def _struct(point: Point) -> models.PointStruct:
    vectors = {name: _plain(vector) for name, vector in point.vectors.items()}
    return models.PointStruct(id=point.id, vector=vectors, payload=dict(point.payload))


def _request(query: VectorQuery) -> models.QueryRequest:
    nearest, narrowed = models.NearestQuery(nearest=_plain(query.vector)), _filter(query.filters)
    first = [models.Prefetch(query=nearest, using=name, filter=narrowed, limit=query.depth) for name in query.prefetch]
    return models.QueryRequest(
        query=nearest,
        using=query.using,
        prefetch=first or None,
        filter=narrowed,
        limit=query.limit,
        with_payload=True,
    )


def _filter(filters: Filters, having: str | None = None) -> models.Filter | None:
    must: list[Any] = [
        models.FieldCondition(key=key, match=models.MatchAny(any=list(getattr(filters, field))))
        for field, key in _FIELDS.items()
        if getattr(filters, field)
    ]
    if having is not None:
        must.append(models.HasVectorCondition(has_vector=having))
    return models.Filter(must=must) if must else None


PROBE_TIMEOUT_S = 2.0


def open_server(settings: Settings, dim: int) -> ServerIndex:
    """Open the index on the server that the settings name; the connection is made at first use.

    Raises `ConfigError` where the address cannot be used, or would send the key unencrypted over a network.
    """
    return ServerIndex(_client(settings, settings.qdrant.timeout_s), dim, database=settings.database)


def is_reachable(settings: Settings) -> bool:
    """Return whether the server that the settings name answers a request for its collections within 2 s."""
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
        raise ConfigError(_("DOCMIND_QDRANT__URL needs the form http://127.0.0.1:6333 or https://host:port."))
    if parts.username or parts.password:
        raise ConfigError(_("DOCMIND_QDRANT__URL must not hold a password; give the key as DOCMIND_QDRANT__API_KEY."))
    if key is not None and parts.scheme == "http" and not _is_loopback(parts.hostname):
        raise ConfigError(_("The key of the Qdrant server would travel in clear: use an https address."))
    options: dict[str, Any] = {} if _is_loopback(parts.hostname) else {"transport": _Permitted()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # about a key over http, which is checked above
        return QdrantClient(
            url=url,
            api_key=key.get_secret_value() if key is not None else None,
            timeout=max(1, round(timeout_s)),
            check_compatibility=False,
            follow_redirects=False,
            trust_env=False,
            **options,
        )


class _Permitted(httpx.HTTPTransport):
    """A transport that announces each connection to the network guard of this process."""

    def __init__(self) -> None:
        super().__init__(trust_env=False)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        host, port = request.url.host, request.url.port or (443 if request.url.scheme == "https" else 80)
        try:
            addresses = resolve_here(host, port)
        except OSError as error:
            raise httpx.ConnectError(f"{host} is not known") from error
        if not _is_loopback(host):
            network_ledger().allow(f"{host}:{port}", "index")
        with network_guard().resolving(), network_guard().permitted(addresses, port):
            return super().handle_request(request)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
