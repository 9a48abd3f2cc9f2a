"""Profiles the engine: for each workload and store what a step costs, by thread, function, statement and row.

    python benchmarks/profile_engine.py                       # all workloads on both stores (``make profile``)
    python benchmarks/profile_engine.py postgres W1 W3        # some of them
    python benchmarks/profile_engine.py sqlite --json         # one JSON line per workload and store

Each workload has a process and a database of its own, and runs four times: as it is, with counted statements, with
traced memory, and under py-spy. So no measure disturbs another.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from profiler.measures import WORKLOADS, profile  # noqa: E402
from profiler.server import OPTIONS, counts_statements  # noqa: E402
from profiler.tables import print_tables  # noqa: E402
from profiler.timeline import timeline  # noqa: E402

from tests.postgres import NoPostgres, OwnServer  # noqa: E402

STORES = ("sqlite", "postgres")
CHILD_TIMEOUT = 600


@contextmanager
def server_of(store: str) -> Iterator[OwnServer | None]:
    """Runs a PostgreSQL that counts statements, if it can, until the block is left."""
    if store == "sqlite":
        yield None
        return
    server = OwnServer()
    try:
        if counts_statements(server.dsn):
            server.stop()
            server.start(OPTIONS)
        yield server
    finally:
        server.destroy()


@contextmanager
def database_of(server: OwnServer | None) -> Iterator[str]:
    """Yields the URL of a new database."""
    if server is not None:
        with server.database() as url:
            yield url
    else:
        with tempfile.TemporaryDirectory(prefix="turnout-profile-") as folder:
            yield f"sqlite:///{folder}/profile.db"


def measured(store: str, server: OwnServer | None, name: str, seconds: int) -> dict[str, Any]:
    """Profiles one workload in a process of its own."""
    load = os.getloadavg()[0]
    with database_of(server) as url:
        found = _in_process(url, name, seconds)
    if name == "W3":
        with database_of(server) as url:
            found["timeline"] = _in_process(url, "timeline", seconds)
    return {"store": store, "workload": name, "load_average": round(load, 1), **found}


def _in_process(url: str, name: str, seconds: int) -> Any:
    command = [sys.executable, __file__, "--url", url, "--seconds", str(seconds), name]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, timeout=CHILD_TIMEOUT).stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("chosen", nargs="*", help=f"of {', '.join(STORES)} and {', '.join(WORKLOADS)}; default: all")
    parser.add_argument("--seconds", type=int, default=4, help="for how long a workload is counted, and sampled twice")
    parser.add_argument("--json", action="store_true", help="print one JSON line per workload and store")
    parser.add_argument("--url", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.url is not None:
        [name] = options.chosen
        print(json.dumps(timeline(options.url) if name == "timeline" else profile(options.url, name, options.seconds)))
        return
    if unknown := set(options.chosen) - {*STORES, *WORKLOADS}:
        parser.error(f"neither a store nor a workload: {', '.join(sorted(unknown))}")
    names = [name for name in WORKLOADS if name in options.chosen] or list(WORKLOADS)
    if not options.json:
        print(f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, {os.cpu_count()} cores")
    for store in [store for store in STORES if store in options.chosen] or STORES:
        try:
            with server_of(store) as server:
                found: list[dict[str, Any]] = []
                for name in names:
                    found.append(measured(store, server, name, options.seconds))
                    if options.json:
                        print(json.dumps(found[-1]), flush=True)
        except NoPostgres as error:
            print(error, file=sys.stderr)
        else:
            if not options.json:
                print_tables(store, found)


if __name__ == "__main__":
    main()
