"""More series and pairs of versions, written after the rule of `docmind.documents.likeness` and measured once then."""

from __future__ import annotations

from series_set import EACH, MONTHS, PEOPLE, Pair, Series, downloaded, page, pdf

from docmind.records.documents import Upload

PART = "written afterwards"
_GOODS = ("milk", "bread", "cheese", "apples", "rice", "soap", "coffee", "salt")
_POSTS = ("contable", "cocinero", "conductora", "jardinero", "enfermera", "vigilante", "traductora", "albañil")
_SUMS = ("fractions", "triangles", "pourcentages", "équations", "cercles", "puissances", "fonctions", "volumes")


def _receipt(at: int) -> Upload:
    rows = "\n".join(f"{_GOODS[(at + n) % 8]}  {1 + (at * 3 + n) % 7}.{20 + n}" for n in range(4))
    text = f"Corner Shop\n4 Mill Lane, Ashby\n\n{3 + at:02}/{2 + at % 5:02}/2026 1{at}:22\n\n{rows}\n"
    text += f"Total  {9 + at}.86\n\nThank you."
    return Upload(downloaded("receipt", ".txt", at), text.encode())


def _finding(at: int) -> Upload:
    text = f"""Radiologischer Befund
Praxis am Deich, Oldenburg
Patient
Bruno Keller, geb. 3.5.1971
Untersuchung
{("Röntgen Thorax", "MRT Knie", "Sonografie Abdomen", "CT Schädel")[at % 4]}
Befunddatum
{2 + at:02}.{1 + at:02}.2026
Beurteilung
Kein Nachweis einer frischen Verletzung. Höhe {11 + at} mm, Breite {7 + at % 3} mm.
Der Befund ersetzt nicht das Gespräch mit dem behandelnden Arzt."""
    return Upload(downloaded("Befund", ".pdf", at), pdf(text))


def _week(at: int) -> Upload:
    month = MONTHS["pt"][at]
    text = f"""# Ementa do refeitório

Semana de {2 + at} a {6 + at} de {month}

- Segunda: sopa de {_GOODS[at]}, arroz
- Terça: massa com {_GOODS[(at + 1) % 8]}
- Quarta: peixe
- Quinta: frango com {_GOODS[(at + 3) % 8]}
- Sexta: omelete

Os pais avisam a escola das alergias. A ementa pode mudar sem aviso.
"""
    return Upload(f"ementa {month}.md", text.encode())


def _exam(at: int) -> Upload:
    data = page(
        "Contrôle de mathématiques",
        "Collège des Tanneurs, classe de 4e",
        f"Sujet : {_SUMS[at]}",
        f"Exercice 1. Donnez la définition et un exemple. ({4 + at % 3} points)",
        f"Exercice 2. Calculez avec x = {3 + at} et y = {12 - at}. Justifiez chaque étape.",
        "La calculatrice n'est pas permise. Le barème tient compte de la présentation.",
    )
    return Upload(f"controle-{'abcdefgh'[at]}.html", data)


def _offer(at: int) -> Upload:
    text = f"""Oferta de empleo

Puesto: {_POSTS[at]}
Empresa: Hostal Lúa, Vigo
Jornada: completa

Buscamos una persona con {1 + at % 4} años de experiencia. El sueldo es de {1300 + 50 * at} euros al mes.
Ofrecemos contrato indefinido y dos días libres por semana. Envíe su currículum antes de fin de mes.
"""
    return Upload(f"oferta {_POSTS[at]}.txt", text.encode())


def _job(at: int) -> Upload:
    text = f"""Employment contract

This contract is made between Harbour Freight and {PEOPLE[at]} of Ashby.

1. The employee works as a clerk from 1 {MONTHS["en"][at]} 2026.
2. The working time is 38 hours a week.
3. The salary is {2600 + 40 * at} euros a month.
4. Holidays are 28 days a year.
5. Notice is one month in the first year.
"""
    return Upload(f"contract_{PEOPLE[at].split()[1].lower()}.txt", text.encode())


def series() -> list[Series]:
    """Return all series."""
    kinds = (
        ("receipts", _receipt), ("findings", _finding), ("menus", _week), ("exams", _exam), ("job offers", _offer),
        ("employment contracts", _job),
    )  # fmt: skip
    return [Series(kind, PART, tuple(made(at) for at in range(EACH))) for kind, made in kinds]


_HANDBOOK = """# Staff handbook

Harbour Freight

Effective date: {date}

## Hours

The office is open from eight to six. {more}

## Leave

Each employee has {days} days of leave a year. Leave is asked for two weeks ahead.

## Health

Absence is told before nine on the first day.
"""
_CLUB = """Regulamento interno do clube de remo

Aprovado em assembleia geral de {date}

Artigo 1. O clube tem sede em Horta.
Artigo 2. A quota anual é de {fee} euros.
Artigo 3. Os barcos requisitam-se na véspera.
Artigo 4. {boats}
Artigo 5. Os menores remam acompanhados.
"""
_SOUP = """Soupe de poisson

Pour {people} personnes

Faites revenir deux oignons dans l'huile. Ajoutez {fish} grammes de poisson, du fenouil et un litre d'eau.
Laissez cuire vingt minutes. {more}
Mixez, passez au tamis, poivrez. Servez avec du pain grillé et de l'ail.
"""
_BRIEF = """Project brief: new ticket hall

Client: City of Dunmore
Project manager: {who}
Budget: {budget} EUR

The hall has {doors} doors to the street and one to the platform. The roof is of glass and timber.
Work begins after the summer. The old hall stays open until the new one is finished.
"""


def pairs() -> list[Pair]:
    """Return all pairs of versions."""
    prices = "Artikel;Preis\nHobel;{}\nSäge;{}\nHammer;{}\nZange;19\nFeile;12\n"
    cv = """Currículum de Elena Prieto

Vigo, teléfono 986 000 111

Formación: Derecho, Santiago

Experiencia
{more}Abogada en Lugo, de 2015 a 2019
Pasante en Vigo, de 2012 a 2015

Idiomas: gallego, inglés
"""
    rows = (
        ("handbook", "handbook.md", _HANDBOOK.format(date="1 March 2025", more="", days=26).encode(),
         "handbook (1).md", _HANDBOOK.format(date="1 April 2026", more="Fridays end at four.", days=28).encode()),
        ("club rules", "regulamento.pdf",
         pdf(_CLUB.format(date="4 de maio de 2022", fee=60, boats="As chaves ficam no bar.")),
         "regulamento revisto.pdf",
         pdf(_CLUB.format(date="9 de março de 2026", fee=75, boats="As chaves ficam no cofre do bar."))),
        ("recipe", "soupe.txt", _SOUP.format(people=4, fish=600, more="").encode(),
         "soupe (2).txt", _SOUP.format(people=6, fish=900, more="Ajoutez du safran.").encode()),
        ("prices", "Preisliste 2025.csv", prices.format(34, 21, 15).encode(),
         "Preisliste 2026.csv", prices.format(36, 23, 16).encode()),
        ("curriculum", "cv elena.txt", cv.format(more="").encode(),
         "cv elena nuevo.txt", cv.format(more="Abogada en Vigo, desde 2019\n").encode()),
        ("brief", "brief_v1.txt", _BRIEF.format(who="Ada Marsh", budget="2,400,000", doors="three").encode(),
         "brief_v2.txt", _BRIEF.format(who="Greta Lund", budget="2,650,000", doors="four").encode()),
    )  # fmt: skip
    return [Pair(kind, PART, Upload(a, one), Upload(b, other)) for kind, a, one, b, other in rows]
