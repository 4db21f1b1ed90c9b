"""Verification of written answers with the real text model: hand-checkable cases and hostile ones.

Drafts of a language model: marks are removed, Markdown is kept, sentences are found.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import pytest

from desks import settings_in, text_pdf
from docmind.answers.verify import Passage, Verified, Verifier, clean, clean_seen, pieces, quoted
from docmind.application import DocMind
from docmind.config import EmbeddingSettings
from docmind.documents.catalog import Catalog
from docmind.embedding.minilm import MiniLM, default_cache_dir
from docmind.errors import ExtraMissingError
from docmind.records.documents import Upload
from docmind_testkit import FakeEmbedder
from each import each_of
from stored_pages import page, passages


def told(text: str) -> list[tuple[str, str, bool]]:
    return [(piece.kind, text[piece.start : piece.end], piece.is_claim) for piece in pieces(text)]


@each_of(
    "draft, cleaned",
    [
        ("Rent is due [1].", "Rent is due."),
        ("Rent is due. [1][2] Pets stay [3, 4].", "Rent is due. Pets stay."),
        ("Due [source 2], paid [^3], read 【4†lease.pdf】.", "Due, paid, read."),
        ("Fonte [fonte 1] e [Documento 2].", "Fonte e."),
        ("Never [999] or [1-3] or [[7]].", "Never or or [(7)].".replace("[(7)]", "[]")),
        ("A link [1](http://x.example/a?b=c) stays no link.", "A link stays no link."),
        ("Hidden [\u200b1\u2060] marks \u202eand\u202c turns.", "Hidden marks and turns."),
        ("An interval [0, 1] and [a] stay.", "An interval [0, 1] and [a] stay."),
        ("```\nx[1] = 2\n```", "```\nx[1] = 2\n```"),
        ("Rent is due.\n\n**Sources:**\n[1] lease.pdf, page 3\n- [2] herons.pdf", "Rent is due."),
        ("Half of a \ud800 pair\r\nand a line.", "Half of a ? pair\nand a line."),
        ("می‌خواهم", "می‌خواهم"),
    ],
)
def test_marks_of_the_model_go(draft: str, cleaned: str) -> None:
    assert clean(draft) == cleaned


def test_a_mark_taken_out_of_another_leaves_none() -> None:
    assert "[1]" not in clean("[1[2]] and [" * 3 + "[1" * 12 + "]" * 12)


@each_of(
    "draft, cleaned, marks",
    [
        ("It is red [image 1].", "It is red.", [(9, 1)]),
        ("It is red. [Image 2] It is big.", "It is red. It is big.", [(10, 2)]),
        ("Vermelho (imagem 1) e azul【images 1 and 2】.", "Vermelho e azul.", [(8, 1), (15, 1), (15, 2)]),
        ("[image 1] It is red.", "It is red.", [(0, 1)]),
        ("Red [image 3], blue [image 1; image 3].", "Red [image 3], blue [image 1; image 3].", []),
        ("Red [1][image 1][2].", "Red.", [(3, 1)]),
        ("Red [[image 1]].", "Red [].", [(5, 1)]),
        ("Red [[image 1]1] and blue [1[image 2]].", "Red and blue.", []),
        ("```\n[image 1]\n```", "```\n[image 1]\n```", []),
        ("Red \ufdd0\ufdd1 here.", "Red  here.", []),
        ("| red [image 1] | 2 |", "| red | 2 |", [(5, 1)]),
        ("An image 1 of it, and images.", "An image 1 of it, and images.", []),
    ],
)
def test_marks_of_images_go_and_their_places_stay(draft: str, cleaned: str, marks: list[tuple[int, int]]) -> None:
    assert clean_seen(draft, {1, 2}) == (cleaned, marks)
    if "\ufdd0" not in draft:
        assert clean_seen(draft, set()) == (clean(draft), [])


def test_sentences_of_prose_lists_and_headings() -> None:
    text = (
        "# Results of 2022\n\nRevenue grew, e.g. in Europe. Mr. Smith\nsaid so.\n"
        "- **Net sales**: fell by 5%. They rose later.\n  1. Item one holds here\n> Quoted words stand."
    )
    assert told(text) == [
        ("head", "Results of 2022", False),
        ("prose", "Revenue grew, e.g. in Europe.", True),
        ("prose", "Mr. Smith\nsaid so.", True),
        ("prose", "**Net sales**: fell by 5%.", True),
        ("prose", "They rose later.", True),
        ("prose", "Item one holds here", True),
        ("prose", "Quoted words stand.", True),
    ]


def test_rows_of_a_table_are_claims_and_its_head_is_none() -> None:
    text = "| Year | Rent |\n|---|---:|\n| 2021 | 1,450 |\n| 2022 | 1,480 |"
    assert told(text) == [
        ("head", "Year | Rent", False),
        ("row", "2021 | 1,450", True),
        ("row", "2022 | 1,480", True),
    ]


@each_of(
    "rule, is_rule",
    [
        ("|---|---:|", True),
        (" --- | :--: ", True),
        ("|:--|--:", True),
        ("|--:--| -- -- |", True),
        ("|---||---|", False),
        ("|---|-|", False),
        ("|---|a|", False),
        ("|--|::--|", False),
        ("| |--|", False),
        ("|", False),
        ("--- ---", False),
        ("-" * 40 + " rent", False),
        ("|" + "-" * 100_000 + "a", False),
        ("|" + "-- " * 30_000 + "a", False),
        ("|" + "--:" * 30_000 + "a", False),
    ],
)
def test_the_rule_below_the_head_of_a_table(rule: str, is_rule: bool) -> None:
    assert (told(f"| Year | Rent |\n{rule}\n| 2021 | 1,450 |")[0] == ("head", "Year | Rent", False)) == is_rule


def test_code_is_one_piece() -> None:
    assert told("Run this:\n```sh\npip install seaborn and run it\n```\nDone it is then.")[1] == (
        "code", "```sh\npip install seaborn and run it\n```", True,
    )  # fmt: skip


@each_of(
    "text",
    [
        "Hello!",
        "Sure! Here is what I found:",
        "I hope this helps.",
        "Who signed the lease?",
        "The documents do not say who signed the lease.",
        "I could not find this in your documents.",
        "Os documentos não mencionam o valor da multa.",
        "Não encontrei essa informação.",
        "Los documentos no indican la fecha.",
        "No encontré nada sobre eso.",
        "Key points:",
        "**Summary**",
        "Based on the passages, the answer is as follows:",
    ],
)
def test_what_says_nothing_of_the_documents_is_no_claim(text: str) -> None:
    assert [piece.is_claim for piece in pieces(text)] == [False]


@each_of(
    "text",
    [
        "The documents do not mention pets, but the rent is due monthly.",
        "The report does not contain 12 chapters.",
        "Rent: 5 euros.",
        "The rent is $1,450:",
        "Sure, the tenant pays 1,450 euros.",
        "Yes.",
        "The contract is silent.",
        "O inquilino paga o aluguel.",
    ],
)
def test_in_doubt_it_is_a_claim(text: str) -> None:
    assert any(piece.is_claim for piece in pieces(text))


def test_a_sentence_without_end_is_cut() -> None:
    found = told("rent and tenant and deposit " * 200)
    assert len(found) > 5
    assert all(len(said) <= 420 for _, said, _ in found)


LEASE = """LEASE AGREEMENT
Greenfield Holdings rents the house at 12 Mill Lane to Ana Ferreira from 1 March 2021 for three years.
The tenant pays a monthly rent of $1,450 on the first day of the month. A deposit of two months is due at signing.
The landlord repairs the heating within ten days after a written notice.
Pets are not allowed without the written consent of the landlord.
The rent may rise by at most 3% a year. Total costs of the renovation were $3.2 billion.
The tenant insures the furniture. Oakwood Insurance covers water damage up to 20,000 euros."""
TABLE = """CONSOLIDATED STATEMENTS OF INCOME
(In millions, except per share data)
Years ended December 31, 2022 2021 2020
Subscription revenue 16,388 14,573 11,626
Total revenue 17,606 15,785 12,868
Net loss (112) (113) (116)
Diluted net income per share 10.10 10.02 10.83"""
LEI = """Art. 52. Os agentes de tratamento ficam sujeitos às seguintes sanções aplicáveis pela autoridade nacional.
II - multa simples, de até 2% (dois por cento) do faturamento da empresa no Brasil, limitada, no total, a
R$ 50.000.000,00 por infração.
O controlador e o operador devem manter registro das operações de tratamento de dados pessoais que realizarem.
A suspensão dura no máximo 6 (seis) meses e não será prorrogada."""
LEY = """El Fiscal Nacional deberá tener a lo menos diez años de título de abogado y cuarenta años de edad.
El Tribunal Constitucional tendrá doce miembros, que durarán nueve años en sus cargos.
La multa será de 1.234,50 pesos. El sufragio no será obligatorio para los menores."""
SCAN = "The agents seized the Abraham Linco1n pen from Mont B1anc on August 23, 2017 in Detroit."


@pytest.fixture(scope="module")
def verifier() -> Verifier:
    return Verifier(MiniLM(default_cache_dir()))


EVERYTHING = passages(
    page(LEASE), page(TABLE, name="b"), page(LEI, "pt", name="c"), page(LEY, "es", name="d"),
    page(SCAN, source="ocr", name="e"),
)  # fmt: skip


def supported(verifier: Verifier, text: str) -> bool:
    verified = verifier.verify(text, EVERYTHING)
    claims = [sentence for sentence in verified.sentences if sentence.is_claim]
    assert claims, text
    return all(sentence.supported for sentence in claims)


TRUE = [
    "The tenant pays a monthly rent of $1,450 on the first day of the month.",
    "According to the lease, the monthly rent is 1450 dollars.",
    "Greenfield Holdings rents 12 Mill Lane to Ana Ferreira for 3 years from 1 March 2021.",
    "The landlord has to repair the heating within 10 days of a written notice.",
    "Pets aren't allowed without the landlord's written consent.",
    "The rent may rise by three percent a year at most.",
    "The renovation cost $3,200 million in total.",
    "Water damage is covered by Oakwood Insurance up to 20,000 euros.",
    "Total revenue was $17,606 million in 2022.",
    "Total revenue was about $17.6 billion in 2022 and $15.8 billion in 2021.",
    "A multa simples é de até dois por cento do faturamento da empresa no Brasil.",
    "A multa simples é limitada a R$ 50 milhões por infração.",
    "A suspensão dura no máximo seis meses.",
    "El Tribunal Constitucional tendrá 12 miembros, que durarán 9 años en sus cargos.",
    "La multa será de 1234,50 pesos.",
    "The agents seized the Abraham Lincoln pen on August 23, 2017.",
]
FALSE = [
    "The tenant pays a monthly rent of $1,540 on the first day of the month.",  # digits
    "The tenant pays a monthly rent of $14,500 on the first day of the month.",  # scale
    "The tenant pays a monthly rent of $20,000 on the first day of the month.",  # another number of the page
    "Ana Ferreira rents the house from 1 March 2022 for three years.",  # year
    "Ana Ferreira rents the house from 1 May 2021 for three years.",  # month
    "The landlord repairs the heating within ten months after a written notice.",  # unit
    "The landlord repairs the heating within twelve days after a written notice.",  # in words
    "Total costs of the renovation were $3.2 million.",  # million, billion
    "The rent may rise by at most 30% a year.",
    "Pets are allowed without the written consent of the landlord.",  # denial
    "The landlord does not repair the heating within ten days after a written notice.",
    "Oakwood Holdings rents the house at 12 Mill Lane to Ana Ferreira.",  # names
    "Greenfield Holdings rents the house at 12 Mill Lane to Maria Ferreira.",
    "Maplewood Insurance covers water damage up to 20,000 euros.",
    "Total revenue was $17,606 million in 2021.",  # another column
    "Total revenue was $16,388 million in 2022.",  # another row
    "A multa simples é de até 3% do faturamento da empresa no Brasil.",
    "A multa simples é limitada a R$ 5 milhões por infração.",
    "O controlador e o operador não devem manter registro das operações de tratamento de dados pessoais.",
    "El Tribunal Constitucional tendrá diez miembros, que durarán nueve años en sus cargos.",
    "El sufragio será obligatorio para los menores.",
    "The agents seized the George Washington pen on August 23, 2017.",
    "The agents seized the Abraham Lincoln pen on August 28, 2017.",
    "Most leases in the city end in summer.",  # nowhere
    "Photosynthesis turns light into chemical energy.",
    "The tenant insures the furniture, and the landlord owns a boat in Lisbon harbour.",  # tacked on
]


@pytest.mark.slow
@each_of("text", TRUE)
def test_what_a_page_says_is_supported(verifier: Verifier, text: str) -> None:
    assert supported(verifier, text)


@each_of("text", FALSE)
def test_what_no_page_says_is_not(verifier: Verifier, text: str) -> None:
    assert not supported(verifier, text)


def test_an_answer_is_marked_and_tied_to_words(verifier: Verifier) -> None:
    text = "Sure! Here is what I found:\n\n- **Rent**: the tenant pays a monthly rent of $1,450 [7].\n- All is cheese."
    verified = verifier.verify(text, EVERYTHING, epoch=5)
    assert verified.answer == (
        "Sure! Here is what I found:\n\n- **Rent**: the tenant pays a monthly rent of $1,450. [1]\n- All is cheese."
    )
    assert [(s.is_claim, s.supported, s.sources) for s in verified.sentences] == [
        (False, False, ()), (True, True, (1,)), (True, False, ()),
    ]  # fmt: skip
    source = verified.sources[0]
    assert source.quote == "The tenant pays a monthly rent of $1,450 on the first day of the month."
    assert (source.n, source.document, source.page_no, source.index_epoch) == (1, "a.pdf", 1, 5)
    assert (source.image_artifact_id, source.image_artifact_suffix) == ("ab" * 32, ".webp.enc")
    assert [tuple(box) for box in source.boxes] == [(0.0, 24.0, 6.0 * len(source.quote), 10.0)]
    check(verified)


def test_sources_are_numbered_by_first_mention_and_cited_twice(verifier: Verifier) -> None:
    text = (
        "Pets are not allowed without written consent. The monthly rent is $1,450."
        " Each month the tenant pays a rent of $1,450."
    )
    verified = verifier.verify(text, EVERYTHING)
    assert [sentence.sources for sentence in verified.sentences] == [(1,), (2,), (2,)]
    assert [source.n for source in verified.sources] == [1, 2]
    assert verified.sources[0].quote.startswith("Pets")
    check(verified)


def test_a_sentence_may_need_two_pages(verifier: Verifier) -> None:
    text = "The tenant pays a monthly rent of $1,450, and La multa será de 1.234,50 pesos."
    verified = verifier.verify(text, EVERYTHING)
    assert {source.document for source in verified.sources} == {"a.pdf", "d.pdf"}
    assert verified.sentences[0].sources == (1, 2)
    check(verified)


def test_a_table_of_the_answer_is_checked_row_by_row(verifier: Verifier) -> None:
    text = "| | 2022 | 2021 |\n|---|---|---|\n| Total revenue | 17,606 | 15,785 |\n| Subscription | 16,999 | 14,573 |"
    verified = verifier.verify(text, EVERYTHING)
    assert [sentence.supported for sentence in verified.sentences if sentence.is_claim] == [True, False]
    assert "| Total revenue | 17,606 | 15,785 [1] |" in verified.answer
    check(verified)


def test_the_whole_page_is_looked_at_and_the_window_preferred(verifier: Verifier) -> None:
    text = "Herons nest in tall poplar trees.\n" + "Filler lines say nothing at all about birds.\n" * 12
    record = page(text + "Herons nest in tall poplar trees.\nOwls hunt at night in the valley.", name="f")
    (one,) = passages(record)
    late = replace(one, start=len(text), end=len(record.text))
    verified = verifier.verify("Herons nest in tall poplar trees. Owls hunt at night in the valley.", [late])
    assert verified.sources[0].boxes[0].y > 100
    assert all(s.supported for s in verifier.verify("Owls hunt at night in the valley.", [one]).sentences)


def test_without_the_text_model_words_decide_and_it_is_named() -> None:
    class Broken(FakeEmbedder):
        def embed_documents(self, texts: Sequence[str]):
            raise ExtraMissingError("The text model is missing.")

    verified = Verifier(Broken()).verify(
        "The landlord must repair heating within ten days of written notice.", EVERYTHING
    )
    assert [one.stage for one in verified.degraded] == ["verify"]
    check(verified)
    assert not supported(Verifier(Broken()), "The landlord must repair the heating within nine days.")


def test_quotes_are_their_own_evidence() -> None:
    sources = Verifier(FakeEmbedder()).verify(LEASE.split("\n")[2], EVERYTHING).sources
    told = quoted(sources)
    assert told.answer == f"“{sources[0].quote}” [1]"
    assert told.sources == sources
    check(quoted(sources[:1]))
    maybe = quoted([*sources, replace(sources[0], n=len(sources) + 1)], "maybe")
    assert maybe.answer.startswith(f"These passages may answer it:\n\n“{sources[0].quote}” [1]")
    assert [sentence.sources for sentence in maybe.sentences] == [(source.n,) for source in maybe.sources]
    check(maybe)
    assert quoted([]) == Verified("", (), ())


def test_nothing_to_say_and_nothing_found(verifier: Verifier) -> None:
    assert verifier.verify("", EVERYTHING) == Verified("", (), ())
    verified = verifier.verify("The rent is $1,450 [1].", [])
    assert (verified.answer, verified.sources) == ("The rent is $1,450.", ())
    assert not verified.sentences[0].supported


@pytest.mark.slow
def test_a_found_page_of_a_vault_is_cited_with_its_boxes(tmp_path_factory: pytest.TempPathFactory) -> None:
    settings = settings_in(
        tmp_path_factory.mktemp("verify"), embedding=EmbeddingSettings(model="minilm"), cache_dir=default_cache_dir()
    )
    line = "The tenant pays a monthly rent of 1,450 euros on the first day of the month."
    with DocMind(settings) as desk:
        desk.add([Upload("lease.pdf", text_pdf([line, "Herons nest in tall poplar trees near the river."]))])
        hits = desk.search("How much is the rent?").hits
        pages = Catalog(desk.vault.database).pages((hit.doc_id, hit.page_no) for hit in hits)
        found = [Passage(hit, pages[hit.doc_id, hit.page_no], 0, len(hit.text)) for hit in hits]
        verified = Verifier(desk.embedder).verify("The rent is 1,450 euros a month. It is 1,540 euros.", found)
    assert [sentence.supported for sentence in verified.sentences] == [True, False]
    assert verified.sources[0].quote == line
    assert verified.sources[0].boxes[0].w > 100


HOSTILE = {
    "long": "The tenant pays a monthly rent of $1,450 on the first day of the month. " * 1400,
    "without end": "rent and tenant and deposit " * 3600,
    "one word": "a" * 100_000,
    "digits": "1" * 100_000,
    "numbers": "12,345.67 " * 10_000,
    "markers": "[1]" * 33_000 + "[" * 1000 + "1" + "]" * 1000,
    "open brackets": "[1, " * 25_000,
    "blanks": " " * 100_000 + "rent",
    "lines": "\n" * 50_000 + "- " * 20_000,
    "bars": "|" * 50_000 + "\n|---|\n" + "| a " * 10_000,
    "stops": ". " * 50_000,
    "quotes": "> " * 50_000,
    "fence": "```\n" + "x[1] = rent\n" * 8000,
    "right to left": "المستأجر يدفع الإيجار الشهري في اليوم الأول. " * 2000,
    "Chinese": "租客每月支付租金。" * 10_000,
    "hidden": "re\u200bnt \u202eof\u202c $1\u2060,450 [\u200b9\u200b99] " * 2000,
    "names": "Ana Ferreira Greenfield Holdings " * 3000,
    "surrogates": "rent \ud800 $1,450. " * 2000,
    "not": "not " * 25_000,
    "links": "[rent](http://" + "a" * 50_000 + ") [x](y)" * 5000,
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_answers_end_and_keep_their_promises(verifier: Verifier, name: str) -> None:
    verified = verifier.verify(HOSTILE[name], EVERYTHING)
    check(verified)
    assert len(verified.answer) <= len(HOSTILE[name]) + 60 * len(verified.sentences) + 10
    assert not re.search("[\u200b\u202e\u2060]", verified.answer)


def check(verified: Verified) -> None:
    """Check the guarantees of every answer: spans, marks, numbers, verbatim quotes."""
    at = 0
    for sentence in verified.sentences:
        assert verified.answer[sentence.start : sentence.end] == sentence.text
        assert sentence.start >= at
        assert sentence.supported == bool(sentence.sources)
        marks = re.match(r"\s?((?: ?\[\d+\])*)", verified.answer[sentence.end :])
        assert marks is not None
        assert marks[1].split() == [f"[{n}]" for n in sentence.sources]
        at = sentence.end
    assert [source.n for source in verified.sources] == list(range(1, len(verified.sources) + 1))
    assert {n for sentence in verified.sentences for n in sentence.sources} == {source.n for source in verified.sources}
    texts = {passage.page.doc_id: passage.page.text for passage in EVERYTHING}
    assert all(source.quote in texts.get(source.doc_id, source.quote) for source in verified.sources)
