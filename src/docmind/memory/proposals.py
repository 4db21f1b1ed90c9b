"""Facts in what a person typed that are worth remembering, found by rules in English, Portuguese and Spanish.

The rules are narrow on purpose: a question asks, and is not to be interrupted by offers to remember it. What they find
is only proposed; nothing is kept until the person accepts it.
"""

from __future__ import annotations

import re

MOST = 5
LONGEST = 400  # characters of one fact
_PASTED = 2_000  # characters; a longer message is a text that was pasted, in which only plain requests are heard

_SHORT_FORMS = ("[A-Z]", "Dr", "Sr", "Mr", "Ms", "St", "Av", "No", "vs", "Dra", "Sra", "Mrs", "Prof")
_END = re.compile(
    "(?<=[.!?…])" + "".join(rf"(?<!\b{form}\.)" for form in _SHORT_FORMS) + r"\s+|\s*\n\s*"
)  # of a sentence
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
_STANDING = re.compile(
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
_TERM = r"(?:[\"'“‘«][^\"'”’»]{1,60}[\"'”’»]|(?:\w[\w.-]*\s?){1,4}?)"
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


def proposals(message: str) -> tuple[str, ...]:
    """The facts in a message, in its own words and order, each once; at most five. Most messages have none."""
    found: dict[str, str] = {}
    for raw in _END.split(message):
        sentence = " ".join(raw.split())
        asked = _ASKED.match(sentence)
        if asked is not None:
            fact = asked["fact"]
        elif sentence.endswith("?") or sentence.startswith("¿") or len(message) > _PASTED:
            continue
        elif _STATED.match(sentence) or _STANDING.match(sentence):
            fact = re.sub(_BEFORE, "", sentence, flags=re.IGNORECASE)
        else:
            continue
        fact = fact.strip(" .!?;:,–-")
        if len(fact.split()) >= 2 and len(fact) <= LONGEST:
            found.setdefault(fact.casefold(), fact[0].upper() + fact[1:])
    return tuple(found.values())[:MOST]


def is_standing(fact: str) -> bool:
    """Whether it says how to answer, whatever is asked: a preference, an instruction, a name to be called by."""
    return _STANDING.match(fact) is not None
