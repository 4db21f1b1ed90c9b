"""Tags: the form in which they are kept, and their bounds, for every way by which they come in."""

from __future__ import annotations

from collections.abc import Iterable

from docmind.errors import ConfigError
from docmind.records.values import LONGEST_TAG, MOST_TAGS
from docmind.rich_text import one_line
from docmind.wording import _


def tag_of(text: str) -> str:
    """Return a tag as it is kept: one line of visible text. Raises `ConfigError` where it is empty or too long."""
    tag = one_line(text.encode("utf-8", "replace").decode()).strip()  # a shell may pass bytes that are not text
    if not tag:
        raise ConfigError(_("A tag needs a letter."), hint=_("Type a word, for example: contract."))
    if len(tag) > LONGEST_TAG:
        raise ConfigError(
            _("A tag has at most {most} characters; this has {number}.").format(most=LONGEST_TAG, number=len(tag)),
            hint=_("Choose a shorter one."),
        )
    return tag


def tags_of(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the tags of one document as they are kept; capital letters do not make another tag.

    Raises `ConfigError` where one is empty or too long, or there are too many.
    """
    tags: dict[str, str] = {}
    for text in texts:
        tag = tag_of(text)
        tags.setdefault(tag.casefold(), tag)
    check_number(len(tags))
    return tuple(tags.values())


def fitting_tags(texts: Iterable[object]) -> tuple[str, ...]:
    """Return the tags among what another program or an older library kept, without those that no document may have."""
    tags: dict[str, str] = {}
    for text in texts:
        try:
            tag = tag_of(str(text))
        except ConfigError:
            continue
        if len(tags) < MOST_TAGS:
            tags.setdefault(tag.casefold(), tag)
    return tuple(tags.values())


def check_number(number: int, before: int = 0) -> None:
    """Raise `ConfigError` where a document would get more tags than it may have; `before` is how many it has now."""
    if number > max(MOST_TAGS, before):
        raise ConfigError(
            _("A document has at most {most} tags; these are {number}.").format(most=MOST_TAGS, number=number),
            hint=_("Remove some, or put the documents into a collection."),
        )
