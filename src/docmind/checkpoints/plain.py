"""What a conversation's state may hold: plain data, and nothing that was smuggled in as text."""

from __future__ import annotations

import math
import re
from typing import Any

from docmind.errors import StateRefusedError

DEEPEST = 16  # lists and dicts inside one another
LARGEST = 1 << 20  # bytes of one checkpoint, or of one write
_BASE64 = 1000  # characters from which a text without spaces is bytes in disguise
_WRITING_HINT = "Ask again, or in other words; what was there before is kept."
_PATH_FIELDS = frozenset(("image_path", "thumbnail_path", "source_path"))
_DATA_URL = re.compile(r"\s*data:(?:[\w.+-]+/[\w.+*-]+)?(?:;[\w=.+-]+)*,", re.IGNORECASE)
_BASE64_TEXT = re.compile(r"[A-Za-z0-9+/_-]+={0,2}")
_PATH = re.compile(r"[/\\~]|[A-Za-z]:|file:", re.IGNORECASE)
_SCALARS = frozenset((str, int, bool, type(None)))
_SHOWN_KEY = re.compile(r"[A-Za-z0-9_:.-]{1,40}")

_Where = tuple[Any, Any] | None  # the way down, as (way to the parent, key)


def refuse(value: Any, name: str = "state") -> None:
    """Raise `StateRefusedError` unless the value may be stored.

    Allowed: None, bool, int of 64 bits, finite float, str that is valid UTF-8, list, and dict with str keys, up to 16
    deep. Not allowed even as text: a file path in a field that is named for one, a `data:` URL, and 1,000 or more
    characters of base64. The message names the place, never what stands there.
    """
    _walk(value, name, is_new=True)


def refuse_read(value: Any, name: str = "state") -> None:
    """The same for what was decoded, as to types and depth; LangGraph has two layers of its own around ours."""
    if not _is_plain(value, DEEPEST + 2):
        _walk(value, name, is_new=False)


def _is_plain(value: Any, depth: int) -> bool:
    """Most of what is read is sound and there is much of it: 400 states for 200 turns."""
    kind = type(value)
    if kind is dict:
        if not all(type(key) is str for key in value):
            return False
        value = value.values()
    elif kind is not list:
        return kind in _SCALARS or (kind is float and math.isfinite(value))
    if not depth:
        return False
    return all(type(inner) in _SCALARS or _is_plain(inner, depth - 1) for inner in value)


def _walk(value: Any, name: str, *, is_new: bool) -> None:
    deepest = DEEPEST if is_new else DEEPEST + 2
    left = LARGEST  # no value that fits has more parts than bytes; lists that share parts could have without end
    stack: list[tuple[Any, int, _Where]] = [(value, 1, None)]
    while stack:
        item, depth, where = stack.pop()
        left -= 1
        if left < 0:
            raise _refused(name, where, f"has more than {LARGEST} parts", is_new)
        kind = type(item)  # exactly: a subclass, such as a numpy float, would come back as something else
        if kind is str:
            if is_new and (reason := _text(item, where)):
                raise _refused(name, where, reason, is_new)
        elif kind is dict:
            if depth > deepest:
                raise _refused(name, where, f"is nested more than {DEEPEST} deep", is_new)
            for key, inner in item.items():
                if type(key) is not str or not _is_utf8(key):
                    raise _refused(name, where, "has a key that is not text", is_new)
                stack.append((inner, depth + 1, (where, key)))
        elif kind is list:
            if depth > deepest:
                raise _refused(name, where, f"is nested more than {DEEPEST} deep", is_new)
            stack.extend((inner, depth + 1, (where, at)) for at, inner in enumerate(item))
        elif kind is float:
            if not math.isfinite(item):
                raise _refused(name, where, "is not a finite number", is_new)
        elif kind is int:
            if not -(1 << 63) <= item < 1 << 63:
                raise _refused(name, where, "is a number of more than 64 bits", is_new)
        elif item is not None and kind is not bool:
            raise _refused(name, where, f"is of the type {kind.__name__}, not plain data", is_new)


def _text(text: str, where: _Where) -> str:
    """Why a text is refused, or an empty string."""
    if len(text) > LARGEST:
        return f"has more than {LARGEST} characters"
    if not _is_utf8(text):
        return "is not valid text"
    key = where[1] if where else None
    if text and (key in _PATH_FIELDS or (key == "path" and _PATH.search(text))):
        return "is a file path"
    if _DATA_URL.match(text):
        return "is a data URL"
    if len(text) >= _BASE64 and _is_base64(text):
        return "is bytes written as base64"
    return ""


def _is_utf8(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_base64(text: str) -> bool:
    """Base64 in one piece, or in the long lines of a mail; words on lines of their own are none."""
    lines = text.replace("\r", "").strip("\n").split("\n")
    return len("".join(lines)) >= _BASE64 > 20 * len(lines) and all(map(_BASE64_TEXT.fullmatch, lines))


def _refused(name: str, where: _Where, reason: str, is_new: bool) -> StateRefusedError:
    steps: list[str] = []
    while where:
        where, key = where
        shown = key if type(key) is str and _SHOWN_KEY.fullmatch(key) else "…"  # a key may be a document's words
        steps.append(f"[{key}]" if type(key) is int else f".{shown}")
    place = name + "".join(reversed(steps))
    if is_new:
        return StateRefusedError(f"The conversation's state cannot keep {place}: it {reason}.", hint=_WRITING_HINT)
    return StateRefusedError(f"A stored state of the conversation is refused: {place} {reason}.")
