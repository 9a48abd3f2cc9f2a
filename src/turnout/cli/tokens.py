"""``turnout tokens``: makes, lists and revokes tokens of the server."""

from __future__ import annotations

from typing import Annotated

import typer

from turnout.cli.format import format_time
from turnout.cli.list_command import add_list
from turnout.cli.options import Group, Json
from turnout.cli.output import Span, print_changed
from turnout.cli.place import HERE, Place, placed
from turnout.errors import InvalidInput
from turnout.model.access import ROLES, Role, TokenRow, TokenState

app = typer.Typer(cls=Group, rich_markup_mode=None, invoke_without_command=True)

HEADER = ("id", "name", "role", "state", "created", "last used", "expires")
STYLES = {TokenState.USABLE: "green", TokenState.REVOKED: "red", TokenState.EXPIRED: "yellow"}


def _row(row: TokenRow) -> list[Span]:
    return [
        (row.id, ""),
        (row.name, ""),
        (str(row.role), ""),
        (str(row.state), STYLES[row.state]),
        (format_time(row.created_at), "dim"),
        (format_time(row.last_used_at), "dim"),
        (format_time(row.expires_at), "dim"),
    ]


add_list(
    app,
    HEADER,
    lambda service: service.tokens.list(),
    _row,
    empty="no tokens",
    help="List the tokens of the server; their secrets are not stored.",
    group="Manage access to the server. Without a command, list the tokens.",
)


@app.command()
@placed
def create(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name for the person or program that uses it.")],
    role: Annotated[str, typer.Option(metavar="ROLE", help="viewer, operator, author or admin.")] = Role.VIEWER.value,
    expires: Annotated[
        str | None, typer.Option(metavar="DURATION", help="For how long it is valid, as 30d; else until revoked.")
    ] = None,
    as_json: Json = False,
    place: Place = HERE,
) -> None:
    """Make a token, and print it. It is shown this once: the database has a digest of it only.

    \b
    turnout tokens create ci --role operator --expires 90d
    """
    from turnout.cli.service import service_at
    from turnout.model.durations import seconds

    lifetime = None if expires is None else seconds(expires, "expires")
    if lifetime == 0:
        raise InvalidInput(f"expires is {expires!r}: write a time above 0", field="expires")
    wanted = _role(role)
    with service_at(place) as service:
        made = service.tokens.create(name, wanted, lifetime)
    print_changed({"secret": made.secret, "token": made.token}, made.secret, as_json=as_json)


@app.command()
@placed
def revoke(
    token: Annotated[str, typer.Argument(metavar="TOKEN", help="A token's id, or its name.")],
    as_json: Json = False,
    place: Place = HERE,
) -> None:
    """Revoke a token. Servers refuse it, and end its streams, within two seconds."""
    from turnout.cli.service import service_at

    with service_at(place) as service:
        row = service.tokens.revoke(token)
    print_changed(row, f"token {row.name} ({row.id}) is revoked", as_json=as_json)


def _role(text: str) -> Role:
    try:
        return Role(text)
    except ValueError:
        known = ", ".join(ROLES)
        raise InvalidInput(f"--role is {text!r}: write one of {known}", code="unknown_role", field="role") from None
