"""Makes, rotates and deletes webhooks on a database, for the API and for commands."""

from __future__ import annotations

import msgspec

from turnout.contracts.store import WebhookStore
from turnout.errors import WebhookError, WebhookNotFound
from turnout.model.access import digest_of, new_token_id
from turnout.model.names import suggest
from turnout.model.webhooks import DELIVERY_HEADERS, Signature, Webhook, checked, new_webhook_token

PATH = "/api/v1/hooks"


class WebhookRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A webhook that is to be made."""

    name: str
    """A name for the sender, which no other webhook has."""
    workflow: str
    """The workflow that a delivery starts."""
    mapping: dict[str, str] = {}
    """The place in the body of each parameter, as ``$.order.id``; without it, fields that have a parameter's name."""
    signature: Signature | None = None
    """How deliveries are signed; without it, the address alone is the proof."""
    delivery_headers: tuple[str, ...] = DELIVERY_HEADERS
    """Headers that name a delivery: one with a known id is not started again."""


class MadeWebhook(msgspec.Struct, frozen=True):
    """A webhook with its token, which is shown once."""

    token: str
    webhook: Webhook
    server: str = ""
    """The address of the server; empty where it is not known."""

    @property
    def address(self) -> str:
        """The address that deliveries are sent to; without a server, its path."""
        return f"{self.server}{self.path}"

    @property
    def path(self) -> str:
        """The path that deliveries are sent to."""
        return f"{PATH}/{self.token}"


def create_webhook(store: WebhookStore, request: WebhookRequest, *, by: str) -> MadeWebhook:
    """Stores a new webhook, and returns it with its token. Raises WebhookError if its name is taken."""
    token = new_webhook_token()
    wanted = checked(Webhook(id=new_token_id(), created_by=by, **msgspec.structs.asdict(request)))
    made = store.add_webhook(wanted, digest_of(token))
    if made is None:
        raise WebhookError(
            f"a webhook named {request.name!r} exists already: choose another name, or rotate or delete that one",
            name=request.name,
        )
    return MadeWebhook(token, made)


def rotate_webhook(store: WebhookStore, wanted: str) -> MadeWebhook:
    """Gives a webhook a new token; the one that it had is unknown at once."""
    token = new_webhook_token()
    made = store.rotate_webhook(find_webhook(store, wanted).id, digest_of(token))
    if made is None:
        raise _missing(wanted, ())
    return MadeWebhook(token, made)


def delete_webhook(store: WebhookStore, wanted: str) -> Webhook:
    """Deletes a webhook, and returns what it was."""
    found = find_webhook(store, wanted)
    if not store.delete_webhook(found.id):
        raise _missing(wanted, ())
    return found


def find_webhook(store: WebhookStore, wanted: str) -> Webhook:
    """Returns the webhook with this id or name."""
    rows = store.webhooks()
    found = next((row for row in rows if row.id == wanted), None) or next((r for r in rows if r.name == wanted), None)
    if found is None:
        raise _missing(wanted, [row.name for row in rows])
    return found


def _missing(wanted: str, names: list[str] | tuple[()]) -> WebhookNotFound:
    return WebhookNotFound(f"there is no webhook {wanted!r}{suggest(wanted, names)}", webhook=wanted)
