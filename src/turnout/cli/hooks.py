"""``turnout hooks``: makes, lists, rotates and deletes webhooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from turnout.cli.format import format_time
from turnout.cli.list_command import add_list
from turnout.cli.options import Group, Json
from turnout.cli.output import Span, print_changed
from turnout.cli.place import HERE, Place, placed
from turnout.errors import InvalidInput

if TYPE_CHECKING:
    from turnout.model.webhooks import Webhook
    from turnout.server.webhooks import MadeWebhook

app = typer.Typer(cls=Group, rich_markup_mode=None, invoke_without_command=True)

HEADER = ("id", "name", "workflow", "signed", "created", "rotated")

Hook = Annotated[str, typer.Argument(metavar="HOOK", help="A webhook's id, or its name.")]


def _row(row: Webhook) -> list[Span]:
    return [
        (row.id, ""),
        (row.name, ""),
        (row.workflow, ""),
        (row.signature.scheme if row.signature else "no", "" if row.signature else "dim"),
        (format_time(row.created_at), "dim"),
        (format_time(row.rotated_at), "dim"),
    ]


add_list(
    app,
    HEADER,
    lambda service: service.webhooks.list(),
    _row,
    empty="no webhooks",
    help="List the webhooks; their tokens are not stored.",
    group="Let other programs start runs. Without a command, list the webhooks.",
)


@app.command()
@placed
def create(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name for the sender.")],
    workflow: Annotated[str, typer.Argument(metavar="WORKFLOW", help="The workflow that a delivery starts.")],
    mapping: Annotated[
        list[str] | None,
        typer.Option(
            "--map", metavar="PARAM=$.PATH", help="The place of a parameter in the body, as order=$.data.id; repeats."
        ),
    ] = None,
    secret: Annotated[
        str | None,
        typer.Option(metavar="env:NAME|file:PATH", help="Where the server reads the secret of signed deliveries."),
    ] = None,
    scheme: Annotated[
        str | None,
        typer.Option(metavar="github|standard", help="How deliveries are signed; with --secret, by default github."),
    ] = None,
    delivery_header: Annotated[
        list[str] | None,
        typer.Option(metavar="HEADER", help="A header that names a delivery, instead of the usual ones; repeats."),
    ] = None,
    as_json: Json = False,
    place: Place = HERE,
) -> None:
    """Make a webhook, and print the address that deliveries are sent to. It is shown this once.

    Without --server it is a path, which follows the address of a server.

    \b
    turnout hooks create shop fulfil --map 'order=$.data.id'
    turnout hooks create github deploy --secret env:GITHUB_SECRET
    """
    from turnout.cli.service import service_at
    from turnout.model.webhooks import DELIVERY_HEADERS, Signature
    from turnout.server.webhooks import WebhookRequest

    if scheme not in (None, "github", "standard"):
        raise InvalidInput(f"--scheme is {scheme!r}: write github or standard", field="scheme")
    if scheme is not None and secret is None:
        raise InvalidInput(
            f"--scheme {scheme} needs a secret, without which deliveries are not signed: add --secret env:NAME or "
            "--secret file:PATH",
            code="bad_webhook",
            field="secret",
        )
    request = WebhookRequest(
        name=name,
        workflow=workflow,
        mapping=dict(_mapped(each) for each in mapping or ()),
        signature=None if secret is None else Signature(secret, scheme or "github"),
        delivery_headers=tuple(delivery_header or DELIVERY_HEADERS),
    )
    with service_at(place) as service:
        _print(service.webhooks.create(request), as_json)


@app.command()
@placed
def rotate(hook: Hook, as_json: Json = False, place: Place = HERE) -> None:
    """Give a webhook a new token, and print its new address. The one that it had is refused at once."""
    from turnout.cli.service import service_at

    with service_at(place) as service:
        _print(service.webhooks.rotate(hook), as_json)


@app.command()
@placed
def delete(hook: Hook, as_json: Json = False, place: Place = HERE) -> None:
    """Delete a webhook. Runs that it has started stay."""
    from turnout.cli.service import service_at

    with service_at(place) as service:
        row = service.webhooks.delete(hook)
    print_changed(row, f"webhook {row.name} ({row.id}) is deleted", as_json=as_json)


def _print(made: MadeWebhook, as_json: bool) -> None:
    url = made.address if made.server else None
    shown = {"token": made.token, "path": made.path, "url": url, "webhook": made.webhook}
    print_changed(shown, made.address, as_json=as_json)


def _mapped(text: str) -> tuple[str, str]:
    name, separator, path = text.partition("=")
    if not separator or not name:
        raise InvalidInput(f"--map is {text!r}: write PARAM=$.PATH, as order=$.data.id", field="map")
    return name.strip(), path.strip()
