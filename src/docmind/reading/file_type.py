"""Detection of file types by content. The name only decides between kinds of plain text.

It opens hostile archives, so it runs in the reading process.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
import zlib
from collections.abc import Collection
from pathlib import PurePath

from docmind.errors import CorruptFileError, EmptyFileError, PasswordNeededError, UnsupportedFileError
from docmind.records.code import CODE_SUFFIXES
from docmind.records.documents import Upload
from docmind.wording import N_, _

_IMAGES = (
    (b"\x89PNG\r\n\x1a\n", "png"),
    (b"\xff\xd8\xff", "jpeg"),
    (b"GIF87a", "gif"),
    (b"GIF89a", "gif"),
    (b"II*\x00", "tiff"),
    (b"MM\x00*", "tiff"),
    (b"II+\x00", "tiff"),
    (b"MM\x00+", "tiff"),
)
DRAWN = "epub"  # the kind of file whose pages Chromium draws
PICTURES = ("png", "jpeg", "webp", "gif", "bmp", "tiff")
"""The kinds that are pictures."""

MARKED_UP = ("latex", "org", "rst")
"""The kinds that pandoc reads, where it is installed."""

_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_RTF = b"{\\rtf"
_ODF = b"application/vnd.oasis.opendocument."
_ODF_TYPE = re.compile(re.escape(_ODF) + rb"[\w-]+")
_MANIFEST = "META-INF/manifest.xml"
_RELATIONS = ".rels"  # how the names of parts end that a package of Office has
# The types of files of OpenDocument that are read, as they begin.
_OPEN_DOCUMENTS = ((b"text", "odt"), (b"spreadsheet", "ods"), (b"presentation", "odp"))
_COMMENTS = rb"(?>(?:<!--(?:(?!-->).)*-->\s*)*)"  # in one way only: a search that tries several ways takes forever
_FLAT = re.compile(
    rb"^\s*(?:<\?xml[^>]*>\s*)?" + _COMMENTS + rb"<(?:\w+:)?document\b[^>]*?\bmimetype=[\"']([\w./-]+)", re.S
)
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
_ARCHIVES = ("zip", "zipx", "cbz")  # a .cbz is any zip archive of pictures
_ENDING = re.compile(r"(?=.*[a-z])[a-z0-9_-]{1,16}")  # of a name: no number as in "backup 3.1", no words after a dot
_OTHERS = (
    (b"\x1f\x8b", N_("a gzip archive")),
    (b"7z\xbc\xaf\x27\x1c", N_("a 7-Zip archive")),
    (b"Rar!", N_("a RAR archive")),
    (b"\x7fELF", N_("a program")),
    (b"MZ", N_("a program")),
    (b"ID3", N_("a sound file")),
    (b"OggS", N_("a sound file")),
    (b"SQLite format 3\x00", N_("a database")),
    (b"%!PS", N_("a PostScript file")),
)
# The parts that tell what an OLE file of before 2007 is.
OLE_UNREADABLE = (OSError, ValueError, IndexError, TypeError, OverflowError)
"""What olefile raises for an OLE file that is damaged or cut off."""
_OLD_SHEETS = ("Workbook", "Book")
_OLD = {
    **dict.fromkeys(_OLD_SHEETS, N_("an Excel workbook")),
    "WordDocument": N_("a Word document of the kind used before 2007"),
    "PowerPoint Document": N_("a PowerPoint presentation of the kind used before 2007"),
}
_KNOWN_TO_EXCEL = "VelvetSweatshop"  # locks workbooks whose structure alone is protected: Excel asks for nothing
# Packages of other programs, by a part that each has.
_PACKAGES = (
    (("Index/Document.iwa", "index.apxl"), N_("a document of Pages, Numbers or Keynote")),
    (("META-INF/MANIFEST.MF", "AndroidManifest.xml"), N_("a program")),
    (("[Content_Types].xml",), N_("an office file of another kind")),
)
# Kinds by suffix. Plain text under such a name is a broken download or a wrong name, never intended.
_PROMISES = {
    "pdf": N_("a PDF"),
    **dict.fromkeys(("docx", "docm", "dotx", "dotm"), N_("a Word document")),
    **dict.fromkeys(("xlsx", "xlsm", "xltx", "xltm", "xlsb"), N_("an Excel workbook")),
    **dict.fromkeys(("ods", "ots", "fods"), N_("an OpenDocument spreadsheet")),
    **dict.fromkeys(("pptx", "pptm", "ppsx", "ppsm", "potx", "potm"), N_("a PowerPoint presentation")),
    "epub": N_("an EPUB book"),
    **dict.fromkeys(("odt", "ott", "fodt"), N_("an OpenDocument text")),
    **dict.fromkeys(("odp", "otp", "fodp"), N_("an OpenDocument presentation")),
    "rtf": N_("a rich text (RTF) file"),
    "ipynb": N_("a notebook"),
    "zip": N_("an archive"),
    **dict.fromkeys(("png", "jpg", "jpeg", "gif", "webp", "tif", "tiff", "bmp"), N_("a picture")),
}
_TEXT_NAMES = {
    "md": "markdown",
    "markdown": "markdown",
    "csv": "csv",
    **dict.fromkeys(("tsv", "xls"), "csv"),  # many programs export rows of text, or a page, as .xls
    "html": "html",
    "htm": "html",
    "bib": "bib",
    "csljson": "csl",
    "ris": "ris",
    **dict.fromkeys(("nxml", "opml"), "txt"),
    "rst": "rst",
    "org": "org",
    **dict.fromkeys(("tex", "latex", "ltx"), "latex"),
    **dict.fromkeys(("vcf", "vcard"), "vcard"),
    **dict.fromkeys(("ics", "ical", "ifb"), "calendar"),
    **dict.fromkeys(CODE_SUFFIXES, "code"),
}
_HTML = re.compile(rb"^\s*(?:<\?xml[^>]*>\s*)?" + _COMMENTS + rb"<(?:!doctype\s+html|html|head|body)\b", re.I | re.S)
# A list of items that have a type, a title, and a date or container in the form of CSL.
_CSL = (
    rb"\s*(?:\{\s*\"items\"\s*:\s*)?\[\s*\{(?=.*?\"issued\"\s*:\s*\{|.*?\"container-title\"\s*:)"
    rb"(?=.*?\"type\"\s*:)(?=.*?\"title\"\s*:)"
)
_BIBLIOGRAPHIES = (
    (re.compile(rb"(?:\s*%[^\n]*\n)*\s*@[A-Za-z]{3,20}\s*\{\s*[^\s,{}=\"]{1,200}\s*[,=]"), "bib"),
    (re.compile(rb"\s*TY  - [A-Z]{2,10}\s"), "ris"),
    (re.compile(_CSL, re.S), "csl"),
    (re.compile(rb"\s*BEGIN:VCARD\s", re.I), "vcard"),
    (re.compile(rb"\s*BEGIN:VCALENDAR\s", re.I), "calendar"),
)
# Files of XML by their first element, or by the type that they declare.
_TYPE = rb"(?:<!DOCTYPE[^\[>]*(?:\[[^\]]*\]\s*)?>\s*)?"
_BEFORE_ROOT = rb"^\s*(?:<\?[^>]*>\s*)?" + _COMMENTS + _TYPE + rb"(?:<\?[^>]*>\s*)*" + _COMMENTS
_ARTICLE = rb"(?:article\b(?=.*?<(?:\w+:)?front\b)|(?:pmc-)?articleset\b|OAI-PMH\b(?=.*?<(?:\w+:)?front\b))"
_XML_ROOTS = (
    (re.compile(_BEFORE_ROOT + rb"<(?:\w+:)?" + _ARTICLE, re.S), "jats"),
    (re.compile(_BEFORE_ROOT + rb"<opml\b", re.S | re.I), "opml"),
)
_XML_NAMES = ("xml", "nxml", "opml")
PLAIN = ("txt", "markdown", "csv", "bib", "ris", "csl", "vcard", "calendar")
"""The kinds of plain text that are read without a parser in C."""

_HEADER_BYTES = 64 * 1024
_HEADER = re.compile(rb"(?:>?From [^\n]*\n)?((?:[!-9;-~]{1,100}:[^\n]*\n(?:[ \t][^\n]*\n)*)+)")
_FIELD = re.compile(rb"^([!-9;-~]{1,100}):", re.M)
_OF_MAIL = frozenset((b"from", b"to", b"subject", b"date", b"received", b"message-id", b"return-path", b"delivered-to"))
_ON_THE_WAY = frozenset((b"mime-version", b"content-transfer-encoding", b"received", b"message-id", b"return-path"))
_OUTLOOK = "__properties_version1.0".encode("utf-16-le")  # a part of each mail that Outlook saves
_COUNTED = re.compile(rb"\s*\d{1,12}\s*\n")  # the first line of a mail that Apple's program saves
_NEXT_MAIL = re.compile(rb"\n\r?\nFrom [^\n]*\n[!-9;-~]{1,100}:")
_MAILBOXES, _MAILS, _WEB_ARCHIVES = ("mbox", "mbx"), ("eml", "emlx"), ("mht", "mhtml")

_OTHER_PARTS = re.compile(rb"multipart/|message/|application/|text/(?!plain\b)", re.I)

_PLAIN_BYTES = 256 * 1024  # a longer text fills many pages and has a process of its own
_CONTROLS = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f\x7f]")
_FENCE = re.compile(rb"(?:```|~~~)[`~]{0,16}[ \t]*[{\w]")  # in a longer run it begins later
_BOMS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
_UTF16_ALIKE = 0.3  # share of zero bytes in Latin text written in UTF-16 without a mark at its start


def identify(upload: Upload) -> tuple[str, Upload]:
    """Return the kind of the file, and the file to read: a locked office file is unlocked.

    Raises `CorruptFileError`, `EmptyFileError`, `PasswordNeededError` or `UnsupportedFileError`.
    """
    data = upload.data
    if not data.strip(b"\x00 \t\r\n"):
        raise EmptyFileError(_("{name} is empty: it holds nothing but spaces or zeros.").format(name=upload.name))
    if data.startswith(_OLE):
        if _OUTLOOK in data or _suffix(upload.name) == "msg":
            return "mail", upload
        return _in_ole(upload)
    if data.startswith(_ZIP):
        return _in_zip(upload), upload
    if mail := _mail(upload):
        return mail, upload
    # Some mail gateways and scanners put lines before the header; readers accept it within the first kilobyte.
    if b"%PDF-" in data[:1024]:
        return "pdf", upload
    if data[:1024].removeprefix(_BOMS[0]).lstrip().startswith(_RTF):
        return "rtf", upload
    if flat := _FLAT.match(data[:_HEADER_BYTES].removeprefix(_BOMS[0])):
        return _open_document(flat[1], upload.name), upload
    return _image(data) or _text(upload), upload


def has_known_name(name: str, more: Collection[str] = ()) -> bool:
    """Return whether the name ends like that of a file that DocMind reads, or in one of `more` endings."""
    suffix = _suffix(name)
    if suffix in more:
        return True
    mails = (*_MAILS, *_MAILBOXES, *_WEB_ARCHIVES, "msg")
    return suffix in _PROMISES or suffix in _TEXT_NAMES or suffix in mails or suffix in ("txt", "log")


def is_of_another_program(name: str) -> bool:
    """Return whether the ending of the name of a zip archive is that of another program's files: of no archive."""
    suffix = _suffix(name)
    return bool(_ENDING.fullmatch(suffix)) and suffix not in _ARCHIVES and not has_known_name(name)


def is_general(kind: str, name: str) -> bool:
    """Return whether a file was found to be an archive or a text and nothing more, under a name unlike that of one."""
    return kind in ("zip", "txt") and not has_known_name(name)


def is_code(name: str) -> bool:
    """Return whether the name ends like that of a file of source code."""
    return _TEXT_NAMES.get(_suffix(name)) == "code"


def may_be_plain(name: str, size: int) -> bool:
    """Return whether a file of this name and size in bytes may be what `is_plain` looks for."""
    suffix = _suffix(name)
    is_named = suffix in ("txt", "log", "eml") or (_TEXT_NAMES.get(suffix) in PLAIN and suffix not in _XML_NAMES)
    return is_named and 0 < size <= _PLAIN_BYTES


def is_plain(upload: Upload) -> bool:
    """Return whether a file is certainly short plain text: read without a parser of binary data.

    It holds UTF-8 without control characters, begins like no other format, and has the name of a text. A mail may have
    nothing but text. The check itself decodes and counts, so the owner makes it.
    """
    data = upload.data
    if upload.password is not None or not may_be_plain(upload.name, len(data)) or _CONTROLS.search(data):
        return False
    signatures = (*_ZIP, _RTF, *(signature for signature, _ in _OTHERS))
    head = data[:_HEADER_BYTES].removeprefix(_BOMS[0]).lstrip()
    if b"%PDF-" in data[:1024] or _image(data) or head.startswith(signatures) or _HTML.match(data[:4096]):
        return False
    if _FLAT.match(head):
        return False
    kind = _mail(upload)
    if (kind is not None or _suffix(upload.name) == "eml") and not (kind == "mail" and is_text_mail(data)):
        return False
    if _is_notebook(data, _suffix(upload.name)) or (
        _TEXT_NAMES.get(_suffix(upload.name)) == "markdown" and (_holds_code(data) or b"data:image/" in data.lower())
    ):
        return False
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return bool(data.strip())


def is_short_mail(upload: Upload) -> bool:
    """Return whether a file is one short mail, whatever its parts are: it may share a commit, not a process."""
    is_short = upload.password is None and may_be_plain(upload.name, len(upload.data))
    return is_short and _suffix(upload.name) == "eml" and _mail(upload) == "mail"


def _holds_code(data: bytes) -> bool:
    """Return whether a text in Markdown may have code whose language is named: a parser in C looks for its parts."""
    return _FENCE.search(data) is not None or b"<pre" in data.lower()


def is_text_mail(data: bytes) -> bool:
    """Return whether a mail certainly has no part but one of plain text: nowhere in it does another type stand."""
    return _OTHER_PARTS.search(data) is None


def _image(data: bytes) -> str | None:
    for signature, kind in _IMAGES:
        if data.startswith(signature):
            return kind
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "webp"
    # Two letters are a weak signature: require the reserved zeros and a known header size too.
    if (
        data[:2] == b"BM"
        and data[6:10] == bytes(4)
        and data[14:18] in (b"\x0c\0\0\0", b"\x28\0\0\0", b"\x6c\0\0\0", b"\x7c\0\0\0")
    ):
        return "bmp"
    return None


def _text(upload: Upload) -> str:
    suffix = _suffix(upload.name)
    for signature, what in _OTHERS:
        if upload.data.startswith(signature):
            raise UnsupportedFileError(
                _("{name} is {what}, which DocMind does not read.").format(name=upload.name, what=_(what))
            )
    is_text = _looks_like_text(upload.data, 0.02 if suffix in _TEXT_NAMES or suffix in ("txt", "log") else 0.0)
    if is_text and (suffix == "ipynb" or suffix not in _PROMISES) and _is_notebook(upload.data, suffix):
        return "notebook"
    is_html = _TEXT_NAMES.get(suffix) != "code" and bool(_HTML.match(upload.data[:4096]))
    if suffix in _PROMISES:
        found = _("a web page") if is_html else _("plain text") if is_text else _("something else")
        raise CorruptFileError(
            _("{name} is named like {promised} but holds {found}.").format(
                name=upload.name, promised=_(_PROMISES[suffix]), found=found
            )
        )
    if not is_text:
        raise UnsupportedFileError(_("{name} is not a type of file that DocMind reads.").format(name=upload.name))
    if suffix in _XML_NAMES or (suffix not in _TEXT_NAMES and suffix not in ("txt", "log")):
        start = upload.data[:_HEADER_BYTES].removeprefix(_BOMS[0])
        if found := next((kind for sign, kind in _XML_ROOTS if sign.match(start)), ""):
            return found
    kind = "html" if is_html else _TEXT_NAMES.get(suffix, "txt")
    head = upload.data[:4096].removeprefix(_BOMS[0])
    return next((found for sign, found in _BIBLIOGRAPHIES if sign.match(head)), kind) if kind == "txt" else kind


def _mail(upload: Upload) -> str | None:
    """Return the kind of a mail, a mailbox or a saved web page, by its name and its header; None for other files.

    Whatever their names, mails are told by a header that programs write and not people.
    """
    data, suffix = upload.data, _suffix(upload.name)
    start = data[:_HEADER_BYTES].removeprefix(_BOMS[0]).lstrip().replace(b"\r\n", b"\n")
    counted = _COUNTED.match(start) if suffix == "emlx" else None
    start = start[counted.end() :] if counted is not None else start
    header = _HEADER.match(start)
    fields = {name.lower() for name in _FIELD.findall(header[1])} if header else set[bytes]()
    if b"snapshot-content-location" in fields or (suffix in _WEB_ARCHIVES and b"content-type" in fields):
        return "mhtml"
    is_box = header is not None and start.startswith(b"From ")
    if is_box and (suffix in _MAILBOXES or _NEXT_MAIL.search(data)):
        return "mailbox"
    is_named = suffix in (*_MAILS, *_MAILBOXES)
    return "mail" if (is_named and header) or (fields & _ON_THE_WAY and fields & _OF_MAIL) else None


def _is_notebook(data: bytes, suffix: str) -> bool:
    """Return whether a text is a notebook of Jupyter: JSON under the name of one, or JSON that holds what one does."""
    data = data.removeprefix(_BOMS[0]).lstrip()
    if suffix == "ipynb":
        return data.startswith(b"{")
    cells = b'"cells"' in data or b'"worksheets"' in data
    if not (data.startswith(b"{") and b'"nbformat"' in data and cells):
        return False
    try:
        return "nbformat" in json.loads(data)
    except (ValueError, RecursionError):
        return False  # no JSON: it is text that mentions notebooks


def _looks_like_text(data: bytes, forgiven: float) -> bool:
    """Return whether data looks like text: few zeros and control characters, up to the share `forgiven`."""
    sample = data[:65_536]
    if sample.startswith(_BOMS):
        return True
    zeros = sample.count(0) / len(sample)
    if zeros > _UTF16_ALIKE:
        return min(sample[::2].count(0), sample[1::2].count(0)) < 0.02 * len(sample)
    controls = sum(sample.count(byte) for byte in range(32) if byte not in b"\t\n\r\f\x1b")
    return zeros <= forgiven and controls <= max(forgiven, 0.005) * len(sample)


def _in_zip(upload: Upload) -> str:
    try:
        with zipfile.ZipFile(io.BytesIO(upload.data)) as archive:
            names = set(archive.namelist())
            is_locked = any(member.flag_bits & 1 for member in archive.infolist())
            mime = b"" if is_locked else _mime_of(archive, names)
            office = _office_kind(archive, names)
    except (zipfile.BadZipFile, ValueError, NotImplementedError, EOFError, zlib.error) as error:
        promised = _(_PROMISES.get(_suffix(upload.name), N_("an archive")))
        raise CorruptFileError(
            _("{name} is {promised} that is broken or was cut off.").format(name=upload.name, promised=promised)
        ) from error
    if office:
        return office
    is_named_epub = _suffix(upload.name) == "epub" and not is_locked
    if mime.startswith(b"application/epub+zip") or "META-INF/container.xml" in names or is_named_epub:
        return "epub"
    if mime.startswith(_ODF):
        return _open_document(mime, upload.name)
    if _suffix(upload.name) in _PROMISES.keys() - {"zip"}:
        if is_locked:
            raise UnsupportedFileError(
                _("{name} is locked with a password.").format(name=upload.name),
                hint=_("Open it in the program that made it, save it without a password, and add that."),
            )
        raise CorruptFileError(
            _("{name} is not {promised} inside.").format(name=upload.name, promised=_(_PROMISES[_suffix(upload.name)]))
        )
    for marks, what in _PACKAGES:
        if names.intersection(marks):
            raise UnsupportedFileError(
                _("{name} is {what}, which DocMind does not read.").format(name=upload.name, what=_(what))
            )
    if is_of_another_program(upload.name):
        raise UnsupportedFileError(
            _("{name} is a .{ending} file, which DocMind does not read.").format(
                name=upload.name, ending=_suffix(upload.name)
            ),
            hint=_("A package may offer a reader for such files. If it is an archive, end its name in .zip."),
        )
    return "zip"


def _office_kind(archive: zipfile.ZipFile, names: set[str]) -> str:
    """Return the kind of an Office file: by its relations, else by the usual names of its parts; "" for others."""
    from docmind.reading.main_part import kind_in  # lxml, which only Office files need

    if any(name.casefold().endswith(_RELATIONS) for name in names) and (kind := kind_in(archive)):
        return kind
    usual = (("word/document.xml", "docx"), ("xl/workbook.xml", "xlsx"), ("xl/workbook.bin", "xlsb"))
    if kind := next((kind for part, kind in usual if part in names), ""):
        return kind
    return "pptx" if any(name.startswith("ppt/") for name in names) else ""


def _mime_of(archive: zipfile.ZipFile, names: set[str]) -> bytes:
    """Return the type that an archive says it is; "" where it says none. A file of OpenDocument may say it twice."""
    if "mimetype" in names:
        return archive.read("mimetype")[:64].strip() if archive.getinfo("mimetype").file_size < 256 else b""
    if "content.xml" in names and _MANIFEST in names and archive.getinfo(_MANIFEST).file_size < _HEADER_BYTES:
        found = _ODF_TYPE.search(archive.read(_MANIFEST))
        return found[0] if found else b""
    return b""


def _open_document(mime: bytes, name: str) -> str:
    """Return the kind of a file of OpenDocument, by its type. Raises `UnsupportedFileError`."""
    of = mime.removeprefix(_ODF)
    for start, kind in _OPEN_DOCUMENTS:
        if of.startswith(start):
            return kind
    raise UnsupportedFileError(
        _("{name} is an OpenDocument file of a kind that DocMind does not read.").format(name=name)
    )


def _in_ole(upload: Upload) -> tuple[str, Upload]:
    """Return the kind of an OLE file, and the file to read.

    It is an old Excel workbook, or a current office file with a password, which is decrypted.
    """
    import olefile

    name = upload.name
    try:
        with olefile.OleFileIO(io.BytesIO(upload.data)) as ole:
            part = next((part for part in (*_OLD, "EncryptedPackage") if ole.exists(part)), "")
    except OLE_UNREADABLE as error:
        raise CorruptFileError(
            _("{name} is an office file that is broken or was cut off.").format(name=name)
        ) from error
    if part == "EncryptedPackage":
        upload = _unlocked(upload)
        return _in_zip(upload), upload
    if part in _OLD_SHEETS:
        return "xls", _unlocked(upload) if part == "Workbook" and _is_locked(upload) else upload
    if part and _is_locked(upload):
        raise UnsupportedFileError(
            _("{name} is {what}, locked with a password.").format(name=name, what=_(_OLD[part])),
            hint=_("Save it as .docx, .pptx or PDF without a password, and add that."),
        )
    if part:
        raise UnsupportedFileError(
            _("{name} is {what}, which DocMind does not read.").format(name=name, what=_(_OLD[part])),
            hint=_("Save it as .docx, .pptx or PDF and add that."),
        )
    raise UnsupportedFileError(
        _("{name} is an office file of the kind used before 2007.").format(name=name),
        hint=_("Save it as .docx, .xlsx, .pptx or PDF and add that."),
    )


def _is_locked(upload: Upload) -> bool:
    """Return whether a file of before 2007 has a password; of one that is too odd to tell, that it has none."""
    import msoffcrypto

    try:
        return bool(msoffcrypto.OfficeFile(io.BytesIO(upload.data)).is_encrypted())
    except Exception:  # noqa: BLE001  msoffcrypto parses the file and raises whatever comes
        return False


def _unlocked(upload: Upload) -> Upload:
    """Return an office file without its password; the password that Excel itself tries is tried too."""
    import msoffcrypto

    name = upload.name
    try:
        locked = msoffcrypto.OfficeFile(io.BytesIO(upload.data))
        for password in filter(None, (upload.password, _KNOWN_TO_EXCEL)):
            target = io.BytesIO()
            try:
                # One of before 2007 verifies the password in any case, and knows no such argument.
                locked.load_key(password=password, **({} if locked.format == "xls97" else {"verify_password": True}))
                locked.decrypt(target)
            except (msoffcrypto.exceptions.InvalidKeyError, msoffcrypto.exceptions.DecryptionError):
                continue
            return Upload(name, target.getvalue())
    except Exception as error:
        raise CorruptFileError(_("{name} is a locked office file that is broken.").format(name=name)) from error
    if upload.password:
        raise PasswordNeededError(_("That password does not open {name}.").format(name=name))
    raise PasswordNeededError(_("A password is needed to open {name}.").format(name=name))


def _suffix(name: str) -> str:
    return PurePath(name).suffix.lower().removeprefix(".")
