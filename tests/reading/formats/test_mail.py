"""Mails: who wrote what to whom, what they quote, what is attached; mailboxes, Outlook's own files, saved web pages."""

from __future__ import annotations

import random
import struct
from datetime import UTC, datetime
from typing import Any

import pytest

from docmind.blocks import unpack
from docmind.errors import CorruptFileError, DocMindError, EmptyFileError
from docmind.reading.file_type import identify
from docmind.reading.formats import Rules, reader
from docmind.reading.formats.mail.headers import people_of, plain_of, words_of
from docmind.reading.formats.mail.rtf import text_of_rtf, unpacked
from docmind.records.documents import Loss, Upload
from each import each_of
from mails import mail, ole, outlook, properties
from sampled import tenth_of

RULES = Rules()


def opened(data: bytes, name: str = "a.eml") -> Any:
    kind, upload = identify(Upload(name, data))
    return reader(kind)(upload, kind, RULES)


def found(data: bytes, name: str = "a.eml") -> list[tuple[str, int, str]]:
    """Return kind, level and text of each block, below the header of the mail."""
    page = opened(data, name).page(1)
    blocks = unpack(page.blocks, len(page.text))
    said = [(one.kind, one.level, page.text[one.start : one.end].replace("\n", " ")) for one in blocks]
    return [one for one in said if one[0] not in ("heading", "field")]


def header(data: bytes, name: str = "a.eml") -> list[str]:
    page = opened(data, name).page(1)
    blocks = unpack(page.blocks, len(page.text))
    return [
        page.text[one.start : one.end].replace("\n", " ") for one in blocks if one.kind in ("heading", "field")
    ]  # fmt: skip


def multipart(kind: str, *parts: tuple[str, str]) -> bytes:
    inside = "".join(f"--B\n{head}\n\n{body}\n" for head, body in parts)
    return mail(f"{inside}--B--\n", kind=f"multipart/{kind}; boundary=B")


# --- header -----------------------------------------------------------------------------------------------------------


def test_the_header_is_lines_below_the_subject() -> None:
    data = mail("Dear Mara,\n", {"Cc": "a@x.example, Ana <ana@x.example>", "Sender": "Desk <desk@lind.example>"})
    assert header(data) == [
        "Boiler inspection",
        "From: Jo Lind <jo@lind.example> (sent by Desk <desk@lind.example>)",
        "To: Mara Vale <mara@vale.example>",
        "Cc: a@x.example, Ana <ana@x.example>",
        "Date: Monday, 2 June 2025, 09:12 (+01:00)",
        "Subject: Boiler inspection",
    ]
    assert dict(opened(data).facts) == {
        "title": "Boiler inspection", "author": "Jo Lind", "dated": "2025-06-02", "sender": "Jo Lind <jo@lind.example>",
        "recipients": "Mara Vale <mara@vale.example>; a@x.example; Ana <ana@x.example>",
        "sent_at": "2025-06-02T08:12:00Z", "message_id": "", "refers_to": "", "topic": "boiler inspection",
    }  # fmt: skip


def test_the_ids_of_a_header_are_those_of_the_exchange() -> None:
    ids = {
        "Message-ID": "<4@x.example>", "References": "<1@x.example>\n <2@x.example>", "In-Reply-To": "<3@x.example>",
        "Subject": "AW: [roof] Re: Boiler",
    }  # fmt: skip
    facts = opened(mail("Yes.\n", ids)).facts
    assert (facts["message_id"], facts["refers_to"]) == ("4@x.example", "1@x.example 2@x.example 3@x.example")
    assert facts["topic"] == "re: boiler"
    many = opened(mail("Yes.\n", {"References": " ".join(f"<{n}@x.example>" for n in range(900))})).facts["refers_to"]
    assert many.split()[0] == "0@x.example"
    assert many.split()[-1] == "899@x.example"
    assert len(many) <= 4_000


@each_of(
    "raw, shown",
    [
        ("=?utf-8?Q?Gr=C3=BC=C3=9Fe?= =?utf-8?Q?_aus?= K", "Grüße aus K"),
        ("=?utf-8?B?ww==?= =?utf-8?B?qQ==?=", "é"),  # a character in two words
        ("=?utf-8?Q?brok=C3?= =?utf-8?Q?=A9n?=", "brokén"),
        ("=?iso-2022-jp?B?GyRCMnE1RBsoQg==?=", "会議"),
        ("=?x-unknown?Q?caf=E9?=", "café"),
        ("=?utf-8*en?q?a=20b?=", "a b"),
        ("a =?broken? b", "a =?broken? b"),
        ("caf\udce9 au lait", "café au lait"),
    ],
)
def test_words_of_a_header(raw: str, shown: str) -> None:
    assert words_of(plain_of(raw)) == shown


@each_of(
    "raw, people",
    [
        ('"Lind, Jo" <jo@x.example>, b@x.example', [("Lind, Jo", "jo@x.example"), ("", "b@x.example")]),
        ("Lind, Jo <jo@x.example>", [("Lind, Jo", "jo@x.example")]),
        ("=?utf-8?Q?M=C3=BCller=2C_J?= <j@x.example>", [("Müller, J", "j@x.example")]),
        ("undisclosed-recipients:;", [("undisclosed-recipients:;", "")]),
        ("", []),
        ("(" * 5_000, [("(" * 5_000, "")]),
    ],
)
def test_people_of_a_header(raw: str, people: list[tuple[str, str]]) -> None:
    assert people_of(raw) == people


def test_a_date_that_is_none_is_shown_as_it_stands() -> None:
    data = mail("x", {"Date": "some day"})
    assert "Date: some day" in header(data)
    assert opened(data).facts["dated"] == ""


# --- text -------------------------------------------------------------------------------------------------------------


def test_lines_that_were_broken_are_joined_and_others_are_not() -> None:
    body = (
        "The annual fee of the garden club is 60 euros and it is due on the\nfirst of March.\n\n"
        "- rake: 12 euros\n- spade: 15 euros\n\nName   Hours\nAna    12\n"
    )
    assert [text for _kind, _level, text in found(mail(body))] == [
        "The annual fee of the garden club is 60 euros and it is due on the first of March.",
        "- rake: 12 euros",
        "- spade: 15 euros",
        "Name   Hours Ana    12",
    ]


def test_flowed_text_is_joined_at_its_spaces() -> None:
    body = "The key is under the mat \nin the hall.\n\n> Where is \n> the key?\n-- \nJo\n"
    assert found(mail(body, kind="text/plain; format=flowed")) == [
        ("paragraph", 1, "The key is under the mat in the hall."),
        ("quoted", 0, "Quoted:"),
        ("quoted", 1, "Where is the key?"),
        ("footer", 0, "Jo"),
    ]


REPLY = """It costs 90 euros now.

On Mon, 2 Jun 2025 at 09:12, Jo Lind <jo@lind.example>
wrote:

> It costs 80 euros.
>
> On Fri, 30 May 2025, Mara wrote:
>> What does it cost?
>
> Jo

--{space}
Mara Vale
""".replace("{space}", " ")


def test_what_is_quoted_is_told_apart_with_whose_words_it_is() -> None:
    assert found(mail(REPLY)) == [
        ("paragraph", 1, "It costs 90 euros now."),
        ("quoted", 0, "On Mon, 2 Jun 2025 at 09:12, Jo Lind <jo@lind.example> wrote:"),
        ("quoted", 1, "It costs 80 euros."),
        ("quoted", 0, "On Fri, 30 May 2025, Mara wrote:"),
        ("quoted", 2, "What does it cost?"),
        ("quoted", 1, "Jo"),
        ("footer", 0, "Mara Vale"),
    ]


@each_of(
    "before",
    [
        "-----Original Message-----\nFrom: Jo\nSent: Monday\nTo: Mara\nSubject: Price\n\n",
        "________________________________\nVon: Jo\nGesendet: Montag\nAn: Mara\nBetreff: Preis\n\n",
        "*De :* Jo\n*Envoyé :* lundi\n*À :* Mara\n*Objet :* Prix\n\n",
        "De: Jo\nEnviado: segunda-feira\nPara: Mara\nAssunto: Preço\n\n",
        "Am 02.06.25 um 09:12 schrieb Jo Lind:\n\n",
        "Le lun. 2 juin 2025 à 09:12, Jo <jo@x.example> a écrit :\n\n",
        "Em seg., 2 de jun. de 2025 às 09:12, Jo <jo@x.example> escreveu:\n\n",
        "El lun, 2 jun 2025 a las 9:12, Jo (<jo@x.example>) escribió:\n\n",
        "2025-06-02 9:12 GMT+01:00 Jo Lind <jo@x.example>:\n\n",
    ],
)
def test_dividers_of_quoted_mails(before: str) -> None:
    blocks = found(mail(f"It costs 90 euros now.\n\n{before}It costs 80 euros.\n"))
    assert blocks[0] == ("paragraph", 1, "It costs 90 euros now.")
    assert {kind for kind, _level, _text in blocks[1:]} == {"quoted"}
    assert blocks[1][1] == 0
    assert blocks[-1] == ("quoted", 1, "It costs 80 euros.")


def test_own_words_that_only_look_like_a_header_are_the_senders() -> None:
    body = "Our trip:\n\nFrom: London\nTo: Paris\nDate: 3 June\n\nOn 3 June Jo wrote a letter.\nI wrote: come soon.\n"
    assert {kind for kind, _level, _text in found(mail(body))} == {"paragraph"}


def test_a_forwarded_mail_is_what_it_forwards() -> None:
    forwarded = "---------- Forwarded message ---------\nFrom: Jo\nDate: Monday\nSubject: Heat\nTo: M\n\nIt costs 90.\n"
    assert ("paragraph", 1, "It costs 90.") in found(mail(f"FYI\n\n{forwarded}"))
    own = "The price in the mail below is wrong: it is 95 euros, and has been since the first of May this year.\n\n"
    assert ("quoted", 1, "It costs 90.") in found(mail(own + forwarded))


def test_signatures_and_disclaimers_are_footers() -> None:
    notice = "This e-mail is confidential and intended solely for the named recipient. Delete it otherwise, please."
    blocks = found(mail(f"Come at nine.\n\nSent from my iPhone\n\n{notice}\n"))
    assert [kind for kind, _level, _text in blocks] == ["paragraph", "footer", "footer"]


def test_the_page_of_a_mail_is_read_before_its_text() -> None:
    page = (
        "<div>New prices:</div><table><tr><th>Item</th><th>Price</th></tr><tr><td>Desk</td><td>320</td></tr></table>"
        "<div class='gmail_signature'>Jo</div><div class='gmail_quote'><div class='gmail_attr'>On Sun, 1 Jun 2025, "
        "Ana wrote:<br></div><blockquote class='gmail_quote'>It was 290.<table><tr><th>A</th></tr><tr><td>1</td></tr>"
        "</table></blockquote></div>"
    )
    data = multipart("alternative", ("Content-Type: text/plain", "prices"), ("Content-Type: text/html", page))
    assert found(data) == [
        ("paragraph", 0, "New prices:"),
        ("header_row", 0, "Item | Price"),
        ("row", 0, "Desk | 320"),
        ("footer", 0, "Jo"),
        ("quoted", 0, "On Sun, 1 Jun 2025, Ana wrote:"),
        ("quoted", 1, "It was 290."),
        ("quoted", 1, "A"),
        ("quoted", 1, "1"),
    ]


def test_text_counts_where_the_page_leaves_most_of_it_out() -> None:
    text = "The inspection of the boiler is on 17 June between nine and eleven. Please be at home by then."
    parts = ("Content-Type: text/plain", text), ("Content-Type: text/html", "<p>See the text.</p>")
    assert found(multipart("alternative", *parts)) == [("paragraph", 1, text)]


def test_pages_of_outlook_mark_the_quoted_mail_by_its_header() -> None:
    page = (
        "<p>The rent is 950 euros.</p><div style='border-top:solid #E1E1E1 1.0pt'><p><b>From:</b> Jo<br>"
        "<b>Sent:</b> Monday<br><b>To:</b> Mara<br><b>Subject:</b> Rent</p></div><p>The rent is 900 euros.</p>"
    )
    assert found(mail(page, kind="text/html")) == [
        ("paragraph", 0, "The rent is 950 euros."),
        ("quoted", 0, "From: Jo Sent: Monday To: Mara Subject: Rent"),
        ("quoted", 1, "The rent is 900 euros."),
    ]


def test_words_below_a_quote_are_the_senders_again() -> None:
    page = "<blockquote type=cite><div>On 2 June 2025, Jo wrote:</div><p>In the blue drawer.</p></blockquote><p>No.</p>"
    assert found(mail(page, kind="text/html")) == [
        ("quoted", 0, "On 2 June 2025, Jo wrote:"),
        ("quoted", 1, "In the blue drawer."),
        ("paragraph", 0, "No."),
    ]
    assert [kind for kind, _level, _text in found(mail("On 2 June 2025, Jo wrote:\n> Blue.\n\nNo, red.\n"))] == [
        "quoted",
        "quoted",
        "paragraph",
    ]


def test_headings_of_a_page_are_below_the_subject() -> None:
    got = opened(mail("<h1>Offers</h1><p>Apples cost 2.10 a kilo.</p>", kind="text/html")).page(1)
    assert unpack(got.blocks, len(got.text))[-1].path == ("Boiler inspection", "Offers")


@each_of(
    "declared, data, text",
    [
        ("utf-8", "Grüße".encode("cp1252"), "Grüße"),
        ("iso-8859-1", "Grüße".encode(), "Grüße"),
        ("iso-2022-jp", "会議は火曜日".encode("iso2022_jp"), "会議は火曜日"),
        ("gb2312", "会议在星期二".encode("gb18030"), "会议在星期二"),
        ("undefined", b"plain", "plain"),
        ("", "Prüfung".encode(), "Prüfung"),
    ],
)
def test_text_is_decoded_as_declared_or_by_its_letters(declared: str, data: bytes, text: str) -> None:
    head = mail("", kind=f"text/plain; charset={declared}")
    assert found(head + data) == [("paragraph", 1, text)]


# --- parts ------------------------------------------------------------------------------------------------------------


def test_attached_files_and_mails_are_inside() -> None:
    inner = "From: Ana <ana@x.example>\nSubject: Inner/mail\n\nHello.\n"
    data = multipart(
        "mixed",
        ("Content-Type: text/plain", "See below."),
        ("Content-Disposition: attachment; filename*=utf-8''Liste%20M%C3%A4rz.pdf", "%PDF-1.4"),
        ('Content-Type: text/plain; name="..\\\\..\\\\a\u202e.txt"\nContent-Transfer-Encoding: base64', "SGVyb24="),
        ('Content-Type: text/plain; name="a.txt"', "two"),
        ("Content-Type: application/pdf", "%PDF"),
        ("Content-Type: message/rfc822", inner),
        ("Content-Type: application/ms-tnef; name=winmail.dat", "x"),
    )
    got = opened(data)
    inside = list(got.enclosed())
    assert [one.name for one in inside] == [
        "Liste März.pdf",
        "a.txt",
        "a (2).txt",
        "attachment-4.pdf",
        "Inner-mail.eml",
    ]
    assert inside[1].data == b"Heron"
    assert identify(Upload(inside[4].name, inside[4].data))[0] == "mail"
    assert got.losses == (Loss("embedded_object", 1, "winmail.dat"),)
    assert header(data)[-1].startswith("Attachments: Liste März.pdf, 8 bytes; a.txt, 5 bytes;")


@pytest.mark.slow
def test_more_attached_files_than_a_mail_may_have_are_counted() -> None:
    parts = [("Content-Disposition: attachment; filename=a.txt", "x")] * 510
    got = opened(multipart("mixed", ("Content-Type: text/plain", "x"), *parts))
    assert len(list(got.enclosed())) == 500
    assert sum(loss.count for loss in got.losses) == 10
    large = ("Content-Disposition: attachment; filename=b.txt", "x" * 2_000_000)
    kind, upload = identify(Upload("a.eml", multipart("mixed", ("Content-Type: text/plain", "x"), large)))
    got = reader(kind)(upload, kind, Rules(max_unpacked_mb=1))
    assert got.losses == (Loss("embedded_object", 1, "b.txt"),)


def test_signed_mails_are_read_and_encrypted_ones_told() -> None:
    signed = multipart(
        "signed",
        ("Content-Type: text/plain", "The code is 4711."),
        ("Content-Type: application/pgp-signature", "-----BEGIN PGP SIGNATURE-----"),
    )
    assert found(signed) == [("paragraph", 1, "The code is 4711.")]
    assert list(opened(signed).enclosed()) == []
    sealed = opened(mail("MIIB", kind="application/pkcs7-mime; name=smime.p7m"))
    assert sealed.losses == (Loss("part", 1, "encrypted text"),)
    armoured = mail("Hello.\n\n-----BEGIN PGP MESSAGE-----\nhQEM\n-----END PGP MESSAGE-----\n")
    assert found(armoured) == [("paragraph", 1, "Hello.")]
    assert opened(armoured).losses == (Loss("part", 1, "encrypted text"),)


INVITATION = """BEGIN:VCALENDAR
METHOD:REQUEST
BEGIN:VEVENT
SUMMARY:Budget
  meeting
DTSTART;TZID=Europe/Lisbon:20250617T090000
DURATION:PT1H30M
LOCATION:Room 4\\, second floor
ORGANIZER;CN=Jo Lind:mailto:jo@lind.example
ATTENDEE;CN="Vale, Mara";PARTSTAT=ACCEPTED:mailto:mara@vale.example
BEGIN:VALARM
DESCRIPTION:Reminder
END:VALARM
END:VEVENT
END:VCALENDAR"""


def test_an_invitation_is_what_when_where_and_who() -> None:
    assert header(mail(INVITATION, kind="text/calendar"))[5:] == [
        "Event: Budget meeting",
        "When: Tuesday, 17 June 2025, 09:00 to 10:30 (Europe/Lisbon)",
        "Where: Room 4, second floor",
        "Organiser: Jo Lind <jo@lind.example>",
        "Invited: Vale, Mara <mara@vale.example> (accepted)",
    ]
    whole_day = INVITATION.replace("DTSTART;TZID=Europe/Lisbon:20250617T090000", "DTSTART;VALUE=DATE:20250617")
    assert "When: Tuesday, 17 June 2025" in header(mail(whole_day, kind="text/calendar"))


def test_a_report_of_a_server_says_what_became_of_a_mail() -> None:
    status = "Reporting-MTA: dns; mx.example\n\nFinal-Recipient: rfc822; no@x.example\nStatus: 5.1.1\n"
    data = multipart(
        "report", ("Content-Type: text/plain", "Sorry."), ("Content-Type: message/delivery-status", status)
    )
    assert ("paragraph", 0, "Final-Recipient: rfc822; no@x.example") in found(data)


# --- other files ------------------------------------------------------------------------------------------------------


def test_a_mailbox_lists_its_mails_and_has_each_inside() -> None:
    first, second = mail("One.\n>From here on.\n"), mail("Two.\n", {"Subject": "Second/one"})
    box = opened(b"From jo Mon Jun  2 09:12:00 2025\n" + first + b"\nFrom jo Tue\n" + second, "box.mbox")
    assert box.page(1).text.splitlines()[1:] == [
        "1 | 2025-06-02 09:12 | Jo Lind <jo@lind.example> | Boiler inspection",
        "2 | 2025-06-02 09:12 | Jo Lind <jo@lind.example> | Second/one",
    ]
    inside = list(box.enclosed())
    assert [one.name for one in inside] == ["0001 Boiler inspection.eml", "0002 Second-one.eml"]
    assert inside[0].data.endswith(b"One.\nFrom here on.\n")
    with pytest.raises(EmptyFileError):
        reader("mailbox")(Upload("a.mbox", b"nothing"), "mailbox", RULES)


def test_mails_of_apple_and_of_folders_are_mails() -> None:
    plain = mail("Apples.\n")
    assert found(str(len(plain)).encode() + b"\n" + plain + b"<?xml?><plist/>", "a.emlx") == [
        ("paragraph", 1, "Apples.")
    ]
    assert identify(Upload("1.M2.host:2,S", b"Return-Path: <a@x>\n" + plain))[0] == "mail"


def test_a_web_page_saved_in_one_file_is_its_page() -> None:
    data = (
        b"From: <Saved by Blink>\nSnapshot-Content-Location: https://x/\nMIME-Version: 1.0\n"
        b"Content-Type: multipart/related; boundary=B\n\n--B\nContent-Type: text/html\nContent-Location: https://y/\n\n"
        b"<p>A frame</p>\n--B\nContent-Type: text/html; charset=utf-8\nContent-Location: https://x/\n"
        b"Content-Transfer-Encoding: quoted-printable\n\n<title>On herons</title><p>=C3=84lter</p><img src=3Da>"
        b"\n--B--\n"
    )
    page = opened(data, "a.mht")
    assert (page.facts["title"], page.page(1).text, page.losses) == ("On herons", "Älter", (Loss("picture", 1, ""),))
    with pytest.raises(CorruptFileError):
        opened(b"Content-Type: text/plain\n\nx", "a.mht")


# --- Outlook ----------------------------------------------------------------------------------------------------------

RICH = (
    rb"{\rtf1\ansi\ansicpg1252\fromhtml1 \deff0{\fonttbl{\f0 Arial;}{\f1\fcharset204 X;}}{\colortbl;}"
    rb"{\*\htmltag50 <body>}\htmlrtf {\htmlrtf0{\*\htmltag64 <p>}\htmlrtf {\htmlrtf0 It is 950 \'80. "
    rb"Gr\u252\'fc\'dfe {\f1 \'cf\'f0}{\*\mhtmltag64 <x>}\htmlrtf\par}\htmlrtf0"
    rb"{\*\htmltag72 </p>}{\*\htmltag58 </body>}}}"
)


def filetime(when: datetime) -> bytes:
    return struct.pack("<Q", int((when - datetime(1601, 1, 1, tzinfo=UTC)).total_seconds() * 10_000_000))


def stored(rich: bytes) -> bytes:
    return struct.pack("<II4sI", len(rich) + 12, len(rich), b"MELA", 0) + rich


def letter(**more: Any) -> bytes:
    def wide(text: str) -> bytes:
        return text.encode("utf-16-le")

    inner = outlook({0x37: "Inner one", 0x42: "Ana", 0x1000: "Inner text."}, is_inner=True)
    storages = {
        "__recip_version1.0_#00000000": {
            "__substg1.0_3001001F": wide("Mara Vale"),
            "__substg1.0_39FE001F": wide("mara@vale.example"),
            "__properties_version1.0": properties({}, 8),
        },
        "__recip_version1.0_#00000001": {
            "__substg1.0_3001001E": "Rui Müller".encode("cp1252"),
            "__properties_version1.0": properties({0x0C150003: b"\2\0\0\0"}, 8),
        },
        "__attach_version1.0_#00000000": {
            "__substg1.0_3707001F": wide("plan.pdf"),
            "__substg1.0_37010102": b"%PDF-1.4",
            "__properties_version1.0": properties({}, 8),
        },
        "__attach_version1.0_#00000001": {
            "__substg1.0_3001001F": wide("Inner one"),
            "__substg1.0_3701000D": inner,
            "__properties_version1.0": properties({0x37050003: b"\5\0\0\0"}, 8),
        },
    }
    texts = {0x37: "Rent", 0x42: "Jo Lind", 0x5D01: "jo@lind.example", **more.get("texts", {0x1009: stored(RICH)})}
    return outlook(texts, {0x00390040: filetime(datetime(2025, 6, 2, 8, 12, tzinfo=UTC))}, storages)


def test_a_mail_of_outlook() -> None:
    inner = list(opened(letter(), "a.msg").enclosed())[1]
    assert header(letter(), "a.msg") == [
        "Rent",
        "From: Jo Lind <jo@lind.example>",
        "To: Mara Vale <mara@vale.example>",
        "Cc: Rui Müller",
        "Date: Monday, 2 June 2025, 08:12 (UTC)",
        "Subject: Rent",
        f"Attachments: plan.pdf, 8 bytes; Inner one.eml, {len(inner.data)} bytes",
    ]
    assert found(letter(), "a.msg") == [("paragraph", 0, "It is 950 €. Grüße Пр")]
    assert found(inner.data, inner.name) == [("paragraph", 1, "Inner text.")]


@each_of(
    "texts, text",
    [
        ({0x1013: b"<p>From the page.</p>", 0x1000: "From the text."}, "From the page."),
        ({0x1000: "From the text."}, "From the text."),
        ({0x1009: b"broken", 0x1000: "From the text."}, "From the text."),
    ],
)
def test_the_richest_text_of_a_mail_of_outlook(texts: dict[int, Any], text: str) -> None:
    assert [said for _kind, _level, said in found(letter(texts=texts), "a.msg")] == [text]


def test_packed_rich_text() -> None:
    packed = "2d0000002b0000004c5a4675f1c5c7a703000a007263706731323542320af32068656c090020627705b06c647d0a800fa0"
    rich = unpacked(bytes.fromhex(packed), 1_000)  # the example of MS-OXRTFCP
    assert rich == b"{\\rtf1\\ansi\\ansicpg1252\\pard hello world}\r\n"
    assert text_of_rtf(rich) == ("text", "hello world")
    assert len(unpacked(bytes.fromhex(packed), 10)) == 10
    with pytest.raises(ValueError, match="cut off"):
        unpacked(b"x", 10)


def test_a_file_of_outlook_that_is_broken_is_refused() -> None:
    with pytest.raises(CorruptFileError, match="a mail that is broken"):
        opened(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "a.msg")
    with pytest.raises(EmptyFileError):
        opened(ole({"__properties_version1.0": bytes(32)}), "a.msg")


# --- hostile mails ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["multipart/mixed", "multipart/alternative", "multipart/related"])
def test_parts_nested_without_end_are_kept_down_to_a_depth(kind: str) -> None:
    def nested(count: int) -> bytes:
        text = "Content-Type: text/plain\n\nText at depth {at}, in a part of its own.\n"
        begin = f"Content-Type: {kind}; boundary=B"
        parts = "".join(f"{begin}{at}\n\n--B{at}\n{text.format(at=at + 1)}\n--B{at}\n" for at in range(count))
        return mail("", {"Content-Type": ""}).rstrip(b"\n") + b"\n" + parts.encode() + text.format(at="x").encode()

    for count in (50, 9_000):
        read = opened(nested(count))
        assert read.losses == (Loss("part", 2, ""),), "a text, and the part with all that is deeper"
        shown = "".join(read.page(n).text for n in range(1, read.pages + 1))
        assert ("Text at depth 1," in shown) == (kind != "multipart/alternative"), "of other forms the last is shown"
        assert "Text at depth 30," in shown
        assert "Text at depth 31," not in shown


def test_mails_within_mails_without_end_are_read_down_to_a_depth() -> None:
    inner = "".join(f"Content-Type: message/rfc822\n\nSubject: mail {at}\n" for at in range(9_000))
    read = opened(mail("", {"Content-Type": ""}).rstrip(b"\n") + b"\n" + inner.encode() + b"\nx\n")
    (enclosed,) = read.enclosed()
    assert enclosed.data.count(b"Subject: mail") == 9_000, "the mail inside is a document of its own, and is whole"


@pytest.mark.slow
@each_of(
    "data",
    [
        mail("x", {"To": "(" * 20_000}),
        mail("x", {"Subject": "=?utf-8?Q?a?= " * 5_000}),
        mail(">" * 50_000 + "\n" + "> " * 20_000 + "\nx"),
        mail("On 1 Jan 2020\n" * 5_000),
        mail("confidential " * 20_000),
        mail("<div class=gmail_quote>" * 5_000 + "x", kind="text/html"),
        mail(INVITATION.replace("ATTENDEE", "ATTENDEE" + ";A=b" * 20_000), kind="text/calendar"),
        mail("\ue0f0\ue0f0quoted\ue0f1", kind="text/html; charset=utf-8"),
    ],
)
def test_traps_are_read_in_time(data: bytes) -> None:
    assert opened(data).pages > 0


def test_a_mail_of_outlook_with_sectors_of_any_size_is_broken() -> None:
    data = bytearray(letter())
    data[32:34] = (200).to_bytes(2, "little")  # small sectors of 2**200 bytes
    with pytest.raises(CorruptFileError):
        opened(bytes(data), "a.msg")


def test_mutants_end_in_pages_or_in_a_sentence() -> None:
    page = ("Content-Type: text/html", "<p>It is 950.</p><blockquote type=cite>It was 900.</blockquote>")
    whole = multipart(
        "alternative", ("Content-Type: text/plain", REPLY), page, ("Content-Type: text/calendar", INVITATION)
    )
    box = b"From jo Mon\n" + mail(REPLY) + b"\nFrom jo Tue\n" + whole
    seeds = [("a.eml", whole), ("a.eml", mail(REPLY)), ("a.msg", letter()), ("a.mbox", box)]
    for number in tenth_of(range(300)):
        chance = random.Random(number)
        name, seed = seeds[number % len(seeds)]
        data = bytearray(seed)
        if number % 3 == 0:
            del data[chance.randrange(len(data)) :]
        for _flip in range(chance.randrange(20)):
            if data:
                data[chance.randrange(len(data))] = chance.randrange(256)
        try:
            got = opened(bytes(data), name)
            inside = list(got.enclosed()) if hasattr(got, "enclosed") else []
            assert all(one.name.isprintable() and "/" not in one.name for one in inside)
        except DocMindError:
            continue
