"""Every error has a status and a problem document with its stable code."""

from __future__ import annotations

import inspect

import msgspec
import pytest
from litestar.exceptions import MethodNotAllowedException, NotFoundException, ValidationException

from turnout import errors
from turnout.errors import (
    AccessDenied,
    HubUnavailable,
    IdempotencyConflict,
    InvalidInput,
    PreconditionFailed,
    RequestError,
    RunNotFinished,
    RunNotFound,
    StoreFull,
    StoreUnreachable,
    TokenNotFound,
    TooBusy,
    TooLarge,
    TurnoutError,
    WaitTimedOut,
)
from turnout.model.access import new_secret
from turnout.server.problems import CODES_OF_STATUS, STATUS_OF_CODE, problem_of, status_of

ALL = [each for _, each in inspect.getmembers(errors, inspect.isclass) if issubclass(each, TurnoutError)]


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (AccessDenied("x"), 401),
        (AccessDenied("x", code="role_too_low"), 403),
        (AccessDenied("x", code="revoked_token"), 401),
        (RequestError("x"), 400),
        (RequestError("x", code="invalid_request"), 422),
        (PreconditionFailed("x"), 412),
        (PreconditionFailed("x", code="precondition_required"), 428),
        (TokenNotFound("x"), 404),
        (TokenNotFound("x", code="ambiguous_token"), 409),
        (RunNotFound("x"), 404),
        (RunNotFinished("x"), 409),
        (InvalidInput("x"), 422),
        (TooLarge("x"), 413),
        (IdempotencyConflict("x"), 409),
        (TooBusy("x"), 429),
        (HubUnavailable("x"), 503),
        (StoreUnreachable("x"), 503),
        (StoreFull("x"), 503),
        (WaitTimedOut("x"), 504),
        (TurnoutError("x"), 500),
    ],
)
def test_the_status_of_an_error(error: TurnoutError, status: int) -> None:
    assert status_of(error) == status
    document = msgspec.json.decode(problem_of(error)[2])
    assert document["status"] == status and document["code"] == error.code


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.__name__)
def test_every_class_of_errors_makes_a_problem_document(kind: type[TurnoutError]) -> None:
    error = kind.__new__(kind)
    TurnoutError.__init__(error, "what is wrong")
    status, _, body = problem_of(error, "r1")
    document = msgspec.json.decode(body)
    assert 400 <= status < 600
    assert document["type"] == f"urn:turnout:problem:{kind.code}" and document["detail"] == "what is wrong"
    assert document["title"] and document["request_id"] == "r1"


def test_fields_of_an_error_are_members_of_the_document() -> None:
    error = InvalidInput("bad", field="limit", status="x", values=(1, {2}), at=object())
    document = msgspec.json.decode(problem_of(error)[2])
    assert document["field"] == "limit" and document["status"] == 422 and document["values"] == [1, [2]]
    assert "object" in document["at"]


def test_a_refusal_for_load_says_when_to_send_it_again() -> None:
    assert problem_of(TooBusy("later", retry_after=2.4))[1]["Retry-After"] == "3"
    assert problem_of(StoreUnreachable("away"))[1]["Retry-After"] == "1"
    assert "Retry-After" not in problem_of(InvalidInput("bad"))[1]


def test_an_unknown_exception_tells_nothing_of_itself() -> None:
    status, _, body = problem_of(KeyError("the password"))
    assert status == 500 and b"password" not in body
    assert msgspec.json.decode(body)["code"] == "internal_error"


def test_a_token_in_a_message_is_masked() -> None:
    secret = new_secret()
    assert secret.encode() not in problem_of(InvalidInput(f"there is no {secret}"))[2]


def test_refusals_of_the_framework_have_codes_too() -> None:
    assert msgspec.json.decode(problem_of(NotFoundException())[2])["code"] == "unknown_route"
    assert msgspec.json.decode(problem_of(MethodNotAllowedException())[2])["code"] == "method_not_allowed"
    found = ValidationException(extra=[{"key": "limit", "message": "Expected `int`"}])
    document = msgspec.json.decode(problem_of(found)[2])
    assert (document["status"], document["code"], document["detail"]) == (
        422,
        "invalid_request",
        "limit: Expected `int`",
    )


def test_codes_of_the_framework_keep_their_status() -> None:
    for status, code in CODES_OF_STATUS.items():
        expected = STATUS_OF_CODE.get(code, 401 if code == "no_token" else 400)
        assert expected == status, code
