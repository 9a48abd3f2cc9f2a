"""Sets the permissions of a database file and its folders: only the owner can read what Turnout creates."""

from __future__ import annotations

import logging
import os
import stat
import threading
from pathlib import Path

log = logging.getLogger("turnout.store")

_creation = threading.Lock()


def create_private(path: str) -> None:
    """Creates the file (0600) and the folders above it (0700) where they are missing; existing ones stay as they are.

    SQLite gives its ``-wal``, ``-shm`` and ``-journal`` files the permissions of the database file.
    """
    file = Path(os.path.realpath(path))
    missing = [folder for folder in (file.parent, *file.parent.parents) if not folder.exists()]
    for folder in reversed(missing):
        folder.mkdir(mode=0o700, exist_ok=True)
    # Closing a file drops every lock that this process has on it, so it is opened here only if it is new, and the
    # other threads of this process wait with their first connection until it is closed.
    with _creation:
        try:
            os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        except FileExistsError:
            return


def warn_if_exposed(path: str) -> None:
    """Logs a warning if every user of this machine can read the database."""
    file = Path(os.path.realpath(path))
    if os.name != "posix" or not file.stat().st_mode & stat.S_IROTH:
        return
    if all(folder.stat().st_mode & stat.S_IXOTH for folder in file.parents):
        log.warning(
            "every user of this machine can read the database %s, with all inputs and outputs: chmod 600 it, or 700 "
            "its folder",
            path,
        )
