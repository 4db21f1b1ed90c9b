"""The guard of the owner: native code reaches this machine, and another only while the egress rule lets it.

Each program runs in a network of its own that has one address beyond loopback, so what the guard lets through arrives.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT, require
from docmind.network import network_guard
from docmind.runtime import seccomp
from watched import ALONE, require_namespace

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the guard is a filter of Linux")

ELSEWHERE = "192.0.2.7"  # of a block for documentation, given to this network alone
START = f"""
import ctypes, fcntl, json, os, socket, struct, subprocess, sys, threading, time
from docmind.network import network_guard

with socket.socket() as one:  # a second address of `lo`
    for request, data in ((0x8916, socket.inet_aton("{ELSEWHERE}")), ):
        fcntl.ioctl(one, request, struct.pack("16sHH4s8x8x", b"lo:1", 2, 0, data))
server = socket.create_server(("0.0.0.0", 0))
port = server.getsockname()[1]
six = socket.create_server(("::1", 0), family=socket.AF_INET6) if socket.has_ipv6 else None
libc = ctypes.CDLL(None, use_errno=True)

def reach(address, at=None):
    "By a native call: 0, or the number of the error."
    where = struct.pack("<H", 2) + struct.pack(">H", at or port) + socket.inet_aton(address) + bytes(8)
    one = libc.socket(2, 1, 0)
    ctypes.set_errno(0)
    code = libc.connect(one, where, 16)
    found = ctypes.get_errno() if code else 0
    os.close(one)
    return found

def send(call):
    "A datagram by sendto, sendmsg or sendmmsg; 0, or the number of the error."
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
            if call == "sendto":
                one.sendto(b"x", ("{ELSEWHERE}", port))
            elif call == "sendmsg":
                one.sendmsg([b"x"], [], 0, ("{ELSEWHERE}", port))
            else:
                where = struct.pack("<H", 2) + struct.pack(">H", port) + socket.inet_aton("{ELSEWHERE}") + bytes(8)
                name = ctypes.create_string_buffer(where, 16)
                head = ctypes.create_string_buffer(struct.pack("<QI44x8x", ctypes.addressof(name), 16), 64)
                ctypes.set_errno(0)
                if libc.sendmmsg(one.fileno(), head, 1, 0) < 0:
                    return ctypes.get_errno()
        return 0
    except OSError as error:
        return error.errno

def look_up():
    try:
        socket.getaddrinfo("telemetry.invalid", 443)
    except OSError as error:
        return error.errno
"""
REFUSED = 111


def told(code: str, **environment: str) -> Any:
    """Run a program under the guard and return its last line, parsed as JSON."""
    require_namespace()
    require(seccomp.can_notify(), "this kernel lets no filter ask another process")
    command = [*ALONE, sys.executable, "-c", START + code]
    environment = dict(os.environ, PYTHONPATH=str(ROOT / "src"), **environment)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_without_the_guard_everything_is_reached() -> None:
    seen = told(f'print(json.dumps([reach("127.0.0.1"), reach("{ELSEWHERE}"), send("sendto"), send("sendmsg"), '
                'send("sendmmsg")]))')  # fmt: skip
    assert seen == [0, 0, 0, 0, 0]


def test_native_code_reaches_this_machine_alone() -> None:
    seen = told(
        'network_guard().hold("on")\n'
        f'print(json.dumps([reach("127.0.0.1"), reach("{ELSEWHERE}"), send("sendto"), send("sendmsg"), '
        'send("sendmmsg")]))'
    )
    assert seen == [0, REFUSED, REFUSED, REFUSED, REFUSED]


@pytest.mark.slow
def test_threads_and_programs_are_held_too() -> None:
    """A thread that was there before the guard, and a program that is started after it."""
    seen = told(
        f"""
found, go = [], threading.Event()
thread = threading.Thread(target=lambda: (go.wait(), found.append(reach("{ELSEWHERE}"))))
thread.start()
network_guard().hold("on")
go.set()
thread.join()
code = f"import socket; print(socket.socket().connect_ex(('{ELSEWHERE}', {{port}})))"
found.append(int(subprocess.check_output([sys.executable, "-c", code])))
print(json.dumps(found))
"""
    )
    assert seen == [REFUSED, REFUSED]


def test_a_permit_is_for_one_address_port_thread_and_time() -> None:
    seen = told(
        f"""
network_guard().hold("on")
other = socket.create_server(("0.0.0.0", 0)).getsockname()[1]
found = []
with network_guard().permitted(["{ELSEWHERE}"], port):
    found += [reach("{ELSEWHERE}"), reach("{ELSEWHERE}", other)]
    thread = threading.Thread(target=lambda: found.append(reach("{ELSEWHERE}")))
    thread.start()
    thread.join()
found.append(reach("{ELSEWHERE}"))
print(json.dumps(found))
"""
    )
    assert seen == [0, REFUSED, REFUSED, REFUSED]


def test_names_are_asked_for_with_a_permit_alone() -> None:
    """A name server on loopback, which would ask others: the system's own is often one."""
    seen = told(
        """
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", 53))
network_guard().hold("on")
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
    found = [one.connect_ex(("127.0.0.1", 53))]
    with network_guard().resolving():
        found.append(one.connect_ex(("127.0.0.1", 53)))
print(json.dumps(found))
"""
    )
    assert seen == [REFUSED, 0]


@pytest.mark.slow
def test_the_egress_rule_gets_through() -> None:
    """An allowed host by `docmind.network.endpoint`; the same one by native code is refused."""
    seen = told(
        f"""
from docmind.network.endpoint import fetch, permit
network_guard().hold("on")

def answer():
    with server.accept()[0] as one:
        one.recv(9999)
        one.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nhi")

threading.Thread(target=answer, daemon=True).start()
there = permit(f"http://{ELSEWHERE}:{{port}}", "{ELSEWHERE}")
status, body = fetch(there, "/", timeout_s=10, max_bytes=100)
print(json.dumps([status, body.decode(), reach("{ELSEWHERE}")]))
"""
    )
    assert seen == [200, "hi", REFUSED]


@pytest.mark.slow
def test_a_qdrant_server_that_is_set_gets_through() -> None:
    seen = told(
        f"""
from docmind.config import Settings
from docmind.index.server import is_reachable
network_guard().hold("on")

def answer():
    with server.accept()[0] as one:
        one.recv(9999)
        body = b'{{"result": {{"collections": []}}, "status": "ok", "time": 0}}'
        one.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Type: application/json\\r\\n"
                    b"Content-Length: %d\\r\\n\\r\\n" % len(body) + body)

threading.Thread(target=answer, daemon=True).start()
found = is_reachable(Settings.model_validate({{"qdrant": {{"url": f"http://{ELSEWHERE}:{{port}}"}}}}))
print(json.dumps([found, reach("{ELSEWHERE}")]))
"""
    )
    assert seen == [True, REFUSED]


def test_what_was_refused_is_counted_and_named() -> None:
    seen = told(
        f"""
network_guard().hold("on")
reach("{ELSEWHERE}", 443), reach("{ELSEWHERE}", 443), reach("127.0.0.1"), send("sendto")
state = network_guard().state()
expected = {{"{ELSEWHERE}:443": 2, f"{ELSEWHERE}:{{port}}": 1}}
print(json.dumps([state.is_held, state.refused, dict(state.places) == expected]))
"""
    )
    assert seen == [True, 3, True]


@pytest.mark.slow
def test_each_part_is_counted_in_a_guarded_process() -> None:
    """A native connect, a program started later, a request of our own that is refused, and one that is allowed."""
    seen = told(
        f"""
from docmind.network import network_ledger
from docmind.network.endpoint import fetch, permit
network_guard().hold("on")
reach("{ELSEWHERE}", 443), reach("{ELSEWHERE}", 443)
code = "import socket; socket.socket().connect_ex(('{ELSEWHERE}', 25))"
subprocess.run([sys.executable, "-c", code], check=True)
try:
    permit("https://telemetry.invalid/collect")
except Exception as error:
    refusal = type(error).__name__

def answer():
    with server.accept()[0] as one:
        one.recv(9999)
        one.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nhi")

threading.Thread(target=answer, daemon=True).start()
there = permit(f"http://{ELSEWHERE}:{{port}}", "{ELSEWHERE}", "language model")
fetch(there, "/", timeout_s=10, max_bytes=100)
ledger = network_ledger().report()
print(json.dumps([refusal, ledger.attempts, [[one.place, one.part, one.count] for one in ledger.refused],
                  [[one.purpose, one.count, one.place == f"{ELSEWHERE}:{{port}}"] for one in ledger.allowed],
                  ledger.is_guarded]))
"""
    )
    assert seen == [
        "EndpointRefusedError",
        4,
        [[f"{ELSEWHERE}:443", "native", 2], [f"{ELSEWHERE}:25", "native", 1], ["telemetry.invalid:443", "python", 1]],
        [["language model", 1, True]],
        True,
    ]


def test_without_its_supervisor_nothing_is_reached() -> None:
    seen = told(
        f"""
network_guard().hold("on")
network_guard()._process.kill()
network_guard()._process.wait()
print(json.dumps([reach("127.0.0.1") != 0, reach("{ELSEWHERE}") != 0, network_guard().state().reason]))
"""
    )
    assert seen[:2] == [True, True]
    assert "supervisor has ended" in seen[2]


def test_the_supervisor_ends_with_the_last_guarded_process(tmp_path: Path) -> None:
    require(seccomp.can_notify(), "this kernel lets no filter ask another process")
    import psutil

    code = (
        "import time\nfrom docmind.network import network_guard\nnetwork_guard().hold('on')\n"
        "print(network_guard()._process.pid, flush=True)\ntime.sleep(60)"
    )
    environment = dict(os.environ, PYTHONPATH=str(ROOT / "src"))
    with subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        supervisor = psutil.Process(int(owner.stdout.readline()))
        owner.send_signal(signal.SIGKILL)
    supervisor.wait(10)


@pytest.mark.slow
def test_a_second_guard_is_none_and_on_says_so() -> None:
    """A filter that asks can hold once: a DocMind that another one started goes on under the first."""
    inner = "from docmind.network import network_guard as guard; guard().hold({mode!r}); print(guard().state().is_held)"
    seen = told(
        f"""
network_guard().hold("on")
found = []
for mode in ("auto", "on"):
    code = {inner!r}.replace("{{mode!r}}", repr(mode))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    found.append([done.stdout.strip(), "DOCMIND_NETWORK__STRICT" in done.stderr])
print(json.dumps(found))
"""
    )
    assert seen == [["False", False], ["", True]]


def test_off_is_off() -> None:
    code = 'network_guard().hold("off")\nnow = network_guard().state()\nprint(json.dumps([now.is_held, now.reason]))'
    assert told(code) == [False, "It is switched off."]
    assert not network_guard().state().is_held
