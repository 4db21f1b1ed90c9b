"""Traces: what one reading, search or answer was made of, and how long each part took, for OpenTelemetry.

Off unless `traces.url` is set. A span has the fields of events that a log may hold too (`fields`), and of an error the
name of its class: no message, no trace of the source. What is sent names DocMind and its version, and not this machine.
The tracer is DocMind's own: libraries that look for a common one find none, and send nothing.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Literal

import httpx

from docmind.config import Settings
from docmind.errors import DocMindError
from docmind.network import Endpoint, fetch, permit
from docmind.observability.events import Answered, Embedded, Event, Searched, add_sink, remove_sink
from docmind.observability.fields import NAMES, fields_of
from docmind.runtime import need_extra, quiet

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.sdk.trace.export import SpanExporter
    from opentelemetry.trace import Span

Operation = Literal["ingest", "search", "answer"]
"""What a span is made of; a list of a search, and vectors that are made, have spans inside it."""

_SEND_S, _AGAIN_S = 2.0, 30.0  # a collector that does not answer holds the end of the program for the first, once
_ANSWER_BYTES = 1 << 16
_SAID_BY: dict[type, Operation] = {Searched: "search", Answered: "answer"}  # events that tell of a whole operation

_log = logging.getLogger(__name__)
_starting = threading.Lock()
_traces: Traces | None = None
_current: ContextVar[tuple[Operation, Span] | None] = ContextVar("docmind_span", default=None)


def start_traces(settings: Settings) -> None:
    """Send traces from now on where the settings name an address for them; once in a process.

    Raises `EndpointRefusedError` for an address that is neither on this machine nor among `llm.allowed_hosts`, and
    `ExtraMissingError` where the packages of the extra `traces` are missing.
    """
    if settings.traces.url is None:
        return
    endpoint = permit(settings.traces.url, settings.llm.allowed_hosts, "traces")
    need_extra("traces")
    with _starting:
        if _traces is None:
            quiet.drop_opentelemetry()  # some are read when a module is imported
            _trace_to(_sender_to(endpoint))


def _trace_to(exporter: SpanExporter, *, is_at_once: bool = False) -> None:
    global _traces
    _traces = Traces(exporter, is_at_once=is_at_once)
    add_sink(_traces.take)


def stop_traces() -> None:
    """Send what is left, and trace nothing from now on."""
    global _traces
    with _starting:
        if _traces is not None:
            remove_sink(_traces.take)
            _traces.close()
        _traces = None


@contextmanager
def traced(operation: Operation) -> Iterator[None]:
    """Trace what runs inside, in this thread; nothing happens where traces are off."""
    if _traces is None:
        yield
        return
    above = _current.get()
    span = _traces.begin(operation, above[1] if above else None)
    token = _current.set((operation, span))
    try:
        yield
    except BaseException as error:
        _traces.fail(span, error)
        raise
    finally:
        _current.reset(token)
        span.end()


class Traces:
    """Spans of this process, sent in the background, or as they end with `is_at_once`. Thread-safe."""

    def __init__(self, exporter: SpanExporter, *, is_at_once: bool = False) -> None:
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider, sampling
        from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor

        from docmind import __version__

        # Among them is the one that keeps the tracers of libraries off, which a provider reads when it is made.
        quiet.drop_opentelemetry()
        # A resource made so holds no more than this: `Resource.create` would ask the system and the environment.
        about = Resource({"service.name": "docmind", "service.version": __version__})
        try:
            self._provider = TracerProvider(resource=about, sampler=sampling.ALWAYS_ON)
        finally:
            quiet.apply()
        self._provider.add_span_processor(SimpleSpanProcessor(exporter) if is_at_once else BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer("docmind")

    def begin(self, name: str, above: Span | None, *, started_ns: int | None = None) -> Span:
        """Return a new span inside `above`, which no library takes for its own: it is in no common context."""
        from opentelemetry.context import Context
        from opentelemetry.trace import set_span_in_context

        inside = set_span_in_context(above, Context()) if above is not None else Context()
        return self._tracer.start_span(
            name, inside, start_time=started_ns, record_exception=False, set_status_on_exception=False
        )

    def fail(self, span: Span, error: BaseException) -> None:
        """Mark a span as failed, with the class of the error alone: its message may repeat text."""
        from opentelemetry.trace import StatusCode

        span.set_status(StatusCode.ERROR)
        span.set_attribute("error.type", type(error).__name__)

    def take(self, event: Event) -> None:
        """Add an event to the span of this thread; one that took a while becomes a span inside it."""
        current = _current.get()
        if current is None:
            return
        operation, span = current
        told = fields_of(event)
        if isinstance(event, Searched):
            self._lists(event, span)
        if _SAID_BY.get(type(event)) == operation:
            span.set_attributes(_plain(told))
        elif isinstance(event, Embedded):
            ended_ns = time.time_ns()
            part = self.begin("embed", span, started_ns=ended_ns - int(event.ms * 1e6))
            part.set_attributes(_plain(told))
            part.end(ended_ns)
        else:
            span.add_event(NAMES[type(event)], _plain(told))

    def _lists(self, event: Searched, span: Span) -> None:
        """Add a span for each list that was asked, from the beginning of the search: they run side by side."""
        started_ns = time.time_ns() - int(event.ms * 1e6)
        for one in fields_of(event)["lists"] or ():  # type: ignore[union-attr]
            if one["ms"]:
                part = self.begin(f"search.{one['name']}", span, started_ns=started_ns)
                part.set_attributes(_plain(one))
                part.end(started_ns + int(one["ms"] * 1e6))

    def close(self) -> None:
        """Send what is left and stop."""
        self._provider.shutdown()


def _plain(told: dict[str, Any]) -> dict[str, Any]:
    return {f"docmind.{name}": value for name, value in told.items() if isinstance(value, int | float | str)}


def _sender_to(endpoint: Endpoint) -> SpanExporter:
    """Return what sends spans to an endpoint, as OTLP over HTTP and under the egress rule.

    The exporter of OpenTelemetry would take its headers, proxies and certificates from the environment.
    """
    from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
    from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

    class Sender(SpanExporter):
        _again_s = float("-inf")  # spans are dropped until then

        def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
            if time.monotonic() < self._again_s:
                return SpanExportResult.FAILURE
            body = encode_spans(spans).SerializeToString()
            kind = {"Content-Type": "application/x-protobuf"}
            try:
                status, _ = fetch(endpoint, "", timeout_s=_SEND_S, max_bytes=_ANSWER_BYTES, body=body, headers=kind)
            except (httpx.HTTPError, DocMindError) as error:
                _log.warning("traces could not be sent: %s", error)
                self._again_s = time.monotonic() + _AGAIN_S
                return SpanExportResult.FAILURE
            if not 200 <= status < 300:
                _log.warning("traces were not taken: status %d", status)
                return SpanExportResult.FAILURE
            return SpanExportResult.SUCCESS

    return Sender()
