"""Numbers the changes of what all processes on a database share, so that each learns of them in one order."""

from __future__ import annotations

from turnout.store.database import Database, Execute

TOPIC = "definitions"


def lock_revision(execute: Execute) -> None:
    """Keeps other processes from a change until this transaction ends."""
    execute("lock_revision")


def next_revision(database: Database, execute: Execute) -> int:
    """Returns the number of this change. Other processes are notified with the commit."""
    if database.dialect == "postgres":
        execute("notify", topic=TOPIC)
    return int(execute("next_revision")[0][0])
