"""Start DocMind in the browser: `python3 scripts/run_app.py [streamlit options]`.

The first start installs what is needed into `.venv`; later ones need no network, unless an extra was asked for in
Settings: it is installed at the next start. Options are those of `streamlit run`:
`python3 scripts/run_app.py --server.port 8600`.
"""

import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import setup_env


def become(command):
    """Continue as another program; where a process cannot be replaced, wait for it and return its exit code."""
    sys.stdout.flush()
    if os.name != "nt":
        os.execv(command[0], command)
    process = subprocess.Popen(command)
    while True:
        try:
            return process.wait()
        except KeyboardInterrupt:  # the child has it too, and ends by itself
            continue


def prepared():
    """Return the interpreter of the environment, with the extras that were asked for in Settings where they install."""
    wishes = setup_env.wishes()
    if wishes:
        sys.stderr.write("Asked for in Settings: {0}.\n".format(", ".join(wishes)))
        try:
            python = setup_env.ensure(extras=wishes)
        except setup_env.SetupError as error:
            sys.stderr.write("{0}\nDocMind starts without it, and tries again at the next start.\n".format(error))
        else:
            setup_env.forget_wishes()
            return python
    return setup_env.ensure()


def main():
    if not os.path.exists(os.path.join(setup_env.ROOT, "app.py")):
        raise setup_env.SetupError("DocMind: app.py is not here: the checkout is not complete.")
    python = prepared()
    os.environ["RUN_APP_WISHES"] = os.path.join(setup_env.ROOT, setup_env.WISHES)  # where the app writes down extras
    os.chdir(setup_env.ROOT)  # where a setting that is a relative path begins
    return become([python, "-P", "-m", "docmind.ui"] + sys.argv[1:])


if __name__ == "__main__":
    sys.exit(setup_env.end_quietly(main))
