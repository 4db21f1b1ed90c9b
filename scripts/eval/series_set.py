"""Series and versions that are made here: 17 kinds of documents, eight of each, and 16 pairs of versions.

Those of the part `kept back` were written before the rule of `docmind.documents.likeness` and not looked at while it
was made. The members of a series share a template, as what one office or program writes does; some have the names that
a browser gives to downloads, `invoice (1).pdf`. A pair of versions is one thing at two times. The module is long
because it is data: the texts of all documents.
"""

from __future__ import annotations

import html
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from reportlab.lib.pagesizes import A4
from reportlab.pdfgen.canvas import Canvas

from docmind.records.documents import Upload

LOOKED_AT, KEPT_BACK = "looked at", "kept back"
EACH = 8  # members of a series
MONTHS = {
    "en": ["January", "February", "March", "April", "May", "June", "July", "August"],
    "de": ["Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August"],
    "es": ["enero", "febrero", "marzo", "abril", "mayo", "junio", "julio", "agosto"],
    "fr": ["janvier", "février", "mars", "avril", "mai", "juin", "juillet", "août"],
    "pt": ["janeiro", "fevereiro", "março", "abril", "maio", "junho", "julho", "agosto"],
}
PEOPLE = (
    "Ada Marsh", "Bruno Keller", "Carla Nunes", "David Oakes", "Elena Prieto", "Félix Moreau", "Greta Lund",
    "Hugo Dias",
)  # fmt: skip
_PLACES = ("Ashby", "Brendel", "Castro", "Dunmore", "Elvas", "Fontenay", "Grimsby", "Horta")


@dataclass(frozen=True, slots=True)
class Series:
    """Documents of one kind, of which none is a version of another."""

    kind: str
    part: str
    files: tuple[Upload, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two versions of one document, the earlier first."""

    kind: str
    part: str
    earlier: Upload
    later: Upload


def pdf(text: str) -> bytes:
    """Return a PDF of the lines of a text; the first line is printed large."""
    out = io.BytesIO()
    canvas = Canvas(out, pagesize=A4, invariant=1)
    at = 790
    for number, line in enumerate(text.strip().splitlines()):
        size = 10 if number else 17
        canvas.setFont("Helvetica", size)
        canvas.drawString(60, at, line)
        at -= size + 5
    canvas.save()
    return out.getvalue()


def page(title: str, *parts: str) -> bytes:
    """Return a web page with a heading and these parts: a paragraph each, or rows parted by `|` as a table."""
    body = [f"<h1>{html.escape(title)}</h1>"]
    for part in parts:
        rows = [[html.escape(cell.strip()) for cell in row.split("|")] for row in part.splitlines()]
        if "|" in part:
            body.append("<table>" + "".join(f"<tr><td>{'</td><td>'.join(row)}</td></tr>" for row in rows) + "</table>")
        else:
            body.append(f"<p>{html.escape(part)}</p>")
    return f"<html><head><meta charset='utf-8'></head><body>{''.join(body)}</body></html>".encode()


def downloaded(stem: str, ending: str, at: int) -> str:
    """Return the name that a browser gives to a download of a name that is there already."""
    return f"{stem} ({at}){ending}" if at else f"{stem}{ending}"


def _bill(at: int) -> Upload:
    month, net = MONTHS["en"][at], 61.2 + 7 * ((at * 5) % 8)
    text = f"""Northern Power Invoice
Northern Power Ltd, 4 Quay Street, Ashby
Customer: Ada Marsh, 12 Mill Lane, Ashby
Customer number: 558 201 77
Invoice number: NP-2026-{3107 + 211 * at}
Date of invoice: {3 + at} {month} 2026
Billing period: {month} 2026
Electricity used: {210 + 13 * at} kWh
Net amount: {net:.2f} EUR
VAT 20 %: {net * 0.2:.2f} EUR
Total: {net * 1.2:.2f} EUR
Please pay by {17 + at} {month} 2026 to the account GB29 NWBK 6016 1331 9268 19.
Questions about this invoice are answered by our office on working days from nine to five.
A meter that is read late is estimated by the use of the year before.
Complaints are sent in writing within thirty days after the invoice was received."""
    return Upload(downloaded("invoice", ".pdf", at), pdf(text))


def _payslip(at: int) -> Upload:
    gross = 3150 + 40 * (at % 3)
    text = f"""Entgeltabrechnung Hafenwerk
Hafenwerk GmbH, Am Kai 7, 20457 Hamburg
Personalnummer: 004711
Name: Bruno Keller
Steuerklasse: 1
Abrechnungsmonat: {MONTHS["de"][at]} 2026
Gesamtbrutto: {gross},00
Lohnsteuer: {410 + 9 * at},12
Krankenversicherung: {255 + 3 * at},15
Rentenversicherung: {292 + 3 * at},95
Auszahlungsbetrag: {gross - 958 - 15 * at},78
Die Überweisung erfolgt auf das angegebene Konto zum Monatsende.
Bitte bewahren Sie diese Abrechnung auf, sie ist ein Nachweis gegenüber Behörden.
Rückfragen beantwortet die Personalabteilung in Zimmer 12."""
    return Upload(f"Abrechnung_{at + 1:02}.pdf", pdf(text))


def _statement(at: int) -> Upload:
    month = MONTHS["es"][at]
    rows = [f"{day:02}/{at + 1:02}/2026 | {what} | {amount + at * 3},{day:02}" for day, what, amount in (
        (2, "Recibo de agua", -31), (5, "Nómina", 1840), (11, "Supermercado Lúa", -87), (23, "Alquiler", -650),
    )]  # fmt: skip
    data = page(
        "Extracto de cuenta corriente",
        "Banco del Faro, Calle Mayor 3, Vigo",
        "Titular | Elena Prieto\nIBAN | ES91 2100 0418 4502 0005 1332\n"
        f"Periodo | del 1 al 28 de {month} de 2026\nExtracto número | {at + 1}",
        "\n".join(["Fecha | Concepto | Importe", *rows, f"28/{at + 1:02}/2026 | Saldo final | {1201 + 77 * at},10"]),
        "Conserve este extracto. Las reclamaciones se presentan en la oficina dentro de quince días.",
        "El banco responde de los depósitos según la ley vigente y publica sus tarifas en cada oficina.",
    )
    return Upload(downloaded("extracto", ".html", at), data)


_HARM = (
    "struck a submerged pile while leaving the berth", "lost its rudder in following seas",
    "ran aground on the eastern bank in fog", "caught fire in the engine room", "collided with a moored barge",
    "capsized after its cargo shifted", "parted a towing line that injured a deckhand",
    "took water through an open hatch",
)  # fmt: skip


def _accident(at: int) -> Upload:
    text = f"""Marine Accident Investigation Report
Coastal Safety Agency
Report number: CSA-{118 + 7 * at}/2025
Date of the accident: {4 + 3 * at} {MONTHS["en"][at]} 2025
Place: off {_PLACES[at]}
Vessel: {PEOPLE[at].split()[0]} {_PLACES[-1 - at]}
1. Summary
The vessel {_HARM[at]}. {at % 4} persons were injured.
2. Purpose of the investigation
The only purpose of an investigation by this agency is to prevent accidents at sea.
It is not the purpose to find who is to blame or liable. The report is not admissible in court.
3. Facts
The wind was {2 + at} Beaufort. The crew of {3 + at} had rested as the rules require.
The master, {PEOPLE[at]}, had held a certificate since {1998 + 2 * at}.
4. Analysis
The agency examined the record of the voyage and spoke with all persons on board.
5. Recommendations
Owners of similar vessels check their procedures. The agency publishes how its recommendations are followed."""
    return Upload(f"CSA-{118 + 7 * at}.pdf", pdf(text))


def _minutes(at: int) -> Upload:
    topics = ("o telhado", "o elevador", "a pintura", "o jardim", "a garagem", "o seguro", "a limpeza", "o portão")
    text = f"""# Ata da assembleia de condóminos

Condomínio Rua das Flores 12, Lisboa

Reunião de {6 + 2 * at} de {MONTHS["pt"][at]} de 2026, às 19 horas, na sala comum.

Presentes: {PEOPLE[at]}, {PEOPLE[(at + 3) % 8]} e a administração.

## Ordem de trabalhos

1. Aprovação da ata anterior.
2. Contas do condomínio: saldo de {2100 + 133 * at} euros.
3. Decisão sobre {topics[at]}: aprovada por {at + 3} votos.

A administração lembra que as quotas se pagam até ao dia oito de cada mês.
Não havendo mais assuntos, a reunião foi encerrada e lavrou-se a presente ata, que vai ser assinada.
"""
    return Upload(f"ata {at + 1}.md", text.encode())


def _newsletter(at: int) -> Upload:
    about = (
        "La fête du port commence samedi à dix heures sur la place.", "Les nouvelles ruches donnent leur premier miel.",
        "Le pont de bois est fermé pendant les travaux.", "La chorale cherche deux voix de ténor.",
        "Le marché déménage rue de la Gare.", "Une conférence parle des loutres de la rivière.",
        "Le club de voile propose des cours pour les enfants.", "La bibliothèque ouvre aussi le dimanche matin.",
    )  # fmt: skip
    data = page(
        "La lettre de l'association du quartier",
        f"Numéro {41 + at} · {MONTHS['fr'][at]} 2026",
        about[at],
        about[(at + 3) % 8],
        "Pour recevoir cette lettre, écrivez à l'association. Pour ne plus la recevoir, répondez à ce courrier.",
        "Association du quartier des Tanneurs, 8 rue du Lavoir, Fontenay. Adhésion : 15 euros par an.",
    )
    return Upload(f"lettre-{41 + at}.html", data)


def _lab(at: int) -> Upload:
    data = page(
        "Laboratory report",
        "Riverside Laboratory, 2 Canal Road, Dunmore",
        f"Patient | Greta Lund\nDate of birth | 14 May 1961\nSample | S{40112 + 917 * at}\n"
        f"Collected | {2 + at} {MONTHS['en'][at]} 2026",
        "Test | Result | Unit | Reference\n"
        f"Haemoglobin | {12.8 + at / 10:.1f} | g/dL | 12.0 to 15.5\nGlucose | {88 + at} | mg/dL | 70 to 99\n"
        f"Creatinine | {0.7 + at / 50:.2f} | mg/dL | 0.5 to 1.1\nSodium | {138 + at % 4} | mmol/L | 135 to 145",
        "Results are read together with the findings of the physician. Reference values hold for adults.",
    )
    return Upload(downloaded("results", ".html", at), data)


def _delivery(at: int) -> Upload:
    text = f"""Lieferschein der Gärtnerei Moor

Gärtnerei Moor, Deichweg 5, 26121 Oldenburg

Lieferschein-Nr.: {77120 + 39 * at}
Lieferdatum: {at + 2:02}.{at + 3:02}.2026
Empfänger: {PEOPLE[at % 3]}, {_PLACES[at % 3]}

Menge | Artikel
{4 + at} | Buchsbaum im Topf
{10 + 2 * at} | Lavendel
{1 + at % 3} | Apfelbaum, Halbstamm

Die Ware bleibt bis zur vollständigen Bezahlung Eigentum der Gärtnerei.
Bitte prüfen Sie die Lieferung bei Empfang und melden Sie Schäden am selben Tag.
"""
    return Upload(f"Lieferschein {77120 + 39 * at}.txt", text.encode())


def _timesheet(at: int) -> Upload:
    days = "\n".join(
        f"2026-{at + 1:02}-{day:02},{8 + (day + at) % 2},obra {1 + (day + at) % 4}" for day in range(2, 12)
    )
    return Upload(downloaded("folha de horas", ".csv", at), f"Data,Horas,Obra\n{days}\n".encode())


def _school_letter(at: int) -> Upload:
    what = ("excursión al museo", "reunión de padres", "fiesta de fin de curso", "visita del dentista",
            "semana del libro", "cambio de comedor", "carrera solidaria", "foto de la clase")  # fmt: skip
    text = f"""Colegio San Telmo

Vigo, {5 + 2 * at} de {MONTHS["es"][at]} de 2026

Asunto: {what[at]}

Queridas familias:

Les informamos de que la {what[at]} será el día {20 + at % 7} a las {9 + at % 4} horas.
Rogamos que los alumnos lleguen diez minutos antes con la autorización firmada.
Quienes no puedan asistir lo comunican en secretaría por teléfono o por escrito.

Un saludo cordial,
La dirección del centro
"""
    return Upload(f"circular_{at + 1}.txt", text.encode())


def _meter(at: int) -> Upload:
    text = f"""# Relevé de compteur

Compagnie des Eaux de Fontenay

- Abonné : Félix Moreau, 3 rue du Puits
- Compteur : 00-8812-B
- Relevé du : {8 + at}/{at + 1:02}/2026
- Index : {1840 + 17 * at} m³
- Consommation : {14 + at} m³

Le prochain relevé a lieu dans un mois. Laissez l'accès au compteur libre.
Une fuite après compteur est à la charge de l'abonné.
"""
    return Upload(downloaded("releve", ".md", at), text.encode())


def _quarterly(at: int) -> Upload:
    quarter, year = ("first", "second", "third", "fourth")[at % 4], 2024 + at // 4
    text = f"""Quarterly Report of Harbour Freight
Results of the {quarter} quarter of {year}
Revenue was {41 + 3 * at}.{at} million euros, {2 + at} percent more than a year before.
Operating profit was {5 + at % 3}.{at} million euros.
The number of employees was {812 + 9 * at} at the end of the quarter.
The company operates two terminals and leases eleven cranes.
Forward-looking statements are subject to risks that the annual report describes.
The figures of this report have not been audited. They follow the rules of the annual accounts.
The board thanks all employees for their work."""
    return Upload(f"HF Q{at % 4 + 1} {year}.pdf", pdf(text))


def _lease(at: int) -> Upload:
    text = f"""Lease agreement

Between Quay House Ltd, the landlord, and {PEOPLE[at]}, the tenant, the following is agreed about flat {at + 2} of
Quay House, 9 Harbour Road, {_PLACES[0]}.

1. The flat is handed over clean and with two keys.
2. The tenant keeps the stairs free and does not store bicycles in the hall.
3. Heating costs are settled once a year.
4. The rent is {790 + 15 * at} euros a month and is paid on the third working day.
5. A deposit of {2 + at % 2} months' rent is paid before the keys are handed over.
6. The lease ends on {28 - at} {MONTHS["en"][at]} 2027.
"""
    return Upload(f"lease_flat_{at + 2}.txt", text.encode())


_DONE = (
    "The crane was painted and the cable replaced.", "Two pumps were taken apart; one waits for a seal.",
    "The gate of the north yard was welded.", "Nothing moved because of the storm.",
    "The new foreman began on Tuesday.", "Three lorries of gravel came from the quarry.",
    "The surveyor measured the quay and found no sinking.", "The power failed twice for an hour.",
)  # fmt: skip


def _weekly(at: int) -> Upload:
    text = f"""Weekly report

Date: {2 + 3 * at} {MONTHS["en"][at]} 2026
Team: North yard
Written for: Harbour Freight, head of works

{_DONE[at]} {_DONE[(at + 3) % 8]}
Hours worked: {310 + 7 * at}. Accidents: none.
The next report follows in a week.
"""
    return Upload(downloaded("weekly report", ".txt", at), text.encode())


def _log(at: int) -> Upload:
    text = f"""Tagebuch der Wetterstation Moor

{3 + at}. {MONTHS["de"][at]} 2026

Temperatur um sieben Uhr: {4 + at} Grad
Luftdruck: {1002 + 3 * at} hPa
Niederschlag: {at},{at} mm
Wind: {1 + at % 5} Beaufort

Die Station steht auf dem Deich und wird jeden Tag um sieben Uhr abgelesen.
"""
    return Upload(downloaded("tagebuch", ".txt", at), text.encode())


def _letter(at: int) -> Upload:
    about = (
        "Votre demande de place de parking est acceptée à partir du mois prochain.",
        "Le chauffage est révisé mardi; laissez l'accès aux radiateurs.", "Nous avons reçu votre plainte sur le bruit.",
        "La porte de la cave se ferme désormais à clé.",
        "Les charges de l'année sont réglées, merci de votre patience.",
        "Le balcon est repeint en vert, les travaux durent trois jours.", "Un nouveau gardien vous salue.",
        "Le jardin est ouvert aux enfants le mercredi.",
    )  # fmt: skip
    text = f"""Régie Moreau, gérance d'immeubles

8 rue du Lavoir, Fontenay

Fontenay, le {4 + 2 * at} {MONTHS["fr"][at]} 2026

Madame, Monsieur,

{about[at]}

Nous restons à votre disposition pour toute question et vous prions d'agréer nos salutations distinguées.

La gérance
"""
    return Upload(downloaded("lettre", ".txt", at), text.encode())


def _council(at: int) -> Upload:
    text = f"""# Acta del consejo escolar

Fecha: {3 + 2 * at} de {MONTHS["es"][at]} de 2026
Asistentes: Elena Prieto, Carla Nunes, Hugo Dias

1. {("Se aprueba el calendario.", "Se elige la empresa del comedor.", "Se revisan las cuentas.")[at % 3]}
2. {("El patio se pinta.", "Se compran libros.", "La biblioteca abre más horas.", "Se despide al conserje.")[at % 4]}
3. Ruegos y preguntas: {("ninguno", "el autobús", "las becas")[at % 3]}.

Sin más asuntos se levanta la sesión.
"""
    return Upload(f"acta_{'abcdefgh'[at]}.md", text.encode())


_KINDS: tuple[tuple[str, str, Callable[[int], Upload]], ...] = (
    ("weekly reports", LOOKED_AT, _weekly), ("logs", LOOKED_AT, _log), ("letters", LOOKED_AT, _letter),
    ("council", LOOKED_AT, _council),
    ("bills", LOOKED_AT, _bill), ("payslips", LOOKED_AT, _payslip), ("bank statements", LOOKED_AT, _statement),
    ("accident reports", LOOKED_AT, _accident), ("minutes", LOOKED_AT, _minutes),
    ("newsletters", LOOKED_AT, _newsletter),
    ("lab results", KEPT_BACK, _lab), ("delivery notes", KEPT_BACK, _delivery), ("timesheets", KEPT_BACK, _timesheet),
    ("school letters", KEPT_BACK, _school_letter), ("meter readings", KEPT_BACK, _meter),
    ("quarterly reports", KEPT_BACK, _quarterly), ("leases", KEPT_BACK, _lease),
)  # fmt: skip


def series() -> list[Series]:
    """Return all series."""
    return [Series(kind, kept, tuple(made(at) for at in range(EACH))) for kind, kept, made in _KINDS]


_LEASE = """Lease of the mill house

Landlord: Greta Lund, Ashby
Tenant: Hugo Dias
House: 3 Mill Lane, Ashby

1. The lease begins on 1 May 2026 and has no end.
2. The rent is {rent} euros a month. It is due on the third working day.
3. The tenant keeps the garden. {garden}
4. Pets need the consent of the landlord.
5. Either side may end the lease with three months' notice.
"""
_POLICY = """Travel Policy
Harbour Freight
Valid from 1 January {year}
Who travels for the company books the cheapest train of the day in second class.
Flights are booked for distances of more than {far} kilometres.
Meals are refunded up to {meal} euros a day. Hotels are refunded up to {hotel} euros a night.
Receipts are handed in within four weeks after the journey.
Exceptions are granted by the head of the department in writing."""
_CONTRACT = """# Dienstleistungsvertrag

{state}

zwischen der Hafenwerk GmbH, Hamburg, und {party}, nachstehend Auftragnehmerin.

## 1 Gegenstand

Die Auftragnehmerin wartet die Krananlagen am Kai 7 viermal im Jahr.

## 2 Vergütung

Die Vergütung beträgt {fee} Euro je Wartung. Reisekosten sind enthalten.

## 3 Dauer

Der Vertrag beginnt am 1. Juli 2026 und läuft zwei Jahre. Er verlängert sich {more}.
"""
_RULES = """Reglamento de la casa

{version}

1. Las horas de silencio son de {quiet} a ocho.
2. La basura se baja por la noche.
3. Las bicicletas se guardan en el sótano.
4. {last}
5. Los daños se comunican a la administración el mismo día.
"""
_CORRECTED = """Invoice

Lund Carpentry, 7 Yard Street, Ashby
To: Carla Nunes
Invoice number: 2026-014
Date: {date}

Oak table, restored: {table} EUR
Two chairs, glued: 80.00 EUR
Total: {total} EUR

Payment within fourteen days without deduction.
"""
_STATUTES = """Satzung des Rudervereins Moor
Verein zur Pflege des Ruderns, Oldenburg
In der Fassung vom {date}
Paragraf 1: Der Verein hat seinen Sitz in Oldenburg.
Paragraf 2: Mitglied kann werden, wer das {age}. Lebensjahr vollendet hat.
Paragraf 3: Der Jahresbeitrag beträgt {fee} Euro und ist im Januar fällig.
Paragraf 4: Der Vorstand besteht aus {board} Personen und wird für zwei Jahre gewählt.
Paragraf 5: Die Mitgliederversammlung findet einmal im Jahr statt."""
_WORK = """Contrat de travail

Entre la société Tanneries Moreau et Madame Elena Prieto, il est convenu ce qui suit.

1. Madame Prieto est engagée comme comptable à partir du 1er septembre 2026.
2. La durée du travail est de {hours} heures par semaine.
3. Le salaire mensuel brut est de {pay} euros.
4. La période d'essai est de trois mois.
5. Le contrat est conclu pour une durée indéterminée.

Fait à Fontenay, le {date}
"""
_INSURED = (
    "Northern Mutual, 1 Bridge Street, Dunmore",
    "Policy number | HH-7719-204\nInsured | David Oakes\nProperty | 5 Canal Road, Dunmore\nIssued | {date}",
    "Cover | Sum insured\nBuilding | {building}\nContents | {contents}\nGlass | 2,000",
    "The yearly premium is {premium} euros. It is paid in one sum. The excess of each claim is 150 euros.",
    "Damage is reported within a week. Damage by flood is covered in all rooms above ground.",
)
_BOARD = """# Board meeting of Harbour Freight

Held on 4 May 2026 in Ashby

{state}

Present: Ada Marsh, David Oakes, Greta Lund

1. The accounts of the first quarter were approved.
2. {crane}
3. The next meeting is on 3 August 2026.

Minutes by {by}.
"""
_MANUAL = """Manual da bomba de água B-200
{revision}
Leia este manual antes de ligar a bomba. Guarde-o junto da máquina.
A bomba trabalha com água limpa até {warm} graus.
Antes de abrir a tampa desligue a ficha da tomada.
O filtro limpa-se {often}. Um filtro sujo aquece o motor.
A garantia é de dois anos e não cobre o gelo.
{more}"""
_PLAN = """Project plan for the new quay

{date}

The old wall is taken down in two steps. Step one ends in {first}, step two in {second}.
The steel is delivered by ship, because the road bears no more than 20 tonnes.
The cost is {cost} million euros. The city pays half of it.
Noise is measured at three houses every week. The neighbours are told two weeks before each night shift.
"""
_STAFF = """Telefonliste

Stand: {date}

Ada Marsh: 11
Bruno Keller: 12
Carla Nunes: {carla}
David Oakes: 14
Greta Lund: 15
Hugo Dias: 16
{more}
Werkstatt: 30
Pforte: 10
"""


def _handbook(year: int, more: str) -> bytes:
    return page(
        "Guide de la coopérative d'habitation",
        f"Mis à jour le 2 mars {year}",
        "Chaque membre donne deux heures de travail par mois. Les heures sont notées dans le cahier de l'entrée.",
        "Les machines à laver se réservent la veille. La salle commune se réserve auprès du bureau.",
        more,
        "En cas de panne de chauffage, appelez le gardien. Les clés perdues sont remplacées aux frais du membre.",
    )


def _vitae(date: str, more: str) -> bytes:
    return f"""# Curriculum vitae

Carla Nunes, Rua do Cais 4, Horta
Nascida em 9 de maio de 1990

{date}

## Experiência

{more}- 2016 a 2021: técnica de laboratório, Porto
- 2013 a 2016: assistente, Universidade dos Açores

## Línguas

Português, inglês, alemão
""".encode()


def _insured(date: str, building: str, contents: str, premium: int) -> bytes:
    values = {"date": date, "building": building, "contents": contents, "premium": premium}
    return page("Household insurance policy", *(part.format(**values) for part in _INSURED))


def pairs() -> list[Pair]:
    """Return all pairs of versions."""
    table = "Item,Price\nLamp,{}\nDesk,{}\nChair,{}\nStool,35\nShelf,60\n"
    budget = "Partida,Importe\nObra,{}\nMuebles,{}\nLicencias,900\nReserva,{}\n"
    rows: Sequence[tuple[str, str, str, bytes, str, bytes]] = (
        ("lease", LOOKED_AT, "lease.txt", _LEASE.format(rent=900, garden="").encode(),
         "lease (2).txt", _LEASE.format(rent=950, garden="Hedges are cut twice a year.").encode()),
        ("policy", LOOKED_AT, "travel-policy-2025.pdf", pdf(_POLICY.format(year=2025, far=600, meal=28, hotel=95)),
         "travel-policy-2026.pdf", pdf(_POLICY.format(year=2026, far=800, meal=31, hotel=110))),
        ("price list", LOOKED_AT, "prices.csv", table.format(19, 210, 85).encode(),
         "prices v2.csv", table.format(24, 235, 90).encode()),
        ("contract", LOOKED_AT, "Vertrag Entwurf.md",
         _CONTRACT.format(state="Entwurf vom 3. Juni 2026", party="Greta Lund", fee=480, more="nicht").encode(),
         "Vertrag unterschrieben.md",
         _CONTRACT.format(state="Fassung vom 17. Juni 2026", party="Greta Lund Service",
                          fee=510, more="um ein Jahr").encode()),
        ("handbook", LOOKED_AT, "guide.html", _handbook(2025, "Le jardin est ouvert jusqu'à vingt heures."),
         "guide-nouveau.html", _handbook(2026, "Le jardin est ouvert jusqu'à vingt-deux heures. Les chiens restent"
                                               " en laisse.")),
        ("vitae", LOOKED_AT, "cv_2024.md", _vitae("Janeiro de 2024", "- desde 2021: chefe de laboratório, Horta\n"),
         "cv_2026.md", _vitae("Fevereiro de 2026", "- desde 2025: consultora, Lisboa\n- 2021 a 2025: chefe de"
                                                   " laboratório, Horta\n")),
        ("house rules", LOOKED_AT, "reglamento.txt",
         _RULES.format(version="Versión 2.1", quiet="once", last="Los perros van con correa.").encode(),
         "reglamento 2026.txt",
         _RULES.format(version="Versión 3.0", quiet="diez", last="Los perros van con correa y bozal.").encode()),
        ("corrected bill", LOOKED_AT, "invoice 2026-014.txt",
         _CORRECTED.format(date="2 March 2026", table="340.00", total="420.00").encode(),
         "invoice 2026-014 corrected.txt",
         _CORRECTED.format(date="9 March 2026", table="310.00", total="390.00").encode()),
        ("statutes", KEPT_BACK, "Satzung.pdf",
         pdf(_STATUTES.format(date="12. März 2019", age=16, fee=90, board="drei")),
         "Satzung neu.pdf", pdf(_STATUTES.format(date="8. März 2025", age=14, fee=110, board="fünf"))),
        ("work contract", KEPT_BACK, "contrat v1.txt", _WORK.format(hours=35, pay=2450, date="3 juin 2026").encode(),
         "contrat v2.txt", _WORK.format(hours=32, pay=2390, date="18 juin 2026").encode()),
        ("insurance", KEPT_BACK, "policy.html", _insured("14 January 2025", "240,000", "40,000", 212),
         "policy (1).html", _insured("9 January 2026", "260,000", "45,000", 238)),
        ("draft minutes", KEPT_BACK, "board 4 May draft.md",
         _BOARD.format(state="Draft", crane="The crane is bought for 80,000 euros.", by="Ada Marsh").encode(),
         "board 4 May approved.md",
         _BOARD.format(state="Approved on 3 August 2026", crane="The crane is leased, not bought.",
                       by="Ada Marsh").encode()),
        ("manual", KEPT_BACK, "B-200_revA.pdf",
         pdf(_MANUAL.format(revision="Revisão A, 03/2024", warm=40, often="uma vez por mês", more="")),
         "B-200_revB.pdf",
         pdf(_MANUAL.format(revision="Revisão B, 11/2025", warm=45, often="todas as semanas",
                            more="A bomba não é para crianças."))),
        ("budget", KEPT_BACK, "presupuesto.csv", budget.format(12000, 3400, 1500).encode(),
         "presupuesto final.csv", budget.format(13250, 3100, 1200).encode()),
        ("project plan", KEPT_BACK, "plan.txt",
         _PLAN.format(date="9 February 2026", first="June", second="October", cost=4).encode(),
         "plan_b.txt", _PLAN.format(date="2 April 2026", first="July", second="December", cost=5).encode()),
        ("telephone list", KEPT_BACK, "Telefonliste.txt", _STAFF.format(date="März 2025", carla=13, more="").encode(),
         "Telefonliste.txt", _STAFF.format(date="Januar 2026", carla=23, more="Félix Moreau: 17").encode()),
    )  # fmt: skip
    return [Pair(kind, kept, Upload(a, one), Upload(b, other)) for kind, kept, a, one, b, other in rows]
