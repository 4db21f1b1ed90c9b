"""What a claim says beyond the span that it is compared with: a restriction, a certainty, a cause, a time, a thing.

Numbers, names and negations are compared in `docmind.answers.support`. Here the other words are: a claim may leave out
what a span says, and may say it in other words, but it may not add to it, nor give an action to somebody else. The
rules compare texts of one language; forms of a word are the same by their first letters.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from docmind.answers.align import Claim, Leaf, Span, Unit, neighbours
from docmind.answers.names import replacements
from docmind.answers.negation import tokens
from docmind.answers.sentences import is_row
from docmind.language import NUMBERS_IN_PROSE, ORDINAL_WEEKDAYS, ORDINALS_IN_PROSE, STOP_WORDS, UNIT_WORDS, WEEKDAYS


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_ONLY = _set("only solely exclusively merely apenas somente unicamente exclusivamente solo solamente")
_ONLY_ALSO = {"pt": _set("so"), "en": _set("just")}
_ALL = _set(
    """all everyone everybody everything entire entirely whole todos todas todo toda tudo inteiro inteira entero
    entera"""
)
_ALWAYS = _set("always whenever sempre siempre constantly permanently")
_EACH = _ALL | _set("each every any anyone both no none never cada qualquer quaisquer cualquier ambos ambas nunca")
_NOT_ALL = _set("at in above after of") | _set("de em ante sobre del")  # `at all`, `above all`, `de todo`
_PART = _set(
    """most mostly majority some few several half many partly partially maioria maior alguns algumas poucos poucas
    metade muitos muitas parte mayoria mayor algunos algunas pocos pocas mitad muchos muchas"""
)
_MAY_VERBS = _set(
    "may might can could pode podem podera poderao poderia poderiam puede pueden podra podran podria podrian"
)
_MAY = _MAY_VERBS | _set(
    """possibly possible perhaps maybe likely probably able allowed allows allow permitted permits
    permit optional potentially entitled up
    possa possam possivel possivelmente talvez permite permitem permitido
    permitida permitidos permitidas provavel provavelmente opcional capaz ate permitese
    pueda puedan posible posiblemente quiza quizas permite permiten permitidos
    permitidas probable probablemente hasta facultativo vez"""
)
_CAUSE = _set("because due owing thanks therefore porque devido gracas debido gracias causa motivo culpa")
_BEFORE, _AFTER = _set("before antes"), _set("after afterwards depois apos despues")
_FIRST = _BEFORE | _set(
    "first prior previously earlier until primero primera primeiro primeira previo previamente hasta ate"
)
_THEN = _AFTER | _set("then once following later since when from tras quando cuando desde partir luego entonces entao")
_BEGINS, _ENDS = _set("since from desde starting partir"), _set("until till ate hasta")
_WEEKDAYS = WEEKDAYS.keys() - ORDINAL_WEEKDAYS
_CLOSED = (
    _set("spring primavera"), _set("summer verao verano"), _set("autumn fall outono otono"),
    _set("winter inverno invierno"),
    *(frozenset(word for word in _WEEKDAYS if WEEKDAYS[word] == day) for day in range(1, 8)),
    _set("morning mornings manha manhas"), _set("night nights nightly noite noites noche noches"),
)  # fmt: skip
_LIGHT = _set(
    """be been being have having had get gets got getting make makes made do done doing take takes taken taking give
    gives given go goes going come comes put set keep use used using say says said state states stated mean means
    include includes including consist consists amount amounts total number value cost costs costing period time times
    date duration length person people thing things per each every all any also about between within until till up out
    off over under before after during since you your we our they them she he her his their itself themselves one ones
    must shall should need needs needed required require requires can could may might would able allowed possible
    according document documents passage passages text page pages answer question information report section mentioned
    however therefore thus both either other another these those same own while if unless because due without no not
    just only very more most less least than so there here who whose down back again only further additional certain
    specific respective various following based regarding concerning related following exactly equal equals currently
    way case cases fact order part kind type rate charged price priced paid pay pays called known named located
    ser sao esta estao estar foi foram era eram sera serao ter tem tinha tera haver ha fazer faz feito feita dar dado
    ficar fica ficam deixar deixe pode podem podera deve devem devera preciso precisa precisam precisos precisas
    necessario necessaria e preciso dizer diz consiste incluir inclui quantia total numero valor custo custa custam
    periodo tempo data duracao pessoa pessoas coisa por cada todo toda todos todas tambem sobre entre dentro ate fora
    durante desde antes depois apos voce voces nos eles elas seu sua seus suas dele dela deles delas este esta esse essa
    isso isto aquele mesmo proprio outro outra outros outras documento texto pagina resposta pergunta informacao
    relatorio secao segundo conforme acordo portanto porem mas caso quando enquanto porque devido sem nem muito mais
    menos que qual cujo cuja parte tipo forma maneira preco pago paga chamado chamada atualmente igual vez vezes
    estar esta estan son fue fueron era eran sera seran tener tiene tienen habia haber hay hacer hace hecho hecha dar
    dado quedar queda dejar deje puede pueden podra debe deben debera necesario necesaria necesita decir dice cantidad
    cuesta cuestan coste costo periodo tiempo fecha duracion persona personas cosa tambien hasta fuera antes despues
    usted ustedes ellos ellas nosotros sus suyo este ese esa eso esto aquel mismo propio otro otra otros otras pagina
    respuesta pregunta informacion informe seccion segun conforme acuerdo embargo pero cuando mientras porque debido sin
    muy mas menos cual cuyo cuya parte tipo forma manera precio pagado pagada llamado llamada actualmente vez veces
    ello ella donde onde where how why what which whom among along across through around above below upon into onto
    monthly weekly daily yearly annual annually mensal mensais mensalmente semanal semanais diario diaria anual anuais
    mensual mensuales mensualmente semanales diarios anuales"""
)
_SAME = 4  # first letters that forms of a word share
_LONGER = 2  # letters by which a form of a short word may be longer, such as a plural's
_FRAME = 3  # content words around a replaced one that are the same
_OFTEN = 3  # units of a page that have a word of its subject
_BEHIND = 3  # words behind `may` or `most` among which its verb or noun is
_MOST = 120  # words that are compared
_STOP = "."
_BY = _set("by por pelo pela pelos pelas")
_SAME_LANGUAGE = 0.5  # coverage from which two texts are of one language, whatever their function words tell
_ARTICLES = _set("the o os as el la los las do da dos das ao aos del al each every cada no na and e y")
_VOICE = _set("is are was were be been se es son fue fueron sido foi foram sao sera serao seran lo")
_FRONTED = _set(
    "on in at from since for to by within during with em no na nos nas de desde a ao com en los las por para"
)
_PLAIN = frozenset({"lo"}).union(_BEFORE, _AFTER, *_CLOSED)
_REPLACED = 2  # words that one word of a sentence may stand for
_BETWEEN = _set("be also only se ser te me nos le les lo la los las only then even tambem tambien")
_NO = _set("not nao no")
_DANGLING = STOP_WORDS - _set(
    "do does did such there these they this which who whom nao no se mais mas son sao"
) | _set(
    """about within between until from up than per each every any your our hasta entre sobre desde ate cada seu sua seus
    suas su sus"""
)
_ENDED = re.compile(r"[.!?…:;|][\"'”’»)\]*_`]{0,6}$")


def says_more(claim: Claim, span: Span) -> bool:
    """Return whether a claim says something that its span does not, or breaks off before it says it.

    Rows of tables, and spans in another language than the claim, are not judged: the result is False.
    """
    if not _is_comparable(claim, span):
        return False
    said, stands = claim.tokens[:_MOST], tokens(span.text)[: 4 * _MOST]
    if _is_wider(said, stands, claim.language or span.leaf.record.language) or _is_surer(said, stands):
        return True
    return _is_otherwise_linked(said, stands) or _is_cut_off(claim, said, stands) or _adds(claim, span)


def is_exchanged(claim: Claim, span: Span) -> bool:
    """Return whether a claim gives what a sentence of the page says to another of the page, or turns it around.

    "The landlord clears the snow" is not told by "The tenant clears the snow" on a page that has both.
    """
    if not _is_comparable(claim, span):
        return False
    return any(_is_of_another(claim, span.leaf, unit) for unit in span.leaf.units[span.first : span.last + 1])


def _is_of_another(claim: Claim, leaf: Leaf, unit: Unit) -> bool:
    """Return whether one sentence of a page says of somebody or something else what a claim says."""
    said, stands = claim.tokens[:_MOST], tokens(unit.text)[: 4 * _MOST]
    a, b = ([word for word in words if _tells(word) or word in _LIGHT] for words in (said, stands))
    if len(a) < _FRAME:
        return False
    keys, others = [_key(word) for word in a], [_key(word) for word in b]
    for (i1, i2, j1, j2), before, after in replacements(keys, others, _REPLACED):
        if before + after < _FRAME - 1 or (i1 and not before) or (i2 < len(a) and not after):
            continue
        new, old = [word for word in a[i1:i2] if _tells(word)], [word for word in b[j1:j2] if _tells(word)]
        if not (_is_named(new, said) and _is_named(old, stands)):
            continue
        if not new or not old or any(_is_met(word, a) for word in old if i1) or any(_is_met(word, old) for word in new):
            continue
        told = [one for one in leaf.units if all(_is_met(word, one.content) for word in new)]
        if told and not (unit in told and _VOICE.isdisjoint(said) != _VOICE.isdisjoint(stands)):
            return True  # in another voice the object of one is the subject of the other
    return _is_turned(said, stands)


def _is_named(words: Sequence[str], text: Sequence[str]) -> bool:
    """Return whether a text names somebody or something by these words: they begin it, or follow an article."""
    at = text.index(words[0]) if words else -1
    return at == 0 or (at > 0 and text[at - 1] in _ARTICLES)


def _is_comparable(claim: Claim, span: Span) -> bool:
    language = span.leaf.record.language
    if claim.language and language and claim.language != language and span.coverage < _SAME_LANGUAGE:
        return False
    return not any(is_row(unit.text) for unit in span.leaf.units[span.first : span.last + 1])


def _is_wider(said: Sequence[str], stands: Sequence[str], language: str) -> bool:
    """Return whether a claim says `only`, `all` or `most` where its span does not, or leaves out that it is a part."""
    only = _ONLY | _ONLY_ALSO.get(language, frozenset())
    held = set(stands)
    restricted = [at for at, word in enumerate(said) if word in only and not (at and said[at - 1] in _NO)]
    if restricted and not held & only:
        return True
    if held.isdisjoint(_ALWAYS) and not _ALWAYS.isdisjoint(said):
        return True
    every = [word for at, word in enumerate(said) if word in _ALL and not (at and said[at - 1] in _NOT_ALL)]
    if every and not held & _EACH:
        return True
    return bool(every and held & _PART and not held & _ALL)


def _is_surer(said: Sequence[str], stands: Sequence[str]) -> bool:
    """Return whether a claim states as a fact what its span says may be."""
    if not _MAY.isdisjoint(said):
        return False
    for at, word in enumerate(stands):
        if word in _MAY_VERBS:
            behind = [one for one in stands[at + 1 : at + 1 + _BEHIND] if one not in _BETWEEN]
            if behind and behind[0] not in _NO and _is_met(behind[0], said):
                return True
    return False


def _is_cut_off(claim: Claim, said: Sequence[str], stands: Sequence[str]) -> bool:
    """Return whether a claim has no end: it stops at a function word, or right before a number or unit of its span."""
    if not said or _ENDED.search(claim.text):
        return False
    if said[-1] in _DANGLING:
        return True
    goes_on = {stands[at + 1] for at in range(1, len(stands) - 1) if list(said[-2:]) == list(stands[at - 1 : at + 1])}
    wanted = UNIT_WORDS if _is_number(said[-1]) else ()
    return any(_is_number(word) or word in wanted for word in goes_on)


def _is_number(word: str) -> bool:
    return word[0].isdigit() or word in NUMBERS_IN_PROSE


def _is_otherwise_linked(said: Sequence[str], stands: Sequence[str]) -> bool:
    """Return whether a claim names a cause, a season, a day or an order in time that its span does not."""
    held = set(stands)
    if set(said) & _CAUSE and not held & _CAUSE:
        return True
    if any(set(said) & one and not held & one for one in _CLOSED):
        return True
    if (set(said) & _BEFORE and not held & _FIRST) or (set(said) & _AFTER and not held & _THEN):
        return True
    return bool(set(said) & _ENDS and held & _BEGINS and not held & _ENDS)


def _adds(claim: Claim, span: Span) -> bool:
    """Return whether a claim has words that stand for nothing in its span and that the page does not use nearby.

    A new word stands for one that the claim leaves out beside the same words; in a claim with another order of words,
    for any of the span.
    """
    leaf = span.leaf
    a = [word for word in claim.tokens[:_MOST] if _tells(word) or word in _LIGHT]
    b = list(_words_of(span))
    near = {*b, *_around(span), *leaf.label_names}
    new = [_tells(word) and not _is_met(word, near) and not _is_subject(word, leaf) for word in a]
    if not any(new):
        return False
    own, held = (Counter(map(_key, words)) for words in (a, b))
    free = [word != _STOP and (not _is_met(word, a) or held[_key(word)] > own[_key(word)] > 0) for word in b]
    places = [next((at for at, other in enumerate(b) if _is_met(word, [other])), None) for word in a]
    row = [at for at in places if at is not None]
    if row != sorted(row):
        return sum(new) > sum(free)
    for start, end in _runs([is_new or place is None for is_new, place in zip(new, places, strict=True)]):
        count = sum(new[start:end])
        left, right = places[start - 1] if start else -1, places[end] if end < len(a) else len(b)
        assert left is not None
        assert right is not None
        beside = _free_beside(free, left) | _free_beside(free, right)
        if count > len(beside):
            return True
    return False


def _words_of(span: Span) -> Iterator[str]:
    """Yield the words of a span, with a mark at the end of each sentence."""
    for unit in span.leaf.units[span.first : span.last + 1]:
        yield from (word for word in tokens(unit.text)[:_MOST] if _tells(word) or word in _LIGHT)
        yield _STOP


def _runs(marked: Sequence[bool]) -> Iterator[tuple[int, int]]:
    """Yield the start and the end of each run of what is marked."""
    start = -1
    for at, is_one in enumerate([*marked, False]):
        if is_one and start < 0:
            start = at
        elif not is_one and start >= 0:
            yield start, at
            start = -1


def _free_beside(free: Sequence[bool], place: int) -> set[int]:
    """Return the places of the words right before and behind a place that a claim leaves out."""
    found: set[int] = set()
    for step in (-1, 1):
        at = place + step
        while 0 <= at < len(free) and free[at]:
            found.add(at)
            at += step
    return found


def _around(span: Span) -> Iterator[str]:
    """Yield the words of the units beside a span, and of the page's first two."""
    units = span.leaf.units
    for unit in [*neighbours(span), *units[:2]]:
        yield from unit.content


def _is_subject(word: str, leaf: Leaf) -> bool:
    """Return whether a page uses a word so often that it is what the page is about."""
    return sum(_is_met(word, unit.content) for unit in leaf.units) >= _OFTEN


def _is_turned(said: Sequence[str], core: Sequence[str]) -> bool:
    """Return whether a claim turns a sentence around in the same voice: A pays B, B pays A."""
    if said[0] in _FRONTED or not _PLAIN.isdisjoint(said) or _BY.isdisjoint(said) != _BY.isdisjoint(core):
        return False
    if _VOICE.isdisjoint(said) != _VOICE.isdisjoint(core):
        return False
    a, b = ([_key(word) for word in words if _tells(word)] for words in (said, core))
    if len(a) < _FRAME or len(a) != len(set(a)) or any(b.count(word) != 1 for word in a):
        return False
    row = [b.index(word) for word in a]
    if max(row) - min(row) >= len(row) + _REPLACED:
        return False
    steps = [y - x for x, y in pairwise(row)]
    return sum(step != 1 for step in steps) >= _FRAME - 1 and all(step == 1 or step < 0 for step in steps)


def _tells(word: str) -> bool:
    """Return whether a word has a meaning of its own: no function word, number, unit or word that fits anywhere."""
    return (
        len(word) > 2
        and "'" not in word
        and not word[0].isdigit()
        and word not in STOP_WORDS
        and word not in _LIGHT
        and word not in _MAY
        and word not in UNIT_WORDS
        and word not in NUMBERS_IN_PROSE
        and word not in ORDINALS_IN_PROSE
    )


def _key(word: str) -> str:
    return word[:_SAME] if len(word) > _SAME else word


def _is_met(word: str, others: Sequence[str] | set[str]) -> bool:
    """Return whether a word or another form of it is among others."""
    return word in others or any(
        word[:_SAME] == one[:_SAME] if min(len(word), len(one)) >= _SAME else _is_form(word, one) for one in others
    )


def _is_form(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    return len(short) > 2 and long.startswith(short) and len(long) - len(short) <= _LONGER
