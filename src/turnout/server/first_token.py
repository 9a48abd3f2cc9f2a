"""Makes the first admin token when a server starts on a database without any, and hands it out once."""

from __future__ import annotations

import os
from pathlib import Path

from turnout.contracts.store import AccessStore
from turnout.errors import InvalidSetting
from turnout.runner.server_settings import ServerSettings
from turnout.server.access import create_first_token

FILE_NAME = "turnout-admin-token"


def token_file(settings: ServerSettings, database_url: str, root: Path) -> Path:
    """Returns the file that the first token is written to: as configured, else beside an SQLite database, else in the
    folder of the project."""
    if settings.first_token_file is not None:
        return root / settings.first_token_file
    if database_url.startswith("sqlite:///") and ":memory:" not in database_url:
        return Path(database_url.removeprefix("sqlite:///").partition("?")[0]).absolute().parent / FILE_NAME
    return root / FILE_NAME


def make_first_token(store: AccessStore, file: Path | None) -> str | None:
    """Returns the secret of the first token, or None if there was one before. With a file, the secret is written
    there, readable by its owner only; the file is made before the token, so that no token is lost for want of one."""
    if file is None:
        return create_first_token(store)
    if not store.tokens():
        return _written(store, file)
    return None


def _written(store: AccessStore, file: Path) -> str | None:
    own = file.with_name(f"{file.name}.{os.getpid()}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(own, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise InvalidSetting(
            f"the first admin token cannot be written to {file}: {error.strerror}; name another file with "
            "server.first_token_file, or start the server in a terminal once",
            code="token_file_unwritable",
            field="server.first_token_file",
        ) from error
    try:
        with os.fdopen(descriptor, "w") as opened:
            secret = create_first_token(store)
            if secret is not None:
                opened.write(f"{secret}\n")
        if secret is not None:
            os.replace(own, file)
    finally:
        own.unlink(missing_ok=True)
    return secret
