"""Which user of this machine is at the other end of a connection over a loopback port, where the system tells it."""

from __future__ import annotations

import ipaddress
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_TABLES = Path("/proc/net")
_UID = 7  # the column of a row, counted from 0; 1 and 2 are the addresses


def is_of_another_user(scope: Any, own_uid: int, tables: Path = _TABLES) -> bool:
    """Return whether the peer of an ASGI request is a process of another user of this machine; False where unknown.

    Linux lists all connections of this machine, also the peer's end of this one, with the user who opened it.
    """
    client, server = scope.get("client"), scope.get("server")
    if not client or not server or server[1] is None:
        return False
    wanted = {(_written(client, form), _written(server, form)) for form in (4, 6)}
    uids = {uid for here, there, uid in _rows(tables) if (here, there) in wanted}
    return bool(uids) and own_uid not in uids


def _rows(tables: Path) -> Iterator[tuple[str, str, int]]:
    """Yield both addresses and the user of each connection."""
    for name in ("tcp", "tcp6"):
        try:
            lines = (tables / name).read_text("ascii").splitlines()[1:]
        except OSError:  # another system, or the table is hidden
            continue
        for line in lines:
            parts = line.split()
            yield parts[1], parts[2], int(parts[_UID])


def _written(place: tuple[str, int], form: int) -> str:
    """Return address and port as the tables of IPv4 and IPv6 write them; empty where the address has no such form."""
    try:
        address = ipaddress.ip_address(place[0])
    except ValueError:
        return ""
    if form == 6 and isinstance(address, ipaddress.IPv4Address):
        address = ipaddress.IPv6Address(b"\0" * 10 + b"\xff\xff" + address.packed)
    if address.version != form:
        return ""
    words = (address.packed[at : at + 4] for at in range(0, len(address.packed), 4))
    return "".join(f"{int.from_bytes(word, sys.byteorder):08X}" for word in words) + f":{place[1]:04X}"
