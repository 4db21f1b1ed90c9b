"""A process that has everything imported and forks for each request, so that a fault costs milliseconds.

One server runs under the shim and does operations, another without it opens what they left. A request names a function
of this package; the fork calls it and answers with JSON lines: notes on the way, then the result. A fork that is killed
has given the notes that it had given.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
PATHS = [str(ROOT / "tests"), str(ROOT / "tests" / "support"), str(ROOT / "src"), str(ROOT / "scripts")]
_STARTING_S = 240.0


@dataclass(slots=True)
class Ended:
    """How a fork ended: its notes, its result, and its exit status (negative: the signal)."""

    status: int
    notes: list[dict[str, Any]] = field(default_factory=list)
    result: Any = None
    is_late: bool = False
    said: str = ""

    @property
    def is_killed(self) -> bool:
        return self.status == -signal.SIGKILL and not self.is_late


class Server:
    """A running server. Not thread-safe: one request at a time. A context manager."""

    def __init__(self, environment: dict[str, str] | None = None) -> None:
        given = dict(os.environ if environment is None else environment)
        given = {name: value for name, value in given.items() if not name.startswith("DOCMIND_")}
        given |= {
            "PYTHONPATH": os.pathsep.join(PATHS), "DOCMIND_NETWORK__STRICT": "off", "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1", "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring", "LC_ALL": "C.UTF-8",
            "PYTHONDONTWRITEBYTECODE": "1", "TOKENIZERS_PARALLELISM": "false",
        }  # fmt: skip
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the server
        self._process = subprocess.Popen(
            [sys.executable, "-m", "faults.server"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log,
            env=given, cwd=ROOT,
        )  # fmt: skip
        self._is_ready = False

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_unused: object) -> None:
        self.close()

    def call(self, function: str, *, timeout_s: float = 120.0, **arguments: Any) -> Ended:
        """Call `module:function` of this package in a fork. Raises `RuntimeError` where the server has died."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        if not self._is_ready:
            self._answer()
            self._is_ready = True
        request = {"do": function, "arguments": arguments, "timeout_s": timeout_s}
        self._process.stdin.write(json.dumps(request).encode() + b"\n")
        self._process.stdin.flush()
        return Ended(**self._answer())

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self._log.seek(0)
            raise RuntimeError(f"the server of the faults died: {self._log.read().decode('utf-8', 'replace')[-3000:]}")
        return json.loads(line)

    def close(self) -> None:
        """End the server."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()
        self._log.close()


_results = -1


def note(**what: Any) -> None:
    """Tell the caller something now, so that it is known whatever happens to this fork afterwards."""
    os.write(_results, json.dumps({"note": what}).encode() + b"\n")


def _serve() -> None:
    from faults import vaults

    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    vaults.warm()
    alone = threading.enumerate()
    assert len(alone) == 1, f"a fork would lose these threads: {alone}"
    answers.write(b"{}\n")
    answers.flush()
    for line in sys.stdin.buffer:
        request = json.loads(line)
        answers.write(json.dumps(_forked(request)).encode() + b"\n")
        answers.flush()


def _forked(request: dict[str, Any]) -> dict[str, Any]:
    """Call the function in a fork and return what became of it; whatever it started is ended."""
    incoming, outgoing = os.pipe()
    with tempfile.TemporaryFile() as said:
        child = os.fork()
        if not child:
            os.close(incoming)
            _run(request, outgoing, said.fileno())
        os.close(outgoing)
        lines, is_late = _read(incoming, child, request["timeout_s"])
        os.close(incoming)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)  # its own children
        said.seek(0)
        found: dict[str, Any] = {"status": status, "is_late": is_late, "notes": [], "result": None}
        found["said"] = said.read().decode("utf-8", "replace")[-4000:]
    for line in lines:
        if "note" in line:
            found["notes"].append(line["note"])
        else:
            found["result"] = line["result"]
    return found


def _read(incoming: int, child: int, timeout_s: float) -> tuple[list[dict[str, Any]], bool]:
    """Read lines until the fork ends; kill it, with what it started, where it takes too long."""
    data, until, is_late = b"", time.monotonic() + timeout_s, False
    while True:
        ready, _, _ = select.select([incoming], [], [], max(0.0, until - time.monotonic()))
        if not ready:
            is_late = True
            os.killpg(child, signal.SIGKILL)
            until = time.monotonic() + 10
            continue
        chunk = os.read(incoming, 1 << 16)
        if not chunk:
            break
        data += chunk
    return [json.loads(line) for line in data.splitlines()], is_late


def _run(request: dict[str, Any], outgoing: int, said: int) -> None:
    """Run the function in the fork, which ends here."""
    global _results
    code = 1
    try:
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(said, 1)
        os.dup2(said, 2)
        os.set_inheritable(outgoing, False)
        _results = outgoing
        module, _, name = request["do"].partition(":")
        result = getattr(importlib.import_module(f"faults.{module}"), name)(**request["arguments"])
        os.write(outgoing, json.dumps({"result": result}).encode() + b"\n")
        code = 0
    except BaseException:  # noqa: BLE001 - the caller reads it in `said`
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    from faults import server

    server._serve()
