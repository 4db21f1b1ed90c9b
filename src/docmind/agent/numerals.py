"""Numbers in words, in English, Portuguese and Spanish: `twenty-one`, `cento e vinte`, `doscientos mil`.

Words are lower case without accents.
"""

from __future__ import annotations

from collections.abc import Sequence


def _table(pairs: str) -> dict[str, int]:
    """`two:2 three:3` as a dict."""
    return {name: int(value) for name, value in (pair.split(":") for pair in pairs.split())}


SCALES: dict[str, float] = {
    **dict.fromkeys(["thousand", "thousands", "mil", "miles", "milhares"], 1e3),
    **dict.fromkeys(["million", "millions", "milhao", "milhoes", "millon", "millones", "mn"], 1e6),
    **dict.fromkeys(["billion", "billions", "bilhao", "bilhoes", "bn"], 1e9),
    **dict.fromkeys(("mil millones", "mil milhoes"), 1e9),
    **dict.fromkeys(["trillion", "trillions", "trilhao", "trilhoes"], 1e12),
}
_TABLES = {
    "": """one:1 two:2 three:3 four:4 five:5 six:6 seven:7 eight:8 nine:9 ten:10 eleven:11 twelve:12 thirteen:13
        fourteen:14 fifteen:15 sixteen:16 seventeen:17 eighteen:18 nineteen:19 twenty:20 thirty:30 forty:40 fifty:50
        sixty:60 seventy:70 eighty:80 ninety:90
        dois:2 duas:2 tres:3 quatro:4 cuatro:4 cinco:5 seis:6 sete:7 siete:7 oito:8 ocho:8 nove:9 nueve:9 dez:10
        diez:10 onze:11 doze:12 doce:12 treze:13 trece:13 quatorze:14 catorze:14 catorce:14 quinze:15 quince:15
        dezesseis:16 dieciseis:16 dezessete:17 diecisiete:17 dezoito:18 dieciocho:18 dezenove:19 diecinueve:19
        vinte:20 veinte:20 veintiuno:21 veintidos:22 veintitres:23 veinticuatro:24 veinticinco:25 trinta:30 treinta:30
        quarenta:40 cuarenta:40 cinquenta:50 cincuenta:50 sessenta:60 sesenta:60 setenta:70 oitenta:80 ochenta:80
        noventa:90 cem:100 cien:100 cento:100 ciento:100 duzentos:200 duzentas:200 doscientos:200 doscientas:200
        trezentos:300 trezentas:300 trescientos:300 trescientas:300 quatrocentos:400 quatrocentas:400
        cuatrocientos:400 cuatrocientas:400 quinhentos:500 quinhentas:500 quinientos:500 quinientas:500
        seiscentos:600 seiscientos:600 setecentos:700 setecientos:700 oitocentos:800 ochocientos:800 novecentos:900
        novecientos:900""",
    "es": "dos:2 once:11",
}
_BY_LANGUAGE = {language: _table(text) for language, text in _TABLES.items()}
_COMMON = _BY_LANGUAGE[""]
SMALL = frozenset(_COMMON) | frozenset(_BY_LANGUAGE["es"]) | {"hundred", "mil", "thousand", "dozen"}
_AND = frozenset({"and", "e", "y"})

_ORDINALS = """third:3 fourth:4 fifth:5 sixth:6 seventh:7 eighth:8 ninth:9 tenth:10 eleventh:11 twelfth:12
terceiro:3 terceira:3 tercero:3 tercera:3 tercer:3 quinto:5 quinta:5 sexto:6 sexta:6 setimo:7 setima:7 septimo:7
septima:7 oitavo:8 oitava:8 octavo:8 octava:8 nono:9 nona:9 noveno:9 novena:9 decimo:10 decima:10
thirds:3 fifths:5 tenths:10 terco:3 tercos:3 tercio:3 tercios:3 quintos:5 quintas:5 decimos:10"""
ORDINALS = _table(_ORDINALS)
_MONTHS = """january:1 february:2 march:3 april:4 may:5 june:6 july:7 august:8 september:9 october:10 november:11
december:12 jan:1 feb:2 mar:3 apr:4 jun:6 jul:7 aug:8 sep:9 sept:9 oct:10 nov:11 dec:12
janeiro:1 fevereiro:2 marco:3 abril:4 maio:5 junho:6 julho:7 agosto:8 setembro:9 outubro:10 novembro:11 dezembro:12
enero:1 febrero:2 marzo:3 mayo:5 junio:6 julio:7 septiembre:9 setiembre:9 octubre:10 noviembre:11 diciembre:12"""
MONTHS = _table(_MONTHS)


def numeral(words: Sequence[str], language: str = "") -> tuple[float, int]:
    """The number that the first words say, and how many words it takes; (0, 0) where they say none."""
    table = {**_COMMON, **_BY_LANGUAGE.get(language, {})}
    total = current = 0.0
    used = at = 0
    last = 1e18  # two numbers side by side (`five ten`) are not added
    while at < len(words):
        word = words[at]
        if word in table and table[word] < last:
            current += table[word]
            last = _room(table[word])
        elif word == "hundred":
            current, last = max(1.0, current) * 100, 100
        elif word == "dozen":
            current, last = max(1.0, current) * 12, 0
        elif word in SCALES and (current or word in ("mil", "thousand")):
            total, current, last = total + max(1.0, current) * SCALES[word], 0.0, 1e18
        elif word in _AND and used == at and used:
            at += 1
            continue
        else:
            break
        at += 1
        used = at
    return (total + current, used) if used else (0.0, 0)


def _room(value: int) -> int:
    """What may still be added: ones after tens, tens after hundreds."""
    return 100 if value >= 100 else 10 if value >= 20 else 0
