"""Single-bit flips in the files of a real vault, and all reads held against the truth.

Run by `test_flips.py`; by hand with `python -m` it prints the counts of any number of flips.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import forked
from desks import environment_of, settings_in
from docmind.application import DocMind
from docmind.errors import DocMindError
from docmind.records.documents import ArtifactRef
from docmind.storage.database import Database
from docmind.storage.keys import open_keys
from docmind.storage.mark import Mark

TESTS = Path(__file__).resolve().parent.parent
_BUILD = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from desks import report, opened
from docmind.storage.database import Database
from docmind.records.documents import Upload
folder, kills = Path(sys.argv[2]), sys.argv[3] == "killed"

def long_text(name, words):
    return Upload(name, (" ".join(f"{name[:4]}{n} tide{n * 7 % 997}" for n in range(words)) + ".").encode())

with opened(folder) as docmind:
    docmind.add([report("heron", 2), long_text("gulls.txt", 1000)])
if kills:
    Database.settle = lambda self: None  # a log with everything in it
docmind = opened(folder)
docmind.add([report("stork", 2), long_text("terns.txt", 1000)])
thread = docmind.conversations.create("Birds")
docmind.conversations.ask("How many herons does the heron report count on page 1?", thread_id=thread.thread_id)
docmind.memories.add("My boat is called Tern.")
if kills:
    for part in (docmind.documents, docmind.lookalike, docmind.visual, docmind.pictures, docmind.ingest, docmind.index):
        part.close()
    os.kill(os.getpid(), signal.SIGKILL)
docmind.close()
"""
QUESTIONS = ("heron report page 1", "gull42 tide294", "stork herons counts")


@dataclass
class Tally:
    """What came of the flips. `wrong` and `tracebacks` name each one."""

    flips: int = 0
    right: int = 0
    said: int = 0
    at_opening: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    tracebacks: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"{self.flips} flips: {self.right} right reads, {self.said} errors said (opening refused {self.at_opening}"
            f" times), {len(self.wrong)} wrong reads, {len(self.tracebacks)} tracebacks; {dict(self.errors)}"
        )


def build(folder: Path, how: str) -> None:
    """Make a vault of four documents, a conversation and a memory: closed `clean`, or `killed` with a full log."""
    folder.mkdir(parents=True)
    process = forked.run(
        [sys.executable, "-c", _BUILD, str(TESTS), str(folder), how],
        env={**os.environ, **environment_of(folder), "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    )
    assert process.returncode == (-9 if how == "killed" else 0), process.stderr


def database_reads(folder: Path, *, mark: bool = True) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Every row of every table, one by one, and every artifact: what each is called, and how it is read."""
    settings = settings_in(folder)
    keys = open_keys(settings.data_dir, settings.keys)
    proof = Mark(settings.data_dir / "mark", keys.keyset.db_key, keys.vault_id) if mark else None
    database = Database(settings.data_dir / "vault.db", keys.keyset.db_key, mark=proof)
    from docmind.storage.artifacts import Artifacts

    artifacts = Artifacts(settings.data_dir / "artifacts", keys.keyset, read_only=True)
    try:
        for table, key in TABLES.items():
            ids: list[Any] = []

            def listed(table: str = table, key: str = key, ids: list[Any] = ids) -> list[Any]:
                ids[:] = database.all(f"SELECT {key} FROM {table} ORDER BY {key}")
                return ids

            yield f"{table} ids", listed
            for row_id in IDS.get(table) or ids:
                where = " AND ".join(f"{name} = ?" for name in key.split(", "))
                sql = f"SELECT * FROM {table} WHERE {where}"
                yield f"{table} {row_id}", lambda sql=sql, row_id=row_id: database.one(sql, row_id)
        for name in FILES:
            ref = ArtifactRef(name[:64], name[64:])
            yield f"artifact {name}", lambda ref=ref: artifacts.get(ref)
    finally:
        artifacts.close()
        database.close()


TABLES = {
    "documents": "doc_id",
    "pages": "page_id",
    "nodes": "node_id",
    "vectors": "content_hash, fingerprint",
    "tokens": "content_hash, fingerprint",
    "changes": "epoch",
    "chat_session": "thread_id",
    "docmind_store_items": "item_id",
    "checkpoints": "thread_id, checkpoint_ns, checkpoint_id",
}
IDS: dict[str, list[Any]] = {}
FILES: list[str] = []


def facade_reads(folder: Path) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield reads of a user: list, search, ask, show pages, view a conversation and memories."""
    with DocMind(settings_in(folder)) as docmind:
        yield "documents", docmind.documents.all
        for question in QUESTIONS:
            yield f"search {question}", lambda question=question: docmind.search(question)
            yield f"ask {question}", lambda question=question: docmind.ask(question)
        yield "threads", docmind.conversations.threads
        yield "thread", lambda: [docmind.conversations.view(t.thread_id) for t in docmind.conversations.threads()]
        yield "memories", lambda: docmind.memories.recall("What is my boat called?")
        for doc_id, page_no in PLACES:
            yield f"page {doc_id} {page_no}", lambda place=(doc_id, page_no): docmind.documents.page(*place)
            yield f"image {doc_id} {page_no}", lambda place=(doc_id, page_no): docmind.documents.page_image(*place)


PLACES: list[tuple[str, int]] = []
Reads = Callable[[Path], Iterator[tuple[str, Callable[[], Any]]]]


def plain(name: str, value: Any) -> Any:
    """Return the value to compare: for a search and an answer the texts, without scores and times."""
    if name.startswith("search"):
        return tuple((hit.page_id, hit.text) for hit in value.hits)
    if name.startswith("ask"):
        return tuple((source.page_id, source.quote) for source in value.sources)
    if name == "memories":
        return tuple((memory.text) for memory in value.memories)
    return value


def truth_of(folder: Path, reads: Reads) -> dict[str, Any]:
    return {name: plain(name, read()) for name, read in reads(folder)}


def is_told(name: str, value: Any) -> bool:
    """Whether a result says that something was left out of it."""
    return bool(getattr(value, "degraded", ()))


def hold(folder: Path, reads: Reads, truth: dict[str, Any], tally: Tally, where: str) -> None:
    """All reads of a spoiled vault against the truth."""
    tally.flips += 1
    reading = reads(folder)
    try:
        for name, read in reading:
            try:
                value = read()
            except DocMindError as error:
                tally.said += 1
                tally.errors[type(error).__name__] += 1
                continue
            except Exception as error:  # noqa: BLE001 - what is counted
                tally.tracebacks.append(f"{where}: {name}: {error!r}")
                continue
            if plain(name, value) == truth.get(name) or is_told(name, value):
                tally.right += 1
            else:
                tally.wrong.append(f"{where}: {name}")
    except DocMindError as error:
        tally.at_opening += 1
        tally.errors[type(error).__name__] += 1
    except Exception as error:  # noqa: BLE001 - what is counted
        tally.tracebacks.append(f"{where}: opening: {error!r}")


def prepare(vault: Path) -> None:
    """Note the ids and files of a sound vault, of which a copy is read."""
    copy = vault.with_name(vault.name + "-truth")
    shutil.copytree(vault, copy)
    FILES[:] = sorted(path.name for path in (copy / "data" / "artifacts").glob("*.enc"))
    IDS.clear()
    settings = settings_in(copy)
    database = Database(settings.data_dir / "vault.db", open_keys(settings.data_dir, settings.keys).keyset.db_key)
    for table, key in TABLES.items():
        IDS[table] = database.all(f"SELECT {key} FROM {table} ORDER BY {key}")
    PLACES[:] = database.all("SELECT doc_id, page_no FROM pages ORDER BY doc_id, page_no")
    database.close()
    shutil.rmtree(copy)


def places(vault: Path, chance: random.Random, file: str, count: int) -> list[int]:
    """Byte offsets in a file: at least one in each 4 KiB page where `count` allows."""
    size = (vault / "data" / file).stat().st_size
    pages = list(range(0, size, 4096))
    chance.shuffle(pages)
    chosen = (pages * (count // max(1, len(pages)) + 1))[:count]
    return [min(size - 1, page + chance.randrange(4096)) for page in chosen]


def copied(vault: Path, copy: Path, *, with_index: bool) -> None:
    """Copy a vault to damage it. Artifacts are hard links; the index (sparse files) is copied only `with_index`."""

    def link_artifacts(source: str, target: str) -> str:
        if os.path.basename(os.path.dirname(source)) == "artifacts":
            os.link(source, target)
            return target
        return shutil.copy2(source, target)

    leave = None if with_index else shutil.ignore_patterns("index")
    shutil.copytree(vault, copy, copy_function=link_artifacts, ignore=leave)


def run(vault: Path, scratch: Path, reads: Reads, flips: list[tuple[str, int]], chance: random.Random) -> Tally:
    """Flip one bit at each place of a fresh copy of the vault."""
    with_index = reads is facade_reads
    copied(vault, scratch / "truth", with_index=with_index)
    truth = truth_of(scratch / "truth", reads)
    shutil.rmtree(scratch / "truth")
    tally = Tally()
    for at, (file, offset) in enumerate(flips):
        copy = scratch / f"flip{at}"
        copied(vault, copy, with_index=with_index)
        path = copy / "data" / file
        data = bytearray(path.read_bytes())
        bit = chance.randrange(8)
        data[offset] ^= 1 << bit
        path.unlink()  # it may be a link
        path.write_bytes(data)
        hold(copy, reads, truth, tally, f"{file} byte {offset} bit {bit}")
        shutil.rmtree(copy)
    return tally


def files_of(vault: Path) -> dict[str, list[str]]:
    """Return the files of a vault by kind."""
    data = vault / "data"
    names = [str(path.relative_to(data)) for path in sorted(data.rglob("*")) if path.is_file() and path.stat().st_size]
    kinds: dict[str, list[str]] = {}
    for name in names:
        kinds.setdefault(name.split("/")[0], []).append(name)
    return kinds


def main() -> None:
    count, seed = int(sys.argv[1]), int(sys.argv[2])
    scratch = Path(sys.argv[3])
    for how in ("clean", "killed"):
        vault = scratch / how
        if not vault.exists():
            build(vault, how)
        prepare(vault)
        chance = random.Random(seed)
        kinds = files_of(vault)
        print(how, json.dumps({kind: len(names) for kind, names in kinds.items()}), flush=True)
        for reads, share in ((database_reads, 1.0), (facade_reads, 0.1)):
            flips: list[tuple[str, int]] = []
            for kind, names in kinds.items():
                each = max(1, int(count * share * (0.5 if kind in ("vault.db", "vault.db-wal") else 0.1)))
                for _ in range(each):
                    flips += [
                        (name, offset) for name in [chance.choice(names)] for offset in places(vault, chance, name, 1)
                    ]
                if kind.startswith("vault.db") and share == 1.0:
                    flips += [(kind, offset) for offset in places(vault, chance, kind, each)]
            tally = run(vault, scratch, reads, flips, chance)
            print(how, reads.__name__, tally, flush=True)
            for line in (tally.wrong + tally.tracebacks)[:10]:
                print("   ", line, flush=True)


if __name__ == "__main__":
    main()
