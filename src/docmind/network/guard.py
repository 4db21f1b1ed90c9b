"""The guard that keeps native code of this process and its children from reaching other machines.

A filter stops `connect` and datagrams to an address and asks a supervisor process (`docmind.network.supervisor`), which
allows this machine, and another host only while `docmind.network.endpoint` permits it. Linux only, and only where the
kernel (5.9 or newer) and the system's rules for reading another process allow it.
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from docmind.errors import ConfigError
from docmind.runtime import quiet, seccomp
from docmind.wording import _

Mode = Literal["auto", "on", "off"]

_SUPERVISOR = Path(__file__).with_name("supervisor.py")
_PR_SET_PTRACER = 0x5961_6D61
_REPLY_S = 10.0
_PACKET = 65_536
_PROBE = b"docmind?"
_ENDED = "Its supervisor has ended: no connection is possible until DocMind is restarted."
_NEEDS = "It needs Linux 5.9 or newer, seccomp, and the right to read the memory of its own processes."


@dataclass(frozen=True, slots=True)
class GuardState:
    """State of the guard: whether it is active, why not, and how often it refused each address.

    An address is `host:port`, a name service, or an address family; the data of refused calls is not kept.
    """

    is_held: bool
    reason: str = ""
    refused: int = 0
    places: tuple[tuple[str, int], ...] = ()


class Guard:
    """The guard of one process, which cannot be removed once it is installed. Thread-safe.

    It also applies to programs started later: start the user's browser before. Where the supervisor ends, every
    connection fails.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._reason = "It has not been asked for."
        self._names = itertools.count()

    def hold(self, mode: Mode) -> None:
        """Install the guard, unless it is active or `mode` is "off".

        Raises `ConfigError` where `mode` is "on" and it cannot be installed.
        """
        with self._lock:
            if self._control is not None:
                return
            if mode == "off":
                self._reason = "It is switched off."
                return
            try:
                self._install()
            except OSError as error:
                self._reason = error.strerror or str(error)
                if mode == "on":
                    raise ConfigError(
                        _("DOCMIND_NETWORK__STRICT is on, but it cannot be held here: {reason}.").format(
                            reason=self._reason
                        ),
                        hint=_("{needs} Set DOCMIND_NETWORK__STRICT=auto to go on without it.").format(needs=_NEEDS),
                    ) from error

    def state(self) -> GuardState:
        """Return the current state."""
        with self._lock:
            if self._control is None:
                return GuardState(False, self._reason)
            try:
                told = self._ask({"report": True})
            except OSError:
                return GuardState(False, _ENDED)
            return GuardState(True, "", told["refused"], tuple(told["places"].items()))

    @contextlib.contextmanager
    def permitted(self, addresses: Sequence[str], port: int) -> Iterator[None]:
        """Let this thread connect to these addresses at this port while the block runs."""
        with contextlib.ExitStack() as held:
            for address in addresses:
                held.enter_context(self._permit({"address": address, "port": port}))
            yield

    @contextlib.contextmanager
    def resolving(self) -> Iterator[None]:
        """Let this thread ask name servers while the block runs."""
        with self._permit({"names": True}):
            yield

    @contextlib.contextmanager
    def _permit(self, what: dict[str, Any]) -> Iterator[None]:
        if self._control is None:
            yield
            return
        name = str(next(self._names))
        self._tell({"permit": name, "thread": threading.get_native_id(), **what})
        try:
            yield
        finally:
            self._tell({"release": name})

    def _tell(self, packet: dict[str, Any]) -> None:
        with self._lock, contextlib.suppress(OSError):  # without a supervisor the connection fails by itself
            self._ask(packet)

    def _ask(self, packet: dict[str, Any], descriptors: Sequence[int] = ()) -> dict[str, Any]:
        """Send one packet and return the reply. Raises `OSError`."""
        control = self._control
        assert control is not None
        data = json.dumps(packet).encode()
        if descriptors:
            socket.send_fds(control, [data], descriptors)
        else:
            control.send(data)
        reply = json.loads(control.recv(_PACKET) or b'{"error": 32}')
        if "error" in reply:
            raise OSError(reply["error"], os.strerror(reply["error"]))
        return reply

    def _install(self) -> None:
        known = seccomp.calls()
        if known is None or not seccomp.can_notify():
            raise OSError(0, "this system has no such filter")
        mine, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        numbers = {name: known[name] for name in ("connect", "sendto", "sendmsg", "sendmmsg")}
        try:
            mine.settimeout(_REPLY_S)
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", str(_SUPERVISOR), str(theirs.fileno()), json.dumps(numbers)],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                env=quiet.VARIABLES, cwd="/", pass_fds=(theirs.fileno(),),
                start_new_session=True,  # Ctrl-C in the terminal must not end it before its owner
            )  # fmt: skip
        except OSError:
            mine.close()
            raise
        finally:
            theirs.close()
        self._control = mine
        try:
            self._check_that_memory_is_read()
            ask, rule = seccomp.NOTIFY, seccomp.Rule
            rules = [
                rule(known.of("connect", "sendmmsg"), ask),
                rule(known.of("sendto"), ask, argument=4, unless=(0,)),  # with an address
                # Except on the supervisor's socket.
                rule(known.of("sendmsg"), ask, argument=0, unless=(mine.fileno(),)),
            ]
            listener = seccomp.install_with_listener(seccomp.program(known, rules))
        except OSError:
            self._control = None
            mine.close()
            self._process.wait(_REPLY_S)
            raise
        try:
            self._ask({"listener": True}, [listener])
        finally:
            os.close(listener)  # so that connections fail instead of waiting where the supervisor ends

    def _check_that_memory_is_read(self) -> None:
        """Raise `OSError` where the supervisor may not read the memory of this process."""
        assert self._process is not None
        probe = ctypes.create_string_buffer(_PROBE)
        libc = ctypes.CDLL(None, use_errno=True)
        libc.prctl(_PR_SET_PTRACER, self._process.pid, 0, 0, 0)  # an error where the system has no such rule
        reply = self._ask({"probe": ctypes.addressof(probe), "pid": os.getpid()})
        if bytes.fromhex(reply["bytes"]) != _PROBE:
            raise OSError(0, "the supervisor reads other memory than ours")


_guard: Guard | None = None
_making = threading.Lock()


def network_guard() -> Guard:
    """Return the guard of this process, installed or not."""
    global _guard
    with _making:
        if _guard is None:
            _guard = Guard()
        return _guard
