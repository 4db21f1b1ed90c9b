"""What a question asks for, recognised by rules in English, Portuguese, Spanish and Italian.

Most questions ask for passages. The rules are narrow on purpose: a question that is taken for something else is not
searched as usual. Nothing is recognised in a message longer than `LONGEST`, which bounds the time of every rule.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from docmind.language import Language, fold
from docmind.wording import say

IntentKind = Literal[
    "passages", "remember", "greeting", "documents", "summary", "sum", "table", "list", "changes", "mails"
]

LONGEST = 300  # characters

_DIRECT = frozenset({"remember", "greeting", "documents", "summary", "table", "list", "changes", "mails"})


@dataclass(frozen=True, slots=True)
class Intent:
    """What a question asks for.

    `topic` is what a list of documents is to be about, empty for all, or what is to be summarized; `doc_ids` are the
    documents that were found to be meant by that; `facts` are what it asks to remember; `language` is that of the rule
    that recognised it; `version` the number of the one whose changes are asked for, 0 for the newest. "table",
    "list" and "mails" are not recognised by a rule here: a query over tables answers the question, a complete list, or
    the headers of mails.
    """

    kind: IntentKind = "passages"
    language: Language = "en"
    topic: str = ""
    facts: tuple[str, ...] = ()
    doc_ids: tuple[str, ...] = ()
    version: int = 0

    @property
    def is_direct(self) -> bool:
        """Whether it is answered without passages that are ranked for the question."""
        return self.kind in _DIRECT

    @property
    def needs(self) -> str:
        """What is needed beside quotes for what is asked, as a sentence; empty where nothing is."""
        return say(self.language, "Adding up needs a language model.") if self.kind == "sum" else ""

    @property
    def lead(self) -> str:
        """The words before passages that were found instead of what is asked; empty where nothing is needed."""
        found = say(self.language, "These passages were found; no sum was made of them.")
        return f"{self.needs} {found}" if self.kind == "sum" else ""


PASSAGES = Intent()

# Folded and without punctuation; a message is a greeting where it is made of these phrases and nothing else.
_GREETINGS: dict[Language, str] = {
    "en": r"hi|hello|hey|hiya|howdy|greetings|good (?:morning|afternoon|evening|day)|how are you(?: doing)?(?: today)?|"
    r"nice to meet you|thanks(?: a lot| so much| very much)?|thank you(?: so much| very much)?|many thanks|thx|"
    r"bye|goodbye|see you(?: later)?|have a (?:nice|good|great) (?:day|evening|weekend)",
    "pt": r"oi|ola|bom dia|boa (?:tarde|noite)|tudo bem(?: contigo| com voce)?|como (?:estas|vai|esta)|"
    r"(?:muito )?obrigad[oa](?: por tudo| pela ajuda)?|valeu|adeus|tchau|ate (?:logo|amanha|breve)|prazer",
    "es": r"hola|buenos dias|buenas(?: tardes| noches)?|buen dia|que tal|como (?:estas|esta usted)|"
    r"(?:muchas |mil )?gracias(?: por todo| por la ayuda)?|adios|hasta (?:luego|manana|pronto)|encantad[oa]",
    "it": r"ciao|salve|buon ?giorno|buona ?sera|buona (?:notte|giornata|serata)|buon pomeriggio|come (?:sta|stai|va)|"
    r"(?:molte |mille )?grazie(?: mille| tante| di tutto| per l aiuto)?|arrivederci|a (?:presto|domani|dopo)|piacere",
}
_BESIDE = (
    r"there|everyone|docmind|again|all|so|ok|okay|great|perfect|very good|a todos|outra vez|otra vez|perfeito|perfecto|"
    r"a tutti"
)
_GREETING: dict[Language, re.Pattern[str]] = {
    language: re.compile(rf"(?:(?:{_BESIDE}) )*(?:{phrases})(?: (?:{phrases}|{_BESIDE}))*")
    for language, phrases in _GREETINGS.items()
}

_POLITE = (
    r"[¿¡\s]*(?:(?:please|hi|hello|hey|ol[áa]|oi|hola|por favor|ciao|buongiorno|salve|per favore|ok|okay|so)\b"
    r"[\s,:;!.–-]*){0,3}[¿¡]?(?:(?:can|could|would|will) you (?:please )?|"
    r"(?:podes?|pode|poderia|puedes?|puede|podr[ií]as?|pu[òo]i?|potrebbe|potresti) )?"
)
_TOPIC = r"(?P<topic>[^?!]{1,160}?)"
_END = r"[\s?!.]*"

_DOCS = r"(?:documents?|docs|files?|papers|pdfs?)"
_ABOUT = (
    r"(?:about|regarding|concerning|related to|relating to|mentioning|dealing with|"
    r"that (?:are about|mention|cover|talk about|deal with))"
)
_DOCS_PT = r"(?:documentos?|ficheiros?|arquivos?|pdfs?)"
_ABOUT_PT = (
    r"(?:sobre|acerca d[aeo]s?|a respeito d[aeo]s?|relativos? (?:[àa]s?|aos?)|que mencionam?|"
    r"que (?:falam?|tratam?) (?:sobre|d[aeo]s?))"
)
_DOCS_ES = r"(?:documentos?|archivos?|ficheros?|pdfs?)"
_ABOUT_ES = (
    r"(?:sobre|acerca del?|respecto al?|relacionados? con|que mencionan?|que (?:hablan?|tratan?) (?:sobre|del?))"
)
_DOCS_IT = r"(?:document[oi]|file|pdf)"
_ABOUT_IT = (
    r"(?:su(?:i|gli|l|lle|lla|llo)?|sull['’]|circa|riguardo (?:a|al|alla|ai|alle)|"
    r"che (?:parlano|parla|trattano|tratta) d\w*|che menziona(?:no)?)"
)
_DOCUMENTS: dict[Language, tuple[str, ...]] = {
    "en": (
        rf"(?:which|what|how many) (?:of my )?{_DOCS} (?:do (?:I|we) have|have (?:I|we)(?: got)?|are there|exist)"
        rf"(?: here| in total)?(?: (?:{_ABOUT}|on) {_TOPIC})?",
        rf"(?:which|what) (?:of (?:my|the|our) )?{_DOCS}"
        rf" (?:(?:are|is) about|mentions?|contains?|talks? about|deals? with|discuss(?:es)?|covers?) {_TOPIC}",
        rf"(?:list|show)(?: me)?(?: all)?(?: of)?(?: my| the| our)? {_DOCS}(?: (?:I|we) have)?(?: {_ABOUT} {_TOPIC})?",
        rf"(?:do (?:I|we) have|is there|are there)(?: any| an?| some)? {_DOCS} {_ABOUT} {_TOPIC}",
        rf"(?:what|do) (?:do )?(?:I|we) have(?: anything| something)? {_ABOUT} {_TOPIC}",
    ),
    "pt": (
        rf"(?:que|quais|quantos) {_DOCS_PT} (?:é que )?(?:eu |nós )?(?:tenho|temos|h[áa]|existem)(?: aqui| ao todo)?"
        rf"(?: {_ABOUT_PT} {_TOPIC})?",
        rf"quais s[ãa]o os (?:meus|nossos) {_DOCS_PT}(?: {_ABOUT_PT} {_TOPIC})?",
        rf"quais s[ãa]o os {_DOCS_PT} {_ABOUT_PT} {_TOPIC}",
        rf"(?:que|quais)(?: dos meus)? {_DOCS_PT} (?:falam?|tratam?|mencionam?|cont[êeé]m)"
        rf"(?: sobre| d[aeo]s?)? {_TOPIC}",
        rf"(?:list[ae]r?|mostr[ae]r?)(?:-me)?(?: todos)?(?: os)?(?: meus)? {_DOCS_PT}(?: {_ABOUT_PT} {_TOPIC})?",
        rf"(?:eu )?(?:tenho|temos|h[áa]|existem?) (?:algum |alguns |um )?{_DOCS_PT} {_ABOUT_PT} {_TOPIC}",
        rf"(?:o )?que (?:é que )?(?:eu )?(?:tenho|temos) {_ABOUT_PT} {_TOPIC}",
    ),
    "es": (
        rf"(?:qu[ée]|cu[áa]les|cu[áa]ntos) {_DOCS_ES} (?:tengo|tenemos|hay|existen)(?: aqu[íi]| en total)?"
        rf"(?: {_ABOUT_ES} {_TOPIC})?",
        rf"cu[áa]les son (?:mis|nuestros) {_DOCS_ES}(?: {_ABOUT_ES} {_TOPIC})?",
        rf"cu[áa]les son los {_DOCS_ES} {_ABOUT_ES} {_TOPIC}",
        rf"(?:qu[ée]|cu[áa]les)(?: de mis)? {_DOCS_ES} (?:hablan?|tratan?|mencionan?|contienen?)"
        rf"(?: sobre| del?)? {_TOPIC}",
        rf"(?:list[ae]r?|mu[ée]str[ae](?:me)?|mostrar|ens[ée][ñn]a(?:me)?)(?: de)?(?: todos)?(?: los| mis)? {_DOCS_ES}"
        rf"(?: {_ABOUT_ES} {_TOPIC})?",
        rf"(?:tengo|tenemos|hay) (?:alg[úu]n |algunos |un )?{_DOCS_ES} {_ABOUT_ES} {_TOPIC}",
        rf"qu[ée] (?:tengo|tenemos) {_ABOUT_ES} {_TOPIC}",
    ),
    "it": (
        rf"(?:che|quali|quanti) {_DOCS_IT} (?:ho|abbiamo|ci sono|esistono)(?: qui| in tutto)?"
        rf"(?: {_ABOUT_IT} ?{_TOPIC})?",
        rf"quali sono i (?:miei |nostri )?{_DOCS_IT}(?: {_ABOUT_IT} ?{_TOPIC})?",
        rf"(?:che|quali)(?: dei miei)? {_DOCS_IT} (?:parla(?:no)?|tratta(?:no)?|menziona(?:no)?|contien[ei]|contengono)"
        rf"(?: d(?:i|el|ella|ei|egli|elle))? {_TOPIC}",
        rf"(?:elenca(?:re)?|elenchi|mostra(?:mi)?|mi mostri|mostri)(?: tutti)?(?: i)?(?: miei| nostri)? {_DOCS_IT}"
        rf"(?: {_ABOUT_IT} ?{_TOPIC})?",
        rf"(?:ho|abbiamo|c['’]è|ci sono) (?:qualche |un |dei |alcuni )?{_DOCS_IT} {_ABOUT_IT} ?{_TOPIC}",
    ),
}
_BRIEFLY = r"(?: for me| briefly| please| in (?:a few|\w{1,12}) (?:sentences|words|lines|points))?"
_SUMMARIES: dict[Language, tuple[str, ...]] = {
    "en": (
        rf"(?:summari[sz]e|sum up|recap)(?: {_TOPIC})?{_BRIEFLY}",
        rf"(?:give|write|make|show|tell)(?: me)? (?:an? |the )?(?:short |brief |quick )?(?:summary|overview|gist)"
        rf"(?: of {_TOPIC})?{_BRIEFLY}",
        rf"(?:(?:an? |the )?(?:short |brief )?(?:summary|overview)|tl;?dr) (?:of|for) {_TOPIC}",
        rf"what(?:['’]s| is| are) {_TOPIC} (?:all )?about",
        rf"what (?:does|do) {_TOPIC} (?:talk about|deal with)",
    ),
    "pt": (
        rf"(?:resum[aeo]|resumir|sumari[zs][ae]r?)(?:-me)?(?! (?:el|las?|los|del|esto|eso)\b)(?: {_TOPIC})?",
        rf"(?:faz|fa[çc]a|fazer|d[áa]|d[êe]|quero)(?:-me)?(?: me)? (?:um |o )?(?:breve )?resumo(?: {_TOPIC})?",
        rf"(?:(?:um|o) )?(?:breve )?resumo {_TOPIC}",
        rf"(?:d[eo] que|sobre (?:o )?que) (?:é que )?(?:se )?(?:trata|fala|é)(?: {_TOPIC})?",
        rf"qual é o (?:assunto|tema) {_TOPIC}",
    ),
    "es": (
        rf"(?:resum[ea]|res[úu]me(?:me|lo)|resumir|sintetiza)(?: {_TOPIC})?",
        rf"(?:haz|hazme|dame|escribe|quiero)(?: un| el)?(?: breve)? resumen(?: {_TOPIC})?",
        rf"(?:(?:un|el) )?(?:breve )?resumen {_TOPIC}",
        rf"(?:de|sobre) qu[ée] (?:se )?(?:trata|habla|va|es)(?: {_TOPIC})?",
        rf"cu[áa]l es el (?:tema|asunto) {_TOPIC}",
    ),
    "it": (
        rf"(?:riassum[aei]|riassumere|riassumimi|sintetizz[aei]|sintetizzare)(?:mi)?(?: {_TOPIC})?",
        rf"(?:fa['’i]?|faccia|fammi|mi faccia|dammi|mi dia|scrivi|scriva|vorrei|voglio)"
        rf"(?: un| il)?(?: breve)? (?:riassunto|sunto)(?: {_TOPIC})?",
        rf"(?:(?:un|il) )?(?:breve )?riassunto {_TOPIC}",
        rf"di (?:che )?cosa (?:parla|tratta|si tratta)(?: {_TOPIC})?",
        rf"qual [èe] (?:il tema|l['’]argomento|l['’]oggetto) {_TOPIC}",
    ),
}
_MONEY = (
    r"(?:amounts?|numbers?|prices?|costs?|expenses?|invoices?|bills?|receipts?|totals?|payments?|values?|rows?|columns?|"
    r"fees?|rents?|salaries|sales|hours)"
)
_SUMS: dict[Language, tuple[str, ...]] = {
    "en": (
        r"how much (?:money )?(?:did|do|have|had|will) (?:I|we) \w{2,20}"
        r"(?=.{0,200}\b(?:in total|altogether|all together|overall|in all)\b).{0,250}",
        rf"(?:what(?:['’]s| is| was) )?(?:the )?(?:sum|grand total|total sum|total|average) of"
        rf" (?:all|my|our|these|those)(?: my| our| the| these| those)? {_TOPIC}",
        rf"(?:what(?:['’]s| is| was) )?the sum of the {_MONEY}(?: {_TOPIC})?",
        rf"add up {_TOPIC}",
        rf"(?:sum|sum up|total|total up|count) (?:all|my|our|the|these|those)(?: my| our| the| these| those)?"
        rf" (?:\w{{1,20}} )?{_MONEY}(?: {_TOPIC})?",
        rf"how many (?:rows|entries|records) (?:are there|do (?:I|we) have|are in|does)(?: {_TOPIC})?",
    ),
    "pt": (
        r"quanto (?:é que )?(?:eu |n[óo]s )?(?:gastei|gast[áa]mos|paguei|pag[áa]mos|recebi|recebemos|ganhei|"
        r"ganh[áa]mos|devo|gasto|pago|poupei)\b(?=.{0,200}\b(?:no total|ao todo|em total|tudo junto)\b).{0,250}",
        rf"quanto (?:somam|somei|soma)(?: {_TOPIC})?",
        rf"(?:qual é )?(?:a )?soma d(?:e|as|os)(?: tod[ao]s)?(?: as| os)?(?: meus| minhas)? {_TOPIC}",
        rf"(?:som[ae]r?|adicion[ae]r?) (?:tod[ao]s|tudo|as|os|est[ae]s|ess[ae]s)(?: as| os)?(?: {_TOPIC})?",
        rf"(?:qual é )?(?:o )?total de tod[ao]s(?: as| os)?(?: meus| minhas)? {_TOPIC}",
    ),
    "es": (
        r"cu[áa]nto (?:gast[ée]|gastamos|pagu[ée]|pagamos|recib[íi]|recibimos|gan[ée]|ganamos|debo|gasto|pago|"
        r"ahorr[ée]|he (?:gastado|pagado|recibido|ganado))\b(?=.{0,200}\b(?:en total|todo junto|en conjunto)\b)"
        r".{0,250}",
        rf"cu[áa]nto (?:suman|sum[ée]|suma)(?: {_TOPIC})?",
        rf"(?:cu[áa]l es )?(?:la )?suma de (?:tod[ao]s|l[ao]s|mis)(?: l[ao]s| mis)? {_TOPIC}",
        rf"(?:suma|sume|sumar) (?:tod[ao]s?|l[ao]s|mis|est[ao]s|es[ao]s)(?: l[ao]s| mis)?(?: {_TOPIC})?",
        rf"(?:cu[áa]l es )?(?:el )?total de (?:tod[ao]s|mis)(?: l[ao]s| mis)? {_TOPIC}",
    ),
}
_NEW = (
    r"new(?:est)?|latest|last|current|nova|última|ultima|nueva|neue[nr]?|neueste[nr]?|letzte[nr]?|nouvelle|dernière|"
    r"nuova"
)
_VERSION = (
    rf"(?:the |a |la |l['’]|die |der )?(?:(?:{_NEW}) (?:vers(?:ion|ão|ión|ione)|fassung)"
    r"|(?:vers(?:ion|ão|ión|ione)|fassung) (?P<version>\d{1,3}))"
)
_NAMED = r"(?P<topic>[^\W\d][^?!]{1,160}?)"  # a document that has versions; else the question is one of passages
_OF_PT, _OF_ES = rf"(?: d[aeo]s? {_TOPIC})?", rf"(?: del? (?:la |los |las )?{_TOPIC})?"
_OF_DE, _OF_FR = rf"(?: (?:des|der|von|vom) {_TOPIC})?", rf"(?: (?:du|des|de la|de l['’]|de) ?{_TOPIC})?"
_OF_IT = rf"(?: (?:d(?:i|el|ella|ei|egli|elle|ello) |dell['’]){_TOPIC})?"
_BETWEEN = rf"(?:the |all )?(?:two |both )?versions(?: of {_TOPIC})?"
_CHANGES: dict[Language, tuple[str, ...]] = {
    "en": (
        rf"what(?:['’]s| is| has| are the)? (?:changed|changes|new|different|differences?) (?:between|in|of|among)"
        rf" {_BETWEEN}",
        rf"what(?:['’]s| is| has)? (?:changed|new|different) (?:in|with|since) {_VERSION}(?: of {_TOPIC})?",
        rf"what(?:['’]s| has)? changed in (?:the |my |our )?{_NAMED}",
        rf"how do(?:es)? {_BETWEEN} differ",
        rf"(?:compare|show (?:me )?the (?:changes|differences) (?:between|of)) {_BETWEEN}",
    ),
    "de": (
        rf"was hat sich zwischen den (?:beiden )?(?:versionen|fassungen){_OF_DE} geändert",
        rf"was (?:hat sich |ist )in {_VERSION}{_OF_DE} (?:geändert|anders|neu)",
        rf"was ist (?:neu|anders) in {_VERSION}{_OF_DE}",
        rf"was hat sich (?:im|in de[mr]|in) {_NAMED} geändert",
    ),
    "fr": (
        rf"qu['’]est-ce qui (?:a changé|change) entre les (?:deux )?versions{_OF_FR}",
        rf"qu['’]est-ce qui (?:a changé|est nouveau|change) dans {_VERSION}{_OF_FR}",
        rf"quoi de neuf dans {_VERSION}{_OF_FR}",
        rf"qu['’]est-ce qui a changé dans (?:les? |la |l['’])?{_NAMED}",
    ),
    "pt": (
        rf"(?:o )?que (?:é que )?(?:mudou|foi alterado) entre as (?:duas )?versões{_OF_PT}",
        rf"(?:o )?que (?:é que )?(?:mudou|foi alterado|há de novo|tem de novo) n?a? ?{_VERSION}{_OF_PT}",
        rf"(?:o )?que (?:é que )?(?:mudou|foi alterado) (?:n[ao]s?|em) {_NAMED}",
        rf"(?:compar[ae]r?|mostr[ae]r?) as (?:diferenças entre as )?(?:duas )?versões{_OF_PT}",
    ),
    "es": (
        rf"qué (?:ha )?(?:cambió|cambiado|cambia) entre las (?:dos )?versiones{_OF_ES}",
        rf"qué (?:ha )?(?:cambió|cambiado|hay de nuevo|cambia) en {_VERSION}{_OF_ES}",
        rf"qué (?:ha )?(?:cambió|cambiado) en (?:el |la |los |las )?{_NAMED}",
        rf"(?:compar[ae]r?|muestra) las (?:diferencias entre las )?(?:dos )?versiones{_OF_ES}",
    ),
    "it": (
        rf"(?:che )?cosa (?:è cambiato|cambia) (?:tra|fra) le (?:due )?versioni{_OF_IT}",
        rf"(?:che )?cosa (?:è cambiato|cambia|c['’]è di nuovo) (?:in |nella |nell['’]){_VERSION}{_OF_IT}",
        rf"(?:che )?cosa è cambiato (?:in |nel |nella |nello |nei |nelle |nell['’]){_NAMED}",
        rf"(?:confronta(?:re)?|confronti|mostra(?:mi)?|mostri) le (?:differenze (?:tra|fra) le )?(?:due )?versioni"
        rf"{_OF_IT}",
    ),
}
_OF = re.compile(r"(?:(?:of|d[aeo]s?|del|di|dell[aeo]|dei|degli)\s+|dell['’]|d(?=ess|est|isso|isto))", re.IGNORECASE)
_Rules = dict[Language, tuple[re.Pattern[str], ...]]


def _compiled(rules: dict[Language, tuple[str, ...]]) -> _Rules:
    return {
        language: tuple(re.compile(_POLITE + form + _END, re.IGNORECASE) for form in forms)
        for language, forms in rules.items()
    }


_RULES: dict[IntentKind, _Rules] = {
    "changes": _compiled(_CHANGES),
    "sum": _compiled(_SUMS),  # before summaries: "sum up the invoices"
    "documents": _compiled(_DOCUMENTS),
    "summary": _compiled(_SUMMARIES),
}
_STANDS_FOR = re.compile(r"(?:it|this|that|them|these|those|isso|isto|eles?|elas?|eso|esto|ellos|ellas)", re.IGNORECASE)
_ARTICLE = re.compile(r"(?:the|my|our|o|a|os|as|el|la|los|las|der|die|das|le|les|l['’]|il|lo|gli|i)\s+", re.IGNORECASE)
_MARKS = re.compile(r"[^\w\s]+|_")


def recognise(question: str, facts: tuple[str, ...] = ()) -> Intent:
    """Return what a question asks for; `facts` are those that it asks to remember, where it asks for nothing else.

    Where the languages share a word, the first that has a rule for it is taken.
    """
    if facts:
        return Intent("remember", facts=facts)
    if len(question) > LONGEST:
        return PASSAGES
    said = " ".join(_MARKS.sub(" ", fold(question.lower())).split())
    for language, greeting in _GREETING.items():
        if greeting.fullmatch(said):
            return Intent("greeting", language)
    line = " ".join(question.split())
    for kind, rules in _RULES.items():
        for language, forms in rules.items():
            for form in forms:
                if (found := form.fullmatch(line)) is not None:
                    said_of = found.groupdict()
                    if kind == "changes":
                        topic = _ARTICLE.sub("", said_of.get("topic") or "").strip(" ,;:.\"'“”«»")
                        return Intent(kind, language, topic, version=int(said_of.get("version") or 0))
                    return _with_topic(kind, language, said_of.get("topic") or "")
    return PASSAGES


def _with_topic(kind: IntentKind, language: Language, topic: str) -> Intent:
    """Return the intent, or passages where documents are to be about what was said before."""
    topic = topic.strip(" ,;:.\"'“”«»")
    if kind == "sum":
        return Intent(kind, language)
    if kind == "summary":
        return Intent(kind, language, _OF.sub("", topic, count=1) if _OF.match(topic) else topic)
    return PASSAGES if _STANDS_FOR.fullmatch(topic) else Intent(kind, language, topic)


_ONE = r"(?:document|file|pdf|paper|documento|ficheiro|arquivo|archivo|fichero)"
_THIS = re.compile(
    rf"(?:it|this|that|them|these|those|isto|isso|esto|eso|esse|este|"
    rf"(?:this|that|the|my|est[aeo]|ess[ae]|es[aeo]|o|(?:o )?meu|el|mi) {_ONE}|"
    rf"(?:these|those|est[aeo]s|ess[ae]s|es[aeo]s) {_ONE}s)?",
    re.IGNORECASE,
)
_ALL = re.compile(
    rf"(?:everything|tudo|todo|(?:all |todos )?(?:of )?(?:my |our |the |(?:os )?meus |os |mis |los )?{_ONE}s)",
    re.IGNORECASE,
)


def is_this(topic: str) -> bool:
    """Return whether a topic stands for the documents that are talked about."""
    return _THIS.fullmatch(topic) is not None


def is_all(topic: str) -> bool:
    """Return whether a topic stands for all documents."""
    return _ALL.fullmatch(topic) is not None
