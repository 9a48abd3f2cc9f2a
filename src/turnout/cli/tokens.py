"""``turnout tokens``: makes, lists and revokes tokens of the server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from turnout.cli.format import format_time
from turnout.cli.options import Database, Group, Json, default_command
from turnout.cli.output import print_json, print_line, print_rows
from turnout.errors import InvalidInput
from turnout.model.access import ROLES, Role, TokenState

if TYPE_CHECKING:
    from turnout.contracts.store import Store

app = typer.Typer(cls=Group, rich_markup_mode=None, invoke_without_command=True)

HEADER = ("id", "name", "role", "state", "created", "last used", "expires")
STYLES = {TokenState.USABLE: "green", TokenState.REVOKED: "red", TokenState.EXPIRED: "yellow"}


@app.command()
def ls(as_json: Json = False, database: Database = None) -> None:
    """List the tokens of the server; their secrets are not stored."""
    from turnout.cli.database import store_if_there

    with store_if_there(database) as store:
        found = [] if store is None else store.tokens()
    if as_json:
        print_json(found)
    elif found:
        print_rows(
            [
                [
                    (row.id, ""),
                    (row.name, ""),
                    (str(row.role), ""),
                    (str(row.state), STYLES[row.state]),
                    (format_time(row.created_at), "dim"),
                    (format_time(row.last_used_at), "dim"),
                    (format_time(row.expires_at), "dim"),
                ]
                for row in found
            ],
            HEADER,
        )
    else:
        print_line("no tokens")


default_command(app, ls, "Manage access to the server. Without a command, list the tokens.")


@app.command()
def create(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Who or what uses it.")],
    role: Annotated[str, typer.Option(metavar="ROLE", help="viewer, operator, author or admin.")] = Role.VIEWER.value,
    expires: Annotated[
        str | None, typer.Option(metavar="DURATION", help="For how long it is valid, as 30d; else until revoked.")
    ] = None,
    as_json: Json = False,
    database: Database = None,
) -> None:
    """Make a token, and print it. It is shown this once: the database has a digest of it only.

    \b
    turnout tokens create ci --role operator --expires 90d
    """
    from turnout.model.durations import seconds
    from turnout.server.access import create_token

    lifetime = None if expires is None else seconds(expires, "expires")
    if lifetime == 0:
        raise InvalidInput(f"expires is {expires!r}: write a time above 0", field="expires")
    wanted = _role(role)
    with _store(database) as store:
        made = create_token(store, name, wanted, by="command line", lifetime=lifetime)
    if as_json:
        print_json({"secret": made.secret, "token": made.row})
    else:
        print_line(made.secret)


@app.command()
def revoke(
    token: Annotated[str, typer.Argument(metavar="TOKEN", help="A token's id, or its name.")],
    as_json: Json = False,
    database: Database = None,
) -> None:
    """Revoke a token. Servers refuse it, and end its streams, within two seconds."""
    from turnout.cli.database import open_store
    from turnout.server.access import revoke_token

    with open_store(database) as store:
        row = revoke_token(store, token)
    if as_json:
        print_json(row)
    else:
        print_line(f"token {row.name} ({row.id}) is revoked")


def _role(text: str) -> Role:
    try:
        return Role(text)
    except ValueError:
        known = ", ".join(ROLES)
        raise InvalidInput(f"--role is {text!r}: write one of {known}", code="unknown_role", field="role") from None


@contextmanager
def _store(database: str | None) -> Iterator[Store]:
    """Yields the store; a database that does not exist yet is made, as the server would make it."""
    from turnout.cli.database import check_folder
    from turnout.runner.settings import database_url
    from turnout.store import connect

    url = database_url(database)
    check_folder(url)
    store = connect(url)
    try:
        store.open()
        yield store
    finally:
        store.close()
