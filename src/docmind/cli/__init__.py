"""The command line: the facade's methods as commands, and as JSON for programs."""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from docmind import __version__
from docmind.cli import (
    app,
    ask,
    bundle,
    chat,
    check,
    compare,
    doctor,
    documents,
    evaluate,
    figures,
    find,
    gc,
    keys,
    library,
    lines,
    mcp,
    memory,
    models,
    purge,
    queue,
    reread,
    search,
    settings,
    snapshot,
    sync,
    threads,
    tokens,
)
from docmind.cli.help import Group
from docmind.cli.output import inert
from docmind.errors import CancelledError, DiskFullError, DocMindError
from docmind.storage import is_disk_full, keep_private
from docmind.wording import _


class _Commands(Group):
    """The command group that turns errors into a sentence on stderr and an exit code."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except DocMindError as error:
            click.echo(f"docmind: {inert(str(error))}\n{inert(error.hint)}", err=True)
            ctx.exit(error.exit_code)
        except (KeyboardInterrupt, click.Abort):  # Ctrl-C, also at a question
            click.echo("\n" + _("docmind: stopped."), err=True)
            ctx.exit(CancelledError.exit_code)
        except BrokenPipeError:  # the reader of the output has gone, for example `| head`
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            ctx.exit(0)
        except OSError as error:
            if not is_disk_full(error):
                raise
            click.echo(
                "docmind: " + _("The disk is full: the output was not written.\nFree some disk space and try again."),
                err=True,
            )
            ctx.exit(DiskFullError.exit_code)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="docmind")
def main() -> None:
    """Your private document library: search it and ask it, all on this computer."""
    keep_private()
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:  # characters that an old encoding lacks become question marks, not errors
            reconfigure(errors="replace")


for _command in (
    *(
        documents.add,
        documents.list_,
        queue.queue,
        sync.sync,
        search.search,
        find.find,
        ask.ask,
        chat.chat,
        check.check,
        compare.compare,
        compare.versions,
        search.show,
        lines.lines,
        lines.correct,
        figures.figures,
    ),
    *(threads.threads, memory.memory, models.models, models.embed, documents.delete, reread.reread, documents.reindex),
    *(library.get, library.rename, library.tag, library.collection, library.bin_, purge.purge, purge.receipts_),
    *(app.app, documents.accept, documents.status, documents.open_, keys.keys, bundle.bundle, settings.settings, gc.gc),
    *(snapshot.snapshot, doctor.doctor, tokens.tokens, mcp.mcp, evaluate.evaluate),
):
    main.add_command(_command)
