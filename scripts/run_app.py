"""Start DocMind in the browser: `python3 scripts/run_app.py [streamlit options]`.

The first start installs what is needed into `.venv`; later ones need no network. Options go to `streamlit run`:
`python3 scripts/run_app.py --server.port 8600`.
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import setup_env


def main():
    if not os.path.exists(os.path.join(setup_env.ROOT, "app.py")):
        raise setup_env.SetupError("DocMind: app.py is not here: the checkout is not complete.")
    python = setup_env.ensure()
    os.chdir(setup_env.ROOT)  # where .streamlit/config.toml and the default data directory are
    return setup_env.become([python, "-m", "streamlit", "run", "app.py"] + sys.argv[1:])


if __name__ == "__main__":
    sys.exit(setup_env.end_quietly(main))
