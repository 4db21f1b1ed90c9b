"""How conversations and their checkpoints are named on the command line: ids, parts of ids, titles."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click

from docmind.cli.telling import inert
from docmind.cli.turns import short
from docmind.conversation import Thread
from docmind.errors import NotFoundError

if TYPE_CHECKING:
    from docmind.application import DocMind

NEW = "new"
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_SHORTEST = 4
_WHOLE = 36  # characters; what is as long is a whole id, and the conversation says whether it has it


def thread_to_ask_in(desk: DocMind, name: str, *, is_begun: bool = False) -> Thread:
    """The conversation called so; one with that id is begun where there is none, and that is told on stderr.
    Where it must have begun, that is not done.

    Raises `NotFoundError` for a deleted one, where several are called so, and for what can be no id.
    """
    if name == NEW and not is_begun:
        return desk.conversations.create()
    try:
        thread = desk.conversations.find_thread(name)
    except NotFoundError:
        if is_begun or _is_called(desk, name):  # several are
            raise
        if not _ID.fullmatch(name):
            raise NotFoundError(
                f"There is no conversation {inert(name)[:64]!r}, and none can be begun with that id.",
                hint="An id is 1 to 64 of the characters A-Z a-z 0-9 _ -; `--thread new` makes one up.",
            ) from None
        click.echo(f"A new conversation begins: {name}", err=True)
        return desk.conversations.create(thread_id=name)
    if thread.deleted_at_ms is not None:
        raise NotFoundError(
            f"The conversation {thread.thread_id} was deleted.",
            hint=f"Bring it back: docmind threads restore {thread.thread_id}",
        )
    return thread


def checkpoint_named(desk: DocMind, thread_id: str, name: str) -> str:
    """The checkpoint of this id, or of the only id that begins or ends so. Raises `NotFoundError`."""
    view = desk.conversations.view(thread_id, last=1)
    known = {run.checkpoint_id for run in view.runs}
    if view.thread.checkpoint_id:
        known.add(view.thread.checkpoint_id)
    if name in known or len(name) >= _WHOLE:
        return name
    fitting = [id_ for id_ in known if len(name) >= _SHORTEST and (id_.startswith(name) or id_.endswith(name))]
    if len(fitting) == 1:
        return fitting[0]
    shown = inert(name)[:64]
    if fitting:
        some = ", ".join(sorted(map(short, fitting))[:5])
        raise NotFoundError(f"{len(fitting)} checkpoints begin or end with {shown}: {some}.", hint="Give more of it.")
    raise NotFoundError(
        f"This conversation has no checkpoint {shown!r}.",
        hint=f"Run `docmind threads show {thread_id} --tree` to see them.",
    )


def _is_called(desk: DocMind, name: str) -> bool:
    """Whether any conversation has this title, or an id that begins so."""
    known = (*desk.conversations.threads(), *desk.conversations.threads(deleted=True))
    return any(name == thread.title or (len(name) >= 4 and thread.thread_id.startswith(name)) for thread in known)
