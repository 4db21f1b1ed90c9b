"""The receipt of an erasure: what was erased, what was checked afterwards, and a signature.

    {"format": "DocMind erasure receipt 1", "vault_id": …, "doc_id": …, "begun_at_ms": …, "erased_at_ms": …,
     "conversations": true, "memories": false, "erased": {kind: number}, "found": {check: number},
     "files": files searched, "bytes": bytes searched, "sequences": texts searched for,
     "snapshots": [those that still hold it; left out where none does], "signature": 64 hex digits}

The signature is HMAC-SHA256(key, all other fields as JSON with sorted keys and no spaces). The key is derived from the
vault's id key, which no rotation changes. So whoever can open the vault can check that this vault wrote the receipt and
that no field was changed since. It proves nothing to others, who have no key, and it is no proof against the owner of
the vault, who could sign anything. A receipt has neither the name nor the text of the document.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from docmind.errors import TamperedError, VaultFormatError, WrongKeyError
from docmind.records.documents import ErasureReceipt
from docmind.storage import derive
from docmind.wording import _

FORMAT = "DocMind erasure receipt 1"
LARGEST = 1 << 16
"""Bytes of a receipt's file; a larger file is not one."""

_HERE = ("document",)  # fields that are shown, and never written


class Signer:
    """Signs and checks the receipts of one vault."""

    def __init__(self, id_key: bytes, vault_id: str) -> None:
        self._key = derive(id_key, vault_id.encode(), b"docmind erasure receipt")
        self.vault_id = vault_id

    def signed(self, receipt: ErasureReceipt) -> str:
        """Return the receipt as JSON, with its signature."""
        plain = _plain(receipt)
        return json.dumps({**plain, "signature": self._signature(plain)}, indent=2) + "\n"

    def verify(self, data: bytes) -> ErasureReceipt:
        """Return the receipt in a file.

        Raises `VaultFormatError` where the file is no receipt or one of another version, `WrongKeyError` where another
        vault wrote the receipt, `TamperedError` where the receipt was changed.
        """
        try:
            plain = json.loads(data) if len(data) <= LARGEST else None
        except (ValueError, RecursionError):
            plain = None
        if not isinstance(plain, dict) or plain.get("format") != FORMAT:
            raise VaultFormatError(_("This file is no receipt of an erasure, or one of a newer DocMind."))
        if plain.get("vault_id") != self.vault_id:
            raise WrongKeyError(
                _("This receipt was written by another library."),
                hint=_("Open the library that wrote it; DOCMIND_DATA_DIR names its folder."),
            )
        signature = plain.pop("signature", None)
        if not isinstance(signature, str) or not hmac.compare_digest(
            signature.encode("utf-8", "replace"), self._signature(plain).encode()
        ):
            raise TamperedError(
                _("This receipt was changed: its signature does not match."),
                hint=_("Save it again from the library: `docmind receipt list` shows the receipts."),
            )
        return _receipt(plain, signature)

    def _signature(self, plain: Mapping[str, Any]) -> str:
        text = json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return hmac.digest(self._key, text.encode(), "sha256").hex()


def _plain(receipt: ErasureReceipt) -> dict[str, Any]:
    plain = {name: value for name, value in asdict(receipt).items() if name not in (*_HERE, "signature")}
    if not plain["snapshots"]:
        del plain["snapshots"]
    return {"format": FORMAT, **plain, "erased": dict(receipt.erased), "found": dict(receipt.found)}


def _receipt(plain: Mapping[str, Any], signature: str) -> ErasureReceipt:
    fields = {name: value for name, value in plain.items() if name != "format"}
    pairs = {name: tuple(fields[name].items()) for name in ("erased", "found")}
    snapshots = tuple(fields.get("snapshots", ()))
    return ErasureReceipt(**{**fields, **pairs, "snapshots": snapshots, "signature": signature})
