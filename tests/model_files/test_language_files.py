"""Language models fetched as one file: from a repository of a hub, and from an address with its checksum."""

from __future__ import annotations

import contextlib
import hashlib
import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import tiny_disk
from docmind.config import LLMSettings
from docmind.errors import CancelledError, ConfigError, DiskFullError, DocMindError, DownloadError
from docmind.llm.inside import InsideModels
from docmind.model_files import KNOWN_FILES, FileSource, LanguageFiles, file_source
from docmind.records.models import PullProgress
from each import each_of
from hub_server import COMMIT, Behaviour, HubServer, serving
from smollm import LLAMA, gguf

OWNER = "maker/tiny-GGUF"
DATA = gguf(LLAMA, padding=400_000)
SUM = hashlib.sha256(DATA).hexdigest()
PATH = "q4/Tiny-Q4.gguf"


@pytest.fixture
def hub() -> Iterator[HubServer]:
    with serving({OWNER: {PATH: DATA, "notes.gguf": b"only notes", "README.md": b"# Tiny"}}) as hub:
        yield hub


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "models" / "language"


@pytest.fixture
def files(hub: HubServer, folder: Path) -> Iterator[LanguageFiles]:
    inside = InsideModels(LLMSettings(), folder)
    files = LanguageFiles(folder, hub.url, lambda file: inside.add(file, moves=True))
    yield files
    files.close()


def kept(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if not path.name.endswith(".lock")} if folder.exists() else set()


def test_a_file_of_a_repository_is_fetched_checked_and_noted(
    files: LanguageFiles, hub: HubServer, folder: Path
) -> None:
    steps: list[PullProgress] = []
    assert files.pull(file_source(OWNER, PATH), steps.append) == "Tiny-Q4"
    assert kept(folder) == {"Tiny-Q4.gguf", "Tiny-Q4.gguf.json"}
    assert (folder / "Tiny-Q4.gguf").read_bytes() == DATA
    assert json.loads((folder / "Tiny-Q4.gguf.json").read_text()) == {
        "repository": OWNER, "host": "127.0.0.1", "revision": COMMIT, "sha256": SUM,
    }  # fmt: skip
    assert (steps[-1].is_over, steps[-1].bytes_done, steps[-1].bytes_total) == (True, len(DATA), len(DATA))
    assert [one.path for one in hub.asked("Tiny-Q4.gguf")] == [f"/{OWNER}/resolve/{COMMIT}/{PATH}"]
    assert not hub.asked("README.md")
    files.pull(file_source(OWNER, PATH))
    assert len(hub.asked("Tiny-Q4.gguf")) == 1, "what is here is not fetched again"


def test_an_address_is_fetched_with_its_checksum(files: LanguageFiles, hub: HubServer, folder: Path) -> None:
    url = f"{hub.url}/{OWNER}/resolve/main/{PATH}?token=secret#part"
    assert files.pull(file_source(url, sha256=SUM.upper())) == "Tiny-Q4"
    assert (folder / "Tiny-Q4.gguf").read_bytes() == DATA
    assert "secret" not in (folder / "Tiny-Q4.gguf.json").read_text()
    with pytest.raises(ConfigError, match="another model Tiny-Q4"):
        files.pull(file_source(url, sha256="0" * 64))
    assert (folder / "Tiny-Q4.gguf").read_bytes() == DATA


def test_another_content_than_announced_is_deleted(files: LanguageFiles, hub: HubServer, folder: Path) -> None:
    hub.queue(PATH, Behaviour("wrong"), Behaviour("answer"), Behaviour("wrong"))
    with pytest.raises(DownloadError, match="isn't what"):
        files.pull(file_source(OWNER, PATH))
    url = f"{hub.url}/{OWNER}/resolve/main/{PATH}"
    with pytest.raises(DownloadError, match="isn't what"):
        files.pull(file_source(url, sha256=SUM))
    assert not list(folder.rglob("*.gguf"))
    with pytest.raises(DownloadError, match="another checksum"):
        files.pull(file_source(OWNER, PATH, "0" * 64))
    hub.listing = {"sha": COMMIT, "siblings": [{"rfilename": PATH, "size": len(DATA), "blobId": "0" * 40}]}
    with pytest.raises(DownloadError, match="or none"):
        files.pull(file_source(OWNER, PATH))
    assert not list(folder.rglob("*.gguf"))


def test_it_goes_on_where_it_was(files: LanguageFiles, hub: HubServer, folder: Path) -> None:
    hub.queue(PATH, Behaviour("cut", 100_000))
    with pytest.raises(DownloadError, match="broke off"):
        files.pull(file_source(OWNER, PATH))
    assert files.pull(file_source(OWNER, PATH)) == "Tiny-Q4"
    assert [one.start for one in hub.asked("Tiny-Q4.gguf")] == [0, 100_000]
    assert (folder / "Tiny-Q4.gguf").read_bytes() == DATA


def test_it_is_stopped_in_the_background_and_discarded(files: LanguageFiles, hub: HubServer, folder: Path) -> None:
    hub.delay_s = 0.2
    files.submit(file_source(OWNER, PATH))
    with pytest.raises(ConfigError, match="being downloaded already"):
        files.submit(file_source(OWNER, PATH))
    deadline = time.monotonic() + 30
    while not files.all()[0].bytes_done:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    files.cancel("Tiny-Q4")
    while not files.all()[0].is_over:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert "stopped" in files.all()[0].error
    assert list((folder / "Tiny-Q4.part").iterdir())
    assert files.drop_part("Tiny-Q4")
    assert kept(folder) == set()
    assert not files.drop_part("Tiny-Q4")


def test_a_check_stops_it(files: LanguageFiles) -> None:
    def stop() -> None:
        raise CancelledError("Stopped.")

    with pytest.raises(CancelledError):
        files.pull(file_source(OWNER, PATH), check=stop)


def test_what_is_no_language_model_is_not_kept(files: LanguageFiles, folder: Path) -> None:
    with pytest.raises(ConfigError, match="no GGUF file"):
        files.pull(file_source(OWNER, "notes.gguf"))
    assert kept(folder) == set()


@pytest.mark.parametrize("kind", ["html", "redirect", "status"])
def test_an_address_that_gives_something_else(files: LanguageFiles, hub: HubServer, kind: str) -> None:
    hub.queue(PATH, Behaviour(kind, 404, "http://192.0.2.1/x"))  # type: ignore[arg-type]
    with pytest.raises(DownloadError):
        files.pull(file_source(f"{hub.url}/{OWNER}/resolve/main/{PATH}", sha256=SUM))


def test_a_repository_without_the_file(files: LanguageFiles) -> None:
    with pytest.raises(DownloadError, match=r"has no file other\.gguf"):
        files.pull(file_source(OWNER, "other.gguf"))


@pytest.mark.crash
def test_a_disk_without_room_is_told_before(hub: HubServer, tmp_path: Path) -> None:
    with tiny_disk(tmp_path, megabytes=4) as disk:
        files = LanguageFiles(disk / "language", hub.url, lambda file: None)
        with pytest.raises(DiskFullError, match="200 MB to spare"):
            files.pull(file_source(OWNER, PATH))
        assert not hub.asked("Tiny-Q4.gguf")


@each_of(
    "name, file, sum_, sentence",
    [
        ("", "", "", "repository and file"),
        ("maker", "x.gguf", "", "repository and file"),
        ("../x", "x.gguf", "", "repository and file"),
        ("maker/x/y", "x.gguf", "", "repository and file"),
        ("maker/..", "x.gguf", "", "repository and file"),
        ("maker/x", "", "", r"NAME\.gguf"),
        ("maker/x", "x.bin", "", r"NAME\.gguf"),
        ("maker/x", "../x.gguf", "", r"NAME\.gguf"),
        ("maker/x", "/etc/x.gguf", "", r"NAME\.gguf"),
        ("maker/x", ".x.gguf", "", r"NAME\.gguf"),
        ("maker/x", "x\x1b[2J.gguf", "", r"NAME\.gguf"),
        ("maker/x", "x-00001-of-00002.gguf", "", "several parts"),
        ("maker/x", "x.gguf", "12", "64 hexadecimal"),
        ("https://h.example/x.gguf", "", "", "with its checksum"),
        ("https://h.example/x.bin", "", SUM, r"NAME\.gguf"),
        ("https://h.example/..%2fx.gguf/..", "", SUM, r"NAME\.gguf"),
    ],
)
def test_what_names_no_file_is_refused(name: str, file: str, sum_: str, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence) as raised:
        file_source(name, file, sum_)
    assert raised.value.hint
    assert str(raised.value).isprintable()


@pytest.mark.parametrize(
    "url",
    ["http://h.example/x.gguf", "ftp://h.example/x.gguf", "https://user:word@h.example/x.gguf", "https:///x.gguf"],
)
def test_an_address_is_asked_by_https_only(files: LanguageFiles, url: str) -> None:
    with pytest.raises(ConfigError) as raised:
        files.pull(file_source(url, sha256=SUM))
    assert "word" not in str(raised.value)


def test_the_known_ones_can_be_named() -> None:
    for name, known in KNOWN_FILES.items():
        assert file_source(name) == known.source == file_source(known.source.repository, known.source.file)
        assert known.licence
        assert known.megabytes > 100


def test_a_place_taken_by_a_link_is_not_overwritten(files: LanguageFiles, folder: Path, tmp_path: Path) -> None:
    folder.mkdir(parents=True)
    (tmp_path / "mine").write_bytes(b"mine")
    (folder / "Tiny-Q4.gguf").symlink_to(tmp_path / "mine")
    with contextlib.suppress(DocMindError):
        files.pull(FileSource(PATH, OWNER))
    assert (tmp_path / "mine").read_bytes() == b"mine"
    assert (folder / "Tiny-Q4.gguf").is_symlink()
