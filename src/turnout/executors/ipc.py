"""Restricts ``ipc://`` sockets to the user that bound them."""

from __future__ import annotations

import os
from contextlib import suppress

_SCHEME = "ipc://"


def make_private(endpoint: str) -> None:
    """Gives the socket file of a bound endpoint the mode 0600; other endpoints have none.

    >>> make_private("tcp://127.0.0.1:5890")
    """
    path = endpoint.removeprefix(_SCHEME)
    if path != endpoint and not path.startswith("@"):
        with suppress(FileNotFoundError):  # closed meanwhile
            os.chmod(path, 0o600)
