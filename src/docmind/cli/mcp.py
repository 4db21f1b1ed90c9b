"""`docmind mcp`: the library for assistants that speak the Model Context Protocol, over standard input and output.

Short: the server is `docmind.api.mcp_server`, which is loaded only here.
"""

from __future__ import annotations

import click

from docmind.cli.context import is_asking, no_json_option
from docmind.cli.help import command
from docmind.config import Settings
from docmind.network import network_guard
from docmind.observability import start_logs, start_traces
from docmind.wording import _


@command()
@no_json_option
def mcp() -> None:
    """Serve the library to an assistant over MCP (stdin and stdout). The assistant starts this; see docs/mcp.md."""
    if is_asking():
        click.echo(_("This waits for an assistant, which speaks MCP to it. Ctrl-C ends it."), err=True)
    settings = Settings.load()
    start_logs(settings)
    network_guard().hold(settings.network.strict)
    start_traces(settings)
    from docmind.api.mcp_server import serve_stdio

    serve_stdio(settings)
