"""Tiny text models with random weights, in the form of sentence-transformers: complete directories.

`tiny_sentences` is a BERT of two layers (or a small Qwen2 for last-token pooling), `tiny_cross_encoder` one with a head
of one number. Tokens are words.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

WORDS = """herons nest in tall poplar trees their eggs are pale blue the court held that notice was required bake rye
bread slowly for ninety minutes report page counts query passage a of question . : ,"""
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
HIDDEN = 32


def tiny_sentences(
    folder: Path,
    pooling: str = "mean",
    *,
    max_tokens: int = 64,
    prompts: dict[str, str] | None = None,
    pools_prompt: bool = True,
    seed: int = 7,
    inside: str = "",
) -> Path:
    """Return the folder of a text model with vectors of 32 numbers; `inside` is the folder of its transformer."""
    import torch
    from transformers import AutoModel, BertConfig, Qwen2Config

    home = folder / inside
    home.mkdir(parents=True, exist_ok=True)
    words = _tokenizer(home, ends_only=pooling == "lasttoken")
    torch.manual_seed(seed)
    sizes: dict[str, Any] = {"hidden_size": HIDDEN, "num_hidden_layers": 2, "num_attention_heads": 4,
                             "intermediate_size": 48, "vocab_size": words, "max_position_embeddings": 96}  # fmt: skip
    config: Any = (
        Qwen2Config(**sizes, num_key_value_heads=2, eos_token_id=3, pad_token_id=0)
        if pooling == "lasttoken"
        else BertConfig(**sizes)
    )
    AutoModel.from_config(config).eval().save_pretrained(home)
    kinds = [("Transformer", inside), ("Pooling", "1_Pooling"), ("Normalize", "2_Normalize")]
    _write(folder / "modules.json", [
        {"idx": at, "name": str(at), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for at, (kind, path) in enumerate(kinds)
    ])  # fmt: skip
    modes = ("cls_token", "mean_tokens", "max_tokens", "mean_sqrt_len_tokens", "weightedmean_tokens", "lasttoken")
    chosen = {"mean": "mean_tokens", "cls": "cls_token"}.get(pooling, pooling)
    _write(folder / "1_Pooling" / "config.json", {
        "word_embedding_dimension": HIDDEN, **{f"pooling_mode_{mode}": mode == chosen for mode in modes},
        "include_prompt": pools_prompt,
    })  # fmt: skip
    _write(home / "sentence_bert_config.json", {"max_seq_length": max_tokens, "do_lower_case": True})
    if prompts is not None:
        _write(folder / "config_sentence_transformers.json", {"prompts": prompts, "default_prompt_name": None})
    return folder


def tiny_cross_encoder(folder: Path, *, labels: int = 1, seed: int = 7) -> Path:
    """Return the folder of a cross-encoder."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification

    folder.mkdir(parents=True, exist_ok=True)
    words = _tokenizer(folder)
    torch.manual_seed(seed)
    config = BertConfig(
        hidden_size=HIDDEN, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48, vocab_size=words,
        max_position_embeddings=96, initializer_range=0.4,
    )  # fmt: skip
    config.num_labels = labels
    BertForSequenceClassification(config).eval().save_pretrained(folder)
    return folder


def _tokenizer(folder: Path, *, ends_only: bool = False) -> int:
    """Write a tokenizer of whole words, and return the size of its vocabulary."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    vocabulary = {word: at for at, word in enumerate([*SPECIAL, *dict.fromkeys(WORDS.split())])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A [SEP]" if ends_only else "[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]",
        model_max_length=96,
    ).save_pretrained(folder)  # fmt: skip
    return len(vocabulary)


def _write(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), "utf-8")
