"""Forms of words that endings do not tell: irregular verbs, and nouns that are made of verbs; as data, folded."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

_IRREGULAR = """
beat beaten; begin began begun; bend bent; bite bit bitten; blow blew blown; break broke broken; bring brought;
build built;
buy bought; catch caught; choose chose chosen; come came; cut cuts; deal dealt; dig dug; draw drew drawn; drink
drank drunk;
drive drove driven; eat ate eaten; fall fell fallen; feed fed; feel felt; fight fought; find found; fly flew flown
flight
flights; forget forgot forgotten; freeze froze frozen; get got gotten; give gave given; go went gone; grow grew grown;
hang hung; hide hid hidden; hold held; keep kept; know knew known; lay laid; lead led; leave left; lend lent; lose
lost loss
losses; make made; mean meant; meet met meeting; ride rode ridden; ring rang rung; rise rose risen;
run ran; say said; see saw seen; sell sold; send sent; shake shook; shine shone; shoot shot; show showed shown;
sing sang
sung; sink sank sunk; sit sat; sleep slept; speak spoke spoken; spend spent; spin spun; stand stood; steal stole stolen;
stick stuck; strike struck; swim swam swum; take took taken; teach taught; tear tore torn; tell told; think thought;
throw threw thrown; wake woke woken; wear wore worn; weigh weighed weight; win won wins; write wrote written;
fuel refuel refuels refuelled refueled; tanken getankt tankte; expire expires expired expiry expiration; choose
choice; arrive arrival; depart departure; deliver delivery;
fahren fuhr gefahren fahrt; fliegen flog geflogen flug fluge; schwimmen schwamm geschwommen; schreiben schrieb
geschrieben;
gewinnen gewann gewonnen; verlieren verlor verloren verluste; trinken trank getrunken; essen ass gegessen; sprechen
sprach;
ziehen zog gezogen; wachsen wuchs gewachsen; wiegen wog gewogen; leihen lieh geliehen; treffen traf getroffen;
nehmen nahm genommen; laufen lief gelaufen lauf; singen sang gesungen; beginnen begann begonnen; bringen brachte
gebracht;
perder perdio perdido perdidos perdidas perdidas; ganar ganado ganados ganadas; perder perdeu perdidos;
ganhar ganhou ganhos; empatar empatado empatados empates; faltar faltou falta faltas; gagner gagne gagnes; perdre
perdu perdus
"""
_FAMILIES: Mapping[str, frozenset[str]] = {
    word: frozenset(words) for words in (one.split() for one in _IRREGULAR.split(";")) for word in words
}
_LEAST = 4  # letters of what is left of a word
_ENDINGS = re.compile(
    r"(?<=[^\W\d_]{5})(?:ions?|ies|ied|y)$|(?<=[^\W\d_]{3})(?:ings?|eds?)$|(?<=[^\W\d_]{4})(?:ciones|cion|cao|coes|"
    r"at(?:ed|es|e|ing|ions?|or|ors)|ungen|ung|ments?|ists?|ers?|ors?|es|aron|aram|ar|ou|ados?|adas?|idos?|idas?|acoes|"
    r"acao|aciones|acion|en|e|s|o|a)$"
)


def forms_of(word: str) -> frozenset[str]:
    """Return the forms of a verb that changes within; none of another word."""
    return _FAMILIES.get(word, frozenset())


def is_irregular(one: str, other: str) -> bool:
    """Return whether two words are forms of one verb that changes within."""
    return other in _FAMILIES.get(one, ())


@lru_cache(maxsize=1 << 14)
def stem(word: str) -> str:
    """Return a word without the ending that makes it a verb, a participle, what is done, or who does it.

    `inspected` and `inspection` have the stem of `inspect`, `vaccinated` that of `vaccination`.
    """
    left = word[2:] if word.startswith("ge") and len(word) > 7 and word.endswith(("t", "en")) else word
    left = left[:-1] if left != word and left.endswith("t") else left
    left = _ENDINGS.sub("", left, count=1)
    if len(left) > _LEAST and left[-1] == left[-2] and left[-1] not in "aeiou":
        left = left[:-1]  # `shopping`
    return left[:-1] if len(left) > _LEAST and left[-1] == "e" else left


def is_derived(one: str, other: str) -> bool:
    """Return whether two words are made of one: `cooks` and `cooking`, `inspected` and `inspection`."""
    if min(len(one), len(other)) < _LEAST or one[0].isdigit() or other[0].isdigit():
        return False
    return stem(one) == stem(other)
