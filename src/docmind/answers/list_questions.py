"""Which complete list a question asks for: every mention, all values of a kind, or the items of a list or table.

The rules are data, `listing.toml`, in the languages of questions. They are read on the folded question, whose
characters stand at the offsets of the question itself, so that what is mentioned keeps its case.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from docmind.language import lowered_alike
from docmind.records.listings import Listable

LONGEST = 300  # characters of a question that is looked at
_TABLE = Path(__file__).with_name("listing.toml")
_LEADING = re.compile(  # `to which countries`
    r"(?:to|in|on|at|for|from|by|with|of|em|a|para|de|por|con|en|com|an|auf|zu|bei|mit|fur|dans|pour|avec) "
    r"(?=(?:which|what|whom|que|quais|cuales|welche[nmr]?|quels|quelles)\b)"
)
_SENTENCES = re.compile(r"(?<=[?!.]) (?=[^\W\d_])")
_ALIKE = 5  # letters that forms of a word share
_NAMES = re.compile(r"(?:\w+ ){0,4}(?:names|nomes|nombres|namen|noms)\b")
_NEGATED = 7  # letters of `untrained`, at least
_FEW = 5  # words of a question without a verb
_SHORTENED = re.compile(r"\b(does|do|did|is|are|was|were|has|have|must|should)n.t\b")
_DENIED = re.compile(r"\b(?:not|never|nao|nunca|nicht|ne|n'(?=\w)|pas)\b")
_SPANISH = re.compile(r"\b(?:qué|quién(?:es)?|cuál(?:es)?)\b", re.IGNORECASE)
_NAME = re.compile(r"\b[A-ZÀ-ÖØ-Þ][\w'’-]+(?: [A-ZÀ-ÖØ-Þ][\w'’-]+)+")
_EDGES = " \t\n?!.,;:¿¡\"'“”„«»‘’"
_QUOTED = re.compile(r"[\"“„«]([^\"“”„«»]{1,200})[\"”“»]")
_WITHIN = re.compile(
    r"(?<=\s)(?:in|within|em|no|na|nos|nas|en|en el|en la|im|in der|in dem|dans|dans le|dans la)\s+(?=\S)"
)


class ListQuestion(NamedTuple):
    """What is listed; the words of a mention or of a list; and the words for a document, which may be none.

    `places` are the ways to read where to look: each has the words before it and those of the document, "" for all.
    `is_who` tells that items are people, `is_explicit` that a list is surely asked for, `is_plural` that several things
    are, `is_single` that one thing may be. `context` are words behind the first preposition, which may only say where
    the list is, or the language of code that imports something. `is_quoted` is a mention in quotation marks, which has
    no other form. `denied` are the words behind a `not`, `names` folded words that stand next to each other with
    capitals, `verbs` words that are verbs by their place, and `is_bare` tells of a question without a verb and a
    question word.
    """

    what: Listable
    words: str
    places: tuple[tuple[str, str], ...]
    is_who: bool = False
    is_explicit: bool = False
    is_plural: bool = False
    is_single: bool = False
    context: str = ""
    is_quoted: bool = False
    denied: str = ""
    names: tuple[str, ...] = ()
    is_bare: bool = False
    verbs: tuple[str, ...] = ()


class _Forms(NamedTuple):
    imports: tuple[re.Pattern[str], ...]
    languages: dict[str, str]
    mention: tuple[re.Pattern[str], ...]
    article: re.Pattern[str]
    kinds: tuple[tuple[Listable, re.Pattern[str]], ...]
    items: tuple[re.Pattern[str], ...]
    single: tuple[re.Pattern[str], ...]
    bare: tuple[re.Pattern[str], ...]
    opening: tuple[re.Pattern[str], ...]
    verbs: tuple[re.Pattern[str], ...]
    never: re.Pattern[str]
    who: frozenset[str]


@cache
def table() -> dict[str, Any]:
    """Return the data of `listing.toml`."""
    return tomllib.loads(_TABLE.read_text("utf-8"))


@cache
def word_list(part: str, name: str) -> frozenset[str]:
    """Return the folded words of an entry of `listing.toml`."""
    held = table()[part] if part else table()
    return frozenset(held[name].split())


@cache
def _forms() -> _Forms:
    data = table()
    frame = data["frame"]
    kinds = tuple(
        (
            name,
            re.compile(
                rf"(?:(?:{frame['lead']}) )?(?:{frame['beside']} ){{0,6}}{nouns}"
                rf"(?: (?:{frame['copula']}|{frame['named']})){{0,3}}"
                rf"(?: (?:{frame['everywhere']}|{frame['within']} {frame['everywhere']}|{frame['within']} "
                rf"(?:{frame['article']} )?(?P<place>.+?)(?: {frame['behind']})?))?"
            ),
        )
        for name, nouns in data["kinds"].items()
    )
    who = re.compile(
        rf"{frame['who']}(?: {frame['within']} (?:{frame['everywhere']}|(?:{frame['article']} )?(?P<place>.+)))?"
    )
    return _Forms(
        tuple(re.compile(form.replace("<files>", data["imports"]["files"])) for form in data["imports"]["asked"]),
        {written: language for language, written in data["imports"]["languages"].items()},
        tuple(map(re.compile, data["mention"]["asked"])),
        re.compile(rf"{data['mention']['article']}(?:\s+|(?<='))"),
        (("people", who), *kinds),
        tuple(map(re.compile, data["items"]["asked"])),
        tuple(map(re.compile, data["items"]["single"])),
        tuple(map(re.compile, data["items"]["bare"])),
        tuple(map(re.compile, data["items"]["opening"])),
        tuple(map(re.compile, data["items"]["verbs"])),
        re.compile(data["items"]["never"]),
        frozenset(data["items"]["who"]),
    )


def list_questions(question: str) -> Iterator[ListQuestion]:
    """Yield the lists that a question may ask for, the most exact first; none where it asks for no list."""
    line = " ".join(question.split()).strip(_EDGES.replace('"', "").replace("”", "").replace("»", ""))
    if not line or len(line) > LONGEST:
        return
    line = _begun(_last_asked(line))
    folded, forms = lowered_alike(line), _forms()
    if (asked := _import(line, folded, forms)) is not None:
        yield asked
        if asked.is_explicit:
            return
    for form in forms.mention:
        if (found := form.fullmatch(folded)) is not None and (topic := _topic(line, *found.span("topic"))):
            yield _mention(topic)
            return
    values = list[ListQuestion]()
    for what, form in forms.kinds:
        if (found := form.fullmatch(folded)) is not None and (found["place"] or _is_asked(folded)):
            place = line[slice(*found.span("place"))].strip(_EDGES) if found["place"] else ""
            values.append(ListQuestion(what, "", (("", place),)))
            break
    may_be_named = values and (values[0].what == "identifiers" or _NAMES.match(folded))
    if not may_be_named:  # `serial numbers` may name a column, `names of the tenants` a list
        yield from values
        values = []
    yield from _items(line, folded, forms)
    yield from values


def _import(line: str, folded: str, forms: _Forms) -> ListQuestion | None:
    """Return the question for lines that import something; it is `is_explicit` where it asks for files of code."""
    for form in forms.imports:
        if (found := form.fullmatch(folded)) is not None:
            name = line[slice(*found.span("topic"))].strip(_EDGES + "<>`")
            groups = found.groupdict()
            language = forms.languages.get(groups.get("language") or "", groups.get("language") or "")
            is_explicit = groups.get("code") is not None
            return ListQuestion("imports", name, ((name, ""),), is_explicit=is_explicit, context=language)
    return None


def _items(said: str, folded: str, forms: _Forms) -> Iterator[ListQuestion]:
    """Yield the question for the items of a list, where it reads as one."""
    line = _SHORTENED.sub(r"\1 not", folded)
    line = _LEADING.sub("", re.sub(table()["states"]["to_do"], "open", line))
    line = re.sub(table()["states"]["forbids_apart"], r"\2\1 not", line)
    line = " ".join(re.sub(table()["states"]["forbids"], " forbidden ", line).split())
    line = re.sub(table()["states"]["spanish_no"], " not ", line) if _SPANISH.search(said) else line
    before, denied, behind = _DENIED.sub("\n", line).partition("\n")
    behind = behind.replace("\n", " ")
    line = " ".join(f"{before} {behind}".split())
    if forms.never.search(line) or (denied and not behind.strip()):
        return
    for form in forms.opening:
        if (found := form.fullmatch(line)) is not None:
            yield ListQuestion("items", f"{found['topic']} hours", (("", ""),), is_single=True)
            return
    bare = forms.bare if _is_bare(line) else ()
    for form in (*forms.single, *forms.items, *bare):
        if (found := form.fullmatch(line)) is not None and (topic := found["topic"].strip(_EDGES)):
            asked = ListQuestion(
                "items",
                topic,
                (("", ""),),
                is_who=line.split()[0] in forms.who,
                is_explicit=re.match(table()["items"]["explicit"], line) is not None,
                is_plural=re.match(table()["items"]["plural"], line) is not None,
                is_single=form in (*forms.single, *forms.bare),
                denied=behind,
                names=tuple(
                    word for run in _NAME.findall(said.partition(" ")[2]) for word in lowered_alike(run).split()
                ),
                is_bare=form in forms.bare,
                context=" ".join(re.split(table()["items"]["within"], topic, maxsplit=1)[1:]),
                verbs=_verbs_of(line),
            )
            yield asked
            yield from _denying(asked)
            return


def _verbs_of(line: str) -> tuple[str, ...]:
    """Return the words of a question that are verbs by their place."""
    found = (form.match(line) for form in _forms().verbs)
    return tuple(word for one in found if one is not None for word in one["verb"].split())


def _denying(asked: ListQuestion) -> Iterator[ListQuestion]:
    """Yield a question for what is `absent` as one for what is not `present`."""
    words = asked.words.split()
    opposites: dict[str, str] = table()["states"]["opposites"]
    for state in words if len(words) > 1 and not asked.denied else ():
        denied = opposites.get(state) or (state[2:] if state.startswith("un") and len(state) >= _NEGATED else "")
        if denied:
            yield asked._replace(words=" ".join(word for word in words if word != state), denied=denied)
            return


def _last_asked(line: str) -> str:
    """Return the last of several sentences where it asks for what the first ones ask for."""
    *first, last = _SENTENCES.split(line)
    said = {word[:_ALIKE] for word in re.findall(r"\w{4,}", lowered_alike(last))}
    asked = {word[:_ALIKE] for one in first for word in re.findall(r"\w{4,}", lowered_alike(one))}
    return last if first and not said.isdisjoint(asked) else line


def _begun(line: str) -> str:
    """Return a question that begins with `list` where it asks for a list of something."""
    folded = lowered_alike(line)
    if (found := re.match(table()["frame"]["lists"], folded)) is not None:
        return f"list {line[found.end() :]}"
    return line[: -len(" auf")] if re.match(r"(?:liste|zahle)\b.*\sauf$", folded) else line


def _is_bare(line: str) -> bool:
    """Return whether a few words name several things: `agenda items`."""
    words = line.split()
    content = [word for word in words if word not in word_list("items", "function")]
    is_plural = any(len(word) > 3 and word.endswith(("s", "x", "en")) for word in content)
    return len(content) <= _FEW and (is_plural or len(content) > 1)


def _is_asked(folded: str) -> bool:
    """Return whether a question for values begins as one: `Paris dates` alone is a search."""
    lead = table()["frame"]["lead"]
    return re.match(rf"{lead}\b|all\b|every\b|tod[ao]s\b|alle\b|tou(?:te)?s\b", folded) is not None


def is_listing(question: str) -> bool:
    """Return whether a question asks for a list of any kind."""
    return any(not asked.is_bare for asked in list_questions(question))


def mention_of(words: str) -> ListQuestion:
    """Return the list of all mentions of given words; in quotation marks they have no other form."""
    return _mention(words.strip())


def _mention(topic: str) -> ListQuestion:
    quoted = _QUOTED.fullmatch(topic)
    if quoted is not None:
        return ListQuestion("mentions", quoted[1], ((quoted[1], ""),), is_quoted=True)
    bare = topic.strip(_EDGES)
    places = [(bare, "")]
    for found in _WITHIN.finditer(lowered_alike(bare)):
        before, place = bare[: found.start()].strip(_EDGES), bare[found.end() :].strip(_EDGES)
        if before and place:
            inner = _QUOTED.fullmatch(before)
            places.insert(0, (inner[1] if inner else before, _without_article(place)))
    return ListQuestion("mentions", bare, tuple(places))


def _topic(line: str, start: int, end: int) -> str:
    return _without_article(line[start:end].strip())


def _without_article(text: str) -> str:
    found = _forms().article.match(lowered_alike(text))
    rest = text[found.end() :].strip() if found is not None else text
    return rest or text


def without_genre(place: str) -> str:
    """Return the words for a place without those for a table or file: `the projects table` is `the projects`."""
    found = re.sub(table()["frame"]["genre"], " ", lowered_alike(place))
    return " ".join(found.split())


def is_everywhere(place: str) -> bool:
    """Return whether words for a place stand for all documents."""
    return re.fullmatch(table()["frame"]["everywhere"], lowered_alike(place.strip())) is not None
