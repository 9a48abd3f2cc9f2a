"""Problem documents become the errors that a command raises on a database."""

from __future__ import annotations

from typing import Any

import pytest

from turnout import errors
from turnout.cli.failure import Exit, exit_code
from turnout.cli.problem_errors import error_of


@pytest.mark.parametrize(
    ("status", "code", "kind", "exit"),
    [
        (404, "run_not_found", errors.RunNotFound, Exit.USAGE),
        (409, "ambiguous_run", errors.InvalidInput, Exit.USAGE),
        (409, "run_failed", errors.RunFailed, Exit.FAILED),
        (409, "run_cancelled", errors.RunCancelled, Exit.CANCELLED),
        (409, "run_timed_out", errors.RunTimedOut, Exit.TIMED_OUT),
        (409, "run_not_finished", errors.RunNotFinished, Exit.USAGE),
        (409, "idempotency_conflict", errors.IdempotencyConflict, Exit.USAGE),
        (422, "invalid_parameter", errors.InvalidInput, Exit.USAGE),
        (401, "unknown_token", errors.AccessDenied, Exit.USAGE),
        (403, "role_too_low", errors.AccessDenied, Exit.USAGE),
        (429, "too_busy", errors.TooBusy, Exit.FAILED),
        (429, "too_many_requests", errors.TooBusy, Exit.FAILED),
        (503, "hub_unavailable", errors.HubUnavailable, Exit.UNAVAILABLE),
        (503, "selector_without_hub", errors.ServerUnavailable, Exit.UNAVAILABLE),
        (503, "store_unreachable", errors.StoreUnreachable, Exit.UNAVAILABLE),
        (504, "wait_timed_out", errors.WaitTimedOut, Exit.TIMED_OUT),
        (500, "internal_error", errors.TurnoutError, Exit.FAILED),
    ],
)
def test_a_code_has_its_class_and_exit_code(status: int, code: str, kind: type[Exception], exit: Exit) -> None:
    error = error_of(status, {"type": "urn:x", "title": "x", "status": status, "detail": "why", "code": code, "run": 7})
    assert type(error) is kind and (error.code, error.message, error.fields) == (code, "why", {"run": 7})
    assert exit_code(error) == exit


def test_the_failures_of_a_run_are_those_of_its_tasks() -> None:
    failure = {"task": "charge", "type": "ValueError", "message": "no", "traceback": "…", "attempts": 2}
    error = error_of(409, {"code": "run_failed", "detail": "it failed", "failures": [failure]})
    assert isinstance(error, errors.RunFailed) and error.failures[0].task == "charge"
    assert error_of(409, {"code": "run_failed", "detail": "x", "failures": [1]}).fields["failures"] == ()


@pytest.mark.parametrize("document", [{}, {"code": 7, "detail": "x"}, {"detail": "x"}, {"code": "x"}])
def test_what_is_no_problem_document_is_no_answer_of_a_server(document: dict[str, Any]) -> None:
    error = error_of(502, document)
    assert isinstance(error, errors.ServerUnavailable) and "502" in error.message
