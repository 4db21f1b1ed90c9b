"""Environment variables that disable telemetry and network requests of libraries.

`import docmind` sets them, so every program that imports it (app, command line, child process, notebook) has them
before a library can read them. The plain scripts load this file by its path: it imports only the standard library.
docs/security.md says what each library would send.
"""

from __future__ import annotations

import os
from collections.abc import MutableMapping
from typing import Any

VARIABLES = {
    # onnxruntime: usage events, a device id and a cache of unsent events. Read once, when the library is loaded.
    "ORT_DISABLE_TELEMETRY": "1",
    # Understood by several libraries; huggingface_hub reads the first two.
    "DO_NOT_TRACK": "1",
    "DISABLE_TELEMETRY": "1",
    "ANONYMIZED_TELEMETRY": "false",
    "OTEL_SDK_DISABLED": "true",
    # huggingface_hub, transformers, tokenizers: no report, no request, no token of the person.
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_DISABLE_UPDATE_CHECK": "1",
    "HF_HUB_DISABLE_IMPLICIT_TOKEN": "1",
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "DISABLE_SAFETENSORS_CONVERSION": "1",
    # Streamlit: statistics of use, and a question for an e-mail address.
    "STREAMLIT_BROWSER_GATHER_USAGE_STATS": "false",
    "STREAMLIT_SERVER_SHOW_EMAIL_PROMPT": "false",
    # LangChain and LangGraph: where one of these is true, every question and passage goes to a tracing service.
    "LANGSMITH_TRACING": "false",
    "LANGSMITH_TRACING_V2": "false",
    "LANGCHAIN_TRACING": "false",
    "LANGCHAIN_TRACING_V2": "false",
    # LangGraph: checkpoints are rebuilt from plain data alone.
    "LANGGRAPH_STRICT_MSGPACK": "true",
}
"""By name. They override the environment, because another value would let a library send something."""


def apply(environment: MutableMapping[str, str] | None = None) -> None:
    """Set every variable in this process, or in the environment of another one. Idempotent."""
    target = os.environ if environment is None else environment
    target.update(VARIABLES)


def import_onnxruntime() -> Any:
    """Import ONNX Runtime with telemetry disabled by variable and by call. Raises `ImportError`.

    The variable alone prevents every event and file (measured with 1.31.1 on Linux); the call alone comes after the
    first event. The call is for a process in which another program had imported the library before DocMind.
    """
    apply()
    import onnxruntime as library

    library.disable_telemetry_events()
    return library


def import_prometheus() -> Any:
    """Import prometheus_client so that it counts in memory alone. Raises `ImportError`.

    Where one of these variables is set, it writes every value to files, unencrypted, and for each process.
    """
    for name in ("PROMETHEUS_MULTIPROC_DIR", "prometheus_multiproc_dir"):
        os.environ.pop(name, None)
    import prometheus_client.core

    prometheus_client.disable_created_metrics()
    return prometheus_client


def drop_opentelemetry() -> None:
    """Remove every variable of OpenTelemetry from this process, before DocMind makes a tracer of its own.

    They would choose providers, limits and headers, and one with an odd value ends the program. `apply` sets again the
    one that keeps the tracers of libraries off.
    """
    for name in [name for name in os.environ if name.upper().startswith("OTEL_")]:
        del os.environ[name]
