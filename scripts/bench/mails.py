"""A mailbox of many mails with attachments: mails a second, and where the processor time of a mail goes."""

from __future__ import annotations

import argparse
import io
import resource
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from email.utils import format_datetime

import numpy as np
import psutil
from harness import WORDS, fresh_vault, paper

from docmind.application import DocMind
from docmind.embedding import embedded_node, label_of
from docmind.records.documents import Upload

_PEOPLE = ("Jo Lind", "Mara Vale", "Ada Sørensen", "Tomás Ribeiro", "Ines Castro", "Paul Weiss", "Wei Chen", "Lea Roth")
_FILES = ("pdf", "docx", "csv")
_DOCX = {
    "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default'
    ' Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override'
    ' PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.'
    'document.main+xml"/></Types>',
    "_rels/.rels": '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship'
    ' Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"'
    ' Target="word/document.xml"/></Relationships>',
}
_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


def bench_mails(options: argparse.Namespace) -> None:
    """Time a mailbox from bytes to found in an open library, beside the text models alone on the same passages."""
    count = options.size or 1_000
    data = mailbox(count)
    with fresh_vault() as settings, DocMind(settings) as docmind:
        docmind.add([Upload("warm.txt", b"Herons nest in tall trees."), Upload("warm.pdf", paper(1, seed=1))])
        docmind.ingest.warm()
        before, own = _children_s(), _own_s()
        with _peaks() as peaks:
            started = time.perf_counter()
            docmind.queue.submit([Upload("letters.mbox", data)])
            _wait(lambda: docmind.queue.progress().state == "idle")
            found_s = time.perf_counter() - started
            found = _own_s() - own + sum(_children_s().values()) - sum(before.values())
            _wait(lambda: not docmind.vault.nodes.awaiting())
            whole_s = time.perf_counter() - started
        own, after = _own_s() - own, _children_s()
        reading, index = (after[name] - before[name] for name in ("reading", "index"))
        documents, passages = len(docmind.documents.all()), _passages(docmind)
        models_s, models = _models_alone(docmind, passages)
    total = own + reading + index
    print(f"{count:,} mails of {len(data) >> 10:,} KB: {documents:,} documents, {len(passages):,} different passages")
    print(f"found by words: {count / found_s:.1f} mails/s, {1000 * found / count:.0f} ms of processor time each")
    print(f"found by meaning too: {count / whole_s:.1f} mails/s, {1000 * total / count:.0f} ms each")
    stages = {"text models, alone": models, "rest of the program": own - models, "reading": reading, "index": index}
    print("of a mail: " + ", ".join(f"{name} {1000 * used / count:.0f} ms" for name, used in stages.items()))
    print(
        f"text models alone: {count / models_s:.1f} mails/s; all took {total / models:.2f} times their processor time"
    )
    print("largest memory of a process: " + ", ".join(f"{name} {most} MB" for name, most in sorted(peaks.items())))


def _wait(is_so: Callable[[], bool]) -> None:
    while not is_so():
        time.sleep(0.5)


def mailbox(count: int) -> bytes:
    """Return a mailbox of different mails: replies that quote, signatures, web pages, and files with every tenth."""
    random = np.random.default_rng(5)
    begun = datetime(2025, 1, 6, 8, 0, tzinfo=UTC)
    said: list[str] = []
    out = io.BytesIO()
    for number in range(count):
        mail, body = EmailMessage(), _paragraphs(random, 1 + number % 3)
        sender, taker = _PEOPLE[number % 8], _PEOPLE[(number * 3 + 1) % 8]
        answered = number - int(random.integers(1, 9)) if number % 5 in (1, 2, 4) and number > 8 else None
        quoted = "" if answered is None else "\n".join(f"> {line}" for line in said[answered].splitlines())
        subject = f"{WORDS[number * 7 % len(WORDS)]} {WORDS[number * 11 % len(WORDS)]} {number}"
        mail["From"], mail["To"] = f"{sender} <m{number % 8}@x.example>", f"{taker} <t{number % 8}@x.example>"
        mail["Date"] = format_datetime(begun + timedelta(minutes=37 * number))
        mail["Message-ID"] = f"<{number}@x.example>"
        mail["Subject"] = subject if answered is None else f"Re: {subject}"
        if answered is not None:
            mail["In-Reply-To"] = f"<{answered}@x.example>"
            quoted = f"\n\nOn Monday, {taker} wrote:\n{quoted}"
        greeted = f"Dear {taker.split()[0]},\n\n{body}\n\nKind regards,\n{sender}"
        signature = f"\n\n-- \n{sender}\nRoom {100 + number % 8}, Harbour Street 4\nPhone 0{number % 8} 555 010"
        mail.set_content(greeted + signature + quoted)
        if number % 3 == 0:
            rows = "".join(f"<p>{line}</p>" for line in greeted.split("\n\n"))
            mail.add_alternative(f"<html><body>{rows}<blockquote>{quoted}</blockquote></body></html>", subtype="html")
        if number % 10 == 0:
            kind = _FILES[number // 10 % 3]
            mail.add_attachment(
                _file(kind, number), maintype="application", subtype="octet-stream", filename=f"annex {number}.{kind}"
            )
        said.append(greeted)
        out.write(b"From someone Mon Jan  6 08:00:00 2025\n" + bytes(mail).replace(b"\nFrom ", b"\n>From ") + b"\n")
    return out.getvalue()


def _paragraphs(random: np.random.Generator, count: int) -> str:
    """Return paragraphs of four sentences of eight to sixteen words."""
    return "\n\n".join(
        " ".join(
            " ".join(WORDS[pick] for pick in random.integers(0, len(WORDS), random.integers(8, 17))).capitalize() + "."
            for _sentence in range(4)
        )
        for _paragraph in range(count)
    )


def _file(kind: str, number: int) -> bytes:
    if kind == "pdf":
        return paper(1, seed=number)
    random = np.random.default_rng(number)
    if kind == "csv":
        rows = (f"{WORDS[number % 90]},{at},{random.integers(1, 900)}" for at in range(20))
        return "\n".join(["name,place,amount", *rows]).encode()
    paragraphs = "".join(f"<w:p><w:r><w:t>{one}</w:t></w:r></w:p>" for one in _paragraphs(random, 3).split("\n\n"))
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in _DOCX.items():
            archive.writestr(name, text)
        archive.writestr(
            "word/document.xml", f'<w:document xmlns:w="{_WORD}"><w:body>{paragraphs}</w:body></w:document>'
        )
    return made.getvalue()


def _passages(docmind: DocMind) -> list[str]:
    """Return what the text models read of all documents, each text once."""
    found: dict[bytes, str] = {}
    for info in docmind.documents.all():
        label = label_of(info, docmind.embedder)
        for node in docmind.vault.nodes.nodes_of(info.doc_id):
            text = docmind.vault.catalog.page(info.doc_id, node.page_no).text
            found.setdefault(node.content_hash, embedded_node(label, node, text))
    return list(found.values())


def _models_alone(docmind: DocMind, passages: list[str]) -> tuple[float, float]:
    """Return seconds, by the clock and of processor time, of the text models on these passages, 64 at a time."""
    model = docmind.ingest.later._tokens
    embed = model.embed_with_tokens if model is not None else docmind.embedder.embed_documents
    began, used = time.perf_counter(), _own_s()
    for at in range(0, len(passages), 64):
        embed(passages[at : at + 64])
    return time.perf_counter() - began, _own_s() - used


def _own_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _name_of(process: psutil.Process) -> str:
    """Return what a process of ours is for."""
    if process.pid == psutil.Process().pid:
        return "program"
    command = " ".join(process.cmdline())
    return "index" if "edge" in command or "index" in process.name() else "reading"


def _children_s() -> dict[str, float]:
    """Return seconds of processor time of the processes below this one, those that have ended too."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    found = {"index": 0.0, "reading": ended.ru_utime + ended.ru_stime}
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            found[_name_of(process)] += sum(process.cpu_times()[:4])
    return found


@contextmanager
def _peaks() -> Iterator[dict[str, int]]:
    """Yield the largest resident memory in MB by the name of a process, sampled every two seconds."""
    peaks: dict[str, int] = {}
    is_over = threading.Event()

    def look() -> None:
        while not is_over.wait(2.0):
            me = psutil.Process()
            for process in (me, *me.children(recursive=True)):
                with suppress(psutil.Error):
                    name = _name_of(process)
                    peaks[name] = max(peaks.get(name, 0), process.memory_info().rss >> 20)

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield peaks
    finally:
        is_over.set()
        thread.join()
