"""Takes deliveries of webhooks: finds the webhook, checks the signature, and starts the run of a delivery once."""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from turnout.authoring.definition import Definition
from turnout.errors import (
    IdempotencyConflict,
    InputError,
    InvalidInput,
    RequestError,
    SecretUnresolved,
    TooLarge,
    WorkflowNotFound,
)
from turnout.model.access import digest_of
from turnout.model.run_triggers import webhook_origin
from turnout.model.secret_reference import SecretReference
from turnout.model.values import load_json
from turnout.model.webhook_signature import verify
from turnout.model.webhooks import Webhook, delivery_id, delivery_key, mapped_input
from turnout.orchestration.messages import Submission
from turnout.runner.core import Core
from turnout.runner.server_settings import ServerSettings
from turnout.runner.submitter import Options
from turnout.runtime.secret_source import read_secret
from turnout.server.failure_limit import FailureLimit
from turnout.server.named_workflows import named_definition

log = logging.getLogger("turnout.server")

MAX_KNOWN = 1_000
"""Tokens whose webhook was found lately; all are forgotten at once when there are more."""


class Delivered(msgspec.Struct, frozen=True, kw_only=True):
    """The run that a delivery started."""

    run_id: str
    created: bool
    """False: the delivery was taken before, and this is the run that it started then."""


class Deliveries:
    """The deliveries to one server. Its coroutines run on the server's loop."""

    def __init__(self, core: Core, settings: ServerSettings, in_thread: Callable[..., Awaitable[Any]]) -> None:
        self._core = core
        self._settings = settings
        self._in_thread = in_thread
        self._limit = FailureLimit()
        self._known: set[str] = set()
        """Digests of tokens that were right: they are looked up also while their address is refused, since others
        may guess from the same address."""

    async def webhook_of(self, token: str, address: str) -> Webhook:
        """Returns the webhook with this token. One that is unknown costs one look into an index, whatever it is, and
        nothing once the address has sent too many of them."""
        digest, now = digest_of(token), time.monotonic()
        retry_after = self._limit.retry_after(address, now)
        if retry_after is not None and digest not in self._known:
            raise RequestError(
                f"too many requests of {address or 'this address'} were for unknown webhooks: wait {retry_after} s",
                code="too_many_unknown_webhooks",
                retry_after=retry_after,
            )
        webhook: Webhook | None = await self._in_thread(self._core.store.webhook, digest)
        if webhook is None:
            self._known.discard(digest)
            self._limit.failed(address, now)
            raise RequestError(
                "there is no webhook with this token: it was mistyped, rotated or deleted", code="unknown_webhook"
            )
        if len(self._known) >= MAX_KNOWN:
            self._known.clear()
        self._known.add(digest)
        return webhook

    async def take(self, webhook: Webhook, headers: Mapping[str, str], body: bytes) -> Delivered:
        """Starts the run of a delivery, and returns once it is durable. ``headers`` has lower-case names."""
        limit = self._settings.max_hook_bytes
        if len(body) > limit:
            raise TooLarge(f"the body has {len(body):,} bytes: a delivery has at most {limit:,}", code="body_too_large")
        submission: Submission = await self._in_thread(self._request, webhook, headers, body)
        await self._in_thread(self._core.submitter.submit, [submission], wait=False)
        try:
            run_id = await submission.accepted.wait()
        except IdempotencyConflict as error:
            raise IdempotencyConflict(
                f"the delivery {delivery_id(webhook, headers)!r} started run {error.fields.get('run_id')} with another "
                "body: a delivery that is repeated has the same body",
                code="delivery_conflict",
                run_id=error.fields.get("run_id"),
            ) from error
        return Delivered(run_id=run_id, created=run_id == submission.new.run_id)

    def _request(self, webhook: Webhook, headers: Mapping[str, str], body: bytes) -> Submission:
        """Returns the checked submission. Blocks."""
        self._verify(webhook, headers, body)
        delivery = delivery_id(webhook, headers)
        content = _decoded(body)
        definition = self._definition(webhook)
        options = Options(
            key=None if delivery is None else delivery_key(webhook.id, delivery),
            key_content=msgspec.json.encode(content, order="deterministic"),
            origin=webhook_origin(webhook.id),
            answered=False,
        )
        given = mapped_input(webhook, content, _parameters(definition))
        try:
            return self._core.submitter.request_named(definition, given, options)
        except InputError as error:
            raise InvalidInput(
                f"the body does not fit workflow {definition.spec.name!r}: {error.message}",
                code="webhook_mismatch",
                cause=error.code,
                **{name: value for name, value in error.fields.items() if name != "cause"},
            ) from error

    def _definition(self, webhook: Webhook) -> Definition:
        """Returns what the webhook starts. A sender knows one address, and is told nothing about other workflows."""
        try:
            return named_definition(self._core, webhook.workflow)
        except WorkflowNotFound as error:
            log.error("deliveries to webhook %r are refused: %s", webhook.name, error.message)
            raise WorkflowNotFound(
                "this webhook starts a workflow that the server does not have now: its owner finds the cause in the "
                "log of the server",
                code=error.code,
            ) from None

    def _verify(self, webhook: Webhook, headers: Mapping[str, str], body: bytes) -> None:
        signature = webhook.signature
        if signature is None:
            return
        try:
            secret = read_secret(SecretReference.parse(signature.secret, "signature.secret"))
        except SecretUnresolved as error:
            log.error("all deliveries to webhook %r are refused: %s", webhook.name, error.message)
            # Authors name the place. An answer of its own would tell them which files and variables the server has.
            secret = secrets.token_hex()
        verify(signature.scheme, secret, headers, body, time.time())


def _decoded(body: bytes) -> Any:
    try:
        return load_json(body, "the body") if body.strip() else {}
    except UnicodeDecodeError as error:
        raise RequestError("the body is not UTF-8 text: send JSON as UTF-8", code="bad_webhook_body") from error
    except msgspec.DecodeError as error:
        raise RequestError(f"the body is not JSON: {error}", code="bad_webhook_body") from error


def _parameters(definition: Definition) -> frozenset[str] | None:
    """Returns the names of the parameters; None in Context style, where every field is one."""
    return None if definition.spec.context_style else frozenset(param.name for param in definition.spec.params)
