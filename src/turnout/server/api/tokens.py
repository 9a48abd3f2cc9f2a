"""Tokens and the audit, for admins."""

from __future__ import annotations

from typing import Annotated

import msgspec
from litestar import Controller, delete, get, post
from litestar.params import FromPath, FromQuery, JSONBody, QueryParameter
from msgspec import Meta

from turnout.model.access import AuditRow, Role, TokenRow
from turnout.server.dependencies import ByCaller, Context
from turnout.server.guards import requires
from turnout.server.responses import answers

MAX_PAGE = 1_000


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

    @get(operation_id="list_tokens", summary="List tokens", responses=answers(Tokens, description="All tokens."))
    async def list_tokens(self, context: Context) -> Tokens:
        """All tokens, without their secrets."""
        return Tokens(await context.access.tokens())

    @post(
        operation_id="create_token",
        summary="Make a token",
        responses=answers(CreatedToken, status=201, takes_body=True, description="The token with its secret."),
    )
    async def create(self, data: JSONBody[TokenRequest], context: Context, caller: ByCaller) -> CreatedToken:
        """Makes a token. The answer has its secret, which is not stored."""
        made = await context.access.create(data.name, data.role, by=caller.actor, lifetime=data.lifetime)
        return CreatedToken(secret=made.secret, token=made.row)

    @delete(
        "/{token:str}",
        status_code=200,
        operation_id="revoke_token",
        summary="Revoke a token",
        responses=answers(TokenRow, "token_not_found", "ambiguous_token", description="The revoked token."),
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
        summary="List the audit",
        responses=answers(AuditPage, description="A page of entries, the newest first."),
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
