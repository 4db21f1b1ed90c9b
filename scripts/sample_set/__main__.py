"""Write the documents of the sample set from their sources: `python scripts/sample_set [FOLDER]`.

    sources/*.md, *.json                 what stands in the documents that a program writes
    sources/*.go, *.csv, *.eml, *.html   documents that are copied as they are, and so is the Markdown of a plan

Without FOLDER they go where the package has them, src/docmind/evaluation/sample_set/docs. On one machine the bytes are
the same each time. The questions beside them are written by hand; tests/evaluation/test_sample_set.py compares both.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import office
import printing
from sources import pages_of

HERE = Path(__file__).resolve().parent
DOCS = HERE.parents[1] / "src" / "docmind" / "evaluation" / "sample_set" / "docs"


def written() -> dict[str, bytes]:
    """Return {file name: bytes} of all documents of the set."""
    found: dict[str, bytes] = {}
    for names, write in (
        (PDFS, printing.pdf),
        ({"minutes-allotment-society.docx", "receitas-da-quinta.docx"}, office.word),
        ({"ata-condominio-tilias.odt"}, office.open_text),
    ):
        for name in names:
            found[name] = _of_markdown(name, write)
    for name, write in (
        ("prices-bicycle-workshop.xlsx", office.workbook),
        ("apresentacao-biblioteca-rio.pptx", office.deck),
    ):
        found[name] = write(json.loads(_source(name, ".json")), _title(name))
    for number, (name, write) in enumerate(SCANS.items()):
        found[name] = write(printing.scanned(pages_of(_source(name, ".md")), seed=number), _title(name))
    return found | {name: (HERE / "sources" / name).read_bytes() for name in COPIED}


def _of_markdown(name: str, write: Callable[[Any, str], bytes]) -> bytes:
    pages = pages_of(_source(name, ".md"))
    return write(pages, pages[0][0].text)


def _source(name: str, kind: str) -> str:
    return (HERE / "sources" / name).with_suffix(kind).read_text(encoding="utf-8")


def _title(name: str) -> str:
    return Path(name).stem.replace("-", " ").capitalize()


PDFS = {
    "garden-plan-orchard-court.pdf",
    "informe-riego-huerta.pdf",
    "lease-mill-lane.pdf",
    "manual-aquecedor-lumen.pdf",
    "manual-dishwasher-corvo.pdf",
    "paper-reading-lamps.pdf",
    "poliza-hogar-arrayan.pdf",
}
SCANS: dict[str, Callable[[Any, str], bytes]] = {
    "policy-sailing-boat.pdf": printing.scan_pdf,
    "fatura-tipografia-alecrim.png": lambda images, _: printing.scan_png(images[0]),
    "contrato-garaje-noria.tif": lambda images, _: printing.scan_tiff(images),
}
COPIED = (
    "correo-pedido-miel.eml",
    "inventario-museo-ceramica.csv",
    "plano-viagem-ilha-bruma.md",
    "reglamento-piscina-azahar.html",
    "seed_ledger.go",
)


def main() -> None:
    """Write the documents into a folder."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else DOCS
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in sorted(written().items()):
        (folder / name).write_bytes(data)
        print(f"{len(data):9,}  {name}")


if __name__ == "__main__":
    main()
