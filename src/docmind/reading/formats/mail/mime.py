"""Mails as they travel and as most programs save them (.eml, .emlx): their header and their tree of parts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from email import policy
from email.errors import MessageError
from email.message import Message
from email.parser import BytesParser
from email.utils import collapse_rfc2231_value
from itertools import islice
from typing import Any

from docmind.blocks import Losses
from docmind.errors import CorruptFileError
from docmind.reading.formats import Rules
from docmind.reading.formats.characters import mended
from docmind.reading.formats.html import text_of
from docmind.reading.formats.mail.headers import ids_of, moment_of, people_of, plain_of, raw_header, words_of
from docmind.reading.formats.mail.letter import Attachments, Body, Letter
from docmind.reading.formats.text import declared_text
from docmind.wording import _

_DEEPEST, _MOST_PARTS = 30, 5_000
_MOST_BEFORE = 14  # ids of mails before one that are kept, beside the first
_SIGNATURES = frozenset(("application/pgp-signature", "application/pkcs7-signature", "application/x-pkcs7-signature"))
_SEALED = frozenset(("application/pkcs7-mime", "application/x-pkcs7-mime"))
_REPORTS = frozenset(("message/delivery-status", "message/disposition-notification", "message/feedback-report"))
_EMLX = re.compile(rb"\s*(\d{1,12})\s*\r?\n")
_ENVELOPE = re.compile(rb"\s*>?From [^\n]*\n(?=[!-9;-~]{1,100}:)")
_ENCRYPTED = "The text of this mail is encrypted and was not read."

# What goes wrong in the parser of Python with hostile mails.
FAULTS = (MessageError, ValueError, TypeError, LookupError, AttributeError, AssertionError, RecursionError)
"""Errors of the standard library over a mail that is broken."""


class _Part(Message):
    """A part of a mail that is read as text, and not parsed, where it lies deeper than a mail's parts can.

    The parser goes into each part by a call of its own, and asks a part for its kind before that.
    """

    _depth = 0

    def attach(self, payload: Any) -> None:
        """Take a part inside this one."""
        payload._depth = self._depth + 1
        super().attach(payload)

    def get_content_maintype(self) -> str:
        """Return the first half of the media type, as the parser asks for it."""
        return super().get_content_maintype() if self._depth <= _DEEPEST else "text"

    def get_content_type(self) -> str:
        """Return the media type, as the parser asks for it."""
        return super().get_content_type() if self._depth <= _DEEPEST else "text/plain"


def message_of(data: bytes, name: str) -> Message:
    """Parse a mail; parts that lie too deep in each other are not taken apart. Raises `CorruptFileError`."""
    data = data.removeprefix(b"\xef\xbb\xbf")
    counted = _EMLX.match(data)
    if counted:  # Apple's: a count of bytes, the mail, a list of properties
        start = counted.end()
        data = data[start : start + int(counted[1])]
    envelope = _ENVELOPE.match(data)
    if envelope:
        data = data[envelope.end() :]
    try:
        return BytesParser(_Part, policy=policy.compat32).parsebytes(data.lstrip(b"\r\n"))
    except FAULTS as error:
        raise CorruptFileError(_("{name} is a mail that is broken.").format(name=name)) from error


def letter_of(message: Message, rules: Rules, losses: Losses) -> Letter:
    """Return what a mail says. What is broken in it is counted in `losses`."""
    date = raw_header(message, "Date")
    letter = Letter(
        subject=words_of(raw_header(message, "Subject")),
        sender=next(iter(people_of(raw_header(message, "From"))), ("", "")),
        behind=next(iter(people_of(raw_header(message, "Sender"))), ("", "")),
        to=people_of(raw_header(message, "To")),
        cc=people_of(raw_header(message, "Cc")),
        bcc=people_of(raw_header(message, "Bcc")),
        sent=moment_of(date),
        date=words_of(date),
        message_id=" ".join(islice(ids_of(raw_header(message, "Message-ID")), 1)),
        refers_to=refers_to(message),
    )
    attachments = Attachments(rules, losses)
    parts = _Parts(letter, attachments, losses)
    parts.take(message)
    letter.attached = attachments.found
    return letter


def refers_to(message: Message) -> str:
    """Return the ids of the mails before a mail, the first of the exchange first; of many the last ones beside it."""
    named = (one for name in ("References", "In-Reply-To") for one in ids_of(raw_header(message, name)))
    found = list(dict.fromkeys(named))
    return " ".join([*found[:1], *found[1:][-_MOST_BEFORE:]])


class _Parts:
    """The walk through the parts of a mail, in the order in which they are shown."""

    def __init__(self, letter: Letter, attachments: Attachments, losses: Losses) -> None:
        self._letter, self._attachments, self._losses = letter, attachments, losses
        self._count = 0

    def take(self, part: Message, depth: int = 0, *, in_page: bool = False) -> None:
        """Take a part with those inside it; `in_page` tells that it belongs to a page, as its pictures do."""
        self._count += 1
        kind = type_of(part)
        if depth > _DEEPEST or self._count > _MOST_PARTS:
            self._losses.note("part")
            return
        if is_multipart(part) and kind.startswith("multipart/"):
            self._several(part, kind, depth, in_page=in_page)
        elif kind.startswith("multipart/"):  # without the marks that part it
            self._letter.bodies.append(body_of(part, "text/plain", payload(part)))
        elif kind in _REPORTS:
            self._report(part)
        elif kind in ("message/rfc822", "message/global"):
            self._enclosed_mail(part)
        elif kind in _SIGNATURES or kind == "application/applefile":
            return
        elif kind in _SEALED:
            self._sealed()
        elif kind in ("application/ms-tnef", "application/vnd.ms-tnef") or _name(part).lower() == "winmail.dat":
            self._losses.note("embedded_object", "winmail.dat")
        elif kind.startswith("message/") and kind != "message/rfc822-headers":
            self._losses.note("part", kind)
        else:
            self._leaf(part, kind, in_page=in_page)

    def _several(self, part: Message, kind: str, depth: int, *, in_page: bool) -> None:
        inner = children(part)
        if not inner:
            return
        if kind == "multipart/alternative":
            self._alternative(inner, depth)
        elif kind == "multipart/encrypted":
            self._sealed()
        elif kind == "multipart/signed":
            self.take(inner[0], depth + 1, in_page=in_page)
        elif kind == "multipart/related":
            root = root_of(part)
            self.take(root, depth + 1)
            for one in inner:
                if one is not root:
                    self.take(one, depth + 1, in_page=True)
        else:
            for one in inner:
                self.take(one, depth + 1, in_page=in_page)

    def _alternative(self, inner: list[Message], depth: int) -> None:
        """Take the richest of several forms of one text: a page, unless it leaves out most of what the text says."""
        forms: list[tuple[Message, Letter]] = []
        for one in inner:
            if type_of(one) == "text/calendar":
                self._leaf(one, "text/calendar", in_page=False)
                continue
            letter = Letter()
            _Parts(letter, self._attachments, self._losses).take(one, depth + 1)
            self._letter.invitations += letter.invitations
            forms.append((one, letter))
        forms = [form for form in forms if any(body.text.strip() for body in form[1].bodies)]
        if not forms:
            return
        best = forms[-1][1]
        for _one, other in forms[:-1]:
            if _words_in(best) < 0.4 * _words_in(other):
                best = other
        self._letter.bodies += best.bodies
        for _one, letter in forms:
            self._letter.pictures.join(letter.pictures)

    def _leaf(self, part: Message, kind: str, *, in_page: bool) -> None:
        name, data, disposition = _name(part), payload(part), _disposition(part)
        is_attached = disposition == "attachment"
        is_shown = not is_attached and (not name or (kind == "text/plain" and disposition == "inline"))
        if kind == "text/calendar" and not (is_attached and self._letter.invitations):
            said = declared_text(data, charset_of(part))
            if said not in self._letter.invitations:
                self._letter.invitations.append(said)
        elif kind in ("text/plain", "text/html", "text/enriched", "text/richtext") and is_shown:
            self._letter.bodies.append(body_of(part, kind, data))
        elif in_page and kind.startswith("image/") and not is_attached:
            self._letter.pictures.add(lambda: data, *addresses_of(part))  # told where the page shows it
        elif data.strip():
            self._attachments.add(name, data, kind)

    def _report(self, part: Message) -> None:
        """Take the report of a server on what became of a mail."""
        lines: list[str] = []
        for one in children(part) or [part]:
            lines += [f"{name}: {words_of(plain_of(str(value)))}" for name, value in one.raw_items()]
        self._letter.bodies.append(Body("lines", "\n".join(lines)))

    def _enclosed_mail(self, part: Message) -> None:
        inner = children(part)
        try:
            data = inner[0].as_bytes() if inner else payload(part)
        except FAULTS:
            self._losses.note("part", "mail inside the mail")
            return
        subject = words_of(raw_header(inner[0], "Subject")) if inner else ""
        name = _name(part) or f"{subject.replace('/', '-')[:100].strip(' .') or 'Mail'}.eml"
        self._attachments.add(name if name.lower().endswith(".eml") else f"{name}.eml", data)

    def _sealed(self) -> None:
        self._losses.note("part", "encrypted text")
        self._letter.bodies.append(Body("told", _ENCRYPTED))


def body_of(part: Message, kind: str, data: bytes) -> Body:
    """Return a part of a mail that is text."""
    charset = charset_of(part)
    if kind == "text/html":
        return Body("html", mended(text_of(data, charset)))
    text = mended(declared_text(data, charset))
    if kind in ("text/enriched", "text/richtext"):
        plain = re.sub(r"<(?:param>.{0,1000}?</param|/?[\w-]{1,40})>", "", text, flags=re.S)
        return Body("text", plain.replace("<<", "<"))
    is_flowed = _parameter(part, "format").lower() == "flowed"
    return Body("text", text, is_flowed, is_flowed and _parameter(part, "delsp").lower() == "yes")


def _words_in(letter: Letter) -> int:
    """Return about how many words the bodies of a mail show; addresses of pages are none."""
    said = " ".join(
        re.sub(r"<[^<>]*>", " ", _shown(body.text)) if body.kind == "html" else body.text for body in letter.bodies
    )
    return len(re.findall(r"[^\W\d_]{2,}", re.sub(r"(?<!\S)\S*?(?:://|www\.)\S*+", " ", said[:500_000])))


def _shown(page: str) -> str:
    """Return a page without its styles, scripts and head: each from where it begins to the next end of one of them."""
    shown: list[str] = []
    at = 0
    for end in re.finditer(r"</(?:style|script|head)>", page, re.I):
        before = page[at : end.start()]
        begin = re.search(r"<(?:style|script|head)\b", before, re.I)
        shown.append(before[: begin.start()] if begin is not None else before)
        at = end.end()
    return " ".join([*shown, page[at:]])


# --- parts of a message, whatever is wrong with them ------------------------------------------------------------------


def type_of(part: Message) -> str:
    """Return the media type of a part in small letters."""
    try:
        return part.get_content_type()
    except FAULTS:
        return "application/octet-stream"


def is_multipart(part: Message) -> bool:
    """Return whether a part has others inside it."""
    return isinstance(part.get_payload(), list)


def children(part: Message) -> list[Message]:
    """Return the parts inside a part."""
    inner = part.get_payload()
    return [one for one in inner if isinstance(one, Message)] if isinstance(inner, list) else []


def payload(part: Message) -> bytes:
    """Return the contents of a part, decoded as far as its encoding allows."""
    try:
        data = part.get_payload(decode=True)
    except FAULTS:
        said = part.get_payload()
        return said.encode("utf-8", "replace") if isinstance(said, str) else b""
    return data if isinstance(data, bytes) else b""


def charset_of(part: Message) -> str:
    """Return the encoding that a part declares; "" for none."""
    return _parameter(part, "charset")


def _parameter(part: Message, name: str, header: str = "content-type") -> str:
    raw = next((str(value) for key, value in part.raw_items() if key.lower() == header), "")
    try:
        alone = Message()
        alone[header] = plain_of(raw)  # the parser itself does not decode bytes beyond ASCII
        found = alone.get_param(name, "", header)
        said = collapse_rfc2231_value(found) if isinstance(found, tuple) else str(found or "")
    except FAULTS:
        return ""
    return words_of(said).strip("\"' ")


def _name(part: Message) -> str:
    """Return the name of the file that a part is."""
    return _parameter(part, "filename", "content-disposition") or _parameter(part, "name")


def addresses_of(part: Message) -> tuple[str, str]:
    """Return the addresses under which a page shows a part that came with it, each of which may be ""."""
    said = raw_header(part, "Content-ID").strip("<> \r\n\t")
    return f"cid:{said}" if said else "", raw_header(part, "Content-Location").strip()


def _disposition(part: Message) -> str:
    try:
        return (part.get_content_disposition() or "").lower()
    except FAULTS:
        return ""


def root_of(part: Message) -> Message:
    """Return the part of a page to which the others belong; the part itself where it has none inside."""
    inner = children(part)
    start = _parameter(part, "start").strip("<>")
    named = (one for one in inner if start and raw_header(one, "Content-ID").strip("<> ") == start)
    return next(named, inner[0] if inner else part)


def walk(message: Message) -> Iterator[Message]:
    """Yield a message and the parts inside it, up to 5,000."""
    waiting, count = [message], 0
    while waiting and count < _MOST_PARTS:
        part = waiting.pop()
        count += 1
        yield part
        waiting += reversed(children(part))
