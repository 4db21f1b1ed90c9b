"""The kinds of findings: what each means in a sentence, and what the user can do about it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from docmind.records.checks import Finding
from docmind.wording import N_

_REPAIR = N_("`docmind doctor --repair` mends it.")
_REMOVE = N_("`docmind doctor --repair` removes it; nothing of yours is in it.")
_AGAIN = N_("`docmind doctor --repair` makes it again from the original.")
_BY_ITSELF = N_("DocMind does it by itself while the app is open.")
_BACKUP = N_("Restore it from a backup.")


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind: its sentence, the advice, and whether a repair can mend it or DocMind does by itself."""

    text: str
    advice: str
    is_repairable: bool = True
    is_pending: bool = False


KINDS: dict[str, Kind] = {
    # documents and pages
    "document-lost": Kind(
        N_("A document is not in the library, but its file is."),
        N_("`docmind doctor --repair` reads it again."),
    ),
    "pages-missing": Kind(N_("A document lacks a page."), _AGAIN),
    "row-damaged": Kind(
        N_("A part of a row of vault.db can't be read."),
        N_("Remove what it belongs to, and add it again: the document, the file of the queue, the folder, the job."),
        is_repairable=False,
    ),
    "page-without-document": Kind(
        N_("A page belongs to no document."),
        N_("Add the document again; its pages are taken over."),
        is_repairable=False,
    ),
    "id-wrong": Kind(N_("A row has another id than its content."), _BACKUP, is_repairable=False),
    "words-damaged": Kind(N_("The words of a page can't be read."), _AGAIN),
    "document-refused": Kind(
        N_("Search doesn't find a document: the index refuses what it holds."),
        N_("`docmind doctor --repair` tries again. Erase the document and add its file again where that doesn't help."),
    ),
    "original-lost": Kind(
        N_("The original of a document is missing."),
        N_("Add the same file again. The pages can still be read and searched."),
        is_repairable=False,
    ),
    "original-damaged": Kind(
        N_("The original of a document is damaged."),
        N_("Add the same file again. The pages can still be read and searched."),
        is_repairable=False,
    ),
    "image-lost": Kind(N_("The picture of a page is missing."), _AGAIN),
    "image-damaged": Kind(N_("The picture of a page is damaged."), _AGAIN),
    "upload-lost": Kind(
        N_("The bytes of a file in the queue are missing or damaged."),
        N_("Remove it from the queue and add the file again."),
        is_repairable=False,
    ),
    # what search is made from
    "passage-without-page": Kind(N_("A passage belongs to no page."), _REMOVE),
    "passage-wrong": Kind(N_("A passage is not what its page says."), _AGAIN),
    "passages-missing": Kind(N_("A page has text, but no passages to be found by."), _AGAIN),
    "vector-missing": Kind(N_("A passage has no vector to be found by."), _REPAIR),
    "vector-damaged": Kind(N_("A vector is damaged."), _REPAIR),
    "vector-unused": Kind(N_("A vector belongs to no passage."), _REMOVE),
    "tokens-damaged": Kind(N_("Token vectors are damaged."), _REPAIR),
    "tokens-unused": Kind(N_("Token vectors belong to no passage."), _REMOVE),
    "marks-missing": Kind(
        N_("A page is not prepared for search by picture yet."), _BY_ITSELF, is_pending=True
    ),
    "marks-damaged": Kind(N_("What was prepared for search by picture is damaged."), _REPAIR),
    "marks-unused": Kind(N_("Marks for search by picture belong to no page."), _REMOVE),
    "page-vector-damaged": Kind(N_("A page vector is damaged."), _REPAIR),
    "page-vector-unused": Kind(N_("A page vector belongs to no page."), _REMOVE),
    "figure-vector-damaged": Kind(N_("The vector of a figure is damaged."), _REPAIR),
    "figure-vector-unused": Kind(N_("The vector of a figure belongs to no figure."), _REMOVE),
    "passage-vectors-damaged": Kind(N_("The vectors of the passages of a page are damaged."), _REPAIR),
    "passage-vectors-unused": Kind(N_("Vectors of passages belong to no page."), _REMOVE),
    "late-unused": Kind(N_("Vectors of a page's parts belong to no page."), _REMOVE),
    "late-lost": Kind(
        N_("Vectors of a page's parts are missing or damaged."),
        N_("`docmind doctor --repair` forgets them, and the model looks at the page again."),
    ),
    "late-unnamed": Kind(N_("A file with vectors of pages is not used."), _REMOVE),
    # conversations, memories and lists
    "conversation-lost": Kind(
        N_("A conversation is not in the list."), N_("`docmind doctor --repair` puts it back, under a new name.")
    ),
    "conversation-broken": Kind(
        N_("A conversation does not know where it ended."),
        N_("`docmind doctor --repair` continues it after its last question."),
    ),
    "state-refused": Kind(
        N_("A stored state of a conversation can't be read."),
        N_("Delete this conversation permanently, or restore vault.db from a backup."),
        is_repairable=False,
    ),
    "state-foreign": Kind(
        N_("A stored state of a conversation holds what it must not: a path, encoded bytes, or text in its label."),
        N_("Delete this conversation permanently if DocMind didn't write it."),
        is_repairable=False,
    ),
    "memory-foreign": Kind(
        N_("A memory has no text, or holds what it must not: a path or encoded bytes outside its text."),
        N_("Forget this memory."),
        is_repairable=False,
    ),
    "collection-broken": Kind(N_("A collection or a conversation names a document that is not there."), _REMOVE),
    "address-unused": Kind(N_("The address of a web page belongs to no document."), _REMOVE),
    "folder-file-unused": Kind(N_("A followed file belongs to no followed folder."), _REMOVE),
    # files
    "file-unnamed": Kind(
        N_("An encrypted file belongs to nothing in the library."),
        N_("`docmind doctor --repair` sets it aside for some days, then it is removed."),
    ),
    "file-damaged": Kind(
        N_("An encrypted file is damaged."), _BACKUP, is_repairable=False
    ),
    "file-erased": Kind(
        N_("A file of a document that was erased is still there."), N_("`docmind doctor --repair` deletes it.")
    ),
    "snapshot-damaged": Kind(
        N_("A snapshot is damaged, or lacks a file."),
        N_("Delete it with `docmind snapshot delete`, and take a new one."),
        is_repairable=False,
    ),
    "file-foreign": Kind(
        N_("The data folder holds a file that isn't DocMind's."),
        N_("Move it to another folder if you put it there. DocMind never touches it."),
        is_repairable=False,
    ),
    "file-outside": Kind(
        N_("A file of a library lies outside of its data folder."),
        N_("Move it back if a library lacks it, or delete it."),
        is_repairable=False,
    ),
    # the database, the keys and the index
    "database-damaged": Kind(
        N_("vault.db is damaged."), N_("Restore vault.db from a backup; what can still be read stays usable."), False
    ),
    "mark-damaged": Kind(
        N_("The high-water mark can't be read, or is missing."),
        N_("Run `docmind accept` if the library is as you left it."),
        is_repairable=False,
    ),
    "behind": Kind(
        N_("vault.db lacks changes that were acknowledged."),
        N_("Put the newer vault.db back, or go on with this one: `docmind accept`."),
        is_repairable=False,
    ),
    "description-damaged": Kind(
        N_("vault.json is missing or damaged."), N_("Restore it from a backup of this library.")
    ),
    "key-wrong": Kind(
        N_("The key isn't the one of this library."),
        N_("Check which key belongs to this library, or set DOCMIND_KEYS__RECOVERY_CODE to the recovery code."),
        is_repairable=False,
    ),
    "locked": Kind(
        N_("The key of the library can't be reached, or its passphrase is needed."),
        N_("Bring back the key, or give the passphrase."),
        is_repairable=False,
    ),
    "index-behind": Kind(N_("The index lacks the latest changes."), _BY_ITSELF, is_pending=True),
    "index-ahead": Kind(
        N_("The index knows changes that the library lacks."), N_("`docmind doctor --repair` builds it again.")
    ),
    "index-damaged": Kind(N_("The index can't be opened."), N_("`docmind doctor --repair` builds it again.")),
    "index-differs": Kind(
        N_("The index holds other points than the library."), N_("`docmind doctor --repair` builds it again.")
    ),
}  # fmt: skip

LISTED = 100
"""Findings of one kind that a report lists."""


class Problem(NamedTuple):
    """One finding, with the ids that its repair needs: `place` is a row's or a file's id, `key` a row's second one."""

    kind: str
    place: str = ""
    doc_id: str = ""
    page_no: int = 0
    key: bytes | str | int = ""
    document: str = ""
    can_repair: bool = True

    @property
    def is_repairable(self) -> bool:
        """Whether a repair can mend it."""
        return KINDS[self.kind].is_repairable and self.can_repair


def counted(problems: Iterable[Problem]) -> tuple[tuple[str, int], ...]:
    """Return the number of problems of each kind, in the order of `KINDS`."""
    found = dict.fromkeys(KINDS, 0)
    for problem in problems:
        found[problem.kind] += 1
    return tuple((kind, number) for kind, number in found.items() if number)


def listed(problems: Sequence[Problem]) -> tuple[Finding, ...]:
    """Return the first hundred findings of each kind, in the order of `KINDS`."""
    by_kind: dict[str, list[Problem]] = {kind: [] for kind in KINDS}
    for problem in problems:
        if len(by_kind[problem.kind]) < LISTED:
            by_kind[problem.kind].append(problem)
    return tuple(_finding(problem) for few in by_kind.values() for problem in few)


def _finding(problem: Problem) -> Finding:
    kind = KINDS[problem.kind]
    return Finding(
        problem.kind, problem.place, problem.document, problem.page_no,
        is_repairable=problem.is_repairable, is_pending=kind.is_pending,
    )  # fmt: skip
