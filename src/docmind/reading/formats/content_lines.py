"""The lines of contacts (vCard) and calendars (iCalendar): a name with parameters, and a value."""

from __future__ import annotations

import quopri
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from docmind.reading.formats.prose import clean

_NAME = re.compile(r"(?:[\w.-]{1,60}\.)?([A-Za-z][A-Za-z0-9-]{0,60})((?:;(?:[^\":;]|\"[^\"]*\")*)*):")
_PARAMETER = re.compile(r";([A-Za-z0-9-]+)(?:=((?:[^\";]|\"[^\"]*\")*))?")
_ESCAPED = re.compile(r"\\(.)", re.S)
_SPLIT = re.compile(r"(?<!\\);")
_PARTED = re.compile(r"(?<!\\),")


@dataclass(frozen=True, slots=True)
class Line:
    """One line: its name in capitals, its parameters in capitals with their values, and its value as it stands."""

    name: str
    parameters: dict[str, str] = field(default_factory=dict[str, str])
    value: str = ""

    @property
    def text(self) -> str:
        """The value without its escapes."""
        return unescaped(self.value)

    def parts(self) -> list[str]:
        """Return the parts of a value that has several, such as a name: family, given, and so on."""
        return [unescaped(part) for part in _SPLIT.split(self.value)]

    def listed(self) -> list[str]:
        """Return the values of a list."""
        return [unescaped(part) for part in _PARTED.split(self.value)]


def lines_of(text: str) -> Iterator[Line]:
    """Yield the lines of a file, those that were folded joined; what is no line is left out."""
    whole: list[str] = []
    for raw in [*text.replace("\r\n", "\n").replace("\r", "\n").split("\n"), ""]:
        is_soft = bool(whole) and whole[-1].endswith("=") and "QUOTED-PRINTABLE" in whole[0][:200].upper()
        if whole and (raw[:1] in (" ", "\t") or is_soft):
            if is_soft:
                whole[-1] = whole[-1][:-1]
            whole.append(raw if is_soft else raw[1:])
            continue
        if whole and (found := _line("".join(whole))):
            yield found
        whole = [raw] if raw.strip() else []


def _line(raw: str) -> Line | None:
    found = _NAME.match(raw)
    if found is None:
        return None
    each: defaultdict[str, list[str]] = defaultdict(list)
    for name, value in _PARAMETER.findall(found[2]):
        # The older form of vCard gives kinds alone: TEL;HOME;VOICE:…
        key, said = (name.upper(), value.replace('"', "")) if value else ("TYPE", name)
        each[key].append(said)
    # A kind may be given again and again; of other parameters that are, the last one counts.
    given = {key: ",".join(values) if key == "TYPE" else values[-1] for key, values in each.items()}
    value = raw[found.end() :]
    if given.get("ENCODING", "").upper() == "QUOTED-PRINTABLE" or "QUOTED-PRINTABLE" in given.get("TYPE", "").upper():
        value = quopri.decodestring(value.encode("utf-8", "replace")).decode("utf-8", "replace")
    return Line(found[1].upper(), given, value)


def unescaped(text: str) -> str:
    """Return a text without its escapes, on one line."""
    said = _ESCAPED.sub(lambda found: "\n" if found[1] in "nN" else found[1], text)
    return " ".join(clean(said).split())
