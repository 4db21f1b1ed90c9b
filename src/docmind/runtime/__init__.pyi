from . import landlock, quiet, seccomp
from .background import Background
from .caches import Cache, Caches
from .client import Ask, Client, error_named, restarts
from .confined import Ran, run_confined
from .deadline import Clock, Outcome, Starts, TimedCall, TimedCalls, ms_since
from .extras import licence_of, need_extra
from .forking import can_fork, fork_server_pid
from .import_lock import ALONE
from .limits import Limits
from .logging import log_mistake, start_logging
from .memory import free_memory, total_memory
from .priority import Check, Interactive
from .refusals import refused_calls
from .sandbox import Way, change_nothing_more
from .threads import start_thread
from .worker import (
    Answer,
    Frame,
    Header,
    Worker,
    apply,
    isolation,
    read_frame,
    read_request,
    refusal,
    serve_requests,
    start_children,
    write_frame,
)

__all__ = [
    "ALONE",
    "Answer",
    "Ask",
    "Background",
    "Cache",
    "Caches",
    "Check",
    "Client",
    "Clock",
    "Frame",
    "Header",
    "Interactive",
    "Limits",
    "Outcome",
    "Ran",
    "Starts",
    "TimedCall",
    "TimedCalls",
    "Way",
    "Worker",
    "apply",
    "can_fork",
    "change_nothing_more",
    "error_named",
    "fork_server_pid",
    "free_memory",
    "isolation",
    "landlock",
    "licence_of",
    "log_mistake",
    "ms_since",
    "need_extra",
    "quiet",
    "read_frame",
    "read_request",
    "refusal",
    "refused_calls",
    "restarts",
    "run_confined",
    "seccomp",
    "serve_requests",
    "start_children",
    "start_logging",
    "start_thread",
    "total_memory",
    "write_frame",
]
