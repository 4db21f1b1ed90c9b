"""The child process that runs a text model of sentence-transformers' form, or a cross-encoder, through transformers.

in   {id, do: "open", directory, ..., device, precision, threads}    out  {id, device, precision, load_s}
in   {id, do: "documents", texts}            out  {id} + float32 rows
in   {id, do: "query", text}                 out  {id} + a float32 row
in   {id, do: "pieces", text}                out  {id} + int64 pairs: the character offsets of its word pieces
in   {id, do: "rank", text, texts}           out  {id} + float32: a score of each text for the question `text`
     or {id, error, message, hint} in place of any of them

Passages and questions have a queue each. No code beside the weights is run, and nothing but safetensors is read.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from docmind.embedding.bert_session import batches
from docmind.embedding.model_process import placement, serve_model
from docmind.errors import TextModelError
from docmind.runtime import Frame

_TOGETHER = 32
_RUN_TOKENS = 8_192  # of one run, padding counted


def serve(incoming: BinaryIO, outgoing: BinaryIO) -> None:
    """Answer frames until the pipe is closed."""
    serve_model(
        incoming, outgoing, Reader().answer, TextModelError, "embed this",
        slow=("documents", "pieces"), quick=("query", "rank"),
    )  # fmt: skip


class Reader:
    """The model, once it is open. One thread may embed passages while another embeds a question."""

    def __init__(self) -> None:
        self._facts: dict[str, Any] = {}
        self._tokenizer: Any = None
        self._model: Any = None
        self._cutting = threading.Lock()  # a tokenizer keeps how it truncates: one caller at a time

    def answer(self, header: dict[str, Any], blobs: list[bytes]) -> Frame:
        match header["do"]:
            case "open":
                return self.open(header)
            case "documents":
                return {}, [self.embed(header["texts"], self._facts["document"]).tobytes()]
            case "query":
                return {}, [self.embed([header["text"]], self._facts["query"]).tobytes()]
            case "rank":
                return {}, [self.rank(header["text"], header["texts"]).tobytes()]
            case _:
                return {}, [self.pieces(header["text"]).tobytes()]

    def open(self, header: dict[str, Any]) -> Frame:
        started = time.perf_counter()
        device, precision = placement(header, "DOCMIND_EMBEDDING")
        from transformers import AutoModel, AutoModelForSequenceClassification, AutoTokenizer

        from docmind.embedding.pretrained import LOCAL, load_weights

        self._facts = header
        home = Path(header["directory"], header["weights"])
        kind: Any = AutoModel if header["pooling"] else AutoModelForSequenceClassification
        # Some checkpoints lack the layer behind the first token, which no pooling here uses.
        unneeded = "pooler." if header["pooling"] else ""
        self._model = load_weights(
            kind, home, device=device, precision=precision, error=TextModelError, unneeded=unneeded,
            trust_remote_code=False,
        )  # fmt: skip
        self._tokenizer = AutoTokenizer.from_pretrained(home, **LOCAL)
        if not self._tokenizer.is_fast:
            raise TextModelError("Its tokenizer.json cannot be used.")
        if self._tokenizer.pad_token_id is None:  # padding is masked: any token will do
            self._tokenizer.pad_token_id = 0
        return {"device": device, "precision": precision, "load_s": time.perf_counter() - started}, []

    def embed(self, texts: Sequence[str], prompt: str) -> np.ndarray:
        """Return `(n, dim)` float32, each row of length 1.

        A text of more tokens than the model takes is embedded in parts; their mean, by tokens, is its vector.
        """
        facts = self._facts
        given = [prompt + (text.lower() if facts["is_lower"] else text) for text in texts]
        with self._cutting:
            cut = self._tokenizer(
                given, truncation=True, max_length=facts["max_tokens"], return_overflowing_tokens=True
            )
            left_out = 0
            if prompt and facts["pooling"] == "mean" and not facts["pools_prompt"]:
                left_out = self._prompt_tokens(prompt)
        owners = cut.get("overflow_to_sample_mapping") or list(range(len(given)))
        parts: list[list[int]] = cut["input_ids"]
        firsts = {owner: at for at, owner in reversed(list(enumerate(owners)))}
        begins = [
            left_out if firsts[owner] == at and left_out < len(parts[at]) else 0 for at, owner in enumerate(owners)
        ]
        sums = np.zeros((len(given), facts["dim"]), np.float32)
        for rows in batches([len(part) for part in parts], _RUN_TOKENS, rows=_TOGETHER):
            found = self._vectors([parts[at] for at in rows], [begins[at] for at in rows])
            for at, vector in zip(rows, found, strict=True):
                sums[owners[at]] += vector * len(parts[at])
        return sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-12)

    def rank(self, question: str, texts: Sequence[str]) -> np.ndarray:
        """Return the model's number for each text, `(n,)` float32: the higher, the better it answers the question."""
        import torch

        is_lower = self._facts["is_lower"]
        scores = []
        for at in range(0, len(texts), _TOGETHER):
            pairs = [(question, text) for text in texts[at : at + _TOGETHER]]
            if is_lower:
                pairs = [(first.lower(), second.lower()) for first, second in pairs]
            with self._cutting:
                tokens = self._tokenizer(
                    [first for first, _ in pairs], [second for _, second in pairs], padding=True,
                    truncation="longest_first", max_length=self._facts["max_tokens"], return_tensors="pt",
                )  # fmt: skip
            with torch.inference_mode():
                logits = self._model(**{name: value.to(self._model.device) for name, value in tokens.items()}).logits
            scores.append(logits.float().cpu().numpy()[:, 0])
        return np.concatenate([np.zeros(0, np.float32), *scores])

    def pieces(self, text: str) -> np.ndarray:
        """Return `(n, 2)` int64 character offsets of the word pieces, without special ones, not truncated."""
        with self._cutting:
            offsets = self._tokenizer(
                text, add_special_tokens=False, truncation=False, return_offsets_mapping=True
            )["offset_mapping"]  # fmt: skip
        found = np.array(offsets, np.int64).reshape(-1, 2)
        return found[found[:, 1] > found[:, 0]]

    def _prompt_tokens(self, prompt: str) -> int:
        """Return how many tokens stand before a text because of its prompt, the first special one counted."""
        ids = self._tokenizer(prompt)["input_ids"]
        ends = len(ids) > 0 and ids[-1] in (self._tokenizer.sep_token_id, self._tokenizer.eos_token_id)
        return len(ids) - ends

    def _vectors(self, parts: Sequence[Sequence[int]], begins: Sequence[int]) -> np.ndarray:
        """Return `(n, dim)` float32 of length 1: the pooled states of the tokens from `begins` on."""
        import torch

        from docmind.embedding.pretrained import normalised

        longest = max(map(len, parts))
        ids = torch.full((len(parts), longest), self._tokenizer.pad_token_id or 0, dtype=torch.long)
        mask, pooled = torch.zeros_like(ids), torch.zeros_like(ids)
        for row, (part, begin) in enumerate(zip(parts, begins, strict=True)):
            ids[row, : len(part)] = torch.tensor(part)
            mask[row, : len(part)] = 1
            pooled[row, begin : len(part)] = 1
        device = self._model.device
        with torch.inference_mode():
            states = self._model(input_ids=ids.to(device), attention_mask=mask.to(device)).last_hidden_state.float()
            if states.shape[-1] != self._facts["dim"]:
                raise TextModelError("Its weights give vectors of another length than its files say.")
            match self._facts["pooling"]:
                case "cls":
                    vectors = states[:, 0]
                case "last":
                    vectors = states[torch.arange(len(parts)), (mask.sum(dim=1) - 1).clamp(min=0).to(device)]
                case _:
                    weights = pooled.unsqueeze(-1).to(device)
                    vectors = (states * weights).sum(dim=1) / weights.sum(dim=1).clamp(min=1)
            return normalised(vectors).numpy()
