"""`docmind app`: the app in the browser, from any folder.

Short: the app is `docmind.ui`, which this process becomes, since the command line imports none of it.
"""

from __future__ import annotations

import os
import subprocess
import sys

import click

from docmind.cli.context import no_json_option
from docmind.cli.help import command


@command("app", context_settings={"ignore_unknown_options": True})
@click.argument("options", nargs=-1, type=click.UNPROCESSED)
@no_json_option
def app(options: tuple[str, ...]) -> None:
    """Open DocMind in the browser. OPTIONS are those of Streamlit, such as --server.port 8600. Ctrl-C ends it."""
    # -P: the folder in which this is called is not searched for modules.
    program = [sys.executable, "-P", "-m", "docmind.ui", *options]
    if os.name != "nt":
        os.execv(program[0], program)
    process = subprocess.Popen(program)
    while True:
        try:
            sys.exit(process.wait())
        except KeyboardInterrupt:  # the app has it too, and ends by itself
            continue
