"""SigLIP and SigLIP 2 through transformers' own classes: pictures and short texts as vectors of one space.

Runs in a child process; see `visual_process`.
"""

from __future__ import annotations

import json
import re
import string
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from transformers import (
    GemmaTokenizer,
    PreTrainedTokenizerFast,
    Siglip2ImageProcessorPil,
    Siglip2Model,
    Siglip2Tokenizer,
    SiglipImageProcessorPil,
    SiglipModel,
)

from docmind.embedding.pretrained import LOCAL, load_weights, normalised, placed

CLASSES: dict[str, tuple[Any, Any]] = {
    "siglip": (SiglipModel, SiglipImageProcessorPil),
    "siglip2": (Siglip2Model, Siglip2ImageProcessorPil),
}
"""By `model_type`. Fixed-size SigLIP 2 models have `siglip`; those with `siglip2` keep a picture's aspect ratio."""
_TOKENIZERS: dict[str, Any] = {"GemmaTokenizer": GemmaTokenizer, "Siglip2Tokenizer": Siglip2Tokenizer}
_TEXT_TOKENS = 64
_PUNCTUATION = str.maketrans("", "", string.punctuation)


class Siglip:
    """The image and the text tower. One thread may embed pictures while another embeds text."""

    def __init__(self, directory: Path, architecture: str, *, device: str, precision: str) -> None:
        model_class, images_class = CLASSES[architecture]
        self._model = load_weights(model_class, directory, device=device, precision=precision)
        self._images = images_class.from_pretrained(directory, local_files_only=True)
        named = str(json.loads((directory / "tokenizer_config.json").read_text("utf-8")).get("tokenizer_class"))
        # SigLIP's own tokenizer class needs sentencepiece; `tokenizers` reads the same from tokenizer.json.
        tokenizer_class = _TOKENIZERS.get(named.removesuffix("Fast"), PreTrainedTokenizerFast)
        self._tokenizer = tokenizer_class.from_pretrained(directory, **LOCAL)
        self._strips = tokenizer_class is PreTrainedTokenizerFast
        self._length = min(_TEXT_TOKENS, self._model.config.text_config.max_position_embeddings)

    @property
    def dim(self) -> int:
        return int(self._model.config.vision_config.hidden_size)

    def images(self, pictures: Sequence[Image.Image]) -> np.ndarray:
        """Return `(n, dim)` float32, each row of length 1."""
        inputs = placed(self._images(images=list(pictures), return_tensors="pt"), self._model)
        with torch.inference_mode():
            return normalised(self._model.get_image_features(**inputs).pooler_output).numpy()

    def text(self, text: str) -> np.ndarray:
        """Return `(dim,)` float32 of length 1. Text after 64 tokens is cut off."""
        tokens = self._tokenizer(
            self._plain(text),
            padding="max_length",  # as in training, where there was no mask: other padding gives other vectors
            padding_side="right",
            truncation=True,
            max_length=self._length,
            return_tensors="pt",
        )
        with torch.inference_mode():
            features = self._model.get_text_features(input_ids=tokens["input_ids"].to(self._model.device))
            return normalised(features.pooler_output)[0].numpy()

    def _plain(self, text: str) -> str:
        """Lower-case the text, as in training, without control tokens; SigLIP's own tokenizer drops punctuation too."""
        for token in self._tokenizer.all_special_tokens:
            text = text.replace(token, " ")
        text = text.lower()
        return re.sub(r"\s+", " ", text.translate(_PUNCTUATION) if self._strips else text).strip()
