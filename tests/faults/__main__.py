"""The large run: `python3 scripts/run_tests.py --faults [SUITE …] [--seed N] [--minutes M] [--wanted N] [--dry]`.

Each suite prints what it tried and what survived, with its seed, and writes its row into `docs/reliability.md`; without
names all run. `--minutes` limits each suite, `--wanted` is how many each tries, `--dry` leaves the page as it is. The
exit code is 1 where anything did not survive, or where nothing was tried.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

from docmind import __version__
from faults import circumstances, counted, kills, mutants, points, power, shim, table
from faults.points import Tally


def main() -> int:
    parser = argparse.ArgumentParser(prog="run_tests.py --faults", description=(__doc__ or "").splitlines()[0])
    names = [row.suite for row in table.ROWS]
    parser.add_argument(
        "suites", nargs="*", metavar="suite", help=f"any of {', '.join(names)}; all where none is named"
    )
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--minutes", type=float, default=float("inf"), help="at most so long for each suite")
    parser.add_argument("--wanted", type=int, help="how many each suite tries; as in the table where it is left out")
    parser.add_argument("--jobs", type=int, default=2, help="how many run at a time")
    parser.add_argument("--dry", action="store_true", help="write nothing into docs/reliability.md")
    given = parser.parse_args()
    if unknown := set(given.suites) - set(names):
        parser.error(f"no such suite: {', '.join(sorted(unknown))}")
    if why := shim.unusable():
        print(f"The faults cannot be tried: {why}.")
        return 1
    is_well = True
    with tempfile.TemporaryDirectory() as name:
        library = shim.build(Path(name))
        for row in table.ROWS:
            if given.suites and row.suite not in given.suites:
                continue
            print(f"== {row.title}, seed {given.seed}", flush=True)
            tally = _run(row.suite, given.wanted or row.aim, given, library)
            print(
                f"{row.title}: {tally.tried:,} tried, {tally.survived:,} survived, "
                f"{tally.lost:,} acknowledged items lost; seed {given.seed}; {tally.wall_s:,.0f} s; "
                f"{dict(tally.counts)}",
                flush=True,
            )
            for finding in tally.findings:
                print(f"FINDING {finding}")
            is_well = is_well and (tally.is_well or (row.suite in counted.SUITES and not tally.findings))
            if not given.dry:
                table.write(row.suite, tally, given.seed, __version__)
    return 0 if is_well else 1


def _run(suite: str, wanted: int, given: argparse.Namespace, library: Path) -> Tally:
    until = time.monotonic() + given.minutes * 60

    def say(text: str) -> None:
        print(f"   {time.strftime('%H:%M:%S')} {text[:600]}", flush=True)

    if suite == "points":
        return points.run(library, wanted=wanted, seed=given.seed, jobs=given.jobs, until=until, say=say)
    if suite == "kills":
        return kills.run(wanted=wanted, seed=given.seed, jobs=given.jobs, until=until, say=say)
    if suite == "power":
        return power.run(library, wanted=wanted, seed=given.seed, until=until, say=say)
    if suite == "mutants":
        return mutants.run(wanted=wanted, seed=given.seed, jobs=given.jobs, until=until, say=say)
    if suite == "cases":
        return circumstances.run(library, seed=given.seed, say=say)
    return counted.run(suite, say=say)


if __name__ == "__main__":
    sys.exit(main())
