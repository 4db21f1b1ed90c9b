"""Multivectors are stored durably, found by MaxSim, deleted with their pages, and missing if damaged."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from conftest import tiny_disk
from docmind.embedding.base import PagePatches
from docmind.errors import DiskFullError, NotFoundError, VaultError, VisualModelError
from docmind.late_interaction import compaction as late_sweep
from docmind.late_interaction import prefetch
from docmind.late_interaction import store as late_pages
from docmind.late_interaction.row_file import Blocks
from docmind.late_interaction.token_pooling import DIGEST, digest
from multivectors import BLIND, MODEL, Shown, maxsim, patches, unit

IMAGES = [f"{number:064x}" for number in range(40)]


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[Shown]:
    shown = Shown(tmp_path)
    shown.show(IMAGES)
    yield shown
    shown.close()


def source(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def filled(vault: Shown, count: int = 6, **shape: int) -> dict[str, PagePatches]:
    made = {image: patches(source(number), **shape) for number, image in enumerate(IMAGES[:count])}
    vault.late.put_many(MODEL, made)
    return made


def ranked(made: dict[str, PagePatches], query: np.ndarray) -> list[str]:
    return sorted(made, key=lambda image: -maxsim(query, made[image]))


# --- scores -----------------------------------------------------------------------------------------------------------


def test_maxsim_of_identity_rows_by_hand(tmp_path: Path) -> None:
    """Of cat and dog, the first page holds both, the second one of them twice, the third neither."""
    vault = Shown(tmp_path)
    vault.show(IMAGES)
    cat, dog, owl, elk = np.eye(4, dtype=np.float32)
    for image, rows in zip(IMAGES, ([cat, owl, dog], [cat, cat], [owl, elk]), strict=False):
        vault.late.put(MODEL, image, PagePatches(np.stack(rows), 1, len(rows), np.arange(len(rows), dtype=np.int32)))
    found = vault.late.search(MODEL, np.stack([cat, dog]), 10)
    assert [image for image, _ in found] == IMAGES[:3]
    assert [score for _, score in found] == pytest.approx([2.0, 1.0, 0.0], abs=0.02)
    vault.close()


def test_scores_are_those_of_float32_and_the_first_are_the_same(vault: Shown) -> None:
    made = filled(vault, 30, rows=9, cols=7, dim=64)
    for seed in range(5):
        query = unit(made[IMAGES[seed]].vectors[:12] + 0.1 * source(seed).standard_normal((12, 64)))
        found = vault.late.search(MODEL, query, 5)
        assert found[0][0] == IMAGES[seed]
        for image, score in found:
            assert score == pytest.approx(maxsim(query, made[image]), abs=0.02)
        assert [score for _, score in found] == sorted((score for _, score in found), reverse=True)


def test_given_pages_are_scored_as_a_search_scores_them(vault: Shown) -> None:
    made = filled(vault, 30, rows=9, cols=7, dim=64)
    query = unit(source(3).standard_normal((12, 64)))
    wanted = {*IMAGES[5:15], IMAGES[35]}  # the last has not been seen
    scored = vault.late.score(MODEL, query, wanted)
    assert scored == {image: pytest.approx(maxsim(query, made[image]), abs=0.02) for image in IMAGES[5:15]}
    assert scored == dict(vault.late.search(MODEL, query, 10, wanted))
    assert vault.late.score(MODEL, query, {IMAGES[35]}) == vault.late.score("other", query, wanted) == {}
    assert vault.late.score(MODEL, query[:0], wanted) == {}
    with pytest.raises(VisualModelError, match="have 16 numbers"):
        vault.late.score(MODEL, query[:, :16], wanted)


@pytest.mark.slow
def test_every_kernel_gives_the_same_list(vault: Shown, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(vault, 30, rows=9, cols=7, dim=64)
    query = unit(source(9).standard_normal((20, 64)))
    small = vault.late.search(MODEL, query, 10)
    monkeypatch.setattr(late_pages, "FEW_TOKENS", 0)
    assert vault.late.search(MODEL, query, 10) == small


def test_only_what_is_allowed_is_searched(vault: Shown) -> None:
    made = filled(vault)
    query = made[IMAGES[0]].vectors[:4]
    assert [image for image, _ in vault.late.search(MODEL, query, 3, {IMAGES[4], IMAGES[2], "unknown"})] == ranked(
        {image: made[image] for image in (IMAGES[4], IMAGES[2])}, query
    )
    assert vault.late.search(MODEL, query, 3, ()) == []
    assert vault.late.search(MODEL, query, 0) == []
    assert vault.late.search("another:model", query, 3) == []
    assert vault.late.search(MODEL, query[:0], 3) == []


def test_pages_of_several_lengths_lie_in_one_file(vault: Shown) -> None:
    made = {image: patches(source(n), rows=1 + n % 5, cols=2 + n % 3) for n, image in enumerate(IMAGES)}
    for image, page in made.items():
        vault.late.put(MODEL, image, page)
    assert len(vault.files) == 1
    assert vault.late.bytes() == sum(len(page.vectors) for page in made.values()) * 16
    query = made[IMAGES[7]].vectors[:3]
    assert vault.late.search(MODEL, query, 1)[0][0] == IMAGES[7]


@pytest.mark.parametrize("wrong", ["shape", "length", "nan", "infinite", "grid", "cell", "empty", "wide"])
def test_wrong_output_of_a_model_is_refused_without_loss(vault: Shown, wrong: str) -> None:
    made = filled(vault)
    good = patches(source(3))
    vectors, cells = good.vectors.copy(), good.patches.copy()
    vectors[3, 2] = {"nan": np.nan, "infinite": np.inf}.get(wrong, vectors[3, 2])
    cells[5] = 12 if wrong == "cell" else cells[5]
    bad = {
        "shape": PagePatches(vectors[0], 4, 3, cells),
        "length": PagePatches(vectors[:-1], 4, 3, cells),
        "grid": PagePatches(vectors, 0, 3, cells),
        "empty": PagePatches(vectors[:0], 4, 3, cells[:0]),
        "wide": PagePatches(np.zeros((14, 9_000), np.float32), 4, 3, cells),
    }.get(wrong, PagePatches(vectors, 4, 3, cells))
    with pytest.raises(VisualModelError):
        vault.late.put(MODEL, IMAGES[0], bad)
    with pytest.raises(VisualModelError):
        vault.late.put(MODEL, IMAGES[9], patches(source(), dim=8))
    with pytest.raises(VisualModelError, match="8 numbers"):
        vault.late.search(MODEL, np.ones((2, 8), np.float32), 3)
    with pytest.raises(VisualModelError):
        vault.late.search(MODEL, np.full((2, 16), np.nan, np.float32), 3)
    assert vault.late.count(MODEL) == len(made)
    assert vault.late.search(MODEL, made[IMAGES[0]].vectors, 1)[0][0] == IMAGES[0]


# --- one page ---------------------------------------------------------------------------------------------------------


def test_maps_pools_and_originals_of_a_page(vault: Shown) -> None:
    page = filled(vault, 3)[IMAGES[1]]
    query = unit(source(5).standard_normal((3, 16)))
    of_patches = page.vectors[page.patches >= 0]
    seen = vault.late.similarity(MODEL, query, IMAGES[1])
    np.testing.assert_allclose(seen, (query @ of_patches.T).reshape(3, 4, 3), atol=0.01)
    turned = BLIND.dense(page.vectors)
    np.testing.assert_allclose(vault.late.originals(MODEL, IMAGES[1]), turned, atol=0.005)
    rows, cols = vault.late.pooled(MODEL, IMAGES[1])
    grid = turned[page.patches >= 0].reshape(4, 3, 16)
    np.testing.assert_allclose(rows, grid.mean(axis=1), atol=0.005)
    np.testing.assert_allclose(cols, grid.mean(axis=0), atol=0.005)
    for ask in (vault.late.originals, vault.late.pooled):
        with pytest.raises(NotFoundError):
            ask(MODEL, IMAGES[30])
    with pytest.raises(VisualModelError):
        vault.late.similarity(MODEL, query[:, :8], IMAGES[1])


def test_patches_in_any_order_find_their_cells(vault: Shown) -> None:
    """Models whose tokens follow blocks of patches, or that leave some out."""
    vectors = np.eye(5, 16, dtype=np.float32)
    vault.late.put(MODEL, IMAGES[0], PagePatches(vectors, 2, 3, np.array([5, 0, -1, 4, 1], np.int32)))
    seen = vault.late.similarity(MODEL, vectors[[0, 3]], IMAGES[0])
    np.testing.assert_allclose(seen, [[[0, 0, 0], [0, 0, 1]], [[0, 0, 0], [0, 1, 0]]], atol=0.02)


def test_plain_vectors_are_not_in_the_files(vault: Shown) -> None:
    page = filled(vault, 1)[IMAGES[0]]
    data = vault.files[0].read_bytes()
    step = np.abs(page.vectors).max() / 127
    plain = np.rint(page.vectors / step).astype(np.int8)
    turned = BLIND.dense(page.vectors)
    kept = np.rint(turned / (np.abs(turned).max() / 127)).astype(np.int8)
    assert all(row.tobytes() in data for row in kept)
    assert not any(row.tobytes()[:6] in data for row in plain)
    assert vault.files[0].stat().st_mode & 0o077 == 0


# --- many pages -------------------------------------------------------------------------------------------------------


def lower_the_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(late_pages, "EXACT_PAGES", 8)
    monkeypatch.setattr(prefetch, "FROM_PAGES", 6)
    monkeypatch.setattr(prefetch, "_TOGETHER", 3)
    monkeypatch.setattr(prefetch, "_BEFORE", 4)


def slots_in(vault: Shown) -> list[int]:
    rows = vault.database.all("SELECT slot FROM late_pages WHERE slot IS NOT NULL ORDER BY slot")
    return [slot for (slot,) in rows]


def test_a_digest_is_the_means_of_vectors_that_are_alike() -> None:
    """Four directions, fifty patches each, a little apart: every vector of the digest is one of the four."""
    directions = np.eye(128, dtype=np.float32)[[3, 40, 77, 100]]
    page = unit(directions[source().integers(0, 4, 200)] + 0.01 * source(2).standard_normal((200, 128)))
    made = digest(BLIND.dense(page))
    assert made.shape == (DIGEST, 128)
    assert made.dtype == np.int8
    assert np.abs(made).max() < 127, "nothing is cut off"
    back = unit(made.astype(np.float32)) @ BLIND.dense(directions).T
    assert back.max(axis=1).min() > 0.99
    assert back.max(axis=0).min() > 0.99
    assert digest(page[:1]).shape == (DIGEST, 128)


@pytest.mark.slow
def test_of_many_pages_the_best_by_digest_are_scored(vault: Shown, monkeypatch: pytest.MonkeyPatch) -> None:
    lower_the_bounds(monkeypatch)
    made = {image: patches(source(n), rows=14, cols=14, dim=64) for n, image in enumerate(IMAGES)}
    for image, page in made.items():
        vault.late.put(MODEL, image, page)
    slots = slots_in(vault)
    assert slots == list(range(len(slots)))
    assert len(slots) >= 30
    monkeypatch.setattr(late_pages, "SHARE", 10)
    for number in (0, 17, 39):  # the last one has no digest yet
        query = unit(made[IMAGES[number]].vectors[3:90:9] + 0.05 * source(number).standard_normal((10, 64)))
        [(image, score)] = vault.late.search(MODEL, query, 1)
        assert image == IMAGES[number]
        assert score == pytest.approx(maxsim(query, made[image]), abs=0.05)
    query = unit(made[IMAGES[1]].vectors[:9])
    assert vault.late.search(MODEL, query, 1, set(IMAGES[:20]))[0][0] == IMAGES[1]
    wanted = vault.late.search(MODEL, query, 2)
    vault.reopen()
    assert vault.late.search(MODEL, query, 2) == wanted


@pytest.mark.slow
@pytest.mark.parametrize("left", [None, 0, 7 * DIGEST * 16 + 3])
def test_digests_that_are_gone_cost_time_and_nothing_else(
    vault: Shown, monkeypatch: pytest.MonkeyPatch, left: int | None
) -> None:
    lower_the_bounds(monkeypatch)
    made = filled(vault, 30)
    [path] = [path for path in vault.files if path.suffix == ".p8"]
    if left is None:
        path.unlink()
    else:
        with path.open("r+b") as file:
            file.truncate(left)
    for image, page in made.items():
        assert vault.late.search(MODEL, page.vectors, 1)[0][0] == image
    for image in IMAGES[30:36]:
        made[image] = patches(source(int(image, 16)))
        vault.late.put(MODEL, image, made[image])
    vault.late.sweep()
    assert slots_in(vault) == list(range(36)), "made again, and none is given twice"
    for image, page in made.items():
        assert vault.late.search(MODEL, page.vectors, 1)[0][0] == image


def test_digests_go_with_their_pages(vault: Shown, monkeypatch: pytest.MonkeyPatch) -> None:
    lower_the_bounds(monkeypatch)
    filled(vault, 30)
    vault.late.sweep()
    [path] = [path for path in vault.files if path.suffix == ".p8"]
    assert path.stat().st_size == 30 * DIGEST * 16
    gone = vault.database.all("SELECT slot FROM late_pages WHERE image IN (?, ?)", IMAGES[3:5])
    vault.hide(IMAGES[3:5])
    vault.late.sweep()
    data = path.read_bytes()
    for (slot,) in gone:
        assert not any(data[slot * DIGEST * 16 : (slot + 1) * DIGEST * 16])
    vault.hide(IMAGES[2:])
    vault.late.sweep()
    assert not path.exists(), "two pages need no digests"
    assert vault.late.count(MODEL) == 2
    assert slots_in(vault) == []


# --- what becomes of the store ----------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(7))
def test_any_order_of_operations_leaves_what_a_dictionary_holds(
    vault: Shown, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(late_sweep, "COMPACT_BYTES", 600)
    if seed > 3:  # with digests
        lower_the_bounds(monkeypatch)
    chance, numbers = random.Random(seed), source(seed)
    models: dict[str, dict[str, PagePatches]] = {"one:1": {}, "two:2": {}}
    dims = {"one:1": 16, "two:2": 9}
    for _ in range(70):
        model = chance.choice(list(models))
        what = chance.choices(["put", "hide", "sweep", "reopen", "drop"], [50, 25, 12, 6, 1])[0]
        if what == "put":
            made = {
                image: patches(numbers, rows=chance.randint(1, 4), cols=chance.randint(1, 4), dim=dims[model])
                for image in chance.sample(IMAGES, chance.randint(1, 3))
            }
            vault.show(made)
            vault.late.put_many(model, made)
            models[model] |= made
        elif what == "hide":
            gone = chance.sample(IMAGES, chance.randint(1, 12))
            vault.hide(gone)
            for held in models.values():
                for image in gone:
                    held.pop(image, None)
        elif what == "sweep":
            vault.late.sweep()
        elif what == "drop":
            vault.late.drop(model)
            models[model] = {}
        else:
            vault.reopen()
        for name, held in models.items():
            assert vault.late.count(name) == len(held)
            assert set(IMAGES) - set(vault.late.missing(name, IMAGES)) == held.keys()
        query = unit(numbers.standard_normal((3, dims[model])))
        found = dict(vault.late.search(model, query, len(IMAGES)))
        wanted = {image: maxsim(query, page) for image, page in models[model].items()}
        assert found == pytest.approx(wanted, abs=0.05)
    vault.late.sweep()
    sizes = [sum(len(page.vectors) for page in held.values()) * dims[name] for name, held in models.items()]
    files = [path for path in vault.files if path.suffix == ".i8"]
    assert len(files) == sum(map(bool, sizes))
    assert sum(path.stat().st_size for path in files) <= 2 * sum(sizes) + 2 * 600
    assert seed > 3 or files == vault.files


def test_what_is_deleted_is_zeroed_and_used_again(vault: Shown) -> None:
    made = filled(vault)
    size = vault.late.bytes()
    data = vault.files[0].read_bytes()
    vault.hide(IMAGES[1:3])
    assert vault.late.count(MODEL) == 4, "at once"
    assert vault.files[0].read_bytes() == data
    assert vault.late.sweep() == size // 3
    swept = vault.files[0].read_bytes()
    each = size // 6
    assert swept == data[:each] + bytes(2 * each) + data[3 * each :]
    vault.show(IMAGES[1:3])
    vault.late.put(MODEL, IMAGES[2], made[IMAGES[2]])
    vault.late.put(MODEL, IMAGES[1], made[IMAGES[1]])
    assert vault.late.bytes() == size, "in the place of the others"
    assert vault.late.search(MODEL, made[IMAGES[1]].vectors, 1)[0][0] == IMAGES[1]
    vault.hide(IMAGES)
    vault.late.sweep()
    assert vault.files == []


def test_a_mostly_free_file_is_compacted_during_searches(vault: Shown, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(late_sweep, "COMPACT_BYTES", 0)
    made = filled(vault, 40)
    vault.hide(IMAGES[10:])
    before, size = vault.files, vault.late.bytes()
    query = made[IMAGES[3]].vectors
    wanted = vault.late.search(MODEL, query, 5)
    assert vault.late.sweep() == size * 3 // 4
    assert vault.files != before
    assert vault.late.bytes() == size // 4
    assert vault.late.search(MODEL, query, 5) == wanted
    vault.reopen()
    assert vault.late.search(MODEL, query, 5) == wanted


def test_nothing_is_kept_of_an_image_that_no_page_shows(vault: Shown) -> None:
    filled(vault, 1)
    vault.late.put(MODEL, "f" * 64, patches(source()))
    assert vault.late.missing(MODEL, ["f" * 64]) == ["f" * 64]
    vault.late.sweep()
    assert not any(vault.files[0].read_bytes()[-14 * 16 :])


# --- crashes, torn files, full disks ----------------------------------------------------------------------------------


def test_a_crash_between_file_and_row_loses_and_leaves_nothing(vault: Shown, monkeypatch: pytest.MonkeyPatch) -> None:
    made = filled(vault, 2)
    size = vault.late.bytes()

    class PowerCut(BaseException):
        pass

    def cut(*_: object) -> None:
        raise PowerCut

    with monkeypatch.context() as patched:
        patched.setattr(vault.database, "transaction", cut)
        with pytest.raises(PowerCut):
            vault.late.put(MODEL, IMAGES[5], patches(source(8)))
    vault.reopen()
    assert vault.late.bytes() == size * 3 // 2
    assert vault.late.missing(MODEL, IMAGES[:6]) == IMAGES[2:6]
    assert vault.late.sweep() == size // 2
    vault.late.put(MODEL, IMAGES[5], made[IMAGES[0]])
    assert vault.late.bytes() == size * 3 // 2, "the bytes are used again"


@pytest.mark.parametrize("restart", [False, True])
@pytest.mark.parametrize("left", [0, 1, 14 * 16 * 4 - 1, 14 * 16 * 4 + 5])
def test_a_truncated_file_misses_pages_and_takes_them_again(vault: Shown, left: int, restart: bool) -> None:
    made = filled(vault)
    assert vault.late.count(MODEL) == 6
    with vault.files[0].open("r+b") as file:
        file.truncate(left)
    if restart:
        vault.reopen()
    whole = left // (14 * 16)
    assert vault.late.missing(MODEL, IMAGES[:6]) == IMAGES[whole:6]
    found = vault.late.search(MODEL, made[IMAGES[0]].vectors, 9)
    assert {image for image, _ in found} == set(IMAGES[:whole])
    with pytest.raises(NotFoundError):
        vault.late.originals(MODEL, IMAGES[5])
    vault.late.put(MODEL, IMAGES[20], made[IMAGES[3]])
    assert vault.late.missing(MODEL, IMAGES[:6]) == IMAGES[whole:6], "what grew there is of another page"
    vault.late.put_many(MODEL, {image: made[image] for image in vault.late.missing(MODEL, IMAGES[:6])})
    assert vault.late.count(MODEL) == 7
    for image, page in made.items():
        assert image in [found for found, _ in vault.late.search(MODEL, page.vectors, 2)]


def test_a_file_that_is_gone_or_another_is_no_crash(vault: Shown) -> None:
    made = filled(vault)
    path = vault.files[0]
    data = path.read_bytes()
    path.unlink()
    assert vault.late.count(MODEL) == 0
    assert vault.late.search(MODEL, made[IMAGES[0]].vectors, 3) == []
    path.write_bytes(data)
    assert vault.late.count(MODEL) == 6, "nothing was forgotten meanwhile"
    path.unlink()
    path.write_bytes(source(3).bytes(len(data)))
    assert vault.late.search(MODEL, made[IMAGES[0]].vectors, 3) == [], "other bytes than were put"
    assert len(vault.late.missing(MODEL, IMAGES[:6])) == 6
    path.unlink()
    vault.reopen()
    vault.late.sweep()
    vault.late.put_many(MODEL, made)
    assert vault.late.search(MODEL, made[IMAGES[0]].vectors, 1)[0][0] == IMAGES[0]


def test_a_rotten_page_is_not_given_and_is_missing_again(vault: Shown) -> None:
    made = filled(vault)
    data = bytearray(vault.files[0].read_bytes())
    data[2 * 14 * 16 + 5] ^= 4
    vault.files[0].write_bytes(data)
    found = vault.late.search(MODEL, made[IMAGES[2]].vectors, 6)
    assert {image for image, _ in found} == {*IMAGES[:2], *IMAGES[3:6]}
    assert vault.late.missing(MODEL, IMAGES[:6]) == [IMAGES[2]]
    vault.late.put(MODEL, IMAGES[2], made[IMAGES[2]])
    assert vault.late.search(MODEL, made[IMAGES[2]].vectors, 1)[0][0] == IMAGES[2]


def flipped_once(vault: Shown, chance: random.Random) -> None:
    """Flip one bit of one byte of the page vectors, or of their digests, as a restart finds it."""
    path = chance.choice(vault.files)
    data = bytearray(path.read_bytes())
    data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    path.write_bytes(data)
    vault.late.close()
    vault.late = vault.fresh()


def wrong_reads(vault: Shown, truth: dict[str, np.ndarray], query: np.ndarray, scores: dict[str, float]) -> int:
    """Return pages that are returned although their vectors or scores differ from before the flip."""
    found = dict(vault.late.search(MODEL, query, len(truth)))
    wrong = sum(score != scores[image] for image, score in found.items())
    for image, vectors in truth.items():
        try:
            wrong += not np.array_equal(vault.late.originals(MODEL, image), vectors)
        except NotFoundError:
            wrong += image not in vault.late.missing(MODEL, truth)
    return wrong


@pytest.mark.slow
def test_no_flipped_bit_is_read(vault: Shown, monkeypatch: pytest.MonkeyPatch) -> None:
    """250 single-bit flips of the files: a page is whole, or it is missing and taken again."""
    lower_the_bounds(monkeypatch)
    made = filled(vault, 12)
    assert len(vault.files) == 2, "pages and digests"
    query = made[IMAGES[3]].vectors[:6]
    truth = {image: vault.late.originals(MODEL, image).copy() for image in made}
    scores = dict(vault.late.search(MODEL, query, len(made)))
    chance, dropped = random.Random(9), 0
    for _ in range(250):
        flipped_once(vault, chance)
        assert wrong_reads(vault, truth, query, scores) == 0
        missing = vault.late.missing(MODEL, made)
        vault.late.put_many(MODEL, {image: made[image] for image in missing})
        dropped += len(missing)
    assert dropped > 30, "flips hit pages, not only free space and digests"
    monkeypatch.setattr("docmind.late_interaction.layout.Snapshot.is_sound", lambda *_: True)  # the negative control
    flipped_wrong = 0
    for _ in range(20):
        flipped_once(vault, chance)
        flipped_wrong += wrong_reads(vault, truth, query, scores)
    assert flipped_wrong


def fill(vault: Shown, page: PagePatches) -> None:
    for image in IMAGES:
        vault.late.put(MODEL, image, page)


@pytest.mark.crash
def test_a_full_disk_is_told_and_loses_nothing(tmp_path: Path) -> None:
    with tiny_disk(tmp_path, megabytes=4) as disk:
        vault = Shown(tmp_path)
        vault.show(IMAGES)
        vault.late.close()
        (disk / "late").mkdir()
        (tmp_path / "late").symlink_to(disk / "late")
        vault.late = vault.fresh()
        page = patches(source(), rows=90, cols=90, dim=64)
        with pytest.raises(DiskFullError):
            fill(vault, page)
        kept = vault.late.count(MODEL)
        assert kept >= 5
        blocks = Blocks(disk / "late" / "bare.i8", 64)
        with pytest.raises(DiskFullError):  # as where others fill it between the look and the write
            blocks._put(0, memoryview(bytes(4 << 20)))
        blocks.remove()
        assert vault.late.count(MODEL) == kept
        assert len(vault.late.search(MODEL, page.vectors[:5], 40)) == kept
        vault.hide(IMAGES[:2])
        vault.late.sweep()
        vault.late.put(MODEL, IMAGES[kept], page)
        assert vault.late.count(MODEL) == kept - 1
        vault.close()


def test_the_margin_that_must_stay_free_is_kept(vault: Shown) -> None:
    late = vault.fresh(min_free_mb=1 << 30)
    with pytest.raises(DiskFullError, match="MB free"):
        late.put(MODEL, IMAGES[0], patches(source()))
    assert vault.files == []


def test_a_folder_that_cannot_be_written_is_told(vault: Shown) -> None:
    (vault.folder / "late").write_text("a file")
    with pytest.raises(VaultError, match="late"):
        vault.late.put(MODEL, IMAGES[0], patches(source()))
    (vault.folder / "late").unlink()
    made = filled(vault)
    path = vault.files[0]
    path.unlink()
    path.mkdir()
    assert vault.late.search(MODEL, made[IMAGES[0]].vectors, 3) == []
    assert vault.late.missing(MODEL, IMAGES[:6]) == IMAGES[:6]
    vault.late.sweep()
    vault.late.put_many(MODEL, made)
    assert vault.late.search(MODEL, made[IMAGES[0]].vectors, 1)[0][0] == IMAGES[0]


# --- several threads --------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_searches_go_on_while_pages_come_and_go(vault: Shown, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page that stays is found first by its own vectors at any time, whatever happens to the others."""
    monkeypatch.setattr(late_sweep, "COMPACT_BYTES", 0)
    made = filled(vault, 3)
    done, wrong = threading.Event(), []

    def search() -> None:
        while not done.is_set():
            for image in IMAGES[:3]:
                found = vault.late.search(MODEL, made[image].vectors, 2)
                if not found or found[0][0] != image or abs(found[0][1] - 14) > 0.2:
                    wrong.append(found)

    threads = [threading.Thread(target=search) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for number in range(40):
            others = IMAGES[5 + number % 7 : 12 + number % 5]
            vault.show(others)
            vault.late.put_many(MODEL, {image: patches(source(100 + number), rows=number % 4 + 1) for image in others})
            vault.hide(others)
            vault.late.sweep()
    finally:
        done.set()
        for thread in threads:
            thread.join()
    assert wrong == []
