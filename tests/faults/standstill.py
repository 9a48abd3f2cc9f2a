"""Processes that are stopped (SIGSTOP) while others are to go on with their work."""

from __future__ import annotations

import random
import signal
import sqlite3
import time

from tests.faults.children import Child
from tests.faults.guarantees import query
from tests.kit.waiting import stop_process


def stop_between_commits(url: str, child: Child) -> None:
    """Stop it at any moment but in the midst of a transaction, in which it would hold up all others for as long."""
    while True:
        stop_process(child.pid)
        if not holds_a_lock(url):
            return
        child.signal(signal.SIGCONT)
        time.sleep(random.random() * 0.05)


def holds_a_lock(url: str) -> bool:
    if not url.startswith("sqlite"):
        idle = (
            "select count(*) from pg_stat_activity where state = 'idle in transaction' and datname = current_database()"
        )
        return all(query(url, idle)[0][0] for _ in range(10))
    connection = sqlite3.connect(url.removeprefix("sqlite:///"), timeout=0.3, isolation_level=None)
    try:
        connection.execute("begin immediate")
    except sqlite3.OperationalError:
        return True
    else:
        connection.execute("rollback")
        return False
    finally:
        connection.close()
