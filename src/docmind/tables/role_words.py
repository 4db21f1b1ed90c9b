"""Words by which a reading of a question is doubted, and verbs that tell of a column; as data, folded."""

from __future__ import annotations

from collections.abc import Mapping


def _set(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


ATTRIBUTES = _set("long big large high single")
"""Adjectives that limit nothing after `how`, and select elsewhere."""
DEEDS = _set(
    "booked stayed needed required passe passes passed finish finished assigned reached "
    "served eaten offered produced collected registered held hosted visited entered noted "
    "fiel fielen fallen "
    "gegessen geschrieben geflogen gefahren gekommen gearbeitet obtenu obtenue escrito escrita escritos"
)
"""Participles that limit nothing where a row is looked up, and may select where rows are counted."""
COLLECTIONS = _set(
    "fleet inventory collection schedule stock catalogue catalog directory roster records data plan park"
)
"""Heads of titles whose rows are what the word before names."""
EACH = _set("hour hours day days km kg minute minutes point points euro euros stunde stunden hora horas heure heures")
"""Units: what has them is no row."""
ONCE = _set("one single einem einer einzigen uma um una un seul seule")
EITHER = _set("or oder ou either entweder")
RATES = _set(
    "price prices precio preco preis prix rate each tarif tarifa fare einzelpreis stuckpreis unitario unitaria"
)
"""Words in headers of what one piece costs."""
COMPARATIVES: Mapping[str, str] = {
    "older": "oldest", "younger": "oldest", "taller": "tallest", "longer": "longest", "shorter": "longest",
    "cheaper": "cheapest", "heavier": "heaviest", "lighter": "heaviest", "deeper": "deepest", "faster": "fastest",
}  # fmt: skip
"""Comparatives before `than`, by the superlative that tells which headers they mean."""
EARNING = _set("earn earns earned earning verdient ganhou ganhamos ganho ganado ganamos gagne")
COST_WORDS = _set(
    "cost costs costing price prices spend spent spending pay pays paid expense expenses kosten kostet gekostet "
    "ausgegeben bezahlt custou custa custam gastei gastamos pagou coste costo cuesta cuestan gastado pagado cout coute "
    "coutent depense"
)
COST_HEADERS = _set("cost costs price amount fee total paid spent coste costo custo precio preco preis kosten betrag")
INCOME_HEADERS = _set(
    "earned earning gained verdient ganado ganho gagne revenue sales income salary salaries wage wages pay earnings "
    "turnover takings deposit donation donations budget "
    "gehalt lohn umsatz einnahmen sueldo salario ordenado ingresos ventas receita vendas salaire recettes"
)
"""Words in headers of money that is earned, given or planned."""
SAME_CURRENCY: Mapping[str, str] = {
    word: words.split()[0]
    for words in ("eur €", "usd $ us$", "gbp £ pound", "chf franken", "brl r$ real", "jpy ¥ yen")
    for word in words.split()
}
"""Roots of words and signs of currencies, by their code."""
BOTH = _set("both ambos ambas beide beiden deux whole entire full ganze ganzen todo toda")
ROLES: tuple[tuple[frozenset[str], frozenset[str]], ...] = tuple(
    (_set(verbs), _set(headers))
    for verbs, headers in (
        ("buy buys bought buying purchase purchased order ordered orders compra compro comprou compraram comprado "
        "compraron "
         "kauft kaufte gekauft bestellt bestellte achete achetes acheter commande",
         "supplier vendor lieferant proveedor fornecedor fournisseur "
         "customer client buyer cliente kunde kundin comprador kaufer acheteur"),
        ("sold sell sells selling vendido vendida vendidos vendidas vendieron vendio venderam vendeu vendem vende "
        "verkauft "
         "verkaufte verkauften vendu vendus vendue vendues",
         "ticket tickets copies units sold quantity qty ejemplares exemplares unidades cantidad quantidade stuck menge "
         "billets exemplaires quantite entradas bilhetes karten"),
        ("produce produced produces generate generated produz produziu produziram produjo produjeron erzeugt erzeugten "
         "produziert produit", "output production yield erzeugung produccion producao ertrag energy"),
        ("sold sell sells vendio vendieron vendeu venderam verkauft verkaufte vendu vend",
         "seller vendedor vendedora verkaufer verkauferin salesperson vendeur cashier"),
        ("sing sings singt singen canta cantan cantam chante", "voice stimme voz voix"),
        ("attend attended attends", "attendees visitors participants guests audience attendance"),
        ("teach taught teaches", "teacher tutor instructor trainer coach"),
        ("handle handles handled dealt processed serves served", "agent clerk assistant waiter handler consultant"),
        ("picked harvested collected pickt", "picker harvester"),
        ("lead leads led", "leader head captain manager teacher guide"),
        ("supply supplied supplies deliver delivers", "supplier vendor lieferant proveedor fornecedor fournisseur"),
        ("ride rode rides walk walked travel travelled cycled", "distance km miles distancia distanz kilometres"),
        ("win won wins", "winner champion"),
        ("born", "birthday birth dob"),
        ("bring brought raise raised take took make made yield yielded gross grossed bringen brachte eingebracht "
         "recaudo recaudaron rendeu renderam rapporte",
         "revenue income takings proceeds turnover earnings einnahmen erlos umsatz ingresos recaudacion receita "
         "recettes"),
        ("treat treats treated see saw examined operated", "vet doctor physician arzt dentist medico medecin "
            "therapist"),
        ("fournit fournissent fourni livre livrent suministra suministran fornece fornecem liefert liefern geliefert "
         "provides provide provided", "supplier vendor lieferant proveedor fornecedor fournisseur"),
        ("teaches taught teach unterrichtet ensena enseigne ensina leciona", "teacher lehrer profesor professor "
            "professeur"),
        ("conducts conduct", "conductor dirigent"),
        ("owns own owned belong belongs", "owner besitzer eigentumer dueno propietario dono proprietario proprietaire"),
        ("cleans cleaned fix fixed fixes repairs repaired mended mends checked checks inspected serviced serviced",
         "technician mechanic cleaner garage workshop inspector company contractor"),
        ("dirige dirigent dirigen leitet leiten lidera gere lideran", "responsable responsible leiter leitung "
            "responsavel chef"),
        ("runs organises organised organizes organized arranged hosts leads manages managed",
         "organiser organizer manager leader host responsible head chair"),
        ("send sends sent ship ships shipped", "sender consignor"),
        ("begin begins start starts open opens beginnt anfangt comeca empieza commence",
         "time start begin opens hour uhrzeit zeit beginn hora inicio heure debut"),
    )
)  # fmt: skip
"""Verbs, and the headers of columns whose cells have that part in what they tell."""
OUTWARD = _set(
    "out debit debits withdrawal withdrawals expense expenses outgoing outgoings payments spent soll belastung "
    "ausgang ausgaben debe cargo cargos gastos salida salidas debito debitos saida saidas despesas "
    "sortie sorties depenses"
)
"""Words in headers of the money that leaves an account or a till."""
INWARD = _set(
    "in credit credits deposit deposits income incoming receipts received haben gutschrift eingang einnahmen haber "
    "abono abonos ingresos entrada entradas credito creditos receitas recettes entree entrees"
)
"""Words in headers of the money that comes in."""
LEAVING = _set(
    "spend spent spending pay pays paid payment payments withdrew withdrawn debited outgoing ausgegeben "
    "bezahlt gezahlt abgebucht gaste gastado gastei gastamos pago pague paguei pagou pagaron depense paye"
)
"""Words of a question for money that leaves."""
COMING = _set(
    "receive receives received receipt receipts earn earned income credited deposited incoming erhalten eingenommen "
    "eingegangen gutgeschrieben recibi recibido recibimos recebi recebemos recebido recu encaisse"
)
"""Words of a question for money that comes in."""
AUTHORING = _set(
    "wrote written write writes escribio escribieron escreveu escreveram ecrit schrieb geschrieben made makes built "
    "played plays play served serves drove drives flew flies designed painted invented"
)
"""What somebody does who is named by what he is for it."""
AUTHORS = _set(
    "traveller traveler passenger guest reisender viajero viajante voyageur passagier runner rider cyclist "
    "author autor writer auteur verfasser autora maker hersteller builder player spieler server waiter driver fahrer "
    "pilot designer painter artist inventor by von por par"
)
OPPOSITES: Mapping[str, frozenset[str]] = {
    word: _set(headers)
    for words, headers in (
        ("failed fail", "passed"), ("absent", "present"), ("rejected", "approved"), ("durchgefallen", "bestanden"),
        ("abgelehnt", "genehmigt"), ("rechazado", "aprobado"), ("reprovado", "aprovado"),
        ("outstanding owed owe owes", "paid settled"), ("ausstehend schuldet schulden", "bezahlt"),
        ("pendiente pendientes", "pagado hecho entregado"), ("impaye", "paye"),
        ("open pending unfinished unresolved", "closed done completed finished resolved solved"),
        ("offen offene offenen", "bezahlt geschlossen erledigt"), ("abierto abiertos abierta abiertas", "cerrado "
            "cerrada"),
        ("aberto abertos aberta abertas", "fechado fechada"), ("ouvert ouverts", "ferme"), ("missing", "returned "
            "delivered"),
    )
    for word in words.split()
}  # fmt: skip
"""Words for the no of a column of yes and no, by its name."""
SETTLED = _set("paid unpaid settled unsettled bezahlt unbezahlt pago pagado pagada paye payee impago owed outstanding")
"""Words for what a column of yes and no tells of an amount."""
LASTING = _set("longest shortest langsten kurzesten")
LENGTHS = _set(
    "langste langster langstes kurzeste kurzester mas_largo mas_larga mas_corto mais_longo mais_longa mais_curto"
)
"""Other superlatives of lengths."""
SINCE_HEADERS = _set(
    "frozen stored added opened installed planted "
    "since joined start started hired moved member began seit eintritt eingetreten einzug beginn desde alta ingreso "
    "entrada depuis entree"
)
"""Words in headers of dates from which something has lasted until now."""
BIRTHS = _set(
    "vintage jahrgang cosecha colheita millesime "
    "born birth birthday built founded year geboren geburtsdatum geburtstag baujahr gebaut gegrundet "
    "nacimiento "
    "nascimento nacido nascido naissance construido ano jahr annee purchased bought hired joined made"
)
"""Words in headers of dates and years from which an age counts."""
LATER_BIRTHS = _set("purchased bought hired joined made")
"""Of these, those from which not every age counts."""
AGES = frozenset({"oldest", "youngest"}) | frozenset(
    stem + end for stem in ("altest", "jungst") for end in ("e", "en", "er", "es")
) | _set("mas_viejo mas_vieja mais_velho mais_velha mas_joven mais_novo mais_nova plus_vieux plus_vieille plus_jeune "
         "mais_antigo mais_antiga mas_antiguo mas_antigua mais_jovem plus_ancien plus_ancienne")  # fmt: skip
RELATED = tuple(
    _set(words)
    for words in (
        "leave leaves left depart departs departure departures sale salida sai partida abfahrt fahrt depart part",
        "arrive arrives arrival arrivals llega llegada llego llegan llegaron chega chegada chegou chegam chegaram "
        "ankunft kommt arrivee arrive",
        "pesa pesan pesam peso weigh weighs weight wiegt wiegen gewicht poids pese",
        "leitet leiten leitung leiter leiterin",
        "borrow borrowed borrows borrower lent lend loaned reader",
        "buy bought purchase purchased compra comprado comprada kauf gekauft achat achete",
        "end ends ended finish finished fim acaba acabar acabou acabaram termina terminar terminou fin acabo termino "
        "ende endet beendet finit",
        "empieza empiezan comienza inicio",
        "comeca comecam inicio",
        "beginnt beginnen beginn",
        "commence debut",
        "use used uses usage consumption consumed",
        "flat flats apartment apartments wohnung wohnungen piso apartamento appartement",
        "temperature celsius c temp grad",
        "stay stays stayed nights night noches noites nachte nuits estancia estadia aufenthalt sejour",
        "visitors visitor attendance audience spectators attendees tickets besucher visitantes espectadores publico "
        "visiteurs",
        "memory ram arbeitsspeicher memoria memoire",
        "storage disk disc festplatte disco",
        "operating system os betriebssystem",
        "cpu processor prozessor",
        "phone telephone telefon telefono telefone mobile tel",
        "email mail e",
        "nickname alias",
        "rent rents rental miete mieten alquiler renda aluguel aluguer loyer",
        "salary wage gehalt lohn sueldo salario ordenado salaire",
        "area size surface flache superficie wohnflache m² m2",
        "colour color farbe cor couleur",
        "brand make marke marca marque manufacturer hersteller",
        "kilometres kilometers km mileage kilometros quilometros kilometerstand",
        "town city village stadt ort ciudad cidade ville",
        "vehicle car auto coche carro voiture fahrzeug",
        "teacher instructor trainer coach",
        "vendor supplier shop store seller lieferant proveedor fornecedor fournisseur",
        "category kind type art typ kategorie categoria categorie tipo genre",
        "duration length dauer duracion duracao duree",
        "note notes remark remarks comment comments bemerkung observacion observaciones observacao observacoes "
        "remarque",
        "speciality specialty field specialism fachgebiet especialidad especialidade specialite",
        "temp temperature temperatur temperatura",
        "ext extension durchwahl",
        "week weekly weeks",
        "month monthly months",
        "year yearly annual years",
        "day daily days",
        "night nightly nights",
        "hour hourly hours",
        "spend spent spending expenses expense gaste gasto gastos gastado gastei despesa despesas "
        "ausgaben ausgegeben depense depenses",
        "drives driver fahrt fahrer",
        "go goes destination destino ziel to",
        "hire hired join joined joins start started begin began employed",
        "eintritt eingetreten beigetreten",
        "entnehmen entnommen entnahme",
        "abgeben abgegeben abgabe ausgeliehen ausleihe",
        "alta admision contratado",
        "salary salaries payroll wage wages pay earnings earns earn",
        "sale sales sold sell sells vendas venda vendido vendida vendidos vendidas ventas venta vendu vendus "
        "vendue "
        "vendues verkauf verkauft verkaufte",
        "units unit quantity qty pieces unidades unidad unidade cantidad quantidade menge stuck",
    )
)
"""Words of one meaning, in a question and in a header."""
CLAUSES = _set("who that which que qui der die das")
"""Words with which a clause about a noun begins."""
TIMES = _set("years anos jahre jahren ans annees months meses monate monaten mois quarters trimestres quartale")
"""Plurals of units of time."""
TIMED_FIRMLY = _set(
    "after before since until till nach vor seit bis depois antes desde despues hasta apres avant depuis jusque apos"
)
"""Words that limit a time, whatever stands between them and it."""
PARTICLES = _set("up out off away back down aus ab an auf zuruck weg statt ein")
"""Words that end a verb and change what it means."""
EXISTING = _set(
    "people list listed recorded total entire whole place exist exists existem existen gibt gab give show tell "
    "number included contain contains include includes tienen tenemos temos haben t s need run live in"
)
"""Words of a count that say of rows no more than that they are there."""
OFTEN = _set("often times oft haufig vezes veces souvent fois frequently haufigsten oftesten")
"""Words of what is counted."""
FEES = _set("fee fees dues quota cuota quote beitrag gebuhr cotisation mensalidade membership")
UNITARY = _set("unit unitario unitaria unitaire einzelpreis stuckpreis each piece")
"""Words in headers of what is told of one piece."""
ARTICLES = _set("the a an my our der die das den dem el la los las un una o os um uma le les une mi mon ma")
"""Words before a noun that names a row."""
MODALS = _set("may might")
"""Verbs that limit nothing, and a month after a word for a time."""
BEST = _set("best beste bester bestes besten mejor melhor meilleur meilleure")
WORST = _set("worst schlechteste schlechtester schlechtesten peor pior pire")
GRADES = _set(
    "grade grades mark marks score scores points result rating stars note noten nota notas punkte puntos pontos "
    "puntuacion pontuacao calificacion"
)
"""Words in headers of what is better the more it is; in German the best grade is the smallest."""
PLACES = _set("place rank position placing platz rang puesto lugar posicion posicao classement")
"""Words in headers of a place in an order: the best is the smallest."""
THINGS = _set(
    "item items product products article articles artikel ware waren articulo articulos artigo artigos producto "
    "produto produkt thing things goods title titel titulo titre book description beschreibung descripcion descricao"
)
"""Words in headers of what is ordered, bought, lent or sold."""
TELEPHONES = _set("phone telephone tel mobile telefon telefono telefone handy movil telemovel celular portable")
"""Words in headers of telephone numbers."""
OWNING = _set(
    "get gets got receive received own owns have has had with got lent loaned borrowed emprestado emprestados "
    "emprestada emprestadas prestado prestados "
    "prestada prestadas verliehen ausgeliehen prete pretes tem tiene besitzt hat haben possui possuem"
)
"""Words of a question for a cell that is filled where others of its column are empty."""
RATES_OF: Mapping[str, frozenset[str]] = {
    unit: _set(words)
    for units, words in (
        ("hour stunde hora heure", "hourly stundenlohn stundensatz hour stunde hora heure"),
        ("day tag dia jour", "daily tagessatz tagespreis diario diaria day tag dia jour"),
        ("week woche semana semaine", "weekly wochentlich semanal week woche semana semaine"),
        ("month monat mes mois", "monthly monatlich monatlicher monatliche mensual mensal mensuel month monat mes "
            "mois"),
        ("year jahr ano an", "yearly annual jahrlich jahrliche anual annuel year jahr ano an"),
        ("night nacht noche noite nuit", "nightly night nacht noche noite nuit"),
        ("person", "person persona pessoa personne"), ("piece stuck pieza", "piece stuck unit each pieza"),
    )
    for unit in units.split()
}  # fmt: skip
"""Words in headers of what is told for each unit, by the unit."""
HOURLY = _set("hourly daily nightly weekly stundenlohn stundensatz tagessatz tagespreis hora/ each")
"""Words in headers of what is paid for one unit of time."""
FOR_EACH = _set("a an per pro al por par each am je die la o il every")
"""Words before a unit for each of which something is told."""
CONTAINERS = _set(
    "bottle bottles box boxes bag bags pack packs packet packets can cans jar jars tin tins roll rolls pot pots piece "
    "pieces crate crates carton cartons tube tubes flasche flaschen dose dosen kiste kisten sack sacke packung "
    "packungen "
    "stuck karton kartons glas glaser caja cajas botella botellas lata latas bolsa bolsas bote botes garrafa garrafas "
    "caixa caixas saco sacos pacote pacotes boite boites bouteille bouteilles sac sacs paquet paquets unidades unites"
)
"""What a thing is counted in."""
WON = _set(
    "won win wins winner gewann gewonnen gewinner sieger gano ganado ganador ganhou vencedor venceu gagne gagnant"
)
"""Words for the first place."""
REACHING = _set(
    "came come finished finish finishes ended placed was is got took kam wurde belegte quedo llego ficou chegou"
)
"""Verbs before a place in an order."""
DATED: tuple[tuple[frozenset[str], frozenset[str]], ...] = tuple(
    (_set(verbs), frozenset(headers.split(",")))
    for verbs, headers in (
        ("expire expires expired expiring expiry eaten spoil spoils caduca caducan expira expiram vence vencen ablauft "
         "abgelaufen lauft haltbar expirent",
         "use by,best before,use before,expiry,expires,expires on,expiry date,valid until,haltbar bis,mindestens "
         "haltbar bis,"
         "gultig bis,ablauf,ablaufdatum,caduca,caducidad,vence,vencimiento,validade,vencimento,valido ate,date limite,"
         "expiration,expire le,peremption,lauft ab"),
        ("return returned returns returning back zuruckgegeben zuruck zuruckgebracht devuelto devuelta "
         "devolvio devueltos devuelve devolvido devolvida devolveu rendu rendue rendus retourne",
         "back on,back,returned,returned on,return date,return,due back,zuruck,zuruck am,ruckgabe,devuelto,devolucion,"
         "fecha de devolucion,devolvido,devolucao,data de devolucao,rendu,rendu le,retour,devuelto el,devolvido em"),
        ("paid pay pays bezahlt gezahlt pagado pagada pago paga paye payee settled",
         "paid on,payment date,date paid,bezahlt am,fecha de pago,pagado el,data de pagamento,pago em,paye le"),
        ("buy bought purchased acquired gekauft angeschafft comprado compro comprou comprada achete achetee acheta",
         "bought,bought on,purchased,purchased on,purchase date,date of purchase,gekauft am,kaufdatum,angeschafft,"
         "fecha de compra,data de compra,comprado em,achete le,date d achat,dernier achat,last bought"),
        ("joined join member membership eingetreten beigetreten ingreso entro entrou adhere",
         "joined,joined on,member since,mitglied seit,eintritt,eintrittsdatum,socio desde,alta,membro desde,membre "
         "depuis"),
        ("moved move moves eingezogen einzog mudou entro emmenage",
         "moved in,moved in on,move in,tenant since,einzug,eingezogen,mieter seit,entrada,desde,since"),
        ("start starts started begin begins began beginnt begann empieza empezo comeca comecou commence",
         "start,starts,start date,begin,begins,starts on,beginn,departure,from,von,inicio,fecha de "
         "inicio,debut,abreise"),
        ("end ends ended finish finishes endet endete acaba termina terminou finit",
         "end,ends,end date,until,to,ende,bis,fin,fecha de fin,fim"),
    )
)  # fmt: skip
"""Verbs of an event, and the names of columns of dates that tell when it was."""
GAMES = _set("game games match matches race races spiel spiele partido partidos jogo jogos partie parties")
"""What is won and lost, where a column has the number of them."""
HONORIFICS = _set("dr mr mrs ms miss prof professor herr frau sr sra don dona mme mlle")
"""Words before a name."""
CLOCK_WORDS = _set("time zeit uhrzeit tiempo tempo temps heure hora")
"""Words of a question for a time of the day or a duration."""
HOLDERS = _set(
    "tenant customer client member owner employee student pupil runner holder resident patient guest donor traveller "
    "mieter kunde mitglied mitarbeiter schuler patient gast inquilino cliente socio empleado alumno paciente locataire "
    "membre employe eleve aluno funcionario"
)
"""Words in headers of whom a row is about: what the row tells is told of them."""
MANNERS = _set(
    "method payment means mode way channel via transport zahlungsart zahlungsweise metodo forma medio mode moyen"
)
"""Words in headers of how something is done."""
