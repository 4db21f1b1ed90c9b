"""The command line: the facade's methods as commands, for people and, with `--json`, for programs."""

from __future__ import annotations

import errno
import os
import sys
from typing import Any

import click

from docmind import __version__
from docmind.cli import asking, chat, documents, embedding, finding, memory, models, threads
from docmind.cli.telling import inert
from docmind.errors import CancelledError, DiskFullError, DocMindError


class _Commands(click.Group):
    """The one place where errors become a sentence on stderr and an exit code."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except DocMindError as error:
            click.echo(f"docmind: {inert(str(error))}\n{inert(error.hint)}", err=True)
            ctx.exit(error.exit_code)
        except (KeyboardInterrupt, click.Abort):  # Ctrl-C, at a question too
            click.echo("\ndocmind: stopped.", err=True)
            ctx.exit(CancelledError.exit_code)
        except BrokenPipeError:  # the reader of our output has gone, `| head` for one
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            ctx.exit(0)
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
            click.echo("docmind: There is no room left for the output.\nFree some disk space and try again.", err=True)
            ctx.exit(DiskFullError.exit_code)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="docmind")
def main() -> None:
    """A private document desk on your own machine."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:  # what an old encoding lacks is a question mark, and no error
            reconfigure(errors="replace")


for _command in (
    *(documents.add, documents.list_, finding.search, asking.ask, chat.chat, finding.show),
    *(threads.threads, memory.memory, models.models, embedding.embed, documents.delete, documents.reindex),
    documents.status,
):
    main.add_command(_command)
