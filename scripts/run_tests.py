"""Check everything: `python3 scripts/run_tests.py [--fast | --changed[=COMMIT] | --bare] [pytest arguments]`.

Runs pytest, and beside it the checks, one after another: ruff, the formatter, the layer contract, pyright and the tests
of `--bare`; all of them, even when one fails. Their output comes before pytest's closing line, which is the last one.
`--fast` leaves out the tests marked slow or browser, runs two files at a time, and lets pyright look only at the Python
files that differ from the main branch. Where at most RETRIED tests failed they run once more, one after another: a test
that meets a process of another test, or a machine that is out of breath, passes then; a fault fails again. What failed
first is written into FIRST_FAILURES, and told at the end. `--coverage` tells the share of lines and branches that were
run.

`--bare` runs the tests that need an optional part (pandoc, Chromium, Tesseract, a C compiler, the measuring set and
others) as on a machine that has none: PATH is empty, and each of them must be skipped with its reason
(tests/support/bare.py).

`--changed` runs what the change in work reaches: the tests of changed packages and of what imports them, but those in
the browser (scripts/reached_tests.py), and all checks. The change is what differs from the main branch, or from COMMIT.

`--faults [SUITE ...]` runs the large fault suites of tests/faults instead (`--faults --help`): a disk that is full or
fails, kills, power cuts, damaged documents. They take about an hour, and write what they counted into
docs/reliability.md.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import setup_env

FAST = "not slow and not browser"
FAULTS = "--faults"
BARE = "--bare"
CHANGED = "--changed"
SIDE_BY_SIDE = ["-n", "2", "--dist", "loadfile"]
RETRIED = 5  # more failures than this are no accident
TESTS_FAILED = 1  # pytest's exit code; the others tell of pytest itself
FIRST_FAILURES = os.path.join(".pytest_cache", "first-failures.txt")
ENDING_S = 10  # how long pytest may take to end after Ctrl-C
NO_CHANGES = "skipped: no Python file differs from the main branch"
NO_GIT = "skipped: git does not say which files differ from the main branch"


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


class Checks(threading.Thread):
    """Runs the checks one after another, so that they take one core at most, and writes their outcome into a file.

    `checks` are pairs of a name and either a command or, as text, the reason to skip the check.
    The thread that starts it may call `stop`; everything else happens in this thread.
    """

    def __init__(self, checks, environment, result):
        threading.Thread.__init__(self)
        self.daemon = True
        self.failed = []  # type: list[str]
        self.output = ""
        self._checks, self._environment, self._result = checks, environment, result
        self._process = None  # type: subprocess.Popen[bytes] | None
        self._lock = threading.Lock()  # between the start of a process and `stop`
        self._is_stopped = False

    def run(self):
        for name, command in self._checks:
            self.output += "== {0}\n".format(name)
            if not isinstance(command, list):
                self.output += command + "\n"
                continue
            try:
                is_passed = self._passes(command)
            except OSError as error:
                is_passed = False
                self.output += "{0}\n".format(error)
            if not is_passed:
                self.failed.append(name)
        with open(self._result + ".new", "w", encoding="utf-8") as file:
            json.dump({"failed": self.failed, "output": self.output}, file)
        os.replace(self._result + ".new", self._result)

    def _passes(self, command):
        with self._lock:
            if self._is_stopped:
                return False
            # A session of its own: `stop` reaches what the check started too.
            self._process = process = subprocess.Popen(
                command,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.output += process.communicate()[0].decode("utf-8", "replace")
        return process.returncode == 0

    def stop(self):
        """End the check that runs, start no other, and wait until the outcome is written."""
        with self._lock:
            self._is_stopped = True
            process = self._process
        if process and process.poll() is None:
            if os.name == "nt":
                process.terminate()
            else:
                with contextlib.suppress(OSError):  # it has ended
                    os.killpg(process.pid, signal.SIGTERM)
        self.join()


def run_beside(checks, program, arguments, environment):
    """Run pytest and the checks at the same time; return 0 where all of them passed. Ctrl-C ends both."""
    with tempfile.TemporaryDirectory() as folder:
        result = os.path.join(folder, "checks")
        running = Checks(checks, environment, result)
        running.start()
        try:
            # tests/support/closing.py waits for the result, and tells it before pytest's closing line.
            code = run_pytest(program, arguments, dict(environment, CHECKS_RESULT=result), running)
            running.join()
        finally:
            running.stop()
        if os.path.exists(result):  # pytest ended without a summary
            print(running.output)
            print("FAILED: {0}".format(", ".join(running.failed) or "pytest"))
            print("0 passed, 1 failed: pytest ended with code {0}".format(code))
    return code or (1 if running.failed else 0)


def run_pytest(program, arguments, environment, checks=None):
    """Run pytest, and once more the few tests that failed; return the exit code of the last run.

    `checks`, where they run beside it, are told in the first run; the second repeats the names of those that failed.
    """
    if os.path.exists(FIRST_FAILURES):
        os.remove(FIRST_FAILURES)
    os.makedirs(os.path.dirname(FIRST_FAILURES), exist_ok=True)
    environment = dict(environment, FIRST_FAILURES=os.path.abspath(FIRST_FAILURES))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "failed")
        code = call(program + arguments, dict(environment, FAILED_TESTS=path))
        failures = read_failures(path)
    if code != TESTS_FAILED or not 1 <= len(failures) <= RETRIED:
        return code
    print("== pytest, a second try of what failed, one after another")
    with open(FIRST_FAILURES, "a", encoding="utf-8") as file:
        for name in sorted(failures):
            print("   " + name)
            file.write("{0}\n{1}\n\n".format(name, failures[name]))
    sys.stdout.flush()
    environment.pop("CHECKS_RESULT", None)
    if checks:
        checks.join()
        environment["CHECKS_FAILED"] = ", ".join(checks.failed)
    return call(program + ["-p", "no:xdist"] + sorted(failures), environment)


def call(command, environment):
    """Run a program and return its exit code; at Ctrl-C, which reaches it too, let it end before this ends."""
    process = subprocess.Popen(command, env=environment)
    try:
        return process.wait()
    except KeyboardInterrupt:
        ends = time.time() + ENDING_S
        while process.poll() is None and time.time() < ends:
            time.sleep(0.1)
        raise
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def read_failures(path):
    """Return the failures that pytest wrote, by the names of the tests; none where it wrote nothing."""
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def changed_files(since=""):
    """Return the files that differ from a commit, by default from the main branch, with new ones.

    The result is None where git does not say.
    """
    try:
        base = [since] if since else git("merge-base", "HEAD", "main") or git("rev-parse", "HEAD")
        if not base or (since and not git("rev-parse", "--verify", since + "^{commit}")):
            return None
        listed = git("diff", "--name-only", "--relative", "--diff-filter=d", base[0]) + git(
            "ls-files", "-o", "--exclude-standard"
        )
    except OSError:  # no git
        return None
    return sorted(set(listed))


def git(*arguments):
    """Return the lines that git writes; none where it fails."""
    process = subprocess.Popen(("git",) + arguments, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    output = process.communicate()[0].decode("utf-8", "replace")
    return output.splitlines() if process.returncode == 0 else []


def checks_of(python, is_fast=False, is_complete=True):
    """Return the checks, each with its command or the reason to skip it."""
    pyright = [python, "-m", "pyright"]
    if is_fast:
        changed = changed_files()
        looked_at = [name for name in changed or () if name.endswith((".py", ".pyi"))]
        pyright = pyright + looked_at if looked_at else NO_GIT if changed is None else NO_CHANGES
    checks = [
        ("ruff check", [python, "-m", "ruff", "check", "."]),
        ("ruff format", [python, "-m", "ruff", "format", "--check", "."]),
        ("lint-imports", [setup_env.venv_program("lint-imports"), "--no-cache", "--no-logo"]),
        ("pyright", pyright),
    ]
    if is_complete and not is_fast:
        checks.append(("tests without any optional part", [python, os.path.abspath(__file__), BARE, "-q"]))
    return checks


def run_changed(python, since, arguments, environment):
    """Run the tests that a change reaches, and all checks; return the exit code."""
    changed = changed_files(since)
    if changed is None:
        raise setup_env.SetupError("DocMind: git does not say which files differ from {0}.".format(since or "main"))
    command = [python, os.path.join(setup_env.ROOT, "scripts", "reached_tests.py")]
    found = subprocess.check_output(command + changed, env=environment).decode("utf-8").split()
    print("{0} changed files reach {1} files of tests".format(len(changed), len(found)))
    sys.stdout.flush()
    tests = (arguments if "-n" in arguments else SIDE_BY_SIDE + arguments) + found
    return run_beside(checks_of(python, is_complete=False), [python, "-m", "pytest"], tests, environment)


def run_bare(python, arguments, environment):
    """Run the tests that need an optional part as on a machine that has none; return pytest's exit code."""
    # The cache of tests that failed is that of the run beside it.
    return call([python, "-m", "pytest", "-p", "no:cacheprovider"] + arguments, dict(environment, BARE="1"))


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
    # The tests start thousands of processes; without byte code, each would compile our modules again.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    arguments = sys.argv[1:]
    if BARE in arguments:
        return run_bare(python, pytest_arguments([one for one in arguments if one != BARE]), environment)
    for argument in arguments:
        if argument.split("=")[0] == CHANGED:
            rest = [one for one in arguments if one != argument]
            return run_changed(python, argument.partition("=")[2], rest, environment)
    checks = checks_of(python, is_fast="--fast" in arguments)
    return run_beside(checks, [python, "-m", "pytest"], pytest_arguments(arguments), environment)


if __name__ == "__main__":
    sys.exit(setup_env.end_quietly(main))
