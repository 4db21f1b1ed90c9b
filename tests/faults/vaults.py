"""The prepared vaults, what is done to them under faults, and the oracle that looks at what is left.

A new operation is one entry in `OPERATIONS`: a function that is given the open vault, and what it needs beside it. What
`observed` returns before and after it, without faults, is what the oracle accepts afterwards.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import tempfile
import traceback
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from desks import settings_in, settled, text_pdf
from docmind.application import DocMind
from docmind.config import IndexSettings, KeySettings, Settings
from docmind.errors import DocMindError, NotFoundError
from docmind.maintenance import verify_bundle
from docmind.records.documents import Upload
from docmind.storage import Database
from docmind.storage.mark import MarkState
from faults import shim
from faults.server import note

PASSPHRASE, OTHER_PASSPHRASE = "correct horse battery", "another horse battery"
FOREIGN = tuple(f"{place}notes.txt" for place in ("", "artifacts/", "aside/", "index/", "late/", "staging/"))
NOT_OURS = "A file that is not DocMind's."
QUESTION = "Where do herons nest?"
_STRAY = re.compile(r".*\.new|\.new-.*|.*-new(-journal)?|staging/.*|.*-journal")
_NO_IMAGE = "no image"
_BESIDE = re.compile(r"\..*\.[0-9a-f]{8}\.new")
_loaded = shim.Loaded()


@dataclass(frozen=True, slots=True)
class Opened:
    """An open vault and the folder that it, its key and other files lie in."""

    docmind: DocMind
    folder: Path

    def id_of(self, name: str) -> str:
        return self.docmind.find_document(name).doc_id

    @property
    def thread_id(self) -> str:
        return self.docmind.conversations.threads()[0].thread_id


@dataclass(frozen=True, slots=True)
class Operation:
    """Something that is done to a prepared vault.

    `act` does it; it is acknowledged when it returns. With `is_opening` the faults begin before the vault is opened.
    `is_in_parts` means that of several documents each may be done or not. `makes` names files that it writes beside the
    vault. `prepare` changes the copy of the prepared vault first. `erased` is a document that is deleted for good:
    where the disk is too full even for that its page images go first, and it may be left without them.
    """

    act: Callable[[Opened], object]
    is_opening: bool = False
    is_in_parts: bool = False
    makes: tuple[str, ...] = ()
    prepare: Callable[[Path], object] = lambda folder: None
    changes: dict[str, Any] = field(default_factory=dict)
    key: str = "file"
    erased: str = ""

    def settings(self, folder: Path, passphrase: str = PASSPHRASE) -> Settings:
        changes = dict(self.changes)
        if self.key == "passphrase":
            changes["keys"] = KeySettings(source="passphrase")
        return settings_in(folder, **changes)

    def opened(self, folder: Path, passphrase: str = PASSPHRASE) -> DocMind:
        return DocMind(self.settings(folder), ask_passphrase=lambda: passphrase)


def quiet(_done: int, _whole: int) -> None:
    """Show no progress."""


def _add(at: Opened) -> None:
    results = at.docmind.add([Upload("swans.pdf", text_pdf(["Swans glide on the lake.", "A swan weighs 12 kg."]))])
    assert [result.status for result in results] == ["added"], results


def _add_texts(at: Opened) -> None:
    names = ("storks", "cranes", "egrets")
    results = at.docmind.add([Upload(f"{name}.txt", f"The {name} walk in wet meadows.".encode()) for name in names])
    assert [result.status for result in results] == ["added"] * 3, results


def _submit(at: Opened) -> None:
    at.docmind.submit([Upload("storks.txt", b"The storks walk in wet meadows.")])


def _ask(at: Opened) -> None:
    turn = at.docmind.conversations.ask("What does the report count?", thread_id=at.thread_id)
    assert turn.answer is not None


def _memories(at: Opened) -> None:
    at.docmind.memories.add("My favourite bird is the bittern.")


def _forget(at: Opened) -> None:
    at.docmind.memories.remove(at.docmind.memories.everything()[0].memory_id)


def _write_bundle(at: Opened) -> None:
    at.docmind.bundles.write(at.folder / "out.docmind", PASSPHRASE, quiet)


def _read_bundle(at: Opened) -> None:
    at.docmind.bundles.read(at.folder / "in.docmind", PASSPHRASE, quiet)


def _erase(at: Opened) -> None:
    (receipt,) = at.docmind.erase([at.id_of("herons.txt")])
    note(receipt=receipt.is_clean)


def _set_aside(at: Opened) -> None:
    at.docmind.set_aside()


def _settings(at: Opened) -> None:
    at.docmind.settings.put({"reading.max_pages": 77})


def _passphrase(at: Opened) -> None:
    at.docmind.change_passphrase(PASSPHRASE, OTHER_PASSPHRASE)


def _activate(at: Opened) -> None:
    at.docmind.snapshots.activate(at.docmind.snapshots.find("Start").snapshot_id)


def _collect(at: Opened) -> None:
    """Remove the file that no row names, as if it had been known for two days."""
    day_s = 24 * 60 * 60
    at.docmind.prune(0, day_s)
    with at.docmind._database.transaction() as db:
        db.execute("UPDATE ages SET since_ms = since_ms - ?", (2 * day_s * 1000,))
    at.docmind.prune(0, day_s)


def _recovery(at: Opened) -> None:
    code = at.docmind.recovery_code()
    assert code is not None
    at.docmind.confirm_recovery_code(code)


def _library(at: Opened) -> None:
    at.docmind.library.new_collection("Birds", [at.id_of("herons.txt")])


def _fresh(folder: Path) -> None:
    """Leave no vault: only what the user has beside it."""
    shutil.rmtree(folder / "data")
    (folder / "docmind.key").unlink(missing_ok=True)


def _plain_index() -> dict[str, Any]:
    return {"index": IndexSettings(at_rest="blinded")}


OPERATIONS: dict[str, Operation] = {
    "create a library": Operation(lambda at: None, is_opening=True, prepare=_fresh),
    "open": Operation(lambda at: at.docmind.documents(), is_opening=True),
    "add a document": Operation(_add),
    "add texts together": Operation(_add_texts, is_in_parts=True),
    "hand in a file": Operation(_submit),
    "move to the bin": Operation(lambda at: at.docmind.library.bin([at.id_of("report.pdf")])),
    "restore from the bin": Operation(
        lambda at: at.docmind.library.restore([info.doc_id for info in at.docmind.library.binned()])
    ),
    "erase": Operation(_erase, erased="herons.txt"),
    "set aside unnamed files": Operation(_set_aside),
    "a turn": Operation(_ask),
    "a new conversation": Operation(lambda at: at.docmind.conversations.create("Second")),
    "delete a conversation": Operation(lambda at: at.docmind.conversations.erase_thread(at.thread_id)),
    "remember": Operation(_memories),
    "forget": Operation(_forget),
    "a collection": Operation(_library),
    "change a setting": Operation(_settings),
    "write a bundle": Operation(_write_bundle, makes=("out.docmind",)),
    "read a bundle": Operation(_read_bundle),
    "change the passphrase": Operation(_passphrase, key="passphrase"),
    "confirm the recovery code": Operation(_recovery),
    "take a snapshot": Operation(lambda at: at.docmind.snapshots.create("Now")),
    "activate a snapshot": Operation(_activate, is_in_parts=True),
    "rotate the keys": Operation(lambda at: at.docmind.rotate_keys()),
    "collect garbage": Operation(_collect),
    "repair": Operation(lambda at: at.docmind.doctor.repair("quick")),
    "rebuild the index": Operation(lambda at: at.docmind.reindex()),
    "rebuild an index in clear": Operation(lambda at: at.docmind.reindex(), changes=_plain_index()),
}


# --- the prepared vaults ----------------------------------------------------------------------------------------------


def prepare(folder: str) -> None:
    """Make the prepared vaults `file` and `passphrase` in a folder, each with everything that operations need."""
    home = Path(folder)
    with tempfile.TemporaryDirectory() as name, DocMind(settings_in(Path(name))) as other:
        other.add([Upload("gulls.txt", b"Gulls follow the plough.")])
        other.memories.add("The harbour opens at six.")
        other.bundles.write(home / "in.docmind", PASSPHRASE, quiet)
    for key in ("file", "passphrase"):
        vault = home / key
        with Operation(_ask, key=key).opened(vault) as docmind:
            docmind.add(
                [
                    Upload("report.pdf", text_pdf(["The report counts 37 herons.", "It counts 12 storks too."])),
                    Upload("herons.txt", b"Herons nest beside the river in early spring."),
                    Upload("binned.txt", b"Ducks dive for weeds."),
                ]
            )
            thread_id = docmind.conversations.create("Birds").thread_id
            docmind.conversations.ask(QUESTION, thread_id=thread_id)
            docmind.memories.add("I like herons.")
            docmind.snapshots.create("Start")
            docmind.library.bin([docmind.find_document("binned.txt").doc_id])
            docmind._artifacts.put(b"a file that no row names", ".webp")
            docmind.search("herons")
        shutil.copy(home / "in.docmind", vault)
        (vault / "mine.txt").write_text(NOT_OURS)
        for place in FOREIGN:
            (vault / "data" / place).parent.mkdir(exist_ok=True)
            (vault / "data" / place).write_text(NOT_OURS)


def warm() -> None:
    """Import and set up what a first use would: done once, before the first fork."""
    with tempfile.TemporaryDirectory() as name:
        prepare(name)
        with Operation(_ask).opened(Path(name, "file")) as docmind:
            at = Opened(docmind, Path(name, "file"))
            global note
            said, note = note, lambda **what: None  # pyright: ignore[reportAssignmentType]
            for act in (_ask, _read_bundle, _write_bundle, _set_aside, _erase):
                act(at)
            note = said
            observed(docmind, at.folder)
        verify_bundle(Path(name, "file", "out.docmind"), PASSPHRASE, quiet)


def copied(template: str, operation: str, folder: str) -> Path:
    """Copy the prepared vault of an operation, and prepare the copy."""
    place = Path(folder)
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(Path(template, OPERATIONS[operation].key), place)
    OPERATIONS[operation].prepare(place)
    return place


# --- an operation under faults ----------------------------------------------------------------------------------------


def act(
    template: str, operation: str, folder: str, control: str, at: int, how: str, error: int, skew_s: int = 0,
    is_mark_first: bool = False,
) -> dict[str, Any]:  # fmt: skip
    """Do an operation on a copy of its prepared vault while the `at`th call fails; runs under the shim.

    With `is_mark_first` the vault notes a commit before it makes it: a mistake that the oracle must find.
    """
    if is_mark_first:
        _note_before_commit()
    place = copied(template, operation, folder)
    about, switch = OPERATIONS[operation], shim.Control(Path(control))
    switch.set(place, at=at, how=how, error=error, skew_s=skew_s)
    _loaded.use(Path(control))
    found: dict[str, Any] = {}
    docmind = None
    try:
        if about.is_opening:
            switch.arm()
        docmind = about.opened(place)
        switch.arm()
        about.act(Opened(docmind, place))
        note(acknowledged=True)
    except DocMindError as told:
        found |= {"error": type(told).__name__, "message": str(told), "hint": told.hint}
    except Exception:  # noqa: BLE001 - a finding: an error that no face tells
        found["raw"] = traceback.format_exc()[-3000:]
    try:
        if docmind is not None:
            docmind.close()
    except DocMindError:
        pass
    except Exception:  # noqa: BLE001
        found["raw"] = traceback.format_exc()[-3000:]
    switch.arm(False)
    return found | {"calls": switch.calls, "fired": switch.fired, "failed": switch.failed}


def _note_before_commit() -> None:
    def commit(self: Any, *, is_changed: bool) -> None:
        if is_changed and self._has_ledger and self._mark is not None:
            head = self._ledger.advance(self._db)
            self._mark.write(MarkState(head.seq, head.chain, 0, self._counts))
        self._db.execute("COMMIT")

    Database._commit = commit


def session(
    folder: str, start: str, control: str, log: str, operations: Sequence[str], unsynced: bool
) -> list[dict[str, Any]]:
    """Do operations one after another on a copy of `start`, and log what they write; return what is observed.

    The first observation is the one before them, then one after each. A note in the log acknowledges each.
    """
    place, switch = Path(folder), shim.Control(Path(control))
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(start, place)
    switch.set(place, log=Path(log), unsynced=unsynced)
    _loaded.use(Path(control))
    switch.arm()
    with Operation(_ask).opened(place) as docmind:
        found = [observed(docmind, place)]
        for operation in operations:
            OPERATIONS[operation].act(Opened(docmind, place))
            _loaded.note(operation)
            found.append(observed(docmind, place))
    switch.arm(False)
    return found


# --- the oracle -------------------------------------------------------------------------------------------------------


def observed(docmind: DocMind, folder: Path) -> dict[str, Any]:
    """Return all that a user has: documents with texts and images, the bin, turns, memories, settings, bundles."""
    found: dict[str, Any] = {"documents": {}, "binned": {}, "turns": {}, "receipts": {}, "bundles": {}}
    for info in docmind.documents():
        if info.status != "ready":  # it is being read, or waits for it
            found["documents"][info.document] = [info.status]
            continue
        pages = [docmind.page(info.doc_id, number) for number in range(1, info.pages + 1)]
        images = [
            _image(docmind, info.doc_id, number, small) for number in range(1, info.pages + 1) for small in (0, 1)
        ]
        original = hashlib.sha256(docmind.library.original(info.doc_id)).hexdigest()
        found["documents"][info.document] = [info.status, [page.text for page in pages], images, original]
    for info in docmind.library.binned():
        found["binned"][info.document] = info.pages
    for thread in docmind.conversations.threads():
        turns = docmind.conversations.view(thread.thread_id).turns
        found["turns"][thread.title] = [
            [turn.question, turn.answer.answer, sorted({source.document for source in turn.answer.sources})]
            for turn in turns
            if turn.answer is not None
        ]
    found["memories"] = {memory.text: 1 for memory in docmind.memories.everything()}
    found["collections"] = {one.name: one.documents for one in docmind.library.collections()}
    found["snapshots"] = {one.title: one.documents for one in docmind.snapshots.list()}
    found["settings"] = {"max_pages": docmind.settings.now.reading.max_pages}
    found["recovery"] = {"is_confirmed": docmind.recovery_code() is None}
    for receipt in docmind.receipts():
        found["receipts"][receipt.doc_id] = receipt.is_clean
    for path in sorted(folder.glob("out*.docmind")):
        found["bundles"][path.name] = verify_bundle(path, PASSPHRASE, quiet).documents
    return found


def _image(docmind: DocMind, doc_id: str, page_no: int, is_small: int) -> str:
    try:
        return hashlib.sha256(docmind.page_image(doc_id, page_no, thumbnail=bool(is_small))).hexdigest()
    except NotFoundError:
        return _NO_IMAGE


def _excused(found: dict[str, Any], before: dict[str, Any], name: str) -> dict[str, Any]:
    """Return a state in which a document that is to be erased has its images again, if it was left without them."""
    if name in found["documents"] and _NO_IMAGE in str(found["documents"][name]):
        return {**found, "documents": {**found["documents"], name: before["documents"][name]}}
    return found


def finish(docmind: DocMind) -> None:
    """Let go on what goes on by itself after an interruption: files that wait, and erasures."""
    docmind.queue.start()
    settled(docmind)
    docmind.finish_erasures()


def outcome(template: str, operation: str, folder: str) -> list[dict[str, Any]]:
    """Return what is observed before and after an operation without faults."""
    place, about = copied(template, operation, folder), OPERATIONS[operation]
    found = []
    for is_done in (False, True):
        with about.opened(place) as docmind:
            if is_done:
                about.act(Opened(docmind, place))
            passphrase = OTHER_PASSPHRASE if is_done and operation == "change the passphrase" else PASSPHRASE
        with about.opened(place, passphrase) as docmind:
            finish(docmind)
            found.append(observed(docmind, place))
        if not is_done:
            place = copied(template, operation, folder)
    return json.loads(json.dumps(found))


def differences(
    found: dict[str, Any], before: dict[str, Any], after: dict[str, Any], *, must: bool, parts: bool
) -> list[str]:
    """Return how a state differs from both the one before and the one after an operation, or from the one after."""
    if found == after or (found == before and not must):
        return []
    wrong = []
    for kind in after:
        for name in {**before[kind], **after[kind], **found[kind]}:
            here = found[kind].get(name)
            allowed = [after[kind].get(name)] if must else [before[kind].get(name), after[kind].get(name)]
            if here not in allowed:
                wrong.append(f"{kind}: {name}: {str(here)[:200]} instead of {str(allowed)[:300]}")
    if not wrong and not parts:
        wrong.append(f"half of it is done: {_changed(found, before)} of {_changed(after, before)}")
    return wrong


def _changed(found: dict[str, Any], before: dict[str, Any]) -> list[str]:
    return sorted(
        f"{kind}: {name}"
        for kind in found
        for name in {**found[kind], **before[kind]}
        if found[kind].get(name) != before[kind].get(name)
    )


def check(
    operation: str, folder: str, before: dict[str, Any], after: dict[str, Any], is_acknowledged: bool,
    is_killed: bool, is_thorough: bool, makes: Sequence[str] = (), parts: bool = False,
) -> list[str]:  # fmt: skip
    """Open what an operation left, and return what is wrong with it; runs without the shim.

    Nothing acknowledged may be lost; the operation is done or not, at once or when it has gone on; something can be
    remembered then and, where the check is thorough, a document can be added and found; no file of somebody else is
    changed, and none of ours is left half-made.
    """
    place, about = Path(folder), OPERATIONS[operation]
    wrong: list[str] = []
    is_changed = operation == "change the passphrase"
    docmind = None
    for passphrase in (OTHER_PASSPHRASE, PASSPHRASE) if is_changed else (PASSPHRASE,):
        try:
            docmind = about.opened(place, passphrase)
        except DocMindError as error:
            wrong = [f"it does not open: {type(error).__name__}: {error}"]
        else:
            wrong = []
            if is_changed and is_acknowledged and passphrase == PASSPHRASE:
                wrong = ["the acknowledged passphrase does not open it"]
            break
    if docmind is None:
        return wrong
    with docmind:
        found = _excused(observed(docmind, place), before, "" if is_acknowledged else about.erased)
        lost = _lost(found, before, after, is_acknowledged=is_acknowledged)
        wrong += [f"before it has gone on: {one}" for one in lost]
        finish(docmind)
        docmind.set_aside()
        found = json.loads(json.dumps(observed(docmind, place)))
        found = _excused(found, before, "" if is_acknowledged else about.erased)
        wrong += differences(found, before, after, must=is_acknowledged, parts=parts or about.is_in_parts)
        docmind.memories.add("The ferry leaves at nine.")
        if "The ferry leaves at nine." not in [memory.text for memory in docmind.memories.everything()]:
            wrong.append("a fact that was remembered afterwards is not there")
        if is_thorough:
            wrong += _used(docmind, len(found["documents"]))
    foreign = () if about.prepare is _fresh else FOREIGN
    left = left_behind(place, (*about.makes, *makes), foreign, is_killed=is_killed)
    # A half-written sealed index is removed when the index changes next.
    return wrong + [one for one in left if is_thorough or one != "left behind: index/index.sealed.new"]


def _used(docmind: DocMind, documents: int) -> list[str]:
    """Add a document to a vault, look for it, and return what is wrong."""
    wrong = []
    docmind.add([Upload("afterwards.txt", b"Kingfishers wait above the water.")])
    if not any(hit.document == "afterwards.txt" for hit in docmind.search("kingfishers").hits):
        wrong.append("a document that was added afterwards is not found")
    if len(docmind.documents()) != documents + 1:
        wrong.append("a document that was added afterwards is not there")
    return wrong


def _lost(found: dict[str, Any], before: dict[str, Any], after: dict[str, Any], *, is_acknowledged: bool) -> list[str]:
    """Return documents, turns and memories that are gone although the operation leaves them, or has made them.

    What it changes may still be as before: it goes on in the background. A document that it adds may still wait.
    """
    lost = []
    for kind in ("documents", "memories", "turns"):
        for name in {**before[kind], **after[kind]}:
            allowed = [before[kind].get(name), after[kind].get(name)]
            is_kept = allowed[0] == allowed[1] or (is_acknowledged and kind != "documents" and allowed[1] is not None)
            if is_kept and found[kind].get(name) not in [one for one in allowed if one is not None]:
                lost.append(f"{kind}: {name} is lost")
    return lost


def left_behind(
    folder: Path, makes: Iterable[str] = (), foreign: Iterable[str] = FOREIGN, *, is_killed: bool = False
) -> list[str]:
    """Return files of others that changed, and files of ours that are left half-made, in a closed vault.

    A killed process cannot remove a file that it was writing outside of the vault, and no later one looks for it there.
    """
    data = folder / "data"
    wrong = [
        f"a file of somebody else is gone or changed: {path.relative_to(folder)}"
        for path in [folder / "mine.txt", *(data / place for place in foreign)]
        if not path.is_file() or path.read_text() != NOT_OURS
    ]
    for path in data.rglob("*"):
        name = path.relative_to(data).as_posix()
        if path.is_file() and name not in FOREIGN and _STRAY.fullmatch(name):
            wrong.append(f"left behind: {name}")
    known = {"data", "cache", "docmind.key", "in.docmind", "mine.txt", *makes}
    for path in folder.iterdir():
        is_cut_off = (
            is_killed
            and _BESIDE.fullmatch(path.name)
            and path.name.split(".")[1] in [name.split(".")[0] for name in makes]
        )
        if path.name not in known and not is_cut_off:
            wrong.append(f"left behind: {path.name}")
    return wrong
