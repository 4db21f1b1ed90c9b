"""The process that decides on connections of a guarded process.

It is run by its path, with the standard library only. It starts before the filter is installed, so the filter does not
apply to it. Each `connect`, and each datagram sent to an address, of a guarded process waits here for its answer.
Loopback, sockets of this machine and the kernel are allowed; name servers and other hosts only for the thread that
holds a permit for them.

The kernel reads the address again after a call was allowed: a hostile thread could change it in between. The guard is
meant for libraries that call out; documents are read in processes that have no sockets at all.

    owner -> supervisor   one JSON object a packet: {probe, pid} | {listener} + descriptor | {permit, thread, ...} |
                          {release} | {report}
    supervisor -> owner   one JSON object for each
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import ipaddress
import json
import os
import select
import socket
import struct
import sys
import time
from typing import Any

_RECEIVE, _SEND, _IS_VALID = 0xC050_2100, 0xC018_2101, 0x4008_2102  # SECCOMP_IOCTL_NOTIF_*
_CONTINUE = 1
_PACKET = 65_536
_NAME_PORTS = (53, 853, 5353, 5355)  # DNS, DNS over TLS, mDNS, LLMNR
_NAME_SERVICES = ("/run/systemd/resolve/", "/run/nscd/", "/run/avahi-daemon/")
_CACHE = "/run/nscd/"  # also asked for users and groups: not every query there is for a host
_ADDRESS_BYTES = 128  # struct sockaddr_storage
_MESSAGE, _MESSAGES = 56, 64  # struct msghdr and struct mmsghdr, 64-bit
_MOST_MESSAGES = 1_024  # UIO_MAXIOV: the kernel sends no more in one call
_MOST_NAMED = 16
_LINGER_S = 30.0  # for children of an owner that has ended

SocketAddress = tuple[int, str, int]
"""Family, address or path, port."""


class Supervisor:
    """The supervisor: it answers the owner on `control`, and the kernel on the listener passed by the owner."""

    def __init__(self, control: socket.socket, calls: dict[str, int]) -> None:
        self._control: socket.socket | None = control
        self._calls = {number: name for name, number in calls.items()}
        self._listener = -1
        self._permits: dict[str, dict[str, Any]] = {}
        self._refused = 0
        self._places: dict[str, int] = {}

    def run(self) -> None:
        """Answer requests until no guarded process is left."""
        until = float("inf")
        while time.monotonic() < until:
            watched = select.poll()
            if self._control is not None:
                watched.register(self._control, select.POLLIN)
            if self._listener >= 0:
                watched.register(self._listener, select.POLLIN)
            for number, events in watched.poll(1_000):
                if number == self._listener:
                    if events & select.POLLIN:
                        self._decide()
                    elif events & (select.POLLHUP | select.POLLERR):
                        return
                elif not self._answer():
                    self._control = None
                    self._permits.clear()
                    until = time.monotonic() + _LINGER_S
            if self._control is None and self._listener < 0:
                return

    # the owner

    def _answer(self) -> bool:
        """Answer one packet; False where the owner has ended."""
        assert self._control is not None
        try:
            data, descriptors, _, _ = socket.recv_fds(self._control, _PACKET, 1)
            if not data:
                return False
            told = json.loads(data)
            reply: dict[str, Any] = {}
            if "probe" in told:
                reply["bytes"] = _memory(told["pid"], told["probe"], 8).hex()
            elif "listener" in told:
                self._listener = descriptors[0]
            elif "permit" in told:
                self._permits[told["permit"]] = told
            elif "release" in told:
                self._permits.pop(told["release"], None)
            else:
                reply = {"refused": self._refused, "places": self._places}
        except OSError as error:
            reply = {"error": error.errno or errno.EIO}
        with contextlib.suppress(OSError):  # the next read tells that the owner has ended
            self._control.send(json.dumps(reply).encode())
        return True

    # the kernel

    def _decide(self) -> None:
        request = bytearray(80)  # struct seccomp_notif
        try:
            fcntl.ioctl(self._listener, _RECEIVE, request, True)
        except OSError:  # the calling thread was interrupted
            return
        identity, thread = struct.unpack_from("<QI", request)
        number = struct.unpack_from("<i", request, 16)[0]
        arguments = struct.unpack_from("<6Q", request, 32)
        try:
            refused = [place for place in self._places_of(thread, self._calls[number], arguments) if place is not None]
            fcntl.ioctl(self._listener, _IS_VALID, struct.pack("<Q", identity))
        except (OSError, struct.error) as error:
            if isinstance(error, OSError) and error.errno == errno.ENOENT:  # gone
                return
            self._count("an address that cannot be read")
            is_allowed = False
        else:
            is_allowed = not refused
            for place in refused:
                self._count(place)
        answer = (0, _CONTINUE) if is_allowed else (-errno.ECONNREFUSED, 0)
        with contextlib.suppress(OSError):  # gone
            fcntl.ioctl(self._listener, _SEND, struct.pack("<QqiI", identity, 0, *answer))

    def _places_of(self, thread: int, call: str, arguments: tuple[int, ...]) -> list[str | None]:
        """Return one entry for each address of a call: None where it may be reached, else as `_judged`.

        Raises `OSError`.
        """
        if call in ("connect", "sendto"):
            where, length = (arguments[1], arguments[2]) if call == "connect" else (arguments[4], arguments[5])
            return [self._judged(thread, _memory(thread, where, min(length, _ADDRESS_BYTES)), call)]
        if call == "sendmsg":
            heads = [_memory(thread, arguments[1], _MESSAGE)]
        else:
            count = min(arguments[2] & 0xFFFF_FFFF, _MOST_MESSAGES)
            data = _memory(thread, arguments[1], count * _MESSAGES)
            heads = [data[at : at + _MESSAGE] for at in range(0, len(data), _MESSAGES)]
        found: list[str | None] = []
        for head in heads:
            where, length = struct.unpack_from("<QI", head)
            if where and length:
                found.append(self._judged(thread, _memory(thread, where, min(length, _ADDRESS_BYTES)), call))
        return found

    def _judged(self, thread: int, data: bytes, call: str) -> str | None:
        """Return None where this thread may reach the address.

        Otherwise returns its name, or "" if it is not reported.
        """
        family, address, port = _place(data, is_connect=call == "connect")
        mine = [permit for permit in self._permits.values() if permit["thread"] in (0, thread)]
        may_resolve = any(permit.get("names") for permit in mine)
        if family in (socket.AF_UNSPEC, socket.AF_NETLINK):
            return None
        if family == socket.AF_UNIX:
            path = os.path.normpath(address).replace("/var/run/", "/run/", 1)
            if may_resolve or not path.startswith(_NAME_SERVICES):
                return None
            return "" if path.startswith(_CACHE) else f"name service {address}"
        if family not in (socket.AF_INET, socket.AF_INET6):
            return f"address family {family}"
        found = ipaddress.ip_address(address)
        if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped:
            found = found.ipv4_mapped
        name = f"[{found}]:{port}" if found.version == 6 else f"{found}:{port}"
        if port in _NAME_PORTS:
            if may_resolve and (found.is_loopback or str(found) in _name_servers()):
                return None
            return name
        if found.is_loopback or found.is_unspecified:
            return None
        if any(permit.get("address") == str(found) and permit.get("port") == port for permit in mine):
            return None
        # The resolver connects datagram sockets to test which of its addresses are reachable; it sends nothing.
        return "" if may_resolve else name

    def _count(self, place: str) -> None:
        if place:
            self._refused += 1
            if place in self._places or len(self._places) < _MOST_NAMED:
                self._places[place] = self._places.get(place, 0) + 1


def _place(data: bytes, *, is_connect: bool) -> SocketAddress:
    """Parse a socket address.

    Raises `OSError` where it is too short: the kernel would refuse it too.
    """
    try:
        family = struct.unpack_from("<H", data)[0]
        if family == socket.AF_UNSPEC and not is_connect and len(data) >= 8:
            family = socket.AF_INET  # the kernel treats it so for a datagram
        if family == socket.AF_INET:
            return family, str(ipaddress.IPv4Address(data[4:8])), struct.unpack_from(">H", data, 2)[0]
        if family == socket.AF_INET6:
            return family, str(ipaddress.IPv6Address(data[8:24])), struct.unpack_from(">H", data, 2)[0]
        if family == socket.AF_UNIX:
            return family, os.fsdecode(data[2:].partition(b"\0")[0]), 0
    except (struct.error, ValueError) as error:
        raise OSError(errno.EINVAL, "no address") from error
    return family, "", 0


def _memory(thread: int, where: int, length: int) -> bytes:
    """Read bytes from a waiting thread's memory. Raises `OSError`."""
    opened = os.open(f"/proc/{thread}/mem", os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.pread(opened, length, where)
    finally:
        os.close(opened)


def _name_servers() -> set[str]:
    found: set[str] = set()
    with contextlib.suppress(OSError), open("/etc/resolv.conf", encoding="utf-8", errors="replace") as file:
        for line in file:
            words = line.split()
            if len(words) >= 2 and words[0] == "nameserver":
                with contextlib.suppress(ValueError):
                    found.add(str(ipaddress.ip_address(words[1].partition("%")[0])))
    return found


if __name__ == "__main__":
    with socket.socket(fileno=int(sys.argv[1])) as _control:
        Supervisor(_control, json.loads(sys.argv[2])).run()
