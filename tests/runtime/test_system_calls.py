"""Numbers of system calls, as the headers of the kernel have them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from conftest import require
from docmind.runtime.system_calls import KNOWN

HEADERS = {
    "x86_64": (Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"), Path("/usr/include/asm/unistd_64.h")),
    "aarch64": (Path("/usr/include/asm-generic/unistd.h"),),
}


@pytest.mark.parametrize("machine", HEADERS)
def test_the_numbers_are_those_of_the_headers(machine: str) -> None:
    header = next((path for path in HEADERS[machine] if path.exists()), None)
    require(header, "no headers of the kernel (Debian: apt install linux-libc-dev)")
    told = re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)\b", Path(str(header)).read_text())
    known = {name: int(number) for name, number in told}
    ours = KNOWN[machine].numbers
    assert len(ours) > 80
    newer = {name for name, number in ours.items() if number > 450}  # than the headers of Debian 12
    assert {name: number for name, number in ours.items() if name not in newer} == {
        name: number for name, number in known.items() if name in ours and name not in newer
    }


def test_a_call_that_the_table_lacks_is_a_mistake() -> None:
    assert KNOWN["aarch64"].of("chmod", "fchmod") == (52,)  # it has no `chmod`
    with pytest.raises(KeyError, match="chnod"):
        KNOWN["x86_64"].of("chnod")
