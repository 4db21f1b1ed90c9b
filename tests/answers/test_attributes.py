"""What is asked about a thing: who it is, what it costs, its number and its colour."""

from __future__ import annotations

from docmind.answers.attributes import in_one_clause, tells_attribute
from docmind.answers.kinds import asked_of, content_words, holds
from each import each_of


@each_of(
    "question, text, expected",
    [
        ("Who is the tenant?", "Tenant: Beatrice Lowell, teacher.", True),
        ("Who is the tenant?", "Repairs of the roof are done by the landlord.", False),
        ("Who is the plumber?", "A plumber will replace the valve on 3 June.", False),
        ("¿Quién es la administradora?", "Actúa como secretaria la administradora, Nuria Cobos.", True),
        ("Quem é o zelador?", "O zelador trabalha de segunda a sexta.", False),
        ("Who repairs the roof?", "Repairs of the roof are done by the landlord.", True),
        ("What is the phone number of the porter?", "Porter: 555 0142", True),
        ("What is the phone number of the porter?", "Dial 112 for the porter.", True),
        ("Qual é o telefone da síndica?", "Atualizada em 9 de outubro de 2024 pela síndica.", False),
        ("What is the IBAN of the club?", "The club has 142 members and 2 accounts.", False),
        ("What is the IBAN of the club?", "Pay to PT50 0002 0123 1234 5678 9015 4.", True),
        ("Quanto custa o salão?", "O salão comporta 45 pessoas.", False),
        ("Quanto custa o salão?", "O salão custa 45 por dia.", True),
    ],
)
def test_the_form_of_what_is_asked(question: str, text: str, *, expected: bool) -> None:
    assert holds(asked_of(question), text) is expected


@each_of(
    "question, text, expected",
    [
        ("How much does the chair cost?", "The firm pays 55 euros a month for power and provides a chair.", False),
        ("How much does the trip cost?", "The trip costs £17.50 per child, which covers the coach.", True),
        ("How much does the coach cost?", "The trip costs £17.50 per child, which covers the coach.", False),
    ],
)
def test_a_price_stands_in_one_clause_with_its_thing(question: str, text: str, *, expected: bool) -> None:
    assert in_one_clause(content_words(question), text) is expected


@each_of(
    "question, text, expected",
    [
        ("What colour is the coat?", "The coat is dark blue.", True),
        ("What colour is the coat?", "The coat is 120 cm long.", False),
        ("¿De qué color es la llama?", "La llama tarda veinte segundos en prender.", False),
        ("¿Qué marca es el portátil?", "Si se pierde el portátil hay que avisar.", False),
        ("What breed is the dog?", "The breed of the dog is a whippet.", True),
        ("What is the name of the network?", "The network is called Lighthouse.", True),
    ],
)
def test_an_attribute_is_named(question: str, text: str, *, expected: bool) -> None:
    assert tells_attribute(question, text, "") is expected
