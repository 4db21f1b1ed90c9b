"""A model is fetched once: what has arrived stays, what is wrong goes, and the place is taken by what is whole."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import forked
from conftest import tiny_disk
from docmind.errors import CancelledError, ConfigError, DiskFullError, DocMindError, DownloadError
from docmind.model_files import Weights
from docmind.records.models import Description, PullProgress
from hub_server import COMMIT, Behaviour, HubServer, serving
from tinyweights import COLPALI, SIGLIP, sharded, tiny_files, written

FILES = tiny_files()
SIZE = len(FILES["model.safetensors"])


@pytest.fixture
def hub() -> Iterator[HubServer]:
    extra = {"README.md": b"# SigLIP", "pytorch_model.bin": b"x" * 99, "modeling.py": b"x", "flax_model.msgpack": b"x"}
    with serving({SIGLIP: {**FILES, **extra}, COLPALI: sharded(tiny_files("colpali"))}) as server:
        yield server


@pytest.fixture
def weights(tmp_path: Path) -> Weights:
    return Weights(tmp_path / "models")


class Watcher:
    """Keeps the progress; stops the download where it is told to."""

    def __init__(self, stop_at: int | None = None) -> None:
        self.told: list[PullProgress] = []
        self._stop_at = stop_at

    def progress(self, now: PullProgress) -> None:
        self.told.append(now)

    def check(self) -> None:
        if self._stop_at is not None and self.told and self.told[-1].bytes_done >= self._stop_at:
            raise CancelledError("Stopped.")


def pull(weights: Weights, hub: HubServer, name: str = "siglip", watcher: Watcher | None = None) -> Description:
    watcher = watcher or Watcher()
    return weights.pull(name, hub_url=hub.url, progress=watcher.progress, check=watcher.check)


@pytest.mark.slow
def test_a_model_is_fetched_and_described(weights: Weights, hub: HubServer) -> None:
    watcher = Watcher()
    one = pull(weights, hub, watcher=watcher)
    assert (one.state, one.revision, one.dim) == ("present", COMMIT, 24)
    assert one == Weights(weights.models_dir).describe("siglip")
    place = weights.models_dir / "siglip"
    assert {path.name: path.read_bytes() for path in place.iterdir() if path.name != "docmind.json"} == FILES
    total = sum(map(len, FILES.values()))
    assert [now.is_over for now in watcher.told].index(True) == len(watcher.told) - 1
    assert watcher.told[-1].bytes_done == watcher.told[-1].bytes_total == total
    done = [now.bytes_done for now in watcher.told]
    assert done == sorted(done)
    asked = {one.path.rpartition("/")[2].partition("?")[0] for one in hub.received}
    assert asked == {"main", *FILES}


def test_what_is_here_is_not_asked_for(weights: Weights, hub: HubServer) -> None:
    one = pull(weights, hub)
    hub.received.clear()
    watcher = Watcher()
    assert pull(weights, hub, watcher=watcher) == one
    assert hub.received == []
    assert watcher.told[-1].is_over


def test_weights_in_several_files(weights: Weights, hub: HubServer) -> None:
    one = pull(weights, hub, "colpali")
    assert (one.state, one.kind, one.architecture) == ("present", "late", "colpali")


@pytest.mark.parametrize("kind", ["cut", "reset"])
def test_the_next_try_asks_only_for_the_rest(weights: Weights, hub: HubServer, kind: str) -> None:
    hub.queue("model.safetensors", Behaviour(kind, 100_000))  # type: ignore[arg-type]
    with pytest.raises(DownloadError, match="broke off"):
        pull(weights, hub)
    assert weights.describe("siglip").state == "missing"
    [part] = (weights.models_dir / "siglip.part").glob("*.part")
    kept = part.stat().st_size
    assert 0 < kept <= 100_000
    hub.received.clear()
    assert pull(weights, hub).state == "present"
    [again] = hub.asked("model.safetensors")
    assert (again.start, again.sent) == (kept, SIZE - kept)
    assert hub.asked("config.json") == []


def test_a_stop_keeps_what_has_arrived(weights: Weights, hub: HubServer) -> None:
    hub.delay_s = 0.15  # slower than progress is told
    with pytest.raises(CancelledError):
        pull(weights, hub, watcher=Watcher(stop_at=65_536))
    hub.delay_s = 0
    [part] = (weights.models_dir / "siglip.part").glob("*.part")
    assert part.stat().st_size >= 65_000
    assert pull(weights, hub).state == "present"
    assert hub.asked("model.safetensors")[-1].start >= 65_000


def test_a_server_without_ranges_starts_again(weights: Weights, hub: HubServer) -> None:
    hub.queue("model.safetensors", Behaviour("cut", 100_000), Behaviour("no_range"))
    with pytest.raises(DownloadError):
        pull(weights, hub)
    assert pull(weights, hub).state == "present"
    assert hub.asked("model.safetensors")[-1].sent == SIZE


def test_a_server_without_ranges_is_asked_for_the_whole_file(weights: Weights, hub: HubServer) -> None:
    hub.queue("model.safetensors", Behaviour("cut", 100_000), Behaviour("status", 416))
    with pytest.raises(DownloadError):
        pull(weights, hub)
    assert pull(weights, hub).state == "present"
    assert [one.start for one in hub.asked("model.safetensors")] == [0, 100_000, 0]


@pytest.mark.slow
def test_a_long_download_resumes_after_a_dropped_connection(weights: Weights, hub: HubServer) -> None:
    hub.repositories[SIGLIP] = tiny_files(numbers=3_000_000)
    hub.queue("model.safetensors", Behaviour("cut", 9 << 20))
    assert pull(weights, hub).state == "present"
    assert [one.start for one in hub.asked("model.safetensors")] == [0, 9 << 20]


def test_a_stop_between_the_two_renames_costs_nothing(weights: Weights, hub: HubServer) -> None:
    whole = pull(weights, hub)
    place = weights.models_dir / "siglip"
    place.rename(weights.models_dir / "siglip.part")
    written(weights.models_dir / "siglip.old", FILES)
    hub.received.clear()
    assert pull(weights, hub) == whole
    assert len(hub.received) == 1
    assert not (weights.models_dir / "siglip.old").exists()


@pytest.mark.parametrize(
    ("behaviour", "sentence"),
    [
        (Behaviour("wrong"), r"model\.safetensors isn't what 127\.0\.0\.1 announced"),
        (Behaviour("more"), "sent more than it announced"),
        (Behaviour("html"), "does not answer as a model hub does"),
        (Behaviour("status", 401), "to everybody"),
        (Behaviour("status", 404), "has no google/siglip-base-patch16-224/model.safetensors"),
        (Behaviour("status", 500), "answers with status 500"),
        (Behaviour("redirect", location="http://hub.example/x"), "not followed"),
    ],
)
def test_a_wrong_download_is_one_sentence_and_can_be_resumed(
    weights: Weights, hub: HubServer, behaviour: Behaviour, sentence: str
) -> None:
    hub.queue("model.safetensors", behaviour)
    with pytest.raises(DownloadError, match=sentence) as raised:
        pull(weights, hub)
    assert raised.value.hint
    assert not (weights.models_dir / "siglip").exists()
    hub.received.clear()
    assert pull(weights, hub).state == "present"
    assert hub.asked("config.json") == []


def test_a_small_file_is_checked_by_its_git_sum(weights: Weights, hub: HubServer) -> None:
    hub.queue("tokenizer.json", Behaviour("wrong"))
    with pytest.raises(DownloadError, match=r"tokenizer\.json isn't what"):
        pull(weights, hub)
    assert pull(weights, hub).state == "present"


def test_a_range_that_is_not_the_one_asked_for(weights: Weights, hub: HubServer) -> None:
    hub.queue("model.safetensors", Behaviour("cut", 100_000), Behaviour("odd_range"))
    for _ in range(2):
        with pytest.raises(DownloadError):
            pull(weights, hub)
    assert pull(weights, hub).state == "present"


def test_parts_of_another_version_are_cleared_away(weights: Weights, hub: HubServer) -> None:
    hub.queue("model.safetensors", Behaviour("cut", 100_000))
    with pytest.raises(DownloadError):
        pull(weights, hub)
    written(weights.models_dir / "siglip.part" / "folder", {"x": b"x"})
    newer = tiny_files(numbers=60_000)
    hub.repositories[SIGLIP] = newer
    assert pull(weights, hub).state == "present"
    assert hub.asked("model.safetensors")[-1].start == 0
    assert (weights.models_dir / "siglip" / "model.safetensors").read_bytes() == newer["model.safetensors"]
    assert not list(weights.models_dir.rglob("*.part"))


def test_what_is_broken_is_mended_and_nothing_else_fetched(weights: Weights, hub: HubServer) -> None:
    whole = pull(weights, hub)
    path = weights.models_dir / "siglip" / "tokenizer.json"
    path.write_bytes(b'{"version": "1.1"}')
    broken = weights.describe("siglip")
    assert (broken.state, broken.reason) == ("broken", "tokenizer.json isn't what was downloaded.")
    hub.received.clear()
    assert pull(weights, hub) == whole
    assert [one.path.rpartition("/")[2] for one in hub.received[1:]] == ["tokenizer.json"]
    assert sorted(path.name for path in weights.models_dir.iterdir()) == [".siglip.lock", "fingerprints.json", "siglip"]


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        ({"adapter_config.json": b"{}", "adapter_model.safetensors": b"x"}, "holds an adapter"),
        ({"config.json": FILES["config.json"], "pytorch_model.bin": b"x"}, "no weights as safetensors"),
        ({name: FILES[name] for name in ("config.json", "model.safetensors")}, r"holds no tokenizer\.json"),
        (tiny_files("bert"), "holds no model that can be run. Its architecture is 'bert'"),
        (tiny_files("colpali"), "holds no model that can be run. Its architecture is 'colpali'"),
        ({**FILES, "model.safetensors": b"PK\3\4" * 9}, "holds no model that can be run"),
    ],
)
def test_a_repository_without_such_a_model(
    weights: Weights, hub: HubServer, files: dict[str, bytes], sentence: str
) -> None:
    hub.repositories[SIGLIP] = files
    with pytest.raises(DownloadError, match=sentence):
        pull(weights, hub)
    assert weights.describe("siglip").state == "missing"


@pytest.mark.crash
def test_a_full_disk_is_seen_before_it_is_full(tmp_path: Path, hub: HubServer) -> None:
    with tiny_disk(tmp_path, megabytes=4) as disk:
        wanted = r"needs 0\.2 MB more, plus 200 MB to spare; the models folder has 4 MB free"
        with pytest.raises(DiskFullError, match=wanted) as raised:
            pull(Weights(disk / "models"), hub)
        assert "DOCMIND_VISUAL__MODELS_DIR" in raised.value.hint
    assert hub.asked("model.safetensors") == []


@pytest.mark.slow
@pytest.mark.crash
def test_a_disk_that_fills_up_meanwhile_keeps_what_has_arrived(tmp_path: Path, hub: HubServer) -> None:
    code = (
        "import resource, signal, sys; from pathlib import Path; from docmind.model_files import Weights\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
        "from docmind.errors import DocMindError\n"
        "try: Weights(Path(sys.argv[1])).pull('siglip', hub_url=sys.argv[2], progress=print, check=lambda: None)\n"
        "except DocMindError as error: print(type(error).__name__, error)\n"
    )
    if sys.platform == "win32":
        pytest.skip("no limits on file sizes there")
    told = forked.run(
        [sys.executable, "-c", code, str(tmp_path / "models"), hub.url], capture_output=True, text=True, check=True
    )
    assert told.stdout.splitlines()[-1].startswith("ConfigError Models can't be stored in")
    [part] = (tmp_path / "models" / "siglip.part").glob("*.part")
    assert part.stat().st_size == 100_000
    assert pull(Weights(tmp_path / "models"), hub).state == "present"
    assert hub.asked("model.safetensors")[-1].start == 100_000


@pytest.mark.slow
@pytest.mark.crash
def test_a_process_that_is_killed_goes_on_where_it_was(tmp_path: Path, hub: HubServer) -> None:
    hub.delay_s = 0.1
    hub.repositories[SIGLIP] = {**tiny_files(numbers=500_000)}
    size = len(hub.repositories[SIGLIP]["model.safetensors"])
    code = (
        "import sys; from pathlib import Path; from docmind.model_files import Weights\n"
        "Weights(Path(sys.argv[1])).pull('siglip', hub_url=sys.argv[2], progress=lambda now: None, check=lambda: None)"
    )
    process = forked.popen([sys.executable, "-c", code, str(tmp_path / "models"), hub.url])
    try:
        deadline = time.monotonic() + 60
        while not (got := hub.asked("model.safetensors")) or got[0].sent < 300_000:
            assert time.monotonic() < deadline
            time.sleep(0.02)
    finally:
        process.send_signal(signal.SIGKILL if os.name == "posix" else signal.SIGTERM)
        process.wait(30)
    [part] = (tmp_path / "models" / "siglip.part").glob("model*.part")
    kept = part.stat().st_size
    assert kept > 100_000
    hub.delay_s = 0
    hub.received.clear()
    assert pull(Weights(tmp_path / "models"), hub).state == "present"
    [again] = hub.asked("model.safetensors")
    assert (again.start, again.sent) == (kept, size - kept)


def test_two_at_once(weights: Weights, hub: HubServer) -> None:
    hub.queue("model.safetensors", Behaviour("stall", 10_000))
    stopped = threading.Event()
    ends: list[DocMindError] = []

    def check() -> None:
        if stopped.is_set():
            raise CancelledError("Stopped.")

    def first() -> None:
        try:
            weights.pull("siglip", hub_url=hub.url, progress=lambda now: None, check=check)
        except DocMindError as error:
            ends.append(error)

    thread = threading.Thread(target=first)
    thread.start()
    while not hub.asked("model.safetensors"):
        time.sleep(0.01)
    try:
        with pytest.raises(DownloadError, match="siglip is being downloaded already"):
            pull(weights, hub)
        with pytest.raises(DownloadError, match="being downloaded"):
            weights.remove("siglip")
        assert pull(weights, hub, "colpali").state == "present"
    finally:
        stopped.set()
        thread.join(20)
    assert [type(error) for error in ends] == [CancelledError]
    assert pull(weights, hub).state == "present"


def test_it_is_removed_with_what_was_half_fetched(weights: Weights, hub: HubServer) -> None:
    pull(weights, hub)
    written(weights.models_dir / "siglip.part", {"model.safetensors.0123456789abcdef.part": b"x"})
    weights.remove("siglip")
    assert weights.describe("siglip").state == "missing"
    assert sorted(path.name for path in weights.models_dir.iterdir()) == [".siglip.lock", "fingerprints.json"]
    weights.remove("siglip")
    with pytest.raises(ConfigError):
        weights.remove("../siglip")


def test_only_files_that_a_download_made_are_removed(weights: Weights, hub: HubServer, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    written(outside, {"model.safetensors": b"precious"})
    foreign = {"thesis.docx": b"mine", "notes.part": b"mine", "script.py": b"mine"}
    pull(weights, hub)
    for name in ("siglip", "siglip.part", "siglip.old"):
        written(weights.models_dir / name, foreign)
        written(weights.models_dir / name / "notes", {"one.txt": b"mine"})
        if os.name == "posix":
            (weights.models_dir / name / "vocab.txt").symlink_to(outside / "model.safetensors")
    hub.repositories[SIGLIP] = tiny_files(numbers=60_000)
    (weights.models_dir / "siglip" / "model.safetensors").unlink()
    assert pull(weights, hub).state == "present"
    weights.remove("siglip")
    kept = [path.read_bytes() for path in weights.models_dir.rglob("*") if path.is_file() and not path.is_symlink()]
    assert kept.count(b"mine") == 4 * 3
    assert (outside / "model.safetensors").read_bytes() == b"precious"
    assert not list(weights.models_dir.rglob("model.safetensors"))


@pytest.mark.skipif(os.name != "posix", reason="symbolic links")
def test_a_linked_folder_in_the_place_of_a_model_is_not_emptied(weights: Weights, tmp_path: Path) -> None:
    written(tmp_path / "mine", FILES)
    weights.models_dir.mkdir(parents=True, exist_ok=True)
    (weights.models_dir / "siglip").symlink_to(tmp_path / "mine")
    weights.remove("siglip")
    assert sorted(path.name for path in (tmp_path / "mine").iterdir()) == sorted(FILES)


@pytest.mark.skipif(os.name != "posix", reason="symbolic links")
def test_a_linked_lock_is_refused_in_one_sentence(weights: Weights, hub: HubServer, tmp_path: Path) -> None:
    weights.models_dir.mkdir(parents=True, exist_ok=True)
    target = tmp_path / "target"
    target.write_bytes(b"mine")
    (weights.models_dir / ".siglip.lock").symlink_to(target)
    with pytest.raises(ConfigError, match="symbolic link"):
        pull(weights, hub)
    assert target.read_bytes() == b"mine"


@pytest.mark.parametrize("name", ["fake-image", "nothing", "../siglip", "google/siglip-base-patch16-224"])
def test_only_known_models_are_fetched(weights: Weights, hub: HubServer, name: str) -> None:
    with pytest.raises(ConfigError, match="to download") as raised:
        pull(weights, hub, name)
    assert "siglip" in raised.value.hint
    assert hub.received == []


def test_a_folder_that_cannot_be_written_to(tmp_path: Path, hub: HubServer) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(ConfigError, match="Models can't be stored in") as raised:
        pull(Weights(tmp_path / "file" / "models"), hub)
    assert "DOCMIND_VISUAL__MODELS_DIR" in raised.value.hint
