"""Mails: one in a file (.eml, .emlx, .msg), many in a mailbox (.mbox), and web pages saved as one (.mht).

`letter` is a mail whatever its file, `headers` decodes what stands above its text, `mime` reads mails as they travel
and `outlook` those that Outlook saves. `plain` and `page` give the text, `quoted` tells apart what is quoted in it, and
`calendar` reads invitations. `mailbox` cuts a mailbox into mails, `web_archive` finds the page of a saved one.
Attached files are documents of their own (`enclosed`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from urllib.parse import urljoin

from docmind.blocks import Block, Blocks, Losses, Table
from docmind.reading.formats import Rules, facts_of
from docmind.reading.formats.html import open_page
from docmind.reading.formats.mail import outlook
from docmind.reading.formats.mail.calendar import blocks_of_invitation
from docmind.reading.formats.mail.letter import Letter, facts_of_mail, fields_of, head_of
from docmind.reading.formats.mail.mailbox import Mailbox
from docmind.reading.formats.mail.mime import letter_of, message_of
from docmind.reading.formats.mail.page import said_on
from docmind.reading.formats.mail.plain import SEALED, lines_of, said_in
from docmind.reading.formats.mail.quoted import Said, told_apart
from docmind.reading.formats.mail.web_archive import page_of, pictures_of
from docmind.reading.formats.typeset import LaidOut
from docmind.records.documents import Enclosed, Facts, Upload

_OLE = b"\xd0\xcf\x11\xe0"


class Mail(LaidOut):
    """A mail or a mailbox on sheets, with the files or the mails inside it."""

    def __init__(
        self, blocks: Blocks, facts: Facts, upload: Upload, rules: Rules, losses: Losses, inside: Iterable[Enclosed]
    ) -> None:
        super().__init__(blocks, facts, upload.name, rules, losses)
        self._inside = inside

    def enclosed(self) -> Iterator[Enclosed]:
        """Yield the files inside, once."""
        yield from self._inside


def open_mail(upload: Upload, kind: str, rules: Rules) -> Mail:
    """Open a mail. Raises `CorruptFileError`, `TooLargeError` or `EmptyFileError`."""
    losses = Losses()
    if upload.data.startswith(_OLE):
        letter = outlook.letter_in(upload, rules, losses)
    else:
        letter = letter_of(message_of(upload.data, upload.name), rules, losses)
    facts = facts_of_mail(letter, upload.name)
    return Mail(_blocks(letter, upload.name, losses), facts, upload, rules, losses, letter.attached)


def open_mailbox(upload: Upload, kind: str, rules: Rules) -> Mail:
    """Open a file of many mails: its pages list them, and each is a file inside it.

    Raises `CorruptFileError`, `TooLargeError` or `EmptyFileError`.
    """
    losses = Losses()
    box = Mailbox(upload, losses)
    return Mail(box.blocks(), facts_of(upload.name), upload, rules, losses, box.enclosed())


def open_web_archive(upload: Upload, kind: str, rules: Rules) -> LaidOut:
    """Open a web page that was saved with its pictures in one file. Raises the errors of a web page."""
    message = message_of(upload.data, upload.name)
    page, address = page_of(message, upload.name)
    pictures = pictures_of(message)
    return open_page(Upload(upload.name, page), rules, lambda said: pictures.get(_joined(address, said)))


def _joined(address: str, said: str) -> str:
    """Return an address on a page in full; one that cannot be joined as it is."""
    try:
        return urljoin(address, said)
    except ValueError:
        return said


def _blocks(letter: Letter, name: str, losses: Losses) -> Iterator[Block | Table]:
    yield from head_of(letter)
    said: list[Said] = []
    for body in letter.bodies:
        if body.kind == "html":
            said += said_on(body.text, name, losses, letter.pictures.get)
        elif body.kind == "lines":
            said += [Said(block) for block in lines_of(body.text)]
        elif body.kind == "told":
            said.append(Said(Block(kind="note", text=body.text)))
        else:
            losses.note("part", "encrypted text", len(SEALED.findall(body.text)))
            said += said_in(body)
    for block in told_apart(said):
        if isinstance(block, Block) and block.kind == "heading" and letter.subject:
            yield replace(block, level=min(block.level + 1, 6))  # the subject is above them
        else:
            yield block
    yield from fields_of(letter.meeting)
    for invitation in letter.invitations:
        yield from blocks_of_invitation(invitation)
