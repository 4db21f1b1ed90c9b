"""`python -P -m docmind.ui [OPTIONS]`: serve the app. `docmind app` and `scripts/run_app.py` start this.

The options are those of `streamlit run`. Ctrl-C is how one ends a desk, not an error.
"""

from __future__ import annotations

import sys
from typing import Any

import click
from streamlit.web import bootstrap
from streamlit.web.cli import configurator_options

from docmind.ui.app.options import own_options
from docmind.ui.page_scripts import start_script

_APP = "docmind.ui.serving:app"


@click.command()
@configurator_options
def serve(**given: Any) -> None:
    """Open DocMind in the browser. The options are those of `streamlit run`."""
    own = {name.replace(".", "_"): value for name, value in own_options().items()}
    # As flags: Streamlit binds the port before it loads the app, and reads its files again when they change.
    flags = own | {name: value for name, value in given.items() if value is not None and value != ()}
    bootstrap.load_config_options(flags)
    bootstrap.run_asgi_app(str(start_script()), _APP, [], flags)


def main() -> int:
    """Serve until Ctrl-C; return the exit code."""
    try:
        serve.main(prog_name="docmind app", standalone_mode=False)
    except click.Abort:
        return 0
    except click.ClickException as error:
        error.show()
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
