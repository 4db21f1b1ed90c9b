"""What `docmind status` prints about the network.

Below 60 lines: `status` prints it, and so does whatever else reports on the library.
"""

from __future__ import annotations

import click

from docmind.cli.output import inert, when
from docmind.records.network import PARTS, PURPOSES, NetworkLedger
from docmind.wording import _, ngettext


def print_network(ledger: NetworkLedger) -> None:
    """Print the refused attempts to reach other machines since the start, and what settings allowed."""
    told = ngettext(
        "Network: {n} refused attempt since {time}", "Network: {n} refused attempts since {time}", ledger.attempts
    )
    click.echo(told.format(n=f"{ledger.attempts:,}", time=when(ledger.since_ms)))
    for one in ledger.refused:
        click.echo(f"  {one.count:6,}  {inert(one.place) or _('other addresses')}  ({_(PARTS[one.part])})")
    for one in ledger.allowed:
        place, purpose = inert(one.place) or _("other addresses"), _(PURPOSES[one.purpose])
        click.echo(f"  {one.count:6,}  " + _("{place}, allowed: {purpose}").format(place=place, purpose=purpose))
