"""Defines webhooks: addresses that start a run of a workflow, and how the body of a delivery becomes its input."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any, Literal, TypeAlias

import msgspec

from turnout.errors import InvalidInput
from turnout.model.access import WEBHOOK_PREFIX, new_secret
from turnout.model.names import suggest
from turnout.model.secret_reference import SecretReference
from turnout.model.selection import parsed, selected
from turnout.model.spec import WorkflowSpec
from turnout.model.texts import checked_text

Scheme: TypeAlias = Literal["github", "standard"]
"""``github``: ``X-Hub-Signature-256`` over the body. ``standard``: the headers of Standard Webhooks, with a time."""

DELIVERY_HEADERS = ("Idempotency-Key", "X-GitHub-Delivery", "Webhook-Id")
"""Headers that name a delivery; the first that a request has counts."""
MAX_NAME_LENGTH = 100
MAX_MAPPED = 100
"""Parameters of one mapping."""
MAX_HEADERS = 10
MAX_DELIVERY_ID = 255
"""Characters of the id of a delivery."""

_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_DELIVERY_ID = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?")


class Signature(msgspec.Struct, frozen=True):
    """The signature of deliveries. Its secret stays where the server runs."""

    secret: str
    """Where the server reads it: ``env:NAME`` or ``file:PATH``."""
    scheme: Scheme = "github"


class Webhook(msgspec.Struct, frozen=True, kw_only=True):
    """A stored webhook. The store keeps the digest of its token only."""

    id: str
    name: str
    workflow: str
    """The name of the workflow that a delivery starts: ``name``, ``package::name`` or the full name."""
    mapping: dict[str, str] = {}
    """The place in the body of each parameter, as ``$.order.id``; empty: the fields that have a parameter's name."""
    signature: Signature | None = None
    delivery_headers: tuple[str, ...] = DELIVERY_HEADERS
    created_at: float = 0.0
    created_by: str = ""
    rotated_at: float | None = None


def new_webhook_token() -> str:
    """Returns the secret part of a webhook's address, with 256 random bits."""
    return new_secret(WEBHOOK_PREFIX)


# -- checks -------------------------------------------------------------------------------------------------------
def checked(webhook: Webhook) -> Webhook:
    """Returns the webhook. Raises InvalidInput for a name, mapping, header or secret that it cannot have."""
    checked_text(webhook.name, "name", longest=MAX_NAME_LENGTH)
    if not webhook.name.strip():
        raise InvalidInput("name is empty: write a name for the sender", code="bad_webhook", field="name")
    checked_text(webhook.workflow, "workflow", longest=400)
    if len(webhook.mapping) > MAX_MAPPED:
        raise InvalidInput(
            f"mapping has {len(webhook.mapping)} parameters: write at most {MAX_MAPPED}",
            code="bad_webhook",
            field="mapping",
        )
    for parameter, path in webhook.mapping.items():
        checked_path(path, parameter)
    headers = webhook.delivery_headers
    if len(headers) > MAX_HEADERS or not all(_HEADER.fullmatch(each) for each in headers):
        raise InvalidInput(
            f"delivery_headers is {list(headers)!r}: write at most {MAX_HEADERS} names of headers, as X-Delivery",
            code="bad_webhook",
            field="delivery_headers",
        )
    if webhook.signature is not None:
        SecretReference.parse(webhook.signature.secret, "signature.secret")
    return webhook


def checked_path(path: str, parameter: str) -> str:
    """Returns the path, which begins with ``$``. Raises InvalidInput that names the parameter."""
    if not path.startswith("$"):
        raise InvalidInput(
            f"mapping of {parameter!r} is {path[:100]!r}: write a place in the body, as $.order.id; $ is all of it",
            code="bad_webhook_mapping",
            field=f"mapping.{parameter}",
        )
    try:
        parsed(_select(path))
    except InvalidInput as error:
        raise InvalidInput(
            f"mapping of {parameter!r}: {error.message}", code="bad_webhook_mapping", field=f"mapping.{parameter}"
        ) from error
    return path


def check_parameters(mapping: Mapping[str, str], spec: WorkflowSpec) -> None:
    """Raises InvalidInput if the mapping names a parameter that the workflow does not have."""
    names = [param.name for param in spec.params]
    for name in () if spec.context_style else mapping:
        if name not in names:
            raise InvalidInput(
                f"mapping has {name!r}, which is no parameter of workflow {spec.name!r}{suggest(name, names)}",
                code="unknown_parameter",
                field=f"mapping.{name}",
            )


def _select(path: str) -> str:
    """Returns the path as ``select`` takes it: there the whole value is ``.``."""
    rest = path.removeprefix("$")
    return rest if rest.startswith(".") else f".{rest}"


# -- deliveries ---------------------------------------------------------------------------------------------------
def mapped_input(webhook: Webhook, body: Any, parameters: Collection[str] | None) -> dict[str, Any]:
    """Returns the input of the run. Without a mapping, fields of the body that are no parameters are left out: senders
    add fields as they like. A place of the mapping that the body does not have leaves its parameter to its default.

    >>> hook = Webhook(id="1", name="orders", workflow="fulfil", mapping={"order": "$.data.id"})
    >>> mapped_input(hook, {"data": {"id": 7}}, ["order"])
    {'order': 7}
    """
    if not webhook.mapping:
        if not isinstance(body, dict):
            raise InvalidInput(
                f"the body is a {_kind(body)}: send an object with fields for the parameters, or give the webhook a "
                "mapping",
                code="webhook_mismatch",
            )
        fields: Mapping[str, Any] = body
        return {name: value for name, value in fields.items() if parameters is None or name in parameters}
    found: dict[str, Any] = {}
    for parameter, path in webhook.mapping.items():
        try:
            found[parameter] = selected(_select(path), body)
        except InvalidInput:
            continue
    return found


def _kind(value: Any) -> str:
    names = {list: "list", str: "text", bool: "boolean", type(None): "null"}
    return names.get(type(value), "number")


def delivery_id(webhook: Webhook, headers: Mapping[str, str]) -> str | None:
    """Returns the id that the sender gave the delivery; None if it gave none. ``headers`` has lower-case names."""
    for name in webhook.delivery_headers:
        given = headers.get(name.lower())
        if given is None:
            continue
        if len(given) > MAX_DELIVERY_ID or not _DELIVERY_ID.fullmatch(given):
            raise InvalidInput(
                f"{name} is {given[:40]!r}: write 1 to {MAX_DELIVERY_ID} printable characters of ASCII",
                code="bad_delivery_id",
                field=name,
            )
        return given
    return None


def delivery_key(webhook_id: str, delivery: str) -> str:
    """Returns the idempotency key of the run that a delivery starts.

    >>> delivery_key("5f1c", "order-7")
    'webhook:5f1c:order-7'
    """
    return f"webhook:{webhook_id}:{delivery}"
