"""Idempotency-Key, If-Match and If-None-Match."""

from __future__ import annotations

import pytest

from turnout.errors import PreconditionFailed, RequestError
from turnout.server.preconditions import check_if_match, idempotency_key, is_unmodified


@pytest.mark.parametrize(("given", "key"), [("order-17", "order-17"), ('"order-17"', "order-17"), ("a b", "a b")])
def test_an_idempotency_key_is_taken_as_it_is_or_quoted(given: str, key: str) -> None:
    assert idempotency_key({"idempotency-key": given}) == key


def test_a_request_without_an_idempotency_key_has_none() -> None:
    assert idempotency_key({}) is None


@pytest.mark.parametrize("given", ["", '""', " ", "a\tb", "é", "x" * 256])
def test_an_idempotency_key_that_cannot_be_one_is_refused(given: str) -> None:
    with pytest.raises(RequestError) as caught:
        idempotency_key({"idempotency-key": given})
    assert caught.value.code == "bad_idempotency_key"


@pytest.mark.parametrize(
    ("headers", "current", "code"),
    [
        ({}, 3, "precondition_required"),
        ({}, None, "precondition_required"),
        ({"if-match": '"2"'}, 3, "stale_etag"),
        ({"if-match": '"2"'}, None, "stale_etag"),
        ({"if-match": "*"}, None, "stale_etag"),
        ({"if-none-match": "*"}, 3, "stale_etag"),
        ({"if-none-match": '"3"'}, 3, "stale_etag"),
    ],
)
def test_a_change_of_something_else_than_the_current_version_is_refused(
    headers: dict[str, str], current: int | None, code: str
) -> None:
    with pytest.raises(PreconditionFailed) as caught:
        check_if_match(headers, current, "workflow 'etl'")
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("headers", "current"),
    [
        ({"if-match": '"3"'}, 3),
        ({"if-match": 'W/"3"'}, 3),
        ({"if-match": '"2", "3"'}, 3),
        ({"if-match": "*"}, 3),
        ({"if-none-match": "*"}, None),
    ],
)
def test_a_change_of_the_current_version_is_allowed(headers: dict[str, str], current: int | None) -> None:
    check_if_match(headers, current, "workflow 'etl'")


def test_a_malformed_etag_is_refused() -> None:
    with pytest.raises(RequestError) as caught:
        check_if_match({"if-match": "3"}, 3, "workflow 'etl'")
    assert caught.value.code == "bad_etag"


def test_a_caller_with_the_current_version_is_told_that_nothing_changed() -> None:
    assert is_unmodified({"if-none-match": '"1", "3"'}, 3)
    assert not is_unmodified({"if-none-match": '"1"'}, 3)
    assert not is_unmodified({}, 3)
