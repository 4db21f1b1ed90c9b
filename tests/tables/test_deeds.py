"""What a question says of deeds, events, places and rates: each question is a form that was missed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from desks import settings_in
from docmind.application import DocMind
from docmind.records.documents import Upload
from docmind.tables.word_forms import is_derived, is_irregular, stem
from docmind.tables.words import is_made_of
from each import each_of

TABLES = {
    "payroll": """Employee,Department,Hours,Hourly wage,Gross pay
Nora Berg,Kitchen,152,14.50,2204.00
Luis Ferro,Service,160,13.20,2112.00
Petra Vogel,Office,168,18.75,3150.00
""",
    "flats": """Flat,Tenant,Size m2,Rent,Moved in,Pets allowed
1A,Jonas Kraft,48,620,2019-04-01,no
1B,Sabine Holt,62,755,2021-10-15,yes
2A,Murat Demir,45,640,2016-02-01,no
""",
    "league": """Team,Played,Won,Drawn,Lost
Harbour Spin,10,6,2,2
Mill Lane,10,4,3,3
Quarry Loopers,10,2,1,7
""",
    "gala": """Swimmer,Event,Seconds,Place
Hana Mori,freestyle,31.4,2
Ben Okoye,freestyle,30.9,1
Tom Gray,freestyle,33.8,3
""",
    "van-costs": """Date,Vehicle,Kind,Garage,Amount EUR
2024-11-04,Van,Tyres,Reifen Wolf,486
2025-01-17,Scooter,Battery,Zweirad Kuhn,79.9
2025-02-03,Van,Inspection,Autohaus Beck,349.5
2025-03-10,Van,Fuel,Star,88.6
""",
    "freezer": """Food,Drawer,Portions,Frozen on,Use by
Lasagne,1,4,2025-02-10,2025-05-10
Pea soup,2,6,2025-01-05,2025-04-05
Raspberries,3,5,2024-07-12,2025-07-12
""",
    "complaints": """Ticket,Customer,Product,Opened,Closed,Agent
C-880,Ola Berg,Kettle,2025-01-06,2025-01-09,Nina
C-884,Ravi Nair,Toaster,2025-01-15,,Jorge
C-903,Tess Moor,Blender,2025-03-04,,Nina
""",
    "shop-orders": """Order,Customer,Item,Qty,Unit price
7001,Bluebird,Oat milk,24,1.85
7002,Hotel Mirador,Hand soap,60,2.40
7004,Pension Alba,Tea towels,15,3.95
""",
    "doctors": """Doctor,Speciality,Phone,Next visit
Helen Marsh,Dermatology,020 555 0142,2025-06-11
Saul Tan,Dentist,020 555 0177,2025-04-29
""",
    "servers": """Host,OS,RAM GB,Backup,Owner
alpha,Debian,64,daily,Mia
bravo,Ubuntu,32,weekly,
carla,Debian,128,daily,Rui
""",
    "reading-list": """Month,Book,Author,Pages,Host
March,North Wind,P. Demir,198,Olivia
April,The Clockmaker,J. Abbot,455,Renata
""",
    "donations": """Date,Donor,Amount,Method,Receipt sent
2025-01-11,Marlies Groot,50,transfer,yes
2025-04-03,Anouk Smit,20,cash,no
""",
    "library-cards": """Reader,Branch,Loans,Fines EUR
Nuno Lage,Central,3,0
Petra Ruiz,West,0,4.5
""",
    "weather": """Date,Max C,Min C,Rain mm
2025-05-01,18.5,7.2,0
2025-05-03,16.1,8.8,12.4
2025-05-04,13.7,6.0,3.2
""",
}


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DocMind]:
    with DocMind(settings_in(tmp_path_factory.mktemp("desk"))) as docmind:
        docmind.add([Upload(f"{name}.csv", text.encode()) for name, text in TABLES.items()])
        yield docmind


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("What does Luis Ferro earn an hour?", "13.20"),
        ("How much more does Petra Vogel earn than Luis Ferro?", "1,038.00: "),
        ("Which flat is the biggest?", "1B"),
        ("How many tenants may keep pets?", "1 row"),
        ("How many matches did Harbour Spin win?", "6"),
        ("Which team drew three times?", "Mill Lane"),
        ("Who won the freestyle?", "Ben Okoye"),
        ("Who came third in the freestyle?", "Tom Gray"),
        ("How much did the van cost in 2025?", "438.1: "),  # `van` is a verb of Spanish
        ("When was the van inspected?", "2025-02-03"),
        ("Which food expires first?", "Pea soup"),
        ("What has been in the freezer the longest?", "Raspberries"),
        ("Which complaints are still open?", "C-884, Ravi Nair; C-903, Tess Moor"),
        ("Who handled complaint C-880?", "Nina"),
        ("What did Pension Alba order?", "Tea towels"),
        ("What is the number of the dentist?", "020 555 0177"),
        ("Which server has the most memory?", "carla"),
        ("Which hosts are backed up daily?", "alpha; carla"),
        ("How many hosts have an owner?", "2 rows"),
        ("Who hosted in April?", "Renata"),
        ("What was the longest book?", "455"),
        ("How did Anouk Smit pay?", "cash"),
        ("Which donors haven't got a receipt yet?", "Anouk Smit"),
        ("How warm did it get on 3 May?", "16.1"),
        ("On how many days did it rain?", "2 rows"),
        ("Who donated after February?", "Anouk Smit"),
        ("Which readers have fines?", "Petra Ruiz"),
    ],
)
def test_what_is_asked_is_computed(desk: DocMind, question: str, wanted: str) -> None:
    answer = desk.ask(question)
    assert answer.outcome == "answer"
    assert answer.computed is not None
    assert wanted in answer.answer


@pytest.mark.parametrize(
    "question",
    [
        "How heavy is Ben Okoye?",
        "How old is Jonas Kraft?",
        "What does Helen Marsh cost?",
        "What does Murat Demir grow?",
        "What was the bonus of Nora Berg?",
        "Who teaches Hana Mori?",
        "How much did we spend on training?",
        "Who does bravo belong to?",  # its owner is not told
    ],
)
def test_what_no_column_tells_is_not_sure(desk: DocMind, question: str) -> None:
    assert desk.ask(question).outcome in ("maybe", "not found")


def test_a_word_that_nothing_accounts_for_is_told(desk: DocMind) -> None:
    answer = desk.ask("How many cordless hosts have an owner?")
    assert answer.outcome in ("maybe", "not found")
    assert answer.computed is None or "cordless" in answer.answer


@each_of(
    "one, other, is_one",
    [
        ("inspected", "inspection", True), ("vaccinated", "vaccination", True), ("cooks", "cooking", True),
        ("dermatologist", "dermatology", True), ("reparado", "reparacion", True), ("gereinigt", "reinigung", True),
        ("training", "train", False), ("refuel", "fuel", True), ("station", "state", False),
         ("painting", "pain", False), ("plant", "plan", False),
    ],
)  # fmt: skip
def test_words_made_of_one(one: str, other: str, is_one: bool) -> None:
    assert is_made_of(one, other) is is_one


def test_forms_that_endings_do_not_tell() -> None:
    assert is_irregular("won", "win")
    assert not is_irregular("won", "one")
    assert stem("shopping") == stem("shops")
    assert not is_derived("cat", "cats"), "too short"
