"""Check everything: `python3 scripts/run_tests.py [--fast] [pytest arguments]`, or `... --faults [SUITE ...]`.

Runs ruff, the formatter, pyright, the layer contract and then pytest; all of them, even when one fails. `--fast`
leaves out the tests marked slow or browser, and runs two files at a time. Pytest comes last, and names the checks that
failed before it. Where at most RETRIED tests failed they run once more, one after another: a test that meets a process
of another test, or a machine that is out of breath, passes then and is named; a fault fails again.

`--faults` runs the large fault suites of tests/faults instead (`--faults --help`): a disk that is full or fails, kills,
power cuts, damaged documents. They take about an hour, and write what they counted into docs/reliability.md.
"""

import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import setup_env

FAST = "not slow and not browser"
FAULTS = "--faults"
SIDE_BY_SIDE = ["-n", "2", "--dist", "loadfile"]
RETRIED = 5  # more failures than this are no accident
TESTS_FAILED = 1  # pytest's exit code; the others tell of pytest itself


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


def run_pytest(program, arguments, environment):
    """Run pytest, and once more the few tests that failed; return the exit code of the last run."""
    with tempfile.TemporaryDirectory() as folder:
        names = os.path.join(folder, "failed")
        code = subprocess.call(program + arguments, env=dict(environment, FAILED_TESTS=names))
        failed = read_lines(names)
    if code != TESTS_FAILED or not 1 <= len(failed) <= RETRIED:
        return code
    print("== pytest, a second try of what failed, one after another")
    for name in failed:
        print("   " + name)
    sys.stdout.flush()
    return subprocess.call(program + ["-p", "no:xdist"] + failed, env=environment)


def read_lines(path):
    """Return the lines of a text file; none where there is no file."""
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        return file.read().splitlines()


def run_faults(python, arguments):
    """Run the large fault suites; return their exit code."""
    paths = [
        os.path.join(setup_env.ROOT, name) for name in ("tests", os.path.join("tests", "support"), "src", "scripts")
    ]
    return subprocess.call(
        [python, "-m", "faults"] + arguments, env=dict(os.environ, PYTHONPATH=os.pathsep.join(paths))
    )


def main():
    python = setup_env.ensure(extras=["test"])
    os.chdir(setup_env.ROOT)
    if FAULTS in sys.argv[1:]:
        return run_faults(python, [argument for argument in sys.argv[1:] if argument != FAULTS])
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
    code = run_pytest([python, "-m", "pytest"], pytest_arguments(sys.argv[1:]), environment)
    return code or (1 if failed else 0)


if __name__ == "__main__":
    sys.exit(setup_env.end_quietly(main))
