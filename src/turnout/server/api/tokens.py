"""Tokens and the audit, for admins."""

from __future__ import annotations

from typing import Annotated

import msgspec
from litestar import Controller, delete, get, post
from litestar.params import FromPath, FromQuery, JSONBody, QueryParameter
from msgspec import Meta

from turnout.model.access import AuditRow, Role, TokenRow, TokenState
from turnout.server.dependencies import ByCaller, Context
from turnout.server.guards import requires
from turnout.server.responses import answers

MAX_PAGE = 1_000
EXAMPLE = TokenRow(
    id="0d28d158dc25",
    name="ci",
    role=Role.OPERATOR,
    state=TokenState.USABLE,
    created_at=1_794_938_431.0,
    created_by="e77fe262ad24",
    expires_at=1_802_714_431.0,
    last_used_at=None,
    revoked_at=None,
    parent=None,
)
ENTRY = AuditRow(
    at=1_794_938_221.6,
    actor="e77fe262ad24",
    actor_name="first",
    method="POST",
    target="/api/v1/tokens",
    status=201,
    request_id="ff487d20f92bd4e3",
    address="127.0.0.1",
    id=5,
)


class TokenRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A token that is to be made."""

    name: Annotated[str, Meta(min_length=1, max_length=100)]
    role: Role
    lifetime: Annotated[float, Meta(gt=0, le=3_650 * 86_400)] | None = None
    """Seconds; without it, until it is revoked."""


class CreatedToken(msgspec.Struct, frozen=True, kw_only=True):
    """A new token; ``secret`` is shown here only."""

    secret: str
    token: TokenRow


class Tokens(msgspec.Struct, frozen=True):
    tokens: list[TokenRow]


class AuditPage(msgspec.Struct, frozen=True):
    """Entries of the audit, the newest first. ``next`` is ``before`` of the next page."""

    entries: list[AuditRow]
    next: int | None


class TokensController(Controller):
    """Tokens."""

    path = "/api/v1/tokens"
    tags = ("tokens",)
    guards = (requires("admin"),)

    @get(
        operation_id="list_tokens",
        summary="List access tokens",
        responses=answers(Tokens, example=Tokens([EXAMPLE]), description="The tokens, the oldest first."),
    )
    async def list_tokens(self, context: Context) -> Tokens:
        """All tokens, without their secrets."""
        return Tokens(await context.access.tokens())

    @post(
        operation_id="create_token",
        summary="Make an access token",
        responses=answers(
            CreatedToken,
            status=201,
            takes_body=True,
            example=CreatedToken(secret="to_5yLw2r0T2bq1f1mY5u8m3l4cB9k6Hc0oXbqVd7aYv3s", token=EXAMPLE),
            description="The token with its secret, which is shown here only.",
        ),
    )
    async def create(self, data: JSONBody[TokenRequest], context: Context, caller: ByCaller) -> CreatedToken:
        """Makes a token. The answer has its secret, which is not stored."""
        made = await context.access.create(data.name, data.role, by=caller.actor, lifetime=data.lifetime)
        return CreatedToken(secret=made.secret, token=made.row)

    @delete(
        "/{token:str}",
        status_code=200,
        operation_id="revoke_token",
        summary="Revoke an access token",
        responses=answers(
            TokenRow, "token_not_found", "ambiguous_token", example=EXAMPLE, description="The token that was revoked."
        ),
    )
    async def revoke(self, token: FromPath[str], context: Context) -> TokenRow:
        """Revokes a token by its id, or by its name: requests with it are refused, and its streams end, within two
        seconds."""
        return await context.access.revoke(token)


class AuditController(Controller):
    """The audit."""

    path = "/api/v1/audit"
    tags = ("tokens",)
    guards = (requires("admin"),)

    @get(
        operation_id="list_audit",
        summary="List audit entries",
        responses=answers(AuditPage, example=AuditPage([ENTRY], None), description="Entries, the newest first."),
    )
    async def list_entries(
        self,
        context: Context,
        limit: Annotated[int, QueryParameter(ge=1, le=MAX_PAGE)] = 100,
        before: Annotated[int | None, QueryParameter(ge=1, lt=2**62)] = None,
        actor: FromQuery[str | None] = None,
    ) -> AuditPage:
        """Every request that changed something, or tried to, with the token that it was made with."""
        found = await context.in_thread(context.store.audit, limit=limit, before=before, actor=actor)
        return AuditPage(found, found[-1].id if len(found) == limit else None)
