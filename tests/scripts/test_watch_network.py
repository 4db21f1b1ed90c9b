"""What a command sends is seen on the loopback device, whoever sends it."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

from conftest import ROOT, require
from watched import require_namespace

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="network namespaces")

STAYS = """
import socket
with socket.create_server(("127.0.0.1", 0)) as server:
    socket.create_connection(server.getsockname()).close()
"""
# libc resolves and connects here: nothing that Python could hook.
LEAVES = """
import ctypes, socket, struct
libc = ctypes.CDLL(None)
found = ctypes.c_void_p()
libc.getaddrinfo(b"telemetry.invalid", b"443", None, ctypes.byref(found))
for family, address in ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1")):
    packed = socket.inet_pton(family, address)
    place = struct.pack("!HI", 443, 0) + packed + bytes(4) if len(packed) == 16 else struct.pack("!H", 443) + packed
    place = struct.pack("H", family) + place.ljust(14, bytes(1))
    handle = libc.socket(family, socket.SOCK_STREAM, 0)
    libc.connect(handle, place, len(place))
"""


def watch(code: str) -> subprocess.CompletedProcess[str]:
    require_namespace()
    require(shutil.which("ip"), "no ip on this system (Debian: apt install iproute2)")
    command = [sys.executable, str(ROOT / "scripts" / "watch_network.py"), sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_what_stays_on_the_machine_is_counted_and_no_fault() -> None:
    result = watch(STAYS)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == "1 connections and datagrams, 0 of them not for this machine\n"


def test_names_and_addresses_elsewhere_are_told() -> None:
    result = watch(LEAVES)
    assert result.returncode == 3, result.stderr
    assert "TCP 192.0.2.1 port 443" in result.stdout
    assert "TCP 2001:db8::1 port 443" in result.stdout
    assert "port 53 asks for telemetry.invalid" in result.stdout


def test_the_exit_code_is_that_of_the_command() -> None:
    assert watch("raise SystemExit(7)").returncode == 7
