"""What holds a child process, its native code included, away from the network and from files (Linux only).

Three mechanisms are used where the system allows them:

* an empty network namespace, in which no host can be reached;
* Landlock (`docmind.runtime.landlock`), for a child that is confined: it reads this Python, its packages and the
  system's libraries alone, and changes files in folders that are named;
* one filter of system calls, for every child. It refuses sockets (also those of the file system: a name service would
  query the network for the child), works where namespaces are forbidden, and refuses what Landlock does not cover:
  changes of mode, owner, times and attributes, shared memory that outlives the process, the memory of other processes.
  A confined child without a folder of its own may open no file for writing, and make, rename or remove none: the filter
  holds that alone, where the system has no Landlock.

Other systems have none of them; there, and beside them on Linux, an audit hook refuses calls of Python code.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import socket
import struct
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import BinaryIO, Literal

from docmind.runtime import landlock, seccomp
from docmind.runtime.limits import Limits
from docmind.runtime.system_calls import Calls

Way = Literal["namespace", "landlock", "filter"]
WAYS: tuple[Way, ...] = ("namespace", "landlock", "filter")

_LIBRARIES = ("/usr", "/lib", "/lib64")
_OTHER_LIBRARIES = ("/nix/store", "/gnu/store", "/opt/homebrew", "/home/linuxbrew")  # of other managers of packages
_DEVICES = ("/dev/null", "/dev/urandom")
_SYSTEM = (*_LIBRARIES, *_OTHER_LIBRARIES, *_DEVICES, "/etc/ld.so.cache")
# What libraries read at their start: the local time, rules of OpenSSL, processors and memory, and about themselves.
_ABOUT_SYSTEM = (
    *("/etc/localtime", "/etc/ssl/openssl.cnf", "/etc/pki/tls/openssl.cnf", "/etc/crypto-policies", "/proc/cpuinfo"),
    *("/proc/meminfo", "/proc/stat", "/proc/self", "/sys/devices/system/cpu", "/sys/devices/system/node"),
    *("/sys/fs/cgroup", "/etc/locale.alias"),
)

_CLONE_NEWUSER, _CLONE_NEWNET = 0x1000_0000, 0x4000_0000
_REFUSED, _NOT_KNOWN = seccomp.ERRNO | errno.EACCES, seccomp.ERRNO | errno.ENOSYS
_INT = 0xFFFF_FFFF
_PT_INTERP = 3

# No child needs these.
_NEVER = (
    *("chown", "fchown", "lchown", "fchownat", "mknod", "mknodat", "open_by_handle_at", "file_setattr"),
    *("setxattr", "lsetxattr", "fsetxattr", "setxattrat"),
    *("removexattr", "lremovexattr", "fremovexattr", "removexattrat"),
    *("shmget", "shmat", "shmctl", "semget", "semop", "semctl", "semtimedop"),
    *("msgget", "msgsnd", "msgrcv", "msgctl", "mq_open", "mq_unlink", "add_key", "request_key", "keyctl"),
    *("ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd"),
    *("mount", "umount2", "pivot_root", "move_mount", "open_tree", "open_tree_attr", "mount_setattr"),
    *("fsopen", "fsconfig", "fsmount", "fspick", "swapon", "swapoff", "quotactl", "quotactl_fd", "acct", "bpf"),
    *("init_module", "finit_module", "delete_module", "kexec_load", "kexec_file_load", "reboot"),
    *("sethostname", "setdomainname", "settimeofday", "clock_settime", "adjtimex", "clock_adjtime", "iopl", "ioperm"),
)
# Nor does a confined one need these: Landlock does not cover them, or not on every kernel.
_NOT_COVERED = (
    *("chmod", "fchmod", "fchmodat", "fchmodat2", "utime", "utimes", "futimesat", "utimensat"),
    *("link", "linkat", "truncate"),
)
# A confined one without a folder of its own does without these too.
_IN_FOLDERS = (
    *("unlink", "unlinkat", "rename", "renameat", "renameat2", "rmdir", "mkdir", "mkdirat", "symlink", "symlinkat"),
    *("creat", "chroot", "setns", "unshare"),
)
# TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX: others change flags of files, or belong to devices.
_HARMLESS_CONTROLS = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)


def isolate(limits: Limits, ways: Sequence[Way] = WAYS) -> tuple[Way, ...]:
    """Hold this process and its children to their limits, and return the mechanisms that took effect.

    Call it before any thread is started.
    """
    held: list[Way] = []
    if "namespace" in ways and not limits.network and _enter_empty_namespace():
        held.append("namespace")
    if "landlock" in ways and limits.is_confined and _hold_to_files(limits):
        held.append("landlock")
    if "filter" in ways and _filter_calls(limits):
        held.append("filter")
    return tuple(held)


def change_nothing_more() -> bool:
    """Refuse from now on, to all threads of this process, what is refused to one without a folder of its own.

    For a process that has started its one program, which goes on as it was. Return whether the filter holds; the hook
    for calls of Python code holds in any case.
    """
    refuse_changes(is_killing=True)
    known = seccomp.calls()
    if known is None:
        return False
    try:
        seccomp.install_for_all_threads(seccomp.program(known, [*_without_folder(known), *_without_programs(known)]))
    except OSError:
        return False
    return True


def confine_to_program(program: str) -> bool:
    """Let this thread and what it starts read the system's libraries and start one program; return whether it is held.

    Call it in a thread of its own: others are as they were.
    """
    try:
        return landlock.hold(_SYSTEM, starts=_startable((program,)))
    except OSError:
        return False


def refuse_changes(starts: Iterable[str] = (), *, is_killing: bool = False) -> None:
    """Refuse calls of Python code that change files or start programs, by an audit hook: on every system.

    The programs of `starts` may be started and ended, others with `is_killing` ended.
    """
    programs = frozenset(starts)
    is_killing = is_killing or bool(programs)

    def refuse(event: str, arguments: tuple[object, ...]) -> None:
        is_written = event == "open" and _is_writing(*arguments)
        if is_written or event in _CHANGES or event.startswith(_CHANGING):
            if event in _STARTING and arguments[0] in programs:
                return
            if event == "os.kill" and is_killing:
                return
            raise PermissionError("a reader changes no files and starts no programs")

    sys.addaudithook(refuse)


def _is_writing(place: object, _mode: object, flags: object) -> bool:
    """Return whether a file is opened for writing; a number is a descriptor that is open already."""
    return isinstance(flags, int) and bool(flags & _WRITING) and not isinstance(place, int)


_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_STARTING = frozenset(("subprocess.Popen", "os.posix_spawn"))  # their first argument is the program
_CHANGES = _STARTING | {"os.system", "os.fork", "os.forkpty", "os.kill", "os.killpg", "pty.spawn"}
_CHANGING = (
    *("os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.truncate", "os.chmod", "os.exec"),
    *("os.chown", "os.utime", "os.startfile", "os.setxattr", "os.spawn", "shutil."),
)


def _enter_empty_namespace() -> bool:
    if sys.platform != "linux":
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    user, group = os.geteuid(), os.getegid()
    if libc.unshare(_CLONE_NEWNET) == 0:
        return True
    if libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNET) != 0:
        return False
    # Keep the same user: an unmapped one could not put a browser into a sandbox of its own.
    with contextlib.suppress(OSError):
        for name, line in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
            Path("/proc/self", name).write_text(line)
    return True


def _hold_to_files(limits: Limits) -> bool:
    reads = [*_packages(), *_SYSTEM, *_ABOUT_SYSTEM, *limits.reads]
    try:
        return landlock.hold(reads, limits.writes, _startable(limits.starts))
    except OSError:
        return False


def _packages() -> list[str]:
    """Return the places of this Python, its packages and their libraries.

    The folder that `-m` puts first on the path is where the user works.
    """
    import mimetypes

    path = sys.path if sys.flags.safe_path else sys.path[1:]
    libraries = [place for place in os.environ.get("LD_LIBRARY_PATH", "").split(":") if os.path.isabs(place)]
    own = str(Path(__file__).parents[1])  # no part of the path where it is installed to be edited
    return [*filter(None, path), sys.prefix, sys.base_prefix, own, *libraries, *map(str, mimetypes.knownfiles)]


def _startable(programs: Sequence[str]) -> list[str]:
    """Return these programs and what starts them: the loader of libraries, and for a script all that it may call."""
    if not programs:
        return []
    found = list(programs)
    for program in programs:
        try:
            with open(program, "rb") as file:
                found += ("/bin", *_LIBRARIES, *_OTHER_LIBRARIES) if file.read(2) == b"#!" else _loader(file)
        except OSError:  # none, or a folder
            continue
    return found


def _loader(program: BinaryIO) -> list[str]:
    """Return the loader that a program of 64 bits names in its header (ELF, PT_INTERP); none where it needs none."""
    program.seek(0)
    head = program.read(64)
    if len(head) < 64 or head[:6] != b"\x7fELF\x02\x01":  # 64 bits, little-endian
        return []
    at, size, count = struct.unpack_from("<Q14xHH", head, 32)
    program.seek(at)
    table = program.read(size * count)
    for start in range(0, len(table) - 39, max(size, 40)):
        kind, offset, length = struct.unpack_from("<I4xQ16xQ", table, start)
        if kind == _PT_INTERP:
            program.seek(offset)
            return [os.fsdecode(program.read(length).rstrip(b"\0"))]
    return []


def _filter_calls(limits: Limits) -> bool:
    known = seccomp.calls()
    if known is None or (limits.network and not limits.is_confined):
        return False
    rule = seccomp.Rule
    rules = [rule(known.of(*_NEVER), _REFUSED)]
    if not limits.network:
        allowed = (int(socket.AF_UNIX),) if limits.local_sockets else ()
        rules += [
            rule(known.of("socket"), _REFUSED, argument=0, unless=allowed),
            rule(known.of("connect"), _REFUSED),
            # With an address; without one it is `send` on an inherited socket.
            rule(known.of("sendto"), _REFUSED, argument=4, unless=(0,)),
        ]
    if limits.is_confined:
        rules += _with_folders(known) if limits.writes else _without_folder(known)
        rules += [] if limits.starts else [*_without_programs(known), *_without_signals(known)]
    try:
        seccomp.install(seccomp.program(known, rules))
    except OSError:
        return False
    return True


def _with_folders(known: Calls) -> list[seccomp.Rule]:
    """Return the rules of a child that changes files where Landlock lets it.

    A file that is opened for reading may not be emptied: before version 3 Landlock does not see that.
    """
    modes = (os.O_RDONLY, os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_TRUNC, os.O_RDWR | os.O_TRUNC)
    return [
        seccomp.Rule(known.of(*_NOT_COVERED), _REFUSED),
        *_opening(known, os.O_ACCMODE | os.O_TRUNC, modes),
        _controlling(known),
    ]


def _without_folder(known: Calls) -> list[seccomp.Rule]:
    """Return the rules of a child that opens no file for writing, and makes, renames and removes none."""
    return [
        seccomp.Rule(known.of(*_NOT_COVERED, *_IN_FOLDERS), _REFUSED),
        *_opening(known, os.O_ACCMODE | os.O_CREAT | os.O_TRUNC, (os.O_RDONLY,)),
        _controlling(known),
    ]


def _opening(known: Calls, mask: int, modes: Sequence[int]) -> list[seccomp.Rule]:
    """Return the rules that let files be opened with these flags alone, of those in `mask`.

    The flags of `openat2` lie in memory, where no filter sees them: it is told to be missing.
    """
    return [
        seccomp.Rule(known.of("open"), _REFUSED, argument=1, unless=modes, mask=mask),
        seccomp.Rule(known.of("openat"), _REFUSED, argument=2, unless=modes, mask=mask),
        seccomp.Rule(known.of("openat2"), _NOT_KNOWN),
    ]


def _controlling(known: Calls) -> seccomp.Rule:
    return seccomp.Rule(known.of("ioctl"), _REFUSED, argument=1, unless=_HARMLESS_CONTROLS, mask=_INT)


def _without_programs(known: Calls) -> list[seccomp.Rule]:
    return [seccomp.Rule(known.of("execve", "execveat"), _REFUSED)]


def _without_signals(known: Calls) -> list[seccomp.Rule]:
    """Return the rules of a child that signals and limits itself alone: before version 6 Landlock does not see that."""
    own = ("kill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo")
    return [
        seccomp.Rule(known.of(*own), _REFUSED, argument=0, unless=(os.getpid(),), mask=_INT),
        seccomp.Rule(known.of("prlimit64"), _REFUSED, argument=0, unless=(0, os.getpid()), mask=_INT),
        seccomp.Rule(known.of("tkill", "pidfd_send_signal"), _REFUSED),
    ]
