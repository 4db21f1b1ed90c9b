"""A mail that Outlook keeps inside another mail, written as a file of its own."""

from __future__ import annotations

from email.header import Header
from email.message import Message
from email.mime.application import MIMEApplication
from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText
from email.utils import format_datetime, formataddr

from docmind.reading.formats.mail.letter import Letter, Person


def mail_of(letter: Letter) -> bytes:
    """Return a mail as it would travel: its header, its text, and the files attached to it."""
    mail = MIMEMultipart()
    people = {"From": [letter.sender], "To": letter.to, "Cc": letter.cc, "Bcc": letter.bcc}
    for name, who in people.items():
        said = ", ".join(_address(one) for one in who if any(one))
        if said:
            mail[name] = said
    if letter.sent is not None:
        mail["Date"] = format_datetime(letter.sent)
    for name, ids in (("Message-ID", letter.message_id), ("References", letter.refers_to)):
        if ids.strip():
            mail[name] = " ".join(f"<{one.strip('<>')}>" for one in ids.split())
    mail["Subject"] = Header(letter.subject, "utf-8").encode()
    for body in letter.bodies:
        mail.attach(
            MIMEText(body.text.encode("utf-8", "replace").decode(), "html" if body.kind == "html" else "plain", "utf-8")
        )
    for one in letter.attached:
        part: Message = MIMEApplication(one.data)
        part.add_header("Content-Disposition", "attachment", filename=("utf-8", "", one.name))
        mail.attach(part)
    return mail.as_bytes()


def _address(person: Person) -> str:
    name, address = person
    return formataddr((name, address), "utf-8") if address else Header(name, "utf-8").encode()
