"""Check everything: `python3 scripts/run_tests.py [--fast] [pytest arguments]`.

Runs ruff, the formatter, pyright, the layer contract and then pytest; all of them, even when one fails. `--fast`
leaves out the tests marked slow or browser, and runs two files at a time. Pytest comes last, and names the checks that
failed before it.
"""

import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import setup_env

FAST = "not slow and not browser"
SIDE_BY_SIDE = ["-n", "2", "--dist", "loadfile"]


def pytest_arguments(arguments):
    """Return the arguments for pytest; `--fast` becomes a marker expression, joined to an existing one."""
    rest = [argument for argument in arguments if argument != "--fast"]
    if len(rest) == len(arguments):
        return rest
    if "-n" not in rest:
        rest = SIDE_BY_SIDE + rest
    for place, argument in enumerate(rest):
        if argument == "-m" and place + 1 < len(rest):
            return rest[:place] + ["-m", "({0}) and {1}".format(rest[place + 1], FAST)] + rest[place + 2 :]
    return ["-m", FAST] + rest


def main():
    python = setup_env.ensure(extras=["test"])
    os.chdir(setup_env.ROOT)
    # The node that came with pyright, and no look at the network for a newer one.
    environment = dict(os.environ, PYRIGHT_PYTHON_GLOBAL_NODE="0", PYRIGHT_PYTHON_IGNORE_WARNINGS="1")
    environment["PATH"] = os.path.dirname(python) + os.pathsep + environment.get("PATH", "")
    checks = [
        ("ruff check", [python, "-m", "ruff", "check", "."]),
        ("ruff format", [python, "-m", "ruff", "format", "--check", "."]),
        ("pyright", [python, "-m", "pyright"]),
        ("lint-imports", [setup_env.venv_program("lint-imports"), "--no-cache", "--no-logo"]),
    ]
    failed = []
    for name, command in checks:
        print("== " + name)
        sys.stdout.flush()
        if subprocess.call(command, env=environment) != 0:
            failed.append(name)
    print("== pytest")
    sys.stdout.flush()
    environment["CHECKS_FAILED"] = ", ".join(failed)  # tests/conftest.py repeats it in pytest's closing summary
    code = subprocess.call([python, "-m", "pytest"] + pytest_arguments(sys.argv[1:]), env=environment)
    return code or (1 if failed else 0)


if __name__ == "__main__":
    sys.exit(setup_env.end_quietly(main))
