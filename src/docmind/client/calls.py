"""The calls of the facade that REST offers: one table for the server, the client and the OpenAPI document.

Each row names a method of the facade, its HTTP method and path, its parameters with their types, and its result. Path
parameters stand in braces. The others are members of a JSON object, or of the query for GET and beside a body of bytes,
where a value that is no text is written as JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from docmind.client.codec import hints_of, is_binary
from docmind.documents import EDITED
from docmind.records.access import ApiToken, NewApiToken, TokenScope
from docmind.records.answers import Answer
from docmind.records.checks import CheckReport, Level, RepairReport
from docmind.records.comparison import Comparison
from docmind.records.conversations import Memory, MemoryList, ModelList, RunProgress, Thread, ThreadView, Turn
from docmind.records.documents import (
    Collection,
    DocumentInfo,
    EnclosedFile,
    ErasureReceipt,
    Figure,
    PageView,
    QueueProgress,
    Status,
    UploadInfo,
    UploadState,
)
from docmind.records.drafts import CheckedDraft
from docmind.records.evaluation import Run, RunComparison, RunSummary
from docmind.records.listed import Listed
from docmind.records.listings import Listable
from docmind.records.models import EmbeddingProgress, ModelCard
from docmind.records.network import NetworkLedger
from docmind.records.query import Operation, Query, fields_for
from docmind.records.reader import Coverage, PageLines
from docmind.records.search import Degraded, Filters, MultimodalResult
from docmind.records.settings import SettingInfo
from docmind.records.snapshots import (
    Activation,
    KeptDatabase,
    SnapshotCheck,
    SnapshotDifference,
    SnapshotDocument,
    SnapshotInfo,
)
from docmind.records.storage import PruneReport
from docmind.records.values import (
    Draft,
    Few,
    Ids,
    Language,
    Line,
    LineNo,
    Name,
    Numbers,
    PageNo,
    Question,
    RowId,
    Secret,
    Size,
    Span,
    Tags,
    Text,
    Title,
    or_none,
)

API = "api/v1"
"""The path of the interface below the app's address."""

Verb = Literal["GET", "POST", "PATCH", "DELETE"]


def _fields_asked(operation: Operation) -> dict[str, Any]:
    """Return the fields of `Query` that have a form in JSON and that an operation takes, with their types."""
    hints = hints_of(Query)
    return {one.name: hints[one.name] for one in fields_for(operation, door="rest") if not is_binary(hints[one.name])}


@dataclass(frozen=True, slots=True)
class Call:
    """One method of the facade. A name with `*` before it takes all positional arguments.

    `params` is None for a property. A parameter `query` stands for the fields of `Query` that the operation `asks`
    takes: each is a parameter of the request, and the picture is its body where `is_by_picture`. `method` is the name
    of the method, where it is not `name`.
    """

    name: str
    verb: Verb
    path: str
    result: Any
    params: Mapping[str, Any] | None = field(default_factory=dict)
    asks: Operation | None = None
    method: str = ""
    is_by_picture: bool = False

    @property
    def given(self) -> Mapping[str, Any]:
        """The parameters of the request with their types: those of the method, and the fields of its query."""
        params = dict(self.params or {})
        if self.asks is not None:
            del params["query"]
            params |= {"picture": bytes} if self.is_by_picture else {}
            params |= {name: kind for name, kind in _fields_asked(self.asks).items() if name not in params}
        return params

    @property
    def body(self) -> str | None:
        """The parameter that is the request's body of bytes; None without one."""
        return next((name for name, kind in self.given.items() if kind is bytes), None)

    @property
    def in_path(self) -> tuple[str, ...]:
        """The parameters that stand in the path."""
        return tuple(name for name in self.given if "{" + name + "}" in self.path)

    @property
    def required(self) -> tuple[str, ...]:
        """The parameters without which there is no call: those of the path, and those that the facade requires."""
        return (*self.in_path, *(name for name in _REQUIRED.get(self.name, ()) if name not in self.in_path))

    @property
    def is_reading(self) -> bool:
        """Whether it changes nothing: what a token of the scope `read` may call."""
        return self.verb == "GET" or self.name in _READING

    @property
    def in_query(self) -> bool:
        """Whether the other parameters stand in the query."""
        return self.verb in ("GET", "DELETE") or self.body is not None


_READING = (
    "search", "search_by_picture", "ask", "check", "find", "memories.expand", "documents.inside", "documents.matching",
)  # fmt: skip
"""Calls that change nothing although they are no GET: a question or a list of ids may be long, a picture is a body.

`ask` is one unless the question asks to remember something, which `docmind.api.rest` refuses to such a token.
"""

IMAGES = ("documents.page_image", "documents.figure_image")
"""Calls whose bytes are a picture to show (WebP), not a file to keep."""

_question, _name, _docs = ("question",), ("name",), ("doc_ids",)
_REQUIRED = {
    "documents.find": _name, "documents.compare": ("doc_id", "other"),
    "documents.set_version_of": ("other",),
    "documents.correct_line": ("text",),
    "documents.inside": _docs, "documents.tag": _docs, "documents.set_language": ("doc_ids", "language"),
    "documents.find_binned": _name, "documents.bin": _docs, "documents.restore": _docs,
    "documents.new_collection": _name, "documents.collection": _name, "documents.rename_collection": _name,
    "documents.collect": _docs, "queue.remove": ("upload_ids",), "queue.unlock": ("password",),
    "snapshots.find": _name, "evaluation.compare": ("after",), "snapshots.find_document": _name,
    "erasures.erase": _docs, "search": _question, "search_by_picture": ("picture",), "ask": _question,
    "check": ("draft",), "conversations.find_thread": _name, "conversations.rename": ("title",),
    "conversations.start": _question, "conversations.ask": _question, "memories.add": ("text",), "memories.find": _name,
    "memories.expand": _question, "memories.edit": ("text",), "conversations.start_once": _question,
    "visual.submit_embedding": _name, "tokens.new": _name, "tokens.revoke": _name,
}  # fmt: skip
_page = {"doc_id": Name, "page_no": PageNo}
_files = {"upload_ids": or_none(Numbers)}
_asked: dict[str, Any] = {"query": Query, "thread_id": Name, "checkpoint_id": or_none(Name)}

CALLS = (
    Call("status", "GET", "/status", Status),
    Call("network.report", "GET", "/network", NetworkLedger),
    Call("documents.counts", "GET", "/counts", tuple[int, int, int]),
    Call(
        "garbage.prune", "POST", "/storage/prune", PruneReport,
        {"max_total_bytes": Size, "min_age_seconds": or_none(Span), "dry_run": bool},
    ),
    # documents
    Call("documents.all", "GET", "/documents", tuple[DocumentInfo, ...]),
    Call("documents.matching", "POST", "/documents/matching", tuple[DocumentInfo, ...], {"filters": Filters}),
    Call("documents.find", "GET", "/documents/find", DocumentInfo, {"name": Name}),
    Call("documents.get", "GET", "/documents/{doc_id}", DocumentInfo, {"doc_id": Name}),
    Call(
        "documents.edit", "PATCH", "/documents/{doc_id}", DocumentInfo,
        {"doc_id": Name, **{column.name: or_none(column.value) for column in EDITED}},
    ),
    Call("documents.original", "GET", "/documents/{doc_id}/original", bytes, {"doc_id": Name}),
    Call("documents.original_name", "GET", "/documents/{doc_id}/original-name", str, {"doc_id": Name}),
    Call("documents.page", "GET", "/documents/{doc_id}/pages/{page_no}", PageView, _page),
    Call(
        "documents.page_image", "GET", "/documents/{doc_id}/pages/{page_no}/image", bytes,
        {**_page, "thumbnail": bool},
    ),
    Call("documents.page_lines", "GET", "/documents/{doc_id}/pages/{page_no}/lines", PageLines, _page),
    Call("documents.correct_line", "POST", "/documents/{doc_id}/pages/{page_no}/lines/{line}", PageLines, {
        **_page, "line": LineNo, "text": Line,
    }),
    Call("documents.uncorrect_line", "DELETE", "/documents/{doc_id}/pages/{page_no}/lines/{line}", PageLines, {
        **_page, "line": RowId,
    }),
    Call("documents.set_header_row", "POST", "/documents/{doc_id}/pages/{page_no}/lines/{line}/header", PageLines, {
        **_page, "line": LineNo, "is_header": bool,
    }),
    Call("documents.coverage", "GET", "/documents/{doc_id}/coverage", Coverage, {"doc_id": Name}),
    Call("documents.figures", "GET", "/documents/{doc_id}/figures", tuple[Figure, ...], {"doc_id": Name}),
    Call(
        "documents.figure_image", "GET", "/documents/{doc_id}/pages/{page_no}/figures/{number}/image", bytes,
        {**_page, "number": PageNo},
    ),
    Call("documents.compare", "GET", "/documents/{doc_id}/changes", Comparison, {"doc_id": Name, "other": Name}),
    Call(
        "documents.earlier_versions", "GET", "/documents/{doc_id}/earlier", tuple[DocumentInfo, ...], {"doc_id": Name},
    ),
    Call("documents.set_version_of", "POST", "/documents/{doc_id}/versions", DocumentInfo, {
        "doc_id": Name, "other": Name,
    }),
    Call("documents.set_no_version", "DELETE", "/documents/{doc_id}/versions", DocumentInfo, {"doc_id": Name}),
    Call("documents.thread", "GET", "/documents/{doc_id}/thread", tuple[DocumentInfo, ...], {"doc_id": Name}),
    Call("documents.enclosed", "GET", "/documents/{doc_id}/enclosed", tuple[EnclosedFile, ...], {"doc_id": Name}),
    Call("documents.inside", "POST", "/inside", int, {"doc_ids": Ids}),
    Call("documents.replace", "POST", "/documents/{doc_id}/replace", tuple[DocumentInfo, ...], {"doc_id": Name}),
    Call(
        "documents.read_again", "POST", "/documents/{doc_id}/read-again", DocumentInfo,
        {
            "doc_id": Name, "pages": Numbers, "engine": Literal["rapidocr", "tesseract", ""], "languages": Title,
            "mode": Literal["auto", "always", "never", ""],
        },
    ),
    Call("documents.tags", "GET", "/tags", dict[str, int]),
    Call("documents.tag", "POST", "/tags", None, {"doc_ids": Ids, "add": Tags, "remove": Tags}),
    Call("documents.set_language", "POST", "/language", None, {"doc_ids": Ids, "language": Language}),
    # the bin
    Call("documents.binned", "GET", "/bin", tuple[DocumentInfo, ...]),
    Call("documents.bin_days", "GET", "/bin/days", float, None),
    Call("documents.find_binned", "GET", "/bin/find", DocumentInfo, {"name": Name}),
    Call("documents.bin", "POST", "/bin", tuple[DocumentInfo, ...], {"doc_ids": Ids}),
    Call("documents.restore", "POST", "/bin/restore", None, {"doc_ids": Ids}),
    Call("erasures.receipts", "GET", "/erasures", tuple[ErasureReceipt, ...]),
    Call(
        "erasures.erase", "POST", "/erasures", tuple[ErasureReceipt, ...],
        {"doc_ids": Ids, "conversations": bool, "memories": bool, "snapshots": bool},
    ),
    # snapshots
    Call("snapshots.list", "GET", "/snapshots", tuple[SnapshotInfo, ...]),
    Call("snapshots.create", "POST", "/snapshots", SnapshotInfo, {"title": Title}),
    Call("snapshots.databases", "GET", "/snapshots/databases", tuple[KeptDatabase, ...]),
    Call("snapshots.remove_database", "DELETE", "/snapshots/databases/{name}", KeptDatabase, {"name": Name}),
    Call("snapshots.find", "GET", "/snapshots/find", SnapshotInfo, {"name": Name}),
    Call("snapshots.kept_in", "GET", "/snapshots/holding/{doc_id}", tuple[str, ...], {"doc_id": Name}),
    Call("snapshots.find_document", "GET", "/snapshots/find-document", tuple[str, str], {"name": Name}),
    Call("snapshots.prune", "POST", "/snapshots/prune", tuple[SnapshotInfo, ...], {
        "keep": or_none(Few), "days": or_none(Span), "dry_run": bool,
    }),
    Call("snapshots.documents", "GET", "/snapshots/{snapshot_id}/documents", tuple[SnapshotDocument, ...], {
        "snapshot_id": Name,
    }),
    Call("snapshots.compare", "GET", "/snapshots/{snapshot_id}/difference", SnapshotDifference, {
        "snapshot_id": Name, "other": Name,
    }),
    Call("snapshots.verify", "POST", "/snapshots/{snapshot_id}/check", SnapshotCheck, {
        "snapshot_id": Name, "deep": bool,
    }),
    Call("snapshots.activate", "POST", "/snapshots/{snapshot_id}/activate", Activation, {
        "snapshot_id": Name, "settings": bool, "reindex": bool,
    }),
    Call("snapshots.pin", "POST", "/snapshots/{snapshot_id}/pin", SnapshotInfo, {"snapshot_id": Name, "pinned": bool}),
    Call("snapshots.remove", "DELETE", "/snapshots/{snapshot_id}", SnapshotInfo, {"snapshot_id": Name}),
    # evaluations
    Call("evaluation.runs", "GET", "/evaluations", tuple[RunSummary, ...]),
    Call("evaluation.get", "GET", "/evaluations/{name}", Run, {"name": Name}),
    Call("evaluation.compare", "GET", "/evaluations/{before}/difference", RunComparison, {
        "before": Name, "after": Name,
    }),
    Call("evaluation.remove", "DELETE", "/evaluations/{name}", RunSummary, {"name": Name}),
    # collections
    Call("documents.collections", "GET", "/collections", tuple[Collection, ...]),
    Call("documents.new_collection", "POST", "/collections", Collection, {"name": Name, "doc_ids": Ids}),
    Call("documents.collection", "GET", "/collections/find", Collection, {"name": Name}),
    Call(
        "documents.rename_collection", "PATCH", "/collections/{collection_id}", Collection,
        {"collection_id": Name, "name": Name},
    ),
    Call("documents.remove_collection", "DELETE", "/collections/{collection_id}", Collection, {"collection_id": Name}),
    Call(
        "documents.collect", "POST", "/collections/{collection_id}/documents", None,
        {"collection_id": Name, "doc_ids": Ids, "leave": bool},
    ),
    # the queue
    Call("queue.uploads", "GET", "/jobs", tuple[UploadInfo, ...], {"*states": tuple[UploadState, ...], "newest": Few}),
    Call("queue.counts", "GET", "/jobs/counts", dict[UploadState, int]),
    Call("queue.progress", "GET", "/jobs/progress", QueueProgress),
    Call("queue.pause", "POST", "/jobs/pause", list[int], _files),
    Call("queue.resume", "POST", "/jobs/resume", list[int], _files),
    Call("queue.retry", "POST", "/jobs/retry", list[int], _files),
    Call("queue.cancel", "POST", "/jobs/cancel", list[int], _files),
    Call("queue.remove", "POST", "/jobs/remove", list[UploadInfo], {"upload_ids": Numbers}),
    Call("queue.unlock", "POST", "/jobs/{upload_id}/unlock", None, {"upload_id": RowId, "password": Secret}),
    # search and answers
    Call("search", "POST", "/search", MultimodalResult, {"query": Query}, asks="search"),
    Call("search_by_picture", "POST", "/search/picture", MultimodalResult, {"query": Query}, asks="search",
        method="search", is_by_picture=True),
    Call("ask", "POST", "/ask", Answer, {"query": Query}, asks="answer"),
    Call("check", "POST", "/check", CheckedDraft, {"draft": Draft, "filters": Filters}),
    Call("find", "POST", "/find", Listed, {"words": Question, "what": Listable, "filters": Filters}),
    # conversations
    Call("conversations.threads", "GET", "/threads", tuple[Thread, ...], {
        "search": Title, "deleted": bool, "archived": bool,
    }),
    Call("conversations.create", "POST", "/threads", Thread, {
        "title": Title, "thread_id": or_none(Name), "collections": Ids, "documents": Ids,
    }),
    Call("conversations.find_thread", "GET", "/threads/find", Thread, {"name": Name}),
    Call("conversations.thread", "GET", "/threads/{thread_id}", Thread, {"thread_id": Name}),
    Call("conversations.rename", "PATCH", "/threads/{thread_id}", Thread, {"thread_id": Name, "title": Title}),
    Call("conversations.bin", "DELETE", "/threads/{thread_id}", Thread, {"thread_id": Name}),
    Call("conversations.restore", "POST", "/threads/{thread_id}/restore", Thread, {"thread_id": Name}),
    Call(
        "conversations.view", "GET", "/threads/{thread_id}/transcript", ThreadView,
        {"thread_id": Name, "checkpoint_id": or_none(Name), "last": or_none(Few)},
    ),
    Call("conversations.live", "GET", "/threads/{thread_id}/run", RunProgress | None, {"thread_id": Name}),
    Call("conversations.start", "POST", "/threads/{thread_id}/ask", str, _asked, asks="turn"),
    Call("conversations.start_once", "POST", "/runs", str, {"query": Query}, asks="turn"),
    Call("conversations.ask", "POST", "/turns", Turn, {**_asked, "thread_id": or_none(Name)}, asks="turn"),
    Call("conversations.run", "GET", "/runs/{run_id}", RunProgress, {"run_id": Name}),
    Call("conversations.stop", "POST", "/runs/{run_id}/stop", None, {"run_id": Name}),
    # checks
    Call("doctor.examine", "POST", "/doctor", CheckReport, {"level": Level}),
    Call("doctor.repair", "POST", "/doctor/repair", RepairReport, {"level": Level}),
    # memories, models, settings
    Call("memories.list", "GET", "/memories", MemoryList, {"search": Title, "thread_id": or_none(Name), "limit": Few}),
    Call("memories.add", "POST", "/memories", Memory, {"text": Text, "thread_id": or_none(Name)}),
    Call("memories.find", "GET", "/memories/find", Memory, {"name": Name}),
    Call("memories.expand", "POST", "/memories/expand", str, {"question": Question, "thread_id": or_none(Name)}),
    Call("memories.edit", "PATCH", "/memories/{memory_id}", Memory, {"memory_id": Name, "text": Text}),
    Call("memories.remove", "DELETE", "/memories/{memory_id}", Memory, {"memory_id": Name}),
    Call("models.list", "GET", "/models", ModelList, {"refresh": bool}),
    Call("models.degraded", "GET", "/models/degraded", tuple[Degraded, ...]),
    Call("visual.is_on", "GET", "/models/{kind}/on", bool, {"kind": Literal["image", "late"]}),
    Call("visual.models", "GET", "/models/visual", tuple[ModelCard, ...]),
    Call("visual.embeddings", "GET", "/models/visual/jobs", tuple[EmbeddingProgress, ...]),
    Call(
        "visual.submit_embedding", "POST", "/models/visual/jobs", str, {"name": Name, "doc_ids": Ids, "force": bool},
    ),
    Call("settings.list", "GET", "/settings", tuple[SettingInfo, ...]),
    Call("settings.info", "GET", "/settings/{name}", SettingInfo, {"name": Name}),
    # tokens of programs, for processes of the user alone
    Call("tokens.list", "GET", "/tokens", tuple[ApiToken, ...]),
    Call("tokens.new", "POST", "/tokens", NewApiToken, {"name": Name, "scope": TokenScope}),
    Call("tokens.revoke", "POST", "/tokens/revoke", ApiToken, {"name": Name}),
)  # fmt: skip
