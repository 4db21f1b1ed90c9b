"""Ratios of each hot path to the usual alternative, measured within one run.

    .venv/bin/python scripts/bench [NAME ...] [--docs] [--size N] [--pdf PDF ...] [--many N] [--folder DIR]

Times are wall clock on this machine, medians of several runs; rivals run in the same process and minute, so that the
ratio holds where the machine's speed does not. `--docs` puts what was measured, and on which machine, into
`docs/benchmarks.md`.
"""

from __future__ import annotations

import argparse
import inspect
import subprocess
import sys
from importlib import import_module
from pathlib import Path

from report import measure

BENCHES = {
    "documents": ("seal", "read", "ingest", "files", "table", "growth"),
    "search": ("embed", "retrieve", "index", "search", "multimodal"),
    "pictures": ("looks", "visual"),
    "maxsim": ("maxsim",),
    "conversations": ("turns", "screen", "start", "llm", "memory"),
    "reader": ("reader",),
    "written": ("written",),
    "library": ("library",),
    "purge": ("purge",),
    "snapshots": ("snapshots",),
    "rotate": ("rotate",),
    "doctor": ("doctor",),
    "programs": ("rest",),
    "children": ("children",),
    "mails": ("mails",),
    "observed": ("observed",),
}
"""By module; each function is named `bench_NAME`."""
WHERE = {name: module for module, names in BENCHES.items() for name in names}


def main() -> int:
    """Run the named benches, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[*WHERE, []], help="which; all where none is named")
    parser.add_argument(
        "--size",
        type=int,
        default=0,
        help="pages of looks and maxsim, memories of memory, documents of library, files of files, rows of table, "
        "searches of observed",
    )
    parser.add_argument("--pdf", type=Path, nargs="+", default=[], help="looks: the pages that are looked at")
    parser.add_argument("--many", type=int, default=0, help="maxsim: pages that are searched through digests")
    parser.add_argument("--folder", type=Path, help="maxsim: where the pages are made; a temporary one unless said")
    parser.add_argument("--docs", action="store_true", help="put what is measured into docs/benchmarks.md")
    options = parser.parse_args()
    names = options.names or list(WHERE)
    if options.docs:
        rest = [argument for argument in sys.argv[1:] if argument not in (*names, "--docs")]
        command = [sys.executable, str(Path(__file__).parent)]
        return max(measure(name, [*command, name, *rest]) for name in names)
    if len(names) > 1:  # a process each: none finds what another has loaded
        rest = [argument for argument in sys.argv[1:] if argument not in names]
        command = [sys.executable, str(Path(__file__).parent)]
        return max(subprocess.run([*command, name, *rest], check=False).returncode for name in names)
    bench = getattr(import_module(WHERE[names[0]]), f"bench_{names[0]}")
    print(f"\n{names[0]}: {(bench.__doc__ or '').splitlines()[0]}", flush=True)
    bench(options) if inspect.signature(bench).parameters else bench()
    return 0


if __name__ == "__main__":
    sys.exit(main())
