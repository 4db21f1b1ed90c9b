"""Contacts (vCard), calendars (iCalendar) and outlines (OPML)."""

from __future__ import annotations

import pytest

from docmind.blocks import unpack
from docmind.errors import CorruptFileError
from docmind.reading.file_type import identify, is_plain
from docmind.reading.formats import Opened, Rules, reader
from docmind.records.documents import Loss, Upload
from mutants import mutants, read_or_refuse
from sampled import tenth_of

CONTACTS = r"""BEGIN:VCARD
VERSION:3.0
N:Lopez;Ann;Maria;Dr.;
FN:Dr. Ann Lopez
ORG:Otter Institute;Ponds
TITLE:Head of Ponds
TEL;TYPE=WORK,VOICE:+351 21 000 111
item1.TEL;type=CELL;type=pref:+351 91 222 333
EMAIL;TYPE=INTERNET;TYPE=WORK:ann@example.org
ADR;TYPE=HOME:;;Rua do Lago 1;Lisboa;;1000-001;Portugal
BDAY:19850412
NOTE:Likes tea\, not coffee.\nMet in
  Porto.
PHOTO;ENCODING=b;TYPE=JPEG:/9j/4AAQ
END:VCARD
BEGIN:VCARD
VERSION:2.1
N:Nu=C3=B1ez;Jos=C3=A9
FN;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:Jos=C3=A9 Nu=
=C3=B1ez
TEL;HOME:212 555
BDAY:--0412
END:VCARD
"""
CALENDAR = r"""BEGIN:VCALENDAR
VERSION:2.0
X-WR-CALNAME:Otter team
BEGIN:VTIMEZONE
TZID:Europe/Lisbon
BEGIN:STANDARD
DTSTART:19701025T020000
RRULE:FREQ=YEARLY
END:STANDARD
END:VTIMEZONE
BEGIN:VEVENT
UID:1
DTSTART;TZID=Europe/Lisbon:20260301T140000
DTEND;TZID=Europe/Lisbon:20260301T153000
SUMMARY:Pond count\, north
LOCATION:North pond
ATTENDEE;CN="Lopez, Ann";ROLE=REQ-PARTICIPANT:mailto:ann@example.org
ORGANIZER;CN=Bo:MAILTO:bo@example.org
RRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,-1FR;UNTIL=20260601T000000Z
DESCRIPTION:Bring boots.\nAnd a net.
STATUS:CONFIRMED
BEGIN:VALARM
ACTION:DISPLAY
DESCRIPTION:Reminder
TRIGGER:-PT15M
END:VALARM
END:VEVENT
BEGIN:VEVENT
DTSTART;VALUE=DATE:20260110
DTEND;VALUE=DATE:20260113
SUMMARY:Holiday
END:VEVENT
BEGIN:VEVENT
DTSTART:20260105T230000Z
DURATION:PT2H
SUMMARY:Night watch
END:VEVENT
BEGIN:VTODO
DUE:20260201T120000Z
SUMMARY:Order nets
STATUS:NEEDS-ACTION
END:VTODO
END:VCALENDAR
"""
OUTLINE = """<?xml version="1.0" encoding="UTF-8"?>
<opml version="2.0"><head><title>Reading list of Ann</title>
<ownerName>Ann Lopez</ownerName><dateCreated>Tue, 05 May 2020 10:00:00 GMT</dateCreated></head>
<body><outline text="Ponds"><outline text="Otter news" type="rss" xmlUrl="https://example.org/feed"
htmlUrl="https://example.org"/>
<outline text="To buy" _status="checked" _note="two nets&#10;and boots"/></outline>
<outline title="Only a title"/></body></opml>
"""


def opened(text: str, name: str) -> Opened:
    kind, upload = identify(Upload(name, text.encode()))
    return reader(kind)(upload, kind, Rules())


def rows(text: str, name: str) -> list[str]:
    page = opened(text, name).page(1)
    blocks = unpack(page.blocks, len(page.text))
    return [" ".join(page.text[b.start : b.end].split()) for b in blocks]


def card(*lines: str) -> str:
    return "\r\n".join(("BEGIN:VCARD", "VERSION:4.0", *lines, "END:VCARD", ""))


def event(*lines: str, kind: str = "VEVENT") -> str:
    return "\n".join(("BEGIN:VCALENDAR", f"BEGIN:{kind}", *lines, f"END:{kind}", "END:VCALENDAR"))


def test_contacts_are_a_table_with_what_a_phone_shows() -> None:
    assert rows(CONTACTS, "c.vcf") == [
        "Name | Organisation | Title | Phone | E-mail | Address | Birthday | Note",
        "Dr. Ann Lopez | Otter Institute, Ponds | Head of Ponds | +351 21 000 111 (work); +351 91 222 333 (cell) | "
        "ann@example.org (work) | Rua do Lago 1, 1000-001 Lisboa, Portugal (home) | 1985-04-12 | "
        "Likes tea, not coffee. Met in Porto.",
        "José Nuñez | | | 212 555 (home) | | | 04-12",
    ]
    assert opened(CONTACTS, "c.vcf").losses == (Loss("picture", 1),)


def test_contacts_with_odd_features_are_read() -> None:
    assert rows(card("N:Ng;Bo;;;"), "a.vcf")[1] == "Bo Ng"
    assert rows(card("ORG:Only Ltd"), "a.vcf") == ["Organisation", "Only Ltd"]
    assert rows(card("FN:A", "TEL;VALUE=uri:tel:+1-555"), "a.vcf")[1] == "A | +1-555"
    assert rows(card("FN:Fold", " ed name"), "a.vcf")[1] == "Folded name"
    assert rows(card("FN:A", "CATEGORIES:friends\\, old,work"), "a.vcf")[1] == "A | friends, old, work"
    assert rows(card("fn:lower"), "a.vcf")[1] == "lower"
    assert rows(card("FN:Group", "KIND:group", "MEMBER:mailto:a@example.org"), "a.vcf")[1] == "Group | a@example.org"
    assert rows(card("FN:Whole").replace("END:VCARD", ""), "a.vcf")[1] == "Whole"
    assert rows(card("FN:A") * 3, "a.vcf")[1:] == ["A", "A", "A"]


def test_a_calendar_is_tables_in_the_order_of_the_days() -> None:
    one = opened(CALENDAR, "c.ics")
    assert one.facts["title"] == "Otter team"
    assert rows(CALENDAR, "c.ics") == [
        "Otter team",
        "Events",
        "Date | Time | Until | Title | Place | Organizer | With | Repeats | Status | Description",
        "2026-01-05 | 23:00–01:00 (UTC) | 2026-01-06 | Night watch",
        "2026-01-10 | | 2026-01-12 | Holiday",
        "2026-03-01 | 14:00–15:30 (Europe/Lisbon) | | Pond count, north | North pond | Bo <bo@example.org> | "
        "Lopez, Ann <ann@example.org> | every 2 weeks on Monday, last Friday until 2026-06-01 | confirmed | "
        "Bring boots. And a net.",
        "Tasks",
        "Due | Title | Status",
        "2026-02-01 | Order nets | needs action",
    ]


@pytest.mark.parametrize(
    ("lines", "shown"),
    [
        (("SUMMARY:x", "DTSTART:20260101"), "2026-01-01 | x"),
        (("SUMMARY:x", "DTSTART:20260101T090000"), "2026-01-01 | 09:00 | x"),
        (("SUMMARY:x", "DTSTART:20269999T090000"), "x"),
        (("SUMMARY:x", "DTSTART:99991231", "DURATION:P99999D"), "9999-12-31 | x"),
        (("SUMMARY:x", "RRULE:FREQ=NEVER"), "x | FREQ=NEVER"),
        (
            ("SUMMARY:x", "RRULE:FREQ=YEARLY;BYMONTH=5;BYMONTHDAY=3;COUNT=4"),
            "x | every year on day 3 in month 5, 4 times",
        ),
        (("SUMMARY;LANGUAGE=en:x", "STATUS:CANCELLED"), "x | cancelled"),
    ],
)
def test_days_and_rules_are_shown_as_they_are_meant(lines: tuple[str, ...], shown: str) -> None:
    assert rows(event(*lines), "a.ics")[-1] == shown


def test_a_file_attached_to_an_event_is_counted() -> None:
    one = opened(event("SUMMARY:Talk", "ATTACH:https://example.org/a.pdf"), "a.ics")
    assert one.losses == (Loss("embedded_object", 1),)


def test_an_outline_keeps_its_levels_notes_and_addresses() -> None:
    one = opened(OUTLINE, "o.opml")
    facts = {"title": "Reading list of Ann", "author": "Ann Lopez", "dated": "", "stamped": "2020-05-05"}
    assert dict(one.facts) == facts
    page = one.page(1)
    assert [(b.kind, b.level, page.text[b.start : b.end]) for b in unpack(page.blocks, len(page.text))] == [
        ("heading", 1, "Reading list of Ann"),
        ("item", 0, "• Ponds"),
        ("item", 1, "• Otter news (https://example.org/feed, https://example.org)"),
        ("item", 1, "☒ To buy"),
        ("paragraph", 0, "two nets"),
        ("paragraph", 0, "and boots"),
        ("item", 0, "• Only a title"),
    ]
    deep = '<outline text="a">' * 200 + "</outline>" * 200
    with_loss = opened(f"<opml><body>{deep}</body></opml>", "d.opml")
    assert with_loss.losses == (Loss("part", 1),)


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("a.txt", CONTACTS, "vcard"), ("a", CALENDAR, "calendar"), ("a.xml", OUTLINE, "opml"),
        ("a.opml", "no outline", "txt"), ("a.md", CONTACTS, "markdown"),
    ],
)  # fmt: skip
def test_they_are_told_by_what_they_hold(name: str, text: str, kind: str) -> None:
    assert identify(Upload(name, text.encode()))[0] == kind


def test_contacts_are_read_by_the_process_of_plain_texts_and_outlines_are_not() -> None:
    assert is_plain(Upload("a.vcf", CONTACTS.encode()))
    assert is_plain(Upload("a.ics", CALENDAR.encode()))
    assert not is_plain(Upload("a.opml", OUTLINE.encode()))


@pytest.mark.parametrize(("name", "text"), [("a.vcf", CONTACTS), ("a.ics", CALENDAR), ("a.opml", OUTLINE)])
def test_mutants_are_read_or_refused(name: str, text: str) -> None:
    with pytest.raises(CorruptFileError):
        opened(OUTLINE[:300], "a.opml")
    assert read_or_refuse(name, text.encode()) == 1
    for mutant in tenth_of(mutants(text.encode(), 300)):
        read_or_refuse(name, mutant)
