"""Run a command and count its outgoing packets: `.venv/bin/python scripts/watch_network.py COMMAND...` (Linux).

The command, with all its children, runs in a network namespace of its own, in which every address of the world is this
machine: a connection is refused at once and a query finds no server. Every first packet of a connection, every datagram
and every packet to a name server is seen on the loopback device, whichever library or program sends it. Nothing leaves
the machine.

Prints one line for each packet that would have gone elsewhere: when, the process, where to, and the name that was asked
for. The exit code is 3 if there was one, else that of the command. Needs root or user namespaces, and iproute2.

    .venv/bin/python scripts/watch_network.py .venv/bin/python scripts/run_tests.py
"""

from __future__ import annotations

import argparse
import collections
import ctypes
import ipaddress
import os
import shutil
import socket
import struct
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

_NEW_USER, _NEW_NET = 0x10000000, 0x40000000
_ALL_PROTOCOLS = 0x0003
_TCP, _UDP = 6, 17
NAME_PORTS = (53, 853, 5353, 5355)
_QUIET_S = 1.0  # packets that are still on their way when the command ends


@dataclass(frozen=True, slots=True)
class Packet:
    """The first packet of a TCP connection, or a datagram. Addresses are textual."""

    protocol: str
    source_port: int
    address: str
    port: int
    name: str = ""

    @property
    def leaves(self) -> bool:
        """Return whether it asks for a name, or is for another machine."""
        return self.port in NAME_PORTS or not ipaddress.ip_address(self.address).is_loopback

    def __str__(self) -> str:
        asked = f" asks for {self.name}" if self.name else ""
        return f"{self.protocol} {self.address} port {self.port}{asked}"


def parse(raw: bytes) -> Packet | None:
    """Parse the packet in `raw`, which begins with its IP header; None for answers and for other protocols."""
    if raw[0] >> 4 == 4:
        protocol, payload, target = raw[9], raw[(raw[0] & 15) * 4 :], str(ipaddress.ip_address(raw[16:20]))
    else:
        protocol, payload, target = raw[6], raw[40:], str(ipaddress.ip_address(raw[24:40]))
    if protocol not in (_TCP, _UDP):
        return None
    source_port, port = struct.unpack_from("!HH", payload)
    if protocol == _TCP:
        is_first = payload[13] & 0x12 == 0x02  # SYN without ACK
        return Packet("TCP", source_port, target, port) if is_first else None
    return Packet("UDP", source_port, target, port, _question(payload[8:]) if port in NAME_PORTS else "")


def _question(query: bytes) -> str:
    labels: list[str] = []
    at = 12
    while at < len(query) and query[at]:
        labels.append(query[at + 1 : at + 1 + query[at]].decode("ascii", "replace"))
        at += 1 + query[at]
    return ".".join(labels)


def sender(packet: Packet) -> str:
    """Return the command line of the process whose socket sent it; "a process that is gone" where it has ended."""
    for table in ("tcp", "tcp6", "udp", "udp6"):
        for line in Path(f"/proc/net/{table}").read_text("ascii").splitlines()[1:]:
            fields = line.split()
            port = int(fields[1].rpartition(":")[2], 16)
            if table.startswith(packet.protocol.lower()) and port == packet.source_port:
                found = _holder(f"socket:[{fields[9]}]")
                if found:
                    return found
    return "a process that is gone"


def _holder(link: str) -> str:
    for handle in Path("/proc").glob("[0-9]*/fd/*"):
        try:
            if os.readlink(handle) == link:
                command = (handle.parents[1] / "cmdline").read_bytes().replace(b"\0", b" ")
                return command.decode("utf-8", "replace")[:160]
        except OSError:  # it ended, or belongs to somebody else
            continue
    return ""


class Watcher:
    """A reader of the loopback device, in a separate thread, until it is closed."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(_ALL_PROTOCOLS))
        self._socket.bind(("lo", 0))
        self._socket.settimeout(0.2)
        self.seen = 0
        self.outside: list[str] = []
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def close(self) -> None:
        time.sleep(_QUIET_S)
        self._ends.set()
        self._thread.join()
        self._socket.close()

    def _read(self) -> None:
        while not self._ends.is_set():
            try:
                raw, origin = self._socket.recvfrom(65_535)
            except TimeoutError:
                continue
            if origin[2] != socket.PACKET_OUTGOING:  # type: ignore[attr-defined]  # each is seen twice
                continue
            packet = parse(raw)
            if packet is None:
                continue
            self.seen += 1
            if packet.leaves:
                self.outside.append(str(packet))
                print(f"{time.strftime('%H:%M:%S')} {packet} - {sender(packet)}", file=sys.stderr, flush=True)


def leave_network(*, is_root: bool) -> None:
    """Move this process into a network namespace of its own, in which no device is up yet.

    Without the right to do so it gets a user namespace too, in which it is root or, without `is_root`, the same user.

    Raises:
        OSError: the system allows no namespaces.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    user, group = os.geteuid(), os.getegid()
    if libc.unshare(_NEW_NET) != 0:
        if libc.unshare(_NEW_NET | _NEW_USER) != 0:
            raise OSError(ctypes.get_errno(), "No network namespace can be made; run this as root")
        inside = (0, 0) if is_root else (user, group)
        maps = (("uid_map", f"{inside[0]} {user} 1"), ("gid_map", f"{inside[1]} {group} 1"))
        for name, line in (("setgroups", "deny"), *maps):
            Path("/proc/self", name).write_text(line, "ascii")


def isolate() -> None:
    """Move this process into a network in which every address is this machine's.

    Raises:
        OSError: the system allows no namespaces, or `ip` failed.
    """
    leave_network(is_root=True)
    ip = shutil.which("ip") or "/sbin/ip"
    for line in ("link set lo up", "-4 route add local default dev lo", "-6 route add local default dev lo"):
        done = subprocess.run([ip, *line.split()], capture_output=True, text=True)
        if done.returncode and "-6" not in line:  # a machine without IPv6 cannot send by it
            raise OSError(f"ip {line}: {done.stderr.strip()}")


def main(command: list[str]) -> int:
    try:
        isolate()
    except OSError as error:
        print(f"The network cannot be watched here: {error}", file=sys.stderr)
        return 2
    watcher = Watcher()
    done = subprocess.run(command)
    watcher.close()
    print(f"{watcher.seen} connections and datagrams, {len(watcher.outside)} of them not for this machine")
    for line, times in collections.Counter(watcher.outside).most_common():
        print(f"{times:6} {line}")
    return 3 if watcher.outside else done.returncode


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("command", nargs=argparse.REMAINDER, help="what to run, with its arguments")
    arguments = parser.parse_args()
    if not arguments.command:
        parser.error("Say which command to run.")
    sys.exit(main(arguments.command))
