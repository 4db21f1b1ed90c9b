"""Numbers of Linux's system calls on x86_64 and aarch64, by name."""

from __future__ import annotations

import platform
import sys
from collections.abc import Mapping
from dataclasses import dataclass

# Name, number on x86_64, number on aarch64 (`-`: it has no such call).
# Source: asm/unistd_64.h and asm-generic/unistd.h of Linux.
_TABLE = """
seccomp 317 277  socket 41 198  connect 42 203  sendto 44 206  sendmsg 46 211  sendmmsg 307 269  io_uring_setup 425 425

open 2 -  openat 257 56  openat2 437 437  creat 85 -  open_by_handle_at 304 265  ioctl 16 29

unlink 87 -  unlinkat 263 35  rename 82 -  renameat 264 38  renameat2 316 276  rmdir 84 -  mkdir 83 -  mkdirat 258 34
link 86 -  linkat 265 37  symlink 88 -  symlinkat 266 36  truncate 76 45  mknod 133 -  mknodat 259 33

chmod 90 -  fchmod 91 52  fchmodat 268 53  fchmodat2 452 452  chown 92 -  fchown 93 55  lchown 94 -  fchownat 260 54
utime 132 -  utimes 235 -  futimesat 261 -  utimensat 280 88  file_setattr 469 469
setxattr 188 5  lsetxattr 189 6  fsetxattr 190 7  setxattrat 463 463
removexattr 197 14  lremovexattr 198 15  fremovexattr 199 16  removexattrat 466 466

shmget 29 194  shmat 30 196  shmctl 31 195  semget 64 190  semop 65 193  semctl 66 191  semtimedop 220 192
msgget 68 186  msgsnd 69 189  msgrcv 70 188  msgctl 71 187  mq_open 240 180  mq_unlink 241 181
add_key 248 217  request_key 249 218  keyctl 250 219

execve 59 221  execveat 322 281  kill 62 129  tkill 200 130  tgkill 234 131  rt_sigqueueinfo 129 138
rt_tgsigqueueinfo 297 240  pidfd_send_signal 424 424  prlimit64 302 261
ptrace 101 117  process_vm_readv 310 270  process_vm_writev 311 271  pidfd_getfd 438 438

mount 165 40  umount2 166 39  pivot_root 155 41  move_mount 429 429  open_tree 428 428  open_tree_attr 467 467
fsopen 430 430  fsconfig 431 431  fsmount 432 432  fspick 433 433  mount_setattr 442 442
chroot 161 51  setns 308 268  unshare 272 97
swapon 167 224  swapoff 168 225  quotactl 179 60  quotactl_fd 443 443  acct 163 89  bpf 321 280
init_module 175 105  finit_module 313 273  delete_module 176 106  kexec_load 246 104  kexec_file_load 320 294
reboot 169 142  sethostname 170 161  setdomainname 171 162  settimeofday 164 170  clock_settime 227 112
adjtimex 159 171  clock_adjtime 305 266  iopl 172 -  ioperm 173 -
"""


@dataclass(frozen=True, slots=True)
class Calls:
    """System call numbers of one architecture; `audit` is its AUDIT_ARCH value."""

    audit: int
    numbers: Mapping[str, int]

    def __getitem__(self, name: str) -> int:
        return self.numbers[name]

    def of(self, *names: str) -> tuple[int, ...]:
        """Return the numbers of those of these calls that this architecture has. Raises `KeyError`."""
        missing = [name for name in names if name not in _NAMES]
        if missing:
            raise KeyError(*missing)
        return tuple(self.numbers[name] for name in names if name in self.numbers)


def _column(column: int) -> dict[str, int]:
    words = _TABLE.split()
    rows = zip(words[::3], words[column::3], strict=True)
    return {name: int(number) for name, number in rows if number != "-"}


_NAMES = frozenset(_TABLE.split()[::3])
KNOWN = {"x86_64": Calls(0xC000_003E, _column(1)), "aarch64": Calls(0xC000_00B7, _column(2))}
"""By the machine's name, as `platform.machine` returns it."""


def calls() -> Calls | None:
    """Return the call numbers of this machine.

    Returns None where it is not supported or this Python is a 32-bit one.
    """
    if sys.platform != "linux" or sys.maxsize < 2**32:
        return None
    return KNOWN.get(platform.machine())
