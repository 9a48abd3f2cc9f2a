"""Turns every error into a problem document (RFC 9457): the one mapping from errors to HTTP statuses."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import msgspec
from litestar import Request, Response
from litestar.exceptions import (
    HTTPException,
    MethodNotAllowedException,
    NotFoundException,
    ValidationException,
)

from turnout.errors import (
    AccessDenied,
    DefinitionError,
    DefinitionFromFile,
    DefinitionInUse,
    DispatchError,
    HubUnavailable,
    IdempotencyConflict,
    InputError,
    PreconditionFailed,
    RefusedDefinition,
    RequestError,
    ResourcesUnavailable,
    RunCancelled,
    RunError,
    RunFailed,
    RunNotFinished,
    RunNotFound,
    ScheduleError,
    ScheduleNotFound,
    StaleDefinition,
    StoredDefinitionError,
    StoreError,
    StoreRejected,
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
from turnout.model.access import masked
from turnout.model.texts import printable_line
from turnout.model.values import too_deep
from turnout.server.exchange import exchange_of
from turnout.server.validation_errors import invalid_request

log = logging.getLogger("turnout.server")

MEDIA_TYPE = "application/problem+json"
RETRY_AFTER = 1.0
"""Seconds after which a refused request may be sent again, where the error does not say."""
MAX_SHOWN_PATH = 200
"""Characters of a path in a detail."""
RESERVED = frozenset({"type", "title", "status", "detail", "code", "request_id"})

STATUS_OF_CODE: Mapping[str, int] = {
    "unknown_route": 404,
    "method_not_allowed": 405,
    "body_too_large": 413,
    "unsupported_media_type": 415,
    "range_not_satisfiable": 416,
    "invalid_request": 422,
    "host_not_allowed": 421,
    "too_many_requests": 429,
    "too_many_streams": 429,
    "request_timeout": 503,
    "slow_request": 408,
    "not_ready": 503,
    "server_stopping": 503,
    "runner_closed": 503,
    "role_too_low": 403,
    "origin_not_allowed": 403,
    "csrf_missing": 403,
    "local_execution_refused": 403,
    "limit_conflict": 409,
    "precondition_required": 428,
    "worker_not_found": 404,
    "limit_not_found": 404,
    "no_such_task": 404,
    "unknown_task": 404,
    "no_such_attempt": 404,
    "workflow_not_found": 404,
    "no_output": 409,
    "no_input": 409,
    "run_ended": 409,
    "run_cancelling": 409,
    "nothing_to_rerun": 409,
    "no_dispatcher": 409,
    "routing_from_program": 409,
    "ambiguous_run": 409,
    "ambiguous_workflow": 409,
    "definition_unavailable": 409,
    "no_definitions": 409,
    "ambiguous_worker": 409,
    "ambiguous_token": 409,
    "unknown_webhook": 404,
    "ambiguous_trigger": 409,
    "too_many_unknown_webhooks": 429,
    "bad_signature": 403,
    "stale_signature": 403,
    "bad_delivery_id": 400,
    "ambiguous_schedule": 409,
    "schedule_starts_no_runs": 409,
}
"""Statuses of single codes; they come before those of classes."""

STATUS_OF_CLASS: tuple[tuple[type[TurnoutError], int], ...] = (
    (AccessDenied, 401),
    (PreconditionFailed, 412),
    (RequestError, 400),
    (TokenNotFound, 404),
    (WebhookNotFound, 404),
    (TriggerNotFound, 404),
    (TriggerError, 409),
    (WebhookError, 409),
    (ScheduleNotFound, 404),
    (ScheduleError, 422),
    (WorkflowNotFound, 404),
    (StaleDefinition, 412),
    (DefinitionFromFile, 409),
    (DefinitionInUse, 409),
    (RefusedDefinition, 422),
    (StoredDefinitionError, 400),
    (TooBusy, 429),
    (TooLarge, 413),
    (IdempotencyConflict, 409),
    (InputError, 422),
    (HubUnavailable, 503),
    (ResourcesUnavailable, 422),
    (DispatchError, 503),
    (StoreRejected, 422),
    (StoreError, 503),
    (DefinitionError, 422),
    (RunNotFound, 404),
    (RunNotFinished, 409),
    (WaitTimedOut, 504),
    (RunFailed, 409),
    (RunCancelled, 409),
    (RunError, 409),
)
"""Statuses of errors; the first class that fits counts. Others are 500."""

CODES_OF_STATUS = {
    400: "malformed_request",
    401: "no_token",
    403: "role_too_low",
    404: "unknown_route",
    405: "method_not_allowed",
    413: "body_too_large",
    415: "unsupported_media_type",
    422: "invalid_request",
    429: "too_many_requests",
}
"""The codes of refusals by the web framework itself."""


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """The body of every answer that is not a success."""

    type: str
    """``urn:turnout:problem:`` and the code."""
    title: str
    """The meaning of the status."""
    status: int
    detail: str
    """What is wrong with this request, and what would be right."""
    code: str
    """A stable code, for programs."""
    request_id: str = ""
    """The id under which the server's log has the request."""


def status_of(error: TurnoutError) -> int:
    """Returns the HTTP status of an error.

    >>> status_of(RunNotFound("there is no run 7")), status_of(TooBusy("later"))
    (404, 429)
    """
    known = STATUS_OF_CODE.get(error.code)
    if known is not None:
        return known
    return next((status for kind, status in STATUS_OF_CLASS if isinstance(error, kind)), 500)


def problem_of(error: BaseException, request_id: str = "") -> tuple[int, dict[str, str], bytes]:
    """Returns the status, the headers and the body that an error is answered with."""
    known = error if isinstance(error, TurnoutError) else _translated(error)
    status = status_of(known)
    document: dict[str, Any] = msgspec.to_builtins(
        Problem(
            type=f"urn:turnout:problem:{known.code}",
            title=_title(status),
            status=status,
            detail=masked(known.message),
            code=known.code,
            request_id=request_id,
        )
    )
    for name, value in known.fields.items():
        if name not in RESERVED:
            document[name] = _json_value(value)
    return status, _headers(known, status), msgspec.json.encode(document)


def handle_error(request: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
    """The handler of every exception in the application."""
    exchange = exchange_of(request.scope)
    error = _explained(request, error)
    if not isinstance(error, TurnoutError | HTTPException):
        path = printable_line(masked(request.url.path))
        log.exception("request %s: %s %s failed", exchange.request_id, request.method, path)
    status, headers, body = problem_of(error, exchange.request_id)
    exchange.code = msgspec.json.decode(body, type=_Code).code
    return Response(body, status_code=status, headers=headers, media_type=MEDIA_TYPE)


def _explained(request: Request[Any, Any, Any], error: Exception) -> Exception:
    """Returns a refusal by the framework with what is wrong with this request, and what would be right."""
    path = request.url.path
    match error:
        case NotFoundException() if ".." in path.split("/"):
            return RequestError(f"{path!r} leads out of itself: names are identifiers", code="path_in_name")
        case NotFoundException():
            return RequestError(
                f"there is nothing at {path[:MAX_SHOWN_PATH]!r}: /api/openapi.json lists every path",
                code="unknown_route",
            )
        case MethodNotAllowedException():
            allowed = (error.headers or {}).get("allow", "")
            return RequestError(
                f"there is no {request.method} at {path[:MAX_SHOWN_PATH]!r}; there is {allowed}",
                code="method_not_allowed",
                allow=allowed,
            )
        case HTTPException(status_code=413):
            most = request.app.state.max_body_bytes
            return RequestError(
                f"the body has more than {most:,} bytes, server.max_body_bytes", code="body_too_large", limit=most
            )
        case ValidationException():
            return invalid_request(error, request.scope.get("route_handler"))
        case RecursionError() if "deserializing" in str(error):  # by msgspec, of the request's body
            return too_deep("the body")
        case _:
            return error


class _Code(msgspec.Struct):
    code: str


def _translated(error: BaseException) -> TurnoutError:
    """Returns an error of the framework as one of Turnout's. Others are failures of the server, without details."""
    match error:
        case ValidationException():
            return invalid_request(error, None)
        case HTTPException(status_code=status) if status < 500:
            return RequestError(error.detail or _title(status), code=CODES_OF_STATUS.get(status, "malformed_request"))
        case _:
            return TurnoutError("the server failed to answer; its log has the cause", code="internal_error")


def _headers(error: TurnoutError, status: int) -> dict[str, str]:
    headers: dict[str, str] = {}
    if status in (429, 503):
        headers["Retry-After"] = str(max(1, math.ceil(error.fields.get("retry_after") or RETRY_AFTER)))
    if status == 401:
        headers["WWW-Authenticate"] = 'Bearer realm="turnout"'
    if status == 405 and isinstance(allowed := error.fields.get("allow"), str):
        headers["Allow"] = allowed
    return headers


def _title(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Error"


def _json_value(value: Any) -> Any:
    try:
        return msgspec.to_builtins(value, enc_hook=str)
    except (TypeError, ValueError, RecursionError):
        return repr(type(value))
