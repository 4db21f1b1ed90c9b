"""Memories: facts that the user stores for the whole vault or for one conversation, and can edit and delete.

Facts in what a person typed that are worth remembering are found by rules in English, Portuguese and Spanish. The rules
are narrow on purpose: questions should not be interrupted by offers to remember them. Their results are only proposals;
nothing is stored until the person accepts it.
"""

from __future__ import annotations

import hashlib
import re
import threading
import unicodedata
import uuid
from builtins import list as List  # noqa: N812  (the facade has a method of that name)
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from docmind.config import MemorySettings
from docmind.embedding import TextEmbedder, is_multilingual, sentence_ends
from docmind.errors import ConfigError, DamagedError, NotFoundError
from docmind.language import folded
from docmind.records.conversations import Memory, MemoryList
from docmind.records.search import Degraded
from docmind.records.values import LONGEST_QUESTION
from docmind.rich_text import clip
from docmind.storage import Database
from docmind.wording import N_, _

if TYPE_CHECKING:
    from docmind.memory.store import Item, MemoryStore, SearchItem


MOST = 5
LONGEST_FACT = 400  # characters of one fact
_PASTED = 2_000  # characters; a longer message counts as pasted text, in which only explicit requests are found

_BEFORE = r"^(?:(?:please|por favor|ok|okay|hi|hello|olá|hola|and|also|e|y|então|entonces|so)\b[\s,:;!–-]*)*"
_ASKED = re.compile(
    _BEFORE
    + r"""(?:(?:can|could|will|would)\ you\ (?:please\ )?)?(?:
        (?:remember|note|keep\ in\ mind|bear\ in\ mind|don['’]?t\ forget|do\ not\ forget)(?:\s+that\b|\s*:|,)
      | remember(?=\s+my\s)
      | (?:lembr[ea](?:-[st]e)?|recorda-te|n[ãa]o\ (?:[st]e\ )?esque[çc]as?|memori[zs][ae])(?:\s+(?:de\ )?que\b|\s*:)
      | (?:t[ea]nha?m?|tem)\ em\ (?:mente|conta)\s+que\b
      | (?:anot[ae]|guarda|guarde)(?:\ a[ií])?(?:\s+que\b|\s*:)
      | (?:recuerd[ae]|no\ olvides?|memori[zc]e?a?|apunt[ae]|anot[ae])(?:\s+que\b|\s*:)
      | acu[ée]rd(?:ate|ese)\ de\ que\b
      | (?:ten|tenga)\ (?:en\ cuenta|presente)\s+que\b
      | toma?e?\ nota\ de\s+que\b
    )\s*(?P<fact>.+)""",
    re.IGNORECASE | re.VERBOSE,
)

_VERBS_EN = "answer|reply|respond|write|use|cite|quote|give|show|speak|translate|start|end|include|assume|put|keep|be"
_STANDING_FACT = re.compile(
    _BEFORE
    + rf"""(?:
        (?:always|never)\ (?:{_VERBS_EN})\b
      | (?:from\ now\ on|going\ forward|henceforth)\b
      | (?:answer|reply|respond|write)(?:\ to)?(?:\ me)?\ (?:always|only)\ in\b
      | call\ me\ \w
      | I\ (?:really\ |always\ |usually\ |generally\ |much\ )?prefer\b
      | (?:eu\ )?prefiro\b | (?:yo\ )?prefiero\b
      | (?:sempre|siempre|nunca)\ (?:me\ )?
            (?:respond|contest|escrev|escrib|us[aeo]|cit|trat|tradu[zc]|mostr|muestr|d[áaêe])
      | (?:respond[ea]|contest[ae]|escreva?|escrib[ea]|us[ae]|cit[ae])(?:-?me)?\ (?:sempre|siempre)\b
      | (?:a\ partir\ de\ (?:agora|ahora)|daqui\ em\ diante|de\ (?:agora|ahora)\ em?n?\ (?:diante|adelante)|doravante)\b
      | (?:trat[ae]|cham[ae])-me\b | me\ (?:trate|chame)\b | ll[áa]m[ae]me\b
    )""",
    re.IGNORECASE | re.VERBOSE,
)

_NO_FACT = (
    r"(?:next\ |first\ |second\ |other\ |last\ |main\ |new\ |primeira\ |segunda\ |primera\ |próxim[ao]\ )?"
    r"(?:questions?|point|problem|issue|doubts?|guess|concern|worry|understanding|idea|request|query|goal|hope|fear"
    r"|perguntas?|dúvidas?|duvidas?|quest(?:ão|ões)|problema|ideia|pedido|receio|entender|objetivo"
    r"|preguntas?|dudas?|cuestión|petición|temor|pedido)\b"
)
_TERM = r"(?:[\"'“‘«][^\"'”’»]{1,60}[\"'”’»]|\w[\w.-]*(?:\s\w[\w.-]*){0,3}?)"
_STATED = re.compile(
    _BEFORE
    + rf"""(?:
        my\ (?!{_NO_FACT})[\w'’ &-]{{1,50}}?\ (?:is|are|was|were|ends?|starts?|begins?|lives?|works?)\ (?!it\b|that\b)\S
      | I\ (?:live|work)\ (?:in|at|for|as|with|on)\ \S | I(?:\ am|['’]m)\ (?:called|named|based\ in|allergic\ to)\ \S
      | (?:by|with)\ {_TERM},?\s+I\ mean\ \S | when\ I\ (?:say|write|mention)\ {_TERM},?\s+I\ mean\ \S
      | (?:[oa]s?\ )?(?:meu|minha|meus|minhas)\ (?!{_NO_FACT})[\w' &-]{{1,50}}?
            \ (?:é|e|são|chama-se|se\ chama|foi|fica|mora|trabalha|termina|começa)\ (?!que\b)\S
      | (?:eu\ )?(?:chamo-me|me\ chamo)\ \S | (?:eu\ )?(?:moro|vivo|trabalho)\ (?:em|no|na|nos|nas|para|como|com)\ \S
      | (?:por|com|quando\ (?:eu\ )?(?:digo|disser|falo\ (?:em|de)|falar\ (?:em|de)|escrevo|escrever))
            \ (?:[oa]\ )?{_TERM}
            ,?\s+(?:(?:eu\ )?quero\ dizer|entendo|(?:refiro-me|me\ refiro)\ (?:a|à|ao|às|aos))\b
      | mis?\ (?!{_NO_FACT})[\w' &-]{{1,50}}?\ (?:es|son|se\ llaman?|era|fue|vive|trabaja|termina|empieza)\ (?!que\b)\S
      | (?:yo\ )?me\ llamo\ \S | (?:yo\ )?(?:vivo|trabajo)\ (?:en|para|como|con)\ \S
      | (?:por|con|cuando\ (?:yo\ )?(?:digo|diga|hablo\ de|hable\ de|escribo|escriba))\ (?:el\ |la\ )?{_TERM}
            ,?\s+(?:quiero\ decir|entiendo|me\ refiero\ al?)\b
    )""",
    re.IGNORECASE | re.VERBOSE,
)


_MEANS = re.compile(
    _BEFORE
    + rf"""(?:by | with | when\ I\ (?:say|write|mention) | por | com | con
      | quando\ (?:eu\ )?(?:digo|disser|falo\ (?:em|de)|falar\ (?:em|de)|escrevo|escrever)
      | cuando\ (?:yo\ )?(?:digo|diga|hablo\ de|hable\ de|escribo|escriba)
    )\ (?:(?:the|o|a|el|la)\ )?(?P<term>{_TERM}),?\s+
    (?:I\ mean | (?:eu\ )?quero\ dizer | entendo | (?:refiro-me|me\ refiro)\ (?:a|à|ao|às|aos)
      | quiero\ decir | entiendo | me\ refiero\ al?
    )\ (?P<meaning>\S.*)""",
    re.IGNORECASE | re.VERBOSE,
)
_QUOTES = "\"'“‘«”’» "

_OWN = r"(?:my|our|the|I|we|meus?|minhas?|noss[oa]s?|[oa]s?|mis?|nuestr[oa]s?|el|la|los|las)"
_VERBS = (
    r"(?:is|are|was|were|has|have|starts?|ends?|begins?|lives?|works?|prefer|é|são|foi|fica|tem|têm|começam?|terminam?"
    r"|moram?|trabalham?|es|son|era|fue|tienen?|empiezan?|viven?|trabajan?)"
)
_CLAUSE = rf"{_OWN}\s(?:[\w'’-]+\s){{0,5}}?{_VERBS}\s(?!it\b|that\b|que\b)\S"
_JOINT = re.compile(rf",? (?:and|e|y) (?:that |que )?(?={_CLAUSE})", re.IGNORECASE)  # words one space apart
_IS_CLAUSE = re.compile(rf"\b(?:{_VERBS}|mean|dizer|entendo|decir|entiendo)\s\S", re.IGNORECASE)


def proposals(message: str) -> tuple[str, ...]:
    """Return the facts in a message, in its own words and order, each once; at most five. Most messages have none."""
    found: dict[str, str] = {}
    for sentence in _sentences(message):
        asked = _ASKED.match(sentence)
        if asked is not None:
            fact = asked["fact"]
        elif sentence.endswith("?") or sentence.startswith("¿") or len(message) > _PASTED:
            continue
        elif _STATED.match(sentence) or _STANDING_FACT.match(sentence):
            fact = re.sub(_BEFORE, "", sentence, flags=re.IGNORECASE)
        else:
            continue
        for part in _apart(fact):
            if len(part.split()) >= 2 and len(part) <= LONGEST_FACT:
                found.setdefault(part.casefold(), part[0].upper() + part[1:])
    return tuple(found.values())[:MOST]


def requested(message: str) -> tuple[str, ...]:
    """Return the facts that a message asks to remember, where it asks for nothing else; otherwise none."""
    sentences = list(_sentences(message))
    is_request = bool(sentences) and all(_ASKED.match(one) and not one.endswith("?") for one in sentences)
    return proposals(message) if is_request else ()


def _apart(text: str) -> list[str]:
    """Return the clauses that are joined by `and` and are whole by themselves, each as a fact."""
    parts, at = [], 0
    for joint in _JOINT.finditer(text):
        if _IS_CLAUSE.search(text, at, joint.start()):
            parts.append(text[at : joint.start()])
            at = joint.end()
    return [part.strip(" .!?;:,–-") for part in (*parts, text[at:])]


def _sentences(message: str) -> Iterator[str]:
    for line in message.splitlines():
        for start, end in pairwise((0, *sentence_ends(line, typed=True), len(line))):
            yield " ".join(line[start:end].split())


_ARTICLES = frozenset(("the", "a", "an", "o", "os", "as", "um", "uma", "el", "la", "los", "las", "un", "una"))


def expanded(question: str, facts: Iterable[str]) -> str:
    """Return a question with what its terms stand for, as facts define it ("by ACME I mean Lantern Works").

    A name is replaced by its meaning, and so is a term that is all of the text. Any other term keeps its place, and the
    meaning follows the question.
    """
    for fact in facts:
        defined = _MEANS.match(fact)
        if defined is None:
            continue
        term, meaning = defined["term"].strip(_QUOTES), defined["meaning"].strip(" .!?;,")
        used = re.compile(rf"(?<!\w){re.escape(term)}(?!\w)", re.IGNORECASE)
        if not term or not used.search(question) or folded(meaning) in folded(question):
            continue
        is_replaced = term[0].isupper() or _ARTICLES.issuperset(used.sub("", question).lower().split())
        question = used.sub(meaning.replace("\\", "\\\\"), question) if is_replaced else f"{question} ({meaning})"
    return question


def is_standing(fact: str) -> bool:
    """Return whether a fact says how to answer any question: a preference, an instruction, a name for the user."""
    return _STANDING_FACT.match(fact) is not None


LONGEST = 2_000  # characters
SHORTEST_BEGINNING = 4
NEAR, NEAR_MANY = 0.55, 0.40  # cosine from which a memory is relevant; of MiniLM, and with a model of many languages
RELATED, RELATED_MANY = 0.40, 0.34  # and where question and memory share a word; see docs/adr/0015 and 0049
_BY_WORDS = 0.5  # share of the question's words, where the text model cannot be used
_SHARED = 4  # letters; shorter words carry little information
_ALL = 1_000_000
_WORD = re.compile(r"\w+")
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_ASKING = """what when where which whose does have that this with from about there their your many much will would could
quando onde qual quais como para pelo pela sobre este esta esse essa isso dizem minha minhas meus nosso nossa
cuando donde cual cuales dice dicen nuestro nuestra cuanto cuantos"""
_COMMON = frozenset(_ASKING.split())
_STANDING = "standing"  # the kind of memories that say how to answer; the others are facts
_VAULT = ("vault",)
_EVERYWHERE = (_VAULT, ("thread",))
_HINT = N_("Run `docmind memory list` to see the memories.")


class Memories:
    """Facts that the user accepted. Thread-safe. Opening is cheap: LangGraph is loaded at first use.

    A text is one line; equal texts in one place, ignoring case and spaces, are one memory.
    """

    def __init__(self, settings: MemorySettings, database: Database, embedder: TextEmbedder) -> None:
        self._settings, self._database, self._embedder = settings, database, embedder
        self._is_multilingual = is_multilingual(embedder)
        self._lock = threading.RLock()  # makes the search for an equal text and the write one step
        self._opened: MemoryStore | None = None

    def list(self, search: str = "", *, thread_id: str | None = None, limit: int = 200) -> MemoryList:
        """Return the newest first, or for `search` those that contain it, then those that are similar in meaning.

        Of all memories, or of one conversation.
        """
        sought = clip(search, LONGEST)
        if not sought:
            items = self._store.search(() if thread_id is None else _space(thread_id), limit=limit)
            return MemoryList(tuple(map(_memory, items)))
        spaces = _EVERYWHERE if thread_id is None else (_space(thread_id),)
        scored = self._scored(sought, spaces, _ALL)
        holding = {memory.memory_id for memory in scored if folded(sought) in folded(memory.text)}
        least = _BY_WORDS if self._is_by_words() else RELATED
        found = [one for one in scored if one.memory_id in holding or (one.score or 0.0) >= least]
        found.sort(key=lambda one: one.memory_id not in holding)
        return MemoryList(tuple(found[:limit]), self._store.degraded)

    def find(self, name: str) -> Memory:
        """Return the memory with this id, or a unique prefix of 4 or more characters. Raises `NotFoundError`."""
        places = self._store.places(name) if name.isascii() and len(name) >= SHORTEST_BEGINNING else []
        places = [place for place in places if place[1] == name] or places
        if len(places) > 1:
            raise NotFoundError(
                _("{number} memories have an id that begins with {name}.").format(number=len(places), name=name),
                hint=_("Give the whole id."),
            )
        item = self._store.get(*places[0]) if places else None
        if item is None:
            raise NotFoundError(_("There is no memory {name}.").format(name=clip(name, 64)), hint=_(_HINT))
        return _memory(item)

    def add(self, text: str, *, thread_id: str | None = None) -> Memory:
        """Store a fact; return the existing memory where the place has an equal one. Raises `ConfigError`."""
        fact, space = _fact(text), _space(thread_id)
        with self._lock:
            same = self._same(space, fact)
            return same if same is not None else self._write(space, uuid.uuid4().hex, fact)

    def accept(self, text: str, thread_id: str | None = None) -> Memory:
        """Store a fact that a conversation proposed, as it is or as the user corrected it; it is not stored before."""
        return self.add(text, thread_id=thread_id)

    def edit(self, memory_id: str, text: str) -> Memory:
        """Change the text of a memory, or remove it where another memory of the same place has that text.

        Raises `NotFoundError`, `ConfigError`.
        """
        fact = _fact(text)
        with self._lock:
            memory = self.find(memory_id)
            space = _space(memory.thread_id)
            same = self._same(space, fact)
            if same is None or same.memory_id == memory.memory_id:
                return self._write(space, memory.memory_id, fact)
            self._remove([memory])
            return same

    def merge(self, memory_ids: Sequence[str], text: str) -> Memory:
        """Replace two or more memories by one, atomically; it belongs to the vault unless all are of one thread.

        Raises `NotFoundError`, `ConfigError`.
        """
        fact = _fact(text)
        with self._lock:
            merged = {one.memory_id: one for one in map(self.find, memory_ids)}
            if len(merged) < 2:
                raise ConfigError(_("Merging needs at least two memories."), hint=_(_HINT))
            threads = {memory.thread_id for memory in merged.values()}
            space = _space(threads.pop() if len(threads) == 1 else None)
            same = self._same(space, fact)
            if same is not None:
                self._remove([memory for memory in merged.values() if memory.memory_id != same.memory_id])
                return self._write(space, same.memory_id, fact)
            return self._write(space, uuid.uuid4().hex, fact, instead_of=merged.values())

    def remove(self, memory_id: str) -> Memory:
        """Remove a memory and its vector; return the memory. Raises `NotFoundError`."""
        with self._lock:
            memory = self.find(memory_id)
            self._remove([memory])
        return memory

    def held(self) -> threading.RLock:
        """Return the lock of the memories, to be taken before a transaction in which they change: never after it."""
        return self._lock

    def remove_all(self, thread_id: str | None = None) -> int:
        """Remove all memories of a conversation, or of the vault and all conversations; return their number."""
        with self._lock:
            memories = self.list(thread_id=thread_id, limit=_ALL).memories
            self._remove(memories)
        return len(memories)

    def everything(self) -> tuple[Memory, ...]:
        """Return all memories, of the vault and of every conversation."""
        return self.list(limit=_ALL).memories

    def erase(self, *, thread_id: str | None = None) -> int:
        """Run `remove_all`, and overwrite all deleted data: takes the time of rewriting the database.

        Raises `DiskFullError`, before anything is deleted, where there is no space for that.
        """
        self._database.check_room()
        dropped = self.remove_all(thread_id)
        self._database.scrub()
        return dropped

    def adopt(self, rows: Iterable[Mapping[str, object]]) -> int:
        """Take memories of another vault, as rows by column, and return how many were new.

        Raises `StateRefusedError` where one is damaged.
        """
        return self._store.adopt(rows)

    def recall(self, question: str, *, thread_id: str | None = None, limit: int = 3) -> MemoryList:
        """Return the memories relevant to a question, the best first, of the vault and of this conversation.

        Memories that say how to answer are relevant to every question and come after them, the newest first.
        """
        asked = clip(question, LONGEST)
        spaces = (_VAULT,) if thread_id is None else (_VAULT, _space(thread_id))
        if not asked or limit < 1:
            return MemoryList(())
        words = _words(asked)
        found: dict[str, Memory] = {}
        near = self._scored(asked, spaces, 2 * limit)
        by_words = self._is_by_words()
        related, nearby = (RELATED_MANY, NEAR_MANY) if self._is_multilingual else (RELATED, NEAR)
        for memory in near:
            least = _BY_WORDS if by_words else related if words & _words(memory.text) else nearby
            if (memory.score or 0.0) >= least:
                found.setdefault(folded(memory.text), memory)
        if len(found) < limit:
            standing = [
                one for space in spaces for one in self._store.search(space, filter={"kind": _STANDING}, limit=limit)
            ]
            for item in sorted(standing, key=lambda one: one.updated_at, reverse=True):
                found.setdefault(folded(_text(item)), _memory(item))
        return MemoryList(tuple(found.values())[:limit], self._store.degraded)

    def facts_about(self, question: str, *, thread_id: str | None = None, limit: int = 2) -> MemoryList:
        """Return the facts that bear on a question, the best first, without those that say how to answer.

        Loads nothing where nothing was ever stored. Memories that are damaged are left out, and `degraded` says so.
        """
        try:
            if self._is_empty():
                return MemoryList(())
            found = self.recall(question, thread_id=thread_id, limit=limit)
        except DamagedError as error:
            return MemoryList((), (Degraded("memory", str(error)),))
        facts = [memory for memory in found.memories if memory.score is not None and not is_standing(memory.text)]
        return MemoryList(tuple(facts), found.degraded)

    def expand(self, question: str, *, thread_id: str | None = None) -> str:
        """Return a question with what its terms stand for, by the memories of the vault and of this conversation.

        It is left as it is where memories are damaged or their meanings would make it too long, and nothing is loaded
        where nothing was ever stored.
        """
        try:
            if self._is_empty():
                return question
            spaces = (_VAULT,) if thread_id is None else (_space(thread_id), _VAULT)
            facts = [_text(item) for space in spaces for item in self._store.search(space, limit=_ALL)]
        except DamagedError:  # `facts_about` says so
            return question
        made = expanded(question, facts)
        return made if len(made) <= LONGEST_QUESTION else question

    def _is_empty(self) -> bool:
        return self._database.one("SELECT 1 FROM docmind_store_items LIMIT 1") is None

    def requested(self, message: str) -> tuple[str, ...]:
        """Return the facts that a message asks to remember, where it asks for nothing else; they are not stored."""
        return requested(message)

    def propose(self, message: str) -> tuple[str, ...]:
        """Return facts in the user's text that are worth remembering; they are not stored until they are accepted."""
        return proposals(message)

    @property
    def degraded(self) -> tuple[Degraded, ...]:
        """What searches have to do without."""
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
        return [_memory(item) for item in self._store.best(spaces, sought, limit) if _text(item)]

    def _same(self, space: tuple[str, ...], fact: str) -> Memory | None:
        """Return the memory of exactly this namespace with an equal text."""
        found = self._store.search(space, filter={"same": _print(fact)}, limit=1)
        return _memory(found[0]) if found else None

    def _write(self, space: tuple[str, ...], memory_id: str, fact: str, *, instead_of: Iterable[Memory] = ()) -> Memory:
        value = {"text": fact, "same": _print(fact), "kind": _STANDING if is_standing(fact) else "fact"}
        gone = [(_space(memory.thread_id), memory.memory_id, None) for memory in instead_of]
        self._store.change([(space, memory_id, value), *gone])
        return self.find(memory_id)

    def _remove(self, memories: Iterable[Memory]) -> None:
        self._store.change((_space(memory.thread_id), memory.memory_id, None) for memory in memories)


def _space(thread_id: str | None) -> tuple[str, ...]:
    if thread_id is None:
        return _VAULT
    if not _ID.fullmatch(thread_id):
        raise ConfigError(
            _("A conversation's id has 1 to 64 letters, digits, dashes or underscores."),
            hint=_("Run `docmind threads list` to see the conversations."),
        )
    return ("thread", thread_id)


def _memory(item: Item | SearchItem) -> Memory:
    return Memory(
        memory_id=item.key,
        text=_text(item) or _("This memory can't be read. Forget it, or write it again."),
        thread_id=item.namespace[1] if item.namespace[0] == "thread" else None,
        created_at_ms=round(item.created_at.timestamp() * 1000),
        updated_at_ms=round(item.updated_at.timestamp() * 1000),
        score=getattr(item, "score", None),
    )


def _text(item: Item | SearchItem) -> str:
    """Return the text of a stored memory; empty where it has none, which the check of the library names."""
    text = item.value.get("text")
    return text if isinstance(text, str) else ""


def _fact(text: str) -> str:
    """Return the text as one line without control characters. Raises `ConfigError`."""
    fact = clip(text, max(LONGEST, len(text)))
    if not fact:
        raise ConfigError(_("The memory is empty."), hint=_("Type a fact."))
    if len(fact) > LONGEST:
        raise ConfigError(
            _("A memory has at most {longest:,} characters; this has {number:,}.").format(
                longest=LONGEST, number=len(fact)
            ),
            hint=_("Save one fact at a time."),
        )
    return fact


def _print(fact: str) -> str:
    """Return an equal digest for texts that differ only in case, Unicode composition, or the final stop."""
    plain = unicodedata.normalize("NFKC", fact).casefold().rstrip(" .!")
    return hashlib.blake2b(plain.encode(), digest_size=16).hexdigest()


def _words(text: str) -> set[str]:
    return {word for word in _WORD.findall(folded(text)) if len(word) >= _SHARED} - _COMMON
