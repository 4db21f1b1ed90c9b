"""What the user wants remembered: facts for the whole vault or for one conversation, to see, correct and erase."""

from __future__ import annotations

import hashlib
import re
import threading
import unicodedata
import uuid
from builtins import list as List  # noqa: N812  (the facade has a method of that name)
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from docmind.config import MemorySettings
from docmind.conversation import Memory, MemoryList
from docmind.database import Database
from docmind.embed.contract import TextEmbedder
from docmind.errors import ConfigError, NotFoundError
from docmind.memory.proposals import is_standing, proposals
from docmind.schema import Degraded
from docmind.sessions import one_line

if TYPE_CHECKING:
    from docmind.memory.store import Item, MemoryStore, SearchItem

LONGEST = 2_000  # characters
SHORTEST_BEGINNING = 4
NEAR = 0.55  # cosine from which a memory bears on a question; see docs/adr/0015
RELATED = 0.40  # and from which it does where the two share a word
_BY_WORDS = 0.5  # share of the question's words, where no text model can be used
_SHARED = 4  # letters; shorter words tell little
_ALL = 1_000_000
_WORD = re.compile(r"\w+")
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_ASKING = """what when where which whose does have that this with from about there their your many much will would could
quando onde qual quais como para pelo pela sobre este esta esse essa isso dizem minha minhas meus nosso nossa
cuando donde cual cuales dice dicen nuestro nuestra cuanto cuantos"""
_COMMON = frozenset(_ASKING.split())
_STANDING = "standing"  # the kind of a memory that says how to answer; the others are facts
_VAULT = ("vault",)
_EVERYWHERE = (_VAULT, ("thread",))
_HINT = "Run `docmind memory list` to see the memories."


class Memories:
    """Facts that the user accepted. Safe from any thread. Opening is cheap: LangGraph is loaded by the first use.

    A text is one line; the same text twice in one place, whatever its case and spaces, is one memory.
    """

    def __init__(self, settings: MemorySettings, database: Database, embedder: TextEmbedder) -> None:
        self._settings, self._database, self._embedder = settings, database, embedder
        self._lock = threading.RLock()  # looking for the same text and saving it is one step
        self._opened: MemoryStore | None = None

    def list(self, search: str = "", *, thread_id: str | None = None, limit: int = 200) -> MemoryList:
        """The newest first, or the best for `search`: those that hold it, then those that are near to it in meaning.

        All of them, or those of one conversation.
        """
        sought = one_line(search, LONGEST)
        if not sought:
            items = self._store.search(() if thread_id is None else _space(thread_id), limit=limit)
            return MemoryList(tuple(map(_memory, items)))
        spaces = _EVERYWHERE if thread_id is None else (_space(thread_id),)
        scored = self._scored(sought, spaces, _ALL)
        holding = {memory.memory_id for memory in scored if _folded(sought) in _folded(memory.text)}
        least = _BY_WORDS if self._is_by_words() else RELATED
        found = [one for one in scored if one.memory_id in holding or (one.score or 0.0) >= least]
        found.sort(key=lambda one: one.memory_id not in holding)
        return MemoryList(tuple(found[:limit]), self._store.degraded)

    def find(self, name: str) -> Memory:
        """The memory of this id, or of the only id that begins so (4 characters or more). Raises `NotFoundError`."""
        places = self._store.places(name) if name.isascii() and len(name) >= SHORTEST_BEGINNING else []
        places = [place for place in places if place[1] == name] or places
        if len(places) > 1:
            raise NotFoundError(
                f"{len(places)} memories have an id that begins with {name}.", hint="Give the whole id."
            )
        item = self._store.get(*places[0]) if places else None
        if item is None:
            raise NotFoundError(f"There is no memory {one_line(name, 64)}.", hint=_HINT)
        return _memory(item)

    def add(self, text: str, *, thread_id: str | None = None) -> Memory:
        """Keep a fact; where the same one is kept in that place already, that one. Raises `ConfigError`."""
        fact, space = _fact(text), _space(thread_id)
        with self._lock:
            same = self._same(space, fact)
            return same if same is not None else self._write(space, uuid.uuid4().hex, fact)

    def accept(self, text: str, thread_id: str | None = None) -> Memory:
        """Keep a fact that a conversation proposed, as it is or as the user corrected it: before, it is nowhere."""
        return self.add(text, thread_id=thread_id)

    def edit(self, memory_id: str, text: str) -> Memory:
        """Change what it says. Where another one in that place says so already, the two become that one.

        Raises `NotFoundError`, `ConfigError`.
        """
        fact = _fact(text)
        with self._lock:
            memory = self.find(memory_id)
            space = _space(memory.thread_id)
            same = self._same(space, fact)
            if same is None or same.memory_id == memory.memory_id:
                return self._write(space, memory.memory_id, fact)
            self._delete([memory])
            return same

    def merge(self, memory_ids: Sequence[str], text: str) -> Memory:
        """Put one memory in the place of two or more, all at once. It holds for the vault unless all are of one thread.

        Raises `NotFoundError`, `ConfigError`.
        """
        fact = _fact(text)
        with self._lock:
            merged = {one.memory_id: one for one in map(self.find, memory_ids)}
            if len(merged) < 2:
                raise ConfigError("Merging needs two memories at least.", hint=_HINT)
            threads = {memory.thread_id for memory in merged.values()}
            space = _space(threads.pop() if len(threads) == 1 else None)
            same = self._same(space, fact)
            if same is not None:
                self._delete([memory for memory in merged.values() if memory.memory_id != same.memory_id])
                return self._write(space, same.memory_id, fact)
            return self._write(space, uuid.uuid4().hex, fact, instead_of=merged.values())

    def forget(self, memory_id: str) -> Memory:
        """Delete it, with its vector; returns what it was. Raises `NotFoundError`."""
        with self._lock:
            memory = self.find(memory_id)
            self._delete([memory])
        return memory

    def drop(self, thread_id: str | None = None) -> int:
        """Delete all memories of a conversation, or of the vault and all conversations; returns how many."""
        with self._lock:
            memories = self.list(thread_id=thread_id, limit=_ALL).memories
            self._delete(memories)
        return len(memories)

    def purge(self, *, thread_id: str | None = None) -> int:
        """`drop`, and leave no byte of what was ever deleted: takes the time of writing the database anew.

        Raises `DiskFullError`, before anything is deleted, where there is no room for that.
        """
        self._database.check_room()
        dropped = self.drop(thread_id)
        self._database.scrub()
        return dropped

    def recall(self, question: str, *, thread_id: str | None = None, limit: int = 3) -> MemoryList:
        """Those that bear on a question, the best first, of the vault and of this conversation.

        What says how to answer bears on every question and comes after them, the newest first.
        """
        asked = one_line(question, LONGEST)
        spaces = (_VAULT,) if thread_id is None else (_VAULT, _space(thread_id))
        if not asked or limit < 1:
            return MemoryList(())
        words = _words(asked)
        found: dict[str, Memory] = {}
        near = self._scored(asked, spaces, 2 * limit)
        by_words = self._is_by_words()
        for memory in near:
            least = _BY_WORDS if by_words else RELATED if words & _words(memory.text) else NEAR
            if (memory.score or 0.0) >= least:
                found.setdefault(_folded(memory.text), memory)
        if len(found) < limit:
            standing = [
                one for space in spaces for one in self._store.search(space, filter={"kind": _STANDING}, limit=limit)
            ]
            for item in sorted(standing, key=lambda one: one.updated_at, reverse=True):
                found.setdefault(_folded(item.value["text"]), _memory(item))
        return MemoryList(tuple(found.values())[:limit], self._store.degraded)

    def propose(self, message: str) -> tuple[str, ...]:
        """Facts in what the user typed that are worth remembering; they are kept nowhere until they are accepted."""
        return proposals(message)

    @property
    def degraded(self) -> tuple[Degraded, ...]:
        """What searching has to do without."""
        return self._store.degraded

    @property
    def _store(self) -> MemoryStore:
        with self._lock:
            if self._opened is None:
                from docmind.memory.store import MemoryStore

                self._opened = MemoryStore(self._database, self._embedder, vectors=self._settings.vectors == "auto")
            return self._opened

    def _is_by_words(self) -> bool:
        return any(one.stage == "memory" for one in self._store.degraded)

    def _scored(self, sought: str, spaces: Iterable[tuple[str, ...]], limit: int) -> List[Memory]:
        return [_memory(item) for item in self._store.best(spaces, sought, limit)]

    def _same(self, space: tuple[str, ...], fact: str) -> Memory | None:
        """The memory of exactly this namespace that says the same."""
        found = self._store.search(space, filter={"same": _print(fact)}, limit=1)
        return _memory(found[0]) if found else None

    def _write(self, space: tuple[str, ...], memory_id: str, fact: str, *, instead_of: Iterable[Memory] = ()) -> Memory:
        value = {"text": fact, "same": _print(fact), "kind": _STANDING if is_standing(fact) else "fact"}
        gone = [(_space(memory.thread_id), memory.memory_id, None) for memory in instead_of]
        self._store.change([(space, memory_id, value), *gone])
        return self.find(memory_id)

    def _delete(self, memories: Iterable[Memory]) -> None:
        self._store.change((_space(memory.thread_id), memory.memory_id, None) for memory in memories)


def _space(thread_id: str | None) -> tuple[str, ...]:
    if thread_id is None:
        return _VAULT
    if not _ID.fullmatch(thread_id):
        raise ConfigError(
            "A conversation's id has 1 to 64 letters, digits, dashes or underscores.",
            hint="Run `docmind threads list` to see the conversations.",
        )
    return ("thread", thread_id)


def _memory(item: Item | SearchItem) -> Memory:
    return Memory(
        memory_id=item.key,
        text=item.value["text"],
        thread_id=item.namespace[1] if item.namespace[0] == "thread" else None,
        created_at_ms=round(item.created_at.timestamp() * 1000),
        updated_at_ms=round(item.updated_at.timestamp() * 1000),
        score=getattr(item, "score", None),
    )


def _fact(text: str) -> str:
    """One line without control characters. Raises `ConfigError`."""
    fact = one_line(text, max(LONGEST, len(text)))
    if not fact:
        raise ConfigError("The memory is empty.", hint="Write the fact in words.")
    if len(fact) > LONGEST:
        raise ConfigError(
            f"A memory has at most {LONGEST:,} characters, not {len(fact):,}.", hint="Keep one fact; add the others."
        )
    return fact


def _folded(text: str) -> str:
    """The text without case and accents."""
    apart = unicodedata.normalize("NFKD", text.casefold())
    return "".join(char for char in apart if not unicodedata.combining(char))


def _print(fact: str) -> str:
    """The same for texts that differ in case, composition of letters, or the stop at the end alone."""
    plain = unicodedata.normalize("NFKC", fact).casefold().rstrip(" .!")
    return hashlib.blake2b(plain.encode(), digest_size=16).hexdigest()


def _words(text: str) -> set[str]:
    return {word for word in _WORD.findall(_folded(text)) if len(word) >= _SHARED} - _COMMON
