"""Make the environment that DocMind runs in: `.venv` beside this folder, with the exact versions of constraints.txt.

Shared by run_app.py and run_tests.py; alone (`python3 scripts/setup_env.py`) it installs and stops. Only the standard
library is used, in words that an old Python still parses, so that it can be told that it is too old.

Nothing is downloaded when the stamp in `.venv` says that this lock is installed: after the first time, a start needs no
network. The lock is what pip would be asked for: constraints.txt and the package parts of pyproject.toml.
"""

import contextlib
import errno
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
OLDEST = (3, 11)  # type: tuple[int, ...]
STAMP = "docmind-setup.json"
LOCK = ".docmind-setup.lock"
LOG = ".docmind-setup.log"
UNFINISHED = ".docmind-setup.unfinished"  # there while an installation is under way, and after one that was cut off
FREE_MB_NEW = 6000  # 2.7 GB installed with a CPU build of torch, and the wheels while they are unpacked
FREE_MB_UPDATE = 1500
LONGEST_WAIT_S = 45 * 60

DISK_FULL = (
    "DocMind: the disk is full ({where}); an installation needs about {need} MB free and there are {free} MB: "
    "free some space and start again."
)
UNREACHABLE = (
    "DocMind: the package index cannot be reached, and a first start (or the first after an update) needs it: "
    "connect to the network or set PIP_INDEX_URL to an index you can reach, and start again."
)
UNTRUSTED = (
    "DocMind: the package index was reached, but its certificate is not trusted here: "
    "check the clock and the proxy, or name the right certificates in PIP_CERT."
)
NO_BUILD = (
    "DocMind: the package index was reached, but it has no {what} that fits Python {python} on this system: "
    "try another Python (3.11 is the one that is tested), or look at constraints.txt."
)
NO_VENV = (
    "DocMind: this Python has no working venv module: install it (on Debian and Ubuntu: "
    "apt install python{python}-venv) and start again."
)
NOT_ALLOWED = "DocMind: {where} may not be written by this user: start as the user who owns the folder."


class SetupError(Exception):
    """The environment cannot be made; the message is for the person who started this."""


# --- which Python -----------------------------------------------------------------------------------------------------


def refuse_old_python(version=None, newer=None):
    """End with one sentence if this interpreter is older than 3.11."""
    version = tuple(sys.version_info[:3]) if version is None else version
    if version[:2] >= OLDEST:
        return
    found = (newer or newer_python)()
    advice = "start this with {0} instead.".format(found) if found else "install one (python.org, or your system's)."
    raise SetupError(
        "DocMind: needs Python 3.11 or newer, and this is Python {0}: {1}".format(".".join(map(str, version)), advice)
    )


def newer_python():
    """The command of an interpreter on PATH that is new enough, or None."""
    if not hasattr(shutil, "which"):
        return None
    for name in ("python3.11", "python3.12", "python3.13", "python3.14", "python3", "python"):
        path = shutil.which(name)
        if path and _version_of(path) >= OLDEST:
            return name
    return None


def _version_of(python):  # type: (str) -> tuple[int, ...]
    """(major, minor) of an interpreter, or (0, 0) if it does not run."""
    try:
        out = subprocess.check_output(
            [python, "-I", "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], stderr=subprocess.STDOUT
        )
    except (OSError, subprocess.CalledProcessError):
        return (0, 0)
    match = re.match(r"(\d+)\.(\d+)\s*$", out.decode("ascii", "replace"))
    return (int(match.group(1)), int(match.group(2))) if match else (0, 0)


def venv_dir(root=ROOT):
    return os.path.join(root, ".venv")


def venv_program(name, root=ROOT):
    """The path of a program in the environment: `bin/name`, or `Scripts\\name.exe` on Windows."""
    if os.name == "nt":
        return os.path.join(venv_dir(root), "Scripts", name + ".exe")
    return os.path.join(venv_dir(root), "bin", name)


def _base_python():
    """The interpreter to make the environment with: never the one inside it."""
    return getattr(sys, "_base_executable", None) or sys.executable


# --- what is installed ------------------------------------------------------------------------------------------------


def lock_digest(root=ROOT):
    """A digest of what pip is asked for: constraints.txt and the tables of pyproject.toml that name packages."""
    import tomllib

    with open(os.path.join(root, "constraints.txt"), encoding="utf-8") as file:
        pins = [line.split("#")[0].strip() for line in file]
    with open(os.path.join(root, "pyproject.toml"), "rb") as file:
        asked = tomllib.load(file)
    project = asked.get("project", {})
    told = {
        "pins": sorted(pin for pin in pins if pin),
        "build": asked.get("build-system", {}),
        "dependencies": project.get("dependencies", []),
        "extras": project.get("optional-dependencies", {}),
        "scripts": project.get("scripts", {}),
    }
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode("utf-8")).hexdigest()


def read_stamp(root=ROOT):
    """What the last complete installation wrote, or {} when there is none that can be read."""
    try:
        with open(os.path.join(venv_dir(root), STAMP), encoding="utf-8") as file:
            stamp = json.load(file)
    except (OSError, ValueError):
        return {}
    return stamp if isinstance(stamp, dict) else {}


def ready(root=ROOT, extras=()):
    """Whether the environment holds this lock with these extras, in this place, and its interpreter runs."""
    stamp = read_stamp(root)
    if stamp.get("lock") != lock_digest(root) or stamp.get("root") != root:
        return False
    if not set(extras) <= set(stamp.get("extras", [])) or _interrupted(root):
        return False
    return list(_version_of(venv_program("python", root))) == stamp.get("python")


def plan(root=ROOT):
    """('create' | 'rebuild' | 'update', why), for an environment that is not ready."""
    if not os.path.lexists(venv_dir(root)):
        return "create", "this is the first start"
    if _interrupted(root):
        return "rebuild", "an earlier installation was interrupted"
    version = _version_of(venv_program("python", root))
    if version < OLDEST:
        return "rebuild", "the Python in .venv does not run any more, or is too old"
    stamp = read_stamp(root)
    if stamp and stamp.get("root") != root:
        return "rebuild", "the folder was moved"
    if stamp and stamp.get("python") != list(version):
        return "rebuild", "the Python in .venv has changed"
    return "update", "the list of packages has changed"


def _interrupted(root):
    return os.path.exists(os.path.join(root, UNFINISHED))


def _mark_unfinished(root):
    with open(os.path.join(root, UNFINISHED), "w", encoding="utf-8") as file:
        file.write("If this file is here and nothing is installing, the next start begins again.\n")


# --- one at a time ----------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def only_one(root=ROOT, wait_s=LONGEST_WAIT_S):
    """Hold the setup lock of this folder; a second start waits and says so.

    Yields the open lock file. Where processes inherit it (not on Windows) the programs started here get it too, so that
    the lock lasts as long as the last of them writes, even when this process is killed.
    """
    try:
        file = open(os.path.join(root, LOCK), "a+")
    except OSError as error:
        raise SetupError(_words_for(error, root, FREE_MB_UPDATE))
    try:
        until = time.time() + wait_s
        told = False
        while not _try_lock(file):
            if not told:
                say("Another DocMind is installing in this folder; waiting until it is done.")
                told = True
            if time.time() >= until:
                raise SetupError("DocMind: another installation in this folder does not end: stop it and start again.")
            time.sleep(0.3)
        yield file
    finally:
        file.close()


def _try_lock(file):
    if os.name == "nt":
        import msvcrt

        try:
            file.seek(0)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # pyright: ignore[reportAttributeAccessIssue]
        except OSError:
            return False
        return True
    import fcntl

    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EAGAIN):
            return False
        raise
    return True


# --- installing -------------------------------------------------------------------------------------------------------


def ensure(root=ROOT, extras=()):
    """Make the environment ready and return its interpreter; raises SetupError with words for the user."""
    python = venv_program("python", root)
    if ready(root, extras):
        return python
    with only_one(root) as held:
        if ready(root, extras):
            return python
        action, why = plan(root)
        if action == "rebuild" and os.path.realpath(sys.prefix) == os.path.realpath(venv_dir(root)) and os.name == "nt":
            raise SetupError("DocMind: {0}: leave the environment (deactivate) and start again.".format(why))
        _check_room(root, FREE_MB_UPDATE if action == "update" else FREE_MB_NEW)
        try:
            say("Setting up DocMind in .venv ({0}); this takes some minutes once.".format(why))
            _install(root, sorted(set(extras) | set(read_stamp(root).get("extras", []))), action == "update", held)
        except OSError as error:
            raise SetupError(_words_for(error, root, FREE_MB_NEW))
    return python


def _install(root, extras, keep, held):
    started = time.time()
    if not keep:
        _mark_unfinished(root)
        _create(root, held)
    with contextlib.suppress(OSError):
        os.remove(os.path.join(root, LOG))
    torch = _pin("torch", root)
    # First and alone: a range in another package would take the newest torch and gigabytes of CUDA with it.
    _pip(root, ["install", torch], "1 of 2: PyTorch", held)
    project = root + ("[{0}]".format(",".join(extras)) if extras else "")
    constraints = os.path.join(root, "constraints.txt")
    _pip(root, ["install", "-e", project, "-c", constraints], "2 of 2: everything else", held)
    python = venv_program("python", root)
    _check_start(python)
    stamp = {
        "lock": lock_digest(root),
        "root": root,
        "extras": extras,
        "python": list(_version_of(python)),
    }
    path = os.path.join(venv_dir(root), STAMP)
    with open(path + ".new", "w", encoding="utf-8") as file:
        json.dump(stamp, file, indent=1)
    os.replace(path + ".new", path)
    with contextlib.suppress(FileNotFoundError):
        os.remove(os.path.join(root, UNFINISHED))
    say("Done in {0:.0f} s.".format(time.time() - started))


def _create(root, held):
    """A new empty environment, in place of whatever was there."""
    place = venv_dir(root)
    if os.path.islink(place):
        os.remove(place)
    elif os.path.isdir(place):
        shutil.rmtree(place)
    with open(os.path.join(root, LOG), "w+", encoding="utf-8", errors="replace") as log:
        command = [_base_python(), "-m", "venv", place]
        code = subprocess.call(command, stdout=log, stderr=subprocess.STDOUT, pass_fds=_inherit(held))
        log.seek(0)
        output = log.read()
    if code == 0:
        return
    shutil.rmtree(place, ignore_errors=True)
    if disk_is_full(output):
        raise SetupError(_full(root, FREE_MB_NEW))
    if "ensurepip" in output or "No module named venv" in output:
        raise SetupError(NO_VENV.format(python="%d.%d" % sys.version_info[:2]))
    raise SetupError("DocMind: .venv could not be made: {0}".format(_last_line(output)))


def _inherit(held):
    """The `pass_fds` of a program that holds the lock as well."""
    return () if os.name == "nt" else (held.fileno(),)


def _pip(root, arguments, heading, held):
    """Run pip in the environment; its output goes to the log, its failure becomes one sentence."""
    say("  " + heading)
    scratch = os.path.join(venv_dir(root), "tmp")  # the system's /tmp is often small
    if not os.path.isdir(scratch):
        os.makedirs(scratch)
    environment = dict(os.environ, PIP_DISABLE_PIP_VERSION_CHECK="1", PIP_NO_INPUT="1", PIP_USER="0", TMPDIR=scratch)
    for name in ("PIP_TARGET", "PIP_PREFIX", "PIP_CONSTRAINT", "PIP_REQUIREMENT", "PYTHONHOME", "PYTHONPATH"):
        environment.pop(name, None)
    command = [venv_program("python", root), "-m", "pip", arguments[0], "--retries", "3", "--no-color"] + arguments[1:]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment, cwd=root, pass_fds=_inherit(held)
    )
    lines = []
    last = time.time()
    stream = process.stdout
    assert stream is not None
    with open(os.path.join(root, LOG), "a", encoding="utf-8") as log:
        for raw in stream:
            line = raw.decode("utf-8", "replace").rstrip()
            lines.append(line)
            log.write(line + "\n")
            if line.startswith("Installing collected packages"):
                _mark_unfinished(root)  # until here nothing in the environment has changed
            if time.time() - last > 10:
                say("    " + line.strip()[:100])
                last = time.time()
    code = process.wait()
    shutil.rmtree(scratch, ignore_errors=True)
    if code != 0:
        raise SetupError(explain("\n".join(lines), root))


def _check_start(python):
    """What only shows when it is used: a missing system library, a half-written package."""
    code = "import docmind, streamlit, torch"
    process = subprocess.Popen([python, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    output = process.communicate()[0].decode("utf-8", "replace")
    if process.returncode:
        more = " (on Windows, torch needs the Visual C++ Redistributable)" if os.name == "nt" else ""
        raise SetupError("DocMind: installed, but it does not start{0}: {1}".format(more, _last_line(output)))


def _pin(package, root):
    with open(os.path.join(root, "constraints.txt"), encoding="utf-8") as file:
        for line in file:
            if line.startswith(package + "=="):
                return line.strip()
    raise SetupError("DocMind: constraints.txt names no version of {0}: the checkout is not complete.".format(package))


# --- what went wrong --------------------------------------------------------------------------------------------------


def disk_is_full(output):
    signs = ("No space left on device", "Errno 28", "Disk quota exceeded", "not enough space on the disk")
    return any(sign in output for sign in signs)


def explain(output, root=ROOT):
    """One sentence for what pip said before it failed."""
    if disk_is_full(output):
        return _full(root, FREE_MB_NEW)
    if "CERTIFICATE_VERIFY_FAILED" in output or "SSLCertVerificationError" in output:
        return UNTRUSTED
    missing = re.search(r"No matching distribution found for ([^\s(;]+)", output)
    if missing and "(from versions: none)" not in output:
        return _no_build(missing.group(1))
    signs = (
        "NewConnectionError",
        "Failed to establish a new connection",
        "Max retries exceeded",
        "ConnectTimeoutError",
        "ReadTimeoutError",
        "ConnectionResetError",
        "Connection aborted",
        "RemoteDisconnected",
        "ProxyError",
        "Name or service not known",
        "Temporary failure in name resolution",
        "nodename nor servname",
        "getaddrinfo failed",
        "Network is unreachable",
    )
    if any(sign in output for sign in signs):
        return UNREACHABLE
    if missing:
        return _no_build(missing.group(1))
    if "ResolutionImpossible" in output:
        return "DocMind: constraints.txt and pyproject.toml ask for versions that exclude each other; see " + LOG + "."
    if "Permission denied" in output or "Errno 13" in output:
        return NOT_ALLOWED.format(where=root)
    return "DocMind: pip could not install it; the whole story is in {0}: {1}".format(LOG, _last_line(output))


def _no_build(what):
    return NO_BUILD.format(what=what, python="%d.%d" % sys.version_info[:2])


def _last_line(output):
    """The line that most likely says why: the last error, or the last line there is."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if re.match(r"(ERROR|error)\b:?|\w*Error:", line)]
    return (errors or lines or ["no reason was given"])[-1]


def free_mb(root=ROOT):
    return int(shutil.disk_usage(root).free // 1000000)


def _check_room(root, need, free=None):
    free = free_mb(root) if free is None else free
    if free < need:
        raise SetupError(DISK_FULL.format(where=root, need=need, free=free))


def _full(root, need):
    return DISK_FULL.format(where=root, need=need, free=free_mb(root))


def _words_for(error, root, need):
    if error.errno in (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)):
        return _full(root, need)
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return NOT_ALLOWED.format(where=error.filename or root)
    return "DocMind: {0} ({1}).".format(error.strerror or error, error.filename or root)


# --- for the two scripts ----------------------------------------------------------------------------------------------


def say(text):
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def end_quietly(main):
    """Run `main`, turn a SetupError into its sentence and Ctrl-C into a plain end; returns the exit code."""
    try:
        refuse_old_python()
        return main()
    except SetupError as error:
        say(str(error))
        return 1
    except KeyboardInterrupt:
        say("Stopped.")
        return 130


def become(command):
    """Go on as another program; where a process cannot be replaced, wait for it and take over its exit code."""
    sys.stdout.flush()
    sys.stderr.flush()
    if os.name != "nt":
        os.execv(command[0], command)
    process = subprocess.Popen(command)
    while True:
        try:
            return process.wait()
        except KeyboardInterrupt:  # the child has it too, and ends by itself
            continue


def main():
    known = {"--test": "test", "--colpali": "colpali"}
    unknown = [argument for argument in sys.argv[1:] if argument not in known]
    if unknown:
        raise SetupError("DocMind: setup_env.py takes --test and --colpali only, not {0}.".format(unknown[0]))
    ensure(extras=[known[argument] for argument in sys.argv[1:]])
    return 0


if __name__ == "__main__":
    sys.exit(end_quietly(main))
