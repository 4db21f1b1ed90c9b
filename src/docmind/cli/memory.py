"""Commands about memories: list, add, edit, forget, purge."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from docmind.cli.context import confirm, json_option, opened, plain, print_json, reached
from docmind.cli.help import group
from docmind.cli.output import counted_memories, inert, print_degraded, when
from docmind.records.conversations import Memory
from docmind.wording import N_, _

if TYPE_CHECKING:
    from docmind.application import DocMind
    from docmind.client import Client

_SHOWN = 12  # characters of an id
_MOST = 1_000
_thread = click.option("--thread", help="Of this conversation (id, its beginning, or title).")


@group()
def memory() -> None:
    """Manage memories: facts that DocMind remembers for you."""


@memory.command("list")
@click.option("--search", default="", help="Only memories with this text or a similar meaning.")
@_thread
@json_option
def list_(search: str, thread: str | None, as_json: bool) -> None:
    """List the memories, newest first."""
    with reached() as desk:
        found = desk.memories.list(search, thread_id=_thread_id(desk, thread), limit=_MOST)
    if as_json:
        print_json(plain(found))
        return
    if not found.memories:
        click.echo(
            _("No memories match.") if search or thread else _("There are no memories yet. Add one: docmind memory add")
        )
    for one in found.memories:
        scope = "  " + _("(conversation {id})").format(id=one.thread_id[:_SHOWN]) if one.thread_id else ""
        click.echo(f"{one.memory_id[:_SHOWN]}  {when(one.updated_at_ms)}  {inert(one.text)}{scope}")
    print_degraded(found.degraded)


@memory.command()
@click.argument("text")
@_thread
@json_option
def add(text: str, thread: str | None, as_json: bool) -> None:
    """Save TEXT as a memory, for all conversations or for one."""
    with reached(creates=True) as desk:
        kept = desk.memories.add(text, thread_id=_thread_id(desk, thread))
    _print(kept, N_("Saved ({id}): {text}"), as_json)


@memory.command()
@click.argument("name", metavar="ID")
@click.argument("text")
@json_option
def edit(name: str, text: str, as_json: bool) -> None:
    """Change the text of a memory. ID may be the beginning of an id."""
    with reached() as desk:
        kept = desk.memories.edit(desk.memories.find(name).memory_id, text)
    _print(kept, N_("Saved ({id}): {text}"), as_json)


@memory.command()
@click.argument("name", metavar="ID")
@json_option
def forget(name: str, as_json: bool) -> None:
    """Delete a memory. ID may be the beginning of an id."""
    with reached() as desk:
        gone = desk.memories.remove(desk.memories.find(name).memory_id)
    _print(gone, N_("Deleted ({id}): {text}"), as_json)


@memory.command()
@_thread
@click.option("-y", "--yes", is_flag=True, help="Don't ask for confirmation.")
@json_option
def purge(thread: str | None, yes: bool, as_json: bool) -> None:
    """Delete all memories permanently, or those of one conversation."""
    with opened() as desk:
        thread_id = _thread_id(desk, thread)
        one, all_ = _("Delete the memories of this conversation permanently?"), _("Delete all memories permanently?")
        confirm(one if thread_id else all_, refusal=_("Nothing was deleted."), yes=yes)
        erased = desk.memories.erase(thread_id=thread_id)
    if as_json:
        print_json({"purged": erased, "thread_id": thread_id})
    else:
        click.echo(_("Deleted permanently: {memories}.").format(memories=counted_memories(erased)))


def _thread_id(desk: DocMind | Client, name: str | None) -> str | None:
    return None if name is None else desk.conversations.find_thread(name).thread_id


def _print(one: Memory, done: str, as_json: bool) -> None:
    if as_json:
        print_json({"memory": plain(one)})
    else:
        click.echo(_(done).format(id=one.memory_id[:_SHOWN], text=inert(one.text)))
