"""Runs ``make bench``: the floor and Turnout on SQLite and PostgreSQL, workers, then the peers that are installed.

python benchmarks/run.py [sqlite] [postgres] [peers] [--repeat 5]

One JSON line per workload on standard output; everything runs one after the other on an otherwise idle machine.
Peers are scripts of their own (``BENCH_PEERS``, default ``../shared/bench``) with a virtual environment each in
``$BENCH_HOME/venvs``; those without one are left out, and said so on standard error.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.postgres import NoPostgres, OwnServer  # noqa: E402

PEERS = {"dbos": ["postgres", "W1", "W2", "W3", "W4"], "procrastinate": [], "pgqueuer": []}
"""The durable Python peers, with the arguments of their scripts."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", help=f"of {', '.join(PARTS)}; all if none is given")
    parser.add_argument("--repeat", type=int, default=1, help="how often all of it is run, one after the other")
    options = parser.parse_args()
    parts = options.parts or list(PARTS)
    if unknown := set(parts) - PARTS.keys():
        parser.error(f"{', '.join(sorted(unknown))}: the parts are {', '.join(PARTS)}")
    for _ in range(options.repeat):
        for part in parts:
            PARTS[part]()


def _sqlite() -> None:
    with tempfile.TemporaryDirectory(prefix="turnout-bench-") as folder:
        _python("floor.py", f"sqlite:///{folder}/floor.db")
        _python("engine.py", f"sqlite:///{folder}/turnout.db")


def _postgres() -> None:
    try:
        server = OwnServer()
    except NoPostgres as error:
        print(error, file=sys.stderr)
        return
    try:
        for script in ("floor.py", "engine.py", "plain_queue.py", "workers.py"):
            with server.database() as url:
                _python(script, url)
    finally:
        server.destroy()


def _python(script: str, *arguments: str) -> None:
    subprocess.run([sys.executable, str(ROOT / "benchmarks" / script), *arguments], check=True, timeout=900)


def _peers() -> None:
    scripts = Path(os.environ.get("BENCH_PEERS") or ROOT.parent / "shared" / "bench")
    home = Path(os.environ.get("BENCH_HOME") or Path(tempfile.gettempdir()) / "turnout-bench")
    installed = {name: home / "venvs" / name / "bin" / "python" for name in PEERS}
    present = {name: python for name, python in installed.items() if python.exists()}
    for name in PEERS.keys() - present.keys():
        print(f"{name}: not installed, left out", file=sys.stderr)
    if not present:
        return
    subprocess.run([str(scripts / "pg.sh"), "start"], check=True, stdout=subprocess.DEVNULL, timeout=120)
    try:
        for name, python in present.items():
            command = [str(python), str(scripts / f"bench_{name}.py"), *PEERS[name]]
            subprocess.run(command, check=False, timeout=900)
    finally:
        subprocess.run([str(scripts / "pg.sh"), "stop"], check=False, stdout=subprocess.DEVNULL, timeout=120)


PARTS = {"sqlite": _sqlite, "postgres": _postgres, "peers": _peers}


if __name__ == "__main__":
    main()
