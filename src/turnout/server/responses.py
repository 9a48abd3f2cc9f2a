"""Describes answers in the OpenAPI document: the success with an example, and each error with its codes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any

import msgspec
from litestar.openapi.datastructures import ResponseSpec
from litestar.openapi.spec import Example

from turnout.errors import (
    AccessDenied,
    DefinitionError,
    DefinitionFromFile,
    DefinitionInUse,
    HubUnavailable,
    IdempotencyConflict,
    InvalidInput,
    InvalidLimit,
    InvalidRouting,
    InvalidWorkflow,
    NotJson,
    PreconditionFailed,
    RefusedDefinition,
    RequestError,
    RunFailed,
    RunNotFinished,
    RunNotFound,
    ScheduleError,
    ScheduleNotFound,
    StoredDefinitionError,
    StoreUnreachable,
    TokenNotFound,
    TooBusy,
    TooLarge,
    TriggerError,
    TriggerNotFound,
    TurnoutError,
    WaitTimedOut,
    WebhookError,
    WebhookNotFound,
    WorkflowNotFound,
)
from turnout.server.problems import MEDIA_TYPE, Problem, problem_of, status_of

RUN_ID = "0199b2c4-7d5e-7a10-9c3b-2f6d1e8a4b57"
"""The run of all examples."""

ALWAYS = ("malformed_request", "no_token", "role_too_low", "invalid_request", "too_many_requests", "store_unreachable")
"""Errors that every route below ``/api/v1`` may answer with."""
OF_BODIES = ("body_too_large", "unsupported_media_type", "json_depth")
"""Errors that routes with a body may answer with."""

KNOWN: dict[str, TurnoutError] = {
    error.code: error
    for error in (
        RequestError("the body is not JSON: expected `:` at byte 9"),
        AccessDenied("this needs a token: send the header `Authorization: Bearer TOKEN`"),
        AccessDenied("the role of token 'ci' is viewer; this needs operator or a higher one", code="role_too_low"),
        RequestError("limit: expected a number of at most 1000", code="invalid_request"),
        RequestError("256 requests are being served already: send it again in a second", code="too_many_requests"),
        RequestError("the body has more than 8,388,608 bytes", code="body_too_large"),
        RequestError("the body is text/plain; this takes application/json", code="unsupported_media_type"),
        TokenNotFound("there is no token 'ci' that is not revoked"),
        TokenNotFound("2 tokens are named 'ci': give the id", code="ambiguous_token"),
        WebhookNotFound("there is no webhook 'orders'"),
        WebhookError("a webhook named 'orders' exists already: choose another name"),
        InvalidInput("name is empty: write a name for the sender", code="bad_webhook"),
        InvalidInput("mapping of 'order' is 'id': write a place in the body, as $.id", code="bad_webhook_mapping"),
        InvalidInput("signature.secret is no reference to a secret: write env:NAME", code="bad_secret_reference"),
        TriggerNotFound("there is no trigger 'new_order': did you mean 'new_orders'?"),
        TriggerNotFound("2 triggers are named 'new_orders': give the full name", code="ambiguous_trigger"),
        TriggerError("trigger 'new_orders' is paused by ci: resume it first"),
        RequestError("there is no webhook with this token", code="unknown_webhook"),
        RequestError("too many requests were for unknown webhooks: wait 40 s", code="too_many_unknown_webhooks"),
        RequestError("the body is not JSON: expected `:` at byte 9", code="bad_webhook_body"),
        InvalidInput("the body does not fit workflow 'fulfil': 'order' is missing", code="webhook_mismatch"),
        InvalidInput("Webhook-Id is '': write 1 to 255 printable characters", code="bad_delivery_id"),
        AccessDenied("the header x-hub-signature-256 does not match the body", code="bad_signature"),
        AccessDenied("webhook-timestamp is '1', more than 300 s from the time here", code="stale_signature"),
        IdempotencyConflict("the delivery 'order-7' started a run with another body", code="delivery_conflict"),
        ScheduleNotFound("there is no schedule 7"),
        ScheduleError(
            "schedule 7 stops runs and starts none: there is nothing to fire", code="schedule_starts_no_runs"
        ),
        ScheduleError("the backfill has more than 1,000 due times: ask for a shorter time", code="backfill_too_large"),
        ScheduleError("first is after last: write the earlier time first", code="bad_backfill_range"),
        RequestError("1000 streams are open already, the most that this server serves", code="too_many_streams"),
        StoreUnreachable("the database cannot be reached"),
        RequestError("the server is not ready: not store_answers", code="not_ready"),
        RequestError("the server is stopping and takes no new runs", code="server_stopping"),
        AccessDenied("this token is unknown here: check that all of it was copied", code="unknown_token"),
        AccessDenied("the token 'ci' was revoked", code="revoked_token"),
        AccessDenied("the token 'ci' has expired", code="expired_token"),
        AccessDenied("this sign-in code is unknown, used or too old: each works once", code="unknown_code"),
        RequestError("this cursor belongs to another list, or to another filter", code="foreign_cursor"),
        RequestError("'x' is no cursor: take the value of `next` of the page before", code="invalid_cursor"),
        RequestError("Last-Event-ID is 'x'; it must be the id of an event of this stream", code="invalid_position"),
        RequestError("Last-Event-ID is a position in the events of another run", code="foreign_position"),
        RequestError("the filter has no condition", code="empty_filter"),
        RequestError("Idempotency-Key is '': write 1 to 255 printable characters", code="bad_idempotency_key"),
        RunNotFound(f"there is no run {RUN_ID}"),
        RunNotFinished(f"run {RUN_ID} is running: it has no result yet"),
        RunFailed(f"run {RUN_ID} of public::embedded::fulfil failed"),
        WaitTimedOut(f"the cancel of run {RUN_ID} was not applied in 20 s; it stays requested"),
        InvalidInput(f"run {RUN_ID} is completed already: there is nothing to cancel", code="run_ended"),
        InvalidInput(f"run {RUN_ID} is being cancelled: it cannot pause", code="run_cancelling"),
        InvalidInput(f"run {RUN_ID} has no task 'chrage': did you mean 'charge'?", code="unknown_task"),
        InvalidInput("task 'charge' is running: it has no output", code="no_output"),
        InvalidInput("task 'charge' is pending: it was given no input", code="no_input"),
        InvalidInput("the output of task 'fetch' has nothing at ['id']: it has ['order']", code="missing_path"),
        RequestError("Range is 'bytes=9-': the value has 4 bytes", code="range_not_satisfiable"),
        InvalidInput(f"run {RUN_ID} has nothing to run again", code="nothing_to_rerun"),
        InvalidInput("workflow 'fulfil' has no parameter 'oder': did you mean 'order'?", code="unknown_parameter"),
        WorkflowNotFound("there is no workflow 'fulfill': did you mean 'fulfil'?"),
        WorkflowNotFound("several workflows are named 'fulfil': give the full name", code="ambiguous_workflow"),
        InvalidInput("no worker 'gpu-7' is alive", code="worker_not_found"),
        InvalidInput("there is no limit 'customer-18': there is 'customer-17'", code="limit_not_found"),
        InvalidLimit("the limit 'customer-${id}' takes ${id}, which has no value in this run", code="no_limit_key"),
        InvalidLimit("workflow 'fulfil' uses the queue 'nightly', which is not configured", code="unknown_queue"),
        InvalidLimit("workflow 'fulfil' uses the limit 'db', which has no size", code="unknown_limit"),
        NotJson("the body is nested deeper than 100 levels: send a flatter value", code="json_depth"),
        InvalidInput("2 workers answer to 'gpu'", code="ambiguous_worker"),
        DefinitionError("this server does not use stored definitions", code="no_definitions"),
        InvalidWorkflow("workflow 'fulfil' cannot run here: its code is not here", code="definition_unavailable"),
        StoredDefinitionError("'../fulfil' is a path: the name of a workflow is an identifier", code="path_in_name"),
        StoredDefinitionError("'9lives' cannot be the name of a workflow", code="bad_definition_name"),
        WorkflowNotFound("version 7 of workflow 'fulfil' is not stored", code="no_such_version"),
        PreconditionFailed("a change of workflow 'fulfil' needs If-Match", code="precondition_required"),
        PreconditionFailed("workflow 'fulfil' has changed since it was read: the current version is \"8\""),
        DefinitionFromFile("workflow 'fulfil' is defined by flows/fulfil.yaml: change it there"),
        DefinitionInUse("workflow 'fulfil' has open runs: wait for them, or cancel them first"),
        DefinitionInUse("workflow 'fulfil' is called by nightly: change these first", code="definition_called"),
        RefusedDefinition("the text of workflow 'fulfil' has 2 errors, the first in line 3"),
        RefusedDefinition("step 'a' runs a command on the server", code="local_execution_refused"),
        RefusedDefinition("workflow 'a' declares the limit 'db' with 1 at once", code="limit_conflict"),
        RefusedDefinition("the text names its workflow 'other', and is put under 'fulfil'", code="name_mismatch"),
        IdempotencyConflict("the key 'order-7' belongs to a run with another input"),
        TooLarge("the input has 9,000,000 bytes, more than 8,388,608", code="input_too_large"),
        TooBusy("too many submissions are not durable yet"),
        HubUnavailable("worker_selector {gpu=true} on the task → workers, but the hub is not up"),
        DefinitionError("this server has no dispatcher: pollers decide by its rules", code="no_dispatcher"),
        DefinitionError("the program of this server gave it its routing rules", code="routing_from_program"),
        InvalidRouting('rule 1 names executor "gpu", which is not registered', code="unknown_executor"),
    )
}
"""An example of each error that the descriptions name, by code."""


class Responses(Mapping[int, ResponseSpec]):
    """The ``responses`` of a route, by status. They are made when the OpenAPI document is first asked for."""

    def __init__(self, make: Callable[[], dict[int, ResponseSpec]]) -> None:
        self._make = make

    @cached_property
    def _made(self) -> dict[int, ResponseSpec]:
        return self._make()

    def __getitem__(self, status: int) -> ResponseSpec:
        return self._made[status]

    def __iter__(self) -> Iterator[int]:
        return iter(self._made)

    def __len__(self) -> int:
        return len(self._made)

    def __deepcopy__(self, memo: object) -> Responses:
        """Returns itself: Litestar copies every route with all that describes it."""
        return self


def answers(
    content: Any,
    *codes: str,
    status: int | tuple[int, ...] = 200,
    example: Any = None,
    description: str = "",
    media_type: str = "",
    takes_body: bool = False,
) -> Responses:
    """Returns the ``responses`` of a route: its success, these errors, and those of every route."""

    def make() -> dict[int, ResponseSpec]:
        success = ResponseSpec(
            content,
            generate_examples=False,
            description=description or "Success.",
            media_type=media_type or "application/json",
            examples=None if example is None else [Example(summary="example", value=msgspec.to_builtins(example))],
        )
        statuses = (status,) if isinstance(status, int) else status
        return {**dict.fromkeys(statuses, success), **_problems(*ALWAYS, *(OF_BODIES if takes_body else ()), *codes)}

    return Responses(make)


def problems(*codes: str) -> Responses:
    """Returns the descriptions of errors with these codes, by status."""
    return Responses(lambda: _problems(*codes))


def _problems(*codes: str) -> dict[int, ResponseSpec]:
    found: dict[int, list[TurnoutError]] = {}
    for error in (KNOWN[code] for code in dict.fromkeys(codes)):
        found.setdefault(status_of(error), []).append(error)
    return {
        status: ResponseSpec(
            Problem,
            generate_examples=False,
            description="Codes: " + ", ".join(f"`{error.code}`" for error in errors) + ".",
            media_type=MEDIA_TYPE,
            examples=[_example(error) for error in errors],
        )
        for status, errors in sorted(found.items())
    }


def _example(error: TurnoutError) -> Example:
    _, _, body = problem_of(error, "3f0c8a61d2b74e95")
    return Example(id=error.code, summary=error.code, value=msgspec.json.decode(body))
