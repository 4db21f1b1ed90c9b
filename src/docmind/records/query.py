"""What can be asked: one record for a search, an answer and a turn of a conversation.

Each field is declared once, with its bounds in its type and a sentence about it in its metadata. From it the facade,
REST and its client, MCP, LlamaIndex, the command line, what a turn stores, and the tables of the documentation derive
their parameters; `docs/architecture.md` says how one is added. The metadata of a field may have

* `unit`: of a number, or of the length of a text;
* `only`: the operations that take it, where not all do, and `why` the others do not;
* `option`: its names on the command line, where `--` and its own name are not what it is called there;
* `absent`: the doors that leave it out, each with its reason.

The fields of `Filters` have the same metadata, and `named`: what is given by name at a door for people or assistants.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from typing import Any, Literal

from docmind.errors import ConfigError
from docmind.records.search import (
    LISTS_OF_PICTURES,
    LISTS_OF_QUESTIONS,
    DedupKey,
    Filters,
    ListName,
    MergeStrategy,
    Rerank,
)
from docmind.records.values import Count, FileName, Question, about, check_fields, not_among
from docmind.wording import N_, _

Mode = Literal["standard", "agent"]

Operation = Literal["search", "answer", "turn"]
"""A search, an answer made of quotes, and a turn, in a conversation or outside of any."""

_SEARCH: tuple[Operation, ...] = ("search",)
_TURN: tuple[Operation, ...] = ("turn",)
_NO_PICTURE = N_("An answer is made from words: a picture is searched for.")
_NO_STEPS = N_("Only a question that a language model may answer has a mode, and may search the web.")


@dataclass(frozen=True, slots=True)
class Query:
    """What is asked. A field that is left out is as configured.

    Raises `ConfigError` for a value beyond its bounds, with the same sentence at every door. `check_for` checks what
    depends on the operation and on other fields.
    """

    question: Question = field(default="", metadata=about("What to look for, in words.", unit="characters"))
    picture: bytes | None = field(
        default=None,
        repr=False,
        metadata=about(
            "A picture to search by (PNG, JPEG, WebP and others), with or without words.",
            unit="bytes", only=_SEARCH, why=_NO_PICTURE, option=("--image",),
        ),
    )  # fmt: skip
    picture_name: FileName | None = field(
        default=None,
        metadata=about(
            "What messages call the picture.", unit="characters", only=_SEARCH, why=_NO_PICTURE,
            absent={"cli": "It is the name of the file.", "mcp": "A picture comes as bytes, without a name."},
        ),
    )  # fmt: skip
    read_picture: bool = field(
        default=True,
        metadata=about(
            "Read the words on the picture, which takes seconds, and search for them.",
            only=_SEARCH, why=_NO_PICTURE, option=("--read/--no-read",),
        ),
    )  # fmt: skip
    k: Count | None = field(
        default=None,
        metadata=about("How many results, at most (default: DOCMIND_RETRIEVE__K).", unit="hits", option=("-k",)),
    )
    filters: Filters = field(
        default=Filters(),
        metadata=about("Filters: within a field any value may match, and all fields must match."),
    )
    lists: tuple[ListName, ...] = field(
        default=(),
        metadata=about(
            "Search only here: text, code, page images as a whole (image) or by their parts (visual). A picture is "
            "searched for by its look (lookalike), by the words on it (text) or by an image model (image).",
            option=("--list", "--modality"),
        ),
    )
    limits: Mapping[ListName, Count] = field(
        default_factory=dict,
        hash=False,
        metadata=about("How deep each list is searched, by its name.", unit="hits", option=("--limit",)),
    )
    merge: MergeStrategy | None = field(
        default=None, metadata=about("How several result lists become one (default: DOCMIND_SEARCH__MERGE).")
    )
    dedup_key: DedupKey | None = field(
        default=None,
        metadata=about(
            "At most one result for each passage (node_id), page (page_id) or document (doc_id) "
            "(default: DOCMIND_RETRIEVE__DEDUP_KEY)."
        ),
    )
    newest_first: bool = field(
        default=False,
        metadata=about(
            "Put the newest first among what answers equally well; a question for the latest does the same.",
            option=("--newest-first",),
        ),
    )
    rerank: Rerank | None = field(
        default=None,
        metadata=about("Which kind of image model reorders the first pages (default: DOCMIND_VISUAL__RERANK)."),
    )
    mode: Mode | None = field(
        default=None,
        metadata=about("standard, or agent: deep search, slower, several searches.", only=_TURN, why=_NO_STEPS),
    )
    web: bool = field(
        default=False,
        metadata=about(
            "Search the web too, in agent mode.", only=_TURN, why=_NO_STEPS,
            absent={"mcp": "Only the user can agree to a search of the web."},
        ),
    )  # fmt: skip

    def __post_init__(self) -> None:
        question = self.question.encode("utf-8", "replace").decode()  # a shell may pass bytes that are not text
        object.__setattr__(self, "question", question)
        object.__setattr__(self, "lists", tuple(dict.fromkeys(self.lists)))
        object.__setattr__(self, "limits", dict(self.limits))
        check_fields(self)

    @staticmethod
    def of(asked: Query | str) -> Query:
        """Return a query; a text is one with these words."""
        return Query(asked) if isinstance(asked, str) else asked

    @property
    def words(self) -> str:
        """The question as it is embedded: on one line."""
        return " ".join(self.question.split())

    def check_for(self, operation: Operation) -> None:
        """Raise `ConfigError` where the query cannot be asked of this operation, or asks nothing."""
        for one in fields(self):
            if not takes(one, operation) and getattr(self, one.name) != default_of(one):
                raise ConfigError(
                    _("{name} can't be given here.").format(name=one.name), hint=_(str(one.metadata["why"]))
                )
        if self.picture is None and not self.words:
            if operation == "search":
                raise ConfigError(_("There is nothing to search for."), hint=_("Give a question or a picture."))
            raise ConfigError(_("The question is empty."), hint=_("Type a question."))
        if self.picture is None and not self.read_picture:
            raise ConfigError(
                _("There is no picture whose words could be left unread."), hint=_("Give a picture, or leave it out.")
            )
        there = LISTS_OF_QUESTIONS if self.picture is None else LISTS_OF_PICTURES
        for name, given in (("lists", self.lists), ("limits", self.limits)):
            if any(one not in there for one in given):
                raise not_among(name, there)

    def given(self) -> dict[str, Any]:
        """Return the values that are not the defaults, by field."""
        values = {one.name: (getattr(self, one.name), default_of(one)) for one in fields(self)}
        return {name: value for name, (value, default) in values.items() if value != default}


def takes(one: Field[Any], operation: Operation) -> bool:
    """Return whether an operation takes a field of `Query`."""
    return operation in one.metadata.get("only", (operation,))


def default_of(one: Field[Any]) -> Any:
    """Return the default of a field."""
    return (
        one.default
        if one.default is not MISSING
        else one.default_factory()
        if one.default_factory is not MISSING
        else None
    )


def fields_for(operation: Operation, *, door: str = "") -> tuple[Field[Any], ...]:
    """Return the fields of `Query` that an operation takes, without those that the door leaves out."""
    return tuple(one for one in fields(Query) if takes(one, operation) and door not in one.metadata.get("absent", ()))
