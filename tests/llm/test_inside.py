"""A real language model inside DocMind: SmolLM2-135M from a GGUF file, in the real child process."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from conftest import ROOT
from docmind.config import LLMSettings
from docmind.errors import ConfigError, LanguageModelBrokenError, LanguageModelDownError, NotFoundError
from docmind.llm.base import Message
from docmind.llm.client import ServedModel
from docmind.llm.discover import Found
from docmind.llm.inside import INSTALL, InsideModel, InsideModels
from docmind.llm.service import LanguageModels
from docmind.records.conversations import ModelInfo
from docmind.storage.database import Database
from docmind.storage.preferences import Preferences
from looking import wait_for
from smollm import LLAMA, NAME, gguf, smollm
from starting import is_gone
from watched import Place
from watched import run as watched_run

ASK = (Message("user", "Why is the sky blue? Answer in one sentence."),)
LONG = (Message("user", "Write a long story about a ship."),)
HOSTILE = "a\u202eb\n[x](http:1).gguf"


def never() -> bool:
    return False


def models_of(folder: Path | None = None, **settings: object) -> InsideModels:
    wanted = {"temperature": 0, "max_tokens": 200, "context_tokens": 2_048, **settings}
    return InsideModels(LLMSettings.model_validate(wanted), folder)


def model_of(inside: InsideModels) -> InsideModel:
    models, degraded = inside.found()
    assert not degraded
    return InsideModel(models[0], inside._settings, inside)


@pytest.fixture(scope="module")
def shared() -> Iterator[InsideModels]:
    inside = models_of(gguf=smollm())
    yield inside
    inside.close()


@pytest.fixture(scope="module")
def model(shared: InsideModels) -> InsideModel:
    return model_of(shared)


@pytest.fixture
def preferences(tmp_path: Path) -> Iterator[Preferences]:
    database = Database(tmp_path / "vault.db", os.urandom(32))
    yield Preferences(database)
    database.close()


def children() -> set[int]:
    """Return the ids of this program's processes that run a model or describe files."""
    return {one.pid for one in psutil.Process().children() if not is_gone(one.pid) and _is_inside(one)}


def _is_inside(process: psutil.Process) -> bool:
    try:
        return any("inside_process" in word for word in process.cmdline())
    except psutil.Error:
        return False


def test_it_is_listed_before_it_is_loaded(shared: InsideModels) -> None:
    (info,), degraded = shared.found()
    assert not degraded
    assert (info.name, info.where, info.place) == (f"inside/{NAME}", "inside DocMind", "this machine")
    assert info.context_tokens == 2_048
    assert info.is_tool_calling is False
    assert info.note.startswith("98 MB; needs about 0.4 GB of memory, and ")
    assert "too much" not in info.note


@pytest.mark.slow
def test_it_streams_and_says_the_same_again(model: InsideModel, shared: InsideModels) -> None:
    pieces = list(model.stream(ASK, never))
    assert len(pieces) > 5
    assert "".join(model.stream(ASK, never)) == "".join(pieces)
    assert len(shared.pids()) == 1, "one process for both"


@pytest.mark.slow
def test_what_is_stopped_ends_and_the_processor_rests(model: InsideModel, shared: InsideModels) -> None:
    stopped = threading.Event()
    pieces = 0
    for _ in model.stream(LONG, stopped.is_set):
        pieces += 1
        if pieces == 5:
            stopped.set()
    assert pieces == 5
    process = psutil.Process(shared.pids()[0])

    def rests() -> bool:
        before = process.cpu_times().user
        threading.Event().wait(0.5)
        return process.cpu_times().user - before < 0.1

    wait_for(rests)
    assert list(model.stream(ASK, never))


@pytest.mark.slow
def test_too_long_a_question_gets_one_sentence(model: InsideModel) -> None:
    with pytest.raises(LanguageModelDownError, match="takes at most 2,048 tokens at once") as caught:
        list(model.stream((Message("user", "blue sky " * 4_000),), never))
    assert "DOCMIND_LLM__CONTEXT_TOKENS" in caught.value.hint


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="namespaces and filters")
def test_the_process_has_no_network(model: InsideModel, shared: InsideModels) -> None:
    list(model.stream(ASK, never))
    (pid,) = shared.pids()
    status = Path(f"/proc/{pid}/status").read_text()
    is_alone = os.readlink(f"/proc/{pid}/ns/net") != os.readlink("/proc/self/ns/net")
    assert is_alone or "Seccomp:\t2" in status
    assert not [one for one in psutil.Process(pid).net_connections("inet") if one.status == psutil.CONN_LISTEN]


@pytest.mark.skipif(os.name == "nt", reason="Unix sockets")
def test_others_cannot_ask_it(model: InsideModel, shared: InsideModels) -> None:
    with shared.hold(model.info) as (endpoint, key):
        folder = Path(endpoint.socket).parent
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert len(key) > 30
        other = ServedModel(model.info, LLMSettings(), key="a guess", endpoint=endpoint)
        with pytest.raises(LanguageModelDownError, match="status 401"):
            list(other.stream(ASK, never))


@pytest.mark.slow
def test_a_killed_process_is_told_and_started_again(model: InsideModel, shared: InsideModels) -> None:
    stream = model.stream(LONG, never)
    assert next(stream)
    os.kill(shared.pids()[0], signal.SIGKILL)
    with pytest.raises(LanguageModelBrokenError, match="inside DocMind broke off in the middle"):
        list(stream)
    assert list(model.stream(ASK, never))


@pytest.mark.slow
def test_a_stop_while_it_is_loaded_ends_the_question(tmp_path: Path) -> None:
    inside = models_of(gguf=smollm())
    try:
        model = model_of(inside)
        assert list(model.stream(ASK, lambda: True)) == []
        wait_for(inside.pids)
    finally:
        inside.close()
    assert not inside.pids()


@pytest.mark.slow
def test_two_questions_at_once_share_one_process() -> None:
    inside = models_of(gguf=smollm(), max_tokens=16)
    try:
        model, before = model_of(inside), children()
        with ThreadPoolExecutor(2) as pool:
            answers = list(pool.map(lambda _: "".join(model.stream(ASK, never)), range(2)))
        assert all(answers)
        assert children() - before == set(inside.pids())
        assert len(inside.pids()) == 1
    finally:
        inside.close()


@pytest.mark.slow
def test_it_ends_when_idle_and_starts_again() -> None:
    inside = models_of(gguf=smollm(), idle_s=0.5, max_tokens=16)
    try:
        model = model_of(inside)
        assert list(model.stream(ASK, never))
        (pid,) = inside.pids()
        wait_for(lambda: is_gone(pid))
        assert list(model.stream(ASK, never))
    finally:
        inside.close()


@pytest.mark.slow
def test_an_answer_is_not_cut_off_by_the_idle_time() -> None:
    inside = models_of(gguf=smollm(), idle_s=0.2, max_tokens=64)
    try:
        came = []
        for piece in model_of(inside).stream(LONG, never):
            came.append(piece)
            threading.Event().wait(0.02)
        assert len(came) > 20
    finally:
        inside.close()


@pytest.mark.slow
def test_closing_removes_process_and_socket() -> None:
    inside = models_of(gguf=smollm(), max_tokens=16)
    model = model_of(inside)
    with inside.hold(model.info) as (endpoint, _):
        (pid,) = inside.pids()
    inside.close()
    inside.close()
    assert is_gone(pid)
    assert not endpoint.socket or not Path(endpoint.socket).parent.exists()


OWNER = """
import os, sys
from pathlib import Path
from docmind.config import LLMSettings
from docmind.llm.inside import InsideModels
inside = InsideModels(LLMSettings(gguf=Path(sys.argv[1]), context_tokens=1_024), None)
with inside.hold(inside.found()[0][0]) as (endpoint, _):
    print(inside.pids()[0], endpoint.socket, flush=True)
    sys.stdin.read()
"""


@pytest.mark.slow
@pytest.mark.crash
def test_a_killed_docmind_leaves_no_process_and_no_socket() -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, str(smollm())], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env=environment,
    ) as owner:  # fmt: skip
        assert owner.stdout is not None
        pid, _, place = owner.stdout.readline().strip().partition(" ")
        assert not is_gone(int(pid))
        owner.kill()
        wait_for(lambda: is_gone(int(pid)))
        wait_for(lambda: not place or not Path(place).parent.exists())


def test_what_does_not_fit_the_memory_is_not_loaded(tmp_path: Path) -> None:
    with pytest.raises(LanguageModelDownError, match="DOCMIND_LLM__MEMORY_MB allows"):
        list(model_of(models_of(gguf=smollm(), memory_mb=300)).stream(ASK, never))
    huge = {**LLAMA, "llama.block_count": 4_096, "llama.attention.head_count_kv": 65_536, "llama.context_length": 2**20}
    (tmp_path / "huge.gguf").write_bytes(gguf(huge))
    inside = models_of(tmp_path, context_tokens=1_000_000)
    model = model_of(inside)
    assert "too much for this machine now" in model.info.note
    with pytest.raises(LanguageModelDownError, match=r"of memory; only .* are free"):
        list(model.stream(ASK, never))
    assert not inside.pids()


def test_weights_that_cannot_be_loaded_get_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "empty.gguf").write_bytes(gguf(LLAMA))
    inside = models_of(tmp_path)
    try:
        with pytest.raises(LanguageModelDownError, match=r"empty (cannot be loaded|could not be started)"):
            list(model_of(inside).stream(ASK, never))
    finally:
        inside.close()


def test_files_that_are_none_are_told_each_once(tmp_path: Path) -> None:
    shutil.copy(smollm(), tmp_path / "good.gguf")
    (tmp_path / "notes.gguf").write_text("These are notes.")
    (tmp_path / HOSTILE).write_bytes(gguf(LLAMA))
    (tmp_path / "gone.gguf").symlink_to(tmp_path / "nowhere")
    (tmp_path / "readme.txt").write_text("Not looked at.")
    models, degraded = models_of(tmp_path).found()
    assert [model.model for model in models] == ["good"]
    told = sorted(one.reason for one in degraded)
    assert len(told) == 3
    assert "notes.gguf cannot run inside DocMind: it is no GGUF file." in told
    assert "gone.gguf cannot run inside DocMind: it cannot be opened: No such file or directory." in told
    assert not [reason for reason in told if "\n" in reason or "\u202e" in reason]


def test_without_the_package_it_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "good.gguf").write_bytes(gguf(LLAMA))
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    models, (degraded,) = models_of(tmp_path).found()
    assert not models
    assert INSTALL in degraded.reason
    assert models_of(tmp_path / "none").found() == ((), ()), "nobody is told who has no such file"


def test_the_command_names_the_pinned_version() -> None:
    pin = INSTALL.split()[-1]
    assert pin in (ROOT / "constraints.txt").read_text().splitlines()
    assert f'"{pin}"' in (ROOT / "pyproject.toml").read_text()


@pytest.mark.slow
def test_a_file_is_added_by_name_and_removed(tmp_path: Path) -> None:
    file, folder = tmp_path / "own" / "Tiny model.gguf", tmp_path / "models" / "language"
    file.parent.mkdir()
    file.write_bytes(gguf(LLAMA))
    inside = models_of(folder)
    info = inside.add(file)
    assert info.name == "inside/Tiny model"
    assert inside.add(file) == info, "again: nothing changes"
    assert [model.model for model in inside.found()[0]] == ["Tiny model"]
    other = tmp_path / "Tiny model.gguf"
    other.write_bytes(gguf(LLAMA, padding=512))
    with pytest.raises(ConfigError, match="another model Tiny model"):
        inside.add(other)
    for bad, why in ((tmp_path / "gone.gguf", "cannot be opened"), (tmp_path / HOSTILE, "name")):
        with pytest.raises(ConfigError, match=why):
            inside.add(bad)
    inside.remove("Tiny model")
    assert inside.found() == ((), ())
    assert file.exists(), "the person's own file stays"
    with pytest.raises(NotFoundError, match="No added model"):
        inside.remove("../own/Tiny model")


def test_only_a_file_of_our_own_is_deleted(tmp_path: Path) -> None:
    folder, outside = tmp_path / "models" / "language", tmp_path / "Mine.gguf"
    folder.mkdir(parents=True)
    outside.write_bytes(gguf(LLAMA))
    (folder / "Linked.gguf").symlink_to(outside)
    (folder / "Fetched.gguf").write_bytes(gguf(LLAMA, padding=2_000_000))
    (folder / "Fetched.gguf.json").write_text("{}")
    (folder / "Folder.gguf").mkdir()
    inside = models_of(folder, gguf=outside)
    assert inside.removal("Fetched") == "Its file, 2 MB, is deleted from the models folder."
    assert "stays where it is" in inside.removal("Linked")
    for name in ("Mine", "Folder", "../../Mine", "nothing", "", "."):
        assert inside.removal(name) == ""
        with pytest.raises((NotFoundError, ConfigError)):
            inside.remove(name)
    with pytest.raises(ConfigError, match="DOCMIND_LLM__GGUF") as raised:
        inside.remove("Mine")
    assert "not deleted" in raised.value.hint
    for name in ("Fetched", "Linked"):
        inside.remove(name)
    assert outside.read_bytes() == gguf(LLAMA)
    assert [path.name for path in folder.iterdir()] == ["Folder.gguf"]


def servers(settings: LLMSettings) -> Found:
    return Found((ModelInfo("ollama", "http://127.0.0.1:11434", "llama3.2:3b"),))


def test_it_stands_beside_the_servers_and_the_choice_is_kept(preferences: Preferences, tmp_path: Path) -> None:
    folder = tmp_path / "language"
    folder.mkdir()
    (folder / "tiny.gguf").write_bytes(gguf(LLAMA))
    models = LanguageModels(LLMSettings(), preferences, discover=servers, folder=folder)
    listed = models.list()
    assert [model.name for model in listed.models] == ["ollama/llama3.2:3b", "inside/tiny"]
    assert listed.chosen == listed.models[1], "a server that was only found gets nothing unasked"
    models.choose(listed.models[0])
    assert models.list().chosen == listed.models[0]
    models.choose(listed.models[1])
    assert str(tmp_path) not in str(preferences.get("llm.model")), "the vault stores no path"
    again = LanguageModels(LLMSettings(), preferences, discover=servers, folder=folder)
    assert again.list().chosen == listed.models[1]
    assert "written by tiny inside DocMind" in again.capability().detail
    models.remove("tiny")
    left = again.list(refresh=True)
    assert left.chosen is None
    assert "the model tiny, chosen in Settings, can't run inside DocMind now." in [one.reason for one in left.degraded]


@pytest.mark.parametrize(
    ("provider", "names"),
    [
        ("auto", ["inside/tiny", "ollama/llama3.2:3b"]),
        ("ollama", ["ollama/llama3.2:3b"]),
        ("openai", ["ollama/llama3.2:3b"]),
        ("off", []),
    ],
)
def test_the_provider_decides_what_is_offered(
    provider: str, names: list[str], preferences: Preferences, tmp_path: Path
) -> None:
    (tmp_path / "tiny.gguf").write_bytes(gguf(LLAMA))
    settings = LLMSettings.model_validate({"provider": provider, "gguf": tmp_path / "tiny.gguf"})
    models = LanguageModels(settings, preferences, discover=servers)
    assert [model.name for model in models.list().models] == names


def test_with_inside_no_server_is_asked(preferences: Preferences, tmp_path: Path) -> None:
    (tmp_path / "tiny.gguf").write_bytes(gguf(LLAMA))
    settings = LLMSettings(provider="inside", url="http://127.0.0.1:9", gguf=tmp_path / "tiny.gguf")
    listed = LanguageModels(settings, preferences).list()
    assert [model.name for model in listed.models] == ["inside/tiny"]
    assert listed.chosen == listed.models[0]
    assert not listed.degraded


SESSION = """
import sys
from pathlib import Path
from docmind.config import LLMSettings
from docmind.llm.base import Message
from docmind.llm.inside import InsideModel, InsideModels
settings = LLMSettings(gguf=Path(GGUF), max_tokens=16, context_tokens=1_024)
inside = InsideModels(settings, None)
model = InsideModel(inside.found()[0][0], settings, inside)
assert list(model.stream([Message("user", "Why is the sky blue?")], lambda: False))
inside.close()
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="strace")
def test_nothing_is_reached_and_nothing_is_left(tmp_path: Path) -> None:
    seen = watched_run(Place(tmp_path), SESSION.replace("GGUF", repr(str(smollm()))))
    assert seen.calls > 500, "the trace is empty"
    assert not seen.outside
    assert not seen.left
