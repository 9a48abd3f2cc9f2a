"""Writes the databases of the upgrade test with an earlier version: its open runs, as SQL text.

    python tools/upgrade_dump.py CHECKOUT

``CHECKOUT`` is a checkout of the earlier version with its own ``.venv``. Writes
``tests/acceptance/upgrade/{sqlite,postgres}.sql``. Names of the machine are taken out of the sessions.
"""

from __future__ import annotations

import re
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "tests" / "acceptance" / "upgrade"
sys.path[:0] = [str(ROOT / "tests"), str(ROOT)]

SETTLED = 3.0
"""Seconds until every run has come to where it stops."""


def write(checkout: Path, url: str) -> None:
    """Runs the program of the earlier version until its runs stop, and kills it."""
    command = [str(checkout / ".venv/bin/python"), str(FOLDER / "flows.py"), "write", url]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        if program.stdout.readline() != "submitted\n":
            raise SystemExit("the program of the earlier version has failed")
        time.sleep(SETTLED)
        program.send_signal(signal.SIGKILL)


def without_machine(text: str, checkout: Path) -> str:
    """Returns the dump with stand-ins for the machine's boot, host and folders."""
    for folder in (checkout, ROOT):
        text = text.replace(str(folder), "/app")
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    text = text.replace(boot, "00000000-0000-0000-0000-000000000000")
    return re.sub(rf"'{re.escape(socket.gethostname())}'", "'host'", text)


def sqlite_dump(checkout: Path) -> str:
    with tempfile.TemporaryDirectory() as folder:
        write(checkout, f"sqlite:///{folder}/runs.db")
        connection = sqlite3.connect(f"{folder}/runs.db")
        version = connection.execute("pragma user_version").fetchone()[0]
        application = connection.execute("pragma application_id").fetchone()[0]
        lines = [*connection.iterdump(), f"pragma user_version = {version};", f"pragma application_id = {application};"]
        connection.close()
    return "\n".join(lines) + "\n"


def postgres_dump(checkout: Path) -> str:
    from postgres import OwnServer, binaries

    server = OwnServer()
    try:
        with server.database(empty=True) as url:
            write(checkout, url)
            command = [str(binaries() / "pg_dump"), "--inserts", "--no-owner", "--no-privileges", url]
            dumped = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    finally:
        server.destroy()
    kept = [
        line
        for line in dumped.splitlines()
        if line and not line.startswith(("--", "\\", "SET ", "SELECT pg_catalog.set_config"))
    ]
    return "\n".join(kept) + "\n"


def main() -> None:
    checkout = Path(sys.argv[1]).resolve()
    for name, dump in {"sqlite": sqlite_dump, "postgres": postgres_dump}.items():
        (FOLDER / f"{name}.sql").write_text(without_machine(dump(checkout), checkout))


if __name__ == "__main__":
    main()
