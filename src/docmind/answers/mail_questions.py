"""Questions about mails that their headers answer: who wrote, to whom, when, how many.

The rules are data, `mail_questions.toml`, in the languages of questions. What a mail is to be about and the time are
taken from the question first; what is left must be one of the forms, from its first word to its last.
"""

from __future__ import annotations

import calendar
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from docmind.language import MONTHS_IN_PROSE, lowered_alike, pattern_of

MailQuestionKind = Literal["list", "count", "when", "who"]

LONGEST = 200  # characters of a question that is looked at
_TABLE = Path(__file__).with_name("mail_questions.toml")
_KINDS: tuple[MailQuestionKind, ...] = ("count", "when", "who", "list")
_EDGES = " \t\n?!.,;:¿¡\"'“”„«»‘’"
_MONTH = pattern_of(MONTHS_IN_PROSE)
_YEAR = r"(?:19|20)\d\d"
_DAY = re.compile(
    rf"\b(?:on|am|vom|le|el|em|no dia|dia|since|seit|after|nach|before|vor|until|bis|depuis|apres|avant|desde"
    rf"|despues del?|antes del?|depois de|ate)\s+(?:the )?"
    rf"(?:(?P<day>\d{{1,2}})(?:st|nd|rd|th|er|\.)?\s+(?:of |de )?(?P<month>{_MONTH})\.?"
    rf"(?:,?\s+(?:de |del )?(?P<year>{_YEAR}))?|(?P<iso>{_YEAR}-\d\d-\d\d))(?!\w)"
)
_SPAN = re.compile(
    rf"\b(?:in|im|en|em|during|since|seit|after|nach|before|vor|until|bis|depuis|apres|avant|desde|despues de|antes de"
    rf"|depois de|ate)\s+(?:(?:the |year |jahr |l'annee |el ano |o ano |month of |mes de )*)"
    rf"(?:(?P<month>{_MONTH})\.?(?:,?\s+(?:of |de |del )?(?P<year>{_YEAR}))?|(?P<only>{_YEAR}))(?!\w)"
)
_SINCE = re.compile(r"(?:since|seit|after|nach|depuis|apres|desde|despues|depois)\b")
_UNTIL = re.compile(r"(?:before|vor|until|bis|avant|antes|ate)\b")


_LAST_VERBS = frozenset(
    ("geschrieben", "geschickt", "gesendet", "gemailt", "geantwortet", "zuruckgeschrieben", "erwidert")
)


class Period(NamedTuple):
    """Days as 2024-03-31, the first and the last one, "" for no limit; or a month of any year, 0 for none."""

    first: str = ""
    last: str = ""
    month: int = 0
    words: str = ""

    def has(self, day: str) -> bool:
        """Return whether a day lies in the period; the empty day lies in none that has a limit."""
        if self.month:
            return day[5:7] == f"{self.month:02d}"
        return (not self.first or day >= self.first) and (not self.last or "" < day <= self.last)


class MailQuestion(NamedTuple):
    """What a question asks of mails; empty texts stand for anybody and anything.

    `is_answer` tells that only answers to other mails are meant, `is_mail` that the question has a word for mails.
    """

    kind: MailQuestionKind
    who: str = ""
    to: str = ""
    about: str = ""
    period: Period = Period()
    is_answer: bool = False
    is_mail: bool = False


class _Forms(NamedTuple):
    forms: tuple[tuple[MailQuestionKind, tuple[re.Pattern[str], ...]], ...]
    about: re.Pattern[str]
    answers: re.Pattern[str]
    mail: re.Pattern[str]
    title: re.Pattern[str]
    nobody: re.Pattern[str]
    article: re.Pattern[str]


@cache
def _forms() -> _Forms:
    data: dict[str, Any] = tomllib.loads(_TABLE.read_text("utf-8"))
    names = {**data["names"], "article": data["article"]}

    def made(form: str) -> re.Pattern[str]:
        for name, words in names.items():
            form = form.replace(f"<{name}>", words)
        form = re.sub(r"<(who|to|to2)>", r"(?P<\1>[^,;?!]{1,60}?)", form)
        return re.compile(form)

    return _Forms(
        tuple((kind, tuple(made(one) for one in data[kind]["asked"])) for kind in _KINDS),
        re.compile(rf"\b(?:{names['about']})\s+(?=\S)"),
        re.compile(data["when"]["answers"]),
        re.compile(rf"\b(?:{names['mail']})\b"),
        re.compile(rf"{data['title']}\s+"),
        re.compile(rf"{data['nobody']}\b"),
        re.compile(rf"{data['article']}(?:\s+|(?<='))"),
    )


def mail_questions(question: str) -> Iterator[MailQuestion]:
    """Yield the ways to read a question as one about mails, those with more of it understood first; at most four."""
    line = " ".join(question.split()).strip(_EDGES)
    if not line or len(line) > LONGEST:
        return
    forms, folded = _forms(), lowered_alike(line)
    found = 0
    for start, end, period in _periods(folded):
        left = f"{line[:start].rstrip()} {line[end:].lstrip()}".strip(_EDGES)
        for core, about in _abouts(left):
            for one in _read(core, about, period._replace(words=line[start:end]), forms):
                yield one
                found += 1
                if found >= 4:
                    return


def _periods(folded: str) -> Iterator[tuple[int, int, Period]]:
    """Yield the time that a question names with its place in it, then none."""
    for form in (_DAY, _SPAN):
        if (said := form.search(folded)) is not None and (period := _period(said)) is not None:
            yield said.start(), said.end(), period
            break
    yield len(folded), len(folded), Period()


def _period(said: re.Match[str]) -> Period | None:
    parts, words = said.groupdict(), said.group()
    if parts.get("iso"):
        first = last = parts["iso"]
    elif parts.get("only"):
        first, last = f"{parts['only']}-01-01", f"{parts['only']}-12-31"
    else:
        month, year = MONTHS_IN_PROSE[parts["month"]], parts["year"]
        if not year:
            return None if parts.get("day") else Period(month=month, words=words)
        begin = int(parts.get("day") or 1)
        end = int(parts.get("day") or calendar.monthrange(int(year), month)[1])
        first, last = f"{year}-{month:02d}-{begin:02d}", f"{year}-{month:02d}-{end:02d}"
    if _SINCE.match(words):
        return Period(first, "", words=words)
    return Period("", first, words=words) if _UNTIL.match(words) else Period(first, last, words=words)


def _abouts(line: str) -> Iterator[tuple[str, str]]:
    """Yield what is left of a question without what mails are about, and that, which ends before a last verb."""
    forms, folded = _forms(), lowered_alike(line)
    if (said := forms.about.search(folded)) is not None:
        about = line[said.end() :].strip(_EDGES)
        *topic, last = about.split()
        if topic and lowered_alike(last) in _LAST_VERBS:  # `Wer hat wegen der Heizung geschrieben?`
            yield f"{line[: said.start()].strip()} {last}", _bare(" ".join(topic))
        yield line[: said.start()].strip(_EDGES), _bare(about)
    yield line, ""


def _bare(words: str) -> str:
    """Return words without an article before them."""
    found = _forms().article.match(lowered_alike(words))
    return words[found.end() :] if found is not None and found.end() < len(words) else words


def _read(line: str, about: str, period: Period, forms: _Forms) -> Iterator[MailQuestion]:
    folded = lowered_alike(line)
    for kind, shapes in forms.forms:
        for shape in shapes:
            said = shape.fullmatch(folded)
            if said is None:
                continue
            people = {
                name: _person(line[slice(*said.span(name))], forms) if said.groupdict().get(name) else ""
                for name in ("who", "to", "to2")
                if name in shape.groupindex
            }
            if None in people.values() or (kind == "who" and not about):
                continue
            yield MailQuestion(
                kind,
                people.get("who") or "",
                people.get("to") or people.get("to2") or "",
                about,
                period,
                is_answer=kind == "when" and forms.answers.search(folded) is not None,
                is_mail=forms.mail.search(folded) is not None,
            )
            break


def _person(words: str, forms: _Forms) -> str | None:
    """Return the name of a person without a title; None for a word that names nobody."""
    name = words.strip(_EDGES)
    found = forms.title.match(lowered_alike(name))
    name = name[found.end() :] if found is not None and found.end() < len(name) else name
    return None if not name or forms.nobody.fullmatch(lowered_alike(name)) else name
