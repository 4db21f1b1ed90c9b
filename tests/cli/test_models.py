"""`docmind models`: choose a language model; list, fetch, measure and use image models.

`docmind embed`: pages are embedded once, and the result is reported.
"""

from __future__ import annotations

import dataclasses
import hashlib
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import tinye5
from docmind.cli.models import spoken
from docmind.model_files import KNOWN
from docmind.records.models import ModelBench, ModelCard
from hub_server import COMMIT, Behaviour, HubServer, files_of
from hub_server import serving as serving_hub
from libraries import Library, confirm
from llm_server import LLMServer, Model, serving
from looking import album
from shells import Shell, assert_inert, sentence_of, stocked_shell
from smollm import LLAMA, gguf
from terminals import CTRL_C, terminal
from tinymodels import tiny_siglip
from tinyweights import SIGLIP, tiny_files, written


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """Make two documents that share a page image; the model is the fake."""
    albums = Library("albums that share a page", [album("warm", "red", "blue"), album("cold", "blue")], confirm)
    return stocked_shell(tmp_path, albums, DOCMIND_VISUAL__MODELS_DIR=str(tmp_path / "models"))


@pytest.mark.slow
def test_a_text_model_is_chosen_by_name(shell: Shell) -> None:
    assert "is set by DOCMIND_EMBEDDING__MODEL" in sentence_of(shell.run("models", "text", "minilm", code=2))
    free = shell.having(DOCMIND_EMBEDDING__MODEL="auto")
    assert "no text model 'nonesuch'" in sentence_of(free.run("models", "text", "nonesuch", code=2))
    assert "minilm is chosen" in free.run("models", "text", "minilm").stdout
    assert [card["name"] for card in free.json("models", "list")["text"] if card["in_use"]] == ["minilm"]


@pytest.mark.slow
def test_embedded_once_and_counted(shell: Shell) -> None:
    first = shell.run("embed", "--model", "fake-late", "warm.tiff")
    assert first.stdout.startswith("Prepared: 2 pages, in ")
    assert first.stderr.startswith("Preparing 2 page images with fake-late.\n"), "no time is known yet"
    told = shell.json("embed", "--model", "fake-late")
    assert set(told) == {"model", "pages_added", "pages_skipped", "pages_failed", "duration_ms"}
    assert (told["pages_added"], told["pages_skipped"], told["pages_failed"]) == (0, 3, 0)
    assert shell.json("embed", "--model", "fake-late", "--force")["pages_added"] == 3
    assert_inert(first.stdout + first.stderr)


@pytest.mark.slow
def test_what_cannot_be_is_one_sentence(shell: Shell) -> None:
    assert "There is no model evil" in sentence_of(shell.run("embed", "--model", "evil\x1b[2J", code=2))
    assert "cannot be used" in sentence_of(shell.run("embed", "--model", "siglip", code=45))
    assert "There is no document" in sentence_of(shell.run("embed", "--model", "fake-image", "nobody", code=4))
    off = shell.having(DOCMIND_VISUAL__IMAGE_MODEL="off")
    assert "is set to off" in sentence_of(off.run("embed", "--model", "fake-image", code=2))
    shell.run("embed", code=2)


@pytest.mark.parametrize(
    ("seconds", "told"), [(0.123, "0.12 s"), (8.04, "8 s"), (61.4, "61 s"), (180.0, "3 min"), (9_000.0, "2.5 h")]
)
def test_durations_are_for_people(seconds: float, told: str) -> None:
    assert spoken(seconds) == told


FILES = tiny_files(numbers=500_000)


@pytest.fixture
def server() -> Iterator[LLMServer]:
    with serving(models=(Model("llama3.2:3b"), Model("evil\x1b[2J"))) as server:
        yield server


@pytest.fixture
def shell_of_models(tmp_path: Path, server: LLMServer) -> Shell:
    return Shell(tmp_path, DOCMIND_LLM__PROVIDER="ollama", DOCMIND_LLM__URL=server.url)


@pytest.mark.slow
def test_list_and_use(shell_of_models: Shell, server: LLMServer) -> None:
    told = shell_of_models.json("models", "list")
    assert set(told) == {"models", "chosen", "is_off", "degraded", "text", "visual", "waiting"}
    first = told["models"][0]
    assert set(first) == {
        "name", "provider", "url", "model", "is_tool_calling", "is_remote", "takes_images", "note", "context_tokens",
    }  # fmt: skip
    assert (first["name"], first["url"], first["is_remote"]) == ("ollama/llama3.2:3b", server.url, False)
    assert [card["name"] for card in told["text"]] == ["minilm", "multilingual-e5-small", "pair"]
    shown = shell_of_models.run("models", "list").stdout
    assert "  minilm  embed  present  384 dimensions  Built-in (English, the smallest)" in shown
    assert f"* ollama/llama3.2:3b  {server.url}" in shown
    assert_inert(shown)
    assert "writes the answers now" in shell_of_models.run("models", "use", "llama3.2:3b").stdout
    assert shell_of_models.json("models", "use", "ollama/llama3.2:3b", "--url", server.url) == {
        "chosen": "ollama/llama3.2:3b"
    }
    assert shell_of_models.json("models", "use", "none") == {"chosen": None}
    off = shell_of_models.json("models", "list")
    assert (off["chosen"], off["is_off"]) == (None, True)
    assert "answers are quotes" in shell_of_models.run("models", "list").stderr
    shell_of_models.run("models", "use", "llama3.2:3b")
    assert shell_of_models.json("models", "list")["chosen"] == "ollama/llama3.2:3b"


def test_what_is_not_there_is_one_sentence(shell_of_models: Shell, server: LLMServer) -> None:
    shell_of_models.run("list")  # creates the vault
    refused = shell_of_models.run("models", "use", "gpt-\x1b[2J", code=4)
    assert "no language model" in sentence_of(refused)
    assert "ollama/llama3.2:3b" in refused.stderr
    assert_inert(refused.stderr)
    shell_of_models.run("models", "use", "llama3.2:3b", "--url", "http://127.0.0.1:9", code=4)


def test_a_server_that_is_gone_and_models_that_are_off(shell_of_models: Shell) -> None:
    gone = shell_of_models.having(DOCMIND_LLM__URL="http://127.0.0.1:9")
    assert gone.json("models", "list")["models"] == []
    assert "No language model was found" in gone.run("models", "list").stderr
    off = shell_of_models.having(DOCMIND_LLM__PROVIDER="off")
    assert off.json("models", "list")["is_off"] is True
    assert "models are off" in sentence_of(off.run("models", "use", "llama3.2:3b", code=4))


@pytest.fixture
def hub() -> Iterator[HubServer]:
    with serving_hub({SIGLIP: FILES}) as hub:
        yield hub


@pytest.fixture
def looking(tmp_path: Path, hub: HubServer) -> Shell:
    """Make a vault without language models, and a hub on this machine."""
    return Shell(tmp_path, DOCMIND_VISUAL__HUB_URL=hub.url, DOCMIND_VISUAL__MODELS_DIR=str(tmp_path / "models"))


def test_models_that_look_at_pages_are_listed(looking: Shell, hub: HubServer) -> None:
    cards = looking.json("models", "list")["visual"]
    assert [card["name"] for card in cards] == list(KNOWN)
    assert set(cards[0]) == {field.name for field in dataclasses.fields(ModelCard)}
    assert {card["state"] for card in cards} == {"missing"}
    shown = looking.run("models", "list").stdout
    assert "  siglip  image  missing  815.0 MB  Apache-2.0" in shown
    assert hub.received == []


@pytest.mark.slow
def test_a_text_model_is_fetched(tmp_path: Path) -> None:
    files = files_of(tinye5.published(tmp_path / "published"))
    with serving_hub({"intfloat/multilingual-e5-small": files}) as hub:
        shell = Shell(tmp_path, DOCMIND_VISUAL__MODELS_DIR=str(tmp_path / "models"), DOCMIND_VISUAL__HUB_URL=hub.url)
        pulled = shell.run("models", "pull", "multilingual-e5-small")
        assert "Downloading intfloat/multilingual-e5-small (MIT, about 490.0 MB) from 127.0.0.1." in pulled.stderr
        assert "Use it: docmind models text multilingual-e5-small" in pulled.stdout
        assert (tmp_path / "models" / "multilingual-e5-small" / "model.safetensors").is_file()
        hub.received.clear()
        told = shell.json("models", "pull", "multilingual-e5-small")["model"]
        assert (told["name"], told["state"], hub.received) == ("multilingual-e5-small", "present", [])


def test_pull_list_and_use(looking: Shell, hub: HubServer) -> None:
    pulled = looking.run("models", "pull", "siglip")
    assert f"siglip is installed (2.0 MB, {COMMIT[:12]})." in pulled.stdout
    assert f"Downloading {SIGLIP} (Apache-2.0, about 815.0 MB) from 127.0.0.1." in pulled.stderr
    card = looking.json("models", "list")["visual"][0]
    assert (card["state"], card["revision"], card["dim"]) == ("present", COMMIT, 24)
    hub.received.clear()
    assert looking.json("models", "pull", "siglip")["model"] == card
    assert hub.received == []
    assert looking.json("models", "disable", "image") == {"disabled": "image"}
    assert not looking.json("models", "list")["visual"][0]["in_use"]
    enabled = looking.run("models", "enable", "siglip").stdout
    assert "siglip is in use" in enabled
    assert "* siglip  image  present" in looking.run("models", "list").stdout


def test_a_directory_and_a_fake_are_used(looking: Shell, tmp_path: Path) -> None:
    place = written(tmp_path / "my [late] model", tiny_files("colqwen2"))
    model = looking.json("models", "enable", place)["model"]
    assert (model["name"], model["kind"], model["in_use"]) == ("my-late-model", "late", True)
    shown = looking.run("models", "list").stdout
    assert "* my-late-model  late  present" in shown
    assert str(place) not in shown
    (place / "model.safetensors").unlink()
    assert "It has no model.safetensors" in looking.run("models", "list").stdout
    assert looking.json("models", "enable", "fake-late")["model"]["architecture"] == "fake-late"


def test_bench_prints_what_it_costs_here(looking: Shell) -> None:
    nothing = looking.run("models", "bench")
    assert "Download one: docmind models pull siglip" in nothing.stderr
    assert looking.json("models", "bench") == {"benches": []}
    [bench] = looking.json("models", "bench", "fake-image")["benches"]
    assert set(bench) == {field.name for field in dataclasses.fields(ModelBench)}
    assert "s per page" in looking.run("models", "bench", "fake-late").stdout


@pytest.mark.slow
def test_a_real_checkpoint_from_the_hub_to_a_figure(looking: Shell, hub: HubServer, tmp_path: Path) -> None:
    hub.repositories[SIGLIP] = files_of(tiny_siglip(tmp_path / "made"))
    looking.run("models", "pull", "siglip")
    [bench] = looking.json("models", "bench")["benches"]
    assert (bench["name"], bench["device"]) == ("siglip", "cpu")
    assert bench["seconds_per_page"] > 0
    assert "s per page here" in looking.run("models", "list").stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (("pull", "clip\x1b[2J"), 2, "There is no model clip"),
        (("pull", "fake-image"), 2, "to download"),
        (("enable", "nothing"), 2, "There is no model nothing"),
        (("enable", "a" * 5_000), 2, "There is no model"),
        (("enable", "siglip"), 45, "It has not been fetched"),
        (("bench", "siglip"), 45, "It has not been fetched"),
    ],
    ids=["no such name", "a fake", "no such folder", "a long name", "not here", "not here to measure"],
)
def test_what_cannot_be_done_is_one_sentence(looking: Shell, words: tuple[str, ...], code: int, sentence: str) -> None:
    looking.run("list")  # creates the vault
    refused = looking.run("models", *words, code=code)
    assert sentence in sentence_of(refused)
    assert_inert(refused.stderr)


@pytest.mark.slow
@pytest.mark.parametrize("url", ["nonsense", "http://[", "http://hub.example", "ftp://127.0.0.1"])
def test_a_hub_that_may_not_be_asked_is_one_sentence(looking: Shell, url: str) -> None:
    looking.run("list")
    refused = looking.run("models", "pull", "siglip", code=2, DOCMIND_VISUAL__HUB_URL=url)
    assert "DOCMIND_VISUAL__HUB_URL" in refused.stderr


@pytest.mark.slow
def test_nothing_but_a_pull_asks_the_hub(looking: Shell, hub: HubServer, tmp_path: Path) -> None:
    looking.run("add", looking.file("owls.txt", b"Owls hunt at night."))
    for words in (
        ("search", "owls"),
        ("status",),
        ("models", "list"),
        ("models", "bench"),
        ("models", "enable", "fake-image"),
    ):
        looking.run(*words)
    looking.run("models", "bench", "siglip", code=45)
    assert hub.received == []


def test_a_download_that_fails_is_one_sentence_and_goes_on(looking: Shell, hub: HubServer) -> None:
    looking.run("list")
    hub.queue("model.safetensors", Behaviour("cut", 1_000_000))
    failed = looking.run("models", "pull", "siglip", "--quiet", code=46)
    assert "docmind: 127.0.0.1 broke off in the middle." in failed.stderr
    assert looking.json("models", "pull", "siglip")["model"]["state"] == "present"
    assert hub.asked("model.safetensors")[-1].start == 1_000_000


@pytest.mark.slow
@pytest.mark.crash
@pytest.mark.skipif(sys.platform == "win32", reason="there is no Ctrl-C to send")
def test_a_bar_is_shown_and_ctrl_c_keeps_what_has_arrived(looking: Shell, hub: HubServer, tmp_path: Path) -> None:
    looking.run("list")
    hub.delay_s = 0.1
    with terminal(["models", "pull", "siglip"], looking.environment) as screen:
        screen.wait_for("model.safetensors")
        screen.wait_for("/2.0 MB")
        deadline = time.monotonic() + 60
        while hub.asked("model.safetensors")[0].sent < 200_000:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        assert screen.type(CTRL_C).end() == 130
    assert "docmind: stopped." in screen.shown
    assert "Traceback" not in screen.shown
    [part] = (tmp_path / "models" / "siglip.part").glob("model*.part")
    kept = part.stat().st_size
    assert kept > 100_000
    hub.delay_s = 0
    assert looking.json("models", "pull", "siglip")["model"]["state"] == "present"
    assert hub.asked("model.safetensors")[-1].start == kept


@pytest.mark.slow
def test_a_gguf_file_is_added_used_and_removed(tmp_path: Path) -> None:
    models = str(tmp_path / "models")
    shell = Shell(tmp_path, DOCMIND_LLM__PROVIDER="inside", DOCMIND_VISUAL__MODELS_DIR=models)
    file = tmp_path / "Tiny.gguf"
    file.write_bytes(gguf(LLAMA))
    shell.run("list")  # makes the vault
    assert "it is no GGUF file" in sentence_of(shell.run("models", "add", shell.file("notes.gguf", b"notes"), code=2))
    added = shell.run("models", "add", str(file)).stdout
    assert added.startswith("inside/Tiny is installed (")
    assert "docmind models use inside/Tiny" in added
    assert "writes the answers now" in shell.run("models", "use", "inside/Tiny").stdout
    shown = shell.run("models", "list").stdout
    assert "* inside/Tiny  " in shown
    assert "of memory" in shown
    assert_inert(shown)
    told = shell.json("models", "list")
    assert (told["chosen"], told["models"][0]["context_tokens"]) == ("inside/Tiny", 2_048)
    (answers,) = [one for one in shell.json("status")["capabilities"] if one["name"] == "answers"]
    assert "written by Tiny inside DocMind" in answers["detail"]
    assert "Nothing was removed" in sentence_of(shell.run("models", "remove", "inside/Tiny", code=130))
    assert "inside/Tiny was removed" in shell.run("models", "remove", "inside/Tiny", "--yes").stdout
    assert file.exists()
    assert "can't run inside DocMind now" in shell.run("models", "list").stderr
    assert "No added model" in sentence_of(shell.run("models", "remove", "inside/Tiny", code=4))


@pytest.mark.slow
def test_a_gguf_file_is_fetched_used_and_removed(looking: Shell, hub: HubServer, tmp_path: Path) -> None:
    data = gguf(LLAMA, padding=300_000)
    hub.repositories["maker/tiny-GGUF"] = {"Tiny.gguf": data}
    inside = looking.having(DOCMIND_LLM__PROVIDER="inside")
    assert "qwen2.5-1.5b  to download  1.12 GB  Apache-2.0" in inside.run("models", "list").stdout
    assert not hub.received
    fetched = inside.run("models", "pull", "maker/tiny-GGUF", "Tiny.gguf")
    assert "Downloading Tiny.gguf from 127.0.0.1." in fetched.stderr
    assert "inside/Tiny is installed" in fetched.stdout
    assert_inert(fetched.stdout + fetched.stderr)
    assert "* inside/Tiny" in inside.run("models", "list").stdout
    assert inside.json("models", "remove", "inside/Tiny", "--yes") == {"removed": "inside/Tiny"}
    assert not [path for path in (tmp_path / "models" / "language").iterdir() if not path.name.endswith(".lock")]
    address, digest = f"{hub.url}/maker/tiny-GGUF/resolve/main/Tiny.gguf", hashlib.sha256(data).hexdigest()
    assert "with its checksum" in sentence_of(inside.run("models", "pull", address, code=2))
    assert inside.json("models", "pull", address, "--sha256", digest)["model"]["name"] == "inside/Tiny"
    assert "64 hexadecimal" in sentence_of(inside.run("models", "pull", address, "--sha256", "1", code=2))
    hub.queue("Tiny2.gguf", Behaviour("cut", 100_000))
    hub.repositories["maker/tiny-GGUF"]["Tiny2.gguf"] = data
    assert "broke off" in inside.run("models", "pull", "maker/tiny-GGUF", "Tiny2.gguf", code=46).stderr
    assert "Tiny2 was removed" in inside.run("models", "remove", "Tiny2").stdout
