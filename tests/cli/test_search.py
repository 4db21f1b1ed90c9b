"""`docmind search`: words, pictures, and all lists together."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sheets import jpeg, png, sheet
from shells import Shell, assert_inert
from tinymodels import tiny_siglip

BESIDE_WORDS = {"query", "hits", "lists", "looks", "merge", "found", "is_final", "picture_text", "degraded",
                "timings_ms", "cache_hit_rate"}  # fmt: skip


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    shell = Shell(tmp_path_factory.mktemp("looking"), DOCMIND_READING__IMAGE_SIDE_PX="1600")
    for seed in (1, 2):
        shell.run("add", shell.file(f"page-{seed}.png", png(sheet(seed))))
    shell.run("add", shell.file("nests.py", b"def nest(poplar):\n    return poplar.top\n"))
    shell.run("add", shell.file("herons.md", b"# Herons\n\nA heron builds its nest in a poplar.\n"))
    return shell


@pytest.fixture(scope="module")
def seeing(shell: Shell) -> Shell:
    """Return the same vault with an image model."""
    seeing = shell.having(DOCMIND_VISUAL__IMAGE_MODEL="fake-image")
    seeing.run("embed", "--model", "fake-image")
    return seeing


@pytest.mark.slow
def test_a_picture_finds_its_page(shell: Shell) -> None:
    told = shell.json("search", "--image", shell.file("shot.jpg", jpeg(sheet(2).crop((80, 300, 800, 900)))))
    assert (told["found"], told["is_final"], told["query"]) == (True, True, "")
    assert set(told) == BESIDE_WORDS
    best = told["hits"][0]
    assert (best["rank"], best["document"], best["page_no"], best["found"]) == (1, "page-2.png", 1, True)
    assert [[round(x, -2), round(y, -2)] for x, y in best["quad"]] == [[100, 300], [800, 300], [800, 900], [100, 900]]
    assert told["degraded"] == []  # the match is sure: OCR, which is switched off in this vault, is not asked
    unread = shell.json("search", "--no-read", "--image", shell.file("shot.jpg", jpeg(sheet(2))))
    assert (unread["degraded"], unread["hits"][0]["document"]) == ([], "page-2.png")


@pytest.mark.slow
def test_words_go_along_with_a_picture(shell: Shell) -> None:
    shot = shell.file("shot.jpg", jpeg(sheet(5)))
    told = shell.json("search", "Where do herons nest?", "--image", shot, "--no-read")
    assert (told["found"], told["hits"][0]["document"]) == (False, "herons.md")
    assert [one["list"] for one in told["lists"]] == ["lookalike", "text", "image"]


@pytest.mark.slow
def test_it_is_told_on_a_terminal(shell: Shell) -> None:
    found = shell.run("search", "--image", shell.file("shot.jpg", jpeg(sheet(1))))
    assert "1. page-1.png, page 1" in found.stdout
    assert "    the whole page" in found.stdout
    nothing = shell.run("search", "--image", shell.file("other.jpg", jpeg(sheet(5))))
    assert "No sure match. Closest pages:" in nothing.stdout
    assert_inert(nothing.stdout)


@pytest.mark.slow
def test_what_does_not_go_together_is_refused(shell: Shell, tmp_path: Path) -> None:
    picture = shell.file("shot.jpg", jpeg(sheet(1)))
    assert "Give a question or a picture." in shell.run("search", code=2).stderr
    of_pictures = "lists has a wrong value; expected: lookalike | text | image."
    assert of_pictures in shell.run("search", "--image", picture, "--modality", "code", code=2).stderr
    assert "There is no picture" in shell.run("search", "nests", "--no-read", code=2).stderr
    of_questions = "lists has a wrong value; expected: text | code | image | visual."
    assert of_questions in shell.run("search", "nests", "--list", "lookalike", code=2).stderr
    assert "isn't a file" in shell.run("search", "--image", tmp_path / "missing.png", code=4).stderr
    assert "is not a picture" in shell.run("search", "--image", shell.file("a.txt", b"words"), code=23).stderr


@pytest.mark.slow
def test_words_alone_have_the_form_of_all_searches(shell: Shell) -> None:
    told = shell.json("search", "Where do herons nest?")
    assert set(told) == BESIDE_WORDS
    assert "[" not in shell.run("search", "Where do herons nest?").stdout
    everything = shell.json("search", "Where do herons nest?", "--merge", "rrf")
    assert set(everything) == BESIDE_WORDS
    kept = ("rank", "score", "page_id", "text", "boxes", "node_id", "modality")
    assert [[hit[key] for key in kept] for hit in everything["hits"]] == [
        [hit[key] for key in kept] for hit in told["hits"]
    ]


@pytest.mark.slow
def test_one_list_can_be_asked(shell: Shell) -> None:
    told = shell.json("search", "nest poplar", "--modality", "code")
    assert [(hit["document"], hit["modality"]) for hit in told["hits"]] == [("nests.py", "code")]
    both = shell.run("search", "nest poplar", "--modality", "code", "--modality", "text")
    assert "nests.py, page 1" in both.stdout
    assert "code 1" in both.stdout
    off = shell.run("search", "nest poplar", "--modality", "visual")
    assert "Not found: the text was not searched." in off.stdout
    assert "Without search in page images: No model for it is in use" in off.stderr


@pytest.mark.slow
def test_with_a_model_that_looks_at_pages_all_lists_are_one(seeing: Shell) -> None:
    told = seeing.json("search", "Where do herons nest?")
    assert {one["list"]: one["state"] for one in told["lists"]}["image"] == "ran"
    assert {origin["list"] for hit in told["hits"] for origin in hit["origins"]} <= {"text", "code"}
    seen = seeing.json("search", "Where do herons nest?", "--modality", "image")
    assert {origin["list"] for hit in seen["hits"] for origin in hit["origins"]} == {"image"}
    grouped = seeing.json("search", "Where do herons nest?", "--merge", "grouped", "-k", "3")
    assert (grouped["merge"], len(grouped["hits"])) == ("grouped", 2)
    shot = seeing.file("shot.jpg", jpeg(sheet(2)))
    looked = seeing.json("search", "--image", shot, "--no-read")
    assert {one["list"]: one["state"] for one in looked["lists"]}["image"] == "ran"
    assert looked["hits"][0]["document"] == "page-2.png"
    for picture in ([], ["--image", shot, "--no-read"]):
        again = seeing.json("search", "Where do herons nest?", *picture, "--rerank", "image")
        assert "rerank" in dict(again["timings_ms"])
    assert "Without rerank: No model" in seeing.run("search", "Where do herons nest?", "--rerank", "late").stderr


@pytest.mark.slow
def test_a_command_waits_for_the_start_of_a_model_and_says_so(shell: Shell, tmp_path: Path) -> None:
    """A real checkpoint of random weights; each command is a process that has started none."""
    model = str(tiny_siglip(tmp_path / "siglip"))
    seeing = shell.having(DOCMIND_VISUAL__IMAGE_MODEL=model, DOCMIND_VISUAL__LIST_TIMEOUT_S="2")
    seeing.run("embed", "--model", model)
    waiting = seeing.run("search", "Where do herons nest?", "--json")
    assert "Starting the model for page images." in waiting.stderr
    assert {one["list"]: one["state"] for one in json.loads(waiting.stdout)["lists"]}["image"] == "ran"
    hasty = seeing.json("search", "Where do herons nest?", DOCMIND_RETRIEVE__START_TIMEOUT_S="0.05")
    assert {one["list"]: one["state"] for one in hasty["lists"]}["image"] == "starting"
    words = seeing.run("search", "Where do herons nest?", "--modality", "text")
    assert "Starting" not in words.stderr
