"""Commands about memories: list, add, edit, forget, purge."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from docmind.cli.context import confirm, json_option, opened, plain, print_json
from docmind.cli.output import inert, tell_degraded, when
from docmind.records.conversations import Memory

if TYPE_CHECKING:
    from docmind.application import DocMind

_SHOWN = 12  # characters of an id
_MOST = 1_000
_thread = click.option("--thread", help="Of this conversation (id, beginning of an id, or title).")


@click.group()
def memory() -> None:
    """Manage what you want remembered: list it, add, correct, forget, erase."""


@memory.command("list")
@click.option("--search", default="", help="Only those that hold this, or are near to it in meaning.")
@_thread
@json_option
def list_(search: str, thread: str | None, as_json: bool) -> None:
    """List the memories of the vault and of all conversations, newest first."""
    with opened() as desk:
        found = desk.memories.list(search, thread_id=_thread_id(desk, thread), limit=_MOST)
    if as_json:
        print_json(plain(found))
        return
    if not found.memories:
        click.echo(
            "Nothing found." if search or thread else "Nothing is remembered yet. Add a fact: docmind memory add"
        )
    for one in found.memories:
        scope = f"  (conversation {one.thread_id[:_SHOWN]})" if one.thread_id else ""
        click.echo(f"{one.memory_id[:_SHOWN]}  {when(one.updated_at_ms)}  {inert(one.text)}{scope}")
    tell_degraded(found.degraded)


@memory.command()
@click.argument("text")
@_thread
@json_option
def add(text: str, thread: str | None, as_json: bool) -> None:
    """Remember TEXT, everywhere or in one conversation."""
    with opened() as desk:
        kept = desk.memories.add(text, thread_id=_thread_id(desk, thread))
    _tell(kept, "Remembered", as_json)


@memory.command()
@click.argument("name", metavar="ID")
@click.argument("text")
@json_option
def edit(name: str, text: str, as_json: bool) -> None:
    """Change the text of the memory ID (or the beginning of an id) to TEXT."""
    with opened() as desk:
        kept = desk.memories.edit(desk.memories.find(name).memory_id, text)
    _tell(kept, "Remembered", as_json)


@memory.command()
@click.argument("name", metavar="ID")
@json_option
def forget(name: str, as_json: bool) -> None:
    """Delete the memory ID (or the beginning of an id)."""
    with opened() as desk:
        gone = desk.memories.forget(desk.memories.find(name).memory_id)
    _tell(gone, "Forgotten", as_json)


@memory.command()
@_thread
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@json_option
def purge(thread: str | None, yes: bool, as_json: bool) -> None:
    """Erase all memories, or those of one conversation, for good."""
    with opened() as desk:
        thread_id = _thread_id(desk, thread)
        what = "what is remembered of this conversation" if thread_id else "everything that is remembered"
        confirm(f"Erase {what} for good?", refusal="Nothing was erased.", yes=yes)
        erased = desk.memories.purge(thread_id=thread_id)
    if as_json:
        print_json({"purged": erased, "thread_id": thread_id})
    else:
        click.echo(f"Erased {'1 memory' if erased == 1 else f'{erased:,} memories'}.")


def _thread_id(desk: DocMind, name: str | None) -> str | None:
    return None if name is None else desk.conversations.find_thread(name).thread_id


def _tell(one: Memory, done: str, as_json: bool) -> None:
    if as_json:
        print_json({"memory": plain(one)})
    else:
        click.echo(f"{done} ({one.memory_id[:_SHOWN]}): {inert(one.text)}")
