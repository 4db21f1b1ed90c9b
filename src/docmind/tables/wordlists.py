"""Words by which a question over a table is understood, folded, in five languages; as data.

Above 500 lines: words in five languages.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from docmind import language

Task = Literal[
    "count", "sum", "mean", "median", "share", "difference", "largest", "smallest", "first",
    "last", "lookup", "check"
]  # fmt: skip


def _set(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


YES = _set("yes y true sim si ja oui ☒ ☑ ✓ ✔ x wahr verdadeiro verdadero vrai")
NO = _set("no n false nao nein non ☐ ✗ ✘ falsch falso faux")
NOTHING = _set("- – — n/a na n.a. ./. … ...") | {""}

TOTALS = _set("total totals totais totales sum summe gesamt soma suma somme subtotal gesamtsumme zwischensumme")
"""The first words of a row that adds up the others."""
ALL = _set("all alle alles todos todas tudo todo tous toutes together zusammen whole overall balance")
"""Others, beside numbers that are the sums of those above."""
MEANS = _set("average mean durchschnitt mittelwert media promedio moyenne")

# German superlatives, by the task and their stem.
_GERMAN = {
    "largest": "grosst hochst langst altest warmst heissest schnellst schwerst teuerst meist weitest tiefst "
    "breitest starkst",
    "smallest": "kleinst niedrigst kurzest jungst kaltest langsamst leichtest billigst gunstigst wenigst",
    "first": "fruhest erst",
    "last": "spatest letzt neuest",
}


def _german(task: str) -> frozenset[str]:
    return frozenset(stem + end for stem in _GERMAN[task].split() for end in ("e", "en", "er", "es"))


# Phrases by task, the longest first where one begins another; `_` parts the words of a phrase.
TASKS: Mapping[Task, frozenset[str]] = {
    "count": _set(
        "how_many how_often the_number_of total_number_of count count_of quantos quantas cuantos cuantas "
        "wie_viele wie_oft "
        "wieviele combien_de combien_d how_many_times quantas_vezes cuantas_veces combien_de_fois "
        "el_numero_de o_numero_de cantidad_de quantidade_de anzahl"
    ),
    "mean": _set(
        "average mean on_average media medio promedio en_promedio em_media durchschnitt durchschnittlich "
        "durchschnittliche im_durchschnitt moyenne en_moyenne average_of the_mean"
    ),
    "sum": _set(
        "sum total totals altogether in_total in_all overall add_up sum_of total_of soma suma somme summe "
        "insgesamt "
        "together zusammen juntos juntas ensemble no_total en_total au_total ao_todo sumar somar somam suman "
        "combined gesamtsumme gesamt total_amount everything come_to comes_to amount_to amounts_to "
        "added_up added_together zusammengerechnet"
    ),
    "median": _set("median mediana mediane medianwert the_median"),
    "share": _set(
        "share_of what_share percentage what_percentage percent_of proportion fraction_of porcentaje "
        "que_porcentaje "
        "porcentagem percentagem que_percentagem que_parte part_de part_des quelle_part quel_pourcentage "
        "pourcentage "
        "anteil welcher_anteil prozentsatz wie_viel_prozent wieviel_prozent wie_viele_prozent what_percent"
    ),
    "difference": _set(
        "um_wie_viel um_wieviel um_wie_viele "
        "by_how_much by_how_many difference difference_between difference_in how_much_more how_many_more how_much_less "
        "how_many_fewer "
        "how_much_higher how_much_longer how_much_older how_much_cheaper how_much_heavier diferencia diferenca "
        "unterschied differenz ecart a_mais a_menos cuanto_mas cuantos_mas cuantas_mas cuanto_menos quanto_mais "
        "quantos_mais quantas_mais quanto_menos wie_viel_mehr wie_viele_mehr wieviel_mehr wie_viel_weniger "
        "combien_de_plus combien_de_moins"
    ),
    "largest": _set(
        "strongest busiest wettest rainiest sunniest steepest loudest thickest "
        "plus_gros plus_grosse plus_importante plus_important mas_importante top furthest farthest am_weitesten "
        "mas_lejos mais_longe plus_loin "
        "best beste bester bestes besten mejor melhor meilleur meilleure "
        "most_valuable best_mark best_grade best_score meilleure_note mejor_nota melhor_nota mas_valioso "
        "mais_valioso la_plus_grande la_plus_haute la_plus_chere la_plus_elevee plus_elevee les_plus_cheres "
        "les_plus_chers mas_caros mas_caras mais_caros mais_caras mas_altos mas_altas mais_altos mais_altas "
        "mas_viejo mas_vieja mais_velho mais_velha mas_antiguo mas_antigua mais_antigo mais_antiga plus_vieux "
        "plus_vieille plus_ancien plus_ancienne "
        "quickest mas_rapido mas_rapida mais_rapido mais_rapida plus_rapide "
        "largest highest biggest most greatest maximum tallest longest heaviest deepest fastest oldest warmest "
        "hottest most_expensive dearest priciest widest mayor maior maximo maxima mas_alto mais_alto mas_alta "
        "mais_alta "
        "mas_caro mais_caro mas_cara mais_cara mas_largo mais_longo mas_larga mais_longa mas_grande mas mais "
        "groesste "
        "grosste groesster groessten hoechste hochste hoechsten hochsten teuerste teuersten langste laengste "
        "meisten plus_grand plus_grande plus_haut plus_haute plus_cher plus_chere plus_eleve plus_long plus_longue "
        "le_plus mas_pesado mais_pesado"
    ) | _german("largest"),
    "smallest": _set(
        "weakest quietest driest thinnest nearest closest "
        "worst schlechteste schlechtester schlechtesten peor pior pire "
        "mas_joven mais_jovem mais_novo mais_nova plus_jeune "
        "mas_lento mais_lento plus_lent least_valuable plus_basses plus_bas moins_cheres moins_chers "
            "mas_baratos mas_baratas mais_baratos "
        "mais_baratas mais_baixos mais_baixas mas_bajos mas_bajas "
        "smallest lowest least fewest minimum min shortest cheapest lightest slowest coldest youngest shallowest "
        "narrowest least_expensive menor minimo minima mas_bajo mais_baixo mas_baja mais_baixa mas_barato "
        "mais_barato "
        "mas_barata mais_barata mas_corto mais_curto mas_pequeno menos kleinste kleinsten niedrigste niedrigsten "
        "billigste guenstigste gunstigste kuerzeste kurzeste wenigsten plus_petit plus_petite moins_cher "
        "moins_chere "
        "plus_bas plus_basse plus_court le_moins"
    ) | _german("smallest"),
    "first": _set(
        "first earliest primeiro primeira primero primera erste erster ersten erstes premier premiere "
        "fruheste soonest zuerst als_erster als_erste"
    ) | _german("first"),
    "last": _set(
        "last latest newest most_recent most_recently recently mais_recentemente zuletzt als_letzter "
        "als_letzte ultimo ultima "
        "mas_reciente mais_recente letzte letzter letzten letztes "
        "neueste neuesten dernier derniere plus_recent plus_recente"
    ) | _german("last"),
}  # fmt: skip

# What an adjective asks about: the headers that it may mean. Any other word of these tasks means no column.
MEASURES: Mapping[str, frozenset[str]] = {
    word: _set(headers)
    for words, headers in (
        ("tallest highest lowest mas_alto mais_alto mas_alta mais_alta hoechste hochste plus_haut plus_haute "
         "mas_bajo mais_baixo mas_baja mais_baixa niedrigste",
         "height elevation altitude altura alto hoehe hohe hauteur high"),
        ("longest shortest mas_largo mais_longo mas_larga mais_longa laengste langste plus_long plus_longue "
        "mas_corto "
         "mais_curto kuerzeste kurzeste plus_court",
         "nights noches noites nachte nuits length duration distance longitud duracion distancia comprimento "
         "duracao laenge lange dauer longueur duree "
         "km minutes min time hours days pages paginas seiten seitenzahl"),
        ("furthest farthest am_weitesten mas_lejos mais_longe plus_loin",
         "distance length km distancia entfernung weite distance longueur"),
        ("most_expensive cheapest dearest priciest least_expensive mas_caro mais_caro mas_cara mais_cara "
        "mas_barato "
         "mais_barato mas_barata mais_barata teuerste teuersten billigste guenstigste gunstigste plus_cher "
         "plus_chere "
         "moins_cher moins_chere",
         "bill charges ticket entry admission invoice rechnung factura fatura facture miete loyer renda alquiler "
         "aluguer "
         "price cost amount fee rent fare tarifa tarif charge precio coste costo importe preco custo valor "
         "preis kosten betrag prix cout "
         "montant "
         "total"),
        ("heaviest lightest mas_pesado mais_pesado", "weight mass peso gewicht poids kg"),
        ("biggest largest smallest groesste grosste groessten grossten grosster kleinste kleinsten kleinster "
            "plus_grand "
         "plus_grande plus_petit plus_petite mas_grande mas_pequeno",
         "area size superficie flache grosse surface m² m2 qm sqm wohnflache hectares ha acres capacity seats places"),
        ("deepest shallowest", "depth profundidad profundidade tiefe profondeur"),
        ("fastest slowest", "speed time velocidad velocidade geschwindigkeit vitesse zeit tempo"),
        ("how_large", "area size superficie flache grosse surface"),
        ("oldest youngest mas_viejo mas_vieja mais_velho mais_velha mas_joven mais_jovem mais_novo mais_nova "
        "plus_jeune "
         "plus_vieux altester altesten alteste jungste jungster jungsten mas_antiguo mais_antigo mais_antiga "
         "mas_antigua "
         "plus_ancien plus_ancienne", "vintage jahrgang cosecha millesime age born birth edad idade alter year "
         "built founded"),
        ("warmest hottest coldest warmste warmsten warmster kaltesten kalteste kaltester heisseste heissesten",
         "temperature temperatura temperatur temp celsius c"),
        ("most_valuable least_valuable mas_valioso mais_valioso", "value worth valor wert valeur price preis"),
        ("teuerster teuerstes billigster billigsten gunstigsten gunstigster",
         "preis kosten betrag price cost"),
        ("strongest weakest", "wind strength force power watt watts"),
        ("wettest driest rainiest", "rain rainfall precipitation mm niederschlag regen lluvia chuva pluie"),
        ("sunniest", "sun sunshine hours"), ("busiest quietest", "visitors guests customers passengers tickets "
            "bookings"),
        ("steepest", "slope gradient"), ("nearest closest", "distance km miles entfernung distancia"),
        ("thickest thinnest", "thickness mm dicke"), ("loudest", "db decibel volume noise"),
        ("widest narrowest", "width ancho largura breite largeur"),
    )
    for word in words.split()
}  # fmt: skip
EXACT_MEASURES = frozenset(MEASURES) - _set(
    "highest lowest longest shortest hoechste hochste niedrigste mas_alto mas_alta "
    "mais_alto mais_alta mas_bajo mas_baja "
    "mais_baixo mais_baixa plus_haut plus_haute plus_long plus_longue mas_largo "
    "mas_larga mais_longo mais_longa langste "
    "most_valuable least_valuable mas_valioso mais_valioso "
    "biggest largest smallest groesste grosste groessten grossten grosster kleinste kleinsten kleinster plus_grand "
    "plus_grande plus_petit plus_petite mas_grande mas_pequeno"
)
DIRECTIONS: Mapping[str, frozenset[str]] = {
    "largest": _set("max maximum maximo maxima high hoch hochst"),
    "smallest": _set("min minimum minimo minima low tief tiefst"),
}
"""Words of headers that tell which end of a measure a column has."""
"""Those that ask for nothing but such a header: `highest` may be said of any number."""

MONEY = _set(
    "ausgabe gasto despesa depense spesen ausgaben gastos despesas depenses pagou pagaram pagaron custaram costaron "
    "kosteten "
    "earns spend spent spending cost costs costing pay pays paid paying payed expensive expense "
    "expenses earn earned charge "
    "charged price prices money gastei gastamos gasto gastos gastar pago pagos paguei pagamos paga pagar "
    "custou custa "
    "custam custo gaste gastado gastaron pague pagado costo cuesta cuestan coste ausgegeben gekostet kostet kosten "
    "bezahlt gezahlt depense depenses depensee paye payee coute coutent cout worth invoiced billed dinheiro dinero"
)
"""Words of a question that mean a column of money."""
MONEY_HEADERS = _set(
    "amount price cost costs total value fee fees sum paid eur usd gbp chf euro euros dollars money spent expense "
    "expenses importe precio coste costo valor monto preco custo montante betrag preis kosten summe "
    "montant prix cout "
    "rent charge salary pay cuota quota dues renda aluguer alquiler miete gebuehr gebuhr loyer wage wages sueldo "
    "ordenado gehalt lohn budget revenue sales fare bill deposit donation"
)
CURRENCIES = _set("€ $ £ ¥ ₹ R$ US$ EUR USD GBP CHF BRL JPY SEK NOK DKK PLN")

HOW: Mapping[str, frozenset[str]] = {
    word: MEASURES[superlative]
    for words, superlative in (
        ("large big gross", "how_large"), ("tall high hoch", "tallest"), ("long lang far "
        "weit", "longest"), ("heavy schwer", "heaviest"),
        ("deep tief", "deepest"), ("fast slow schnell", "fastest"), ("old alt", "oldest"),
        ("warm hot cold", "warmest"), ("wide breit", "widest"), ("expensive cheap teuer", "most_expensive"),
    )
    for word in words.split()
}  # fmt: skip
"""Adjectives after `how`, and the headers that they may mean."""

ASKED_COLUMNS: Mapping[str, frozenset[str]] = {
    word: _set(headers)
    for words, headers in (
        ("who whose whom quem quien quienes wer qui",
         "name person who contact member owner employee author teacher student customer client nome nombre pessoa "
         "persona quem quien wer nom mitarbeiter kunde lender borrower tenant resident driver leader responsible "
         "vendedor verkaufer vendeur agent family household child kid pupil student swimmer cyclist athlete "
         "traveller traveler passenger guest patient "
         "teacher instructor trainer coach conductor photographer speaker volunteer applicant candidate employee "
         "worker "
         "staff colleague gardener helper cook singer musician visitor donor witness participant buyer seller supplier "
         "doctor nurse vet dentist landlord holder keeper manager boss assignee familie kind schuler patient arzt "
         "trainer "
         "mieter teilnehmer spender lehrer fahrer mitglied gast familia hijo alumno paciente medico profesor inquilino "
         "participante socio empleado famille enfant eleve patient medecin professeur locataire membre employe client "
         "filho aluno medico professor inquilino socio funcionario convidado"),
        ("when wann quando cuando quand",
         "until since "
         "date day when time month year data fecha dia datum tag jour due deadline"),
        ("where wo onde donde ou wohin",
         "destination destino ziel to shelf "
         "place city location where address room town street site lugar local cidade ciudad ort stadt adresse lieu "
         "ville morada direccion country shelf building "
         "emplacement lagerort standort ubicacion estante localizacao etagere regal raum zimmer sala salle venue "
         "drawer "
         "box floor estanteria armario schrank lieu cupboard warehouse hall"),
    )
    for word in words.split()
}  # fmt: skip

TEAMS = _set(
    "team club player guest reader runner equipo equipa mannschaft equipe spieler jugador aluno alumno "
    "eleve schuler "
    "borrower company firma empresa country"
)
"""Words in the header of a column that `who` asks for where no other tells of people."""
COUNTED_ROWS = _set(
    "row rows entry entries record records item items line lines linha linhas registo registos registro "
    "registros fila "
    "filas zeile zeilen eintrag eintrage eintraege lignes ligne times time vezes veces fois mal transactions"
)

BILLED = _set("billed invoiced charged sold paid abgerechnet berechnet facturados faturados")
SPENDING = _set("spend spent spending gaste gastado gastei ausgegeben depense")
PER = _set("nach selon segun per each every by por cada pro je jeder jedem par chaque")
NEGATIONS: Mapping[str, frozenset[str]] = {
    "en": _set(
        "neither nor nobody none unless besides but not without except excluding isn't aren't wasn't weren't never "
        "isn aren wasn weren hasn haven"
    ),
    "pt": _set("nao sem excepto exceto nenhum nenhuma ninguem salvo nem nunca jamais"),
    "es": _set("no sin excepto ningun ninguno ninguna nadie salvo ni tampoco nunca jamas"),
    "de": _set("nicht ohne kein keine keinen keiner keinem ausser weder noch_nie niemand niemals nie"),
    "fr": _set("pas sans sauf aucun aucune hormis ni personne_ jamais"),
}
ABOVE = _set(
    "over above more_than greater_than larger_than higher_than exceeding exceeds exceed at_least mais_de mas_de "
    "acima_de mayor_de maior_que mayor_que mayores_de superior_a superiores_a mehr_als ueber uber "
    "plus_de taller_than "
    "longer_than older_than superan supera ultrapassam ultrapassa depassent depasse ubersteigt "
    "ubersteigen groser_als "
    "grosser_als hoher_als"
)
BELOW = _set(
    "under below less_than lower_than smaller_than fewer_than cheaper_than at_most menos_de abaixo_de menor_que "
    "menor_de "
    "inferior_a inferiores_a weniger_als unter moins_de up_to shorter_than younger_than"
)
INCLUSIVE = _set("at_least at_most up_to")
BEFORE = _set("before until till prior_to antes_de ate antes_del hasta vor bis avant jusqu_a")
AFTER = _set("after since from depois_de apos desde despues_de despues_del a_partir_de nach seit ab apres depuis")
THROUGH = _set("until till ate hasta bis")
SINCE = _set("since from desde a_partir_de seit ab depuis")
BETWEEN = _set("between from entre de zwischen von")

FUNCTION_WORDS = _set(  # of five languages
    """all and are at be been by did do does for from had has have how i in is it its many much my of on or our per
    than that the there this to was we were what when where which who with ao aos as com da das dos e em eu foi
    foram ha mais meu meus minha minhas na nas no nos o os ou para pela pelo por quais qual quantas quanto quantos
    que quem sao tem um uma al con cual cuales cuanta cuantas cuanto cuantos de del el en es esta estan fue fueron
    hay la las los mas mi mis quien son tiene un una y als am dem den der des die ein eine einen fuer fur gibt haben
    hat hatte hatten ich im ist kein keinen mein meine mit nach nicht oder pro sind und viel viele von wann war
    waren welche welchem welcher welches wer wie wieviel wir wo wurde wurden zu a au aux avec avons combien dans du
    elle est et etait eue il ils le les ma mes mon nous ont par plus pour quel quelle quelles quels qui se sont sur
    une vous"""
)
UNITS: Mapping[str, str] = {
    word: unit
    for unit, words in (
        ("km", "kilometre kilometer quilometro kilometro"), ("kg", "kilo kilogram kilogramm quilo kilogramo"),
        ("m", "metre meter metro"), ("h", "hour hora stunde heure"),
        ("min", "minute minuto"), ("l", "litre liter litro"),
        ("eur", "euro €"), ("usd", "dollar $"), ("gbp", "pound £"),
        ("kwh", "kilowatt"), ("t", "tonne"), ("%", "percent"),
        ("cm", "centimetre centimeter"), ("mm", "millimetre millimeter"),
    )
    for word in words.split()
}  # fmt: skip
"""Words for units, without the ending of a plural."""

LIGHT = _set(
    """a an me mine our us you your he his him she her am can could should would must shall will any "
    "some please tell
    show give list s t d ll re ve get got than then them they their these those not_ into out up as if so also
    each_ only
    single own different whole entire ever currently now still exactly
    live lives lived living stand stands stood located locate situated lie lies belong belongs be being exist exists
    contain contains include includes included listed recorded appear appears come comes made make makes go
    goes went
    kept keep keeps work works gave given give used use uses took taken
    called name_ long big large high value values one ones number numbers numero nummer
    quanto quanta cuanto cuanta wieviel viel combien much often per_ qual quais cual cuales que quem onde
    quando como
    tenho temos estao esta estan ha hay houve hubo existem existen viven vive mora moram fica ficam mi nosso nossa
    tengo tenemos estoy esta este todos todas todo toda tous toutes tout alle alles allen all wohnt wohnen
    steht stehen
    liegt liegen gibt es sich habe haben wurde wurden habite habitent ya cada_ se lo le les ne cette ces
    came come served serve serves eat eaten ate offered offer wrote written write writes flew fly flies
    worked produced
    collected registered held hosted drove drive played play read visited entered noted earned got
    escreveu escreveram escrito escrita escritos escribio escribieron volaron vuelan vuela trabalhou trabalharam
    trabajo trabajaron trabajado gearbeitet arbeitet arbeiten gegessen geschrieben geflogen gefahren
    gekommen travaille
    ecrit mange van va vao vai fueron foram foi tuvo tuvieron teve tiveram hatte hatten geht gehen ging am
    auf bei aus
    nach avait avaient eu sum total in of by to
    we us our than then there wir uns unser unsere ihr sie hatten hattest wurden worden an als dass denn
    nous vous avons avez ont ils elle elles eue eus eues ete sont etait etaient sur par cet ces dans chez
    aller fui fuimos ido sa ses leur leurs tienen tienes somos estamos nuestro nuestra suyo han he hemos habia"""
)
"""Words that limit nothing."""
NEUTRAL = _set(
    """fall falls fell fallen kommen kommt kam gekommen send sends sent
    sleep sleeps slept sit sits sat seated put puts parked park parks rest rests schlaft schlafen sitzt duerme
    dorme dort
    ride rides concern concerns concerned regarding muss mussen soll sollte kann konnen darf debe deben puede
    pueden pode
    doit doivent peut peuvent sollen musste
    house building club company firm association office team haus verein firma casa edificio empresa maison
    see sees seen meet meets met need needs needed required require stay stayed stays booked happen happened use
    thing things run "
    "runs ran place
    placed based hold holds receive received receives piece pieces get gets reach reached weigh weighs weighed
    fiel fielen fallen brauche brauchen braucht benotigt betragt betrug liegen lagert lagern befindet
    befinden gehort
    erhalt erhielt bekommt bekam faut fut trouve trouvent travaillent obtenu obtenue obtient recu situe
    situee possede
    feito feita feitos feitas fez fizeram preciso precisamos encontra encontram obteve obtiveram tirou
    tiraram trabalha wert werte begin begins began start starts started open opens beginnt anfangt
    comeca empieza commence unterwegs brachte brachten bringt bringen
    ergab ergaben gemacht durchgefuhrt done carried performed fait faites hecho
    trabalham lleva llevan llevo necesito necesitamos hizo hicieron hecho hecha saco saca sacaron obtuvo obtuvieron
    encuentra encuentran corresponde trabaja trabajan levou levaram score scored scores passe passes finish
    finished take drive drives driven fly assigned noch schon bereits already yet aun todavia ainda deja encore gab
    viennent vient vienen viene vem stammt stammen provient proviennent kam kamen finden findet travel travels sido
    sidas bekommen recibido recibio recebeu"""
)
"""Verbs that limit nothing where no cell, column or name of the table has such a word."""

TIME_BEFORE = _set(
    "in of since until till before after from to and between em de en im am seit vor nach bis during by a e y "
    "desde ate "
    "hasta du au"
)
"""Words before a month that is another word too."""
WHICH = _set("which what que qual quais cual cuales welche welcher welches welchem welchen quel quelle quels quelles")
LISTS = WHICH | _set("list show who quem quien wer")
YES_NO = _set(
    "is are was were has have did does do esta estao estan foi fue ist sind war hat est tem ha han haben "
    "hatte wurde "
    "wurden foram fueron ont"
)
"""First words of a question for yes or no."""
DIFFERENT = _set("different distinct unique diferentes distintos distintas verschiedene verschiedenen differents")
MONTH_UNIT = _set("month monthly mes monat mois")
YEAR_UNIT = _set("year yearly ano jahr an annee")
QUARTERS = _set("quarter quartal trimestre trimestres")
HALVES = _set("half semester semestre halbjahr")
ORDINALS: Mapping[str, int] = {word: value for word, value in language.ORDINALS.items() if value <= 5}
"""Places of a row that a question asks for."""
NUMBER_WORDS: Mapping[str, int] = {word: value for word, value in language.NUMBER_WORDS.items() if 2 <= value <= 10}
"""Numbers of rows that a question asks for."""
BEFORE_NUMBERS = WHICH | _set("top the os as los las die der den les my our are were sind sont son sao meine unsere")
"""Words before the number of rows that a question with a superlative asks for."""
QUANTITIES = _set(
    "mark marks grade grades nota notas note notes consumption usage consumo verbrauch "
    "consommation level amount_ score result"
)
"""Words for what a column of no money holds; they limit nothing there."""
PEOPLE = _set("staff crew people persons person personas pessoas leute personen personnes")
CHANGING = _set(
    "grow grew grown shrink shrank shrunk rise rose fall fell drop dropped increase increased decrease decreased "
    "change changed differ exceed gestiegen gesunken gewachsen aumento aumentou aumentado bajo baixou subio subiu "
    "augmente baisse"
)
"""Verbs of a difference."""
AMOUNTS = _set("amount amounts figure figures betrag betrage importe importes montante montantes montant montants")
"""Words beside the name of a column of numbers, where they say nothing: `net amount`."""
COUNT_HEADERS = _set(
    "quantity qty units pieces stock count menge bestand stuck anzahl cantidad unidades existencias quantidade "
    "quantite nombre unites pieces"
)
"""Words in the header of a column that counts things of a row."""
FAST = _set(
    "fastest slowest quickest schnellste schnellsten schnellster langsamste langsamsten rapido rapida mas_rapido "
    "mas_rapida mais_rapido mais_rapida mas_lento mais_lento plus_rapide plus_lent"
)
"""Superlatives of speed: of times, the fastest is the smallest."""
BESIDE_NAMES = _set("of what which de des du que quel quelle qual cual von was welcher welche")
"""Words beside a name in phrases that stand for a kind of question: `share of`, `what percentage`."""
HEADS = _set("difference price prices sales cost costs fee rate value discount tax change growth limit target weight")
"""Second words of English headers: `Goal difference` is no name for goals."""
ENDINGS = ("ort", "datum", "stadt", "name", "platz")
"""Ends of German compounds in headers."""
PAYING = _set(
    "pay pays paid paying spend spent bezahlt gezahlt ausgegeben gekostet pagamos pago pague paguei "
    "pagou pagaron gaste "
    "gastei gastamos gastado paye payes depense"
)
"""Verbs after `what` that ask how much."""
FLOWS = _set(
    "revenue sales income turnover earnings cost costs amount total spent hours units visitors charge "
    "consumption usage "
    "receita vendas custo valor horas unidades ingresos ventas coste importe horas unidades umsatz "
    "kosten betrag summe "
    "stunden menge montant chiffre ventes heures recettes"
)
"""Words in headers of what is added up over a time."""
AMOUNT_HEADERS = _set("amount quantity qty menge cantidad quantidade quantite price preis precio preco prix")
NEGATIVE = _set("negative negativo negativa negativos negativas negativer negatif negatifs negatives negativen")
POSITIVE = _set("positive positivo positiva positivos positivas positiver positif positifs positiven")
DEADLINES = _set("due until deadline expires expiry fallig bis vence vencimiento vencimento echeance ablauf hasta ate")
"""Words in headers of dates that tell a time to come: that there is one tells of no event."""
RELATIVE = _set("week month year day days weeks months years semana mes ano today yesterday tomorrow")
"""Words for a time that only the clock tells, or that a question counts in."""
TABLE_WORDS = _set(
    "column columns coluna columna spalte colonne table tables sheet sheets file list document documents "
    "spreadsheet csv xlsx xls xlsb docx pdf html tabela folha planilha "
    "tabla hoja documento tabelle liste blatt tableau feuille ficheiro arquivo archivo register log overview"
)
KEYS = _set("id no nr number numero num code year ano jahr annee room key zip postcode ref reference")
"""Words in the header of a column whose numbers name their rows."""
REASONS = _set("why explain warum wieso porque pourquoi")
"""Words of a question for what no table tells."""
