"""Webhooks: makes, lists, rotates and deletes them, and takes their deliveries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
from litestar import Controller, Request, Response, delete, get, post
from litestar.openapi.spec import OpenAPIMediaType, Operation, RequestBody, Schema
from litestar.params import JSONBody, PathParameter

from turnout.model.access import Role
from turnout.model.webhooks import Webhook, check_parameters
from turnout.server.deliveries import Delivered
from turnout.server.dependencies import ByCaller, Context
from turnout.server.exchange import Caller, exchange_of
from turnout.server.guards import JSON, open_to_all, requires
from turnout.server.named_workflows import named_definition
from turnout.server.responses import RUN_ID, answers
from turnout.server.webhooks import PATH, WebhookRequest, create_webhook, delete_webhook, rotate_webhook

HookName = Annotated[str, PathParameter(max_length=200, description="The id or the name of a webhook.")]
HookToken = Annotated[str, PathParameter(max_length=200, description="The token of a webhook.")]
AUTHOR = [requires("author")]
EXAMPLE = Webhook(
    id="5f1c0d2a9b47",
    name="shop",
    workflow="fulfil",
    mapping={"order": "$.data.id"},
    created_at=1_794_938_431.0,
    created_by="e77fe262ad24",
)
DELIVERY = (
    "unknown_webhook",
    "too_many_unknown_webhooks",
    "bad_signature",
    "stale_signature",
    "bad_delivery_id",
    "delivery_conflict",
    "bad_webhook_body",
    "webhook_mismatch",
    "workflow_not_found",
    "ambiguous_workflow",
    "too_busy",
)


class Webhooks(msgspec.Struct, frozen=True):
    webhooks: list[Webhook]


class CreatedWebhook(msgspec.Struct, frozen=True, kw_only=True):
    """A webhook with its token, which is shown here only."""

    token: str
    path: str
    """The path that deliveries are sent to."""
    webhook: Webhook


CREATED = CreatedWebhook(
    token="th_5yLw2r0T2bq1f1mY5u8m3l4cB9k6Hc0oXbqVd7aYv3s",
    path=f"{PATH}/th_5yLw2r0T2bq1f1mY5u8m3l4cB9k6Hc0oXbqVd7aYv3s",
    webhook=EXAMPLE,
)


@dataclass
class DeliveryOperation(Operation):
    """Describes the body of a delivery: any JSON that the webhook can map."""

    def __post_init__(self) -> None:
        self.request_body = RequestBody(
            content={JSON[0]: OpenAPIMediaType(schema=Schema())},
            description="The body of the delivery, as its sender writes it.",
            required=False,
        )


class HooksController(Controller):
    """Webhooks."""

    path = PATH
    tags = ("webhooks",)

    @get(
        operation_id="list_hooks",
        summary="List webhooks",
        guards=[requires("viewer")],
        responses=answers(Webhooks, example=Webhooks([EXAMPLE]), description="The webhooks, by name."),
    )
    async def list_hooks(self, context: Context) -> Webhooks:
        """All webhooks, without their tokens."""
        return Webhooks(await context.in_thread(context.store.webhooks))

    @post(
        operation_id="create_hook",
        summary="Make a webhook",
        guards=AUTHOR,
        responses=answers(
            CreatedWebhook,
            "webhook_exists",
            "bad_webhook",
            "bad_webhook_mapping",
            "bad_secret_reference",
            "unknown_parameter",
            "workflow_not_found",
            "ambiguous_workflow",
            status=201,
            takes_body=True,
            example=CREATED,
            description="The webhook with its token, which is shown here only.",
        ),
    )
    async def create(self, data: JSONBody[WebhookRequest], context: Context, caller: ByCaller) -> CreatedWebhook:
        """Makes a webhook. The answer has its token, which is not stored."""

        def make() -> CreatedWebhook:
            check_parameters(data.mapping, named_definition(context.core, data.workflow).spec)
            made = create_webhook(context.store, data, by=caller.actor)
            return CreatedWebhook(token=made.token, path=made.path, webhook=made.webhook)

        return await context.in_thread(make)

    @post(
        "/{hook:str}/rotate",
        status_code=200,
        operation_id="rotate_hook",
        summary="Give a webhook a new token",
        guards=AUTHOR,
        responses=answers(
            CreatedWebhook,
            "webhook_not_found",
            example=CREATED,
            description="The webhook with its new token, which is shown here only.",
        ),
    )
    async def rotate(self, hook: HookName, context: Context) -> CreatedWebhook:
        """Replaces the token of a webhook. Deliveries to the address that it had are refused at once."""
        made = await context.in_thread(rotate_webhook, context.store, hook)
        return CreatedWebhook(token=made.token, path=made.path, webhook=made.webhook)

    @delete(
        "/{hook:str}",
        status_code=200,
        operation_id="delete_hook",
        summary="Delete a webhook",
        guards=AUTHOR,
        responses=answers(Webhook, "webhook_not_found", example=EXAMPLE, description="The webhook that was deleted."),
    )
    async def remove(self, hook: HookName, context: Context) -> Webhook:
        """Deletes a webhook by its id or name. Runs that it has started stay."""
        return await context.in_thread(delete_webhook, context.store, hook)

    @post(
        "/{hook:str}",
        status_code=202,
        operation_id="deliver_hook",
        summary="Start a run by a webhook",
        guards=[open_to_all],
        security=[{}],
        operation_class=DeliveryOperation,
        responses=answers(
            Delivered,
            *DELIVERY,
            status=(202, 200),
            takes_body=True,
            example=Delivered(run_id=RUN_ID, created=True),
            description="The run is durable. 200 instead of 202: the delivery was taken before, and this is its run.",
        ),
    )
    async def deliver(self, hook: HookToken, request: Request[Any, Any, Any], context: Context) -> Response[Delivered]:
        """Starts a run with what the body says. The token in the path is the caller's right to do so. A delivery that
        has an id, in one of the webhook's headers for it, starts one run however often it is sent."""
        exchange = exchange_of(request.scope)
        found = await context.deliveries.webhook_of(hook, exchange.address)
        exchange.caller = Caller(token_id=f"webhook:{found.id}", name=found.name, role=Role.OPERATOR, via="webhook")
        headers = {name.lower(): value for name, value in request.headers.items()}
        done = await context.deliveries.take(found, headers, await request.body())
        return Response(done, status_code=202 if done.created else 200)
