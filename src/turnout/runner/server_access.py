"""Finds the server that a command uses, and the token for it: in options, else in the environment."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from turnout.errors import InvalidSetting
from turnout.runner.config_sources import SERVER_VARIABLE, TOKEN_FILE_VARIABLE, TOKEN_VARIABLE
from turnout.runner.server_settings import is_loopback_host


class ServerAccess(msgspec.Struct, frozen=True):
    """The URL of a server, and the token that requests to it carry."""

    url: str
    token: str | None = None


def server_access(
    server: str | None, token_file: str | None, database: str | None, environment: Mapping[str, str]
) -> ServerAccess | None:
    """Returns the server of a command; None if it uses a database. A database that is given prevails over a server that
    only the environment names."""
    if server is not None and database is not None:
        raise InvalidSetting("--server and --database are both given: a command uses one of them", code="two_places")
    url = server or (environment.get(SERVER_VARIABLE) if database is None else None)
    if not url:
        if token_file is not None:
            raise InvalidSetting(
                f"--token-file is for a server: give --server URL or set {SERVER_VARIABLE}", code="no_server"
            )
        return None
    token = _token(token_file, environment)
    _check_url(url, "--server" if server is not None else SERVER_VARIABLE, token)
    return ServerAccess(url.rstrip("/"), token)


def _check_url(url: str, origin: str, token: str | None) -> None:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment or parts.username:
        raise InvalidSetting(
            f"{origin} is {url!r}: write scheme, host and port, as http://127.0.0.1:8470", code="bad_server_url"
        )
    if token is not None and parts.scheme == "http" and not is_loopback_host(parts.hostname):
        raise InvalidSetting(
            f"{origin} is {url!r}, and the token would travel in clear: use https", code="insecure_server_url"
        )


def _token(file: str | None, environment: Mapping[str, str]) -> str | None:
    origin = "--token-file" if file is not None else TOKEN_FILE_VARIABLE
    named = file
    if named is None:
        if environment.get(TOKEN_VARIABLE):
            return environment[TOKEN_VARIABLE].strip()
        named = environment.get(TOKEN_FILE_VARIABLE)
    if not named:
        return None
    try:
        text = Path(named).read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not a text file with a token"
        raise InvalidSetting(
            f"{origin} names {named!r}, which cannot be read: {reason}", code="bad_token_file"
        ) from None
    if not text or len(text.split()) != 1:
        raise InvalidSetting(f"{origin} names {named!r}, which does not hold one token", code="bad_token_file")
    return text
