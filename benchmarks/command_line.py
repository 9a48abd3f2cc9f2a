"""Runs the workloads of a benchmark that the command line names."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

Workload = Callable[[], None]


def run_named(description: str | None, workloads: Sequence[Workload]) -> None:
    """Runs the workloads whose names are given, in that order; all of them if none is."""
    known = {each.__name__: each for each in workloads}
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workloads", nargs="*", help=f"of {', '.join(known)}; all if none is given")
    names: list[str] = parser.parse_args().workloads or list(known)
    if unknown := set(names) - known.keys():
        parser.error(f"{', '.join(sorted(unknown))}: the workloads are {', '.join(known)}")
    for name in names:
        known[name]()
