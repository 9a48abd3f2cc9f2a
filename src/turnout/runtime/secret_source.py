"""Reads a secret where it is used: from a variable or a file of this machine."""

from __future__ import annotations

import os
import stat

from turnout.errors import SecretUnresolved
from turnout.model.secret_reference import SecretReference

MAX_SECRET = 64 * 1024
"""Bytes of a secret that is read from a file."""


def read_secret(reference: SecretReference) -> str:
    """Returns the secret, without the newline at its end. Raises SecretUnresolved; blocks."""
    if reference.provider == "env":
        value, why = os.environ.get(reference.key, ""), f"the variable {reference.key!r} is not set here"
    else:
        value, why = _content(reference.key)
    value = value.strip("\r\n")
    if not value:
        raise SecretUnresolved(f"the secret {reference} cannot be read: {why}", secret=str(reference))
    return value


def _content(path: str) -> tuple[str, str]:
    try:
        # A pipe or a device is not waited for.
        number = os.open(os.path.expanduser(path), os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NONBLOCK", 0))
        with open(number, encoding="utf-8") as file:
            if not stat.S_ISREG(os.fstat(number).st_mode):
                return "", f"{path!r} is no file"
            return file.read(MAX_SECRET), f"the file {path!r} is empty"
    except OSError as error:
        return "", f"the file {path!r}: {error.strerror}"
    except UnicodeDecodeError:
        return "", f"the file {path!r} is not text"
